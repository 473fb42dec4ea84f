"""Run episodes in child processes, so that a crash or a hang is a finding too."""

from __future__ import annotations

import faulthandler
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from tests.fuzzing.episodes import LENGTH, run_episode
from tests.fuzzing.judge import Finding

__all__ = ["in_words", "run_here", "run_in_children", "unique"]

EPISODES = 200  # in a batch
PATIENCE = 300.0  # seconds without a new call after which a child hangs

RUN = ["-m", "tests.fuzzing.batches"]
ROOT = Path(__file__).parents[2]


def run_here(part: str, seed: int, episodes: Iterable[int]) -> list[Finding]:
    """The findings of some episodes, in this process."""
    return [finding for number in episodes for finding in run_episode(part, seed, number)]


def started(episodes: range) -> None:
    """Called with each batch that starts; tests look at it."""
    del episodes


class _Child:
    """A process that runs one batch of episodes."""

    def __init__(self, part: str, seed: int, episodes: range, folder: Path) -> None:
        self.rest, self._part = range(episodes.stop, episodes.stop), part
        self._current, self._found = folder / f"current-{episodes.start}", folder / f"found-{episodes.start}"
        self._errors = folder / f"errors-{episodes.start}"
        command = [part, str(seed), str(episodes.start), str(episodes.stop), str(self._current), str(self._found)]
        with self._errors.open("wb") as errors:
            self._process = subprocess.Popen([sys.executable, *RUN, *command], cwd=ROOT, stdout=errors, stderr=errors)
        self._began = time.monotonic()
        started(episodes)

    def done(self) -> list[Finding] | None:
        """The findings of the batch; None while it runs. If the process is lost, `rest` is still to do."""
        if self._process.poll() is None:
            if self._idle() < PATIENCE:
                return None
            self.stop()
            return [*self._kept(), self._lost("hangs", f"no new call for {PATIENCE:g} s")]
        if self._process.returncode:
            return [*self._kept(), self._lost("ends", f"exit code {self._process.returncode}: {self._said()}")]
        return self._kept()

    def _kept(self) -> list[Finding]:
        """The findings of the episodes that are done: a line for each."""
        lines = self._found.read_text(encoding="utf-8").splitlines() if self._found.exists() else []
        return [Finding(**json.loads(line)) for line in lines]

    def stop(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def _idle(self) -> float:
        if not self._current.exists():
            return time.monotonic() - self._began
        return time.time() - self._current.stat().st_mtime

    def _said(self) -> str:
        return self._errors.read_text(encoding="utf-8", errors="replace")[-2000:]

    def _lost(self, kind: str, detail: str) -> Finding:
        """The finding that a process was lost; the episodes after the one in hand are still to do."""
        replay = self._current.read_text(encoding="utf-8").strip() if self._current.exists() else ""
        number = replay.rpartition(" ")[2]
        self.rest = range(int(number) // LENGTH[self._part] + 1 if number else self.rest.stop, self.rest.stop)
        return Finding("the process", f"{kind} in {replay}", detail, "", replay or "before any call")


def run_in_children(part: str, seed: int, many: int, *, workers: int = 1, show: bool = False) -> list[Finding]:
    """The findings of this many calls (or mutants), in child processes.

    Parameters
    ----------
    part
        ``"call"`` or ``"mutant"``.
    seed
        The random choices follow from this alone, whatever the number of workers.
    many
        How many calls, or mutants; rounded up to whole episodes.
    workers
        How many processes run at a time.
    show
        Whether to show a line of progress.
    """
    episodes = -(-many // LENGTH[part])
    waiting = [range(first, min(first + EPISODES, episodes)) for first in range(0, episodes, EPISODES)]
    findings: list[Finding] = []
    running: list[_Child] = []
    done, total = 0, len(waiting)
    with tempfile.TemporaryDirectory() as folder:
        try:
            while waiting or running:
                while waiting and len(running) < workers:
                    running.append(_Child(part, seed, waiting.pop(0), Path(folder)))
                for child in list(running):
                    found = child.done()
                    if found is not None:
                        running.remove(child)
                        findings += found
                        done += 1
                        if child.rest:
                            waiting.insert(0, child.rest)
                            done -= 1
                        if show:
                            _show(part, done, total, many, findings)
                time.sleep(0.05)
        finally:
            for child in running:
                child.stop()
    return findings


def _show(part: str, done: int, total: int, many: int, findings: list[Finding]) -> None:
    end = "\n" if done == total or not sys.stderr.isatty() else "\r"
    if end == "\r" or done == total or done % max(1, total // 20) == 0:
        print(
            f"{part}s: {many * done // total:,} of {many:,}, {len(unique(findings))} places with findings",
            end=end,
            file=sys.stderr,
            flush=True,
        )


def unique(findings: Iterable[Finding]) -> list[tuple[Finding, int]]:
    """The first finding of each place and kind of problem, and how many there were."""
    first: dict[tuple[str, str], Finding] = {}
    many: dict[tuple[str, str], int] = {}
    for finding in findings:
        key = (finding.place, finding.kind)
        first.setdefault(key, finding)
        many[key] = many.get(key, 0) + 1
    return [(finding, many[key]) for key, finding in first.items()]


def in_words(findings: Iterable[Finding]) -> str:
    """The findings, one for each place and kind."""
    found = unique(findings)
    lines = [f"[{times} times] {finding}" for finding, times in found]
    return "\n".join([*lines, f"{len(found)} places with findings"])


def _main() -> None:
    """Run a batch: the call in hand is kept in one file, the findings of the episodes that are done in another."""
    part, seed, first, last, current, found = sys.argv[1:]
    faulthandler.enable()
    with Path(current).open("wb", buffering=0) as now, Path(found).open("w", encoding="utf-8") as kept:

        def note(replay: str) -> None:
            os.pwrite(now.fileno(), replay.encode().ljust(120), 0)

        for number in range(int(first), int(last)):
            for finding in run_episode(part, int(seed), number, progress=note):
                print(json.dumps(asdict(finding)), file=kept, flush=True)


if __name__ == "__main__":
    _main()
