"""Posterior sampling for arms with features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.kernels import linear as kernel
from meanbounds.linear import FeasibleSet, LinearArms
from meanbounds.linear.interior import sampling_limits
from meanbounds.policies.oful import LinearPlan, LinearPolicy, check_arms
from meanbounds.support.checks import as_floats, as_whole
from meanbounds.support.types import Floats

__all__ = ["LinearThompson"]

_MOST = 100_000  # points a round


@dataclass(frozen=True, kw_only=True)
class LinearThompson(LinearPolicy):
    """Thompson sampling for arms with features and bounds on their means.

    In each round it draws the parameter from its posterior, limited to all that is known of it, and plays the arm on
    offer that is best at that point, where an arm counts with its expected mean if that is larger. The posterior is a
    Gaussian in which each reward is weighted by the inverse of the largest variance that its arm's bounds allow. The
    limits are every arm's bounds and those on the norm.

    Parameters
    ----------
    norm_high, regularisation, failure
        As for `LinearPolicy`. The prior of the parameter, before it is limited, has mean 0 and standard deviation
        ``norm_high / sqrt(regularisation)`` in each direction. Choices do not depend on ``failure``.
    noise
        How noisy rewards are taken to be. ``"variance"``: as the largest variance that the arm's bounds and range
        allow; ``"weighted"``: as its variance proxy, which is larger where the mean is far from the middle of the
        range; ``"pool-max"``: as the largest variance proxy of all arms.
    norm_low
        Lower limit on the norm of the parameter.
    draws
        How many points are drawn in a round. The choice is made at one of them, taken at random; `Agent.probabilities`
        says at what share of them each arm is best, which is the probability of the choice.
    optimistic
        Whether an arm counts with its expected mean where that is larger than its mean at the point (optimistic
        Bayesian sampling: May, Korda, Lee and Leslie, 2012). This explores as much and errs less, see docs/linear.md;
        False is plain Thompson sampling.

    Notes
    -----
    The points are those of a Markov chain that goes on from round to round; see docs/linear.md. A prior
    (`meanbounds.Prior`) counts as rewards that came before the first round. Bounds with a trust below 1 stand or fall
    together: in some rounds, more of them the more the rewards speak against the bounds, points are drawn without them.

    Examples
    --------
    >>> import meanbounds as mb
    >>> bounds = mb.MeanBounds([0.6, 0.0, 0.0], [0.9, 1.0, 0.7], arms=["a", "b", "c"])
    >>> agent = mb.Agent(mb.LinearThompson(), bounds, seed=1, features=[[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    >>> arm = agent.pull()
    >>> agent.update(arm, 1.0)
    >>> bool(agent.probabilities().sum() == 1.0)
    True
    """

    theorem: ClassVar[str] = "May et al. 2012, with bounds"
    takes_prior: ClassVar[bool] = True
    noises: ClassVar[Mapping[str, int]] = {
        "variance": kernel.WEIGHTED,
        "weighted": kernel.WEIGHTED,
        "pool-max": kernel.POOL_MAX,
    }

    noise: str = "variance"
    norm_low: float = 0.0
    draws: int = 16
    optimistic: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_choice("optimistic", (True, False))
        object.__setattr__(self, "draws", as_whole(f"{type(self).__name__}: draws", self.draws, most=_MOST))

    def noise_of(self, lower: ArrayLike, upper: ArrayLike, low: ArrayLike, high: ArrayLike) -> Floats:
        """The variance that the policy takes for rewards of an arm; see `noise`.

        Parameters
        ----------
        lower, upper
            Bounds on the mean, one number or one for each arm.
        low, high
            The range of the rewards.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.LinearThompson().noise_of([0.0, 0.9], [1.0, 1.0], 0.0, 1.0).round(3)  # mean (1 - mean)
        array([0.25, 0.09])
        """
        if self.noise != "variance":
            return super().noise_of(lower, upper, low, high)
        bottom, top = (as_floats(name, end) for name, end in (("low", low), ("high", high)))
        mean = np.clip(bottom + (top - bottom) / 2.0, as_floats("lower", lower), as_floats("upper", upper))
        return np.atleast_1d((mean - bottom) * (top - mean))

    def plan(self, arms: LinearArms) -> LinearPlan:
        """Tighten the bounds, and find the limits between which points are drawn.

        Examples
        --------
        >>> import meanbounds as mb
        >>> arms = mb.LinearArms([[1.0, 0.0], [0.0, 1.0]], mb.MeanBounds([0.6, 0.0], [0.9, 1.0]))
        >>> plan = mb.LinearThompson(draws=10).plan(arms)
        >>> plan.pool.upper.round(3), plan.rule.draws
        (array([0.9, 0.8]), 10)
        """
        check_arms(arms)
        feasible = FeasibleSet(arms, norm_high=self.norm_high, norm_low=self.norm_low)
        plan = self.make_plan(arms, feasible.tightened(), "plain", feasible, norm_low=self.norm_low, settle=True)
        rule = plan.rule._replace(index_kind=kernel.SAMPLE, draws=self.draws, optimistic=self.optimistic)
        return plan._replace(rule=rule, known=sampling_limits(feasible))
