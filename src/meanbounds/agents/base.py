"""What all agents have in common: names, seeds, pulls that wait for their rewards, and a way to be saved."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanbounds.agents.candidate import Candidate
from meanbounds.bounds import Arm, MeanBounds
from meanbounds.kernels.random.stream import policy_key
from meanbounds.policies import AnyPolicy, Policy
from meanbounds.support.seeding import Seed, as_seed

__all__ = ["Agent", "NoIndexError", "RewardError"]

_FORMAT = 1
_SAVED = ("policy", "bounds", "seed", "pulls", "updates", "pending", "retired")


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
    features, offset
        For a policy that learns from features, such as `meanbounds.ROFUL`: a row for each arm, and the known part of
        each arm's mean.

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

    With features, arms may be offered that were never seen before:

    >>> features = [[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]]
    >>> agent = mb.Agent(mb.ROFUL(), bounds, seed=7, features=features)
    >>> agent.pull(["medical", "watch"])
    'medical'
    >>> new = mb.Candidate([0.8, 0.6], name="both")
    >>> agent.pull(["watch", new]).name
    'both'
    >>> agent.update(new, 1.0)
    """

    _kinds: ClassVar[dict[type[AnyPolicy], type[Agent]]] = {}

    def __init_subclass__(cls, policies: type[AnyPolicy] | None = None) -> None:
        if policies is not None:
            Agent._kinds[policies] = cls

    def __new__(cls, policy: AnyPolicy, *_: Any, **__: Any) -> Agent:
        """The agent for this kind of policy."""
        kind = next((kind for policies, kind in Agent._kinds.items() if isinstance(policy, policies)), cls)
        return object.__new__(kind if cls is Agent else cls)

    def __init__(
        self,
        policy: AnyPolicy,
        bounds: MeanBounds,
        seed: Seed = None,
        *,
        features: ArrayLike | None = None,
        offset: ArrayLike = 0.0,
    ) -> None:
        if type(self) is Agent or not isinstance(bounds, MeanBounds):
            raise TypeError(f"an agent needs a policy such as mb.GLUE() and MeanBounds; got {policy!r} and {bounds!r}")
        self._policy = policy
        self._bounds = bounds
        self._seed = as_seed(seed)
        self._pending = [0] * len(bounds)
        self._retired: set[int] = set()
        self._pulls = self._updates = 0
        self._key = np.uint64(policy_key(np.uint64(self._seed), 0))
        self._start(features, offset)

    def _start(self, features: ArrayLike | None, offset: ArrayLike) -> None:
        """Make room for what will be seen, and plan."""
        raise NotImplementedError

    def _take(self, bounds: MeanBounds) -> None:
        """Adopt bounds, on the arms that there are, and plan anew."""
        raise NotImplementedError

    @property
    def policy(self) -> AnyPolicy:
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
        raise NotImplementedError

    @property
    def means(self) -> NDArray[np.float64]:
        """Mean reward seen from each arm; NaN where there was none."""
        raise NotImplementedError

    @property
    def pending(self) -> NDArray[np.int64]:
        """Pulls of each arm whose reward has not come yet."""
        return np.array(self._pending, dtype=np.int64)

    @property
    def retired(self) -> tuple[Arm, ...]:
        """Arms that are no longer on offer."""
        return tuple(self._bounds.arms[k] for k in sorted(self._retired))

    @overload
    def pull(self, eligible: Iterable[Arm] | None = None, pending: Literal["ignore", "count"] = "ignore") -> Arm: ...
    @overload
    def pull(self, eligible: Iterable[Candidate], pending: Literal["ignore", "count"] = "ignore") -> Candidate: ...
    @overload
    def pull(
        self, eligible: Iterable[Arm | Candidate], pending: Literal["ignore", "count"] = "ignore"
    ) -> Arm | Candidate: ...
    def pull(self, eligible: Any = None, pending: Literal["ignore", "count"] = "ignore") -> Any:
        """Choose an arm.

        Parameters
        ----------
        eligible
            The arms on offer this time; every arm that is not retired by default. Pruning, l_max and factors are those
            of the arms on offer. With features, `meanbounds.Candidate` stands for an arm that was never seen before.
        pending
            ``"count"`` treats each pull that is still unanswered as if it had returned what is expected of the arm, so
            that a burst of requests spreads over the arms.
        """
        raise NotImplementedError

    def update(self, arm: Arm | Candidate, reward: float, history: bool = False) -> None:
        """Tell the agent a reward, in any order and however late.

        An outcome that this agent did not choose counts as well. `history` says that it is such a one even though pulls
        of the arm are pending.
        """
        raise NotImplementedError

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
        raise NotImplementedError

    def replace_bounds(self, bounds: MeanBounds) -> None:
        """Use other bounds from now on (the paper's l_k(t), u_k(t)), on the same arms, with the same ranges."""
        self._take(self._bounds.matching(bounds))

    def add(
        self,
        arm: Arm,
        lower: float | None = None,
        upper: float | None = None,
        low: float = 0.0,
        high: float = 1.0,
        *,
        features: ArrayLike | None = None,
        offset: float = 0.0,
    ) -> None:
        """Offer one more arm; a bound that is not given is the end of the range. Some policies need its features."""
        columns = {"lower": low if lower is None else lower, "upper": high if upper is None else upper}
        columns |= {"low": low, "high": high}
        grown = {name: np.append(getattr(self._bounds, name), value) for name, value in columns.items()}
        self._extend(MeanBounds(arms=[*self._bounds.arms, arm], **grown), features, offset)
        self._pending.append(0)

    def _extend(self, bounds: MeanBounds, features: ArrayLike | None, offset: float) -> None:
        """Adopt bounds that have one more arm, the last one."""
        raise NotImplementedError

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
            "pending": list(self._pending),
            "retired": list(self.retired),
            **self._seen(),
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
        check_has(data, _SAVED)
        bounds = MeanBounds.from_dict(data["bounds"])
        extra = {name: data[name] for name in ("features", "offset") if name in data}
        agent = Agent(Policy.from_dict(data["policy"]), bounds, data["seed"], **extra)
        if len(data["pending"]) != len(bounds):
            raise ValueError(
                f"the saved agent has {len(bounds)} arms, but {len(data['pending'])} counts of pending pulls"
            )
        agent._pending = [int(n) for n in data["pending"]]
        agent._pulls, agent._updates = int(data["pulls"]), int(data["updates"])
        agent._retired = {bounds.position(arm) for arm in data["retired"]}
        agent._recall(data)
        return agent

    def _seen(self) -> dict[str, Any]:
        """What the agent was told, safe for JSON."""
        raise NotImplementedError

    def _recall(self, data: Mapping[str, Any]) -> None:
        """The inverse of `_seen`."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"Agent({self._policy!r}, {len(self._bounds)} arms, {self._updates} updates)"

    def _check_offered(self, positions: Iterable[int]) -> None:
        for k in sorted(self._retired.intersection(positions)):
            raise ValueError(f"arm {self._bounds.arms[k]!r} is retired; restore it before it is offered again")


def check_reward(arm: object, reward: object, low: float, high: float) -> float:
    """A reward as a float; anything that is no number in the range, texts and arrays included, is a `RewardError`."""
    try:
        if isinstance(reward, str | bytes) or np.ndim(np.asarray(reward)) != 0:
            raise TypeError
        value = float(np.asarray(reward))
    except (TypeError, ValueError):
        value = math.nan
    if not low <= value <= high:
        raise RewardError(f"arm {arm!r}: the reward {reward!r} is not a number in its range [{low}, {high}]")
    return value


def check_has(data: Mapping[str, Any], names: Iterable[str]) -> None:
    """Refuse a saved agent that lacks something."""
    missing = [name for name in names if name not in data]
    if missing:
        raise ValueError(f"the saved agent lacks {', '.join(missing)}")
