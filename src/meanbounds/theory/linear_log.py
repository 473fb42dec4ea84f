"""Bounds on the means of arms with features from an infinite log that an expert wrote: Theorem 9."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.bounds import BoundsError
from meanbounds.support.checks import as_floats, check_choice
from meanbounds.support.types import Floats
from meanbounds.theory.expert_log import checked_log

__all__ = ["linear_log_bounds", "means_when_best"]

_ROUNDING = 1e-10  # limits of a program are relaxed by this share of their scale: a log that fits exactly still does


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
    share, reward, seen = checked_log(shares, means)
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
        sides = np.stack([offset, offset])
        for j in np.flatnonzero(seen).tolist():
            values = means_when_best(j, offset, features, (reward[j], reward[j]), (low, high))
            if values is None:
                raise BoundsError(
                    f"arm {j}: no hidden parameter in the box gives it a mean of {reward[j]:g} and makes it the best "
                    f"arm. The box or the features are wrong, or the expert errs"
                )
            sides += share[j] * (values - offset)
        lower, upper = (np.clip(side, lower, upper) for side in sides)
    return lower, np.maximum(lower, upper)  # both may be the same but for rounding


def means_when_best(
    best: int, known: Floats, hidden: Floats, mean: tuple[float, float], box: tuple[Floats, Floats]
) -> Floats | None:
    """The least and the largest mean of each arm over the cases in which one arm was the best.

    Parameters
    ----------
    best
        The position of the arm that was the best.
    known, hidden
        As for `linear_log_bounds`.
    mean
        Limits on the mean reward of the best arm in these cases; equal if it is known.
    box
        The lower and the upper end of the hidden parameter, with an entry for each coordinate.

    Returns
    -------
    Two rows, the least means and the largest ones; None if the arm cannot have been the best.

    Examples
    --------
    >>> import numpy as np
    >>> from meanbounds.theory.linear_log import means_when_best
    >>> box = np.zeros(2), np.ones(2)
    >>> means_when_best(0, np.zeros(2), np.eye(2), (0.75, 0.75), box).round(3)  # the other arm had at most as much
    array([[0.75, 0.  ],
           [0.75, 0.75]])
    """
    from scipy.optimize import linprog
    from scipy.sparse import eye_array, kron

    rows, ends = hidden - hidden[best], known[best] - known  # <rows, x> <= ends: no arm has a larger mean
    rows, ends = np.vstack([rows, hidden[best], -hidden[best]]), np.append(ends, (mean[1], -mean[0]))
    ends[-2:] -= known[best], -known[best]
    scale = np.abs(rows) @ np.maximum(np.abs(box[0]), np.abs(box[1])) + np.abs(known).max() + max(map(abs, mean))
    targets = np.vstack([hidden, -hidden])  # a program for each; solved as one, with a block for each
    programs = kron(eye_array(len(targets)), rows, format="csr")
    limits = np.tile(np.stack(box, axis=1), (len(targets), 1))
    solve: Any = linprog  # its stubs know nothing of sparse matrices
    found = solve(targets.ravel(), programs, np.tile(ends + _ROUNDING * scale, len(targets)), bounds=limits)
    if found.status == 2:
        return None
    if found.x is None:
        raise RuntimeError(f"a linear program was not solved: {found.message}")
    values = np.einsum("kd,kd->k", np.vstack([hidden, hidden]), found.x.reshape(targets.shape))
    return known + values.reshape(2, -1)
