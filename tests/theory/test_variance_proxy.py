"""Theorem 3 and Corollary 3.1: the closed form, its coverage, and where the printed search fails; and divergences."""

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import integrate, optimize, stats

from meanbounds.theory import bernoulli_kl, bernoulli_kl_upper, variance_proxy, variance_proxy_from_bounds

HARD = [1e-300, 1e-12, 0.1, 0.2499999, 0.25, 0.5 - 1e-9, 0.5 - 1e-15, 0.5 + 1e-16, 0.5 + 1e-6, 0.75, 0.9, 1 - 1e-12]


def searched(mean: float, reach: float) -> float:
    """The largest value of the printed expression over s between 0 and `reach`, on a fine grid."""
    s = np.linspace(0.0, reach, 40_001)[1:]
    return float((2 / s**2 * np.log(mean * np.exp((1 - mean) * s) + (1 - mean) * np.exp(-mean * s))).max())


@pytest.mark.parametrize("mean", HARD)
def test_the_closed_form_to_full_precision(mean: float) -> None:
    with mpmath.workdps(50):
        m = mpmath.mpf(mean)
        expected = mpmath.mpf(1) / 4 if m == 0.5 else (1 - 2 * m) / (2 * mpmath.log((1 - m) / m))
        assert abs(mpmath.mpf(variance_proxy(mean)) / expected - 1) < 1e-13


def test_it_is_the_maximum_between_the_variance_and_a_quarter_and_rises_to_the_middle() -> None:
    """It rises as an average of p (1 - p); the printed argument, that a lower bound of it rises, proves nothing."""
    for mean in (0.02, 0.2, 0.45, 0.5, 0.7, 0.98):
        reach = 2.0 / min(mean, 1.0 - mean) * (1.0 if mean < 0.5 else -1.0)
        assert variance_proxy(mean) == pytest.approx(searched(mean, reach), rel=1e-5)
    means = np.delete(np.arange(1, 1000) / 1000, 499)
    proxy = np.asarray(variance_proxy(means))
    assert np.all((means * (1 - means) < proxy) & (proxy < 0.25))
    assert np.all(np.diff(proxy[means < 0.5]) > 0.0)
    np.testing.assert_allclose(proxy, proxy[::-1], rtol=1e-12)
    for m in (0.05, 0.3, 0.45):
        top = np.log((1 - m) / m)
        average = integrate.quad(lambda s, t=top: np.exp(t - s) / (1 + np.exp(t - s)) ** 2, 0.0, top)[0] / top
        assert variance_proxy(m) == pytest.approx(average, rel=1e-9)


def test_the_printed_bracket_misses_the_maximum_above_0_7822() -> None:
    """The maximiser 2 log((1-m)/m) leaves (-2/m, 0) where log(m/(1-m)) = 1/m."""
    edge = optimize.brentq(lambda m: np.log(m / (1 - m)) - 1 / m, 0.6, 0.95)
    assert edge == pytest.approx(0.7822, abs=5e-5)
    for mean, printed, right in ((0.78, 0.2215, 0.2215), (0.9, 0.153, 0.182), (0.989, 0.023, 0.109)):
        assert (searched(mean, -2 / mean), variance_proxy(mean)) == pytest.approx((printed, right), abs=5e-4)
    # One reward with mean 0.9 is 0 with probability 0.1: Chernoff's bound with the printed factor says less.
    wrong, valid = (np.exp(-0.81 / (2 * proxy)) for proxy in (searched(0.9, -2 / 0.9), variance_proxy(0.9)))
    assert wrong < 0.0711 < 0.1 <= valid


@pytest.mark.parametrize("mean", [0.03, 0.3, 0.5, 0.9, 0.985])
def test_means_of_rewards_stay_within_chernoffs_bound(mean: float) -> None:
    """Exact binomial tails: P(average >= mean + x) <= exp(-n x^2 / (2 c)), and the same below."""
    for n in (1, 2, 5, 30, 200, 3_000):
        ones = np.arange(n + 1)
        x = ones / n - mean
        limit = np.exp(-n * x**2 / (2 * variance_proxy(mean))) * (1 + 1e-9)
        assert np.all(stats.binom.sf(ones - 1, n, mean)[x > 0] <= limit[x > 0])
        assert np.all(stats.binom.cdf(ones, n, mean)[x < 0] <= limit[x < 0])


def test_every_reward_in_the_range_has_the_factor_of_its_bounds() -> None:
    """Random laws with four values on random ranges, and random bounds on their means."""
    rng = np.random.default_rng(1)
    for _ in range(200):
        low, span = rng.normal() * 3, rng.choice([0.1, 1.0, 5.0])
        values, chance = low + span * rng.choice([0.0, 1.0, *rng.random(2)], 4), rng.dirichlet(np.full(4, 0.5))
        mean = float(np.clip(values @ chance, low, low + span))
        lower, upper = mean - rng.random() * (mean - low), mean + rng.random() * (low + span - mean)
        proxy = variance_proxy_from_bounds(lower, upper, low=low, high=low + span)
        inside = np.linspace(lower, upper, 201).clip(low, low + span)
        assert proxy >= np.max(variance_proxy(inside, low=low, high=low + span)) * (1 - 1e-12)
        s = np.linspace(-40, 40, 161) / span
        assert np.all(np.log(np.exp(np.outer(s, values - mean)) @ chance) <= s**2 * proxy / 2 * (1 + 1e-9) + 1e-12)


def exact(p: Any, q: Any) -> mpmath.mpf:
    a, b = mpmath.mpf(p), mpmath.mpf(q)
    parts = ((a, b), (1 - a, 1 - b))
    return mpmath.fsum(own * mpmath.log(own / other) for own, other in parts if own > 0)


def cases(number: int) -> list[tuple[float, float]]:
    """Means anywhere, near the ends, and close to each other."""
    rng = np.random.default_rng(1)
    ends = [10.0 ** -rng.uniform(0, 9, number), 1 - 10.0 ** -rng.uniform(0, 9, number)]
    p, q = (rng.choice([rng.random(number), *ends]) for _ in range(2))
    close = np.clip(p + rng.choice([-1, 1], number) * 10.0 ** -rng.uniform(2, 12, number), 1e-9, 1 - 1e-9)
    return list(zip(p.tolist(), np.where(rng.random(number) < 0.5, q, close).tolist(), strict=True))


def test_divergences_to_all_digits() -> None:
    with mpmath.workdps(50):
        for p, q in cases(600):
            assert abs(mpmath.mpf(float(bernoulli_kl(p, q))) - exact(p, q)) <= mpmath.mpf("1e-12") * exact(p, q)


def test_the_upper_limit_is_where_the_budget_is_spent() -> None:
    """To 1e-11 in its own coordinate; a limit above 1 - 1e-12 is 1."""
    rng = np.random.default_rng(2)
    means = rng.choice(
        [0.0, 1.0, *rng.random(60), *10.0 ** -rng.uniform(0, 9, 20), *1 - 10.0 ** -rng.uniform(0, 9, 20)], 400
    )
    budgets = 10.0 ** rng.uniform(-9, 1.5, 400)
    with mpmath.workdps(50):
        for p, budget, q in zip(means, budgets, np.asarray(bernoulli_kl_upper(means, budgets)), strict=True):
            assert p <= q <= 1.0
            assert q - 1e-11 <= p or exact(p, q - 1e-11) <= budget * (1 + 1e-12)
            if q < 1.0:
                assert exact(p, min(q + 1e-11, math.nextafter(1.0, 0.0))) >= budget * (1 - 1e-12)
            elif p < 1.0:
                assert exact(p, 1 - 2e-12) <= budget * (1 + 1e-9)


def test_edges_of_divergences() -> None:
    assert [bernoulli_kl(*pair) for pair in ((0, 0), (1, 1), (0.5, 1), (0.5, 0))] == [0.0, 0.0, math.inf, math.inf]
    assert bernoulli_kl_upper(0.3, 0.0) == 0.3
    assert np.asarray(bernoulli_kl_upper([0.0, 1.0], [math.log(2), 3.0])).tolist() == pytest.approx([0.5, 1.0])
    assert np.shape(bernoulli_kl([], [])) == np.shape(bernoulli_kl_upper([], 0.5)) == (0,)
