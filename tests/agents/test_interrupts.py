"""An agent is whole after an interrupt at any instruction: as before the call, or as after it."""

from __future__ import annotations

import ast
import copy
import dis
import functools
import inspect
import os
import pkgutil
import signal
import sys
import threading
import typing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

import numpy as np
import pytest

import meanbounds as mb
from meanbounds import kernels
from meanbounds.support.signals import signals_wait
from tests.children import run_module

AnyAgent = mb.Agent | mb.ContextualAgent
EVERY = bool(os.environ.get("SOAK"))  # every place; some FEW of them, evenly spread, otherwise
FEW = 40
Call = Callable[[Any], object]

CHECKED = {"RESUME", "JUMP_BACKWARD", "CALL", "CALL_FUNCTION_EX", "CALL_KW"}  # Python looks for signals after these
SOURCE = str(Path(mb.__file__).parent)


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
            if before is not None and dis.opname[code.co_code[before]] in CHECKED and _same_block(code, before, now):
                self.left -= 1
                if self.left < 0:
                    self.struck = True
                    raise KeyboardInterrupt
        return self


@functools.cache
def _blocks(code: CodeType) -> list[tuple[int, int]]:
    return [(entry.start, entry.end) for entry in vars(dis.Bytecode(code))["exception_entries"]]


def _same_block(code: CodeType, before: int, now: int) -> bool:
    """Whether the same handlers catch an error of both instructions.

    Python raises at the instruction after which it looks, a trace at the next one: only there it is the same.
    """
    return all((start <= before < end) == (start <= now < end) for start, end in _blocks(code))


@contextmanager
def interrupted_at(n: int) -> Iterator[Interrupter]:
    interrupter = Interrupter(n)
    before = sys.gettrace()
    sys.settrace(interrupter)
    try:
        yield interrupter
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)


def is_free(agent: AnyAgent) -> bool:
    """Whether another thread can have the agent's lock."""
    got: list[bool] = []

    def try_it() -> None:
        got.append(agent._lock.acquire(blocking=False))
        if got[0]:
            agent._lock.release()

    other = threading.Thread(target=try_it)
    other.start()
    other.join()
    return got[0]


FEATURES = [[1.0, 0.0, 0.2], [0.6, 0.8, 0.0], [0.0, 1.0, 0.1], [0.5, 0.5, 0.5]]
BOUNDS = mb.MeanBounds([0.2, 0.1, 0.3, 0.0], [0.8, 0.9, 0.7, 0.8], arms=list("abcd"))
OTHER = mb.MeanBounds([0.25, 0.1, 0.3, 0.0], [0.75, 0.9, 0.7, 0.8], arms=list("abcd"))
NEW = mb.Candidate([0.3, 0.3, 0.3], name="new")


def on_arms(policy: mb.Policy) -> mb.Agent:
    agent = mb.Agent(policy, BOUNDS, seed=3, floor=0.01)
    for arm, reward in zip("abcdab", (1.0, 0.0, 1.0, 0.5, 0.25, 1.0), strict=True):
        agent.pull()
        agent.update(arm, reward)
    agent.pull()
    return agent


def with_features(policy: mb.LinearPolicy, trust: float = 1.0) -> mb.Agent:
    agent = mb.Agent(policy, mb.Knowledge(BOUNDS, trust=trust), seed=3, features=FEATURES)
    for arm, reward in zip("abcdab", (1.0, 0.0, 1.0, 0.5, 0.25, 1.0), strict=True):
        agent.pull()
        agent.update(arm, reward)
    agent.pull([NEW])
    return agent


def contextual() -> mb.ContextualAgent:
    known = {"young": BOUNDS, "old": OTHER, "odd": mb.MeanBounds([0.1, 0.2], [0.5, 0.6], arms=["a", "z"])}
    agent = mb.ContextualAgent(mb.GLUE(), known, seed=3, unknown="vacuous")
    for arm in "abcd":
        agent.pull("young")
        agent.update("young", arm, 0.5)
    _ = agent["old"].pull()
    return agent


COMMON: dict[str, Call] = {
    "pull": lambda agent: agent.pull(),
    "pull one of two": lambda agent: agent.pull(["b", "c"], pending="count"),
    "update": lambda agent: agent.update("b", 0.5),
    "history": lambda agent: agent.update("b", 0.5, history=True),
    "retire": lambda agent: agent.retire("a"),
    "replace bounds": lambda agent: agent.replace_bounds(OTHER),
}
ARMS: dict[str, Call] = COMMON | {
    "cancel": lambda agent: agent.cancel(agent.bounds.arms[int(np.flatnonzero(agent.pending)[0])]),
    "add": lambda agent: agent.add("e", upper=0.6),
}
LINEAR: dict[str, Call] = COMMON | {
    "add": lambda agent: agent.add("e", upper=0.6, features=[0.1, 0.2, 0.3]),
    "pull a candidate": lambda agent: agent.pull(["a", NEW, mb.Candidate([0.9, 0.3, 0.1], name="newer")]),
    "update a candidate": lambda agent: agent.update(NEW, 1.0),
    "cancel a candidate": lambda agent: agent.cancel(NEW),
}
CONTEXTS: dict[str, Call] = {
    "pull": lambda agent: agent.pull("young"),
    "update": lambda agent: agent.update("old", "c", 1.0),
    "pull in a new context": lambda agent: agent.pull("new"),
    "update in a new context": lambda agent: agent.update("new", "b", 1.0),
    "add in one": lambda agent: agent.add("e", context="young"),
    "add in a new one": lambda agent: agent.add("e", context="new"),
    "add": lambda agent: agent.add("e", upper=0.4),
    "retire": lambda agent: agent.retire("a"),
    "replace bounds": lambda agent: agent.replace_bounds({"young": OTHER, "old": BOUNDS}),
    "forget": lambda agent: agent.forget("young"),
}


def soon_contradicted() -> mb.Agent:
    """The first reward of one arm contradicts its bounds, which say that there is none."""
    return mb.Agent(mb.GLUE(), mb.MeanBounds([0.0, 0.1], [0.0, 0.9], arms=["a", "b"]), seed=3)


CASES = [
    *((lambda: on_arms(mb.GLUE()), name, call) for name, call in ARMS.items()),
    *((lambda: on_arms(mb.ThompsonSampling()), name, call) for name, call in ARMS.items()),
    *((lambda: with_features(mb.OFUL()), name, call) for name, call in LINEAR.items()),
    *((lambda: with_features(mb.ROFUL(online=True)), name, call) for name, call in LINEAR.items()),
    *((lambda: with_features(mb.LinearThompson()), name, call) for name, call in LINEAR.items()),
    *((lambda: with_features(mb.LinearThompson(), trust=0.5), name, call) for name, call in LINEAR.items()),
    *((contextual, name, call) for name, call in CONTEXTS.items()),
    (soon_contradicted, "contradict a bound", lambda agent: agent.update("a", 0.5)),
]
KINDS = ["GLUE"] * len(ARMS) + ["Thompson"] * len(ARMS) + ["OFUL"] * len(LINEAR) + ["ROFUL"] * len(LINEAR)
KINDS += (
    ["LinearThompson"] * len(LINEAR)
    + ["doubting LinearThompson"] * len(LINEAR)
    + ["contextual"] * len(CONTEXTS)
    + ["GLUE"]
)


@pytest.mark.filterwarnings("ignore:context 'new' is new", "ignore::meanbounds.evidence.ContradictionWarning")
@pytest.mark.parametrize(
    ("make", "call"),
    [(make, call) for make, _, call in CASES],
    ids=[f"{kind}, {name}" for kind, (_, name, _) in zip(KINDS, CASES, strict=True)],
)
def test_at_every_instruction(make: Callable[[], AnyAgent], call: Call) -> None:
    first = make()
    saved = first.to_dict()
    call(first)  # compiles what it needs
    after = first.to_dict()
    assert after != saved
    agent = make()
    with interrupted_at(sys.maxsize) as interrupter:
        call(agent)
    places = sys.maxsize - interrupter.left
    assert places > 3
    ends = set[str]()
    for n in range(0, places, 1 if EVERY else max(1, places // FEW)):
        agent = make()
        with interrupted_at(n) as interrupter:
            call(agent)
        assert interrupter.struck
        state = agent.to_dict()
        assert state in (saved, after), f"neither before nor after, interrupted at place {n}"
        assert is_free(agent), f"the lock stays closed after an interrupt at place {n}"
        ends.add("before" if state == saved else "after")
        if state == saved:
            call(agent)
            assert agent.to_dict() == after
    assert "before" in ends


def test_compiling_is_not_interrupted() -> None:
    """Numba's own tables would stay half filled: Ctrl-C comes when the kernel is there."""

    def slow(x: float) -> float:
        return x + 1.0

    from meanbounds.kernels import compiling

    class Stub:
        def __init__(self) -> None:
            self.done = False

        def _compile_for_args(self, x: float) -> float:
            os.kill(os.getpid(), signal.SIGINT)
            sum(range(1000))  # Python would look for signals here
            self.done = True
            return slow(x)

    stub = Stub()
    with pytest.raises(KeyboardInterrupt):
        compiling._patient(stub)._compile_for_args(1.0)
    assert stub.done
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_every_kernel_waits_while_it_is_compiled() -> None:
    for module in modules(kernels):
        for name, kernel in vars(module).items():
            if hasattr(kernel, "py_func"):
                assert kernel._compile_for_args.__name__ == "prepare_whole", name


def test_signals_wait_in_the_main_thread_alone() -> None:
    """In other threads there is nothing to do, and `signal` would refuse."""
    seen: list[str] = []

    def work() -> None:
        with signals_wait():
            seen.append("done")

    other = threading.Thread(target=work)
    other.start()
    other.join()
    assert seen == ["done"]


def modules(package: ModuleType) -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        yield __import__(found.name, fromlist=["_"])


def test_no_kernel_gives_python_a_named_tuple() -> None:
    """To make one, numba runs Python code and does not look whether it failed: an interrupt there ends the process."""
    named = set()
    for module in modules(kernels):
        for name, kernel in vars(module).items():
            function = getattr(kernel, "py_func", None)
            if function is not None:
                made = typing.get_type_hints(function).get("return")
                if inspect.isclass(made) and issubclass(made, tuple) and hasattr(made, "_fields"):
                    named.add(name)
    assert {"new_design", "own_bounds", "observe", "maximise", "plan_of"} <= named
    for path in Path(SOURCE).rglob("*.py"):
        if "kernels" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                own = isinstance(node.func, ast.Attribute) and called in ("observe", "play")
                assert called not in named or own, f"{path.name}, line {node.lineno}: {called}"


def test_copies_have_their_own_lock() -> None:
    agent = on_arms(mb.GLUE())
    twin = copy.deepcopy(agent)
    assert twin._lock is not agent._lock
    assert twin.to_dict() == agent.to_dict()
    whole = contextual()
    other = copy.deepcopy(whole)
    assert other._lock is not whole._lock
    assert other["old"]._lock is other._lock
    assert other.to_dict() == whole.to_dict()
    assert [other.pull("old") for _ in range(5)] == [whole.pull("old") for _ in range(5)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["GLUE", "OFUL", "ROFUL", "contextual"])
def test_signals_at_random_moments(kind: str) -> None:
    """In a process of its own, from before its kernels are loaded; `make soak` does this more often."""
    done = run_module("tests.soak.interrupts", kind, "25", "1")
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
