"""What counts as a finding: an error that was not meant, a number that cannot be, a state that changed."""

from __future__ import annotations

import ast
import json
import linecache
import math
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from signal import ITIMER_REAL, SIGALRM, setitimer, signal
from types import TracebackType
from typing import Any

import numpy as np

import meanbounds as mb
from meanbounds.evidence import AssumptionWarning, ContradictionWarning
from meanbounds.logs import LogWarning
from tests.fuzzing.draw import HostileError

__all__ = ["Finding", "Hang", "Judge", "state_of", "unlawful", "watched"]

SOURCE = Path(mb.__file__).parent
SECONDS = 120.0  # a call that takes longer hangs: all are small, but the first ones compile kernels

_OURS = (UserWarning, LogWarning, AssumptionWarning, ContradictionWarning)

Progress = Callable[[str], None]


class Hang(BaseException):
    """Raised by the alarm in a call that takes too long."""


@dataclass(frozen=True)
class Finding:
    """One fault: where it showed, what it was, and the command that replays it."""

    place: str
    kind: str
    detail: str
    call: str
    replay: str

    def __str__(self) -> str:
        return f"{self.place}: {self.kind}: {self.detail}\n    {self.call}\n    {self.replay}"


@contextmanager
def watched() -> Iterator[list[warnings.WarningMessage]]:
    """Record warnings, and let an alarm end calls that take too long."""

    def ring(*_: object) -> None:
        raise Hang

    before = signal(SIGALRM, ring)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield caught
    finally:
        setitimer(ITIMER_REAL, 0.0)
        signal(SIGALRM, before)


class Judge:
    """Makes calls, and keeps the findings.

    Parameters
    ----------
    caught
        The list that warnings are recorded in.
    replay
        The command that makes the calls again, in words.
    progress
        Told about each call before it is made.
    """

    def __init__(self, caught: list[warnings.WarningMessage], replay: Callable[[], str], progress: Progress) -> None:
        self.findings: list[Finding] = []
        self._caught, self._replay, self._progress = caught, replay, progress

    def report(self, place: str, kind: str, detail: str, call: object) -> None:
        """Keep a finding; those with the same place and kind are listed once."""
        self.findings.append(Finding(place, kind, detail, str(call), self._replay()))

    def make(self, call: Callable[[], Any], nan: bool = False) -> tuple[bool, Any]:
        """Make a call; whether it returned, and its result or its error."""
        self._progress(self._replay())
        self._caught.clear()
        setitimer(ITIMER_REAL, SECONDS)
        try:
            result = call()
        except Hang as error:
            self.report(_innermost(error.__traceback__), "hangs", f"took more than {SECONDS:g} s", call)
            return False, error
        except HostileError as error:
            return False, error
        except Exception as error:
            if not _meant(error):
                self.report(_innermost(error.__traceback__), type(error).__name__, _in_words(error), call)
            self._check_warnings(call)
            return False, error
        finally:
            setitimer(ITIMER_REAL, 0.0)
        self._check_result(call, result, nan)
        self._check_warnings(call)
        return True, result

    def _check_result(self, call: object, result: Any, nan: bool) -> None:
        try:
            problem = unlawful(result, nan)
        except Exception as error:
            problem = f"it cannot be read: {error!r}"
        if problem is not None:
            self.report(f"result of {getattr(call, 'name', 'a call')}", "not lawful", problem, call)

    def _check_warnings(self, call: object) -> None:
        for warning in self._caught:
            ours = warning.category in _OURS and "masked element" not in str(warning.message)
            if not ours:
                where = f"{_short(warning.filename)}:{warning.lineno}"
                self.report(where, warning.category.__name__, str(warning.message), call)


def state_of(saved: Any) -> str:
    """The whole state as text, which is equal if and only if the states are; NaN equals NaN."""
    return json.dumps(saved.to_dict())


def unlawful(result: Any, nan: bool = False) -> str | None:
    """Why this cannot be a result; None if it can."""
    if isinstance(result, mb.MeanBounds):
        return _unlawful_bounds(result)
    if isinstance(result, mb.Regret):
        return _unlawful_regret(result)
    if isinstance(result, float | np.floating):
        return "not a number" if math.isnan(result) and not nan else None
    if isinstance(result, np.ndarray) and result.dtype.kind == "f":
        return f"has NaN: {result}" if np.isnan(result).any() and not nan else None
    if isinstance(result, tuple | list):
        return next((problem for part in result if (problem := unlawful(part, nan)) is not None), None)
    if isinstance(result, dict):
        return unlawful(list(result.values()), nan)
    return None


def _unlawful_bounds(bounds: mb.MeanBounds) -> str | None:
    columns = [bounds.low, bounds.lower, bounds.upper, bounds.high]
    if not all(np.isfinite(column).all() for column in columns):
        return f"not finite: {bounds!r}"
    if any((a > b).any() for a, b in pairwise(columns)):
        return f"not in order: {bounds!r}"
    if not (len(bounds.arms) == bounds.lower.size == bounds.low.size == len(set(bounds.arms))):
        return f"arms and columns differ in number: {bounds!r}"
    worst = bounds.worst_variance_proxy
    for proxy in (bounds.variance_proxy, bounds.best_variance_proxy, worst):
        if not (np.isfinite(proxy).all() and (proxy >= 0.0).all() and (proxy <= worst * (1.0 + 1e-12)).all()):
            return f"variance proxies {proxy} of {bounds!r}"
    return None


def _unlawful_regret(regret: mb.Regret) -> str | None:
    for label, curves in regret.curves.items():
        if not np.isfinite(curves).all() or (np.diff(curves, axis=1, prepend=0.0) < -1e-9 * np.abs(curves)).any():
            return f"the regret of {label} is not a growing sum: {curves}"
        if (regret.plays[label] < 0).any() or (regret.plays[label].sum(axis=1) != regret.rounds[-1]).any():
            return f"the plays of {label} do not add up to the rounds: {regret.plays[label]}"
    return None


def _meant(error: Exception) -> bool:
    """Whether meanbounds itself raised this error, by a ``raise`` of its own, to refuse an input."""
    if not isinstance(error, ValueError | TypeError | LookupError):
        return False
    last = traceback.extract_tb(error.__traceback__)[-1]
    return last.filename.startswith(str(SOURCE)) and last.lineno in _raises(last.filename)


@cache
def _raises(filename: str) -> frozenset[int]:
    """The lines of all ``raise`` statements of a file."""
    tree = ast.parse(Path(filename).read_text(encoding="utf-8"))
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Raise) and node.exc is not None]
    return frozenset(line for node in found for line in range(node.lineno, (node.end_lineno or node.lineno) + 1))


def _innermost(trace: TracebackType | None) -> str:
    """The innermost line of meanbounds: the place to mend."""
    ours = [frame for frame in traceback.extract_tb(trace) if frame.filename.startswith(str(SOURCE))]
    if not ours:
        return "outside meanbounds"
    line = linecache.getline(ours[-1].filename, ours[-1].lineno or 0).strip()
    return f"{_short(ours[-1].filename)}:{ours[-1].lineno} {line[:80]}"


def _short(filename: str) -> str:
    return filename.partition("/src/")[2] or filename.rpartition("/")[2]


def _in_words(error: Exception) -> str:
    text = str(error).replace("\n", " ").encode("ascii", "backslashreplace").decode()
    return text[:200]
