"""`select_arm` and `update` of `LinUCBAlgorithm`, whose arms all hold one `OnlineRidgeRegression`: one parameter."""

from __future__ import annotations

import importlib

from benchmarks.workloads import Game, LinearArms, linear_games

DISTRIBUTION, PINS = "banditlab", ()


def games() -> dict[str, Game]:
    """LinUCB only."""
    framework = importlib.import_module("mab_framework")  # what the distribution installs

    def play(arms: LinearArms, rounds: int) -> None:
        places = arms.offered or len(arms.features)
        model = framework.OnlineRidgeRegression(feature_dim=arms.features.shape[1], l2_reg=1.0)
        policy = framework.LinUCBAlgorithm(n_arms=places, model=[model] * places)
        for _, offered, pay in arms.rounds(rounds):
            place = policy.select_arm(offered)
            policy.update([{"action": place, "reward": float(pay[place]), "context": offered}])

    return linear_games(play, rounds=1_000)
