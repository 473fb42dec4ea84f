"""``meanbounds start``: an agent from a log, and what to expect of it."""

from __future__ import annotations

import argparse
from pathlib import Path

from meanbounds.cli.columns import add_agent, add_log, arguments, experts_of, read_log
from meanbounds.cli.command import Command, patience, writing

__all__ = ["COMMAND"]


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_log(parser)
    add_agent(parser)
    parser.add_argument("-o", "--output", type=Path, metavar="AGENT.json", help="the file for the agent")


def _run(options: argparse.Namespace) -> None:
    """Print what to expect; write the agent."""
    from meanbounds.logs import start

    counts = read_log(options)
    with patience("making the agent"):
        found = start(counts, experts_of(options), **arguments(options, counts))
    print(found)
    if options.output:
        with writing(options.output):
            found.save(options.output)
        print(f"\nwritten: {options.output}")


COMMAND = Command(
    name="start",
    help="make an agent from a log of experts, and say whether it should take over from them",
    example="meanbounds start log.csv --context clinic --arm treatment --reward recovered -o agent.json",
    add_options=_add_options,
    run=_run,
)
