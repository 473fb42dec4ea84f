"""`choice` and `getReward` of `UCB` and of `klUCB`, which numba compiles, in the loop of its documentation."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any

from benchmarks.workloads import Game, draws, games_of

DISTRIBUTION = "SMPyBandits"
PINS = (
    "SMPyBandits==0.9.7",
    "matplotlib==3.7.5",
    "numba==0.57.1",
    "numpy==1.23.5",
    "pandas==2.0.3",
    "scikit-learn==1.3.2",
    "scikit-optimize==0.9.0",
    "scipy==1.11.4",
    "seaborn==0.12.2",
)


def games() -> dict[str, Game]:
    """UCB and KL-UCB."""
    os.environ["MPLBACKEND"] = "agg"
    sys.modules["numba.decorators"] = importlib.import_module("numba")  # where it looks for jit
    policies = importlib.import_module("SMPyBandits.Policies")

    def loop(kind: Any, means: Sequence[float], rounds: int) -> None:
        policy = kind(len(means))
        policy.startGame()
        for draw in draws(rounds):
            arm = policy.choice()
            policy.getReward(arm, 1.0 if draw < means[arm] else 0.0)

    def ucb(means: Sequence[float], rounds: int) -> None:
        loop(policies.UCB, means, rounds)

    def klucb(means: Sequence[float], rounds: int) -> None:
        loop(policies.klUCB, means, rounds)

    return {**games_of(ucb, "W1", "W3", "P5", "P50"), **games_of(klucb, "W2")}
