"""A store in a PostgreSQL database, in the schema ``meanbounds``; processes and machines may share it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from meanbounds.service.database import Database
from meanbounds.service.refusals import StoreError, Trouble
from meanbounds.support.optional import import_optional

__all__ = ["PostgresDatabase"]

_KINDS: dict[str, Trouble] = {"53100": "full", "55P03": "busy"}  # of PostgreSQL's codes
_ADVICE: dict[Trouble, str] = {
    "busy": "another process holds its lock: wait, or stop that process",
    "full": "make room on the disk of the server",
    "gone": "check the server; the next request connects again",
    "damaged": "restore a backup",
    "failed": "check the server and what this user may do",
}
_SETTINGS = {"connect_timeout": 5, "tcp_user_timeout": 15_000, "application_name": "meanbounds"}
_INDEXES = "pg_indexes WHERE schemaname = 'meanbounds' AND tablename = ?"
_FOUND = "SELECT 1 FROM pg_tables WHERE schemaname = 'meanbounds' AND tablename = 'meta'"


class PostgresDatabase(Database):
    """A store on a server. Writers hold an advisory lock until they commit; a lost connection is made again."""

    _write = (
        "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL idle_in_transaction_session_timeout = '60s'; "
        "SELECT pg_advisory_xact_lock(7232614105)"  # any number that nobody else uses
    )
    _read = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

    def _open(self, create: bool) -> None:
        self._psycopg = import_optional("psycopg", "postgres", "stores in PostgreSQL")
        plain = self.address.partition("?")[0]
        self.shown = f"postgresql://{plain.rpartition('@')[2].rpartition('://')[2]}"
        if plain.count("@") > 1:
            raise StoreError("failed", f"the URL of {self.shown} is malformed: write @ in a password as %40")
        if self._run("SHOW server_encoding") != [("UTF8",)]:
            raise StoreError("failed", f"{self.shown}: create the database with the encoding UTF8")
        if not self._run(_FOUND):
            if not create:
                raise StoreError("gone", f"there is no store in {self.shown}: check the name of the database")
            with self.writing():
                if not self._run(_FOUND):  # otherwise another process was quicker
                    if not self._run("SELECT 1 FROM pg_namespace WHERE nspname = 'meanbounds'"):
                        self._run("CREATE SCHEMA meanbounds")
                    self._fill()

    def _connect(self) -> None:
        options = f"-c search_path=meanbounds -c synchronous_commit=on -c lock_timeout={1000 * self.patience:.0f}"
        try:
            self._connection = self._psycopg.connect(
                self.address, autocommit=True, options=options, client_encoding="utf8", **_SETTINGS
            )
        except self._psycopg.Error as error:  # what precedes "failed" may show a part of a malformed URL
            _, known, said = str(error).strip().rpartition("failed: ")
            why = said.splitlines()[0] if known else "the URL is malformed, or the server is unknown"
            raise StoreError("gone", f"{self.shown} cannot be reached: {why}; {_ADVICE['gone']}") from None

    def _run(self, query: str, values: Sequence[Any] = (), *, many: bool = False) -> list[Any]:
        if not self._inside and (self._connection is None or self._connection.closed):
            self._connect()
        try:
            if many:
                with self._connection.cursor() as cursor:
                    cursor.executemany(_translated(query), values)
                return []
            several = query.startswith("BEGIN")  # statements, in one message
            cursor = self._connection.execute(_translated(query), values or None, prepare=False, binary=not several)
            if query == "COMMIT" and cursor.statusmessage != query:
                raise StoreError("failed", f"{self.shown}: nothing was committed, after an error before")
            return cursor.fetchall() if cursor.description else []
        except (self._psycopg.Error, UnicodeDecodeError) as error:
            code = getattr(error, "sqlstate", None) or ""
            kind = _KINDS.get(code, "failed")
            if code.startswith("XX") or isinstance(error, UnicodeDecodeError):
                kind = "damaged"
            elif self._connection.closed or code.startswith("57P"):
                kind = "gone"
                self._connection.close()
            said = str(error).partition("\n")[0]
            raise StoreError(kind, f"{self.shown}: {said}; {_ADVICE[kind]}") from error

    def _check_pages(self, table: str) -> list[str]:
        """PostgreSQL's check of indexes (amcheck), if this user may run it."""
        try:
            with self._transaction("BEGIN; SET LOCAL search_path = meanbounds, public"):
                self._run("CREATE EXTENSION IF NOT EXISTS amcheck")
                self._run(f"SELECT bt_index_check(indexname::regclass, true) FROM {_INDEXES}", (table,))
                raise StoreError("failed", "no fault; do not keep the extension")
        except StoreError as error:
            return [str(error)] if error.kind == "damaged" else []


@cache
def _translated(query: str) -> str:
    return query.replace("?", "%s").replace("INTEGER", "BIGINT").replace("REAL", "DOUBLE PRECISION")
