"""Short names for the array types: `Booleans`, `Floats` and `Integers` are numpy arrays of these."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Booleans", "Floats", "Integers"]

Booleans = NDArray[np.bool_]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
