"""Whole simulated runs of a linear policy."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.copying import copy_into
from meanbounds.kernels.linear.decide import decide, measure
from meanbounds.kernels.linear.design import CONTRADICTIONS, new_design, observe
from meanbounds.kernels.linear.pool import Pool, Rule, own_bounds
from meanbounds.kernels.random.rewards import Rewards, draw
from meanbounds.kernels.random.stream import child, offer_key, policy_key, reward_key, uniform
from meanbounds.kernels.solvers.cone import Known
from meanbounds.support.types import Floats, Integers

__all__ = ["LinearBlock", "offer", "play", "true_means"]


class LinearBlock(NamedTuple):
    """Runs to play, and room for what they show."""

    rewards: Rewards
    theta: Floats
    offers: Integers  # rounds x arms: what is on offer, over and over; of no rounds where it is drawn
    drawn: int  # how many arms are drawn in a round; 0 for all of them
    seed: np.uint64
    first_run: int
    stops: Integers  # rounds at which the rows below are filled in
    curves: Floats  # runs x stops: regret
    kept: Floats  # runs x stops: arms that could be best, summed over rounds
    best: Floats  # runs x stops: rounds in which a best arm was played
    strain: Floats  # runs x stops: largest distance of theta from the estimate so far, in radii of the confidence set
    contradictions: Floats  # runs x stops: contradictions between bounds and data
    plays: Floats  # runs x arms


@compiled
def offer(key: np.uint64, order: Integers, out: Integers) -> None:
    """Draw arms without replacement into `out`; `order` is 0, 1, 2, ... before and after."""
    for k in range(out.size):
        other = k + int(uniform(key, k) * (order.size - k))
        order[k], order[other] = order[other], order[k]
    copy_into(order, out)
    for k in range(out.size - 1, -1, -1):
        other = k + int(uniform(key, k) * (order.size - k))
        order[k], order[other] = order[other], order[k]


@compiled
def _project(columns: Floats, image: Floats, out: Floats) -> None:
    """Product of every arm's features with `image`; arms are contiguous in `columns`, d x arms."""
    out[:] = 0.0
    for i in range(image.size):
        part = image[i]
        for arm in range(out.size):
            out[arm] += part * columns[i, arm]


@compiled
def true_means(pool: Pool, theta: Floats) -> Floats:
    """Mean reward of every arm."""
    means = pool.offset.copy()
    for arm in range(means.size):
        for i in range(theta.size):
            means[arm] += pool.features[arm, i] * theta[i]
    return means


@compiled
def play(pool: Pool, rule: Rule, known: Known, block: LinearBlock, keep_all: bool) -> None:
    """Play a block of runs.

    With `keep_all` the estimate and the width of every arm in the pool are kept up to date: one product of all arms
    with a vector in a round. Without it they are computed when they are asked for.
    """
    arms, d = pool.features.shape
    columns = np.ascontiguousarray(pool.features.T)
    means = true_means(pool, block.theta)
    mean, square, product, image = np.empty(arms), np.empty(arms), np.empty(arms), np.empty(d)
    order = np.arange(arms)
    offered = np.arange(block.drawn if block.drawn else arms)
    for run in range(block.curves.shape[0]):
        own = own_bounds(pool)
        design = new_design(pool.features, rule.regularisation)
        copy_into(known.centre, design.point)
        carried = rule.regularisation * block.theta  # V theta
        mean[:] = 0.0
        copy_into(pool.length**2 / rule.regularisation, square)
        plays = block.plays[run]
        streams = reward_key(block.seed, block.first_run + run)
        offers = offer_key(block.seed, block.first_run + run)
        key = policy_key(block.seed, block.first_run + run)
        t, regret, kept, best, strain = 1, 0.0, 0, 0, 0.0
        for c in range(block.stops.size):
            while t <= block.stops[c]:
                if block.offers.shape[0]:
                    offered = block.offers[(t - 1) % block.offers.shape[0]]
                elif block.drawn:
                    offer(child(offers, t), order, offered)
                arm, count, reach = decide(own, rule, known, design, offered, mean, square, keep_all, t - 1, key)
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
                reward = draw(block.rewards, arm, child(streams, arm), int(plays[arm]))
                reward = pool.low[arm] + (pool.high[arm] - pool.low[arm]) * reward
                plays[arm] += 1.0
                x = own.features[arm]
                update = observe(design, rule, arm, x, reward - pool.offset[arm], own.proxy[arm], image)
                push = update.weight * (means[arm] - pool.offset[arm])
                for i in range(d):
                    carried[i] += push * x[i]
                if keep_all and update.refreshed:
                    measure(own, design, order, mean, square)
                elif keep_all:
                    _project(columns, image, product)
                    for k in range(arms):
                        mean[k] += update.shift * product[k]
                        square[k] -= update.factor * product[k] * product[k]
                t += 1
            block.curves[run, c] = regret
            block.kept[run, c] = kept
            block.best[run, c] = best
            block.strain[run, c] = strain
            block.contradictions[run, c] = design.numbers[CONTRADICTIONS]
