"""Threads that share an agent: nothing is lost, and the result is that of some sequential order."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import meanbounds as mb
from tests.soak.interrupts import AGENTS, ARMS, DIMENSION

THREADS = 8


def recorded(agent: mb.Agent, order: list[tuple[str, tuple[Any, ...], Any]]) -> None:
    """Write down each pull and update of an agent where it takes effect, which is behind its lock."""
    learner: Any = agent.inside

    def listen(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any) -> Any:
            result = method(*arguments)
            order.append((name, arguments, result))
            return result

        return called

    for name in ("pull", "update", "extend", "retire", "restore"):
        setattr(learner, name, listen(name, getattr(learner, name)))


def run_threads(work: Callable[[int], None]) -> list[str]:
    """Run this in as many threads, which take turns as often as Python can; their errors as text."""
    errors, often = list[str](), sys.getswitchinterval()

    def safely(number: int) -> None:
        try:
            work(number)
        except Exception as error:
            errors.append(f"thread {number}: {error!r}")

    threads = [threading.Thread(target=safely, args=(number,)) for number in range(THREADS)]
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(often)
    return errors


def share(kind: str, calls: int, seed: int) -> list[str]:
    """Let threads pull and update one agent, then play the same calls again in the order in which they took effect."""
    if kind == "contextual":
        return _share_contexts(calls)
    agent = AGENTS[kind]()
    order: list[tuple[str, tuple[Any, ...], Any]] = []
    fresh = agent.to_dict()
    recorded(agent, order)

    def work(number: int) -> None:
        for k in range(calls):
            arm = agent.pull()
            agent.update(arm, float((k * 31 + number * 17 + seed) % 5 == 0))
            if number == 0 and k % 100 == 50:
                features = [0.1] * DIMENSION if kind in ("OFUL", "ROFUL", "LinearThompson") else None
                agent.add(f"new {k}", features=features, low=-1.0 if features else 0.0)
            if number == 1 and k % 100 == 70:
                agent.retire(arm)
                agent.restore(arm)

    problems = run_threads(work)
    if agent.inside.updates != THREADS * calls or agent.inside.pulls != THREADS * calls or agent.pending.any():
        problems.append(f"{agent.inside.updates} updates and {agent.inside.pulls} pulls of {THREADS * calls}")
    twin = mb.Agent.from_dict(fresh)
    for place, (name, arguments, result) in enumerate(order):
        if getattr(twin.inside, name)(*arguments) != result:
            problems.append(f"call {place} of {len(order)}, {name}{arguments}, gave another result")
            break
    if twin.to_dict() != agent.to_dict():
        problems.append("the state is not that of the calls in the order in which they took effect")
    return [f"{kind}: {problem}" for problem in problems]


def _share_contexts(calls: int) -> list[str]:
    agent: mb.ContextualAgent = AGENTS["contextual"]()
    kept = agent["a"]

    def work(number: int) -> None:
        for k in range(calls):
            if number == 0:
                kept.update(kept.pull(), 1.0)
                continue
            name = "abc"[(k + number) % 3]
            agent.update(name, agent.pull(name), float(k % 2))
            if k % 500 == 7:
                agent.to_dict()
            if number == 1 and k % 1000 == 500:
                agent.add(f"new {k}")

    problems = run_threads(work)
    total = int(agent.plays().sum())
    if total != THREADS * calls or agent.pending().any():
        problems.append(f"{total} rewards of {THREADS * calls}, {agent.pending().sum()} pulls pending")
    if len(agent.arms) != ARMS + len(range(500, calls, 1000)):
        problems.append(f"{len(agent.arms)} arms")
    return [f"contextual: {problem}" for problem in problems]
