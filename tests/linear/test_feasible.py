"""Bounds that arms give each other, against a modelling layer, angles, and the truth."""

from __future__ import annotations

import importlib
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import meanbounds as mb
from meanbounds.kernels.solvers.cone import Known, maximise, scaled
from tests.naive_linear import Floats, random_instance

cp: Any = importlib.import_module("cvxpy")

SEEDS = st.integers(0, 2**32 - 1)


def modelled(
    target: Floats,
    instance: mb.LinearInstance,
    norm_high: float,
    extra: tuple[Floats, Floats, Floats] | None = None,
    ellipsoid: tuple[Floats, Floats, float] | None = None,
) -> float:
    """The largest target . theta by cvxpy; minus infinity if nothing is feasible."""
    theta = cp.Variable(target.size)
    limits = [
        instance.features @ theta >= instance.bounds.lower - instance.offset,
        instance.features @ theta <= instance.bounds.upper - instance.offset,
        cp.norm(theta) <= norm_high,
    ]
    if extra is not None:
        limits += [extra[0] @ theta >= extra[1], extra[0] @ theta <= extra[2]]
    if ellipsoid is not None:
        centre, precision, radius = ellipsoid
        limits.append(cp.norm(np.linalg.cholesky(precision).T @ (theta - centre)) <= radius)
    problem = cp.Problem(cp.Maximize(target @ theta), limits)
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return float(problem.value)


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@pytest.mark.parametrize("seed", range(8))
def test_tighten_equals_a_modelling_layer(seed: int) -> None:
    rng = np.random.default_rng(seed)
    arms, dimension = int(rng.integers(3, 25)), int(rng.integers(1, 9))
    instance = random_instance(rng, arms, dimension, unit=seed % 2 == 0, offsets=seed % 3 == 0)
    norm_high = float(np.linalg.norm(instance.theta) * rng.uniform(1.0, 1.5))
    box = (np.eye(dimension), instance.theta - 0.3, instance.theta + rng.uniform(0.0, 0.5, dimension))
    extra = box if seed % 4 == 0 else None
    tight = mb.tighten(instance.features, instance.bounds, norm_high=norm_high, extra=extra, offset=instance.offset)
    assert tight.lower_exact.all()
    assert tight.upper_exact.all()
    for k in range(min(arms, 6)):
        x = instance.features[k]
        top, bottom = (sign * modelled(sign * x, instance, norm_high, extra) for sign in (1.0, -1.0))
        assert tight.upper[k] == pytest.approx(instance.offset[k] + top, abs=1e-6)
        assert tight.lower[k] == pytest.approx(instance.offset[k] + bottom, abs=1e-6)


@settings(max_examples=60)
@given(seed=SEEDS, arms=st.integers(1, 30), dimension=st.integers(1, 8), unit=st.booleans(), offsets=st.booleans())
def test_tighten_narrows_contains_the_truth_and_is_idempotent(
    seed: int, arms: int, dimension: int, unit: bool, offsets: bool
) -> None:
    instance = random_instance(np.random.default_rng(seed), arms, dimension, unit=unit, offsets=offsets)
    norm_high = float(np.linalg.norm(instance.theta))
    tight = mb.tighten(instance.features, instance.bounds, norm_high=norm_high, offset=instance.offset)
    assert np.all(tight.lower >= instance.bounds.lower)
    assert np.all(tight.upper <= instance.bounds.upper)
    assert np.all(tight.lower <= instance.means + 1e-12)
    assert np.all(tight.upper >= instance.means - 1e-12)
    again = mb.tighten(instance.features, tight, norm_high=norm_high, offset=instance.offset)
    np.testing.assert_allclose(again.lower, tight.lower, atol=1e-8)
    np.testing.assert_allclose(again.upper, tight.upper, atol=1e-8)


@settings(max_examples=40)
@given(seed=SEEDS, dimension=st.integers(2, 6))
def test_known_means_pin_the_parameter(seed: int, dimension: int) -> None:
    """Bounds without width: the set has no interior, and is a point if there are enough of them."""
    rng = np.random.default_rng(seed)
    instance = random_instance(rng, dimension, dimension, width=0.0)
    assume(np.linalg.cond(instance.features) <= 30.0)
    arms = mb.LinearArms(instance.features, instance.bounds)
    feasible = mb.FeasibleSet(arms, norm_high=float(np.linalg.norm(instance.theta)) * 1.1)
    for direction in rng.normal(size=(3, dimension)):
        lower, upper = feasible.bound(direction)
        assert lower == pytest.approx(direction @ instance.theta, abs=1e-6)
        assert upper == pytest.approx(direction @ instance.theta, abs=1e-6)


def test_a_value_is_proved_whatever_the_search_did() -> None:
    """The value is never below what a feasible point has, on problems of all shapes."""
    rng = np.random.default_rng(11)
    for _ in range(300):
        instance = random_instance(
            rng, int(rng.integers(1, 40)), int(rng.integers(1, 7)), float(rng.choice([1e-9, 0.1, 1.0]))
        )
        norm = float(np.linalg.norm(instance.theta))
        known = scaled(instance.features, instance.bounds.lower, instance.bounds.upper, norm)
        target = rng.normal(size=instance.theta.size)
        target /= np.linalg.norm(target)
        found = maximise(target, known)
        assert found.value >= target @ instance.theta / norm - 1e-12
        assert found.gap < 1e-6


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@pytest.mark.parametrize("seed", range(6))
def test_maximum_in_an_ellipsoid(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    instance = random_instance(rng, 20, 5)
    norm_high = 1.1 * float(np.linalg.norm(instance.theta))
    plays = instance.features[rng.integers(0, 20, 10**seed)]
    precision = np.eye(5) + plays.T @ plays
    centre = instance.theta + np.linalg.solve(np.linalg.cholesky(precision).T, rng.normal(size=5))
    radius = 1.3 * float(np.sqrt((centre - instance.theta) @ precision @ (centre - instance.theta)))
    known = scaled(instance.features, instance.bounds.lower, instance.bounds.upper, norm_high)
    inside = known._replace(centre=centre / norm_high, shape=precision * (norm_high / radius) ** 2)
    for x in instance.features[:5]:
        expected = modelled(x, instance, norm_high, ellipsoid=(centre, precision, radius))
        assert norm_high * maximise(x, inside).value == pytest.approx(expected, abs=1e-6)


def test_an_ellipsoid_outside_the_bounds_is_noticed() -> None:
    known = scaled(np.eye(2), np.array([0.5, -1.0]), np.array([1.0, 1.0]), 1.0)
    away = Known(known.rows, known.lower, known.upper, np.array([-0.9, 0.0]), np.eye(2) / 0.1**2)
    assert maximise(np.array([1.0, 0.0]), away).value < -1.0


@settings(max_examples=100)
@given(seed=SEEDS, dimension=st.integers(1, 6))
def test_one_bound_and_the_norm_are_a_cone(seed: int, dimension: int) -> None:
    """The closed form of the restricted set is what a cone program with that one bound gives."""
    rng = np.random.default_rng(seed)
    best, other = rng.normal(size=(2, dimension))
    lower = float(rng.uniform(-1.0, 1.0)) * float(np.linalg.norm(best))
    bounds = mb.MeanBounds([lower, -99.0], [99.0, 99.0], low=-100.0, high=100.0)
    tight = mb.tighten([best, other], bounds, norm_high=1.0)
    length = np.linalg.norm(other)
    angle = np.arccos(np.clip(best @ other / (np.linalg.norm(best) * length), -1.0, 1.0))
    alpha = np.arccos(lower / np.linalg.norm(best))
    assert tight.upper[1] == pytest.approx(length * np.cos(max(angle - alpha, 0.0)), abs=1e-6)
    assert tight.lower[1] == pytest.approx(length * np.cos(min(angle + alpha, np.pi)), abs=1e-6)


def test_the_cone_removes_nothing_after_tightening() -> None:
    """Beside exact bounds, an arm outside the paper's cone has an upper bound below l_max already."""
    rng = np.random.default_rng(5)
    outside = 0
    for _ in range(30):
        instance = random_instance(rng, 15, 4, width=0.3)
        tight = mb.tighten(instance.features, instance.bounds, norm_high=1.0)
        best = int(np.argmax(tight.lower))
        alpha = np.arccos(np.clip(tight.lower[best], -1.0, 1.0))
        angles = np.arccos(np.clip(instance.features @ instance.features[best], -1.0, 1.0))
        out = angles > 2.0 * alpha + 1e-9
        outside += int(out.sum())
        assert not np.any(out & tight.possible)
    assert outside > 30


class TestNormLow:
    def test_exact_where_the_optimum_is_long_enough(self) -> None:
        """One arm along the first axis: any mean up to 1 is had with norm 1, by going sideways."""
        bounds = mb.MeanBounds([0.1], [0.2], arms=["a"])
        tight = mb.tighten([[1.0, 0.0]], bounds, norm_high=1.0, norm_low=0.9)
        assert tight.upper_exact.all()
        assert tight.lower_exact.all()

    def test_a_relaxation_where_it_is_not(self) -> None:
        """In one dimension theta >= 0 and norm at least 0.9 leave [0.9, 1]; the relaxation says [0, 1]."""
        tight = mb.tighten([[1.0]], mb.MeanBounds([0.0], [1.0]), norm_high=1.0, norm_low=0.9)
        assert tight.upper_exact.tolist() == [True]
        assert tight.lower_exact.tolist() == [False]
        assert tight.lower[0] == pytest.approx(0.0, abs=1e-9)

    def test_means_of_long_parameters_are_inside(self) -> None:
        rng = np.random.default_rng(3)
        for _ in range(20):
            instance = random_instance(rng, 8, 3)
            norm = float(np.linalg.norm(instance.theta))
            tight = mb.tighten(instance.features, instance.bounds, norm_high=1.2 * norm, norm_low=norm)
            assert np.all((tight.lower <= instance.means) & (instance.means <= tight.upper))


class TestContradictions:
    def test_two_arms(self) -> None:
        """Opposite arms cannot both have a mean of at least 0.3; the others have nothing to do with it."""
        features = [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.6, 0.8]]
        bounds = mb.MeanBounds([0.3, 0.3, 0.0, 0.0], [1.0] * 4, arms=["a", "b", "c", "d"])
        with pytest.raises(mb.BoundsError) as caught:
            mb.tighten(features, bounds, norm_high=1.0)
        assert "arm 'a' with mean at least 0.3; arm 'b' with mean at least 0.3 contradict each other" in str(
            caught.value
        )
        assert "'c'" not in str(caught.value)

    def test_one_arm_and_the_norm(self) -> None:
        with pytest.raises(
            mb.BoundsError, match=r"no parameter of norm at most 0.5 gives arm 0 with mean at least 0.8"
        ):
            mb.tighten([[1.0, 0.0], [0.0, 1.0]], mb.MeanBounds([0.8, 0.0], [1.0, 1.0]), norm_high=0.5)

    def test_an_arm_without_features(self) -> None:
        with pytest.raises(mb.BoundsError, match=r"arm 1: all its features are zero, so its mean is 0.0"):
            mb.tighten([[1.0], [0.0]], mb.MeanBounds([0.1, 0.2], [1.0, 1.0]), norm_high=1.0)

    def test_an_extra_constraint(self) -> None:
        with pytest.raises(mb.BoundsError, match=r"extra constraint 1, at most 0\.1"):
            mb.tighten([[0.0, 1.0]], mb.MeanBounds([0.5], [1.0]), norm_high=1.0, extra=(np.eye(2), 0.0, [1.0, 0.1]))

    @settings(max_examples=60)
    @given(seed=SEEDS, arms=st.integers(2, 25), dimension=st.integers(1, 6))
    def test_the_group_is_in_conflict_and_no_arm_of_it_is_idle(self, seed: int, arms: int, dimension: int) -> None:
        """Bounds moved at random until they conflict: the arms named do so alone, and not without any one of them."""
        rng = np.random.default_rng(seed)
        instance = random_instance(rng, arms, dimension, width=0.05, one_range=True)
        means = np.clip(instance.means + rng.normal(scale=0.3, size=arms), -0.9, 0.9)
        bounds = mb.MeanBounds(means - 0.05, means + 0.05, low=instance.bounds.low, high=instance.bounds.high)
        try:
            mb.tighten(instance.features, bounds, norm_high=1.0)
        except mb.BoundsError as error:
            named = [k for k in range(arms) if f"arm {k} " in str(error)]
            assert 1 <= len(named) <= dimension + 1
            with pytest.raises(mb.BoundsError):
                mb.tighten(instance.features[named], bounds.subset(named), norm_high=1.0)
            for k in named:
                rest = [other for other in named if other != k]
                if rest:
                    mb.tighten(instance.features[rest], bounds.subset(rest), norm_high=1.0)
        else:
            value = modelled(
                instance.theta, mb.LinearInstance(instance.features, instance.theta, bounds, np.zeros(arms)), 1.0
            )
            assert np.isfinite(value)


class TestRounding:
    """Offsets are known exactly, but a mean of 10,000,000.3 has seven digits less after the point than one of 0.3."""

    @pytest.mark.parametrize("size", [0.0, 1.0, 1e7, 1e10])
    def test_exact_bounds_beside_large_offsets_are_accepted_and_keep_the_truth(self, size: float) -> None:
        rng = np.random.default_rng(1)
        for _ in range(60):
            arms, dimension = int(rng.integers(2, 12)), int(rng.integers(1, 5))
            features, theta = rng.normal(size=(arms, dimension)), rng.normal(size=dimension)
            theta /= np.linalg.norm(theta)
            offset = size * rng.choice([-1.0, 1.0], arms) + rng.normal(size=arms)
            means = offset + features @ theta
            away = rng.choice([0.0, 0.0, 0.1], (2, arms)) * rng.random((2, arms))
            bounds = mb.MeanBounds(means - away[0], means + away[1], low=means - 9.0, high=means + 9.0)
            tight = mb.tighten(features, bounds, norm_high=1.0, offset=offset)
            assert np.all((tight.lower <= means) & (means <= tight.upper))

    def test_an_arm_without_features_whose_offset_was_rounded(self) -> None:
        """0.1 + 0.2 is 0.30000000000000004."""
        bounds = mb.MeanBounds([0.1, 0.3], [0.5, 0.3])
        tight = mb.tighten([[1.0], [0.0]], bounds, norm_high=1.0, offset=[0.0, 0.1 + 0.2])
        assert tight.lower[1] == tight.upper[1] == 0.3
        with pytest.raises(mb.BoundsError, match=r"so its mean is 0\.3000001; its bounds \[0\.3, 0\.3\] exclude that"):
            mb.tighten([[1.0], [0.0]], bounds, norm_high=1.0, offset=[0.0, 0.3000001])

    @pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
    def test_a_small_contradiction_is_refused_at_every_scale(self, scale: float) -> None:
        """Two arms with the same features, whose bounds are a millionth of the scale apart."""
        bounds = mb.MeanBounds([0.5 * scale, 0.1 * scale], [0.9 * scale, (0.5 - 1e-6) * scale], high=scale)
        with pytest.raises(mb.BoundsError, match="contradict each other"):
            mb.tighten([[1.0, 0.0], [1.0, 0.0]], bounds, norm_high=scale)


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (lambda b: mb.tighten([[1.0, 0.0]], b, norm_high=1.0), "a row of numbers for each of 2 arms; got shape"),
        (lambda b: mb.tighten([[1.0], [np.nan]], b, norm_high=1.0), "arm 'y': its features .* are not all finite"),
        (lambda b: mb.tighten([[1.0], [0.5]], b, norm_high=0.0), "0 <= norm_low <= norm_high"),
        (lambda b: mb.tighten([[1.0], [0.5]], b, norm_high=1.0, norm_low=2.0), "0 <= norm_low <= norm_high"),
        (
            lambda b: mb.tighten([[1.0], [0.5]], b, norm_high=1.0, extra=(np.eye(1), 0.0, [[[1.0]]])),
            r"extra must be \(matrix, low, high\)",
        ),
        (
            lambda b: mb.tighten([[1.0], [0.5]], b, norm_high=1.0, extra=([[1.0, 2.0]], 0, 1)),
            "must have 1 finite columns",
        ),
        (
            lambda b: mb.tighten([[1.0], [0.5]], b, norm_high=1.0, extra=([[1.0]], 1, 0)),
            "extra constraint 0: nothing is between",
        ),
        (
            lambda b: mb.tighten([[1.0], [0.5]], b, norm_high=1.0, offset=[1.0, 2.0, 3.0]),
            "one finite number, or one for each of 2",
        ),
    ],
)
def test_mistakes_are_named(problem: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        problem(mb.MeanBounds.vacuous(["x", "y"]))


def test_a_progress_bar_for_many_arms(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter(np.arange(0.0, 1e6, 3.0))
    monkeypatch.setattr("meanbounds.support.progress.time.monotonic", lambda: float(next(ticks)))
    instance = random_instance(np.random.default_rng(1), 40, 2)
    mb.tighten(instance.features, instance.bounds, norm_high=1.0, progress=True)
    assert re.search(r"^tightening .* 100%", capsys.readouterr().err)
