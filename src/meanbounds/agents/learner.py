"""The learner inside an agent: the rewards so far, the pending pulls, and the code that decides."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Self

from numpy.typing import ArrayLike

from meanbounds.agents.candidate import Candidate
from meanbounds.agents.watch import found
from meanbounds.bounds import Arm, MeanBounds
from meanbounds.evidence.contradictions import WATCHED_ERROR, Contradiction
from meanbounds.kernels.tally import PENDING, PULLS, UNANSWERED, UPDATES, count_cancel
from meanbounds.knowledge import Knowledge
from meanbounds.policies import AnyPolicy
from meanbounds.support.checks import as_float, shown
from meanbounds.support.entries import Entries
from meanbounds.support.types import Floats, Integers

__all__ = [
    "Counts",
    "Learner",
    "NoIndexError",
    "Pending",
    "RewardError",
    "Standing",
    "check_floor",
    "check_reward",
    "read_counts",
]

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a learner stands: everything that a call may change.

    Statistics and tally are written by machine code alone, a whole pull or update in one call. All other changes make
    another standing, which takes the place of the old one in a single assignment. So an interrupt, an error or a
    refused value leaves the learner as it was before the call or as it is after it.
    """

    known: Knowledge
    retired: frozenset[int]
    tally: Integers  # see meanbounds.kernels.tally


class Learner(ABC):
    """Base of the learners for arms with and without features; `meanbounds.Agent` describes each method.

    A learner is not to be shared by threads; an agent is, because it has a lock.

    Parameters
    ----------
    policy, seed, floor
        As for `meanbounds.Agent`, checked already.

    Examples
    --------
    >>> import meanbounds as mb
    >>> agent = mb.Agent(mb.GLUE(), mb.MeanBounds([0.2, 0.3], [0.9, 0.8]), seed=7)
    >>> isinstance(agent.inside, Learner), agent.inside.updates
    (True, 0)
    """

    def __init__(self, policy: AnyPolicy, seed: int, floor: float) -> None:
        self.seed = seed
        self.floor = check_floor(floor)
        self._counts_by_default = policy.counts_pending
        self._error = WATCHED_ERROR

    @property
    @abstractmethod
    def standing(self) -> Standing:
        """Where the learner stands."""

    @property
    def known(self) -> Knowledge:
        """Everything that is taken as known about the arms."""
        return self.standing.known

    @property
    def bounds(self) -> MeanBounds:
        """The bounds on the arms' means."""
        return self.standing.known.bounds

    @property
    def pulls(self) -> int:
        """How many pulls there were."""
        return int(self.standing.tally[PULLS])

    @property
    def updates(self) -> int:
        """How many rewards have come."""
        return int(self.standing.tally[UPDATES])

    @property
    def unanswered(self) -> int:
        """How many pulls wait for their reward, those of candidates included."""
        return int(self.standing.tally[UNANSWERED])

    @property
    def pending(self) -> Integers:
        """How many pulls of each arm wait for their reward."""
        now = self.standing
        return now.tally[PENDING : PENDING + len(now.known.bounds)].copy()

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
    @abstractmethod
    def sums(self) -> tuple[Floats, Floats]:
        """For each arm the sum of rewards, and of what each lacks to the highest, in units of the range."""

    @property
    @abstractmethod
    def seen(self) -> Floats:
        """After how many updates each lower and each upper bound was seen to be contradicted; 0 if it was not."""

    def contradictions(self, error: float) -> list[Contradiction]:
        """The bounds that the rewards so far contradict."""
        rewards = self.plays, self.means
        every = found(self.bounds, self.sums, rewards, self.pending, self.seen, (error, self._error))
        return [self._with_assumption(one) for one in every]

    def _with_assumption(self, one: Contradiction) -> Contradiction:
        """A contradiction that names the assumption on which the bound rests."""
        assumption = self.known.assumption
        return one if assumption is None else replace(one, assumption=assumption)

    @property
    def retired_arms(self) -> tuple[Arm, ...]:
        """The arms that were retired, and are therefore not on offer."""
        return tuple(self.bounds.arms[k] for k in sorted(self.standing.retired))

    @abstractmethod
    def pull(self, eligible: Any, pending: Pending | None) -> Any:
        """Choose an arm, and count it as pending."""

    @abstractmethod
    def probabilities(self, eligible: Any, pending: Pending | None) -> Floats:
        """The probability with which the next pull takes each arm."""

    def decide(self, eligible: list[Any] | None, pending: Pending | None) -> tuple[Any, float]:
        """Choose an arm as `pull` does; the second entry is the probability that it had."""
        chances = self.probabilities(eligible, pending)
        arm = self.pull(eligible, pending)
        if eligible is not None and any(isinstance(one, Candidate) for one in eligible):
            return arm, float(chances[list(dict.fromkeys(eligible)).index(arm)])
        return arm, float(chances[self.bounds.position(arm)])

    @abstractmethod
    def update(self, arm: Any, reward: float, history: bool) -> None:
        """Learn a reward; unless it is history, one pending pull of the arm is answered."""

    @abstractmethod
    def indices(self) -> Floats:
        """The index of each arm; minus infinity for arms that are pruned or retired."""

    @abstractmethod
    def adopt(self, known: Knowledge, retired: frozenset[int]) -> None:
        """Use this knowledge about the same arms, of which some are retired, and plan anew."""

    @abstractmethod
    def extend(self, known: Knowledge, features: ArrayLike | None, offset: float) -> None:
        """Adopt knowledge with one more arm, at the end; features and offset are those of this arm."""

    @abstractmethod
    def told(self) -> dict[str, Any]:
        """The rewards so far, in values that JSON can hold."""

    @classmethod
    @abstractmethod
    def from_parts(cls, parts: Mapping[str, Any]) -> Self:
        """Make the learner that `parts` described; everything is checked."""

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
            "pending": self.pending.tolist(),
            "retired": list(self.retired_arms),
            **self.told(),
        }

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_parts, (self.parts(),)

    def cancel(self, arm: Any) -> None:
        """Give up one pending pull of this arm."""
        if not count_cancel(self.standing.tally, self.bounds.position(arm)):
            raise ValueError(f"arm {arm!r} has no pending pull to cancel")

    def retire(self, arm: Arm) -> None:
        """Stop offering an arm."""
        now = self.standing
        self.adopt(now.known, now.retired | {self.bounds.position(arm)})

    def restore(self, arm: Arm) -> None:
        """Offer a retired arm again."""
        now, k = self.standing, self.bounds.position(arm)
        if k not in now.retired:
            raise ValueError(f"arm {arm!r} is not retired")
        self.adopt(now.known, now.retired - {k})

    def _check_offered(self, positions: Iterable[int]) -> None:
        for k in sorted(self.standing.retired.intersection(positions)):
            raise ValueError(f"arm {self.bounds.arms[k]!r} is retired; restore it before it is offered again")

    def _counts(self, pending: Pending | None) -> bool:
        """Whether unanswered pulls count as answered, if there are any."""
        if pending is None:
            return self._counts_by_default
        if not isinstance(pending, str) or pending not in ("ignore", "count"):
            raise ValueError(
                f'pending must be "ignore" or "count", or None for what suits the policy; got {shown(pending)}'
            )
        return pending == "count"

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


class Counts(NamedTuple):
    """The part of a saved learner that all kinds have."""

    seed: int
    floor: float
    retired: frozenset[int]
    pulls: int
    updates: int
    pending: Integers


def read_counts(saved: Entries, bounds: MeanBounds) -> Counts:
    """Check the counts of a saved learner with these bounds."""
    pulls, pending = saved.whole("pulls"), saved.wholes("pending", len(bounds))
    if pending.sum() > pulls:
        raise saved.fail(f"{int(pending.sum())} pulls are pending, but there were only {pulls}")
    try:
        retired = frozenset(bounds.position(arm) for arm in saved.sequence("retired"))
        floor = check_floor(saved["floor"])
    except (TypeError, LookupError, ValueError) as error:
        raise saved.fail(str(error)) from None
    return Counts(saved.whole("seed", high=2**63 - 1), floor, retired, pulls, saved.whole("updates"), pending)


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
        value = as_float("reward", reward)
    except ValueError:
        value = math.nan
    if not low <= value <= high:
        raise RewardError(f"arm {arm!r}: the reward {shown(reward)} is not a number in its range [{low}, {high}]")
    return value


def check_floor(floor: float) -> float:
    """A floor as a float; anything that is no probability is refused."""
    try:
        value = math.nan if isinstance(floor, bool) else as_float("floor", floor)
    except ValueError:
        value = math.nan
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"floor must be a probability such as 0.01, or 0 for none; got {shown(floor)}")
    return value
