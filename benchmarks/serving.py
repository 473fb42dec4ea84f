"""Load on the service beside an empty Starlette application on the same server, in turns.

python -m benchmarks.serving
python -m benchmarks.serving --postgres postgresql://user@host/postgres --write

Each connection asks for a decision, waits for the answer, reports its reward, waits, and so on. All is on disk before
it is answered. One process makes the load; each server has its own. `--postgres` is a server to make databases on.
"""

from __future__ import annotations

import argparse
import asyncio
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock
from urllib.parse import urlsplit

import numpy as np
import psycopg
import uvloop
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import meanbounds as mb
from benchmarks.gain import DOCS, write
from meanbounds.service import serving, writer
from meanbounds.service.access import make_token

CONTEXTS, ARMS, EMPTY = 20, ["a", "b", "c", "d", "e"], "empty application"
REQUEST = "POST /v1/agents/clinic/{} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n"
REQUEST += "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{}"


class Talker(asyncio.Protocol):
    """A connection that decides and rewards alternately until the time is over."""

    def __init__(self, token: str, until: float, times: list[float]) -> None:
        self.token, self.until, self.times = token, until, times
        self.name, self.count, self.body, self.buffer = secrets.token_hex(6), 0, b"", b""
        self.done = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.send()

    def send(self) -> None:
        case, is_reward = divmod(self.count, 2)
        rest, what = f'"context":"c{case * 7 % CONTEXTS}"', "decisions"
        if is_reward:
            rest, what = f'"reward":{case % 2}' + ',"arm":"a"' * (b'"expert"' in self.body), "rewards"
        body = f'{{"id":"{self.name}-{case}",{rest}}}'
        self.count, self.began = self.count + 1, time.perf_counter()
        self.transport.write(REQUEST.format(what, self.token, len(body), body).encode())

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head, _, body = self.buffer.partition(b"\r\n\r\n")
        if not body or len(body) < int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]):
            return
        self.times.append(time.perf_counter() - self.began)
        self.buffer, self.body = b"", body
        if not head.startswith(b"HTTP/1.1 200"):
            self.done.set_exception(RuntimeError(body.decode()))
        elif self.began < self.until:
            self.send()
        else:
            self.done.set_result(None)

    def connection_lost(self, error: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(error or ConnectionError("the server hung up"))


async def load(ports: Sequence[int], connections: int, seconds: float, token: str) -> np.ndarray:
    """Answers a second, and the milliseconds that half and 99% of them took at most."""
    loop, start, times = asyncio.get_running_loop(), time.perf_counter(), list[float]()
    pairs = [
        await loop.create_connection(lambda: Talker(token, start + seconds, times), "127.0.0.1", ports[k % len(ports)])
        for k in range(connections)
    ]
    await asyncio.wait_for(asyncio.gather(*(talker.done for _, talker in pairs)), seconds + 60.0)
    for transport, _ in pairs:
        transport.close()
    return np.array([len(times) / (time.perf_counter() - start), *(1e3 * np.percentile(times, [50, 99]))])


def ucb() -> mb.Agent:
    bounds = mb.MeanBounds([0.1] * len(ARMS), [0.9] * len(ARMS), arms=ARMS)
    return mb.Agent(mb.UCB(), {f"c{k}": bounds for k in range(CONTEXTS)}, seed=1)


def guarded() -> mb.Agent:
    """What a log gives by default: it mostly asks the experts, and has to find out each time whether it must."""
    rng, rows = np.random.default_rng(1), 100_000
    arms = rng.integers(len(ARMS), size=rows)
    rewards = (rng.random(rows) < 0.3 + 0.1 * arms).astype(float)
    columns = {"context": [f"c{k % CONTEXTS}" for k in range(rows)], "arm": np.array(ARMS)[arms], "reward": rewards}
    return mb.logs.agent(mb.logs.read(columns, context="context"), seed=1)


async def nothing(_request: Request) -> Response:
    return JSONResponse({})


def serve(kind: str, address: str) -> None:
    """What the process of a server does."""
    if kind == EMPTY:
        routes = [Route("/v1/agents/clinic/{what}", nothing, methods=["POST"])]
        with socket.create_server(("127.0.0.1", 0)) as listening:
            serving.run(Starlette(routes=routes), listening, f"http://127.0.0.1:{listening.getsockname()[1]} ")
        return
    with mock.patch.object(writer, "digest", return_value="") if "without" in kind else ExitStack():
        serving.serve(mb.Store(address), port=0)


def start(stack: ExitStack, kind: str, address: str = "") -> int:
    """Start a server in a process of its own, and return its port."""
    command = [sys.executable, "-m", "benchmarks.serving", "--serve", kind, address]
    process = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL))
    stack.callback(process.terminate)
    assert process.stdout is not None
    return int(process.stdout.readline().decode().partition("http://127.0.0.1:")[2].split()[0])


@contextmanager
def database(url: str) -> Iterator[str]:
    """A new database of PostgreSQL."""
    name = f"serving_{secrets.token_hex(4)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
        yield urlsplit(url)._replace(path=f"/{name}").geturl()
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def measure(given: argparse.Namespace) -> dict[tuple[int, str], np.ndarray]:
    """The load at each number of connections on each server: the medians of the rounds."""
    stores = {"SQLite, UCB": ucb, "SQLite, UCB, without the hash chain": ucb, "SQLite, guard": guarded}
    stores |= {"PostgreSQL, UCB": ucb, "PostgreSQL, UCB, two workers": ucb} if given.postgres else {}
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        servers = {EMPTY: ([start(stack, EMPTY)], "")}
        for name, make in stores.items():
            is_file = name.startswith("SQLite")
            address = f"{folder}/{len(servers)}.db" if is_file else stack.enter_context(database(given.postgres))
            with mb.Store.create(address, "clinic", make()) as store:
                token = make_token(store.database, ["decide", "reward"])
            servers[name] = [start(stack, name, address) for _ in range(1 + ("two" in name))], token
        found: dict[tuple[int, str], list[np.ndarray]] = {}
        for turn in range(given.rounds + 1):
            for connections in given.connections:
                for name, (ports, token) in servers.items():
                    one = uvloop.run(load(ports, connections, given.seconds, token))
                    found.setdefault((connections, name), []).extend([one] * (turn > 0))  # the first one warms up
    return {which: np.median(values, axis=0) for which, values in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--connections", type=int, nargs="+", default=[16, 64])
    parser.add_argument("--postgres", metavar="URL")
    parser.add_argument("--write", action="store_true", help="write the table into docs/service.md")
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(*given.serve)
        return
    found = measure(given)
    rows = [["connections", "store", "answers/s", "of empty", "p50 ms", "p99 ms", "of empty"], ["---"] * 7]
    for (connections, name), (rate, p50, p99) in found.items():
        empty = found[connections, EMPTY]
        numbers = [f"{rate:,.0f}", f"{rate / empty[0]:.2f}", f"{p50:.1f}", f"{p99:.1f}", f"{p99 / empty[2]:.1f}"]
        rows.append([str(connections), name, *numbers])
    print("\n".join(" | ".join(row) for row in rows))
    if given.write:
        write(DOCS / "service.md", "load: python -m benchmarks.serving --postgres URL --write", rows)


if __name__ == "__main__":
    main()
