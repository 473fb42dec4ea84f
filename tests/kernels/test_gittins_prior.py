"""The fast loop of the optimistic Gittins index with a prior plays what the definition says, also for many rounds."""

from __future__ import annotations

import numpy as np
import pytest

import meanbounds as mb
from meanbounds.simulation.tasks import task_for
from tests.kernels.test_twins import INTERPRETED


def drawn(seed: int) -> tuple[mb.Environment, mb.Knowledge]:
    """Some arms with bounds, or without, and a prior for each: any, or the same for all, so that indices tie."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 7))
    means = rng.uniform(0.05, 0.95, size)
    lower = np.maximum(0.0, means - rng.uniform(0.0, 0.6, size)) if seed % 3 else np.zeros(size)
    upper = np.minimum(1.0, means + rng.uniform(0.0, 0.6, size)) if seed % 3 else np.ones(size)
    strength = rng.uniform(2.5, 40.0, size) if seed % 5 else np.full(size, 8.0)
    mean = np.clip(rng.random(size), 1.01 / strength, 1.0 - 1.01 / strength) if seed % 5 else np.full(size, 0.4)
    known = mb.Knowledge(mb.MeanBounds(lower, upper), prior=mb.Prior(mean, strength))
    return (mb.Bernoulli(means) if seed % 2 else mb.Beta(means)), known


@pytest.mark.skipif(INTERPRETED, reason="too many rounds for Python")
@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("f", ["t", "t + 1000"])
def test_long_runs(seed: int, f: str) -> None:
    environment, known = drawn(seed)
    policy, rounds = mb.OptimisticGittins(f=f), np.array([50, 400])
    fast, slow = (task_for(policy, environment, known, seed, rounds, textbook).play(0, 2) for textbook in (False, True))
    np.testing.assert_array_equal(fast.plays, slow.plays)
    np.testing.assert_array_equal(fast.curves, slow.curves)


@pytest.mark.skipif(INTERPRETED, reason="too many rounds for Python")
def test_two_moments_and_weak_priors_go_by_the_textbook() -> None:
    environment = mb.Beta([0.4, 0.5])
    bounds, rounds = mb.MeanBounds([0.1, 0.2], [0.9, 0.8]), np.array([60])
    for policy, prior in (
        (mb.OptimisticGittins(moments=2), mb.Prior(0.4, 8.0)),
        (mb.OptimisticGittins(), mb.Prior([0.1, 0.6], 2.0)),
    ):
        known = mb.Knowledge(bounds, prior=prior)
        fast, slow = (
            task_for(policy, environment, known, 1, rounds, textbook).play(0, 1) for textbook in (False, True)
        )
        np.testing.assert_array_equal(fast.plays, slow.plays)
