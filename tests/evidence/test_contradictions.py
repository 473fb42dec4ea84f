from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import meanbounds as mb
from meanbounds.evidence import check_bounds, log_e_lower, log_e_upper
from tests.evidence.monitor import alarms_in

BOUNDS = mb.MeanBounds([0.0, 0.3, 0.5], [0.6, 1.0, 0.8], arms=["a", "b", "c"])


def test_each_bound_has_its_own_process() -> None:
    plays, total = [50, 40, 30], [20, 30, 20]
    found = check_bounds(BOUNDS, plays, total)
    assert found.upper.tolist() == [log_e_upper(50, 20, 0.6), 0.0, log_e_upper(30, 20, 0.8)]
    assert found.lower.tolist() == [0.0, log_e_lower(40, 30, 0.3), log_e_lower(30, 20, 0.5)]
    assert found.tested.tolist() == [[False, True, True], [True, False, True]]
    own = [found.upper[0], found.lower[1], found.lower[2], found.upper[2]]
    assert found.log_e == pytest.approx(math.log(np.mean(np.exp(own))))
    assert not found.alarm
    assert found.contradictions == ()


def test_named_from_the_number_of_bounds_over_the_error_on() -> None:
    """Four bounds say something; the rewards of one arm are raised until its bound is named."""
    for wins in range(60, 100):
        found = check_bounds(BOUNDS, [100, 0, 0], [wins, 0, 0], error=0.02)
        named = [(one.arm, one.side) for one in found.contradictions]
        assert named == ([("a", "upper")] if found.upper[0] >= math.log(4 / 0.02) else [])
        assert found.alarm or not named
        assert found.alarm == (found.log_e >= math.log(1 / 0.02))


def test_an_alarm_may_name_nobody() -> None:
    found = check_bounds(mb.MeanBounds([0.0] * 4, [0.6] * 4), [100] * 4, [78] * 4, error=0.01)
    assert found.alarm
    assert found.contradictions == ()


@given(st.integers(0, 1000), st.floats(0.0, 1.0))
def test_bounds_that_say_nothing_are_never_contradicted(plays: int, mean: float) -> None:
    found = check_bounds(mb.MeanBounds.vacuous(2), [plays, 0], [mean * plays, 0.0])
    assert (found.log_e, found.alarm, found.contradictions) == (0.0, False, ())


def test_what_is_certain() -> None:
    (found,) = check_bounds(mb.MeanBounds([0.0], [0.0]), [3], [0.5]).contradictions
    assert (found.side, found.log_e, found.e_value) == ("upper", math.inf, math.inf)
    assert str(found) == "arm 0: 3 rewards with mean 0.1667 contradict its upper bound 0 (for certain)"


def test_units_squares_and_missing_rewards() -> None:
    stars = mb.MeanBounds([3.0], [4.0], low=1.0, high=5.0)
    found = check_bounds(stars, [100], [460], squares=[2140])
    assert found.upper[0] == log_e_upper(100, 460, 4.0, squares=2140, low=1.0, high=5.0)
    (one,) = found.contradictions
    assert (one.bound, one.mean, one.plays) == (4.0, 4.6, 100)
    late = check_bounds(stars, [100], [460], missing=[100])
    assert late.upper[0] == log_e_upper(200, 560, 4.0, low=1.0, high=5.0)
    assert late.lower[0] == log_e_lower(200, 960, 3.0, low=1.0, high=5.0)


@pytest.mark.parametrize(
    ("arguments", "named", "words"),
    [
        ([BOUNDS, [1, 2], [1, 1, 1]], {}, "plays must have one entry for each of 3 arms"),
        ([BOUNDS, [1, 2, 3], [1, 1, 4]], {}, "total must be the sum"),
        ([BOUNDS, [1, 2, 3], [1, 1, 1]], {"error": 1.0}, "error must be a probability"),
        ([BOUNDS, [1, 2, 3], [1, 1, 1]], {"missing": 0.5}, "missing must be whole numbers"),
        ([BOUNDS, [1, 2, 3], [1, 1, 1]], {"squares": [1, 1, 2]}, "squares must be"),
        ([BOUNDS, [1, 2, 3], None], {}, "total must be numbers"),
    ],
)
def test_refused(arguments: list[Any], named: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        check_bounds(*arguments, **named)


def test_refuses_what_are_no_bounds() -> None:
    other: Any = [0.2]
    with pytest.raises(TypeError, match="bounds must be MeanBounds"):
        check_bounds(other, [1], [1])


RIGHT = mb.MeanBounds([0.0, 0.3, 0.5, 0.05], [0.6, 1.0, 0.8, 0.2], arms=["a", "b", "c", "d"])


@pytest.mark.slow
@pytest.mark.parametrize("graded", [False, True])
@pytest.mark.parametrize("means", [[0.6, 0.3, 0.8, 0.2], [0.6, 0.3, 0.5, 0.05]])
def test_few_false_alarms(means: list[float], graded: bool) -> None:
    """Means at the bounds, which is worst: 400 runs of 10,000 rounds, error 0.1. False-failure rate 1e-6."""
    found = alarms_in(RIGHT, means, error=0.1, runs=400, rounds=10_000, seed=2, graded=graded)
    assert stats.binom.sf(np.count_nonzero(found) - 1, 400, 0.1) > 1e-6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("upper", "means", "soon"),
    [
        ([0.6, 1.0, 0.8, 0.2], [0.7, 0.5, 0.6, 0.1], 1_500),
        ([0.6, 1.0, 0.8, 0.2], [0.5, 0.5, 0.9, 0.1], 800),
        ([0.6, 1.0, 0.8, 0.2], [0.5, 0.5, 0.6, 0.4], 2_500),
    ],
)
def test_wrong_bounds_are_found(upper: list[float], means: list[float], soon: int) -> None:
    """The mean of one arm is 0.1 or 0.2 above its bound: all of 200 runs give the alarm, half of them soon."""
    bounds = mb.MeanBounds(RIGHT.lower, upper)
    found = alarms_in(bounds, means, error=0.01, runs=200, rounds=20_000, seed=3)
    assert found.all()
    assert np.median(found) < soon
