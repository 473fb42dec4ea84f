"""The arm with the largest index, and how ties are broken."""

from __future__ import annotations

from math import inf, sqrt
from typing import NamedTuple

import numpy as np

from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.random.stream import uniform
from meanbounds.support.types import Booleans, Floats, Integers

__all__ = ["Now", "rounding", "settle", "tied"]

_SAME = 1e-10


class Now(NamedTuple):
    """The numbers of a round."""

    reach: float  # radius of the confidence set
    norm_high: float
    settles: bool  # which of equal indices is taken: that of the largest estimate, or the largest before clipping
    number: int  # of the round, counted from 0: it addresses the random number
    key: np.uint64  # of the policy's own randomness


@compiled
def rounding(index: float, length: float, offset: float, norm_high: float) -> float:
    """How far from the largest index another may be that equals it but for rounding errors."""
    return _SAME * (abs(index) + norm_high * length + abs(offset))


@compiled
def _largest(scores: Floats, size: int) -> int:
    """Place of a largest score. Four candidates at once, since each comparison waits for the one before."""
    a = b = c = d = 0
    for k in range(0, size - 3, 4):
        a = k if scores[k] > scores[a] else a
        b = k + 1 if scores[k + 1] > scores[b] else b
        c = k + 2 if scores[k + 2] > scores[c] else c
        d = k + 3 if scores[k + 3] > scores[d] else d
    for k in range(size - size % 4, size):
        a = k if scores[k] > scores[a] else a
    a = b if scores[b] > scores[a] else a
    c = d if scores[d] > scores[c] else c
    return c if scores[c] > scores[a] else a


@compiled
def _preferred(estimate: float, square: float, lower: float, upper: float, now: Now) -> float:
    """What is compared where indices are equal."""
    if now.settles:
        return float(min(max(estimate, lower), upper))
    return estimate + now.reach * sqrt(max(square, 0.0))


@compiled
def tied(
    scores: Floats,
    size: int,
    kept: Integers,
    offset: Floats,
    mean: Floats,
    square: Floats,
    length: Floats,
    lower: Floats,
    upper: Floats,
    now: Now,
    out: Booleans,
) -> int:
    """Mark the places that may be taken and count them: a largest index, of equals the one preferred."""
    norm_high = now.norm_high
    top = _largest(scores, size)
    arm = kept[top]
    least = scores[top] - rounding(scores[top], length[arm], offset[arm], norm_high)
    best, slack = -inf, 0.0
    for k in range(size):
        if scores[k] >= least:
            arm = kept[k]
            value = _preferred(offset[arm] + mean[arm], square[arm], lower[arm], upper[arm], now)
            if value > best:
                best, slack = value, rounding(value, length[arm], offset[arm], norm_high)
    ties = 0
    for k in range(size):
        arm = kept[k]
        value = _preferred(offset[arm] + mean[arm], square[arm], lower[arm], upper[arm], now)
        out[k] = scores[k] >= least and value >= best - slack
        ties += out[k]
    return ties


@compiled
def settle(
    scores: Floats,
    size: int,
    kept: Integers,
    offset: Floats,
    mean: Floats,
    square: Floats,
    length: Floats,
    lower: Floats,
    upper: Floats,
    now: Now,
) -> int:
    """Place of the largest index among the first `size` scores.

    Clipping makes ties. If the rule settles, among arms with equal indices the one with the largest estimate, clipped
    to the arm's bounds, wins: it is played while the confidence set allows it to be as good as any arm on offer can be.
    Otherwise that with the largest index before clipping wins, which as a rule is the one played least. Ties that
    remain are broken by a random number.
    """
    top = _largest(scores, size)
    least = scores[top] - rounding(scores[top], length[kept[top]], offset[kept[top]], now.norm_high)
    ties = 0
    for k in range(size):
        ties += scores[k] >= least
    if ties == 1:
        return top
    best = second = -inf
    for k in range(size):  # as a rule one of the equals is preferred, and nothing need be marked
        if scores[k] >= least:
            arm = kept[k]
            value = _preferred(offset[arm] + mean[arm], square[arm], lower[arm], upper[arm], now)
            if value > best:
                best, second, top = value, best, k
            else:
                second = max(second, value)
    if second < best - rounding(best, length[kept[top]], offset[kept[top]], now.norm_high):
        return top
    equal = np.empty(size, np.bool_)
    ties = tied(scores, size, kept, offset, mean, square, length, lower, upper, now, equal)
    skip = int(uniform(now.key, now.number) * ties)
    for k in range(size):
        if equal[k]:
            if skip == 0:
                return k
            skip -= 1
    return top
