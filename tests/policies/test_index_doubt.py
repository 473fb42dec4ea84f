"""Index policies with bounds that may be wrong: the second index, and who may free whom."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import meanbounds as mb

POLICIES: list[mb.policies.IndexPolicy] = [mb.BUCB(), mb.ImprovedUCB(), mb.GLUE(), mb.BKLUCB()]


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_a_doubted_arm_is_tried_once_log_f_exceeds_log_n(policy: mb.policies.IndexPolicy) -> None:
    bounds = mb.MeanBounds([0.7, 0.1], [0.9, 0.6], arms=["good", "excluded"])
    agent = mb.Agent(policy, mb.Knowledge(bounds, trust=[1.0, 0.9]), seed=1)
    first = None
    for t in range(1, 60):
        if agent.pull() == "excluded":
            first = t
            break
        agent.update("good", 0.8)
    rounds = np.arange(1.0, 60.0)
    assert first == 1 + int(np.argmax(policy.log_f(rounds) > np.log(10.0)))


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_an_arm_that_is_not_on_offer_frees_no_other(policy: mb.policies.IndexPolicy) -> None:
    """What excludes c are the bounds of a, which are hardly doubted; those of b are, and b is not on offer."""
    bounds = mb.MeanBounds([0.7, 0.8, 0.1], [0.9, 0.9, 0.6], arms=["a", "b", "c"])
    agent = mb.Agent(policy, mb.Knowledge(bounds, trust=[0.9999, 0.5, 1.0]), seed=1)
    for _ in range(100):
        assert agent.pull(eligible=["a", "c"]) == "a"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", mb.evidence.ContradictionWarning)
            agent.update("a", 0.2)  # far below what c may be, and below its own bound
