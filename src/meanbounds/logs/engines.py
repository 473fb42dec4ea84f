"""The engines that count a log: DuckDB inside this process, PostgreSQL, or Spark."""

from __future__ import annotations

import glob
import os
import re
import tempfile
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from meanbounds.logs.errors import LogError
from meanbounds.logs.files import Files, find_files, is_address
from meanbounds.logs.query import Column, Dialect
from meanbounds.support.checks import check_choice, shown, unknown
from meanbounds.support.optional import import_optional

__all__ = ["ENGINES", "Log", "open_log"]

ENGINES = ("duckdb", "postgres", "spark")
"""The names of the engines."""

_DUCKDB = Dialect("DuckDB", sum="FSUM")
_POSTGRES = Dialect("PostgreSQL", double="double precision", careful_cast="CAST", overflows=True)
_SPARK = Dialect("Spark", quote="`", text="STRING", matches="RLIKE", escapes=True)

_NO_EXTENSIONS = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}  # of DuckDB
_MEMORY = "1GB"  # of DuckDB; larger groupings go to disk
_KINDS = {  # of columns, by the beginning of their types in DuckDB and Spark
    **dict.fromkeys(("varchar", "string", "char", "enum"), "text"),
    **dict.fromkeys(("decimal", "float", "double"), "number"),
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint", "hugeint", "utinyint", "usmallint", "uint"), "whole"),
    **dict.fromkeys(("ubigint", "uhugeint"), "whole"),
    **{"bool": "boolean", "date": "time", "timestamp": "time", "json": "json"},
}
_POSTGRES_KINDS = {  # by the numbers that PostgreSQL gives its own types
    **{16: "boolean", 20: "whole", 21: "whole", 23: "whole", 700: "number", 701: "number", 1700: "number"},
    **{1082: "time", 1114: "time", 1184: "time"},
    **{19: "text", 25: "text", 1042: "text", 1043: "text"},
}
_TABLE_NAME = re.compile(r'(?:"(?:[^"]|"")+"|[^".]+)(?:\.(?:"(?:[^"]|"")+"|[^".]+))*')
_REMEDIES = {  # advice that goes with words of an engine
    r"not utf-8 encoded|[Ii]nvalid unicode|UTF-16": "save the file with the encoding UTF-8, as spreadsheets can",
    r"CSV Error|sniffing": "each line of a CSV file needs as many fields as the first, which names the columns",
    r"GZIP|gzip|ZLIB|zstd": "the file is cut off or damaged; copy it again from where it came",
    r"Referenced column|UNRESOLVED_COLUMN|column .* does not exist": "check the names of columns in where=",
    r'COALESCE (operator|types)|`coalesce`|to "BOOLEAN"': "where= must be a condition such as \"day >= '2024-06-01'\"",
    r"syntax error|Parser Error|SYNTAX_ERROR": "where= is a condition in SQL, such as \"age > 65 AND site = 'north'\"",
    r"Cannot compare values of type VARCHAR": "fields of CSV files are text: write CAST(age AS int) > 65 in where=",
    r"Data type .* not recognized": "turn that column into text",
    r"httpfs|azure|extension": "load the extension in the connection that you give: con.load_extension('httpfs')",
}


@dataclass(frozen=True)
class Log:
    """A log that is open in some engine."""

    dialect: Dialect
    table: str  # the SQL after FROM
    columns: dict[str, Column]
    run: Callable[[str], list[Any]]  # from a query to its rows
    numbered: Callable[[], tuple[str, str] | None] = lambda: None
    """A table with numbers of rows that are the same in each scan, and their SQL (whole in DuckDB, else text)."""

    def column(self, name: str) -> Column:
        """A column; if there is none of this name, a LogError that names the closest one."""
        try:
            return self.columns[name]
        except KeyError:
            raise LogError(unknown("column", name, [*self.columns])) from None


@contextmanager
def open_log(source: Any, engine: str | None, connection: Any, wanted: Sequence[str], whole: bool) -> Iterator[Log]:
    """Open a log, and close it at the end; source, engine and connection are as for `meanbounds.logs.read`.

    `wanted` are the columns that will be counted; others are needed too (`whole`) if a condition may name them.
    """
    name = _engine_of(source, connection)
    if engine is not None:
        check_choice("engine", engine, ENGINES)
        if name != engine and (connection is not None or name == "spark"):
            raise LogError(f"engine={engine!r}, but what was given belongs to {name}; leave engine= out")
        name = engine
    opened = {"duckdb": _duckdb, "postgres": _postgres, "spark": _spark}[name]
    with opened(source, connection, wanted, whole) as log:
        yield log


def _engine_of(source: Any, connection: Any) -> str:
    """The engine to which a source or a connection belongs."""
    given = source if connection is None else connection
    package = type(given).__module__.split(".")[0]
    if connection is not None and isinstance(connection, str):
        return "postgres" if re.match(r"postgres(ql)?://|\w+ *=", connection) else "duckdb"
    if connection is not None and not isinstance(connection, os.PathLike):
        if package in ("duckdb", "_duckdb", "psycopg", "pyspark"):
            return {"psycopg": "postgres", "pyspark": "spark"}.get(package, "duckdb")
        raise LogError(
            "connection must be a connection of duckdb or psycopg, the path of a DuckDB database, the URL of a "
            f"PostgreSQL database, or a Spark session; got {shown(connection)}"
        )
    return "spark" if package == "pyspark" else "duckdb"


# ---------------------------------------------------------------------------------------------------------- DuckDB


@contextmanager
def _duckdb(source: Any, connection: Any, wanted: Sequence[str], whole: bool) -> Iterator[Log]:
    duckdb = import_optional("duckdb", "logs", "logs")
    with ExitStack() as stack, _errors(_DUCKDB, duckdb.Error):
        files = find_files(os.fsdecode(source)) if isinstance(source, str | os.PathLike) and source else None
        if files is not None and connection is None and is_address(files.paths[0]):
            raise LogError(
                f"{files.paths[0]!r} is an address on the network: copy the file to this machine, or give connection=, "
                "a DuckDB connection that has loaded the extension httpfs"
            )
        own = connection is None
        connection = _duckdb_connection(stack, duckdb, connection)
        if files is not None:
            table = _duckdb_files(files, wanted)
        elif isinstance(source, str):
            if own:
                raise FileNotFoundError(
                    f"{source!r} is not a file or folder; if it is a table of a database, give connection= too"
                )
            parts, stored = _duckdb_table(connection, source)
            table = _DUCKDB.name(*parts)
        else:
            table = _DUCKDB.name(_register(stack, connection, source, wanted, whole))
        described = connection.execute(f"DESCRIBE SELECT * FROM {table}").fetchall()
        columns = {str(row[0]): Column(str(row[0]), _kind(row[1])) for row in described}

        def run(query: str) -> list[Any]:
            return connection.execute(query).fetchall()

        def numbered() -> tuple[str, str] | None:
            if files is not None and files.format == "parquet":
                more = " + 1000000007 * file_index" * (len(files.paths) > 1)
                return _duckdb_files(files, wanted, numbered=True), f"file_row_number{more}"
            if files is None and isinstance(source, str):
                return (table, "rowid") if stored and "rowid" not in map(str.lower, columns) else None
            if own:
                connection.execute("SET preserve_insertion_order = true")
            elif not run("SELECT current_setting('preserve_insertion_order')")[0][0]:
                return None
            number = _DUCKDB.name("number of the row")
            return f"(SELECT *, ROW_NUMBER() OVER () - 1 AS {number} FROM {table}) AS with_numbers", number

        yield Log(_DUCKDB, table, columns, run, numbered)


def _duckdb_connection(stack: ExitStack, duckdb: Any, connection: Any) -> Any:
    """The user's connection, or one that reaches no network and goes to disk where memory is short."""
    if connection is None:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="meanbounds-"))
        settings = {"memory_limit": _MEMORY, "temp_directory": folder, "preserve_insertion_order": "false"}
        settings |= {"pandas_analyze_sample": "0", "python_enable_replacements": "false"}
        connection = duckdb.connect(config={**settings, **_NO_EXTENSIONS})
        stack.callback(connection.close)
        connection.execute("SET TimeZone = 'UTC'")
    elif isinstance(connection, str | os.PathLike):
        path = Path(connection)
        if not path.is_file():
            raise FileNotFoundError(f"there is no DuckDB database {str(path)!r}")
        connection = duckdb.connect(str(path), read_only=True, config=_NO_EXTENSIONS)
        stack.callback(connection.close)
    return connection


def _duckdb_files(files: Files, wanted: Sequence[str], *, numbered: bool = False) -> str:
    paths = [path if is_address(path) else glob.escape(str(Path(path).absolute())) for path in files.paths]
    options = ["union_by_name = true"] * (len(paths) > 1)
    if files.format == "parquet":
        options.append("can_have_nan = true")  # the least and greatest values that a file states leave NaN out
        options += ["file_row_number = true"] * numbered
    elif files.format == "json":
        options.append("sample_size = -1")  # all rows: types must not depend on the first ones
    else:  # nothing is guessed: all fields are text
        options += ["header = true", "quote = '\"'", "escape = '\"'", "skip = 0", "comment = ''"]
        options += ["strict_mode = true", "null_padding = false", "ignore_errors = false"]
        header = files.header(wanted)
        if header is None:
            options.append("all_varchar = true")
        else:
            columns = ", ".join(f"{_DUCKDB.literal(name)}: 'VARCHAR'" for name in header[1])
            options = [*options[len(paths) > 1 :], "auto_detect = false", f"columns = {{{columns}}}"]
            options.append(f"delim = {_DUCKDB.literal(header[0])}")
    return f"read_{files.format}([{', '.join(map(_DUCKDB.literal, paths))}], {', '.join(options)})"


def _duckdb_table(connection: Any, name: str) -> tuple[list[str], bool]:
    """A table or view that exists, and whether it is a table: DuckDB would take other names for files or variables."""
    parts = _table_parts(name)
    sql = "SELECT table_catalog, table_schema, table_name, table_type FROM information_schema.tables"
    rows = [list(map(str, row)) for row in connection.execute(sql).fetchall()]
    lowered, ends = [part.lower() for part in parts], slice(3 - min(len(parts), 3), 3)
    kinds = {kind for *names, kind in rows if [part.lower() for part in names][ends] == lowered}
    if not kinds and len(parts) == 2:  # database.table
        kinds = {row[3] for row in rows if [row[0].lower(), row[2].lower()] == lowered}
    if not kinds:
        raise LogError(unknown("table", name, [".".join(row[ends]) for row in rows]))
    return parts, "VIEW" not in kinds


def _register(stack: ExitStack, connection: Any, source: Any, wanted: Sequence[str], whole: bool) -> str:
    """Make a table in memory known to DuckDB by a new name."""
    module = type(source).__module__.split(".")[0]
    if isinstance(source, Mapping):
        source, names = {**source}, [*source]
        for name in names:
            with suppress(ValueError):  # lists of different lengths in a list
                source[name] = np.asarray(source[name])
            if getattr(source[name], "ndim", 0) != 1 or len(source[name]) != len(source[names[0]]):
                raise LogError(f"the column {name!r} must have one value a row: columns are lists of the same length")
    elif module in ("pandas", "polars", "pyarrow"):
        if hasattr(source, "collect"):  # a lazy one of polars
            source = source.collect()
        if module == "polars":
            import_optional("pyarrow", "logs", "polars tables")
        names = [str(name) for name in (source.column_names if module == "pyarrow" else source.columns)]
    else:
        raise LogError(
            "a log is the path of Parquet, CSV or JSON lines files, a folder or a pattern of them, a table of pandas, "
            "polars or Arrow, a dictionary of columns, a Spark DataFrame, or the name of a table with connection=; got "
            f"{shown(source)}"
        )
    for name in wanted:
        if names.count(name) > 1:
            raise LogError(f"the log has the column {name!r} more than once; rename or remove the others")
        if name not in names:
            raise LogError(unknown("column", name, names))
    if module == "pandas" and not whole:
        source = source.loc[:, [name in wanted for name in names]]
    view = f"meanbounds_{uuid.uuid4().hex}"
    connection.register(view, source)
    stack.callback(connection.unregister, view)
    return view


def _kind(type_: Any) -> str:
    """The kind of a column, from the name of its type."""
    text = str(type_).lower()
    if text.endswith("]") or text.startswith(("interval", "struct", "array", "map")):
        return "other"
    return next((kind for start, kind in _KINDS.items() if text.startswith(start)), "other")


# ------------------------------------------------------------------------------------------------------ PostgreSQL


@contextmanager
def _postgres(source: Any, connection: Any, wanted: Sequence[str], whole: bool) -> Iterator[Log]:
    del wanted, whole
    if connection is None or not isinstance(source, str):
        raise LogError(
            'PostgreSQL counts a table: read("schema.table", connection="postgresql://..."); for files and tables in '
            "memory leave engine= and connection= out"
        )
    psycopg = import_optional("psycopg", "postgres", "logs in PostgreSQL")
    with ExitStack() as stack, _errors(_POSTGRES, psycopg.Error):
        if isinstance(connection, str):
            connection = stack.enter_context(psycopg.connect(connection, autocommit=True))
            connection.execute("SET default_transaction_read_only = on")
            connection.execute("SET TimeZone = 'UTC'")
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")  # all scans see the same rows
        elif connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE:
            stack.callback(connection.rollback)  # ends the transaction that the first query begins
        table = _POSTGRES.name(*_table_parts(source))
        described = connection.execute(f"SELECT * FROM {table} WHERE false").description
        columns = {part.name: Column(part.name, _POSTGRES_KINDS.get(part.type_code, "other")) for part in described}

        def run(query: str) -> list[Any]:
            return connection.execute(query).fetchall()

        def numbered() -> tuple[str, str] | None:
            kind = run(f"SELECT relkind::text FROM pg_class WHERE oid = {_POSTGRES.literal(table)}::regclass")
            return (table, "CAST(ctid AS TEXT)") if kind[0][0] in ("r", "m", "p") else None

        yield Log(_POSTGRES, table, columns, run, numbered)


def _table_parts(name: str) -> list[str]:
    """Schema and name of a table: separated by a dot, in double quotes if they hold a dot themselves."""
    if _TABLE_NAME.fullmatch(name) is None:
        raise LogError(f'{name!r} is not the name of a table; write table, schema.table or "any name".table')
    parts = re.findall(r'"((?:[^"]|"")+)"|([^".]+)', name)
    return [quoted.replace('""', '"') or plain for quoted, plain in parts]


# ----------------------------------------------------------------------------------------------------------- Spark


@contextmanager
def _spark(source: Any, connection: Any, wanted: Sequence[str], whole: bool) -> Iterator[Log]:
    del wanted, whole
    sql = import_optional("pyspark.sql", "spark", "logs in Spark")
    errors = import_optional("pyspark.errors", "spark", "logs in Spark").PySparkException
    with ExitStack() as stack, _errors(_SPARK, errors):
        session = connection or getattr(source, "sparkSession", None) or sql.SparkSession.getActiveSession()
        if session is None or not (isinstance(source, str) or hasattr(source, "createOrReplaceTempView")):
            raise LogError(
                'Spark counts a Spark DataFrame, or a table: read("schema.table", connection=session); read files with '
                "session.read, or leave engine= out"
            )
        frame = session.table(_SPARK.name(*_table_parts(source))) if isinstance(source, str) else source
        view = f"meanbounds_{uuid.uuid4().hex}"
        frame.createOrReplaceTempView(view)
        stack.callback(session.catalog.dropTempView, view)
        columns = {name: Column(name, _kind(type_)) for name, type_ in frame.dtypes}

        def run(query: str) -> list[Any]:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about versions of pandas and the like
                return [tuple(row) for row in session.sql(query).collect()]

        yield Log(_SPARK, _SPARK.name(view), columns, run)


@contextmanager
def _errors(dialect: Dialect, kind: type[BaseException]) -> Iterator[None]:
    """Errors of an engine as errors of the log."""
    try:
        yield
    except kind as error:
        lines = [line.strip() for line in re.split(r"\nLINE |\n== SQL|;\n'", str(error))[0].splitlines()]
        said = " ".join([line for line in lines if line and not line.startswith("at ")][:3]).rstrip(";")
        said += "".join(f" in {path}" for path in re.findall(r"^ *file = (.+)$", str(error), re.MULTILINE))
        advice = next((f"; {advice}" for words, advice in _REMEDIES.items() if re.search(words, str(error))), "")
        raise LogError(f"{dialect.engine} cannot read this log: {said}{advice}") from error
