"""A sign test for which of two policies is better, from runs that saw the same rewards."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.support.checks import as_floats

__all__ = ["SignTest", "sign_test"]


@dataclass(frozen=True)
class SignTest:
    """How often the first of a pair was the smaller one, and whether that could be chance.

    Attributes
    ----------
    won, lost, tied
        Number of pairs in which the first is smaller, larger, and equal.
    p_value
        Probability of winning at least this often, among the pairs that are not tied, if either were equally likely to
        be the smaller one: the p-value of the exact one-sided sign test.
    first, second
        The two means.

    Examples
    --------
    >>> import meanbounds as mb
    >>> bounds = mb.MeanBounds([0.8, 0.1], [0.95, 0.85])
    >>> regret = mb.simulate([mb.GLUE(), mb.UCB()], mb.Bernoulli([0.9, 0.8]), bounds, horizon=1000, runs=50, seed=7)
    >>> test = sign_test(regret.final["GLUE"], regret.final["UCB"])
    >>> test.won + test.lost + test.tied, test.p_value < 0.001
    (50, True)
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
        """The result in words.

        Parameters
        ----------
        pairs
            What to call the pairs, such as "paired runs".

        Examples
        --------
        >>> sign_test([1.0, 2.0, 3.0, 4.0], [2.0, 3.0, 3.0, 3.5]).over("seeds")
        '2.5 against 2.9, less in 2 of 4 seeds, equal in 1 (sign test 5e-01)'
        """
        return (
            f"{self.first:.1f} against {self.second:.1f}, less in {self.won} of {self.won + self.lost + self.tied} "
            f"{pairs}{f', equal in {self.tied}' if self.tied else ''} (sign test {self.p_value:.0e})"
        )


def sign_test(first: ArrayLike, second: ArrayLike) -> SignTest:
    """Exact one-sided sign test of whether the first of each pair is smaller.

    Parameters
    ----------
    first, second
        Two lists of the same length, such as the final regret of two policies in the same runs.

    Examples
    --------
    >>> from meanbounds.simulation.pairs import sign_test
    >>> sign_test([1.0, 2.0, 3.0, 4.0], [2.0, 3.0, 3.0, 3.5])
    SignTest(won=2, lost=1, tied=1, p_value=0.5, first=2.5, second=2.875)
    """
    a, b = as_floats("first", first), as_floats("second", second)
    if a.shape != b.shape or a.ndim != 1 or not a.size:
        raise ValueError(f"pairs need two lists of the same length, at least 1; got shapes {a.shape} and {b.shape}")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise ValueError("pairs need finite numbers; some are infinite or NaN")
    won, lost = int(np.sum(a < b)), int(np.sum(a > b))
    decided = won + lost
    p_value = sum(comb(decided, k) for k in range(won, decided + 1)) / 2**decided
    return SignTest(won, lost, a.size - decided, p_value, float(a.mean()), float(b.mean()))
