"""Means that move: a test for change in the rewards of each arm, and statistics that forget what came before it.

For each arm and each point j of a fixed grid of its plays, the rewards before j and those after it have a Krichevsky-
Trofimov probability each. Their product, over the largest probability that one mean gives to all rewards, is at most an
e-process if the mean never changed; so is the average over j with weights ``1 / (j (j + 1))``. By Ville's inequality
it ever reaches 1 / alarm with probability at most `alarm`, for each arm between two restarts. Rewards between 0 and 1
enter as they were rounded at random, which keeps their mean.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.special import betaln, xlogy

from meanbounds.known import Known, Seen
from meanbounds.support.checks import as_mapping, shown, within
from meanbounds.support.entries import Entries
from meanbounds.support.types import Booleans, Floats, Integers

__all__ = ["Drift", "Memory", "doubted"]

_MARKS = 40  # points of the grid that are kept for each arm: older ones lose their weight
_STEP = 1.08  # from one point of the grid to the next
_LOOKS = 64  # looks in the time in which an arm's plays double
_SLACK = 1e-6  # of sums of rounded numbers
_NONE = float(betaln(0.5, 0.5))
_SUMS = ("plays", "total", "squares", "ones")
_TABLES = ("age", "restarts", "_recent", "_sums", "_marks", "_number", "_next", "_levels")


@dataclass(frozen=True)
class Drift:
    """How an agent, or a simulated policy, treats means that move.

    Parameters
    ----------
    alarm
        The probability of a false alarm, for each arm between two restarts. On an alarm all arms of the context forget
        their rewards, the arm that changed those before its change, and bounds and priors are no longer trusted.
        Rewards that come the later the lower (or the higher) they are look like a change when the late ones begin.
    cap
        As how many rewards an arm's rewards count at most, so that a slow drift is followed; None for no limit.
    half_life
        After so many rewards in a context all earlier ones count half; None for never. It finds options that became
        better, and costs exploration for ever: regret grows linearly even where nothing moves.

    Examples
    --------
    >>> import meanbounds as mb
    >>> before, after = mb.Bernoulli([0.9, 0.5]), mb.Bernoulli([0.1, 0.5])
    >>> environment = mb.simulation.Changing([(1, before), (501, after)])
    >>> given = {"horizon": 1_500, "runs": 10, "seed": 7}
    >>> still = mb.simulate(mb.OptimisticGittins(), environment, **given)
    >>> moving = mb.simulate(mb.OptimisticGittins(), environment, **given, drift=mb.evidence.Drift())
    >>> bool(10 * moving.final["OptimisticGittins"].mean() < still.final["OptimisticGittins"].mean())
    True
    """

    alarm: float = 0.1
    cap: float | None = 1000.0
    half_life: float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.alarm, bool) or not within(self.alarm, 0.0, 0.5):
            raise ValueError(f"alarm must be a probability above 0 and at most 0.5; got {shown(self.alarm)}")
        for name, value, least in (("cap", self.cap, 10.0), ("half_life", self.half_life, 10.0)):
            if value is not None and (isinstance(value, bool) or within(value, least, 1e15) is None):
                raise ValueError(f"{name} must be a number of rewards, at least {least:g}, or None; got {shown(value)}")

    def to_dict(self) -> dict[str, Any]:
        """What it was made of, in values that JSON can hold."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Make what `to_dict` described."""
        given = as_mapping("a saved Drift", data)
        if not set(given) <= {"alarm", "cap", "half_life"}:
            raise ValueError(f"a saved Drift has alarm, cap and half_life; got {sorted(map(str, given))}")
        return cls(**given)


class Memory:
    """What policies see of rows of statistics where means may move: the recent rewards; see `Drift`.

    Attributes
    ----------
    age
        How many rewards came since the last restart, for each row: what takes the place of the round.
    restarts
        How many restarts there were, for each row.
    """

    def __init__(self, drift: Drift, rows: int, arms: int) -> None:
        self.drift, self.age, self.restarts = drift, np.zeros(rows), np.zeros(rows)
        self._recent = np.zeros((len(_SUMS), rows, arms))
        self._sums = np.zeros((rows, arms, len(_SUMS)))  # since the last restart
        self._marks = np.zeros((rows, arms, _MARKS, len(_SUMS)))  # these sums at the points of the grid
        self._number = np.zeros((rows, arms))  # of the next point
        self._next = np.ones((rows, arms))  # plays at which it comes
        self._levels = np.full((rows, arms, _MARKS), -np.inf)  # log weight, and log probability of what came before

    @property
    def seen(self) -> Seen:
        """The recent rewards of each row and arm, as views."""
        return Seen(*self._recent)

    def add(self, rows: Integers, arms: Integers, rewards: Floats, roundings: Floats) -> Booleans:
        """Add one reward to each of these rows, as `Seen.add` does, and return which of them restart."""
        change = np.array([np.ones(len(rows)), rewards, rewards * rewards, roundings < rewards])
        if self.drift.half_life is not None:
            self._recent[:, rows] *= 0.5 ** (1.0 / self.drift.half_life)
        recent = self._recent[:, rows, arms] + change
        if self.drift.cap is not None:
            recent *= np.minimum(1.0, self.drift.cap / recent[0])
        self._recent[:, rows, arms] = recent
        self.age[rows] += 1.0
        sums = self._sums[rows, arms] + change.T
        self._sums[rows, arms] = sums
        restarts = np.zeros(len(rows), dtype=np.bool_)
        n = sums[:, 0]
        look = np.flatnonzero((n % np.maximum(1.0, n // _LOOKS) == 0.0) & (self._number[rows, arms] > 0.0))
        if look.size:
            restarts[look] = self._look(rows[look], arms[look], sums[look])
        marked = np.flatnonzero(~restarts & (n >= self._next[rows, arms]))
        if marked.size:
            self._mark(rows[marked], arms[marked], sums[marked])
        return restarts

    def after(self, arm: int, reward: float, one: float) -> Memory:
        """What one row remembers after one more reward, which was rounded to `one`; the object itself stays."""
        other = copy.copy(self)
        for name in _TABLES:
            setattr(other, name, getattr(self, name).copy())
        other.add(np.zeros(1, np.int64), np.array([arm]), np.array([reward]), np.array([0.0 if one else 1.0]))
        return other

    def beside(self, actual: Seen) -> Seen:
        """The recent rewards, with pulls that wait for theirs, and all rewards as the actual ones."""
        plays, total, squares, ones = self._recent
        found = Seen(plays, total, squares, ones, actual.pending, actual.aside)
        found._actual = actual
        return found

    def widened(self, arms: int) -> Memory:
        """The same with room for more arms."""
        other, more = Memory(self.drift, len(self.age), arms), self._recent.shape[2]
        for name in _TABLES:
            place = (..., slice(more)) if name == "_recent" else (slice(None), slice(more))[: getattr(self, name).ndim]
            getattr(other, name)[place] = getattr(self, name)
        return other

    def to_dict(self) -> dict[str, Any]:
        """What one row remembers, in values that JSON can hold."""
        seen = {name: own[0].tolist() for name, own in zip(_SUMS, self._recent, strict=True)}
        marks = [self._marks[0, arm, : int(min(number, _MARKS))].tolist() for arm, number in enumerate(self._number[0])]
        own = {"since": self._sums[0].tolist(), "number": self._number[0].tolist(), "marks": marks}
        return {**seen, "age": int(self.age[0]), "restarts": int(self.restarts[0]), **own}

    @classmethod
    def from_dict(cls, drift: Drift, arms: int, data: Mapping[str, Any]) -> Self:
        """Make the row that `to_dict` described."""
        saved = Entries("Memory", data, (*_SUMS, "age", "restarts", "since", "number", "marks"))
        self = cls(drift, 1, arms)
        self._recent[:, 0] = [saved.numbers(name, (arms,)) for name in _SUMS]
        self.age[0], self.restarts[0] = saved.whole("age", most=2**53), saved.whole("restarts", most=2**53)
        self._sums[0], self._number[0] = saved.numbers("since", (arms, len(_SUMS))), saved.wholes("number", (arms,))
        if len(saved.list("marks")) != arms:
            raise saved.wrong("marks must have an entry for each arm")
        for arm, number in enumerate(self._number[0].astype(np.int64).tolist()):
            size = min(number, _MARKS)
            own = Entries("Memory", {"marks": saved.list("marks")[arm]}, ("marks",))
            marks = own.numbers("marks", (size, len(_SUMS)))
            if size:
                places = np.arange(size)
                ordinal = places + _MARKS * ((number - 1 - places) // _MARKS)
                self._marks[0, arm, :size] = marks
                self._levels[0, arm, :size] = _level(marks, ordinal)
                self._next[0, arm] = _following(marks[(number - 1) % _MARKS, 0])
        for table in (np.moveaxis(self._recent, 0, -1), self._sums, self._marks):
            if not ((table >= 0.0) & (table <= table[..., :1] + _SLACK)).all():
                raise saved.wrong("no rewards in their range give these sums")
        return self

    def _look(self, rows: Integers, arms: Integers, sums: Floats) -> Booleans:
        """Test the arms for a change, and restart the rows in which there is one."""
        n, ones = sums[:, 0], sums[:, 3]
        after = sums[:, None, :] - self._marks[rows, arms]
        terms = self._levels[rows, arms] + _log_kt(np.maximum(after[..., 0], 0.0), np.maximum(after[..., 3], 0.0))
        most = xlogy(ones, ones) + xlogy(n - ones, n - ones) - xlogy(n, n)
        found: Booleans = np.logaddexp.reduce(terms, axis=1) - most >= -np.log(self.drift.alarm)
        for place in np.flatnonzero(found).tolist():
            row, arm = int(rows[place]), int(arms[place])
            kept = after[place, int(terms[place].argmax())]
            self._recent[:, row] = 0.0
            self._recent[:, row, arm] = kept
            self.age[row], self.restarts[row] = kept[0], self.restarts[row] + 1.0
            self._sums[row], self._number[row], self._next[row], self._levels[row] = 0.0, 0.0, 1.0, -np.inf
        return found

    def _mark(self, rows: Integers, arms: Integers, sums: Floats) -> None:
        """Set the next point of the grid."""
        number = self._number[rows, arms]
        place = number.astype(np.int64) % _MARKS
        self._marks[rows, arms, place] = sums
        self._levels[rows, arms, place] = _level(sums, number)
        self._number[rows, arms] = number + 1.0
        self._next[rows, arms] = _following(sums[:, 0])


def _level(sums: Floats, number: Floats | Integers) -> Floats:
    """The log weight of a point of the grid, and the log probability of what came before it."""
    found: Floats = _log_kt(sums[:, 0], sums[:, 3]) - np.log((number + 1.0) * (number + 2.0))
    return found


def _following(plays: Any) -> Any:
    """The plays at which the point after this one comes."""
    return np.maximum(plays + 1.0, np.ceil(_STEP * plays))


def doubted(known: Known, restarted: Booleans) -> Known:
    """What is known in rows of which some have restarted: there a bound holds with probability 1/2 at most.

    Priors are uniform there. Bounds on what experts earn stay: a promise rests on them.
    """
    shape = len(restarted), known.lower.shape[1]
    moved = np.broadcast_to(restarted[:, None], shape).copy()
    if known.expert is not None:
        moved[:, known.expert] = False
    says = (known.lower > known.low) | (known.upper < known.high)
    log_n = np.full(shape, np.inf) if known.log_n is None else np.broadcast_to(known.log_n, shape)
    log_n = np.where(moved & says, np.minimum(log_n, np.log(2.0)), log_n)
    prior = known.prior
    if prior is not None:
        prior = np.where(restarted[:, None], 1.0, prior[0]), np.where(restarted[:, None], 1.0, prior[1])
    return replace(known, log_n=None if np.isinf(log_n).all() else log_n, prior=prior)


def _log_kt(plays: Floats, ones: Floats) -> Floats:
    """The logarithm of the Krichevsky-Trofimov probability of rewards of 0 and 1."""
    return betaln(ones + 0.5, np.maximum(plays - ones, 0.0) + 0.5) - _NONE
