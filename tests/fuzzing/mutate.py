"""Saved states that were tampered with: they are refused, or what they make behaves."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import meanbounds as mb
from meanbounds import logs
from meanbounds.support.checks import shown
from tests.fuzzing.draw import Call, Draw
from tests.fuzzing.judge import Judge, state_of
from tests.fuzzing.made import (
    a_bounds,
    a_contextual_agent,
    a_linear_agent,
    a_linear_policy,
    a_policy,
    a_regret,
    a_world,
    an_agent,
)
from tests.fuzzing.play import (
    EpisodeOverError,
    Player,
    check_agent,
    check_clone,
    check_contextual,
    check_probabilities,
)

__all__ = ["Mutants", "mutated"]

Path = tuple[Any, ...]
WRONG: tuple[Any, ...] = (
    *(None, True, False, "", "a", "0.5", [], {}, [[]], [None], {"a": 1}),
    *(0, -1, 1, 2, 2**31, 2**53 + 1, 2**63 - 1, 2**63, 2**64, -(2**63), 10**400),
    *(0.0, -0.0, 0.5, -0.5, 1.5, 1e16, 1e300, -1e300, 5e-324, float("nan"), float("inf"), float("-inf")),
)


def mutated(draw: Draw, state: Any) -> Any:
    """A copy of a saved state with one to three changes."""
    changed = json.loads(json.dumps(state))
    for _ in range(draw.pick((1, 1, 1, 2, 3))):
        changed = _mutate_once(draw, changed)
    return changed


def _mutate_once(draw: Draw, state: Any) -> Any:
    if draw.chance(0.01) or not isinstance(state, dict | list) or not state:
        return draw.pick(WRONG)
    parent = state
    while True:  # walk down, and stop anywhere
        key = draw.pick(list(parent)) if isinstance(parent, dict) else draw.integer(0, len(parent) - 1)
        child = parent[key]
        if not isinstance(child, dict | list) or not child or draw.chance(0.25):
            break
        parent = child
    _change(draw, parent, key)
    return state


def _change(draw: Draw, parent: Any, key: Any) -> None:
    kind, value = draw.integer(0, 9), parent[key]
    if kind == 0:
        del parent[key]
    elif kind == 1 and isinstance(parent, list):
        parent.insert(key, value)
    elif kind == 1:
        parent[draw.pick(("", "other", str(key) + "x", "format"))] = parent.pop(key)
    elif kind == 2:
        other = draw.pick(list(parent)) if isinstance(parent, dict) else draw.integer(0, len(parent) - 1)
        parent[key], parent[other] = parent[other], value
    elif kind == 3:
        for _ in range(draw.pick((1, 2, 40, 300))):
            value = [value]
        parent[key] = value
    elif kind == 4 and isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e290:
        parent[key] = draw.pick((-value, value + 1, value - 1, value * 2, value + 0.5, value * 1e9, str(value)))
    else:
        parent[key] = draw.pick(WRONG)


class Mutants:
    """An object after some random play, its saved state, and loads of mutated copies of it."""

    def __init__(self, draw: Draw, judge: Judge) -> None:
        self._draw, self._judge = draw, judge
        name, make, load, check = draw.pick(_SAVED)
        self._name, self._load, self._check = name, load, check
        made = make(draw)
        if isinstance(made, mb.Agent | mb.ContextualAgent):
            self._warm_up(made)
        self._state = made.to_dict()

    def _warm_up(self, agent: Any) -> None:
        player = Player(agent, self._draw, self._judge)
        for _ in range(self._draw.integer(0, 12)):
            player.step()

    def step(self) -> None:
        """Load one mutant, and use it if it loads."""
        state = mutated(self._draw, self._state)
        call = Call(f"{self._name}.from_dict", self._load, [state])
        returned, made = self._judge.make(call)
        if returned and self._check is not None:
            self._check(made, self._draw, self._judge, _Told(call))


class _Told:
    """A mutant in a few words, for reports."""

    def __init__(self, call: Call) -> None:
        self._call = call

    def __str__(self) -> str:
        return f"{self._call.name}({shown(self._call.args[0])})"


def _use_agent(agent: mb.Agent, draw: Draw, judge: Judge, call: object) -> None:
    try:
        check_agent(agent, judge, call)
        text = state_of(agent)
    except EpisodeOverError:
        return
    except Exception as error:
        judge.report("state of a loaded agent", "it cannot be read", repr(error), call)
        return
    for name, use in (("probabilities", agent.probabilities), ("indices", agent.indices)):
        returned, found = judge.make(Call(f"Agent.{name} of a loaded agent", use))
        if returned and name == "probabilities":
            check_probabilities(found, judge, call)
    if state_of(agent) != text:
        judge.report("state of a loaded agent", "reading it changes it", "probabilities or indices", call)
    check_clone(agent, judge, str(call))
    player = Player(agent, draw, judge)
    for _ in range(3):
        player.step()


def _use_contextual(agent: mb.ContextualAgent, draw: Draw, judge: Judge, call: object) -> None:
    try:
        state_of(agent)
    except Exception as error:
        judge.report("state of a loaded contextual agent", "it cannot be read", repr(error), call)
        return
    for context in agent.contexts[:3]:
        returned, own = judge.make(Call("ContextualAgent[...] of a loaded one", agent.__getitem__, [context]))
        if returned:
            check_agent(own, judge, call)
    check_contextual(agent, judge, str(call))
    player = Player(agent, draw, judge)
    for _ in range(3):
        player.step()


def _use_saved(saved: Any, draw: Draw, judge: Judge, call: object) -> None:
    """What loads can be saved, and loads again as the same."""
    del draw
    try:
        text = state_of(saved)
        same = state_of(type(saved).from_dict(json.loads(text))) == text
    except Exception as error:
        judge.report(f"state of a loaded {type(saved).__name__}", "it cannot be saved and loaded", repr(error), call)
        return
    if not same:
        judge.report(f"state of a loaded {type(saved).__name__}", "saved and loaded, it is another", text, call)


Use = Callable[[Any, Draw, Judge, object], None]
_SAVED: list[tuple[str, Callable[[Draw], Any], Callable[[Any], Any], Use | None]] = [
    *[("Agent", an_agent, mb.Agent.from_dict, _use_agent)] * 4,
    *[("Agent", a_linear_agent, mb.Agent.from_dict, _use_agent)] * 3,
    *[("ContextualAgent", a_contextual_agent, mb.ContextualAgent.from_dict, _use_contextual)] * 4,
    ("MeanBounds", a_bounds, mb.MeanBounds.from_dict, _use_saved),
    ("Knowledge", lambda draw: mb.Knowledge(a_bounds(draw), trust=draw.share()), mb.Knowledge.from_dict, _use_saved),
    ("Policy", a_policy, mb.Policy.from_dict, _use_saved),
    ("Policy", a_linear_policy, mb.Policy.from_dict, _use_saved),
    ("Regret", a_regret, mb.Regret.from_dict, _use_saved),
    ("Counts", lambda draw: a_world(draw).sample(50, seed=1), logs.Counts.from_dict, _use_saved),
    (
        "ContextBounds",
        lambda draw: logs.ContextBounds({"young": a_bounds(draw), ("old", 1): a_bounds(draw)}),
        logs.ContextBounds.from_dict,
        _use_saved,
    ),
]
