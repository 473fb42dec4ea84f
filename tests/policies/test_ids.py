"""Information-directed sampling against slow integrals, without and with its cache."""

from typing import Any

import numpy as np
import pytest
from scipy import special

from meanbounds import Agent, Knowledge, MeanBounds, Prior
from meanbounds.known import Known, Seen
from meanbounds.policies import IDS
from meanbounds.policies.base import choose
from meanbounds.posterior import posterior
from meanbounds.support.streams import Draws, stream, uniform
from meanbounds.support.types import Booleans, Floats

ROUND = np.ones(1)


def probabilities(policy: IDS, known: Known, seen: Seen, cache: dict[str, Any] | None = None) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):  # as the engine does
        return policy.probabilities(known, seen, ROUND, cache)


def known_of(bounds: MeanBounds, **knowledge: Any) -> Known:
    return Known.of([Knowledge(bounds, **knowledge)])


def seen_of(plays: Any, ones: Any) -> Seen:
    """Statistics of rewards that are 0 and 1."""
    plays, ones = np.atleast_2d(np.array(plays, float)), np.atleast_2d(np.array(ones, float))
    return Seen(plays, ones.copy(), ones.copy(), ones.copy())


def slow(policy: IDS, known: Known, seen: Seen, pieces: int = 1500) -> Floats:
    """The probabilities as defined: distribution functions from scipy, a fine grid, and every pair of arms."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = posterior(known, seen, policy.moments)
    arms = np.flatnonzero(known.without_doubted.possible[0])
    weight, a, b, lower, upper = (part[:, 0, arms].T[:, :, None] for part in found.parts)
    low, width = (np.broadcast_to(own, seen.plays.shape)[0, arms][:, None, None] for own in (found.low, found.width))
    mode, spread = a / (a + b), np.sqrt(a * b / (a + b + 1.0)) / (a + b)
    near = np.geomspace(1e-9, 0.1, 30)
    places = [
        mode + spread * np.linspace(-9.0, 9.0, 91),
        lower + (upper - lower) * near,
        upper - (upper - lower) * near,
    ]
    inside = np.clip(np.concatenate([lower, upper, *places], axis=2), lower, upper)
    ends = np.unique(low + width * inside)
    ends = np.unique(np.concatenate([ends, np.linspace(ends[0], ends[-1], pieces)]))
    nodes, weights = np.polynomial.legendre.leggauss(8)
    half = np.diff(ends)[:, None] / 2.0
    x, steps = (ends[:-1, None] + half * (1.0 + nodes)).ravel(), (half * weights).ravel()
    whole = special.betainc(a, b, upper) - special.betainc(a, b, lower)
    u = np.clip((x - low) / width, lower, upper)
    outside = (u <= lower) | (u >= upper)
    log_density = special.xlogy(a - 1.0, u) + special.xlog1py(b - 1.0, -u) - special.betaln(a, b)
    density = (weight * np.where(outside, 0.0, np.exp(log_density)) / whole / width).sum(axis=1)

    def below(v: Floats) -> tuple[Floats, Floats]:
        """The probability of means below v, and their expectation there."""
        mass = (special.betainc(a, b, v) - special.betainc(a, b, lower)) / whole
        moment = a / (a + b) * (special.betainc(a + 1.0, b, v) - special.betainc(a + 1.0, b, lower)) / whole
        return (weight * mass).sum(axis=1), (weight * (low * mass + width * moment)).sum(axis=1)

    share, moment = below(u)
    mean = below(upper)[1][:, 0]
    limited = np.where(share > 0.0, moment / np.maximum(share, 1e-300), 0.0)
    size = len(arms)
    joint = np.stack([density[k] * steps * np.delete(share, k, axis=0).prod(axis=0) for k in range(size)])
    best, given = joint.sum(axis=1), limited @ joint.T
    given[range(size), range(size)] = joint @ x
    often = best > 1e-13
    variance = ((given - best * mean[:, None]) ** 2 / np.where(often, best, 1.0))[:, often].sum(axis=1)
    chance = np.zeros(seen.plays.shape)
    chance[0, arms] = naive_mix(np.trace(given) - mean, variance, policy.power)
    return chance


def naive_mix(loss: Floats, variance: Floats, power: float) -> Floats:
    """The best mix of two arms; those that are equal share its probability."""
    options = [(loss[k] ** power / variance[k], k, k, 1.0) for k in range(len(loss)) if variance[k] > 0.0]
    for i, j in zip(*np.nonzero((loss[:, None] > loss) & (variance[:, None] > variance)), strict=True):
        gap, more = loss[i] - loss[j], variance[i] - variance[j]
        q = (loss[j] / gap - power * variance[j] / more) / (power - 1.0)
        if 0.0 < q < 1.0:
            ratio = (loss[j] + q * gap) ** power / (variance[j] + q * more)
            options.append((ratio, int(i), int(j), float(q)))
    _, i, j, q = min(options)
    chance = np.zeros(len(loss))
    for k, part in ((i, q), (j, 1.0 - q)):
        equal = np.isclose(loss, loss[k], rtol=1e-8, atol=0.0) & np.isclose(variance, variance[k], rtol=1e-7, atol=0.0)
        chance[equal] += part / equal.sum()
    return chance


def check_play(
    policy: IDS, known: Known, means: Floats, checked: set[int], tolerance: float, graded: bool = False, seed: int = 3
) -> None:
    """Play with a cache, and compare with the slow integrals, and with no cache, in some rounds."""
    rng, cache, seen = np.random.default_rng(seed), dict[str, Any](), Seen.empty(1, means.size)
    for t in range(max(checked) + 1):
        chance = probabilities(policy, known, seen, cache)
        assert chance.sum() == pytest.approx(1.0, abs=1e-12)
        assert np.count_nonzero(chance) <= means.size
        if t in checked:
            np.testing.assert_allclose(chance, slow(policy, known, seen), rtol=0.0, atol=tolerance)
            np.testing.assert_allclose(chance, probabilities(policy, known, seen), rtol=0.0, atol=tolerance)
        arm = rng.choice(means.size, p=chance[0] / chance.sum())
        reward = rng.beta(4.0 * means[arm], 4.0 * (1.0 - means[arm])) if graded else float(rng.random() < means[arm])
        seen.add(np.zeros(1, int), np.array([arm]), np.array([reward]), rng.random(1))


MEANS = np.array([0.7, 0.6, 0.5, 0.45, 0.35])
BOUNDS = MeanBounds([0.35, 0.3, 0.2, 0.1, 0.05], [0.95, 0.66, 0.9, 0.85, 0.8])


@pytest.mark.parametrize("power", [1.2, 1.5, 2.0])
def test_integrals_with_bounds(power: float) -> None:
    check_play(IDS(power=power), known_of(BOUNDS), MEANS, {*range(0, 200, 9)}, 1e-6)


def test_integrals_with_trust() -> None:
    check_play(IDS(), known_of(BOUNDS, trust=[0.99, 0.5, 1.0, 0.9, 0.9]), MEANS, {*range(0, 150, 11)}, 1e-6)


def test_integrals_with_a_prior_whose_exponents_are_not_whole() -> None:
    prior = Prior(mean=[0.6, 0.3, 0.5, 0.4, 0.2], strength=[5.3, 3.4, 2.1, 20.7, 6.5])
    check_play(IDS(), known_of(BOUNDS, prior=prior), MEANS, {*range(0, 150, 11)}, 1e-6)
    check_play(IDS(), known_of(BOUNDS, prior=prior, trust=0.9), MEANS, {*range(0, 60, 9)}, 1e-6)


def test_integrals_with_two_moments_and_ranges_that_differ() -> None:
    bounds = MeanBounds([0.0, -1.0, 0.3], [2.0, 4.0, 3.0], low=[0.0, -1.0, 0.0], high=[2.0, 4.0, 3.0])
    check_play(IDS(moments=2), known_of(bounds), np.array([0.8, 0.5, 0.6]), {*range(0, 60, 4)}, 1e-6, graded=True)
    check_play(IDS(), known_of(bounds), np.array([0.8, 0.5, 0.6]), {*range(0, 60, 4)}, 1e-6, graded=True)


def test_integrals_of_densities_that_are_not_smooth_at_the_ends_of_their_range() -> None:
    """A few graded rewards and two moments give small exponents that are not whole."""
    rng, policy, mixed = np.random.default_rng(1), IDS(moments=2), 0
    known = known_of(MeanBounds.vacuous(3))
    for _ in range(40):
        seen = Seen.empty(1, 3)
        for arm in np.repeat(np.arange(3), rng.integers(1, 7, 3)):
            seen.add(np.zeros(1, int), np.array([arm]), rng.beta(2.0, 2.0, 1), rng.random(1))
        chance = probabilities(policy, known, seen)
        np.testing.assert_allclose(chance, slow(policy, known, seen), rtol=0.0, atol=1e-6)
        mixed += chance.max() < 1.0
    assert mixed > 3


def test_integrals_with_fifty_vacuous_arms() -> None:
    """Products of fifty distribution functions are steep, and arms far below the best one still count."""
    means = np.random.default_rng(5).random(50)
    check_play(IDS(), known_of(MeanBounds.vacuous(50)), means, {1, 30, 70, 120, 250}, 1e-6)


def test_integrals_after_many_plays() -> None:
    """Up to a million plays against slow integrals; beyond, the distance from a limit shrinks as 1 / sqrt(n)."""
    known, first = known_of(MeanBounds.vacuous(3)), {}
    for n in (1e4, 1e6, 1e8, 1e10):
        ones = [0.4 * n, 0.05 * n - np.sqrt(n) / 4.0, 0.04 * n - np.sqrt(n) / 4.0]
        seen = seen_of([n, n / 8.0, n / 10.0], ones)
        chance = probabilities(IDS(), known, seen)
        first[n] = chance[0, 0]
        assert 0.001 < first[n] < 0.999
        if n <= 1e6:
            np.testing.assert_allclose(chance, slow(IDS(), known, seen), rtol=0.0, atol=1e-6)
    slope = (first[1e6] - first[1e8]) / (1e-3 - 1e-4)
    assert first[1e10] == pytest.approx(first[1e8] - slope * (1e-4 - 1e-5), abs=1e-6)


def test_bounds_far_from_the_rewards() -> None:
    """Rewards contradict an upper bound of 0.1: the mean is just below, by 0.1 * 0.9 / 2100 on average."""
    known = known_of(MeanBounds([0.0, 0.0], [0.1, 0.15]))
    chance = probabilities(IDS(power=2.0), known, seen_of([3000, 0], [2400, 0]))
    mean = 0.1 - 0.09 / 2100.0
    assert chance[0, 1] == pytest.approx((0.15 - mean) ** 2 / 0.3 / (mean - 0.075), abs=1e-6)


@pytest.mark.parametrize(("power", "chance"), [(2.0, 0.8), (1.5, 1.0)])
def test_beside_a_known_mean(power: float, chance: float) -> None:
    """Losses 0.08 and 0.18, and only the second arm teaches: q = 0.08 / 0.1 / (power - 1), at most 1."""
    found = probabilities(IDS(power=power), known_of(MeanBounds([0.6, 0.0], [0.6, 1.0])), Seen.empty(1, 2))
    np.testing.assert_allclose(found, [[1.0 - chance, chance]], atol=1e-7)


def test_arms_that_are_equal_share() -> None:
    np.testing.assert_allclose(probabilities(IDS(), known_of(MeanBounds.vacuous(50)), Seen.empty(1, 50)), 0.02)
    known = known_of(MeanBounds([0.9, 0.9, 0.2], [0.9, 0.9, 0.8]))
    np.testing.assert_allclose(probabilities(IDS(), known, Seen.empty(1, 3)), [[0.5, 0.5, 0.0]])


def test_an_arm_that_is_best_for_sure_is_played() -> None:
    known = known_of(MeanBounds([0.9, 0.1], [1.0, 0.9]))
    assert probabilities(IDS(), known, Seen.empty(1, 2)).tolist() == [[1.0, 0.0]]


def test_rows_side_by_side_and_eligible_arms_with_one_cache() -> None:
    """Three rows, of which the eligible arms change now and then, decide as each does alone and without a cache."""
    rng, cache, seen = np.random.default_rng(8), dict[str, Any](), Seen.empty(3, 5)
    known, policy, rows = known_of(BOUNDS, trust=0.99), IDS(), np.arange(3)
    eligible: Booleans | None = None
    for t in range(80):
        if t % 20 == 10:
            eligible = None if t == 50 else rng.random((3, 5)) < 0.6
            if eligible is not None:
                eligible[:, 2] = True
        own = known.among(eligible)
        chance = probabilities(policy, own, seen, cache)
        if t % 4 == 0:
            for row in range(3):
                alone = known.among(None if eligible is None else eligible[row : row + 1])
                expected = probabilities(policy, alone, seen.row(row))
                np.testing.assert_allclose(chance[row : row + 1], expected, rtol=0.0, atol=1e-6)
        if eligible is not None:
            assert not chance[~eligible].any()
        draws = Draws(stream(4, rows, "policy"), t)
        arms = choose(policy, own, seen, ROUND, draws, cache)
        below = np.cumsum(chance, axis=1)
        number = uniform(stream(4, rows, "policy"), t)[:, None]
        np.testing.assert_array_equal(arms, (number * below[:, -1:] >= below).sum(axis=1))
        seen.add(rows, arms, (rng.random(3) < MEANS[arms]).astype(float), np.full(3, 0.5))


@pytest.mark.parametrize("given", [{"power": 1.0}, {"power": 10.5}, {"power": np.nan}, {"power": "2"}, {"moments": 3}])
def test_refuses_parameters(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(given))):
        IDS(**given)


def test_where_nothing_can_be_learned_the_best_arm_is_played() -> None:
    agent = Agent(IDS(), MeanBounds([0.7, 0.96], [1.0, 0.96]), seed=1)
    for n in range(1000):
        agent.update(0, float(n < 900), pulled=False)
    assert agent.probabilities().tolist() == [0.0, 1.0]


@pytest.mark.parametrize(("wins", "plays"), [((7, 288), (40, 293)), ((0, 4000), (900, 4000))])
def test_an_arm_that_is_surely_worse_is_not_played(wins: tuple[int, int], plays: tuple[int, int]) -> None:
    """Where neither arm can be learned from to the precision of floats, the leader's loss and variance are both 0."""
    agent = Agent(IDS(), MeanBounds.vacuous(2), seed=1)
    for arm in (0, 1):
        for n in range(plays[arm]):
            agent.update(arm, float(n < wins[arm]), pulled=False)
    assert agent.probabilities() == pytest.approx([0.0, 1.0])
