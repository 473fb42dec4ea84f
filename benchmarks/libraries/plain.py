"""What one would write by hand, with the same policies as ours: `math` and lists, numpy where there are features."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from math import exp, inf, log, log1p, sqrt

import numpy as np

from benchmarks.workloads import Game, LinearArms, games_of, linear_games

DISTRIBUTION, PINS = "", ()
_BIAS, _NOISE, _DELTA = 1.0, 0.5, 0.01


def games() -> dict[str, Game]:
    """UCB, KL-UCB and OFUL."""
    return {**games_of(_ucb, "W1", "W3"), **games_of(_klucb, "W2"), **linear_games(_oful)}


@cache
def _log_f(rounds: int) -> list[float]:
    """The logarithm of f(t) = 1 + t log(t)^2 in each round."""
    return [log(1.0 + t * log(t) ** 2) for t in range(1, rounds + 1)]


@cache
def _root_log_f(rounds: int) -> list[float]:
    return [sqrt(level) for level in _log_f(rounds)]


def _ucb(probabilities: Sequence[float], rounds: int) -> list[int]:
    """Keeps the mean and the width of each arm."""
    arms, draw = range(len(probabilities)), random.Random(1).random
    plays, total = [0 for _ in arms], [0 for _ in arms]
    means, widths = [inf for _ in arms], [0.0 for _ in arms]
    arm = 0
    for growth in _root_log_f(rounds):
        best = -1.0
        for k in arms:
            index = means[k] + widths[k] * growth
            if index > best:
                best, arm = index, k
        plays[arm] = n = plays[arm] + 1
        if draw() < probabilities[arm]:
            total[arm] += 1
        means[arm], widths[arm] = total[arm] / n, sqrt(0.5 / n)
    return plays


def _klucb(probabilities: Sequence[float], rounds: int) -> list[int]:
    """Solves for each index from that of the last round."""
    arms, draw = range(len(probabilities)), random.Random(1).random
    plays, total = [0 for _ in arms], [0 for _ in arms]
    means, indices = [1.0 for _ in arms], [1.0 for _ in arms]
    arm = 0
    for level in _log_f(rounds):
        best = -1.0
        for k in arms:
            mean = means[k]
            if 0.0 < mean < 1.0:
                indices[k] = _kl_upper(mean, level / plays[k], indices[k])
            elif mean == 0.0:
                indices[k] = 1.0 - exp(-level / plays[k])
            if indices[k] > best:
                best, arm = indices[k], k
        plays[arm] = n = plays[arm] + 1
        if draw() < probabilities[arm]:
            total[arm] += 1
        mean = means[arm] = total[arm] / n
        indices[arm] = min(mean + sqrt(0.5 * level / n), 0.5 + 0.5 * mean)
    return plays


def _kl_upper(mean: float, level: float, start: float) -> float:
    """The largest q with kl(mean, q) <= level, for 0 < mean < 1, by Newton's method."""
    target, q = mean * log(mean) + (1.0 - mean) * log1p(-mean) - level, start
    while True:
        step = (target - mean * log(q) - (1.0 - mean) * log1p(-q)) * q * (1.0 - q) / (q - mean)
        following = q - step
        q = following if following < 1.0 else 0.5 * (1.0 + q)
        if -1e-9 < step < 1e-9:
            return q


def _oful(arms: LinearArms, rounds: int) -> list[int]:
    """Keeps the inverse of V by rank-one updates."""
    count, d = arms.features.shape
    plays, inverse, theta, log_det = [0] * count, np.eye(d), np.zeros(d), 0.0
    for positions, offered, pay in arms.rounds(rounds):
        projected = offered @ inverse
        squares, means = np.einsum("ij,ij->i", projected, offered), offered @ theta
        radius = _BIAS + _NOISE * sqrt(2.0 * log(1.0 / _DELTA) + log_det)
        place = (means + radius * np.sqrt(squares)).argmax()
        plays[positions[place]] += 1
        direction, growth = projected[place], 1.0 + squares[place]
        theta += (pay[place] - means[place]) / growth * direction
        inverse -= np.outer(direction, direction / growth)
        log_det += log(growth)
    return plays
