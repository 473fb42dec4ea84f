"""Regret divided by log n in the long run: the bound for each policy, and the least that any policy can have."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanbounds.bounds import MeanBounds
from meanbounds.divergence import bernoulli_kl
from meanbounds.kernels.arms import textbook
from meanbounds.policies import BKLUCB, BUCB, GLUE, KLUCB, OSSB, UCB, ImprovedUCB, OptimisticGittins, Policy
from meanbounds.policies.exploration import DEFAULT
from meanbounds.support.optional import optional
from meanbounds.support.tables import text_table
from meanbounds.support.types import Floats
from meanbounds.theory.given import Form, check_form, check_means, check_optimism, used_bounds

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Comparison",
    "ComparisonRow",
    "asymptotic_constant",
    "asymptotic_plays",
    "comparison",
    "lower_bound",
]


_RATES = {  # for which f the theorem holds: log f(t) / log t tends to 1, and fast enough
    textbook.GAUSSIAN: (DEFAULT, "t log(t)^3"),
    textbook.KL: (DEFAULT, "t log(t)^3"),
    textbook.OSSB: ("t",),
    textbook.GITTINS: ("t", "t + 1000", DEFAULT, "t log(t)^3"),
}


def asymptotic_plays(policy: Policy, means: ArrayLike, bounds: MeanBounds) -> Floats:
    r"""Bound how often a policy plays each suboptimal arm in the long run, in multiples of log n.

    This bounds the limit of E[plays] / log n; a best arm, which is played in almost every round, has 0. An arm whose
    index the policy clips below the best mean, or that it does not keep, has 0 as well. Any other arm has

    .. math:: 2 \psi_k / \Delta_k^2 \quad\text{(UCB, B-UCB, ImprovedUCB, GLUE)}, \qquad
              1 / d_k(\mu_k, \mu^*) \quad\text{(KL-UCB, B-KL-UCB, OptimisticGittins)}

    with the policy's variance proxy :math:`\psi_k` for the arm, its gap :math:`\Delta_k`, and the divergence d of
    rewards at the two ends of the arm's range; 0 where that is infinite. OSSB plays each arm ``1 + gamma`` times as
    often as B-KL-UCB, and each arm that it keeps in at least a share epsilon of all its exploring rounds.

    Parameters
    ----------
    policy
        A policy with the default f or ``"t log(t)^3"``; OSSB has its own, and needs gamma above 0 and one best arm;
        OptimisticGittins may have ``"t"`` or ``"t + 1000"`` as well, and needs ``moments=1``.
        There is no such theorem for other policies: they raise a ValueError.
    means
        The true means, in reward units, in the order of the bounds' arms.
    bounds
        The bounds that the policy was given; they have to hold unless the policy ignores them.

    Returns
    -------
    array
        One number for each arm: 50 means about 50 log n plays, so some 700 in a million rounds.

    Notes
    -----
    Theorem 6 and Table 1; docs/gittins.md for OptimisticGittins. An arm with upper bound equal to the best mean counts,
    as in the theorem; see `lower_bound`.

    For OSSB let :math:`c_k = (1 + \gamma) / d_k`, or 0 for an arm that the bounds rule out in the long run. The plays
    are :math:`x_k = \max(c_k, \min(\epsilon s, \max_j c_j))` with :math:`s = \sum_k x_k`, the exploring rounds. With
    epsilon and gamma near 0 they are those of B-KL-UCB. Combes et al. (2017) state a limit without giving it in this
    form. If several arms are best, OSSB explores in almost every round, to tell them apart, and each of the others
    gets a share epsilon of these rounds: its regret is linear.

    Examples
    --------
    >>> import meanbounds as mb
    >>> mb.theory.asymptotic_plays(mb.UCB(), [0.9, 0.8], mb.MeanBounds.vacuous(2)).round(6)
    array([ 0., 50.])

    With an upper bound below the best mean, B-UCB stops playing the second arm after a while:

    >>> mb.theory.asymptotic_plays(mb.BUCB(), [0.9, 0.8], mb.MeanBounds([0.5, 0.5], [1.0, 0.85]))
    array([0., 0.])

    OSSB with gamma = 1 plays twice as often as it has to:

    >>> vacuous = mb.MeanBounds.vacuous(2)
    >>> mb.theory.asymptotic_plays(mb.OSSB(gamma=1.0), [0.9, 0.8], vacuous).round(2)
    array([ 0.  , 45.04])
    >>> mb.theory.asymptotic_plays(mb.BKLUCB(), [0.9, 0.8], vacuous).round(2)
    array([ 0.  , 22.52])
    """
    rounds = not (isinstance(policy, OptimisticGittins) and policy.moments == 2)
    if not (isinstance(policy, Policy) and rounds and policy.f in _RATES.get(policy.kernel, ())):
        raise ValueError(f"{policy}: no theorem says what remains of its regret over log n")
    bounds = used_bounds(policy, bounds)
    mu = check_means(means, bounds)
    if policy.kernel == textbook.GAUSSIAN:
        check_optimism(policy, mu, bounds)
    plan, best = policy.plan(bounds), mu.max()
    live = plan.select((mu[plan.arms] < best) & (plan.cap >= best))
    gap = best - mu[live.arms]
    plays = np.zeros(len(bounds))
    with np.errstate(divide="ignore", over="ignore"):
        if policy.kernel == textbook.GAUSSIAN:
            plays[live.arms] = 2.0 * live.proxy / gap / gap
        else:
            plays[live.arms] = 1.0 / _divergence(mu, bounds, live.arms)
        if isinstance(policy, OSSB):
            others = plan.arms[mu[plan.arms] < best]
            _check_ossb(policy, int(np.sum(mu[plan.arms] == best)), others.size)
            plays[others] = _forced((1.0 + policy.gamma) * plays[others], policy.epsilon)
    return plays


def _check_ossb(policy: OSSB, best_arms: int, other_arms: int) -> None:
    """Raise a ValueError where the theorem about OSSB does not apply."""
    if not policy.gamma > 0.0:
        raise ValueError(f"{policy}: the theorem needs gamma above 0")
    if best_arms > 1 and other_arms:
        raise ValueError(f"{policy}: {best_arms} arms are best; the theorem needs one, with several regret is linear")


def _forced(needs: Floats, epsilon: float) -> Floats:
    """Plays of arms that need `needs`, if each also gets a share epsilon of all of these plays.

    With the m smallest at that share, s, the sum of the plays, is that of the other needs over 1 - m epsilon. No play
    is forced once every need is met, so none is above the largest need.
    """
    ordered = np.sort(needs)
    for m, need in enumerate(ordered):
        rest = 1.0 - m * epsilon
        least = epsilon * ordered[m:].sum() / rest if rest > 0.0 else np.inf
        if need >= least:
            return np.maximum(needs, least)
    return np.full(needs.shape, ordered[-1] if ordered.size else 0.0)


def _divergence(mu: Floats, bounds: MeanBounds, arms: NDArray[np.intp]) -> Floats:
    """Divergence from each arm's law to that with the best mean, two-point rewards in the arm's own range."""
    low, span = bounds.low[arms], bounds.high[arms] - bounds.low[arms]
    own, best = (mu[arms] - low) / span, np.minimum((mu.max() - low) / span, 1.0)
    return np.atleast_1d(bernoulli_kl(own, best))


def _regret(plays: Floats, means: ArrayLike) -> float:
    """Plays times gaps; an arm that is not played costs nothing, even if its gap is infinite."""
    mu = np.asarray(means, dtype=np.float64)
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
    Bounds on the means save GLUE a fifth of the regret that UCB, which ignores them, has in the long run:

    >>> import meanbounds as mb
    >>> bounds = mb.MeanBounds([0.85, 0.4], [0.98, 0.97])
    >>> round(mb.theory.asymptotic_constant(mb.GLUE(), [0.9, 0.8], bounds), 3)
    4.036
    >>> round(mb.theory.asymptotic_constant(mb.UCB(), [0.9, 0.8], bounds), 3)
    5.0
    """
    return _regret(asymptotic_plays(policy, means, bounds), means)


def lower_bound(means: ArrayLike, bounds: MeanBounds) -> float:
    r"""The smallest constant that any sensible policy can have: its regret is at least about this times log n.

    .. math:: \sum_{k:\, \mu_k < \mu^* < u_k} \frac{\Delta_k}{d_k(\mu_k, \mu^*)}

    Rewards lie at the two ends of their range. A sensible policy is one whose regret grows more slowly than every power
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
    and counts for nothing, where the paper's K_2(0) has it. The constant of B-KL-UCB, and that of OSSB as epsilon and
    gamma tend to 0, equal the bound on every other instance.

    Examples
    --------
    >>> import meanbounds as mb
    >>> round(mb.theory.lower_bound([0.9, 0.8], mb.MeanBounds.vacuous(2)), 3)
    2.252
    >>> mb.theory.lower_bound([0.9, 0.8], mb.MeanBounds([0.0, 0.0], [1.0, 0.9]))
    0.0
    """
    mu = check_means(means, bounds)
    arms = np.flatnonzero((mu < mu.max()) & (bounds.upper > mu.max()))
    plays = np.zeros(len(bounds))
    with np.errstate(divide="ignore", over="ignore"):
        plays[arms] = 1.0 / _divergence(mu, bounds, arms)
    return _regret(plays, mu)


@dataclass(frozen=True)
class ComparisonRow:
    """One line of `comparison`: an algorithm and the constant in front of log n in its regret.

    Attributes
    ----------
    algorithm
        Name.
    rewards
        ``"any"`` in the range, or ``"two-point"``: at both ends of it.
    meta_prunes
        Whether arms whose upper bound is below the best mean cost nothing in the long run.
    constant
        Bound on the limit superior of regret over log n, in reward units.

    Examples
    --------
    >>> import meanbounds as mb
    >>> mb.theory.comparison([0.9, 0.4], mb.MeanBounds([0.7, 0.1], [0.95, 0.6])).rows[1]
    ComparisonRow(algorithm='B-UCB', rewards='any', meta_prunes=True, constant=0.0)
    """

    algorithm: str
    rewards: str
    meta_prunes: bool
    constant: float


@dataclass(frozen=True)
class Comparison:
    """The constants in front of log n of all algorithms on one instance; print it to see them as a table.

    Attributes
    ----------
    rows
        A `ComparisonRow` for each algorithm, in the order of Table 1.
    lower_bound
        The smallest constant that any sensible policy can have: see `meanbounds.theory.lower_bound`.

    Examples
    --------
    >>> import meanbounds as mb
    >>> table = mb.theory.comparison([0.9, 0.8], mb.MeanBounds([0.85, 0.4], [0.98, 0.97]))
    >>> round(table.constant("GLUE"), 2), round(table.lower_bound, 2)
    (4.04, 2.25)
    """

    rows: tuple[ComparisonRow, ...]
    lower_bound: float

    def constant(self, algorithm: str) -> float:
        """Look up the constant of one algorithm, by its name in the table.

        Examples
        --------
        >>> import meanbounds as mb
        >>> table = mb.theory.comparison([0.9, 0.8], mb.MeanBounds.vacuous(2))
        >>> round(table.constant("KL-UCB"), 3)
        2.252
        >>> table.constant("TS")
        Traceback (most recent call last):
        ValueError: unknown algorithm 'TS'; the table has 'UCB', 'B-UCB', ..., 'GLUE'
        """
        for row in self.rows:
            if row.algorithm == algorithm:
                return row.constant
        names = ", ".join(repr(row.algorithm) for row in self.rows)
        raise ValueError(f"unknown algorithm {algorithm!r}; the table has {names}")

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas data frame, one row for each algorithm; the lower bound is not among them.

        Examples
        --------
        >>> import meanbounds as mb
        >>> frame = mb.theory.comparison([0.9, 0.8], mb.MeanBounds.vacuous(2)).to_frame()
        >>> frame.columns.tolist(), len(frame)
        (['algorithm', 'rewards', 'meta_prunes', 'constant'], 7)
        """
        with optional("frames", "data frames"):
            import pandas as pd

        return pd.DataFrame([asdict(row) for row in self.rows])

    def __str__(self) -> str:
        """The table, aligned."""
        header = ("algorithm", "rewards", "meta-prunes", "regret / log n")
        rows = [
            (row.algorithm, row.rewards, "yes" if row.meta_prunes else "no", f"{row.constant:.4g}") for row in self.rows
        ]
        last = ("lower bound", "two-point", "", f"{self.lower_bound:.4g}")
        return text_table(header, rows, align="lllr", footer=last)


_TABLE: tuple[tuple[str, Policy, str, bool], ...] = (
    ("UCB", UCB(), "any", False),
    ("B-UCB", BUCB(), "any", True),
    ("ImprovedUCB", ImprovedUCB(), "any", True),
    ("KL-UCB", KLUCB(), "any", False),
    ("B-KL-UCB", BKLUCB(), "any", True),
    ("OSSB", BKLUCB(), "two-point", True),  # its constant as epsilon and gamma tend to 0, as the paper compares it
    ("GLUE", GLUE(), "any", True),
)


def comparison(means: ArrayLike, bounds: MeanBounds, *, form: Form = "corrected") -> Comparison:
    """Compare how fast each algorithm's regret grows on one instance: the constants in front of log n.

    OSSB is compared as epsilon and gamma tend to 0; for other values see `asymptotic_constant`.

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

    Notes
    -----
    Table 1. Differs from the paper: UCB and KL-UCB play the arms that pruning would remove, so all arms count for them.
    If the best mean lies above an arm's own range, the arm's index under KL-UCB never reaches the best mean, so that
    arm counts for nothing. That B-KL-UCB is never above GLUE follows from Kearns and Saul:
    d(mu_k, mu*) >= gap^2 / (2 c(mu*)), and GLUE's factor is the largest c over an interval that contains mu* if
    u_k >= mu*.

    Examples
    --------
    >>> import meanbounds as mb
    >>> bounds = mb.MeanBounds([0.7, 0.2, 0.3, 0.1], [0.95, 0.93, 0.75, 0.6])
    >>> table = mb.theory.comparison([0.9, 0.8, 0.5, 0.4], bounds)
    >>> print(table)
    algorithm    rewards    meta-prunes  regret / log n
    ---------------------------------------------------
    UCB          any        no                     7.25
    B-UCB        any        yes                       5
    ImprovedUCB  any        yes                       5
    KL-UCB       any        no                    3.701
    B-KL-UCB     any        yes                   2.252
    OSSB         two-point  yes                   2.252
    GLUE         any        yes                   4.721
    ---------------------------------------------------
    lower bound  two-point                        2.252
    >>> round(mb.theory.comparison([0.9, 0.8, 0.5, 0.4], bounds, form="paper").constant("UCB"), 3)
    6.25
    """
    check_form(form)
    mu = check_means(means, bounds)
    rows = []
    for name, policy, rewards, meta_prunes in _TABLE:
        if form == "paper" and name == "ImprovedUCB":
            continue
        kept = bounds.possible if form == "paper" else np.ones(len(bounds), dtype=bool)
        constant = asymptotic_constant(policy, mu[kept], bounds.subset(kept))
        rows.append(ComparisonRow(name, rewards, meta_prunes, constant))
    return Comparison(tuple(rows), lower_bound(mu, bounds))
