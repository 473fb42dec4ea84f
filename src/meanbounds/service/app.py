"""The service over HTTP: one way from a request to its answer, for every operation."""

from __future__ import annotations

import asyncio
import threading
import time
import traceback
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from meanbounds.service import limits
from meanbounds.service.access import Access, Headers, Who
from meanbounds.service.commands import Answer, Order
from meanbounds.service.log import line, say, write
from meanbounds.service.metrics import Metrics
from meanbounds.service.refusals import RefusedError, StoreError
from meanbounds.service.routes import OPERATIONS, Call, Operation, as_json
from meanbounds.service.state import as_context
from meanbounds.service.store import AGENT_NAME, Store

__all__ = ["Service", "make_app"]

_ALWAYS = {
    b"cache-control": b"no-store",
    b"content-security-policy": b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    b"img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    b"referrer-policy": b"no-referrer",
    b"x-content-type-options": b"nosniff",
}
_CLOSE, _LATER = [(b"connection", b"close")], [(b"retry-after", b"1")]
_MORE = {401: [(b"www-authenticate", b"Bearer")], 408: _CLOSE, 413: _CLOSE, 429: _LATER, 503: _LATER}
_RECENT = 5.0  # seconds for which a service is not ready after it could not write
_SOON = 0.05  # seconds until lines about requests are written
_GATHER = 0.0003  # seconds in which others may join a group: one large group costs less than two small ones
_ENCODER = msgspec.json.Encoder()


class Service:
    """What all operations share, and the queue of commands for the one thread that writes."""

    def __init__(self, store: Store, log: bool) -> None:
        self.store, self.access, self.metrics = store, Access(store.database), Metrics()
        self._log, self._trouble, self._ended = log, (0.0, ""), False
        self._lines = list[str]()  # about requests, to be written together
        self._waiting, self._come = deque[tuple[Order, asyncio.Future[Answer | RefusedError]]](), threading.Event()

    @asynccontextmanager
    async def run(self, _app: Starlette) -> AsyncIterator[None]:
        """Read tokens and write commands while the application runs."""
        self._loop, writing = asyncio.get_running_loop(), threading.Thread(target=self._write, daemon=True)
        writing.start()
        await asyncio.to_thread(self.access.start)
        try:
            yield
        finally:
            self._write_lines()
            self._ended = True
            self._come.set()
            await asyncio.to_thread(writing.join)
            await asyncio.to_thread(self.access.close)

    @property
    def problem(self) -> str:
        """Why the service cannot answer now, in a word, or nothing."""
        when, what = self._trouble
        return "tokens" if self.access.known is None else what if time.monotonic() < when + _RECENT else ""

    def put(self, who: Who, orders: Sequence[Order]) -> list[asyncio.Future[Answer | RefusedError]]:
        """Have commands carried out, in one group with all others that come while another group is written."""
        if self._ended or len(self._waiting) + len(orders) > limits.WAITING:
            raise RefusedError(503, "waiting", "too many commands wait to be written: send this again soon")
        new = set()
        for order in orders:
            state, context = self.store.writer.states.get(order.agent), getattr(order.command, "context", None)
            if isinstance(context, str | list) and state and state.contextual and as_context(context) not in state.ids:
                new.add(as_context(context))
        self.access.count_contexts(who, len(new))
        futures = [self._loop.create_future() for _ in orders]
        self._waiting.extend(zip(orders, futures, strict=True))
        if not self._come.is_set():
            self._come.set()
        return futures

    def _write(self) -> None:
        while self._waiting or not self._ended:
            self._come.wait()
            self._come.clear()
            while self._waiting:
                time.sleep(_GATHER)
                group = [self._waiting.popleft() for _ in range(min(len(self._waiting), limits.GROUP))]
                try:
                    answers = self.store.run([order for order, _ in group])
                except Exception as error:
                    refusal = as_refusal(error, "writing", again=time.monotonic() < self._trouble[0] + 1.0)
                    self._trouble, answers = (time.monotonic(), refusal.code), [refusal] * len(group)
                self._loop.call_soon_threadsafe(_hand_out, group, answers)

    def note(self, operation: str, status: int, began: float, agent: str | None = None) -> None:
        """Count a request, and write a line about it."""
        seconds = time.perf_counter() - began
        self.metrics.answered(operation, status, seconds)
        if self._log:
            if not self._lines:
                self._loop.call_later(_SOON, self._write_lines)
            about = {"agent": agent} if agent in self.store.writer.states else {}
            took = round(1e3 * seconds, 3)
            self._lines.append(line("request", operation=operation, status=status, milliseconds=took, **about))

    def _write_lines(self) -> None:
        write("".join(self._lines))
        self._lines.clear()

    def unknown(self, _request: Request, error: Exception) -> Response:
        """Answer a request that is no operation."""
        assert isinstance(error, HTTPException)
        refusal = RefusedError(error.status_code, "unknown", "this address or method is unknown; see /openapi.json")
        self.note("unknown", refusal.status, time.perf_counter())
        answer = Response(_ENCODER.encode(as_json(refusal)[1]), refusal.status, error.headers, "application/json")
        answer.raw_headers += _ALWAYS.items()
        return answer


class Endpoint:
    """One operation, as an ASGI application."""

    def __init__(self, service: Service, operation: Operation) -> None:
        self._service, self._operation, self._name = service, operation, f"{operation.method} {operation.path}"
        self._decoder = msgspec.json.Decoder(operation.takes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        began, agent = time.perf_counter(), scope["path_params"].get("agent")
        try:
            status, media, content = await self._answer(scope, receive, agent)
        except Exception as error:
            status, media, content = self._encoded(as_refusal(error, self._name), agent)
        headers = [(b"content-type", media), (b"content-length", b"%d" % len(content)), *_ALWAYS.items()]
        headers += _MORE.get(status, ())
        self._service.note(self._name, status, began, agent)
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else content})

    async def _answer(self, scope: Scope, receive: Receive, agent: str | None) -> tuple[int, bytes, bytes]:
        operation, service, who = self._operation, self._service, Who("")
        if operation.scope is not None:
            peer = scope.get("client") if scope.get("http_version") != "1.0" else None  # how proxies of old ask
            who = service.access.admit(scope["headers"], peer, operation.scope, agent)
        if agent is not None and not AGENT_NAME.fullmatch(agent):
            raise RefusedError(404, "unknown_agent", "there is no agent with such a name")
        if operation.method == "GET":
            call = Call(service, who, scope["path_params"], self._decoded(scope["query_string"]))
            return await asyncio.to_thread(self._look, call, agent) if operation.scope else self._look(call, agent)
        body = self._decoded(await _body(scope["headers"], receive))
        commands = [operation.order(one) for one in (body if isinstance(body, list) else [body])]
        waiting = service.put(who, [Order(agent or "", command, who.name) for command in commands])
        answers = [await answer for answer in waiting]
        for answer in answers:
            if isinstance(answer, RefusedError) and answer.status >= 500:
                raise answer
        return self._encoded(answers if isinstance(body, list) else answers[0], agent)

    def _look(self, call: Call, agent: str | None) -> tuple[int, bytes, bytes]:
        """The answer of a view."""
        with self._service.store.reading() if self._operation.scope else nullcontext({}) as states:
            seen = {name: state for name, state in states.items() if call.who.sees(name)}
            if agent is not None and agent not in seen:
                raise RefusedError(404, "unknown_agent", f"there is no agent {agent!r}")
            found = self._operation.view(call, seen if agent is None else seen[agent])
        return self._encoded(found, agent)

    def _decoded(self, text: bytes | bytearray) -> Any:
        """A body or a query, as the operation takes it."""
        try:
            if self._operation.method == "POST":
                return self._decoder.decode(text)
            return msgspec.convert(dict(parse_qsl(text.decode())), self._operation.takes, strict=False)
        except msgspec.ValidationError as error:
            raise RefusedError(422, "invalid", str(error)[:500]) from None
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            raise RefusedError(400, "not_json", f"this cannot be read: {str(error)[:500]}") from None

    def _encoded(self, found: Any, agent: str | None) -> tuple[int, bytes, bytes]:
        """The status, the type and the content of an answer."""
        if isinstance(found, bytes):
            return 200, self._operation.media, found
        status, body = self._operation.shape(found, agent)
        content = _ENCODER.encode(body)
        if len(content) > limits.ANSWER:
            raise RefusedError(422, "too_large", f"the answer has more than {limits.ANSWER:,} bytes: ask for less")
        return status, b"application/json", content


def _hand_out(group: Sequence[tuple[Order, asyncio.Future[Any]]], answers: Sequence[Answer | RefusedError]) -> None:
    for (_, future), answer in zip(group, answers, strict=True):
        if not future.done():
            future.set_result(answer)


async def _body(headers: Headers, receive: Receive) -> bytearray:
    """The body of a request, if it is JSON and not too long; the server ends what does not come in time."""
    if dict(headers).get(b"content-type", b"").partition(b";")[0].strip().lower() != b"application/json":
        raise RefusedError(415, "not_json", "send JSON, with Content-Type: application/json")
    body, is_whole = bytearray(), False
    while not is_whole:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise RefusedError(400, "disconnected", "the request was not sent whole")
        body += message.get("body", b"")
        is_whole = not message.get("more_body")
        if len(body) > limits.BODY:
            raise RefusedError(413, "too_large", f"a body has at most {limits.BODY:,} bytes: send less at once")
    return body


def as_refusal(error: BaseException, operation: str, again: bool = False) -> RefusedError:
    """How an error is answered; what is no fault of the request stands in the log, without what may be a name."""
    if isinstance(error, StoreError):
        if not again:
            say("store", operation=operation, trouble=error.kind)
        return RefusedError(503, error.kind, f"the store cannot be used now ({error.kind}): send this again soon")
    if isinstance(error, RefusedError) and (error.status != 500 or error.__cause__ is None):
        return error
    cause = error.__cause__ or error
    say("error", operation=operation, type=type(cause).__name__, traceback=traceback.format_tb(cause.__traceback__))
    return RefusedError(500, "internal", "something went wrong here; the log of the service says what")


def make_app(store: Store, *, log: bool = True) -> Starlette:
    """The service of a store, as an ASGI application; `log` writes a line about each request to standard error."""
    service = Service(store, log)
    routes = [Route(one.path, Endpoint(service, one), methods=[one.method]) for one in OPERATIONS]
    app = Starlette(routes=routes, exception_handlers={HTTPException: service.unknown}, lifespan=service.run)
    app.router.redirect_slashes = False
    return app
