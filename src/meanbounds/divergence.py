"""The Kullback-Leibler divergence between Bernoulli rewards, and the confidence limit of KL-UCB."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanbounds.kernels.arms import divergence as _kernel
from meanbounds.support.checks import broadcast_floats, shown
from meanbounds.support.types import Floats

__all__ = ["bernoulli_kl", "bernoulli_kl_upper"]

_kl = np.vectorize(_kernel.kl, otypes=[np.float64])
_kl_upper = np.vectorize(_kernel.kl_upper, otypes=[np.float64])


def bernoulli_kl(p: ArrayLike, q: ArrayLike) -> float | NDArray[np.float64]:
    """Kullback-Leibler divergence between rewards of 0 and 1 with means p and q.

    It is ``p log(p / q) + (1 - p) log((1 - p) / (1 - q))``: how clearly rewards with mean p speak against a mean of q,
    per reward. It is infinite if q is 0 or 1 and p is not the same.

    Parameters
    ----------
    p, q
        Means in [0, 1], numbers or arrays that broadcast together.

    Returns
    -------
    The divergence in nats (natural logarithms): a number for two numbers, else an array.

    Examples
    --------
    >>> import meanbounds as mb
    >>> round(mb.bernoulli_kl(0.5, 0.9), 6)
    0.510826
    >>> mb.bernoulli_kl([0.0, 1.0, 0.5], [0.0, 0.5, 1.0]).round(6)
    array([0.      , 0.693147,      inf])
    """
    means = broadcast_floats(p=p, q=q)
    _check_unit("p", means[0])
    _check_unit("q", means[1])
    return _scalar_or_array(_each(_kl, *means))


def bernoulli_kl_upper(p: ArrayLike, budget: ArrayLike) -> float | NDArray[np.float64]:
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
    >>> import meanbounds as mb
    >>> round(mb.bernoulli_kl_upper(0.5, mb.bernoulli_kl(0.5, 0.9)), 12)
    0.9

    More plays leave less room above the mean seen:

    >>> import numpy as np
    >>> mb.bernoulli_kl_upper(0.5, np.log(1000) / np.array([10, 100, 1000])).round(3)
    array([0.933, 0.68 , 0.559])
    """
    mean, limit = broadcast_floats(p=p, budget=budget)
    _check_unit("p", mean)
    if not np.all(limit >= 0.0):
        raise ValueError(f"bernoulli_kl_upper needs budget >= 0; got budget={shown(budget)}")
    return _scalar_or_array(_each(_kl_upper, mean, limit))


def _check_unit(name: str, means: Floats) -> None:
    if not np.all((means >= 0.0) & (means <= 1.0)):
        raise ValueError(f"{name} must lie in [0, 1]; got {means}")


def _each(function: Callable[..., Floats], *arrays: Floats) -> Floats:
    """The function of each entry; `numpy.vectorize` refuses arrays without entries.

    Infinities on the way to a finite result are part of the method, so numpy is not to warn of them.
    """
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        return function(*arrays) if arrays[0].size else np.zeros(arrays[0].shape)


def _scalar_or_array(value: NDArray[np.float64]) -> float | NDArray[np.float64]:
    return float(value) if value.ndim == 0 else value
