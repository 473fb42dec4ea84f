"""E-processes against a bound on a mean, and limits on a mean that hold at all times at once.

Rewards lie in [0, 1], and u is an upper bound on their mean; a lower bound is an upper bound on 1 - X. A gambler bets
against u with stake s: a factor that has expectation at most 1 while the bound holds, given all that went before. The
product of the factors, averaged over a fixed list of stakes, then ever reaches 1 / error with probability at most error
(Ville's inequality). There are two kinds of factors.

- ``exp(s X) / (1 - u + u exp(s))``. Since exp(s x) is convex in x, its expectation is at most 1. The product depends on
  the number of rewards and their sum alone. For rewards of 0 and 1 it is a likelihood ratio; s is the log odds ratio.
- ``exp(s (X - u) - s^2 R(s u) (X - u)^2)`` with ``R(g) = -(g + log(1 - g)) / g^2``, where s u < 1. It is at most
  ``1 + s (X - u)`` (Fan, Grama and Liu, 2015). The product takes the sum of squared rewards as well, and gains more if
  rewards vary little. Where the sum of squares is known, half of the wealth is bet in this way.

Both fall with u at fixed s, whatever X is (the second since R' >= R^2), so the bounds that are not contradicted form an
interval. Wealth that is meant for stakes with s u >= 1 is kept. It would break this order, but is less than 1/2, which
`confidence_sequence` allows for.
"""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from meanbounds.divergence import kl
from meanbounds.support.checks import as_float, broadcast_floats, fits_range, shown
from meanbounds.support.types import Booleans, Floats

__all__ = ["against", "check_error", "confidence_sequence", "log_e"]

_HALVES = np.arange(12.0, -33.0, -1.0)
STAKES = 2.0 ** (0.5 * _HALVES)  # from 64 to 1 / 65,536
LOG_WEIGHTS = -np.log((np.abs(_HALVES) + 2.0) * (np.abs(_HALVES) + 3.0))
LOG_WEIGHTS -= np.logaddexp.reduce(LOG_WEIGHTS)
_CHUNK = 4096  # processes at a time
_FEW = 8  # processes, for which it takes longer to look for those that need not be computed
_LEAST_ODDS = -700.0  # log-odds of a bound that can hardly be told from 0
_ROUNDING = 1e-12


def log_e(
    plays: ArrayLike,
    total: ArrayLike,
    *,
    upper: ArrayLike | None = None,
    lower: ArrayLike | None = None,
    squares: ArrayLike | None = None,
    missing: ArrayLike = 0,
    low: ArrayLike = 0.0,
    high: ArrayLike = 1.0,
) -> float | Floats:
    """How strongly rewards speak against a bound on their mean: the logarithm of an e-process.

    If the bound holds, the e-process ever reaches 1 / error with probability at most `error`, however often you look
    and whenever you stop. The order of rewards does not matter.

    Parameters
    ----------
    plays, total
        How many rewards there were, and their sum.
    upper, lower
        The bound on their mean: one of the two.
    squares
        The sum of the squared rewards. With it, rewards that vary little say more. Decide before the first reward
        whether to give it.
    missing
        How many rewards are still to come. Each counts as what speaks most for the bound, so that a delay which depends
        on the reward causes no false alarm.
    low, high
        The range of the rewards.

    Returns
    -------
    The natural logarithm: a number for numbers, else an array. It is infinite if the rewards exclude the bound.

    Examples
    --------
    Of 100 patients 80 recovered, and the chance of recovery was said to be at most 60%:

    >>> import meanbounds as mb
    >>> round(mb.evidence.log_e(100, 80, upper=0.6), 2)
    8.03
    >>> round(mb.evidence.log_e(100, 80, upper=0.6, missing=5), 2)  # none of these may recover
    4.91
    >>> mb.evidence.log_e([50, 100], [30, 60], lower=0.6).round(2)  # what was to be expected says nothing against it
    array([-1.56, -1.77])
    """
    if (upper is None) == (lower is None):
        raise ValueError("give one bound that the rewards are held against: upper= or lower=")
    ends: dict[str, Any] = {"low": low, "high": high, "bound": lower if upper is None else upper}
    wins, lacks, own, late, bottom, top, limit = _in_units(plays, total, squares, missing, **ends)
    below, above = (limit - bottom) / (top - bottom), (top - limit) / (top - bottom)
    if upper is None:
        wins, lacks, below, above, own = lacks, wins, above, below, None if own is None else own + lacks - wins
    value = against(wins, lacks, below, above, own, late)
    return value if value.ndim else float(value)


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

    Look as often as you like, and stop when you like. The limits enclose the means that the rewards do not contradict,
    as bounds on either side, with an error of half each.

    Parameters
    ----------
    plays, total, squares, missing, low, high
        As for `log_e`. With `squares` the limits adapt to the variance, and are never much wider than without.
    error
        The probability with which the limits may ever fail.

    Returns
    -------
    Lower limits and upper limits, as arrays.

    Examples
    --------
    >>> import meanbounds as mb
    >>> lower, upper = mb.evidence.confidence_sequence([100, 10_000], [80, 8_000])
    >>> lower.round(3), upper.round(3)
    (array([0.659, 0.785]), array([0.903, 0.815]))

    Rewards between 0.75 and 0.85 with the same mean:

    >>> lower, upper = mb.evidence.confidence_sequence([100, 10_000], [80, 8_000], squares=[64.2, 6_420])
    >>> lower.round(3), upper.round(3)
    (array([0.736, 0.798]), array([0.829, 0.802]))
    """
    wins, lacks, own, late, bottom, top = _in_units(plays, total, squares, missing, low=low, high=high)
    level = log(2.0 / check_error(error) + (0.0 if own is None else 0.5))
    mirrored = None if own is None else own + lacks - wins
    lower = bottom + (top - bottom) * _lowest(wins, lacks, own, late, level)
    upper = top - (top - bottom) * _lowest(lacks, wins, mirrored, late, level)
    return np.minimum(lower, top), np.maximum(upper, bottom)


def check_error(error: float) -> float:
    """Return the probability of a false alarm, checked."""
    if isinstance(error, bool) or not 0.0 < as_float("error", error) < 1.0:
        raise ValueError(f"error must be a probability above 0 and below 1, such as 0.01; got {shown(error)}")
    return float(error)


def _in_units(
    plays: ArrayLike, total: ArrayLike, squares: ArrayLike | None, missing: ArrayLike, **ends: ArrayLike
) -> Any:
    """What was given, checked: sums of rewards, of what they lack and of squares in units of the range; the rest."""
    named = {"plays": plays, "total": total, "missing": missing, **ends}
    n, s, late, *rest = broadcast_floats(**named, **({} if squares is None else {"squares": squares}))
    bottom, top, *limit = rest[: len(ends)]
    for name, values in (("plays", n), ("missing", late)):
        if not np.all((values >= 0.0) & (values <= 2.0**53) & (values == np.floor(values))):
            raise ValueError(f"{name} must be whole numbers, at least 0; got {shown(values)}")
    if not np.all(fits_range(bottom, top)):
        raise ValueError(f"a range needs low < high, both finite; got low={shown(bottom)}, high={shown(top)}")
    if not all(np.all((values >= bottom) & (values <= top)) for values in limit):
        raise ValueError(f"the bound must lie between low and high; got {shown(limit[0])}")
    span, size = top - bottom, np.maximum(np.abs(bottom), np.abs(top))
    slack = _ROUNDING * n * size
    wins, lacks = (np.where(np.abs(part) <= slack, 0.0, part) for part in (s - n * bottom, n * top - s))
    if not np.all((wins >= 0.0) & (lacks >= 0.0)):
        raise ValueError(f"total must be the sum of so many rewards between low and high; got total={shown(total)}")
    own = None
    if squares is not None:
        own, slack = rest[-1] - 2.0 * bottom * s + n * bottom**2, slack * size
        if not np.all((own >= wins**2 / np.maximum(n, 1.0) - slack) & (own <= wins * span + slack)):
            raise ValueError(f"squares must be the sum of the squares of these rewards; got squares={shown(squares)}")
        own = np.minimum(own + slack, wins * span) / span**2  # too large is on the safe side
    return wins / span, lacks / span, own, late, bottom, top, *limit


def against(
    wins: Floats, lacks: Floats, bound: Floats, rest: Floats, squares: Floats | None = None, late: Any = 0.0
) -> Floats:
    """Logarithms of the e-processes against upper bounds, in units of the range and unchecked.

    `wins` is the sum of rewards, `lacks` that of 1 - reward, and `rest` is 1 - `bound`: they may be tiny. `squares` is
    the sum of squared rewards, and `late` counts those to come. For lower bounds swap both pairs.
    """
    given = np.broadcast_arrays(wins, lacks, bound, rest, late, wins if squares is None else squares)
    table = np.array([part.ravel() for part in given])
    blocks = np.array_split(table, 1 + table.shape[1] // _CHUNK, axis=1)
    return np.concatenate([_wealth(block, squares is not None) for block in blocks]).reshape(given[0].shape)


def refuted(wins: Floats, lacks: Floats, bound: Floats, late: Floats, level: float) -> Booleans:
    """Whether the e-processes against these upper bounds, strictly between 0 and 1, reach a level; see `against`.

    No mixture is above the best stake, and each is above its share of any stake: most bounds need no more than these.
    """
    if wins.size < _FEW:
        return against(wins, lacks, bound, 1.0 - bound, None, late) >= level
    size = wins + lacks + late
    mean = wins / size
    found: Booleans = (mean > bound) & (size * kl(mean, bound) >= level)
    best = np.log(np.maximum(mean * (1.0 - bound), 1e-300) / np.maximum((1.0 - mean) * bound, 1e-300))
    place = np.clip(np.rint(_HALVES[0] - 2.0 * np.log2(np.maximum(best, 1e-9))), 0, len(_HALVES) - 1).astype(np.int64)
    stake = STAKES[place]
    open_ = found & (LOG_WEIGHTS[place] + stake * wins - size * np.log1p(bound * np.expm1(stake)) < level)
    if open_.any():
        own, rest, limit = wins[open_], lacks[open_], bound[open_]
        found[open_] = against(own, rest, limit, 1.0 - limit, None, late[open_]) >= level
    return found


@np.errstate(divide="ignore", invalid="ignore")
def _wealth(table: Floats, adaptive: bool) -> Floats:
    wins, lacks, bound, rest, late, squares = table[..., None]
    fails, s = lacks + late, STAKES
    near = s * wins - (wins + fails) * np.log1p(bound * np.expm1(s))
    far = -s * fails - (wins + fails) * np.log1p(rest * np.expm1(-s))
    value = np.logaddexp.reduce(LOG_WEIGHTS + np.where(bound < 0.5, near, far), axis=1)
    if adaptive:
        size, ahead = wins + lacks, wins * rest - lacks * bound
        spread = np.maximum(squares - 2.0 * bound * wins + size * bound**2, ahead**2 / np.maximum(size, 1.0))
        g = s * bound
        series = 0.5 + g * (1 / 3 + g * (1 / 4 + g / 5))
        price = s**2 * np.where(g < 1e-3, series, -(g + np.log1p(-g)) / g**2)
        worst = np.minimum(-s * bound - price * bound**2, s * rest - price * rest**2)  # of one reward
        bets = np.where(g < 1.0, s * ahead - price * spread + late * worst, 0.0)
        value = np.logaddexp(value, np.logaddexp.reduce(LOG_WEIGHTS + bets, axis=1)) - log(2.0)
    return np.where((table[2] > 0.0) | (table[0] <= 0.0), value, np.inf)


@np.errstate(divide="ignore", invalid="ignore")
def _lowest(wins: Floats, lacks: Floats, squares: Floats | None, late: Floats, level: float) -> Floats:
    """The smallest bounds against which the logarithm of the e-process is at most `level`: smaller ones are refuted.

    Brackets in the log-odds of the bound, then regula falsi (Illinois); the end that is returned is not refuted.
    """

    def excess(odds: Floats) -> Floats:
        return against(wins, lacks, expit(odds), expit(-odds), squares, late) - level

    high = np.log(wins + (lacks <= 0.0)) - np.log(np.where(lacks > 0.0, lacks, 0.125))
    high = np.maximum(high, 1.0 + _LEAST_ODDS)
    while (refuted := (at_high := excess(high)) > 0.0).any():  # only where nothing lacks
        high = np.where(refuted, high + 2.0, high)
    low, step = high - 0.125, 0.125
    while (held := ((at_low := excess(low)) <= 0.0) & (low > _LEAST_ODDS)).any():
        high, at_high, step = np.where(held, low, high), np.where(held, at_low, at_high), 2.0 * step
        low = np.where(held, np.maximum(_LEAST_ODDS, low - step), low)
    none, side = (at_low <= 0.0) | (wins <= 0.0), np.zeros(wins.shape)
    for _ in range(200):
        if np.all(none | (at_high >= -1e-8) | (high - low <= 1e-13 * (1.0 + np.abs(high)))):
            break
        middle = low + (high - low) * (at_low / (at_low - at_high))
        middle = np.where((middle > low) & (middle < high), middle, 0.5 * (low + high))
        value = excess(middle)
        up = value > 0.0
        at_high = np.where(up, np.where(side > 0.0, 0.5, 1.0) * at_high, value)
        at_low = np.where(up, value, np.where(side < 0.0, 0.5, 1.0) * at_low)
        low, high, side = np.where(up, middle, low), np.where(up, high, middle), np.where(up, 1.0, -1.0)
    return np.where(none, 0.0, expit(high))
