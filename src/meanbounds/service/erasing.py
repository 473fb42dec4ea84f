"""Events without the name of a context, for a context that is erased: only those that have it are unpacked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import msgspec

from meanbounds.agents.contexts import Context
from meanbounds.service import events as kinds
from meanbounds.service.events import ContextName, Event, context_of, decode, encode, name_of
from meanbounds.service.packing import text_of
from meanbounds.service.store import Store

__all__ = ["Search", "part_of", "search", "spellings", "undisturbed", "without"]

_ENCODER = msgspec.json.Encoder()
_PARTS = msgspec.json.Decoder(dict[str, msgspec.Raw])  # what a part says is neither unpacked nor changed
_NAMES = msgspec.json.Decoder(list[Any])
_PAIRS = msgspec.json.Decoder(list[tuple[Any, msgspec.Raw]])
_Row = tuple[int, str | None, bytes]
_Read = TypeVar("_Read")


class Search(NamedTuple):
    """What was found of a name in a log."""

    erasures: int  # how many contexts were erased before: after another one these rows are old
    until: int  # the last position that was looked at
    rows: list[_Row]  # position, name and body of events as they are without it


def search(store: Store, agent: str, old: Context, new: str, before: Search | None = None) -> Search:
    """Look for the name of a context in the log.

    Parameters
    ----------
    store
        The store; others may write meanwhile, and what they write is looked for by another search.
    agent, old
        The agent, and the context.
    new
        What the context is called instead.
    before
        What was found by an earlier search, if there was one: only what came later is looked at.

    Returns
    -------
    Search
        The events as they are without the name.
    """
    erasures = store.erasures()
    known = before if before is not None and before.erasures == erasures else Search(erasures, 0, [])
    until = store.last()
    found = (without(event, old, new) for event in store.find(agent, part_of(old), known.until, until))
    return Search(erasures, until, known.rows + [row for row in found if row is not None])


def undisturbed(store: Store, read: Callable[[], _Read]) -> tuple[int, _Read]:
    """What `read` returns if no context is erased while it reads, and how many were erased before.

    Else half of what it reads may be under the old name, and it reads again.

    Examples
    --------
    >>> from meanbounds.service import open_store
    >>> from meanbounds.service.erasing import undisturbed
    >>> store = open_store("sqlite::memory:")
    >>> undisturbed(store, store.last)
    (0, 0)
    """
    while True:
        erasures = store.erasures()
        try:
            found = read()
        except (LookupError, ValueError):
            if erasures == store.erasures():
                raise
        else:
            if erasures == store.erasures():
                return erasures, found


def spellings(store: Store, agent: str, old: Context) -> list[str]:
    """How the store writes the name of a context in its table of names."""
    if isinstance(old, str):
        return [text_of(old)]
    return [text for text in store.names(agent).values() if context_of(msgspec.json.decode(text)) == old]


def part_of(old: Context) -> bytes:
    """What is in every body that has the name of a context, and in as few others as can be told without unpacking.

    A text is written in one way only. Numbers are not: 1 and 1.0 are the same context.

    Examples
    --------
    >>> from meanbounds.service.erasing import part_of
    >>> part_of("old"), part_of(1)
    (b'"old"', b'')
    """
    return text_of(old).encode() if isinstance(old, str) else b""


def without(event: Event, old: Context, new: str) -> _Row | None:
    """Position, name and body of an event without the name of a context; None if it does not have it.

    What was asked in the context loses its id.
    """
    name = name_of(old)
    if event.kind in (kinds.DECIDED, kinds.OBSERVED):
        said = decode(event)
        if said.context != name:
            return None
        said.context, said.digest = new, ""
        return event.position, None, encode(said)
    if event.kind not in (kinds.FORCED, kinds.CREATED, kinds.CHANGED):
        return None
    parts = _PARTS.decode(event.body)
    change = _PARTS.decode(parts["change"]) if event.kind == kinds.CHANGED else parts
    is_there, is_in_agent = _replace(change, name, new), _replace_in_agent(change, name, new)
    if not is_there and not is_in_agent:
        return None
    if event.kind == kinds.CHANGED:
        parts["change"] = _raw(change)
        if "rolled_back_to" not in change:  # nobody asked for a rollback by a name
            parts.pop("digest", None)
    return event.position, None if is_there else event.name, _ENCODER.encode(parts)


def _raw(data: Any) -> msgspec.Raw:
    return msgspec.Raw(_ENCODER.encode(data))


def _replace(parts: dict[str, msgspec.Raw], old: ContextName, new: str) -> bool:
    """Replace the name where an event says in which context it is."""
    if "context" not in parts or msgspec.json.decode(parts["context"]) != old:
        return False
    parts["context"] = _raw(new)
    return True


def _replace_in_agent(parts: dict[str, msgspec.Raw], old: ContextName, new: str) -> bool:
    """Replace the name in a saved agent, also in one that version 0.1 saved."""
    if "agent" not in parts:
        return False
    agent = _PARTS.decode(parts["agent"])
    if "contexts" in agent:
        names = _NAMES.decode(agent["contexts"])
        if old not in names:
            return False
        agent["contexts"] = _raw([new if name == old else name for name in names])
    elif bytes(agent.get("agents", b""))[:1] == b"[":
        pairs = _PAIRS.decode(agent["agents"])
        if all(name != old for name, _ in pairs):
            return False
        agent["agents"] = _raw([(new if name == old else name, own) for name, own in pairs])
    else:
        return False
    parts["agent"] = _raw(agent)
    return True
