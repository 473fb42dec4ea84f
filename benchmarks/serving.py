"""Load on a service: decisions and rewards beside an empty endpoint of the same framework, on this machine only.

python -m benchmarks.serving                     a few seconds for each store, 1,000 contexts
python -m benchmarks.serving --large 1000000     and rows with a million contexts, before and while a snapshot is made
python -m benchmarks.serving --postgres --large 1000000 --output docs/serving.md

The generator is a process of its own that speaks HTTP over plain sockets: each connection sends one request, waits for
its answer, and sends the next. A pair is a decision and its reward, both synced to disk before they are answered.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import meanbounds as mb
from benchmarks.pages import paragraph, table, today
from meanbounds.service.snapshots import COMMAND

__all__ = ["load", "main", "measure", "service"]

PATIENCE = 1_200.0  # seconds that a service may take to start
WARM_UP = 2.0  # seconds of load before the one that is measured
HEADER = (
    "what",
    "connections",
    "requests/s",
    "of empty",
    "processor us a request",
    "empty's share of it",
    "p50 ms",
    "p99 ms",
    "memory MB",
)
Row = tuple[str, ...]

ABOUT = """
Written by `python -m benchmarks.serving{options}` on {today} with meanbounds {version}. Connections are on this
machine; each sends one request, waits for its answer and sends the next, so that a request waits longer for others
where there are more connections. Half of the requests are decisions and half are rewards, both synced to disk before
they are answered. {contexts:,} contexts with 5 arms unless a row says otherwise, `OptimisticGittins`; {seconds:g}
seconds each, in {turns} turns of which the medians are shown, on {cores} cores that other work shares (load
{before:.1f} at the start, {after:.1f} at the end). Service and generator are one process each, with {loop}. Compare
the rows: the absolute rates are those of this machine at this moment.
"""
NOTES = """
"Of empty" is the rate beside that of an endpoint of the same framework that does nothing, with as many connections.
Memory is the most that the service took, agents included. Other work on the machine changes rates and latencies, but
hardly the processor time of the server's own process, which is the fairer comparison where a machine is shared.
"""


class Talker(asyncio.Protocol):
    """A connection that sends a request, waits for the answer, and sends the next."""

    def __init__(self, number: int, contexts: int, is_empty: bool, until: float, pause: float) -> None:
        self.number, self.contexts, self.is_empty, self.until, self.pause = number, contexts, is_empty, until, pause
        self.times: list[float] = []
        self.failures: list[bytes] = []
        self.done = asyncio.get_running_loop().create_future()
        self.sent, self.count, self.decision = 0.0, 0, b""
        self.buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.send()

    def send(self) -> None:
        now = time.perf_counter()
        if now >= self.until:
            self.transport.close()
            return
        if self.is_empty:
            path, body = b"/empty", b'{"request_id": "0123456789", "context": "c1"}'
        elif self.decision:
            path, body = b"/v1/rewards", b'{"decision_id":"%s","reward":%d}' % (self.decision, self.count % 3 == 0)
        else:
            self.count += 1
            context = (self.number * 7919 + self.count * 104729) % self.contexts
            path = b"/v1/agents/agent/decisions"
            body = b'{"request_id":"%d-%d-%d","context":"c%d"}' % (os.getpid(), self.number, self.count, context)
        self.sent = now
        self.transport.write(
            b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
            % (path, len(body), body)
        )

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head, found, body = self.buffer.partition(b"\r\n\r\n")
        if not found:
            return
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        if len(body) < length:
            return
        self.buffer = b""
        self.times.append(time.perf_counter() - self.sent)
        if b" 200 " not in head[:16]:
            self.failures.append(body)
        decided = body.partition(b'"decision_id":"')[2].partition(b'"')[0]
        self.decision = decided if not self.decision and not self.is_empty else b""
        if self.pause and not self.decision:
            asyncio.get_running_loop().call_later(self.pause, self.send)
        else:
            self.send()

    def connection_lost(self, _error: Exception | None) -> None:
        if not self.done.done():
            self.done.set_result(None)


def _itself(talker: Talker) -> Talker:
    return talker


async def load(
    port: int, connections: int, seconds: float, contexts: int, *, empty: bool, pause: float
) -> dict[str, Any]:
    """Send requests for some seconds over some connections; what came of it."""
    loop, start = asyncio.get_running_loop(), time.perf_counter()
    talkers = [Talker(number, contexts, empty, start + seconds, pause) for number in range(connections)]
    for talker in talkers:
        await loop.create_connection(partial(_itself, talker), "127.0.0.1", port)
    await asyncio.wait_for(asyncio.gather(*(talker.done for talker in talkers)), seconds + 60.0)
    took = time.perf_counter() - start
    times = np.array([one for talker in talkers for one in talker.times])
    failures = [text.decode() for talker in talkers for text in talker.failures]
    return {
        "requests": len(times),
        "rate": len(times) / took,
        "p50": 1e3 * float(np.percentile(times, 50)),
        "p99": 1e3 * float(np.percentile(times, 99)),
        "failures": failures[:3],
        "processor": time.process_time() / took,
    }


EMPTY = """
import socket, sys, uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

async def empty(request):
    return Response(b"{}", media_type="application/json")

listening = socket.socket(fileno=int(sys.argv[1]))
app = Starlette(routes=[Route("/empty", empty, methods=["POST"])])
uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False, server_header=False)).run([listening])
"""
SERVICE = """
import json, socket, sys
from meanbounds.service import Service, open_store
from meanbounds.service.server import prepare, serve, warm_up

listening = socket.socket(fileno=int(sys.argv[1]))
book = prepare(open_store(sys.argv[2]))
warm_up(book)
serve(Service(book, snapshots=False), listening)
"""
MAKE = """
import sys
import numpy as np
import meanbounds as mb
from meanbounds.service import open_store
from meanbounds.service.events import Settings
from meanbounds.service.server import add_agent, prepare

contexts = int(sys.argv[2])
rng = np.random.default_rng(1)
lower = rng.random((contexts, 5)) / 2
agent = mb.ContextualAgent.from_columns(
    mb.OptimisticGittins(), [f"c{k}" for k in range(contexts)], lower=lower, upper=lower + 0.5, seed=1
)
book = prepare(open_store(sys.argv[1]))
print(add_agent(book, "agent", agent.to_dict(), Settings()) or "made")
book.save_snapshot()
"""


@contextmanager
def service(code: str, *arguments: str) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """A server in a process of its own, on a port of this machine; it is ended at the end."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(1024)
        port = listening.getsockname()[1]
        command = [sys.executable, "-c", code, str(listening.fileno()), *arguments]
        with subprocess.Popen(command, pass_fds=[listening.fileno()]) as process:
            try:
                _wait(port, process)
                yield port, process
            finally:
                process.terminate()
                process.wait(60.0)


def _wait(port: int, process: subprocess.Popen[bytes]) -> None:
    """Until the server answers."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as own:
            own.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            if own.recv(16):
                return
    raise RuntimeError("the server did not start")


def generate(port: int, *arguments: str) -> dict[str, Any]:
    """Load from a process of its own."""
    command = [sys.executable, "-m", "benchmarks.serving", "--generate", str(port), *arguments]
    done = subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def measure_empty(seconds: float, connections: Sequence[int]) -> list[dict[str, Any]]:
    """The load that an empty endpoint takes, with the loop and the reader of HTTP that the service has."""
    with service(EMPTY) as (port, process):
        return [timed(port, process, *_options(seconds, one), "--empty") for one in connections]


def make(address: str, contexts: int) -> None:
    """Put the agent into a store, in a process of its own."""
    subprocess.run([sys.executable, "-c", MAKE, address, str(contexts)], check=True, stdout=subprocess.DEVNULL)


def measure(
    address: str, contexts: int, seconds: float, connections: Sequence[int], pause: float = 0.0
) -> list[dict[str, Any]]:
    """The load that a service takes whose store has the agent, for each number of connections."""
    more = ["--contexts", str(contexts), "--pause", str(pause)]
    with service(SERVICE, address) as (port, process):
        return [timed(port, process, *_options(seconds, one), *more) for one in connections]


def _options(seconds: float, connections: int) -> list[str]:
    return ["--seconds", str(seconds), "--connections", str(connections)]


def timed(port: int, process: subprocess.Popen[bytes], *arguments: str, warm_up: float = WARM_UP) -> dict[str, Any]:
    """Load after a warm-up, with the processor time of a request in microseconds, and the memory of the server."""
    if warm_up:
        generate(port, *arguments, "--seconds", str(warm_up))
    before = _processor(process.pid)
    found = generate(port, *arguments)
    assert not found["failures"], found["failures"]
    found["cost"] = 1e6 * (_processor(process.pid) - before) / found["requests"]
    found["memory"] = _memory(process.pid)
    return found


def _processor(process: int) -> float:
    """The processor time of a process so far, in seconds."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _memory(process: int) -> float:
    """The largest memory of a process so far, in megabytes."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return float(line.split()[1]) / 1024.0
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024.0


def compare(given: argparse.Namespace) -> str:
    """An empty endpoint, then each store, in turns; the rows of a table."""
    from tests.servers import postgres_cluster

    turns: dict[str, list[list[dict[str, Any]]]] = {"empty endpoint": []}
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        stores = {"decide and reward, SQLite": f"sqlite:{folder}/state.db"}
        if given.postgres:
            cluster = stack.enter_context(postgres_cluster(fsync=True))
            stack.enter_context(cluster.running())
            stores["decide and reward, PostgreSQL"] = cluster.url
        for address in stores.values():
            make(address, given.contexts)
        for _ in range(given.turns):
            turns["empty endpoint"].append(measure_empty(given.seconds, given.connections))
            for name, address in stores.items():
                found = measure(address, given.contexts, given.seconds, given.connections, given.pause)
                turns.setdefault(name, []).append(found)
    middle = {name: [_median(own) for own in zip(*found, strict=True)] for name, found in turns.items()}
    empty = middle["empty endpoint"]
    rows = [row for name, found in middle.items() for row in _rows(name, given.connections, found, empty)]
    if not given.large:
        return table(HEADER, rows)
    more, words = measure_large(given.large, given, empty)
    return f"{table(HEADER, rows + more)}\n\n{words}"


def measure_large(contexts: int, given: argparse.Namespace, empty: list[dict[str, Any]]) -> tuple[list[Row], str]:
    """Rows for very many contexts, before and while another process makes a snapshot, and what else was measured."""
    with tempfile.TemporaryDirectory() as folder:
        address = f"sqlite:{folder}/state.db"
        make(address, contexts)
        begun = time.monotonic()
        with service(SERVICE, address) as (port, process):
            started = time.monotonic() - begun

            def turn(warm_up: float = 0.0) -> list[dict[str, Any]]:
                return [
                    timed(port, process, *_options(given.seconds, one), "--contexts", str(contexts), warm_up=warm_up)
                    for one in given.connections
                ]

            quiet, busy, ended = turn(warm_up=WARM_UP), list[list[dict[str, Any]]](), list[float]()
            begun = time.monotonic()
            maker = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, text=True)

            def watch() -> None:
                maker.wait()
                ended.append(time.monotonic())

            watching = threading.Thread(target=watch)
            watching.start()
            assert maker.stdin is not None
            with maker.stdin:
                maker.stdin.write(address)
            while not busy or not ended:
                busy.append(turn())
            watching.join()
    assert maker.returncode == 0
    slowest = [max(own, key=lambda one: float(one["p99"])) for own in zip(*busy, strict=True)]
    took = ended[0] - begun
    words = f"With {contexts:,} contexts a start took {started:.0f} s, and a snapshot {took:.0f} s in its own process."
    name = f"{contexts:,} contexts, SQLite"
    rows = _rows(name, given.connections, quiet, empty)
    return rows + _rows("the same while a snapshot is made, slowest part", given.connections, slowest, empty), words


def _median(found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The median of each number over the turns."""
    names = ("rate", "cost", "p50", "p99", "memory")
    return {name: float(np.median([one[name] for one in found])) for name in names}


def _rows(
    name: str, connections: Sequence[int], found: Sequence[dict[str, Any]], empty: Sequence[dict[str, Any]]
) -> list[Row]:
    """The lines of one thing that was measured, for each number of connections."""
    rows = list[Row]()
    for number, one, nothing in zip(connections, found, empty, strict=True):
        rate, cost = one["rate"] / nothing["rate"], nothing["cost"] / one["cost"]
        times = f"{one['p50']:.1f}", f"{one['p99']:.1f}", f"{one['memory']:.0f}"
        rows.append(
            (name, str(number), f"{one['rate']:.0f}", f"{rate:.2f}", f"{one['cost']:.0f}", f"{cost:.2f}", *times)
        )
    return rows


def _loop() -> str:
    """What the servers run on, the empty one as well."""
    found = [name for name in ("uvloop", "httptools") if importlib.util.find_spec(name) is not None]
    return " and ".join(found) or "asyncio and h11"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.serving", description=__doc__)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--connections", type=int, nargs="+", default=[16, 64], help="at a time, one after the other")
    parser.add_argument("--contexts", type=int, default=1_000)
    parser.add_argument("--turns", type=int, default=3, help="how often each is measured, in turns")
    parser.add_argument("--pause", type=float, default=0.0, help="seconds that a connection waits after a pair")
    parser.add_argument("--large", type=int, metavar="CONTEXTS", help="rows for so many contexts as well")
    parser.add_argument("--postgres", action="store_true")
    parser.add_argument("--output", type=Path, metavar="PAGE.md")
    parser.add_argument("--generate", type=int, metavar="PORT")
    parser.add_argument("--empty", action="store_true")
    given = parser.parse_args(arguments)
    if given.generate is None:
        words = sys.argv[1:] if arguments is None else arguments
        before = os.getloadavg()[0]
        measured = compare(given)
        about = ABOUT.format(
            options="".join(f" {word}" for word in words),
            today=today(),
            version=mb.__version__,
            before=before,
            after=os.getloadavg()[0],
            cores=os.cpu_count(),
            loop=_loop(),
            **vars(given),
        )
        page = f"# What a service takes\n\n{paragraph(about)}\n\n{measured}\n\n{paragraph(NOTES)}\n"
        print(page)
        if given.output is not None:
            given.output.write_text(page, encoding="utf-8")
        return
    (connections,) = given.connections
    work = load(given.generate, connections, given.seconds, given.contexts, empty=given.empty, pause=given.pause)
    print(json.dumps(asyncio.run(work)))


if __name__ == "__main__":
    main()
