"""Set-up shared by all tests."""

from __future__ import annotations

from pathlib import Path

import matplotlib
from hypothesis import settings

matplotlib.use("agg")
settings.register_profile("deterministic", derandomize=True, deadline=None)
settings.load_profile("deterministic")

SOURCE = Path(__file__).parents[1] / "src"


def drop_stale_kernels() -> None:
    """Compiled kernels are cached by the time stamp of their own file alone: drop all if any source is newer."""
    newest = max(path.stat().st_mtime for path in SOURCE.rglob("*.py"))
    cached = list(SOURCE.rglob("*.nb[ic]"))
    if any(path.stat().st_mtime < newest for path in cached):
        for path in cached:
            path.unlink(missing_ok=True)


drop_stale_kernels()
