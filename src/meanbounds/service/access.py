"""Who may ask: tokens, of which a store keeps only hashes, and who is admitted without one."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import json
import re
import secrets
import threading
import time
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from contextlib import closing
from typing import Any, NamedTuple

import msgspec

from meanbounds.service import limits
from meanbounds.service.database import Database, TokenRow, connect
from meanbounds.service.log import say
from meanbounds.service.refusals import RefusedError

__all__ = ["SCOPES", "Access", "Headers", "Who", "make_token", "revoke_token"]

SCOPES = ("decide", "reward", "observe", "read", "admin")
"""What a token can allow."""

Headers = Sequence[tuple[bytes, bytes]]
"""The headers of a request; their names are in lower case."""

_STALE, _HOUR = 5.0, 3_600.0  # seconds
_TOKEN = re.compile(rb"(?:bearer +)?mb_([0-9a-f]+)_([\w-]+)", re.IGNORECASE)
_LOCAL = re.compile(rb"(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?", re.IGNORECASE)
_RELAYED = re.compile(rb"forwarded|x-forwarded-.*|x-real-ip|via")
_OWN_SITE = (b"same-origin", b"none")
_read = msgspec.json.Decoder(list[str]).decode


class Who(NamedTuple):
    """Somebody who was admitted: a name, the agents that they may know of (None for all), and the id of the token."""

    name: str
    agents: frozenset[str] | None = None
    id: str = ""

    def sees(self, agent: str) -> bool:
        """Whether they may know of an agent."""
        return self.agents is None or agent in self.agents


_NO_TOKEN = TokenRow("", "0" * 64, "[]", "[]", "", 0.0, 1)


def make_token(
    database: Database,
    scopes: Iterable[str],
    agents: Iterable[str] | None = None,
    name: str = "",
    days: float | None = None,
) -> str:
    """Make a token that allows some of `SCOPES`, for some agents or all, and return it: the store keeps only a hash."""
    wanted, own = sorted(set(scopes)), None if agents is None else json.dumps(sorted(set(agents)))
    if not wanted or not set(wanted) <= set(SCOPES):
        raise ValueError(f"scopes are some of {', '.join(SCOPES)}; got {', '.join(wanted) or 'none'}")
    if len(name) > limits.NAME or not name.isprintable():
        raise ValueError(f"the name of a token has at most {limits.NAME} printable characters; got {name[:50]!r}")
    if days is not None and not 0.0 < days <= 36_500.0:
        raise ValueError(f"days must be more than 0 and at most 36,500; got {days}")
    number, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    hashed, expires = _hash(secret.encode()), None if days is None else time.time() + 86_400.0 * days
    with database.writing():
        database.put("tokens", TokenRow(number, hashed, json.dumps(wanted), own, name, expires, 0))
    return f"mb_{number}_{secret}"


def revoke_token(database: Database, id_or_name: str) -> None:
    """Revoke the token with this id, or those with this name; a service takes notice within two seconds."""
    with database.writing():
        found = [row for row in database.tokens() if id_or_name and id_or_name in (row.id, row.name)]
        if not found:
            raise ValueError(f"no token has the id or the name {id_or_name!r}")
        for row in found:
            database.put("tokens", row._replace(revoked=1))


class Access:
    """Admits requests. A thread reads the tokens once a second; before it has, and while it cannot, nobody passes."""

    def __init__(self, database: Database, every: float = 1.0) -> None:
        self._database, self._every = database, every  # seconds between two looks
        self._known: tuple[float, dict[str, TokenRow], bool] | None = None
        self._made = defaultdict[str, deque[float]](deque)
        self._end, self._tried = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="access", daemon=True)

    def start(self) -> None:
        """Start the thread, and wait until it has tried to read."""
        self._thread.start()
        self._tried.wait(_STALE)

    def close(self) -> None:
        """Stop the thread."""
        self._end.set()
        self._thread.join(_STALE)

    def _run(self) -> None:
        while not self._end.is_set():
            try:
                with closing(connect(self._database.address)) as own:
                    while not self._end.is_set():
                        began = time.monotonic()
                        with own.reading():
                            tokens, access = {row.id: row for row in own.tokens()}, own.meta()["access"]
                        self._known = began, tokens, access == "loopback"
                        self._tried.set()
                        self._end.wait(self._every)
            except Exception as error:  # whatever it was, nobody passes until tokens are read again
                self._known = None
                say("tokens cannot be read", error=getattr(error, "kind", type(error).__name__))
                self._tried.set()
                self._end.wait(self._every)

    @property
    def known(self) -> tuple[float, dict[str, TokenRow], bool] | None:
        """When tokens were read, the tokens, and whether none is needed here; None if that did not work lately."""
        known = self._known
        return known if known is not None and time.monotonic() <= known[0] + _STALE else None

    def admit(self, headers: Headers, peer: Sequence[Any] | None, scope: str, agent: str | None = None) -> Who:
        """Who sends a request from an address, if they may do this; refusals are the same whether an agent exists."""
        known = self.known
        if known is None:
            raise RefusedError(503, "tokens", "who may do this cannot be looked up now; try again soon")
        given = [value for name, value in headers if name in (b"authorization", b"x-api-key")]
        if known[2] and not given:
            if not _is_local(headers, peer):
                raise RefusedError(403, "forbidden", "without a token, only programs on this machine may do this")
            return Who("local")
        match = _TOKEN.fullmatch(given[0]) if len(given) == 1 else None
        number, secret = match.groups() if match else (b"", b"")
        token = known[1].get(number.decode(), _NO_TOKEN)  # the comparison takes as long for one that does not exist
        is_right = hmac.compare_digest(_hash(secret), token.hash)
        if not is_right or token.revoked or (token.expires is not None and token.expires <= time.time()):
            raise RefusedError(401, "unauthorized", "send one valid token: Authorization: Bearer mb_...")
        who = Who(token.name or token.id, None if token.agents is None else frozenset(_read(token.agents)), token.id)
        if scope not in _read(token.scopes):
            raise RefusedError(403, "forbidden", f"this token lacks the scope {scope}; meanbounds token makes another")
        if agent is not None and not who.sees(agent):
            raise RefusedError(403, "forbidden", "this token is not for this agent; meanbounds token makes another")
        return who

    def count_contexts(self, who: Who, new: int) -> None:
        """Count new contexts that somebody asks for, or refuse all of them."""
        if not new:
            return
        made, now = self._made[who.id], time.monotonic()
        while made and now - made[0] >= _HOUR:
            made.popleft()
        if len(made) + new > limits.NEW_CONTEXTS:
            raise RefusedError(429, "contexts", f"more than {limits.NEW_CONTEXTS} new contexts in an hour; ask later")
        made.extend([now] * new)


def _is_local(headers: Headers, peer: Sequence[Any] | None) -> bool:
    """Whether a program on this machine asks for itself: no proxy, and no page of another site in a browser."""
    hosts = [value for name, value in headers if name == b"host"]
    for name, value in headers:
        foreign = name == b"origin" and [value.partition(b"://")[2]] != hosts
        if foreign or _RELAYED.fullmatch(name) or (name == b"sec-fetch-site" and value not in _OWN_SITE):
            return False
    try:
        is_near = ipaddress.ip_address(peer[0] if peer else "").is_loopback
    except ValueError:
        return False
    return is_near and len(hosts) == 1 and _LOCAL.fullmatch(hosts[0]) is not None


def _hash(secret: bytes) -> str:
    return hashlib.sha256(secret).hexdigest()
