"""What the times have to be: limits on the reference machine, scaled to this one by the time of river's UCB."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.contest import Times, title

__all__ = ["COLD", "Target", "cold_starts", "scales", "targets"]

_RIVER = {"P5": 3.5, "P50": 24.0}  # microseconds of river's pull and update on the reference machine
_AGENT = {  # microseconds of pull and update at 5 and 50 arms
    **dict.fromkeys(("UCB", "BUCB", "ImprovedUCB", "GLUE"), (25.0, 25.0)),
    **dict.fromkeys(("KLUCB", "BKLUCB", "BIMED"), (75.0, 90.0)),
    "ThompsonSampling": (150.0, 160.0),
    "OptimisticGittins": (200.0, 320.0),
    "IDS": (130.0, 200.0),
}
_LINEAR_AGENT = {"OFUL": 60.0, "R-OFUL, clip": 60.0, "R-OFUL, exact": 30.0, "LinearThompson": 280.0}
_NUMPY = {  # microseconds of a decision
    "GLUE P5": 0.45,
    "OptimisticGittins P5": 6.0,
    "OFUL": 3.0,
    "R-OFUL, clip": 4.0,
    "R-OFUL, exact": 4.0,
    "LinearThompson": 40.0,
}
_TIGHTEN, _COLD = 30_000.0, {"Agent": 500_000.0, "LinearAgent": 1_500_000.0}  # microseconds
_FASTER = {"W1": 25.0, "W2": 100.0}  # times faster than every other library

_ONE = "import meanbounds as mb, time; mb.Agent(mb.{}(), mb.MeanBounds([0.2] * 5, [0.9] * 5)).pull()"
_LINEAR_ONE = (
    "import meanbounds as mb, time; paper = mb.simulation.paper_linear(1); "
    "mb.LinearAgent(mb.{}(), paper.bounds, paper.environment.features).pull(range(10))"
)
COLD: Mapping[str, str] = {
    **{f"Agent, {label}": _ONE.format(label) for label in _AGENT},
    **{f"LinearAgent, {label}": _LINEAR_ONE.format(label) for label in ("OFUL", "ROFUL", "LinearThompson")},
}
"""Programs that make an agent and one decision."""


@dataclass(frozen=True)
class Target:
    """A time in microseconds and its limit, or how many times faster than another library, at least.

    `reference` is the limit on the reference machine, `limit` the one here. A value that was not measured is NaN.
    """

    what: str
    value: float
    reference: float
    limit: float
    is_ratio: bool = False

    @property
    def kept(self) -> bool:
        """Whether the value is on the right side."""
        return self.value >= self.limit if self.is_ratio else self.value <= self.limit


def scales(times: Times) -> dict[str, float]:
    """How many times longer this machine takes than the reference machine, by river at 5 and 50 arms; else 1."""
    found = {game: times.of("river", game) / 1e3 / reference for game, reference in _RIVER.items()}
    return {game: 1.0 if math.isnan(scale) else scale for game, scale in found.items()}


def targets(times: Times, cold: Mapping[str, float]) -> list[Target]:
    """All targets."""
    return [*_against_others(times), *_limits(times, cold)]


def _against_others(times: Times) -> Iterator[Target]:
    for game, factor in _FASTER.items():
        for name, other in times.nanoseconds:
            if other == game and name != "ours":
                ratio = times.of(name, game) / times.of("ours", game)
                yield Target(f"{game}: {title(name)} / meanbounds", ratio, factor, factor, is_ratio=True)


def _limits(times: Times, cold: Mapping[str, float]) -> Iterator[Target]:
    scale = scales(times)

    def limit(what: str, microseconds: float, most: float, by: str = "P5") -> Target:
        return Target(what, microseconds, most, most * scale[by])

    for label, most in _AGENT.items():
        for game, own in zip(_RIVER, most, strict=True):
            value = times.of("ours", f"agent {label} {game}") / 1e3
            yield limit(f"Agent, {label}, {game[1:]} arms", value, own, game)
    for label, own in _LINEAR_AGENT.items():
        yield limit(f"LinearAgent, {label}", times.of("ours", f"agent {label}") / 1e3, own)
    for label, own in _NUMPY.items():
        name = label.replace(" P5", ", 5 arms")
        yield limit(f"a decision in numpy, {name}", times.of("ours", f"numpy {label}") / 1e3, own)
    yield limit("tightening 100 arms in R^10", times.of("ours", "tighten") / 1e3, _TIGHTEN)
    for what, seconds in cold.items():
        yield limit(f"first decision of a process, {what}", 1e6 * seconds, _COLD[what.partition(",")[0]])


def cold_starts(turns: int) -> dict[str, float]:
    """Processor seconds from the start of a process to its first decision, the best of several."""
    return {title: min(_seconds(code) for _ in range(turns)) for title, code in COLD.items()}


def _seconds(code: str) -> float:
    command = [sys.executable, "-c", f"{code}; print(time.process_time())"]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=environment, cwd=Path(__file__).parents[1]
    )
    return float(done.stdout)
