from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

import meanbounds as mb
from meanbounds.evidence import confidence_sequence, log_e_lower, log_e_upper
from meanbounds.kernels.arms.evidence import log_e, log_e_adaptive, may_reach

INSIDE = st.floats(1e-6, 1 - 1e-6)
UNIT = st.floats(0.0, 1.0)
HOSTILE: Any = "a"
REWARDS = st.lists(UNIT, min_size=1, max_size=30)


def exact(wins: float, lacks: float, bound: float) -> mpmath.mpf:
    """The logarithm of the integral over s = -log t, cut into pieces around its peak."""
    with mpmath.workdps(40):
        s, f, u = mpmath.mpf(wins), mpmath.mpf(lacks), mpmath.mpf(bound)
        n = s + f

        def height(x: mpmath.mpf) -> mpmath.mpf:
            return -(f + 1) * x - n * mpmath.log(u + (1 - u) * mpmath.exp(-x))

        q = (s - 1) / n
        peak = mpmath.log(q / (1 - q)) - mpmath.log(u / (1 - u)) if q > u else mpmath.mpf(0)
        top, width = height(peak), 1 / (abs(s - 1 - n * u) + (n * u * (1 - u)) ** 0.5 + 1)
        cuts, step = [mpmath.mpf(0), *([peak / 2, peak] if peak else [])], width / 4
        while step < 1e4 and height(peak + step) - top > -90:
            cuts += [peak + step, *([peak - step] if step < peak else [])]
            step *= 2
        cuts = sorted({*cuts, peak + step})
        return top + mpmath.log(mpmath.quad(lambda x: mpmath.exp(height(x) - top), cuts))


def hard_cases(number: int) -> list[tuple[float, float, float]]:
    """Few and many rewards, rare events, means near the bound and far from it."""
    rng, cases = np.random.default_rng(5), []
    for _ in range(number):
        n = int(10 ** rng.uniform(0, 9))
        u = float(rng.choice([rng.uniform(0.01, 0.99), 10 ** rng.uniform(-9, -1), 1 - 0.5 ** rng.uniform(2, 30)]))
        near = n * u + 4 * rng.normal() * math.sqrt(n * u * (1 - u))
        few = float(rng.integers(0, 5))
        wins = min(float(n), max(0.0, float(rng.choice([rng.uniform() * n, near, few, n - few]))))
        cases.append((wins, n - wins, u))
    return cases


@pytest.mark.parametrize(("wins", "lacks", "bound"), hard_cases(60))
def test_against_arbitrary_precision(wins: float, lacks: float, bound: float) -> None:
    right = float(exact(wins, lacks, bound))
    assert abs(log_e(wins, lacks, bound, 1.0 - bound) - right) <= 1e-9 * max(1.0, abs(right))


@given(INSIDE)
def test_one_reward_by_hand(u: float) -> None:
    """The integral of 1 / (u + (1 - u) t) is log(1 / u) / (1 - u), that of t over it 1 / (1 - u) less u times that."""
    won = -math.log(u) / (1 - u)
    assert log_e_upper(1, 1, u) == pytest.approx(math.log(won), abs=1e-10)
    if u < 0.999:
        assert math.exp(log_e_upper(1, 0, u)) == pytest.approx((1 - u * won) / (1 - u), rel=1e-9)


@pytest.mark.parametrize("u", [1e-4, 0.03, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("n", [1, 7, 60])
def test_expectation_is_one_at_the_bound(u: float, n: int) -> None:
    """With rewards of 0 and 1 and a mean equal to the bound, the e-process is a martingale."""
    wins = np.arange(n + 1)
    e = np.exp(log_e_upper(np.full(n + 1, n), wins, u))
    assert float(stats.binom.pmf(wins, n, u) @ e) == pytest.approx(1.0, abs=1e-9)
    e = np.exp(log_e_lower(np.full(n + 1, n), wins, u))
    assert float(stats.binom.pmf(wins, n, u) @ e) == pytest.approx(1.0, abs=1e-9)


@given(REWARDS, st.lists(UNIT, min_size=1, max_size=5), st.randoms(use_true_random=False), INSIDE)
def test_falls_on_average_if_the_bound_holds(past: list[float], values: list[float], random: Any, slack: float) -> None:
    """For any law of the next reward: here on up to five values, with the bound at its mean or above."""
    chances = np.array([random.random() + 1e-3 for _ in values])
    chances /= chances.sum()
    x, n, s, q = np.array(values), len(past), sum(past), sum(y * y for y in past)
    mean = float(chances @ x)
    for u in (mean, mean + (1.0 - mean) * slack):
        assume(1e-9 < u < 1.0)
        before, after = log_e(s, n - s, u, 1 - u), [log_e(s + y, n - s + 1 - y, u, 1 - u) for y in x]
        assert chances @ np.exp(np.array(after) - before) <= 1.0 + 1e-8
        before = log_e_adaptive(s, n - s, q, u, 1 - u)
        after = [log_e_adaptive(s + y, n - s + 1 - y, q + y * y, u, 1 - u) for y in x]
        assert chances @ np.exp(np.array(after) - before) <= 1.0 + 1e-8


@given(REWARDS, INSIDE, INSIDE, UNIT)
def test_grows_with_rewards_and_falls_with_the_bound(rewards: list[float], u: float, v: float, more: float) -> None:
    n, s, q = len(rewards), sum(rewards), sum(y * y for y in rewards)
    low, high = sorted((u, v))
    for name in ({}, {"squares": q}):
        assert log_e_upper(n, s, low, **name) >= log_e_upper(n, s, high, **name) - 1e-9
    room = n - s
    assert log_e_upper(n, s + more * room, u) >= log_e_upper(n, s, u) - 1e-9
    assert log_e_upper(n, s, u, missing=1) <= min(log_e_upper(n + 1, s + more, u), log_e_upper(n, s, u)) + 1e-9


@given(st.integers(1, 10**6), UNIT, INSIDE, st.floats(0.1, 60.0))
def test_the_cheap_look_misses_nothing(n: int, mean: float, u: float, level: float) -> None:
    wins = mean * n
    lacks = n - wins
    assert may_reach(wins, lacks, u, level) or log_e(wins, lacks, u, 1 - u) < level


@given(REWARDS, INSIDE, st.floats(-100, 100), st.floats(0.01, 100))
def test_units_do_not_matter(rewards: list[float], u: float, low: float, span: float) -> None:
    n, s = len(rewards), sum(rewards)
    ends = {"low": low, "high": low + span}
    upper = min(low + span, low + u * span)
    own = log_e_upper(n, n * low + span * s, upper, **ends)
    assert own == pytest.approx(log_e_upper(n, s, u), abs=1e-4)
    assert log_e_lower(n, s, u) == pytest.approx(log_e_upper(n, n - s, 1 - u), abs=1e-6)


def test_ends_of_the_range() -> None:
    """Nothing is above the highest mean; a positive reward contradicts a mean of 0 for certain."""
    assert np.array_equal(log_e_upper([3, 3], [0.0, 1e-3], 0.0), [0.0, math.inf])
    assert np.array_equal(log_e_lower([3, 3], [3.0, 3 - 1e-3], 1.0), [0.0, math.inf])
    assert log_e_upper(5, 5, 1.0) == 0.0
    assert log_e_upper(5, 3, 1.0) == pytest.approx(-math.log(3))
    assert log_e_upper(0, 0, 0.5) == 0.0
    assert log_e_upper(0, 0, 0.5, missing=4) < 0.0
    assert np.shape(log_e_upper([], [], 0.5)) == (0,)


@given(st.integers(1, 10**7), UNIT, st.floats(1e-6, 0.5))
@settings(deadline=None)
def test_limits_are_where_the_evidence_is_spent(n: int, mean: float, error: float) -> None:
    total = float(round(mean * n))
    (lower,), (upper,) = confidence_sequence([n], [total], error=error)
    assert 0.0 <= lower <= total / n <= upper <= 1.0
    for limit, log_e_of in ((lower, log_e_upper), (upper, log_e_lower)):
        if 1e-6 < limit < 1.0 - 1e-6:  # nearer to an end, rounding of the limit itself counts
            assert log_e_of(n, total, limit) == pytest.approx(math.log(2 / error), abs=1e-6)
    assert lower == 0.0 or total > 0.0
    assert lower > 0.0 or total < 2.0
    assert upper == 1.0 or total < n


def test_squares_adapt_to_the_variance() -> None:
    """Rewards of 0.45 and 0.55: limits six times closer after 10,000; with rewards of 0 and 1 hardly wider."""
    n, spread = 10_000, {}
    for name, squares in (("plain", None), ("steady", n * (0.25 + 0.05**2)), ("rough", n / 2)):
        lower, upper = confidence_sequence(n, n / 2, squares=squares)
        spread[name] = float(upper - lower)
    assert spread["steady"] < spread["plain"] / 6
    assert spread["plain"] < spread["rough"] < 1.05 * spread["plain"]


def test_missing_rewards_may_be_anything() -> None:
    (lower,), (upper,) = confidence_sequence([100], [80], missing=10)
    none, every = confidence_sequence([110], [80]), confidence_sequence([110], [90])
    assert (lower, upper) == (none[0], every[1])


def test_many_at_once() -> None:
    rng = np.random.default_rng(3)
    plays, means, upper = rng.integers(1, 1000, (4, 5)), rng.random((4, 5)), rng.random((4, 5))
    total = np.floor(plays * means)
    found = log_e_upper(plays, total, upper)
    assert isinstance(found, np.ndarray)
    for at in np.ndindex(4, 5):
        assert found[at] == log_e_upper(int(plays[at]), total[at], upper[at])
    below, above = confidence_sequence(plays, total)
    assert below.shape == above.shape == (4, 5)
    assert isinstance(log_e_upper(3, 2, 0.5), float)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: log_e_upper(1.5, 1, 0.5), "plays must be whole numbers"),
        (lambda: log_e_upper(-1, 0, 0.5), "plays must be whole numbers"),
        (lambda: log_e_upper(3, 3.5, 0.5), "total must be the sum"),
        (lambda: log_e_upper(3, math.nan, 0.5), "total must be the sum"),
        (lambda: log_e_upper(3, 2, 1.5), "upper must lie between low and high"),
        (lambda: log_e_lower(3, 2, math.nan), "lower must lie between low and high"),
        (lambda: log_e_upper(3, 2, 0.5, missing=-1), "missing must be whole numbers"),
        (lambda: log_e_upper(3, 2, 0.5, low=1.0, high=0.0), "low < high"),
        (lambda: log_e_upper(3, 2, 0.5, squares=2.5), "squares must be"),
        (lambda: log_e_upper(3, 2, 0.5, squares=1.0), "squares must be"),
        (lambda: log_e_upper("3", 2, 0.5), "plays must be numbers"),
        (lambda: log_e_upper([1, 2], [1, 1, 1], 0.5), "shapes that fit together"),
        (lambda: confidence_sequence(3, 2, error=0.0), "error must be a probability"),
        (lambda: confidence_sequence(3, 2, error=True), "error must be a probability"),
        (lambda: confidence_sequence(3, 2, error=HOSTILE), "error must be a probability"),
    ],
)
def test_refused(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.slow
@pytest.mark.parametrize("law", ["0 and 1", "rare", "graded"])
@pytest.mark.parametrize("adaptive", [False, True])
def test_limits_hold_at_all_times(law: str, adaptive: bool) -> None:
    """200 runs of 4,000 rewards, looked at 40 times; error 0.05. False-failure rate of the exact test: 1e-6."""
    rng, runs, n = np.random.default_rng(11), 200, 4_000
    looks = np.unique(np.geomspace(1, n, 40).astype(int))
    mean = {"0 and 1": 0.4, "rare": 0.02, "graded": 1 / 4}[law]
    x = rng.beta(0.5, 1.5, (runs, n)) if law == "graded" else (rng.random((runs, n)) < mean).astype(float)
    total, squares = (part.cumsum(axis=1)[:, looks - 1] for part in (x, x * x))
    more = {"squares": squares} if adaptive else {}
    lower, upper = confidence_sequence(np.broadcast_to(looks, total.shape), total, error=0.05, **more)
    failed = int(((lower > mean) | (upper < mean)).any(axis=1).sum())
    assert stats.binom.sf(failed - 1, runs, 0.05) > 1e-6
    assert float((upper - lower)[:, -1].max()) < 0.1


def test_exported() -> None:
    assert mb.evidence.log_e_upper is log_e_upper


@pytest.mark.parametrize("tiny", [1e-12, 1e-200, 1e-310])
def test_tiny_bounds_and_rewards(tiny: float) -> None:
    """One reward of 1 against a bound u has e = log(1 / u) / (1 - u); a tiny reward says nothing."""
    assert log_e_upper(1, 1, tiny) == pytest.approx(math.log(-math.log(tiny)), abs=1e-9)
    assert -1.0 < float(log_e_upper(1, tiny, 0.5)) < 1.0
    (lower,), (upper,) = confidence_sequence([3], [tiny])
    assert lower == 0.0
    assert 0.5 < upper < 1.0
