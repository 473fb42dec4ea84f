"""Means that move: a test for change in the rewards of each arm, and statistics that forget what came before it.

For each arm and each point j of a fixed grid of its plays, the rewards before j and those after it have a Krichevsky-
Trofimov probability each. Their product, over the largest probability that one mean gives to all rewards, is at most an
e-process if the mean never changed; so is the average over j with weights ``1 / (j (j + 1))``. By Ville's inequality
it ever reaches 1 / alarm with probability at most `alarm`, for each arm between two restarts. Rewards between 0 and 1
enter as they were rounded at random, which keeps their mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.special import betaln, xlogy

from meanbounds.known import Known, Seen
from meanbounds.support.checks import as_mapping, shown, within
from meanbounds.support.types import Booleans, Floats, Integers

__all__ = ["Drift", "Memory", "doubted"]

_MARKS = 40  # points of the grid that are kept for each arm: older ones lose their weight
_STEP = 1.08  # from one point of the grid to the next
_LOOKS = 64  # looks in the time in which an arm's plays double
_NONE = float(betaln(0.5, 0.5))
_SUMS = ("plays", "total", "squares", "ones")


@dataclass(frozen=True)
class Drift:
    """How an agent, or a simulated policy, treats means that move.

    Parameters
    ----------
    alarm
        The probability of a false alarm, for each arm between two restarts. On an alarm all arms of the context forget
        their rewards, the arm that changed those before its change, and bounds and priors are no longer trusted.
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
    seen
        The recent rewards of each row and arm.
    age
        How many rewards came since the last restart, for each row: what takes the place of the round.
    restarts
        How many restarts there were, for each row.
    """

    def __init__(self, drift: Drift, rows: int, arms: int) -> None:
        self.drift, self.seen, self.age = drift, Seen.empty(rows, arms), np.zeros(rows)
        self.restarts = np.zeros(rows)
        self._sums = np.zeros((rows, arms, len(_SUMS)))  # since the last restart
        self._marks = np.zeros((rows, arms, _MARKS, len(_SUMS)))  # these sums at the points of the grid
        self._number = np.zeros((rows, arms))  # of the next point
        self._next = np.ones((rows, arms))  # plays at which it comes
        self._levels = np.full((rows, arms, _MARKS), -np.inf)  # log weight, and log probability of what came before

    def add(self, rows: Integers, arms: Integers, rewards: Floats, roundings: Floats) -> Booleans:
        """Add one reward to each of these rows, as `Seen.add` does, and return which of them restart."""
        seen, drift = self.seen, self.drift
        if drift.half_life is not None:
            for name in _SUMS:
                getattr(seen, name)[rows] *= 0.5 ** (1.0 / drift.half_life)
        seen.add(rows, arms, rewards, roundings)
        if drift.cap is not None:
            scale = np.minimum(1.0, drift.cap / seen.plays[rows, arms])
            for name in _SUMS:
                getattr(seen, name)[rows, arms] *= scale
        self.age[rows] += 1.0
        sums = self._sums[rows, arms]
        sums += np.stack([np.ones(len(rows)), rewards, rewards * rewards, 1.0 * (roundings < rewards)], axis=1)
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

    def with_pending(self, known: Known, actual: Seen) -> Seen:
        """The recent rewards as they would be if pending pulls had returned the arm's mean so far."""
        self.seen.pending = actual.pending
        return self.seen.with_pending(known)

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
            for name, value in zip(_SUMS, kept.tolist(), strict=True):
                getattr(self.seen, name)[row] = 0.0
                getattr(self.seen, name)[row, arm] = value
            self.age[row], self.restarts[row] = kept[0], self.restarts[row] + 1.0
            self._sums[row], self._number[row], self._next[row], self._levels[row] = 0.0, 0.0, 1.0, -np.inf
        return found

    def _mark(self, rows: Integers, arms: Integers, sums: Floats) -> None:
        """Set the next point of the grid."""
        number = self._number[rows, arms]
        place = number.astype(np.int64) % _MARKS
        self._marks[rows, arms, place] = sums
        self._levels[rows, arms, place] = _log_kt(sums[:, 0], sums[:, 3]) - np.log((number + 1.0) * (number + 2.0))
        self._number[rows, arms] = number + 1.0
        self._next[rows, arms] = np.maximum(sums[:, 0] + 1.0, np.ceil(_STEP * sums[:, 0]))


def doubted(known: Known, restarted: Booleans) -> Known:
    """What is known in rows of which some have restarted: there a bound holds with probability 1/2 at most.

    Priors are uniform there. What is known of experts stays: it is about the log.
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
        prior = np.where(moved, 1.0, prior[0]), np.where(moved, 1.0, prior[1])
    return replace(known, log_n=None if np.isinf(log_n).all() else log_n, prior=prior)


def _log_kt(plays: Floats, ones: Floats) -> Floats:
    """The logarithm of the Krichevsky-Trofimov probability of rewards of 0 and 1."""
    return betaln(ones + 0.5, np.maximum(plays - ones, 0.0) + 0.5) - _NONE
