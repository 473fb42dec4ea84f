"""``meanbounds export``: the log of a service as a Parquet file, or a copy of the whole store."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

from meanbounds.cli.command import Command
from meanbounds.cli.messages import quantity
from meanbounds.cli.serve import STORE

__all__ = ["COMMAND"]


def _add_options(parser: argparse.ArgumentParser) -> None:
    """Add options for the store, the rows and the file."""
    parser.add_argument("--store", required=True, metavar="ADDRESS", help=f"{STORE}; it may be in use")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="the Parquet file, for example log.parquet")
    parser.add_argument("--agent", metavar="NAME", help="the agent, for example stroke; default: all of them")
    parser.add_argument(
        "--rows",
        choices=("all", "decisions", "observations", "experts"),
        default="all",
        help="which rows: what agents decided, what was observed, or all that experts did; default: all",
    )
    parser.add_argument(
        "--backup", metavar="FILE", help="copy the whole store to this file, for example copy.db, while it is in use"
    )


def _run(options: argparse.Namespace) -> None:
    """Write the file, and say what is in it."""
    service = import_module("meanbounds.service")
    if (options.output is None) == (options.backup is None):
        raise ValueError("give -o FILE to write the log as a table, or --backup FILE to copy the store")
    store = service.open_store(options.store, create=False)
    if options.backup is not None:
        store.backup(options.backup)
        print(f"written: {options.backup}; meanbounds verify --store sqlite:{options.backup} checks it")
    else:
        rows = service.export(store, options.output, agent=options.agent, rows=options.rows)
        print(f"written: {options.output}, {quantity(rows, 'row')}")
        print("columns context, arm, reward and probability are what meanbounds bounds and logs.read ask for")
    store.close()


COMMAND = Command(
    name="export",
    help="write the log of a service as a Parquet file, with the probability of every decision",
    example="meanbounds export --store sqlite:state.db -o log.parquet",
    add_options=_add_options,
    run=_run,
)
