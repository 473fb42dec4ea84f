"""Worlds that attain the bounds of each assumption: whatever is too narrow misses there.

A world has a few hidden types of case. In each type one arm is played, and every arm has a mean; rewards are 0 and 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import meanbounds as mb
from meanbounds.support.types import Floats, Integers

__all__ = ["WORLDS", "World", "contained"]

_ARMS = 3


@dataclass(frozen=True, eq=False)
class World:
    """Types with their probabilities, the arm that is played in each, and types x arms means.

    `recorded` are the propensities that the log has for each type, if it has any.
    """

    probability: Floats
    played: Integers
    means: Floats
    recorded: Floats | None = None

    @property
    def true_means(self) -> Floats:
        """What bounds have to contain."""
        return self.probability @ self.means

    def counts(self, rows: int, rng: np.random.Generator) -> mb.logs.Counts:
        """Counts of a log with so many rows."""
        return self._counted(rng.multinomial(rows, self.cells().ravel()).reshape(-1, 2).astype(np.float64))

    def infinite(self) -> mb.logs.Counts:
        """Counts of an infinite log."""
        return self._counted(self.cells())

    def cells(self) -> Floats:
        """The probabilities of each type with reward 0 and 1."""
        mean = self.means[np.arange(self.played.size), self.played]
        return self.probability[:, None] * np.stack([1.0 - mean, mean], axis=1)

    def _counted(self, cells: Floats) -> mb.logs.Counts:
        groups = ["all"] if self.recorded is None else [repr(one) for one in dict.fromkeys(self.recorded.tolist())]
        counted = np.zeros((len(groups), _ARMS, 2))
        for kind, pair in enumerate(cells):
            z = 0 if self.recorded is None else groups.index(repr(float(self.recorded[kind])))
            counted[z, self.played[kind]] += pair
        total = counted[:, :, 1]
        names = () if self.recorded is None else ("chance",)
        sums = {"count": counted.sum(axis=2), "total": total, "squares": total}
        histogram = mb.logs.Histogram([0.0, 1.0], [0.0, 1.0], counted)
        return mb.logs.Counts(
            groups, list(range(_ARMS)), **sums, histogram=histogram, context_names=names, arms_listed=True
        )


Made = tuple[World, mb.logs.Assumption]


def optimal(rng: np.random.Generator, violated: float) -> Made:
    """Every other arm is gap_low below the best one, and gap_high too."""
    share, gap = rng.dirichlet(np.full(_ARMS, 2.0)), float(rng.uniform(0.05, 0.2))
    best = rng.uniform(0.5, 0.9, _ARMS)
    true = gap / violated
    means = np.where(np.eye(_ARMS, dtype=bool), best[:, None], best[:, None] - true)
    return World(share, np.arange(_ARMS), means), mb.logs.OptimalExpert(gap, max(gap, true))


def erring(rng: np.random.Generator, violated: float) -> Made:
    """Where the expert errs the reward is 0, and others would have had 1; else they are gap_low below the best."""
    errors, gap = float(rng.uniform(0.02, 0.15)), float(rng.uniform(0.0, 0.2))
    share = (1.0 - violated * errors) * rng.dirichlet(np.full(_ARMS, 2.0))
    best = rng.uniform(0.4, 0.9, _ARMS)
    right = np.where(np.eye(_ARMS, dtype=bool), best[:, None], best[:, None] - gap)
    wrong = np.ones((1, _ARMS))
    wrong[0, 0] = 0.0
    played = np.array([*range(_ARMS), 0])
    world = World(np.append(share, violated * errors), played, np.vstack([right, wrong]))
    return world, mb.logs.ErringExpert(errors, gap)


def nearly_optimal(rng: np.random.Generator, violated: float) -> Made:
    """Everywhere another arm is better than the expert's by the loss; all others are as good as that one."""
    loss = float(rng.uniform(0.02, 0.1))
    share, own = rng.dirichlet(np.full(_ARMS, 2.0)), rng.uniform(0.3, 0.7, _ARMS)
    target = int(rng.integers(_ARMS))  # never played: it can be better in every case
    kinds = np.array([k for k in range(_ARMS) if k != target])
    share = share[kinds] / share[kinds].sum()
    means = np.where(np.arange(_ARMS) == kinds[:, None], own[kinds, None], own[kinds, None] + violated * loss)
    return World(share, kinds, means), mb.logs.NearlyOptimalExpert(loss)


def marginal(rng: np.random.Generator, violated: float) -> Made:
    """Arms 0 and 1; arm 0 earns 1 in one hidden type and 0 in the other, which gets it less often, by the odds."""
    odds = float(rng.uniform(1.3, 3.0))
    true = odds * violated
    share, mean = float(rng.uniform(0.3, 0.7)), float(rng.uniform(0.15, 0.85))
    up = min(true, 1.0 / mean * (1.0 - (1.0 - mean) / true))  # the weight of the type with reward 1, where not played
    down = (1.0 - mean * up) / (1.0 - mean)
    rest = 1.0 - share
    probability = np.array([share * mean, share * (1.0 - mean), rest * mean * up, rest * (1.0 - mean) * down])
    other = float(rng.uniform(0.2, 0.8))
    means = np.array([[1.0, other, 0.0], [0.0, other, 0.0], [1.0, other, 0.0], [0.0, other, 0.0]])
    return World(probability, np.array([0, 0, 1, 1]), means), mb.logs.MarginalSensitivity(odds)


def known(rng: np.random.Generator, violated: float) -> Made:
    """Two groups with their own propensities; violated, those of the first group are recorded too small."""
    chances = rng.dirichlet(np.full(_ARMS, 4.0), 2) * 0.7 + 0.1
    group, means = rng.dirichlet([2.0, 2.0]), rng.uniform(0.1, 0.9, (2, _ARMS))
    probability = (group[:, None] * chances).ravel()
    recorded = (chances / np.array([[violated], [1.0]])).ravel()
    world = World(probability, np.tile(np.arange(_ARMS), 2), np.repeat(means, _ARMS, axis=0), recorded)
    return world, mb.logs.KnownPropensity("chance", 0.1 / violated)


WORLDS: Mapping[str, Callable[[np.random.Generator, float], Made]] = {
    "optimal": optimal,
    "erring": erring,
    "nearly optimal": nearly_optimal,
    "marginal sensitivity": marginal,
    "known propensity": known,
}
"""For each assumption a world that attains its bounds; with a factor, one that violates it by that factor."""


def contained(found: mb.MeanBounds, world: World, slack: float = 0.0) -> bool:
    """Whether all means are inside their bounds."""
    true: Any = world.true_means
    return bool(np.all((found.lower <= true + slack) & (true <= found.upper + slack)))
