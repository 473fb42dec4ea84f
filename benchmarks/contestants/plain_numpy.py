"""What one would write by hand with numpy: V^-1 by rank-one updates, and matrix products over the arms on offer."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

from benchmarks.contestants.base import LinearArms, LinearContestant

REGULARISATION = 1.0
LARGEST_NORM = 1.0  # of the parameter
NOISE = 0.5  # sub-Gaussian, of rewards in a range of length 1
DELTA = 0.01


def linear_contestant() -> LinearContestant:
    def simulate(arms: LinearArms, horizon: int, runs: int) -> list[NDArray[np.int64]]:
        return [_play(arms, horizon, run) for run in range(runs)]

    how = (
        "keeps V^-1 by the Sherman-Morrison formula, and the estimate and log det V along with it; matrix products "
        "and `einsum` over the arms on offer. The same policy as ours; keeps the plays of each arm, no regret curve."
    )
    return LinearContestant("plain numpy loop", how, simulate, horizon=10_000)


def _play(arms: LinearArms, horizon: int, seed: int) -> NDArray[np.int64]:
    count, dimension = arms.features.shape
    plays = np.zeros(count, dtype=np.int64)
    inverse = np.eye(dimension) / REGULARISATION
    theta = np.zeros(dimension)
    log_determinant = 0.0  # of V / lambda
    bias, confidence = sqrt(REGULARISATION) * LARGEST_NORM, 2.0 * log(1.0 / DELTA)
    for positions, offered, draw in arms.rounds(horizon, seed):
        projected = offered @ inverse
        squares = np.einsum("ij,ij->i", projected, offered)
        means = offered @ theta
        radius = bias + NOISE * sqrt(confidence + log_determinant)
        place = (means + radius * np.sqrt(squares)).argmax()
        arm = positions[place]
        plays[arm] += 1
        direction, growth = projected[place], 1.0 + squares[place]
        theta += (arms.reward(arm, draw) - means[place]) / growth * direction
        inverse -= np.outer(direction, direction / growth)
        log_determinant += log(growth)
    return plays
