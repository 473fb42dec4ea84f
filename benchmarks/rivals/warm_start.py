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
        For each arm how many rewards were logged, and their sum in units of its range.
    """

    base: Policy = field(default_factory=UCB)
    counts: tuple[float, ...] = ()
    totals: tuple[float, ...] = ()

    def scores(self, known: Any, seen: Any, t: Any, draws: Any, cache: Any = None) -> Any:  # noqa: ARG002
        """The scores of the policy."""
        sums = (own + np.array(self.totals) for own in (seen.total, seen.squares, seen.ones))
        known = known if self.base.uses_bounds else known.vacuous
        return self.base.scores(known, Seen(seen.plays + np.array(self.counts), *sums), t, draws)
