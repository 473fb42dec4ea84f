"""Named instances: means and bounds to try policies on.

The paper's four-panel figure gives no numbers; each of these satisfies what the caption of one panel claims.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from meanbounds.bounds import MeanBounds

__all__ = ["INSTANCES", "Instance"]


@dataclass(frozen=True)
class Instance:
    """Means of the arms, what is known of them, and what is special about it."""

    title: str
    means: tuple[float, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]

    @property
    def bounds(self) -> MeanBounds:
        """The mean bounds."""
        return MeanBounds(self.lower, self.upper, [f"arm {k + 1}" for k in range(len(self.means))])

    @property
    def meta_pruned(self) -> NDArray[np.bool_]:
        """Arms that are played a bounded number of times, see `MeanBounds.meta_pruned`."""
        return self.bounds.meta_pruned(max(self.means))


INSTANCES: dict[str, Instance] = {
    "high-lower-bound": Instance(
        "l_max above 1/2; arm 3 is meta-pruned",
        means=(0.90, 0.80, 0.70, 0.60, 0.50),
        lower=(0.85, 0.40, 0.30, 0.20, 0.10),
        upper=(0.98, 0.97, 0.87, 0.95, 0.93),
    ),
    "meta-pruned": Instance(
        "bounds say nothing of the factors; arm 2 is meta-pruned",
        means=(0.70, 0.60, 0.50, 0.45, 0.35),
        lower=(0.35, 0.30, 0.20, 0.10, 0.05),
        upper=(0.95, 0.66, 0.90, 0.85, 0.80),
    ),
    "low-rewards": Instance(
        "all upper bounds below 1/2; ImprovedUCB and GLUE coincide",
        means=(0.20, 0.15, 0.10, 0.08, 0.05),
        lower=(0.05, 0.05, 0.02, 0.02, 0.00),
        upper=(0.30, 0.28, 0.26, 0.24, 0.22),
    ),
    "clipping-only": Instance(
        "bounds say nothing of the factors and only clip",
        means=(0.60, 0.50, 0.45, 0.40, 0.30),
        lower=(0.20, 0.15, 0.10, 0.10, 0.05),
        upper=(0.90, 0.80, 0.75, 0.70, 0.65),
    ),
}
