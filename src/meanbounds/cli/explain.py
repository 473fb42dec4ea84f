"""``meanbounds explain``: a page for the person who decides."""

from __future__ import annotations

import argparse
import textwrap
from pathlib import Path

import meanbounds as mb
from meanbounds.cli.assume import add_assume, assumption_of
from meanbounds.cli.command import Command
from meanbounds.cli.log_options import add_log_options, assumptions, listed_arms, read_log

__all__ = ["COMMAND"]


def _add_options(parser: argparse.ArgumentParser) -> None:
    """Add options for the log, what is judged of the expert, and the page."""
    add_log_options(parser, several=False)
    add_assume(parser)
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="NUMBER",
        help="a whole number from which the simulated decisions follow, for example 7; default: 0",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("explained.html"),
        metavar="PAGE.html",
        help="the page to write, which any browser opens; default: explained.html",
    )


def _run(options: argparse.Namespace) -> None:
    """Write the page, and print its three main sentences."""
    assumed = assumption_of(options)
    given = assumptions(options)
    gaps = {name: given.pop(name) for name in ("gap_low", "gap_high")}
    judged = mb.logs.OptimalExpert(**gaps) if assumed is None else assumed
    counts = read_log(options)
    found = mb.logs.explain(counts, judged, **given, arms=listed_arms(options, counts), seed=options.seed)
    found.save(options.output, Path(options.log).name)
    for number, sentence in enumerate(found.sentences, start=1):
        print(textwrap.fill(f"{number}. {sentence}", 100, subsequent_indent="   ", break_long_words=False))
    print(f"written: {options.output}; open it in a browser")


COMMAND = Command(
    name="explain",
    help="a page for the person who decides: what a log says, what rests on a judgement, and what it saves",
    example="meanbounds explain lab/log.parquet --context context --arm arm --reward reward -o page.html",
    add_options=_add_options,
    run=_run,
)
