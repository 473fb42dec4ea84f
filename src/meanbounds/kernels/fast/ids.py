"""Information-directed sampling over whole runs: what was computed for an arm is kept until it or the nodes change."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meanbounds.kernels.arms.block import Block
from meanbounds.kernels.arms.ids import (
    NODES,
    TABLES,
    best_mix,
    draw_from,
    fill_candidate,
    find_live,
    place_nodes,
    place_panels,
    room_for,
    shortfalls,
)
from meanbounds.kernels.arms.laws import LAW_ROWS, Laws, fill_law, laws_of
from meanbounds.kernels.arms.tables import plan_of, state_of
from meanbounds.kernels.arms.textbook import observe, regret
from meanbounds.kernels.arms.thompson import offered_floor, shared_floor
from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.random.rewards import draw
from meanbounds.kernels.random.stream import child, policy_key, reward_key, rounding_key
from meanbounds.support.types import Booleans, Floats, Integers

__all__ = ["play_ids", "same_panels"]


class _Kept(NamedTuple):
    """What is kept from round to round."""

    stale: Booleans  # whose law has changed since its table was filled
    filled: Booleans  # whose table is that of the nodes below
    places: Integers
    ends: Floats  # of the panels
    previous: Floats
    at_cut: Floats
    means: Floats
    best: Floats
    short: Floats
    learnt: Floats
    chances: Floats


@compiled
def _room(size: int) -> _Kept:
    most = room_for(size)
    flags = np.zeros((2, size), np.bool_)
    rows = np.zeros((5, size))
    return _Kept(
        flags[0],
        flags[1],
        np.zeros(size, np.int64),
        np.zeros((2, most)),
        np.zeros(most),
        np.zeros((size, 2)),
        rows[0],
        rows[1],
        rows[2],
        rows[3],
        rows[4],
    )


@compiled
def same_panels(ends: Floats, previous: Floats, before: int, panels: int) -> bool:
    """Whether the panels are those of the round before; if not, the new ones are remembered."""
    same = before == panels
    p = 0
    while same and p <= panels:
        same = ends[p] == previous[p]
        p += 1
    if not same:
        previous[: panels + 1] = ends[: panels + 1]
    return same


@compiled
def _decide(
    laws: Laws, kept: _Kept, tables: Floats, nodes: Floats, before: int, power: float
) -> tuple[Floats, Floats, int]:
    """Fill in the probabilities of the mix; return the tables and nodes, larger ones if need be, and the panels."""
    size = laws.start.size
    both, places = kept.ends, kept.places
    stale, filled, means, at_cut, ends = kept.stale, kept.filled, kept.means, kept.at_cut, both[0]
    point, ties, cut, count = find_live(laws, places)
    live = places[:count]
    panels = place_panels(laws, live, cut, point == cut, both) if count > 0 else 0
    if panels * NODES > nodes.size:
        tables, nodes = np.zeros((size, TABLES, 2 * panels * NODES)), np.empty(2 * panels * NODES)
        before = -1
    if not same_panels(ends, kept.previous, before, panels):
        filled[:] = False
    place_nodes(ends, panels, cut, nodes)
    start, stop, right = laws.start, laws.stop, laws.right
    for k in range(size):
        lives = right[k] > cut and start[k] < stop[k]
        if stale[k] or (lives and not filled[k]):
            own = panels if lives else 0
            means[k] = fill_candidate(laws, k, ends, own, cut, tables[k], at_cut[k])
            stale[k], filled[k] = False, lives
    best, short, learnt, known = kept.best, kept.short, kept.learnt, (point, ties, cut)
    shortfalls(laws, live, tables, at_cut, means, nodes, panels * NODES, known, best, short, learnt)
    best_mix(short, learnt, power, kept.chances)
    return tables, nodes, panels


@compiled
def play_ids(plan_table: Floats, parameters: Floats, block: Block) -> None:
    """`textbook.play` for information-directed sampling."""
    states, rewards, stops = block.states, block.rewards, block.stops
    seed, first_run, first_round = block.seed, block.first_run, block.first_round
    gaps, curves = block.gaps, block.curves
    plan = plan_of(plan_table)
    size = plan.arm.size
    laws, kept = laws_of(np.zeros((LAW_ROWS, size))), _room(size)
    stale, chances = kept.stale, kept.chances
    tables, nodes = np.zeros((size, TABLES, 32 * NODES)), np.empty(32 * NODES)
    offered = np.empty(size)  # the floor that each candidate offers to those without one
    for run in range(states.shape[0]):
        table = states[run]
        state = state_of(table)
        streams, key = reward_key(seed, first_run + run), policy_key(seed, first_run + run)
        rounding = rounding_key(seed, first_run + run)
        shared = shared_floor(plan, parameters, state)
        for k in range(size):
            offered[k] = offered_floor(plan, state, k)
            fill_law(plan, parameters, state, k, shared, laws)
            stale[k] = True
        panels = -1
        t = first_round
        for c in range(stops.size):
            while t <= stops[c]:
                tables, nodes, panels = _decide(laws, kept, tables, nodes, panels, parameters[3])
                chosen = draw_from(chances, key, t - 1)
                arm = int(plan.arm[chosen])
                reward = draw(rewards, arm, child(streams, arm), int(state.plays[arm]))
                observe(table, arm, reward, 1.0 - reward, t - 1, rounding)
                if parameters[2] == 2.0:
                    offered[chosen] = offered_floor(plan, state, chosen)
                    before, shared = shared, offered.max()
                    for k in range(size if shared != before else 0):
                        if offered[k] == -np.inf:
                            fill_law(plan, parameters, state, k, shared, laws)
                            stale[k] = True
                fill_law(plan, parameters, state, chosen, shared, laws)
                stale[chosen] = True
                t += 1
            curves[run, c] = regret(gaps, table)
