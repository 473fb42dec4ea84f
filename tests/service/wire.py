"""A connection without a socket, to the part of a service that reads HTTP."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import uvicorn

from meanbounds.service import Service
from meanbounds.service.server import make_server

__all__ = ["Wire", "raw", "server_of"]


def raw(method: str, path: str, content: bytes, headers: list[tuple[bytes, bytes]]) -> bytes:
    """A request as it is sent."""
    own = [(b"host", b"localhost"), (b"content-length", b"%d" % len(content)), *headers]
    lines = b"".join(b"%s: %s\r\n" % header for header in own)
    return b"%s %s HTTP/1.1\r\n%s\r\n%s" % (method.encode(), path.encode("utf-8", "replace"), lines, content)


def server_of(service: Service) -> uvicorn.Server:
    """A server for connections without sockets, which does not say what it thinks of requests."""
    server = make_server(service)
    server.config.load()
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    return server


class Wire(asyncio.Transport):
    """One connection to a server, for a service whose writer runs in this event loop."""

    def __init__(self, server: uvicorn.Server) -> None:
        super().__init__()
        config: Any = server.config
        self.protocol = config.http_protocol_class(config=config, server_state=server.server_state, app_state={})
        self.protocol.connection_made(self)
        self._received = b""
        self._came = asyncio.Event()
        self._is_closing = False

    async def send(self, request: bytes) -> tuple[int, bytes]:
        """Send a request; the status and the content of its answer."""
        self.protocol.data_received(request)
        return await asyncio.wait_for(self.answer(is_head=request.startswith(b"HEAD ")), 60.0)

    async def answer(self, *, is_head: bool = False) -> tuple[int, bytes]:
        """Status and content of the next answer."""
        while True:
            head, found, rest = self._received.partition(b"\r\n\r\n")
            length = 0 if is_head else int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
            if found and len(rest) >= length:
                self._received = rest[length:]
                return int(head.split(b" ", 2)[1]), rest[:length]
            self._came.clear()
            await self._came.wait()

    def write(self, data: bytes | bytearray | memoryview[int]) -> None:
        self._received += bytes(data)
        self._came.set()

    def close(self) -> None:
        self._is_closing = True

    def is_closing(self) -> bool:
        return self._is_closing

    def pause_reading(self) -> None:
        """There is nobody to be told."""

    def resume_reading(self) -> None:
        """There is nobody to be told."""
