"""Kill a service without warning while it is under load, again and again, and look whether anything was lost.

python -m tests.service.crashing ADDRESS KILLS SEED prints what was acknowledged, as JSON.

The process imports everything once and forks a service for each life, so that a life costs milliseconds. Each client
sends a request until it is answered, with the same id, as `meanbounds.service.Client` does.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from meanbounds.service import Service, open_store
from meanbounds.service.events import Settings
from meanbounds.service.server import add_agent, prepare, serve, warm_up
from tests.service.made import contextual

CLIENTS = 12
PATIENCE = 60.0


@dataclass
class Seen:
    """What was acknowledged."""

    decisions: dict[str, Any] = field(default_factory=dict)  # by request_id
    rewards: dict[str, float] = field(default_factory=dict)  # by decision_id
    wrong: list[str] = field(default_factory=list)
    lives: int = 0
    unanswered: int = 0  # requests that were sent and not answered, and had to be repeated


async def post(port: int, path: str, body: dict[str, Any]) -> tuple[int, Any]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        content = json.dumps(body).encode()
        writer.write(
            b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n"
            b"Content-Length: %d\r\n\r\n%s" % (path.encode(), len(content), content)
        )
        whole = await reader.read()
    finally:
        writer.close()
    head, _, text = whole.partition(b"\r\n\r\n")
    return int(head.split(b" ", 2)[1]), json.loads(text)


async def until_answered(port: int, path: str, body: dict[str, Any], seen: Seen) -> Any:
    """Send a request until it is answered; 503 asks for that."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            status, answer = await post(port, path, body)
        except (OSError, IndexError, ValueError):
            seen.unanswered += 1
            await asyncio.sleep(0.01)
            continue
        if status == 200:
            return answer
        if status != 503:
            seen.wrong.append(f"{status}: {answer}")
            return None
        await asyncio.sleep(0.01)
    raise TimeoutError("a request was not answered")


async def client(port: int, number: int, stop: asyncio.Event, seen: Seen) -> None:
    count = 0
    while not stop.is_set():
        count += 1
        name = f"{number}-{count}"
        asked = {"request_id": name, "context": f"c{(number + count) % 4}"}
        answer = await until_answered(port, "/v1/agents/demo/decisions", asked, seen)
        if answer is None:
            return
        seen.decisions[name] = answer
        if count % 5:
            reward = float(count % 3 == 0)
            told = {"decision_id": answer["decision_id"], "reward": reward}
            if await until_answered(port, "/v1/rewards", told, seen) is not None:
                seen.rewards[answer["decision_id"]] = reward


def life(address: str, listening: socket.socket) -> int:
    """The process id of a new service."""
    process = os.fork()
    if process:
        return process
    try:
        serve(Service(prepare(open_store(address))), listening)
    finally:
        os._exit(1)


async def some_rewards(seen: Seen) -> None:
    """Wait until some more rewards were acknowledged."""
    before, end = len(seen.rewards), time.monotonic() + PATIENCE
    while len(seen.rewards) < before + 3 and time.monotonic() < end:
        await asyncio.sleep(0.005)


async def run(address: str, kills: int, seed: int, listening: socket.socket) -> Seen:
    rng, seen, stop = np.random.default_rng(seed), Seen(), asyncio.Event()
    port = listening.getsockname()[1]
    process = life(address, listening)
    clients = [asyncio.create_task(client(port, number, stop, seen)) for number in range(CLIENTS)]
    for _ in range(kills):
        await some_rewards(seen)
        await asyncio.sleep(float(rng.exponential(0.03)))
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        seen.lives += 1
        process = life(address, listening)
    await some_rewards(seen)
    stop.set()
    await asyncio.gather(*clients)
    os.kill(process, signal.SIGTERM)
    os.waitpid(process, 0)
    return seen


def main(address: str, kills: int, seed: int) -> None:
    store = open_store(address)
    book = prepare(store)
    add_agent(book, "demo", contextual(contexts=4, floor=0.1).to_dict(), Settings())
    warm_up(book)
    store.close()
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(256)
        seen = asyncio.run(run(address, kills, seed, listening))
    print(json.dumps(seen.__dict__))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
