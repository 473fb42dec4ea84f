"""Several processes on one store: what each was told, and what the store makes of it, are the same.

python -m tests.service.together ADDRESS WORKER GROUPS makes or opens the store, gives orders to it, and prints what was
acknowledged, and a digest of all agents as they are then in this process, as JSON.
"""

import hashlib
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import meanbounds as mb
from meanbounds.service import commands as c
from meanbounds.service.refusals import RefusedError, StoreError
from meanbounds.service.state import State
from tests.service.crashing import PARTS, check_acknowledged

__all__ = ["check_together", "figures", "open_store", "play"]

ARMS: list[Any] = ["a", "b", "c", mb.EXPERT]
BOUNDS = mb.MeanBounds([0.2, 0.3, 0.1, 0.3], [0.9, 0.8, 0.7, 1.0], arms=ARMS)
PATIENCE = 120.0


def open_store(address: str) -> mb.Store:
    """The store with its agent, whoever makes them: one that asks experts, draws, and has a floor."""
    store = mb.Store(address, create=True)
    agent = mb.Agent(mb.ThompsonSampling(), {f"c{k}": BOUNDS for k in range(6)}, seed=7, floor=0.02)
    send(store, [c.Create(agent.to_dict())])  # refused where another process was quicker
    return store


def send(store: mb.Store, group: Sequence[c.Command]) -> list[Any]:
    """The answers to a group, which is sent again as long as another process holds the lock."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return list(store.run([c.Order("demo", command) for command in group]))
        except StoreError as error:
            if error.kind != "busy" or time.monotonic() > end:
                raise


def play(choose: Callable[[], mb.Store], worker: int, groups: int) -> dict[str, Any]:
    """Decisions in old and new contexts, late rewards, observations and changes, in groups; what was answered."""
    rng, waiting = np.random.default_rng(worker), dict[str, Any]()
    seen = dict[str, Any](decisions={}, rewards={}, observations=0, changes=0)
    for number in range(groups):
        ids = [f"{worker} {number} {k}" for k in range(rng.integers(1, 6))]
        group: list[c.Command] = [c.Decide(id, f"c{rng.integers(8)}") for id in ids]
        for id in rng.permutation(sorted(waiting))[: rng.integers(0, 8)].tolist():
            arm, reward = waiting.pop(id), None if rng.random() < 0.1 else float(rng.integers(3)) / 2
            chosen = "b" if isinstance(arm, dict) and reward is not None else None
            group.append(c.Reward(id, reward=reward, arm=chosen))
        if rng.random() < 0.3:
            group.append(c.Observe(ids[0], "a", 1.0, "c1"))
        if number % 10 == 9:
            group.append(c.Change(id=ids[0], share=float(rng.choice([0.5, 1.0]))))
        for command, answer in zip(group, send(choose(), group), strict=True):
            assert not isinstance(answer, RefusedError), (command, answer)
            if isinstance(answer, c.DecideAnswer):
                waiting[answer.id] = answer.arm
                seen["decisions"][answer.id] = {part: getattr(answer, part) for part in PARTS}
            elif isinstance(command, c.Reward):
                seen["rewards"][command.id] = command.reward
            else:
                seen["observations" if isinstance(command, c.Observe) else "changes"] += 1
    return seen


def figures(states: dict[str, State]) -> str:
    """A digest of all that agents are."""
    return hashlib.sha256(json.dumps({name: own.to_dict() for name, own in states.items()}).encode()).hexdigest()


def check_together(address: str, processes: int, groups: int, seed: int) -> None:
    """Let processes write at once; each must have had the state that events make, and nothing is lost or doubled."""
    command = [sys.executable, "-m", "tests.service.together", address]
    started = [
        subprocess.Popen(
            [*command, str(seed + n), str(groups)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for n in range(processes)
    ]
    ended = [(*process.communicate(timeout=PATIENCE + groups), process.returncode) for process in started]
    assert all(code == 0 for _, _, code in ended), [said[-2000:] for _, said, _ in ended]
    told = [json.loads(said) for said, _, _ in ended]
    both = [{id: own for one in told for id, own in one[kind].items()} for kind in ("decisions", "rewards")]
    events = check_acknowledged(address, *both)
    states, due = dict[str, State](), {one["position"]: one["figures"] for one in told}
    for event in events:
        states.setdefault(event.agent, State(event.agent)).apply(event)
        if event.position in due:
            assert figures(states) == due.pop(event.position), f"a process had another state at {event.position}"
    assert due == {}
    counts = {kind: sum(event.kind == kind for event in events) for kind in ("observation", "change")}
    assert counts == {kind: sum(one[f"{kind}s"] for one in told) for kind in counts}
    agent = states["demo"].agent
    assert isinstance(agent, mb.Agent)
    assert agent.pending().sum() == len(both[0]) - len(both[1])
    assert agent.plays().sum() == counts["observation"] + sum(reward is not None for reward in both[1].values())


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with open_store(sys.argv[1]) as store:
        answered = play(lambda: store, int(sys.argv[2]), int(sys.argv[3]))
        with store.reading() as states:
            answered |= {"position": store.writer.last.position, "figures": figures(states)}
    print(json.dumps(answered))
