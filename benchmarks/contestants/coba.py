"""Coba: its Experiment, on an environment that draws rewards with as little work as can be.

With a shared parameter, predict and learn in a loop: its Experiment is no faster there.
"""

from __future__ import annotations

import importlib
import random
from collections.abc import Iterator
from typing import Any, ClassVar

from benchmarks.contestants.base import Contestant, Floats, LinearArms, LinearContestant


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


def linear_contestant() -> LinearContestant:
    coba = importlib.import_module("coba")

    def play(arms: LinearArms, horizon: int, seed: int) -> None:
        learner = coba.LinUCBLearner(features=["a"])
        actions = [tuple(row) for row in arms.features.tolist()]
        arm_of = {action: arm for arm, action in enumerate(actions)}
        for positions, _, draw in arms.rounds(horizon, seed):
            action, probability = learner.predict(None, [actions[arm] for arm in positions.tolist()])
            learner.learn(None, action, arms.reward(arm_of[action], draw), probability)

    def simulate(arms: LinearArms, horizon: int, runs: int) -> None:
        for run in range(runs):
            play(arms, horizon, run)

    how = (
        '`predict` and `learn` of `LinUCBLearner(features=["a"])`, the features of an arm being its action; '
        "`Experiment` is no faster. Its width has a constant factor."
    )
    return LinearContestant("coba", how, simulate, horizon=1_000)
