"""Save objects as JSON files that are complete or not there, and read them with errors that name the file."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

__all__ = ["Saved", "read_saved", "write_atomically"]


class Saved(ABC):
    """Base of the objects that can be saved: a subclass defines `to_dict` and `from_dict`."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Everything needed to make the object again, in lists, strings and numbers that JSON can hold."""

    @classmethod
    @abstractmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Make the object that `to_dict` described."""

    def save(self, path: str | Path) -> None:
        """Write the object to a JSON file; an interrupted write leaves the old file as it was."""
        text = json.dumps(self.to_dict(), allow_nan=False) + "\n"
        write_atomically(path, lambda partial: partial.write_text(text, encoding="utf-8"))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read the object from a file that `save` wrote."""
        try:
            return cls.from_dict(read_saved(path, cls.__name__))
        except ValueError as error:
            error.args = (f"{path}: {error}",)
            raise


def read_saved(path: str | Path, what: str) -> Mapping[str, Any]:
    """The dictionary in a file that `Saved.save` wrote; `what` it holds is for messages."""
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # not UTF-8, not JSON, or nested too deep
        raise ValueError(f"it holds no saved {what}: it is not JSON ({error})") from None
    if not isinstance(data, Mapping):
        raise ValueError(f"it holds no saved {what}: expected a JSON object, got {type(data).__name__}")
    return data


def write_atomically(path: str | Path, write: Callable[[Path], object]) -> None:
    """Let `write` write to a temporary path, then rename, so that an interrupted write leaves no partial file.

    If the file exists, it stays as it was until the rename; if writing fails, for example because the disk is full, the
    temporary file is removed. A link is followed, permissions of a replaced file are kept, and what is not a regular
    file, such as ``/dev/stdout``, is written directly.
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
