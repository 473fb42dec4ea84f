"""Bounds that rest on one assumption: evidence is shared by arms and contexts, saved, copied and taken back."""

from __future__ import annotations

import copy
import json
import math
import pickle
import re
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from benchmarks.shared import World, excess

import meanbounds as mb
from meanbounds.agents.together import Ledger, place_of
from meanbounds.kernels.arms import together as kernel
from meanbounds.kernels.random.rewards import draw
from meanbounds.kernels.random.stream import child, reward_key
from meanbounds.support.types import Floats

pytestmark = pytest.mark.filterwarnings("ignore:.*contradict", "ignore:.*refute the assumption")  # wrong on purpose

UNTYPED: Any = mb
NAME = "the expert is optimal"
MEANS = (0.9, 0.8, 0.5)
PRUNED = mb.MeanBounds([0.5, 0.78, 0.3], [0.75, 0.95, 0.7])  # the best arm is excluded
RIGHT = mb.MeanBounds([0.8, 0.7, 0.3], [0.95, 0.9, 0.7])


def shared(bounds: mb.MeanBounds = PRUNED, trust: float = 0.9) -> mb.Knowledge:
    return mb.Knowledge(bounds, trust=trust, assumption=NAME)


def contexts(policy: mb.Policy, number: int = 4, known: mb.Knowledge | None = None) -> mb.ContextualAgent:
    return mb.ContextualAgent(policy, dict.fromkeys(range(number), known or shared()), seed=5)


def play(agent: mb.ContextualAgent, rounds: int, seed: int = 1) -> list[int]:
    generator, names, arms = np.random.default_rng(seed), agent.contexts, []
    for _ in range(rounds):
        context = names[int(generator.integers(len(names)))]
        arm = int(agent.pull(context))
        agent.update(context, arm, float(generator.random() < MEANS[arm]))
        arms.append(arm)
    return arms


def by_definition(agent: mb.ContextualAgent) -> float:
    """Log E from the rewards of all contexts, as the definition says."""
    logs = np.zeros((len(agent), len(MEANS), 2))
    for row, context in enumerate(agent.contexts):
        own = agent[context]
        plays, total = own.plays, np.nan_to_num(own.means) * own.plays
        for k in range(len(MEANS)):
            logs[row, k, 0] = mb.evidence.log_e_lower(plays[k], total[k], own.bounds.lower[k])
            logs[row, k, 1] = mb.evidence.log_e_upper(plays[k], total[k], own.bounds.upper[k])
    weights = 1.0 / (np.arange(1.0, 21.0) * np.arange(2.0, 22.0))
    weights /= weights.sum()

    def mixed(some: Floats) -> float:
        shares = zip(0.5 ** np.arange(20.0), weights, strict=True)
        return float(sum(w * math.prod(1.0 - q + q * math.exp(x) for x in some) for q, w in shares))

    each = [mixed(logs[:, k].ravel()) for k in range(len(MEANS))]
    return math.log(0.5 * mixed(logs.ravel()) + 0.5 * float(np.mean(each)))


@pytest.mark.parametrize("policy", [mb.ThompsonSampling(), mb.GLUE()])
def test_evidence_is_what_the_definition_says_whatever_happens_to_bounds_arms_and_contexts(policy: mb.Policy) -> None:
    agent = contexts(policy)
    play(agent, 80)
    assert agent.assumptions()[NAME] == pytest.approx(by_definition(agent), abs=1e-9)
    agent.replace_bounds(mb.MeanBounds([0.5, 0.7, 0.3], [0.8, 0.95, 0.7]), context=2)
    assert agent.assumptions()[NAME] == pytest.approx(by_definition(agent), abs=1e-9)
    agent.retire(2)
    agent.forget(3)
    assert agent.assumptions()[NAME] == pytest.approx(by_definition(agent), abs=1e-9)
    before = agent.assumptions()
    with pytest.raises(mb.BoundsError):
        agent.replace_bounds({0: RIGHT, 1: mb.MeanBounds([0.1], [0.2])})
    assert agent.assumptions() == before
    assert agent[0].assumptions() == before  # the agent of a context shares it


def test_knowledge_names_the_assumption_and_keeps_it() -> None:
    known = shared()
    for made in (
        known.subset([1, 2]),
        known.with_bounds(RIGHT),
        known.with_arm("new", 0.1, 0.2, 0.0, 1.0),
        mb.Knowledge.from_dict(known.to_dict()),
        mb.Knowledge(RIGHT, assumption=NAME).subset([0]),
    ):
        assert made.assumption == NAME
    assert NAME in repr(known)
    assert known != mb.Knowledge(PRUNED, trust=0.9)
    for wrong in ("", 3, ["a"]):
        with pytest.raises(TypeError, match="the name of what bounds rest on"):
            UNTYPED.Knowledge(PRUNED, trust=0.9, assumption=wrong)


@pytest.mark.parametrize("policy", [mb.ThompsonSampling(), mb.BIMED(), mb.GLUE()])
def test_copies_and_saved_agents_go_on_in_the_same_way(policy: mb.Policy) -> None:
    agent = contexts(policy)
    play(agent, 60)
    others = [
        mb.ContextualAgent.from_dict(json.loads(json.dumps(agent.to_dict()))),
        pickle.loads(pickle.dumps(agent)),
        copy.deepcopy(agent),
    ]
    chances = agent.probabilities(1)
    arms = play(agent, 60, seed=2)
    for other in others:
        assert np.array_equal(other.probabilities(1), chances)
        assert play(other, 60, seed=2) == arms
        assert other.assumptions() == agent.assumptions()


def test_a_lone_agent_is_saved_with_its_evidence() -> None:
    agent = mb.Agent(mb.ThompsonSampling(), shared(), seed=5)
    for reward in (1.0, 1.0, 0.0, 1.0):
        agent.update(0, reward)
    state = json.loads(json.dumps(agent.to_dict()))
    other = mb.Agent.from_dict(state)
    assert other.assumptions() == agent.assumptions() != {NAME: 0.0}
    assert np.array_equal(other.probabilities(), agent.probabilities())
    assert mb.Agent(mb.ThompsonSampling(), PRUNED, seed=5).assumptions() == {}
    state["evidence"]["sums"][0][0] += 1.0
    with pytest.raises(ValueError, match="its sums are not those of the rewards"):
        mb.Agent.from_dict(state)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda told: told.update(other=told[NAME]), "'other' is in the evidence or in the knowledge of contexts"),
        (lambda told: told[NAME].update(arms=[2, 1, 0]), "its arms are"),
        (lambda told: told[NAME].update(sums=[[0.0]]), "sums has shape"),
        (lambda told: told[NAME]["sums"][0].__setitem__(3, 9.0), "not those of the rewards"),
    ],
)
def test_saved_evidence_that_cannot_be_is_refused(change: Callable[[Any], object], says: str) -> None:
    agent = contexts(mb.GLUE())
    play(agent, 20)
    state = json.loads(json.dumps(agent.to_dict()))
    change(state["assumptions"])
    with pytest.raises(ValueError, match=says):
        mb.ContextualAgent.from_dict(state)


def test_while_the_evidence_is_for_the_assumption_decisions_are_those_of_separate_trust() -> None:
    """Contexts that are no controls, and rewards that are what the bounds say."""
    together, apart = contexts(mb.GLUE(), 2, shared(RIGHT)), contexts(mb.GLUE(), 2, mb.Knowledge(RIGHT, trust=0.9))
    assert play(together, 40) == play(apart, 40)
    assert together.assumptions()[NAME] <= 0.0


@pytest.mark.parametrize("policy", [mb.ThompsonSampling(), mb.BIMED(), mb.GLUE(), mb.OptimisticGittins()])
def test_a_refuted_assumption_is_given_up_in_all_contexts(policy: mb.Policy) -> None:
    agent = contexts(policy, 3)
    for _ in range(100):
        agent.update(0, 0, 1.0)
    own = mb.ContextualAgent(policy, dict.fromkeys(range(3), mb.Knowledge(PRUNED, trust=0.0)), seed=5)
    for arm in range(3):
        for context in (1, 2):
            for some in (agent, own):
                for _ in range(arm + 1):  # so that no two arms are equal but for rounding
                    some.update(context, arm, 1.0)
                some.update(context, arm, 0.0)
    assert agent.assumptions()[NAME] > 15.0
    for context in (1, 2):
        assert np.allclose(agent.probabilities(context), own.probabilities(context), atol=1e-5)


def test_one_wrong_context_is_found_among_many() -> None:
    agent = contexts(mb.GLUE(), 200, shared(RIGHT))
    agent.replace_bounds(PRUNED, context=7)
    for context in range(200):
        for arm, mean in enumerate(MEANS):
            for n in range(1, 41):
                agent.update(context, arm, float(int(n * mean) > int((n - 1) * mean)))
    assert agent.assumptions()[NAME] < 0.0
    for n in range(1, 301):
        agent.update(7, 0, float(n % 10 > 0))
    assert agent.assumptions()[NAME] > math.log(100.0)


def test_a_share_of_the_contexts_plays_without_the_bounds() -> None:
    """About 1 - trust of them; none of a lone agent."""
    places = np.array([place_of(row) for row in range(1_000)])
    assert abs(np.sum(places >= 0.99) - 10) <= 1
    assert abs(np.sum(places >= 0.9) - 100) <= 2
    first = next(row for row in range(20) if place_of(row) >= 0.9)
    agent = contexts(mb.GLUE(), 20)
    for context in (0, first):
        agent.update(context, 1, 0.0)  # until the second round, nothing is tried by an index at the level log f
    assert agent.probabilities(first)[0] > 0.0  # a control tries the arm that the others leave out
    assert agent.probabilities(0)[0] == 0.0
    assert mb.Agent(mb.GLUE(), shared(), seed=5).probabilities()[0] == 0.0


def test_contradictions_name_the_assumption() -> None:
    agent = contexts(mb.GLUE())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(60):
            agent.update(2, 0, 1.0)
    (whole,) = (one for one in caught if issubclass(one.category, mb.evidence.AssumptionWarning))
    (own,) = (one for one in caught if issubclass(one.category, mb.evidence.ContradictionWarning))
    assert re.match(f"context 2, .*which rests on '{NAME}'", str(own.message))
    assert whole.filename == own.filename == __file__
    found = agent.contradictions()
    assert found[2][0].assumption == NAME
    assert NAME in str(found[2][0])


def test_certain_bounds_do_not_rest_on_the_assumption() -> None:
    known = mb.Knowledge(PRUNED, trust=[1.0, 0.9, 0.0], assumption=NAME)
    agent = mb.Agent(mb.GLUE(), known, seed=5)
    for _ in range(50):
        agent.update(0, 1.0)
        agent.update(2, 1.0)
    assert agent.assumptions() == {NAME: 0.0}
    assert mb.Agent(mb.GLUE(), mb.Knowledge(PRUNED, assumption=NAME), seed=5).assumptions() == {}


def test_threads_lose_no_evidence() -> None:
    agent = contexts(mb.GLUE())

    def work(context: int) -> None:
        for n in range(200):
            agent.update(context, 0, float(n % 4 > 0))

    threads = [threading.Thread(target=work, args=(context,)) for context in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert agent.assumptions()[NAME] == pytest.approx(by_definition(agent), abs=1e-9)


def test_false_alarms_are_as_rare_as_they_should_be() -> None:
    """Means at their bounds, four contexts: E reaches 10 in at most a tenth of 400 runs.

    If it did so with probability 0.1, there would be 74 alarms or more with a probability below 1e-6.
    """
    generator, alarms, upper = np.random.default_rng(3), 0, np.array([0.8, 0.6])
    known = mb.Knowledge(mb.MeanBounds([0.0, 0.0], upper), trust=0.9, assumption="a")
    for _ in range(400):
        ledger, highest = Ledger("a"), 0.0
        ledger.groups(known)
        watch = np.vstack([np.zeros((7, 2)), np.ones(2), upper, np.full(2, 1e9), np.zeros((2, 2))])
        agents, tally = [watch.copy() for _ in range(4)], np.zeros(8, dtype=np.int64)
        for _ in range(120):
            own, arm = agents[int(generator.integers(4))], int(generator.integers(2))
            reward = float(generator.random() < upper[arm])
            kernel.update(own, tally, ledger.table, arm, arm, reward, 1.0 - reward, True)
            highest = max(highest, ledger.log_e)
        alarms += highest >= math.log(10.0)
    assert alarms < 74


@pytest.mark.no_cover  # it repeats what other tests do once
@pytest.mark.slow
@pytest.mark.parametrize("case", ["best arm pruned", "best arm's cap 0.08 too low"])
def test_shared_trust_pays_for_a_wrong_assumption_once(case: str) -> None:
    """200 contexts; what they lose beyond starting from nothing, with separate and with shared trust."""
    _, separate, together = excess(mb.ThompsonSampling(), World(case, 200, 400), 0.9, seed=11)
    assert separate > 3.0
    assert together < 0.1 * separate


@pytest.mark.filterwarnings("ignore:.*outside its bounds")
@pytest.mark.parametrize("policy", [mb.ThompsonSampling(), mb.GLUE()])
def test_an_agent_plays_as_run_0_of_a_simulation(policy: mb.Policy) -> None:
    known, world = shared(trust=0.8), mb.Bernoulli(MEANS)
    regret = mb.simulate(policy, world, known, horizon=150, runs=2, seed=4)
    agent, streams = mb.Agent(policy, known, seed=4), np.uint64(reward_key(np.uint64(4), 0))
    law = world.rewards(known.bounds.low, known.bounds.high)
    for _ in range(150):
        arm = int(agent.pull())
        agent.update(arm, float(draw(law, arm, np.uint64(child(streams, arm)), int(agent.plays[arm]))))
    assert regret.plays[type(policy).__name__][0].tolist() == agent.plays.tolist()
    assert regret.settings["assumption"] == NAME
    with pytest.raises(ValueError, match="cannot be simulated with a delay"):
        mb.simulate(policy, world, known, horizon=20, runs=2, seed=4, delay=3)


def test_a_refuted_assumption_is_announced_once_and_before_a_reward_is_taken() -> None:
    agent = contexts(mb.GLUE(), 10)
    with warnings.catch_warnings():
        warnings.simplefilter("error", mb.evidence.AssumptionWarning)
        for number in range(200):  # so little in each context that no bound is contradicted by itself
            if agent.assumptions()[NAME] >= -math.log(mb.evidence.WATCHED_ERROR):
                break
            agent.update(number % 10, 0, 1.0)
        before = agent.plays().tolist()
        with pytest.raises(mb.evidence.AssumptionWarning, match=r"'the expert is optimal' \(e-value 1") as caught:
            agent.update(3, 0, 1.0)
        assert agent.plays().tolist() == before
        assert not any(agent.contradictions().values())
        assert caught.value.assumption == NAME
        assert caught.value.log_e == agent.assumptions()[NAME]
        for one in (agent, copy.deepcopy(agent), mb.ContextualAgent.from_dict(agent.to_dict())):
            one.update(3, 0, 1.0)  # said once, and not again by a copy
