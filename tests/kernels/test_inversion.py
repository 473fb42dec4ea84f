"""Thompson sampling by inversion in long runs: tails that followed thousands of rewards decide as new ones do."""

from __future__ import annotations

import numba
import numpy as np
import pytest

import meanbounds as mb
from tests import strategies
from tests.kernels.test_twins import both

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="too many rounds for Python")

LINE = np.linspace(0.1, 0.9, 60)
WIDE = mb.MeanBounds(np.maximum(0.0, LINE - 0.2), np.minimum(1.0, LINE + 0.2))

CASES = {
    "clear leader": (mb.Bernoulli([0.9, 0.8, 0.7, 0.6, 0.5]), mb.MeanBounds.vacuous(5), 60_000),
    "close": (mb.Bernoulli([0.5, 0.495, 0.49]), mb.MeanBounds.vacuous(3), 20_000),
    "many arms": (mb.Bernoulli(LINE), mb.MeanBounds.vacuous(60), 6_000),
    "many arms with bounds": (mb.Bernoulli(LINE), WIDE, 6_000),
    "wrong caps": (mb.Bernoulli([0.9, 0.8, 0.3]), mb.MeanBounds([0.0, 0.1, 0.0], [0.4, 0.5, 0.45]), 4_000),
    "wrong lower bounds": (mb.Bernoulli([0.1, 0.2, 0.3]), mb.MeanBounds([0.5, 0.4, 0.45], [1.0, 0.9, 0.8]), 4_000),
    "narrow": (mb.Bernoulli([0.3, 0.3001, 0.3002]), mb.MeanBounds([0.2999] * 3, [0.3003] * 3), 4_000),
    "hardly any room": (mb.Bernoulli([0.3, 0.3]), mb.MeanBounds([0.3] * 2, [0.3 + 1e-8] * 2), 2_000),
    "points": (mb.Bernoulli([0.4, 0.4, 0.3]), mb.MeanBounds([0.4, 0.4, 0.1], [0.4, 0.4, 0.6]), 4_000),
    "rare rewards": (mb.Bernoulli([1e-3, 2e-3, 3e-3]), mb.MeanBounds.vacuous(3), 20_000),
    "graded": (mb.Uniform([0.6, 0.55, 0.5]), mb.MeanBounds.vacuous(3), 10_000),
    "ranges": (
        mb.Bernoulli([0.5, 1.0, -2.0], low=[0.0, 0.0, -10.0], high=[1.0, 3.0, 5.0]),
        mb.MeanBounds([0.1, 0.0, -9.0], [0.9, 2.5, 4.0], low=[0.0, 0.0, -10.0], high=[1.0, 3.0, 5.0]),
        6_000,
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("prior", [(1.0, 1.0), (1.3, 2.7)])
def test_long_runs(name: str, prior: tuple[float, float]) -> None:
    environment, bounds, horizon = CASES[name]
    for settle in (False, True):
        policy = mb.ThompsonSampling(settle=settle)
        fast, slow = both(policy, strategies.Case(environment, bounds, horizon, 20261116), prior)
        assert fast == slow
