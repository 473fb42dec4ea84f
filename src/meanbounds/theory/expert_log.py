"""Bounds on means from an infinite log that an expert wrote: Theorem 7, and Theorem 9 for arms with features."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.bounds import Arm, BoundsError, MeanBounds
from meanbounds.support.checks import as_float, as_floats, check_choice, shown
from meanbounds.support.types import Booleans, Floats

__all__ = ["linear_log_bounds", "log_bounds"]

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
    share, reward, seen = _checked(shares, means)
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


def linear_log_bounds(
    shares: ArrayLike,
    means: ArrayLike,
    known: ArrayLike,
    hidden: ArrayLike,
    *,
    box_low: ArrayLike,
    box_high: ArrayLike,
    form: Literal["corrected", "sharp", "paper"] = "corrected",
) -> tuple[Floats, Floats]:
    r"""Bound the means of arms with features from an infinite log of an expert who saw the hidden parameter.

    The mean of arm k is :math:`\kappa_k + \langle a_k, T \rangle` with a known part and a hidden parameter T that is
    drawn for each case from a box :math:`[m, M]`; the expert plays the best arm for it. With the positive and negative
    parts of :math:`a_k`

    .. math:: \mu_k - p_k \nu_k - (1 - p_k) \kappa_k \in (1 - p_k) \left[
              \textstyle\sum (m a^+ - M a^-),\ \sum (M a^+ - m a^-) \right].

    Parameters
    ----------
    shares
        :math:`p_k`: how often the expert played each arm. They sum to 1.
    means
        :math:`\nu_k`: the mean reward of each arm where the expert played it; ignored where the share is 0.
    known
        :math:`\kappa_k`: the known part of each arm's mean.
    hidden
        The features that belong to the hidden parameter, a row for each arm.
    box_low, box_high
        Ends of the box: one number, or one for each coordinate.
    form
        ``"sharp"`` also uses that an arm which is played is the best one, with small linear programs: nothing better
        follows from shares, means and box. ``"paper"`` is the printed form; it may exclude the truth, and its lower
        bound may exceed the upper one.

    Returns
    -------
    The lower and the upper bound on each arm's mean.

    Raises
    ------
    BoundsError
        If no hidden parameter in the box explains the log; the message names the arm. Only ``"sharp"`` notices.

    Notes
    -----
    Theorem 9. Differs from the paper: the printed bracket has a factor d that does not belong there, lacks 1 - p_k, and
    takes no notice of signs.

    Examples
    --------
    >>> from meanbounds.theory import linear_log_bounds
    >>> log = {"shares": [0.5, 0.5], "means": [0.75, 0.5], "known": [0.0, 0.0], "hidden": [[1.0, 0.0], [0.0, 1.0]]}
    >>> for form in ("corrected", "sharp"):
    ...     lower, upper = linear_log_bounds(**log, box_low=0.0, box_high=1.0, form=form)
    ...     print(form, lower.round(3), upper.round(3))
    corrected [0.375 0.25 ] [0.875 0.75 ]
    sharp [0.375 0.25 ] [0.625 0.625]
    """
    check_choice("form", form, ("corrected", "sharp", "paper"))
    share, reward, seen = _checked(shares, means)
    offset, features = as_floats("known", known), as_floats("hidden", hidden)
    if offset.shape != share.shape or features.ndim != 2 or len(features) != share.size:
        raise ValueError(
            f"known must have one entry and hidden one row for each of {share.size} arms; got the shapes "
            f"{offset.shape} and {features.shape}"
        )
    ends = [as_floats(name, value) for name, value in (("box_low", box_low), ("box_high", box_high))]
    if any(end.shape not in ((), features.shape[1:]) for end in ends) or not np.all(ends[0] <= ends[1]):
        raise ValueError(
            f"the box needs box_low <= box_high, one number or one for each of {features.shape[1]} features"
        )
    low, high = (np.broadcast_to(end, features.shape[1:]) for end in ends)
    played, rest = share * reward + (1.0 - share) * offset, 1.0 - share
    if form == "paper":
        return played + low.size * (features @ low), played + low.size * (features @ high)
    above, below = np.maximum(features, 0.0), np.maximum(-features, 0.0)
    lower, upper = played + rest * (above @ low - below @ high), played + rest * (above @ high - below @ low)
    if form == "sharp":
        sides = _programs(share, reward, offset, features, low, high, seen)
        lower, upper = (np.clip(side, lower, upper) for side in sides)
    return lower, np.maximum(lower, upper)  # both may be the same but for rounding


def _programs(
    share: Floats, reward: Floats, offset: Floats, features: Floats, low: Floats, high: Floats, seen: Booleans
) -> tuple[Floats, Floats]:
    """Least and largest means: for each arm j that was played, x is the mean hidden parameter where j was best."""
    from scipy.optimize import linprog

    sides = np.stack([offset, offset])
    box = list(zip(low.tolist(), high.tolist(), strict=True))
    for j in np.flatnonzero(seen):
        room = reward[j] - offset  # <a_i, x> is at most this for every arm i, and exactly this for j
        for k, own in enumerate(features):
            for side, sign in ((0, 1.0), (1, -1.0)):
                found = linprog(sign * own, features, room, features[j : j + 1], room[j : j + 1], box)
                if found.x is None:
                    raise BoundsError(
                        f"arm {j}: no hidden parameter in the box gives it a mean of {reward[j]:g} and makes it the "
                        f"best arm. The box or the features are wrong, or the expert errs"
                    )
                sides[side, k] += share[j] * float(own @ found.x)
    return sides[0], sides[1]


def _checked(shares: ArrayLike, means: ArrayLike) -> tuple[Floats, Floats, Booleans]:
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
