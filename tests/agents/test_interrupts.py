"""An agent is whole after an interrupt at any place: as before the call, or as after it."""

import dis
import functools
import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

import meanbounds as mb

LOOKS = {"RESUME", "JUMP_BACKWARD", "CALL", "CALL_FUNCTION_EX", "CALL_KW"}  # Python looks for signals after these
SOURCE = str(Path(mb.__file__).parent)
MOST = 60  # places at which a call is interrupted, spread evenly


class Interrupter:
    """Raises KeyboardInterrupt at the n-th place in the package's code at which Python looks for signals."""

    def __init__(self, n: int) -> None:
        self.left, self.struck = n, False
        self._before: dict[FrameType, int] = {}  # the instruction that each frame executed last

    def __call__(self, frame: FrameType, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith(SOURCE):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode" and not self.struck:
            before, now, code = self._before.get(frame), frame.f_lasti, frame.f_code
            self._before[frame] = now
            if before is not None and dis.opname[code.co_code[before]] in LOOKS and same_block(code, before, now):
                self.left -= 1
                if self.left < 0:
                    self.struck = True
                    raise KeyboardInterrupt
        return self


@functools.cache
def blocks(code: CodeType) -> list[tuple[int, int]]:
    return [(entry.start, entry.end) for entry in vars(dis.Bytecode(code))["exception_entries"]]


def same_block(code: CodeType, before: int, now: int) -> bool:
    """Whether the same handlers catch an error of both: Python raises at the first, a trace at the second."""
    return all((start <= before < end) == (start <= now < end) for start, end in blocks(code))


def interrupted(n: int, call: Callable[[], object]) -> Interrupter:
    interrupter, before = Interrupter(n), sys.gettrace()
    sys.settrace(interrupter)
    try:
        call()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)
    return interrupter


ARMS = ["a", "b", "c"]
BOUNDS = mb.MeanBounds([0.2, 0.1, 0.3], [0.8, 0.9, 0.7], arms=ARMS)
OTHER = mb.MeanBounds([0.25, 0.1, 0.3], [0.75, 0.9, 0.7], arms=ARMS)
SHARED = mb.Knowledge(BOUNDS, trust=0.9, assumption="experts see more")


def contextual() -> mb.Agent:
    agent = mb.Agent(mb.GLUE(), {"young": SHARED, "old": SHARED, "odd": OTHER}, seed=3, floor=0.01)
    for arm, reward in zip("abcab", (1.0, 0.0, 1.0, 0.5, 0.25), strict=True):
        for context in agent.contexts:
            agent.pull(context)
            agent.update(arm, reward, context, pulled=False)
    return agent


def lone() -> mb.Agent:
    agent = mb.Agent(mb.GLUE(), BOUNDS, seed=3)
    for reward in (0.0, 0.5, 1.0):
        agent.pull()
        agent.update(agent.pull(), reward)
    return agent


def pooled(rewards: int = 12) -> mb.Agent:
    """The next reward after 11 is the one with which the contexts learn from each other again."""
    agent = mb.Agent(mb.ThompsonSampling(), {"young": SHARED, "old": SHARED, "odd": OTHER}, seed=3, pool=True)
    for n in range(rewards):
        agent.update(ARMS[n % 3], float(n % 2), agent.contexts[n % 2], pulled=False)
    return agent


CALLS: dict[str, tuple[Callable[[], mb.Agent], Callable[[Any], object]]] = {
    "pull": (lone, lambda agent: agent.pull()),
    "pull one of two": (lone, lambda agent: agent.pull(eligible=["b", "c"], pending="count")),
    "decide": (contextual, lambda agent: agent.decide("young")),
    "update": (lone, lambda agent: agent.update("a", 0.5, pulled=False)),
    "update and share evidence": (contextual, lambda agent: agent.update("b", 0.5, "young", pulled=False)),
    "update and learn from all": (lambda: pooled(11), lambda agent: agent.update("b", 0.5, "young", pulled=False)),
    "pull after that": (pooled, lambda agent: agent.pull("odd")),
    "know beside others": (lambda: pooled(11), lambda agent: agent.know({"old": OTHER, "new": SHARED})),
    "follow": (lambda: pooled(11), lambda agent: agent.follow(mb.ThompsonSampling(moments=2))),
    "forget one of several": (lambda: pooled(11), lambda agent: agent.forget_context("old")),
    "cancel": (lone, lambda agent: agent.cancel(agent.arms[int(agent.pending().argmax())])),
    "know": (contextual, lambda agent: agent.know({"old": OTHER, "odd": SHARED, "new": SHARED, "newer": OTHER})),
    "add": (contextual, lambda agent: agent.add(mb.MeanBounds([0.1], [0.6], arms=["d"]))),
    "retire": (contextual, lambda agent: agent.retire("a")),
    "forbid": (contextual, lambda agent: agent.forbid(["a"], "old")),
    "forget": (contextual, lambda agent: agent.forget_context("old")),
}


def state(agent: mb.Agent) -> str:
    return json.dumps(agent.to_dict())


@pytest.mark.parametrize(("make", "call"), CALLS.values(), ids=CALLS)
def test_at_every_place(make: Callable[[], mb.Agent], call: Callable[[Any], object]) -> None:
    agent = make()
    before = state(agent)
    call(agent)
    after = state(agent)
    assert after != before
    agent = make()
    places = 10**6 - interrupted(10**6, lambda: call(agent)).left
    assert places >= 3
    ends = set()
    for n in range(0, places, max(1, places // MOST)):
        agent = make()
        assert interrupted(n, functools.partial(call, agent)).struck
        ends.add(state(agent))
        assert ends <= {before, after}, f"neither before nor after, interrupted at place {n} of {places}"
        other = threading.Thread(target=agent.plays, daemon=True)
        other.start()
        other.join(timeout=5.0)
        assert not other.is_alive(), f"the lock stays closed after an interrupt at place {n}"
        if state(agent) == before:
            call(agent)
            assert state(agent) == after
    assert before in ends
