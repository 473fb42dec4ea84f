"""What version 0.2 of the service got wrong, against a service in a process of its own.

1, tokens that cannot be read at the start: here, test_access.py and test_hostile.py. 2, one command that fails those
of others: here. 3, names and lists without limit: here and test_http.py. 4, a restore beside files that a crash left:
here and test_copies.py. 5, slow clients: here and test_serving.py. 6, what a token may not see: test_hostile.py and
test_http.py. 7, names in the log: test_hostile.py, test_http.py and test_serving.py. 8, `verify`: test_damage.py. 9,
the edges of HTTP: test_serving.py and test_http.py; the clock: test_together.py. 10, two services on one database:
test_together.py and test_sequences.py.
"""

import os
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import meanbounds as mb
from meanbounds.service import limits
from meanbounds.service.access import SCOPES, make_token
from meanbounds.service.copies import backup, restore
from meanbounds.service.database import connect
from meanbounds.service.refusals import StoreError
from meanbounds.service.routes import OPERATIONS
from meanbounds.service.verify import verify
from tests.service.asking import until
from tests.service.attack import SITUATIONS
from tests.service.databases import execute
from tests.service.hostile import AGENT, BOUNDS
from tests.service.test_serving import served
from tests.service.wire import SERVE, ask, good, memory, request

HERE = "/v1/agents/clinic"
IMPATIENT = SITUATIONS["store locked"] + SERVE


class Service:
    """A service with one agent, clinic, and a token for everything."""

    def __init__(self, address: str, errors: Path) -> None:
        self.address, self.errors = address, errors
        with mb.Store.create(address, "clinic", AGENT) as store:
            self.token = make_token(store.database, SCOPES, name="ward-3")

    @contextmanager
    def running(self, code: str = SERVE) -> Iterator[None]:
        with served(code, self.address, errors=self.errors) as (process, self.port, _):
            self.process = process.pid
            yield

    def ask(self, method: str, path: str, body: Any = None, token: str | None = None) -> tuple[int, Any]:
        reply = ask(self.port, method, path, body, self.token if token is None else token)
        return reply.status, reply.body

    def decide(self, id: str, context: Any = "north") -> tuple[int, Any]:
        return self.ask("POST", f"{HERE}/decisions", {"id": id, "context": context})

    def last(self) -> int:
        with closing(connect(self.address)) as database:
            event = database.last()
            return 0 if event is None else event.position


@pytest.fixture
def service(address: str, tmp_path: Path) -> Service:
    return Service(address, tmp_path / "errors")


@pytest.fixture
def on_file(tmp_path: Path) -> Iterator[Service]:
    own = Service(str(tmp_path / "clinic.db"), tmp_path / "errors")
    with own.running():
        yield own


@contextmanager
def others(service: Service, count: int) -> Iterator[list[tuple[int, float]]]:
    """Clients that do what they should meanwhile; at the end there are the statuses that they got, and when."""
    ended, found = threading.Event(), list[tuple[int, float]]()
    with ThreadPoolExecutor(count) as pool:
        clients = [pool.submit(good, service.port, service.token, ended, f"good {k}") for k in range(count)]
        try:
            yield found
        finally:
            ended.set()
        found += [one for client in clients for one in client.result()]


@contextmanager
def locked(address: str) -> Iterator[None]:
    """Hold the lock of those who write."""
    database = connect(address)
    with closing(database), database.writing():
        yield


@contextmanager
def without_tokens(address: str) -> Iterator[None]:
    """Take the table of tokens away."""
    execute(address, "ALTER TABLE tokens RENAME TO hidden")
    yield
    execute(address, "ALTER TABLE hidden RENAME TO tokens")


def test_1_nobody_passes_while_the_lock_is_held_from_the_start(service: Service) -> None:
    before = service.last()
    with ExitStack() as stack:
        with locked(service.address):
            stack.enter_context(service.running(IMPATIENT))
            for one in OPERATIONS:
                if one.scope is not None:
                    status, _ = service.ask(one.method, one.path.replace("{agent}", "clinic"), {}, "")
                    assert status == 401, one
            status, text = service.decide("1")
            assert (status, b'"busy"' in text) == (503, True)
        with without_tokens(service.address):
            until(lambda: service.ask("GET", "/v1/agents")[0] == 503)
            assert service.decide("1")[0] == service.ask("GET", "/v1/agents", token="")[0] == 503
            assert b'"tokens"' in service.ask("GET", "/ready")[1]
        assert service.last() == before
        until(lambda: service.decide("1")[0] == 200)


def test_1_nothing_is_served_before_tokens_were_read(service: Service) -> None:
    with without_tokens(service.address), pytest.raises(IndexError), service.running():
        pass  # it has ended without a line that says where it listens
    assert "Traceback" not in service.errors.read_text()


ODD = ["\x00", "a\x00b", "é\u202e\U0001fa7a", "' OR 1=1 --", "\\u0000", "%s", "{}", "\x7f\x1b[2J", "\ufdd0", "ﷺ" * 200]


def test_2_odd_names_fail_nobody_else(service: Service) -> None:
    with service.running(), others(service, 16) as found:
        for number, name in enumerate(ODD):
            assert service.decide(name, name)[0] == 200
            assert service.decide(name, [name, str(number)])[0] == 409
            assert service.decide(name * 201)[0] == 422
            for body in ({"force": name}, {"policy": {"policy": name}}, {"id": name, "retire": name}):
                assert service.ask("POST", f"{HERE}/changes", body)[0] == 422
            assert service.ask("POST", f"{HERE}/erase", {"context": name})[0] == 200
        for path in ("a%00b", "%ff", "%C3%A9", "..%2f", "%ED%A0%80", "x" * 201):
            assert service.ask("POST", f"/v1/agents/{path}/decisions", {"id": "1"})[0] == 404
    assert {status for status, _ in found} == {200}
    assert max(seconds for _, seconds in found) < 3.0
    with closing(connect(service.address)) as database:
        assert verify(database) == []


def test_3_names_and_lists_have_limits(on_file: Service) -> None:
    before, size = memory(on_file.process), Path(on_file.address).stat().st_size
    long = "x" * 200_000
    arms = mb.MeanBounds([0.0], [1.0], arms=[long]).to_dict()
    own = mb.Agent(mb.GLUE(), {long: BOUNDS, "north": BOUNDS}, seed=1).to_dict()
    assert on_file.decide("x" * 999_000)[0] == 413
    for context in (long, ["x"] * 40_000, [long]):
        assert on_file.decide("1", context)[0] == 422
    for change in ({"add": arms}, {"bounds": arms, "context": "north"}, {"agent": own}, {"force": long}):
        assert on_file.ask("POST", f"{HERE}/changes", change)[0] == 422, [*change]
    with others(on_file, 1) as found:
        for part in range(20):
            names = [f"{part} {k}".ljust(limits.NAME, "x") for k in range(20)]
            batch = [{"id": f"{part} {k}", "context": name} for k, name in enumerate(names)]
            assert on_file.ask("POST", f"{HERE}/decisions", batch)[0] == 200
    assert max(seconds for _, seconds in found) < 3.0
    for query in ("", "?limit=1000", "?search=x"):
        status, text = on_file.ask("GET", f"{HERE}/contexts{query}")
        assert status == 422 or len(text) <= limits.ANSWER
    assert memory(on_file.process) < before + 100.0
    assert Path(on_file.address).stat().st_size < size + 40e6


def test_4_a_restore_beside_what_a_crash_left(tmp_path: Path) -> None:
    own, copy = Service(str(tmp_path / "clinic.db"), tmp_path / "errors"), tmp_path / "monday.db"
    with own.running():
        own.decide("1")
        backup(own.address, copy)
        own.decide("2")
        os.kill(own.process, 9)
    left = [Path(f"{own.address}{end}") for end in ("", "-wal", "-shm")]
    for file in left:
        assert file.exists()
        with pytest.raises(StoreError, match=r"is there already|move them away"):
            restore(copy, own.address)
        file.unlink()
    restore(copy, own.address)
    with own.running():
        assert b'"repeated":true' in own.decide("1")[1]
        assert b'"repeated":false' in own.decide("2")[1]


def test_4_a_kill_after_another_process_has_looked(service: Service) -> None:
    with service.running():
        assert service.decide("1")[0] == 200
        connect(service.address).close()
        assert service.decide("2")[0] == 200
        os.kill(service.process, 9)
    with service.running():
        assert b'"repeated":true' in service.decide("2")[1]


def test_5_slow_clients(on_file: Service) -> None:
    before = memory(on_file.process)
    body = request("POST", f"{HERE}/decisions", b" " * 200_000, on_file.token)[:-100_000]
    with ExitStack() as stack:
        for number in range(limits.CONNECTIONS + 100):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", on_file.port)))
            with suppress(ConnectionError):
                connection.sendall(body if number % 5 == 0 else body[:40])
        for number in range(20):
            assert on_file.decide(str(number))[0] == 200
    assert memory(on_file.process) < before + 60.0
