"""Bounds that may be wrong: every policy plays as its naive twin, and its chances are those of its pulls."""

from __future__ import annotations

import itertools
import math

import mpmath
import numba
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import stats

import meanbounds as mb
from meanbounds import kernels
from meanbounds.kernels.arms import textbook
from meanbounds.kernels.arms.block import Block
from meanbounds.kernels.arms.doubted_laws import log_bayes_factor
from meanbounds.kernels.arms.quantile import law_of, log_mass
from meanbounds.kernels.arms.tables import State
from tests import naive, naive_doubt, naive_ids, strategies

pytestmark = pytest.mark.filterwarnings("ignore:.*contradict")  # bounds are wrong here on purpose

INTERPRETED = bool(numba.config.DISABLE_JIT)
EXAMPLES = 5 if INTERPRETED else 60
ROUNDS = 40 if INTERPRETED else 250
TRUSTS = st.sampled_from([0.0, 0.5, 0.9, 0.99, 0.9999, 1.0])


@st.composite
def doubted_cases(draw: st.DrawFn) -> tuple[strategies.Case, naive_doubt.Trust]:
    """Means as in other cases, bounds that may be anywhere, and a trust in those of each arm."""
    case = draw(strategies.cases(most_arms=5, horizon=ROUNDS))
    size, share = len(case.bounds), st.sampled_from([0.0, 0.2, 0.5, 0.8, 1.0]) | st.floats(0.0, 1.0)
    ends = np.sort(draw(st.lists(st.tuples(share, share), min_size=size, max_size=size)), axis=1).T
    b = case.bounds
    lower, upper = (np.clip(b.low + end * (b.high - b.low), b.low, b.high) for end in ends)
    if draw(st.booleans()):
        lower, upper = np.where(draw(st.booleans()), b.lower, lower), np.where(draw(st.booleans()), b.upper, upper)
        lower = np.minimum(lower, upper)
    bounds = mb.MeanBounds(lower, upper, low=b.low, high=b.high)
    one = draw(st.booleans())
    trust = (draw(TRUSTS),) * size if one else tuple(draw(st.lists(TRUSTS, min_size=size, max_size=size)))
    return case._replace(bounds=bounds), trust


def states_after(
    policy: mb.Policy, case: strategies.Case, known: mb.Knowledge, fast: bool, stops: tuple[int, ...] = ()
) -> np.ndarray:
    """State of run 0 after all rounds, interrupted at some."""
    state = np.zeros((1, len(State._fields), len(case.bounds)))
    law = case.environment.rewards(case.bounds.low, case.bounds.high)
    rounds, curves = np.array([*stops, case.horizon]), np.empty((1, len(stops) + 1))
    seed, table = np.uint64(case.seed), policy.log_f(1, case.horizon)
    block = Block(state, law, seed, 0, table, 1, rounds, case.environment.gaps, curves)
    plan, play = policy.plan(known), kernels.play if fast else textbook.play
    play(policy.code(plan), plan.table, policy.parameters_for(known), block)
    after: np.ndarray = state[0]
    return after


@pytest.mark.parametrize("policy", naive_doubt.DOUBTING, ids=repr)
@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(drawn=doubted_cases())
def test_twins(policy: mb.Policy, drawn: tuple[strategies.Case, naive_doubt.Trust]) -> None:
    case, trust = drawn
    rounds = naive.rounds_of(policy, case.horizon)
    twin = naive_doubt.twin_for(policy, trust)
    history = naive.play(policy, case.environment, case.bounds, rounds, case.seed, twin=twin)
    for stop in {len(history), (len(history) + 1) // 2} - {0}:
        for fast in (True, False):
            played = states_after(policy, case._replace(horizon=stop), mb.Knowledge(case.bounds, trust=trust), fast)
            assert played[0].tolist() == history[stop - 1].plays
            assert played[1].tolist() == history[stop - 1].total


@pytest.mark.parametrize("policy", [mb.IDS(), mb.IDS(moments=2)], ids=repr)
@settings(max_examples=EXAMPLES // 3, suppress_health_check=list(HealthCheck))
@given(drawn=doubted_cases())
def test_what_ids_keeps_is_what_it_would_compute(
    policy: mb.Policy, drawn: tuple[strategies.Case, naive_doubt.Trust]
) -> None:
    case, trust = drawn
    known = mb.Knowledge(case.bounds, trust=trust)
    fast, slow = (states_after(policy, case, known, quickly, (case.horizon // 2,)) for quickly in (True, False))
    np.testing.assert_array_equal(fast, slow)


@pytest.mark.parametrize("f", ["t", "t + 1000"])
@pytest.mark.parametrize("strength", [None, 0.7, 8.0])
def test_long_runs_of_the_gittins_index_are_the_textbooks(f: str, strength: float | None) -> None:
    draw, policy = np.random.default_rng(5), mb.OptimisticGittins(f=f)
    for number in range(1 if INTERPRETED else 12):
        means = draw.random(int(draw.integers(1, 7)))
        size = means.size
        around = np.clip(np.sort(means + draw.normal(0.0, 0.2, (2, size)), axis=0), 0.0, 1.0)
        environment = mb.Bernoulli(means) if number % 3 else mb.Beta(means)
        prior = None if strength is None else mb.Prior(draw.uniform(0.1, 0.9, size), strength)
        trust = draw.choice([0.5, 0.9, 0.99, 0.9999, 1.0], size)
        known = mb.Knowledge(mb.MeanBounds(*around), prior=prior, trust=trust)
        rounds = 60 if INTERPRETED else 900
        case = strategies.Case(environment, known.bounds, rounds, number)
        for stops in ((), (rounds // 7, rounds // 2)):
            one, other = (states_after(policy, case, known, fast, stops) for fast in (True, False))
            assert one.tolist() == other.tolist()


PARTLY = mb.MeanBounds([0.5, 0.1, 0.3, 0.9, 0.6], [0.7, 0.45, 0.8, 0.95, 0.6], arms=["a", "b", "c", "d", "e"])
TOLD = {"a": [1, 0, 1, 1], "b": [1, 1], "c": [0, 1, 0], "d": [0, 0, 1], "e": [1, 0]}
CONTRADICTED = {"a": [1] * 40, "b": [0] * 30, "c": [0, 1] * 20, "d": [0, 1] * 10, "e": []}


def told(policy: mb.Policy, known: mb.Knowledge, rewards: dict[str, list[int]]) -> mb.Agent:
    agent = mb.Agent(policy, known, seed=3)
    for arm in known.bounds.arms:
        for reward in rewards[str(arm)]:
            agent.update(arm, float(reward))
    return agent


@pytest.mark.skipif(INTERPRETED, reason="too many pulls for Python")
@pytest.mark.parametrize("rewards", [TOLD, CONTRADICTED], ids=["told", "contradicted"])
@pytest.mark.parametrize("policy", [*naive_doubt.DOUBTING, mb.IDS()], ids=repr)
def test_chances_are_those_of_pulls(policy: mb.Policy, rewards: dict[str, list[int]]) -> None:
    """An exact binomial test for each of five arms (false failures of all tests together: below 1e-6)."""
    agent = told(policy, mb.Knowledge(PARTLY, trust=[0.9, 0.99, 1.0, 0.5, 0.9]), rewards)
    chances = agent.probabilities()
    assert chances.sum() == pytest.approx(1.0, abs=1e-9)
    pulled = np.zeros(len(PARTLY), dtype=int)
    for _ in range(300 if isinstance(policy, naive.HEAVY) else 2_000):
        arm = agent.pull(pending="ignore")
        pulled[PARTLY.position(arm)] += 1
        agent.cancel(arm)
    for chance, count in zip(chances.tolist(), pulled.tolist(), strict=True):
        assert stats.binomtest(count, int(pulled.sum()), min(1.0, chance)).pvalue > 1e-9


@pytest.mark.parametrize("rewards", [TOLD, CONTRADICTED], ids=["told", "contradicted"])
@pytest.mark.parametrize("policy", [mb.ThompsonSampling(settle=False), mb.ThompsonSampling(moments=2, settle=False)])
def test_chances_of_thompson_sampling_by_cases(policy: mb.Policy, rewards: dict[str, list[int]]) -> None:
    """The chances are those of certain bounds, averaged over all ways in which bounds hold or do not."""
    trust = (0.9, 0.99, 1.0, 0.5, 0.9)
    known = mb.Knowledge(PARTLY, trust=trust)
    agent = told(policy, known, rewards)
    expected = np.zeros(len(PARTLY))
    believed = []
    for k, arm in enumerate(PARTLY.arms):
        ones, plays = sum(rewards[str(arm)]), len(rewards[str(arm)])
        lower, upper = float(PARTLY.lower[k]), float(PARTLY.upper[k])
        if lower < upper:
            posterior = stats.beta(1 + ones, 1 + plays - ones)
            seen = (posterior.cdf(upper) - posterior.cdf(lower)) / (upper - lower)
        else:
            seen = float(stats.beta(1 + ones, 1 + plays - ones).pdf(lower))
        odds = trust[k] * seen
        believed.append(odds / (odds + 1 - trust[k]))
    for holds in itertools.product([True, False], repeat=len(PARTLY)):
        share = math.prod(p if held else 1 - p for p, held in zip(believed, holds, strict=True))
        if share == 0.0:
            continue
        ends = np.where(holds, PARTLY.lower, 0.0), np.where(holds, PARTLY.upper, 1.0)
        plain = told(policy, mb.Knowledge(mb.MeanBounds(*ends, arms=PARTLY.arms)), rewards)
        expected += share * plain.probabilities()
    np.testing.assert_allclose(agent.probabilities(), expected, atol=2e-7)


def test_information_directed_sampling_on_a_grid() -> None:
    """Shortfalls and variances of mixtures from sums over a fine grid."""
    known = mb.Knowledge(mb.MeanBounds([0.5, 0.1, 0.3], [0.7, 0.45, 0.8], arms=["a", "b", "c"]), trust=[0.9, 0.7, 1.0])
    agent = told(mb.IDS(), known, TOLD)
    x = (np.arange(200_000) + 0.5) / 200_000
    density = []
    for k, arm in enumerate("abc"):
        ones, zeros = sum(TOLD[arm]), len(TOLD[arm]) - sum(TOLD[arm])
        whole = x**ones * (1 - x) ** zeros
        inside = np.where((x >= known.bounds.lower[k]) & (x <= known.bounds.upper[k]), whole, 0.0)
        width = float(known.bounds.upper[k] - known.bounds.lower[k])
        odds = known.trusts[k] * (inside.sum() / width) / whole.sum()
        weight = odds / (odds + 1 - known.trusts[k])
        density.append(weight * inside / inside.sum() + (1 - weight) * whole / whole.sum())
    below = np.cumsum(density, axis=1) - 0.5 * np.array(density)
    means = np.array([(own * x).sum() for own in density])
    partial_means = np.array([np.cumsum(own * x) / np.maximum(np.cumsum(own), 1e-300) for own in density])
    best, given = np.empty(3), np.empty((3, 3))  # given: of arm k if a is best
    for a in range(3):
        others = [j for j in range(3) if j != a]
        joint = density[a] * below[others[0]] * below[others[1]]
        best[a] = joint.sum()
        for k in range(3):
            given[k, a] = (joint * (x if k == a else partial_means[k])).sum() / best[a]
    short = (best * np.diag(given)).sum() - given @ best
    learnt = ((given - means[:, None]) ** 2) @ best
    expected = naive_ids.spread(naive_ids.mix(short, learnt, 1.5), short, learnt)
    np.testing.assert_allclose(agent.probabilities(), expected, atol=2e-4)


@pytest.mark.parametrize("policy", [mb.GLUE(), mb.BKLUCB(), mb.UCBoost(), mb.ImprovedUCB(), mb.BUCB()], ids=repr)
@settings(max_examples=20, suppress_health_check=list(HealthCheck))
@given(drawn=doubted_cases())
def test_index_policies_do_not_doubt_before_f_reaches_n(
    policy: mb.Policy, drawn: tuple[strategies.Case, naive_doubt.Trust]
) -> None:
    case, _ = drawn
    late = mb.Knowledge(case.bounds, doubt_after=np.exp(policy.log_f(ROUNDS, ROUNDS)[0]) * 1.01)
    one, other = (states_after(policy, case, known, fast=False) for known in (mb.Knowledge(case.bounds), late))
    assert one.tolist() == other.tolist()


@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(drawn=doubted_cases())
def test_trust_of_1_and_0_are_bounds_and_none(drawn: tuple[strategies.Case, naive_doubt.Trust]) -> None:
    bounds, trust = drawn[0].bounds, drawn[1]
    nothing = mb.MeanBounds.vacuous(bounds.arms, low=bounds.low, high=bounds.high)
    certain = tuple(round(p) for p in trust)
    some = mb.MeanBounds(
        np.where(certain, bounds.lower, bounds.low),
        np.where(certain, bounds.upper, bounds.high),
        low=bounds.low,
        high=bounds.high,
    )
    for policy in naive_doubt.DOUBTING:
        for left, right in (
            (mb.Knowledge(bounds, trust=1.0), bounds),
            (mb.Knowledge(bounds, trust=0.0), nothing),
            (mb.Knowledge(bounds, trust=certain), some),
        ):
            one, other = policy.plan(left), policy.plan(right)
            assert not one.is_doubted
            np.testing.assert_array_equal(one.table, other.table)


ORDER = [3, 0, 4, 1, 2]


@pytest.mark.parametrize("policy", [*naive_doubt.DOUBTING, mb.IDS()], ids=repr)
def test_the_order_of_arms_does_not_matter(policy: mb.Policy) -> None:
    known = mb.Knowledge(PARTLY, trust=[0.9, 0.99, 1.0, 0.5, 0.9])
    turned = known.subset(ORDER)
    assert turned.trusts.tolist() == known.trusts[ORDER].tolist()
    for rewards in (TOLD, CONTRADICTED):
        one, other = told(policy, known, rewards), told(policy, turned, rewards)
        np.testing.assert_allclose(one.probabilities()[ORDER], other.probabilities(), atol=1e-9)


def test_log_masses_and_bayes_factors() -> None:
    """Against integrals with 500 digits, far in the tails as well."""
    rng = np.random.default_rng(5)
    with mpmath.workdps(500):
        for _ in range(100):
            a, b = 1.0 + float(rng.choice([0, 3, 50, 400])), 1.0 + float(rng.choice([0, 2.5, 70, 500]))
            lower, upper = sorted(rng.choice([0.0, 0.1, 0.5, 0.52, 0.9, 1.0], 2, replace=False).tolist())
            whole = mpmath.betainc(a, b, 0, 1)
            mass = mpmath.betainc(a, b, lower, upper) / whole
            assert log_mass(law_of(a, b, lower, upper)) == pytest.approx(float(mpmath.log(mass)), rel=1e-8, abs=1e-8)
            found = log_bayes_factor(a, b, (1.0, 1.0), lower, upper)
            assert found == pytest.approx(float(mpmath.log(mass / (mpmath.mpf(upper) - lower))), rel=1e-8, abs=1e-8)
            x = float(rng.choice([0.2, 0.5, 0.97]))
            density = mpmath.mpf(x) ** (a - 1) * (1 - mpmath.mpf(x)) ** (b - 1) / whole
            point = log_bayes_factor(a, b, (1.0, 1.0), x, x)
            assert point == pytest.approx(float(mpmath.log(density)), rel=1e-9, abs=1e-7)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_rewards_at_an_end_favour_bounds_that_leave_that_end(value: float) -> None:
    """Sums of plays and priors are rounded; what is left when the prior is taken off again is no reward."""
    rng = np.random.default_rng(3)
    for mean, strength, n in zip(
        rng.random(200), rng.choice([0.7, 2.0, 8.0], 200), rng.integers(1, 10**6, 200), strict=True
    ):
        a, b = float(strength * mean), float(strength - strength * mean)
        # What a kernel has: the prior's share is in the sum of rewards, and b is all plays less that sum.
        ones = a + float(n) * value
        found = log_bayes_factor(ones, strength + float(n) - ones, (a, b), value, value)
        end = a if value else b
        exact = math.lgamma(end) - math.lgamma(end + n) + math.lgamma(strength + n) - math.lgamma(strength)
        assert found == pytest.approx(exact, rel=1e-6, abs=1e-6)
        contradicted = log_bayes_factor(
            ones - (value - 0.5), strength + float(n) - ones + value - 0.5, (a, b), value, value
        )
        assert contradicted == -np.inf
