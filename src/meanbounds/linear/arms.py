"""Arms with features, and the bounds on their means."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.bounds import MeanBounds, check_bounds
from meanbounds.support.checks import LARGEST, as_float, as_floats, shown
from meanbounds.support.types import Floats

__all__ = ["LinearArms", "check_norm"]


@dataclass(frozen=True, init=False, eq=False)
class LinearArms:
    """Arms whose means are ``offset + features . parameter``, with one parameter for all.

    Parameters
    ----------
    features
        One row for each arm, one column for each feature.
    bounds
        Bounds on the means, offsets included; names and reward ranges come from here.
    offset
        The known part of each arm's mean, in reward units: one number or one for each arm.

    Examples
    --------
    >>> import meanbounds as mb
    >>> LinearArms([[1.0, 0.0], [0.6, 0.8]], mb.MeanBounds.vacuous(2)).length
    array([1., 1.])
    >>> LinearArms([[1, 0], [0, float("nan")]], mb.MeanBounds.vacuous(["a", "b"]))
    Traceback (most recent call last):
    ValueError: arm 'b': its features [0.0, nan] are not all finite numbers
    """

    features: Floats
    bounds: MeanBounds
    offset: Floats

    def __init__(self, features: ArrayLike, bounds: MeanBounds, *, offset: ArrayLike = 0.0) -> None:
        check_bounds(bounds)
        size, known = len(bounds), as_floats("offset", offset)
        rows = np.array(as_floats("features", features), order="C")
        if rows.ndim != 2 or rows.shape[0] != size or rows.shape[1] == 0:
            raise ValueError(f"features must have a row of numbers for each of {size} arms; got shape {rows.shape}")
        for k in np.flatnonzero(~np.all(np.abs(rows) < LARGEST, axis=1)):  # the norm of longer ones would overflow
            raise ValueError(f"arm {bounds.arms[k]!r}: its features {rows[k].tolist()} are not all finite numbers")
        if known.shape not in ((), (size,)) or not np.all(np.abs(known) < LARGEST):
            raise ValueError(f"offset must be one finite number, or one for each of {size} arms; got {shown(offset)}")
        object.__setattr__(self, "features", rows)
        object.__setattr__(self, "bounds", bounds)
        object.__setattr__(self, "offset", np.broadcast_to(known, size).copy())

    @property
    def dimension(self) -> int:
        """The number of features of an arm."""
        return int(self.features.shape[1])

    @cached_property
    def length(self) -> Floats:
        """The Euclidean norm of each arm's features."""
        length: Floats = np.linalg.norm(self.features, axis=1)
        return length


def check_norm(norm_high: float) -> float:
    """Check the upper limit on the norm of the shared parameter and return it as a float."""
    high = as_float("norm_high", norm_high)
    if not 1.0 / LARGEST <= high < LARGEST:
        raise ValueError(f"norm_high must be a positive number below {LARGEST:g}; got {shown(norm_high)}")
    return high
