"""Time this working tree against an older revision: ``python -m benchmarks.compare REVISION [PART OF A JOB ...]``.

Both are copied into a temporary folder, so each compiles and caches its own kernels. A child process for each then
takes turns at every job of `benchmarks.revision_jobs`, first one and then the other ahead, and each turn gives one
ratio, new over old. This is repeated with new processes, since where a process happens to lie in memory moves some
ratios by several percent. What counts is processor time, which a busy machine changes least.

The exit status is 1 if a job is slower by more than 10% in at least three quarters of its turns.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

PAIRS = 3
TURNS = 5
IMPORT_TURNS = 10
LIMIT = 1.10

_ROOT = Path(__file__).resolve().parents[1]
_JOBS = Path(__file__).with_name("revision_jobs.py")
_IMPORT = "import time; start = time.process_time(); import meanbounds; print(time.process_time() - start)"
_IMPORT_NAME = "import meanbounds"


class NotMeasuredError(RuntimeError):
    """A revision cannot run a job."""


@dataclass
class Compared:
    """The ratios of one job, or why there are none."""

    name: str
    ratios: list[float] = field(default_factory=list)
    why_not: str = ""

    @property
    def slower(self) -> bool:
        """Whether three quarters of the ratios exceed the limit."""
        return bool(self.ratios) and float(np.quantile(self.ratios, 0.25)) > LIMIT

    def line(self) -> str:
        """A row of the table."""
        if self.why_not:
            return f"| {self.name} | - | - | not measured: {self.why_not} |"
        low, middle, high = np.quantile(self.ratios, (0.25, 0.5, 0.75))
        return f"| {self.name} | {middle:.3f} | {low:.3f} to {high:.3f} | {'**slower**' if self.slower else ''} |"


class Child:
    """A process that runs jobs with the package in a folder."""

    def __init__(self, label: str, folder: Path) -> None:
        self.label = label
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(_JOBS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=_environment(folder),
        )
        found = self._answer()["package"]
        if folder not in Path(str(found)).parents:
            raise RuntimeError(f"{label}: the child imported {found} rather than what is in {folder}")

    def seconds(self, job: str) -> float:
        """Processor time of a job."""
        if self._process.stdin is None:
            raise RuntimeError("the child has no input")
        self._process.stdin.write(f"{job}\n")
        self._process.stdin.flush()
        answer = self._answer()
        if "error" in answer:
            raise NotMeasuredError(f"{self.label}: {answer['error']}")
        return float(answer["seconds"])

    def _answer(self) -> dict[str, float | str]:
        line = self._process.stdout.readline() if self._process.stdout else ""
        if not line:
            raise RuntimeError(f"{self.label}: the child ended with status {self._process.wait()}")
        answer: dict[str, float | str] = json.loads(line)
        return answer

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def _environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(folder)}


def check_out(revision: str, folder: Path) -> Path:
    """Write the sources of a revision into a folder; the result is what goes onto the path."""
    done = subprocess.run(["git", "-C", str(_ROOT), "archive", revision, "src"], check=False, capture_output=True)
    if done.returncode:
        raise SystemExit(f"no revision {revision!r}: {done.stderr.decode().strip()}")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder / "src"


def copy_working_tree(folder: Path) -> Path:
    """The same for what is here, committed or not."""
    shutil.copytree(_ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    return folder / "src"


def take_turns(compared: Compared, old: Callable[[], float], new: Callable[[], float], turns: int) -> None:
    """Add one ratio a turn; who goes first alternates."""
    try:
        for turn in range(turns):
            if turn % 2:
                after = new()
                before = old()
            else:
                before = old()
                after = new()
            compared.ratios.append(after / before)
    except NotMeasuredError as error:
        compared.why_not = str(error)


def _import_seconds(folder: Path) -> float:
    command = [sys.executable, "-P", "-c", _IMPORT]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=_environment(folder))
    return float(done.stdout)


def compare(old: Path, new: Path, names: Sequence[str]) -> list[Compared]:
    """All ratios of these jobs."""
    found = [Compared(name) for name in names if name != _IMPORT_NAME]
    for pair in range(PAIRS):
        before, after = Child("old", old), Child("new", new)
        try:
            for compared in found:
                print(f"pair {pair + 1} of {PAIRS}: {compared.name}", file=sys.stderr, flush=True)
                if not compared.why_not:
                    take_turns(compared, _turn(before, compared.name), _turn(after, compared.name), TURNS)
        finally:
            before.close()
            after.close()
    if _IMPORT_NAME in names:
        imported = Compared(_IMPORT_NAME)
        take_turns(imported, lambda: _import_seconds(old), lambda: _import_seconds(new), IMPORT_TURNS)
        found.append(imported)
    return found


def _turn(child: Child, name: str) -> Callable[[], float]:
    return lambda: child.seconds(name)


def main(revision: str, parts: Sequence[str]) -> int:
    """Print the table; the exit status."""
    from benchmarks.revision_jobs import JOBS

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the folder is removed
    names = [name for name in (*JOBS, _IMPORT_NAME) if not parts or any(part in name for part in parts)]
    with tempfile.TemporaryDirectory(prefix="meanbounds-") as folder:
        old, new = check_out(revision, Path(folder) / "old"), copy_working_tree(Path(folder) / "new")
        found = compare(old, new, names)
    print(f"| processor time, this working tree / {revision} | median | middle half | |\n| --- | --- | --- | --- |")
    for compared in found:
        print(compared.line())
    return int(any(compared.slower for compared in found))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2:]))
