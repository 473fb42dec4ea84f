"""The bound on settling is above what it bounds, computed exactly from binomial laws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import meanbounds as mb


def most_settled(mean: float, goal: float, level: float, horizon: int) -> float:
    """Expected number of plays s at which ``s * kl(mean of s rewards, goal) <= level``, or the mean is the goal."""
    found = 1.0  # before the first play
    for s in range(1, horizon):
        share = np.arange(s + 1) / s
        within = (share >= goal) | (s * np.asarray(mb.divergence.bernoulli_kl(share, goal)) <= level)
        found += float(stats.binom.pmf(np.arange(s + 1), s, mean)[within].sum())
    return found


@pytest.mark.parametrize(
    ("mean", "best", "cap"), [(0.8, 0.9, 0.9), (0.8, 0.9, 0.95), (0.1, 0.2, 0.25), (0.02, 0.5, 0.9), (0.85, 0.97, 1.0)]
)
def test_above_what_it_bounds(mean: float, best: float, cap: float) -> None:
    horizon = 400
    bounds = mb.MeanBounds([0.0, 0.0], [cap, cap])
    found = mb.theory.settling_plays([best, mean], bounds, horizon)
    level = 0.5 * float(mb.BIMED().log_f(horizon, horizon)[0])
    exact = most_settled(mean, cap, level, horizon)
    assert found[0] == 0.0
    assert exact <= found[1] <= min(horizon, 4.0 * exact + 10.0)


def test_in_units_of_the_range() -> None:
    unit = mb.theory.settling_plays([0.9, 0.8], mb.MeanBounds([0.1, 0.1], [0.95, 0.95]), [10, 1000])
    wide = mb.MeanBounds([2.0, 2.0], [19.0, 19.0], high=20.0)
    np.testing.assert_allclose(mb.theory.settling_plays([18.0, 16.0], wide, [10, 1000]), unit, rtol=1e-9)
    assert np.all(unit <= np.array([[10.0], [1000.0]]))


def test_a_smaller_upper_bound_never_settles() -> None:
    bounds = mb.MeanBounds([0.1, 0.1], [0.95, 0.94])
    assert mb.theory.settling_plays([0.9, 0.8], bounds, 1000).tolist() == [0.0, 0.0]


def test_half_of_what_the_lower_bound_asks_for() -> None:
    """With caps at the best mean, over log n and slowly."""
    bounds = mb.MeanBounds([0.1, 0.1], [0.9, 0.9])
    n = np.array([10**6, 10**12, 10**18])
    ratio = mb.theory.settling_plays([0.9, 0.8], bounds, n, policy=mb.ThompsonSampling())[:, 1]
    ratio *= float(mb.divergence.bernoulli_kl(0.8, 0.9)) / np.log(n)
    assert np.all(np.diff(ratio) < 0.0)
    assert 0.5 < ratio[-1] < 1.2


def test_refused() -> None:
    bounds = mb.MeanBounds.vacuous(2)
    policies: list[Any] = [mb.BIMED(settle=False), mb.GLUE()]
    for policy in policies:
        with pytest.raises(ValueError, match="settle=True"):
            mb.theory.settling_plays([0.5, 0.4], bounds, 10, policy=policy)
