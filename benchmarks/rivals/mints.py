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

    def probabilities(self, known: Any, seen: Any, t: Any, cache: Any = None) -> Any:  # noqa: ARG002
        """The weights, which sum to 1."""
        clipped = np.where(known.possible, seen.clipped_mean(known), -np.inf)
        floor = np.where(known.possible, known.lower, -np.inf).max(axis=1, keepdims=True)
        cost = np.full(clipped.shape, np.inf)
        for k in range(clipped.shape[1]):
            # The cost is convex in the mean of arm k: halve the interval where its slope changes sign.
            top = np.broadcast_to(known.upper[:, k : k + 1], floor.shape)
            below = np.maximum(floor, clipped[:, k : k + 1])
            start, above = np.minimum(below, top), top
            below = start
            for _ in range(_HALVINGS):
                middle = 0.5 * (below + above)
                falls = _slope(known, seen, clipped, k, middle) < 0.0
                below, above = np.where(falls, middle, below), np.where(falls, above, middle)
            own = _cost(known, seen, clipped, k, 0.5 * (below + above))
            own = np.minimum(
                own, np.minimum(_cost(known, seen, clipped, k, start), _cost(known, seen, clipped, k, top))
            )
            cost[:, k] = np.where(known.possible[:, k] & (top >= floor)[:, 0], own[:, 0], np.inf)
        weights = np.exp(cost.min(axis=1, keepdims=True) - cost)
        return weights / weights.sum(axis=1, keepdims=True)


def _means(clipped: Any, k: int, level: Any) -> Any:
    """The likeliest means if none exceeds that of arm k, which is `level`."""
    means = np.minimum(clipped, level)
    means[:, k] = level[:, 0]
    return means


def _cost(known: Any, seen: Any, clipped: Any, k: int, level: Any) -> Any:
    means = _means(clipped, k, level)
    unit = np.clip((np.where(known.possible, means, known.low) - known.low) / known.width, 0.0, 1.0)
    mean = np.where(seen.plays > 0.0, seen.total / np.maximum(seen.plays, 1.0), unit)
    cost = np.where(known.possible & (seen.plays > 0.0), seen.plays * bernoulli_kl(mean, unit), 0.0)
    return cost.sum(axis=1, keepdims=True)


def _slope(known: Any, seen: Any, clipped: Any, k: int, level: Any) -> Any:
    moved = known.possible & (clipped > level)
    moved[:, k] = True
    unit = (level - known.low) / known.width
    zeros = seen.plays - seen.total
    slope = np.where(zeros > 0.0, zeros / (1.0 - unit), 0.0) - np.where(seen.total > 0.0, seen.total / unit, 0.0)
    return np.where(moved, slope / known.width, 0.0).sum(axis=1, keepdims=True)
