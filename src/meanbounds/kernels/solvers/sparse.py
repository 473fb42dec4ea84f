"""Entries of a low-rank matrix at the places of a sparse one: the product that scipy does not have."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from meanbounds.kernels.compiling import compiled
from meanbounds.support.types import Floats

__all__ = ["entries"]

Places = NDArray[np.int32]


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
