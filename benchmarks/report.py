"""The results as Markdown."""

from __future__ import annotations

import datetime
import os
import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from textwrap import fill

from benchmarks.contest import Times, library, title
from benchmarks.targets import Target, scales
from benchmarks.workloads import LINEAR, PULLS, SIMULATIONS, TITLES

__all__ = ["report"]

_HOW = (
    "Each library plays in a process of its own, on one thread; they take turns, and the best time of several counts. "
    "Times are processor time of a round, policy and environment together. In bold: how many times longer than ours. "
    "Absolute numbers are this machine's, and it may have been busy: read the ratios."
)


def report(names: Sequence[str], times: Times, targets: Sequence[Target]) -> str:
    """The whole of RESULTS.md."""
    sections = {
        "Beside other libraries": _beside(names, times),
        "One pull and one update of UCB": _pulls(names, times),
        "Our policies": _policies(times),
        "Our policies for arms with features": _linear(times),
        "Targets and limits": _targets(targets, times),
    }
    body = "\n\n".join(f"## {heading}\n\n{fill(text, 120)}\n\n{table}" for heading, (text, table) in sections.items())
    head = "\n\n".join(fill(text, 120) for text in (_machine(), _HOW))
    return f"# Benchmarks\n\n{head}\n\n{body}\n\n## What is called\n\n{_called(names, times)}\n"


def _machine() -> str:
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in ("numpy", "scipy", "numba"))
    information = Path("/proc/cpuinfo")
    found = re.search(r"^model name\s*:\s*(.+)$", information.read_text() if information.exists() else "", re.MULTILINE)
    return (
        f"Written by `make bench` on {datetime.datetime.now(datetime.UTC):%Y-%m-%d}: Python "
        f"{platform.python_version()}, {versions}, {found[1] if found else platform.machine()}, "
        f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f} at the end."
    )


def _table(header: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    header = list(header)
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _number(value: float) -> str:
    """Three significant digits, without an exponent."""
    return f"{value:,.0f}" if value >= 100.0 else f"{value:.3g}"


def _time(nanoseconds: float) -> str:
    for size, unit in ((1e3, "ns"), (1e6, "µs"), (1e9, "ms")):
        if nanoseconds < size:
            return f"{_number(nanoseconds * 1e3 / size)} {unit}"
    return f"{_number(nanoseconds / 1e9)} s"


def _cell(times: Times, name: str, game: str, ours: str) -> str:
    if (name, game) in times.failures:
        return "failed"
    if (name, game) not in times.nanoseconds:
        return "-"
    own = times.of(name, game)
    return f"**{_number(own / times.of('ours', ours))}x**, {_time(own)}"


def _row(times: Times, title: str, games: Iterable[str]) -> list[str]:
    values = [times.nanoseconds.get(("ours", game)) for game in games]
    return [title, *("-" if value is None else _time(value) for value in values)]


def _side_by_side(names: Sequence[str], times: Times, games: Mapping[str, str], own: Sequence[Sequence[str]]) -> str:
    """A row for each library, a column for each of its games, with ours to compare it with."""
    rows = list(own)
    for name in names:
        if name in times.absent:
            rows.append([title(name), *["cannot be used"] * len(games)])
        elif any((name, game) in {**times.nanoseconds, **times.failures} for game in games):
            rows.append([title(name), *(_cell(times, name, game, ours) for game, ours in games.items())])
    return _table(["", *(TITLES[game] for game in games)], rows)


def _beside(names: Sequence[str], times: Times) -> tuple[str, str]:
    games = {**{game: game for game in SIMULATIONS}, **{game: f"numpy {game}" for game in LINEAR}}
    own = [
        _row(times, "meanbounds, compiled loops", SIMULATIONS) + ["-"] * len(LINEAR),
        _row(times, "meanbounds, numpy", [f"numpy {game}" for game in games]),
    ]
    text = (
        "10,000 rounds with rewards of 0 and 1, fewer where that takes long. W1 and W2 have means 0.9, 0.8, 0.7, 0.6 "
        "and 0.5, W3 has means from 0.1 to 0.9, W4 has unit arms in R^10 with one shared parameter. Ours are 200 runs, "
        "regret curves included. Ratios are to the loops; with features, to numpy."
    )
    return text, _side_by_side(names, times, games, own)


def _pulls(names: Sequence[str], times: Times) -> tuple[str, str]:
    own = {game: f"agent UCB {game}" for game in PULLS}
    text = "A ratio below 1 is faster than ours: an Agent decides in numpy, for one context or for many."
    return text, _side_by_side(names, times, own, [_row(times, "meanbounds, Agent", own.values())])


def _policies(times: Times) -> tuple[str, str]:
    columns = [f"{way} {{}} {game}" for way in ("loop", "numpy", "agent") for game in PULLS]
    labels = dict.fromkeys(game.split()[1] for _, game in times.nanoseconds if game.endswith(" P5"))
    rows = [_row(times, label, [column.format(label) for column in columns]) for label in labels]
    ways = ("compiled loop", "numpy", "pull and update")
    text = "A decision of 200 runs side by side, and one of an agent, with bounds that say nothing."
    return text, _table(["", *(f"{way}, {arms} arms" for way in ways for arms in (5, 50))], rows)


def _linear(times: Times) -> tuple[str, str]:
    games = [game for _, game in times.nanoseconds if game.startswith("agent ") and not re.search(r" P\d+$", game)]
    labels = [game.removeprefix("agent ") for game in games]
    rows = [_row(times, label, [f"numpy {label}", f"agent {label}"]) for label in labels]
    text = (
        "The same in the paper's setting, 10 of 100 arms in R^10 on offer, with bounds up to 0.5 away from each mean."
    )
    return text, _table(("", "numpy", "pull and update"), rows)


def _targets(targets: Sequence[Target], times: Times) -> tuple[str, str]:
    scale, missed = scales(times), sum(not target.kept for target in targets)
    text = (
        f"**Kept: {len(targets) - missed}. Missed: {missed}.** Limits on times are those of a reference machine, "
        f"scaled by how long river's UCB takes in the same run: {scale['P5']:.2f} times as long at 5 arms; "
        f"{scale['P50']:.2f} times at 50, for limits at 50 arms."
    )
    rows = []
    for target in sorted(targets, key=lambda target: target.kept):
        ends = (target.value, target.limit, target.reference)
        shown = [f"{_number(end)}x" if target.is_ratio else _time(1e3 * end) for end in ends]
        shown[1] = f"{'at least' if target.is_ratio else 'at most'} {shown[1]}"
        rows.append([target.what, *shown, "kept" if target.kept else "**missed**"])
    return text, _table(("", "measured", "here", "reference", ""), rows)


def _called(names: Sequence[str], times: Times) -> str:
    lines = []
    for name in ("ours", *names):
        how, version = library(name).__doc__, times.versions.get(name)
        lines.append(f"- {title(name)}{f' {version}' if version else ''}: {' '.join((how or '').split())}")
        if name in times.absent:
            lines.append(f"  It cannot be used here: {times.absent[name]}")
    lines += [f"- {title(name)} failed in {game}: {why}" for (name, game), why in times.failures.items()]
    return "\n".join(lines)
