"""Sums of a log with known propensities: rows are weighted by one over the probability of the arm that was played."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanbounds.bounds import BoundsError
from meanbounds.logs.assumptions.claims import Weighted
from meanbounds.logs.cells import Cells
from meanbounds.logs.confidence import Samples, lower_limit, upper_limit
from meanbounds.logs.counts import Counts
from meanbounds.logs.merging import add_up, column_of, without_column
from meanbounds.logs.weighted_bets import WeightedBets
from meanbounds.support.types import Floats, Integers

__all__ = ["Weights", "without_propensities"]

_CENTRES = (0.0, 0.5, 1.0)


@dataclass(frozen=True, eq=False)
class Weights:
    """Sums over the rows of each context and arm, with Y in units of the range and w one over its propensity.

    `rows` are those of the whole context; the others are the sums of w, w Y, w^2, w^2 Y and w^2 Y^2. `bets` has the
    rows themselves, counted, if limits come from bets.
    """

    rows: Floats
    ones: Floats
    total: Floats
    square_ones: Floats
    square_total: Floats
    squares: Floats
    bets: WeightedBets | None = None

    def at(self, places: slice) -> Weights:
        """The sums of some contexts."""
        sums = {name: part[places] for name, part in vars(self).items() if name != "bets"}
        return Weights(**sums, bets=None if self.bets is None else self.bets.at(places))

    def sums_at(self, places: Integers) -> Weights:
        """The sums of contexts that need not follow each other, without what bets need."""
        return Weights(*(getattr(self, name)[places] for name in vars(self) if name != "bets"))

    def plain_means(self) -> Floats:
        """The weighted mean of each arm; NaN for an arm that was never played."""
        seen = self.ones > 0.0
        return np.where(seen, self.total / np.where(seen, self.ones, 1.0), nan)

    def limits(self, claim: Weighted, goal: float, method: str) -> tuple[Floats, Floats]:
        """Lower and upper limits on each arm's mean; nothing is said of arms that were never played.

        The mean of ``c + (Y - c) w 1{A = k}`` is that of the arm, and it lies in ``c + [-c, 1 - c] / least``.
        """
        if self.bets is not None:
            return self.bets.limits(claim.least, goal)
        lower, upper = np.zeros(self.ones.shape), np.ones(self.ones.shape)
        most, price = 1.0 / claim.least, goal + log(len(_CENTRES))
        for c in _CENTRES:
            first = self.total - c * self.ones
            second = self.squares - 2.0 * c * self.square_total + c * c * self.square_ones
            unit = first / most + c * self.rows  # of the variable (x - c) / most + c, which lies in [0, 1]
            squares = second / most**2 + 2.0 * c * first / most + c * c * self.rows
            samples = Samples(self.rows, unit, np.minimum(squares, unit))
            lower = np.maximum(lower, c + most * (lower_limit(samples, price, method) - c))
            upper = np.minimum(upper, c + most * (upper_limit(samples, price, method) - c))
        seen = self.ones > 0.0
        return np.where(seen, lower, 0.0), np.where(seen, upper, 1.0)

    def refuted(self, claim: Weighted, goal: float, method: str) -> NDArray[np.bool_]:
        """Whether the mean of w 1{A = k}, which is 1, is not: then the propensities are wrong."""
        method = "kl" if method == "betting" else method  # it holds for the same logs, and needs the sums alone
        samples = Samples(self.rows, self.ones * claim.least, self.square_ones * claim.least**2)
        low = lower_limit(samples, goal + log(2.0), method) / claim.least
        high = upper_limit(samples, goal + log(2.0), method) / claim.least
        found: NDArray[np.bool_] = (self.ones > 0.0) & ((low > 1.0) | (high < 1.0))
        return found


def without_propensities(counts: Counts, claims: tuple[Weighted, ...], *, bets: bool = False) -> tuple[Counts, Weights]:
    """The counts of the contexts of the other columns, and the weighted sums; with `bets` all that bets need.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.logs.assumptions.claims import Weighted
    >>> from meanbounds.logs.weights import without_propensities
    >>> sums = {"count": [[4], [2]], "total": [[2], [1]], "squares": [[2], [1]]}
    >>> counts = mb.logs.Counts([("old", "0.5"), ("old", "0.25")], ["a"], **sums, context_names=["age", "chance"])
    >>> plain, weights = without_propensities(counts, (Weighted("chance", 0.25, False, 1.0),))
    >>> plain, weights.ones
    (Counts(6 rows, 1 context, 1 arm, rewards in [0.0, 1.0]), array([[16.]]))
    """
    (column,) = {claim.column for claim in claims}
    chances = np.array([_chance(column, written, claims) for written in column_of(counts, column)])
    plain, into = without_column(counts, column)
    cells, w = Cells.of(counts, histogram=bets), 1.0 / chances[:, None]
    parts = (cells.rows * w, cells.total * w, cells.rows * w**2, cells.total * w**2, cells.squares * w**2)
    rows = plain.count.sum(axis=1, keepdims=True)
    entries = WeightedBets.of(cells, chances, into) if bets and counts.histogram is not None else None
    ones, total, square_ones, square_total, squares = (add_up(part, into) for part in parts)
    return plain, Weights(rows, ones, total, square_ones, square_total, squares, entries)


def _chance(column: str, written: Any, claims: tuple[Weighted, ...]) -> float:
    least = max(claim.least for claim in claims)
    try:
        chance = float(written)
    except (TypeError, ValueError):
        chance = nan
    if not least * (1.0 - 1e-12) <= chance <= 1.0:
        raise BoundsError(
            f"column {column!r} holds {written!r}, which is no probability between least={least:g} and 1; correct the "
            f"log, or give a smaller least"
        )
    return chance
