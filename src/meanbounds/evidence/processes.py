"""E-processes against a bound on a mean, and limits on a mean that hold at all times at once.

Rewards lie in [0, 1], and u is an upper bound on their mean. For 0 < t < 1, ``t^(1 - x)`` is convex in x, so a reward X
has ``E t^(1 - X) <= E[X + (1 - X) t] <= u + (1 - u) t`` given the past, and ``t^(1 - X) / (u + (1 - u) t)`` has
expectation at most 1. The product over rewards depends on their number n and on F, the sum of 1 - X, alone. Averaged
over t in (0, 1) it is ``integral of t^F / (u + (1 - u) t)^n dt``: a nonnegative process that starts at 1 and falls on
average if the bound holds, so that it ever reaches 1 / error with probability at most error (Ville's inequality).

Where the sum of the squared rewards is known, half of the wealth goes to a second process, which gains more if rewards
vary little. For z >= -1 and 0 <= g < 1, ``exp(g z + (g + log(1 - g)) z^2) <= 1 + g z`` (Fan, Grama and Liu, 2015), and
the right side has expectation at most 1 for ``z = (X - u) / max(u, 1 - u)``. The product is averaged over stakes
g = 1/2, 1/4, .... For g <= 1/2 each factor grows with X and falls with u, as those of the first process do: so missing
rewards may be counted as 0, and the bounds that are not contradicted form an interval.

A lower bound is an upper bound on 1 - X.
"""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import ArrayLike

from meanbounds.support.checks import as_float, broadcast_floats, fits_range, shown
from meanbounds.support.types import Floats

__all__ = ["LOG_WEIGHTS", "SHARES", "check_error", "confidence_sequence", "log_e", "log_e_lower", "log_e_upper"]

SHARES = 0.5 ** np.arange(20.0)
"""1, 1/2, 1/4, ...: half of each is a stake of the second process."""

LOG_WEIGHTS = -np.log(np.arange(1.0, 21.0) * np.arange(2.0, 22.0)) - log(20.0 / 21.0)
"""Logarithms of the weights 1/2, 1/6, 1/12, ... of these, scaled so that they add up to 1."""

_STAKES = 0.5 * SHARES
_PRICES = _STAKES + np.log1p(-_STAKES)  # negative: what a squared distance costs
_NODES, _WEIGHTS = (0.5 * part for part in legendre.leggauss(20))
_PANEL = 2.0  # the widest panel of the quadrature
_DEPTH = 34.0  # what is left where the integrand has fallen by exp(-34) is neglected
_LEAST_ODDS = -700.0  # log-odds of a bound that can hardly be told from 0
_ROUNDING = 1e-12


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
    return _against("upper", plays, total, upper, squares, missing, low, high)


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
    return _against("lower", plays, total, lower, squares, missing, low, high)


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

    They enclose the means that the rewards do not contradict, as bounds on either side, with an error of half each.
    Look as often as you like, and stop when you like.

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
    wins, lacks, own, late, bottom, top = in_units(plays, total, squares, missing, low, high)
    level = log(2.0 / check_error(error))
    mirrored = None if own is None else own + lacks - wins
    lower = bottom + (top - bottom) * _lowest(wins, lacks + late, own, level)
    upper = top - (top - bottom) * _lowest(lacks, wins + late, mirrored, level)
    return np.minimum(lower, top), np.maximum(upper, bottom)


def check_error(error: float) -> float:
    """The probability of a false alarm, checked.

    Examples
    --------
    >>> check_error(1)
    Traceback (most recent call last):
    ValueError: error must be a probability above 0 and below 1, such as 0.01; got 1
    """
    try:
        value = as_float("error", error)
    except ValueError:
        value = np.nan
    if isinstance(error, bool) or not 0.0 < value < 1.0:
        raise ValueError(f"error must be a probability above 0 and below 1, such as 0.01; got {shown(error)}")
    return value


def log_e(wins: Floats, lacks: Floats, bound: Floats, rest: Floats, squares: Floats | None = None) -> Floats:
    """Logarithms of the e-processes against upper bounds, unchecked, all in units of the range.

    `wins` is the sum of rewards, `lacks` that of 1 - reward, and `rest` is 1 - `bound`: each is given by itself, for
    where they are tiny. `squares` is the sum of squared rewards. Swap both pairs for lower bounds.

    Examples
    --------
    >>> import numpy as np
    >>> log_e(*(np.array([x]) for x in (80.0, 20.0, 0.6, 0.4))).round(2)
    array([7.72])
    """
    given = (wins, lacks, bound, rest, *(() if squares is None else (squares,)))
    flat = [array.ravel() for array in np.broadcast_arrays(*given)]
    with np.errstate(all="ignore"):
        value = np.where(flat[2] > 0.0, -np.log1p(flat[1]), np.where(flat[0] > 0.0, np.inf, 0.0))  # at the ends
        inside = (flat[2] > 0.0) & (flat[3] > 0.0) & (flat[0] + flat[1] > 0.0)
        value[inside] = _mixture(*(part[inside] for part in flat[:4]))
        if squares is not None:
            value = np.logaddexp(value, _adaptive(*flat)) - log(2.0)
    return value.reshape(np.broadcast_shapes(*(array.shape for array in given)))


def _mixture(wins: Floats, lacks: Floats, bound: Floats, rest: Floats) -> Floats:
    """The first process. With s = -log t its integrand is log-concave; quadrature goes from its peak to both sides.

    A peak beyond s = 0 is at the mean x = (wins - 1) / n, and the logarithm there is ``n kl(x, bound)``.
    """
    size, a, b = wins + lacks, wins - 1.0, lacks + 1.0
    gap = (a * rest - b * bound) / size  # x - bound
    beyond = gap > 0.0
    x, lack = np.where(beyond, a / size, bound), np.where(beyond, b / size, rest)
    value = np.log(_mass(a, b, x, lack, np.full(size.shape, np.inf)))
    if beyond.any():
        a, b, x, lack, gap, u = (part[beyond] for part in (a, b, x, lack, gap, bound))
        ratio = np.where(gap < 0.5 * x, np.log1p(-gap / x), np.log(u / x))
        height = -a * ratio - b * np.log1p(gap / lack)
        below = _mass(b, a, lack, x, np.log1p(gap / (u * lack)))  # as far as the log-odds of x are from those of u
        value[beyond] = height + np.logaddexp(value[beyond], np.log(below))
    return value


def _mass(a: Floats, b: Floats, x: Floats, lack: Floats, farthest: Floats) -> Floats:
    """Integral over s from 0 to `farthest` of ``exp(a s) / (lack + x exp(s))^(a + b)``, for ``lack = 1 - x``.

    It is that of the Beta(a, b) density in the log-odds, relative to its value at x, which is at or beyond the peak.
    """

    def fallen(s: Floats, a: Floats, b: Floats, x: Floats, lack: Floats) -> Floats:
        near = a * s - (a + b) * np.log1p(x * np.expm1(np.minimum(s, 700.0)))
        far = -b * s - (a + b) * np.where(x > 0.5, np.log1p(lack * np.expm1(-s)), np.log(x + lack * np.exp(-s)))
        return np.where((x > 0.5) | (s > 700.0), far, near)

    width = np.minimum(farthest, (_DEPTH - (a + b) * np.log(x)) / b)  # where b s + (a + b) log(x) is as deep
    while (deep := fallen(0.5 * width, a, b, x, lack) < -_DEPTH).any():
        width = np.where(deep, 0.5 * width, width)
    panels = np.floor(width / _PANEL) + 2.0
    width, mass = width / panels, np.zeros(width.shape)
    for number in range(int(panels.max(initial=0.0))):
        now = np.flatnonzero(panels > number)
        steps = width[now, None] * (number + 0.5 + _NODES)
        mass[now] += np.exp(fallen(steps, *(part[now, None] for part in (a, b, x, lack)))) @ _WEIGHTS
    return width * mass


def _adaptive(wins: Floats, lacks: Floats, bound: Floats, rest: Floats, squares: Floats) -> Floats:
    """The second process: a mixture over stakes, for rewards whose squares are known."""
    size, scale = wins + lacks, np.maximum(bound, rest)
    ahead = wins * rest - lacks * bound
    spread = np.maximum(squares - 2.0 * bound * wins + size * bound * bound, ahead * ahead / np.maximum(size, 1.0))
    each = LOG_WEIGHTS + _STAKES * (ahead / scale)[:, None] + _PRICES * (spread / scale**2)[:, None]
    value: Floats = np.logaddexp.reduce(each, axis=1)
    return value


def _lowest(wins: Floats, lacks: Floats, squares: Floats | None, level: float) -> Floats:
    """The smallest bounds against which the logarithm of the e-process is at most `level`: smaller ones are refuted.

    Brackets in the log-odds of the bound, then regula falsi (Illinois); the end that is returned is not refuted.
    """
    shape, given = wins.shape, (wins, lacks) if squares is None else (wins, lacks, squares)
    wins, lacks, *more = (part.ravel() for part in given)

    def above_level(odds: Floats, who: Any) -> Floats:
        bound, rest = 1.0 / (1.0 + np.exp(-odds)), 1.0 / (1.0 + np.exp(odds))
        return log_e(wins[who], lacks[who], bound, rest, more[0][who] if more else None) - level

    with np.errstate(all="ignore"):
        high = np.where(lacks > 0.0, np.log(wins) - np.log(lacks), np.log(wins + 1.0) + 2.0)
    who = np.flatnonzero((wins > 0.0) & (high > 1.0 + _LEAST_ODDS))
    high, result = high[who], np.zeros(wins.shape)
    while (bad := above_level(high, who) > 0.0).any():  # only where nothing lacks
        high[bad] += 2.0
    low, step = high - 0.125, 0.125
    while (fine := (above_level(low, who) <= 0.0) & (low > _LEAST_ODDS)).any():
        high, step = np.where(fine, low, high), 2.0 * step
        low = np.where(fine, np.maximum(_LEAST_ODDS, low - step), low)
    at_low, at_high, side = above_level(low, who), above_level(high, who), np.zeros(who.size)
    result[who] = np.where(at_low > 0.0, 1.0 / (1.0 + np.exp(-high)), 0.0)
    for _ in range(200):
        open_ = (at_low > 0.0) & (at_high < -1e-12) & (high - low > 1e-13 * (1.0 + np.abs(high)))
        if not open_.any():
            break
        who, low, high, at_low, at_high, side = (part[open_] for part in (who, low, high, at_low, at_high, side))
        middle = low + (high - low) * (at_low / (at_low - at_high))
        middle = np.where((middle > low) & (middle < high), middle, 0.5 * (low + high))
        value = above_level(middle, who)
        up = value > 0.0
        at_high = np.where(up, np.where(side > 0.0, 0.5, 1.0) * at_high, value)
        at_low = np.where(up, value, np.where(side < 0.0, 0.5, 1.0) * at_low)
        low, high, side = np.where(up, middle, low), np.where(up, high, middle), np.where(up, 1.0, -1.0)
        result[who] = 1.0 / (1.0 + np.exp(-high))
    return result.reshape(shape)


def _against(
    side: str,
    plays: ArrayLike,
    total: ArrayLike,
    bound: ArrayLike,
    squares: ArrayLike | None,
    missing: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
) -> float | Floats:
    """The e-process against a bound on one side, in the units of the reward."""
    wins, lacks, own, late, bottom, top, limit = in_units(plays, total, squares, missing, low, high, **{side: bound})
    below, above = (limit - bottom) / (top - bottom), (top - limit) / (top - bottom)
    if side == "upper":
        value = log_e(wins, lacks + late, below, above, own)
    else:
        value = log_e(lacks, wins + late, above, below, None if own is None else own + lacks - wins)
    return value if value.ndim else float(value)


def in_units(
    plays: ArrayLike,
    total: ArrayLike,
    squares: ArrayLike | None,
    missing: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    **bound: ArrayLike,
) -> Any:
    """The sums of rewards, of what they lack and of squares in units of the range; then what was given, checked."""
    named = {"plays": plays, "total": total, "missing": missing, "low": low, "high": high, **bound}
    n, s, late, bottom, top, *rest = broadcast_floats(**named, **({} if squares is None else {"squares": squares}))
    for name, values in (("plays", n), ("missing", late)):
        if not np.all((values >= 0.0) & (values <= 2.0**53) & (values == np.floor(values))):
            raise ValueError(f"{name} must be whole numbers, at least 0; got {shown(values)}")
    if not np.all(fits_range(bottom, top)):
        raise ValueError(f"a range needs low < high, both finite; got low={shown(low)}, high={shown(high)}")
    for name, limit in zip(bound, rest, strict=False):
        if not np.all((limit >= bottom) & (limit <= top)):
            raise ValueError(f"{name} must lie between low and high; got {name}={shown(limit)}")
    span, slack = top - bottom, _ROUNDING * n * np.maximum(np.abs(bottom), np.abs(top))
    wins, lacks = (np.where(np.abs(part) <= slack, 0.0, part) for part in (s - n * bottom, n * top - s))
    if not np.all((wins >= 0.0) & (lacks >= 0.0)):
        raise ValueError(
            f"total must be the sum of {shown(plays)} rewards between {shown(low)} and {shown(high)}; got {shown(total)}"
        )
    own = None
    if squares is not None:
        raw = rest[-1] - 2.0 * bottom * s + n * bottom**2
        slack = _ROUNDING * (n * np.maximum(np.abs(bottom), np.abs(top)) ** 2)
        if not np.all((raw >= wins**2 / np.maximum(n, 1.0) - slack) & (raw <= wins * span + slack)):
            raise ValueError(
                f"squares must be the sum of the squares of rewards that add up to total; got {shown(squares)}"
            )
        own = np.minimum(raw + slack, wins * span) / span**2  # too large is on the safe side
    return wins / span, lacks / span, own, late, bottom, top, *rest[: len(bound)]
