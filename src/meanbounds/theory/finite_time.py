"""Bounds on plays and regret after n rounds, for GLUE and the policies with the same index."""

from __future__ import annotations

from typing import overload

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.bounds import MeanBounds
from meanbounds.policies import GLUE, Policy
from meanbounds.policies.base import DEFAULT
from meanbounds.subgaussian import variance_proxy
from meanbounds.support.checks import LARGEST, as_float, as_floats, broadcast_floats, shown
from meanbounds.support.types import Floats
from meanbounds.theory.conditions import Form, as_rounds, check_form, check_means, index_form

__all__ = ["glue_plays", "glue_regret", "meta_pruned_plays", "uncertain_regret"]


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
    :math:`g = \psi \log f(n) + \sqrt{\pi \psi \sigma \log f(n)} + \sigma`. A pruned arm has 0 plays, a best arm all of
    them; no bound exceeds the horizon.

    Parameters
    ----------
    means
        The true means, in the order of the bounds' arms.
    bounds
        The mean bounds that the policy was given. They must hold, unless the policy ignores them.
    horizon
        Number of rounds n, or an array of them; the result then has a row for each.
    policy
        `UCB`, `BUCB` or `ImprovedUCB` instead of `GLUE`, which have the same index with other variance proxies. Their f
        must be the default, for which the sum of 1/f(t) is below 5/2.
    form
        ``"paper"`` for Theorem 6 with Appendix C as printed: constant 1, the printed h(n), the arm's factor from its
        bounds, one delta for all arms (the one that makes the bound on regret least), no limit at the horizon.

    Notes
    -----
    Theorem 6 and Appendix C. Differs from the paper: in place of h(n), whose printed coefficient is too small wherever
    20 psi_1 < 8 (always on [0, 1]), there is the infimum over epsilon in closed form; the play from zero plays is
    counted, so the constant is 2; sigma is that of the arm's true mean; both bounds hold for every arm, so no delta has
    to be chosen.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.theory import glue_plays
    >>> bounds = mb.MeanBounds([0.85, 0.4, 0.1], [0.98, 0.97, 0.87])
    >>> glue_plays([0.9, 0.8, 0.5], bounds, [1_000, 1_000_000]).astype(int)
    array([[   1000,    1000,     163],
           [1000000,    3438,     220]])
    """
    check_form(form)
    policy = GLUE() if policy is None else policy
    bounds, kept, cap, factor = index_form(policy, bounds)
    if factor is None or policy.f != DEFAULT:
        raise ValueError(f"the theorem is for UCB, BUCB, ImprovedUCB and GLUE with f = {DEFAULT}; got {policy!r}")
    rounds, mu = as_rounds(horizon), check_means(means, bounds)
    best = mu.max()
    gap, beyond = best - mu, best - cap
    lead = float(factor[kept & (mu == best)].min())
    noise = variance_proxy(mu, low=bounds.low, high=bounds.high) if form == "corrected" else bounds.variance_proxy
    sigma, n = np.asarray(noise), rounds[..., None]
    log_f = np.log(1.0 + n * np.log(n) ** 2)  # written out: the theorem is about this f, whatever policies use
    g = factor * log_f + np.sqrt(np.pi * factor * sigma * log_f) + sigma
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        seldom = meta_pruned_plays(lead, beyond)
        if form == "corrected":
            often = 2.0 + (np.cbrt(5.0 * lead) + np.cbrt(2.0 * g)) ** 3 / gap / gap
            plays = np.minimum(np.minimum(often, seldom), n)
        else:
            root = np.cbrt(20.0 * lead)
            h = root * (1.0 + root) * np.cbrt(g) ** 2 + 3.0 * np.cbrt(g) * np.cbrt(5.0 * np.sqrt(2.0) * lead) ** 2
            often = 1.0 + (5.0 * lead + 2.0 * g + h) / gap / gap
            counted = kept & (gap > 0.0)
            plays = np.zeros(np.shape(often))
            plays[..., counted] = _common_delta(often[..., counted], seldom[counted], gap[counted], beyond[counted])
    return np.where(kept, np.where(gap > 0.0, plays, n), 0.0)


def meta_pruned_plays(lead: float, distance: ArrayLike) -> Floats:
    """Bound the expected plays of an arm whose cap is this far below the best mean; infinite where it is not below.

    `lead` is the variance proxy that the policy uses for a best arm.

    Examples
    --------
    >>> from meanbounds.theory import meta_pruned_plays
    >>> meta_pruned_plays(0.25, [0.5, 0.1, -0.1]).round(6)
    array([  5., 125.,  inf])
    """
    apart = as_floats("distance", distance)
    below = np.where(apart > 0.0, apart, 1.0)
    with np.errstate(over="ignore"):
        return np.where(apart > 0.0, 5.0 * lead / below / below, np.inf)


def _common_delta(often: Floats, seldom: Floats, gap: Floats, distance: Floats) -> Floats:
    """The plays at the delta that makes regret least: an arm counts as meta-pruned if its distance is above delta.

    The bound changes only where delta passes one of the distances, so it is enough to try these and 0.
    """
    thresholds = np.unique(np.append(np.maximum(distance[np.isfinite(distance)], 0.0), 0.0))
    plays = np.stack([np.where(distance > delta, seldom, often) for delta in thresholds])
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
    >>> from meanbounds.theory import glue_regret
    >>> bounds = mb.MeanBounds([0.85, 0.4], [0.98, 0.97])
    >>> glue_regret([0.9, 0.8], bounds, [100, 10_000, 1_000_000]).round()
    array([ 10., 286., 344.])
    >>> round(glue_regret([0.9, 0.8], bounds, 10_000, form="paper"))
    274
    """
    plays = glue_plays(means, bounds, horizon, policy=policy, form=form)
    mu = as_floats("means", means)
    gap = mu.max() - mu
    if form == "corrected":
        worst_first = np.argsort(-gap)
        filled = np.minimum(np.cumsum(plays[..., worst_first], axis=-1), as_rounds(horizon)[..., None])
        plays, gap = np.diff(filled, axis=-1, prepend=0.0), gap[worst_first]
    regret = np.asarray(plays @ gap)
    return float(regret) if regret.ndim == 0 else regret


@overload
def uncertain_regret(regret_bound: float, failure: ArrayLike, horizon: int, *, width: float = 1.0) -> float: ...
@overload
def uncertain_regret(
    regret_bound: ArrayLike, failure: ArrayLike, horizon: ArrayLike, *, width: float = 1.0
) -> float | Floats: ...
def uncertain_regret(
    regret_bound: ArrayLike, failure: ArrayLike, horizon: int | ArrayLike, *, width: float = 1.0
) -> float | Floats:
    r"""Bound the expected regret where the bounds on the means may be wrong, with a known probability.

    .. math:: \min\left(B + n W \min\left(1, \textstyle\sum_k p_k\right),\; n W\right)

    The bounds miss some mean with probability at most the sum of the :math:`p_k`, even if the misses depend on each
    other. If they do, regret is at most n W; otherwise the theorem's bound B holds.

    Parameters
    ----------
    regret_bound
        Bound B on the regret if the bounds on the means hold, such as `glue_regret`, in reward units.
    failure
        Probability that an arm's bounds miss its mean: one for each arm, arms that the bounds prune included, or one
        number for all arms together.
    horizon
        Number of rounds n; an array if the regret bound is one.
    width
        The largest regret W that a round can have, in reward units: at most the width of the rewards' range if all
        arms have the same range.

    Notes
    -----
    Corollary 6.1. Differs from the paper: the printed extra regret, n times the sum of p_k, is for means within [0, 1];
    on [0, 10] it is up to ten times too small. The printed sum is over the arms that are left after pruning; it must be
    over all arms, since an arm can be pruned because its bounds are wrong. The rewards must be independent of the data
    behind the bounds.

    Examples
    --------
    >>> from meanbounds.theory import uncertain_regret
    >>> uncertain_regret(286.0, [1e-3, 1e-3], 10_000)
    306.0
    >>> uncertain_regret(286.0, [1e-3, 1e-3], 10_000, width=4.0)
    366.0
    """
    rounds, missed = as_rounds(horizon), as_floats("failure", failure)
    if not np.all((missed >= 0.0) & (missed <= 1.0)):
        raise ValueError(f"failure must be probabilities, one for each arm or one for all; got {shown(failure)}")
    largest = as_float("width", width)
    if not 0.0 <= largest < LARGEST:
        raise ValueError(f"width must be a finite number, at least 0: the largest regret of a round; got {width!r}")
    bound, whole = broadcast_floats(regret_bound=regret_bound, horizon=rounds * largest)
    if not np.all(bound >= 0.0):
        raise ValueError(f"regret_bound must not be negative; got {shown(regret_bound)}")
    total = np.minimum(bound + whole * min(1.0, float(missed.sum())), whole)
    return float(total) if total.ndim == 0 else total
