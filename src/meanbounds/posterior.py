"""What is known of each arm's mean after its rewards: Beta distributions truncated to bounds, and mixtures of two.

With a trust of p the prior of a mean is p times the one within its bounds plus 1 - p times the whole one. By Bayes'
rule the posterior is a mixture of the same kind. The odds that the bounds hold are ``p / (1 - p)`` times
``P(whole posterior within the bounds) / P(whole prior within the bounds)``.

Integrals are taken in y = log(x / (1 - x)), where the density is ``exp(a y) / (1 + exp(y))**(a + b)``: log-concave,
with its peak at x = a / (a + b). From the peak, or from a point beyond it, one Gauss-Legendre rule goes outwards to the
bound or to where the density has fallen by exp(-27). All terms are positive and relative to the density where they
start, so bounds far from the rewards cost no digits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.polynomial import legendre
from scipy.special import betainc, betaincinv, betaln, expit, xlog1py, xlogy

from meanbounds.known import Known, Seen, once
from meanbounds.support.checks import is_whole, shown
from meanbounds.support.types import Floats, Integers

__all__ = [
    "BetaPosterior",
    "Parts",
    "Posterior",
    "TruncatedBeta",
    "check_moments",
    "posterior",
    "solve",
    "two_moments",
    "with_prior",
]

_DEPTH = 27.0  # what is left of a density where it has fallen by exp(-27) is neglected
_BEND = 0.7  # nodes are closer together where a panel starts
_AT, _OWN = 0.5 * (1.0 + legendre.leggauss(28)[0]), 0.5 * legendre.leggauss(28)[1]
_NODES = (_AT * (_BEND + (1.0 - _BEND) * _AT))[:, None]
_WEIGHTS = _OWN * (_BEND + 2.0 * (1.0 - _BEND) * _AT)
_CHUNK = 250  # integrals at a time, so that their nodes stay in the processor's cache
_LEAST, _MOST = 1e-300, 1.0 - 2.0**-53  # the ends of the range, as far as integrals go
_RARE = 1e-3  # mass between bounds below which differences of distribution functions would lose digits
_PRECISION = 3e-5  # of a step after which a solution is right to about its cube
_STEPS = 100  # at most, of which about three are taken
_FARTHER = 10.0  # how much farther from the top than another arm's lower value one may lie that is not known


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
    """The truncated Beta distributions that the posteriors mix, in arrays of shape (parts, rows, arms).

    There is one part where all bounds are certain. Otherwise there are two: the bounds hold; those that may be wrong do
    not. Where ``lower == upper`` the mean is that value.
    """

    weight: Floats
    a: Floats
    b: Floats
    lower: Floats
    upper: Floats


def posterior(known: Known, seen: Seen, moments: int = 1) -> BetaPosterior:
    """The posterior of each arm's mean.

    Parameters
    ----------
    known, seen
        What is known of the arms and what was seen of them.
    moments
        With 1, rewards count as they were rounded to 0 or 1 at random. With 2, they count as if each had been either 1
        or one lower value, such that the first two moments stay the same, see `two_moments`; only whether bounds hold
        is judged as with 1, from the sums of rewards.
    """
    free, seen = known.without_doubted, with_prior(known, seen)
    base = 1.0 if known.prior is None else 0.0
    low, width, ones = known.low, known.width, seen.ones
    if moments == 2:
        floor, ones = two_moments(seen)
        if known.prior is None:
            floor = np.where(seen.total < seen.plays, floor, _shared_floor(free, seen, floor))
        low, width = low + width * floor, width * (1.0 - floor)
    a, b = base + ones, base + (seen.plays - ones)
    lower, upper = _unit_bounds(known, low, width, a.shape)
    if known.log_n is None:
        return BetaPosterior(Parts(*(own[None] for own in (np.ones(a.shape), a, b, lower, upper))), low, width)
    counted = seen.ones if moments == 1 else seen.total
    odds = _log_odds(known, known.log_n, base + counted, base + (seen.plays - counted))
    bounds = zip((lower, upper), _unit_bounds(free, low, width, a.shape), strict=True)
    pairs = (expit(odds), expit(-odds)), (a, a), (b, b), *bounds
    return BetaPosterior(Parts(*(np.stack(own) for own in pairs)), low, width)


def check_moments(moments: Any) -> None:
    """Refuse a number of moments other than 1 and 2."""
    if not (is_whole(moments) and moments in (1, 2)):
        raise ValueError(f"moments must be 1 or 2; got {shown(moments)}")


def with_prior(known: Known, seen: Seen) -> Seen:
    """The statistics with the prior as plays that were made before: successes and failures."""
    if known.prior is None:
        return seen
    ones, zeros = known.prior
    return Seen(seen.plays + ones + zeros, seen.total + ones, seen.squares + ones, seen.ones + ones)


def two_moments(seen: Seen) -> tuple[Floats, Floats]:
    """The lower value x at which rewards of x and 1 alone have the first two moments seen, and how many of them are 1.

    Of all distributions on [0, 1] with these moments, that one is hardest to tell from one with a larger mean. For
    rewards of 0 and 1, x is 0; and it is 0 where no reward was below 1, so that nothing is known of it.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = seen.total / seen.plays
        floor = np.maximum(0.0, np.minimum(mean, (seen.total - seen.squares) / (seen.plays - seen.total)))
        floor = np.where(seen.total < seen.plays, floor, 0.0)
        return floor, np.where(seen.plays > 0.0, seen.plays * ((mean - floor) / (1.0 - floor)), 0.0)


def _shared_floor(known: Known, seen: Seen, floor: Floats) -> Floats:
    """The lower value of arms whose rewards do not say one, in units of their range.

    It is ten times as far from the top as the lower value of another arm, whichever is highest, and at most that arm's
    upper bound. In a range that is much wider than the rewards, draws from all of it would never win.
    """
    offered = np.minimum(known.upper, known.high - _FARTHER * known.width * (1.0 - floor))
    offered = np.where(known.possible & (seen.total < seen.plays), offered, -np.inf)
    return np.clip((offered.max(axis=1, keepdims=True) - known.low) / known.width, 0.0, 1.0 - 1e-15)


def _unit_bounds(known: Known, low: Floats, width: Floats, shape: tuple[int, ...]) -> tuple[Floats, Floats]:
    """The bounds in these units; the upper one alone where nothing is left between them."""
    upper = np.minimum(1.0, (known.upper - low) / width)
    lower = np.minimum(upper, np.maximum(0.0, (known.lower - low) / width))
    return (lower, upper) if upper.shape == shape else (np.broadcast_to(lower, shape), np.broadcast_to(upper, shape))


def _log_odds(known: Known, log_n: Floats, a: Floats, b: Floats) -> Floats:
    """Log odds that the bounds hold, see the top of this module; of densities where the bounds are one value."""
    lower, upper = _unit_bounds(known, known.low, known.width, a.shape)
    first, second = (1.0, 1.0) if known.prior is None else known.prior
    with np.errstate(divide="ignore", invalid="ignore"):
        between = _log_mass(a, b, lower, upper) - _prior_mass(None, known)
        ones, zeros = (np.where(own > 1e-13 * (a + b), own, 0.0) for own in (a - first, b - second))  # 0: by rounding
        point = xlogy(ones, lower) + xlog1py(zeros, -lower) + betaln(first, second) - betaln(a, b)
        odds = log_n + np.log1p(-np.exp(-log_n)) + np.where(lower < upper, between, point)
    return np.where(np.isinf(log_n), np.inf, odds)


@once
def _prior_mass(_: None, known: Known) -> Floats:
    """Log of the probability that the whole prior puts between the bounds."""
    lower, upper = _unit_bounds(known, known.low, known.width, known.lower.shape)
    return np.log(upper - lower) if known.prior is None else _log_mass(*known.prior, lower, upper)


def _log_mass(a: Floats, b: Floats, lower: Floats, upper: Floats) -> Floats:
    arrays = np.broadcast_arrays(a, b, lower, upper)
    return TruncatedBeta(*(own.ravel() for own in arrays)).log_mass().reshape(arrays[0].shape)


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
        return TruncatedBeta(*(own.ravel() for own in self.parts[1:]))

    @cached_property
    def mean(self) -> Floats:
        """The expected mean of each arm, shape (rows, arms)."""
        return self.low + self.width * self._mixed(self.laws.mean)

    @property
    def credibility(self) -> Floats:
        """The probability that each arm's bounds hold, given the rewards."""
        return self.parts.weight[0]

    @property
    def spread(self) -> Floats:
        """The standard deviation that each mean would have without bounds."""
        a, b = self.parts.a[0], self.parts.b[0]
        return self.width * np.sqrt(a * b / (a + b + 1.0)) / (a + b)

    @property
    def highest(self) -> Floats:
        """The largest value that each mean may have."""
        weight, upper = self.parts.weight, self.parts.upper
        return self.low + self.width * (upper[0] if len(upper) == 1 else np.where(weight > 0.0, upper, 0.0).max(axis=0))

    @property
    def ends(self) -> tuple[Floats, Floats]:
        """Where the density of each part starts and stops, shape (parts, rows, arms); beyond, it is negligible."""
        left, right = (own.reshape(self.parts.weight.shape) for own in self.laws.ends())
        return self.low + self.width * left, self.low + self.width * right

    def tail(self, v: Any) -> Floats:
        """The probability that each mean exceeds v, which broadcasts with (rows, arms)."""
        return self.beyond(v)[1]

    def excess(self, v: Any) -> Floats:
        """The expectation of ``max(mean - v, 0)``."""
        return self.beyond(v)[2]

    def beyond(self, v: Any, places: Integers | None = None) -> tuple[Floats, Floats, Floats]:
        """The density, `tail` and `excess` at v; of the arms at these flat places of (rows, arms) alone, if given."""
        weight, low, width, laws = self.parts.weight, self.low, self.width, self.laws
        parts, *shape = weight.shape
        if places is None and np.ndim(v) > 2:
            places = np.broadcast_to(np.arange(weight[0].size).reshape(shape), np.broadcast_shapes(np.shape(v), shape))
        if places is not None:
            low, width = (np.broadcast_to(own, shape).ravel()[places] for own in (low, width))
            places = np.arange(parts).reshape(-1, *(1,) * places.ndim) * weight[0].size + places
            laws, weight = laws.take(places.ravel()), weight.ravel()[places]
        found = laws.beyond(np.broadcast_to((v - low) / width, weight.shape).ravel())
        density, tail, excess = (self._mixed(own, weight) for own in found)
        return density / width, tail, excess * width

    def draw(self, uniforms: Floats) -> Floats:
        """A draw of each mean for each uniform number, shape (rows, arms).

        It is the quantile of the number. Of a mixture, the number says which part it is, and then where in it.
        """
        a, b, lower, upper = (own[0] for own in self.parts[1:])
        if len(self.parts.weight) > 1:
            holds = uniforms < self.credibility
            skipped = np.where(holds, 0.0, self.credibility)
            uniforms = (uniforms - skipped) / np.where(holds, self.credibility, 1.0 - skipped)
            lower, upper = (np.where(holds, *own) for own in (self.parts.lower, self.parts.upper))
        return self.low + self.width * _quantile(a, b, lower, upper, uniforms)

    def _mixed(self, values: Floats, weight: Floats | None = None) -> Floats:
        """The average over the parts."""
        weight = self.parts.weight if weight is None else weight
        values = values.reshape(weight.shape)
        return values[0] if len(weight) == 1 else (weight * values).sum(axis=0)


def _quantile(a: Floats, b: Floats, lower: Floats, upper: Floats, shares: Floats) -> Floats:
    """The value below which each distribution has this share of what it has between the bounds."""
    below = betainc(a, b, lower)
    mass = betainc(a, b, upper) - below
    found = np.minimum(upper, np.maximum(lower, betaincinv(a, b, np.minimum(1.0, below + shares * mass))))
    rare = (mass < _RARE) & (lower < upper)
    if rare.any():
        found[rare] = TruncatedBeta(a[rare], b[rare], lower[rare], upper[rare]).quantile(shares[rare])
    return found


class TruncatedBeta:
    """Beta distributions between bounds, in flat arrays with an entry for each; a point where the bounds are equal."""

    def __init__(self, a: Floats, b: Floats, lower: Floats, upper: Floats) -> None:
        self.a, self.b, self.upper = a, b, upper
        low, high = np.maximum(lower, _LEAST), np.minimum(upper, _MOST)
        self.is_point = ~(low < high)
        if self.is_point.any():  # compute as if there were no bounds, and replace the results
            low, high = np.where(self.is_point, _LEAST, low), np.where(self.is_point, _MOST, high)
        self.centre = centre = np.minimum(high, np.maximum(low, a / (a + b)))  # the peak in y between the bounds
        self.low, self.high, lack, size = low, high, 1.0 - centre, len(a)
        pairs = (a, b), (b, a), (centre, lack), (lack, centre), (high - centre, centre - low), (1.0 - high, low)
        mass, moment, width = _beyond(*(np.concatenate(pair) for pair in pairs))
        self.above, self.mass = mass[:size], mass[:size] + mass[size:]  # relative to the density at the centre
        self.rise, self.fall = width[:size], width[size:]  # how far the density reaches in y
        mean = np.minimum(high, np.maximum(low, centre + (moment[:size] - moment[size:]) / self.mass))
        self.mean = np.where(self.is_point, upper, mean)

    def take(self, places: Integers) -> TruncatedBeta:
        """Some of the distributions, or the same ones several times."""
        found = object.__new__(TruncatedBeta)
        vars(found).update({name: values[places] for name, values in vars(self).items()})
        return found

    def ends(self) -> tuple[Floats, Floats]:
        """Where the density has fallen to nothing, or is cut."""
        x, lack = self.centre, 1.0 - self.centre
        ends = x / (x + lack * np.exp(self.fall)), 1.0 - lack / (lack + x * np.exp(self.rise))
        left, right = (np.where(self.is_point, self.upper, own) for own in ends)
        return left, right

    def log_mass(self) -> Floats:
        """Log of the probability that the whole distribution puts between the bounds."""
        peak = self.a * np.log(self.centre) + self.b * np.log1p(-self.centre) - betaln(self.a, self.b)
        return peak + np.log(self.mass)

    def beyond(self, v: Floats) -> tuple[Floats, Floats, Floats]:
        """The density at v, P(mean > v) and E[max(mean - v, 0)]."""
        inside = np.minimum(self.high, np.maximum(self.low, v))
        up, rest, step = inside >= self.centre, 1.0 - inside, inside - self.centre
        mass, moment, _ = _beyond(
            np.where(up, self.a, self.b),
            np.where(up, self.b, self.a),
            np.where(up, inside, rest),
            np.where(up, rest, inside),
            np.where(up, self.high - inside, inside - self.low),
            np.where(up, 1.0 - self.high, self.low),
        )
        height = self.a * np.log1p(step / self.centre) + self.b * np.log1p(-step / (1.0 - self.centre))
        height = np.exp(height) / self.mass
        tail, excess = height * mass, height * moment
        tail = np.where(up, tail, 1.0 - tail)
        excess = np.where(up, excess, excess + (self.mean - inside)) + np.maximum(0.0, self.low - v)
        density = np.where(inside == v, height / (inside * rest), 0.0)
        if self.is_point.any():
            tail = np.where(self.is_point, self.upper > v, tail)
            excess = np.where(self.is_point, np.maximum(self.upper - v, 0.0), excess)
            density = np.where(self.is_point, 0.0, density)
        return density, tail, excess

    def quantile(self, shares: Floats) -> Floats:
        """The v below which each distribution has this share of its mass, found on the log of the smaller side."""
        up = (1.0 - shares) * self.mass <= self.above
        goal, sign = np.log(np.maximum(np.where(up, 1.0 - shares, shares), _LEAST)), np.where(up, 1.0, -1.0)

        def step(v: Floats, places: Integers) -> tuple[Floats, Floats]:
            laws, above = self.take(places), up[places]
            density, tail, _ = laws.beyond(v)
            side = np.where(above, tail, 1.0 - tail)
            off, slope = sign[places] * (np.log(side) - goal[places]), density / side
            bend = sign[places] * ((laws.a - 1.0) / v - (laws.b - 1.0) / (1.0 - v)) + slope
            newton = off / slope
            return off, v + newton / np.maximum(0.5, 1.0 + 0.5 * sign[places] * newton * bend)

        return solve(step, self.centre, self.low, self.high, self.centre)


def solve(
    step: Callable[[Floats, Integers], tuple[Floats, Floats]], v: Floats, below: Floats, above: Floats, origin: Floats
) -> Floats:
    """Solve many equations by a method of third order, kept between two values that enclose the solution.

    Parameters
    ----------
    step
        For values v of the equations at some places: a number above 0 where the solution is larger, and the next v.
    v, below, above
        Where to start, and values between which the solutions are.
    origin
        Steps are small beside the distance from here.
    """
    found, places, last = v.copy(), np.arange(v.size), np.zeros_like(v)
    for _ in range(_STEPS):
        surplus, following = step(v, places)
        below, above = np.where(surplus > 0.0, v, below), np.where(surplus > 0.0, above, v)
        change = following - v
        small = np.abs(change) <= np.maximum(_PRECISION * np.abs(v - origin), 1e-15 * np.abs(v))
        swings = change * last < -0.5 * last * last
        halve = ~(small | ((below < following) & (following < above) & ~swings))
        following = np.where(halve, 0.5 * (below + above), following)
        found[places] = following
        if small.all():
            break
        last, v = following - v, following
        if 2 * np.count_nonzero(small) > small.size:
            places = places[~small]
            v, below, above, origin, last = (own[~small] for own in (v, below, above, origin, last))
    return found


def _beyond(
    a: Floats, b: Floats, x: Floats, lack: Floats, gap: Floats, end_lack: Floats
) -> tuple[Floats, Floats, Floats]:
    """Integrals from x to x + gap of a density, and of it times the distance from x, and how far it reaches in y.

    The density is that of Beta(a, b) in y, relative to the one at x, which is at or beyond its peak; `lack` is 1 - x,
    and `end_lack` is 1 - x - gap.
    """
    if len(a) > _CHUNK:
        chunks = [slice(n, n + _CHUNK) for n in range(0, len(a), _CHUNK)]
        found = [_beyond(*(own[chunk] for own in (a, b, x, lack, gap, end_lack))) for chunk in chunks]
        mass, moment, width = (np.concatenate(own) for own in zip(*found, strict=True))
        return mass, moment, width
    size = a + b
    slope = np.minimum(0.0, a * lack - b * x)
    width = 2.0 * _DEPTH / (np.sqrt(slope * slope + 2.0 * _DEPTH * size * x * lack) - slope)
    inner = x * np.expm1(width)  # Newton's method on a concave function: never short of where the density has fallen
    width -= (a * width - size * np.log1p(inner) + _DEPTH) / (a - size * (x + inner) / (1.0 + inner))
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
    return mass, x * lack * width * (_WEIGHTS @ density), width
