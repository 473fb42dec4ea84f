from collections.abc import Sequence
from typing import Any

import mpmath
import numpy as np
import pytest

import meanbounds as mb
from meanbounds.known import Known, Seen
from meanbounds.posterior import BetaPosterior, Parts, check_moments, posterior, two_moments

Case = tuple[float, float, float, float]


def of_laws(a: Any, b: Any, lower: Any, upper: Any) -> BetaPosterior:
    """One part, one row, in a range of [0, 1]."""
    arrays = [np.atleast_1d(np.asarray(own, dtype=float))[None, None] for own in (1.0, a, b, lower, upper)]
    shape = np.broadcast_shapes(*(own.shape for own in arrays))
    return BetaPosterior(Parts(*(np.broadcast_to(own, shape) for own in arrays)), np.zeros(1), np.ones(1))


def known_of(lower: Sequence[float], upper: Sequence[float], *, low: Any = 0.0, high: Any = 1.0, **more: Any) -> Known:
    return Known.of([mb.Knowledge(mb.MeanBounds(lower, upper, low=low, high=high), **more)])


def seen_of(*rewards: Sequence[float]) -> Seen:
    """Statistics of one row; rewards of 0 and 1 are not rounded, others count half of the plays as 1."""
    plays, total, squares = (np.array([[sum(r**n for r in own) for own in rewards]], dtype=float) for n in (0, 1, 2))
    return Seen(plays, total, squares, np.array([[float(sum(r > 0.5 for r in own)) for own in rewards]]))


def extreme_cases(number: int) -> list[Case]:
    """Beta parameters and bounds: in the middle, far from the rewards, very narrow, and up to 1e8 plays."""
    rng = np.random.default_rng(5)
    cases: list[Case] = []
    for n in range(number):
        plays, mean = 10.0 ** rng.uniform(0, 8), rng.random() ** rng.choice([0.2, 1.0, 5.0])
        a, b = 1.0 + plays * mean, 1.0 + plays * (1.0 - mean)
        lower, upper = np.sort(rng.random(2))
        if n % 4 == 1:
            upper = lower + (upper - lower) * 10.0 ** -rng.uniform(1, 7)
        elif n % 4 == 2:
            lower, upper = 0.0, 1.0
        elif n % 4 == 3:
            spread = np.sqrt(a * b / (a + b) ** 3) * rng.choice([1.0, 5.0, 40.0])
            lower, upper = np.clip(np.sort(a / (a + b) + spread * rng.normal(size=2)), 0.0, 1.0)
        if upper - lower > 1e-12:
            cases.append((a, b, float(lower), float(upper)))
    return cases


def exact(case: Case, v: float) -> tuple[float, float, float, float]:
    """Log mass between the bounds, mean, P(mean > v) and E[max(mean - v, 0)], by quadrature with 25 digits."""
    with mpmath.workdps(25):
        a, b, lower, upper = map(mpmath.mpf, case)
        peak = min(upper, max(lower, a / (a + b)))
        near = 1 / (abs(a - (a + b) * peak) + mpmath.sqrt((a + b) * peak * (1 - peak)))
        steps = (0, 1, 3, 8, 20, 60)
        point = mpmath.mpf(v)
        steep = 1 / (abs(a - (a + b) * point) + mpmath.sqrt((a + b) * point * (1 - point)))

        def place(x: Any) -> Any:  # y = log(x / (1 - x)), in which the density is smooth
            return mpmath.log(x / (1 - x)) if 0 < x < 1 else mpmath.inf * (1 if x else -1)

        def integral(f: Any, start: Any) -> Any:
            places = {place(peak) + sign * near * n for n in steps for sign in (-1, 1)}
            places |= {place(point) + steep * n for n in steps}
            first, last = max(place(start), place(peak) - 61 * near), min(place(upper), max(places))
            inside = sorted({first, last} | {y for y in places if first < y < last})

            def integrand(y: Any) -> Any:
                x = 1 / (1 + mpmath.exp(-y))
                return f(x) * mpmath.exp(a * mpmath.log(x / peak) + b * mpmath.log((1 - x) / (1 - peak)))

            return mpmath.quad(integrand, inside)

        mass = integral(lambda _: 1, lower)
        log_mass = mpmath.log(mass) + a * mpmath.log(peak) + b * mpmath.log(1 - peak)
        log_mass -= mpmath.loggamma(a) + mpmath.loggamma(b) - mpmath.loggamma(a + b)
        mean = peak + integral(lambda x: x - peak, lower) / mass
        tail, excess = integral(lambda _: 1, point) / mass, integral(lambda x: x - point, point) / mass
        return float(log_mass), float(mean), float(tail), float(excess)


def test_laws_agree_with_quadrature_in_high_precision() -> None:
    rng = np.random.default_rng(6)
    for case in extreme_cases(32):
        found = of_laws(*case)
        mean, (lower, upper) = float(found.mean[0, 0]), case[2:]
        v = mean + (upper - mean) * 10.0 ** -rng.uniform(0.1, 4) if rng.random() < 0.7 else (lower + mean) / 2
        log_mass, expected, tail, excess = exact(case, v)
        assert mean == pytest.approx(expected, abs=1e-9 * (upper - lower))
        assert found.laws.log_mass()[0] == pytest.approx(log_mass, rel=1e-12, abs=1e-6)
        if tail > 1e-250:
            assert float(found.tail(v)[0, 0]) == pytest.approx(tail, rel=1e-7)
            # Narrow bounds leave few digits of v: what matters is the excess beside the distance to the bound.
            assert float(found.excess(v)[0, 0]) == pytest.approx(excess, rel=1e-6, abs=1e-9 * (upper - lower))


def test_draws_are_quantiles() -> None:
    cases = extreme_cases(400)
    found = of_laws(*np.array(cases).T)
    numbers = np.random.default_rng(7).random((1, len(cases)))
    drawn = found.draw(numbers)
    assert ((drawn >= found.parts.lower[0]) & (drawn <= found.parts.upper[0])).all()
    # As far as the distance of neighbouring floats allows.
    slack = 1e-9 + 4e-16 * found.beyond(drawn)[0]
    assert (np.abs(1.0 - found.tail(drawn) - numbers) <= slack).all()


def test_draws_of_mixtures_have_their_distribution() -> None:
    known = known_of([0.2, 0.6, 0.0], [0.5, 0.7, 1.0], trust=[0.9, 0.6, 0.5])
    found = posterior(known, seen_of([1, 0, 1], [0, 0, 1, 0, 0], [1]))
    numbers = np.arange(0.5, 2000.0) / 2000.0
    drawn = np.array([found.draw(np.full((1, 3), number))[0] for number in numbers])
    for v in np.linspace(0.01, 0.99, 33):
        assert np.abs((drawn > v).mean(axis=0) - found.tail(v)[0]).max() <= 1.5 / 2000.0


@pytest.mark.parametrize("prior", [None, mb.Prior([0.3, 0.6, 0.5], [8.0, 20.0, 2.0])])
def test_bayes_rule_weighs_the_bounds(prior: mb.Prior | None) -> None:
    lower, upper = [0.2, 0.5, 0.4], [0.5, 0.55, 0.4]
    known = known_of(lower, upper, prior=prior, trust=[0.9, 0.99, 0.5])
    rewards = [1, 0, 0, 1, 1], [1] * 30 + [0] * 2, [1, 0, 0]
    first, second = np.ones((2, 3)) if prior is None else prior.parameters(mb.MeanBounds.vacuous(3))
    found = posterior(known, seen_of(*rewards))
    for k, trust in enumerate([0.9, 0.99, 0.5]):
        ones, zeros = sum(rewards[k]), len(rewards[k]) - sum(rewards[k])

        def likelihood(x: Any, ones: int = ones, zeros: int = zeros) -> Any:
            return x**ones * (1 - x) ** zeros

        def weighted(x: Any, k: int = k) -> Any:
            return likelihood(x) * x ** (first[k] - 1) * (1 - x) ** (second[k] - 1)

        whole = mpmath.beta(first[k] + ones, second[k] + zeros) / mpmath.beta(first[k], second[k])
        within = likelihood(lower[k])
        if lower[k] < upper[k]:
            ends = [lower[k], upper[k]]
            within = mpmath.quad(weighted, ends) / mpmath.betainc(first[k], second[k], *ends)
        odds = trust / (1 - trust) * within / whole
        assert found.credibility[0, k] == pytest.approx(float(odds / (1 + odds)), rel=1e-8)


def test_values_broadcast_and_have_the_units_of_rewards() -> None:
    plain = posterior(known_of([0.1, 0.2], [0.8, 0.9], trust=0.9), seen_of([1, 0], [1]))
    wide = posterior(known_of([-1.5, -1.0], [2.0, 2.5], low=-2.0, high=3.0, trust=0.9), seen_of([1, 0], [1]))
    values = np.linspace(0.0, 1.0, 7)[:, None, None]
    assert plain.tail(values).shape == (7, 1, 2)
    np.testing.assert_allclose(wide.mean, 5.0 * plain.mean - 2.0)
    np.testing.assert_allclose(wide.tail(5.0 * values - 2.0), plain.tail(values), atol=1e-12)
    np.testing.assert_allclose(wide.excess(5.0 * values - 2.0), 5.0 * plain.excess(values), atol=1e-12)
    for n, v in enumerate(values[:, 0, 0]):
        np.testing.assert_allclose(plain.tail(v), plain.tail(values)[n])


def test_two_moments_keep_both_moments() -> None:
    rewards = [0.2, 0.9, 0.4, 0.4], [1, 0, 1], [1, 1], [0.5, 0.5]
    seen = seen_of(*rewards)
    floor, ones = two_moments(seen)
    share = ones / seen.plays
    np.testing.assert_allclose(share + (1 - share) * floor, seen.total / seen.plays)
    np.testing.assert_allclose(share + (1 - share) * floor**2, seen.squares / seen.plays)
    assert (floor[0, 1:3] == 0.0).all()


def test_two_moments_of_rewards_of_0_and_1_change_nothing() -> None:
    seen = seen_of([1, 0, 1], [0, 0], [1, 1])
    for prior in (None, mb.Prior(0.4, 7.0)):
        known = known_of([0.1, 0.0, 0.3], [0.7, 0.6, 1.0], trust=0.9, prior=prior)
        np.testing.assert_allclose(posterior(known, seen, 2).mean, posterior(known, seen, 1).mean, rtol=1e-12)


def test_with_two_moments_it_does_not_matter_how_far_the_range_reaches_down() -> None:
    means = []
    for low in (-100.0, -1000.0):
        known = known_of([low] * 3, [0.0] * 3, low=low, high=0.0)
        rewards = [[-3.0, -1.0, -0.5], [-4.0, -4.5], []]
        means.append(posterior(known, seen_of(*([1.0 - r / low for r in own] for own in rewards)), 2).mean)
    np.testing.assert_allclose(means[0], means[1], rtol=1e-9)
    assert means[0][0, 2] > -15.0  # the arm that was never played is drawn from means near those of the others


def test_with_two_moments_rewards_above_the_upper_bound_keep_their_mean() -> None:
    seen = seen_of([0.5, 0.4] * 30)
    certain, doubted = (posterior(known_of([0.1], [0.3], trust=trust), seen, 2) for trust in (1.0, 0.5))
    assert certain.mean[0, 0] == pytest.approx(0.3, abs=1e-6)
    assert doubted.credibility[0, 0] < 1e-6
    assert doubted.mean[0, 0] == pytest.approx(0.45, abs=0.02)


@pytest.mark.parametrize("prior", [None, mb.Prior(0.7, 8.0)])
def test_a_known_mean_is_as_credible_as_one_in_a_narrow_interval(prior: mb.Prior | None) -> None:
    seen = Seen(*(np.array([[value]]) for value in (30.0, 24.0, 19.275, 24.0)))  # 15 rewards of 0.75, 15 of 0.85
    point, narrow = (
        posterior(Known.of([mb.Knowledge(mb.MeanBounds([0.8 - half], [0.8 + half]), prior=prior, trust=0.9)]), seen, 2)
        for half in (0.0, 1e-6)
    )
    np.testing.assert_allclose(point.credibility, narrow.credibility, rtol=1e-6)


def test_far_contradictions_stay_finite() -> None:
    lower, upper = [0.0, 0.3, 0.9, 0.5, 1.0, 0.0], [0.1, 0.31, 1.0, 0.5, 1.0, 0.0]
    for plays, ones in ((1e8, 9e7), (1e8, 1e7), (1e8, 1e8), (1e8, 0.0), (0.0, 0.0)):
        full = np.full((1, 6), plays), *[np.full((1, 6), ones)] * 3
        certain = posterior(known_of(lower, upper), Seen(*full))
        assert (certain.mean >= np.array(lower) - 2.1e-9).all()
        assert (certain.mean <= np.array(upper) + 2.1e-9).all()
        doubted = posterior(known_of(lower, upper, trust=0.9), Seen(*full))
        for values in (doubted.mean, doubted.credibility, doubted.tail(0.4), doubted.excess(0.4)):
            assert np.isfinite(values).all()
        if plays > ones > 0.0:
            np.testing.assert_allclose(doubted.mean, ones / plays, atol=1e-4)


@pytest.mark.parametrize("moments", [0, 3, 1.5, True, "2", None])
def test_other_moments_are_refused(moments: Any) -> None:
    with pytest.raises(ValueError, match="moments must be 1 or 2"):
        check_moments(moments)
