"""Confidence limits on the mean of a variable in [0, 1], from its rows, their sum and the sum of their squares."""

from __future__ import annotations

from math import log

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.divergence import kl_upper
from meanbounds.support.types import Floats

__all__ = ["as_nats", "lower_limit", "upper_limit"]

_LOG_TWO = log(2.0)
_LOST = 2.0**-49  # more than a sum of squares loses by rounding in each row, so that no variance is too small


def upper_limit(rows: ArrayLike, total: ArrayLike, squares: ArrayLike, nats: ArrayLike) -> Floats:
    """A number that the mean exceeds with probability at most ``exp(-nats)``; the mean of the rows if nats is 0.

    It is the lesser of two limits, each with half of the probability: Chernoff's, by the Kullback-Leibler divergence,
    which is the better one for rewards of 0 and 1, and the empirical Bernstein limit of Maurer and Pontil (2009), which
    is the better one for many rows that vary little. Rows are independent, and how many there are does not depend on
    their values. Without a row the limit is 1. The arguments broadcast together.

    Examples
    --------
    Of 100 rows 50 are 1 and the others 0; then all 100 are near 1/2:

    >>> from meanbounds.logs.confidence import as_nats, upper_limit
    >>> round(float(upper_limit(100, 50, 50, as_nats(0.05))), 3)
    0.633
    >>> round(float(upper_limit(1000, 500, 250.1, as_nats(0.05))), 3)
    0.511
    """
    rows, total, squares, nats = np.broadcast_arrays(
        *(np.asarray(a, dtype=float) for a in (rows, total, squares, nats))
    )
    seen = rows > 0.0
    size = np.where(seen, rows, 1.0)
    mean = np.clip(total / size, 0.0, 1.0)
    level = np.where(nats > 0.0, nats + _LOG_TWO, 0.0)
    chernoff = kl_upper(mean, level / size)
    level = np.where(nats > 0.0, level + _LOG_TWO, 0.0)
    free = np.maximum(size - 1.0, 0.5)
    variance = (np.maximum(squares - total * mean, 0.0) + _LOST * size) / free
    bernstein = mean + np.sqrt(2.0 * variance * level / size) + 7.0 * level / (3.0 * free)
    return np.where(seen, np.clip(np.minimum(chernoff, bernstein), 0.0, 1.0), 1.0)


def lower_limit(rows: ArrayLike, total: ArrayLike, squares: ArrayLike, nats: ArrayLike) -> Floats:
    """A number that the mean is below with probability at most ``exp(-nats)``; see `upper_limit`."""
    rows, total, squares = (np.asarray(part, dtype=float) for part in (rows, total, squares))
    return 1.0 - upper_limit(rows, rows - total, rows - 2.0 * total + squares, nats)


def as_nats(failure: float) -> float:
    """Minus the logarithm of a probability of failure; the limits add nats where failures share a probability."""
    if not 0.0 < failure < 1.0:
        raise ValueError(f"a probability of failure is between 0 and 1; got {failure!r}")
    return -log(failure)
