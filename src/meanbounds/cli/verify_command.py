"""``meanbounds verify``: whether a store is as it was written, and follows from what came before."""

from __future__ import annotations

import argparse

from meanbounds.cli.command import Command, patience
from meanbounds.cli.store_options import STORE, open_database

__all__ = ["COMMAND"]


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("store", metavar="STORE", help=f"{STORE}; it may be in use")


def _run(options: argparse.Namespace) -> int:
    """Print what was checked, or what is wrong; 1 if anything is."""
    from meanbounds.logs.words import quantity
    from meanbounds.service.refusals import StoreError
    from meanbounds.service.verify import verify

    sizes: list[str] = []
    try:
        with open_database(options.store) as database, patience(f"checking {database.shown}"):
            faults = verify(database)
            if not faults:
                found = {"context": len(database.contexts()), "token": len(database.tokens())}
                last = database.last()
                sizes = [quantity(*size[::-1]) for size in {"event": last.position if last else 0, **found}.items()]
    except StoreError as error:
        if error.kind != "damaged":
            raise
        faults = [str(error).removesuffix("; restore a backup")]
    if faults:
        print("\n".join([*faults, f"{quantity(len(faults), 'fault')}: restore a backup, and keep this store"]))
        return 1
    print(f"{', '.join(sizes)}: no fault")
    print("checked: the database itself, checksums, the chain of events, each decision")
    return 0


COMMAND = Command(
    name="verify",
    help="check a store: the database, the chain of its events, and every decision",
    example="meanbounds verify clinic.db",
    add_options=_add_options,
    run=_run,
)
