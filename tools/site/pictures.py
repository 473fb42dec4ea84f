"""The pictures of the site, drawn while it is built."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
from benchmarks import cone, naive, theory, trust

from meanbounds.cli import main

__all__ = ["PICTURES", "draw"]

RUNS, FEW = 200, 10  # simulated runs behind a picture


def regret(path: Path, runs: int) -> None:
    """The picture of the front page: `meanbounds demo --picture-only` draws it as `make demo` does."""
    del runs
    if main(["demo", "--picture-only", "-o", str(path.parent)]) != 0:
        raise SystemExit("the picture of the front page could not be drawn; the line above says why")


PICTURES: dict[str, Callable[[Path, int], None]] = {
    "images/regret.png": regret,
    "images/cone.png": lambda path, _: cone.draw(path),
    "images/theory.png": theory.draw,
    "images/trust.png": trust.draw_trust,
    "images/alarm.png": lambda path, _: trust.draw_alarm(path),
    "images/naive.png": naive.draw,
}


def draw(folder: Path, *, quick: bool = False) -> None:
    """Draw every picture into a folder, from fewer runs if `quick`."""
    mpl.use("Agg")
    for name, paint in PICTURES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        paint(folder / name, FEW if quick else RUNS)
