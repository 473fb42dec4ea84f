"""``meanbounds sensitivity``: how much of the result rests on each assumption."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import meanbounds as mb
from meanbounds.cli.assume import add_assume, assumption_of, propensity_columns
from meanbounds.cli.command import Command
from meanbounds.cli.files import need, save_picture, save_table
from meanbounds.cli.log_options import add_log_options, assumptions, listed_arms, read_log
from meanbounds.cli.messages import in_options

__all__ = ["COMMAND"]


def _add_options(parser: argparse.ArgumentParser) -> None:
    """The log, the assumptions to try, and where to put what comes out."""
    add_log_options(parser, several=True)
    add_assume(parser)
    parser.add_argument(
        "--try",
        dest="tried",
        action="append",
        nargs="+",
        metavar=("NAME", "VALUE"),
        help="values to try for a number of what --assume says, for example --assume erring=0.05 --try errors 0.05 0.1 "
        "0.2; the first is the one judged. Numbers are errors, loss, odds, gap-low and gap-high; given several times, "
        "all combinations are tried",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="TABLE.csv",
        help="write a row for each context and each combination of assumptions, for example to grid.csv; names that a "
        "spreadsheet would run as a formula, such as =A1, get an apostrophe in front",
    )
    parser.add_argument(
        "--plot",
        type=Path,
        metavar="PICTURE.png",
        help="draw a heat map over the two numbers with several values, or over both gaps, for example to gaps.png",
    )


def _run(options: argparse.Namespace) -> None:
    """Print at which value of each assumption a decision changes, and which one."""
    need(*["pandas"] * bool(options.output), *["matplotlib"] * bool(options.plot))
    given = _assumed(options)
    counts = read_log(options, more=propensity_columns(options))
    found = mb.logs.sensitivity(counts, **given, arms=listed_arms(options, counts))
    print(in_options(found.summary()))
    if options.output:
        save_table(found.to_frame(), options.output)
        print(f"written: {options.output}")
    if options.plot:
        from matplotlib import pyplot as plt

        found.plot()
        print(f"written: {save_picture(plt.gcf(), options.plot)}")


def _assumed(options: argparse.Namespace) -> dict[str, Any]:
    """What is assumed and tried, as arguments of `meanbounds.logs.sensitivity`."""
    given = assumptions(options)
    gap_low = options.gap_low if any(options.gap_low) else None
    assumed = assumption_of(argparse.Namespace(**{**vars(options), "gap_low": gap_low}))
    if assumed is None:
        if options.tried:
            raise ValueError("--try needs --assume, for example --assume erring=0.05 --try errors 0.05 0.1")
        return given
    values = {name.replace("-", "_"): [_number(name, text) for text in texts] for name, *texts in options.tried or ()}
    return {**given, "gap_low": None, "gap_high": None, "assumption": assumed, "values": values}


def _number(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value < float("inf"):
        raise ValueError(f"--try {name} needs numbers that are not negative; got {text!r}")
    return value


COMMAND = Command(
    name="sensitivity",
    help="at which value of each assumption a different arm can be best, and which one",
    example="meanbounds sensitivity lab/log.parquet --context context --arm arm --reward reward --gap-low 0 0.05 0.1",
    add_options=_add_options,
    run=_run,
)
