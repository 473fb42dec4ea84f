"""Closed forms for draws and tails are as close as they are taken to be, and say who draws most."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import betaincc, betaincinv, ndtr, ndtri

from meanbounds.kernels.arms.quantile import NORMAL_TO, law_of, near_normal, quantile
from meanbounds.kernels.fast.normal import largest_by_normal, normal_score, quantile_within, score_margin, short_tail
from meanbounds.kernels.fast.tails import ABOVE, LAW_SIZE, LOWER, SCALE, START, UPPER, WIDTH, A, B
from meanbounds.kernels.random.stream import uniform
from meanbounds.support.types import Floats


def _parameters(rng: np.random.Generator, count: int, least: float) -> tuple[Floats, Floats]:
    """The smaller one up to 3,000, the larger up to a million, either first."""
    small = least * np.exp(rng.uniform(0.0, np.log(3000.0 / least), count))
    large = np.minimum(1e6, small * np.exp(rng.exponential(rng.choice([0.3, 1.5], count))))
    swapped = rng.random(count) < 0.5
    return np.where(swapped, large, small), np.where(swapped, small, large)


def test_the_normal_quantile_is_as_close_as_it_says() -> None:
    chances = np.concatenate([np.geomspace(1e-9, 0.5, 2000), 1.0 - np.geomspace(1e-9, 0.5, 2000)])
    off = [near_normal(chance) + ndtri(chance) for chance in chances]
    assert 0.5 * NORMAL_TO < np.max(np.abs(off)) < NORMAL_TO


@pytest.mark.no_cover
def test_scores_are_off_by_half_of_what_is_left() -> None:
    rng = np.random.default_rng(4)
    a, b = _parameters(rng, 20_000, 1.0)
    scores = rng.uniform(-4.3, 4.3, a.size)
    x = betaincinv(a, b, ndtr(-scores))
    inside = (x > 1e-200) & (x < 1.0 - 1e-9)  # else x itself has too few digits
    found = np.array([normal_score(*row) for row in zip(a[inside], b[inside], x[inside], strict=True)])
    margin = np.array([score_margin(*row) for row in zip(a[inside], b[inside], strict=True)]) - NORMAL_TO
    assert inside.mean() > 0.9
    assert np.max(np.abs(found - scores[inside]) / margin) < 0.5


@pytest.mark.no_cover
def test_scores_keep_their_digits_after_a_hundred_million_plays() -> None:
    """Near the level at which the divergence vanishes, terms of the size of the plays cancel."""
    rng = np.random.default_rng(7)
    small, large = np.exp(rng.uniform(np.log(7.0), np.log(3000.0), 5_000)), 10.0 ** rng.uniform(6.0, 8.0, 5_000)
    n, wins = small + large - 1.0, large - 0.5
    deviations = rng.choice([-1.0, 1.0], n.size) * 10.0 ** rng.uniform(-4.0, -2.0, n.size)
    x = (wins - deviations * np.sqrt(wins * (small - 0.5) / n)) / n
    scores = ndtri(betaincc(large, small, x))
    found = np.array([normal_score(*row) for row in zip(large, small, x, strict=True)])
    margin = np.array([score_margin(*row) for row in zip(large, small, strict=True)]) - NORMAL_TO
    assert np.max(np.abs(found - scores) / margin) < 0.5


@pytest.mark.no_cover
def test_draws_are_off_by_half_of_what_is_left() -> None:
    rng = np.random.default_rng(5)
    a, b = _parameters(rng, 20_000, 4.0)
    a[:200], b[:200] = 1.0, np.arange(1.0, 201.0)
    a[200:400], b[200:400] = b[:200], 1.0
    chances = ndtr(rng.uniform(-4.27, 4.27, a.size))
    x = betaincinv(a, b, 1.0 - chances)
    found = np.array([quantile_within(a[n], b[n], chances[n], near_normal(chances[n])) for n in range(a.size)])
    assert np.max(np.abs(found[:, 0] - x) / found[:, 1]) < 0.6
    assert quantile_within(3.0, 2.0, 0.5, 0.0)[1] == np.inf


def test_short_tails_are_sums() -> None:
    rng = np.random.default_rng(6)
    for _ in range(500):
        a, b, x = float(rng.integers(1, 400)), float(rng.integers(1, 7)), rng.random()
        assert short_tail(a, b, x) == pytest.approx(betaincc(a, b, x), abs=1e-12)


@pytest.mark.no_cover
@pytest.mark.parametrize("seed", range(4))
def test_who_draws_most(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sure, trials = 0, 500
    for trial in range(trials):
        size = int(rng.integers(2, 6))
        laws, draws = np.zeros((size, LAW_SIZE)), np.empty(size)
        stream, centre = np.uint64(rng.integers(1 << 62)), rng.uniform(0.05, 0.95)
        for k in range(size):
            n = np.exp(rng.uniform(np.log(3.0), np.log(3000.0)))
            a, b = (rng.gamma(n * share) for share in (centre, 1.0 - centre))
            a, b = (1.0 + np.round(a), 1.0 + np.round(b)) if trial % 2 else (1.0 + a, 1.0 + b)
            lower, upper = (max(0.0, centre - 0.2), min(1.0, centre + 0.1)) if trial % 3 == 0 else (0.0, 1.0)
            mass = betaincc(a, b, lower) - betaincc(a, b, upper)
            laws[k, [A, B, LOWER, UPPER, ABOVE]] = a, b, lower, upper, betaincc(a, b, upper)
            laws[k, [SCALE, START, WIDTH]] = 1.0 / mass if mass > 1e-3 else 0.0, 0.1, 0.8
            draws[k] = quantile(law_of(a, b, lower, upper), 1.0 - uniform(stream, k))
        places = rng.permutation(size)
        found = largest_by_normal(laws, places, size, np.arange(size), stream, np.empty((4, size)))
        sure += found >= 0
        assert found in (-1, draws.argmax())
    assert sure > 0.8 * trials
