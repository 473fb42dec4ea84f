"""The largest values of linear functions over limits, a ball and perhaps an ellipsoid: small cone programs in batches.

The method is a primal-dual interior point method with Mehrotra's correction, which takes one step in all programs at
once; programs that are solved drop out. Whatever its multipliers are, they prove the value that is returned: it is
never below the maximum. So a set need not have an interior, and what goes wrong only makes a value larger.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meanbounds.support.types import Booleans, Floats, Integers

__all__ = ["EMPTY", "SOLVED", "Limits", "Maxima", "maximise", "multipliers"]

EMPTY = -1.0 - 1e-9
"""In the unit ball nothing is below -1: a value below this proves that no point satisfies everything."""

SOLVED = 1e-8
"""The gap up to which a program counts as solved, and how far a point may be beyond a limit that it satisfies."""

_CLOSE = 1e-10  # the gap, and the distance beyond limits, at which a program stops
_STALLED = 1e-9  # the gap at which it also stops if a step does not halve the gap
_RIDGE = 3e-15  # of the trace: keeps matrices regular that rounding would make singular
_ROUNDING = 1e-15  # of the numbers in a proof: added to its value
_AT_ONCE = 1_000  # programs


class Limits(NamedTuple):
    """What points of norm at most 1 have to satisfy: ``rows @ point <= ends``."""

    rows: Floats  # (limits, d), of length 1
    ends: Floats  # (limits,)

    def some(self, which: Booleans | Integers) -> Limits:
        """Some of the limits."""
        return Limits(self.rows[which], self.ends[which])


class Maxima(NamedTuple):
    """What `maximise` found, for each program."""

    value: Floats  # never below the maximum; below `EMPTY`, no point satisfies everything
    gap: Floats  # how far the value is above that at the point; infinite if no point was found
    point: Floats  # (programs, d)
    level: Floats  # with the slope: target . p <= level + slope . p for all p that satisfy the limits and the ball
    slope: Floats  # (programs, d)


class _State(NamedTuple):
    """Where programs are. Each limit has a slack and a multiplier, both positive, whose product goes to zero.

    The columns of slack and dual are the limits, then the curves: the ball, and the ellipsoid if there is one, as
    limits on half of the square ``(point - centre) . shape . (point - centre)``.
    """

    place: Integers  # which program it is
    target: Floats
    centre: Floats  # (programs, curves, d)
    shape: Floats  # (programs, curves, d, d)
    inverse: Floats  # (programs, d, d): of the last shape
    point: Floats
    slack: Floats
    dual: Floats


def maximise(targets: Floats, limits: Limits, ellipsoids: tuple[Floats, Floats, Floats] | None = None) -> Maxima:
    """The largest ``target . point`` over the unit ball, the limits, and perhaps an ellipsoid for each program.

    Targets have length 1. Ellipsoids are a centre, a shape and its inverse for each program, and hold the points with
    ``(point - centre) . shape . (point - centre) <= 1``.

    Of many limits most follow from others. So a few programs take in all of them, and the rest only those that held
    these back: what multipliers of some limits prove holds with all. Where a point violates another limit, this one is
    taken in and the program solved again.

    Examples
    --------
    >>> limits = Limits(np.array([[1.0, 0.0]]), np.array([0.6]))
    >>> found = maximise(np.array([[1.0, 0.0], [0.0, -1.0], [0.8, 0.6]]), limits)
    >>> found.value.round(6)  # the last one is attained where the limit meets the ball
    array([0.6 , 1.  , 0.96])
    """
    (number, d), count = targets.shape, limits.ends.size
    centres, shapes = np.zeros((number, 1, d)), np.broadcast_to(np.eye(d), (number, 1, d, d))
    inverses = shapes[:, 0]
    if ellipsoids is not None:
        centres = np.concatenate([centres, ellipsoids[0][:, None]], axis=1)
        shapes, inverses = np.concatenate([shapes, ellipsoids[1][:, None]], axis=1), ellipsoids[2]
    found = Maxima(*(np.empty((number, *size)) for size in ((), (), (d,), (), (d,))))
    pilots, chosen = 2 * d + 2, np.ones(count, dtype=np.bool_)
    chooses = count > 4 * d and number > 2 * pilots
    order = np.argsort(np.arange(number) % (number // pilots), kind="stable") if chooses else np.arange(number)
    for batch in np.split(order, range(pilots if chooses else _AT_ONCE, number, _AT_ONCE)):
        todo = batch
        while todo.size:
            part, weights = _solve(limits.some(chosen), targets[todo], centres[todo], shapes[todo], inverses[todo])
            for whole, own in zip(found, part, strict=True):
                whole[todo] = own
            if chosen.all():
                break
            beyond = part.point @ limits.rows.T - limits.ends
            worst = beyond.argmax(axis=1)
            again = (beyond[np.arange(todo.size), worst] > _CLOSE) & ~chosen[worst] & ~(part.value < EMPTY)
            chosen[worst[again]] = True
            todo = todo[again]
        if chooses and chosen.all():
            chosen = weights.max(axis=0) > SOLVED
    return found


def multipliers(target: Floats, limits: Limits) -> tuple[float, Floats]:
    """The largest ``target . point`` over the unit ball and the limits, and the multipliers that prove it."""
    d = target.size
    found, weights = _solve(limits, target[None], np.zeros((1, 1, d)), np.eye(d)[None, None], np.eye(d)[None])
    return float(found.value[0]), weights[0]


def _solve(limits: Limits, *programs: Floats) -> tuple[Maxima, Floats]:
    """Solve all programs at once, and hard ones once more with shorter steps; also the multipliers of the limits."""
    with np.errstate(all="ignore"):
        found, weights = _search(limits, 0.99, 25, *programs)
        hard = np.flatnonzero(~((found.gap < SOLVED) | (found.value < EMPTY)))
        if hard.size:
            again, other = _search(limits, 0.9, 60, *(array[hard] for array in programs))
            better = (again.gap < found.gap[hard]) | (again.value < EMPTY)
            for old, new in zip((*found, weights), (*again, other), strict=True):
                old[hard[better]] = new[better]
    return found, weights


def _search(
    limits: Limits, back: float, steps: int, targets: Floats, centre: Floats, shape: Floats, inverse: Floats
) -> tuple[Maxima, Floats]:
    """Take so many steps, each of them this share of the way to the boundary, from slacks that need not fit."""
    number, count = len(targets), limits.ends.size
    point = centre[:, -1] * np.minimum(1.0, 0.9 / np.maximum(_norm(centre[:, -1]), 1e-300))[:, None]
    slack = np.full((number, count + centre.shape[1]), 0.5)
    slack[:, :count] = np.maximum(limits.ends - point @ limits.rows.T, 0.3)
    dual = 0.1 / slack
    dual[:, count:] = 1.0
    state = _State(np.arange(number), targets, centre, shape, inverse, point, slack, dual)
    value, gap, level = np.full((3, number), np.inf)
    found, weights = Maxima(value, gap, point.copy(), level, np.zeros_like(point)), dual[:, :count].copy()
    for _ in range(steps):
        gradient, missing, residual, going = _look(limits, state, found, weights)
        if not going.any():
            break
        state = _step(limits, state, gradient, missing, residual, back)
        if not going.all():
            state = _State._make(array[going] for array in state)
    return found, weights


def _look(limits: Limits, state: _State, found: Maxima, weights: Floats) -> tuple[Floats, Floats, Floats, Booleans]:
    """Find out what the multipliers prove, keep the best proofs and points, and say which programs go on.

    For any multipliers z >= 0 of the limits and w >= 0 of the ball, let the slope be what is left of the target after
    z . rows + w point. Then target . p is at most z . ends + w |point| + slope . p, and the ellipsoid bounds the last
    term by its value at the centre plus the slope's length in terms of the inverse. Without an ellipsoid, the ball
    bounds what is left after z . rows by its length.

    Returns the gradients of the curves, what slacks lack to fit the point, and what multipliers do not explain.
    """
    count, place, point = limits.ends.size, state.place, state.point
    away = point[:, None] - state.centre
    gradient = (state.shape @ away[..., None])[..., 0]
    square = np.vecdot(gradient, away)
    missing = state.slack + np.concatenate([point @ limits.rows.T - limits.ends, 0.5 * (square - 1.0)], axis=1)
    dual, ball = state.dual[:, :count], state.dual[:, count]
    level, left = dual @ limits.ends, state.target - dual @ limits.rows
    residual = left - ball[:, None] * point
    rounding = _ROUNDING * (1.0 + dual @ (1.0 + np.abs(limits.ends)) + ball)
    if square.shape[1] == 1:
        level += _norm(left)
        slope, value = np.zeros_like(left), level
    else:
        slope, length = residual, (state.inverse @ residual[..., None])[..., 0]
        level += ball * _norm(point)
        value = level + np.vecdot(slope, state.centre[:, 1]) + np.sqrt(np.vecdot(slope, length))
        residual = slope - state.dual[:, -1:] * gradient[:, 1]
        rounding += _ROUNDING * np.abs(slope).sum(axis=1)

    here, worst, before = np.vecdot(state.target, point), np.abs(missing).max(axis=1), found.gap[place]
    better = value + rounding < found.value[place]
    at = place[better]
    found.value[at], found.level[at] = (value + rounding)[better], (level + rounding)[better]
    found.slope[at], weights[at] = slope[better], dual[better]
    gap = found.value[place] - here
    better = (worst < SOLVED) & (gap < before)
    at = place[better]
    found.gap[at], found.point[at] = gap[better], point[better]
    solved = ((worst < _CLOSE) & (value - here < _CLOSE)) | ((before < _STALLED) & ~(gap < 0.5 * before))
    return gradient, missing, residual, ~solved & ~(found.value[place] < EMPTY) & np.isfinite(worst + value)


def _step(limits: Limits, state: _State, gradient: Floats, missing: Floats, residual: Floats, back: float) -> _State:
    """Take one step: Newton's towards products of zero tells how far one can get, and which products to aim at."""
    (number, d), count, stiff = state.point.shape, limits.ends.size, state.dual / state.slack
    matrix = (limits.rows.T * stiff[:, None, :count]) @ limits.rows  # small products: BLAS starts no threads
    matrix += (gradient * stiff[:, count:, None]).transpose(0, 2, 1) @ gradient
    matrix += (state.dual[:, None, count:] @ state.shape.reshape(number, -1, d * d)).reshape(number, d, d)
    matrix += (_RIDGE * np.einsum("pkk->p", matrix) + 1e-300)[:, None, None] * np.eye(d)

    def newton(excess: Floats, missing: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """The change of point, slacks and multipliers that takes the excess off all products, and how far it can go."""
        pull = (excess - state.dual * missing) / state.slack
        right = residual + pull[:, :count] @ limits.rows + (pull[:, None, count:] @ gradient)[:, 0]
        along = np.asarray(np.linalg.solve(matrix, right[:, :, None]), dtype=np.float64)
        slack = -missing - np.concatenate([along[..., 0] @ limits.rows.T, (gradient @ along)[..., 0]], axis=1)
        dual = -(excess + state.dual * slack) / state.slack
        longest = 1.0 / np.maximum(1.0, -np.minimum(slack / state.slack, dual / state.dual).min(axis=1))
        return along[..., 0], slack, dual, longest[:, None]

    product = state.slack * state.dual
    along, slack, dual, longest = newton(product, missing)
    share = ((state.slack + longest * slack) * (state.dual + longest * dual)).sum(axis=1) / product.sum(axis=1)
    aim = product.sum(axis=1) * np.minimum(1.0, share**3) / product.shape[1]
    bend = 0.5 * np.vecdot((state.shape @ along[:, None, :, None])[..., 0], along[:, None])
    missing = np.concatenate([missing[:, :count], missing[:, count:] + bend], axis=1)
    along, slack, dual, longest = newton(product - aim[:, None] + slack * dual, missing)
    step = back * longest
    return _State(
        *state[:5], point=state.point + step * along, slack=state.slack + step * slack, dual=state.dual + step * dual
    )


def _norm(a: Floats) -> Floats:
    norm: Floats = np.sqrt(np.vecdot(a, a))
    return norm
