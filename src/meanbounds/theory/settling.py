"""What settling costs at most."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.bounds import MeanBounds
from meanbounds.divergence import bernoulli_kl
from meanbounds.kernels.arms.settle import caps_of_others, level_of
from meanbounds.policies import BIMED, ThompsonSampling
from meanbounds.support.types import Floats
from meanbounds.theory.given import as_rounds, check_means
from meanbounds.theory.passing import plays_until_passed

__all__ = ["settling_plays"]


def settling_plays(
    means: ArrayLike,
    bounds: MeanBounds,
    horizon: int | ArrayLike,
    *,
    policy: BIMED | ThompsonSampling | None = None,
) -> Floats:
    r"""Bound how often settling is expected to play each suboptimal arm in `horizon` rounds.

    Let :math:`c` be the largest upper bound of the other arms that can be best, and :math:`g = \tfrac12 \log f(n)` for
    an arm with upper bound c, half as much for one with a larger upper bound. Such an arm with mean
    :math:`\mu < \mu^*` is expected to be played at most

    .. math:: 1 + \min_{\mu < x < c} \left( \frac{g}{d(x, c)} + \frac{e^{-g\, d(x, \mu) / d(x, c)}}
              {1 - e^{-d(x, \mu)}} \right)

    times because it settled, where d is the Bernoulli divergence in units of the arm's range; an arm with a smaller
    upper bound never settles. Since c is at least the best mean, that is at most about half of the
    :math:`\log n / d(\mu, \mu^*)` plays which every good policy without bounds needs to tell the arm from the best one.

    Parameters
    ----------
    means
        The true means, in the order of the bounds' arms.
    bounds
        The mean bounds that the policy was given; they have to hold.
    horizon
        Number of rounds n, or an array of them; the result then has a row for each.
    policy
        The policy that settles: `BIMED` or `ThompsonSampling`, with any f and one or two moments.

    Notes
    -----
    docs/settling.md has the derivation. It holds for all rewards between the ends of the range. Best arms have entry 0:
    settling on them costs nothing.

    Examples
    --------
    >>> import meanbounds as mb
    >>> bounds = mb.MeanBounds([0.5, 0.4, 0.1], [0.95, 0.95, 0.92])
    >>> mb.theory.settling_plays([0.9, 0.8, 0.5], bounds, [1_000, 1_000_000]).round(1)
    array([[  0. , 118.2,   0. ],
           [  0. , 170.9,   0. ]])
    """
    policy = BIMED() if policy is None else policy
    if not isinstance(policy, BIMED | ThompsonSampling) or not policy.settle:
        raise ValueError(f"the bound is for BIMED and ThompsonSampling with settle=True; got {policy!r}")
    rounds = as_rounds(horizon)
    mu = check_means(means, bounds)
    plan = policy.plan(bounds)
    goals = np.empty(len(plan))
    caps_of_others(plan.cap, goals)
    log_f = np.array([policy.log_f(n, n)[0] for n in rounds.ravel().tolist()]).reshape(rounds.shape)
    plays = np.zeros((*rounds.shape, len(bounds)))
    for k in np.nonzero((plan.cap >= goals) & (mu[plan.arms] < mu.max()))[0]:
        arm = plan.arms[k]
        mean, goal = (min(1.0, (float(value) - plan.low[k]) / plan.width[k]) for value in (mu[arm], goals[k]))
        level = level_of(float(plan.cap[k]), float(goals[k]))
        found = plays_until_passed(mean, np.array([goal]), level * log_f, bernoulli_kl, bernoulli_kl)
        plays[..., arm] = np.minimum(1.0 + found[..., 0], rounds)
    return plays
