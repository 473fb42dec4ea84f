"""How often a mean of rewards seems larger than it is: the sum that ends proofs about indices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from meanbounds.support.types import Floats

__all__ = ["Divergence", "plays_until_passed"]

Divergence = Callable[[Any, Any], float | Floats]

_TRIED = np.linspace(0.0, 1.0, 402)[1:-1]  # places between the mean and the goal at which the bound is evaluated


def plays_until_passed(mean: float, goals: Floats, level: Floats, away: Divergence, back: Divergence) -> Floats:
    r"""Bound the expected number of s >= 1 at which the mean m of s rewards has ``s * away(m, goal) <= level``.

    .. math:: \min_{\mu < x < c} \left( \frac{g}{d(x, c)} + \frac{e^{-g\, k(x, \mu) / d(x, c)}}{1 - e^{-k(x, \mu)}}
              \right)

    for the goal c and the level g: while m is below x there are at most g / d(x, c) such s, and afterwards m is at
    least x with probability at most exp(-s k(x, μ)).

    Parameters
    ----------
    mean
        The expected reward μ.
    goals
        Goals above the mean.
    level
        Levels g, in any shape.
    away
        The divergence d of a mean from the goal: it falls as the mean approaches it.
    back
        Chernoff's exponent k: the mean of s rewards is x or more with probability at most exp(-s k(x, μ)).

    Returns
    -------
    An array with the shape of `level` and one more axis for the goals.

    Examples
    --------
    >>> import numpy as np
    >>> from meanbounds.divergence import bernoulli_kl
    >>> plays_until_passed(0.5, np.array([0.9]), np.array([5.0, 10.0]), bernoulli_kl, bernoulli_kl).round(1).ravel()
    array([29.3, 46.1])
    """
    tried = mean + (goals[:, None] - mean) * _TRIED
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        from_goal, from_mean = np.asarray(away(tried, goals[:, None])), np.asarray(back(tried, mean))
        first = np.asarray(level)[..., None, None] / from_goal
        found = first + np.exp(-first * from_mean) / -np.expm1(-from_mean)
    return np.asarray(np.nan_to_num(found, nan=np.inf).min(axis=-1))
