"""Optimistic Gittins indices near a level at which an arm's law is known: a few dozen nanoseconds each.

Beta(a, b) between the bounds l and u has the tail T and the power ``P(x) = x^a (1 - x)^b / B(a, b)``. With n = a + b,
M = T(l) - T(u) and S = T(w) - T(u), the index in a round with f(t) = f is at least w if and only if

    f (P(w) - P(u) - (n w - a) S) >= (n w - a) M - (P(l) - P(u)).

One more 1 adds ``(P(w) - P(u)) / a`` to S and multiplies P(x) by ``x n / a``; one more 0 takes ``(P(w) - P(u)) / b``
off and multiplies by ``(1 - x) n / b``; M follows in the same way. So five numbers follow every reward with one
division, at any scale common to them. Elsewhere than at w, S and its integral have Taylor series, since the density
solves a linear differential equation. docs/gittins.md has the details.

Each number is kept with a bound on its rounding errors, so that whoever asks is told how far an index may be off.
"""

from __future__ import annotations

from math import exp, log1p, sqrt

import numpy as np

from meanbounds.kernels.arms.gittins import height_of_law, mass_of_law, tail_of_law
from meanbounds.kernels.arms.quantile import sides
from meanbounds.kernels.compiling import compiled
from meanbounds.support.types import Floats

__all__ = [
    "ABOVE",
    "ABOVE_DOUBT",
    "ANCHOR_SIZE",
    "AT_LEVEL",
    "AT_LOWER",
    "AT_UPPER",
    "DRIFT",
    "LEVEL",
    "LOWER",
    "MASS",
    "MASS_DOUBT",
    "MOST_TERMS",
    "UPPER",
    "A",
    "B",
    "drop",
    "drop_quickly",
    "follow",
    "followed",
    "keep_followed",
    "move",
    "near_index",
    "spread",
    "surely_reaches",
]

A, B, LOWER, UPPER, LEVEL, MASS, ABOVE, AT_LOWER, AT_UPPER, AT_LEVEL, MASS_DOUBT, ABOVE_DOUBT, DRIFT = range(13)
ANCHOR_SIZE = 13
# An anchor is a row for each candidate: parameters and bounds; the level w; M and S; the powers at l, u and w; bounds
# on the errors of M and of S; and one on the relative error of powers.

Followed = tuple[float, float, float, float, float, float, float, float, float, float]
"""A, b, M, S, the powers at the lower bound, the upper bound and the level, and the three bounds on errors."""

MOST_TERMS = 32
_ROUGH = 1e-12  # relative error of what was computed anew
_ENOUGH = 1e-14  # terms of a series that are smaller are left off
_EPS = 2.3e-16
_FIRST = 1.0 / np.arange(1.0, MOST_TERMS + 1.0)
_SECOND = _FIRST / np.arange(2.0, MOST_TERMS + 2.0)
_SURE = 4.0  # bounds on errors are multiplied by this
_STEPS = 12  # of Halley's method, which takes two or three


@compiled
def spread(anchors: Floats, k: int) -> float:
    """About the standard deviation of a law, if bounds are far."""
    w = anchors[k, LEVEL]
    return sqrt(w * (1.0 - w) / (anchors[k, A] + anchors[k, B] + 1.0))


@compiled
def drop(anchors: Floats, k: int, law: Floats, level: float) -> None:
    """Put a candidate's anchor at a level between its bounds; `law` is that of its mean, see `fill_law`."""
    mass = mass_of_law(law)
    above = tail_of_law(law, level)[0] * mass
    for i in range(4):
        anchors[k, i] = law[i]
    anchors[k, LEVEL], anchors[k, MASS], anchors[k, ABOVE] = level, mass, above
    anchors[k, AT_LOWER], anchors[k, AT_UPPER] = height_of_law(law, law[2]), height_of_law(law, law[3])
    anchors[k, AT_LEVEL] = height_of_law(law, level)
    rough = _ROUGH + 10.0 * _EPS * sqrt((law[0] + law[1]) / (level * (1.0 - level)))
    anchors[k, MASS_DOUBT], anchors[k, ABOVE_DOUBT], anchors[k, DRIFT] = rough * mass, rough * above, rough


@compiled
def drop_quickly(
    anchors: Floats, k: int, parameters: tuple[float, float], bounds: tuple[float, float], level: float
) -> None:
    """The same, from tails of the whole law: quicker, and with larger errors where the bounds hold little of it."""
    a, b = parameters
    below, above_lower, at_lower = sides(a, b, bounds[0]) if bounds[0] > 0.0 else (0.0, 1.0, 0.0)
    _, above_upper, at_upper = sides(a, b, bounds[1]) if bounds[1] < 1.0 else (1.0, 0.0, 0.0)
    _, above, at_level = sides(a, b, level)
    anchors[k, A], anchors[k, B], anchors[k, LOWER], anchors[k, UPPER] = a, b, bounds[0], bounds[1]
    anchors[k, LEVEL], anchors[k, ABOVE] = level, above - above_upper
    anchors[k, MASS] = (1.0 - below if below < above_lower else above_lower) - above_upper
    anchors[k, AT_LOWER], anchors[k, AT_UPPER], anchors[k, AT_LEVEL] = at_lower, at_upper, at_level
    rough = _ROUGH + 10.0 * _EPS * sqrt((a + b) / (level * (1.0 - level)))
    anchors[k, MASS_DOUBT], anchors[k, ABOVE_DOUBT] = rough * (above_lower + above_upper), rough * (above + above_upper)
    anchors[k, DRIFT] = rough


@compiled
def followed(anchors: Floats, k: int) -> Followed:
    """What of an anchor follows rewards."""
    sizes = anchors[k, A], anchors[k, B], anchors[k, MASS], anchors[k, ABOVE]
    powers = anchors[k, AT_LOWER], anchors[k, AT_UPPER], anchors[k, AT_LEVEL]
    return sizes + powers + (anchors[k, MASS_DOUBT], anchors[k, ABOVE_DOUBT], anchors[k, DRIFT])


@compiled
def keep_followed(anchors: Floats, k: int, numbers: Followed) -> None:
    """Write back what `followed` gave, after rewards."""
    anchors[k, A], anchors[k, B], anchors[k, MASS], anchors[k, ABOVE] = numbers[:4]
    anchors[k, AT_LOWER], anchors[k, AT_UPPER], anchors[k, AT_LEVEL] = numbers[4:7]
    anchors[k, MASS_DOUBT], anchors[k, ABOVE_DOUBT], anchors[k, DRIFT] = numbers[7:]


@compiled
def follow(numbers: Followed, places: tuple[float, float, float], won: bool) -> Followed:
    """The same after one more 1 or 0; `places` are lower bound, upper bound and level."""
    a, b, mass, above, at_lower, at_upper, at_level, mass_doubt, above_doubt, drift = numbers
    lower, upper, level = places
    n = a + b
    if won:
        share = 1.0 / a
        at_lower, at_upper, at_level = at_lower * share, at_upper * share, at_level * share
        mass, above = mass + (at_lower - at_upper), above + (at_level - at_upper)
        a += 1.0
    else:
        share = 1.0 / b
        at_lower, at_upper, at_level = at_lower * share, at_upper * share, at_level * share
        mass, above = mass - (at_lower - at_upper), above - (at_level - at_upper)
        lower, upper, level = 1.0 - lower, 1.0 - upper, 1.0 - level
        b += 1.0
    drift += 4.0 * _EPS
    mass_doubt += _EPS * mass + drift * (at_lower + at_upper)
    above_doubt += _EPS * above + drift * (at_level + at_upper)
    powers = at_lower * (lower * n), at_upper * (upper * n), at_level * (level * n)
    return a, b, mass, above, powers[0], powers[1], powers[2], mass_doubt, above_doubt, drift


@compiled
def surely_reaches(numbers: Followed, level: float, f: float) -> bool:
    """Whether the index is above the anchor's level in a round with f(t) = f, whatever the rounding errors."""
    a, b, mass, above, at_lower, at_upper, at_level, mass_doubt, above_doubt, drift = numbers
    away = level * b - (1.0 - level) * a
    size = abs(away)
    surplus = f * (at_level - at_upper - away * above) - (away * mass - (at_lower - at_upper))
    doubt = f * (drift * (at_level + at_upper) + size * (above_doubt + 4.0 * _EPS * above))
    doubt += drift * (at_lower + at_upper) + size * (mass_doubt + 4.0 * _EPS * mass)
    return surplus > _SURE * doubt


@compiled
def _fill_series(anchors: Floats, k: int, reach: float, series: Floats) -> tuple[int, float]:
    """Write the Taylor coefficients of the density at the level; return how many, and the size of the last terms.

    The density p solves ``x (1 - x) p' = (a - 1 - (a + b - 2) x) p``, which gives each coefficient from two before it.
    """
    w, rise, fall = anchors[k, LEVEL], anchors[k, A] - 1.0, anchors[k, B] - 1.0
    lack = 1.0 - w
    inverse = 1.0 / (w * lack)
    slope, twist, both = (rise * lack - fall * w) * inverse, (lack - w) * inverse, rise + fall
    before, height = anchors[k, AT_LEVEL] * inverse, anchors[k, AT_LEVEL] * inverse
    here = height * slope
    series[0], series[1] = before, here
    power, previous, count = reach, height, 2
    while True:
        last = abs(here) * power
        if last + previous <= _ENOUGH * height or count == MOST_TERMS:
            return count, last + previous
        j = count - 1.0
        before, here = here, ((slope - twist * j) * here + (j - 1.0 - both) * inverse * before) * _FIRST[count - 1]
        series[count] = here
        power *= reach
        previous = last
        count += 1


@compiled
def move(anchors: Floats, k: int, level: float, series: Floats) -> bool:
    """Move an anchor to a level nearby; False, and no move, if it is not near enough."""
    w, a, b = anchors[k, LEVEL], anchors[k, A], anchors[k, B]
    lack, step = 1.0 - w, level - w
    pull = a * abs(step) / w + b * abs(step) / lack
    if not (anchors[k, AT_LEVEL] > 0.0 and -0.5 * w < step < 0.5 * lack):
        return False
    if abs(a * lack - b * w) * abs(step) > 4.0 * w * lack:
        return False
    count, rest = _fill_series(anchors, k, abs(step), series)
    height, value = series[0], 0.0
    if rest > 1e-10 * height:
        return False
    for j in range(count - 1, -1, -1):
        value = value * step + series[j] * _FIRST[j]
    anchors[k, LEVEL] = level
    anchors[k, ABOVE] -= value * step
    anchors[k, ABOVE_DOUBT] += abs(step) * (rest + 100.0 * _EPS * height) + 4.0 * _EPS * anchors[k, ABOVE]
    anchors[k, AT_LEVEL] *= exp(a * log1p(step / w) + b * log1p(-step / lack))
    anchors[k, DRIFT] += _EPS * (4.0 + 4.0 * pull)
    return True


@compiled
def _halley(surplus: float, fall: float, bend: float) -> float:
    """A step towards the root of a convex function that falls: from its value, minus its slope, and its bend."""
    reach = surplus * bend
    return 2.0 * surplus * fall / (2.0 * fall * fall - reach) if reach < fall * fall else surplus / fall


@compiled
def near_index(anchors: Floats, k: int, f: float, series: Floats) -> tuple[float, float, float]:
    """The index, how far it may be off (infinity if the anchor is too far away), and a bound above its slope in f.

    In units of the range. As a function of f the index is concave: see docs/gittins.md.
    """
    w, a, b = anchors[k, LEVEL], anchors[k, A], anchors[k, B]
    mass, above = anchors[k, MASS], anchors[k, ABOVE]
    at_lower, at_upper, at_level = anchors[k, AT_LOWER], anchors[k, AT_UPPER], anchors[k, AT_LEVEL]
    drift, share = anchors[k, DRIFT], 1.0 / (a + b)
    if not (mass > 0.0 and above > 0.0 and at_level > 0.0):
        return w, np.inf, np.inf
    away = w * b - (1.0 - w) * a
    gain = (at_level - at_upper - away * above) * share
    lead = (away * mass - (at_lower - at_upper)) * share
    gain_doubt = (drift * (at_level + at_upper) + abs(away) * (anchors[k, ABOVE_DOUBT] + 4.0 * _EPS * above)) * share
    lead_doubt = (drift * (at_lower + at_upper) + abs(away) * (anchors[k, MASS_DOUBT] + 4.0 * _EPS * mass)) * share
    step = _halley(f * gain - lead, f * above + mass, f * at_level / (w * (1.0 - w)))
    moved, reach, count, rest = step, -1.0, 0, 0.0
    for _ in range(_STEPS):
        if not abs(moved) <= reach:
            reach = 1.5 * abs(moved)
            if not reach < 1.0:
                break
            count, rest = _fill_series(anchors, k, reach, series)
        density, chance, part = 0.0, 0.0, 0.0
        for j in range(count - 1, -1, -1):
            term = series[j]
            density = density * moved + term
            chance = chance * moved + term * _FIRST[j]
            part = part * moved + term * _SECOND[j]
        chance = above - chance * moved
        worth = gain + moved * (part * moved - above)
        fall, bend = f * chance + mass, f * density
        if not (chance > 0.0 and density > 0.0):
            break
        step = _halley(f * worth - (lead + moved * mass), fall, bend)
        moved += step
        if abs(step) * bend <= 1e-4 * fall:
            gain_doubt += rest * moved * moved + abs(moved) * anchors[k, ABOVE_DOUBT]
            lead_doubt += abs(moved) * anchors[k, MASS_DOUBT]
            doubt = abs(step) * 1e-8 + (f * gain_doubt + lead_doubt) / fall
            return w + moved, _SURE * doubt, (1.001 * worth + _SURE * gain_doubt) / fall
    return w, np.inf, np.inf
