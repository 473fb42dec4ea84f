"""Products with a sparse matrix that is stored row by row, some rows at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from meanbounds.kernels.compiling import compiled
from meanbounds.support.types import Floats

__all__ = ["entries", "product"]

Places = NDArray[np.int64]


@compiled
def entries(start: Places, columns: Places, left: Floats, right: Floats, first: int, last: int, found: Floats) -> None:
    """Entries of ``left @ right.T`` at the stored places of rows `first` to `last`.

    Four sums at once: one alone would wait for each addition, since arithmetic is strict.
    """
    width = left.shape[1]
    whole = width - width % 4
    for i in range(first, last):
        for place in range(start[i], start[i + 1]):
            j = columns[place]
            a = b = c = d = 0.0
            for t in range(0, whole, 4):
                a += left[i, t] * right[j, t]
                b += left[i, t + 1] * right[j, t + 1]
                c += left[i, t + 2] * right[j, t + 2]
                d += left[i, t + 3] * right[j, t + 3]
            for t in range(whole, width):
                a += left[i, t] * right[j, t]
            found[place] = (a + b) + (c + d)


@compiled
def product(
    start: Places, columns: Places, values: Floats, dense: Floats, first: int, last: int, found: Floats
) -> None:
    """Rows `first` to `last` of the sparse matrix times `dense`."""
    width = dense.shape[1]
    for i in range(first, last):
        for t in range(width):
            found[i, t] = 0.0
        for place in range(start[i], start[i + 1]):
            j, value = columns[place], values[place]
            for t in range(width):
                found[i, t] += value * dense[j, t]
