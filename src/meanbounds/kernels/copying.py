"""Copies of arrays as loops.

Where one array is assigned to a slice of another, numba compiles the text of an error for shapes that differ, which
takes seconds, and a test whether the two overlap; both become part of every kernel that calls it.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from meanbounds.kernels.compiling import compiled

__all__ = ["copy_into"]

_Number = TypeVar("_Number", np.float64, np.int64)


@compiled
def copy_into(values: NDArray[_Number], out: NDArray[_Number]) -> None:
    """Copy one row of numbers into another of the same length."""
    for k in range(out.size):
        out[k] = values[k]
