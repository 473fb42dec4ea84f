"""Thompson sampling from posteriors truncated to each arm's bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.polynomial import legendre

from meanbounds.known import Known, Seen
from meanbounds.policies.base import Cache, Policy
from meanbounds.policies.settling import settled
from meanbounds.posterior import BetaPosterior, check_moments, posterior
from meanbounds.support.checks import as_flag
from meanbounds.support.streams import Draws
from meanbounds.support.types import Booleans, Floats, Integers

__all__ = ["ThompsonSampling", "largest"]

_NODES, _WEIGHTS = 0.5 * (1.0 + legendre.leggauss(8)[0]), 0.5 * legendre.leggauss(8)[1]
_PANELS = 6  # at least, over each density
_NEVER = 1e-15  # a part of a posterior with less weight is neglected
_ERROR = 1e-8  # by which probabilities may fail to sum up to 1
_MOST = 20_000  # nodes, after which they are taken as they are


@dataclass(frozen=True, repr=False)
class ThompsonSampling(Policy):
    """Draw a mean for each arm from its posterior, and play the arm with the largest draw (Kaufmann et al., 2012).

    The posterior is a Beta distribution, truncated to the arm's bounds. A reward between the ends of its range is
    rounded to one of them at random, with the probabilities that keep its mean (Agrawal and Goyal, 2012). Draws are
    exact, however far in the tail of the posterior the bounds lie. But if `settle` allows it and the leading arm may be
    as good as any other can be, that arm is played without looking further.

    With trust below 1 an arm's posterior is a mixture: within its bounds with the probability that they hold, given its
    rewards, and without them otherwise. So each draw first decides whether the bounds of its arm hold in this round.

    Parameters
    ----------
    f
        How fast the evidence grows that ends settling, see `Policy`.
    moments
        With 2, rewards are not rounded. They count as if each had been either 1 or one lower value, chosen such that
        the first two moments stay the same: the less rewards vary, the less is explored. Without a prior, an arm that
        only had the best possible rewards, or none, is drawn from means at most ten times as far below the top of the
        range as the lower value of some other arm. So it hardly matters how wide the range is, up to some 100,000 times
        as wide as rewards vary: take 2 for costs or delays, whose range is a guess. For rewards of 0 and 1 nothing
        changes. There is no theorem for this yet.
    settle
        Whether to play the arm with the largest clipped mean while its rewards do not speak against its being as good
        as the bounds of any other arm allow; `policies/settling.py` has the rule.

    Examples
    --------
    >>> import meanbounds as mb
    >>> agent = mb.Agent(mb.ThompsonSampling(), mb.MeanBounds([0.9, 0.1], [1.0, 0.9]), seed=1)
    >>> agent.pull()  # every draw for arm 0 is above every draw for arm 1
    0

    The probability of each arm, for a log of decisions:

    >>> agent = mb.Agent(mb.ThompsonSampling(), mb.MeanBounds.vacuous(2), seed=1)
    >>> for reward in (1.0, 0.0, 1.0):
    ...     agent.update(0, reward, pulled=False)
    >>> agent.probabilities().round(4)  # Beta(3, 2) against Beta(1, 1)
    array([0.6, 0.4])

    With upper bounds below 1 it may settle:

    >>> agent = mb.Agent(mb.ThompsonSampling(), mb.MeanBounds([0.2, 0.2], [0.8, 0.8]), seed=1)
    >>> agent.update(0, 1.0, pulled=False)
    >>> agent.probabilities()
    array([1., 0.])
    """

    takes_prior: ClassVar[bool] = True
    learns_prior: ClassVar[bool] = True
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
        draws: Draws,
        cache: Cache | None = None,
    ) -> tuple[Floats, Floats]:
        """A draw of each mean, or in a row that settles 0 for its leaders; equal scores are broken at random."""
        leads, settles = self._leads(known, seen, t)
        scores = np.where(leads, 0.0, -np.inf)
        if not settles.all():
            drawn = posterior(known, seen, self.moments).draw(draws.table(leads.shape[1]))
            drawn = np.where(known.without_doubted.possible, drawn, -np.inf)
            scores = np.where(settles[:, None], scores, drawn)
        return scores, np.zeros((1, 1))

    def probabilities(self, known: Known, seen: Seen, t: Floats, cache: Cache | None = None) -> Floats:
        """The probability of each arm to have the largest draw, to 1e-7."""
        leads, settles = self._leads(known, seen, t)
        found = leads / np.maximum(1, leads.sum(axis=1, keepdims=True))
        if not settles.all():
            believed = posterior(known, seen, self.moments)
            possible = np.broadcast_to(known.without_doubted.possible, leads.shape)
            for row in np.flatnonzero(~settles):
                places = row * leads.shape[1] + np.flatnonzero(possible[row])
                found[row, possible[row]] = largest(believed, places)[0]
        return found

    def _leads(self, known: Known, seen: Seen, t: Floats) -> tuple[Booleans, Booleans]:
        """The leaders that settle, and the rows that have any."""
        if not self.settle:
            return np.zeros(seen.plays.shape, dtype=bool), np.zeros(len(seen.plays), dtype=bool)
        leads = settled(known, seen, self.log_f(t)[:, None], self.moments)
        return leads, np.any(leads, axis=1, out=np.empty(len(leads), dtype=bool))


def largest(believed: BetaPosterior, places: Integers) -> tuple[Floats, float]:
    """The probability that each mean, of those at these flat places, is the largest of them, and what that one is.

    The latter is the expectation of the largest mean. A probability is the integral of a density times the distribution
    functions of all others. Panels end where a density starts or stops, and are narrow beside each density that they
    meet.
    """
    weight = believed.parts.weight
    ends = (believed.low + believed.width * own.reshape(weight.shape) for own in believed.laws.ends())
    left, right, weight = (own.reshape(len(weight), -1)[:, places] for own in (*ends, weight))
    left, right = np.where(weight > _NEVER, left, np.inf), np.where(weight > _NEVER, right, -np.inf)
    cut, found = left.min(axis=0).max(), np.zeros(len(places))  # no mean below the cut is the largest
    live = right.max(axis=0) > cut
    left, right, places = left[:, live], right[:, live], places[live]
    edges = np.unique(np.clip([left, right], cut, right.max()))
    meets = (left[..., None] < edges[1:]) & (right[..., None] > edges[:-1])
    least = np.where(meets, (right - left)[..., None], np.inf).min(axis=(0, 1))
    panels = np.ceil(_PANELS * np.diff(edges) / least + 1e-9).astype(np.int64)
    while True:
        pieces = [np.linspace(*ends, endpoint=False) for ends in zip(edges[:-1], edges[1:], panels, strict=True)]
        grid = np.concatenate([*pieces, edges[-1:]])
        size = np.diff(grid)[:, None]
        nodes = (grid[:-1, None] + size * _NODES).reshape(-1, 1)
        density, tail, _ = believed.beyond(nodes, np.broadcast_to(places, (len(nodes), len(places))))
        density, below = density * (size * _WEIGHTS).reshape(-1, 1), np.maximum(0.0, 1.0 - tail)
        density[:, 1:] *= below.cumprod(axis=1)[:, :-1]
        density[:, :-1] *= below[:, ::-1].cumprod(axis=1)[:, -2::-1]
        found[live] = density.sum(axis=0)
        total = found.sum()
        if abs(total - 1.0) < _ERROR or len(nodes) > _MOST:
            return found / total, float(nodes[:, 0] @ density.sum(axis=1) / total)
        panels *= 2
