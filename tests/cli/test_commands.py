from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import meanbounds as mb
from meanbounds.cli import main
from meanbounds.simulation.study import read_study
from meanbounds.support.locking import LOCK, locked

STUDY = """\
title = "GLUE against UCB"
policies = ["UCB", "GLUE", { policy = "ThompsonSampling", moments = 2, label = "TS, hopeful" }]
horizon = 300
runs = 20
seed = 7

[environment]
kind = "bernoulli"
means = [0.9, 0.8, 0.5]

[bounds]
lower = [0.8, 0.1, 0.1]
upper = [0.95, 0.95, 0.7]
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    return path


def test_simulate_writes_everything(study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert main(["simulate", str(study), "-o", str(out)]) == 0
    assert sorted(path.name for path in out.iterdir()) == ["regret.parquet", "regret.png", "summary.txt"]
    regret = mb.Regret.load(out / "regret.parquet")
    assert regret.labels == ("UCB", "GLUE", "TS, hopeful")
    direct = mb.simulate(
        read_study(study).policies,
        mb.Bernoulli([0.9, 0.8, 0.5]),
        read_study(study).bounds,
        horizon=300,
        runs=20,
        seed=7,
    )
    assert regret.final["TS, hopeful"].tolist() == direct.final["TS, hopeful"].tolist()
    assert regret.summary() in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("horizon = 300", "horizon = 300.5", ["line 3", "a whole number of rounds", "300.5"]),
        ("horizon = 300", "horizont = 300", ["line 3", "unknown key 'horizont'", "horizon"]),
        ("horizon = 300", "", ["horizon is missing", "whole number"]),
        ("horizon = 300", "horizon = = 3", ["not a TOML file", "line 3"]),
        ('"GLUE"', '"GULE"', ["line 2", "unknown policy 'GULE'", "GLUE"]),
        ('"GLUE"', '"UCB"', ["line 2", "'UCB' is used twice"]),
        ("moments = 2", "moments = 3", ["line 2", "moments must be 1 or 2"]),
        ("moments = 2", "prior = [2.0, 1.0]", ["line 2", "a prior is no longer a parameter", "a table [prior]"]),
        ("moments", "moment", ["line 2", "no parameter 'moment'"]),
        ('"bernoulli"', '"gauss"', ["line 8", "unknown kind 'gauss'", "bernoulli, uniform, beta, table"]),
        ("means = [0.9, 0.8, 0.5]", "mean = [0.9]", ["line 9", "no parameter 'mean'", "means"]),
        ("means = [0.9, 0.8, 0.5]", "", ["line 7", "bernoulli needs means"]),
        ("horizon = 300", "horizon = 0", ["line 3", "at least 1; got 0"]),
        ("seed = 7", "seed = -1", ["line 5", "at least 0; got -1"]),
        ('"UCB", "GLUE"', "5", ["line 2", "a name or a table", "got 5"]),
        ('policy = "ThompsonSampling", moments = 2', 'policy = "OSSB", epsilon = "a"', ["line 2", "epsilon"]),
        (
            "lower = [0.8, 0.1, 0.1]\nupper = [0.95, 0.95, 0.7]",
            "lower = [0.8]\nupper = [0.9]",
            ["line 11", "1 arms", "3"],
        ),
        ("means = [0.9, 0.8, 0.5]", "means = [0.9, 0.8, 1.5]", ["line 9", "arm 2", "1.5"]),
        ("lower = [0.8, 0.1, 0.1]", "lower = [0.8, 0.1, 0.9]", ["line 12", "arm 2", "0.9", "0.7"]),
        ("runs = 20", "runs = true", ["line 4", "whole number of runs"]),
    ],
)
def test_a_bad_study_gets_the_line_and_what_was_expected(
    study: Path, old: str, new: str, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    study.write_text(STUDY.replace(old, new))
    assert main(["simulate", str(study), "-o", str(study.parent / "out")]) == 2
    said = capsys.readouterr().err
    for word in ["meanbounds: ", str(study), *words]:
        assert word in said


def test_what_else_is_in_the_folder_stays(study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = tmp_path / "out" / "parts" / "data.csv"
    kept.parent.mkdir(parents=True)
    kept.write_text("precious")
    study.write_text(STUDY.replace("0.8, 0.5]", "0.05, 0.5]").replace("GLUE against UCB", r"regret $\\frac{"))
    assert main(["simulate", str(study), "-o", str(tmp_path / "out")]) == 0
    assert kept.read_text() == "precious"
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        "parts",
        "regret.parquet",
        "regret.png",
        "summary.txt",
    ]
    assert "meanbounds: warning: arm 1: its mean 0.05 is outside its bounds" in capsys.readouterr().err


def test_an_unusable_folder(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for output in (study, study / "below"):
        assert main(["simulate", str(study), "-o", str(output)]) == 2
        assert main(["demo", "-o", str(output)]) == 2
        assert str(study) in capsys.readouterr().err


def test_other_environments(study: Path) -> None:
    for kind, parameters in (("uniform", ""), ("beta", "concentration = 3.0"), ("table", "")):
        means = "values = [[0.9], [0.7, 0.9], [0.5]]" if kind == "table" else "means = [0.9, 0.8, 0.5]"
        text = STUDY.replace('kind = "bernoulli"\nmeans = [0.9, 0.8, 0.5]', f'kind = "{kind}"\n{means}\n{parameters}')
        study.write_text(text)
        assert type(read_study(study).environment).__name__.lower() == kind


def test_missing_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "nowhere.toml"]) == 2
    assert "nowhere.toml" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["proxy", "0.9"], "0.182047845325"),
        (["proxy", "0.2", "0.7"], "0.25"),
        (["proxy", "3", "--range", "1", "5"], "4"),
        (["prune", "0.7:0.95", "0.2:0.6"], "no"),
    ],
)
def test_small_helpers(arguments: list[str], shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 0
    assert capsys.readouterr().out.split()[-2 if shown == "no" else -1] == shown


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["proxy", "1.5"], "the mean 1.5 is not in order inside --range 0 1"),
        (["proxy", "1", "2", "3"], "3 numbers"),
        (["prune", "0.7-0.9"], "expected LOWER:UPPER"),
        (["prune", "0.9:0.7"], "arm 0: lower=0.9 is above upper=0.7"),
    ],
)
def test_small_helpers_refuse_nonsense(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert words in capsys.readouterr().err


def test_as_a_program() -> None:
    done = subprocess.run([sys.executable, "-m", "meanbounds", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"meanbounds {mb.__version__}\n"
    shown = subprocess.run([sys.executable, "-m", "meanbounds", "--help"], capture_output=True, text=True, check=True)
    assert "meanbounds simulate study.toml -o results" in shown.stdout


def test_import_is_light() -> None:
    """The package alone pulls in nothing; all its names neither plotting, data frames nor distributed computing."""
    heavy = ["matplotlib", "pandas", "pyarrow", "dask", "joblib", "rich"]
    code = f"""if True:
        import sys
        import meanbounds
        print([m for m in {[*heavy, "numpy", "numba"]} if m in sys.modules])
        meanbounds.Agent
        print([m for m in ("logs", "simulation", "theory", "worlds") if f"meanbounds.{{m}}" in sys.modules])
        from meanbounds import *
        print([m for m in {heavy} if m in sys.modules])
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]", "[]", "[]"]


@pytest.mark.parametrize("command", ["simulate", "demo", "lab", "reproduce"])
def test_two_processes_in_one_folder(
    command: str, study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second one says so, and leaves everything as it is."""
    what = {"simulate": [str(study)], "reproduce": ["factor", "--quick"]}.get(command, [])
    with locked(tmp_path / "out"):
        assert main([command, *what, "-o", str(tmp_path / "out")]) == 2
        assert [path.name for path in (tmp_path / "out").iterdir()] == [LOCK]
    said = capsys.readouterr().err
    assert f"{tmp_path / 'out'}: another meanbounds process is writing there" in said


@pytest.mark.parametrize("number", ["-5", "-0.5", "-1e6", "-1.5e-3", "-.5"])
def test_negative_numbers_are_no_options(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["proxy", number, "--range", number, "0"]) == 0
    assert main(["prune", f"{number}:0.5"]) == 2
    assert "lower=" in capsys.readouterr().err
