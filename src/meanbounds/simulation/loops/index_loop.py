"""A compiled loop for index policies: look at all arms, then play the leader while nothing can overtake it.

UCB, B-UCB, ImprovedUCB, GLUE, KL-UCB and B-KL-UCB share it. After a look at all arms the loop fixes a level q between
the best and the second best index. An arm that is not played keeps its rewards, so it reaches q at a value of log f(t)
that is known in advance. Until the first of these wake-ups only the leader is tested: is its index still above q? To
look at an arm, a line above its index is enough: in sqrt(log f) for UCB, where the line is the index, and in log f for
KL-UCB, whose index is concave there. Decisions are those of the policies, which the tests check play for play.
"""

from __future__ import annotations

from math import exp, log, log1p, sqrt

import numpy as np
from numba import njit

from meanbounds.simulation.loops.loop_streams import child, pick, reward, row_key, uniform

__all__ = ["GAUSSIAN", "KL", "clipped", "kl", "play_index", "regret", "settled"]

GAUSSIAN, KL = 0, 1
_TOP = 1.0 - 1e-12
_TIE = 1e-12  # as in meanbounds.policies.base
_SEVERAL = 8  # rewards of the leader that are drawn at a time


@njit(cache=True, inline="always")
def _excess(x):
    """``x - log(1 + x)``."""
    if abs(x) < 0.02:
        series = 0.0
        for n in range(10, 1, -1):
            series = 1.0 / n - x * series
        return x * x * series
    return x - log1p(x)


@njit(cache=True)
def kl(p, q):
    """`meanbounds.divergence.kl` of numbers."""
    d = q - p
    if d == 0.0:
        return 0.0
    if (q >= 1.0 and p < 1.0) or (q <= 0.0 and p > 0.0):
        return np.inf
    above = p * _excess(d / p) if p > 0.0 else d
    below = (1.0 - p) * _excess(-d / (1.0 - p)) if p < 1.0 else -d
    return above + below


@njit(cache=True)
def _xlogy(x, y):
    return 0.0 if x == 0.0 else x * log(y)


@njit(cache=True)
def kl_upper(p, budget, guess):
    """`meanbounds.divergence.kl_upper` of numbers, faster from a good guess; without one it is 0."""
    if p >= 1.0 or budget <= 0.0:
        return min(p, 1.0)
    entropy, q = _xlogy(p, p) + _xlogy(1.0 - p, 1.0 - p), 1.0
    if p < guess < 1.0:  # one step of Newton's method on a convex function leads to the root or above it
        rest = entropy - _xlogy(p, guess) - _xlogy(1.0 - p, 1.0 - guess) - budget
        q = guess - rest * guess * (1.0 - guess) / (guess - p)
    if not q < 1.0:
        q = min(p + sqrt(budget / 2.0), 1.0 - exp((entropy - budget) / (1.0 - p)))
    if q > p and q < 1.0:
        for _ in range(100):
            step = (entropy - _xlogy(p, q) - _xlogy(1.0 - p, 1.0 - q) - budget) * q * (1.0 - q) / (q - p)
            if not step > 1e-15:
                break
            q -= step
    return max(p, 1.0 if q > _TOP else q)


@njit(cache=True)
def _index(kind, k, n, s, arms, level):
    """The index of an arm, computed as the policy does."""
    low, width, cap, proxy = arms[0, k], arms[1, k], arms[4, k], arms[5, k]
    if n == 0.0:
        return cap
    if kind == GAUSSIAN:
        return min(cap, low + width * (s / n) + sqrt(2.0 * proxy * level / n))
    return min(cap, low + width * kl_upper(s / n, level / n, 0.0))


@njit(cache=True)
def clipped(k, n, s, arms):
    """The mean of an arm's rewards, moved into its bounds."""
    low, width, lower, upper = arms[0, k], arms[1, k], arms[2, k], arms[3, k]
    return lower if n == 0.0 else min(upper, max(lower, low + width * (s / n)))


@njit(cache=True)
def _settles(n, s, goal, limit):
    """Whether the evidence against a mean of `goal` is within the limit."""
    if n == 0.0 or not goal > s / n:
        return True
    if goal > 1.0 or 2.0 * (goal * n - s) ** 2 > limit * n * (1.0 + 1e-9):  # Pinsker's inequality
        return False
    return n * kl(s / n, goal) <= limit


@njit(cache=True)
def settled(arms, plays, total, means, top, log_f, size, tied, key, number):
    """The leader that settles, -1 if none does; rows of `arms` are those of `play_thompson`."""
    found = False
    for k in range(plays.size):
        leads = arms[5, k] > 0.0 and means[k] >= top - _TIE * size
        tied[k] = leads and _settles(plays[k], total[k], arms[4, k], arms[5, k] * log_f)
        found = found or tied[k]
    return pick(tied, key, number) if found else -1


@njit(cache=True)
def _two_best(scores):
    """The places of the largest score and of the largest elsewhere, and both."""
    chosen, other, best, second = 0, 0, -np.inf, -np.inf
    for k in range(scores.size):
        score = scores[k]
        if score > second:
            if score > best:
                chosen, other, best, second = k, chosen, score, best
            else:
                other, second = k, score
    return chosen, other, best, second


@njit(cache=True)
def _solve_best(plays, total, arms, lines, solved, size, level, t, scores):
    """Compute indices of KL-UCB, and lines above them, until the best is known to be ahead or two are close."""
    while True:
        chosen, other, best, second = _two_best(scores)
        k = chosen if solved[chosen] != t else other
        if solved[k] == t or (k == other and best - second > 32.0 * _TIE * size):
            break
        n, low, width, solved[k] = plays[k], arms[0, k], arms[1, k], t
        if n > 0.0:
            p = total[k] / n
            lines[2, k] = q = kl_upper(p, level / n, lines[2, k])
            lines[1, k] = width * q * (1.0 - q) / (n * (q - p)) if p < q < 1.0 else 0.0
            lines[0, k] = low + width * q - lines[1, k] * level if q > p or q >= 1.0 else np.inf
            scores[k] = min(arms[4, k], low + width * q)


@njit(cache=True)
def _break_tie(kind, plays, total, arms, size, level, near, scores, tied, key, number):
    """The arm to play where several indices are at least `near`, the two best indices, and the second mean."""
    best, second = -np.inf, -np.inf
    for k in range(plays.size):
        if scores[k] >= near:
            scores[k] = _index(kind, k, plays[k], total[k], arms, level)
        if scores[k] > best:
            best, second = scores[k], best
        elif scores[k] > second:
            second = scores[k]
    top, follows, count = -np.inf, -np.inf, 0
    for k in range(plays.size):
        tied[k] = scores[k] >= best - _TIE * size or scores[k] == best
        if tied[k]:
            mean, count = clipped(k, plays[k], total[k], arms), count + 1
            if mean > top:
                top, follows = mean, top
            elif mean > follows:
                follows = mean
    if count > 1:
        for k in range(plays.size):
            if tied[k]:
                tied[k] = clipped(k, plays[k], total[k], arms) >= top - _TIE * size
    return pick(tied, key, number), best, second, follows


@njit(cache=True, inline="always")
def _stays(kind, n, s, level, aim, floor, spread, log_aim, log_lack):
    """Whether the index of an arm is surely above `aim` and its mean above `floor`."""
    lack = aim * n - s
    if s < floor * n or not lack > 0.0:
        return s >= floor * n
    if kind == GAUSSIAN:
        return lack * lack <= spread * level * n * (1.0 - 1e-12)
    p = s / n
    evidence = _xlogy(p, p) + _xlogy(1.0 - p, 1.0 - p) - p * log_aim - (1.0 - p) * log_lack
    return n * evidence <= level - 1e-9


@njit(cache=True)
def _hold(kind, n, s, t, stop, wake, aim, floor, spread, log_f, law, arm, key):
    """Play the leader while its index stays above `aim` and its mean above `floor`, both in units of its range.

    Rewards of 0 and 1 are drawn several at a time: if the leader would stay with their zeros alone, it stays with all,
    in whichever order they come. This is so where a reward of 1 is above `aim`.
    """
    log_aim, log_lack = 0.0, -np.inf
    if kind == KL and aim < 1.0:
        log_aim, log_lack = log(aim), log1p(-aim)
    pull, share = np.uint64(n), law[1, arm]
    whole = law[0, arm] == 0.0 and law[2, arm] == 1.0 and law[3, arm] == 0.0 and aim < 1.0
    while True:
        while whole and t + _SEVERAL <= stop and log_f[t + _SEVERAL - 1] < wake:
            ones = 0
            for k in range(_SEVERAL):
                ones += uniform(key, pull + np.uint64(k)) < share
            worst = n + (_SEVERAL - ones)
            if not _stays(kind, worst, s, log_f[t - 1], aim, floor, spread, log_aim, log_lack):
                break
            n, s, t, pull = n + _SEVERAL, s + ones, t + _SEVERAL, pull + np.uint64(_SEVERAL)
        for _ in range(_SEVERAL):
            stays = t <= stop and log_f[t - 1] < wake
            if not (stays and _stays(kind, n, s, log_f[t - 1], aim, floor, spread, log_aim, log_lack)):
                return n, s, t
            s += reward(law, arm, uniform(key, pull))
            n, t, pull = n + 1.0, t + 1, pull + np.uint64(1)


@njit(cache=True, nogil=True, error_model="numpy")  # a division by zero gives infinity
def play_index(kind, arms, size, places, law, log_f, stops, gaps, seed, first, curves, out):
    """Play whole runs of a policy with an index.

    Parameters
    ----------
    kind
        `GAUSSIAN` or `KL`.
    arms
        For each arm that may be played: low, width, lower, upper, what clips its index, and its variance proxy.
    size
        The size of the numbers that scores are, for ties.
    places, law
        The positions of these arms among all, and the rewards of all arms, see `loop_streams.reward`.
    log_f, stops, gaps
        ``log f(t)`` from t = 1 on, the checkpoints, and the regret of a play of each arm.
    seed, first
        The seed of the simulation and the number of the first run.
    curves, out
        Where regret and plays go.
    """
    low, width, cap, proxy, count = arms[0], arms[1], arms[4], arms[5], arms.shape[1]
    plays, total, scores = np.empty(count), np.empty(count), np.empty(count)
    lines, solved = np.zeros((3, count)), np.empty(count, np.int64)  # intercepts, slopes, solutions in units of ranges
    keys, tied = np.empty(count, np.uint64), np.empty(count, np.bool_)
    margin = 8.0 * _TIE * size
    for run in range(curves.shape[0]):
        source, key = row_key(seed, first + run, 1), row_key(seed, first + run, 2)
        for k in range(count):
            plays[k], total[k], keys[k], solved[k] = 0.0, 0.0, child(source, places[k]), 0
            lines[0, k], lines[1, k] = np.inf, 0.0
        t = 1
        for c in range(stops.size):
            while t <= stops[c]:
                level, follows = log_f[t - 1], -np.inf
                x = sqrt(level) if kind == GAUSSIAN else level
                for k in range(count):
                    scores[k] = min(cap[k], lines[0, k] + lines[1, k] * x)
                if kind == KL:
                    _solve_best(plays, total, arms, lines, solved, size, level, t, scores)
                arm, _, best, second = _two_best(scores)
                if not best - second > 32.0 * _TIE * size:
                    near = best - 64.0 * _TIE * size
                    arm, best, second, follows = _break_tie(
                        kind, plays, total, arms, size, level, near, scores, tied, key, t - 1
                    )
                n, s = plays[arm], total[arm]
                s += reward(law, places[arm], uniform(keys[arm], int(n)))
                n, t = n + 1.0, t + 1
                alone = best - second > 4.0 * margin
                # Where several arms are at their common cap, the one of the largest mean is played while it stays so.
                if best < np.inf and (alone or (follows > -np.inf and cap[arm] == best)):
                    q = 0.5 * (best + second) if alone else best - 2.0 * margin
                    wake = np.inf
                    for k in range(count):
                        x = (q - margin - lines[0, k]) / lines[1, k]
                        if scores[k] < best - _TIE * size and cap[k] > q - margin and not x >= wake:
                            wake = x
                    wake = wake * abs(wake) if kind == GAUSSIAN else wake
                    aim = ((q + margin if alone else best) - low[arm]) / width[arm]
                    floor = 0.0 if alone else (follows + margin - low[arm]) / width[arm]
                    spread = 2.0 * proxy[arm] / (width[arm] * width[arm])
                    n, s, t = _hold(
                        kind, n, s, t, stops[c], wake, aim, floor, spread, log_f, law, places[arm], keys[arm]
                    )
                plays[arm], total[arm] = n, s
                lines[0, arm], lines[1, arm] = np.inf, 0.0
                if kind == GAUSSIAN:
                    lines[0, arm], lines[1, arm] = low[arm] + width[arm] * (s / n), sqrt(2.0 * proxy[arm] / n)
            curves[run, c] = regret(plays, places, gaps)
        for k in range(count):
            out[run, places[k]] = int(plays[k])


@njit(cache=True)
def regret(plays, places, gaps):
    """The regret of these plays."""
    value = 0.0
    for k in range(plays.size):
        value += gaps[places[k]] * plays[k]
    return value
