"""Confidence limits on the average of ``A_t + B_t reward_t`` over the rows of a log that may be adaptive.

`meanbounds.kernels.logs.wealth` has the martingale behind them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from meanbounds.kernels.logs.wealth import log_growth, lower_limit
from meanbounds.support.types import Floats

__all__ = ["Bets", "Rewards", "limit", "stakes"]

_STEPS: Floats = np.arange(
    -4.0, 11.0
)  # stakes that halve and double, around the one that is best for a guessed variance
_ANYTIME: Floats = np.exp2(np.arange(-18.0, 8.0))


@dataclass(frozen=True, eq=False)
class Rewards:
    """Rewards in units of their range: where one is pending, the least and the largest that it can be."""

    low: Floats
    high: Floats

    def least(self, slope: Floats) -> Floats:
        """The least that `slope` times the reward can be, row by row."""
        if self.low is self.high:
            return slope * self.low
        return np.minimum(slope * self.low, slope * self.high)


@dataclass(frozen=True, eq=False)
class Bets:
    """A variable for each row that is never negative, and whose mean is what is sought, plus `shift`.

    `guess` is a variance for which the first stake is best; it has no part in the validity. `zeros` are further rows
    in which the variable is 0.
    """

    values: Floats
    shift: float
    guess: float
    zeros: int = 0


def stakes(rows: int, goal: float, guess: float, anytime: bool) -> tuple[Floats, Floats]:
    """Stakes in ascending order and their weights, from the number of rows alone; `anytime` without even that.

    Examples
    --------
    >>> from meanbounds.logs.evaluating.limits import stakes
    >>> found, weights = stakes(1_000, 3.0, 0.25, anytime=False)
    >>> print(found[4].round(4), weights[4].round(2), weights.sum().round(12))
    0.1549 0.49 1.0
    """
    if anytime:
        return _ANYTIME, np.full(_ANYTIME.size, 1.0 / _ANYTIME.size)
    weights = 1.0 / (1.0 + np.abs(_STEPS)) ** 2.0
    found: Floats = sqrt(2.0 * goal / (rows * guess)) * np.exp2(_STEPS)
    return found, weights / weights.sum()


def limit(bets: Sequence[Bets], most: float, goal: float, anytime: bool) -> float:
    """A lower limit on what is sought, from several variables that share the gambler's money equally.

    It is at most `most`, and fails with probability at most exp(-goal); with `anytime`, at any number of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from math import log
    >>> from meanbounds.logs.evaluating.limits import Bets, limit
    >>> rewards = np.tile([1.0, 1.0, 0.0, 1.0], 250)
    >>> round(limit([Bets(rewards, 0.0, 0.25)], 1.0, log(40), anytime=False), 4)
    0.7077
    """
    parts = []
    for one in bets:
        rows = one.values.size + one.zeros
        if rows == 0:
            return 0.0
        stake, weight = stakes(rows, goal, one.guess, anytime)
        grown = log_growth(one.values, stake)
        parts.append((grown, stake, weight / len(bets), np.full(stake.size, one.shift)))
    grown, stake, weight, shift = (np.concatenate(column) for column in zip(*parts, strict=True))
    return float(lower_limit(grown, stake, weight, shift, float(rows), most, goal))
