"""`core.rollout.play` with its UCB, 200 runs in lock-step, which wants the rewards of all arms beforehand."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

import numpy as np

from benchmarks.workloads import Game, games_of

DISTRIBUTION, PINS = "xbandits", ()
_RUNS = 200


def games() -> dict[str, Game]:
    """UCB only."""
    rollout, ucb = importlib.import_module("xbandits.core.rollout"), importlib.import_module("xbandits.algo.ucb")

    def play(means: Sequence[float], rounds: int) -> None:
        rng = np.random.default_rng(1)
        rewards = np.empty((_RUNS, rounds, len(means)), dtype=np.bool_)
        for run in rewards:
            np.less(rng.random(run.shape), means, out=run)
        rollout.play(rewards, ucb.initialize, ucb.select_arm, ucb.update)

    return games_of(play, "W1", "W3", rounds=2_000, runs=_RUNS)
