"""``meanbounds export``: the decisions of an agent as a table."""

from __future__ import annotations

import argparse
from pathlib import Path

from meanbounds.cli.command import Command, patience, writing
from meanbounds.cli.store_options import add_store, agent_name, names_in, open_database

__all__ = ["COMMAND"]


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_store(parser, "whose decisions are written")
    what = "the file for the rows, ending in .csv, .jsonl or .parquet"
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help=what)


def _run(options: argparse.Namespace) -> None:
    """Write a row for each decision."""
    from meanbounds.logs.words import quantity
    from meanbounds.service.export import columns, export

    with open_database(options.store) as database:
        name = agent_name(names_in(database), options.agent)
        with patience(f"reading {database.shown}"), writing(options.output):
            rows = export(database, name, options.output)
        contexts = [column for column in columns(database, name) if column.startswith("context")]
    print(f"written: {options.output}, {quantity(rows, 'decision')}")
    words = f" --context {' '.join(contexts)} --drop" if contexts else ""  # those of erased contexts have none
    print(f"Evaluate them with: meanbounds evaluate {options.output}{words}")


COMMAND = Command(
    name="export",
    help="write an agent's decisions and their rewards as a table",
    example="meanbounds export clinic.db -o decisions.csv",
    add_options=_add_options,
    run=_run,
)
