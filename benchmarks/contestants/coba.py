"""Coba: its Experiment, on an environment that draws rewards with as little work as can be."""

from __future__ import annotations

import importlib
import random
from collections.abc import Iterator
from typing import Any, ClassVar

from benchmarks.contestants.base import Contestant, Floats


class _Environment:
    params: ClassVar[dict[str, Any]] = {}

    def __init__(self, means: Floats, horizon: int, seed: int) -> None:
        self._means, self._horizon, self._seed = means, horizon, seed

    def read(self) -> Iterator[dict[str, Any]]:
        arms = list(range(len(self._means)))
        draw = random.Random(self._seed).random
        for _ in range(self._horizon):
            rewards = [1.0 if draw() < mean else 0.0 for mean in self._means]
            yield {"context": None, "actions": arms, "rewards": rewards}


def contestant() -> Contestant:
    coba = importlib.import_module("coba")
    coba.CobaContext.logger = coba.NullLogger()

    def simulate(_policy: str, means: Floats, horizon: int, runs: int) -> object:
        environments = [_Environment(means, horizon, run) for run in range(runs)]
        return coba.Experiment(environments, [coba.BanditUCBLearner()]).run(quiet=True)

    def call(means: Floats, draws: Floats) -> None:
        learner = coba.BanditUCBLearner()
        arms = list(range(len(means)))
        for draw in draws:
            arm, probability = learner.predict(None, arms)
            learner.learn(None, arm, 1.0 if draw < means[arm] else 0.0, probability)

    how = "`Experiment(...).run()`; round by round `predict` and `learn`. UCB1-Tuned, the only UCB it has."
    return Contestant("coba", how, frozenset({"UCB"}), simulate, call)
