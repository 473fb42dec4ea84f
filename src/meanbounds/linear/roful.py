"""R-OFUL (Section 4 of the paper): OFUL restricted to what bounds on the means allow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from meanbounds.linear.arms import LinearArms
from meanbounds.linear.feasible import Extent, FeasibleSet
from meanbounds.linear.maximum import Ellipsoids, Proofs, indices
from meanbounds.linear.oful import OFUL, Allowed, LinearState, Offer, extent_of
from meanbounds.subgaussian import proxy_between
from meanbounds.support.checks import check_choice
from meanbounds.support.streams import Draws
from meanbounds.support.types import Booleans, Floats

__all__ = ["ROFUL", "allowed_by"]

_MOST = 3_000  # arms whose bounds are all used to tighten bounds; of more arms, those with the narrowest bounds


def allowed_by(arms: LinearArms, norm_high: float) -> Allowed:
    """The tightest bounds on each arm that follow from all bounds together (from the narrowest, for very many arms)."""
    bounds, some = arms.bounds, arms
    if len(bounds) > _MOST:
        narrow = np.argsort((bounds.upper - bounds.lower) / np.maximum(arms.length, 1e-150), kind="stable")[:_MOST]
        some = LinearArms(arms.features[narrow], bounds.subset(narrow), offset=arms.offset[narrow])
    feasible = FeasibleSet(some, norm_high)
    return Allowed(extent_of(arms, feasible), feasible, norm_high)


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
        ``"exact"``: the largest offset + x . p, with x the arm's features, over all parameters p that satisfy every
        arm's bounds and lie in the confidence set ``||p - p_hat||_V <= r``. If none does both, data and bounds
        contradict each other: the round is decided by ``"clip"``, and an agent warns. ``"clip"``: OFUL's index, at most
        the arm's upper bound; never below ``"exact"``, and as cheap as OFUL. ``"plain"``: OFUL's own index.

    Notes
    -----
    p_hat is the regression's estimate, and the radius r is ``sqrt(regularisation / v) * norm_high + sqrt(2 log(1 /
    failure) + log(det V / det V_0))``, with v as for `OFUL` and V with the proxies that the bounds imply: `OFUL.radius`
    in linear/oful.py. `indices` in linear/maximum.py finds the maximum. Theorem 4 of the paper. Differs from the paper:
    each reward is weighted by the inverse of its arm's variance proxy, which comes from its own bounds and range, in
    place of one factor for all; the radius has log(det V / det V_0), which holds for weights and for features of any
    length. The cone of arms around the most promising one is left out: after tightening it removes nothing that the
    bounds do not. Of equal indices the largest estimate is played, moved into the arm's bounds. With more than 3,000
    arms, bounds are tightened by the 3,000 narrowest.

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

    def allow(self, arms: LinearArms) -> Allowed:
        """The tightened bounds."""
        return allowed_by(arms, self.norm_high)

    def noise(self, extent: Extent, low: Floats, high: Floats) -> Floats:
        """The least variance proxy that each arm's bounds imply."""
        return proxy_between(np.clip(extent.lower, low, high), np.clip(extent.upper, low, high), low, high)

    def weigh(self, state: LinearState, offer: Offer, draws: Draws) -> Booleans:
        """As for OFUL; for an agent, without indices where one upper bound is the largest and is attained."""
        if self.index == "exact" and len(state.moment) == 1:
            upper = np.where(offer.kept, offer.allowed.upper.take(offer.arms), -np.inf)
            best = int(upper.argmax())
            near = upper >= upper.item(best) - 2.0 * state.tie
            away = offer.allowed.extent.peaks[offer.arms.item(best)] - state.parameter[0]
            if np.count_nonzero(near) == 1 and away.dot(state.precision[0]).dot(away) <= self.radius(state)[0] ** 2:
                return near
        return super().weigh(state, offer, draws)

    def scores(self, state: LinearState, offer: Offer, every: bool = False) -> Floats:
        """The index of each arm on offer; unless `every` one is wanted, some that are not the largest may be higher."""
        if self.index != "exact":
            scores = super().scores(state, offer)
            return np.minimum(scores, offer.allowed.upper.take(offer.arms)) if self.index == "clip" else scores
        allowed, radius, (rows, arms) = offer.allowed, self.radius(state), state.estimate.shape
        assert allowed.feasible is not None
        clip = np.minimum(state.estimate + radius[:, None] * np.sqrt(np.maximum(state.square, 0.0)), allowed.upper)
        wanted = np.zeros((rows, arms), dtype=np.bool_)
        wanted.reshape(-1)[offer.arms + state.first] = offer.kept
        if allowed.proofs is None:
            allowed.proofs = Proofs(rows, arms, state.moment.shape[1])
        sets = Ellipsoids(state.parameter, state.precision, state.inverse, radius)
        scores, empty = indices(
            allowed.feasible, allowed.extent, sets, clip, wanted, proofs=allowed.proofs, every=every
        )
        state.contradictions += empty
        return state.at(scores, offer.arms)
