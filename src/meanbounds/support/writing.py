"""Files that are there whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

__all__ = ["write_atomically"]


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file under another name first: what has its own name is complete, whenever this is interrupted.

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
    partial = path.with_name(f"{path.stem}.partial{path.suffix}")
    write(partial)
    partial.replace(path)
