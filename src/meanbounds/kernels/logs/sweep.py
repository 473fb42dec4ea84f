"""Confidence limits on the means of all arms in many contexts, from what was counted in each.

Rewards are in units of their range. What the variables below are for, and why their means are bounds, is explained in
`meanbounds.logs.assumptions.claims`; how likely each limit is to fail in `meanbounds.logs.shares`.
"""

from __future__ import annotations

from math import inf

import numpy as np

from meanbounds.kernels.arms.divergence import kl_upper
from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.logs.limits import BETTING, upper_from_sums, upper_from_values
from meanbounds.kernels.logs.sets import look
from meanbounds.support.types import Floats, Integers

__all__ = ["check_limits", "lower_limits", "odds_limits", "upper_limits"]

_FEW = 4  # arms up to which all sets are tried
_SORTS = 3


@compiled
def _limit(
    method: int, rows: float, total: float, squares: float, goal: float, values: Floats, counts: Floats
) -> float:
    """The upper limit, by the sums or by the values, whichever the method needs."""
    if method == BETTING:
        return upper_from_values(values, counts, values.size, rows, goal)
    return upper_from_sums(method, rows, total, squares, goal)


@compiled
def upper_limits(
    rows: Floats,
    total: Floats,
    squares: Floats,
    values: Floats,
    counted: Floats,
    floors: Floats,
    minus: Floats,
    plus: Floats,
    goals: Floats,
    method: int,
    upper: Floats,
) -> None:
    """Lower `upper` to the least limit on the means of Y 1{A = k} + (max(Y, floor) - minus) 1{A != k}, plus `plus`.

    Parameters
    ----------
    rows, total, squares
        Contexts x arms.
    values, counted
        Upper edges of the rewards that were counted, and contexts x arms x values; no values if they were not counted.
        Then floors between 0 and 1 are taken as if each reward were 0 or 1, which can only raise the limit.
    floors, goals
        One for each variable.
    minus, plus
        Contexts x variables.
    upper
        Contexts x arms.
    """
    contexts, arms = rows.shape
    bins = values.size
    one, its = np.empty(2 * bins), np.empty(2 * bins)
    for c in range(contexts):
        n, everything, all_squares = rows[c].sum(), total[c].sum(), squares[c].sum()
        if n < 1.0:
            continue
        everyone = np.zeros(bins)
        for j in range(arms):
            for v in range(bins):
                everyone[v] += counted[c, j, v]
        for f in range(floors.size):
            floor, less = floors[f], minus[c, f]
            low = min(0.0, floor - less)
            width = 1.0 - low
            for k in range(arms):
                left, rest, rest_squares = n - rows[c, k], everything - total[c, k], all_squares - squares[c, k]
                if 0.0 < floor < 1.0 and bins > 0:
                    rest, rest_squares = 0.0, 0.0
                    for v in range(bins):
                        raised = max(values[v], floor)
                        rest += (everyone[v] - counted[c, k, v]) * raised
                        rest_squares += (everyone[v] - counted[c, k, v]) * raised * raised
                else:  # floor + (1 - floor) Y, which is Y where the floor is 0 and at least max(Y, floor) elsewhere
                    slope = 1.0 - floor
                    rest_squares = floor * floor * left + 2.0 * floor * slope * rest + slope * slope * rest_squares
                    rest = floor * left + slope * rest
                first = total[c, k] + rest - less * left
                second = squares[c, k] + rest_squares - 2.0 * less * rest + less * less * left
                if method == BETTING:
                    for v in range(bins):
                        one[v], its[v] = (values[v] - low) / width, counted[c, k, v]
                        one[bins + v] = min(max((max(values[v], floor) - less - low) / width, 0.0), 1.0)
                        its[bins + v] = everyone[v] - counted[c, k, v]
                unit = (first - low * n) / width
                unit_squares = (second - 2.0 * low * first + low * low * n) / (width * width)
                found = low + width * _limit(method, n, unit, unit_squares, goals[f], one, its) + plus[c, f]
                upper[c, k] = min(upper[c, k], found)


@compiled
def lower_limits(
    rows: Floats,
    total: Floats,
    squares: Floats,
    values: Floats,
    counted: Floats,
    gaps: Floats,
    prices: Floats,
    alone: float,
    method: int,
    lower: Floats,
) -> None:
    """Raise `lower` to the best limit on the means of Y 1{A = k} + (Y - gap) 1{A in S}, over sets S of other arms.

    Parameters
    ----------
    rows, total, squares, values, counted
        As for `upper_limits`, with lower edges.
    gaps
        Of each context. Where it is the whole range only the empty set is tried, with the price `alone`.
    prices
        Minus the logarithm of the share of each set of s other arms, for s = 0, 1, 2, ...
    lower
        Contexts x arms.
    """
    contexts, arms = rows.shape
    bins = values.size
    one, its = np.empty(2 * bins + 1), np.empty(2 * bins + 1)
    order, chosen = np.empty(arms, dtype=np.int64), np.zeros(arms, dtype=np.int64)
    for c in range(contexts):
        n = rows[c].sum()
        if n < 1.0:
            continue
        whole = gaps[c] >= 1.0 or arms == 1
        for k in range(arms):
            chosen[:] = 0
            goal = alone if whole else prices[0]
            found = _of_set(rows[c], total[c], squares[c], values, counted[c], k, chosen, 0.0, goal, method, one, its)
            lower[c, k] = max(lower[c, k], found)
            if whole:
                continue
            if arms <= _FEW:
                for mask in range(1, 2 ** (arms - 1)):
                    size = 0
                    for j in range(arms):
                        place = j if j < k else j - 1
                        chosen[j] = 0 if j == k else (mask >> place) & 1
                        size += chosen[j]
                    goal = prices[size]
                    found = _of_set(
                        rows[c], total[c], squares[c], values, counted[c], k, chosen, gaps[c], goal, method, one, its
                    )
                    lower[c, k] = max(lower[c, k], found)
                continue
            tilt, count = 0.0, 0
            for j in range(arms):
                if j != k:
                    order[count] = j
                    count += 1
            for turn in range(_SORTS):
                changed = _sort(rows[c], total[c], squares[c], count, gaps[c], tilt, n, order)
                if turn > 0 and not changed:
                    break  # the same sets again
                first, second, tilt = look(rows[c], total[c], squares[c], k, gaps[c], n, prices, method, order)
                for size in (first, second):
                    if size == 0:
                        continue
                    chosen[:] = 0
                    for i in range(size):
                        chosen[order[i]] = 1
                    goal = prices[size]
                    found = _of_set(
                        rows[c], total[c], squares[c], values, counted[c], k, chosen, gaps[c], goal, method, one, its
                    )
                    lower[c, k] = max(lower[c, k], found)


@compiled
def _sort(
    rows: Floats, total: Floats, squares: Floats, count: int, gap: float, tilt: float, n: float, order: Integers
) -> bool:
    """Sort the other arms by what they add to a limit, the best first, and say whether their order has changed.

    See `meanbounds.kernels.logs.sets`.
    """
    score = np.empty(count)
    for i in range(count):
        j = order[i]
        adds = (total[j] - gap * rows[j]) / n
        score[i] = adds - tilt * ((squares[j] - 2.0 * gap * total[j] + gap * gap * rows[j]) / n)
    changed, step = False, 1
    while 9 * step < count:  # Shell's method with the steps 1, 4, 13, 40, ...; by insertion if there are few
        step = 3 * step + 1
    while step > 0:
        for i in range(step, count):
            j, value, at = order[i], score[i], i
            while at >= step and score[at - step] < value:
                order[at], score[at] = order[at - step], score[at - step]
                at -= step
            if at < i:
                order[at], score[at] = j, value
                changed = True
        step //= 3
    return changed


@compiled
def _of_set(
    rows: Floats,
    total: Floats,
    squares: Floats,
    values: Floats,
    counted: Floats,
    k: int,
    chosen: Integers,
    gap: float,
    goal: float,
    method: int,
    one: Floats,
    its: Floats,
) -> float:
    """The lower limit of arm k with the set of other arms that are chosen."""
    bins, width = values.size, 1.0 + gap
    n, own, moved, moved_total, moved_squares = 0.0, rows[k], 0.0, 0.0, 0.0
    for j in range(rows.size):
        n += rows[j]
        if chosen[j]:
            moved += rows[j]
            moved_total += total[j]
            moved_squares += squares[j]
    first = total[k] + moved_total - gap * moved
    second = squares[k] + moved_squares - 2.0 * gap * moved_total + gap * gap * moved
    if method == BETTING:
        for v in range(bins):
            one[v], its[v] = 1.0 - (values[v] + gap) / width, counted[k, v]
            one[bins + v], its[bins + v] = 1.0 - values[v] / width, 0.0
            for j in range(rows.size):
                if chosen[j]:
                    its[bins + v] += counted[j, v]
        one[2 * bins], its[2 * bins] = 1.0 - gap / width, n - own - moved
    unit = n - (first + gap * n) / width
    unit_squares = n - 2.0 * (first + gap * n) / width + (second + 2.0 * gap * first + gap * gap * n) / (width * width)
    return -gap + width * (1.0 - _limit(method, n, unit, unit_squares, goal, one, its))


@compiled
def odds_limits(
    rows: Floats,
    total: Floats,
    squares: Floats,
    values: Floats,
    counted: Floats,
    odds: Floats,
    thresholds: Floats,
    share_goal: float,
    goals: Floats,
    method: int,
    upper: Floats,
) -> None:
    """Lower `upper` to the least limit over thresholds q on p E[Y] + (1 - p) E[q + L (Y - q)+ - (q - Y)+ / L].

    Means are over the rows in which the arm was played, and p is a lower limit on its share. Parameters are as for
    `upper_limits`; `odds` holds L for each context.
    """
    contexts, arms = rows.shape
    bins = values.size
    one = np.empty(bins)
    for c in range(contexts):
        n, factor = rows[c].sum(), odds[c]
        for k in range(arms):
            own = rows[c, k]
            if own < 1.0:
                continue
            share = 1.0 - kl_upper(1.0 - own / n, share_goal / n)
            for i in range(thresholds.size):
                q = thresholds[i]
                low = (1.0 - share) * (q - q / factor)
                width = share + (1.0 - share) * (q + factor * (1.0 - q)) - low
                if bins == 0:  # at most the line between the values at 0 and 1
                    unit, unit_squares = total[c, k], squares[c, k]
                else:
                    unit, unit_squares = 0.0, 0.0
                    for v in range(bins):
                        y = values[v]
                        tilted = q + factor * max(y - q, 0.0) - max(q - y, 0.0) / factor
                        one[v] = (share * y + (1.0 - share) * tilted - low) / width
                        unit += counted[c, k, v] * one[v]
                        unit_squares += counted[c, k, v] * one[v] * one[v]
                found = low + width * _limit(method, own, unit, unit_squares, goals[i], one, counted[c, k])
                upper[c, k] = min(upper[c, k], found)


@compiled
def check_limits(
    rows: Floats,
    total: Floats,
    squares: Floats,
    values: Floats,
    counted: Floats,
    gaps: Floats,
    goal: float,
    method: int,
    found: Floats,
) -> None:
    """Set `found` to upper limits on the means of (Y - gap) 1{A = k}; parameters as for `upper_limits`."""
    contexts, arms = rows.shape
    bins = values.size
    one, its = np.empty(bins + 1), np.empty(bins + 1)
    for c in range(contexts):
        n, gap = rows[c].sum(), gaps[c]
        width = 1.0 + gap
        for k in range(arms):
            if n < 1.0:
                found[c, k] = inf
                continue
            own, first = rows[c, k], total[c, k] - gap * rows[c, k]
            second = squares[c, k] - 2.0 * gap * total[c, k] + gap * gap * own
            if method == BETTING:
                for v in range(bins):
                    one[v], its[v] = values[v] / width, counted[c, k, v]
                one[bins], its[bins] = gap / width, n - own
            unit = (first + gap * n) / width
            unit_squares = (second + 2.0 * gap * first + gap * gap * n) / (width * width)
            found[c, k] = -gap + width * _limit(method, n, unit, unit_squares, goal, one, its)
