"""How far a number may be off because floating-point numbers have 53 binary digits: the scale of every tolerance."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.support.types import Floats

__all__ = ["rounding"]

_MANY = 4096


def rounding(*sizes: ArrayLike, operations: int = _MANY) -> Floats:
    """Return how far a sum may be off after so many operations on numbers of these sizes.

    Each operation is off by at most half of ``eps = 2**-52`` times the size of its result. A tolerance of this size
    accepts whatever is right but rounded, for large numbers too, and refuses what is wrong, for small ones too.

    Parameters
    ----------
    sizes
        Numbers that go into the result, or arrays that broadcast together; the largest magnitude counts.
    operations
        How many operations there were, at most. The default of 4,096 is for numbers that a user has computed; it is
        about ``1e-12`` times the size.

    Examples
    --------
    >>> from meanbounds.support.rounding import rounding
    >>> bool(abs(0.1 + 0.2 - 0.3) <= rounding(0.3, operations=4))
    True
    >>> bool(abs((1e6 + 0.1) - 1e6 - 0.1) <= rounding(1e6, operations=4))
    True
    >>> float(rounding(0.0, 1.0)), float(rounding(-1e6, 1.0))
    (9.094947017729282e-13, 9.094947017729282e-07)
    """
    largest: Floats = np.zeros(())
    for size in sizes:
        largest = np.maximum(largest, np.abs(np.asarray(size, dtype=np.float64)))
    return np.asarray(operations * np.finfo(np.float64).eps * largest)
