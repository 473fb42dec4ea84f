"""A short way for single decisions and rewards: from the parser of HTTP to the writer, and back to the socket.

Most of the time of an ordinary request goes into what a server and a framework do around it: a scope, a task, events, a
router. `Direct` answers the two most frequent requests without them. What is admitted, asked and answered is the
business of `meanbounds.service.app.Endpoint` on both ways. A request that is unusual in any respect goes the ordinary
one: another address, a body in chunks, a client that sends ahead of the answers or does not read them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from meanbounds.service.app import HEADERS, Call, Endpoint, Headers, Service
from meanbounds.service.schema import MOST_HEAD_BYTES

__all__ = ["Direct"]

_UNUSUAL = {b"expect", b"transfer-encoding", b"upgrade"}  # headers of a request that takes more than one step


def _lines(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Headers as they are sent."""
    return b"".join([b"%s: %s\r\n" % header for header in headers])


_ALWAYS = _lines(HEADERS)


class _Exchange:
    """A request and its answer. To uvicorn it is the cycle of the connection, of which it has what uvicorn looks at."""

    __slots__ = (
        "_began",
        "_body",
        "_call",
        "_endpoint",
        "_head",
        "_path",
        "_protocol",
        "disconnected",
        "keep_alive",
        "response_complete",
    )

    message_event = asyncio.Event()  # uvicorn sets it when a connection ends; here nobody waits for it

    def __init__(self, protocol: Direct, endpoint: Endpoint, path: dict[str, str], head: Headers) -> None:
        self._began = time.perf_counter()
        self._protocol, self._endpoint, self._path, self._head = protocol, endpoint, path, head
        self._call: Call | None = None  # there is none unless it was admitted
        self._body = bytearray()  # it may come in very many parts
        self.keep_alive = protocol.parser.should_keep_alive()
        self.disconnected = self.response_complete = False

    def admit(self) -> None:
        """The head is there: refuse the request, or wait for its body."""
        try:
            self._call = self._endpoint.admit(self._head, self._path, b"")
        except Exception as error:
            self._answer(error)

    def receive(self, part: bytes) -> None:
        """Keep a part of the body, which is no longer than the head said."""
        if self._call is not None:
            self._body += part

    def ask(self) -> None:
        """The body is there: let the writer do what it says."""
        if self._call is not None:
            try:
                self._call.writer.submit(self._take, self._endpoint.read(self._call, self._body))
            except Exception as error:
                self._answer(error)

    def _take(self, answers: list[Any]) -> None:
        self._answer(answers[0])

    def _answer(self, answer: Any) -> None:
        """Send the answer, and let uvicorn go on with the connection."""
        status, headers, content = self._endpoint.answer(answer, self._began, self._head, self._path)
        self.response_complete = True
        protocol = self._protocol
        transport = protocol.transport
        if transport.is_closing():
            return
        transport.write(
            b"%s%s%s%s%scontent-length: %d\r\n\r\n%s"
            % (
                STATUS_LINE[status],
                _lines(protocol.server_state.default_headers),
                _ALWAYS,
                _lines(headers),
                b"" if self.keep_alive else b"connection: close\r\n",
                len(content),
                content,
            )
        )
        if not self.keep_alive:
            transport.close()
        protocol.on_response_complete()


class Direct(HttpToolsProtocol):
    """Reads HTTP for a service, and answers the most frequent requests itself.

    A request whose head is too long is refused before all of it is kept, as h11 does.

    Parameters
    ----------
    service
        The service.
    more
        What uvicorn gives to its protocols.
    """

    cycle: Any  # of uvicorn, or an exchange

    def __init__(self, service: Service, **more: Any) -> None:
        super().__init__(**more)
        self._service = service
        self._size = 0  # bytes of the head so far; 0 while there is none
        self._is_usual = True

    def data_received(self, data: bytes) -> None:
        """Read what has come."""
        super().data_received(data)
        if self._size:
            self._size += len(data)
            if self._size > MOST_HEAD_BYTES:
                self.send_400_response("The head of the request is too long.")

    def on_message_begin(self) -> None:
        """A request begins."""
        self._size, self._is_usual = 1, True
        self.url, self.headers = b"", []

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header."""
        name = name.lower()
        if name in _UNUSUAL:
            self._is_usual = False
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Choose the way of the request."""
        self._size = 0
        found = self._service.frequent(self.url.decode("latin-1")) if self._is_direct() else None
        if found is None:
            self._go_on()
        else:
            self.cycle = _Exchange(self, *found, self.headers)
            self.cycle.admit()

    def _is_direct(self) -> bool:
        """Whether a request can be answered at once: it waits for no other, and its answer will be read."""
        cycle, parser = self.cycle, self.parser
        return (
            self._is_usual
            and parser.get_method() == b"POST"
            and parser.get_http_version() == "1.1"
            and (cycle is None or cycle.response_complete)
            and not self.flow.write_paused
            and not self.root_path
        )

    def _go_on(self) -> None:
        """Tell uvicorn all that was kept of the head."""
        url, headers = self.url, self.headers
        super().on_message_begin()
        super().on_url(url)
        for header in headers:
            super().on_header(*header)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Keep a part of the body."""
        if isinstance(self.cycle, _Exchange):
            self.cycle.receive(body)
        else:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is there."""
        if isinstance(self.cycle, _Exchange):
            self.cycle.ask()
        else:
            super().on_message_complete()
