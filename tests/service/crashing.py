"""Kill a service without warning while it is under load, again and again, and look whether anything was lost.

python -m tests.service.crashing ADDRESS LIVES SEED [SIGNAL] prints what was acknowledged, as JSON. The process imports
everything once and forks a service for each life, so that a life costs milliseconds. Clients send a request until it
is answered, with the same id; every third one asks for units, which it shares with others.
"""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import meanbounds as mb
from meanbounds.service.app import make_app
from meanbounds.service.database import connect
from meanbounds.service.events import Event, key_of
from meanbounds.service.serving import run
from meanbounds.service.verify import verify

__all__ = ["CLIENTS", "Seen", "check_acknowledged", "killed", "load", "make_store"]

ARMS = ["a", "b", "c"]
BOUNDS = mb.MeanBounds([0.2, 0.3, 0.1], [0.9, 0.8, 0.7], arms=ARMS)
CLIENTS = 12
PARTS = ("arm", "probability", "reason", "version")
PATIENCE = 60.0


@dataclass
class Seen:
    """What was acknowledged."""

    decisions: dict[str, Any] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)  # of what was decided, by id or unit
    rewards: dict[str, float | None] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    refusals: dict[str, int] = field(default_factory=dict)  # how often there was a 503, by its code
    lives: int = 0
    unanswered: int = 0  # requests that were sent and not answered, and had to be repeated
    slowest: float = 0.0  # seconds from the end of a life to the next answer
    codes: list[int] = field(default_factory=list)  # with which the processes ended


def make_store(address: str) -> None:
    """A store that everybody on this machine may use, with one agent."""
    agent = mb.Agent(mb.GLUE(), {f"c{k}": BOUNDS for k in range(4)}, seed=7, floor=0.1)
    with mb.Store.create(address, "demo", agent) as store, store.database.writing():
        store.database.put("meta", ("access", "loopback"))


async def _post(port: int, path: str, body: dict[str, Any]) -> tuple[int, Any]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        content = json.dumps(body).encode()
        head = f"POST /v1/agents/demo/{path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        writer.write(f"{head}Connection: close\r\nContent-Length: {len(content)}\r\n\r\n".encode() + content)
        whole = await reader.read()
    finally:
        writer.close()
    answer, _, text = whole.partition(b"\r\n\r\n")
    return int(answer.split(b" ", 2)[1]), json.loads(text)


async def _until_answered(port: int, path: str, body: dict[str, Any], seen: Seen) -> Any:
    """Send a request until it is answered; 503 asks for that."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            status, answer = await _post(port, path, body)
        except (OSError, IndexError, ValueError):
            seen.unanswered += 1
            await asyncio.sleep(0.01)
            continue
        if status == 200:
            return answer
        if status != 503:
            seen.wrong.append(f"{status}: {answer}")
            return None
        code = answer["error"]["code"]
        seen.refusals[code] = seen.refusals.get(code, 0) + 1
        await asyncio.sleep(0.01)
    raise TimeoutError("a request was not answered")


async def _client(port: int, number: int, stop: asyncio.Event, seen: Seen, kind: str) -> None:
    count = 0
    while not stop.is_set():
        count += 1
        name = f"{number}-{count}" if kind == "id" else f"unit {count}"
        asked = {kind: name, "context": f"c{(number + count) % 4}"}
        answer = await _until_answered(port, "decisions", asked, seen)
        if answer is None:
            return
        before = seen.decisions.setdefault(answer["id"], answer)
        if seen.ids.setdefault(name, answer["id"]) != answer["id"] or any(before[one] != answer[one] for one in PARTS):
            seen.wrong.append(f"{name} has had another decision before: {before}, {answer}")
        if count % 5:
            reward = None if count % 7 == 0 else float(count % 3 == 0)
            if await _until_answered(port, "rewards", {kind: name, "reward": reward}, seen) is not None:
                seen.rewards[answer["id"]] = reward


async def _some_rewards(seen: Seen) -> float:
    """Wait until some more rewards were acknowledged; after how many seconds the first one was."""
    begun, before, first = time.monotonic(), len(seen.rewards), 0.0
    while len(seen.rewards) < before + 3 and time.monotonic() < begun + PATIENCE:
        await asyncio.sleep(0.005)
        if not first and len(seen.rewards) > before:
            first = time.monotonic() - begun
    return first


async def load(port: int, lives: int, seed: int, end_life: Callable[[Seen], None]) -> Seen:
    """Clients, while lives end again and again."""
    rng, seen, stop = np.random.default_rng(seed), Seen(), asyncio.Event()
    kinds = ["id" if number % 3 or not lives else "unit" for number in range(CLIENTS)]  # what is shared needs no sync
    clients = [asyncio.create_task(_client(port, number, stop, seen, kind)) for number, kind in enumerate(kinds)]
    for _ in range(lives):
        await _some_rewards(seen)
        await asyncio.sleep(float(rng.exponential(0.03)))
        await asyncio.to_thread(end_life, seen)
        seen.lives += 1
        seen.slowest = max(seen.slowest, await _some_rewards(seen))
    await _some_rewards(seen)
    stop.set()
    await asyncio.gather(*clients)
    return seen


def main(address: str, lives: int, seed: int, ending: int = signal.SIGKILL) -> None:
    """Make a store, serve it from one process after the other, and print what was acknowledged."""
    make_store(address)
    with socket.create_server(("127.0.0.1", 0), backlog=256) as listening:

        def life() -> int:
            process = os.fork()
            if process:
                return process
            try:
                warnings.simplefilter("ignore")
                with mb.Store(address) as store:
                    run(make_app(store, log=False), listening, "")
                os._exit(0)
            finally:
                os._exit(1)

        def end(process: int, ending: int, seen: Seen) -> None:
            os.kill(process, ending)
            seen.codes.append(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))

        process = life()

        def end_life(seen: Seen) -> None:
            nonlocal process
            end(process, ending, seen)
            process = life()

        seen = asyncio.run(load(listening.getsockname()[1], lives, seed, end_life))
        end(process, signal.SIGTERM, seen)
    print(f"\n{json.dumps(vars(seen))}")


def killed(address: str, lives: int, seed: int = 1, ending: int = signal.SIGKILL, before: tuple[str, ...] = ()) -> Seen:
    """What was acknowledged by services that were ended under load; `before` is a program that watches them."""
    command = [*before, sys.executable, "-m", "tests.service.crashing", address, str(lives), str(seed), str(ending)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60 + 20 * lives, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return Seen(**json.loads(done.stdout.splitlines()[-1]))


def check_acknowledged(address: str, decisions: dict[str, Any], rewards: dict[str, float | None]) -> list[Event]:
    """Each decision that was acknowledged is in a store as it was answered, each reward once, and nothing else."""
    with closing(connect(address)) as database:
        faults = verify(database)
        assert not faults, faults[:5]
        events, secret = list(database.events()), bytes.fromhex(database.meta()["secret"])
    made = {event.key: event for event in events if event.kind == "decision"}
    told = {event.about: event.said.reward for event in events if event.kind == "reward"}
    assert len(made) == sum(event.kind == "decision" for event in events) == len(decisions)
    assert len(told) == sum(event.kind == "reward" for event in events) == len(rewards)
    for name, answer in decisions.items():
        event = made[key_of(secret, "decision", "demo", name)]
        assert [answer[part] for part in PARTS] == [getattr(event.said, part) for part in PARTS]
        assert told.get(event.position, "none") == rewards.get(name, "none")
    return events


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
