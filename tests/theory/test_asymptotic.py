"""Table 1, the lower bound and the fates of arms: by hand, as theorems, and against linear programs."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from test_finite_time import INSTANCES, random_case

import meanbounds as mb
from meanbounds.known import Known, Seen
from meanbounds.policies import IndexPolicy
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

POLICIES: tuple[IndexPolicy, ...] = (mb.UCB(), mb.BUCB(), mb.ImprovedUCB(), mb.GLUE(), mb.KLUCB(), mb.BKLUCB())


def constants(means: object, bounds: mb.MeanBounds, form: str = "corrected") -> dict[str, float]:
    rows = comparison(means, bounds, form=form)  # type: ignore[arg-type]
    return {row.algorithm: row.constant for row in rows}


class TestTable:
    def test_by_hand_with_a_large_lower_bound(self) -> None:
        """Arms a (best, 0.9), b (0.8, explored), c (0.5, meta-pruned: 0.75 < 0.9), d (0.4, pruned: 0.6 < l_max = 0.7).

        Gaps 0.1, 0.4, 0.5. UCB: 2/4 (1/0.1 + 1/0.4 + 1/0.5) = 7.25; printed, without d: 6.25. B-UCB: b alone, 5; b's
        bounds [0.2, 0.93] contain 1/2, so ImprovedUCB has 5 as well. GLUE: b's factor from [max(0.2, 0.7), 0.93] is
        c(0.7) = 0.4 / (2 log(7/3)) = 0.236044595, so 2 * 0.236044595 / 0.1. d(0.8, 0.9) = 0.8 log(8/9) + 0.2 log 2 =
        0.044403008; d(0.5, 0.9) = 0.510825624; d(0.4, 0.9) = 0.750683595. KL-UCB: 0.1 / 0.044403008 +
        0.4 / 0.510825624 + 0.5 / 0.750683595 = 3.70120; printed, without d: 3.03515. The others: 2.25209968.
        """
        bounds, means = mb.MeanBounds([0.7, 0.2, 0.3, 0.1], [0.95, 0.93, 0.75, 0.6]), [0.9, 0.8, 0.5, 0.4]
        expected = {"UCB": 7.25, "B-UCB": 5.0, "ImprovedUCB": 5.0, "KL-UCB": 3.70120, "GLUE": 4.72089189}
        expected |= dict.fromkeys(("B-KL-UCB", "OSSB", "lower bound"), 2.25209968)
        found, printed = constants(means, bounds), constants(means, bounds, "paper")
        assert found == pytest.approx(expected, rel=3e-6)
        expected |= {"UCB": 6.25, "KL-UCB": 3.03515}
        assert printed == pytest.approx({name: expected[name] for name in expected if name != "ImprovedUCB"}, rel=3e-6)
        assert [row.algorithm for row in comparison(means, bounds) if not row.meta_prunes] == ["UCB", "KL-UCB"]

    def test_by_hand_with_low_rewards_in_another_range(self) -> None:
        """Rewards on [1, 5]: means 0.25, 0.2, 0.1 in units of the range, gaps 0.2, 0.6; all bounds below the middle.

        UCB and B-UCB: 2 * 4 (1/0.2 + 1/0.6). c(0.35) = 0.242310997, c(0.3) = 0.236044595: ImprovedUCB and GLUE have
        2 * 16 * (0.242310997 / 0.2 + 0.236044595 / 0.6). d(0.2, 0.25) = 0.007002107, d(0.1, 0.25) = 0.072460328.
        """
        found = constants([2.0, 1.8, 1.4], mb.MeanBounds([1.2, 1.2, 1.0], [2.6, 2.4, 2.2], low=1.0, high=5.0))
        expected = {"UCB": 53.3333333, "B-UCB": 53.3333333, "ImprovedUCB": 51.3588047, "GLUE": 51.3588047}
        expected |= dict.fromkeys(("KL-UCB", "B-KL-UCB", "OSSB", "lower bound"), 0.2 / 0.007002107 + 0.6 / 0.072460328)
        assert found == pytest.approx(expected, rel=3e-6)

    def test_orders_that_are_theorems(self) -> None:
        """Pinsker, Kearns and Saul, and sums over fewer arms; see `comparison`."""
        rng = np.random.default_rng(5)
        for _ in range(300):
            means, bounds = random_case(rng)
            found, printed = constants(means, bounds), constants(means, bounds, "paper")
            for order in (
                ("lower bound", "B-KL-UCB", "GLUE", "ImprovedUCB", "B-UCB", "UCB"),
                ("OSSB", "KL-UCB", "UCB"),
            ):
                for less, more in itertools.pairwise(order):
                    assert found[less] <= found[more] * (1 + 1e-6)
            assert found["OSSB"] == found["B-KL-UCB"]
            assert all(printed[name] <= found[name] for name in printed)

    def test_corners(self) -> None:
        """A best mean at the top of its range, ties, ranges that differ, and KL-UCB and GLUE in no order."""
        certain = constants([1.0, 0.5], mb.MeanBounds.vacuous(2))  # d(0.5, 1) is infinite
        assert (certain["KL-UCB"], certain["lower bound"], certain["UCB"]) == (0.0, 0.0, 1.0)
        assert set(constants([0.4, 0.4], mb.MeanBounds.vacuous(2)).values()) == {0.0}
        apart = constants([2.0, 0.5], mb.MeanBounds.vacuous(2, low=0.0, high=[4.0, 1.0]))  # arm 1 cannot reach 2
        assert apart["KL-UCB"] == apart["GLUE"] == 0.0
        assert apart["UCB"] == pytest.approx(2 * 0.25 / 1.5)
        nothing = constants([0.9, 0.8], mb.MeanBounds.vacuous(2))
        pruning = constants([0.9, 0.8], mb.MeanBounds([0.0, 0.0], [1.0, 0.85]))
        assert nothing["KL-UCB"] < nothing["GLUE"]
        assert pruning["GLUE"] == 0.0 < pruning["KL-UCB"]

    def test_the_finite_bound_comes_down_to_the_constant(self) -> None:
        """Over log n it falls, slowly: the next term is of order (log n)^(2/3). It never falls below the constant."""
        n = np.array([10**6, 10**9, 10**12, 10**15, 10**18])
        ratio = np.asarray(glue_regret(*INSTANCES[0], n)) / np.log(n) / asymptotic_constant(mb.GLUE(), *INSTANCES[0])
        assert np.all(np.diff(ratio) < 0.0)
        assert 1.0 < ratio[-1] < 5.0

    def test_no_theorem_no_constant(self) -> None:
        for policy in (mb.GLUE(f="t"), mb.GLUE, "GLUE"):
            with pytest.raises(ValueError, match=r"no theorem is known for it|the theorem is for f ="):
                asymptotic_constant(policy, [0.9, 0.8], mb.MeanBounds.vacuous(2))  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="bounds must be MeanBounds"):
            lower_bound([0.9], [0.5])  # type: ignore[arg-type]


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_theorems_are_about_the_index_that_policies_have(policy: IndexPolicy) -> None:
    rng = np.random.default_rng(6)
    for _ in range(60):
        _, bounds = random_case(rng)
        form, known, size = index_form(policy, bounds), Known.of([mb.Knowledge(bounds)]), len(bounds)
        plays, share, level = np.floor(rng.uniform(1, 50, size)), rng.random(size), rng.random() * 9
        seen = Seen(plays[None], (plays * share)[None], np.zeros((1, size)), np.zeros((1, size)))
        index, width = policy.index(known, seen, np.array([[level]]))[0], bounds.high - bounds.low
        if form.proxy is not None:
            own = seen.mean(known)[0] + np.sqrt(2 * form.proxy * level / plays)
        else:
            own = bounds.low + width * bernoulli_kl_upper(share, level / plays)
        np.testing.assert_allclose(
            index, np.where(form.kept, np.minimum(form.cap, own), -np.inf), rtol=1e-12, atol=1e-12
        )


class TestLowerBound:
    @staticmethod
    def program(means: list[float], bounds: mb.MeanBounds, steps: int = 12) -> float:
        """Graves and Lai's program: gaps times plays, such that every alternative on a grid is told apart.

        An alternative agrees with the truth in every best arm, and another arm is better than these.
        """
        from scipy.optimize import linprog

        best, rows = max(means), []
        others = [k for k, mean in enumerate(means) if mean < best]
        grids = [
            [means[k], best + 1e-10, *np.linspace(bounds.lower[k], bounds.upper[k], steps).tolist()] for k in others
        ]
        for alternative in itertools.product(
            *([x for x in grid if x <= bounds.upper[k]] for k, grid in zip(others, grids, strict=True))
        ):
            if max(alternative) > best:
                low, width = bounds.low[others], (bounds.high - bounds.low)[others]
                shares = [(np.array(x) - low) / width for x in ([means[k] for k in others], alternative)]
                rows.append(-np.minimum(bernoulli_kl(*shares), 1e6))
        if not rows:
            return 0.0
        solved = linprog([best - means[k] for k in others], A_ub=np.array(rows), b_ub=-np.ones(len(rows)))
        return float(solved.fun or 0.0)

    @pytest.mark.parametrize("seed", range(10))
    def test_is_the_value_of_the_program(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        low, width = rng.choice([0.0, -0.5], 3), rng.choice([1.0, 4.0], 3)
        means = low + width * rng.uniform(0.1, 0.9, 3)
        if seed % 3 == 0:  # two best arms, or two that are equal
            low, width, means = np.full(3, -0.5), np.full(3, 4.0), np.clip(means[[0, 0, 2]], -0.4, 3.4)
        lower, upper = means - rng.uniform(0, 0.3, 3) * width, means + rng.uniform(0, 0.6, 3) * width
        bounds = mb.MeanBounds(lower.clip(low), upper.clip(None, low + width), low=low, high=low + width)
        assert lower_bound(means, bounds) == pytest.approx(self.program(means.tolist(), bounds), rel=1e-5, abs=1e-12)

    def test_an_upper_bound_at_the_best_mean_leaves_no_alternative(self) -> None:
        """The printed K_2(0), and with it B-KL-UCB's constant, has a term for arm 1; the program has none."""
        means, bounds = [0.5, 0.25, 0.25], mb.MeanBounds([0.0, 0.0, 0.0], [1.0, 0.5, 0.75])
        one = 0.25 / (0.25 * math.log(0.5) + 0.75 * math.log(1.5))
        assert lower_bound(means, bounds) == pytest.approx(one)
        assert self.program(means, bounds) == pytest.approx(one, rel=1e-6)
        assert asymptotic_constant(mb.BKLUCB(), means, bounds) == pytest.approx(2 * one)


def test_fates_say_what_the_numbers_say() -> None:
    rng = np.random.default_rng(7)
    for _ in range(100):
        means, bounds = random_case(rng)
        often = asymptotic_plays(mb.GLUE(), means, bounds)
        for k, status in enumerate(arm_status(means, bounds)):
            kinds = {
                "pruned": not bounds.possible[k],
                "best": bounds.possible[k] and means[k] == means.max(),
                "meta-pruned": bounds.meta_pruned(float(means.max()))[k],
            }
            assert status.kind == next((kind for kind, holds in kinds.items() if holds), "explored")
            assert status.kind == "explored" or often[k] == 0.0
    third = arm_status(*INSTANCES[0])[2]
    assert third.kind == "meta-pruned"
    assert "at most 1,121 times in expectation" in third.reason
