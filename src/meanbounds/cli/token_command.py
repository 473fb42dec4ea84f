"""``meanbounds token``: who may ask a service for what."""

from __future__ import annotations

import argparse
import json
import time
from typing import TYPE_CHECKING

from meanbounds.cli.command import Command, tell
from meanbounds.cli.store_options import STORE, agent_name, names_in, open_database

if TYPE_CHECKING:
    from meanbounds.service.database import Database

__all__ = ["COMMAND"]

_OPEN = """\
open: without a token, programs and browsers on the machine that serves may do
everything, changes too; nobody else may do anything, and meanbounds serve
listens on that machine only. To end this: meanbounds token {} --close"""
_CLOSED = "closed: without a token nobody may do anything; services notice within two seconds"


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("store", metavar="STORE", help=STORE)
    what = "what the token allows: decide, reward, observe, read, admin"
    parser.add_argument("scopes", metavar="SCOPE", nargs="*", help=what)
    parser.add_argument("--agents", nargs="+", metavar="AGENT", help="the agents it is for; default: all")
    parser.add_argument("--name", metavar="NAME", help="who gets it, such as ward-3; changes are signed with it")
    parser.add_argument(
        "--days", type=float, metavar="DAYS", help="how long it is valid, such as 90; default: for ever"
    )
    group = parser.add_argument_group("instead of making one")
    only = group.add_mutually_exclusive_group()
    only.add_argument("--list", action="store_true", help="list the tokens, without their secrets")
    only.add_argument("--revoke", metavar="ID", help="take back the token with this id")
    what = "answer without a token, to programs and browsers on the machine that serves, and to nobody else"
    only.add_argument("--open", action="store_true", help=what)
    only.add_argument(
        "--close", action="store_true", help="answer to nobody without a token, which is how a store starts"
    )


def _run(options: argparse.Namespace) -> None:
    """Make, list or revoke tokens, or say who needs one."""
    from meanbounds.service import access

    others = options.list, options.revoke is not None, options.open, options.close
    making = options.agents is not None or options.name is not None or options.days is not None
    if bool(options.scopes) == any(others) or (making and not options.scopes):
        raise ValueError(
            f"say what the token allows, such as decide reward (all are: {', '.join(access.SCOPES)}), "
            f"or give only --list, --revoke ID, --open or --close"
        )
    with open_database(options.store) as database:
        if options.list:
            _list(database)
        elif options.revoke is not None:
            access.revoke_token(database, options.revoke)
            print(f"revoked: {options.revoke}; services notice within two seconds")
        elif options.open or options.close:
            with database.writing():
                database.put("meta", ("access", "loopback" if options.open else "tokens"))
            print(_OPEN.format(database.shown) if options.open else _CLOSED)
        else:
            agents = options.agents and [agent_name(names_in(database), name) for name in options.agents]
            print(access.make_token(database, options.scopes, agents, options.name or "", options.days))
            tell("This is shown once, and the store keeps only a hash. Send it as the header")
            tell("Authorization: Bearer TOKEN")


def _list(database: Database) -> None:
    """Print the tokens, those that are valid first."""
    now = time.time()
    rows = [("id", "name", "allows", "agents", "valid")]
    for token in sorted(database.tokens(), key=lambda token: token.revoked):
        agents = "all" if token.agents is None else " ".join(json.loads(token.agents))
        until = (
            "for ever"
            if token.expires is None
            else time.strftime("until %Y-%m-%d %H:%M UTC", time.gmtime(token.expires))
        )
        until = "revoked" if token.revoked else "expired" if (token.expires or now) < now else until
        rows.append((token.id, token.name or "-", " ".join(json.loads(token.scopes)), agents, until))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows if len(rows) > 1 else ():
        print("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())
    who = "programs on the machine that serves" if database.meta()["access"] == "loopback" else "nobody"
    print(f"{'no tokens; ' * (len(rows) == 1)}without a token, {who} may do anything")


COMMAND = Command(
    name="token",
    help="make, list and revoke the tokens that a service wants to see",
    example="meanbounds token clinic.db decide reward --name ward-3 --days 90",
    add_options=_add_options,
    run=_run,
)
