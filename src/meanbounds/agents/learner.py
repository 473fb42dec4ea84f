"""The learner inside an agent: the rewards so far, the pending pulls, and the code that decides."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.bounds import Arm, MeanBounds
from meanbounds.kernels.random.stream import floor_key, policy_key, uniform
from meanbounds.knowledge import Knowledge
from meanbounds.policies import AnyPolicy
from meanbounds.support.types import Floats, Integers

__all__ = ["Learner", "NoIndexError", "Pending", "RewardError", "check_floor", "check_has", "check_reward"]

_SAVED = ("policy", "knowledge", "seed", "floor", "pulls", "updates", "pending", "retired")

Pending = Literal["ignore", "count"]
"""How a pull treats earlier pulls whose rewards have not come yet: ``"ignore"`` or ``"count"`` them."""


class RewardError(ValueError):
    """Raised for a reward that is not a number, or lies outside the arm's reward range.

    The agent stays as it was.

    Examples
    --------
    >>> import meanbounds as mb
    >>> agent = mb.Agent(mb.GLUE(), mb.MeanBounds([0.7, 0.4], [0.9, 0.6], arms=["tPA", "watch"]), seed=7)
    >>> agent.update("tPA", 5)
    Traceback (most recent call last):
    meanbounds.agents.learner.RewardError: arm 'tPA': the reward 5 is not a number in its range [0.0, 1.0]
    """


class NoIndexError(TypeError):
    """Raised by `Agent.indices` if the policy does not rank arms by an index.

    Ask for `Agent.probabilities` instead: every policy has these.

    Examples
    --------
    >>> import meanbounds as mb
    >>> agent = mb.Agent(mb.ThompsonSampling(), mb.MeanBounds.vacuous(2), seed=7)
    >>> agent.indices()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    meanbounds.agents.learner.NoIndexError: ThompsonSampling has no index: ...
    >>> agent.probabilities()
    array([0.5, 0.5])
    """


class Learner(ABC):
    """Base of the learners for arms with and without features; `meanbounds.Agent` describes each method.

    Parameters
    ----------
    policy, known, seed, floor
        As for `meanbounds.Agent`, checked already.

    Examples
    --------
    >>> import meanbounds as mb
    >>> agent = mb.Agent(mb.GLUE(), mb.MeanBounds([0.2, 0.3], [0.9, 0.8]), seed=7)
    >>> isinstance(agent.inside, Learner), agent.inside.updates
    (True, 0)
    """

    def __init__(self, policy: AnyPolicy, known: Knowledge, seed: int, floor: float) -> None:
        self.known = known
        self.bounds: MeanBounds = known.bounds
        self.seed = seed
        self.floor = check_floor(floor)
        self.pulls = self.updates = 0
        self.pending = [0] * len(self.bounds)
        self.unanswered = 0  # the sum of `pending`, and of the pending pulls of candidates
        self.retired: set[int] = set()
        self._counts_by_default = policy.counts_pending
        self._key = np.uint64(policy_key(np.uint64(seed), 0))
        self._floor_key = np.uint64(floor_key(np.uint64(seed), 0))

    @property
    @abstractmethod
    def policy(self) -> AnyPolicy:
        """The policy, which decides."""

    @property
    @abstractmethod
    def plays(self) -> Integers:
        """How many rewards each arm has had."""

    @property
    @abstractmethod
    def means(self) -> Floats:
        """The mean reward of each arm so far; NaN for an arm without rewards."""

    @property
    def retired_arms(self) -> tuple[Arm, ...]:
        """The arms that were retired, and are therefore not on offer."""
        return tuple(self.bounds.arms[k] for k in sorted(self.retired))

    @abstractmethod
    def pull(self, eligible: Any, pending: Pending | None) -> Any:
        """Choose an arm, and count it as pending."""

    @abstractmethod
    def probabilities(self, eligible: Any, pending: Pending | None) -> Floats:
        """The probability with which the next pull takes each arm."""

    @abstractmethod
    def update(self, arm: Any, reward: float, history: bool) -> None:
        """Learn a reward; unless it is history, one pending pull of the arm is answered."""

    @abstractmethod
    def indices(self) -> Floats:
        """The index of each arm; minus infinity for arms that are pruned or retired."""

    @abstractmethod
    def take(self, known: Knowledge) -> None:
        """Adopt this knowledge about the same arms, and plan anew."""

    @abstractmethod
    def extend(self, known: Knowledge, features: ArrayLike | None, offset: float) -> None:
        """Adopt knowledge with one more arm, at the end; features and offset are those of this arm."""

    @abstractmethod
    def told(self) -> dict[str, Any]:
        """The rewards so far, in values that JSON can hold."""

    @classmethod
    @abstractmethod
    def from_parts(cls, parts: Mapping[str, Any]) -> Self:
        """Make the learner that `parts` described."""

    def parts(self) -> dict[str, Any]:
        """The whole state: policy and knowledge as objects, everything else in values that JSON can hold.

        Examples
        --------
        >>> import meanbounds as mb
        >>> agent = mb.Agent(mb.GLUE(), mb.MeanBounds([0.2, 0.3], [0.9, 0.8]), seed=7)
        >>> parts = agent.inside.parts()
        >>> parts["policy"], parts["pending"], parts["retired"]
        (GLUE(), [0, 0], [])
        """
        return {
            "policy": self.policy,
            "knowledge": self.known,
            "seed": self.seed,
            "floor": self.floor,
            "pulls": self.pulls,
            "updates": self.updates,
            "pending": list(self.pending),
            "retired": list(self.retired_arms),
            **self.told(),
        }

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_parts, (self.parts(),)

    def _recall(self, parts: Mapping[str, Any]) -> None:
        """Restore the counts of pulls, the pending pulls and the retired arms from `parts`."""
        check_has(parts, _SAVED)
        if len(parts["pending"]) != len(self.bounds):
            raise ValueError(
                f"the saved agent has {len(self.bounds)} arms, but {len(parts['pending'])} counts of pending pulls"
            )
        self.pending = [int(n) for n in parts["pending"]]
        self.unanswered = sum(self.pending)
        self.pulls, self.updates = int(parts["pulls"]), int(parts["updates"])
        self.retired = {self.bounds.position(arm) for arm in parts["retired"]}

    def cancel(self, arm: Any) -> None:
        """Give up one pending pull of this arm."""
        k = self.bounds.position(arm)
        if not self.pending[k]:
            raise ValueError(f"arm {arm!r} has no pending pull to cancel")
        self.pending[k] -= 1
        self.unanswered -= 1

    def retire(self, arm: Arm) -> None:
        """Stop offering an arm."""
        self.retired.add(self.bounds.position(arm))
        self.take(self.known)

    def restore(self, arm: Arm) -> None:
        """Offer a retired arm again."""
        k = self.bounds.position(arm)
        if k not in self.retired:
            raise ValueError(f"arm {arm!r} is not retired")
        self.retired.remove(k)
        self.take(self.known)

    def _check_offered(self, positions: Iterable[int]) -> None:
        for k in sorted(self.retired.intersection(positions)):
            raise ValueError(f"arm {self.bounds.arms[k]!r} is retired; restore it before it is offered again")

    def _counts(self, pending: Pending | None) -> bool:
        """Whether this pull treats unanswered ones as answered."""
        if pending is None:
            return self._counts_by_default and self.unanswered > 0
        if pending not in ("ignore", "count"):
            raise ValueError(f'pending must be "ignore" or "count", or None for what suits the policy; got {pending!r}')
        return pending == "count" and self.unanswered > 0

    def _floored(self, possible: Integers) -> int | None:
        """One of these arms, drawn at random for the floor; None, as a rule, when the policy decides."""
        place = uniform(self._floor_key, self.pulls) / self._share(possible.size)
        return int(possible[int(place)]) if place < possible.size else None

    def _with_floor(self, chances: Floats, possible: Integers) -> Floats:
        """The probabilities of a pull, from those of the policy's choice: each possible arm gets the floor."""
        if not self.floor:
            return chances
        chances *= 1.0 - self._share(possible.size) * possible.size
        chances[possible] += self.floor
        return chances

    def _share(self, arms: int) -> float:
        """The floor; an error if it is too large for this many arms."""
        if self.floor * arms > 1.0:
            raise ValueError(
                f"floor={self.floor:g} is too large: {arms} arms can be best, so it can be at most {1.0 / arms:.4g}"
            )
        return self.floor


def check_reward(arm: object, reward: object, low: float, high: float) -> float:
    """Check a reward and return it as a float.

    Raises
    ------
    RewardError
        If it is no number in the range; strings and arrays are refused as well.

    Examples
    --------
    >>> check_reward("a", 1, 0.0, 1.0)
    1.0
    >>> check_reward("a", "1", 0.0, 1.0)
    Traceback (most recent call last):
    meanbounds.agents.learner.RewardError: arm 'a': the reward '1' is not a number in its range [0.0, 1.0]
    """
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
    """Refuse a saved agent that lacks some of these entries.

    Examples
    --------
    >>> check_has({"policy": {}}, ["policy", "seed"])
    Traceback (most recent call last):
    ValueError: the saved agent lacks seed
    """
    missing = [name for name in names if name not in data]
    if missing:
        raise ValueError(f"the saved agent lacks {', '.join(missing)}")


def check_floor(floor: float) -> float:
    """A floor as a float; anything that is no probability is refused."""
    if isinstance(floor, bool) or not isinstance(floor, int | float | np.number) or not 0.0 <= floor <= 1.0:
        raise ValueError(f"floor must be a probability such as 0.01, or 0 for none; got {floor!r}")
    return float(floor)
