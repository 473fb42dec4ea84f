"""Agents, books and services that tests are made of."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import numpy as np

import meanbounds as mb
from meanbounds.service import Service, open_store
from meanbounds.service.book import Book, saved_state
from meanbounds.service.commands import Censor, Command, Create, Decide, Observe, Reward
from meanbounds.service.errors import RefusalError
from meanbounds.service.events import Settings
from meanbounds.service.schema import DecisionIn, ObservationIn
from meanbounds.service.server import make_server, open_socket
from meanbounds.service.store import Store
from meanbounds.service.writer import carry_out

ARMS = ["a", "b", "c"]
BOUNDS = mb.MeanBounds([0.2, 0.3, 0.1], [0.9, 0.8, 0.7], arms=ARMS)


def contextual(policy: mb.Policy | None = None, contexts: int = 3, **more: Any) -> mb.ContextualAgent:
    given = {f"c{k}": BOUNDS for k in range(contexts)}
    return mb.ContextualAgent(policy or mb.GLUE(), given, seed=7, unknown="vacuous", **more)


def linear(trust: float = 1.0) -> mb.Agent:
    known = mb.Knowledge(BOUNDS, trust=trust)
    return mb.Agent(mb.ROFUL(), known, seed=7, features=[[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])


def a_book(agent: Any = None, store: Store | None = None, **settings: Any) -> Book:
    book = Book(open_store("sqlite::memory:") if store is None else store)
    made = contextual() if agent is None else agent
    assert carry_out(book, Create("demo", made.to_dict(), Settings(**settings), "")) == [True]
    return book


def one(book: Book, command: Command) -> Any:
    """The answer to a command; a refusal is raised."""
    (answer,) = carry_out(book, command)
    if isinstance(answer, RefusalError):
        raise answer
    return answer


def decide(book: Book, name: str, context: Any = "c0", **more: Any) -> Any:
    return one(book, Decide("demo", name, DecisionIn(context=context, **more)))


def reward(book: Book, decision_id: str, value: float, arm: Any = None) -> Any:
    return one(book, Reward(decision_id, None, value, arm))


def play(book: Book, rounds: int, seed: int = 1, first: int = 0) -> None:
    """Random traffic: decisions in groups, rewards late and out of order, some given up, some observations."""
    rng = np.random.default_rng(seed)
    waiting: list[str] = []
    for number in range(first, first + rounds):
        group: list[Command] = [
            Decide("demo", f"{number}-{k}", DecisionIn(context=f"c{rng.integers(5)}"))
            for k in range(rng.integers(1, 5))
        ]
        order = rng.permutation(len(waiting))[: rng.integers(0, 6)]
        for place in order:
            own = waiting[place]
            group.append(
                Censor(own, None) if rng.random() < 0.1 else Reward(own, None, float(rng.integers(3)) / 2, None)
            )
        if rng.random() < 0.3:
            seen = ObservationIn("b", 0.5, context="c1")
            group.append(Observe("demo", f"seen {number}", seen))
        waiting = [own for place, own in enumerate(waiting) if place not in order]
        answers = carry_out(book, *group)
        assert not [answer for answer in answers if isinstance(answer, RefusalError)]
        waiting += [answer.decision_id for answer in answers if hasattr(answer, "agent_version")]


def state(book: Book) -> dict[str, Any]:
    return {key: {**own, "swept": 0} for key, own in saved_state(book).items()}


def agents(book: Book) -> dict[str, Any]:
    """What the agents know, without what was got by whom."""
    return {key: own["agent"] for key, own in saved_state(book).items()}


def reloaded(book: Book) -> Book:
    again = Book(book.store)
    again.reload()
    return again


@contextmanager
def running(book: Book, *, http: str | None = None, **more: Any) -> Iterator[httpx.Client]:
    """A client of a service that runs in a thread of this process, on a port of this machine; `http` is its parser."""
    listening = open_socket("127.0.0.1", 0, book.store)
    server = make_server(Service(book, **more))
    server.config.http = http or server.config.http
    thread = threading.Thread(target=server.run, args=([listening],))
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.0005)  # as `serve` does
    thread.start()
    try:
        until(lambda: server.started)
        with httpx.Client(base_url=f"http://127.0.0.1:{listening.getsockname()[1]}", timeout=30.0) as made:
            yield made
    finally:
        server.should_exit = True
        thread.join(30.0)
        listening.close()
        sys.setswitchinterval(before)
    assert not thread.is_alive()


def until(holds: Callable[[], object], seconds: float = 20.0) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.005)
