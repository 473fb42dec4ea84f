"""The figures and tables of the paper that need no simulation: files are written, claims get the right verdicts."""

import csv
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXPECTED = {
    "factor": ["holds", "holds", "holds after correction"],
    "table1": ["holds"] * 5,
}


@pytest.mark.parametrize("name", EXPECTED)
def test_files_and_verdicts(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    monkeypatch.setattr(sys, "argv", [name, "--out", str(tmp_path / "new"), "--quick"])
    experiment, output = import_module(f"paper.{name}").main, import_module("paper.output")
    output.command("", experiment)
    said = [line for line in capsys.readouterr().out.splitlines() if not line.startswith(" ")]
    assert [line.split(":")[0] for line in said[:-1]] == EXPECTED[name]
    with (tmp_path / "new" / f"{name}.csv").open(encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) >= 199
    assert (tmp_path / "new" / f"{name}.png").stat().st_size > 10_000
