"""A compiled loop for information-directed sampling; `meanbounds.policies.ids` has the formulas and the names.

It places the same panels as the policy. Between two placements it multiplies the density of the arm that was played by
u or 1 - u at each node, u being the node in units of the arm's range, so exponentials are computed for new panels only.
First moments follow from the density: ``a F(u) - (a + b) * (integral of v f(v) up to u)`` is ``u (1 - u) f(u)`` less
its value at the lower bound. Decisions are those of the policy, which the tests check play for play.
"""

from __future__ import annotations

from math import exp, inf, log

import numpy as np
from numba import njit

from meanbounds.policies import ids
from meanbounds.simulation.loops.loop_streams import child, reward, row_key, uniform

__all__ = ["play_ids"]

LOW, WIDTH, LOWER, UPPER = 0, 1, 2, 3  # rows of a table of arms
RISE, FALL, SPOT, LEFT, RIGHT, NEAR, FAR, CORE, ROWS = 0, 1, 2, 3, 4, 5, 6, 7, 8  # rows of a table of laws
RATE, SHARE, DROP, JOINT = 0, 1, 2, 3  # tables
LOSS, GAIN, LIMIT, MOVED, PER, EXACT = 0, 1, 2, 3, 4, 5  # rows of a table of arms that can be best

_NODES = ids._NODES
_OWN = 2 + ids._TAIL.size  # entries of a density before those of the nodes: both bounds, and nodes below the panels
_BEYOND = 0.25  # densities are kept for this part of the way from the peak beyond where they end
_SUMS = {"reassoc", "contract", "nsz", "arcp"}  # sums may be added in any order

_reach = njit(cache=True)(ids._reach)


@njit(cache=True)
def _set_law(laws, arms, k, rise, fall):
    """`policies.ids._Law` in a column of a table."""
    low, width, lower, upper = arms[LOW, k], arms[WIDTH, k], arms[LOWER, k], arms[UPPER, k]
    plays = rise + fall
    mode = rise / plays if plays > 0.0 else 0.5
    spot = min(max(mode, lower), upper)
    laws[RISE, k], laws[FALL, k], laws[SPOT, k] = rise, fall, spot
    for row, depth in ((LEFT, ids._DEPTH), (NEAR, ids._INNER)):
        laws[row, k] = low + width * max(lower, spot - _reach(depth, plays, mode - spot, spot))
        laws[row + 1, k] = low + width * min(upper, spot + _reach(depth, plays, spot - mode, 1.0 - spot))
    core = low + width * min(upper, spot + _reach(1.0, plays, spot - mode, 1.0 - spot))
    laws[CORE, k] = core - (low + width * max(lower, spot - _reach(1.0, plays, mode - spot, spot)))


@njit(cache=True)
def _jump(laws, arms, k, side):
    """Where a density ends at a bound, on the left (0) or on the right (1); minus infinity if it has ended before."""
    end = laws[LEFT + side, k]
    return end if end == arms[LOW, k] + arms[WIDTH, k] * arms[LOWER + side, k] else -inf


@njit(cache=True)
def _fits(laws, arms, k, ends):
    """Whether the panels serve a law."""
    near, far, start = laws[NEAR, k], laws[FAR, k], ends[0]
    fits = laws[NEAR].max() >= start
    if far <= start:
        return fits
    left, right = _jump(laws, arms, k, 0), _jump(laws, arms, k, 1)
    at_left, at_right = left <= start, right <= start
    for p in range(ends.size - 1):
        narrow = ends[p + 1] - ends[p] <= ids._KEPT * laws[CORE, k]
        fits = fits and (narrow or ends[p + 1] <= near or ends[p] >= far)
        at_left, at_right = at_left or ends[p + 1] == left, at_right or ends[p + 1] == right
    return fits and far <= ends[-1] and at_left and at_right


@njit(cache=True)
def _place_ends(laws, arms):
    """The ends of the panels."""
    ends, p = [laws[LEFT].max(), laws[RIGHT].max()], 0
    for k in range(laws.shape[1]):
        for side in range(2):
            jump, at = _jump(laws, arms, k, side), 1
            while ends[at] < jump:
                at += 1
            if ends[0] < jump < ends[at]:
                ends.insert(at, jump)
    while p < len(ends) - 1:
        width, wide = ends[p + 1] - ends[p], False
        for k in range(laws.shape[1]):
            here = ends[p] < laws[RIGHT, k] and ends[p + 1] > laws[LEFT, k]
            wide = wide or (here and width > ids._WIDEST * laws[CORE, k])
        if wide:
            ends.insert(p + 1, ends[p] + 0.5 * width)
        p += not wide
    return np.array(ends)


@njit(cache=True)
def _place(laws, arms, means):
    """Place panels and fill all tables.

    Returns the ends of the panels; the arms that can be best; the nodes, first those that are first on their panel, and
    their weights; for each of these arms u at `_OWN` points and the nodes, densities there and weights of the points;
    and the tables, with a row for each of these arms and a column for each node.
    """
    ends = _place_ends(laws, arms)
    live = np.flatnonzero(laws[RIGHT] > ends[0])
    size, panels = live.size, ends.size - 1
    nodes, weights = np.empty(_NODES * panels), np.empty(_NODES * panels)
    for i in range(_NODES):
        for p in range(panels):
            width = ends[p + 1] - ends[p]
            nodes[i * panels + p], weights[i * panels + p] = ends[p] + width * ids._PLACES[i], width * ids._WEIGHTS[i]
    units, density = np.empty((size, _OWN + nodes.size)), np.zeros((size, _OWN + nodes.size))
    below, tables = np.empty((size, _OWN)), np.empty((4, size, nodes.size))
    for n in range(size):
        k = live[n]
        low, width, lower, upper = arms[LOW, k], arms[WIDTH, k], arms[LOWER, k], arms[UPPER, k]
        rise, fall, spot = laws[RISE, k], laws[FALL, k], laws[SPOT, k]
        left, right = (laws[LEFT, k] - low) / width, (laws[RIGHT, k] - low) / width
        left, right = max(lower, left + _BEYOND * (left - spot)), min(upper, right + _BEYOND * (right - spot))
        span = max(0.0, (ends[0] - low) / width - left)
        peak = (rise * log(spot) if rise > 0.0 else 0.0) + (fall * log(1.0 - spot) if fall > 0.0 else 0.0)
        for i in range(units.shape[1]):
            if i < 2:
                u = arms[LOWER + i, k]
            elif i < _OWN:
                u, below[n, i] = left + span * ids._TAIL[i - 2], width * span * ids._TAIL_WEIGHTS[i - 2]
            else:
                u = (nodes[i - _OWN] - low) / width
            units[n, i] = u
            if left <= u <= right and 0.0 < u < 1.0:
                density[n, i] = exp(rise * log(u) + fall * log(1.0 - u) - peak)
    placed = ends, live, nodes, weights, units, density, below, tables
    for n in range(size):
        _fill(laws, arms, means, n, placed, -1)
    return placed


@njit(cache=True, fastmath=_SUMS)
def _fill(laws, arms, means, n, placed, one):
    """Multiply an arm's density by u or 1 - u for a reward of 1 or 0, and compute its row of the tables from it."""
    ends, live, _, weights, units, density, below, tables = placed
    for i in range(units.shape[1] if one >= 0 else 0):
        density[n, i] *= units[n, i] if one else 1.0 - units[n, i]
    k, panels, start = live[n], ends.size - 1, 0.0
    a, b, low, width = laws[RISE, k] + 1.0, laws[FALL, k] + 1.0, arms[LOW, k], arms[WIDTH, k]
    for i in range(2, _OWN):
        start += density[n, i] * below[n, i]
    before = np.zeros(panels + 1)
    before[0] = start
    for i in range(_NODES):
        for p in range(panels):
            before[p + 1] += density[n, _OWN + i * panels + p] * weights[i * panels + p]
    for p in range(panels):
        before[p + 1] += before[p]
    per = 1.0 / before[panels]
    for j in range(_NODES):
        for p in range(panels):
            part = 0.0
            for i in range(_NODES):
                part += density[n, _OWN + i * panels + p] * ids._UP_TO[i, j]
            tables[SHARE, n, j * panels + p] = before[p] + (ends[p + 1] - ends[p]) * part
    lower = density[n, 0] * per * width * units[n, 0] * (1.0 - units[n, 0])
    upper = density[n, 1] * per * width * units[n, 1] * (1.0 - units[n, 1])
    mean = low + width * (a - upper + lower) / (a + b)
    for i in range(weights.size):
        u, f = units[n, _OWN + i], density[n, _OWN + i] * per
        share = max(tables[SHARE, n, i] * per, ids._LEAST)
        moment = a - (f * width * u * (1.0 - u) - lower) / share
        tables[SHARE, n, i], tables[RATE, n, i] = share, f * weights[i] / share
        tables[DROP, n, i] = mean - low - width * moment / (a + b) if f > 0.0 else 0.0
    for i in range(density.shape[1]):
        density[n, i] *= per
    means[k] = mean


@njit(cache=True, fastmath=_SUMS)
def _set_values(tables, nodes, live, means, arms):
    """Losses and upper limits on the variances of arms that can be best; see `policies.ids._Row.mix`."""
    size, width = live.size, nodes.size
    product, whole = np.ones(width), np.zeros(width)
    for n in range(size):
        for i in range(width):
            product[i] *= tables[SHARE, n, i]
    leader, total = 0, 0.0
    for n in range(size):
        best = 0.0
        for i in range(width):
            part = tables[RATE, n, i] * product[i]
            tables[JOINT, n, i] = part
            whole[i] += part
            best += part
        arms[PER, n], total = 1.0 / max(best, ids._RARE), total + best
        if means[live[n]] > means[live[leader]]:
            leader = n
    for n in range(size):
        moved = limit = 0.0
        for i in range(width):
            part = (whole[i] - tables[JOINT, n, i]) * tables[DROP, n, i]
            moved += part
            limit += part * tables[DROP, n, i]
        arms[MOVED, n], arms[LIMIT, n] = moved, limit + moved * moved * arms[PER, n]
        arms[GAIN, n], arms[EXACT, n] = arms[LIMIT, n], 0.0
    least, mean = 0.0, means[live[leader]]
    for i in range(width):
        least += (whole[i] - tables[JOINT, leader, i]) * (nodes[i] - mean + tables[DROP, leader, i])
    for n in range(size):
        arms[LOSS, n] = max(0.0, least / total) + (mean - means[live[n]])


@njit(cache=True, fastmath=_SUMS)
def _set_exact(tables, size, arms, k):
    """The variance of an arm, and of those that are equal."""
    value = 0.0
    for n in range(size):
        change = 0.0
        for i in range(tables.shape[2]):
            change += tables[JOINT, n, i] * tables[DROP, k, i]
        change = arms[MOVED, k] if n == k else change
        value += change * change * arms[PER, n]
    for n in range(size):
        if _equal(arms, n, k):
            arms[GAIN, n], arms[EXACT, n] = value, 1.0


@njit(cache=True)
def _equal(arms, n, k):
    loss, limit = abs(arms[LOSS, n] - arms[LOSS, k]), abs(arms[LIMIT, n] - arms[LIMIT, k])
    return n == k or (loss <= ids._EQUAL * arms[LOSS, k] and limit <= ids._EQUAL * arms[LIMIT, k])


@njit(cache=True)
def _mix(placed, means, power, arms, i, j, number):
    """The two arms of the best mix, and the place of the arm that `Policy.scores` draws from it with this number."""
    _, live, nodes, _, _, _, _, tables = placed
    size, part = live.size, 1.0
    i, j = min(i, size - 1), min(j, size - 1)
    _set_values(tables, nodes, live, means, arms)
    while not (arms[EXACT, i] == 1.0 == arms[EXACT, j]):
        for k in (i, j):
            if arms[EXACT, k] == 0.0:
                _set_exact(tables, size, arms, k)
        i, j, part = _best_pair(arms, size, power, i, j)
    first = second = 0
    for n in range(size):
        first, second = first + _equal(arms, n, i), second + _equal(arms, n, j)
    for n in range(size):
        number -= part / first if _equal(arms, n, i) else 0.0
        number -= (1.0 - part) / second if _equal(arms, n, j) else 0.0
        if number < 0.0:
            return i, j, n
    return i, j, size - 1


@njit(cache=True)
def _best_pair(arms, size, power, i, j):
    """`policies.ids._best_pair`."""
    most, least = 0, 0
    for k in range(size):
        most = k if arms[GAIN, k] > arms[GAIN, most] else most
        least = k if arms[LOSS, k] < arms[LOSS, least] else least
    if arms[GAIN, most] == 0.0:
        return least, least, 1.0
    ratio, i, j, part = _best_mix(arms, power, i, j)
    while True:
        loss = part * arms[LOSS, i] + (1.0 - part) * arms[LOSS, j]
        gain = part * arms[GAIN, i] + (1.0 - part) * arms[GAIN, j]
        if loss == 0.0:
            return i, j, part
        top, slope = 0, power * gain / loss
        for k in range(size):
            if arms[GAIN, k] - slope * arms[LOSS, k] > arms[GAIN, top] - slope * arms[LOSS, top]:
                top = k
        first, second = _best_mix(arms, power, top, i), _best_mix(arms, power, top, j)
        found = second if second[0] < first[0] else first
        if not found[0] < ratio:
            return i, j, part
        ratio, i, j, part = found


@njit(cache=True)
def _best_mix(arms, power, i, j):
    """`policies.ids._best_mix`."""
    if arms[GAIN, i] < arms[GAIN, j]:
        i, j = j, i
    part, gap, more = 1.0, arms[LOSS, i] - arms[LOSS, j], arms[GAIN, i] - arms[GAIN, j]
    if gap > 0.0:
        part = (arms[LOSS, j] / gap - power * arms[GAIN, j] / more) / (power - 1.0) if more > 0.0 else 0.0
        part = min(1.0, max(0.0, part))
    loss = part * arms[LOSS, i] + (1.0 - part) * arms[LOSS, j]
    gain = part * arms[GAIN, i] + (1.0 - part) * arms[GAIN, j]
    return loss**power / max(gain, ids._LEAST), i, j, part


@njit(cache=True, nogil=True)
def play_ids(arms, power, places, law, _, stops, gaps, seed, first, curves, out):
    """Play whole runs; see `play_index`. Rows of `arms`: low, width, and bounds in units of the range."""
    count = arms.shape[1]
    laws, means, values = np.empty((ROWS, count)), np.zeros(count), np.empty((EXACT + 1, count))
    plays, keys = np.empty(count), np.empty(count, np.uint64)
    for k in range(count):
        if arms[WIDTH, k] * (arms[UPPER, k] - arms[LOWER, k]) < ids._POINT:
            arms[LOW, k] += arms[WIDTH, k] * arms[LOWER, k] - ids._POINT
            arms[WIDTH, k], arms[LOWER, k], arms[UPPER, k] = 2.0 * ids._POINT, 0.0, 1.0
    for run in range(curves.shape[0]):
        source, key = row_key(seed, first + run, 1), row_key(seed, first + run, 2)
        rounding = row_key(seed, first + run, 3)
        for k in range(count):
            plays[k], keys[k] = 0.0, child(source, places[k])
            _set_law(laws, arms, k, 0.0, 0.0)
        placed, i, j, t = _place(laws, arms, means), 0, 0, 1
        for c in range(stops.size):
            while t <= stops[c]:
                i, j, n = _mix(placed, means, power, values, i, j, uniform(key, t - 1))
                k = placed[1][n]
                r = reward(law, places[k], uniform(keys[k], int(plays[k])))
                one = int(r >= 1.0 or (r > 0.0 and uniform(rounding, t - 1) < r))
                plays[k], t = plays[k] + 1.0, t + 1
                if arms[WIDTH, k] == 2.0 * ids._POINT:
                    continue
                _set_law(laws, arms, k, laws[RISE, k] + one, laws[FALL, k] + 1.0 - one)
                if _fits(laws, arms, k, placed[0]):
                    _fill(laws, arms, means, n, placed, one)
                else:
                    placed = _place(laws, arms, means)
            for k in range(count):
                curves[run, c] += gaps[places[k]] * plays[k]
        for k in range(count):
            out[run, places[k]] = int(plays[k])
