"""The storage of a log: files, a table in memory, or a table of a database."""

from __future__ import annotations

import csv
import glob
import gzip
import os
import re
import zlib
from bz2 import BZ2File
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, BinaryIO

from meanbounds.logs.errors import LogError
from meanbounds.logs.paths import file_format, find_files, is_address, known_format, refuse_address
from meanbounds.support.frames import is_pandas, ordered_categories
from meanbounds.support.optional import import_optional

__all__ = ["Files", "Frame", "Source", "Table", "find_source", "missing_columns", "refuse_repeated"]

_SEPARATORS = (",", ";", "\t", "|")
_TABLES = ("__arrow_c_stream__", "collect_schema", "createOrReplaceTempView")  # Arrow and others, Polars, Spark
_PART = re.compile(r'"((?:[^"]|"")+)"|([^".]+)')
_START = 1 << 16  # bytes of a CSV file that are looked at for its header and its line ends
_LONGEST = 1_000_000  # bytes of a header
_QUOTED = re.compile(rb'"[^"]*("|$)')
_BARE_RETURN = re.compile(rb"\r(?!\n|$)")


@dataclass(frozen=True)
class Files:
    """Parquet or CSV files. Their names are taken literally unless they are addresses on the network.

    Examples
    --------
    >>> from meanbounds.logs.sources import find_source
    >>> find_source("s3://clinic/log.parquet", database=False, network=True)
    Files(format='parquet', paths=('s3://clinic/log.parquet',), remote=True, folder=None)
    """

    format: str
    paths: tuple[str, ...]
    remote: bool = False
    folder: str | None = None

    def separator(self, columns: Sequence[str]) -> str | None:
        """Check the first line of each CSV file, and return the separator by which it has most of the columns.

        A LogError says which file is cut off, has another kind of line ends, or names one of the columns twice. None
        where the files are not looked at: on the network, and where they are compressed with Zstandard.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from meanbounds.logs.sources import Files
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "log.csv"
        >>> _ = path.write_text("age;dose, mg;reward")
        >>> Files("csv", (str(path),)).separator(["age", "reward"])
        ';'
        >>> _ = path.write_text("age,reward,age")
        >>> Files("csv", (str(path),)).separator(["age", "reward"])
        Traceback (most recent call last):
        meanbounds.logs.errors.LogError: .../log.csv has the column 'age' twice; rename or remove one of them
        """
        if self.remote:
            return None
        looked_at = [path for path in self.paths if not path.endswith(".zst")]
        headers = {path: line for path in looked_at if (line := _header(path)).strip()}
        if looked_at and not headers:
            raise LogError(f"{looked_at[0]} is empty; a CSV file begins with a line that names its columns")
        wanted, separator = set(columns), None
        for path, line in headers.items():
            fields = {sign: _fields(path, line, sign) for sign in ((separator,) if separator else _SEPARATORS)}
            separator = max(fields, key=lambda sign: (len(wanted.intersection(fields[sign])), len(fields[sign])))
            refuse_repeated(columns, fields[separator], path)
        return separator

    def header(self) -> list[str]:
        """The names of the columns of the first CSV file, by the separator that gives most of them.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from meanbounds.logs.sources import Files
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "log.csv"
        >>> _ = path.write_text("age;dose, mg;reward")
        >>> Files("csv", (str(path),)).header()
        ['age', 'dose, mg', 'reward']
        """
        line = _header(self.paths[0])
        return max((_fields(self.paths[0], line, sign) for sign in _SEPARATORS), key=len)

    def check_parquet(self, columns: Sequence[str]) -> None:
        """Raise a LogError if one of the columns is twice in a Parquet file; engines rename or refuse such columns.

        Examples
        --------
        >>> import pathlib, tempfile, pandas as pd
        >>> from meanbounds.logs.sources import Files
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "log.parquet"
        >>> pd.DataFrame({"arm": ["a"], "Arm": ["b"]}).to_parquet(path)
        >>> Files("parquet", (str(path),)).check_parquet(["arm"])
        Traceback (most recent call last):
        meanbounds.logs.errors.LogError: .../log.parquet has the columns 'arm', 'Arm', which differ in case alone; ...
        """
        if self.remote or self.format != "parquet":
            return
        parquet = import_optional("pyarrow.parquet", "logs", "Parquet files")
        for path in self.paths:
            refuse_repeated(columns, parquet.read_schema(path).names, path)


def _opened(path: str) -> BinaryIO | gzip.GzipFile | BZ2File:
    suffix = Path(path).suffix.lower()
    return gzip.GzipFile(path) if suffix == ".gz" else BZ2File(path) if suffix == ".bz2" else Path(path).open("rb")


def _header(path: str) -> str:
    """The first line of a CSV file."""
    try:
        with _opened(path) as file:
            start = file.read(_START)
            line, end, _ = start.partition(b"\n")
            if not end and len(start) == _START:
                line += file.readline(_LONGEST)
    except (EOFError, zlib.error, OSError) as error:
        raise LogError(f"{path} is cut off or damaged ({error}); copy it again from where it came") from error
    if _BARE_RETURN.search(_QUOTED.sub(b"", start)):
        raise LogError(
            f"{path} ends lines with a carriage return alone, as old Macs did; write line feeds instead, "
            "for example with: tr '\\r' '\\n'"
        )
    return line.decode("utf-8-sig", errors="replace")


def _fields(path: str, line: str, separator: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error as error:
        raise LogError(f"{path} has no line of column names at its start ({error})") from error


@dataclass(frozen=True, eq=False)
class Frame:
    """A pandas, Polars or Arrow table."""

    table: Any

    def arrow(self, columns: Sequence[str], numbers: Sequence[str]) -> Any:
        """Return an Arrow table of these columns; a LogError names those that are missing.

        Examples
        --------
        >>> import pandas as pd
        >>> from meanbounds.logs.sources import Frame
        >>> log = pd.DataFrame({"arm": ["a"], "reward": [1.0], "note": ["x"]})
        >>> Frame(log).arrow(["arm", "reward"], numbers=["reward"]).column_names
        ['arm', 'reward']
        """
        arrow = import_optional("pyarrow", "logs", "tables in memory")
        table = self.table
        if hasattr(table, "createOrReplaceTempView"):
            raise LogError('this is a table of Spark; read it with engine="spark"')
        if hasattr(table, "collect_schema") and hasattr(table, "collect"):  # a lazy Polars frame
            missing_columns(columns, table.collect_schema().names())
            table = table.select(columns).collect()
        if is_pandas(table):
            names = [str(name) for name in table.columns]
            missing_columns(columns, names)
            refuse_repeated(columns, names, "the log", same_case=True)
            return arrow.table({name: _from_pandas(table[name], name, name in numbers) for name in columns})
        if not isinstance(table, arrow.Table):
            table = arrow.table(table)
        missing_columns(columns, table.column_names)
        refuse_repeated(columns, table.column_names, "the log", same_case=True)
        return table.select(list(columns))

    def categories(self, columns: Iterable[str]) -> dict[str, list[Any]]:
        """Return the values, in order, of those columns that are ordered categoricals of pandas or Enums of Polars.

        Examples
        --------
        >>> import pandas as pd
        >>> from meanbounds.logs.sources import Frame
        >>> dose = pd.Categorical(["high", "low"], categories=["low", "medium", "high"], ordered=True)
        >>> Frame(pd.DataFrame({"dose": dose, "age": [60, 70]})).categories(["dose", "age"])
        {'dose': ['low', 'medium', 'high']}
        """
        found = {name: ordered_categories(self.table, name) for name in columns}
        return {name: categories for name, categories in found.items() if categories is not None}


@dataclass(frozen=True)
class Table:
    """A table of a database; the parts of its name are schema and name.

    Examples
    --------
    >>> from meanbounds.logs.sources import find_source
    >>> find_source('clinic."log.2024"', database=True)
    Table(parts=('clinic', 'log.2024'))
    """

    parts: tuple[str, ...]


Source = Files | Frame | Table


def find_source(source: Any, database: bool, network: bool = False) -> Source:
    """Find out what kind of source a user gave; text that names no file is a table if there is a database.

    Examples
    --------
    >>> from meanbounds.logs.sources import find_source
    >>> find_source("visits", database=False)
    Traceback (most recent call last):
    FileNotFoundError: 'visits' is no file or folder; for a table of that name in a database, give its connection= ...
    >>> find_source("visits", database=True)
    Table(parts=('visits',))
    >>> find_source("https://clinic.example/log.csv", database=False)
    Traceback (most recent call last):
    meanbounds.logs.errors.LogError: 'https://clinic.example/log.csv' is an address on the network, which is read ...
    """
    if isinstance(source, str | os.PathLike):
        return _named_source(source, os.fsdecode(source), database, network)
    if is_pandas(source) or any(hasattr(source, name) for name in _TABLES):
        return Frame(source)
    raise LogError(
        "a log is the path of a Parquet or CSV file, a folder or a glob, a pandas, Polars or Arrow table, "
        f"or the name of a table with connection=; got {type(source).__name__}"
    )


def _named_source(source: str | os.PathLike[Any], text: str, database: bool, network: bool) -> Source:
    if not text.strip() or "\0" in text:
        raise LogError(f"{text!r} names no log: give the path of a file or folder, a pattern, or the name of a table")
    if text == "." and not isinstance(source, str):  # Path("") and Path(".") are the same
        raise LogError('an empty path names no log; for all logs in the current folder give Path.cwd() or "."')
    if not network:
        refuse_address(text)
    if isinstance(source, str) and not _looks_like_files(text):
        if database:
            return Table(_parts(text))
        raise FileNotFoundError(
            f"{text!r} is no file or folder; for a table of that name in a database, give its connection= as well"
        )
    if is_address(text):
        return Files(known_format(text), (text,), remote=True)
    found_format, paths, folder = find_files(text)
    return Files(found_format, paths, folder=folder)


def missing_columns(wanted: Iterable[str], present: Sequence[str]) -> None:
    """Raise a LogError for the first column that is missing, with the nearest name as a hint.

    Examples
    --------
    >>> from meanbounds.logs.sources import missing_columns
    >>> missing_columns(["arm", "rewrad"], ["arm", "reward"])
    Traceback (most recent call last):
    meanbounds.logs.errors.LogError: the log has no column 'rewrad'; did you mean 'reward'? Its columns are ...
    """
    for name in wanted:
        if name not in present:
            near = get_close_matches(name, present, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else "."
            shown = ", ".join(map(repr, present[:30])) + (", ..." if len(present) > 30 else "")
            raise LogError(f"the log has no column {name!r}{hint} Its columns are {shown}", kind="missing column")


def refuse_repeated(wanted: Iterable[str], present: Sequence[str], where: str, same_case: bool = False) -> None:
    """Raise a LogError for the first wanted column that is there more than once.

    Engines take names that differ in upper and lower case for the same, unless `same_case`.

    Examples
    --------
    >>> from meanbounds.logs.sources import refuse_repeated
    >>> refuse_repeated(["arm"], ["Arm", "arm", "reward"], "log.csv")
    Traceback (most recent call last):
    meanbounds.logs.errors.LogError: log.csv has the columns 'Arm', 'arm', which differ in case alone; rename one ...
    """
    for name in wanted:
        same = [other for other in present if other == name or (not same_case and other.lower() == name.lower())]
        if same.count(name) > 1:
            often = "twice" if same.count(name) == 2 else f"{same.count(name)} times"
            raise LogError(f"{where} has the column {name!r} {often}; rename or remove one of them")
        if len(same) > 1:
            shown = ", ".join(map(repr, same))
            raise LogError(f"{where} has the columns {shown}, which differ in case alone; rename one of them")


def _from_pandas(column: Any, name: str, is_number: bool) -> Any:
    """Arrow array of a pandas column; NaN of a column of floats stays NaN."""
    arrow, pandas = (import_optional(module, "frames", "data frames") for module in ("pyarrow", "pandas"))
    kind = column.dtype.kind if hasattr(column.dtype, "kind") else ""
    if kind == "f" and type(column.dtype).__module__.startswith("numpy"):
        return arrow.array(column.to_numpy())
    if column.dtype != object:
        return arrow.array(column, from_pandas=True)
    holds = str(pandas.api.types.infer_dtype(column, skipna=True))
    if not holds.startswith(("mixed", "unknown")):
        return arrow.array(column, from_pandas=True)
    if is_number:
        absent = (None, pandas.NA, pandas.NaT)
        return arrow.array([None if any(x is y for y in absent) else str(x) for x in column], type=arrow.string())
    types = ", ".join(sorted({type(x).__name__ for x in column}))
    raise LogError(f"column {name!r} mixes values of different types ({types}); make all of them text or all integers")


def _looks_like_files(text: str) -> bool:
    if text.startswith('"'):
        return False
    return "://" in text or file_format(text) is not None or glob.has_magic(text) or Path(text).expanduser().exists()


def _parts(name: str) -> tuple[str, ...]:
    """Schema and name of a table: separated by a dot, in double quotes if they hold a dot themselves."""
    parts: list[str] = []
    place = 0
    while found := _PART.match(name, place):
        parts.append(found[2] or found[1].replace('""', '"'))
        place = found.end()
        if not name.startswith(".", place):
            break
        place += 1
    if not parts or place != len(name):
        raise LogError(f'{name!r} is no name of a table; write table, schema.table or "any name".table')
    return tuple(parts)
