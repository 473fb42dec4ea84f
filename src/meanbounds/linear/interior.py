"""The shape of a feasible set: a point inside it, how wide it is in each direction, and where it is flat."""

from __future__ import annotations

import numpy as np

from meanbounds.kernels.solvers.cone import Known, maximise_each
from meanbounds.linear.feasible import FeasibleSet
from meanbounds.support.types import Floats

__all__ = ["sampling_limits"]

_FLAT = 1e-7  # of the norm: a set that is no wider than this in a direction counts as flat there


def sampling_limits(feasible: FeasibleSet) -> Known:
    """A feasible set in the form in which `meanbounds.kernels.linear.sample` walks through it.

    The rows are those limits that a walk can meet, as columns; the centre is a point inside, if need be one that is
    as long as ``norm_low``. The shape has the inverse of the set's spread, d x d, and below it a basis of the
    directions in which the set is not flat, if it is flat in some (zeros for a single point). Units: as in `Known`.

    Parameters
    ----------
    feasible
        The set.

    Examples
    --------
    >>> import meanbounds as mb
    >>> arms = mb.LinearArms([[1.0, 0.0], [0.0, 1.0]], mb.MeanBounds([0.2, 0.5], [0.6, 0.5]))
    >>> limits = sampling_limits(mb.FeasibleSet(arms, norm_high=1.0))
    >>> bool(0.2 < limits.centre[0] < 0.6), round(float(limits.centre[1]), 6)
    (True, 0.5)
    >>> limits.rows.shape, limits.shape.shape  # flat in one direction
    ((2, 1), (3, 2))
    """
    known = feasible.known
    points = _corners(known)
    centre = points.mean(axis=0)
    _, spreads, axes = np.linalg.svd((points - centre) / np.sqrt(len(points)))
    wide = np.array([_width(points, axis) > _FLAT for axis in axes])
    inverse = np.where(wide, np.maximum(spreads, _FLAT), _FLAT) ** -2.0
    shape = (axes.T * inverse) @ axes
    if not wide.all():
        shape = np.vstack([shape, axes[wide] if wide.any() else np.zeros((1, len(axes)))])
    slopes = np.abs(known.rows @ axes[wide].T).max(axis=1, initial=0.0)
    met = (np.isfinite(known.lower) | np.isfinite(known.upper)) & (slopes > _FLAT)
    centre = _as_long_as(centre, points, feasible.norm_low / feasible.norm_high)
    columns = np.ascontiguousarray(known.rows[met].T)
    return Known(columns, known.lower[met], known.upper[met], centre, np.ascontiguousarray(shape))


def _corners(known: Known) -> Floats:
    """Points at which the set ends, in enough directions that they are flat only where the set is."""
    d = known.rows.shape[1]
    points = _ends(known, np.eye(d))
    for _ in range(d + 1):
        axes = np.linalg.svd(points - points.mean(axis=0))[2]
        more = _ends(known, axes)
        found = [_width(more, axis) > 2.0 * _width(points, axis) + _FLAT for axis in axes]
        points = np.vstack([points, more])
        if not any(found):
            break
    return points


def _ends(known: Known, axes: Floats) -> Floats:
    """The points of the set that are farthest in these directions and in their opposites."""
    return np.vstack([maximise_each(np.ascontiguousarray(sign * axes), known)[2] for sign in (1.0, -1.0)])


def _width(points: Floats, axis: Floats) -> float:
    """How far apart some points are in a direction."""
    return float(np.ptp(points @ axis))


def _as_long_as(centre: Floats, points: Floats, least: float) -> Floats:
    """The centre, moved towards the longest of the points until it has a norm of `least`, if that point has."""
    far = points[np.argmax(np.linalg.norm(points, axis=1))]
    size = np.linalg.norm(centre)
    if size >= least or np.linalg.norm(far) < least:
        return centre
    along = far - centre
    a, b, c = along @ along, 2.0 * centre @ along, centre @ centre - least**2
    share = (-b + np.sqrt(max(b * b - 4.0 * a * c, 0.0))) / (2.0 * a)
    moved: Floats = centre + min(1.0, share * (1.0 + 1e-9)) * along
    return moved
