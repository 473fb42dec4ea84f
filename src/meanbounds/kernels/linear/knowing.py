"""Whole simulated runs of a linear policy that has a prior, or bounds that may be wrong."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.copying import copy_into
from meanbounds.kernels.linear.decide import decide
from meanbounds.kernels.linear.design import CONTRADICTIONS, Design, new_design, observe, refresh
from meanbounds.kernels.linear.doubt import bet, doubts, foresee
from meanbounds.kernels.linear.play import LinearBlock, offer, true_means
from meanbounds.kernels.linear.pool import Pool, Rule, own_bounds
from meanbounds.kernels.random.rewards import draw
from meanbounds.kernels.random.stream import child, offer_key, policy_key, reward_key
from meanbounds.kernels.solvers.cone import Known
from meanbounds.support.types import Floats

__all__ = ["Side", "play_knowing", "started"]


class Side(NamedTuple):
    """One of the two plans: with the bounds, or without those that may be wrong."""

    pool: Pool
    rule: Rule
    known: Known
    root: Floats  # of the regression before the first reward: the prior is in it


@compiled
def started(side: Side) -> Design:
    """The regression before the first reward, with the prior."""
    design = new_design(side.pool.features, side.rule.regularisation)
    for row in range(side.root.shape[0]):
        copy_into(side.root[row], design.root[row])
    refresh(design, side.rule.regularisation)
    copy_into(side.known.centre, design.point)
    return design


@compiled
def play_knowing(told: Side, bare: Side, log_n: float, block: LinearBlock, evidence: Floats) -> None:
    """Play a block of runs; `evidence` gets the largest logarithm so far of the e-process against the bounds.

    With `log_n` infinite the bounds are certain: `bare` is not looked at, and nothing is bet.
    """
    pool, doubted = told.pool, log_n < np.inf
    arms, d = pool.features.shape
    means = true_means(pool, block.theta)
    mean, square, image = np.empty(arms), np.empty(arms), np.empty(d)
    order = np.arange(arms)
    offered = np.arange(block.drawn if block.drawn else arms)
    for run in range(block.curves.shape[0]):
        own, free = own_bounds(told.pool), own_bounds(bare.pool)
        design, wide = started(told), started(bare)
        carried = design.precision @ block.theta
        plays = block.plays[run]
        streams = reward_key(block.seed, block.first_run + run)
        offers = offer_key(block.seed, block.first_run + run)
        key = policy_key(block.seed, block.first_run + run)
        t, regret, kept, best, strain, log_e, most = 1, 0.0, 0, 0, 0.0, 0.0, 0.0
        for c in range(block.stops.size):
            while t <= block.stops[c]:
                if block.offers.shape[0]:
                    offered = block.offers[(t - 1) % block.offers.shape[0]]
                elif block.drawn:
                    offer(child(offers, t), order, offered)
                if doubted and doubts(log_n, log_e, t - 1, key):
                    arm, count, reach = decide(
                        free, bare.rule, bare.known, wide, offered, mean, square, False, t - 1, key
                    )
                else:
                    arm, count, reach = decide(
                        own, told.rule, told.known, design, offered, mean, square, False, t - 1, key
                    )
                distance = 0.0
                for i in range(d):
                    distance += (design.estimate[i] - block.theta[i]) * (design.moment[i] - carried[i])
                strain = max(strain, sqrt(max(distance, 0.0)) / reach)
                top = float(means[arm])
                for other in offered:
                    top = max(top, float(means[other]))
                regret += top - means[arm]
                best += means[arm] == top
                kept += count
                low, high, x, offset = pool.low[arm], pool.high[arm], pool.features[arm], pool.offset[arm]
                reward = low + (high - low) * draw(block.rewards, arm, child(streams, arm), int(plays[arm]))
                if doubted:
                    value, error = foresee(wide, bare.rule, x)
                    limits = told.pool.lower[arm], told.pool.upper[arm]
                    log_e += bet(reward, low, high, limits[0], limits[1], offset + value, error, plays[arm])[1]
                    most = max(most, log_e)
                    observe(wide, bare.rule, arm, x, reward - offset, free.proxy[arm], image)
                plays[arm] += 1.0
                update = observe(design, told.rule, arm, x, reward - offset, own.proxy[arm], image)
                push = update.weight * (means[arm] - offset)
                for i in range(d):
                    carried[i] += push * x[i]
                t += 1
            block.curves[run, c] = regret
            block.kept[run, c] = kept
            block.best[run, c] = best
            block.strain[run, c] = strain
            block.contradictions[run, c] = design.numbers[CONTRADICTIONS]
            evidence[run, c] = most
