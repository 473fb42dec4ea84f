"""Whatever needs a package that is not installed says which extra brings it."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import meanbounds as mb
from meanbounds.support.optional import EXTRAS, import_optional, optional

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "meanbounds"
# The gates of these rooms are tested below: nothing in them is imported, or run, before the room itself is.
GATED = ("plots", "paper", "cli", "service", "fits")
PACKAGES = {package for packages in EXTRAS.values() for package in packages} | {"polars", "py4j"}


def regret() -> mb.Regret:
    return mb.simulate({"UCB": mb.UCB()}, mb.Bernoulli([0.9, 0.8]), horizon=10, runs=2, seed=7)


COUNTS = mb.logs.Counts(["all"], ["a", "b"], count=[[2, 2]], total=[[1, 1]], squares=[[1, 1]])
USES: dict[str, tuple[str, str, Callable[[Path], Any]]] = {
    "MeanBounds.to_frame": ("pandas", "frames", lambda _: mb.MeanBounds([0.1], [0.2]).to_frame()),
    "Counts.to_frame": ("pandas", "frames", lambda _: COUNTS.to_frame()),
    "Sensitivity.to_frame": (
        "pandas",
        "frames",
        lambda _: mb.logs.sensitivity(COUNTS, gap_low=0.0, gap_high=1.0, infinite=True).to_frame(),
    ),
    "theory": ("pandas", "frames", lambda _: mb.theory.comparison([0.9], mb.MeanBounds.vacuous(1)).to_frame()),
    "Regret.to_frame": ("pandas", "frames", lambda _: regret().to_frame()),
    "Regret.save": ("pyarrow", "frames", lambda p: regret().save(p / "regret.parquet")),
    "Regret.load": ("pyarrow", "frames", lambda p: mb.Regret.load(p / "regret.parquet")),
    "log": ("pandas", "worlds", lambda _: mb.HiddenContexts([[[0.9, 0.4]]]).log(10, seed=1)),
    "write_log": ("pyarrow", "worlds", lambda p: mb.HiddenContexts([[[0.9, 0.4]]]).write_log(p / "log.parquet", 10)),
    "stroke_trial": ("pandas", "worlds", lambda _: mb.stroke_trial()),
    "stroke_trial without pyarrow": ("pyarrow", "worlds", lambda _: mb.stroke_trial()),
    "read": ("duckdb", "logs", lambda p: mb.logs.read(a_log(p), arm="arm", reward="reward")),
    "read in Spark": ("pyspark", "spark", lambda p: mb.logs.read(a_log(p), arm="arm", reward="reward", engine="spark")),
    "read in PostgreSQL": (
        "psycopg",
        "postgres",
        lambda _: mb.logs.read("log", arm="arm", reward="reward", engine="postgres", connection="host=nowhere"),
    ),
    "simulate on Dask": (
        "distributed",
        "distributed",
        lambda _: mb.simulate(mb.UCB(), mb.Bernoulli([0.9, 0.8]), horizon=10, runs=2, backend="dask"),
    ),
    "experiment": ("pandas", "frames", lambda _: __import__("meanbounds.paper").paper.experiment("factor")),
}


def a_log(folder: Path) -> Path:
    (folder / "log.csv").write_text("arm,reward\na,1\n")
    return folder / "log.csv"


@pytest.mark.parametrize("use", USES)
def test_a_missing_package_is_named_with_its_extra(use: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package, extra, work = USES[use]
    for module in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)  # what Python takes for a package that is not there
    with pytest.raises(
        ModuleNotFoundError, match=rf'need {package}, .* pip install "meanbounds\[{extra}\]"$'
    ) as caught:
        work(tmp_path)
    assert caught.value.name == package


@pytest.mark.parametrize(
    ("package", "extra", "module"),
    [
        ("matplotlib", "plots", "plots"),
        ("matplotlib", "plots", "paper"),
        ("scipy", "worlds", "worlds.softimpute"),
        ("msgspec", "service", "service"),
        ("river", "river", "fits.river"),
        ("gymnasium", "gymnasium", "fits.gymnasium"),
    ],
)
def test_a_room_that_needs_a_package_names_the_extra(package: str, extra: str, module: str) -> None:
    code = f"import sys; sys.modules[{package!r}] = None; import meanbounds.{module}"
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    said = done.stderr.strip().splitlines()[-1]
    assert re.fullmatch(
        rf'ModuleNotFoundError: .* need {package}, which is not installed: pip install "meanbounds\[{extra}\]"', said
    )


def test_extras_are_those_of_the_package() -> None:
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for extra, packages in EXTRAS.items():
        assert {re.split(r"[^\w-]", requirement)[0] for requirement in stated[extra]} == set(packages)


def test_what_else_is_missing_is_not_ours_to_explain() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'no_such_package'$"), optional("frames", "frames"):
        __import__("no_such_package")
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'no_such_package'$"):
        import_optional("no_such_package", "logs", "logs")


def unguarded(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Imports of optional packages that are neither inside `optional` nor for types alone."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.With) and "optional(" in ast.unparse(node.items[0]):
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [name.name for name in node.names]
            if PACKAGES.intersection(name.split(".")[0] for name in names):
                yield node
        yield from unguarded(node)


def test_optional_packages_are_imported_in_one_way() -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for path in sorted(SOURCE.rglob("*.py"))
        if path.relative_to(SOURCE).parts[0] not in GATED
        for node in unguarded(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert found == []
