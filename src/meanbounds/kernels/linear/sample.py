"""Draws of the parameter from a Gaussian limited to what is known: a polytope, cut with the ball of the norm.

The chain is hit-and-run. In each step it picks a direction, finds the part of the line through the point that
satisfies every limit, and draws from the Gaussian on that part, which is exact; so each step leaves the truncated
Gaussian as it is, and no point is ever outside. Directions are the axes of a Cholesky factor, one after the other:
where no limit is near, one step along each of them makes a draw that is independent of the last. The chain goes on from
round to round. Each step knows the mean on its line as well, and from these follows what the parameter is expected to
be: see `expectation`.
"""

from __future__ import annotations

from math import cos, erf, erfc, exp, inf, log, pi, sqrt
from typing import NamedTuple

import numpy as np

from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.linear.design import Design
from meanbounds.kernels.linear.pool import Pool, Rule
from meanbounds.kernels.random.stream import child, uniform
from meanbounds.kernels.solvers.cone import Known, factorise
from meanbounds.support.types import Floats, Integers

__all__ = ["Walk", "expectation", "favourites", "sample", "start_walk", "step", "truncated_mean", "truncated_normal"]

_SHORT = 1.5  # standard deviations: in a shorter interval around the mean, uniform proposals are accepted more often
_FAR = 1e8  # standard deviations: beyond, the tail is exponential to the last digit
_BEFORE = 20  # steps along each axis before the first round of a chain, which starts at the centre
_TRIES = 8  # draws on a line of which the first that is long enough is taken
_NARROW = 0.03  # how much the logarithm of the density may change where two terms of its series give the mean
_SERIES = 25.0  # standard deviations: beyond, four terms of the series of the tail are right to eleven digits


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
def _mills(x: float) -> float:
    """The mass of a standard normal number beyond x > 0, over its density at x."""
    if x < _SERIES:
        return sqrt(0.5 * pi) * exp(0.5 * x * x) * erfc(x * sqrt(0.5))
    y = 1.0 / (x * x)
    return (1.0 - y * (1.0 - y * (3.0 - y * (15.0 - y * 105.0)))) / x


@compiled
def truncated_mean(low: float, high: float) -> float:
    """The mean of a standard normal number between two limits."""
    sign = 1.0 if high > -low else -1.0  # so that the limit which is farther out is positive
    near, far = (low, high) if high > -low else (-high, -low)
    width, middle = far - near, 0.5 * (near + far)
    if width * max(far, 1.0) < _NARROW:
        value = middle - middle * width * width / 12.0
    elif near > 0.0:
        left = exp(-width * middle)  # of the density, at the far end
        value = (1.0 - left) / (_mills(near) - left * _mills(far))
    else:
        mass = sqrt(0.5 * pi) * (erf(far * sqrt(0.5)) - erf(near * sqrt(0.5)))
        value = (exp(-0.5 * near * near) - exp(-0.5 * far * far)) / mass
    return sign * min(max(value, near), far)


@compiled
def _project(columns: Floats, vector: Floats, out: Floats) -> None:
    """Product of every row with a vector; the rows are the columns of `columns`, d x rows."""
    out[:] = 0.0
    for i in range(vector.size):
        part = vector[i]
        for k in range(out.size):
            out[k] += part * columns[i, k]


class Walk(NamedTuple):
    """Where a chain is, and what is known of its lines; all in units in which the parameter has norm at most 1."""

    columns: Floats  # d x rows: the limits' directions
    lower: Floats
    upper: Floats
    precision: Floats  # of the Gaussian
    factor: Floats  # of the matrix whose axes are the directions
    target: Floats  # precision times mean
    point: Floats
    values: Floats  # of each limit's direction at the point
    lines: Floats  # d x d: the direction of each axis, filled in by its first step
    slopes: Floats  # d x rows: how the values change along each of them
    images: Floats  # d x d: precision times direction
    bends: Floats  # direction times precision times direction; 0 before the first step
    walked: Floats  # along each axis, all steps together
    expected: Floats  # where the mean of the line was, in the same units, summed over the steps along each axis
    visits: Floats  # how many steps these are


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
    return Walk(
        known.rows,
        known.lower,
        known.upper,
        whole,
        factor,
        target,
        point,
        values,
        np.empty((d, d)),
        np.empty((d, n)),
        np.empty((d, d)),
        np.zeros(d),
        np.zeros(d),
        np.zeros(d),
        np.zeros(d),
    )


@compiled
def _aim(walk: Walk, known: Known, axis: int) -> None:
    """Find the direction of an axis, without what points out of a flat set, and what is constant along it."""
    line, factor, d = walk.lines[axis], walk.factor, walk.point.size
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
    _project(walk.columns, line, walk.slopes[axis])
    walk.bends[axis] = 0.0
    for i in range(d):
        value = 0.0
        for j in range(d):
            value += walk.precision[i, j] * line[j]
        walk.images[axis, i] = value
        walk.bends[axis] += value * line[i]


@compiled
def _room(walk: Walk, axis: int) -> tuple[float, float]:
    """How far one can walk along an axis, backwards and forwards."""
    point, line = walk.point, walk.lines[axis]
    along, length, size = 0.0, 0.0, 0.0
    for i in range(line.size):
        along += point[i] * line[i]
        length += line[i] * line[i]
        size += point[i] * point[i]
    if length == 0.0:
        return 0.0, 0.0
    root = sqrt(max(along * along + length * (1.0 - size), 0.0))
    low, high = (-root - along) / length, (root - along) / length
    lower, upper, values, slopes = walk.lower, walk.upper, walk.values, walk.slopes[axis]
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
    if walk.bends[axis] == 0.0:
        _aim(walk, known, axis)
    point, target, d = walk.point, walk.target, walk.point.size
    line, slopes, image, bend = walk.lines[axis], walk.slopes[axis], walk.images[axis], walk.bends[axis]
    low, high = _room(walk, axis)
    walk.visits[axis] += 1.0
    walk.expected[axis] += walk.walked[axis]
    if not high > low:
        return place
    pull = 0.0
    for i in range(d):
        pull += line[i] * target[i] - image[i] * point[i]
    scale, peak = sqrt(bend), pull / bend
    least, most = (low - peak) * scale, (high - peak) * scale
    walk.expected[axis] += min(max(peak + truncated_mean(least, most) / scale, low), high)
    for _ in range(_TRIES):
        drawn, place = truncated_normal(least, most, key, place)
        size = min(max(peak + drawn / scale, low), high)
        square = 0.0
        for i in range(d):
            square += (point[i] + size * line[i]) ** 2
        if square >= norm_low * norm_low:
            walk.walked[axis] += size
            for i in range(d):
                point[i] += size * line[i]
            for k in range(walk.values.size):
                walk.values[k] += size * slopes[k]
            break
    return place


@compiled
def expectation(walk: Walk) -> Floats:
    """What the parameter is expected to be, from the steps since `forget`.

    Along each axis it is the mean over the steps of the mean on the line, which is what the next point was expected to
    be given all other axes. Where no limit is near and the axes are conjugate, one step along each gives the mean of
    the Gaussian itself; elsewhere the result has the right expectation, and varies far less than the points do.
    """
    out, d = walk.point.copy(), walk.point.size
    for axis in range(d):
        if walk.visits[axis] > 0.0:
            back = walk.expected[axis] / walk.visits[axis] - walk.walked[axis]
            for i in range(d):
                out[i] += back * walk.lines[axis, i]
    return out


@compiled
def forget(walk: Walk) -> None:
    """Begin anew to add up what steps expect."""
    walk.walked[:] = 0.0
    walk.expected[:] = 0.0
    walk.visits[:] = 0.0


@compiled
def _means_at(pool: Pool, kept: Integers, norm_high: float, point: Floats, out: Floats) -> None:
    """The mean of each arm that is kept at a point, within its bounds."""
    for k in range(kept.size):
        arm, value = kept[k], 0.0
        for i in range(point.size):
            value += pool.features[arm, i] * point[i]
        out[k] = min(max(pool.offset[arm] + norm_high * value, pool.lower[arm]), pool.upper[arm])


@compiled
def favourites(pool: Pool, rule: Rule, known: Known, design: Design, kept: Integers, key: np.uint64) -> Integers:
    """Take the steps of a round: for each point, the place among `kept` of the arm with the largest mean there.

    If the rule is optimistic no arm counts with less than its mean at the expectation, for which there is a step along
    each axis.
    """
    d, point, norm_high = design.point.size, design.point, rule.norm_high
    walk = start_walk(known, design.precision, design.moment, rule.proxy, rule.regularisation, norm_high, point)
    least, square, fresh = rule.norm_low / norm_high, 0.0, True
    for i in range(d):
        square += point[i] * point[i]
        fresh &= point[i] == known.centre[i]
    least = least if square >= least * least else 0.0
    axis, place = int(uniform(key, 0) * d), 1
    for _ in range(_BEFORE * d if fresh else 0):
        place = step(walk, known, axis, least, key, place)
        axis = axis + 1 if axis + 1 < d else 0
    forget(walk)
    floor, means = np.full(kept.size, -inf), np.empty((rule.draws, kept.size))
    for number in range(min(rule.draws - d, 0) if rule.optimistic else 0, rule.draws):
        place = step(walk, known, axis, least, key, place)
        axis = axis + 1 if axis + 1 < d else 0
        if number >= 0:
            _means_at(pool, kept, norm_high, point, means[number])
    if rule.optimistic:
        _means_at(pool, kept, norm_high, expectation(walk), floor)
    out = np.zeros(rule.draws, np.int64)
    for number in range(rule.draws):
        best, ties = -inf, 0
        for k in range(kept.size):
            value = max(means[number, k], floor[k])
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
