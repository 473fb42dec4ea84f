"""Hostile files and arguments: each command answers with one line and exit code 2, and writes nothing."""

from __future__ import annotations

import random
import shlex
import zipfile
from pathlib import Path

import pytest

import meanbounds as mb
from meanbounds.cli import COMMANDS, main

JUNK = random.Random(7).randbytes(5000)
STUDY = 'policies = ["UCB"]\nhorizon = 10\nruns = 2\n[environment]\nkind = "bernoulli"\nmeans = [0.5, 0.4]\n'

CONTENTS = {
    "empty": b"",
    "junk": JUNK,
    "zeros": b"\0" * 5000,
    "newlines": b"\n" * 5000,
    "deep": b"[" * 100_000,
    "deep-json": b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    "huge-number": b"arm,reward\na," + b"9" * 5000 + b"\n",
    "infinite": b"arm,reward\na,inf\nb,nan\n",
    "wrong-types": b'arm,reward\na,"{}"\nb,[1]\n',
    "parquet-head": b"PAR1" + JUNK,
    "parquet-ends": b"PAR1" + JUNK + b"\xff\xff\xff\x7fPAR1",
    "gzip-head": b"\x1f\x8b\x08\x00" + JUNK,
    "one-quote": b'arm,reward\n"a,1\n',
    "no-rows": b"arm,reward\n",
}


def make_files(folder: Path) -> None:
    """Write one file of each kind under each suffix."""
    for suffix in ("csv", "parquet", "toml", "json", "csv.gz", "zip", "dat"):
        for name, content in CONTENTS.items():
            (folder / f"{name}.{suffix}").write_bytes(content)
        (folder / f"directory.{suffix}").mkdir()
        (folder / f"dangling.{suffix}").symlink_to(folder / "nowhere")
        (folder / f"loop.{suffix}").symlink_to(folder / f"loop.{suffix}")
    with zipfile.ZipFile(folder / "other.zip", "w") as archive:
        archive.writestr("ml-1m/ratings.dat", JUNK)
    ratings = folder / "ratings"
    ratings.mkdir()
    for name in ("users.dat", "movies.dat", "ratings.dat"):
        (ratings / name).write_bytes(JUNK)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hostile")
    make_files(path)
    (path / "good.toml").write_text(STUDY)
    (path / "good.csv").write_text("arm,reward\na,1\nb,0\n")
    mb.Agent(mb.GLUE(), mb.MeanBounds([0.2, 0.3], [0.9, 0.8]), seed=7).save(path / "agent.json")
    return path


NAMES = [*CONTENTS, "directory", "dangling", "loop"]
LOGS = [f"{name}.{suffix}" for name in NAMES for suffix in ("csv", "parquet", "json", "csv.gz")]
STUDIES = [f"{name}.{suffix}" for name in NAMES for suffix in ("toml", "parquet")]
ARCHIVES = [*(f"{name}.zip" for name in NAMES), "other.zip", "ratings", "directory.csv", "junk.dat"]
ARGUMENTS = [
    *(f"bounds good.csv --arm arm --reward reward --{option} {number}"
      for option in ("gap-low", "gap-high", "confidence", "shift") for number in ("nan", "-1e308", "1e999")),
    *(f"sensitivity good.csv --arm arm --reward reward --{option} 0.5 {number}"
      for option in ("gap-low", "gap-high", "confidence", "shift") for number in ("nan", "-1e308", "1e999")),
    *(f"bounds good.csv --arm arm --reward reward --range 0 {number}" for number in ("nan", "1e999", "-1", "0")),
    "bounds good.csv --arm arm --reward nothing",
    "bounds good.csv --arm arm --reward reward --context arm arm",
    "bounds good.csv --arm arm --reward reward -o .",
    "bounds good.csv --arm arm --reward reward -o nowhere/out.json",
    "bounds good.csv --arm arm --reward reward -o good.toml/out.json",
    "bounds good.csv --arm arm --reward reward --plot picture.nonsense",
    "bounds good.csv --arm arm --reward reward --plot .",
    "sensitivity good.csv --arm arm --reward reward -o .",
    "sensitivity good.csv --arm arm --reward reward -o nowhere/out.csv",
    "refute good.csv --arm arm --reward reward --time nothing",
    "refute good.csv --arm arm --reward reward --time arm",
    "refute good.csv --arm arm --reward reward --randomised nowhere.csv",
    *(f"refute good.csv --arm arm --reward reward --confidence {number}" for number in ("nan", "1", "-1e308", "1e999")),
    "start good.csv --arm arm --reward reward -o .",
    "start good.csv --arm arm --reward reward -o nowhere/agent.json",
    *(f"start good.csv --arm arm --reward reward -o agent.json --trust {number}" for number in ("nan", "2", "-1e308")),
    "simulate good.toml -o good.csv",
    "simulate good.toml -o good.csv/below",
    "simulate good.toml --backend nonsense -o out",
    "demo -o good.csv",
    "demo -o good.csv/below",
    "lab -o good.csv",
    "lab -o out --rows 0",
    "lab -o out --rows -1",
    "lab -o out --arms 0",
    "lab -o out --arms 1",
    "lab -o out --hidden 0",
    "lab -o out --visible -5",
    "lab -o out --seed -1",
    f"lab -o out --seed {2**63}",
    *(f"decide {name}" for name in ("nowhere.json", "good.csv", ".", "agent.json --context north")),
    "decide agent.json --eligible 7",
    "decide agent.json --id ''",
    "decide agent.json --events nowhere/events",
    *(f"reward {name}" for name in ("nowhere.json", "good.csv", "agent.json 1", "agent.json 1 1", "agent.json 1 nan")),
    f"lab -o out --arms {10**30}",
    f"lab -o out --hidden {10**13}",
    f"lab -o out --visible {10**13}",
    *(f"serve {name}.json" for name in NAMES),
    "serve agent.json --name a/b",
    "serve agent.json --store nonsense",
    *(f"serve --store sqlite::memory: {options}" for options in ("", "--share nan", "--wait -1", "--host 300.1.1.1.1")),
    *(f"{name} --store sqlite:{path}" for name in ("verify", "export -o out.parquet", "token --list")
      for path in ("junk.dat", "zeros.dat", "directory.dat", "nowhere/state.db")),
    *(f"{name} --store sqlite:{path}" for name in ("verify", "export --backup copy.db")
      for path in ("empty.dat", "dangling.dat", "good.toml", "missing.db")),
    *(f"clinic -o {name}" for name in ("good.csv", "out --patients 1", "out --workers 2", "out --store nonsense")),
    "clinic -o out --store sqlite:junk.dat",
    "export --store sqlite::memory:",
    "export --store sqlite::memory: -o nowhere/out.parquet",
    "token --store sqlite::memory: --scope everything",
    "token --store sqlite::memory: --scope decide --days nan",
    "token --store sqlite::memory: --revoke nothing",
    "reproduce factor -o good.csv",
    "reproduce nonsense -o out",
    *(f"proxy {number} --range 0 1" for number in ("nan", "1e999", "-1e308")),
    *(f"proxy 0.5 --range 0 {number}" for number in ("nan", "-1")),
    *(f"prune {number}" for number in ("nan:nan", "0:1e999", "1e999:1", ":", "0:1:2", "a:b", "-0.5:0.5")),
]  # fmt: skip
COMMAND_LINES = [
    *(f"bounds {name} --arm arm --reward reward" for name in LOGS),
    *(f"sensitivity {name} --arm arm --reward reward" for name in LOGS[::5]),
    *(f"refute {name} --arm arm --reward reward" for name in LOGS[::7]),
    *(f"evaluate {name}" for name in LOGS[::6]),
    *(f"explain {name} --arm arm --reward reward" for name in LOGS[::9]),
    *(f"simulate {name} -o out" for name in STUDIES),
    *(f"reproduce movielens --quick --movielens {name} -o out" for name in ARCHIVES),
    *ARGUMENTS,
]


@pytest.mark.parametrize("line", COMMAND_LINES)
def test_one_line_and_exit_code_2(
    line: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    before = sorted(folder.rglob("*"))
    assert main(shlex.split(line)) == 2
    said = capsys.readouterr().err
    assert said.startswith("meanbounds: ")
    assert said.count("\n") == 1
    assert len(said) < 2000
    assert sorted(folder.rglob("*")) == before


def test_every_command_is_tried() -> None:
    assert {line.split()[0] for line in COMMAND_LINES} == {command.name for command in COMMANDS}
