"""Bounds on arms with features, as a log gives them, and the agent that starts from them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.agents import Agent
from meanbounds.bounds import Arm, BoundsError, MeanBounds
from meanbounds.linear import TightBounds, tighten
from meanbounds.logs.hidden_parameter.programs import ROUNDING
from meanbounds.logs.hidden_parameter.setting import LinearSetting
from meanbounds.policies import ROFUL, LinearPolicy, LinearThompson
from meanbounds.support.seeding import Seed
from meanbounds.support.types import Floats

__all__ = ["LinearBounds"]


@dataclass(frozen=True, eq=False)
class LinearBounds:
    """Bounds on arms with features from a log, with everything that an agent needs to start.

    Attributes
    ----------
    setting
        The arms' features, the known parameter and the box; see `LinearSetting`.
    lower, upper
        Bounds on each arm's whole mean in reward units, known part included. They may exceed the range of the rewards;
        `mean_bounds` clips them.
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
        """Features that go with the hidden parameter, a row for each arm: the agent's features."""
        return self.setting.hidden

    @property
    def offset(self) -> Floats:
        """Known part of each arm's mean, in reward units.

        Give it to the agent, or it compares arms by their hidden parts alone and plays the wrong ones.
        """
        return self.setting.offset

    @property
    def norm_high(self) -> float:
        """The largest Euclidean norm that the hidden parameter can have in the box.

        Examples
        --------
        >>> import meanbounds as mb
        >>> known = {"theta_visible": [1.0], "box_low": [-3.0, 0.0], "box_high": [1.0, 4.0]}
        >>> setting = mb.logs.LinearSetting([[0.0]], [[1.0, 0.0]], **known)
        >>> mb.logs.linear_bounds(setting, share=[1.0], mean=[0.5]).norm_high  # at (-3, 4)
        5.0
        """
        return float(np.linalg.norm(np.maximum(np.abs(self.setting.box_low), np.abs(self.setting.box_high))))

    @property
    def norm_low(self) -> float:
        """The least Euclidean norm that the hidden parameter can have in the box; 0 if the box contains 0."""
        return float(np.linalg.norm(np.clip(0.0, self.setting.box_low, self.setting.box_high)))

    @property
    def box(self) -> tuple[Floats, Floats, Floats]:
        """The box as constraints for ``meanbounds.tighten(..., extra=)``: matrix, lower and upper limits."""
        return np.eye(self.setting.box_low.size), self.setting.box_low, self.setting.box_high

    def pseudo_reward(self, arm: Arm, reward: float) -> float:
        """Subtract the known part of the arm's mean from a reward; the rest has mean ``<hidden, parameter>``.

        Use it for learners of your own. An `Agent` with an offset takes rewards as they are.

        Examples
        --------
        >>> import meanbounds as mb
        >>> known = {"theta_visible": [1.0], "box_low": 0.0, "box_high": 1.0, "arms": ["new", "old"]}
        >>> setting = mb.logs.LinearSetting([[-0.8], [0.5]], [[0.9], [0.0]], **known)
        >>> found = mb.logs.linear_bounds(setting, share=[0.0, 1.0], mean=[0.0, 0.5])
        >>> found.pseudo_reward("old", 1.0)
        0.5
        """
        return reward - float(self.offset[MeanBounds.vacuous(self.arms).position(arm)])

    def mean_bounds(self, low: ArrayLike = 0.0, high: ArrayLike = 1.0) -> MeanBounds:
        """Return the bounds as `MeanBounds`, clipped to the range of the rewards.

        Parameters
        ----------
        low, high
            Range of the rewards, one for all arms or one for each.

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
        """Make an agent that starts from these bounds, tightened as in `tightened`.

        Parameters
        ----------
        low, high
            Range of the rewards, one for all arms or one for each.
        policy
            By default `LinearThompson`, which lost least after logs; limits on the norm are set to those of the box.
        seed
            As for `meanbounds.Agent`.

        Notes
        -----
        The bounds and the agent's confidence sets hold together with probability ``confidence - policy.failure`` or
        more.

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
        chosen = self.limited(LinearThompson() if policy is None else policy)
        return Agent(chosen, bounds, seed=seed, features=self.hidden, offset=self.offset)

    def tightened(self, low: ArrayLike = 0.0, high: ArrayLike = 1.0) -> TightBounds:
        """Tighten the bounds: by each other, by the range of the rewards (see `mean_bounds`) and by the box.

        Parameters
        ----------
        low, high
            Range of the rewards, one for all arms or one for each.

        Raises
        ------
        BoundsError
            If some arm's bounds lie outside its range or cross, or if no parameter in the box satisfies all bounds.

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
        """Return the policy with limits on the norm of the parameter set to those of the box.

        Examples
        --------
        >>> import meanbounds as mb
        >>> setting = mb.logs.LinearSetting([[0.0]], [[1.0]], theta_visible=[1.0], box_low=0.5, box_high=2.0)
        >>> found = mb.logs.linear_bounds(setting, share=[1.0], mean=[0.5])
        >>> found.limited(mb.ROFUL())
        ROFUL(norm_high=2.0, norm_low=0.5)
        """
        if isinstance(policy, ROFUL | LinearThompson):
            return replace(policy, norm_high=self.norm_high, norm_low=self.norm_low)
        return replace(policy, norm_high=self.norm_high)
