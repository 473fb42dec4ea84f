"""MINTS (Wang, 2026): draw the arm to play from a posterior of which arm is best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from meanbounds.policies import Policy
from meanbounds.theory import bernoulli_kl

_HALVINGS = 50


@dataclass(frozen=True)
class MINTS(Policy):
    """The weight of an arm is the largest likelihood of means within the bounds of which none exceeds this arm's.

    In units of the range, with every reward taken as a Bernoulli one, it is ``exp(-cost)`` with the least
    ``sum of plays * kl(mean reward, mean)`` as the cost. The prior is uniform over the arms that can be best.
    """

    def probabilities(self, known: Any, seen: Any, t: Any, cache: Any = None) -> Any:
        """The weights, which sum to 1."""
        clipped = np.where(known.possible, seen.clipped_mean(known), -np.inf)
        top = np.broadcast_to(known.upper, clipped.shape).T[:, :, None]  # shape (arm that is best, rows, 1)
        floor = np.where(known.possible, known.lower, -np.inf).max(axis=1)[:, None]
        below = start = np.minimum(np.maximum(floor, clipped.T[:, :, None]), top)
        above = top
        for _ in range(_HALVINGS):  # the cost is convex in the mean of the best arm: find where its slope changes sign
            middle = 0.5 * (below + above)
            falls = _slope(known, seen, clipped, middle) < 0.0
            below, above = np.where(falls, middle, below), np.where(falls, above, middle)
        levels = (start, top, 0.5 * (below + above))
        cost = np.min([_cost(known, seen, clipped, level) for level in levels], axis=0)[:, :, 0].T
        cost = np.where(known.possible & (known.upper >= floor), cost, np.inf)
        weights = np.exp(cost.min(axis=1, keepdims=True) - cost)
        return weights / weights.sum(axis=1, keepdims=True)


def _is_best(clipped: Any) -> Any:
    return np.eye(clipped.shape[1], dtype=np.bool_)[:, None, :]


def _cost(known: Any, seen: Any, clipped: Any, level: Any) -> Any:
    """The cost of the likeliest means of which none exceeds that of the best arm, which is `level`."""
    means = np.where(_is_best(clipped), level, np.minimum(clipped, level))
    unit = np.clip((np.where(known.possible, means, known.low) - known.low) / known.width, 0.0, 1.0)
    mean = np.where(seen.plays > 0.0, seen.total / np.maximum(seen.plays, 1.0), unit)
    cost = np.where(known.possible & (seen.plays > 0.0), seen.plays * bernoulli_kl(mean, unit), 0.0)
    return cost.sum(axis=2, keepdims=True)


def _slope(known: Any, seen: Any, clipped: Any, level: Any) -> Any:
    unit, zeros = (level - known.low) / known.width, seen.plays - seen.total
    slope = np.where(zeros > 0.0, zeros / (1.0 - unit), 0.0) - np.where(seen.total > 0.0, seen.total / unit, 0.0)
    moved = known.possible & (clipped > level) | _is_best(clipped)
    return np.where(moved, slope / known.width, 0.0).sum(axis=2, keepdims=True)
