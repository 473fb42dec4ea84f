"""``meanbounds refute``: which assumptions a log speaks against."""

from __future__ import annotations

import argparse
from pathlib import Path

import meanbounds as mb
from meanbounds.cli.assume import add_assume, assumption_of, propensity_columns
from meanbounds.cli.command import Command
from meanbounds.cli.files import need, save_table
from meanbounds.cli.log_options import add_arms, add_columns, listed_arms, read_log
from meanbounds.cli.messages import quantity

__all__ = ["COMMAND"]


def _add_options(parser: argparse.ArgumentParser) -> None:
    """Add options for the log, what is assumed, and the columns that can speak against it."""
    add_columns(parser)
    add_assume(parser)
    parser.add_argument(
        "--equal-cases",
        metavar="COLUMN",
        help="the column with the same value in cases that were the same to the expert and were decided independently, "
        "for example patient where two doctors saw each patient's record",
    )
    parser.add_argument(
        "--independent-rows",
        action="store_true",
        help="equal cases came up by chance, row by row, as those with the same description do; default: cases may "
        "also have been drawn first and decided several times, which refutes less",
    )
    parser.add_argument(
        "--decider",
        metavar="COLUMN",
        help="the column that says who decided, for example doctor, if cases went to deciders as if by lot",
    )
    parser.add_argument(
        "--randomised",
        type=Path,
        metavar="LOG",
        help="a second log, with the same columns of context, arm and reward, in which arms were drawn by lot; for "
        "example trial.parquet",
    )
    parser.add_argument(
        "--confidence",
        type=float,
        default=0.95,
        metavar="PROBABILITY",
        help="if all that is assumed is true, nothing is refuted with this probability or more; default: 0.95",
    )
    parser.add_argument(
        "--method",
        choices=("kl", "bernstein", "hoeffding"),
        default="kl",
        help="how the size of the log is allowed for: kl (the default) refutes most from a few thousand rows, "
        "bernstein from more, hoeffding is the simplest",
    )
    add_arms(parser)
    parser.add_argument(
        "-o", "--output", type=Path, metavar="TABLE.csv", help="write what is refuted, for example to refuted.csv"
    )
    parser.set_defaults(gap_low=0.0, gap_high=None)


def _run(options: argparse.Namespace) -> None:
    """Print what the log speaks against, and what it would still allow."""
    need(*["pandas"] * bool(options.output))
    assumed = assumption_of(options) or mb.logs.OptimalExpert()
    columns = {"equal_cases": options.equal_cases, "time": options.time, "decider": options.decider}
    more = [*propensity_columns(options), *(name for name in columns.values() if name)]
    reading = dict(vars(options))
    if options.since is None and options.until is None:
        reading["time"] = None  # it sorts the rows, and leaves none out
    names = [name for name in dict.fromkeys(more) if name not in (options.context or ())]
    counts = read_log(argparse.Namespace(**reading), more=names)
    lot = None
    if options.randomised:
        lot = read_log(argparse.Namespace(**{**reading, "log": str(options.randomised)}))
    found = mb.logs.refute(
        counts,
        assumed,
        **columns,
        independent_rows=options.independent_rows,
        randomised=lot,
        confidence=options.confidence,
        method=options.method,
        arms=listed_arms(options, counts),
    )
    print(quantity(counts.rows, "row"))
    print(_in_options(found.summary()))
    if options.output:
        save_table(found.to_frame(), options.output)
        print(f"written: {options.output}")


def _in_options(text: str) -> str:
    """Name options of the command line where a text names Python arguments; gaps are words of ``--assume``."""
    for name in ("equal_cases", "time", "decider", "randomised"):
        text = text.replace(f"{name}=", f"--{name.replace('_', '-')}")
    return text.replace("gap_low", "gap-low").replace("gap_high", "gap-high")


COMMAND = Command(
    name="refute",
    help="which assumptions a log speaks against, and what it would still allow; nothing is ever confirmed",
    example="meanbounds refute lab/log.parquet --context context --arm arm --reward reward --assume erring=0.02",
    add_options=_add_options,
    run=_run,
)
