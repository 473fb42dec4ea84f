"""Contestants take turns, each in a process of its own, so that a noisy machine is noisy for all of them."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

__all__ = ["Contest", "Contestant", "Times", "library", "title"]

_ROOT = Path(__file__).parents[1]
_PATIENCE = 6.0  # seconds after which a contestant has no more than two turns at a game
_ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA", "RAYON")}


@dataclass
class Times:
    """Processor time of a round in nanoseconds by contestant and game, and why others have none."""

    nanoseconds: dict[tuple[str, str], float] = field(default_factory=dict)
    failures: dict[tuple[str, str], str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)

    def of(self, name: str, game: str) -> float:
        """NaN if there is none."""
        return self.nanoseconds.get((name, game), float("nan"))


def library(name: str) -> Any:
    """The module that says what of a library is called; this does not import the library."""
    return importlib.import_module(f"benchmarks.libraries.{name}")


def title(name: str) -> str:
    """What a library is called on the page."""
    return library(name).DISTRIBUTION or "plain loop"


class Contestant:
    """A library in a process of its own, with the names of its games, and an error if it cannot be used here."""

    def __init__(self, name: str) -> None:
        self.name, self.games, self.version, self.error = name, list[str](), "", ""
        self._process: subprocess.Popen[str] | None = None
        try:
            python = _python_for(name)
        except RuntimeError as error:
            self.error = str(error)
            return
        pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        command, environment = [python, "-m", "benchmarks.worker", name], {**os.environ, **_ONE_THREAD}
        self._process = subprocess.Popen(command, **pipes, text=True, cwd=_ROOT, env=environment)
        answer = self._answer()
        if isinstance(answer, str):
            self.error = answer
        else:
            self.games, self.version = answer

    def ask(self, game: str, share: float) -> float | str:
        """Nanoseconds of a round, or an error; plays this share of the usual rounds."""
        process: Any = self._process
        try:
            print(json.dumps([game, share]), file=process.stdin, flush=True)
        except BrokenPipeError:
            return "the process has ended"
        answer: float | str = self._answer()
        return answer

    def _answer(self) -> Any:
        process: Any = self._process
        line = process.stdout.readline()
        return json.loads(line) if line else "the process ended without an answer"

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.communicate()


class Contest:
    """Contestants and what was measured so far."""

    def __init__(self, names: Iterable[str], say: Callable[[str], None]) -> None:
        self.times, self._say = Times(), say
        self.contestants: list[Contestant] = []
        for name in names:
            say(f"starting {name}")
            self.contestants.append(Contestant(name))

    def __enter__(self) -> Self:
        for own in self.contestants:
            self.times.versions[own.name] = own.version
            if own.error:
                self.times.absent[own.name] = own.error
        return self

    def __exit__(self, kind: type[BaseException] | None, value: object, trace: TracebackType | None) -> None:
        for own in self.contestants:
            own.close()

    def play(self, games: Sequence[str], turns: int, share: float) -> None:
        """Time these games, taking turns; the best time of each counts."""
        spent: dict[tuple[str, str], float] = {}
        entered = [(own, game) for game in games for own in self.contestants if game in own.games]
        for turn in range(turns):
            self._say(f"{', '.join(games[:4])}{', ...' if len(games) > 4 else ''}: turn {turn + 1} of {turns}")
            for own, game in entered:
                place = own.name, game
                if place in self.times.failures or (turn > 1 and spent[place] > _PATIENCE):
                    continue
                start = os.times().elapsed
                found = own.ask(game, share)
                spent[place] = spent.get(place, 0.0) + os.times().elapsed - start
                if isinstance(found, str):
                    self.times.failures[place] = found
                else:
                    self.times.nanoseconds[place] = min(found, self.times.nanoseconds.get(place, found))


def _python_for(name: str) -> str:
    """The interpreter for a library: this one, or that of an environment with its pins, which is made if necessary."""
    pins: Sequence[str] = library(name).PINS
    if not pins:
        return sys.executable
    folder = Path(sys.prefix) / f"bench-{name}"
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():
        venv.create(folder, with_pip=True)
        command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *pins]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            shutil.rmtree(folder)
            raise RuntimeError(f"pip: {done.stderr.strip().splitlines()[-1]}")
    return str(python)
