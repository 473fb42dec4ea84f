"""The compiled loop of information-directed sampling plays as the policy does, play for play."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import meanbounds as mb
from meanbounds.policies import IDS
from meanbounds.simulation import Bernoulli, Uniform

pytest.importorskip("numba")

MEANS = np.array([0.9, 0.8, 0.7, 0.6])
NARROW = mb.MeanBounds([0.85, 0.4, 0.3, 0.1], [0.98, 0.97, 0.87, 0.93])
WIDE = np.random.default_rng(3).random(20)
WORLDS: dict[str, tuple[Any, mb.MeanBounds, float]] = {
    "bounds": (Bernoulli(MEANS), NARROW, 1.5),
    "vacuous": (Bernoulli(WIDE), mb.MeanBounds.vacuous(20), 1.5),
    "graded": (Uniform(MEANS), mb.MeanBounds([0.2, 0.1, 0.0, 0.3], [1.0, 0.9, 0.8, 0.9]), 2.0),
    "known": (Bernoulli([0.5, 0.45, 0.3]), mb.MeanBounds([0.0, 0.45, 0.0], [1.0, 0.45, 0.6]), 2.0),
    "wrong": (Bernoulli([0.9, 0.4]), mb.MeanBounds([0.2, 0.3], [0.6, 0.7]), 1.5),
    "ranges": (
        Uniform([3.0, 1.5, 4.0], low=[0.0, -5.0, 3.0], high=[6.0, 5.0, 5.0]),
        mb.MeanBounds([1.0, -4.0, 3.2], [5.0, 3.5, 5.0], low=[0.0, -5.0, 3.0], high=[6.0, 5.0, 5.0]),
        1.2,
    ),
}


@pytest.mark.filterwarnings("ignore:arm")  # means outside their bounds
@pytest.mark.parametrize("world", WORLDS)
def test_loop_plays_as_the_policy_does(world: str) -> None:
    environment, bounds, power = WORLDS[world]
    by_loop, by_numpy = (
        mb.simulate(
            {"IDS": IDS(power=power)}, environment, bounds, horizon=700, runs=3, seed=4, compiled=compiled, workers=1
        )
        for compiled in (True, False)
    )
    np.testing.assert_array_equal(by_loop.plays["IDS"], by_numpy.plays["IDS"])
    np.testing.assert_allclose(by_loop.curves["IDS"], by_numpy.curves["IDS"], atol=1e-9)
