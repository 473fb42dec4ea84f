"""Which sets of other arms promise the best lower limit for an arm.

With gap g the limit of a set S is about ``M - sqrt(2 (Q - M**2) L / rows)``: M and Q are the means of
``Y 1{A = k} + (Y - g) 1{A in S}`` and of its square, which are sums over the arms of S, and L is the price of the set
in nats, the same for all sets of one size. This is convex in (M, Q), so among the sets of one size the best one has the
arms with the largest ``d - tilt q``, where d and q are what an arm adds to M and Q, for some tilt. From tilt 0 on, the
gradient at the best set so far gives the next tilt, and the limit never gets worse: three sorts do for all sizes.

Any choice is valid, since every set has a share of the failure probability; a poor one only makes bounds wider.
"""

from __future__ import annotations

from math import inf, log, sqrt

from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.logs.limits import BERNSTEIN, HOEFFDING, KL
from meanbounds.support.types import Floats, Integers

__all__ = ["look"]

_LOG_TWO = log(2.0)


@compiled
def look(
    rows: Floats,
    total: Floats,
    squares: Floats,
    k: int,
    gap: float,
    n: float,
    prices: Floats,
    method: int,
    order: Integers,
) -> tuple[int, int, float]:
    """The two sizes at which the first arms of this order look best for arm k, and the tilt of the next order."""
    mean, square = total[k] / n, squares[k] / n
    first, second, best, next_best, tilt = 0, 0, -inf, -inf, 0.0
    for i in range(rows.size - 1):
        j = order[i]
        mean += (total[j] - gap * rows[j]) / n
        square += (squares[j] - 2.0 * gap * total[j] + gap * gap * rows[j]) / n
        seems = _limit_of(mean, square, gap, n, prices[i + 1], method)
        if seems > best:
            first, second, best, next_best = i + 1, first, seems, best
            tilt = _next_tilt(mean, square, 2.0 * prices[i + 1] / n)
        elif seems > next_best:
            second, next_best = i + 1, seems
    return first, second, tilt


@compiled
def _limit_of(mean: float, square: float, gap: float, n: float, price: float, method: int) -> float:
    """About the limit of a set with this mean and mean square."""
    width = 1.0 + gap
    if method == HOEFFDING:
        return mean - width * sqrt(price / (2.0 * n))
    if method == KL:
        square = (mean + gap) * width - 2.0 * gap * mean - gap * gap  # as if all mass were at the ends of the range
    level = price + _LOG_TWO if method == BERNSTEIN else price
    free = max(n - 1.0, 0.5)
    beyond = (7.0 / 3.0 if method == BERNSTEIN else 1.0 / 3.0) * width * level / free
    return mean - sqrt(max(square - mean * mean, 0.0) * (2.0 * level / free)) - beyond


@compiled
def _next_tilt(mean: float, square: float, slope: float) -> float:
    """By how much a unit of square outweighs a unit of mean, at a set with this mean and square."""
    spread = sqrt(slope * max(square - mean * mean, 0.0))
    below = 2.0 * (spread + slope * mean)
    return slope / below if below > 0.0 else 0.0
