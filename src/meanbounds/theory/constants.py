"""What remains of regret over log n in the long run, and the least that is possible."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanbounds.bounds import MeanBounds
from meanbounds.divergence import bernoulli_kl
from meanbounds.kernels.arms import textbook
from meanbounds.policies import BKLUCB, BUCB, GLUE, KLUCB, OSSB, UCB, ImprovedUCB, Policy
from meanbounds.policies.exploration import DEFAULT
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
}


def asymptotic_plays(policy: Policy, means: ArrayLike, bounds: MeanBounds) -> Floats:
    r"""Bound on the limit of E[plays] / log n for each suboptimal arm; 0 for best arms, which are played n times.

    An arm counts if the policy keeps it and does not clip its index below the best mean; then it is

    .. math:: 2 \psi_k / \Delta_k^2 \quad\text{(UCB, B-UCB, ImprovedUCB, GLUE)}, \qquad
              1 / d_k(\mu_k, \mu^*) \quad\text{(KL-UCB, B-KL-UCB, OSSB)}

    with the policy's factor :math:`\psi_k` and the divergence d of two-point rewards in the arm's own range; 0 where
    that is infinite.

    Parameters
    ----------
    policy
        With the default f or ``"t log(t)^3"``; OSSB with its own. For OSSB it is the limit as epsilon and gamma tend to
        0. Other policies have no theorem for bounds that say something.
    means, bounds
        The true means, and the bounds that the policy was given; they have to hold unless the policy ignores them.

    Notes
    -----
    Theorem 6 and Table 1. An arm with upper bound equal to the best mean counts, as in the theorem; see `lower_bound`.

    Examples
    --------
    >>> import meanbounds as mb
    >>> mb.theory.asymptotic_plays(mb.UCB(), [0.9, 0.8], mb.MeanBounds.vacuous(2)).round(6)
    array([ 0., 50.])
    """
    if not isinstance(policy, Policy) or policy.f not in _RATES.get(policy.kernel, ()):
        raise ValueError(f"{policy}: no theorem says what remains of its regret over log n")
    bounds = used_bounds(policy, bounds)
    mu = check_means(means, bounds)
    if policy.kernel == textbook.GAUSSIAN:
        check_optimism(policy, mu, bounds)
    plan, best = policy.plan(bounds), mu.max()
    plan = plan.select((mu[plan.arms] < best) & (plan.cap >= best))
    arms = plan.arms
    plays = np.zeros(len(bounds))
    with np.errstate(divide="ignore", over="ignore"):
        if policy.kernel == textbook.GAUSSIAN:
            plays[arms] = 2.0 * plan.proxy / (best - mu[arms]) / (best - mu[arms])
        else:
            plays[arms] = 1.0 / _divergence(mu, bounds, arms)
    return plays


def _divergence(mu: Floats, bounds: MeanBounds, arms: NDArray[np.intp]) -> Floats:
    """Divergence from each arm's law to that with the best mean, two-point rewards in the arm's own range."""
    low, span = bounds.low[arms], bounds.high[arms] - bounds.low[arms]
    own, best = (mu[arms] - low) / span, np.minimum((mu.max() - low) / span, 1.0)
    return np.atleast_1d(bernoulli_kl(own, best))


def _regret(plays: Floats, means: ArrayLike) -> float:
    """Plays times gaps, where an arm that is not played loses nothing."""
    mu = np.asarray(means, dtype=np.float64)
    return float(np.sum((mu.max() - mu)[plays > 0.0] * plays[plays > 0.0]))


def asymptotic_constant(policy: Policy, means: ArrayLike, bounds: MeanBounds) -> float:
    """Bound on the limit superior of regret over log n: gaps times `asymptotic_plays`.

    Examples
    --------
    >>> import meanbounds as mb
    >>> bounds = mb.MeanBounds([0.85, 0.4], [0.98, 0.97])
    >>> round(mb.theory.asymptotic_constant(mb.GLUE(), [0.9, 0.8], bounds), 3)
    4.036
    """
    return _regret(asymptotic_plays(policy, means, bounds), means)


def lower_bound(means: ArrayLike, bounds: MeanBounds) -> float:
    r"""The least that the limit of regret over log n can be, for rewards at the two ends of their range.

    .. math:: \sum_{k:\, \mu_k < \mu^* < u_k} \frac{\Delta_k}{d_k(\mu_k, \mu^*)}

    No policy that has regret of smaller order than every power of n for all means within the bounds does better.

    Notes
    -----
    Graves and Lai (1997), Appendix D. Differs from the paper: an alternative in which arm k is the only best one needs
    a mean *above* that of the best arm, which stays as it is; an arm with upper bound equal to the best mean has none
    and counts for nothing, where the paper's K_2(0) has it. The constants of B-KL-UCB and OSSB equal the bound on every
    other instance.

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
    """One algorithm: which rewards it is for, whether meta-pruned arms drop out, and the rate.

    Attributes
    ----------
    algorithm
        Name.
    rewards
        ``"any"`` in the range, or ``"two-point"``: at both ends of it.
    meta_prunes
        Whether arms with upper bounds below the best mean drop out.
    constant
        Bound on the limit superior of regret over log n.
    """

    algorithm: str
    rewards: str
    meta_prunes: bool
    constant: float


@dataclass(frozen=True)
class Comparison:
    """Table of what remains of each algorithm's regret over log n, and the least that is possible."""

    rows: tuple[ComparisonRow, ...]
    lower_bound: float

    def constant(self, algorithm: str) -> float:
        """The constant of one algorithm, by its name in the table."""
        for row in self.rows:
            if row.algorithm == algorithm:
                return row.constant
        names = ", ".join(repr(row.algorithm) for row in self.rows)
        raise ValueError(f"unknown algorithm {algorithm!r}; the table has {names}")

    def to_frame(self) -> pd.DataFrame:
        """A pandas data frame, one row for each algorithm."""
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
    ("OSSB", OSSB(), "two-point", True),
    ("GLUE", GLUE(), "any", True),
)


def comparison(means: ArrayLike, bounds: MeanBounds, form: Form = "corrected") -> Comparison:
    """Compare what remains of each algorithm's regret over log n on one instance.

    Always: lower bound <= B-KL-UCB = OSSB <= GLUE <= ImprovedUCB <= B-UCB <= UCB, and B-KL-UCB <= KL-UCB <= UCB. KL-UCB
    and GLUE are in no order: one knows the divergence, the other the bounds.

    Parameters
    ----------
    means
        The true means, in the order of the bounds' arms.
    bounds
        Bounds that hold; ranges may differ by arm.
    form
        ``"paper"``: the table as printed. There UCB and KL-UCB, which take no notice of bounds, are not charged with
        the arms that bounds prune; ImprovedUCB is not in it.

    Notes
    -----
    Table 1. Differs from the paper: UCB and KL-UCB play the arms that pruning would remove, so all arms count for them;
    an arm outside whose own range the best mean lies never has an index that reaches it under KL-UCB, and counts for
    nothing. That B-KL-UCB is never above GLUE follows from Kearns and Saul: d(mu_k, mu*) >= gap^2 / (2 c(mu*)), and
    GLUE's factor is the largest c over an interval that contains mu* if u_k >= mu*.

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
