"""Requests that were tampered with: none may cause an error of the service, and none that is refused may change it."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import suppress
from typing import Any

from meanbounds.service import Service, verify
from meanbounds.service.book import Book
from meanbounds.service.events import EXPIRED
from meanbounds.service.server import warm_up
from tests.fuzzing.draw import Draw
from tests.fuzzing.mutate import mutated
from tests.service.made import a_book, contextual, linear, reloaded, state
from tests.service.wire import Wire, raw, server_of

__all__ = ["tamper"]

Template = tuple[str, str, Any]
FREQUENT = 8  # of the templates


async def send(
    app: Any, method: str, path: str, content: bytes, headers: list[tuple[bytes, bytes]]
) -> tuple[int, bytes]:
    """One request to an ASGI application, without a socket."""
    address, _, query = path.partition("?")
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "path": address,
        "raw_path": address.encode("utf-8", "replace"),
        "query_string": query.encode("utf-8", "replace"),
        "headers": [(b"host", b"localhost"), *headers],
        "scheme": "http",
        "server": ("127.0.0.1", 80),
        "client": ("127.0.0.1", 1),
        "root_path": "",
    }
    parts = [{"type": "http.request", "body": content, "more_body": False}]
    status, body = 0, b""

    async def receive() -> Any:
        return parts.pop(0) if parts else {"type": "http.disconnect"}

    async def answer(message: Any) -> None:
        nonlocal status, body
        status, body = message.get("status", status), body + message.get("body", b"")

    await app(scope, receive, answer)
    return status, body


def templates(ids: list[str], has_features: bool, number: int) -> list[Template]:
    """Requests that are right, or were."""
    agent, own = "/v1/agents/demo", ids[number % len(ids)] if ids else "2-aa"
    candidates = [{"features": [0.9, 0.4], "name": "new"}] if has_features else None
    context = None if has_features else f"c{number % 3}"
    decision = {"request_id": f"r{number}", "context": context, "eligible": ["a", "b"], "candidates": candidates}
    observation = {"observation_id": f"o{number}", "context": context, "arm": "a", "reward": 0.5}
    reward = {"decision_id": own, "reward": 1.0}
    bounds = {"lower": [0.1, 0.2, 0.3], "upper": [0.6, 0.7, 0.8], "low": [0.0] * 3, "high": [1.0] * 3}
    return [
        ("POST", f"{agent}/decisions", decision),
        ("POST", f"{agent}/decisions", decision),
        ("POST", f"{agent}/decisions/batch", {"decisions": [decision, {**decision, "request_id": f"s{number}"}]}),
        ("POST", "/v1/rewards", reward),
        ("POST", "/v1/rewards", reward),
        ("POST", "/v1/rewards/batch", {"rewards": [reward, {**reward, "reward": 0.0}]}),
        ("POST", f"{agent}/observations", observation),
        ("POST", f"{agent}/observations/batch", {"observations": [observation]}),
        ("PUT", f"{agent}/forced", {"arm": "b", "context": context}),
        ("DELETE", f"{agent}/forced?context={context}", None),
        ("DELETE", f"{agent}/forced", None),
        ("POST", f"{agent}/changes", {"bounds": {**bounds, "arms": ["a", "b", "c"]}, "context": context}),
        ("POST", f"{agent}/changes", {"add": {"arm": f"new {number}", "upper": 0.9}}),
        ("POST", f"{agent}/changes", {"retire": "c"}),
        ("POST", f"{agent}/changes", {"restore": "c"}),
        ("POST", f"{agent}/changes", {"policy": {"policy": "GLUE", "f": "t"}}),
        ("POST", f"{agent}/rollback", {"version": 1}),
        ("PATCH", f"{agent}/settings", {"share": 0.9, "wait": 0.05, "default_reward": 0.5}),
        ("POST", f"/v1/decisions/{own}/censor", None),
        ("GET", f"/v1/decisions/{own}", None),
        ("GET", f"{agent}/contexts?start=0&limit=10&search=c", None),
        ("GET", f"{agent}/contexts/c0", None),
        ("DELETE", f"{agent}/contexts/c{number % 50}", None),
    ]


def spoiled(draw: Draw, template: Template) -> tuple[str, str, bytes, list[tuple[bytes, bytes]]]:
    """A request of which something is wrong, as a rule."""
    method, path, body = template
    content = b"" if body is None else json.dumps(body).encode()
    if body is not None and draw.chance(0.7):
        with suppress(ValueError, RecursionError):  # what JSON cannot hold
            content = json.dumps(mutated(draw, body)).encode("utf-8", "replace")
    if content and draw.chance(0.1):
        place = draw.integer(0, len(content) - 1)
        content = content[:place] + bytes([draw.integer(0, 255)]) + content[place + 1 :]
    if content and draw.chance(0.03):
        content = content[: draw.integer(0, len(content))]
    if draw.chance(0.05):
        place = draw.integer(0, len(path) - 1)
        path = path[:place] + draw.pick(("/", "..", "%", "\x00", "é", "'", "{", "?")) + path[place:]
    if draw.chance(0.03):
        method = draw.pick(("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE"))
    headers = [(b"content-type", b"application/json")]
    if draw.chance(0.05):
        headers.append((b"idempotency-key", draw.pick((b"", b"x" * 300, b"\xff\x00", b"key"))))
    if draw.chance(0.03):
        headers.append((b"authorization", draw.pick((b"Bearer mb_a_b", b"\xff", b"Basic x"))))
    return method, path, content, headers


async def _run(book: Book, requests: int, seed: str, has_features: bool) -> list[str]:
    service, draw = Service(book, snapshots=False), Draw(seed)
    server = server_of(service)
    ids, found, refused = list[str](), list[str](), 0
    async with service.app.router.lifespan_context(service.app):
        for number in range(requests):
            given = templates(ids, has_features, number)
            template = draw.pick(given[:FREQUENT] if draw.chance(0.8) else given)  # changes of agents take longer
            method, path, content, headers = spoiled(draw, template)
            before, wire = book.position, Wire(server)
            try:
                if draw.chance(0.5):
                    status, body = await send(service, method, path, content, headers)
                else:
                    status, body = await wire.send(raw(method, path, content, headers))
            except TimeoutError:
                found.append(f"no answer: {method} {path} {content[:300]!r}")
                # It is still carried out. What it writes must not be taken for something that the next one wrote.
                with suppress(TimeoutError):
                    await asyncio.wait_for(wire.answer(is_head=method == "HEAD"), 600.0)
                continue
            shown = f"{method} {path} {content[:300]!r}: {status} {body[:300]!r}"
            if status >= 500 or status < 200:
                found.append(shown)
            elif status >= 400:
                refused += 1
                news = [event.kind for event in book.store.read(before)] if book.position != before else []
                if any(kind != EXPIRED for kind in news):  # decisions expire meanwhile
                    told = f"{len(news)} events, first of all {news[:5]}, after {before} of {book.position}"
                    found.append(f"refused, and yet something was written ({told}): {shown}")
                if b"Traceback" in body or b'File "' in body:
                    found.append(f"a stack trace: {shown}")
            elif b'"decision_id"' in body and path.endswith("/decisions"):
                ids = [*ids[-20:], json.loads(body)["decision_id"]]
        await send(service, "GET", "/v1/agents", b"", [])
        if not (requests // 20 < refused < requests):
            found.append(f"{refused} of {requests} requests were refused: the mutants are too weak or too strong")
        again = reloaded(book)
        if state(again) != state(book):
            found.append("the state is not the one that the log gives: a refused request changed it")
        found += verify(book.store).differences
    return found


def tamper(requests: int, seed: int) -> list[str]:
    """Send this many requests to services of each kind; what was wrong."""
    agents: list[Any] = [contextual(floor=0.05), linear()]
    found = list[str]()
    for number, agent in enumerate(agents):
        book = a_book(agent)
        warm_up(book)  # as `serve` does: nobody waits for a kernel
        share = requests * 3 // 4 if number == 0 else requests // 4
        before = sys.getswitchinterval()
        sys.setswitchinterval(0.0005)  # as `serve` does
        try:
            found += asyncio.run(_run(book, share, f"{seed} {number}", number == 1))
        finally:
            sys.setswitchinterval(before)
    return found
