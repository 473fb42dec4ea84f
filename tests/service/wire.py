"""Requests as bytes to a service in a process of its own, and the answers that come back."""

import json
import re
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["SERVE", "Reply", "ask", "good", "memory", "receive", "request"]

SERVE = "import sys; from meanbounds.cli import main; sys.exit(main(['serve', *sys.argv[1:], '--port', '0']))"


class Reply(NamedTuple):
    status: int
    head: bytes
    body: bytes


def receive(connection: socket.socket, count: int, seconds: float = 10.0, method: bytes = b"") -> list[Reply]:
    """The answers that come on a connection, at most so many, until it is closed or the time is over."""
    got, found, end = b"", list[Reply](), time.monotonic() + seconds
    with suppress(OSError):
        while len(found) < count:
            head, whole, rest = got.partition(b"\r\n\r\n")
            length = int((re.search(rb"(?i)content-length: (\d+)", head) or [0, 0])[1]) * (method != b"HEAD")
            if whole and len(rest) >= length:
                status, got = int(head.split(b" ", 2)[1]), rest[length:]
                found += [Reply(status, head, rest[:length])] * (status >= 200)
                continue
            connection.settimeout(max(0.001, end - time.monotonic()))
            if not (part := connection.recv(1_000_000)):
                break
            got += part
    return found


def request(method: str, path: str, body: Any = None, token: str = "") -> bytes:
    """A request that is right."""
    content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(content)}"]
    lines += ["Content-Type: application/json"] * bool(content) + [f"Authorization: Bearer {token}"] * bool(token)
    return "\r\n".join([*lines, "", ""]).encode() + content


def ask(port: int, method: str, path: str, body: Any = None, token: str = "") -> Reply:
    """The answer to a request that is right."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(request(method, path, body, token))
        return (receive(connection, 1) or [Reply(0, b"", b"")])[0]


def good(
    port: int, token: str, ended: threading.Event, name: str = "good", agent: str = "clinic"
) -> list[tuple[int, float]]:
    """The statuses that a client gets which does what it should, and how long it waits for each."""
    found = list[tuple[int, float]]()
    while not ended.wait(0.05):
        asked, began = {"id": f"{name}-{len(found)}", "context": "north"}, time.monotonic()
        status = ask(port, "POST", f"/v1/agents/{agent}/decisions", asked, token).status
        found.append((status, time.monotonic() - began))
    return found


def memory(process: int) -> float:
    """The megabytes that a process has needed so far."""
    return int(re.findall(r"VmHWM:\s+(\d+)", Path(f"/proc/{process}/status").read_text())[0]) / 1e3
