"""Which of several indices to take, where some are equal."""

from __future__ import annotations

from math import inf, sqrt

import numpy as np

from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.random.stream import uniform
from meanbounds.support.types import Floats, Integers

__all__ = ["rounding", "settle"]

_SAME = 1e-10


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
def settle(
    scores: Floats,
    size: int,
    kept: Integers,
    offset: Floats,
    mean: Floats,
    square: Floats,
    length: Floats,
    reach: float,
    norm_high: float,
    number: int,
    key: np.uint64,
) -> int:
    """Place of the index to take, among the first `size`: a largest one.

    Clipping makes ties. Of arms whose indices are equal, the one with the largest index before clipping is taken, the
    least known one as a rule: a choice at random would explore less for the same regret. What is equal still is settled
    by a random number.
    """
    top = _largest(scores, size)
    arm = kept[top]
    least = scores[top] - rounding(scores[top], length[arm], offset[arm], norm_high)
    ties = 0
    for k in range(size):
        ties += scores[k] >= least
    if ties == 1:
        return top
    best, slack = -inf, 0.0
    for k in range(size):
        if scores[k] >= least:
            arm = kept[k]
            plain = offset[arm] + mean[arm] + reach * sqrt(max(square[arm], 0.0))
            if plain > best:
                best, slack = plain, rounding(plain, length[arm], offset[arm], norm_high)
    ties = 0
    for k in range(size):
        arm = kept[k]
        plain = offset[arm] + mean[arm] + reach * sqrt(max(square[arm], 0.0))
        ties += scores[k] >= least and plain >= best - slack
    skip = int(uniform(key, number) * ties) if ties > 1 else 0
    for k in range(size):
        arm = kept[k]
        plain = offset[arm] + mean[arm] + reach * sqrt(max(square[arm], 0.0))
        if scores[k] >= least and plain >= best - slack:
            if skip == 0:
                return k
            skip -= 1
    return top
