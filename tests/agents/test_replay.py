"""Artificial Replay uses past rewards as they are asked for, around any agent."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import meanbounds as mb
from meanbounds.simulation import simulate_agents
from tests import naive
from tests.contract import BOUNDS

ANY: Any = mb  # for calls that the types would refuse already
TWO = mb.MeanBounds.vacuous(2)


def past_rewards(seed: int, size: int = 30) -> dict[Any, list[float]]:
    rng = np.random.default_rng(seed)
    return {
        arm: rng.uniform(BOUNDS.low[k], BOUNDS.high[k], size).tolist()
        for k, arm in enumerate(BOUNDS.arms)
        if arm != "b"
    }


@pytest.mark.parametrize("policy", naive.TWINS, ids=repr)
def test_it_plays_as_its_definition_says(policy: mb.Policy) -> None:
    """The same by hand: ask, feed what is left of the past, ask again."""
    past, rng = past_rewards(1), np.random.default_rng(2)
    replay = mb.ArtificialReplay(mb.Agent(policy, BOUNDS, seed=3), past)
    plain, left = mb.Agent(policy, BOUNDS, seed=3), {arm: list(rewards) for arm, rewards in past.items()}
    for _ in range(100):
        while left.get(asked := plain.pull()):
            plain.update(asked, left[asked].pop(0))
        assert replay.pull() == asked
        k = BOUNDS.position(asked)
        reward = float(rng.uniform(BOUNDS.low[k], BOUNDS.high[k]))
        for agent in (replay, plain):
            agent.update(asked, reward)
    assert replay.agent.to_dict() == plain.to_dict()
    assert replay.used.tolist() == [30 - len(left.get(arm, [0] * 30)) for arm in BOUNDS.arms]
    assert replay.agent.pending.sum() == 0


def test_without_a_past_it_is_the_agent() -> None:
    replay, plain = mb.ArtificialReplay(mb.Agent(mb.UCB(), BOUNDS, seed=3), {}), mb.Agent(mb.UCB(), BOUNDS, seed=3)
    for _ in range(20):
        arm = replay.pull()
        assert arm == plain.pull()
        replay.update(arm, 0.5)
        plain.update(arm, 0.5)


def test_some_arms_are_on_offer_and_pulls_can_be_given_up() -> None:
    replay = mb.ArtificialReplay(mb.Agent(mb.UCB(), TWO, seed=3), {0: [1.0, 1.0], 1: [0.0]})
    assert replay.pull(iter([1])) == 1
    assert replay.used.tolist() == [0, 1]
    replay.cancel(1)
    assert replay.agent.pending.tolist() == [0, 0]
    replay.update(0, 1.0, history=True)
    assert repr(replay) == "ArtificialReplay(Agent(UCB(), 2 arms, 2 updates), 2 past rewards left)"


def test_agents_with_features() -> None:
    agent = mb.Agent(mb.OFUL(), TWO, seed=3, features=[[1.0, 0.0], [0.0, 1.0]])
    replay = mb.ArtificialReplay(agent, {0: [0.0] * 50})
    assert replay.pull() == 1
    assert 0 < replay.used[0] < 50


@pytest.mark.parametrize(
    "copied",
    [
        lambda replay: mb.ArtificialReplay.from_dict(json.loads(json.dumps(replay.to_dict()))),
        lambda replay: pickle.loads(pickle.dumps(replay)),
        copy.deepcopy,
    ],
)
def test_a_copy_goes_on_in_the_same_way(copied: Callable[[mb.ArtificialReplay], mb.ArtificialReplay]) -> None:
    replay = mb.ArtificialReplay(mb.Agent(mb.ThompsonSampling(), BOUNDS, seed=3), past_rewards(4))
    for _ in range(10):
        replay.update(replay.pull(), 0.2)
    again = copied(replay)
    for _ in range(50):
        arm = replay.pull()
        assert again.pull() == arm
        for one in (replay, again):
            one.update(arm, 0.7)
    assert again.to_dict() == replay.to_dict()


def saved(**entries: Any) -> dict[str, Any]:
    return {**mb.ArtificialReplay(mb.Agent(mb.UCB(), TWO, seed=3), {0: [1.0, 0.5]}).to_dict(), **entries}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ANY.ArtificialReplay(mb.UCB(), {}), r"needs an agent such as mb.Agent\(mb.UCB\(\), bounds\); got UCB"),
        (lambda: mb.ArtificialReplay(mb.Agent(mb.UCB(), TWO), {"a": [1.0]}), "unknown arm 'a'"),
        (lambda: mb.ArtificialReplay(mb.Agent(mb.UCB(), TWO), {0: [1.5]}), "arm 0: the reward 1.5 is not a number in"),
        (lambda: ANY.ArtificialReplay(mb.Agent(mb.UCB(), TWO), {0: 1.0}), "arm 0: its past rewards must be a list"),
        (lambda: ANY.ArtificialReplay(mb.Agent(mb.UCB(), TWO), [1.0]), "rewards by arm must be a mapping"),
        (lambda: mb.ArtificialReplay.from_dict(saved(format=2)), "format 2 cannot be read"),
        (lambda: mb.ArtificialReplay.from_dict(saved(past=[[0, 1]])), "past has an arm, a count and a list of rewards"),
        (lambda: mb.ArtificialReplay.from_dict(saved(past=[[0, 3, [1.0]]])), "arm 0: 3 of 1 past rewards are used"),
        (lambda: mb.ArtificialReplay.from_dict(saved(past=[[0, 1, [7.0]]])), "arm 0: the reward 7.0 is not a number"),
        (lambda: mb.ArtificialReplay.from_dict(saved(past=[["x", 0, []]])), "unknown arm 'x'"),
        (lambda: mb.ArtificialReplay.from_dict(saved(agent=[])), "agent must be a mapping"),
    ],
)
def test_refused_in_words(call: Callable[[], Any], words: str) -> None:
    with pytest.raises((ValueError, TypeError, LookupError), match=words):
        call()


def test_simulated_agents_play_as_the_simulator_does() -> None:
    """Run 0, and the rewards of all runs: with one arm the regret is the same whatever the policy draws."""
    environment, policy = mb.Bernoulli([0.8, 0.6, 0.1, 0.7, 0.2], low=BOUNDS.low, high=BOUNDS.high), mb.GLUE()
    arguments: dict[str, Any] = {"horizon": 200, "runs": 3, "seed": 7, "checkpoints": [50, 200]}
    slow = simulate_agents(
        {"agent": lambda seed: mb.Agent(policy, BOUNDS, seed=seed)}, environment, BOUNDS, **arguments
    )
    fast = mb.simulate({"agent": policy}, environment, BOUNDS, **arguments)
    np.testing.assert_allclose(slow.curves["agent"][0], fast.curves["agent"][0], rtol=1e-12)
    assert slow.plays["agent"][0].tolist() == fast.plays["agent"][0].tolist()
    assert slow.plays["agent"].sum(axis=1).tolist() == [200] * 3
    assert len({tuple(row) for row in slow.plays["agent"].tolist()}) > 1
    both = mb.Regret.beside({"slow": slow, "fast": fast})
    assert mb.Regret.from_dict(json.loads(json.dumps(both.to_dict()))).labels == ("slow", "fast")


def test_a_past_that_is_right_saves_regret() -> None:
    environment = mb.Bernoulli([0.9, 0.6])

    def with_past(size: int) -> Callable[[int], mb.ArtificialReplay]:
        def make(seed: int) -> mb.ArtificialReplay:
            past = (np.random.default_rng(seed).random((2, size)) < [[0.9], [0.6]]).astype(float)
            return mb.ArtificialReplay(mb.Agent(mb.UCB(), TWO, seed=seed), dict(enumerate(past)))

        return make

    regret = simulate_agents({"few": with_past(2), "many": with_past(200)}, environment, horizon=300, runs=10, seed=5)
    assert regret.final["many"].mean() < 0.3 * regret.final["few"].mean()


@pytest.mark.parametrize(
    ("agents", "words"),
    [
        ({}, "give at least one agent"),
        ({"a": lambda seed: seed}, "a: the function must return an agent, with pull and update; got "),
        ({"a": 3}, "functions that make an agent from a seed; got 'a' and 3"),
        ([], "agents must be a mapping"),
    ],
)
def test_wrong_agents_are_refused(agents: Any, words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        simulate_agents(agents, mb.Bernoulli([0.9, 0.6]))
    with pytest.raises(TypeError, match="environment must be one such as"):
        ANY.simulation.simulate_agents({"a": mb.Agent}, [0.9])
