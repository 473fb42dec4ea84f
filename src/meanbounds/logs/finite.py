"""Bounds from a finite log. The bounds of an infinite log are means; here each gets a confidence limit.

The upper bound on arm k is the mean of ``Y - gap_low 1{A != k}``. For any set S of other arms the mean of
``Y 1{A = k} + (Y - gap_high) 1{A in S}`` is a lower bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import log

import numpy as np

from meanbounds.logs.confidence import Sample, lower_limit, upper_limit
from meanbounds.logs.counts import Counts
from meanbounds.logs.histogram import Histogram
from meanbounds.support.types import Booleans, Floats

__all__ = ["Cells", "Level", "least_gap_above_bottom", "limits_any_expert", "limits_optimal_expert"]

_ALL_SUBSETS = 10  # arms up to which every set of other arms is in the family
_TRIED = 6  # sets of the family whose limit is computed, the most promising ones


@dataclass(frozen=True)
class Level:
    """How each one-sided limit is computed: by which method, and with which probability it may fail.

    Examples
    --------
    >>> from meanbounds.logs.confidence import Sample
    >>> from meanbounds.logs.finite import Level
    >>> level, sample = Level(0.05, "hoeffding"), Sample(rows=100, total=50, squares=50)
    >>> round(level.lower(sample), 4), round(level.upper(sample), 4)
    (0.3776, 0.6224)
    """

    failure: float
    method: str

    def upper(self, sample: Sample) -> float:
        """Upper confidence limit on the mean that the sample was drawn from."""
        return upper_limit(sample, self.failure, self.method)

    def lower(self, sample: Sample) -> float:
        """Lower confidence limit on the mean that the sample was drawn from."""
        return lower_limit(sample, self.failure, self.method)

    def divided(self, parts: float) -> Level:
        """Return the same method with this fraction of the failure probability.

        Examples
        --------
        >>> from meanbounds.logs.finite import Level
        >>> Level(0.05, "kl").divided(10)
        Level(failure=0.005, method='kl')
        """
        return Level(self.failure / parts, self.method)


@dataclass(frozen=True, eq=False)
class Cells:
    """Rows, sums and sums of squares of each arm in one context, with rewards scaled to [0, 1].

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.logs.finite import Cells
    >>> stars = mb.logs.Counts(["all"], ["Heat"], count=[[2]], total=[[6]], squares=[[26]], low=1, high=5)
    >>> Cells.of(stars, 0).total  # 1 and 5 stars are 0 and 1
    array([1.])
    """

    rows: Floats
    total: Floats
    squares: Floats
    histogram: Histogram | None  # arms x values

    @classmethod
    def of(cls, counts: Counts, place: int, *, histogram: bool = False) -> Cells:
        """Return the cells of the context at this place of the counts, with its histogram only if a method needs it."""
        low, high = counts.low, counts.high
        columns = (counts.count[place], counts.total[place], counts.squares[place])
        cells = (map(float, cell) for cell in zip(*columns, strict=True))
        units = [Sample.scaled(rows, total, squares, low, high) for rows, total, squares in cells]
        own, counted = counts.histogram if histogram else None, None
        if own is not None:
            lower, upper = ((values - low) / (high - low) for values in (own.values_low, own.values_high))
            counted = Histogram(lower, upper, own.count[place])
        return cls(
            np.array([unit.rows for unit in units]),
            np.array([unit.total for unit in units]),
            np.array([unit.squares for unit in units]),
            counted,
        )

    def __len__(self) -> int:
        return self.rows.size

    def sample(self, arm: int, moved: Booleans, *, by: float, rest: float = 0.0) -> Sample:
        """Return the sample, scaled to [0, 1], of a variable that depends on the arm that was played.

        It is the reward Y for `arm`, Y + `by` for the moved arms, and `rest` for all others. `by` is at most 0, so the
        variable lies in [by, 1].

        Examples
        --------
        >>> import numpy as np
        >>> import meanbounds as mb
        >>> from meanbounds.logs.finite import Cells
        >>> counts = mb.logs.Counts(["all"], ["a", "b"], count=[[2, 2]], total=[[1, 2]], squares=[[1, 2]])
        >>> own = Cells.of(counts, 0).sample(0, np.array([False, True]), by=-0.5)
        >>> round(own.mean * 1.5 - 0.5, 3)  # of 0, 1, 0.5 and 0.5
        0.5
        """
        still = np.arange(len(self)) == arm
        kept = still | moved
        rows, n, left = (float(part.sum()) for part in (self.rows, self.rows[moved], self.rows[~kept]))
        total = float(self.total[kept].sum()) + by * n + rest * left
        squares = float(self.squares[kept].sum()) + 2.0 * by * float(self.total[moved].sum()) + by * by * n
        squares += rest * rest * left
        width = 1.0 - by
        unit_total = (total - by * rows) / width
        unit_squares = (squares - 2.0 * by * total + by * by * rows) / width**2
        if self.histogram is None:
            return Sample(rows, unit_total, unit_squares)
        low, high = (
            np.clip(np.concatenate([(values - by) / width, values / width, [(rest - by) / width]]), 0.0, 1.0)
            for values in (self.histogram.values_low, self.histogram.values_high)
        )
        of_arm, of_moved = (self.histogram.count[mask].sum(axis=0) for mask in (still, moved))
        return Sample(rows, unit_total, unit_squares, Histogram(low, high, np.concatenate([of_arm, of_moved, [left]])))


def least_gap_above_bottom(cells: Cells, gap: float, level: Level) -> Floats:
    """Upper confidence limit for each arm on the mean of (reward - gap) where it was played, 0 elsewhere.

    If the arm was always best by the gap, that mean is not negative: a limit below 0 refutes the gap.
    """
    arms = np.arange(len(cells))
    return np.array([-gap + (1.0 + gap) * level.upper(cells.sample(-1, arms == k, by=-gap)) for k in arms])


def limits_any_expert(cells: Cells, level: Level) -> tuple[Floats, Floats]:
    """Lower and upper limits on each arm's mean, in units of the range, whatever the expert did.

    Rows in which another arm was played count as the lowest reward for the lower limit, the highest for the upper one.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.logs.finite import Cells, Level, limits_any_expert
    >>> lab = mb.HiddenContexts([[[0.9, 0.4], [0.3, 0.6]]], [[0.5, 0.5]])
    >>> lower, upper = limits_any_expert(Cells.of(lab.sample(10_000, seed=7), 0), Level(0.01, "kl"))
    >>> lower.round(2), upper.round(2)  # an infinite log gives 0.45 and 0.3, 0.95 and 0.8
    (array([0.44, 0.29]), array([0.96, 0.81]))
    """
    nobody = np.zeros(len(cells), dtype=np.bool_)
    lower = [level.lower(cells.sample(k, nobody, by=0.0)) for k in range(len(cells))]
    upper = [level.upper(cells.sample(k, nobody, by=0.0, rest=1.0)) for k in range(len(cells))]
    return np.array(lower), np.array(upper)


def limits_optimal_expert(cells: Cells, gap_low: float, gap_high: float, level: Level) -> tuple[Floats, Floats]:
    """Lower and upper limits on each arm's mean, in units of the range, if the expert played the best arm.

    Both gaps are in units of the range too. See the head of this module for the variables, and `meanbounds.logs.bounds`
    for how the failure probability is shared.
    """
    arms = np.arange(len(cells))
    upper = [-gap_low + (1.0 + gap_low) * level.upper(cells.sample(k, arms != k, by=-gap_low)) for k in arms.tolist()]
    lower = [_best_lower(cells, k, gap_high, level) for k in arms.tolist()]
    return np.array(lower), np.array(upper)


def _best_lower(cells: Cells, k: int, gap: float, level: Level) -> float:
    """The best limit over the family of sets of other arms, each with its part of the failure probability.

    The limit of any set is valid, so only those are computed that look best by mean and spread. The empty set, which
    needs no gap, has half of the failure probability, and all of it where the gap is the whole range: others cannot
    help then.
    """
    others = np.flatnonzero(np.arange(len(cells)) != k)
    nobody = np.zeros(len(cells), dtype=np.bool_)
    alone = gap >= 1.0 or not others.size
    best = (level if alone else level.divided(2.0)).lower(cells.sample(k, nobody, by=0.0))
    if alone:
        return best
    family = _family(others.size)[1:]
    each = level.divided(2.0 * len(family))
    for chosen in family[_promising(cells, k, gap, each.failure)]:
        moved = np.zeros(len(cells), dtype=np.bool_)
        moved[others[chosen]] = True
        best = max(best, -gap + (1.0 + gap) * each.lower(cells.sample(k, moved, by=-gap)))
    return best


def _promising(cells: Cells, k: int, gap: float, failure: float) -> Floats:
    """Places in the family of the sets whose limits look best: by mean less spread, and by mean alone."""
    others = np.flatnonzero(np.arange(len(cells)) != k)
    family = _family(others.size)[1:]
    rows, total, squares = cells.rows[others], cells.total[others], cells.squares[others]
    count = cells.rows.sum()
    mean = (cells.total[k] + family @ (total - gap * rows)) / count
    square = (cells.squares[k] + family @ (squares - 2.0 * gap * total + gap * gap * rows)) / count
    look = mean - np.sqrt(2.0 * np.maximum(square - mean**2, 0.0) * -log(failure) / count)
    return np.union1d(np.argsort(look)[-_TRIED:], np.argmax(mean))


@lru_cache(maxsize=64)
def _family(others: int) -> Booleans:
    """Sets of other arms, fixed in advance, the empty one first: all if there are few arms, else all but one or two."""
    if others < _ALL_SUBSETS:
        every: Booleans = (np.arange(2**others)[:, None] >> np.arange(others)) & 1 == 1
        return every
    sets = [np.zeros(others, dtype=np.bool_), np.ones(others, dtype=np.bool_)]
    for size in (1, 2):
        for left_out in combinations(range(others), size):
            some = np.ones(others, dtype=np.bool_)
            some[list(left_out)] = False
            sets.append(some)
    return np.array(sets)
