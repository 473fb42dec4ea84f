"""The store in PostgreSQL: several processes and machines share it, and take turns to write."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
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
from meanbounds.support.optional import import_optional

__all__ = ["PostgresStore"]

_EVENT = "position, time, kind, agent, name, subject, body"
_AT_ONCE = 2_000
_SEARCHED = 20_000  # events searched at a time
# A turn that takes longer than this is given up. A group is acknowledged only after a synchronous commit.
_OPTIONS = "-c synchronous_commit=on -c lock_timeout=10s -c idle_in_transaction_session_timeout=60s"

# What takes the tables from one version to the next; the first entry makes them.
_MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE meanbounds_settings (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
        "CREATE TABLE meanbounds_events (position BIGINT PRIMARY KEY, time DOUBLE PRECISION NOT NULL, "
        "kind SMALLINT NOT NULL, agent TEXT NOT NULL, name TEXT, subject BIGINT, body BYTEA NOT NULL)",
        "CREATE UNIQUE INDEX meanbounds_events_by_name ON meanbounds_events (name, kind, agent) WHERE name IS NOT NULL",
        "CREATE UNIQUE INDEX meanbounds_events_by_subject ON meanbounds_events (subject, kind) "
        "WHERE subject IS NOT NULL",
        "CREATE TABLE meanbounds_snapshots (id INT PRIMARY KEY CHECK (id = 1), position BIGINT NOT NULL, "
        "body BYTEA NOT NULL)",
        "CREATE TABLE meanbounds_versions (agent TEXT, version BIGINT, position BIGINT NOT NULL, body BYTEA NOT NULL, "
        "PRIMARY KEY (agent, version))",
        "CREATE TABLE meanbounds_tokens (id TEXT PRIMARY KEY, hash BYTEA NOT NULL, scopes TEXT NOT NULL, agents TEXT, "
        "name TEXT NOT NULL, expires DOUBLE PRECISION, revoked INT NOT NULL)",
    ),
    (
        "CREATE TABLE meanbounds_pieces (name TEXT, number INT, body BYTEA NOT NULL, PRIMARY KEY (name, number))",
        "CREATE TABLE meanbounds_newest (id INT PRIMARY KEY CHECK (id = 1), position BIGINT NOT NULL, "
        "name TEXT NOT NULL)",
        "INSERT INTO meanbounds_pieces SELECT 'first', 0, body FROM meanbounds_snapshots",
        "INSERT INTO meanbounds_newest SELECT 1, position, 'first' FROM meanbounds_snapshots",
        "DROP TABLE meanbounds_snapshots",
    ),
    (),  # from here on ids of decisions depend on the process that decided, which older versions do not know
    (
        "CREATE TABLE meanbounds_contexts (number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "
        "agent TEXT NOT NULL, name TEXT NOT NULL)",
        # A name may be longer than what an ordered index takes.
        "CREATE INDEX meanbounds_contexts_by_name ON meanbounds_contexts USING hash (name)",
    ),
)
_LOCK = "SELECT 1 FROM meanbounds_settings WHERE name = 'lock' FOR UPDATE"  # of whoever writes
_NUMBERED = 4  # the version from which on versions and snapshots have numbers in place of names of contexts


class PostgresStore(Store):
    """A store in a PostgreSQL database, in tables whose names begin with ``meanbounds_``.

    Whoever writes holds the lock of one row until the group is committed, so groups follow each other, and each process
    applies what the others wrote before it decides. A connection that was lost is made again with the next group.

    Parameters
    ----------
    address
        What PostgreSQL calls a connection string, such as ``postgresql://user@host/database``.
    """

    is_local = False

    def __init__(self, address: str) -> None:
        self._psycopg = import_optional("psycopg", "service", "stores in PostgreSQL")
        self._address = address
        self._connection: Any = None
        with self._in_words():
            self._migrate()

    def _open(self) -> Any:
        """The connection; a new one if the last was lost."""
        if self._connection is None or self._connection.closed:
            self._connection = self._psycopg.connect(
                self._address, autocommit=True, connect_timeout=5, options=_OPTIONS, application_name="meanbounds"
            )
        return self._connection

    def _run(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        cursor = self._open().execute(query, values)
        return cursor.fetchall() if cursor.description is not None else []

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        """Errors of PostgreSQL, without the connection string, which may hold a password."""
        try:
            yield
        except self._psycopg.Error as error:
            if isinstance(error, self._psycopg.OperationalError) and self._connection is not None:
                with suppress(Exception):
                    self._connection.close()
            first = (str(error).splitlines() or [type(error).__name__])[0]
            raise StoreError(f"the PostgreSQL store cannot be used: {first}; check the server and its disk") from error

    def _migrate(self) -> None:
        """Bring the tables up to date, in one transaction; processes that start together take turns."""
        with self._open().transaction():
            self._run("SELECT pg_advisory_xact_lock(7232614105)")  # any number that nobody else uses
            number = 0
            if self._run("SELECT to_regclass('meanbounds_settings')") != [(None,)]:
                ((text,),) = self._run("SELECT value FROM meanbounds_settings WHERE name = 'version'")
                number = int(text)
            if number > VERSION:
                raise StoreError(
                    f"the store was written by a newer version of meanbounds (tables {number}, this one knows "
                    f"{VERSION}): upgrade with pip install -U meanbounds"
                )
            if number == VERSION:
                return
            for step in _MIGRATIONS[number:VERSION]:
                for statement in step:
                    self._run(statement)
            if number == 0:
                entries = (secrets.token_hex(32), str(VERSION))
                self._run(
                    "INSERT INTO meanbounds_settings VALUES ('secret', %s), ('version', %s), ('workers', '0'), "
                    "('lock', ''), ('probe', '')",
                    entries,
                )
            elif number < _NUMBERED <= VERSION:
                self._run(_LOCK)  # an older version may be writing
                number_names(self, [agent for (agent,) in self._run("SELECT DISTINCT agent FROM meanbounds_versions")])
            self._run("UPDATE meanbounds_settings SET value = %s WHERE name = 'version'", (str(VERSION),))

    def begin(self, after: int, wanted: Wanted) -> tuple[list[Event], Found]:
        """Keep other writers out; return the events after this position, and what was looked up."""
        with self._in_words():
            connection, cursors = self._open(), list[Any]()
            names, decisions = list(wanted.names), list(wanted.decisions)
            with connection.pipeline():
                connection.execute("BEGIN")
                connection.execute(_LOCK)
                news = connection.execute(
                    f"SELECT {_EVENT} FROM meanbounds_events WHERE position > %s ORDER BY position", (after,)
                )
                if names:
                    cursors.append(
                        connection.execute(
                            f"SELECT {_EVENT} FROM meanbounds_events "
                            "JOIN unnest(%s::text[], %s::smallint[], %s::text[]) "
                            "AS wanted (own_agent, own_kind, own_name) "
                            "ON name = own_name AND kind = own_kind AND agent = own_agent",
                            tuple(list(column) for column in zip(*names, strict=True)),
                        )
                    )
                if decisions:
                    cursors.append(
                        connection.execute(
                            f"SELECT {_EVENT} FROM meanbounds_events WHERE position = ANY(%s) UNION ALL "
                            f"SELECT {_EVENT} FROM meanbounds_events WHERE subject = ANY(%s)",
                            (decisions, decisions),
                        )
                    )
            answers = [[_event(row) for row in cursor.fetchall()] for cursor in (news, *cursors)]
            named = answers[1] if names else []
            return answers[0], Found(named, answers[-1] if decisions else [])

    def write(self, events: Sequence[Event]) -> None:
        """Add events at the end of the log; they count from `commit` on."""
        with self._in_words():
            cursor = self._open().cursor()
            with cursor.copy(f"COPY meanbounds_events ({_EVENT}) FROM STDIN") as copy:
                for event in events:
                    copy.write_row(event)

    def commit(self) -> None:
        """Sync the group to disk, and let other writers in."""
        with self._in_words():
            self._run("COMMIT")

    def rollback(self) -> None:
        """Forget the group, and let other writers in."""
        with suppress(self._psycopg.Error):
            if self._connection is not None and not self._connection.closed:
                self._connection.execute("ROLLBACK")

    def probe(self) -> None:
        """Write something that does not matter, to see whether writing works."""
        with self._in_words():
            self._run("UPDATE meanbounds_settings SET value = %s WHERE name = 'probe'", (secrets.token_hex(8_192),))

    def read(self, after: int = 0, until: int | None = None) -> Iterator[Event]:
        """The events after a position, in order."""
        end = 2**62 if until is None else until
        while True:
            with self._in_words():
                rows = self._run(
                    f"SELECT {_EVENT} FROM meanbounds_events WHERE position > %s AND position <= %s "
                    "ORDER BY position LIMIT %s",
                    (after, end, _AT_ONCE),
                )
            yield from map(_event, rows)
            if len(rows) < _AT_ONCE:
                return
            after = rows[-1][0]

    def last(self) -> int:
        """The position of the last event; 0 if there is none."""
        with self._in_words():
            ((last,),) = self._run("SELECT coalesce(max(position), 0) FROM meanbounds_events")
        return int(last)

    def decisions(self, agent: str, after: int, limit: int) -> list[tuple[int, float, bool]]:
        """The next decisions of an agent: position, time, and whether anything has become of each."""
        with self._in_words():
            return self._run(
                "SELECT position, time, EXISTS (SELECT 1 FROM meanbounds_events AS other WHERE other.subject = "
                "meanbounds_events.position) FROM meanbounds_events WHERE position > %s AND kind = %s AND agent = %s "
                "ORDER BY position LIMIT %s",
                (after, DECIDED, agent, limit),
            )

    def outcomes(self, position: int) -> list[Event]:
        """What has become of the decision at this position, in order."""
        with self._in_words():
            query = f"SELECT {_EVENT} FROM meanbounds_events WHERE subject = %s ORDER BY position"
            return [_event(row) for row in self._run(query, (position,))]

    def find(self, agent: str, part: bytes, after: int, until: int) -> Iterator[Event]:
        """The events of an agent after a position whose bodies have these bytes anywhere, in order."""
        query = (
            f"SELECT {_EVENT} FROM meanbounds_events WHERE position > %s AND position <= %s AND agent = %s "
            "AND position(%s::bytea IN body) > 0 ORDER BY position"
        )
        for start in range(after, until, _SEARCHED):  # so that nobody reads as of one moment for long
            with self._in_words():
                rows = self._run(query, (start, min(start + _SEARCHED, until), agent, part))
            yield from map(_event, rows)

    def rewrite(self, events: Iterable[tuple[int, str | None, bytes]]) -> None:
        """Replace names and bodies of events, by position; for contexts that are erased."""
        with self._in_words():
            rows = [(name, body, position) for position, name, body in events]
            query = "UPDATE meanbounds_events SET name = %s, body = %s WHERE position = %s"
            self._open().cursor().executemany(query, rows)

    def count_erasure(self) -> None:
        """Note, as part of the group, that a context is erased: the log is not what others have read of it."""
        with self._in_words():
            self._run(
                "INSERT INTO meanbounds_settings VALUES ('erasures', '1') "
                "ON CONFLICT (name) DO UPDATE SET value = (meanbounds_settings.value::bigint + 1)::text"
            )

    def erasures(self) -> int:
        """How many contexts were erased so far."""
        with self._in_words():
            rows = self._run("SELECT value FROM meanbounds_settings WHERE name = 'erasures'")
        return int(rows[0][0]) if rows else 0

    def number(self, agent: str, names: Iterable[str]) -> dict[str, int]:
        """The numbers that stand for names of an agent's contexts; new ones are kept as part of the group."""
        asked = list(names)
        with self._in_words():
            query = "SELECT name, number FROM meanbounds_contexts WHERE agent = %s AND name = ANY(%s)"
            found = dict(self._run(query, (agent, asked)))
            new = [name for name in asked if name not in found]
            if new:
                query = (
                    "INSERT INTO meanbounds_contexts (agent, name) SELECT %s, unnest(%s::text[]) RETURNING name, number"
                )
                found |= dict(self._run(query, (agent, new)))
        return found

    def names(self, agent: str) -> dict[int, str]:
        """The names that numbers stand for, of all contexts that versions and snapshots of an agent speak of."""
        with self._in_words():
            return dict(self._run("SELECT number, name FROM meanbounds_contexts WHERE agent = %s", (agent,)))

    def rename(self, agent: str, old: Sequence[str], new: str) -> None:
        """Let the numbers of some names stand for another one, as part of the group."""
        with self._in_words():
            query = "UPDATE meanbounds_contexts SET name = %s WHERE agent = %s AND name = ANY(%s)"
            self._run(query, (new, agent, list(old)))

    def add_piece(self, name: str, number: int, body: bytes) -> None:
        """Keep a piece of a snapshot of this name, which does not count before `use_pieces`, as part of the group."""
        with self._in_words():
            self._run("INSERT INTO meanbounds_pieces VALUES (%s, %s, %s)", (name, number, body))

    def use_pieces(self, position: int, name: str) -> None:
        """Let the pieces of this name be the newest snapshot, as part of the group."""
        with self._in_words():
            self._run(
                "INSERT INTO meanbounds_newest VALUES (1, %s, %s) "
                "ON CONFLICT (id) DO UPDATE SET position = excluded.position, name = excluded.name",
                (position, name),
            )

    def pieces(self) -> list[tuple[str, int]]:
        """The pieces of snapshots that the store has, the newest snapshot's and others: name and number."""
        with self._in_words():
            return self._run("SELECT name, number FROM meanbounds_pieces ORDER BY name, number")

    def drop_piece(self, name: str, number: int) -> None:
        """Delete a piece, as part of the group."""
        with self._in_words():
            self._run("DELETE FROM meanbounds_pieces WHERE name = %s AND number = %s", (name, number))

    def newest(self) -> tuple[int, str] | None:
        """The position of the newest snapshot, and the name of its pieces."""
        with self._in_words():
            rows = self._run("SELECT position, name FROM meanbounds_newest")
        return rows[0] if rows else None

    def snapshot(self) -> tuple[int, bytes] | None:
        """The newest snapshot, and its position."""
        with self._in_words():
            rows = self._run(
                "SELECT position, body FROM meanbounds_newest JOIN meanbounds_pieces USING (name) ORDER BY number"
            )
        return (rows[0][0], b"".join(bytes(body) for _, body in rows)) if rows else None

    def relax(self) -> None:
        """Let commits of this connection return before they are synced: for what can be made again, not for events."""
        with self._in_words():
            self._run("SET synchronous_commit = off")

    @property
    def shared_address(self) -> str:
        """The address with which another process can open the store."""
        return self._address

    def keep_version(self, agent: str, version: int, position: int, body: bytes) -> None:
        """Keep the state in which a version of an agent began, as part of the group."""
        with self._in_words():
            self._run(
                "INSERT INTO meanbounds_versions VALUES (%s, %s, %s, %s) ON CONFLICT (agent, version) "
                "DO UPDATE SET position = excluded.position, body = excluded.body",
                (agent, version, position, body),
            )

    def versions(self, agent: str) -> list[tuple[int, int]]:
        """The versions of an agent, and their positions."""
        with self._in_words():
            query = "SELECT version, position FROM meanbounds_versions WHERE agent = %s ORDER BY version"
            return self._run(query, (agent,))

    def version(self, agent: str, version: int) -> tuple[int, bytes] | None:
        """The position at which a version of an agent began, and the state then."""
        with self._in_words():
            query = "SELECT position, body FROM meanbounds_versions WHERE agent = %s AND version = %s"
            rows = self._run(query, (agent, version))
        return (rows[0][0], bytes(rows[0][1])) if rows else None

    def setting(self, name: str, default: str | None = None) -> str:
        """One of the entries of the store, such as its secret; the default, if there is one, where it has none."""
        with self._in_words():
            rows = self._run("SELECT value FROM meanbounds_settings WHERE name = %s", (name,))
        if not rows and default is not None:
            return default
        ((value,),) = rows
        return str(value)

    def new_worker(self) -> int:
        """A number for a process that serves from this store, and a salt for the ids of its decisions."""
        with self._in_words():
            ((number,),) = self._run(
                "UPDATE meanbounds_settings SET value = (value::bigint + 1)::text WHERE name = 'workers' "
                "RETURNING value"
            )
            salt = salt_of(int(number)), secrets.token_hex(8)
            self._run("INSERT INTO meanbounds_settings VALUES (%s, %s)", salt)
        return int(number)

    def tokens(self) -> list[Token]:
        """All tokens."""
        with self._in_words():
            query = "SELECT id, hash, scopes, agents, name, expires, revoked FROM meanbounds_tokens ORDER BY id"
            return [token_of_row(row) for row in self._run(query)]

    def add_token(self, token: Token) -> None:
        """Keep a new token."""
        with self._in_words():
            query = "INSERT INTO meanbounds_tokens VALUES (%s, %s, %s, %s, %s, %s, %s)"
            self._run(query, row_of_token(token))

    def revoke_token(self, token: str) -> bool:
        """Take a token back; False if there is none with this id."""
        with self._in_words():
            query = "UPDATE meanbounds_tokens SET revoked = 1 WHERE id = %s RETURNING id"
            return bool(self._run(query, (token,)))

    def backup(self, target: str) -> None:
        """PostgreSQL has a program for that."""
        raise StoreError(f"to copy a PostgreSQL store while it is in use: pg_dump -t 'meanbounds_*' -f {target} ...")

    def close(self) -> None:
        """Close connections."""
        self.rollback()
        if self._connection is not None:
            self._connection.close()


def _event(row: Sequence[Any]) -> Event:
    """The event of a row; numbers and bytes as SQLite gives them."""
    position, time, kind, agent, name, subject, body = row
    return Event(position, time, kind, agent, name, subject, bytes(body))
