"""The index of KL-UCB: below a line in log f, since it is concave there."""

from __future__ import annotations

from math import log

import numpy as np

from meanbounds.kernels.arms.divergence import kl, kl_ceiling
from meanbounds.kernels.arms.kl import kl_index
from meanbounds.kernels.arms.tables import Plan, Seen, State
from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.fast.search import MARGIN, SURE
from meanbounds.kernels.fast.stretch import Stretch
from meanbounds.support.types import Floats

__all__ = ["kl_line", "kl_stretch", "solve_near_ties", "surely_reaches"]


@compiled
def kl_line(
    seen: Seen, low: float, span: float, log_f: float, line: tuple[float, float], steps: int
) -> tuple[float, float]:
    """Line (intercept, slope) above an arm's KL index as a function of log f, touching it near this log f.

    It starts from another such line; each step of Newton's method brings it nearer.
    """
    plays, total = seen[:2]
    if plays == 0.0:
        return np.inf, 0.0
    p = total / plays
    if 0.5 * (p + 1.0) >= 1.0:
        return low + span, 0.0
    intercept, slope = line
    q = (intercept + slope * log_f - low) / span
    for _ in range(steps):
        if not (p < q < 1.0):
            q = kl_ceiling(p, log_f / plays)
            if not (p < q < 1.0):
                q = 0.5 * (p + 1.0)
        q = max(q, min(p + MARGIN, 0.5 * (p + 1.0)))  # nearer, rounding errors would exceed the margin
        spent = plays * kl(p, q)
        rise = q * (1.0 - q) / (plays * (q - p))
        intercept, slope = low + span * (q - spent * rise), span * rise
        q += (log_f - spent) * rise
    return intercept, slope


@compiled
def surely_reaches(plays: float, total: float, q: float, log_f: float) -> bool:
    """Whether an arm's KL index, clipped at something above q, is at least q (in units of its range)."""
    return plays == 0.0 or total >= q * plays or plays * kl(total / plays, q) <= log_f * SURE


@compiled
def kl_stretch(wake: float, unit_level: float, p: float, log_f: float, floor: float) -> Stretch:
    """Until log f reaches `wake`, or the index of an arm with mean p may have fallen below the level.

    Level and mean are in units of the arm's range. The parabola lies above ``kl(., unit_level)`` near p: the second
    derivative is largest at an end.
    """
    q, budget = unit_level, log_f * SURE
    if not (1e-290 < p < 1.0 and 0.0 < q < 1.0):  # below, a quarter of p may be 0 and the bend infinite
        return Stretch(wake, np.inf, q, p, -1.0, 0.0, 0.0, 0.0, budget, floor)
    reach = 0.25 * min(p, 1.0 - p)
    left, right = p - reach, p + reach
    bend = 0.5 / min(left * (1.0 - left), right * (1.0 - right))
    return Stretch(wake, np.inf, q, p, reach, kl(p, q), log(p * (1.0 - q) / (q * (1.0 - p))), bend, budget, floor)


@compiled
def solve_near_ties(plan: Plan, state: State, score: Floats, near: float, log_f: float) -> bool:
    """Replace the bounds of all candidates from `near` up by their indices; whether one of these is the largest.

    It is not where an index turns out below the bound of another candidate, which then has to be looked at first.
    """
    best, beyond = -np.inf, -np.inf
    for k in range(score.size):
        if score[k] < near:
            beyond = max(beyond, score[k])
        else:
            arm = int(plan.arm[k])
            q = (plan.cap[k] - plan.low[k]) / plan.span[k] + MARGIN
            if score[k] < plan.cap[k] or not surely_reaches(state.plays[arm], state.total[arm], q, log_f):
                score[k] = kl_index(plan, state, k, log_f, False)
            best = max(best, score[k])
    return best > beyond
