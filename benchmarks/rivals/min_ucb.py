"""MIN-UCB (Cheung and Lyu, 2024): UCB that also uses a log whose means may be off by a known bias."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from meanbounds.policies import IndexPolicy


@dataclass(frozen=True)
class MINUCB(IndexPolicy):
    """The lesser of two limits: that of `UCB`, and that of all rewards plus the bias times the share of logged ones.

    Differs from the published version: widths are those of `UCB`, with log f(t), so an infinite bias gives `UCB`.

    Parameters
    ----------
    counts, totals
        How many rewards were logged, and their sum in units of the range: one number for each arm, or one for all.
    bias
        How far an arm's mean may be from that of its logged rewards, in reward units.
    """

    uses_bounds = False

    counts: tuple[float, ...] = (0.0,)
    totals: tuple[float, ...] = (0.0,)
    bias: float = np.inf

    def index(self, known: Any, seen: Any, level: Any) -> Any:
        """The index; infinite for an arm without any reward."""
        counts, plays = np.array(self.counts), seen.plays + np.array(self.counts)
        online = np.fmin(np.inf, seen.mean(known) + np.sqrt(2.0 * known.worst_proxy * level / seen.plays))
        pooled = known.low + known.width * (seen.total + np.array(self.totals)) / plays
        pooled = pooled + np.sqrt(2.0 * known.worst_proxy * level / plays)
        return np.where(counts > 0.0, np.fmin(online, pooled + self.bias * counts / plays), online)
