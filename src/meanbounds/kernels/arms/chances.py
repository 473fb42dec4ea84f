"""The chance that the next pull takes each arm.

An index policy plays the largest score, so its chances are those of ties. Thompson sampling plays the largest of
independent draws: arm k with chance ``integral of density_k * product of the other arms' distribution functions``.

That integral is taken panel by panel from left to right, with Gauss-Legendre nodes. Distribution functions come from
the same nodes: on a panel each density is a polynomial, whose integral up to each node is a matrix product. Densities
are relative to their peak, which is found in closed form, so bounds far in the tail of a posterior cost no precision.
"""

from __future__ import annotations

from math import exp
from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre

from meanbounds.kernels.arms.divergence import excess
from meanbounds.kernels.arms.tables import Plan, State, plan_of, state_of
from meanbounds.kernels.arms.thompson import HAT_SHAPE, in_raw_units, posterior_hat, shared_floor
from meanbounds.kernels.compiling import compiled
from meanbounds.support.types import Floats, Integers

__all__ = ["index_chances", "thompson_chances"]

_SIZE = 16  # nodes on a panel
_TOLERANCE = 3e-11  # estimated error that a panel may have
_MASS_TOLERANCE = 1e-12  # the same for a density's own integral, in units of its core
_MOST_PANELS = 10_000  # after these, panels are taken as they are; the estimated error says what that costs
_STACK = 400  # panels that wait to the right of the one at hand; a panel halved this often is one number wide
_DEPTH = 36.0  # a density has ended where it is exp(-36) of its peak
_NARROWEST = 1e-290  # width of a density below which it is a point: dividing by it might overflow
_WIDEST = 4.0  # width of a panel in units of where a density exceeds 1/e of its peak

_NODES, _WEIGHTS = legendre.leggauss(_SIZE)
_DEGREES = np.arange(_SIZE)
_BASIS = legendre.legvander(_NODES, _SIZE)  # row i: Legendre polynomials at node i
_TO_COEFFICIENTS = (_DEGREES[:, None] + 0.5) * _BASIS[:, :_SIZE].T * _WEIGHTS
_PREVIOUS = np.hstack([-np.ones((_SIZE, 1)), _BASIS[:, : _SIZE - 1]])
_INTEGRALS = (_BASIS[:, 1:] - _PREVIOUS) / (2 * _DEGREES + 1)  # of each polynomial from -1 to each node
_FROM_LEFT = np.ascontiguousarray((_INTEGRALS @ _TO_COEFFICIENTS).T)  # j, i: what node j adds up to node i
_LAST = np.ascontiguousarray(_TO_COEFFICIENTS[-2:])  # both last coefficients: how well 16 nodes resolve a function


class _Laws(NamedTuple):
    """What each candidate's draw is distributed as, in raw units; one entry per candidate."""

    start: Floats  # the draw lies between these; a point where they are equal
    stop: Floats
    mode: Floats
    left: Floats  # outside of these the density is negligible
    right: Floats
    core: Floats  # width of where the density exceeds 1/e of its peak
    rise: Floats  # exponents: the density is (x - bottom)^rise (top - x)^fall
    fall: Floats
    below: Floats  # mode - bottom
    above: Floats  # top - mode
    mass: Floats  # integral of the density, whose peak is 1
    done: Floats  # the same up to the left end of the panel at hand


class _Panel(NamedTuple):
    """Room for one panel: a row per live candidate, a column per node; and per candidate what the panel adds."""

    density: Floats
    share: Floats  # distribution function
    before: Floats  # product of the distribution functions of the candidates in the rows before
    mass: Floats
    gain: Floats


@compiled
def index_chances(scores: Floats, out: Floats) -> None:
    """Write each candidate's chance of being picked by `argmax`: the largest scores share it equally."""
    best = scores[0]
    for k in range(1, scores.size):
        if scores[k] > best:
            best = scores[k]
    ties = 0
    for k in range(scores.size):
        ties += scores[k] == best
    for k in range(scores.size):
        out[k] = 1.0 / ties if scores[k] == best else 0.0


@compiled
def _log_density(laws: _Laws, k: int, step: float) -> float:
    """Log of the density at ``mode + step``, relative to its peak.

    The terms that are linear in the step are taken together: at a mode between the bounds they cancel, and each alone
    would lose digits.
    """
    value = 0.0
    slope = 0.0
    if laws.rise[k] > 0.0:
        ratio = step / laws.below[k]
        if ratio <= -1.0:
            return -np.inf
        value -= laws.rise[k] * excess(ratio, 1.0 + ratio)
        slope += laws.rise[k] / laws.below[k]
    if laws.fall[k] > 0.0:
        ratio = -step / laws.above[k]
        if ratio <= -1.0:
            return -np.inf
        value -= laws.fall[k] * excess(ratio, 1.0 + ratio)
        slope -= laws.fall[k] / laws.above[k]
    if laws.start[k] < laws.mode[k] < laws.stop[k]:
        return value
    return value + slope * step


@compiled
def _reach(laws: _Laws, k: int, end: float, depth: float) -> float:
    """Where between mode and `end` the log density has fallen by `depth`, or up to a tenth further; `end` if nowhere.

    The density falls all the way from its mode, so halving finds it.
    """
    far = end - laws.mode[k]
    if _log_density(laws, k, far) >= -depth:
        return end
    near = 0.0
    while abs(far - near) > 0.1 * abs(far):
        middle = 0.5 * (near + far)
        if _log_density(laws, k, middle) >= -depth:
            near = middle
        else:
            far = middle
    return float(laws.mode[k] + far)


@compiled
def _fill_laws(plan: Plan, parameters: Floats, state: State, laws: _Laws) -> None:
    hat = np.empty(HAT_SHAPE)
    shared = shared_floor(plan, parameters, state)
    for k in range(plan.arm.size):
        floor = posterior_hat(hat, plan, parameters, state, k, shared)
        width = plan.span[k] * floor[1]
        ends, bounds = (plan.low[k], plan.span[k], plan.high[k]), (plan.lower[k], plan.cap[k])
        mode, rise, fall = hat[3, 2], hat[3, 3], hat[3, 4]
        laws.start[k] = in_raw_units(hat[3, 0], floor, ends, bounds)
        laws.stop[k] = in_raw_units(hat[3, 1], floor, ends, bounds)
        laws.mode[k] = min(laws.stop[k], max(laws.start[k], in_raw_units(mode, floor, ends, bounds)))
        laws.rise[k], laws.fall[k] = rise, fall
        laws.below[k], laws.above[k] = width * mode, width * (1.0 - mode)
        if laws.start[k] < laws.mode[k] < laws.stop[k]:
            laws.below[k], laws.above[k] = width * rise / (rise + fall), width * fall / (rise + fall)
        # Where floats are coarse beside the range, rounding must not put an end of the interval where the density is 0.
        laws.below[k] = max(laws.below[k], laws.mode[k] - laws.start[k])
        laws.above[k] = max(laws.above[k], laws.stop[k] - laws.mode[k])
        if laws.start[k] < laws.stop[k]:
            laws.left[k] = _reach(laws, k, laws.start[k], _DEPTH)
            laws.right[k] = _reach(laws, k, laws.stop[k], _DEPTH)
            laws.core[k] = _reach(laws, k, laws.stop[k], 1.0) - _reach(laws, k, laws.start[k], 1.0)
            if not laws.core[k] > 0.0:  # a peak too narrow for floats, which draws are rounded to
                laws.start[k] = laws.stop[k] = laws.mode[k]
            elif laws.core[k] < _NARROWEST:
                laws.start[k] = laws.stop[k] = laws.start[k] + 0.5 * (laws.stop[k] - laws.start[k])


@compiled
def _unresolved(values: Floats, half: float) -> float:
    """How much of a function's integral its nodes may miss: the size of its last two Legendre coefficients."""
    odd = even = 0.0
    for i in range(_SIZE):
        even += _LAST[0, i] * values[i]
        odd += _LAST[1, i] * values[i]
    return half * (abs(even) + abs(odd))


@compiled
def _sum(values: Floats, half: float) -> float:
    """Integral of a function from its values at the nodes of a panel."""
    value = 0.0
    for i in range(_SIZE):
        value += _WEIGHTS[i] * values[i]
    return half * value


@compiled
def _densities(laws: _Laws, k: int, start: float, half: float, out: Floats) -> None:
    """Density at the nodes. Nodes are measured from the mode, so that rounding is relative to a panel's own size."""
    offset = start - laws.mode[k]
    for i in range(_SIZE):
        out[i] = exp(_log_density(laws, k, offset + half * (1.0 + _NODES[i])))


@compiled
def _mass(laws: _Laws, k: int, start: float, stop: float) -> float:
    """Integral of one density from `start` to `stop`, by halving panels until each is resolved."""
    values = np.empty(_SIZE)
    ends = np.empty(_STACK)
    total, here, top, panels = 0.0, start, 0, 0
    ends[0] = stop
    while top >= 0:
        end = ends[top]
        half = 0.5 * (end - here)
        middle = here + half
        may_split = here < middle < end and top + 1 < _STACK and panels < _MOST_PANELS
        fine = end - here <= _WIDEST * laws.core[k]
        if fine or not may_split:
            _densities(laws, k, here, half, values)
            panels += 1
            fine = _unresolved(values, half) <= _MASS_TOLERANCE * laws.core[k]
        if fine or not may_split:
            total += _sum(values, half)
            here, top = end, top - 1
        else:
            top += 1
            ends[top] = middle
    return total


@compiled
def _too_wide(laws: _Laws, live: Integers, start: float, stop: float) -> float:
    """Where to split a panel in which some peak might be overlooked; its start if there is none."""
    for n in range(live.size):
        k = live[n]
        if start < laws.right[k] and stop - start > _WIDEST * laws.core[k]:
            if laws.right[k] < stop:
                return float(laws.right[k])
            return start + 0.5 * (stop - start)
    return start


@compiled
def _measure(laws: _Laws, live: Integers, panel: _Panel, start: float, stop: float) -> float:
    """Fill a panel's masses and gains; return its estimated error.

    Candidates that end before the panel are left out: their distribution function is 1. The gains of all candidates
    together are what the product of the distribution functions grows by, which checks them once more.
    """
    half = 0.5 * (stop - start)
    error, rows = 0.0, 0
    product_at_start, product_at_stop = 1.0, 1.0
    product = np.ones(_SIZE)
    for n in range(live.size):
        k = live[n]
        panel.mass[k] = panel.gain[k] = 0.0
        if laws.right[k] <= start:
            continue
        density, share = panel.density[rows], panel.share[rows]
        _densities(laws, k, start, half, density)
        panel.mass[k] = _sum(density, half)
        for i in range(_SIZE):
            share[i] = laws.done[k]
        for j in range(_SIZE):
            for i in range(_SIZE):
                share[i] += half * density[j] * _FROM_LEFT[j, i]
        for i in range(_SIZE):
            density[i] /= laws.mass[k]
            share[i] = max(0.0, share[i] / laws.mass[k])
            panel.before[rows, i] = product[i]
            product[i] *= share[i]
        error += _unresolved(density, half)
        product_at_start *= laws.done[k] / laws.mass[k]
        product_at_stop *= (laws.done[k] + panel.mass[k]) / laws.mass[k]
        rows += 1
    product = np.ones(_SIZE)
    gains = 0.0
    for n in range(live.size - 1, -1, -1):
        k = live[n]
        if laws.right[k] <= start:
            continue
        rows -= 1
        values = panel.density[rows]
        for i in range(_SIZE):
            values[i] *= panel.before[rows, i] * product[i]
            product[i] *= panel.share[rows, i]
        panel.gain[k] = _sum(values, half)
        gains += panel.gain[k]
        error += _unresolved(values, half)
    return error + abs(gains - (product_at_stop - product_at_start))


@compiled
def _next_edge(laws: _Laws, live: Integers, here: float) -> float:
    """The first place above `here` where a density stops at a bound; else where the last one ends, at most `here`."""
    last, edge = -np.inf, np.inf
    for n in range(live.size):
        k = live[n]
        last = max(last, laws.right[k])
        if laws.right[k] == laws.stop[k] and laws.right[k] > here:
            edge = min(edge, laws.right[k])
    return min(edge, last) if last > here else here


@compiled
def _integrate(laws: _Laws, live: Integers, cut: float, out: Floats) -> float:
    """Add to each live candidate its chance of the largest draw, if that lies above the cut; return the error."""
    rows, size = live.size, out.size
    panel = _Panel(
        np.empty((rows, _SIZE)), np.empty((rows, _SIZE)), np.empty((rows, _SIZE)), np.empty(size), np.empty(size)
    )
    ends = np.empty(_STACK)
    ends[0] = _next_edge(laws, live, cut)
    here, top, error, panels = cut, 0, 0.0, 0
    while top >= 0:
        end = ends[top]
        may_split = top + 1 < _STACK and panels < _MOST_PANELS
        split = _too_wide(laws, live, here, end)
        if not (may_split and here < split < end):
            doubt = _measure(laws, live, panel, here, end)
            panels += 1
            split = here + 0.5 * (end - here)
            if doubt <= _TOLERANCE or not (may_split and here < split < end):
                for n in range(rows):
                    k = live[n]
                    laws.done[k] += panel.mass[k]
                    out[k] += panel.gain[k]
                error += doubt
                here, top = end, top - 1
                if top < 0:
                    ends[0] = _next_edge(laws, live, here)
                    top = 0 if ends[0] > here else -1
                continue
        top += 1
        ends[top] = split
    return error


@compiled
def _largest_point(laws: _Laws) -> tuple[float, int]:
    """The largest value of a candidate that has only one, and how many candidates have that value."""
    point, ties = -np.inf, 0
    for k in range(laws.start.size):
        if laws.start[k] >= laws.stop[k] and laws.start[k] >= point:
            ties = ties + 1 if laws.start[k] == point else 1
            point = laws.start[k]
    return point, ties


@compiled
def _fill_masses(laws: _Laws, cut: float, live: Integers) -> int:
    """Write the places of candidates that can exceed the cut, and their masses; return how many they are."""
    size = 0
    for k in range(live.size):
        if laws.start[k] < laws.stop[k] and laws.right[k] > cut:
            laws.done[k] = _mass(laws, k, laws.left[k], cut)
            laws.mass[k] = laws.done[k] + _mass(laws, k, cut, laws.right[k])
            live[size] = k
            size += 1
    return size


@compiled
def thompson_chances(plan_table: Floats, parameters: Floats, state_table: Floats, out: Floats) -> float:
    """Write each candidate's chance of being played by `choose_thompson`; return the estimated error of any of them.

    Draws count as real numbers: that two of them may be rounded to the same float is neglected. Candidates whose bounds
    leave one value are exact: where that value is the largest, those that have it share the chance equally.
    """
    size = plan_table.shape[1]
    rows = np.zeros((12, size))
    laws = _Laws(
        rows[0], rows[1], rows[2], rows[3], rows[4], rows[5], rows[6], rows[7], rows[8], rows[9], rows[10], rows[11]
    )
    _fill_laws(plan_of(plan_table), parameters, state_of(state_table), laws)
    point, ties = _largest_point(laws)
    cut = point  # below this no draw is the largest, as some candidate always draws more
    for k in range(size):
        if laws.start[k] < laws.stop[k]:
            cut = max(cut, laws.left[k])
    places = np.empty(size, np.int64)
    live = places[: _fill_masses(laws, cut, places)]
    all_below = 1.0 if point == cut else 0.0
    for n in range(live.size):
        all_below *= laws.done[live[n]] / laws.mass[live[n]]
    for k in range(size):
        out[k] = all_below / ties if laws.start[k] >= laws.stop[k] and laws.start[k] == point else 0.0
    error = _integrate(laws, live, cut, out) if live.size > 0 else 0.0
    total = 0.0
    for k in range(size):
        total += out[k]
    for k in range(size):
        out[k] /= total
    return error + abs(total - 1.0)
