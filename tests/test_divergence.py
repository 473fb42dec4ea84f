from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import optimize

import meanbounds as mb
from meanbounds.kernels.arms.kl import boost_upper
from meanbounds.kernels.arms.moments import floor_of, moment_divergence
from meanbounds.kernels.arms.tables import Seen

UNIT = st.floats(0.0, 1.0)
BUDGET = st.floats(1e-9, 30.0)
INSIDE = st.floats(1e-9, 1 - 1e-9)
CLOSE = st.tuples(st.floats(0.01, 0.99), st.floats(-1e-3, 1e-3)).map(lambda pair: (pair[0], pair[0] + pair[1]))
PAIRS = st.tuples(INSIDE, INSIDE) | CLOSE


def seen(rewards: Sequence[float]) -> Seen:
    """What a kernel keeps of these rewards, of [0, 1]."""
    x = np.array(rewards)
    return float(x.size), float(x.sum()), float((x**2).sum()), float((1 - x).sum()), float(((1 - x) ** 2).sum())


@given(PAIRS)
def test_divergence_against_arbitrary_precision(pair: tuple[float, float]) -> None:
    p, q = pair
    with mpmath.workdps(50):
        a, b = mpmath.mpf(p), mpmath.mpf(q)
        exact = a * mpmath.log(a / b) + (1 - a) * mpmath.log((1 - a) / (1 - b))
        assert abs(mpmath.mpf(float(mb.bernoulli_kl(p, q))) - exact) <= mpmath.mpf("1e-12") * exact


@given(UNIT, BUDGET)
def test_upper_limit_is_where_the_budget_is_spent(p: float, budget: float) -> None:
    """The limit solves kl = budget to 1e-12 in its own coordinate; above 1 - 1e-12 it is 1."""
    q = float(mb.bernoulli_kl_upper(p, budget))
    assert p <= q <= 1.0
    with mpmath.workdps(50):

        def spent(x: float) -> mpmath.mpf:
            a, b = mpmath.mpf(p), mpmath.mpf(x)
            first = a * mpmath.log(a / b) if a > 0 else mpmath.mpf(0)
            return first + ((1 - a) * mpmath.log((1 - a) / (1 - b)) if a < 1 else mpmath.mpf(0))

        if q - 1e-11 > p:
            assert spent(q - 1e-11) <= budget * (1 + 1e-12)
        if q < 1.0:
            assert spent(min(q + 1e-11, math.nextafter(1.0, 0.0))) >= budget * (1 - 1e-12)
        elif p < 1.0:
            assert spent(1 - 2e-12) <= budget * (1 + 1e-9)


@given(UNIT, BUDGET)
def test_boosted_limit_is_above_the_exact_one_and_below_pinsker(p: float, budget: float) -> None:
    exact, boosted = float(mb.bernoulli_kl_upper(p, budget)), boost_upper(p, budget)
    assert exact - 1e-9 <= boosted <= min(1.0, p + math.sqrt(budget / 2.0)) + 1e-12


@given(st.lists(UNIT, min_size=1, max_size=8), st.floats(0.01, 0.99))
def test_two_moments_lie_between_one_moment_and_the_whole_law(rewards: list[float], share: float) -> None:
    """The whole law is at distance max over a of E log(1 - a(X - goal)) from laws with mean goal or more."""
    x = np.array(rewards)
    goal = float(x.mean() + share * (1 - x.mean()))
    assume(x.mean() + 1e-3 < goal < 1 - 1e-3)
    two = moment_divergence(seen(rewards), goal, 1 - goal)
    whole = -optimize.minimize_scalar(
        lambda a: -np.mean(np.log1p(-a * (x - goal))),
        bounds=(0, (1 - 1e-12) / (1 - goal)),
        method="bounded",
        options={"xatol": 1e-10},
    ).fun
    assert float(mb.bernoulli_kl(min(1.0, x.mean()), goal)) - 1e-9 <= two <= whole + 1e-6
    floor, room = floor_of(seen(rewards))
    assert floor + room == pytest.approx(1.0, abs=1e-15)
    share_of_ones = (x.mean() - floor) / (1 - floor)
    assert share_of_ones + (1 - share_of_ones) * floor**2 == pytest.approx((x**2).mean(), abs=1e-9)  # the same moments


def test_rewards_of_0_and_1_need_no_second_moment() -> None:
    assert moment_divergence(seen([1.0] * 7 + [0.0] * 3), 0.9, 0.1) == pytest.approx(mb.bernoulli_kl(0.7, 0.9))


EXPONENTS = st.integers(0, 14)


def exact_divergence(lacks: Sequence[Fraction], goal_lack: Fraction) -> mpmath.mpf:
    """The same from its definition, with fractions and then 60 digits; lacks are 1 - reward."""
    mean, square = (sum((lack**power for lack in lacks), Fraction(0)) / len(lacks) for power in (1, 2))
    room = square / mean
    with mpmath.workdps(60):
        p, q = (
            1 - mpmath.mpf(part.numerator) / mpmath.mpf(part.denominator) for part in (mean / room, goal_lack / room)
        )
        first = p * mpmath.log(p / q) if p > 0 else mpmath.mpf(0)
        return first + (1 - p) * mpmath.log((1 - p) / (1 - q))


@given(st.lists(st.integers(0, 9), min_size=2, max_size=8), st.integers(1, 9), EXPONENTS)
def test_two_moments_near_the_top_of_a_wide_range(costs: list[int], tenths: int, exponent: int) -> None:
    """Costs of 0 to 9 on a range of up to 1e15: the divergence does not depend on how wide the range is.

    Through 1 - reward they lost all digits at a width of 1e9.
    """
    assume(any(costs))
    width = Fraction(10) ** (exponent + 1)
    lacks = [Fraction(cost) / width for cost in costs]
    goal_lack = sum(lacks, Fraction(0)) / len(lacks) * Fraction(tenths, 10)
    exact = exact_divergence(lacks, goal_lack)
    y = np.array([float(lack) for lack in lacks])
    sums = (float(y.size), float((1 - y).sum()), float(((1 - y) ** 2).sum()), float(y.sum()), float((y**2).sum()))
    found = moment_divergence(sums, float(1 - goal_lack), float(goal_lack))
    assert found == pytest.approx(float(exact), rel=1e-12)


@given(st.lists(st.integers(1, 9), min_size=2, max_size=8), st.integers(1, 9), EXPONENTS)
def test_two_moments_near_the_bottom_of_a_wide_range(gains: list[int], more: int, exponent: int) -> None:
    """The mirrored world: gains of 1 to 9 on a range of up to 1e15."""
    width = Fraction(10) ** (exponent + 1)
    goal = (Fraction(sum(gains), len(gains)) + more) / width
    assume(goal < 1)
    exact = exact_divergence([1 - Fraction(gain) / width for gain in gains], 1 - goal)
    x = np.array([float(Fraction(gain) / width) for gain in gains])
    sums = (float(x.size), float(x.sum()), float((x**2).sum()), float((1 - x).sum()), float(((1 - x) ** 2).sum()))
    assert moment_divergence(sums, float(goal), float(1 - goal)) == pytest.approx(float(exact), rel=1e-12)


def test_edges() -> None:
    assert mb.bernoulli_kl(0.0, 0.0) == 0.0
    assert mb.bernoulli_kl(1.0, 1.0) == 0.0
    assert mb.bernoulli_kl(0.5, 1.0) == math.inf
    assert mb.bernoulli_kl(0.5, 0.0) == math.inf
    assert mb.bernoulli_kl_upper(0.3, 0.0) == 0.3
    assert np.asarray(mb.bernoulli_kl_upper([0.0, 1.0], [math.log(2), 3.0])).tolist() == pytest.approx([0.5, 1.0])
    with pytest.raises(ValueError, match=r"p must lie in \[0, 1\]"):
        mb.bernoulli_kl(1.2, 0.5)
    with pytest.raises(ValueError, match="budget >= 0"):
        mb.bernoulli_kl_upper(0.2, -1.0)


@pytest.mark.parametrize(
    ("p", "other", "words"),
    [
        ("0.5", 0.5, "must be numbers"),
        (10**400, 0.5, "must be numbers"),
        (np.ma.masked, 0.5, "masked"),
        ([0.1, 0.2], [0.1, 0.2, 0.3], "fit together"),
        (0.5, None, "must be numbers"),
    ],
)
def test_values_that_are_no_numbers_are_refused(p: Any, other: Any, words: str) -> None:
    for function in (mb.bernoulli_kl, mb.bernoulli_kl_upper):
        with pytest.raises(ValueError, match=words):
            function(p, other)


def test_no_means_have_no_divergences() -> None:
    assert np.shape(mb.bernoulli_kl([], [])) == (0,)
    assert np.shape(mb.bernoulli_kl_upper([], 0.5)) == (0,)
