"""Listening: the socket, the checks before it opens, and the server that answers."""

from __future__ import annotations

import gc
import hashlib
import ipaddress
import json
import re
import socket
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn

from meanbounds.agents import ContextualAgent, agent_from_dict
from meanbounds.bounds import MeanBounds
from meanbounds.policies import GLUE
from meanbounds.service.app import Service
from meanbounds.service.book import Book
from meanbounds.service.commands import Create
from meanbounds.service.errors import RefusalError
from meanbounds.service.events import Settings
from meanbounds.service.schema import MOST_HEAD_BYTES
from meanbounds.service.served import rehearse
from meanbounds.service.store import Store
from meanbounds.service.writer import carry_out

__all__ = [
    "add_agent",
    "check_key",
    "demo_agent",
    "make_server",
    "open_socket",
    "prepare",
    "read_agent",
    "serve",
    "warm_up",
]

_GARBAGE = 50_000  # objects after which Python looks for cycles among new ones
_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


def demo_agent() -> ContextualAgent:
    """An agent to try a service with: three treatments, by age.

    Examples
    --------
    >>> from meanbounds.service.server import demo_agent
    >>> demo_agent().contexts
    ('under 60', '60 to 75', 'over 75')
    """
    arms = ["tPA", "medical", "watch"]
    lower = {"under 60": [0.6, 0.3, 0.1], "60 to 75": [0.4, 0.4, 0.1], "over 75": [0.1, 0.3, 0.3]}
    upper = {"under 60": [0.9, 0.8, 0.5], "60 to 75": [0.8, 0.9, 0.6], "over 75": [0.6, 0.7, 0.8]}
    bounds = {age: MeanBounds(lower[age], upper[age], arms=arms) for age in lower}
    return ContextualAgent(GLUE(), bounds, seed=7, unknown="vacuous")


def prepare(store: Store) -> Book:
    """The state of a store, for a process that serves from it."""
    book = Book(store, store.new_worker())
    book.reload()
    return book


def check_key(key: str) -> None:
    """Refuse a name that could not stand in an address.

    Examples
    --------
    >>> from meanbounds.service.server import check_key
    >>> check_key("stroke")
    """
    if not _KEY.fullmatch(key):
        raise ValueError(
            f"an agent's name has letters, digits, '_', '-' and '.', at most 100; got {key!r}: give --name"
        )


def add_agent(book: Book, key: str, saved: Mapping[str, Any], settings: Settings) -> str | None:
    """Put an agent into the store under a key, unless it is there; what to tell the user, if anything.

    Parameters
    ----------
    book
        The state of the store.
    key
        The name by which requests speak of the agent.
    saved
        The agent, as `save` wrote it.
    settings
        How it is served; one that is there already keeps its own.
    """
    check_key(key)
    digest = hashlib.sha256(json.dumps(saved, sort_keys=True).encode()).hexdigest()
    (answer,) = carry_out(book, Create(key, saved, settings, digest))
    if isinstance(answer, RefusalError):
        raise ValueError(answer.message)
    served = book.agents[key]
    if answer:
        return None
    if served.digest != digest:
        return (
            f"agent {key!r}: the store has version {served.version} of another file, which is served; to replace it, "
            f"POST the new one to /v1/agents/{key}/changes"
        )
    if settings != served.settings:
        return f"agent {key!r}: its settings are those of the store; PATCH /v1/agents/{key}/settings changes them"
    return None


def warm_up(book: Book) -> None:
    """Let a copy of each agent decide and learn once, so that no request waits for a kernel to be compiled."""
    for served in book.agents.values():
        rehearse(served.sample())


def open_socket(host: str, port: int, store: Store) -> socket.socket:
    """A socket that listens; beyond this machine only if the store has tokens.

    Parameters
    ----------
    host
        The address to listen on, such as 127.0.0.1.
    port
        The port; 0 for any that is free.
    store
        The store, which has the tokens.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    family, kind, number, _, address = found[0]
    is_near = all(ipaddress.ip_address(str(one[4][0]).partition("%")[0]).is_loopback for one in found)
    if not is_near and not any(not token.revoked for token in store.tokens()):
        raise ValueError(
            f"{host} can be reached by others, and the store has no tokens: make one with meanbounds token, or listen "
            "on 127.0.0.1"
        )
    listening = socket.socket(family, kind, number)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(address)
    except OSError as error:
        listening.close()
        raise OSError(f"cannot listen on {host} port {port}: {error.strerror}; give another --port") from error
    listening.listen(2048)
    return listening


def _protocol(service: Service) -> Any:
    """What reads HTTP: httptools where it is installed, which takes less time than h11."""
    try:
        from meanbounds.service.direct import Direct
    except ImportError:
        return "h11"
    return partial(Direct, service)


def make_server(service: Service) -> uvicorn.Server:
    """The server that answers for a service; ``server.run([socket])`` runs it."""
    config = uvicorn.Config(
        service,
        loop="auto",  # uvloop where it is installed
        http=_protocol(service),
        log_level="warning",
        access_log=False,
        lifespan="on",
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=10,
        h11_max_incomplete_event_size=MOST_HEAD_BYTES,
        ws="none",
    )
    return uvicorn.Server(config)


def serve(service: Service, listening: socket.socket) -> None:
    """Answer requests until the process is told to stop (Ctrl-C or SIGTERM)."""
    # The thread that syncs needs the interpreter for an instant when it is done: it should not wait for long.
    before, thresholds = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(0.0005)
    # The agents stay, and requests leave no cycles: looking through all of them again and again would hold up requests.
    gc.collect()
    gc.freeze()
    gc.set_threshold(_GARBAGE, *thresholds[1:])
    try:
        make_server(service).run([listening])
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()
        sys.setswitchinterval(before)
        listening.close()


def read_agent(path: Path) -> dict[str, Any]:
    """A saved agent, as JSON; one that could not be served is refused."""
    try:
        saved = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} holds no saved agent: it is not JSON ({error})") from None
    if not isinstance(saved, dict):
        raise ValueError(f"{path} holds no saved agent: expected a JSON object")
    agent_from_dict(saved)  # says what is wrong with it
    return saved
