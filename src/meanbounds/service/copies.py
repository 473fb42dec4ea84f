"""Copies of whole stores: backup, restore, and moves between SQLite and PostgreSQL."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from itertools import islice
from pathlib import Path

from meanbounds.service.database import ROWS, TABLES, Database, connect
from meanbounds.service.events import START, chained
from meanbounds.service.refusals import StoreError

__all__ = ["backup", "copy", "new_file", "restore"]

_BESIDE = ("-wal", "-shm", "-journal")  # the ends of what SQLite may leave beside a file


def backup(address: str | Path, path: str | Path) -> None:
    """Copy a store, which may be in use, to a new SQLite file that is complete or not there."""
    with closing(connect(address)) as source:
        _copy_to_file(source, Path(path).absolute())


def restore(path: str | Path, address: str | Path) -> None:
    """Copy a backup to a new SQLite file or to an empty PostgreSQL database."""
    with closing(connect(path)) as source:
        if not str(address).startswith(("postgresql:", "postgres:")):
            return _copy_to_file(source, Path(address).absolute())
        with closing(connect(address, create=True)) as target:
            return copy(source, target)


def copy(source: Database, target: Database) -> None:
    """Copy everything to a store that has no content yet, and check the copy before it counts."""
    with source.reading(), target.writing():
        if any(next(target.rows(table), None) for table in TABLES if table != "meta"):
            raise StoreError("failed", f"{target.shown} is there already and has content: give another name")
        for table in TABLES:
            rows = source.rows(table)
            while chunk := list(islice(rows, ROWS)):
                target.insert(table, chunk, replace=table == "meta")
        faults, before = target.check(), START
        for event in target.events():
            if not chained(before, event):
                faults.append(f"table events, row {event.position}: the hash does not match")
            before = event.hash
        if faults:
            raise StoreError("damaged", f"{source.shown} is damaged, so there is no copy: {'; '.join(faults[:5])}")


def _copy_to_file(source: Database, path: Path) -> None:
    try:
        with new_file(path) as temporary, closing(connect(temporary, create=True)) as target:
            copy(source, target)
            if not target.sweep():  # into the file itself
                raise StoreError("busy", f"{target.shown}: somebody reads this file: try again")
    except FileExistsError:
        raise StoreError("failed", f"{path} is there already and stays as it is: give another name") from None


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Give a temporary name in the same folder; at the end, the file there gets its name unless that is taken."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        left = [f"{path}{end}" for end in _BESIDE if Path(f"{path}{end}").exists()]
        if path.exists():
            raise FileExistsError(f"{path} is there already")
        if left:
            raise StoreError("failed", f"{' and '.join(left)} belong to a store that was there: move them away first")
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        os.link(temporary, path)  # never replaces a file
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
        for end in ("", *_BESIDE):
            with suppress(OSError):
                Path(f"{temporary}{end}").unlink()
