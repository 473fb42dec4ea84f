"""Warm start (Shivaswamy and Joachims, 2012): take a log at its word, as if its rewards had been one's own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from meanbounds.known import Seen
from meanbounds.policies import UCB, Policy


@dataclass(frozen=True)
class WarmStart(Policy):
    """Any policy with the rewards of a log added to those it has seen; rounds are counted from the start.

    An expert's choices mislead it for ever if they make a bad arm look good.

    Parameters
    ----------
    base
        The policy.
    counts, totals
        How many rewards were logged, and their sum in units of the range: one number for each arm, or one for all.
    """

    base: Policy = field(default_factory=UCB)
    counts: tuple[float, ...] = (0.0,)
    totals: tuple[float, ...] = (0.0,)

    def scores(self, known: Any, seen: Any, t: Any, draws: Any, cache: Any = None) -> Any:
        """The scores of the policy; ties are broken by the means of all rewards."""
        known, seen = self._with_log(known, seen)
        found = self.base.scores(known, seen, t, draws, cache)
        return found if isinstance(found, tuple) else (found, seen.clipped_mean(known))

    def probabilities(self, known: Any, seen: Any, t: Any, cache: Any = None) -> Any:
        """Those of the policy."""
        known, seen = self._with_log(known, seen)
        return self.base.probabilities(known, seen, t, cache)

    def score_size(self, known: Any) -> float:
        """That of the policy."""
        return self.base.score_size(known)

    def _with_log(self, known: Any, seen: Any) -> Any:
        sums = (own + np.array(self.totals) for own in (seen.total, seen.squares, seen.ones))
        return known if self.base.uses_bounds else known.vacuous, Seen(seen.plays + np.array(self.counts), *sums)
