"""The server: uvicorn, with limits on who may keep it waiting, and for how long (granian has none of these)."""

from __future__ import annotations

import gc
import signal
import socket
import time
from contextlib import suppress
from ipaddress import ip_address
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from meanbounds.service import limits
from meanbounds.service.app import make_app
from meanbounds.service.log import redirect
from meanbounds.service.store import Store

__all__ = ["run", "serve"]

_AHEAD = 16  # requests that a connection may send before they are answered


class _Connection(HttpToolsProtocol):
    """Ends if its client keeps it waiting; if there are too many, the one that has waited longest makes room."""

    _left, _since = limits.HEAD, 0.0  # bytes that may still come for a request; since when it waits
    _answered: Any = None  # the request that the application answers now

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._since = time.monotonic()
        self._check()
        if len(self.connections) > limits.CONNECTIONS:
            known = (one for one in self.connections if isinstance(one, _Connection))
            idle = (one for one in known if not one._is_working and not one.transport.is_closing())
            min(idle, key=lambda one: one._since)._refuse(503, "busy", "there are too many connections: try again soon")

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._answered is not None:
            self._answered.disconnected = True  # uvicorn tells only the last of several requests

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        self._answered = cycle
        super()._start_asgi_task(cycle, app)

    @property
    def _is_working(self) -> bool:
        """Whether a request came whole and is not answered yet; no refusal may take the place of its answer."""
        cycle = self._answered
        return cycle is not None and not (cycle.response_complete or cycle.more_body)

    def _check(self) -> None:
        """Close if the client has not sent or not read enough for too long, and look again in a second."""
        now, is_stuck = time.monotonic(), self.flow.write_paused or self.transport.is_closing()
        if self._is_working and not is_stuck:
            self._since = now
        elif now - self._since > limits.SECONDS and is_stuck:
            self.transport.abort()
        elif now - self._since > limits.SECONDS:
            self._refuse(408, "timeout", f"a request has to arrive within {limits.SECONDS:g} seconds")
        if self in self.connections:
            self.loop.call_later(1.0, self._check)

    def _refuse(self, status: int, code: str, message: str) -> None:
        """Close and say why, or close after the answer that is due."""
        if self._is_working:
            self._answered.keep_alive = False
        elif not self.transport.is_closing():
            body = f'{{"error":{{"code":"{code}","message":"{message}"}}}}'
            head = f"content-type: application/json\r\nconnection: close\r\ncontent-length: {len(body)}\r\n\r\n"
            self.transport.write(STATUS_LINE[status] + head.encode() + body.encode())
            self.transport.close()

    def data_received(self, data: bytes) -> None:
        if self._is_working and not self._answered.keep_alive:
            return  # nothing more is answered
        self._left -= len(data)
        super().data_received(data)
        if self._left < 0:
            self.send_400_response("")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._left, self._since = limits.HEAD, time.monotonic()

    def on_headers_complete(self) -> None:
        self._left = limits.HEAD - len(self.url) - sum(len(name) + len(value) + 4 for name, value in self.headers)
        if self._left < 0 or len(self.pipeline) > _AHEAD or self.parser.should_upgrade():  # which loses the body
            raise ValueError("too much")  # ends the parsing
        super().on_headers_complete()
        self._left += 2 * limits.BODY  # with what may stand around its chunks
        self.headers = []  # what comes after the body is no header

    def send_400_response(self, msg: str) -> None:
        if self._left < 0:
            self._refuse(431, "too_large", f"the head of a request has at most {limits.HEAD:,} bytes")
        else:
            self._refuse(400, "invalid", "this cannot be read as HTTP/1.1, or asks for another protocol")


def run(app: Any, listening: socket.socket, ready: str) -> None:
    """Print a line, and answer requests with an ASGI application until the process is told to stop."""
    redirect()
    config = uvicorn.Config(
        app,
        http=_Connection,
        ws="none",
        log_config=None,
        log_level="error",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=5,  # seconds for answers that are due
    )
    gc.collect()
    gc.freeze()  # what is there now stays, and need not be looked through again and again
    gc.set_threshold(50_000)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # uvicorn raises the signal again when all is done
    with suppress(KeyboardInterrupt):
        print(ready, flush=True)
        uvicorn.Server(config).run([listening])


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
        if is_open and not ip_address(str(address[0])).is_loopback:
            end = f"meanbounds token {database.shown} --close"
            raise ValueError(f"{host} can be reached by others, and the store asks for no token; to end that: {end}")
        if not is_open and all(row.revoked for row in database.tokens()):
            make = f"meanbounds token {database.shown} decide reward --name app"
            print(f"meanbounds: nobody can use this yet, because there are no tokens; to make one: {make}")
        with socket.create_server(address[:2], family=family, backlog=2048) as listening:
            name, number = f"[{host}]" if ":" in host else host, listening.getsockname()[1]
            agents = "1 agent" if len(store) == 1 else f"{len(store)} agents"
            ready = f"meanbounds: serving {agents} at http://{name}:{number} (Ctrl-C stops)"
            run(make_app(store, log=log), listening, ready)
