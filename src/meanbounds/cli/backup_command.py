"""``meanbounds backup``: a copy of a store in one file, while the store is in use."""

from __future__ import annotations

import argparse

from meanbounds.cli.command import Command, patience
from meanbounds.cli.store_options import STORE

__all__ = ["COMMAND"]


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("store", metavar="STORE", help=f"{STORE}; it may be in use")
    parser.add_argument("file", metavar="FILE.db", help="the file for the copy, which is made; it holds all secrets")


def _run(options: argparse.Namespace) -> None:
    """Copy the store."""
    from meanbounds.service.copies import backup

    with patience("copying the store"):
        backup(options.store, options.file)
    print(f"written: {options.file}\nCheck it with: meanbounds verify {options.file}")


COMMAND = Command(
    name="backup",
    help="copy a store to one file, also while it is in use",
    example="meanbounds backup clinic.db copy.db",
    add_options=_add_options,
    run=_run,
)
