"""How many rewards there are of each value, or in each bin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanbounds.logs.errors import LogError
from meanbounds.support.checks import as_floats, shown
from meanbounds.support.types import Floats

__all__ = ["MOST_VALUES", "Histogram", "bin_edges", "binned"]

MOST_VALUES = 256
"""Up to this many different rewards are counted one by one; beyond, in as many equal bins."""

_SLACK = 2.0**-48  # relative; more than the rounding of a reward's bin, far less than a bin


@dataclass(frozen=True, eq=False)
class Histogram:
    """How many rewards there are of each value, or between the two edges of each bin.

    Parameters
    ----------
    values_low, values_high
        Lower and upper edge of each bin; twice the same array where single values were counted.
    count
        Number of rewards of each value or bin, along the last axis. In `Counts` it is contexts x arms x values.

    Examples
    --------
    >>> import meanbounds as mb
    >>> stars = mb.logs.Histogram([1, 2, 3, 4, 5], [1, 2, 3, 4, 5], count=[7, 0, 12, 30, 51])
    >>> stars.exact, len(stars)
    (True, 5)
    """

    values_low: Floats
    values_high: Floats
    count: Floats

    def __init__(self, values_low: Any, values_high: Any, count: Any) -> None:
        for name, values in (("values_low", values_low), ("values_high", values_high), ("count", count)):
            object.__setattr__(self, name, read_only(name, values))
        size = self.values_low.shape
        if len(size) != 1 or self.values_high.shape != size or self.count.shape[-1:] != size:
            raise LogError(
                f"a histogram needs both edges of each bin and as many counts: values_low has shape {size}, "
                f"values_high {self.values_high.shape}, and count {self.count.shape}"
            )

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, part in state.items():
            object.__setattr__(self, name, read_only(name, part))

    def __len__(self) -> int:
        return self.values_low.size

    @property
    def exact(self) -> bool:
        """Whether single values were counted rather than bins.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.logs.Histogram([0.0, 0.5], [0.5, 1.0], count=[7, 12]).exact
        False
        """
        return np.array_equal(self.values_low, self.values_high)

    def at(self, place: Any) -> Histogram:
        """The histogram of one context, arm or cell: its counts at this place of the leading axes.

        Examples
        --------
        >>> import meanbounds as mb
        >>> two_arms = mb.logs.Histogram([0, 1], [0, 1], count=[[7, 3], [1, 9]])
        >>> two_arms.at(1).count
        array([1., 9.])
        """
        return Histogram(self.values_low, self.values_high, self.count[place])

    def moved_to(self, edges: tuple[Floats, Floats], low: float, high: float) -> Histogram:
        """Write the same counts on other values: more of them, or the equal bins of the range from low to high.

        Examples
        --------
        >>> import numpy as np
        >>> import meanbounds as mb
        >>> stars = mb.logs.Histogram([1, 5], [1, 5], count=[7, 3])
        >>> more = np.array([1.0, 3.0, 5.0])
        >>> stars.moved_to((more, more), low=1, high=5).count
        array([7., 0., 3.])
        """
        if self.exact and not np.array_equal(*edges):
            places = binned(self.values_low, low, high)
        else:
            places = np.searchsorted(edges[0], self.values_low)
        moved = np.zeros((*self.count.shape[:-1], len(edges[0])))
        for place, counted in zip(places.tolist(), np.moveaxis(self.count, -1, 0), strict=True):
            moved[..., place] += counted
        return Histogram(*edges, moved)

    def common_edges(self, other: Histogram, low: float, high: float) -> tuple[Floats, Floats] | None:
        """Find values or bins on which both histograms can be written; None if there are none.

        Single values are kept while there are at most 256 of them; otherwise both go into the bins of `bin_edges`.

        Examples
        --------
        >>> import meanbounds as mb
        >>> one, two = mb.logs.Histogram([1, 5], [1, 5], count=[7, 3]), mb.logs.Histogram([2], [2], count=[4])
        >>> one.common_edges(two, low=1, high=5)[0]
        array([1., 2., 5.])
        """
        values = np.union1d(self.values_low, other.values_low)
        if self.exact and other.exact and len(values) <= MOST_VALUES:
            return values, values
        edges = bin_edges(low, high)
        fits = all(part.exact or np.array_equal(part.values_low, edges[0]) for part in (self, other))
        return edges if fits else None

    def to_dict(self) -> dict[str, list[Any]]:
        """Plain lists, safe for JSON; ``Histogram(**lists)`` is the inverse.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.logs.Histogram([0, 1], [0, 1], count=[7, 3]).to_dict()
        {'values_low': [0.0, 1.0], 'values_high': [0.0, 1.0], 'count': [7.0, 3.0]}
        """
        return {name: getattr(self, name).tolist() for name in ("values_low", "values_high", "count")}


def read_only(name: str, values: Any) -> Floats:
    """Copy numbers into an array that cannot be written to, and refuse those that are not finite.

    Examples
    --------
    >>> from meanbounds.logs.histogram import read_only
    >>> read_only("count", [1, float("nan")])
    Traceback (most recent call last):
    meanbounds.logs.errors.LogError: count holds a number that is not finite
    """
    try:
        array = np.array(as_floats(name, values))
    except ValueError:
        raise LogError(f"{name} must be an array of numbers; got {shown(values)}") from None
    if not np.all(np.isfinite(array)):
        raise LogError(f"{name} holds a number that is not finite")
    array.flags.writeable = False
    return array


def bin_edges(low: float, high: float) -> tuple[Floats, Floats]:
    """Lower and upper edges of 256 equal bins; they overlap by a few roundings, so that each reward is inside its bin.

    Examples
    --------
    >>> from meanbounds.logs.histogram import bin_edges
    >>> lower, upper = bin_edges(0.0, 256.0)
    >>> lower[:3].round(6), upper[:3].round(6)
    (array([0., 1., 2.]), array([1., 2., 3.]))
    """
    edges = np.linspace(low, high, MOST_VALUES + 1)
    slack = _SLACK * max(abs(low), abs(high))
    return np.maximum(edges[:-1] - slack, low), np.minimum(edges[1:] + slack, high)


def binned(values: Floats, low: float, high: float) -> NDArray[np.intp]:
    """Find which of the 256 equal bins each value is in.

    Examples
    --------
    >>> import numpy as np
    >>> from meanbounds.logs.histogram import binned
    >>> binned(np.array([0.0, 0.5, 1.0]), low=0.0, high=1.0)
    array([  0, 128, 255])
    """
    return np.clip(np.floor((values - low) * (MOST_VALUES / (high - low))), 0, MOST_VALUES - 1).astype(np.intp)
