"""Variance proxies of bounded rewards, from their mean or from bounds on their mean.

A reward on [low, high] is always subgaussian with variance proxy ``(high - low)**2 / 4``. Knowing its mean, or
bounds on its mean, gives a smaller proxy, hence less exploration for the same guarantee.
"""

from __future__ import annotations

from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.support.checks import LARGEST, SMALLEST_WIDTH, broadcast_floats, fits_range
from meanbounds.support.types import Floats

__all__ = ["proxy_between", "variance_proxy", "variance_proxy_from_bounds"]


@overload
def variance_proxy(mean: float, *, low: float = 0.0, high: float = 1.0) -> float: ...
@overload
def variance_proxy(mean: ArrayLike, *, low: ArrayLike = 0.0, high: ArrayLike = 1.0) -> float | Floats: ...
def variance_proxy(mean: ArrayLike, *, low: ArrayLike = 0.0, high: ArrayLike = 1.0) -> float | Floats:
    r"""Smallest variance proxy that every reward on [low, high] with this mean has.

    With ``m = (mean - low) / (high - low)`` it is ``(high - low)**2 * c(m)``, where

    .. math:: c(m) = \max_s \frac{2}{s^2} \log\left(m e^{s(1-m)} + (1-m) e^{-sm}\right)
                   = \frac{1 - 2m}{2 \log((1-m)/m)},

    ``c(1/2) = 1/4`` and ``c(0) = c(1) = 0``; the maximum is at ``s = 2 log((1-m)/m)``.

    Parameters
    ----------
    mean, low, high
        Numbers or arrays that broadcast together, ``low <= mean <= high`` and ``low < high``. A range is at least
        1e-150 wide and lies between -1e150 and 1e150.

    Returns
    -------
    The proxy (sigma squared, not sigma), to full floating-point precision.

    Notes
    -----
    Theorem 3 of the paper. Differs from the paper: the closed form (Kearns and Saul, 1998) in place of a numerical
    maximum; the bracket printed for that maximum misses it for means above 0.7822 and gives too small a proxy.

    Examples
    --------
    >>> from meanbounds.theory import variance_proxy
    >>> round(variance_proxy(0.9), 6)
    0.182048
    >>> variance_proxy([0.5, 1.0])
    array([0.25, 0.  ])
    >>> variance_proxy(3.0, low=1.0, high=5.0)
    4.0
    """
    mean, low, high = broadcast_floats(mean=mean, low=low, high=high)
    fits = fits_range(low, high)
    if not np.all((low <= mean) & (mean <= high) & fits):
        if np.all(fits):
            raise ValueError(f"variance_proxy needs low <= mean <= high; got {mean=}, {low=}, {high=}")
        raise _no_range("variance_proxy needs low <= mean <= high", low, high)
    return _proxy(mean, low, high)


def _no_range(needs: str, low: Floats, high: Floats) -> ValueError:
    return ValueError(
        f"{needs} and low < high, in a range that is at least {SMALLEST_WIDTH:g} wide and between {-LARGEST:g} and "
        f"{LARGEST:g}; got {low=}, {high=}"
    )


def _proxy(mean: Floats, low: Floats, high: Floats) -> float | Floats:
    """The proxy of means and ranges that were checked, all of one shape."""
    above, below, span = mean - low, high - mean, high - low
    tail = np.minimum(above, below) / span  # distance to the nearer end: exact where the proxy is steep
    skew = np.abs(below - above) / span  # |1 - 2m|: exact near the middle
    with np.errstate(divide="ignore", invalid="ignore"):
        # 2 log((1-m)/m) = 4 artanh(1 - 2m): the first form is precise near the ends, the second near the middle.
        log_odds = np.where(tail < 0.25, np.log1p(-tail) - np.log(tail), 2.0 * np.arctanh(skew))
        proxy = np.where(skew > 0.0, skew / (2.0 * log_odds), 0.25) * span**2
    return float(proxy) if proxy.ndim == 0 else proxy


def proxy_between(lower: Floats, upper: Floats, low: Floats, high: Floats) -> Any:
    """`variance_proxy_from_bounds` of numbers that were checked: the proxy at the point nearest to the middle."""
    return _proxy(np.clip(low + (high - low) / 2.0, lower, upper), low, high)


@overload
def variance_proxy_from_bounds(lower: float, upper: float, *, low: float = 0.0, high: float = 1.0) -> float: ...
@overload
def variance_proxy_from_bounds(
    lower: ArrayLike, upper: ArrayLike, *, low: ArrayLike = 0.0, high: ArrayLike = 1.0
) -> float | Floats: ...
def variance_proxy_from_bounds(
    lower: ArrayLike, upper: ArrayLike, *, low: ArrayLike = 0.0, high: ArrayLike = 1.0
) -> float | Floats:
    """Smallest variance proxy that every reward on [low, high] with a mean in [lower, upper] has.

    The proxy grows towards the middle of the range, so this is `variance_proxy` at the point of [lower, upper]
    nearest to the middle.

    Parameters
    ----------
    lower, upper, low, high
        Numbers or arrays that broadcast together, ``low <= lower <= upper <= high`` and ``low < high``.

    Notes
    -----
    Corollary 3.1 of the paper, in any range.

    Examples
    --------
    >>> from meanbounds.theory import variance_proxy, variance_proxy_from_bounds
    >>> variance_proxy_from_bounds(0.2, 0.7)
    0.25
    >>> variance_proxy_from_bounds(0.9, 1.0) == variance_proxy(0.9)
    True
    """
    lower, upper, low, high = broadcast_floats(lower=lower, upper=upper, low=low, high=high)
    fits = fits_range(low, high)
    if not np.all((low <= lower) & (lower <= upper) & (upper <= high) & fits):
        if np.all(fits):
            raise ValueError(f"bounds need low <= lower <= upper <= high; got {lower=}, {upper=}, {low=}, {high=}")
        raise _no_range("bounds need low <= lower <= upper <= high", low, high)
    return proxy_between(lower, upper, low, high)
