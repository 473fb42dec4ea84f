"""Bounds that may be wrong: every policy plays as its naive twin, and its chances are those of its pulls."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import meanbounds as mb
from meanbounds.kernels.arms import textbook
from meanbounds.kernels.arms.block import Block
from meanbounds.kernels.arms.tables import State
from tests import naive, naive_doubt, strategies

INTERPRETED = bool(numba.config.DISABLE_JIT)
EXAMPLES = 5 if INTERPRETED else 60
ROUNDS = 40 if INTERPRETED else 250
TRUSTS = st.sampled_from([0.0, 0.5, 0.9, 0.99, 0.9999, 1.0])


@st.composite
def doubted_cases(draw: st.DrawFn) -> tuple[strategies.Case, naive_doubt.Trust]:
    """Means as in other cases, bounds that may be anywhere, and a trust in those of each arm."""
    case = draw(strategies.cases(most_arms=5, horizon=ROUNDS))
    size, share = len(case.bounds), st.sampled_from([0.0, 0.2, 0.5, 0.8, 1.0]) | st.floats(0.0, 1.0)
    ends = np.sort(draw(st.lists(st.tuples(share, share), min_size=size, max_size=size)), axis=1).T
    b = case.bounds
    lower, upper = (np.clip(b.low + end * (b.high - b.low), b.low, b.high) for end in ends)
    if draw(st.booleans()):
        lower, upper = np.where(draw(st.booleans()), b.lower, lower), np.where(draw(st.booleans()), b.upper, upper)
        lower = np.minimum(lower, upper)
    bounds = mb.MeanBounds(lower, upper, low=b.low, high=b.high)
    one = draw(st.booleans())
    trust = (draw(TRUSTS),) * size if one else tuple(draw(st.lists(TRUSTS, min_size=size, max_size=size)))
    return case._replace(bounds=bounds), trust


def states_after(policy: mb.Policy, case: strategies.Case, known: mb.Knowledge) -> np.ndarray:
    """State of run 0 after all rounds."""
    state = np.zeros((1, len(State._fields), len(case.bounds)))
    law = case.environment.rewards(case.bounds.low, case.bounds.high)
    stops, curves = np.array([case.horizon]), np.empty((1, 1))
    seed, table = np.uint64(case.seed), policy.log_f(1, case.horizon)
    block = Block(state, law, seed, 0, table, 1, stops, case.environment.gaps, curves)
    plan = policy.plan(known)
    textbook.play(policy.code(plan), plan.table, policy.parameters, block)
    after: np.ndarray = state[0]
    return after


@pytest.mark.parametrize("policy", naive_doubt.DOUBTING, ids=repr)
@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(drawn=doubted_cases())
def test_twins(policy: mb.Policy, drawn: tuple[strategies.Case, naive_doubt.Trust]) -> None:
    case, trust = drawn
    rounds = naive.rounds_of(policy, case.horizon)
    twin = naive_doubt.twin_for(policy, trust)
    history = naive.play(policy, case.environment, case.bounds, rounds, case.seed, twin=twin)
    for stop in {len(history), (len(history) + 1) // 2} - {0}:
        played = states_after(policy, case._replace(horizon=stop), mb.Knowledge(case.bounds, trust=trust))
        assert played[0].tolist() == history[stop - 1].plays
        assert played[1].tolist() == history[stop - 1].total
