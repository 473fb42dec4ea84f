"""Information-directed sampling with bounds that may be wrong: what was computed for an arm is kept, as in `ids`.

The law of an arm's mean changes with its own rewards alone, and panels stay where they are while the cut moves a
little. So a round computes the two laws, the odds and the table of the arm that was played, and for the other arms only
the sums over all of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meanbounds.kernels.arms.block import Block
from meanbounds.kernels.arms.doubted_laws import both_plans, fill_parts
from meanbounds.kernels.arms.estimates import parts_of
from meanbounds.kernels.arms.ids import NODES, TABLES, best_mix, draw_from, place_nodes, place_panels, room_for
from meanbounds.kernels.arms.laws import LAW_ROWS, Laws, laws_of
from meanbounds.kernels.arms.mixtures import fill_mixed_table, find_live_parts, is_live, table_values
from meanbounds.kernels.arms.tables import plan_of, state_of
from meanbounds.kernels.arms.textbook import observe, regret
from meanbounds.kernels.arms.thompson import offered_floor, shared_floor
from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.fast.ids import same_panels
from meanbounds.kernels.random.rewards import draw
from meanbounds.kernels.random.stream import child, policy_key, reward_key, rounding_key
from meanbounds.support.types import Booleans, Floats, Integers

__all__ = ["play_doubted_ids"]


class _Kept(NamedTuple):
    """What is kept from round to round; parts of mixtures as in `meanbounds.kernels.arms.mixtures`."""

    laws: Laws  # of the parts
    weights: Floats  # of the parts
    lives: Booleans  # which parts reached above the cut when the table of their arm was filled
    stale: Booleans  # whose table is not that of its laws and of the nodes
    places: Integers
    ends: Floats  # of the panels
    previous: Floats
    means: Floats
    best: Floats
    short: Floats
    learnt: Floats
    chances: Floats


@compiled
def _room(size: int) -> _Kept:
    most, rows = room_for(2 * size), np.zeros((5, size))
    return _Kept(
        laws_of(np.zeros((LAW_ROWS, 2 * size))),
        np.zeros(2 * size),
        np.zeros(2 * size, np.bool_),
        np.zeros(size, np.bool_),
        np.zeros(2 * size, np.int64),
        np.zeros((2, most)),
        np.zeros(most),
        rows[0],
        rows[1],
        rows[2],
        rows[3],
        rows[4],
    )


@compiled
def _fill(kept: _Kept, k: int, panels: int, cut: float, own: Floats, table: Floats) -> None:
    """Fill an arm's table if its laws or the nodes have changed, or if the cut has passed the end of one of them."""
    for part in (k, kept.means.size + k):
        lives = is_live(kept.laws, kept.weights, part, cut)
        if lives != kept.lives[part]:
            kept.lives[part] = lives
            kept.stale[k] = True
    if kept.stale[k]:
        laws, weights, size = kept.laws, kept.weights, kept.means.size
        kept.means[k] = fill_mixed_table(laws, weights, size, k, kept.ends[0], panels, cut, own, table)
        kept.stale[k] = False


@compiled
def _decide(kept: _Kept, tables: Floats, nodes: Floats, before: int, power: float) -> tuple[Floats, Floats, int]:
    """Fill in the probabilities of the mix; return the tables and nodes, larger ones if need be, and the panels.

    The last two tables are scratch space.
    """
    laws, size = kept.laws, kept.means.size
    cut, count = find_live_parts(laws, kept.weights, size, kept.places)
    panels = place_panels(laws, kept.places[:count], cut, False, kept.ends)
    if panels * NODES > nodes.size:
        tables, nodes = np.zeros((size + 2, TABLES, 2 * panels * NODES)), np.empty(2 * panels * NODES)
        before = -1
    if not same_panels(kept.ends[0], kept.previous, before, panels):
        kept.stale[:] = True
    place_nodes(kept.ends[0], panels, cut, nodes)
    for k in range(size):
        _fill(kept, k, panels, cut, tables[size:], tables[k])
    values = kept.best, kept.short, kept.learnt
    table_values(laws, tables, kept.means, nodes, panels * NODES, cut, values[0], values[1], values[2])
    best_mix(kept.short, kept.learnt, power, kept.chances)
    return tables, nodes, panels


@compiled
def play_doubted_ids(plan_table: Floats, parameters: Floats, block: Block) -> None:
    """`textbook.play` for information-directed sampling with bounds that may be wrong."""
    told, bare, _, log_n = parts_of(plan_table)
    plan, both, size = plan_of(bare), both_plans(told, bare), log_n.size
    kept = _room(size)
    tables, nodes = np.zeros((size + 2, TABLES, 32 * NODES)), np.empty(32 * NODES)
    offered = np.empty(size)  # the floor that each candidate offers to those without one
    for run in range(block.states.shape[0]):
        number, table, t = block.first_run + run, block.states[run], block.first_round
        state, rounding = state_of(table), rounding_key(block.seed, number)
        streams, key = reward_key(block.seed, number), policy_key(block.seed, number)
        shared = shared_floor(plan, parameters, state)
        for k in range(size):
            offered[k] = offered_floor(plan, state, k)
            fill_parts(told, both, log_n[k], parameters, state, k, shared, kept.laws, kept.weights)
        kept.stale[:] = True
        panels = -1
        for c in range(block.stops.size):
            while t <= block.stops[c]:
                tables, nodes, panels = _decide(kept, tables, nodes, panels, parameters[3])
                chosen = draw_from(kept.chances, key, t - 1)
                arm = int(plan.arm[chosen])
                reward = draw(block.rewards, arm, child(streams, arm), int(state.plays[arm]))
                observe(table, arm, reward, 1.0 - reward, t - 1, rounding)
                if parameters[2] == 2.0:
                    offered[chosen] = offered_floor(plan, state, chosen)
                    before, shared = shared, offered.max()
                    for k in range(size if shared != before else 0):
                        if offered[k] == -np.inf:
                            fill_parts(told, both, log_n[k], parameters, state, k, shared, kept.laws, kept.weights)
                            kept.stale[k] = True
                fill_parts(told, both, log_n[chosen], parameters, state, chosen, shared, kept.laws, kept.weights)
                kept.stale[chosen] = True
                t += 1
            block.curves[run, c] = regret(block.gaps, table)
