"""Results as Markdown."""

from __future__ import annotations

import datetime
import os
import platform
import re
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path

import meanbounds as mb
from benchmarks import contestants, fresh, logs, ours, solvers, solves
from benchmarks.contestants.base import Contestant, LinearContestant
from benchmarks.results import AGENTS, BOUNDED, LINEAR_BOUNDED, Results
from benchmarks.targets import Target
from benchmarks.timing import Race
from benchmarks.workloads import HORIZON, LINEAR_WORKLOADS, RUNS, WORKLOADS

Entered = Mapping[str, Contestant | LinearContestant]

_MISSING = "-"
_TIMES_OURS = "In bold, how many times longer than ours on all cores; in brackets, than ours on one thread."
_HOW = f"""\
Contestants take turns on the same machine in the same process, and the best call of each counts. Times are
wall-clock time per round, policy and environment together. Ours is one call of `simulate` with {RUNS} runs of
{HORIZON:,} rounds that also keeps the regret curves, after one call for compilation; theirs is one run of
{HORIZON:,} rounds, or of fewer where it says so. Read the ratios: absolute numbers are this machine's. Only ours
uses more than one core, and gains nothing by it while something else keeps the others busy."""


def report(results: Results, targets: Sequence[Target], load: float) -> str:
    """The whole of RESULTS.md."""
    sections = {
        "Targets": _targets(targets),
        "Simulation": _simulations(results),
        "Policies with bounds": _bounded(results),
        "Linear simulation": _linear_simulations(results),
        "Linear policies with bounds": _linear_bounded(results),
        "The fast loop of linear policies": _linear_loops(results),
        "Cone programs": _solvers(results),
        "What an exact index costs": _solves(results),
        "Reading a log": _logs(results),
        "One pull and one update": _calls(results),
        "Peak memory and time from end to end": _processes(results),
        "What was called": _called(results),
        "Problems": "\n".join(f"- {problem}" for problem in results.problems) or "None.",
    }
    body = "\n\n".join(f"## {title}\n\n{text}" for title, text in sections.items())
    return f"# Benchmarks\n\n{_machine(load)}\n\n{_HOW}\n\n{body}\n"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _number(value: float) -> str:
    """Three significant digits, without an exponent."""
    return f"{value:,.0f}" if value >= 100.0 else f"{value:.3g}"


def _time(nanoseconds: float) -> str:
    return f"{_number(nanoseconds)} ns" if nanoseconds < 1e3 else f"{_number(nanoseconds / 1e3)} µs"


def _machine(load: float) -> str:
    cores = len(os.sched_getaffinity(0))
    names = dict.fromkeys(("numpy", "numba", *contestants.LIBRARIES, *contestants.LINEAR_LIBRARIES))
    libraries = ", ".join(f"{name} {_version(name)}" for name in names)
    return (
        f"Written by `python -m benchmarks.run` on {datetime.datetime.now(datetime.UTC):%Y-%m-%d %H:%M} UTC: "
        f"meanbounds {mb.__version__}, Python {platform.python_version()}, {libraries}; "
        f"{_cpu()}, {cores} cores, load average {load:.1f} at the start."
    )


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "(not installed)"


def _cpu() -> str:
    information = Path("/proc/cpuinfo")
    text = information.read_text() if information.exists() else ""
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found[1] if found else platform.processor() or "unknown processor"


def _targets(targets: Sequence[Target]) -> str:
    return _table(("", "measured", "target", ""), [_target(target) for target in targets])


def _target(target: Target) -> tuple[str, str, str, str]:
    measured, limit = (f"{_number(value)} {target.unit}" for value in (target.value, target.limit))
    return target.what, measured, f"{target.sense} {limit}", "pass" if target.met else "**FAIL**"


def _cell(race: Race, label: str, *references: str) -> str:
    """Ratio to the first reference in bold, to the others in brackets, and the time."""
    if label in race.failures:
        return "failed"
    if label not in race.nanoseconds:
        return _MISSING
    time = _time(race.nanoseconds[label])
    if label in references:
        return time
    first, *others = (f"{_number(race.ratio(label, reference))}x" for reference in references)
    return f"**{first}**{''.join(f' ({other})' for other in others)}, {time}"


def _simulations(results: Results) -> str:
    races = {workload.title: results.simulations[workload.name] for workload in WORKLOADS}
    table = _side_by_side(results.contestants, races, tuple(ours.WORKERS), contestants.NAMES)
    return f"{_TIMES_OURS}\n\n{table}"


def _side_by_side(entered: Entered, races: Mapping[str, Race], references: Sequence[str], names: Sequence[str]) -> str:
    """Ours and theirs, a column for each race."""
    loaded = [entered[name].label for name in names if name in entered]
    rows = [_row(races, label, *references) for label in (*references, *loaded)]
    rows += [(name, *("not loaded" for _ in races)) for name in names if name not in entered]
    return _table(("", *races), rows)


def _row(races: Mapping[str, Race], label: str, *references: str) -> tuple[str, ...]:
    return label, *(_cell(race, label, *references) for race in races.values())


def _bounded(results: Results) -> str:
    rows = [_row(results.bounded, label, "GLUE") for label in BOUNDED]
    return f"In bold, how many times longer than GLUE.\n\n{_table(('', *results.bounded), rows)}"


def _linear_simulations(results: Results) -> str:
    races = {workload.title: results.linear_simulations[workload.name] for workload in LINEAR_WORKLOADS}
    fewer = [f"{c.label} {c.horizon:,}" for c in results.linear_contestants.values() if c.horizon < HORIZON]
    rounds = f" Rounds of those that play fewer: {'; '.join(fewer)}." if fewer else ""
    table = _side_by_side(results.linear_contestants, races, tuple(ours.WORKERS), contestants.LINEAR_NAMES)
    return f"{_TIMES_OURS}{rounds}\n\n{table}"


def _linear_bounded(results: Results) -> str:
    rows = [_row(results.linear_bounded, label, "OFUL") for label in LINEAR_BOUNDED]
    return f"In bold, how many times longer than OFUL.\n\n{_table(('', *results.linear_bounded), rows)}"


def _linear_loops(results: Results) -> str:
    intro = (
        "OFUL on one thread with `kernels/fast/oful.py` and with `kernels/linear/play.py`, which makes the same "
        "decisions. In bold, how many times longer than the fast loop."
    )
    rows = [_row(results.linear_loops, label, ours.FAST_LOOP) for label in (ours.FAST_LOOP, ours.PLAIN_LOOP)]
    return f"{intro}\n\n{_table(('', *results.linear_loops), rows)}"


def _solvers(results: Results) -> str:
    apart = max(apart for _, apart in results.solvers.values())
    intro = (
        "Time per program of `tighten`, two for each arm. In bold, how many times longer than ours; values differ by "
        f"{apart:.1e} at most."
    )
    races = {title: race for title, (race, _) in results.solvers.items()}
    rows = [_row(races, label, solvers.OURS) for label in (solvers.OURS, solvers.CLARABEL)]
    return f"{intro}\n\n{_table(('', *races), rows)}"


def _solves(results: Results) -> str:
    intro = (
        "Time per round in the paper's setting. In bold, how many times longer than solving for the arms that can be "
        "best; the paper reports 6 to 6.7 for R-OFUL against solving for every arm."
    )
    races = {f"{offered} of 100 on offer": race for offered, race in results.solves.items()}
    rows = [_row(races, label, solves.KEPT) for label in (solves.EVERY, solves.KEPT, solves.NEEDED)]
    return f"{intro}\n\n{_table(('', *races), rows)}"


def _logs(results: Results) -> str:
    intro = (
        f"Counting {logs.ROWS:,} rows of Parquet, {logs.CONTEXTS} contexts x {logs.ARMS} arms, beside a bare "
        "`GROUP BY` of DuckDB, which checks nothing."
    )
    rows = [
        (
            result.rewards,
            f"{_number(result.bare_seconds)} s",
            f"**{_number(result.ratio)}x**, {_number(result.our_seconds)} s",
            f"{_number(result.megabytes)} MB",
        )
        for result in results.logs
    ]
    return f"{intro}\n\n{_table(('rewards', 'bare', 'meanbounds', 'peak memory'), rows)}"


def _calls(results: Results) -> str:
    intro = f"In bold, how many times longer than `{AGENTS[0]}`; in brackets, than `{AGENTS[1]}`. Theirs is UCB."
    return f"{intro}\n\n{_side_by_side(results.contestants, results.calls, AGENTS, contestants.LIBRARIES)}"


def _processes(results: Results) -> str:
    rows = []
    for job, (title, _) in fresh.JOBS.items():
        usage = results.usages.get(job)
        rows.append((title, *(("failed",) * 2 if usage is None else _usage(usage))))
    note = "Each in a new process, imports included. mabwiser and coba would take minutes and are left out."
    imported = f"`import meanbounds` in a new process takes {_number(results.import_seconds)} s."
    return f"{note}\n\n{_table(('', 'peak memory', 'time'), rows)}\n\n{imported}"


def _usage(usage: fresh.Usage) -> tuple[str, str]:
    return f"{_number(usage.megabytes)} MB", f"{_number(usage.seconds)} s"


def _called(results: Results) -> str:
    lines = [f"- {contestant.label}: {contestant.how}" for contestant in results.contestants.values()]
    lines += [f"- {contestant.label}, linear: {contestant.how}" for contestant in results.linear_contestants.values()]
    return "\n".join(lines)
