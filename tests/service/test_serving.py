"""The server stands clients that keep it waiting, and ends as it should."""

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

import meanbounds as mb
from meanbounds.service import limits
from meanbounds.service.access import make_token

SECONDS, CONNECTIONS = 0.5, 30  # in place of those of the limits, so that the tests are quick
APPLICATION = f"""
import asyncio, logging, socket, warnings
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Route
from meanbounds.service import limits, serving

async def size(request):
    try:
        body = await request.body()
    except ClientDisconnect:
        return Response()
    return Response(f"{{len(body)}} {{request.headers.get('authorization')}};")

async def wait(request):
    await asyncio.sleep(float(request.query_params["seconds"]))
    return Response(b"waited")

async def large(request):
    return Response(b"x" * 8_000_000)

async def fail(request):
    warnings.warn("this names a patient")
    logging.warning("the number was %s", "of a patient")
    raise RuntimeError("this names a patient")

limits.SECONDS, limits.CONNECTIONS = {SECONDS}, {CONNECTIONS}
routes = [Route("/size", size, methods=["POST"]), Route("/wait", wait), Route("/large", large), Route("/fail", fail)]
with socket.create_server(("127.0.0.1", 0)) as listening:
    serving.run(Starlette(routes=routes), listening, f"ready at http://127.0.0.1:{{listening.getsockname()[1]}} ")
"""
STORE = (
    "import sys, meanbounds as mb; from meanbounds.service.serving import serve; serve(mb.Store(sys.argv[1]), port=0)"
)
POST = b"POST /size HTTP/1.1\r\nHost: localhost\r\n%sContent-Length: %d\r\n\r\n"
GOOD = POST % (b"", 2) + b"{}"
LAST = POST % (b"Connection: close\r\n", 2) + b"{}"
CHUNKED = b"POST /size HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
WAIT = b"GET /wait?seconds=1.5 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
HALVES = {"head": POST[:30], "body": POST % (b"", 100_000) + b"x" * 90_000, "nothing": b""}


@contextmanager
def served(code: str, *arguments: str, errors: Path | None = None) -> Iterator[tuple[subprocess.Popen[str], int, str]]:
    """A server in a process of its own, its port, and all that it said until it was ready."""
    with ExitStack() as stack:
        stderr = None if errors is None else stack.enter_context(errors.open("w"))
        command = [sys.executable, "-c", code, *arguments]
        process = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True))
        stack.callback(process.kill)
        assert process.stdout is not None
        said = ""
        while "http://127.0.0.1:" not in said and process.poll() is None:
            said += process.stdout.readline()
        yield process, int(said.partition("http://127.0.0.1:")[2].split()[0]), said


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path, int]]:
    errors = tmp_path_factory.mktemp("serving") / "errors"
    with served(APPLICATION, errors=errors) as (process, port, _):
        yield port, errors, process.pid


@pytest.fixture
def port(server: tuple[int, Path, int]) -> int:
    return server[0]


def opened(port: int, first: bytes = b"") -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=5.0)
    connection.sendall(first)
    return connection


def rest(connection: socket.socket, seconds: float = 5.0) -> bytes:
    """What the server still says until it closes; an error if it does not close in time."""
    got, end = b"", time.monotonic() + seconds
    with connection, suppress(ConnectionError):
        while time.monotonic() < end:
            part = connection.recv(1_000_000)
            if not part:
                return got
            got += part
        raise AssertionError(f"not closed after {seconds} seconds: {got[:200]!r}")
    return got


def ask(port: int, *parts: bytes, until: bytes = b";") -> bytes:
    """What is answered to bytes, sent in these parts, until this comes or the server closes."""
    got = b""
    with opened(port) as connection, suppress(ConnectionError):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for part in parts:
            connection.sendall(part)
            time.sleep(0.01 * (len(parts) > 1))
        while until not in got and (part := connection.recv(1_000_000)):
            got += part
    return got


@pytest.mark.parametrize("first", HALVES.values(), ids=HALVES)
def test_a_crowd_of_clients_that_send_half_of_a_request_keeps_nobody_out(port: int, first: bytes) -> None:
    crowd = [opened(port, first) for _ in range(3 * CONNECTIONS)]
    before = time.monotonic()
    for _ in range(10):
        assert b"2 None" in ask(port, GOOD)
    assert time.monotonic() - before < 2.0
    ends = [rest(connection) for connection in crowd]
    assert sum(end.startswith(b"HTTP/1.1 503") for end in ends) >= 2 * CONNECTIONS
    assert sum(end.startswith(b"HTTP/1.1 408") for end in ends) >= CONNECTIONS - 15
    assert {json.loads(end.partition(b"\r\n\r\n")[2])["error"]["code"] for end in ends if end} == {"busy", "timeout"}


def test_a_connection_beyond_the_limit_is_refused_while_all_others_are_being_answered(port: int) -> None:
    working = [opened(port, WAIT) for _ in range(CONNECTIONS)]
    time.sleep(0.2)
    assert rest(opened(port)).startswith(b"HTTP/1.1 503")
    assert all(rest(connection).endswith(b"waited") for connection in working)  # longer than a request may take


def test_bytes_that_drip_do_not_prolong_a_request(port: int) -> None:
    connection, before = opened(port, POST % (b"", 1000)), time.monotonic()
    with suppress(ConnectionError):
        while time.monotonic() < before + 5.0:
            connection.sendall(b"x")
            time.sleep(0.05)
    assert time.monotonic() - before < SECONDS + 2.0
    connection.close()
    assert b"2 None" in rest(opened(port, GOOD), SECONDS + 2.0)  # nor is an idle connection kept


@pytest.mark.parametrize("pieces", [1, 7])
@pytest.mark.parametrize(
    ("header", "is_short"),
    [
        (b"A: " + b"a" * (limits.HEAD - 100) + b"\r\n", True),
        (b"A: " + b"a" * limits.HEAD + b"\r\n", False),
        (b"A: abcdef\r\n" * (limits.HEAD // 11), False),
    ],
)
def test_the_length_of_a_head(port: int, header: bytes, is_short: bool, pieces: int) -> None:
    sent = POST % (header, 2) + b"{}"
    length = -(-len(sent) // pieces)
    answer = ask(port, *(sent[start : start + length] for start in range(0, len(sent), length)), until=b"None")
    assert answer.startswith(b"HTTP/1.1 200" if is_short else b"HTTP/1.1 431")


def test_a_head_that_is_far_too_long(port: int) -> None:
    assert ask(port, POST % (b"A: " + b"a" * 70_000 + b"\r\n", 2) + b"{}").startswith(b"HTTP/1.1 431")
    assert ask(port, b"GET /%s HTTP/1.1\r\nHost: a\r\n\r\n" % (b"a" * limits.HEAD)).startswith(b"HTTP/1.1 431")


@pytest.mark.parametrize("start", [b"POST /size HTTP/1.1\r\nA: ", CHUNKED + b"0\r\nA: ", CHUNKED + b"2;a="])
def test_a_line_without_end_is_cut_off(port: int, start: bytes) -> None:
    with opened(port, start) as connection, pytest.raises(ConnectionError):
        connection.sendall(b"a" * 20_000_000)


def test_a_body_and_the_start_of_the_next_head_in_one_segment(port: int) -> None:
    first = POST % (b"", 90_000) + b"x" * 90_000
    with opened(port, first + GOOD[:20]) as connection:
        time.sleep(0.05)
        connection.sendall(GOOD[20:] + LAST)
        bodies = [answer.partition(b";")[0] for answer in rest(connection).split(b"\r\n\r\n")[1:]]
    assert bodies == [b"90000 None", b"2 None", b"2 None"]


@pytest.mark.parametrize(
    "behind", [b"\x16\x03\x01 no HTTP\r\n\r\n", b"GET / HTTP/1.1\r\nA: " + b"a" * 17_000, POST[:30]]
)
def test_what_follows_a_request_does_not_take_the_place_of_its_answer(port: int, behind: bytes) -> None:
    request = WAIT.replace(b"Connection: close\r\n", b"")  # takes longer than half of a head may
    answers = rest(opened(port, request + behind)).split(b"HTTP/1.1 ")[1:]
    assert answers[0].startswith(b"200")
    assert answers[0].endswith(b"waited")
    assert [answer[:3] for answer in answers[1:]] in ([], [b"408"])  # the latter for the half


def test_another_protocol_is_refused_before_a_body_gets_lost(port: int) -> None:
    assert ask(port, POST % (b"Connection: Upgrade\r\nUpgrade: h2c\r\n", 2) + b"{}").startswith(b"HTTP/1.1 400")


def test_what_follows_the_body_is_no_header(port: int) -> None:
    assert b"2 None" in ask(port, CHUNKED + b"2\r\n{}\r\n0\r\nAuthorization: Bearer x\r\n\r\n")


def test_requests_that_are_sent_ahead(port: int) -> None:
    assert rest(opened(port, 9 * GOOD + LAST)).count(b"2 None") == 10
    assert rest(opened(port, 1000 * GOOD)).count(b"2 None") < 100  # but not any number


def test_a_client_that_does_not_read_is_cut_off(port: int, server: tuple[int, Path, int]) -> None:
    def files() -> int:
        return len(list(Path(f"/proc/{server[2]}/fd").iterdir()))

    time.sleep(SECONDS + 1.2)
    before, request = files(), b"GET /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    with ExitStack() as stack:
        for _ in range(10):
            stack.enter_context(opened(port, request))
        end = time.monotonic() + 0.9  # each is cut off after a second
        while files() < before + 10:
            assert time.monotonic() < end
        assert rest(opened(port, request)).endswith(b"x" * 8_000_000)
        time.sleep(SECONDS + 1.5)
        assert files() <= before


def test_what_the_server_writes_is_json_without_what_was_asked(server: tuple[int, Path, int]) -> None:
    port, errors, _ = server
    assert b"500" in rest(opened(port, b"GET /fail HTTP/1.1\r\nHost: a\r\n\r\n"))
    assert ask(port, b"\x16\x03\x01 no HTTP\r\n\r\n").startswith(b"HTTP/1.1 400")
    lines = [json.loads(line) for line in errors.read_text().splitlines()]
    assert [(line["event"], line["type"]) for line in lines] == [
        ("warning", "UserWarning"),
        ("the number was %s", ""),
        ("Exception in ASGI application", "RuntimeError"),
    ]
    assert lines[0]["place"].startswith("<string>:")
    assert "patient" not in errors.read_text()


@pytest.fixture
def store(tmp_path: Path) -> mb.Store:
    bounds = mb.MeanBounds([0.1, 0.2], [0.9, 0.8], arms=["a", "b"])
    return mb.Store.create(tmp_path / "clinic.db", "clinic", mb.Agent(mb.UCB(), bounds, seed=1))


def test_a_server_that_is_told_to_stop_answers_saves_and_ends(store: mb.Store, tmp_path: Path) -> None:
    token = make_token(store.database, ["decide"])
    head = b"POST /v1/agents/clinic/decisions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
    head += b"Authorization: Bearer %s\r\n" % token.encode()
    with served(STORE, store.database.address, errors=tmp_path / "errors") as (process, port, said):
        assert said == f"meanbounds: serving 1 agent at http://127.0.0.1:{port} (Ctrl-C stops)\n"
        body = b'{"id": "1"}'
        request = head + b"Content-Length: %d\r\n\r\n" % len(body)
        connections = [opened(port, request + body[:5]) for _ in range(3)]
        idle, half = opened(port), opened(port, head)
        time.sleep(0.2)
        process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        for connection in connections:
            connection.sendall(body[5:])
        assert all(b'"id":"1"' in rest(connection) for connection in connections)
        assert process.wait(10.0) == 0
        assert rest(idle) == rest(half) == b""
    (state,), last = store.database.states(), store.database.last()
    assert last is not None
    assert state.position == last.position == 2
    store.close()


def test_a_store_without_tokens_is_served_to_nobody(store: mb.Store, tmp_path: Path) -> None:
    with served(STORE, store.database.address, errors=tmp_path / "errors") as (process, port, said):
        assert f"to make one: meanbounds token {store.database.shown} decide reward --name app" in said
        body = ask(port, b"GET /v1/agents HTTP/1.1\r\nHost: localhost\r\n\r\n", until=b"}}")
        assert body.startswith(b"HTTP/1.1 401")
        process.send_signal(signal.SIGINT)
        assert process.wait(10.0) == 0
    store.close()


def test_where_it_does_not_listen(store: mb.Store) -> None:
    from meanbounds.service.serving import serve

    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError, match="already in use"):
        serve(mb.Store(store.database.address), port=taken.getsockname()[1])
    with store.database.writing():
        store.database.put("meta", ("access", "loopback"))
    with pytest.raises(ValueError, match="can be reached by others"):
        serve(store, host="0.0.0.0", port=0)


UNIT = Path(__file__).parents[2] / "deploy" / "meanbounds.service"


def test_the_command_of_the_unit_starts_and_stops(store: mb.Store, tmp_path: Path) -> None:
    store.close()
    (line,) = re.findall(r"^ExecStart=(.*)$", UNIT.read_text(), re.MULTILINE)
    command = [*shlex.split(line.replace("/var/lib/meanbounds", str(tmp_path))), "--port", "0"]
    found = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    with subprocess.Popen(command, env=found, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert "there are no tokens" in process.stdout.readline()
        assert "serving 1 agent at http://127.0.0.1:" in process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(10.0) == 0


def test_systemd_knows_every_line_of_the_unit() -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is missing")
    checked = subprocess.run([program, "verify", str(UNIT)], capture_output=True, text=True, check=False)
    assert "meanbounds.service" not in checked.stderr
