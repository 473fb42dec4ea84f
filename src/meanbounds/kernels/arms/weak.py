"""Beta laws with a parameter below 1, which only a weak prior has: their density grows without limit at an end.

They are taken in y = log(x / (1 - x)), where the density is ``exp(a y) / (1 + exp(y))^(a + b)``: log-concave and smooth
whatever a and b are, with exponential ends. Everything is relative to a centre: the peak of that density, moved into
the bounds. A value is known by its step from the centre in y, so that values much nearer to an end of the range than
floats are to each other stay apart; with a parameter of 0.1 that is one draw in forty.

A law is an array: a, b, centre, 1 - centre, step to the lower and to the upper bound (which may be infinite), and the
mass and the first moment of the distance from the centre, above it and below it.
"""

from __future__ import annotations

from math import exp, expm1, log, log1p, sqrt

import numpy as np
from numpy.polynomial import legendre

from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.random.stream import uniform
from meanbounds.support.types import Floats

__all__ = [
    "ABOVE",
    "ABOVE_MOMENT",
    "BELOW",
    "BELOW_MOMENT",
    "CENTRE",
    "LACK",
    "LEAST",
    "LEAST_PARAMETER",
    "MOST",
    "WEAK_SIZE",
    "A",
    "B",
    "beyond",
    "centre_of",
    "fall_of",
    "fill_weak",
    "is_weak",
    "log_lack",
    "log_weak_mass",
    "place_of",
    "sample_weak",
    "step_to",
    "weak_hat",
    "weak_quantile",
    "weak_tail",
]

WEAK_SIZE = 10
A, B, CENTRE, LACK, LEAST, MOST, ABOVE, ABOVE_MOMENT, BELOW, BELOW_MOMENT = range(WEAK_SIZE)

LEAST_PARAMETER = 1e-6
"""Of a law: rounding must not make a parameter 0."""

_DEPTH = 36.0  # what is left of a law where its density has fallen by exp(-36) is neglected
_FAR = 38.0  # from y = 38 on, x is 1 to the last digit and the density is exponential
_NEAR = exp(-_FAR)
_WIDEST = 4.0  # width of a panel in y; the density has poles at a distance of pi from real y
_SIZE = 20  # nodes on a panel
_NODES = 0.5 * (1.0 + legendre.leggauss(_SIZE)[0])
_WEIGHTS = 0.5 * legendre.leggauss(_SIZE)[1]


@compiled
def is_weak(a: float, b: float) -> bool:
    """Whether a law has to be taken here."""
    return a < 1.0 or b < 1.0


@compiled
def fall_of(a: float, b: float, x: float, lack: float, step: float) -> float:
    """Log of the density in y, `step` above that of x, relative to the one at x; ``lack`` is 1 - x.

    Terms that cancel are taken together, on the side on which the logarithm is small.
    """
    if step <= 0.0:
        return a * step - (a + b) * (log1p(x * expm1(step)) if step > -1.0 else log(lack + x * exp(step)))
    return -b * step - (a + b) * (log1p(lack * expm1(-step)) if step < 1.0 else log(x + lack * exp(-step)))


@compiled
def place_of(x: float, lack: float, step: float) -> tuple[float, float]:
    """The value `step` above x in y, and what it lacks to 1."""
    if step <= 0.0:
        grown = x * exp(step)
        return grown / (lack + grown), lack / (lack + grown)
    rest = lack * exp(-step)
    return x / (x + rest), rest / (x + rest)


@compiled
def log_lack(x: float, lack: float, step: float) -> float:
    """Log of what the value `step` above x lacks to 1, which itself may be too small for floats."""
    if step <= 0.0:
        return log(lack / (lack + x * exp(step)))
    return log(lack) - step - log(x + lack * exp(-step))


@compiled
def step_to(x: float, lack: float, goal: float, goal_lack: float) -> float:
    """The step in y from x to a goal; infinite at the ends of the range."""
    if goal_lack <= 0.0:
        return np.inf
    if goal <= 0.0:
        return -np.inf
    return log(goal / x) + log(lack / goal_lack)


@compiled
def beyond(a: float, b: float, x: float, lack: float, end: float) -> tuple[float, float]:
    """Integrals from x up to the step `end` of the density in y, relative to the one at x, and of it times a distance.

    The distance is that from x, and x has to be at or beyond the peak. Where x is 1 to the last digit the density is
    exponential, and the rest is known.
    """
    if not end > 0.0:
        return 0.0, 0.0
    far = _FAR - log(x / lack) if lack > _NEAR * x else 0.0
    slope, bend = min(0.0, a * lack - b * x), (a + b) * x * lack
    width = min(end, far)
    reach = 2.0 * _DEPTH / (sqrt(slope * slope + 2.0 * bend * _DEPTH) - slope)
    if reach < width:  # Newton's method on a concave function never stops short of the place
        for _ in range(2):
            top, rest = place_of(x, lack, reach)
            reach -= (fall_of(a, b, x, lack, reach) + _DEPTH) / (a * rest - b * top)
            if not reach < width:
                break
        width = min(width, reach)
    panels = int(width / _WIDEST) + 1
    panel = width / panels
    mass, moment = 0.0, 0.0
    for p in range(panels):
        for i in range(_SIZE):
            step = panel * (p + _NODES[i])
            density = _WEIGHTS[i] * exp(fall_of(a, b, x, lack, step))
            mass += density
            moment += density * (-expm1(-step) / (x + lack * exp(-step)))
    mass, moment = panel * mass, panel * (x * lack * moment)
    if width == far < end:
        rest = exp(fall_of(a, b, x, lack, far)) * (-expm1(-b * (end - far)) / b)
        mass, moment = mass + rest, moment + rest * lack
    return mass, moment


@compiled
def fill_weak(law: Floats, a: float, b: float, lower: float, upper: float) -> None:
    """Fill in Beta(a, b) between bounds that differ."""
    centre, lack = a / (a + b), b / (a + b)
    if centre < lower:
        centre, lack = lower, 1.0 - lower
    elif centre > upper:
        centre, lack = upper, 1.0 - upper
    law[A], law[B], law[CENTRE], law[LACK] = a, b, centre, lack
    law[LEAST] = step_to(centre, lack, lower, 1.0 - lower) if centre != lower else 0.0
    law[MOST] = step_to(centre, lack, upper, 1.0 - upper) if centre != upper else 0.0
    law[ABOVE], law[ABOVE_MOMENT] = beyond(a, b, centre, lack, law[MOST])
    law[BELOW], law[BELOW_MOMENT] = beyond(b, a, lack, centre, -law[LEAST])


@compiled
def weak_tail(law: Floats, step: float) -> tuple[float, float, float, float]:
    """P(less), P(more) and E[(mean - x)+] for the x at a step from the centre; and the density in y there."""
    a, b, mass = law[A], law[B], law[ABOVE] + law[BELOW]
    mean = law[CENTRE] + (law[ABOVE_MOMENT] - law[BELOW_MOMENT]) / mass
    if step <= law[LEAST] or step >= law[MOST]:
        x, _ = place_of(law[CENTRE], law[LACK], step)
        return (0.0, 1.0, mean - x, 0.0) if step <= law[LEAST] else (1.0, 0.0, 0.0, 0.0)
    x, lack = place_of(law[CENTRE], law[LACK], step)
    height = exp(fall_of(a, b, law[CENTRE], law[LACK], step)) / mass
    if step >= 0.0:
        more, gain = beyond(a, b, x, lack, law[MOST] - step)
        return 1.0 - height * more, height * more, height * gain, height
    less, loss = beyond(b, a, lack, x, step - law[LEAST])
    return height * less, 1.0 - height * less, mean - x + height * loss, height


@compiled
def log_weak_mass(a: float, b: float, lower: float, upper: float) -> float:
    """Log of the probability that Beta(a, b) puts between two bounds that differ."""
    law, whole = np.empty(WEAK_SIZE), np.empty(WEAK_SIZE)
    fill_weak(law, a, b, lower, upper)
    fill_weak(whole, a, b, 0.0, 1.0)
    moved = fall_of(a, b, whole[CENTRE], whole[LACK], step_to(whole[CENTRE], whole[LACK], law[CENTRE], law[LACK]))
    return moved + log(law[ABOVE] + law[BELOW]) - log(whole[ABOVE] + whole[BELOW])


@compiled
def weak_quantile(law: Floats, v: float) -> float:
    """The step from the centre to the x that is exceeded with probability v, between 0 and 1.

    On either side of the centre the log of what is left beyond a step is concave and falls: Newton's method overshoots
    once, and then comes back without passing the place. Where it overshoots too far, it halves the way.
    """
    mass = law[ABOVE] + law[BELOW]
    up = v * mass <= law[ABOVE]
    a, b, x, lack = law[A], law[B], law[CENTRE], law[LACK]
    goal, whole, end = v * mass, law[ABOVE], law[MOST]
    if not up:
        a, b, x, lack = b, a, lack, x
        goal, whole, end = (1.0 - v) * mass, law[BELOW], -law[LEAST]
    if not goal > 0.0:
        return float(law[MOST] if up else law[LEAST])
    if goal >= whole:
        return 0.0
    short, long = 0.0, end
    step, rest, density = 0.0, whole, 1.0
    for _ in range(200):
        change = rest / density * log(rest / goal) if rest > 0.0 else np.inf
        if abs(change) <= 1e-14 * (1.0 + step):
            break
        old, step = step, step + change
        if not short < step < long:
            step = 0.5 * (short + long) if long < np.inf else 2.0 * short + 1.0
        if step == old:
            break
        here, left = place_of(x, lack, step)
        density = exp(fall_of(a, b, x, lack, step))
        rest = density * beyond(a, b, here, left, end - step)[0]
        if rest >= goal:
            short = step
        else:
            long = step
    return step if up else -step


@compiled
def _slope(a: float, b: float, x: float, lack: float) -> float:
    return a * lack - b * x


@compiled
def _put_piece(hat: Floats, row: int, start: float, stop: float, touch: float, height: float, slope: float) -> None:
    """Exponential piece on [start, stop], one of which may be infinite: the tangent that touches at `touch`."""
    width, rate = max(stop - start, 0.0), abs(slope)
    end = start if slope <= 0.0 else stop
    flat = rate * width < 1e-12
    top = height + slope * (end - touch) if width > 0.0 else -np.inf
    hat[row, 1], hat[row, 2], hat[row, 3] = end, 1.0 if slope <= 0.0 else -1.0, 0.0 if flat else rate
    hat[row, 4] = width if flat else expm1(-rate * width)
    hat[row, 5] = top
    hat[row, 0] = 0.0 if width == 0.0 else exp(top) * (width if flat else -hat[row, 4] / rate)


@compiled
def weak_hat(hat: Floats, a: float, b: float, lower: float, upper: float) -> None:
    """`build_hat` for a law with a parameter below 1: three tangents above the log density in y.

    Places are steps from the centre, which row 3 holds in place of the mode.
    """
    upper = min(1.0, upper)
    centre, lack = a / (a + b), b / (a + b)
    if centre < lower:
        centre, lack = lower, 1.0 - lower
    elif centre > upper:
        centre, lack = upper, 1.0 - upper
    hat[3, 0], hat[3, 1], hat[3, 2], hat[3, 3], hat[3, 4] = lower, upper, centre, a - 1.0, b - 1.0
    if not lower < upper:
        return
    least = step_to(centre, lack, lower, 1.0 - lower) if centre != lower else 0.0
    most = step_to(centre, lack, upper, 1.0 - upper) if centre != upper else 0.0
    slope = _slope(a, b, centre, lack) if least == 0.0 or most == 0.0 else 0.0
    bend = (a + b) * centre * lack
    reach = 2.0 / (abs(slope) + sqrt(slope * slope + 2.0 * bend))
    left, right = max(least, -reach), min(most, reach)
    first, second = 0.0, 0.0
    left_height = left_slope = right_height = right_slope = 0.0
    if left < 0.0:
        x, rest = place_of(centre, lack, left)
        left_height, left_slope = fall_of(a, b, centre, lack, left), _slope(a, b, x, rest)
        first = max(least, min(0.0, (left_height - left_slope * left) / (slope - left_slope)))
    if right > 0.0:
        x, rest = place_of(centre, lack, right)
        right_height, right_slope = fall_of(a, b, centre, lack, right), _slope(a, b, x, rest)
        second = min(most, max(0.0, (right_height - right_slope * right) / (slope - right_slope)))
    _put_piece(hat, 0, least, first, left, left_height, left_slope)
    _put_piece(hat, 1, first, second, 0.0, 0.0, slope)
    _put_piece(hat, 2, second, most, right, right_height, right_slope)
    hat[3, 5] = hat[0, 0] + hat[1, 0] + hat[2, 0]


@compiled
def centre_of(hat: Floats) -> tuple[float, float]:
    """Where the steps of a hat of `weak_hat` start, and 1 less that."""
    a, b, centre = hat[3, 3] + 1.0, hat[3, 4] + 1.0, hat[3, 2]
    return centre, b / (a + b) if hat[3, 0] < centre < hat[3, 1] else 1.0 - centre


@compiled
def sample_weak(hat: Floats, key: np.uint64) -> float:
    """Draw below a hat of `weak_hat` with bounds that differ, by rejection: the step from its centre."""
    a, b = hat[3, 3] + 1.0, hat[3, 4] + 1.0
    centre, lack = centre_of(hat)
    for attempt in range(1000):
        place, row = uniform(key, 3 * attempt) * hat[3, 5], 0
        while row < 2 and place >= hat[row, 0]:
            place -= hat[row, 0]
            row += 1
        position, rate = uniform(key, 3 * attempt + 1), hat[row, 3]
        fall = -log1p(position * hat[row, 4]) if rate > 0.0 else 0.0
        distance = fall / rate if rate > 0.0 else position * hat[row, 4]
        step = hat[row, 1] + hat[row, 2] * distance
        if log(1.0 - uniform(key, 3 * attempt + 2)) <= fall_of(a, b, centre, lack, step) - (hat[row, 5] - fall):
            return float(step)
    return 0.0
