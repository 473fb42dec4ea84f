"""BIMED: indexed minimum empirical divergence with bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from meanbounds.known import Known, Seen
from meanbounds.policies.base import Cache, Policy
from meanbounds.policies.settling import against_bounds, estimates, evidence_below, leaders
from meanbounds.posterior import check_moments, with_prior
from meanbounds.support.checks import as_flag
from meanbounds.support.streams import Draws
from meanbounds.support.types import Floats

__all__ = ["BIMED"]

_MOST = 1e300  # what a cost that is infinite counts


@dataclass(frozen=True, repr=False)
class BIMED(Policy):
    """Indexed minimum empirical divergence (Honda and Takemura, 2015) with bounds on the means.

    Plays the arm with the smallest ``plays * kl(mean, leader) + log(plays)``. The leader is the largest clipped mean,
    where an arm that was never played counts with its lower bound. Arms whose upper bound is below the leader are
    skipped; other arms that were never played come first. But if `settle` allows it and the leading arm may be as good
    as any other can be, that arm is played without looking further.

    With trust below 1 an arm whose bounds keep it below the leader pays log N = -log(1 - trust) on top, less what its
    rewards say against these bounds. Bounds against which rewards say log N are given up. A prior counts as plays.

    Parameters
    ----------
    f
        How fast the evidence grows that ends settling, see `Policy`.
    moments
        With 2, the divergence takes the second moment of the rewards into account: the less rewards vary, the less is
        explored, and it hardly matters how far the range reaches below them, up to some 100,000 times as far as they
        vary. For rewards of 0 and 1 nothing changes.
    settle
        Play the arm with the largest clipped mean as long as the largest upper bound c of the other arms does not
        exceed its own, and ``plays * kl(mean, c)`` is at most ``log f(t) / 2`` (half as much if c is below its own).
        Where upper bounds are close to the best mean, this saves most of the exploration.

    Examples
    --------
    >>> import meanbounds as mb
    >>> agent = mb.Agent(mb.BIMED(), mb.MeanBounds([0.6, 0.1], [0.9, 0.95]), seed=1)
    >>> agent.update(0, 1.0, pulled=False)
    >>> agent.pull()  # arm 0 leads at its upper bound 0.9, and the other may be better
    1

    With equal upper bounds it settles on the arm that leads:

    >>> agent = mb.Agent(mb.BIMED(), mb.MeanBounds([0.6, 0.1], [0.9, 0.9]), seed=1)
    >>> agent.update(0, 1.0, pulled=False)
    >>> agent.pull()
    0
    """

    takes_prior: ClassVar[bool] = True
    counts_pending: ClassVar[bool] = True

    moments: int = 1
    settle: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_moments(self.moments)
        as_flag("settle", self.settle)

    def scores(
        self,
        known: Known,
        seen: Seen,
        t: Floats,
        draws: Draws | None = None,
        cache: Cache | None = None,
    ) -> tuple[Floats, Floats]:
        """The cost of each arm with its sign turned; ties are broken by the estimated means."""
        seen = with_prior(known, seen)
        means = estimates(known, seen)
        leader = means.max(axis=1, keepdims=True)
        goals = np.empty((2, *means.shape))
        leads, goals[0], limit = leaders(known, seen, means, self.log_f(t)[:, None])
        goals[1] = leader
        against, cost = evidence_below(known, seen, goals, self.moments)
        fine = np.where(known.upper < leader, np.inf, 0.0)
        if known.log_n is not None:
            skipped = (known.upper < leader) | ((known.upper == leader) & ~known.possible)
            fine = np.where(skipped, np.maximum(0.0, known.log_n - against_bounds(known, seen)), 0.0)
        # Even that of the leader can be infinite, if its bounds are wrong; then it is played all the same.
        cost = np.where(means == leader, np.minimum(cost, _MOST), cost) + np.log(np.maximum(seen.plays, 1.0)) + fine
        scores = np.where((seen.plays == 0.0) & (fine == 0.0), np.inf, -cost)
        scores = np.where(means > -np.inf, scores, -np.inf)
        if self.settle:
            leads &= against <= limit
            scores = np.where(leads.any(axis=1, keepdims=True), np.where(leads, 0.0, -np.inf), scores)
        return scores, means

    def score_size(self, known: Known) -> float:
        """Costs are logarithms, whatever the units of rewards are."""
        return 1.0
