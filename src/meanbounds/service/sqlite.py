"""A store in an SQLite file: no server; what was committed is on the disk."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from meanbounds.service.copies import new_file
from meanbounds.service.database import SCHEMA, TABLES, Database
from meanbounds.service.refusals import StoreError, Trouble

__all__ = ["SQLiteDatabase"]

_TABLES = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name"
_TREES = "SELECT CAST(rootpage AS TEXT), tbl_name FROM sqlite_schema"
_APPLICATION = 0x4D42_6473  # a number in the header that tells a store from other databases
_KINDS: dict[int, Trouble] = {  # of SQLite's codes
    sqlite3.SQLITE_BUSY: "busy",
    sqlite3.SQLITE_LOCKED: "busy",
    sqlite3.SQLITE_FULL: "full",
    sqlite3.SQLITE_CORRUPT: "damaged",
    sqlite3.SQLITE_NOTADB: "damaged",
}
_ADVICE: dict[Trouble, str] = {
    "busy": "another process holds its lock: wait, or stop that process",
    "full": "make room on the disk",
    "gone": "the file was removed or replaced: put a store there and start again",
    "damaged": "restore a backup",
    "failed": "check the disk, the folder and the permissions",
}


class SQLiteDatabase(Database):
    """A store in a file, in WAL mode, synced with every commit."""

    _write, _read = "BEGIN IMMEDIATE", "BEGIN"

    def _open(self, create: bool) -> None:
        self.shown, self._path = self.address, Path(self.address).absolute()
        if create and _identity(self._path) is None:
            with suppress(FileExistsError), new_file(self._path) as temporary:  # if another process is not quicker
                os.close(os.open(temporary, os.O_CREAT | os.O_EXCL, 0o600))
                self._connect(temporary)
                with self.writing():
                    self._run(f"PRAGMA application_id = {_APPLICATION}")
                    self._fill()
                self._run("PRAGMA journal_mode = WAL")
                self.close()
        _check_header(self._path)
        self._connect(self._path)
        if self._run("PRAGMA journal_mode = WAL") != [("wal",)]:
            raise StoreError("failed", f"{self.shown}: this disk cannot hold a store; use a local disk")

    def _connect(self, path: Path) -> None:
        self._file, self._identity = path, _identity(path)
        options: dict[str, Any] = {"isolation_level": None, "check_same_thread": False, "uri": True}
        try:
            self._connection = sqlite3.connect(f"{path.as_uri()}?mode=rw", timeout=self.patience, **options)
        except sqlite3.Error as error:
            raise self._trouble(error) from error
        self._run("PRAGMA synchronous = FULL")
        self._run("PRAGMA secure_delete = ON")

    def _run(self, query: str, values: Sequence[Any] = (), *, many: bool = False) -> list[Any]:
        if not self._inside and _identity(self._file) != self._identity:
            raise StoreError("gone", f"{self.shown}: {_ADVICE['gone']}")
        try:
            run = self._connection.executemany if many else self._connection.execute
            return run(query, values).fetchall()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise self._trouble(error) from error

    def _trouble(self, error: Exception) -> StoreError:
        """An error of SQLite, and what to do about it."""
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        kind = _KINDS.get(code, "failed")
        if isinstance(error, UnicodeDecodeError) or "decode to UTF-8" in str(error):
            kind = "damaged"
        elif kind == "failed" and _identity(self._file) != self._identity:
            kind = "gone"
        elif code == sqlite3.SQLITE_IOERR and shutil.disk_usage(self._file.parent).free < 2**20:
            kind = "full"
        return StoreError(kind, f"{self.shown}: {error}; {_ADVICE[kind]}")

    def sweep(self) -> bool:
        """Empty SQLite's log, unless somebody reads; the file keeps nothing that was deleted (`secure_delete`)."""
        return self._run("PRAGMA wal_checkpoint(TRUNCATE)")[0][0] == 0

    def check(self) -> list[str]:
        """SQLite's own check, and the checksums of rows."""
        found, names = list[str](), dict[str, str]()
        for table in ("", *TABLES):  # where SQLite cannot check all of the file, one table at a time
            try:
                if not table:
                    made, names = self._run(_TABLES), dict(self._run(_TREES))
                    if made != _as_made():
                        found.append("table sqlite_schema: the tables are not those that meanbounds makes")
                found += [str(line) for (line,) in self._run(f"PRAGMA integrity_check{f'({table})' * bool(table)}")]
                if not table:
                    break
            except StoreError as error:
                found.append(f"table {table or 'sqlite_schema'}: {error}")
        tree = re.compile(r"Tree (\d+)")
        named = [tree.sub(lambda match: f"table {names.get(match[1], '?')}, tree {match[1]}", line) for line in found]
        return [line for line in named if line != "ok"] + super().check()


def _as_made() -> list[Any]:
    """The tables of a new store."""
    with closing(sqlite3.connect(":memory:")) as new:
        for statement in SCHEMA:
            new.execute(statement)
        return new.execute(_TABLES).fetchall()


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _check_header(path: Path) -> None:
    """Refuse a file that is not a store, which stays as it is.

    SQLite reads the header, since closing a file drops all locks that this process has on it, unless SQLite closes it.
    """
    if _identity(path) is None:
        raise StoreError("gone", f"there is no store {path}: check the name")
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
            ((found,),) = connection.execute("PRAGMA application_id").fetchall()
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) != sqlite3.SQLITE_NOTADB:
            raise StoreError("failed", f"{path} cannot be read: {error}") from error
        found = 0
    if found != _APPLICATION:
        raise StoreError("failed", f"{path} is not a store of meanbounds and stays as it is: give another file")
