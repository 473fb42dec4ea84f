"""`fit` on one play of each arm, then `predict` and `partial_fit` each round; UCB1. Its `Simulator` replays logs."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from benchmarks.workloads import Game, draws, games_of

DISTRIBUTION, PINS = "mabwiser", ()


def games() -> dict[str, Game]:
    """UCB only."""
    mab = importlib.import_module("mabwiser.mab")

    def play(means: Sequence[float], rounds: int) -> None:
        arms, numbers = list(range(len(means))), draws(rounds)
        bandit = mab.MAB(arms, mab.LearningPolicy.UCB1(alpha=1.0), seed=1)
        bandit.fit(arms, [1.0 if draw < mean else 0.0 for draw, mean in zip(numbers, means, strict=False)])
        for draw in numbers[len(arms) :]:
            arm = bandit.predict()
            bandit.partial_fit([arm], [1.0 if draw < means[arm] else 0.0])

    return games_of(play, "W1", "W3", "P5", "P50", rounds=2_000)
