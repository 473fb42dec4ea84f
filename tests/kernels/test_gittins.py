"""The optimistic Gittins index, against integrals in arbitrary precision, and what the fast loop rests on."""

from __future__ import annotations

from itertools import pairwise

import mpmath
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import meanbounds as mb
from meanbounds.kernels.arms.divergence import kl, kl_upper
from meanbounds.kernels.arms.gittins import (
    LAW_SIZE,
    PRECISION,
    fill_law,
    index_of_law,
    level_reached_at,
    optimistic_index,
)
from tests import strategies
from tests.kernels.test_twins import INTERPRETED, both

CASES = [  # a, b, lower, upper, f
    (1.0, 1.0, 0.0, 1.0, 1.0),
    (1.0, 1.0, 0.2, 0.2 + 1e-9, 1e4),
    (1.0, 1.0, 0.6169601383632616, 0.617244986691671, 3e5),  # a guess near the upper bound once ended the search
    (41.0, 361.0, 0.9, 1.0, 100.0),  # the mass between the bounds is 1e-301 of all
    (361.0, 41.0, 0.0, 0.1, 100.0),
    (2.0, 1.0, 0.0, 1.0, 1e6),
    (1.0, 50.0, 0.4, 0.41, 10.0),
    (2.5, 1.5, 0.3, 1.0, 1e3),
    (1.3, 1.7, 0.0, 1.0 - 1e-9, 1e8),
    (900.0, 100.0, 0.85, 0.98, 2e4),
    (900.0, 100.0, 0.905, 0.98, 2e4),
    (900.0, 100.0, 0.2, 0.85, 2e4),
    (1.0, 300.0, 1e-9, 1e-3, 7.0),
    (3e7, 7e7, 0.0, 1.0, 1e8),
    (3e7, 7e7, 0.31, 0.4, 1e8),
    (3e7, 7e7, 0.1, 0.29, 1e8),
    (1e8, 1.0, 0.0, 1.0, 1e3),
]


class Exact:
    """Beta(a, b) between two bounds, in arbitrary precision."""

    def __init__(self, a: float, b: float, lower: float, upper: float) -> None:
        self.rise, self.fall = mpmath.mpf(a) - 1, mpmath.mpf(b) - 1
        self.lower, self.upper = mpmath.mpf(lower), mpmath.mpf(upper)
        both = self.rise + self.fall
        self.peak = min(self.upper, max(self.lower, self.rise / both)) if both > 0 else self.lower
        self.mass = self.integral(self.lower, 0)
        self.mean = self.lower + self.integral(self.lower, 1) / self.mass

    def log_density(self, x: mpmath.mpf) -> mpmath.mpf:
        """Relative to the peak."""
        value = self.rise * mpmath.log(x / self.peak) if self.rise > 0 else mpmath.mpf(0)
        return value + (self.fall * mpmath.log((1 - x) / (1 - self.peak)) if self.fall > 0 else 0)

    def integral(self, start: mpmath.mpf, power: int) -> mpmath.mpf:
        """Of ``(x - start)^power`` times the density from `start` to the upper bound, piece by piece."""
        top = max(start, self.peak)  # where the density is largest
        steep = self.rise / top + self.fall / (1 - top) if 0 < top < 1 else self.rise + self.fall
        points = {start, self.upper}
        for n in range(-2, 80, 2):
            near = (
                top + 2**n / (steep**2 + 1),
                top - 2**n / (steep**2 + 1),
                mpmath.mpf(2) ** -n,
                1 - mpmath.mpf(2) ** -n,
            )
            points |= {point for point in near if start < point < self.upper}
        total = mpmath.mpf(0)
        for left, right in pairwise(sorted(points)):
            nearest = min(right, max(left, top))
            if nearest == top or self.log_density(nearest) - self.log_density(top) > -80:
                piece = [left, right]
                total += mpmath.quad(lambda x: (x - start) ** power * mpmath.exp(self.log_density(x)), piece)
        return total

    def error(self, v: float, f: float) -> float:
        """How far v is from the index: a step of Newton's method."""
        level = mpmath.mpf(v)
        gain, chance = self.integral(level, 1) / self.mass, self.integral(level, 0) / self.mass
        return float(abs((f * gain - (level - self.mean)) / (f * chance + 1)))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_index_and_expectation(case: tuple[float, float, float, float, float]) -> None:
    a, b, lower, upper, f = case
    with mpmath.workdps(30):
        exact = Exact(a, b, lower, upper)
        index, mean = optimistic_index(a, b, lower, upper, f)
        assert lower < mean < index < upper
        assert abs(float(exact.mean) - mean) < 1e-12 * min(1.0, 1e4 * (upper - lower))
        assert exact.error(index, f) < 1e-12 * min(1.0, 1e4 * (upper - lower))


def test_bounds_that_are_equal() -> None:
    assert optimistic_index(3.0, 2.0, 0.25, 0.25, 10.0) == (0.25, 0.25)


def test_uniform_posteriors_have_a_closed_form() -> None:
    """Between bounds at a distance w: f (u - v)^2 / (2 w) = v - (l + u) / 2."""
    for f in (1.0, 3.0, 1e3, 1e9):
        expected = 0.7 - 0.2 * (np.sqrt(1.0 + f) - 1.0) / f
        assert optimistic_index(1.0, 1.0, 0.5, 0.7, f)[0] == pytest.approx(expected, abs=1e-13)


COUNTS = st.one_of(st.integers(0, 20).map(float), st.floats(0.0, 1e4))
SHARES = st.floats(0.0, 1.0)


def law_of(a: float, b: float, lower: float, upper: float) -> np.ndarray:
    law = np.empty(LAW_SIZE)
    fill_law(law, a, b, lower, upper)
    return law


def interval(first: float, second: float) -> tuple[float, float]:
    return min(first, second), max(first, second)


@settings(max_examples=20 if INTERPRETED else 300, suppress_health_check=list(HealthCheck))
@given(ones=COUNTS, zeros=COUNTS, ends=st.tuples(SHARES, SHARES), log_f=st.floats(0.0, 18.0), more=COUNTS)
def test_more_ones_fewer_zeros_and_later_rounds_raise_the_index(
    ones: float, zeros: float, ends: tuple[float, float], log_f: float, more: float
) -> None:
    lower, upper = interval(*ends)
    f, slack = np.exp(log_f), 1e-12
    index, mean = optimistic_index(1.0 + ones, 1.0 + zeros, lower, upper, f)
    assert lower <= mean <= index <= upper
    assert optimistic_index(1.0 + ones + more, 1.0 + zeros, lower, upper, f)[0] >= index - slack
    assert optimistic_index(1.0 + ones, 1.0 + zeros + more, lower, upper, f)[0] <= index + slack
    assert optimistic_index(1.0 + ones, 1.0 + zeros, lower, upper, f * (1.0 + more))[0] >= index - slack


@settings(max_examples=20 if INTERPRETED else 300, suppress_health_check=list(HealthCheck))
@given(ones=COUNTS, zeros=COUNTS, ends=st.tuples(SHARES, SHARES), log_f=st.floats(0.0, 18.0))
def test_the_index_reaches_its_own_level_now(
    ones: float, zeros: float, ends: tuple[float, float], log_f: float
) -> None:
    lower, upper = interval(*ends)
    law, f = law_of(1.0 + ones, 1.0 + zeros, lower, upper), np.exp(log_f)
    index = index_of_law(law, f, PRECISION)
    if upper - lower > 1e-3 and index < upper - 1e-6:
        above, below = (level_reached_at(law, index + step) for step in (1e-7, -1e-7))
        assert below < f < above


@settings(max_examples=20 if INTERPRETED else 300, suppress_health_check=list(HealthCheck))
@given(ones=COUNTS, zeros=COUNTS, ends=st.tuples(SHARES, SHARES), place=SHARES, extra=st.floats(0.0, 1e4), slack=SHARES)
def test_ones_pay_for_zeros(
    ones: float, zeros: float, ends: tuple[float, float], place: float, extra: float, slack: float
) -> None:
    """An index that is at a level without the far means stays above it if ones and zeros come in the level's ratio."""
    lower, upper = interval(*ends)
    level = lower + place * (upper - lower)
    if not (lower + 1e-3 < level < upper - 1e-3):
        return
    nearer = min(upper, kl_upper(level, kl(level, lower)))
    reached = level_reached_at(law_of(1.0 + ones, 1.0 + zeros, lower, nearer), level)
    f = max(1.0, reached * (1.0 + slack))
    if f < 1e100:
        later = law_of(1.0 + ones + extra * level, 1.0 + zeros + extra * (1.0 - level), lower, upper)
        assert level_reached_at(later, level) <= f * (1.0 + 1e-7)


@pytest.mark.skipif(INTERPRETED, reason="too many rounds for Python")
def test_long_runs_are_the_textbooks() -> None:
    """Bounds that bind at the cap, at the floor, nowhere, and everywhere; ranges that differ; graded rewards."""
    rng = np.random.default_rng(3)
    for seed in range(15):
        arms = int(rng.integers(2, 6))
        low = rng.choice([0.0, -3.0], arms)
        high = low + rng.choice([1.0, 4.0], arms)
        means = low + (high - low) * rng.random(arms)
        width = rng.choice([0.0, 0.02, 0.3, 1.0], (2, arms)) * rng.random((2, arms))
        lower, upper = (
            np.maximum(low, means - width[0] * (high - low)),
            np.minimum(high, means + width[1] * (high - low)),
        )
        bounds = mb.MeanBounds(lower, upper, low=low, high=high)
        kind = (mb.Bernoulli, mb.Uniform)[seed % 5 == 4]
        environment = kind(means, low=low, high=high)
        fast, slow = both(mb.OptimisticGittins(), strategies.Case(environment, bounds, 600, seed))
        assert fast == slow, seed
