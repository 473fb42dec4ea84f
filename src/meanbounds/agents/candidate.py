"""An arm that is offered for one decision."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.bounds import BoundsError
from meanbounds.support.checks import as_float, as_floats, fits_range, shown

__all__ = ["Candidate"]


@dataclass(frozen=True)
class Candidate:
    """An arm that an agent has not seen before, described by its features and bounds on its mean.

    Two candidates with the same features, bounds, range, offset and name are the same arm.

    Parameters
    ----------
    features
        One number for each feature.
    lower, upper
        Bounds on its mean, offset included, in reward units; by default the ends of its range. The agent combines them
        with the bounds that follow from the other arms.
    low, high
        Range of its rewards.
    offset
        The known part of its mean.
    name
        Anything to recognise it by, a string or an integer.

    Examples
    --------
    >>> import meanbounds as mb
    >>> film = mb.Candidate([0.6, 0.8], upper=0.7, name="new film")
    >>> film.features
    (0.6, 0.8)
    >>> agent = mb.Agent(mb.OFUL(), mb.MeanBounds.vacuous(1), seed=7, features=[[0.1, 0.0]])
    >>> agent.pull([0, film]) == film
    True
    """

    features: tuple[float, ...]
    lower: float | None = None
    upper: float | None = None
    low: float = 0.0
    high: float = 1.0
    offset: float = 0.0
    name: str | int | None = None

    def __init__(
        self,
        features: ArrayLike,
        *,
        lower: float | None = None,
        upper: float | None = None,
        low: float = 0.0,
        high: float = 1.0,
        offset: float = 0.0,
        name: str | int | None = None,
    ) -> None:
        row = as_floats("features of a candidate", features)
        low, high, offset = as_float("low", low), as_float("high", high), as_float("offset", offset)
        lower = None if lower is None else as_float("lower", lower)
        upper = None if upper is None else as_float("upper", upper)
        if row.ndim != 1 or row.size == 0 or not (np.isfinite(row).all() and np.isfinite(offset)):
            raise ValueError(
                f"a candidate needs finite numbers, one for each feature, and a finite offset; got {shown(features)} "
                f"and {offset}"
            )
        name = name.item() if isinstance(name, np.generic) else name
        if name is not None and not isinstance(name, str | int):
            raise ValueError(f"a candidate's name is a text or a whole number; got {shown(name)}")
        least, most = low if lower is None else lower, high if upper is None else upper
        if not (fits_range(np.array(low), np.array(high)) and low <= least <= most <= high):
            raise BoundsError(
                f"candidate {name!r}: needs a finite range and low <= lower <= upper <= high; got {low=}, {high=}, "
                f"{lower=}, {upper=}"
            )
        values = (tuple(row.tolist()), lower, upper, low, high, offset, name)
        for key, value in zip(self.__dataclass_fields__, values, strict=True):
            object.__setattr__(self, key, value)

    def to_dict(self) -> dict[str, Any]:
        """The candidate in values that JSON can hold; ``Candidate(**data)`` is the inverse.

        Examples
        --------
        >>> import meanbounds as mb
        >>> film = mb.Candidate([0.6, 0.8], name="new film")
        >>> mb.Candidate(**film.to_dict()) == film
        True
        """
        return asdict(self)
