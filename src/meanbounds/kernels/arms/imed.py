"""Indexed minimum empirical divergence with mean bounds."""

from __future__ import annotations

from math import log

import numpy as np

from meanbounds.kernels.arms.divergence import kl
from meanbounds.kernels.arms.moments import moment_divergence
from meanbounds.kernels.arms.tables import Plan, State, argmax
from meanbounds.kernels.compiling import compiled
from meanbounds.support.types import Floats

__all__ = ["choose_imed", "imed_cost", "imed_scores"]


@compiled
def imed_cost(plays: float, total: float, squares: float, goal: float, moments: float) -> float:
    """``plays * divergence from the goal + log plays`` of an arm that was played and can reach the goal."""
    if goal <= total / plays:
        return log(plays)
    if moments == 2.0:
        return plays * moment_divergence(plays, total, squares, goal) + log(plays)
    return plays * kl(total / plays, goal) + log(plays)


@compiled
def imed_scores(plan: Plan, parameters: Floats, state: State, out: Floats) -> None:
    """Write each candidate's cost with its sign turned, so that the largest score is played.

    The leader is the largest of all lower bounds and all clipped means. The cost is infinite for an arm that cannot
    reach it, and minus infinity for one that can and was never played. `parameters`: how many moments of the rewards
    the divergence takes into account, 1 or 2.
    """
    arms, low, span, cap = plan.arm, plan.low, plan.span, plan.cap
    plays, total, squares = state.plays, state.total, state.squares
    leader = float(plan.lower.max())
    for k in range(arms.size):
        arm = int(arms[k])
        if plays[arm] > 0.0:
            leader = max(leader, min(cap[k], low[k] + span[k] * (total[arm] / plays[arm])))
    for k in range(arms.size):
        arm = int(arms[k])
        if cap[k] < leader:
            out[k] = -np.inf
        elif plays[arm] == 0.0:
            out[k] = np.inf
        else:
            out[k] = -imed_cost(plays[arm], total[arm], squares[arm], (leader - low[k]) / span[k], parameters[0])


@compiled
def choose_imed(plan: Plan, parameters: Floats, state: State, number: int, key: np.uint64) -> int:
    """Play the arm with the least cost: see `imed_scores`."""
    scores = np.empty(plan.arm.size)
    imed_scores(plan, parameters, state, scores)
    return argmax(scores, key, number)
