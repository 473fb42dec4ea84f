"""Agents say when rewards contradict their bounds: once, at the right update, and whatever the order of rewards."""

from __future__ import annotations

import copy
import json
import math
import random
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import meanbounds as mb
from meanbounds.evidence import Contradiction, ContradictionWarning, log_e_lower, log_e_upper
from meanbounds.evidence.contradictions import level_of

BOUNDS = mb.MeanBounds([0.2, 0.3, 0.0], [0.5, 1.0, 0.4], arms=["a", "b", "c"])
LEVEL = math.log(4 / 0.01)  # four of the bounds say something


def feed(agent: Any, arm: str, rewards: Sequence[float], *context: str, history: bool = True) -> list[Contradiction]:
    """Tell the agent rewards; the contradictions that it warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for reward in rewards:
            agent.update(*context, arm, reward, history=history)
    found = [one.message.contradiction for one in caught if isinstance(one.message, ContradictionWarning)]
    assert len(found) == len(caught)
    assert all(one.filename == __file__ for one in caught)
    return found


def agent_on(bounds: mb.MeanBounds = BOUNDS) -> mb.Agent:
    return mb.Agent(mb.GLUE(), bounds, seed=3)


def first_over(log_e: Callable[[int, float], float], rewards: Sequence[float], level: float = LEVEL) -> int:
    sums = np.cumsum(rewards)
    return next(n for n in range(1, len(rewards) + 1) if log_e(n, float(sums[n - 1])) >= level)


def test_warns_once_at_the_update_that_crosses() -> None:
    agent, rewards = agent_on(), [1.0, 1.0, 0.25, 1.0] * 20
    feed(agent, "b", [1.0] * 5)
    (warned,) = feed(agent, "a", rewards)
    n = first_over(lambda n, s: float(log_e_upper(n, s, 0.5)), rewards)
    assert (warned.arm, warned.side, warned.bound, warned.plays, warned.updates) == ("a", "upper", 0.5, n, n + 5)
    assert warned.mean == pytest.approx(np.mean(rewards[:n]))
    assert warned.log_e == pytest.approx(float(log_e_upper(n, sum(rewards[:n]), 0.5)))
    (found,) = agent.contradictions()
    assert (found.arm, found.side, found.updates, found.plays) == ("a", "upper", n + 5, 80)
    assert found.log_e == pytest.approx(float(log_e_upper(80, sum(rewards), 0.5)))


def test_both_sides_of_an_arm() -> None:
    agent = agent_on()
    (upper,) = feed(agent, "a", [1.0] * 20)
    rewards = [1.0] * 20 + [0.0] * 400
    (lower,) = feed(agent, "a", [0.0] * 400)
    n = first_over(lambda n, s: float(log_e_lower(n, s, 0.2)), rewards)
    assert (upper.side, lower.side, lower.updates) == ("upper", "lower", n)
    both = agent.contradictions()
    assert [(one.side, one.updates) for one in both] == [("lower", n), ("upper", upper.updates)]
    assert both[1].log_e < LEVEL  # the alarm stays


def test_the_order_of_rewards_does_not_matter() -> None:
    rewards = [random.Random(5).choice((0.0, 0.25, 1.0)) for _ in range(300)]
    values = set()
    for seed in range(5):
        agent, mixed = agent_on(), random.Random(seed).sample(rewards, len(rewards))
        feed(agent, "c", mixed)
        values.add(agent.contradictions(0.5)[0].log_e)
    assert len(values) == 1


def test_true_bounds_stay_quiet() -> None:
    agent, rng = agent_on(), np.random.default_rng(1)
    for arm, mean in (("a", 0.5), ("b", 0.3), ("c", 0.4)):
        assert feed(agent, arm, (rng.random(2_000) < mean).astype(float).tolist()) == []
    assert agent.contradictions() == []


def test_bounds_that_say_nothing() -> None:
    agent = agent_on(mb.MeanBounds.vacuous(["a", "b"]))
    assert feed(agent, "a", [1.0] * 500 + [0.0] * 1000) == []
    assert agent.contradictions(0.9) == []


def test_another_error() -> None:
    agent = agent_on()
    feed(agent, "a", [1.0] * 12)
    assert agent.contradictions() == []
    (found,) = agent.contradictions(0.05)
    assert found.updates is None
    feed(agent, "a", [1.0])
    assert agent.contradictions()[0].updates == 13
    assert agent.contradictions(1e-6) == []
    with pytest.raises(ValueError, match="error must be a probability"):
        agent.contradictions(0)


def test_units_of_the_reward() -> None:
    agent = agent_on(mb.MeanBounds([2.0, 1.0], [3.0, 4.0], arms=["a", "b"], low=1.0, high=5.0))
    (warned,) = feed(agent, "a", [5.0] * 40)
    assert (warned.bound, warned.mean) == (3.0, 5.0)
    assert warned.updates == first_over(lambda n, s: float(log_e_upper(n, s, 0.5)), [1.0] * 40, math.log(3 / 0.01))


def test_pulls_without_an_answer_count_for_the_bound() -> None:
    """Only rewards of 1 come back, at once: those that are missing may all be 0."""
    agent = agent_on(mb.MeanBounds([0.0], [0.5], arms=["a"]))
    for _ in range(100):
        agent.pull()
    assert feed(agent, "a", [1.0] * 50, history=False) == []
    assert agent.contradictions() == []
    assert mb.evidence.check_bounds(agent.bounds, agent.plays, [50.0]).contradictions  # without the missing ones
    for _ in range(50):
        agent.cancel("a")
    assert len(agent.contradictions()) == 1
    (warned,) = feed(agent, "a", [1.0])
    assert warned.updates == 51


def test_missing_rewards_against_a_lower_bound() -> None:
    agent = agent_on(mb.MeanBounds([0.5], [1.0], arms=["a"]))
    for _ in range(100):
        agent.pull()
    assert feed(agent, "a", [0.0] * 50, history=False) == []
    (warned,) = feed(agent, "a", [0.0] * 40, history=False)
    late = first_over(lambda n, s: float(log_e_lower(n, s, 0.5, missing=100 - n)), [0.0] * 100, math.log(1 / 0.01))
    assert warned.updates == late


def test_saved_agents_remember() -> None:
    agent = agent_on()
    feed(agent, "a", [1.0] * 20)
    state = json.loads(json.dumps(agent.to_dict()))
    assert state["contradicted"] == [[0, 0, 0], [13, 0, 0]]
    for again in (mb.Agent.from_dict(state), copy.deepcopy(agent)):
        assert again.contradictions() == agent.contradictions()
        assert feed(again, "a", [1.0] * 20) == []


def test_agents_of_older_versions_load() -> None:
    agent = agent_on()
    feed(agent, "a", [1.0] * 10)
    state = agent.to_dict()
    assert "contradicted" not in state
    again = mb.Agent.from_dict(state)
    assert [one.updates for one in feed(again, "a", [1.0] * 5)] == [13]


@pytest.mark.parametrize(
    "value", [[[0, 0, 0]], [[0, 0, 0], [21, 0, 0]], [[0, 0, 0], [0.5, 0, 0]], "a", None, [[-1] * 3] * 2]
)
def test_tampered_entries_are_refused(value: Any) -> None:
    agent = agent_on()
    feed(agent, "a", [1.0] * 20)
    with pytest.raises(ValueError, match="contradicted"):
        mb.Agent.from_dict(agent.to_dict() | {"contradicted": value})


def test_other_bounds_are_tested_anew() -> None:
    agent = agent_on()
    feed(agent, "a", [1.0] * 20)
    agent.replace_bounds(mb.MeanBounds([0.2, 0.3, 0.0], [0.9, 1.0, 0.4], arms=["a", "b", "c"]))
    assert agent.contradictions() == []
    agent.replace_bounds(BOUNDS)
    (found,) = agent.contradictions()
    assert found.updates is None  # these rewards came before the bound
    assert [one.updates for one in feed(agent, "a", [1.0])] == []  # the user was warned of this bound before
    assert agent.contradictions()[0].updates == 21


def test_bounds_that_stay_keep_what_was_seen() -> None:
    agent = agent_on()
    feed(agent, "a", [1.0] * 20)
    agent.replace_bounds(mb.MeanBounds([0.1, 0.3, 0.0], [0.5, 1.0, 0.4], arms=["a", "b", "c"]))
    agent.retire("b")
    agent.add("d", lower=0.5)
    assert [(one.arm, one.updates) for one in agent.contradictions()] == [("a", 13)]
    level = level_of(agent.bounds, 0.01)
    (warned,) = feed(agent, "d", [0.0] * 40)
    assert warned.plays == first_over(lambda n, s: float(log_e_lower(n, s, 0.5)), [0.0] * 40, level)


def test_a_warning_as_an_error_leaves_the_agent_as_it_was() -> None:
    agent = agent_on()
    feed(agent, "a", [1.0] * 12)
    before = agent.to_dict()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ContradictionWarning, match="13 rewards with mean 1 contradict its upper"):
            agent.update("a", 1.0)
        assert agent.to_dict() == before
        agent.update("a", 1.0)  # once is enough
    assert agent.contradictions()[0].updates == 13


def test_whoever_handles_the_warning_may_change_the_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = agent_on()
    feed(agent, "a", [1.0] * 12)
    monkeypatch.setattr(
        warnings, "showwarning", lambda *_: agent.replace_bounds(mb.MeanBounds.vacuous(["a", "b", "c"]))
    )
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        agent.update("a", 1.0)
    assert agent.plays.tolist() == [13, 0, 0]


def test_agents_with_features_warn_as_others_do() -> None:
    agent = mb.Agent(mb.OFUL(), BOUNDS, seed=3, features=[[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    (warned,) = feed(agent, "a", [1.0] * 20)
    (found,) = agent.contradictions()
    assert (found.arm, found.side, found.plays, found.updates) == ("a", "upper", 20, warned.updates)
    assert warned.updates in range(5, 20)


def contextual() -> mb.ContextualAgent:
    other = mb.MeanBounds([0.2], [0.5], arms=["z"])
    return mb.ContextualAgent(mb.GLUE(), {"young": BOUNDS, "old": BOUNDS, "other": other}, seed=3)


def test_contexts_share_the_error() -> None:
    agent = contextual()
    (warned,) = feed(agent, "a", [1.0] * 20, "old")
    n = first_over(lambda n, s: float(log_e_upper(n, s, 0.5)), [1.0] * 20, LEVEL + math.log(3))
    assert warned.updates == n
    found = agent.contradictions()
    assert {key: [(one.arm, one.updates) for one in own] for key, own in found.items()} == {"old": [("a", n)]}
    assert agent["old"].plays[0] == 20
    assert agent.contradictions() == found  # also while its agent is kept awake
    feed(agent, "z", [1.0] * 20, "other")
    assert list(agent.contradictions()) == ["old", "other"]


def test_warnings_name_the_context() -> None:
    agent = contextual()
    for context, arm in (("young", "a"), ("other", "z")):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(20):
                agent.update(context, arm, 1.0)
        (message,) = (str(one.message) for one in caught)
        assert message.startswith(f"context {context!r}, arm {arm!r}: ")


def test_contextual_agents_remember() -> None:
    agent = contextual()
    feed(agent, "a", [1.0] * 20, "old")
    feed(agent, "z", [1.0] * 20, "other")
    found = agent.contradictions()
    for again in (mb.ContextualAgent.from_dict(json.loads(json.dumps(agent.to_dict()))), copy.deepcopy(agent)):
        assert again.contradictions() == found
        assert feed(again, "a", [1.0] * 5, "old") == feed(again, "z", [1.0] * 5, "other") == []
    agent.add("new")
    assert agent.contradictions() == found
    agent.forget("old")
    assert list(agent.contradictions()) == ["other"]


@pytest.mark.parametrize("kind", ["upper", "lower"])
def test_delays_that_depend_on_the_reward(kind: str) -> None:
    """Rewards that speak against the bound come at once, the others 150 pulls late; the mean is at the bound.

    60 runs with an error of 0.01: more than 7 false alarms have probability 1e-7. Without the missing ones all runs
    would give one.
    """
    bounds = mb.MeanBounds([0.5 * (kind == "lower")], [1.0 - 0.5 * (kind == "upper")], arms=["a"])
    rng, alarms, naive = np.random.default_rng(8), 0, 0
    for seed in range(60):
        agent, late, fooled = mb.Agent(mb.GLUE(), bounds, seed=seed), list[int](), False
        for t in range(300):
            agent.pull()
            if rng.random() < 0.5:
                feed(agent, "a", [float(kind == "upper")], history=False)
            else:
                late.append(t)
            if late and late[0] <= t - 150:
                late.pop(0)
                feed(agent, "a", [float(kind == "lower")], history=False)
            total = np.nan_to_num(agent.means) * agent.plays
            fooled |= t == 149 and bool(mb.evidence.check_bounds(bounds, agent.plays, total).contradictions)
        alarms += bool(agent.contradictions())
        naive += fooled
    assert alarms <= 7
    assert naive == 60
