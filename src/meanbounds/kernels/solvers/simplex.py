"""The largest value of a linear function over a box and a few two-sided limits: a small linear program.

The method is the dual simplex for bounded variables, on a dense tableau. Because of the box, the corner that is best
without the other limits is a start, so there is no first phase. Each step brings one violated limit into force.
Whatever the multipliers are when it stops, they prove the value that is returned: it is never below the maximum, up to
rounding.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np

from meanbounds.kernels.compiling import compiled
from meanbounds.support.types import Floats, Integers

__all__ = ["Polytope", "Vertices", "maximise_all"]

_FITS = 1e-11  # of the scale of a limit: how far outside counts as violated
_PIVOT = 1e-9  # of the largest entry of its row: below this, an entry counts as zero
_PATIENCE = 20  # steps per variable and row until the choice that cannot cycle is made
_FEASIBLE, _INFEASIBLE, _TIRED = 0, 1, 2


class Polytope(NamedTuple):
    """All points of a box with ``lower <= rows @ point <= upper``; limits of rows may be infinite."""

    rows: Floats  # n x d
    lower: Floats
    upper: Floats
    low: Floats  # of the box, finite
    high: Floats


class Vertices(NamedTuple):
    """What `maximise_all` found for each target."""

    value: Floats  # never below the maximum; minus infinity where nothing is feasible
    point: Floats  # where it is attained
    clash: Floats  # where nothing is feasible: how much each row takes part in the contradiction


class _Tableau(NamedTuple):
    """Variables 0 to d-1 are coordinates, d and up are rows; those outside are linear in those inside.

    `table` has a row for each variable outside; `cost` is the target in terms of those inside, each of which is at one
    of its limits.
    """

    table: Floats
    cost: Floats
    inside: Integers
    outside: Integers
    at: Floats  # value of each variable inside
    low: Floats  # of all d + n variables
    high: Floats
    size: Floats


@compiled
def _start(target: Floats, space: Polytope) -> _Tableau:
    n, d = space.rows.shape
    low, high, size = np.empty(d + n), np.empty(d + n), np.empty(d + n)
    for j in range(d):
        low[j], high[j] = space.low[j], space.high[j]
        size[j] = max(abs(low[j]), abs(high[j]))
    for i in range(n):
        reach = 0.0
        for j in range(d):
            reach += abs(space.rows[i, j]) * size[j]
        size[d + i] = reach
        low[d + i] = max(space.lower[i], -2.0 * reach)  # the box implies half of that: all limits are finite from here
        high[d + i] = min(space.upper[i], 2.0 * reach)
    at = np.empty(d)
    for j in range(d):
        at[j] = high[j] if target[j] > 0.0 else low[j]
    return _Tableau(space.rows.copy(), target.copy(), np.arange(d), np.arange(d, d + n), at, low, high, size)


@compiled
def _violated(state: _Tableau, cautious: bool) -> tuple[int, float]:
    """Which variable outside is farthest beyond a limit (the first one, if cautious), and that limit."""
    n, d = state.table.shape
    place, worst, limit = -1, 0.0, 0.0
    for i in range(n):
        variable, value = state.outside[i], 0.0
        for j in range(d):
            value += state.table[i, j] * state.at[j]
        below, above = state.low[variable] - value, value - state.high[variable]
        beyond = max(below, above)
        if beyond <= _FITS * state.size[variable]:
            continue
        first = cautious and (place < 0 or variable < state.outside[place])
        if first or (not cautious and beyond > worst):
            place, worst = i, beyond
            limit = state.low[variable] if below > above else state.high[variable]
    return place, limit


@compiled
def _entering(state: _Tableau, row: int, up: bool, cautious: bool) -> int:
    """Which variable inside gives way, so that the one outside can move up (or down); -1 if none can."""
    d = state.cost.size
    largest = 0.0
    for j in range(d):
        largest = max(largest, abs(state.table[row, j]))
    chosen, least, pivot = -1, inf, 0.0
    for j in range(d):
        entry, variable = state.table[row, j], state.inside[j]
        low, high = state.low[variable], state.high[variable]
        if abs(entry) <= _PIVOT * largest or low == high:
            continue
        is_high = state.at[j] == high
        if (entry > 0.0) == (is_high == up):  # moving it off its limit goes the wrong way
            continue
        ratio, size = abs(state.cost[j] / entry), abs(entry)
        tie = ratio <= least * (1.0 + 1e-12) + 1e-300
        better = variable < state.inside[chosen] if cautious else size > pivot
        if ratio < least * (1.0 - 1e-12) or chosen < 0 or (tie and better):
            chosen, least, pivot = j, min(ratio, least), size
    return chosen


@compiled
def _out_of_reach(state: _Tableau, row: int, up: bool, limit: float) -> bool:
    """Whether the limit is beyond what the variables inside allow, entries that count as zero included."""
    reach = 0.0
    for j in range(state.cost.size):
        entry, variable = state.table[row, j], state.inside[j]
        if entry != 0.0:
            reach += entry * (state.high[variable] if (entry > 0.0) == up else state.low[variable])
    return reach < limit if up else reach > limit


@compiled
def _swap(state: _Tableau, row: int, column: int, limit: float) -> None:
    """Bring the variable outside at `row` inside, at `limit`, in exchange for the one at `column`."""
    n, d = state.table.shape
    pivot = state.table[row, column]
    for j in range(d):
        state.table[row, j] = -state.table[row, j] / pivot
    state.table[row, column] = 1.0 / pivot
    for i in range(n):
        factor = state.table[i, column]
        if i != row and factor != 0.0:
            for j in range(d):
                state.table[i, j] += factor * state.table[row, j]
            state.table[i, column] = factor * state.table[row, column]
    factor = state.cost[column]
    for j in range(d):
        state.cost[j] += factor * state.table[row, j]
    state.cost[column] = factor * state.table[row, column]
    state.inside[column], state.outside[row] = state.outside[row], state.inside[column]
    state.at[column] = limit


@compiled
def _solve(state: _Tableau, clash: Floats) -> int:
    n, d = state.table.shape
    patience = _PATIENCE * (n + d)
    for step in range(3 * patience):
        cautious = step > patience
        row, limit = _violated(state, cautious)
        if row < 0:
            return _FEASIBLE
        leaving = state.outside[row]
        up = limit == state.low[leaving]
        column = _entering(state, row, up, cautious)
        if column < 0:
            if not _out_of_reach(state, row, up, limit):
                return _TIRED
            if leaving >= d:
                clash[leaving - d] = 1.0
            for j in range(d):
                if state.inside[j] >= d:
                    clash[state.inside[j] - d] = abs(state.table[row, j])
            return _INFEASIBLE
        _swap(state, row, column, limit)
    return _TIRED


@compiled
def _proved(target: Floats, space: Polytope, state: _Tableau) -> float:
    """What the multipliers of the rows prove, from the original numbers: no feasible point has a larger value."""
    d = target.size
    left, value = target.copy(), 0.0
    for j in range(d):
        i, weight = state.inside[j] - d, state.cost[j]
        if i < 0 or weight == 0.0:
            continue
        value += weight * (state.high[d + i] if weight > 0.0 else state.low[d + i])
        for k in range(d):
            left[k] -= weight * space.rows[i, k]
    for k in range(d):
        value += left[k] * (space.high[k] if left[k] > 0.0 else space.low[k])
    return value


def maximise_all(targets: Floats, space: Polytope) -> Vertices:
    """The largest ``target . point`` over the polytope for each row of targets."""
    found = Vertices(np.empty(len(targets)), np.zeros(targets.shape), np.zeros((len(targets), len(space.rows))))
    _maximise_all(targets, space, found)
    return found


@compiled
def _maximise_all(targets: Floats, space: Polytope, found: Vertices) -> None:
    n, d = space.rows.shape
    for t in range(len(targets)):
        state = _start(targets[t], space)
        status = _solve(state, found.clash[t])
        found.value[t] = -inf if status == _INFEASIBLE else _proved(targets[t], space, state)
        for j in range(d):
            if state.inside[j] < d:
                found.point[t, state.inside[j]] = state.at[j]
        for i in range(n):
            if state.outside[i] < d:
                value = 0.0
                for j in range(d):
                    value += state.table[i, j] * state.at[j]
                found.point[t, state.outside[i]] = value
