"""Table 1, the lower bound and what becomes of each arm: by hand, as theorems, and against linear programs."""

import itertools
import math

import numpy as np
import pytest

import meanbounds as mb
from meanbounds.known import Known, Seen
from meanbounds.policies import IndexPolicy
from meanbounds.support.types import Floats
from meanbounds.theory import (
    arm_status,
    asymptotic_constant,
    asymptotic_plays,
    bernoulli_kl,
    bernoulli_kl_upper,
    comparison,
    glue_regret,
    lower_bound,
)
from meanbounds.theory.conditions import index_form
from tests.theory.test_finite_time import INSTANCES, random_case

POLICIES: tuple[IndexPolicy, ...] = (mb.UCB(), mb.BUCB(), mb.ImprovedUCB(), mb.GLUE(), mb.KLUCB(), mb.BKLUCB())
LEAST = ("B-KL-UCB", "OSSB", "lower bound")


def constants(means: list[float] | Floats, bounds: mb.MeanBounds) -> dict[str, float]:
    return {row.algorithm: row.constant for row in comparison(means, bounds)}


def test_a_table_by_hand_with_a_large_lower_bound() -> None:
    """Arms a (best, 0.9), b (0.8, explored), c (0.5, meta-pruned: 0.75 < 0.9), d (0.4, pruned: 0.6 < l_max = 0.7).

    Gaps 0.1, 0.4, 0.5. UCB: 2/4 (1/0.1 + 1/0.4 + 1/0.5) = 7.25; printed, without d: 6.25. B-UCB: b alone, 5; b's
    bounds [0.2, 0.93] contain 1/2, so ImprovedUCB has 5 as well. GLUE: b's factor from [max(0.2, 0.7), 0.93] is
    c(0.7) = 0.4 / (2 log(7/3)) = 0.236044595, so 2 * 0.236044595 / 0.1. d(0.8, 0.9) = 0.8 log(8/9) + 0.2 log 2 =
    0.044403008; d(0.5, 0.9) = 0.510825624; d(0.4, 0.9) = 0.750683595. KL-UCB: 0.1 / 0.044403008 +
    0.4 / 0.510825624 + 0.5 / 0.750683595 = 3.70120; printed, without d: 3.03515. The others: 2.25209968.
    """
    bounds, means = mb.MeanBounds([0.7, 0.2, 0.3, 0.1], [0.95, 0.93, 0.75, 0.6]), [0.9, 0.8, 0.5, 0.4]
    expected = {"UCB": 7.25, "B-UCB": 5.0, "ImprovedUCB": 5.0, "KL-UCB": 3.70120, "GLUE": 4.72089189}
    expected |= dict.fromkeys(LEAST, 2.25209968)
    assert constants(means, bounds) == pytest.approx(expected, rel=3e-6)
    printed = {row.algorithm: row.constant for row in comparison(means, bounds, form="paper")}
    del expected["ImprovedUCB"]
    assert printed == pytest.approx(expected | {"UCB": 6.25, "KL-UCB": 3.03515}, rel=3e-6)
    assert [row.algorithm for row in comparison(means, bounds) if not row.meta_prunes] == ["UCB", "KL-UCB"]


def test_orders_that_are_theorems() -> None:
    """Pinsker, Kearns and Saul, and sums over fewer arms; see `comparison`."""
    rng = np.random.default_rng(5)
    orders = (("lower bound", "B-KL-UCB", "GLUE", "ImprovedUCB", "B-UCB", "UCB"), ("OSSB", "KL-UCB", "UCB"))
    for _ in range(300):
        means, bounds = random_case(rng)
        found = constants(means, bounds)
        for less, more in itertools.chain(*map(itertools.pairwise, orders)):
            assert found[less] <= found[more] * (1 + 1e-6)
        assert all(row.constant <= found[row.algorithm] for row in comparison(means, bounds, form="paper"))


def test_corners() -> None:
    """A best mean at the top of its range, ties, ranges that differ; KL-UCB and GLUE are in no order."""
    certain = constants([1.0, 0.5], mb.MeanBounds.vacuous(2))  # d(0.5, 1) is infinite
    assert (certain["KL-UCB"], certain["lower bound"], certain["UCB"]) == (0.0, 0.0, 1.0)
    assert set(constants([0.4, 0.4], mb.MeanBounds.vacuous(2)).values()) == {0.0}
    apart = constants([2.0, 0.5], mb.MeanBounds.vacuous(2, low=0.0, high=[4.0, 1.0]))  # arm 1 cannot reach 2
    assert (apart["KL-UCB"], apart["GLUE"], round(apart["UCB"], 9)) == (0.0, 0.0, round(2 * 0.25 / 1.5, 9))
    nothing = constants([0.9, 0.8], mb.MeanBounds.vacuous(2))
    pruning = constants([0.9, 0.8], mb.MeanBounds([0.0, 0.0], [1.0, 0.85]))
    assert nothing["KL-UCB"] - nothing["GLUE"] < 0.0 == pruning["GLUE"] < pruning["KL-UCB"]


def test_the_finite_bound_comes_down_to_the_constant() -> None:
    """Over log n it falls, slowly: the next term is of order (log n)^(2/3). It never falls below the constant."""
    n = np.array([10**6, 10**9, 10**12, 10**15, 10**18])
    ratio = np.asarray(glue_regret(*INSTANCES[0], n)) / np.log(n) / asymptotic_constant(mb.GLUE(), *INSTANCES[0])
    assert np.all(np.diff(ratio) < 0.0)
    assert 1.0 < ratio[-1] < 5.0


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_theorems_are_about_the_index_that_policies_have(policy: IndexPolicy) -> None:
    rng = np.random.default_rng(6)
    for _ in range(60):
        _, bounds = random_case(rng)
        form, known, size = index_form(policy, bounds), Known.of([mb.Knowledge(bounds)]), len(bounds)
        plays, share, level = np.floor(rng.uniform(1, 50, size)), rng.random(size), rng.random() * 9
        seen = Seen(plays[None], (plays * share)[None], np.zeros((1, size)), np.zeros((1, size)))
        own = bounds.low + (bounds.high - bounds.low) * bernoulli_kl_upper(share, level / plays)
        if form.proxy is not None:
            own = seen.mean(known)[0] + np.sqrt(2 * form.proxy * level / plays)
        expected = np.where(form.kept, np.minimum(form.cap, own), -np.inf)
        np.testing.assert_allclose(policy.index(known, seen, np.array([[level]]))[0], expected, rtol=1e-12, atol=1e-12)


def program(means: list[float], bounds: mb.MeanBounds, steps: int = 12) -> float:
    """Graves and Lai's program: gaps times plays, such that every alternative on a grid is told apart.

    An alternative agrees with the truth in every best arm, and another arm is better than these.
    """
    from scipy.optimize import linprog

    best, rows = max(means), []
    others = np.flatnonzero(np.array(means) < best)
    low, width, truth = bounds.low[others], (bounds.high - bounds.low)[others], np.array(means)[others]
    grids = [[means[k], best + 1e-10, *np.linspace(bounds.lower[k], bounds.upper[k], steps)] for k in others]
    for alternative in itertools.product(*grids):
        if max(alternative) > best and np.all(alternative <= bounds.upper[others]):
            told = bernoulli_kl((truth - low) / width, (np.array(alternative) - low) / width)
            rows.append(-np.minimum(told, 1e6))
    if not rows:
        return 0.0
    return float(linprog(best - truth, A_ub=np.array(rows), b_ub=-np.ones(len(rows))).fun or 0.0)


@pytest.mark.parametrize("seed", range(10))
def test_the_lower_bound_is_the_value_of_its_program(seed: int) -> None:
    rng = np.random.default_rng(seed)
    low, width = rng.choice([0.0, -0.5], 3), rng.choice([1.0, 4.0], 3)
    means = low + width * rng.uniform(0.1, 0.9, 3)
    if seed % 3 == 0:  # two best arms, or two that are equal
        low, width, means = np.full(3, -0.5), np.full(3, 4.0), np.clip(means[[0, 0, 2]], -0.4, 3.4)
    lower, upper = means - rng.uniform(0, 0.3, 3) * width, means + rng.uniform(0, 0.6, 3) * width
    bounds = mb.MeanBounds(lower.clip(low), upper.clip(None, low + width), low=low, high=low + width)
    assert lower_bound(means, bounds) == pytest.approx(program(means.tolist(), bounds), rel=1e-5, abs=1e-12)


def test_an_upper_bound_at_the_best_mean_leaves_no_alternative() -> None:
    """The printed K_2(0), and with it B-KL-UCB's constant, has a term for arm 1; the program has none."""
    means, bounds = [0.5, 0.25, 0.25], mb.MeanBounds([0.0, 0.0, 0.0], [1.0, 0.5, 0.75])
    one = 0.25 / (0.25 * math.log(0.5) + 0.75 * math.log(1.5))
    found = (lower_bound(means, bounds), program(means, bounds), asymptotic_constant(mb.BKLUCB(), means, bounds))
    assert found == pytest.approx((one, one, 2 * one), rel=1e-6)


def test_what_becomes_of_each_arm() -> None:
    rng = np.random.default_rng(7)
    for _ in range(100):
        means, bounds = random_case(rng)
        often, rarely = asymptotic_plays(mb.GLUE(), means, bounds), bounds.meta_pruned(float(means.max()))
        for k, status in enumerate(arm_status(means, bounds)):
            other = "best" if means[k] == means.max() else "meta-pruned" if rarely[k] else "explored"
            assert status.kind == (other if bounds.possible[k] else "pruned")
            assert status.kind == "explored" or often[k] == 0.0
    assert "at most 1,121 times in expectation" in arm_status(*INSTANCES[0])[2].reason


def test_a_table_by_hand_with_low_rewards_in_another_range() -> None:
    """Rewards on [1, 5], with shares 0.25, 0.2, 0.1 of the span; all bounds below the middle, all caps above the best.

    UCB: 2 * 4 (1/0.2 + 1/0.6). c(0.35) = 0.3 / (2 log(13/7)) = 0.242310997, c(0.3) = 0.236044595: for GLUE
    32 (0.242310997 / 0.2 + 0.236044595 / 0.6). d(0.2, 0.25) = 0.007002107, d(0.1, 0.25) = 0.072460328: the others.
    """
    bounds = mb.MeanBounds([1.2, 1.2, 1.0], [2.6, 2.4, 2.2], low=1.0, high=5.0)
    expected = {"UCB": 53.3333333, "B-UCB": 53.3333333, "ImprovedUCB": 51.3588047, "GLUE": 51.3588047}
    expected |= dict.fromkeys(("KL-UCB", *LEAST), 36.8432)
    assert constants([2.0, 1.8, 1.4], bounds) == pytest.approx(expected, rel=3e-6)
