"""Policies of meanbounds in river: its own loops drive them, and they decide as agents do."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from river import bandit, stats

import meanbounds as mb
from meanbounds.fits.gymnasium import BanditEnv
from meanbounds.fits.river import RiverContextualPolicy, RiverPolicy

BOUNDS = mb.MeanBounds([0.7, 0.2, 0.4], [0.95, 0.9, 0.6])
MEANS = [0.8, 0.85, 0.5]
POLICIES = [mb.BIMED(), mb.GLUE(), mb.UCB(), mb.ThompsonSampling(), mb.OptimisticGittins()]


def played(policy: RiverPolicy, env: BanditEnv, rounds: int, seed: int) -> list[tuple[Any, float]]:
    env.reset(seed=seed)
    found = []
    for _ in range(rounds):
        arm = policy.pull([0, 1, 2])
        reward = float(env.step(arm)[1])
        policy.update(arm, reward)
        found.append((arm, reward))
    return found


def test_it_is_a_policy_of_river() -> None:
    policy = RiverPolicy(mb.BIMED(), BOUNDS, seed=7)
    assert isinstance(policy, bandit.base.Policy)
    assert isinstance(RiverContextualPolicy(mb.BIMED(), {"all": BOUNDS}), bandit.base.ContextualPolicy)


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_it_decides_as_an_agent_does(policy: mb.Policy) -> None:
    env = BanditEnv(mb.Bernoulli(MEANS))
    wrapped = RiverPolicy(policy, BOUNDS, seed=7)
    agent = mb.Agent(policy, BOUNDS, seed=7)
    for arm, reward in played(wrapped, env, 200, seed=3):
        assert agent.pull() == arm
        agent.update(arm, reward)
    assert wrapped.agent.to_dict() == agent.to_dict()
    assert [wrapped._counts[arm] for arm in range(3)] == agent.plays.tolist()


def test_linear_policies_too() -> None:
    features = [[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]]
    wrapped = RiverPolicy(mb.ROFUL(), BOUNDS, seed=7, features=features)
    agent = mb.Agent(mb.ROFUL(), BOUNDS, seed=7, features=features)
    for arm, reward in played(wrapped, BanditEnv(mb.Bernoulli(MEANS)), 50, seed=3):
        assert agent.pull() == arm
        agent.update(arm, reward)
    with pytest.raises(TypeError, match="needs bounds"):
        RiverPolicy(mb.OFUL(), features=features)


def test_river_evaluates_it_on_our_environment() -> None:
    """Bounds help: with them fewer pulls of the arm that they exclude, none at all."""
    policies: list[bandit.base.Policy] = [RiverPolicy(mb.BIMED(), BOUNDS, seed=1), bandit.UCB(delta=1, seed=1)]
    env = BanditEnv(mb.Bernoulli(MEANS), horizon=300)
    trace = list(bandit.evaluate(policies, env, n_episodes=3, seed=42))
    assert len(trace) == 2 * 3 * 300
    own = [step["arm"] for step in trace if step["policy_idx"] == 0]
    assert set(own) <= {0, 1}
    assert 2 in {step["arm"] for step in trace if step["policy_idx"] == 1}
    first = [step["reward"] for step in trace if step["policy_idx"] == 0 and step["episode"] == 0]
    second = [step["reward"] for step in trace if step["policy_idx"] == 0 and step["episode"] == 1]
    assert first != second


def test_river_evaluates_it_on_its_own_environment() -> None:
    gymnasium = pytest.importorskip("gymnasium")
    env = gymnasium.make("river_bandits/KArmedTestbed-v0", max_episode_steps=50)
    arms = int(env.action_space.n)
    wide = mb.MeanBounds.vacuous(arms, low=-10.0, high=10.0)
    found = list(bandit.evaluate([RiverPolicy(mb.UCB(), wide, seed=1)], env, n_episodes=1, seed=1))
    assert {step["arm"] for step in found} == set(range(arms))  # each is tried once


def test_replay_leaves_no_pull_behind() -> None:
    rng = np.random.default_rng(1)
    arms = ["a", "b", "c"]
    history: list[Any] = [(arms, None, arms[int(rng.integers(3))], bool(rng.random() < 0.5)) for _ in range(300)]
    policy = RiverPolicy(mb.GLUE(), seed=7)
    total, used = bandit.evaluate_offline(policy, iter(history))
    assert isinstance(total, stats.Sum)
    assert used == policy.agent.plays.sum() > 50
    assert policy.agent.pending.sum() <= 1
    assert total.get() == pytest.approx(float(np.nansum(policy.agent.plays * policy.agent.means)))


def test_without_bounds_arms_come_as_river_offers_them() -> None:
    policy = RiverPolicy(mb.GLUE(), seed=7, low=1.0, high=5.0)
    with pytest.raises(ValueError, match="first pull"):
        _ = policy.agent
    policy.update(policy.pull(["a", "b"]), 4.5)
    policy.pull(["a", "b", "c"])
    assert policy.agent.bounds.arms == ("a", "b", "c")
    assert policy.agent.bounds.high.tolist() == [5.0] * 3
    with pytest.raises(mb.RewardError, match=r"range \[1.0, 5.0\]"):
        policy.update("a", 7.0)
    assert policy._n == 1  # what was refused has changed nothing
    with pytest.raises(ValueError, match="low below high"):
        RiverPolicy(mb.GLUE(), low=1.0, high=0.0)


def test_bounds_on_other_names_are_refused() -> None:
    policy = RiverPolicy(mb.GLUE(), mb.MeanBounds([0.2], [0.9], arms=["tPA"]), seed=7)
    with pytest.raises(mb.UnknownArmError, match="unknown arm 0; the arms are 'tPA'"):
        policy.pull([0])
    with pytest.raises(ValueError, match="one number as the reward"):
        policy.update("tPA", 1.0, 2.0)


def test_clones_start_anew_and_copies_go_on() -> None:
    policy = RiverPolicy(mb.ThompsonSampling(), BOUNDS, seed=7, floor=0.05)
    played(policy, BanditEnv(mb.Bernoulli(MEANS)), 20, seed=3)
    clone, twin = policy.clone(), copy.deepcopy(policy)
    assert clone.agent.plays.sum() == clone._n == 0
    assert (clone.agent.floor, clone.agent.seed) == (0.05, 7)
    assert [policy.pull([0, 1, 2]) for _ in range(5)] == [twin.pull([0, 1, 2]) for _ in range(5)]


def test_contexts_of_river_are_ours() -> None:
    lab = mb.HiddenContexts.random(visible=2, hidden=3, arms=3, seed=1)
    bounds = mb.logs.bounds(lab.counts(), infinite=True)
    policy = RiverContextualPolicy(mb.BIMED(), bounds, context="place", seed=7)
    agent = mb.ContextualAgent(mb.BIMED(), bounds, seed=7)
    rng = np.random.default_rng(1)
    for _ in range(100):
        place = f"z{rng.integers(2)}"
        arm = policy.pull([0, 1, 2], context={"place": place, "hour": 3})
        assert agent.pull(place) == arm
        policy.update(arm, {"place": place}, 0.5)
        agent.update(place, arm, 0.5)
    assert policy.clone().agent["z0"].plays.sum() == 0
    with pytest.raises(ValueError, match="no entry 'place'"):
        policy.pull([0, 1, 2], context={})
    with pytest.raises(TypeError, match="2 contexts: name the entries"):
        RiverContextualPolicy(mb.BIMED(), bounds)
    pairs: dict[mb.logs.Context, mb.MeanBounds | mb.Knowledge] = {("old", 1): BOUNDS, ("young", 2): BOUNDS}
    several = RiverContextualPolicy(mb.BIMED(), pairs, context=["age", "ward"], seed=7)
    several.update(0, {"age": "old", "ward": 1}, 1.0)
    assert several.agent["old", 1].plays.tolist() == [1, 0, 0]


def test_river_replays_contextual_policies() -> None:
    rng = np.random.default_rng(1)
    history: list[Any] = [
        ([0, 1, 2], {"age": "old"}, int(rng.integers(3)), float(rng.random() < 0.5)) for _ in range(200)
    ]
    policy = RiverContextualPolicy(mb.GLUE(), {"old": BOUNDS}, context="age", seed=7)
    _, used = bandit.evaluate_offline(policy, iter(history))
    assert used == policy.agent["old"].plays.sum() > 30
    assert policy.agent.pending().sum() <= 1
