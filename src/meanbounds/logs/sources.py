"""The storage of a log: files, a table in memory, or a table of a database."""

from __future__ import annotations

import csv
import glob
import gzip
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any

from meanbounds.logs.errors import LogError

__all__ = ["Files", "Frame", "Source", "Table", "find_source", "missing_columns", "needed"]

_FORMATS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".tsv": "csv", ".txt": "csv"}
_COMPRESSED = (".gz", ".zst", ".bz2")
_SEPARATORS = (",", ";", "\t", "|")
_TABLES = ("__arrow_c_stream__", "collect_schema", "createOrReplaceTempView")  # Arrow and others, Polars, Spark
_PART = re.compile(r'"((?:[^"]|"")+)"|([^".]+)')


@dataclass(frozen=True)
class Files:
    """Parquet or CSV files. Their names are taken literally unless they are addresses of a remote store.

    Examples
    --------
    >>> from meanbounds.logs.sources import find_source
    >>> find_source("s3://clinic/log.parquet", database=False)
    Files(format='parquet', paths=('s3://clinic/log.parquet',), remote=True, folder=None)
    """

    format: str
    paths: tuple[str, ...]
    remote: bool = False
    folder: str | None = None

    def separator(self, columns: Iterable[str]) -> str | None:
        """Guess the separator of the first CSV file: the one by which its first line has most of the columns.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from meanbounds.logs.sources import Files
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "log.csv"
        >>> _ = path.write_text("age;dose, mg;reward")
        >>> Files("csv", (str(path),)).separator(["age", "reward"])
        ';'
        """
        first = Path(self.paths[0])
        if self.remote or first.suffix in (".zst", ".bz2"):
            return None
        with gzip.open(first, "rb") if first.suffix == ".gz" else first.open("rb") as file:
            line = file.readline(1_000_000).decode("utf-8-sig", errors="replace")
        wanted = set(columns)

        def found(separator: str) -> tuple[int, int]:
            fields = next(csv.reader([line], delimiter=separator), [])
            return len(wanted.intersection(fields)), len(fields)

        return max(_SEPARATORS, key=found)


@dataclass(frozen=True, eq=False)
class Frame:
    """A pandas, Polars or Arrow table."""

    table: Any

    def arrow(self, columns: Sequence[str], reward: str) -> Any:
        """Return an Arrow table of these columns; a LogError names those that are missing.

        Examples
        --------
        >>> import pandas as pd
        >>> from meanbounds.logs.sources import Frame
        >>> log = pd.DataFrame({"arm": ["a"], "reward": [1.0], "note": ["x"]})
        >>> Frame(log).arrow(["arm", "reward"], reward="reward").column_names
        ['arm', 'reward']
        """
        arrow = needed("pyarrow", "logs", "tables in memory")
        table = self.table
        if hasattr(table, "createOrReplaceTempView"):
            raise LogError('this is a table of Spark; read it with engine="spark"')
        if hasattr(table, "collect_schema") and hasattr(table, "collect"):  # a lazy Polars frame
            missing_columns(columns, table.collect_schema().names())
            table = table.select(columns).collect()
        if _is_pandas(table):
            missing_columns(columns, [str(name) for name in table.columns])
            return arrow.table({name: _from_pandas(table[name], name, name == reward) for name in columns})
        if not isinstance(table, arrow.Table):
            table = arrow.table(table)
        missing_columns(columns, table.column_names)
        return table.select(list(columns))

    def categories(self, columns: Iterable[str]) -> dict[str, list[Any]]:
        """Return the values, in order, of those columns that are ordered categoricals of pandas.

        Examples
        --------
        >>> import pandas as pd
        >>> from meanbounds.logs.sources import Frame
        >>> dose = pd.Categorical(["high", "low"], categories=["low", "medium", "high"], ordered=True)
        >>> Frame(pd.DataFrame({"dose": dose, "age": [60, 70]})).categories(["dose", "age"])
        {'dose': ['low', 'medium', 'high']}
        """
        if not _is_pandas(self.table):
            return {}
        types = {name: getattr(self.table[name], "dtype", None) for name in columns}
        ordered = {name: kind for name, kind in types.items() if kind is not None and getattr(kind, "ordered", False)}
        return {name: list(kind.categories) for name, kind in ordered.items()}


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


def find_source(source: Any, database: bool) -> Source:
    """Find out what kind of source a user gave; text that names no file is a table if there is a database.

    Examples
    --------
    >>> from meanbounds.logs.sources import find_source
    >>> find_source("visits", database=False)
    Traceback (most recent call last):
    FileNotFoundError: 'visits' is no file or folder; for a table of that name in a database, give its connection= ...
    >>> find_source("visits", database=True)
    Table(parts=('visits',))
    """
    if isinstance(source, str | os.PathLike):
        text = os.fspath(source)
        if isinstance(source, str) and not _looks_like_files(text):
            if database:
                return Table(_parts(text))
            raise FileNotFoundError(
                f"{text!r} is no file or folder; for a table of that name in a database, give its connection= as well"
            )
        return _files(text)
    if _is_pandas(source) or any(hasattr(source, name) for name in _TABLES):
        return Frame(source)
    raise LogError(
        "a log is the path of a Parquet or CSV file, a folder or a glob, a pandas, Polars or Arrow table, "
        f"or the name of a table with connection=; got {type(source).__name__}"
    )


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
            raise LogError(f"the log has no column {name!r}{hint} Its columns are {shown}")


def needed(module: str, extra: str, what: str) -> Any:
    """Import a module that comes with an extra; if it is missing, the error says what to install.

    Examples
    --------
    >>> from meanbounds.logs.sources import needed
    >>> needed("no_such_engine", "logs", "logs")
    Traceback (most recent call last):
    ModuleNotFoundError: logs need no_such_engine: pip install "meanbounds[logs]"
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and module.split(".")[0] != error.name.split(".")[0]:
            raise
        raise ModuleNotFoundError(
            f'{what} need {module.split(".")[0]}: pip install "meanbounds[{extra}]"', name=error.name
        ) from error


def _is_pandas(table: Any) -> bool:
    return type(table).__module__.split(".")[0] == "pandas" and hasattr(table, "columns")


def _from_pandas(column: Any, name: str, is_reward: bool) -> Any:
    """Arrow array of a pandas column; NaN of a column of floats stays NaN."""
    arrow, pandas = import_module("pyarrow"), import_module("pandas")
    if column.ndim != 1:
        raise LogError(f"the log has {column.shape[1]} columns {name!r}; keep one")
    kind = column.dtype.kind if hasattr(column.dtype, "kind") else ""
    if kind == "f" and type(column.dtype).__module__.startswith("numpy"):
        return arrow.array(column.to_numpy())
    if column.dtype != object:
        return arrow.array(column, from_pandas=True)
    holds = str(pandas.api.types.infer_dtype(column, skipna=True))
    if not holds.startswith(("mixed", "unknown")):
        return arrow.array(column, from_pandas=True)
    if is_reward:
        absent = (None, pandas.NA, pandas.NaT)
        return arrow.array([None if any(x is y for y in absent) else str(x) for x in column], type=arrow.string())
    types = ", ".join(sorted({type(x).__name__ for x in column}))
    raise LogError(f"column {name!r} mixes values of different types ({types}); make all of them text or all integers")


def _looks_like_files(text: str) -> bool:
    if text.startswith('"'):
        return False
    return "://" in text or _format(text) is not None or glob.has_magic(text) or Path(text).expanduser().exists()


def _format(path: str) -> str | None:
    """Parquet or CSV, by the end of a name."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes and suffixes[-1] in _COMPRESSED:
        suffixes.pop()
    return _FORMATS.get(suffixes[-1]) if suffixes else None


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


def _files(text: str) -> Files:
    if "://" in text:
        return Files(_known_format(text), (text,), remote=True)
    path = Path(text).expanduser()
    if path.is_dir():
        found = _inside(path)
        if not found:
            raise LogError(f"the folder {text} holds neither Parquet nor CSV files")
        formats = {_known_format(str(file)) for file in found}
        if len(formats) > 1:
            pattern = path / "**" / "*.parquet"
            raise LogError(f"the folder {text} holds both Parquet and CSV files; give a glob such as {str(pattern)!r}")
        return Files(formats.pop(), tuple(map(str, found)), folder=str(path))
    if path.is_file():
        return Files(_known_format(str(path)), (str(path),))
    found = sorted(Path(path.anchor).glob(str(path.relative_to(path.anchor))))
    found = [file for one in found for file in (_inside(one) if one.is_dir() else [one])]
    if not found:
        raise FileNotFoundError(f"no file, folder or match of a glob: {text}")
    formats = {_known_format(str(file)) for file in found}
    if len(formats) > 1:
        raise LogError(f"{text} matches both Parquet and CSV files; give a glob that matches one kind")
    return Files(formats.pop(), tuple(map(str, dict.fromkeys(found))))


def _inside(folder: Path) -> list[Path]:
    """The files of a folder and the folders in it, without those that engines hide (names with . or _ in front)."""

    def visible(file: Path) -> bool:
        return not any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)

    return sorted(f for f in folder.rglob("*") if _format(f.name) and visible(f) and f.is_file())


def _known_format(path: str) -> str:
    known = _format(path)
    if known is None and Path(path).is_file():
        with Path(path).open("rb") as file:
            known = "parquet" if file.read(4) == b"PAR1" else None
    if known is None:
        raise LogError(f"{path} is neither Parquet nor CSV by its name; such names end in {', '.join(_FORMATS)}")
    return known
