"""UCB, which ignores bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from meanbounds.known import Known, Seen
from meanbounds.policies.base import IndexPolicy
from meanbounds.support.types import Floats

__all__ = ["UCB"]


@dataclass(frozen=True, repr=False)
class UCB(IndexPolicy):
    """UCB (Auer et al., 2002) with the exploration of Lattimore and Szepesvari (2020), whatever the bounds say.

    The index is ``mean + sqrt(2 proxy log f(t) / plays)`` with the proxy ``(high - low)**2 / 4``, which holds for every
    reward in the range.

    Examples
    --------
    >>> import meanbounds as mb
    >>> agent = mb.Agent(mb.UCB(f="t"), mb.MeanBounds([0.6, 0.1], [0.9, 0.5]), seed=1)
    >>> agent.indices()
    array([inf, inf])
    """

    uses_bounds: ClassVar[bool] = False

    def index(self, known: Known, seen: Seen, level: Floats) -> Floats:
        """The upper confidence bound; infinite for an arm that was never played."""
        return np.fmin(np.inf, seen.mean(known) + np.sqrt(2.0 * known.worst_proxy * level / seen.plays))
