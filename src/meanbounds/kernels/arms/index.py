"""The index that UCB, B-UCB, ImprovedUCB and GLUE share; their plans differ in candidates, proxies and caps."""

from __future__ import annotations

from math import sqrt

from meanbounds.kernels.arms.tables import Plan, State, mean_of
from meanbounds.kernels.compiling import compiled

__all__ = ["gaussian_index"]


@compiled
def gaussian_index(plan: Plan, state: State, k: int, log_f: float) -> float:
    """``min(cap, mean + sqrt(2 proxy log f / plays))``; the cap for an arm that was never played."""
    plays = state.plays[int(plan.arm[k])]
    if plays == 0.0:
        return float(plan.cap[k])
    return float(min(plan.cap[k], mean_of(plan, state, k) + sqrt(log_f) * sqrt(2.0 * plan.proxy[k] / plays)))
