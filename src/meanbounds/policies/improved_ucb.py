"""ImprovedUCB: B-UCB with variance proxies from each arm's own bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from meanbounds.known import Known, Seen
from meanbounds.policies.base import IndexPolicy
from meanbounds.support.types import Floats

__all__ = ["ImprovedUCB"]


@dataclass(frozen=True, repr=False)
class ImprovedUCB(IndexPolicy):
    """`BUCB` with each arm's variance proxy taken from its own bounds.

    An arm whose mean is known to be near an end of the range has rewards that vary less, so its index is narrower.

    Notes
    -----
    Corollary 3.1 of the paper; see `meanbounds.theory.variance_proxy_from_bounds`.

    Examples
    --------
    >>> import meanbounds as mb
    >>> bounds = mb.MeanBounds([0.9, 0.1], [1.0, 1.0])
    >>> bounds.variance_proxy.round(3)  # of arm 0 from a mean of at least 0.9, of arm 1 the largest there is
    array([0.182, 0.25 ])
    >>> mb.Agent(mb.ImprovedUCB(), bounds, seed=1).indices()
    array([1., 1.])
    """

    counts_pending: ClassVar[bool] = True

    def index(self, known: Known, seen: Seen, level: Floats) -> Floats:
        """The clipped upper confidence bound; the upper bound of an arm that was never played."""
        width = np.sqrt(2.0 * known.proxy * level / seen.plays)
        return np.where(known.possible, np.fmin(known.upper, seen.mean(known) + width), -np.inf)
