"""Information-directed sampling: its integrals against a slow twin, its mix against a fine search."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import meanbounds as mb
from meanbounds.kernels.arms import textbook
from meanbounds.kernels.arms.ids import best_mix, draw_from, ids_values
from meanbounds.kernels.arms.laws import LAW_ROWS, fill_laws, laws_of
from meanbounds.kernels.arms.tables import plan_of, state_of
from meanbounds.kernels.compiling import compiled
from meanbounds.support.types import Floats
from tests import naive_ids
from tests.kernels.test_chances import Arm, chances, tables
from tests.naive_ids import Law, Values


@compiled
def fill_values(plan: Floats, parameters: Floats, state: Floats, best: Floats, short: Floats, learnt: Floats) -> None:
    laws = laws_of(np.zeros((LAW_ROWS, best.size)))
    fill_laws(plan_of(plan), parameters, state_of(state), laws)
    ids_values(laws, best, short, learnt)


def kernel_values(arms: list[Arm], prior: tuple[float, float] = (1.0, 1.0), moments: int = 1) -> Values:
    out = Values(*(np.full(len(arms), np.nan) for _ in range(3)))
    fill_values(*tables(arms, prior, moments), *out)
    return out


def as_law(arm: Arm, prior: tuple[float, float]) -> Law:
    rise, fall = prior[0] - 1.0 + arm.ones, prior[1] - 1.0 + arm.plays - arm.ones
    return Law(rise, fall, arm.lower, arm.upper, arm.low, arm.high)


def agree(arms: list[Arm], prior: tuple[float, float] = (1.0, 1.0)) -> None:
    """Chances to 1e-6; shortfalls and variances to 1e-6 of themselves, and of the largest if they are tiny."""
    twin, kernel = naive_ids.values([as_law(arm, prior) for arm in arms]), kernel_values(arms, prior)
    np.testing.assert_allclose(kernel.best, twin.best, rtol=1e-6, atol=1e-9)
    for mine, other in zip(kernel[1:], twin[1:], strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-6, atol=max(1e-9 * float(other.max()), 1e-20))


def random_arm(rng: np.random.Generator) -> Arm:
    """Few plays or up to a million, any mean, bounds loose, around the mean, anywhere (in a tail), or equal."""
    plays = int(rng.choice([0, 1, 5, 30, 1000, 1e5, 1e6]) * rng.random())
    mean = float(rng.choice([rng.random(), rng.uniform(0.45, 0.55), rng.choice([0.0, 1.0, 0.001, 0.999])]))
    ones = float(rng.binomial(plays, mean))
    kind = rng.integers(5)
    if kind < 2:
        return Arm(plays, ones)
    if kind == 2:
        return Arm(plays, ones, max(0.0, mean - 0.3 * rng.random()), min(1.0, mean + 0.3 * rng.random()))
    if kind == 3:
        lower, upper = sorted(rng.random(2).tolist())
        return Arm(plays, ones, lower, upper)
    known = float(rng.choice([0.5, rng.uniform(0.2, 0.8)]))
    return Arm(plays, ones, known, known)


@pytest.mark.parametrize("seed", range(40))
def test_random_arms(seed: int) -> None:
    rng = np.random.default_rng(seed)
    prior = (1.0, 1.0) if seed % 4 else tuple(1.0 + 3.0 * rng.random(2))
    agree([random_arm(rng) for _ in range(int(rng.integers(2, 6)))], (prior[0], prior[1]))


CASES = {
    "a million plays beside none": [Arm(1e6, 5e5), Arm(0, 0), Arm(30, 14)],
    "a million plays twice": [Arm(1e6, 500_000), Arm(1e6, 500_400)],
    "all bounds in tails": [Arm(1000, 500, 0.8, 0.9), Arm(1000, 300, 0.85, 0.95), Arm(1000, 990, 0.0, 0.86)],
    "one known": [Arm(0, 0, 0.6, 0.6), Arm(0, 0)],
    "two known, equal": [Arm(0, 0, 0.6, 0.6), Arm(3, 1, 0.6, 0.6), Arm(5, 3)],
    "known and never best": [Arm(0, 0, 0.2, 0.2), Arm(50, 30, 0.4, 0.9), Arm(40, 20, 0.3, 0.8)],
    "a bound just below where somebody is best": [Arm(100, 40), Arm(0, 0, 0.0746, 0.7029), Arm(3, 1, 0.0085, 1.0)],
    "the same, narrow": [Arm(3000, 1865), Arm(1, 0, 0.5388, 0.6994), Arm(3, 1, 0.0425, 1.0)],
    "ranges that end between those of others": [Arm(3, 1, 0.1, 1.1, 0.1, 1.1), Arm(58, 39, -1.0, 1.2, -1.0, 1.2)],
    "the same, the other way round": [Arm(3, 2, 0.3, 1.4, 0.3, 1.4), Arm(17, 11, -1.0, 1.2, -1.0, 1.2)],
    "a range inside another": [Arm(3, 2, 0.05, 0.75, 0.05, 0.75), Arm(3, 2)],
    "other ranges": [Arm(20, 8, -0.5, 1.0, -1.0, 1.0), Arm(9, 3, 0.0, 0.9, 0.0, 2.5), Arm(0, 0, 0.1, 0.7)],
}


@pytest.mark.parametrize("name", CASES)
def test_cases(name: str) -> None:
    agree(CASES[name])


def test_closed_form() -> None:
    """A known mean 0.6 beside a uniform one: P = (0.6, 0.4), shortfalls 0.08 and 0.18, variance 0.06."""
    best, short, learnt = kernel_values([Arm(0, 0, 0.6, 0.6), Arm(0, 0)])
    assert best == pytest.approx([0.6, 0.4])
    assert short == pytest.approx([0.08, 0.18])
    assert learnt == pytest.approx([0.0, 0.6 * 0.2**2 + 0.4 * 0.3**2])


def test_bounds_with_no_float_between_them() -> None:
    best, short, learnt = kernel_values([Arm(20, 15), Arm(138, 112, 0.0, 5e-324), Arm(3, 1, 0.0, 5e-324)])
    assert best.tolist() == [1.0, 0.0, 0.0]
    assert short[1:] == pytest.approx([16 / 22, 16 / 22])
    assert learnt.tolist() == [0.0, 0.0, 0.0]


ARMS = st.builds(
    lambda plays, mean, ends: Arm(plays, round(plays * mean), *sorted(ends)),
    st.integers(0, 10**6),
    st.floats(0.0, 1.0),
    st.tuples(st.sampled_from([0.0, 0.5]) | st.floats(0.0, 1.0), st.sampled_from([1.0, 0.5]) | st.floats(0.0, 1.0)),
)


@given(st.lists(ARMS, min_size=1, max_size=12), st.sampled_from([1, 2]))
def test_the_best_arm_is_as_likely_as_for_thompson_sampling(arms: list[Arm], moments: int) -> None:
    best, short, learnt = kernel_values(arms, moments=moments)
    assert best == pytest.approx(chances(arms, moments=moments), abs=1e-6)
    assert short.min() >= 0.0
    assert learnt.min() >= 0.0
    largest = max(arm.upper - arm.lower for arm in arms)
    assert learnt.max() <= 0.25 * largest**2 * (1 + 1e-6)


NUMBERS = st.sampled_from([0.0, 1e-12, 0.5]) | st.floats(1e-9, 1.0)


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=5), st.sampled_from([1.5, 2.0, 3.0]))
def test_no_mix_is_better(pairs: list[tuple[float, float]], power: float) -> None:
    """Against all mixes of two and three arms on a grid."""
    short, learnt = np.array(pairs).T.copy()
    out = np.full(len(pairs), np.nan)
    best_mix(short, learnt, power, out)
    assert out.min() >= 0.0
    assert out.sum() == pytest.approx(1.0)
    if short.min() == 0.0 or learnt.max() == 0.0:
        assert (out * short).sum() == short.min()
        return
    least = (out @ short) ** power / (out @ learnt)
    steps = np.linspace(0.0, 1.0, 21)
    for i in range(len(pairs)):
        for j in range(len(pairs)):
            for k in range(len(pairs)):
                first, second = (part.ravel() for part in np.meshgrid(steps, steps))
                parts = [first, (1 - first) * second, (1 - first) * (1 - second)]
                loss, gain = (sum(p * row[n] for p, n in zip(parts, (i, j, k), strict=True)) for row in (short, learnt))
                with np.errstate(divide="ignore"):
                    assert least <= np.min(loss**power / gain) * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(30))
def test_no_pair_of_many_arms_is_better(seed: int) -> None:
    """Against every pair, where shortfalls and variances are of all sizes."""
    rng = np.random.default_rng(seed)
    short, learnt = np.exp(rng.uniform(-20.0, 0.0, (2, 60)))
    for power in (1.1, 1.5, 2.0, 10.0):
        out = np.empty(60)
        best_mix(short, learnt, power, out)
        expected = naive_ids.spread(naive_ids.mix(short, learnt, power), short, learnt)
        np.testing.assert_allclose(out, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("size", [2, 7, 8, 9, 13, 30])
def test_few_arms_and_many(size: int) -> None:
    """Pairs of arms are summed in one order if they are few and in another if they are many."""
    rng = np.random.default_rng(size)
    agree([Arm(plays, float(rng.binomial(plays, 0.5))) for plays in rng.integers(0, 60, size).tolist()])


def test_equal_arms_share() -> None:
    out = np.empty(4)
    best_mix(np.array([0.1, 0.2, 0.2, 0.1]), np.array([0.0, 0.3, 0.3, 0.0]), 2.0, out)
    assert out[0] == out[3] == pytest.approx(0.5 - out[1])
    assert out[1] == out[2] > 0.0


def test_a_mix_is_drawn_as_it_says() -> None:
    mix = np.array([0.0, 0.25, 0.0, 0.75])
    drawn = [draw_from(mix, np.uint64(3), number) for number in range(4000)]
    assert set(drawn) == {1, 3}
    assert abs(drawn.count(1) - 1000) < 5 * np.sqrt(4000 * 0.25 * 0.75)  # five standard errors: 6e-7


def test_two_moments_of_zeros_and_ones_change_nothing() -> None:
    arms = [Arm(20, 8), Arm(12, 4, 0.1, 0.8), Arm(5, 3)]
    for one, two in zip(kernel_values(arms), kernel_values(arms, moments=2), strict=True):
        assert one == pytest.approx(two, rel=1e-6)


def test_chances_are_the_mix() -> None:
    policy = mb.IDS(power=2.0)
    table = tables([Arm(5, 2), Arm(9, 3, 0.1, 0.7), Arm(0, 0, 0.2, 0.6)])
    out, expected = np.empty(3), np.empty(3)
    parameters = policy.parameters
    assert textbook.chances(textbook.IDS, table.plan, parameters, table.state, 1.0, out) == 0.0
    _, short, learnt = kernel_values([Arm(5, 2), Arm(9, 3, 0.1, 0.7), Arm(0, 0, 0.2, 0.6)])
    best_mix(short, learnt, 2.0, expected)
    assert out.tolist() == expected.tolist()
