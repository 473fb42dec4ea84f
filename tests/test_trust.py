"""Trust in bounds, as a user meets it: knowledge, agents, contexts, simulations, study files."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import meanbounds as mb
from meanbounds.kernels.random.rewards import draw
from meanbounds.kernels.random.stream import child, reward_key
from meanbounds.simulation.study import StudyError, read_study
from tests.naive_doubt import DOUBTING

pytestmark = pytest.mark.filterwarnings("ignore:.*contradict")  # bounds are wrong here on purpose

UNTYPED: Any = mb
BOUNDS = mb.MeanBounds([0.7, 0.2, 0.4], [0.95, 0.6, 0.9], arms=["tPA", "medical", "watch"])
MEANS = (0.9, 0.8, 0.7, 0.6, 0.5)
BEST_PRUNED = mb.MeanBounds([0.5, 0.78, 0.5, 0.4, 0.3], [0.75, 0.95, 0.9, 0.77, 0.7])
ALL = [*DOUBTING, mb.IDS()]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: UNTYPED.Knowledge(BOUNDS, trust=1.1), r"from 0 \(they say nothing\) to 1 \(certain\); got 1\.1"),
        (lambda: UNTYPED.Knowledge(BOUNDS, trust=float("nan")), "probability that bounds hold"),
        (lambda: UNTYPED.Knowledge(BOUNDS, trust="much"), "trust must be numbers; got 'much'"),
        (lambda: UNTYPED.Knowledge(BOUNDS, trust=[0.9, 0.8]), "one number or one for each of 3 arms"),
        (lambda: UNTYPED.Knowledge(BOUNDS, trust=0.9, doubt_after=10), "not both: doubt_after=100 is the same as"),
        (lambda: UNTYPED.Knowledge(BOUNDS, doubt_after=0.99), "A chance that bounds hold is called trust"),
        (
            lambda: mb.Knowledge(BOUNDS, trust=[0.9, 0.8, 1.0]).with_bounds(mb.MeanBounds([0.1], [0.2], arms=["new"])),
            "the trust in the bounds of arm 'new' is not known",
        ),
        (
            lambda: mb.Knowledge.from_dict({"bounds": BOUNDS.to_dict(), "hope": 1}),
            "bounds, and perhaps prior, trust, assumption, expires and half_life",
        ),
        (
            lambda: mb.Agent(mb.ROFUL(), mb.Knowledge(BOUNDS, trust=0.9, assumption="a log"), features=np.eye(3)),
            "all bounds with a trust below 1 stand or fall together anyhow. Leave assumption out",
        ),
    ],
)
def test_what_cannot_be_is_refused(make: Callable[[], object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        make()


def test_trust_is_kept() -> None:
    known = mb.Knowledge(BOUNDS, trust=[0.9, 1.0, 0.5])
    assert known.subset([2, 0]).trusts.tolist() == [0.5, 0.9]
    assert known.with_arm("new", 0.1, 0.2, 0.0, 1.0).trusts.tolist() == [0.9, 1.0, 0.5, 0.5]
    assert mb.Knowledge(BOUNDS, trust=0.9).with_arm("new", 0.1, 0.2, 0.0, 1.0).trust == 0.9
    assert mb.Knowledge(BOUNDS, doubt_after=100) == mb.Knowledge(BOUNDS, trust=0.99)
    assert mb.Knowledge(BOUNDS, trust=[0.9] * 3).trust == 0.9
    assert "trust" not in mb.Knowledge(BOUNDS, trust=1.0).to_dict()
    for again in (
        mb.Knowledge.from_dict(json.loads(json.dumps(known.to_dict()))),
        pickle.loads(pickle.dumps(known)),
        copy.deepcopy(known),
    ):
        assert again == known
        assert hash(again) == hash(known)
    assert known != mb.Knowledge(BOUNDS)


@pytest.mark.parametrize("policy", ALL, ids=repr)
def test_saved_agents_go_on_alike(policy: mb.Policy) -> None:
    """With arms that come, go and have new bounds, and offers of some arms."""
    agent = mb.Agent(policy, mb.Knowledge(BOUNDS, trust=[0.9, 0.99, 1.0]), seed=7)
    agent.add("surgery", lower=0.1, upper=0.3)
    assert agent.knowledge.trusts.tolist() == [0.9, 0.99, 1.0, 0.9]
    rng = np.random.default_rng(1)
    for _ in range(40):
        agent.update(agent.pull(["tPA", "medical", "surgery"]), float(rng.random() < 0.4))
    agent.replace_bounds(mb.MeanBounds([0.6, 0.2, 0.4, 0.1], [0.9, 0.5, 0.8, 0.3], arms=agent.bounds.arms))
    again = mb.Agent.from_dict(json.loads(json.dumps(agent.to_dict())))
    assert again.knowledge == agent.knowledge
    pulled: list[list[Any]] = [[], []]
    for one, arms in zip((agent, again), pulled, strict=True):
        rng = np.random.default_rng(2)
        for _ in range(40):
            arms.append(one.pull())
            one.update(arms[-1], float(rng.random() < 0.4))
    assert pulled[0] == pulled[1]
    np.testing.assert_array_equal(agent.probabilities(), again.probabilities())


@pytest.mark.parametrize("policy", ALL, ids=repr)
def test_agent_and_simulator_agree(policy: mb.Policy) -> None:
    """An agent that is told the simulator's rewards plays as the simulator does."""
    known, rounds = mb.Knowledge(BEST_PRUNED, trust=0.9), 60 if isinstance(policy, mb.IDS) else 300
    environment = mb.Bernoulli(MEANS)
    law = environment.rewards(BEST_PRUNED.low, BEST_PRUNED.high)
    agent, key = mb.Agent(policy, known, seed=10), np.uint64(reward_key(np.uint64(10), 0))
    for _ in range(rounds):
        arm = int(agent.pull())
        agent.update(arm, draw(law, arm, np.uint64(child(key, arm)), int(agent.plays[arm])))
    with pytest.warns(UserWarning, match="outside its bounds"):
        plays = mb.simulate({"p": policy}, environment, known, horizon=rounds, runs=1, seed=10).plays["p"]
    assert agent.plays.tolist() == plays[0].tolist()
    assert agent.plays[0] > 0 or isinstance(policy, mb.IDS), "the best arm was pruned and has to be tried"


@pytest.mark.parametrize("policy", [mb.GLUE(), mb.BKLUCB(), mb.BIMED(), mb.ThompsonSampling(), mb.OSSB()], ids=repr)
def test_wrong_bounds_stop_costing(policy: mb.Policy) -> None:
    """The best arm is pruned: certain bounds lose a tenth in each of 20,000 rounds, doubted ones stop early."""
    regret = {}
    for trust in (1.0, 0.9):
        with pytest.warns(UserWarning, match="outside its bounds"):
            regret[trust] = mb.simulate(
                {"p": policy},
                mb.Bernoulli(MEANS),
                mb.Knowledge(BEST_PRUNED, trust=trust),
                horizon=20_000,
                runs=4,
                seed=3,
                checkpoints=[10_000, 20_000],
            ).curves["p"]
    assert np.all(regret[1.0][:, 1] > 1_900)
    assert np.all(regret[0.9][:, 1] < 400)
    assert np.all(regret[0.9][:, 1] - regret[0.9][:, 0] < 60)


def test_policies_that_ignore_bounds_ignore_trust() -> None:
    for policy in (mb.UCB(), mb.KLUCB(), mb.WarmStart()):
        assert not policy.plan(mb.Knowledge(BOUNDS, trust=0.9)).is_doubted
    started = mb.WarmStart(base=mb.BKLUCB(), log=mb.LoggedArms([3], [1.0], arms=["medical"]))
    agent = mb.Agent(started, mb.Knowledge(BOUNDS, trust=0.9), seed=1)
    for _ in range(100):
        agent.update("tPA", 0.0)
    assert agent.indices()[1] > 0.6  # beyond its cap


def test_contexts_keep_their_trust() -> None:
    known: dict[str, mb.Knowledge | mb.MeanBounds] = {"young": mb.Knowledge(BOUNDS, trust=0.9), "old": BOUNDS}
    agent = mb.ContextualAgent(mb.ThompsonSampling(settle=False), known, seed=7)
    again = mb.ContextualAgent.from_dict(json.loads(json.dumps(agent.to_dict())))
    for one in (agent, again, pickle.loads(pickle.dumps(agent))):
        assert one["young"].knowledge.trust == 0.9
        assert one["old"].knowledge.is_certain
        assert one.probabilities("young")[1] > 0.0 == one.probabilities("old")[1]
    again = mb.ContextualAgent.from_dict(json.loads(json.dumps(again.to_dict())))
    assert again["young"].knowledge.trust == 0.9


def test_results_say_how_far_bounds_were_trusted() -> None:
    environment = mb.Bernoulli([0.9, 0.5, 0.5])
    doubted = mb.simulate(mb.GLUE(), environment, mb.Knowledge(BOUNDS, trust=0.9), horizon=20, runs=2, seed=1)
    certain = mb.simulate(mb.GLUE(), environment, BOUNDS, horizon=20, runs=2, seed=1)
    assert doubted.settings["trust"] == [0.9] * 3
    assert "trust" not in certain.settings


STUDY = """
policies = ["GLUE", "{policy}"]
horizon = 100

[environment]
kind = "linear"
features = [[1.0, 0.0], [0.0, 1.0]]
theta = [0.9, 0.5]

[bounds]
lower = [0.7, 0.2]
upper = [0.95, 0.6]
trust = {trust}
"""


def test_study_files(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(STUDY.format(policy="BIMED", trust="[0.9, 1]"))
    study = read_study(path)
    assert study.trust == (0.9, 1.0)
    bounds = mb.MeanBounds([0.7, 0.2], [0.95, 0.6])
    assert study.known == mb.Knowledge(bounds, trust=[0.9, 1.0])
    path.write_text(STUDY.format(policy="BIMED", trust='0.9\nassumption = "an optimal expert"'))
    assert read_study(path).known == mb.Knowledge(bounds, trust=0.9, assumption="an optimal expert")
    path.write_text(STUDY.format(policy="BIMED", trust="1\nexpires = 50"))
    assert read_study(path).known == mb.Knowledge(bounds, expires=50)
    path.write_text(STUDY.format(policy="BIMED", trust="0.9\nhalf_life = 50"))
    assert read_study(path).known == mb.Knowledge(bounds, trust=0.9, half_life=50)
    for policy, trust, says in (
        ("BIMED", "0.9\nexpires = -1", "line 14: bounds: expires must be"),
        ("BIMED", "0.9\nassumption = 7", "line 14: bounds: assumption is the name of what bounds rest on"),
        ("OFUL", "1\nexpires = 9", "line 14: bounds: OFUL learns from features"),
        ("BIMED", "1\nexpires = 2027-01-31", "line 14: bounds: a simulation has rounds and no dates"),
        ("BIMED", "0.9\nhalf_life = -1", "line 14: bounds: half_life is the number of rounds"),
        ("BIMED", '0.9\nassumption = "a"\nhalf_life = 9', "line 15: bounds: bounds whose trust decays cannot be"),
        ("BIMED", '0.9\nassumption = "a"\nexpires = 9', "line 15: bounds: bounds that expire cannot be simulated with"),
        ("BIMED", "1.5", "line 13: bounds: trust is the probability"),
        ("BIMED", '"much"', "line 13: bounds: trust must be a number or a list of numbers"),
        ("OFUL", '0.9\nassumption = "a"', "line 14: bounds: OFUL learns from features"),
    ):
        path.write_text(STUDY.format(policy=policy, trust=trust))
        with pytest.raises(StudyError, match=says):
            read_study(path)
