"""Which of a few draws is largest, almost always without a tail, an inversion or a look at other levels.

Draws and tails of Beta laws are known in closed form up to small errors, by way of the normal law. How large these are
was found by comparing millions of cases, and tests look at others. Twice as much is left here, so that what follows is
right, and what does not follow is left to the tails.
"""

from __future__ import annotations

from math import exp, log, log1p, sqrt

import numpy as np

from meanbounds.kernels.arms.inversion import CLOSE, number_of
from meanbounds.kernels.arms.quantile import NORMAL_TO, near_normal
from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.fast.tails import ABOVE, LOWER, SCALE, START, UPPER, WIDTH, A, B
from meanbounds.support.types import Floats, Integers

__all__ = ["largest_by_normal", "normal_score", "quantile_within", "score_margin", "short_tail"]

_APART = 1e-9  # of a level from bounds, in units of the range
_LEAST = 1e-5  # of chances: 4.27 deviations
_FEW_TERMS = 6.0


@compiled
def normal_score(a: float, b: float, x: float) -> float:
    """About the score below which a normal variable is as often as Beta(a, b) is above x (Peizer and Pratt, 1968).

    While the true one is within 4.3 of 0, it was off by at most ``0.4 / min(a, b)^2 + 5e-5``.
    """
    n, y, wins, losses = a + b - 1.0, 1.0 - x, a - 0.5, b - 0.5
    variance, excess = n * x * y, wins - n * x
    distance = a - 1.0 / 3.0 - (n + 1.0 / 3.0) * x + 0.02 * (y / a - x / b + (y - 0.5) / (n + 1.0))
    ratio = 1.0
    if excess * excess > 1e-8 * variance:
        divergence = wins * log1p(excess / (n * x)) + losses * log1p(-excess / (n * y))
        ratio = 2.0 * divergence * variance / (excess * excess)
    return distance * sqrt(max(0.0, ratio) / ((n + 1.0 / 6.0) * x * y))


@compiled
def score_margin(a: float, b: float) -> float:
    """Twice as much as `normal_score` was off, and the error of `near_normal`."""
    least = min(a, b)
    return 0.8 / (least * least) + 1e-4 + NORMAL_TO


@compiled
def short_tail(a: float, b: float, x: float) -> float:
    """The probability that Beta(a, b) exceeds x, for whole a and b of which b is small: of a win among few losses."""
    n, odds = a + b - 1.0, (1.0 - x) / x
    term = exp(n * log(x))
    below, j = 0.0, 0.0
    while j < b:  # so many of n trials fail, each with probability 1 - x
        below += term
        term *= odds * (n - j) / (j + 1.0)
        j += 1.0
    return 1.0 - below


@compiled
def quantile_within(a: float, b: float, chance: float, score: float) -> tuple[float, float]:
    """About the x that Beta(a, b) exceeds with this chance (Abramowitz and Stegun, 26.5.22), and how far it may be off.

    With parameters of at least 4, and m the smaller one, it was off by at most ``0.264 / (2 m - 1)`` of what a score
    more would change it by, while the score is within 3.3 of 0, and ``0.776 / (2 m - 1)`` within 4.3; twice as much is
    left. Where a parameter is 1 it is exact.
    """
    if min(a, b) == 1.0:
        return exp(log(1.0 - chance) / a) if b == 1.0 else 1.0 - exp(log(chance) / b), _APART
    wins, losses, bend = 1.0 / (2.0 * a - 1.0), 1.0 / (2.0 * b - 1.0), (score * score - 3.0) / 6.0
    size = 0.5 * (wins + losses)
    root = sqrt(max(0.0, 1.0 / size + bend)) * size
    odds = (wins - losses) * (bend + 5.0 / 6.0 - size * (2.0 / 3.0)) - score * root
    x = a / (a + b * exp(2.0 * odds))
    if min(a, b) < 4.0:
        return x, np.inf
    off = (0.55 if abs(score) < 3.3 else 1.6) * max(wins, losses) + 4.0 * NORMAL_TO
    return x, off * 2.0 * x * (1.0 - x) * root


@compiled
def _surely(laws: Floats, k: int, x: float, chance: float, score: float, above: bool) -> bool:
    """Whether a draw surely is above x, or below it; x is in units of the candidate's range.

    The draw is exceeded with this chance, without bounds, and so is a normal variable of this score.
    """
    a, b = laws[k, A], laws[k, B]
    if x <= laws[k, LOWER] or x >= laws[k, UPPER]:
        return bool(x < laws[k, LOWER] - _APART if above else x > laws[k, UPPER] + _APART)
    excess = 0.0
    if min(a, b) <= _FEW_TERMS and a == np.floor(a) and b == np.floor(b):
        excess = short_tail(a, b, x) - chance if b <= a else 1.0 - short_tail(b, a, 1.0 - x) - chance
        return excess > CLOSE if above else excess < -CLOSE
    excess = normal_score(a, b, x) + score
    return excess > score_margin(a, b) if above else excess < -score_margin(a, b)


@compiled
def largest_by_normal(
    laws: Floats, places: Integers, count: int, arms: Integers, stream: np.uint64, scratch: Floats
) -> int:
    """Who draws most of the first `count` places; -1 if that is not sure. `scratch`: four rows, an entry for each.

    If it does not follow from about where the draws are, a level is put between the two that seem largest.
    """
    place, other, sure = 0, -1, True
    for n in range(count):
        k = places[n]
        chance = laws[k, ABOVE] + number_of(stream, arms[k]) / laws[k, SCALE] if laws[k, SCALE] > 0.0 else 0.0
        if not _LEAST < chance < 1.0 - _LEAST:
            sure = False
            break
        score = near_normal(chance)
        x, off = quantile_within(laws[k, A], laws[k, B], chance, score)
        unit = 1.0 / laws[k, WIDTH]
        near = (min(laws[k, UPPER], max(laws[k, LOWER], x)) - laws[k, START]) * unit
        scratch[0, n], scratch[1, n], scratch[2, n], scratch[3, n] = chance, score, near, off * unit
        if near > scratch[2, place]:
            place, other = n, place
        elif n > 0 and (other < 0 or near > scratch[2, other]):
            other = n
    first, second = scratch[2, place], scratch[2, other]
    least, apart = first - scratch[3, place], sure
    for n in range(count if sure else 0):
        apart = apart and (n == place or scratch[2, n] + scratch[3, n] < least)
    if sure and not apart:
        size, more = laws[places[place], A] + laws[places[place], B], laws[places[other], A] + laws[places[other], B]
        share = second + (first - second) * size / (size + more)
        for n in range(count):
            k = places[n]
            x = laws[k, START] + laws[k, WIDTH] * share
            sure = sure and _surely(laws, k, x, scratch[0, n], scratch[1, n], n == place)
    return int(places[place]) if sure else -1
