"""Tails and quantiles of truncated Beta laws, against arbitrary precision, and what the fast kernel makes of them."""

from __future__ import annotations

from functools import partial

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meanbounds.kernels.arms.inversion import may_exceed
from meanbounds.kernels.arms.quantile import EXACT_TO, law_of, near_quantile, quantile, sides, tail, whole_tail
from meanbounds.kernels.fast import tails as levels

CASES = [
    (1.0, 1.0, 0.0, 1.0),
    (1.0, 1.0, 0.2, 0.3),
    (41.0, 361.0, 0.9, 1.0),  # mass 1e-301
    (361.0, 41.0, 0.0, 0.1),
    (2.0, 1.0, 0.0, 1.0),
    (1.0, 50.0, 0.4, 0.41),
    (5.0, 3.0, 0.0, 0.7),
    (900.0, 100.0, 0.905, 0.98),
    (900.0, 100.0, 0.2, 0.85),
    (900.0, 100.0, 0.8999, 0.9001),
    (2.5, 1.5, 0.3, 1.0),
    (1.0, 300.0, 1e-9, 1e-3),
    (1200.7, 800.3, 0.59, 0.62),
    (3000.0, 1.0, 0.0, 0.9995),
]


def mass(a: float, b: float, lower: float, upper: float) -> mpmath.mpf:
    """Unnormalised mass of [lower, upper], taken from the end that is nearer to the tail."""
    if lower > a / (a + b):
        return mpmath.betainc(b, a, 1 - mpmath.mpf(upper), 1 - mpmath.mpf(lower))
    return mpmath.betainc(a, b, lower, upper)


def precise_tail(a: float, b: float, lower: float, upper: float, x: float) -> float:
    with mpmath.workdps(40):
        return float(mass(a, b, x, upper) / mass(a, b, lower, upper))


@pytest.mark.parametrize(("a", "b", "lower", "upper"), CASES)
def test_tails(a: float, b: float, lower: float, upper: float) -> None:
    law = law_of(a, b, lower, upper)
    for share in (0.01, 0.2, 0.5, 0.8, 0.99):
        x = lower + share * (upper - lower)
        value, density = tail(law, x)
        assert value == pytest.approx(precise_tail(a, b, lower, upper, x), abs=EXACT_TO)
        with mpmath.workdps(40):
            exact = mpmath.mpf(x) ** (a - 1) * (1 - mpmath.mpf(x)) ** (b - 1) / mass(a, b, lower, upper)
        assert density == pytest.approx(float(exact), rel=1e-8, abs=1e-300)


@pytest.mark.parametrize(("a", "b", "lower", "upper"), CASES)
def test_the_smaller_side_is_right_to_all_digits(a: float, b: float, lower: float, upper: float) -> None:
    for x in (0.01, lower + 0.3 * (upper - lower), 0.5, a / (a + b), 0.99):
        below, above, power = sides(a, b, x)
        with mpmath.workdps(40):
            whole, at = mass(a, b, 0.0, 1.0), mpmath.mpf(x)
            exact = mass(a, b, 0.0, x) / whole, mass(a, b, x, 1.0) / whole
            assert min(below, above) == pytest.approx(float(min(exact)), rel=1e-12, abs=1e-290)
            assert below + above == pytest.approx(1.0, abs=1e-15)
            assert power == pytest.approx(float(at**a * (1 - at) ** b / whole), rel=1e-12, abs=1e-290)


@pytest.mark.parametrize(("a", "b", "lower", "upper"), CASES)
def test_quantiles(a: float, b: float, lower: float, upper: float) -> None:
    law = law_of(a, b, lower, upper)
    for v in (1e-12, 1e-4, 0.03, 0.5, 0.9, 1.0 - 1e-9):
        x = quantile(law, v)
        assert lower <= x <= upper
        width = 4e-16 * (1.0 + tail(law, x)[1])  # what rounding x changes
        assert precise_tail(a, b, lower, upper, x) == pytest.approx(v, abs=EXACT_TO + width)


def test_ends() -> None:
    law = law_of(3.0, 4.0, 0.25, 0.5)
    assert (tail(law, 0.25)[0], tail(law, 0.5)[0], quantile(law, 1.0)) == (1.0, 0.0, 0.25)
    assert quantile(law_of(3.0, 4.0, 0.25, 0.25), 0.3) == 0.25
    assert (whole_tail(3.0, 4.0, 0.0), whole_tail(3.0, 4.0, 1.0)) == (1.0, 0.0)


@pytest.mark.parametrize(("a", "b"), [(15_000.0, 9_000.0), (30_000.0, 2.0), (2e6, 1e6)])
def test_large_parameters(a: float, b: float) -> None:
    """Where the density is integrated. The median of Beta(a, b) is between mean and mode, or near."""
    law = law_of(a, b, 0.0, 1.0)
    deviation = (a * b / (a + b + 1.0)) ** 0.5 / (a + b)
    for z in (-4.0, -1.0, 0.0, 1.5):
        x = a / (a + b) + z * deviation
        if 0.0 < x < 1.0:
            density = partial(_density, a, b, x)
            with mpmath.workdps(30):
                exact = float(mpmath.quad(density, _panels(x, min(1.0, x + 40 * deviation))))
                whole = exact + float(mpmath.quad(density, _panels(max(0.0, x - 40 * deviation), x)))
            assert tail(law, x)[0] == pytest.approx(exact / whole, abs=EXACT_TO)
            assert quantile(law, exact / whole) == pytest.approx(x, abs=1e-9 * deviation + 1e-15)


def _density(a: float, b: float, x: float, y: mpmath.mpf) -> mpmath.mpf:
    """Density relative to that at x."""
    if not 0 < y < 1:
        return mpmath.mpf(0)
    return mpmath.exp((a - 1) * mpmath.log(y / mpmath.mpf(x)) + (b - 1) * mpmath.log((1 - y) / (1 - mpmath.mpf(x))))


def _panels(start: float, stop: float) -> list[mpmath.mpf]:
    return [mpmath.mpf(start) + (mpmath.mpf(stop) - mpmath.mpf(start)) * n / 40 for n in range(41)]


SHAPES = st.floats(1.0, 30.0) | st.floats(1.0, 2000.0)
UNIT = st.floats(0.0, 1.0)


@given(SHAPES, SHAPES, UNIT, UNIT, UNIT)
def test_cheap_bound(a: float, b: float, one: float, other: float, share: float) -> None:
    lower, upper = min(one, other), max(one, other)
    x = lower + share * (upper - lower)
    if upper - lower > 1e-6 and lower < x < upper:
        assert tail(law_of(a, b, lower, upper), x)[0] <= may_exceed(a, b, lower, upper, x) + EXACT_TO


@given(SHAPES, SHAPES, st.floats(0.001, 0.999))
def test_a_guess_is_near(a: float, b: float, v: float) -> None:
    deviation = (a * b / (a + b + 1.0)) ** 0.5 / (a + b)
    assert abs(near_quantile(a, b, v) - quantile(law_of(a, b, 0.0, 1.0), v)) < 3.0 * deviation


@given(st.floats(1.0, 20.0), st.floats(1.0, 20.0), st.floats(0.01, 0.99), st.lists(st.booleans(), max_size=300))
def test_tails_follow_rewards(a: float, b: float, x: float, rewards: list[bool]) -> None:
    value, power = levels.new_tail(a, b, x)
    for won in rewards:
        value, power = levels.next_tail(value, power, a, b, x, won)
        a, b = (a + 1.0, b) if won else (a, b + 1.0)
    assert value == pytest.approx(whole_tail(a, b, x), abs=1e-12)


@pytest.mark.parametrize("mean", [0.02, 0.5, 0.97])
def test_negligible_tails_wake_up(mean: float) -> None:
    """Far levels, a long run, and then rewards that point the other way: the tail is there when it matters."""
    rng = np.random.default_rng(5)
    for x in (0.3, 0.8):
        a = b = 1.0
        value, power = levels.new_tail(a, b, x)
        for won in [*(rng.random(3000) < mean), *([mean < x] * 9000)]:
            value, power = levels.next_tail(value, power, a, b, x, bool(won))
            a, b = (a + 1.0, b) if won else (a, b + 1.0)
            if int(a + b) % 97 == 0:
                assert value == pytest.approx(whole_tail(a, b, x), abs=1e-11)
