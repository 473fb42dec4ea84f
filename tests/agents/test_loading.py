"""Everything in a saved agent is checked before an agent is made of it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

import meanbounds as mb
from meanbounds.agents.features import FeaturesLearner

BOUNDS = mb.MeanBounds([0.2, 0.1, 0.3], [0.8, 0.9, 0.7], arms=list("abc"))
FEATURES = [[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]]


def on_arms() -> mb.Agent:
    agent = mb.Agent(mb.GLUE(), BOUNDS, seed=3)
    for arm, reward in zip("abca", (1.0, 0.0, 0.5, 0.25), strict=True):
        agent.pull()
        agent.update(arm, reward)
    agent.pull()
    return agent


def with_features() -> mb.Agent:
    agent = mb.Agent(mb.ROFUL(online=True), BOUNDS, seed=3, features=FEATURES)
    for arm, reward in zip("abca", (1.0, 0.0, 0.5, 0.25), strict=True):
        agent.pull()
        agent.update(arm, reward)
    agent.pull(["a", mb.Candidate([0.5, 0.5], name="new")])
    return agent


COMMON: list[tuple[str, Any]] = [
    ("pulls", -1),
    ("pulls", float("nan")),
    ("pulls", 2**63),
    ("pulls", "5"),
    ("pulls", 0),  # but one is pending
    ("updates", -1),
    ("updates", 7),  # but there were four rewards
    ("updates", 4.5),
    ("pending", [2**63, 0, 0]),
    ("pending", [-1, 1, 1]),
    ("pending", [1, 0]),
    ("pending", [0.5, 0, 0]),
    ("pending", None),
    ("plays", [float("nan"), 1.0, 1.0]),
    ("plays", [float("inf"), 1.0, 1.0]),
    ("plays", [-2.0, 1.0, 1.0]),
    ("plays", [1.5, 1.5, 1.0]),
    ("plays", [2.0, 1.0]),
    ("plays", [3.0, 1.0, 1.0]),
    ("total", [float("inf"), 0.0, 0.5]),
    ("total", [2.5, 0.0, 0.5]),
    ("total", [-0.1, 0.0, 0.5]),
    ("seed", -1),
    ("seed", 1.5),
    ("floor", 2.0),
    ("floor", None),
    ("retired", ["z"]),
    ("retired", "a"),
    ("retired", [["a"]]),
    ("knowledge", []),
    ("policy", "GLUE"),
]
ARMS: list[tuple[str, Any]] = [
    ("squares", [2.0, 0.0, 0.25]),
    ("ones", [3.0, 0.0, 0.0]),
    ("ones", [0.5, 0.0, 0.0]),
    ("memory", [-1.0, 0.0, 0.0]),
    ("shortfall", [0.1, 1.0, 0.5]),
    ("shortfall_squares", [9.0, 1.0, 0.25]),
]
LINEAR: list[tuple[str, Any]] = [
    ("lower", [1, 2, 3]),
    ("lower", [0.2, 0.1]),
    ("lower", [0.0, 0.0, 0.0]),  # below the bounds that the agent started from
    ("upper", [0.9, 0.9, float("nan")]),
    ("proxy", [1.0, 0.25, 0.25]),
    ("proxy", [-0.1, 0.25, 0.25]),
    ("precision", [[1.0]]),
    ("precision", [[1.0, 0.0], [0.0, 1.0]]),
    ("inverse", [[1.0, 0.0], [0.0, 1.0]]),
    ("inverse", [[float("nan"), 0.0], [0.0, 1.0]]),
    ("moment", [10.0, 0.0]),
    ("estimate", [10.0, 0.0]),
    ("estimate", [0.0]),
    ("numbers", [0.0, 0.25, 4.0, -1.0]),
    ("numbers", [0.0, 0.25, 5.0, 0.0]),
    ("root", [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]]),
    ("root", [[-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
    ("weights", [-1.0, 1.0, 1.0]),
    ("given", [100.0, 0.0, 0.0]),
    ("features", [[1.0, 0.0], [0.6, 0.8]]),
    ("waiting", [{"times": 1}]),
    ("waiting", [1]),
    ("waiting", "none"),
]


@pytest.mark.parametrize(
    ("make", "name", "value"),
    [
        *((on_arms, *entry) for entry in COMMON + ARMS),
        *((with_features, *entry) for entry in COMMON + LINEAR),
    ],
)
def test_an_entry_that_cannot_be_right_is_refused(make: Any, name: str, value: Any) -> None:
    saved = json.loads(json.dumps(make().to_dict()))
    assert mb.Agent.from_dict(saved).to_dict() == saved
    assert name in saved
    with pytest.raises(ValueError, match=r"saved|policy|knowledge|bounds|arm"):
        mb.Agent.from_dict({**saved, name: value})
    del saved[name]
    if name not in ("root", "shortfall", "shortfall_squares", "weights", "given"):  # version 0.1 had none of these
        with pytest.raises(ValueError, match=f"lacks {name}"):
            mb.Agent.from_dict(saved)


def test_a_regression_saved_before_it_had_a_root() -> None:
    """The root is made from the matrix, and the agent goes on as it would have done."""
    agent = with_features()
    saved = agent.to_dict()
    old = {name: value for name, value in saved.items() if name not in ("root", "weights", "given")}
    again = mb.Agent.from_dict(old)
    for k in range(3000):  # past two refreshes
        arm = agent.pull(list("abc"))
        assert again.pull(list("abc")) == arm
        for one in (agent, again):
            one.update(arm, float(k % 3 == 0))
    np.testing.assert_allclose(again.estimate, agent.estimate, rtol=1e-9)
    with pytest.raises(ValueError, match="precision must be symmetric"):
        mb.Agent.from_dict({**old, "precision": [[2.0, 0.5], [0.0, 2.0]]})


def test_very_many_pending_pulls_end() -> None:
    """Each was supposed by itself: 2^53 of them took for ever."""
    saved = with_features().to_dict()
    agent = mb.Agent.from_dict({**saved, "pulls": 2**53, "pending": [2**52, 0, 0]})
    assert agent.pull(list("abc"), pending="count") in BOUNDS.arms
    inside = agent.inside
    assert isinstance(inside, FeaturesLearner)
    assert np.isfinite(inside.standing.design.inverse).all()


@pytest.mark.parametrize("make", [on_arms, with_features])
@pytest.mark.parametrize("reward", [np.ma.masked, pd.NA, 10**400, "1", [0.5], 1j, np.timedelta64(1), None])
def test_a_reward_that_is_no_number(make: Any, reward: Any) -> None:
    agent = make()
    before = agent.to_dict()
    with pytest.raises(mb.RewardError, match="is not a number in its range"):
        agent.update("a", reward)
    with pytest.raises(TypeError, match="history must be True or False"):
        agent.update("a", 0.5, history=pd.NA)
    assert agent.to_dict() == before
