"""The largest values of linear functions over limits, a ball and perhaps an ellipsoid: small cone programs in batches.

The method is a primal-dual interior point method with Mehrotra's correction, which takes one step in all programs at
once; programs that are solved drop out. Whatever its multipliers are, they prove the value that is returned: it is
never below the maximum. So a set need not have an interior, and what goes wrong only makes a value larger.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meanbounds.support.types import Booleans, Floats, Integers

__all__ = ["EMPTY", "Limits", "Maxima", "maximise", "multipliers"]

EMPTY = -1.0 - 1e-9
"""In the unit ball nothing is below -1: a value below this proves that no point satisfies everything."""

_CLOSE = 1e-10  # where the gap between proof and point is small enough, and the point satisfies everything
_FITS = 1e-8  # where a point counts as one that satisfies everything
_RIDGE = 1e-15  # of the trace: keeps matrices regular that rounding would make singular
_ROUNDING = 1e-15  # of the numbers in a proof: added to its value
_ATTEMPTS = ((0.99, 25), (0.9, 60))  # which share of the way to the boundary a step takes, and how many steps
_AT_ONCE = 40_000  # programs times limits


class Limits(NamedTuple):
    """What points of norm at most 1 have to satisfy: ``rows @ point <= ends``."""

    rows: Floats  # (limits, d), of length 1
    ends: Floats  # (limits,)


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
    point: Floats
    slack: Floats
    dual: Floats


class _View(NamedTuple):
    """What follows from a state: by how much slacks and multipliers do not fit, and what the multipliers prove."""

    gradient: Floats  # of the curves: (programs, curves, d)
    missing: Floats  # what the slack lacks to fit the point
    residual: Floats  # of the target, after what the multipliers explain
    level: Floats
    slope: Floats
    value: Floats
    ahead: Floats  # how far the value, without an allowance for rounding, is above the point


def maximise(targets: Floats, limits: Limits, centre: Floats | None = None, shape: Floats | None = None) -> Maxima:
    """The largest ``target . point`` over the unit ball, the limits, and perhaps an ellipsoid for each program.

    Of many limits most follow from others. So a few programs take in all of them, and the rest only those that held
    these back: what multipliers of some limits prove holds with all. Where a point violates another limit, this one is
    taken in and the program solved again.

    Parameters
    ----------
    targets
        Vectors of length 1, shape (programs, d).
    limits
        The limits, the same for all programs.
    centre, shape
        The ellipsoids ``(point - centre) . shape . (point - centre) <= 1``: shapes (programs, d) and (programs, d, d).

    Examples
    --------
    >>> limits = Limits(np.array([[1.0, 0.0]]), np.array([0.6]))
    >>> found = maximise(np.array([[1.0, 0.0], [0.0, -1.0], [0.8, 0.6]]), limits)
    >>> found.value.round(6)  # the last one is attained where the limit meets the ball
    array([0.6 , 1.  , 0.96])
    """
    (number, d), count = targets.shape, limits.ends.size
    centres, shapes = np.zeros((number, 1, d)), np.broadcast_to(np.eye(d), (number, 1, d, d))
    if centre is not None and shape is not None:
        centres = np.concatenate([centres, centre[:, None]], axis=1)
        shapes = np.concatenate([shapes, shape[:, None]], axis=1)
    found = Maxima(*(np.empty((number, *size)) for size in ((), (), (d,), (), (d,))))
    pilots = 2 * d + 2
    chosen: Booleans = np.ones(count, dtype=np.bool_)
    chooses = count > 4 * d and number > 2 * pilots
    order = np.argsort(np.arange(number) % (number // pilots), kind="stable") if chooses else np.arange(number)
    start, size = 0, pilots if chooses else _AT_ONCE // (count + 1) + 1
    while start < number:
        todo = order[start : start + size]
        start += size
        while todo.size:
            some = Limits(limits.rows[chosen], limits.ends[chosen])
            part, weights = _attempt(some, targets[todo], centres[todo], shapes[todo])
            for whole, own in zip(found, part, strict=True):
                whole[todo] = own
            if chosen.all():
                break
            beyond = part.point @ limits.rows.T - limits.ends
            worst = beyond.argmax(axis=1)
            again = (beyond[np.arange(todo.size), worst] > _CLOSE) & ~chosen[worst] & ~(part.value < EMPTY)
            chosen[worst[again]] = True
            todo = todo[again]
        if chooses:
            chosen = weights.max(axis=0) > _FITS if chosen.all() else chosen
            size = min(_AT_ONCE // (int(chosen.sum()) + 1), 100 * _AT_ONCE // count) + 1
    return found


def multipliers(target: Floats, limits: Limits) -> tuple[float, Floats]:
    """The largest ``target . point`` over the unit ball and the limits, and the multipliers that prove it."""
    d = target.size
    found, weights = _attempt(limits, target[None], np.zeros((1, 1, d)), np.eye(d)[None, None])
    return float(found.value[0]), weights[0]


def _attempt(limits: Limits, targets: Floats, centre: Floats, shape: Floats, attempt: int = 0) -> tuple[Maxima, Floats]:
    """Solve these programs, and those that could not be solved once more with shorter steps."""
    with np.errstate(all="ignore"):
        found, weights = _solve(limits, targets, centre, shape, *_ATTEMPTS[attempt])
    hard = np.flatnonzero(~((found.gap < _FITS) | (found.value < EMPTY)))
    if hard.size and attempt + 1 < len(_ATTEMPTS):
        other, other_weights = _attempt(limits, targets[hard], centre[hard], shape[hard], attempt + 1)
        better = other.value <= found.value[hard]
        for old, new in zip((*found, weights), (*other, other_weights), strict=True):
            old[hard[better]] = new[better]
    return found, weights


def _solve(
    limits: Limits, targets: Floats, centre: Floats, shape: Floats, back: float, steps: int
) -> tuple[Maxima, Floats]:
    """What is found in so many steps, and the multipliers of the limits."""
    state = _start(limits, targets, centre, shape)
    squares = (limits.rows[:, :, None] * limits.rows[:, None, :]).reshape(limits.ends.size, targets.shape[1] ** 2)
    value, gap, level = np.full((3, len(targets)), np.inf)
    found, weights = Maxima(value, gap, state.point.copy(), level, np.zeros(targets.shape)), state.dual.copy()
    for _ in range(steps):
        view = _look(limits, state)
        going = _record(found, weights, state, view)
        if not going.all():
            if not going.any():
                break
            state, view = _State._make(array[going] for array in state), _View._make(array[going] for array in view)
        state = _step(limits, squares, state, view, back)
    return found, weights[:, : limits.ends.size]


def _start(limits: Limits, targets: Floats, centre: Floats, shape: Floats) -> _State:
    """Begin at the last curve's centre, or as near to it as the ball allows, with slacks that need not fit."""
    number, count = len(targets), limits.ends.size
    point = centre[:, -1] * np.minimum(1.0, 0.9 / np.maximum(_norm(centre[:, -1]), 1e-300))[:, None]
    slack = np.full((number, count + centre.shape[1]), 0.5)
    slack[:, :count] = np.maximum(limits.ends - point @ limits.rows.T, 1.0)
    dual = 0.1 / slack
    dual[:, count:] = 1.0
    return _State(np.arange(number), targets, centre, shape, point, slack, dual)


def _look(limits: Limits, state: _State) -> _View:
    """Find out what the multipliers prove.

    For any multipliers z of the limits and any slope, target . p is at most z . ends + slope . p plus the largest value
    of what is left of the target, which is its length, since the norm is at most 1. On the ellipsoid, slope . p is
    largest in the direction of the slope, if that is a multiple of a gradient of the ellipsoid.
    """
    count = limits.ends.size
    away = state.point[:, None] - state.centre
    gradient = np.einsum("pjkl,pjl->pjk", state.shape, away)
    square = np.einsum("pjk,pjk->pj", gradient, away)
    missing = state.slack.copy()
    missing[:, :count] += state.point @ limits.rows.T - limits.ends
    missing[:, count:] += 0.5 * (square - 1.0)
    dual = state.dual[:, :count]
    slope = np.einsum("pj,pjk->pk", state.dual[:, count + 1 :], gradient[:, 1:])
    left = state.target - dual @ limits.rows - slope
    level = dual @ limits.ends + _norm(left)
    value = level + _dot(slope, state.centre[:, -1]) + (state.dual[:, count + 1 :] * np.sqrt(square[:, 1:])).sum(axis=1)
    rounding = _ROUNDING * (1.0 + dual @ (1.0 + np.abs(limits.ends)) + np.abs(slope).sum(axis=1))
    ahead = value - _dot(state.target, state.point)
    residual = left - state.dual[:, count, None] * state.point
    return _View(gradient, missing, residual, level + rounding, slope, value + rounding, ahead)


def _record(found: Maxima, weights: Floats, state: _State, view: _View) -> Booleans:
    """Keep the best proofs and points so far, and say which programs go on."""
    place, worst = state.place, np.abs(view.missing).max(axis=1)
    better = view.value < found.value[place]
    at = place[better]
    found.value[at], found.level[at], found.slope[at] = view.value[better], view.level[better], view.slope[better]
    weights[at] = state.dual[better]
    gap = found.value[place] - _dot(state.target, state.point)
    better = (worst < _FITS) & (gap < found.gap[place])
    found.gap[place[better]], found.point[place[better]] = gap[better], state.point[better]
    solved = (worst < _CLOSE) & (view.ahead < _CLOSE)
    return ~(solved | (found.value[place] < EMPTY) | ~np.isfinite(worst + view.ahead))


def _step(limits: Limits, squares: Floats, state: _State, view: _View, back: float) -> _State:
    """Take one step: Newton's towards products of zero tells how far one can get, and which products to aim at."""
    count, d = limits.ends.size, state.point.shape[1]
    stiff = state.dual / state.slack
    matrix = (stiff[:, :count] @ squares).reshape(-1, d, d)
    matrix += (view.gradient * stiff[:, count:, None]).transpose(0, 2, 1) @ view.gradient
    matrix += np.einsum("pj,pjkl->pkl", state.dual[:, count:], state.shape)
    diagonal = np.arange(d)
    matrix[:, diagonal, diagonal] *= 1.0 + _RIDGE
    matrix[:, diagonal, diagonal] += _RIDGE * np.trace(matrix, axis1=1, axis2=2)[:, None] + 1e-300

    def newton(excess: Floats, missing: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        pull = (excess - state.dual * missing) / state.slack
        right = view.residual + pull[:, :count] @ limits.rows + np.einsum("pj,pjk->pk", pull[:, count:], view.gradient)
        along = np.linalg.solve(matrix, right[:, :, None])[:, :, 0]
        slack = -missing
        slack[:, :count] -= along @ limits.rows.T
        slack[:, count:] -= np.einsum("pjk,pk->pj", view.gradient, along)
        dual = -(excess + state.dual * slack) / state.slack
        longest = 1.0 / np.maximum(1.0, np.maximum(-slack / state.slack, -dual / state.dual).max(axis=1))
        return along, slack, dual, longest

    product = state.slack * state.dual
    along, slack, dual, longest = newton(product, view.missing)
    mean = product.mean(axis=1)
    share = ((state.slack + longest[:, None] * slack) * (state.dual + longest[:, None] * dual)).mean(axis=1) / mean
    aim = mean * np.minimum(1.0, share**3)
    missing = view.missing.copy()
    missing[:, count:] += 0.5 * np.einsum("pjkl,pk,pl->pj", state.shape, along, along)
    along, slack, dual, longest = newton(product - aim[:, None] + slack * dual, missing)
    step = (back * longest)[:, None]
    return state._replace(
        point=state.point + step * along, slack=state.slack + step * slack, dual=state.dual + step * dual
    )


def _dot(a: Floats, b: Floats) -> Floats:
    product: Floats = np.einsum("pk,pk->p", a, b)
    return product


def _norm(a: Floats) -> Floats:
    norm: Floats = np.sqrt(_dot(a, a))
    return norm
