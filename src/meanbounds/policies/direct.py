"""Policies that decide in another way than by the largest index."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from meanbounds.bounds import MeanBounds
from meanbounds.kernels.arms import textbook
from meanbounds.knowledge import Knowledge
from meanbounds.policies.base import Policy
from meanbounds.policies.exploration import Exploration
from meanbounds.policies.informed import FORMER_PRIOR
from meanbounds.policies.plan import Plan, make_plan
from meanbounds.prior import PriorMixture
from meanbounds.support.checks import as_flag, as_float, shown

__all__ = ["BIMED", "OSSB", "ThompsonSampling", "as_moments"]

_STRONG = 1e6  # strength of a prior above which tails would lose digits: draws are by rejection


@dataclass(frozen=True)
class _BoundsPolicy(Policy):
    """Prune, and hand the kernel both bounds of each arm."""

    def prepare(self, known: Knowledge) -> Plan:
        """Keep the arms that can be best, with both of their bounds."""
        bounds = known.bounds
        return make_plan(bounds, bounds.possible, cap=bounds.upper, lower=bounds.lower)


@dataclass(frozen=True)
class BIMED(_BoundsPolicy):
    """Indexed minimum empirical divergence (Honda and Takemura, 2015) with bounds on the means.

    Plays the arm with the smallest ``plays * kl(mean, leader) + log(plays)``. The leader is the largest of l_max and of
    the means of the played arms, each clipped to its arm's bounds. Arms with an upper bound below the leader are
    skipped; other arms that were never played come first.

    Before that, it settles: while the arm with the largest clipped mean may be as good as any arm can be, it is played.

    Parameters
    ----------
    f
        How fast the evidence grows that stops settling, see `Policy`; not used with ``settle=False``.
    moments
        With 2, the divergence takes the second moment of the rewards into account: the less rewards vary, the less is
        explored, and it does not matter how far the range reaches below them. It is the smallest divergence between the
        leader and any distribution with these two moments. That never exceeds the divergence of the observed rewards
        themselves, which the published proof needs so that the best arm is not given up. For rewards of 0 and 1 nothing
        changes.
    settle
        Play the arm with the largest clipped mean (an arm that was never played counts with its lower bound) as long as
        the largest other upper bound c does not exceed its own, and ``plays * kl(mean, c)`` is at most ``log f(t) / 2``
        (half as much if c is below its own). Where upper bounds are close to the best mean, this saves most of the
        exploration; docs/settling.md has the regret bound.

    Examples
    --------
    >>> import meanbounds as mb
    >>> agent = mb.Agent(mb.BIMED(), mb.MeanBounds([0.6, 0.1], [0.9, 0.95]), seed=1)
    >>> agent.update(0, 1.0)
    >>> agent.pull()  # arm 0 leads at its upper bound 0.9, and the other may be better
    1

    With equal upper bounds it settles on the arm that leads:

    >>> agent = mb.Agent(mb.BIMED(), mb.MeanBounds([0.6, 0.1], [0.9, 0.9]), seed=1)
    >>> agent.update(0, 1.0)
    >>> agent.pull()
    0
    """

    kernel: ClassVar[int] = textbook.IMED
    takes_prior: ClassVar[bool] = True
    counts_pending: ClassVar[bool] = True
    theorem: ClassVar[str] = "Honda and Takemura 2015, with bounds"
    formerly: ClassVar[Mapping[str, object]] = {"settle": False}

    moments: int = 1
    settle: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "moments", as_moments(self.moments))
        object.__setattr__(self, "settle", as_flag("settle", self.settle))

    @property
    def parameters(self) -> NDArray[np.float64]:
        """The number of moments, and whether it settles."""
        return np.array([self.moments, self.settle], dtype=np.float64)


@dataclass(frozen=True)
class OSSB(_BoundsPolicy):
    """Optimal sampling for structured bandits (Combes et al., 2017), for Bernoulli rewards with bounds on the means.

    Explores an arm until it has ``(1 + gamma) * log f(t) / kl(mean, best mean)`` plays, the number that the asymptotic
    lower bound asks for; when no arm lacks plays, it plays the arm with the largest mean. Means are clipped to the
    bounds, and an arm that was never played counts with its lower bound.

    Parameters
    ----------
    f
        How fast exploration grows, see `Policy`; ``"t"`` by default, as published.
    epsilon
        Share of the exploring rounds that each arm gets at least, above 0 and below 1: when the arm played least has
        fewer, it is played. With 0, an arm that leads after a few plays might never be played again, while OSSB
        explores the next best arm for ever; its regret would grow with every round.
    gamma
        How much more to explore than the lower bound asks for: 0.01 is 1% more.

    Notes
    -----
    Appendix D of the paper. If several arms have the largest clipped mean, each of them counts as best and needs no
    exploration. If several arms have exactly the largest true mean, OSSB explores in almost every round to tell them
    apart, and its regret grows in proportion to epsilon and the rounds. `meanbounds.theory.asymptotic_plays` says what
    epsilon and gamma cost in the long run.

    Examples
    --------
    >>> import meanbounds as mb
    >>> agent = mb.Agent(mb.OSSB(gamma=0.1), mb.MeanBounds([0.6, 0.1], [0.9, 0.95]), seed=1)
    >>> agent.update(0, 1.0)
    >>> agent.pull()  # arm 1 lacks plays
    1
    """

    kernel: ClassVar[int] = textbook.OSSB
    theorem: ClassVar[str] = "Combes et al. 2017, Appendix D"

    f: Exploration = "t"
    epsilon: float = 0.01
    gamma: float = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        given = {name: getattr(self, name) for name in ("epsilon", "gamma")}
        numbers = all(isinstance(value, int | float) for value in given.values())
        epsilon, gamma = (as_float(f"OSSB: {name}", value) if numbers else np.nan for name, value in given.items())
        if not (0.0 < epsilon < 1.0 and 0.0 <= gamma < np.inf):
            linear = "; with epsilon = 0 its regret would be linear: take a small share such as 0.01"
            raise ValueError(
                f"OSSB needs 0 < epsilon < 1 and gamma >= 0; got epsilon={shown(self.epsilon)}, "
                f"gamma={shown(self.gamma)}" + (linear if epsilon == 0.0 else "")
            )
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "gamma", gamma)

    @property
    def parameters(self) -> NDArray[np.float64]:
        """Epsilon and gamma."""
        return np.array([self.epsilon, self.gamma])


@dataclass(frozen=True)
class ThompsonSampling(_BoundsPolicy):
    """Draw a mean for each arm from its posterior, and play the arm with the largest draw.

    The posterior is a Beta distribution, truncated to the arm's bounds. A reward between the ends of its range is
    rounded to one of them at random, with the probabilities that keep its mean (Agrawal and Goyal, 2012). Draws are
    exact, however far in the tail of the posterior the bounds lie.

    Before that, it settles: while the arm with the largest clipped mean may be as good as any arm can be, it is played
    and nothing is drawn.

    Parameters
    ----------
    f
        How fast the evidence grows that stops settling, see `Policy`; not used with ``settle=False``.
    moments
        With 2, rewards are not rounded. They count as if each had been either 1 or one lower value, chosen such that
        the first two moments stay the same: the less rewards vary, the less is explored. For rewards of 0 and 1
        the distribution is the same. Without a prior, an arm that was not played yet, or that only had the best
        possible reward, is drawn from means at most ten times as far below the top of the range as the lower value of
        some other arm. So it hardly matters how wide the range is: take 2 for costs or delays, whose range is a guess.
        There is no theorem for this yet.
    settle
        As for `BIMED`.
    draws
        How draws are made; both ways have the same distribution. With "inversion", the default, a simulation knows who
        draws most almost without drawing. With "rejection" decisions are those of version 0.1, and so they are for
        agents that were saved before there was a choice. With two moments, a prior whose parameters sum up to more
        than a million, or a mixture of priors, draws are by rejection in any case.

    Examples
    --------
    >>> import meanbounds as mb
    >>> agent = mb.Agent(mb.ThompsonSampling(), mb.MeanBounds([0.9, 0.1], [1.0, 0.9]), seed=1)
    >>> agent.pull()  # every draw for arm 0 is above every draw for arm 1
    0

    The chance of each arm, for a log of decisions:

    >>> agent = mb.Agent(mb.ThompsonSampling(), mb.MeanBounds.vacuous(2), seed=1)
    >>> for reward in (1.0, 0.0, 1.0):
    ...     agent.update(0, reward)
    >>> agent.probabilities().round(4)  # Beta(3, 2) against Beta(1, 1)
    array([0.6, 0.4])

    With upper bounds below 1 it may settle:

    >>> agent = mb.Agent(mb.ThompsonSampling(), mb.MeanBounds([0.2, 0.2], [0.8, 0.8]), seed=1)
    >>> agent.update(0, 1.0)
    >>> agent.probabilities()
    array([1., 0.])
    """

    kernel: ClassVar[int] = textbook.THOMPSON
    takes_prior: ClassVar[bool] = True
    takes_mixture: ClassVar[bool] = True
    removed: ClassVar[Mapping[str, tuple[object, str]]] = {"prior": ((1.0, 1.0), FORMER_PRIOR)}
    counts_pending: ClassVar[bool] = True
    theorem: ClassVar[str] = "Kaufmann et al. 2012, with bounds"
    formerly: ClassVar[Mapping[str, object]] = {"settle": False, "draws": "rejection"}

    moments: int = 1
    settle: bool = True
    draws: str = "inversion"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "moments", as_moments(self.moments))
        object.__setattr__(self, "settle", as_flag("settle", self.settle))
        if not (isinstance(self.draws, str) and self.draws in ("inversion", "rejection")):
            raise ValueError(f'draws must be "inversion" or "rejection"; got {shown(self.draws)}')

    @property
    def parameters(self) -> NDArray[np.float64]:
        """The two parameters of a uniform prior, the number of moments, whether it settles and whether it inverts."""
        return np.array([1.0, 1.0, self.moments, self.settle, self.draws == "inversion"], dtype=np.float64)

    def parameters_for(self, known: MeanBounds | Knowledge) -> NDArray[np.float64]:
        """The same for this knowledge; draws are by rejection if a prior is too strong for inversion, or a mixture."""
        found, prior = super().parameters_for(known), Knowledge.of(known).prior
        if isinstance(prior, PriorMixture) or (prior is not None and np.max(prior.strength) > _STRONG):
            found[-1] = 0.0
        return found


def as_moments(moments: object) -> int:
    """1 or 2 as a plain int; anything else is refused."""
    plain = isinstance(moments, int | float | np.integer) and not isinstance(moments, bool)
    if not (plain and moments in (1, 2)):
        raise ValueError(f"moments must be 1 or 2; got {shown(moments)}")
    return 1 if moments == 1 else 2
