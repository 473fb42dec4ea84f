"""The engines that count a log: DuckDB inside this process, a Spark session, or a PostgreSQL server."""

from __future__ import annotations

import glob
import os
import re
import sys
import tempfile
import threading
import uuid
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from meanbounds.logs.errors import LogError
from meanbounds.logs.paths import check_regular, local_path
from meanbounds.logs.query import Column, Dialect
from meanbounds.logs.sources import Files, Frame, Source, Table, missing_columns, refuse_repeated
from meanbounds.support.optional import import_optional
from meanbounds.support.progress import Progress

__all__ = ["ENGINES", "Log", "open_log"]

Result = TypeVar("Result")
Columns = tuple[Sequence[Any], ...]

ENGINES = ("duckdb", "spark", "postgres")
"""The names of the engines, the default first."""

_MEMORY = "600MB"  # of DuckDB; with Python and the rest this stays below 1 GB, and larger groupings go to disk
_AT_ONCE = 10_000  # rows of a result that are Python objects at the same time; the engine groups the rows of the log


@dataclass(frozen=True)
class Log:
    """A log that is open in some engine.

    Attributes
    ----------
    dialect
        How the engine spells SQL.
    table
        The SQL after FROM.
    columns
        The columns that are needed, by name.
    batches
        Runs a query and returns its columns, some rows at a time. There are no batches if there are no rows.
    arrow
        Runs a query and returns an Arrow table; None where the engine has no fast way to do that.
    """

    dialect: Dialect
    table: str
    columns: dict[str, Column]
    batches: Callable[[str], Iterator[Columns]]
    arrow: Callable[[str], Any] | None = None

    def ask(self, sql: str) -> Iterator[tuple[Any, ...]]:
        """Run a query and return its rows one by one, for short answers."""
        for batch in self.batches(sql):
            yield from zip(*batch, strict=True)


@contextmanager
def open_log(
    engine: str,
    source: Source,
    connection: Any,
    wanted: Sequence[str],
    numbers: Sequence[str],
    progress: bool | None,
    network: bool = False,
    ordered: bool = False,
) -> Iterator[Log]:
    """Open a log in one of the `ENGINES`, and close it at the end; DuckDB keeps the rows of files `ordered` if asked.

    Examples
    --------
    >>> import pandas as pd
    >>> from meanbounds.logs.engines import open_log
    >>> from meanbounds.logs.sources import Frame
    >>> source = Frame(pd.DataFrame({"arm": ["a", "b", "a"], "reward": [1.0, 0.0, 0.5]}))
    >>> with open_log("duckdb", source, None, ["arm", "reward"], ["reward"], False) as log:
    ...     print(list(log.ask(f"SELECT arm, COUNT(*) FROM {log.table} GROUP BY arm ORDER BY arm")))
    [('a', 2), ('b', 1)]
    """
    show = sys.stderr.isatty() if progress is None else progress
    if engine == "duckdb":
        opened = _duckdb(source, connection, wanted, numbers, show, network, ordered)
    elif engine == "spark":
        opened = _spark(source, connection, wanted, numbers, show)
    else:
        opened = _postgres(source, connection, wanted, show)
    with opened as log:
        yield log


# ---------------------------------------------------------------------------------------------------------- DuckDB

_DUCKDB = Dialect('"', "DOUBLE", "VARCHAR", "~", "TRY_CAST", "FSUM", trims_spaces=True)
# Groups by small integers go to an array instead of a hash table: up to 2^16 of them instead of 2^12.
_DUCKDB_SETTINGS = {"preserve_insertion_order": "false", "perfect_ht_threshold": 16}
_DUCKDB_TYPES = {
    "text": r"VARCHAR|ENUM\b.*",
    "integer": r"U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|BIGNUM|VARINT|\"?NULL\"?",
    "decimal": r"DECIMAL\b.*",
    "float": r"FLOAT|DOUBLE",
    "boolean": r"BOOLEAN",
}


@contextmanager
def _duckdb(
    source: Source,
    connection: Any,
    wanted: Sequence[str],
    numbers: Sequence[str],
    show: bool,
    network: bool,
    ordered: bool,
) -> Iterator[Log]:
    duckdb = import_optional("duckdb", "logs", "logs")
    with ExitStack() as stack, _errors("DuckDB", duckdb.Error):
        own = connection is None
        connection = _duckdb_connection(stack, duckdb, connection, network, ordered)
        if own and show:
            connection.execute("SET enable_progress_bar = true")
            connection.execute("SET enable_progress_bar_print = false")
        if own and isinstance(source, Files) and source.remote:
            _load_extension(duckdb, connection, source.paths[0])
        table = _duckdb_table(stack, connection, source, wanted, numbers)
        described = connection.execute(f"DESCRIBE SELECT * FROM {table}").fetchall()
        types = {str(row[0]): str(row[1]) for row in described}
        if isinstance(source, Files) and _looks_renamed(wanted, list(types)):
            source.check_parquet(wanted)

        def done() -> float:
            return float(connection.query_progress()) / 100.0

        def batches(sql: str) -> Iterator[Columns]:
            cursor = _watched(lambda: connection.execute(sql), show, done, connection.interrupt)
            return _fetched(cursor)

        def arrow(sql: str) -> Any:
            return _watched(lambda: connection.sql(sql).to_arrow_table(), show, done, connection.interrupt)

        yield Log(_DUCKDB, table, _columns(wanted, types, _DUCKDB_TYPES), batches, arrow)


def _duckdb_connection(stack: ExitStack, duckdb: Any, connection: Any, network: bool, ordered: bool) -> Any:
    """A connection that installs no extension; one that was open before has its own settings again at the end."""
    if connection is None:
        scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="meanbounds-"))
        settings = {"memory_limit": _MEMORY, "temp_directory": scratch, **_DUCKDB_SETTINGS}
        settings |= {"preserve_insertion_order": "true"} if ordered else {}
        settings |= {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
        connection = duckdb.connect(config=settings)
        stack.callback(connection.close)
        return connection
    if isinstance(connection, str | os.PathLike):
        connection = duckdb.connect(_duckdb_path(os.fsdecode(connection), network), read_only=True)
        stack.callback(connection.close)
    _set_meanwhile(stack, connection, "autoinstall_known_extensions", "false")
    return connection


def _load_extension(duckdb: Any, connection: Any, address: str) -> None:
    """Load the extension that reads an address, from this machine: LOAD never downloads one."""
    name = "azure" if re.match("az|abfs", address, re.IGNORECASE) else "httpfs"
    try:
        connection.execute(f"LOAD {name}")
    except duckdb.Error as error:
        raise LogError(
            f"DuckDB reads {address} with its extension {name}, which is not installed; {_NO_EXTENSIONS}"
        ) from error


def _duckdb_path(path: str, network: bool) -> str:
    """The path of a database, if it is one: DuckDB takes ``md:``, ``s3:`` and the like for names of extensions."""
    path = local_path(path)
    if not path.strip():
        raise LogError("connection= is empty: give the path of a DuckDB database, or an open connection")
    if re.match(r"[A-Za-z0-9_]{2,}:", path) and not network:
        raise LogError(
            f"the database {path!r} is not a local file, and is opened only if you ask for it: give network=True, "
            "or a connection that you opened yourself"
        )
    if Path(path).exists():
        check_regular(Path(path))
    return path


def _set_meanwhile(stack: ExitStack, connection: Any, setting: str, value: str) -> None:
    """Change a setting of a user's connection until the log is closed."""
    before = str(connection.execute(f"SELECT current_setting('{setting}')").fetchone()[0])
    if before.lower() != value:
        connection.execute(f"SET {setting} = {_literal(value)}")
        stack.callback(connection.execute, f"SET {setting} = {_literal(before)}")


def _duckdb_table(
    stack: ExitStack, connection: Any, source: Source, wanted: Sequence[str], numbers: Sequence[str]
) -> str:
    if isinstance(source, Table):
        *full_name, is_view = _duckdb_catalog_name(connection, source.parts)
        if is_view:  # it may read Parquet: see can_have_nan below
            _set_meanwhile(stack, connection, "disabled_optimizers", "statistics_propagation")
        return _DUCKDB.name(*full_name)
    if isinstance(source, Frame):
        name = f"meanbounds_{uuid.uuid4().hex}"
        connection.register(name, source.arrow(wanted, numbers))
        stack.callback(connection.unregister, name)
        return _DUCKDB.name(name)
    paths = source.paths if source.remote else [glob.escape(_never_address(path)) for path in source.paths]
    options = ["union_by_name = true"] * (len(paths) > 1 or source.remote)
    if source.format == "parquet":
        # DuckDB trusts the smallest and largest values that a file states, and these leave NaN out.
        options.append("can_have_nan = true")
    else:
        options += _csv_options(source, wanted)
    files = f"[{', '.join(map(_literal, paths))}]"
    return f"read_{source.format}({', '.join((files, *options))})"


def _never_address(path: str) -> str:
    """The path of a local file, with a dot in front where a relative one could be taken for an address."""
    return path if Path(path).is_absolute() else f"./{path}"


def _csv_options(source: Files, wanted: Sequence[str]) -> list[str]:
    """Nothing is guessed: types would depend on the first rows, and odd lines would be read as notes or comments."""
    for path in source.paths:
        if path.endswith(".bz2"):
            raise LogError(f'DuckDB does not read {path}: uncompress it, compress it with gzip, or use engine="spark"')
    separator = source.separator(wanted)
    options = ["all_varchar = true", "header = true", "quote = '\"'", "escape = '\"'", "skip = 0", "comment = ''"]
    options += ["strict_mode = true", "null_padding = false", "ignore_errors = false"]
    return options if separator is None else [*options, f"delim = {_literal(separator)}"]


def _duckdb_catalog_name(connection: Any, parts: Sequence[str]) -> tuple[Any, ...]:
    """Database, schema and name of a table or view, and whether it is a view.

    It has to be in the catalogue: DuckDB would take any other name for a file, an address, or a variable of Python.
    """
    everything = """
        SELECT database_name, schema_name, table_name AS name, false AS is_view FROM duckdb_tables()
        UNION ALL SELECT database_name, schema_name, view_name, true FROM duckdb_views()"""
    rows = connection.execute(f"SELECT * FROM ({everything}) WHERE lower(name) = lower(?)", [parts[-1]]).fetchall()
    database, path = connection.execute("SELECT current_database(), current_schemas(true)").fetchone()
    near = {("temp", "main"), *((database, schema) for schema in path)}

    def fits(row: tuple[Any, ...]) -> bool:
        own = [str(part).lower() for part in row[:2]]
        if len(parts) == 1:
            return tuple(row[:2]) in near
        if len(parts) == 2:
            return parts[0].lower() in own[1:] + own[:1] * (own[1] in ("main", "public"))
        return [part.lower() for part in parts[:-1]] == own

    def place(row: tuple[Any, ...]) -> tuple[bool, bool, int]:
        return row[0] != "temp", row[0] != database, path.index(row[1]) if row[1] in path else len(path)

    found = sorted(filter(fits, rows), key=place)
    if not found:
        raise LogError(
            f"DuckDB cannot read this log: the database has no table or view {_DUCKDB.name(*parts)}; "
            "paths and addresses of files are given without double quotes"
        )
    return tuple(found[0])


def _looks_renamed(wanted: Sequence[str], present: Sequence[str]) -> bool:
    """Whether one of the columns may be there twice: DuckDB renames a second column arm to arm_1."""
    endings = "|".join(map(re.escape, wanted))
    renamed = re.compile(rf"({endings})(_\d+)+", re.IGNORECASE)
    return any(map(renamed.fullmatch, present))


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


# ----------------------------------------------------------------------------------------------------------- Spark

_SPARK = Dialect("`", "DOUBLE", "STRING", "RLIKE", "TRY_CAST", None, times=("TIMESTAMP_NTZ", "TIMESTAMP"))
_SPARK_TYPES = {
    "text": r"string.*|varchar\b.*|char\b.*",
    "integer": r"tinyint|smallint|int|bigint|void",
    "decimal": r"decimal\b.*",
    "float": r"float|double",
    "boolean": r"boolean",
}
_SPARK_SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "8",
}


@contextmanager
def _spark(source: Source, connection: Any, wanted: Sequence[str], numbers: Sequence[str], show: bool) -> Iterator[Log]:
    with ExitStack() as stack:
        with warnings.catch_warnings():
            # Spark warns about versions of pandas, which has no part in this.
            warnings.simplefilter("ignore", FutureWarning)
            module = import_optional("pyspark.sql", "spark", "logs in Spark")
            errors = (
                import_optional("pyspark.errors", "spark", "logs in Spark").PySparkException,
                import_optional("py4j.protocol", "spark", "logs in Spark").Py4JError,
            )
            stack.enter_context(_errors("Spark", *errors))
            session = connection or module.SparkSession.getActiveSession()
            if session is None:
                builder = module.SparkSession.builder.master("local[2]").appName("meanbounds")
                folder = stack.enter_context(TemporaryDirectory(prefix="meanbounds-"))
                for name, value in {**_SPARK_SETTINGS, "spark.sql.warehouse.dir": folder}.items():
                    builder = builder.config(name, value)
                session = builder.getOrCreate()
                stack.callback(session.stop)
            frame = _spark_frame(session, source, wanted, numbers)
        types = dict(frame.dtypes)
        missing_columns(wanted, list(types))
        view = f"meanbounds_{uuid.uuid4().hex}"
        frame.createOrReplaceTempView(view)
        stack.callback(session.catalog.dropTempView, view)

        def batches(sql: str) -> Iterator[Columns]:
            table = _watched(lambda: session.sql(sql).toArrow(), show)  # several times as fast as rows of Python
            for batch in table.to_batches(max_chunksize=_AT_ONCE):
                if batch.num_rows:
                    yield tuple(map(_python_values, batch.columns))

        def arrow(sql: str) -> Any:
            return _watched(lambda: session.sql(sql).toArrow(), show)

        yield Log(_SPARK, _SPARK.name(view), _columns(wanted, types, _SPARK_TYPES), batches, arrow)


def _spark_frame(session: Any, source: Source, wanted: Sequence[str], numbers: Sequence[str]) -> Any:
    if isinstance(source, Table):
        name = _SPARK.name(*source.parts)
        if not session.catalog.tableExists(name):  # Spark would take csv.`a path` for a file
            raise LogError(
                f"Spark cannot read this log: there is no table or view {name}; "
                "for files that Spark should read in its own way, give the data frame of session.read"
            )
        return session.table(name)
    if isinstance(source, Frame):
        if type(source.table).__module__.startswith("pyspark"):
            refuse_repeated(wanted, source.table.columns, "the log", same_case=True)
            return source.table
        return session.createDataFrame(_simple_arrow(source.arrow(wanted, numbers)))
    paths = list(source.paths) if source.remote else [_hadoop(path) for path in source.paths]
    reader = session.read
    if source.folder is not None:
        reader = reader.option("basePath", _hadoop(source.folder))
    if source.format == "parquet":
        try:
            return reader.option("mergeSchema", len(paths) > 1).parquet(*paths)
        except Exception as error:
            if "COLUMN_ALREADY_EXISTS" in str(error):
                source.check_parquet(wanted)
            raise
    # Strict: a line with too few or too many fields, or files with different columns, are errors, not guesses.
    strict = {"mode": "FAILFAST", "enforceSchema": False, "columnPruning": False}
    options = {"header": True, "quote": '"', "escape": '"', "sep": source.separator(wanted) or ",", **strict}
    return reader.options(**options).csv(paths)


def _hadoop(path: str) -> str:
    """A local path that is neither looked for in a distributed file system nor read as a pattern."""
    return "file://" + re.sub(r"([\\*?\[\]{}])", r"\\\1", str(Path(path).absolute()))


def _python_values(column: Any) -> list[Any]:
    """The values of an Arrow array; numbers by way of numpy, which is ten times as fast."""
    plain = not column.null_count and str(column.type) in ("int8", "int16", "int32", "int64", "float", "double")
    values: list[Any] = column.to_numpy().tolist() if plain else column.to_pylist()
    return values


def _simple_arrow(table: Any) -> Any:
    """Without dictionaries and views, which Spark does not take."""
    arrow = import_optional("pyarrow", "logs", "tables in memory")
    types = arrow.types
    for place, field in enumerate(table.schema):
        plain = field.type.value_type if types.is_dictionary(field.type) else field.type
        if types.is_string_view(plain) or types.is_large_string(plain):
            plain = arrow.string()
        if plain != field.type:
            table = table.set_column(place, field.name, table.column(place).cast(plain))
    return table


# ------------------------------------------------------------------------------------------------------ PostgreSQL

_POSTGRES = Dialect('"', "double precision", "text", "~", "CAST", None, by_bytes=' COLLATE "C"')
_POSTGRES_TYPES = {
    "text": r"text|character varying|character|name",
    "integer": r"smallint|integer|bigint",
    "decimal": r"numeric",
    "float": r"real|double precision",
    "boolean": r"boolean",
}


@contextmanager
def _postgres(source: Source, connection: Any, wanted: Sequence[str], show: bool) -> Iterator[Log]:
    if not isinstance(source, Table):
        raise LogError('engine="postgres" reads tables of the database; for files and tables in memory leave it out')
    with ExitStack() as stack:
        if isinstance(connection, str):
            psycopg = import_optional("psycopg", "postgres", "logs in PostgreSQL")
            stack.enter_context(_errors("PostgreSQL", psycopg.Error))
            connection = stack.enter_context(psycopg.connect(connection, autocommit=True))
        else:
            stack.enter_context(_errors("PostgreSQL", Exception))
            stack.callback(_end_transaction(connection))
        cursor = connection.cursor()
        stack.callback(cursor.close)
        table = _POSTGRES.name(*source.parts)
        cursor.execute(f"SELECT * FROM {table} WHERE false")
        missing_columns(wanted, [str(column[0]) for column in cursor.description])
        # One row of NULLs has the types even if the table is empty.
        parts = ", ".join(f"CAST(pg_typeof(log.{_POSTGRES.name(name)}) AS text)" for name in wanted)
        cursor.execute(f"SELECT {parts} FROM (SELECT 1) AS one LEFT JOIN {table} AS log ON false")
        types = dict(zip(wanted, cursor.fetchone(), strict=True))

        def batches(sql: str) -> Iterator[Columns]:
            _watched(lambda: cursor.execute(sql), show, cancel=getattr(connection, "cancel", None))
            return _fetched(cursor)

        yield Log(_POSTGRES, table, _columns(wanted, types, _POSTGRES_TYPES), batches)


def _end_transaction(connection: Any) -> Callable[[], None]:
    """A callback that leaves a connection as it was found: out of a transaction if it was in none."""

    def inside() -> bool | None:
        status = getattr(getattr(connection, "info", None), "transaction_status", None)
        return None if status is None else int(status) != 0

    before = inside()

    def end() -> None:
        if before is False and inside():
            connection.rollback()

    return end


# ------------------------------------------------------------------------------------------------------- all of them


def _fetched(cursor: Any) -> Iterator[Columns]:
    """The columns of a result, some rows at a time."""
    while rows := cursor.fetchmany(_AT_ONCE):
        yield tuple(zip(*rows, strict=True))


def _columns(wanted: Sequence[str], types: dict[str, str], known: dict[str, str]) -> dict[str, Column]:
    missing_columns(wanted, list(types))

    def holds(kind: str) -> str:
        return next((word for word, pattern in known.items() if re.fullmatch(pattern, kind)), "other")

    return {name: Column(name, holds(types[name]), types[name]) for name in wanted}


@contextmanager
def _errors(engine: str, *kinds: type[BaseException]) -> Iterator[None]:
    """Errors of an engine as errors of the log; ours and those of Python itself stay what they are."""
    try:
        yield
    except (LogError, OSError, ModuleNotFoundError):
        raise
    except kinds as error:
        raise LogError(f"{engine} cannot read this log: {_said(str(error))}{_remedy(str(error))}") from error


def _said(message: str) -> str:
    """The first lines of an engine's message, without the stack of Java and the query, which the user never saw."""
    lines = [line.strip() for line in message.split("\nLINE ")[0].strip().splitlines()]
    lines = [line for line in lines if line and not line.startswith(("at ", "An error occurred while calling"))]
    return " ".join(lines[:3]).removeprefix(": ")


_NO_EXTENSIONS = (
    "meanbounds installs no extensions: run duckdb.sql('INSTALL httpfs'), or azure instead of httpfs, once, "
    "or give a connection= that has loaded it"
)
_REMEDIES = {
    r"not utf-8 encoded": "save the file anew with the encoding UTF-8; spreadsheets have it under 'save as'",
    r"sniffing|CSV Error|MALFORMED": "each line of a CSV file needs as many fields as the first, which names them",
    r"end of GZIP|not a GZIP|end of input stream|EOFException|not a gzip|ZLIB|ZipException|header check": (
        "the file is cut off or damaged; copy it again from where it came"
    ),
    r"extension .* to be loaded|required extension": _NO_EXTENSIONS,
}
"""The advice that goes with words of DuckDB and Spark."""


def _remedy(message: str) -> str:
    return next((f"; {advice}" for words, advice in _REMEDIES.items() if re.search(words, message)), "")


def _watched(
    work: Callable[[], Result],
    show: bool,
    done: Callable[[], float] | None = None,
    cancel: Callable[[], object] | None = None,
) -> Result:
    """Do some work; with a progress bar it runs in a thread, since the engine gives no control while it runs."""
    if not show:
        return work()
    future: Future[Result] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    with Progress(0 if done is None else 1000, "counting", True) as bar:
        try:
            reached = 0
            while thread.is_alive():
                thread.join(0.1)
                share = done() if done is not None else -1.0
                step = max(0, int(1000 * min(share, 1.0)) - reached)
                reached += step
                bar.advance(step)
        except KeyboardInterrupt:
            if cancel is not None:
                cancel()
            thread.join()
            raise
    return future.result()
