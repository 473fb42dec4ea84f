"""Logs and policies in the arrays of Open Bandit Pipeline, judged by its own estimators."""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import meanbounds as mb
from meanbounds.fits.obp import action_dist, bandit_feedback
from meanbounds.logs import LogError
from tests.servers import in_ci
from tests.test_docs import blocks

OBP = "obp==0.4.1"  # the newest release that pip installs beside Python 3.11 and numpy 2


class StandIn(ModuleType):
    """A module of torch, whose modules and classes are empty."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return StandIn(name) if name.islower() else type(name, (), {})


@pytest.fixture(scope="module")
def obp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The package itself, without torch: a large package that its estimators of arrays never call.

    Where it is not installed, the tests install it into a folder of their own (CI=true), or skip.
    """
    with pytest.MonkeyPatch.context() as patch:
        if importlib.util.find_spec("obp") is None:
            if not in_ci():
                pytest.skip(f"Open Bandit Pipeline is not installed: pip install --no-deps {OBP}")
            folder = tmp_path_factory.mktemp("obp")
            command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), OBP]
            subprocess.run(command, check=True, capture_output=True, timeout=240)
            patch.syspath_prepend(str(folder))
        if importlib.util.find_spec("torch") is None:
            for name in ("torch", "torch.nn", "torch.optim"):
                patch.setitem(sys.modules, name, StandIn(name))
        ope, dataset = (importlib.import_module(f"obp.{name}") for name in ("ope", "dataset"))
        yield SimpleNamespace(ope=ope, dataset=dataset)
        for name in [name for name in sys.modules if name.partition(".")[0] == "obp"]:
            del sys.modules[name]


def a_log(rows: int = 3_000) -> mb.logs.Events:
    """A program that chooses by chance, in two contexts."""
    rng = np.random.default_rng(1)
    old = rng.random(rows) < 0.4
    chances = np.where(old[:, None], [0.6, 0.3, 0.1], [0.2, 0.2, 0.6])
    arm = (rng.random(rows)[:, None] > np.cumsum(chances, axis=1)).sum(axis=1)
    means = np.where(old[:, None], [0.2, 0.5, 0.9], [0.7, 0.4, 0.3])
    return mb.logs.Events(
        context=np.where(old, "old", "young"),
        arm=np.array(["tPA", "heparin", "watch"])[arm],
        reward=(rng.random(rows) < means[np.arange(rows), arm]).astype(float),
        probability=chances[np.arange(rows), arm],
    )


def an_agent() -> mb.ContextualAgent:
    bounds = mb.MeanBounds([0.1, 0.2, 0.1], [0.9, 0.8, 0.95], arms=["heparin", "tPA", "watch"])
    agent = mb.ContextualAgent(mb.ThompsonSampling(), {"old": bounds, "young": bounds}, seed=7)
    for reward in (1.0, 0.0, 1.0):
        agent.update("old", "watch", reward)
    return agent


def test_feedback_has_what_the_log_has() -> None:
    events = a_log()
    found = bandit_feedback(events)
    assert (found["n_rounds"], found["n_actions"], found["position"]) == (3_000, 3, None)
    assert [events.arms[k] for k in found["action"][:20]] == events.to_frame()["arm"][:20].tolist()
    assert [events.contexts[k] for k in found["context"].argmax(axis=1)[:20]] == events.to_frame()["context"][
        :20
    ].tolist()
    more = bandit_feedback(events, arms=["watch", "tPA", "heparin", "surgery"])
    assert more["n_actions"] == 4
    assert more["action"].tolist() == [{0: 2, 1: 1, 2: 0}[k] for k in found["action"].tolist()]


def test_probabilities_of_an_agent_are_its_own() -> None:
    events, agent = a_log(50), an_agent()
    found = action_dist(events, agent)
    assert found.shape == (50, 3, 1)
    for row, context in zip(found[:, :, 0], events.to_frame()["context"], strict=True):
        assert row == pytest.approx(agent.probabilities(context))  # both name arms in natural order
    wider = action_dist(events, agent, arms=["watch", "surgery", "tPA", "heparin"])
    assert wider[:, [3, 2, 0], 0] == pytest.approx(found[:, :, 0])
    assert not wider[:, 1].any()


def test_its_estimators_agree_with_ours(obp: Any) -> None:
    """Inverse propensities by the package are the mean of reward times weight, computed here from the events."""
    events, agent = a_log(), an_agent()
    feedback, dist = bandit_feedback(events), action_dist(events, agent)
    ope = obp.ope
    estimators = [
        ope.InverseProbabilityWeighting(),
        ope.SelfNormalizedInverseProbabilityWeighting(),
        ope.ReplayMethod(),
    ]
    values = ope.OffPolicyEvaluation(bandit_feedback=feedback, ope_estimators=estimators).estimate_policy_values(
        action_dist=dist
    )
    chance = np.array(
        [agent.probabilities(context)[events.arm[k]] for k, context in enumerate(events.to_frame()["context"])]
    )
    weight = chance / events.probability
    assert values["ipw"] == pytest.approx((weight * events.reward).mean())
    assert values["snipw"] == pytest.approx((weight * events.reward).sum() / weight.sum())
    ours = mb.logs.evaluate(events, {"agent of the bounds": agent})["agent of the bounds"]
    assert ours.lower <= values["ipw"] <= ours.upper


def test_a_regression_of_its_own_uses_our_contexts(obp: Any) -> None:
    ope, linear = obp.ope, importlib.import_module("sklearn.linear_model")
    events = a_log()
    feedback, dist = bandit_feedback(events), action_dist(events, {"old": "watch", "young": "tPA"})
    model = ope.RegressionModel(n_actions=3, base_model=linear.LogisticRegression(max_iter=1_000))
    model.fit(context=feedback["context"], action=feedback["action"], reward=feedback["reward"])
    rewards = model.predict(context=feedback["context"])
    found = ope.OffPolicyEvaluation(bandit_feedback=feedback, ope_estimators=[ope.DoublyRobust()])
    value = found.estimate_policy_values(action_dist=dist, estimated_rewards_by_reg_model=rewards)["dr"]
    assert value == pytest.approx(0.4 * 0.9 + 0.6 * 0.7, abs=5 * np.sqrt(0.25 / 0.1 / 3_000))  # 5 standard errors


def test_its_data_become_bounds_and_an_agent(obp: Any) -> None:
    dataset = obp.dataset.SyntheticBanditDataset(n_actions=4, dim_context=2, reward_type="binary", random_state=1)
    feedback = dataset.obtain_batch_bandit_feedback(n_rounds=5_000)
    events = mb.logs.read_open_bandit(feedback)
    assert (len(events), len(events.contexts)) == (5_000, 1)
    counts = events.counts(probability=True)
    assert counts.rows == 5_000
    known = mb.logs.bounds(counts, mb.logs.KnownPropensity("probability", least=float(events.probability.min())))["all"]
    truth = feedback["expected_reward"].mean(axis=0)
    assert known.contains(truth).all()
    agent = mb.Agent(mb.BIMED(), known, seed=7)
    dist = action_dist(feedback, agent)
    assert dist.shape == (5_000, 4, 1)
    ope = obp.ope
    found = ope.OffPolicyEvaluation(bandit_feedback=feedback, ope_estimators=[ope.InverseProbabilityWeighting()])
    weight = agent.probabilities()[feedback["action"]] / feedback["pscore"]
    assert found.estimate_policy_values(action_dist=dist)["ipw"] == pytest.approx((weight * feedback["reward"]).mean())


def test_positions_of_its_feedback_are_contexts(obp: Any) -> None:
    rng = np.random.default_rng(1)
    feedback: dict[str, Any] = {
        **{"n_rounds": 60, "n_actions": 3, "context": np.ones((60, 1)), "position": np.arange(60) % 2},
        **{"action": rng.integers(3, size=60), "reward": rng.integers(2, size=60), "pscore": np.full(60, 1 / 3)},
    }
    dist = action_dist(feedback, {0: 2, 1: {0: 0.5, 1: 0.5}})
    assert dist.shape == (60, 3, 2)
    assert dist[0].T.tolist() == [[0.0, 0.0, 1.0]] * 2
    assert dist[1].T.tolist() == [[0.5, 0.5, 0.0]] * 2
    ope = obp.ope
    found = ope.OffPolicyEvaluation(bandit_feedback=feedback, ope_estimators=[ope.InverseProbabilityWeighting()])
    chance = dist[np.arange(60), feedback["action"], feedback["position"]]
    assert found.estimate_policy_values(action_dist=dist)["ipw"] == pytest.approx(
        (3 * chance * feedback["reward"]).mean()
    )


def test_what_cannot_be_is_refused() -> None:
    events = mb.logs.Events(arm=["a", "b", "a"], reward=[1, None, 0], probability=[0.5, 0.5, 0.5])
    with pytest.raises(LogError, match="1 of 3 rows have no reward"):
        bandit_feedback(events)
    people = mb.logs.Events(arm=["a", "b"], reward=[1, 0], probability=[0.5, None], decider=["agent", "Dr. Ada"])
    with pytest.raises(LogError, match="1 of 2 rows have no probability"):
        bandit_feedback(people)
    with pytest.raises(LogError, match="plays 'a', which is not among"):
        action_dist(people, "b", arms=["b"])
    with pytest.raises(mb.BoundsError, match="is named twice"):
        action_dist(events, "a", arms=["a", "b", "a"])
    with pytest.raises(LogError, match="says nothing of context 'all'"):
        action_dist(events, {"old": "a"})
    with pytest.raises(LogError, match="plays 'c', which the log never does"):
        action_dist(events, "c")
    feedback = {"action": [0, 3], "reward": [1, 0], "pscore": [0.5, 0.5], "n_actions": 3}
    with pytest.raises(LogError, match="from 0 to n_actions - 1 = 2"):
        action_dist(feedback, 0)
    with pytest.raises(LogError, match="numbered already"):
        action_dist(feedback, 0, arms=[0, 1])
    for wrong in (None, [1], "feedback"):
        with pytest.raises(LogError, match="got"):
            bandit_feedback(wrong)  # type: ignore[arg-type]
        with pytest.raises(LogError, match="got"):
            action_dist(wrong, 0)


def test_the_page_runs_with_the_package(obp: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """The blocks of docs/fits.md about Open Bandit Pipeline, the one that needs it included."""
    del obp  # it is there to be imported
    codes = [code for kind, _, code in blocks("docs/fits.md") if kind == "python"]
    first = next(place for place, code in enumerate(codes) if "read_open_bandit" in code)
    names: dict[str, Any] = {"mb": mb}
    for code in codes[first:]:
        exec(compile(code, "docs/fits.md", "exec", dont_inherit=True), names)
        if "estimate_policy_values" in code:
            break
    assert "ipw" in capsys.readouterr().out
