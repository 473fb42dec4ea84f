"""Real signals at random moments: the agent must be whole, and the interrupt a KeyboardInterrupt.

python -m tests.soak.interrupts OFUL 200 1     kind of agent, interrupts, seed
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np

import meanbounds as mb
from tests.children import run_module

ARMS, DIMENSION = 12, 6
NEW = mb.Candidate([0.3] * DIMENSION, name="new")

Step = Callable[[Any], object]


def _with_features(policy: mb.LinearPolicy) -> mb.Agent:
    features = np.random.default_rng(2).normal(size=(ARMS, DIMENSION))
    features /= np.linalg.norm(features, axis=1)[:, None]
    return mb.Agent(policy, mb.MeanBounds.vacuous(ARMS, low=-1.0), seed=3, features=features)


def _on_arms(policy: mb.Policy) -> mb.Agent:
    return mb.Agent(policy, mb.MeanBounds([0.1] * ARMS, np.linspace(0.5, 0.9, ARMS)), seed=3)


def _contextual() -> mb.ContextualAgent:
    bounds = mb.MeanBounds([0.1] * ARMS, np.linspace(0.5, 0.9, ARMS))
    return mb.ContextualAgent(mb.GLUE(), dict.fromkeys("abc", bounds), seed=3)


AGENTS: dict[str, Callable[[], Any]] = {
    "GLUE": lambda: _on_arms(mb.GLUE()),
    "Thompson": lambda: _on_arms(mb.ThompsonSampling()),
    "Gittins": lambda: _on_arms(mb.OptimisticGittins()),
    "IDS": lambda: _on_arms(mb.IDS()),
    "BIMED": lambda: _on_arms(mb.BIMED()),
    "MINTS": lambda: _on_arms(mb.MINTS()),
    "warm start": lambda: _on_arms(mb.WarmStart(base=mb.OSSB(), log=mb.LoggedArms([9] * ARMS, [4.0] * ARMS))),
    "OFUL": lambda: _with_features(mb.OFUL()),
    "ROFUL": lambda: _with_features(mb.ROFUL(online=True)),
    "LinearThompson": lambda: _with_features(mb.LinearThompson()),
    "contextual": _contextual,
}


def step(kind: str, number: int) -> Step:
    """The call with this number: it depends on nothing that an earlier call returned."""
    arm, reward = number * 7 % ARMS, float(number % 3 == 0)
    if kind == "contextual":
        name = "abc"[number // 2 % 3]
        return (lambda agent: agent.update(name, arm, reward)) if number % 2 else (lambda agent: agent.pull(name))
    if number % 50 == 0:
        return lambda agent: agent.retire(arm) if arm not in agent.retired else agent.restore(arm)
    if kind in ("OFUL", "ROFUL", "LinearThompson") and number % 10 == 4:
        return lambda agent: agent.pull([0, 1, NEW] if not {0, 1} & set(agent.retired) else [NEW])
    if kind in ("OFUL", "ROFUL", "LinearThompson") and number % 10 == 5:
        return lambda agent: agent.update(NEW, reward)
    return (lambda agent: agent.update(arm, reward)) if number % 2 else (lambda agent: agent.pull())


class Alarm:
    """Interrupts the process once, some microseconds after it was set."""

    def __init__(self) -> None:
        self.armed = False
        signal.signal(signal.SIGALRM, self._ring)

    def _ring(self, _number: int, _frame: FrameType | None) -> None:
        if self.armed:
            self.armed = False
            raise KeyboardInterrupt

    def set(self, seconds: float) -> None:
        self.armed = True
        signal.setitimer(signal.ITIMER_REAL, seconds)


def interrupt(kind: str, times: int, seed: int) -> list[str]:
    """Interrupt an agent this often, and compare it each time with one that nobody interrupted."""
    rng, alarm, agent, number, problems = np.random.default_rng(seed), Alarm(), AGENTS[kind](), 1, list[str]()
    for turn in range(times):
        before, first = agent.to_dict(), number
        cold = turn == 0  # the first one meets kernels that are still to be loaded
        try:
            alarm.set(float(rng.uniform(0.05, 0.5)) if cold else float(rng.uniform(1e-5, 2e-3)))
            while True:
                step(kind, number)(agent)
                number += 1
        except KeyboardInterrupt:
            pass
        state, twin = agent.to_dict(), type(agent).from_dict(before)
        for k in range(first, number):
            step(kind, k)(twin)
        if state != twin.to_dict():  # the call that was interrupted may have been over
            step(kind, number)(twin)
            number += 1
            if state != twin.to_dict():
                problems.append(f"{kind}, seed {seed}, interrupt {turn}: the agent is neither before nor after a call")
                agent = twin
    return problems


def interrupt_in_children(times: int, seed: int) -> list[str]:
    """Interrupt every kind of agent, each in a process of its own, since a crash ends it."""
    problems = []
    for kind in AGENTS:
        done = run_module("tests.soak.interrupts", kind, str(times), str(seed))
        if done.returncode:
            problems.append(f"interrupts of {kind}: exit code {done.returncode}\n{done.stdout}{done.stderr[-2000:]}")
    return problems


if __name__ == "__main__":
    found = interrupt(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    print("\n".join(found))
    sys.exit(bool(found))
