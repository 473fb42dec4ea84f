"""Indexed minimum empirical divergence with mean bounds."""

from __future__ import annotations

from math import log

import numpy as np

from meanbounds.kernels.arms.divergence import kl_between
from meanbounds.kernels.arms.moments import moment_divergence
from meanbounds.kernels.arms.tables import Plan, Seen, State, argmax, mean_of, seen_of
from meanbounds.kernels.compiling import compiled
from meanbounds.support.types import Floats

__all__ = ["choose_imed", "imed_cost", "imed_scores", "reaches"]


@compiled
def imed_cost(seen: Seen, goal: float, goal_lack: float, moments: float) -> float:
    """``plays * divergence from the goal + log plays`` of an arm that was played and can reach the goal.

    The goal is in units of the arm's range, and ``goal_lack`` is its distance from the top.
    """
    plays, total, _, shortfall, _ = seen
    p, not_p = total / plays, shortfall / plays
    if reaches(p, not_p, goal, goal_lack):
        return log(plays)
    if moments == 2.0:
        return plays * moment_divergence(seen, goal, goal_lack) + log(plays)
    return plays * kl_between(p, not_p, goal, goal_lack) + log(plays)


@compiled
def reaches(p: float, not_p: float, goal: float, goal_lack: float) -> bool:
    """Whether a mean p, ``not_p`` below the top, is at least the goal; compared at the nearer end of the range."""
    return goal <= p if p <= not_p else goal_lack >= not_p


@compiled
def imed_scores(plan: Plan, parameters: Floats, state: State, out: Floats) -> None:
    """Write each candidate's cost with its sign turned, so that the largest score is played.

    The leader is the largest of all lower bounds and all clipped means. The cost is infinite for an arm that cannot
    reach it, and minus infinity for one that can and was never played. `parameters`: how many moments of the rewards
    the divergence takes into account, 1 or 2.
    """
    arms, low, span, cap, high = plan.arm, plan.low, plan.span, plan.cap, plan.high
    plays = state.plays
    leader = float(plan.lower.max())
    for k in range(arms.size):
        arm = int(arms[k])
        if plays[arm] > 0.0:
            leader = max(leader, min(cap[k], mean_of(plan, state, k)))
    for k in range(arms.size):
        arm = int(arms[k])
        if cap[k] < leader:
            out[k] = -np.inf
        elif plays[arm] == 0.0:
            out[k] = np.inf
        else:
            goal, lack = (leader - low[k]) / span[k], (high[k] - leader) / span[k]
            out[k] = -imed_cost(seen_of(state, arm), goal, lack, parameters[0])


@compiled
def choose_imed(plan: Plan, parameters: Floats, state: State, number: int, key: np.uint64) -> int:
    """Play the arm with the least cost: see `imed_scores`."""
    scores = np.empty(plan.arm.size)
    imed_scores(plan, parameters, state, scores)
    return argmax(scores, key, number)
