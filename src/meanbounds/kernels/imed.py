"""Indexed minimum empirical divergence with mean bounds."""

from __future__ import annotations

from math import log

import numpy as np

from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.divergence import kl
from meanbounds.kernels.moments import moment_divergence
from meanbounds.kernels.tables import Floats, Plan, State, argmax, mean_of

__all__ = ["choose_imed", "imed_cost", "imed_leader"]


@compiled
def imed_leader(plan: Plan, state: State) -> float:
    """What the best arm's mean is taken to be: the largest of all lower bounds and all clipped means of played arms."""
    leader = float(plan.lower.max())
    for k in range(plan.arm.size):
        if state.plays[int(plan.arm[k])] > 0.0:
            leader = max(leader, min(float(plan.cap[k]), mean_of(plan, state, k)))
    return leader


@compiled
def imed_cost(plan: Plan, parameters: Floats, state: State, k: int, leader: float) -> float:
    """``plays * divergence from the leader + log plays``; infinite for an arm that cannot reach the leader.

    `parameters`: how many moments of the rewards the divergence takes into account, 1 or 2.
    """
    arm = int(plan.arm[k])
    plays = state.plays[arm]
    if plan.cap[k] < leader:
        return np.inf
    if plays == 0.0:
        return -np.inf
    mean, goal = state.total[arm] / plays, (leader - plan.low[k]) / plan.span[k]
    distance = 0.0
    if mean < goal:
        second = parameters[0] == 2.0
        distance = moment_divergence(plays, state.total[arm], state.squares[arm], goal) if second else kl(mean, goal)
    return float(plays * distance + log(plays))


@compiled
def choose_imed(plan: Plan, parameters: Floats, state: State, number: int, key: np.uint64) -> int:
    """Play the arm with the least cost."""
    leader = imed_leader(plan, state)
    scores = np.empty(plan.arm.size)
    for k in range(plan.arm.size):
        scores[k] = -imed_cost(plan, parameters, state, k, leader)
    return argmax(scores, key, number)
