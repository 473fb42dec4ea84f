"""Options that commands about a store share: which store, which of its agents, and the names in it."""

from __future__ import annotations

import argparse
import json
import re
import shlex
from collections.abc import Iterable
from contextlib import closing
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from meanbounds.agents import Agent
    from meanbounds.agents.tree import Tree
    from meanbounds.linear import LinearAgent
    from meanbounds.service.database import Database
    from meanbounds.service.store import Store

__all__ = [
    "STORE",
    "add_store",
    "agent_name",
    "arm_of",
    "context_of",
    "is_store",
    "names_in",
    "open_database",
    "open_store",
    "range_of",
    "typed",
]

STORE = "a SQLite file such as clinic.db, or postgresql://USER@HOST/DATABASE"
_URL = "postgresql://", "postgres://"


def add_store(parser: argparse.ArgumentParser, agent: str = "") -> None:
    """Add the store, and the agent in it if the command is about one; `agent` says what for."""
    parser.add_argument("store", metavar="STORE", help=STORE)
    if agent:
        what = f"the agent {agent}; may be left out if the store has only one"
        parser.add_argument("agent", metavar="AGENT", nargs="?", help=what)


def is_store(text: str) -> bool:
    """Whether a word of the command line names a store, and not a file of rows or a saved agent.

    Examples
    --------
    >>> [is_store(text) for text in ("clinic.db", "postgresql://ana@host/clinic", "agent.json")]
    [True, True, False]
    """
    return text.startswith(_URL) or text.lower().endswith((".db", ".sqlite"))


def typed(address: str) -> str:
    """The address of a store in a command line to copy; STORE if a password is in it.

    Examples
    --------
    >>> typed("clinic.db"), typed("postgresql://ana@host/clinic"), typed("postgresql://ana:secret@host/clinic")
    ('clinic.db', 'postgresql://ana@host/clinic', 'STORE')
    """
    return "STORE" if re.search(r"://[^/@]*:[^/@]*@|[?&]password=", address) else address


def open_store(address: str, *, create: bool = False) -> Store:
    """Open a store; close it at the end."""
    from meanbounds.service.store import Store

    return Store(address, create=create)


def open_database(address: str) -> closing[Database]:
    """Open the database of a store without its agents, until the end of the block."""
    from meanbounds.service.database import connect

    return closing(connect(address))


def agent_name(names: Iterable[str], given: str | None) -> str:
    """The agent that is meant among those of a store: the one given, or the only one.

    Examples
    --------
    >>> agent_name(["stroke"], None), agent_name(["stroke", "sepsis"], "sepsis")
    ('stroke', 'sepsis')
    """
    from meanbounds.support.checks import unknown

    names = list(names)
    if given is None and len(names) != 1:
        said = f"has the agents {', '.join(names)}: say which, after the store" if names else "has no agent yet"
        raise ValueError(f"the store {said}")
    if given is not None and given not in names:
        raise LookupError(unknown("agent", given, names))
    return names[0] if given is None else given


def names_in(database: Database) -> list[str]:
    """The agents in a store, by its events."""
    return [event.agent for event in database.events(kinds=("create",))]


def context_of(known: tuple[Any, ...], words: list[str] | None, tree: Tree | None = None) -> Any:
    """The context that is written in these words, in the form that those of the agent have; a tree takes columns.

    Examples
    --------
    >>> context_of(("north", "south"), ["north"]), context_of((("north", "3"),), ["north", "4"])
    ('north', ('north', '4'))
    >>> context_of((("north",),), ["south"])
    ('south',)
    """
    from meanbounds.logs.words import quantity

    if words is None:
        return None
    if tree is not None and not set(words) <= set(known):
        if not all("=" in word for word in words):
            such = " ".join(f"{column}=VALUE" for column in tree.columns)
            raise ValueError(f"a case of this agent is given by columns, such as --context {such}; got {words}")
        columns = [word.split("=", 1)[0] for word in words]
        if twice := [column for column in columns if columns.count(column) > 1]:
            raise ValueError(f"{twice[0]!r} is given twice: give each column once")
        return tree.leaf(dict(word.split("=", 1) for word in words))
    forms = {len(own) if isinstance(own, tuple) else 1: own for own in reversed(known)}
    if forms and len(words) not in forms:
        size, one = [*forms.items()][-1]
        such = f"such as --context {shlex.join(one if isinstance(one, tuple) else [one])}"
        raise ValueError(f"a context of this agent is {quantity(size, 'word')}, {such}; got {len(words)}")
    return tuple(words) if len(words) > 1 or isinstance(forms.get(1), tuple) else words[0]


def arm_of(arms: tuple[Any, ...], word: str) -> Any:
    """The arm that is written so: a whole number if the agent has it, the experts, or a new arm in JSON.

    Examples
    --------
    >>> arm_of((1, 2), "2"), arm_of(("tPA", "watch"), "tPA"), arm_of(("2", "3"), "2")
    (2, 'tPA', '2')
    >>> arm_of(("old",), '{"name": "new", "features": [0.5, 1]}')
    {'name': 'new', 'features': [0.5, 1]}
    """
    from meanbounds.bounds import EXPERT

    named = {"expert" if arm is EXPERT else str(arm): arm for arm in sorted(arms, key=lambda arm: arm is not EXPERT)}
    if word.startswith("{") and word not in named:
        try:
            return json.loads(word)
        except ValueError as error:
            raise ValueError(f"{word} is neither an arm nor JSON that describes a new one: {error}") from None
    return named.get(word, word)


def range_of(agent: Agent | LinearAgent) -> tuple[float, float]:
    """The least and the greatest reward that any option can have."""
    from meanbounds.bounds import EXPERT

    where = getattr(agent, "contexts", ())[:1]
    bounds = agent.knowledge(*where).bounds
    ends = [end for arm, *end in zip(bounds.arms, bounds.low, bounds.high, strict=True) if arm is not EXPERT]
    return float(min(low for low, _ in ends)), float(max(high for _, high in ends))
