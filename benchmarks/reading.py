"""How long `meanbounds.logs.read` takes, beside DuckDB's bare GROUP BY: ``python -m benchmarks.reading``."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb

from meanbounds import logs

ROWS = {"parquet": 10_000_000, "csv": 2_000_000}
COLUMNS = """
    'clinic ' || CAST(hash(i) % 50 AS INT) AS clinic, CAST(hash(i + 1) % 5 AS INT) AS arm,
    CAST(hash(i + 2) % 2 AS DOUBLE) AS recovered, (hash(i + 3) % 1000003) / 1000002 AS score
"""


def bare(path: Path, reward: str) -> None:
    """What a user would write who trusts the log."""
    sums = f"COUNT(*), SUM({reward}), SUM({reward} * {reward})"
    with duckdb.connect() as connection:
        connection.execute(f"SELECT clinic, arm, {sums} FROM '{path}' GROUP BY clinic, arm").fetchall()


def ours(path: Path, reward: str) -> None:
    logs.read(path, context="clinic", reward=reward)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for kind, rows in ROWS.items():
            path = Path(folder) / f"log.{kind}"
            duckdb.execute(f"COPY (SELECT {COLUMNS} FROM range({rows}) AS t(i)) TO '{path}'")
            for reward in ("recovered", "score"):
                taken: dict[Callable[[Path, str], None], float] = {bare: math.inf, ours: math.inf}
                for _ in range(7):  # in turns, so that other work on the machine slows both
                    for work in taken:
                        start = time.perf_counter()
                        work(path, reward)
                        taken[work] = min(taken[work], time.perf_counter() - start)
                times = (
                    f"{taken[ours]:.2f} s, bare GROUP BY {taken[bare]:.2f} s ({taken[ours] / taken[bare]:.2f} times)"
                )
                print(f"{rows:>12,} rows of {kind}, {reward}: {times}")


if __name__ == "__main__":
    main()
