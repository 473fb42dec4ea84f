"""Upper confidence limits on the mean of one variable in [0, 1]; `meanbounds.logs.confidence` explains the methods.

A lower limit is one minus the upper limit of one minus the variable. A goal is minus the logarithm of the probability
with which the limit may fail. Each limit is valid as computed: where a root is searched, the side that is certain is
returned.
"""

from __future__ import annotations

from math import exp, inf, log, log1p, sqrt

from meanbounds.kernels.arms.divergence import kl_upper
from meanbounds.kernels.compiling import compiled
from meanbounds.support.types import Floats

__all__ = ["BERNSTEIN", "BETTING", "HOEFFDING", "KL", "METHOD_CODES", "upper_from_sums", "upper_from_values"]

HOEFFDING, BERNSTEIN, KL, BETTING = range(4)
METHOD_CODES = {"hoeffding": HOEFFDING, "bernstein": BERNSTEIN, "kl": KL, "betting": BETTING}

STAKES = 24  # of the mixture of bets
LARGEST_BET = 0.9  # of the wealth
_HOPELESS = 50.0  # nats behind the best stake at which the others, which do worse and worse, no longer count
_LOG_TWO = log(2.0)
_LOST = 2.0**-49  # more than the sums of a row lose by rounding, so that a variance is never too small


@compiled
def upper_from_sums(method: int, rows: float, total: float, squares: float, goal: float) -> float:
    """Hoeffding's, the empirical Bernstein or Chernoff's limit, from the sum of the rows and that of their squares."""
    if rows < 1.0 or goal == inf:
        return 1.0
    mean = min(max(total / rows, 0.0), 1.0)
    if method == HOEFFDING:
        limit = mean + sqrt(goal / (2.0 * rows))
    elif method == KL:
        limit = kl_upper(mean, goal / rows)
    else:
        level = goal + _LOG_TWO
        free = max(rows - 1.0, 0.5)
        spread = (max(squares - total * total / rows, 0.0) + _LOST * rows) / free
        limit = mean + sqrt(2.0 * spread * level / rows) + 7.0 * level / (3.0 * free)
    return min(max(limit, 0.0), 1.0)


@compiled
def upper_from_values(values: Floats, counts: Floats, size: int, rows: float, goal: float) -> float:
    """The betting limit of a variable that takes each of the first `size` values in so many rows.

    If X in [0, 1] has mean at most m, the wealth 1 + b (X - m) has expectation at most 1 for every stake b in [0, 1/m],
    and so has a fixed mixture over stakes of the products over rows. By Markov's inequality it reaches exp(goal) with
    probability at most exp(-goal). Each product falls as m grows, so what is ruled out is an interval from 0.

    The gambler bets on X, one minus the variable; its mean is at least the largest m at which the wealth reaches the
    goal. The search keeps a certain side: the wealth at `below` has reached the goal.

    A stake is best for one variance, sqrt(2 goal / (rows variance)); the mixture has those for variances 1/4, 1/8,
    1/16, ..., none above 0.9 / m, the first ones with more weight.
    """
    if rows < 1.0 or goal == inf:
        return 1.0
    above = 0.0
    for i in range(size):
        above += counts[i] * (1.0 - values[i])
    above /= rows
    if not above > 0.0:
        return 1.0
    stake = sqrt(8.0 * goal / rows)
    below, below_gap, above_gap = 0.0, 0.0, _log_wealth(values, counts, size, above, stake) - goal
    if above_gap >= 0.0:
        return 1.0 - above
    guess, width = 0.5 * above, above
    for step in range(200):
        if step % 3 == 2:  # the bracket at least halves every third step
            guess = 0.5 * (below + above)
        if not below < guess < above:
            guess = 0.5 * (below + above)
        if above - below <= 1e-16 or not below < guess < above:
            break
        gap = _log_wealth(values, counts, size, guess, stake) - goal
        if gap >= 0.0:
            below, below_gap = guess, gap
        else:
            above, above_gap = guess, gap
        width = above - below
        if width <= 4e-16 * above:
            break
        if below_gap > 0.0:  # the secant, moved a little towards the side that is farther away
            guess = below + width * below_gap / (below_gap - above_gap)
            nudge = min(1e-3 * width, 0.25 * min(guess - below, above - guess))
            guess += nudge if guess - below < above - guess else -nudge
        else:
            guess = 0.5 * (below + above)
    return min(max(1.0 - below, 0.0), 1.0)


@compiled
def _log_wealth(values: Floats, counts: Floats, size: int, mean: float, stake: float) -> float:
    """Logarithm of the wealth against this mean of one minus the variable.

    Stakes grow by the square root of 2, with weights 1/2, 1/6, 1/12, ...; all that exceed the largest bet are one. The
    wealth is concave in the stake, so once it falls far behind, larger stakes do not count.
    """
    most = LARGEST_BET / mean
    top, sum_of = -inf, 0.0
    for i in range(STAKES):
        bet, weight = stake * 2.0 ** (0.5 * i), 1.0 / ((i + 1.0) * (i + 2.0))
        last = bet >= most
        if last:
            bet, weight = most, 1.0 / (i + 1.0) - 1.0 / (STAKES + 1.0)
        gain = log(weight)
        for v in range(size):
            if counts[v] > 0.0:
                gain += counts[v] * log1p(bet * (1.0 - values[v] - mean))
        if gain > top:
            sum_of = sum_of * exp(top - gain) + 1.0 if top > -inf else 1.0
            top = gain
        else:
            sum_of += exp(gain - top)
            if gain < top - _HOPELESS:
                break
        if last:
            break
    return top + log(sum_of)
