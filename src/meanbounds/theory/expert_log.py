"""Bounds on means from an infinite log that an expert wrote: Theorem 7."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.bounds import Arm, BoundsError, MeanBounds
from meanbounds.support.checks import as_float, as_floats, shown
from meanbounds.support.types import Booleans, Floats

__all__ = ["checked_log", "log_bounds"]

_ROUNDING = 1e-9


def log_bounds(
    shares: ArrayLike,
    means: ArrayLike,
    *,
    gap_low: float = 0.0,
    gap_high: float | None = None,
    shift: float = 0.0,
    low: float = 0.0,
    high: float = 1.0,
    arms: Iterable[Arm] | None = None,
) -> MeanBounds:
    r"""Bound each arm's mean in one visible context from an infinite log of an expert who saw more than was recorded.

    The expert plays the best arm for the visible and the hidden context. With the shares :math:`p_k`, the contributions
    :math:`\mu(k) = p_k E[Y \mid A = k]` and all of it in units of the range,

    .. math:: \mu(k) + \sum_{j \ne k} \max(0,\ \mu(j) - \overline\delta p_j) \;\le\; \mu_k \;\le\;
              \sum_j \mu(j) - \underline\delta (1 - p_k).

    Parameters
    ----------
    shares
        How often the expert played each arm in this context. They sum to 1.
    means
        The mean reward of each arm where the expert played it; ignored where the share is 0.
    gap_low
        In every hidden context the best arm is better than the second best by at least this, in reward units.
    gap_high
        In every hidden context the best arm is better than the worst by at most this; None for the width of the range.
    shift
        By how much hidden contexts may occur with other probabilities than in the log, as a total variation from 0
        to 1: each side moves outwards by this share of the range.
    low, high
        The range of the rewards.
    arms
        Names of the arms.

    Raises
    ------
    BoundsError
        If the log contradicts `gap_low`; the message names the arm.

    Notes
    -----
    Theorem 7, with the best set of arms in the lower bound; Proposition 8: nothing better follows. Differs from the
    paper: its recipe computes the contribution as the mean reward of the rows with this arm, and the shares from a
    table with one row left for each arm; it leaves open how to widen for shifts.

    Examples
    --------
    >>> from meanbounds.theory import log_bounds
    >>> bounds = log_bounds([0.75, 0.25], [0.8, 0.8], gap_low=0.2, gap_high=0.4)
    >>> bounds.lower.round(3), bounds.upper.round(3)
    (array([0.7, 0.5]), array([0.75, 0.65]))
    """
    share, reward, seen = checked_log(shares, means)
    width = as_float("high", high) - as_float("low", low)
    largest = width if gap_high is None else as_float("gap_high", gap_high)
    smallest, moved = as_float("gap_low", gap_low), as_float("shift", shift)
    if not 0.0 <= smallest <= largest:
        raise ValueError(f"gaps need 0 <= gap_low <= gap_high; got gap_low={smallest:g}, gap_high={largest:g}")
    if not 0.0 <= moved <= 1.0:
        raise ValueError(f"shift is a total variation, from 0 to 1; got {moved:g}")
    vacuous = MeanBounds.vacuous(share.size if arms is None else arms, low=low, high=high)
    if len(vacuous) != share.size:
        raise ValueError(f"{len(vacuous)} arm names for {share.size} shares")
    for k in np.flatnonzero(seen & ~vacuous.contains(reward)):
        raise ValueError(f"arm {vacuous.arms[k]!r}: its mean reward {reward[k]:g} is outside the range [{low}, {high}]")
    part, slack = share * (reward - low), _ROUNDING * width
    for k in np.flatnonzero((part < (smallest - slack) * share) & (share.size > 1)):
        raise BoundsError(
            f"arm {vacuous.arms[k]!r}: its mean reward {reward[k]:g} is less than gap_low={smallest:g} above {low:g}, "
            f"the end of the range, so no arm fits below it: the expert errs, or gap_low is smaller"
        )
    gain = np.maximum(part - largest * share, 0.0)
    lower = low + part + gain.sum() - gain - moved * width
    upper = low + part.sum() - smallest * (1.0 - share) + moved * width
    lower, upper = np.clip(lower, low, high), np.clip(np.maximum(lower, upper), low, high)
    return MeanBounds(lower, upper, arms=vacuous.arms, low=low, high=high)


def checked_log(shares: ArrayLike, means: ArrayLike) -> tuple[Floats, Floats, Booleans]:
    """Shares, mean rewards (0 where there are none), and which arms were played."""
    share, reward = as_floats("shares", shares), as_floats("means", means)
    if share.ndim != 1 or share.shape != reward.shape:
        raise ValueError(f"give one share and one mean for each arm; got the shapes {share.shape} and {reward.shape}")
    if not (np.all(share >= 0.0) and abs(share.sum() - 1.0) <= _ROUNDING):
        raise ValueError(f"shares must be probabilities that sum to 1; got {shown(shares)}. Divide counts by their sum")
    seen = share > 0.0
    for k in np.flatnonzero(seen & ~np.isfinite(reward)):
        raise ValueError(f"arm {k} was played (its share is {share[k]:g}), but its mean reward is {reward[k]}")
    return share, np.where(seen, reward, 0.0), seen
