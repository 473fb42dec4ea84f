"""A short run of the fuzzer, and tests that it would see what it looks for; `make soak` runs it for longer."""

from __future__ import annotations

import inspect
import json
import re
import time
from typing import Any

import numpy as np
import pytest

import meanbounds as mb
from meanbounds import evidence, logs, theory
from meanbounds.fits import gymnasium, obp, river
from tests.fuzzing.batches import in_words, run_in_children
from tests.fuzzing.calls import CALLS
from tests.fuzzing.draw import Call, Draw, HostileError, spoil
from tests.fuzzing.episodes import run_episode
from tests.fuzzing.judge import Judge, watched
from tests.fuzzing.mutate import mutated
from tests.fuzzing.play import AGENT, CONTEXTUAL, Player


def test_hostile_calls() -> None:
    """The first of the million that `make soak` makes: each public name dozens of times, in one process."""
    findings = run_in_children("call", 1, 10_000)
    assert not findings, in_words(findings)


def test_tampered_states() -> None:
    findings = run_in_children("mutant", 1, 2_000)
    assert not findings, in_words(findings)


def judged(function: Any, *args: Any) -> list[str]:
    """The kinds of the findings of one call."""
    with watched() as caught:
        judge = Judge(caught, lambda: "replay", lambda _: None)
        judge.make(Call("made up", function, list(args)))
        return [finding.kind for finding in judge.findings]


def test_errors_that_were_meant_are_no_findings() -> None:
    assert judged(mb.MeanBounds, [0.7], [0.2]) == []
    assert judged(mb.MeanBounds([0.1], [0.2]).position, "b") == []


def _raise_hostile() -> None:
    raise HostileError


def _warn() -> None:
    np.float64(1.0) / np.float64(0.0)


@pytest.mark.parametrize(
    ("function", "kinds"),
    [
        (lambda: [0][int("1")], ["IndexError"]),
        (lambda: float("x"), ["ValueError"]),  # not raised by meanbounds itself
        (lambda: float("nan"), ["not lawful"]),
        (lambda: {"a": [np.array([np.nan])]}, ["not lawful"]),
        (_warn, ["RuntimeWarning"]),
        (_raise_hostile, []),
    ],
)
def test_leaks_and_impossible_results_are_findings(function: Any, kinds: list[str]) -> None:
    assert judged(function) == kinds


def test_a_call_that_takes_too_long_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.fuzzing.judge.SECONDS", 0.01)
    assert judged(time.sleep, 5.0) == ["hangs"]


def test_a_state_that_changes_in_a_refused_call_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = mb.Agent(mb.GLUE(), mb.MeanBounds([0.2, 0.3], [0.9, 0.8]), seed=7)

    def careless(arm: int) -> None:
        agent.update(arm, 1.0)
        raise HostileError

    monkeypatch.setitem(AGENT, "pull", lambda _draw, _agent: Call("", careless, [0]))
    with watched() as caught:
        judge = Judge(caught, lambda: "replay", lambda _: None)
        player = Player(agent, Draw("a seed"), judge)
        for _ in range(20):
            player.step()
    kinds = {(finding.place, finding.kind) for finding in judge.findings}
    assert ("state after Agent.pull", "changed by a call that was refused") in kinds


def test_every_choice_follows_from_the_seed() -> None:
    def shown(seed: str) -> list[str]:
        draw = Draw(seed)
        return [re.sub("0x[0-9a-f]+", "", str(spoil(draw, CALLS["MeanBounds"](draw)))) for _ in range(20)]

    assert shown("a") == shown("a")
    assert shown("a") != shown("b")
    state = {"lower": [0.1, 0.2], "upper": [0.5, 0.6], "seed": 7}
    first, second = ([json.dumps(mutated(Draw(f"m {k}"), state)) for k in range(20)] for _ in range(2))
    assert first == second
    assert len(set(first)) > 10


def test_an_episode_can_be_replayed_up_to_a_call() -> None:
    calls: list[str] = []
    run_episode("call", 1, 3, last=4, progress=calls.append)
    assert calls[-1] == "python -m tests.fuzzing --seed 1 --call 154"


DIES_AT_CALL_60 = """
import os, sys
part, seed, first, last, current, found = sys.argv[1:]
open(found, "w").close()
with open(current, "w") as file:
    file.write(f"python -m tests.fuzzing --seed 1 --call {60 if first == '0' else 200}")
os._exit(3 if first == "0" else 0)
"""


def test_a_process_that_ends_is_a_finding_and_the_episodes_after_it_still_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.fuzzing.batches.RUN", ["-c", DIES_AT_CALL_60])
    started: list[range] = []
    monkeypatch.setattr("tests.fuzzing.batches.started", started.append)
    findings = run_in_children("call", 1, 500)
    assert [(finding.place, finding.replay) for finding in findings] == [
        ("the process", "python -m tests.fuzzing --seed 1 --call 60")
    ]
    assert started == [range(10), range(2, 10)]  # call 60 is in episode 1


NOT_FUZZED = {
    "Agent.around": "takes a learner, which is no public class",
    "Decision": "a record without checks of its own",
    "Environment": "abstract",
    "INSTANCES": "a mapping of fixed instances",
    "Instance": "a record without checks of its own",
    "LinearInstance": "draws a large instance",
    "LinearPolicy": "abstract",
    "Policy": "abstract",
    "Plan": "made by make_plan",
    "Regret": "made by simulate",
    "evidence": "a module",
    "kernels": "a module",
    "logs": "a module",
    "theory": "a module",
    "stroke_trial": "takes no arguments",
}


def test_every_public_name_is_fuzzed() -> None:
    names = [name for name in mb.__all__ if not name.endswith("Error") and not name.startswith("__")]
    names += [f"theory.{name}" for name in theory.__all__ if inspect.isfunction(getattr(theory, name))]
    names += [f"evidence.{name}" for name in evidence.__all__ if inspect.isfunction(getattr(evidence, name))]
    names += [
        f"logs.{name}"
        for name in ("bounds", "prior", "agent", "sensitivity", "refute", "expert_bounds", "Counts", "LinearSetting")
    ]
    names += ["logs.baselines", "logs.explain", "Journal.decide", "Journal.reward", "Journal.cancel"]
    names += ["logs.Events", "logs.evaluate"]
    for fit in (gymnasium, obp, river):
        own_names = [name for name in fit.__all__ if callable(getattr(fit, name))]
        names += [f"{fit.__name__.removeprefix('meanbounds.')}.{name}" for name in own_names]
    names += [f"MeanBounds.{name}" for name in _public(mb.MeanBounds)]
    assert all(hasattr(logs, name.removeprefix("logs.")) for name in names if name.startswith("logs."))
    own = {*CALLS, *(f"Agent.{name}" for name in AGENT), *(f"ContextualAgent.{name}" for name in CONTEXTUAL)}
    own |= {"Agent.from_dict", "ContextualAgent.from_dict"}  # mutants
    names += [f"Agent.{name}" for name in _public(mb.Agent)]
    names += [f"ContextualAgent.{name}" for name in _public(mb.ContextualAgent)]
    assert sorted({*names} - own - {*NOT_FUZZED}) == []


def _public(kind: type[Any]) -> list[str]:
    return [name for name in dir(kind) if not name.startswith("_") and name not in ("save", "load")]
