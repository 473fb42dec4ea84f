"""KL-UCB, which ignores bounds, and B-KL-UCB, which prunes and clips by them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from meanbounds.divergence import kl_upper
from meanbounds.known import Known, Seen
from meanbounds.policies.base import IndexPolicy
from meanbounds.support.types import Floats

__all__ = ["BKLUCB", "KLUCB"]


@dataclass(frozen=True, repr=False)
class KLUCB(IndexPolicy):
    """KL-UCB (Garivier and Cappe, 2011): play the arm with the largest mean that its rewards do not rule out.

    The index is the largest q with ``kl(mean, q) <= log f(t) / plays``, where both are in units of the arm's range; see
    `meanbounds.theory.bernoulli_kl_upper`. Ignores the bounds.

    Examples
    --------
    >>> import meanbounds as mb
    >>> agent = mb.Agent(mb.KLUCB(f="t"), mb.MeanBounds.vacuous(1), seed=1)
    >>> agent.update(0, 0.0, pulled=False)
    >>> agent.indices()  # kl(0, q) = -log(1 - q) is log 2 at q = 1/2
    array([0.5])
    """

    uses_bounds: ClassVar[bool] = False
    counts_pending: ClassVar[bool] = True

    def index(self, known: Known, seen: Seen, level: Floats) -> Floats:
        """The upper confidence bound; the top of its range for an arm that was never played."""
        return np.fmin(known.high, known.low + known.width * kl_upper(seen.total / seen.plays, level / seen.plays))


@dataclass(frozen=True, repr=False)
class BKLUCB(KLUCB):
    """B-KL-UCB (Zhang and Bareinboim, 2017): `KLUCB` that leaves out arms that cannot be best, and clips by bounds.

    Examples
    --------
    >>> import meanbounds as mb
    >>> agent = mb.Agent(mb.BKLUCB(), mb.MeanBounds([0.6, 0.1, 0.2], [0.9, 0.5, 0.8]), seed=1)
    >>> agent.update(2, 0.0, pulled=False)
    >>> agent.indices().round(3)
    array([0.9 , -inf, 0.49])
    """

    uses_bounds: ClassVar[bool] = True

    def index(self, known: Known, seen: Seen, level: Floats) -> Floats:
        """The clipped upper confidence bound; the upper bound of an arm that was never played."""
        return np.where(known.possible, np.minimum(known.upper, super().index(known, seen, level)), -np.inf)
