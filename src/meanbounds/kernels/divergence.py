"""Bernoulli divergence and its inverse, for compiled code; `meanbounds.divergence` offers them to everyone."""

from __future__ import annotations

from math import exp, log, sqrt

from meanbounds.kernels.compiling import compiled

__all__ = ["kl", "kl_ceiling", "kl_upper", "top"]


@compiled
def kl(p: float, q: float) -> float:
    """Divergence of Bernoulli(p) from Bernoulli(q); infinite where q excludes what p allows."""
    if p == q:
        return 0.0
    if (q <= 0.0 and p > 0.0) or (q >= 1.0 and p < 1.0):
        return float("inf")
    value = 0.0
    if p > 0.0:
        value += p * log(p / q)
    if p < 1.0:
        value += (1.0 - p) * log((1.0 - p) / (1.0 - q))
    return max(value, 0.0)


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
