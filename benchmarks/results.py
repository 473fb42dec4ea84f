"""Run everything and hold what came out."""

from __future__ import annotations

import functools
import gc
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import meanbounds as mb
from benchmarks import contestants, fresh, ours, solvers, solves
from benchmarks.contestants.base import Call, Contestant, LinearContestant, uniform_draws
from benchmarks.logs import REWARDS, LogResult
from benchmarks.logs import measure as measure_log
from benchmarks.timing import Case, Race, race
from benchmarks.workloads import (
    DECISIONS,
    HORIZON,
    LINEAR_WORKLOADS,
    SEED,
    SETTINGS,
    WORKLOADS,
    LinearWorkload,
    Setting,
    Workload,
)
from meanbounds.policies import AnyPolicy

Loaded = TypeVar("Loaded")

BOUNDED: Mapping[str, mb.Policy] = {
    "GLUE": mb.GLUE(),
    "B-KL-UCB": mb.BKLUCB(),
    "BIMED": mb.BIMED(),
    "ThompsonSampling": mb.ThompsonSampling(),
    "OptimisticGittins": mb.OptimisticGittins(),
    "IDS": mb.IDS(),
}
DECIDED: Mapping[str, mb.Policy] = {"IDS": mb.IDS()}
LINEAR_BOUNDED: Mapping[str, AnyPolicy] = {
    "OFUL": mb.OFUL(),
    "R-OFUL": mb.ROFUL(index="clip"),
    ours.EXACT: mb.ROFUL(),
    "LinearThompson": mb.LinearThompson(),
}
CALLED: Mapping[str, str] = {"5 arms": "5 arms, high-lower-bound", "100 arms": "100 arms, mean ± 0.2"}
AGENTS = ("Agent(UCB)", "Agent(GLUE)")


@dataclass
class Results:
    """Every number of the report, and what went wrong on the way."""

    contestants: dict[str, Contestant] = field(default_factory=dict)
    linear_contestants: dict[str, LinearContestant] = field(default_factory=dict)
    simulations: dict[str, Race] = field(default_factory=dict)
    bounded: dict[str, Race] = field(default_factory=dict)
    decisions: dict[str, Race] = field(default_factory=dict)
    linear_simulations: dict[str, Race] = field(default_factory=dict)
    linear_bounded: dict[str, Race] = field(default_factory=dict)
    linear_decided: dict[str, Race] = field(default_factory=dict)
    linear_loops: dict[str, Race] = field(default_factory=dict)
    solves: dict[int, Race] = field(default_factory=dict)
    solvers: dict[str, tuple[Race, float]] = field(default_factory=dict)
    logs: list[LogResult] = field(default_factory=list)
    calls: dict[str, Race] = field(default_factory=dict)
    usages: dict[str, fresh.Usage] = field(default_factory=dict)
    import_seconds: float = math.nan
    problems: list[str] = field(default_factory=list)


def measure() -> Results:
    """All measurements."""
    results = Results()
    results.contestants = _load(results, contestants.NAMES, contestants.load)
    results.linear_contestants = _load(results, contestants.LINEAR_NAMES, contestants.load_linear)
    gc.freeze()  # what one library holds must not slow down the garbage collection of another
    for workload in WORKLOADS:
        results.simulations[workload.name] = _race(results, workload.title, _simulations(results, workload))
    for title, setting in SETTINGS.items():
        cases = [ours.bounded(label, policy, setting) for label, policy in BOUNDED.items()]
        results.bounded[title] = _race(results, title, cases)
    for title, setting in DECISIONS.items():
        cases = [ours.on_one_thread(label, policy, setting) for label, policy in DECIDED.items()]
        results.decisions[title] = _race(results, f"{title}, one thread", cases)
    _measure_linear(results)
    for rewards in REWARDS:
        _say(f"a large log, rewards: {rewards}")
        results.logs.append(measure_log(rewards))
    for title, name in CALLED.items():
        cases = _calls(results, SETTINGS[name])
        results.calls[title] = _race(results, f"pull and update, {title}", cases)
    _measure_processes(results)
    return results


def _load(results: Results, names: Sequence[str], load: Callable[[str], Loaded]) -> dict[str, Loaded]:
    loaded = {}
    for name in names:
        try:
            loaded[name] = load(name)
        except Exception as error:
            results.problems.append(f"{name} could not be loaded: {type(error).__name__}: {error}")
    return loaded


def _race(results: Results, title: str, cases: list[Case]) -> Race:
    _say(title)
    finished = race(cases)
    results.problems += [f"{title}: {label} failed: {why}" for label, why in finished.failures.items()]
    return finished


def _simulations(results: Results, workload: Workload) -> list[Case]:
    theirs = [c for c in results.contestants.values() if workload.policy in c.policies]
    return [
        *ours.simulations(ours.POLICIES[workload.policy], workload.means),
        *(Case(c.label, HORIZON, 1, functools.partial(_run, c, workload)) for c in theirs),
    ]


def _run(contestant: Contestant, workload: Workload, horizon: int) -> object:
    return contestant.simulate(workload.policy, workload.means, horizon, 1)


def _measure_linear(results: Results) -> None:
    for workload in LINEAR_WORKLOADS:
        cases = _linear_simulations(results, workload)
        results.linear_simulations[workload.name] = _race(results, workload.title, cases)
    for workload in LINEAR_WORKLOADS:  # in races of their own: the closer the turns, the more alike their noise
        cases = [ours.linear_bounded(label, policy, workload) for label, policy in LINEAR_BOUNDED.items()]
        results.linear_bounded[workload.name] = _race(results, f"{workload.title}, with bounds", cases)
        cases = ours.linear_decided(workload)
        results.linear_decided[workload.name] = _race(results, f"{workload.title}, one thread", cases)
        results.linear_loops[workload.name] = _race(results, f"{workload.title}, loops", ours.linear_loops(workload))
    for offered in solves.OFFERED:
        _say(f"exact indices, {offered} arms on offer")
        results.solves[offered] = solves.solves(offered)
    for arms, dimension in solvers.SIZES:
        title = f"{arms:,} arms in R^{dimension}"
        _say(f"cone programs, {title}")
        results.solvers[title] = solvers.solvers(arms, dimension)


def _linear_simulations(results: Results, workload: LinearWorkload) -> list[Case]:
    theirs = results.linear_contestants.values()
    return [
        *ours.linear_simulations(workload),
        *(Case(c.label, c.horizon, 1, functools.partial(_run_linear, c, workload)) for c in theirs),
    ]


def _run_linear(contestant: LinearContestant, workload: LinearWorkload, horizon: int) -> object:
    return contestant.simulate(workload.arms, horizon, 1)


def _calls(results: Results, setting: Setting) -> list[Case]:
    vacuous = mb.MeanBounds.vacuous(len(setting.means))
    players: dict[str, Call] = {
        AGENTS[0]: functools.partial(ours.call, mb.UCB(), vacuous),
        AGENTS[1]: functools.partial(ours.call, mb.GLUE(), setting.bounds),
    }
    players |= {c.label: c.call for c in results.contestants.values() if c.call is not None}
    draws = uniform_draws(HORIZON, SEED)

    def play(call: Call, horizon: int) -> object:
        return call(setting.means, draws[:horizon])

    return [Case(label, HORIZON, 1, functools.partial(play, call)) for label, call in players.items()]


def _measure_processes(results: Results) -> None:
    for job, (title, _) in fresh.JOBS.items():
        _say(title)
        try:
            results.usages[job] = fresh.usage(job)
        except Exception as error:
            results.problems.append(f"{title}: {error}")
    _say("import meanbounds")
    results.import_seconds = fresh.import_seconds()


def _say(what: str) -> None:
    print(f"measuring {what}", file=sys.stderr, flush=True)
