"""Theorem 4: the sum behind it, the regret of every round and of every run, and where the printed form fails."""

import math

import numpy as np
import pytest
from scipy import stats

import meanbounds as mb
from meanbounds.linear.arms import LinearArms
from meanbounds.linear.oful import OFUL
from meanbounds.linear.roful import ROFUL
from meanbounds.support.streams import Draws, stream
from meanbounds.theory import linear_regret
from meanbounds.theory.linear_bound import largest_regret, sum_of_widths

POLICIES = [OFUL(failure=0.05), *(ROFUL(failure=0.05, index=index) for index in ("plain", "clip", "exact"))]


def limit(rounds: float, growth: float, scale: float, width: float) -> float:
    return float(sum_of_widths(np.array([rounds]), np.array([growth]), np.array([scale]), width)[0])


def test_no_sequence_of_widths_has_a_larger_sum() -> None:
    """Random ways to split the growth, equal ones and extreme ones; and the limit is below the usual bound."""
    rng = np.random.default_rng(1)
    for _ in range(300):
        rounds, growth = int(rng.integers(1, 60)), rng.exponential(10)
        scale, width = 10 ** rng.uniform(-3, 3), rng.uniform(0, 10)
        most, usual = limit(rounds, growth, scale, width), max(width, scale) * math.sqrt(2 * rounds * growth)
        assert most <= min(usual, rounds * width) * (1 + 1e-9) + 1e-12
        for sharpness in (1e-2, 1.0, 1e4):
            z = growth * rng.dirichlet(np.full(rounds, sharpness))
            assert np.minimum(width, scale * np.sqrt(np.expm1(z))).sum() <= most * (1 + 1e-9) + 1e-9


@pytest.mark.parametrize(("width", "scale"), [(1.0, 2.0), (3.0, 1.0), (30.0, 0.5)])
def test_the_sum_is_attained(width: float, scale: float) -> None:
    """By the best of all splits into two values, a share of the rounds each, on a grid."""
    top = math.log1p((width / scale) ** 2)
    for mean in (0.005, 0.2, 1.5):
        tried = np.unique([0.0, mean, *np.linspace(0.0, top, 201), *np.geomspace(1e-4, top, 200)])
        gain, apart = np.minimum(width, scale * np.sqrt(np.expm1(tried))), tried[None, :] - tried[:, None]
        share = np.divide(mean - tried[:, None], apart, out=np.full(apart.shape, -1.0), where=apart > 0)
        best = 1_000 * np.where((share >= 0) & (share <= 1), gain[:, None] * (1 - share) + share * gain, 0.0).max()
        assert best * (1 - 1e-9) <= limit(1e3, 1e3 * mean, scale, width) <= best * 1.01


@pytest.mark.parametrize("unit", [True, False])
@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_every_round_and_every_run(policy: OFUL, unit: bool) -> None:
    """While the parameter is in the confidence sets, a round loses at most W and twice the width of the arm played.

    60 runs of 80 rounds; the sets may miss the parameter in a share of 0.05: compared with the binomial law at 1e-6.
    """
    rng, runs, row = np.random.default_rng(6), 60, np.arange(60)
    features, theta, offset = rng.normal(size=(10, 3)), np.array([0.6, 0.0, -0.5]), 0.2 * rng.normal(size=10)
    features *= (1.0 if unit else rng.uniform(0.3, 2.0, (10, 1))) / np.linalg.norm(features, axis=1)[:, None]
    means = (0.0 if unit else offset) + features @ theta
    low, high = means - rng.uniform(0.05, 1.0, 10), means + rng.uniform(0.05, 1.0, 10)
    bounds = mb.MeanBounds(
        (means - rng.random(10)).clip(low), (means + rng.random(10)).clip(None, high), low=low, high=high
    )
    arms = LinearArms(features, bounds, offset=0.0 if unit else offset)
    state, width, keys = policy.start(arms, runs), largest_regret(policy, arms), stream(7, row, "policy")
    most = linear_regret(policy, features, bounds, np.arange(1, 81), offset=arms.offset)
    inside, total = np.ones(runs, dtype=bool), np.zeros(runs)
    for t in range(80):
        offered = rng.permuted(np.tile(np.arange(10), (runs, 1)), axis=1)[:, :4]
        error, reach = state.parameter - theta, policy.radius(state)
        inside &= np.einsum("ri,rij,rj->r", error, state.precision, error) <= reach**2
        played = policy.choose(state, offered, Draws(keys, t))
        regret, own = means[offered].max(axis=1) - means[played], 2 * reach * np.sqrt(state.square[row, played])
        total += regret
        assert np.all((regret <= np.minimum(width, own) + 1e-7)[inside])
        assert np.all((total <= most[t] + 1e-6)[inside])
        ones = rng.random(runs) < ((means - low) / (high - low))[played]
        policy.learn(state, played, np.where(ones, high[played], low[played]))
    assert np.sum(~inside) <= stats.binom.isf(1e-6, runs, policy.failure)
    assert total.max() > 0.0


def test_the_printed_form_by_hand() -> None:
    """At t = 100, d = 2, lambda = 1, M = 1, delta = 0.01, gamma = 1/2."""
    features, bounds = np.array([[1.0, 0.0], [0.6, 0.8]]), mb.MeanBounds.vacuous(2)
    root = 1.0 + 0.5 * math.sqrt(2 * math.log(100) + 2 * math.log(1 + 99 / 2))
    expected = math.sqrt(8 * 2 * 100 * root**2 * math.log(1 + 100 / 2))
    for policy in (OFUL(), ROFUL()):
        assert float(linear_regret(policy, features, bounds, 100, form="paper")) == pytest.approx(expected)
        assert linear_regret(policy, features, bounds, 100) < expected


def test_the_printed_form_fails_in_the_first_round() -> None:
    """Arms e1 and -e1, theta = e1, lambda = 0.01, M = 1, d = 2, rewards in [-1, 1].

    beta_0 has no round to take gamma from, so sqrt(beta_0) = sqrt(0.01), and the printed bound is
    sqrt(8 * 2 * 1 * 0.01 * log(1 + 1 / 0.02)) = 0.7932. Both arms have the same index in the first round, so the
    regret is 2 with probability 1/2, where the bound may be missed with probability 0.01.
    """
    assert math.sqrt(8 * 2 * 0.01 * math.log(1 + 1 / 0.02)) == pytest.approx(0.7932, abs=1e-4)
    policy, arms = OFUL(regularisation=0.01), LinearArms([[1.0, 0.0], [-1.0, 0.0]], mb.MeanBounds.vacuous(2, low=-1.0))
    played = policy.choose(policy.start(arms, 200), None, Draws(stream(3, np.arange(200), "policy"), 0))
    assert stats.binomtest(int(played.sum()), 200, 0.01, alternative="greater").pvalue < 1e-6
    assert linear_regret(policy, arms.features, arms.bounds, [1])[0] >= 2.0


def test_smaller_factors_show() -> None:
    """A mean known to be at least 0.98 tightens the others; in the long run the bound goes with the largest factor."""
    features, bounds = [[1.0, 0.0], [0.96, 0.28]], mb.MeanBounds([0.98, 0.0], [1.0, 1.0])
    plain, ours = (linear_regret(policy, features, bounds, [10**12])[0] for policy in (OFUL(), ROFUL()))
    largest = 1.0 / ROFUL().start(LinearArms(features, bounds)).weight.min()
    assert largest < 0.19
    assert ours / plain == pytest.approx(math.sqrt(largest / 0.25), rel=0.03)
