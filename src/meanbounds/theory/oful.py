r"""The high-probability bounds of OFUL and R-OFUL.

While the parameter is in every confidence set, which has probability at least ``1 - failure``, the regret of a round is
at most :math:`\min(W, 2 r \|a\|_{V^{-1}})` with the radius r and V of the rounds before: the index of the arm that is
played is at least that of the best arm on offer, which is at least the best mean, and at most the arm's own mean plus
twice its width. This holds for each index (plain, clipped and exact ones are at most the plain one and at least the
mean), for each way to tighten, and for bounds learned online, which hold on the same event.

With weights w the determinant grows by :math:`\log\det V_t / \lambda^d = \sum_s z_s`,
:math:`z_s = \log(1 + w_s \|a_s\|^2_{V_{s-1}^{-1}})`, so the regret of a round is at most
:math:`g(z_s) = \min(W, c \sqrt{e^{z_s} - 1})` with :math:`c = 2 r / \sqrt{w_{\min}}` and the last radius, the
largest. By Jensen's inequality the sum over t rounds is at most t times the least concave function above g at the mean
of the z, which is all that these facts allow. It is never above the usual
:math:`\max(W, c) \sqrt{2 t \log\det V_t/\lambda^d}`, and smaller by the root of 2 once t is large.
"""

from __future__ import annotations

from math import log

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.bounds import MeanBounds
from meanbounds.kernels.linear import WEIGHTED, Pool, Rule
from meanbounds.kernels.linear.design import SMALLEST_PROXY
from meanbounds.linear import LinearArms
from meanbounds.policies import OFUL, ROFUL
from meanbounds.subgaussian import variance_proxy
from meanbounds.support.types import Floats
from meanbounds.theory.given import Form, as_rounds, check_form

__all__ = ["bound_and_width", "largest_regret", "linear_regret", "sum_of_widths"]


def linear_regret(
    policy: OFUL | ROFUL,
    features: ArrayLike,
    bounds: MeanBounds,
    rounds: ArrayLike,
    *,
    offset: ArrayLike = 0.0,
    form: Form = "corrected",
) -> Floats:
    r"""Bound the regret of OFUL or R-OFUL; the bound holds in all rounds at once with probability ``1 - failure``.

    With arms of any norm, L the largest of :math:`w_a \|a\|^2` and :math:`G_t = d \log(1 + t L / (d \lambda))`,

    .. math:: R_t \le t \cdot \bar g(G_t / t), \qquad
       c = \frac{2}{\sqrt{w_{\min}}} \left(\sqrt\lambda M + \sqrt{\gamma^2 (2 \log(1/\delta) + G_{t-1})}\right)

    where :math:`\bar g` is the least concave function above :math:`g(z) = \min(W, c \sqrt{e^z - 1})`: about
    :math:`c \sqrt{t G_t}` once t is large, and never more than t W. Weights are 1 and :math:`\gamma^2` is the largest
    variance proxy of an arm; for ``noise="weighted"`` weights are :math:`\sigma_0^2` over each arm's proxy and
    :math:`\gamma = \sigma_0`, so that :math:`\gamma^2 / w_{\min}` is the largest proxy again, and
    :math:`\lambda M^2` is divided by :math:`w_{\min}` as well. W is the largest regret that a round can have: over
    pairs of arms that may both be kept, the least of ``upper - lower`` and what the norm of the parameter allows.

    Parameters
    ----------
    policy
        `OFUL` or `ROFUL`, any noise, index and way to tighten. Its ``norm_high`` has to hold, and for `ROFUL` the
        bounds; rewards need means that are linear in the features.
    features, bounds, offset
        All arms that may be on offer: a row of features for each, bounds on their means, and the known part of each
        mean. Any of them may be on offer in a round.
    rounds
        The rounds t at which to evaluate the bound.
    form
        ``"paper"``: Theorem 4 as printed, for arms of norm 1 without offsets; gamma is the largest factor of all arms.

    Returns
    -------
    array
        The bound at each t, in reward units.

    Notes
    -----
    Theorem 4. Differs from the paper: the printed :math:`\sqrt{8 d t \beta_{t-1} \log(1 + t/(d\lambda))}` uses
    :math:`\min(1, \cdot)`, which needs :math:`2\sqrt{\beta} \ge W`. With gamma as printed, the largest factor up to
    round t - 1, that is false in the first round: for arms e_1 and -e_1, theta = e_1, lambda = 0.01, M = 1 and d = 2
    the bound is 0.79, and with probability 1/2 the regret is 2. With gamma over all arms the step holds for R-OFUL if
    the failure probability is at most exp(-2): bounds as far apart as W give factors that are large enough. With
    ``noise="weighted"`` the largest weight enters the logarithm, and the bound can be some percent above that of OFUL;
    with ``"pool-max"`` and ``"running-max"`` it never is.

    Examples
    --------
    >>> import meanbounds as mb
    >>> features = [[1.0, 0.0], [0.96, 0.28], [0.8, 0.6]]
    >>> bounds = mb.MeanBounds([0.9, 0.85, 0.85], [0.97, 0.99, 1.0])
    >>> mb.theory.linear_regret(mb.ROFUL(), features, bounds, [10, 1_000, 1_000_000]).round()
    array([1.0000e+00, 1.4000e+02, 3.7453e+04])
    """
    return bound_and_width(policy, features, bounds, rounds, offset, form)[0]


def bound_and_width(
    policy: OFUL | ROFUL, features: ArrayLike, bounds: MeanBounds, rounds: ArrayLike, offset: ArrayLike, form: Form
) -> tuple[Floats, float]:
    """Return the bound of `linear_regret`, and the largest regret that a round can have.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.theory.oful import bound_and_width
    >>> bounds = mb.MeanBounds([0.5, 0.2], [0.8, 0.6])
    >>> bound, width = bound_and_width(mb.ROFUL(), [[1.0, 0.0], [0.0, 1.0]], bounds, [10], 0.0, "corrected")
    >>> bound.round(3), round(width, 3)  # ten rounds, in each of which at most 0.8 - 0.2 is lost
    (array([6.]), 0.6)
    """
    check_form(form)
    if not isinstance(policy, OFUL | ROFUL):
        raise TypeError(f"the theorem is for OFUL and ROFUL; got {policy!r}")
    t = as_rounds(rounds, "rounds").astype(np.float64)
    arms = LinearArms(features, bounds, offset=offset)
    if form == "paper":
        for k in np.flatnonzero((np.abs(arms.length - 1.0) > 1e-9) | (arms.offset != 0.0)).tolist():
            raise ValueError(
                f"arm {bounds.arms[k]!r} has norm {arms.length[k]:.6g} and offset {arms.offset[k]:g}; the printed "
                f'bound is for arms of norm 1 without offsets: use form="corrected"'
            )
    plan = policy.plan(arms)
    pool, rule, d = plan.pool, plan.rule, arms.dimension
    least, heaviest = _weights(pool, rule) if form == "corrected" else (1.0, np.ones(len(bounds)))
    proxy = rule.proxy if form == "corrected" and rule.noise == WEIGHTED else float(pool.proxy.max())
    longest = float(np.max(heaviest * pool.length**2))

    def growth(rounds: Floats) -> Floats:
        return np.asarray(d * np.log1p(rounds * longest / (d * rule.regularisation)))

    spread = proxy * (growth(t - 1.0) - 2.0 * log(rule.failure))
    radius = np.sqrt(rule.regularisation) * rule.norm_high + np.sqrt(spread)
    width = largest_regret(pool, rule)
    if form == "paper":
        return np.asarray(np.sqrt(8.0 * t * growth(t)) * radius), width
    return sum_of_widths(t, growth(t), 2.0 * radius / np.sqrt(least), width), width


def _weights(pool: Pool, rule: Rule) -> tuple[float, Floats]:
    """The smallest weight of a reward, and the largest that each arm's rewards can get.

    Bounds that are learned as it goes only shrink, so proxies fall and weights grow; but a proxy never falls below the
    least that a mean within the bounds has, which is at one of their ends.
    """
    if rule.noise != WEIGHTED:
        return 1.0, np.ones(pool.length.size)
    floor = SMALLEST_PROXY * rule.proxy
    own = pool.proxy
    if rule.cone or rule.online:
        ends = [np.atleast_1d(variance_proxy(side, low=pool.low, high=pool.high)) for side in (pool.lower, pool.upper)]
        own = np.minimum(*ends)
    return float(rule.proxy / max(pool.proxy.max(), floor)), rule.proxy / np.maximum(own, floor)


def largest_regret(pool: Pool, rule: Rule) -> float:
    """Return the largest regret that a round can have, over all pairs of arms that can both be kept."""
    largest = 0.0
    for best in range(pool.length.size):
        apart = np.linalg.norm(pool.features[best] - pool.features, axis=1)
        norm = pool.offset[best] - pool.offset + apart * rule.norm_high
        regret = np.minimum(pool.upper[best] - pool.lower, norm)
        kept = pool.upper >= pool.lower[best] if rule.prune else np.ones(apart.size, dtype=bool)
        largest = max(largest, float(regret[kept].max()))
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
