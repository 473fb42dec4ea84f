"""Contexts with priors are at rest in columns; they act as agents that are kept in memory do."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pytest

import meanbounds as mb
from meanbounds.agents import contextual

ARMS = ["a", "b", "c"]


def knowledge(seed: int, contexts: int = 6) -> dict[Any, mb.Knowledge]:
    """Bounds for each context, and priors for all but the third."""
    rng, known = np.random.default_rng(seed), {}
    for z in range(contexts):
        ends = np.sort(rng.random((2, 3)), axis=0)
        prior = mb.Prior(rng.uniform(0.1, 0.9, 3), rng.uniform(0.5, 9.0, 3))
        known[f"z{z}"] = mb.Knowledge(mb.MeanBounds(*ends, arms=ARMS), prior=None if z == 2 else prior)
    return known


def play(agent: mb.ContextualAgent, rng: np.random.Generator, rounds: int = 60) -> list[tuple[str, Any, float]]:
    """Decide and learn in random contexts."""
    made = []
    for _ in range(rounds):
        context = str(rng.choice(list(agent.contexts)))
        chances = agent.probabilities(context)
        arm = agent.pull(context)
        agent.update(context, arm, float(rng.integers(2)))
        made.append((context, arm, float(chances.max())))
    return made


@pytest.mark.parametrize("policy", [mb.ThompsonSampling(), mb.OptimisticGittins(), mb.BIMED()], ids=repr)
def test_contexts_at_rest_decide_as_those_kept_awake(policy: mb.Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contextual, "_AWAKE", 2)
    known = knowledge(1)
    resting, awake = (mb.ContextualAgent(policy, known, seed=7, floor=0.01, unknown="vacuous") for _ in range(2))
    assert [awake[context].knowledge for context in known] == list(known.values())  # from now on they stay in memory
    assert not resting._kept
    for step in range(5):
        for agent in (resting, awake):
            if step == 1:
                agent.add("new", upper=0.8)
            elif step == 2:
                agent.retire("a")
                agent.forget("z4")
            elif step == 3:
                agent.restore("a")
                agent.replace_bounds({"z0": mb.MeanBounds([0.1] * 4, [0.9] * 4, arms=[*ARMS, "new"])})
        made = [play(agent, np.random.default_rng(step)) for agent in (resting, awake)]
        assert made[0] == made[1]
        assert resting.to_dict() == awake.to_dict()
        resting = mb.ContextualAgent.from_dict(json.loads(json.dumps(resting.to_dict())))
        resting = pickle.loads(pickle.dumps(resting))
    assert resting["z1"].knowledge == awake["z1"].knowledge
    assert resting["z1"].knowledge.prior is not None
    with pytest.warns(UserWarning, match="is new"):
        resting.pull("unheard of")
    assert resting["unheard of"].knowledge.prior is None


def test_a_policy_that_cannot_use_priors_is_refused() -> None:
    with pytest.raises((TypeError, ValueError), match="prior"):
        mb.ContextualAgent(mb.GLUE(), knowledge(2))
    saved = mb.ContextualAgent(mb.BIMED(), knowledge(2), seed=1).to_dict()
    with pytest.raises((TypeError, ValueError), match="prior"):
        mb.ContextualAgent.from_dict(saved | {"policy": mb.GLUE().to_dict()})


@pytest.mark.parametrize(
    ("priors", "says"),
    [
        ([None] * 5, "priors has 5 entries for 6 contexts"),
        ({}, "priors must be a list"),
        ([None] * 5 + [[[0.5, 0.5, 0.5]]], "priors"),
        ([None] * 5 + [[[0.5, 0.5, 1.5], [2.0, 2.0, 2.0]]], "prior mean of arm 'c' is 1.5, not inside its range"),
        ([None] * 5 + [[[0.5, 0.5, 0.5], [2.0, 0.0, 2.0]]], "strength of a prior is a number of plays above 0"),
        ([None] * 5 + [[[0.5, 0.5, 0.5], [2.0, 2.0, 1e300]]], "A stronger prior would outweigh"),
        ([None] * 5 + [[[0.5, 0.5, float("nan")], [2.0, 2.0, 2.0]]], "finite numbers"),
        ([None] * 5 + ["x"], "priors"),
    ],
)
def test_saved_priors_that_cannot_be_are_refused(priors: Any, says: str) -> None:
    saved = mb.ContextualAgent(mb.BIMED(), knowledge(3), seed=1).to_dict()
    with pytest.raises(ValueError, match=says):
        mb.ContextualAgent.from_dict(saved | {"priors": priors})
