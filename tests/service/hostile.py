"""Requests that were tampered with, sent to a service in a process of its own: none may harm it or change it unasked.

They are made from the table of operations, so that a new operation is covered by itself.
"""

import json
import re
import socket
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any, get_args
from urllib.parse import urlencode

import msgspec
import numpy as np

import meanbounds as mb
from meanbounds.agents.tree import Split, Tree
from meanbounds.service.access import SCOPES, make_token
from meanbounds.service.database import connect
from meanbounds.service.events import key_of
from meanbounds.service.routes import OPERATIONS
from meanbounds.service.verify import verify
from tests.service.test_serving import served
from tests.service.wire import SERVE, Reply, good, receive

__all__ = ["AGENT", "BOUNDS", "example", "hostile"]

BOUNDS = mb.MeanBounds([0.1, 0.2, 0.0], [0.9, 0.8, 1.0], arms=["a", "b", mb.EXPERT])
CLINICS = Split("clinic", left=("north",), right=("south",), missing="left")
TREE = Tree((Split("age", 75.0), CLINICS, None, None, None))
RAIL = mb.Guardrail("pain", worse=0.1, level=0.9)
KNOWN = dict.fromkeys(["north", "south", *TREE.contexts], BOUNDS)
AGENT = mb.Agent(mb.GLUE(), KNOWN, seed=7, tree=TREE, guardrails=[RAIL])
RAW_COLUMNS: list[Any] = [
    {"age": 81, "clinic": "north"},
    {"age": "7,5", "clinic": None, "more": [1]},
    {"age": 10**30, "clinic": 1},
]
CANDIDATE = {"name": "c", "features": [0.5, 0.1]}
RIGHT: dict[str, list[Any]] = {  # what may be given in a field with this name
    "id": [f"id-{k}" for k in range(100)],
    "unit": [f"unit-{k}" for k in range(10)],
    "hold": [None, 0, 3600],
    "outcomes": [None, {}, {"pain": 0.5}],
    "context": [*["north", "south"] * 8, "new-1", "new-2", ["new-3", "x"], *RAW_COLUMNS * 3],
    "eligible": [["a", "b"], ["a", {"expert": True}], [CANDIDATE, "a"]],
    "policy": [mb.GLUE().to_dict(), mb.ThompsonSampling().to_dict()],
    "bounds": [BOUNDS.to_dict()],
    "add": [mb.MeanBounds([0.0], [1.0], arms=["more"]).to_dict()],
    "agent": [AGENT.to_dict()],
    **{"forbid": [["b"], []], "free": [True], "to": [1, 2, 9]},
}
RIGHT |= {name: ["a", "b"] for name in ("arm", "force", "retire", "restore")}
RIGHT |= {name: [0, 1, 0.5] for name in ("reward", "floor", "share", "start", "limit", "before")}
RIGHT |= {name: ["north", "south"] for name in ("name", "search")}
ODD: list[Any] = [None, True, -1, 0, 1.5, 1e308, 10**30, "", "\x00", "é\u202e", "x" * 300, [], {}, [[]], {"": {}}]
ODD += ["'; DROP TABLE events; --", ["x"] * 5_000, {"expert": True}, {"name": "c", "features": [1e308]}, CANDIDATE]
RAW = [b"NaN", b"-Infinity", b"1e400", b"-" + b"9" * 5_000, b'"\\ud800"', b"[" * 9_000, b'{"a":' * 2_000, b'"\x00"']
RAW += [b"\xff\xfe", b"/**/1", b"0x10", b"'a'", b'{"id":"twice","id":"twice"}', b"01", b"True", b"[1" + b",1" * 99_999]
HEAD = b"/ // .. /./ % %00 %2e%2e%2f %2F \xc3\xa9 %ff ? # { \\ &limit=-1 &name=%ff &=&& %C0%AF : , ; \x00 \r \n \t - 1"
LINES = (
    b"Content-Length: -1|Content-Length: 0|Content-Length: 7|Content-Length: +3|Content-Length: 1, 1|Content-Length:"
)
LINES += (
    b"|Transfer-Encoding: chunked, chunked|Transfer-Encoding: xchunked|Transfer-Encoding: gzip|Expect: 100-continue"
)
LINES += b"|Upgrade: h2c\r\nConnection: Upgrade|X-Forwarded-For: 127.0.0.1|X-Api-Key: x|Content-Encoding: gzip|A b: c"
LINES += b"|A: \xff|: x| folded|Transfer-Encoding: chunked|A: " + b"x" * 17_000 + b"|" + b"A: b\r\n" * 3_000
NEVER = re.compile(rb'Traceback|File "|/tmp|site-packages|elsewhere')
NEVER_LOGGED = re.compile(r"north|south|new-|id-\d|unit-\d|mb_|elsewhere.db|Bearer|ward-3|/tmp")
QUICK = 0.04  # seconds to wait for an answer to what may be no request
CASES = "decision", "observation"
Done = tuple[str, str, str]  # the kind of an event, the agent, and the id or the version


def example(kind: Any, rng: Any) -> Any:
    """A right value, as a rule, of the type that an operation takes."""
    if not isinstance(kind, type):  # one, or a batch
        one = get_args(kind)[0]
        return [example(one, rng) for _ in range(3)] if rng.random() < 0.3 else example(one, rng)
    if kind.__name__ == "Asked":
        key = str(rng.choice(["request_id", "targetingKey"]))
        return {"context": {key: str(rng.choice(RIGHT["id"])), "context": "north"}}
    fields, unset = msgspec.structs.fields(kind), msgspec.UNSET
    names = [one.name for one in fields if one.required or (one.default is not unset and rng.random() < 0.5)]
    either = [one.name for one in fields if one.default is unset]
    names += [str(rng.choice(either))] if either else []
    if "unit" in [one.name for one in fields]:
        names = [name for name in names if name not in ("id", "unit")] + [str(rng.choice(["id", "unit"], p=[0.8, 0.2]))]
    return {name: values[rng.integers(len(values))] for name in names for values in [RIGHT.get(name, ODD)]}


class Request:
    """A request that is right, as a rule, and is then tampered with."""

    def __init__(self, rng: Any, token: str) -> None:
        weights = np.linspace(5.0, 1.0, len(OPERATIONS))
        operation = OPERATIONS[rng.choice(len(OPERATIONS), p=weights / weights.sum())]
        self.agent, self._rng, self.more = str(rng.choice(["clinic", "linear"], p=[0.8, 0.2])), rng, b""
        self.count = 1  # of the answers that must come
        self.is_open, self.is_framed, self.method = operation.scope is None, True, operation.method.encode()
        self.kind = operation.path.rpartition("/")[2].removesuffix("s")
        path, given = operation.path.replace("{agent}", self.agent), example(operation.takes, rng)
        path = path.replace("{id:path}", str(rng.choice(RIGHT["id"])))
        self.body = json.dumps(given).encode() if self.method == b"POST" else b""
        path += f"?{urlencode(given)}" if given and not self.body else ""
        self.token = b"Authorization: Bearer " + token.encode()
        self.lines = [b"%s %s HTTP/1.1" % (self.method, path.encode()), b"Host: localhost", self.token]
        self.lines += [b"Content-Type: application/json"] * bool(self.body)
        ways = [self._spoil_json, self._spoil_bytes, self._spoil_head, self._spoil_end]
        count = int(rng.choice(3, p=[0.2, 0.6, 0.2]))
        for which in sorted(rng.choice(len(ways), count, replace=False, p=[0.4, 0.2, 0.2, 0.2])):
            ways[which]()

    def _spoil_json(self) -> None:
        rng, whole = self._rng, [json.loads(self.body or b"{}")]
        nodes, places = list[Any]([whole]), list[tuple[Any, Any]]()
        for node in nodes:
            places += [(node, key) for key in (list(node) if isinstance(node, dict) else range(len(node)))]
            nodes += [
                one for one in (node.values() if isinstance(node, dict) else node) if isinstance(one, dict | list)
            ]
        node, key = places[rng.integers(len(places))]
        node[key] = ODD[rng.integers(len(ODD))] if rng.random() < 0.6 else "@raw@"
        if isinstance(node, dict) and rng.random() < 0.2:
            node[str(rng.choice(["more", "__class__", "id", "context"]))] = node.pop(key)
        self.body = json.dumps(whole[0]).encode().replace(b'"@raw@"', RAW[rng.integers(len(RAW))])

    def _spliced(self, text: bytes, new: bytes) -> bytes:
        place = int(self._rng.integers(len(text) + 1))
        return text[:place] + new + text[place + int(self._rng.integers(3)) :]

    def _spoil_bytes(self) -> None:
        self.body = self._spliced(self.body, self._rng.bytes(int(self._rng.integers(3))))
        self.body = self.body[: self._rng.integers(len(self.body) + 1)] if self._rng.random() < 0.2 else self.body

    def _spoil_head(self) -> None:
        """A line that is missing, twice, in capitals, cut off, beside another one, or has other signs."""
        rng, place, how = self._rng, int(self._rng.integers(len(self.lines))), int(self._rng.integers(6))
        line, self.is_framed, signs, lines = self.lines[place], False, HEAD.split(b" "), LINES.split(b"|")
        self.is_open = self.is_open or place == 0
        changed = self._spliced(line, signs[rng.integers(len(signs))])
        new = [b"", line, line.upper(), line[: rng.integers(len(line))], lines[rng.integers(len(lines))], changed][how]
        self.lines[place : place + (how not in (1, 4))] = [new] * (how > 0)

    def _spoil_end(self) -> None:
        """Chunks, with the token behind them; or more that comes after the request."""
        way = int(self._rng.integers(4))
        if way:
            self.count += way == 1
            self.more = [b"", self.sent(), b"GET /health HTTP/1.1\r\nHo", self._rng.bytes(20)][way]
            return
        chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (self.body[:9], self.body[9:]) if part)
        self.lines = [line for line in self.lines if line != self.token] + [b"Transfer-Encoding: chunked"]
        self.body = b"%s0\r\n%s\r\n\r\n" % (chunks, self.token)

    def sent(self) -> bytes:
        """The bytes."""
        length = [] if b"Transfer-Encoding: chunked" in self.lines else [b"Content-Length: %d" % len(self.body)]
        return b"\r\n".join([*self.lines, *length, b"", self.body]) + self.more

    def check(self, reply: Reply) -> Iterator[Done]:
        """Check an answer, and say what it acknowledges."""
        shown, is_allowed = (
            f"{self.sent()[:800]!r}: {reply}",
            any(line.lower() == self.token.lower() for line in self.lines),
        )
        assert reply.status < 500 or (reply.status == 503 and b'"code"' in reply.body), shown
        assert reply.status >= 300 or self.is_open or is_allowed, shown
        assert not NEVER.search(reply.head + reply.body), shown
        given = json.loads(reply.body) if reply.status < 300 and b"/json" in reply.head else []
        for one in given if isinstance(given, list) else [given]:
            said = one.get("metadata", one) if isinstance(one, dict) else {}
            if self.method == b"POST" and {*said} & {"id", "version"}:
                kind = {"{agent}": "decision", "rollback": "change"}.get(self.kind, self.kind)
                yield kind, self.agent, said.get("id") or str(said["version"])


def compare(path: Path, done: Counter[Done], unanswered: int) -> None:
    """Everything that was acknowledged is in the store, and hardly anything else: what was not answered may be."""
    with closing(connect(path)) as database:
        events, secret = list(database.events()), bytes.fromhex(database.meta()["secret"])
        assert verify(database) == []
    keys = {one.position: str(one.key if one.kind in CASES else one.position) for one in events}
    found = {(one.kind, keys[one.about or one.position]) for one in events}
    told = {(kind, id) for kind, _, id in done if kind == "change" and ("create", id) not in found}
    for kind, agent, id in done:
        if kind in (*CASES, "reward"):
            told.add((kind, key_of(secret, kind.replace("reward", "decision"), agent, id)))
    assert told <= found, told - found
    more = Counter(kind for kind, _ in found - told if kind not in ("create", "context"))
    more["erase"] -= sum(count for key, count in done.items() if key[0] == "erase")
    assert more["erase"] >= 0
    assert more.total() <= unanswered, more


def hostile(requests: int = 20_000, seed: int = 1) -> str:
    """Send this many requests, most of them tampered with, and compare the store with what was acknowledged."""
    rng, done, statuses, unanswered = np.random.default_rng(seed), Counter[Done](), Counter[int](), 0
    with ExitStack() as stack:
        folder, ended = Path(stack.enter_context(tempfile.TemporaryDirectory())), threading.Event()
        with mb.Store.create(folder / "elsewhere.db", "clinic", AGENT) as store:
            known = mb.MeanBounds([0.1, 0.2], [0.9, 0.8], arms=["a", "b"])
            store.add("linear", mb.LinearAgent(mb.ROFUL(), known, [[0.5, 0.1], [0.1, 0.6]], seed=7))
            store.add("elsewhere", AGENT)
            token = make_token(store.database, SCOPES, ["clinic", "linear"], "ward-3")
            other = make_token(store.database, ["decide"], ["elsewhere"])
        begun = served(SERVE, store.database.address, errors=folder / "errors")
        process, port, _ = stack.enter_context(begun)
        beside = stack.enter_context(ThreadPoolExecutor()).submit(good, port, other, ended, agent="elsewhere")
        stack.callback(ended.set)
        for _ in range(requests):
            request, replies = Request(rng, token), list[Reply]()
            with suppress(ConnectionError), socket.create_connection(("127.0.0.1", port)) as connection:
                connection.sendall(request.sent())
                replies = receive(connection, request.count, 10.0 if request.is_framed else QUICK, request.method)
            missing = request.count - len(replies)
            assert not (request.is_framed and missing), f"no answer: {request.sent()[:500]!r}"
            unanswered += missing
            for reply in replies:
                statuses[reply.status] += 1
                done.update(request.check(reply))
        ended.set()
        assert Counter(status for status, _ in beside.result()).keys() == {200}
        process.terminate()
        assert process.wait(20) == 0
        for line in (folder / "errors").read_text().splitlines():
            assert isinstance(json.loads(line), dict)
            assert not NEVER_LOGGED.search(line), line
        done.update(("decision", "elsewhere", f"good-{k}") for k in range(len(beside.result())))
        compare(folder / "elsewhere.db", done, unanswered)
    slowest = max(seconds for _, seconds in beside.result())
    assert slowest < 3.0
    return f"{requests} requests: {dict(statuses)}, {unanswered} without an answer; others wait for {slowest:.2f} s"
