"""What the examples follow is what agents do: the same decisions, and the gains that the means give."""

import numpy as np
import pytest
from examples.follow import CHUNK, Draw, Followed, averages, follow, follow_all, rule
from scipy import stats

import meanbounds as mb
from meanbounds.simulation import HiddenContexts

MEANS = [[[0.9, 0.8, 0.4], [0.3, 0.6, 0.2]], [[0.7, 0.5, 0.6], [0.5, 0.6, 0.1]]]
CHOICES = [[[0.7, 0.1, 0.2], [0.2, 0.8, 0.0]], [[0.5, 0.2, 0.3], [0.1, 0.6, 0.3]]]
CASES = HiddenContexts(
    MEANS, [[0.3, 0.2], [0.3, 0.2]], choices=CHOICES, contexts=["north", "south"], arms=["b", "a", "c"]
)
PROMISE = mb.Promise(margin=0.05)
MOMENTS = np.array([100, 400, 1_000])


def an_agent(promise: mb.Promise | None = PROMISE) -> mb.Agent:
    return mb.logs.agent(mb.logs.read(CASES.log(2_000, seed=3), context="context"), promise=promise, seed=1)


@pytest.fixture(scope="module")
def followed() -> Followed:
    return follow([CASES, CASES], [an_agent()] * 2, MOMENTS, 5, PROMISE)


def test_agents_are_followed_as_they_decide(followed: Followed) -> None:
    agents, names = [an_agent(), an_agent()], an_agent().arms
    rng, draw = np.random.default_rng(5), Draw.of([CASES, CASES])
    gains = np.zeros((2, 2))
    for t in range(500):
        if t % CHUNK == 0:
            rewards, _ = draw(CHUNK, rng)
        for run, agent in enumerate(agents):
            for z, context in enumerate(CASES.contexts):
                arm, own = agent.pull(context), rewards[t % CHUNK, 2 * run + z]
                if arm is mb.EXPERT:
                    agent.observe("a", own[3], context)
                else:
                    agent.update(arm, own[CASES.arms.index(arm)], context)
                    gains[run, z] += CASES.marginal_means[z, CASES.arms.index(arm)] - CASES.value[z]
    plays = np.array([[agent.plays(context) for context in CASES.contexts] for agent in agents])
    assert (plays / 500 == followed.played).all()
    assert plays[..., names.index(mb.EXPERT)].min() < 500  # not only questions
    assert np.allclose(gains, followed.gains[:, :, -1])


def test_gains_are_kept_at_each_moment_and_the_promise_holds(followed: Followed) -> None:
    assert followed.gains.shape == (2, 2, 3)
    assert (followed.after(400) == followed.gains[:, :, 1]).all()
    assert np.allclose(followed.total, followed.gains.sum(axis=1))
    assert followed.broken == 0
    zero, one = np.zeros(1), np.ones(1)
    assert (followed.gains >= -PROMISE.budgets(zero, 0.5 * MOMENTS, zero, one)[0] - 1e-9).all()


def test_a_promise_that_nobody_keeps_is_reported_as_broken() -> None:
    alone = mb.Agent(mb.UCB(), {context: mb.MeanBounds.vacuous(["a", "b", "c"]) for context in CASES.contexts}, seed=1)
    found = follow([CASES], [alone], np.array([200]), 1, mb.Promise(total=0.01))
    assert found.broken == 1
    assert (found.lowest <= 0.01 + found.gains[:, :, -1] + 1e-9).all()


def test_who_only_asks_gains_nothing() -> None:
    agent = an_agent()
    for context in CASES.contexts:
        agent.forbid(["a", "b", "c"], context)
    found = follow([CASES], [agent], MOMENTS, 1)
    assert (found.gains == 0.0).all()
    assert (found.played[..., agent.arms.index(mb.EXPERT)] == 1.0).all()


def test_a_rule_gains_the_difference_of_the_means() -> None:
    found = rule(CASES, np.array([0, 2]), MOMENTS)
    assert np.allclose(found.after(1_000), [[500 * (0.66 - CASES.value[0]), 500 * (0.4 - CASES.value[1])]])


def test_cases_are_drawn_with_their_means() -> None:
    rewards, rounding = Draw.of([CASES])(20_000, np.random.default_rng(2))
    truth = np.hstack([CASES.marginal_means, CASES.value[:, None]])
    for place in np.ndindex(truth.shape):
        test = stats.binomtest(int(rewards[(slice(None), *place)].sum()), 20_000, float(truth[place]))
        assert test.pvalue > 1e-7  # 8 tests: fails by chance with probability below 1e-6
    assert rounding.shape == (20_000, 2)


def test_averages_are_in_the_order_of_the_cases() -> None:
    log = {"context": ["south", "north", "south"], "arm": ["a", "b", "c"], "reward": [1, 0, 1]}
    counts = mb.logs.read(log, context="context")
    assert np.array_equal(averages(CASES, counts), [[0.0, np.nan, np.nan], [np.nan, 1.0, 1.0]], equal_nan=True)


def test_processes_change_nothing(followed: Followed) -> None:
    found = follow_all({"agent": ([CASES, CASES], [an_agent()] * 2, MOMENTS, 5, PROMISE)}, workers=2)
    assert (found["agent"].gains == followed.gains).all()
