"""The sharp bounds of an infinite log by linear programs over all worlds on a grid, one for each assumption.

A world is a law of hidden types. In a type the arm j is played and has mean M, and the arm in question has mean x; all
means are multiples of 1 / N. A type's rewards are y with any law of mean M, so that types times rewards have the
law of the log: for each arm the shares of its rewards.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linprog

from meanbounds.support.types import Floats

__all__ = ["Type", "expert_types", "odds_extreme", "sharp"]


@dataclass(frozen=True)
class Type:
    """A type with the arm played, its mean and that of the arm in question (in Nths), and what it costs the expert."""

    played: int
    mean: int
    target: int
    cost: float = 0.0


def expert_types(kind: str, arms: int, k: int, n: int, low: int, high: int) -> Iterator[Type]:
    """All types that an assumption allows; gaps are in Nths, costs are errors or losses."""
    for j in range(arms):
        for mean in range(n + 1):
            for x in [mean] if j == k else range(n + 1):
                if mean - x > high:
                    continue
                right = kind == "any" or (mean >= low if j == k else x <= mean - low)
                if right:
                    yield Type(j, mean, x)
                elif kind == "erring":
                    yield Type(j, mean, x, 1.0)
                if kind == "nearly optimal":
                    yield from _lost(arms, j, k, n, mean, x, low, high)


def _lost(arms: int, j: int, k: int, n: int, mean: int, x: int, low: int, high: int) -> Iterator[Type]:
    """Types in which another arm is best: the one in question, or a third."""
    if j != k and x >= mean + low:
        yield Type(j, mean, x, (x - mean) / n)
    if arms > 2 or j == k:
        for best in range(max(mean, x) + low, min(n, x + high) + 1):
            yield Type(j, mean, x, (best - mean) / n)


def sharp(law: Floats, types: list[Type], budget: float, sign: int) -> float | None:
    """The largest (sign 1) or least (-1) mean of the arm in question; None if no world leaves this log."""
    arms, values = law.shape
    n = values - 1
    each = np.repeat(np.arange(len(types)), values)
    y = np.tile(np.arange(values), len(types))
    played = np.array([one.played for one in types])[each]
    equal: list[Any] = []
    for t, one in enumerate(types):
        equal.append(np.where(each == t, y - one.mean, 0.0))
    target = [0.0] * len(types)
    for j in range(arms):
        for value in range(values):
            equal.append(((played == j) & (y == value)).astype(float))
            target.append(float(law[j, value]))
    costs = np.array([one.cost for one in types])[each]
    gains = np.array([one.target for one in types])[each] / n
    found = linprog(-sign * gains, A_ub=costs[None], b_ub=[budget], A_eq=np.array(equal), b_eq=target, method="highs")
    return None if found.fun is None else -sign * found.fun


def odds_extreme(share: float, law: Floats, odds: float, sign: int) -> float:
    """The extreme mean of an arm with this share and law of rewards, where odds differ by a factor at most."""
    values = law.size
    y, mean = (part.ravel() for part in np.meshgrid(np.arange(values), np.arange(values)))
    size, ends = values * values, values
    n = values - 1
    gains = np.concatenate([share * mean, (1.0 - share) * np.arange(values)]) / n
    of_type = (mean[None] == np.arange(values)[:, None]).astype(float)
    none, one = np.zeros((ends, ends)), np.eye(ends)
    equal = np.vstack(
        [
            np.hstack([of_type * (y - mean), none]),
            np.hstack([(y[None] == np.arange(values)[:, None]).astype(float), none]),
            np.concatenate([np.zeros(size), np.ones(ends)])[None],
        ]
    )
    target = np.concatenate([np.zeros(ends), law, [1.0]])
    upper = np.vstack([np.hstack([-odds * of_type, one]), np.hstack([of_type / odds, -one])])
    found = linprog(-sign * gains, A_ub=upper, b_ub=np.zeros(2 * ends), A_eq=equal, b_eq=target, method="highs")
    assert found.fun is not None
    return -sign * found.fun
