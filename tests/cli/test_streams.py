"""Whatever standard output and standard error lead to, files are written, and nothing but messages is shown."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import meanbounds as mb
from meanbounds.cli import main
from meanbounds.cli.streams import Output

ARMS = ["Zürich", "東京", "\x1b[31mred\x1b[0m", "=cmd|' /C calc'!A0", "@SUM(A1)", "+1-2", "back\u202ewards"]


def write_log(path: Path, arms: list[str], contexts: int = 1) -> Path:
    rows = [(f"{arms[z % len(arms)]}{z}", arm, k % 2) for z in range(contexts) for k in range(8) for arm in arms]
    pd.DataFrame(rows, columns=["context", "arm", "reward"]).to_csv(path, index=False)
    return path


def shell(command: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command line in bash; ``$meanbounds`` is the command."""
    variables = {**os.environ, "meanbounds": f"{sys.executable} -m meanbounds", **environment}
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], cwd=folder, env=variables, capture_output=True, check=False
    )


COMMAND = "$meanbounds bounds log.csv --context context --arm arm --reward reward -o out.json"


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        ("2>&-", 0),
        (">&-", 0),
        (">&- 2>&- <&-", 0),
        ("| head -1", 141),
        ("2>&1 | head -1", 141),
        ("| true", 141),
        ("> /dev/full", 2),
    ],
)
def test_files_are_written_whatever_becomes_of_the_output(ending: str, code: int, tmp_path: Path) -> None:
    write_log(tmp_path / "log.csv", ["a", "b"], contexts=600)  # more than the buffer of a stream
    done = shell(f"{COMMAND} {ending}", tmp_path)
    assert done.returncode == code, done.stderr
    assert len(mb.logs.load_bounds(tmp_path / "out.json")) == 600
    assert done.stderr == (b"" if code != 2 else done.stderr)
    assert done.stderr.count(b"\n") <= 1


@pytest.mark.parametrize(
    "command", ["--help | true", "--version | true", "nonsense 2>&1 | true", "proxy 7 2>&1 | true", "proxy 7 2>&-"]
)
def test_short_outputs_into_nothing(command: str, tmp_path: Path) -> None:
    assert shell(f"$meanbounds {command}", tmp_path).stderr == b""


def test_simulate_without_standard_error(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(
        'policies = ["UCB"]\nhorizon = 10\nruns = 2\n[environment]\nkind = "bernoulli"\nmeans = [0.5, 0.4]\n'
    )
    done = shell("$meanbounds simulate study.toml -o out 2>&-", tmp_path)
    assert done.returncode == 0
    assert b"written: " in done.stdout
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["regret.parquet", "regret.png", "summary.txt"]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_names_that_the_output_cannot_show(encoding: str, tmp_path: Path) -> None:
    write_log(tmp_path / "log.csv", ARMS)
    done = shell(f"{COMMAND}", tmp_path, PYTHONIOENCODING=encoding)
    assert done.returncode == 0, done.stderr
    (found,) = mb.logs.load_bounds(tmp_path / "out.json").values()
    assert set(found.arms) == set(ARMS)
    shown = done.stdout.decode(encoding)
    assert ("Zürich" if encoding != "ascii" else r"Z\xfcrich") in shown
    assert ("東京" if encoding == "utf-8" else r"\u6771\u4eac") in shown


def test_names_cannot_command_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = str(write_log(tmp_path / "log.csv", ARMS))
    columns = ["--context", "context", "--arm", "arm", "--reward", "reward"]
    assert main(["bounds", log, *columns]) == 0
    assert main(["sensitivity", log, *columns]) == 0
    assert main(["bounds", log, "--arm", "arm", "--reward", "reward", "--arms", ARMS[0]]) == 2
    assert main(["bounds", str(tmp_path / "no\x1b[2Jthing.csv"), "--arm", "arm", "--reward", "reward"]) == 2
    said = "".join(capsys.readouterr())
    assert r"\x1b[31mred" in said
    assert r"back\u202ewards" in said
    assert not set("\x1b\u202e\x07\r") & set(said)
    widths = {len(line) for line in said.splitlines() if line.startswith("-----")}
    assert widths


def test_cells_are_no_formulas_to_a_spreadsheet(tmp_path: Path) -> None:
    log = str(write_log(tmp_path / "log.csv", ARMS, contexts=len(ARMS)))
    out = tmp_path / "grid.csv"
    command = ["sensitivity", log, "--context", "context", "--arm", "arm", "--reward", "reward", "-o", str(out)]
    assert main(command) == 0
    text = out.read_text(encoding="utf-8")
    assert not set("\x1b\u202e\r") & set(text)
    cells = [cell for row in pd.read_csv(out, dtype=str).to_numpy().tolist() for cell in row if isinstance(cell, str)]
    assert any(cell.startswith("'=cmd") for cell in cells)
    for cell in cells:
        if cell.startswith(("=", "+", "-", "@")):
            float(cell)


def test_an_error_of_the_stream_is_kept_and_the_rest_dropped() -> None:
    class Broken(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError(32, "Broken pipe", text)

    output = Output(Broken())
    print("one", file=output)
    print("two", file=output, flush=True)
    assert isinstance(output.error, BrokenPipeError)
    assert (output.exit_code(0), output.exit_code(2)) == (141, 2)
    assert Output(io.StringIO()).exit_code(0) == 0


@pytest.mark.parametrize("package", ["matplotlib", "pyarrow"])
def test_a_missing_package_is_noticed_before_the_work(
    package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    study = tmp_path / "study.toml"
    study.write_text('policies = ["UCB"]\nhorizon = 10\n[environment]\nkind = "bernoulli"\nmeans = [0.5, 0.4]\n')
    monkeypatch.setitem(sys.modules, package, None)

    def never(*_: object, **__: object) -> mb.Regret:
        pytest.fail("computed without the package that saves or draws the result")

    monkeypatch.setattr(mb, "simulate", never)
    out = tmp_path / "out"
    for command in (["simulate", str(study), "-o", str(out)], ["demo", "-o", str(out)], ["reproduce", "-o", str(out)]):
        assert main(command) == 2
        assert package in capsys.readouterr().err
    assert not out.exists()


def test_pictures_of_a_log_need_matplotlib_before_the_log_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for command in ("bounds", "sensitivity"):
        assert main([command, "nowhere.csv", "--arm", "a", "--reward", "r", "--plot", str(tmp_path / "a.png")]) == 2
        assert "matplotlib" in capsys.readouterr().err


def test_results_survive_a_picture_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Blocks stay until everything is written: the same command then plays nothing."""
    study, out = tmp_path / "study.toml", tmp_path / "out"
    study.write_text(
        'policies = ["UCB"]\nhorizon = 10\nruns = 8\n[environment]\nkind = "bernoulli"\nmeans = [0.5, 0.4]\n'
    )
    with monkeypatch.context() as patch:
        patch.setattr("meanbounds.plots.plot_study", lambda *_: (_ for _ in ()).throw(ValueError("no picture")))
        assert main(["simulate", str(study), "-o", str(out)]) == 2
    assert "no picture" in capsys.readouterr().err
    assert list((out / ".meanbounds-parts").glob("*.npz"))
    with monkeypatch.context() as patch:
        patch.setattr(sys.modules["meanbounds.simulation.run"], "_play", None)
        assert main(["simulate", str(study), "-o", str(out)]) == 0
    assert sorted(path.name for path in out.iterdir()) == ["regret.parquet", "regret.png", "summary.txt"]
