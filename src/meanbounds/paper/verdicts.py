"""From numbers to verdicts: each verdict in the report is computed by one of these functions."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from math import exp, fsum, lgamma, log, log1p
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.simulation.pairs import sign_test

__all__ = [
    "LEVEL",
    "Tally",
    "Verdict",
    "by_chance",
    "comparable",
    "less",
    "same",
    "tally",
    "under",
    "verdict",
    "within",
]

LEVEL = 1e-3
"""Level of the sign test: the probability of reporting an order where there is none."""


class Verdict(StrEnum):
    """The verdict on a claim."""

    HOLDS = "holds"
    CORRECTED = "holds after correction"
    FAILS = "does not hold"


def verdict(printed: bool, corrected: bool | None = None) -> Verdict:
    """Turn two answers into a verdict: whether a claim is true as printed, and whether it is with its errors corrected.

    Examples
    --------
    >>> from meanbounds.paper.verdicts import verdict
    >>> [str(verdict(True)), str(verdict(False, True)), str(verdict(False, False)), str(verdict(False))]
    ['holds', 'holds after correction', 'does not hold', 'does not hold']
    """
    if printed:
        return Verdict.HOLDS
    return Verdict.CORRECTED if corrected else Verdict.FAILS


def less(first: ArrayLike, second: ArrayLike, level: float = LEVEL) -> bool:
    """Whether the first is smaller: in the mean, and by a paired sign test at this level.

    Examples
    --------
    >>> from meanbounds.paper.verdicts import less
    >>> less(range(20), range(1, 21)), less(range(1, 21), range(20)), less([1.0, 2.0], [2.0, 3.0])
    (True, False, False)
    """
    found = sign_test(first, second)
    return found.first < found.second and found.p_value <= level


class Tally(NamedTuple):
    """Number of comparisons in which the first was less, in which it was more, and of all."""

    less: int
    more: int
    total: int

    def __str__(self) -> str:
        return f"less in {self.less} of {self.total}, more in {self.more}"


def tally(pairs: Iterable[tuple[ArrayLike, ArrayLike]], level: float = LEVEL) -> Tally:
    """Count in how many pairs of samples the first is smaller, see `less`, and in how many the second is.

    Samples so small that no order can be seen in them are refused: that neither is smaller would say nothing.

    Examples
    --------
    >>> from meanbounds.paper.verdicts import tally
    >>> small, large = range(20), range(1, 21)
    >>> str(tally([(small, large), (small, large), (large, small), (small, small)]))
    'less in 2 of 4, more in 1'
    """
    found = []
    for first, second in pairs:
        if 0.5 ** np.size(first) > level:
            raise ValueError(f"{np.size(first)} pairs cannot show an order at level {level:g}, whatever they are")
        found.append((less(first, second, level), less(second, first, level)))
    return Tally(sum(ahead for ahead, _ in found), sum(behind for _, behind in found), len(found))


def by_chance(count: int, trials: int, level: float = LEVEL) -> float:
    """Probability that at least `count` of so many independent tests at this level find what is not there.

    Parameters
    ----------
    count, trials
        How many tests found something, of how many.
    level
        Level of each test.

    Examples
    --------
    >>> from meanbounds.paper.verdicts import by_chance
    >>> by_chance(0, 500), round(by_chance(1, 500), 3), by_chance(8, 500) < 1e-6
    (1.0, 0.394, True)
    """
    if count <= 0:
        return 1.0
    terms = (
        lgamma(trials + 1) - lgamma(k + 1) - lgamma(trials - k + 1) + k * log(level) + (trials - k) * log1p(-level)
        for k in range(count, trials + 1)
    )
    return min(1.0, fsum(map(exp, terms)))


def comparable(values: ArrayLike, factor: float = 2.0) -> bool:
    """Whether the largest is at most this factor times the least.

    Examples
    --------
    >>> from meanbounds.paper.verdicts import comparable
    >>> comparable([2.0, 3.0, 4.0]), comparable([2.0, 3.0, 4.1])
    (True, False)
    """
    numbers = np.asarray(values, dtype=np.float64)
    return bool(numbers.max() <= factor * numbers.min())


def within(values: ArrayLike, low: float, high: float) -> bool:
    """Whether every value is in [low, high].

    Examples
    --------
    >>> from meanbounds.paper.verdicts import within
    >>> within([2.0, 3.0], 2, 3), within([1.9, 2.5], 2, 3)
    (True, False)
    """
    numbers = np.asarray(values, dtype=np.float64)
    return bool(np.all((numbers >= low) & (numbers <= high)))


def same(first: ArrayLike, second: ArrayLike) -> bool:
    """Whether all numbers are equal, to the last bit."""
    return bool(np.array_equal(np.asarray(first), np.asarray(second)))


def under(curve: ArrayLike, bound: ArrayLike) -> bool:
    """Whether a curve, or each of several, is nowhere above the bound, except for rounding.

    Examples
    --------
    >>> from meanbounds.paper.verdicts import under
    >>> under([[1.0, 2.0], [1.5, 2.5]], [2.0, 3.0]), under([[1.0, 2.0], [1.5, 3.5]], [2.0, 3.0])
    (True, False)
    """
    most = np.asarray(bound, dtype=np.float64)
    return bool(np.all(np.asarray(curve, dtype=np.float64) <= most + 1e-12 * np.abs(most)))
