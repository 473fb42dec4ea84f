"""Confidence sets and bets, where an adversary tries to break them; and the sum of widths behind Theorem 4."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from tests.playing import bounded, rewards

import meanbounds as mb
from meanbounds.linear import LinearArms
from meanbounds.linear.oful import OFUL
from meanbounds.support.streams import Draws, stream
from meanbounds.support.types import Floats
from meanbounds.theory import linear_regret, variance_proxy
from meanbounds.theory.linear_bound import largest_regret

RUNS, FAILURE = 400, 0.05
FEW = stats.binom.isf(1e-6, RUNS, FAILURE)  # a right policy misses more often with probability 1e-6


def misses(policy: OFUL) -> int:
    """In how many runs the set ever misses the parameter; noisy arms on which it errs most are offered."""
    angles = np.linspace(0.1, 1.4, 12)
    features, theta = np.column_stack([np.cos(angles), np.sin(angles)]), np.array([0.6, 0.5])
    means = features @ theta
    arms = LinearArms(features, mb.MeanBounds(np.maximum(means - 0.05, 0.0), np.minimum(means + 0.05, 1.0)))
    rng, rows, missed = np.random.default_rng(6), np.arange(RUNS), np.zeros(RUNS, dtype=np.bool_)
    state, keys, proxy = policy.start(arms, RUNS), stream(6, rows, "policy"), np.asarray(variance_proxy(means))
    for t in range(80):
        error = state.parameter - theta
        missed |= np.einsum("ri,rij,rj->r", error, state.precision, error) > policy.radius(state) ** 2
        wrong = (error @ features.T) ** 2 * proxy if t % 3 else np.tile(proxy, (RUNS, 1))
        chosen = policy.choose(state, np.argsort(wrong, axis=1)[:, -3:], Draws(keys, t))
        policy.learn(state, chosen, rewards(arms, theta, chosen, rng.random(RUNS)))
    return int(missed.sum())


def test_sets_cover_whatever_is_offered_and_too_small_a_factor_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"failure": FAILURE, "regularisation": 0.1}
    for policy in (mb.OFUL(**given), mb.ROFUL(index="clip", **given), mb.ROFUL(index="plain", **given)):
        assert misses(policy) <= FEW
    actual = mb.ROFUL.noise
    monkeypatch.setattr(mb.ROFUL, "noise", lambda *arms: actual(*arms) / 8.0)
    assert misses(mb.ROFUL(index="clip", **given)) > FEW


def test_rewards_count_by_the_proxies_of_tightened_bounds_that_are_certain() -> None:
    arms, _ = bounded(3, uneven=True)
    own, policy = arms.bounds, mb.ROFUL()
    proxy = mb.linear.tighten(arms.features, own, offset=arms.offset).variance_proxy
    np.testing.assert_allclose(1.0 / policy.start(arms).weight, proxy, rtol=1e-6)
    free = LinearArms(arms.features, mb.MeanBounds.vacuous(15, low=own.low, high=own.high), offset=arms.offset)
    doubted = policy.start(arms, 1, mb.Knowledge(own, trust=0.99))
    np.testing.assert_array_equal(doubted.weight, policy.start(free).weight)
    two, known = LinearArms(np.eye(2), mb.MeanBounds([0.9, 0.2], [1.0, 0.7])), mb.MeanBounds([1.0, 0.2], [1.0, 0.9])
    assert 1.0 / mb.LinearThompson(norm_high=2.0).start(two).weight == pytest.approx([0.09, 0.25])  # largest variances
    pinned = mb.ROFUL(norm_high=2.0).start(LinearArms(np.eye(2), known))
    assert 1.0 / pinned.weight == pytest.approx([0.25e-4, 0.25])  # no reward counts more than 10,000 times another


@pytest.mark.parametrize(("length", "regularisation"), [(30.0, 1e-6), (300.0, 1e-4), (3000.0, 1e-2)])
def test_the_first_updates_lose_no_digits(length: float, regularisation: float) -> None:
    """Long features beside a small regularisation: the inverse shrinks by many orders at once."""
    rng, policy = np.random.default_rng(10), mb.OFUL(regularisation=regularisation)
    features = rng.normal(size=(12, 5))
    features *= length / np.linalg.norm(features, axis=1)[:, None]
    state = policy.start(LinearArms(features, mb.MeanBounds.vacuous(12)))
    for k in rng.integers(12, size=60).tolist():
        policy.learn(state, np.array([k]), rng.random(1))
    exact = np.einsum("ij,jk,ik->i", features, np.linalg.inv(state.precision[0]), features)
    np.testing.assert_allclose(state.square[0], exact, rtol=1e-9)


def test_no_bet_gains_on_average_while_the_bounds_hold() -> None:
    """Whatever the forecasts are, for means at both ends of the bounds and between; each reward at an end or inside."""
    rng, size, rows = np.random.default_rng(1), 40, 200
    low = rng.normal(size=size)
    high = low + rng.exponential(size=size) + 0.1
    lower, upper = np.sort(rng.uniform(low, high, (2, size)), axis=0)
    known = mb.Knowledge(mb.MeanBounds(lower, upper, low=low, high=high), trust=0.9)
    state = mb.ROFUL(norm_high=100.0, index="clip").start(LinearArms(np.eye(size), known.bounds), rows, known)
    state.estimate = rng.uniform(low - 0.5, high + 0.5, (rows, size))
    state.square, moved = rng.exponential(0.1, (rows, size)) ** 2, np.zeros(2)

    def gain(arm: int, reward: float) -> Floats:
        """What each row wins."""
        state.gains = np.zeros((rows, 2, size))
        state.bet(np.full(rows, arm), np.full(rows, reward))
        moved[:] += np.count_nonzero(state.gains[:, :, arm], axis=0)
        return np.exp(state.gains.sum(axis=(1, 2)))

    for k in range(size):
        bad, good, inside = (gain(k, low[k] + share * (high[k] - low[k])) for share in (0.0, 1.0, 0.3))
        for mean in (lower[k], upper[k], 0.5 * (lower[k] + upper[k])):
            chance = (mean - low[k]) / (high[k] - low[k])
            assert ((1.0 - chance) * bad + chance * good <= 1.0 + 1e-9).all()
        assert (inside <= 0.7 * bad + 0.3 * good + 1e-9).all()
    assert (moved > 1000).all()


@pytest.mark.parametrize("policy", [mb.OFUL(), mb.ROFUL(index="clip"), mb.ROFUL(index="plain", norm_high=3.0)], ids=str)
def test_widths_never_add_up_to_more_than_the_bound(policy: OFUL) -> None:
    """Whatever is played: arms at random, or the one with the widest interval; of many lengths and variances."""
    for seed in range(3):
        arms, theta = bounded(seed, 8, 2, uneven=True)
        own = replace(policy, regularisation=[0.01, 1.0, 5.0][seed])
        state, rng, total = own.start(arms, 6), np.random.default_rng(seed), np.zeros(6)
        most = linear_regret(own, arms.features, arms.bounds, np.arange(1, 301), offset=arms.offset)
        width = largest_regret(own, arms)
        for t in range(300):
            chosen = np.where(np.arange(6) < 3, state.square.argmax(axis=1), rng.integers(8, size=6))
            square = state.square[np.arange(6), chosen]
            total += np.minimum(width, 2.0 * own.radius(state) * np.sqrt(square))
            assert (total <= most[t] * (1.0 + 1e-9)).all()
            own.learn(state, chosen, rewards(arms, theta, chosen, rng.random(6)))


@pytest.mark.parametrize("policy", [mb.OFUL(), mb.ROFUL(index="clip"), mb.ROFUL(index="plain")], ids=str)
def test_the_largest_regret_of_a_round(policy: OFUL) -> None:
    """No two arms that are both kept are further apart, for any of many parameters that satisfy all bounds."""
    rng = np.random.default_rng(4)
    for seed in range(6):
        arms, theta = bounded(seed, 5, 2, uneven=seed % 2 == 0)
        if seed == 5:  # two arms that the norm alone limits
            arms = LinearArms([[1.0, 0.0], [-1.0, 0.0]], mb.MeanBounds.vacuous(2, low=-3.0, high=3.0))
        allowed, limit = policy.allow(arms), largest_regret(policy, arms)
        points = rng.normal(size=(20_000, 2))
        points *= rng.uniform(0.0, 1.0, (20_000, 1)) ** 0.5 / np.linalg.norm(points, axis=1, keepdims=True)
        means = arms.offset + np.vstack([points, theta, [1.0, 0.0]]) @ arms.features.T
        means = means[((means >= arms.bounds.lower - 1e-9) & (means <= arms.bounds.upper + 1e-9)).all(axis=1)]
        kept = allowed.upper[:, None] >= allowed.lower  # whether an arm (row) is kept beside another
        apart = np.where(kept, (means[:, None, :] - means[:, :, None]).max(axis=0, initial=0.0), 0.0).max()
        assert apart <= limit + 1e-8
        assert seed < 5 or apart > limit - 1e-3
