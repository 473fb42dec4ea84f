"""The chance that the next pull takes each arm.

An index policy plays the largest score, so its chances are those of ties. Thompson sampling plays the largest of
independent draws: arm k with chance ``integral of density_k * product of the other arms' distribution functions``.

That integral is taken panel by panel from left to right, with Gauss-Legendre nodes. Distribution functions come from
the same nodes: on a panel each density is a polynomial, whose integral up to each node is a matrix product.
"""

from __future__ import annotations

from math import exp
from typing import NamedTuple

import numpy as np

from meanbounds.kernels.arms.laws import LAW_ROWS, Laws, fill_laws, largest_point, laws_of, log_density
from meanbounds.kernels.arms.nodes import gauss_legendre
from meanbounds.kernels.arms.tables import plan_of, state_of
from meanbounds.kernels.arms.thompson import some_weak
from meanbounds.kernels.arms.weak_chances import weak_best, weak_parts
from meanbounds.kernels.compiling import compiled
from meanbounds.support.types import Floats, Integers

__all__ = ["index_chances", "thompson_chances"]

_SIZE = 16  # nodes on a panel
_TOLERANCE = 3e-11  # estimated error that a panel may have
_MASS_TOLERANCE = 1e-12  # the same for a density's own integral, in units of its core
_MOST_PANELS = 10_000  # after these, panels are taken as they are; the estimated error says what that costs
_STACK = 400  # panels that wait to the right of the one at hand; a panel halved this often is one number wide
_WIDEST = 4.0  # width of a panel in units of where a density exceeds 1/e of its peak

_NODES, _WEIGHTS, _FROM_LEFT, _LAST = gauss_legendre(_SIZE)


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
def _densities(laws: Laws, k: int, start: float, half: float, out: Floats) -> None:
    """Density at the nodes. Nodes are measured from the mode, so that rounding is relative to a panel's own size."""
    offset = start - laws.mode[k]
    for i in range(_SIZE):
        out[i] = exp(log_density(laws, k, offset + half * (1.0 + _NODES[i])))


@compiled
def _mass(laws: Laws, k: int, start: float, stop: float) -> float:
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
def _too_wide(laws: Laws, live: Integers, start: float, stop: float) -> float:
    """Where to split a panel in which some peak might be overlooked; its start if there is none."""
    for n in range(live.size):
        k = live[n]
        if start < laws.right[k] and stop - start > _WIDEST * laws.core[k]:
            if laws.right[k] < stop:
                return float(laws.right[k])
            return start + 0.5 * (stop - start)
    return start


@compiled
def _measure(laws: Laws, live: Integers, panel: _Panel, start: float, stop: float) -> float:
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
def _next_edge(laws: Laws, live: Integers, here: float) -> float:
    """The first place above `here` where a density stops at a bound; else where the last one ends, at most `here`."""
    last, edge = -np.inf, np.inf
    for n in range(live.size):
        k = live[n]
        last = max(last, laws.right[k])
        if laws.right[k] == laws.stop[k] and laws.right[k] > here:
            edge = min(edge, laws.right[k])
    return min(edge, last) if last > here else here


@compiled
def _integrate(laws: Laws, live: Integers, cut: float, out: Floats) -> float:
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
def _fill_masses(laws: Laws, cut: float, live: Integers) -> int:
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
    if parameters[0] == 0.0 and some_weak(plan_of(plan_table), parameters, state_of(state_table)):
        return weak_best(weak_parts(plan_of(plan_table), parameters, state_of(state_table)), out)
    laws = laws_of(np.zeros((LAW_ROWS, size)))
    fill_laws(plan_of(plan_table), parameters, state_of(state_table), laws)
    point, ties = largest_point(laws)
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
