"""Chances of the next pull: against exact fractions, closed forms, other quadratures, and a million draws."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, special, stats

import meanbounds as mb
from meanbounds.kernels.arms import textbook
from meanbounds.kernels.arms.chances import index_chances, thompson_chances
from meanbounds.kernels.arms.tables import Plan, State, argmax, plan_of, state_of
from meanbounds.kernels.arms.thompson import choose_thompson
from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.random.stream import child
from meanbounds.support.types import Floats
from tests import naive, strategies


class Arm(NamedTuple):
    """What an arm's draw depends on: plays, rewards of 1 among them (in units of the range), bounds, range."""

    plays: float
    ones: float
    lower: float = 0.0
    upper: float = 1.0
    low: float = 0.0
    high: float = 1.0
    squares: float | None = None


class Tables(NamedTuple):
    plan: Floats
    parameters: Floats
    state: Floats


def tables(arms: Sequence[Arm], prior: tuple[float, float] = (1.0, 1.0), moments: int = 1) -> Tables:
    size = len(arms)
    plan = [[k, arm.low, arm.high - arm.low, arm.lower, arm.upper, 0.0, arm.high] for k, arm in enumerate(arms)]
    state = []
    for arm in arms:
        squares = arm.ones if arm.squares is None else arm.squares
        lacks = (arm.plays - arm.ones, arm.plays - 2.0 * arm.ones + squares)
        state.append([arm.plays, arm.ones, squares, arm.ones, 0.0, *lacks])
    shapes = np.array(plan, dtype=np.float64).T.copy(), np.array(state, dtype=np.float64).T.copy()
    assert shapes[0].shape == (len(Plan._fields), size)
    assert shapes[1].shape == (len(State._fields), size)
    return Tables(shapes[0], np.array([*prior, moments], dtype=np.float64), shapes[1])


def chances(arms: Sequence[Arm], prior: tuple[float, float] = (1.0, 1.0), moments: int = 1) -> Floats:
    """Chances, after a check that they are chances and that the error is said to be small."""
    table = tables(arms, prior, moments)
    before = table.state.copy()
    out = np.full(len(arms), np.nan)
    error = thompson_chances(*table, out)
    assert np.array_equal(before, table.state)
    assert out.min() >= 0.0
    assert abs(out.sum() - 1.0) <= 1e-9
    assert error <= 1e-6
    return out


# Twins


Polynomial = list[Fraction]


def multiply(p: Polynomial, q: Polynomial) -> Polynomial:
    product = [Fraction(0)] * (len(p) + len(q) - 1)
    for i, x in enumerate(p):
        for j, y in enumerate(q):
            product[i + j] += x * y
    return product


def value(p: Polynomial, x: Fraction) -> Fraction:
    total = Fraction(0)
    for coefficient in reversed(p):
        total = total * x + coefficient
    return total


def antiderivative(p: Polynomial) -> Polynomial:
    return [Fraction(0), *(coefficient / (n + 1) for n, coefficient in enumerate(p))]


def exact_chances(arms: Sequence[Arm]) -> list[float]:
    """With a flat prior densities are polynomials: integrate products of them as fractions, without any rounding."""
    density, mass = [], []
    for arm in arms:
        low, high = Fraction(arm.low), Fraction(arm.high)
        p = [Fraction(1)]
        for factor in [[-low, Fraction(1)]] * int(arm.ones) + [[high, Fraction(-1)]] * int(arm.plays - arm.ones):
            p = multiply(p, factor)
        density.append(p)
        whole = antiderivative(p)
        mass.append(value(whole, Fraction(arm.upper)) - value(whole, Fraction(arm.lower)))
    wide = [k for k, arm in enumerate(arms) if arm.lower < arm.upper]
    out = [Fraction(0)] * len(arms)
    ends = sorted({Fraction(end) for k in wide for end in (arms[k].lower, arms[k].upper)})
    points = [Fraction(arm.lower) for arm in arms if not arm.lower < arm.upper]
    point = max(points, default=None)
    ends = sorted({*ends, *points})

    def share(k: int, start: Fraction) -> Polynomial:
        """Distribution function on the piece that starts here."""
        if start < arms[k].lower:
            return [Fraction(0)]
        if start >= arms[k].upper:
            return [Fraction(1)]
        whole = antiderivative(density[k])
        whole[0] -= value(whole, Fraction(arms[k].lower))
        return [coefficient / mass[k] for coefficient in whole]

    for start, stop in pairwise(ends):
        if point is not None and start < point:
            continue
        shares = {k: share(k, start) for k in wide}
        for k in wide:
            if not arms[k].lower <= start < arms[k].upper:
                continue
            p = [coefficient / mass[k] for coefficient in density[k]]
            for j in wide:
                p = multiply(p, shares[j]) if j != k else p
            whole = antiderivative(p)
            out[k] += value(whole, stop) - value(whole, start)
    if point is not None:
        below = Fraction(1)
        for k in wide:
            below *= value(share(k, point), point)
        for k, arm in enumerate(arms):
            if k not in wide and Fraction(arm.lower) == point:
                out[k] = below / points.count(point)
    assert sum(out) == 1
    return [float(chance) for chance in out]


def precise_chances(arms: Sequence[Arm], prior: tuple[float, float]) -> list[float]:
    """Quadrature with incomplete Beta functions in arbitrary precision, for arms on [0, 1] that are not points."""
    shapes = [(prior[0] + arm.ones, prior[1] + arm.plays - arm.ones) for arm in arms]

    def mass(k: int, x: float) -> mpmath.mpf:
        a, b = shapes[k]
        lower = mpmath.mpf(arms[k].lower)
        return mpmath.betainc(b, a, 1 - mpmath.mpf(x), 1 - lower)  # from the end that is near the tail

    with mpmath.workdps(30):
        whole = [mass(k, arm.upper) for k, arm in enumerate(arms)]

        def integrand(x: float, k: int) -> float:
            a, b = shapes[k]
            log_mass = float(mpmath.log(whole[k]))
            product = np.exp((a - 1.0) * np.log(x) + (b - 1.0) * np.log1p(-x) - log_mass)
            for j, arm in enumerate(arms):
                product *= float(mass(j, x) / whole[j]) if j != k and x < arm.upper else 1.0
            return float(product)

        start = max(arm.lower for arm in arms)
        out = [0.0] * len(arms)
        for k, arm in enumerate(arms):
            spread = [start + (arm.upper - start) * share for share in (0.0, 0.1, 0.3, 1.0)]
            ends = sorted({*spread, *(other.upper for other in arms if start < other.upper < arm.upper)})
            for piece in pairwise(ends) if start < arm.upper else ():
                out[k] += integrate.quad(integrand, *piece, args=(k,), epsabs=1e-11, epsrel=1e-10)[0]
    return out


def two_chances(first: tuple[float, float], second: tuple[float, float]) -> float:
    """Chance that the first of two Beta laws gives the larger draw, by quadrature with scipy's functions."""
    levels = np.array([1e-14, 1e-6, 0.01, 0.5, 0.99, 1 - 1e-6, 1 - 1e-14])
    ends = np.unique([0.0, *special.betaincinv(*first, levels), *special.betaincinv(*second, levels), 1.0])

    def integrand(x: float) -> float:
        return float(stats.beta.pdf(x, *first) * special.betainc(*second, x))

    return sum(integrate.quad(integrand, *piece, epsabs=1e-13, epsrel=1e-12)[0] for piece in pairwise(ends.tolist()))


# Against exact fractions

SIXTEENTHS = st.integers(0, 16).map(lambda n: n / 16)
RANGES = st.sampled_from([(0.0, 1.0), (0.0, 1.0), (-1.0, 0.0), (-0.5, 1.5), (0.0, 0.5)])


@st.composite
def small_arms(draw: st.DrawFn, most_plays: int = 12) -> Arm:
    """An arm whose numbers are exact in binary: bounds at sixteenths of a range whose width is a power of two."""
    plays = draw(st.integers(0, most_plays))
    low, high = draw(RANGES)
    lower, upper = sorted((draw(SIXTEENTHS), draw(SIXTEENTHS)))
    span = high - low
    return Arm(plays, draw(st.integers(0, plays)), low + span * lower, low + span * upper, low, high)


@given(st.lists(small_arms(), min_size=1, max_size=4))
def test_random_arms_exactly(arms: list[Arm]) -> None:
    assert chances(arms) == pytest.approx(exact_chances(arms), abs=1e-10)


TAILS = {
    "mass 1e-300 left": [Arm(250, 0, 15 / 16, 1.0), Arm(200, 1, 0.875, 1.0)],
    "mass 1e-200 right": [Arm(150, 150, 0.0, 1 / 16), Arm(160, 158, 0.0, 1 / 8), Arm(3, 1, 0.0, 1 / 16)],
    "one in each tail": [Arm(100, 100, 0.25, 0.5), Arm(100, 0, 0.375, 0.75), Arm(0, 0, 0.0, 1.0)],
    "peaked beside flat": [Arm(300, 150), Arm(0, 0)],
    "a point in the tail": [Arm(200, 2, 0.5, 1.0), Arm(0, 0, 0.50390625, 0.50390625), Arm(0, 0, 0.0, 0.75)],
    "points alone": [Arm(5, 2, 0.5, 0.5), Arm(0, 0, 0.25, 0.25), Arm(9, 9, 0.5, 0.5)],
    "a point above all": [Arm(5, 2, 0.75, 0.75), Arm(4, 4, 0.0, 0.75)],
    "other ranges": [Arm(60, 30, -8.0, 8.0, -8.0, 8.0), Arm(60, 31, -1.0, 1.0, -1.0, 1.0), Arm(9, 4, 0.0, 0.125)],
}


@pytest.mark.parametrize("arms", TAILS.values(), ids=TAILS.keys())
def test_tails_exactly(arms: list[Arm]) -> None:
    assert chances(arms) == pytest.approx(exact_chances(arms), abs=1e-10)


# Closed forms, with as many plays as one likes

COUNTS = st.floats(0, 8).map(lambda power: float(round(10**power)))


@given(COUNTS, COUNTS, st.sampled_from([0.0, 0.25, 0.9, 0.999]))
def test_nothing_but_failures(n: float, m: float, lower: float) -> None:
    """Densities (1 - x)^n: truncated from below they keep their shape, and the chances are as n + 1 to m + 1."""
    arms = [Arm(n, 0, lower), Arm(m, 0, lower)]
    assert chances(arms) == pytest.approx([(m + 1) / (n + m + 2), (n + 1) / (n + m + 2)], abs=1e-10)


@given(st.lists(COUNTS, min_size=2, max_size=30), st.sampled_from([1.0, 0.9, 0.25, 1e-3]))
def test_nothing_but_successes(counts: list[float], upper: float) -> None:
    """Densities x^n: truncated from above they keep their shape, and the largest of many is as the sum of n + 1."""
    shapes = np.array(counts) + 1.0
    arms = [Arm(n, n, 0.0, upper) for n in counts]
    assert chances(arms) == pytest.approx(shapes / shapes.sum(), abs=1e-10)


@given(st.floats(1.0, 50.0), COUNTS, COUNTS, st.integers(0, 10))
def test_any_prior(alpha: float, n: float, m: float, power: int) -> None:
    """The same for exponents that are no integers, whose densities have no derivative at the end."""
    prior = (1.0 + (alpha - 1.0) * 10.0**-power, 1.0)
    shapes = np.array([prior[0] + n, prior[0] + m])
    assert chances([Arm(n, n), Arm(m, m)], prior) == pytest.approx(shapes / shapes.sum(), abs=1e-9)


@pytest.mark.parametrize("size", [2, 3, 50, 200])
@pytest.mark.parametrize("plays", [0, 7, 1e4, 1e8])
@pytest.mark.parametrize("bounds", [(0.0, 1.0), (0.49995, 0.50001), (0.9, 1.0), (0.0, 1e-3), (0.3, 0.3)])
def test_equal_arms(size: int, plays: float, bounds: tuple[float, float]) -> None:
    out = chances([Arm(plays, plays // 2, *bounds)] * size)
    assert out == pytest.approx(np.full(size, 1.0 / size), abs=1e-9)


@pytest.mark.parametrize("successes", [3, 40, 3000])
def test_two_arms_without_bounds(successes: int) -> None:
    """A finite sum for the chance that Beta(a, b) exceeds Beta(c, d), where a is an integer."""
    first, second = Arm(2 * successes, successes), Arm(3 * successes, successes + 5)
    a, b, c, d = 1 + first.ones, 1 + first.plays - first.ones, 1 + second.ones, 1 + second.plays - second.ones
    i = np.arange(a)
    terms = special.betaln(c + i, b + d) - np.log(b + i) - special.betaln(1 + i, b) - special.betaln(c, d)
    assert chances([first, second])[0] == pytest.approx(np.exp(terms).sum(), abs=1e-10)


# Other quadratures


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Arm(10_000, 7000), Arm(100, 69)),
        (Arm(1e6, 500_000), Arm(1e6, 500_700)),
        (Arm(1e6, 3), Arm(20, 0)),
        (Arm(1e8, 1e8 - 5), Arm(1e3, 1000)),
        (Arm(1e8, 5e7), Arm(1e8, 5e7 + 4000)),
    ],
)
@pytest.mark.parametrize("prior", [(1.0, 1.0), (1.5, 2.25)])
def test_many_plays(first: Arm, second: Arm, prior: tuple[float, float]) -> None:
    one, other = ((prior[0] + arm.ones, prior[1] + arm.plays - arm.ones) for arm in (first, second))
    assert chances([first, second], prior)[0] == pytest.approx(two_chances(one, other), abs=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arms", "prior"),
    [
        ([Arm(40, 13, 0.8, 0.9), Arm(300, 100, 0.79, 0.95), Arm(0, 0, 0.1, 0.85)], (1.3, 1.7)),
        ([Arm(400, 40, 0.9, 1.0), Arm(360, 50, 0.9, 0.99)], (1.0, 1.0)),
        ([Arm(40, 1, 0.0, 0.3), Arm(30, 2, 0.01, 0.2), Arm(10, 0, 0.0, 0.25)], (1.001, 3.5)),
    ],
)
def test_arbitrary_precision(arms: list[Arm], prior: tuple[float, float]) -> None:
    assert chances(arms, prior) == pytest.approx(precise_chances(arms, prior), abs=1e-9)


# Against draws


@compiled
def count_choices(plan_table: Floats, parameters: Floats, state_table: Floats, rounds: int, out: Floats) -> None:
    plan, state = plan_of(plan_table), state_of(state_table)
    for number in range(rounds):
        out[choose_thompson(plan, parameters, state, number, child(np.uint64(20261115), number))] += 1.0


def as_rewarded(arm: Arm, floor: float) -> Arm:
    """The same arm, with rewards of `floor` where it had 0."""
    zeros = arm.plays - arm.ones
    return arm._replace(ones=arm.ones + zeros * floor, squares=arm.ones + zeros * floor**2)


DRAWS: dict[str, tuple[list[Arm], int]] = {
    "bounds": ([Arm(30, 10, 0.2, 0.6), Arm(10, 4, 0.1, 0.9), Arm(0, 0, 0.3, 0.5), Arm(500, 230, 0.4, 0.7)], 1),
    "tails": ([Arm(300, 10, 0.5, 0.6), Arm(1000, 4, 0.49, 0.9), Arm(0, 0, 0.1, 0.502)], 1),
    "points": ([Arm(9, 6, 0.5, 0.5), Arm(0, 0, 0.5, 0.5), Arm(20, 9, 0.1, 0.9), Arm(0, 0, 0.0, 0.4)], 1),
    "ranges": ([Arm(50, 20, -1.0, 2.0, -1.0, 2.0), Arm(10, 4, 0.1, 0.9), Arm(90, 10, 0.0, 5.0, 0.0, 5.0)], 1),
    "many arms": ([Arm(20 + n, 10 + n // 3, 0.01 * n, 1.0 - 0.01 * n) for n in range(12)], 1),
    "two moments": ([as_rewarded(Arm(40, 10, 0.3, 0.9), 0.5), as_rewarded(Arm(30, 6, 0.0, 1.0), 0.6), Arm(4, 2)], 2),
    # The bounds of the first exclude all means that its rewards allow: every draw is its cap.
    "two moments, all clipped": ([as_rewarded(Arm(40, 10, 0.3, 0.45), 0.5), Arm(8, 3), Arm(3, 0, 0.45, 0.45)], 2),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("inverted", [False, True])
def test_a_million_draws(name: str, inverted: bool) -> None:
    """Binomial test per arm. False failures: at most 1e-6 for all arms of all instances together."""
    arms, moments = DRAWS[name]
    limit = 0.5e-6 / sum(len(arms) for arms, _ in DRAWS.values())
    counts = np.zeros(len(arms))
    plan, parameters, state = tables(arms, moments=moments)
    count_choices(plan, np.array([*parameters[:3], False, inverted]), state, 1_000_000, counts)
    for count, chance in zip(counts, chances(arms, moments=moments), strict=True):
        assert stats.binomtest(int(count), 1_000_000, min(1.0, chance)).pvalue > limit


def test_a_clipped_arm_is_a_point() -> None:
    """Two moments, floor 0.5, cap 0.25: the arm is drawn at its cap, and Beta(1, 1) exceeds that with chance 3/4."""
    assert chances([as_rewarded(Arm(40, 10, 0.125, 0.25), 0.5), Arm(0, 0)], moments=2) == pytest.approx([0.25, 0.75])


def test_two_moments_exactly() -> None:
    """Rewards of 1/2 and 1 with two moments are rewards of 0 and 1 on the upper half of the range."""
    half = [as_rewarded(Arm(20, 8, 0.0, 0.875), 0.5), as_rewarded(Arm(12, 4, 0.625, 1.0), 0.5), Arm(0, 0, 0.25, 0.75)]
    same = [Arm(20, 8, 0.5, 0.875, 0.5, 1.0), Arm(12, 4, 0.625, 1.0, 0.5, 1.0), Arm(0, 0, 0.25, 0.75)]
    assert chances(half, moments=2) == pytest.approx(exact_chances(same), abs=1e-10)


@pytest.mark.parametrize("untold", [Arm(0, 0), Arm(3, 3), Arm(0, 0, 0.25, 0.875), Arm(0, 0, 0.75, 1.0)])
def test_an_arm_without_a_floor_takes_one_from_the_others(untold: Arm) -> None:
    """Floors 1/16 and 1/32 below the top beside it: its own is 10/32 below, so it is drawn from above 22/32."""
    others = [as_rewarded(Arm(20, 8), 1 - 1 / 16), as_rewarded(Arm(12, 4), 1 - 1 / 32)]
    moved = [Arm(20, 8, 15 / 16, 1.0, 15 / 16, 1.0), Arm(12, 4, 31 / 32, 1.0, 31 / 32, 1.0)]
    lifted = untold._replace(lower=max(untold.lower, 22 / 32), low=22 / 32)
    assert chances([*others, untold], moments=2) == pytest.approx(exact_chances([*moved, lifted]), abs=1e-10)


def test_a_prior_says_how_low_an_arm_may_be() -> None:
    """With a prior the arm that was not played is drawn from all of its range: Beta(2, 1) against the point 3/4."""
    others = [as_rewarded(Arm(12, 4, 0.75, 0.75), 31 / 32)]
    assert chances([*others, Arm(0, 0)], (2.0, 1.0), moments=2) == pytest.approx([9 / 16, 7 / 16])
    assert chances([*others, Arm(0, 0)], (1.0, 1.0), moments=2) == pytest.approx([1 / 5, 4 / 5])


# Properties


@st.composite
def wild_arms(draw: st.DrawFn) -> Arm:
    """Few or very many plays, any mean, bounds anywhere (one point too), several ranges; rewards between the ends."""
    plays = draw(st.just(0.0) | COUNTS)
    mean = draw(st.sampled_from([0.0, 0.5, 1.0, 1e-6, 1 - 1e-6]) | st.floats(0.0, 1.0))
    low, high = draw(st.sampled_from([*strategies.RANGES, (-1000.0, 0.0)]))
    ends = st.sampled_from([0.0, 1.0, mean]) | st.floats(0.0, 1.0)
    lower, upper = (min(high, low + (high - low) * end) for end in sorted((draw(ends), draw(ends))))
    ones = float(round(plays * mean))
    squares = ones * ones / plays if plays and draw(st.booleans()) else ones
    return Arm(plays, ones, lower, upper, low, high, squares)


MANY = st.lists(wild_arms(), min_size=1, max_size=12)
PRIORS = st.just((1.0, 1.0)) | st.tuples(st.floats(1.0, 20.0), st.floats(1.0, 20.0))


@given(MANY, PRIORS, st.sampled_from([1, 2]), st.randoms(use_true_random=False))
def test_order_of_arms(arms: list[Arm], prior: tuple[float, float], moments: int, rng: np.random.Generator) -> None:
    order = list(range(len(arms)))
    rng.shuffle(order)
    again = chances([arms[k] for k in order], prior, moments)
    assert again == pytest.approx(chances(arms, prior, moments)[order], abs=1e-9)


@given(MANY, PRIORS)
def test_who_cannot_be_largest(arms: list[Arm], prior: tuple[float, float]) -> None:
    out = chances(arms, prior)
    largest = max(arm.lower for arm in arms)
    for arm, chance in zip(arms, out, strict=True):
        assert chance == 0.0 or arm.upper >= largest


@given(MANY, PRIORS, st.data())
def test_one_more_success(arms: list[Arm], prior: tuple[float, float], data: st.DataObject) -> None:
    """A success for a failure raises every draw of an arm, in the sense of likelihood ratios, hence its chance."""
    k = data.draw(st.integers(0, len(arms) - 1))
    better = arms[k]._replace(plays=max(1.0, arms[k].plays), ones=min(arms[k].ones + 1.0, max(1.0, arms[k].plays)))
    worse = better._replace(ones=better.ones - 1.0)
    before = chances([*arms[:k], worse, *arms[k + 1 :]], prior)[k]
    assert chances([*arms[:k], better, *arms[k + 1 :]], prior)[k] >= before - 1e-9


@given(MANY, PRIORS)
def test_an_arm_that_never_wins_changes_nothing(arms: list[Arm], prior: tuple[float, float]) -> None:
    loser = Arm(3, 1, -2000.0, -1500.0, -2000.0, 0.0)
    more = chances([loser, *arms], prior)
    assert more[0] == 0.0
    assert more[1:] == pytest.approx(chances(arms, prior), abs=1e-9)


def test_one_arm() -> None:
    for arm in (Arm(0, 0), Arm(1e8, 3), Arm(5, 2, 0.3, 0.3), Arm(1e8, 0, 0.99, 1.0)):
        assert chances([arm]).tolist() == [1.0]


def test_a_peak_too_narrow_for_floats() -> None:
    """A prior that weighs more than floats can resolve is a point at its mode."""
    assert chances([Arm(0, 0), Arm(0, 0, 0.0, 0.5)], (1e40, 1e40)) == pytest.approx([0.5, 0.5])


def test_floats_that_are_coarse_beside_the_range() -> None:
    """A range of 0.001 at 1000, bounds 1e-11 below its top: rounding put the upper bound above the top."""
    top = 1000.001
    tight = Arm(3295746, 352553, 1000.0009999887873, top, 1000.0, top)
    assert chances([tight, Arm(0, 0)]).tolist() == [1.0, 0.0]


# Ties


@given(st.lists(st.sampled_from([-np.inf, -1.0, 0.0, 0.5, np.inf]) | st.floats(allow_nan=False), min_size=1))
def test_ties(scores: list[float]) -> None:
    out = np.full(len(scores), np.nan)
    index_chances(np.array(scores), out)
    best = [score == max(scores) for score in scores]
    assert out.tolist() == [float(is_best) / sum(best) for is_best in best]
    assert out[argmax(np.array(scores), np.uint64(7), 0)] > 0.0


INDEXED = [policy for policy in naive.TWINS if policy.kernel != textbook.THOMPSON]
CODES = {policy.kernel: policy for policy in INDEXED}


def test_every_kernel_is_covered() -> None:
    assert {*(code % textbook.LOGGED for code in CODES), textbook.THOMPSON} == set(range(10))


@pytest.mark.parametrize("policy", INDEXED, ids=repr)
@pytest.mark.parametrize("rounds", [0, 1, 3, 40])
def test_chances_are_those_of_choose(policy: mb.Policy, rounds: int) -> None:
    """4,000 choices from one state, binomial tests per arm: false failures at most 1e-6 for all states together."""
    limit = 1e-6 / (4 * 5 * len(INDEXED))
    bounds = mb.MeanBounds([0.1, 0.1, 0.1, 0.4, 0.0], [0.9, 0.9, 0.9, 0.4, 0.9])
    plan, parameters, log_f = (
        policy.plan(bounds).table,
        policy.parameters,
        float(policy.log_f(rounds + 1, rounds + 1)[0]),
    )
    state = np.zeros((len(State._fields), 5))
    for t in range(rounds):
        log_now = float(policy.log_f(t + 1, t + 1)[0])
        arm = textbook.choose(policy.kernel, plan, parameters, state, log_now, t, np.uint64(3))
        textbook.observe(state, arm, float(t % 2), float(1 - t % 2), t, np.uint64(5))
    before = state.copy()
    out = np.full(plan.shape[1], np.nan)
    assert textbook.chances(policy.kernel, plan, parameters, state, log_f, out) == 0.0
    assert np.array_equal(state, before)
    counts = np.zeros(5)
    for number in range(4000):
        counts[textbook.choose(policy.kernel, plan, parameters, before.copy(), log_f, number, np.uint64(11))] += 1
    for k, chance in enumerate(out):
        assert stats.binomtest(int(counts[int(plan[0, k])]), 4000, chance).pvalue > limit
    assert counts[plan[0].astype(int)].sum() == 4000


def test_dispatch_to_thompson_sampling() -> None:
    table = tables([Arm(5, 2), Arm(9, 3, 0.1, 0.7)])
    one, other = np.empty(2), np.empty(2)
    error = textbook.chances(textbook.THOMPSON, *table, 1.0, one)
    assert error == thompson_chances(*table, other)
    assert one.tolist() == other.tolist()
