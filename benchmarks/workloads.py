"""What every library plays, written without any library but numpy."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

__all__ = [
    "LINEAR",
    "MEANS",
    "PULLS",
    "SIMULATIONS",
    "TITLES",
    "Game",
    "LinearArms",
    "draws",
    "games_of",
    "linear_games",
]

ROUNDS = 10_000
FEW = (0.9, 0.8, 0.7, 0.6, 0.5)

TITLES: Mapping[str, str] = {
    "W1": "W1: UCB, 5 arms",
    "W2": "W2: KL-UCB, 5 arms",
    "W3": "W3: UCB, 100 arms",
    "W4a": "W4a: OFUL, 10 of 100 arms",
    "W4b": "W4b: OFUL, all of 100 arms",
    "P5": "UCB, 5 arms",
    "P50": "UCB, 50 arms",
}
SIMULATIONS, LINEAR, PULLS = ("W1", "W2", "W3"), ("W4a", "W4b"), ("P5", "P50")
"""Simulations on Bernoulli arms, simulations with features, and decisions one at a time."""

MEANS: Mapping[str, Sequence[float]] = {
    "W1": FEW,
    "W2": FEW,
    "W3": tuple(np.linspace(0.1, 0.9, 100).tolist()),
    "P5": FEW,
    "P50": tuple(np.linspace(0.1, 0.9, 50).tolist()),
}


@dataclass(frozen=True)
class Game:
    """Something to time: ``play(rounds)`` plays that many rounds of each of its runs."""

    play: Callable[[int], object]
    rounds: int = ROUNDS
    runs: int = 1


def draws(rounds: int) -> list[float]:
    """Uniform random numbers: an arm pays 1 if the number of the round is below its mean."""
    draw = random.Random(1).random
    return [draw() for _ in range(rounds)]


def games_of(play: Callable[[Sequence[float], int], object], *names: str, **rest: int) -> dict[str, Game]:
    """The workloads of these names for a library that plays ``play(means, rounds)``."""
    return {name: Game(partial(play, MEANS[name]), **rest) for name in names}


@dataclass(frozen=True, eq=False)
class LinearArms:
    """100 unit arms in R^10 as in the paper, of which `offered` are drawn each round, or all are there.

    An arm pays 1, or -1 if its mean is negative, with the probability that gives it exactly its mean, and else 0.
    """

    features: Any
    theta: Any
    offered: int | None

    @classmethod
    def of(cls, name: str) -> LinearArms:
        """The arms of a workload."""
        features = np.random.default_rng(1).normal(size=(100, 10))
        features /= np.linalg.norm(features, axis=1)[:, None]
        return cls(features, np.arange(10) / np.linalg.norm(np.arange(10)), 10 if name == "W4a" else None)

    def rounds(self, number: int) -> Iterator[tuple[Any, Any, Any]]:
        """The positions of the arms on offer, their features, and what each of them would pay.

        All random numbers are drawn at once: one round at a time would cost more than some policies do.
        """
        rng, means = np.random.default_rng(2), self.features @ self.theta
        pays = np.where(rng.random((number, 1)) < np.abs(means), np.copysign(1.0, means), 0.0)
        if self.offered is None:
            everything = np.arange(len(means))
            return ((everything, self.features, pay) for pay in pays)
        offers = rng.random((number, len(means))).argpartition(self.offered, axis=1)[:, : self.offered]
        return ((offer, self.features[offer], pay[offer]) for offer, pay in zip(offers, pays, strict=True))


def linear_games(play: Callable[[LinearArms, int], object], **rest: int) -> dict[str, Game]:
    """The workloads with features for a library that plays ``play(arms, rounds)``."""
    return {name: Game(partial(play, LinearArms.of(name)), **rest) for name in LINEAR}
