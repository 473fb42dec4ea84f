"""OSSB (Combes, Magureanu and Proutiere, 2017) for Bernoulli rewards with bounds on the means."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from meanbounds.policies import Policy
from meanbounds.theory import bernoulli_kl


@dataclass(frozen=True)
class OSSB(Policy):
    """Explores an arm until it has ``(1 + gamma) log f(t) / kl(mean, best mean)`` plays, else plays the best mean.

    Means are clipped to the bounds; an arm that was never played counts with its lower bound. Differs from the
    published version: the rounds that explored are taken to be those that did not play the arm that leads now, so that
    decisions follow from the statistics alone. Of these rounds, each arm gets at least a share epsilon.
    """

    f: Any = field(default="t", kw_only=True)
    epsilon: float = 0.01
    gamma: float = 0.01

    def scores(self, known: Any, seen: Any, t: Any, draws: Any, cache: Any = None) -> Any:
        """The mean of each arm, or in a round that explores what it lacks."""
        means, plays = np.where(known.possible, seen.clipped_mean(known), -np.inf), seen.plays
        best = means.max(axis=1, keepdims=True)
        behind = known.possible & (means < best) & (known.upper >= best)
        unit, goal = ((np.where(behind, x, best) - known.low) / known.width for x in (means, best))
        needs = np.where(behind, 1.0 / bernoulli_kl(np.clip(unit, 0.0, 1.0), np.clip(goal, 0.0, 1.0)), 0.0)
        satisfied = (plays >= needs * (1.0 + self.gamma) * self.log_f(t)[:, None]).all(axis=1, keepdims=True)
        candidates = np.where(known.possible, plays, np.inf)
        explored = plays.sum(axis=1, keepdims=True) - np.where(means == best, plays, 0.0).max(axis=1, keepdims=True)
        least = candidates.min(axis=1, keepdims=True) <= self.epsilon * (explored + 1.0)
        lacking = np.where(needs > 0.0, -plays / needs, -np.inf)
        return np.where(satisfied, means, np.where(least, -candidates, lacking))
