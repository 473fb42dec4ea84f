"""A world that changes in the middle of a simulation, and bounds that expire."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import meanbounds as mb
from meanbounds.kernels.random.rewards import draw
from meanbounds.kernels.random.stream import child, reward_key
from meanbounds.simulation.tasks import task_for

UNTYPED: Any = mb
FIRST, SECOND = mb.Bernoulli([0.9, 0.5, 0.4]), mb.Bernoulli([0.3, 0.5, 0.8])
WORLD = mb.Changing([(0, FIRST), (120, SECOND)])
BOUNDS = mb.MeanBounds([0.8, 0.3, 0.2], [0.95, 0.7, 0.6])  # right before the change
POLICIES = [mb.GLUE(), mb.BKLUCB(), mb.BIMED(), mb.ThompsonSampling(), mb.OptimisticGittins()]


def followed(policy: mb.Policy, known: mb.Knowledge, horizon: int, seed: int) -> tuple[list[float], mb.Agent]:
    """The regret of an agent in each round, in the world that changes."""
    agent, key = mb.Agent(policy, known, seed=seed), np.uint64(reward_key(np.uint64(seed), 0))
    lost, curve = 0.0, []
    for t in range(horizon):
        stage = WORLD.environments[int(t >= WORLD.starts[1])]
        law, arm = stage.rewards(known.bounds.low, known.bounds.high), int(agent.pull())
        agent.update(arm, float(draw(law, arm, np.uint64(child(key, arm)), int(agent.plays[arm]))))
        lost += float(stage.gaps[arm])
        curve.append(lost)
    return curve, agent


@pytest.mark.filterwarnings("ignore:.*contradict")
@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: type(policy).__name__)
@pytest.mark.parametrize("expires", [None, 70, 150])
def test_an_agent_plays_as_run_0_of_a_simulation(policy: mb.Policy, expires: int | None) -> None:
    """Regret is against the best arm of the moment, and bounds count until they expire."""
    known = mb.Knowledge(BOUNDS, expires=expires)
    curve, agent = followed(policy, known, 200, seed=6)
    fast, slow = (task_for(policy, WORLD, known, 6, np.arange(1, 201), textbook) for textbook in (False, True))
    for task in (fast, slow):
        played = task.play(0, 2)
        assert played.curves[0] == pytest.approx(curve)
        assert played.plays[0].tolist() == agent.plays.tolist()


def test_runs_and_windows_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    task = task_for(
        mb.ThompsonSampling(), WORLD, mb.Knowledge(BOUNDS, trust=0.9, expires=50), 3, np.arange(10, 201, 10)
    )
    whole = task.play(0, 3)
    assert np.array_equal(task.play(2, 1).curves[0], whole.curves[2])
    monkeypatch.setattr("meanbounds.simulation.stages.WINDOW", 37)
    assert task.play(0, 3).curves == pytest.approx(whole.curves)


def test_a_world_that_stays_the_same_is_the_one_it_was() -> None:
    same = mb.Changing([(0, FIRST), (30, FIRST)])
    regret = [mb.simulate([mb.UCB(), mb.BIMED()], world, horizon=90, runs=4, seed=2) for world in (FIRST, same)]
    for label in ("UCB", "BIMED"):
        assert regret[0].curves[label] == pytest.approx(regret[1].curves[label])
    assert regret[1].settings["environment"]["starts"] == [0, 30]
    assert "-" in regret[1].summary()  # no share of rounds in which the best arm was played: it changes


def test_a_change_after_the_end_never_comes() -> None:
    late = mb.Changing([(0, FIRST), (500, SECOND)])
    lost = [mb.simulate(mb.UCB(), world, horizon=90, runs=4, seed=2).final["UCB"] for world in (FIRST, late)]
    assert lost[0] == pytest.approx(lost[1])


def test_expiry_is_kept_and_fresh_bounds_do_not_expire() -> None:
    known = mb.Knowledge(BOUNDS, expires=3)
    assert "expires=3" in repr(known)
    for made in (known.subset([0, 1]), known.with_bounds(BOUNDS), mb.Knowledge.from_dict(known.to_dict())):
        assert made.expires == 3
    agent = mb.Agent(mb.GLUE(), known, seed=1)
    for _ in range(2):
        agent.update(0, 1.0)
    assert agent.indices()[2] == -np.inf
    others = [mb.Agent.from_dict(json.loads(json.dumps(agent.to_dict()))), pickle.loads(pickle.dumps(agent))]
    for some in (agent, *others):
        some.update(0, 1.0)
        assert some.indices().tolist() == [1.0, 1.0, 1.0]
        assert some.probabilities([1, 2]).tolist() == [0.0, 0.5, 0.5]
    agent.replace_bounds(BOUNDS)
    assert agent.indices()[2] == -np.inf
    assert agent.knowledge.expires is None


def test_bounds_of_contexts_expire_by_their_own_rounds() -> None:
    agent = mb.ContextualAgent(mb.GLUE(), dict.fromkeys("ab", mb.Knowledge(BOUNDS, expires=2)), seed=1)
    for _ in range(2):
        agent.update("a", 0, 1.0)
    other = mb.ContextualAgent.from_dict(json.loads(json.dumps(agent.to_dict())))
    for some in (agent, other):
        assert some.indices("a")[2] == 1.0
        assert some.indices("b")[2] == -np.inf


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: UNTYPED.Changing([]), "pairs of a number of rounds and an environment"),
        (lambda: UNTYPED.Changing([(0, 3)]), "pairs of a number of rounds and an environment"),
        (lambda: mb.Changing([(0, WORLD)]), "pairs of a number of rounds and an environment"),
        (lambda: mb.Changing([(1, FIRST)]), "must start after 0 rounds"),
        (lambda: mb.Changing([(0, FIRST), (0, SECOND)]), "each later than the one before"),
        (lambda: mb.Changing([(0, FIRST), (9, mb.Bernoulli([0.5]))]), "the same number of arms; got"),
        (lambda: mb.simulate(mb.UCB(), WORLD, horizon=9, runs=1, delay=2), "by mb.simulate alone"),
        (lambda: UNTYPED.Knowledge(BOUNDS, expires=0), "expires must be a whole number, at least 1"),
        (
            lambda: mb.simulate(mb.UCB(), FIRST, mb.Knowledge(BOUNDS, expires=5), horizon=9, runs=1, delay=2),
            "cannot be simulated with a delay",
        ),
        (
            lambda: mb.Agent(mb.ROFUL(), mb.Knowledge(BOUNDS, expires=5), features=np.eye(3)),
            "takes bounds to hold for ever; leave expires out",
        ),
    ],
)
def test_what_cannot_be_is_refused(make: Callable[[], object], says: str) -> None:
    with pytest.raises((TypeError, ValueError), match=says):
        make()
