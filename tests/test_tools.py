"""What the project's own tools say: the workflow, the hooks, and the measure of the source."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from tools.measure import comment_lines, docstring_lines, functions, measure, report

ROOT = Path(__file__).parents[1]
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
EXAMPLE = '''"""Two
lines."""

# alone
class Some:
    """One."""

    def method(self):  # after code
        """One."""
        def inner():
            return "# no comment"
        return inner
'''


def read(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def test_the_workflow_runs_what_make_has() -> None:
    jobs = read(".github/workflows/test.yml")["jobs"]
    assert jobs["test"]["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13"]
    commands = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    assert commands == ["make test", "make test-lowest"]
    assert {"test", "test-lowest", "lint", "size"} <= TARGETS


def test_the_lowest_python_is_tested_with_the_lowest_versions() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    jobs = read(".github/workflows/test.yml")["jobs"]
    lowest = next(step["with"]["python-version"] for step in jobs["lowest"]["steps"] if "with" in step)
    assert project["requires-python"] == f">={lowest}" == f">={jobs['test']['strategy']['matrix']['python'][0]}"
    extras = project["optional-dependencies"]
    for requirement in [*project["dependencies"], *(r for name in extras if name != "dev" for r in extras[name])]:
        assert "meanbounds[" in requirement or re.search(r"[>=]=\d", requirement), f"{requirement} has no lower bound"


def test_hooks_are_local_and_run_the_tools_of_the_linter() -> None:
    (repository,) = read(".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == "local"
    entries = [hook["entry"] for hook in repository["hooks"]]
    assert [entry.split()[0].removeprefix(".venv/bin/") for entry in entries] == [
        "ruff",
        "ruff",
        "mypy",
        "lint-imports",
    ]
    assert all(hook["language"] == "system" for hook in repository["hooks"])


def test_measure_counts_by_hand() -> None:
    """By hand: docstrings have 2 + 1 + 1 lines; two comments; `method` has 5 lines, 4 without its docstring."""
    tree = ast.parse(EXAMPLE)
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    assert sum(docstring_lines(node) for node in ast.walk(tree) if isinstance(node, kinds)) == 4
    assert comment_lines(EXAMPLE) == 2
    assert [tuple(function) for function in functions(tree, "m")] == [
        (5, 4, "m.Some.method"),
        (2, 2, "m.Some.method.inner"),
    ]


def test_measure_reports(tmp_path: Path) -> None:
    (tmp_path / "some.py").write_text(EXAMPLE)
    assert measure(tmp_path / "some.py").lines == 12
    text = report([tmp_path])
    assert re.search(r"all +12 lines\n", text)
    assert re.search(r"docstrings +4 lines +33\.3%", text)
    assert "4  some.Some.method\n" in text
    with pytest.raises(SystemExit, match="no Python file"):
        report([tmp_path / "nowhere"])


def test_measure_is_a_program() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "measure.py", ROOT / "tools"], capture_output=True, text=True, check=True
    )
    assert "measure.py" in done.stdout
