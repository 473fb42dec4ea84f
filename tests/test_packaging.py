"""Wheels hold what git tracks, source archives hold what the tests need, and extras name packages that are used."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


class Interface:
    """The part of hatchling's class that the hook uses."""

    def __init__(self, root: Path) -> None:
        self.root, self.app, self.warnings = str(root), self, list[str]()

    def display_warning(self, message: str) -> None:
        self.warnings.append(message)


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The class of the hook, on top of a stand-in for hatchling, which is there only during a build."""
    module = ModuleType("interface")
    vars(module)["BuildHookInterface"] = Interface
    monkeypatch.setitem(sys.modules, "hatchling.builders.hooks.plugin.interface", module)
    path = ROOT / PROJECT["tool"]["hatch"]["build"]["hooks"]["custom"]["path"]
    spec = importlib.util.spec_from_file_location("build_hook", path)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded.TrackedFiles


def test_untracked_files_are_not_packed(hook: Any, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text("*.nbc\n.gitignore\n")
    (tmp_path / "kernel.nbc").write_bytes(b"")
    hook(tmp_path).initialize("standard", {})
    (tmp_path / "secrets.py").write_text("")
    hook(tmp_path).initialize("editable", {})
    with pytest.raises(RuntimeError, match=r"git does not track secrets\.py: add them, or remove them"):
        hook(tmp_path).initialize("standard", {})
    subprocess.run(["git", "-C", str(tmp_path), "add", "secrets.py"], check=True)
    hook(tmp_path).initialize("standard", {})


def test_a_source_archive_needs_no_git(hook: Any, tmp_path: Path) -> None:
    (tmp_path / "new.py").write_text("")
    hook(tmp_path).initialize("standard", {})
    (tmp_path / ".git").write_text("nonsense")
    made = hook(tmp_path)
    made.initialize("standard", {})
    assert "cannot ask git" in made.warnings[0]


def test_the_source_archive_holds_everything_that_tests_read() -> None:
    packed = set(PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"])
    read = {"src", "tests", "docs", "benchmarks", "tools", "typings", "Makefile", "README.md", "CONTRIBUTING.md"}
    assert {f"/{name}" for name in read | {".ci", ".github", ".pre-commit-config.yaml", "CHANGELOG.md"}} <= packed
    for path in packed:
        assert (ROOT / path.removeprefix("/")).exists()


def test_extras_name_packages_that_are_used() -> None:
    """The source speaks of each package of an extra for users."""
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    extras = PROJECT["project"]["optional-dependencies"]
    for name in set(extras) - {"all", "test", "dev", "bench", "docs"}:
        packages = set(re.findall(r"^[\w-]+", "\n".join(extras[name]), re.MULTILINE))
        assert [package for package in packages if not re.search(rf"\b{package}\b", source)] == [], name
