"""One process at a time in a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

__all__ = ["LOCK", "FolderInUseError", "locked", "open_locked"]

LOCK = ".meanbounds-lock"
"""Name of the file that is locked while a process works in a folder."""


class FolderInUseError(OSError):
    """Raised where another process works in the same folder; the message says which folder and what to do.

    Examples
    --------
    >>> from meanbounds.support.locking import FolderInUseError
    >>> print(FolderInUseError("results: in use by another process"))
    results: in use by another process
    """


@contextmanager
def locked(folder: str | Path) -> Iterator[None]:
    """Keep other processes out of a folder, which is made if it is not there, and removed again if it stays empty.

    The operating system releases the lock when the process ends in whatever way; the lock file is then without
    meaning, and is removed where it can be. On systems without `fcntl` (Windows) nothing is locked.

    Parameters
    ----------
    folder
        The folder.

    Raises
    ------
    FolderInUseError
        If another process, or another part of this one, has locked the folder.

    Examples
    --------
    >>> import tempfile
    >>> from meanbounds.support.locking import locked
    >>> with tempfile.TemporaryDirectory() as folder, locked(folder):
    ...     try:
    ...         with locked(folder):
    ...             print("never")
    ...     except OSError as error:
    ...         print(str(error).removeprefix(folder))
    : another meanbounds process is writing there; wait until it ends, or give another folder
    """
    folder = Path(folder)
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / LOCK
    file = _lock(path)
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink()
        file.close()
        if is_new:
            with suppress(OSError):
                folder.rmdir()


def open_locked(path: Path) -> IO[bytes]:
    """Open a file, which is made if it is not there, to read it and to add to it; others wait until it is closed.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from meanbounds.support.locking import open_locked
    >>> with tempfile.TemporaryDirectory() as folder, open_locked(Path(folder, "events")) as file:
    ...     file.write(b"one")
    3
    """
    return _lock(path, wait=True)


def _lock(path: Path, *, wait: bool = False) -> IO[bytes]:
    """Open and lock a file; again if its owner removed it in between: a lock on a removed file is worth nothing."""
    while True:
        file = path.open("a+b")
        try:
            _lock_file(file, wait)
            with suppress(FileNotFoundError):
                if os.path.samestat(path.stat(), os.fstat(file.fileno())):
                    return file
        except BlockingIOError:
            file.close()
            advice = "another meanbounds process is writing there; wait until it ends, or give another folder"
            raise FolderInUseError(f"{path.parent}: {advice}") from None
        except BaseException:
            file.close()
            raise
        file.close()


def _lock_file(file: IO[bytes], wait: bool) -> None:
    """Lock an open file; unless this is to wait, raise BlockingIOError if it is locked already."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:  # a file system without locks
        return
