"""Bounds that hold, with means at the bounds: how often an agent that watches them gives a false alarm."""

from __future__ import annotations

import numpy as np
from scipy import stats

import meanbounds as mb
from tests.evidence.monitor import alarms_in

ROUNDS = 100_000
ERROR = 0.01
BOUNDS = mb.MeanBounds([0.0, 0.3, 0.5, 0.05], [0.6, 1.0, 0.8, 0.2])
WORLDS = {"upper": [0.6, 0.7, 0.8, 0.2], "lower": [0.3, 0.3, 0.5, 0.05], "both": [0.6, 0.3, 0.8, 0.05]}


def false_alarms(runs: int, seed: int) -> list[str]:
    """Worlds whose share of runs with a false alarm is above the error; false-failure rate of each test: 1e-6."""
    problems = []
    for name, means in WORLDS.items():
        for graded in (False, True):
            rounds = alarms_in(BOUNDS, means, error=ERROR, runs=runs, rounds=ROUNDS, seed=seed, graded=graded)
            number = int(np.count_nonzero(rounds))
            chance = float(stats.binom.sf(number - 1, runs, ERROR))
            kind = f"{name} bounds, {'graded rewards' if graded else 'rewards of 0 and 1'}"
            print(f"{kind}: {number} false alarms in {runs} runs, {ERROR * runs:g} allowed on average")
            if chance <= 1e-6:
                problems.append(f"{kind}: {number} false alarms in {runs} runs have probability {chance:.1e}")
    return problems
