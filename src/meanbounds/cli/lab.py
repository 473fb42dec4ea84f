"""``meanbounds lab``: the log of an expert in a made-up world, and the true means that the log does not show."""

from __future__ import annotations

import argparse
import csv
import io
import math
from pathlib import Path

import meanbounds as mb
from meanbounds.cli.command import Command
from meanbounds.support.locking import locked
from meanbounds.support.writing import write_text_atomically

__all__ = ["COMMAND"]

_SIZES = (
    ("rows", 20_000, "number of rows in the log"),
    ("visible", 3, "number of contexts that the log records"),
    ("hidden", 6, "number of hidden types of case in each context, which only the expert sees"),
    ("arms", 5, "number of arms"),
    ("seed", 7, "whole number that the world and its log are drawn from: the same seed gives the same files"),
)


def _add_options(parser: argparse.ArgumentParser) -> None:
    """Add options for the sizes of the world and the log, and for the folder."""
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("lab"), metavar="DIR", help="folder to write to; default: lab"
    )
    for name, default, words in _SIZES:
        parser.add_argument(
            f"--{name}", type=int, default=default, metavar="NUMBER", help=f"{words}; default: {default}"
        )


def _run(options: argparse.Namespace) -> None:
    """Write log.parquet and truth.csv, and print the command to try next."""
    world = mb.HiddenContexts.random(
        visible=options.visible, hidden=options.hidden, arms=options.arms, seed=options.seed
    )
    log, truth = options.output / "log.parquet", options.output / "truth.csv"
    with locked(options.output):
        world.write_log(log, options.rows, seed=options.seed)
        _write_truth(world, truth)
    print(f"written: {log} ({options.rows:,} rows), {truth}")
    least, most = math.floor(1000 * world.gap_low.min()) / 1000, math.ceil(1000 * world.gap_high.max()) / 1000
    print(
        f"next: meanbounds bounds {log} --context context --arm arm --reward reward --gap-low {least} --gap-high {most}"
    )


def _write_truth(world: mb.HiddenContexts, path: Path) -> None:
    """A row for each context and arm: its true mean, and the gaps of the context."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["context", "arm", "mean", "gap_low", "gap_high"])
    for z, context in enumerate(world.contexts):
        gaps = [f"{world.gap_low[z]:.6f}", f"{world.gap_high[z]:.6f}"]
        for arm, mean in zip(world.arms, world.marginal_means[z], strict=True):
            writer.writerow([context, arm, f"{mean:.6f}", *gaps])
    write_text_atomically(path, file.getvalue())


COMMAND = Command(
    name="lab",
    help="write the log of an expert in a made-up world, and its truth, to try bounds and sensitivity on",
    example="meanbounds lab -o lab",
    add_options=_add_options,
    run=_run,
)
