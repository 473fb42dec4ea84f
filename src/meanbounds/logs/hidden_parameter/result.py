"""What a log says about arms with features."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.agents import Agent
from meanbounds.bounds import Arm, BoundsError, MeanBounds
from meanbounds.linear import TightBounds, tighten
from meanbounds.logs.hidden_parameter.programs import ROUNDING
from meanbounds.logs.hidden_parameter.setting import LinearSetting
from meanbounds.policies import ROFUL, LinearPolicy
from meanbounds.support.seeding import Seed
from meanbounds.support.types import Floats

__all__ = ["LinearBounds"]


@dataclass(frozen=True, eq=False)
class LinearBounds:
    """What a log says about arms with features, and everything that R-OFUL needs to start.

    Attributes
    ----------
    setting
        The arms' features, the known parameter and the box; see `LinearSetting`.
    lower, upper
        Bounds on each arm's whole mean, known part included. They may leave the range of the rewards; see
        `mean_bounds`.
    confidence
        Probability with which all bounds hold at once; None for an infinite log.

    Examples
    --------
    >>> import meanbounds as mb
    >>> setting = mb.logs.LinearSetting(
    ...     [[-0.8], [0.5]], [[0.9], [0.0]], theta_visible=[1.0], box_low=0.0, box_high=1.0
    ... )
    >>> found = mb.logs.linear_bounds(setting, share=[0.0, 1.0], mean=[0.0, 0.5])
    >>> found.offset
    array([-0.8,  0.5])
    >>> found.pseudo_reward(1, 0.75)
    0.25
    >>> found.norm_low, found.norm_high
    (0.0, 1.0)
    """

    setting: LinearSetting
    lower: Floats
    upper: Floats
    confidence: float | None = None

    @property
    def arms(self) -> tuple[Arm, ...]:
        """Names of the arms."""
        return self.setting.arms

    @property
    def hidden(self) -> Floats:
        """Features that go with the hidden parameter, a row for each arm: what the agent learns from."""
        return self.setting.hidden

    @property
    def offset(self) -> Floats:
        """Known part of each arm's mean. An agent that compares arms without it plays the wrong ones."""
        return self.setting.offset

    @property
    def norm_high(self) -> float:
        """The largest Euclidean norm in the box."""
        return float(np.linalg.norm(np.maximum(np.abs(self.setting.box_low), np.abs(self.setting.box_high))))

    @property
    def norm_low(self) -> float:
        """The least Euclidean norm in the box."""
        return float(np.linalg.norm(np.clip(0.0, self.setting.box_low, self.setting.box_high)))

    @property
    def box(self) -> tuple[Floats, Floats, Floats]:
        """The box as `meanbounds.tighten` takes it, for ``extra=``."""
        return np.eye(self.setting.box_low.size), self.setting.box_low, self.setting.box_high

    def pseudo_reward(self, arm: Arm, reward: float) -> float:
        """What is left of a reward without the known part: its mean is ``<hidden, parameter>``.

        For learners of your own. An `Agent` with an offset takes rewards as they are.
        """
        return reward - float(self.offset[MeanBounds.vacuous(self.arms).position(arm)])

    def mean_bounds(self, low: ArrayLike = 0.0, high: ArrayLike = 1.0) -> MeanBounds:
        """As `MeanBounds`, clipped to the range of the rewards (one for all arms or one for each).

        Raises
        ------
        BoundsError
            If some arm's bounds lie outside its range, or cross, as those of the paper may.

        Examples
        --------
        >>> import meanbounds as mb
        >>> setting = mb.logs.LinearSetting(
        ...     [[-0.8], [0.5]], [[0.9], [0.0]], theta_visible=[1.0], box_low=0.0, box_high=1.0
        ... )
        >>> found = mb.logs.linear_bounds(setting, share=[0.0, 1.0], mean=[0.0, 0.5])
        >>> found.mean_bounds(-0.5, 1.0).lower.round(6)
        array([-0.5,  0.5])
        """
        vacuous = MeanBounds.vacuous(self.arms, low=low, high=high)
        slack = ROUNDING * (vacuous.high - vacuous.low + np.abs(self.lower) + np.abs(self.upper))
        for k in np.flatnonzero((self.upper < vacuous.low - slack) | (self.lower > vacuous.high + slack)):
            raise BoundsError(
                f"arm {self.arms[k]!r}: by the log its mean is in [{self.lower[k]:.6g}, {self.upper[k]:.6g}], which is "
                f"outside its reward range [{vacuous.low[k]:g}, {vacuous.high[k]:g}]; the range, the box or the known "
                f"parameter is wrong"
            )
        lower, upper = (np.clip(side, vacuous.low, vacuous.high) for side in (self.lower, self.upper))
        return MeanBounds(lower, upper, arms=self.arms, low=low, high=high)

    def agent(
        self, low: ArrayLike = 0.0, high: ArrayLike = 1.0, *, policy: LinearPolicy | None = None, seed: Seed = None
    ) -> Agent:
        """An agent that starts from these bounds, tightened by each other, by the rewards' range and by the box.

        Parameters
        ----------
        low, high
            Range of the rewards, one for all arms or one for each.
        policy
            By default R-OFUL; limits on the norm are set to those of the box.
        seed
            As for `meanbounds.Agent`.

        Notes
        -----
        What the agent takes for certain holds with probability at least ``confidence - policy.failure``.

        Examples
        --------
        >>> import meanbounds as mb
        >>> setting = mb.logs.LinearSetting(
        ...     [[-0.8], [0.5]], [[0.9], [0.0]], theta_visible=[1.0], box_low=0.0, box_high=1.0
        ... )
        >>> found = mb.logs.linear_bounds(setting, share=[0.0, 1.0], mean=[0.0, 0.5])
        >>> found.agent(-1.0, 1.0, seed=1).pull()
        1
        """
        bounds = self.tightened(low, high)
        chosen = self.limited(ROFUL() if policy is None else policy)
        return Agent(chosen, bounds, seed=seed, features=self.hidden, offset=self.offset)

    def tightened(self, low: ArrayLike = 0.0, high: ArrayLike = 1.0) -> TightBounds:
        """As `MeanBounds`, tightened by each other, by the rewards' range (see `mean_bounds`) and by the box.

        Raises
        ------
        BoundsError
            If some arm's bounds lie outside its range or cross, or if no parameter in the box satisfies all.

        Examples
        --------
        >>> import meanbounds as mb
        >>> setting = mb.logs.LinearSetting(
        ...     [[-0.8], [0.5]], [[0.9], [0.0]], theta_visible=[1.0], box_low=0.0, box_high=1.0
        ... )
        >>> found = mb.logs.linear_bounds(setting, share=[0.0, 1.0], mean=[0.0, 0.5])
        >>> found.tightened(-1.0, 1.0).upper.round(6)
        array([0.1, 0.5])
        """
        if self.norm_high == 0.0:
            raise ValueError("the box of the hidden parameter is the point 0: there is nothing to learn")
        bounds = self.mean_bounds(low, high)
        return tighten(self.hidden, bounds, norm_high=self.norm_high, extra=self.box, offset=self.offset)

    def limited(self, policy: LinearPolicy) -> LinearPolicy:
        """The policy, with limits on the norm that are those of the box."""
        if isinstance(policy, ROFUL):
            return replace(policy, norm_high=self.norm_high, norm_low=self.norm_low)
        return replace(policy, norm_high=self.norm_high)
