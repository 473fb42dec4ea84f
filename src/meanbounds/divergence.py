"""The Kullback-Leibler divergence between Bernoulli rewards, and the confidence limits that follow from it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import xlogy

from meanbounds.support.checks import broadcast_floats, shown
from meanbounds.support.types import Floats

__all__ = ["bernoulli_kl", "bernoulli_kl_upper", "kl", "kl_upper"]

_TOP = 1.0 - 1e-12  # a limit above this is 1, so that arms whose limits can hardly be told from 1 tie


def bernoulli_kl(p: ArrayLike, q: ArrayLike) -> float | Floats:
    """Kullback-Leibler divergence between rewards of 0 and 1 with means p and q.

    It is ``p log(p / q) + (1 - p) log((1 - p) / (1 - q))``: how clearly rewards with mean p speak against a mean of q,
    per reward. It is infinite if q is 0 or 1 and p is not the same.

    Parameters
    ----------
    p, q
        Means in [0, 1], numbers or arrays that broadcast together.

    Examples
    --------
    >>> from meanbounds.theory import bernoulli_kl
    >>> round(bernoulli_kl(0.5, 0.9), 6)
    0.510826
    >>> bernoulli_kl([0.0, 1.0, 0.5], [0.0, 0.5, 1.0]).round(6)
    array([0.      , 0.693147,      inf])
    """
    means = broadcast_floats(p=p, q=q)
    for name, mean in zip("pq", means, strict=True):
        _check_unit(name, mean)
    value = kl(*means)
    return value if value.ndim else float(value)


def bernoulli_kl_upper(p: ArrayLike, budget: ArrayLike) -> float | Floats:
    """The largest q with ``bernoulli_kl(p, q) <= budget``: an upper confidence limit for a mean.

    KL-UCB plays the arm with the largest such limit, where p is the arm's mean reward so far, in units of its range,
    and the budget is ``log f(t) / plays``.

    Parameters
    ----------
    p
        Means in [0, 1], a number or an array.
    budget
        Divergence to allow, in nats, at least 0; broadcasts with `p`.

    Examples
    --------
    >>> from meanbounds.theory import bernoulli_kl, bernoulli_kl_upper
    >>> round(bernoulli_kl_upper(0.5, bernoulli_kl(0.5, 0.9)), 12)
    0.9
    """
    mean, limit = broadcast_floats(p=p, budget=budget)
    _check_unit("p", mean)
    if not np.all(limit >= 0.0):
        raise ValueError(f"bernoulli_kl_upper needs budget >= 0; got budget={shown(budget)}")
    value = kl_upper(mean, limit)
    return value if value.ndim else float(value)


def kl(p: Floats, q: Floats) -> Floats:
    """`bernoulli_kl` of arrays, unchecked: ``p e(d/p) + (1-p) e(-d/(1-p))``, d = q - p, e(x) = x - log(1 + x).

    In this form nothing cancels where p and q are close.
    """
    d = q - p
    sides, moves = np.empty((2, 2, *d.shape))
    sides[0], sides[1], moves[0], moves[1] = p, 1.0 - p, d, -d
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        values = np.where(sides > 0.0, sides * _excess(moves / sides), moves)
    return np.where(d == 0.0, 0.0, values[0] + values[1])


def _excess(x: Floats) -> Floats:
    """``x - log(1 + x)``, with a series in z = x / (2 + x), log(1 + x) = 2 artanh(z), where it would lose digits."""
    z = x / (2.0 + x)
    w = z * z
    series = 2.0 * w * (1.0 / (1.0 - z) - z * (1.0 / 3.0 + w * (1.0 / 5.0 + w * (1.0 / 7.0 + w / 9.0))))
    return np.where(np.abs(x) < 0.02, series, x - np.log1p(np.maximum(x, -1.0)))


def kl_upper(p: Floats, budget: Floats, steps: int = 100) -> Floats:
    """`bernoulli_kl_upper` of arrays, unchecked.

    Newton's method on a convex increasing function, started above the root (Pinsker's bound, or the divergence without
    its term ``p log q`` if that is less): the iterates fall, and one that no longer falls is the root.
    """
    p, budget = np.broadcast_arrays(p, budget)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        entropy = xlogy(p, p) + xlogy(1.0 - p, 1.0 - p)
        ceiling = 1.0 - np.exp((entropy - budget) / (1.0 - p))
        q = np.minimum(p + np.sqrt(budget / 2.0), ceiling)
        open_ = (q > p) & (q < 1.0)
        for _ in range(steps):
            step = (entropy - xlogy(p, q) - xlogy(1.0 - p, 1.0 - q) - budget) * q * (1.0 - q) / (q - p)
            open_ &= step > 1e-15
            if not open_.any():
                break
            q = np.where(open_, q - step, q)
    return np.where((p >= 1.0) | (budget <= 0.0), np.minimum(p, 1.0), np.maximum(p, np.where(q > _TOP, 1.0, q)))


def _check_unit(name: str, means: Floats) -> None:
    if not np.all((means >= 0.0) & (means <= 1.0)):
        raise ValueError(f"{name} must lie in [0, 1]; got {shown(means)}")
