"""`meanbounds start`: from a log to a file with an agent."""

from __future__ import annotations

import json
from datetime import UTC, datetime
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
    assert main(["start", log, "--context", "context", *COLUMNS, "--seed", "7", "-o", str(out)]) == 0
    said = capsys.readouterr().out
    assert "4,000 rows, 2 contexts, 2 arms\n" in said
    assert "decides by: OptimisticGittins(f='t + 1000')" in said
    assert "bounds: hold whoever chose" in said
    assert "prior: judged that the expert always played the best arm" in said
    assert f"next: meanbounds decide {out} --context z1" in said
    counts = mb.logs.read(log, context="context", arm="arm", reward="reward")
    assert mb.ContextualAgent.load(out).to_dict() == mb.logs.agent(counts, seed=7).to_dict()


def test_one_context_with_trust(log: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "agent.json"
    more = ["--assume", "erring=0.1", "--trust", "0.95", "--policy", "ThompsonSampling", "--arms", "0", "1", "2", "3"]
    assert main(["start", log, *COLUMNS, *more, "-o", str(out)]) == 0
    said = capsys.readouterr().out
    assert "in all but at most 10% of the cases of each context; trusted with probability 0.95" in said
    assert "if that holds, the bounds do: all at once with probability 0.95" in said
    agent = mb.Agent.load(out)
    assert isinstance(agent.policy, mb.ThompsonSampling)
    assert (agent.knowledge.trust, agent.bounds.arms) == (0.95, (0, 1, 2, 3))


def test_bounds_that_age(log: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "agent.json"
    more = ["--trust", "0.95", "--half-life", "5000", "--expires"]
    assert main(["start", log, *COLUMNS, *more, "20000", "-o", str(out)]) == 0
    said = capsys.readouterr().out
    assert "age: trust in the bounds halves every 5,000 rounds of a context; the bounds expire after 20,000" in said
    known = mb.Agent.load(out).knowledge
    assert (known.trust, known.half_life, known.expires) == (0.95, 5000.0, 20_000)
    assert main(["start", log, *COLUMNS, "--expires", "2027-01-31", "-o", str(out)]) == 0
    assert "age: the bounds expire on 2027-01-31" in capsys.readouterr().out
    assert mb.Agent.load(out).knowledge.expires == datetime(2027, 1, 31, tzinfo=UTC)
    assert main(["start", log, *COLUMNS, "--expires", "soon"]) == 2
    assert "a date such as 2027-01-31; got 'soon'" in capsys.readouterr().err


def test_an_agent_that_has_decided_is_not_replaced(
    log: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "agent.json"
    given = ["start", log, *COLUMNS, "--seed", "7", "-o", str(out)]
    assert main(given) == 0
    assert main(given) == 0  # nobody has asked it yet
    assert main(["decide", str(out)]) == 0
    before = out.read_text(encoding="utf-8")
    capsys.readouterr()
    assert main([*given, "--floor", "0.05"]) == 2
    assert "agent.events.jsonl has decisions of the agent in" in capsys.readouterr().err
    assert out.read_text(encoding="utf-8") == before


def test_refused(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["start", log, *COLUMNS, "--trust", "1.5"]) == 2
    assert "trust" in capsys.readouterr().err
    assert main(["start", log, *COLUMNS, "--gap-low", "0.95"]) == 2
    assert "The log allows" in capsys.readouterr().err


def test_baselines_are_those_of_the_library(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["start", log, "--context", "context", "--method", "kl"]) == 0
    said = capsys.readouterr().out
    counts = mb.logs.read(log, context="context", arm="arm", reward="reward")
    bounds = mb.logs.bounds(counts, mb.logs.AnyExpert(), method="kl")
    for context, own in mb.logs.baselines(counts, method="kl").items():
        (line,) = [line for line in said.splitlines() if line.startswith(f"{context} ") and "%" in line]
        got = f"{own.expert:.2f} ({own.expert_lower:.2f} to {own.expert_upper:.2f})"
        parts = [f"{own.naive_best} ({own.naive_mean:.2f})", f"{own.most_frequent} ({own.share:.0%})", got]
        assert line.split()[1] == f"{own.rows:,.0f}"
        assert all(part in line for part in parts)
        assert line.endswith(own.verdict(bounds[context]))


def test_of_many_contexts_the_largest_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"c{z},{z % 2},{(z + i) % 2}" for z in range(30) for i in range(z + 1)]
    (tmp_path / "log.csv").write_text("\n".join(["context,arm,reward", *rows]), "utf-8")
    command = ["start", str(tmp_path / "log.csv"), "--context", "context"]
    assert main([*command, "--show", "3", "-o", str(tmp_path / "agent.json")]) == 0
    said = capsys.readouterr().out
    assert [line.split()[0] for line in said.splitlines() if "%" in line] == ["c29", "c28", "c27"]
    assert "27 more contexts are not shown; --show 30 prints all of them" in said
    assert len(mb.ContextualAgent.load(tmp_path / "agent.json")) == 30
    assert main([*command, "--show", "0"]) == 0
    assert "30 more contexts are not shown" in capsys.readouterr().out


def test_from_a_file_to_rewards(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"north,{age},{'ab'[i % 3 == 0]},{i % 2}" for age in (60, 70) for i in range(50)]
    (tmp_path / "log.csv").write_text("\n".join(["clinic,age,drug,well", *rows]), "utf-8")
    agent = str(tmp_path / "agent.json")
    columns = ["--context", "clinic", "age", "--arm", "drug", "--reward", "well", "--seed", "3", "--floor", "0.1"]
    assert main(["start", str(tmp_path / "log.csv"), *columns, "--unknown", "vacuous", "-o", agent]) == 0
    assert f"next: meanbounds decide {agent} --context north 60" in capsys.readouterr().out

    assert main(["decide", agent, "--context", "north", "70", "--id", "visit 17"]) == 0
    shown = capsys.readouterr()
    arm = shown.out.strip()
    assert arm in ("a", "b")
    assert f"report with: meanbounds reward {agent} 'visit 17' REWARD" in shown.err
    assert main(["decide", agent, "--context", "north", "70", "--id", "visit 17", "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert (again["context"], again["arm"], again["id"]) == (["north", 70], arm, "visit 17")
    assert 0.1 <= again["probability"] <= 0.9
    assert main(["decide", agent, "--context", "east", "--eligible", "b"]) == 0
    assert capsys.readouterr().out == "b\n"

    assert main(["reward", agent]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[-2:]] == ["visit", "2"]
    for given, said in ((["visit 17", "1"], "counted"), (["visit 17", "1"], "counted already")):
        assert main(["reward", agent, *given]) == 0
        assert capsys.readouterr().out == f"{said}\n"
    for said in ("cancelled", "cancelled already"):
        assert main(["reward", agent, "2", "--cancel"]) == 0
        assert capsys.readouterr().out == f"{said}\n"
    assert main(["reward", agent, "visit 17", "0"]) == 2
    assert "has the reward 1 already" in capsys.readouterr().err
    assert main(["reward", agent]) == 0
    assert capsys.readouterr().out == "0 decisions without a reward\n"
