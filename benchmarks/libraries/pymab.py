"""`Experiment(...).run()` with the Rust backend; one decision at a time `select_action` and `update`. UCB1, KL-UCB."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.workloads import Game, draws, games_of

DISTRIBUTION, PINS = "pymab", ()
_RUNS = 10


def games() -> dict[str, Game]:
    """UCB and KL-UCB."""
    pymab, policies = importlib.import_module("pymab"), importlib.import_module("pymab.policies")

    def experiment(kind: Any, means: Sequence[float], rounds: int) -> None:
        pymab.Experiment(
            environment=pymab.BanditEnvironment(means=np.array(means), reward_model=pymab.BernoulliReward()),
            policies={"policy": kind(n_arms=len(means))},
            config=pymab.ExperimentConfig(horizon=rounds, n_replicates=_RUNS, seed=1, backend="rust"),
        ).run()

    def play(means: Sequence[float], rounds: int) -> None:
        policy, rng = policies.UCBPolicy(n_arms=len(means)), np.random.default_rng(1)
        for draw in draws(rounds):
            arm = policy.select_action(rng=rng)
            policy.update(action=arm, reward=1.0 if draw < means[arm] else 0.0)

    def ucb(means: Sequence[float], rounds: int) -> None:
        experiment(policies.UCBPolicy, means, rounds)

    def klucb(means: Sequence[float], rounds: int) -> None:
        experiment(policies.KLUCBPolicy, means, rounds)

    return {
        **games_of(ucb, "W1", "W3", runs=_RUNS),
        **games_of(klucb, "W2", runs=_RUNS),
        **games_of(play, "P5", "P50"),
    }
