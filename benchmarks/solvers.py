"""The cone programs of `tighten`, by our solver and by Clarabel called directly."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.contestants.base import Array
from benchmarks.timing import Race
from benchmarks.workloads import SEED
from meanbounds.kernels.solvers.cone import maximise, scaled

OURS, CLARABEL = "meanbounds", "Clarabel, called directly"
SIZES = ((100, 10), (1000, 20))
_TARGETS = 40
_TURNS = 3


def solvers(arms: int, dimension: int) -> tuple[Race, float]:
    """Nanoseconds per program of each, the turns interleaved, and how far apart their values are at most."""
    rng = np.random.default_rng(SEED)
    features = rng.normal(size=(arms, dimension))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    means = features @ (np.arange(dimension) / np.linalg.norm(np.arange(dimension)))
    low = np.where(means > 0.0, 0.0, -1.0)
    lower, upper = (np.clip(means + sign * rng.uniform(0.0, 0.5, arms), low, low + 1.0) for sign in (-1.0, 1.0))
    known = scaled(features, lower, upper, 1.0)
    ways: dict[str, Callable[[Array], float]] = {
        OURS: lambda target: maximise(target, known).value,
        CLARABEL: _clarabel(features, lower, upper),
    }
    targets = features[:_TARGETS]
    seconds = dict.fromkeys(ways, np.inf)
    values = {label: np.array([way(target) for target in targets]) for label, way in ways.items()}
    for _ in range(_TURNS):
        for label, way in ways.items():
            start = time.perf_counter()
            for target in targets:
                way(target)
            seconds[label] = min(seconds[label], time.perf_counter() - start)
    apart = float(np.max(np.abs(values[OURS] - values[CLARABEL])))
    return Race({label: 1e9 * spent / _TARGETS for label, spent in seconds.items()}), apart


def _clarabel(features: Array, lower: Array, upper: Array) -> Callable[[Array], float]:
    """Largest product with a target, over bounds on all features and norm 1; matrices are built once."""
    clarabel: Any = importlib.import_module("clarabel")
    sparse: Any = importlib.import_module("scipy.sparse")
    arms, dimension = features.shape
    rows = np.vstack([features, -features, np.zeros((1, dimension)), -np.eye(dimension)])
    matrix = sparse.csc_matrix(rows)
    limits = np.concatenate([upper, -lower, [1.0], np.zeros(dimension)])
    cones = [clarabel.NonnegativeConeT(2 * arms), clarabel.SecondOrderConeT(dimension + 1)]
    nothing = sparse.csc_matrix((dimension, dimension))
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.max_threads = False, 1

    def solve(target: Array) -> float:
        solution = clarabel.DefaultSolver(nothing, -target, matrix, limits, cones, settings).solve()
        return -float(solution.obj_val)

    return solve
