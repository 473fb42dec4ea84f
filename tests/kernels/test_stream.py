"""The random streams: uniform, and independent across numbers, arms, runs and seeds.

Each statistical test has a fixed seed; at a correct generator it would fail for one seed in 10^6.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

import meanbounds as mb
from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.random import stream
from meanbounds.kernels.random.rewards import Rewards, draw
from meanbounds.support.types import Floats

RARE = 1e-6


@compiled
def grid(seed: np.uint64, runs: int, arms: int, numbers: int) -> Floats:
    out = np.empty((runs, arms, numbers))
    for run in range(runs):
        key = stream.reward_key(seed, run)
        for arm in range(arms):
            for number in range(numbers):
                out[run, arm, number] = stream.uniform(stream.child(key, arm), number)
    return out


@compiled
def draws(rewards: Rewards, arm: int, key: np.uint64, size: int) -> Floats:
    out = np.empty(size)
    for number in range(size):
        out[number] = draw(rewards, arm, key, number)
    return out


@pytest.mark.parametrize("seed", [0, 1, 2**63 - 1])
def test_uniform_and_uncorrelated_in_every_direction(seed: int) -> None:
    u = grid(np.uint64(seed), 40, 40, 200)
    assert u.min() >= 0.0
    assert u.max() < 1.0
    assert stats.chisquare(np.histogram(u, 256, (0, 1))[0]).pvalue > RARE
    for axis in range(3):
        left, right = np.delete(u, -1, axis).ravel(), np.delete(u, 0, axis).ravel()
        assert stats.pearsonr(left, right).pvalue > RARE
        pairs = np.histogram2d(left, right, 16, [[0, 1], [0, 1]])[0]
        assert stats.chisquare(pairs.ravel()).pvalue > RARE
    other = grid(np.uint64(seed ^ 1), 40, 40, 200)
    assert stats.pearsonr(u.ravel(), other.ravel()).pvalue > RARE


def test_streams_do_not_meet() -> None:
    values = grid(np.uint64(7), 60, 60, 60).ravel()
    assert np.unique(values).size == values.size  # 216,000 of 2^53: a repetition has probability 3e-6


KEY = np.uint64(123456789)
LAWS = {
    "bernoulli": mb.Bernoulli([0.3], low=0, high=1),
    "uniform": mb.Uniform([0.7]),
    "beta": mb.Beta([0.2], concentration=0.9),
    "beta, at the ends": mb.Beta([0.9], concentration=0.003),
    "beta, wide range": mb.Beta([2.0], concentration=7.0, low=1.0, high=5.0),
    "table": mb.Table([[0.1, 0.4, 1.0, 0.0]], weights=[[1, 0, 3, 4]], low=0, high=1),
}


@pytest.mark.parametrize("name", LAWS)
def test_rewards_have_the_law_they_say(name: str) -> None:
    law = LAWS[name]
    span = law.high[0] - law.low[0]
    x = law.low[0] + span * draws(law.rewards(law.low, law.high), 0, KEY, 40_000)
    share = float((law.means[0] - law.low[0]) / span)
    assert x.min() >= law.low[0]
    assert x.max() <= law.high[0]
    assert abs(x.mean() - law.means[0]) < 4.9 * x.std() / np.sqrt(x.size)
    if name == "bernoulli":
        assert set(x) == {0.0, 1.0}
    elif name == "beta, at the ends":
        assert np.mean((x > 0.001) & (x < 0.999)) < 0.02  # not at the middle, where two numbers of size 0 would put it
    elif name == "uniform":
        assert stats.kstest(x, stats.uniform(0.4, 0.6).cdf).pvalue > RARE
    elif name == "table":
        values, counts = np.unique(x, return_counts=True)
        assert values.tolist() == [0.0, 0.1, 1.0]
        assert stats.chisquare(counts, 40_000 * np.array([4, 1, 3]) / 8).pvalue > RARE
    else:
        c = law.settings()["concentration"]
        assert stats.kstest((x - law.low[0]) / span, stats.beta(share * c, (1 - share) * c).cdf).pvalue > RARE


def test_rewards_in_a_wider_range_are_the_same_rewards() -> None:
    law = LAWS["beta"]
    inside = draws(law.rewards(np.zeros(1), np.ones(1)), 0, KEY, 100)
    wide = draws(law.rewards(np.array([-1.0]), np.array([3.0])), 0, KEY, 100)
    assert -1 + 4 * wide == pytest.approx(inside, abs=1e-12)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: mb.Bernoulli([0.5, 1.2]), "arm 1.*1.2"),
        (lambda: mb.Bernoulli([]), "one number per arm"),
        (lambda: mb.Beta([1.0]), "strictly inside"),
        (lambda: mb.Beta([0.5], concentration=0), "concentration"),
        (lambda: mb.Table([[1.0], []]), "arm 1"),
        (lambda: mb.Table([[1.0]], weights=[[1.0], [1.0]]), "2 lists of weights for 1 arms"),
        (
            lambda: (
                mb.Table([[2.0]], low=0, high=3).rewards(np.zeros(1), np.ones(1)) and mb.Table([[5.0]], low=0, high=3)
            ),
            "arm 0",
        ),
    ],
)
def test_impossible_environments_are_refused(make: Callable[[], object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make()
