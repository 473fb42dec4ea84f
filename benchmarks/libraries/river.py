"""`pull` and `update` of `bandit.UCB(delta=1)`, which is UCB1, in a loop as in its documentation."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from benchmarks.workloads import Game, draws, games_of

DISTRIBUTION, PINS = "river", ()


def games() -> dict[str, Game]:
    """UCB only."""
    bandit = importlib.import_module("river.bandit")

    def play(means: Sequence[float], rounds: int) -> None:
        policy, arms = bandit.UCB(delta=1, seed=1), range(len(means))
        for draw in draws(rounds):
            arm = policy.pull(arms)
            policy.update(arm, 1.0 if draw < means[arm] else 0.0)

    return games_of(play, "W1", "W3", "P5", "P50")
