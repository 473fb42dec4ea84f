"""BanditLab: select_arm and update; its ExperimentRunner is the same loop and times every round besides."""

from __future__ import annotations

import importlib

from benchmarks.contestants.base import LinearArms, LinearContestant


def linear_contestant() -> LinearContestant:
    banditlab = importlib.import_module("mab_framework")  # what the distribution named banditlab installs

    def play(arms: LinearArms, horizon: int, seed: int) -> None:
        count, dimension = arms.features.shape
        places = arms.offered or count
        model = banditlab.OnlineRidgeRegression(feature_dim=dimension, l2_reg=1.0)
        policy = banditlab.LinUCBAlgorithm(n_arms=places, model=[model] * places)
        for positions, offered, draw in arms.rounds(horizon, seed):
            place = policy.select_arm(offered)
            reward = arms.reward(positions[place], draw)
            policy.update([{"action": place, "reward": reward, "context": offered}])

    def simulate(arms: LinearArms, horizon: int, runs: int) -> None:
        for run in range(runs):
            play(arms, horizon, run)

    how = (
        "`select_arm` and `update` of `LinUCBAlgorithm`, whose arms all hold the same `OnlineRidgeRegression`, "
        "which makes the parameter a shared one. Its width has a constant factor."
    )
    return LinearContestant("banditlab", how, simulate, horizon=1_000)
