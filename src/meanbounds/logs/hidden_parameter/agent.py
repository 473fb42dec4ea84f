"""From the sums of a log to an agent, in one call."""

from __future__ import annotations

from numpy.typing import ArrayLike

from meanbounds.agents import Agent
from meanbounds.logs.assumptions import Assumption
from meanbounds.logs.confidence import DEFAULT_CONFIDENCE
from meanbounds.logs.counts import ArmSums
from meanbounds.logs.hidden_parameter.finite import Interval, linear_bounds_from_log
from meanbounds.logs.hidden_parameter.setting import LinearSetting
from meanbounds.policies import LinearPolicy
from meanbounds.support.seeding import Seed

__all__ = ["linear_agent"]


def linear_agent(
    setting: LinearSetting,
    sums: ArmSums,
    *,
    low: ArrayLike = 0.0,
    high: ArrayLike = 1.0,
    assumption: Assumption | None = None,
    confidence: float = DEFAULT_CONFIDENCE,
    infinite: bool = False,
    interval: Interval = "bernstein",
    policy: LinearPolicy | None = None,
    seed: Seed = None,
    progress: bool | None = None,
) -> Agent:
    """Make an agent that starts from a log: from its bounds, the known parts of the means, and limits on the norm.

    Parameters
    ----------
    setting, sums, low, high, assumption, confidence, infinite, interval, progress
        As for `linear_bounds_from_log`; the range of the agent's rewards is the same.
    policy
        `LinearThompson` by default; its limits on the norm are set to those of the box.
    seed
        Seed of the agent, as for `meanbounds.Agent`.

    Examples
    --------
    The hidden part of the first arm is larger, and its known part so small that the second is better:

    >>> import meanbounds as mb
    >>> setting = mb.logs.LinearSetting(
    ...     visible=[[-0.8], [0.5]], hidden=[[0.9], [0.0]], theta_visible=[1.0], box_low=0.0, box_high=1.0,
    ...     arms=["new", "old"],
    ... )  # fmt: skip
    >>> sums = mb.logs.ArmSums(count=[0, 1000], total=[0.0, 500.0], squares=[0.0, 300.0])
    >>> agent = mb.logs.linear_agent(setting, sums, low=-1.0, high=1.0, seed=1)
    >>> agent.pull()
    'old'
    >>> agent.update("old", 0.75)  # the reward as it is; the agent subtracts the known part
    """
    found = linear_bounds_from_log(
        setting,
        sums,
        low=low,
        high=high,
        assumption=assumption,
        confidence=confidence,
        infinite=infinite,
        interval=interval,
        progress=progress,
    )
    return found.agent(low, high, policy=policy, seed=seed)
