"""Which of two is better, from runs that saw the same rewards."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["SignTest", "sign_test"]


@dataclass(frozen=True)
class SignTest:
    """How often the first of a pair was the smaller one.

    Attributes
    ----------
    won, lost, tied
        Pairs in which the first is smaller, larger, and equal.
    p_value
        Probability of winning as often or more often, of the pairs that are not tied, if both were alike: the p-value
        of the exact sign test.
    first, second
        The two means.
    """

    won: int
    lost: int
    tied: int
    p_value: float
    first: float
    second: float

    def __str__(self) -> str:
        return self.over("paired runs")

    def over(self, pairs: str) -> str:
        """In words, where pairs are called so."""
        return (
            f"{self.first:.1f} against {self.second:.1f}, less in {self.won} of {self.won + self.lost + self.tied} "
            f"{pairs}{f', equal in {self.tied}' if self.tied else ''} (sign test {self.p_value:.0e})"
        )


def sign_test(first: ArrayLike, second: ArrayLike) -> SignTest:
    """Exact one-sided sign test of whether the first is smaller.

    Examples
    --------
    >>> from meanbounds.simulation.pairs import sign_test
    >>> sign_test([1.0, 2.0, 3.0, 4.0], [2.0, 3.0, 3.0, 3.5])
    SignTest(won=2, lost=1, tied=1, p_value=0.5, first=2.5, second=2.875)
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1 or not a.size:
        raise ValueError(f"pairs need two lists of the same length, at least 1; got shapes {a.shape} and {b.shape}")
    won, lost = int(np.sum(a < b)), int(np.sum(a > b))
    decided = won + lost
    p_value = sum(comb(decided, k) for k in range(won, decided + 1)) / 2**decided
    return SignTest(won, lost, a.size - decided, p_value, float(a.mean()), float(b.mean()))
