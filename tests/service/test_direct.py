"""The short way of single decisions and rewards: it gives the answers of the ordinary one, and ends with it."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import socket
import threading
from io import BufferedReader
from pathlib import Path
from typing import Any

import pytest
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from meanbounds.service import Service, make_token, open_store
from meanbounds.service.book import Book
from meanbounds.service.sqlite import SQLiteStore
from tests.service.made import a_book, running, until
from tests.service.wire import Wire, raw, server_of

DECISIONS, REWARDS = "/v1/agents/demo/decisions", "/v1/rewards"
JSON = [(b"content-type", b"application/json")]
ASKED = b'{"request_id": "1", "context": "c0"}'
OTHER = b'{"request_id": "other", "context": "c0"}'


def post(path: str, content: bytes, *more: tuple[bytes, bytes]) -> bytes:
    return raw("POST", path, content, [*JSON, *more])


def conversations(decide: str, rewarding: str, other: str, decision: str) -> list[list[bytes | list[bytes]]]:
    """What is sent over a connection each, one after the other has been answered; a list is sent at once."""

    def own(token: str) -> tuple[bytes, bytes]:
        return b"authorization", f"Bearer {token}".encode()

    may, told = own(decide), own(rewarding)
    reward = b'{"decision_id": "%s", "reward": 1}' % decision.encode()
    chunked = post(DECISIONS, b"", may, (b"transfer-encoding", b"chunked")).replace(b"content-length: 0\r\n", b"")
    expecting = post(DECISIONS, ASKED, may, (b"expect", b"100-continue"))
    return [
        [post(DECISIONS, ASKED, may, (b"x-request-id", b"mine")), post(DECISIONS, ASKED, may)],
        [
            post(DECISIONS, b'{"request_id": "1", "context": "c1"}', may),
            post(DECISIONS, b'{"context": "c0"}', may, (b"Idempotency-Key", b"2")),
            post(DECISIONS, ASKED, may, (b"idempotency-key", b"other")),
            post(DECISIONS, b'{"context": "c0"}', may, (b"idempotency-key", b"x" * 201)),
            post(DECISIONS, b'{"context": "c0"}', may),
            post(REWARDS, b'{"decision_id": "%s", "reward": 7}' % decision.encode(), told),
            post(REWARDS, reward, told),
            post(REWARDS, reward, told),
            post(REWARDS, b'{"decision_id": "%s", "reward": 0}' % decision.encode(), told),
            post(REWARDS, b'{"decision_id": "7-aa", "reward": 1}', told),
        ],
        [post(DECISIONS, b"{", may), post(DECISIONS, b"", may), post(DECISIONS, b'{"wrong": 1}', may)],
        [post(DECISIONS, ASKED), post(DECISIONS, ASKED, told), post(REWARDS, reward, own(other))],
        [post("/v1/agents/unknown/decisions", ASKED, may), post("/v1/agents/d%65mo/decisions", ASKED, may)],
        [post(f"{DECISIONS}?a=b", ASKED, may), post("/v1/agents/a?b/decisions", ASKED, may)],
        [post("/v1/rewards/", reward, told), post("/v1/rewards/more", reward, told)],
        [raw("POST", DECISIONS, ASKED, [may]), raw("PUT", DECISIONS, ASKED, [*JSON, may])],
        [post(DECISIONS, ASKED, may, (b"x-api-key", b"mb_a_b")), post(DECISIONS, ASKED, (b"x-api-key", may[1][7:]))],
        [post(DECISIONS, ASKED, may, (b"connection", b"close"))],
        [post(DECISIONS, ASKED, may).replace(b"HTTP/1.1", b"HTTP/1.0")],
        [chunked + b"%x\r\n%s\r\n0\r\n\r\n" % (len(ASKED), ASKED), post(DECISIONS, ASKED, may)],
        [[post(DECISIONS, OTHER, may)] * 3 + [post(REWARDS, reward, told), raw("GET", "/v1/agents", b"", [may])]],
        [expecting[: -len(ASKED)], expecting[-len(ASKED) :]],
        [post(DECISIONS, b" " * 1_000_001, may)],
    ]


def talk(port: int, sent: list[bytes | list[bytes]]) -> list[Any]:
    """Status, headers and content of the answers to what is sent over one connection."""
    found = list[Any]()
    with socket.create_connection(("127.0.0.1", port), timeout=30.0) as own, own.makefile("rb") as file:
        for one in sent:
            together = one if isinstance(one, list) else [one]
            own.sendall(b"".join(together))
            found += [_read(file) for _ in together]
    return found


def _read(file: BufferedReader) -> tuple[int, dict[str, str], bytes]:
    status = int(file.readline().split()[1])
    headers = dict[str, str]()
    while line := file.readline().decode("latin-1").strip():
        name, _, value = line.partition(": ")
        headers[name.lower()] = value
    headers.pop("date", None)
    if re.fullmatch("[0-9a-f]{16}", headers.get("x-request-id", "")):
        headers["x-request-id"] = "new"
    return status, headers, file.read(int(headers.get("content-length", "0")))


def test_both_ways_give_the_same_answers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "state.db"
    book = a_book(store=open_store(f"sqlite:{path}"))
    decide, rewarding, other = (make_token(book.store, [scope], agents=agents) for scope, agents in TOKENS)
    decision = book.store.decision_id(2, 0)  # the first one
    book.store.close()
    found = dict[str | None, Any]()
    for http in (None, "httptools", "h11"):
        own = tmp_path / f"{http}.db"
        shutil.copy(path, own)
        book = Book(open_store(f"sqlite:{own}"))
        book.reload()
        capsys.readouterr()
        with running(book, http=http, log_requests=True) as client:
            assert client.base_url.port is not None
            spoken = conversations(decide, rewarding, other, decision)
            answers = [talk(client.base_url.port, sent) for sent in spoken]
            told = client.get("/metrics", headers={"Authorization": f"Bearer {decide}"}).text
        counts = [line for line in told.splitlines() if line.startswith("meanbounds_requests_total")]
        lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
        logged = [{**line, "time": 0, "milliseconds": 0, "id": line["id"][:4] == "mine"} for line in lines]
        found[http] = answers, counts, logged
    for http in ("httptools", "h11"):
        for ours, theirs in zip(found[None], found[http], strict=True):
            assert [(http, one) for one in ours] == [(http, one) for one in theirs]
    statuses = [answer[0] for sent in found[None][0] for answer in sent]
    assert {100, 200, 307, 400, 401, 403, 404, 405, 409, 413, 415, 422} == set(statuses)
    assert statuses.count(200) == 19


TOKENS: list[tuple[str, list[str] | None]] = [("decide", None), ("reward", None), ("reward", ["other"])]


@pytest.mark.parametrize("http", [None, "h11"])
def test_what_goes_wrong_here_is_said_in_the_log_alone(
    http: str | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise KeyError("secret")

    with running(a_book(), http=http) as client:
        with monkeypatch.context() as patched:
            patched.setattr("meanbounds.service.app.do.Decide", fail)
            answer = client.post(DECISIONS, content=ASKED, headers=dict(JSON))
        assert client.post(DECISIONS, content=ASKED, headers=dict(JSON)).status_code == 200
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal")
    assert "secret" not in answer.text
    assert "KeyError: 'secret'" in capsys.readouterr().err


def test_the_rate_of_a_token_is_limited() -> None:
    with running(a_book(), rate=1.0) as client:
        answers = [client.post(DECISIONS, content=ASKED, headers=dict(JSON)) for _ in range(8)]
    assert [answer.status_code for answer in answers] == [200] * 6 + [429] * 2
    assert answers[-1].headers["retry-after"] == "1"


def test_a_body_may_come_in_parts_and_one_that_is_refused_is_not_waited_for() -> None:
    async def run() -> None:
        service = Service(a_book(), snapshots=False)
        async with service.app.router.lifespan_context(service.app):
            wire = Wire(server_of(service))
            request = post(DECISIONS, ASKED)
            for part in (request[:20], request[20:-20], request[-20:-1]):
                wire.protocol.data_received(part)
            assert (await wire.send(request[-1:]))[0] == 200
            long = post(DECISIONS, b" " * 1_000_001)
            head = len(long) - 1_000_001
            assert (await wire.send(long[:head]))[0] == 413
            for _ in range(100):
                wire.protocol.data_received(long[head : head + 10_000])
            assert await wire.send(b" " + request) == await wire.send(request)

    asyncio.run(run())


def test_who_does_not_read_answers_is_not_sent_more() -> None:
    async def run() -> None:
        service = Service(a_book(), snapshots=False)
        async with service.app.router.lifespan_context(service.app):
            wire = Wire(server_of(service))
            assert (await wire.send(post(DECISIONS, ASKED)))[0] == 200
            assert not isinstance(wire.protocol.cycle, RequestResponseCycle)
            wire.protocol.pause_writing()
            wire.protocol.data_received(post(DECISIONS, ASKED) * 2)
            assert isinstance(wire.protocol.cycle, RequestResponseCycle)
            waiting = asyncio.create_task(wire.answer())
            assert not (await asyncio.wait([waiting], timeout=0.2))[0]
            wire.protocol.resume_writing()
            assert await waiting == await wire.answer()

    asyncio.run(run())


def test_a_service_that_stops_answers_first_and_one_whose_client_is_gone_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held, may_go_on = threading.Event(), threading.Event()
    commit = SQLiteStore.commit

    def slow(store: SQLiteStore) -> None:
        held.set()
        assert may_go_on.wait(30.0)
        commit(store)

    book = a_book(store=open_store(f"sqlite:{tmp_path / 'state.db'}"))
    with running(book) as client:
        assert client.base_url.port is not None
        address = "127.0.0.1", client.base_url.port
        monkeypatch.setattr(SQLiteStore, "commit", slow)
        with socket.create_connection(address) as gone:
            gone.sendall(post(DECISIONS, ASKED))
            assert held.wait(30.0)
        may_go_on.set()
        until(lambda: book.position == 2)
        assert client.post(DECISIONS, content=OTHER, headers=dict(JSON)).status_code == 200
        held.clear()
        may_go_on.clear()
        last = socket.create_connection(address, timeout=30.0)
        last.sendall(post(DECISIONS, b'{"request_id": "last", "context": "c0"}'))
        assert held.wait(30.0)
        threading.Timer(0.5, may_go_on.set).start()  # by then the service has been told to stop
    with last, last.makefile("rb") as file:
        status, headers, _ = _read(file)
    assert (status, headers["connection"]) == (200, "close")
    assert book.position == 4
