"""What a contestant has to offer."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Floats = Sequence[float]
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
