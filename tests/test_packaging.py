"""Wheels hold what git tracks, source archives hold what the tests need, and extras name packages that are used."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import meanbounds as mb

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
    read |= {"CITATION.cff", "RELEASING.md"}
    assert {f"/{name}" for name in read | {".ci", ".github", ".pre-commit-config.yaml", "CHANGELOG.md"}} <= packed
    for path in packed:
        assert (ROOT / path.removeprefix("/")).exists()


def test_names_are_those_that_type_checkers_are_told() -> None:
    """Names are looked up when they are first asked for; type checkers read imports that never run."""
    tree = ast.parse((ROOT / "src" / "meanbounds" / "__init__.py").read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    told = [
        (node.module or "", name.name) for node in block.body if isinstance(node, ast.ImportFrom) for name in node.names
    ]
    assert sorted(name for _, name in told) == sorted(mb.__all__)
    for module, name in told:
        expected = import_module(f"{module}.{name}") if module == "meanbounds" else getattr(import_module(module), name)
        assert getattr(mb, name) is expected
    assert {*mb.__all__, "simulation"} <= set(dir(mb))
    with pytest.raises(AttributeError, match=r"^module 'meanbounds' has no attribute 'Agents'$"):
        mb.__getattr__("Agents")


def test_the_version_is_stated_once() -> None:
    """pyproject.toml has it, the package reads it from its metadata, CITATION.cff repeats it."""
    stated = PROJECT["project"]["version"]
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    assert cited is not None
    assert cited[1] == stated
    assert mb.__version__ == stated


def test_the_changelog_keeps_its_form() -> None:
    """Versions in falling order with dates, the newest of them this one or "Unreleased", and the usual parts."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    titles = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert titles[0] == "[Unreleased]" or titles[0].startswith(f"[{PROJECT['project']['version']}] - ")
    dated = titles[titles[0] == "[Unreleased]" :]
    found = [re.fullmatch(r"\[(\d+)\.(\d+)\.(\d+)\] - (\d{4}-\d\d-\d\d)", title) for title in dated]
    assert all(found), dated
    numbers = [tuple(map(int, one.groups()[:3])) for one in found if one]
    assert numbers == sorted(set(numbers), reverse=True)
    assert set(re.findall(r"^### (.*)$", text, re.MULTILINE)) <= {
        *("Added", "Changed", "Deprecated"),
        *("Removed", "Fixed", "Security"),
    }


@pytest.mark.parametrize(
    ("row", "module", "name"),
    [
        ("Agent.save", "agents.agent", "_FORMAT"),
        ("ContextualAgent.save", "agents.contextual", "_FORMAT"),
        ("ArtificialReplay.save", "agents.replay", "_FORMAT"),
        ("ContextBounds.save", "logs.context_bounds", "_FORMAT"),
        ("Counts.save", "logs.counts", "_FORMAT"),
        ("Regret.save", "simulation.regret", "_FORMAT"),
        ("stores of a service", "service.store", "VERSION"),
    ],
)
def test_formats_are_those_of_the_page(row: str, module: str, name: str) -> None:
    page = (ROOT / "docs" / "stability.md").read_text(encoding="utf-8")
    (line,) = (line for line in page.splitlines() if line.startswith("|") and re.search(rf"(^\| |`){row}", line))
    number = getattr(import_module(f"meanbounds.{module}"), name)
    assert line.split(" | ")[1] == str(number)
    assert line.split(" | ")[2].startswith(("1", "1 and 2", "1 to 3", "1 to 4")[number - 1])


def test_extras_name_packages_that_are_used() -> None:
    """The source speaks of each package of an extra for users."""
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    extras = PROJECT["project"]["optional-dependencies"]
    for name in set(extras) - {"all", "test", "dev", "bench", "docs"}:
        packages = set(re.findall(r"^[\w-]+", "\n".join(extras[name]), re.MULTILINE))
        assert [package for package in packages if not re.search(rf"\b{package}\b", source)] == [], name
