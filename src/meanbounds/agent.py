"""The object that decides, one round at a time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from meanbounds.bounds import Arm, BoundsError, MeanBounds
from meanbounds.kernels import textbook
from meanbounds.kernels.stream import policy_key, rounding_key
from meanbounds.kernels.tables import State
from meanbounds.policies import Policy
from meanbounds.seeding import Seed, as_seed

__all__ = ["Agent", "NoIndexError", "RewardError"]

_FORMAT = 1
_TABULATED = 4096  # rounds for which log f is at hand
_SAVED = ("policy", "bounds", "seed", "pulls", "updates", *State._fields, "pending", "retired")
_REMEMBERED = 1024  # sets of eligible arms whose plan is at hand


class RewardError(ValueError):
    """A reward that cannot be: not a number, or outside the arm's range."""


class NoIndexError(TypeError):
    """The policy does not rank arms by an index."""


class Agent:
    """Pull an arm, tell it the reward, repeat.

    Parameters
    ----------
    policy
        How to decide.
    bounds
        What is known of the arms' means; names and reward ranges come from here.
    seed
        Whole number, numpy Generator or None. With the same seed an agent plays as run 0 of `meanbounds.simulate`.

    Examples
    --------
    >>> import meanbounds as mb
    >>> bounds = mb.MeanBounds([0.7, 0.2, 0.4], [0.95, 0.9, 0.6], arms=["tPA", "medical", "watch"])
    >>> agent = mb.Agent(mb.GLUE(), bounds, seed=7)
    >>> agent.pull()
    'tPA'
    >>> agent.update("tPA", 1.0)
    >>> agent.plays
    array([1, 0, 0])
    >>> agent.indices().round(3)
    array([0.95, 0.9 , -inf])
    """

    def __init__(self, policy: Policy, bounds: MeanBounds, seed: Seed = None) -> None:
        if not isinstance(policy, Policy) or not isinstance(bounds, MeanBounds):
            raise TypeError(f"an agent needs a policy such as mb.GLUE() and MeanBounds; got {policy!r} and {bounds!r}")
        self._policy = policy
        self._seed = as_seed(seed)
        self._state = np.zeros((len(State._fields), len(bounds)))
        self._pending = [0] * len(bounds)
        self._retired: set[int] = set()
        self._pulls = self._updates = 0
        self._key, self._rounding = (np.uint64(key(np.uint64(self._seed), 0)) for key in (policy_key, rounding_key))
        self._first, self._log_f = 1, policy.log_f(1, _TABULATED).tolist()
        self._take(bounds)

    def _take(self, bounds: MeanBounds) -> None:
        """Adopt bounds, and forget the plans made from others."""
        self._bounds = bounds
        self._low, self._high = bounds.low.tolist(), bounds.high.tolist()
        self._parameters = self._policy.parameters
        self._plans: dict[tuple[int, ...], NDArray[np.float64]] = {}
        self._all = tuple(k for k in range(len(bounds)) if k not in self._retired)
        self._plan = self._plan_for(self._all) if self._all else None

    def _plan_for(self, positions: tuple[int, ...]) -> NDArray[np.float64]:
        """Plan for the arms on offer: pruning, l_max and factors are theirs."""
        plan = self._plans.get(positions)
        if plan is None:
            plan = self._policy.plan(self._bounds.subset(positions))
            plan[0] = np.asarray(positions)[plan[0].astype(np.intp)]
            if len(self._plans) >= _REMEMBERED:
                self._plans.clear()
            self._plans[positions] = plan
        return plan

    @property
    def policy(self) -> Policy:
        """How the agent decides."""
        return self._policy

    @property
    def bounds(self) -> MeanBounds:
        """What the agent holds to be known; `replace_bounds` changes it."""
        return self._bounds

    @property
    def seed(self) -> int:
        """What its random numbers follow from."""
        return self._seed

    @property
    def plays(self) -> NDArray[np.int64]:
        """Rewards seen from each arm, in the order of ``bounds.arms``."""
        plays: NDArray[np.int64] = self._state[0].astype(np.int64)
        return plays

    @property
    def means(self) -> NDArray[np.float64]:
        """Mean reward seen from each arm; NaN where there was none."""
        plays = self._state[0]
        unit = np.divide(self._state[1], plays, out=np.full(plays.shape, np.nan), where=plays > 0)
        means: NDArray[np.float64] = self._bounds.low + (self._bounds.high - self._bounds.low) * unit
        return means

    @property
    def pending(self) -> NDArray[np.int64]:
        """Pulls of each arm whose reward has not come yet."""
        return np.array(self._pending, dtype=np.int64)

    @property
    def retired(self) -> tuple[Arm, ...]:
        """Arms that are no longer on offer."""
        return tuple(self._bounds.arms[k] for k in sorted(self._retired))

    def pull(self, eligible: Iterable[Arm] | None = None, pending: Literal["ignore", "count"] = "ignore") -> Arm:
        """Choose an arm.

        Parameters
        ----------
        eligible
            The arms on offer this time; every arm that is not retired by default. Pruning, l_max and factors are those
            of the arms on offer.
        pending
            ``"count"`` treats each pull that is still unanswered as if it had returned the arm's mean so far (the
            middle of its bounds if it was never played), so that a burst of requests spreads over the arms.
        """
        plan = self._plan if eligible is None else self._plan_for(self._positions(eligible))
        if plan is None:
            raise ValueError("no arm is left on offer: all are retired; add or restore one")
        state, unanswered = self._state, 0
        if pending == "count":
            state, unanswered = self._as_if_answered(), sum(self._pending)
        elif pending != "ignore":
            raise ValueError(f'pending must be "ignore" or "count"; got {pending!r}')
        log_f = self._log_f_at(self._updates + unanswered + 1)
        k = textbook.choose(self._policy.kernel, plan, self._parameters, state, log_f, self._pulls, self._key)
        if state is not self._state:
            self._state[-1] = state[-1]  # what the kernel remembers of its own
        self._pulls += 1
        self._pending[k] += 1
        return self._bounds.arms[k]

    def update(self, arm: Arm, reward: float, history: bool = False) -> None:
        """Tell the agent a reward, in any order and however late.

        An outcome that this agent did not choose counts as well. `history` says that it is such a one even though pulls
        of the arm are pending.
        """
        k = self._bounds.position(arm)
        low, high = self._low[k], self._high[k]
        try:
            value = reward if type(reward) is float else _number(reward)
        except (TypeError, ValueError):
            value = math.nan
        if not low <= value <= high:
            raise RewardError(f"arm {arm!r}: the reward {reward!r} is not a number in its range [{low}, {high}]")
        textbook.observe(self._state, k, (value - low) / (high - low), self._updates, self._rounding)
        self._updates += 1
        if self._pending[k] and not history:
            self._pending[k] -= 1

    def cancel(self, arm: Arm) -> None:
        """Say that one pending pull of this arm will never be answered."""
        k = self._bounds.position(arm)
        if not self._pending[k]:
            raise ValueError(f"arm {arm!r} has no pending pull to cancel")
        self._pending[k] -= 1

    def indices(self) -> NDArray[np.float64]:
        """Index of each arm after the updates so far, U_k(t); minus infinity for arms that are pruned or retired.

        The next `pull` without `eligible` takes an arm with the largest.
        """
        if not self._policy.has_index:
            raise NoIndexError(
                f"{type(self._policy).__name__} has no index: it does not rank arms by a number of their own"
            )
        indices = np.full(len(self._bounds), -np.inf)
        if self._plan is not None:
            out = np.empty(self._plan.shape[1])
            textbook.indices(self._policy.kernel, self._plan, self._state, self._log_f_at(self._updates + 1), out)
            indices[self._plan[0].astype(np.intp)] = out
        return indices

    def replace_bounds(self, bounds: MeanBounds) -> None:
        """Use other bounds from now on (the paper's l_k(t), u_k(t)), on the same arms, with the same ranges."""
        if set(bounds.arms) != set(self._bounds.arms):
            odd = sorted(map(repr, set(bounds.arms) ^ set(self._bounds.arms)))
            raise BoundsError(f"the new bounds are on other arms; only one side has {', '.join(odd)}")
        bounds = bounds.subset([bounds.position(arm) for arm in self._bounds.arms])
        for k, arm in enumerate(bounds.arms):
            if (bounds.low[k], bounds.high[k]) != (self._low[k], self._high[k]):
                raise BoundsError(
                    f"arm {arm!r}: the new bounds have the reward range [{bounds.low[k]}, {bounds.high[k]}], "
                    f"the agent has [{self._low[k]}, {self._high[k]}]"
                )
        self._take(bounds)

    def add(
        self,
        arm: Arm,
        lower: float | None = None,
        upper: float | None = None,
        low: float = 0.0,
        high: float = 1.0,
    ) -> None:
        """Offer one more arm; a bound that is not given is the end of the range."""
        old = self._bounds
        columns = {"lower": low if lower is None else lower, "upper": high if upper is None else upper}
        columns |= {"low": low, "high": high}
        grown = {name: np.append(getattr(old, name), value) for name, value in columns.items()}
        bounds = MeanBounds(arms=[*old.arms, arm], **grown)
        self._state = np.hstack([self._state, np.zeros((len(self._state), 1))])
        self._pending.append(0)
        self._take(bounds)

    def retire(self, arm: Arm) -> None:
        """Stop offering an arm. Its late rewards are still taken, and `restore` offers it again."""
        self._retired.add(self._bounds.position(arm))
        self._take(self._bounds)

    def restore(self, arm: Arm) -> None:
        """Offer a retired arm again."""
        k = self._bounds.position(arm)
        if k not in self._retired:
            raise ValueError(f"arm {arm!r} is not retired")
        self._retired.remove(k)
        self._take(self._bounds)

    def to_dict(self) -> dict[str, Any]:
        """Everything, safe for JSON; `from_dict` continues the same trajectory."""
        return {
            "format": _FORMAT,
            "policy": self._policy.to_dict(),
            "bounds": self._bounds.to_dict(),
            "seed": self._seed,
            "pulls": self._pulls,
            "updates": self._updates,
            **{name: row.tolist() for name, row in zip(State._fields, self._state, strict=True)},
            "pending": list(self._pending),
            "retired": list(self.retired),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Agent:
        """The agent that `to_dict` described.

        Examples
        --------
        >>> import meanbounds as mb
        >>> agent = mb.Agent(mb.GLUE(), mb.MeanBounds([0.2, 0.3], [0.9, 0.8]), seed=7)
        >>> mb.Agent.from_dict(agent.to_dict()).pull() == agent.pull()
        True
        """
        if data.get("format") != _FORMAT:
            raise ValueError(
                f"an agent in format {data.get('format')!r} cannot be read: this version of meanbounds reads {_FORMAT}"
            )
        missing = [name for name in _SAVED if name not in data]
        if missing:
            raise ValueError(f"the saved agent lacks {', '.join(missing)}")
        agent = cls(Policy.from_dict(data["policy"]), MeanBounds.from_dict(data["bounds"]), data["seed"])
        state = np.array([data[name] for name in State._fields], dtype=np.float64)
        if state.shape != agent._state.shape or len(data["pending"]) != len(agent._bounds):
            raise ValueError(f"the saved agent has {len(agent._bounds)} arms, but statistics of shape {state.shape}")
        agent._state = state
        agent._pending = [int(n) for n in data["pending"]]
        agent._pulls, agent._updates = int(data["pulls"]), int(data["updates"])
        agent._retired = {agent._bounds.position(arm) for arm in data["retired"]}
        agent._take(agent._bounds)
        return agent

    def __repr__(self) -> str:
        return f"Agent({self._policy!r}, {len(self._bounds)} arms, {self._updates} updates)"

    def _positions(self, eligible: Iterable[Arm]) -> tuple[int, ...]:
        positions = {self._bounds.position(arm) for arm in eligible}
        if not positions:
            raise ValueError("eligible is empty: there is no arm to choose from")
        for k in sorted(positions & self._retired):
            raise ValueError(f"arm {self._bounds.arms[k]!r} is retired; restore it before it is offered again")
        return tuple(sorted(positions))

    def _log_f_at(self, t: int) -> float:
        place = t - self._first
        if not 0 <= place < _TABULATED:
            self._first, place = t, 0
            self._log_f = self._policy.log_f(t, t + _TABULATED - 1).tolist()
        return float(self._log_f[place])

    def _as_if_answered(self) -> NDArray[np.float64]:
        state = self._state.copy()
        plays, waiting = self._state[0], np.array(self._pending, dtype=np.float64)
        middle = (0.5 * (self._bounds.lower + self._bounds.upper) - self._bounds.low) / (
            self._bounds.high - self._bounds.low
        )
        for row in (1, 2, 3):
            mean = np.divide(self._state[row], plays, out=middle.copy(), where=plays > 0)
            state[row] += waiting * mean
        state[0] += waiting
        return state


def _number(reward: object) -> float:
    """A reward as a float; texts and arrays are none."""
    if isinstance(reward, str | bytes) or np.ndim(np.asarray(reward)) != 0:
        raise TypeError
    return float(np.asarray(reward))
