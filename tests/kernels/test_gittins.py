"""The optimistic Gittins index, against integrals in arbitrary precision, and what the fast loop rests on."""

from __future__ import annotations

from itertools import pairwise

import mpmath
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import meanbounds as mb
from meanbounds.kernels.arms.gittins import (
    LAW_SIZE,
    PRECISION,
    fill_law,
    index_of_law,
    optimistic_index,
    tail_of_law,
)
from meanbounds.kernels.arms.quantile import FRACTION_TO
from meanbounds.kernels.fast.anchor import (
    ANCHOR_SIZE,
    MOST_TERMS,
    drop,
    drop_quickly,
    follow,
    followed,
    keep_followed,
    move,
    near_index,
    surely_reaches,
)
from meanbounds.policies.exploration import Exploration
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


def level_reached_at(law: np.ndarray, level: float) -> float:
    """The f at which an index reaches a level: equation (1) of docs/gittins.md at v = level."""
    lead = level - float(law[6])
    return lead / tail_of_law(law, level)[1] if lead > 0.0 else 0.0


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
@given(ones=COUNTS, zeros=COUNTS, ends=st.tuples(SHARES, SHARES), log_f=st.floats(0.0, 16.0), more=st.floats(0.0, 8.0))
def test_the_index_is_concave_in_f(
    ones: float, zeros: float, ends: tuple[float, float], log_f: float, more: float
) -> None:
    lower, upper = interval(*ends)
    first, last = np.exp(log_f), np.exp(log_f + more)
    indices = [
        optimistic_index(1.0 + ones, 1.0 + zeros, lower, upper, f)[0] for f in (first, 0.5 * (first + last), last)
    ]
    assert indices[1] >= 0.5 * (indices[0] + indices[2]) - 1e-12


class Anchored:
    """A law with an anchor, which follows rewards."""

    def __init__(self, a: float, b: float, lower: float, upper: float, level: float, quickly: bool = False) -> None:
        self.lower, self.upper, self.level = lower, upper, level
        self.anchors, self.series = np.zeros((1, ANCHOR_SIZE)), np.empty(MOST_TERMS)
        if quickly:
            drop_quickly(self.anchors, 0, (a, b), (lower, upper), level)
        else:
            drop(self.anchors, 0, law_of(a, b, lower, upper), level)

    def observe(self, rewards: list[bool]) -> None:
        numbers = followed(self.anchors, 0)
        for won in rewards:
            numbers = follow(numbers, (self.lower, self.upper, self.level), won)
        keep_followed(self.anchors, 0, numbers)

    def move(self, level: float) -> None:
        if move(self.anchors, 0, level, self.series):
            self.level = level

    def index(self, f: float) -> tuple[float, float, float]:
        return near_index(self.anchors, 0, f, self.series)

    def reaches(self, f: float) -> bool:
        return surely_reaches(followed(self.anchors, 0), self.level, f)


WHOLE = st.one_of(st.integers(0, 20), st.integers(0, 10**6)).map(float)
REWARDS = st.lists(st.booleans(), max_size=30)


@settings(max_examples=30 if INTERPRETED else 500, suppress_health_check=list(HealthCheck))
@given(
    counts=st.tuples(WHOLE, WHOLE),
    ends=st.one_of(st.just((0.0, 1.0)), st.tuples(st.floats(-9.0, 9.0), st.floats(-9.0, 9.0))),
    rewards=REWARDS,
    shifts=st.tuples(st.floats(-1.0, 1.0), st.floats(-1.0, 1.0)),
    log_f=st.floats(0.0, 16.0),
    quickly=st.booleans(),
)
def test_anchors_say_how_far_they_may_be_off(
    counts: tuple[float, float],
    ends: tuple[float, float],
    rewards: list[bool],
    shifts: tuple[float, float],
    log_f: float,
    quickly: bool,
) -> None:
    """Bounds are some standard deviations from the mean, the anchor is put near the index and moved, rewards come."""
    a, b, f = 1.0 + counts[0], 1.0 + counts[1], np.exp(log_f)
    centre, unit = a / (a + b), np.sqrt(a * b / (a + b + 1.0)) / (a + b)
    lower, upper = 0.0, 1.0
    if ends != (0.0, 1.0):
        lower, upper = interval(*(min(1.0, max(0.0, centre + end * unit)) for end in ends))
    if upper - lower < 1e-8:
        return
    index = optimistic_index(a, b, lower, upper, f)[0]
    levels = [min(0.5 * (index + upper), max(0.5 * (lower + index), index + shift * unit)) for shift in shifts]
    anchored = Anchored(a, b, lower, upper, levels[0], quickly and a + b < FRACTION_TO)
    anchored.move(levels[1])
    anchored.observe(rewards)
    after = law_of(a + sum(rewards), b + len(rewards) - sum(rewards), lower, upper)
    expected = index_of_law(after, f, PRECISION)
    found, doubt, slope = anchored.index(f)
    if doubt < 1e-6:
        assert abs(found - expected) <= doubt + 1e-12
        later = index_of_law(after, 2.0 * f, PRECISION)
        assert later <= found + slope * f + doubt + 1e-12
    if anchored.reaches(f):
        assert expected >= anchored.level - 1e-12


def test_anchors_serve_in_ordinary_cases() -> None:
    """Doubt stays below what the fast loop allows: thousands of rewards, or fifty if bounds exclude the mean."""
    rng = np.random.default_rng(5)
    for mean, lower, upper, rounds in [(0.5, 0.0, 1.0, 2000), (0.9, 0.6, 0.95, 2000), (0.47, 0.3, 0.45, 50)]:
        anchored, seen = Anchored(1.0, 1.0, lower, upper, 0.5 * (lower + upper)), 0.0
        for n in range(1, min(rounds, 200) if INTERPRETED else rounds):
            won = bool(rng.random() < mean)
            seen += won
            anchored.observe([won])
            index, doubt, _ = anchored.index(float(n))
            assert doubt < 4e-9, n
            anchored.move(index)
        expected = optimistic_index(1.0 + seen, 1.0 + n - seen, lower, upper, float(n))[0]
        assert index == pytest.approx(expected, abs=1e-10)


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
        for policy in (mb.OptimisticGittins(), mb.OptimisticGittins(moments=2)):
            fast, slow = both(policy, strategies.Case(environment, bounds, 600, seed))
            assert fast == slow, (policy, seed)


@pytest.mark.skipif(INTERPRETED, reason="too many rounds for Python")
def test_graded_rewards_with_two_moments() -> None:
    """Ranges that are much wider than the rewards, which let arms share a floor, and caps that bind."""
    rng = np.random.default_rng(6)
    for seed in range(20):
        arms = int(rng.integers(2, 7))
        low = rng.choice([0.0, -100.0, -1000.0], arms)
        reach = np.where(low < 0.0, rng.choice([0.01, 1.0, 5.0], arms), rng.choice([0.05, 1.0], arms))
        values = 1.0 - rng.random((arms, 5)) * reach[:, None]
        if seed % 2:  # some arms are long without any reward but the best one
            values = np.hstack([values, np.ones((arms, 12))])
        environment = mb.Table(values.tolist(), low=low, high=1.0)
        means, width = environment.means, rng.choice([0.3, 1e4])
        lower, upper = (
            np.maximum(low, means - width * rng.random(arms)),
            np.minimum(1.0, means + width * rng.random(arms)),
        )
        bounds = mb.MeanBounds(lower, upper, low=low, high=1.0)
        fast, slow = both(mb.OptimisticGittins(moments=2), strategies.Case(environment, bounds, 800, seed))
        assert fast == slow, seed


@pytest.mark.skipif(INTERPRETED, reason="too many rounds for Python")
@pytest.mark.parametrize("f", ["t", lambda t: 1.0 + 0.0 * t, lambda t: t**3, lambda t: np.exp(np.minimum(t, 50.0))])
@pytest.mark.parametrize("prior", [(1.0, 1.0), (1.3, 2.6), (40.0, 2.0)], ids=str)
def test_arms_that_are_almost_equal(f: Exploration, prior: tuple[float, float]) -> None:
    """The lead changes in almost each round, and many arms tie; bounds of a width of 0.01, 1e-4 and 1e-7 as well."""
    rng = np.random.default_rng(4)
    for seed, width in enumerate((1.0, 1.0, 1e-2, 1e-4, 1e-7)):
        means = 0.6 + min(0.02, width) * rng.random(12)
        lower, upper = np.maximum(0.0, means - width * rng.random(12)), np.minimum(1.0, means + width * rng.random(12))
        if seed % 2:
            upper[:] = upper.max()
        policy = mb.OptimisticGittins(f=f)
        case = strategies.Case(mb.Bernoulli(means), mb.MeanBounds(lower, upper), 500, seed)
        fast, slow = both(policy, case, prior)
        assert fast == slow, (seed, width)
