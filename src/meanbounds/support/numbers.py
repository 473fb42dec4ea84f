"""One way to tell a number from anything else that a user may give."""

from __future__ import annotations

import numpy as np

__all__ = ["as_number"]


def as_number(value: object) -> float | None:
    """A number as a float; None for anything else: texts, arrays, missing and masked values, complex numbers, dates.

    Zero-dimensional arrays and numpy's scalars are numbers, and so are True and False: 1 and 0. Whole numbers beyond
    the range of floats are not.

    Examples
    --------
    >>> as_number(1), as_number("1"), as_number([1.0]), as_number(10**400)
    (1.0, None, None, None)
    """
    if value is np.ma.masked or isinstance(value, str | bytes | np.ma.MaskedArray):
        return None
    try:
        array = np.asarray(value)
        return None if array.ndim or array.dtype.kind in "cmM" else float(array[()])
    except (OverflowError, TypeError, ValueError):
        return None
