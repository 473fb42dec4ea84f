"""``meanbounds start``: an agent from a log, and what to expect of it."""

from __future__ import annotations

import argparse
import getpass
import re
import shlex
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from meanbounds.cli.columns import add_agent, add_log, arguments, experts_of, read_log
from meanbounds.cli.command import Command, patience, writing
from meanbounds.cli.store_options import is_store, open_store, typed

if TYPE_CHECKING:
    from meanbounds.agents import Agent
    from meanbounds.linear import LinearAgent
    from meanbounds.logs import Counts
    from meanbounds.service.store import Store

__all__ = ["COMMAND"]


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_log(parser)
    add_agent(parser)
    what = "agent.json, or the store that keeps the agent and its decisions: clinic.db or postgresql://USER@HOST/NAME. "
    what += "It is made if it is missing. An agent of this name in it keeps what it has seen, and gets the new policy "
    what += "and bounds"
    parser.add_argument("-o", "--output", metavar="OUTPUT", help=what)
    what = "what to call the agent in a store; default: the log's file name"
    parser.add_argument("--name", metavar="NAME", help=what)


def _run(options: argparse.Namespace) -> None:
    """Print what to expect; write the agent."""
    from meanbounds.logs import start

    if not is_store(options.output or ""):
        if options.name is not None:
            raise ValueError("--name is for an agent in a store: give one with -o, such as -o clinic.db")
        counts = read_log(options)
        with patience("making the agent"):
            found = start(counts, experts_of(options), **arguments(options, counts))
        print(found)
        if options.output:
            with writing(Path(options.output), options.log):
                found.save(options.output)
            print(f"\nwritten: {options.output}")
        return
    name, counts = _name(options), read_log(options)
    with ExitStack() as stack:
        old = "://" in options.output or Path(options.output).exists()
        store = stack.enter_context(open_store(options.output, create=True)) if old else None
        if store is not None and name in store:
            counts = _with_observed(counts, store[name].agent)
        with patience("making the agent"):
            found = start(counts, experts_of(options), **arguments(options, counts))
        print(found)
        if store is None:
            store = stack.enter_context(open_store(options.output, create=True))
        _put(store, name, found.agent, typed(options.output))


def _name(options: argparse.Namespace) -> str:
    """What the agent is called: by default as the log."""
    name = Path(options.log).name.partition(".")[0] if options.name is None else options.name
    if not re.fullmatch(r"[A-Za-z0-9_.-]{1,200}", name):
        raise ValueError(f"give the agent a name with --name: letters, digits and . _ - only, not {name!r}")
    return str(name)


def _with_observed(counts: Counts, agent: Agent | LinearAgent) -> Counts:
    """The counts of the log with what an agent's experts chose since, in the contexts that it has; says so."""
    from meanbounds.agents import Agent
    from meanbounds.logs import with_observed
    from meanbounds.logs.words import quantity

    if not isinstance(agent, Agent):
        return counts
    known = agent.contexts or (None,)
    both, rest = ([one for one in counts.contexts if (one in known) == wanted] for wanted in (True, False))
    if not (both or counts.tree or agent.tree) or counts.weighted is not None or not agent.observed()[0].any():
        return counts
    if counts.tree != agent.tree:
        asked = quantity(int(agent.observed()[0].sum()), "case")
        print(f"Not added to the log: {asked} in which the agent asked your experts since, in other contexts.\n")
        return counts
    found = with_observed(counts.select(both) if rest else counts, agent)
    found = found + counts.select(rest) if rest else found
    print(
        f"Added to the log: {quantity(found.rows - counts.rows, 'case')} in which the agent asked your experts since."
    )
    print("If the log has them too, leave them out of it with --where.\n")
    return found


def _put(store: Store, name: str, agent: Agent, address: str) -> None:
    """Put the agent into the store, or its policy and knowledge into the agent of this name."""
    from meanbounds.logs.words import some

    shown = store.database.shown
    if name not in store:
        others = list(store)
        store.add(name, agent, by=_user())
        print(f"\nwritten: {shown}, agent {name}{f' (beside {some(others, 3)})' if others else ''}")
        first = agent.contexts[0] if agent.contexts else ()
        columns = [f"{column}=VALUE" for column in agent.tree.columns] if agent.tree else []
        words = ["--context"] * bool(first) + (columns or [*(first if isinstance(first, tuple) else (first,))])
        ask = shlex.join(["meanbounds", "decide", address, *[name] * (len(store) > 1), *words])
        print(f"Ask it with: {ask if ask.isprintable() else ascii(ask)}")
        return
    with store.reading() as states:
        before = states[name].version
    version = store[name].change(agent=agent, by=_user())
    print(f"\nwritten: {shown}, agent {name}, version {version}. What it has seen stays.")
    print(f'To undo this, in Python: mb.Store("{address}")["{name}"].rollback({before})')


def _user() -> str:
    """Who calls, for the list of changes."""
    with suppress(OSError, KeyError):  # a user without a name
        return f"{getpass.getuser()} (start)"
    return "start"


COMMAND = Command(
    name="start",
    help="make an agent from a log of experts, and say whether it should take over from them",
    example="meanbounds start log.csv --context clinic --arm treatment --reward recovered -o clinic.db",
    add_options=_add_options,
    run=_run,
)
