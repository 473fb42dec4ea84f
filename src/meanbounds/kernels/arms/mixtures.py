"""Integrals over posteriors of means whose bounds may be wrong: the chances of the largest draw, and the mix of IDS.

An arm's mean is a mixture of two laws, see `meanbounds.kernels.arms.doubted_laws`: without bounds, and within them. The
parts of all mixtures are laws like any other (`meanbounds.kernels.arms.laws`), on one set of nodes; the part of arm k
without bounds has the place k among them, the one within the place k after the last arm.
"""

from __future__ import annotations

import numpy as np

from meanbounds.kernels.arms.doubted_laws import prior_in, trust_under_hat, unit_bounds
from meanbounds.kernels.arms.ids import (
    NODES,
    TABLES,
    best_mix,
    fill_candidate,
    place_nodes,
    place_panels,
    room_for,
    shortfalls,
)
from meanbounds.kernels.arms.laws import LAW_ROWS, Laws, fill_law, laws_of
from meanbounds.kernels.arms.tables import State, plan_of, state_of
from meanbounds.kernels.arms.thompson import HAT_SHAPE, posterior_hat, shared_floor, some_weak
from meanbounds.kernels.arms.weak_chances import PART_SIZE, put_part, weak_best, weak_values
from meanbounds.kernels.compiling import compiled
from meanbounds.support.types import Floats, Integers

__all__ = [
    "both_plans",
    "doubted_ids_chances",
    "doubted_thompson_chances",
    "fill_mixed_table",
    "fill_parts",
    "find_live_parts",
    "is_live",
    "mixed_values",
]

_PLAN = 7  # rows of a plan without a log
_POINT = 1e-9  # width in units of the range that bounds which leave one value get where laws are integrated
_NEVER = 1e-15  # a part of a mixture with less weight is left out


@compiled
def both_plans(told: Floats, bare: Floats) -> Floats:
    """A plan of the parts of all mixtures: first without bounds, then within them."""
    size = told.shape[1]
    bounded, both = plan_of(told), np.empty((_PLAN, 2 * size))
    both[:, :size] = bare[:_PLAN]
    both[:, size:] = told[:_PLAN]
    for k in range(size):
        reach = _POINT * bounded.span[k]
        if bounded.cap[k] - bounded.lower[k] < reach:
            both[3, size + k] = max(bounded.low[k], bounded.lower[k] - reach)
            both[4, size + k] = min(bounded.high[k], bounded.cap[k] + reach)
    return both


@compiled
def fill_parts(
    told: Floats,
    both: Floats,
    log_n: float,
    parameters: Floats,
    state: State,
    k: int,
    shared: float,
    laws: Laws,
    weights: Floats,
) -> None:
    """Write the laws of an arm without bounds and within them, and the weight of each; `both` is from `both_plans`."""
    size, bounded, parts, hat = told.shape[1], plan_of(told), plan_of(both), np.empty(HAT_SHAPE)
    posterior_hat(hat, bounded, parameters, state, k, shared)
    prior, unit = prior_in(told, parameters, k), unit_bounds(told, k)
    weight = trust_under_hat(hat, prior, unit, state.plays[int(bounded.arm[k])], log_n)
    weights[k], weights[size + k] = 1.0 - weight, weight
    fill_law(parts, parameters, state, k, shared, laws)
    fill_law(parts, parameters, state, size + k, shared, laws)


@compiled
def find_live_parts(laws: Laws, weights: Floats, live: Integers) -> tuple[float, int]:
    """Write the parts of mixtures that reach above the cut, below which no draw is the largest; return it and a count.

    An arm draws at least what the lower of its two parts starts with.
    """
    cut, size, count = -np.inf, weights.size // 2, 0
    for k in range(size):
        least = np.inf
        for part in (k, size + k):
            if weights[part] > _NEVER:
                least = min(least, laws.left[part] if laws.start[part] < laws.stop[part] else laws.start[part])
        cut = max(cut, least)
    for part in range(2 * size):
        if is_live(laws, weights, part, cut):
            live[count] = part
            count += 1
    return cut, count


@compiled
def is_live(laws: Laws, weights: Floats, part: int, cut: float) -> bool:
    """Whether a part of a mixture reaches above the cut."""
    return bool(weights[part] > _NEVER and laws.start[part] < laws.stop[part] and laws.right[part] > cut)


@compiled
def fill_mixed_table(
    laws: Laws,
    weights: Floats,
    k: int,
    ends: Floats,
    panels: int,
    cut: float,
    room: Floats,
    own: Floats,
    table: Floats,
) -> float:
    """Write the table of `fill_candidate` for an arm's mixture and return its mean; `own` is scratch space like it."""
    size, nodes, at_cut, expected = weights.size // 2, panels * NODES, np.zeros(2), np.zeros(2)
    for n in range(2):
        part = k + n * size
        own[n] = 0.0
        if weights[part] > _NEVER:
            live = is_live(laws, weights, part, cut)
            expected[n] = fill_candidate(laws, part, ends, panels if live else 0, cut, room, own[n], at_cut)
            if not live:
                own[n, 1] = 1.0
    first, second = weights[k], weights[size + k]
    for i in range(nodes):
        below = first * own[0, 1, i], second * own[1, 1, i]
        share = below[0] + below[1]
        table[0, i] = first * own[0, 0, i] + second * own[1, 0, i]
        table[1, i] = share
        pulled = below[0] * own[0, 2, i] + below[1] * own[1, 2, i]
        pulled += first * second * (expected[1] - expected[0]) * (own[0, 1, i] - own[1, 1, i])
        table[2, i] = max(0.0, pulled / share) if share > 0.0 else 0.0
    return float(first * expected[0] + second * expected[1])


@compiled
def _largest(tables: Floats, out: Floats) -> float:
    """Write each arm's chance of the largest draw; return what their sum lacks to 1."""
    size, nodes = tables.shape[0], tables.shape[2]
    joint, product = np.empty((size, nodes)), np.ones(nodes)
    for k in range(size):
        joint[k] = tables[k, 0] * product
        product *= tables[k, 1]
    product[:] = 1.0
    total = 0.0
    for k in range(size - 1, -1, -1):
        out[k] = (joint[k] * product).sum()
        product *= tables[k, 1]
        total += out[k]
    for k in range(size):
        out[k] /= total
    return abs(total - 1.0)


@compiled
def _mixtures(
    told: Floats, bare: Floats, log_n: Floats, parameters: Floats, state: State, laws: Laws, sharp: bool
) -> tuple[float, Floats, Floats, Floats]:
    """Fill in the laws; return the cut, the mixtures' tables above it and means, and the ends of the panels.

    With `sharp`, the first panel starts at the cut.
    """
    size = log_n.size
    weights, places, plans = np.empty(2 * size), np.empty(2 * size, np.int64), both_plans(told, bare)
    shared = shared_floor(plan_of(bare), parameters, state)
    for k in range(size):
        fill_parts(told, plans, log_n[k], parameters, state, k, shared, laws, weights)
    cut, count = find_live_parts(laws, weights, places)
    both = np.empty((2, room_for(2 * size)))
    panels = place_panels(laws, places[:count], cut, sharp, both)
    tables, means, room = np.zeros((size, TABLES, panels * NODES)), np.empty(size), np.empty((2, both.shape[1]))
    own = np.zeros((2, TABLES, panels * NODES))
    for k in range(size):
        means[k] = fill_mixed_table(laws, weights, k, both[0], panels, cut, room, own, tables[k])
    return cut, tables, means, both[0, : panels + 1]


@compiled
def _weak_mixtures(told: Floats, bare: Floats, log_n: Floats, parameters: Floats, state: State) -> Floats:
    """Both parts of each arm's mixture, where some have a parameter below 1."""
    size, hat = log_n.size, np.empty(HAT_SHAPE)
    bounded, whole, parts = plan_of(told), plan_of(bare), np.empty((2 * log_n.size, PART_SIZE))
    shared = shared_floor(whole, parameters, state)
    for k in range(size):
        ends = whole.low[k], whole.span[k], whole.high[k]
        floor = posterior_hat(hat, bounded, parameters, state, k, shared)
        prior, unit = prior_in(told, parameters, k), unit_bounds(told, k)
        weight = trust_under_hat(hat, prior, unit, state.plays[int(whole.arm[k])], log_n[k])
        put_part(parts[k], k, weight, hat, floor, ends)
        floor = posterior_hat(hat, whole, parameters, state, k, shared)
        put_part(parts[size + k], k, 1.0 - weight, hat, floor, ends)
    return parts


@compiled
def doubted_thompson_chances(
    told: Floats, bare: Floats, log_n: Floats, parameters: Floats, state_table: Floats, out: Floats
) -> float:
    """Write each arm's chance of being played by `choose_doubted_draws`; return the estimated error."""
    if parameters[0] == 0.0 and some_weak(plan_of(bare), parameters, state_of(state_table)):
        return weak_best(_weak_mixtures(told, bare, log_n, parameters, state_of(state_table)), out)
    laws = laws_of(np.zeros((LAW_ROWS, 2 * log_n.size)))
    _, tables, _, _ = _mixtures(told, bare, log_n, parameters, state_of(state_table), laws, True)
    return _largest(tables, out)


@compiled
def doubted_ids_chances(
    told: Floats, bare: Floats, log_n: Floats, parameters: Floats, state_table: Floats, out: Floats
) -> None:
    """Write each arm's probability in the mix of information-directed sampling, under the mixtures."""
    size = log_n.size
    best, short, learnt = np.empty(size), np.empty(size), np.empty(size)
    if parameters[0] == 0.0 and some_weak(plan_of(bare), parameters, state_of(state_table)):
        weak_values(_weak_mixtures(told, bare, log_n, parameters, state_of(state_table)), short, learnt)
        best_mix(short, learnt, parameters[3], out)
        return
    laws = laws_of(np.zeros((LAW_ROWS, 2 * size)))
    # Panels that do not start at the cut stay where they are while it moves: `meanbounds.kernels.fast.doubted_ids`.
    cut, tables, means, ends = _mixtures(told, bare, log_n, parameters, state_of(state_table), laws, False)
    panels = ends.size - 1
    nodes = np.empty(panels * NODES)
    place_nodes(ends, panels, cut, nodes)
    mixed_values(laws, tables, means, nodes, panels * NODES, cut, best, short, learnt)
    best_mix(short, learnt, parameters[3], out)


@compiled
def mixed_values(
    laws: Laws,
    tables: Floats,
    means: Floats,
    nodes: Floats,
    size: int,
    cut: float,
    best: Floats,
    short: Floats,
    learnt: Floats,
) -> None:
    """`shortfalls` of mixtures, none of which is a point; `nodes` are the places of the first `size` nodes."""
    every, at_cut = np.arange(means.size), np.zeros((means.size, 2))
    shortfalls(laws, every, tables, at_cut, means, nodes, size, (-np.inf, 1, cut), best, short, learnt)
