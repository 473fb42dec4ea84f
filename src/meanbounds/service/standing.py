"""What an agent knows by now, arm by arm, as the service shows it."""

from __future__ import annotations

from math import exp, log
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.agents import Agent, NoIndexError
from meanbounds.agents.arms import ArmsLearner
from meanbounds.bounds import MeanBounds
from meanbounds.evidence import confidence_sequence
from meanbounds.kernels.arms.doubted_laws import log_bayes_factor

__all__ = ["arm_views", "trusts", "trusts_after"]

_FLAT = (1.0, 1.0)


def arm_views(agent: Agent) -> list[dict[str, Any]]:
    """Each arm's bounds, plays, mean, index, chance to be next, trust, and what speaks against it.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.service.standing import arm_views
    >>> agent = mb.Agent(mb.GLUE(), mb.MeanBounds([0.5, 0.1], [0.9, 0.4], arms=["a", "b"]), seed=7)
    >>> [view["why_not"] for view in arm_views(agent)]
    [None, 'its upper bound 0.4 is below the lower bound 0.5 of a']
    """
    bounds, plays, means, pending = agent.bounds, agent.plays, agent.means, agent.pending
    totals = np.where(plays > 0, plays * np.nan_to_num(means), 0.0)
    lower, upper = confidence_sequence(plays, totals, low=bounds.low, high=bounds.high)
    against, retired, possible = agent.contradictions(), set(agent.retired), bounds.possible
    best = int(np.argmax(bounds.lower))
    trust, indices = trusts(agent), _indices(agent)
    chances = agent.probabilities() if len(retired) < len(bounds) else np.zeros(len(bounds))
    return [
        {
            "arm": arm,
            "lower": float(bounds.lower[k]),
            "upper": float(bounds.upper[k]),
            "low": float(bounds.low[k]),
            "high": float(bounds.high[k]),
            "plays": int(plays[k]),
            "pending": int(pending[k]),
            "mean": _finite(float(means[k])),
            "mean_lower": float(lower[k]),
            "mean_upper": float(upper[k]),
            "index": indices[k],
            "probability": float(chances[k]),
            "trust": trust[k],
            "can_be_best": bool(possible[k]),
            "why_not": _why_not(bounds, k, best, arm in retired),
            "retired": arm in retired,
            "contradicted": [found.side for found in against if found.arm == arm],
            "contradictions": [str(found) for found in against if found.arm == arm],
        }
        for k, arm in enumerate(bounds.arms)
    ]


def trusts(agent: Agent) -> list[float]:
    """How probable it is by now that each arm's bounds hold, by the trust they started with and the rewards since.

    Bounds that rest on one assumption stand or fall with it. Else the mean of an arm is taken to be uniform within its
    bounds while they hold, and anywhere in the range if not.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.service.standing import trusts
    >>> agent = mb.Agent(mb.GLUE(), mb.Knowledge(mb.MeanBounds([0.2], [0.5], arms=["a"]), trust=0.9), seed=7)
    >>> for _ in range(8):
    ...     agent.update("a", 1.0)
    >>> [round(trust, 2) for trust in trusts(agent)]
    [0.06]
    """
    shared = agent.assumptions()
    if shared:
        (log_e,) = shared.values()
        before = agent.knowledge.after(int(agent.plays.sum())).trusts.tolist()
        return [_after(trust, -log_e) for trust in before]
    return trusts_after(agent, agent.plays, np.where(agent.plays > 0, agent.plays * np.nan_to_num(agent.means), 0.0))


def trusts_after(agent: Agent, plays: ArrayLike, totals: ArrayLike) -> list[float]:
    """The trust in each arm's bounds after these rewards, where bounds stand alone; see `trusts`.

    Parameters
    ----------
    agent
        The agent, which has the bounds.
    plays, totals
        How many rewards each arm has had, and their sums.
    """
    bounds, counts = agent.bounds, np.asarray(plays, dtype=float)
    before: list[float] = agent.knowledge.after(int(counts.sum())).trusts.tolist()
    if not isinstance(agent.inside, ArmsLearner):
        return before
    span = bounds.high - bounds.low
    lower = np.clip((bounds.lower - bounds.low) / span, 0.0, 1.0)
    upper = np.clip((bounds.upper - bounds.low) / span, lower, 1.0)
    ones = np.clip((np.asarray(totals, dtype=float) - counts * bounds.low) / span, 0.0, counts)
    factors = [
        log_bayes_factor(1.0 + one, 1.0 + count - one, _FLAT, low, high)
        for one, count, low, high in zip(ones, counts, lower, upper, strict=True)
    ]
    return [_after(trust, factor) for trust, factor in zip(before, factors, strict=True)]


def _after(trust: float, log_factor: float) -> float:
    """A trust after evidence for what is trusted, given as the logarithm of a Bayes factor."""
    if trust in (0.0, 1.0):
        return trust
    odds = log(trust / (1.0 - trust)) + log_factor
    return 1.0 / (1.0 + exp(-odds)) if odds > -700.0 else 0.0


def _why_not(bounds: MeanBounds, k: int, best: int, is_retired: bool) -> str | None:
    """Why an arm is not played, if its bounds or somebody say so."""
    if is_retired:
        return "retired"
    if bounds.possible[k]:
        return None
    relation = "below" if bounds.upper[k] < bounds.lower[best] else "no more than"
    own, other = f"its upper bound {bounds.upper[k]:.3g}", f"the lower bound {bounds.lower[best]:.3g}"
    return f"{own} is {relation} {other} of {bounds.arms[best]}"


def _indices(agent: Agent) -> list[float | None]:
    try:
        return [_finite(value) for value in agent.indices().tolist()]
    except NoIndexError:
        return [None] * len(agent.bounds)


def _finite(value: float) -> float | None:
    """The number, or None where JSON has none: not a number, or infinite."""
    return value if np.isfinite(value) else None
