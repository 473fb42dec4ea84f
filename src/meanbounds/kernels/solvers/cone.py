"""The largest value of a linear function over what is known of a parameter: a small second-order cone program.

Known are two-sided limits on some linear functions of the parameter (rows), a limit on its norm, and perhaps an
ellipsoid that it lies in. The method is a primal-dual interior point method with Mehrotra's correction; a step costs
one d x d factorisation and a few passes over the rows. Whatever the multipliers are when it stops, they prove the value
that is returned: it is never below the maximum, up to rounding.
"""

from __future__ import annotations

from math import inf, sqrt
from typing import NamedTuple

import numpy as np

from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.copying import copy_into
from meanbounds.support.types import Booleans, Floats

__all__ = ["Known", "Maximum", "factorise", "maximise", "maximise_each", "scaled", "solve_factored"]

_STEPS = 60
_CLOSE = 1e-10  # of the scale of the problem: where the gap between proof and point is small enough
_FITS = 1e-8  # where a point counts as one that satisfies all limits
_PROVED = 1e-9  # by how much a proof that nothing is feasible has to hold
_WIDER = 1e-10  # every row is relaxed by this while searching, so that there is an interior
_ENORMOUS = 1e64
_BACK = 0.99  # of the step to the boundary
_FEW = 200  # rows: up to here all are taken at once
_AT_ONCE = 8  # rows that are taken in before the next search
_SOLVED = 1e-7  # gap up to which a point is good enough to look for the rows that it violates


class Known(NamedTuple):
    """What is known, in units in which the parameter has norm at most 1; see `scaled`."""

    rows: Floats  # n x d, unit vectors
    lower: Floats  # minus infinity where there is no limit
    upper: Floats
    centre: Floats  # of the ellipsoid ||parameter - centre||_shape <= 1
    shape: Floats  # d x d; 0 x 0 where there is no ellipsoid


class Maximum(NamedTuple):
    """What `maximise` found. A `value` below -1 proves that nothing satisfies all that is known."""

    value: float  # never below the maximum
    gap: float  # how far above the value at the point it is
    point: Floats
    weights: Floats  # multiplier of each row: positive for its upper limit, negative for its lower one
    slope: Floats  # with `level`: target . parameter <= level + slope . parameter wherever rows and norm are satisfied
    level: float


def scaled(rows: Floats, lower: Floats, upper: Floats, norm_high: float) -> Known:
    """Rows of any length and limits in any units as `Known`; limits that the norm implies are taken away."""
    length = np.sqrt((rows**2).sum(axis=1))
    size = np.where(length > 0.0, length, 1.0)
    lower, upper = (np.asarray(limit / (size * norm_high), dtype=np.float64) for limit in (lower, upper))
    known_lower = np.where(lower > -1.0, lower, -inf)
    known_upper = np.where(upper < 1.0, upper, inf)
    d = rows.shape[1]
    units = np.ascontiguousarray(rows / size[:, None], dtype=np.float64)
    return Known(units, known_lower, known_upper, np.zeros(d), np.zeros((0, 0)))


@compiled
def factorise(matrix: Floats) -> None:
    """Cholesky factor of a symmetric matrix, written over its lower triangle.

    Where rounding leaves no positive pivot, an enormous one is put, so that a solution has nothing in that direction.
    """
    d = matrix.shape[0]
    for j in range(d):
        before = matrix[j, j]
        for k in range(j):
            factor = matrix[j, k]
            for i in range(j, d):
                matrix[i, j] -= factor * matrix[i, k]
        root = sqrt(matrix[j, j]) if matrix[j, j] > 1e-16 * before else _ENORMOUS
        for i in range(j, d):
            matrix[i, j] /= root
        matrix[j, j] = root


@compiled
def solve_factored(factor: Floats, vector: Floats) -> None:
    """Solve with what `factorise` left, in place."""
    d = vector.size
    for i in range(d):
        value = vector[i]
        for k in range(i):
            value -= factor[i, k] * vector[k]
        vector[i] = value / factor[i, i]
    for i in range(d - 1, -1, -1):
        value = vector[i]
        for k in range(i + 1, d):
            value -= factor[k, i] * vector[k]
        vector[i] = value / factor[i, i]


@compiled
def _dot(a: Floats, b: Floats) -> float:
    value = 0.0
    for i in range(a.size):
        value += a[i] * b[i]
    return value


class _Search(NamedTuple):
    """Where the search is. Each limit has a slack and a multiplier, both positive, whose product goes to zero.

    Side 0 of a row is its upper limit, side 1 its lower one. Curve 0 is the norm and curve 1 the ellipsoid, as limits
    on half of a square. A change is what the step under consideration would add.
    """

    point: Floats
    along: Floats  # change of the point
    limits: Floats  # 2 x rows, with the sign of the side; infinite where there is none
    slacks: Floats
    duals: Floats
    missing: Floats  # what the slack lacks to fit the point
    slack_change: Floats
    dual_change: Floats
    gradients: Floats  # curves x d
    shares: Floats  # of what the multipliers prove: that of rows and norm, and that of the ellipsoid
    curve_slack: Floats
    curve_dual: Floats
    curve_missing: Floats
    curve_bend: Floats  # what the predicted step adds to a curve beyond its gradient
    curve_slack_change: Floats
    curve_dual_change: Floats
    residual: Floats  # gradient of the whole
    matrix: Floats
    weights: Floats  # multiplier of each row, with the sign of the side


@compiled
def _start(known: Known) -> _Search:
    """Begin at the centre, with slacks that need not fit."""
    n, d = known.rows.shape
    curves = 2 if known.shape.shape[0] else 1
    point = known.centre * min(1.0, 0.9 / max(sqrt(_dot(known.centre, known.centre)), 1e-300))
    limit, slack, dual = np.full((2, n), inf), np.ones((2, n)), np.zeros((2, n))
    for k in range(n):
        limit[0, k], limit[1, k] = known.upper[k] + _WIDER, -known.lower[k] + _WIDER
        value = _dot(known.rows[k], point)
        for side in range(2):
            if limit[side, k] < inf:
                slack[side, k] = max(limit[side, k] - (1 - 2 * side) * value, 0.1)
                dual[side, k] = 0.1 / slack[side, k]
    return _Search(
        point=point,
        along=np.zeros(d),
        limits=limit,
        slacks=slack,
        duals=dual,
        missing=np.zeros((2, n)),
        slack_change=np.zeros((2, n)),
        dual_change=np.zeros((2, n)),
        gradients=np.zeros((curves, d)),
        shares=np.zeros(2),
        curve_slack=np.full(curves, 0.5),
        curve_dual=np.ones(curves),
        curve_missing=np.zeros(curves),
        curve_bend=np.zeros(curves),
        curve_slack_change=np.zeros(curves),
        curve_dual_change=np.zeros(curves),
        residual=np.zeros(d),
        matrix=np.zeros((d, d)),
        weights=np.zeros(n),
    )


@compiled
def _curved(known: Known, curve: int, vector: Floats, centre: Floats, out: Floats) -> float:
    """The matrix of a curve times a vector, less the centre if there is one, written to `out`, and the square in it."""
    if curve == 0:
        copy_into(vector, out)
        return _dot(vector, vector)
    square, d = 0.0, vector.size
    for i in range(d):
        out[i] = 0.0
        for j in range(d):
            out[i] += known.shape[i, j] * (vector[j] - centre[j])
        square += out[i] * (vector[i] - centre[i])
    return square


@compiled
def _look(known: Known, target: Floats, search: _Search) -> tuple[float, float]:
    """Bring residuals up to date: what the multipliers prove, and how badly the slacks fit.

    For any multipliers z of the limits, target . parameter is at most z . limits plus the largest value of what is
    left of the target: its length, since the norm is at most 1.
    """
    rows = known.rows
    limits, slacks, duals, missing = search.limits, search.slacks, search.duals, search.missing
    weights, gradients, curve_slack, curve_dual = (
        search.weights,
        search.gradients,
        search.curve_slack,
        search.curve_dual,
    )
    curve_missing = search.curve_missing
    point, residual, d = search.point, search.residual, target.size
    worst, proof = 0.0, 0.0
    for i in range(d):
        residual[i] = -target[i]
    for k in range(weights.size):
        value = _dot(rows[k], point)
        weights[k] = 0.0
        for side in range(2):
            if limits[side, k] < inf:
                sign, dual = 1.0 - 2.0 * side, duals[side, k]
                missing[side, k] = sign * value + slacks[side, k] - limits[side, k]
                worst = max(worst, abs(missing[side, k]))
                weights[k] += sign * dual
                proof += dual * (limits[side, k] - _WIDER)
        for i in range(d):
            residual[i] += weights[k] * rows[k, i]
    for curve in range(curve_dual.size - 1, -1, -1):  # the norm last: it carries what the others leave
        dual, gradient = curve_dual[curve], gradients[curve]
        square = _curved(known, curve, point, known.centre, gradient)
        curve_missing[curve] = 0.5 * (square - 1.0) + curve_slack[curve]
        worst = max(worst, abs(curve_missing[curve]))
        if curve:
            search.shares[1] = dual * (_dot(gradient, known.centre) + sqrt(max(square, 0.0)))
        else:
            proof += sqrt(_dot(residual, residual))
        for i in range(d):
            residual[i] += dual * gradient[i]
    search.shares[0] = proof
    return proof + search.shares[1], worst


@compiled
def _products(search: _Search, step: float) -> tuple[float, float]:
    """Sum of slack times multiplier after a step, and the number of limits."""
    limits, slacks, duals, slack_change = search.limits, search.slacks, search.duals, search.slack_change
    dual_change = search.dual_change
    total, count = 0.0, 0.0
    for k in range(search.weights.size):
        for side in range(2):
            if limits[side, k] < inf:
                slack = slacks[side, k] + step * slack_change[side, k]
                total += slack * (duals[side, k] + step * dual_change[side, k])
                count += 1.0
    for curve in range(search.curve_dual.size):
        slack = search.curve_slack[curve] + step * search.curve_slack_change[curve]
        total += slack * (search.curve_dual[curve] + step * search.curve_dual_change[curve])
        count += 1.0
    return total, count


@compiled
def _prepare(known: Known, search: _Search) -> None:
    """The matrix of Newton's step, factorised."""
    rows, shape = known.rows, known.shape
    slacks, duals, gradients = search.slacks, search.duals, search.gradients
    matrix, d = search.matrix, search.point.size
    matrix[:] = 0.0
    for curve in range(search.curve_dual.size):
        dual = search.curve_dual[curve]
        stiff = dual / search.curve_slack[curve]
        for i in range(d):
            for j in range(i + 1):
                matrix[i, j] += stiff * gradients[curve, i] * gradients[curve, j]
                if curve:
                    matrix[i, j] += dual * shape[i, j]
            if not curve:
                matrix[i, i] += dual
    for k in range(search.weights.size):
        stiff = 0.0
        for side in range(2):
            stiff += duals[side, k] / slacks[side, k]
        for i in range(d):
            factor = stiff * rows[k, i]
            for j in range(i + 1):
                matrix[i, j] += factor * rows[k, j]
    factorise(matrix)


@compiled
def _clash(slack: float, dual: float, aim: float, second_order: float) -> float:
    """By how much slack times multiplier is to fall."""
    return slack * dual - aim + second_order


@compiled
def _room(value: float, change: float, step: float) -> float:
    """The longest step, at most `step`, that leaves a positive number positive."""
    return -value / change if value + step * change < 0.0 else step


@compiled
def _aim(known: Known, search: _Search, aim: float, corrected: float) -> float:
    """Newton's step towards products equal to `aim`, and its longest positive length.

    With `corrected` the second-order terms of the step that is there, the predicted one, are taken into account.
    """
    rows = known.rows
    limits, slacks, duals, missing = search.limits, search.slacks, search.duals, search.missing
    slack_change, dual_change, gradients = search.slack_change, search.dual_change, search.gradients
    along, d = search.along, search.point.size
    for i in range(d):
        along[i] = -search.residual[i]
    for k in range(search.weights.size):
        pull = 0.0
        for side in range(2):
            slack, dual = slacks[side, k], duals[side, k]
            twice = corrected * slack_change[side, k] * dual_change[side, k]
            if limits[side, k] < inf:
                clash = _clash(slack, dual, aim, twice)
                pull += (1.0 - 2.0 * side) * (clash - dual * missing[side, k]) / slack
        for i in range(d):
            along[i] += pull * rows[k, i]
    for curve in range(search.curve_dual.size):
        slack, dual = search.curve_slack[curve], search.curve_dual[curve]
        twice = corrected * search.curve_slack_change[curve] * search.curve_dual_change[curve]
        bend = corrected * search.curve_bend[curve]
        pull = (_clash(slack, dual, aim, twice) - dual * (search.curve_missing[curve] + bend)) / slack
        for i in range(d):
            along[i] += pull * gradients[curve, i]
    solve_factored(search.matrix, along)
    step = 1.0
    for k in range(search.weights.size):
        moved = _dot(rows[k], along)
        for side in range(2):
            if limits[side, k] < inf:
                slack, dual = slacks[side, k], duals[side, k]
                twice = corrected * slack_change[side, k] * dual_change[side, k]
                change = -missing[side, k] - (1.0 - 2.0 * side) * moved
                slack_change[side, k] = change
                dual_change[side, k] = (-_clash(slack, dual, aim, twice) - dual * change) / slack
                step = _room(dual, dual_change[side, k], _room(slack, change, step))
    for curve in range(search.curve_dual.size):
        slack, dual = search.curve_slack[curve], search.curve_dual[curve]
        twice = corrected * search.curve_slack_change[curve] * search.curve_dual_change[curve]
        bend = corrected * search.curve_bend[curve]
        change = -(search.curve_missing[curve] + bend) - _dot(gradients[curve], along)
        search.curve_slack_change[curve] = change
        search.curve_dual_change[curve] = (-_clash(slack, dual, aim, twice) - dual * change) / slack
        step = _room(dual, search.curve_dual_change[curve], _room(slack, change, step))
    return step


@compiled
def _add(to: Floats, step: float, change: Floats) -> None:
    for i in range(to.size):
        to[i] += step * change[i]


@compiled
def _move(search: _Search, step: float) -> None:
    """Take the step."""
    _add(search.point, step, search.along)
    _add(search.curve_slack, step, search.curve_slack_change)
    _add(search.curve_dual, step, search.curve_dual_change)
    for side in range(2):
        _add(search.slacks[side], step, search.slack_change[side])
        _add(search.duals[side], step, search.dual_change[side])


@compiled
def maximise(target: Floats, known: Known) -> Maximum:
    """The largest value of ``target . parameter``, for a target of length 1, over what is known."""
    search = _start(known)
    best, gap, point, weights = inf, inf, search.point.copy(), search.weights.copy()
    image, nowhere, slope, level = np.empty(target.size), np.zeros(target.size), np.zeros(target.size), inf
    for _ in range(_STEPS):
        value, worst = _look(known, target, search)
        if value < best:
            best, level = value, search.shares[0]
            copy_into(search.weights, weights)
            if search.curve_dual.size > 1:
                for i in range(slope.size):
                    slope[i] = search.curve_dual[1] * search.gradients[1, i]
        here = best - _dot(target, search.point)
        if worst < _FITS and here < gap:
            gap = here
            copy_into(search.point, point)
        product, count = _products(search, 0.0)
        solved = worst < _CLOSE and value - _dot(target, search.point) < _CLOSE
        if solved or best < -1.0 - _PROVED or not product < inf:
            break
        _prepare(known, search)
        step = _aim(known, search, 0.0, 0.0)
        ahead, _ = _products(search, step)
        for curve in range(search.curve_bend.size):
            search.curve_bend[curve] = 0.5 * _curved(known, curve, search.along, nowhere, image)
        step = _aim(known, search, product / count * min(1.0, (ahead / product) ** 3), 1.0)
        _move(search, _BACK * step)
    return Maximum(min(best, 1.0), gap, point, weights, slope, level)


@compiled
def _rows_of(known: Known, chosen: Booleans) -> Known:
    """What is known, with the chosen rows only."""
    count = 0
    for k in range(chosen.size):
        count += chosen[k]
    rows, lower, upper, place = np.empty((count, known.rows.shape[1])), np.empty(count), np.empty(count), 0
    for k in range(chosen.size):
        if chosen[k]:
            rows[place] = known.rows[k]
            lower[place], upper[place] = known.lower[k], known.upper[k]
            place += 1
    return Known(rows, lower, upper, known.centre, known.shape)


@compiled
def _choose_violated(known: Known, point: Floats, chosen: Booleans, beyond: Floats) -> int:
    """Choose the rows that a point violates most, a few at a time: how many; `beyond` is room for a number for each."""
    for k in range(chosen.size):
        value = _dot(known.rows[k], point)
        beyond[k] = max(value - known.upper[k], known.lower[k] - value)
    added = 0
    while added < _AT_ONCE:
        worst = 0
        for k in range(chosen.size):
            worst = k if beyond[k] > beyond[worst] else worst
        if beyond[worst] <= _WIDER or chosen[worst]:
            break
        chosen[worst], beyond[worst] = True, 0.0
        added += 1
    return added


@compiled
def maximise_each(targets: Floats, known: Known) -> tuple[Floats, Floats, Floats, Floats]:
    """`maximise` for each row of `targets`: values, gaps, points, and the multipliers of the last one.

    Of many limits most are implied by others. So each target begins with those rows alone that others needed, and takes
    in more while its point violates some; what multipliers of some rows prove, they prove of all.
    """
    n, d = targets.shape
    size = known.rows.shape[0]
    values, gaps, points = np.empty(n), np.empty(n), np.empty((n, d))
    weights, chosen, beyond = np.zeros(size), np.full(size, size <= _FEW), np.empty(size)
    for t in range(n):
        while True:
            found = maximise(targets[t], _rows_of(known, chosen))
            if (
                found.value < -1.0
                or not found.gap < _SOLVED
                or not _choose_violated(known, found.point, chosen, beyond)
            ):
                break
        if found.value >= -1.0 and not found.gap < _SOLVED:  # perhaps with all of them
            chosen[:] = True
            found = maximise(targets[t], known)
        values[t], gaps[t], points[t] = found.value, found.gap, found.point
        weights[:] = 0.0
        place = 0
        for k in range(size):
            if chosen[k]:
                weights[k] = found.weights[place]
                place += 1
    return values, gaps, points, weights
