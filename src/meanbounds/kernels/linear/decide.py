"""One round of a linear policy: find the arms that can be best, compute their indices, choose."""

from __future__ import annotations

from math import inf, sqrt

import numpy as np

from meanbounds.kernels.compiling import compiled, general
from meanbounds.kernels.linear.design import CONTRADICTIONS, PROXY, Design, radius, spread, still_design
from meanbounds.kernels.linear.exact import every_exact, largest_exact
from meanbounds.kernels.linear.pool import EXACT, PLAIN, RESTRICTED_MAX, SAMPLE, Pool, Rule, own_bounds
from meanbounds.kernels.linear.restrict import narrow, restrict, restricted_proxy
from meanbounds.kernels.linear.sample import sample
from meanbounds.kernels.linear.settle import Now, settle
from meanbounds.kernels.solvers.cone import Known
from meanbounds.support.types import Floats, Integers

__all__ = ["decide", "fill", "indices", "learn", "measure"]


@compiled
def measure(pool: Pool, design: Design, arms: Integers, mean: Floats, square: Floats) -> None:
    """The estimate of each arm's mean without its offset, and x V^-1 x."""
    image = np.empty(pool.features.shape[1])
    for arm in arms:
        x = pool.features[arm]
        square[arm] = spread(design, x, image)
        value = 0.0
        for i in range(x.size):
            value += x[i] * design.estimate[i]
        mean[arm] = value


@general
@compiled
def fill(
    pool: Pool,
    rule: Rule,
    known: Known,
    design: Design,
    reach: float,
    kept: Integers,
    mean: Floats,
    square: Floats,
    every: bool,
    out: Floats,
) -> None:
    """Write the index of each arm that is kept.

    An exact index that cannot be the largest is left at what it is at most, unless `every` one is wanted.
    """
    for k in range(kept.size):
        arm = kept[k]
        width = reach * sqrt(max(square[arm], 0.0))
        plain = pool.offset[arm] + mean[arm] + width
        out[k] = plain if rule.index_kind == PLAIN else min(plain, pool.upper[arm])
    if rule.index_kind == EXACT and every:
        design.numbers[CONTRADICTIONS] += not every_exact(pool, rule, known, design, reach, kept, out)
    elif rule.index_kind == EXACT and kept.size > 1:
        design.numbers[CONTRADICTIONS] += not largest_exact(pool, rule, known, design, reach, kept, out)


@compiled
def learn(pool: Pool, reach: float, offered: Integers, mean: Floats, square: Floats) -> int:
    """Bound the arms on offer by the confidence set: how many of these bounds contradict those known."""
    refused = 0
    for arm in offered:
        width = reach * sqrt(max(square[arm], 0.0))
        middle = pool.offset[arm] + mean[arm]
        refused += not narrow(pool, arm, middle - width, middle + width)
    return refused


@general
@compiled
def decide(
    pool: Pool,
    rule: Rule,
    known: Known,
    design: Design,
    offered: Integers,
    mean: Floats,
    square: Floats,
    up_to_date: bool,
    number: int,
    key: np.uint64,
) -> tuple[int, int, float]:
    """Arm to play, how many could be best, and the radius of the confidence set.

    `mean` and `square` hold x . estimate and x V^-1 x of every arm if `up_to_date`, and are room for them otherwise.
    """
    reach = radius(design, rule)
    if rule.online:
        if not up_to_date:
            measure(pool, design, offered, mean, square)
        design.numbers[CONTRADICTIONS] += learn(pool, reach, offered, mean, square)
    room = np.empty(offered.size, np.int64)
    count, refused = restrict(pool, rule, offered, room)
    design.numbers[CONTRADICTIONS] += refused
    kept = room[:count]
    if count == 1 and rule.noise != RESTRICTED_MAX:
        return int(kept[0]), 1, reach
    if rule.index_kind == SAMPLE:
        return int(kept[sample(pool, rule, known, design, kept, number, key)]), count, reach
    if not (up_to_date or rule.online):
        measure(pool, design, kept, mean, square)
    scores = np.empty(count)
    fill(pool, rule, known, design, reach, kept, mean, square, False, scores)
    if rule.noise == RESTRICTED_MAX:
        design.numbers[PROXY] = max(design.numbers[PROXY], restricted_proxy(pool, rule, offered, kept))
    now = Now(reach, rule.norm_high, rule.settle, number, key)
    place = settle(scores, count, kept, pool.offset, mean, square, pool.length, pool.lower, pool.upper, now)
    return int(kept[place]), count, reach


@compiled
def indices(pool: Pool, rule: Rule, known: Known, design: Design, offered: Integers) -> Floats:
    """Index of each arm on offer, minus infinity for one that cannot be best; changes nothing."""
    own = own_bounds(pool)
    still = still_design(design)
    mean, square = np.zeros(pool.length.size), np.zeros(pool.length.size)
    measure(own, still, offered, mean, square)
    reach = radius(still, rule)
    if rule.online:
        learn(own, reach, offered, mean, square)
    room = np.empty(offered.size, np.int64)
    count, _ = restrict(own, rule, offered, room)
    scores = np.empty(count)
    fill(own, rule, known, still, reach, room[:count], mean, square, True, scores)
    out = np.full(offered.size, -inf)
    for k in range(count):
        for place in range(offered.size):
            if offered[place] == room[k]:
                out[place] = scores[k]
    return out
