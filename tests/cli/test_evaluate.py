"""``meanbounds evaluate``: what it prints and writes is what the library says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import meanbounds as mb
from meanbounds.cli import main


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log of two contexts and two arms, in the working folder."""
    rng = np.random.default_rng(1)
    arm = rng.choice(["tPA", "watch"], 400)
    reward = (rng.random(400) < np.where(arm == "tPA", 0.8, 0.3)).astype(int)
    columns: dict[str, Any] = {"context": rng.choice(["old", "young"], 400), "arm": arm, "reward": reward}
    frame = pd.DataFrame(columns).assign(probability=0.5)
    frame.to_csv(tmp_path / "events.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "events.csv"


def printed(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert main(["evaluate", *arguments]) == code
    out, err = capsys.readouterr()
    return out if code == 0 else err


def test_the_table_is_that_of_the_library(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = mb.logs.evaluate(log, least=0.5).summary()
    assert expected in printed(capsys, str(log), "--least", "0.5")
    text = printed(capsys, str(log))
    assert text.startswith("400 rows, 2 contexts, 2 arms\n")
    assert "say so with --least:" in " ".join(text.split())


def test_the_range_is_that_of_the_agent_beside_the_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    stars = mb.MeanBounds([1.5, 2.0], [4.0, 4.5], arms=["a", "b"], low=1.0, high=5.0)
    for name, agent in (
        ("one", mb.Agent(mb.GLUE(), stars, seed=1)),
        ("two", mb.ContextualAgent(mb.GLUE(), {"old": stars, "young": stars}, seed=1)),
    ):
        agent.save(f"{name}.json")
        journal = mb.Journal(f"{name}.json")
        journal.reward(journal.decide("old" if name == "two" else None).id, 4.0)
        assert printed(capsys, f"{name}.events.jsonl") == printed(capsys, f"{name}.events.jsonl", "--range", "1", "5")
        (tmp_path / f"{name}.json").unlink()
        said = printed(capsys, f"{name}.events.jsonl", code=2)
        assert "go from 4 to 4, and the range is 0 to 1. Give the smallest and the largest reward" in said
    assert "--floor 0.05" in printed(capsys, "two.events.jsonl", "--range", "1", "5")


def test_policies_come_from_files(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("by_age.csv").write_text("context,arm,probability\nold,tPA,0.5\nold,watch,0.5\nyoung,tPA,\n")
    Path("table.json").write_text(json.dumps({"old": {"tPA": 0.5, "watch": 0.5}, "young": "tPA"}))
    Path("rows.json").write_text(json.dumps([{"context": "old", "arm": "tPA"}, {"context": "young", "arm": "tPA"}]))
    bounds = {z: mb.MeanBounds([0.6, 0.0], [0.9, 0.5], arms=["tPA", "watch"]) for z in ("old", "young")}
    mb.ContextualAgent(mb.GLUE(), bounds, seed=1).save("agent.json")
    mb.Agent(mb.GLUE(), bounds["old"], seed=1).save("single.json")
    files = ("by_age.csv", "table.json", "rows.json", "agent.json", "single.json")
    policies = [part for name in files for part in ("--policy", name)]
    printed(capsys, str(log), *policies, "-o", "values.json", "--arms", "tPA", "--against", "always tPA")
    found = mb.logs.Evaluation.load("values.json")
    assert [one.name for one in found] == ["agent", "always tPA", *files]
    assert found["by_age.csv"].ipw == found["table.json"].ipw
    for name in files[2:]:
        assert found[name].ipw == found["always tPA"].ipw
    assert found.against == "always tPA"


@pytest.mark.parametrize("contexts", [("old", "young"), None])
def test_the_journal_of_an_agent_is_read(
    contexts: tuple[str, ...] | None, log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Decisions, rewards and one that was given up, as meanbounds decide and reward write them."""
    del log
    bounds = mb.MeanBounds.vacuous(["a", "b"])
    made: mb.Agent | mb.ContextualAgent = mb.Agent(mb.ThompsonSampling(), bounds, seed=1, floor=0.1)
    if contexts is not None:
        made = mb.ContextualAgent(mb.ThompsonSampling(), dict.fromkeys(contexts, bounds), seed=1, floor=0.1)
    made.save("agent.json")
    journal = mb.Journal(Path("agent.json"))
    for turn in range(40):
        decision = journal.decide(None if contexts is None else contexts[turn % 2])
        if turn < 30:
            journal.reward(decision.id, float(decision.arm == "a"))
    journal.cancel(decision.id)
    text = printed(capsys, "agent.events.jsonl", "--least", "0.1", "--policy", "agent.json")
    assert text.startswith(f"40 rows, 10 of them pending, {'1 context' if contexts is None else '2 contexts'}, 2 arms")
    assert "agent.json" in text


def test_tables_are_written(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, str(log), "--each", "--confidence", "0.9", "-o", "values.csv", "--save-events", "all.csv")
    assert "Each pair of limits holds by itself with 90% confidence" in text
    assert pd.read_csv("values.csv")["name"].tolist() == ["agent", "always tPA", "always watch"]
    again = printed(capsys, "all.csv", "--each", "--confidence", "0.9")
    assert again in text


def test_columns_can_have_other_names(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = pd.read_csv(log)
    names = {"context": "age", "arm": "drug", "reward": "stars", "probability": "chance"}
    frame = frame.assign(reward=1 + 4 * frame["reward"], who=["agent", "doctor"] * 200, day=range(400)).rename(
        columns=names
    )
    frame.loc[frame["who"] == "doctor", "chance"] = None
    frame.to_csv("other.csv", index=False)
    columns = [part for old, new in names.items() for part in (f"--{old}", new)]
    text = printed(capsys, "other.csv", *columns, "--range", "1", "5", "--decider", "who", "--time", "day")
    assert "doctor" in text
    assert "200 rows have no probability" in text
    one = printed(
        capsys, "other.csv", *columns, "--range", "1", "5", "--decider", "who", "--time", "day", "--since", "200"
    )
    assert one.startswith("200 rows, 2 contexts, 2 arms")
    whole = printed(capsys, str(log), "--context")
    assert whole.startswith("400 rows, 1 context, 2 arms")


def test_logs_of_others_are_read(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = pd.read_csv(log)
    lines = [
        {"_label_cost": -reward, "_label_probability": 0.5, "_label_Action": 1 + (arm == "watch"), "a": [1, 2]}
        for arm, reward in zip(frame["arm"].tolist(), frame["reward"].tolist(), strict=True)
    ]
    Path("log.dsjson").write_text("\n".join(map(json.dumps, lines)))
    text = printed(capsys, "log.dsjson", "--format", "dsjson")
    assert text.startswith("400 rows, 1 context, 2 arms")
    own = printed(capsys, str(log), "--context").replace("always tPA", "always 1").replace("always watch", "always 2")
    assert text.replace("-", "").split() == own.replace("-", "").split()
    bandit = frame.assign(item_id=(frame["arm"] == "watch").astype(int), position=1).rename(
        columns={"reward": "click", "probability": "propensity_score"}
    )
    bandit.to_csv("bandit.csv", index=False)
    assert printed(capsys, "bandit.csv", "--format", "open-bandit").startswith("400 rows, 1 context, 2 arms")
    wrong = printed(capsys, "bandit.csv", "--format", "open-bandit", "--arm", "x", code=2)
    assert "--arm is for tables; --format open-bandit knows where its arm is" in wrong


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("context,drug\nold,tPA\n", "row 1: a policy has the columns context, arm and probability"),
        ("context,arm,probability\nold,tPA,often\n", "row 1: 'often' is no probability"),
        ("context,arm\n", "has no rows"),
        ("context,arm,probability\nold,tPA,0.4\n", "with the sum 1"),
    ],
)
def test_policies_that_cannot_be_read_are_refused(
    log: Path, capsys: pytest.CaptureFixture[str], text: str, says: str
) -> None:
    Path("policy.csv").write_text(text)
    assert says in printed(capsys, str(log), "--policy", "policy.csv", code=2)


def test_json_that_is_no_policy_is_refused(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("policy.json").write_text("{broken")
    assert "policy.json is no JSON file" in printed(capsys, str(log), "--policy", "policy.json", code=2)
    Path("policy.json").write_text("3")
    assert "holds neither an agent nor a table" in printed(capsys, str(log), "--policy", "policy.json", code=2)
