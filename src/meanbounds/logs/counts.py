"""placeholder"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Context = Any


@dataclass(frozen=True, eq=False)
class Counts:
    contexts: tuple[Any, ...]
    arms: tuple[Any, ...]
    count: NDArray[np.float64]
    total: NDArray[np.float64]
    squares: NDArray[np.float64]
    low: float
    high: float
    dropped: Mapping[str, int]
    values_low: NDArray[np.float64] | None = None
    values_high: NDArray[np.float64] | None = None
    histogram: NDArray[np.float64] | None = None
