"""Betting limits on means by inverse propensities, which also hold for a log that an agent wrote while it learned.

For each row, whatever happened before it, the variable ``c + (Y - c) 1{A = k} / propensity`` has the mean of arm k. A
gambler who bets on it with a fixed stake has a wealth that does not grow on average, row by row, and so has a fixed
mixture of stakes: the wealth is a martingale although the propensities depend on earlier rewards. It is a product
over rows, so their order does not matter, and rows with the same propensity and reward can be counted together.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

from meanbounds.kernels.logs.limits import upper_from_values
from meanbounds.logs.cells import Cells
from meanbounds.support.types import Floats

__all__ = ["WeightedBets"]

_MIDDLE = 0.5


@dataclass(frozen=True, eq=False)
class WeightedBets:
    """Rows by context, arm, propensity and reward, in this order.

    Attributes
    ----------
    rows
        Rows of each context.
    ends
        Where the entries of each context and arm end, contexts x arms.
    chance, low, high, count
        Of each entry the propensity, the two ends of its reward in units of the range, and how many rows it has.
    """

    rows: Floats
    ends: NDArray[np.intp]
    chance: Floats
    low: Floats
    high: Floats
    count: Floats

    @classmethod
    def of(cls, cells: Cells, chances: Floats, into: NDArray[np.intp]) -> WeightedBets:
        """From cells whose contexts have a propensity each, and go into other contexts.

        Examples
        --------
        >>> import numpy as np
        >>> from meanbounds.logs.cells import Cells
        >>> from meanbounds.logs.weighted_bets import WeightedBets
        >>> one, values = np.array([[4.0], [2.0]]), np.array([0.0, 1.0])
        >>> cells = Cells(one, one, one, values, values, np.array([[[1.0, 3.0]], [[0.0, 2.0]]]))
        >>> bets = WeightedBets.of(cells, chances=np.array([0.5, 0.25]), into=np.array([0, 0]))
        >>> bets.chance, bets.count
        (array([0.5 , 0.5 , 0.25]), array([1., 3., 2.]))
        """
        contexts, arms = int(into.max()) + 1, cells.rows.shape[1]
        before, arm, value = np.nonzero(cells.counted)
        cell = into[before] * arms + arm
        order = np.argsort(cell, kind="stable")
        before, arm, value = before[order], arm[order], value[order]
        ends = np.cumsum(np.bincount(cell, minlength=contexts * arms)).reshape(contexts, arms)
        rows = np.bincount(into, weights=cells.rows.sum(axis=1), minlength=contexts).astype(np.float64)
        edges = cells.values_low[value], cells.values_high[value]
        return cls(rows, ends, chances[before], *edges, cells.counted[before, arm, value])

    def at(self, places: slice) -> WeightedBets:
        """The entries of some contexts that follow each other."""
        ends = self.ends[places]
        first = 0 if not places.start else int(self.ends[places.start - 1, -1])
        own = slice(first, int(ends[-1, -1]))
        parts = (part[own] for part in (self.chance, self.low, self.high, self.count))
        return WeightedBets(self.rows[places], ends - first, *parts)

    def limits(self, least: float, goal: float) -> tuple[Floats, Floats]:
        """Lower and upper limits on each arm's mean, contexts x arms; each may fail with probability exp(-goal).

        The lower one takes the better of c = 0 and 1/2, the upper one of c = 1 and 1/2.
        """
        lower, upper = np.zeros(self.ends.shape), np.ones(self.ends.shape)
        starts = np.concatenate([[0], self.ends.ravel()[:-1]]).reshape(self.ends.shape)
        price = goal + log(2.0)
        for place in np.ndindex(*self.ends.shape):
            own = slice(int(starts[place]), int(self.ends[place]))
            if own.start == own.stop:
                continue
            rows = float(self.rows[place[0]])
            for c in (1.0, _MIDDLE):
                most = self._upper(self.high[own], own, rows, least, c, price)
                turned = self._upper(1.0 - self.low[own], own, rows, least, c, price)
                upper[place] = np.minimum(upper[place], most)
                lower[place] = np.maximum(lower[place], 1.0 - turned)
        return lower, upper

    def _upper(self, reward: Floats, own: slice, rows: float, least: float, c: float, price: float) -> float:
        """The limit by ``c + (Y - c) 1{A = k} / propensity``, which is brought into [0, 1] by the least propensity."""
        count = self.count[own]
        played = c + (reward - c) * (least / np.maximum(self.chance[own], least))
        values, counts = np.append(played, c), np.append(count, max(rows - float(count.sum()), 0.0))
        limit = upper_from_values(values, counts, values.size, rows, price)
        return float(c + (limit - c) / least)
