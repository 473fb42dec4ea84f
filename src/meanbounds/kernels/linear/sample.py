"""Draws of the parameter from a Gaussian limited to what is known: a polytope, cut with the ball of the norm.

The chain is hit-and-run. In each step it picks a direction, finds the part of the line through the point that
satisfies every limit, and draws from the Gaussian on that part, which is exact; so each step leaves the truncated
Gaussian as it is, and no point is ever outside. Directions are the axes of a Cholesky factor, one after the other:
where no limit is near, one step along each of them makes a draw that is independent of the last. The chain goes on from
round to round.
"""

from __future__ import annotations

from math import cos, exp, inf, log, pi, sqrt
from typing import NamedTuple

import numpy as np

from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.linear.design import Design
from meanbounds.kernels.linear.pool import Pool, Rule
from meanbounds.kernels.random.stream import child, uniform
from meanbounds.kernels.solvers.cone import Known, factorise
from meanbounds.support.types import Floats, Integers

__all__ = ["Walk", "favourites", "sample", "start_walk", "step", "truncated_normal"]

_SHORT = 1.5  # standard deviations: in a shorter interval around the mean, uniform proposals are accepted more often
_FAR = 1e8  # standard deviations: beyond, the tail is exponential to the last digit
_BEFORE = 20  # steps along each axis before the first round of a chain, which starts at the centre
_TRIES = 8  # draws on a line of which the first that is long enough is taken


@compiled
def truncated_normal(low: float, high: float, key: np.uint64, place: int) -> tuple[float, int]:
    """A standard normal number between two limits, and the next unused place of the stream.

    Proposals are normal, uniform or exponential, whichever fits the interval, and rejected until one is accepted.
    """
    if low > 0.0 or high < 0.0:
        near, length = (low, high - low) if low > 0.0 else (-high, high - low)
        rate = 0.5 * (near + sqrt(near * near + 4.0)) if near < _FAR else near  # of the exponential that fits best
        mass = 1.0 - exp(-rate * length)
        if rate * length < 1.0:
            while True:
                step = length * uniform(key, place)
                if uniform(key, place + 1) <= exp(-step * (near + 0.5 * step)):
                    break
                place += 2
        else:
            shift = rate - near
            while True:
                step = min(-log(1.0 - mass * uniform(key, place)) / rate, length)
                if uniform(key, place + 1) <= exp(-0.5 * (step - shift) * (step - shift)):
                    break
                place += 2
        return (near + step if low > 0.0 else -near - step), place + 2
    if high - low < _SHORT:
        while True:
            value = low + (high - low) * uniform(key, place)
            if uniform(key, place + 1) <= exp(-0.5 * value * value):
                return value, place + 2
            place += 2
    while True:
        value = sqrt(-2.0 * log(1.0 - uniform(key, place))) * cos(2.0 * pi * uniform(key, place + 1))
        place += 2
        if low <= value <= high:
            return value, place


@compiled
def _project(columns: Floats, vector: Floats, out: Floats) -> None:
    """Product of every row with a vector; the rows are the columns of `columns`, d x rows."""
    out[:] = 0.0
    for i in range(vector.size):
        part = vector[i]
        for k in range(out.size):
            out[k] += part * columns[i, k]


class Walk(NamedTuple):
    """Where a chain is, and room for its steps; all in units in which the parameter has norm at most 1."""

    columns: Floats  # d x rows: the limits' directions
    lower: Floats
    upper: Floats
    precision: Floats  # of the Gaussian
    factor: Floats  # of the matrix whose axes are the directions
    target: Floats  # precision times mean
    point: Floats
    values: Floats  # of each limit's direction at the point
    slopes: Floats  # of the same along the line
    line: Floats


@compiled
def start_walk(
    known: Known,
    precision: Floats,
    moment: Floats,
    variance: float,
    regularisation: float,
    norm_high: float,
    point: Floats,
) -> Walk:
    """Get ready to walk from a point, which is changed in place.

    The Gaussian has the data of a regression, without its regularisation, and a prior with precision `regularisation`
    in each direction. The rows of `known` are given as columns, d x n. Its shape has d rows that are added to the
    precision to find directions in which the set is not too narrow, and then a basis of the directions in which it is
    not flat, unless it is flat in none.
    """
    d, n = point.size, known.lower.size
    scale = norm_high * norm_high / variance
    whole, factor = np.empty((d, d)), np.empty((d, d))
    for i in range(d):
        for j in range(d):
            whole[i, j] = scale * precision[i, j]
        whole[i, i] += regularisation - scale * regularisation
        for j in range(d):
            factor[i, j] = whole[i, j] + known.shape[i, j]
    factorise(factor)
    values, target = np.empty(n), moment * (norm_high / variance)
    _project(known.rows, point, values)
    return Walk(known.rows, known.lower, known.upper, whole, factor, target, point, values, np.empty(n), np.empty(d))


@compiled
def _aim(walk: Walk, known: Known, axis: int) -> None:
    """Write the direction of an axis to the line, without what points out of a flat set."""
    line, factor, d = walk.line, walk.factor, walk.line.size
    line[:] = 0.0
    for i in range(axis, -1, -1):
        value = 1.0 if i == axis else 0.0
        for k in range(i + 1, axis + 1):
            value -= factor[k, i] * line[k]
        line[i] = value / factor[i, i]
    if known.shape.shape[0] > d:
        flat = line.copy()
        line[:] = 0.0
        for row in range(d, known.shape.shape[0]):
            part = 0.0
            for i in range(d):
                part += known.shape[row, i] * flat[i]
            for i in range(d):
                line[i] += part * known.shape[row, i]


@compiled
def _room(walk: Walk) -> tuple[float, float]:
    """How far one can walk along the line, backwards and forwards."""
    point, line = walk.point, walk.line
    along, length, size = 0.0, 0.0, 0.0
    for i in range(line.size):
        along += point[i] * line[i]
        length += line[i] * line[i]
        size += point[i] * point[i]
    if length == 0.0:
        return 0.0, 0.0
    root = sqrt(max(along * along + length * (1.0 - size), 0.0))
    low, high = (-root - along) / length, (root - along) / length
    _project(walk.columns, line, walk.slopes)
    lower, upper, values, slopes = walk.lower, walk.upper, walk.values, walk.slopes
    for k in range(values.size):
        inverse = 1.0 / slopes[k]
        first, second = (lower[k] - values[k]) * inverse, (upper[k] - values[k]) * inverse
        behind = first if first < second else second
        ahead = second if first < second else first
        low = behind if behind > low else low
        high = ahead if ahead < high else high
    return min(low, 0.0), max(high, 0.0)


@compiled
def step(walk: Walk, known: Known, axis: int, norm_low: float, key: np.uint64, place: int) -> int:
    """Draw a point on the line along an axis: the next unused place of the stream.

    A point shorter than `norm_low` is drawn again, a few times; then the chain stays where it is.
    """
    point, line, target, d = walk.point, walk.line, walk.target, walk.line.size
    _aim(walk, known, axis)
    low, high = _room(walk)
    if not high > low:
        return place
    bend, pull = 0.0, 0.0
    for i in range(d):
        value = 0.0
        for j in range(d):
            value += walk.precision[i, j] * line[j]
        bend += value * line[i]
        pull += line[i] * target[i] - value * point[i]
    scale, peak = sqrt(bend), pull / bend
    for _ in range(_TRIES):
        drawn, place = truncated_normal((low - peak) * scale, (high - peak) * scale, key, place)
        size = min(max(peak + drawn / scale, low), high)
        square = 0.0
        for i in range(d):
            square += (point[i] + size * line[i]) ** 2
        if square >= norm_low * norm_low:
            for i in range(d):
                point[i] += size * line[i]
            for k in range(walk.values.size):
                walk.values[k] += size * walk.slopes[k]
            break
    return place


@compiled
def favourites(pool: Pool, rule: Rule, known: Known, design: Design, kept: Integers, key: np.uint64) -> Integers:
    """Take the steps of a round: for each, the place among `kept` of the arm with the largest mean at that point."""
    d, point, offset, norm_high = design.point.size, design.point, pool.offset, rule.norm_high
    walk = start_walk(known, design.precision, design.moment, rule.proxy, rule.regularisation, norm_high, point)
    least, square, fresh = rule.norm_low / norm_high, 0.0, True
    for i in range(d):
        square += point[i] * point[i]
        fresh &= point[i] == known.centre[i]
    least = least if square >= least * least else 0.0
    out = np.zeros(rule.draws, np.int64)
    axis, place = int(uniform(key, 0) * d), 1
    for number in range(-_BEFORE * d if fresh else 0, rule.draws):
        place = step(walk, known, axis, least, key, place)
        axis = axis + 1 if axis + 1 < d else 0
        best, ties = -inf, 0
        for k in range(kept.size if number >= 0 else 0):
            arm, value = kept[k], 0.0
            for i in range(d):
                value += pool.features[arm, i] * point[i]
            value = min(max(offset[arm] + norm_high * value, pool.lower[arm]), pool.upper[arm])
            if value > best:
                best, ties = value, 1
                out[number] = k
            elif value == best:
                ties += 1
                if uniform(key, place) * ties < 1.0:
                    out[number] = k
                place += 1
    return out


@compiled
def sample(pool: Pool, rule: Rule, known: Known, design: Design, kept: Integers, number: int, key: np.uint64) -> int:
    """Place among `kept` of the arm to play: that of one of the round's points, drawn uniformly."""
    found = favourites(pool, rule, known, design, kept, child(key, number))
    return int(found[int(uniform(key, number) * found.size)])
