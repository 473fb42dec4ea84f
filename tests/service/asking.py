"""A service in this process, asked by the messages that a server would send it."""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, NamedTuple
from urllib.parse import unquote

from meanbounds.service.app import make_app
from meanbounds.service.store import Store

LOCAL = ("127.0.0.1", 50_000)


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


class Asker:
    """Asks an application; a body is JSON, or bytes in the parts in which they come."""

    def __init__(self, app: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._app, self._loop, self.token = app, loop, ""

    def __call__(self, method: str, path: str, body: Any = None, token: str | None = "", **more: Any) -> Answer:
        return self.later(method, path, body, token, **more).result(30)

    def later(self, *asked: Any, **more: Any) -> Future[Answer]:
        return asyncio.run_coroutine_threadsafe(self.ask(*asked, **more), self._loop)

    async def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        token: str | None = "",
        headers: Iterable[tuple[str, str]] = (("host", "localhost"), ("content-type", "application/json")),
        peer: tuple[str, int] | None = LOCAL,
        parts: list[bytes] | None = None,
    ) -> Answer:
        sent, (path, _, query) = list[Any](), path.partition("?")
        left = [json.dumps(body).encode()] if parts is None else [*parts]
        given = [*headers] + (
            [("authorization", f"Bearer {token or self.token}")] if token or (token == "" and self.token) else []
        )

        async def receive() -> Any:
            if not left:
                await asyncio.sleep(60)
            part = left.pop(0)
            if part == b"gone":
                return {"type": "http.disconnect"}
            return {"type": "http.request", "body": part.removesuffix(b"..."), "more_body": part.endswith(b"...")}

        async def send(message: Any) -> None:
            sent.append(message)

        scope: dict[str, Any] = {
            "type": "http",
            "method": method,
            "path": unquote(path),
            "query_string": query.encode(),
        }
        scope |= {"headers": [(name.encode(), value.encode()) for name, value in given], "client": peer}
        await self._app({**scope, "root_path": ""}, receive, send)
        start, end = sent
        found = {name.decode(): value.decode() for name, value in start["headers"]}
        return Answer(start["status"], found, end["body"].decode())


@contextmanager
def running(store: Store, **options: Any) -> Iterator[Asker]:
    """A service of this store, whose event loop runs in a thread."""
    app, loop, ended = make_app(store, **options), asyncio.new_event_loop(), asyncio.Event()
    begun = threading.Event()

    async def live() -> None:
        async with app.router.lifespan_context(app):
            begun.set()
            await ended.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(live()))
    thread.start()
    try:
        assert begun.wait(20)
        yield Asker(app, loop)
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join(20)
        loop.close()


def until(holds: Callable[[], object], seconds: float = 10.0) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.01)
