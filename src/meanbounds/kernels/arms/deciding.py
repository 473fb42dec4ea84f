"""A pull together with the probability of the arm that it takes, in one call of machine code.

A service logs the probability of every decision. For the optimistic Gittins index, whose indices take most of the time
of a decision, both follow from the same indices: here they are computed once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from meanbounds.kernels.arms.agent import supposed
from meanbounds.kernels.arms.gittins import gittins_scores, largest_by_mean
from meanbounds.kernels.arms.logged import with_log
from meanbounds.kernels.arms.tables import plan_of, state_of
from meanbounds.kernels.arms.textbook import GITTINS, split
from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.tally import POLICY_KEY, PULLS, UNANSWERED, UPDATES, count_pull
from meanbounds.support.types import Floats, Integers

__all__ = ["Decide", "decide_for"]

Decide = Callable[[Floats, Floats, Floats, Floats, Integers, Floats, bool, Floats], int]


@functools.cache
def decide_for(given: int) -> Decide | None:
    """The pull of policies with this code that also says how probable the arm was; None if there is none.

    It takes the policy's parameters, the middle of each arm's bounds, and from the plan on what
    `meanbounds.kernels.arms.agent.pull_for` says; there is no floor. Into the last array it writes the probability,
    which is that of `meanbounds.kernels.arms.textbook.chances`, bit by bit.
    """
    code, logged, doubted = split(given)
    if code != GITTINS or doubted:
        return None

    @compiled
    def decide(
        parameters: Floats,
        middle: Floats,
        plan_table: Floats,
        state_table: Floats,
        tally: Integers,
        log_f: Floats,
        counts: bool,
        chance: Floats,
    ) -> int:
        counts = counts and tally[UNANSWERED] > 0
        t = tally[UPDATES] + 1 + (tally[UNANSWERED] if counts else 0)
        place = 1 + t - int(log_f[0])
        if place < 1 or place >= log_f.size:
            return int(-t)
        seen = supposed(state_table, tally, middle) if counts else state_table
        if logged:
            seen = with_log(plan_table, seen)
        size = plan_table.shape[1]
        scores, means = np.empty(size), np.empty(size)
        gittins_scores(plan_of(plan_table), parameters, state_of(seen), log_f[place], scores, means)
        k = largest_by_mean(scores, means, np.uint64(tally[POLICY_KEY]), tally[PULLS])
        ties = 0
        for j in range(size):
            ties += scores[j] == scores[k] and means[j] == means[k]
        chance[0] = 1.0 / ties
        arm = int(plan_table[0, k])
        count_pull(tally, arm)
        return arm

    return decide
