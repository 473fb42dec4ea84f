"""What agents answer: a decision, and an arm that bounds exclude."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["Decision", "Excluded"]


class Decision(NamedTuple):
    """What an agent decided. Keep it with the reward: then other policies can be evaluated on the decisions later.

    Attributes
    ----------
    context
        Where; None if the agent has no contexts.
    arm
        The arm to play.
    probability
        With which probability the agent played it.
    reason
        ``"policy"``, ``"floor"`` for an arm that was drawn because of the floor, or ``"only option"``.

    Examples
    --------
    >>> import meanbounds as mb
    >>> mb.Agent(mb.GLUE(), mb.MeanBounds([0.2, 0.2], [0.9, 0.9], arms=["a", "b"]), seed=7).decide()
    Decision(context=None, arm='a', probability=0.5, reason='policy')
    """

    context: Any
    arm: Any
    probability: float
    reason: str


class Excluded(NamedTuple):
    """An arm that bounds exclude: its mean is at most `upper`, and that of the arm `better` at least `lower`.

    Examples
    --------
    >>> import meanbounds as mb
    >>> bounds = mb.MeanBounds([0.7, 0.2, 0.4], [0.95, 0.9, 0.6], arms=["tPA", "medical", "watch"])
    >>> mb.Agent(mb.GLUE(), bounds, seed=7).excluded()
    [Excluded(context=None, arm='watch', upper=0.6, better='tPA', lower=0.7)]
    """

    context: Any
    arm: Any
    upper: float
    better: Any
    lower: float
