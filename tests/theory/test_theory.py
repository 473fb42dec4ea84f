"""The theorems as functions, against values computed by hand, independent programs and simulations."""

from __future__ import annotations

import itertools
import math
import warnings
from typing import Any, ClassVar, cast

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import optimize, stats

import meanbounds as mb
from meanbounds.kernels import linear as kernel
from meanbounds.policies.oful import LinearPlan
from meanbounds.theory.oful import _weights, largest_regret, sum_of_widths
from tests.naive_linear import random_instance
from tests.strategies import Case, cases

Floats = NDArray[np.float64]
RARE = 1e-6  # probability of a false failure of each exact test, were the seed drawn anew


def kl(p: float, q: float) -> float:
    """Divergence of two-point laws, in plain Python."""
    parts = ((p, q), (1.0 - p, 1.0 - q))
    return sum(a * math.log(a / b) if b > 0.0 else math.inf for a, b in parts if a > 0.0)


def proxy(m: float) -> float:
    """Variance proxy on [0, 1], in plain Python."""
    return 0.25 if m == 0.5 else (1.0 - 2.0 * m) / (2.0 * math.log((1.0 - m) / m))


def means_of(case: Case) -> Floats:
    """The means, without the rounding errors by which those of a table of values can leave exact bounds."""
    return np.clip(case.environment.means, case.bounds.lower, case.bounds.upper)


class TestGlue:
    MEANS = (0.9, 0.8, 0.7, 0.6, 0.5)
    BOUNDS = mb.MeanBounds([0.85, 0.4, 0.3, 0.2, 0.1], [0.98, 0.97, 0.87, 0.895, 0.6])

    def printed(self, n: int, delta: float) -> float:
        """R_n(delta) of Theorem 6, symbol by symbol; arm 5 is pruned."""
        psi, log_f = proxy(0.85), math.log(1 + n * math.log(n) ** 2)
        sigma = {1: proxy(0.5), 2: proxy(0.5), 3: proxy(0.5)}
        total = 0.0
        for k in (1, 2, 3):
            gap, beyond = 0.9 - self.MEANS[k], 0.9 - float(self.BOUNDS.upper[k])
            if beyond > delta:
                total += 5 * psi * gap / max(delta, beyond) ** 2
                continue
            g = psi * log_f + math.sqrt(psi * sigma[k] * math.pi * log_f) + sigma[k]
            root = (20 * psi) ** (1 / 3)
            h = (root * g ** (2 / 3) * (1 + root) + 3 * g ** (1 / 3) * (5 * math.sqrt(2) * psi) ** (2 / 3)) / gap**2
            total += gap * (1 + 5 * psi / gap**2 + 2 * g / gap**2 + h)
        return total

    @pytest.mark.parametrize("n", [1_000, 10**6, 10**12])
    def test_the_printed_form_is_the_infimum_over_a_common_delta(self, n: int) -> None:
        grid = [self.printed(n, delta) for delta in np.geomspace(1e-6, 1.0, 2_000)]
        found = mb.theory.glue_regret(self.MEANS, self.BOUNDS, n, form="paper")
        assert found == pytest.approx(min(grid), rel=1e-9)
        assert len({round(value, 9) for value in grid}) == 3  # arms 3 and 4 change sides at 0.03 and at 0.005

    def test_one_delta_for_all_arms_is_worse_than_one_for_each(self) -> None:
        """Arm 1 (gap 0.06, cap 0.05 below the best mean) is better meta-pruned, arm 2 (gap 0.5, cap 0.06 below) live.

        One delta cannot do both. Alone with the best arm each has the delta it needs.
        """
        means, lower, upper = np.array([0.9, 0.84, 0.4]), np.array([0.6, 0.1, 0.1]), np.array([1.0, 0.85, 0.84])
        n = 10**6

        def printed(*arms: int) -> float:
            some = list(arms)
            return mb.theory.glue_regret(means[some], mb.MeanBounds(lower[some], upper[some]), n, form="paper")

        assert printed(0, 1) + printed(0, 2) < 0.99 * printed(0, 1, 2)
        assert mb.theory.glue_regret(means, mb.MeanBounds(lower, upper), n) < printed(0, 1, 2)

    def test_the_printed_form_is_too_small(self) -> None:
        """One suboptimal arm, live: the printed bound is below what its own proof gives."""
        bounds = mb.MeanBounds([0.85, 0.4], [0.98, 0.97])
        n = 10**6
        psi, log_f = proxy(0.85), math.log(1 + n * math.log(n) ** 2)
        g = psi * log_f + math.sqrt(psi * 0.25 * math.pi * log_f) + 0.25
        epsilon = np.linspace(0, 0.1, 100_001)[1:-1]
        own_proof = 0.1 * (1 + (5 * psi / epsilon**2 + 2 * g / (0.1 - epsilon) ** 2).min())
        assert mb.theory.glue_regret([0.9, 0.8], bounds, n, form="paper") < 0.95 * own_proof

    @given(cases(), st.sampled_from(["corrected", "paper"]))
    def test_many_horizons_at_once(self, case: Case, form: Any) -> None:
        rounds = [1, 7, 1_000, 10**9]
        means = means_of(case)
        plays = mb.theory.glue_plays(means, case.bounds, rounds, form=form)
        regret = np.asarray(mb.theory.glue_regret(means, case.bounds, rounds, form=form))
        assert plays.shape == (4, len(case.bounds))
        for n, row, value in zip(rounds, plays, regret, strict=True):
            np.testing.assert_array_equal(row, mb.theory.glue_plays(means, case.bounds, n, form=form))
            assert value == pytest.approx(mb.theory.glue_regret(means, case.bounds, n, form=form), rel=1e-12)
        assert np.all(np.diff(plays[:, ~case.bounds.possible], axis=0) == 0.0)
        if form == "corrected":
            assert np.all(np.diff(plays, axis=0) >= 0.0)

    def test_of_several_best_arms_the_best_known_one_counts(self) -> None:
        """Arm 1 alone would give the factor 1/4, arm 0, known to be at least 0.85, a smaller one."""
        alone = mb.theory.glue_plays([0.9, 0.8], mb.MeanBounds([0.85, 0.0], [1.0, 1.0]), 10**6, policy=mb.ImprovedUCB())
        both = mb.MeanBounds([0.85, 0.0, 0.0], [1.0, 1.0, 1.0])
        tied = mb.theory.glue_plays([0.9, 0.8, 0.9], both, 10**6, policy=mb.ImprovedUCB())
        assert tied[1] == alone[1]
        assert tied.tolist()[::2] == [10**6, 10**6]

    def test_bounds_need_not_hold_for_a_policy_that_ignores_them(self) -> None:
        wrong = mb.MeanBounds([0.0, 0.5], [0.4, 0.6])
        vacuous = mb.MeanBounds.vacuous(2)
        assert mb.theory.glue_regret([0.9, 0.1], wrong, 100, policy=mb.UCB()) == mb.theory.glue_regret(
            [0.9, 0.1], vacuous, 100, policy=mb.UCB()
        )

    def test_mistakes_are_named(self) -> None:
        bounds = mb.MeanBounds.vacuous(2)
        with pytest.raises(ValueError, match="form must be one of 'corrected', 'paper'; got 'printed'"):
            mb.theory.glue_regret([0.9, 0.8], bounds, 10, form=cast(Any, "printed"))
        with pytest.raises(ValueError, match="horizon must be a whole number"):
            mb.theory.glue_regret([0.9, 0.8], bounds, [10, 0])
        with pytest.raises(ValueError, match="horizon must be a whole number"):
            mb.theory.glue_regret([0.9, 0.8], bounds, [10.5])

        class Bold(mb.GLUE):
            def prepare(self, known: mb.Knowledge) -> mb.Plan:
                bounds = known.bounds
                return mb.make_plan(bounds, bounds.possible, cap=bounds.upper, proxy=0.01)

        with pytest.raises(ValueError, match=r"Bold: no best arm is kept with a cap .* 0\.9 and a variance proxy"):
            mb.theory.glue_regret([0.9, 0.8], bounds, 10, policy=Bold())


class TestConstants:
    def test_a_table_by_hand_with_a_large_lower_bound(self) -> None:
        """Arms a (best, 0.9), b (0.8, live), c (0.5, meta-pruned: 0.75 < 0.9), d (0.4, pruned: 0.6 < l_max = 0.7).

        Gaps 0.1, 0.4, 0.5. On [0, 1] the factor of any reward is 1/4.

        - UCB: 2/4 (1/0.1 + 1/0.4 + 1/0.5) = 0.5 (10 + 2.5 + 2) = 7.25; printed, without d: 6.25.
        - B-UCB: b alone: 0.5 * 10 = 5. ImprovedUCB: bounds of b, [0.2, 0.93], contain 1/2: 5 as well.
        - GLUE: factor of b from [max(0.2, 0.7), 0.93]: c(0.7) = (1 - 1.4) / (2 log(3/7)) = 0.4 / (2 * 0.847297861) =
          0.236044595; 2 * 0.236044595 / 0.1 = 4.72089189.
        - d(0.8, 0.9) = 0.8 log(8/9) + 0.2 log 2 = -0.094226428 + 0.138629436 = 0.044403008: 0.1 / that = 2.25209968.
        - d(0.5, 0.9) = 0.5 log(5/9) + 0.5 log 5 = 0.510825624: 0.4 / that = 0.78304627.
        - d(0.4, 0.9) = 0.4 log(4/9) + 0.6 log 6 = -0.324372086 + 1.075055681 = 0.750683595: 0.5 / that = 0.66606 (five
          digits). KL-UCB: 2.25209968 + 0.78304627 + 0.66606 = 3.70120; printed, without d: 3.03515.
        - B-KL-UCB, OSSB and the lower bound: 2.25209968.
        """
        bounds = mb.MeanBounds([0.7, 0.2, 0.3, 0.1], [0.95, 0.93, 0.75, 0.6], arms=["a", "b", "c", "d"])
        means = [0.9, 0.8, 0.5, 0.4]
        table = mb.theory.comparison(means, bounds)
        expected = {"UCB": 7.25, "B-UCB": 5.0, "ImprovedUCB": 5.0, "KL-UCB": 3.70120, "GLUE": 4.72089189}
        expected |= {"B-KL-UCB": 2.25209968, "OSSB": 2.25209968}
        assert {row.algorithm for row in table.rows} == set(expected)
        for name, value in expected.items():
            assert table.constant(name) == pytest.approx(value, rel=3e-6)
        assert table.lower_bound == pytest.approx(2.25209968, rel=1e-7)
        printed = mb.theory.comparison(means, bounds, form="paper")
        assert printed.constant("UCB") == pytest.approx(6.25)
        assert printed.constant("KL-UCB") == pytest.approx(3.03515, rel=3e-6)
        for name in ("B-UCB", "B-KL-UCB", "OSSB", "GLUE"):
            assert printed.constant(name) == table.constant(name)
        assert [row.algorithm for row in table.rows if not row.meta_prunes] == ["UCB", "KL-UCB"]
        assert [row.algorithm for row in table.rows if row.rewards == "two-point"] == ["OSSB"]
        with pytest.raises(ValueError, match="unknown algorithm 'TS'; the table has 'UCB', 'B-UCB'"):
            table.constant("TS")
        frame = table.to_frame()
        assert list(frame.columns) == ["algorithm", "rewards", "meta_prunes", "constant"]
        assert len(frame) == 7
        assert str(table).splitlines()[-1].split() == ["lower", "bound", "two-point", "2.252"]

    def test_a_table_by_hand_with_low_rewards_in_another_range(self) -> None:
        """Rewards on [1, 5], span 4. Means 2, 1.8, 1.4 are shares 0.25, 0.2, 0.1; gaps 0.2, 0.6.

        Bounds: a [1.2, 2.6] (shares 0.05 to 0.4), b [1.2, 2.4] (to 0.35), c [1, 2.2] (to 0.3): all below the middle 3,
        and all upper bounds above the best mean 2. Largest lower bound 1.2, share 0.05.

        - UCB and B-UCB: factor 16/4 = 4: 2 * 4 (1/0.2 + 1/0.6) = 8 * 6.6666667 = 53.3333333.
        - c(0.35) = 0.3 / (2 log(0.65/0.35)) = 0.3 / 1.238078412 = 0.242311 (six digits);
          c(0.3) = 0.4 / (2 log(7/3)) = 0.4 / 1.694595721 = 0.236044595.
          ImprovedUCB, and GLUE, the largest lower bound being below the middle:
          2 * 16 * (0.242310997 / 0.2 + 0.236044595 / 0.6) = 32 * (1.211554987 + 0.393407658) = 51.3588047.
        - d(0.2, 0.25) = 0.2 log 0.8 + 0.8 log(0.8/0.75) = -0.044628710 + 0.051630817 = 0.007002107: 0.2 / that is
          28.5628 (six digits); d(0.1, 0.25) = 0.1 log 0.4 + 0.9 log 1.2 = -0.091629073 + 0.164089401 = 0.072460328:
          0.6 / that = 8.28039. KL-UCB, B-KL-UCB, OSSB, lower bound: 36.8432.
        """
        bounds = mb.MeanBounds([1.2, 1.2, 1.0], [2.6, 2.4, 2.2], low=1.0, high=5.0)
        table = mb.theory.comparison([2.0, 1.8, 1.4], bounds)
        expected = {"UCB": 53.3333333, "B-UCB": 53.3333333, "ImprovedUCB": 51.3588047, "GLUE": 51.3588047}
        expected |= dict.fromkeys(("KL-UCB", "B-KL-UCB", "OSSB"), 36.8432)
        for name, value in expected.items():
            assert table.constant(name) == pytest.approx(value, rel=3e-6)
        assert table.lower_bound == table.constant("B-KL-UCB")

    @given(cases())
    def test_orders_that_are_theorems(self, case: Case) -> None:
        """See `comparison`: Pinsker, Kearns and Saul, and sums over fewer arms."""
        table = mb.theory.comparison(means_of(case), case.bounds)
        printed = mb.theory.comparison(means_of(case), case.bounds, form="paper")

        def ordered(*names: str) -> None:
            values = [table.constant(name) for name in names]
            for less, more in itertools.pairwise(values):
                assert less <= more * (1.0 + 1e-6) or math.isinf(more)

        ordered("B-KL-UCB", "GLUE", "ImprovedUCB", "B-UCB", "UCB")
        ordered("B-KL-UCB", "KL-UCB", "UCB")
        assert table.constant("OSSB") == table.constant("B-KL-UCB") >= table.lower_bound
        assert printed.constant("UCB") <= table.constant("UCB")
        assert printed.constant("KL-UCB") <= table.constant("KL-UCB")

    def test_kl_ucb_and_glue_are_in_no_order(self) -> None:
        """Without bounds GLUE is UCB; with one that meta-prunes the only other arm its constant is 0."""
        nothing = mb.theory.comparison([0.9, 0.8], mb.MeanBounds.vacuous(2))
        assert nothing.constant("KL-UCB") < nothing.constant("GLUE")
        pruning = mb.theory.comparison([0.9, 0.8], mb.MeanBounds([0.0, 0.0], [1.0, 0.85]))
        assert pruning.constant("GLUE") == 0.0 < pruning.constant("KL-UCB")

    def test_corners(self) -> None:
        """A best mean at the top of its range, ties, one arm, ranges that differ, an upper bound at the best mean."""
        certain = mb.theory.comparison([1.0, 0.5], mb.MeanBounds.vacuous(2))  # d(0.5, 1) is infinite
        assert certain.constant("KL-UCB") == certain.constant("OSSB") == certain.lower_bound == 0.0
        assert certain.constant("UCB") == 1.0
        assert mb.theory.comparison([0.4, 0.4], mb.MeanBounds.vacuous(2)).constant("UCB") == 0.0
        assert mb.theory.comparison([0.4], mb.MeanBounds.vacuous(1)).constant("GLUE") == 0.0
        apart = mb.MeanBounds.vacuous(2, low=[0.0, 0.0], high=[4.0, 1.0])  # arm 1 cannot reach 2, and KL-UCB knows it
        other = mb.theory.comparison([2.0, 0.5], apart)
        assert other.constant("KL-UCB") == other.constant("GLUE") == 0.0
        assert other.constant("UCB") == pytest.approx(2 * 0.25 / 1.5)
        edge = mb.theory.comparison([0.9, 0.8], mb.MeanBounds([0.0, 0.0], [1.0, 0.9]))
        assert (
            edge.lower_bound
            == 0.0
            < edge.constant("B-KL-UCB")
            == mb.theory.lower_bound([0.9, 0.8], mb.MeanBounds.vacuous(2))
        )

    @pytest.mark.parametrize(
        "policy",
        [
            *(mb.ThompsonSampling(), mb.BIMED(), mb.UCBoost(), mb.GLUE(f="t"), mb.OSSB(f="t log(t)^3")),
            *(mb.OptimisticGittins(moments=2), mb.OptimisticGittins(f=np.exp)),
        ],
        ids=str,
    )
    def test_no_theorem_no_constant(self, policy: mb.Policy) -> None:
        with pytest.raises(ValueError, match="no theorem says what remains of its regret over log n"):
            mb.theory.asymptotic_constant(policy, [0.9, 0.8], mb.MeanBounds.vacuous(2))

    def test_optimistic_gittins_has_the_constant_of_bklucb(self) -> None:
        for instance in mb.INSTANCES.values():
            for policy in (mb.OptimisticGittins(), mb.OptimisticGittins(f="t log(t)^3")):
                found = mb.theory.asymptotic_plays(policy, instance.means, instance.bounds)
                np.testing.assert_array_equal(
                    found, mb.theory.asymptotic_plays(mb.BKLUCB(), instance.means, instance.bounds)
                )

    def test_the_finite_bound_comes_down_to_the_constant(self) -> None:
        """Over log n it falls, slowly: the next term is of order (log n)^(2/3). It never falls below the constant."""
        instance = mb.INSTANCES["high-lower-bound"]
        constant = mb.theory.asymptotic_constant(mb.GLUE(), instance.means, instance.bounds)
        n = np.array([10**6, 10**9, 10**12, 10**15, 10**18])
        ratio = mb.theory.glue_regret(instance.means, instance.bounds, n) / np.log(n) / constant
        assert np.all(np.diff(ratio) < 0.0)
        assert 1.0 < ratio[-1] < 5.0


class TestOSSB:
    @staticmethod
    def rounds_that_explore(means: list[float], cap: list[float], epsilon: float, gamma: float, log_n: float) -> Floats:
        """Plays of OSSB if it knew the means all along and log t grew by small steps, until it is log n.

        Only rounds that explore are played: the best arm, the first one, is played in all others.
        """
        best = means[0]
        needs = np.array(
            [1 / kl(mean, best) if mean < best <= top else 0.0 for mean, top in zip(means, cap, strict=True)]
        )
        plays, rounds = np.zeros(len(means)), 0
        plays[0] = np.inf
        for log_t in np.linspace(0.0, log_n, 2_000):
            while np.any(plays < (1 + gamma) * needs * log_t):
                rounds += 1
                lacking = np.where(needs > 0.0, plays / np.where(needs > 0.0, needs, 1.0), np.inf)
                plays[np.argmin(plays if plays.min() <= epsilon * rounds else lacking)] += 1
        return np.append(0.0, plays[1:])

    @pytest.mark.parametrize("epsilon", [0.001, 0.01, 0.1, 0.3, 0.5, 0.9])
    @pytest.mark.parametrize("gamma", [0.01, 5.0])
    def test_plays_are_those_of_its_definition(self, epsilon: float, gamma: float) -> None:
        """Three arms that need plays, one whose cap rules it out in the long run, one pruned from the start."""
        means, cap = [0.8, 0.6, 0.4, 0.5, 0.2, 0.1], [1.0, 1.0, 0.9, 0.7, 0.9, 0.3]
        bounds = mb.MeanBounds([0.35, 0.0, 0.0, 0.0, 0.0, 0.0], cap)
        policy = mb.OSSB(epsilon=epsilon, gamma=gamma)
        found = mb.theory.asymptotic_plays(policy, means, bounds)
        log_n = 300.0
        expected = self.rounds_that_explore(means[:5], cap[:5], epsilon, gamma, log_n) / log_n
        np.testing.assert_allclose(found[:5], expected, rtol=0.02, atol=0.02)
        assert found[5] == 0.0
        assert mb.theory.asymptotic_constant(policy, means, bounds) == pytest.approx(found @ (0.8 - np.array(means)))

    @given(cases(), st.floats(1e-6, 0.99), st.floats(1e-6, 10.0))
    def test_a_fixed_point(self, case: Case, epsilon: float, gamma: float) -> None:
        """Each arm has what it needs and a share epsilon of all, or as much as the arm that needs most."""
        means = means_of(case)
        assume(np.sum(means == means.max()) == 1)
        least = mb.theory.asymptotic_plays(mb.BKLUCB(), means, case.bounds)
        assume(np.all(np.isfinite(least)))
        found = mb.theory.asymptotic_plays(mb.OSSB(epsilon=epsilon, gamma=gamma), means, case.bounds)
        others = case.bounds.possible & (means < means.max())
        assert not np.any(found[~others])
        needs, plays = (1 + gamma) * least[others], found[others]
        forced = np.minimum(epsilon * plays.sum(), needs.max(initial=0.0))
        np.testing.assert_allclose(plays, np.maximum(needs, forced), rtol=1e-9)

    def test_the_limit_is_the_lower_bound(self) -> None:
        means, bounds = [0.9, 0.8, 0.5], mb.MeanBounds([0.0, 0.0, 0.0], [1.0, 0.95, 0.7])
        small = mb.theory.asymptotic_constant(mb.OSSB(epsilon=1e-9, gamma=1e-9), means, bounds)
        assert small == pytest.approx(mb.theory.lower_bound(means, bounds), rel=1e-6)

    @pytest.mark.slow
    @pytest.mark.parametrize(("epsilon", "gamma"), [(0.1, 1.0), (0.2, 3.0), (0.4, 0.5), (0.9, 2.0)])
    def test_simulated_slopes(self, epsilon: float, gamma: float) -> None:
        """From 3,000 to 300,000 rounds the slope is near the constant, and above it by no more than chance allows.

        The constant as epsilon and gamma tend to 0 was promised whatever they are.
        """
        means, bounds = [0.8, 0.4, 0.6, 0.1], mb.MeanBounds([0.0] * 4, [1.0, 1.0, 0.7, 0.75])
        policy = mb.OSSB(epsilon=epsilon, gamma=gamma)
        regret = mb.simulate(
            {"p": policy}, mb.Bernoulli(means), bounds, horizon=300_000, runs=20, seed=5, checkpoints=[3_000, 300_000]
        )
        slopes = (regret.curves["p"][:, 1] - regret.curves["p"][:, 0]) / math.log(100)
        slope, error = slopes.mean(), slopes.std(ddof=1) / math.sqrt(len(slopes))
        values = mb.theory.regret_slopes(regret)["p"].values
        assert values is not None
        constant = (values[1] - values[0]) / math.log(100)
        assert mb.theory.lower_bound(means, bounds) < slope
        assert 0.6 * constant <= slope <= constant + 4.0 * error
        assert error < 0.15 * constant

    def test_where_there_is_no_theorem(self) -> None:
        tied = mb.MeanBounds.vacuous(3)
        with pytest.raises(ValueError, match="2 arms are best; the theorem needs one, with several regret is linear"):
            mb.theory.asymptotic_plays(mb.OSSB(), [0.5, 0.5, 0.3], tied)
        assert mb.theory.asymptotic_constant(mb.OSSB(), [0.5, 0.5, 0.5], tied) == 0.0
        with pytest.raises(ValueError, match="the theorem needs gamma above 0"):
            mb.theory.asymptotic_plays(mb.OSSB(gamma=0.0), [0.5, 0.4, 0.3], tied)
        regret = mb.simulate({"p": mb.OSSB(gamma=0.0)}, mb.Bernoulli([0.6, 0.5]), horizon=10, runs=2, seed=1)
        assert mb.theory.regret_slopes(regret)["p"].reason == "the theorem needs gamma above 0"


class TestLowerBound:
    @staticmethod
    def program(means: list[float], bounds: mb.MeanBounds, steps: int) -> float:
        """Graves and Lai's program: gaps times plays, such that every alternative on a grid is told apart.

        An alternative agrees with the truth in every best arm, and another arm is better than these.
        """
        best = max(means)
        others = [k for k, mean in enumerate(means) if mean < best]
        grids = []
        for k in others:
            above = best + 1e-10
            points = {means[k], *np.linspace(bounds.lower[k], bounds.upper[k], steps).tolist()}
            grids.append(sorted(points | ({above} if above <= bounds.upper[k] else set())))
        rows = []
        for alternative in itertools.product(*grids):
            if max(alternative) > best:
                shares = [
                    [(value - bounds.low[k]) / (bounds.high[k] - bounds.low[k]) for value in (means[k], point)]
                    for k, point in zip(others, alternative, strict=True)
                ]
                rows.append([-min(kl(*pair), 1e6) for pair in shares])
        if not rows:
            return 0.0
        gaps = [best - means[k] for k in others]
        solved = optimize.linprog(gaps, A_ub=np.array(rows), b_ub=-np.ones(len(rows)))
        assert solved.fun is not None
        return float(solved.fun)

    @pytest.mark.parametrize("seed", range(12))
    def test_is_the_value_of_the_program(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        span = rng.choice([1.0, 4.0], 3)
        low = rng.choice([0.0, -0.5], 3)
        means = low + span * rng.uniform(0.1, 0.9, 3)
        if seed % 3 == 0:
            low, span, means[1] = np.full(3, -0.5), np.full(3, 4.0), means[0]  # two best arms, or two that are equal
            means = np.clip(means, -0.4, 3.4)
        lower, upper = means - rng.uniform(0, 0.3, 3) * span, means + rng.uniform(0, 0.6, 3) * span
        bounds = mb.MeanBounds(np.clip(lower, low, None), np.clip(upper, None, low + span), low=low, high=low + span)
        expected = self.program(means.tolist(), bounds, 12)
        assert mb.theory.lower_bound(means, bounds) == pytest.approx(expected, rel=1e-5, abs=1e-12)

    def test_an_upper_bound_at_the_best_mean_leaves_no_alternative(self) -> None:
        bounds = mb.MeanBounds([0.0, 0.0, 0.0], [1.0, 0.5, 0.75])
        assert mb.theory.lower_bound([0.5, 0.25, 0.25], bounds) == pytest.approx(
            self.program([0.5, 0.25, 0.25], bounds, 9), rel=1e-6
        )
        assert mb.theory.lower_bound([0.5, 0.25, 0.25], bounds) == pytest.approx(0.25 / kl(0.25, 0.5))


def plan_of(policy: mb.OFUL | mb.ROFUL, instance: mb.LinearInstance) -> LinearPlan:
    return policy.plan(mb.LinearArms(instance.features, instance.bounds, offset=instance.offset))


POLICIES: list[mb.OFUL | mb.ROFUL] = [
    *(mb.OFUL(failure=0.05, noise=noise) for noise in ("weighted", "running-max", "pool-max")),
    *(mb.ROFUL(failure=0.05, index="clip", noise=noise) for noise in ("weighted", "running-max", "restricted-max")),
    mb.ROFUL(failure=0.05, index="plain", tighten="none"),
    mb.ROFUL(failure=0.05, index="clip", tighten="cone"),
    mb.ROFUL(failure=0.05, index="clip", online=True),
    mb.ROFUL(failure=0.05, index="clip", tighten="cone", online=True, noise="pool-max"),
    mb.ROFUL(failure=0.05),
]


class TestLinear:
    @given(
        st.integers(1, 60),
        st.floats(0.0, 50.0),
        st.floats(1e-3, 1e3),
        st.floats(0.0, 10.0),
        st.integers(0, 2**32),
    )
    def test_no_sequence_of_widths_has_a_larger_sum(
        self, rounds: int, growth: float, scale: float, width: float, seed: int
    ) -> None:
        """Random ways to split the growth, equal ones and extreme ones among them; and it is below the usual bound."""
        rng = np.random.default_rng(seed)
        t, total, c = np.array([float(rounds)]), np.array([growth]), np.array([scale])
        limit = float(sum_of_widths(t, total, c, width)[0])
        for sharpness in (1e-2, 1.0, 1e4):
            z = growth * rng.dirichlet(np.full(rounds, sharpness))
            assert np.minimum(width, scale * np.sqrt(np.expm1(z))).sum() <= limit * (1.0 + 1e-9) + 1e-9
        usual = max(width, scale) * math.sqrt(2.0 * rounds * growth)
        assert limit <= min(usual, rounds * width) * (1.0 + 1e-9) + 1e-12

    @pytest.mark.parametrize(("width", "scale"), [(1.0, 2.0), (3.0, 1.0), (30.0, 0.5)])
    def test_the_sum_is_attained(self, width: float, scale: float) -> None:
        """The best of all splits into two values, a share of the rounds each, on a grid: nothing smaller holds."""
        rounds = 1_000
        for growth in (5.0, 200.0, 1_500.0):
            mean, best = growth / rounds, 0.0
            top = math.log1p((width / scale) ** 2)
            values = np.unique([0.0, mean, *np.linspace(0.0, top, 201), *np.geomspace(1e-4, top, 200)])
            gains = np.minimum(width, scale * np.sqrt(np.expm1(values)))
            for i in range(values.size):
                share = np.divide(
                    mean - values[i], values - values[i], out=np.zeros(values.size), where=values > values[i]
                )
                mixed = np.where((share >= 0) & (share <= 1), gains[i] + share * (gains - gains[i]), 0.0)
                best = max(best, float(mixed.max()) if mean >= values[i] else 0.0)
            limit = float(sum_of_widths(np.array([1e3]), np.array([growth]), np.array([scale]), width)[0])
            assert best * rounds <= limit * (1 + 1e-9)
            assert limit <= best * rounds * 1.01

    @given(st.integers(0, 2**32), st.sampled_from([1e-3, 0.1, 1.0, 20.0]), st.integers(1, 4))
    def test_elliptical_potential(self, seed: int, regularisation: float, d: int) -> None:
        """Random sequences with weights at least 1: growth of the determinant, its limit, and the sum of widths."""
        rng = np.random.default_rng(seed)
        rounds = 40
        rows = rng.normal(size=(rounds, d)) * rng.choice([0.1, 1.0, 5.0])
        weights = rng.uniform(1.0, rng.choice([1.0, 10.0]), rounds)
        v = regularisation * np.eye(d)
        growth, squares = 0.0, []
        for row, weight in zip(rows, weights, strict=True):
            squares.append(float(row @ np.linalg.solve(v, row)))
            growth += math.log1p(weight * squares[-1])
            v += weight * np.outer(row, row)
        assert growth == pytest.approx(np.linalg.slogdet(v)[1] - d * math.log(regularisation), rel=1e-6, abs=1e-6)
        limit = d * math.log1p(float(np.sum(weights * (rows**2).sum(axis=1))) / (d * regularisation))
        assert growth <= limit * (1 + 1e-9)
        width, scale = rng.uniform(0.1, 3.0), rng.uniform(0.05, 3.0)
        total = np.minimum(width, scale * np.sqrt(squares)).sum()
        least = np.array([scale / math.sqrt(weights.min())])
        assert total <= float(sum_of_widths(np.array([40.0]), np.array([growth]), least, width)[0]) * (1 + 1e-9)

    @pytest.mark.parametrize("unit", [True, False])
    @pytest.mark.parametrize("policy", POLICIES, ids=str)
    def test_the_regret_of_each_round(self, policy: mb.OFUL | mb.ROFUL, unit: bool) -> None:
        """At most W and twice the width of the arm that is played, while the parameter is in the confidence sets.

        Offers are drawn; rewards are at the ends of their range. The weights are within their limits.
        """
        instance = random_instance(np.random.default_rng(6), 10, 4, 0.8, unit=unit, offsets=not unit)
        plan = plan_of(policy, instance)
        rng, width = np.random.default_rng(7), largest_regret(plan.pool, plan.rule)
        low, high = instance.bounds.low, instance.bounds.high
        least, heaviest = _weights(plan.pool, plan.rule)
        room, image, tried = np.empty((2, 10)), np.empty(4), 0
        for run in range(10):
            design = kernel.new_design(instance.features, policy.regularisation)
            pool = kernel.own_bounds(plan.pool)
            for t in range(60):
                error, reach = design.estimate - instance.theta, kernel.radius(design, plan.rule)
                if error @ design.precision @ error > reach**2:
                    break
                offered = rng.permutation(10)[:4]
                before = design.inverse.copy()
                arm, _, _ = kernel.decide(
                    pool, plan.rule, plan.known, design, offered, room[0], room[1], False, t, np.uint64(run)
                )
                x = instance.features[arm]
                regret = instance.means[offered].max() - instance.means[arm]
                assert regret <= min(width, 2.0 * reach * math.sqrt(x @ before @ x)) + 1e-9
                tried += regret > 0.0
                reward = high[arm] if rng.random() < (instance.means[arm] - low[arm]) / (high - low)[arm] else low[arm]
                target = float(reward - instance.offset[arm])
                weight = kernel.observe(design, plan.rule, arm, x, target, float(pool.proxy[arm]), image).weight
                assert least * (1 - 1e-12) <= weight <= heaviest[arm] * (1 + 1e-12)
        assert tried > 10

    @pytest.mark.slow
    @pytest.mark.parametrize("regularisation", [1e-3, 1.0])
    @pytest.mark.parametrize("policy", POLICIES, ids=str)
    def test_every_run_is_below_the_bound(self, policy: mb.OFUL | mb.ROFUL, regularisation: float) -> None:
        """Unit arms and others, with offsets and without; every run at every checkpoint.

        The event may be missed with probability 0.05; misses in 60 runs are compared with the binomial law.
        """
        settings = {**policy.to_dict(), "regularisation": regularisation}
        for seed, unit in ((1, True), (2, False)):
            instance = random_instance(np.random.default_rng(seed), 8, 2, 0.3, unit=unit, offsets=not unit)
            own: mb.OFUL | mb.ROFUL = mb.Policy.from_dict({**settings, "norm_high": 1.0})
            for rewards in ("two-point", "uniform"):
                environment = instance.environment(3, rewards)
                regret = mb.simulate(
                    {"p": own}, environment, instance.bounds, horizon=300, runs=60, seed=9, checkpoints=100
                )
                promise = mb.theory.regret_bounds(regret)["p"]
                assert promise.values is not None
                assert (promise.kind, promise.failure) == ("high probability", 0.05)
                direct = mb.theory.linear_regret(
                    own, instance.features, instance.bounds, regret.rounds, offset=instance.offset
                )
                np.testing.assert_array_equal(promise.values, direct)
                missed = int(np.any(regret.curves["p"] > promise.values, axis=1).sum())
                assert missed <= stats.binom.isf(RARE, 60, 0.05)
                widest = largest_regret(plan_of(own, instance).pool, plan_of(own, instance).rule)
                assert np.all(promise.values <= regret.rounds * widest * (1 + 1e-12))

    @pytest.mark.parametrize("policy", POLICIES, ids=str)
    def test_the_largest_regret_of_a_round(self, policy: mb.OFUL | mb.ROFUL) -> None:
        """No pair of arms that are both kept is further apart, for any of many parameters that satisfy all bounds."""
        rng = np.random.default_rng(4)
        for _ in range(5):
            instance = random_instance(rng, 6, 2, 0.2, unit=False, offsets=True)
            plan = plan_of(policy, instance)
            limit = largest_regret(plan.pool, plan.rule)
            thetas = rng.normal(size=(4_000, 2))
            thetas *= (rng.uniform(0, 1, (4_000, 1)) ** 0.5) / np.linalg.norm(thetas, axis=1, keepdims=True)
            means = instance.offset + thetas @ instance.features.T
            inside = np.all((means >= plan.pool.lower) & (means <= plan.pool.upper), axis=1)
            for row in np.vstack([means[inside], instance.means[None]]):
                for a, b in itertools.permutations(range(6), 2):
                    if not plan.rule.prune or plan.pool.upper[a] >= plan.pool.lower[b]:
                        assert row[b] - row[a] <= limit + 1e-9

    def test_the_printed_bound_fails_in_the_first_round(self) -> None:
        """Arms e1 and -e1, theta = e1, lambda = 0.01, M = 1, d = 2, rewards at the ends of [-1, 1].

        beta_0 has no round to take gamma from, so sqrt(beta_0) = sqrt(0.01), and the printed bound is
        sqrt(8 * 2 * 1 * 0.01 * log(1 + 1 / 0.02)) = sqrt(0.16 * 3.931826) = 0.7932. Both arms have the same index in
        the first round, so the regret is 2 with probability 1/2; it may exceed the bound with probability 0.01.
        """
        printed = math.sqrt(8 * 2 * 0.01 * math.log(1 + 1 / 0.02))
        assert printed == pytest.approx(0.7932, abs=1e-4)
        features, bounds = np.array([[1.0, 0.0], [-1.0, 0.0]]), mb.MeanBounds.vacuous(2, low=-1.0, high=1.0)
        environment = mb.Linear(features, [1.0, 0.0], low=-1.0, high=1.0)
        policy = mb.ROFUL(regularisation=0.01, noise="running-max")
        regret = mb.simulate({"p": policy}, environment, bounds, horizon=1, runs=200, seed=3).final["p"]
        assert set(regret.tolist()) == {0.0, 2.0}
        assert stats.binomtest(int(np.sum(regret > printed)), 200, policy.failure, alternative="greater").pvalue < RARE
        assert mb.theory.linear_regret(policy, features, bounds, [1])[0] >= 2.0

    @given(st.integers(0, 2**32), st.sampled_from([1e-6, 1.0]), st.floats(0.0, 1.0))
    def test_where_the_step_of_the_proof_holds(self, seed: int, regularisation: float, width: float) -> None:
        """With gamma over all arms and failure at most exp(-2), twice the radius is at least W for R-OFUL."""
        instance = random_instance(np.random.default_rng(seed), 5, 2, width, unit=False, offsets=True)
        plan = plan_of(mb.ROFUL(tighten="none", index="clip", regularisation=regularisation), instance)
        gamma = math.sqrt(2.0 * 2.0 * plan.pool.proxy.max())  # 2 log(1 / failure) = 4
        assert 2.0 * gamma >= largest_regret(plan.pool, plan.rule._replace(norm_high=1e9)) * (1 - 1e-12)

    def test_smaller_factors_show(self) -> None:
        """Means known to be at least 0.98: the factor is 0.123 instead of 0.25, and with it the bound, in each mode."""
        features = np.array([[1.0, 0.0], [0.96, 0.28], [0.8, 0.6]])
        bounds = mb.MeanBounds([0.98, 0.0, 0.0], [1.0, 1.0, 1.0])
        tight = mb.tighten(features, bounds, norm_high=1.0)
        far = 10**12
        plain = mb.theory.linear_regret(mb.OFUL(), features, bounds, [far])[0]
        for noise in ("weighted", "running-max", "pool-max"):
            found = mb.theory.linear_regret(mb.ROFUL(noise=noise), features, bounds, [far])[0]
            assert found / plain == pytest.approx(math.sqrt(tight.variance_proxy.max() / 0.25), rel=0.03)

    def test_paper(self) -> None:
        """The printed formula by hand at t = 100, d = 2, lambda = 1, M = 1, delta = 0.01, gamma = 1/2."""
        features, bounds = np.array([[1.0, 0.0], [0.6, 0.8]]), mb.MeanBounds.vacuous(2)
        beta = (1.0 + 0.5 * math.sqrt(2 * math.log(100) + 2 * math.log(1 + 99 / 2))) ** 2
        expected = math.sqrt(8 * 2 * 100 * beta * math.log(1 + 100 / 2))
        for policy in (mb.OFUL(), mb.ROFUL(), mb.ROFUL.paper()):
            found = mb.theory.linear_regret(policy, features, bounds, 100, form="paper")
            assert float(found) == pytest.approx(expected)
            assert mb.theory.linear_regret(policy, features, bounds, 100) < expected

    def test_mistakes_are_named(self) -> None:
        bounds = mb.MeanBounds.vacuous(["a", "b"])
        with pytest.raises(
            ValueError, match=r"arm 'a' has norm 2 and offset 0; the printed bound is for arms of norm 1"
        ):
            mb.theory.linear_regret(mb.OFUL(), [[2.0], [1.0]], bounds, [10], form="paper")
        with pytest.raises(TypeError, match="the theorem is for OFUL and ROFUL"):
            mb.theory.linear_regret(cast(Any, mb.GLUE()), [[2.0], [1.0]], bounds, [10])
        with pytest.raises(ValueError, match="rounds must be a whole number"):
            mb.theory.linear_regret(mb.OFUL(), [[2.0], [1.0]], bounds, [0])


class TestUncertain:
    def test_the_printed_extra_is_too_small_on_another_range(self) -> None:
        """Means 10 and 0 on [0, 10]. With probability 0.1 the bounds of arm 0 are [0, 0]: it is pruned, at 10 a round.

        E[R] = 0.9 R + 0.1 * 10 n, where R, with bounds that hold and prune arm 1, is 0. The printed bound is
        Theorem 6, which is 0 here, plus 0.1 n: a tenth of what it has to be.
        """
        means, n = [10.0, 0.0], 1_000
        right = mb.MeanBounds([10.0, 0.0], [10.0, 5.0], low=0.0, high=10.0)
        wrong = mb.MeanBounds([0.0, 1.0], [0.0, 5.0], low=0.0, high=10.0)
        environment = mb.Bernoulli(means, low=0.0, high=10.0)
        with pytest.warns(UserWarning, match="outside its bounds"):
            lost = mb.simulate({"p": mb.GLUE()}, environment, wrong, horizon=n, runs=5, seed=1).final["p"]
        kept = mb.simulate({"p": mb.GLUE()}, environment, right, horizon=n, runs=5, seed=1).final["p"]
        assert set(lost.tolist()) == {10.0 * n}
        assert set(kept.tolist()) == {0.0}
        expected = 0.9 * 0.0 + 0.1 * 10.0 * n
        theorem = mb.theory.glue_regret(means, right, n)
        assert theorem == 0.0
        assert theorem + n * 0.1 < expected
        assert mb.theory.uncertain_regret(theorem, [0.1, 0.0], n, width=10.0) == pytest.approx(expected)

    def test_never_more_than_everything(self) -> None:
        assert mb.theory.uncertain_regret(50.0, [0.7, 0.7], 100) == 100.0
        assert mb.theory.uncertain_regret(50.0, 0.0, 100) == 50.0
        found = mb.theory.uncertain_regret(np.array([5.0, 6.0]), 0.01, [100, 200], width=2.0)
        np.testing.assert_allclose(found, [7.0, 10.0])

    def test_mistakes_are_named(self) -> None:
        with pytest.raises(ValueError, match="failure must be probabilities"):
            mb.theory.uncertain_regret(1.0, [0.5, 1.5], 10)
        with pytest.raises(ValueError, match="width must be a finite number"):
            mb.theory.uncertain_regret(1.0, 0.5, 10, width=-1.0)
        with pytest.raises(ValueError, match="regret_bound must not be negative"):
            mb.theory.uncertain_regret(-1.0, 0.5, 10)


class TestFates:
    @given(cases())
    def test_say_what_the_numbers_say(self, case: Case) -> None:
        means, bounds = means_of(case), case.bounds
        found = mb.theory.arm_status(means, bounds)
        assert tuple(fate.arm for fate in found) == bounds.arms
        plays = mb.theory.asymptotic_plays(mb.GLUE(), means, bounds)
        for k, fate in enumerate(found):
            assert (fate.kind == "best") == (means[k] == means.max() and bounds.possible[k])
            assert (fate.kind == "pruned") == (not bounds.possible[k])
            assert (fate.kind == "meta-pruned") == bool(bounds.meta_pruned(means.max())[k])
            assert fate.kind == "live" or plays[k] == 0.0
        assert len(str(found).splitlines()) == len(bounds)

    def test_by_kind(self) -> None:
        instance = mb.INSTANCES["high-lower-bound"]
        found = mb.theory.arm_status(instance.means, instance.bounds)
        assert found.arms("best") == ("arm 1",)
        assert found.arms("meta-pruned") == ("arm 3",)
        assert found.arms("live") == ("arm 2", "arm 4", "arm 5")
        assert found.arms("pruned") == ()
        with pytest.raises(ValueError, match="kind must be one of 'best', 'live', 'meta-pruned', 'pruned'"):
            found.arms("dead")


class TestPromises:
    POLICIES: ClassVar[dict[str, mb.Policy]] = {
        "UCB": mb.UCB(),
        "GLUE": mb.GLUE(),
        "GLUE, t": mb.GLUE(f="t"),
        "own f": mb.GLUE(f=lambda t: 1.0 + t**2),
        "TS": mb.ThompsonSampling(),
        "B-KL-UCB": mb.BKLUCB(),
    }

    def simulated(self, **changes: Any) -> mb.Regret:
        instance = mb.INSTANCES["high-lower-bound"]
        given = {"bounds": instance.bounds, "horizon": 2_000, "runs": 20, "seed": 1, "checkpoints": 10, **changes}
        return mb.simulate(self.POLICIES, mb.Bernoulli(instance.means), **given)

    def test_arms(self) -> None:
        regret, instance = self.simulated(), mb.INSTANCES["high-lower-bound"]
        found = mb.theory.regret_bounds(regret)
        for label in ("UCB", "GLUE"):
            promise, policy = found[label], self.POLICIES[label]
            expected = mb.theory.glue_regret(instance.means, instance.bounds, regret.rounds, policy=policy)
            assert promise.values is not None
            np.testing.assert_array_equal(promise.values, expected)
            assert (promise.kind, promise.theorem, promise.reason) == ("expectation", "Theorem 6", "")
            assert np.all(regret.mean(label) < promise.values)
        assert found["GLUE, t"].reason == "the theorem is for f = 1 + t log(t)^2"
        assert "cannot be read back" in found["own f"].reason
        assert found["TS"].reason == found["B-KL-UCB"].reason == "no finite-time theorem is implemented for this policy"
        assert all(found[label].values is None for label in ("GLUE, t", "own f", "TS", "B-KL-UCB"))
        printed = mb.theory.regret_bounds(regret, form="paper")["GLUE"].values
        assert printed is not None
        corrected = found["GLUE"].values
        assert corrected is not None
        assert printed[-1] != corrected[-1]

    def test_slopes(self) -> None:
        regret, instance = self.simulated(), mb.INSTANCES["high-lower-bound"]
        found = mb.theory.regret_slopes(regret)
        for label in ("UCB", "GLUE", "B-KL-UCB"):
            constant = mb.theory.asymptotic_constant(self.POLICIES[label], instance.means, instance.bounds)
            values = found[label].values
            assert values is not None
            np.testing.assert_allclose(values, constant * np.log(regret.rounds))
            assert found[label].kind == "asymptotic"
        for label in ("GLUE, t", "TS"):
            assert found[label].reason == "no theorem says what remains of its regret over log n"

    def test_bounds_that_do_not_hold_leave_those_who_ignore_them(self) -> None:
        wrong = mb.MeanBounds([0.0] * 5, [0.85, 1, 1, 1, 1], arms=["a", "b", "c", "d", "e"])
        with pytest.warns(UserWarning, match="outside its bounds"):
            regret = self.simulated(bounds=wrong)
        for found in (mb.theory.regret_bounds(regret), mb.theory.regret_slopes(regret)):
            assert found["UCB"].values is not None
            assert found["GLUE"].reason == "arm 'a': its mean 0.9 is outside its bounds [0.0, 0.85]: no theorem applies"

    def test_linear(self) -> None:
        instance = random_instance(np.random.default_rng(1), 8, 2, 0.3)
        policies = {"OFUL": mb.OFUL(), "R-OFUL": mb.ROFUL(index="clip")}
        regret = mb.simulate(policies, instance.environment(4), instance.bounds, horizon=100, runs=5, seed=1)
        found = mb.theory.regret_bounds(regret)
        assert all(promise.values is not None and promise.failure == 0.01 for promise in found.values())
        assert mb.theory.regret_slopes(regret)["OFUL"].reason == "its theorem is not about log n"
        clipped = mb.simulate(
            policies, instance.environment(4, "clipped-gaussian"), instance.bounds, horizon=100, runs=5, seed=1
        )
        for promise in mb.theory.regret_bounds(clipped).values():
            assert promise.reason == "the rewards' means are not linear: clipping moves them"
        low, high = instance.bounds.low, instance.bounds.high
        wrong = mb.MeanBounds(np.append(instance.means[0] + 0.01, low[1:]), high, low=low, high=high)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # three of them say what is wrong here
            regret = mb.simulate(
                {**policies, "short": mb.OFUL(norm_high=0.1)},
                instance.environment(4),
                wrong,
                horizon=100,
                runs=5,
                seed=1,
            )
        found = mb.theory.regret_bounds(regret)
        assert found["OFUL"].values is not None
        assert "outside its bounds" in found["R-OFUL"].reason
        assert found["short"].reason.endswith("is outside [0, 0.1]")

    def test_read_back_from_a_file(self, tmp_path: Any) -> None:
        regret = self.simulated()
        regret.save(tmp_path / "regret.parquet")
        again = mb.Regret.load(tmp_path / "regret.parquet")
        np.testing.assert_array_equal(
            mb.theory.regret_bounds(again)["GLUE"].values,
            mb.theory.regret_bounds(regret)["GLUE"].values,
        )

    def test_tightened_bounds(self) -> None:
        """They keep where each bound is attained as well, which is no reason to refuse them."""
        instance = random_instance(np.random.default_rng(1), 8, 2, 0.3)
        tight = mb.tighten(instance.features, instance.bounds, norm_high=1.0)
        regret = mb.simulate(mb.ROFUL(index="clip"), instance.environment(4), tight, horizon=20, runs=2, seed=1)
        (found,) = mb.theory.regret_bounds(regret).values()
        assert found.values is not None

    def test_what_cannot_be_read_back(self) -> None:
        """A function as f has no name to read it back by, and version 0.1 kept a text."""
        environment = mb.Bernoulli([0.9, 0.8])
        regret = mb.simulate(mb.UCB(f=lambda t: t), environment, horizon=100, runs=2, seed=1)
        (label,) = regret.labels
        assert "unknown f '<<function" in mb.theory.regret_bounds(regret)[label].reason
        regret.settings["policies"][label] = "UCB(f='t')"
        assert "version 0.1" in mb.theory.regret_bounds(regret)[label].reason


class TestPictures:
    def test_bounds(self) -> None:
        regret = TestPromises().simulated()
        ax = regret.plot(theory="bounds")
        assert ax.get_yscale() == "log"
        promises = mb.theory.regret_bounds(regret)
        dashed = [line for line in ax.lines if line.get_linestyle() == "--"]
        assert len(ax.lines) == len(regret.labels) + 2
        for line, label in zip(dashed, ("UCB", "GLUE"), strict=True):
            np.testing.assert_array_equal(line.get_ydata(), promises[label].values)
            assert line.get_color() == ax.lines[regret.labels.index(label)].get_color()
        legend = ax.get_legend()
        assert legend is not None
        key = [text.get_text().replace("\n", " ") for text in legend.get_texts()]
        assert key[0] == "bound on the mean"
        assert "TS; B-KL-UCB: no bound, no finite-time theorem is implemented for this policy" in key

    def test_slopes(self) -> None:
        regret = TestPromises().simulated()
        ax = regret.plot(theory="slopes")
        assert (ax.get_xscale(), ax.get_yscale()) == ("log", "linear")
        constant = mb.theory.regret_slopes(regret)["UCB"].values
        assert constant is not None
        line = next(line for line in ax.lines[len(regret.labels) :] if line.get_color() == ax.lines[0].get_color())
        drawn = np.asarray(line.get_ydata(), dtype=np.float64)
        assert drawn[-1] == pytest.approx(regret.mean("UCB")[-1])
        assert drawn[-1] - drawn[-5] == pytest.approx(constant[-1] - constant[-5])
        assert regret.plot(theory="slopes", log=False).get_xscale() == "linear"

    def test_every_run(self) -> None:
        instance = random_instance(np.random.default_rng(1), 8, 2, 0.3)
        regret = mb.simulate({"OFUL": mb.OFUL()}, instance.environment(4), instance.bounds, horizon=100, runs=5, seed=1)
        key = regret.plot(theory="bounds").get_legend()
        assert key is not None
        assert [text.get_text() for text in key.get_texts()] == ["bound on every run, with probability 0.99"]

    def test_no_regret_at_all(self) -> None:
        """One arm: curve and bound are 0 throughout, which a logarithmic axis cannot show."""
        regret = mb.simulate({"GLUE": mb.GLUE()}, mb.Bernoulli([0.5]), horizon=10, runs=2, seed=1)
        ax = regret.plot(theory="bounds")
        ax.figure.canvas.draw()
        assert not np.any(regret.curves["GLUE"])
        values = mb.theory.regret_bounds(regret)["GLUE"].values
        assert values is not None
        assert values.tolist() == [0.0] * regret.rounds.size
        for line in ax.lines:
            assert not np.any(line.get_ydata())

    def test_mistakes_are_named(self) -> None:
        with pytest.raises(ValueError, match="theory must be one of 'bounds', 'slopes' or None; got 'all'"):
            TestPromises().simulated().plot(theory="all")
