"""One round of a linear policy: find the arms that can be best, compute their indices, choose."""

from __future__ import annotations

from math import inf, sqrt

import numpy as np

from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.linear.design import CONTRADICTIONS, PROXY, Design, radius, spread, still_design
from meanbounds.kernels.linear.pool import EXACT, PLAIN, RESTRICTED_MAX, SAMPLE, Pool, Rule, own_bounds
from meanbounds.kernels.linear.restrict import narrow, restrict, restricted_proxy
from meanbounds.kernels.linear.sample import sample
from meanbounds.kernels.linear.settle import Now, rounding, settle
from meanbounds.kernels.solvers.cone import Known, maximise
from meanbounds.support.types import Floats, Integers

__all__ = ["binding", "decide", "exact_index", "fill", "indices", "learn", "measure"]


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


@compiled
def _satisfies(known: Known, point: Floats) -> bool:
    """Whether a parameter satisfies all limits but the ellipsoid."""
    square = 0.0
    for i in range(point.size):
        square += point[i] * point[i]
    if square > 1.0:
        return False
    for k in range(known.rows.shape[0]):
        value = 0.0
        for i in range(point.size):
            value += known.rows[k, i] * point[i]
        if value > known.upper[k] or value < known.lower[k]:
            return False
    return True


@compiled
def binding(known: Known, design: Design, norm_high: float, reach: float) -> Known:
    """What is known, with the confidence set, and without the limits that all of the confidence set satisfies."""
    n, d = known.rows.shape
    lower, upper, image = np.empty(n), np.empty(n), np.empty(d)
    some, count = np.empty(n, np.int64), 0
    for k in range(n):
        width, middle = reach * sqrt(spread(design, known.rows[k], image)), 0.0
        for i in range(d):
            middle += known.rows[k, i] * design.estimate[i]
        lower[count] = known.lower[k] if middle - width < known.lower[k] * norm_high else -inf
        upper[count] = known.upper[k] if middle + width > known.upper[k] * norm_high else inf
        some[count] = k
        count += lower[count] > -inf or upper[count] < inf
    rows = np.empty((count, d))
    for place in range(count):
        rows[place] = known.rows[some[place]]
    shape = design.precision * (norm_high / reach) ** 2
    return Known(rows, lower[:count], upper[:count], design.estimate / norm_high, shape)


@compiled
def exact_index(pool: Pool, design: Design, known: Known, norm_high: float, reach: float, arm: int) -> float:
    """The largest mean of an arm over what is known, the confidence set included; NaN if nothing satisfies it all.

    Nothing is solved where the maximiser over the confidence set satisfies all bounds, or where one over the bounds
    lies in the confidence set.
    """
    x, length = pool.features[arm], pool.length[arm]
    if length == 0.0:
        return float(pool.offset[arm])
    d = x.size
    image, place = np.empty(d), np.empty(d)
    width = sqrt(spread(design, x, image))
    value = 0.0
    for i in range(d):
        place[i] = (design.estimate[i] + reach / width * image[i]) / norm_high
        value += x[i] * design.estimate[i]
    if _satisfies(known, place):
        return float(pool.offset[arm] + value + reach * width)
    peak = pool.peaks[arm]
    if peak[0] == peak[0]:
        square = 0.0
        for i in range(d):
            part = 0.0
            for j in range(d):
                part += design.precision[i, j] * (peak[j] - design.estimate[j])
            square += part * (peak[i] - design.estimate[i])
        if square <= reach * reach:
            return float(pool.upper[arm])
    found = maximise(x / length, known).value
    return float(pool.offset[arm] + norm_high * length * found) if found >= -1.0 else np.nan


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
    if rule.index_kind == EXACT and (every or kept.size > 1):
        inside = binding(known, design, rule.norm_high, reach)
        solved = np.zeros(kept.size, np.bool_)
        best = -inf
        for _ in range(kept.size):
            top = -1
            for k in range(kept.size):
                if not solved[k] and (top < 0 or out[k] > out[top]):
                    top = k
            slack = rounding(best, pool.length[kept[top]], pool.offset[kept[top]], rule.norm_high)
            if not every and out[top] < best - slack:
                break
            solved[top] = True
            value = exact_index(pool, design, inside, rule.norm_high, reach, kept[top])
            if value == value:
                out[top] = min(out[top], value)
            else:
                design.numbers[CONTRADICTIONS] += 1.0
                break
            best = max(best, out[top])


@compiled
def learn(pool: Pool, reach: float, offered: Integers, mean: Floats, square: Floats) -> int:
    """Bound the arms on offer by the confidence set: how many of these bounds contradict those known."""
    refused = 0
    for arm in offered:
        width = reach * sqrt(max(square[arm], 0.0))
        middle = pool.offset[arm] + mean[arm]
        refused += not narrow(pool, arm, middle - width, middle + width)
    return refused


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
