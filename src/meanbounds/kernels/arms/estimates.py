"""What is known of an arm whose bounds may be wrong: what its rewards say against them, and where its mean is."""

from __future__ import annotations

import numpy as np

from meanbounds.kernels.arms.codes import ROWS_OF_DOUBT
from meanbounds.kernels.arms.divergence import kl_between
from meanbounds.kernels.arms.tables import Plan, State, clipped_mean, ends_of, mean_of, seen_of
from meanbounds.kernels.compiling import compiled
from meanbounds.support.types import Floats

__all__ = ["estimate", "evidence_against", "parts_of"]


@compiled
def parts_of(table: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """The plan with bounds, the one without, whether the first keeps each arm, and log N."""
    rows = (table.shape[0] - ROWS_OF_DOUBT) // 2
    return table[:rows], table[rows : 2 * rows], table[2 * rows], table[2 * rows + 1]


@compiled
def evidence_against(plan: Plan, state: State, k: int) -> float:
    """``plays * kl(mean, nearest bound)``: what the rewards of an arm say against its bounds; 0 within these."""
    seen, (low, high, span) = seen_of(state, int(plan.arm[k])), ends_of(plan, k)
    if seen[0] == 0.0:
        return 0.0
    mean = mean_of(plan, state, k)
    bound = min(plan.cap[k], max(plan.lower[k], mean))
    if bound == mean:
        return 0.0
    goal, lack = (bound - low) / span, (high - bound) / span
    return float(seen[0] * kl_between(seen[1] / seen[0], seen[3] / seen[0], goal, lack))


@compiled
def estimate(plan: Plan, state: State, k: int, log_n: float) -> float:
    """The mean of an arm moved into its bounds, unless its rewards say log N against them; `clipped_mean` otherwise."""
    if state.plays[int(plan.arm[k])] > 0.0 and log_n < np.inf and evidence_against(plan, state, k) >= log_n:
        return mean_of(plan, state, k)
    return clipped_mean(plan, state, k)
