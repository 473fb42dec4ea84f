"""GLUE: every arm is explored at the rate of the best one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from meanbounds.known import Known, Seen, once
from meanbounds.policies.base import IndexPolicy
from meanbounds.subgaussian import proxy_between
from meanbounds.support.types import Floats

__all__ = ["GLUE"]


@dataclass(frozen=True, repr=False)
class GLUE(IndexPolicy):
    """Global under-exploration: each arm is explored as if it were the best one.

    Arms whose upper bound is at most l_max, the largest lower bound, are left out unless they attain it. Of the others
    the one with the largest index is played: ``min(u_k, mean_k + sqrt(2 proxy_k log f(t) / plays_k))``.

    The best arm's mean is at least l_max. So GLUE takes the variance proxy of arm k from the interval
    ``[max(l_k, l_max), u_k]``: c(m) of `meanbounds.theory.variance_proxy`, ``(1 - 2 m) / (2 log((1 - m) / m))`` on
    [0, 1], at the point m nearest to the middle of the range. For the best arm this proxy is valid. For another arm it
    may be too small: then its index is not an upper confidence bound, which costs nothing, since that arm is only
    played less.

    Parameters
    ----------
    f
        How fast exploration grows: ``1 + t log(t)^2`` by default, see `Policy`.

    Notes
    -----
    Algorithm 2 and Theorem 6 of the paper. Differs from the paper: the proxy of arm k is taken from ``max(l_k, l_max)``
    and ``u_k`` in the arm's own range. With one range for all arms this is the printed rule; with several the printed
    rule fails. An arm that was never played has index ``u_k`` rather than a forced first play.

    Examples
    --------
    >>> import meanbounds as mb
    >>> bounds = mb.MeanBounds([0.9, 0.1, 0.2], [1.0, 1.0, 0.8], arms=["a", "b", "c"])
    >>> bounds.best_variance_proxy.round(3)  # for ImprovedUCB the second is 0.25; c cannot be best
    array([0.182, 0.182, 0.25 ])
    >>> agent = mb.Agent(mb.GLUE(), bounds, seed=1)
    >>> agent.indices()
    array([  1.,   1., -inf])
    """

    counts_pending: ClassVar[bool] = True

    @once
    def proxy(self, known: Known) -> Floats:
        """The variance proxy of each arm if it were the best: psi_k squared in the paper."""
        lower = np.where(known.possible, np.maximum(known.lower, known.best_lower), known.lower)
        return proxy_between(lower, known.upper, known.low, known.high)

    def index(self, known: Known, seen: Seen, level: Floats) -> Floats:
        """The clipped index; the upper bound of an arm that was never played."""
        width = np.sqrt(2.0 * self.proxy(known) * level / seen.plays)
        return np.where(known.possible, np.fmin(known.upper, seen.mean(known) + width), -np.inf)
