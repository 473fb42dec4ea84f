"""Copies of whole stores: backup, restore, and moves between SQLite and PostgreSQL."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from meanbounds.service.database import ROWS, TABLES, Database, connect
from meanbounds.service.events import START, chained
from meanbounds.service.refusals import StoreError

__all__ = ["backup", "new_file", "restore"]


def backup(address: str | Path, copy: str | Path) -> None:
    """Copy a store, which may be in use, to a new SQLite file or an empty PostgreSQL database: whole, or not at all."""
    with closing(connect(address)) as source:
        if str(copy).startswith(("postgresql:", "postgres:")):
            with closing(connect(copy, create=True)) as target:
                return _copy(source, target)
        try:
            with new_file(Path(copy).absolute()) as temporary, closing(connect(temporary, create=True)) as target:
                _copy(source, target)
                if not target.sweep():  # into the file itself
                    raise StoreError("busy", f"{target.shown}: somebody reads this file: try again")
        except FileExistsError:
            raise StoreError("failed", f"{copy} is there already and stays as it is: give another name") from None


restore = backup  # a backup is a store like any other


def _copy(source: Database, target: Database) -> None:
    with source.reading(), target.writing():
        if target.last() or target.tokens():
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


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Give a path in a new folder beside; at the end, the file there moves to this one, which it never replaces."""
    try:
        if path.exists():
            raise FileExistsError
        left = [f"{path}{end}" for end in ("-wal", "-shm", "-journal") if Path(f"{path}{end}").exists()]
        if left:
            raise StoreError("failed", f"{' and '.join(left)} belong to a store that was there: move them away first")
        with TemporaryDirectory(prefix=".meanbounds-", dir=path.parent) as folder:
            yield Path(folder, path.name)
            os.link(Path(folder, path.name), path)
            descriptor = os.open(path.parent, os.O_RDONLY)
            os.fsync(descriptor)  # SQLite has synced the file
            os.close(descriptor)
    except (StoreError, FileExistsError):
        raise
    except OSError as error:
        raise StoreError("failed", f"{path} cannot be made: {error.strerror}") from error
