"""Pymab: its Experiment, which runs built-in policies in Rust."""

from __future__ import annotations

import importlib

import numpy as np

from benchmarks.contestants.base import Contestant, Floats


def contestant() -> Contestant:
    pymab = importlib.import_module("pymab")
    policies = importlib.import_module("pymab.policies")
    kinds = {"UCB": policies.UCBPolicy, "KL-UCB": policies.KLUCBPolicy}

    def simulate(policy: str, means: Floats, horizon: int, runs: int) -> object:
        return pymab.Experiment(
            environment=pymab.BanditEnvironment(means=np.array(means), reward_model=pymab.BernoulliReward()),
            policies={policy: kinds[policy](n_arms=len(means))},
            config=pymab.ExperimentConfig(horizon=horizon, n_replicates=runs, seed=1, backend="rust"),
        ).run()

    def call(means: Floats, draws: Floats) -> None:
        policy = policies.UCBPolicy(n_arms=len(means))
        rng = np.random.default_rng(1)
        for draw in draws:
            arm = policy.select_action(rng=rng)
            policy.update(action=arm, reward=1.0 if draw < means[arm] else 0.0)

    how = (
        "`Experiment(...).run()` with the Rust backend, which keeps every reward and action and has no "
        "lighter mode; round by round `select_action` and `update`. UCB1 and KL-UCB."
    )
    return Contestant("pymab", how, frozenset(kinds), simulate, call)
