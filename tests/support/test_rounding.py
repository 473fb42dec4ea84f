"""Tolerances from rounding, against sums in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from meanbounds.support.rounding import rounding


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_sums_are_within_it_and_little_more_is_not(size: float) -> None:
    """A plain sum of n numbers is off by less than n roundings of the largest partial sum."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        numbers = (size * rng.random(100)).tolist()
        exact, total = sum(map(Fraction, numbers)), sum(numbers)
        slack = float(rounding(total, operations=100))
        assert abs(Fraction(total) - exact) <= slack
        assert slack <= 1e-13 * total


def test_the_largest_size_counts_element_by_element() -> None:
    found = rounding([1.0, -8.0], 2.0, operations=1) / np.finfo(np.float64).eps
    assert found.tolist() == [2.0, 8.0]
    assert rounding(0.0) == 0.0
    assert rounding(np.inf) == np.inf
