"""``meanbounds verify``: compute every decision of a service's log again."""

from __future__ import annotations

import argparse
from importlib import import_module

from meanbounds.cli.command import Command
from meanbounds.cli.messages import quantity
from meanbounds.cli.serve import STORE

__all__ = ["COMMAND"]


def _add_options(parser: argparse.ArgumentParser) -> None:
    """Add the option for the store."""
    parser.add_argument("--store", required=True, metavar="ADDRESS", help=f"{STORE}; it may be in use")


def _run(options: argparse.Namespace) -> None:
    """Verify; what differs is an error."""
    service = import_module("meanbounds.service")
    store = service.open_store(options.store, create=False)
    verdict = service.verify(store)
    store.close()
    parts = ", ".join(f"{number:,} {kind}" for kind, number in sorted(verdict.events.items()))
    print(f"{quantity(verdict.position, 'event')}: {parts or 'nothing'}")
    if not verdict.holds:
        print("\n".join(verdict.differences))
        raise ValueError(f"{quantity(verdict.different, 'decision')} came out otherwise, or the state did: see above")
    print("every arm, every probability and the state came out the same, to the last bit")


COMMAND = Command(
    name="verify",
    help="compute every decision of a service's log again, and compare",
    example="meanbounds verify --store sqlite:state.db",
    add_options=_add_options,
    run=_run,
)
