"""The pages that compare policies: every policy is in every table, and the words follow from the figures."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from benchmarks import gain, rivals, timing
from benchmarks.contenders import (
    COUNTERPARTS,
    EFFORT,
    FEWEST_RUNS,
    RECOMMENDED,
    contenders,
    share_of,
    starts_from_log,
)
from benchmarks.estimates import mean_limits, ratio_limits
from benchmarks.played import Played, Setting, play, release_seed, scaled
from scipy import stats

import meanbounds as mb
from meanbounds.worlds.kinds import KINDS, World

TINY = rivals.Size(dict.fromkeys(KINDS, 2), 2, (10, 30), 2, (10, 30), 1)
RARE = 1e-6


def small(setting: Setting, _share: float) -> Setting:
    return dataclasses.replace(setting, worlds=setting.worlds[:12], runs=10, rounds=(20, 40)[-len(setting.rounds) :])


def world(means: Sequence[float], lower: Sequence[float], upper: Sequence[float]) -> World:
    return World("some 0", mb.Bernoulli(means), mb.MeanBounds(lower, upper))


def made(informed: dict[str, np.ndarray], plain: dict[str, np.ndarray], drawn: bool = True) -> Played:
    """A result with these regrets after 10 rounds: worlds x runs."""
    worlds = [dataclasses.replace(world([0.9, 0.8], [0, 0], [1, 1]), name=f"w {k}") for k in range(20)]
    setting = Setting("some", "Some worlds.", worlds[: len(next(iter(informed.values())))], 12, (10,), drawn)
    return Played(setting, {k: v[..., None] for k, v in informed.items()}, {k: v[..., None] for k, v in plain.items()})


class TestContenders:
    def test_every_policy_without_required_arguments_is_there(self) -> None:
        labels = contenders()
        classes = [getattr(mb, name) for name in mb.__all__]
        policies = [cls for cls in classes if isinstance(cls, type) and issubclass(cls, mb.Policy)]
        for cls in policies:
            needs = any(
                field.default is field.default_factory is dataclasses.MISSING for field in dataclasses.fields(cls)
            )
            assert cls is mb.Policy or needs or cls.__name__ in labels
        assert {RECOMMENDED, "ThompsonSampling(moments=2)", *COUNTERPARTS, *COUNTERPARTS.values()} <= set(labels)

    def test_slow_policies_play_fewer_runs(self) -> None:
        assert share_of(mb.GLUE(), 40, FEWEST_RUNS) == 40
        assert share_of(mb.MINTS(), 400, FEWEST_RUNS) == round(400 * EFFORT["MINTS"])
        assert share_of(mb.MINTS(), 20, FEWEST_RUNS) == FEWEST_RUNS
        assert share_of(mb.MINTS(), 2, FEWEST_RUNS) == 2

    def test_what_slow_policies_are_spared(self) -> None:
        some = [world([0.9, 0.8], [0.7, 0.1], [0.95, 0.85]) for _ in range(8)]
        policies: dict[str, mb.Policy] = {str(p): p for p in (mb.GLUE(), mb.MINTS())}
        shapes = {}
        for spare in ("runs", "worlds", "nothing"):
            played = play(Setting("some", "", some, 48, (20,), spare=spare), policies, 7)
            shapes[spare] = [played.at(label, 20).shape for label in policies]
            one, other = played.pair(("GLUE", True), ("MINTS", True), 20)
            assert one.shape == other.shape == (played.at("MINTS", 20).shape[0],)
        assert shapes == {"runs": [(8, 48), (8, 10)], "worlds": [(8, 48), (2, 48)], "nothing": [(8, 48), (8, 48)]}

    def test_each_release_has_its_own_seed(self) -> None:
        assert [release_seed(version) for version in ("0.2.0", "0.2.1", "1.3.2", "2.0.0rc1")] == [
            200,
            201,
            10302,
            20001,
        ]


class TestEstimates:
    def test_means_over_worlds(self) -> None:
        regret = np.random.default_rng(1).gamma(2.0, size=(30, 8))
        low, high = stats.t.interval(0.95, 29, regret.mean(), stats.sem(regret.mean(axis=1)))
        found = mean_limits(regret, drawn=True)
        assert (found.value - found.reach, found.value + found.reach) == pytest.approx((low, high))

    def test_means_over_runs_in_one_world(self) -> None:
        regret = np.random.default_rng(1).gamma(2.0, size=(1, 30))
        low, high = stats.t.interval(0.95, 29, regret.mean(), stats.sem(regret[0]))
        found = mean_limits(regret, drawn=False)
        assert (found.value - found.reach, found.value + found.reach) == pytest.approx((low, high))

    def test_worlds_that_are_no_sample_add_no_variance(self) -> None:
        regret = np.random.default_rng(1).gamma(2.0, size=(4, 30))
        apart = regret + np.array([[0.0], [100.0], [200.0], [300.0]])
        assert mean_limits(apart, drawn=False).reach == pytest.approx(mean_limits(regret, drawn=False).reach)
        assert mean_limits(apart, drawn=True).reach > 50.0

    def test_ratios(self) -> None:
        second = np.random.default_rng(1).gamma(2.0, size=50)
        assert ratio_limits(0.5 * second, second) == pytest.approx((0.5, 0.0), abs=1e-12)
        assert np.isnan(ratio_limits(second, 0.0 * second)).all()

    def test_ratios_are_covered(self) -> None:
        """Of 2,000 intervals around a ratio of 2/3 no fewer cover it than a coverage of 93% passes but once in 1e6."""
        rng = np.random.default_rng(1)
        covered = 0
        for _ in range(2_000):
            size = rng.gamma(2.0, size=100)
            found = ratio_limits(size * rng.gamma(4.0, 0.5, 100), size * rng.gamma(4.0, 0.75, 100))
            covered += abs(found.value - 2.0 / 3.0) <= found.reach
        assert covered >= stats.binom.ppf(RARE, 2_000, 0.93)


class TestPlayed:
    def test_runs_are_those_of_simulate_with_bounds_and_without(self) -> None:
        some = world([0.9, 0.8], [0.7, 0.1], [0.95, 0.85])
        setting = Setting("some", "", [some], 4, (50, 200), drawn=False)
        policies: dict[str, mb.Policy] = {str(p): p for p in (mb.GLUE(), mb.UCB(), mb.BIMED(moments=2))}
        found, again = (play(setting, policies, 7) for _ in range(2))
        for label in policies:
            np.testing.assert_array_equal(found.informed[label], again.informed[label])
        seed = int(np.random.default_rng([7, 0]).integers(2**32))
        for scores, bounds in ((found.informed, some.bounds), (found.plain, some.nothing)):
            regret = mb.simulate(
                policies, some.environment, bounds, horizon=200, runs=4, seed=seed, checkpoints=(50, 200)
            )
            for label in policies:
                np.testing.assert_array_equal(scores[label][0], regret.curves[label])
        assert not np.array_equal(found.informed["GLUE"], found.plain["GLUE"])
        np.testing.assert_array_equal(found.informed["UCB"], found.plain["UCB"])

    def test_worlds_in_which_bounds_hurt(self) -> None:
        low, high = np.full((2, 12), 1.0), np.full((2, 12), 1.0)
        high[1] = 2.0
        played = made({"GLUE": high, "UCB": low}, {"GLUE": low, "UCB": low})
        assert played.worse("GLUE", 10) == {"w 1": (2.0, 1.0)}
        assert played.worse("GLUE", 10, than="UCB") == {"w 1": (2.0, 1.0)}
        assert played.worse("UCB", 10) == {}


class TestRivals:
    @pytest.fixture
    def quick(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(rivals, "QUICK", TINY)
        monkeypatch.setattr(rivals, "TIMED", 50)
        monkeypatch.setattr(timing, "SHORTEST_TURN", 1e-9)

    @pytest.mark.usefixtures("quick")
    def test_the_page_has_every_policy_in_every_table(self, tmp_path: Path) -> None:
        texts = []
        for name in ("a.md", "b.md"):
            rivals.main(["--quick", "-o", str(tmp_path / name)])
            texts.append((tmp_path / name).read_text(encoding="utf-8"))
        parts = texts[0].split("\n## ")
        # Left out: variants that play as the plain policy does, and policies that start from a log where there is none.
        always = [label for label, policy in contenders().items() if "(" not in label and not starts_from_log(policy)]
        assert len(parts) == 1 + len(KINDS) + 2 + 1
        for part in parts[1:]:
            for label in contenders():
                if label in always:
                    assert re.search(rf"^\| (\*\*)?{label}(\*\*)? \|", part, re.MULTILINE), (part[:40], label)
        assert any("moments=2" in part for part in parts[1:])
        without_costs = [text.partition("## What a round costs")[0] for text in texts]
        assert without_costs[0] == without_costs[1]
        assert max(len(line) for line in texts[0].splitlines() if not line.startswith("|")) <= 120
        for link in re.findall(r"\]\(#(.*?)\)", texts[0]):
            assert link in {rivals._anchor(part.partition("\n")[0]) for part in parts[1:]}

    def test_a_policy_that_wins_is_named(self) -> None:
        one = np.linspace(1.0, 2.0, 20)[:, None] + np.zeros((1, 12))
        played = made(
            {RECOMMENDED: 2.0 * one, "GLUE": one, "UCB": 3.0 * one},
            dict.fromkeys((RECOMMENDED, "GLUE", "UCB"), 2.0 * one),
        )
        assert rivals.shown(played) == ["GLUE", RECOMMENDED, "UCB"]
        assert rivals.winners(played) == ["`GLUE` (0.50 of its regret, less in 20 of 20 worlds)"]
        assert rivals.harmed(played) == ["`UCB` (1.50 times)"]
        assert f"Significantly better than `{RECOMMENDED}`: `GLUE`" in " ".join(rivals.words(played).split())
        reverse = made({RECOMMENDED: one, "GLUE": 2.0 * one}, {RECOMMENDED: one, "GLUE": 2.0 * one})
        assert f"No policy is significantly better than `{RECOMMENDED}`" in rivals.words(reverse)
        assert "The bounds make no policy significantly worse" in rivals.words(reverse)


class TestGain:
    def test_every_part_is_written(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(gain, "scaled", small)
        gain.main(["-o", str(tmp_path / "gain.md")])
        text = (tmp_path / "gain.md").read_text(encoding="utf-8")
        printed = capsys.readouterr().out.strip()
        assert printed.startswith("## ")
        assert text.strip().endswith(printed)
        assert re.findall(r"^## (.*)$", text, re.MULTILINE) == [part.title for part in gain.PARTS.values()]
        for part, written in zip(gain.PARTS.values(), text.split("\n## ")[1:], strict=True):
            for label in part.policies or COUNTERPARTS:
                assert f"| {label} |" in written, (written[:40], label)
        assert "| GLUE / UCB |" in text

    def test_parts_of_the_whole_leave_the_page_alone(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(gain, "scaled", small)
        monkeypatch.setattr(gain, "PAGE", tmp_path / "gain.md")
        gain.main(["d"])
        assert "Small cases" in capsys.readouterr().out
        assert not (tmp_path / "gain.md").exists()

    def test_a_share_keeps_what_the_tests_need(self) -> None:
        setting = Setting("some", "", [world([0.9, 0.8], [0, 0], [1, 1])] * 50, 40, (10,))
        assert len(scaled(setting, 0.1).worlds) == 5
        assert scaled(dataclasses.replace(setting, drawn=False), 0.01).runs == FEWEST_RUNS

    def test_shares_of_worlds_follow_the_figures(self) -> None:
        low = np.ones((4, 12))
        high = np.array([[1.0], [2.0], [1.05], [0.5]]) * low
        played = made({"GLUE": high, "UCB": low}, {"GLUE": low, "UCB": low})
        assert gain._worse(played, "GLUE", 10) == "50.0% (25.0%)"
        assert gain._where(played, "GLUE") == "GLUE: w 2; the most in world w 1, 2.0 against 1.0."
        assert gain._where(played, "UCB") == "UCB: nowhere."
        few = made({"GLUE": high[:, :4]}, {"GLUE": low[:, :4]})
        assert gain._worse(few, "GLUE", 10) == "too few runs"

    def test_how_many_worlds_chance_explains(self) -> None:
        """As many as a binomial with 500 trials exceeds with probability 0.1%, and no fewer."""
        limit = gain._limit(500)
        assert stats.binom.sf(limit - 1, 500, 1e-3) <= 1e-3 < stats.binom.sf(limit - 2, 500, 1e-3)
