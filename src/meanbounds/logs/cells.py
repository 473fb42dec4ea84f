"""What was counted in each context and arm, with rewards in units of their range, ready for compiled loops."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meanbounds.logs.confidence import Samples
from meanbounds.logs.counts import Counts
from meanbounds.support.types import Floats, Integers

__all__ = ["Cells"]


@dataclass(frozen=True, eq=False)
class Cells:
    """Rows, sums and sums of squares, contexts x arms, with rewards scaled to [0, 1].

    `counted` is contexts x arms x values, and `values_low` and `values_high` are the edges of the values; there are no
    values if they were not counted, or nobody needs them.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.logs.cells import Cells
    >>> stars = mb.logs.Counts(["all"], ["Heat"], count=[[2]], total=[[6]], squares=[[26]], low=1, high=5)
    >>> Cells.of(stars).total  # 1 and 5 stars are 0 and 1
    array([[1.]])
    """

    rows: Floats
    total: Floats
    squares: Floats
    values_low: Floats
    values_high: Floats
    counted: Floats

    @classmethod
    def of(cls, counts: Counts, *, histogram: bool = False) -> Cells:
        """Scale the counts; take their histogram only if something needs it."""
        low, high = counts.low, counts.high
        unit = Samples.scaled(counts.count, counts.total, counts.squares, low=low, high=high)
        own = counts.histogram if histogram else None
        if own is None:
            return cls.without_values(unit.rows, unit.total, unit.squares)
        lower, upper = (np.clip((ends - low) / (high - low), 0.0, 1.0) for ends in (own.values_low, own.values_high))
        return cls(unit.rows, unit.total, unit.squares, lower, upper, own.count)

    @classmethod
    def without_values(cls, rows: Floats, total: Floats, squares: Floats) -> Cells:
        """Cells of which only sums are known."""
        return cls(rows, total, squares, np.zeros(0), np.zeros(0), np.zeros((*rows.shape, 0)))

    def at(self, places: slice | Integers) -> Cells:
        """The cells of some contexts."""
        rows, total, squares = (part[places] for part in (self.rows, self.total, self.squares))
        return Cells(rows, total, squares, self.values_low, self.values_high, self.counted[places])

    def copied(self, places: slice) -> Cells:
        """A copy of some contexts: kernels are compiled once, for arrays that can be written to."""
        return Cells(*(np.array(part) for part in vars(self.at(places)).values()))

    def mirrored(self) -> Cells:
        """Replace each reward Y by 1 - Y.

        Examples
        --------
        >>> import numpy as np
        >>> from meanbounds.logs.cells import Cells
        >>> seven = np.array([[7.0]])
        >>> Cells.without_values(np.array([[10.0]]), seven, seven).mirrored().total
        array([[3.]])
        """
        squares = self.rows - 2.0 * self.total + self.squares
        edges = (1.0 - self.values_high, 1.0 - self.values_low)
        return Cells(self.rows, self.rows - self.total, squares, *edges, self.counted)
