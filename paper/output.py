"""What the modules share: claims, CSV files, and the command line."""

from __future__ import annotations

import argparse
import csv
import os
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

__all__ = ["CORRECTED", "FAILS", "FOLDER", "HOLDS", "Claim", "Experiment", "command", "verdict", "write_csv"]

FOLDER = "MEANBOUNDS_MOVIELENS"
"""The environment variable with the folder of MovieLens 1M."""

HOLDS, CORRECTED, FAILS = "holds", "holds after correction", "does not hold"


class Claim(NamedTuple):
    """A claim of the paper and what was found."""

    source: str
    text: str
    measured: str
    verdict: str


Experiment = Callable[[Path, bool], Sequence[Claim]]
"""Writes files into a folder, from less work if the second argument is true, and returns claims."""


def verdict(holds: bool, corrected: bool = False) -> str:
    """What becomes of a claim, as printed and after correction."""
    return HOLDS if holds else CORRECTED if corrected else FAILS


def write_csv(path: Path, header: str, rows: Iterable[Sequence[object]]) -> None:
    """Write rows to a CSV file below a header: the names of the columns, with commas between them."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header.split(","))
        writer.writerows(rows)


def command(description: str | None, *experiments: Experiment) -> tuple[argparse.Namespace, list[Sequence[Claim]]]:
    """Run experiments as the command line says, print their claims, and return what was given and found.

    Parameters
    ----------
    description
        What they do, for ``--help``.
    experiments
        What to run.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--out", type=Path, default=Path("reproduce"), help="folder for the files (default: reproduce)")
    parser.add_argument("--quick", action="store_true", help="less work, for a look")
    parser.add_argument("--movielens", metavar="FOLDER", help=f"MovieLens 1M (default: ${FOLDER}, or made-up ratings)")
    given = parser.parse_args()
    if given.movielens:
        os.environ[FOLDER] = given.movielens
    given.out.mkdir(parents=True, exist_ok=True)
    found = []
    for experiment in experiments:
        start = time.monotonic()
        found.append(experiment(given.out, given.quick))
        for claim in found[-1]:
            print(f"{claim.verdict}: {claim.source}: {claim.text}\n    {claim.measured}")
        print(f"    took {time.monotonic() - start:.0f} s", flush=True)
    print(f"written to {given.out}")
    return given, found
