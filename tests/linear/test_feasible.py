"""Feasible sets, tight bounds and the cone, against another solver, exact arithmetic and sampled parameters."""

import pickle
from typing import Any

import numpy as np
import pytest
from tests.cones import KINDS, instance, largest

import meanbounds as mb
from meanbounds.linear.arms import LinearArms
from meanbounds.linear.cone import Limits, maximise, multipliers
from meanbounds.linear.feasible import FeasibleSet, tighten

CLOSE = 2e-9  # of the largest mean that the norm allows


@pytest.mark.parametrize("d", [1, 2, 10, 20])
@pytest.mark.parametrize("kind", KINDS)
def test_bounds_equal_those_of_another_solver(kind: str, d: int) -> None:
    rng = np.random.default_rng([d, KINDS.index(kind)])
    own = instance(rng, kind, int(rng.integers(3, 40)), d)
    feasible = FeasibleSet(own.arms, own.norm_high)
    tight, size = feasible.own, np.where(own.reach > 0.0, own.reach, 1.0)
    means, rounding = own.features @ own.parameter + own.offset, 1e-14 * (size + np.abs(own.offset))
    assert np.all((tight.lower <= means + rounding) & (tight.upper >= means - rounding))
    assert feasible.tightened().exact_lower.all()
    assert feasible.tightened().exact_upper.all()
    at = tight.peaks @ own.features.T + own.offset
    assert np.all((at <= own.arms.bounds.upper + 1e-8 * size) & (at >= own.arms.bounds.lower - 1e-8 * size))
    for k in np.flatnonzero(own.reach)[:3]:
        for sign, bound in ((1.0, tight.upper[k] - own.offset[k]), (-1.0, own.offset[k] - tight.lower[k])):
            other = largest(sign * own.features[k], own)
            assert bound / size[k] == pytest.approx(other, abs=CLOSE) or np.isnan(other)


@pytest.mark.parametrize("kind", ["plain", "equal", "flat", "sphere", "vertex"])
def test_multipliers_prove_the_values(kind: str) -> None:
    """For any multipliers z >= 0, target . p is at most z . ends + |target - z . rows|: here with more digits."""
    rng = np.random.default_rng(3)
    for _ in range(5):
        own = instance(rng, kind, 12, 4)
        limits, target = FeasibleSet(own.arms, own.norm_high).limits, own.features[5]
        value, weights = multipliers(target, limits)
        rows, ends, z = (np.asarray(array, dtype=np.longdouble) for array in (*limits, weights))
        left = target - (z[:, None] * rows).sum(axis=0)
        proof = float((z * ends).sum() + np.sqrt((left * left).sum()))
        assert z.min() >= 0.0
        assert proof <= value <= proof + 1e-12


def test_limits_that_others_imply_may_be_left_out() -> None:
    rng = np.random.default_rng(5)
    own = instance(rng, "plain", 300, 4)
    feasible = FeasibleSet(own.arms)
    assert len(feasible.needed.ends) < 60 < len(feasible.limits.ends)
    directions = rng.standard_normal((40, 4))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    few, all_ = (maximise(directions, limits) for limits in (feasible.needed, feasible.limits))
    np.testing.assert_allclose(few.value, all_.value, atol=CLOSE)
    assert (all_.point @ feasible.limits.rows.T - feasible.limits.ends).max() < CLOSE
    assert all_.value[0] == pytest.approx(largest(directions[0], own), abs=CLOSE)


def test_without_bounds_the_norm_decides() -> None:
    features = np.array([[3.0, 4.0], [0.0, 0.0], [1e-5, 0.0]])
    tight = tighten(features, mb.MeanBounds.vacuous(3, low=-20.0, high=20.0), norm_high=2.0, offset=[0.0, 1.0, 0.0])
    np.testing.assert_allclose(tight.upper, [10.0, 1.0, 2e-5], rtol=1e-12)
    np.testing.assert_allclose(tight.lower, [-10.0, 1.0, -2e-5], rtol=1e-12)
    assert maximise(np.eye(3), Limits(np.zeros((0, 3)), np.zeros(0))).value == pytest.approx(1.0, abs=1e-9)


def test_new_arms_and_tightening_twice() -> None:
    rng = np.random.default_rng(8)
    own = instance(rng, "offsets", 20, 5)
    feasible = FeasibleSet(own.arms, own.norm_high)
    new = rng.standard_normal((6, 5))
    found = feasible.extent(new, offset=0.3)
    for k in range(6):
        reach = own.norm_high * np.linalg.norm(new[k])
        assert (found.upper[k] - 0.3) / reach == pytest.approx(largest(new[k], own), abs=CLOSE)
        assert (0.3 - found.lower[k]) / reach == pytest.approx(largest(-new[k], own), abs=CLOSE)
    once = feasible.tightened()
    twice = tighten(own.features, once, own.norm_high, offset=own.offset)
    np.testing.assert_allclose(twice.lower, once.lower, atol=1e-8)
    np.testing.assert_allclose(twice.upper, once.upper, atol=1e-8)
    assert pickle.loads(pickle.dumps(once)) == once


def test_which_bounds_are_exact_with_a_lower_limit_on_the_norm() -> None:
    bounds = mb.MeanBounds([0.5, 0.5], [1.0, 1.0])
    tight = tighten(np.eye(2), bounds, norm_low=0.9)
    np.testing.assert_allclose(tight.upper, np.sqrt(0.75), atol=1e-9)  # on the sphere
    assert tight.exact_upper.all()
    short = mb.MeanBounds([0.5, 0.5], [0.6, 0.6])
    assert not tighten(np.eye(2), short, norm_low=0.9).exact_upper.any()
    assert tighten(np.eye(2), short).exact_upper.all()


@pytest.mark.parametrize("seed", range(6))
def test_contradictions_name_a_small_group(seed: int) -> None:
    rng = np.random.default_rng(seed)
    own = instance(rng, "plain", 15, 4)
    bounds = own.arms.bounds
    others = FeasibleSet(LinearArms(own.features[1:], bounds.subset(np.arange(1, 15))))
    lower, upper = bounds.lower.copy(), np.append(2.0, bounds.upper[1:])
    lower[0] = others.extent(own.features[:1]).upper[0] + 10.0 ** -rng.uniform(2, 8)  # more than all others allow
    arms = LinearArms(own.features, mb.MeanBounds(lower, upper, low=-2.0, high=2.0))
    with pytest.raises(mb.BoundsError, match=r"no parameter of norm at most 1\.0 gives arm .* and arm ") as caught:
        FeasibleSet(arms)
    named = [k for k in range(15) if f"arm {k} " in str(caught.value)]
    assert 0 in named
    assert len(named) <= 5  # by Helly's theorem at most d + 1 are needed
    for k in named:  # without any of them there is a parameter
        rest = [j for j in named if j != k]
        FeasibleSet(LinearArms(own.features[rest], arms.bounds.subset(rest)))


def test_one_arm_may_contradict_the_norm_or_its_features() -> None:
    with pytest.raises(mb.BoundsError, match=r"norm at most 0.1 gives arm 'a' a mean of at least 0.6: at least one"):
        tighten([[3.0, 0.0]], mb.MeanBounds([0.6], [0.7], arms=["a"]), norm_high=0.1)
    with pytest.raises(mb.BoundsError, match=r"gives arm 'z' a mean of at least 0\.2"):
        tighten([[0.0], [1.0]], mb.MeanBounds([0.2, 0.0], [1.0, 1.0], arms=["z", "b"]))
    tight = tighten([[3.0]], mb.MeanBounds([0.3], [0.7]), norm_high=0.1)  # 0.1 * 3 is rounded up
    assert tight.lower[0] == pytest.approx(0.3)


def test_bounds_that_are_rounded_are_no_contradiction() -> None:
    rng = np.random.default_rng(2)
    for _ in range(20):
        features, parameter = 1e-7 * rng.standard_normal((30, 6)), rng.standard_normal(6)
        means = features @ parameter + 5.0
        bounds = mb.MeanBounds(means, means, low=-100.0, high=100.0)
        tight = tighten(features, bounds, norm_high=float(np.linalg.norm(parameter)) * 1.5, offset=5.0)
        np.testing.assert_array_equal(tight.lower, means)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features": [[1.0, 0.0]]}, "a row of numbers for each of 2 arms"),
        ({"features": [[1.0], [np.inf]]}, "arm 1: its features"),
        ({"offset": [1.0, 2.0, 3.0]}, "one finite number, or one for each of 2 arms"),
        ({"norm_high": 0.0}, "norm_high must be a positive number"),
        ({"norm_low": 2.0}, "0 <= norm_low <= norm_high"),
        ({"bounds": [0.1, 0.2]}, "bounds must be MeanBounds"),
    ],
)
def test_refused_arguments(change: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"features": np.eye(2), "bounds": mb.MeanBounds([0.0, 0.0], [1.0, 1.0]), **change}
    with pytest.raises((ValueError, TypeError), match=message):
        tighten(**given)


def test_refused_arms() -> None:
    wrong: Any = mb.MeanBounds([0.1], [0.2])
    with pytest.raises(TypeError, match="a feasible set needs LinearArms"):
        FeasibleSet(wrong)
    with pytest.raises(ValueError, match="features must have 1 columns, as for the arms; got 2"):
        FeasibleSet(LinearArms([[1.0]], wrong)).extent([[1.0, 0.0]])
