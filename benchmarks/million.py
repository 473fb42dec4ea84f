"""Counts and bounds of a million contexts by way of each engine: `python -m benchmarks.million`.

The rows are made inside the engine by a query, and grouped there: what comes back has one row for each context, arm and
reward. Each engine has a process of its own, with a private server where it needs one: PostgreSQL on a socket in a
temporary folder, Spark on 127.0.0.1. Memory is that of the Python process, without the server's.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any

from benchmarks.fresh import peak_megabytes, python

CONTEXTS, ARMS, ROWS = 1_000_000, 3, 3_000_000

COLUMNS = (
    f"i % {CONTEXTS} AS context",
    f"(i * 31 + i / {CONTEXTS}) % {ARMS} AS arm",
    "CAST((i * 48271 % 65537) % 2 AS DOUBLE) AS reward",
)
"""SQL of DuckDB; others divide whole numbers, and name doubles, in another way. i counts the rows."""


@dataclass(frozen=True)
class Stages:
    """Seconds of each stage and of the processor for all of them, peak memory of this process, and what came out."""

    read: float
    bounds: float
    processor: float
    megabytes: float
    counts: str


@contextmanager
def duckdb_log() -> Iterator[dict[str, Any]]:
    """A table of a DuckDB in memory, as arguments of `meanbounds.logs.read`."""
    with import_module("duckdb").connect() as connection:
        columns = ", ".join(COLUMNS).replace(" / ", " // ")
        connection.execute(f"CREATE TABLE log AS SELECT {columns} FROM range({ROWS}) AS numbers(i)")
        yield {"source": "log", "connection": connection}


@contextmanager
def spark_log() -> Iterator[dict[str, Any]]:
    """A view of a local Spark, which makes the rows when they are asked for."""
    from tests.servers import spark_session

    with spark_session() as session:
        columns = ", ".join(COLUMNS).replace(" / ", " DIV ")
        session.sql(f"SELECT {columns} FROM (SELECT id AS i FROM range({ROWS}))").createOrReplaceTempView("log")
        yield {"source": "log", "engine": "spark", "connection": session}


@contextmanager
def postgres_log() -> Iterator[dict[str, Any]]:
    """A table of a PostgreSQL of its own."""
    from tests.servers import postgres_server

    with postgres_server() as address:
        with import_module("psycopg").connect(address, autocommit=True) as connection:
            columns = ", ".join(COLUMNS).replace("DOUBLE", "DOUBLE PRECISION")
            rows = f"generate_series(0::bigint, {ROWS - 1}) AS numbers(i)"
            connection.execute(f"CREATE UNLOGGED TABLE log AS SELECT {columns} FROM {rows}")
        yield {"source": "log", "engine": "postgres", "connection": address}


LOGS: Mapping[str, Callable[[], Any]] = {"duckdb": duckdb_log, "spark": spark_log, "postgres": postgres_log}


def measure(engine: str) -> Stages:
    """Read the log of an engine and bound the means, in this process."""
    import meanbounds as mb

    with LOGS[engine]() as log:
        start, busy = time.perf_counter(), time.process_time()
        counts = mb.logs.read(log.pop("source"), context="context", arm="arm", reward="reward", **log)
        middle = time.perf_counter()
        found = mb.logs.bounds(counts, mb.logs.ErringExpert(0.05), arms=list(range(ARMS)))
        end, processor = time.perf_counter(), time.process_time() - busy
        if (counts.rows, len(found)) != (ROWS, CONTEXTS):
            raise RuntimeError(f"{engine} lost rows: {counts}")
        return Stages(middle - start, end - middle, processor, peak_megabytes(), repr(counts))


def in_new_process(engine: str) -> Stages:
    """The same in a process of its own."""
    return Stages(**json.loads(python("-m", "benchmarks.million", engine).splitlines()[-1]))


def main() -> None:
    """Print a line for each engine."""
    print(f"{ROWS:,} rows, {CONTEXTS:,} contexts x {ARMS} arms: seconds to read and to bound at 95%")
    for engine in LOGS:
        found = in_new_process(engine)
        print(
            f"{engine:>9}: read {found.read:.1f} s, bounds {found.bounds:.1f} s, processor time of this process "
            f"{found.processor:.1f} s, peak memory {found.megabytes:.0f} MB"
        )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(asdict(measure(sys.argv[1]))))
    else:
        main()
