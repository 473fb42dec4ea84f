"""Which parameters the bounds allow, and the bounds on each arm that follow from all bounds together."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.bounds import BoundsError, MeanBounds
from meanbounds.linear.arms import LinearArms, check_norm
from meanbounds.linear.cone import EMPTY, SOLVED, Limits, Maxima, maximise, multipliers
from meanbounds.support.checks import as_float, as_floats, shown
from meanbounds.support.types import Booleans, Floats, Integers

__all__ = ["Extent", "FeasibleSet", "TightBounds", "tighten"]

_SLACK = 1e-9  # how far a limit must be beyond what the others allow to be left out
_ROUNDING = 8.0 * float(np.finfo(np.float64).eps)  # between an arm's true mean and its bounds less its offset


class TightBounds(MeanBounds):
    """Bounds found by `tighten`, and for each side whether it is exact (saved bounds forget this).

    A bound is exact if it is the smallest (largest) mean that any feasible parameter gives. One that is not still
    holds: it belongs to a larger set.
    """

    exact_lower: Booleans
    exact_upper: Booleans

    def __init__(self, *given: Any, exact_lower: ArrayLike = False, exact_upper: ArrayLike = False, **named: Any):
        super().__init__(*given, **named)
        for name, exact in (("exact_lower", exact_lower), ("exact_upper", exact_upper)):
            object.__setattr__(self, name, np.broadcast_to(np.asarray(exact, dtype=np.bool_), len(self)))


class Extent(NamedTuple):
    """The means that some arms can have over a feasible set: an entry or a row for each arm."""

    features: Floats
    offset: Floats
    lower: Floats  # smallest mean, offset included: never above the true one
    upper: Floats  # largest mean, offset included: never below the true one
    peaks: Floats  # parameters that satisfy all bounds, at which the mean is largest


class FeasibleSet:
    """All parameters that satisfy every arm's bounds and have a norm of at most `norm_high`.

    Parameters
    ----------
    arms
        Features, bounds and offsets.
    norm_high
        Upper limit on the Euclidean norm of the parameter.

    Raises
    ------
    BoundsError
        If there is no such parameter; the message names a small group of arms that contradict each other.

    Examples
    --------
    >>> import meanbounds as mb
    >>> feasible = FeasibleSet(LinearArms([[1.0, 0.0], [0.0, 1.0]], mb.MeanBounds([0.6, 0.1], [0.9, 1.0])))
    >>> new = feasible.extent([[0.6, 0.8]], offset=-0.5)
    >>> new.lower.round(6), new.upper.round(6)
    (array([-0.06]), array([0.5]))
    >>> FeasibleSet(LinearArms([[1.0, 0.0], [0.0, 1.0]], mb.MeanBounds([0.8, 0.7], [0.9, 1.0])))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    meanbounds.bounds.BoundsError: no parameter of norm at most 1.0 gives arm 0 a mean of at least 0.8 and arm 1 a ...
    """

    def __init__(self, arms: LinearArms, norm_high: float = 1.0) -> None:
        if not isinstance(arms, LinearArms):
            raise TypeError(f"a feasible set needs LinearArms(features, bounds); got {shown(arms)}")
        self.arms, self.norm_high = arms, check_norm(norm_high)
        self.limits, self._places = self._as_limits()
        words, bounds = [], arms.bounds
        for side, k in (divmod(int(self._places[limit]), len(bounds)) for limit in self._conflict()):
            end = f"least {bounds.lower[k]}" if side else f"most {bounds.upper[k]}"
            words.append(f"arm {bounds.arms[k]!r} a mean of at {end}")
        if words:
            raise BoundsError(
                f"no parameter of norm at most {self.norm_high} gives {' and '.join(words)}: at least one of these "
                f"bounds does not hold, or norm_high is too small"
            )

    def extent(self, features: ArrayLike, offset: ArrayLike = 0.0) -> Extent:
        """The smallest and largest mean of any arms with these features, a row for each, and offsets."""
        rows = as_floats("features", features)
        arms = LinearArms(rows, MeanBounds.vacuous(len(np.atleast_1d(rows))), offset=offset)
        if arms.dimension != self.arms.dimension:
            raise ValueError(f"features must have {self.arms.dimension} columns, as for the arms; got {arms.dimension}")
        return self._extent(arms, self._maxima(arms))

    @cached_property
    def own(self) -> Extent:
        """The extent of the set's own arms, solved once; never wider than their bounds."""
        bounds, found = self.arms.bounds, self._extent(self.arms, self._solved)
        lower = np.clip(found.lower, bounds.lower, bounds.upper)
        return found._replace(lower=lower, upper=np.clip(found.upper, lower, bounds.upper))

    @cached_property
    def needed(self) -> Limits:
        """The limits without those that the others imply; both describe the same set, in units of `norm_high`.

        If no point of a convex set attains some limits, these can be left out together.
        """
        return self.limits.some(self._solved.value[self._places] > self.limits.ends - _SLACK)

    def tightened(self, norm_low: float = 0.0) -> TightBounds:
        """The tightest bounds on the arms that follow from all bounds together; see `tighten`."""
        if not 0.0 <= as_float("norm_low", norm_low) <= self.norm_high:
            raise ValueError(f"give 0 <= norm_low <= norm_high; got {shown(norm_low)} and {self.norm_high}")
        bounds, own, found = self.arms.bounds, self.own, self._solved
        long = np.linalg.norm(found.point, axis=1) >= norm_low / self.norm_high - SOLVED
        upper, lower = np.split(long & (found.gap < SOLVED), 2)
        ends = {"arms": bounds.arms, "low": bounds.low, "high": bounds.high}
        return TightBounds(own.lower, own.upper, **ends, exact_lower=lower, exact_upper=upper)

    @cached_property
    def _solved(self) -> Maxima:
        return self._maxima(self.arms)

    def _maxima(self, arms: LinearArms) -> Maxima:
        """The largest values of the arms' features, and then those of the opposite features, in units of the norms."""
        units = _units(arms)
        return maximise(np.concatenate([units, -units]), self.limits)

    def _extent(self, arms: LinearArms, found: Maxima) -> Extent:
        units, reach, size = _units(arms), self.norm_high * arms.length, len(arms.bounds)
        top, bottom = np.minimum(found.value[:size], 1.0), np.maximum(-found.value[size:], -1.0)
        lower = arms.offset + reach * np.minimum(top, bottom) - _ROUNDING * np.abs(arms.offset)
        upper = arms.offset + reach * np.maximum(top, bottom) + _ROUNDING * np.abs(arms.offset)
        peaks, good = found.point[:size], np.isfinite(found.gap)
        if good.any() and not good[:size].all():  # where no point was found, take the best one of another program
            best = (units @ found.point[good].T).argmax(axis=1)
            peaks = np.where(good[:size, None], peaks, found.point[good][best])
        return Extent(arms.features, arms.offset, lower, upper, self.norm_high * peaks)

    def _as_limits(self) -> tuple[Limits, Integers]:
        """The bounds in units in which the parameter has norm at most 1, without those that the norm implies.

        The places say where each limit is among all upper bounds, followed by all lower ones.
        """
        arms, bounds, units = self.arms, self.arms.bounds, _units(self.arms)
        reach = self.norm_high * arms.length
        above, below = (  # what rounding took from a mean or a bound must not exclude the truth
            sign * (end - arms.offset) + _ROUNDING * np.maximum(np.abs(end), np.abs(arms.offset))
            for sign, end in ((1.0, bounds.upper), (-1.0, bounds.lower))
        )
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # without features: infinite, or 0 / 0
            ends = np.concatenate([above / reach, below / reach])
        places = np.flatnonzero(ends < 1.0)
        return Limits(np.concatenate([units, -units])[places], ends[places]), places

    def _conflict(self) -> Integers:
        """A small group of limits that no parameter satisfies, each of which is needed for that; empty if one does."""
        limits, target = self.limits, np.eye(self.arms.dimension)[0]
        alone = np.flatnonzero(limits.ends < EMPTY)[:1]
        if alone.size:
            return alone
        np.maximum(limits.ends, -1.0, out=limits.ends)  # rounding put these below
        value, weights = multipliers(target, limits)
        if not value < EMPTY:
            return alone
        group = np.flatnonzero(weights > _SLACK * weights.max())
        for k in group[np.argsort(weights[group])]:
            fewer = group[group != k]
            group = fewer if multipliers(target, limits.some(fewer))[0] < EMPTY else group
        return group


def tighten(
    features: ArrayLike, bounds: MeanBounds, norm_high: float = 1.0, norm_low: float = 0.0, offset: ArrayLike = 0.0
) -> TightBounds:
    """The tightest bounds on each arm's mean over all parameters that satisfy every arm's bounds.

    The mean of an arm is ``offset + features . parameter``, so bounds on one arm restrict the means of all others. Each
    side of each arm is a second-order cone program, solved to about 1e-10 of the largest mean that the norm allows, and
    proved by its multipliers: no bound is too tight.

    Parameters
    ----------
    features
        One row for each arm.
    bounds
        Bounds on the means, offsets included.
    norm_high, norm_low
        Limits on the Euclidean norm of the parameter. A positive `norm_low` makes the set non-convex; that limit is
        then left out, which gives bounds that hold. They are exact where the parameter that was found is long enough.
    offset
        The known part of each arm's mean, in reward units.

    Raises
    ------
    BoundsError
        If no parameter satisfies all bounds; the message names a small group of arms that contradict each other.

    Notes
    -----
    Section 4 of the paper, "Tightening the mean bounds".

    Examples
    --------
    Arm a has a mean of at least 0.6, which leaves at most ``sqrt(1 - 0.6**2) = 0.8`` for the second entry of a
    parameter of norm 1, so for the mean of arm b:

    >>> import meanbounds as mb
    >>> bounds = mb.MeanBounds([0.6, 0.0, 0.0], [0.9, 1.0, 1.0], arms=["a", "b", "c"])
    >>> tight = tighten([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]], bounds)
    >>> tight.lower.round(6), tight.upper.round(6)
    (array([0.6 , 0.  , 0.36]), array([0.9, 0.8, 1. ]))
    """
    return FeasibleSet(LinearArms(features, bounds, offset=offset), norm_high).tightened(norm_low)


def _units(arms: LinearArms) -> Floats:
    """The features divided by their length, and any unit vector for an arm without features."""
    zero = arms.length == 0.0
    units: Floats = arms.features / np.where(zero, 1.0, arms.length)[:, None]
    units[zero, 0] = 1.0
    return units
