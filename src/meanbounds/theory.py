"""What the theorems promise, as functions."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanbounds.bounds import MeanBounds
from meanbounds.kernels.textbook import GAUSSIAN
from meanbounds.policies import GLUE, Policy
from meanbounds.policies.exploration import DEFAULT
from meanbounds.subgaussian import variance_proxy

__all__ = ["glue_plays", "glue_regret"]


def glue_plays(means: ArrayLike, bounds: MeanBounds, horizon: int, policy: Policy | None = None) -> NDArray[np.float64]:
    r"""Bound on the expected plays of each suboptimal arm under GLUE after `horizon` rounds.

    For an arm that is kept, with gap :math:`\Delta`, the least of two bounds:

    .. math:: 2 + \frac{\left((5\psi_1)^{1/3} + (2g)^{1/3}\right)^3}{\Delta^2}, \qquad
              \frac{5\psi_1}{(\mu^* - u)^2} \text{ if } u < \mu^*,

    where :math:`\psi_1` is the factor of the best arm, :math:`\psi` and :math:`\sigma` those of the arm itself,
    :math:`g = \psi \log f(n) + \sqrt{\pi \psi \sigma \log f(n)} + \sigma`. The first is the infimum over epsilon of the
    proof, in closed form. A pruned arm has 0, a best arm the horizon; no bound exceeds the horizon.

    Parameters
    ----------
    means
        The true means, in the order of the bounds' arms.
    bounds
        The mean bounds that the policy was given.
    horizon
        Number of rounds n.
    policy
        Another policy with the same index and its own factors, for example ``mb.BUCB()``; GLUE by default. Its factor
        for the best arm has to be valid, and its f must be the default, for which the sum of 1/f(t) is below 5/2.

    Notes
    -----
    Theorem 6 and Appendix C. Differs from the paper: the coefficient of h(n) is corrected (here the infimum itself is
    used), the play from zero plays is counted, so the constant is 2, and both bounds hold for every arm, so that no
    delta has to be chosen.
    """
    policy = GLUE() if policy is None else policy
    if policy.f != DEFAULT or policy.kernel != GAUSSIAN:
        raise ValueError(f"the theorem is for the index of UCB and GLUE with f = {DEFAULT}; got {policy!r}")
    mu = np.asarray(means, dtype=np.float64)
    if mu.shape != (len(bounds),):
        raise ValueError(f"{mu.size} means for {len(bounds)} arms")
    if isinstance(horizon, bool) or not isinstance(horizon, int | np.integer) or horizon < 1:
        raise ValueError(f"horizon must be a whole number, at least 1; got {horizon!r}")
    for k in np.flatnonzero((mu < bounds.lower) | (mu > bounds.upper)).tolist():
        raise ValueError(
            f"arm {bounds.arms[k]!r}: its mean {mu[k]} is outside its bounds [{bounds.lower[k]}, {bounds.upper[k]}]: "
            "no theorem applies"
        )
    plan = policy.plan(bounds)
    kept, cap, factor = plan[0].astype(np.intp), plan[4], plan[5]
    best = mu.max()
    optimal = [psi for k, psi in zip(kept, factor, strict=True) if mu[k] == best]
    lead, log_f = 5.0 * max(optimal), float(policy.log_f(horizon, horizon)[0])
    plays = np.zeros(len(bounds))
    for k, u, psi in zip(kept, cap, factor, strict=True):
        gap = best - mu[k]
        if gap == 0.0:
            plays[k] = horizon
            continue
        sigma = float(variance_proxy(float(mu[k]), float(bounds.low[k]), float(bounds.high[k])))
        g = psi * log_f + math.sqrt(math.pi * psi * sigma * log_f) + sigma
        plays[k] = 2.0 + (lead ** (1 / 3) + (2.0 * g) ** (1 / 3)) ** 3 / gap**2
        if u < best:
            plays[k] = min(plays[k], lead / (best - u) ** 2)
    return np.minimum(plays, horizon)


def glue_regret(means: ArrayLike, bounds: MeanBounds, horizon: int, policy: Policy | None = None) -> float:
    """Bound on the expected regret of GLUE after `horizon` rounds: gaps times `glue_plays`.

    Examples
    --------
    >>> import meanbounds as mb
    >>> bounds = mb.MeanBounds([0.85, 0.4], [0.98, 0.97])
    >>> round(mb.theory.glue_regret([0.9, 0.8], bounds, 10_000))
    286
    """
    mu = np.asarray(means, dtype=np.float64)
    return float(glue_plays(means, bounds, horizon, policy) @ (mu.max() - mu))
