"""Truncated Beta distributions of single arms in compiled code: twins of `meanbounds.posterior.TruncatedBeta`.

A law is a column of a table with the rows below. Bounds and values are in units of the arm's range. Densities are those
of log(x / (1 - x)), relative to the mass between the bounds; a law has the one at a point of reference.
"""

from __future__ import annotations

from math import exp, expm1, log1p, sqrt

from numba import njit
from numpy.polynomial import legendre

from meanbounds.support.types import Floats

__all__ = ["LOWER", "MEAN", "ROWS", "UPPER", "A", "B", "beyond", "keep", "next_tails", "tails_at", "update"]

A, B, LOWER, UPPER, POINT, HEIGHT, MEAN, ROWS = 0, 1, 2, 3, 4, 5, 6, 7

_DEPTH, _ROUGH_DEPTH, _BEND = 27.0, 13.0, 0.7


def _rule(count: int) -> tuple[Floats, Floats]:
    nodes, weights = legendre.leggauss(count)
    at = 0.5 * (1.0 + nodes)
    return at * (_BEND + (1.0 - _BEND) * at), 0.5 * weights * (_BEND + 2.0 * (1.0 - _BEND) * at)


_NODES, _WEIGHTS = _rule(28)
_FEW_NODES, _FEW_WEIGHTS = _rule(9)  # right to a part in 10,000


@njit(cache=True)
def _panel(a, b, x, lack, gap, end_lack, rough):
    """`meanbounds.posterior._beyond` of numbers."""
    if not gap > 0.0:
        return 0.0, 0.0
    depth, nodes, weights = (_ROUGH_DEPTH, _FEW_NODES, _FEW_WEIGHTS) if rough else (_DEPTH, _NODES, _WEIGHTS)
    size, bend, slope = a + b, (a + b) * x * lack, min(0.0, a * lack - b * x)
    width = 2.0 * depth / (sqrt(slope * slope + 2.0 * depth * bend) - slope)
    for _ in range(1 if rough else 2):
        inner = x * expm1(width)
        width -= (a * width - size * log1p(inner) + depth) / (a - size * (x + inner) / (1.0 + inner))
    if end_lack > 0.0:
        width = min(width, log1p(gap / (x * end_lack)))
    mass, moment = 0.0, 0.0
    for n in range(nodes.size):
        grown = expm1(nodes[n] * width)
        inner = x * grown
        density = weights[n] * exp(a * nodes[n] * width - size * log1p(inner))
        mass += density
        moment += density * grown / (1.0 + inner)
    return width * mass, x * lack * width * moment


@njit(cache=True)
def update(laws, k):
    """Compute the rest of a law from its parameters and bounds."""
    a, b, lower, upper = laws[A, k], laws[B, k], laws[LOWER, k], laws[UPPER, k]
    if lower >= upper:
        laws[POINT, k], laws[HEIGHT, k], laws[MEAN, k] = upper, 1.0, upper
        return
    centre = min(upper, max(lower, a / (a + b)))
    above, more = _panel(a, b, centre, 1.0 - centre, upper - centre, 1.0 - upper, False)
    below, less = _panel(b, a, 1.0 - centre, centre, centre - lower, lower, False)
    laws[POINT, k], laws[HEIGHT, k] = centre, 1.0 / (above + below)
    laws[MEAN, k] = min(upper, max(lower, centre + (more - less) / (above + below)))


@njit(cache=True)
def _height(laws, k, x):
    """The density at x."""
    if x <= 0.0 or x >= 1.0:
        return 0.0
    point = laws[POINT, k]
    fallen = laws[A, k] * log1p((x - point) / point) + laws[B, k] * log1p((point - x) / (1.0 - point))
    return laws[HEIGHT, k] * exp(fallen)


@njit(cache=True)
def beyond(laws, k, v, rough=False):
    """P(mean > v), E[max(mean - v, 0)] and the density at v; beyond the peak to a part in 10,000 if that is enough."""
    a, b, lower, upper = laws[A, k], laws[B, k], laws[LOWER, k], laws[UPPER, k]
    if lower >= upper:
        return (1.0 if upper > v else 0.0), max(upper - v, 0.0), 0.0
    if v >= upper:
        return 0.0, 0.0, 0.0
    if v <= lower:
        return 1.0, laws[MEAN, k] - v, 0.0
    height = _height(laws, k, v)
    if v * (a + b) >= a:
        mass, moment = _panel(a, b, v, 1.0 - v, upper - v, 1.0 - upper, rough)
        return height * mass, height * moment, height / (v * (1.0 - v))
    mass, moment = _panel(b, a, 1.0 - v, v, v - lower, lower, False)
    return 1.0 - height * mass, height * moment + laws[MEAN, k] - v, height / (v * (1.0 - v))


@njit(cache=True)
def tails_at(laws, k, q, rough=False):
    """What `next_tails` keeps up to date: parameters, mass, mass above q, densities at both bounds and at q."""
    tail = beyond(laws, k, q, rough)[0]
    lower, upper = _height(laws, k, laws[LOWER, k]), _height(laws, k, laws[UPPER, k])
    return laws[A, k], laws[B, k], 1.0, tail, lower, upper, _height(laws, k, q)


@njit(cache=True, inline="always")
def next_tails(tails, one, lower, upper, q):
    """The tails after one more reward of 1 or 0: ``I_x(a + 1, b) = I_x(a, b) - x^a (1 - x)^b / (a B(a, b))``."""
    a, b, mass, tail, at_lower, at_upper, at_q = tails
    if one:
        grow = (a + b) / a
        mass, tail = mass - (at_upper - at_lower) / a, tail - (at_upper - at_q) / a
        return a + 1.0, b, mass, tail, at_lower * lower * grow, at_upper * upper * grow, at_q * q * grow
    grow = (a + b) / b
    mass, tail = mass + (at_upper - at_lower) / b, tail + (at_upper - at_q) / b
    return (
        a,
        b + 1.0,
        mass,
        tail,
        at_lower * (1.0 - lower) * grow,
        at_upper * (1.0 - upper) * grow,
        at_q * (1.0 - q) * grow,
    )


@njit(cache=True)
def keep(laws, k, tails, q):
    """Take over the tails at q into the law, in place of `update`."""
    a, b, mass, _, at_lower, at_upper, at_q = tails
    laws[A, k], laws[B, k], laws[POINT, k], laws[HEIGHT, k] = a, b, q, at_q / mass
    laws[MEAN, k] = a / (a + b) + (at_lower - at_upper) / ((a + b) * mass)
