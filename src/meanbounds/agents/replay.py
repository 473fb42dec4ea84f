"""Artificial Replay: past rewards of an arm stand in for pulls of it, when the agent asks for the arm."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np

from meanbounds.agents.agent import Agent
from meanbounds.agents.learner import Pending, check_reward
from meanbounds.bounds import Arm
from meanbounds.support.checks import as_list, as_mapping, shown
from meanbounds.support.entries import Entries
from meanbounds.support.saving import Saved
from meanbounds.support.types import Integers

__all__ = ["ArtificialReplay"]

_FORMAT = 1


class ArtificialReplay(Saved):
    """An agent that uses past rewards as it comes to need them (Banerjee et al., 2022).

    When the agent inside asks for an arm that has past rewards left, it is told the next one of them at once and asked
    again. Only an arm whose past rewards are used up is really pulled. So a log with many rewards of a bad arm does no
    harm: few of them are ever looked at. It works with any policy.

    Parameters
    ----------
    agent
        The agent that decides; from then on only this object may use it.
    rewards
        The past rewards of each arm, by its name and in the order in which they are to be used. Shuffle them unless
        they are independent of their order. As with `Agent.update` and ``history=True``, they mislead unless the arms
        were chosen at random.

    Notes
    -----
    Algorithm 1 of "Artificial Replay: A Meta-Algorithm for Harnessing Historical Data in Bandits". Differs from the
    published version: a replayed reward counts as a round of the policy inside, as every update does, so log f(t) grows
    with it. An interrupt (Ctrl-C) in the middle of a `pull` may use up a past reward that the agent is not told, and
    leave a pull pending.

    Examples
    --------
    >>> import meanbounds as mb
    >>> agent = mb.Agent(mb.UCB(), mb.MeanBounds.vacuous(["a", "b"]), seed=7)
    >>> replay = mb.ArtificialReplay(agent, {"a": [1.0, 1.0, 1.0], "b": [0.0] * 1000})
    >>> replay.pull()
    'a'
    >>> replay.used  # of a thousand failures of arm b, a few are enough
    array([3, 1])
    >>> replay.update("a", 1.0)
    >>> agent.plays
    array([4, 1])
    """

    def __init__(self, agent: Agent, rewards: Mapping[Arm, Iterable[float]]) -> None:
        if not isinstance(agent, Agent):
            raise TypeError(f"ArtificialReplay needs an agent such as mb.Agent(mb.UCB(), bounds); got {shown(agent)}")
        bounds = agent.bounds
        self._rewards: dict[Arm, tuple[float, ...]] = {}
        for arm, values in as_mapping("rewards by arm", rewards).items():
            k = bounds.position(arm)
            low, high = float(bounds.low[k]), float(bounds.high[k])
            listed = as_list(f"arm {shown(arm)}: its past rewards", values)
            self._rewards[bounds.arms[k]] = tuple(check_reward(arm, value, low, high) for value in listed)
        self._agent = agent
        self._used = dict.fromkeys(self._rewards, 0)
        self._lock = threading.RLock()

    @property
    def agent(self) -> Agent:
        """The agent inside; its plays and means include the past rewards that were used."""
        return self._agent

    @property
    def used(self) -> Integers:
        """How many past rewards of each arm were used, in the order of ``agent.bounds.arms``."""
        with self._lock:
            return np.array([self._used.get(arm, 0) for arm in self._agent.bounds.arms], dtype=np.int64)

    def pull(self, eligible: Iterable[Arm] | None = None, *, pending: Pending | None = None) -> Arm:
        """Choose an arm to pull really; past rewards that the agent asks for first are told to it on the way.

        Parameters
        ----------
        eligible, pending
            As for `Agent.pull`.

        Examples
        --------
        >>> import meanbounds as mb
        >>> agent = mb.Agent(mb.UCB(), mb.MeanBounds.vacuous(2), seed=7)
        >>> mb.ArtificialReplay(agent, {0: [0.0], 1: [0.0]}).pull([1])
        1
        """
        offered = None if eligible is None else as_list("eligible", eligible)
        with self._lock:
            while True:
                arm = self._agent.pull(offered, pending=pending)
                place, past = self._used.get(arm, 0), self._rewards.get(arm, ())
                if place >= len(past):
                    return arm
                self._used[arm] = place + 1
                self._agent.update(arm, past[place])

    def update(self, arm: Arm, reward: float, *, history: bool = False) -> None:
        """Tell the agent a reward, as `Agent.update` does."""
        with self._lock:
            self._agent.update(arm, reward, history=history)

    def cancel(self, arm: Arm) -> None:
        """Give up one pending pull of this arm: its reward will never come."""
        with self._lock:
            self._agent.cancel(arm)

    def to_dict(self) -> dict[str, Any]:
        """The agent and the past rewards that are left, in values that JSON can hold.

        Examples
        --------
        >>> import meanbounds as mb
        >>> replay = mb.ArtificialReplay(mb.Agent(mb.UCB(), mb.MeanBounds.vacuous(2), seed=7), {0: [0.5], 1: []})
        >>> again = mb.ArtificialReplay.from_dict(replay.to_dict())
        >>> again.pull() == replay.pull()
        True
        """
        with self._lock:
            past = [[arm, self._used[arm], list(rewards)] for arm, rewards in self._rewards.items()]
            return {"format": _FORMAT, "agent": self._agent.to_dict(), "past": past}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Make the object that `to_dict` described; it continues the same trajectory."""
        saved = Entries(data, "artificial replay")
        number = saved["format"]
        if type(number) is not int or number != _FORMAT:
            raise saved.fail(f"format {shown(number)} cannot be read: this version of meanbounds reads {_FORMAT}")
        past = saved.sequence("past")
        for entry in past:
            if not (isinstance(entry, list | tuple) and len(entry) == 3 and isinstance(entry[2], list)):
                raise saved.fail(f"past has an arm, a count and a list of rewards for each arm; got {shown(entry)}")
            if not (type(entry[1]) is int and 0 <= entry[1] <= len(entry[2])):
                raise saved.fail(f"arm {shown(entry[0])}: {shown(entry[1])} of {len(entry[2])} past rewards are used")
        try:
            agent = Agent.from_dict(saved.mapping("agent"))
            replay = cls(agent, {arm: rewards for arm, _, rewards in past})
        except (LookupError, TypeError, ValueError) as error:
            raise saved.fail(str(error)) from None
        replay._used = {arm: used for arm, used, _ in past}
        return replay

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.RLock())

    def __repr__(self) -> str:
        left = sum(map(len, self._rewards.values())) - sum(self._used.values())
        return f"ArtificialReplay({self._agent!r}, {left} past rewards left)"
