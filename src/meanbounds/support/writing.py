"""Write files atomically: a file is complete, or it is not there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

__all__ = ["write_atomically"]


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Write to a temporary name, then rename, so that an interrupted write leaves no partial file.

    If the file exists already, it is replaced by the rename at the end, and stays as it was until then.

    Parameters
    ----------
    path
        The file to write.
    write
        A function that writes the whole file to the path it is given.

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
