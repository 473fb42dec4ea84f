"""What is known of each arm's mean after its rewards: Beta distributions truncated to bounds, and mixtures of two.

A `BetaPosterior` mixes, for each arm, the posterior with its bounds and the one without those that may be wrong, in
the proportion that Bayes' rule says. With a prior of p times the one within the bounds plus 1 - p times the whole one,
the odds that the bounds hold are ``p / (1 - p) * P(whole posterior within the bounds) / P(whole prior within them)``.

All integrals are taken in y = log(x / (1 - x)), where the density is ``exp(a y) / (1 + exp(y))**(a + b)``: log-concave,
with its peak at x = a / (a + b). From the peak, or from a point beyond it, one Gauss-Legendre rule goes outwards to the
bound or to where the density has fallen by exp(-27). All terms are positive and relative to the density where they
start, so bounds far from the rewards cost no digits.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.polynomial import legendre
from scipy.special import betaln, expit, xlog1py, xlogy

from meanbounds.known import Known, Seen
from meanbounds.support.types import Floats, Integers

__all__ = ["BetaPosterior", "Parts", "Posterior", "TruncatedBeta", "posterior", "two_moments", "with_prior"]

_DEPTH = 27.0  # what is left of a density where it has fallen by exp(-27) is neglected
_CHUNK = 250  # integrals at a time: their nodes then stay in the processor's cache
_BEND = 0.7  # nodes are closer where a panel starts
_ROUNDING = 1e-13  # part of all plays below which a number of plays may be a rounding error
_FARTHER = 10.0  # how much farther from the top than another arm's lower value an arm may lie that has none itself

_AT, _OWN = (0.5 * (1.0 + legendre.leggauss(28)[0]), 0.5 * legendre.leggauss(28)[1])
_NODES = (_AT * (_BEND + (1.0 - _BEND) * _AT))[:, None]
_WEIGHTS = _OWN * (_BEND + 2.0 * (1.0 - _BEND) * _AT)


class Posterior(Protocol):
    """What policies ask of a posterior; values are in reward units."""

    @property
    def mean(self) -> Floats:
        """The expected mean of each arm, shape (rows, arms)."""

    @property
    def credibility(self) -> Floats:
        """The probability that each arm's bounds hold, given the rewards."""

    def tail(self, v: Any) -> Floats:
        """The probability that each mean exceeds v, which broadcasts with (rows, arms)."""

    def excess(self, v: Any) -> Floats:
        """The expectation of ``max(mean - v, 0)``."""

    def draw(self, uniforms: Floats) -> Floats:
        """A draw of each mean for each uniform number."""


class Parts(NamedTuple):
    """The truncated Beta distributions that an arm's posterior mixes, in arrays of shape (parts, rows, arms).

    There is one part where all bounds are certain. Otherwise there are two: the bounds hold; those that may be wrong do
    not. Where ``lower == upper`` the mean is that value. With a `BetaPosterior` p, a mean in reward units is
    ``p.low + p.width * x``.
    """

    weight: Floats
    a: Floats
    b: Floats
    lower: Floats
    upper: Floats


def with_prior(known: Known, seen: Seen) -> Seen:
    """The statistics as if the prior's plays had been made: it counts as successes and failures."""
    if known.prior is None:
        return seen
    ones, zeros = known.prior
    return Seen(seen.plays + ones + zeros, seen.total + ones, seen.squares + ones, seen.ones + ones)


def two_moments(seen: Seen) -> tuple[Floats, Floats]:
    """The lower value x at which rewards of x and 1 alone have the first two moments seen, and how many are then 1.

    Of all distributions on [0, 1] with these moments, this one is the hardest to tell from one with a larger mean. For
    rewards of 0 and 1, x is 0; so it is where nothing is known of x, since no reward was less than 1.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = seen.total / seen.plays
        floor = np.minimum(mean, (seen.total - seen.squares) / (seen.plays - seen.total))
        floor = np.where(seen.total < seen.plays, np.maximum(floor, 0.0), 0.0)
        ones = seen.plays * ((mean - floor) / (1.0 - floor))
    return floor, np.where(seen.plays > 0.0, ones, 0.0)


def _shared_floor(known: Known, seen: Seen, floor: Floats) -> Floats:
    """The lower value, in reward units, of arms whose rewards do not say one; minus infinity if no other arm's do.

    It is ten times as far from the top as the lower value of another arm, whichever is highest, and at most that arm's
    upper bound. In a range much wider than the rewards, a uniform draw would never win.
    """
    offered = np.minimum(known.upper, known.high - _FARTHER * known.width * (1.0 - floor))
    offered = np.where(known.possible & (seen.total < seen.plays), offered, -np.inf)
    return offered.max(axis=1, keepdims=True)


def posterior(known: Known, seen: Seen, moments: int = 1) -> BetaPosterior:
    """The posterior of each arm's mean.

    Parameters
    ----------
    known, seen
        What is known of the arms and what was seen of them.
    moments
        With 1, rewards count as they were rounded to 0 or 1 at random. With 2, they count as if each had been either 1
        or one lower value, such that the first two moments stay the same: see `two_moments`.
    """
    free = known.without_doubted
    counted = with_prior(known, seen)
    base = 1.0 if known.prior is None else 0.0
    if moments == 1:
        a, b = base + counted.ones, base + (counted.plays - counted.ones)
        low, width = known.low, known.width
    else:
        floor, ones = two_moments(counted)
        if known.prior is None:
            shared = (_shared_floor(free, seen, floor) - known.low) / known.width
            floor = np.where(seen.total < seen.plays, floor, np.clip(shared, 0.0, 1.0))
        a, b = base + ones, base + (counted.plays - ones)
        low, width = known.low + known.width * floor, known.width * (1.0 - floor)
    shape = np.broadcast_shapes(a.shape, known.lower.shape)
    bounds = [_unit_bounds(own, low, width) for own in ((known,) if known.is_certain else (known, free))]
    a, b = (np.broadcast_to(x, (len(bounds), *shape)) for x in (a, b))
    lower, upper = (np.stack([np.broadcast_to(pair[n], shape) for pair in bounds]) for n in (0, 1))
    weight = np.ones(a.shape)
    if known.log_n is not None:
        odds = _log_odds(known, known.log_n, a[0], b[0], lower[0], upper[0])
        weight[0], weight[1] = expit(odds), expit(-odds)
    return BetaPosterior(Parts(weight, a, b, lower, upper), low, width)


def _unit_bounds(known: Known, low: Floats, width: Floats) -> tuple[Floats, Floats]:
    """The bounds in units of the posterior; one value, the upper bound, where nothing is left between them."""
    upper = np.minimum(1.0, (known.upper - low) / width)
    return np.minimum(upper, np.maximum(0.0, (known.lower - low) / width)), upper


def _log_odds(known: Known, log_n: Floats, a: Floats, b: Floats, lower: Floats, upper: Floats) -> Floats:
    """Log odds that the bounds hold, see the top of this module; of densities where the bounds are one value."""
    prior = (np.ones(1), np.ones(1)) if known.prior is None else known.prior
    with np.errstate(divide="ignore", invalid="ignore"):
        if known.prior is None:
            before = np.log(upper - lower)
        else:
            before = _log_mass(*prior, *_unit_bounds(known, known.low, known.width))
        ones, zeros = (np.where(x > _ROUNDING * (a + b), x, 0.0) for x in (a - prior[0], b - prior[1]))
        point = np.maximum(lower, 0.0)
        density = xlogy(ones, point) + xlog1py(zeros, -point) + betaln(*prior) - betaln(a, b)
        factor = np.where(lower < upper, _log_mass(a, b, lower, upper) - before, density)
        return np.where(np.isinf(log_n), np.inf, log_n + np.log1p(-np.exp(-log_n)) + factor)


def _log_mass(*law: Floats) -> Floats:
    arrays = np.broadcast_arrays(*law)
    return TruncatedBeta(*map(np.ravel, arrays)).log_mass().reshape(arrays[0].shape)


class BetaPosterior:
    """A mixture of truncated Beta distributions for each arm; `posterior` makes it.

    Attributes
    ----------
    parts
        The distributions, in units in which 0 is `low` and 1 is `low + width`.
    low, width
        These units: the arm's range, or with ``moments=2`` the part of it above the lower value.
    """

    def __init__(self, parts: Parts, low: Floats, width: Floats) -> None:
        self.parts, self.low, self.width = parts, low, width

    @cached_property
    def laws(self) -> TruncatedBeta:
        """The distributions in flat arrays."""
        return TruncatedBeta(*(np.ravel(own) for own in self.parts[1:]))

    @property
    def mean(self) -> Floats:
        """The expected mean of each arm, shape (rows, arms)."""
        return self.low + self.width * (self.parts.weight * self.laws.mean.reshape(self.parts.weight.shape)).sum(axis=0)

    @property
    def credibility(self) -> Floats:
        """The probability that each arm's bounds hold, given the rewards."""
        return self.parts.weight[0]

    def tail(self, v: Any) -> Floats:
        """The probability that each mean exceeds v, which broadcasts with (rows, arms)."""
        return self.beyond(v)[0]

    def excess(self, v: Any) -> Floats:
        """The expectation of ``max(mean - v, 0)``."""
        return self.beyond(v)[1]

    def beyond(self, v: Any) -> tuple[Floats, Floats]:
        """`tail` and `excess` of the same v."""
        unit = (np.asarray(v) - self.low) / self.width
        weight = self.parts.weight
        places = np.arange(weight.size).reshape(weight.shape[0], *(1,) * (unit.ndim - 2), *weight.shape[1:])
        places = np.broadcast_to(places, (weight.shape[0], *unit.shape))
        values = np.broadcast_to(unit, places.shape)
        found = self.laws.take(places.ravel()).beyond(values.ravel())
        tail, excess = (np.einsum("p...,p...->...", weight.ravel()[places], x.reshape(places.shape)) for x in found)
        return tail, self.width * excess


class TruncatedBeta:
    """Beta distributions between bounds, in flat arrays with an entry for each; a point where the bounds are equal."""

    def __init__(self, a: Floats, b: Floats, lower: Floats, upper: Floats) -> None:
        self.a, self.b, self.lower, self.upper = a, b, lower, upper
        self.is_point = ~(lower < upper)
        self._low, self._high = lower, upper
        if self.is_point.any():  # compute with bounds that are valid, and replace the results
            self._low, self._high = np.where(self.is_point, 0.0, lower), np.where(self.is_point, 1.0, upper)
        self.centre = np.minimum(self._high, np.maximum(self._low, a / (a + b)))  # the peak in y, between the bounds
        lack, low, high, size = 1.0 - self.centre, self._low, self._high, len(a)
        pairs = (a, b), (b, a), (self.centre, lack), (lack, self.centre), (high - self.centre, self.centre - low)
        mass, moment = _beyond(*(np.concatenate(pair) for pair in (*pairs, (1.0 - high, low))))
        self.mass = mass[:size] + mass[size:]  # relative to the density at the centre
        mean = np.minimum(high, np.maximum(low, self.centre + (moment[:size] - moment[size:]) / self.mass))
        self.mean = np.where(self.is_point, upper, mean)

    def take(self, places: Integers) -> TruncatedBeta:
        """Some of the distributions, or the same ones several times."""
        found = object.__new__(TruncatedBeta)
        for name, values in vars(self).items():
            setattr(found, name, values[places])
        return found

    def log_mass(self) -> Floats:
        """Log of the probability that the whole distribution puts between the bounds."""
        peak = self.a * np.log(self.centre) + self.b * np.log1p(-self.centre) - betaln(self.a, self.b)
        return np.where(self.is_point, -np.inf, peak + np.log(self.mass))

    def density(self, v: Floats) -> Floats:
        """The density in y at v, which lies between the bounds, over the mass: ``v (1 - v)`` times that of the mean."""
        step = v - self.centre
        fallen = self.a * np.log1p(step / self.centre) + self.b * np.log1p(-step / (1.0 - self.centre))
        return np.exp(fallen) / self.mass

    def beyond(self, v: Floats) -> tuple[Floats, Floats]:
        """P(mean > v) and E[max(mean - v, 0)]."""
        inside = np.minimum(self._high, np.maximum(self._low, v))
        up = inside >= self.centre
        a, b = np.where(up, self.a, self.b), np.where(up, self.b, self.a)
        x, lack = np.where(up, inside, 1.0 - inside), np.where(up, 1.0 - inside, inside)
        gap, end_lack = np.where(up, self._high - inside, inside - self._low), np.where(up, 1.0 - self._high, self._low)
        at_end = ~(gap > 0.0)
        if at_end.any():
            x, lack = np.where(at_end, 0.5, x), np.where(at_end, 0.5, lack)
        mass, moment = _beyond(a, b, x, lack, gap, end_lack)
        with np.errstate(divide="ignore", invalid="ignore"):
            height = np.where(at_end, 0.0, self.density(inside))
        tail = np.where(up, height * mass, 1.0 - height * mass)
        excess = height * moment + np.where(up, 0.0, self.mean - inside) + np.maximum(self._low - v, 0.0)
        return (
            np.where(self.is_point, self.upper > v, tail),
            np.where(self.is_point, np.maximum(self.upper - v, 0.0), excess),
        )


def _beyond(a: Floats, b: Floats, x: Floats, lack: Floats, gap: Floats, end_lack: Floats) -> tuple[Floats, Floats]:
    """Integrals from x to x + gap of a density, and of it times the distance from x.

    The density is that of Beta(a, b) in y, relative to the one at x, which is at or beyond its peak; `lack` is 1 - x,
    and `end_lack` is 1 - x - gap.
    """
    if len(a) > _CHUNK:
        starts = range(0, len(a), _CHUNK)
        chunks = [_beyond(*(own[n : n + _CHUNK] for own in (a, b, x, lack, gap, end_lack))) for n in starts]
        return np.concatenate([own[0] for own in chunks]), np.concatenate([own[1] for own in chunks])
    size, bend, slope = a + b, (a + b) * x * lack, np.minimum(0.0, a * lack - b * x)
    width = 2.0 * _DEPTH / (np.sqrt(slope * slope + 2.0 * _DEPTH * bend) - slope)
    for _ in range(2):  # Newton's method on a concave function: never short of where the density has fallen
        inner = x * np.expm1(width)
        width -= (a * width - size * np.log1p(inner) + _DEPTH) / (a - size * (x + inner) / (1.0 + inner))
    with np.errstate(divide="ignore"):
        width = np.maximum(0.0, np.fmin(np.log1p(gap / (x * end_lack)), width))
    step = _NODES * width
    grown = np.expm1(step)
    inner = x * grown
    density = np.log1p(inner)
    density *= -size
    step *= a
    density += step
    np.exp(density, out=density)
    mass = width * (_WEIGHTS @ density)
    density *= grown
    inner += 1.0
    density /= inner
    return mass, x * lack * width * (_WEIGHTS @ density)
