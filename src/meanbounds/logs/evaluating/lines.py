"""Files with a JSON object in each line: found, opened and read one line at a time, with the numbers of bad lines."""

from __future__ import annotations

import glob
import gzip
import json
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from meanbounds.logs.errors import LogError
from meanbounds.logs.paths import check_regular, local_path, refuse_address
from meanbounds.support.checks import shown

__all__ = ["Lost", "as_path", "json_lines", "named_in_lines"]

_AT_ONCE = 2_000  # lines that are parsed together
_ENDINGS = (".jsonl", ".ndjson", ".json", ".dsjson", ".log")


class Lost:
    """Lines that hold no row, by kind, with the first of each.

    Examples
    --------
    >>> from meanbounds.logs.evaluating.lines import Lost
    >>> lost = Lost()
    >>> lost.add("line is no JSON object", "events.jsonl", 3, "{broken")
    >>> lost.kinds, lost.examples
    ({'line is no JSON object': 1}, {'line is no JSON object': {'line': 'events.jsonl:3', 'text': '{broken'}})
    """

    def __init__(self) -> None:
        self.kinds: dict[str, int] = {}
        self.examples: dict[str, dict[str, Any]] = {}

    def add(self, kind: str, path: str, number: int, text: Any) -> None:
        """Count a line, and keep it if it is the first of its kind."""
        self.kinds[kind] = self.kinds.get(kind, 0) + 1
        if kind not in self.examples:
            self.examples[kind] = {"line": f"{Path(path).name}:{number}", "text": str(text)[:80]}


def as_path(source: Any) -> str | None:
    """The path that a source is, or None if it is something else."""
    return os.fsdecode(source) if isinstance(source, str | os.PathLike) else None


def named_in_lines(path: str) -> bool:
    """Whether the name of a file says that it has a JSON object in each line.

    Examples
    --------
    >>> from meanbounds.logs.evaluating.lines import named_in_lines
    >>> [named_in_lines(name) for name in ("events.jsonl", "events.json.gz", "log.csv")]
    [True, True, False]
    """
    return path.lower().removesuffix(".gz").endswith(_ENDINGS)


def json_lines(path: str, lost: Lost) -> Iterator[tuple[str, int, dict[str, Any]]]:
    r"""The objects of a file, of all files in a folder, or of a pattern in the order of their names.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from meanbounds.logs.evaluating.lines import Lost, json_lines
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "events.jsonl"
    >>> _ = path.write_text('{"arm": "a"}\nnothing\n\n{"arm": "b"}\n')
    >>> lost = Lost()
    >>> [(number, found) for _, number, found in json_lines(str(path), lost)]
    [(1, {'arm': 'a'}), (4, {'arm': 'b'})]
    >>> lost.kinds
    {'line is no JSON object': 1}
    """
    for file in _files(path):
        with gzip.open(file, "rb") if file.endswith(".gz") else Path(file).open("rb") as lines:
            number, guarded = 1, _guarded(lines, file)
            while some := list(islice(guarded, _AT_ONCE)):
                for place, found in enumerate(_parsed(some), start=number):
                    if isinstance(found, dict):
                        yield file, place, found
                    elif not (line := some[place - number]).isspace():
                        lost.add("line is no JSON object", file, place, line.decode("utf-8", "replace").strip())
                number += len(some)


def _parsed(lines: list[bytes]) -> list[Any]:
    """What each line holds; all at once, which is faster, or one by one if that fails."""
    try:
        found = json.loads(b"[" + b",".join(lines) + b"]")
        if len(found) == len(lines):
            return list(found)
    except (ValueError, RecursionError):
        pass
    return [_one(line) for line in lines]


def _one(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _guarded(lines: Any, file: str) -> Iterator[bytes]:
    """The lines of a file; a LogError where it is cut off or damaged."""
    try:
        yield from lines
    except (OSError, EOFError) as error:
        raise LogError(f"{file} is cut off or damaged ({error}); copy it again from where it came") from error


def _files(path: str) -> list[str]:
    if not path.strip() or "\0" in path:
        raise LogError(f"{shown(path)} names no log: give the path of a file, a folder or a pattern")
    refuse_address(path)
    whole = Path(local_path(path)).expanduser().absolute()
    if whole.is_dir():
        found = sorted(str(file) for file in whole.iterdir() if named_in_lines(file.name))
    elif whole.exists() or not glob.has_magic(path):
        found = [str(whole)]
    else:
        found = sorted(map(str, Path(whole.anchor).glob(str(whole.relative_to(whole.anchor)))))
    if not found:
        raise FileNotFoundError(f"{path} names no file with a JSON object in each line, such as events.jsonl")
    for file in found:
        check_regular(Path(file))
    return found
