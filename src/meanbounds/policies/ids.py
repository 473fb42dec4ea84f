"""Information-directed sampling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from meanbounds.kernels.arms import textbook
from meanbounds.policies.direct import ThompsonSampling

__all__ = ["IDS"]


@dataclass(frozen=True)
class IDS(ThompsonSampling):
    """Proto."""

    kernel: ClassVar[int] = textbook.IDS
    theorem: ClassVar[str] = ""

    power: float = 2.0

    @property
    def parameters(self) -> NDArray[np.float64]:
        return np.array([*self.prior, self.moments, self.power], dtype=np.float64)
