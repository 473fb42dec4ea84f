"""Results as Markdown."""

from __future__ import annotations

import datetime
import os
import platform
import re
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

import meanbounds as mb
from benchmarks import contestants, fresh, ours
from benchmarks.results import AGENTS, BOUNDED, Results
from benchmarks.targets import Target
from benchmarks.timing import Race
from benchmarks.workloads import HORIZON, RUNS, WORKLOADS

_MISSING = "-"
_HOW = f"""\
Contestants take turns on the same machine in the same process, and the best call of each counts. Times are
wall-clock time per round, policy and environment together. Ours is one call of `simulate` with {RUNS} runs of
{HORIZON:,} rounds that also keeps the regret curves, after one call for compilation; theirs is one run of
{HORIZON:,} rounds. Read the ratios: absolute numbers are this machine's. Only ours uses more than one core,
and gains nothing by it while something else keeps the others busy."""


def report(results: Results, targets: Sequence[Target], load: float) -> str:
    """The whole of RESULTS.md."""
    sections = {
        "Targets": _targets(targets),
        "Simulation": _simulations(results),
        "Policies with bounds": _bounded(results),
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
    libraries = ", ".join(f"{name} {_version(name)}" for name in ("numpy", "numba", *contestants.LIBRARIES))
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
    references = tuple(ours.WORKERS)
    labels = [*references, *(_label(results, name) for name in contestants.NAMES)]
    rows = [
        (label, *(_cell(results.simulations[workload.name], label, *references) for workload in WORKLOADS))
        for label in labels
    ]
    intro = "In bold, how many times longer than ours on all cores; in brackets, than ours on one thread."
    return f"{intro}\n\n{_table(('', *(workload.title for workload in WORKLOADS)), rows)}"


def _label(results: Results, name: str) -> str:
    contestant = results.contestants.get(name)
    return name if contestant is None else contestant.label


def _bounded(results: Results) -> str:
    rows = [(label, *(_cell(race, label, "GLUE") for race in results.bounded.values())) for label in BOUNDED]
    return f"In bold, how many times longer than GLUE.\n\n{_table(('', *results.bounded), rows)}"


def _calls(results: Results) -> str:
    labels = [*AGENTS, *(_label(results, name) for name in contestants.LIBRARIES)]
    rows = [(label, *(_cell(race, label, *AGENTS) for race in results.calls.values())) for label in labels]
    intro = f"In bold, how many times longer than `{AGENTS[0]}`; in brackets, than `{AGENTS[1]}`. Theirs is UCB."
    return f"{intro}\n\n{_table(('', *results.calls), rows)}"


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
    return "\n".join(f"- {contestant.label}: {contestant.how}" for contestant in results.contestants.values())
