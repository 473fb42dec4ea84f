"""E-processes and confidence sequences: exact values, and guarantees for any law of the rewards."""

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from meanbounds.evidence import confidence_sequence, log_e
from meanbounds.evidence.contradictions import _may_reach

INSIDE, UNIT = st.floats(1e-6, 1 - 1e-6), st.floats(0.0, 1.0)
REWARDS = st.lists(UNIT, min_size=1, max_size=30)
ANY: Any = "a"


def exact(wins: float, lacks: float, u: float, squares: float | None = None) -> float:
    """The logarithm of the mixture, term by term as it is defined, with 60 digits."""
    with mpmath.workdps(60):
        first, second, total = mpmath.mpf(0), mpmath.mpf(0), mpmath.mpf(0)
        n, bound = mpmath.mpf(wins) + lacks, mpmath.mpf(u)
        for k in range(-32, 13):
            s, weight = mpmath.sqrt(2) ** k, mpmath.mpf(1) / ((abs(k) + 2) * (abs(k) + 3))
            first += weight * mpmath.exp(s * wins - n * mpmath.log(1 - bound + bound * mpmath.exp(s)))
            total += weight
            if squares is not None:
                spread = squares - 2 * bound * wins + n * bound**2
                price = (s * bound + mpmath.log(1 - s * bound)) / bound**2 if s * bound < 1 else 0
                second += weight * (mpmath.exp(s * (wins - n * bound) + price * spread) if price else 1)
        return float(mpmath.log((first if squares is None else (first + second) / 2) / total))


def hard_cases(number: int) -> list[tuple[int, float, float, float]]:
    """Few and many rewards, rare events, means near the bound and far from it."""
    rng, cases = np.random.default_rng(5), []
    for _ in range(number):
        n = int(10 ** rng.uniform(0, 9))
        u = float(rng.choice([rng.uniform(0.01, 0.99), 10 ** rng.uniform(-9, -1), 1 - 0.5 ** rng.uniform(2, 30)]))
        near = n * u + 4 * rng.normal() * math.sqrt(n * u * (1 - u))
        few = float(rng.integers(0, 5))
        wins = round(min(float(n), max(0.0, float(rng.choice([rng.uniform() * n, near, few, n - few])))))
        cases.append((n, float(wins), wins * rng.uniform(wins / n, 1.0), u))
    return cases


@pytest.mark.parametrize(("n", "wins", "squares", "u"), hard_cases(60))
def test_against_arbitrary_precision(n: int, wins: float, squares: float, u: float) -> None:
    assert log_e(n, wins, upper=u) == pytest.approx(exact(wins, n - wins, u), rel=1e-9, abs=1e-9)
    right = exact(wins, n - wins, u, squares)  # squares are raised by 1e-12 of n, for rounding
    assert log_e(n, wins, upper=u, squares=squares) == pytest.approx(right, rel=1e-9, abs=1e-9 + 1e-11 * n)


@given(REWARDS, st.lists(UNIT, min_size=1, max_size=5), st.randoms(use_true_random=False), INSIDE)
def test_falls_on_average_if_the_bound_holds(past: list[float], values: list[float], random: Any, slack: float) -> None:
    """For any law of the next reward: here on up to five values, with the bound at its mean or above."""
    chances = np.array([random.random() + 1e-3 for _ in values])
    chances /= chances.sum()
    x, n, s, q = np.array(values), len(past), sum(past), sum(y * y for y in past)
    mean = float(chances @ x)
    for u in (mean, mean + (1.0 - mean) * slack):
        assume(1e-9 < u < 1.0)
        for known in (False, True):
            before = log_e(n, s, upper=u, squares=q if known else None)
            after = np.asarray(log_e(n + 1, s + x, upper=u, squares=q + x * x if known else None))
            assert chances @ np.exp(after - before) <= 1.0 + 1e-8


@pytest.mark.parametrize("u", [0.05, 0.5, 0.9])
@pytest.mark.parametrize("known", [False, True])
def test_false_alarms_exactly(u: float, known: bool) -> None:
    """The probability that rewards of 0 and 1 with a mean at the bound ever reach 1 / error within 400 looks."""
    error, alarms, chance = 0.1, 0.0, np.array([1.0])
    for n in range(1, 401):
        chance = np.append(chance * (1 - u), 0.0) + np.append(0.0, chance * u)
        wins = np.arange(n + 1.0)
        reached = np.asarray(log_e(n, wins, upper=u, squares=wins if known else None)) >= math.log(1 / error)
        alarms += float(chance[reached].sum())
        chance[reached] = 0.0
    assert 0.02 < alarms <= error


@given(REWARDS, INSIDE, INSIDE, UNIT, st.integers(1, 5))
def test_grows_with_rewards_and_falls_with_the_bound(xs: list[float], u: float, v: float, y: float, late: int) -> None:
    n, s, q, (low, high) = len(xs), sum(xs), sum(x * x for x in xs), sorted((u, v))
    assert log_e(n, s, upper=low) >= log_e(n, s, upper=high) - 1e-9
    wealth = [math.exp(log_e(n, s, upper=bound, squares=q)) for bound in (low, high)]
    assert wealth[0] >= wealth[1] * (1.0 - 1e-9) - 0.5  # but for what is not staked
    assert log_e(n, s + y * (n - s), upper=u) >= log_e(n, s, upper=u) - 1e-9
    for squares, after in ((None, None), (q, q + late * y * y)):
        came = log_e(n + late, s + late * y, upper=u, squares=after)
        assert log_e(n, s, upper=u, missing=late, squares=squares) <= came + 1e-9


@given(st.integers(1, 10**6), UNIT, UNIT, INSIDE, st.floats(0.1, 60.0), st.integers(0, 50))
def test_the_cheap_look_misses_nothing(n: int, mean: float, part: float, u: float, level: float, late: int) -> None:
    wins, squares = mean * n, mean * n * (mean + part * (1.0 - mean))
    may = _may_reach(level, wins, n - wins, u, 1.0 - u, squares, late)
    assert may or log_e(n, wins, upper=u, squares=squares, missing=late) < level


@given(REWARDS, INSIDE, st.floats(-100, 100), st.floats(0.01, 100))
def test_units_do_not_matter(rewards: list[float], u: float, low: float, span: float) -> None:
    n, s, ends = len(rewards), sum(rewards), {"low": low, "high": low + span}
    own = log_e(n, n * low + span * s, upper=min(low + span, low + u * span), **ends)
    assert own == pytest.approx(log_e(n, s, upper=u), abs=1e-4)
    assert log_e(n, s, lower=u) == pytest.approx(log_e(n, n - s, upper=1 - u), abs=1e-6)


def test_ends_of_the_range_tiny_bounds_and_tiny_rewards() -> None:
    """Nothing is above the highest mean; a positive reward contradicts a mean of 0 for certain."""
    assert log_e([3, 3, 0], [0.0, 1e-3, 0.0], upper=0.0) == pytest.approx([0.0, math.inf, 0.0], abs=1e-12)
    assert log_e([3, 3], [3.0, 3 - 1e-3], lower=1.0) == pytest.approx([0.0, math.inf], abs=1e-12)
    assert log_e(5, 3, upper=1.0) < 0.0
    assert log_e(0, 0, upper=0.5, missing=4) < 0.0
    assert np.shape(log_e([], [], upper=0.5)) == (0,)
    for tiny in (1e-12, 1e-200, 1e-310):
        assert log_e(1, 1, upper=tiny) == pytest.approx(exact(1.0, 0.0, tiny), abs=1e-9)
        assert -1.0 < log_e(1, tiny, upper=0.5) < 1.0
        lower, upper = confidence_sequence(3, tiny)
        assert lower == 0.0 < 0.5 < upper < 1.0


@given(st.integers(1, 10**7), UNIT, st.floats(1e-6, 0.5))
def test_limits_are_where_the_evidence_is_spent(n: int, mean: float, error: float) -> None:
    total = float(round(mean * n))
    lower, upper = (float(limit) for limit in confidence_sequence(n, total, error=error))
    assert 0.0 <= lower <= total / n <= upper <= 1.0
    for side, limit in (("upper", lower), ("lower", upper)):
        if 1e-6 < limit < 1.0 - 1e-6:  # nearer to an end, rounding of the limit itself counts
            assert log_e(n, total, **{side: limit}) == pytest.approx(math.log(2 / error), abs=1e-6)
    assert lower == 0.0 or total > 0.0
    assert lower > 0.0 or total < 2.0
    assert upper == 1.0 or total < n


def test_squares_adapt_to_the_variance_and_missing_rewards_may_be_anything() -> None:
    """Rewards of 0.45 and 0.55: limits six times closer after 10,000; with rewards of 0 and 1 hardly wider."""
    n, spread = 10_000, {}
    for name, squares in (("plain", None), ("steady", n * (0.25 + 0.05**2)), ("rough", n / 2)):
        lower, upper = confidence_sequence(n, n / 2, squares=squares)
        spread[name] = float(upper - lower)
    assert spread["steady"] < spread["plain"] / 6
    assert spread["plain"] < spread["rough"] < 1.05 * spread["plain"]
    lower, upper = confidence_sequence(100, 80, missing=10)
    assert lower == pytest.approx(confidence_sequence(110, 80)[0], abs=1e-8)
    assert upper == pytest.approx(confidence_sequence(110, 90)[1], abs=1e-8)


def test_refused() -> None:
    for change, words in (
        ({"plays": 1.5}, "plays must be whole numbers"),
        ({"plays": -1}, "plays must be whole numbers"),
        ({"plays": "3"}, "plays must be numbers"),
        ({"plays": [1, 2], "total": [1, 1, 1]}, "shapes that fit together"),
        ({"total": 3.5}, "total must be the sum"),
        ({"total": math.nan}, "total must be the sum"),
        ({"upper": 1.5}, "must lie between low and high"),
        ({"upper": None, "lower": math.nan}, "must lie between low and high"),
        ({"upper": None}, "give one bound"),
        ({"lower": 0.5}, "give one bound"),
        ({"missing": -1}, "missing must be whole numbers"),
        ({"low": 1.0, "high": 0.0}, "low < high"),
        ({"squares": 2.5}, "squares must be"),
        ({"squares": 1.0}, "squares must be"),
    ):
        with pytest.raises(ValueError, match=words):
            log_e(**{"plays": 3, "total": 2, "upper": 0.5} | change)
    for error in (0.0, True, ANY):
        with pytest.raises(ValueError, match="error must be"):
            confidence_sequence(3, 2, error=error)


@pytest.mark.parametrize("law", ["0 and 1", "rare", "graded", "steady"])
@pytest.mark.parametrize("known", [False, True])
def test_limits_hold_at_all_times(law: str, known: bool) -> None:
    """200 runs of 4,000 rewards, looked at 40 times; error 0.05. False-failure rate of the exact test: 1e-6."""
    rng, shape, looks = np.random.default_rng(11), (200, 4_000), np.unique(np.geomspace(1, 4_000, 40).astype(int))
    mean = {"0 and 1": 0.4, "rare": 0.02, "graded": 1 / 4, "steady": 0.7}[law]
    x = np.asarray(rng.random(shape) < mean, dtype=float)
    if law in ("graded", "steady"):
        x = rng.beta(0.5, 1.5, shape) if law == "graded" else rng.uniform(0.65, 0.75, shape)
    total, squares = (part.cumsum(axis=1)[:, looks - 1] for part in (x, x * x))
    lower, upper = confidence_sequence(looks[None, :], total, squares=squares if known else None)
    failed = np.count_nonzero(((lower > mean) | (upper < mean)).any(axis=1))
    assert stats.binom.sf(failed - 1, len(x), 0.05) > 1e-6
    assert float((upper - lower)[:, -1].max()) < (0.02 if law == "steady" and known else 0.1)
