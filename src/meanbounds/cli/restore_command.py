"""``meanbounds restore``: a store from a backup."""

from __future__ import annotations

import argparse

from meanbounds.cli.command import Command, patience
from meanbounds.cli.store_options import STORE

__all__ = ["COMMAND"]


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE.db", help="a file that backup wrote")
    parser.add_argument("store", metavar="STORE", help=f"{STORE}, which is made: nothing is overwritten")


def _run(options: argparse.Namespace) -> None:
    """Check the backup, and copy it to where there is no store yet."""
    from meanbounds.service.copies import restore

    with patience("copying the backup"):
        restore(options.file, options.store)
    print("restored; the copy has been checked: its checksums and its chain of events are right")


COMMAND = Command(
    name="restore",
    help="make a store again from a backup, after checking it",
    example="meanbounds restore copy.db clinic.db",
    add_options=_add_options,
    run=_run,
)
