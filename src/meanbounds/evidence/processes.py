"""E-processes against a bound on a mean, and the confidence sequence that they give; see docs/evidence.md."""

from __future__ import annotations

from math import log, nan

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.kernels.arms import evidence as kernel
from meanbounds.support.checks import as_float, broadcast_floats, fits_range, shown
from meanbounds.support.rounding import rounding
from meanbounds.support.types import Floats

__all__ = [
    "check_error",
    "check_wholes",
    "confidence_sequence",
    "log_e",
    "log_e_lower",
    "log_e_upper",
    "unit_squares",
    "unit_sums",
]

_MOST = 2.0**53  # rewards: from there on 1 more is lost


def log_e_upper(
    plays: ArrayLike,
    total: ArrayLike,
    upper: ArrayLike,
    *,
    squares: ArrayLike | None = None,
    missing: ArrayLike = 0,
    low: ArrayLike = 0.0,
    high: ArrayLike = 1.0,
) -> float | Floats:
    """How strongly rewards speak against an upper bound on their mean: the logarithm of an e-process.

    If the bound holds, the e-process ever reaches 1 / error with probability at most `error`, however often you look
    and whenever you stop. The order of rewards does not matter.

    Parameters
    ----------
    plays, total
        How many rewards there were, and their sum.
    upper
        The bound on their mean.
    squares
        The sum of the squared rewards. With it, rewards that vary little say more. Decide before the first reward
        whether to give it.
    missing
        How many rewards are still to come. Each counts as the lowest reward, so that a delay which depends on the
        reward causes no false alarm.
    low, high
        The range of the rewards.

    Returns
    -------
    The natural logarithm: a number for numbers, else an array. It is infinite if the bound is the lowest reward and
    some reward was larger.

    Examples
    --------
    Of 100 patients 80 recovered, and the chance of recovery was said to be at most 60%:

    >>> import meanbounds as mb
    >>> round(mb.evidence.log_e_upper(100, 80, 0.6), 2)
    7.72
    >>> mb.evidence.log_e_upper([50, 100], [30, 60], 0.6).round(2)  # what was to be expected says nothing against it
    array([-1.22, -1.51])
    """
    return _one_side(plays, total, upper, squares, missing, low, high, side="upper")


def log_e_lower(
    plays: ArrayLike,
    total: ArrayLike,
    lower: ArrayLike,
    *,
    squares: ArrayLike | None = None,
    missing: ArrayLike = 0,
    low: ArrayLike = 0.0,
    high: ArrayLike = 1.0,
) -> float | Floats:
    """How strongly rewards speak against a lower bound on their mean: the mirror image of `log_e_upper`.

    Parameters
    ----------
    plays, total, squares, low, high
        As for `log_e_upper`.
    lower
        The bound on the mean.
    missing
        How many rewards are still to come; each counts as the highest reward.

    Examples
    --------
    Of 100 patients 80 recovered, and the chance of recovery was said to be at least 95%:

    >>> import meanbounds as mb
    >>> round(mb.evidence.log_e_lower(100, 80, 0.95), 2)
    12.01
    >>> round(mb.evidence.log_e_lower(100, 80, 0.95, missing=20), 2)  # all of these may recover
    9.21
    """
    return _one_side(plays, total, lower, squares, missing, low, high, side="lower")


def confidence_sequence(
    plays: ArrayLike,
    total: ArrayLike,
    *,
    squares: ArrayLike | None = None,
    missing: ArrayLike = 0,
    error: float = 0.05,
    low: ArrayLike = 0.0,
    high: ArrayLike = 1.0,
) -> tuple[Floats, Floats]:
    """Limits on a mean that hold at all times at once: with probability ``1 - error`` the mean is never outside.

    They are the means that the rewards do not contradict, as bounds on either side, with an error of half each. Look as
    often as you like, and stop when you like.

    Parameters
    ----------
    plays, total
        How many rewards there were, and their sum.
    squares
        The sum of the squared rewards. With it the limits adapt to the variance, and are never much wider than without.
        Decide before the first reward whether to give it.
    missing
        How many rewards are still to come: each may be anything.
    error
        The probability with which the limits may ever fail.
    low, high
        The range of the rewards.

    Returns
    -------
    Lower limits and upper limits, as arrays.

    Examples
    --------
    >>> import meanbounds as mb
    >>> lower, upper = mb.evidence.confidence_sequence([100, 10_000], [80, 8_000])
    >>> lower.round(3), upper.round(3)
    (array([0.659, 0.785]), array([0.905, 0.814]))

    Rewards between 0.75 and 0.85 with the same mean:

    >>> lower, upper = mb.evidence.confidence_sequence([100, 10_000], [80, 8_000], squares=[64.2, 6_420])
    >>> lower.round(3), upper.round(3)
    (array([0.696, 0.798]), array([0.899, 0.802]))
    """
    named = {"plays": plays, "total": total, "missing": missing, "low": low, "high": high}
    if squares is not None:
        named["squares"] = squares
    n, s, late, bottom, top, *more = broadcast_floats(**named)
    wins, lacks = unit_sums(n, s, bottom, top)
    check_wholes("missing", late)
    level = log(2.0 / check_error(error))
    own, mirrored = (unit_squares(more[0], n, s, bottom, top, mirrored=m) if more else None for m in (False, True))
    span = top - bottom
    lower = bottom + span * _lowest(wins, lacks + late, own, level)
    upper = top - span * _lowest(lacks, wins + late, mirrored, level)
    return np.minimum(lower, top), np.maximum(upper, bottom)


def check_error(error: float) -> float:
    """The probability of a false alarm, checked.

    Examples
    --------
    >>> check_error(0.01)
    0.01
    >>> check_error(1)
    Traceback (most recent call last):
    ValueError: error must be a probability above 0 and below 1, such as 0.01; got 1
    """
    try:
        value = nan if isinstance(error, bool) else as_float("error", error)
    except ValueError:
        value = nan
    if not 0.0 < value < 1.0:
        raise ValueError(f"error must be a probability above 0 and below 1, such as 0.01; got {shown(error)}")
    return value


def unit_sums(plays: Floats, total: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Sums of rewards and of what each lacks to the highest, in units of the range; all are arrays of one shape.

    Examples
    --------
    >>> import numpy as np
    >>> unit_sums(*(np.array([x]) for x in (2.0, 6.0, 1.0, 5.0)))  # 1 and 5 stars
    (array([1.]), array([1.]))
    """
    check_wholes("plays", plays)
    if not np.all(fits_range(low, high)):
        raise ValueError(f"a range needs low < high, both finite; got low={shown(low)}, high={shown(high)}")
    wins, lacks = _above_rounding(plays, total, plays * low), _above_rounding(plays, plays * high, total)
    if not np.all((wins >= 0.0) & (lacks >= 0.0)):
        raise ValueError(
            f"total must be the sum of so many rewards between low and high; got total={shown(total)} of "
            f"plays={shown(plays)} in [{shown(low)}, {shown(high)}]"
        )
    return wins / (high - low), lacks / (high - low)


def _above_rounding(plays: Floats, larger: Floats, smaller: Floats) -> Floats:
    """The difference, 0 where it is no more than what so many additions may have rounded away."""
    slack, rest = (plays + 4096.0) * rounding(larger, smaller, operations=1), larger - smaller
    return np.where(np.abs(rest) <= slack, 0.0, rest)


def log_e(wins: Floats, lacks: Floats, bound: Floats, rest: Floats, squares: Floats | None = None) -> Floats:
    """Logarithms of the e-processes against upper bounds, all in units of the range; swap pairs for lower bounds.

    Examples
    --------
    >>> import numpy as np
    >>> log_e(*(np.array([x]) for x in (80.0, 20.0, 0.6, 0.4))).round(2)
    array([7.72])
    """
    given = np.full(wins.shape, nan) if squares is None else squares
    out = np.empty(wins.shape)
    kernel.fill_log_e(_table(wins, lacks, given, bound, rest), out.reshape(-1))
    return out


def _one_side(
    plays: ArrayLike,
    total: ArrayLike,
    bound: ArrayLike,
    squares: ArrayLike | None,
    missing: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    *,
    side: str,
) -> float | Floats:
    """The e-process against a bound on one side, in the units of the reward."""
    named = {"plays": plays, "total": total, side: bound, "missing": missing, "low": low, "high": high}
    if squares is not None:
        named["squares"] = squares
    n, s, limit, late, bottom, top, *more = broadcast_floats(**named)
    wins, lacks = unit_sums(n, s, bottom, top)
    check_wholes("missing", late)
    if not np.all((limit >= bottom) & (limit <= top)):
        raise ValueError(f"{side} must lie between low and high; got {side}={shown(bound)}")
    own = unit_squares(more[0], n, s, bottom, top, mirrored=side == "lower") if more else None
    below, above = (limit - bottom) / (top - bottom), (top - limit) / (top - bottom)
    if side == "upper":
        value = log_e(wins, lacks + late, below, above, own)
    else:
        value = log_e(lacks, wins + late, above, below, own)
    return float(value) if value.ndim == 0 else value


def unit_squares(
    squares: Floats, plays: Floats, total: Floats, low: Floats, high: Floats, *, mirrored: bool = False
) -> Floats:
    """Sum of the squared distances from the lowest reward, or if mirrored the highest, in units of the range.

    It is raised by what rounding may have cost: too large is on the safe side.
    """
    end, span = high if mirrored else low, high - low
    raw = squares - 2.0 * end * total + plays * end * end
    slack, sums = rounding(squares, end * total, plays * end * end), np.abs(total - plays * end)
    if not np.all((raw >= sums**2 / np.maximum(plays, 1.0) - slack) & (raw <= sums * span + slack)):
        raise ValueError(
            f"squares must be the sum of the squares of rewards that add up to total; got squares={shown(squares)}"
        )
    fine = rounding(squares, end * total, plays * end * end, operations=8)
    return np.minimum(np.maximum(raw, 0.0) + fine, sums * span + fine) / span**2


def _lowest(wins: Floats, lacks: Floats, squares: Floats | None, level: float) -> Floats:
    """The smallest upper bounds that are not contradicted, in units of the range."""
    given = np.full(wins.shape, nan) if squares is None else squares
    out = np.empty(wins.shape)
    kernel.fill_lowest(_table(wins, lacks, given), level, out.reshape(-1))
    return out


def _table(*columns: Floats) -> Floats:
    """Arrays of one shape as the rows of a table."""
    return np.array([column.reshape(-1) for column in columns])


def check_wholes(name: str, values: Floats) -> None:
    """Refuse counts that are not whole numbers from 0 on."""
    if not np.all((values >= 0.0) & (values <= _MOST) & (values == np.floor(values))):
        raise ValueError(f"{name} must be whole numbers, at least 0; got {shown(values)}")
