"""Means, ratios and shares with their confidence limits."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np
from scipy import stats

from meanbounds.support.types import Floats

CONFIDENCE = 0.95


class Limits(NamedTuple):
    """An estimate, and how far its confidence limits at 95% are from it on either side."""

    value: float
    reach: float

    def __str__(self) -> str:
        digits = 0 if abs(self.value) >= 100.0 else 1
        return f"{self.value:,.{digits}f} ± {self.reach:,.{digits}f}"

    @property
    def share(self) -> str:
        """With two digits, for ratios."""
        return f"{self.value:.2f} ± {self.reach:.2f}"


def mean_limits(regret: Floats, drawn: bool) -> Limits:
    """Mean over worlds and runs (worlds x runs), with limits for other worlds, or for other runs in these worlds."""
    if drawn:
        means = regret.mean(axis=1)
        return Limits(float(means.mean()), _reach(float(means.var(ddof=1)) / means.size, means.size - 1))
    worlds, runs = regret.shape
    variance = float((regret.var(axis=1, ddof=1) / runs).sum()) / worlds**2
    return Limits(float(regret.mean()), _reach(variance, worlds * (runs - 1)))


def ratio_limits(first: Floats, second: Floats) -> Limits:
    """Ratio of two totals over the same worlds, by the delta method; NaN if the second is 0."""
    below = float(second.mean())
    if below == 0.0:
        return Limits(np.nan, np.nan)
    ratio = float(first.mean()) / below
    variance = float((first - ratio * second).var(ddof=1)) / first.size / below**2
    return Limits(ratio, _reach(variance, first.size - 1))


def _reach(variance: float, freedom: int) -> float:
    return float(stats.t.isf((1.0 - CONFIDENCE) / 2.0, freedom)) * sqrt(variance)
