"""Policies that start from a log play as their naive twins do; no means are more likely than those that MINTS finds."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

import meanbounds as mb
from meanbounds.kernels.arms import textbook
from meanbounds.kernels.arms.tables import State
from tests import naive, strategies
from tests.kernels.test_twins import EXAMPLES, FEW_ROUNDS, SHARES, check, with_settings

CASES = strategies.cases(most_arms=6, horizon=FEW_ROUNDS)
BASES: dict[mb.Policy, Callable[[naive.Round], int]] = {
    policy: naive.TWINS[policy]
    for policy in (mb.UCB(), mb.GLUE(), mb.BKLUCB(), mb.OSSB(), mb.ThompsonSampling(), mb.ThompsonSampling(moments=2))
}


def drawn_log(draw: st.DrawFn, bounds: mb.MeanBounds) -> mb.LoggedArms:
    """Few or many rewards of some of the arms, at the ends of their range or between."""
    counts = [draw(st.sampled_from([0, 1, 3, 40, 2000])) for _ in bounds.arms]
    shares = [draw(st.sampled_from([0.0, 0.25, 0.5, 1.0]) | st.floats(0.0, 1.0)) for _ in bounds.arms]
    totals = [
        c * min(max(low + s * (high - low), low), high)
        for c, s, low, high in zip(counts, shares, bounds.low.tolist(), bounds.high.tolist(), strict=True)
    ]
    return mb.LoggedArms(tuple(counts), tuple(totals), bounds.arms)


def entries(log: mb.LoggedArms) -> naive.Log:
    return {arm: (c, t) for arm, c, t in zip(log.arms, log.counts, log.totals, strict=True)}


@with_settings(EXAMPLES)
@given(case=CASES, shares=SHARES, data=st.data())
def test_min_ucb(case: strategies.Case, shares: list[float], data: st.DataObject) -> None:
    log = data.draw(st.composite(drawn_log)(case.bounds))
    size = st.sampled_from([0.0, 0.1, 1.0, np.inf])
    bias = data.draw(st.none() | size | st.lists(size, min_size=len(log.counts), max_size=len(log.counts)).map(tuple))
    each = None if bias is None else dict(zip(log.arms, np.broadcast_to(bias, len(log.counts)).tolist(), strict=True))
    twin = partial(naive.min_ucb, log=entries(log), bias=each)
    check(mb.MINUCB(log=log, bias=bias), case, shares, twin)


@pytest.mark.parametrize("base", BASES, ids=repr)
@with_settings(EXAMPLES // 3)
@given(case=CASES, shares=SHARES, data=st.data())
def test_warm_start(base: mb.Policy, case: strategies.Case, shares: list[float], data: st.DataObject) -> None:
    log = data.draw(st.composite(drawn_log)(case.bounds))
    check(mb.WarmStart(base=base, log=log), case, shares, partial(naive.warm, base=BASES[base], log=entries(log)))


@with_settings(EXAMPLES // 3)
@given(case=CASES, shares=SHARES, data=st.data())
def test_most_frequent_arm(case: strategies.Case, shares: list[float], data: st.DataObject) -> None:
    log = data.draw(st.composite(drawn_log)(case.bounds))
    check(mb.MostFrequentArm(log=log), case, shares, partial(naive.most_frequent, log=entries(log)))


def random_standing(rng: np.random.Generator) -> tuple[mb.MeanBounds, np.ndarray]:
    """Bounds, and statistics of some rewards that may lie outside them; a third of the arms was never played."""
    size, mixed = int(rng.integers(2, 7)), rng.random() < 0.5
    low = rng.choice([0.0, -1.0, 0.2], size) if mixed else np.zeros(size)
    high = low + (rng.choice([1.0, 1.5, 2.0], size) if mixed else 1.0)
    ends = np.sort(rng.random((2, size)) ** rng.choice([0.5, 1.0, 2.0]), axis=0)
    lower, upper = low + (high - low) * ends
    lower, upper = (low if rng.random() < 0.3 else lower), (high if rng.random() < 0.3 else upper)
    table = np.zeros((len(State._fields), size))
    plays = rng.integers(0, 40, size) * (rng.random(size) < 0.7)
    table[0], table[1] = plays, rng.binomial(plays, rng.random(size)) * rng.choice([1.0, 0.9])
    table[5] = table[0] - table[1]
    return mb.MeanBounds(lower, upper, low=low, high=high), table


def test_no_solver_finds_more_likely_means_than_mints() -> None:
    """In a hundred standings: its weights follow from means that keep all constraints; scipy finds no better ones."""
    rng = np.random.default_rng(3)
    for _ in range(100):
        bounds, table = random_standing(rng)
        plan = mb.MINTS().plan(bounds)
        chances = np.empty(len(plan))
        textbook.chances(textbook.MINTS, plan.table, np.zeros(0), table, 0.0, chances)
        costs = np.array([least_cost(plan, table, k, rng) for k in range(len(plan))])
        weights = np.exp(costs.min() - costs)
        leader = int(np.argmin(costs))
        assert np.all(weights <= chances / chances[leader] + 1e-6)
        close = np.abs(weights - chances / chances[leader]) < 1e-5
        assert close.mean() >= 0.8  # the solver stops early now and then


def least_cost(plan: mb.Plan, table: np.ndarray, k: int, rng: np.random.Generator) -> float:
    """The smallest minus log likelihood that SLSQP finds for means within the bounds, none of them above that of k."""
    arms, lower, upper, best = plan.arms, plan.lower, plan.cap, plan.lower.max()
    wins, lacks = table[1, arms], table[5, arms]

    def unit(means: np.ndarray) -> np.ndarray:
        return np.clip((means - plan.low) / plan.width, 1e-12, 1.0 - 1e-12)

    def cost(means: np.ndarray) -> float:
        x = unit(means)
        return float(-(wins * np.log(x) + lacks * np.log1p(-x)).sum())

    def slope(means: np.ndarray) -> np.ndarray:
        x = unit(means)
        return np.asarray((lacks / (1.0 - x) - wins / x) / plan.width)

    order = np.eye(len(plan))[k] - np.delete(np.eye(len(plan)), k, axis=0)
    found = []
    for _ in range(3):
        start = lower + rng.uniform(0.1, 0.9) * (upper - lower)
        start[k] = best + rng.uniform(0.1, 0.9) * (upper[k] - best)
        limits: Any = {"type": "ineq", "fun": lambda means: order @ means, "jac": lambda _: order}
        result = minimize(
            cost,
            np.minimum(start, start[k]),
            jac=slope,
            bounds=list(zip(lower, upper, strict=True)),
            constraints=limits,
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 300},
        )
        means = np.clip(result.x, lower, upper)
        means[k] = max(means[k], best)
        found.append(cost(np.minimum(means, means[k])))
    return min(found)
