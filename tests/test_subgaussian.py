from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import meanbounds as mb

mpmath.mp.dps = 60


def exact_proxy(m: mpmath.mpf) -> mpmath.mpf:
    if not 0.0 < m < 1.0:
        return mpmath.mpf(0)
    skew = 1 - 2 * m
    return skew / (2 * mpmath.log((1 - m) / m)) if abs(skew) > 0 else mpmath.mpf(1) / 4


def assert_exact(mean: float) -> None:
    expected = exact_proxy(mpmath.mpf(mean))
    error = abs(mpmath.mpf(mb.variance_proxy(mean)) - expected)
    assert error <= mpmath.mpf("1e-12") * expected, f"at {mean!r}: relative error {mpmath.nstr(error / expected)}"


@pytest.mark.parametrize(
    "mean",
    [
        0.0,
        1.0,
        1e-12,
        1 - 1e-12,
        0.5,
        0.5 + 1e-12,
        0.5 - 1e-12,
        0.5 + 1e-16,
        1e-300,
        5e-324,
        0.25,
        0.2499999,
        0.75,
        0.9,
    ],
)
def test_full_precision_at_the_hard_places(mean: float) -> None:
    assert_exact(mean)


@given(st.floats(0.0, 1.0) | st.floats(-1e-6, 1e-6).map(lambda d: 0.5 + d) | st.floats(0.0, 1e-6).map(lambda d: 1 - d))
def test_full_precision_everywhere(mean: float) -> None:
    assert_exact(mean)


@given(st.floats(0.001, 0.999), st.floats(-60.0, 60.0).filter(lambda s: abs(s) > 1e-3))
def test_is_subgaussian_and_no_smaller_proxy_is(mean: float, s: float) -> None:
    """2 / s^2 log E exp(s(X - m)) of a Bernoulli variable stays below the proxy, with equality at 2 log((1-m)/m)."""

    def curve(at: mpmath.mpf) -> mpmath.mpf:
        m = mpmath.mpf(mean)
        return 2 / at**2 * mpmath.log(m * mpmath.exp(at * (1 - m)) + (1 - m) * mpmath.exp(-at * m))

    proxy = mpmath.mpf(mb.variance_proxy(mean))
    assert curve(mpmath.mpf(s)) <= proxy * (1 + mpmath.mpf("1e-12"))
    if mean != 0.5:
        m = mpmath.mpf(mean)
        assert abs(curve(2 * mpmath.log((1 - m) / m)) - proxy) <= proxy * mpmath.mpf("1e-12")


def test_the_papers_bracket_is_too_small_at_nine_tenths() -> None:
    """The printed bracket (-2/m, 0) gives 0.153 at m = 0.9; the maximum is 0.182."""
    s = np.linspace(-2 / 0.9, -1e-6, 20_001)
    printed = (2 / s**2 * np.log(0.9 * np.exp(0.1 * s) + 0.1 * np.exp(-0.9 * s))).max()
    assert printed == pytest.approx(0.153, abs=5e-4)
    assert mb.variance_proxy(0.9) == pytest.approx(0.18204784532536747, rel=1e-14)


@given(st.floats(0.0, 1.0), st.sampled_from([-50.0, -1.0, 0.0, 0.5, 3.0]), st.sampled_from([0.5, 1.0, 3.0, 100.0]))
def test_other_ranges_shift_and_scale(share: float, low: float, span: float) -> None:
    high = low + span
    mean = min(high, max(low, low + span * share))
    inside = (mpmath.mpf(mean) - mpmath.mpf(low)) / (mpmath.mpf(high) - mpmath.mpf(low))
    expected = float(exact_proxy(inside)) * (high - low) ** 2
    assert mb.variance_proxy(mean, low=low, high=high) == pytest.approx(expected, rel=1e-12)


@given(st.floats(0, 1), st.floats(0, 1), st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_bounds_give_the_largest_proxy_between_them(a: float, b: float, shares: list[float]) -> None:
    lower, upper = min(a, b), max(a, b)
    proxy = mb.variance_proxy_from_bounds(lower, upper)
    inside = np.clip(lower + (upper - lower) * np.array(shares), lower, upper)
    assert np.all(np.asarray(mb.variance_proxy(inside)) <= proxy * (1 + 1e-12))
    assert np.isclose(proxy, np.max(np.asarray(mb.variance_proxy([lower, upper, min(upper, max(lower, 0.5))]))))


def test_vectorised_and_scalar() -> None:
    assert isinstance(mb.variance_proxy(0.3), float)
    assert np.shape(mb.variance_proxy(np.full((2, 3), 0.3))) == (2, 3)
    assert np.asarray(mb.variance_proxy([0.5, 0.5], low=[0, -1], high=[1, 1])).tolist() == [
        0.25,
        4 * mb.variance_proxy(0.75),
    ]


@pytest.mark.parametrize("bad", [(1.5, 0, 1), (float("nan"), 0, 1), (0.5, 1, 0), (0.5, 0.5, 0.5)])
def test_impossible_means_are_refused(bad: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="low <= mean <= high"):
        mb.variance_proxy(bad[0], low=bad[1], high=bad[2])


@pytest.mark.parametrize("bad", [(0.6, 0.4), (-1.0, 0.6), (0.2, 7.0), (float("nan"), 0.5)])
def test_impossible_bounds_are_refused(bad: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="low <= lower <= upper <= high"):
        mb.variance_proxy_from_bounds(*bad)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"mean": "a"}, "mean must be numbers"),
        ({"mean": 10**400}, "mean must be numbers"),
        ({"mean": np.ma.masked}, "masked"),
        ({"mean": [0.1, 0.2], "low": [0.0, 0.0, 0.0]}, "fit together"),
        ({"mean": 0.0, "low": -1.7e308, "high": 1.7e308}, "at least 1e-150 wide"),
        ({"mean": 0.0, "high": 1e-200}, "at least 1e-150 wide"),
        ({"mean": 0.0, "high": np.inf}, "at least 1e-150 wide"),
    ],
)
def test_means_and_ranges_that_cannot_be_computed_with_are_refused(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        mb.variance_proxy(**arguments)
    own = {"lower": arguments["mean"], "upper": arguments["mean"], **arguments}
    del own["mean"]
    with pytest.raises(ValueError, match=words.replace("mean", "lower")):
        mb.variance_proxy_from_bounds(**own)
