"""Exact indices: the largest mean of an arm over all that is known, the confidence set included.

Which of them is the largest is found with as few cone programs as possible: an arm is solved for only if nothing
cheaper says that it cannot be the one, or that no other can.
"""

from __future__ import annotations

from math import inf, sqrt

import numpy as np

from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.copying import copy_into
from meanbounds.kernels.linear.design import Design, spread
from meanbounds.kernels.linear.pool import Pool, Rule
from meanbounds.kernels.linear.proofs import at_least, at_most, remember, satisfies
from meanbounds.kernels.linear.settle import rounding
from meanbounds.kernels.solvers.cone import Known, maximise
from meanbounds.support.types import Floats, Integers

__all__ = ["every_exact", "largest_exact"]

_CLEAR = 1e-8  # of the largest mean that the norm allows
_BOUNDED, _PROVED, _SOLVED = 0, 1, 2  # where the number that stands for an index comes from


@compiled
def _binding(known: Known, design: Design, norm_high: float, reach: float) -> Known:
    """What is known, with the confidence set, and without the limits that all of the confidence set satisfies."""
    n, d = known.rows.shape
    lower, upper, image = np.empty(n), np.empty(n), np.empty(d)
    some, count = np.empty(n, np.int64), 0
    for k in range(n):
        width, middle = reach * sqrt(spread(design, known.rows[k], image)), 0.0
        for i in range(d):
            middle += known.rows[k, i] * design.estimate[i]
        lower[count] = known.lower[k] if middle - width < known.lower[k] * norm_high else -inf
        upper[count] = known.upper[k] if middle + width > known.upper[k] * norm_high else inf
        some[count] = k
        count += lower[count] > -inf or upper[count] < inf
    rows = np.empty((count, d))
    for place in range(count):
        rows[place] = known.rows[some[place]]
    shape = design.precision * (norm_high / reach) ** 2
    return Known(rows, lower[:count], upper[:count], design.estimate / norm_high, shape)


@compiled
def _unsolved(pool: Pool, design: Design, known: Known, norm_high: float, reach: float, arm: int) -> float:
    """The exact index where nothing needs to be solved; NaN elsewhere.

    So it is where a maximiser over the bounds lies in the confidence set, or the maximiser over the confidence set
    satisfies all bounds.
    """
    if pool.length[arm] == 0.0:
        return float(pool.offset[arm])
    peak, d = pool.peaks[arm], design.estimate.size
    if peak[0] == peak[0]:
        square = 0.0
        for i in range(d):
            part = 0.0
            for j in range(d):
                part += design.precision[i, j] * (peak[j] - design.estimate[j])
            square += part * (peak[i] - design.estimate[i])
        if square <= reach * reach:
            return float(pool.upper[arm])
    x, image, place = pool.features[arm], np.empty(d), np.empty(d)
    width, value = sqrt(spread(design, x, image)), 0.0
    for i in range(d):
        place[i] = (design.estimate[i] + reach / width * image[i]) / norm_high
        value += x[i] * design.estimate[i]
    return float(pool.offset[arm] + value + reach * width) if satisfies(known, place, 0.0) else np.nan


@compiled
def _solve(pool: Pool, design: Design, known: Known, inside: Known, norm_high: float, arm: int) -> float:
    """The exact index from a cone program, whose solution is remembered; NaN if nothing satisfies all that is known."""
    length = pool.length[arm]
    found = maximise(pool.features[arm] / length, inside)
    if not found.value >= -1.0:
        return np.nan
    remember(pool, design, known, norm_high, arm, found)
    return float(pool.offset[arm] + norm_high * length * found.value)


@compiled
def every_exact(
    pool: Pool, rule: Rule, known: Known, design: Design, reach: float, kept: Integers, out: Floats
) -> bool:
    """Lower indices to exact ones, each arm's: False, with the rest as they are, if nothing satisfies all."""
    norm_high = rule.norm_high
    inside = _binding(known, design, norm_high, reach)
    for k in range(kept.size):
        value = _unsolved(pool, design, known, norm_high, reach, kept[k])
        if value != value:
            value = _solve(pool, design, known, inside, norm_high, kept[k])
        if value != value:
            return False
        out[k] = min(out[k], value)
    return True


@compiled
def _clear(pool: Pool, norm_high: float, arm: int) -> float:
    """By how much a proof has to exclude an arm: more than solutions err, so that equal indices stay equal."""
    return float(_CLEAR * (norm_high * pool.length[arm] + abs(pool.offset[arm])))


@compiled
def _two_largest(out: Floats, states: Integers) -> tuple[int, int]:
    """The places of the two largest numbers that are not exact; -1 where there is none."""
    first, second = -1, -1
    for k in range(out.size):
        if states[k] != _SOLVED:
            if first < 0 or out[k] > out[first]:
                first, second = k, first
            elif second < 0 or out[k] > out[second]:
                second = k
    return first, second


@compiled
def largest_exact(
    pool: Pool, rule: Rule, known: Known, design: Design, reach: float, kept: Integers, out: Floats
) -> bool:
    """Lower indices until the largest exact ones are known: False, with `out` as it was, if nothing satisfies all.

    The others are left at what they are at most, which is less. So is an arm that is seen to be the only largest.
    """
    size, norm_high = kept.size, rule.norm_high
    states, image, before = np.zeros(size, np.int64), np.empty(design.estimate.size), out.copy()
    inside = Known(known.rows[:0], known.lower[:0], known.upper[:0], known.centre, known.shape)
    ready, best, shown, least = False, -inf, -1, -inf
    while True:
        top, next_one = _two_largest(out, states)
        if top < 0 or out[top] < best - rounding(best, pool.length[kept[top]], pool.offset[kept[top]], norm_high):
            return True
        arm = kept[top]
        if states[top] != _BOUNDED and shown != top:
            shown = top
            least = min(at_least(pool, design, known, norm_high, reach, arm), out[top])
            least -= _clear(pool, norm_high, arm)
        if shown == top and best < least and (next_one < 0 or out[next_one] < least):
            return True
        place = top if states[top] == _BOUNDED or next_one < 0 else next_one
        if states[place] == _BOUNDED:
            states[place] = _PROVED
            value = _unsolved(pool, design, known, norm_high, reach, kept[place])
            if value == value:
                states[place] = _SOLVED
                best = max(best, min(out[place], value))
            else:
                value = at_most(pool, design, norm_high, reach, kept[place], image)
                value += _clear(pool, norm_high, kept[place])
            out[place] = min(out[place], value)
            continue
        if not ready:
            inside, ready = _binding(known, design, norm_high, reach), True
        value = _solve(pool, design, known, inside, norm_high, arm)
        if value != value:
            copy_into(before, out)
            return False
        states[top] = _SOLVED
        out[top] = min(out[top], value)
        best = max(best, out[top])
