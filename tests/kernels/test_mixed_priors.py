"""Priors that are mixtures: weights, indices, chances and shortfalls against integrals of the density itself."""

from __future__ import annotations

from typing import Any, NamedTuple

import mpmath
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import special, stats

import meanbounds as mb
from meanbounds.kernels.arms import mixed_priors as kernel
from meanbounds.kernels.arms.estimates import parts_of
from meanbounds.kernels.arms.mixtures import mixed_values
from meanbounds.kernels.arms.tables import State, state_of
from tests import naive, naive_mixture, strategies
from tests.kernels.test_prior import states_after
from tests.kernels.test_twins import INTERPRETED

Laws = list[tuple[float, float, float]]


class Arm(NamedTuple):
    """The prior of an arm, what was seen of it, and its bounds."""

    laws: Laws  # weight, a, b
    ones: int
    zeros: int
    lower: float
    upper: float


def random_arm(rng: np.random.Generator, most: float, weakest: float = 0.0) -> Arm:
    """Up to five laws, up to 10^most plays that may contradict all of them, and bounds that may contradict both."""
    count = int(rng.integers(1, 6))
    strengths, means = 10.0 ** rng.uniform(weakest, 3.0, count), rng.uniform(0.02, 0.98, count)
    weights = rng.dirichlet(np.full(count, 0.5))
    plays, share = int(10.0 ** rng.uniform(0.0, most)) - 1, float(rng.random())
    ones = int(rng.binomial(plays, share))
    lower, upper = sorted(rng.random(2).tolist())
    kinds = [(0.0, 1.0), (lower, upper), (lower, min(1.0, lower + 10.0 ** rng.uniform(-4.0, -1.0))), (lower, lower)]
    lower, upper = kinds[int(rng.integers(4))]
    laws = [(float(w), float(m * s), float((1 - m) * s)) for w, m, s in zip(weights, means, strengths, strict=True)]
    return Arm(laws, ones, plays - ones, lower, upper)


def tables(arms: list[Arm], trust: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The plan with bounds, the one without, log N and the state, as kernels take them."""
    size = max(len(arm.laws) for arm in arms)
    padded = [arm.laws + [(0.0, 1.0, 1.0)] * (size - len(arm.laws)) for arm in arms]
    w, a, b = (np.array([[law[n] for law in laws] for laws in padded]) for n in range(3))
    components = [mb.Prior((a / (a + b))[:, i], (a + b)[:, i]) for i in range(size)]
    bounds = mb.MeanBounds([arm.lower for arm in arms], [arm.upper for arm in arms])
    known = mb.Knowledge(bounds, prior=mb.Prior.mixture(components, w), trust=trust)
    plan, state = mb.OptimisticGittins().plan(known), np.zeros((len(State._fields), len(arms)))
    state[0], state[3] = [arm.ones + arm.zeros for arm in arms], [arm.ones for arm in arms]
    if plan.is_doubted:
        told, bare, _, log_n = parts_of(plan.table)
        return told, bare, log_n, state
    return plan.table, plan.table, kernel.certain(len(plan)), state


def integral(a: Any, b: Any, lower: Any, upper: Any, power: int = 0, start: Any = 0) -> Any:
    """Of ``x^(a - 1) (1 - x)^(b - 1) (x - start)^power`` from lower to upper, by quadrature around the peak."""
    if not lower < upper:
        return mpmath.mpf(0)
    a, b = mpmath.mpf(a), mpmath.mpf(b)
    peak = min(upper, max(lower, a / (a + b)))
    slope = a * (1 - peak) - b * peak
    width = peak * (1 - peak) / ((a + b) * peak * (1 - peak) + slope**2 + 1) ** 0.5
    places = {lower, upper, peak}
    steps = (*range(1, 13), 15, 20, 30, 60, 200)
    places |= {x for n in steps for x in (peak - n * width, peak + n * width) if lower < x < upper}
    return mpmath.quad(
        lambda x: x ** (a - 1) * (1 - x) ** (b - 1) * (x - start) ** power if 0 < x < 1 else mpmath.mpf(0),
        sorted(places),
    )


def parts_by_quadrature(arm: Arm, trust: float) -> list[tuple[Any, Any, Any, Any, Any]]:
    """Weight, a, b and bounds of each part: the prior's density times the likelihood, integrated as it stands."""
    lower, upper = mpmath.mpf(arm.lower), mpmath.mpf(arm.upper)
    parts: list[tuple[Any, Any, Any, Any, Any]] = []
    laws: list[tuple[Any, Any, Any]]
    laws = [(mpmath.mpf(w) / mpmath.betainc(a, b, 0, 1), mpmath.mpf(a), mpmath.mpf(b)) for w, a, b in arm.laws if w > 0]
    after: list[tuple[Any, Any, Any]]
    after = [(w, a + arm.ones, b + arm.zeros) for w, a, b in laws]
    if lower < upper:
        before = sum(w * integral(a, b, lower, upper) for w, a, b in laws)
        parts += [(trust * w * integral(a, b, lower, upper) / before, a, b, lower, upper) for w, a, b in after]
    else:
        likelihood = lower**arm.ones * (1 - lower) ** arm.zeros
        parts += [(trust * likelihood, after[0][1], after[0][2], lower, lower)]
    whole = mpmath.mpf(0), mpmath.mpf(1)
    if trust < 1:
        parts += [((1 - mpmath.mpf(trust)) * w * mpmath.betainc(a, b, 0, 1), a, b, *whole) for w, a, b in after]
    total = sum(part[0] for part in parts)
    return [(part[0] / total, *part[1:]) for part in parts]


@pytest.mark.parametrize("seed", range(24))
def test_weights_and_indices_by_quadrature(seed: int) -> None:
    """Up to a million plays and bounds in any tail: weights, and the equation that defines the index, to 1e-9."""
    rng = np.random.default_rng(seed)
    arm, trust = random_arm(rng, most=6.0), float(rng.choice([1.0, 0.9, 1 - 1e-6]))
    if arm.lower == arm.upper and trust == 1.0:
        trust = 0.9  # else there is nothing to compute
    told, bare, log_n, state = tables([arm], trust)
    count = len(arm.laws)
    weights = np.empty(2 * count)
    kernel.fill_weights(told, float(log_n[0]), state_of(state), 0, weights)
    f, scores, means = float(10.0 ** rng.uniform(0.0, 6.0)), np.empty(1), np.empty(1)
    kernel.mixed_gittins(told, bare, log_n, state, float(np.log(f)), scores, means)
    with mpmath.workdps(30):
        parts = parts_by_quadrature(arm, trust if log_n[0] < np.inf else 1.0)
        within = 1 if arm.lower == arm.upper else count
        mine = [*weights[:within], *weights[count:]] if log_n[0] < np.inf else weights[:within]
        np.testing.assert_allclose(mine, [float(part[0]) for part in parts], rtol=1e-9, atol=1e-300)
        expected, gain, chance, v = mpmath.mpf(0), mpmath.mpf(0), mpmath.mpf(0), mpmath.mpf(scores[0])
        for weight, a, b, lower, upper in parts:
            if weight < 1e-40:
                continue
            if lower == upper:
                expected += weight * lower
                gain += weight * max(0, lower - v)
                chance += weight * (lower > v)
                continue
            mass, start = integral(a, b, lower, upper), min(upper, max(v, lower))
            expected += weight * integral(a + 1, b, lower, upper) / mass
            gain += weight * integral(a, b, start, upper, 1, v) / mass
            chance += weight * integral(a, b, start, upper) / mass
        error = float((f * gain - (v - expected)) / (f * chance + 1))
    assert means[0] == pytest.approx(float(expected), rel=1e-9)
    assert error == pytest.approx(0.0, abs=1e-9 * scores[0])


class Grid(NamedTuple):
    """Arms' posteriors on nodes of one fine grid: weighted density, distribution function, and integral of x up to."""

    density: np.ndarray
    below: np.ndarray
    moment: np.ndarray
    x: np.ndarray


def on_a_grid(arms: list[Arm], trust: float, panels: int = 6000) -> Grid:
    """By the product of prior and likelihood at each node, with panels between quantiles of every part."""
    rows, edges = [], [np.array([0.0, 1.0])]
    for arm in arms:
        for _, a, b in arm.laws:
            edges.append(stats.beta.ppf(np.linspace(0.0, 1.0, 400), a + arm.ones, b + arm.zeros))
        edges.append(np.linspace(arm.lower, arm.upper, 400))
    ends = np.unique(np.concatenate(edges))
    ends = np.unique(np.concatenate([ends, np.linspace(0.0, 1.0, panels)]))
    places, weights = np.polynomial.legendre.leggauss(12)
    half = 0.5 * np.diff(ends)[:, None]
    x, step = ends[:-1, None] + half * (1.0 + places), half * weights
    for arm in arms:
        log_prior = special.logsumexp([np.log(w) + stats.beta.logpdf(x, a, b) for w, a, b in arm.laws if w > 0], axis=0)
        log_post = log_prior + special.xlogy(arm.ones, x) + special.xlog1py(arm.zeros, -x)
        inside = (x > arm.lower) & (x < arm.upper)
        top = log_post.max()
        whole = np.exp(log_post - top)
        odds = trust / (np.exp(log_prior) * step)[inside].sum()
        mixed = (1.0 - trust) * whole + odds * np.where(inside, whole, 0.0)
        mixed = mixed / (mixed * step).sum()
        rows.append(mixed)
    density = np.array(rows)
    basis = _from_left(places)
    below = np.empty_like(density)
    moment = np.empty_like(density)
    for k, own in enumerate(density):
        for out, value in ((below, own), (moment, own * x)):
            done = np.concatenate([[0.0], np.cumsum((value * step).sum(axis=1))[:-1]])
            out[k] = done[:, None] + half * (value @ basis)
    return Grid(density * step, below, moment, x)


def _from_left(places: np.ndarray) -> np.ndarray:
    """What integrates the polynomial through the values at the nodes from -1 up to each node."""
    size = len(places)
    powers = np.linalg.inv(np.vander(places, size, increasing=True))
    degrees = np.arange(1, size + 1)
    integrals = (places[:, None] ** degrees - (-1.0) ** degrees) / degrees
    matrix: np.ndarray = (integrals @ powers).T
    return matrix


def values_on(grid: Grid) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """P(best), the expected shortfall and the variance of what knowing the best arm says, by their definitions."""
    size = len(grid.density)
    best, given, means = np.zeros(size), np.zeros((size, size)), (grid.density * grid.x).sum(axis=(1, 2))
    for a in range(size):
        others = [j for j in range(size) if j != a]
        chance = grid.density[a] * np.prod(grid.below[others], axis=0)
        best[a] = chance.sum()
        given[a, a] = (chance * grid.x).sum()
        for k in others:
            rest = [j for j in others if j != k]
            given[a, k] = (grid.density[a] * np.prod(grid.below[rest], axis=0) * grid.moment[k]).sum()
    most = sum(given[a, a] for a in range(size))
    learnt = [
        sum((given[a, k] - best[a] * means[k]) ** 2 / best[a] for a in range(size) if best[a] > 1e-12)
        for k in range(size)
    ]
    return best, most - means, np.array(learnt)


@pytest.mark.parametrize("seed", range(16))
def test_chances_and_shortfalls_by_quadrature(seed: int) -> None:
    """P, D and v to 1e-6, and the chances of Thompson sampling to 1e-9, where bounds are certain and where not."""
    rng = np.random.default_rng(500 + seed)
    trust = float(rng.choice([1.0, 0.9]))
    arms: list[Arm] = []
    while len(arms) < 3:
        arm = random_arm(rng, most=3.0, weakest=1.0)
        if min(min(a, b) for _, a, b in arm.laws) > 1.2 and arm.upper - arm.lower > 0.05:
            arms.append(arm._replace(lower=min(arm.lower, 0.3), upper=max(arm.upper, 0.6)))  # nobody is pruned
    told, bare, log_n, state = tables(arms, trust)
    assert told.shape[1] == 3
    best, short, learnt = values_on(on_a_grid(arms, trust if log_n[0] < np.inf else 1.0))
    weights = np.empty(2 * (len(told) - 10))  # of two parts for each component of each of three arms
    assert not kernel._fill_all_weights(told, log_n, state_of(state), weights)
    found = np.empty(3), np.empty(3), np.empty(3)
    mixed_values(kernel._mixed_laws(told, bare, weights, state_of(state)), weights, *found)
    for mine, right in zip(found, (best, short, learnt), strict=True):
        np.testing.assert_allclose(mine, right, rtol=1e-6, atol=1e-10)
    chances = np.empty(3)
    assert kernel.mixed_thompson_chances(told, bare, log_n, state, chances) < 1e-9
    np.testing.assert_allclose(chances, best, atol=1e-9)


@pytest.mark.skipif(INTERPRETED, reason="too many draws for Python")
@pytest.mark.parametrize("trust", [1.0, 0.8])
def test_draws_have_the_law(trust: float) -> None:
    """The arm with the largest draw beside a known mean: an exact binomial test of each of many thresholds.

    False failures of all tests together: below 1e-6.
    """
    laws = [(0.7, 4.0, 60.0), (0.2, 30.0, 30.0), (0.1, 0.5, 0.4)]
    arm = Arm(laws, 3, 6, 0.05, 0.8)
    for number, level in enumerate((0.06, 0.1, 0.3, 0.5, 0.7, 0.79)):
        known = Arm([(1.0, level * 1e9, (1.0 - level) * 1e9)], 0, 0, 0.0, 1.0)
        told, bare, log_n, state = tables([arm, known], trust)
        wins = sum(
            kernel.choose_mixed_draws(told, bare, log_n, state, n, np.uint64(77 + number)) == 0 for n in range(4000)
        )
        grid = on_a_grid([arm], trust)
        chance = float(grid.density[0][grid.x > level].sum())
        assert stats.binomtest(wins, 4000, chance).pvalue > 1e-8


@st.composite
def mixed_cases(draw: st.DrawFn) -> tuple[strategies.Case, mb.Knowledge]:
    """Two or three laws for each arm, weak or strong, and a trust that may be below 1."""
    case = draw(strategies.cases(most_arms=3, horizon=40))
    size, b, count = len(case.bounds), case.bounds, draw(st.integers(2, 3))
    shares = np.array(draw(st.lists(st.floats(0.1, 0.9), min_size=size * count, max_size=size * count)))
    strengths = draw(st.lists(st.sampled_from([12.0, 30.0, 80.0]), min_size=count, max_size=count))
    components = [
        mb.Prior(b.low + part * (b.high - b.low), strength)
        for part, strength in zip(shares.reshape(count, size), strengths, strict=True)
    ]
    weights = np.array(draw(st.lists(st.integers(1, 9), min_size=size * count, max_size=size * count)), dtype=float)
    rows = weights.reshape(size, count)
    prior = mb.Prior.mixture(components, rows / rows.sum(axis=1, keepdims=True))
    return case, mb.Knowledge(b, prior=prior, trust=draw(st.sampled_from([1.0, 0.9, 0.5])))


@pytest.mark.parametrize("policy", naive_mixture.TWINS, ids=repr)
@settings(max_examples=5 if INTERPRETED else 30, suppress_health_check=list(HealthCheck))
@given(drawn=mixed_cases())
def test_twins(policy: mb.Policy, drawn: tuple[strategies.Case, mb.Knowledge]) -> None:
    case, known = drawn
    twin = naive_mixture.twin_for(policy, known)
    history = naive.play(policy, case.environment, case.bounds, case.horizon, case.seed, twin=twin)
    if history:
        played = states_after(policy, case, known, len(history), fast=True)
        assert played[0].tolist() == history[-1].plays
        assert played[1].tolist() == history[-1].total


def agents_of(policy: mb.Policy, trust: float, priors: list[Any]) -> list[mb.Agent]:
    bounds = mb.MeanBounds([0.0, 0.2, 0.1], [1.0, 0.7, 0.9])
    agents = [mb.Agent(policy, mb.Knowledge(bounds, prior=prior, trust=trust), seed=1) for prior in priors]
    for agent in agents:
        for arm, reward in ((0, 1.0), (0, 0.0), (2, 1.0), (1, 0.0)):
            agent.update(arm, reward)
    return agents


@pytest.mark.parametrize("trust", [1.0, 0.8])
@pytest.mark.parametrize("strength", [12.0, 0.9])
@pytest.mark.parametrize("policy", [mb.ThompsonSampling(), mb.OptimisticGittins(), mb.IDS()], ids=repr)
def test_a_mixture_of_one_law_is_that_law(policy: mb.Policy, strength: float, trust: float) -> None:
    """Told once, or in equal parts: other kernels, the same chances and indices; settling counts the same plays."""
    law = mb.Prior([0.6, 0.3, 0.5], [strength, 9.0, 4.0])
    other = mb.Prior(0.5, 50.0)
    mixtures = [mb.Prior.mixture([law], [1.0]), mb.Prior.mixture([law, other, law], [0.25, 0.0, 0.75])]
    one, *others = agents_of(policy, trust, [law, *mixtures])
    for agent in others:
        np.testing.assert_allclose(agent.probabilities(), one.probabilities(), atol=1e-6)
        if policy.has_index:
            np.testing.assert_allclose(agent.indices(), one.indices(), rtol=1e-9)


@pytest.mark.skipif(INTERPRETED, reason="too many pulls for Python")
@pytest.mark.parametrize("trust", [1.0, 0.9])
@pytest.mark.parametrize("policy", [mb.ThompsonSampling(), mb.ThompsonSampling(settle=False), mb.IDS()], ids=repr)
def test_chances_are_those_of_pulls(policy: mb.Policy, trust: float) -> None:
    """An exact binomial test for each arm (false failures of all tests together: below 1e-6)."""
    prior = mb.Prior.mixture([mb.Prior(0.3, 40.0), mb.Prior([0.8, 0.6, 0.5], 10.0)], weights=[0.7, 0.3])
    (agent,) = agents_of(policy, trust, [prior])
    chances, pulled = agent.probabilities(), np.zeros(3, dtype=int)
    for _ in range(60 if isinstance(policy, mb.IDS) else 2_000):
        pull = agent.pull(pending="ignore")
        pulled[pull] += 1
        agent.cancel(pull)
    for chance, count in zip(chances.tolist(), pulled.tolist(), strict=True):
        assert stats.binomtest(count, int(pulled.sum()), min(1.0, chance)).pvalue > 1e-8
