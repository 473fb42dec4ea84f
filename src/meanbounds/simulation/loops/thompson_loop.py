"""A compiled loop for Thompson sampling: which arm has the largest draw, mostly without any draw.

The draw of an arm exceeds a level q if its uniform number exceeds the share of its posterior below q. These shares are
kept up to date. Where one arm alone exceeds q, it is played. Otherwise the posteriors at q give limits of the draws,
and draws are solved as far as it takes to tell which one is largest.
"""

from __future__ import annotations

from math import exp, log, sqrt

import numpy as np
from numba import njit

from meanbounds.simulation.loops.beta import LOWER, ROWS, UPPER, A, B, beyond, keep, next_tails, tails_at, update
from meanbounds.simulation.loops.index_loop import clipped, regret, settled
from meanbounds.simulation.loops.loop_streams import child, reward, row_key, uniform

__all__ = ["play_thompson"]

_TIE = 1e-12
_CLOSE = 1e-7  # to the share below q, where a number does not say on which side of q a draw is
_FRESH = 1000  # rewards after which a law is computed again
_NONE = 3.0  # how many more arms above a level cost as much as none
_FEWEST, _MOST = 24, 1000  # rounds in which q decided nothing, after which a better one is looked for
_MASS, _TAIL, _AT_Q = 2, 3, 6  # places in what `beta.next_tails` keeps: a row for each arm


@njit(cache=True)
def _law(laws, tails, k, q, anew):
    """Bring the law of an arm up to date, from what is kept at q if that is enough."""
    a, b, mass, tail, at_lower, at_upper, at_q = tails[k]
    if anew or not at_q > 1e-200 * mass:
        laws[A, k], laws[B, k] = a, b
        update(laws, k)
    else:
        keep(laws, k, (a, b, mass, tail, at_lower, at_upper, at_q), q)


@njit(cache=True)
def _mark(laws, tails, k, before, q, anew):
    """Compute what is kept at q, which was kept at another level before."""
    _law(laws, tails, k, before, anew)
    found = tails_at(laws, k, q)
    for n in range(7):
        tails[k, n] = found[n]


@njit(cache=True)
def _share(laws, tails, k, q):
    """The share of a posterior below q; -1 or 2 if all of it is above or below."""
    if q <= laws[LOWER, k]:
        return -1.0
    return 2.0 if q >= laws[UPPER, k] else 1.0 - tails[k, _TAIL] / tails[k, _MASS]


@njit(cache=True)
def _roughly_above(a, b, x):
    """About the share of Beta(a, b) above x."""
    if x <= 0.0 or x >= 1.0:
        return 1.0 if x <= 0.0 else 0.0
    return 1.0 / (1.0 + exp(min(600.0, 1.7 / sqrt(1.0 / a + 1.0 / b) * log(x * b / ((1.0 - x) * a)))))


@njit(cache=True)
def _price(laws, tails, low, width, ends, q):
    """About how much a round costs: how many arms exceed q, and what is added where none does."""
    expected, none = 0.0, 1.0
    for k in range(low.size):
        x, chance = (q - low[k]) / width[k], 1.0
        if x >= laws[UPPER, k]:
            chance = 0.0
        elif x > laws[LOWER, k]:
            above, mass = _roughly_above(tails[k, 0], tails[k, 1], x) - ends[0, k], ends[1, k] - ends[0, k]
            chance = above / mass if mass > 1e-9 else 1.0 if ends[0, k] > 0.5 else 0.0
        expected += chance
        none *= 1.0 - chance
    return expected + _NONE * none


@njit(cache=True)
def _level(laws, tails, low, width, ends, q, step):
    """A level near q that about one arm exceeds."""
    for k in range(low.size):
        ends[0, k] = _roughly_above(tails[k, 0], tails[k, 1], laws[UPPER, k])
        ends[1, k] = _roughly_above(tails[k, 0], tails[k, 1], laws[LOWER, k])
    price = _price(laws, tails, low, width, ends, q)
    for move in (-step, step):
        while True:
            there = _price(laws, tails, low, width, ends, q + move)
            if not there < price:
                break
            q, price = q + move, there
    return q


@njit(cache=True)
def _limits(laws, tails, k, q, u):
    """Limits of the draw for a number: the logarithms of the shares below and above a value are concave in it."""
    least, most, mass = laws[LOWER, k], laws[UPPER, k], tails[k, _MASS]
    if least < q < most and tails[k, _AT_Q] > 0.0:
        above, density = tails[k, _TAIL] / mass, tails[k, _AT_Q] / (mass * q * (1.0 - q))
        if above < 1.0 - 1e-6 and u > 0.0:
            least = max(least, q + log(u / (1.0 - above)) * (1.0 - above) / density)
        if above > 1e-6:
            most = min(most, q + log(above / (1.0 - u)) * above / density)
    return least, most


@njit(cache=True)
def _near(laws, k, u):
    """About where the draw for a number is."""
    a, b = laws[A, k], laws[B, k]
    least, most = _roughly_above(a, b, laws[UPPER, k]), _roughly_above(a, b, laws[LOWER, k])
    above = min(1.0 - 1e-12, max(1e-12, most - u * (most - least)))
    return 1.0 / (1.0 + b / a * exp(sqrt(1.0 / a + 1.0 / b) / 1.7 * log(above / (1.0 - above))))


@njit(cache=True)
def _solve(laws, k, u, v, rough):
    """The draw for a number, by a method of third order on the log of the smaller side, and how far it may be off."""
    a, b, below, above = laws[A, k], laws[B, k], laws[LOWER, k], laws[UPPER, k]
    sign, goal = (1.0, 1.0 - u) if u > 0.5 else (-1.0, max(u, 1e-300))
    v = v if below < v < above else 0.5 * (below + above)
    for _ in range(100):
        tail, _, density = beyond(laws, k, v, rough)
        side = tail if sign > 0.0 else 1.0 - tail
        following, surplus = 0.5 * (below + above), -sign
        if side > 0.0 and density > 0.0:
            slope, surplus = density / side, sign * log(side / goal)
            newton = surplus / slope
            bend = sign * ((a - 1.0) / v - (b - 1.0) / (1.0 - v)) + slope
            following = v + newton / max(0.5, 1.0 + 0.5 * sign * newton * bend)
            if abs(surplus) < (0.1 if rough else 1e-5):
                return min(above, max(below, following)), (1e-2 if rough else 1e-12) / slope
        below, above = (v, above) if surplus > 0.0 else (below, v)
        v = following if below < following < above else 0.5 * (below + above)
        if above - below <= 1e-16:
            break
    return v, 1e-16


@njit(cache=True)
def _largest(laws, tails, low, width, q, numbers, some, draws):
    """The arm with the largest draw of some arms. Rows of `draws`: least, most, how well it is solved."""
    for n in range(some.size):
        k = some[n]
        least, most = _limits(laws, tails, k, (q - low[k]) / width[k], numbers[k])
        draws[0, n], draws[1, n], draws[2, n] = low[k] + width[k] * least, low[k] + width[k] * most, 0.0
    while True:
        first, other = 0, -1
        for n in range(1, some.size):
            if draws[1, n] > draws[1, first]:
                first, other = n, first
            elif other < 0 or draws[1, n] > draws[1, other]:
                other = n
        if other < 0 or draws[0, first] > draws[1, other] or min(draws[2, first], draws[2, other]) == 2.0:
            return some[first]
        n = first if draws[2, first] <= draws[2, other] else other
        k, rough = some[n], draws[2, n] == 0.0
        _law(laws, tails, k, (q - low[k]) / width[k], False)
        start = _near(laws, k, numbers[k]) if rough else (0.5 * (draws[0, n] + draws[1, n]) - low[k]) / width[k]
        v, off = _solve(laws, k, numbers[k], start, rough)
        draws[0, n], draws[1, n] = low[k] + width[k] * (v - off), low[k] + width[k] * (v + off)
        draws[2, n] += 1.0


@njit(cache=True, nogil=True)
def play_thompson(arms, size, places, law, log_f, stops, gaps, seed, first, curves, out):
    """Play whole runs; see `play_index`.

    Rows of `arms`: low, width, lower and upper bounds; the largest upper bound of the other arms in units of the range;
    with which share of log f an arm settles, 0 if it never does; the posterior's bounds, in these units as well.
    """
    low, width, count = arms[0], arms[1], arms.shape[1]
    laws, tails, ends, draws = np.empty((ROWS, count)), np.empty((count, 7)), np.empty((2, count)), np.empty((3, count))
    plays, total, means, since = np.empty(count), np.empty(count), np.empty(count), np.empty(count)
    keys, shares, numbers = np.empty(count, np.uint64), np.empty(count), np.empty(count)
    tied, some, everyone = np.empty(count, np.bool_), np.empty(count, np.int64), np.arange(count)
    floor = arms[2].max()
    step = 0.02 * (arms[3].max() - floor) + 1e-9 * size
    for run in range(curves.shape[0]):
        source, key = row_key(seed, first + run, 1), row_key(seed, first + run, 2)
        rounding = row_key(seed, first + run, 3)
        for k in range(count):
            plays[k], total[k], means[k], keys[k], since[k] = 0.0, 0.0, arms[2, k], child(source, places[k]), 0.0
            laws[LOWER, k], laws[UPPER, k], tails[k, 0], tails[k, 1] = arms[6, k], arms[7, k], 1.0, 1.0
        t, top, q, misses, patience = 1, floor, floor, 0, 0
        for c in range(stops.size):
            while t <= stops[c]:
                if misses >= patience:
                    before, q = q, _level(laws, tails, low, width, ends, q, step)
                    misses, patience = 0, min(2 * patience, _MOST) if q == before else _FEWEST
                    for k in range(0 if q == before and t > 1 else count):
                        _mark(laws, tails, k, (before - low[k]) / width[k], (q - low[k]) / width[k], t == 1)
                        shares[k] = _share(laws, tails, k, (q - low[k]) / width[k])
                arm = settled(arms, plays, total, means, top, log_f[t - 1], size, tied, key, t - 1)
                if arm < 0:
                    stream, above, sure = child(key, t - 1), 0, 0
                    for k in range(count):
                        numbers[k], some[above] = uniform(stream, places[k]), k
                        above += numbers[k] > shares[k] - _CLOSE
                        sure += numbers[k] > shares[k] + _CLOSE
                    arm = some[0]
                    if not above == sure == 1:
                        among = some[:above] if sure > 0 else everyone
                        arm = _largest(laws, tails, low, width, q, numbers, among, draws)
                        misses += 1
                r = reward(law, places[arm], uniform(keys[arm], int(plays[arm])))
                one = r >= 1.0 or (r > 0.0 and uniform(rounding, t - 1) < r)
                plays[arm], total[arm], since[arm], t = plays[arm] + 1.0, total[arm] + r, since[arm] + 1.0, t + 1
                before, means[arm] = means[arm], clipped(arm, plays[arm], total[arm], arms)
                top = max(top, means[arm]) if means[arm] >= before else means.max()
                x = (q - low[arm]) / width[arm]
                a, b, mass, tail, at_lower, at_upper, at_q = tails[arm]
                kept = next_tails(
                    (a, b, mass, tail, at_lower, at_upper, at_q), one, laws[LOWER, arm], laws[UPPER, arm], x
                )
                for n in range(7):
                    tails[arm, n] = kept[n]
                if since[arm] >= _FRESH or tails[arm, _MASS] < 1e-3:
                    since[arm] = 0.0
                    _mark(laws, tails, arm, x, x, True)
                shares[arm] = _share(laws, tails, arm, x)
            curves[run, c] = regret(plays, places, gaps)
        for k in range(count):
            out[run, places[k]] = int(plays[k])
