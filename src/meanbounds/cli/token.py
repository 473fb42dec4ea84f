"""``meanbounds token``: make, list and revoke the tokens of a service."""

from __future__ import annotations

import argparse
import time
from importlib import import_module

from meanbounds.cli.command import Command
from meanbounds.cli.serve import STORE
from meanbounds.support.tables import text_table

__all__ = ["COMMAND"]


def _add_options(parser: argparse.ArgumentParser) -> None:
    """Add options for the store and the token."""
    parser.add_argument("--store", required=True, metavar="ADDRESS", help=STORE)
    parser.add_argument(
        "--scope",
        nargs="+",
        metavar="SCOPE",
        help="what the token allows, for example decide reward; also observe and admin",
    )
    parser.add_argument(
        "--agent", nargs="+", metavar="NAME", help="agents that it is for, such as stroke; default: all"
    )
    parser.add_argument("--name", default="", metavar="NAME", help="who gets it, for example ward-3; default: nobody")
    parser.add_argument(
        "--days", type=float, metavar="DAYS", help="number of days until it expires, for example 90; default: never"
    )
    parser.add_argument("--list", action="store_true", help="list the tokens of the store, without their secrets")
    parser.add_argument("--revoke", metavar="ID", help="take back the token with this id, such as 3f2a9c01b7de")


def _run(options: argparse.Namespace) -> None:
    """Do one of the three."""
    service = import_module("meanbounds.service")
    if (options.scope is not None) + options.list + (options.revoke is not None) != 1:
        raise ValueError("give --scope to make a token, --list to see all, or --revoke to take one back")
    store = service.open_store(options.store)
    if options.revoke is not None:
        if not store.revoke_token(options.revoke):
            raise ValueError(f"there is no token with the id {options.revoke!r}; --list shows them")
        print(f"revoked: {options.revoke}")
    elif options.list:
        rows = [
            [
                token.id,
                token.name or "-",
                " ".join(sorted(token.scopes)),
                "all" if token.agents is None else " ".join(sorted(token.agents)),
                "never" if token.expires is None else time.strftime("%Y-%m-%d", time.gmtime(token.expires)),
                "yes" if token.revoked else "no",
            ]
            for token in store.tokens()
        ]
        print(text_table(["id", "name", "scopes", "agents", "expires", "revoked"], rows, align="llllll"))
    else:
        if options.days is not None and not options.days > 0.0:
            raise ValueError(f"--days must be more than 0; got {options.days:g}")
        print(service.make_token(store, options.scope, agents=options.agent, name=options.name, days=options.days))
    store.close()


COMMAND = Command(
    name="token",
    help="make a token for a service; it is printed once, and the store keeps a hash of it",
    example="meanbounds token --store sqlite:state.db --scope decide reward",
    add_options=_add_options,
    run=_run,
)
