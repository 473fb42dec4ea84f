"""Information-directed sampling with mean bounds: play the mix of two arms that loses least for what it teaches.

Every candidate's mean has a law (`meanbounds.kernels.arms.laws`). With h_a(x) the density of "a is best, and its mean
is x", and r_k(x) = E[mean_k] - E[mean_k given that it is at most x], which is never negative,

    P(a) = integral of h_a,   P(a) (E[mean_k] - E[mean_k given a best]) = R_ka = integral of h_a r_k   (k other than a),

and shortfalls D and variances v are sums of these, in which nothing cancels; see docs/ids.md. All integrals share one
set of nodes: panels, halved until no law varies much on any of them. Halves of halves stay where they are when a law
moves a little, so that `meanbounds.kernels.fast.ids` can keep what was computed for arms that were not played.
"""

from __future__ import annotations

from math import floor

import numpy as np

from meanbounds.kernels.arms.elementary import fill_exponentials, fill_logarithms
from meanbounds.kernels.arms.laws import (
    LAW_ROWS,
    Laws,
    Shape,
    fill_laws,
    largest_point,
    laws_of,
    log_density_of,
    shape_of,
)
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
_FEW = 3e6  # below so many plays a plain logarithm has digits enough: its rounding costs them times 1e-16
_FEW_ARMS = 8  # up to so many, integrals for a pair of arms are sums over nodes; for more, loops over arms pay
_RARE = 1e-12  # an arm that is best with less than this probability counts as never best
_EQUAL = 1e-9  # arms whose shortfalls and variances differ by less, relatively, share their probability

_PLACES, _WEIGHTS, _FROM_LEFT, _ = gauss_legendre(NODES)


@compiled
def _limit(shape: Shape, spots: tuple[float, float, float], core: float, limits: Floats, n: int) -> bool:
    """Write what the panels of a law must respect: its ends, its widest panel, where to shrink to, and how far.

    `spots` are where the law begins, peaks and ends. A broken exponent makes all but smooth what happens at the end of
    the range; returns whether there is one.
    """
    left, mode, right = spots
    at_bottom = shape.rise < _SINGULAR and shape.rise != floor(shape.rise)
    at_top = shape.fall < _SINGULAR and shape.fall != floor(shape.fall)
    limits[0, n], limits[1, n] = left, right
    limits[2, n] = (_WIDEST if shape.inside else _WIDEST_SLOPE) * core
    limits[3, n] = mode - shape.below if at_bottom else -np.inf
    limits[4, n] = mode + shape.above if at_top else np.inf
    limits[5, n] = _SMALLEST * core
    return bool(at_bottom or at_top)


@compiled
def _too_wide(limits: Floats, broken: bool, start: float, stop: float) -> bool:
    """Whether some law varies too much on a panel for its nodes; `broken` if some exponent is."""
    width = stop - start
    left, right, widest = limits[0], limits[1], limits[2]
    found = 0
    for n in range(widest.size):  # no branch in it: several laws at once
        found += (start < right[n]) & (stop > left[n]) & (width > widest[n])
    if found > 0:
        return True
    for n in range(widest.size if broken else 0):
        if start < right[n] and stop > left[n]:
            shrinks = width > 2.0 * (start - limits[3, n]) or width > 2.0 * (limits[4, n] - stop)
            if shrinks and width > limits[5, n]:
                return True
    return False


@compiled
def _halve(
    limits: Floats, narrow: float, edges: tuple[float, float], cut: float, ends: Floats, waiting: Floats, size: int
) -> int:
    """Add the panels between two edges that reach above the cut to the first `size` ends; return how many there are.

    Panels that are as narrow as `narrow` suit every law; 0 says that some exponent is broken. `waiting` is scratch
    space.
    """
    here, top = edges[0], 0
    waiting[0] = edges[1]
    while top >= 0:
        end = waiting[top]
        middle = here + 0.5 * (end - here)
        may = here < middle < end and end > cut and size + top + 3 < ends.size
        if may and end - here > narrow and _too_wide(limits, narrow == 0.0, here, end):
            top += 1
            waiting[top] = middle
            continue
        if end > cut:
            if size == 0:
                ends[0] = here
                size = 1
            ends[size] = end
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
    limits, edges = np.empty((6, count)), np.empty(2 * count + 3)
    narrow = np.inf
    start, stop, left, right = laws.start, laws.stop, laws.left, laws.right  # taking one from laws in a loop costs time
    least, most, last = np.inf, -np.inf, -np.inf
    size = _insert(edges, 0, cut) if sharp else 0
    for n in range(count):
        k = live[n]
        spots = left[k], laws.mode[k], right[k]
        broken = _limit(shape_of(laws, k), spots, laws.core[k], limits, n)
        narrow = 0.0 if broken else min(narrow, limits[2, n])
        least, most, last = min(least, start[k]), max(most, stop[k]), max(last, right[k])
        if left[k] == start[k]:  # below the cut as well: the first panel may start further to the left
            size = _insert(edges, size, start[k])
        if right[k] == stop[k] and stop[k] > cut:
            size = _insert(edges, size, stop[k])
    size = _insert(edges, size, most)
    if not sharp:
        size = _insert(edges, size, least)
    count_ends = 0
    for n in range(size - 1):
        if edges[n + 1] > cut and edges[n] < last:
            between = (edges[n], edges[n + 1])
            count_ends = _halve(limits, narrow, between, cut, ends[0], ends[1], count_ends)
    while count_ends > 2 and ends[0, count_ends - 2] >= last:
        count_ends -= 1
    return max(0, count_ends - 1)


@compiled
def room_for(size: int) -> int:
    """How many ends of panels there may be with so many candidates; beyond, panels are taken as they are."""
    return 200 + 60 * size


@compiled
def _density_at(shape: Shape, steps: Floats, out: Floats, room: Floats) -> None:
    """Write a law's density, relative to its peak, at these steps from its mode; `room` is scratch space, two rows."""
    rise, fall, below, above, _ = shape
    if rise + fall < _FEW:
        up = room[0]
        below = below if rise > 0.0 else np.inf  # 0 at the end of the range
        above = above if fall > 0.0 else np.inf
        per_below, per_above = 1.0 / below, 1.0 / above
        for i in range(steps.size):
            up[i] = 1.0 + steps[i] * per_below
            out[i] = 1.0 - steps[i] * per_above
        fill_logarithms(up, room[1])
        fill_logarithms(out, room[1])
        for i in range(steps.size):
            out[i] = rise * up[i] + fall * out[i]
    else:
        for i in range(steps.size):
            out[i] = log_density_of(shape, steps[i])
    fill_exponentials(out, room[1])


@compiled
def _measure(
    shape: Shape, spots: tuple[float, float, float], ends: Floats, panels: int, sums: Floats, room: Floats
) -> None:
    """Write mass and first moment about the mode on each panel into the first of three rows of `sums`.

    `spots` are where the law begins, peaks and ends. `room` is scratch space, four tables with a row for each node and
    a column for each panel: loops run over panels, several at once. The first two then have the density, times half of
    the panel's width, and that times the distance from the mode.
    """
    left, mode, right = spots
    values, steps, halves = room[0], room[1], sums[2]
    for i in range(NODES):
        reach = 0.5 * (1.0 + _PLACES[i])
        for p in range(panels):
            steps[i, p] = (ends[p] - mode) + (ends[p + 1] - ends[p]) * reach
    flat = room.reshape((4, NODES * panels))
    _density_at(shape, flat[1], flat[0], flat[2:])
    masses, moments = sums[0], sums[1]
    for p in range(panels):
        masses[p] = moments[p] = 0.0
        half = 0.5 * (ends[p + 1] - ends[p])
        halves[p] = half if (ends[p] < right) & (ends[p + 1] > left) else 0.0  # the law has ended
    for i in range(NODES):
        weight = _WEIGHTS[i]
        for p in range(panels):
            density = halves[p] * values[i, p]
            moment = density * steps[i, p]
            values[i, p], steps[i, p] = density, moment
            masses[p] += weight * density
            moments[p] += weight * moment


@compiled
def _up_to(values: Floats, i: int, out: Floats) -> None:
    """Integrals from the left end of each panel up to its node i, of what has these values at all nodes."""
    w0, w1, w2, w3 = _FROM_LEFT[0, i], _FROM_LEFT[1, i], _FROM_LEFT[2, i], _FROM_LEFT[3, i]
    w4, w5, w6, w7 = _FROM_LEFT[4, i], _FROM_LEFT[5, i], _FROM_LEFT[6, i], _FROM_LEFT[7, i]
    for p in range(values.shape[1]):
        low = (w0 * values[0, p] + w1 * values[1, p]) + (w2 * values[2, p] + w3 * values[3, p])
        out[p] = low + ((w4 * values[4, p] + w5 * values[5, p]) + (w6 * values[6, p] + w7 * values[7, p]))


@compiled
def _own_panels(
    shape: Shape, spots: tuple[float, float, float], core: float, first: float, ends: Floats, panels: int
) -> tuple[Floats, int, int]:
    """Ends of the panels of one law: its own up to `first`, then those of all that begin before it ends.

    Returns how many its own are, and all of them.
    """
    left, _, right = spots
    room = np.empty((2, room_for(1) + panels))
    under = 0
    if left < min(first, right):
        limits = np.empty((6, 1))
        broken = _limit(shape, spots, core, limits, 0)
        narrow, between = 0.0 if broken else limits[2, 0], (left, min(first, right))
        under = _halve(limits, narrow, between, -np.inf, room[0, : room_for(1)], room[1], 0) - 1
    elif panels > 0:
        room[0, 0] = first
    total = under
    while total - under < panels and ends[total - under] < right:
        total += 1
        room[0, total] = ends[total - under]
    return room[0], under, total


@compiled
def fill_candidate(laws: Laws, k: int, ends: Floats, panels: int, cut: float, table: Floats, at_cut: Floats) -> float:
    """Fill a candidate's table over all nodes, and distribution function and r at the first one's left end.

    Returns its mean. `table` has a row for each of `TABLES`, whose first places are filled. Left of the mode everything
    is summed from the left, right of it from the right, so that no small number is a difference of large ones.
    """
    mode = laws.mode[k]
    if laws.start[k] >= laws.stop[k]:
        at_cut[0], at_cut[1] = 1.0, 0.0
        return float(laws.start[k])
    first = ends[0] if panels > 0 else cut
    shape, spots = shape_of(laws, k), (laws.left[k], mode, laws.right[k])
    own_ends, under, total = _own_panels(shape, spots, laws.core[k], first, ends, panels)
    room, sums = np.empty((4, NODES, total)), np.empty((3, total))
    _measure(shape, spots, own_ends, total, sums, room)
    (below, below_moment), (mass, moment) = _add_up(mode, own_ends, under, sums)
    shift = moment / mass  # mean - mode
    at_cut[0] = below / mass
    at_cut[1] = max(0.0, (shift * below - below_moment) / below) if below > 0.0 else max(0.0, mode + shift - first)
    starts, moments, sides = sums[0][under:], sums[1][under:], sums[2][under:]
    values, lifts, own, own_lift = room[0], room[1], room[2, 0], room[3, 0]
    own_share, own_moment = own[under:], own_lift[under:]
    size, by_node = NODES * panels, (NODES, panels)
    densities, shares = table[0][:size].reshape(by_node), table[1][:size].reshape(by_node)
    losses, per_mass, count = table[2][:size].reshape(by_node), 1.0 / mass, total - under
    for i in range(NODES):
        weight, value = _WEIGHTS[i] * per_mass, values[i][under:]
        _up_to(values, i, own)
        _up_to(lifts, i, own_lift)
        for p in range(count):
            side = sides[p]
            part = max(0.0, starts[p] + side * own_share[p])
            pulled = side * (shift * part - (moments[p] + side * own_moment[p])) * per_mass
            share = max(0.0, (0.0 if side > 0.0 else 1.0) + side * (part * per_mass))
            densities[i, p] = value[p] * weight
            shares[i, p] = share
            losses[i, p] = max(0.0, pulled / share if share > 0.0 else 0.0)
        for p in range(count, panels):
            densities[i, p], shares[i, p], losses[i, p] = 0.0, 1.0, 0.0
    return float(mode + shift)


@compiled
def _add_up(mode: float, ends: Floats, under: int, sums: Floats) -> tuple[tuple[float, float], tuple[float, float]]:
    """Replace mass and moment of each panel by those that integrals up to its nodes are added to, or taken from.

    Left of the mode that is what lies before the panel, and the third row of `sums` says 1. Right of it that is what
    lies after the panel's left end, and the row says -1. Returns mass and moment of the first panels, and of all.
    """
    mass = moment = 0.0
    panels = sums.shape[1]
    split, below = panels, (0.0, 0.0)
    for p in range(panels):
        if p == under:
            below = (mass, moment)
        if split == panels and 0.5 * (ends[p] + ends[p + 1]) > mode:
            split = p
        own = sums[0, p], sums[1, p]
        if split == panels:
            sums[0, p], sums[1, p], sums[2, p] = mass, moment, 1.0
        mass, moment = mass + own[0], moment + own[1]
    if under == panels:
        below = (mass, moment)
    after = after_moment = 0.0
    for p in range(panels - 1, split - 1, -1):
        after, after_moment = after + sums[0, p], after_moment + sums[1, p]
        sums[0, p], sums[1, p], sums[2, p] = after, after_moment, -1.0
    return below, (mass, moment)


@compiled
def _sums(row: Floats, nodes: Floats, room: Floats) -> tuple[float, float]:
    """Sum of a row, and of its products with `nodes`; `room` is scratch space.

    A sum that has to be added up in order takes one number after another. So a loop adds quarters of the row, several
    nodes at once, and leaves a quarter of the numbers to be added up.
    """
    quarter = row.size // 4
    sums, products = room[:quarter], room[quarter:]
    a, b, c, d = row[:quarter], row[quarter:], row[2 * quarter :], row[3 * quarter :]
    e, f, g, h = nodes[:quarter], nodes[quarter:], nodes[2 * quarter :], nodes[3 * quarter :]
    for i in range(quarter):
        sums[i] = (a[i] + b[i]) + (c[i] + d[i])
        products[i] = (a[i] * e[i] + b[i] * f[i]) + (c[i] * g[i] + d[i] * h[i])
    first = second = third = fourth = 0.0
    for i in range(0, quarter, 2):
        first += sums[i]
        second += sums[i + 1]
        third += products[i]
        fourth += products[i + 1]
    return first + second, third + fourth


@compiled
def _pulls(joint: Floats, tables: Floats, live: Integers, chances: Floats, room: Floats, out: Floats) -> None:
    """Write the integrals of each h_a, rows of `joint`, with every live r_k; quarter by quarter, as in `_sums`.

    Rows of arms that are never best stay as they are; `room` is scratch space.
    """
    if live.size > _FEW_ARMS:
        _many_pulls(joint, tables, live, chances, out)
        return
    quarter = joint.shape[1] // 4
    for n in range(live.size):
        if chances[n] < _RARE:
            continue
        row = joint[n]
        for m in range(live.size):
            other = tables[live[m], 2]
            a, b, c, d = row[:quarter], row[quarter:], row[2 * quarter :], row[3 * quarter :]
            e, f, g, h = other[:quarter], other[quarter:], other[2 * quarter :], other[3 * quarter :]
            for i in range(quarter):
                room[i] = (a[i] * e[i] + b[i] * f[i]) + (c[i] * g[i] + d[i] * h[i])
            first = second = 0.0
            for i in range(0, quarter, 2):
                first += room[i]
                second += room[i + 1]
            out[n, m] = first + second


@compiled
def _many_pulls(joint: Floats, tables: Floats, live: Integers, chances: Floats, out: Floats) -> None:
    """The same for many candidates: the inner loop runs over them, so r is given a row for each node first."""
    size, width = joint.shape[1], out.shape[1]
    across = np.zeros((size, width))
    for i in range(size):
        row = across[i]
        for m in range(live.size):
            row[m] = tables[live[m], 2, i]
    for i in range(0, size, 4):
        a, b, c, d = across[i], across[i + 1], across[i + 2], across[i + 3]
        for n in range(live.size):
            if chances[n] < _RARE:
                continue
            u, v, w, x = joint[n, i], joint[n, i + 1], joint[n, i + 2], joint[n, i + 3]
            own = out[n]
            for m in range(width):
                own[m] += (u * a[m] + v * b[m]) + (w * c[m] + x * d[m])


@compiled
def _joint(tables: Floats, live: Integers, product: Floats, out: Floats) -> None:
    """Write h_a at all nodes, a row for each live a: its density times the other distribution functions.

    `product` is scratch space.
    """
    count, size = out.shape
    for i in range(size):
        product[i] = 1.0
    for n in range(count):
        density, share, row = tables[live[n], 0], tables[live[n], 1], out[n]
        for i in range(size):
            row[i] = density[i] * product[i]
            product[i] *= share[i]
    for i in range(size):
        product[i] = 1.0
    for n in range(count - 1, -1, -1):
        share, row = tables[live[n], 1], out[n]
        for i in range(size):
            row[i] *= product[i]
            product[i] *= share[i]


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
    rows = np.empty((count + 1, size))
    joint, room = rows[:count], rows[count]
    _joint(tables, live, room, joint)
    all_below = 1.0 if point[0] == cut else 0.0
    for n in range(count):
        all_below *= at_cut[live[n], 0]
    whole = 0.0
    lifted = np.zeros(total)  # integral of (x - cut) h_a
    start, stop = laws.start, laws.stop
    for k in range(total):
        best[k] = all_below / point[1] if start[k] >= stop[k] and start[k] == point[0] == cut else 0.0
        whole += best[k]
    for n in range(count):
        k = live[n]
        best[k], lifted[k] = _sums(joint[n], nodes, room)
        whole += best[k]
    for k in range(total):
        best[k] /= whole
        lifted[k] /= whole
        short[k] = learnt[k] = 0.0
    width = count + (-count) % 4
    sums = np.zeros((count + 3, width))
    pulls, moved, varied, chances = sums[:count], sums[count], sums[count + 1], sums[count + 2]
    for n in range(count):
        chances[n] = best[live[n]]
    _pulls(joint, tables, live, chances, room, pulls)
    per_whole = 1.0 / whole
    for n in range(count):
        if chances[n] >= _RARE:
            own, per_chance = pulls[n], 1.0 / chances[n]
            own[n] = 0.0
            for m in range(width):  # sums over all other a: of R_ka, and of R_ka^2 / P(a)
                r = own[m] * per_whole
                moved[m] += r
                varied[m] += r * r * per_chance
    for n in range(count):
        k = live[n]
        short[k], learnt[k] = moved[n], varied[n]
        if all_below >= _RARE * whole:
            r = all_below / whole * at_cut[k, 1]
            short[k] += r
            learnt[k] += r * r * (whole / all_below)
    for k in range(total):
        if best[k] >= _RARE:  # two ways to write the same, each without cancelling digits on its own side
            raised = short[k] if best[k] > 0.5 else lifted[k] - best[k] * (means[k] - cut)
            learnt[k] += raised * raised / best[k]
    _add_losses(best, lifted, means, cut, short)


@compiled
def _add_losses(best: Floats, lifted: Floats, means: Floats, cut: float, short: Floats) -> None:
    """Add to each shortfall the integrals of (x - m_k) h_a over all other a, first those before it, then those after.

    No candidate's own part is added and taken away again: the leader's is far larger than what the others leave.
    """
    chance = height = 0.0
    for k in range(best.size):
        short[k] += height - chance * (means[k] - cut)
        if best[k] >= _RARE:
            chance, height = chance + best[k], height + lifted[k]
    chance = height = 0.0
    for k in range(best.size - 1, -1, -1):
        short[k] = max(0.0, short[k] + (height - chance * (means[k] - cut)))
        if best[k] >= _RARE:
            chance, height = chance + best[k], height + lifted[k]


@compiled
def best_mix(short: Floats, learnt: Floats, power: float, out: Floats) -> None:
    """Write the probabilities that make ``shortfall^power / variance`` of the mix least.

    Shortfall and variance of a mix lie in the polygon of those of the arms, and its best point is on an edge: two arms
    are enough. Mixes that are as good as one lie on a curve, and no mix is better if no arm lies above its tangent
    there. So the arm farthest above it is taken up in the pair until there is none; see docs/ids.md. Arms that are
    equal to one of the pair, but for rounding, share its probability.
    """
    size = short.size
    least, most = 0, 0
    for k in range(1, size):
        if short[k] < short[least]:
            least = k
        if learnt[k] > learnt[most]:
            most = k
    pair = (least, least, 1.0, np.inf)
    if short[least] > 0.0 and learnt[most] > 0.0:
        pair = _mix(short, learnt, most, least, power)
        better = True
        while better:
            first, second, part, ratio = pair
            loss = part * short[first] + (1.0 - part) * short[second]
            slope = power * (part * learnt[first] + (1.0 - part) * learnt[second]) / loss
            top = 0
            for k in range(1, size):
                if learnt[k] - slope * short[k] > learnt[top] - slope * short[top]:
                    top = k
            for other in (first, second):
                found = _mix(short, learnt, top, other, power)
                if found[3] < pair[3]:
                    pair = found
            better = pair[3] < ratio
    for k in range(size):
        out[k] = 0.0
    _share(short, learnt, pair[0], pair[2], out)
    if pair[2] < 1.0:
        _share(short, learnt, pair[1], 1.0 - pair[2], out)


@compiled
def _mix(short: Floats, learnt: Floats, i: int, j: int, power: float) -> tuple[int, int, float, float]:
    """The best mix of two arms: the one that teaches more, the other, the first one's probability, and the ratio."""
    if learnt[i] < learnt[j]:
        i, j = j, i
    gap, more = short[i] - short[j], learnt[i] - learnt[j]
    part = 1.0
    if gap > 0.0:
        if more > 0.0:
            part = (short[j] / gap - power * (learnt[j] / more)) / (power - 1.0)
            part = min(1.0, max(0.0, part))
        else:
            part = 0.0
    loss, gain = short[j] + part * gap, learnt[j] + part * more
    if part == 1.0:
        loss, gain = short[i], learnt[i]
    return i, j, part, loss**power / gain if gain > 0.0 else np.inf


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
    """Write where the nodes are, relative to the cut: the first of each panel, then the second of each."""
    for i in range(NODES):
        reach, at = 0.5 * (1.0 + _PLACES[i]), i * panels
        for p in range(panels):
            nodes[at + p] = (ends[p] - cut) + (ends[p + 1] - ends[p]) * reach


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
    nodes = np.empty(panels * NODES)
    place_nodes(ends, panels, cut, nodes)
    for k in range(size):
        own = panels if laws.right[k] > cut else 0
        means[k] = fill_candidate(laws, k, ends, own, cut, tables[k], at_cut[k])
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
