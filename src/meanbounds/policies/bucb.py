"""B-UCB: UCB that prunes and clips by bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meanbounds.known import Known, Seen
from meanbounds.policies.base import IndexPolicy
from meanbounds.support.types import Floats

__all__ = ["BUCB"]


@dataclass(frozen=True, repr=False)
class BUCB(IndexPolicy):
    """`UCB` that leaves out arms that cannot be best, and clips each index at the arm's upper bound.

    Notes
    -----
    Section 5 and Table 1 of the paper.

    Examples
    --------
    >>> import meanbounds as mb
    >>> agent = mb.Agent(mb.BUCB(), mb.MeanBounds([0.6, 0.1, 0.2], [0.9, 0.5, 0.8]), seed=1)
    >>> agent.indices()  # arm 1 cannot be best: 0.5 is below 0.6
    array([ 0.9, -inf,  0.8])
    """

    def index(self, known: Known, seen: Seen, level: Floats) -> Floats:
        """The clipped upper confidence bound; the upper bound of an arm that was never played."""
        width = np.sqrt(2.0 * known.worst_proxy * level / seen.plays)
        return np.where(known.possible, np.fmin(known.upper, seen.mean(known) + width), -np.inf)
