"""A compiled loop for the optimistic Gittins index; see `loops.index` for the idea.

An arm that is not played has an index below q for as long as ``f(t) < (q - mean) / E[max(mean - q, 0)]``. The leader's
tail beyond q is kept up to date by a recurrence.
"""

from __future__ import annotations

from math import exp, log

import numpy as np
from numba import njit

from meanbounds.simulation.loops.beta import LOWER, MEAN, ROWS, UPPER, A, B, beyond, keep, next_tails, tails_at, update
from meanbounds.simulation.loops.index import regret
from meanbounds.simulation.loops.streams import child, pick, reward, row_key, uniform

__all__ = ["play_gittins"]

_TIE = 1e-12
_SHARE = 0.65  # of the way from the second best index to the best, where the level is
_WORTH = 1.02  # the least growth of f for which a level is worth keeping
_FRESH = 256  # rewards after which a law is computed again


@njit(cache=True)
def _solve(laws, k, f, start, rough):
    """The v with ``f E[max(mean - v, 0)] = v - E[mean]``, by Newton's method on the logarithms of both sides."""
    mean, highest = laws[MEAN, k], laws[UPPER, k]
    if not mean < highest:
        return highest
    v = start if mean < start < highest else mean + 0.5 * (highest - mean)
    below, above = mean, highest
    for _ in range(100):
        tail, gain, density = beyond(laws, k, v, rough)
        lead = v - mean
        surplus = log(f * gain / lead) if gain > 0.0 else -1e300
        if surplus > 0.0:
            below = v
        else:
            above = v
        following = 0.5 * (below + above)
        if gain > 0.0:
            slope = tail / gain + 1.0 / lead
            newton = surplus / slope
            bend = (density * gain - tail * tail) / (gain * gain) + 1.0 / (lead * lead)
            following = v + newton / max(0.5, 1.0 - 0.5 * newton * bend / slope)
        done = abs(following - v) <= max((1e-3 if rough else 1e-8) * lead, 1e-15 * v)
        v = following if done or below < following < above else 0.5 * (below + above)
        if done:
            break
    return min(highest, max(mean, v))


@njit(cache=True)
def _touch(laws, tangents, k, q):
    """Keep the tangent of log E[max(mean - v, 0)] at q."""
    tail, gain, _ = beyond(laws, k, q, True)
    tangents[0, k], tangents[1, k], tangents[2, k] = q, gain, tail / gain if gain > 0.0 else 0.0


@njit(cache=True)
def _limit(laws, tangents, k, q):
    """A limit below the f at which the index of an arm reaches q: log E[max(mean - v, 0)] is concave in v."""
    if q <= laws[MEAN, k]:
        return 0.0
    if tangents[1, k] == 0.0:  # the tangent is at or above the upper bound
        return np.inf if q >= tangents[0, k] else 0.0
    gain = tangents[1, k] * exp(min(700.0, tangents[2, k] * (tangents[0, k] - q)))
    return (q - laws[MEAN, k]) / gain * (1.0 - 1e-3) if gain > 0.0 else np.inf


@njit(cache=True)
def _break_tie(laws, low, width, f, size, index, tied, key, number):
    """The arm to play where several indices are close."""
    best, mean = -np.inf, -np.inf
    unit = 0.0
    for k in range(index.size):
        if k == 0 or (laws[: UPPER + 1, k] != laws[: UPPER + 1, k - 1]).any():  # arms without plays are often alike
            unit = _solve(laws, k, f, (index[k] - low[k]) / width[k], False)
        index[k] = low[k] + width[k] * unit
        best = max(best, index[k])
    for k in range(index.size):
        tied[k] = index[k] >= best - _TIE * size
        if tied[k]:
            mean = max(mean, low[k] + width[k] * laws[MEAN, k])
    for k in range(index.size):
        tied[k] = tied[k] and low[k] + width[k] * laws[MEAN, k] >= mean - _TIE * size
    return pick(tied, key, number)


@njit(cache=True)
def _separate(laws, tangents, low, width, f, size, index, leader, rough):
    """The arm of the largest index, a level q between it and all others, and the f at which one of these may reach q.

    The arm is -1 if another index is too close to tell. `index` has the last index that was solved for each arm.
    """
    close = 1e-4 * size if rough else 64.0 * _TIE * size
    start = (index[leader] - low[leader]) / width[leader]
    index[leader] = low[leader] + width[leader] * _solve(laws, leader, f, start, rough)
    while True:
        best, second = index[leader], low[leader] + width[leader] * laws[MEAN, leader]
        for k in range(index.size):
            if k != leader:
                second = max(second, min(best, index[k]))
        q, wake, again = second + _SHARE * (best - second), np.inf, False
        for k in range(index.size):
            if k == leader:
                continue
            limit = _limit(laws, tangents, k, (q - low[k]) / width[k])
            if limit < _WORTH * f:
                _touch(laws, tangents, k, (q - low[k]) / width[k])
                limit = _limit(laws, tangents, k, (q - low[k]) / width[k])
            if limit < _WORTH * f:
                index[k] = low[k] + width[k] * _solve(laws, k, f, (index[k] - low[k]) / width[k], rough)
                if abs(index[k] - best) <= close:
                    return -1, 0.0, 0.0
                if index[k] > best:
                    leader, again = k, True
                    break
                q = max(q, index[k] + _SHARE * (best - index[k]))
                _touch(laws, tangents, k, (q - low[k]) / width[k])
                limit = _limit(laws, tangents, k, (q - low[k]) / width[k])
            wake = min(wake, limit)
        if not again:
            return leader, q, wake


@njit(cache=True, nogil=True)
def play_gittins(arms, size, places, law, log_f, stops, gaps, seed, first, curves, out):
    """Play whole runs; see `loops.index.play_index`. Rows of `arms`: low, width, lower and upper bounds."""
    low, width, count = arms[0], arms[1], arms.shape[1]
    laws, index, tied = np.empty((ROWS, count)), np.empty(count), np.empty(count, np.bool_)
    plays, keys, since = np.empty(count), np.empty(count, np.uint64), np.zeros(count, np.int64)
    tangents = np.zeros((3, count))
    for run in range(curves.shape[0]):
        source, key = row_key(seed, first + run, 1), row_key(seed, first + run, 2)
        rounding = row_key(seed, first + run, 3)
        for k in range(count):
            plays[k], keys[k] = 0.0, child(source, places[k])
            laws[A, k], laws[B, k] = 1.0, 1.0
            laws[LOWER, k], laws[UPPER, k] = (arms[2, k] - low[k]) / width[k], (arms[3, k] - low[k]) / width[k]
            update(laws, k)
            index[k] = arms[3, k]
            _touch(laws, tangents, k, laws[MEAN, k])
        t, previous = 1, 0
        for c in range(stops.size):
            while t <= stops[c]:
                f = exp(log_f[t - 1])
                arm, q, wake = _separate(laws, tangents, low, width, f, size, index, previous, True)
                if arm < 0:
                    arm, q, wake = _separate(laws, tangents, low, width, f, size, index, previous, False)
                alone = arm >= 0
                if not alone:
                    arm = _break_tie(laws, low, width, f, size, index, tied, key, t - 1)
                    q = index[arm]
                aim, lower, upper = (q - low[arm]) / width[arm], laws[LOWER, arm], laws[UPPER, arm]
                held = alone and f < wake and aim < upper and lower < upper
                tails = tails_at(laws, arm, aim, held)
                n, steps = plays[arm], 0
                while True:
                    r = reward(law, places[arm], uniform(keys[arm], int(n)))
                    one = r >= 1.0 or (r > 0.0 and uniform(rounding, t - 1) < r)
                    tails = next_tails(tails, one, lower, upper, aim)
                    n, t, steps = n + 1.0, t + 1, steps + 1
                    if not held or t > stops[c] or steps >= _FRESH:
                        break
                    f = exp(log_f[t - 1])
                    if f >= wake:
                        break
                    a, b, mass, tail, at_lower, at_upper, at_aim = tails
                    mean = a / (a + b)
                    gain = (mean - aim) * tail + (at_aim - at_upper) / (a + b)
                    lead = (aim - mean) * mass - (at_lower - at_upper) / (a + b)
                    if mass < 1e-3 or f * gain <= lead + 1e-3 * abs(lead):
                        break
                plays[arm], since[arm] = n, since[arm] + steps
                if held and since[arm] < _FRESH and tails[2] > 0.5 and tails[6] > 1e-3 * tails[2]:
                    keep(laws, arm, tails, aim)
                else:
                    since[arm], laws[A, arm], laws[B, arm] = 0, tails[0], tails[1]
                    update(laws, arm)
                previous = arm
                _touch(laws, tangents, arm, min(aim, 0.5 * (laws[MEAN, arm] + upper)))
            curves[run, c] = regret(plays, places, gaps)
        for k in range(count):
            out[run, places[k]] = int(plays[k])
