"""The database of a store: one set of SQL for SQLite and PostgreSQL, which have a class each for what differs."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from meanbounds.service.events import Event, row_sum
from meanbounds.service.refusals import StoreError

__all__ = ["FORMAT", "MIGRATIONS", "ROWS", "TABLES", "ContextRow", "Database", "StateRow", "TokenRow", "connect"]

FORMAT = 1  # of the tables
MIGRATIONS: dict[int, Sequence[str]] = {}  # SQL that takes a store from this format to the next
ROWS = 1_000  # that are read at a time
CHANGES = "('create', 'change', 'erase')"  # the kinds of events that people cause

SCHEMA = (
    "CREATE TABLE events (position INTEGER PRIMARY KEY, time REAL NOT NULL, kind TEXT NOT NULL, agent TEXT NOT NULL, "
    "key TEXT UNIQUE, about INTEGER, body TEXT NOT NULL, hash TEXT NOT NULL, UNIQUE (about, kind))",
    f"CREATE INDEX changes ON events (agent, position) WHERE kind IN {CHANGES}",
    "CREATE TABLE contexts (id INTEGER PRIMARY KEY, agent TEXT NOT NULL, name TEXT, sum TEXT NOT NULL)",
    "CREATE TABLE states (agent TEXT PRIMARY KEY, position INTEGER NOT NULL, hash TEXT NOT NULL, body TEXT NOT NULL, "
    "sum TEXT NOT NULL)",
    "CREATE TABLE tokens (id TEXT PRIMARY KEY, hash TEXT NOT NULL, scopes TEXT NOT NULL, agents TEXT, "
    "name TEXT NOT NULL, expires REAL, revoked INTEGER NOT NULL, sum TEXT NOT NULL)",
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL, sum TEXT NOT NULL)",
)


class ContextRow(NamedTuple):
    """A context: its number, its agent, and its name as JSON, or None once it is erased."""

    id: int
    agent: str
    name: str | None


class StateRow(NamedTuple):
    """An agent as it was after the event at a position, which has this hash."""

    agent: str
    position: int
    hash: str
    body: str


class TokenRow(NamedTuple):
    """A token: the hash of its secret and what it allows; `scopes` and `agents` are JSON lists (None: all agents)."""

    id: str
    hash: str
    scopes: str
    agents: str | None
    name: str
    expires: float | None
    revoked: int


TABLES = {"events": "position", "contexts": "id", "states": "agent", "tokens": "id", "meta": "name"}  # and their keys


class Database(ABC):
    """One connection to a store, for one thread at a time; all failures are `StoreError`.

    Write inside `writing`. `address` may contain a password; `shown` is the same without one.
    """

    patience: ClassVar[float] = 5.0  # seconds to wait for another process that writes
    _write: ClassVar[str]  # how to begin
    _read: ClassVar[str]
    _connection: Any = None
    _inside = False  # a transaction
    shown: str

    def __init__(self, address: str, *, create: bool = False) -> None:
        self.address = address
        try:
            self._open(create)
            self._migrate()
        except BaseException:
            self.close()
            raise

    @abstractmethod
    def _open(self, create: bool) -> None:
        """Connect to a store, or make it."""

    @abstractmethod
    def _run(self, query: str, values: Sequence[Any] = (), *, many: bool = False) -> list[Any]:
        """The rows that a query returns. `many`: run it for each of a list of values, and return nothing."""

    @abstractmethod
    def _check_pages(self, table: str) -> list[str]:
        """What the database itself finds wrong with a table and its indexes."""

    def sweep(self) -> bool:
        """Remove what the database's own log still has of erased names; False if that is not possible now."""
        return True  # a server does by itself

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()

    def _fill(self) -> None:
        for statement in SCHEMA:
            self._run(statement)
        meta = {"format": str(FORMAT), "secret": secrets.token_hex(32), "access": "tokens"}
        self.put("meta", *meta.items())

    def _migrate(self) -> None:
        while (found := self.meta().get("format")) != str(FORMAT):
            steps = MIGRATIONS.get(int(found or 0))
            if steps is None:
                raise StoreError("failed", f"{self.shown} is of a newer version (format {found}): update meanbounds")
            with self.writing():
                if self.meta()["format"] == found:  # otherwise another process was quicker
                    for statement in steps:
                        self._run(statement)
                    self.put("meta", ("format", str(int(found) + 1)))

    @contextmanager
    def _transaction(self, *begin: str) -> Iterator[None]:
        if self._inside:
            raise RuntimeError("a transaction has begun already on this connection")
        try:
            for statement in begin:
                self._run(statement)
                self._inside = True
            yield
            self._run("COMMIT")
        except BaseException:
            self._inside = True  # so that this does not connect again
            with suppress(StoreError):
                self._run("ROLLBACK")
            raise
        finally:
            self._inside = False

    def writing(self) -> AbstractContextManager[None]:
        """Keep other writers out; commit at the end, or undo everything after an exception."""
        return self._transaction(self._write)

    def reading(self) -> AbstractContextManager[None]:
        """See the store as it is now until the end, without waiting for writers or delaying them."""
        return self._transaction(self._read, "SELECT 1 FROM meta")  # from here on nothing changes

    def rows(self, table: str, after: int | str | None = None, where: str = "", *values: Any) -> Iterator[Any]:
        """Rows as they are stored, in the order of their keys, read in chunks."""
        key = TABLES[table]
        query = f"SELECT * FROM {table} WHERE {key} > ?{where} ORDER BY {key} LIMIT {ROWS}"
        if after is None:
            after = 0 if table in ("events", "contexts") else ""
        while True:
            found = self._run(query, (after, *values))
            yield from found
            if len(found) < ROWS:
                return
            after = found[-1][0]

    def insert(self, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Add rows; a key that is there already is an error."""
        if rows:
            whole = [(*row, row_sum(row)) for row in rows] if table != "events" else rows
            self._run(f"INSERT INTO {table} VALUES {_marks(whole[0])}", whole, many=True)

    def put(self, table: str, *rows: tuple[Any, ...]) -> None:
        """Add rows, or put them in the place of those with the same keys."""
        self._run(f"DELETE FROM {table} WHERE {TABLES[table]} = ?", [row[:1] for row in rows], many=True)
        self.insert(table, rows)

    def whole(self, table: str, after: int | str | None = None) -> Iterator[Any]:
        """Rows without their checksums; one that does not match is an error."""
        for *row, own in self.rows(table, after):
            if own != row_sum(tuple(row)):
                raise StoreError("damaged", f"{self.shown} is damaged: {_mismatch(table, row[0])}; restore a backup")
            yield tuple(row)

    def _events(self, where: str, values: Sequence[Any] = ()) -> list[Event]:
        return [Event._make(row) for row in self._run(f"SELECT * FROM events WHERE {where}", values)]

    def last(self) -> Event | None:
        """The last event."""
        return next(iter(self._events("position = (SELECT max(position) FROM events)")), None)

    def find(self, values: Sequence[Any], column: Literal["key", "about", "position"] = "key") -> list[Event]:
        """The events that have one of these keys, or of these values in another column, in no order."""
        return self._events(f"{column} IN {_marks(values)}", values) if values else []

    def events(self, after: int = 0, agent: str | None = None, kinds: Sequence[str] = ()) -> Iterator[Event]:
        """The events after a position, by position; those of one agent or of some kinds."""
        where = "" if agent is None else " AND agent = ?"
        where += f" AND kind IN {_marks(kinds)}" if kinds else ""
        return map(Event._make, self.rows("events", after, where, *([] if agent is None else [agent]), *kinds))

    def changes(self, agent: str, after: int = 0, before: int = 2**53, most: int = 2**31) -> list[Event]:
        """What people changed about an agent, from a position on and before another, the newest first."""
        where = f"agent = ? AND kind IN {CHANGES} AND position >= ? AND position < ? ORDER BY position DESC LIMIT ?"
        return self._events(where, (agent, after, before, most))

    def contexts(self, after: int = 0) -> list[ContextRow]:
        """The contexts with larger numbers than this."""
        return [ContextRow(*row) for row in self.whole("contexts", after)]

    def states(self) -> list[StateRow]:
        """The agents as they were saved."""
        return [StateRow(*row) for row in self.whole("states")]

    def tokens(self) -> list[TokenRow]:
        """All tokens."""
        return [TokenRow(*row) for row in self.whole("tokens")]

    def meta(self) -> dict[str, str]:
        """The format of the store, its secret, and who has access."""
        return dict(self.whole("meta"))

    def check(self) -> list[str]:
        """What is damaged, but for the chain of events; each fault names the table."""
        faults = list[str]()
        for table in TABLES:
            try:
                faults += [f"table {table}: {fault}" for fault in self._check_pages(table)]
                for *row, own in self.rows(table):
                    if table != "events" and own != row_sum(tuple(row)):
                        faults.append(_mismatch(table, row[0]))
            except StoreError as error:
                faults.append(f"table {table}: {error}")
        return faults


def _marks(values: Sequence[Any]) -> str:
    return f"({', '.join('?' * len(values))})"


def _mismatch(table: str, key: Any) -> str:
    return f"table {table}, row {key!r}: the content does not match its checksum"


def connect(address: str | Path, *, create: bool = False) -> Database:
    """Connect to a store, the path of a file or the URL of a PostgreSQL database; with `create`, make it if needed."""
    if str(address).startswith(("postgresql:", "postgres:")):
        from meanbounds.service.postgres import PostgresDatabase

        return PostgresDatabase(str(address), create=create)
    from meanbounds.service.sqlite import SQLiteDatabase

    return SQLiteDatabase(str(address), create=create)
