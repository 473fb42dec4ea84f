"""UCBoost (Liu, Sinha and Shroff, 2018): B-KL-UCB with closed forms in place of its index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from meanbounds.policies import IndexPolicy
from meanbounds.theory import bernoulli_kl


@dataclass(frozen=True)
class UCBoost(IndexPolicy):
    """The index is the least of four bounds above that of B-KL-UCB.

    Each inverts a function that is never above the divergence: biquadratic, squared Hellinger distance, the divergence
    without its term ``-p log q``, and its tangent at ``(1 + p) / 2``.
    """

    def index(self, known: Any, seen: Any, level: Any) -> Any:
        """The clipped index; the upper bound of an arm that was never played."""
        p = np.clip(np.where(seen.plays > 0.0, seen.total / seen.plays, 0.5), 0.0, 1.0)
        budget = np.where(seen.plays > 0.0, level / seen.plays, 0.0)
        q = np.minimum(1.0, p + np.sqrt(np.sqrt(81.0 / 16.0 + 2.25 * budget) - 2.25))
        hellinger = np.sqrt(p) * (1.0 - budget / 2.0) + np.sqrt((1.0 - p) * np.maximum(budget - budget**2 / 4.0, 0.0))
        q = np.where(budget < 2.0 - 2.0 * np.sqrt(p), np.minimum(q, hellinger**2), q)
        entropy = np.where((p > 0.0) & (p < 1.0), p * np.log(p) + (1.0 - p) * np.log(1.0 - p), 0.0)
        q = np.where(p < 1.0, np.fmin(q, 1.0 - np.exp((entropy - budget) / (1.0 - p))), 1.0)
        middle = (1.0 + p) / 2.0
        q = np.maximum(p, np.minimum(q, middle + (budget - bernoulli_kl(p, middle)) * middle))
        index = np.where(seen.plays > 0.0, np.minimum(known.upper, known.low + known.width * q), known.upper)
        return np.where(known.possible, index, -np.inf)
