"""Rivals from the literature, as baselines: what others do with the same knowledge, or with a log taken as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from meanbounds.kernels.arms import textbook
from meanbounds.knowledge import Knowledge
from meanbounds.policies.base import Policy
from meanbounds.policies.exploration import DEFAULT
from meanbounds.policies.index import UCB
from meanbounds.policies.logged import LoggedArms
from meanbounds.policies.plan import Plan, make_plan
from meanbounds.support.checks import as_floats, shown
from meanbounds.support.types import Floats

__all__ = ["MINTS", "MINUCB", "LoggedPolicy", "MostFrequentArm", "WarmStart"]

_NOTHING = LoggedArms()
_UCB = UCB()


@dataclass(frozen=True)
class LoggedPolicy(Policy):
    """Base of the policies that start from a log by arm, which may also be given as the entries that JSON holds.

    Parameters
    ----------
    f
        How fast exploration grows, see `Policy`.
    log
        Counts and totals of the logged rewards.

    Examples
    --------
    >>> import meanbounds as mb
    >>> isinstance(mb.MostFrequentArm(log=mb.LoggedArms([3, 5], [1.0, 4.0])), LoggedPolicy)
    True
    """

    log: LoggedArms = _NOTHING

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "log", LoggedArms.read(self.log))

    def settings(self) -> dict[str, Any]:
        """The name and all parameters; see `Policy.settings`."""
        return {**super().settings(), "log": self.log.to_dict()}


@dataclass(frozen=True)
class MINTS(Policy):
    """MINTS (Wang, 2026): draw the arm to play from a posterior of which arm is best.

    The weight of an arm is the largest likelihood that means within the bounds can have if none of them exceeds the
    mean of this arm. In units of the range, with every reward taken as a Bernoulli one, it is ``exp(-cost)``, where the
    cost is the least ``sum of plays * kl(mean reward, mean)`` over such means. `f` is not used.

    Parameters
    ----------
    f
        Not used.

    Notes
    -----
    "MINTS: Minimalist Thompson Sampling" (arXiv 2606.01655) with the mean bounds as its constraints. Its prior is
    uniform over the arms that can be best. Differs from the published version: rewards between the ends of their range
    enter the Bernoulli likelihood with their value, and arms that cannot be best are left out.

    Examples
    --------
    >>> import meanbounds as mb
    >>> agent = mb.Agent(mb.MINTS(), mb.MeanBounds.vacuous(2), seed=1)
    >>> for reward in (1.0, 1.0, 1.0, 0.0):
    ...     agent.update(0, reward)
    >>> agent.probabilities()  # nothing speaks against arm 1
    array([0.5, 0.5])
    >>> agent.update(1, 0.0)  # arm 1 is best if both means are 3/5: 0.6^3 0.4^2 against 0.75^3 0.25
    >>> agent.probabilities().round(4)
    array([0.7532, 0.2468])
    """

    kernel: ClassVar[int] = textbook.MINTS
    theorem: ClassVar[str] = "Wang 2026, with bounds"

    def prepare(self, known: Knowledge) -> Plan:
        """Keep the arms that can be best, with both of their bounds."""
        bounds = known.bounds
        return make_plan(bounds, bounds.possible, cap=bounds.upper, lower=bounds.lower)


@dataclass(frozen=True)
class MINUCB(LoggedPolicy):
    """MIN-UCB (Cheung and Lyu, 2024): UCB that also uses a log whose means may be off by a known bias.

    The index is the smaller of two upper confidence bounds: that of `UCB`, from the rewards since the start, and that
    from all rewards, logged ones included, plus the bias times the share of logged rewards:
    ``pooled mean + sqrt(2 proxy log f(t) / all plays) + bias * logged / all plays``. Apart from the bias, bounds on the
    means are ignored.

    Parameters
    ----------
    f
        How fast exploration grows, see `Policy`.
    log
        Counts and totals of the logged rewards.
    bias
        How far an arm's mean may be from the mean of its logged rewards, in reward units: one number, or one for each
        arm of the log. Infinite, the log is not used; 0, it is taken at its word. By default the farthest that the
        bounds allow from the mean of the logged rewards.

    Notes
    -----
    "Leveraging (Biased) Information: Multi-armed Bandits with Offline Data" (ICML 2024). Differs from the published
    version: confidence widths are those of `UCB`, with the variance proxy of the range and log f(t), where the paper
    has ``sqrt(2 log(4 K t^3) / plays)`` for K arms; and an arm that was not played yet counts with no plays, where the
    paper counts one. So an infinite bias gives exactly `UCB`.

    Examples
    --------
    >>> import meanbounds as mb
    >>> log = mb.LoggedArms([100, 100], [80.0, 20.0])
    >>> agent = mb.Agent(mb.MINUCB(log=log, bias=0.1), mb.MeanBounds.vacuous(2), seed=1)
    >>> agent.indices()  # log f(1) = 0
    array([0.9, 0.3])
    >>> agent = mb.Agent(mb.MINUCB(log=log, bias=float("inf")), mb.MeanBounds.vacuous(2), seed=1)
    >>> agent.indices()
    array([inf, inf])
    """

    kernel: ClassVar[int] = textbook.MIN_UCB
    theorem: ClassVar[str] = "Cheung and Lyu 2024"

    bias: float | tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bias is None:
            return
        bias = as_floats("MINUCB: bias", self.bias)
        if bias.shape not in ((), (len(self.log.counts),)):
            raise ValueError(
                f"MINUCB: bias is one number, or one for each of {len(self.log.counts)} arms of the log; "
                f"got {shown(self.bias)}"
            )
        if not np.all(bias >= 0.0):
            raise ValueError(f"MINUCB: bias is a distance between means, at least 0; got {shown(self.bias)}")
        object.__setattr__(self, "bias", tuple(bias.tolist()) if bias.ndim else float(bias))

    @property
    def has_index(self) -> bool:
        """It plays the arm with the largest index."""
        return True

    def prepare(self, known: Knowledge) -> Plan:
        """Keep every arm, without a cap; the plan has rows for the bias and the log."""
        bounds = known.bounds
        plan = make_plan(bounds, proxy=bounds.worst_variance_proxy)
        rows = self.log.rows(bounds)
        count, total, _ = rows
        bias = np.zeros(len(bounds))
        if self.bias is None:
            share = np.divide(total, count, out=np.zeros(len(bounds)), where=count > 0)
            mean = bounds.low + (bounds.high - bounds.low) * share
            bias = np.maximum(bounds.upper - mean, mean - bounds.lower)
        else:
            given = dict(zip(self.log.arms, np.broadcast_to(self.bias, len(self.log.counts)).tolist(), strict=True))
            bias = np.array([given.get(arm, 0.0) for arm in bounds.arms])
        return Plan(np.vstack([plan.table, bias, rows]))


@dataclass(frozen=True)
class WarmStart(LoggedPolicy):
    """Any policy that starts from a log and takes it at its word, as if the logged rewards had been its own.

    Rounds are counted from the start, so log f(t) does not grow with the log. To an agent you can also tell the
    rewards of a log one by one, with ``agent.update(arm, reward, history=True)``; it then counts them as rounds.

    Parameters
    ----------
    f
        That of `base`; give it there.
    log
        Counts and totals of the logged rewards. Logged rewards between the ends of their range count as if they had
        been at the ends, with the same total.
    base
        The policy, for example ``mb.UCB()``, the default, or ``mb.ThompsonSampling()``.

    Notes
    -----
    "Full start" in Banerjee et al. (2022); HUCB in Shivaswamy and Joachims (2012). It has no guarantee if the log's
    arms were not chosen at random: an expert's choices mislead it for ever if they make a bad arm look good.

    Examples
    --------
    >>> import meanbounds as mb
    >>> log = mb.LoggedArms([100, 100], [80.0, 20.0])
    >>> agent = mb.Agent(mb.WarmStart(base=mb.ThompsonSampling(), log=log), mb.MeanBounds.vacuous(2), seed=1)
    >>> agent.plays, agent.probabilities().round(6)
    (array([0, 0]), array([1., 0.]))
    """

    theorem: ClassVar[str] = "Shivaswamy and Joachims 2012"

    base: Policy = _UCB

    def __post_init__(self) -> None:
        base = Policy.from_dict(self.base) if isinstance(self.base, Mapping) else self.base
        if not isinstance(base, Policy) or base.kernel >= textbook.LOGGED or base.kernel == textbook.MIN_UCB:
            raise TypeError(
                f"WarmStart: base must be a policy without features and without a log, such as mb.UCB(); "
                f"got {shown(self.base)}"
            )
        if self.f not in (DEFAULT, base.f):
            raise ValueError(f"WarmStart: give f to the base, such as mb.UCB(f='t'); got {shown(self.f)}")
        object.__setattr__(self, "base", base)
        object.__setattr__(self, "f", base.f)
        object.__setattr__(self, "kernel", base.kernel + textbook.LOGGED)
        super().__post_init__()

    @property
    def parameters(self) -> Floats:
        """Those of the base."""
        return self.base.parameters

    @property
    def has_index(self) -> bool:
        """Whether the base has an index."""
        return self.base.has_index

    def prepare(self, known: Knowledge) -> Plan:
        """The plan of the base, with rows for the log."""
        plan = self.base.prepare(known)
        return Plan(np.vstack([plan.table, self.log.rows(known.bounds)[:, plan.arms]]))

    def settings(self) -> dict[str, Any]:
        """All parameters, for reading; those of the base with its name."""
        return {**super().settings(), "base": self.base.settings()}


@dataclass(frozen=True)
class MostFrequentArm(LoggedPolicy):
    """Always play the arm that the log's expert played most often; of several, one at random in each round.

    It never learns: the bar that any policy has to clear to be worth its trouble. `f` is not used.

    Parameters
    ----------
    f
        Not used.
    log
        Counts and totals of the logged rewards, of which only the counts matter.

    Examples
    --------
    >>> import meanbounds as mb
    >>> log = mb.LoggedArms([20, 80, 50], [16.0, 60.0, 45.0])
    >>> agent = mb.Agent(mb.MostFrequentArm(log=log), mb.MeanBounds.vacuous(3), seed=1)
    >>> agent.pull(), agent.pull([0, 2])
    (1, 2)
    """

    kernel: ClassVar[int] = textbook.GAUSSIAN + textbook.LOGGED
    theorem: ClassVar[str] = "a baseline without a guarantee"

    def prepare(self, known: Knowledge) -> Plan:
        """Keep the arm, or arms, with the largest count; their index is one constant, so that they tie."""
        bounds, rows = known.bounds, self.log.rows(known.bounds)
        constant = float(bounds.low.min())
        plan = make_plan(bounds, cap=constant, lower=constant)
        return Plan(np.vstack([plan.table, rows])).select(rows[0] == rows[0].max())
