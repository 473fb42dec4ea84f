"""`Experiment(...).run()` with UCB1-Tuned, the only UCB it has; else `predict` and `learn`, with features too."""

from __future__ import annotations

import importlib
import random
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from benchmarks.workloads import Game, LinearArms, draws, games_of, linear_games

DISTRIBUTION, PINS = "coba", ()


class _Environment:
    """Draws rewards with as little work as can be."""

    params: ClassVar[dict[str, Any]] = {}

    def __init__(self, means: Sequence[float], rounds: int) -> None:
        self._means, self._rounds = means, rounds

    def read(self) -> Iterator[dict[str, Any]]:
        arms, draw = list(range(len(self._means))), random.Random(1).random
        for _ in range(self._rounds):
            yield {"context": None, "actions": arms, "rewards": [float(draw() < mean) for mean in self._means]}


def games() -> dict[str, Game]:
    """UCB and LinUCB."""
    coba = importlib.import_module("coba")
    coba.CobaContext.logger = coba.NullLogger()

    def experiment(means: Sequence[float], rounds: int) -> None:
        coba.Experiment([_Environment(means, rounds)], [coba.BanditUCBLearner()]).run(quiet=True)

    def play(means: Sequence[float], rounds: int) -> None:
        learner, arms = coba.BanditUCBLearner(), list(range(len(means)))
        for draw in draws(rounds):
            arm, probability = learner.predict(None, arms)
            learner.learn(None, arm, 1.0 if draw < means[arm] else 0.0, probability)

    def linear(arms: LinearArms, rounds: int) -> None:
        learner = coba.LinUCBLearner(features=["a"])
        actions = [tuple(row) for row in arms.features.tolist()]
        for positions, _, pay in arms.rounds(rounds):
            offered = [actions[k] for k in positions.tolist()]
            action, probability = learner.predict(None, offered)
            learner.learn(None, action, float(pay[offered.index(action)]), probability)

    pulls = games_of(play, "P5", "P50", rounds=2_000)
    return {**games_of(experiment, "W1", "W3", rounds=5_000), **pulls, **linear_games(linear, rounds=500)}
