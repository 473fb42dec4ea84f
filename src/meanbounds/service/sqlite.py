"""A store in an SQLite file: no server; what was committed is on the disk."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from meanbounds.service.copies import new_file
from meanbounds.service.database import SCHEMA, Database
from meanbounds.service.refusals import StoreError, Trouble

__all__ = ["SQLiteDatabase"]

_TABLES = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name"
_APPLICATION = 0x4D42_6473  # a number in the header that tells a store from other databases
_KINDS: dict[int, Trouble] = {5: "busy", 6: "busy", 11: "damaged", 13: "full", 26: "damaged"}  # of SQLite's codes
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
        self.shown, path = self.address, Path(self.address).absolute()
        if create and _identity(path) is None:
            with suppress(FileExistsError), new_file(path) as temporary:  # if another process is not quicker
                temporary.touch(0o600)
                self._connect(temporary)
                with self.writing():
                    self._run(f"PRAGMA application_id = {_APPLICATION}")
                    self._fill()
                self._run("PRAGMA journal_mode = WAL")
                self.close()
        _check_header(path)
        self._connect(path)
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
        """SQLite's check of each table and of all of the file, and the checksums of rows."""
        faults = super().check()
        try:
            with closing(sqlite3.connect(":memory:")) as new:
                new.executescript(";".join(SCHEMA))
                if self._run(_TABLES) != new.execute(_TABLES).fetchall():
                    faults.append("table sqlite_schema: the tables are not those that meanbounds makes")
            return faults or self._check_pages("")
        except StoreError as error:
            return [*faults, f"table sqlite_schema: {error}"]

    def _check_pages(self, table: str) -> list[str]:
        check = f"PRAGMA integrity_check({table})" if table else "PRAGMA integrity_check"
        return [line for (line,) in self._run(check) if line != "ok"]


def _identity(path: Path) -> tuple[int, int] | None:
    with suppress(OSError):
        found = path.stat()
        return found.st_dev, found.st_ino
    return None


def _check_header(path: Path) -> None:
    """Refuse a file that is not a store. Only SQLite may close it: others would drop the locks of this process."""
    if _identity(path) is None:
        raise StoreError("gone", f"there is no store {path}: check the name")
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
            found = connection.execute("PRAGMA application_id").fetchone()
    except sqlite3.OperationalError as error:
        raise StoreError("failed", f"{path} cannot be read: {error}") from error
    except sqlite3.DatabaseError:
        found = None
    if found != (_APPLICATION,):
        raise StoreError("failed", f"{path} is not a store of meanbounds and stays as it is: give another file")
