"""`meanbounds agent`: from a log to a file with an agent."""

from __future__ import annotations

from pathlib import Path

import pytest

import meanbounds as mb
from meanbounds.cli import main

LAB = mb.HiddenContexts.random(visible=2, hidden=3, arms=3, seed=3)
COLUMNS = ["--arm", "arm", "--reward", "reward"]


@pytest.fixture
def log(tmp_path: Path) -> str:
    """The log of a laboratory, as a file."""
    path = tmp_path / "log.parquet"
    LAB.write_log(path, 4_000, seed=1)
    return str(path)


def test_contexts(log: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "agent.json"
    assert main(["agent", log, "--context", "context", *COLUMNS, "--seed", "7", "-o", str(out)]) == 0
    said = capsys.readouterr().out
    assert "4,000 rows, 2 contexts, 2 arms; OptimisticGittins(f='t + 1000')" in said
    assert "bounds: hold whoever chose" in said
    assert "prior: judged that the expert always played the best arm" in said
    assert "ContextualAgent.load" in said
    counts = mb.logs.read(log, context="context", arm="arm", reward="reward")
    assert mb.ContextualAgent.load(out).to_dict() == mb.logs.agent(counts, seed=7).to_dict()


def test_one_context_with_trust(log: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "agent.json"
    more = ["--assume", "erring=0.1", "--trust", "0.95", "--policy", "ThompsonSampling", "--arms", "0", "1", "2", "3"]
    assert main(["agent", log, *COLUMNS, *more, "-o", str(out)]) == 0
    said = capsys.readouterr().out
    assert "in all but at most 10% of the cases of each context; trusted with probability 0.95" in said
    agent = mb.Agent.load(out)
    assert isinstance(agent.policy, mb.ThompsonSampling)
    assert (agent.knowledge.trust, agent.bounds.arms) == (0.95, (0, 1, 2, 3))


def test_refused(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["agent", log, *COLUMNS, "--trust", "1.5"]) == 2
    assert "trust" in capsys.readouterr().err
    assert main(["agent", log, *COLUMNS, "--gap-low", "0.95"]) == 2
    assert "The log allows" in capsys.readouterr().err
