"""Journals: an agent in files, asked from one command to the next."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import meanbounds as mb
from meanbounds.agents import load_agent
from meanbounds.support import clock

BOUNDS = {
    "young": mb.MeanBounds([0.5, 0.2, 0.4], [0.95, 0.9, 0.9], arms=["tPA", "medical", "watch"]),
    ("old", 3): mb.MeanBounds([0.1, 0.2, 0.4], [0.8, 0.9, 0.9], arms=["tPA", "medical", "watch"]),
}


def contextual() -> mb.ContextualAgent:
    """An agent whose decisions are random."""
    return mb.ContextualAgent(mb.ThompsonSampling(), BOUNDS, seed=7, floor=0.05)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file of an agent with contexts."""
    contextual().save(tmp_path / "agent.json")
    return tmp_path / "agent.json"


def plays(journal: mb.Journal, what: str = "plays") -> list[int]:
    """Plays, or pending pulls, of each arm for young people."""
    agent = journal.agent
    assert isinstance(agent, mb.ContextualAgent)
    return [int(number) for number in (agent.plays if what == "plays" else agent.pending)("young")]


def lines(path: Path) -> list[dict[str, Any]]:
    """The events as they are on disk."""
    return [json.loads(line) for line in path.with_suffix(".events.jsonl").read_text("utf-8").splitlines()]


STEPS = st.lists(
    st.tuples(st.sampled_from(["decide", "reward", "cancel", "again"]), st.integers(0, 30), st.integers(0, 1)),
    max_size=25,
)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_two_journals_are_one_agent_that_was_never_put_away(
    steps: list[tuple[str, int, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("journal") / "agent.json"
    agent = contextual()
    agent.save(path)
    both, made, settled = (mb.Journal(path), mb.Journal(path)), [], set()
    for what, number, which in steps:
        journal = both[which]
        if what == "decide":
            context = list(BOUNDS)[number % 2]
            chances = agent.probabilities(context)
            decision = journal.decide(context)
            assert decision.arm == agent.pull(context)
            assert decision.probability == chances[BOUNDS[context].position(decision.arm)]
            made.append(decision)
        elif made and (decision := made[number % len(made)]).id not in settled:
            if what == "reward":
                assert journal.reward(decision.id, number % 2)
                agent.update(decision.context, decision.arm, number % 2)
                settled.add(decision.id)
            elif what == "cancel":
                assert journal.cancel(decision.id)
                agent.cancel(decision.context, decision.arm)
                settled.add(decision.id)
            else:
                assert journal.decide(decision.context, id=decision.id) == decision
    assert both[0].agent.to_dict() == both[1].agent.to_dict() == mb.Journal(path).agent.to_dict() == agent.to_dict()
    assert [decision.id for decision in both[0].waiting()] == [own.id for own in made if own.id not in settled]
    assert load_agent(path).to_dict() == contextual().to_dict()  # the file that it started from is as it was


def test_each_decision_has_one_answer_and_each_reward_counts_once(path: Path) -> None:
    journal = mb.Journal(path)
    first = journal.decide("young", id="visit 17")
    assert mb.Journal(path).decide("young", id="visit 17") == first
    assert (journal.reward("visit 17", 1.0), mb.Journal(path).reward("visit 17", 1.0)) == (True, False)
    assert sum(plays(journal)) == 1
    assert [line["kind"] for line in lines(path)] == ["agent", "decision", "reward"]
    second = journal.decide("young", eligible=["watch"])
    assert (second.id, second.arm, second.probability) == ("2", "watch", 1.0)
    assert (journal.cancel("2"), journal.cancel("2")) == (True, False)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda own: own.decide(("old", 3), id="a"), "'a' was about context 'young' and all arms; this one is about"),
        (lambda own: own.decide("young", id="a", eligible=["tPA"]), "and the arms \\['tPA'\\]. Give each decision"),
        (lambda own: own.decide("new"), "context 'new' has no bounds. The contexts are"),
        (lambda own: own.decide(), "agent.json needs a context: one of 'young'"),
        (lambda own: own.decide("young", eligible=["x"]), "unknown arm 'x'; the arms are 'tPA'"),
        (lambda own: own.decide("young", id=""), "a text such as 'order 17'; got ''"),
        (lambda own: own.reward("b", 1.0), "no decision 'b' among the 2 in .*events.jsonl; give the id"),
        (lambda own: own.reward("done", 0.0), "'done' has the reward 1 already; a reward of 0 is not counted"),
        (lambda own: own.reward("a", 2.0), r"the reward 2.0 is not a number in its range"),
        (lambda own: own.reward("a", float("nan")), "reward"),
        (lambda own: own.cancel("done"), "'done' has the reward 1; it cannot be cancelled"),
    ],
)
def test_what_contradicts_is_refused_and_leaves_no_trace(wrong: Any, says: str, path: Path) -> None:
    journal = mb.Journal(path)
    journal.decide("young", id="a")
    journal.decide("young", id="done")
    journal.reward("done", 1.0)
    before, state = journal.events.read_bytes(), journal.agent.to_dict()
    with pytest.raises(ValueError, match=says):
        wrong(journal)
    assert journal.events.read_bytes() == before
    assert journal.agent.to_dict() == mb.Journal(path).agent.to_dict() == state


def test_one_context_needs_no_name(tmp_path: Path) -> None:
    mb.Agent(mb.GLUE(), BOUNDS["young"], seed=7).save(tmp_path / "agent.json")
    journal = mb.Journal(tmp_path / "agent.json", tmp_path / "elsewhere")
    assert journal.decide().context is None
    with pytest.raises(mb.JournalError, match="has no contexts: leave the context out"):
        journal.decide("young")
    assert (tmp_path / "elsewhere").exists()


def test_a_line_that_was_cut_off_never_happened(path: Path) -> None:
    journal = mb.Journal(path)
    journal.decide("young")
    whole = journal.events.read_bytes()
    journal.decide("young")
    journal.events.write_bytes(journal.events.read_bytes()[:-7])
    again = mb.Journal(path)
    assert len(again.waiting()) == 1
    again.decide("young")
    assert journal.events.read_bytes().startswith(whole)
    assert [line.get("id") for line in lines(path)] == [None, "1", "2"]
    assert journal.agent.to_dict() == again.agent.to_dict()


def test_a_full_disk_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = mb.Journal(path)
    journal.decide("young")
    before, state = journal.events.read_bytes(), journal.agent.to_dict()

    def full(number: int) -> None:
        raise OSError(28, f"No space left on device for {number}")

    monkeypatch.setattr(os, "fsync", full)
    for attempt in (lambda: journal.decide("young"), lambda: journal.reward("1", 1.0), lambda: journal.cancel("1")):
        with pytest.raises(OSError, match="No space"):
            attempt()
        assert journal.events.read_bytes() == before
        assert journal.agent.to_dict() == state


def test_decisions_of_another_version_count_as_they_were_made(path: Path) -> None:
    journal = mb.Journal(path)
    arms = [journal.decide("young").arm for _ in range(5)]
    others = [BOUNDS["young"].arms[(BOUNDS["young"].position(arm) + 1) % 3] for arm in arms]
    text = journal.events.read_text("utf-8")
    for arm, other in zip(arms, others, strict=True):
        text = text.replace(f'"arm": "{arm}"', f'"arm": "!{other}"', 1)
    journal.events.write_text(text.replace("!", ""), "utf-8")
    changed = mb.Journal(path)
    for number in range(1, 6):
        assert changed.reward(str(number), 1.0)
    counted = [others.count(arm) for arm in BOUNDS["young"].arms]
    assert plays(changed) == counted
    assert plays(changed, "pending") == [0, 0, 0]
    assert mb.Journal(path).agent.to_dict() == changed.agent.to_dict()


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("no json", "line 3 of .* cannot be used"),
        ('{"kind": "reward", "id": "9", "reward": 1.0}', "line 3 of .*: there is no decision '9'"),
        ('{"kind": "wish"}', "unknown kind 'wish'"),
        ('{"id": "1"}', "cannot be used: 'kind'. Events are only ever added at the end"),
        ("[]", "line 3"),
    ],
)
def test_a_file_that_was_edited_is_refused(line: str, says: str, path: Path) -> None:
    journal = mb.Journal(path)
    journal.decide("young")
    with journal.events.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")
    for reader in (journal, mb.Journal(path)):
        with pytest.raises(mb.JournalError, match=says):
            reader.waiting()


def test_events_of_another_agent_are_refused(path: Path) -> None:
    mb.Journal(path).decide("young")
    mb.ContextualAgent(mb.GLUE(), BOUNDS, seed=8).save(path)
    with pytest.raises(mb.JournalError, match=r"belongs to another agent than .*agent.json now holds"):
        mb.Journal(path).decide("young")


WORK = """
import sys
import meanbounds as mb
journal = mb.Journal(sys.argv[1])
for number in range(int(sys.argv[3])):
    name = f"{sys.argv[2]} {number}"
    journal.decide("young", id=name)
    print("decided", name, flush=True)
    journal.reward(name, number % 2)
    print("counted", name, flush=True)
"""


def start(path: Path, name: str, size: int) -> subprocess.Popen[str]:
    """A process that decides and rewards again and again, and says what was acknowledged."""
    command = [sys.executable, "-c", textwrap.dedent(WORK), str(path), name, str(size)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_processes_take_turns_and_what_was_acknowledged_survives_a_kill(path: Path) -> None:
    workers = [start(path, "a", 100), start(path, "b", 10**6)]
    said = [worker.communicate()[0] if name == "a" else "" for worker, name in zip(workers, "ab", strict=True)]
    workers[1].send_signal(signal.SIGKILL)
    said[1] = workers[1].communicate()[0]
    journal = mb.Journal(path)
    counted = [line for text in said for line in text.splitlines() if line.startswith("counted")]
    told = [f"counted {line['id']}" for line in lines(path) if line["kind"] == "reward"]
    assert len(told) == len(set(told))
    assert set(counted) <= set(told)
    assert len(set(told) - set(counted)) <= 1  # on disk, and killed before the answer
    assert said[0].count("counted") == 100
    assert sum(plays(journal)) == len(told)
    assert np.ptp([int(line["id"].split()[1]) for line in lines(path) if line["kind"] == "decision"]) >= 99


def test_a_date_is_past_or_not_as_of_the_time_in_the_journal(tmp_path: Path) -> None:
    """A decision before the date is repeated long after it, and another one after it: both stay what they were."""
    path, day = tmp_path / "agent.json", datetime(2027, 1, 31, tzinfo=UTC)
    bounds = mb.MeanBounds([0.8, 0.2], [0.9, 0.6])
    mb.Agent(mb.ThompsonSampling(), mb.Knowledge(bounds, expires=day), seed=7).save(path)
    for name, seconds in (("before", -1.0), ("after", 1.0)):
        with clock.at(day.timestamp() + seconds):
            mb.Journal(path).decide(id=name)
    with clock.at(day.timestamp() + 1e6):
        journal = mb.Journal(path)
        chances = [journal.decide(id=name).probability for name in ("before", "after")]
        journal.reward("before", 1.0)
        assert chances[0] == 1.0 > chances[1]  # the second arm is excluded while bounds count
        assert mb.Journal(path).agent.to_dict() == journal.agent.to_dict()
