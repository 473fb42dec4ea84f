"""Files that are there whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

__all__ = ["write_whole"]


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file under another name first: what has its own name is complete, whenever this is interrupted.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from meanbounds.support.writing import write_whole
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(Path(folder, "a.txt"), lambda path: path.write_text("all of it"))
    ...     [path.name for path in Path(folder).iterdir()]
    ['a.txt']
    """
    partial = path.with_name(f"{path.stem}.partial{path.suffix}")
    write(partial)
    partial.replace(path)
