"""Policies that start from a log, where they coincide with others, and logs that are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import meanbounds as mb

ANY: Any = mb  # for calls that the types would refuse already
LOG = mb.LoggedArms([100, 100], [80.0, 20.0])
TWO = mb.MeanBounds.vacuous(2)
FIVE = mb.INSTANCES["clipping-only"]
NAMED = mb.LoggedArms([50, 20, 5, 0, 30], [30.0, 10.0, 2.0, 0.0, 9.0], arms=FIVE.bounds.arms)


def plays(*policies: mb.Policy) -> list[np.ndarray]:
    """The plays of each in the same runs."""
    labels = {str(number): policy for number, policy in enumerate(policies)}
    regret = mb.simulate(labels, mb.Bernoulli(FIVE.means), FIVE.bounds, horizon=500, runs=10, seed=1)
    return [regret.plays[label] for label in labels]


def test_an_infinite_bias_gives_ucb() -> None:
    first, second = plays(mb.MINUCB(log=NAMED, bias=np.inf), mb.UCB())
    np.testing.assert_array_equal(first, second)


def test_without_a_bias_min_ucb_is_the_lesser_of_ucb_and_warm_started_ucb() -> None:
    agents = [
        mb.Agent(p, FIVE.bounds, seed=1) for p in (mb.MINUCB(log=NAMED, bias=0.0), mb.UCB(), mb.WarmStart(log=NAMED))
    ]
    rng = np.random.default_rng(2)
    for _ in range(50):
        arm, reward = FIVE.bounds.arms[int(rng.integers(5))], float(rng.random() < 0.5)
        for agent in agents:
            agent.update(arm, reward)
        both, online, pooled = (agent.indices() for agent in agents)
        np.testing.assert_allclose(both, np.minimum(online, pooled), rtol=1e-12)


def test_the_default_bias_is_as_far_as_the_bounds_allow() -> None:
    """The logged mean of arm 0 is 0.8: bounds of 0.3 and 0.9 allow 0.5. That of arm 1 is 0.2: 0.1 and 0.6 allow 0.4."""
    agent = mb.Agent(mb.MINUCB(log=LOG), mb.MeanBounds([0.3, 0.1], [0.9, 0.6]), seed=1)
    assert agent.indices() == pytest.approx([1.3, 0.6])


def test_warm_started_ucb_has_the_indices_of_an_agent_that_was_told_the_log() -> None:
    """Up to log f, which counts the history of an agent as rounds: so the constant f = 2."""
    policy = mb.UCB(f=lambda t: 2.0 + 0.0 * t)
    told, warm = (mb.Agent(p, TWO, seed=1) for p in (policy, mb.WarmStart(base=policy, log=LOG)))
    for arm, wins in ((0, 80), (1, 20)):
        for number in range(100):
            told.update(arm, float(number < wins), history=True)
    np.testing.assert_allclose(told.indices(), warm.indices(), rtol=1e-12)
    assert told.plays.tolist() == [100, 100]
    assert warm.plays.tolist() == [0, 0]


def test_warm_started_thompson_sampling_has_the_posterior_of_the_log() -> None:
    policy = mb.ThompsonSampling()
    log = mb.LoggedArms([4, 6], [3.0, 2.0])
    told, warm = (mb.Agent(p, TWO, seed=1) for p in (policy, mb.WarmStart(base=policy, log=log)))
    for arm, reward in ((0, 1.0), (0, 1.0), (0, 1.0), (0, 0.0), (1, 1.0), (1, 1.0), *[(1, 0.0)] * 4):
        told.update(arm, reward, history=True)
    np.testing.assert_allclose(told.probabilities(), warm.probabilities(), atol=1e-9)


def test_a_misleading_log_misleads_warm_starts_and_not_min_ucb_with_its_bias() -> None:
    """The expert played arm 1 where it was good: its logged mean is 0.95, its mean 0.5."""
    log = mb.LoggedArms([1000, 1000], [800.0, 950.0])
    policies = {
        "warm": mb.WarmStart(base=mb.ThompsonSampling(), log=log),
        "frequent": mb.MostFrequentArm(log=mb.LoggedArms([10, 90], [8.0, 85.0])),
        "biased": mb.MINUCB(log=log, bias=0.5),
        "UCB": mb.UCB(),
    }
    regret = mb.simulate(policies, mb.Bernoulli([0.8, 0.5]), TWO, horizon=1000, runs=20, seed=3)
    final = {label: regret.final[label].mean() for label in policies}
    assert final["frequent"] == pytest.approx(300.0)
    assert final["warm"] > 100.0
    assert final["biased"] <= 1.05 * final["UCB"] < 60.0


def test_arms_that_are_not_in_the_log_have_no_logged_rewards() -> None:
    agent = mb.Agent(mb.WarmStart(log=LOG), TWO, seed=1)
    agent.add("new")
    assert agent.indices()[2] == np.inf
    assert agent.pull(["new"]) == "new"
    assert mb.Agent.from_dict(json.loads(json.dumps(agent.to_dict()))).to_dict() == agent.to_dict()


def test_mints_where_bounds_and_rewards_contradict_each_other() -> None:
    """Arm 0 has the lower bound 1 and failed: the means that are left are impossible, and it is still the best."""
    agent = mb.Agent(mb.MINTS(), mb.MeanBounds([1.0, 0.0, 0.0], [1.0, 1.0, 0.9]), seed=1)
    with pytest.warns(
        mb.evidence.ContradictionWarning, match="arm 0: 1 reward with mean 0 contradicts its lower bound 1"
    ):
        agent.update(0, 0.0)
    agent.update(1, 0.0)
    assert agent.probabilities().tolist() == [1.0, 0.0, 0.0]


def test_logs_from_rewards() -> None:
    log = mb.LoggedArms.of({"a": np.array([0.5, 1.0]), "b": []})
    assert (log.counts, log.totals, log.arms) == ((2, 0), (1.5, 0.0), ("a", "b"))
    np.testing.assert_array_equal(log.means, [0.75, np.nan])
    assert mb.LoggedArms([3, 5, 5], [1, 2, 3]).most_frequent == (1, 2)
    assert mb.LoggedArms().most_frequent == ()
    assert repr(mb.LoggedArms(np.array([3]), np.array([1.0]))) == "LoggedArms(counts=(3,), totals=(1.0,), arms=(0,))"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: mb.LoggedArms([1, 2], [1.0]), "got 2 counts and 1 totals for 2 arms"),
        (lambda: mb.LoggedArms([1], [1.0], arms=["a", "b"]), "got 1 counts and 1 totals for 2 arms"),
        (lambda: ANY.LoggedArms([1.5], [1.0]), "arm 0: its count must be a whole number, at least 0; got 1.5"),
        (lambda: mb.LoggedArms([-1], [1.0], arms=["a"]), "arm 'a': its count must be a whole number"),
        (lambda: mb.LoggedArms([1, 1], [1.0, 1.0], arms=["a", "a"]), "arm 'a' is in the log by arm twice; add its"),
        (lambda: ANY.LoggedArms([1], [1.0], arms=[0.5]), "are texts or whole numbers; got 0.5"),
        (lambda: mb.LoggedArms([1], [np.nan]), "arm 0: nan is not the total of 1 rewards"),
        (lambda: mb.LoggedArms([0], [1.0]), "arm 0: 1.0 is not the total of 0 rewards"),
        (lambda: ANY.LoggedArms([1], ["a"]), "arm 0: its total must be numbers"),
        (lambda: ANY.LoggedArms(1, 1.0), "counts must be a list; got 1"),
        (lambda: ANY.LoggedArms.of([1.0]), "rewards by arm must be a mapping"),
        (lambda: ANY.LoggedArms.of({"a": 1.0}), "arm 'a': its rewards must be a list; got 1.0"),
        (lambda: ANY.LoggedArms.read({"count": [1]}), "a log by arm has counts, totals and arms; got 'count'"),
        (lambda: ANY.MINUCB(log=[1]), r"log must be a mb.LoggedArms\(\[20, 5\], \[16.0, 1.0\]\), or its entries"),
        (lambda: mb.MINUCB(log=LOG, bias=-1.0), "bias is a distance between means, at least 0; got -1.0"),
        (lambda: mb.MINUCB(log=LOG, bias=np.nan), "bias is a distance between means, at least 0; got nan"),
        (lambda: mb.MINUCB(log=LOG, bias=(0.1,)), "one number, or one for each of 2 arms of the log"),
        (lambda: ANY.MINUCB(log=LOG, bias="wide"), "MINUCB: bias must be numbers"),
        (lambda: ANY.WarmStart(base=mb.OFUL()), "a policy without features and without a log, such as mb.UCB()"),
        (lambda: mb.WarmStart(base=mb.MINUCB(log=LOG)), "a policy without features and without a log"),
        (lambda: mb.WarmStart(base=mb.WarmStart(log=LOG)), "a policy without features and without a log"),
        (lambda: mb.WarmStart(f="t"), "give f to the base"),
        (lambda: ANY.WarmStart(base={"policy": "GULE"}), "unknown policy 'GULE'"),
        (
            lambda: mb.Agent(mb.WarmStart(log=LOG), mb.MeanBounds.vacuous(["a", "b"])),
            r"the log by arm names its arms \[0, 1\], the bounds \['a', 'b'\]; give the log the same names, arms=",
        ),
        (
            lambda: mb.MINUCB(log=mb.LoggedArms([5], [7.0])).plan(TWO),
            r"arm 0: the log's total 7 of 5 rewards is not within 5 times its range \[0, 1\]",
        ),
    ],
)
def test_wrong_logs_are_refused_in_words(call: Callable[[], Any], words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words.replace("()", r"\(\)")):
        call()
