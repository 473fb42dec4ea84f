"""Policies that play the arm with the largest index.

An arm's index is an optimistic estimate of its mean: the mean reward so far plus a width that shrinks with the plays of
the arm. Bounds clip it, so that indices are often equal: then the arm with the largest clipped mean is played (an arm
that was never played counts with its lower bound), and of several such arms one at random.
"""

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
    """UCB (Auer et al., 2002): play the arm with the largest ``mean + sqrt(2 proxy log f(t) / plays)``.

    The variance proxy is that of any reward in the range, ``(high - low)**2 / 4``. Ignores the bounds.

    Parameters
    ----------
    f
        How fast exploration grows, see `Policy`.

    Examples
    --------
    >>> import meanbounds as mb
    >>> plan = mb.UCB().plan(mb.MeanBounds([0.6, 0.1, 0.2], [0.9, 0.5, 0.8]))
    >>> plan.arms, plan.cap, plan.proxy
    (array([0, 1, 2]), array([inf, inf, inf]), array([0.25, 0.25, 0.25]))
    """

    theorem: ClassVar[str] = "Auer et al. 2002"

    def prepare(self, known: Knowledge) -> Plan:
        """Keep every arm, without a cap."""
        bounds = known.bounds
        return make_plan(bounds, proxy=bounds.worst_variance_proxy)


@dataclass(frozen=True)
class BUCB(Policy):
    """B-UCB: UCB that skips the arms that cannot be best, and clips each index at the arm's upper bound.

    The index is ``min(u_k, mean + sqrt(2 proxy log f(t) / plays))`` with the proxy of `UCB`.

    Parameters
    ----------
    f
        How fast exploration grows, see `Policy`.

    Examples
    --------
    >>> import meanbounds as mb
    >>> plan = mb.BUCB().plan(mb.MeanBounds([0.6, 0.1, 0.2], [0.9, 0.5, 0.8]))
    >>> plan.arms, plan.cap  # arm 1 cannot be best: 0.5 is below 0.6
    (array([0, 2]), array([0.9, 0.8]))
    """

    theorem: ClassVar[str] = "Section 5, Table 1"

    def prepare(self, known: Knowledge) -> Plan:
        """Keep the arms that can be best; cap each index at the arm's upper bound."""
        bounds = known.bounds
        return make_plan(
            bounds, bounds.possible, cap=bounds.upper, lower=bounds.lower, proxy=bounds.worst_variance_proxy
        )


@dataclass(frozen=True)
class ImprovedUCB(Policy):
    """`BUCB` with each arm's variance proxy taken from its own bounds.

    An arm whose mean is known to be near an end of the range has rewards that vary less, so its index is narrower.

    Parameters
    ----------
    f
        How fast exploration grows, see `Policy`.

    Notes
    -----
    Corollary 3.1 of the paper; see `meanbounds.variance_proxy_from_bounds`.

    Examples
    --------
    >>> import meanbounds as mb
    >>> mb.ImprovedUCB().plan(mb.MeanBounds([0.9, 0.1], [1.0, 1.0])).proxy.round(3)
    array([0.182, 0.25 ])
    """

    counts_pending: ClassVar[bool] = True
    theorem: ClassVar[str] = "Corollary 3.1"

    def prepare(self, known: Knowledge) -> Plan:
        """Keep the arms that can be best, with their upper bounds as caps and the proxies of their own bounds."""
        bounds = known.bounds
        return make_plan(bounds, bounds.possible, cap=bounds.upper, lower=bounds.lower, proxy=bounds.variance_proxy)


@dataclass(frozen=True)
class GLUE(Policy):
    """Global under-exploration: `BUCB` with the variance proxy that each arm would have if it were the best one.

    The best arm's mean is at least l_max, the largest lower bound. GLUE therefore computes the proxy of arm k from the
    interval ``[max(l_k, l_max), u_k]``. For the best arm this proxy is valid. For another arm it may be too small: then
    its index is no upper confidence bound, which costs nothing, since that arm is only played less.

    Parameters
    ----------
    f
        How fast exploration grows, see `Policy`.

    Notes
    -----
    Theorem 6 of the paper. Differs from the paper: the proxy of arm k is taken from ``max(l_k, l_max)`` and ``u_k`` in
    the arm's own range. With one range for all arms this is the printed rule; with several the printed rule fails. An
    arm that was never played has index ``u_k`` rather than a forced first play.

    Examples
    --------
    >>> import meanbounds as mb
    >>> bounds = mb.MeanBounds([0.9, 0.1, 0.2], [1.0, 1.0, 0.8])
    >>> mb.GLUE().plan(bounds).proxy.round(3)  # for ImprovedUCB the second is 0.25
    array([0.182, 0.182])
    """

    counts_pending: ClassVar[bool] = True
    theorem: ClassVar[str] = "Theorem 6"

    def prepare(self, known: Knowledge) -> Plan:
        """Keep the arms that can be best, with their upper bounds as caps and the proxies of a best arm."""
        bounds = known.bounds
        return make_plan(
            bounds, bounds.possible, cap=bounds.upper, lower=bounds.lower, proxy=bounds.best_variance_proxy
        )


@dataclass(frozen=True)
class KLUCB(Policy):
    """KL-UCB (Garivier and Cappé, 2011): play the arm with the largest mean that its rewards do not rule out.

    The index is the largest q with ``kl(mean, q) <= log f(t) / plays``, where both are in units of the arm's range; see
    `meanbounds.bernoulli_kl_upper`. Ignores the bounds.

    Parameters
    ----------
    f
        How fast exploration grows, see `Policy`.

    Examples
    --------
    >>> import meanbounds as mb
    >>> agent = mb.Agent(mb.KLUCB(f="t"), mb.MeanBounds.vacuous(1), seed=1)
    >>> agent.update(0, 0.0)
    >>> agent.indices()  # kl(0, q) = -log(1 - q) is log 2 at q = 1/2
    array([0.5])
    """

    kernel: ClassVar[int] = textbook.KL
    counts_pending: ClassVar[bool] = True
    theorem: ClassVar[str] = "Garivier and Cappé 2011"

    def prepare(self, known: Knowledge) -> Plan:
        """Keep every arm; the only cap is the top of its range."""
        bounds = known.bounds
        return make_plan(bounds, cap=bounds.high)


@dataclass(frozen=True)
class BKLUCB(Policy):
    """B-KL-UCB (Zhang and Bareinboim, 2017): `KLUCB` with bounds.

    It skips the arms that cannot be best, and clips each index at the arm's upper bound.

    Parameters
    ----------
    f
        How fast exploration grows, see `Policy`.

    Examples
    --------
    >>> import meanbounds as mb
    >>> agent = mb.Agent(mb.BKLUCB(), mb.MeanBounds([0.6, 0.1, 0.2], [0.9, 0.5, 0.8]), seed=1)
    >>> agent.update(2, 0.0)
    >>> agent.indices().round(3)
    array([0.9 , -inf, 0.49])
    """

    kernel: ClassVar[int] = textbook.KL
    counts_pending: ClassVar[bool] = True
    theorem: ClassVar[str] = "Zhang and Bareinboim 2017"

    def prepare(self, known: Knowledge) -> Plan:
        """Keep the arms that can be best; cap each index at the arm's upper bound."""
        bounds = known.bounds
        return make_plan(bounds, bounds.possible, cap=bounds.upper, lower=bounds.lower)


@dataclass(frozen=True)
class UCBoost(Policy):
    """UCBoost (Liu, Sinha and Shroff, 2018): `BKLUCB` with a closed form in place of its index.

    The index is the smallest of four closed-form bounds above the KL index. That is cheaper than solving an equation;
    the simulator's B-KL-UCB avoids most of the solving anyway, so this policy is here as a baseline, not to save time.

    Parameters
    ----------
    f
        How fast exploration grows, see `Policy`.

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
    counts_pending: ClassVar[bool] = True
    theorem: ClassVar[str] = "Liu et al. 2018"

    def prepare(self, known: Knowledge) -> Plan:
        """Keep the arms that can be best; cap each index at the arm's upper bound."""
        bounds = known.bounds
        return make_plan(bounds, bounds.possible, cap=bounds.upper, lower=bounds.lower)
