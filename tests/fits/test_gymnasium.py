"""Worlds of meanbounds in Gymnasium: its checker passes, and rewards are those of the simulator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import meanbounds as mb
from meanbounds.fits.gymnasium import ENVIRONMENTS, BanditEnv, HiddenContextsEnv, LinearBanditEnv

FEATURES = [[1.0, 0.0], [0.6, 0.8], [0.0, 1.0], [-0.6, 0.8]]
WORLD = mb.HiddenContexts([[[0.9, 0.4], [0.3, 0.6]], [[0.2, 0.4], [0.8, 0.6]]], [[0.3, 0.1], [0.2, 0.4]])
MADE: dict[str, Callable[[], gymnasium.Env[Any, Any]]] = {
    "Bernoulli": lambda: BanditEnv(mb.Bernoulli([0.9, 0.5])),
    "Bernoulli, stars": lambda: BanditEnv(mb.Bernoulli([3.0, 4.5], low=1.0, high=5.0), horizon=10),
    "Uniform": lambda: BanditEnv(mb.Uniform([0.9, 0.5, 0.1])),
    "Beta": lambda: BanditEnv(mb.Beta([0.9, 0.5], concentration=8.0)),
    "Table": lambda: BanditEnv(mb.Table([[0, 1, 1], [0.5, 0.7]])),
    "Changing": lambda: BanditEnv(mb.Changing([(0, mb.Bernoulli([0.9, 0.5])), (3, mb.Bernoulli([0.1, 0.5]))])),
    "Linear": lambda: LinearBanditEnv(mb.Linear(FEATURES, theta=[0.5, 0.5])),
    "Linear, drawn": lambda: LinearBanditEnv(mb.Linear(FEATURES, theta=[0.5, 0.5], offered=2), horizon=5),
    "Linear, listed": lambda: LinearBanditEnv(mb.Linear(FEATURES, theta=[0.5, 0.5], offered=[[0, 1], [2, 3]])),
    "HiddenContexts": lambda: HiddenContextsEnv(WORLD),
}


@pytest.mark.parametrize("name", MADE)
def test_the_checker_passes(name: str) -> None:
    check_env(MADE[name](), skip_render_check=True)  # below they are made by name, with this check


GIVEN: dict[str, dict[str, Any]] = {
    **{f"meanbounds/{kind}-v0": {"means": [0.9, 0.5]} for kind in ("Bernoulli", "Uniform", "Beta")},
    "meanbounds/Table-v0": {"values": [[0, 1], [0.5]]},
    "meanbounds/Changing-v0": {"stages": [(0, mb.Bernoulli([0.9, 0.5]))]},
    "meanbounds/Instance-v0": {"name": "low-rewards"},
    "meanbounds/Linear-v0": {"features": FEATURES, "theta": [0.5, 0.5], "offered": 2},
    "meanbounds/HiddenContexts-v0": {"means": [[[0.9, 0.4], [0.3, 0.6]]], "probabilities": [[0.5, 0.5]]},
}


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_names_make_environments(name: str) -> None:
    env = gymnasium.make(name, horizon=3, **GIVEN[name])
    check_env(env.unwrapped)
    env.reset(seed=1)
    assert [env.step(env.action_space.sample())[3] for _ in range(3)] == [False, False, True]


def test_a_name_can_say_where_it_comes_from() -> None:
    env = gymnasium.make("meanbounds.fits.gymnasium:meanbounds/Instance-v0", max_episode_steps=2)
    assert env.action_space == gymnasium.spaces.Discrete(5)


@pytest.mark.parametrize("kind", [mb.Bernoulli, mb.Uniform, mb.Beta])
def test_runs_are_those_of_the_simulator(kind: Any) -> None:
    world, bounds = kind([0.6, 0.8, 0.5]), mb.MeanBounds([0.2, 0.3, 0.1], [0.9, 0.95, 0.6])
    regret = mb.simulate(mb.GLUE(), world, bounds, horizon=200, runs=2, seed=7, checkpoints=[200])
    env = BanditEnv(world)
    agent = mb.Agent(mb.GLUE(), bounds, seed=7)
    env.reset(seed=7)
    lost = 0.0
    for _ in range(200):
        arm = agent.pull()
        _, reward, _, _, info = env.step(arm)
        agent.update(arm, float(reward))
        lost += info["regret"]
    assert lost == pytest.approx(regret.final["GLUE"][0])


def test_each_reset_is_the_next_run() -> None:
    def rewards(env: BanditEnv, seed: int | None) -> list[float]:
        env.reset(seed=seed)
        return [float(env.step(k % 2)[1]) for k in range(20)]

    env, other = BanditEnv(mb.Uniform([0.6, 0.5])), BanditEnv(mb.Uniform([0.6, 0.5]))
    first, second = rewards(env, 7), rewards(env, None)
    assert first != second
    assert rewards(env, 7) == first
    assert rewards(env, None) == second
    assert rewards(other, None) != first
    env.reset(seed=7)
    assert [float(env.step(1)[1]) for _ in range(10)] == first[1::2]  # whatever else was pulled before


def test_linear_runs_are_those_of_the_simulator() -> None:
    world = mb.Linear(FEATURES, theta=[0.5, 0.5], offered=2, low=-1.0, high=1.0)
    bounds = mb.MeanBounds.vacuous(4, low=-1.0, high=1.0)
    regret = mb.simulate({"OFUL": mb.OFUL()}, world, bounds, horizon=100, runs=1, seed=7, checkpoints=[100])
    env = LinearBanditEnv(world)
    agent = mb.Agent(mb.OFUL(), bounds, seed=7, features=FEATURES)
    observed, info = env.reset(seed=7)
    lost = 0.0
    for _ in range(100):
        offered = info["arms"].tolist()
        assert observed["features"].tolist() == [FEATURES[arm] for arm in offered]
        arm = agent.pull(offered)
        observed, reward, _, _, info = env.step(offered.index(arm))
        agent.update(arm, float(reward))
        lost += info["regret"]
    assert lost == pytest.approx(regret.final["OFUL"][0])


def test_a_world_changes_when_it_says() -> None:
    env = BanditEnv(mb.Changing([(0, mb.Bernoulli([1.0, 0.0])), (3, mb.Bernoulli([0.0, 1.0]))]))
    env.reset(seed=1)
    steps = [env.step(0) for _ in range(5)]
    assert [float(step[1]) for step in steps] == [1.0, 1.0, 1.0, 0.0, 0.0]
    assert [step[4]["regret"] for step in steps] == [0.0, 0.0, 0.0, 1.0, 1.0]


def test_hidden_contexts_have_the_means_that_the_world_says() -> None:
    """Each share is within 5 standard errors: the chance that any of six is not, for a right program, is below 4e-6."""
    env = HiddenContextsEnv(WORLD)
    observed, info = env.reset(seed=1)
    cases, rounds = np.zeros((2, 3)), 4_000  # rows: visible context; cases, rewards of arm 0, expert's arm 0
    for _ in range(rounds):
        seen = int(observed)
        assert info["context"] == WORLD.contexts[seen]
        cases[seen] += [1.0, 0.0, info["expert"] == 0]
        observed, reward, _, _, info = env.step(0)
        cases[seen, 1] += float(reward)
    share, wanted = cases[:, 0] / rounds, WORLD.probabilities.sum(axis=1)
    assert np.abs(share - wanted).max() < 5 * np.sqrt(0.25 / rounds)
    for column, means in ((1, WORLD.marginal_means[:, 0]), (2, WORLD.shares[:, 0])):
        assert np.all(np.abs(cases[:, column] / cases[:, 0] - means) < 5 * np.sqrt(0.25 / cases[:, 0]))


def test_what_cannot_be_is_refused() -> None:
    env = BanditEnv(mb.Bernoulli([0.9, 0.5]))
    with pytest.raises(RuntimeError, match="call reset"):
        env.step(0)
    env.reset(seed=1)
    env.step(np.array(1))
    for action in (2, -1, 0.5, "a", None, np.timedelta64(1, "D"), np.array([0])):
        with pytest.raises(ValueError, match="from 0 to 1"):
            env.step(action)
    with pytest.raises(TypeError, match="LinearBanditEnv"):
        BanditEnv(mb.Linear(FEATURES, theta=[0.5, 0.5]))
    with pytest.raises(TypeError, match="BanditEnv"):
        LinearBanditEnv(mb.Bernoulli([0.9]))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"mb\.HiddenContexts"):
        HiddenContextsEnv(mb.Bernoulli([0.9]))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="horizon"):
        BanditEnv(mb.Bernoulli([0.9]), horizon=0)
    with pytest.raises(ValueError, match="name must be one of"):
        gymnasium.make("meanbounds/Instance-v0", name="unheard-of")
