"""What a log speaks against: each inequality against brute force, false alarms by exact tests, power, and words."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from benchmarks.refuting import CONFIDENCE, WORLDS, counted, refuted
from scipy import stats

import meanbounds as mb
from meanbounds import BoundsError
from meanbounds.cli import main
from meanbounds.logs import (
    AnyExpert,
    Assumption,
    Counts,
    ErringExpert,
    KnownPropensity,
    MarginalSensitivity,
    NearlyOptimalExpert,
    OptimalExpert,
    refute,
)
from meanbounds.logs.assumptions import World
from meanbounds.logs.cells import Cells
from meanbounds.logs.refuting.equal_cases import EqualCases, _Agreement
from meanbounds.logs.refuting.over_time import OverTime, _moved, _two_sided
from meanbounds.logs.refuting.tails import Groups, chance_of

HERE = World(("all",), 0.0, 1.0)
SURE = 1e-6  # how often a test of this file that draws logs may fail although all is well


class TestFalseAlarms:
    """Worlds in which what is assumed is just true; `python -m benchmarks.refuting` draws 2,000 logs of each."""

    @pytest.mark.parametrize("name", WORLDS)
    def test_few_logs(self, name: str) -> None:
        alarms = refuted(name, 1.0, 60, seed=3)
        assert stats.binom.sf(alarms - 1, 60, 1.0 - CONFIDENCE) > SURE

    @pytest.mark.parametrize("name", WORLDS)
    def test_what_is_false_is_found(self, name: str) -> None:
        assert refuted(name, 1.5 * WORLDS[name][1], 20, seed=5) >= 15


class TestTails:
    """Bounds on the probability of so many errors, against the worst laws of both kinds."""

    @pytest.mark.parametrize("seed", range(6))
    def test_the_bound_holds_for_rows_and_for_cases(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        share, size = float(rng.choice([0.02, 0.1, 0.3])), rng.integers(1, 6, 12).astype(float)
        ceiling = size - np.ceil(size / 3)
        groups = Groups.of(size, ceiling, np.full(12, share))
        together = exact_sum(np.minimum(1.0, share * size / np.maximum(ceiling, 1e-9)), ceiling)
        for total in range(1, int(ceiling.sum()) + 1):
            bound = chance_of(total, groups, whole=True)
            assert bound >= stats.binom.sf(total - 1, size.sum(), share) - 1e-12
            assert bound >= together[total:].sum() - 1e-12
            assert chance_of(total, groups, whole=False) >= stats.binom.sf(total - 1, size.sum(), share) - 1e-12

    def test_pairs_are_binomial(self) -> None:
        pairs = Groups.of(np.full(50, 2.0), np.ones(50), np.full(50, 0.03))
        by_cases, by_rows = stats.binom.sf(8, 50, 0.06), stats.binom.sf(8, 100, 0.03)
        assert chance_of(9, pairs, whole=True) == pytest.approx(max(by_cases, by_rows))

    def test_no_error_is_allowed(self) -> None:
        none = Groups.of(np.full(5, 3.0), np.ones(5), np.zeros(5))
        assert chance_of(1, none, whole=True) == 0.0
        assert chance_of(0.1, none, whole=False) == 0.0
        assert chance_of(0, none, whole=True) == 1.0


def exact_sum(chance: Any, top: Any) -> Any:
    """The law of a sum of independent variables that are 0, or `top` with this chance."""
    law = np.ones(1)
    for p, c in zip(chance, top.astype(int), strict=True):
        step = np.zeros(c + 1)
        step[0] += 1.0 - p
        step[c] += p
        law = np.convolve(law, step) if c else law
    return law


class TestInequalities:
    """What each test rests on, in random worlds with a few hidden types."""

    def test_differing_choices_are_errors(self) -> None:
        rng = np.random.default_rng(1)
        for _ in range(300):
            arms = int(rng.integers(2, 5))
            best = rng.integers(arms, size=8)
            group = rng.integers(8, size=40)
            arm = np.where(rng.random(40) < 0.3, rng.integers(arms, size=40), best[group])
            rows = np.zeros((8, arms))
            np.add.at(rows, (group, arm), 1.0)
            wrong = EqualCases(HERE, tuple(range(arms)), cells(rows), np.zeros(8, dtype=np.intp)).wrong.sum()
            assert wrong <= np.sum(arm != best[group])

    def test_rewards_of_equal_cases_are_behind_by_no_more_than_the_loss(self) -> None:
        """With rewards equal to their means, and no price, the gain is at most the loss of all rows."""
        rng = np.random.default_rng(2)
        attained = 0
        for _ in range(300):
            arms, groups = int(rng.integers(2, 4)), 5
            means = rng.random((groups, arms))
            rows = rng.integers(0, 4, (groups, arms)).astype(float)
            lost = float(np.sum(rows * (means.max(axis=1, keepdims=True) - means)))
            log = EqualCases(HERE, tuple(range(arms)), cells(rows, rows * means), np.zeros(groups, dtype=np.intp))
            gained, better, worse = log._gained(0.0)
            assert gained[0] <= lost + 1e-9
            assert better[0] != worse[0] or gained[0] == 0.0
            attained += gained[0] > 0.5 * lost
        assert attained > 30

    @pytest.mark.parametrize("odds", [1.0, 2.0, 7.0])
    def test_agreement_has_a_mean_of_at_most_0_and_its_range(self, odds: float) -> None:
        rng = np.random.default_rng(3)
        for _ in range(100):
            p, size = float(rng.uniform(0.05, 0.95)), int(rng.integers(2, 6))
            a, b = p / (p + odds * (1 - p)), odds * p / (odds * p + 1 - p)
            c, k = float(rng.uniform(a, b)), np.arange(size + 1)
            value = k * (k - 1) / (size * (size - 1)) - (a + b) * k / size + a * b
            assert stats.binom.pmf(k, size, c) @ value == pytest.approx(-(c - a) * (b - c), abs=1e-12)
            assert value.min() >= a * b - 0.5 * (a + b) - 1e-12
            assert value.max() <= max(a * b, (1 - a) * (1 - b)) + 1e-12

    def test_consistent_experts_refute_all_small_odds(self) -> None:
        rows = np.repeat([[2.0, 0.0], [0.0, 2.0]], 100, axis=0)
        agree = _Agreement(rows, 0, price=3.0)
        assert agree.refutes(1.0)
        assert agree.refutes(3.0)
        assert not agree.refutes(1e6)

    def test_low_rewards_need_errors(self) -> None:
        """Arms with means 0.1, 0.4 and 0.2, gap 0.3: errors in two thirds of the first and one third of the last."""
        counts = mb.logs.Counts(["all"], ["a", "b", "c"], **sums([[4e8] * 3], [[0.4e8, 1.6e8, 0.8e8]]))
        (one,) = refute(counts, ErringExpert(0.05, gap_low=0.3), method="bernstein").found
        least = float(one.allowed[0].removeprefix("errors of at least "))
        assert one.test == "low rewards"
        assert least == pytest.approx((2 / 3 + 1 / 3) / 3, abs=1e-3)

    def test_before_and_after_as_fisher_says(self) -> None:
        rng = np.random.default_rng(4)
        for _ in range(100):
            hits, more = rng.integers(0, 8, 2)
            size, more_size = hits + rng.integers(0, 8), more + rng.integers(1, 8)
            found = float(_two_sided(*(np.array([float(x)]) for x in (hits, size, more, more_size)))[0])
            table = np.array([[hits, size - hits], [more, more_size - more]])
            tails = [stats.fisher_exact(table, alternative=side).pvalue for side in ("less", "greater")]
            if size:
                assert np.exp(-found) == pytest.approx(min(1.0, 2.0 * min(tails)), rel=1e-6)

    def test_moved_means_are_rarer_than_said(self) -> None:
        """Against all ways to choose the rewards that come first."""
        rng = np.random.default_rng(5)
        for _ in range(30):
            rewards = rng.choice([0.0, 0.25, 0.5, 1.0], size=9)
            first = int(rng.integers(1, 9))
            found = []
            for chosen in itertools.combinations(range(9), first):
                early = rewards[list(chosen)]
                late = np.delete(rewards, list(chosen))
                sides = [cells([[x.size]], [[x.sum()]], [[x @ x]]) for x in (early, late)]
                found.append(float(_moved(*sides)[0, 0]))
            claimed = np.exp(-np.array(found))
            for level in np.unique(claimed):
                assert np.mean(claimed <= level + 1e-12) <= level + 1e-9


def cells(rows: Any, total: Any = None, squares: Any = None) -> Cells:
    own = np.asarray(rows, dtype=float)
    one = 0.5 * own if total is None else np.asarray(total, dtype=float)
    return Cells.without_values(own, one, one if squares is None else np.asarray(squares, dtype=float))


def sums(count: Any, total: Any) -> dict[str, Any]:
    return {"count": count, "total": total, "squares": total}


class TestWhatIsReported:
    def test_any_difference_refutes_an_expert_who_never_errs_if_one_arm_is_best(self) -> None:
        counts = counted(np.array([0, 1, 0, 0]), np.ones(4), case=np.array([1, 1, 2, 2]))
        assert not refute(counts, OptimalExpert(), equal_cases="case")
        (one,) = refute(counts, OptimalExpert(gap_low=0.01), equal_cases="case").found
        assert one.reason.endswith("at least 1 of 4 were not the best one, and none may be")
        assert one.allowed == ("gap_low of at most 0",)
        assert one.context == "all"

    def test_a_loss_is_allowed_from_errors_times_the_gap(self) -> None:
        arm = np.array([0, 1] * 50 + [0, 0] * 50)
        counts = counted(arm, np.full(200, 0.5), case=np.arange(200) // 2)
        (errors,) = refute(counts, ErringExpert(0.02, gap_low=0.2), equal_cases="case").found
        (loss,) = refute(counts, NearlyOptimalExpert(0.004, gap_low=0.2), equal_cases="case").found
        least = [float(one.allowed[0].split()[-1]) for one in (errors, loss)]
        assert least[1] == pytest.approx(0.2 * least[0], rel=1e-2)
        assert loss.allowed[0].startswith("loss of at least")
        assert not refute(counts, ErringExpert(least[0] + 1e-3, gap_low=0.2), equal_cases="case")

    def test_independent_rows_refute_more(self) -> None:
        """Ten descriptions with 40 rows each, of which six were decided otherwise."""
        arm = np.tile([1] * 6 + [0] * 34, 10)
        counts = counted(arm, np.full(400, 0.5), case=np.arange(400) // 40)
        assumed = ErringExpert(0.08, gap_low=0.2)
        assert not refute(counts, assumed, equal_cases="case")
        assert refute(counts, assumed, equal_cases="case", independent_rows=True)

    def test_contexts_are_named_and_also_judged_together(self) -> None:
        """Ten contexts with two differing pairs each: none alone is enough, all of them are."""
        zone = np.repeat(np.arange(10), 40)
        arm = np.tile([0, 1, 0, 1, *[0] * 36], 10)
        counts = counted(arm, np.full(400, 0.5), zone=zone, case=np.arange(400) // 2)
        (one,) = refute(counts, ErringExpert(0.01, gap_low=0.2), equal_cases="case").found
        assert one.context is None
        wrong = np.where(zone == 3, np.arange(400) % 2, arm)
        counts = counted(wrong, np.full(400, 0.5), zone=zone, case=np.arange(400) // 2)
        found = refute(counts, ErringExpert(0.03, gap_low=0.2), equal_cases="case").found
        assert [one.context for one in found] == [None, 3]

    def test_numbers_by_context(self) -> None:
        zone = np.repeat([0, 1], 200)
        arm = np.tile([0, 1, 0, 0, 0, 0, 0, 0], 50)
        counts = counted(arm, np.full(400, 0.5), zone=zone, case=np.arange(400) // 2)
        assumed = ErringExpert({0: 0.5, 1: 0.01}, gap_low=0.2)
        found = refute(counts, assumed, equal_cases="case").found
        assert [one.context for one in found] == [1]

    def test_joined_assumptions_are_tested_one_by_one_and_together(self) -> None:
        arm = np.array([0, 1] * 50 + [0, 0] * 50)
        counts = counted(arm, np.full(200, 0.5), case=np.arange(200) // 2)
        found = refute(counts, AnyExpert() & ErringExpert(0.02, gap_low=0.2), equal_cases="case")
        assert [one.assumption for one in found.found] == [ErringExpert(0.02, gap_low=0.2)]

    def test_everything_at_once(self) -> None:
        rng = np.random.default_rng(6)
        size = 2000
        case, who = np.arange(size) // 2, rng.integers(0, 3, size)
        month, arm = rng.integers(1, 8, size), rng.integers(0, 2, size)
        reward = rng.random(size) < 0.2 + 0.6 * (month > 4)
        counts = counted(arm, reward, zone=case % 2, case=case, who=who, month=month)
        lot = counted(arm, rng.random(size) < 0.9, zone=case % 2)
        assumed = ErringExpert(0.05, gap_low=0.1) & MarginalSensitivity(1.5)
        columns: dict[str, Any] = {"equal_cases": "case", "decider": "who", "time": "month", "randomised": lot}
        found = refute(counts, assumed, **columns)
        assert len(found.tests) == 10
        assert {"rewards over time", "choices in equal cases", "randomised part"} <= {one.test for one in found.found}
        over_time = next(one for one in found.found if one.test == "rewards over time")
        assert over_time.assumption is None
        assert "before 5" in over_time.reason
        assert over_time.claim == "in each context the rows are independent draws from one law"
        frame = found.to_frame()
        assert len(frame) == len(found.found)
        assert "not confirmed" in found.summary()

    def test_propensities_and_other_columns(self) -> None:
        rng = np.random.default_rng(7)
        size = 4000
        tried = rng.random(size) < 0.25
        arm, month = tried.astype(int), rng.integers(1, 4, size)
        reward = rng.random(size) < np.where(tried, 0.8, 0.3)
        log = pd.DataFrame({"arm": arm, "chance": np.where(tried, 0.25, 0.75), "month": month, "reward": reward * 1})
        counts = mb.logs.read(log, context=["month", "chance"], arm="arm", reward="reward")
        right = KnownPropensity("chance", least=0.25)
        assert not refute(counts, right, time="month")
        found = refute(counts, right & OptimalExpert(), time="month")
        assert {one.test for one in found.found} == {"crossing bounds"}
        assert refute(counts, right & OptimalExpert(), decider="month").found

    def test_what_no_test_can_use_is_refused(self) -> None:
        log = pd.DataFrame({"arm": [0, 1, 1], "reward": [1, 0, 1], "weight": [0.5, 1.25, 1.0]})
        counts = mb.logs.read(log, arm="arm", reward="reward", weight="weight")
        with pytest.raises(BoundsError, match="weights of column 'weight' are not whole numbers"):
            refute(counts, OptimalExpert())
        with pytest.raises(BoundsError, match="leave overall=True out"):
            refute(counted(np.array([0, 1]), np.ones(2)), ErringExpert(0.1, overall=True))

    def test_a_log_of_counts_alone_says_so(self) -> None:
        counts = counted(np.array([0, 1]), np.ones(2))
        found = refute(counts, OptimalExpert())
        assert found.tests == ()
        assert "cannot speak against this" in found.summary()
        assert found.to_frame().empty

    def test_many_moments_are_cut_into_16_parts(self) -> None:
        rng = np.random.default_rng(8)
        moments = [f"2024-01-{day:02d}" for day in range(1, 32)] * 3
        rows = rng.integers(1, 5, (93, 2)).astype(float)
        log = OverTime(World(("x", "y", "z"), 0, 1), (0, 1), cells(rows), np.repeat(np.arange(3), 31), moments)
        assert len(log.splits) == 15
        assert log.splits == sorted(log.splits)
        assert list(log.choices(goal=5.0)) == []

    @pytest.mark.parametrize(
        ("more", "words"),
        [
            ({"equal_cases": "nothing"}, "equal_cases is a column that the log was read with"),
            ({"time": "case", "decider": "case"}, "each column can be one of time, decider"),
            ({"method": "betting"}, "method must be one of"),
            ({"confidence": 1.0}, "confidence must be a probability"),
            ({"arms": ["a"]}, "leaves out: 'b'"),
        ],
    )
    def test_refused(self, more: dict[str, Any], words: str) -> None:
        counts = counted(np.array([0, 1]), np.ones(2), case=np.array([1, 1]))
        with pytest.raises(ValueError, match=words):
            refute(counts, OptimalExpert(), **more)

    def test_refused_counts(self) -> None:
        lab = mb.HiddenContexts([[[0.9, 0.4], [0.3, 0.6]]], [[0.5, 0.5]])
        with pytest.raises(mb.BoundsError, match="a log that is infinite cannot be tested"):
            refute(lab.counts(), OptimalExpert(0.1))
        counts = counted(np.array([0, 1]), np.ones(2))
        refused: list[tuple[Any, type[Exception], str]] = [
            (7, TypeError, "randomised must be the counts of a log"),
            (counted(np.array([0, 1]), np.ones(2), case=np.array([1, 1])), mb.BoundsError, "same range, columns"),
            (Counts(["all"], ["z"], **sums([[1]], [[1]])), mb.BoundsError, "other arms"),
        ]
        for lot, kind, words in refused:
            with pytest.raises(kind, match=words):
                refute(counts, OptimalExpert(), randomised=lot)

    def test_in_any_range_the_same(self) -> None:
        rng = np.random.default_rng(9)
        arm, case = rng.integers(0, 2, 800), np.arange(800) // 2
        reward = (rng.random(800) < np.where(arm == 0, 0.3, 0.6)).astype(float)
        unit = counted(arm, reward, case=case)
        own: dict[str, Any] = {
            "count": unit.count, "total": 1 * unit.count + 4 * unit.total,
            "squares": unit.count + 8 * unit.total + 16 * unit.squares,
        }  # fmt: skip
        stars = Counts(unit.contexts, unit.arms, **own, low=1.0, high=5.0, context_names=("case",))
        pairs: list[tuple[Assumption, Assumption]] = [
            (NearlyOptimalExpert(0.01), NearlyOptimalExpert(0.04)),
            (ErringExpert(0.02, gap_low=0.1), ErringExpert(0.02, gap_low=0.4)),
        ]
        for one, other in pairs:
            first, second = (refute(log, part, equal_cases="case") for log, part in ((unit, one), (stars, other)))
            assert [x.test for x in first.found] == [x.test for x in second.found]
            assert first


class TestCommandLine:
    def test_what_is_refuted(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        rng = np.random.default_rng(10)
        best = rng.integers(0, 2, 300)
        arm = np.where(rng.random((2, 300)) < 0.1, 1 - best, best).ravel()
        log = pd.DataFrame({"case": np.tile(np.arange(300), 2), "arm": arm, "reward": (rng.random(600) < 0.7) * 1})
        log.to_csv(tmp_path / "log.csv", index=False)
        lot = pd.DataFrame({"arm": arm, "reward": (rng.random(600) < 0.95) * 1})
        lot.to_csv(tmp_path / "lot.csv", index=False)
        command = ["refute", str(tmp_path / "log.csv"), "--arm", "arm", "--reward", "reward", "--equal-cases", "case"]
        command += ["--assume", "erring=0.02,gap-low=0.1", "--randomised", str(tmp_path / "lot.csv")]
        assert main([*command, "-o", str(tmp_path / "out.csv")]) == 0
        said = capsys.readouterr().out
        assert "What is not listed is not confirmed" in said
        assert "this test allows: errors of at least 0.0" in said
        assert "by the randomised part the mean of" in said
        assert "gap_low" not in said
        assert set(pd.read_csv(tmp_path / "out.csv")["test"]) == {"choices in equal cases", "randomised part"}

    def test_nothing_to_go_by(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (tmp_path / "log.csv").write_text("arm,reward\na,1\nb,0\n")
        assert main(["refute", str(tmp_path / "log.csv"), "--arm", "arm", "--reward", "reward"]) == 0
        assert "give --equal-cases, --time, --decider or --randomised" in capsys.readouterr().out

    def test_time_sorts_rows_and_may_leave_some_out(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        week = np.repeat(np.arange(30), 40)
        later = (week >= 15) & (np.arange(week.size) % 4 > 0)  # the habit changes after half of the time
        pd.DataFrame({"week": week, "arm": later * 1, "reward": 1}).to_csv(tmp_path / "log.csv", index=False)
        command = ["refute", str(tmp_path / "log.csv"), "--arm", "arm", "--reward", "reward", "--time", "week"]
        assert main(command) == 0
        assert "Nothing that was assumed is refuted" not in capsys.readouterr().out
        assert main([*command, "--until", "15", "--arms", "0", "1"]) == 0
        said = capsys.readouterr().out
        assert "600 rows" in said
        assert "Nothing that was assumed is refuted" in said
