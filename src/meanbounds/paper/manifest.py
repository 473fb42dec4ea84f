"""The list of files that were written into a folder, so that no other file is ever deleted there."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

from meanbounds.simulation import Blocks
from meanbounds.support.writing import write_atomically, write_text_atomically

__all__ = ["Manifest"]

_NAME = "manifest.json"
_BLOCKS = "unfinished"


class Manifest:
    """Files that were written into a folder, by name, with the checksum of each; kept there as manifest.json.

    A file is listed after it was written. One that was changed since is not deleted, and is written again.

    Parameters
    ----------
    folder
        The folder, which exists.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from meanbounds.paper.manifest import Manifest
    >>> with tempfile.TemporaryDirectory() as name:
    ...     folder = Path(name)
    ...     _ = (folder / "mine.csv").write_text("my own")
    ...     _ = Manifest(folder).write("table.csv", lambda path: path.write_text("a,b"))
    ...     Manifest(folder).remove_all()
    ...     sorted(path.name for path in folder.iterdir())
    ['manifest.json', 'mine.csv']
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._digests = _read(folder / _NAME)

    def is_intact(self, name: str) -> bool:
        """Whether the file was written here, and is still as it was written."""
        digest = self._digests.get(name)
        path = self._folder / name
        return bool(digest) and path.is_file() and _digest(path) == digest

    def write(self, name: str, write: Callable[[Path], object]) -> Path:
        """Write a file of this name, whole or not at all, and return its path."""
        path = self._folder / name
        write_atomically(path, write)
        self._list(name, _digest(path))
        return path

    def blocks(self) -> Path:
        """The folder for blocks of unfinished simulations, which `remove_all` removes too."""
        self._list(_BLOCKS, "")
        return self._folder / _BLOCKS

    def remove_all(self) -> None:
        """Delete the files in the list that are as they were written, and nothing else."""
        for name in self._digests:
            if name == _BLOCKS:
                for block in Blocks.files(self._folder / name):
                    block.unlink()
            elif self.is_intact(name):
                (self._folder / name).unlink()
        self._digests = {}
        write_text_atomically(self._folder / _NAME, "{}\n")

    def _list(self, name: str, digest: str) -> None:
        if self._digests.get(name) != digest:
            self._digests[name] = digest
            write_text_atomically(self._folder / _NAME, json.dumps(self._digests, indent=2) + "\n")


def _read(path: Path) -> dict[str, str]:
    """The list in a file; empty if there is none, or if it is damaged: then nothing was written here for certain."""
    try:
        found = json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError, RecursionError):
        return {}
    plain = isinstance(found, dict) and all(isinstance(digest, str) for digest in found.values())
    return {name: digest for name, digest in found.items() if Path(name).name == name} if plain else {}


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
