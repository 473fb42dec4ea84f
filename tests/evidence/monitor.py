"""Many simulated runs of an agent's watch over its bounds, in machine code, with rewards of known means."""

from __future__ import annotations

import numba
import numpy as np

import meanbounds as mb
from meanbounds.agents.watch import watched
from meanbounds.kernels.arms.agent import update, update_with_news
from meanbounds.kernels.arms.tables import State
from meanbounds.kernels.arms.watch import SEEN
from meanbounds.kernels.random.stream import policy_key, uniform
from meanbounds.kernels.tally import new_tally
from meanbounds.support.types import Floats, Integers

__all__ = ["alarms_in", "first_alarms"]


@numba.njit(nogil=True)
def first_alarms(
    table: Floats, tally: Integers, means: Floats, graded: bool, runs: int, rounds: int, seed: int
) -> Integers:
    """In which round of each run a bound was contradicted first; 0 if none was.

    In most rounds the arm is played whose rewards look best so far, in some any arm: what is played depends on what
    was seen. Rewards are 0 and 1, or graded: uniform on the widest interval around the mean.
    """
    first, arms = np.zeros(runs, dtype=np.int64), means.size
    for run in range(runs):
        own, count, key = table.copy(), tally.copy(), policy_key(np.uint64(seed), run)
        for t in range(rounds):
            arm = int(arms * uniform(key, 3 * t))
            if uniform(key, 3 * t + 1) < 0.8:
                for k in range(arms):
                    if own[1, k] * own[0, arm] > own[1, arm] * own[0, k]:
                        arm = k
            half, drawn = min(means[arm], 1.0 - means[arm]), uniform(key, 3 * t + 2)
            reward = means[arm] + half * (2.0 * drawn - 1.0) if graded else 1.0 * (drawn < means[arm])
            news = update(own, count, arm, reward, 1.0 - reward, False)
            if news:
                update_with_news(own, count, arm, reward, 1.0 - reward, False, news)
            if own[SEEN:].any():
                first[run] = t + 1
                break
    return first


def alarms_in(
    bounds: mb.MeanBounds, means: list[float], *, error: float, runs: int, rounds: int, seed: int, graded: bool = False
) -> Integers:
    """`first_alarms` for these bounds, in units of the range [0, 1], and true means."""
    arms = len(bounds)
    table = watched(np.zeros((len(State._fields), arms)), bounds, np.zeros((2, arms)), error)
    tally = new_tally(seed, np.zeros(arms, dtype=np.int64))
    return first_alarms(table, tally, np.array(means), graded, runs, rounds, seed)
