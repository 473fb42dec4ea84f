"""A compiled loop for BIMED: play the leader while the costs of all other arms are above its own, or while it settles.

The cost of an arm is convex in the goal, so its tangent at any goal is a limit below it. A cost is computed only where
this limit is below all others. That of the leader is the logarithm of its plays.
"""

from __future__ import annotations

from math import exp, log

import numpy as np
from numba import njit

from meanbounds.simulation.loops.index_loop import clipped, kl, regret, settled
from meanbounds.simulation.loops.loop_streams import child, pick, reward, row_key, uniform

__all__ = ["play_bimed"]

_TIE = 1e-12
_NEAR = 1e-9  # costs that are closer may be equal
_AT, _COST, _START, _SLOPE = 0, 1, 2, 3  # rows of a table: a goal, the cost there, and its tangent


@njit(cache=True)
def _price(k, n, s, arms, goal, table):
    """Compute the cost of an arm at this goal, and its tangent."""
    low, width = arms[0, k], arms[1, k]
    p, q, cost, slope = s / n, (goal - low) / width, log(n), 0.0
    if q > p:
        cost += n * kl(p, q)
        slope = n * (q - p) / (q * (1.0 - q) * width) if q < 1.0 else 0.0
    table[_AT, k], table[_COST, k], table[_SLOPE, k] = goal, cost, slope
    table[_START, k] = cost - slope * goal if cost < np.inf else -np.inf


@njit(cache=True)
def _cheapest(plays, total, means, arms, table, goal, size, costs, tied, key, number):
    """The arm of the least cost."""
    for k in range(plays.size):
        costs[k] = table[_COST, k] if table[_AT, k] == goal else table[_START, k] + table[_SLOPE, k] * goal
        if arms[3, k] < goal:
            costs[k] = np.inf
    while True:
        best, unsure, least = np.inf, -1, np.inf
        for k in range(plays.size):
            best = min(best, costs[k])
            if costs[k] < least and table[_AT, k] != goal and plays[k] > 0.0:
                unsure, least = k, costs[k]
        if unsure < 0 or least > best + _NEAR:
            break
        _price(unsure, plays[unsure], total[unsure], arms, goal, table)
        costs[unsure] = table[_COST, unsure]
    top = -np.inf
    for k in range(plays.size):
        tied[k] = costs[k] <= best + _TIE or costs[k] == best
        top = max(top, means[k]) if tied[k] else top
    for k in range(plays.size):
        tied[k] = tied[k] and means[k] >= top - _TIE * size
    return pick(tied, key, number)


@njit(cache=True)
def _room(leader, n, means, arms, table, margin):
    """A mean and a number of plays up to which the leader has the least cost, and a mean above which it leads."""
    goal, cost = means[leader], log(n)
    floor, limit, second = arms[2, leader], np.inf, -np.inf
    for k in range(means.size):
        if k != leader:
            second = max(second, means[k] + margin)
            room = 0.5 * (table[_START, k] + table[_SLOPE, k] * goal - cost)  # the other half is for the plays
            least = -np.inf if room > 0.0 else goal
            if room > 0.0 and table[_SLOPE, k] > 0.0:
                least = goal - room / table[_SLOPE, k]
            floor = max(floor, min(least, 0.5 * (arms[3, k] + goal)) if arms[3, k] < goal else least)
    floor = max(floor, second)
    for k in range(means.size):
        if k != leader and arms[3, k] >= floor:
            limit = min(limit, table[_START, k] + table[_SLOPE, k] * floor)
    if floor > goal:
        limit = -np.inf
    return floor, exp(min(700.0, limit - _NEAR)), second if second <= goal else np.inf


@njit(cache=True)
def _hold(n, s, t, stop, floor, limit, second, goal, share, log_f, law, arm, key):
    """Play the leader while its mean is above `floor` and its plays below `limit`, or while it surely settles."""
    while t <= stop:
        if not (n < limit and s >= floor * n):
            lack = goal * n - s
            if not (s > second * n and lack * lack < share * log_f[t - 1] * n * goal * (1.0 - goal)):
                break
        s += reward(law, arm, uniform(key, int(n)))
        n, t = n + 1.0, t + 1
    return n, s, t


@njit(cache=True, nogil=True)
def play_bimed(arms, size, places, law, log_f, stops, gaps, seed, first, curves, out):
    """Play whole runs; see `play_index`, and `play_thompson` for the rows of `arms`."""
    low, width, goals, count = arms[0], arms[1], arms[4], arms.shape[1]
    plays, total, means, keys = np.empty(count), np.empty(count), np.empty(count), np.empty(count, np.uint64)
    table, costs, tied = np.empty((4, count)), np.empty(count), np.empty(count, np.bool_)
    for run in range(curves.shape[0]):
        source, key = row_key(seed, first + run, 1), row_key(seed, first + run, 2)
        for k in range(count):
            plays[k], total[k], means[k], keys[k] = 0.0, 0.0, arms[2, k], child(source, places[k])
            table[_AT, k], table[_START, k], table[_SLOPE, k] = np.nan, -np.inf, 0.0
        t, top, previous = 1, arms[2].max(), -1
        for c in range(stops.size):
            while t <= stops[c]:
                arm = settled(arms, plays, total, means, top, log_f[t - 1], size, tied, key, t - 1)
                if arm < 0:
                    arm = _cheapest(plays, total, means, arms, table, top, size, costs, tied, key, t - 1)
                n, s, before = plays[arm], total[arm], means[arm]
                s += reward(law, places[arm], uniform(keys[arm], int(n)))
                n, t = n + 1.0, t + 1
                if arm == previous:
                    means[arm] = clipped(arm, n, s, arms)
                    floor, limit, second = _room(arm, n, means, arms, table, 1e-9 * size)
                    floor, second = (floor - low[arm]) / width[arm], (second - low[arm]) / width[arm]
                    share = arms[5, arm] * (1.0 - 1e-9) if goals[arm] <= 1.0 else -1.0
                    n, s, t = _hold(
                        n, s, t, stops[c], floor, limit, second, goals[arm], share, log_f, law, places[arm], keys[arm]
                    )
                plays[arm], total[arm], means[arm], previous = n, s, clipped(arm, n, s, arms), arm
                top = max(top, means[arm]) if means[arm] >= before else means.max()
                _price(arm, n, s, arms, top, table)
            curves[run, c] = regret(plays, places, gaps)
        for k in range(count):
            out[run, places[k]] = int(plays[k])
