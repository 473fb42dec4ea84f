"""Information-directed sampling with mean bounds: play the mix of two arms that loses least for what it teaches.

Every candidate's mean has a law (`meanbounds.kernels.arms.laws`). With h_a(x) the density of "a is best, and its mean
is x", and r_k(x) = E[mean_k] - E[mean_k given that it is at most x], which is never negative,

    P(a) = integral of h_a,   P(a) (E[mean_k] - E[mean_k given a best]) = R_ka = integral of h_a r_k   (k other than a),

and shortfalls D and variances v are sums of these, in which nothing cancels; see docs/ids.md. All integrals share one
set of nodes: panels, halved until no law varies much on any of them. Halves of halves stay where they are when a law
moves a little, so that `meanbounds.kernels.fast.ids` can keep what was computed for arms that were not played.
"""

from __future__ import annotations

from math import exp, floor, log

import numpy as np

from meanbounds.kernels.arms.laws import LAW_ROWS, Laws, fill_laws, largest_point, laws_of, log_density_of
from meanbounds.kernels.arms.nodes import gauss_legendre
from meanbounds.kernels.arms.tables import Plan, State
from meanbounds.kernels.arms.thompson import some_weak
from meanbounds.kernels.arms.weak_chances import weak_parts, weak_values
from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.random.stream import uniform
from meanbounds.support.types import Floats, Integers

__all__ = [
    "NODES",
    "TABLES",
    "best_mix",
    "choose_ids",
    "draw_from",
    "fill_candidate",
    "ids_chances",
    "place_nodes",
    "place_panels",
    "room_for",
    "shortfalls",
]

NODES = 8  # on a panel
TABLES = 3  # per candidate and node: weighted density, distribution function, r
_WIDEST = 0.9  # a panel, in units of the core: where a density exceeds 1/e of its peak
_WIDEST_SLOPE = 2.5  # the same if the density has its peak at a bound and falls from there
_SINGULAR = 6.0  # a broken exponent below this needs panels that shrink towards the end of the range
_SMALLEST = 1e-4  # down to this, in units of the same width
_FEW = 1e5  # below so many plays a plain logarithm has digits enough
_RARE = 1e-12  # an arm that is best with less than this probability counts as never best
_EQUAL = 1e-9  # arms whose shortfalls and variances differ by less, relatively, share their probability

_PLACES, _WEIGHTS, _FROM_LEFT, _ = gauss_legendre(NODES)


@compiled
def _limit(laws: Laws, k: int, out: Floats) -> None:
    """Write what the panels of a law must respect: its ends, its widest panel, where to shrink to, and how far.

    A broken exponent makes all but smooth what happens at the end of the range.
    """
    core, rise, fall = laws.core[k], laws.rise[k], laws.fall[k]
    inside = laws.start[k] < laws.mode[k] < laws.stop[k]
    out[0], out[1] = laws.left[k], laws.right[k]
    out[2] = (_WIDEST if inside else _WIDEST_SLOPE) * core
    out[3] = laws.mode[k] - laws.below[k] if rise < _SINGULAR and rise != floor(rise) else -np.inf
    out[4] = laws.mode[k] + laws.above[k] if fall < _SINGULAR and fall != floor(fall) else np.inf
    out[5] = _SMALLEST * core


@compiled
def _too_wide(limits: Floats, start: float, stop: float) -> bool:
    """Whether some law varies too much on a panel for its nodes."""
    width = stop - start
    for n in range(limits.shape[0]):
        if start < limits[n, 1] and stop > limits[n, 0]:
            if width > limits[n, 2]:
                return True
            shrinks = width > 2.0 * (start - limits[n, 3]) or width > 2.0 * (limits[n, 4] - stop)
            if shrinks and width > limits[n, 5]:
                return True
    return False


@compiled
def _halve(limits: Floats, start: float, stop: float, cut: float, ends: Floats, size: int) -> int:
    """Add the panels of [start, stop] that reach above the cut to the first `size` ends; return how many there are.

    A last row of `ends` is scratch space.
    """
    waiting = ends[1]
    waiting[0] = stop
    here, top = start, 0
    while top >= 0:
        end = waiting[top]
        middle = here + 0.5 * (end - here)
        may = here < middle < end and end > cut and size + top + 3 < ends.shape[1]
        if may and _too_wide(limits, here, end):
            top += 1
            waiting[top] = middle
            continue
        if end > cut:
            if size == 0:
                ends[0, 0] = here
                size = 1
            ends[0, size] = end
            size += 1
        here = end
        top -= 1
    return size


@compiled
def _insert(places: Floats, size: int, value: float) -> int:
    """Put a value where it belongs among sorted ones, unless it is there; return how many there are."""
    at = size
    while at > 0 and places[at - 1] > value:
        at -= 1
    if at > 0 and places[at - 1] == value:
        return size
    for i in range(size, at, -1):
        places[i] = places[i - 1]
    places[at] = value
    return size + 1


@compiled
def place_panels(laws: Laws, live: Integers, cut: float, sharp: bool, ends: Floats) -> int:
    """Write the ends of the panels that reach above the cut and below the last live law; return how many panels.

    Panels end where a density jumps. With `sharp`, one starts at the cut. A last row of `ends` is scratch space.
    """
    count = live.size
    limits, edges = np.empty((count, 6)), np.empty(2 * count + 3)
    least, most, last = np.inf, -np.inf, -np.inf
    size = _insert(edges, 0, cut) if sharp else 0
    for n in range(count):
        k = live[n]
        _limit(laws, k, limits[n])
        least, most, last = min(least, laws.start[k]), max(most, laws.stop[k]), max(last, laws.right[k])
        if laws.left[k] == laws.start[k]:  # below the cut as well: the first panel may start further to the left
            size = _insert(edges, size, laws.start[k])
        if laws.right[k] == laws.stop[k] and laws.stop[k] > cut:
            size = _insert(edges, size, laws.stop[k])
    size = _insert(edges, size, most)
    if not sharp:
        size = _insert(edges, size, least)
    count_ends = 0
    for n in range(size - 1):
        if edges[n + 1] > cut and edges[n] < last:
            count_ends = _halve(limits, edges[n], edges[n + 1], cut, ends, count_ends)
    while count_ends > 2 and ends[0, count_ends - 2] >= last:
        count_ends -= 1
    return max(0, count_ends - 1)


@compiled
def _log(x: float) -> float:
    """Log x, minus infinity where rounding has made a distance 0 or less."""
    return log(x) if x > 0.0 else -np.inf


@compiled
def _density_at(law: tuple[float, float, float, float, bool], offset: float, half: float, out: Floats) -> None:
    """Density at the nodes of a panel that starts at ``mode + offset``."""
    rise, fall, below, above, inside = law
    if rise + fall < _FEW:
        for i in range(NODES):
            step = offset + half * (1.0 + _PLACES[i])
            value = 0.0
            if rise > 0.0:
                value += rise * _log(1.0 + step / below)
            if fall > 0.0:
                value += fall * _log(1.0 - step / above)
            out[i] = exp(value)
    else:
        for i in range(NODES):
            out[i] = exp(log_density_of(rise, fall, below, above, inside, offset + half * (1.0 + _PLACES[i])))


@compiled
def _below(laws: Laws, k: int, stop: float, values: Floats) -> tuple[float, float]:
    """Mass and first moment about the mode of a law up to `stop`."""
    mass = moment = 0.0
    stop = min(stop, laws.right[k])
    if not laws.left[k] < stop:
        return mass, moment
    limits, ends = np.empty((1, 6)), np.empty((2, room_for(1)))
    _limit(laws, k, limits[0])
    mode = laws.mode[k]
    law = (laws.rise[k], laws.fall[k], laws.below[k], laws.above[k], laws.start[k] < mode < laws.stop[k])
    size = _halve(limits, laws.left[k], stop, -np.inf, ends, 0)
    for p in range(size - 1):
        half = 0.5 * (ends[0, p + 1] - ends[0, p])
        offset = ends[0, p] - mode
        _density_at(law, offset, half, values)
        for i in range(NODES):
            part = half * _WEIGHTS[i] * values[i]
            mass += part
            moment += part * (offset + half * (1.0 + _PLACES[i]))
    return mass, moment


@compiled
def room_for(size: int) -> int:
    """How many ends of panels there may be with so many candidates; beyond, panels are taken as they are."""
    return 200 + 60 * size


@compiled
def fill_candidate(
    laws: Laws, k: int, ends: Floats, panels: int, cut: float, room: Floats, table: Floats, at_cut: Floats
) -> float:
    """Fill a candidate's table over all nodes, and distribution function and r at the first one's left end.

    Returns its mean. `table` has a row for each of `TABLES`; `room` is scratch space, two rows with a place per panel.
    Left of the mode everything is summed from the left, right of it from the right, so that no small number is a
    difference of large ones.
    """
    mode = laws.mode[k]
    if laws.start[k] >= laws.stop[k]:
        at_cut[0], at_cut[1] = 1.0, 0.0
        return float(laws.start[k])
    first = ends[0] if panels > 0 else cut
    scratch = np.empty((4, NODES))
    values, offsets, shares, moments = scratch[0], scratch[1], scratch[2], scratch[3]
    below, below_moment = _below(laws, k, first, values)
    mass, moment = below, below_moment
    law = (laws.rise[k], laws.fall[k], laws.below[k], laws.above[k], laws.start[k] < mode < laws.stop[k])
    for p in range(panels):
        at = p * NODES
        start, stop = ends[p], ends[p + 1]
        if start >= laws.right[k] or stop <= laws.left[k]:
            room[0, p] = room[1, p] = 0.0
            for i in range(NODES):
                table[0, at + i] = table[1, at + i] = table[2, at + i] = 0.0
            continue
        half = 0.5 * (stop - start)
        _density_at(law, start - mode, half, values)
        panel_mass = panel_moment = 0.0
        for i in range(NODES):
            offsets[i] = start - mode + half * (1.0 + _PLACES[i])
            shares[i] = moments[i] = 0.0
        for j in range(NODES):
            value = half * values[j]
            lifted = value * offsets[j]
            panel_mass += value * _WEIGHTS[j]
            panel_moment += lifted * _WEIGHTS[j]
            for i in range(NODES):
                shares[i] += value * _FROM_LEFT[j, i]
                moments[i] += lifted * _FROM_LEFT[j, i]
        for i in range(NODES):
            table[0, at + i] = half * values[i] * _WEIGHTS[i]
            table[1, at + i] = shares[i]
            table[2, at + i] = moments[i]
        room[0, p], room[1, p] = panel_mass, panel_moment
        mass += panel_mass
        moment += panel_moment
    shift = moment / mass  # mean - mode
    at_cut[0] = below / mass
    at_cut[1] = max(0.0, (shift * below - below_moment) / below) if below > 0.0 else max(0.0, mode + shift - first)
    done, done_moment = below, below_moment
    after = after_moment = 0.0
    for p in range(panels):
        at = p * NODES
        if 0.5 * (ends[p] + ends[p + 1]) > mode:
            break
        for i in range(NODES):
            share = max(0.0, done + table[1, at + i])
            pulled = shift * share - (done_moment + table[2, at + i])
            x = ends[p] - mode + 0.5 * (ends[p + 1] - ends[p]) * (1.0 + _PLACES[i])
            table[0, at + i] /= mass
            table[1, at + i] = share / mass
            table[2, at + i] = max(0.0, pulled / share if share > 0.0 else shift - x)
        done += room[0, p]
        done_moment += room[1, p]
    for p in range(panels - 1, -1, -1):
        at = p * NODES
        if 0.5 * (ends[p] + ends[p + 1]) <= mode:
            break
        for i in range(NODES):
            rest = max(0.0, after + (room[0, p] - table[1, at + i]))
            pulled = after_moment + (room[1, p] - table[2, at + i]) - shift * rest
            share = max(0.0, 1.0 - rest / mass)
            table[0, at + i] /= mass
            table[1, at + i] = share
            table[2, at + i] = max(0.0, pulled / mass / share if share > 0.0 else 0.0)
        after += room[0, p]
        after_moment += room[1, p]
    return float(mode + shift)


@compiled
def _dot(a: Floats, b: Floats, size: int) -> float:
    """Sum of products, in four parts that a processor can add at once."""
    s0 = s1 = s2 = s3 = 0.0
    for i in range(0, size, 4):
        s0 += a[i] * b[i]
        s1 += a[i + 1] * b[i + 1]
        s2 += a[i + 2] * b[i + 2]
        s3 += a[i + 3] * b[i + 3]
    return (s0 + s1) + (s2 + s3)


@compiled
def _four_dots(a: Floats, b: Floats, c: Floats, d: Floats, e: Floats, size: int) -> tuple[float, float, float, float]:
    """The products of one row with four others: eight sums that do not wait for each other."""
    b0 = b1 = c0 = c1 = d0 = d1 = e0 = e1 = 0.0
    for i in range(0, size, 2):
        x, y = a[i], a[i + 1]
        b0 += x * b[i]
        b1 += y * b[i + 1]
        c0 += x * c[i]
        c1 += y * c[i + 1]
        d0 += x * d[i]
        d1 += y * d[i + 1]
        e0 += x * e[i]
        e1 += y * e[i + 1]
    return b0 + b1, c0 + c1, d0 + d1, e0 + e1


@compiled
def _pulls(row: Floats, tables: Floats, live: Integers, size: int, out: Floats) -> None:
    """Write the integrals of one h_a with every live r_k."""
    count = live.size
    whole = count - count % 4
    for m in range(0, whole, 4):
        b, c, d, e = tables[live[m], 2], tables[live[m + 1], 2], tables[live[m + 2], 2], tables[live[m + 3], 2]
        out[m], out[m + 1], out[m + 2], out[m + 3] = _four_dots(row, b, c, d, e, size)
    for m in range(whole, count):
        out[m] = _dot(row, tables[live[m], 2], size)


@compiled
def shortfalls(
    laws: Laws,
    live: Integers,
    tables: Floats,
    at_cut: Floats,
    means: Floats,
    nodes: Floats,
    size: int,
    point: tuple[float, int, float],
    best: Floats,
    short: Floats,
    learnt: Floats,
) -> None:
    """Write P(best), the expected shortfall and the variance v of each candidate.

    `tables` are those of `fill_candidate`, `nodes` the places of the first `size` nodes relative to the cut; `point`
    is the largest known mean, how many candidates have it, and the cut.
    """
    count, total = live.size, means.size
    cut = point[2]
    joint = np.empty((count, size))
    product = np.ones(size)
    for n in range(count):
        density, share = tables[live[n], 0], tables[live[n], 1]
        for i in range(size):
            joint[n, i] = density[i] * product[i]
            product[i] *= share[i]
    product[:] = 1.0
    for n in range(count - 1, -1, -1):
        share = tables[live[n], 1]
        for i in range(size):
            joint[n, i] *= product[i]
            product[i] *= share[i]
    all_below = 1.0 if point[0] == cut else 0.0
    for n in range(count):
        all_below *= at_cut[live[n], 0]
    ones = np.ones(size)
    lifted = np.zeros(total)  # integral of (x - cut) h_a
    whole = 0.0
    for k in range(total):
        best[k] = all_below / point[1] if laws.start[k] >= laws.stop[k] and laws.start[k] == point[0] == cut else 0.0
        whole += best[k]
    for n in range(count):
        k = live[n]
        best[k] = _dot(joint[n], ones, size)
        lifted[k] = _dot(joint[n], nodes, size)
        whole += best[k]
    for k in range(total):
        best[k] /= whole
        lifted[k] /= whole
        short[k] = learnt[k] = 0.0
    pulls = np.empty(count)
    moved = np.zeros(total)  # sum over a of R_ka
    for n in range(count):
        a = live[n]
        if best[a] < _RARE:
            continue
        _pulls(joint[n], tables, live, size, pulls)
        for m in range(count):
            k = live[m]
            if k != a:
                r = pulls[m] / whole
                moved[k] += r
                learnt[k] += r * r / best[a]
    if all_below >= _RARE * whole:
        for n in range(count):
            k = live[n]
            r = all_below / whole * at_cut[k, 1]
            moved[k] += r
            learnt[k] += r * r * (whole / all_below)
    for k in range(total):
        if best[k] >= _RARE:  # two ways to write the same, each without cancelling digits on its own side
            raised = moved[k] if best[k] > 0.5 else lifted[k] - best[k] * (means[k] - cut)
            learnt[k] += raised * raised / best[k]
        lost = moved[k]
        for a in range(total):
            if a != k and best[a] >= _RARE:
                lost += lifted[a] - best[a] * (means[k] - cut)
        short[k] = max(0.0, lost)


@compiled
def best_mix(short: Floats, learnt: Floats, power: float, out: Floats) -> None:
    """Write the probabilities that make ``shortfall^power / variance`` of the mix least.

    Shortfall and variance of a mix lie in the polygon of those of the arms, and its best point is on an edge: two arms
    are enough. Arms that are equal to one of them, but for rounding, share its probability.
    """
    size = short.size
    first = 0
    for k in range(1, size):
        if short[k] < short[first]:
            first = k
    second, part, least = first, 1.0, np.inf
    if learnt[first] > 0.0:
        least = short[first] ** power / learnt[first]
    if short[first] > 0.0:
        for i in range(size):
            if learnt[i] > 0.0:
                for j in range(size):
                    if short[j] < short[i] and learnt[j] < learnt[i]:
                        gap, more = short[i] - short[j], learnt[i] - learnt[j]
                        q = (short[j] / gap - power * (learnt[j] / more)) / (power - 1.0)
                        q = min(1.0, max(0.0, q))
                        ratio = (short[j] + q * gap) ** power / (learnt[j] + q * more) if q > 0.0 else np.inf
                        if ratio < least:
                            first, second, part, least = i, j, q, ratio
                single = short[i] ** power / learnt[i]
                if single < least:
                    first, second, part, least = i, i, 1.0, single
    for k in range(size):
        out[k] = 0.0
    _share(short, learnt, first, part, out)
    if part < 1.0:
        _share(short, learnt, second, 1.0 - part, out)


@compiled
def _share(short: Floats, learnt: Floats, arm: int, part: float, out: Floats) -> None:
    """Give equal parts of a probability to all arms that equal one, but for rounding."""
    equal = 0
    for step in range(2):
        for k in range(short.size):
            near = abs(short[k] - short[arm]) <= _EQUAL * short[arm]
            if near and abs(learnt[k] - learnt[arm]) <= _EQUAL * learnt[arm]:
                if step == 0:
                    equal += 1
                else:
                    out[k] += part / equal


@compiled
def find_live(laws: Laws, live: Integers) -> tuple[float, int, float, int]:
    """Write the places of candidates that can be best and vary; return the largest point, its ties, the cut, the count.

    Below the cut no candidate is best, as some other always has a larger mean.
    """
    point, ties = largest_point(laws)
    cut = point
    size = laws.start.size
    for k in range(size):
        if laws.start[k] < laws.stop[k]:
            cut = max(cut, laws.left[k])
    count = 0
    for k in range(size):
        if laws.start[k] < laws.stop[k] and laws.right[k] > cut:
            live[count] = k
            count += 1
    return point, ties, cut, count


@compiled
def place_nodes(ends: Floats, panels: int, cut: float, nodes: Floats) -> None:
    """Write where the nodes are, relative to the cut."""
    for p in range(panels):
        half = 0.5 * (ends[p + 1] - ends[p])
        for i in range(NODES):
            nodes[p * NODES + i] = ends[p] - cut + half * (1.0 + _PLACES[i])


@compiled
def ids_values(laws: Laws, best: Floats, short: Floats, learnt: Floats) -> int:
    """Write P(best), expected shortfall and variance of each candidate; return the number of nodes."""
    size = best.size
    places = np.empty(size, np.int64)
    point, ties, cut, count = find_live(laws, places)
    live = places[:count]
    both = np.empty((2, room_for(size)))
    panels = place_panels(laws, live, cut, point == cut, both) if count > 0 else 0
    ends = both[0]
    tables, at_cut, means = np.zeros((size, TABLES, panels * NODES)), np.zeros((size, 2)), np.empty(size)
    room, nodes = np.empty((2, ends.size)), np.empty(panels * NODES)
    place_nodes(ends, panels, cut, nodes)
    for k in range(size):
        own = panels if laws.right[k] > cut else 0
        means[k] = fill_candidate(laws, k, ends, own, cut, room, tables[k], at_cut[k])
    shortfalls(laws, live, tables, at_cut, means, nodes, panels * NODES, (point, ties, cut), best, short, learnt)
    return panels * NODES


@compiled
def ids_chances(plan: Plan, parameters: Floats, state: State, out: Floats) -> None:
    """Write each candidate's probability in the mix."""
    size = plan.arm.size
    best, short, learnt = np.empty(size), np.empty(size), np.empty(size)
    if parameters[0] == 0.0 and some_weak(plan, parameters, state):
        weak_values(weak_parts(plan, parameters, state), short, learnt)
    else:
        laws = laws_of(np.zeros((LAW_ROWS, size)))
        fill_laws(plan, parameters, state, laws)
        ids_values(laws, best, short, learnt)
    best_mix(short, learnt, parameters[3], out)


@compiled
def draw_from(chances: Floats, key: np.uint64, number: int) -> int:
    """Place drawn with these probabilities."""
    place = uniform(key, number)
    last = 0
    for k in range(chances.size):
        if chances[k] > 0.0:
            last = k
            place -= chances[k]
            if place < 0.0:
                return k
    return last


@compiled
def choose_ids(plan: Plan, parameters: Floats, state: State, number: int, key: np.uint64) -> int:
    """Play an arm of the mix."""
    chances = np.empty(plan.arm.size)
    ids_chances(plan, parameters, state, chances)
    return draw_from(chances, key, number)
