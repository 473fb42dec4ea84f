"""The two tables of every kernel: a plan (decided before the first round) and a state (the rewards so far).

Both are float64 tables with one column per arm: one array crosses the border between Python and machine code ten times
faster than a tuple of arrays. Inside a kernel, `plan_of` and `state_of` give the rows their names.

Rewards are kept in units of each arm's own range, so that 0 is the worst and 1 the best that an arm can give.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.random.stream import uniform
from meanbounds.support.types import Floats

__all__ = ["Plan", "State", "argmax", "mean_of", "pick", "plan_of", "state_of"]


class Plan(NamedTuple):
    """One entry per candidate: an arm that is on offer and was not pruned."""

    arm: Floats  # its place among all arms
    low: Floats  # reward range, raw units
    span: Floats
    lower: Floats  # bounds on the mean, raw units
    cap: Floats  # what clips the index: the upper bound, or infinity
    proxy: Floats  # variance proxy, raw units squared


class State(NamedTuple):
    """One entry per arm, pruned ones included."""

    plays: Floats
    total: Floats  # sum of rewards
    squares: Floats  # sum of their squares
    ones: Floats  # rewards rounded at random to 0 or 1, summed
    memory: Floats  # whatever else a kernel has to remember; not by arm


@compiled
def plan_of(table: Floats) -> Plan:
    """Name the rows of a plan."""
    return Plan(table[0], table[1], table[2], table[3], table[4], table[5])


@compiled
def state_of(table: Floats) -> State:
    """Name the rows of a state."""
    return State(table[0], table[1], table[2], table[3], table[4])


@compiled
def mean_of(plan: Plan, state: State, k: int) -> float:
    """Empirical mean of a candidate that was played, in raw units."""
    arm = int(plan.arm[k])
    return float(plan.low[k] + plan.span[k] * (state.total[arm] / state.plays[arm]))


@compiled
def argmax(scores: Floats, key: np.uint64, number: int) -> int:
    """Place of the largest score; ties are broken uniformly, with one random number and only where there is a tie."""
    best = scores[0]
    for k in range(1, scores.size):
        if scores[k] > best:
            best = scores[k]
    return pick(scores, best, key, number)


@compiled
def pick(scores: Floats, best: float, key: np.uint64, number: int) -> int:
    """Place of a score that equals `best`, the largest: see `argmax`."""
    ties = 0
    for k in range(scores.size):
        ties += scores[k] == best
    skip = int(uniform(key, number) * ties) if ties > 1 else 0
    for k in range(scores.size):
        if scores[k] == best:
            if skip == 0:
                return k
            skip -= 1
    return 0
