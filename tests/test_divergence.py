from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

import meanbounds as mb
from meanbounds.kernels.arms.kl import boost_upper
from meanbounds.kernels.arms.moments import floor_of, moment_divergence

UNIT = st.floats(0.0, 1.0)
BUDGET = st.floats(1e-9, 30.0)
INSIDE = st.floats(1e-9, 1 - 1e-9)
CLOSE = st.tuples(st.floats(0.01, 0.99), st.floats(-1e-3, 1e-3)).map(lambda pair: (pair[0], pair[0] + pair[1]))
PAIRS = st.tuples(INSIDE, INSIDE) | CLOSE


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
    if not x.mean() + 1e-3 < goal < 1 - 1e-3:
        return
    two = moment_divergence(float(x.size), float(x.sum()), float((x**2).sum()), goal)
    whole = -optimize.minimize_scalar(
        lambda a: -np.mean(np.log1p(-a * (x - goal))),
        bounds=(0, (1 - 1e-12) / (1 - goal)),
        method="bounded",
        options={"xatol": 1e-10},
    ).fun
    assert float(mb.bernoulli_kl(min(1.0, x.mean()), goal)) - 1e-9 <= two <= whole + 1e-6
    floor = floor_of(float(x.size), float(x.sum()), float((x**2).sum()))
    share_of_ones = (x.mean() - floor) / (1 - floor)
    assert share_of_ones + (1 - share_of_ones) * floor**2 == pytest.approx((x**2).mean(), abs=1e-9)  # the same moments


def test_rewards_of_0_and_1_need_no_second_moment() -> None:
    assert moment_divergence(10.0, 7.0, 7.0, 0.9) == mb.bernoulli_kl(0.7, 0.9)


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
