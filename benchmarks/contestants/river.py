"""River: pull and update, as in the example of its UCB."""

from __future__ import annotations

import importlib

from benchmarks.contestants.base import Contestant, Floats, by_calls


def contestant() -> Contestant:
    bandit = importlib.import_module("river.bandit")

    def call(means: Floats, draws: Floats) -> None:
        policy = bandit.UCB(delta=1, seed=1)
        arms = range(len(means))
        for draw in draws:
            arm = policy.pull(arms)
            policy.update(arm, 1.0 if draw < means[arm] else 0.0)

    how = (
        "`pull` and `update` of `bandit.UCB(delta=1)`, that is UCB1, in a loop as in its documentation; "
        "its `bandit.evaluate` is the same loop around a gymnasium environment."
    )
    return Contestant("river", how, frozenset({"UCB"}), by_calls(call), call)
