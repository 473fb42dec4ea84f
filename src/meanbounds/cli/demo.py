"""``meanbounds demo``: how much regret bounds save, and the whole way from a log to decisions on one page."""

from __future__ import annotations

import argparse
import textwrap
from pathlib import Path

import meanbounds as mb
from meanbounds.cli.command import Command
from meanbounds.cli.files import need
from meanbounds.cli.simulate import write_study
from meanbounds.support.locking import locked

__all__ = ["COMMAND"]


def _add_options(parser: argparse.ArgumentParser) -> None:
    """Add options for the folder and the files to write."""
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("demo"), metavar="DIR", help="folder to write to; default: demo"
    )
    parser.add_argument("--picture-only", action="store_true", help="write the picture regret.png and nothing else")


def _run(options: argparse.Namespace) -> None:
    """Simulate one instance of the paper, then write the page."""
    need("matplotlib", "pyarrow", *["duckdb"] * (not options.picture_only))
    with locked(options.output):
        _write(options)


def _write(options: argparse.Namespace) -> None:
    """Write the study, and the page unless only the picture is wanted."""
    instance = mb.INSTANCES["high-lower-bound"]
    policies = {
        "UCB": mb.UCB(),
        "B-UCB": mb.BUCB(),
        "GLUE": mb.GLUE(),
        "B-KL-UCB": mb.BKLUCB(),
        "BIMED": mb.BIMED(),
        "Thompson sampling": mb.ThompsonSampling(),
    }
    environment = mb.Bernoulli(instance.means)
    regret = mb.simulate(policies, environment, bounds=instance.bounds, horizon=20_000, runs=200, seed=7)
    title = f"What bounds are worth: one arm is known to earn at least {instance.bounds.best_lower}"
    write_study(regret, options.output, title, picture_only=options.picture_only)
    if options.picture_only:
        return
    from meanbounds.cli.demo_page import write_page

    ucb, glue = regret.final["UCB"], regret.final["GLUE"]
    won = (glue < ucb).mean()
    print(f"\nWith the bounds, GLUE loses {1 - glue.mean() / ucb.mean():.0%} less than UCB without them, and less in "
          f"{won:.0%} of the paired runs.\n")  # fmt: skip
    print(textwrap.fill("From a log to decisions. " + write_page(options.output), 100))
    print(f"written: {options.output / 'index.html'}, the whole way; log.parquet and bounds.json are beside it")


COMMAND = Command(
    name="demo",
    help="from a log to decisions, with a page of pictures",
    example="meanbounds demo -o demo",
    add_options=_add_options,
    run=_run,
)
