"""What one would write by hand: lists, math and one loop that recomputes only what a play changes."""

from __future__ import annotations

import functools
import random
from math import exp, inf, log, log1p, sqrt

from benchmarks.contestants.base import Contestant, Floats


def contestant() -> Contestant:
    players = {"UCB": _play_ucb, "KL-UCB": _play_kl_ucb}

    def simulate(policy: str, means: Floats, horizon: int, runs: int) -> list[list[int]]:
        return [players[policy](means, horizon, run) for run in range(runs)]

    how = (
        "lists and `math`, no numpy. UCB keeps each arm's mean and width and tabulates sqrt(log f(t)); "
        "KL-UCB solves for each index with Newton's method from that of the last round. The same policies as "
        "ours; keeps the plays of each arm, no regret curve."
    )
    return Contestant("plain Python loop", how, frozenset(players), simulate)


@functools.cache
def _log_f(horizon: int) -> list[float]:
    return [log(1.0 + t * log(t) ** 2) for t in range(1, horizon + 1)]


@functools.cache
def _sqrt_log_f(horizon: int) -> list[float]:
    return [sqrt(value) for value in _log_f(horizon)]


def _play_ucb(probabilities: Floats, horizon: int, seed: int) -> list[int]:
    arms = range(len(probabilities))
    draw = random.Random(seed).random
    plays, total = [0 for _ in arms], [0 for _ in arms]
    means, widths = [inf for _ in arms], [0.0 for _ in arms]
    arm = 0
    for growth in _sqrt_log_f(horizon):
        best = -1.0
        for k in arms:
            index = means[k] + widths[k] * growth
            if index > best:
                best, arm = index, k
        plays[arm] = n = plays[arm] + 1
        if draw() < probabilities[arm]:
            total[arm] += 1
        means[arm] = total[arm] / n
        widths[arm] = sqrt(0.5 / n)
    return plays


def _play_kl_ucb(probabilities: Floats, horizon: int, seed: int) -> list[int]:
    arms = range(len(probabilities))
    draw = random.Random(seed).random
    plays, total = [0 for _ in arms], [0 for _ in arms]
    means, indices = [1.0 for _ in arms], [1.0 for _ in arms]
    arm = 0
    for level in _log_f(horizon):
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
    """Largest q with kl(mean, q) <= level, for 0 < mean < 1."""
    target = mean * log(mean) + (1.0 - mean) * log1p(-mean) - level
    q = start
    while True:
        step = (target - mean * log(q) - (1.0 - mean) * log1p(-q)) * q * (1.0 - q) / (q - mean)
        following = q - step
        q = following if following < 1.0 else 0.5 * (1.0 + q)
        if -1e-9 < step < 1e-9:
            return q
