"""The chances that an agent reports are those of its pulls."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import meanbounds as mb
from meanbounds.agents.arms import ArmsLearner
from meanbounds.agents.features import FeaturesLearner
from meanbounds.agents.learner import Learner
from meanbounds.kernels.arms import textbook
from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.linear import Design, Pool, Rule, decide
from meanbounds.kernels.solvers.cone import Known
from meanbounds.kernels.tally import POLICY_KEY
from meanbounds.support.types import Floats, Integers
from tests import naive

BOUNDS = mb.MeanBounds(
    [0.3, 0.3, 0.2, 0.0, 0.1], [0.8, 0.8, 0.75, 0.25, 1.8], arms=["a", "b", "c", "d", "e"], high=[1, 1, 1, 1, 2]
)
FEATURES = [[1.0, 0.0], [1.0, 0.0], [0.6, 0.8], [0.0, 1.0], [0.8, -0.6]]
PULLS = 1_000_000
RARE = 1e-6 / len(BOUNDS)
WARM = mb.WarmStart(base=mb.ThompsonSampling(), log=mb.LoggedArms([3, 2], [2.0, 0.5], arms=["c", "b"]))
LINEAR = [mb.OFUL(), mb.ROFUL(), mb.ROFUL(index="clip", online=True), mb.ROFUL(index="plain", tighten="cone")]


def told(policy: mb.Policy | mb.LinearPolicy, floor: float = 0.0) -> mb.Agent:
    """An agent whose first two arms are alike in everything."""
    features = FEATURES if isinstance(policy, mb.LinearPolicy) else None
    agent = mb.Agent(policy, BOUNDS, seed=3, floor=floor, features=features)
    for arm, rewards in {"a": [1.0, 0.0, 1.0], "b": [1.0, 0.0, 1.0], "c": [1.0, 0.5], "e": [1.0, 0.0]}.items():
        for reward in rewards:
            agent.update(arm, reward)
    return agent


def check(chances: np.ndarray, pulled: np.ndarray) -> None:
    """Exact binomial test for each arm; one in a million such comparisons fails by chance."""
    assert chances.sum() == pytest.approx(1.0, abs=1e-9)
    for chance, count in zip(chances.tolist(), pulled.tolist(), strict=True):
        assert stats.binomtest(count, int(pulled.sum()), min(1.0, chance)).pvalue > RARE


@functools.cache
def count_pulls_of(given: int) -> Callable[[Floats, Floats, Floats, float, np.uint64, int, Integers], None]:
    """Pull again and again from the same state: a pull of OSSB would count towards its exploration."""
    choose = textbook._choose_for(given)  # compiled before: the loop alone is new

    @compiled
    def count_pulls(
        plan: Floats, parameters: Floats, table: Floats, log_f: float, key: np.uint64, pulls: int, counts: Integers
    ) -> None:
        for number in range(pulls):
            counts[choose(plan, parameters, table.copy(), log_f, number, key)] += 1

    return count_pulls


@compiled
def count_pulls_with_features(
    pool: Pool, rule: Rule, known: Known, design: Design, offered: Integers, key: np.uint64, counts: Integers
) -> None:
    """The same for arms with features."""
    mean, square = np.empty(offered.size), np.empty(offered.size)
    for number in range(PULLS):
        counts[decide(pool, rule, known, design, offered, mean, square, False, number, key)[0]] += 1


def key_of(learner: Learner) -> np.uint64:
    """The key of the policy's own randomness."""
    return np.uint64(learner.standing.tally[POLICY_KEY].view(np.uint64))


@pytest.mark.slow
@pytest.mark.parametrize("policy", naive.TWINS, ids=repr)
def test_a_million_pulls(policy: mb.Policy) -> None:
    agent = told(policy)
    before = agent.to_dict()
    chances = agent.probabilities()
    assert agent.to_dict() == before
    inside = agent.inside
    assert isinstance(inside, ArmsLearner)
    plan, log_f = policy.plan(BOUNDS), float(policy.log_f(11, 11)[0])
    pulled = np.zeros(len(BOUNDS), dtype=np.int64)
    pulls = naive.rounds_of(policy, PULLS)
    count_pulls = count_pulls_of(policy.kernel)
    count_pulls(plan.table, policy.parameters, inside.table, log_f, key_of(inside), pulls, pulled)
    check(chances, pulled)
    assert pulled[3] == 0 or 3 in plan.arms


@pytest.mark.slow
@pytest.mark.parametrize("policy", [mb.OFUL(), mb.ROFUL()], ids=repr)
def test_a_million_pulls_with_features(policy: mb.LinearPolicy) -> None:
    agent = told(policy)
    chances = agent.probabilities()
    inside = agent.inside
    assert isinstance(inside, FeaturesLearner)
    pulled = np.zeros(len(BOUNDS), dtype=np.int64)
    plan, offered = inside.standing.plan, np.arange(len(BOUNDS))
    design, key = inside.standing.design, key_of(inside)
    count_pulls_with_features(plan.pool, plan.rule, plan.known, design, offered, key, pulled)
    check(chances, pulled)


@pytest.mark.parametrize("floor", [0.0, 0.05])
@pytest.mark.parametrize(
    "policy",
    [mb.GLUE(), mb.ThompsonSampling(), mb.BIMED(), mb.OptimisticGittins(), mb.IDS(), mb.MINTS(), WARM, *LINEAR],
    ids=repr,
)
def test_pulls_of_an_agent(policy: mb.Policy | mb.LinearPolicy, floor: float) -> None:
    """All arms, some arms, one arm; with pulls that wait and without."""
    agent = told(policy, floor)
    agent.retire("e")
    for eligible in (None, ["a", "b", "c"], ["b"]):
        for waiting in (0, 2):
            burst = [agent.pull(eligible) for _ in range(waiting)]
            before = agent.to_dict()
            chances = agent.probabilities(eligible)
            assert agent.to_dict() == before
            pulled = np.zeros(len(BOUNDS), dtype=np.int64)
            for _ in range(2_000):
                arm = agent.pull(eligible)
                agent.cancel(arm)
                pulled[BOUNDS.position(arm)] += 1
            check(chances, pulled)
            for arm in burst:
                agent.cancel(arm)


def test_candidates_come_in_the_order_of_the_offer() -> None:
    agent = told(mb.ROFUL(index="clip"))
    new = mb.Candidate([0.9, 0.1], name="new")
    chances = agent.probabilities([new, "c", "a"])
    assert chances.shape == (3,)
    assert chances.sum() == 1.0
    offered: list[Any] = [new, "c", "a"]
    assert chances[offered.index(agent.pull(offered))] > 0.0
    with pytest.raises(ValueError, match="eligible is empty"):
        agent.probabilities([])


GITTINS = mb.OptimisticGittins()
SOME_PRIOR = mb.Knowledge(BOUNDS, prior=mb.Prior(0.5, 8.0))


@pytest.mark.parametrize(
    ("policy", "known", "floor", "offered"),
    [
        (GITTINS, mb.Knowledge(BOUNDS), 0.0, None),
        (GITTINS, mb.Knowledge(BOUNDS), 0.0, ["c", "b", "a"]),
        (GITTINS, mb.Knowledge(BOUNDS), 0.05, None),
        (GITTINS, SOME_PRIOR, 0.0, None),
        (GITTINS, mb.Knowledge(BOUNDS, trust=0.9), 0.0, None),
        (mb.OptimisticGittins(moments=2), mb.Knowledge(BOUNDS), 0.0, None),
        (mb.GLUE(), mb.Knowledge(BOUNDS), 0.0, None),
    ],
)
def test_a_decision_is_a_pull_with_its_probability_bit_by_bit(
    policy: mb.Policy, known: mb.Knowledge, floor: float, offered: list[str] | None
) -> None:
    """Ties at the start, rewards that come late, and pulls that count as answered or not."""
    agent, twin = (mb.Agent(policy, known, seed=5, floor=floor) for _ in range(2))
    probabilities, waiting = set[float](), list[tuple[str, float]]()
    for number in range(60):
        pending: Any = (None, "count", "ignore")[number % 3]
        arm, probability = agent.decide(offered, pending=pending)
        chances = twin.probabilities(offered, pending=pending)
        assert twin.pull(offered, pending=pending) == arm
        assert probability == chances[twin.bounds.position(arm)]
        probabilities.add(probability)
        waiting.append((str(arm), (number % 4 == 0) * 0.5 + (number % 3 == 0) * 0.5))
        if number % 5 == 4:
            for told_arm, reward in waiting[::-1]:
                agent.update(told_arm, reward)
                twin.update(told_arm, reward)
            waiting.clear()
    assert agent.to_dict() == twin.to_dict()
    assert len(probabilities) > 1
