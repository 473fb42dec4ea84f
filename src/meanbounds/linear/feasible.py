"""Which parameters the bounds allow, and the bounds on each arm that follow from all bounds together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.bounds import Arm, BoundsError, MeanBounds
from meanbounds.linear.arms import LinearArms, check_norms
from meanbounds.linear.cone import EMPTY, Limits, Maxima, maximise, multipliers
from meanbounds.support.checks import as_floats, as_mapping, shown
from meanbounds.support.types import Booleans, Floats, Integers

__all__ = ["Extent", "FeasibleSet", "TightBounds", "restrict_cone", "tighten"]

_EXACT = 1e-8  # gap, relative to the largest mean that the norm allows, up to which a bound counts as exact
_SLACK = 1e-9  # by how much a bound must be beyond what the others allow to be left out
_EPSILON = 8.0 * float(np.finfo(np.float64).eps)  # roundings between an arm's true mean and its bounds less its offset


class TightBounds(MeanBounds):
    """Bounds found by `tighten`, and for each side whether it is exact.

    Parameters
    ----------
    lower, upper, arms, low, high
        As for `MeanBounds`.
    exact_lower, exact_upper
        For each arm, whether the bound is the smallest (largest) mean that any feasible parameter gives. A bound that
        is not exact still holds: it belongs to a larger set.

    Examples
    --------
    >>> import meanbounds as mb
    >>> tight = tighten([[1.0, 0.0], [0.0, 1.0]], mb.MeanBounds([0.6, 0.0], [0.9, 1.0]))
    >>> tight.upper.round(6), tight.exact_upper
    (array([0.9, 0.8]), array([ True,  True]))
    """

    exact_lower: Booleans
    exact_upper: Booleans

    def __init__(
        self,
        lower: ArrayLike,
        upper: ArrayLike,
        *,
        arms: Iterable[Arm] | None = None,
        low: ArrayLike = 0.0,
        high: ArrayLike = 1.0,
        exact_lower: ArrayLike = False,
        exact_upper: ArrayLike = False,
    ) -> None:
        super().__init__(lower, upper, arms=arms, low=low, high=high)
        for name, given in (("exact_lower", exact_lower), ("exact_upper", exact_upper)):
            exact = np.asarray(given)
            if exact.dtype != np.bool_ or exact.shape not in ((), (len(self),)):
                raise BoundsError(f"{name} must be True or False, for all or for each of {len(self)} arms; got {exact}")
            object.__setattr__(self, name, np.broadcast_to(exact, len(self)))

    def to_dict(self) -> dict[str, Any]:
        """The bounds and which sides are exact, in plain lists that JSON can hold."""
        exact = {name: getattr(self, name).tolist() for name in ("exact_lower", "exact_upper")}
        return {**super().to_dict(), **exact}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Make the bounds that `to_dict` described."""
        data = dict(as_mapping("saved bounds", data, error=BoundsError))
        exact = {name: data.pop(name) for name in ("exact_lower", "exact_upper") if name in data}
        plain = MeanBounds.from_dict(data)
        return cls(plain.lower, plain.upper, arms=plain.arms, low=plain.low, high=plain.high, **exact)


class Extent(NamedTuple):
    """The means that some arms can have over a feasible set: an entry or a row for each arm."""

    features: Floats
    offset: Floats
    lower: Floats  # smallest mean, offset included: never above the true one
    upper: Floats  # largest mean, offset included: never below the true one
    exact_lower: Booleans
    exact_upper: Booleans
    peaks: Floats  # parameters that satisfy all bounds (`norm_low` aside) at which the mean is largest


class FeasibleSet:
    """All parameters that satisfy every arm's bounds and have a norm of at most `norm_high`.

    Use it to bound the mean of any arm with features, also of one that is not among the arms.

    Parameters
    ----------
    arms
        Features, bounds and offsets.
    norm_high, norm_low
        Limits on the Euclidean norm of the parameter. A positive `norm_low` would make the set non-convex; it is left
        out of the programs, which gives bounds that hold, and these say which of them are exact all the same.

    Raises
    ------
    BoundsError
        If there is no such parameter; the message names a small group of arms that contradict each other.

    Examples
    --------
    >>> import meanbounds as mb
    >>> arms = LinearArms([[1.0, 0.0], [0.0, 1.0]], mb.MeanBounds([0.6, 0.1], [0.9, 1.0]))
    >>> feasible = FeasibleSet(arms, norm_high=1.0)
    >>> feasible.tightened().upper.round(6)  # 0.6^2 + 0.8^2 = 1
    array([0.9, 0.8])
    >>> new = feasible.extent([[0.6, 0.8]], offset=-0.5)
    >>> new.lower.round(6), new.upper.round(6)
    (array([-0.06]), array([0.5]))

    Two arms whose means cannot both be as large as the bounds say:

    >>> arms = LinearArms([[1.0, 0.0], [0.0, 1.0]], mb.MeanBounds([0.8, 0.7], [0.9, 1.0]))
    >>> FeasibleSet(arms, norm_high=1.0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    meanbounds.bounds.BoundsError: no parameter of norm at most 1.0 satisfies all bounds: arm 0 with mean at least ...
    """

    def __init__(self, arms: LinearArms, norm_high: float = 1.0, norm_low: float = 0.0) -> None:
        if not isinstance(arms, LinearArms):
            raise TypeError(f"a feasible set needs LinearArms(features, bounds); got {shown(arms)}")
        self.arms, (self.norm_high, self.norm_low) = arms, check_norms(norm_high, norm_low)
        self.limits, self._places = self._as_limits()
        conflict = self._conflict()
        if len(conflict) == 1:
            raise BoundsError(
                f"no parameter of norm at most {self.norm_high} gives {conflict[0]}; the bound does not hold, or "
                f"norm_high is too small"
            )
        if conflict:
            raise BoundsError(
                f"no parameter of norm at most {self.norm_high} satisfies all bounds: {'; '.join(conflict)} contradict "
                f"each other. At least one of these does not hold, or norm_high is too small"
            )

    def extent(self, features: ArrayLike, offset: ArrayLike = 0.0) -> Extent:
        """The smallest and largest mean of arms with these features, whether they are among the set's arms or not.

        Parameters
        ----------
        features
            One row for each arm.
        offset
            The known part of each mean, in reward units: one number or one for each arm.
        """
        given = as_floats("features", features)
        some = LinearArms(given, MeanBounds.vacuous(max(1, len(np.atleast_1d(given)))), offset=offset)
        if some.dimension != self.arms.dimension:
            raise ValueError(f"features must have {self.arms.dimension} columns, as for the arms; got {some.dimension}")
        return self._extent(some, self._maxima(some))

    @cached_property
    def own(self) -> Extent:
        """The extent of the set's own arms, solved once; never wider than their bounds."""
        bounds, found = self.arms.bounds, self._extent(self.arms, self._solved)
        lower = np.clip(found.lower, bounds.lower, bounds.upper)
        return found._replace(lower=lower, upper=np.clip(found.upper, lower, bounds.upper))

    @cached_property
    def needed(self) -> Limits:
        """The limits without those that the others imply, by what `own` found; both describe the same set.

        If no point of a convex set attains some limits, these can be left out together.
        """
        kept = self._solved.value[self._places] > self.limits.ends - _SLACK
        return Limits(self.limits.rows[kept], self.limits.ends[kept])

    def tightened(self) -> TightBounds:
        """The tightest bounds on the arms that follow from all bounds together; see `tighten`."""
        bounds, own = self.arms.bounds, self.own
        return TightBounds(
            own.lower,
            own.upper,
            arms=bounds.arms,
            low=bounds.low,
            high=bounds.high,
            exact_lower=own.exact_lower,
            exact_upper=own.exact_upper,
        )

    @cached_property
    def _solved(self) -> Maxima:
        return self._maxima(self.arms)

    def _maxima(self, arms: LinearArms) -> Maxima:
        """The largest and then the smallest mean of each arm, as maxima over the unit ball."""
        units = _units(arms)
        return maximise(np.concatenate([units, -units]), self.limits)

    def _extent(self, arms: LinearArms, found: Maxima) -> Extent:
        units, reach, size = _units(arms), self.norm_high * arms.length, len(arms.bounds)
        top, bottom = np.minimum(found.value[:size], 1.0), np.maximum(-found.value[size:], -1.0)
        rounding = _EPSILON * np.abs(arms.offset)
        exact = (found.gap < _EXACT) & self._long_enough(np.concatenate([units, -units]), found.point)
        return Extent(
            features=arms.features,
            offset=arms.offset,
            lower=arms.offset + reach * np.minimum(top, bottom) - rounding,
            upper=arms.offset + reach * np.maximum(top, bottom) + rounding,
            exact_lower=exact[size:],
            exact_upper=exact[:size],
            peaks=self.norm_high * found.point[:size],
        )

    def _as_limits(self) -> tuple[Limits, Integers]:
        """The bounds in units in which the parameter has norm at most 1, without those that the norm implies.

        The places say where a limit belongs among all upper bounds, followed by all lower ones.
        """
        arms, bounds = self.arms, self.arms.bounds
        reach = self.norm_high * arms.length
        # Means are sums of an offset and a product: what rounding took from either must not exclude the truth.
        above, below = (
            sign * (side - arms.offset) + _EPSILON * np.maximum(np.abs(side), np.abs(arms.offset))
            for sign, side in ((1.0, bounds.upper), (-1.0, bounds.lower))
        )
        for k in np.flatnonzero((reach == 0.0) & (np.minimum(above, below) < 0.0)):
            raise BoundsError(
                f"arm {bounds.arms[k]!r}: all its features are zero, so its mean is {arms.offset[k]:g}; its bounds "
                f"[{bounds.lower[k]:g}, {bounds.upper[k]:g}] exclude that"
            )
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ends = np.concatenate([above / reach, below / reach])
        places = np.flatnonzero((ends < 1.0) & np.tile(reach > 0.0, 2))
        units = _units(arms)
        return Limits(np.concatenate([units, -units])[places], ends[places]), places

    def _conflict(self) -> list[str]:
        """A small group of bounds that no parameter satisfies, in words; empty if all can be satisfied."""
        limits = self.limits
        alone = np.flatnonzero(limits.ends < EMPTY)[:1]
        if alone.size:
            return [self._in_words(int(alone[0]))]
        np.maximum(limits.ends, -1.0, out=limits.ends)  # rounding put them below
        target = np.eye(self.arms.dimension)[0]
        value, weights = multipliers(target, limits)
        if not value < EMPTY:
            return []
        group = np.flatnonzero(weights > _SLACK * weights.max())
        for k in group[np.argsort(weights[group])]:
            fewer = group[group != k]
            if multipliers(target, Limits(limits.rows[fewer], limits.ends[fewer]))[0] < EMPTY:
                group = fewer
        return [self._in_words(int(k)) for k in group]

    def _in_words(self, limit: int) -> str:
        bounds, (side, arm) = self.arms.bounds, divmod(int(self._places[limit]), len(self.arms.bounds))
        end = f"least {bounds.lower[arm]:g}" if side else f"most {bounds.upper[arm]:g}"
        return f"arm {bounds.arms[arm]!r} with mean at {end}"

    def _long_enough(self, targets: Floats, points: Floats) -> Booleans:
        """For each target, whether some parameter as good as its point has a norm of at least `norm_low`.

        From the point one can walk along any direction that changes neither the target nor an attained limit, as far as
        the next limit; the norm grows in one direction or its opposite.
        """
        least = self.norm_low / self.norm_high - _EXACT
        long = np.linalg.norm(points, axis=1) >= least
        for k in np.flatnonzero(~long):
            point = points[k]
            for _ in range(point.size + 1):
                room = self.limits.ends - self.limits.rows @ point
                _, sizes, directions = np.linalg.svd(np.vstack([targets[k], self.limits.rows[room < 1e-7]]))
                free = directions[np.sum(sizes > 1e-9) :]
                if long[k] or not len(free):
                    break
                along = free[0] if free[0] @ point >= 0.0 else -free[0]
                slope, ahead = self.limits.rows @ along, point @ along
                steps = room[slope > 1e-9] / slope[slope > 1e-9]
                point = point + along * min(np.sqrt(max(ahead**2 + 1.0 - point @ point, 0.0)) - ahead, *steps)
                long[k] = np.linalg.norm(point) >= least
        return long


def tighten(
    features: ArrayLike,
    bounds: MeanBounds,
    norm_high: float = 1.0,
    norm_low: float = 0.0,
    offset: ArrayLike = 0.0,
) -> TightBounds:
    """The tightest bounds on each arm's mean over all parameters that satisfy every arm's bounds.

    The mean of an arm is ``offset + features . parameter``, so bounds on one arm restrict the means of all others. Each
    side of each arm is a second-order cone program, solved to about 1e-10 of the largest mean that the norm allows.
    Each bound is proved by the multipliers of its program, so it is never too tight.

    Parameters
    ----------
    features
        One row for each arm.
    bounds
        Bounds on the means, offsets included.
    norm_high, norm_low
        Limits on the Euclidean norm of the parameter. A positive `norm_low` makes the set non-convex; that limit is
        then left out, which gives bounds that hold, and the result says which of them are exact all the same. If no
        parameter that satisfies the bounds is as long as `norm_low`, this goes unnoticed.
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
    >>> tight.exact_upper
    array([ True,  True,  True])
    """
    return FeasibleSet(LinearArms(features, bounds, offset=offset), norm_high, norm_low).tightened()


def restrict_cone(
    features: Floats, offset: Floats, lower: Floats, norm_high: float = 1.0, offered: Booleans | None = None
) -> tuple[Booleans, Floats, Floats]:
    """Which arms on offer can be best, and bounds on all means, by the most promising arm's bound and the norm alone.

    This is the cone of Algorithm 1, for pools that are too large to tighten. Let b be the arm on offer with the largest
    lower bound and alpha the largest angle between b and the parameter that this bound allows. An arm at the angle phi
    from b then has a mean between ``offset + ||a|| M cos(min(phi + alpha, pi))`` and
    ``offset + ||a|| M cos(max(phi - alpha, 0))``, and both ends are attained. An arm is kept if the larger end is not
    below the largest lower bound.

    Parameters
    ----------
    features, offset
        Of the arms, shapes (arms, d) and (arms,).
    lower
        Lower bounds on the means, offsets included, shape (rows, arms).
    norm_high
        Upper limit on the norm of the parameter.
    offered
        Which arms are on offer, shape (rows, arms); all by default.

    Returns
    -------
    kept, least, most
        Arrays (rows, arms): the arms on offer that are kept, and the ends of each arm's mean.

    Notes
    -----
    Section 4 of the paper, "Restricting instantaneous action sets". Differs from the paper: arms may have any length
    and known offsets, angles are capped at pi, and the least mean of an arm is the attained one. The printed
    ``m cos(3 alpha)`` is smaller, and holds only while 3 alpha is at most pi / 2.

    Examples
    --------
    >>> features = np.array([[1.0, 0.0], [0.8, 0.6], [-1.0, 0.0]])
    >>> kept, least, most = restrict_cone(features, np.zeros(3), np.array([[0.8, -1.0, -1.0]]))
    >>> kept, least.round(6), most.round(6)
    (array([[ True,  True, False]]), array([[ 0.8 ,  0.28, -1.  ]]), array([[ 1. ,  1. , -0.8]]))
    """
    length = np.linalg.norm(features, axis=1)
    units, reach = features / np.where(length > 0.0, length, 1.0)[:, None], norm_high * length
    promised = lower if offered is None else np.where(offered, lower, -np.inf)
    best = promised.argmax(axis=1)
    floor = promised[np.arange(len(best)), best][:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        near = (floor - offset[best][:, None]) / reach[best][:, None]
    near = np.clip(np.where(reach[best][:, None] > 0.0, near, -1.0), -1.0, 1.0)  # cos(alpha)
    angle = np.clip(units[best] @ units.T, -1.0, 1.0)  # cos(phi)
    across = np.sqrt((1.0 - angle**2) * (1.0 - near**2))
    rounding = 1e-12 * (reach + np.abs(offset))
    least = offset + reach * np.where(angle <= -near, -1.0, angle * near - across) - rounding
    most = offset + reach * np.where(angle >= near, 1.0, angle * near + across) + rounding
    kept = most >= floor
    return (kept if offered is None else kept & offered), least, most


def _units(arms: LinearArms) -> Floats:
    """The features divided by their length, and any unit vector for an arm without features."""
    zero = arms.length == 0.0
    units: Floats = arms.features / np.where(zero, 1.0, arms.length)[:, None]
    units[zero, 0] = 1.0
    return units
