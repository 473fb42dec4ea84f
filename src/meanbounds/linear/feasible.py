"""Which parameters the bounds allow, and the bounds on each arm that follow from all bounds together."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

from numpy.typing import ArrayLike

from meanbounds.bounds import MeanBounds
from meanbounds.linear.arms import LinearArms
from meanbounds.support.types import Booleans, Floats

__all__ = ["Extent", "FeasibleSet", "TightBounds", "restrict_cone", "tighten"]


class TightBounds(MeanBounds):
    """Bounds found by `tighten`, and for each side whether it is exact.

    Parameters
    ----------
    lower, upper, arms, low, high
        As for `MeanBounds`.
    exact_lower, exact_upper
        For each arm, whether the bound is the smallest (largest) mean that any feasible parameter gives. A bound that
        is not exact still holds: it belongs to a larger set.
    """

    exact_lower: Booleans
    exact_upper: Booleans


class Extent(NamedTuple):
    """The means that some arms can have over a feasible set. Arrays with an entry or a row for each arm."""

    features: Floats
    offset: Floats
    lower: Floats  # smallest mean, offset included: never above the true one
    upper: Floats  # largest mean, offset included: never below the true one
    exact_lower: Booleans
    exact_upper: Booleans
    peaks: Floats  # a feasible parameter at which the mean is largest


class FeasibleSet:
    """All parameters that satisfy every arm's bounds and have a norm of at most `norm_high`.

    Parameters
    ----------
    arms
        Features, bounds and offsets.
    norm_high, norm_low
        Limits on the Euclidean norm of the parameter. The set with a positive `norm_low` is not convex, so that limit
        is left out of all programs; bounds say which of them are exact all the same.

    Raises
    ------
    BoundsError
        If there is no such parameter; the message names a small group of arms that contradict each other.
    """

    arms: LinearArms
    norm_high: float
    norm_low: float

    def __init__(self, arms: LinearArms, norm_high: float = 1.0, norm_low: float = 0.0) -> None:
        raise NotImplementedError

    def extent(self, features: ArrayLike, offset: ArrayLike = 0.0) -> Extent:
        """The smallest and largest mean of arms with these features (arms, d), whether they are in the set or not."""
        raise NotImplementedError

    @cached_property
    def own(self) -> Extent:
        """The extent of the set's own arms, solved once; never wider than their bounds."""
        raise NotImplementedError

    def tightened(self) -> TightBounds:
        """The tightest bounds on the arms that follow from all bounds together; see `tighten`."""
        raise NotImplementedError


def tighten(
    features: ArrayLike,
    bounds: MeanBounds,
    norm_high: float = 1.0,
    norm_low: float = 0.0,
    offset: ArrayLike = 0.0,
) -> TightBounds:
    """The tightest bounds on each arm's mean over all parameters that satisfy every arm's bounds."""
    raise NotImplementedError


def restrict_cone(
    features: Floats, offset: Floats, lower: Floats, norm_high: float = 1.0, offered: Booleans | None = None
) -> tuple[Booleans, Floats, Floats]:
    """Which arms on offer can be best, and bounds on all means, from the most promising arm's bound and the norm alone.

    Parameters
    ----------
    features, offset
        Of the arms: shapes (arms, d) and (arms,).
    lower
        Lower bounds on the means, offsets included: shape (rows, arms).
    norm_high
        Upper limit on the norm of the parameter.
    offered
        Which arms are on offer, shape (rows, arms); all by default.

    Returns
    -------
    kept, low, high
        Arrays (rows, arms): the arms on offer inside the cone, and the smallest and largest mean of each arm that the
        lower bound of the most promising arm (largest `lower` on offer) and the norm allow.
    """
    raise NotImplementedError
