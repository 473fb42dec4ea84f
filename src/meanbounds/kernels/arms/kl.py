"""Index of KL-UCB and B-KL-UCB, and UCBoost's closed-form approximation of it."""

from __future__ import annotations

from math import exp, log, sqrt

from meanbounds.kernels.arms.divergence import kl, kl_upper, top
from meanbounds.kernels.arms.tables import Plan, State
from meanbounds.kernels.compiling import compiled

__all__ = ["boost_upper", "kl_index"]


@compiled
def boost_upper(p: float, budget: float) -> float:
    """Bound above `kl_upper` without solving an equation: the least of four (Liu, Sinha and Shroff, 2018).

    Each inverts a function that is never above the divergence: biquadratic, squared Hellinger distance, the divergence
    without its term ``-p log q``, and its tangent at ``(1 + p) / 2``.
    """
    if p >= 1.0:
        return 1.0
    q = min(1.0, p + sqrt(sqrt(81.0 / 16.0 + 2.25 * budget) - 2.25))
    if budget < 2.0 - 2.0 * sqrt(p):
        q = min(q, (sqrt(p) * (1.0 - budget / 2.0) + sqrt((1.0 - p) * (budget - budget**2 / 4.0))) ** 2)
    entropy = p * log(p) if p > 0.0 else 0.0
    q = min(q, 1.0 - (1.0 - p) * exp((entropy - budget) / (1.0 - p)))
    middle = (1.0 + p) / 2.0
    q = min(q, middle + (budget - kl(p, middle)) * middle)
    return top(max(p, q))


@compiled
def kl_index(plan: Plan, state: State, k: int, log_f: float, boosted: bool) -> float:
    """Largest mean whose divergence from what was seen is at most ``log f / plays``, clipped to the cap.

    `boosted` takes `boost_upper` in place of the exact inverse of the divergence.
    """
    arm = int(plan.arm[k])
    plays = state.plays[arm]
    if plays == 0.0:
        return float(plan.cap[k])
    total, shortfall, budget = state.total[arm], state.shortfall[arm], log_f / plays
    p = total / plays if total <= shortfall else 1.0 - shortfall / plays
    upper = boost_upper(p, budget) if boosted else kl_upper(p, budget)
    return float(min(plan.cap[k], plan.low[k] + plan.span[k] * upper))
