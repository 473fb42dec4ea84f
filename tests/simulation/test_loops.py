"""Compiled loops play as the policies do, play for play."""

import warnings
from typing import Any

import numpy as np
import pytest

import meanbounds as mb
from meanbounds.policies import thompson
from meanbounds.policies.settling import settled
from meanbounds.simulation import Bernoulli, Uniform
from meanbounds.simulation.batch import play_batch
from meanbounds.simulation.players import Task, play_for

pytest.importorskip("numba")

POLICIES = [
    mb.UCB(),
    mb.BUCB(),
    mb.ImprovedUCB(),
    mb.GLUE(),
    mb.KLUCB(),
    mb.BKLUCB(f="t"),
    mb.BIMED(),
    mb.BIMED(settle=False),
    mb.OptimisticGittins(),
    mb.ThompsonSampling(),
    mb.ThompsonSampling(settle=False),
]


def worlds(count: int) -> list[tuple[mb.MeanBounds, Any]]:
    """Random means and bounds: exact, narrow, wide, with one cap for all, in other units, wrong; once many arms."""
    rng, made = np.random.default_rng(2), []
    for number in range(count):
        arms = 30 if number == 5 else int(rng.integers(2, 8))
        means, reach = rng.uniform(0.05, 0.95, arms), rng.choice([0.0, 0.05, 0.3, 1.0])
        lower, upper = (np.clip(means + sign * reach * rng.random(arms), 0.0, 1.0) for sign in (-1, 1))
        if number % 3 == 1:
            upper[:] = upper.max()
        if number % 4 == 3:
            upper = np.maximum(lower, upper - 0.1)
        low, high = (-3.0, 7.0) if number % 4 == 2 else (0.0, 1.0)
        lower, upper, means = (low + (high - low) * array for array in (lower, upper, means))
        law = Uniform if number % 2 else Bernoulli
        made.append((mb.MeanBounds(lower, upper, low=low, high=high), law(means, low=low, high=high)))
    return made


@pytest.mark.parametrize("world", worlds(12), ids=range(12))
def test_loops_play_as_the_policies_do(world: tuple[mb.MeanBounds, Any]) -> None:
    bounds, environment = world
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # such as that a loop does not play what its policy says
        warnings.filterwarnings("ignore", ".*is outside its bounds")
        by_loop, by_numpy = (
            # With few checkpoints loops may hold an arm for long.
            mb.simulate(POLICIES, environment, bounds, horizon=500, runs=6, seed=9, checkpoints=4, compiled=compiled)
            for compiled in (True, False)
        )
    for label in by_loop.labels:
        np.testing.assert_array_equal(by_loop.plays[label], by_numpy.plays[label], label)
        np.testing.assert_allclose(by_loop.curves[label], by_numpy.curves[label], atol=1e-9)


@pytest.mark.parametrize("plays", [0, 300])
def test_a_formula_that_was_edited_is_played_and_not_its_loop(plays: int, monkeypatch: pytest.MonkeyPatch) -> None:
    index = mb.GLUE.index

    def edited_index(self: mb.GLUE, known: Any, seen: Any, level: Any) -> Any:
        return index(self, known, seen, np.where(seen.plays >= plays, 0.1 * level, level))

    arguments = mb.GLUE(), Bernoulli([0.6, 0.5]), mb.MeanBounds([0.1, 0.1], [0.9, 0.9])
    before = mb.simulate(*arguments, horizon=1000, runs=4, seed=3, compiled=True)
    monkeypatch.setattr(mb.GLUE, "index", edited_index)
    with pytest.warns(UserWarning, match="GLUE: the compiled loop does not play what GLUE says"):
        edited = mb.simulate(*arguments, horizon=1000, runs=4, seed=3, compiled=True)
    in_numpy = mb.simulate(*arguments, horizon=1000, runs=4, seed=3, compiled=False)
    np.testing.assert_array_equal(edited.plays["GLUE"], in_numpy.plays["GLUE"])
    assert (before.plays["GLUE"] != edited.plays["GLUE"]).any()


@pytest.mark.parametrize(
    ("edited", "edit", "horizon"),
    [
        (mb.GLUE(), lambda level: np.minimum(level, 11.0), 40_000),
        (mb.ThompsonSampling(), lambda level: 1.1 * level, 20_000),
        (mb.ThompsonSampling(), lambda level: np.minimum(level, 9.0), 20_000),
    ],
    ids=["GLUE, at most 11", "Thompson, 1.1 times", "Thompson, at most 9"],
)
def test_an_edit_that_matters_late_or_seldom_is_seen(
    edited: mb.policies.Policy, edit: Any, horizon: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = mb.Knowledge(mb.MeanBounds([0.1, 0.1, 0.1], [0.8, 0.8, 0.8]))
    task = Task("it", edited, Bernoulli([0.78, 0.7, 0.5]), known, 1, np.array([horizon]), compiled=True)
    assert play_for(task) is not play_batch
    index: Any = mb.GLUE.index
    monkeypatch.setattr(mb.GLUE, "index", lambda *given: index(*given[:-1], edit(given[-1])))
    monkeypatch.setattr(thompson, "settled", lambda known, seen, log_f, _: settled(known, seen, edit(log_f), 1))
    with pytest.warns(UserWarning, match="the compiled loop does not play what"):
        assert play_for(task) is play_batch


def test_an_agent_follows_an_edited_formula(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = mb.Agent(mb.GLUE(), mb.MeanBounds([0.1, 0.2], [0.9, 0.9]), seed=1)
    assert agent.pull() == 1
    monkeypatch.setattr(mb.GLUE, "index", lambda *_: np.array([[0.3, 0.2]]))
    assert (agent.pull(), agent.indices().tolist(), agent.probabilities().tolist()) == (0, [0.3, 0.2], [1.0, 0.0])


def test_a_loop_that_has_to_be_loaded_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    mb.simulate(mb.GLUE(), Bernoulli([0.6, 0.5]), horizon=10, runs=1, seed=1, compiled=True, progress=True)
    assert "loading the compiled loop of GLUE; the first time takes some seconds" in capsys.readouterr().err


MEANS = np.array([0.9, 0.8, 0.7, 0.6])
NARROW = mb.MeanBounds([0.85, 0.4, 0.3, 0.1], [0.98, 0.97, 0.87, 0.93])
WIDE = np.random.default_rng(3).random(20)
WORLDS: dict[str, tuple[Any, mb.MeanBounds, float]] = {
    "bounds": (Bernoulli(MEANS), NARROW, 1.5),
    "vacuous": (Bernoulli(WIDE), mb.MeanBounds.vacuous(20), 1.5),
    "graded": (Uniform(MEANS), mb.MeanBounds([0.2, 0.1, 0.0, 0.3], [1.0, 0.9, 0.8, 0.9]), 2.0),
    "known": (Bernoulli([0.5, 0.45, 0.3]), mb.MeanBounds([0.0, 0.45, 0.0], [1.0, 0.45, 0.6]), 2.0),
    "wrong": (Bernoulli([0.9, 0.4]), mb.MeanBounds([0.2, 0.3], [0.6, 0.7]), 1.5),
    "ranges": (
        Uniform([3.0, 1.5, 4.0], low=[0.0, -5.0, 3.0], high=[6.0, 5.0, 5.0]),
        mb.MeanBounds([1.0, -4.0, 3.2], [5.0, 3.5, 5.0], low=[0.0, -5.0, 3.0], high=[6.0, 5.0, 5.0]),
        1.2,
    ),
}


@pytest.mark.filterwarnings("ignore:arm")  # means outside their bounds
@pytest.mark.parametrize("world", WORLDS)
def test_the_loop_of_information_directed_sampling_plays_as_the_policy_does(world: str) -> None:
    environment, bounds, power = WORLDS[world]
    by_loop, by_numpy = (
        mb.simulate(
            {"IDS": mb.IDS(power=power)}, environment, bounds, horizon=700, runs=3, seed=4, compiled=compiled, workers=1
        )
        for compiled in (True, False)
    )
    np.testing.assert_array_equal(by_loop.plays["IDS"], by_numpy.plays["IDS"])
    np.testing.assert_allclose(by_loop.curves["IDS"], by_numpy.curves["IDS"], atol=1e-9)
