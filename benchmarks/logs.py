"""Counting a large log beside a bare GROUP BY of DuckDB: `python -m benchmarks.logs`.

The bare query has neither a check of the rewards nor compensated sums nor a histogram. Both open the file anew and take
turns, so that a noisy machine is noisy for both; the best turn of each counts. Memory is that of a new process.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.fresh import Usage, peak_megabytes, python

ROWS, CONTEXTS, ARMS = 20_000_000, 50, 20
TURNS = 9

REWARDS: Mapping[str, tuple[str, float]] = {
    "any number in [0, 1]": ("random()", 1.0),
    "0 and 1": ("CAST(random() < 0.4 AS DOUBLE)", 1.0),
    "1 to 5 stars": ("CAST(1 + floor(5 * random()) AS DOUBLE)", 5.0),
}
"""SQL of the rewards, and the upper end of their range."""


@dataclass(frozen=True)
class LogResult:
    """Seconds of both, and the memory of ours with imports."""

    rewards: str
    bare_seconds: float
    our_seconds: float
    megabytes: float

    @property
    def ratio(self) -> float:
        """How many times the time of the bare query ours takes."""
        return self.our_seconds / self.bare_seconds


def write_log(path: Path, reward: str, rows: int = ROWS) -> None:
    """A log of random rows, with the contexts and arms as integers."""
    columns = (
        f"CAST(floor(random() * {CONTEXTS}) AS INTEGER) AS context, CAST(floor(random() * {ARMS}) AS INTEGER) AS arm"
    )
    connection = _connect()
    connection.execute("SELECT setseed(0.5)")
    connection.execute(f"COPY (SELECT {columns}, {reward} AS reward FROM range({rows})) TO '{path}' (FORMAT parquet)")
    connection.close()


def bare(path: Path) -> None:
    """The query that nothing is faster than."""
    connection = _connect()
    sums = "count(*), sum(reward), sum(reward * reward)"
    connection.execute(f"SELECT context, arm, {sums} FROM read_parquet('{path}') GROUP BY context, arm").fetchall()
    connection.close()


def ours(path: Path, high: float) -> None:
    """The same with `meanbounds.logs.read`."""
    import meanbounds as mb

    mb.logs.read(path, context="context", arm="arm", reward="reward", high=high)


def measure(rewards: str, rows: int = ROWS) -> LogResult:
    """Write a log, read it in turns, and once more in a process of its own."""
    reward, high = REWARDS[rewards]
    with tempfile.TemporaryDirectory(prefix="meanbounds-") as folder:
        path = Path(folder) / "log.parquet"
        write_log(path, reward, rows)
        best = {"bare": math.inf, "ours": math.inf}
        for _ in range(TURNS):
            best["bare"] = min(best["bare"], _seconds(lambda: bare(path)))
            best["ours"] = min(best["ours"], _seconds(lambda: ours(path, high)))
        usage = Usage(**json.loads(python("-m", "benchmarks.logs", str(path), str(high))))
    return LogResult(rewards, best["bare"], best["ours"], usage.megabytes)


def _connect() -> Any:
    return import_module("duckdb").connect()


def _seconds(job: Callable[[], None]) -> float:
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


def main() -> None:
    """Print a table."""
    print(f"{ROWS:,} rows of Parquet, {CONTEXTS} contexts x {ARMS} arms; best of {TURNS} turns")
    for rewards in REWARDS:
        result = measure(rewards)
        print(
            f"{rewards:>22}: bare GROUP BY {result.bare_seconds:.3f} s, meanbounds {result.our_seconds:.3f} s, "
            f"ratio {result.ratio:.2f}, peak memory {result.megabytes:.0f} MB"
        )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        seconds = _seconds(lambda: ours(Path(sys.argv[1]), float(sys.argv[2])))
        print(json.dumps(asdict(Usage(seconds, peak_megabytes()))))
    else:
        main()
