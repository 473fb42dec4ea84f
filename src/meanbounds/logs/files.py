"""Bounds of every context in one JSON file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from meanbounds.bounds import BoundsError, MeanBounds
from meanbounds.logs.counts import Context

__all__ = ["load_bounds", "save_bounds"]

_FORMAT = 1


def save_bounds(
    found: Mapping[Context, MeanBounds], path: str | Path, assumptions: Mapping[str, Any] | None = None
) -> None:
    """Write bounds by context, and what they rest on, as JSON; `load_bounds` reads them."""
    contexts = [
        {"context": list(context) if isinstance(context, tuple) else context, **bounds.to_dict()}
        for context, bounds in found.items()
    ]
    data = {"format": _FORMAT, "assumptions": dict(assumptions or {}), "contexts": contexts}
    Path(path).write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")


def load_bounds(path: str | Path) -> dict[Context, MeanBounds]:
    """Bounds by context, as `save_bounds` wrote them.

    Examples
    --------
    >>> import tempfile, pathlib, meanbounds as mb
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "bounds.json"
    >>> mb.logs.save_bounds({"old": mb.MeanBounds([0.1], [0.4])}, path)
    >>> mb.logs.load_bounds(path)
    {'old': MeanBounds([0.1], [0.4])}
    """
    data = json.loads(Path(path).read_text(encoding="utf-8"))
    if not isinstance(data, dict) or data.get("format") != _FORMAT:
        raise BoundsError(f"{path} holds no bounds by context in format {_FORMAT}; write it with save_bounds")
    found = {}
    for entry in data["contexts"]:
        context = entry.pop("context")
        found[tuple(context) if isinstance(context, list) else context] = MeanBounds.from_dict(entry)
    return found
