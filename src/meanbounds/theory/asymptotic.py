"""Regret divided by log n in the long run: the bound for each policy, and the least that any policy can have."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.bounds import Arm, MeanBounds
from meanbounds.divergence import kl
from meanbounds.policies import BKLUCB, BUCB, GLUE, KLUCB, UCB, ImprovedUCB, Policy
from meanbounds.policies.base import DEFAULT
from meanbounds.support.types import Floats
from meanbounds.theory.conditions import Form, check_form, check_means, index_form
from meanbounds.theory.finite_time import meta_pruned_plays

__all__ = [
    "ArmStatus",
    "ComparisonRow",
    "arm_status",
    "asymptotic_constant",
    "asymptotic_plays",
    "comparison",
    "lower_bound",
]

_RATES = (DEFAULT, "t log(t)^3")  # f for which the theorems hold: log f(t) / log t tends to 1, and fast enough


def asymptotic_plays(policy: Policy, means: ArrayLike, bounds: MeanBounds) -> Floats:
    r"""Bound how often a policy plays each suboptimal arm in the long run, in multiples of log n.

    This bounds the limit of E[plays] / log n; a best arm, which is played in almost every round, has 0. An arm whose
    index the policy clips below the best mean, or that it does not keep, has 0 as well. Any other arm has

    .. math:: 2 \psi_k / \Delta_k^2 \quad\text{(UCB, B-UCB, ImprovedUCB, GLUE)}, \qquad
              1 / d_k(\mu_k, \mu^*) \quad\text{(KL-UCB, B-KL-UCB)}

    with the policy's variance proxy :math:`\psi_k` for the arm, its gap :math:`\Delta_k`, and the divergence d of
    rewards at the two ends of the arm's range; 0 where that is infinite.

    Parameters
    ----------
    policy
        `UCB`, `BUCB`, `ImprovedUCB`, `GLUE`, `KLUCB` or `BKLUCB`, with the default f or ``"t log(t)^3"``.
    means
        The true means, in reward units, in the order of the bounds' arms.
    bounds
        The bounds that the policy was given; they must hold unless the policy ignores them.

    Notes
    -----
    Theorem 6 and Table 1. An arm with upper bound equal to the best mean counts, as in the theorem; see `lower_bound`.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.theory import asymptotic_plays
    >>> asymptotic_plays(mb.UCB(), [0.9, 0.8], mb.MeanBounds.vacuous(2)).round(6)
    array([ 0., 50.])
    """
    bounds, kept, cap, proxy = index_form(policy, bounds)
    if policy.f not in _RATES:
        raise ValueError(f"{policy!r}: the theorem is for f = {' or '.join(map(repr, _RATES))}")
    mu = check_means(means, bounds)
    gap = mu.max() - mu
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        often = 1.0 / _divergence(mu, bounds) if proxy is None else 2.0 * proxy / gap / gap
    return np.where(kept & (gap > 0.0) & (cap >= mu.max()), often, 0.0)


def _divergence(mu: Floats, bounds: MeanBounds) -> Floats:
    """Divergence from each arm's law to the one with the best mean, for rewards at the ends of the arm's range."""
    width = bounds.high - bounds.low
    return kl((mu - bounds.low) / width, np.minimum((mu.max() - bounds.low) / width, 1.0))


def _regret(plays: Floats, mu: Floats) -> float:
    """Plays times gaps; an arm that is not played costs nothing, even if its gap is infinite."""
    return float(np.sum((mu.max() - mu)[plays > 0.0] * plays[plays > 0.0]))


def asymptotic_constant(policy: Policy, means: ArrayLike, bounds: MeanBounds) -> float:
    """Bound how fast a policy's regret grows in the long run: regret is at most about this constant times log n.

    It is the sum over arms of the gap times `asymptotic_plays`, in reward units.

    Parameters
    ----------
    policy, means, bounds
        As for `asymptotic_plays`.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.theory import asymptotic_constant
    >>> bounds = mb.MeanBounds([0.85, 0.4], [0.98, 0.97])
    >>> [round(asymptotic_constant(policy, [0.9, 0.8], bounds), 3) for policy in (mb.GLUE(), mb.UCB())]
    [4.036, 5.0]
    """
    plays = asymptotic_plays(policy, means, bounds)
    return _regret(plays, np.asarray(means, dtype=np.float64))


def lower_bound(means: ArrayLike, bounds: MeanBounds) -> float:
    r"""The smallest constant that any consistent policy can have: its regret is at least about this times log n.

    .. math:: C(\theta) = \sum_{k:\, \mu_k < \mu^* < u_k} \frac{\Delta_k}{d_k(\mu_k, \mu^*)}

    Rewards lie at the two ends of their range. A policy is consistent if its regret grows more slowly than every power
    of n, whatever means within the bounds are the true ones.

    Parameters
    ----------
    means
        The true means, in reward units, in the order of the bounds' arms.
    bounds
        Bounds that hold; their range is that of the rewards.

    Notes
    -----
    Graves and Lai (1997), Appendix D. Differs from the paper: an alternative in which arm k is the only best one needs
    a mean *above* that of the best arm, which stays as it is; an arm with upper bound equal to the best mean has none
    and counts for nothing, where the paper's K_2(0) has it. On every other instance B-KL-UCB attains the bound.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.theory import lower_bound
    >>> round(lower_bound([0.9, 0.8], mb.MeanBounds.vacuous(2)), 3)
    2.252
    >>> lower_bound([0.9, 0.8], mb.MeanBounds([0.0, 0.0], [1.0, 0.9]))
    0.0
    """
    mu = check_means(means, bounds)
    with np.errstate(divide="ignore", over="ignore"):
        plays = np.where((mu < mu.max()) & (bounds.upper > mu.max()), 1.0 / _divergence(mu, bounds), 0.0)
    return _regret(plays, mu)


class ComparisonRow(NamedTuple):
    """One line of `comparison`.

    Attributes
    ----------
    algorithm
        Name of the algorithm; ``"lower bound"`` in the last row.
    rewards
        ``"any"`` in the range, or ``"two-point"``: at both ends of it.
    meta_prunes
        Whether arms whose upper bound is below the best mean cost nothing in the long run.
    constant
        Bound on the limit superior of regret over log n, in reward units.
    """

    algorithm: str
    rewards: str
    meta_prunes: bool
    constant: float


_TABLE: tuple[tuple[str, Policy, str, bool], ...] = (
    ("UCB", UCB(), "any", False),
    ("B-UCB", BUCB(), "any", True),
    ("ImprovedUCB", ImprovedUCB(), "any", True),
    ("KL-UCB", KLUCB(), "any", False),
    ("B-KL-UCB", BKLUCB(), "any", True),
    ("OSSB", BKLUCB(), "two-point", True),  # the same formula: its constant as epsilon and gamma tend to 0
    ("GLUE", GLUE(), "any", True),
)


def comparison(means: ArrayLike, bounds: MeanBounds, *, form: Form = "corrected") -> list[ComparisonRow]:
    """Compare how fast each algorithm's regret grows on one instance: the constants in front of log n.

    Always: lower bound <= B-KL-UCB = OSSB <= GLUE <= ImprovedUCB <= B-UCB <= UCB, and B-KL-UCB <= KL-UCB <= UCB. Either
    of KL-UCB and GLUE can be ahead: one uses the divergence, the other the bounds.

    Parameters
    ----------
    means
        The true means, in the order of the bounds' arms.
    bounds
        Bounds that hold; ranges may differ by arm.
    form
        ``"paper"``: the table as printed. It leaves out ImprovedUCB, and for UCB and KL-UCB the arms that the bounds
        prune, although these two ignore bounds and play them.

    Returns
    -------
    A `ComparisonRow` for each algorithm, in the order of the table, then one for the lower bound;
    ``pandas.DataFrame(rows)`` makes a frame of them.

    Notes
    -----
    Table 1. Differs from the paper: UCB and KL-UCB play the arms that pruning would remove, so all arms count for them.
    That B-KL-UCB is never above GLUE follows from Kearns and Saul: d(mu_k, mu*) >= gap^2 / (2 c(mu*)), and GLUE's
    factor is the largest c over an interval that contains mu* if u_k >= mu*.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.theory import comparison
    >>> bounds = mb.MeanBounds([0.7, 0.2, 0.3, 0.1], [0.95, 0.93, 0.75, 0.6])
    >>> for row in comparison([0.9, 0.8, 0.5, 0.4], bounds):
    ...     print(f"{row.algorithm:12}{row.constant:6.3f}")
    UCB          7.250
    B-UCB        5.000
    ImprovedUCB  5.000
    KL-UCB       3.701
    B-KL-UCB     2.252
    OSSB         2.252
    GLUE         4.721
    lower bound  2.252
    """
    check_form(form)
    mu = check_means(means, bounds)
    kept = bounds.possible if form == "paper" else np.ones(len(bounds), dtype=bool)
    rows = [
        ComparisonRow(name, rewards, meta_prunes, asymptotic_constant(policy, mu[kept], bounds.subset(kept)))
        for name, policy, rewards, meta_prunes in _TABLE
        if form == "corrected" or name != "ImprovedUCB"
    ]
    return [*rows, ComparisonRow("lower bound", "two-point", True, lower_bound(mu, bounds))]


class ArmStatus(NamedTuple):
    """How often GLUE plays one arm: its name, the kind as `arm_status` says it, and the reason, with the numbers."""

    arm: Arm
    kind: str
    reason: str


def arm_status(means: ArrayLike, bounds: MeanBounds) -> list[ArmStatus]:
    """Say how often GLUE plays each arm, and which numbers decide that.

    GLUE never plays a pruned arm. It plays a meta-pruned one a bounded number of times, however long it runs, an
    explored one a multiple of log n times, and a best one in all other rounds.

    Parameters
    ----------
    means
        The true means, in reward units, in the order of the bounds' arms.
    bounds
        Bounds that hold.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.theory import arm_status
    >>> bounds = mb.MeanBounds([0.7, 0.2, 0.3, 0.1], [0.95, 0.93, 0.75, 0.6], arms=["a", "b", "c", "d"])
    >>> found = arm_status([0.9, 0.8, 0.5, 0.4], bounds)
    >>> [status.kind for status in found]
    ['best', 'explored', 'meta-pruned', 'pruned']
    >>> found[3].reason
    "its upper bound 0.6 is not above the largest lower bound 0.7 (arm 'a'), so it is never played"
    """
    mu = check_means(means, bounds)
    best, first = float(mu.max()), bounds.arms[int(np.argmax(bounds.lower))]
    often, possible = asymptotic_plays(GLUE(), mu, bounds), bounds.possible
    lead = float(bounds.best_variance_proxy[possible & (mu == best)].min())
    seldom = meta_pruned_plays(lead, best - bounds.upper)
    found = []
    for k, arm in enumerate(bounds.arms):
        upper = f"its upper bound {bounds.upper[k]:.6g} is"
        if not possible[k]:
            largest = f"the largest lower bound {bounds.best_lower:.6g} (arm {first!r})"
            kind, why = "pruned", f"{upper} not above {largest}, so it is never played"
        elif mu[k] == best:
            kind, why = "best", f"its mean {best:.6g} is the largest"
        elif bounds.upper[k] < best:
            times = f"it is played at most {_short(seldom[k])} times in expectation, however long GLUE runs"
            kind, why = "meta-pruned", f"{upper} below the best mean {best:.6g}, so {times}"
        else:
            times = f"it is played at most about {_short(often[k])} log n times in the long run"
            kind, why = "explored", f"{upper} not below the best mean {best:.6g}, so {times}"
        found.append(ArmStatus(arm, kind, why))
    return found


def _short(number: float) -> str:
    return f"{number:,.0f}" if number >= 100.0 else f"{number:.3g}"
