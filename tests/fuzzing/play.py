"""Agents: a call that is refused leaves them as they were, and whatever they answer is lawful."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

import meanbounds as mb
from tests.fuzzing.draw import Call, Draw, spoil
from tests.fuzzing.judge import Judge, state_of
from tests.fuzzing.made import a_bounds, a_candidate, a_context, columns, features

__all__ = [
    "AGENT",
    "CONTEXTUAL",
    "EpisodeOverError",
    "Player",
    "check_agent",
    "check_clone",
    "check_contextual",
    "check_probabilities",
]

Maker = Callable[[Draw, Any], Call]


def _arm(draw: Draw, agent: mb.Agent) -> Any:
    if isinstance(agent.policy, mb.LinearPolicy) and draw.chance(0.2):
        return a_candidate(draw)
    return draw.pick(agent.bounds.arms)


def _reward(draw: Draw, bounds: mb.MeanBounds, arm: Any) -> float:
    if arm not in bounds.arms:
        return draw.share()
    k = bounds.position(arm)
    low, high = float(bounds.low[k]), float(bounds.high[k])
    return min(high, low + (high - low) * draw.share())


def _offer(draw: Draw, agent: mb.Agent) -> Any:
    if draw.chance(0.5):
        return None
    offer = draw.some(agent.bounds.arms, 1)
    return [*offer, a_candidate(draw)] if isinstance(agent.policy, mb.LinearPolicy) and draw.chance(0.3) else offer


def _pending(draw: Draw) -> Any:
    return draw.pick((None, "ignore", "count"))


def _update(draw: Draw, agent: mb.Agent) -> Call:
    arm = _arm(draw, agent)
    return Call("", agent.update, [arm, _reward(draw, agent.bounds, arm)], {"history": draw.chance(0.2)})


def _add(draw: Draw, agent: mb.Agent) -> Call:
    more: dict[str, Any] = {name: value[0] for name, value in columns(draw, 1).items()}
    if isinstance(agent.policy, mb.LinearPolicy):
        more |= {
            "lower": None,
            "upper": None,
            "low": -3.0,
            "high": 3.0,
            "features": features(draw, 1)[0],
            "offset": 0.1,
        }
    return Call("", agent.add, [f"new {len(agent.bounds)}"], {k: more[k] for k in draw.some(list(more), 4)})


def _replaced(draw: Draw, bounds: mb.MeanBounds) -> mb.MeanBounds:
    if draw.chance(0.2):
        return a_bounds(draw)
    pairs = [sorted((draw.share(), draw.share())) for _ in bounds.arms]
    width = bounds.high - bounds.low
    lower, upper = (np.clip(bounds.low + width * [p[side] for p in pairs], bounds.low, bounds.high) for side in (0, 1))
    return mb.MeanBounds(lower, upper, arms=bounds.arms, low=bounds.low, high=bounds.high)


def _read(name: str, nan: bool = False) -> Maker:
    return lambda _draw, agent: Call("", lambda: getattr(agent, name), nan=nan)


AGENT: dict[str, Maker] = {
    "pull": lambda draw, agent: Call("", agent.pull, [_offer(draw, agent)], {"pending": _pending(draw)}),
    "decide": lambda draw, agent: Call("", agent.decide, [_offer(draw, agent)], {"pending": _pending(draw)}),
    "update": _update,
    "probabilities": lambda draw, agent: Call(
        "", agent.probabilities, [_offer(draw, agent)], {"pending": _pending(draw)}
    ),
    "cancel": lambda draw, agent: Call("", agent.cancel, [_arm(draw, agent)]),
    "indices": lambda _draw, agent: Call("", agent.indices),
    "contradictions": lambda draw, agent: Call("", agent.contradictions, [draw.pick((0.01, 0.5))]),
    "assumptions": lambda _draw, agent: Call("", agent.assumptions),
    "replace_bounds": lambda draw, agent: Call("", agent.replace_bounds, [_replaced(draw, agent.bounds)]),
    "add": _add,
    "retire": lambda draw, agent: Call("", agent.retire, [draw.pick(agent.bounds.arms)]),
    "restore": lambda draw, agent: Call("", agent.restore, [draw.pick(agent.bounds.arms)]),
    "to_dict": lambda _draw, agent: Call("", lambda: json.dumps(agent.to_dict())),
    **{name: _read(name) for name in ("plays", "pending", "retired", "estimate", "tight_bounds", "bounds")},
    **{name: _read(name) for name in ("knowledge", "seed", "floor", "policy", "inside")},
    "means": _read("means", nan=True),
}


def _context(draw: Draw, agent: mb.ContextualAgent) -> Any:
    known = agent.contexts
    return draw.pick(known) if known and draw.chance(0.8) else a_context(draw)


def _in_context(draw: Draw, agent: mb.ContextualAgent) -> tuple[Any, Any, float]:
    context, arm = _context(draw, agent), draw.pick(agent.arms)
    bounds = agent[context].bounds if context in agent.contexts and draw.chance(0.5) else None
    return context, arm, draw.share() if bounds is None else _reward(draw, bounds, arm)


def _contextual_offer(draw: Draw, agent: mb.ContextualAgent) -> Any:
    return None if draw.chance(0.6) else draw.some(agent.arms, 1)


def _contextual_update(draw: Draw, agent: mb.ContextualAgent) -> Call:
    return Call("", agent.update, list(_in_context(draw, agent)), {"history": draw.chance(0.2)})


def _contextual_replace(draw: Draw, agent: mb.ContextualAgent) -> Call:
    contexts = draw.some(agent.contexts)
    return Call("", agent.replace_bounds, [{c: _replaced(draw, agent[c].bounds) for c in contexts}])


def _contextual_add(draw: Draw, agent: mb.ContextualAgent) -> Call:
    ends = {name: value[0] for name, value in columns(draw, 1).items()}
    where = {"context": _context(draw, agent)} if draw.chance(0.4) else {}
    return Call("", agent.add, [f"new {len(agent.arms)}"], {**ends, **where})


def _everywhere(name: str) -> Maker:
    def make(draw: Draw, agent: mb.ContextualAgent) -> Call:
        where = {"context": _context(draw, agent)} if draw.chance(0.5) else {}
        return Call("", getattr(agent, name), [draw.pick(agent.arms)], where)

    return make


CONTEXTUAL: dict[str, Maker] = {
    "pull": lambda draw, agent: Call(
        "", agent.pull, [_context(draw, agent), _contextual_offer(draw, agent)], {"pending": _pending(draw)}
    ),
    "decide": lambda draw, agent: Call(
        "", agent.decide, [_context(draw, agent), _contextual_offer(draw, agent)], {"pending": _pending(draw)}
    ),
    "update": _contextual_update,
    "probabilities": lambda draw, agent: Call("", agent.probabilities, [_context(draw, agent)]),
    "indices": lambda draw, agent: Call("", agent.indices, [_context(draw, agent)]),
    "plays": lambda draw, agent: Call("", agent.plays, [draw.pick((None, _context(draw, agent)))]),
    "pending": lambda draw, agent: Call("", agent.pending, [draw.pick((None, _context(draw, agent)))]),
    "cancel": lambda draw, agent: Call("", agent.cancel, [_context(draw, agent), draw.pick(agent.arms)]),
    "contradictions": lambda draw, agent: Call("", agent.contradictions, [draw.pick((0.01, 0.5))]),
    "assumptions": lambda _draw, agent: Call("", agent.assumptions),
    "replace_bounds": _contextual_replace,
    "add": _contextual_add,
    "retire": _everywhere("retire"),
    "restore": _everywhere("restore"),
    "forget": lambda draw, agent: Call("", agent.forget, [_context(draw, agent)]),
    "__getitem__": lambda draw, agent: Call("", agent.__getitem__, [_context(draw, agent)]),
    "__contains__": lambda draw, agent: Call("", agent.__contains__, [_context(draw, agent)]),
    **{name: _read(name) for name in ("policy", "seed", "contexts", "arms")},
    "to_dict": lambda _draw, agent: Call("", lambda: json.dumps(agent.to_dict())),
}

_READING = frozenset(
    (
        *("probabilities", "indices", "to_dict", "plays", "pending", "means", "__getitem__", "__contains__", "bounds"),
        *("contradictions", "assumptions"),
    )
)


class Player:
    """One agent, and calls of its methods until the episode ends."""

    def __init__(self, agent: Any, draw: Draw, judge: Judge) -> None:
        self.agent, self._draw, self._judge = agent, draw, judge
        self._methods = AGENT if isinstance(agent, mb.Agent) else CONTEXTUAL
        self._often = ["pull", "update", "probabilities"]

    def step(self) -> None:
        """Make one call, and compare the state before and after it."""
        draw, agent = self._draw, self.agent
        name = draw.pick(self._often) if draw.chance(0.5) else draw.pick(list(self._methods))
        if isinstance(agent, mb.ContextualAgent) and not agent.contexts:
            return
        call = spoil(draw, self._methods[name](draw, agent))
        call.name = f"{type(agent).__name__}.{name}"
        before = state_of(agent)
        returned, result = self._judge.make(call, nan=call.nan)
        self._judge_state(call, name, before, returned)
        if returned:
            self._judge_result(call, name, result)

    def _judge_state(self, call: Call, name: str, before: str, returned: bool) -> None:
        try:
            after = state_of(self.agent)
        except Exception as error:
            self._judge.report(f"state after {call.name}", "it cannot be saved", repr(error), call)
            raise EpisodeOverError from error
        if after != before and (not returned or name in _READING):
            kind = "changed by a call that was refused" if not returned else "changed by a call that only reads"
            self._judge.report(f"state after {call.name}", kind, _difference(before, after), call)
        if isinstance(self.agent, mb.Agent):
            check_agent(self.agent, self._judge, call)

    def _judge_result(self, call: Call, name: str, result: Any) -> None:
        if name == "probabilities":
            check_probabilities(result, self._judge, call)
        elif name == "pull" and isinstance(self.agent, mb.Agent) and not isinstance(result, mb.Candidate):
            offered = [arm for arm in self.agent.bounds.arms if arm not in self.agent.retired]
            if result not in offered:
                self._judge.report(f"result of {call.name}", "an arm that is not on offer", repr(result), call)

    def finish(self) -> None:
        """Save and load the agent: both must go on alike."""
        if isinstance(self.agent, mb.ContextualAgent):
            check_contextual(self.agent, self._judge, "at the end of the episode")
        else:
            check_clone(self.agent, self._judge, "at the end of the episode")


class EpisodeOverError(Exception):
    """Raised where nothing more can be learned from an agent."""


def check_probabilities(found: Any, judge: Judge, call: object) -> None:
    lawful = np.isfinite(found).all() and (found >= -1e-12).all() and abs(found.sum() - 1.0) < 1e-5
    if not lawful:
        judge.report("result of probabilities", "they are no probabilities", str(found.tolist()), call)


def check_agent(agent: mb.Agent, judge: Judge, call: object) -> None:
    """The counts of an agent are lawful."""
    plays, pending, means, bounds = agent.plays, agent.pending, agent.means, agent.bounds
    slack = 1e-9 * (np.abs(bounds.low) + np.abs(bounds.high))
    played = plays > 0
    problems = {
        "negative plays": (plays < 0).any(),
        "negative pending pulls": (pending < 0).any(),
        "more pending than pulled": pending.sum() > agent.inside.pulls,
        "means outside the range": not ((means >= bounds.low - slack) & (means <= bounds.high + slack))[played].all(),
        "more plays than updates": plays.sum() > agent.inside.updates,
        "fewer plays than updates": isinstance(agent.policy, mb.Policy) and plays.sum() < agent.inside.updates,
    }
    for problem in (name for name, found in problems.items() if found):
        state = f"plays={plays.tolist()}, pending={pending.tolist()}, means={means.tolist()}"
        judge.report("state of an agent", problem, f"{state}, {agent!r}", call)
        raise EpisodeOverError


def check_clone(agent: mb.Agent, judge: Judge, what: str) -> None:
    """An agent and its copy from JSON make the same decisions, and end in the same state."""
    returned, clone = judge.make(Call("Agent.from_dict", lambda: mb.Agent.from_dict(json.loads(state_of(agent)))))
    if not returned:
        judge.report("round trip of an agent", "its own state is refused", f"{what}: {clone!r}", agent)
        return
    for _ in range(3):
        answers = [judge.make(Call("Agent.pull", each.pull)) for each in (agent, clone)]
        if [answer[0] for answer in answers] == [True, True] and answers[0][1] == answers[1][1]:
            arm = answers[0][1]
            reward = arm.high if isinstance(arm, mb.Candidate) else float(agent.bounds.high[agent.bounds.position(arm)])
            for each in (agent, clone):
                judge.make(Call("Agent.update", each.update, [arm, reward]))
        elif answers[0][0] != answers[1][0] or answers[0][0]:
            judge.report("round trip of an agent", "the copy pulls another arm", f"{what}: {answers!r}", agent)
            return
    if state_of(agent) != state_of(clone):
        found = _difference(state_of(agent), state_of(clone))
        judge.report("round trip of an agent", "the copy ends in another state", f"{what}: {found}", agent)


def check_contextual(agent: mb.ContextualAgent, judge: Judge, what: str) -> None:
    """The same for a contextual agent."""
    returned, clone = judge.make(
        Call("ContextualAgent.from_dict", lambda: mb.ContextualAgent.from_dict(json.loads(state_of(agent))))
    )
    if not returned:
        judge.report("round trip of a contextual agent", "its own state is refused", f"{what}: {clone!r}", agent)
        return
    for context in agent.contexts[:4]:
        answers = [judge.make(Call("ContextualAgent.pull", each.pull, [context])) for each in (agent, clone)]
        if answers[0][0] != answers[1][0] or (answers[0][0] and answers[0][1] != answers[1][1]):
            judge.report("round trip of a contextual agent", "the copy pulls another arm", f"{what}: {answers}", agent)
            return
    if state_of(agent) != state_of(clone):
        found = _difference(state_of(agent), state_of(clone))
        judge.report("round trip of a contextual agent", "the copy ends in another state", f"{what}: {found}", agent)


def _difference(before: str, after: str) -> str:
    """The first entry of two states that differs."""
    old, new = json.loads(before), json.loads(after)
    for name in (*old, *(name for name in new if name not in old)):
        if json.dumps(old.get(name)) != json.dumps(new.get(name)):
            return f"{name} was {str(old.get(name))[:150]} and is {str(new.get(name))[:150]}"
    return "the order of the entries differs"
