"""How long it takes to erase a context, and how long other requests wait meanwhile, on this machine only.

python -m benchmarks.erasing                     SQLite: 50,000 events, 500 contexts, 2,000 versions of the agent
python -m benchmarks.erasing --postgres          and PostgreSQL, with a second service on it

A few connections send decisions and rewards, first alone and then while contexts are erased one after the other.
"""

from __future__ import annotations

import argparse
import http.client
import json
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

import meanbounds as mb
from benchmarks.pages import table
from benchmarks.serving import SERVICE, service
from meanbounds.service import open_store, verify
from meanbounds.service.commands import Change, Command, Create, Decide, Reward
from meanbounds.service.events import Settings
from meanbounds.service.schema import ChangeIn, DecisionIn
from meanbounds.service.server import prepare
from meanbounds.service.writer import carry_out

__all__ = ["main", "make_log", "measure"]

ARMS = ["a", "b", "c", "d", "e"]
HEADER = ("store", "erased in s", "slowest of them", "p99 ms", "p99 ms meanwhile", "slowest other request ms")
GROUP = 100  # decisions that are written together
TALKERS = 4


def name_of(number: int) -> str:
    """What a context is called: as names of persons are, and no part of any other name."""
    return f"person {number:06d}"


def make_log(address: str, events: int, contexts: int, versions: int) -> None:
    """A log of decisions, rewards and changes of the agent, spread evenly."""
    rng = np.random.default_rng(1)
    lower = rng.random((contexts, len(ARMS))) / 2
    names = [name_of(number) for number in range(contexts)]
    agent = mb.ContextualAgent.from_columns(mb.GLUE(), names, lower=lower, upper=lower + 0.5, arms=ARMS, seed=1)
    book = prepare(open_store(address))
    carry_out(book, Create("agent", agent.to_dict(), Settings(), ""))
    left, made = versions - 1, 1
    while book.position < events:
        asked: list[Command] = [
            Decide("agent", f"{book.position}-{k}", DecisionIn(context=names[rng.integers(contexts)]))
            for k in range(GROUP)
        ]
        decided = carry_out(book, *asked)
        carry_out(book, *[Reward(one.decision_id, None, float(rng.integers(2))) for one in decided])
        due = left * book.position // events
        while made - 1 < due:
            carry_out(book, Change("agent", ChangeIn(context=names[rng.integers(contexts)], retire="e")))
            carry_out(book, Change("agent", ChangeIn(restore="e")))
            made += 2
    book.store.close()


class Talker(threading.Thread):
    """A connection that decides and rewards until it is stopped."""

    def __init__(self, port: int, number: int, contexts: int) -> None:
        super().__init__(daemon=True)
        self.port, self.number, self.contexts = port, number, contexts
        self.times: list[tuple[float, float]] = []  # when each began, and how long it took
        self.failures: list[str] = []
        self.stopped = threading.Event()

    def run(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300.0)
        count = 0
        while not self.stopped.is_set():
            count += 1
            context = name_of(self.contexts // 2 + (self.number * 7919 + count) % (self.contexts // 2))
            body = {"request_id": f"talker {self.port}-{self.number}-{count}", "context": context}
            said = self._send(connection, "/v1/agents/agent/decisions", body)
            self._send(connection, "/v1/rewards", {"decision_id": said.get("decision_id", ""), "reward": 1.0})
            self.stopped.wait(0.005)

    def _send(self, connection: http.client.HTTPConnection, path: str, body: dict[str, Any]) -> dict[str, Any]:
        begun = time.perf_counter()
        status, said = _call(connection, "POST", path, body)
        self.times.append((begun, time.perf_counter() - begun))
        if status != 200:
            self.failures.append(str(said))
        answer: dict[str, Any] = said
        return answer


def _call(connection: http.client.HTTPConnection, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    connection.request(method, path, json.dumps(body), {"Content-Type": "application/json", "Host": "localhost"})
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


def measure(address: str, given: argparse.Namespace, services: int) -> tuple[str, ...]:
    """The row of a store whose log was made."""
    with ExitStack() as stack:
        ports = [stack.enter_context(service(SERVICE, address))[0] for _ in range(services)]
        talkers = [Talker(ports[k % services], k, given.contexts) for k in range(TALKERS)]
        for talker in talkers:
            talker.start()
        time.sleep(given.seconds)
        begun, took = time.perf_counter(), list[float]()
        connection = http.client.HTTPConnection("127.0.0.1", ports[0], timeout=600.0)
        for number in range(given.erasures):
            before = time.perf_counter()
            path = f"/v1/agents/agent/contexts/{name_of(number).replace(' ', '%20')}"
            status, said = _call(connection, "DELETE", path)
            took.append(time.perf_counter() - before)
            assert status == 200, said
            time.sleep(0.5)
        for talker in talkers:
            talker.stopped.set()
            talker.join(300.0)
    failures = [text for talker in talkers for text in talker.failures]
    assert not failures, failures[:3]
    times = [one for talker in talkers for one in talker.times]
    quiet = [1e3 * own for start, own in times if start + own < begun]
    busy = [1e3 * own for start, own in times if start + own >= begun]
    p99 = [f"{np.percentile(own, 99):.1f}" for own in (quiet, busy)]
    return f"{np.median(took):.2f}", f"{max(took):.2f}", *p99, f"{max(busy):.0f}"


def main(arguments: Sequence[str] | None = None) -> None:
    from tests.servers import postgres_cluster

    parser = argparse.ArgumentParser(prog="python -m benchmarks.erasing", description=__doc__)
    parser.add_argument("--events", type=int, default=50_000)
    parser.add_argument("--contexts", type=int, default=500)
    parser.add_argument("--versions", type=int, default=2_000)
    parser.add_argument("--erasures", type=int, default=3, help="one after the other")
    parser.add_argument("--seconds", type=float, default=5.0, help="of load before them")
    parser.add_argument("--postgres", action="store_true")
    parser.add_argument("--verify", action="store_true", help="compute the log again at the end")
    given = parser.parse_args(arguments)
    rows = []
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        stores = [("SQLite", f"sqlite:{folder}/state.db", 1)]
        if given.postgres:
            cluster = stack.enter_context(postgres_cluster(fsync=True))
            stack.enter_context(cluster.running())
            stores.append(("PostgreSQL, two services", cluster.url, 2))
        for name, address, services in stores:
            begun = time.perf_counter()
            make_log(address, given.events, given.contexts, given.versions)
            print(f"{name}: the log took {time.perf_counter() - begun:.0f} s", flush=True)
            rows.append((name, *measure(address, given, services)))
            print(rows[-1], flush=True)
            if given.verify:
                store = open_store(address)
                assert verify(store).holds
                store.close()
    print(table(HEADER, rows))


if __name__ == "__main__":
    main()
