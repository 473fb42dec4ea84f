"""An agent in files: what it started from, and all that happened since, one line for each decision and each reward."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np

from meanbounds.agents.agent import Agent
from meanbounds.agents.contexts import Context, as_lists, as_tuples, check_context
from meanbounds.agents.contextual import ContextualAgent
from meanbounds.agents.loading import load_agent
from meanbounds.bounds import Arm
from meanbounds.support import clock
from meanbounds.support.checks import as_float, as_list, shown
from meanbounds.support.locking import open_locked

__all__ = ["EVENTS_SUFFIX", "Decision", "Journal", "JournalError"]

EVENTS_SUFFIX = ".events.jsonl"
"""What the events of ``agent.json`` have in place of ``.json``."""

_WAITING, _ANSWERED, _CANCELLED = "waiting", "answered", "cancelled"


class JournalError(ValueError):
    """Raised where a decision or a reward contradicts what the journal has, or where its file cannot be read.

    Examples
    --------
    >>> import meanbounds as mb
    >>> issubclass(mb.JournalError, ValueError)
    True
    """


@dataclass(frozen=True)
class Decision:
    """One decision: its name, the context, the arm that was chosen, and the probability with which it was.

    Examples
    --------
    >>> import meanbounds as mb
    >>> mb.Decision("visit 17", "young", "tPA", 0.98).arm
    'tPA'
    """

    id: str
    context: Context | None
    arm: Arm
    probability: float


@dataclass
class _Entry:
    """A decision, what has become of it, and whether the agent at hand made it."""

    decision: Decision
    eligible: list[Arm] | None
    own: bool
    state: str = _WAITING
    reward: float | None = None


class Journal:
    """A saved agent that decides from one command to the next, beside a file in which nothing is ever changed.

    The agent's file stays what it was. Each decision and each reward is one line at the end of a second file, which is
    on disk before the answer is given. The agent's present state follows from both, so nothing is lost or counted twice
    if a process dies, and several processes can use the same files: they take turns. The second file also is the log
    from which `meanbounds evaluate` says how the agent did.

    Parameters
    ----------
    agent
        The file of an `Agent` without features or of a `ContextualAgent`, such as ``agent.json``.
    events
        The file of what happened; by default beside the agent, such as ``agent.events.jsonl``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import meanbounds as mb
    >>> path = Path(tempfile.mkdtemp()) / "agent.json"
    >>> mb.Agent(mb.GLUE(), mb.MeanBounds([0.7, 0.2], [0.95, 0.6], arms=["tPA", "watch"]), seed=7).save(path)
    >>> journal = mb.Journal(path)
    >>> journal.decide(id="visit 17")
    Decision(id='visit 17', context=None, arm='tPA', probability=1.0)
    >>> journal.reward("visit 17", 1.0)
    True
    >>> journal.reward("visit 17", 1.0)  # once more: it is counted already
    False
    >>> mb.Journal(path).agent.plays
    array([1, 0])
    """

    def __init__(self, agent: str | Path, events: str | Path | None = None) -> None:
        self.path = _path("agent", agent)
        self.events = self.path.with_suffix(EVENTS_SUFFIX) if events is None else _path("events", events)
        self._restart()

    def _restart(self) -> None:
        """Stand where the agent started, before any event."""
        self._agent = load_agent(self.path)
        plain = json.dumps(self._agent.to_dict(), sort_keys=True)
        self._digest = hashlib.sha256(plain.encode()).hexdigest()
        self._entries: dict[str, _Entry] = {}
        self._position, self._lines, self._stale = 0, 0, False

    @property
    def agent(self) -> Agent | ContextualAgent:
        """The agent as it is after all events; what is done to it elsewhere is not written down."""
        self._look()
        return self._agent

    def decide(
        self, context: Context | None = None, *, eligible: Iterable[Arm] | None = None, id: str | None = None
    ) -> Decision:
        """Choose an arm, and write the decision down.

        Parameters
        ----------
        context
            What is known of the case, if the agent has contexts.
        eligible
            The arms that can be chosen now; all of them by default.
        id
            A name for the decision, such as the number of an order; by default the next number. Who asks again under
            the same name gets the same answer.

        Raises
        ------
        JournalError
            If the name stands for a decision about another context or other arms.
        """
        context = None if context is None else check_context(context)
        wanted = None if eligible is None else [_plain(arm) for arm in as_list("eligible", eligible)]
        with self._turn() as file:
            name = self._next_name() if id is None else _named(id)
            if (known := self._entries.get(name)) is not None:
                if (known.decision.context, known.eligible) != (context, wanted):
                    raise JournalError(
                        f"decision {shown(name)} was about {_case(known.decision.context, known.eligible)}; this one "
                        f"is about {_case(context, wanted)}. Give each decision an id of its own"
                    )
                return known.decision
            time = _now()
            decision = self._choose(name, context, wanted, time)
            line: dict[str, Any] = {"kind": "decision", "id": name, "time": time}
            line |= {} if context is None else {"context": as_lists(context)}
            line |= {} if wanted is None else {"eligible": wanted}
            self._write(file, line | {"arm": decision.arm, "probability": decision.probability})
            self._entries[name] = _Entry(decision, wanted, own=True)
            return decision

    def reward(self, id: str, reward: float) -> bool:
        """Count a reward, once; return whether it was new.

        Parameters
        ----------
        id
            The name of the decision.
        reward
            How it went. It may come late, and in any order.

        Raises
        ------
        JournalError
            If there is no such decision, or if it has another reward already.
        """
        value = as_float("reward", reward)
        with self._turn() as file:
            entry = self._find(id)
            if entry.state == _ANSWERED and entry.reward == value:
                return False
            if entry.state != _WAITING:
                was = f"has the reward {entry.reward:g}" if entry.state == _ANSWERED else "was cancelled"
                raise JournalError(f"decision {shown(id)} {was} already; a reward of {value:g} is not counted")
            self._learn(entry, value)
            self._write(file, {"kind": "reward", "id": entry.decision.id, "time": _now(), "reward": value})
            return True

    def cancel(self, id: str) -> bool:
        """Say that no reward will come for a decision; return whether that was new.

        Raises
        ------
        JournalError
            If there is no such decision, or if its reward has come.
        """
        with self._turn() as file:
            entry = self._find(id)
            if entry.state == _CANCELLED:
                return False
            if entry.state == _ANSWERED:
                raise JournalError(f"decision {shown(id)} has the reward {entry.reward:g}; it cannot be cancelled")
            self._cancel(entry)
            self._write(file, {"kind": "cancel", "id": entry.decision.id, "time": _now()})
            return True

    def waiting(self) -> list[Decision]:
        """The decisions whose rewards have not come, in the order in which they were made."""
        self._look()
        return [entry.decision for entry in self._entries.values() if entry.state == _WAITING]

    @contextmanager
    def _turn(self) -> Iterator[IO[bytes]]:
        """Wait until no other process uses the file, and take over what they have written."""
        with open_locked(self.events) as file:
            try:
                self._catch_up(file)
                yield file
            except BaseException as error:
                if not isinstance(error, JournalError):  # what was not written did not happen
                    file.truncate(self._position)
                    self._stale = True
                if self._position == 0 and not file.seek(0, os.SEEK_END):
                    self.events.unlink()
                raise

    def _look(self) -> None:
        """Take over what was written, if anything was."""
        if self.events.exists():
            with self._turn():
                pass

    def _catch_up(self, file: IO[bytes]) -> None:
        """Repeat the events that this object has not seen. A last line without an end was never answered."""
        if self._stale or file.seek(0, os.SEEK_END) < self._position:
            self._restart()
        file.seek(self._position)
        for line in file.read().splitlines(keepends=True):
            if not line.endswith(b"\n"):
                return
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # whoever reported a reward was told what it means
                self._repeat(line, self._lines + 1)
            self._position, self._lines = self._position + len(line), self._lines + 1

    def _write(self, file: IO[bytes], event: Mapping[str, Any]) -> None:
        """Put a line at the end of the file, and wait until it is on disk."""
        file.truncate(self._position)
        lines = [event] if self._lines else [{"kind": "agent", "sha256": self._digest}, event]
        text = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
        self._position, self._lines = self._position + len(text), self._lines + len(lines)

    def _repeat(self, line: bytes, number: int) -> None:
        """Do again what a line says."""
        where = f"line {number} of {self.events}"
        try:
            event = json.loads(line)
            match event["kind"]:
                case "agent":
                    self._check_start(event)
                case "decision":
                    self._repeat_decision(event)
                case "reward":
                    self._learn(self._find(event["id"]), as_float("reward", event["reward"]))
                case "cancel":
                    self._cancel(self._find(event["id"]))
                case other:
                    raise JournalError(f"it is of the unknown kind {shown(other)}")
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise JournalError(
                f"{where} cannot be used: {error}. Events are only ever added at the end; restore the file from a "
                f"copy, or move it away to start anew from {self.path}"
            ) from error

    def _check_start(self, event: Mapping[str, Any]) -> None:
        if event["sha256"] != self._digest:
            raise JournalError(f"it belongs to another agent than {self.path} now holds")

    def _repeat_decision(self, event: Mapping[str, Any]) -> None:
        """Decide again; an arm that another version of the policies chose is what counts."""
        name, context, eligible = event["id"], as_tuples(event.get("context")), event.get("eligible")
        again = self._choose(name, context, eligible, event["time"])
        made = Decision(name, context, event["arm"], event["probability"])
        entry = _Entry(made, eligible, own=again.arm == made.arm)
        self._entries[name] = entry
        if not entry.own:
            self._call("cancel", context, again.arm)

    def _choose(self, name: str, context: Context | None, eligible: list[Arm] | None, time: str) -> Decision:
        """Ask the agent for an arm and its probability, as of the time that is written down."""
        if isinstance(self._agent, Agent) != (context is None):
            need = "has no contexts: leave the context out"
            if isinstance(self._agent, ContextualAgent):
                some = ", ".join(map(repr, islice(self._agent, 10))) + (", ..." if len(self._agent) > 10 else "")
                need = f"needs a context: one of {some}"
            raise JournalError(f"the agent in {self.path} {need}")
        try:
            with clock.at(datetime.fromisoformat(time).timestamp()):
                return Decision(name, context, *self._call("decide", context, eligible))
        except LookupError as error:  # an arm or a context that is not known
            raise JournalError(str(error.args[0])) from error

    def _learn(self, entry: _Entry, reward: float) -> None:
        self._call("update", entry.decision.context, entry.decision.arm, reward, history=not entry.own)
        entry.state, entry.reward = _ANSWERED, reward

    def _cancel(self, entry: _Entry) -> None:
        if entry.own:
            self._call("cancel", entry.decision.context, entry.decision.arm)
        entry.state = _CANCELLED

    def _call(self, method: str, context: Context | None, *given: Any, **more: Any) -> Any:
        """Call a method of the agent, with the context first if it has contexts."""
        return getattr(self._agent, method)(*(() if context is None else (context,)), *given, **more)

    def _find(self, name: str) -> _Entry:
        try:
            return self._entries[_named(name)]
        except KeyError:
            raise JournalError(
                f"there is no decision {shown(name)} among the {len(self._entries):,} in {self.events}; give the id "
                "that was given or printed when it was decided"
            ) from None

    def _next_name(self) -> str:
        """The number of the next decision, or one that nobody has given as a name."""
        number = len(self._entries) + 1
        while str(number) in self._entries:
            number += 1
        return str(number)


def _path(name: str, value: Any) -> Path:
    if not isinstance(value, str | os.PathLike):
        raise TypeError(f"{name} must be the path of a file, such as 'agent.json'; got {shown(value)}")
    return Path(value)


def _plain(arm: Any) -> Any:
    """An arm as JSON can hold it."""
    return arm.item() if isinstance(arm, np.generic) else arm


def _named(name: Any) -> str:
    """Check the name of a decision."""
    if not isinstance(name, str) or not name:
        raise JournalError(f"the id of a decision is a text such as 'order 17'; got {shown(name)}")
    return name


def _case(context: Context | None, eligible: list[Arm] | None) -> str:
    """What a decision is about, for a message."""
    about = "no context" if context is None else f"context {shown(context)}"
    return f"{about} and {'all arms' if eligible is None else f'the arms {shown(eligible)}'}"


def _now() -> str:
    return clock.now().isoformat(timespec="milliseconds")
