"""The only writer of a process: it carries out groups of commands, each group in one transaction."""

from __future__ import annotations

import json
import threading
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from meanbounds.service import limits
from meanbounds.service.commands import Answer, Create, Order, Reward
from meanbounds.service.database import ContextRow, Database, StateRow
from meanbounds.service.events import START, Body, Entered, Erased, Event, chained, digest, key_of, written
from meanbounds.service.refusals import RefusedError, StoreError
from meanbounds.service.state import Context, State, parts_of

__all__ = ["Group", "Writer"]

_PAUSE = 1.0  # seconds after a failed write in which no other is tried: to read everything again takes a while


class Writer:
    """Holds the state of all agents, and changes it by groups of commands.

    A group takes the lock of the store, applies what other processes have written, runs each command on the state that
    the ones before it left, inserts the events, and commits. Only then is anybody answered. If anything fails, nothing
    of the group counts, and the state is read again from the store.
    """

    def __init__(self, database: Database) -> None:
        self.database, self.lock = database, threading.RLock()
        self.clock, self._failed, self._unswept = _Clock(), (0.0, StoreError("failed", "")), False
        self.warned = list[Any]()  # of bounds that rewards contradict: what agents said, for whoever can tell somebody
        self._load()

    def _load(self) -> None:
        """Read everything: agents as they were saved, then the events since."""
        self._stale = True
        with warnings.catch_warnings(), self.database.reading():
            warnings.simplefilter("ignore")  # they were told when they came
            self._secret = bytes.fromhex(self.database.meta()["secret"])
            self.states, self.last = dict[str, State](), Event(0, 0.0, "", "", None, None, "", START)
            self.entered, saved = 0, self.database.states()  # entered: the number of the last context
            for row in saved:
                self.states[row.agent] = State.from_dict(row.agent, row.position, json.loads(row.body))
            if saved:
                row = min(saved, key=lambda row: row.position)
                self.last = self.last._replace(position=row.position, hash=row.hash)
            self._saved = self.last.position
            self._advance()
        self._stale = False

    def _advance(self) -> None:
        """Apply what other processes have written."""
        news = list(self.database.events(after=self.last.position))
        for row in self.database.contexts(after=self.entered) if news or not self.entered else ():
            if row.agent not in self.states:
                self.states[row.agent] = State(row.agent)
            self.states[row.agent].know(row.id, row.name)
            self.entered = row.id
        for event in news:
            if event.position != self.last.position + 1 or not chained(self.last.hash, event):
                said = f"event {event.position} does not follow the one before it: run meanbounds verify"
                raise StoreError("damaged", said)
            state = self.states.get(event.agent) or self.states.setdefault(event.agent, State(event.agent))
            if event.position > state.position:
                state.apply(event)
            self.last = event

    @contextmanager
    def reading(self) -> Iterator[dict[str, State]]:
        """The state of all agents, with the news of other processes; nobody writes meanwhile."""
        with self.lock:
            if self._stale:
                self._load()
            else:
                with self._reloading(), self.database.reading():
                    self._advance()
            yield self.states

    def run(self, orders: Sequence[Order]) -> list[Answer | RefusedError]:
        """Carry out commands as one group; each gets its answer, or why it was refused."""
        with self.lock:
            if time.monotonic() < self._failed[0] + _PAUSE:
                raise self._failed[1]
            try:
                answers = self._group(orders)
            except StoreError as error:
                if error.kind != "busy":
                    self._failed = time.monotonic(), error
                raise
            except Exception as error:  # a fault of ours: it must not take other commands with it
                if len(orders) > 1:
                    return [answer for order in orders for answer in self.run([order])]
                refused = RefusedError(500, "internal", "something went wrong here; the log of the service says what")
                refused.__cause__ = error
                return [refused]
            if self.last.position >= self._saved + limits.SNAPSHOT:
                with suppress(StoreError):  # what counts is in the events
                    self.save()
            return answers

    def _group(self, orders: Sequence[Order]) -> list[Answer | RefusedError]:
        if self._stale:
            self._load()
        with self._reloading(), self.database.writing():
            self._advance()
            group = Group(self, orders)
            answers = [group.one(order, key) for order, key in zip(orders, group.keys, strict=True)]
            if group.events:
                self.database.insert("contexts", group.contexts)
                self.database.insert("events", group.events)
                self.database.put("contexts", *group.erased)
                self.database.put("states", *[self._row(self.states[name]) for name in group.created])
        self._unswept = self._unswept or bool(group.erased)
        if self._unswept:
            with suppress(StoreError):  # all is written
                self._unswept = not self.database.sweep()  # again after the next group, while somebody reads
        return answers

    @contextmanager
    def _reloading(self) -> Iterator[None]:
        """Forget what is in memory if anything fails, except waiting for the lock."""
        before = self.last
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                yield
            self.warned += [one.message for one in caught]
        except StoreError as error:
            self._stale = error.kind != "busy" or self.last is not before
            raise
        except BaseException:
            self._stale = True
            raise

    def save(self) -> None:
        """Save all agents whole, so that the next start reads few events."""
        with self.lock:
            if self._stale or self.last.position == self._saved:
                return
            with self._reloading(), self.database.writing():
                self._advance()
                self.database.put("states", *[self._row(state) for state in self.states.values()])
            self._saved = self.last.position

    def _row(self, state: State) -> StateRow:
        body = json.dumps(state.to_dict(), allow_nan=False, separators=(",", ":"))
        return StateRow(state.name, self.last.position, self.last.hash, body)

    def key(self, kind: str, agent: str, own: str) -> str:
        """What stands for a caller's id."""
        return key_of(self._secret, kind, agent, own)


class Group:
    """The commands that are written together, as one of them sees it; `by` is who gave that one."""

    def __init__(self, writer: Writer, orders: Sequence[Order]) -> None:
        self._writer, self.time, self.by = writer, max(writer.clock.now(), writer.last.time), ""
        self.events, self.contexts = list[Event](), list[ContextRow]()
        self.erased, self.created = list[ContextRow](), list[str]()
        self.keys = [self._key(order) for order in orders]
        asked = [key for key in self.keys if key is not None]
        self._found = {event.key: event for event in writer.database.find(asked)}
        of_units = [(order.agent, getattr(order.command, "unit", None)) for order in orders]
        self.units = self._latest({(agent, unit) for agent, unit in of_units if unit})
        rewarded = [event.position for event in self._found.values() if event.kind == "decision"]
        given = any(isinstance(order.command, Reward) for order in orders)
        answers = writer.database.find(rewarded, "about") if rewarded and given else []
        self._rewards = {event.about: event for event in answers}

    def _key(self, order: Order) -> str | None:
        """What stands for the id of a command, if it has one."""
        kind, own = order.command.keyed, getattr(order.command, "id", None)
        return None if not own else self._writer.key(kind, order.agent, own)

    def _latest(self, units: set[tuple[str, str]]) -> dict[tuple[str, str], int]:
        """The numbers of the latest decisions of units, 0 if there is none yet; found by doubling and halving."""
        ends = dict.fromkeys(units, (0, 2**53))  # so many decisions there are at least, and at most
        while True:
            look = {unit: min(max(0, 2 * n - 1), (n + most) // 2) for unit, (n, most) in ends.items() if n < most}
            if not look:
                return {unit: max(0, n - 1) for unit, (n, _) in ends.items()}
            keys = {unit: self._names(*unit, number)[1] for unit, number in look.items()}
            self._found |= {event.key: event for event in self._writer.database.find([*keys.values()])}
            for unit, number in look.items():
                least, most = ends[unit]
                ends[unit] = (number + 1, most) if keys[unit] in self._found else (least, number)

    def _names(self, agent: str, unit: str, number: int) -> tuple[str, str]:
        """The id and the key of a unit's decision with this number: hashes that do not tell the unit's name."""
        own = self._writer.key("unit", agent, f"{number} {unit}")
        return own, self._writer.key("decision", agent, own)

    def of_unit(self, agent: str, unit: str, later: int = 0) -> tuple[int, str, str]:
        """The number, the id and the key of a unit's latest decision, or of a later one."""
        number = self.units[agent, unit] + later
        return number, *self._names(agent, unit, number)

    def one(self, order: Order, key: str | None) -> Answer | RefusedError:
        """Carry out one command."""
        states, self.by = self._writer.states, order.by
        is_new = isinstance(order.command, Create)
        if (order.agent in states) == is_new:
            said = f"there is {'an' if is_new else 'no'} agent {order.agent!r}{' already' if is_new else ''}"
            return RefusedError(409 if is_new else 404, "unknown_agent", said)
        state = State(order.agent) if is_new else states[order.agent]
        try:
            answer = order.command.run(state, self, key)
        except RefusedError as error:
            return error
        except (KeyError, IndexError):
            raise
        except (ValueError, TypeError, LookupError) as error:
            name = None
            with suppress(ValueError, TypeError):
                name = None if is_new else state.context(getattr(order.command, "context", None))
            said = str(error).replace(f"context '{state.ids.get(name or '')}'", f"context {name!r}")
            return RefusedError(422, "invalid", said.replace("EXPERT", 'EXPERT (in JSON {"expert": true})'))
        if is_new:
            states[order.agent] = state
            self.created.append(order.agent)
        return answer

    def found(self, key: str | None) -> Event | None:
        """The event with this key, of this group or earlier."""
        return None if key is None else self._found.get(key)

    def reward_of(self, decision: Event) -> Event | None:
        """The event with the reward of a decision."""
        return self._rewards.get(decision.position)

    def number(self, state: State, context: Context | None) -> int | None:
        """The number of a context, which is entered if it is new."""
        if context is None or not state.contextual:
            if (context is None) == state.contextual:
                said = "decides by context: say which" if state.contextual else "has no contexts: leave the context out"
                raise RefusedError(422, "invalid", f"{state.name} {said}")
            return None
        number = state.ids.get(context)
        if number is None:
            (number,) = self.numbers(state, [context])
            self.append(state, Entered(number))
        return number

    def numbers(self, state: State, contexts: Iterable[Context]) -> list[int]:
        """Numbers for new contexts."""
        names, like = list(contexts), next(iter(state.ids), None)
        for name in names:
            if like is not None and parts_of(name) not in state.parts:
                said = f"contexts of {state.name} are like {like!r}, with as many parts; got {name!r}"
                raise RefusedError(422, "invalid", said)
        if len(state.ids) + len(names) > limits.CONTEXTS:
            raise RefusedError(422, "too_many", f"an agent has at most {limits.CONTEXTS:,} contexts")
        first = self._writer.entered + 1
        rows = [ContextRow(number, state.name, json.dumps(name)) for number, name in enumerate(names, first)]
        self._writer.entered += len(rows)
        for row in rows:
            state.know(row.id, row.name)
        self.contexts += rows
        return [row.id for row in rows]

    def changes(self, state: State, after: int) -> list[Event]:
        """The version of an agent at this position, and the changes since, the first one first."""
        found = [*reversed(self._writer.database.changes(state.name, after)), *self.events]
        found = [event for event in found if event.agent == state.name and event.kind in ("create", "change")]
        if not found or found[0].position != after:
            raise RefusedError(404, "unknown_version", f"{after} is no version of {state.name}; see its changes")
        return found

    def append(self, state: State, body: Body, key: str | None = None, about: int | None = None) -> Event:
        """Add an event, and change the state as it says."""
        before = self._writer.last
        said = (before.position + 1, self.time, body.kind, state.name, key, about, written(body))
        event = Event(*said, digest(before.hash, *said))
        state.apply(event, body)
        self._writer.last = event
        self.events.append(event)
        if key is not None:
            self._found[key] = event
        if about is not None:
            self._rewards[about] = event
        if isinstance(body, Erased):
            self.erased.append(ContextRow(body.context, state.name, None))
        return event


class _Clock:
    """The wall clock, as long as it goes as fast as the one that counts from the start of the machine."""

    def __init__(self) -> None:
        self._ahead = time.time() - self._steady()

    @staticmethod
    def _steady() -> float:
        """Seconds since the machine started, with those in which it slept where the system says so."""
        return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))

    def now(self) -> float:
        wall = time.time()
        ahead = wall - self._steady() - self._ahead
        if ahead > limits.JUMP:
            said = (
                f"the clock has jumped ahead by {ahead / 3600.0:.1f} hours: set it, or start again if it is right now"
            )
            raise StoreError("failed", said)
        return wall
