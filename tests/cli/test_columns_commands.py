"""Commands on a log with raw columns: from a tree of the log to decisions and what they earned."""

import csv
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import meanbounds as mb
from meanbounds import cli

LOG = "log.csv --columns age severity --unit patient --arm treatment --reward recovered"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log in which experts treat the old and the severe, where it helps."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    age, severe = rng.normal(65.0, 12.0, 4_000).round(1), rng.random(4_000) < 0.4
    treat = rng.random(4_000) < np.where((age >= 70.0) | severe, 0.9, 0.15)
    well = rng.random(4_000) < np.where(treat, np.where(age >= 70.0, 0.8, 0.3), 0.5)
    with Path("log.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["patient", "age", "severity", "treatment", "recovered"])
        for k in range(4_000):
            severity = "high" if severe[k] else "low"
            rows.writerow([k // 2, age[k], severity, "drug" if treat[k] else "watch", int(well[k])])
    return tmp_path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs a command line and returns what it prints; standard error if it fails."""

    def command(line: str, code: int = 0) -> str:
        capsys.readouterr()
        found = cli.main(shlex.split(line))
        out, err = capsys.readouterr()
        assert found == code, err
        return out if code == 0 else err

    return command


def test_from_raw_columns_to_what_was_earned(run: Any) -> None:
    said = run(f"start {LOG} -o clinic.db --name clinic --seed 7")
    asking = said.splitlines()[-1].removeprefix("Ask it with: meanbounds ")
    assert asking.startswith("decide clinic.db --context ")
    assert {"age=VALUE", "severity=VALUE"} == set(asking.split()[3:])
    said = run(asking.replace("age=VALUE", "age=81,5").replace("severity=VALUE", "severity=high") + " --id v1")
    with mb.Store("clinic.db") as store:
        agent = store["clinic"].agent
    assert agent.tree is not None
    leaf = agent.tree.leaf({"age": 81.5, "severity": "high"})
    assert said.startswith(f"context      {leaf}\n")
    assert "asked before" in run("decide clinic.db --context age=81.7 severity=high --id v1")
    assert "asked before" in run(f"decide clinic.db --context '{leaf}' --id v1")
    assert "context      unknown: severity\n" in run("decide clinic.db --context age=51 severity=worst")
    assert "unknown: " in run("decide clinic.db --context age= severity=")
    run("reward clinic.db v1 1" + " --arm drug" * ("experts" in said))

    with Path("more.csv").open("w", encoding="utf-8") as file:  # rows that a program wrote, with raw columns
        file.write("age,severity,arm,reward,probability\n")
        file.writelines(f"{50 + k % 40},{'high' if k % 3 else 'low'},watch,{k % 2},0.5\n" for k in range(400))
    agent.save("clinic.json")
    plain, stored = (
        run(f"evaluate more.csv --tree {file} --policy clinic.json") for file in ("clinic.json", "clinic.db")
    )
    assert plain == stored
    assert "400 decisions with a reward" in plain
    made = {"age": [81.0, 40.0] * 20, "severity": ["high", "low"] * 20, "arm": ["drug"] * 40, "reward": [1, 0] * 20}
    found = mb.logs.evaluate({**made, "probability": [0.5] * 40}, {"now": agent}, context=agent.tree)
    assert {*found.contexts} == {leaf, agent.tree.leaf({"age": 40, "severity": "low"})}
    assert [values[0].value for name, values in found.contexts.items() if name == leaf] == [1.0]
    beside = run("evaluate clinic.db --log log.csv --arm treatment --reward recovered")
    assert "1 decision with a reward" in beside
    assert "too narrow" in beside


def test_a_newer_log_brings_another_tree(run: Any) -> None:
    run(f"start {LOG} -o clinic.db --name clinic --seed 7")
    for k in range(3):
        if "experts" in run(f"decide clinic.db --context age=50 severity=low --id {k}"):
            run(f"reward clinic.db {k} 1 --arm watch")
    with mb.Store("clinic.db") as store:
        before = store["clinic"].agent
    assert before.observed()[0].sum() > 0
    assert "Added to the log: 3 cases" in run(f"start {LOG} -o clinic.db --name clinic")
    said = run(f"start {LOG} --where \"severity = 'high'\" -o clinic.db --name clinic")
    assert "Not added to the log: 3 cases in which the agent asked your experts since, in other contexts." in said
    with mb.Store("clinic.db") as store:
        after = store["clinic"].agent
    assert after.tree != before.tree
    assert after.observed()[0].tolist() == before.observed()[0].tolist()
    assert "context      " in run("decide clinic.db --context age=50")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("start log.csv --unit patient --arm treatment --reward recovered", "--unit says how to halve the log"),
        (f"start {LOG} --missing -1", "--missing"),
    ],
)
def test_mistakes_are_explained_in_options(line: str, said: str, run: Any) -> None:
    assert said in run(line, 2)


def test_columns_of_a_case_are_explained(run: Any) -> None:
    run(f"start {LOG} -o clinic.db --name clinic --seed 7")
    for line, said in (
        (
            "decide clinic.db --context age=60",
            "the tree asks about 'severity': write its name and = where it is not known",
        ),
        ("decide clinic.db --context 60 high", "a case of this agent is given by columns, such as --context age=VALUE"),
        ("decide clinic.db --context age=old severity=high", "age must be a number"),
        ("decide clinic.db --context age=60 severity=high age=80", "'age' is given twice"),
        ("decide clinic.db", "clinic decides by context: say which with --context"),
    ):
        assert said in run(line, 2)
    run(f"explain {LOG} --missing inf -o page.html")
    assert Path("page.html").stat().st_size > 10_000
