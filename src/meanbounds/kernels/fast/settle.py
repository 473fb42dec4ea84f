"""Settling over whole runs: who may settle is known before the first round, and the leader is held while it does."""

from __future__ import annotations

import numpy as np

from meanbounds.kernels.arms.settle import caps_of_others, evidence_below, level_of
from meanbounds.kernels.arms.tables import Ends, Plan, Seen, State, ends_of, seen_of
from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.fast.kl import kl_stretch
from meanbounds.kernels.fast.search import MARGIN, SURE
from meanbounds.kernels.fast.stretch import Stretch, no_stretch
from meanbounds.kernels.random.stream import uniform
from meanbounds.support.types import Floats, Integers

__all__ = ["may_settle", "settled_place", "settled_stretch", "settles", "surely_unsettled"]


@compiled
def may_settle(cap: Floats, goals: Floats) -> Integers:
    """Write the largest cap of the others for each candidate; return the candidates whose own cap is not below it."""
    caps_of_others(cap, goals)
    return np.nonzero(cap >= goals)[0]


@compiled
def surely_unsettled(plays: float, total: float, goal: float, budget: float) -> bool:
    """Whether Pinsker's inequality says that the evidence against a mean of `goal` exceeds the budget.

    The goal is in units of the range.
    """
    below = plays * goal - total
    return below > 0.0 and 2.0 * SURE * below * below > budget * plays


@compiled
def settles(seen: Seen, ends: Ends, goal: float, moments: float, budget: float) -> bool:
    """Whether the evidence against a mean of `goal` is within the budget; the cheap screen mostly says that not."""
    if surely_unsettled(seen[0], seen[1], (goal - ends[0]) / ends[2], budget):
        return False
    return evidence_below(seen, ends, goal, moments) <= budget


@compiled
def settled_place(
    plan: Plan,
    state: State,
    moments: float,
    log_f: float,
    able: Integers,
    goals: Floats,
    clipped: Floats,
    best: float,
    key: np.uint64,
    number: int,
) -> int:
    """Place of the leader that settles, -1 if none does; among several as `argmax` picks.

    `able` and `goals` are of `may_settle`, `best` is the largest clipped mean. `clipped` may be below the lower bounds,
    which are as good as clipped means here.
    """
    ties = 0
    for n in range(able.size):
        k = able[n]
        if max(plan.lower[k], clipped[k]) == best:
            budget = level_of(plan.cap[k], goals[k]) * log_f
            ties += settles(seen_of(state, int(plan.arm[k])), ends_of(plan, k), goals[k], moments, budget)
    if ties == 0:
        return -1
    skip = int(uniform(key, number) * ties) if ties > 1 else 0
    for n in range(able.size):
        k = able[n]
        budget = level_of(plan.cap[k], goals[k]) * log_f
        if max(plan.lower[k], clipped[k]) == best and settles(
            seen_of(state, int(plan.arm[k])), ends_of(plan, k), goals[k], moments, budget
        ):
            if skip == 0:
                return int(k)
            skip -= 1
    return -1


@compiled
def settled_stretch(seen: Seen, ends: Ends, goal: float, rest: float, moments: float, budget: float) -> Stretch:
    """How long a settled leader may be played again, if `rest` is the largest clipped mean of the others.

    Its mean has to stay above `rest`, and the evidence within the budget, which only grows. With two moments the
    divergence may be larger than what `hold` looks at, so it is played once.
    """
    plays, total = seen[:2]
    low, _, span = ends
    unit_goal, unit_rest = (goal - low) / span, (rest - low) / span
    if plays == 0.0 or moments == 2.0 or not unit_rest + MARGIN < unit_goal:
        return no_stretch()
    return kl_stretch(np.inf, unit_goal, total / plays, budget, unit_rest + MARGIN)
