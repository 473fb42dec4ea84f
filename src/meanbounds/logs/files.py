"""The files that a path, a folder or a pattern names. All of them are read, or none: whatever cannot be is an error."""

from __future__ import annotations

import csv
import glob
import gzip
import os
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from meanbounds.logs.errors import LogError

__all__ = ["Files", "find_files", "is_address"]

_FORMATS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".tsv": "csv", ".txt": "csv"} | dict.fromkeys(
    (".json", ".jsonl", ".ndjson"), "json"
)
_NAMES = {"parquet": "Parquet", "csv": "CSV", "json": "JSON lines"}
_COMPRESSED = (".gz", ".zst")
_SEPARATORS = ",;\t|"
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")  # two letters or more: C:/ is a disk
_LONGEST = 1_000_000  # bytes of a line of names


@dataclass(frozen=True)
class Files:
    """Files of one format: parquet, csv or json."""

    format: str
    paths: tuple[str, ...]

    def header(self, columns: Sequence[str]) -> tuple[str, list[str]] | None:
        """The separator by which the first line of CSV files has most of the columns, and the fields of that line.

        None if files differ, or their first lines cannot be read here. A LogError says which file is empty, damaged, or
        has one of the columns twice.
        """
        lines = {path: _first_line(path) for path in self.paths if not (is_address(path) or path.endswith(".zst"))}
        named = {path: line for path, line in lines.items() if line.strip()}
        if lines and not named:
            raise LogError(f"{next(iter(lines))} is empty; a CSV file begins with a line that names its columns")
        found: list[tuple[str, list[str]]] = []
        for path, line in named.items():
            signs = found[0][0] if found else _SEPARATORS
            try:
                splits = [(sign, next(csv.reader([line], delimiter=sign), [])) for sign in signs]
            except csv.Error as error:
                said = f"{path}, line 1: {str(error).split(' - ')[0]}"
                raise LogError(f"{said}; is it a CSV file? Save it as CSV with line feeds between lines") from error
            sign, fields = max(splits, key=lambda split: (len({*columns} & {*split[1]}), len(split[1])))
            lowered = [field.lower() for field in fields]
            for name in columns:
                if name in fields and lowered.count(name.lower()) > 1:
                    raise LogError(f"{path} has the column {name!r} more than once; rename or remove the others")
            for place, field in enumerate(fields):
                if not field or field.lower() in lowered[:place]:
                    fields[place] = f"{field}_{place}"
            found.append((sign, fields))
        same = len(named) == len(self.paths) and all(one == found[0] for one in found)
        quoted = any(line.count('"') % 2 for line in named.values())  # the line goes on
        return found[0] if same and not quoted else None


def is_address(text: str) -> bool:
    """Whether a text is an address on the network rather than a local path."""
    return _ADDRESS.match(text) is not None and not os.path.lexists(text)


def find_files(text: str) -> Files | None:
    """Find the files that a path, a folder or a pattern names; None if the text does not look like any of these."""
    if is_address(text):
        return Files(_format(text), (text,))
    path = Path(text).expanduser()
    pattern = glob.has_magic(text)
    if path.is_dir():
        found = _inside(path)
    elif os.path.lexists(path):
        found = [path]
    elif pattern or _known(text) is not None or os.sep in text:
        matches = sorted(Path(path.anchor).glob(str(path.relative_to(path.anchor)))) if pattern else []
        found = [file for match in matches for file in (_inside(match) if match.is_dir() else [match])]
        if not found:
            raise FileNotFoundError(f"there is no file, folder or match of a pattern {text!r}")
    else:
        return None
    formats = {_format(str(file)): None for file in found}
    if len(formats) != 1:
        several = " and ".join(_NAMES[name] for name in formats)
        why = f"has {several} files; give a pattern for one kind, such as" if formats else "holds no log: no files like"
        raise LogError(f"{text} {why} {str(path / '**' / '*.parquet')!r}")
    for file in found:
        if not file.is_file():
            raise LogError(f"{file} is not a regular file; a log is read more than once: write it to a file")
        if not os.access(file, os.R_OK):
            raise LogError(f"{file} cannot be read: permission denied")
    return Files(next(iter(formats)), tuple(dict.fromkeys(map(str, found))))


def _inside(folder: Path) -> list[Path]:
    """The logs in a folder and the folders in it, without those that are hidden (names with . or _ in front)."""

    def refuse(error: OSError) -> None:
        raise LogError(f"{error.filename} cannot be read: {error.strerror}")

    found = []
    for parent, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "_")))
        shown = sorted(name for name in names if not name.startswith((".", "_")))
        found += [Path(parent) / name for name in shown if _known(name) is not None]
    return found


def _known(name: str) -> str | None:
    suffixes = [suffix.lower() for suffix in Path(name).suffixes]
    if suffixes and suffixes[-1] in _COMPRESSED:
        suffixes.pop()
    return _FORMATS.get(suffixes[-1]) if suffixes else None


def _format(name: str) -> str:
    known = _known(name)
    if known is None:
        raise LogError(f"{name}: such files are not read; their names end in {', '.join(_FORMATS)}. Save it as CSV")
    return known


def _first_line(path: str) -> str:
    try:
        with gzip.open(path) if path.lower().endswith(".gz") else Path(path).open("rb") as file:
            line = file.readline(_LONGEST)
    except (EOFError, zlib.error, OSError) as error:
        raise LogError(f"{path} is cut off or damaged ({error}); copy it again from where it came") from error
    if line.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise LogError(f"{path} is UTF-16: save it as UTF-8")
    return line.decode("utf-8-sig", errors="replace")
