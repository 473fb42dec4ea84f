"""Many simulated runs of an agent's watch over its bounds, in machine code, with rewards of which the truth is known."""

from __future__ import annotations

import numba
import numpy as np

import meanbounds as mb
from meanbounds.agents.watch import watched
from meanbounds.kernels.arms.agent import update, update_with_news
from meanbounds.kernels.arms.tables import State
from meanbounds.kernels.arms.watch import SEEN
from meanbounds.kernels.tally import new_tally
from meanbounds.support.types import Floats, Integers

__all__ = ["alarms_in", "first_alarms"]


@numba.njit
def first_alarms(table: Floats, tally: Integers, means: Floats, graded: bool, runs: int, rounds: int, seed: int) -> Integers:
    """In which round of each run a bound was contradicted first; 0 if none was.

    In most rounds the arm is played whose rewards look best so far, in some any arm: what is played depends on what
    was seen. Rewards are 0 and 1, or graded: uniform on the widest interval around the mean.
    """
    np.random.seed(seed)
    first, arms = np.zeros(runs, dtype=np.int64), means.size
    for run in range(runs):
        own, count = table.copy(), tally.copy()
        for t in range(rounds):
            arm = np.random.randint(arms)
            if np.random.random() < 0.8:
                for k in range(arms):
                    if own[1, k] * own[0, arm] > own[1, arm] * own[0, k]:
                        arm = k
            half = min(means[arm], 1.0 - means[arm])
            if graded:
                reward = means[arm] + half * (2.0 * np.random.random() - 1.0)
            else:
                reward = 1.0 if np.random.random() < means[arm] else 0.0
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
    return np.asarray(first_alarms(table, tally, np.array(means), graded, runs, rounds, seed))
