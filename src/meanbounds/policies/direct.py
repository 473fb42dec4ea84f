"""Policies that decide otherwise than by the largest index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from meanbounds.kernels.arms import textbook
from meanbounds.knowledge import Knowledge
from meanbounds.policies.base import Policy
from meanbounds.policies.exploration import Exploration
from meanbounds.policies.plan import Plan, make_plan

__all__ = ["BIMED", "OSSB", "ThompsonSampling"]


@dataclass(frozen=True)
class _BoundsPolicy(Policy):
    """Prune, and hand the kernel both bounds of each arm."""

    def prepare(self, known: Knowledge) -> Plan:
        """Prune; caps and lower bounds as given."""
        bounds = known.bounds
        return make_plan(bounds, bounds.possible, cap=bounds.upper, lower=bounds.lower)


@dataclass(frozen=True)
class BIMED(_BoundsPolicy):
    """Indexed minimum empirical divergence (Honda and Takemura, 2015) with mean bounds.

    Plays the arm with the least ``plays * kl(mean, leader) + log plays``, where the leader is the largest of l_max and
    of the clipped means of played arms. An arm whose upper bound is below the leader is not played; an arm that was
    never played and whose upper bound is not below the leader is. `f` is not used.

    Parameters
    ----------
    moments
        With 2, the divergence takes the second moment of the rewards into account. For rewards of 0 and 1 nothing
        changes; the less rewards spread, the less is explored. The divergence is then the least one that any law with
        these two moments has from the leader. It never exceeds that of the empirical law, which is what keeps the best
        arm from being given up in the proof for indexed minimum empirical divergence.

    Examples
    --------
    >>> import meanbounds as mb
    >>> agent = mb.Agent(mb.BIMED(), mb.MeanBounds([0.6, 0.1], [0.9, 0.95]), seed=1)
    >>> agent.update(0, 1.0)
    >>> agent.pull()  # arm 0 leads at its cap 0.9, which the other could exceed
    1
    """

    kernel: ClassVar[int] = textbook.IMED
    theorem: ClassVar[str] = "Honda and Takemura 2015, with bounds"

    moments: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_moments(self.moments)

    @property
    def parameters(self) -> NDArray[np.float64]:
        """The number of moments."""
        return np.array([self.moments], dtype=np.float64)


@dataclass(frozen=True)
class OSSB(_BoundsPolicy):
    """Optimal sampling for structured bandits (Combes et al., 2017), for Bernoulli rewards with mean bounds.

    Parameters
    ----------
    f
        As for the other policies; log t by default, as published.
    epsilon
        Share of the exploring rounds that go to the arm played least.
    gamma
        How much more than the lower bound asks for is explored.

    Notes
    -----
    Appendix D of the paper. Arms with the same largest truncated mean all count as best: none is asked to explore.

    Examples
    --------
    >>> import meanbounds as mb
    >>> mb.OSSB(gamma=0.1)
    OSSB(gamma=0.1)
    """

    kernel: ClassVar[int] = textbook.OSSB
    theorem: ClassVar[str] = "Combes et al. 2017, Appendix D"

    f: Exploration = "t"
    epsilon: float = 0.01
    gamma: float = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        numbers = all(isinstance(value, int | float) for value in (self.epsilon, self.gamma))
        if not (numbers and 0.0 <= self.epsilon < 1.0 and 0.0 <= self.gamma < np.inf):
            raise ValueError(f"OSSB needs 0 <= epsilon < 1 and gamma >= 0; got {self.epsilon=}, {self.gamma=}")

    @property
    def parameters(self) -> NDArray[np.float64]:
        """Epsilon, gamma."""
        return np.array([self.epsilon, self.gamma])


@dataclass(frozen=True)
class ThompsonSampling(_BoundsPolicy):
    """Play the arm whose draw from its Beta posterior, truncated to the arm's bounds, is largest.

    A reward between the ends of its range is rounded to one of them at random, with the probabilities that keep its
    mean (Agrawal and Goyal, 2012). Draws are exact however far in the tail of the posterior the bounds lie. `f` is
    not used.

    Parameters
    ----------
    prior
        Parameters of the Beta prior before truncation, each at least 1; (1, 1) is uniform between the bounds.
    moments
        With 2, rewards are not rounded; they count as if they had been 1 or the floor that makes their first two
        moments what they are. For rewards of 0 and 1 nothing changes; the less rewards spread, the less is explored.
        There is no theorem for it yet.

    Examples
    --------
    >>> import meanbounds as mb
    >>> agent = mb.Agent(mb.ThompsonSampling(), mb.MeanBounds([0.9, 0.1], [1.0, 0.9]), seed=1)
    >>> agent.pull()  # every draw for arm 0 is above every draw for arm 1
    0
    """

    kernel: ClassVar[int] = textbook.THOMPSON
    counts_pending: ClassVar[bool] = False
    theorem: ClassVar[str] = "Kaufmann et al. 2012, with bounds"

    prior: tuple[float, float] = (1.0, 1.0)
    moments: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            prior = tuple(float(value) for value in self.prior)
        except (TypeError, ValueError):
            prior = ()
        if len(prior) != 2 or not all(1.0 <= value < np.inf for value in prior):
            raise ValueError(f"the prior of ThompsonSampling is two numbers, each at least 1; got {self.prior!r}")
        object.__setattr__(self, "prior", prior)
        _check_moments(self.moments)

    @property
    def parameters(self) -> NDArray[np.float64]:
        """The prior, and the number of moments."""
        return np.array([*self.prior, self.moments], dtype=np.float64)


def _check_moments(moments: int) -> None:
    if isinstance(moments, bool) or moments not in (1, 2):
        raise ValueError(f"moments must be 1 or 2; got {moments!r}")
