"""Exact indices against another solver, and against solving for every arm."""

from typing import Any

import numpy as np
import pytest
from tests.cones import KINDS, ellipsoid, instance, largest

import meanbounds as mb
from meanbounds.linear import maximum
from meanbounds.linear.arms import LinearArms
from meanbounds.linear.cone import Maxima, maximise
from meanbounds.linear.feasible import Extent, FeasibleSet
from meanbounds.linear.maximum import TOLERANCE, Ellipsoids, Proofs, indices
from meanbounds.support.types import Booleans, Floats


def clipped(arms: Extent, sets: Ellipsoids) -> Floats:
    """The clip index of each arm in each row."""
    widths = np.sqrt(np.einsum("aj,rjk,ak->ra", arms.features, sets.inverse, arms.features))
    return np.minimum(arms.upper, arms.offset + sets.centre @ arms.features.T + sets.radius[:, None] * widths)


def confidence_sets(sets: list[tuple[Floats, Floats, float]]) -> Ellipsoids:
    centre, precision, radius = (np.array(part) for part in zip(*sets, strict=True))
    return Ellipsoids(centre, precision, np.linalg.inv(precision), radius)


@pytest.mark.parametrize("d", [1, 2, 10, 20])
@pytest.mark.parametrize("kind", KINDS)
def test_indices_equal_those_of_another_solver(kind: str, d: int) -> None:
    rng = np.random.default_rng([d, KINDS.index(kind)])
    own = instance(rng, kind, int(rng.integers(3, 30)), d)
    feasible = FeasibleSet(own.arms, own.norm_high)
    given = [ellipsoid(rng, own) for _ in range(3)]
    sets, every = confidence_sets(given), np.ones((3, len(own.features)), dtype=np.bool_)
    clip = clipped(feasible.own, sets)
    index, empty = indices(feasible, feasible.own, sets, clip, every, every=True)
    assert not empty.any()
    size = own.reach + np.abs(own.offset)
    assert np.all(index <= clip)
    assert np.all(index >= own.features @ own.parameter + own.offset - 1e-12 * size)  # the truth is in all sets
    for k in np.flatnonzero(own.reach)[:3]:
        for row, inside in enumerate(given):
            other = largest(own.features[k], own, inside)
            gap = (index[row, k] - own.offset[k]) / own.reach[k] - other
            assert -2e-9 < gap < TOLERANCE or np.isnan(other)


class Rounds:
    """OFUL's confidence sets in some rows, as one arm after the other is played."""

    def __init__(self, feasible: FeasibleSet, parameter: Floats, rows: int, rng: np.random.Generator) -> None:
        self.feasible, self.parameter, self.rng = feasible, parameter, rng
        self.precision, self.moment = np.tile(np.eye(parameter.size), (rows, 1, 1)), np.zeros((rows, parameter.size))

    def ask(self, offered: int) -> tuple[Ellipsoids, Floats, Booleans]:
        """Confidence sets, clip indices, and some arms on offer that can be best."""
        arms, inverse = self.feasible.own, np.asarray(np.linalg.inv(self.precision), dtype=np.float64)
        centre = (inverse @ self.moment[:, :, None])[:, :, 0]
        radius = 1.0 + 0.5 * np.sqrt(2.0 * np.log(100.0) + np.linalg.slogdet(self.precision)[1])
        sets = Ellipsoids(centre, self.precision, inverse, radius)
        order = self.rng.random((len(centre), len(arms.upper))).argsort(axis=1) < offered
        best = np.where(order, arms.lower, -np.inf).max(axis=1, keepdims=True)
        return sets, clipped(arms, sets), order & (arms.upper >= best)

    def play(self, index: Floats) -> None:
        """Play the arm with the largest index in each row."""
        played = self.feasible.own.features[index.argmax(axis=1)]
        rewards = played @ self.parameter + 0.5 * self.rng.standard_normal(len(played))
        self.precision = self.precision + played[:, :, None] * played[:, None, :]
        self.moment = self.moment + rewards[:, None] * played


def few_bounded(seed: int, arms: int, d: int, bounded: int) -> tuple[FeasibleSet, Floats]:
    own = instance(np.random.default_rng(seed), "plain", arms, d)
    own.lower[bounded:], own.upper[bounded:] = -1.0, 1.0
    return FeasibleSet(own.arms), own.parameter


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many programs each call solved."""
    numbers: list[int] = []

    def counting(targets: Floats, *rest: Any) -> Maxima:
        numbers.append(len(targets))
        return maximise(targets, *rest)

    monkeypatch.setattr(maximum, "maximise", counting)
    return numbers


@pytest.mark.parametrize(("arms", "d", "bounded"), [(30, 1, 10), (30, 2, 3), (40, 10, 6), (40, 20, 20)])
def test_shortcuts_and_proofs_change_no_decision(arms: int, d: int, bounded: int) -> None:
    feasible, parameter = few_bounded(5, arms, d, bounded)
    rounds, proofs = Rounds(feasible, parameter, 6, np.random.default_rng(1)), Proofs(6, arms, d)
    for _ in range(60):
        sets, clip, wanted = rounds.ask(8)
        index, _ = indices(feasible, feasible.own, sets, clip, wanted, proofs=proofs)
        exact, empty = indices(feasible, feasible.own, sets, clip, wanted, every=True)
        assert not empty.any()
        assert np.all(np.isinf(index) == ~wanted)
        assert np.all(index[wanted] >= exact[wanted] - TOLERANCE)
        chosen = exact[np.arange(6), index.argmax(axis=1)]
        np.testing.assert_allclose(chosen, exact.max(axis=1), atol=TOLERANCE)
        rounds.play(index)


def test_proofs_save_programs(counted: list[int]) -> None:
    feasible, parameter = few_bounded(7, 60, 6, 5)
    solved = []
    for kept in (True, False):
        rounds = Rounds(feasible, parameter, 10, np.random.default_rng(1))
        proofs = Proofs(10, 60, 6) if kept else None
        counted.clear()
        for _ in range(150):
            sets, clip, wanted = rounds.ask(10)
            index, _ = indices(feasible, feasible.own, sets, clip, wanted, proofs=proofs)
            rounds.play(index)
        solved.append(sum(counted))
    assert 0 < solved[0] < 0.5 * solved[1]


def test_where_bounds_decide_no_program_is_solved(counted: list[int]) -> None:
    """The paper's setting: 100 arms in R^10, all of them bounded, 10 on offer."""
    feasible, parameter = few_bounded(1, 100, 10, 100)
    rounds = Rounds(feasible, parameter, 20, np.random.default_rng(2))
    for _ in range(50):
        sets, clip, wanted = rounds.ask(10)
        rounds.play(indices(feasible, feasible.own, sets, clip, wanted)[0])
    assert counted == []


def test_equal_arms_have_equal_indices() -> None:
    own = instance(np.random.default_rng(9), "twins", 8, 3)
    own.lower[4:], own.upper[4:] = -1.0, 1.0
    feasible = FeasibleSet(own.arms)
    sets = confidence_sets([ellipsoid(np.random.default_rng(k), own) for k in range(10)])
    wanted = np.ones((10, 8), dtype=np.bool_)
    index, _ = indices(feasible, feasible.own, sets, clipped(feasible.own, sets), wanted)
    largest_ones = index >= index.max(axis=1, keepdims=True) - 2.0 * TOLERANCE
    np.testing.assert_array_equal(largest_ones[:, :4], largest_ones[:, 4:])


@pytest.mark.parametrize("d", [1, 2, 10, 20])
def test_empty_intersections_are_proved(d: int) -> None:
    rng, found, missed = np.random.default_rng(d), 0, 0
    for seed in range(12):
        own = instance(np.random.default_rng(seed), "plain", 20, d)
        feasible = FeasibleSet(own.arms)
        given = []
        for centre, precision, radius in (ellipsoid(rng, own) for _ in range(4)):
            moved = centre + rng.standard_normal(d) * 10.0 ** rng.uniform(-2, 0)
            given.append((moved, precision, 0.5 * radius))
        sets, wanted = confidence_sets(given), np.ones((4, 20), dtype=np.bool_)
        clip = clipped(feasible.own, sets)
        index, empty = indices(feasible, feasible.own, sets, clip, wanted, every=True)
        np.testing.assert_array_equal(index[empty], clip[empty])
        others = np.array([largest(own.features[0], own, inside) for inside in given])
        assert not (empty & np.isfinite(others)).any()
        found, missed = found + int(empty.sum()), missed + int((~empty & np.isneginf(others)).sum())
    assert found > 5
    assert missed == 0


def test_arms_without_features_and_arms_outside_the_set() -> None:
    bounds = mb.MeanBounds([0.3, 0.0], [0.8, 1.0])
    feasible = FeasibleSet(LinearArms([[1.0, 0.0], [0.0, 1.0]], bounds))
    arms = feasible.extent([[0.0, 0.0], [0.6, 0.8], [1.0, 0.0]], offset=[0.4, 0.1, 0.0])
    sets = Ellipsoids(np.array([[0.5, 0.5]]), np.eye(2)[None] * 100.0, np.eye(2)[None] / 100.0, np.array([1.0]))
    wanted = np.array([[True, True, False]])
    index, empty = indices(feasible, arms, sets, clipped(arms, sets), wanted, every=True)
    assert not empty.any()
    assert index[0, 0] == pytest.approx(0.4)
    assert index[0, 1] == pytest.approx(0.1 + 0.7 + 0.1)  # the estimate, and the radius times the width of 0.1
    assert index[0, 2] == -np.inf
