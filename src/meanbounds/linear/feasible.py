"""Arms with features: bounds on some arms imply bounds on the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanbounds.bounds import Arm, BoundsError, MeanBounds
from meanbounds.kernels.solvers.cone import Known, maximise_each, scaled
from meanbounds.linear.arms import LinearArms, as_features, check_norms
from meanbounds.support.checks import LARGEST, as_float, as_floats, as_mapping, shown
from meanbounds.support.progress import Progress
from meanbounds.support.rounding import rounding
from meanbounds.support.types import Booleans, Floats

__all__ = ["FeasibleSet", "TightBounds", "tighten"]

Extra = tuple[ArrayLike, ArrayLike, ArrayLike]

_SOLVED = 1e-7  # gap, relative to the norm, up to which a bound counts as exact
_OPERATIONS = 8  # roundings between an arm's true mean and its bounds less its offset, at most
_AT_ONCE = 128  # arms between two steps of the progress bar


class TightBounds(MeanBounds):
    """Bounds found by `tighten`, and for each side whether it is exact.

    Parameters
    ----------
    lower, upper, arms, low, high
        As for `MeanBounds`.
    lower_exact, upper_exact
        For each arm, whether the bound is the smallest (largest) mean that any feasible parameter gives. A bound that
        is not exact still holds: it belongs to a larger set.
    peaks
        For each arm a feasible parameter (except that ``norm_low`` may be violated) with the largest mean.

    Examples
    --------
    >>> import meanbounds as mb
    >>> tight = mb.tighten([[1.0, 0.0], [0.0, 1.0]], mb.MeanBounds([0.6, 0.0], [0.9, 1.0]), norm_high=1.0)
    >>> tight.upper.round(3), tight.upper_exact, tight.peaks.round(3)[1]
    (array([0.9, 0.8]), array([ True,  True]), array([0.6, 0.8]))
    """

    lower_exact: Booleans
    upper_exact: Booleans
    peaks: Floats

    def __init__(
        self,
        lower: ArrayLike,
        upper: ArrayLike,
        *,
        arms: Iterable[Arm] | None = None,
        low: ArrayLike = 0.0,
        high: ArrayLike = 1.0,
        lower_exact: ArrayLike = False,
        upper_exact: ArrayLike = False,
        peaks: ArrayLike | None = None,
    ) -> None:
        super().__init__(lower, upper, arms=arms, low=low, high=high)
        size = len(self)
        found = np.full((size, 0), np.nan) if peaks is None else as_floats("peaks", peaks, error=BoundsError)
        if found.ndim != 2 or len(found) != size:
            raise BoundsError(f"peaks need a row for each of {size} arms; got shape {found.shape}")
        for name, exact in (("lower_exact", lower_exact), ("upper_exact", upper_exact)):
            object.__setattr__(self, name, _flags(name, exact, size))
        object.__setattr__(self, "peaks", found)

    def to_dict(self) -> dict[str, Any]:
        """The bounds, which sides are exact, and the peaks, in plain lists that JSON can hold.

        Examples
        --------
        >>> import meanbounds as mb
        >>> sorted(mb.TightBounds([0.2], [0.6], upper_exact=True).to_dict())
        ['arms', 'high', 'low', 'lower', 'lower_exact', 'peaks', 'upper', 'upper_exact']
        """
        own = {name: getattr(self, name).tolist() for name in ("lower_exact", "upper_exact", "peaks")}
        return {**super().to_dict(), **own}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Make the bounds that `to_dict` described.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.TightBounds.from_dict({"lower": [0.2], "upper": [0.6], "upper_exact": [True]}).upper_exact
        array([ True])
        """
        data = as_mapping("saved bounds", data, error=BoundsError)
        own = {name: data[name] for name in ("lower_exact", "upper_exact", "peaks") if name in data}
        plain = MeanBounds.from_dict({name: value for name, value in data.items() if name not in own})
        return cls(plain.lower, plain.upper, arms=plain.arms, low=plain.low, high=plain.high, **own)


def _flags(name: str, exact: ArrayLike, size: int) -> Booleans:
    given = as_floats(name, exact, error=BoundsError)
    if given.shape not in ((), (size,)) or not np.all((given == 0.0) | (given == 1.0)):
        raise BoundsError(
            f"{name} must be True or False, one for all or one for each of {size} arms; got {shown(exact)}"
        )
    return np.broadcast_to(given == 1.0, size).copy()


class _Sides(NamedTuple):
    lower: Floats
    upper: Floats
    lower_exact: Booleans
    upper_exact: Booleans
    peaks: Floats


class FeasibleSet:
    """All parameters that satisfy every arm's bounds, the limits on the norm, and extra linear constraints.

    Use it to bound the mean of any arm with features, also of one that is not among the arms.

    Parameters
    ----------
    arms
        Features, bounds and offsets.
    norm_high, norm_low
        Limits on the Euclidean norm of the parameter.
    extra
        ``(matrix, low, high)`` for ``low <= matrix @ parameter <= high``; a box is ``(np.eye(d), low, high)``.

    Raises
    ------
    BoundsError
        If there is no such parameter; the message names a small group of arms that contradict each other.

    Examples
    --------
    >>> import meanbounds as mb
    >>> arms = mb.LinearArms([[1.0, 0.0], [0.0, 1.0]], mb.MeanBounds([0.6, 0.1], [0.9, 1.0]))
    >>> lower, upper = mb.FeasibleSet(arms, norm_high=1.0).bound([0.0, 1.0])
    >>> round(lower, 6), round(upper, 6)  # 0.6^2 + 0.8^2 = 1
    (0.1, 0.8)

    Two arms whose means cannot both be as large as the bounds say:

    >>> arms = mb.LinearArms([[1.0, 0.0], [0.0, 1.0]], mb.MeanBounds([0.8, 0.7], [0.9, 1.0]))
    >>> mb.FeasibleSet(arms, norm_high=1.0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    meanbounds.bounds.BoundsError: no parameter of norm at most 1.0 satisfies all bounds: arm ...
    """

    def __init__(
        self, arms: LinearArms, *, norm_high: float, norm_low: float = 0.0, extra: Extra | None = None
    ) -> None:
        if not isinstance(arms, LinearArms):
            raise TypeError(f"a feasible set needs mb.LinearArms(features, bounds); got {shown(arms)}")
        rows, low, high = _extra(extra, arms.dimension)
        bounds = arms.bounds
        self.arms, (self.norm_high, self.norm_low) = arms, check_norms(norm_high, norm_low)
        self._names = [f"arm {arm!r}" for arm in bounds.arms] + [f"extra constraint {k}" for k in range(len(rows))]
        self._shift = np.concatenate([arms.offset, np.zeros(len(rows))])
        matrix = np.vstack([arms.features, rows])
        given = [np.concatenate(ends) for ends in ((bounds.lower, low), (bounds.upper, high))]
        # Means are sums of an offset and a product: what rounding took from either must not exclude the truth.
        lower, upper = (
            side - self._shift + sign * rounding(side, self._shift, operations=_OPERATIONS)
            for sign, side in zip((-1.0, 1.0), given, strict=True)
        )
        for k in np.flatnonzero(~matrix.any(axis=1) & ((lower > 0.0) | (upper < 0.0))):
            raise BoundsError(
                f"{self._names[k]}: all its features are zero, so its mean is {self._shift[k]}; its bounds "
                f"[{given[0][k]}, {given[1][k]}] exclude that"
            )
        self.rows = np.flatnonzero(matrix.any(axis=1))
        self.known: Known = scaled(matrix[self.rows], lower[self.rows], upper[self.rows], self.norm_high)
        conflict = self._conflict()
        if conflict:
            raise BoundsError(
                f"no parameter of norm at most {self.norm_high} satisfies all bounds: {'; '.join(conflict)} contradict "
                f"each other. At least one of these does not hold, or norm_high is too small"
                if len(conflict) > 1
                else f"no parameter of norm at most {self.norm_high} gives {conflict[0]}; the bound does not hold, or "
                f"norm_high is too small"
            )

    def bound(self, features: ArrayLike, offset: float = 0.0) -> tuple[float, float]:
        """The smallest and largest mean that an arm with these features can have, whether it is among the arms or not.

        Parameters
        ----------
        features
            One number for each feature.
        offset
            The known part of its mean, in reward units.

        Examples
        --------
        >>> import meanbounds as mb
        >>> arms = mb.LinearArms([[1.0, 0.0], [0.0, 1.0]], mb.MeanBounds([0.6, 0.1], [0.9, 1.0]))
        >>> lower, upper = mb.FeasibleSet(arms, norm_high=2.0).bound([1.0, 1.0], offset=-0.5)
        >>> round(lower, 6), round(upper, 6)  # from 0.6 + 0.1 - 0.5 to 0.9 + 1.0 - 0.5
        (0.2, 1.4)
        """
        rows = as_features(np.atleast_2d(as_floats("features", features)), [0])
        if rows.shape[1] != self.arms.dimension:
            raise ValueError(f"features must be {self.arms.dimension} numbers, as for the arms; got {shown(features)}")
        known = as_float("offset", offset)
        if not np.isfinite(known):
            raise ValueError(f"offset must be a finite number; got {offset}")
        sides = self.sides(rows)
        return float(known + sides.lower[0]), float(known + sides.upper[0])

    def tightened(self, progress: bool | None = None) -> TightBounds:
        """The tightest bounds on the arms that follow from all bounds together; see `tighten`.

        Parameters
        ----------
        progress
            True shows a progress bar, False does not; by default it is shown on a terminal, after two seconds.

        Examples
        --------
        >>> import meanbounds as mb
        >>> arms = mb.LinearArms([[1.0, 0.0], [0.0, 1.0]], mb.MeanBounds([0.6, 0.1], [0.9, 1.0]))
        >>> mb.FeasibleSet(arms, norm_high=1.0).tightened().upper.round(6)
        array([0.9, 0.8])
        """
        arms, bounds, parts = self.arms, self.arms.bounds, []
        with Progress(len(bounds), "tightening", progress) as bar:
            for first in range(0, len(bounds), _AT_ONCE):
                some = arms.features[first : first + _AT_ONCE]
                parts.append(self.sides(some))
                bar.advance(len(some))
        sides = _Sides(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
        lower = np.clip(arms.offset + sides.lower, bounds.lower, bounds.upper)
        upper = np.clip(arms.offset + sides.upper, lower, bounds.upper)
        return TightBounds(
            lower,
            upper,
            arms=bounds.arms,
            low=bounds.low,
            high=bounds.high,
            lower_exact=sides.lower_exact,
            upper_exact=sides.upper_exact,
            peaks=sides.peaks,
        )

    def sides(self, features: Floats) -> _Sides:
        """The bounds on ``features . parameter`` for each row of features, and whether each is exact.

        Offsets are left out here; `bound` and `tightened` add them.

        Examples
        --------
        >>> import numpy as np
        >>> import meanbounds as mb
        >>> arms = mb.LinearArms([[1.0, 0.0], [0.0, 1.0]], mb.MeanBounds([0.6, 0.1], [0.9, 1.0]))
        >>> sides = mb.FeasibleSet(arms, norm_high=1.0).sides(np.array([[0.0, 2.0]]))
        >>> sides.upper.round(6), sides.upper_exact
        (array([1.6]), array([ True]))
        """
        length = np.linalg.norm(features, axis=1)
        units = features / np.where(length > 0.0, length, 1.0)[:, None]
        reach = length * self.norm_high
        (top, top_gap, top_point, _), (bottom, bottom_gap, bottom_point, _) = (
            maximise_each(np.ascontiguousarray(sign * units), self.known) for sign in (1.0, -1.0)
        )
        top, bottom = np.minimum(top, 1.0), np.maximum(-bottom, -1.0)
        lower, upper = reach * np.minimum(top, bottom), reach * np.maximum(top, bottom)
        reaches = [
            (np.abs(gap) < _SOLVED)
            & np.array([self._long_enough(point, unit) for point, unit in zip(points, units, strict=True)])
            for gap, points in ((bottom_gap, bottom_point), (top_gap, top_point))
        ]
        return _Sides(lower, upper, reaches[0], reaches[1], self.norm_high * top_point)

    def _long_enough(self, point: Floats, target: Floats) -> bool:
        """Whether a parameter as good as `point` has norm at least `norm_low`.

        From the point one can walk along any direction that changes neither the target nor an active limit, as far as
        the next limit; the norm grows in one direction or its opposite.
        """
        least, known = self.norm_low / self.norm_high - 1e-9, self.known
        for _ in range(point.size + 1):
            if np.linalg.norm(point) >= least:
                return True
            values = known.rows @ point
            room = np.minimum(known.upper - values, values - known.lower)
            fixed = np.vstack([target[None], known.rows[room < 1e-7]])
            _, sizes, directions = np.linalg.svd(fixed)
            free = directions[np.sum(sizes > 1e-9) :]
            if not len(free):
                return False
            along = free[0] if free[0] @ point >= 0.0 else -free[0]
            slope, ahead = known.rows @ along, point @ along
            with np.errstate(divide="ignore", invalid="ignore"):
                steps = np.where(slope > 0.0, (known.upper - values) / slope, (known.lower - values) / slope)
            steps = steps[np.abs(slope) > 1e-9]
            to_ball = -ahead + np.sqrt(max(ahead**2 + 1.0 - point @ point, 0.0))
            point = point + along * min(to_ball, steps.min(initial=np.inf))
        return False

    def _conflict(self) -> list[str]:
        """A small group of limits that no parameter satisfies, in words; empty if all can be satisfied."""
        weights = _infeasible(self.known)
        if weights is None:
            return []
        group = np.flatnonzero(np.abs(weights) > 1e-9 * np.abs(weights).max())
        for k in group[np.argsort(np.abs(weights[group]))]:
            fewer = group[group != k]
            if fewer.size and _infeasible(_some(self.known, fewer)) is not None:
                group = fewer
        final = _infeasible(_some(self.known, group))
        signs = weights[group] if final is None else final
        return [self._in_words(int(self.rows[k]), sign > 0.0) for k, sign in zip(group, signs, strict=True)]

    def _in_words(self, row: int, above: bool) -> str:
        limits, arms = self.known.upper if above else self.known.lower, self.arms
        place = int(np.flatnonzero(self.rows == row)[0])
        if row < len(arms.bounds):
            value = arms.bounds.upper[row] if above else arms.bounds.lower[row]
            return f"{self._names[row]} with mean at {'most' if above else 'least'} {value:g}"
        return (
            f"{self._names[row]}, {'at most' if above else 'at least'} {limits[place] * self.norm_high:g} in its units"
        )


def _extra(extra: Extra | None, dimension: int) -> tuple[Floats, Floats, Floats]:
    if extra is None:
        return np.zeros((0, dimension)), np.zeros(0), np.zeros(0)
    try:
        matrix, low, high = extra
        rows = np.atleast_2d(as_floats("matrix", matrix))
        ends = [np.broadcast_to(as_floats("ends", end), len(rows)) for end in (low, high)]
    except (TypeError, ValueError) as error:
        raise ValueError(f"extra must be (matrix, low, high), a row for each constraint; got {shown(extra)}") from error
    if rows.ndim != 2 or rows.shape[1] != dimension or not np.all(np.abs(rows) < LARGEST):
        raise ValueError(f"extra: the matrix must have {dimension} finite columns; got shape {rows.shape}")
    for k in np.flatnonzero(~((ends[0] <= ends[1]) & (ends[0] < np.inf) & (ends[1] > -np.inf))):
        raise ValueError(f"extra constraint {k}: nothing is between low={ends[0][k]} and high={ends[1][k]}")
    return rows, ends[0], ends[1]


def _some(known: Known, rows: NDArray[np.intp]) -> Known:
    return known._replace(rows=known.rows[rows], lower=known.lower[rows], upper=known.upper[rows])


def _infeasible(known: Known) -> Floats | None:
    """Multipliers that prove that no parameter satisfies all limits; None if some parameter does."""
    target = np.zeros((1, known.rows.shape[1]))
    target[0, 0] = 1.0
    values, _, _, weights = maximise_each(target, known)
    return weights if values[0] < -1.0 - 1e-9 else None


def tighten(
    features: ArrayLike,
    bounds: MeanBounds,
    *,
    norm_high: float,
    norm_low: float = 0.0,
    extra: Extra | None = None,
    offset: ArrayLike = 0.0,
    progress: bool | None = None,
) -> TightBounds:
    """The tightest bounds on each arm's mean over all parameters that satisfy every arm's bounds.

    The mean of an arm is ``offset + features . parameter``, so bounds on one arm restrict the means of all others. Each
    side of each arm is a second-order cone program, solved to about 1e-9 of the norm; rounding never makes a bound too
    tight. If the feasible set itself is thinner than that, the bounds may be less tight.

    Parameters
    ----------
    features
        One row for each arm.
    bounds
        Bounds on the means, offsets included.
    norm_high, norm_low
        Limits on the Euclidean norm of the parameter. A positive ``norm_low`` makes the set non-convex; that limit is
        then left out, which gives bounds that hold, and the result says which of them are exact all the same. If no
        parameter that satisfies the bounds is as long as ``norm_low``, this goes unnoticed.
    extra
        ``(matrix, low, high)`` for ``low <= matrix @ parameter <= high``; a box is ``(np.eye(d), low, high)``.
    offset
        The known part of each arm's mean, in reward units.
    progress
        True shows a progress bar, False does not; by default it is shown on a terminal, after two seconds.

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
    >>> tight = mb.tighten([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]], bounds, norm_high=1.0)
    >>> tight.lower.round(6), tight.upper.round(6)
    (array([0.6 , 0.  , 0.36]), array([0.9, 0.8, 1. ]))
    >>> tight.upper_exact
    array([ True,  True,  True])
    """
    return FeasibleSet(
        LinearArms(features, bounds, offset=offset), norm_high=norm_high, norm_low=norm_low, extra=extra
    ).tightened(progress)
