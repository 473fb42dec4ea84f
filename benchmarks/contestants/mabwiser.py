"""MABWiser: predict and partial_fit; its Simulator replays logged decisions and plays no environment."""

from __future__ import annotations

import importlib

from benchmarks.contestants.base import Contestant, Floats, by_calls


def contestant() -> Contestant:
    mab = importlib.import_module("mabwiser.mab")

    def call(means: Floats, draws: Floats) -> None:
        arms = list(range(len(means)))
        bandit = mab.MAB(arms, mab.LearningPolicy.UCB1(alpha=1.0), seed=1)
        bandit.fit(arms, [1.0 if draws[arm] < means[arm] else 0.0 for arm in arms])
        for draw in draws[len(arms) :]:
            arm = bandit.predict()
            bandit.partial_fit([arm], [1.0 if draw < means[arm] else 0.0])

    how = "`fit` on one play of each arm, then `predict` and `partial_fit` each round. UCB1."
    return Contestant("mabwiser", how, frozenset({"UCB"}), by_calls(call), call)
