"""``meanbounds explain``: a page for the people who decide."""

from __future__ import annotations

import argparse
from pathlib import Path

from meanbounds.cli.columns import add_agent, add_log, arguments, experts_of, read_log
from meanbounds.cli.command import Command, patience, writing

__all__ = ["COMMAND"]


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_log(parser)
    add_agent(parser)
    what = "the page, which any browser opens; default: page.html"
    parser.add_argument("-o", "--output", type=Path, default=Path("page.html"), metavar="PAGE.html", help=what)


def _run(options: argparse.Namespace) -> None:
    """Write the page, and print its conclusion."""
    from meanbounds.logs import explain

    counts = read_log(options)
    with patience("writing the page"):
        found = explain(counts, experts_of(options), **arguments(options, counts))
        with writing(options.output, options.log):
            found.save(options.output)
    print(f"Conclusion: {found.start.in_words()}\nwritten: {options.output}; open it in a browser")


COMMAND = Command(
    name="explain",
    help="write a page that says what a log shows, what it cannot show, and what would have to be true",
    example="meanbounds explain log.csv --context clinic --arm treatment --reward recovered -o page.html",
    add_options=_add_options,
    run=_run,
)
