"""Settling: play the leader for as long as its rewards do not speak against its being as good as any arm can be.

Let c be the largest cap of the other candidates. A leader whose mean may be c need not be compared with them: if it is
c, no arm is better. See docs/settling.md for what this costs and how the shares of log f were found.
"""

from __future__ import annotations

import numpy as np

from meanbounds.kernels.arms.divergence import kl_between
from meanbounds.kernels.arms.imed import reaches
from meanbounds.kernels.arms.moments import moment_divergence
from meanbounds.kernels.arms.tables import Ends, Plan, Seen, State, clipped_mean, ends_of, seen_of
from meanbounds.kernels.compiling import compiled
from meanbounds.support.types import Floats

__all__ = [
    "caps_of_others",
    "evidence_below",
    "level_of",
    "settle_among",
    "settled_scores",
]

_EQUAL = 0.5  # the share of log f that the evidence may reach where all large caps are equal
_UNEQUAL = 0.25  # where the leader has the largest cap alone


@compiled
def level_of(cap: float, goal: float) -> float:
    """The share of log f that the evidence against a leader may reach.

    Where its cap is above all others, the best arm may be one whose cap is tight, and trying that one costs little.
    """
    return _EQUAL if cap == goal else _UNEQUAL


@compiled
def caps_of_others(cap: Floats, out: Floats) -> None:
    """Write, for each candidate, the largest cap of the others; minus infinity if there is none."""
    highest, second, place = -np.inf, -np.inf, -1
    for k in range(cap.size):
        if cap[k] > highest:
            highest, second, place = cap[k], highest, k
        elif cap[k] > second:
            second = cap[k]
    for k in range(cap.size):
        out[k] = second if k == place else highest


@compiled
def evidence_below(seen: Seen, ends: Ends, goal: float, moments: float) -> float:
    """``plays * divergence``: what the rewards say against a mean of `goal` (raw units) or more."""
    plays, total, _, shortfall, _ = seen
    low, high, span = ends
    if plays == 0.0:
        return 0.0
    unit_goal, lack = (goal - low) / span, (high - goal) / span
    p, not_p = total / plays, shortfall / plays
    if reaches(p, not_p, unit_goal, lack):
        return 0.0
    if moments == 2.0:
        return plays * moment_divergence(seen, unit_goal, lack)
    return plays * kl_between(p, not_p, unit_goal, lack)


@compiled
def settled_scores(plan: Plan, moments: float, state: State, log_f: float, out: Floats) -> bool:
    """Write the clipped mean of each leader that may settle, minus infinity for the rest; whether there is one.

    Leaders are the candidates with the largest clipped mean, of which there may be several.
    """
    means = np.empty(out.size)
    for k in range(out.size):
        means[k] = clipped_mean(plan, state, k)
    return settle_among(plan, plan.cap, means, moments, state, log_f, out)


@compiled
def settle_among(
    plan: Plan, cap: Floats, means: Floats, moments: float, state: State, log_f: float, out: Floats
) -> bool:
    """The same with given caps and means."""
    caps_of_others(cap, out)
    best, found = means.max(), False
    for k in range(out.size):
        goal = out[k]
        out[k] = -np.inf
        if means[k] == best and cap[k] >= goal:
            evidence = evidence_below(seen_of(state, int(plan.arm[k])), ends_of(plan, k), goal, moments)
            if evidence <= level_of(cap[k], goal) * log_f:
                out[k], found = best, True
    return found
