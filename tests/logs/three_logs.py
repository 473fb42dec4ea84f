"""Logs of experts who are good, bad and hard to tell, of 6,000 rows each; what the truth is stands beside them."""

from typing import Any

import meanbounds as mb

NAMES: dict[str, Any] = {"contexts": ["north", "south"], "arms": ["aspirin", "heparin", "watch"]}

GOOD = mb.simulation.HiddenContexts(  # each option suits some cases, and experts know which: 0.85 beats every option
    [[[0.9, 0.4, 0.3], [0.3, 0.8, 0.4]], [[0.85, 0.5, 0.3], [0.4, 0.9, 0.3]]], **NAMES
)
BAD = mb.simulation.HiddenContexts(  # aspirin is best in every case, and experts mostly choose something else
    [[[0.9, 0.35, 0.3], [0.8, 0.3, 0.4]], [[0.85, 0.4, 0.3], [0.8, 0.45, 0.3]]],
    choices=[[[0.2, 0.5, 0.3], [0.2, 0.4, 0.4]], [[0.2, 0.5, 0.3], [0.2, 0.4, 0.4]]],
    **NAMES,
)
UNCLEAR = mb.simulation.HiddenContexts(  # options and experts are about equally good
    [[[0.6, 0.55, 0.5], [0.5, 0.6, 0.4]], [[0.65, 0.5, 0.55], [0.5, 0.6, 0.5]]], errors=0.4, **NAMES
)


def log_of(cases: mb.simulation.HiddenContexts, rows: int = 6_000) -> mb.logs.Counts:
    """The counts of a log."""
    return mb.logs.read(cases.log(rows, seed=3), context="context")


def made(count: Any, total: Any, squares: Any = None, *, contexts: Any = (None,), arms: Any = None, **more: Any) -> Any:
    """Counts from lists; rewards are 0 and 1 unless squares are given."""
    names = tuple("abcdef"[: len(count[0])]) if arms is None else tuple(arms)
    return mb.logs.Counts(tuple(contexts), names, count, total, total if squares is None else squares, **more)
