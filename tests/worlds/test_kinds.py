"""Made-up worlds of several kinds: their bounds hold where they should, and are wrong where they should be."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from meanbounds.worlds.kinds import KINDS, VARIANTS, World, expert_log, instance_worlds, stroke_worlds

RARE = 1e-6
MANY = 10 * len(VARIANTS)
VALID = [name for name, kind in KINDS.items() if kind.confidence == 1.0]
LOGS = [name for name, kind in KINDS.items() if 0.0 < kind.confidence < 1.0]
WRONG = [name for name, kind in KINDS.items() if kind.confidence == 0.0]


def holds(world: World) -> bool:
    return bool(world.bounds.contains(world.environment.means).all())


def worlds(name: str, size: int = MANY, seed: int = 5) -> list[World]:
    return [KINDS[name].world(seed, number) for number in range(size)]


def of_variant(name: str) -> list[World]:
    return [world for world in worlds("random bounds") if world.name.rpartition(" ")[0] == name]


def test_every_kind_is_tested() -> None:
    assert {*VALID, *LOGS, *WRONG} == set(KINDS)
    assert VALID
    assert len(LOGS) == 2
    assert len(WRONG) == 4
    assert len({kind.stream for kind in KINDS.values()}) == len(KINDS)


@pytest.mark.parametrize("name", VALID)
def test_bounds_hold(name: str) -> None:
    assert all(map(holds, worlds(name)))


@pytest.mark.parametrize("name", LOGS)
def test_bounds_from_logs_hold_as_often_as_they_say(name: str) -> None:
    """At most the number of failures that is passed with probability 1e-6 if each world fails with probability 5%."""
    assert sum(not holds(world) for world in worlds(name)) <= stats.binom.isf(RARE, MANY, 0.05)


@pytest.mark.parametrize("name", WRONG)
def test_bounds_are_wrong(name: str) -> None:
    assert not any(map(holds, worlds(name, 30)))


def test_what_is_wrong_is_what_the_name_says() -> None:
    for world in worlds("best arm's cap too low", 30):
        best = world.environment.means.argmax()
        assert world.environment.means[best] - world.bounds.upper[best] == pytest.approx(0.08)
        assert world.bounds.possible[best]
    for world in worlds("best arm pruned", 30):
        assert not world.bounds.possible[world.environment.means.argmax()]
    for world in worlds("worst arm thought best", 30):
        worst = world.environment.means.argmin()
        assert world.bounds.lower[worst] == world.bounds.best_lower > world.environment.means.max()


@pytest.mark.parametrize("name", KINDS)
def test_a_world_follows_from_kind_seed_and_number(name: str) -> None:
    kind = KINDS[name]
    first, again = kind.world(3, 4), kind.world(3, 4)
    np.testing.assert_array_equal(first.environment.means, again.environment.means)
    assert first.bounds == again.bounds
    for other in (kind.world(4, 4), kind.world(3, 4 + len(VARIANTS))):
        assert other.bounds != first.bounds or other.environment.means.tolist() != first.environment.means.tolist()


def test_variants_come_in_turn_with_both_kinds_of_rewards() -> None:
    found = {(world.name.rpartition(" ")[0], type(world.environment).__name__) for world in worlds("random bounds")}
    assert found == {(name, law) for name in VARIANTS for law in ("Bernoulli", "Beta")}


def test_variants_are_what_they_are_called() -> None:
    for world in of_variant("equal caps"):
        assert np.ptp(world.bounds.upper) == 0.0
    for world in of_variant("caps at the best mean"):
        assert set(world.bounds.upper) == {world.environment.means.max()}
    for world in of_variant("equal lower bounds"):
        assert np.ptp(world.bounds.lower) == 0.0
    for world in of_variant("one arm known"):
        assert np.sum(world.bounds.lower == world.bounds.upper) == 1
    for world in of_variant("no bounds"):
        assert world.bounds == world.nothing
    assert any(
        (world.bounds.upper == world.bounds.best_lower).any() for world in of_variant("caps at the largest lower bound")
    )
    for name, tight in (("best arm capped tightly", True), ("best arm capped loosely", False)):
        for world in of_variant(name):
            room = world.bounds.upper - world.environment.means
            best = world.environment.means.argmax()
            assert (room[best] if tight else np.delete(room, best).max()) <= 0.02 + 1e-12
    assert all(world.environment.means.min() >= 0.9 for world in of_variant("means near 1"))
    assert all(world.environment.means.max() <= 0.1 for world in of_variant("means near 0"))


def test_little_that_is_hidden_leaves_caps_near_the_best_mean() -> None:
    room = [world.bounds.upper.max() - world.environment.means.max() for world in worlds("expert's log", 40)]
    much = [
        world.bounds.upper.max() - world.environment.means.max() for world in worlds("expert's log, much hidden", 40)
    ]
    assert np.median(room) < 0.02
    assert np.median(much) > 0.1


def test_an_expert_who_always_errs_plays_every_arm_alike() -> None:
    """The upper bound of every arm is the mean reward of the log: here the average of both means."""
    means, weights = np.array([[0.9, 0.5]]), np.ones(1)
    found = [expert_log("", means, weights, np.random.default_rng(1), errs=errs) for errs in (0.0, 1.0)]
    np.testing.assert_allclose([world.bounds.upper for world in found], [[0.9, 0.9], [0.7, 0.7]], atol=0.01)


def test_the_log_is_the_one_behind_the_bounds() -> None:
    """The expert's value is the upper bound of every arm, but for the confidence limit."""
    for world in [*worlds("expert's log", 5), *stroke_worlds(seed=1)]:
        assert world.log is not None
        assert world.log["arms"] == list(world.bounds.arms)
        value = sum(world.log["totals"]) / sum(world.log["counts"])
        assert value <= world.bounds.upper.min() <= world.bounds.upper.max() <= value + 0.03
    assert all(world.log is None for world in worlds("random bounds", 5))


def test_named_worlds() -> None:
    assert all(map(holds, instance_worlds()))
    assert all(map(holds, stroke_worlds(seed=1)))
