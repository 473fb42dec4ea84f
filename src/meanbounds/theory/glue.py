"""The finite-time bound of GLUE, and of every policy with the same index."""

from __future__ import annotations

from typing import overload

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.bounds import MeanBounds
from meanbounds.kernels.arms.textbook import GAUSSIAN
from meanbounds.policies import EXPLORATION, GLUE, Policy
from meanbounds.policies.exploration import DEFAULT
from meanbounds.subgaussian import variance_proxy
from meanbounds.support.checks import as_floats
from meanbounds.support.types import Floats
from meanbounds.theory.given import Form, as_rounds, check_form, check_means, check_optimism, used_bounds

__all__ = ["glue_plays", "glue_regret", "meta_pruned_plays"]


def glue_plays(
    means: ArrayLike,
    bounds: MeanBounds,
    horizon: int | ArrayLike,
    *,
    policy: Policy | None = None,
    form: Form = "corrected",
) -> Floats:
    r"""Bound how often GLUE is expected to play each suboptimal arm in `horizon` rounds.

    For an arm with gap :math:`\Delta` that the bounds do not prune it is the smaller of

    .. math:: 2 + \frac{\left((5\psi_1)^{1/3} + (2g)^{1/3}\right)^3}{\Delta^2}, \qquad
              \frac{5\psi_1}{(\mu^* - u)^2} \text{ if } u < \mu^*,

    where :math:`\psi_1` is the variance proxy that the policy uses for a best arm (the smallest, if there are several),
    :math:`\psi` the one it uses for the arm itself, :math:`\sigma` the one that the arm's true mean has, and
    :math:`g = \psi \log f(n) + \sqrt{\pi \psi \sigma \log f(n)} + \sigma`. The first is the infimum over epsilon in the
    proof, in closed form. A pruned arm has 0 plays, a best arm all of them; no bound exceeds the horizon.

    Parameters
    ----------
    means
        The true means, in the order of the bounds' arms.
    bounds
        The mean bounds that the policy was given.
    horizon
        Number of rounds n, or an array of them; the result then has a row for each.
    policy
        Another policy with the same index but its own variance proxies, for example ``mb.BUCB()``; GLUE by default.
        Its proxy for the best arm has to be valid, and its f the default, for which the sum of 1/f(t) is below 5/2.
    form
        ``"paper"``: Theorem 6 with Appendix C as printed: constant 1, the printed h(n), the arm's factor from its
        bounds, one delta for all arms (the one that makes the bound on regret least), no limit at the horizon. Actual
        plays can exceed it: its h(n) is too small where 20 psi_1 is below 8.

    Notes
    -----
    Theorem 6 and Appendix C. Differs from the paper: the coefficient of h(n) is corrected (here the infimum itself is
    used), the play from zero plays is counted, so the constant is 2, sigma is that of the arm's true mean, and both
    bounds hold for every arm, so that no delta has to be chosen.

    Examples
    --------
    >>> import meanbounds as mb
    >>> bounds = mb.MeanBounds([0.85, 0.4, 0.1], [0.98, 0.97, 0.87])
    >>> mb.theory.glue_plays([0.9, 0.8, 0.5], bounds, [1_000, 1_000_000]).astype(int)
    array([[   1000,    1000,     163],
           [1000000,    3438,     220]])

    The third arm's upper bound 0.87 is below the best mean 0.9, so its plays stay bounded however long GLUE runs.
    """
    check_form(form)
    policy = GLUE() if policy is None else policy
    if not isinstance(policy, Policy) or policy.f != DEFAULT or policy.kernel != GAUSSIAN:
        raise ValueError(f"the theorem is for the index of UCB and GLUE with f = {DEFAULT}; got {policy!r}")
    rounds = as_rounds(horizon)
    bounds = used_bounds(policy, bounds)
    mu = check_means(means, bounds)
    lead = check_optimism(policy, mu, bounds)
    kept, best = policy.plan(bounds), mu.max()
    plan = kept.select(mu[kept.arms] < best)
    arms, cap, factor = plan.arms, plan.cap, plan.proxy
    gap = best - mu[arms]
    noise = variance_proxy(mu, low=bounds.low, high=bounds.high) if form == "corrected" else bounds.variance_proxy
    sigma = np.atleast_1d(noise)[arms]
    log_f = np.log(EXPLORATION[DEFAULT](rounds.astype(np.float64)))[..., None]
    g = factor * log_f + np.sqrt(np.pi * factor * sigma * log_f) + sigma
    beyond = meta_pruned_plays(lead, best - cap)
    with np.errstate(over="ignore"):  # gaps so small that they take forever to see
        if form == "corrected":
            live = 2.0 + (np.cbrt(5.0 * lead) + np.cbrt(2.0 * g)) ** 3 / gap / gap
            found = np.minimum(np.minimum(live, beyond), rounds[..., None])
        else:
            root = np.cbrt(20.0 * lead)
            more = root * (1.0 + root) * np.cbrt(g) ** 2 + 3.0 * np.cbrt(g) * np.cbrt(5.0 * np.sqrt(2.0) * lead) ** 2
            found = _common_delta(1.0 + (5.0 * lead + 2.0 * g + more) / gap / gap, beyond, gap, best - cap)
    plays = np.zeros((*rounds.shape, len(bounds)))
    plays[..., kept.arms[mu[kept.arms] == best]] = rounds[..., None]
    plays[..., arms] = found
    return plays


def meta_pruned_plays(lead: float, distance: Floats) -> Floats:
    """Bound the expected plays of an arm whose cap is this far below the best mean; infinite where it is not below.

    Parameters
    ----------
    lead
        Variance proxy that the policy uses for a best arm.
    distance
        Best mean less the arm's cap, in reward units.

    Examples
    --------
    >>> import numpy as np
    >>> from meanbounds.theory.glue import meta_pruned_plays
    >>> meta_pruned_plays(0.25, np.array([0.5, 0.1, -0.1])).round(6)
    array([  5., 125.,  inf])
    """
    below = np.where(distance > 0.0, distance, 1.0)
    with np.errstate(over="ignore"):
        return np.where(distance > 0.0, 5.0 * lead / below / below, np.inf)


def _common_delta(live: Floats, beyond: Floats, gap: Floats, distance: Floats) -> Floats:
    """The plays at the delta that makes regret least: an arm counts as meta-pruned if its distance is above delta.

    The bound changes only where delta passes one of the distances, so it is enough to try these and 0.
    """
    thresholds = np.unique(np.maximum(distance[np.isfinite(distance)], 0.0))
    choices = [np.where(distance > delta, beyond, live) for delta in np.union1d(thresholds, [0.0])]
    plays = np.stack(choices)
    least = np.argmin(plays @ gap, axis=0)
    chosen: Floats = np.take_along_axis(plays, least[None, ..., None], axis=0)[0]
    return chosen


@overload
def glue_regret(
    means: ArrayLike, bounds: MeanBounds, horizon: int, *, policy: Policy | None = None, form: Form = "corrected"
) -> float: ...
@overload
def glue_regret(
    means: ArrayLike, bounds: MeanBounds, horizon: ArrayLike, *, policy: Policy | None = None, form: Form = "corrected"
) -> float | Floats: ...
def glue_regret(
    means: ArrayLike,
    bounds: MeanBounds,
    horizon: int | ArrayLike,
    *,
    policy: Policy | None = None,
    form: Form = "corrected",
) -> float | Floats:
    """Bound the expected regret of GLUE after `horizon` rounds: gaps times `glue_plays`.

    Plays add up to the horizon. Where the bounds on plays add up to more, the arms with the largest gaps are counted
    first, so the result is still a bound.

    Parameters
    ----------
    means, bounds, horizon, policy, form
        As for `glue_plays`; for an array of horizons the result is an array.

    Examples
    --------
    >>> import meanbounds as mb
    >>> bounds = mb.MeanBounds([0.85, 0.4], [0.98, 0.97])
    >>> round(mb.theory.glue_regret([0.9, 0.8], bounds, 10_000))
    286
    >>> mb.theory.glue_regret([0.9, 0.8], bounds, [100, 10_000, 1_000_000]).round()
    array([ 10., 286., 344.])
    >>> round(mb.theory.glue_regret([0.9, 0.8], bounds, 10_000, form="paper"))
    274
    """
    plays = glue_plays(means, bounds, horizon, policy=policy, form=form)
    mu = as_floats("means", means)
    gap = mu.max() - mu
    if form == "corrected":
        worst_first = np.argsort(-gap)
        total = np.cumsum(plays[..., worst_first], axis=-1)
        filled = np.minimum(total, as_rounds(horizon)[..., None])
        plays, gap = np.diff(filled, axis=-1, prepend=0.0), gap[worst_first]
    regret = np.asarray(plays @ gap)
    return float(regret) if regret.ndim == 0 else regret
