"""The server: uvicorn, with limits on who may keep it waiting, and for how long.

Granian was tried, too: it answers a fifth fewer requests, never ends a stalled body or a client that does not read,
and lets connections beyond its limit wait, so that 1,100 half-sent heads keep everybody out.
"""

from __future__ import annotations

import gc
import ipaddress
import logging
import signal
import socket
import time
import traceback
from contextlib import suppress
from operator import attrgetter
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from meanbounds.service import limits
from meanbounds.service.app import make_app
from meanbounds.service.log import say
from meanbounds.service.store import Store

__all__ = ["run", "serve"]

_MESSAGE = limits.HEAD + 2 * limits.BODY  # bytes of a request, with what may stand around chunks of its body
_AHEAD = 16  # requests that a connection may send before they are answered
_STOPPING = 5  # seconds for answers when the server is told to stop


class _Connection(HttpToolsProtocol):
    """Ends if its client keeps it waiting; if there are too many, the one that has waited longest makes room."""

    _size, _since = 0, 0.0  # bytes of the request so far; since when it waits
    _answered: Any = None  # the request that the application answers now

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._since = time.monotonic()
        if len(self.connections) > limits.CONNECTIONS:
            idle = (one for one in self.connections if isinstance(one, _Connection) and one._state == "idle")
            min(idle, key=attrgetter("_since")).refuse(503, "busy", "there are too many connections: try again soon")

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._answered is not None:
            self._answered.disconnected = True  # uvicorn tells only the last of several requests

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        self._answered = cycle
        super()._start_asgi_task(cycle, app)

    @property
    def _state(self) -> str:
        cycle = self.cycle
        if self.flow.write_paused or self.transport.is_closing():
            return "leaving"
        is_asking = cycle is None or cycle.scope is not self.scope or cycle.response_complete or cycle.more_body
        return "idle" if is_asking else "working"

    def check(self, now: float) -> None:
        """Close if the client has not sent or not read enough for too long."""
        if self._state == "working":
            self._since = now
        elif now - self._since > limits.SECONDS:
            self.refuse(408, "timeout", f"a request has to arrive within {limits.SECONDS:g} seconds")

    def refuse(self, status: int, code: str, message: str) -> None:
        """Close, and say why, unless another answer is on its way."""
        cycle = self.cycle
        if self._state == "leaving":
            self.transport.abort()
        elif cycle is None or cycle.response_complete or not (cycle.response_started or self.pipeline):
            body = f'{{"error":{{"code":"{code}","message":"{message}"}}}}'
            head = f"content-type: application/json\r\nconnection: close\r\ncontent-length: {len(body)}\r\n\r\n"
            self.transport.write(STATUS_LINE[status] + head.encode() + body.encode())
        self.transport.close()

    def data_received(self, data: bytes) -> None:
        for start in range(0, len(data), limits.HEAD):
            if self.transport.is_closing():
                return
            scope, part = self.scope, data[start : start + limits.HEAD]
            super().data_received(part)
            if self.scope is not scope:  # a request has begun
                self._size, self._since = 0, time.monotonic()
            else:
                self._size += len(part)
            is_head = self.cycle is None or self.cycle.scope is not self.scope
            if self._size > (limits.HEAD if is_head else _MESSAGE):
                self._refuse_size()

    def _refuse_size(self) -> None:
        self.refuse(431, "too_large", f"the head of a request has at most {limits.HEAD:,} bytes")

    def on_headers_complete(self) -> None:
        if len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers) > limits.HEAD:
            self._refuse_size()
        if self.transport.is_closing() or len(self.pipeline) > _AHEAD:
            raise ValueError("too much")  # ends the parsing
        super().on_headers_complete()
        self.headers = []  # what comes after the body is no header

    def send_400_response(self, msg: str) -> None:
        self.refuse(400, "invalid", "this cannot be read as HTTP")


class _Lines(logging.Handler):
    """Writes warnings, and where the server had an error, but not the message of the error, which may have names."""

    def emit(self, record: logging.LogRecord) -> None:
        kind, _, trace = record.exc_info or (None, None, None)
        name = "" if kind is None else kind.__name__
        say(record.getMessage().partition("\n")[0], type=name, traceback=traceback.format_tb(trace))


def run(app: Any, listening: socket.socket, ready: str) -> None:
    """Answer requests with an ASGI application until the process is told to stop, and print a line when it begins."""
    lines = [ready]

    async def check() -> None:
        while lines:
            print(lines.pop(), flush=True)
        for connection in list(server.server_state.connections):
            if isinstance(connection, _Connection):
                connection.check(time.monotonic())

    logging.basicConfig(handlers=[_Lines()])
    logging.captureWarnings(True)
    config = uvicorn.Config(
        app,
        http=_Connection,
        ws="none",
        log_config=None,
        log_level="error",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=3_600,  # `check` is stricter
        timeout_graceful_shutdown=_STOPPING,
        callback_notify=check,
        timeout_notify=0,
    )
    server = uvicorn.Server(config)
    gc.collect()
    gc.freeze()  # what is there now stays, and need not be looked through again and again
    gc.set_threshold(50_000)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # uvicorn raises the signal again when all is done
    with suppress(KeyboardInterrupt):
        server.run([listening])


def serve(store: Store, *, host: str = "127.0.0.1", port: int = 8000, log: bool = True) -> None:
    """Serve a store over HTTP until the process is told to stop (Ctrl-C or SIGTERM), then close the store.

    Parameters
    ----------
    store
        The store.
    host, port
        Where to listen; port 0 is any free one.
    log
        Whether to write a line of JSON for each request to standard error.
    """
    with store:
        database = store.database
        is_open = database.meta()["access"] == "loopback"
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        if is_open and not ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback:
            end = f"meanbounds token {database.shown} --close"
            raise ValueError(f"{host} can be reached by others, and the store asks for no token; to end that: {end}")
        if not is_open and all(row.revoked for row in database.tokens()):
            make = f"meanbounds token {database.shown} decide reward --name app"
            print(f"meanbounds: nobody can use this yet, because there are no tokens; to make one: {make}")
        with socket.create_server(address[:2], family=family, backlog=2048) as listening:
            name = f"[{host}]" if ":" in host else host
            url = f"http://{name}:{listening.getsockname()[1]}"
            agents = f"{len(store)} agent{'s' * (len(store) != 1)}"
            run(make_app(store, log=log), listening, f"meanbounds: serving {agents} at {url} (Ctrl-C stops)")
