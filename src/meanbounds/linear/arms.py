"""Arms with features, and what is known of their means."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.bounds import Arm, MeanBounds
from meanbounds.support.types import Floats

__all__ = ["LinearArms", "as_features"]


@dataclass(frozen=True, eq=False)
class LinearArms:
    """Arms whose means are ``offset + features . parameter``, with one parameter for all.

    Parameters
    ----------
    features
        One row for each arm.
    bounds
        Bounds on the means, offsets included; names and reward ranges come from here.
    offset
        Known part of each arm's mean, one number or one for each.

    Examples
    --------
    >>> import meanbounds as mb
    >>> arms = mb.LinearArms([[1.0, 0.0], [0.6, 0.8]], mb.MeanBounds.vacuous(2))
    >>> arms.dimension, arms.length
    (2, array([1., 1.]))
    """

    features: Floats
    bounds: MeanBounds
    offset: Floats

    def __init__(self, features: ArrayLike, bounds: MeanBounds, *, offset: ArrayLike = 0.0) -> None:
        rows = as_features(features, bounds.arms)
        known = np.asarray(offset, dtype=np.float64)
        if known.ndim > 1 or (known.ndim and known.size != len(bounds)) or not np.all(np.isfinite(known)):
            raise ValueError(f"offset must be one finite number, or one for each of {len(bounds)} arms; got {offset!r}")
        object.__setattr__(self, "features", rows)
        object.__setattr__(self, "bounds", bounds)
        object.__setattr__(self, "offset", np.broadcast_to(known, len(bounds)).copy())

    @property
    def dimension(self) -> int:
        """How many features an arm has."""
        return int(self.features.shape[1])

    @property
    def length(self) -> Floats:
        """Euclidean norm of each arm's features."""
        length: Floats = np.linalg.norm(self.features, axis=1)
        return length


def as_features(features: ArrayLike, arms: Iterable[Arm]) -> Floats:
    """Features as a matrix with a row for each of these arms."""
    names = tuple(arms)
    rows = np.ascontiguousarray(np.asarray(features, dtype=np.float64))
    if rows.ndim != 2 or rows.shape[0] != len(names) or rows.shape[1] == 0:
        raise ValueError(f"features must have a row of numbers for each of {len(names)} arms; got shape {rows.shape}")
    for k in np.flatnonzero(~np.all(np.isfinite(rows), axis=1)):
        raise ValueError(f"arm {names[k]!r}: its features {rows[k].tolist()} are not all finite numbers")
    return rows
