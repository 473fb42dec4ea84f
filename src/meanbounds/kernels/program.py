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
from meanbounds.kernels.tables import Floats

__all__ = ["Known", "Maximum", "factorise", "maximise", "maximise_each", "scaled", "solve_factored"]

_STEPS = 60
_CLOSE = 1e-10  # of the scale of the problem: where the gap between proof and point is small enough
_WIDER = 1e-10  # every row is relaxed by this while searching, so that there is an interior
_ENORMOUS = 1e64
_BACK = 0.99  # of the step to the boundary


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


@compiled
def _times(matrix: Floats, vector: Floats, out: Floats) -> None:
    for i in range(vector.size):
        out[i] = _dot(matrix[i], vector)


@compiled
def _room(value: float, change: float, step: float) -> float:
    """The longest step, at most `step`, that leaves a positive number positive."""
    return -value / change if value + step * change < 0.0 else step


@compiled
def maximise(target: Floats, known: Known) -> Maximum:
    """The largest value of ``target . parameter``, for a target of length 1, over what is known.

    Each limit is a slack s >= 0 with a multiplier z >= 0: side 0 of a row is its upper limit, side 1 its lower one;
    the norm and the ellipsoid are limits on half of a square. Newton's method drives s z to zero along the central
    path, for slacks that need not fit at first.
    """
    rows, d = known.rows, target.size
    n = rows.shape[0]
    round_one = known.shape.shape[0] > 0
    point, along = np.zeros(d), np.zeros(d)
    if round_one:
        length = sqrt(_dot(known.centre, known.centre))
        for i in range(d):
            point[i] = known.centre[i] * min(1.0, 0.9 / max(length, 1e-300))
    limit, slack, dual = np.full((2, n), inf), np.ones((2, n)), np.zeros((2, n))
    for k in range(n):
        limit[0, k], limit[1, k] = known.upper[k] + _WIDER, -known.lower[k] + _WIDER
        value = _dot(rows[k], point)
        for side in range(2):
            if limit[side, k] < inf:
                slack[side, k] = max(limit[side, k] - (1 - 2 * side) * value, 0.1)
                dual[side, k] = 0.1 / slack[side, k]
    ball_slack, ball_dual = max(0.5 * (1.0 - _dot(point, point)), 0.1), 1.0
    egg_slack, egg_dual = 0.5, 1.0 if round_one else 0.0
    off, egg_gradient, curved = np.zeros(d), np.zeros(d), np.zeros(d)
    hessian, residual, right = np.zeros((d, d)), np.zeros(d), np.zeros(d)
    row_change, missing = np.zeros(n), np.zeros((2, n))
    slack_change, dual_change = np.zeros((2, n)), np.zeros((2, n))
    weights, best_value, best_gap, best_point = np.zeros(n), inf, inf, point.copy()
    best_weights = np.zeros(n)
    for _ in range(_STEPS):
        # Where we are: what is missing to each limit, the gradient, and what the multipliers prove.
        for i in range(d):
            off[i] = point[i] - known.centre[i]
            residual[i] = -target[i]
        product, count, proof = 0.0, 1.0 + round_one, 0.0
        worst = 0.0
        for k in range(n):
            value = _dot(rows[k], point)
            weights[k] = 0.0
            for side in range(2):
                if limit[side, k] < inf:
                    sign = 1.0 - 2.0 * side
                    missing[side, k] = sign * value + slack[side, k] - limit[side, k]
                    worst = max(worst, abs(missing[side, k]))
                    product += slack[side, k] * dual[side, k]
                    count += 1.0
                    weights[k] += sign * dual[side, k]
                    proof += dual[side, k] * (limit[side, k] - _WIDER)
            if weights[k] != 0.0:
                for i in range(d):
                    residual[i] += weights[k] * rows[k, i]
        egg_missing = 0.0
        if round_one:
            _times(known.shape, off, egg_gradient)
            square = _dot(off, egg_gradient)
            egg_missing = 0.5 * (square - 1.0) + egg_slack
            product += egg_slack * egg_dual
            proof += egg_dual * (_dot(egg_gradient, known.centre) + sqrt(max(square, 0.0)))
            for i in range(d):
                residual[i] += egg_dual * egg_gradient[i]
        square = _dot(point, point)
        ball_missing = 0.5 * (square - 1.0) + ball_slack
        product += ball_slack * ball_dual
        value = proof + sqrt(_dot(residual, residual))  # the part of the target that no other limit carries
        for i in range(d):
            residual[i] += ball_dual * point[i]
        worst = max(worst, abs(ball_missing), abs(egg_missing))
        gap = value - _dot(target, point)
        if value < best_value:
            best_value = value
            best_weights[:] = weights
        if worst < 1e-8 and best_value - _dot(target, point) < best_gap:
            best_gap = best_value - _dot(target, point)
            best_point[:] = point
        middle = product / count
        if best_value < -1.0 - 1e-9 or (worst < _CLOSE and gap < _CLOSE) or not product < inf:
            break
        # The matrix of Newton's step.
        for i in range(d):
            for j in range(d):
                hessian[i, j] = egg_dual * known.shape[i, j] if round_one else 0.0
                hessian[i, j] += ball_dual / ball_slack * point[i] * point[j]
                if round_one:
                    hessian[i, j] += egg_dual / egg_slack * egg_gradient[i] * egg_gradient[j]
            hessian[i, i] += ball_dual
        for k in range(n):
            stiff = 0.0
            for side in range(2):
                if limit[side, k] < inf:
                    stiff += dual[side, k] / slack[side, k]
            if stiff > 0.0:
                for i in range(d):
                    factor = stiff * rows[k, i]
                    for j in range(i + 1):
                        hessian[i, j] += factor * rows[k, j]
        factorise(hessian)
        # Predict with no centring, then correct: the same matrix twice.
        aim, ball_bend, egg_bend = 0.0, 0.0, 0.0
        ball_slack_change = ball_dual_change = egg_slack_change = egg_dual_change = 0.0
        step = 1.0
        for phase in range(2):
            corrected = float(phase)
            for i in range(d):
                right[i] = -residual[i]
            for k in range(n):
                pull = 0.0
                for side in range(2):
                    if limit[side, k] < inf:
                        clash = slack[side, k] * dual[side, k] - aim
                        clash += corrected * slack_change[side, k] * dual_change[side, k]
                        pull += (1.0 - 2.0 * side) * (clash - dual[side, k] * missing[side, k]) / slack[side, k]
                if pull != 0.0:
                    for i in range(d):
                        right[i] += pull * rows[k, i]
            ball_clash = ball_slack * ball_dual - aim + corrected * ball_slack_change * ball_dual_change
            ball_pull = (ball_clash - ball_dual * (ball_missing + ball_bend)) / ball_slack
            egg_clash = egg_slack * egg_dual - aim + corrected * egg_slack_change * egg_dual_change
            egg_pull = (egg_clash - egg_dual * (egg_missing + egg_bend)) / egg_slack if round_one else 0.0
            for i in range(d):
                along[i] = right[i] + ball_pull * point[i] + egg_pull * egg_gradient[i]
            solve_factored(hessian, along)
            step = 1.0
            for k in range(n):
                row_change[k] = _dot(rows[k], along)
                for side in range(2):
                    if limit[side, k] < inf:
                        clash = slack[side, k] * dual[side, k] - aim
                        clash += corrected * slack_change[side, k] * dual_change[side, k]
                        change = -missing[side, k] - (1.0 - 2.0 * side) * row_change[k]
                        slack_change[side, k] = change
                        dual_change[side, k] = (-clash - dual[side, k] * change) / slack[side, k]
                        step = _room(slack[side, k], change, step)
                        step = _room(dual[side, k], dual_change[side, k], step)
            ball_slack_change = -(ball_missing + ball_bend) - _dot(point, along)
            ball_dual_change = (-ball_clash - ball_dual * ball_slack_change) / ball_slack
            step = _room(ball_dual, ball_dual_change, _room(ball_slack, ball_slack_change, step))
            if round_one:
                egg_slack_change = -(egg_missing + egg_bend) - _dot(egg_gradient, along)
                egg_dual_change = (-egg_clash - egg_dual * egg_slack_change) / egg_slack
                step = _room(egg_dual, egg_dual_change, _room(egg_slack, egg_slack_change, step))
            if phase == 0:
                ahead = (ball_slack + step * ball_slack_change) * (ball_dual + step * ball_dual_change)
                ahead += (egg_slack + step * egg_slack_change) * (egg_dual + step * egg_dual_change)
                for k in range(n):
                    for side in range(2):
                        if limit[side, k] < inf:
                            ahead += (slack[side, k] + step * slack_change[side, k]) * (
                                dual[side, k] + step * dual_change[side, k]
                            )
                aim = middle * min(1.0, (ahead / product) ** 3)
                ball_bend = 0.5 * _dot(along, along)
                if round_one:
                    _times(known.shape, along, curved)
                    egg_bend = 0.5 * _dot(along, curved)
        step *= _BACK
        for i in range(d):
            point[i] += step * along[i]
        for k in range(n):
            for side in range(2):
                if limit[side, k] < inf:
                    slack[side, k] += step * slack_change[side, k]
                    dual[side, k] += step * dual_change[side, k]
        ball_slack += step * ball_slack_change
        ball_dual += step * ball_dual_change
        if round_one:
            egg_slack += step * egg_slack_change
            egg_dual += step * egg_dual_change
    return Maximum(best_value, best_gap, best_point, best_weights)


@compiled
def maximise_each(targets: Floats, known: Known) -> tuple[Floats, Floats, Floats, Floats]:
    """`maximise` for each row of `targets`: values, gaps, points, and the multipliers of the last one."""
    n, d = targets.shape
    values, gaps, points = np.empty(n), np.empty(n), np.empty((n, d))
    weights = np.zeros(known.rows.shape[0])
    for k in range(n):
        found = maximise(targets[k], known)
        values[k], gaps[k] = found.value, found.gap
        points[k], weights = found.point, found.weights
    return values, gaps, points, weights
