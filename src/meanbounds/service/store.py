"""Agents on disk: each decision and each reward counts once, for many processes, whatever happens in between."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any, Self

import msgspec

from meanbounds.agents import Agent
from meanbounds.bounds import EXPERT, Arm
from meanbounds.linear import LinearAgent
from meanbounds.service import commands as do
from meanbounds.service.database import connect
from meanbounds.service.refusals import RefusedError, StoreError
from meanbounds.service.state import Context, Outcomes, State, Where, plain
from meanbounds.service.writer import Writer
from meanbounds.support.checks import unknown

__all__ = ["AGENT_NAME", "Store", "StoredAgent"]

AGENT_NAME = re.compile(r"[A-Za-z0-9_.-]{1,200}")
"""What the name of an agent may be."""


class Store:
    """Agents in an SQLite file or a PostgreSQL database.

    Every answer is on disk before it is given. Decisions have ids that the caller chooses, so whatever is asked twice,
    because an answer was lost, counts once. Several processes may use the same store at the same time, and threads the
    same object.

    Parameters
    ----------
    address
        The path of a file such as ``"clinic.db"``, or the URL of a database such as ``"postgresql://user@host/name"``.
    create
        Whether to make the store if it does not exist.

    Examples
    --------
    >>> import tempfile
    >>> import meanbounds as mb
    >>> bounds = mb.MeanBounds([0.7, 0.2], [0.95, 0.9], arms=["surgery", "drug"])
    >>> agent = mb.Agent(mb.GLUE(), {"north": bounds, "south": bounds}, seed=7)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = mb.Store.create(f"{folder}/clinic.db", "clinic", agent)
    ...     decision = store["clinic"].decide("visit 4711", "north")
    ...     store["clinic"].reward("visit 4711", 1.0)
    ...     again = store["clinic"].decide("visit 4711", "north")
    ...     plays = store["clinic"].agent.plays("north")
    ...     store.close()
    >>> decision.arm, again.arm, again.repeated, plays
    ('surgery', 'surgery', True, array([1, 0]))
    """

    def __init__(self, address: str | Path, *, create: bool = False) -> None:
        self.database = connect(address, create=create)
        try:
            self.writer = Writer(self.database)
        except BaseException:
            self.database.close()
            raise

    @classmethod
    def create(cls, address: str | Path, name: str, agent: Agent | LinearAgent) -> Self:
        """Open the store at an address, made if it does not exist, and add an agent with a new name."""
        store = cls(address, create=True)
        try:
            store.add(name, agent)
        except BaseException:
            store.close()
            raise
        return store

    def add(self, name: str, agent: Agent | LinearAgent, *, by: str = "") -> None:
        """Add an agent."""
        if not isinstance(agent, Agent | LinearAgent):
            raise TypeError(f"a store keeps an mb.Agent or an mb.LinearAgent; got {type(agent).__name__}")
        if not (isinstance(name, str) and AGENT_NAME.fullmatch(name)):
            raise ValueError(f"the name of an agent has letters, digits and . _ - only, at most 200; got {name!r}")
        self.ask(name, do.Create(agent.to_dict()), by=by)

    def ask(self, name: str, command: do.Command, *, by: str = "") -> do.Answer:
        """Carry out one command; a refusal is raised."""
        (answer,) = self.run([do.Order(name, command, by)])
        if isinstance(answer, RefusedError):
            raise answer
        return answer

    def run(self, orders: Sequence[do.Order]) -> list[do.Answer | RefusedError]:
        """Carry out commands in one transaction, each as if it were alone; what is refused has the reason instead."""
        answers = self.writer.run(orders)
        while self.writer.warned:
            warnings.warn(self.writer.warned.pop(0), stacklevel=3)
        return answers

    def reading(self) -> AbstractContextManager[dict[str, State]]:
        """The state of all agents, as it is now; nobody in this process writes meanwhile."""
        return self.writer.reading()

    def __getitem__(self, name: str) -> StoredAgent:
        with self.reading() as states:
            if name not in states:
                raise LookupError(unknown("agent", name, list(states)))
        return StoredAgent(self, name)

    def __contains__(self, name: object) -> bool:
        with self.reading() as states:
            return name in states

    def __iter__(self) -> Iterator[str]:
        with self.reading() as states:
            return iter(list(states))

    def __len__(self) -> int:
        with self.reading() as states:
            return len(states)

    def close(self) -> None:
        """Save all agents whole, so that the next start is fast, and close the connection."""
        with suppress(StoreError):  # what counts is in the events
            self.writer.save()
        self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class StoredAgent:
    """One agent of a `Store`."""

    def __init__(self, store: Store, name: str) -> None:
        self._store, self.name = store, name

    def decide(
        self,
        id: str | None = None,
        context: Where = None,
        eligible: Sequence[Any] | None = None,
        unit: str | None = None,
    ) -> do.DecideAnswer:
        """Decide; the same id gets the same answer.

        So does the same `unit`, a person or device such as ``"user-17"``, which takes the place of the id, until the
        time of ``change(hold=seconds)`` is over (by default never), or the arm may not be played any more there.

        A context that is new is added: nothing is known about it. An agent with a tree takes raw columns in its place,
        such as ``{"age": 81}``, and keeps the leaf alone. `eligible` are the arms that may be chosen now, by default
        all; a `LinearAgent` may be offered candidates. The answer has the arm (`EXPERT` where the experts are asked),
        its probability and the reason. The reward names the decision by its id, which the answer has for units, too.
        """
        offered = None if eligible is None else plain(eligible)
        named = {name: own for name, own in {"id": id, "unit": unit}.items() if own is not None}
        answer = self._ask(do.Decide, **named, context=context, eligible=offered)
        with self._store.reading() as states:
            return msgspec.structs.replace(answer, arm=states[self.name].arm(answer.arm))

    def reward(self, id: str, reward: float, arm: Arm | None = None, outcomes: Outcomes = None) -> None:
        """Report the reward of a decision; `arm` is what the experts chose, if they were asked.

        `outcomes` are those that have guardrails, see `meanbounds.Guardrail`.
        """
        self._ask(do.Reward, id=id, reward=reward, arm=arm, outcomes=outcomes)

    def cancel(self, id: str) -> None:
        """Say that the reward of a decision will never come."""
        self._ask(do.Reward, id=id, reward=None)

    def observe(self, id: str, arm: Arm, reward: float, context: Where = None, outcomes: Outcomes = None) -> None:
        """Report what experts chose in a case for which no decision was asked, and how it went."""
        self._ask(do.Observe, id=id, arm=arm, reward=reward, context=context, outcomes=outcomes)

    def change(self, *, by: str = "", **what: Any) -> int:
        """Change one thing, see `meanbounds.service.commands.Change`, and return the new version."""
        given = {name: _plain(value) for name, value in what.items()}
        return int(self._ask(do.Change, by=by, **given).version)

    def rollback(self, to: int, *, by: str = "") -> int:
        """Go back to an earlier version of everything that changes set, and return the new version."""
        return int(self._ask(do.Rollback, by=by, to=to).version)

    def erase(self, context: Context, *, by: str = "") -> None:
        """Erase the name of a context; its statistics stay without a name."""
        self._ask(do.Erase, by=by, context=context)

    @property
    def agent(self) -> Any:
        """A copy of the `Agent` or `LinearAgent` as it is now."""
        with self._store.reading() as states:
            return states[self.name].agent_by_name()

    def _ask(self, kind: type[do.Command], *, by: str = "", **given: Any) -> Any:
        if isinstance(given.get("context"), tuple):
            given["context"] = list(given["context"])
        try:
            command = msgspec.convert(given, kind)
        except msgspec.ValidationError as error:
            raise RefusedError(422, "invalid", f"{kind.__name__.lower()}: {error}") from None
        return self._store.ask(self.name, command, by=by)


def _plain(value: Any) -> Any:
    """An argument of `StoredAgent.change` in values that JSON can hold."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, list | tuple):
        return plain(value)
    return plain([value])[0] if value is EXPERT else value
