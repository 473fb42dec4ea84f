"""Contestants take turns, so that a noisy machine is noisy for all of them; the best call of each counts."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

TURNS = 15
SHORTEST_TURN = 0.1  # seconds; short calls are repeated until they are over
PATIENCE = 3.0  # seconds after which a contestant takes no more turns
FEWEST_TURNS = 2
WARM_UP = 200  # rounds, before the first turn


@dataclass(frozen=True)
class Case:
    """Something that plays `runs` runs of as many rounds as it is told."""

    label: str
    horizon: int
    runs: int
    play: Callable[[int], object]


@dataclass
class Race:
    """Nanoseconds per round of each case, or why there are none."""

    nanoseconds: dict[str, float] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def ratio(self, slower: str, faster: str) -> float:
        """How many times the time of one is the time of the other; NaN unless both were measured."""
        return self.nanoseconds.get(slower, math.nan) / self.nanoseconds.get(faster, math.nan)


def race(cases: Sequence[Case], turns: int = TURNS) -> Race:
    """Let the cases take turns."""
    result = Race()
    spent = dict.fromkeys((case.label for case in cases), 0.0)
    for turn in range(turns):
        for case in cases:
            tired = turn >= FEWEST_TURNS and spent[case.label] > PATIENCE
            if tired or case.label in result.failures:
                continue
            try:
                if turn == 0:
                    case.play(WARM_UP)
                calls = _turn(case)
            except Exception as error:
                result.failures[case.label] = f"{type(error).__name__}: {error}"
                result.nanoseconds.pop(case.label, None)
                continue
            spent[case.label] += sum(calls)
            best = result.nanoseconds.get(case.label, math.inf)
            result.nanoseconds[case.label] = min(best, 1e9 * min(calls) / (case.runs * case.horizon))
    return result


def _turn(case: Case) -> list[float]:
    """Seconds of each call of one turn."""
    calls: list[float] = []
    while sum(calls) < SHORTEST_TURN:
        start = time.perf_counter()
        case.play(case.horizon)
        calls.append(time.perf_counter() - start)
    return calls
