"""The chance that the next pull takes each arm on offer: ties share it, and nothing else is random."""

from __future__ import annotations

import numpy as np

from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.linear.decide import fill, learn, measure
from meanbounds.kernels.linear.design import Design, radius, still_design
from meanbounds.kernels.linear.pool import SAMPLE, Pool, Rule, own_bounds
from meanbounds.kernels.linear.restrict import restrict
from meanbounds.kernels.linear.sample import favourites
from meanbounds.kernels.linear.settle import Now, tied
from meanbounds.kernels.random.stream import child
from meanbounds.kernels.solvers.cone import Known
from meanbounds.support.types import Floats, Integers

__all__ = ["chances", "possible"]


@compiled
def possible(pool: Pool, rule: Rule, design: Design, offered: Integers) -> Integers:
    """The arms on offer that can be best; changes nothing."""
    own = own_bounds(pool)
    if rule.online:
        mean, square = np.zeros(pool.length.size), np.zeros(pool.length.size)
        measure(own, design, offered, mean, square)
        learn(own, radius(design, rule), offered, mean, square)
    room = np.empty(offered.size, np.int64)
    count, _ = restrict(own, rule, offered, room)
    return room[:count]


@compiled
def _frequencies(
    pool: Pool, rule: Rule, known: Known, design: Design, offered: Integers, kept: Integers, key: np.uint64
) -> Floats:
    """How often each arm on offer is best among the points of a round."""
    out, found = np.zeros(offered.size), favourites(pool, rule, known, design, kept, key)
    for place in range(offered.size):
        for k in found:
            out[place] += kept[k] == offered[place]
    return out / found.size


@compiled
def chances(
    pool: Pool, rule: Rule, known: Known, design: Design, offered: Integers, number: int, key: np.uint64
) -> Floats:
    """For each arm on offer the chance that `decide` takes it; changes nothing.

    A policy that samples draws some points first, those that the pull of this number will draw; these are given here.
    """
    own, still = own_bounds(pool), still_design(design)
    mean, square = np.zeros(pool.length.size), np.zeros(pool.length.size)
    measure(own, still, offered, mean, square)
    reach = radius(still, rule)
    if rule.online:
        learn(own, reach, offered, mean, square)
    room = np.empty(offered.size, np.int64)
    count, _ = restrict(own, rule, offered, room)
    kept = room[:count]
    equal, ties = np.ones(count, np.bool_), 1
    if count > 1 and rule.index_kind == SAMPLE:
        return _frequencies(own, rule, known, still, offered, kept, child(key, number))
    if count > 1:
        scores = np.empty(count)
        fill(own, rule, known, still, reach, kept, mean, square, False, scores)
        now = Now(reach, rule.norm_high, rule.settle, 0, np.uint64(0))
        ties = tied(scores, count, kept, own.offset, mean, square, own.length, own.lower, own.upper, now, equal)
    out = np.zeros(offered.size)
    for k in range(count):
        for place in range(offered.size):
            if offered[place] == kept[k] and equal[k]:
                out[place] = 1.0 / ties
    return out
