"""The database of a store: one set of SQL for SQLite and PostgreSQL, which have a class each for what differs."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from meanbounds.service.events import Event, row_sum
from meanbounds.service.refusals import StoreError

__all__ = ["FORMAT", "MIGRATIONS", "TABLES", "ContextRow", "Database", "StateRow", "TokenRow", "connect"]

FORMAT = 1
"""The version of the tables below."""

MIGRATIONS: dict[int, Sequence[str]] = {}
"""SQL that takes a store from a version to the next."""

_SCHEMA = (  # INTEGER and REAL have 64 bits
    "CREATE TABLE events (position INTEGER PRIMARY KEY, time REAL NOT NULL, kind TEXT NOT NULL, agent TEXT NOT NULL, "
    "key TEXT UNIQUE, about INTEGER, body TEXT NOT NULL, hash TEXT NOT NULL, UNIQUE (about, kind))",
    "CREATE TABLE contexts (id INTEGER PRIMARY KEY, agent TEXT NOT NULL, name TEXT, sum TEXT NOT NULL)",
    "CREATE TABLE states (agent TEXT PRIMARY KEY, position INTEGER NOT NULL, hash TEXT NOT NULL, body TEXT NOT NULL, "
    "sum TEXT NOT NULL)",
    "CREATE TABLE tokens (id TEXT PRIMARY KEY, hash TEXT NOT NULL, scopes TEXT NOT NULL, agents TEXT, "
    "name TEXT NOT NULL, expires REAL, revoked INTEGER NOT NULL, sum TEXT NOT NULL)",
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL, sum TEXT NOT NULL)",
)
_ROWS = 2_000  # rows that are read at a time
_EVENT = ", ".join(Event._fields)


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


TABLES: dict[str, tuple[str, ...]] = {  # the columns of each; the first is the key
    "events": Event._fields,
    "contexts": (*ContextRow._fields, "sum"),
    "states": (*StateRow._fields, "sum"),
    "tokens": (*TokenRow._fields, "sum"),
    "meta": ("name", "value", "sum"),
}


class Database(ABC):
    """One connection to a store, for one thread at a time; what fails is raised as `StoreError`.

    `address` says where the store is, and may have a password in it; `shown` is the same without one. Write inside
    `writing`; inside `reading`, everything that is read is of one moment.
    """

    patience: ClassVar[float] = 5.0  # seconds to wait for another process that writes
    _writing: ClassVar[str]
    _reading: ClassVar[str]
    _inside = False  # a transaction

    def __init__(self, address: str, shown: str) -> None:
        self.address, self.shown = address, shown

    @abstractmethod
    def _run(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """What a query returns; between transactions, make sure first that the connection is good."""

    @abstractmethod
    def _insert(self, table: str, rows: Sequence[Sequence[Any]], otherwise: str = "") -> None:
        """Insert rows; `otherwise` is SQL for those whose key is there already."""

    @abstractmethod
    def _among(self, column: str, values: Iterable[Any]) -> tuple[str, Any]:
        """SQL for "the column has one of these values", and what to bind."""

    @abstractmethod
    def _faults(self) -> list[str]:
        """What the database itself finds damaged."""

    @abstractmethod
    def sweep(self) -> None:
        """Remove what the database's own log still has of erased names, where that is possible."""

    @abstractmethod
    def another(self) -> Database:
        """One more connection to the same store."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection."""

    def _fill(self) -> None:
        for statement in _SCHEMA:
            self._run(statement)
        for name, value in {"format": str(FORMAT), "secret": secrets.token_hex(32), "access": "tokens"}.items():
            self.put_meta(name, value)

    def _migrate(self) -> None:
        while (found := int(self.meta().get("format", 0))) != FORMAT:
            if found > FORMAT or found not in MIGRATIONS:
                age = "a newer" if found > FORMAT else "another"
                raise StoreError(
                    "failed", f"{self.shown} was written by {age} version of meanbounds: update meanbounds"
                )
            with self.writing():
                if self.meta()["format"] == str(found):  # no other process was quicker
                    for statement in MIGRATIONS[found]:
                        self._run(statement)
                    self.put_meta("format", str(found + 1))

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        if self._inside:
            raise RuntimeError("this connection has begun a transaction already")
        try:
            self._run(begin)
            self._inside = True
            yield
            self._run("COMMIT")
        except BaseException:
            self._inside = True  # so that nothing connects again for this
            with suppress(StoreError):
                self._run("ROLLBACK")
            raise
        finally:
            self._inside = False

    def writing(self) -> AbstractContextManager[None]:
        """Keep other writers out; commit at the end, or undo everything if there is an exception."""
        return self._transaction(self._writing)

    def reading(self) -> AbstractContextManager[None]:
        """See the store as it is now until the end; this neither waits for writers nor holds them up."""
        return self._transaction(self._reading)

    def rows(self, table: str, after: Any = None, where: str = "", values: Sequence[Any] = ()) -> Iterator[Any]:
        """Rows of a table as they are stored, by key, a few thousand at a time."""
        columns, key = ", ".join(TABLES[table]), TABLES[table][0]
        query = f"SELECT {columns} FROM {table} WHERE {key} > ?{where} ORDER BY {key} LIMIT {_ROWS}"
        after = (0 if table in ("events", "contexts") else "") if after is None else after
        while True:
            found = self._run(query, (after, *values))
            yield from found
            if len(found) < _ROWS:
                return
            after = found[-1][0]

    def add_rows(self, table: str, rows: Sequence[Sequence[Any]]) -> None:
        """Insert rows as `rows` returns them."""
        self._insert(table, rows)

    def last(self) -> Event | None:
        """The last event."""
        found = self._run(f"SELECT {_EVENT} FROM events ORDER BY position DESC LIMIT 1")
        return Event._make(found[0]) if found else None

    def events(self, after: int = 0, agent: str | None = None, kinds: Sequence[str] = ()) -> Iterator[Event]:
        """The events after a position, by position; those of one agent or of some kinds."""
        where, values = ("", []) if agent is None else (" AND agent = ?", [agent])
        if kinds:
            among, bound = self._among("kind", kinds)
            where, values = f"{where} AND {among}", [*values, bound]
        return map(Event._make, self.rows("events", after, where, values))

    def find(self, keys: Sequence[str]) -> list[Event]:
        """The events that have one of these keys, in no order."""
        among, bound = self._among("key", keys)
        return [Event._make(row) for row in self._run(f"SELECT {_EVENT} FROM events WHERE {among}", (bound,))]

    def about(self, positions: Sequence[int]) -> list[Event]:
        """The events about the events at these positions, in no order."""
        among, bound = self._among("about", positions)
        return [Event._make(row) for row in self._run(f"SELECT {_EVENT} FROM events WHERE {among}", (bound,))]

    def append(self, events: Sequence[Event]) -> None:
        """Add events."""
        self._insert("events", events)

    def _whole(self, table: str, after: Any = None) -> Iterator[Any]:
        for *row, own in self.rows(table, after):
            if own != row_sum(tuple(row)):
                raise StoreError("damaged", f"{self.shown}: {_mismatch(table, row[0])}; restore a backup")
            yield row

    def _put(self, table: str, *rows: tuple[Any, ...]) -> None:
        key, *others = TABLES[table]
        new = ", ".join(f"{column} = excluded.{column}" for column in others)
        self._insert(table, [(*row, row_sum(row)) for row in rows], f" ON CONFLICT ({key}) DO UPDATE SET {new}")

    def contexts(self, after: int = 0) -> list[ContextRow]:
        """The contexts with larger numbers than this."""
        return [ContextRow(*row) for row in self._whole("contexts", after)]

    def add_contexts(self, rows: Sequence[ContextRow]) -> None:
        """Add contexts."""
        self._insert("contexts", [(*row, row_sum(row)) for row in rows])

    def erase_context(self, id: int) -> None:
        """Erase the name of a context."""
        for (agent,) in self._run("SELECT agent FROM contexts WHERE id = ?", (id,)):
            self._put("contexts", ContextRow(id, agent, None))

    def states(self) -> list[StateRow]:
        """The agents as they were last saved."""
        return [StateRow(*row) for row in self._whole("states")]

    def put_states(self, rows: Sequence[StateRow]) -> None:
        """Save agents in the place of what was saved of them before."""
        self._put("states", *rows)

    def tokens(self) -> list[TokenRow]:
        """All tokens."""
        return [TokenRow(*row) for row in self._whole("tokens")]

    def put_token(self, row: TokenRow) -> None:
        """Add a token, or replace the one with this id."""
        expires = None if row.expires is None else float(row.expires)
        self._put("tokens", row._replace(expires=expires, revoked=int(row.revoked)))

    def meta(self) -> dict[str, str]:
        """What is kept of the store as a whole: its format, its secret and who has access."""
        return dict(self._whole("meta"))

    def put_meta(self, name: str, value: str) -> None:
        """Set one of these."""
        self._put("meta", (name, value))

    def check(self) -> list[str]:
        """What is damaged, outside of what the chain of events shows; each entry names the table."""
        faults = self._faults()
        for table, columns in TABLES.items():
            try:
                for *row, own in self.rows(table):
                    if columns[-1] == "sum" and own != row_sum(tuple(row)):
                        faults.append(_mismatch(table, row[0]))
            except StoreError as error:
                faults.append(f"table {table}: {error}")
        return faults


def _mismatch(table: str, key: Any) -> str:
    return f"table {table}, row {key!r}: the content does not match its checksum"


def connect(address: str | Path, *, create: bool = False) -> Database:
    """Connect to the store at an address: the path of a file, or the URL of a PostgreSQL database.

    With `create`, make the store if it is not there.
    """
    if str(address).startswith(("postgresql:", "postgres:")):
        from meanbounds.service.postgres import PostgresDatabase

        return PostgresDatabase(str(address), create=create)
    from meanbounds.service.sqlite import SQLiteDatabase

    return SQLiteDatabase(str(address), create=create)
