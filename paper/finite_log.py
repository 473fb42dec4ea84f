"""Theorem 9 for a finite log: bounds on the means of arms with features that hold with a stated confidence.

Let x_j be the mean of the hidden parameter over the cases in which arm j is the best, p_j the share of these cases and
nu_j the mean reward in them. The mean of arm k is the sum over j of p_j (known_k + <a_k, x_j>). Limits on each nu_j
make x_j the solution of linear inequalities, and so do the box and the fact that arm j is the best. Limits on each p_j
make the sum largest where the largest terms have the largest shares. An arm that was never played may have been the
best in a few cases all the same, with any mean reward in its range. All limits together fail with probability at most
1 - confidence, by a union bound over arms and sides.
"""

from __future__ import annotations

import numpy as np
from scipy.special import betaincinv

from meanbounds import BoundsError
from meanbounds.logs.confidence import as_nats, lower_limit, upper_limit
from meanbounds.support.types import Floats
from meanbounds.theory.linear_log import means_when_best

__all__ = ["finite_log_bounds", "share_limits"]


def finite_log_bounds(
    sums: tuple[Floats, Floats, Floats],
    known: Floats,
    hidden: Floats,
    box: tuple[Floats, Floats],
    reward_range: tuple[Floats, Floats],
    confidence: float = 0.95,
) -> tuple[Floats, Floats]:
    """The lower and the upper bound on each arm's mean; all hold at once with the stated confidence.

    Parameters
    ----------
    sums
        For each arm how many rows it has, the sum of their rewards and the sum of their squares.
    known, hidden, box
        As for `meanbounds.theory.linear_log_bounds`; a limit of the box has an entry for each coordinate.
    reward_range
        The least and the largest reward of each arm.
    confidence
        The probability with which all bounds hold.

    Raises
    ------
    BoundsError
        If an arm was played that cannot have been the best: an assumption is wrong. The message names the arm.
    """
    count, total, squares = sums
    (low, high), failure = reward_range, (1.0 - confidence) / (4.0 * count.size)
    width, nats = high - low, as_nats(failure)
    unit = count, (total - low * count) / width, (squares - 2.0 * low * total + low**2 * count) / width**2
    least, most = low + width * lower_limit(*unit, nats), low + width * upper_limit(*unit, nats)
    values, can = np.zeros((2, count.size, count.size)), np.ones(count.size, dtype=np.bool_)
    for j in range(count.size):
        found = means_when_best(j, known, hidden, (float(least[j]), float(most[j])), box)
        can[j] = found is not None
        if found is not None:
            values[:, j] = found
        elif count[j] > 0.0:
            raise BoundsError(
                f"arm {j} was played, but no hidden parameter in the box gives it a mean between {least[j]:g} and "
                f"{most[j]:g} and makes it the best arm. The box or the features are wrong, or the expert errs"
            )
    limits = tuple(side[can] for side in share_limits(count, failure))
    lower, upper = (
        sign * np.array([_largest(column, *limits) for column in (sign * side[can]).T])
        for sign, side in zip((-1.0, 1.0), values, strict=True)
    )
    return lower, upper


def share_limits(count: Floats, failure: float) -> tuple[Floats, Floats]:
    """Clopper and Pearson's limits on each share; each side is wrong with probability at most `failure`."""
    rest = count.sum() - count
    lower = np.where(count > 0.0, betaincinv(np.maximum(count, 1.0), rest + 1.0, failure), 0.0)
    return lower, np.where(rest > 0.0, betaincinv(count + 1.0, np.maximum(rest, 1.0), 1.0 - failure), 1.0)


def _largest(values: Floats, low: Floats, high: Floats) -> float:
    """The largest mean of values under shares between these limits: the largest values are filled up first."""
    order = np.argsort(-values)
    room = (high - low)[order]
    extra = np.clip(1.0 - low.sum() - (np.cumsum(room) - room), 0.0, room)
    return float((low[order] + extra) @ values[order])
