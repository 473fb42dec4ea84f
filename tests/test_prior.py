"""Priors as a user meets them: knowledge, agents, contexts, simulations, study files, and what older versions saved."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import meanbounds as mb
from meanbounds.kernels.random.rewards import draw
from meanbounds.kernels.random.stream import child, reward_key
from meanbounds.simulation.study import StudyError, read_study
from tests.naive import TWINS

UNTYPED: Any = mb
BOUNDS = mb.MeanBounds([0.3, 0.2, 0.4], [0.95, 0.6, 0.9], arms=["tPA", "medical", "watch"])
STARS = mb.MeanBounds([1.0, 1.0], [5.0, 5.0], low=1.0, high=5.0)
PRIOR = mb.Prior([0.8, 0.4, 0.5], [10.0, 2.0, 1.2])
USERS = [mb.ThompsonSampling(), mb.ThompsonSampling(moments=2), mb.OptimisticGittins(), mb.IDS(), mb.BIMED()]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (
            lambda: mb.Prior(0.5, 0.0),
            "a number of plays above 0; got 0.0. To say nothing about an arm",
        ),
        (lambda: mb.Prior(0.5, [1.0, -1.0]), "a number of plays above 0"),
        (lambda: mb.Prior(float("nan"), 2.0), "the mean of a prior is one number, or one for each arm; got nan"),
        (lambda: mb.Prior([], 2.0), "the mean of a prior is one number, or one for each arm"),
        (lambda: UNTYPED.Prior("high", 2.0), "prior: mean must be numbers"),
        (lambda: mb.Prior.from_dict({"mean": 0.5}), "a prior has mean and strength"),
        (
            lambda: mb.Knowledge(BOUNDS, prior=mb.Prior([0.5, 0.5], 2.0)),
            "the mean of the prior has 2 entries",
        ),
        (
            lambda: mb.Knowledge(BOUNDS, prior=mb.Prior(1.0, 2.0)),
            "prior mean of arm 'tPA' is 1, not inside its",
        ),
        (lambda: mb.Knowledge(STARS, prior=mb.Prior(0.5, 2.0)), "in the units of the rewards"),
        (lambda: mb.Knowledge(BOUNDS, prior=mb.Prior(0.5, 1e13)), "A stronger prior would outweigh all rewards"),
        (lambda: mb.Knowledge(BOUNDS, prior=mb.Prior(0.5, 1e-7)), "from 1e-06 to 1e[+]12"),
        (
            lambda: mb.Knowledge(BOUNDS, prior=PRIOR).with_bounds(mb.MeanBounds([0.1], [0.2], arms=["new"])),
            "the prior of arm 'new' is not known",
        ),
        (
            lambda: mb.Agent(mb.ROFUL(), mb.Knowledge(BOUNDS, prior=PRIOR), features=np.eye(3)),
            "ROFUL cannot use a prior.* ThompsonSampling, OptimisticGittins, IDS, BIMED and LinearThompson can",
        ),
        (
            lambda: mb.Policy.from_dict({"policy": "ThompsonSampling", "prior": [2.0, 1.0]}),
            "a prior is no longer a parameter of a policy.*got prior = \\[2.0, 1.0\\]",
        ),
    ],
)
def test_what_cannot_be_is_refused(make: Callable[[], object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        make()


@pytest.mark.parametrize("kind", [mb.ThompsonSampling, mb.OptimisticGittins, mb.IDS])
def test_who_still_gives_a_policy_its_prior_is_told_what_to_do(kind: Any) -> None:
    with pytest.raises(TypeError, match=r"Give mb\.Knowledge\(bounds, prior=mb\.Prior\(mean, strength\)\) in place"):
        kind(prior=(2.0, 1.0))
    with pytest.raises(TypeError, match="prior must be one such as"):
        UNTYPED.Knowledge(BOUNDS, prior=(2.0, 1.0))


@pytest.mark.parametrize("policy", [policy for policy in TWINS if not policy.takes_prior], ids=repr)
def test_policies_that_cannot_use_a_prior_refuse_it(policy: mb.Policy) -> None:
    for trust in (1.0, 0.9):
        known = mb.Knowledge(BOUNDS, prior=PRIOR, trust=trust)
        with pytest.raises(ValueError, match="cannot use a prior: its guarantee rests on bounds alone"):
            mb.Agent(policy, known)
        with pytest.raises(ValueError, match="cannot use a prior"):
            mb.simulate(policy, mb.Bernoulli([0.6, 0.5, 0.5]), known, horizon=10, runs=1)


def test_a_prior_is_kept() -> None:
    known = mb.Knowledge(BOUNDS, prior=PRIOR, trust=0.9)
    assert known.subset([2, 0]).prior == mb.Prior([0.5, 0.8], [1.2, 10.0])
    grown = known.with_arm("new", None, 2.0, 0.0, 4.0)
    assert grown.prior == mb.Prior([0.8, 0.4, 0.5, 2.0], [10.0, 2.0, 1.2, 2.0])
    assert mb.Knowledge(BOUNDS, prior=mb.Prior(0.5, 3.0)).subset([1]).prior == mb.Prior(0.5, 3.0)
    assert "prior" not in mb.Knowledge(BOUNDS).to_dict()
    assert known.prior != mb.Prior(0.5, 2.0)
    for again in (
        mb.Knowledge.from_dict(json.loads(json.dumps(known.to_dict()))),
        pickle.loads(pickle.dumps(known)),
        copy.deepcopy(known),
    ):
        assert again == known
        assert hash(again) == hash(known)
    assert repr(mb.Knowledge(BOUNDS, prior=mb.Prior(0.5, 2.0))).endswith(", prior=Prior(mean=0.5, strength=2.0))")


@pytest.mark.parametrize("policy", USERS, ids=repr)
def test_saved_agents_go_on_alike(policy: mb.Policy) -> None:
    """With arms that come, go and have new bounds, and offers of some arms."""
    agent = mb.Agent(policy, mb.Knowledge(BOUNDS, prior=PRIOR, trust=[1.0, 0.99, 1.0]), seed=7)
    agent.add("surgery", lower=0.1, upper=0.7)
    rng = np.random.default_rng(1)
    rounds = 6 if isinstance(policy, mb.IDS) else 20
    for _ in range(rounds):
        agent.update(agent.pull(), float(rng.random() < 0.5))
    agent.retire("watch")
    again = mb.Agent.from_dict(json.loads(json.dumps(agent.to_dict())))
    assert again.knowledge == agent.knowledge
    for _ in range(rounds):
        offer = ["tPA", "surgery"] if rng.random() < 0.3 else None
        arm, reward = agent.pull(offer), float(rng.random() < 0.5)
        assert again.pull(offer) == arm
        agent.update(arm, reward)
        again.update(arm, reward)
    np.testing.assert_array_equal(again.probabilities(), agent.probabilities())


@pytest.mark.parametrize("policy", [mb.ThompsonSampling(), mb.OptimisticGittins(), mb.BIMED()], ids=repr)
def test_agent_and_simulator_agree(policy: mb.Policy) -> None:
    """An agent that is told the simulator's rewards plays as the simulator does."""
    known, environment = mb.Knowledge(BOUNDS, prior=PRIOR), mb.Bernoulli([0.6, 0.5, 0.55])
    law, key = environment.rewards(BOUNDS.low, BOUNDS.high), np.uint64(reward_key(np.uint64(10), 0))
    agent = mb.Agent(policy, known, seed=10)
    for _ in range(60):
        arm = agent.pull()
        k = BOUNDS.position(arm)
        agent.update(arm, draw(law, k, np.uint64(child(key, k)), int(agent.plays[k])))
    plays = mb.simulate({"p": policy}, environment, known, horizon=60, runs=1, seed=10).plays["p"]
    assert agent.plays.tolist() == plays[0].tolist()


@settings(max_examples=40)
@given(n=st.integers(0, 40), share=st.floats(0.0, 1.0), more=st.lists(st.booleans(), max_size=6))
def test_a_prior_is_what_plays_would_have_left(n: int, share: float, more: list[bool]) -> None:
    """After S successes in n plays a uniform prior is Beta(1 + S, 1 + n - S), and so is this one, play by play."""
    successes = round(share * n)
    prior = mb.Prior([(1 + successes) / (2 + n), 0.5], [2 + n, 2])
    policy, ranges = mb.ThompsonSampling(settle=False), mb.MeanBounds.vacuous(2)
    informed = mb.Agent(policy, mb.Knowledge(ranges, prior=prior), seed=1)
    taught = mb.Agent(policy, ranges, seed=1)
    for k in range(n):
        taught.update(0, float(k < successes))
    for reward in more:
        for agent in (informed, taught):
            agent.update(0, float(reward))
            agent.update(1, float(not reward))
    np.testing.assert_allclose(informed.probabilities(), taught.probabilities(), atol=1e-9)


@pytest.mark.parametrize("policy", [*USERS, mb.ThompsonSampling(draws="rejection")], ids=repr)
@pytest.mark.parametrize("trust", [1.0, 0.9])
def test_half_of_the_range_with_strength_2_is_no_prior(policy: mb.Policy, trust: float) -> None:
    """The uniform prior, for rewards of 0 and 1 and means that leaders are not told by: chances are the same."""
    if isinstance(policy, mb.BIMED):
        return  # two plays are two plays to it
    if isinstance(policy, mb.ThompsonSampling):
        policy = mb.ThompsonSampling(moments=1, settle=False, draws=policy.draws)
    bounds = mb.MeanBounds([0.0, 0.2, 0.4], [1.0, 0.6, 0.9])
    one = mb.Agent(policy, mb.Knowledge(bounds, trust=trust), seed=2)
    other = mb.Agent(policy, mb.Knowledge(bounds, prior=mb.Prior(0.5, 2.0), trust=trust), seed=2)
    for arm, reward in ((0, 1.0), (0, 0.0), (2, 1.0)):
        one.update(arm, reward)
        other.update(arm, reward)
    np.testing.assert_allclose(one.probabilities(), other.probabilities(), atol=1e-9)


@pytest.mark.parametrize("policy", [mb.ThompsonSampling(), mb.OptimisticGittins(), mb.BIMED()], ids=repr)
@pytest.mark.parametrize("trust", [1.0, 0.9])
def test_order_of_arms(policy: mb.Policy, trust: float) -> None:
    known, order = mb.Knowledge(BOUNDS, prior=mb.Prior([0.8, 0.4, 0.5], [10.0, 5.0, 2.0]), trust=trust), [2, 0, 1]
    one, other = mb.Agent(policy, known, seed=1), mb.Agent(policy, known.subset(order), seed=1)
    for agent in (one, other):
        agent.update("tPA", 0.0)
        agent.update("watch", 1.0)
    np.testing.assert_allclose(one.probabilities()[order], other.probabilities(), atol=1e-9)


def test_contexts_have_priors_of_their_own() -> None:
    contexts = {
        "young": mb.Knowledge(BOUNDS, prior=PRIOR),
        "old": mb.Knowledge(BOUNDS, prior=mb.Prior(0.5, 4.0)),
        "other": mb.Knowledge(BOUNDS),
    }
    agent = mb.ContextualAgent(mb.ThompsonSampling(), contexts, seed=3)
    agent.update("young", "tPA", 1.0)
    again = mb.ContextualAgent.from_dict(json.loads(json.dumps(agent.to_dict())))
    for name, known in contexts.items():
        assert agent[name].knowledge == again[name].knowledge == known
        assert agent.pull(name) == again.pull(name)


def test_results_say_which_prior_they_had() -> None:
    known = mb.Knowledge(BOUNDS, prior=PRIOR)
    regret = mb.simulate(mb.BIMED(), mb.Bernoulli([0.6, 0.5, 0.5]), known, horizon=10, runs=2, seed=1)
    assert regret.settings["prior"] == PRIOR.to_dict()


STUDY = """\
policies = ["ThompsonSampling", "BIMED"]
horizon = 20
[environment]
kind = "bernoulli"
means = [0.6, 0.5]
[prior]
mean = [0.7, 0.4]
strength = 5
"""


def study(tmp_path: Path, text: str) -> Any:
    path = tmp_path / "study.toml"
    path.write_text(text)
    return read_study(path)


def test_study_files_have_priors(tmp_path: Path) -> None:
    known = mb.Knowledge(mb.MeanBounds.vacuous(2), prior=mb.Prior([0.7, 0.4], 5))
    assert study(tmp_path, STUDY).known == known
    bounds = STUDY + "[bounds]\nlower = [0.1, 0.1]\nupper = [0.9, 0.9]\ntrust = 0.9\n"
    found = study(tmp_path, bounds).known
    assert (found.prior, found.trust, found.bounds.lower.tolist()) == (known.prior, 0.9, [0.1, 0.1])


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("strength = 5", "strength = -5", "line 8: prior: the strength of a prior is a number of plays above 0"),
        ("strength = 5", "strenght = 5", "line 8: prior: unknown key 'strenght'; expected mean, strength"),
        ("strength = 5\n", "", "line 6: prior: strength is missing"),
        (
            "mean = [0.7, 0.4]",
            "mean = [0.7, 1.4]",
            "line 7: prior: the prior mean of arm 1 is 1.4, not inside",
        ),
        ("mean = [0.7, 0.4]", "mean = ['a']", "line 7: prior: mean must be a number or a list of numbers"),
        ('"BIMED"', '"GLUE"', "line 6: prior: GLUE cannot use a prior"),
    ],
)
def test_wrong_priors_in_study_files(tmp_path: Path, old: str, new: str, says: str) -> None:
    with pytest.raises(StudyError, match=says):
        study(tmp_path, STUDY.replace(old, new))


def test_agents_saved_with_a_prior_of_their_policy_go_on() -> None:
    """What older versions saved as a parameter of the policy becomes a part of the knowledge."""
    policy = mb.ThompsonSampling(settle=False, draws="rejection")
    agent = mb.Agent(policy, mb.Knowledge(STARS, prior=mb.Prior(1.0 + 4.0 * 0.75, 8.0)), seed=9)
    agent.update(0, 4.0)
    saved = json.loads(json.dumps(agent.to_dict()))
    for prior in ([6.0, 2.0], [1.0, 1.0]):
        old = copy.deepcopy(saved)
        del old["knowledge"]["prior"]
        old["policy"]["prior"] = prior
        again = mb.Agent.from_dict(old)
        assert again.knowledge.prior == (agent.knowledge.prior if prior == [6.0, 2.0] else None)
    old["policy"] |= {"prior": [6.0, 2.0], "moments": 2}
    with pytest.raises(ValueError, match="two moments and a prior of its own cannot go on"):
        mb.Agent.from_dict(old)
