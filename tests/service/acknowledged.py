"""What was acknowledged to clients of a service that was killed, compared with its log."""

from __future__ import annotations

import json
from typing import Any

from meanbounds.service import verify
from meanbounds.service.events import DECIDED, REWARDED, decode
from meanbounds.service.store import Store
from tests.children import run_module

__all__ = ["check_acknowledged", "killed"]


def check_acknowledged(store: Store, seen: dict[str, Any]) -> None:
    """Every acknowledged decision is in the log as it was answered, every reward once, and a replay gives the same."""
    assert not seen["wrong"]
    decided = {event.name: (event, decode(event)) for event in store.read() if event.kind == DECIDED}
    rewards = [event for event in store.read() if event.kind == REWARDED]
    assert len({event.subject for event in rewards}) == len(rewards)
    ids = {event.position: store.decision_id(event.position, said.worker) for event, said in decided.values()}
    told = {ids[event.subject or 0]: decode(event).reward for event in rewards}
    assert decided.keys() == seen["decisions"].keys()
    for name, answer in seen["decisions"].items():
        event, said = decided[name]
        assert answer["decision_id"] == ids[event.position]
        assert (answer["arm"], answer["probability"]) == (said.arm, said.probability)
    assert told == seen["rewards"]
    verdict = verify(store)
    assert verdict.holds, verdict.differences


def killed(address: str, kills: int, seed: int = 1) -> dict[str, Any]:
    done = run_module("tests.service.crashing", address, str(kills), str(seed))
    assert done.returncode == 0, done.stderr[-3000:]
    seen: dict[str, Any] = json.loads(done.stdout)
    return seen
