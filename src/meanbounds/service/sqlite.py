"""The store in one SQLite file: no server, one writer at a time, every group synced to disk."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from meanbounds.service.events import DECIDED, Event
from meanbounds.service.packing import number_names
from meanbounds.service.store import (
    VERSION,
    Found,
    Store,
    StoreError,
    Token,
    Wanted,
    row_of_token,
    salt_of,
    token_of_row,
)

__all__ = ["SQLiteStore"]

_PATIENCE = 5.0  # seconds to wait for another process that writes
_EVENT = "position, time, kind, agent, name, subject, body"
_AT_ONCE = 2_000  # events read at a time
_SEARCHED = 20_000  # events searched at a time
_LONG = 8_192  # pages of the log of SQLite, after which it is emptied

# What takes the tables from one version to the next; the first entry makes them.
_MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
        "CREATE TABLE events (position INTEGER PRIMARY KEY, time REAL NOT NULL, kind INTEGER NOT NULL, "
        "agent TEXT NOT NULL, name TEXT, subject INTEGER, body BLOB NOT NULL)",
        "CREATE UNIQUE INDEX events_by_name ON events (name, kind, agent) WHERE name IS NOT NULL",
        "CREATE UNIQUE INDEX events_by_subject ON events (subject, kind) WHERE subject IS NOT NULL",
        "CREATE TABLE snapshots (id INTEGER PRIMARY KEY CHECK (id = 1), position INTEGER NOT NULL, body BLOB NOT NULL)",
        "CREATE TABLE versions (agent TEXT, version INTEGER, position INTEGER NOT NULL, body BLOB NOT NULL, "
        "PRIMARY KEY (agent, version))",
        "CREATE TABLE tokens (id TEXT PRIMARY KEY, hash BLOB NOT NULL, scopes TEXT NOT NULL, agents TEXT, "
        "name TEXT NOT NULL, expires REAL, revoked INTEGER NOT NULL) WITHOUT ROWID",
    ),
    (
        "CREATE TABLE pieces (name TEXT, number INTEGER, body BLOB NOT NULL, PRIMARY KEY (name, number))",
        "CREATE TABLE newest (id INTEGER PRIMARY KEY CHECK (id = 1), position INTEGER NOT NULL, name TEXT NOT NULL)",
        "INSERT INTO pieces SELECT 'first', 0, body FROM snapshots",
        "INSERT INTO newest SELECT 1, position, 'first' FROM snapshots",
        "DROP TABLE snapshots",
    ),
    (),  # from here on ids of decisions depend on the process that decided, which older versions do not know
    (
        "CREATE TABLE contexts (number INTEGER PRIMARY KEY, agent TEXT NOT NULL, name TEXT NOT NULL)",
        "CREATE INDEX contexts_by_name ON contexts (name, agent)",
    ),
)
_NUMBERED = 4  # the version from which on versions and snapshots have numbers in place of names of contexts


class SQLiteStore(Store):
    """A store in an SQLite file.

    The file is in WAL mode with ``synchronous=FULL``: a commit returns after the operating system has synced the log of
    the group. Readers such as `meanbounds verify` do not hold up the writer.

    Parameters
    ----------
    path
        The file, or ``:memory:``.
    create
        Whether to make it if it is not there.
    """

    def __init__(self, path: str, *, create: bool = True) -> None:
        self._path = path
        self._second: sqlite3.Connection | None = None  # for what goes on beside the groups
        if not create and path != ":memory:" and not Path(path).is_file():
            raise StoreError(f"there is no store {path}; `meanbounds serve --store sqlite:{path}` makes one")
        if not create and path != ":memory:" and Path(path).stat().st_size == 0:
            raise StoreError(f"{path} is empty: it holds no store")
        with _in_words(path):
            self._connection = sqlite3.connect(
                path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False, cached_statements=64
            )
            self._run("PRAGMA journal_mode=WAL")
            self._run("PRAGMA synchronous=FULL")
            self._run("PRAGMA secure_delete=ON")
            self._run("PRAGMA cache_size=-65536")
            self._migrate()

    def _run(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        return self._connection.execute(query, values).fetchall()

    def _migrate(self) -> None:
        """Bring the tables up to date, in one transaction."""
        if self._run("PRAGMA user_version") == [(VERSION,)]:
            return
        self._run("BEGIN IMMEDIATE")
        try:
            ((number,),) = self._run("PRAGMA user_version")
            if number > VERSION:
                raise StoreError(
                    f"{self._path} was written by a newer version of meanbounds (tables {number}, this one knows "
                    f"{VERSION}): upgrade with pip install -U meanbounds"
                )
            if number == 0 and self._run("SELECT 1 FROM sqlite_master"):
                raise StoreError(f"{self._path} is a database of something else; give another file")
            for step in _MIGRATIONS[number:VERSION]:
                for statement in step:
                    self._run(statement)
            if number == 0:
                self._run("INSERT INTO settings VALUES ('secret', ?), ('workers', '0')", [secrets.token_hex(32)])
            elif number < _NUMBERED <= VERSION:
                number_names(self, [agent for (agent,) in self._run("SELECT DISTINCT agent FROM versions")])
            self._run(f"PRAGMA user_version={VERSION}")
            self._run("COMMIT")
        except BaseException:
            self.rollback()
            raise

    def begin(self, after: int, wanted: Wanted) -> tuple[list[Event], Found]:
        """Keep other writers out; return the events after this position, and what was looked up."""
        with _in_words(self._path):
            run = self._connection.execute
            run("BEGIN IMMEDIATE")
            newer = f"SELECT {_EVENT} FROM events WHERE position > ? ORDER BY position"
            news = [Event(*row) for row in run(newer, (after,))]
            named, decisions = list[Event](), list[Event]()
            for agent, kind, name in wanted.names:
                query = f"SELECT {_EVENT} FROM events WHERE name = ? AND kind = ? AND agent = ?"
                named += map(Event._make, run(query, (name, kind, agent)))
            for position in wanted.decisions:
                decisions += map(Event._make, run(f"SELECT {_EVENT} FROM events WHERE position = ?", (position,)))
                decisions += map(Event._make, run(f"SELECT {_EVENT} FROM events WHERE subject = ?", (position,)))
        return news, Found(named, decisions)

    def write(self, events: Sequence[Event]) -> None:
        """Add events at the end of the log; they count from `commit` on."""
        with _in_words(self._path):
            self._connection.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)", events)

    def commit(self) -> None:
        """Sync the group to disk, and let other writers in."""
        with _in_words(self._path):
            self._connection.execute("COMMIT")

    def rollback(self) -> None:
        """Forget the group, and let other writers in."""
        with suppress(sqlite3.Error):
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def probe(self) -> None:
        """Write something that does not matter, to see whether writing works."""
        with _in_words(self._path):
            self._run("BEGIN IMMEDIATE")
            try:
                # As large as a group may be, so that a disk that is all but full is noticed here.
                self._run("INSERT OR REPLACE INTO settings VALUES ('probe', ?)", (secrets.token_hex(16_384),))
                self._run("COMMIT")
            finally:
                self.rollback()

    def read(self, after: int = 0, until: int | None = None) -> Iterator[Event]:
        """The events after a position, in order."""
        end = 2**62 if until is None else until
        while True:
            with _in_words(self._path):
                query = f"SELECT {_EVENT} FROM events WHERE position > ? AND position <= ? ORDER BY position LIMIT ?"
                rows = self._run(query, (after, end, _AT_ONCE))
            yield from map(Event._make, rows)
            if len(rows) < _AT_ONCE:
                return
            after = rows[-1][0]

    def last(self) -> int:
        """The position of the last event; 0 if there is none."""
        with _in_words(self._path):
            ((last,),) = self._run("SELECT max(position) FROM events")
        return last or 0

    def decisions(self, agent: str, after: int, limit: int) -> list[tuple[int, float, bool]]:
        """The next decisions of an agent: position, time, and whether anything has become of each."""
        with _in_words(self._path):
            rows = self._run(
                "SELECT position, time, EXISTS (SELECT 1 FROM events AS other WHERE other.subject = events.position) "
                "FROM events WHERE position > ? AND kind = ? AND agent = ? ORDER BY position LIMIT ?",
                (after, DECIDED, agent, limit),
            )
        return [(position, time, bool(done)) for position, time, done in rows]

    def outcomes(self, position: int) -> list[Event]:
        """What has become of the decision at this position, in order."""
        with _in_words(self._path):
            rows = self._run(f"SELECT {_EVENT} FROM events WHERE subject = ? ORDER BY position", (position,))
        return [Event(*row) for row in rows]

    def find(self, agent: str, part: bytes, after: int, until: int) -> Iterator[Event]:
        """The events of an agent after a position whose bodies have these bytes anywhere, in order."""
        query = (
            f"SELECT {_EVENT} FROM events WHERE position > ? AND position <= ? AND agent = ? AND instr(body, ?) "
            "ORDER BY position"
        )
        for start in range(after, until, _SEARCHED):  # so that nobody reads as of one moment for long
            with _in_words(self._path):
                rows = self._run(query, (start, min(start + _SEARCHED, until), agent, part))
            yield from map(Event._make, rows)

    def rewrite(self, events: Iterable[tuple[int, str | None, bytes]]) -> None:
        """Replace names and bodies of events, by position; for contexts that are erased."""
        with _in_words(self._path):
            rows = ((name, body, position) for position, name, body in events)
            self._connection.executemany("UPDATE events SET name = ?, body = ? WHERE position = ?", rows)

    def erase_traces(self) -> None:
        """Empty the log of SQLite itself, which still has what was overwritten."""
        with _in_words(self._path):
            self._run("PRAGMA wal_checkpoint(TRUNCATE)")

    def count_erasure(self) -> None:
        """Note, as part of the group, that a context is erased: the log is not what others have read of it."""
        with _in_words(self._path):
            self._run("INSERT OR REPLACE INTO settings VALUES ('erasures', ?)", (str(self.erasures() + 1),))

    def erasures(self) -> int:
        """How many contexts were erased so far."""
        with _in_words(self._path):
            rows = self._run("SELECT value FROM settings WHERE name = 'erasures'")
        return int(rows[0][0]) if rows else 0

    def number(self, agent: str, names: Iterable[str]) -> dict[str, int]:
        """The numbers that stand for names of an agent's contexts; new ones are kept as part of the group."""
        found, run = dict[str, int](), self._connection.execute
        with _in_words(self._path):
            for name in names:
                row = run("SELECT number FROM contexts WHERE name = ? AND agent = ?", (name, agent)).fetchone()
                if row is None:
                    query = "INSERT INTO contexts (agent, name) VALUES (?, ?) RETURNING number"
                    row = run(query, (agent, name)).fetchone()
                found[name] = row[0]
        return found

    def names(self, agent: str) -> dict[int, str]:
        """The names that numbers stand for, of all contexts that versions and snapshots of an agent speak of."""
        with _in_words(self._path):
            return dict(self._run("SELECT number, name FROM contexts WHERE agent = ?", (agent,)))

    def rename(self, agent: str, old: Sequence[str], new: str) -> None:
        """Let the numbers of some names stand for another one, as part of the group."""
        with _in_words(self._path):
            rows = [(new, name, agent) for name in old]
            self._connection.executemany("UPDATE contexts SET name = ? WHERE name = ? AND agent = ?", rows)

    def add_piece(self, name: str, number: int, body: bytes) -> None:
        """Keep a piece of a snapshot of this name, which does not count before `use_pieces`, as part of the group."""
        with _in_words(self._path):
            self._run("INSERT INTO pieces VALUES (?, ?, ?)", (name, number, body))

    def use_pieces(self, position: int, name: str) -> None:
        """Let the pieces of this name be the newest snapshot, as part of the group."""
        with _in_words(self._path):
            self._run("INSERT OR REPLACE INTO newest VALUES (1, ?, ?)", (position, name))

    def pieces(self) -> list[tuple[str, int]]:
        """The pieces of snapshots that the store has, the newest snapshot's and others: name and number."""
        with _in_words(self._path):
            return self._run("SELECT name, number FROM pieces ORDER BY name, number")

    def drop_piece(self, name: str, number: int) -> None:
        """Delete a piece, as part of the group."""
        with _in_words(self._path):
            self._run("DELETE FROM pieces WHERE name = ? AND number = ?", (name, number))

    def newest(self) -> tuple[int, str] | None:
        """The position of the newest snapshot, and the name of its pieces."""
        with _in_words(self._path):
            rows = self._run("SELECT position, name FROM newest")
        return rows[0] if rows else None

    def snapshot(self) -> tuple[int, bytes] | None:
        """The newest snapshot, and its position."""
        with _in_words(self._path):
            query = "SELECT position, body FROM newest JOIN pieces USING (name) ORDER BY number"  # as of one moment
            rows = self._run(query)
        return (rows[0][0], b"".join(body for _, body in rows)) if rows else None

    def relax(self) -> None:
        """Let commits of this connection return before they are synced: for what can be made again, not for events."""
        with _in_words(self._path):
            self._run("PRAGMA synchronous=NORMAL")

    @property
    def shared_address(self) -> str | None:
        """The address with which another process can open the store; None if none can."""
        return None if self._path == ":memory:" else f"sqlite:{self._path}"

    def defer_tidying(self) -> None:
        """Leave to `tidy` what SQLite would otherwise do at the end of some groups: copy its log into the file."""
        if self._path != ":memory:":
            with _in_words(self._path):
                self._run("PRAGMA wal_autocheckpoint=0")

    def tidy(self) -> bool:
        """Copy the log of SQLite into the file while others write; True if it has become long.

        While others write there is always something left, so that SQLite goes on at the end of its log. When the log
        has become long, `finish_tidying` copies the little that is left, and empties it.
        """
        if self._path == ":memory:":
            return False
        with _in_words(self._path):
            if self._second is None:
                self._second = sqlite3.connect(self._path, timeout=0.0, isolation_level=None, check_same_thread=False)
            ((_, pages, _),) = self._second.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        return bool(pages >= _LONG)

    def finish_tidying(self) -> None:
        """Empty the log of SQLite between two groups; if somebody reads, it is left for the next time."""
        if self._second is not None:
            with _in_words(self._path):
                self._second.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def keep_version(self, agent: str, version: int, position: int, body: bytes) -> None:
        """Keep the state in which a version of an agent began, as part of the group."""
        with _in_words(self._path):
            self._run("INSERT OR REPLACE INTO versions VALUES (?, ?, ?, ?)", (agent, version, position, body))

    def versions(self, agent: str) -> list[tuple[int, int]]:
        """The versions of an agent, and their positions."""
        with _in_words(self._path):
            return self._run("SELECT version, position FROM versions WHERE agent = ? ORDER BY version", (agent,))

    def version(self, agent: str, version: int) -> tuple[int, bytes] | None:
        """The position at which a version of an agent began, and the state then."""
        with _in_words(self._path):
            rows = self._run("SELECT position, body FROM versions WHERE agent = ? AND version = ?", (agent, version))
        return rows[0] if rows else None

    def setting(self, name: str, default: str | None = None) -> str:
        """One of the entries of the store, such as its secret; the default, if there is one, where it has none."""
        with _in_words(self._path):
            rows = self._run("SELECT value FROM settings WHERE name = ?", (name,))
        if not rows and default is not None:
            return default
        ((value,),) = rows
        return str(value)

    def new_worker(self) -> int:
        """A number for a process that serves from this store, and a salt for the ids of its decisions."""
        with _in_words(self._path):
            query = "UPDATE settings SET value = value + 1 WHERE name = 'workers' RETURNING CAST(value AS INTEGER)"
            ((number,),) = self._run(query)
            self._run("INSERT INTO settings VALUES (?, ?)", (salt_of(number), secrets.token_hex(8)))
        return int(number)

    def tokens(self) -> list[Token]:
        """All tokens."""
        with _in_words(self._path):
            rows = self._run("SELECT id, hash, scopes, agents, name, expires, revoked FROM tokens ORDER BY id")
        return [token_of_row(row) for row in rows]

    def add_token(self, token: Token) -> None:
        """Keep a new token."""
        with _in_words(self._path):
            self._run("INSERT INTO tokens VALUES (?, ?, ?, ?, ?, ?, ?)", row_of_token(token))

    def revoke_token(self, token: str) -> bool:
        """Take a token back; False if there is none with this id."""
        with _in_words(self._path):
            return bool(self._run("UPDATE tokens SET revoked = 1 WHERE id = ? RETURNING id", (token,)))

    def backup(self, target: str) -> None:
        """Copy the store to another file while it is in use."""
        if Path(target).exists():
            raise StoreError(f"{target} is there already: a backup does not overwrite; give another name")
        with _in_words(target):
            copy = sqlite3.connect(target)
            try:
                self._connection.backup(copy, pages=1_000)
            finally:
                copy.close()

    def close(self) -> None:
        """Close connections."""
        self.rollback()
        if self._second is not None:
            self._second.close()
        self._connection.close()


@contextmanager
def _in_words(path: str) -> Iterator[None]:
    """Errors of SQLite, with the file and what to do."""
    try:
        yield
    except sqlite3.Error as error:
        said = str(error)
        advice = {
            "database or disk is full": "make room on the disk",
            "database is locked": "another process writes to it; wait, or stop that process",
            "file is not a database": "give the file of a store, or a new name",
        }.get(said, "check the disk, the permissions and the folder")
        raise StoreError(f"the store {path} cannot be used: {said}; {advice}") from error
