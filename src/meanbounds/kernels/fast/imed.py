"""Indexed minimum empirical divergence: a cost above a line in the leader, since it is convex there."""

from __future__ import annotations

from math import exp, log

import numpy as np

from meanbounds.kernels.arms.divergence import kl_between
from meanbounds.kernels.arms.imed import imed_cost, reaches
from meanbounds.kernels.arms.moments import divergence_above, floor_of
from meanbounds.kernels.arms.tables import Ends, Seen
from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.fast.search import COST_MARGIN
from meanbounds.kernels.fast.stretch import Stretch, no_stretch
from meanbounds.support.types import Floats

__all__ = ["imed_line", "imed_stretch"]


@compiled
def imed_line(seen: Seen, ends: Ends, leader: float, moments: float) -> tuple[float, float, float]:
    """Cost of an arm that can reach the leader, and the line (intercept, slope) that touches it there from below.

    The cost is convex in the leader, so no tangent exceeds it anywhere.
    """
    plays, total, _, shortfall, _ = seen
    low, high, span = ends
    goal, lack = (leader - low) / span, (high - leader) / span
    p, not_p = total / plays, shortfall / plays
    if lack <= 0.0 or reaches(p, not_p, goal, lack):
        return imed_cost(seen, goal, lack, moments), log(plays), 0.0
    if moments == 2.0:
        floor, room = floor_of(seen)
        cost = plays * divergence_above(seen, floor, room, goal, lack) + log(plays)
    else:
        floor, room = 0.0, 1.0
        cost = plays * kl_between(p, not_p, goal, lack) + log(plays)
    near_top = p > not_p
    distance = not_p - lack if near_top else goal - p
    slope = plays * distance / ((room - lack if near_top else goal - floor) * lack * span)
    return cost, cost - slope * leader, slope


@compiled
def imed_stretch(
    k: int,
    ends: Ends,
    leader: float,
    best_lower: float,
    cost: float,
    margin: float,
    intercept: Floats,
    slope: Floats,
    clipped: Floats,
    cap: Floats,
) -> Stretch:
    """How long candidate k, whose mean is the leader, may be played again; the arrays are of all candidates.

    The costs of the others grow with the leader, so at a level below it they are bounds from below, and k, whose cost
    is log plays, is played while that is less and its mean stays above the level. The level gives away about half of
    the distance between the costs.
    """
    low, _, span = ends
    drop = 0.5 * (leader - best_lower)
    for j in range(cap.size):
        if j != k:
            drop = min(drop, 0.5 * (leader - clipped[j]))
            if cap[j] >= leader and slope[j] > 0.0:
                drop = min(drop, 0.5 * (intercept[j] + slope[j] * leader - cost) / slope[j])
    if not drop > 2.0 * margin:
        return no_stretch()
    level, least = leader - drop, np.inf
    for j in range(cap.size):
        if j != k and cap[j] >= level - margin:
            least = min(least, intercept[j] + slope[j] * (level - margin))
    most = exp(least - COST_MARGIN) if least < 700.0 else np.inf
    unit_level = (level + margin - low) / span
    return Stretch(np.inf, most, unit_level, unit_level, -1.0, 0.0, 0.0, 0.0, 0.0, -np.inf)
