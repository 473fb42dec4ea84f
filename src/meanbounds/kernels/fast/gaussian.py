"""The index of UCB and GLUE: a line in sqrt(log f), which is exact."""

from __future__ import annotations

from math import sqrt

import numpy as np

from meanbounds.kernels.arms.tables import Ends, Seen, mean_seen
from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.fast.search import SURE
from meanbounds.kernels.fast.stretch import Stretch

__all__ = ["gaussian_line", "gaussian_stretch"]


@compiled
def gaussian_line(seen: Seen, ends: Ends, proxy: float) -> tuple[float, float]:
    """An arm's index as (intercept, slope): its mean, and its width per sqrt(log f)."""
    plays = seen[0]
    if plays == 0.0:
        return np.inf, 0.0
    return mean_seen(seen, ends), sqrt(2.0 * proxy / plays)


@compiled
def gaussian_stretch(root: float, unit_level: float, span: float, proxy: float, log_f: float, floor: float) -> Stretch:
    """Until sqrt(log f) reaches `root` or the arm's index, in units of its range, may have fallen below a level."""
    unit_proxy = proxy / (span * span)
    bend = 0.5 / unit_proxy if unit_proxy > 0.0 else np.inf
    return Stretch(root * root, np.inf, unit_level, unit_level, np.inf, 0.0, 0.0, bend, log_f * SURE, floor)
