"""Theorem 6 and Corollary 6.1 after n rounds: against the printed symbols, exact lemmas and simulated runs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats

import meanbounds as mb
from meanbounds.known import Known, Seen
from meanbounds.policies import Policy
from meanbounds.policies.base import choose
from meanbounds.support.streams import Draws, stream
from meanbounds.support.types import Floats
from meanbounds.theory import glue_plays, glue_regret, uncertain_regret, variance_proxy

POLICIES = (mb.UCB(), mb.BUCB(), mb.ImprovedUCB(), mb.GLUE())
FIVE = [0.9, 0.8, 0.7, 0.6, 0.5]
BOUNDS = mb.MeanBounds([0.85, 0.4, 0.3, 0.2, 0.1], [0.98, 0.97, 0.87, 0.895, 0.6])
NAMES = ["high lower bound", "meta-pruned", "low rewards", "loose cap on a worse arm", "own ranges"]
INSTANCES: list[tuple[list[float], mb.MeanBounds]] = [
    (FIVE, mb.MeanBounds([0.85, 0.4, 0.3, 0.2, 0.1], [0.98, 0.97, 0.87, 0.95, 0.93])),
    ([0.7, 0.2, 0.5], mb.MeanBounds([0.35, 0.0, 0.2], [0.95, 0.5, 0.9])),
    ([0.2, 0.02], mb.MeanBounds([0.05, 0.0], [0.3, 0.25])),
    ([0.85, 0.80], mb.MeanBounds([0.84, 0.79], [0.86, 0.90])),
    ([4.0, 0.5, -0.1], mb.MeanBounds([3.5, 0.0, -0.5], [4.9, 4.4, 4.4], low=[1.0, 0.0, -0.5], high=[5.0, 4.5, 4.5])),
]


def proxy(m: float) -> float:
    """Variance proxy on [0, 1], in plain Python."""
    return 0.25 if m == 0.5 else (1.0 - 2.0 * m) / (2.0 * math.log((1.0 - m) / m))


def random_case(rng: np.random.Generator) -> tuple[Floats, mb.MeanBounds]:
    """Means at the ends, in the middle or anywhere, bounds from exact to vacuous, one range or several."""
    size = int(rng.integers(1, 7))
    ranges = np.array([(0.0, 1.0), (-1.0, 0.0), (0.0, 2.5), (1.0, 5.0)])
    low, high = ranges[rng.integers(4, size=size) if rng.random() < 0.5 else np.zeros(size, dtype=int)].T
    means = low + (high - low) * np.where(
        rng.random(size) < 0.4, rng.choice([0.0, 0.1, 0.5, 0.9, 1.0], size), rng.random(size)
    )
    slack = np.where(rng.random((2, size)) < 0.5, rng.choice([0.0, 0.05, 2.0], (2, size)), rng.random((2, size)))
    lower, upper = means - slack[0] * (high - low), means + slack[1] * (high - low)
    return means, mb.MeanBounds(lower.clip(low, means), upper.clip(means, high), low=low, high=high)


def simulate(policy: Policy, means: Any, bounds: mb.MeanBounds, horizon: int, runs: int, seed: int) -> Floats:
    """Plays of each arm in each run, after each round; rewards lie at the ends of their range."""
    known, seen = Known.of([mb.Knowledge(bounds)]), Seen.empty(runs, len(bounds))
    rng, rows, keys = np.random.default_rng(seed), np.arange(runs), stream(seed, np.arange(runs), "policy")
    share, cache = (np.asarray(means) - bounds.low) / (bounds.high - bounds.low), dict[str, Any]()
    plays = np.empty((horizon, runs, len(bounds)))
    for t in range(1, horizon + 1):
        arms = choose(policy, known, seen, np.array([float(t)]), Draws(keys, t - 1), cache)
        seen.add(rows, arms, np.where(rng.random(runs) < share[arms], 1.0, 0.0), np.zeros(runs))
        plays[t - 1] = seen.plays
    return plays


class TestThePrintedForm:
    def printed(self, n: int, delta: float) -> float:
        """R_n(delta) of Theorem 6, symbol by symbol; arm 5 is pruned."""
        psi, log_f = proxy(0.85), math.log(1 + n * math.log(n) ** 2)
        total = 0.0
        for k in (1, 2, 3):
            gap, beyond = 0.9 - FIVE[k], 0.9 - float(BOUNDS.upper[k])
            if beyond > delta:
                total += 5 * psi * gap / max(delta, beyond) ** 2
                continue
            g = psi * log_f + math.sqrt(psi * 0.25 * math.pi * log_f) + 0.25
            root = (20 * psi) ** (1 / 3)
            h = (root * g ** (2 / 3) * (1 + root) + 3 * g ** (1 / 3) * (5 * math.sqrt(2) * psi) ** (2 / 3)) / gap**2
            total += gap * (1 + 5 * psi / gap**2 + 2 * g / gap**2 + h)
        return total

    @pytest.mark.parametrize("n", [1_000, 10**6, 10**12])
    def test_is_the_infimum_over_a_common_delta(self, n: int) -> None:
        grid = [self.printed(n, delta) for delta in np.geomspace(1e-6, 1.0, 2_000)]
        assert glue_regret(FIVE, BOUNDS, n, form="paper") == pytest.approx(min(grid), rel=1e-9)
        assert len({round(value, 9) for value in grid}) == 3  # arms 3 and 4 change sides at 0.03 and at 0.005

    def test_one_delta_for_all_arms_is_worse_than_one_for_each(self) -> None:
        """Arm 1 (gap 0.06, cap 0.05 below the best mean) is better meta-pruned, arm 2 (gap 0.5, cap 0.06 below) not."""
        means, lower, upper = np.array([0.9, 0.84, 0.4]), np.array([0.6, 0.1, 0.1]), np.array([1.0, 0.85, 0.84])

        def printed(*arms: int) -> float:
            some = list(arms)
            return glue_regret(means[some], mb.MeanBounds(lower[some], upper[some]), 10**6, form="paper")

        assert printed(0, 1) + printed(0, 2) < 0.99 * printed(0, 1, 2)
        assert glue_regret(means, mb.MeanBounds(lower, upper), 10**6) < printed(0, 1, 2)

    @pytest.mark.parametrize(
        ("means", "bounds", "policy", "n", "values"),
        [
            # Rewards in ranges of width 0.1, so all factors are 0.0025; gap 0.3: 4.56 plays where the bound is 5.69.
            ([0.35, 0.05], mb.MeanBounds.vacuous(2, low=[0.3, 0.0], high=[0.4, 0.1]), mb.UCB(), 10**6, (4.56, 5.69)),
            ([0.9, 0.8], mb.MeanBounds([0.85, 0.4], [0.98, 0.97]), mb.GLUE(), 10**6, (3291.15, 3501.65)),
        ],
    )
    def test_is_below_the_bound_that_it_comes_from(
        self, means: list[float], bounds: mb.MeanBounds, policy: Policy, n: int, values: tuple[float, float]
    ) -> None:
        """The infimum over epsilon by a numerical search; the corrected form has it, and one play more."""
        lead, own = (float(bounds.best_variance_proxy[k]) for k in (0, 1))
        sigma = float(variance_proxy(means[1], low=bounds.low[1], high=bounds.high[1]))
        for printed in (False, True):
            log_f, noise = math.log(1 + n * math.log(n) ** 2), float(bounds.variance_proxy[1]) if printed else sigma
            g, gap = own * log_f + math.sqrt(math.pi * own * noise * log_f) + noise, means[0] - means[1]
            bound = optimize.minimize_scalar(
                lambda e, g=g, gap=gap: 1 + 5 * lead / e**2 + 2 * g / (gap - e) ** 2,
                bounds=(0, gap),
                method="bounded",
                options={"xatol": 1e-9},
            ).fun
            if not printed:
                assert glue_plays(means, bounds, n, policy=policy)[1] == pytest.approx(1 + bound, rel=1e-9)
        found = glue_plays(means, bounds, n, policy=policy, form="paper")[1]
        assert (found, bound) == pytest.approx(values, abs=0.005)


class TestTheProof:
    def test_the_sum_of_1_over_f(self) -> None:
        """It is at most 5/2: the terms up to N, and the integral of 1 / (t log(t)^2) from there on, 1 / log N."""
        t = np.arange(1.0, 100_001.0)
        assert 2.2 < np.sum(1.0 / (1.0 + t * np.log(t) ** 2)) + 1.0 / math.log(t[-1]) < 2.5

    @pytest.mark.parametrize(("mean", "epsilon"), [(0.9, 0.1), (0.5, 0.2), (0.97, 0.05)])
    def test_how_often_the_best_arm_looks_bad(self, mean: float, epsilon: float) -> None:
        """The sum over r of P(index of r rewards in round t <= mean - epsilon), exactly, and its limit."""
        t, r = np.arange(1.0, 60.0)[:, None], np.arange(1.0, 4_000.0)
        f = 1 + t * np.log(t) ** 2
        most = np.floor(r * (mean - epsilon - np.sqrt(2 * proxy(mean) * np.log(f) / r)) + 1e-9)
        exact = np.asarray(stats.binom.cdf(most, r, mean)).sum(axis=1)
        limit = 2 * proxy(mean) / epsilon**2 / f[:, 0]
        assert np.all(exact <= limit)
        assert exact.sum() > 0.02 * limit.sum()

    @pytest.mark.parametrize("mean", [0.1, 0.5, 0.85])
    @pytest.mark.parametrize(("a", "gap"), [(0.5, 0.3), (2.0, 0.5), (0.05, 0.1), (5.0, 0.9)])
    def test_how_often_an_arm_looks_good(self, mean: float, a: float, gap: float) -> None:
        """E #{r: average of r rewards + sqrt(2 a / r) >= mean + gap}, exactly, against Lemma 8.2 as restated."""
        r = np.arange(1, 8_000)
        least = np.ceil(r * (mean + gap) - np.sqrt(2 * a * r) - 1e-9)
        exact = np.asarray(stats.binom.sf(least - 1, r, mean)).sum()
        sigma = proxy(mean)
        limit = 1 + 2 / gap**2 * (a + math.sqrt(math.pi * sigma * a) + sigma)
        assert 2 * a / gap**2 * 0.8 < exact <= limit

    @pytest.mark.parametrize("case", range(len(INSTANCES)), ids=NAMES)
    @pytest.mark.parametrize("policy", POLICIES, ids=str)
    def test_simulated_plays_and_regret(self, policy: Policy, case: int) -> None:
        """By Hoeffding the average of N runs passes a true bound by n sqrt(log(1/p) / 2N) with probability p = 1e-9.

        There are 240 comparisons, so a false failure has probability below 1e-6; seeds are fixed.
        """
        means, bounds = INSTANCES[case]
        horizon, runs = 3_000, 250
        plays = simulate(policy, means, bounds, horizon, runs, seed=case)
        n = np.array([100, 1_000, horizon])
        slack = n * math.sqrt(math.log(1e9) / (2 * runs))
        limit = glue_plays(means, bounds, n, policy=policy)
        assert np.all(plays[n - 1].mean(axis=1) <= limit + slack[:, None])
        gaps = max(means) - np.array(means)
        assert np.all(
            plays[n - 1].mean(axis=1) @ gaps <= glue_regret(means, bounds, n, policy=policy) + gaps.max() * slack
        )
        if policy.uses_bounds:
            assert not plays[..., ~bounds.possible].any()


class TestGlue:
    def test_many_horizons_at_once_on_random_instances(self) -> None:
        rng, rounds = np.random.default_rng(3), [1, 7, 1_000, 10**9]
        for _ in range(150):
            means, bounds = random_case(rng)
            for form in ("corrected", "paper"):
                plays = glue_plays(means, bounds, rounds, form=form)
                regret = np.asarray(glue_regret(means, bounds, rounds, form=form))
                for n, row, value in zip(rounds, plays, regret, strict=True):
                    np.testing.assert_array_equal(row, glue_plays(means, bounds, n, form=form))
                    assert value == pytest.approx(glue_regret(means, bounds, n, form=form), rel=1e-12)
                assert not plays[:, ~bounds.possible].any()
                assert form == "paper" or np.all(np.diff(plays, axis=0) >= 0.0)

    def test_the_bound_is_never_above_that_of_ucb_but_the_regret_can_be(self) -> None:
        """The abstract claims the first, and it holds; the conclusion says the second cannot be."""
        rng, n = np.random.default_rng(4), [10, 10**4, 10**8]
        for _ in range(200):
            means, bounds = random_case(rng)
            if np.sum(means == means.max()) == 1:
                ours, theirs = (np.asarray(glue_regret(means, bounds, n, policy=p)) for p in (mb.GLUE(), mb.UCB()))
                assert np.all(ours <= theirs * (1 + 1e-9))
        glue, ucb = (0.05 * simulate(p, *INSTANCES[3], 1_000, 100, seed=9)[-1, :, 1] for p in (mb.GLUE(), mb.UCB()))
        assert 13 < ucb.mean() < 17 < 40 < glue.mean() < 50  # 15.0 and 44.6 in many runs; standard errors 0.5 and 0.9

    def test_of_several_best_arms_the_best_known_one_counts(self) -> None:
        """Arm 1 alone would give the factor 1/4; arm 0, known to be at least 0.85, a smaller one."""
        alone = glue_plays([0.9, 0.8], mb.MeanBounds([0.85, 0.0], [1.0, 1.0]), 10**6, policy=mb.ImprovedUCB())
        both = mb.MeanBounds([0.85, 0.0, 0.0], [1.0, 1.0, 1.0])
        tied = glue_plays([0.9, 0.8, 0.9], both, 10**6, policy=mb.ImprovedUCB())
        assert tied.tolist() == [10**6, alone[1], 10**6]

    def test_a_policy_that_ignores_bounds_does_not_need_them_to_hold(self) -> None:
        wrong, vacuous = mb.MeanBounds([0.0, 0.5], [0.4, 0.6]), mb.MeanBounds.vacuous(2)
        found = [glue_regret([0.9, 0.1], bounds, 100, policy=mb.UCB()) for bounds in (wrong, vacuous)]
        assert found[0] == found[1]

    @pytest.mark.parametrize(
        ("arguments", "options", "words"),
        [
            (([0.9, 0.8], 10), {"form": "printed"}, "form must be one of 'corrected', 'paper'; got 'printed'"),
            (([0.9, 0.8], [10, 0]), {}, "horizon must be a whole number"),
            (([0.9, 0.8], 10.5), {}, "horizon must be a whole number"),
            (([0.9], 10), {}, "got 1 means for 2 arms"),
            (([0.9, 1.8], 10), {}, "arm 1: its mean 1.8 is outside its bounds"),
            (([0.9, 0.8], 10), {"policy": mb.GLUE(f="t")}, "with f = 1"),
            (([0.9, 0.8], 10), {"policy": mb.KLUCB()}, "the theorem is for UCB, BUCB, ImprovedUCB and GLUE"),
            (([0.9, 0.8], 10), {"policy": mb.GLUE}, r"did you mean GLUE\(\)\?"),
        ],
    )
    def test_wrong_input_is_named(self, arguments: tuple[Any, Any], options: dict[str, Any], words: str) -> None:
        with pytest.raises(ValueError, match=words):
            glue_regret(arguments[0], mb.MeanBounds.vacuous(2), arguments[1], **options)


class TestUncertain:
    def test_the_printed_extra_is_too_small_on_another_range(self) -> None:
        """Means 10 and 0 on [0, 10]. With probability 0.1 the bounds of arm 0 are [0, 0]: it is pruned, at 10 a round.

        E[R] = 0.1 * 10 n, since bounds that hold prune arm 1. The printed bound is 0 + 0.1 n: a tenth of what it must
        be. If the sum is taken over the arms left after pruning, as printed, it does not even count arm 0 there.
        """
        means, n = [10.0, 0.0], 200
        right = mb.MeanBounds([10.0, 0.0], [10.0, 5.0], low=0.0, high=10.0)
        wrong = mb.MeanBounds([0.0, 1.0], [0.0, 5.0], low=0.0, high=10.0)
        assert wrong.possible.tolist() == [False, True]
        lost, kept = (simulate(mb.GLUE(), means, bounds, n, 3, seed=1)[-1] for bounds in (wrong, right))
        assert lost.tolist() == [[0, n]] * 3
        assert kept.tolist() == [[n, 0]] * 3
        theorem = glue_regret(means, right, n)
        assert theorem + n * 0.1 < 0.1 * 10.0 * n == uncertain_regret(theorem, [0.1, 0.0], n, width=10.0)

    def test_never_more_than_everything(self) -> None:
        assert uncertain_regret(50.0, [0.7, 0.7], 100) == 100.0
        assert uncertain_regret(50.0, 0.0, 100) == 50.0
        np.testing.assert_allclose(uncertain_regret(np.array([5.0, 6.0]), 0.01, [100, 200], width=2.0), [7.0, 10.0])

    @pytest.mark.parametrize(
        ("bound", "failure", "width", "words"),
        [
            (1.0, [0.5, 1.5], 1.0, "failure must be probabilities"),
            (1.0, 0.5, -1.0, "width must be a finite number"),
            (-1.0, 0.5, 1.0, "regret_bound must not be negative"),
        ],
    )
    def test_wrong_input_is_named(self, bound: float, failure: Any, width: float, words: str) -> None:
        with pytest.raises(ValueError, match=words):
            uncertain_regret(bound, failure, 10, width=width)
