"""``meanbounds sensitivity``: how much of the result rests on each assumption."""

from __future__ import annotations

import argparse
from pathlib import Path

import meanbounds as mb
from meanbounds.cli.command import Command
from meanbounds.cli.files import need, save_picture, save_table
from meanbounds.cli.log_options import add_log_options, assumptions, listed_arms, read_log
from meanbounds.cli.messages import in_options

__all__ = ["COMMAND"]


def _add_options(parser: argparse.ArgumentParser) -> None:
    """The log, the assumptions to try, and where to put what comes out."""
    add_log_options(parser, several=True)
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="TABLE.csv",
        help="write a row for each context and each combination of assumptions, for example to grid.csv; names that a "
        "spreadsheet would run as a formula, such as =A1, get an apostrophe in front",
    )
    parser.add_argument(
        "--plot", type=Path, metavar="PICTURE.png", help="draw a heat map over both gaps, for example to gaps.png"
    )


def _run(options: argparse.Namespace) -> None:
    """Print at which value of each assumption a decision changes, and which one."""
    need(*["pandas"] * bool(options.output), *["matplotlib"] * bool(options.plot))
    counts = read_log(options)
    found = mb.logs.sensitivity(counts, **assumptions(options), arms=listed_arms(options, counts))
    print(in_options(found.summary()))
    if options.output:
        save_table(found.to_frame(), options.output)
        print(f"written: {options.output}")
    if options.plot:
        from matplotlib import pyplot as plt

        found.plot()
        print(f"written: {save_picture(plt.gcf(), options.plot)}")


COMMAND = Command(
    name="sensitivity",
    help="at which value of each assumption a different arm can be best, and which one",
    example="meanbounds sensitivity lab/log.parquet --context context --arm arm --reward reward --gap-low 0 0.05 0.1",
    add_options=_add_options,
    run=_run,
)
