"""What a contestant has to offer."""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = Sequence[float]
Array = NDArray[np.float64]
Positions = NDArray[np.intp]
Simulate = Callable[[str, Floats, int, int], object]
Call = Callable[[Floats, Floats], object]


@dataclass(frozen=True)
class Contestant:
    """How one library plays Bernoulli arms.

    `simulate(policy, means, horizon, runs)` is its way to run a simulation. `call(means, draws)` plays UCB
    through its functions for one round, a round for each uniform draw: an arm pays 1 if the draw is below its
    mean.
    """

    label: str
    how: str
    policies: frozenset[str]
    simulate: Simulate
    call: Call | None = None


def uniform_draws(count: int, seed: int) -> list[float]:
    """Uniform random numbers."""
    draw = random.Random(seed).random
    return [draw() for _ in range(count)]


def by_calls(call: Call) -> Simulate:
    """Simulation for a library that leaves the loop over rounds to its user; its only policy is UCB."""

    def simulate(_policy: str, means: Floats, horizon: int, runs: int) -> None:
        for run in range(runs):
            call(means, uniform_draws(horizon, run))

    return simulate


@dataclass(frozen=True, eq=False)
class LinearArms:
    """Arms whose means are linear in one parameter that they share; each round offers `offered` of them, or all.

    An arm pays 1, or -1 if its mean is negative, with the probability that gives it exactly its mean, and 0
    otherwise.
    """

    features: Array
    theta: Array
    offered: int | None

    @functools.cached_property
    def means(self) -> list[float]:
        means: list[float] = (self.features @ self.theta).tolist()
        return means

    def reward(self, arm: int, draw: float) -> float:
        """What an arm pays for a uniform draw."""
        mean = self.means[arm]
        return math.copysign(1.0, mean) if draw < abs(mean) else 0.0

    def rounds(self, horizon: int, seed: int) -> Iterator[tuple[Positions, Array, float]]:
        """The arms on offer, their features, and a uniform draw for the reward.

        All random numbers are drawn at once: one round at a time would cost more than some policies do.
        """
        rng = np.random.default_rng(seed)
        draws = rng.random(horizon).tolist()
        count = len(self.features)
        if self.offered is None:
            everything = np.arange(count)
            for draw in draws:
                yield everything, self.features, draw
        else:
            ranks = rng.random((horizon, count)).argpartition(self.offered - 1, axis=1)
            for positions, draw in zip(ranks[:, : self.offered], draws, strict=True):
                yield positions, self.features.take(positions, axis=0), draw


SimulateLinear = Callable[[LinearArms, int, int], object]


@dataclass(frozen=True)
class LinearContestant:
    """How one library plays arms with a shared parameter: `simulate(arms, horizon, runs)`.

    `horizon` is how many rounds it is timed for. A round costs the same early and late, so a slow library plays
    fewer and takes more turns instead.
    """

    label: str
    how: str
    simulate: SimulateLinear
    horizon: int
