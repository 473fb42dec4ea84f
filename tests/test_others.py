"""The page beside other packages: features are looked up, figures are those of the pages they come from."""

from __future__ import annotations

import dataclasses
import io
import tarfile
import zipfile
from pathlib import Path

import pytest
from benchmarks.others import __main__ as command
from benchmarks.others import facts, page
from benchmarks.others.facts import Fact, fact_of, holds, lookalikes, names_of, problems, read_facts, sources
from benchmarks.others.features import FEATURES, PACKAGES, SIMILAR, Documented, Feature, Package

ROOT = Path(__file__).parents[1]
PACKAGE = Package("some", "some", "a package", "some/")
FILES = {
    "some/ucb.py": "class UCB:\n    def pull(self, top_k): ...\n\ndef helper(): ...\n",
    "some/fast.pyx": "cdef class Thompson:\n    pass\n\ndef draw(double x): ...\n",
    "some/tests/test_x.py": "class Gittins: ...\n",
    "some.dist-info/METADATA": "Name: some\nLicense-Expression: MIT\nRequires-Python: >=3.9\n",
}


def test_the_page_is_what_the_command_writes(tmp_path: Path) -> None:
    """It fails after `make bench` or `make rivals` by hand: then `make others` brings the page up to date."""
    command.main(["-o", str(tmp_path / "others.md")])
    text = (tmp_path / "others.md").read_text(encoding="utf-8")
    assert text == page.PAGE.read_text(encoding="utf-8")
    assert max(len(line) for line in text.splitlines() if not line.startswith("|")) <= 120
    assert "(docs/others.md)" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_figures_are_read_from_their_pages() -> None:
    results, rivals = (path.read_text(encoding="utf-8") for path in (page.RESULTS, page.RIVALS))
    collected, found = read_facts()
    own = facts.own_sources(ROOT / "src" / "meanbounds")
    text = page.page(collected, found, results, rivals, own)
    river = next(row for row in page.read_table(page.section(results, "Simulation")) if row[""] == "river")
    assert f"| {' | '.join(river.values())} |" in text
    figure = river["W1: UCB, 5 arms"].rpartition(", ")[2]
    changed = page.page(collected, found, results.replace(figure, "987 ns"), rivals, own)
    assert "987 ns" in changed
    assert "987 ns" not in text
    kind, policies = next(iter(page.worlds(rivals).items()))
    best = policies[0]
    last = [name for name in best if name.replace(",", "").isdigit()][-1]
    assert f"| {kind} | {last} | " in text
    assert f"{best[last]} ({best['policy']})" in text
    without = {row["policy"]: row["no bounds"] for row in policies}
    row = next(line for line in text.splitlines() if line.startswith(f"| {kind} | {last} |"))
    assert f" {without['ThompsonSampling(settle=False)']} |" in row


def test_a_quick_look_is_called_one() -> None:
    _, found = read_facts()
    results, rivals = (path.read_text(encoding="utf-8") for path in (page.RESULTS, page.RIVALS))
    own = facts.own_sources(ROOT / "src" / "meanbounds")
    quick = rivals.replace("\n\n", "\n\n**A quick look with few worlds: play more.**\n\n", 1)
    assert "A quick look" in page.page("2026-01-01", found, results, quick, own)


def test_what_is_said_of_packages_is_complete() -> None:
    collected, found = read_facts()
    assert len(collected) == 10
    assert list(found) == sorted(package.name for package in PACKAGES)
    keys = [feature.key for feature in FEATURES]
    assert len(set(keys)) == len(keys)
    names = {package.name for package in PACKAGES}
    for feature in FEATURES:
        assert feature.theirs.keys() <= names
    for name, key in SIMILAR:
        assert name in names
        assert key in keys
    for package in PACKAGES:
        assert problems(package, found[package.name]) == []


def test_own_features_are_looked_up() -> None:
    own = facts.own_sources(ROOT / "src" / "meanbounds")
    assert page.ours(Feature("x", "x", "x", "bounds.py:MeanBounds"), own) == "**yes**"
    assert page.ours(Feature("x", "x", "x", None), own) == "-"
    with pytest.raises(SystemExit, match=r"src/meanbounds has no bounds\.py:Nothing"):
        page.ours(Feature("x", "x", "x", "bounds.py:Nothing"), own)


@pytest.mark.parametrize(
    ("evidence", "there"),
    [
        ("ucb.py", True),
        ("ucb.py:UCB", True),
        ("ucb.py:UCB.pull", True),
        ("ucb.py:UCB.pull(top_k)", True),
        ("ucb.py:UCB.pull(other)", False),
        ("ucb.py:UCB.push", False),
        ("fast.pyx:draw", True),
        ("gone.py:UCB", False),
    ],
)
def test_evidence_is_looked_up(evidence: str, there: bool) -> None:
    assert holds(FILES, "some/", evidence) is there


def test_names_that_look_like_a_feature() -> None:
    assert lookalikes(FILES, "some/", Feature("u", "u", "UCB|ucb", None)) == ["some/ucb.py:ucb", "some/ucb.py:UCB"]
    assert lookalikes(FILES, "some/", Feature("g", "g", "Gittins", None)) == []  # only a test has it
    assert lookalikes(FILES, "some/", Feature("t", "t", r"double", None, in_text=True)) == ["some/fast.pyx"]
    assert [name for name, _ in names_of(FILES["some/fast.pyx"])] == ["Thompson", "draw"]


def test_what_has_to_be_looked_at_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = (
        Feature("a", "a", "x", None, {"some": "ucb.py:Gone"}),
        Feature("b", "b", "UCB", None),
        Feature("c", "c", "UCB", None, {"some": Documented("its README")}),
    )
    monkeypatch.setattr(facts, "FEATURES", wanted)
    fact = fact_of(PACKAGE, FILES, "1.0", "2026-01-01")
    assert (fact.requires_python, fact.license) == (">=3.9", "MIT")
    assert problems(PACKAGE, fact) == [
        "some 1.0 has no ucb.py:Gone (a)",
        "some 1.0 has names that look like b: some/ucb.py:UCB",
    ]
    assert [facts.has(PACKAGE, feature, fact) for feature in wanted] == ["-", "-", "says so"]


def test_archives_are_read(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "some-1.0-py3-none-any.whl", "w") as wheel:
        for name, text in FILES.items():
            wheel.writestr(name, text)
    with tarfile.open(tmp_path / "some-1.0.tar.gz", "w:gz") as sdist:
        for name, text in FILES.items():
            member = tarfile.TarInfo(f"some-1.0/{name}")
            member.size = len(text)
            sdist.addfile(member, io.BytesIO(text.encode()))
    assert sources(tmp_path / "some-1.0-py3-none-any.whl") == sources(tmp_path / "some-1.0.tar.gz") == FILES


def test_collected_facts_are_kept_only_if_nothing_is_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, found = read_facts()
    kept = tmp_path / "facts.json"
    monkeypatch.setattr(facts, "FACTS", kept)
    monkeypatch.setattr(facts, "looked_at", lambda package: found[package.name])
    facts.collect()
    assert read_facts(kept)[1] == found
    kept.unlink()

    def gone(package: Package) -> Fact:
        return dataclasses.replace(found[package.name], found={})

    monkeypatch.setattr(facts, "looked_at", gone)
    with pytest.raises(SystemExit, match=r"river .* has no bandit/ucb\.py:UCB \(ucb\)"):
        facts.collect()
    assert not kept.exists()
