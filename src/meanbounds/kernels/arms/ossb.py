"""OSSB for Bernoulli rewards with mean bounds."""

from __future__ import annotations

import numpy as np

from meanbounds.kernels.arms.divergence import kl_between
from meanbounds.kernels.arms.tables import Plan, State, argmax, mean_of
from meanbounds.kernels.compiling import compiled
from meanbounds.support.types import Floats

__all__ = ["choose_ossb", "ossb_scores"]


@compiled
def ossb_scores(plan: Plan, parameters: Floats, state: State, log_f: float, out: Floats) -> bool:
    """Write the scores of which the largest is played, and return whether this round explores.

    OSSB follows the plays per log(t) that the lower bound asks for at the truncated means; `parameters`: epsilon,
    gamma. An arm with the largest truncated mean counts as best, so several may be. A truncated mean is the lower bound
    while the arm was never played. ``state.memory[0]`` counts the rounds so far that explored; it is only read here.
    """
    size = plan.arm.size
    means = np.empty(size)
    plays = np.empty(size)
    for k in range(size):
        plays[k] = state.plays[int(plan.arm[k])]
        means[k] = plan.lower[k]
        if plays[k] > 0.0:
            means[k] = min(plan.cap[k], max(plan.lower[k], mean_of(plan, state, k)))
    best = means.max()
    needs = np.zeros(size)
    satisfied = True
    for k in range(size):
        if means[k] < best <= plan.cap[k]:
            low, span, high = plan.low[k], plan.span[k], plan.high[k]
            own, goal = (means[k] - low) / span, (best - low) / span
            divergence = kl_between(own, (high - means[k]) / span, goal, (high - best) / span)
            if divergence > 0.0:
                needs[k] = 1.0 / divergence
        if plays[k] < needs[k] * (1.0 + parameters[1]) * log_f:
            satisfied = False
    least_played = plays.min() <= parameters[0] * (state.memory[0] + 1.0)  # this round counts too, if it explores
    for k in range(size):
        if satisfied:
            out[k] = means[k]
        elif least_played:
            out[k] = -plays[k]
        else:
            out[k] = -plays[k] / needs[k] if needs[k] > 0.0 else -np.inf
    return not satisfied


@compiled
def choose_ossb(plan: Plan, parameters: Floats, state: State, log_f: float, number: int, key: np.uint64) -> int:
    """Play the arm with the largest of `ossb_scores`, and count the round in ``state.memory[0]`` if it explores."""
    scores = np.empty(plan.arm.size)
    if ossb_scores(plan, parameters, state, log_f, scores):
        state.memory[0] += 1.0
    return argmax(scores, key, number)
