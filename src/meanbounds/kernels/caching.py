"""Where compiled kernels are kept between processes.

Numba keeps them in ``NUMBA_CACHE_DIR`` if that is set, else beside the source in ``__pycache__``, else in the user's
cache folder. Where it can write to none of these, it would refuse to import the kernels; then a private folder under
the temporary directory is used, or none.
"""

from __future__ import annotations

import functools
import hashlib
import os
import stat
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numba

__all__ = ["compile_cached", "is_private", "private_folder"]


def compile_cached(function: Callable[..., Any], **options: Any) -> Any:
    """Compile a function with `numba.njit` and keep the machine code on disk wherever that is possible.

    Parameters
    ----------
    function
        The function to compile.
    options
        Further options of `numba.njit`.
    """
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError as error:
        if "no locator available" not in str(error):
            raise
    folder = _fallback()
    if folder is not None:
        try:
            with _cached_in(folder):
                return numba.njit(cache=True, **options)(function)
        except RuntimeError:  # the folder cannot be written any more
            pass
    return numba.njit(**options)(function)


@functools.cache
def _fallback() -> Path | None:
    """The folder to use where numba has none, and one warning that says how to choose another."""
    folder = _temporary_folder()
    kept = (
        f"they are kept in {folder}"
        if folder
        else "they are not kept, and are compiled again in each process, which takes seconds"
    )
    warnings.warn(
        f"numba can write compiled kernels neither beside meanbounds nor in your cache folder: {kept}. "
        "Set the environment variable NUMBA_CACHE_DIR to a folder of yours to choose where",
        RuntimeWarning,
        stacklevel=4,
    )
    return None if folder is None else folder / _fingerprint()


def _temporary_folder() -> Path | None:
    """A folder under the temporary directory that only this user can write to; None if there cannot be one."""
    try:
        parent = Path(tempfile.gettempdir())
        status = parent.stat()
    except OSError:
        return None
    name = f"meanbounds-{os.getuid()}" if hasattr(os, "getuid") else "meanbounds"
    # In a folder that others can write to, they could exchange ours for theirs, unless the sticky bit is set.
    others_can_rename = status.st_mode & 0o022 and not status.st_mode & stat.S_ISVTX
    return None if others_can_rename and os.name == "posix" else private_folder(parent / name)


def private_folder(path: Path) -> Path | None:
    """Make a folder that only this user can use, or check that it is one; None if it is not.

    Cached kernels are machine code that is run: whoever can write to their folder can run code as this user.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from meanbounds.kernels.caching import private_folder
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     private_folder(Path(folder) / "kernels") == Path(folder) / "kernels"
    True
    """
    try:
        path.mkdir(mode=0o700, exist_ok=True)
    except OSError:
        return None
    return path if is_private(path) else None


def is_private(path: Path) -> bool:
    """Whether this is a folder, and no link to one, that belongs to this user and that nobody else can use."""
    try:
        status = path.lstat()
    except OSError:
        return False
    if not stat.S_ISDIR(status.st_mode):
        return False
    if not hasattr(os, "getuid"):  # Windows: the temporary directory is the user's own
        return True
    return status.st_uid == os.getuid() and not stat.S_IMODE(status.st_mode) & 0o077


def _fingerprint() -> str:
    """Digest of the source of all kernels: numba looks at a kernel's own file alone, not at those it calls."""
    sources = sorted(Path(__file__).parent.rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]


@contextmanager
def _cached_in(folder: Path) -> Iterator[None]:
    """Let numba cache functions that are decorated meanwhile in this folder, and those of others where it did."""
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before
