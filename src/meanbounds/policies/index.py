"""Policies that play the arm with the largest index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from meanbounds.kernels.arms import textbook
from meanbounds.knowledge import Knowledge
from meanbounds.policies.base import Policy
from meanbounds.policies.plan import Plan, make_plan

__all__ = ["BKLUCB", "BUCB", "GLUE", "KLUCB", "UCB", "ImprovedUCB", "UCBoost"]


@dataclass(frozen=True)
class UCB(Policy):
    """UCB (Auer et al., 2002): ``mean + sqrt(2 proxy log f(t) / plays)`` with the proxy of any reward in the range.

    Takes no notice of bounds.

    Examples
    --------
    >>> import meanbounds as mb
    >>> mb.UCB()
    UCB()
    """

    theorem: ClassVar[str] = "Auer et al. 2002"

    def prepare(self, known: Knowledge) -> Plan:
        """Every arm, no cap."""
        bounds = known.bounds
        return make_plan(bounds, proxy=bounds.worst_variance_proxy)


@dataclass(frozen=True)
class BUCB(Policy):
    """UCB without the arms that cannot be best, and with indices clipped at the upper bounds.

    Examples
    --------
    >>> import meanbounds as mb
    >>> plan = mb.BUCB().plan(mb.MeanBounds([0.6, 0.1, 0.2], [0.9, 0.5, 0.8]))
    >>> plan.arms, plan.cap  # the arms that are kept, and what clips their indices
    (array([0, 2]), array([0.9, 0.8]))
    """

    theorem: ClassVar[str] = "Section 5, Table 1"

    def prepare(self, known: Knowledge) -> Plan:
        """Prune and clip."""
        bounds = known.bounds
        return make_plan(bounds, bounds.possible, cap=bounds.upper, proxy=bounds.worst_variance_proxy)


@dataclass(frozen=True)
class ImprovedUCB(Policy):
    """`BUCB` with each arm's variance proxy taken from its own bounds.

    Examples
    --------
    >>> import meanbounds as mb
    >>> mb.ImprovedUCB().plan(mb.MeanBounds([0.9, 0.1], [1.0, 1.0])).proxy.round(3)
    array([0.182, 0.25 ])
    """

    theorem: ClassVar[str] = "Corollary 3.1"

    def prepare(self, known: Knowledge) -> Plan:
        """Prune, clip, and the proxy of each arm."""
        bounds = known.bounds
        return make_plan(bounds, bounds.possible, cap=bounds.upper, proxy=bounds.variance_proxy)


@dataclass(frozen=True)
class GLUE(Policy):
    """Global under-exploration: `BUCB` with the variance proxy that each arm would have if it were the best one.

    The best arm's mean is at least l_max, so an arm with a larger proxy than such a mean allows is not the best one,
    and exploring it at the smaller rate costs nothing. Indices of suboptimal arms are then no upper confidence bounds.

    Notes
    -----
    Theorem 6 of the paper. Differs from the paper: the proxy of arm k is taken from ``max(l_k, l_max)`` and ``u_k`` in
    the arm's own range. With one range for all arms this is the printed rule; with several the printed rule fails. An
    arm that was never played has index ``u_k`` rather than a forced first play.

    Examples
    --------
    >>> import meanbounds as mb
    >>> bounds = mb.MeanBounds([0.9, 0.1, 0.2], [1.0, 1.0, 0.8])
    >>> mb.GLUE().plan(bounds).proxy.round(3)
    array([0.182, 0.182])
    """

    theorem: ClassVar[str] = "Theorem 6"

    def prepare(self, known: Knowledge) -> Plan:
        """Prune, clip, and the proxy of the best arm."""
        bounds = known.bounds
        return make_plan(bounds, bounds.possible, cap=bounds.upper, proxy=bounds.best_variance_proxy)


@dataclass(frozen=True)
class KLUCB(Policy):
    """KL-UCB (Garivier and Cappé, 2011): the largest mean that what was seen does not rule out.

    Takes no notice of bounds.

    Examples
    --------
    >>> import meanbounds as mb
    >>> agent = mb.Agent(mb.KLUCB(f="t"), mb.MeanBounds.vacuous(1), seed=1)
    >>> agent.update(0, 0.0)
    >>> agent.indices()  # kl(0, q) = -log(1 - q) is log 2 at q = 1/2
    array([0.5])
    """

    kernel: ClassVar[int] = textbook.KL
    theorem: ClassVar[str] = "Garivier and Cappé 2011"

    def prepare(self, known: Knowledge) -> Plan:
        """Every arm, no cap but the range."""
        bounds = known.bounds
        return make_plan(bounds, cap=bounds.high)


@dataclass(frozen=True)
class BKLUCB(Policy):
    """KL-UCB without the arms that cannot be best, and with indices clipped at the upper bounds.

    Examples
    --------
    >>> import meanbounds as mb
    >>> mb.BKLUCB(f="t log(t)^3")
    BKLUCB(f='t log(t)^3')
    """

    kernel: ClassVar[int] = textbook.KL
    theorem: ClassVar[str] = "Zhang and Bareinboim 2017"

    def prepare(self, known: Knowledge) -> Plan:
        """Prune and clip."""
        bounds = known.bounds
        return make_plan(bounds, bounds.possible, cap=bounds.upper)


@dataclass(frozen=True)
class UCBoost(Policy):
    """`BKLUCB` with its index replaced by the least of four closed-form bounds above it (Liu, Sinha and Shroff, 2018).

    Cheaper than solving for the KL index where that has to be solved. The simulator's B-KL-UCB does not have to, so
    here this is a baseline rather than a short cut.

    Examples
    --------
    >>> import meanbounds as mb
    >>> boosted, exact = (mb.Agent(policy, mb.MeanBounds.vacuous(2), seed=1) for policy in (mb.UCBoost(), mb.BKLUCB()))
    >>> for agent in (boosted, exact):
    ...     agent.update(0, 0.3)
    >>> bool(boosted.indices()[0] >= exact.indices()[0])
    True
    """

    kernel: ClassVar[int] = textbook.BOOST
    theorem: ClassVar[str] = "Liu et al. 2018"

    def prepare(self, known: Knowledge) -> Plan:
        """Prune and clip."""
        bounds = known.bounds
        return make_plan(bounds, bounds.possible, cap=bounds.upper)
