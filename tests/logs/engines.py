"""The same rows in each engine that counts."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import duckdb
import pytest

TYPES = {  # in Spark and PostgreSQL; DuckDB has the latter
    "text": ("STRING", "text"),
    "float": ("DOUBLE", "double precision"),
    "whole": ("BIGINT", "bigint"),
    "boolean": ("BOOLEAN", "boolean"),
    "decimal": ("DECIMAL(10,2)", "numeric(10,2)"),
    "date": ("DATE", "date"),
    "time": ("TIMESTAMP_NTZ", "timestamp"),
}


@contextmanager
def in_engine(
    engine: str, request: pytest.FixtureRequest, columns: Mapping[str, str], rows: Sequence[tuple[Any, ...]]
) -> Iterator[tuple[Any, Any]]:
    """A source of a log with columns of these types, the table a_log or a frame of Spark, and the connection to it."""
    where: Any = ":memory:" if engine == "duckdb" else request.getfixturevalue(engine)
    typed = ", ".join(f"{name} {TYPES[kind][engine != 'spark']}" for name, kind in columns.items())
    if engine == "spark":
        yield where.createDataFrame(rows, typed), None
        return
    module: Any = duckdb if engine == "duckdb" else pytest.importorskip("psycopg")
    with module.connect(where) as connection:
        connection.execute("DROP TABLE IF EXISTS a_log CASCADE")
        connection.execute(f"CREATE TABLE a_log ({typed})")
        marks = ", ".join(["?" if engine == "duckdb" else "%s"] * len(columns))
        connection.cursor().executemany(f"INSERT INTO a_log VALUES ({marks})", rows)
        connection.commit()
        yield "a_log", connection
