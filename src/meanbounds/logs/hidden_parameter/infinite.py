"""Bounds on arms with features from an infinite log."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.logs.assumptions import Assumption
from meanbounds.logs.hidden_parameter.erring import Budgets, erring_bounds
from meanbounds.logs.hidden_parameter.programs import MeanLimits, solve_programs
from meanbounds.logs.hidden_parameter.result import LinearBounds
from meanbounds.logs.hidden_parameter.setting import LinearSetting, check_setting
from meanbounds.support.checks import shown
from meanbounds.support.types import Floats

__all__ = ["Method", "linear_bounds"]

Method = Literal["sharp", "corrected", "paper"]


def linear_bounds(
    setting: LinearSetting,
    *,
    share: ArrayLike,
    mean: ArrayLike,
    assumption: Assumption | None = None,
    method: Method = "sharp",
    progress: bool | None = None,
) -> LinearBounds:
    """Bound each arm's mean from an infinite log, written by an expert who saw the hidden parameter too.

    Parameters
    ----------
    setting
        The arms' features, the known parameter, and the box of the hidden one.
    share
        p_k: how often each arm was played. They sum to 1.
    mean
        nu_k: mean reward of each arm when it was played, in reward units; ignored where the share is 0.
    assumption
        What is assumed of the expert: ``ErringExpert(0.05)`` lets the choice be wrong in 5% of the rounds, with any
        hidden parameter in the box; gaps are in reward units. By default ``OptimalExpert()``, who is always right.
    method
        ``"sharp"``: the tightest bounds that hold, by linear programs. ``"corrected"``: the paper's, with its errors
        corrected. ``"paper"``: as printed; these may exclude the truth, and the lower may exceed the upper bound. An
        `assumption` needs ``"sharp"``.
    progress
        Show a progress bar; by default on a terminal, for anything over two seconds.

    Raises
    ------
    BoundsError
        If the log contradicts an assumption; the message names the arm. Only ``"sharp"`` notices.

    Notes
    -----
    The linear theorem of Section 6. Differs from the paper: it has ``d sum(a)`` where ``(1 - p_k)`` times positive and
    negative parts of a against the box belong. Corrected, the mean of arm k is
    ``p_k nu_k + (1 - p_k) (offset_k + r)`` with r between the least and the largest ``<hidden_k, x>`` in the box. The
    sharp form is derived at the head of `meanbounds.logs.hidden_parameter`.

    Examples
    --------
    >>> import meanbounds as mb
    >>> hidden = [[1.0, 0.0], [0.0, 1.0]]
    >>> setting = mb.logs.LinearSetting([[0.0], [0.0]], hidden, theta_visible=[1.0], box_low=0.0, box_high=1.0)
    >>> sharp = mb.logs.linear_bounds(setting, share=[0.5, 0.5], mean=[0.75, 0.5])
    >>> sharp.lower.round(6), sharp.upper.round(6)
    (array([0.375, 0.25 ]), array([0.625, 0.625]))
    >>> corrected = mb.logs.linear_bounds(setting, share=[0.5, 0.5], mean=[0.75, 0.5], method="corrected")
    >>> corrected.lower, corrected.upper
    (array([0.375, 0.25 ]), array([0.875, 0.75 ]))

    If one choice in ten may have been wrong:

    >>> erring = mb.logs.ErringExpert(0.1)
    >>> mb.logs.linear_bounds(setting, share=[0.5, 0.5], mean=[0.75, 0.5], assumption=erring).upper.round(3)
    array([0.725, 0.725])
    """
    check_setting(setting)
    if not (isinstance(method, str) and method in ("sharp", "corrected", "paper")):
        raise ValueError(f'method must be "sharp", "corrected" or "paper"; got {shown(method)}')
    budgets = Budgets.of(assumption)
    if budgets is not None and method != "sharp":
        raise ValueError(f'assumption={assumption!r} needs method="sharp"; got {method!r}')
    shares = _shares(setting, share)
    means = _means(setting, mean, shares)
    if method == "paper":
        return LinearBounds(setting, *_as_printed(setting, shares, means))
    lower, upper = _corrected(setting, shares, means)
    if budgets is not None:
        sides = erring_bounds(setting, MeanLimits(means, means), shares, shares, budgets)
        lower, upper = (np.clip(side, lower, upper) for side in sides)
        return LinearBounds(setting, lower, upper)
    if method == "sharp":
        seen = shares > 0.0
        found = solve_programs(setting, MeanLimits(means, means), solve=seen, certain=seen, progress=progress)
        known = (setting.offset + shares[seen] @ values[seen] for values in (found.least, found.most))
        lower, upper = (np.clip(side, lower, upper) for side in known)
    return LinearBounds(setting, lower, upper)


def _as_printed(setting: LinearSetting, shares: Floats, means: Floats) -> tuple[Floats, Floats]:
    """Both bounds of the paper's theorem, errors included."""
    dimension = setting.hidden.shape[1]
    known = shares * means + (1.0 - shares) * setting.offset
    lower, upper = (known + dimension * (setting.hidden @ end) for end in (setting.box_low, setting.box_high))
    return lower, upper


def _corrected(setting: LinearSetting, shares: Floats, means: Floats) -> tuple[Floats, Floats]:
    """Both bounds of the paper's theorem, with its errors corrected."""
    known = shares * means + (1.0 - shares) * setting.offset
    lower, upper = (known + (1.0 - shares) * part for part in setting.reach())
    return lower, np.maximum(lower, upper)  # where both are the same except for rounding


def _shares(setting: LinearSetting, share: ArrayLike) -> Floats:
    shares = setting.per_arm("share", share)
    for k in np.flatnonzero(~((shares >= 0.0) & (shares < np.inf))):
        raise ValueError(f"arm {setting.arms[k]!r}: its share must be a probability; got {shares[k]}")
    if not abs(shares.sum() - 1.0) <= 1e-9:
        raise ValueError(f"shares must sum to 1; these sum to {shares.sum()}. Divide counts by their sum")
    return shares


def _means(setting: LinearSetting, mean: ArrayLike, shares: Floats) -> Floats:
    means = setting.per_arm("mean", mean)
    for k in np.flatnonzero(~np.isfinite(means) & (shares > 0.0)):
        raise ValueError(f"arm {setting.arms[k]!r} was played (share {shares[k]:g}), but its mean reward is {means[k]}")
    return np.where(shares > 0.0, means, 0.0)
