"""Bounds from a finite log. The bounds of an infinite log are means; here each gets a confidence limit.

The upper bound on arm k is the mean of ``Y - gap_low 1{A != k}``. For any set S of other arms the mean of
``Y 1{A = k} + (Y - gap_high) 1{A in S}`` is a lower bound. How likely each limit is to fail is settled in
`meanbounds.logs.shares`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from meanbounds.logs.confidence import Samples, lower_limit, upper_limit
from meanbounds.logs.counts import Counts
from meanbounds.logs.histogram import Histogram
from meanbounds.logs.sets import promising_sets
from meanbounds.logs.shares import Shares
from meanbounds.support.types import Booleans, Floats

__all__ = ["Cells", "largest_gap_above_bottom", "limits_any_expert", "limits_optimal_expert"]

_AT_ONCE = 2**18  # pairs of arms that are looked at together, so that memory does not grow with their number


@dataclass(frozen=True, eq=False)
class Cells:
    """Rows, sums and sums of squares of some cells of one context, with rewards scaled to [0, 1].

    A cell is an arm, or a set of arms; see `of` and `merged`.

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
    histogram: Histogram | None  # cells x values

    @classmethod
    def of(cls, counts: Counts, place: int, *, histogram: bool = False) -> Cells:
        """Return the arms in the context at this place of the counts, with a histogram only if a method needs it."""
        low, high = counts.low, counts.high
        unit = Samples.scaled(counts.count[place], counts.total[place], counts.squares[place], low=low, high=high)
        own, counted = counts.histogram if histogram else None, None
        if own is not None:
            lower, upper = ((values - low) / (high - low) for values in (own.values_low, own.values_high))
            counted = Histogram(lower, upper, own.count[place])
        return cls(unit.rows, unit.total, unit.squares, counted)

    def __len__(self) -> int:
        return self.rows.size

    def __getitem__(self, places: NDArray[np.intp] | slice) -> Cells:
        histogram = None if self.histogram is None else self.histogram.at(places)
        return Cells(self.rows[places], self.total[places], self.squares[places], histogram)

    def merged(self, sets: Booleans) -> Cells:
        """Merge the cells of each set into one; `sets` is sets x cells.

        Examples
        --------
        >>> import numpy as np
        >>> import meanbounds as mb
        >>> from meanbounds.logs.finite import Cells
        >>> counts = mb.logs.Counts(["all"], ["a", "b"], count=[[2, 3]], total=[[1, 2]], squares=[[1, 2]])
        >>> Cells.of(counts, 0).merged(np.array([[True, True], [False, True], [False, False]])).rows
        array([5., 3., 0.])
        """
        chosen, own = sets.astype(np.float64), self.histogram
        rows, total, squares = (chosen @ np.stack([self.rows, self.total, self.squares], axis=1)).T
        histogram = None if own is None else Histogram(own.values_low, own.values_high, chosen @ own.count)
        return Cells(rows, total, squares, histogram)

    def others(self) -> Cells:
        """For each cell all others, merged into one.

        Examples
        --------
        >>> import meanbounds as mb
        >>> from meanbounds.logs.finite import Cells
        >>> counts = mb.logs.Counts(["all"], ["a", "b"], count=[[2, 3]], total=[[1, 2]], squares=[[1, 2]])
        >>> Cells.of(counts, 0).others().rows
        array([3., 2.])
        """
        own = self.histogram
        rows, total, squares = (part.sum() - part for part in (self.rows, self.total, self.squares))
        if own is not None:
            own = Histogram(own.values_low, own.values_high, own.count.sum(axis=0) - own.count)
        return Cells(rows, total, squares, own)

    def nothing(self) -> Cells:
        """As many cells without rows.

        Examples
        --------
        >>> import meanbounds as mb
        >>> from meanbounds.logs.finite import Cells
        >>> counts = mb.logs.Counts(["all"], ["a", "b"], count=[[2, 3]], total=[[1, 2]], squares=[[1, 2]])
        >>> Cells.of(counts, 0).nothing().rows
        array([0., 0.])
        """
        own, zeros = self.histogram, np.zeros(len(self))
        if own is not None:
            own = Histogram(own.values_low, own.values_high, np.zeros(own.count.shape))
        return Cells(zeros, zeros, zeros, own)


def _samples(rows: float, still: Cells, moved: Cells, *, by: float, rest: float = 0.0) -> Samples:
    """The samples, scaled to [0, 1], of variables that depend on the arm that was played in each of the rows.

    A variable is the reward Y in its still cell, Y + `by` in its moved cell, and `rest` elsewhere. `by` is at most 0,
    so it lies in [by, 1].
    """
    left = rows - still.rows - moved.rows
    total = still.total + moved.total + by * moved.rows + rest * left
    squares = still.squares + moved.squares + 2.0 * by * moved.total + by * by * moved.rows + rest * rest * left
    width = 1.0 - by
    unit_total = (total - by * rows) / width
    unit_squares = (squares - 2.0 * by * total + by * by * rows) / width**2
    own, its = still.histogram, moved.histogram
    if own is None or its is None:
        return Samples(rows, unit_total, unit_squares)
    low, high = (
        np.clip(np.concatenate([(values - by) / width, values / width, [(rest - by) / width]]), 0.0, 1.0)
        for values in (own.values_low, own.values_high)
    )
    counted = np.concatenate([own.count, its.count, left[:, None]], axis=1)
    return Samples(rows, unit_total, unit_squares, Histogram(low, high, counted))


def largest_gap_above_bottom(cells: Cells, gap: float, shares: Shares, method: str) -> Floats:
    """Upper confidence limit for each arm on the mean of (reward - gap) where it was played, 0 elsewhere.

    If the arm was always best by the gap, that mean is not negative: a limit below 0 refutes the gap.
    """
    samples = _samples(float(cells.rows.sum()), cells.nothing(), cells, by=-gap)
    return -gap + (1.0 + gap) * upper_limit(samples, shares.check, method)


def limits_any_expert(cells: Cells, shares: Shares, method: str) -> tuple[Floats, Floats]:
    """Lower and upper limits on each arm's mean, in units of the range, whatever the expert did.

    Rows in which another arm was played count as the lowest reward for the lower limit, the highest for the upper one.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.logs.finite import Cells, limits_any_expert
    >>> from meanbounds.logs.shares import Shares
    >>> lab = mb.HiddenContexts([[[0.9, 0.4], [0.3, 0.6]]], [[0.5, 0.5]])
    >>> shares = Shares.of(0.96, contexts=1, arms=2, checked=False, alone=True)
    >>> lower, upper = limits_any_expert(Cells.of(lab.sample(10_000, seed=7), 0), shares, "kl")
    >>> lower.round(2), upper.round(2)  # an infinite log gives 0.45 and 0.3, 0.95 and 0.8
    (array([0.44, 0.29]), array([0.96, 0.81]))
    """
    rows, nobody = float(cells.rows.sum()), cells.nothing()
    lower = lower_limit(_samples(rows, cells, nobody, by=0.0), float(shares.lower[0]), method)
    return lower, upper_limit(_samples(rows, cells, nobody, by=0.0, rest=1.0), shares.upper, method)


def limits_optimal_expert(
    cells: Cells, gap_low: float, gap_high: float, shares: Shares, method: str
) -> tuple[Floats, Floats]:
    """Lower and upper limits on each arm's mean, in units of the range, if the expert played the best arm.

    Both gaps are in units of the range too. See the head of this module for the variables.
    """
    rows = float(cells.rows.sum())
    upper = upper_limit(_samples(rows, cells, cells.others(), by=-gap_low), shares.upper, method)
    lower = lower_limit(_samples(rows, cells, cells.nothing(), by=0.0), float(shares.lower[0]), method)
    if np.any(shares.lower[1:] < np.inf):
        at_once = max(1, _AT_ONCE // len(cells))
        for first in range(0, len(cells), at_once):
            some = np.arange(first, min(first + at_once, len(cells)))
            lower[some] = np.maximum(lower[some], _with_others(cells, some, gap_high, shares.lower, method))
    return lower, -gap_low + (1.0 + gap_low) * upper


def _with_others(cells: Cells, arms: NDArray[np.intp], gap: float, price: Floats, method: str) -> Floats:
    """The best lower limit of each of these arms over sets of other arms.

    The limit of any set is valid with its own share, so only those are computed that look best.
    """
    sets, sizes = promising_sets(cells.rows, cells.total, cells.squares, arms, gap, price, method)
    tried = sets.shape[1]
    moved = cells.merged(sets.reshape(-1, len(cells)))
    samples = _samples(float(cells.rows.sum()), cells[np.repeat(arms, tried)], moved, by=-gap)
    limits = -gap + (1.0 + gap) * lower_limit(samples, price[sizes.ravel()], method)
    best: Floats = limits.reshape(-1, tried).max(axis=1)
    return best
