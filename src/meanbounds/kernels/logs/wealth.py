"""Limits on the average of conditional means of variables that are not negative, row after row of an adaptive log.

Let Z_t >= 0 have the mean m_t given all earlier rows. For a fixed stake b > 0 the product of
(1 + b Z_t) / (1 + b m_t) is a martingale that starts at 1, however earlier rows move m_t. The logarithm is concave, so
the product of the denominators is at most (1 + b m)^rows, where m is the average of the m_t. Hence the wealth, the
product of (1 + b Z_t) over (1 + b m)^rows, never exceeds that martingale, and neither does a mixture over stakes: it
ever reaches exp(goal) with probability at most exp(-goal). It falls as m grows, so what is ruled out is an interval
from 0.

Z_t needs no largest value, so weights by inverse propensities need no least propensity.
"""

from __future__ import annotations

from math import exp, log, log1p

import numpy as np

from meanbounds.kernels.compiling import compiled
from meanbounds.support.types import Floats, Integers

__all__ = ["log_growth", "lower_limit", "predict"]

_LARGE = 1e120  # where a product is turned into its logarithm; one more factor does not overflow
_STEPS = 200


@compiled
def log_growth(values: Floats, stakes: Floats) -> Floats:
    """Of each stake, in ascending order, the sum over rows of log(1 + stake value), by way of products."""
    grown = np.zeros(stakes.size)
    product = np.ones(stakes.size)
    last = stakes.size - 1
    for t in range(values.size):
        value = values[t]
        for k in range(stakes.size):
            product[k] *= 1.0 + stakes[k] * value
        if product[last] > _LARGE:
            for k in range(stakes.size):
                grown[k] += log(product[k])
                product[k] = 1.0
    for k in range(stakes.size):
        grown[k] += log(product[k])
    return grown


@compiled
def lower_limit(
    grown: Floats, stakes: Floats, weights: Floats, shifts: Floats, rows: float, most: float, goal: float
) -> float:
    """The largest average, up to `most`, that is ruled out: all below it are too; 0 if none is.

    A stake that grew by `grown` bet on a variable whose average is this one plus its own shift.

    The wealth at `below` has reached the goal, so the side that is returned is certain.
    """
    below, above = 0.0, most
    if _log_wealth(grown, stakes, weights, shifts, rows, below) < goal:
        return 0.0
    if _log_wealth(grown, stakes, weights, shifts, rows, above) >= goal:
        return above
    for _ in range(_STEPS):
        middle = 0.5 * (below + above)
        if not below < middle < above:
            break
        if _log_wealth(grown, stakes, weights, shifts, rows, middle) >= goal:
            below = middle
        else:
            above = middle
        if above - below <= 1e-13 * above:
            break
    return below


@compiled
def _log_wealth(grown: Floats, stakes: Floats, weights: Floats, shifts: Floats, rows: float, mean: float) -> float:
    """Logarithm of the mixture of wealths against this average."""
    top = -np.inf
    for k in range(stakes.size):
        top = max(top, grown[k] - rows * log1p(stakes[k] * (mean + shifts[k])))
    total = 0.0
    for k in range(stakes.size):
        total += weights[k] * exp(grown[k] - rows * log1p(stakes[k] * (mean + shifts[k])) - top)
    return top + log(total)


@compiled
def predict(
    pair: Integers,
    arm: Integers,
    context: Integers,
    reward: Floats,
    known: Integers,
    starts: Integers,
    arms: Integers,
    pairs: Integers,
    chances: Floats,
    strength: float,
) -> tuple[Floats, Floats]:
    """Predictions from earlier rows alone: of the arm that was played, and of what a policy would have played.

    The policy plays ``arms[i]`` with probability ``chances[i]`` in context z, for i from ``starts[z]`` up to
    ``starts[z + 1]``; ``pairs[i]`` is the number of this context and arm among those that occur in the log, or -1. The
    prediction is the mean reward of context and arm so far, drawn towards the arm's mean so far with the weight of
    `strength` rows, and that one towards 1/2 with the weight of one row. A row whose `known` is 0 teaches nothing.
    """
    size = 1
    for t in range(pair.size):
        size = max(size, pair[t] + 1)
    most = 1
    for t in range(arm.size):
        most = max(most, arm[t] + 1)
    for i in range(arms.size):
        most = max(most, arms[i] + 1)
    pair_sum, pair_rows, arm_sum, arm_rows = np.zeros(size), np.zeros(size), np.zeros(most), np.zeros(most)
    played, planned = np.empty(pair.size), np.empty(pair.size)
    for t in range(pair.size):
        base = (arm_sum[arm[t]] + 0.5) / (arm_rows[arm[t]] + 1.0)
        played[t] = (pair_sum[pair[t]] + strength * base) / (pair_rows[pair[t]] + strength)
        total = 0.0
        for i in range(starts[context[t]], starts[context[t] + 1]):
            guess = (arm_sum[arms[i]] + 0.5) / (arm_rows[arms[i]] + 1.0)
            own = pairs[i]
            if own >= 0:
                guess = (pair_sum[own] + strength * guess) / (pair_rows[own] + strength)
            total += chances[i] * guess
        planned[t] = total
        if known[t]:
            pair_sum[pair[t]] += reward[t]
            pair_rows[pair[t]] += 1.0
            arm_sum[arm[t]] += reward[t]
            arm_rows[arm[t]] += 1.0
    return played, planned
