"""MINTS with bounds that may be wrong: a mean outside its bounds takes log N from the log likelihood."""

from __future__ import annotations

from math import exp

import numpy as np

from meanbounds.kernels.arms.estimates import evidence_against
from meanbounds.kernels.arms.mints import cost_of_being_best
from meanbounds.kernels.arms.tables import clipped_mean, plan_of, state_of
from meanbounds.kernels.compiling import compiled
from meanbounds.support.types import Floats

__all__ = ["doubted_mints_chances"]


@compiled
def doubted_mints_chances(told: Floats, kept: Floats, log_n: Floats, state_table: Floats, out: Floats) -> None:
    """Write each arm's weight: with its bounds, or without them and for log N, whichever is more.

    Bounds against which rewards say log N are dropped. What they say below that counts towards log N.
    """
    table, size, same = told.copy(), log_n.size, True
    plan, state = plan_of(table), state_of(state_table)
    fines, clipped = np.full(size, np.inf), np.empty(size)
    for k in range(size):
        same = same and plan.low[k] == plan.low[0] and plan.high[k] == plan.high[0]
        if log_n[k] < np.inf:
            fines[k] = max(0.0, log_n[k] - evidence_against(plan, state, k))
            if fines[k] == 0.0:
                plan.lower[k], plan.cap[k] = plan.low[k], plan.high[k]
        clipped[k] = clipped_mean(plan, state, k)
    best, total = plan.lower.max(), 0.0
    for k in range(size):
        cost = np.inf
        if plan.cap[k] > best or (plan.cap[k] == best and kept[k] == 1.0):
            cost = cost_of_being_best(plan, state, clipped, k, same)
        if 0.0 < fines[k] < np.inf:
            lower, cap, inside = plan.lower[k], plan.cap[k], clipped[k]
            plan.lower[k], plan.cap[k] = plan.low[k], plan.high[k]
            clipped[k] = clipped_mean(plan, state, k)
            cost = min(cost, fines[k] + cost_of_being_best(plan, state, clipped, k, same))
            plan.lower[k], plan.cap[k], clipped[k] = lower, cap, inside
        out[k] = exp(-cost)
        total += out[k]
    for k in range(size):
        out[k] /= total
