"""Write files atomically: a file is complete, or it is not there."""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Callable
from pathlib import Path

__all__ = ["remove_partial_files", "write_atomically", "write_text_atomically"]

_PARTIAL = re.compile(r"\.meanbounds-partial-[0-9a-f]{16}(\..*)?")


def write_atomically(path: str | Path, write: Callable[[Path], object]) -> None:
    """Write to a temporary name, then rename, so that an interrupted write leaves no partial file.

    If the file exists already, it is replaced by the rename at the end, and stays as it was until then; if writing
    fails, for example because the disk is full, the temporary file is removed. A link is followed, the permissions of
    a file that is replaced are kept, and something that is no regular file, such as ``/dev/stdout``, is written
    directly. Each call has its own temporary name, so that two processes can write the same file.

    Parameters
    ----------
    path
        The file to write.
    write
        A function that writes the whole file to the path it is given, which has the same suffix.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from meanbounds.support.writing import write_atomically
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_atomically(Path(folder, "a.txt"), lambda path: path.write_text("all of it"))
    ...     [path.name for path in Path(folder).iterdir()]
    ['a.txt']
    """
    path = Path(path)
    if path.is_symlink():
        path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        write(path)
        return
    partial = path.with_name(f".meanbounds-partial-{secrets.token_hex(8)}{path.suffix}")
    try:
        write(partial)
        if path.exists():
            shutil.copymode(path, partial)
        partial.replace(path)
    except OSError as error:
        if error.errno is None or partial.name not in str(error):
            raise
        raise OSError(error.errno, os.strerror(error.errno), str(path)) from error  # names the file that was asked for
    finally:
        partial.unlink(missing_ok=True)


def write_text_atomically(path: str | Path, text: str) -> None:
    """Write a text file, in UTF-8 and atomically.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from meanbounds.support.writing import write_text_atomically
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_text_atomically(Path(folder) / "a.txt", "all of it")
    ...     (Path(folder) / "a.txt").read_text(encoding="utf-8")
    'all of it'
    """
    write_atomically(path, lambda partial: partial.write_text(text, encoding="utf-8"))


def remove_partial_files(folder: Path) -> None:
    """Remove the temporary files that processes left in a folder when they were killed while they wrote.

    Use it where no other process writes to the folder, for example under a lock.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from meanbounds.support.writing import remove_partial_files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, ".meanbounds-partial-0123456789abcdef.npz").write_bytes(b"half of")
    ...     _ = Path(folder, "mine.npz").write_bytes(b"all of it")
    ...     remove_partial_files(Path(folder))
    ...     [path.name for path in Path(folder).iterdir()]
    ['mine.npz']
    """
    for path in folder.iterdir():
        if _PARTIAL.fullmatch(path.name):
            path.unlink(missing_ok=True)
