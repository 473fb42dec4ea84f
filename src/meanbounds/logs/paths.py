"""The files that a path, a folder or a pattern names. All of them are read, or none: whatever cannot be is an error.

Every engine gets its files from `find_files`, so all of them refuse the same sources: addresses on the network, empty
paths, pipes and devices, folders and files without permission, and links that lead nowhere.
"""

from __future__ import annotations

import fnmatch
import glob
import os
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote

from meanbounds.logs.errors import LogError

__all__ = ["check_regular", "file_format", "find_files", "is_address", "known_format", "local_path", "refuse_address"]

_FORMATS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".tsv": "csv", ".txt": "csv"}
_COMPRESSED = (".gz", ".zst", ".bz2")
_NOT_READ = (".xz", ".lz4", ".zip", ".lzo", ".snappy", ".7z", ".br", ".Z")  # of compressed logs that no engine reads
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")  # two letters or more: C:/ is a disk
_LOCAL = re.compile(r"file:((//(localhost)?(?=/))|(?=/(?!/)))", re.IGNORECASE)
_KINDS = {stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}


def is_address(text: str) -> bool:
    """Whether a text is an address on the network rather than a local path.

    Examples
    --------
    >>> from meanbounds.logs.paths import is_address
    >>> [is_address(text) for text in ("s3://clinic/log.parquet", "C:/log.csv", "file:///data/log.csv", "log.csv")]
    [True, False, False, False]
    """
    if _ADDRESS.match(text) is None or _LOCAL.match(text) is not None:
        return False
    return "://" in text or not os.path.lexists(text)  # a Path has one slash of an address left


def refuse_address(text: str) -> None:
    """Raise a LogError if a text is, or holds, an address on the network.

    Examples
    --------
    >>> from meanbounds.logs.paths import refuse_address
    >>> refuse_address("s3://clinic/log.parquet")
    Traceback (most recent call last):
    meanbounds.logs.errors.LogError: 's3://clinic/log.parquet' is an address on the network, which is read only if ...
    """
    if is_address(text) or ("://" in text and _LOCAL.match(text) is None):
        raise LogError(
            f"{text!r} is an address on the network, which is read only if you ask for it: give network=True, "
            "or copy the file to this machine and give its path"
        )


def local_path(text: str) -> str:
    """Turn ``file:`` addresses into paths; other texts stay as they are.

    Examples
    --------
    >>> from meanbounds.logs.paths import local_path
    >>> local_path("file:///data/the%20log.csv")
    '/data/the log.csv'
    """
    found = _LOCAL.match(text)
    return text if found is None else unquote(text[found.end() :])


def file_format(path: str) -> str | None:
    """Tell Parquet from CSV by the end of a name; None if it is neither.

    Examples
    --------
    >>> from meanbounds.logs.paths import file_format
    >>> [file_format(name) for name in ("log.parquet", "log.csv.gz", "log.xlsx")]
    ['parquet', 'csv', None]
    """
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes and suffixes[-1] in _COMPRESSED:
        suffixes.pop()
    return _FORMATS.get(suffixes[-1]) if suffixes else None


def known_format(path: str) -> str:
    """Tell Parquet from CSV by the name of a file, or else by its first bytes; a LogError if it is neither.

    Examples
    --------
    >>> from meanbounds.logs.paths import known_format
    >>> known_format("log.xlsx")
    Traceback (most recent call last):
    meanbounds.logs.errors.LogError: log.xlsx is neither Parquet nor CSV by its name; such names end in .parquet, ...
    """
    known = file_format(path)
    if known is None and not is_address(path) and Path(path).is_file():
        with Path(path).open("rb") as file:
            known = "parquet" if file.read(4) == b"PAR1" else None
    if known is None:
        raise LogError(
            f"{path} is neither Parquet nor CSV by its name; such names end in {', '.join(_FORMATS)}. Save "
            "the sheet of a spreadsheet as CSV"
        )
    return known


def check_regular(path: Path) -> None:
    """Raise a LogError unless a file can be read more than once: pipes, sockets and devices cannot.

    Examples
    --------
    >>> from pathlib import Path
    >>> from meanbounds.logs.paths import check_regular
    >>> check_regular(Path("/dev/null"))
    Traceback (most recent call last):
    meanbounds.logs.errors.LogError: /dev/null is a device; a log is read more than once: write it to a file ...
    """
    try:
        mode = path.stat().st_mode
        kind = _KINDS.get(stat.S_IFMT(mode))
        if kind is not None:
            raise LogError(f"{path} is {kind}; a log is read more than once: write it to a file and give its path")
        if stat.S_ISREG(mode):
            path.open("rb").close()  # permission is there only if it opens
    except OSError as error:
        raise _unreadable(path, error) from error


def find_files(text: str) -> tuple[str, tuple[str, ...], str | None]:
    """Find the files that a path, a folder or a pattern names: their format, their paths, and the folder if it is one.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from meanbounds.logs.paths import find_files
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.csv").write_text("arm,reward")
    >>> find_files(str(folder / "*.csv")) == ("csv", (str(folder / "a.csv"),), None)
    True
    """
    path = Path(local_path(text)).expanduser()
    try:
        found, folder = _found(text, path)
    except PermissionError as error:
        raise _unreadable(path, error) from error
    for file in found:
        check_regular(file)
    return _one_format(text, path, found, folder), tuple(dict.fromkeys(map(str, found))), folder


def _found(text: str, path: Path) -> tuple[list[Path], str | None]:
    if path.is_dir():
        found = list(_inside(path))
        if not found:
            raise LogError(f"the folder {text} holds neither Parquet nor CSV files")
        return found, str(path)
    if os.path.lexists(path):
        return [path], None
    found = [file for one in _expand(path) for file in (_inside(one) if one.is_dir() else [one])]
    if not found:
        raise FileNotFoundError(f"no file, folder or match of a glob: {text}")
    return found, None


def _one_format(text: str, path: Path, found: Sequence[Path], folder: str | None) -> str:
    formats = {known_format(str(file)) for file in found}
    if len(formats) > 1 and folder is not None:
        pattern = path / "**" / "*.parquet"
        raise LogError(f"the folder {text} holds both Parquet and CSV files; give a glob such as {str(pattern)!r}")
    if len(formats) > 1:
        raise LogError(f"{text} matches both Parquet and CSV files; give a glob that matches one kind")
    return formats.pop()


def _inside(folder: Path) -> Iterator[Path]:
    """The logs in a folder and the folders in it, without those that engines hide (names with . or _ in front)."""
    for path, is_folder, is_link in _entries(folder):
        if path.name.startswith((".", "_")):
            continue
        if is_folder:
            if not is_link:  # a link to a folder may lead back to where it is
                yield from _inside(path)
        elif file_format(path.name) is not None:
            yield path
        elif path.suffix in _NOT_READ and file_format(path.stem) is not None:
            raise LogError(f"{path} is compressed in a way that is not read; uncompress it, or compress it with gzip")


def _expand(pattern: Path) -> list[Path]:
    """All matches of a pattern, in order. Unlike glob, it does not skip folders that cannot be read."""
    return sorted(set(_matches(Path(pattern.anchor), pattern.relative_to(pattern.anchor).parts)))


def _matches(folder: Path, parts: Sequence[str]) -> Iterator[Path]:
    if not parts:
        yield folder
        return
    first, rest = parts[0], parts[1:]
    if not glob.has_magic(first):
        if os.path.lexists(folder / first) and (not rest or (folder / first).is_dir()):
            yield from _matches(folder / first, rest)
        return
    if first == "**":
        yield from _matches(folder, rest)
    for path, is_folder, is_link in _entries(folder):
        if first == "**":
            if is_folder and not is_link:
                yield from _matches(path, parts)
        elif fnmatch.fnmatchcase(path.name, first) and (is_folder or not rest):
            yield from _matches(path, rest)


def _entries(folder: Path) -> list[tuple[Path, bool, bool]]:
    """What a folder holds, in order: each path, whether it is a folder, and whether it is a link."""
    try:
        with os.scandir(folder) as entries:
            return sorted((folder / entry.name, entry.is_dir(), entry.is_symlink()) for entry in entries)
    except OSError as error:
        raise _unreadable(folder, error) from error


def _unreadable(path: Path, error: OSError) -> LogError:
    return LogError(
        f"{path} cannot be read ({error.strerror or error}), and a log is counted whole or not at all: "
        "make it readable, or give a path or pattern that leaves it out"
    )
