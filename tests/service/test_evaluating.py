"""From a service to its export, and from there to what policies are worth: the values are those of the log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import meanbounds as mb
from meanbounds.cli import main
from meanbounds.service import Client, open_store
from tests.service.made import a_book, contextual, running, until

Row = dict[str, Any]


def traffic(client: Client, rows: list[Row], count: int, name: str) -> None:
    """Decisions whose rewards come, do not come, or are given up; what was said is noted in rows."""
    rng = np.random.default_rng(len(rows) + 1)
    for number in range(count):
        context = f"c{number % 2}"
        said = client.decide(context, request_id=f"{name} {number}")
        row = {"context": context, **said, "reward": None, "state": "expired"}
        if number % 7 == 3:
            client.censor(said["decision_id"])
            row["state"] = "censored"
        elif number % 5:
            row["arm"] = said["arm"] or "b"
            row["reward"], row["state"] = float(rng.integers(3)) / 2.0, "rewarded"
            client.reward(said["decision_id"], row["reward"], arm=None if said["arm"] else "b")
        rows.append(row)


@pytest.fixture
def served(tmp_path: Path) -> tuple[str, list[Row]]:
    """A store, and all that its service said: policy, forced arms and a control, in every state."""
    address, rows = f"sqlite:{tmp_path / 'state.db'}", list[Row]()
    book = a_book(contextual(mb.ThompsonSampling(), contexts=2, floor=0.1), open_store(address), share=0.7)
    with running(book) as http, Client(str(http.base_url), agent="demo") as client:
        agent = "/v1/agents/demo"
        traffic(client, rows, 60, "first")
        client.call("PUT", f"{agent}/forced", {"arm": "c", "context": "c1"})
        traffic(client, rows, 20, "forced")
        client.call("DELETE", f"{agent}/forced?context=c1")
        traffic(client, rows, 40, "last")
        client.call("PATCH", f"{agent}/settings", {"wait": 0.01, "default_reward": 0.5})
        left = [row["decision_id"] for row in rows if row["state"] == "expired"]
        until(lambda: all(client.call("GET", f"/v1/decisions/{own}")["state"] == "expired" for own in left))
    return address, rows


def exported(address: str, path: Path, rows: str) -> Any:
    assert main(["export", "--store", address, "--rows", rows, "-o", str(path)]) == 0
    return pd.read_parquet(path)


def test_the_export_is_what_was_said(served: tuple[str, list[Row]], tmp_path: Path) -> None:
    address, rows = served
    table = exported(address, tmp_path / "all.parquet", "all")
    assert {row["reason"] for row in rows} == {"policy", "forced", "expert"}
    assert set(table.state) == {"rewarded", "expired", "censored"}
    for row, (_, own) in zip(rows, table.iterrows(), strict=True):
        assert (own.id, own.context, own.state, own.reason) == (
            row["decision_id"],
            row["context"],
            row["state"],
            row["reason"],
        )
        assert (None if pd.isna(own.arm) else own.arm) == row["arm"]
        for name in ("reward", "probability"):  # a default reward is none that was observed
            assert own[name] == row[name] or (row[name] is None and np.isnan(own[name]))
    assert (table[table.reason == "policy"].probability >= 0.1 - 1e-12).all()
    assert (table[table.reason == "forced"].probability == 1.0).all()


def test_evaluate_gives_the_values_of_the_log(served: tuple[str, list[Row]], tmp_path: Path) -> None:
    address, rows = served
    path, values = tmp_path / "decisions.parquet", tmp_path / "values.json"
    exported(address, path, "decisions")
    assert main(["evaluate", str(path), "--decider", "reason", "-o", str(values)]) == 0
    found = mb.logs.Evaluation.from_dict(json.loads(values.read_text()))
    own = [row for row in rows if row["reason"] != "expert"]
    names = ("context", "arm", "reward", "probability", "reason")
    context, arm, rewards, probability, decider = ([row[name] for row in own] for name in names)
    events = mb.logs.Events(context=context, arm=arm, reward=rewards, probability=probability, decider=decider)
    expected = mb.logs.evaluate(events)
    assert found.to_dict() == expected.to_dict()
    for reason in ("policy", "forced"):
        had = [row["reward"] for row in own if row["reason"] == reason and row["reward"] is not None]
        assert found[reason].value == pytest.approx(np.mean(had), abs=1e-12)


def test_the_log_counts_what_was_said(served: tuple[str, list[Row]], tmp_path: Path) -> None:
    """`logs.read` of an export counts the rows that were rewarded, and their rewards are those that were said."""
    address, rows = served
    frame = exported(address, tmp_path / "decisions.parquet", "decisions").dropna(subset=["reward"])
    counts = mb.logs.read(frame, context="context", arm="arm", reward="reward")
    own = [row for row in rows if row["reason"] != "expert" and row["reward"] is not None]
    assert counts.rows == len(own)
    for context in ("c0", "c1"):
        for arm in "abc":
            told = [row["reward"] for row in own if (row["context"], row["arm"]) == (context, arm)]
            chosen = frame[(frame.context == context) & (frame.arm == arm)]
            assert chosen.reward.tolist() == told
    experts = exported(address, tmp_path / "experts.parquet", "experts")
    control = [row for row in rows if row["reason"] == "expert" and row["reward"] is not None]
    assert experts.reward.tolist() == [row["reward"] for row in control]
    assert mb.logs.read(experts, context="context", arm="arm", reward="reward").rows == len(control)
