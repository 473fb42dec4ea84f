"""What a service asks of a store: an append-only log to which one writer at a time adds a group of events."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from meanbounds.service.events import CENSORED, EXPIRED, REWARDED, Event

__all__ = ["END", "OUTCOMES", "VERSION", "Found", "Store", "StoreError", "Token", "Wanted", "open_store"]

VERSION = 4  # of the tables
END = 2**62  # beyond every position
OUTCOMES = (REWARDED, EXPIRED, CENSORED)


class StoreError(OSError):
    """Raised where the store cannot be read or written; nothing of the group in question was acknowledged.

    Examples
    --------
    >>> from meanbounds.service.store import StoreError
    >>> print(StoreError("the disk is full"))
    the disk is full
    """


class Wanted(NamedTuple):
    """What a group of commands has to look up before it is carried out."""

    names: set[tuple[str, int, str]]  # agent, kind and name of events
    decisions: set[int]  # positions


class Found(NamedTuple):
    """What was found of it."""

    named: list[Event]
    decisions: list[Event]  # with what became of them


class Token(NamedTuple):
    """A token as the store has it: the hash of its secret, and what it allows."""

    id: str
    hash: bytes
    scopes: frozenset[str]
    agents: frozenset[str] | None  # None: all of them
    name: str
    expires: float | None
    revoked: bool


class Store(ABC):
    """A log of events in a database, with the snapshots, versions of agents and tokens that go with it.

    A group is written between `begin`, which keeps other writers out, and `commit` or `rollback`.

    Examples
    --------
    >>> from meanbounds.service import open_store
    >>> from meanbounds.service.events import CENSORED, Event
    >>> store = open_store("sqlite::memory:")
    >>> with store.group():
    ...     store.write([Event(1, 0.0, CENSORED, "demo", None, 7, b"{}")])
    >>> [event.position for event in store.read()]
    [1]
    """

    is_local = True  # whether a look-up is so fast that it need not leave the thread that asks

    @abstractmethod
    def begin(self, after: int, wanted: Wanted) -> tuple[list[Event], Found]:
        """Keep other writers out; return the events after this position, and what was looked up."""

    @abstractmethod
    def write(self, events: Sequence[Event]) -> None:
        """Add events at the end of the log; they count from `commit` on."""

    @abstractmethod
    def commit(self) -> None:
        """Sync the group to disk, and let other writers in."""

    @abstractmethod
    def rollback(self) -> None:
        """Forget the group, and let other writers in."""

    @abstractmethod
    def probe(self) -> None:
        """Write something that does not matter, to see whether writing works."""

    @abstractmethod
    def read(self, after: int = 0, until: int | None = None) -> Iterator[Event]:
        """The events after a position, in order."""

    @abstractmethod
    def last(self) -> int:
        """The position of the last event; 0 if there is none."""

    @abstractmethod
    def decisions(self, agent: str, after: int, limit: int) -> list[tuple[int, float, bool]]:
        """The next decisions of an agent: position, time, and whether anything has become of each."""

    @abstractmethod
    def outcomes(self, position: int) -> list[Event]:
        """What has become of the decision at this position, in order."""

    def erase_traces(self) -> None:
        """Empty what the database itself keeps of rows that were overwritten, as far as it can be told to."""
        return

    @abstractmethod
    def find(self, agent: str, part: bytes, after: int, until: int) -> Iterator[Event]:
        """The events of an agent after a position whose bodies have these bytes anywhere, in order."""

    @abstractmethod
    def rewrite(self, events: Iterable[tuple[int, str | None, bytes]]) -> None:
        """Replace names and bodies of events, by position; for contexts that are erased."""

    @abstractmethod
    def count_erasure(self) -> None:
        """Note, as part of the group, that a context is erased: the log is not what others have read of it."""

    @abstractmethod
    def erasures(self) -> int:
        """How many contexts were erased so far."""

    @abstractmethod
    def number(self, agent: str, names: Iterable[str]) -> dict[str, int]:
        """The numbers that stand for names of an agent's contexts; new ones are kept as part of the group."""

    @abstractmethod
    def names(self, agent: str) -> dict[int, str]:
        """The names that numbers stand for, of all contexts that versions and snapshots of an agent speak of."""

    @abstractmethod
    def rename(self, agent: str, old: Sequence[str], new: str) -> None:
        """Let the numbers of some names stand for another one, as part of the group."""

    @abstractmethod
    def add_piece(self, name: str, number: int, body: bytes) -> None:
        """Keep a piece of a snapshot of this name, which does not count before `use_pieces`, as part of the group."""

    @abstractmethod
    def use_pieces(self, position: int, name: str) -> None:
        """Let the pieces of this name be the newest snapshot, as part of the group."""

    @abstractmethod
    def pieces(self) -> list[tuple[str, int]]:
        """The pieces of snapshots that the store has, the newest snapshot's and others: name and number."""

    @abstractmethod
    def drop_piece(self, name: str, number: int) -> None:
        """Delete a piece, as part of the group."""

    @abstractmethod
    def newest(self) -> tuple[int, str] | None:
        """The position of the newest snapshot, and the name of its pieces."""

    @abstractmethod
    def snapshot(self) -> tuple[int, bytes] | None:
        """The newest snapshot, and its position."""

    def keep_snapshot(self, position: int, body: bytes) -> None:
        """Keep a snapshot in place of all others, as part of the group."""
        name = secrets.token_hex(8)
        for piece in self.pieces():
            self.drop_piece(*piece)
        self.add_piece(name, 0, body)
        self.use_pieces(position, name)

    def relax(self) -> None:
        """Let commits of this connection return before they are synced: for what can be made again, not for events."""
        return

    @property
    def shared_address(self) -> str | None:
        """The address with which another process can open the store; None if none can."""
        return None

    def defer_tidying(self) -> None:
        """Leave to `tidy` what the database would otherwise do now and then at the end of a group."""
        return

    def tidy(self) -> bool:
        """Move what was written to where it stays, in any thread; True if `finish_tidying` should end it."""
        return False

    def finish_tidying(self) -> None:
        """What is left to do of `tidy` between two groups, when nobody writes."""
        return

    @abstractmethod
    def keep_version(self, agent: str, version: int, position: int, body: bytes) -> None:
        """Keep the state in which a version of an agent began, as part of the group."""

    @abstractmethod
    def versions(self, agent: str) -> list[tuple[int, int]]:
        """The versions of an agent, and their positions."""

    @abstractmethod
    def version(self, agent: str, version: int) -> tuple[int, bytes] | None:
        """The position at which a version of an agent began, and the state then."""

    @abstractmethod
    def setting(self, name: str, default: str | None = None) -> str:
        """One of the entries of the store, such as its secret; the default, if there is one, where it has none."""

    @abstractmethod
    def new_worker(self) -> int:
        """A number for a process that serves from this store, and a salt for the ids of its decisions."""

    @abstractmethod
    def tokens(self) -> list[Token]:
        """All tokens."""

    @abstractmethod
    def add_token(self, token: Token) -> None:
        """Keep a new token."""

    @abstractmethod
    def revoke_token(self, token: str) -> bool:
        """Take a token back; False if there is none with this id."""

    @abstractmethod
    def backup(self, target: str) -> None:
        """Copy the store while it is in use."""

    @abstractmethod
    def close(self) -> None:
        """Close connections."""

    @contextmanager
    def group(self, after: int | None = None) -> Iterator[list[Event]]:
        """A group that is committed at the end of the block, or forgotten if it raises."""
        news, _ = self.begin(self.last() if after is None else after, Wanted(set(), set()))
        try:
            yield news
            self.commit()
        except BaseException:
            self.rollback()
            raise

    def decision_id(self, position: int, worker: int) -> str:
        """The public id of a decision, which nobody can guess: its position, and a code that needs the secret.

        A store that was restored from a backup has the positions after the backup once more. The code depends on the
        process that decided, which has a salt of its own, so an id from before the restoration is not that of another
        decision.

        Parameters
        ----------
        position
            The position of the decision.
        worker
            The number of the process that decided, as the event has it.
        """
        return f"{position:x}-{self._code(position, worker)}"

    def is_id(self, decision_id: str, position: int, worker: int) -> bool:
        """Whether this is the id of the decision at a position; see `decision_id`."""
        return hmac.compare_digest(decision_id, self.decision_id(position, worker))

    def position_of(self, decision_id: str) -> int | None:
        """The position that an id is about; None for a text that is no id. `is_id` says whether it is the right one."""
        head, dash, code = decision_id.partition("-")
        try:
            position = int(head, 16)
        except ValueError:
            return None
        if not dash or not 0 < position < 2**62 or f"{position:x}" != head or not code.isascii():
            return None
        return position

    def _code(self, position: int, worker: int) -> str:
        return self.hashed(position.to_bytes(8, "big") + self._salt(worker), 12)

    def _salt(self, worker: int) -> bytes:
        """The salt of a process that serves or served from this store; those of older versions had none."""
        known: dict[int, bytes] = self.__dict__.setdefault("_salts", {})
        if worker not in known:
            known[worker] = bytes.fromhex(self.setting(salt_of(worker), ""))
        return known[worker]

    def hashed(self, data: bytes, size: int) -> str:
        """A hash of this many bytes that needs the secret, in hexadecimal."""
        known: dict[int, hashlib.blake2b] = self.__dict__.setdefault("_hashes", {})
        if size not in known:
            known[size] = hashlib.blake2b(key=self.secret, digest_size=size)
        hashed = known[size].copy()  # the secret has gone into it: half of the work
        hashed.update(data)
        return hashed.hexdigest()

    @property
    def secret(self) -> bytes:
        """The secret from which ids of decisions are made; kept after the first look."""
        known: bytes | None = self.__dict__.get("_secret")
        if known is None:
            known = self.__dict__["_secret"] = bytes.fromhex(self.setting("secret"))
        return known


def open_store(address: str, *, create: bool = True) -> Store:
    """Open the store at an address, and bring its tables up to date.

    Parameters
    ----------
    address
        ``sqlite:state.db`` for a file, ``sqlite::memory:`` for none, or ``postgresql://...``.
    create
        Whether to make the file if it is not there.

    Examples
    --------
    >>> from meanbounds.service import open_store
    >>> open_store("sqlite::memory:").last()
    0
    >>> open_store("state.db")
    Traceback (most recent call last):
    ValueError: a store is sqlite:FILE, such as sqlite:state.db, or postgresql://...; got 'state.db'
    """
    if address.startswith("sqlite:") and len(address) > len("sqlite:"):
        from meanbounds.service.sqlite import SQLiteStore

        return SQLiteStore(address.removeprefix("sqlite:"), create=create)
    if address.startswith(("postgresql:", "postgres:")):
        from meanbounds.service.postgres import PostgresStore

        return PostgresStore(address)
    raise ValueError(f"a store is sqlite:FILE, such as sqlite:state.db, or postgresql://...; got {address!r}")


def salt_of(worker: int) -> str:
    """The name under which a store keeps the salt of a process."""
    return f"salt of worker {worker}"


def row_of_token(token: Token) -> tuple[Any, ...]:
    """A token as a row of a table."""
    agents = None if token.agents is None else "\n".join(sorted(token.agents))
    scopes = " ".join(sorted(token.scopes))
    return token.id, token.hash, scopes, agents, token.name, token.expires, int(token.revoked)


def token_of_row(row: Sequence[Any]) -> Token:
    """The token of a row."""
    number, code, scopes, agents, name, expires, revoked = row
    allowed = None if agents is None else frozenset(agents.split("\n"))
    return Token(number, bytes(code), frozenset(scopes.split()), allowed, name, expires, bool(revoked))
