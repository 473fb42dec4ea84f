"""R-OFUL (Section 4 of the paper): OFUL restricted to what bounds on the means allow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from meanbounds.bounds import BoundsError
from meanbounds.linear.arms import LinearArms
from meanbounds.linear.feasible import Extent, FeasibleSet
from meanbounds.linear.maximum import TOLERANCE, Ellipsoids, Proofs, indices
from meanbounds.linear.oful import OFUL, Limits, LinearState
from meanbounds.subgaussian import proxy_between
from meanbounds.support.checks import check_choice
from meanbounds.support.types import Booleans, Floats, Integers

__all__ = ["ROFUL", "limits_of"]

_MOST = 1_000  # arms whose bounds are all used to tighten bounds; of more arms, those with the narrowest bounds


def limits_of(arms: LinearArms, norm_high: float) -> Limits:
    """The tightest bounds on each arm that follow from all bounds together (from the narrowest, for very many arms)."""
    bounds, some = arms.bounds, arms
    if len(bounds) > _MOST:
        narrow = np.argsort((bounds.upper - bounds.lower) / np.maximum(arms.length, 1e-150), kind="stable")[:_MOST]
        some = LinearArms(arms.features[narrow], bounds.subset(narrow), offset=arms.offset[narrow])
    feasible = FeasibleSet(some, norm_high)
    extent = feasible.own if some is arms else feasible.extent(arms.features, arms.offset)
    lower, upper = np.maximum(extent.lower, bounds.lower), np.minimum(extent.upper, bounds.upper)
    for k in np.flatnonzero(lower > upper + 1e-9 * (bounds.high - bounds.low)):
        raise BoundsError(
            f"arm {bounds.arms[k]!r}: its bounds are [{bounds.lower[k]:g}, {bounds.upper[k]:g}], but those of the other "
            f"arms put its mean in [{extent.lower[k]:g}, {extent.upper[k]:g}]; at least one of these does not hold, or "
            f"norm_high is too small"
        )
    return Limits(extent._replace(lower=np.minimum(lower, upper), upper=np.maximum(lower, upper)), feasible, norm_high)


@dataclass(frozen=True, repr=False, kw_only=True)
class ROFUL(OFUL):
    """R-OFUL: `OFUL` with bounds on the means.

    Each bound limits the parameter, so it says something about all other arms too: R-OFUL tightens the bounds once,
    skips arms on offer that cannot be best, looks for the largest mean within the bounds, and explores less where
    bounds imply that rewards vary little.

    Parameters
    ----------
    norm_high, regularisation, failure
        As for `OFUL`.
    index
        ``"exact"``: the largest mean over all parameters that lie in the confidence set and satisfy every arm's bounds.
        If none does both, data and bounds contradict each other: the round is decided by ``"clip"``, and an agent
        warns. ``"clip"``: OFUL's index, at most the arm's upper bound; never below ``"exact"``, and as cheap as OFUL.
        ``"plain"``: OFUL's own index.

    Notes
    -----
    Theorem 4 of the paper. Differs from the paper: each reward is weighted by the inverse of its arm's variance proxy,
    which comes from its own bounds and range, in place of one factor for all; the radius has log(det V / det V_0),
    which holds for weights and for features of any length. The cone of arms around the most promising one is left out:
    after tightening it removes nothing that the bounds do not. Of equal indices the largest estimate is played, moved
    into the arm's bounds. With more than 1,000 arms, bounds are tightened by the 1,000 narrowest.

    Examples
    --------
    >>> import meanbounds as mb
    >>> bounds = mb.MeanBounds([0.6, 0.0, 0.0], [0.9, 1.0, 0.5], arms=["a", "b", "c"])
    >>> agent = mb.LinearAgent(mb.ROFUL(), bounds, [[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]], seed=1)
    >>> agent.pull(["b", "c"])
    'c'
    >>> agent.tight_bounds.upper.round(3)  # the bound 0.5 on c leaves at most 0.175 for b
    array([0.833, 0.175, 0.5  ])
    """

    source: ClassVar[str] = "Theorem 4"

    index: str = "exact"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("index", self.index, ("exact", "clip", "plain"))

    def limits(self, arms: LinearArms) -> Limits:
        """The tightened bounds."""
        return limits_of(arms, self.norm_high)

    def noise(self, extent: Extent, low: Floats, high: Floats) -> Floats:
        """The least variance proxy that each arm's bounds imply."""
        return proxy_between(np.clip(extent.lower, low, high), np.clip(extent.upper, low, high), low, high)

    @property
    def tolerance(self) -> float:
        """Indices closer than this are equal, relative to the means that the norm allows."""
        return TOLERANCE if self.index == "exact" else super().tolerance

    def scores(
        self, state: LinearState, limits: Limits, offered: Integers, kept: Booleans, every: bool = False
    ) -> tuple[Floats, Floats]:
        """The index of each arm on offer, minus infinity for one that is not kept, and the estimate of its mean."""
        if self.index != "exact":
            index, estimate = super().scores(state, limits, offered, kept)
            return (np.minimum(index, limits.upper.take(offered)) if self.index == "clip" else index), estimate
        assert limits.feasible is not None
        rows, arms = state.estimate.shape
        radius, wanted, proofs = self.radius(state), np.zeros((rows, arms), dtype=np.bool_), None
        clip = np.minimum(state.estimate + radius[:, None] * np.sqrt(np.maximum(state.square, 0.0)), limits.upper)
        wanted.reshape(-1)[offered + state.first] = kept
        if limits.complete:
            proofs = limits.memory.setdefault("proofs", Proofs(rows, arms, state.moment.shape[1]))
        sets = Ellipsoids(state.parameter, state.precision, state.inverse, radius)
        index, empty = indices(limits.feasible, limits.extent, sets, clip, wanted, proofs=proofs, every=every)
        state.contradictions += empty
        return state.at(index, offered), state.at(state.estimate, offered)
