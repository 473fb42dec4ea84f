"""A store in an SQLite file: no server; a group counts once it is on the disk."""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from meanbounds.service.database import TABLES, Database
from meanbounds.service.refusals import StoreError, Trouble

__all__ = ["SQLiteDatabase", "new_file"]

_HEADER = b"SQLite format 3\0"
_APPLICATION = 0x4D42_6473  # stands in the file, and tells a store from other databases
_KINDS: dict[int, Trouble] = {5: "busy", 6: "busy", 11: "damaged", 13: "full", 26: "damaged"}  # codes of SQLite
_ADVICE: dict[Trouble, str] = {
    "busy": "another process is writing to it; wait, or stop that process",
    "full": "make room on the disk",
    "gone": "the file was removed or replaced; put it back, and open the store again",
    "damaged": "restore a backup",
    "failed": "check the disk, the folder and the permissions",
}


class SQLiteDatabase(Database):
    """A store in a file, in WAL mode, synced with every commit."""

    _writing = "BEGIN IMMEDIATE"
    _reading = "BEGIN"

    def __init__(self, address: str, *, create: bool = False) -> None:
        super().__init__(address, address)
        self._path = Path(address).absolute()
        if create and not self._path.exists():
            with suppress(FileExistsError), new_file(self._path) as temporary:
                self._connect(temporary)
                self._run(self._writing)
                self._run(f"PRAGMA application_id={_APPLICATION}")
                self._fill()
                self._run("COMMIT")
                self._run("PRAGMA journal_mode=WAL")
                self._connection.close()
        _check_file(self._path)
        self._connect(self._path)
        if self._run("PRAGMA journal_mode=WAL") != [("wal",)]:
            raise StoreError("failed", f"{address}: this kind of disk cannot hold a store; use one of this machine")
        self._migrate()

    def _connect(self, path: Path) -> None:
        self._opened, self._file = path, _identity(path)
        try:
            self._connection = sqlite3.connect(
                f"{path.as_uri()}?mode=rw",
                uri=True,
                timeout=self.patience,
                isolation_level=None,
                check_same_thread=False,
            )
        except sqlite3.Error as error:
            raise self._trouble(error) from error
        self._run("PRAGMA synchronous=FULL")
        self._run("PRAGMA secure_delete=ON")

    def _trouble(self, error: sqlite3.Error) -> StoreError:
        """An error of SQLite in the words of a store."""
        code = getattr(error, "sqlite_errorcode", 11 if "decode to UTF-8" in str(error) else 1)
        kind = _KINDS.get(code & 255, "failed")
        if kind == "failed" and _identity(self._opened) != self._file:
            kind = "gone"
        return StoreError(kind, f"the store {self.shown} cannot be used: {error}; {_ADVICE[kind]}")

    def _run(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        if not self._inside and _identity(self._opened) != self._file:
            raise StoreError("gone", f"the store {self.shown} cannot be used: {_ADVICE['gone']}")
        try:
            return self._connection.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise self._trouble(error) from error

    def _insert(self, table: str, rows: Sequence[Sequence[Any]], otherwise: str = "") -> None:
        marks = ", ".join("?" * len(TABLES[table]))
        try:
            self._connection.executemany(f"INSERT INTO {table} VALUES ({marks}){otherwise}", rows)
        except sqlite3.Error as error:
            raise self._trouble(error) from error

    def _among(self, column: str, values: Iterable[Any]) -> tuple[str, Any]:
        return f"{column} IN (SELECT value FROM json_each(?))", json.dumps(list(values))

    def _faults(self) -> list[str]:
        try:
            found = [str(line) for (line,) in self._run("PRAGMA integrity_check")]
            tables = {str(page): name for name, page in self._run("SELECT name, rootpage FROM sqlite_schema")}
        except StoreError as error:
            return [f"the file: {error}"]
        return [] if found == ["ok"] else [_named(line, tables) for line in found]

    def sweep(self) -> None:
        """Empty SQLite's log, where erased names may still stand; the file itself has none (`secure_delete`)."""
        ((unfinished, _, _),) = self._run("PRAGMA wal_checkpoint(TRUNCATE)")
        if unfinished:
            raise StoreError("busy", f"erased, but {self.shown}-wal still has the name: somebody reads; try again")

    def another(self) -> Database:
        """One more connection to the same file."""
        return SQLiteDatabase(self.address)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _named(line: str, tables: dict[str, str]) -> str:
    """A line of SQLite's check, with the table or index in the place of its number."""
    words = line.split()
    if "Tree" in words[:-1]:
        number = words[words.index("Tree") + 1]
        return f"table or index {tables.get(number, number)}: {line}"
    return line


def _check_file(path: Path) -> None:
    """Refuse what is not a store, before SQLite touches it."""
    try:
        with path.open("rb") as file:
            header = file.read(100)
    except FileNotFoundError:
        raise StoreError("gone", f"there is no store {path}; check the name") from None
    except OSError as error:
        raise StoreError("failed", f"{path} cannot be read: {error.strerror}") from error
    if not header.startswith(_HEADER) or int.from_bytes(header[68:72], "big") != _APPLICATION:
        raise StoreError("failed", f"{path} is not a store of meanbounds, and stays as it is; give another file")


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """A temporary name in the same folder; at the end the file there gets its name, if it is still free."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    left = [str(own) for end in ("-wal", "-shm", "-journal") if (own := Path(f"{path}{end}")).exists()]
    if left and not path.exists():
        raise StoreError("failed", f"{path} is gone, but {' and '.join(left)} of it are there: move them away first")
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        os.link(temporary, path)  # fails if another process was quicker
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except (StoreError, FileExistsError):
        raise
    except OSError as error:
        raise StoreError("failed", f"{path} cannot be made: {error.strerror}") from error
    finally:
        for end in ("", "-wal", "-shm", "-journal"):
            Path(f"{temporary}{end}").unlink(missing_ok=True)
