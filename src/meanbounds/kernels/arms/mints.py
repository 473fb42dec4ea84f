"""MINTS: how likely each candidate is best, from the largest likelihood that means with this arm on top can have."""

from __future__ import annotations

from math import exp

import numpy as np

from meanbounds.kernels.arms.divergence import kl_between
from meanbounds.kernels.arms.tables import Plan, State, ends_of, mean_of, mean_seen, seen_of
from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.random.stream import uniform
from meanbounds.support.types import Floats

__all__ = ["choose_mints", "cost_of_being_best", "distance_from", "mints_chances", "mints_level"]

_HALVINGS = 200  # after these no float lies between two numbers in a reward range


@compiled
def distance_from(plan: Plan, state: State, k: int, mean: float) -> float:
    """Plays times the divergence of the rewards from a mean, in raw units, that is not below the range."""
    plays, total, _, shortfall, _ = seen_of(state, int(plan.arm[k]))
    if plays == 0.0:
        return 0.0
    goal, lack = (mean - plan.low[k]) / plan.span[k], (plan.high[k] - mean) / plan.span[k]
    return float(plays * kl_between(total / plays, shortfall / plays, goal, lack))


@compiled
def _slope(plan: Plan, state: State, k: int, level: float) -> float:
    """How fast `distance_from` grows with a mean above the bottom of the range."""
    _, total, _, shortfall, _ = seen_of(state, int(plan.arm[k]))
    x, lack = (level - plan.low[k]) / plan.span[k], (plan.high[k] - level) / plan.span[k]
    if shortfall > 0.0 and lack <= 0.0:
        return np.inf
    return float(((shortfall / lack if shortfall > 0.0 else 0.0) - total / x) / plan.span[k])


@compiled
def _slopes(plan: Plan, state: State, clipped: Floats, k: int, level: float, above: float) -> float:
    """The slope of everything that the level moves: candidate k, and those whose clipped mean is above `above`."""
    slope = _slope(plan, state, k, level)
    for j in range(clipped.size):
        if j != k and clipped[j] > above:
            slope += _slope(plan, state, j, level)
    return slope


@compiled
def _root(plan: Plan, state: State, clipped: Floats, k: int, start: float, stop: float) -> float:
    """Where between two neighbouring clipped means the slope of everything that the level moves becomes positive."""
    below, above = start, stop
    for _ in range(_HALVINGS):
        middle = below + 0.5 * (above - below)
        if not below < middle < above:
            break
        if _slopes(plan, state, clipped, k, middle, start) <= 0.0:
            below = middle
        else:
            above = middle
    return below


@compiled
def _pooled(plan: Plan, state: State, clipped: Floats, k: int, start: float) -> float:
    """The same where all ranges are equal: the mean of all rewards of these arms, which may lie beyond the next one."""
    plays, total, _, shortfall, _ = seen_of(state, int(plan.arm[k]))
    for j in range(clipped.size):
        if j != k and clipped[j] > start:
            more = seen_of(state, int(plan.arm[j]))
            plays, total, shortfall = plays + more[0], total + more[1], shortfall + more[3]
    return mean_seen((plays, total, total, shortfall, shortfall), ends_of(plan, k))


@compiled
def mints_level(plan: Plan, state: State, clipped: Floats, k: int, same: bool) -> float:
    """The mean of candidate k at which the likelihood is largest if no other mean may be above it.

    Each other candidate is then at its clipped mean, or at the level if that is lower. The sum of the divergences is
    convex in the level, and smooth between the clipped means. So walk upwards from one clipped mean to the next while
    the sum still falls there. `same` says that all ranges are equal.
    """
    level, top = float(plan.lower.max()), float(plan.cap[k])
    if state.plays[int(plan.arm[k])] > 0.0:
        level = max(level, clipped[k])  # below its own mean everything falls
    while level < top:
        stop, rivals = top, 0
        for j in range(clipped.size):
            if j != k and clipped[j] > level:
                stop = min(stop, clipped[j])
                rivals += 1
        if rivals == 0:
            break
        if same:
            best = _pooled(plan, state, clipped, k, level)
            if best < stop:
                return max(level, best)
        elif _slopes(plan, state, clipped, k, stop, level) > 0.0:
            return _root(plan, state, clipped, k, level, stop)
        level = stop
    return level


@compiled
def cost_of_being_best(plan: Plan, state: State, clipped: Floats, k: int, same: bool) -> float:
    """By how much the log likelihood falls short of the largest if no other mean may be above that of candidate k."""
    level, cost = mints_level(plan, state, clipped, k, same), 0.0
    if level != clipped[k]:
        cost = distance_from(plan, state, k, level) - distance_from(plan, state, k, clipped[k])
    for j in range(clipped.size):
        if j != k and clipped[j] > level:
            cost += distance_from(plan, state, j, level) - distance_from(plan, state, j, clipped[j])
    return cost


@compiled
def mints_chances(plan: Plan, state: State, out: Floats) -> None:
    """Write each candidate's weight in the generalised posterior of which arm is best; the prior is uniform.

    The candidate with the largest clipped mean has the largest likelihood of all, so no weight is lost to rounding.
    """
    size, same = plan.arm.size, True
    clipped = np.empty(size)
    best = plan.lower.max()
    for k in range(size):
        same = same and plan.low[k] == plan.low[0] and plan.high[k] == plan.high[0]
        clipped[k] = plan.lower[k]
        if state.plays[int(plan.arm[k])] > 0.0:
            clipped[k] = min(plan.cap[k], max(plan.lower[k], mean_of(plan, state, k)))
    total = 0.0
    for k in range(size):
        cost = cost_of_being_best(plan, state, clipped, k, same)
        out[k] = exp(-cost) if plan.cap[k] >= best else 0.0
        total += out[k]
    for k in range(size):
        out[k] /= total


@compiled
def choose_mints(plan: Plan, state: State, number: int, key: np.uint64) -> int:
    """Play a candidate drawn with its chance."""
    weights = np.empty(plan.arm.size)
    mints_chances(plan, state, weights)
    place, last = uniform(key, number), 0
    for k in range(weights.size):
        if weights[k] > 0.0:
            place, last = place - weights[k], k
            if place < 0.0:
                break
    return last
