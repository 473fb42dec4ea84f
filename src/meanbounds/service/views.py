"""What people see of the agents in a store."""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from typing import Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from meanbounds.agents import Agent
from meanbounds.agents.tree import Tree
from meanbounds.bounds import EXPERT, Arm
from meanbounds.evidence import confidence_sequence
from meanbounds.policies import Guarded
from meanbounds.service.events import Changed, Created, Event
from meanbounds.service.state import Context, State, plain, scope_of

__all__ = ["AgentView", "ContextView", "EventView", "agent_view", "context_view", "contexts_view", "event_view"]

_LONGEST = 1_000  # bytes of a setting
_LISTED, _CHANGED = 20, 5  # alarms of an agent, settings of a change
Earned = tuple[int, float | None, float, float]
"""How many rewards there were, their mean, and limits on it that hold at all times at once with 95%."""


class AgentView(msgspec.Struct, frozen=True):
    """An agent; `contexts` is None if it has none, and `reasons` counts why decisions were made as they were.

    `columns` are what its tree asks about, if it has one, and `hold` for how many seconds a unit keeps its option.
    """

    agent: str
    does: str
    version: int
    contexts: int | None
    alarms: list[tuple[Context | None, str]]
    policy: dict[str, Any]
    share: float
    forced: list[tuple[Context | None, Any]]
    earned: Earned
    experts: Earned | None
    reasons: dict[str, int]
    columns: tuple[str, ...] | None = None
    hold: float | None = None


class ContextView(msgspec.Struct, frozen=True):
    """A context, with an entry for each arm: among others how often experts chose it, and why it is left out.

    `budget` has what the promise allows to lose so far and what is lost at worst; `changed` is that of `ExpertsSeen`.
    `verdict` has the best arm, the probability of that, and what going on is worth at most; `restarts` counts how often
    rewards were forgotten since means had moved.
    """

    context: Context | None
    bounds: dict[str, Any]
    earned: list[Earned]
    waiting: list[int]
    chosen: list[int]
    probabilities: list[float]
    out: list[list[str]]
    budget: tuple[float, float] | None
    changed: str | None
    verdict: tuple[Any, float, float] | None = None
    restarts: int = 0


class EventView(msgspec.Struct, frozen=True):
    """An event; for a change `said` lists what was set, in which context, what was there before, and what is now."""

    version: int
    time: float
    kind: str
    by: str
    context: Context | None
    said: Any


def agent_view(state: State) -> AgentView:
    """An agent over all contexts."""
    agent, plays = state.agent, state.agent.plays()
    found = [(state.names.get(int(one.context or 0)), one) for one in agent.contradictions()[:_LISTED]]
    alarms: list[Any] = [(None, str(stop)) for stop in state.stops]
    alarms += [(name, str(one.named(one.arm, name))) for name, one in found]
    bounds = agent.knowledge(*agent.contexts[:1] if isinstance(agent, Agent) else ()).bounds
    table = np.array([plays, np.nan_to_num(agent.means()) * plays, bounds.low, bounds.high])
    experts = np.array([arm is EXPERT for arm in agent.arms])
    rewards, total, low, high = table[:, ~experts | experts.all()]
    earned = _earned(rewards.sum(), total.sum(), low.min(), high.max())[0]
    asked = _earned(*table[:, experts])[0] if experts.any() else None
    forced = [(state.names.get(number or 0), *plain([arm])) for number, arm in state.forced.items()]
    contexts, reasons = len(state.ids) if state.contextual else None, dict(state.reasons)
    settings = agent.policy.to_dict(), state.share, forced
    columns = None if state.tree is None else state.tree.columns
    view = state.name, _does(state), state.version, contexts, alarms, *settings, earned, asked, reasons, columns
    return AgentView(*view, state.hold)


def context_view(state: State, number: int | None) -> ContextView:
    """One context, or the whole of an agent without contexts."""
    restarts, agent, where = 0, state.agent, () if number is None else (str(number),)
    chosen, budget, changed, chances = np.zeros(len(agent.arms)), None, None, defaultdict[Any, float](float)
    out: dict[Arm, list[str]] = {arm: ["retired"] * (arm in agent.retired) for arm in agent.arms}
    for one in agent.excluded(*where):
        out[one.arm].append(f"at most {one.upper:g}, where {one.better} has at least {one.lower:g}")
    for stop in state.stops:
        out[stop.arm].append(stop.why)
    with suppress(ValueError):  # nothing may be played
        for arm, chance in state.chances(number, None):
            chances[arm] += chance
    if isinstance(agent, Agent):
        for arm in agent.forbidden(*where):
            out[arm].append("forbidden")
        restarts = agent.restarts(*where)
        budget = agent.budget(*where) if isinstance(agent.policy, Guarded) else None
        if EXPERT in agent.arms:
            chosen, changed = agent.observed(*where)[0], agent.experts(*where).changed
    bounds, plays, waiting = agent.knowledge(*where).bounds, agent.plays(*where), agent.pending(*where)
    earned = _earned(plays, np.nan_to_num(agent.means(*where)) * plays, bounds.low, bounds.high)
    columns = waiting.tolist(), chosen.astype(int).tolist(), [chances[arm] for arm in agent.arms], [*out.values()]
    found = state.verdict(*where)
    verdict = None if found is None else (*plain([found.arm]), found.probability, found.worth)
    name = state.names.get(number or 0)
    return ContextView(name, bounds.to_dict(), earned, *columns, budget, changed, verdict, restarts)


def contexts_view(state: State, search: str, start: int, limit: int) -> tuple[int, list[Context]]:
    """How many contexts have this in their names, and some of them."""
    wanted = search.casefold()
    found = [name for name in state.ids if wanted in (name if isinstance(name, str) else " / ".join(name)).casefold()]
    return len(found), found[start : start + limit]


def event_view(event: Event, state: State) -> EventView:
    """An event about an agent, with the names of contexts."""
    body = event.said
    said = None if isinstance(body, Created) else body
    if isinstance(body, Changed):
        scopes = [(*scope_of(scope), body.was.get(scope), body.set[scope]) for scope in list(body.set)[:_CHANGED]]
        said = [(what, state.names.get(n or 0), _short(was), _short(now)) for what, n, was, now in scopes]
    context, by = state.names.get(getattr(body, "context", 0) or 0), getattr(body, "by", "")
    return EventView(event.position, event.time, event.kind, by, context, said)


def _short(value: Any) -> Any:
    """A setting, unless it is too long to be shown; of a tree its leaves."""
    if isinstance(value, dict) and "nodes" in value:
        return ", ".join(Tree.from_dict(value).contexts)[:_LONGEST]
    return value if len(msgspec.json.encode(value)) <= _LONGEST else "…"


def _does(state: State) -> str:
    """What an agent does now, in words."""
    policy, forced = state.agent.policy, state.forced.get(None)
    if forced is not None:
        return "leaves every decision to the experts" if forced is EXPERT else f"plays only {forced}"
    if not state.share:
        return "watches: experts make every decision"
    says = "decides by itself" + ", and asks experts where they seem better" * (EXPERT in state.agent.arms)
    if isinstance(policy, Guarded):
        says = f"decides under a guard: {policy.promise.in_words()}"
    return says if state.share == 1.0 else f"{says}; experts make {1.0 - state.share:.1%} of the decisions"


def _earned(plays: ArrayLike, total: ArrayLike, low: ArrayLike, high: ArrayLike) -> list[Earned]:
    n, sums, bottom, top = np.atleast_1d(plays, total, low, high)
    sums = np.clip(sums, n * bottom, n * top)
    lower, upper = confidence_sequence(n, sums, low=bottom, high=top)
    means = [own / count if count else None for count, own in zip(n.tolist(), sums.tolist(), strict=True)]
    return list(zip(n.astype(int).tolist(), means, lower.tolist(), upper.tolist(), strict=True))
