"""The mathematics of bounds from a log: what each assumption claims, and what a finite log says of it.

Rewards Y are in units of their range, A is the option that was chosen, and everything is inside one context. Each claim
bounds the mean of an option k by the mean of one variable, which gets one confidence limit (`limits`). With e for
`errors`, l for `loss`, g for `gap_low`, G for `gap_high` and L for `odds`:

- **Any expert.** Where another option was chosen, k was worth at least 0 and at least Y - G. So its mean is at least
  that of ``Y 1{A = k} + (Y - G) 1{A in S}`` for every set S of other options. The upper bound is the mirror image, with
  1 - Y in place of Y: k was worth at most 1 and at most Y + G.
- **Right and wrong choices.** A choice is wrong if another option would have been better, and then it loses at least g;
  so at most w = min(e, l / g) of the cases are wrong. Where the choice was right, k was worth at most Y - g. All wrong
  choices together lose at most v = min(l, w G). The mean of k is at most each of three numbers: the mean of
  ``Y - g 1{A != k}`` plus ``w g + v``; the mean of Y plus v; and the any-expert bound less ``g (P(A != k) - w)``.
- **Odds.** Where another option was chosen, k would have been worth the mean of w Y, given A = k, with weights w
  between 1/L and L that have mean 1. With m the mean and s the deviation of Y there, that is at most each of ``L m``,
  ``1 - (1 - m) / L`` and ``m + s ((L - 1) (1 - 1/L))**0.5``, the last by the inequality of Cauchy and Schwarz.
- **Known propensities.** The mean of k is that of ``c + (Y - c) 1{A = k} / propensity``, for every c.
- **Checks.** The mean of ``(Y - g) 1{A = k}`` is at least ``-w g``, since the second best option is worth at least 0
  where k was rightly chosen; and that of ``1{A = k} / propensity`` is 1. They bound nothing; a log can refute them.
- **Missing rewards.** All variables above rise with Y, so where Y is missing, lower limits take the least that its mean
  can be there and upper limits the most: 0 and 1, or d = `apart` beyond a limit on the mean of k's rows with a reward.
  A row with that number instead of Y is a row of a variable whose mean is no nearer than the true one. As the number
  depends on the log unless it is 0 or 1, only Chernoff's limit is used then, which rises with the sum of the rows.

For rewards of 0 and 1 nothing better follows from one context of an infinite log: a linear program over all kinds of
cases gives the same numbers, as long as each mean where an option was chosen is at least g from both ends of the range,
and odds are assumed alone. Graded rewards would allow a little more: only their means and variances are used.

With C contexts of K options and confidence c, each option of a context may fail with probability (1 - c) / (C K).
Limits on the mean of its rows with a reward get 1/10 of that, if others have none and d < 1. Checks get 1/50 of what is
left, if there are any, and each side half of the rest. Claims share a side by weights that depend on which fields are
given, never on the log. Where G is given, the empty set S has 1/5 of the weight of all sets. Another
2/5 are shared equally by the other sizes, and of the last 2/5 a set that leaves out r options gets ``1 / ((r + 1) (r +
2))`` for its size, since large sets are often best. Sets of one size have equal weights. All of these limits hold at
once, so the best may be taken. For Chernoff's limit that is the best of all sets: it has the first options in the order
of ``E[(Y - G) 1{A = j}]``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import log, log1p
from typing import Any

import numpy as np
from scipy.special import gammaln

from meanbounds.logs.confidence import lower_limit, upper_limit
from meanbounds.support.types import Booleans, Floats, Integers

__all__ = ["EXACT", "GAP_LOW", "WEIGHTS", "Cells", "claimed", "nearest"]

EXACT = 0.0
"""Nats of bounds that take the shares and means of the log as exact, as those of an infinite log are."""

GAP_LOW, WEIGHTS = 1, 2  # what the checks can refute

_CHECKS = 0.02  # of the error of an option
_EMPTY = 0.2  # of the weight of all sets goes to the empty one
_FOR_MISSING = 0.1  # of the error of an option, to limits on the mean of its rows with a reward, if some have none
_HUGE = 1e200  # sums of squares with which no limit by the variance is the better one
_FOR_SHARE = 0.1  # of the error of bounds by odds, to the limit on the option's share and to that on the deviation
_CENTRES = (0.0, 0.5, 1.0)  # the numbers c of known propensities
_AT_ONCE = 2**20  # numbers in the arrays over contexts, options and sets


@dataclass(frozen=True, eq=False)
class Cells:
    """Rows, sums and sums of squares, contexts x arms, of rewards in units of their range.

    `weighted` and `least` are those of `Counts`. `rows` have a reward; `missing` more have none, and the mean of these
    is within `apart` of that of the others.
    """

    rows: Floats
    total: Floats
    squares: Floats
    weighted: Floats | None = None
    least: float = 1.0
    missing: Floats | None = None
    apart: float = 1.0

    def at(self, places: slice | Integers) -> Cells:
        """The cells of some contexts; a place may come twice."""
        own: dict[str, Any] = {
            name: part[..., places, :] for name, part in vars(self).items() if isinstance(part, np.ndarray)
        }
        return replace(self, **own)

    @property
    def chosen(self) -> Floats:
        """Rows with a reward or without."""
        return self.rows if self.missing is None else self.rows + self.missing

    def sides(self, nats: float) -> tuple[Cells, Cells, float]:
        """The cells of all rows, with what is missing at its least and at its most, and the nats that this costs.

        `nats` are those of all that is said of one option, as in `claimed`; all else that is said gets the cost more.
        """
        if self.missing is None or not self.missing.any():
            return self, self, 0.0
        known = self.apart >= 1.0 or nats <= EXACT
        level = EXACT if known else nats + log(2.0) - log(_FOR_MISSING)
        sums = self.rows, self.total, self.squares, level
        least = np.maximum(lower_limit(*sums) - self.apart, 0.0)
        most = np.minimum(upper_limit(*sums) + self.apart, 1.0)
        found = []
        for value in (least, most):
            squares = self.squares + np.where((self.missing > 0.0) & (self.apart < 1.0), _HUGE, self.missing * value**2)
            total = self.total + self.missing * value
            found.append(replace(self, rows=self.chosen, total=total, squares=squares, missing=None))
        return found[0], found[1], 0.0 if known else -log1p(-_FOR_MISSING)

    def mirrored(self) -> Cells:
        """The cells of 1 - Y; known propensities are left out."""
        return Cells(self.rows, self.rows - self.total, self.rows - 2.0 * self.total + self.squares)


def claimed(cells: Cells, table: Floats, nats: float) -> tuple[Floats, Floats, Integers]:
    """Lower and upper bounds on each mean, contexts x arms, and where a check refutes what is assumed.

    The rows of `table` are as `Experts.numbers` returns them. `nats` are minus the logarithm of the probability with
    which the bounds of one arm in one context may fail; `EXACT` takes the log as infinite. Bounds are in units of the
    range, and can lie outside [0, 1] or cross. The last array is `GAP_LOW` or `WEIGHTS` where a check fails, else 0.
    """
    if cells.missing is not None and cells.missing.any() and cells.apart < 1.0 and nats > EXACT:
        # Where little is missing, rewards that vary little say more if nothing is assumed of it: half the error each.
        ways = [_claimed(own, table, nats + log(2.0)) for own in (cells, replace(cells, apart=1.0))]
        lower, upper, refuted = zip(*ways, strict=True)
        return np.maximum(*lower), np.minimum(*upper), np.maximum(*refuted)
    return _claimed(cells, table, nats)


def _claimed(cells: Cells, table: Floats, nats: float) -> tuple[Floats, Floats, Integers]:
    """The same with what is missing in one way."""
    arms = cells.rows.shape[1]
    size = max(1, _AT_ONCE // (arms * (arms + 1)))
    starts = range(0, max(1, len(cells.rows)), size)
    parts = [_part(cells.at(slice(z, z + size)), table[:, z : z + size], nats) for z in starts]
    lower, upper, refuted = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return lower, upper, refuted


def _part(given: Cells, table: Floats, nats: float) -> tuple[Floats, Floats, Integers]:
    low_cells, cells, cost = given.sides(nats)
    nats += cost
    errors, loss, gap, gap_high, inverse = (row[:, None] for row in table)
    with np.errstate(divide="ignore", invalid="ignore"):
        wrong = np.fmin(errors, np.where(gap > 0.0, loss / gap, 1.0))
    lost = np.minimum(loss, wrong * gap_high)
    judged, far, near = (errors < 1.0) | (loss < 1.0), gap > 0.0, gap_high < 1.0
    tilted, known = inverse > 0.0, cells.weighted is not None
    checked = (judged & far) | known
    side = nats + log(2.0) - np.where(checked, np.log1p(-_CHECKS), 0.0)
    lower_of = _shares(nats, side, sets=0.1 + 0.8 * near, odds=0.9 * tilted, weighted=0.9 * known * np.ones_like(gap))
    upper_of = _shares(
        nats,
        side,
        sets=0.1 + 0.2 * (near & judged) + 0.8 * (near & ~judged),
        right=0.9 * judged,
        loss=0.45 * ((loss < 1.0) & far),
        gap=0.1 * (judged & far),
        odds=0.9 * tilted,
        weighted=0.9 * known * np.ones_like(gap),
    )
    turned = cells.mirrored()
    lower = _over_sets(low_cells, gap_high, np.zeros_like(gap), lower_of["sets"])
    upper = 1.0 - _over_sets(turned, gap_high, np.zeros_like(gap), upper_of["sets"])
    if judged.any():
        upper = np.minimum(upper, _raised(cells, gap, upper_of["right"]) + wrong * gap + lost)
    if far.any() and judged.any():
        upper = np.minimum(upper, _raised(cells, np.zeros_like(gap), upper_of["loss"]) + lost)
        upper = np.minimum(upper, 1.0 - _over_sets(turned, gap_high, gap, upper_of["gap"]) + wrong * gap)
    if tilted.any():
        lower = np.maximum(lower, 1.0 - _by_odds(low_cells.mirrored(), inverse, lower_of["odds"]))
        upper = np.minimum(upper, _by_odds(cells, inverse, upper_of["odds"]))
    refuted = np.zeros(lower.shape, dtype=np.int64)
    check = np.where(checked, nats - log(_CHECKS / 2.0), np.inf) if nats > EXACT else np.where(checked, EXACT, np.inf)
    if (judged & far).any():
        refuted[(_of_gap(cells, gap, check) + wrong * gap < -1e-9) & judged & far] = GAP_LOW
    if cells.weighted is not None:
        least, most = _by_propensity(cells, cells.weighted, lower_of["weighted"], upper_of["weighted"])
        lower, upper = np.maximum(lower, least), np.minimum(upper, most)
        if nats > EXACT:
            refuted[_of_weights(cells, cells.weighted, check)] = WEIGHTS
    return lower, upper, refuted


def _shares(nats: float, side: Floats, **weights: Floats) -> dict[str, Floats]:
    """The nats of each claim on one side; infinite for one that is not made."""
    whole = sum(weights.values())
    with np.errstate(divide="ignore"):
        costs = {name: -np.log(weight / whole) for name, weight in weights.items()}
    return {name: side + cost if nats > EXACT else np.where(cost < np.inf, EXACT, cost) for name, cost in costs.items()}


def _limit(
    limit: Callable[..., Floats], rows: Floats, total: Floats, squares: Floats, low: Floats, nats: Floats
) -> Floats:
    """A limit on the mean of a variable in [low, 1]."""
    width = 1.0 - low
    unit, unit_squares = total - low * rows, squares - 2.0 * low * total + low * low * rows
    return low + width * limit(rows, unit / width, unit_squares / width**2, nats)


def _over_sets(cells: Cells, gap: Floats, right: Floats, nats: Floats) -> Floats:
    """The best lower limit on the means of ``Y 1{A = k} + right 1{A != k} + (Y - gap) 1{A in S}`` over sets S."""
    n, arms = cells.rows.sum(axis=1, keepdims=True), cells.rows.shape[1]
    rest = n - cells.rows
    several = (gap < 1.0) & (arms > 1)
    own = nats - log(_EMPTY) * (several & (nats > EXACT))
    sums = cells.total + right * rest, cells.squares + right**2 * rest
    found = _limit(lower_limit, n, *sums, np.zeros_like(gap), own)
    some = np.flatnonzero(several & (nats < np.inf))
    if some.size:
        found[some] = np.maximum(found[some], _of_sets(cells.at(some), gap[some], right[some], nats[some]))
    return found


def _of_sets(cells: Cells, gap: Floats, right: Floats, nats: Floats) -> Floats:
    """The same over all sets but the empty one, by prefixes of the other arms in the order of what they add."""
    n, arms = cells.rows.sum(axis=1, keepdims=True), cells.rows.shape[1]
    less = gap - right
    order = np.argsort(less * cells.rows - cells.total, axis=1, kind="stable")
    ordered = [np.take_along_axis(part, order, axis=1) for part in (cells.rows, cells.total, cells.squares)]
    others = order[:, None, :] != np.arange(arms)[:, None]  # contexts x k x places in the order
    rows, total, squares = (np.cumsum(part[:, None, :] * others, axis=2) for part in ordered)
    size = np.cumsum(others, axis=2)
    least, added, whole = less[..., None], right[..., None], n[..., None]
    rest = whole - cells.rows[..., None] - rows
    first = cells.total[..., None] + total - least * rows + added * rest
    second = cells.squares[..., None] + squares - 2.0 * least * total + least**2 * rows + added**2 * rest
    left_out = arms - 1.0 - size
    alike = gammaln(arms) - gammaln(size + 1.0) - gammaln(left_out + 1.0)  # log of how many sets have this size
    weight = 0.5 * (1.0 - _EMPTY) * (1.0 / (arms - 1.0) + 1.0 / ((left_out + 1.0) * (left_out + 2.0)))
    extra = np.where(nats[..., None] > EXACT, alike - np.log(weight), 0.0)
    price = np.where(size == 0, np.inf, nats[..., None] + extra)
    return _limit(lower_limit, whole, first, second, -least, price).max(axis=2)


def _raised(cells: Cells, gap: Floats, nats: Floats) -> Floats:
    """The upper limit on the mean of ``Y - gap 1{A != k}``."""
    n, total, squares = (part.sum(axis=1, keepdims=True) for part in (cells.rows, cells.total, cells.squares))
    rest = n - cells.rows
    second = squares - 2.0 * gap * (total - cells.total) + gap**2 * rest
    return _limit(upper_limit, n, total - gap * rest, second, -gap, nats)


def _by_odds(cells: Cells, inverse: Floats, nats: Floats) -> Floats:
    """The upper limit by odds, from limits on mean and deviation of k where it was chosen, and on its share.

    The limit on the deviation is Theorem 10 of Maurer and Pontil (2009).
    """
    rows, total, squares = cells.rows, cells.total, cells.squares
    level = np.where(nats > EXACT, nats - log(_FOR_SHARE), EXACT)  # of the share, and of the deviation
    mean = upper_limit(rows, total, squares, nats - (nats > EXACT) * np.log1p(-2.0 * _FOR_SHARE))
    share = lower_limit(rows.sum(axis=1, keepdims=True), rows, rows, level)
    free = np.maximum(rows - 1.0, 0.5)
    variance = np.maximum(squares - total**2 / np.maximum(rows, 1.0), 0.0) / free
    deviation = np.sqrt(variance) + np.sqrt(2.0 * level / free)
    factor = 1.0 / np.maximum(inverse, 1e-300)
    elsewhere = np.minimum(mean * factor, 1.0 - (1.0 - mean) * inverse)
    elsewhere = np.minimum(elsewhere, mean + deviation * np.sqrt((factor - 1.0) * (1.0 - inverse)))
    return share * mean + (1.0 - share) * elsewhere


def _by_propensity(cells: Cells, sums: Floats, lower_nats: Floats, upper_nats: Floats) -> tuple[Floats, Floats]:
    """Both limits by known propensities: the best over the centres c. Nothing is said of arms without rows."""
    ones, total, square_ones, square_total, squares = sums
    n, least = cells.rows.sum(axis=1, keepdims=True), cells.least
    lower, upper = np.zeros(ones.shape), np.ones(ones.shape)
    for c in _CENTRES:
        first = least * (total - c * ones)
        second = least**2 * (squares - 2.0 * c * square_total + c * c * square_ones)
        unit = n, first + c * n, second + 2.0 * c * first + c * c * n  # of c + least (x - c), which lies in [0, 1]
        low, high = (nats + log(3.0) * (nats > EXACT) for nats in (lower_nats, upper_nats))
        lower = np.maximum(lower, c + (lower_limit(*unit, low) - c) / least)
        upper = np.minimum(upper, c + (upper_limit(*unit, high) - c) / least)
    seen = cells.rows > 0.0
    return np.where(seen, lower, 0.0), np.where(seen, upper, 1.0)


def _of_gap(cells: Cells, gap: Floats, nats: Floats) -> Floats:
    """The upper limit on the mean of ``(Y - gap) 1{A = k}``."""
    n = cells.rows.sum(axis=1, keepdims=True)
    second = cells.squares - 2.0 * gap * cells.total + gap**2 * cells.rows
    return _limit(upper_limit, n, cells.total - gap * cells.rows, second, -gap, nats)


def _of_weights(cells: Cells, sums: Floats, nats: Floats) -> Booleans:
    """Whether one over the propensity of k does not have the mean 1 over all rows, 0 where another arm was chosen."""
    unit = cells.rows.sum(axis=1, keepdims=True), cells.least * sums[0], cells.least**2 * sums[2]
    low, high = (limit(*unit, nats + log(2.0)) for limit in (lower_limit, upper_limit))
    return (cells.rows > 0.0) & ((low > cells.least) | (high < cells.least))


def nearest(reached: Callable[[Floats], Booleans], start: Floats, end: Floats) -> Floats:
    """For each entry the number nearest to the start, on the way to the end, at which something is reached.

    It is reached at the end and, once it is, everywhere beyond. It is reached at the number that is returned.
    """
    for _ in range(30):
        middle = 0.5 * (start + end)
        there = reached(middle)
        start, end = np.where(there, start, middle), np.where(there, middle, end)
    return end
