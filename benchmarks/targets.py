"""What the numbers have to be."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from benchmarks import fresh
from benchmarks.ours import ALL_CORES, EXACT, FAST_LOOP, PLAIN_LOOP
from benchmarks.results import AGENTS, Results
from benchmarks.workloads import DECISIONS, SETTINGS

_COMPARE: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_LIMIT_BKLUCB = {5: 2.0, 100: 6.0}
_LIMIT_IDS = {5: 10.0, 50: 200.0}  # microseconds of a decision


@dataclass(frozen=True)
class Target:
    """A measured value and its limit; a value that could not be measured is NaN and fails."""

    what: str
    value: float
    sense: str
    limit: float
    unit: str

    @property
    def met(self) -> bool:
        return not math.isnan(self.value) and _COMPARE[self.sense](self.value, self.limit)


def targets(results: Results) -> list[Target]:
    """All targets."""
    parts = (
        _simulation_targets,
        _bounded_targets,
        _linear_targets,
        _log_targets,
        _call_targets,
        _process_targets,
    )
    return [target for part in parts for target in part(results)]


def _simulation_targets(results: Results) -> list[Target]:
    wanted = [("W1", "pymab", 300.0), ("W1", "plain Python loop", 60.0), ("W3", "plain Python loop", 50.0)]
    found = []
    for name, label, limit in wanted:
        ratio = results.simulations[name].ratio(label, ALL_CORES)
        found.append(Target(f"UCB on {name}: {label} / ours", ratio, ">=", limit, "x"))
    return found


def _bounded_targets(results: Results) -> list[Target]:
    found = []
    for title, setting in SETTINGS.items():
        limits = {"B-KL-UCB": _LIMIT_BKLUCB[len(setting.means)], "BIMED": 10.0, "ThompsonSampling": 10.0}
        limits["OptimisticGittins"] = 20.0
        found += [
            Target(f"{label} / GLUE, {title}", results.bounded[title].ratio(label, "GLUE"), "<=", limit, "x")
            for label, limit in limits.items()
        ]
    for title, setting in DECISIONS.items():
        microseconds = results.decisions[title].nanoseconds.get("IDS", math.nan) / 1000.0
        found.append(Target(f"IDS on one thread, {title}", microseconds, "<=", _LIMIT_IDS[len(setting.means)], "us"))
    return found


def _linear_targets(results: Results) -> list[Target]:
    limits = {"banditlab": 200.0, "coba": 200.0, "plain numpy loop": 40.0}
    found = []
    for name, simulated in results.linear_simulations.items():
        found += [
            Target(f"OFUL on {name}: {label} / ours", simulated.ratio(label, ALL_CORES), ">=", limit, "x")
            for label, limit in limits.items()
        ]
        ratio = results.linear_bounded[name].ratio("R-OFUL", "OFUL")
        found.append(Target(f"R-OFUL / OFUL on {name}", ratio, "<=", 1.0, "x"))
        ratio = results.linear_loops[name].ratio(PLAIN_LOOP, FAST_LOOP)
        found.append(Target(f"OFUL on {name}: plain loop / fast loop", ratio, ">=", 1.5, "x"))
    ratio = results.linear_bounded["W4a"].ratio("LinearThompson", "OFUL")
    found.append(Target("LinearThompson / OFUL on W4a", ratio, "<=", 20.0, "x"))
    microseconds = results.linear_decided["W4a"].nanoseconds.get(EXACT, math.nan) / 1000.0
    found.append(Target("R-OFUL with exact indices on one thread, W4a", microseconds, "<=", 5.0, "us"))
    return found


def _log_targets(results: Results) -> list[Target]:
    found = []
    for result in results.logs:
        found.append(Target(f"reading a log, {result.rewards}: ours / bare GROUP BY", result.ratio, "<=", 1.5, "x"))
        found.append(Target(f"reading a log, {result.rewards}: peak memory", result.megabytes, "<", 1000.0, "MB"))
    return found


def _call_targets(results: Results) -> list[Target]:
    return [
        Target(f"pull and update, {title}: {label} / {agent}", called.ratio(label, agent), ">", 1.0, "x")
        for title, called in results.calls.items()
        for label in ("river", "pymab")
        for agent in AGENTS
    ]


def _process_targets(results: Results) -> list[Target]:
    long_glue = results.usages.get(fresh.LONG_GLUE)
    megabytes = math.nan if long_glue is None else long_glue.megabytes
    bounds = results.usages.get(fresh.MANY_CONTEXTS, fresh.Usage(math.nan, math.nan))
    return [
        Target("bounds at 95%, 100,000 contexts of 20 arms: time", bounds.seconds, "<", 20.0, "s"),
        Target("bounds at 95%, 100,000 contexts of 20 arms: peak memory", bounds.megabytes, "<", 2000.0, "MB"),
        Target("peak memory of GLUE, 5 arms, 200 runs of 1,000,000 rounds", megabytes, "<", 300.0, "MB"),
        Target("import meanbounds", results.import_seconds, "<", 0.5, "s"),
    ]
