"""Agents that ask experts: what they were told, why they ask, a floor behind the guard, budgets that contexts share."""

import copy
import json
import math
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from scipy import stats

import meanbounds as mb
from meanbounds.evidence import ContradictionWarning
from meanbounds.policies import Guarded

NAMES: list[Any] = ["a", "b", mb.EXPERT]
ANY = mb.MeanBounds([0.0, 0.0, 0.5], [1.0, 1.0, 0.7], arms=NAMES)


def agent(known: Any = ANY, promise: mb.Promise | None = None, **settings: Any) -> mb.Agent:
    guarded = Guarded(mb.GLUE(), promise or mb.Promise(margin=0.05), **settings)
    return mb.Agent(guarded, known, seed=3)


def test_what_experts_did_counts_for_them_and_not_for_the_arm() -> None:
    one = agent(mb.MeanBounds([1.0, 1.0, 2.0], [5.0, 5.0, 3.0], arms=NAMES, low=[1, 1, 0.5], high=[5, 5, 4.5]))
    assert one.pull() is mb.EXPERT
    one.observe("b", 4.0)  # asking costs 0.5, the difference of the ranges
    assert one.plays().tolist() == [0, 0, 1]
    assert one.means()[2] == pytest.approx(3.5)
    assert one.pending().sum() == 0
    np.testing.assert_allclose(one.observed(), [[0, 1, 0], [0, 4, 0], [0, 16, 0]])
    seen = one.experts()
    assert (seen.asked, seen.mean, seen.before, seen.changed) == (1, 3.5, (2.0, 3.0), None)
    assert math.isnan(agent().experts().mean)
    for again in (mb.Agent.from_dict(one.to_dict()), copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        np.testing.assert_array_equal(again.observed(), one.observed())
        assert [again.pull() for _ in range(4)] == [copy.deepcopy(one).pull()] + [again.arms[2]] * 3


def test_expert_is_no_name_in_saved_agents() -> None:
    data = agent({"north": ANY}).to_dict()
    assert data["arms"] == ["a", "b", {"expert": True}]
    assert mb.Agent.from_dict(data).arms[2] is mb.EXPERT
    data["chosen"] = [[1.0, 0.0, 0.0]]
    with pytest.raises(ValueError, match="lacks lost, foreign"):
        mb.Agent.from_dict(data)


@pytest.mark.parametrize(("value", "changed"), [(0.9, "better"), (0.3, "worse")])
def test_alarm_says_which_way_experts_changed(value: float, changed: str) -> None:
    one, rng = agent(), np.random.default_rng(1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(300):
            one.observe("a", float(rng.random() < value), pulled=False)
    said = [str(found.message) for found in caught if issubclass(found.category, ContradictionWarning)]
    assert len(said) == 1
    assert f"the experts do {changed} than the log says" in said[0]
    assert one.experts().changed == changed


def test_reasons() -> None:
    assert agent().decide().reason == "guard"
    assert agent(mb.MeanBounds([0, 0, 0.9], [0.5, 0.5, 1.0], arms=NAMES)).decide().reason == "better"
    free = mb.MeanBounds([0.9, 0.0, 0.1], [1.0, 0.5, 0.2], arms=NAMES)
    assert agent(free).decide()[1:] == ("a", 1.0, "policy")
    asked = agent(free, mb.Promise(margin=1.0), ask=0.5)
    found = [asked.decide() for _ in range(200)]
    assert {one.reason for one in found if one.arm is mb.EXPERT} == {"ask"}
    assert {one.probability for one in found} == {0.5}
    assert stats.binomtest(sum(one.arm is mb.EXPERT for one in found), 200, 0.5).pvalue > 1e-6


def slack(one: mb.Agent, mean: float, value: float, cancels: Any, decisions: int = 600) -> float:
    """The least that the sum of means was ever above the promised line of 0.01, where `cancels` gives up some pulls."""
    rng, earned, least = np.random.default_rng(4), 0.0, 0.0
    for t in range(1, decisions + 1):
        arm = one.pull()
        reward = float(rng.random() < (value if arm is mb.EXPERT else mean))
        earned += value if arm is mb.EXPERT else mean
        least = min(least, earned - (value - 0.01) * t)
        if cancels(arm, reward):
            one.cancel(arm)
        elif arm is mb.EXPERT:
            one.observe("b", reward)
        else:
            one.update(arm, reward)
    return least


@pytest.mark.filterwarnings("ignore:the experts do worse")
@pytest.mark.parametrize(
    "cancels", [lambda arm, reward: arm == "a" and not reward, lambda arm, reward: arm is mb.EXPERT and bool(reward)]
)
def test_pulls_that_were_given_up_remain_decisions(cancels: Any) -> None:
    known = mb.MeanBounds([0.0, 0.0, 0.85], [1.0, 0.1, 0.95], arms=NAMES)
    assert slack(agent(known, mb.Promise(margin=0.01)), 0.5, 0.9, cancels) >= -1e-9


@pytest.mark.parametrize("told", ["b", mb.EXPERT])
def test_rewards_that_answer_no_pull_pay_for_nothing(told: Any) -> None:
    known = mb.MeanBounds([0.0, 0.0, 0.88], [1.0, 1.0, 0.92], arms=NAMES)
    one = agent(known, mb.Promise(margin=0.01))
    for _ in range(500):
        one.update(told, 1.0 if told == "b" else 0.9, pulled=False)
    one.forbid(["b"])
    assert slack(one, 0.5, 0.9, lambda arm, reward: False, 300) >= -1e-9


def test_experts_have_the_range_of_the_options() -> None:
    with pytest.raises(mb.BoundsError, match="moved down by the cost"):
        mb.Agent(mb.GLUE(), mb.MeanBounds([0, 0, 0.8], [1, 10, 0.9], arms=NAMES, low=0, high=[1, 10, 1]))


def test_more_arms_under_a_guard() -> None:
    one = agent()
    one.add(mb.MeanBounds([0.9], [1.0], arms=["c"]))
    assert one.decide()[1:] == ("c", 1.0, "policy")
    with pytest.raises(mb.BoundsError, match="range"):
        one.add(mb.MeanBounds([0.9], [1.5], arms=["d"], high=2.0))


def test_floor_leaves_out_experts_who_are_not_eligible() -> None:
    sure = mb.MeanBounds([0.95, 0.0, 0.6], [1.0, 0.5, 0.9], arms=NAMES)
    one = mb.Agent(Guarded(mb.GLUE(), mb.Promise(margin=0.01)), sure, seed=1, floor=0.2)
    assert {one.pull(eligible=["a", "b"]) for _ in range(50)} == {"a"}
    one.retire(mb.EXPERT)
    assert {one.pull() for _ in range(50)} == {"a"}


def test_floor_is_spread_over_what_the_promise_allows() -> None:
    one = mb.Agent(Guarded(mb.GLUE(), mb.Promise(margin=0.01)), ANY, seed=1, floor=0.2)
    np.testing.assert_allclose(one.probabilities(), [0.0, 0.0, 1.0])
    assert {one.pull() for _ in range(50)} == {mb.EXPERT}
    half = mb.MeanBounds([0.7, 0.0, 0.5], [1.0, 1.0, 0.7], arms=NAMES)
    other = mb.Agent(Guarded(mb.GLUE(), mb.Promise(margin=0.01)), half, seed=1, floor=0.2)
    assert other.probabilities()[1] == 0.0
    assert min(other.probabilities()[[0, 2]]) == pytest.approx(0.2)


def test_pooled_contexts_pay_for_each_other() -> None:
    """Two contexts of one budget decide as one context that has had the decisions of both."""
    known = {"north": ANY, "south": ANY}
    pooled, single = agent(known, pooled=True), agent(pooled=True)
    rng = np.random.default_rng(2)
    for step in range(300):
        context = ("north", "south")[step % 2]
        np.testing.assert_allclose(pooled.probabilities(context)[2] < 1.0, single.probabilities()[2] < 1.0)
        reward = float(rng.random() < 0.8)
        for own, where in ((pooled, context), (single, None)):
            for arm, value in (("a", reward), (mb.EXPERT, 0.6)):
                own.update(arm, value, where, pulled=False)
    np.testing.assert_allclose(pooled.budget("north"), single.budget())
    again = mb.Agent.from_dict(pooled.to_dict())
    assert [again.pull("north") for _ in range(20)] == [pooled.pull("north") for _ in range(20)]


def test_pooled_promise_is_kept_in_the_sum_over_contexts() -> None:
    """20 agents of four contexts and 400 decisions, options that are worse: the sum stays above the line in all."""
    means = {"w": 0.55, "x": 0.5, "y": 0.65, "z": 0.6}
    known = {name: mb.MeanBounds([0.0, 0.6], [1.0, 0.6], arms=["new", mb.EXPERT]) for name in means}
    for seed in range(20):
        guard = Guarded(mb.UCB(), mb.Promise(margin=0.03), pooled=True)
        one, rng, lost = mb.Agent(guard, known, seed=seed), np.random.default_rng(seed), 0.0
        for t in range(1, 401):
            context = rng.choice(list(means))
            arm = one.pull(context)
            mean = 0.6 if arm is mb.EXPERT else means[context]
            lost += 0.6 - mean
            assert lost <= 0.03 * t + 1e-9
            one.update(arm, float(rng.random() < mean), context)


def test_where_nothing_else_may_be_played_experts_are_asked_for_lack_of_support() -> None:
    one = agent()
    one.forbid([name for name in NAMES if name is not mb.EXPERT])
    assert one.decide()[1:] == (mb.EXPERT, 1.0, "support")
    assert agent().decide(eligible=[mb.EXPERT]).reason == "only option"


@pytest.mark.parametrize("promise", [mb.Promise(margin=0.05), mb.Promise(margin=0.1, total=4.0)])
@pytest.mark.parametrize("pooled", [False, True])
def test_the_guard_asks_when_one_more_play_could_use_up_its_budget(promise: mb.Promise, pooled: bool) -> None:
    known = mb.MeanBounds([0.0, 0.0, 0.6], [1.0, 1.0, 0.6], arms=NAMES)
    one = mb.Agent(Guarded(mb.OptimisticGittins(), promise, pooled=pooled), {"x": known, "y": known}, seed=3)
    rng, reasons = np.random.default_rng(2), set()
    for _ in range(120):
        context = str(rng.choice(["x", "y"]))
        allowed, lost = one.budget(context)
        allowed = min(allowed + (promise.margin or 0.0), promise.total or math.inf)  # with one decision more
        decision = one.decide(context)
        reasons.add(decision.reason)
        if decision.reason != "better":
            assert (decision.reason == "guard") == (lost + 0.6 > allowed + 1e-9)
        if decision.arm is mb.EXPERT:
            one.observe("a", float(rng.random() < 0.6), context)
        else:
            one.update(decision.arm, float(rng.random() < 0.9), context)
    assert reasons >= {"guard", "policy"}
    with pytest.raises(ValueError, match="promises nothing"):
        mb.Agent(mb.GLUE(), ANY, seed=3).budget()


def test_experts_that_are_retired_or_forbidden_are_saved() -> None:
    one = mb.Agent(mb.UCB(), {"north": ANY, "south": ANY}, seed=7)
    one.retire(mb.EXPERT)
    one.forbid([mb.EXPERT, "a"], "south")
    other = mb.Agent.from_dict(json.loads(json.dumps(one.to_dict())))
    assert (other.retired, other.forbidden("north"), other.forbidden("south")) == ((mb.EXPERT,), (), ("a", mb.EXPERT))


def test_indices_of_a_guard_and_its_reasons_are_the_same_with_and_without_a_cache() -> None:
    one, rng = agent(mb.MeanBounds([0.0, 0.0, 0.5], [1.0, 0.9, 0.6], arms=NAMES), mb.Promise(margin=0.2)), 0
    for n in range(80):
        scores, fresh = one.indices(), mb.Agent.from_dict(one.to_dict())
        decision = one.decide()
        assert fresh.decide() == decision
        assert one.arms[int(scores.argmax())] is decision.arm
        rng = (rng * 7 + n) % 11
        if decision.arm is mb.EXPERT:
            one.observe("b", float(rng < 6))
        else:
            one.update(decision.arm, float(rng < 8))
    assert one.pulls().min() > 0
