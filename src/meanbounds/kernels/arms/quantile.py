"""Tails and quantiles of Beta laws truncated to an interval, for parameters of at least 1.

The tail of the whole law is its density times a continued fraction (DLMF 8.17.22), and the density is written with a
divergence and Stirling's remainders, so that large parameters cost no digits. A truncated law takes differences of
tails, on the side on which they are small. Where a difference would cancel, since the interval is narrow, or where the
fraction would be long, since the parameters are large, the density is integrated by Gauss-Legendre quadrature.
"""

from __future__ import annotations

from math import exp, lgamma, log, log1p, pi, sqrt

import numpy as np
from numpy.polynomial import legendre

from meanbounds.kernels.arms.divergence import excess, kl_between
from meanbounds.kernels.compiling import compiled

__all__ = [
    "EXACT_TO",
    "FRACTION_TO",
    "NORMAL_TO",
    "Law",
    "law_of",
    "log_mass",
    "log_peak",
    "log_power",
    "near_normal",
    "near_quantile",
    "quantile",
    "sides",
    "tail",
    "whole_tail",
]

EXACT_TO = 1e-10  # errors of a tail, and of the tail at a quantile, are below this
NORMAL_TO = 4.5e-4  # error of `near_normal`

Law = tuple[int, float, float, float, float, float, float, float]
"""Way, a, b, lower, upper, mode, and two numbers that depend on the way: see `law_of`."""

_POINT = 0
_MIDDLE = 1  # the interval holds the middle of the whole law: mass below it, mass above it
_RIGHT = 2  # it lies above: log of the mass above its start, and of that the share above its end
_LEFT = 3  # it lies below: log of the mass below its end, and of that the share below its start
_NARROW = 4  # integrate: mass relative to the density at the mode, and width of the peak

FRACTION_TO = 2e4  # sum of parameters from which the fraction would be long
_LEAST = 0.05  # share of a mass that a difference has to leave
_SIZE = 16
_DEPTH = 38.0  # a density has ended where it is exp(-38) of its peak
_NODES, _WEIGHTS = legendre.leggauss(_SIZE)


@compiled
def _remainder(z: float) -> float:
    """Log of the gamma function less Stirling's formula."""
    if z < 10.0:
        return lgamma(z) - (z - 0.5) * log(z) + z - 0.5 * log(2.0 * pi)
    y = 1.0 / (z * z)
    series = 1.0 / 12.0 + y * (-1.0 / 360.0 + y * (1.0 / 1260.0 + y * (-1.0 / 1680.0 + y * (1.0 / 1188.0))))
    return series / z


@compiled
def log_peak(a: float, b: float) -> float:
    """`log_power` at the mean, where it is largest."""
    n = a + b
    return 0.5 * log(a * b / (2.0 * pi * n)) + _remainder(n) - _remainder(a) - _remainder(b)


@compiled
def log_power(a: float, b: float, x: float) -> float:
    """Log of ``x^a (1 - x)^b`` over the Beta function: of ``x (1 - x)`` times the density."""
    if not 0.0 < x < 1.0:
        return -np.inf
    n = a + b
    return log_peak(a, b) - n * kl_between(a / n, b / n, x, 1.0 - x)


@compiled
def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function (Lentz's method); short for x below the mean."""
    tiny = 1e-300
    c, d = 1.0, 1.0 - (a + b) * x / (a + 1.0)
    d = 1.0 / (d if abs(d) > tiny else tiny)
    value = d
    for m in range(1, 2000):
        term = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        d, c = 1.0 + term * d, 1.0 + term / c
        d = 1.0 / (d if abs(d) > tiny else tiny)
        c = c if abs(c) > tiny else tiny
        value *= d * c
        term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        d, c = 1.0 + term * d, 1.0 + term / c
        d = 1.0 / (d if abs(d) > tiny else tiny)
        c = c if abs(c) > tiny else tiny
        step = d * c
        value *= step
        if abs(step - 1.0) < 1e-15:
            break
    return value


@compiled
def _centre(a: float, b: float) -> float:
    """Where the fractions of both sides are about equally long."""
    return (a + 1.0) / (a + b + 2.0)


@compiled
def sides(a: float, b: float, x: float) -> tuple[float, float, float]:
    """Mass of Beta(a, b) below x, mass above x, and ``x (1 - x) density``; the smaller mass is right to all digits."""
    power = exp(log_power(a, b, x))
    if not power > 0.0:
        return (0.0, 1.0, 0.0) if x < a / (a + b) else (1.0, 0.0, 0.0)
    if x < _centre(a, b):
        below = power * _fraction(a, b, x) / a
        return below, 1.0 - below, power
    above = power * _fraction(b, a, 1.0 - x) / b
    return 1.0 - above, above, power


@compiled
def _log_below(a: float, b: float, x: float) -> tuple[float, float]:
    """Log of the mass below x, which is at most the centre, and of ``x (1 - x) density``."""
    power = log_power(a, b, x)
    return (power + log(_fraction(a, b, x) / a) if power > -np.inf else power), power


@compiled
def _log_above(a: float, b: float, x: float) -> tuple[float, float]:
    power = log_power(a, b, x)
    return (power + log(_fraction(b, a, 1.0 - x) / b) if power > -np.inf else power), power


@compiled
def _log_density(law: Law, x: float) -> float:
    """Log of the density at x relative to that at the mode of the interval."""
    _, a, b, lower, upper, mode, _, _ = law
    rise, fall, step, value, slope = a - 1.0, b - 1.0, x - mode, 0.0, 0.0
    if rise > 0.0:
        if x <= 0.0:
            return -np.inf
        value -= rise * excess(step / mode, x / mode)
        slope += rise / mode
    if fall > 0.0:
        if x >= 1.0:
            return -np.inf
        value -= fall * excess(-step / (1.0 - mode), (1.0 - x) / (1.0 - mode))
        slope -= fall / (1.0 - mode)
    return value if lower < mode < upper else value + slope * step


@compiled
def _mass(law: Law, start: float, stop: float, width: float) -> float:
    """Integral of the relative density by panels no wider than `width`."""
    if not start < stop:
        return 0.0
    panels = max(1, int(np.ceil((stop - start) / width)))
    half, total = 0.5 * (stop - start) / panels, 0.0
    for n in range(panels):
        middle = start + (2 * n + 1) * half
        for i in range(_SIZE):
            total += _WEIGHTS[i] * exp(_log_density(law, middle + half * _NODES[i]))
    return half * total


@compiled
def _width(law: Law) -> float:
    """How far from the mode the density falls by about a factor e."""
    _, a, b, lower, upper, mode, _, _ = law
    rise, fall = a - 1.0, b - 1.0
    slope = 0.0
    if not lower < mode < upper:
        slope = abs((rise / mode if rise > 0.0 else 0.0) - (fall / (1.0 - mode) if fall > 0.0 else 0.0))
    bend = (rise / mode**2 if rise > 0.0 else 0.0) + (fall / (1.0 - mode) ** 2 if fall > 0.0 else 0.0)
    return 2.0 / (slope + sqrt(slope * slope + 2.0 * bend)) if slope + bend > 0.0 else upper - lower


@compiled
def _reach(law: Law) -> tuple[float, float]:
    """Ends of where the density is not negligible; each by halving."""
    _, _, _, lower, upper, mode, _, _ = law
    start, stop = lower, upper
    while _log_density(law, 0.5 * (start + mode)) < -_DEPTH and start < 0.5 * (start + mode) < mode:
        start = 0.5 * (start + mode)
    while _log_density(law, 0.5 * (stop + mode)) < -_DEPTH and mode < 0.5 * (stop + mode) < stop:
        stop = 0.5 * (stop + mode)
    return start, stop


@compiled
def law_of(a: float, b: float, lower: float, upper: float) -> Law:
    """What `tail` and `quantile` need to know of Beta(a, b) on [lower, upper]."""
    rise, fall = a - 1.0, b - 1.0
    mode = min(upper, max(lower, rise / (rise + fall))) if rise + fall > 0.0 else lower
    if not lower < upper:
        return _POINT, a, b, lower, upper, mode, 0.0, 0.0
    if a + b < FRACTION_TO:
        centre = _centre(a, b)
        if lower >= centre:
            whole, rest = _log_above(a, b, lower)[0], _log_above(a, b, upper)[0]
            if whole > -np.inf and exp(rest - whole) < 1.0 - _LEAST:
                return _RIGHT, a, b, lower, upper, mode, whole, exp(rest - whole)
        elif upper <= centre:
            whole, rest = _log_below(a, b, upper)[0], _log_below(a, b, lower)[0]
            if whole > -np.inf and exp(rest - whole) < 1.0 - _LEAST:
                return _LEFT, a, b, lower, upper, mode, whole, exp(rest - whole)
        else:
            below, above = exp(_log_below(a, b, lower)[0]), exp(_log_above(a, b, upper)[0])
            if below + above < 1.0 - _LEAST:
                return _MIDDLE, a, b, lower, upper, mode, below, above
    law = (_NARROW, a, b, lower, upper, mode, 0.0, 0.0)
    width = 1.5 * _width(law)
    start, stop = _reach(law)
    return _NARROW, a, b, lower, upper, mode, _mass(law, start, mode, width) + _mass(law, mode, stop, width), width


@compiled
def log_mass(law: Law) -> float:
    """Log of the probability that the whole law puts between the bounds; minus infinity for a point."""
    way, a, b, _, _, mode, first, second = law
    if way == _POINT:
        return -np.inf
    if way == _MIDDLE:
        return log(1.0 - first - second)
    if way != _NARROW:
        return first + log(1.0 - second)
    height = log_power(a, b, mode) - log(mode * (1.0 - mode)) if 0.0 < mode < 1.0 else log(b if mode <= 0.0 else a)
    return height + log(first) if first > 0.0 else -np.inf


@compiled
def tail(law: Law, x: float) -> tuple[float, float]:
    """The probability of more than x, for x within the interval, and the density there."""
    way, a, b, lower, upper, mode, first, second = law
    if way == _POINT or x <= lower or x >= upper:
        return (1.0 if x < upper else 0.0), 0.0
    inside = x * (1.0 - x)
    if way == _NARROW:
        start, stop = _reach(law)
        above = _mass(law, max(x, start), mode, second) + _mass(law, max(mode, x), stop, second)
        return min(1.0, above / first), exp(_log_density(law, x)) / first
    if way == _RIGHT:
        value, power = _log_above(a, b, x)
        return max(0.0, exp(value - first) - second) / (1.0 - second), exp(power - first) / inside / (1.0 - second)
    if way == _LEFT:
        value, power = _log_below(a, b, x)
        return max(0.0, 1.0 - exp(value - first)) / (1.0 - second), exp(power - first) / inside / (1.0 - second)
    mass = 1.0 - first - second
    if x < _centre(a, b):
        value, power = _log_below(a, b, x)
        return 1.0 - max(0.0, exp(value) - first) / mass, exp(power) / inside / mass
    value, power = _log_above(a, b, x)
    return max(0.0, exp(value) - second) / mass, exp(power) / inside / mass


@compiled
def whole_tail(a: float, b: float, x: float) -> float:
    """The probability that Beta(a, b) exceeds x, without bounds."""
    if x <= 0.0 or x >= 1.0:
        return 1.0 if x <= 0.0 else 0.0
    if a + b >= FRACTION_TO:
        return tail(law_of(a, b, 0.0, 1.0), x)[0]
    return 1.0 - exp(_log_below(a, b, x)[0]) if x < _centre(a, b) else exp(_log_above(a, b, x)[0])


@compiled
def near_normal(v: float) -> float:
    """The value that a standard normal variable exceeds with probability v, to `NORMAL_TO` (Hastings, 1955)."""
    t = sqrt(-2.0 * log(max(min(v, 1.0 - v), 1e-300)))
    above = 2.515517 + t * (0.802853 + t * 0.010328)
    z = t - above / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)))
    return z if v < 0.5 else -z


@compiled
def near_quantile(a: float, b: float, v: float) -> float:
    """About the x that Beta(a, b) exceeds with probability v, without bounds; from the normal law."""
    n = a + b
    return a / n + near_normal(v) * sqrt(a * b / (n + 1.0)) / n


@compiled
def quantile(law: Law, v: float) -> float:
    """The x that is exceeded with probability v; Newton's method on the log of the smaller side, between brackets."""
    lower, upper = law[3], law[4]
    if law[0] == _POINT or v >= 1.0:
        return lower
    x = near_quantile(law[1], law[2], v)
    x = x if lower < x < upper else 0.5 * (lower + upper)
    for _ in range(200):
        value, density = tail(law, x)
        if abs(value - v) <= 1e-14 + 1e-12 * min(v, 1.0 - v):
            break
        if value > v:
            lower = x
        else:
            upper = x
        step = 0.0
        if density > 0.0 and 0.0 < value < 1.0:
            step = value * log(value / v) if v < 0.5 else -(1.0 - value) * (log1p(-value) - log1p(-v))
            step /= density
        old = x
        x += step
        if not lower < x < upper or step == 0.0:
            x = 0.5 * (lower + upper)
        if x in (old, lower, upper):
            break
    return x
