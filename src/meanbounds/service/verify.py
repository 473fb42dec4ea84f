"""Check a store: the chain, the replay of every decision, what was saved, and the database itself."""

from __future__ import annotations

import json
import math
import warnings
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from meanbounds.linear import LinearThompson
from meanbounds.policies import IDS
from meanbounds.service.database import Database, StateRow
from meanbounds.service.events import START, Decided, Event, Rewarded, chained
from meanbounds.service.refusals import StoreError
from meanbounds.service.state import State

__all__ = ["verify"]

_EXACT, _APPROXIMATE = 1e-9, 1e-5  # how far a probability may be off; the latter where a policy approximates


def verify(database: Database) -> list[str]:
    """What is damaged in a store, each fault with the event, or with the table and the page or row; empty if nothing.

    Every event must follow from the one before by its hash; every decision must be possible and have had the
    probability that is recorded; agents that were saved whole must be what their events make of them.
    """
    faults = database.check()
    try:
        with database.reading():
            faults.extend(_Replay(database).faults())
    except StoreError as error:
        faults.append(f"the store cannot be read to its end: {error}")
    return faults


class _Replay:
    """All agents of a store, made again from their events."""

    def __init__(self, database: Database) -> None:
        self._database, self._states = database, dict[str, State]()
        self._decisions = dict[int, Decided]()  # those without a reward
        self._before = Event(0, 0.0, "", "", None, None, "", START)

    def faults(self) -> Iterator[str]:
        """Go through all events; after a fault the replay goes on as well as it can."""
        self._contexts = {row.id: row.agent for row in self._database.contexts()}
        saved = defaultdict[int, list[StateRow]](list)
        for row in self._database.states():
            saved[row.position].append(row)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of bounds that rewards contradict, as when they came
            for event in self._events():
                if isinstance(event, str):
                    yield event
                    continue
                if event.position != self._before.position + 1:
                    yield f"event {self._before.position + 1}: missing; the next one is event {event.position}"
                try:
                    for said in self._faults_of(event):
                        yield f"event {event.position} ({event.kind}): {said}"
                    yield from self._compare(event, saved.pop(event.position, []))
                except Exception as error:  # whatever the content is
                    yield f"event {event.position} ({event.kind}): it cannot be applied: {error!r}"
                self._before = event
        for rows in saved.values():
            yield from (f"table states, row {row.agent!r}: there is no event {row.position}" for row in rows)

    def _events(self) -> Iterator[Event | str]:
        """All events; where the database cannot read on, one by one, with what it says instead of some."""
        position = 0
        try:
            for event in self._database.events():
                position = event.position
                yield event
        except StoreError:
            last = self._database.last()
            for number in range(position + 1, 1 + (last.position if last else 0)):
                try:
                    yield from self._database.find([number], "position")
                except StoreError as error:
                    yield f"event {number}: it cannot be read: {error}"

    def _faults_of(self, event: Event) -> Iterator[str]:
        """Apply one event; what is wrong with it."""
        before = self._before
        if not chained(before.hash, event):
            yield "its content does not match its hash"
        if event.time < before.time:
            yield "it is older than the one before"
        body = event.said
        context = getattr(body, "context", None)
        if context is not None and self._contexts.get(context) != event.agent:
            yield f"context {context} is not one of {event.agent}"
        state = self._states.setdefault(event.agent, State(event.agent))
        if isinstance(body, Decided):
            self._decisions[event.position] = body
            if body.version != state.version:
                yield f"the version is {body.version}, not {state.version}"
            yield from self._check_chance(state, body)
        elif isinstance(body, Rewarded):
            decided = self._decisions.pop(event.about or 0, None)
            if decided is None or (decided.arm, decided.context) != (body.arm, body.context):
                yield f"event {event.about} is no decision of this arm in this context that waits for a reward"
        state.apply(event, body)

    @staticmethod
    def _check_chance(state: State, body: Decided) -> Iterator[str]:
        """Compare the probability of a decision with the one that the agent gives it."""
        if isinstance(state.agent.policy, LinearThompson):  # its draws go on from earlier draws, which are not kept
            return
        try:
            chances = state.chances(body.context, body.eligible)
        except (ValueError, LookupError) as error:
            yield f"the agent could not decide: {error}"
            return
        due = math.fsum(chance for arm, chance in chances if arm == state.arm(body.arm))
        policy = state.agent.policy
        slack = _APPROXIMATE if isinstance(getattr(policy, "base", policy), IDS) else _EXACT
        if not abs(due - body.probability) <= slack:
            yield f"the probability of {body.arm!r} was {due:.9g}, not {body.probability:.9g}"

    def _compare(self, event: Event, rows: list[StateRow]) -> Iterator[str]:
        """Compare agents that were saved whole after an event with what the events make of them."""
        for row in rows:
            state = self._states.get(row.agent)
            if row.hash != event.hash:
                yield f"table states, row {row.agent!r}: the hash of event {row.position} is another"
            if state is None or not _alike(json.loads(row.body), json.loads(json.dumps(state.to_dict()))):
                yield f"table states, row {row.agent!r}: not what the events up to {row.position} make of it"


def _alike(one: Any, other: Any) -> bool:
    """Whether two values of JSON are the same, numbers up to rounding."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_alike(value, other[name]) for name, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_alike, one, other))
    if isinstance(one, float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-9)
    return bool(one == other)
