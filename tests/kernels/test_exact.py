"""The largest exact index: found with few cone programs, and the same as if each arm were solved for."""

from __future__ import annotations

import numpy as np
import pytest

import meanbounds as mb
from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.linear import Pool, Rule, decide, new_design, observe, own_bounds, radius
from meanbounds.kernels.linear.decide import fill, learn, measure
from meanbounds.kernels.linear.design import CONTRADICTIONS, still_design
from meanbounds.kernels.linear.proofs import at_least, at_most
from meanbounds.kernels.linear.restrict import restrict
from meanbounds.kernels.linear.settle import Now, settle
from meanbounds.kernels.solvers.cone import Known
from meanbounds.support.types import Floats, Integers
from tests.naive_linear import random_instance

ROUNDS = 80
AT_ONCE = 10  # rewards of the arm that is played, in a round: the confidence set shrinks faster

DIFFERENT, COMPARED, PROVED, TOO_LOW, TOO_HIGH, CONTRADICTED = range(6)


@compiled
def play_both(
    pool: Pool, rule: Rule, known: Known, means: Floats, offers: Integers, draws: Floats, wrong: float
) -> Floats:
    """Play, and solve for each arm beside it: rounds that differ, and how far proofs are from the truth."""
    arms, d = pool.features.shape
    design, image, key, counts = new_design(pool.features, rule.regularisation), np.empty(d), np.uint64(7), np.zeros(6)
    mean, square, room = np.zeros(arms), np.zeros(arms), np.empty(offers.shape[1], np.int64)
    for t in range(offers.shape[0]):
        own, still, reach = own_bounds(pool), still_design(design), radius(design, rule)
        arm, count, _ = decide(pool, rule, known, design, offers[t], mean, square, False, t, key)
        if count > 1:
            measure(own, still, offers[t], mean, square)
            if rule.online:
                learn(own, reach, offers[t], mean, square)
            restrict(own, rule, offers[t], room)
            kept, scores, most, least = room[:count], np.empty(count), np.empty(count), np.empty(count)
            for k in range(count):
                most[k] = at_most(own, still, rule.norm_high, reach, kept[k], image)
                least[k] = at_least(own, still, known, rule.norm_high, reach, kept[k])
            fill(own, rule, known, still, reach, kept, mean, square, True, scores)
            now = Now(reach, rule.norm_high, rule.settle, t, key)
            place = settle(scores, count, kept, own.offset, mean, square, own.length, own.lower, own.upper, now)
            counts[DIFFERENT] += kept[place] != arm
            counts[COMPARED] += 1.0
            for k in range(count):
                counts[PROVED] += most[k] < np.inf and least[k] > -np.inf
                counts[TOO_LOW] = max(counts[TOO_LOW], scores[k] - most[k])
                counts[TOO_HIGH] = max(counts[TOO_HIGH], min(least[k], own.upper[kept[k]]) - scores[k])
        low, span = pool.low[arm], pool.high[arm] - pool.low[arm]
        for part in range(AT_ONCE):
            reward = low + span * (draws[t, part] * span < means[arm] + wrong - low)
            observe(design, rule, arm, pool.features[arm], reward - pool.offset[arm], pool.proxy[arm], image)
    counts[CONTRADICTED] = design.numbers[CONTRADICTIONS]
    return counts


def compared(policy: mb.ROFUL, seed: int, wrong: float = 0.0) -> Floats:
    """The counts of one random instance."""
    rng = np.random.default_rng([seed, 5])
    arms, d = int(rng.integers(6, 20)), int(rng.integers(2, 6))
    drawn = random_instance(
        rng, arms, d, width=float(rng.uniform(0.1, 0.8)), unit=bool(seed % 2), offsets=seed % 3 == 0, one_range=True
    )
    same = np.arange(arms)
    same[: arms // 3] = 0  # arms that are alike, for ties
    bounds = drawn.bounds
    twins = mb.MeanBounds(bounds.lower[same], bounds.upper[same], low=bounds.low[same], high=bounds.high[same])
    plan = policy.plan(mb.LinearArms(drawn.features[same], twins, offset=drawn.offset[same]))
    offers = np.array([rng.choice(arms, min(arms, 5), replace=False) for _ in range(ROUNDS)])
    return play_both(plan.pool, plan.rule, plan.known, drawn.means[same], offers, rng.random((ROUNDS, AT_ONCE)), wrong)


@pytest.mark.parametrize(
    "policy",
    [mb.ROFUL(), mb.ROFUL(settle=False), mb.ROFUL(online=True), mb.ROFUL(tighten="none", noise="pool-max")],
    ids=str,
)
def test_choices_are_those_of_solving_for_every_arm(policy: mb.ROFUL) -> None:
    found = np.array([compared(policy, seed) for seed in range(100)])
    total, worst = found.sum(axis=0), found.max(axis=0)
    assert total[COMPARED] > 1_000
    assert total[PROVED] > 500
    assert total[DIFFERENT] == 0
    assert total[CONTRADICTED] == 0
    assert worst[TOO_LOW] < 1e-8
    assert worst[TOO_HIGH] < 1e-8


def test_contradictions_are_noticed_all_the_same() -> None:
    found = np.array([compared(mb.ROFUL(), seed, wrong=0.8) for seed in range(30)])
    assert np.sum(found[:, CONTRADICTED] > 0.0) > 10
    assert found[:, DIFFERENT].sum() == 0
