"""Who has the largest mean, and what that says of the others, where each arm's mean has a mixture of laws.

Part n of arm k is law ``n * arms + k`` of a table of laws, and its weight has the same place. The parts of an arm may
be its posterior within bounds and the one without, if the bounds may be wrong, or those of a prior that is a mixture.
With F_n the distribution functions of the parts, w_n their weights and E_n their means, the mixture has F = sum w_n F_n
and E = sum w_n E_n, and what a mean loses by being at most x is, in the words of `meanbounds.kernels.arms.ids`,

    F r = sum w_n F_n (r_n + E - E_n),   E - E_n = sum over m of w_m (E_m - E_n).
"""

from __future__ import annotations

import numpy as np

from meanbounds.kernels.arms.ids import (
    NODES,
    TABLES,
    fill_candidate,
    place_nodes,
    place_panels,
    room_for,
    shortfalls,
)
from meanbounds.kernels.arms.laws import Laws
from meanbounds.kernels.compiling import compiled
from meanbounds.support.types import Floats, Integers

__all__ = [
    "NEVER",
    "fill_mixed_table",
    "find_live_parts",
    "is_live",
    "mixed_best",
    "mixed_values",
    "table_values",
    "widen_point",
]

NEVER = 1e-15
"""A part of a mixture with less weight is left out."""

_POINT = 1e-9  # width in units of the range that bounds which leave one value get where laws are integrated


@compiled
def widen_point(plan_table: Floats, k: int) -> None:
    """Give the bounds of a candidate that leave one value a width, for the integrals of this module."""
    low, lower, cap, high = plan_table[1, k], plan_table[3, k], plan_table[4, k], plan_table[6, k]
    reach = _POINT * plan_table[2, k]
    if cap - lower < reach:
        plan_table[3, k] = max(low, lower - reach)
        plan_table[4, k] = min(high, cap + reach)


@compiled
def is_live(laws: Laws, weights: Floats, part: int, cut: float) -> bool:
    """Whether a part of a mixture reaches above the cut."""
    return bool(weights[part] > NEVER and laws.start[part] < laws.stop[part] and laws.right[part] > cut)


@compiled
def find_live_parts(laws: Laws, weights: Floats, size: int, live: Integers) -> tuple[float, int]:
    """Write the parts of mixtures that reach above the cut, below which no draw is the largest; return it and a count.

    An arm draws at least what the lowest of its parts starts with.
    """
    cut, count = -np.inf, 0
    for k in range(size):
        least = np.inf
        for part in range(k, weights.size, size):
            if weights[part] > NEVER:
                least = min(least, laws.left[part] if laws.start[part] < laws.stop[part] else laws.start[part])
        cut = max(cut, least)
    for part in range(weights.size):
        if is_live(laws, weights, part, cut):
            live[count] = part
            count += 1
    return cut, count


@compiled
def fill_mixed_table(
    laws: Laws,
    weights: Floats,
    size: int,
    k: int,
    ends: Floats,
    panels: int,
    cut: float,
    own: Floats,
    table: Floats,
) -> float:
    """Write the table of `fill_candidate` for the mixture of one of `size` arms, and return its mean.

    `own` is scratch space: a table for each part.
    """
    nodes, parts = panels * NODES, weights.size // size
    at_cut, expected, shares = np.zeros(2), np.zeros(parts), np.zeros(parts)
    count, mean = 0, 0.0
    for part in range(k, weights.size, size):
        if weights[part] <= NEVER:
            continue
        live = is_live(laws, weights, part, cut)
        own[count] = 0.0
        expected[count] = fill_candidate(laws, part, ends, panels if live else 0, cut, own[count], at_cut)
        if not live:
            own[count, 1] = 1.0
        shares[count] = weights[part]
        mean += shares[count] * expected[count]
        count += 1
    table[:, :nodes] = 0.0
    for n in range(count):
        lead = 0.0  # of the mixture's mean over that of the part
        for m in range(count):
            lead += shares[m] * (expected[m] - expected[n])
        for i in range(nodes):
            below = shares[n] * own[n, 1, i]
            table[0, i] += shares[n] * own[n, 0, i]
            table[1, i] += below
            table[2, i] += below * own[n, 2, i] + below * lead
    for i in range(nodes):
        share = table[1, i]
        table[2, i] = max(0.0, table[2, i] / share) if share > 0.0 else 0.0
    return mean


@compiled
def _tabulated(laws: Laws, weights: Floats, size: int, sharp: bool) -> tuple[float, Floats, Floats, Floats]:
    """The cut, the mixtures' tables above it and means, and the ends of the panels, of which the first may be sharp."""
    places, both = np.empty(weights.size, np.int64), np.empty((2, room_for(weights.size)))
    cut, count = find_live_parts(laws, weights, size, places)
    panels = place_panels(laws, places[:count], cut, sharp, both)
    tables, means = np.zeros((size, TABLES, panels * NODES)), np.empty(size)
    own = np.zeros((weights.size // size, TABLES, panels * NODES))
    for k in range(size):
        means[k] = fill_mixed_table(laws, weights, size, k, both[0], panels, cut, own, tables[k])
    return cut, tables, means, both[0, : panels + 1]


@compiled
def mixed_best(laws: Laws, weights: Floats, out: Floats) -> float:
    """Write each arm's chance of the largest mean; return what their sum lacked to 1."""
    _, tables, _, _ = _tabulated(laws, weights, out.size, True)
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
def table_values(
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


@compiled
def mixed_values(laws: Laws, weights: Floats, best: Floats, short: Floats, learnt: Floats) -> None:
    """Write P(best), expected shortfall and variance of each arm; see `meanbounds.kernels.arms.ids`.

    Panels that do not start at the cut stay where they are while it moves: `meanbounds.kernels.fast.doubted_ids`.
    """
    cut, tables, means, ends = _tabulated(laws, weights, best.size, False)
    panels = ends.size - 1
    nodes = np.empty(panels * NODES)
    place_nodes(ends, panels, cut, nodes)
    table_values(laws, tables, means, nodes, panels * NODES, cut, best, short, learnt)
