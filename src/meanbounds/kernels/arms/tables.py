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

__all__ = [
    "ADDED",
    "Ends",
    "Plan",
    "Seen",
    "State",
    "argmax",
    "break_ties",
    "clipped_mean",
    "complete",
    "copy_table",
    "ends_of",
    "keep_seen",
    "mean_of",
    "mean_seen",
    "pick",
    "plan_of",
    "seen_of",
    "state_of",
]


class Plan(NamedTuple):
    """One entry per candidate: an arm that is on offer and was not pruned."""

    arm: Floats  # its place among all arms
    low: Floats  # reward range, raw units
    span: Floats
    lower: Floats  # bounds on the mean, raw units
    cap: Floats  # what clips the index: the upper bound, or infinity
    proxy: Floats  # variance proxy, raw units squared
    high: Floats  # top of the reward range, raw units: low + span may be off by a rounding error of the span


class State(NamedTuple):
    """One entry per arm, pruned ones included.

    Rewards are in units of the arm's range. What each of them lacks to 1 is summed as well: where rewards are near the
    top of a wide range, ``plays - total`` would be a small difference of large numbers.
    """

    plays: Floats
    total: Floats  # sum of rewards
    squares: Floats  # sum of their squares
    ones: Floats  # rewards rounded at random to 0 or 1, summed
    memory: Floats  # whatever else a kernel has to remember; not by arm
    shortfall: Floats  # sum of 1 - reward
    shortfall_squares: Floats  # sum of (1 - reward)^2


Seen = tuple[float, float, float, float, float]
"""Plays, total, squares, shortfall and shortfall_squares of one arm: a look into an array costs 5 ns."""

Ends = tuple[float, float, float]
"""Low, high and span of one candidate. A function that takes the whole plan for them costs 2 ns more a call."""


@compiled
def copy_table(table: Floats, out: Floats) -> None:
    """Copy one table into another of the same shape; an assignment of whole arrays takes seconds to compile."""
    for row in range(out.shape[0]):
        for arm in range(out.shape[1]):
            out[row, arm] = table[row, arm]


@compiled
def plan_of(table: Floats) -> Plan:
    """Name the rows of a plan."""
    return Plan(table[0], table[1], table[2], table[3], table[4], table[5], table[6])


@compiled
def state_of(table: Floats) -> State:
    """Name the rows of a state."""
    return State(table[0], table[1], table[2], table[3], table[4], table[5], table[6])


@compiled
def seen_of(state: State, arm: int) -> Seen:
    """What was seen of an arm, as numbers."""
    lacks = state.shortfall[arm], state.shortfall_squares[arm]
    return state.plays[arm], state.total[arm], state.squares[arm], lacks[0], lacks[1]


@compiled
def keep_seen(state: State, arm: int, seen: Seen, squares: bool) -> None:
    """Write back what `seen_of` gave, after it has grown.

    Where a caller knows while it compiles that no one reads the squares, they are not even summed.
    """
    state.plays[arm], state.total[arm], state.shortfall[arm] = seen[0], seen[1], seen[3]
    if squares:
        state.squares[arm], state.shortfall_squares[arm] = seen[2], seen[4]


ADDED = ("shortfall", "shortfall_squares")
"""The rows of a state, its last ones, that versions up to 0.2 did not save."""


def complete(table: Floats) -> Floats:
    """The same state with all rows, whether this version saved it or an older one; `ADDED` can be computed."""
    if len(table) != len(State._fields) - len(ADDED):
        return table
    plays, total, squares = table[:3]
    return np.vstack([table, np.maximum(plays - total, 0.0), np.maximum(plays - 2.0 * total + squares, 0.0)])


@compiled
def ends_of(plan: Plan, k: int) -> Ends:
    """A candidate's range, as numbers."""
    return plan.low[k], plan.high[k], plan.span[k]


@compiled
def mean_of(plan: Plan, state: State, k: int) -> float:
    """Empirical mean of a candidate that was played, in raw units."""
    return mean_seen(seen_of(state, int(plan.arm[k])), ends_of(plan, k))


@compiled
def mean_seen(seen: Seen, ends: Ends) -> float:
    """The same, from what was seen of its arm; measured from the nearer end of the range."""
    plays, total, _, shortfall, _ = seen
    low, high, span = ends
    inwards = span * (min(total, shortfall) / plays)
    return float(low + inwards if total <= shortfall else high - inwards)


@compiled
def clipped_mean(plan: Plan, state: State, k: int) -> float:
    """Empirical mean of a candidate, moved into its bounds; the lower bound of one that was never played."""
    if state.plays[int(plan.arm[k])] == 0.0:
        return float(plan.lower[k])
    return float(min(plan.cap[k], max(plan.lower[k], mean_of(plan, state, k))))


@compiled
def break_ties(plan: Plan, state: State, scores: Floats, best: float) -> float:
    """Of all scores that equal `best`, leave those of the largest clipped mean; the others become minus infinity.

    Returns the second largest of these means, minus infinity where nothing tied. Clipping makes equal indices common:
    arms that share a cap would be played alike, for as long as it binds, however much worse some of them have shown to
    be. Which of equal indices is played changes no regret bound.
    """
    mean, second, improved = -np.inf, -np.inf, 0
    for k in range(scores.size):
        if scores[k] == best:
            value = clipped_mean(plan, state, k)
            second = max(second, min(mean, value))
            if value > mean:
                mean, improved = value, k
            elif value < mean:
                scores[k] = -np.inf
    for k in range(improved if second > -np.inf else 0):
        if scores[k] == best and clipped_mean(plan, state, k) < mean:
            scores[k] = -np.inf
    return second


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
