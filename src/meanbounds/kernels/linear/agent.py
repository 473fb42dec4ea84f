"""One call of an agent on arms with features: a pull; updates are in `meanbounds.kernels.linear.watch`.

Each is one function in machine code that writes all it changes, so that an interrupt finds the agent whole; see
`meanbounds.kernels.tally`. They return plain numbers: to make a named tuple, Python would run code of its own, and an
interrupt in there ends the process.
"""

from __future__ import annotations

import numpy as np

from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.copying import copy_into
from meanbounds.kernels.linear.decide import decide
from meanbounds.kernels.linear.design import CONTRADICTIONS, Design
from meanbounds.kernels.linear.pool import Pool, Rule
from meanbounds.kernels.random.stream import uniform
from meanbounds.kernels.solvers.cone import Known
from meanbounds.kernels.tally import FLOOR_KEY, POLICY_KEY, PULLS, count_pull
from meanbounds.support.types import Floats, Integers

__all__ = ["floored", "pull", "pull_new"]


@compiled
def floored(tally: Integers, floor: float, arms: int) -> int:
    """Which of the arms that can be best is drawn for the floor in the next pull; -1 if the policy decides."""
    place = uniform(np.uint64(tally[FLOOR_KEY]), tally[PULLS]) / floor
    return int(place) if place < arms else -1


@compiled
def _decide(
    pool: Pool, rule: Rule, known: Known, design: Design, offered: Integers, tally: Integers, warned: bool
) -> int:
    """The arm to play; -1, with all as it was, if bounds and data contradict each other and nobody was warned."""
    mean, square = np.empty(pool.length.size), np.empty(pool.length.size)
    number, key = tally[PULLS], np.uint64(tally[POLICY_KEY])
    numbers, lower, upper, proxy = design.numbers.copy(), pool.lower.copy(), pool.upper.copy(), pool.proxy.copy()
    arm, _, _ = decide(pool, rule, known, design, offered, mean, square, False, number, key)
    if design.numbers[CONTRADICTIONS] > 0.0 and not warned:
        copy_into(numbers, design.numbers)
        copy_into(lower, pool.lower)
        copy_into(upper, pool.upper)
        copy_into(proxy, pool.proxy)
        return -1
    return arm


@compiled
def pull(pool: Pool, rule: Rule, known: Known, design: Design, offered: Integers, tally: Integers, warned: bool) -> int:
    """Choose an arm of the pool and count it as pending, or return -1: see `_decide`."""
    arm = _decide(pool, rule, known, design, offered, tally, warned)
    if arm >= 0:
        count_pull(tally, arm)
    return arm


@compiled
def pull_new(
    pool: Pool,
    rule: Rule,
    known: Known,
    design: Design,
    slots: Integers,
    tally: Integers,
    warned: bool,
    lower: Floats,
    upper: Floats,
    proxy: Floats,
) -> int:
    """Choose an arm of a pool made for this pull, and count it as pending, or return -1: see `_decide`.

    `slots` are the places of its arms in the tally. The first of them are arms of the agent's own pool, which has
    `lower`, `upper` and `proxy`; the bounds learned on these are written there.
    """
    arm = _decide(pool, rule, known, design, np.arange(slots.size), tally, warned)
    if arm >= 0:
        for k in range(slots.size):
            if slots[k] < lower.size:
                lower[slots[k]], upper[slots[k]], proxy[slots[k]] = pool.lower[k], pool.upper[k], pool.proxy[k]
        count_pull(tally, slots[arm])
    return arm
