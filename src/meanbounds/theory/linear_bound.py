r"""The high-probability bound on the regret of OFUL and R-OFUL.

While the parameter is in every confidence set, which has probability at least ``1 - failure``, the regret of a round is
at most :math:`\min(W, 2 r \|a\|_{V^{-1}})` with the radius r and V of the rounds before: the index of the arm that is
played is at least that of the best arm on offer, which is at least the best mean, and at most the arm's own mean plus
twice its width. This holds for each index: clipped and exact ones are at most the plain one and at least the mean.

With weights w the determinant grows by :math:`\log\det V_t / \det V_0 = \sum_s z_s`,
:math:`z_s = \log(1 + w_s \|a_s\|^2_{V_{s-1}^{-1}})`, so the regret of a round is at most
:math:`g(z_s) = \min(W, c \sqrt{e^{z_s} - 1})` with :math:`c = 2 r / \sqrt{w_{\min}}` and the last radius, the largest.
By Jensen's inequality the sum over t rounds is at most t times the least concave function above g at the mean of the z,
which is all that these facts allow. It is never above the usual :math:`\max(W, c) \sqrt{2 t \log\det V_t / \det V_0}`,
and smaller by the root of 2 once t is large.
"""

from __future__ import annotations

from math import log

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.bounds import MeanBounds
from meanbounds.linear.arms import LinearArms
from meanbounds.linear.oful import OFUL
from meanbounds.support.checks import shown
from meanbounds.support.types import Floats
from meanbounds.theory.conditions import Form, as_rounds, check_form

__all__ = ["bound_and_width", "largest_regret", "linear_regret", "sum_of_widths"]


def linear_regret(
    policy: OFUL,
    features: ArrayLike,
    bounds: MeanBounds,
    rounds: ArrayLike,
    *,
    offset: ArrayLike = 0.0,
    form: Form = "corrected",
) -> Floats:
    r"""Bound the regret of OFUL or R-OFUL; the bound holds in all rounds at once with probability ``1 - failure``.

    With weights :math:`w_a`, one over each arm's variance proxy, :math:`V_0 = \rho I` where :math:`\rho` is the
    regularisation over the largest proxy that the ranges allow, L the largest :math:`w_a \|a\|^2` and
    :math:`G_t = d \log(1 + t L / (d \rho))`,

    .. math:: R_t \le t \cdot \bar g(G_t / t), \qquad
       c = \frac{2}{\sqrt{w_{\min}}} \left(\sqrt{\rho} M + \sqrt{2 \log(1/\delta) + G_{t-1}}\right)

    where :math:`\bar g` is the least concave function above :math:`g(z) = \min(W, c \sqrt{e^z - 1})`: about
    :math:`c \sqrt{t G_t}` once t is large, and never more than t W. W is the largest regret that a round can have: over
    pairs of arms that may both be kept, the least of ``upper - lower`` and what the norm of the parameter allows.

    Parameters
    ----------
    policy
        `OFUL` or `ROFUL`, with any index. Its ``norm_high`` must hold, and for `ROFUL` the bounds; rewards need means
        that are linear in the features.
    features, bounds, offset
        All arms that may be on offer: a row of features for each, bounds on their means, and the known part of each
        mean. Any of them may be on offer in a round.
    rounds
        The rounds t at which to evaluate the bound.
    form
        ``"paper"``: Theorem 4 as printed, for arms of norm 1 without offsets; gamma is the largest factor of all arms.

    Returns
    -------
    The bound at each t, in reward units.

    Notes
    -----
    Theorem 4. Differs from the paper: the printed :math:`\sqrt{8 d t \beta_{t-1} \log(1 + t/(d\lambda))}` uses
    :math:`\min(1, \cdot)`, which needs :math:`2\sqrt{\beta} \ge W`. With gamma as printed, the largest factor up to
    round t - 1, that is false in the first round: for arms e_1 and -e_1, theta = e_1, lambda = 0.01, M = 1 and d = 2
    the bound is 0.79, and with probability 1/2 the regret is 2. With gamma over all arms the step holds for R-OFUL if
    the failure probability is at most exp(-2). The largest weight enters the logarithm, so the bound on R-OFUL can be
    some percent above that on OFUL.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.theory import linear_regret
    >>> linear_regret(OFUL(), [[1.0, 0.0], [0.6, 0.8]], mb.MeanBounds.vacuous(2), [10, 1_000, 1_000_000]).round()
    array([9.000e+00, 7.440e+02, 4.075e+04])
    """
    return bound_and_width(policy, features, bounds, rounds, offset, form)[0]


def bound_and_width(
    policy: OFUL, features: ArrayLike, bounds: MeanBounds, rounds: ArrayLike, offset: ArrayLike, form: Form
) -> tuple[Floats, float]:
    """The bound of `linear_regret`, and the largest regret that a round can have."""
    check_form(form)
    if not isinstance(policy, OFUL):
        raise TypeError(f"the theorem is for OFUL and ROFUL; got {shown(policy)}")
    t, arms = as_rounds(rounds, "rounds").astype(np.float64), LinearArms(features, bounds, offset=offset)
    if form == "paper":
        for k in np.flatnonzero((np.abs(arms.length - 1.0) > 1e-9) | (arms.offset != 0.0)).tolist():
            raise ValueError(
                f"arm {bounds.arms[k]!r} has norm {arms.length[k]:.6g} and offset {arms.offset[k]:g}; the printed "
                f'bound is for arms of norm 1 without offsets: use form="corrected"'
            )
    extent, worst = policy.allow(arms).extent, float(bounds.worst_variance_proxy.max())
    weight, ridge, gamma = policy.weight(extent, bounds.low, bounds.high, worst), policy.ridge(worst), 1.0
    if form == "paper":
        factor = float(policy.noise(extent, bounds.low, bounds.high).max())
        weight, ridge, gamma = np.ones(len(bounds)), policy.regularisation, np.sqrt(factor)
    d, longest = arms.dimension, float(np.max(weight * arms.length**2))

    def growth(rounds: Floats) -> Floats:
        return np.asarray(d * np.log1p(rounds * longest / (d * ridge)))

    radius = np.sqrt(ridge) * policy.norm_high + gamma * np.sqrt(growth(t - 1.0) - 2.0 * log(policy.failure))
    width = largest_regret(policy, arms)
    if form == "paper":
        return np.asarray(np.sqrt(8.0 * t * growth(t)) * radius), width
    return sum_of_widths(t, growth(t), 2.0 * radius / np.sqrt(weight.min()), width), width


def largest_regret(policy: OFUL, arms: LinearArms) -> float:
    """The largest regret that a round can have, over all pairs of arms that can both be kept."""
    allowed, bounds, largest = policy.allow(arms), arms.bounds, 0.0
    lower, upper = (np.clip(side, bounds.low, bounds.high) for side in (allowed.lower, allowed.upper))
    slack = 1e-8 * allowed.scale  # an arm may also be kept because of rounding errors
    for best in range(len(bounds)):
        apart = np.linalg.norm(arms.features[best] - arms.features, axis=1)
        norm = arms.offset[best] - arms.offset + apart * policy.norm_high
        kept = allowed.upper + slack >= allowed.lower[best]
        largest = max(largest, float(np.minimum(upper[best] - lower, norm)[kept].max()))
    return largest


def sum_of_widths(rounds: Floats, growth: Floats, scale: Floats, width: float) -> Floats:
    r"""The most that :math:`\sum_s \min(W, c \sqrt{e^{z_s} - 1})` can be if the z are at least 0 and sum to `growth`.

    The function of z is concave up to log 2 and convex from there to where it reaches W. The least concave function
    above it follows it to the point whose tangent meets it again where it reaches W, then that tangent.
    """
    z, ratio = growth / rounds, width / scale
    top = np.log1p(ratio**2)  # where W is reached
    below, above = np.full_like(z, 1e-300), np.full_like(z, log(2.0))
    for _ in range(80):
        middle = 0.5 * (below + above)
        root = np.sqrt(np.expm1(middle))
        reaches = root + np.exp(middle) / (2.0 * root) * (top - middle) > ratio
        below, above = np.where(reaches, middle, below), np.where(reaches, above, middle)
    touch = np.where(ratio > 1.0, below, top)
    start = np.sqrt(np.expm1(touch))
    along = (z - touch) / np.where(top > touch, top - touch, 1.0)
    chord = start + (ratio - start) * along
    mean = np.where(z <= touch, np.sqrt(np.expm1(np.minimum(z, touch))), np.where(z < top, chord, ratio))
    return np.asarray(rounds * np.minimum(scale * mean, width))
