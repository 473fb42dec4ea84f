"""Slow, readable twin of a simulation with late rewards: plain Python, a list of what is still out."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

import meanbounds as mb
from meanbounds.kernels.random.rewards import draw
from meanbounds.kernels.random.stream import delay_key, policy_key, reward_key, rounding_key, uniform
from meanbounds.simulation import Delay
from tests.naive import TWINS, UNDECIDED, Round, child, log_f


class Sent(NamedTuple):
    """A reward that is still out."""

    due: float
    arm: int
    reward: float


def rounds_late(delay: Delay, key: np.uint64, t: int) -> float:
    """How many rounds late the reward of round t is; infinity if it never comes."""
    if uniform(key, 2 * (t - 1) + 1) < delay.lost:
        return math.inf
    if delay.law == "fixed" or delay.mean == 0:
        return delay.mean
    stays_out = math.exp(-math.log1p(1 / delay.mean))
    late, u = 0, 1.0 - uniform(key, 2 * (t - 1))
    while u <= stays_out ** (late + 1):
        late += 1
    return late


def play(
    policy: mb.Policy,
    environment: mb.Environment,
    bounds: mb.MeanBounds,
    horizon: int,
    seed: int,
    delay: Delay,
    counts: bool,
) -> list[int]:
    """The arm of each round of run 0."""
    law = environment.rewards(bounds.low, bounds.high)
    streams, key, rounding, lateness = (
        np.uint64(f(np.uint64(seed), 0)) for f in (reward_key, policy_key, rounding_key, delay_key)
    )
    size = len(bounds)
    middle = (0.5 * (bounds.lower + bounds.upper) - bounds.low) / (bounds.high - bounds.low)
    sums = np.zeros((6, size))  # plays, rewards, squares, what they lack to 1, squares of that, rounded to 0 or 1
    out: list[Sent] = []
    arms: list[int] = []
    memory: dict[str, float] = {}
    for t in range(1, horizon + 1):
        for sent in [sent for sent in out if sent.due == t]:
            one = uniform(rounding, int(sums[0].sum())) < sent.reward
            x, lack = sent.reward, 1 - sent.reward
            sums[:, sent.arm] += [1.0, x, x * x, lack, lack * lack, one]
        out = [sent for sent in out if sent.due > t]
        seen, clock = sums.copy(), int(sums[0].sum()) + 1
        if counts:
            clock = t
            for arm in range(size):
                x, lack = middle[arm], 1 - middle[arm]
                unanswered, means = arms.count(arm) - sums[0, arm], np.array([x, x, lack, lack, x])
                if sums[0, arm]:
                    unanswered, means = min(unanswered, sums[0, arm]), sums[1:, arm] / sums[0, arm]
                seen[1:, arm] += unanswered * means
                seen[0, arm] += unanswered
        plays = [int(n) for n in seen[0]]
        total, squares, lack, lack_squares, ones = seen[1:].tolist()
        sums_now = (total, squares, lack, lack_squares, ones)
        arm = TWINS[policy](
            Round(bounds, list(range(size)), plays, *sums_now, log_f(policy, clock), key, t - 1, memory)
        )
        if UNDECIDED in memory:
            break
        reward = draw(law, arm, child(streams, arm), arms.count(arm))
        out.append(Sent(t + 1 + rounds_late(delay, lateness, t), arm, reward))
        arms.append(arm)
    return arms
