"""The frame of `meanbounds reproduce`: verdicts, parts that are kept, the report."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from scipy import stats

import meanbounds as mb
from meanbounds.cli import main
from meanbounds.paper import NAMES, comparison, compute, experiment, factor, finite, panels, report, verdicts
from meanbounds.paper.base import Claim, Work
from meanbounds.paper.report import reproduce
from meanbounds.paper.verdicts import Verdict, verdict
from meanbounds.simulation.blocks import Finished, Store
from meanbounds.simulation.pairs import sign_test
from meanbounds.support.locking import FolderInUseError, locked
from meanbounds.worlds import movielens
from tests.figures import beyond, smallest_letters
from tests.servers import browser

TINY = panels.Settings(horizon=300, runs=12)


class TestVerdicts:
    def test_each_verdict(self) -> None:
        assert verdict(True) == verdict(True, False) == "holds"
        assert verdict(False, True) == "holds after correction"
        assert verdict(False) == verdict(False, False) == "does not hold"

    @given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=60))
    def test_the_sign_test_is_exact(self, pairs: list[tuple[int, int]]) -> None:
        first, second = np.array(pairs, dtype=float).T
        found = sign_test(first, second)
        assert found.won + found.lost + found.tied == len(pairs)
        decided = found.won + found.lost
        expected = stats.binomtest(found.won, decided, alternative="greater").pvalue if decided else 1.0
        assert found.p_value == pytest.approx(expected, rel=1e-9)

    def test_pairs_that_are_none(self) -> None:
        with pytest.raises(ValueError, match=r"two lists of the same length, at least 1; got shapes \(2,\) and \(3,\)"):
            sign_test([1, 2], [1, 2, 3])

    def test_less_needs_both_the_mean_and_the_test(self) -> None:
        few = np.arange(200.0)
        assert verdicts.less(few, few + 1.0)
        assert not verdicts.less(few + 1.0, few)
        assert not verdicts.less(few, few)
        rare = few + 1.0
        rare[0] = -1e6  # smaller in the mean, though larger in all runs but one
        assert rare.mean() < few.mean()
        assert not verdicts.less(rare, few)
        assert not verdicts.less(few, rare)

    def test_less_is_wrong_as_rarely_as_it_says(self) -> None:
        """2,000 comparisons of 100 pairs that are alike: at most the limit that is passed with probability 1e-6."""
        rng = np.random.default_rng(1)
        pairs = rng.normal(size=(2000, 2, 100))
        false = sum(verdicts.less(first, second, level=0.01) for first, second in pairs)
        assert false <= stats.binom.isf(1e-6, 2000, 0.01)
        assert sum(verdicts.less(first, second, level=0.5) for first, second in pairs[:200]) > 50

    def test_rounding_is_not_above_a_bound(self) -> None:
        assert verdicts.under([0.1 + 0.2], [0.3])
        assert not verdicts.under([0.3001], [0.3])


class TestWork:
    @dataclasses.dataclass(frozen=True)
    class Settings:
        runs: int = 3

    def test_what_is_finished_is_not_computed_again(self, tmp_path: Path) -> None:
        made = []

        def make() -> pd.DataFrame:
            made.append(1)
            return pd.DataFrame({"x": [1.0, 2.0]})

        for _ in range(2):
            assert Work(tmp_path, self.Settings()).frame("part", make)["x"].tolist() == [1.0, 2.0]
        assert len(made) == 1
        Work(tmp_path, self.Settings(runs=4)).frame("part", make)
        assert len(made) == 2
        assert json.loads((tmp_path / "settings.json").read_text())["settings"] == {"runs": 4}

    def test_parts_of_other_code_are_not_used(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        Work(tmp_path, self.Settings()).frame("part", lambda: pd.DataFrame({"x": [1.0]}))
        monkeypatch.setattr("meanbounds.paper.base._code", lambda: "another")
        again = Work(tmp_path, self.Settings()).frame("part", lambda: pd.DataFrame({"x": [2.0]}))
        assert again["x"].tolist() == [2.0]

    def test_nothing_of_other_code_is_left(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Blocks of a simulation that was interrupted are not used either, and old pictures do not stay."""
        keep = Store.keep

        def interrupted(self: Store, finished: Finished) -> None:
            keep(self, finished)
            raise KeyboardInterrupt

        monkeypatch.setattr(Store, "keep", interrupted)
        with pytest.raises(KeyboardInterrupt):
            panels.run(TINY, Work(tmp_path, TINY))
        Work(tmp_path, TINY).write("old.png", lambda path: path.write_bytes(b""))
        assert list((tmp_path / "unfinished").glob("*.npz"))
        Work(tmp_path, TINY)
        assert list((tmp_path / "unfinished").glob("*.npz"))
        monkeypatch.setattr("meanbounds.paper.base._code", lambda: "another")
        Work(tmp_path, TINY)
        assert not [*tmp_path.glob("unfinished/*.npz"), *tmp_path.glob("*.png")]

    def test_files_of_the_user_stay(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Neither files that were there before nor files that came later, or were changed, are deleted or used."""
        own = [tmp_path / name for name in ("mine.parquet", "mine.pdf", "mine.png", "mine.npz", "unfinished/mine.npz")]
        (tmp_path / "unfinished").mkdir()
        (tmp_path / "part.parquet").write_text("not a table")
        for path in own:
            path.write_text("precious")
        work = Work(tmp_path, self.Settings())
        assert work.frame("part", lambda: pd.DataFrame({"x": [1.0]}))["x"].tolist() == [1.0]
        work.write("changed.png", lambda path: path.write_bytes(b"picture"))
        work.write("old.png", lambda path: path.write_bytes(b"picture"))
        (tmp_path / "changed.png").write_bytes(b"drawn over by hand")
        monkeypatch.setattr("meanbounds.paper.base._code", lambda: "another")
        Work(tmp_path, self.Settings())
        assert all(path.read_text() == "precious" for path in own)
        names = {"changed.png", "manifest.json", "mine.npz", "mine.parquet", "mine.pdf", "mine.png", "settings.json"}
        assert {path.name for path in tmp_path.iterdir()} == {*names, "unfinished"}

    @pytest.mark.parametrize("damage", ["[]", '{"../precious.txt": ""}', "{", '{"precious.txt": 5}', "[" * 100_000])
    def test_a_manifest_cannot_name_other_files(self, damage: str, tmp_path: Path) -> None:
        folder, precious = tmp_path / "work", tmp_path / "precious.txt"
        precious.write_text("")
        folder.mkdir()
        (folder / "manifest.json").write_text(damage)
        assert Work(folder, self.Settings()).frame("part", lambda: pd.DataFrame({"x": [1.0]})).shape == (1, 1)
        assert precious.exists()

    def test_a_damaged_part_is_computed_again(self, tmp_path: Path) -> None:
        path = tmp_path / "part.parquet"
        Work(tmp_path, self.Settings()).frame("part", lambda: pd.DataFrame({"x": [1.0]}))
        whole = path.read_bytes()
        for damaged in (whole[:-5], b"", whole[:20] + b"?" + whole[21:]):
            path.write_bytes(damaged)
            again = Work(tmp_path, self.Settings()).frame("part", lambda: pd.DataFrame({"x": [2.0]}))
            assert again["x"].tolist() == [2.0]

    def test_a_simulation_is_saved_before_its_blocks_are_removed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(regret: mb.Regret, path: Path) -> None:
            raise OSError(28, f"No space left on device for {regret.labels}", str(path))

        monkeypatch.setattr(mb.Regret, "save", full)
        with pytest.raises(OSError, match="No space left"):
            panels.run(TINY, Work(tmp_path, TINY))
        assert list((tmp_path / "unfinished").glob("*.npz"))

    def test_an_interrupted_experiment_goes_on_where_it_stopped(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Stopped at the third of eight simulations: two are kept, and the result is that of an undisturbed run."""
        simulate, calls = mb.simulate, []

        def interrupted(*args: Any, **more: Any) -> mb.Regret:
            calls.append(1)
            if len(calls) == 3:
                raise KeyboardInterrupt
            return simulate(*args, **more)

        monkeypatch.setattr(mb, "simulate", interrupted)
        with pytest.raises(KeyboardInterrupt):
            panels.run(TINY, Work(tmp_path / "a", TINY))
        assert len(list((tmp_path / "a").glob("*.parquet"))) == 2
        resumed = panels.run(TINY, Work(tmp_path / "a", TINY))
        assert len(calls) == 3 + 6
        whole = panels.run(TINY, Work(tmp_path / "b", TINY))
        for key, regret in whole.items():
            np.testing.assert_array_equal(regret.curves["GLUE"], resumed[key].curves["GLUE"])


class TestFactor:
    def test_claims_follow_the_numbers(self, tmp_path: Path) -> None:
        table = factor.run(factor.QUICK, Work(tmp_path, factor.QUICK))
        assert [c.verdict for c in factor.claims(table)] == [Verdict.HOLDS, Verdict.HOLDS, Verdict.CORRECTED]
        lower = table.assign(factor=table["variance"])
        assert factor.claims(lower)[0].verdict == Verdict.FAILS
        flat = table.assign(factor=0.2)
        assert factor.claims(flat)[1].verdict == Verdict.FAILS
        assert factor.claims(table.assign(printed=table["factor"]))[2].verdict == Verdict.HOLDS
        assert factor.claims(table.assign(corrected=0.0))[2].verdict == Verdict.FAILS


def of(claims: Sequence[Claim], *words: str) -> list[Verdict]:
    """Verdicts on the claims whose text has all these words."""
    found = [c.verdict for c in claims if all(word in f"{c.source} {c.text}" for word in words)]
    assert found
    return found


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> panels.Results:
    settings = panels.Settings(horizon=50_000, runs=60)
    return panels.run(settings, Work(tmp_path_factory.mktemp("panels"), settings))


class TestPanels:
    def test_every_claim_holds(self, results: panels.Results) -> None:
        """But for the theorem as printed, whose h(n) is too small."""
        claims = panels.claims(results)
        assert of(claims, "Theorem 6") == [Verdict.CORRECTED]
        assert {c.verdict for c in claims if c.source != "Theorem 6"} == {Verdict.HOLDS}

    @staticmethod
    def changed(results: panels.Results, name: str, label: str, curves: np.ndarray) -> panels.Results:
        """The same with other regret of one policy on one instance, for both laws."""
        new = dict(results)
        for law in panels.LAWS:
            old = results[name, law]
            new[name, law] = dataclasses.replace(old, curves={**old.curves, label: curves})
        return new

    @pytest.mark.parametrize(
        ("name", "label", "factor", "words"),
        [
            ("high-lower-bound", "GLUE", 2.0, ("3a", "GLUE has less regret than B-UCB")),
            ("high-lower-bound", "GLUE", 2.0, ("3a", "GLUE has less regret than ImprovedUCB")),
            ("high-lower-bound", "GLUE", 2.0, ("3a", "comparable to B-KL-UCB")),
            ("low-rewards", "GLUE", 1.01, ("3c", "coincide")),
            ("low-rewards", "B-KL-UCB", 3.0, ("3c", "B-KL-UCB has less regret")),
            ("clipping-only", "B-UCB", 1.01, ("3d", "coincide")),
            ("meta-pruned", "ImprovedUCB", 1.01, ("3b", "coincide")),
            ("clipping-only", "B-UCB", 3.0, ("B-UCB is not worse than UCB",)),
            ("low-rewards", "B-KL-UCB", 3.0, ("B-KL-UCB is not worse than KL-UCB",)),
            ("clipping-only", "GLUE", 3.0, ("GLUE is not worse than UCB",)),
            ("high-lower-bound", "GLUE", 20.0, ("Theorem 6",)),
        ],
    )
    def test_other_numbers_give_another_verdict(
        self, results: panels.Results, name: str, label: str, factor: float, words: tuple[str, ...]
    ) -> None:
        curves = factor * results[name, "Bernoulli"].curves[label]
        assert set(of(panels.claims(self.changed(results, name, label, curves)), *words)) == {Verdict.FAILS}

    def test_a_meta_pruned_arm_that_is_played_too_often(self, results: panels.Results) -> None:
        new = dict(results)
        for law in panels.LAWS:
            old = results["meta-pruned", law]
            new["meta-pruned", law] = dataclasses.replace(old, plays={**old.plays, "GLUE": old.plays["GLUE"] + 5000})
        assert of(panels.claims(new), "Figure 3b", "Arm 2 is meta-pruned") == [Verdict.FAILS]
        assert of(panels.claims(new), "Figure 3a", "Arm 3 is meta-pruned") == [Verdict.HOLDS]


class TestComparison:
    def test_claims_follow_the_numbers(self, tmp_path: Path) -> None:
        table = comparison.run(comparison.QUICK, Work(tmp_path, comparison.QUICK))
        assert {c.verdict for c in comparison.claims(table)} == {Verdict.HOLDS}
        assert len(table) == 8 * (len(mb.INSTANCES) + comparison.QUICK.instances) + comparison.QUICK.solved
        for label, times, words in (
            ("GLUE", 10.0, "never worse than that of UCB"),
            ("GLUE", 10.0, "never above that of B-UCB"),
            ("B-KL-UCB", 10.0, "is never above GLUE"),
            (comparison.PROGRAM, 1.1, "least possible"),
            ("GLUE", 0.9, "recovers the constant"),
        ):
            scale = np.where(table["algorithm"] == label, times, 1.0)
            assert of(comparison.claims(table.assign(constant=table["constant"] * scale)), words) == [Verdict.FAILS]


FEW = finite.Settings(instances=24, runs=12, rounds=(100, 1_000))


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    return finite.run(FEW, Work(tmp_path_factory.mktemp("finite"), FEW))


class TestFinite:
    def test_every_instance_is_compared(self, table: pd.DataFrame) -> None:
        assert len(table) == FEW.instances * len(finite.PAIRS) * len(FEW.rounds)
        assert not (table["worse"] & table["better"]).any()
        assert (table["constant"] <= table["plain_constant"] * (1 + 1e-12)).all()

    @pytest.mark.parametrize(
        ("share", "factor", "expected"),
        [(0.0, 1.0, Verdict.HOLDS), (0.5, 1.0, Verdict.CORRECTED), (0.5, 1.1, Verdict.FAILS)],
    )
    def test_claims_follow_the_numbers(
        self, table: pd.DataFrame, share: float, factor: float, expected: Verdict
    ) -> None:
        """Half of the instances are worse, or none; constants are those of the theory, or a tenth above."""
        worse = np.arange(len(table)) % 24 < 24 * share
        changed = table.assign(worse=worse, p_value=1.0, constant=factor * table["plain_constant"])
        assert {claim.verdict for claim in finite.claims(changed)} == {expected}

    def test_a_number_that_chance_explains_is_no_contradiction(self, table: pd.DataFrame) -> None:
        first = np.arange(len(table)) == 0
        once = table.assign(worse=first, p_value=np.where(first, 1e-3, 1.0), constant=table["plain_constant"])
        assert {claim.verdict for claim in finite.claims(once)} == {Verdict.HOLDS}
        assert "after 100 rounds in 1 of 24 (4.2%)" in finite.claims(once)[0].measured
        sure = finite.claims(once.assign(p_value=np.where(first, 1e-6, 1.0)))
        assert [claim.verdict for claim in sure] == [Verdict.CORRECTED, Verdict.HOLDS, Verdict.HOLDS]

    @pytest.mark.parametrize(("count", "trials", "level"), [(0, 5, 0.1), (1, 500, 1e-3), (7, 500, 1e-3), (3, 3, 0.5)])
    def test_chance_is_the_tail_of_a_binomial(self, count: int, trials: int, level: float) -> None:
        expected = stats.binomtest(count, trials, level, alternative="greater").pvalue
        assert verdicts.by_chance(count, trials, level) == pytest.approx(expected, rel=1e-9)


class TestCompute:
    @staticmethod
    def results(solved: float, ours: float, restricted: float) -> compute.Results:
        policies = {"B-UCB": 1.0, "ImprovedUCB": 1.0, "GLUE": 1.0, "B-KL-UCB": 0.0}
        rows = [
            {"instance": "a", "policy": label, "way": way, "nanoseconds": own or ratio}
            for way, ratio in ((compute.DEFINITION, solved), (compute.LOOPS, ours))
            for label, own in policies.items()
        ]
        times = ((compute.EVERY, restricted), (compute.KEPT, 1.0), (compute.NEEDED, 0.5))
        linear = [{"offered": n, "way": way, "nanoseconds": t} for n in (5, 10, 15) for way, t in times]
        return compute.Results(pd.DataFrame(rows), pd.DataFrame(linear))

    def test_claims_follow_the_numbers(self) -> None:
        holds, fails = Verdict.HOLDS, Verdict.FAILS
        assert [c.verdict for c in compute.claims(self.results(11.0, 1.5, 6.5))] == [holds, holds]
        assert [c.verdict for c in compute.claims(self.results(23.0, 11.0, 2.5))] == [fails, fails]
        assert "1.5 times with meanbounds' loops" in compute.claims(self.results(11.0, 1.5, 6.5))[0].measured

    def test_something_is_timed(self, tmp_path: Path) -> None:
        settings = compute.Settings(rounds=200, runs=1, turns=1, linear_rounds=5, warm_up=1, offered=(5,))
        results = compute.run(settings, Work(tmp_path, settings))
        assert np.all(results.stochastic["nanoseconds"] > 0.0)
        assert np.all(results.linear["nanoseconds"] > 0.0)
        assert set(compute.plot(results)) == {"ratios"}


class TestCommand:
    def test_list(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["reproduce", "--list"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert [line.split()[0] for line in lines] == list(NAMES)
        assert all(experiment(name).SOURCE in line for name, line in zip(NAMES, lines, strict=True))

    def test_own_files_stay(self, tmp_path: Path) -> None:
        own = [tmp_path / "factor" / name for name in ("data.parquet", "thesis.pdf", "photo.png", "unfinished.npz")]
        own[0].parent.mkdir()
        for path in own:
            path.write_text("precious")
        for _ in range(2):
            assert main(["reproduce", "factor", "--quick", "-o", str(tmp_path)]) == 0
        assert all(path.read_text() == "precious" for path in own)

    def test_one_process_at_a_time(self, tmp_path: Path) -> None:
        with locked(tmp_path), pytest.raises(FolderInUseError, match="another meanbounds process"):
            reproduce(["factor"], tmp_path, quick=True)

    def test_unknown_names(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["reproduce", "factr", "-o", str(tmp_path)]) == 2
        assert "nothing to reproduce is called 'factr'; there are factor, roful" in capsys.readouterr().err

    def test_files_of_movielens_are_looked_at_first(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        missing = str(tmp_path / "ml-1m")
        assert main(["reproduce", "--quick", "-o", str(tmp_path / "out"), "--movielens", missing]) == 2
        assert "there is nothing at" in capsys.readouterr().err
        assert not (tmp_path / "out").exists()

    def test_writes_everything(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["reproduce", "factor", "--quick", "-o", str(tmp_path)]) == 0
        names = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
        inside = {
            f"factor/{name}"
            for name in ("factor.parquet", "factor.png", "factor.pdf", "settings.json", "manifest.json")
        }
        assert names == inside | {"report.html", "claims.parquet", "claims.md"}
        said = capsys.readouterr().out
        assert "[1/1] factor" in said
        assert "2 holds, 1 holds after correction" in said
        table = pd.read_parquet(tmp_path / "claims.parquet")
        assert table["verdict"].tolist() == ["holds", "holds", "holds after correction"]


def test_the_report_in_a_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every picture is there, nothing is fetched, nothing is wider than the window or cut off at a picture's edge.

    On a window 390 pixels wide, text is at least 12 pixels high, and that of pictures at least 11.
    """
    small = movielens.Recipe(penalties=(3.0, 1.5), ranks=(4,), tolerance=1e-3, cut=None, arms=6)
    tiny: dict[str, dict[str, object]] = {
        "factor": {"means": 99},
        "roful": {"offered": (5, 10), "horizon": 200},
        "panels": {"horizon": 2000, "runs": 20},
        "comparison": {"instances": 20},
        "finite": {"instances": 12, "runs": 12, "rounds": (100, 200)},
        "occupations": {"users": 400, "movies": 80, "recipe": small},
        "movielens": {"users": 400, "movies": 80, "recipe": small, "horizon": 500, "runs": 2},
        "transfer": {"values": 1000, "draws": 20, "horizon": 60, "logs": 3, "left": 2},
        "compute": {"rounds": 500, "runs": 1, "linear_rounds": 10},
    }
    assert set(tiny) == set(NAMES)
    for name, changes in tiny.items():
        module = experiment(name)
        monkeypatch.setattr(module, "QUICK", dataclasses.replace(module.QUICK, **changes))
    letters: dict[str, float] = {}  # points of the smallest, over inches of the picture's width
    cut: dict[str, list[str]] = {}
    save = report._save

    def measured(figure: Figure, work: Work, name: str) -> bytes:
        share = smallest_letters(figure) / float(figure.get_size_inches()[0])
        letters[name] = min(share, letters.get(name, np.inf))  # two experiments have a picture "centred"
        cut.update({name: texts} if (texts := beyond(figure)) else {})
        return save(figure, work, name)

    monkeypatch.setattr(report, "_save", measured)
    path = reproduce([], tmp_path, quick=True, say=lambda _: None)
    assert not cut
    text = path.read_text(encoding="utf-8")
    assert not re.search(r'(src|href)="(?!data:|#)', text)
    with browser() as window:
        for width in (360, 390, 1200):
            tab = window.new_page(viewport={"width": width, "height": 800})
            failures: list[str] = []
            tab.on("console", lambda message, to=failures: to.append(message.text))
            tab.on("requestfailed", lambda request, to=failures: to.append(request.url[:80]))
            tab.goto(path.as_uri())
            assert not failures
            assert tab.evaluate("document.documentElement.scrollWidth") <= width
            pictures = tab.evaluate("[...document.images].map(i => [i.naturalWidth, i.clientWidth, i.alt])")
            assert len(pictures) == len(list(tmp_path.rglob("*.png"))) >= 19
            for real, shown, words in pictures:
                assert 0 < shown <= min(width, real)
                assert words
                assert shown / 72.0 * letters[words.rsplit(": ", 1)[1]] >= (11.0 if width >= 390 else 10.0)
            sizes = tab.evaluate(
                "[...document.querySelectorAll('p, td, th')].map(e => parseFloat(getComputedStyle(e).fontSize))"
            )
            assert min(sizes) >= 12
            assert "Theorem 6" in tab.inner_text("body")
            tab.close()
