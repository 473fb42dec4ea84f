"""Posterior sampling for arms with features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from meanbounds.kernels import linear as kernel
from meanbounds.linear import FeasibleSet, LinearArms
from meanbounds.linear.interior import sampling_limits
from meanbounds.policies.oful import LinearPlan, LinearPolicy, check_arms
from meanbounds.support.checks import as_whole

__all__ = ["LinearThompson"]

_MOST = 100_000  # points a round


@dataclass(frozen=True, kw_only=True)
class LinearThompson(LinearPolicy):
    """Thompson sampling for arms with features and bounds on their means.

    In each round it draws the parameter from its posterior, limited to all that is known of it, and plays the arm on
    offer that is best at that point. The posterior is the Gaussian of ridge regression, in which each reward is weighted
    by the inverse of its arm's variance proxy. The limits are every arm's bounds and those on the norm.

    Parameters
    ----------
    norm_high, regularisation, failure
        As for `LinearPolicy`. The prior of the parameter has mean 0 and variance ``proxy / regularisation`` in each
        direction, with the largest variance proxy of all arms, before it is limited. Choices do not depend on
        ``failure``.
    noise
        ``"weighted"``, or ``"pool-max"``: the largest variance proxy of all arms for each of them.
    norm_low
        Lower limit on the norm of the parameter.
    draws
        How many points are drawn in a round. The choice is made at one of them, taken at random; `Agent.probabilities`
        says at what share of them each arm is best, which is the probability of the choice.

    Notes
    -----
    The points are those of a Markov chain that goes on from round to round; see docs/linear.md.

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

    theorem: ClassVar[str] = ""

    norm_low: float = 0.0
    draws: int = 16

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_choice("noise", ("weighted", "pool-max"))
        object.__setattr__(self, "draws", as_whole(f"{type(self).__name__}: draws", self.draws, most=_MOST))

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
        plan = self.make_plan(arms, feasible.tightened(), "plain", feasible, norm_low=self.norm_low)
        rule = plan.rule._replace(index_kind=kernel.SAMPLE, draws=self.draws)
        return plan._replace(rule=rule, known=sampling_limits(feasible))
