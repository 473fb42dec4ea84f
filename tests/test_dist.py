"""The tool that builds and tries a release: what it compares, which Pythons it finds, what its smoke test demands."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from tools import dist, smoke
from tools.dist import Interpreter, Line

ROOT = Path(__file__).parents[1]
PROJECT = b'[project]\nversion = "1.0"\noptional-dependencies = {plots = [], all = [], test = []}\n'
FILES = {"pyproject.toml": PROJECT, "src/meanbounds/a.py": b"1", "README.md": b"2"}


def sdist_of(folder: Path, files: dict[str, bytes]) -> Path:
    path = folder / "meanbounds-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as packed:
        for name, content in {"PKG-INFO": b"", **files}.items():
            member = tarfile.TarInfo(f"meanbounds-1.0/{name}")
            member.size = len(content)
            packed.addfile(member, io.BytesIO(content))
    return path


def wheel_of(folder: Path, files: dict[str, bytes]) -> Path:
    path = folder / "meanbounds-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("meanbounds-1.0.dist-info/METADATA", "Name: meanbounds\nVersion: 1.0\n")
        for name, content in files.items():
            packed.writestr(name, content)
    return path


def test_archives_are_compared_with_head(tmp_path: Path) -> None:
    assert dist.sdist_differences(sdist_of(tmp_path, FILES), FILES) == []
    wheel = wheel_of(tmp_path, {"meanbounds/a.py": b"1"})
    assert dist.wheel_differences(wheel, FILES) == []
    assert dist.wheel_version(wheel) == "1.0"
    wrong = {**FILES, "README.md": b"other", "src/meanbounds/secret.py": b""}
    del wrong["pyproject.toml"]
    assert dist.sdist_differences(sdist_of(tmp_path, wrong), FILES) == [
        "pyproject.toml is missing",
        "src/meanbounds/secret.py is not in HEAD",
        "README.md differs from HEAD",
    ]
    packed = wheel_of(tmp_path, {"meanbounds/b.py": b"1"})
    assert dist.wheel_differences(packed, FILES) == ["meanbounds/a.py is missing", "meanbounds/b.py is not in HEAD"]


def test_extras_are_those_for_users() -> None:
    assert dist.extras(FILES) == ["plots", "all"]
    own = dist.extras({"pyproject.toml": (ROOT / "pyproject.toml").read_bytes()})
    assert {feature.extra for feature in smoke.FEATURES} == set(own) - {"all"}


def test_only_head_is_packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*arguments: str) -> None:
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True)

    git("init", "-q")
    (tmp_path / "kept.py").write_text("1")
    git("add", "kept.py")
    git("commit", "-qm", "first")
    assert dist.changes(tmp_path) == []
    (tmp_path / "kept.py").write_text("2")
    (tmp_path / "new.py").write_text("3")
    assert dist.files_of_head(tmp_path) == {"kept.py": b"1"}
    assert dist.changes(tmp_path) == [" M kept.py", "?? new.py"]
    monkeypatch.setattr(dist, "ROOT", tmp_path)
    with pytest.raises(
        SystemExit, match=r"differs from HEAD.* M kept\.py; \?\? new\.py\. Commit or remove it, or give --dirty"
    ):
        dist.main(["--tests", "none"])


@pytest.mark.skipif(sys.platform == "win32", reason="scripts of a shell")
def test_pythons_that_run_and_are_new_enough(tmp_path: Path) -> None:
    def python(folder: str, name: str, said: str, code: int = 0) -> None:
        path = tmp_path / folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\necho {said}\nexit {code}\n")
        path.chmod(0o755)

    python("a", "python3.10", "3 10 13 /usr")
    python("a", "python3.11", "3 11 2 /usr")
    python("a", "python3.12", "broken", 1)  # as a shim of pyenv
    python("a", "python3.11-config", "no")
    python("b", "python3.11", "3 11 7 /opt")
    python("b", "python3.13", "3 13 0 /opt")
    found = dist.interpreters(">=3.11", [str(tmp_path / "a"), str(tmp_path / "b"), str(tmp_path / "nowhere")])
    assert found == [
        Interpreter((3, 11, 7), str(tmp_path / "b" / "python3.11")),
        Interpreter((3, 13, 0), str(tmp_path / "b" / "python3.13")),
    ]
    assert str(found[0]) == "3.11.7"


def test_a_slow_import_and_a_wrong_feature_are_lines_that_fail() -> None:
    outcomes = [
        {"feature": "pictures", "extra": "plots", "right": True, "said": "works"},
        {"feature": "logs", "extra": "logs", "right": True, "said": 'pip install "meanbounds[logs]"'},
    ]
    good = {"import_seconds": 0.1, "decision_seconds": 0.6, "outcomes": outcomes}
    (line,) = dist.smoke_lines("wheel, [plots]", "3.11.7", good)
    assert line.right
    assert "second import 0.100 s" in line.said
    assert "works: pictures; 1 name the extra" in line.said
    bad = {"feature": "frames", "extra": "frames", "right": False, "said": "first\nlast"}
    slow = {"import_seconds": 0.6, "decision_seconds": 0.6, "outcomes": [*outcomes, bad]}
    lines = list(dist.smoke_lines("wheel", "3.11.7", slow))
    assert [line.right for line in lines] == [False, False]
    assert lines[1] == Line("wheel: frames", "3.11.7", False, "last")
    assert [text[:4] for text in dist.table([line, *lines]).splitlines()] == ["ok  ", "FAIL", "FAIL"]


def raising(error: Exception) -> smoke.Feature:
    def use(_: Path) -> None:
        raise error

    return smoke.Feature("some", "frames", ("no_such_package",), use)


@pytest.mark.parametrize(
    ("feature", "installed", "right", "said"),
    [
        (raising(ModuleNotFoundError('need x: pip install "meanbounds[frames]"')), "", True, "frames"),
        (raising(ModuleNotFoundError('need x: pip install "meanbounds[frames]"')), "frames", False, "does not install"),
        (raising(ModuleNotFoundError('need x: pip install "meanbounds[logs]"')), "", False, "logs"),
        (raising(ValueError("no")), "", False, "ValueError: no"),
        (smoke.Feature("some", "frames", ("no_such_package",), lambda _: None), "", False, "worked without"),
        (smoke.Feature("some", "frames", ("json",), lambda _: None), "frames", True, "works"),
        (smoke.Feature("some", "spark", ("no_such_package",), lambda _: None), "all", False, "worked without"),
    ],
)
def test_a_missing_extra_has_to_be_named(feature: smoke.Feature, installed: str, right: bool, said: str) -> None:
    outcome = smoke.tried(feature, installed)
    assert outcome.right is right
    assert said in outcome.said


def test_what_the_smoke_test_prints(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(smoke, "core", lambda _: None)
    monkeypatch.setattr(smoke, "FEATURES", (smoke.Feature("some", "frames", ("json",), lambda _: None),))
    monkeypatch.setattr(smoke, "_timed", lambda _: 0.25)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    smoke.main()
    found = json.loads(capsys.readouterr().out)
    assert found["import_seconds"] == 0.25
    assert found["outcomes"] == [{"feature": "some", "extra": "frames", "right": True, "said": "works"}]
