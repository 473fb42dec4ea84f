"""States of agents as a store keeps them: compressed, with a number in place of each name of a context.

A store has the names in a table of their own, each once. So a context that is erased gets another name in one row of
that table, however many versions and snapshots speak of it.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from meanbounds.service.store import Store

__all__ = ["names_in", "number_names", "pack", "pack_all", "text_of", "unpack", "unpack_all"]

_ENCODER = msgspec.json.Encoder()
_State = dict[str, Any]
_NUMBERED = "numbered"  # says that a state has numbers in place of names


def text_of(name: Any) -> str:
    """The text by which a store knows the name of a context.

    Examples
    --------
    >>> from meanbounds.service.packing import text_of
    >>> text_of("old"), text_of(["old", 3])
    ('"old"', '["old",3]')
    """
    return _ENCODER.encode(name).decode()


def _with_names(state: _State, change: Callable[[Any], Any]) -> _State:
    """The state of a served agent with other names of contexts; None, which stands for all of them, stays."""

    def changed(name: Any) -> Any:
        return None if name is None else change(name)

    agent = state["agent"]
    if "contexts" in agent:
        agent = {**agent, "contexts": [change(name) for name in agent["contexts"]]}
    forced = [[changed(name), arm] for name, arm in state["forced"]]
    history = {part: [[changed(name), own] for name, own in rows] for part, rows in state["history"].items()}
    return {**state, "agent": agent, "forced": forced, "history": history}


def names_in(state: _State) -> list[str]:
    """The names of contexts in the state of a served agent, each once, as `text_of` gives them."""
    found = dict[str, None]()
    _with_names(state, lambda name: found.setdefault(text_of(name)))
    return list(found)


def _packed(data: Any) -> bytes:
    return zlib.compress(_ENCODER.encode(data), 1)


def _unpacked(body: bytes) -> Any:
    return msgspec.json.decode(zlib.decompress(body))


def pack(state: _State, numbers: Mapping[str, int]) -> bytes:
    """The state of a served agent as a version of it is kept.

    Parameters
    ----------
    state
        What `Served.saved` returned.
    numbers
        The number of each name.

    Examples
    --------
    >>> from meanbounds.service.packing import pack, unpack
    >>> state = {"agent": {"contexts": ["old"]}, "forced": [["old", "a"], [None, "b"]], "history": {}}
    >>> unpack(pack(state, {'"old"': 1}), {1: '"erased"'})
    {'agent': {'contexts': ['erased']}, 'forced': [['erased', 'a'], [None, 'b']], 'history': {}}
    """
    return _packed(_numbered(state, numbers))


def unpack(body: bytes, names: Mapping[int, str]) -> _State:
    """The state that `pack` was given, under the names that contexts have by now."""
    return _named(_unpacked(body), names)


def pack_all(states: Mapping[str, _State], numbers: Mapping[str, Mapping[str, int]]) -> bytes:
    """The states of all agents as a snapshot keeps them; the numbers are those of each agent."""
    return _packed({key: _numbered(state, numbers[key]) for key, state in states.items()})


def unpack_all(body: bytes, names: Callable[[str], Mapping[int, str]]) -> dict[str, _State]:
    """The states that `pack_all` was given, under the names that `names` gives for an agent."""
    return {key: _named(state, names(key)) for key, state in _unpacked(body).items()}


def _numbered(state: _State, numbers: Mapping[str, int]) -> _State:
    return {**_with_names(state, lambda name: numbers[text_of(name)]), _NUMBERED: True}


def _named(state: _State, names: Mapping[int, str]) -> _State:
    """The names in place of numbers; a version from before there were numbers may write to a store until it stops."""
    if not state.pop(_NUMBERED, False):
        return state
    return _with_names(state, lambda number: msgspec.json.decode(names[number]))


def number_names(store: Store, agents: Iterable[str]) -> None:
    """Replace names by numbers in versions and the snapshot of a store that has them from before there were numbers.

    Parameters
    ----------
    store
        The store, in a group.
    agents
        The agents that have versions.
    """
    for agent in agents:
        for version, position in store.versions(agent):
            kept = store.version(agent, version)
            assert kept is not None
            state = _unpacked(kept[1])
            store.keep_version(agent, version, position, pack(state, store.number(agent, names_in(state))))
    snapshot = store.snapshot()
    if snapshot is not None:
        states = _unpacked(snapshot[1])
        numbers = {key: store.number(key, names_in(state)) for key, state in states.items()}
        store.keep_snapshot(snapshot[0], pack_all(states, numbers))
