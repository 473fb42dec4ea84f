"""Bernoulli divergence and its inverse, for compiled code; `meanbounds.divergence` offers them to everyone."""

from __future__ import annotations

from math import exp, log, sqrt

from meanbounds.kernels.compiling import compiled

__all__ = ["excess", "kl", "kl_between", "kl_ceiling", "kl_upper", "top"]


@compiled
def excess(x: float, ratio: float) -> float:
    """``x - log(1 + x)``, which is never negative; ``ratio = 1 + x``."""
    if abs(x) < 0.02:
        series = 0.0
        for n in range(10, 1, -1):
            series = 1.0 / n - x * series
        return x * x * series
    return x - log(ratio)


@compiled
def kl(p: float, q: float) -> float:
    """Divergence of Bernoulli(p) from Bernoulli(q); infinite where q excludes what p allows."""
    return kl_between(p, 1.0 - p, q, 1.0 - q)


@compiled
def kl_between(p: float, not_p: float, q: float, not_q: float) -> float:
    """`kl` of p and q that are given with ``not_p = 1 - p`` and ``not_q = 1 - q``, for where these are tiny.

    Written as ``p e(d/p) + (1-p) e(-d/(1-p))`` with d = q - p and e(x) = x - log(1 + x): nothing cancels where p and q
    are close.
    """
    d = q - p if p <= not_p else not_p - not_q
    if d == 0.0:
        return 0.0
    if (q <= 0.0 and p > 0.0) or (not_q <= 0.0 and not_p > 0.0):
        return float("inf")
    value = 0.0
    if p > 1e-290:  # below, d / p might overflow
        value += p * excess(d / p, q / p)
    else:
        value += d
    if not_p > 1e-290:
        value += not_p * excess(-d / not_p, not_q / not_p)
    else:
        value -= d
    return value


@compiled
def kl_ceiling(p: float, budget: float) -> float:
    """Cheap bound above `kl_upper`: the lesser of Pinsker's and of the divergence's without its term -p log q."""
    entropy = p * log(p) if p > 0.0 else 0.0
    return min(p + sqrt(budget / 2.0), 1.0 - (1.0 - p) * exp((entropy - budget) / (1.0 - p)))


@compiled
def top(q: float) -> float:
    """Q, or 1 where it is closer to 1 than 1e-12."""
    return 1.0 if q > 1.0 - 1e-12 else q


@compiled
def kl_upper(p: float, budget: float) -> float:
    """Largest q with ``kl(p, q) <= budget``.

    Newton's method on a convex increasing function, started above the root: the iterates fall monotonically, and the
    first that does not fall is the root to the last digit that the function resolves. A root that can hardly be told
    from 1 is 1, so that such arms tie instead of being ranked by rounding errors.
    """
    if p >= 1.0 or budget <= 0.0:
        return min(p, 1.0)
    q = kl_ceiling(p, budget)
    for _ in range(100):
        if q >= 1.0 or q <= p:
            break
        step = (kl(p, q) - budget) * q * (1.0 - q) / (q - p)
        if not step > 0.0 or q - step >= q:
            break
        q -= step
    return max(p, top(q))
