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
from itertools import chain
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.polynomial import legendre
from scipy.special import betainc, betaincinv, betaln, expit

from meanbounds.known import APART, Known, Seen
from meanbounds.learned import matched
from meanbounds.support.checks import is_whole, shown
from meanbounds.support.types import Floats, Integers

__all__ = ["BetaPosterior", "Parts", "Posterior", "check_moments", "posterior", "solve", "two_moments", "with_prior"]

_Three = tuple[Floats, Floats, Floats]

_DEPTH = 27.0  # what is left of a density where it has fallen by exp(-27) is neglected
_BEND = 0.7  # nodes are closer together where a panel starts
_AT, _OWN = 0.5 * (1.0 + legendre.leggauss(28)[0]), 0.5 * legendre.leggauss(28)[1]
_NODES = (_AT * (_BEND + (1.0 - _BEND) * _AT))[:, None]
_WEIGHTS = _OWN * (_BEND + 2.0 * (1.0 - _BEND) * _AT)
_CHUNK = 500  # integrals at a time, so that their nodes stay in the processor's cache
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
    not. A mean that is known for certain has bounds that are 2e-9 apart.
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
        or one lower value, such that the first two moments stay the same, see `two_moments`. Where that value would be
        above the arm's upper bound it is the bound, and only the mean stays the same.
    """
    free, given, told, seen = known.without_doubted, seen, seen.told, with_prior(known, seen)
    base = 1.0 if known.prior is None else 0.0
    low, width, floor, shares = known.low, known.width, None, known.shares_law
    if moments == 2:
        floor, _ = two_moments(seen)
        if known.prior is None:
            floor = np.where(seen.total < seen.plays, floor, _shared_floor(free, seen, floor))
        floor = np.minimum(floor, known.unit_bounds[1] - APART)
        low, width = low + width * floor, width * (1.0 - floor)
        shares = shares & (floor == 0.0).all(axis=1, keepdims=True)  # else means are in units that differ
    a, b = counts = base + _counts(seen, floor)
    law = a, b, *(known.unit_bounds if moments == 1 else known.bounds_in(low, width))
    rows = [(np.ones(1), *law)]
    if known.log_n is not None:
        odds = _log_odds(known, known.log_n, *law)
        if known.prior is not None:  # densities at a point, in the units of the prior
            odds -= np.where(law[3] - law[2] < 1.5 * APART, np.log(width / known.width), 0.0)
        rows = [(expit(odds), *law), (expit(-odds), a, b, *free.bounds_in(low, width))]
    parts = np.empty((5, len(rows), *a.shape))
    for n, row in enumerate(rows):
        for own, values in zip(parts[:, n], row, strict=True):
            own[:] = values
    if known.learned is not None:
        own = counts - 1.0
        before = own if told is given else _counts(told, floor)
        np.copyto(parts[1:3], matched(before, own, known.learned)[:, None], where=shares)
    return BetaPosterior(Parts(*parts), low, width)


def _counts(seen: Seen, floor: Floats | None) -> Floats:
    """How many rewards were 1, and how many 0 or the lower value, shape (2, rows, arms)."""
    ones = seen.ones if floor is None else np.maximum(0.0, (seen.total - seen.plays * floor) / (1.0 - floor))
    return np.array([ones, seen.plays - ones])


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

    It is ten times as far from the top as the highest one of another arm, and at most that arm's upper bound. In a
    range that is much wider than the rewards, draws from all of it would never win.
    """
    offered = np.minimum(known.upper, known.high - _FARTHER * known.width * (1.0 - floor))
    offered = np.where(known.possible & (seen.total < seen.plays), offered, -np.inf)
    return np.clip((offered.max(axis=1, keepdims=True) - known.low) / known.width, 0.0, 1.0 - 1e-15)


def _log_odds(known: Known, log_n: Floats, *law: Floats) -> Floats:
    """Log odds that the bounds hold, see the top of this module; a uniform prior has the units of the posterior."""
    uniform = (np.ones(1), np.ones(1), *law[2:])
    prior = (*known.prior, *known.unit_bounds) if known.prior is not None else uniform
    pairs = np.array(np.broadcast_arrays(*law, *prior)).reshape(2, 4, *law[0].shape).swapaxes(0, 1)
    after, before = TruncatedBeta(*pairs.reshape(4, -1)).log_mass().reshape(2, *law[0].shape)
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(log_n), np.inf, log_n + np.log1p(-np.exp(-log_n)) + after - before)


class BetaPosterior:
    """A mixture of truncated Beta distributions for each arm, the `parts`; `posterior` makes it.

    They are in units in which 0 is `low` and 1 is ``low + width``: the arm's range, or with two moments what of it is
    above the lower value.
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
        return self.low + self.width * _average(self.laws.mean, self.parts.weight)

    @property
    def credibility(self) -> Floats:
        """The probability that each arm's bounds hold, given the rewards."""
        return self.parts.weight[0]

    def tail(self, v: Any) -> Floats:
        """The probability that each mean exceeds v, which broadcasts with (rows, arms)."""
        return self.beyond(v)[1]

    def excess(self, v: Any) -> Floats:
        """The expectation of ``max(mean - v, 0)``."""
        return self.beyond(v)[2]

    def beyond(self, v: Any, places: Integers | None = None) -> _Three:
        """The density, `tail` and `excess` at v; of the arms at these flat places of (rows, arms) alone, if given."""
        weight, low, width, laws = self.parts.weight, self.low, self.width, self.laws
        parts, *shape = weight.shape
        if places is None and np.ndim(v) > 2:
            places = np.broadcast_to(np.arange(weight[0].size).reshape(shape), np.broadcast_shapes(np.shape(v), shape))
        if places is not None:
            low, width = (np.broadcast_to(own, shape).ravel()[places] for own in (low, width))
            places = np.arange(parts).reshape(-1, *(1,) * places.ndim) * weight[0].size + places
            laws, weight = laws.take(places.ravel()), weight.ravel()[places]
        found = laws.beyond(np.divide(v - low, width, out=np.empty(weight.shape)).ravel())
        density, tail, excess = (_average(own, weight) for own in found)
        return density / width, tail, excess * width

    def draw(self, uniforms: Floats) -> Floats:
        """A draw of each mean: the quantile of its number, which in a mixture first says which part it is."""
        a, b, lower, upper = (own[0] for own in self.parts[1:])
        if len(self.parts.weight) > 1:
            holds = uniforms < self.credibility
            skipped = np.where(holds, 0.0, self.credibility)
            uniforms = (uniforms - skipped) / np.where(holds, self.credibility, 1.0 - skipped)
            lower, upper = (np.where(holds, *own) for own in (self.parts.lower, self.parts.upper))
        below = betainc(a, b, lower)
        mass = betainc(a, b, upper) - below
        found = np.minimum(upper, np.maximum(lower, betaincinv(a, b, np.minimum(1.0, below + uniforms * mass))))
        rare = mass < _RARE
        if rare.any():
            found[rare] = TruncatedBeta(a[rare], b[rare], lower[rare], upper[rare]).quantile(uniforms[rare])
        return self.low + self.width * found


def _average(values: Floats, weight: Floats) -> Floats:
    values = values.reshape(weight.shape)
    return values[0] if len(weight) == 1 else (weight * values).sum(axis=0)


class TruncatedBeta:
    """Beta distributions between bounds that differ, in flat arrays with an entry for each."""

    def __init__(self, a: Floats, b: Floats, lower: Floats, upper: Floats) -> None:
        self.a, self.b, size = a, b, len(a)
        self.low, self.high = low, high = np.maximum(lower, _LEAST), np.minimum(upper, _MOST)
        self.centre = centre = np.minimum(high, np.maximum(low, a / (a + b)))  # the peak in y between the bounds
        lack = 1.0 - centre
        pairs = (a, b), (b, a), (centre, lack), (lack, centre), (high - centre, centre - low), (1.0 - high, low)
        mass, moment, width = _beyond(*np.concatenate([*chain(*pairs)]).reshape(6, -1))
        self.above, self.mass = mass[:size], mass[:size] + mass[size:]  # relative to the density at the centre
        self.rise, self.fall = width[:size], width[size:]  # how far the density reaches in y
        self.mean = np.minimum(high, np.maximum(low, centre + (moment[:size] - moment[size:]) / self.mass))

    def take(self, places: Integers) -> TruncatedBeta:
        """Some of the distributions, or the same ones several times."""
        found = object.__new__(TruncatedBeta)
        vars(found).update({name: values[places] for name, values in vars(self).items()})
        return found

    def ends(self) -> tuple[Floats, Floats]:
        """Where each density starts and stops, or is negligible from there on."""
        x, lack = self.centre, 1.0 - self.centre
        return x / (x + lack * np.exp(self.fall)), 1.0 - lack / (lack + x * np.exp(self.rise))

    def log_mass(self) -> Floats:
        """Log of the probability that the whole distribution puts between the bounds."""
        peak = self.a * np.log(self.centre) + self.b * np.log1p(-self.centre) - betaln(self.a, self.b)
        return peak + np.log(self.mass)

    def beyond(self, v: Floats) -> _Three:
        """The density at v, P(mean > v) and E[max(mean - v, 0)]."""
        inside = np.minimum(self.high, np.maximum(self.low, v))
        up, rest, step = inside >= self.centre, 1.0 - inside, inside - self.centre
        outwards: tuple[Floats, ...] = (self.a, self.b, inside, rest, self.high - inside, 1.0 - self.high)
        every = np.count_nonzero(up) == up.size
        if not every:
            inwards = self.b, self.a, rest, inside, inside - self.low, self.low
            outwards = tuple(np.where(up, *pair) for pair in zip(outwards, inwards, strict=True))
        mass, moment, _ = _beyond(*outwards)
        rise, fall = (np.maximum(-_MOST, own) for own in (step / self.centre, -step / (1.0 - self.centre)))
        height = np.exp(self.a * np.log1p(rise) + self.b * np.log1p(fall)) / self.mass
        tail, excess = height * mass, height * moment
        if not every:
            tail, excess = np.where(up, tail, 1.0 - tail), np.where(up, excess, excess + (self.mean - inside))
        return np.where(inside == v, height / (inside * rest), 0.0), tail, excess + np.maximum(0.0, self.low - v)

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

        return solve(step, self.centre, self.low, self.high)


def solve(step: Callable[[Floats, Integers], tuple[Floats, Floats]], v: Floats, below: Floats, above: Floats) -> Floats:
    """Solve many equations by a method of third order, from v, kept between values that enclose the solution.

    For values v of the equations at some places, `step` returns a number above 0 where the solution is larger, and the
    next v. Solved equations drop out, so that a batch does not wait for its slowest one.
    """
    found, places, last, lowest, highest = v.copy(), np.arange(v.size), np.zeros_like(v), below, above
    for _ in range(_STEPS):
        surplus, following = step(v, places)
        change = following - v
        small = np.abs(change) <= np.maximum(_PRECISION * np.minimum(v - lowest, highest - v), 1e-15 * np.abs(v))
        if small.all():
            found[places] = following
            break
        below, above = np.where(surplus > 0.0, v, below), np.where(surplus > 0.0, above, v)
        swings = change * last < -0.5 * last * last
        halve = ~(small | ((below < following) & (following < above) & ~swings))
        following = np.where(halve, 0.5 * (below + above), following)
        found[places], small = following, small | (following == v)
        if small.all():
            break
        last, v = following - v, following
        if 2 * np.count_nonzero(small) > small.size:
            places, rest = places[~small], (v, below, above, last, lowest, highest)
            v, below, above, last, lowest, highest = (own[~small] for own in rest)
    return found


def _beyond(a: Floats, b: Floats, x: Floats, lack: Floats, gap: Floats, end_lack: Floats) -> _Three:
    """Integrals from x to x + gap of a density, and of it times the distance from x, and how far it reaches in y.

    The density is that of Beta(a, b) in y, relative to the one at x, which is at or beyond its peak; `lack` is 1 - x,
    and `end_lack` is 1 - x - gap.
    """
    size, slope = a + b, np.minimum(0.0, a * lack - b * x)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        width = 2.0 * _DEPTH / (np.sqrt(slope * slope + 2.0 * _DEPTH * size * x * lack) - slope)
        inner = x * np.expm1(width)  # Newton's method on a concave function: never short of where it has fallen
        width -= (a * width - size * np.log1p(inner) + _DEPTH) / (a - size * (x + inner) / (1.0 + inner))
        width = np.maximum(0.0, np.fmin(np.log1p(gap / (x * end_lack)), width))
    mass, moment = np.empty((2, len(a)))
    for n in range(0, len(a), _CHUNK):
        part = slice(n, n + _CHUNK)
        step = _NODES * width[part]
        grown = np.expm1(step)
        inner = x[part] * grown
        density = np.exp(a[part] * step - size[part] * np.log1p(inner))
        mass[part], moment[part] = _WEIGHTS @ density, _WEIGHTS @ (density * grown / (1.0 + inner))
    return width * mass, x * lack * width * moment, width
