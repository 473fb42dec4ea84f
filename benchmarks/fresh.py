"""What has to be measured in a process of its own: peak memory and the time of an import."""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

LONG_HORIZON = 1_000_000
IMPORTS = 5


@dataclass(frozen=True)
class Usage:
    """Time and peak memory of a job, imports included."""

    seconds: float
    megabytes: float


def _long_glue() -> None:
    import meanbounds as mb
    from benchmarks import ours, workloads

    setting = workloads.SETTINGS["5 arms, bounds [0, 1]"]
    ours.simulate(mb.GLUE(), setting.means, setting.bounds, LONG_HORIZON)


def _ucb() -> None:
    from benchmarks import ours, workloads

    ours.simulate(ours.POLICIES["UCB"], workloads.FEW)


def _contestant_ucb(name: str) -> Callable[[], None]:
    def job() -> None:
        from benchmarks import contestants, workloads

        contestants.load(name).simulate("UCB", workloads.FEW, workloads.HORIZON, workloads.RUNS)

    return job


def _many_contexts() -> None:
    from benchmarks.revision_jobs import many_contexts

    many_contexts(100_000, 20)()()


def _million_contexts(engine: str) -> Callable[[], None]:
    def job() -> None:
        from benchmarks import million

        million.measure(engine)

    return job


JOBS: Mapping[str, tuple[str, Callable[[], None]]] = {
    "long-glue": ("meanbounds: GLUE, 5 arms, 200 runs of 1,000,000 rounds", _long_glue),
    "meanbounds": ("meanbounds: 200 runs of W1", _ucb),
    "many-contexts": ("meanbounds: bounds at 95% from a log of 100,000 contexts of 20 arms", _many_contexts),
    "million-duckdb": (
        "meanbounds: a log of 1,000,000 contexts made by DuckDB, its counts and bounds",
        _million_contexts("duckdb"),
    ),
    "million-spark": ("the same by Spark, without the memory of its own process", _million_contexts("spark")),
    "million-postgres": ("the same by PostgreSQL, without that of its server", _million_contexts("postgres")),
    "pymab": ("pymab: 200 runs of W1", _contestant_ucb("pymab")),
    "river": ("river: 200 runs of W1", _contestant_ucb("river")),
}
LONG_GLUE = "long-glue"
MANY_CONTEXTS = "many-contexts"


def usage(job: str) -> Usage:
    """Run a job in a new process."""
    return Usage(**json.loads(python("-m", "benchmarks.fresh", job)))


def import_seconds() -> float:
    """Time of ``import meanbounds`` in a new process, its files already in memory; best of several."""
    code = "import time; start = time.perf_counter(); import meanbounds; print(time.perf_counter() - start)"
    return min(float(python("-c", code)) for _ in range(IMPORTS))


def python(*arguments: str) -> str:
    done = subprocess.run([sys.executable, *arguments], check=False, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return done.stdout


def peak_megabytes() -> float:
    """Largest resident size of this process.

    Linux counts the parent's size at the time of the fork into ru_maxrss, so there VmHWM is read instead.
    """
    status = Path("/proc/self/status")
    if status.exists() and (found := re.search(r"^VmHWM:\s*(\d+) kB", status.read_text(), re.MULTILINE)):
        return int(found[1]) * 1024 / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def _main(job: str) -> None:
    start = time.perf_counter()
    JOBS[job][1]()
    print(json.dumps(asdict(Usage(time.perf_counter() - start, peak_megabytes()))))


if __name__ == "__main__":
    _main(sys.argv[1])
