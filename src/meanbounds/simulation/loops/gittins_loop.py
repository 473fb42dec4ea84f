"""A compiled loop for the optimistic Gittins index; see `loops.index_loop` for the idea.

An arm that is not played has an index below q for as long as ``f(t) < (q - mean) / E[max(mean - q, 0)]``. The leader's
tail beyond q is kept up to date by a recurrence.
"""

from __future__ import annotations

from math import exp, log

import numpy as np
from numba import njit

from meanbounds.simulation.loops.beta import LOWER, MEAN, ROWS, UPPER, A, B, beyond, keep, next_tails, tails_at, update
from meanbounds.simulation.loops.index_loop import regret
from meanbounds.simulation.loops.loop_streams import child, pick, reward, row_key, uniform

__all__ = ["play_gittins"]

_TIE = 1e-12
_SHARE = 0.65  # of the way from the second best index to the best, where the level is
_CLOSE = 2e-5  # indices, in units of the size of rewards, which are solved to the last digits to be compared
_FRESH = 256  # rewards after which a law is computed again


@njit(cache=True)
def _touch(laws, tangents, k, q, rough=True):
    """Keep the tangent of log E[max(mean - v, 0)] at q, and the density there."""
    tail, gain, density = beyond(laws, k, q, rough)
    tangents[0, k], tangents[1, k], tangents[2, k], tangents[3, k], tangents[4, k] = q, gain, 0.0, 0.0, density
    if gain > 0.0:
        tangents[2, k], tangents[3, k] = tail / gain, (1.0 - 1e-3) / gain


@njit(cache=True)
def _solve(laws, tangents, k, f, start, rough):
    """The v with ``f E[max(mean - v, 0)] = v - E[mean]``, by a method of third order on the logarithms of both sides.

    It starts where the tangent is, if that is good enough, and leaves the tangent close to v.
    """
    mean, highest = laws[MEAN, k], laws[UPPER, k]
    if not mean < highest:
        return highest
    if not (rough and mean < tangents[0, k] < highest):
        _touch(laws, tangents, k, start if mean < start < highest else mean + 0.5 * (highest - mean), rough)
    below, above, done = mean, highest, False
    for _ in range(100):
        v, gain, fall, density = tangents[0, k], tangents[1, k], tangents[2, k], tangents[4, k]
        lead = v - mean
        surplus = log(f * gain / lead) if gain > 0.0 else -1e300
        below, above = (v, above) if surplus > 0.0 else (below, v)
        following = 0.5 * (below + above)
        if gain > 0.0:
            slope = fall + 1.0 / lead
            newton = surplus / slope
            bend = density / gain - fall * fall + 1.0 / (lead * lead)
            following = v + newton / max(0.5, 1.0 - 0.5 * newton * bend / slope)
        done = abs(following - v) <= max((1e-3 if rough else 1e-8) * lead, 1e-15 * v)
        v = following if done or below < following < above else 0.5 * (below + above)
        if done:
            break
        _touch(laws, tangents, k, v, rough)
    return min(highest, max(mean, v))


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
def _twin(laws, low, width, k):
    """An earlier arm with the same law, or the arm itself: arms with few plays are often alike."""
    for j in range(k):
        same = laws[A, j] == laws[A, k] and laws[B, j] == laws[B, k] and low[j] == low[k] and width[j] == width[k]
        if same and laws[LOWER, j] == laws[LOWER, k] and laws[UPPER, j] == laws[UPPER, k]:
            return j
    return k


@njit(cache=True)
def _wake(laws, tangents, low, width, k, q, f):
    """A limit below the f at which the index of an arm reaches q, by the tangent of a twin where its own is too low."""
    x = (q - low[k]) / width[k]
    wake = _limit(laws, tangents, k, x)
    j = _twin(laws, low, width, k) if wake <= f else k
    if j < k:
        for n in range(5):
            tangents[n, k] = tangents[n, j]
        wake = _limit(laws, tangents, k, x)
    return wake


@njit(cache=True)
def _set_wakes(laws, tangents, low, width, q, wakes):
    """Quick limits below those of `_limit`: exp(x) is at least (1 + x / 8)^8."""
    for k in range(wakes.size):
        x = (q - low[k]) / width[k]
        growth = max(0.0, 1.0 + 0.125 * tangents[2, k] * (x - tangents[0, k])) ** 2
        wakes[k] = (x - laws[MEAN, k]) * tangents[3, k] * growth * growth * (growth * growth)


@njit(cache=True)
def _break_tie(laws, tangents, low, width, f, size, index, wakes, level, tied, key, number):
    """The arm to play where several indices may be the largest one, which is above a level."""
    best, mean, several, first = -np.inf, -np.inf, False, -1
    _set_wakes(laws, tangents, low, width, level, wakes)
    for k in range(index.size):
        j = _twin(laws, low, width, k) if wakes[k] <= f else k
        if j < k:
            tied[k], index[k] = tied[j], index[j]
        else:
            tied[k] = wakes[k] <= f and _limit(laws, tangents, k, (level - low[k]) / width[k]) <= f
        if tied[k] and j == k:
            index[k] = low[k] + width[k] * _solve(laws, tangents, k, f, (index[k] - low[k]) / width[k], True)
            best = max(best, index[k])
    for k in range(index.size):
        tied[k] = tied[k] and index[k] >= best - _CLOSE * size
        if tied[k]:
            j = _twin(laws, low, width, k)
            several, first = several or (first >= 0 and j != first), j
    best = -np.inf
    for k in range(index.size):
        if tied[k]:
            j, start = _twin(laws, low, width, k), (index[k] - low[k]) / width[k]
            if j < k and tied[j]:
                index[k] = index[j]
            elif several:
                index[k] = low[k] + width[k] * _solve(laws, tangents, k, f, start, False)
            best = max(best, index[k])
    for k in range(index.size):
        tied[k] = tied[k] and index[k] >= best - _TIE * size
        if tied[k]:
            mean = max(mean, low[k] + width[k] * laws[MEAN, k])
    for k in range(index.size):
        tied[k] = tied[k] and low[k] + width[k] * laws[MEAN, k] >= mean - _TIE * size
    return pick(tied, key, number)


@njit(cache=True)
def _separate(laws, tangents, low, width, f, size, index, wakes, leader):
    """The arm of the largest index, and a level q between it and all others.

    It is -1 if another index is close, and q is then below both.
    `index` has the last index that was solved for each arm, and `wakes` gets limits of the f at which it reaches q.
    """
    start = (index[leader] - low[leader]) / width[leader]
    index[leader] = low[leader] + width[leader] * _solve(laws, tangents, leader, f, start, True)
    while True:
        best, second = index[leader], low[leader] + width[leader] * laws[MEAN, leader]
        for k in range(index.size):
            if k != leader:
                second = max(second, min(best, index[k]))
        q, again = second + _SHARE * (best - second), False
        _set_wakes(laws, tangents, low, width, q, wakes)
        wakes[leader] = np.inf
        for k in range(index.size):
            if wakes[k] <= f:
                wakes[k] = _wake(laws, tangents, low, width, k, q, f)
            if wakes[k] <= f:
                start = (index[k] - low[k]) / width[k]
                index[k] = low[k] + width[k] * _solve(laws, tangents, k, f, start, True)
                if abs(index[k] - best) <= _CLOSE * size:
                    return -1, best - 2.0 * _CLOSE * size
                if index[k] > best:
                    leader, again = k, True
                    break
                q = max(q, index[k] + _SHARE * (best - index[k]))
                wakes[k] = _limit(laws, tangents, k, (q - low[k]) / width[k])
        if not again:
            return leader, q


@njit(cache=True)
def _is_above(tails, aim, f):
    """Whether the index of an arm is surely above the level at which its tails are kept."""
    a, b, mass, tail, at_lower, at_upper, at_aim = tails
    mean = a / (a + b)
    gain = (mean - aim) * tail + (at_aim - at_upper) / (a + b)
    lead = (aim - mean) * mass - (at_lower - at_upper) / (a + b)
    return mass > 1e-3 and f * gain > lead + 1e-3 * abs(lead)


@njit(cache=True, nogil=True)
def play_gittins(arms, size, places, law, log_f, stops, gaps, seed, first, curves, out):
    """Play whole runs; see `play_index`, and `play_thompson` for the rows of `arms`."""
    low, width, count, fs = arms[0], arms[1], arms.shape[1], np.exp(log_f)
    laws, index, tied, wakes = np.empty((ROWS, count)), np.empty(count), np.empty(count, np.bool_), np.empty(count)
    plays, keys, since = np.empty(count), np.empty(count, np.uint64), np.zeros(count, np.int64)
    tangents = np.zeros((5, count))
    for run in range(curves.shape[0]):
        source, key = row_key(seed, first + run, 1), row_key(seed, first + run, 2)
        rounding = row_key(seed, first + run, 3)
        for k in range(count):
            plays[k], keys[k], since[k] = 0.0, child(source, places[k]), 0
            laws[A, k], laws[B, k], laws[LOWER, k], laws[UPPER, k] = 1.0, 1.0, arms[6, k], arms[7, k]
            update(laws, k)
            index[k] = arms[3, k]
            _touch(laws, tangents, k, laws[MEAN, k])
        arm, t, q, wake, held = 0, 1, 0.0, 0.0, False
        aim, lower, upper = 0.0, laws[LOWER, arm], laws[UPPER, arm]
        tails = tails_at(laws, arm, aim, False)
        for c in range(stops.size):
            while t <= stops[c]:
                f = fs[t - 1]
                held = held and _is_above(tails, aim, f) and since[arm] % _FRESH > 0
                if held and f >= wake:
                    wake = np.inf
                    for k in range(count):
                        if wakes[k] <= f:
                            wakes[k] = _wake(laws, tangents, low, width, k, q, f)
                        wake = min(wake, wakes[k])
                    held = f < wake
                if not held:
                    if t > 1:
                        if since[arm] % _FRESH > 0 and tails[2] > 0.5 and tails[6] > 1e-3 * tails[2]:
                            keep(laws, arm, tails, aim)
                        else:
                            laws[A, arm], laws[B, arm] = tails[0], tails[1]
                            update(laws, arm)
                        _touch(laws, tangents, arm, min(aim, 0.5 * (laws[MEAN, arm] + upper)))
                    arm, q = _separate(laws, tangents, low, width, f, size, index, wakes, arm)
                    held = arm >= 0
                    if not held:
                        arm = _break_tie(laws, tangents, low, width, f, size, index, wakes, q, tied, key, t - 1)
                        q = index[arm]
                    wake = wakes.min()
                    aim, lower, upper = (q - low[arm]) / width[arm], laws[LOWER, arm], laws[UPPER, arm]
                    tails = tails_at(laws, arm, aim, held)
                r = reward(law, places[arm], uniform(keys[arm], int(plays[arm])))
                one = r >= 1.0 or (r > 0.0 and uniform(rounding, t - 1) < r)
                tails = next_tails(tails, one, lower, upper, aim)
                plays[arm], since[arm], t = plays[arm] + 1.0, since[arm] + 1, t + 1
            curves[run, c] = regret(plays, places, gaps)
        for k in range(count):
            out[run, places[k]] = int(plays[k])
