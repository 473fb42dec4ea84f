"""An arm that is offered for one decision."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.bounds import BoundsError

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
        given = (low, high, offset, *(bound for bound in (lower, upper) if bound is not None))
        try:
            row, numbers = np.asarray(features, dtype=np.float64), np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError):
            row, numbers = np.zeros(0), np.zeros(0)
        if row.ndim != 1 or row.size == 0 or not (np.all(np.isfinite(row)) and np.all(np.isfinite(numbers))):
            raise ValueError(f"a candidate needs finite numbers, one for each feature; got {features!r} and {given}")
        name = name.item() if isinstance(name, np.generic) else name
        if name is not None and not isinstance(name, str | int):
            raise ValueError(f"a candidate's name is a text or a whole number; got {name!r}")
        lower, upper = (None if bound is None else float(bound) for bound in (lower, upper))
        least, most = low if lower is None else lower, high if upper is None else upper
        if not (low < high and low <= least <= most <= high):
            raise BoundsError(
                f"candidate {name!r}: needs low <= lower <= upper <= high; got {low=}, {high=}, {lower=}, {upper=}"
            )
        values = (tuple(row.tolist()), lower, upper, float(low), float(high), float(offset), name)
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
