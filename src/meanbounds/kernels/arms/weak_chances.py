"""Chances and shortfalls of candidates of which some have a weak law, see `meanbounds.kernels.arms.weak`.

Each candidate's mean is a mixture of one or two parts, and a part is a law in its own range. With F_j the distribution
functions, candidate a is best with probability ``integral of density_a * product of the other F_j``, which is taken in
the y of each part of a, from panel to panel. Distribution functions are computed anew at each node: this is slow, and
right however much of a law lies next to an end of its range.
"""

from __future__ import annotations

from math import exp, log, sqrt

import numpy as np

from meanbounds.kernels.arms.nodes import gauss_legendre
from meanbounds.kernels.arms.tables import Plan, State
from meanbounds.kernels.arms.thompson import HAT_SHAPE, posterior_hat, shared_floor
from meanbounds.kernels.arms.weak import (
    ABOVE,
    ABOVE_MOMENT,
    BELOW,
    BELOW_MOMENT,
    CENTRE,
    LACK,
    LEAST,
    MOST,
    WEAK_SIZE,
    A,
    B,
    fall_of,
    fill_weak,
    place_of,
    step_to,
    weak_quantile,
    weak_tail,
)
from meanbounds.kernels.compiling import compiled
from meanbounds.support.types import Floats

__all__ = ["PART_SIZE", "put_part", "weak_best", "weak_parts", "weak_values"]

PART_SIZE = WEAK_SIZE + 6
_ARM, _WEIGHT, _BOTTOM, _TOP, _SCALE, _MEAN = range(WEAK_SIZE, PART_SIZE)
# After the law: the candidate, the weight in its mixture, where x is 0 and where it is 1 in raw units, the way between
# the two, and the mean in raw units. A part with equal bounds is a point: its law starts with a = 0.

_SIZE = 16  # nodes on a panel
_TOLERANCE = 1e-11  # estimated error of a panel
_STACK = 60
_TINY = 600.0  # in y: from there on x or 1 - x may be too small for floats
_MOST_PANELS = 400  # after these, panels are taken as they are
_REST = 1e-15  # what is left of a law beyond its ends
_NEVER = 1e-15  # a part with less weight is left out
_RARE = 1e-12  # a candidate that is best with less than this probability counts as never best
_WAYS = (-8.0, -3.0, -1.0, 0.0, 1.0, 3.0, 8.0)  # where panels end, in widths of another candidate's law
_NODES, _WEIGHTS, _, _LAST = gauss_legendre(_SIZE)


@compiled
def put_part(
    part: Floats, k: int, weight: float, hat: Floats, floor: tuple[float, float], ends: tuple[float, float, float]
) -> None:
    """Fill in a part of candidate k from a hat of `posterior_hat` and what that returned.

    ``ends`` are low, span and high of the candidate's range.
    """
    lower, upper = hat[3, 0], min(1.0, hat[3, 1])
    low, span, high = ends
    scale = span * floor[1]
    part[_ARM], part[_WEIGHT], part[_SCALE], part[_TOP] = k, weight, scale, high
    part[_BOTTOM] = high - scale if floor[0] > 0.0 else low
    if lower < upper:
        fill_weak(part[:WEAK_SIZE], hat[3, 3] + 1.0, hat[3, 4] + 1.0, lower, upper)
        mass = part[ABOVE] + part[BELOW]
        part[_MEAN] = part[_BOTTOM] + scale * (part[CENTRE] + (part[ABOVE_MOMENT] - part[BELOW_MOMENT]) / mass)
    else:
        part[A], part[CENTRE], part[LACK] = 0.0, lower, 1.0 - lower
        part[_MEAN] = part[_BOTTOM] + scale * lower


@compiled
def weak_parts(plan: Plan, parameters: Floats, state: State) -> Floats:
    """The posterior of each candidate, as the only part of its mixture."""
    hat, shared = np.empty(HAT_SHAPE), shared_floor(plan, parameters, state)
    parts = np.empty((plan.arm.size, PART_SIZE))
    for k in range(plan.arm.size):
        floor = posterior_hat(hat, plan, parameters, state, k, shared)
        put_part(parts[k], k, 1.0, hat, floor, (plan.low[k], plan.span[k], plan.high[k]))
    return parts


@compiled
def _step_in(part: Floats, other: Floats, step: float) -> float:
    """The step in a part of the value that another part has at a step; infinite where the value is outside its range.

    Next to an end that both share, where x or 1 - x is too small for floats, it is a difference of logarithms.
    """
    centre, rest = other[CENTRE], other[LACK]
    y = log(centre / rest) + step
    if abs(y) > _TINY and (other[_BOTTOM] == part[_BOTTOM] if y < 0.0 else other[_TOP] == part[_TOP]):
        scale = log(other[_SCALE] / part[_SCALE])
        return float(y + (scale if y < 0.0 else -scale) - log(part[CENTRE] / part[LACK]))
    x, lack = place_of(centre, rest, step)
    mine = ((other[_BOTTOM] - part[_BOTTOM]) + other[_SCALE] * x) / part[_SCALE]
    rest = ((part[_TOP] - other[_TOP]) + other[_SCALE] * lack) / part[_SCALE]
    return step_to(part[CENTRE], part[LACK], mine, rest)


@compiled
def _at_value(parts: Floats, other: Floats, at: float, less: Floats, gain: Floats) -> float:
    """Write P(mean <= value) and E[(mean - value)+] of each candidate, for the value of a part at a step; return it."""
    value = float(other[_BOTTOM] + other[_SCALE] * place_of(other[CENTRE], other[LACK], at)[0])
    less[:] = 0.0
    gain[:] = 0.0
    for p in range(parts.shape[0]):
        part, k = parts[p], int(parts[p, _ARM])
        weight = part[_WEIGHT]
        if weight <= _NEVER or k == int(other[_ARM]):
            continue
        if part[A] == 0.0:
            below = part[_MEAN] <= value
            less[k] += weight if below else 0.0
            gain[k] += 0.0 if below else weight * (part[_MEAN] - value)
            continue
        step = _step_in(part, other, at)
        if step <= part[LEAST]:
            gain[k] += weight * (part[_MEAN] - value)
        elif step >= part[MOST]:
            less[k] += weight
        else:
            below, _, more, _ = weak_tail(part[:WEAK_SIZE], step)
            less[k] += weight * below
            gain[k] += weight * part[_SCALE] * more
    return value


@compiled
def _edges(parts: Floats, own: Floats, start: float, stop: float, out: Floats) -> int:
    """Write, in rising order, where panels of a part end: where another law starts, ends and is narrow."""
    size = 0
    out[size], size = start, size + 1
    for p in range(parts.shape[0]):
        part = parts[p]
        if part[_WEIGHT] <= _NEVER:
            continue
        ways = len(_WAYS) + 2 if part[A] > 0.0 else 1
        for n in range(ways):
            x, lack, step = part[CENTRE], part[LACK], 0.0
            if part[A] > 0.0:
                width = 1.0 / sqrt((part[A] + part[B]) * x * lack + (part[A] * lack - part[B] * x) ** 2)
                step = part[LEAST] if n == 0 else (part[MOST] if n == 1 else _WAYS[n - 2] * width)
                if not abs(step) < np.inf:
                    continue
            at = _step_in(own, part, step)
            if start < at < stop:
                out[size], size = at, size + 1
    out[size], size = stop, size + 1
    out[:size].sort()
    return size


@compiled
def _panel(
    parts: Floats, own: Floats, start: float, half: float, best: Floats, gains: Floats, less: Floats, gain: Floats
) -> float:
    """Write what a panel adds to the chance of a part, and to its integrals with the others; return the error.

    ``best``: the chance, and the value times it. ``gains``, for each other candidate, with P the probability that its
    mean is at most the value: integrals with E[(mean - value)+] / P, (1 - P) / P, and that times the value.
    """
    values = np.empty(_SIZE)
    mass = own[ABOVE] + own[BELOW]
    best[:] = 0.0
    gains[:] = 0.0
    for i in range(_SIZE):
        step = start + half * (1.0 + _NODES[i])
        value = _at_value(parts, own, step, less, gain)
        density = own[_WEIGHT] * exp(fall_of(own[A], own[B], own[CENTRE], own[LACK], step)) / mass
        for k in range(less.size):
            if k != int(own[_ARM]):
                density *= less[k]
        values[i] = density
        part = half * _WEIGHTS[i] * density
        best[0] += part
        best[1] += part * value
        for k in range(less.size):
            if k != int(own[_ARM]) and part > 0.0:
                gains[k, 0] += part * gain[k] / less[k]
                gains[k, 1] += part * (1.0 - less[k]) / less[k]
                gains[k, 2] += part * value * (1.0 - less[k]) / less[k]
    even = odd = 0.0
    for i in range(_SIZE):
        even += _LAST[0, i] * values[i]
        odd += _LAST[1, i] * values[i]
    return half * (abs(even) + abs(odd))


@compiled
def _integrate(parts: Floats, own: Floats, best: Floats, gains: Floats) -> None:
    """Add a part's chance, the value times it, and its integrals with the others."""
    size = gains.shape[0]
    start, stop = weak_quantile(own[:WEAK_SIZE], 1.0 - _REST), weak_quantile(own[:WEAK_SIZE], _REST)
    edges, waiting = np.empty(2 + parts.shape[0] * (len(_WAYS) + 2)), np.empty(_STACK)
    less, gain, more, others = np.empty(size), np.empty(size), np.empty(2), np.empty((size, 3))
    count, panels = _edges(parts, own, start, stop, edges), 0
    for n in range(count - 1):
        here, top = edges[n], 0
        waiting[0] = edges[n + 1]
        while top >= 0:
            end = waiting[top]
            half = 0.5 * (end - here)
            error = _panel(parts, own, here, half, more, others, less, gain) if half > 0.0 else 0.0
            panels += 1
            may_split = top + 1 < _STACK and panels < _MOST_PANELS and here < here + half < end
            if half > 0.0 and error > _TOLERANCE and may_split:
                top += 1
                waiting[top] = here + half
                continue
            if half > 0.0:
                best += more
                gains += others
            here, top = end, top - 1


@compiled
def _point(parts: Floats, own: Floats, best: Floats, gains: Floats) -> None:
    """The same for a part that is a point; points that are equal share their chance."""
    size = gains.shape[0]
    less, gain = np.empty(size), np.empty(size)
    _at_value(parts, own, 0.0, less, gain)
    equal, chance = 1, own[_WEIGHT]
    for p in range(parts.shape[0]):
        equal += parts[p, A] == 0.0 and parts[p, _ARM] != own[_ARM] and parts[p, _MEAN] == own[_MEAN]
    for k in range(size):
        if k != int(own[_ARM]):
            chance *= less[k]
    chance /= equal
    best[0] += chance
    best[1] += chance * own[_MEAN]
    for k in range(size):
        if k != int(own[_ARM]) and chance > 0.0:
            gains[k, 0] += chance * gain[k] / less[k]
            gains[k, 1] += chance * (1.0 - less[k]) / less[k]
            gains[k, 2] += chance * own[_MEAN] * (1.0 - less[k]) / less[k]


@compiled
def _sums(parts: Floats, size: int, means: Floats, best: Floats, lifted: Floats, moved: Floats) -> float:
    """Write E[mean], P(best), E[mean; best], and P(a best) (E[mean_k] - E[mean_k given a best]) in row a, column k.

    Returns what the chances lack to 1, before they are divided by their sum.
    """
    means[:] = 0.0
    for p in range(parts.shape[0]):
        means[int(parts[p, _ARM])] += parts[p, _WEIGHT] * parts[p, _MEAN]
    best[:] = 0.0
    lifted[:] = 0.0
    moved[:] = 0.0
    both, gains = np.empty(2), np.empty((size, 3))
    for p in range(parts.shape[0]):
        own, a = parts[p], int(parts[p, _ARM])
        if own[_WEIGHT] <= _NEVER:
            continue
        both[:] = 0.0
        gains[:] = 0.0
        if own[A] == 0.0:
            _point(parts, own, both, gains)
        else:
            _integrate(parts, own, both, gains)
        best[a] += both[0]
        lifted[a] += both[1]
        for k in range(size):
            if k != a:  # E[mean] - E[mean; at most x] / P = (E[(mean - x)+] - (1 - P) (E[mean] - x)) / P
                moved[a, k] += gains[k, 0] - means[k] * gains[k, 1] + gains[k, 2]
    whole = float(best.sum())
    best /= whole
    lifted /= whole
    moved /= whole
    return abs(whole - 1.0)


@compiled
def weak_best(parts: Floats, out: Floats) -> float:
    """Write the probability that each candidate has the largest mean; return the error that their sum shows."""
    size = out.size
    return _sums(parts, size, np.empty(size), out, np.empty(size), np.empty((size, size)))


@compiled
def weak_values(parts: Floats, short: Floats, learnt: Floats) -> None:
    """Write the expected shortfall and the variance of each candidate; see `meanbounds.kernels.arms.ids`."""
    size = short.size
    means, best, lifted, moved = np.empty(size), np.empty(size), np.empty(size), np.empty((size, size))
    _sums(parts, size, means, best, lifted, moved)
    for k in range(size):
        short[k] = learnt[k] = 0.0
        for a in range(size):
            if best[a] < _RARE:
                continue
            raised = lifted[a] - best[a] * means[k]
            short[k] += raised
            change = moved[a, k] if a != k else raised
            learnt[k] += change * change / best[a]
        short[k] = max(0.0, short[k])
