"""Bernoulli divergence and the confidence limit it gives."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanbounds.kernels.arms import divergence as _kernel

__all__ = ["bernoulli_kl", "bernoulli_kl_upper"]

_kl = np.vectorize(_kernel.kl, otypes=[np.float64])
_kl_upper = np.vectorize(_kernel.kl_upper, otypes=[np.float64])


def bernoulli_kl(p: ArrayLike, q: ArrayLike) -> float | NDArray[np.float64]:
    """Divergence ``p log(p/q) + (1-p) log((1-p)/(1-q))``, infinite where q excludes what p allows.

    Examples
    --------
    >>> import meanbounds as mb
    >>> round(mb.bernoulli_kl(0.5, 0.9), 6)
    0.510826
    >>> mb.bernoulli_kl([0.0, 1.0], [0.0, 0.5]).round(6)
    array([0.      , 0.693147])
    """
    return _scalar_or_array(_kl(_unit("p", p), _unit("q", q)))


def bernoulli_kl_upper(p: ArrayLike, budget: ArrayLike) -> float | NDArray[np.float64]:
    """Largest q with ``bernoulli_kl(p, q) <= budget``: the index of KL-UCB at ``budget = log f(t) / plays``.

    Examples
    --------
    >>> import meanbounds as mb
    >>> round(mb.bernoulli_kl_upper(0.5, mb.bernoulli_kl(0.5, 0.9)), 12)
    0.9
    """
    budget = np.asarray(budget, dtype=np.float64)
    if not np.all(budget >= 0.0):
        raise ValueError(f"bernoulli_kl_upper needs budget >= 0; got {budget=}")
    return _scalar_or_array(_kl_upper(_unit("p", p), budget))


def _unit(name: str, value: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(value, dtype=np.float64)
    if not np.all((array >= 0.0) & (array <= 1.0)):
        raise ValueError(f"{name} must lie in [0, 1]; got {array}")
    return array


def _scalar_or_array(value: NDArray[np.float64]) -> float | NDArray[np.float64]:
    return float(value) if value.ndim == 0 else value
