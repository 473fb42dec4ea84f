"""Margins within which no shortcut decides, and the search for the two best of many."""

from __future__ import annotations

from meanbounds.kernels.arms.tables import Plan
from meanbounds.kernels.compiling import compiled
from meanbounds.support.types import Floats

__all__ = ["COST_MARGIN", "FEW", "MARGIN", "SURE", "scale_of", "two_best"]

MARGIN = 1e-8  # between indices, in units of the range of rewards
COST_MARGIN = 1e-6  # between costs
SURE = 1.0 - 1e-8  # of a budget; moves an index by less than half of the margin
FEW = 16  # with at most as many arms a leader is always held; with more, only if it has just been played


@compiled
def scale_of(plan: Plan) -> float:
    """Size of the numbers that indices are made of."""
    scale = 0.0
    for k in range(plan.arm.size):
        scale = max(scale, abs(plan.low[k]) + plan.span[k])
    return scale


@compiled
def two_best(score: Floats, first: int, other: int) -> tuple[int, int]:
    """Places of the largest score and of the largest elsewhere; two different guesses save most of the work."""
    if score[other] > score[first]:
        first, other = other, first
    best, second = score[first], score[other]
    for k in range(score.size):
        value = score[k]
        if value > second and k != first:
            if value > best:
                first, other, best, second = k, first, value, best
            else:
                other, second = k, value
    return first, other
