"""Which arms on offer can be best, from bounds alone."""

from __future__ import annotations

from math import acos, cos, pi, sqrt

import numpy as np

from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.linear.pool import Pool, Rule
from meanbounds.subgaussian import unit_proxy
from meanbounds.support.types import Integers

__all__ = ["bounded_proxy", "last_floor", "narrow", "restrict", "restricted_proxy"]

_ROUNDING = 1e-9  # of the largest mean that the norm allows
_unit_proxy = compiled(unit_proxy)


@compiled
def bounded_proxy(lower: float, upper: float, low: float, high: float) -> float:
    """Variance proxy of a reward in [low, high] whose mean is in [lower, upper]."""
    span = high - low
    mean = min(max(low + span / 2.0, lower), upper)
    above, below = max(mean - low, 0.0), max(high - mean, 0.0)
    tail, skew = np.float64(min(above, below) / span), np.float64(abs(below - above) / span)
    return float(_unit_proxy(tail, skew)[()] * span**2)


@compiled
def narrow(pool: Pool, arm: int, lower: float, upper: float) -> bool:
    """Take better bounds of an arm into the pool. Bounds that contradict those known are not taken: False."""
    lower, upper = max(lower, pool.lower[arm]), min(upper, pool.upper[arm])
    if lower > upper:
        return False
    if lower > pool.lower[arm] or upper < pool.upper[arm]:
        pool.lower[arm], pool.upper[arm] = lower, upper
        pool.proxy[arm] = bounded_proxy(lower, upper, pool.low[arm], pool.high[arm])
    return True


@compiled
def _most_promising(pool: Pool, offered: Integers) -> int:
    best = offered[0]
    for arm in offered:
        if pool.lower[arm] > pool.lower[best]:
            best = arm
    return int(best)


@compiled
def _cone(pool: Pool, rule: Rule, offered: Integers) -> int:
    """Bound each arm on offer by the lower bound of the most promising one and the norm of the parameter.

    Over all parameters with norm at most M whose product with features b is at least l, the product with features a
    lies between ||a|| M cos(min(angle + alpha, pi)) and ||a|| M cos(max(angle - alpha, 0)), where the angle is that
    between a and b, and cos(alpha) = l / (||b|| M). Both ends are attained. An arm with a product below its offer's
    best lower bound is outside the cone of the paper.
    """
    best = _most_promising(pool, offered)
    if pool.length[best] == 0.0:
        return 0
    refused = 0
    near = (pool.lower[best] - pool.offset[best]) / (pool.length[best] * rule.norm_high)
    near = min(max(near, -1.0), 1.0)
    for arm in offered:
        reach = pool.length[arm] * rule.norm_high
        product = 0.0
        for i in range(pool.features.shape[1]):
            product += pool.features[arm, i] * pool.features[best, i]
        angle = product / (pool.length[best] * max(pool.length[arm], 1e-300))  # its cosine
        angle = min(max(angle, -1.0), 1.0)
        across = sqrt((1.0 - angle * angle) * (1.0 - near * near))
        least = -1.0 if angle <= -near else angle * near - across
        most = 1.0 if angle >= near else angle * near + across
        slack = 1e-12 * (reach + abs(pool.offset[arm]))
        lower, upper = pool.offset[arm] + reach * least - slack, pool.offset[arm] + reach * most + slack
        refused += not narrow(pool, arm, lower, upper)
    return refused


@compiled
def last_floor(pool: Pool, rule: Rule, arm: int) -> float:
    """The largest floor with which an arm is kept: the floor is the largest lower bound on offer, its own included.

    An arm whose upper bound is the floor can be as good as the arm with that lower bound, not better. If the rule
    settles it is left out, unless the floor is its own lower bound; so is one whose upper bound is above the floor by
    no more than what the cone programs behind it may have added by rounding.
    """
    if not rule.prune:
        return np.inf
    upper, lower = float(pool.upper[arm]), float(pool.lower[arm])
    if not rule.settle:
        return upper
    slack = _ROUNDING * (pool.length[arm] * rule.norm_high + abs(pool.offset[arm]))
    return max(float(np.nextafter(upper - slack, -np.inf)), lower)


@compiled
def restrict(pool: Pool, rule: Rule, offered: Integers, kept: Integers) -> tuple[int, int]:
    """Write the arms on offer that can be best to `kept`: how many, and how many bounds contradicted each other."""
    refused = _cone(pool, rule, offered) if rule.cone else 0
    count, floor = 0, pool.lower[_most_promising(pool, offered)]
    for arm in offered:
        if last_floor(pool, rule, arm) >= floor:
            kept[count] = arm
            count += 1
    return count, refused


@compiled
def restricted_proxy(pool: Pool, rule: Rule, offered: Integers, kept: Integers) -> float:
    """Largest variance proxy of the arms that are kept.

    As printed it is at most that of a mean m cos(3 alpha), the least one of an arm of norm 1 in the cone while 3 alpha
    is at most pi / 2; beyond that it is no bound, and is not used.
    """
    own, common = 0.0, 0.0
    best = _most_promising(pool, offered)
    angle = 3.0 * acos(min(max(pool.lower[best] / rule.norm_high, -1.0), 1.0))
    for arm in kept:
        low, high = pool.low[arm], pool.high[arm]
        own = max(own, pool.proxy[arm])
        floor = min(max(rule.norm_low * cos(angle), low), high)
        common = max(common, bounded_proxy(floor, high, low, high))
    return min(own, common) if rule.printed and angle <= 0.5 * pi else own
