"""Copies of whole stores: backup, restore, and moves between SQLite and PostgreSQL."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from meanbounds.service.database import ROWS, TABLES, Database, connect
from meanbounds.service.events import START, chained
from meanbounds.service.refusals import StoreError

__all__ = ["backup", "new_file", "restore"]


def backup(address: str | Path, copy: str | Path) -> None:
    """Copy a store, which may be in use, to a new SQLite file or an empty PostgreSQL database: whole, or not at all."""
    is_url = str(copy).startswith(("postgresql:", "postgres:"))
    new: AbstractContextManager[str | Path] = nullcontext(copy) if is_url else new_file(Path(copy).absolute())
    with closing(connect(address)) as source, new as place, closing(connect(place, create=True)) as target:
        with source.reading(), target.writing():
            _copy(source, target)
        if not target.sweep():  # into the file itself
            raise StoreError("busy", f"{target.shown}: somebody reads this file: try again")


restore = backup  # a backup is a store like any other


def _copy(source: Database, target: Database) -> None:
    """Copy all tables, and check each row on the way."""
    if target.last() or target.tokens():
        raise StoreError("failed", f"{target.shown} is there already and has content: give another name")
    before, events = START, source.events()
    while chunk := list(islice(events, ROWS)):
        for event in chunk:
            if not chained(before, event):
                said = f"table events, row {event.position}: the hash does not match"
                raise StoreError("damaged", f"{source.shown} is damaged: {said}; restore a backup")
            before = event.hash
        target.insert("events", chunk)
    for table in TABLES:
        if table != "events":
            target.put(table, *source.whole(table))


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Give a path in a new folder beside; at the end, the file there moves to this one, which it never replaces."""
    try:
        if path.exists():
            raise StoreError("failed", f"{path} is there already and stays as it is: give another name")
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
