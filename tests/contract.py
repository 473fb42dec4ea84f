"""What every policy must satisfy, built in or not: `check_policy` runs a policy through all of it."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
import sys

import numpy as np
from scipy import stats

import meanbounds as mb
from meanbounds.policies.rivals import LoggedPolicy

# Arms 2 and 4 cannot be best; arms 0 and 3 differ in range.
BOUNDS = mb.MeanBounds(
    [0.5, 0.1, -1.0, 0.2, 0.0],
    [0.95, 0.9, 0.3, 1.6, 0.4],
    arms=["a", "b", "c", "d", "e"],
    low=[0, 0, -1, 0, 0],
    high=[1, 1, 1, 2, 1],
)
RARE = 1e-6


def check_policy(policy: mb.Policy) -> None:
    """Run all checks."""
    check_is_data(policy)
    check_offers(policy)
    check_means(policy)
    check_json(policy)
    check_ties(policy)
    check_order_of_arms(policy)
    check_agent_and_simulator_agree(policy)
    if policy.has_index:
        check_index(policy)


def rewards(agent: mb.Agent, rounds: int, seed: int) -> list[tuple[mb.bounds.Arm, float]]:
    """Let an agent play against uniform rewards."""
    rng = np.random.default_rng(seed)
    seen = []
    for _ in range(rounds):
        arm = agent.pull()
        k = agent.bounds.position(arm)
        reward = rng.uniform(agent.bounds.low[k], agent.bounds.high[k])
        agent.update(arm, reward)
        seen.append((arm, reward))
    return seen


def check_is_data(policy: mb.Policy) -> None:
    """Every parameter can be read, is shown by repr unless it is the default, and comes back from a dictionary."""
    for field in dataclasses.fields(policy):
        value = getattr(policy, field.name)
        assert (f"{field.name}={value!r}" in repr(policy)) == (value != field.default)
        assert field.name in policy.to_dict()
    assert copy.deepcopy(policy) == policy
    if type(policy).__module__ in sys.modules:  # pickle finds a class by its module
        assert pickle.loads(pickle.dumps(policy)) == policy
    assert mb.Policy.from_dict(json.loads(json.dumps(policy.to_dict()))) == policy
    assert hash(policy) == hash(dataclasses.replace(policy))


def check_offers(policy: mb.Policy) -> None:
    """Arms that are pruned (by a policy that prunes) or not on offer are never pulled."""
    agent = mb.Agent(policy, BOUNDS, seed=1)
    kept = {BOUNDS.arms[int(k)] for k in policy.plan(BOUNDS).arms}
    assert {arm for arm, _ in rewards(agent, 300, 2)} <= kept
    for offered in (["c", "e"], ["e"], ["b", "e"]):
        own = BOUNDS.subset([BOUNDS.position(arm) for arm in offered])
        allowed = {own.arms[int(k)] for k in policy.plan(own).arms}
        for _ in range(20):
            arm = agent.pull(eligible=offered)
            assert arm in allowed
            agent.update(arm, 0.1)


def check_means(policy: mb.Policy) -> None:
    """Plays and means are those of what was told."""
    agent = mb.Agent(policy, BOUNDS, seed=3)
    seen = rewards(agent, 200, 4)
    for k, arm in enumerate(BOUNDS.arms):
        own = [reward for name, reward in seen if name == arm]
        assert agent.plays[k] == len(own)
        np.testing.assert_allclose(agent.means[k], np.mean(own) if own else np.nan, rtol=1e-12)


def check_json(policy: mb.Policy) -> None:
    """A saved agent goes on as the original does."""
    agent = mb.Agent(policy, BOUNDS, seed=5)
    rewards(agent, 50, 6)
    agent.pull()
    copy = mb.Agent.from_dict(json.loads(json.dumps(agent.to_dict())))
    assert rewards(copy, 100, 7) == rewards(agent, 100, 7)
    assert copy.to_dict() == agent.to_dict()


def check_ties(policy: mb.Policy) -> None:
    """Among equal arms the first pull is uniform (chi-square over 2,000 seeds)."""
    bounds = mb.MeanBounds([0.2] * 4, [0.8] * 4)
    first = [int(mb.Agent(policy, bounds, seed=seed).pull()) for seed in range(2000)]
    assert stats.chisquare(np.bincount(first, minlength=4)).pvalue > RARE


def check_order_of_arms(policy: mb.Policy) -> None:
    """Permuting the arms permutes the plan, and the plays in law (two-sample test on each arm)."""
    order = [3, 0, 4, 1, 2]
    plan, permuted = policy.plan(BOUNDS), policy.plan(BOUNDS.subset(order))
    places = np.array(order)[permuted.arms]
    np.testing.assert_array_equal(permuted.select(np.argsort(places)).table[1:], plan.table[1:])
    means = np.array([0.8, 0.6, 0.1, 0.7, 0.2])
    low, high = BOUNDS.low, BOUNDS.high
    straight = mb.simulate(
        {"p": policy}, mb.Bernoulli(means, low=low, high=high), BOUNDS, horizon=300, runs=200, seed=8
    ).plays["p"]
    env = mb.Bernoulli(means[order], low=low[order], high=high[order])
    turned = mb.simulate({"p": policy}, env, BOUNDS.subset(order), horizon=300, runs=200, seed=9).plays["p"][
        :, np.argsort(order)
    ]
    for k in range(len(BOUNDS)):
        if np.ptp(straight[:, k]) or np.ptp(turned[:, k]):
            assert stats.ks_2samp(straight[:, k], turned[:, k], method="asymp").pvalue > RARE


def check_agent_and_simulator_agree(policy: mb.Policy) -> None:
    """An agent that is told the simulator's rewards plays as the simulator does."""
    from meanbounds.kernels.random.rewards import draw
    from meanbounds.kernels.random.stream import child, reward_key

    environment = mb.Bernoulli([0.8, 0.6, 0.1, 0.7, 0.2], low=BOUNDS.low, high=BOUNDS.high)
    law = environment.rewards(BOUNDS.low, BOUNDS.high)
    agent = mb.Agent(policy, BOUNDS, seed=10)
    key = np.uint64(reward_key(np.uint64(10), 0))
    for _ in range(400):
        arm = agent.pull()
        k = BOUNDS.position(arm)
        unit = draw(law, k, np.uint64(child(key, k)), int(agent.plays[k]))
        agent.update(arm, BOUNDS.low[k] + (BOUNDS.high[k] - BOUNDS.low[k]) * unit)
    plays = mb.simulate({"p": policy}, environment, BOUNDS, horizon=400, runs=1, seed=10).plays["p"]
    assert agent.plays.tolist() == plays[0].tolist()


def check_index(policy: mb.Policy) -> None:
    """The index is never above the cap, and its largest entries are what is pulled.

    An upper confidence bound is the cap for an arm without rewards; an index that weighs what there is to learn
    lies between the bounds.
    """
    agent = mb.Agent(policy, BOUNDS, seed=11)
    plan = policy.plan(BOUNDS)
    arms, cap = plan.arms, plan.cap
    logged = policy.log.rows(BOUNDS)[0][arms] if isinstance(policy, LoggedPolicy) else np.zeros(len(plan))
    for _ in range(60):
        indices = agent.indices()
        assert np.all(indices[arms] <= cap)
        assert np.all(np.isneginf(np.delete(indices, arms)))
        unplayed = (agent.plays[arms] == 0) & (logged == 0)
        if isinstance(policy, mb.OptimisticGittins):
            assert np.all(indices[arms] >= plan.lower)
        else:
            np.testing.assert_array_equal(indices[arms][unplayed], cap[unplayed])
        (arm, _) = rewards(agent, 1, 12)[0]
        assert indices[BOUNDS.position(arm)] == indices.max()
