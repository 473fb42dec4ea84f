"""Draws from truncated Beta laws, against the distribution function in arbitrary precision."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from meanbounds.kernels.arms.thompson import HAT_SHAPE, build_hat, sample_hat, truncated_beta
from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.random.stream import child
from meanbounds.support.types import Floats


@compiled
def sample(a: float, b: float, lower: float, upper: float, key: np.uint64, size: int) -> Floats:
    hat = np.empty(HAT_SHAPE)
    build_hat(hat, a, b, lower, upper)
    out = np.empty(size)
    for n in range(size):
        out[n] = sample_hat(hat, child(key, n))
    return out


CASES = [
    (1, 1, 0.0, 1.0),
    (1, 1, 0.2, 0.3),
    (41, 361, 0.9, 1.0),  # mass 1e-301: the plain inverse distribution function fails here
    (361, 41, 0.0, 0.1),
    (2, 1, 0.0, 1.0),
    (1, 50, 0.0, 1.0),
    (1, 50, 0.4, 0.41),
    (5, 3, 0.0, 0.7),
    (900, 100, 0.85, 0.98),
    (900, 100, 0.905, 0.98),
    (900, 100, 0.2, 0.85),
    (2.5, 1.5, 0.3, 1.0),
    (20_000, 30_000, 0.39, 0.5),
    (1, 300, 1e-9, 1e-3),
]


def mass(a: float, b: float, lower: float, upper: float) -> mpmath.mpf:
    """Unnormalised mass of [lower, upper], taken from the end that is nearer to the tail."""
    if lower > a / (a + b):
        return mpmath.betainc(b, a, 1 - mpmath.mpf(upper), 1 - mpmath.mpf(lower))
    return mpmath.betainc(a, b, lower, upper)


@pytest.mark.parametrize(("a", "b", "lower", "upper"), CASES)
def test_exact_law(a: float, b: float, lower: float, upper: float) -> None:
    """Through the exact distribution function draws are uniform (Kolmogorov-Smirnov, fails for a seed in 10^6)."""
    draws = sample(float(a), float(b), lower, upper, np.uint64(20261115), 1500)
    assert draws.min() >= lower
    assert draws.max() <= upper
    if a + b > 5000:  # too slow in arbitrary precision, and not in the tail
        start, stop = special.betainc(a, b, [lower, upper])
        shares = (special.betainc(a, b, draws) - start) / (stop - start)
    else:
        with mpmath.workdps(30):
            whole = mass(a, b, lower, upper)
            shares = np.array([float(mass(a, b, lower, x) / whole) for x in draws])
    assert stats.kstest(shares, "uniform").pvalue > 1e-6


@given(st.floats(1, 1e6), st.floats(1, 1e6), st.floats(0, 1), st.floats(0, 1), st.integers(0, 2**60))
def test_stays_inside_and_rarely_rejects(a: float, b: float, x: float, y: float, key: int) -> None:
    """No draw leaves the interval; a rejection loop that never accepts would return the mode always."""
    lower, upper = min(x, y), max(x, y)
    draws = sample(a, b, lower, upper, np.uint64(key), 50)
    assert np.all((draws >= lower) & (draws <= upper))
    if upper - lower > 1e-9:
        assert np.unique(draws).size > 40


def test_a_peak_nearer_to_1_than_floats_are() -> None:
    """Beta(1000, 1 + 2^-52) has its mode at 1, up to rounding, where its density is 0: the hat divided by 0.

    1000 draws of mean 1000/1001 and deviation 0.001: an error of 0.0002 has probability below 1e-9.
    """
    draws = sample(1000.0, 1.0 + 2.0**-52, 0.0, 1.0, np.uint64(5), 1000)
    assert draws.mean() == pytest.approx(1000 / 1001, abs=2e-4)
    strongest = sample(1e12, 2.0, 0.0, 1.0, np.uint64(5), 100)
    assert np.all((strongest > 1 - 1e-10) & (strongest < 1.0))


def test_a_point_is_itself() -> None:
    assert truncated_beta(3.0, 4.0, 0.25, 0.25, np.uint64(1)) == 0.25
