"""Priors in kernels: laws with parameters below 1 against slow arithmetic, and every policy against its twin."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import stats

import meanbounds as mb
from meanbounds import kernels
from meanbounds.kernels.arms import textbook, weak
from meanbounds.kernels.arms.block import Block
from meanbounds.kernels.arms.gittins import optimistic_index
from meanbounds.kernels.arms.tables import State
from meanbounds.kernels.arms.thompson import HAT_SHAPE
from meanbounds.kernels.random.stream import child
from tests import naive, naive_prior, strategies
from tests.kernels.test_twins import EXAMPLES, INTERPRETED

Bounds = tuple[float, float]


def random_law(rng: np.random.Generator) -> tuple[float, float, Bounds]:
    """A parameter below 1, tiny ones included; the whole range, a part with an end of it, or a narrow part."""
    a, b = 10.0 ** rng.uniform(-6.0, 0.0), 10.0 ** rng.uniform(-6.0, 2.5)
    if rng.random() < 0.5:
        a, b = b, a
    x = float(rng.random())
    width = float(10.0 ** rng.uniform(-4.0, 0.0))
    kinds = [(0.0, 1.0), (0.0, x), (x, 1.0), (x, min(1.0, x + width))]
    return a, b, kinds[int(rng.integers(4))]


def incomplete(a: Any, b: Any, start: Any, stop: Any) -> Any:
    """Integral of the density but for its constant, from the side on which nothing cancels."""
    if start * (a + b) >= a:
        return mpmath.betainc(b, a, 1 - stop, 1 - start)
    return mpmath.betainc(a, b, start, stop)


@pytest.mark.parametrize("seed", range(30))
def test_laws_against_integrals_with_40_digits(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b, (lower, upper) = random_law(rng)
    law = np.empty(weak.WEAK_SIZE)
    weak.fill_weak(law, a, b, lower, upper)
    with mpmath.workdps(40):
        mass = incomplete(a, b, mpmath.mpf(lower), mpmath.mpf(upper))
        log_mass = float(mpmath.log(mass) - mpmath.log(mpmath.betainc(a, b, 0, 1)))
        assert weak.log_weak_mass(a, b, lower, upper) == pytest.approx(log_mass, rel=1e-9, abs=1e-9)
        for v in (1e-9, *rng.random(2).tolist(), 1.0 - 1e-9):
            step = weak.weak_quantile(law, v)
            less, more, gain, _ = weak.weak_tail(law, step)
            assert more == pytest.approx(v, abs=1e-11, rel=1e-6)
            assert less == pytest.approx(1.0 - v, abs=1e-11, rel=1e-6)
            x, lack = weak.place_of(law[weak.CENTRE], law[weak.LACK], step)
            if not (lower < x < upper and min(x, lack) > 1e-290):
                continue
            place = mpmath.mpf(x) if x < 0.5 else 1 - mpmath.mpf(lack)
            tail = incomplete(a, b, place, mpmath.mpf(upper))
            resolved = 1e-15 / (upper - lower)  # how far apart floats are, beside the bounds
            assert more == pytest.approx(float(tail / mass), abs=1e-10 + 10.0 * resolved)
            moment = incomplete(mpmath.mpf(a) + 1, b, place, mpmath.mpf(upper))
            assert gain == pytest.approx(float((moment - place * tail) / mass), abs=1e-10 + 10.0 * resolved)


@pytest.mark.skipif(INTERPRETED, reason="too many draws for Python")
@pytest.mark.parametrize("seed", range(100))
def test_draws_by_rejection(seed: int) -> None:
    """Kolmogorov and Smirnov (false failures of all tests together: below 1e-6)."""
    rng = np.random.default_rng(1000 + seed)
    a, b, (lower, upper) = random_law(rng)
    law, hat = np.empty(weak.WEAK_SIZE), np.empty(HAT_SHAPE)
    weak.fill_weak(law, a, b, lower, upper)
    weak.weak_hat(hat, a, b, lower, upper)
    assert law[weak.ABOVE] + law[weak.BELOW] >= 0.3 * hat[3, 5]  # at least three in ten draws are accepted
    tails = []
    for n in range(1000):
        step = weak.sample_weak(hat, np.uint64(child(np.uint64(seed), n)))
        assert law[weak.LEAST] <= step <= law[weak.MOST]
        tails.append(weak.weak_tail(law, step)[1])
    assert stats.kstest(tails, "uniform").pvalue > 1e-9


def agent_with(policy: mb.Policy, parameters: list[tuple[float, float]], trust: float = 1.0) -> mb.Agent:
    strength = [a + b for a, b in parameters]
    prior = mb.Prior([a / (a + b) for a, b in parameters], strength)
    known = mb.Knowledge(mb.MeanBounds.vacuous(len(parameters)), prior=prior, trust=trust)
    return mb.Agent(policy, known, seed=5)


@pytest.mark.parametrize(("a", "c"), [(1e-4, 3e-4), (0.01, 0.5), (0.3, 0.7), (1e-5, 0.9), (0.2, 40.0)])
@pytest.mark.parametrize("policy", [mb.ThompsonSampling(), mb.ThompsonSampling(moments=2)], ids=repr)
def test_chances_in_closed_form(policy: mb.Policy, a: float, c: float) -> None:
    """X is Beta(a, 1) and Y is Beta(c, 1): log X is exponential, and X exceeds Y with probability a / (a + c).

    Their mirrors, Beta(1, a) and Beta(1, c), are next to 1 where floats are coarse; there the smaller one wins.
    """
    chances = agent_with(policy, [(a, 1.0), (c, 1.0)]).probabilities()
    assert chances == pytest.approx([a / (a + c), c / (a + c)], abs=1e-9)
    chances = agent_with(policy, [(1.0, a), (1.0, c)]).probabilities()
    assert chances == pytest.approx([c / (a + c), a / (a + c)], abs=1e-9)


@pytest.mark.skipif(INTERPRETED, reason="too many pulls for Python")
@pytest.mark.parametrize("trust", [1.0, 0.9])
@pytest.mark.parametrize("strength", [0.02, 0.5, 1.5, 12.0])
@pytest.mark.parametrize(
    "policy",
    [*naive_prior.TWINS, mb.IDS(), mb.ThompsonSampling(moments=2, settle=False)],
    ids=repr,
)
def test_chances_are_those_of_pulls(policy: mb.Policy, strength: float, trust: float) -> None:
    """An exact binomial test for each arm (false failures of all tests together: below 1e-6)."""
    bounds = mb.MeanBounds([0.0, 0.3, 0.2, 0.1], [0.8, 1.0, 0.9, 0.25])
    prior = mb.Prior([0.3, 0.6, 0.5, 0.7], np.array([1.0, 1.3, 0.4, 2.0]) * strength)
    agent = mb.Agent(policy, mb.Knowledge(bounds, prior=prior, trust=trust), seed=3)
    for arm, rewards in enumerate(([1.0, 0.0], [1.0], [], [0.3])):
        for reward in rewards:
            agent.update(arm, reward)
    chances = agent.probabilities()
    assert chances.sum() == pytest.approx(1.0, abs=1e-9)
    pulled = np.zeros(len(bounds), dtype=int)
    for _ in range(40 if isinstance(policy, naive.HEAVY) else 2_000):
        pull = agent.pull(pending="ignore")
        pulled[bounds.position(pull)] += 1
        agent.cancel(pull)
    for chance, count in zip(chances.tolist(), pulled.tolist(), strict=True):
        assert stats.binomtest(count, int(pulled.sum()), min(1.0, chance)).pvalue > 1e-9


@pytest.mark.parametrize("trust", [1.0, 0.8])
@pytest.mark.parametrize("policy", [mb.ThompsonSampling(), mb.OptimisticGittins(), mb.IDS()], ids=repr)
def test_nothing_jumps_where_a_parameter_reaches_1(policy: mb.Policy, trust: float) -> None:
    """Below 1 all is computed in another way, so this compares the two."""
    found = []
    for change in (0.0, 1e-9):
        bounds = mb.MeanBounds([0.0, 0.2, 0.1], [1.0, 0.7, 0.9])
        prior = mb.Prior([0.5, 1.0 / 3.0, 0.625], [2.0 - change, 3.0 - change, 8.0])
        agent = mb.Agent(policy, mb.Knowledge(bounds, prior=prior, trust=trust), seed=1)
        agent.update(1, 1.0)
        found.append(np.append(agent.probabilities(), agent.indices() if policy.has_index else []))
    np.testing.assert_allclose(found[0], found[1], atol=3e-6 if isinstance(policy, mb.IDS) else 1e-7)


def test_index_with_weak_priors() -> None:
    """The defining equation, by integrals with 30 digits."""
    rng = np.random.default_rng(8)
    for _ in range(20):
        a, b, (lower, upper) = random_law(rng)
        a, b = max(a, 0.01), max(b, 0.01)
        f = float(10.0 ** rng.uniform(0.0, 4.0))
        index, mean = optimistic_index(a, b, lower, upper, f)
        with mpmath.workdps(30):
            mass = incomplete(a, b, mpmath.mpf(lower), mpmath.mpf(upper))
            expected = incomplete(mpmath.mpf(a) + 1, b, mpmath.mpf(lower), mpmath.mpf(upper)) / mass
            v = mpmath.mpf(index)
            gain = incomplete(mpmath.mpf(a) + 1, b, v, mpmath.mpf(upper)) - v * incomplete(a, b, v, mpmath.mpf(upper))
            slope = f * incomplete(a, b, v, mpmath.mpf(upper)) / mass + 1
            error = float((f * gain / mass - (v - expected)) / slope)
        assert mean == pytest.approx(float(expected), abs=1e-9)
        assert error == pytest.approx(0.0, abs=1e-9)


@st.composite
def informed_cases(draw: st.DrawFn) -> tuple[strategies.Case, mb.Knowledge]:
    """A prior inside each arm's range, weak or strong."""
    case = draw(strategies.cases(most_arms=4, horizon=60))
    size, b = len(case.bounds), case.bounds
    shares = draw(st.lists(st.floats(0.05, 0.95), min_size=size, max_size=size))
    strength = st.sampled_from([0.3, 1.0, 2.0, 7.0, 50.0]) | st.floats(0.2, 30.0)
    strengths = draw(st.lists(strength, min_size=size, max_size=size))
    prior = mb.Prior(b.low + np.array(shares) * (b.high - b.low), strengths)
    return case, mb.Knowledge(b, prior=prior)


def states_after(policy: mb.Policy, case: strategies.Case, known: mb.Knowledge, horizon: int, fast: bool) -> np.ndarray:
    state = np.zeros((1, len(State._fields), len(case.bounds)))
    law = case.environment.rewards(case.bounds.low, case.bounds.high)
    stops, curves = np.array([horizon]), np.empty((1, 1))
    block = Block(
        *(state, law, np.uint64(case.seed), 0, policy.log_f(1, horizon), 1, stops, case.environment.gaps, curves)
    )
    plan, play = policy.plan(known), kernels.play if fast else textbook.play
    play(policy.code(plan), plan.table, policy.parameters_for(known), block)
    after: np.ndarray = state[0]
    return after


@pytest.mark.parametrize("policy", naive_prior.TWINS, ids=repr)
@settings(max_examples=EXAMPLES // 2, suppress_health_check=list(HealthCheck))
@given(drawn=informed_cases())
def test_twins(policy: mb.Policy, drawn: tuple[strategies.Case, mb.Knowledge]) -> None:
    case, known = drawn
    rounds = naive.rounds_of(policy, case.horizon)
    twin = naive_prior.twin_for(policy, known)
    history = naive.play(policy, case.environment, case.bounds, rounds, case.seed, twin=twin)
    for stop in {len(history), (len(history) + 1) // 2} - {0}:
        for fast in (True, False):
            played = states_after(policy, case, known, stop, fast)
            assert played[0].tolist() == history[stop - 1].plays
            assert played[1].tolist() == history[stop - 1].total
