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
def kl_upper(p, budget):
    """`meanbounds.divergence.kl_upper` of numbers."""
    if p >= 1.0 or budget <= 0.0:
        return min(p, 1.0)
    entropy = _xlogy(p, p) + _xlogy(1.0 - p, 1.0 - p)
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
    return min(cap, low + width * kl_upper(s / n, level / n))


@njit(cache=True)
def _line(kind, k, n, s, arms, level):
    """Intercept and slope of a line above the index, which touches it at this level."""
    low, width, proxy = arms[0, k], arms[1, k], arms[5, k]
    if n == 0.0:
        return np.inf, 0.0
    p = s / n
    if kind == GAUSSIAN:
        return low + width * p, sqrt(2.0 * proxy / n)
    q = kl_upper(p, level / n)
    if q <= p or q >= 1.0:
        return (low + width * q, 0.0) if q >= 1.0 else (np.inf, 0.0)
    slope = width * q * (1.0 - q) / (n * (q - p))
    return low + width * q - slope * level, slope


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
def _look(kind, plays, total, arms, lines, solved, size, level, t, scores):
    """The arm whose index is best and a limit above all others; minus one if these are too close to tell."""
    x = sqrt(level) if kind == GAUSSIAN else level
    for k in range(plays.size):
        scores[k] = min(arms[4, k], lines[0, k] + lines[1, k] * x)
    for _ in range(2 * plays.size + 2):
        chosen, other = -1, -1
        for k in range(plays.size):
            if chosen < 0 or scores[k] > scores[chosen]:
                chosen, other = k, chosen
            elif other < 0 or scores[k] > scores[other]:
                other = k
        worst = chosen if kind == KL and solved[chosen] != t else other if kind == KL and other >= 0 else -1
        apart = other < 0 or scores[chosen] - scores[other] > 32.0 * _TIE * size
        if apart and worst != chosen:
            return chosen, scores[chosen], scores[other] if other >= 0 else -np.inf
        if worst < 0 or solved[worst] == t:
            break
        solved[worst] = t
        lines[0, worst], lines[1, worst] = _line(kind, worst, plays[worst], total[worst], arms, level)
        scores[worst] = _index(kind, worst, plays[worst], total[worst], arms, level)
    return -1, 0.0, 0.0


@njit(cache=True)
def _break_tie(kind, plays, total, arms, size, level, scores, tied, key, number):
    """The arm to play where several indices are close, the best and the second best index, and the second mean."""
    best, second = -np.inf, -np.inf
    for k in range(plays.size):
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


@njit(cache=True)
def _hold(kind, n, s, t, stop, wake, aim, floor, spread, log_f, law, arm, key):
    """Play the leader while its index stays above `aim` and its mean above `floor`, both in units of its range."""
    log_aim, log_lack = 0.0, 0.0
    if kind == KL and aim < 1.0:
        log_aim, log_lack = log(aim), log1p(-aim)
    while t <= stop and log_f[t - 1] < wake:
        lack = aim * n - s
        if lack > 0.0:
            if kind == GAUSSIAN:
                if lack * lack > spread * log_f[t - 1] * n * (1.0 - 1e-12):
                    break
            else:
                p = s / n
                evidence = _xlogy(p, p) + _xlogy(1.0 - p, 1.0 - p) - p * log_aim - (1.0 - p) * log_lack
                if aim >= 1.0 or n * evidence > log_f[t - 1] - 1e-9:
                    break
        if s < floor * n:
            break
        s += reward(law, arm, uniform(key, int(n)))
        n += 1.0
        t += 1
    return n, s, t


@njit(cache=True, nogil=True)
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
    lines, solved = np.empty((2, count)), np.empty(count, np.int64)
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
                arm, best, second = _look(kind, plays, total, arms, lines, solved, size, level, t, scores)
                if arm < 0:
                    arm, best, second, follows = _break_tie(
                        kind, plays, total, arms, size, level, scores, tied, key, t - 1
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
                        if k != arm and scores[k] < best - _TIE * size and cap[k] > q - margin:
                            x = (q - margin - lines[0, k]) / lines[1, k] if lines[1, k] > 0.0 else -np.inf
                            if lines[1, k] == 0.0 and lines[0, k] < q - margin:
                                x = np.inf
                            wake = min(wake, x * abs(x) if kind == GAUSSIAN else x)
                    aim = ((q + margin if alone else best) - low[arm]) / width[arm]
                    floor = 0.0 if alone else (follows + margin - low[arm]) / width[arm]
                    spread = 2.0 * proxy[arm] / (width[arm] * width[arm])
                    n, s, t = _hold(
                        kind, n, s, t, stops[c], wake, aim, floor, spread, log_f, law, places[arm], keys[arm]
                    )
                plays[arm], total[arm] = n, s
                lines[0, arm], lines[1, arm] = np.inf, 0.0
                if kind == GAUSSIAN:
                    lines[0, arm], lines[1, arm] = _line(kind, arm, n, s, arms, level)
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
