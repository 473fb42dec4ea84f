"""How long logs take to read and to partition, beside bare queries of DuckDB: ``python -m benchmarks.reading``."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

from meanbounds import logs

ROWS = {"parquet": 10_000_000, "csv": 2_000_000}
COLUMNS = """
    'clinic ' || CAST(hash(i) % 50 AS INT) AS clinic, CAST(hash(i + 1) % 5 AS INT) AS arm,
    CAST(hash(i + 2) % 2 AS DOUBLE) AS recovered, (hash(i + 3) % 1000003) / 1000002 AS score
"""
RAW = """
    20 + hash(i) % 70 AS age, 40 + hash(i + 7) % 600 / 10 AS weight, hash(i + 10) % 1000 / 1000 AS frailty,
    CASE WHEN hash(i + 8) % 2 = 0 THEN 'f' ELSE 'm' END AS sex, 'clinic ' || CAST(hash(i + 9) % 50 AS INT) AS clinic,
    CAST(hash(i + 1) % 100 < CASE WHEN hash(i) % 70 > 45 THEN 70 ELSE 30 END AS INT) AS arm,
    CAST(hash(i + 2) % 100 < CASE WHEN hash(i + 7) % 600 > 200 THEN 60 ELSE 40 END AS DOUBLE) AS recovered
"""


def bare(path: Path, reward: str) -> None:
    """What a user would write who trusts the log."""
    sums = f"COUNT(*), SUM({reward}), SUM({reward} * {reward})"
    with duckdb.connect() as connection:
        connection.execute(f"SELECT clinic, arm, {sums} FROM '{path}' GROUP BY clinic, arm").fetchall()


def read(path: Path, reward: str) -> None:
    logs.read(path, context="clinic", reward=reward)


def bare_scans(path: Path, reward: str) -> None:
    """A sample of all columns, and sums of all columns: what a partition needs at least."""
    columns = f"age, weight, frailty, sex, clinic, arm, {reward}"
    sums = f"COUNT(*), SUM({reward}), SUM(age), SUM(weight), SUM(frailty), MAX(sex), MAX(clinic)"
    with duckdb.connect() as connection:
        connection.execute(f"SELECT {columns} FROM '{path}' USING SAMPLE 1 PERCENT (bernoulli)").fetchall()
        connection.execute(f"SELECT arm, {sums} FROM '{path}' GROUP BY arm").fetchall()


def partition(path: Path, reward: str) -> None:
    logs.partition(path, ["age", "weight", "frailty", "sex", "clinic"], reward=reward)


def report(what: str, least: Callable[[Path, str], None], ours: Callable[[Path, str], None], *log: Any) -> None:
    taken = {least: math.inf, ours: math.inf}
    for _ in range(7):  # in turns, so that other work on the machine slows both
        for work in taken:
            start = time.perf_counter()
            work(*log)
            taken[work] = min(taken[work], time.perf_counter() - start)
    words = least.__name__.replace("_", " ")
    print(f"{what}: {taken[ours]:.2f} s, {words} {taken[least]:.2f} s ({taken[ours] / taken[least]:.2f} times)")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for kind, rows in ROWS.items():
            path = Path(folder) / f"log.{kind}"
            for select, works in ((COLUMNS, (bare, read)), (RAW, (bare_scans, partition))):
                duckdb.execute(f"COPY (SELECT {select} FROM range({rows}) AS t(i)) TO '{path}'")
                for reward in ("recovered", "score") if works[1] is read else ("recovered",):
                    report(f"{works[1].__name__} {rows:>12,} rows of {kind}, {reward}", *works, path, reward)


if __name__ == "__main__":
    main()
