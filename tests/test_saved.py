"""What version 0.1 saved can be loaded, and an agent goes on as it would have done then: pending pulls do not count."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import meanbounds as mb

SAVED = Path(__file__).parent / "data" / "v0_1"
AGENTS = sorted(path.stem for path in (SAVED / "agents").glob("*.json"))
CONTEXTUAL = sorted(path.stem for path in (SAVED / "contextual").glob("*.json"))


def read(name: str) -> Any:
    return json.loads((SAVED / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", AGENTS)
def test_agents_go_on(name: str) -> None:
    saved = read(f"agents/{name}.json")
    agent = mb.Agent.from_dict(saved["agent"])
    pulled = []
    for offer, reward in zip(saved["offers"], saved["rewards"], strict=True):
        arm = agent.pull(offer, pending="ignore")
        agent.update(arm, reward)
        pulled.append(arm)
    assert pulled == saved["arms"]


@pytest.mark.parametrize("name", CONTEXTUAL)
def test_contextual_agents_go_on(name: str) -> None:
    saved = read(f"contextual/{name}.json")
    agent = mb.ContextualAgent.from_dict(saved["agent"])
    pulled = []
    for context, reward in zip(saved["contexts"], saved["rewards"], strict=True):
        key = tuple(context) if isinstance(context, list) else context
        arm = agent.pull(key, pending="ignore")
        agent.update(key, arm, reward)
        pulled.append(arm)
    assert pulled == saved["arms"]


def test_every_policy_was_saved() -> None:
    kept = {read(f"agents/{name}.json")["agent"]["policy"]["policy"] for name in AGENTS}
    assert kept == {
        *("UCB", "BUCB", "ImprovedUCB", "GLUE", "KLUCB", "BKLUCB", "UCBoost", "OSSB", "BIMED", "ThompsonSampling"),
        *("OFUL", "ROFUL"),
    }
    assert len(CONTEXTUAL) == 2


def test_bounds() -> None:
    bounds = mb.MeanBounds.from_dict(read("bounds.json"))
    assert list(bounds.arms) == ["a", "b", "c", "d", 5]
    assert bounds.lower.tolist() == [0.5, 0.1, -1.0, 0.2, 0.0]
    assert bounds.upper.tolist() == [0.95, 0.94, 0.3, 1.0, 0.4]
    assert bounds.low.tolist() == [0, 0, -1, 0, 0]
    assert bounds.high.tolist() == [1, 1, 1, 2, 1]


def test_bounds_by_context() -> None:
    written = {entry["context"]: entry for entry in read("bounds-by-context.json")["contexts"]}
    found = mb.logs.load_bounds(SAVED / "bounds-by-context.json")
    assert list(found) == ["z0", "z1"]
    for context, bounds in found.items():
        assert bounds.lower.tolist() == written[context]["lower"]
        assert bounds.upper.tolist() == written[context]["upper"]


def test_counts() -> None:
    counts = mb.logs.Counts.load(SAVED / "counts.json")
    assert int(np.sum(counts.rows)) == 2_000
    assert list(counts.contexts) == ["z0", "z1"]


def test_regret() -> None:
    regret = mb.Regret.load(SAVED / "regret.parquet")
    expected = read("regret.json")
    assert list(regret.labels) == ["UCB", "GLUE"]
    assert list(regret.settings["policies"]) == ["UCB", "GLUE"]
    assert regret.rounds[-1] == 100
    for label in regret.labels:
        assert regret.curves[label][:, -1].mean() == pytest.approx(expected["final"][label], rel=1e-12)
        assert regret.plays[label].sum(axis=0).tolist() == expected["plays"][label]
