"""Verdicts: against draws from the posterior, and where bounds, experts or single arms decide."""

import numpy as np
import pytest

import meanbounds as mb
from meanbounds.known import Known, Seen
from meanbounds.posterior import posterior


@pytest.mark.parametrize("seed", range(6))
def test_a_verdict_says_what_draws_from_the_posterior_say(seed: int) -> None:
    rng, arms = np.random.default_rng(seed), 2 + seed % 4
    lower = rng.uniform(0.0, 0.4, arms)
    bounds = mb.MeanBounds(lower, np.minimum(1.0, lower + rng.uniform(0.3, 0.9, arms)), low=-1.0, high=3.0)
    agent = mb.Agent(mb.OptimisticGittins(), mb.Knowledge(bounds, trust=0.9 if seed % 2 else 1.0), seed=1)
    for _ in range(30):
        agent.update(int(rng.integers(arms)), float(rng.choice([-1.0, 3.0])), pulled=False)
    found = agent.verdict()
    sums = [agent.plays() * 1.0, (agent.means() + 1.0) / 4.0 * agent.plays()]
    rows = [np.tile(np.nan_to_num(one), (100_000, 1)) for one in (sums[0], sums[1], sums[1], sums[1])]
    known = Known.of([agent.knowledge()])
    drawn = posterior(known, Seen(*rows)).draw(rng.random((100_000, arms)))
    drawn = drawn[:, known.possible[0]]
    names = np.flatnonzero(known.possible[0])
    assert names[drawn.mean(axis=0).argmax()] == found.arm
    assert abs((names[drawn.argmax(axis=1)] == found.arm).mean() - found.probability) < 0.008
    assert abs(drawn.max(axis=1).mean() - drawn.mean(axis=0).max() - found.worth) < 0.01


def test_nothing_is_left_to_try_where_one_option_is_left() -> None:
    agent = mb.Agent(mb.UCB(), mb.MeanBounds([0.8, 0.1], [0.9, 0.5], arms=["a", "b"]), seed=1)
    assert agent.verdict() == ("a", 1.0, 0.0)
    assert agent.verdict().done()


def test_experts_can_be_the_verdict() -> None:
    bounds = mb.MeanBounds([0.0, 0.8], [1.0, 0.9], arms=["new", mb.EXPERT])
    agent = mb.Agent(mb.policies.Guarded(mb.OptimisticGittins(), mb.Promise(margin=0.1)), {"north": bounds}, seed=1)
    first = agent.verdict("north")
    assert first.arm is mb.EXPERT
    assert not first.done()
    for _ in range(200):
        agent.update("new", 0.0, "north", pulled=False)
    assert agent.verdict("north").done()
