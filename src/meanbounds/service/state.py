"""One agent in a store: what its events have made of it. `State.apply` is the only way in which it changes."""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any, Self

import numpy as np

from meanbounds.agents import Agent
from meanbounds.agents.guardrails import Stop
from meanbounds.agents.tree import Tree
from meanbounds.agents.verdict import Verdict
from meanbounds.bounds import EXPERT, Arm, MeanBounds, UnknownArmError, plain_arms
from meanbounds.knowledge import Knowledge, Prior
from meanbounds.linear import Candidate, LinearAgent
from meanbounds.policies import Policy
from meanbounds.service import limits
from meanbounds.service.events import Body, Changed, Created, Decided, Entered, Erased, Event, Observed, Rewarded
from meanbounds.service.refusals import RefusedError
from meanbounds.support.checks import unknown
from meanbounds.support.decisions import Decision
from meanbounds.support.streams import stream, uniform
from meanbounds.support.types import Floats

__all__ = [
    "Context",
    "Outcomes",
    "State",
    "Where",
    "as_context",
    "parts_of",
    "plain",
    "read_agent",
    "read_known",
    "renamed",
    "scope_of",
]

Context = str | tuple[str, ...]
Where = Context | Mapping[str, Any] | None  # raw columns, for an agent with a tree
Outcomes = Mapping[str, float] | None


class State:
    """An agent in a store, with what is around it: names of contexts, forced arms, the share that it decides.

    Attributes
    ----------
    name
        The agent's name.
    agent
        The agent; it calls each context by its number.
    ids, names, parts
        The numbers of contexts by name, the names by number (an erased name is in neither), how many parts they have.
    share
        The share of the decisions that the agent makes; in the others the experts are asked.
    hold
        For how many seconds a unit keeps what was decided for it; None for ever.
    reasons
        How many decisions had each reason.
    forced
        What is played whatever the agent thinks, by the number of a context; None stands for all contexts.
    version
        The position of the last change.
    position
        The position of the last event about this agent.
    """

    agent: Agent | LinearAgent

    def __init__(self, name: str) -> None:
        self.name, self.share, self.version, self.position = name, 1.0, 0, 0
        self.hold: float | None = None
        self.ids, self.names, self.parts = dict[Context, int](), dict[int, Context](), set[int]()
        self.forced, self.reasons = dict[int | None, Arm](), Counter[str]()
        self._nothing: MeanBounds | None = None  # what a new context knows

    def know(self, number: int, name: str | None) -> None:
        """Take the name of a context, as the table of contexts has it."""
        if name is not None:
            context = as_context(json.loads(name))
            self.ids[context], self.names[number] = number, context
            self.parts.add(parts_of(context))

    @property
    def contextual(self) -> bool:
        """Whether decisions are made by context."""
        return isinstance(self.agent, Agent) and self._has_contexts

    def verdict(self, number: str | None = None) -> Verdict | None:
        """The verdict of a context; None if no option may be played there, or options have features."""
        with suppress(ValueError):
            return self.agent.verdict(number) if isinstance(self.agent, Agent) else None
        return None

    @property
    def stops(self) -> list[Stop]:
        """The arms that guardrails have stopped, and why."""
        return self.agent.stops() if isinstance(self.agent, Agent) else []

    @property
    def tree(self) -> Tree | None:
        """Finds the names of contexts from raw columns."""
        return self.agent.tree if isinstance(self.agent, Agent) else None

    def context(self, given: Any) -> Context | None:
        """The name of the context that JSON stands for; raw columns go no further than here."""
        if not isinstance(given, dict):
            return as_context(given)
        if self.tree is None:
            said = "no tree to take columns: give the name of a" if self.contextual else "no contexts: leave out the"
            raise RefusedError(422, "invalid", f"{self.name} has {said} context")
        return self.tree.leaf(given)

    def arm(self, given: Any) -> Any:
        """The arm that JSON stands for: a name, `EXPERT`, or a candidate."""
        if not isinstance(given, dict):
            return given
        if given == {"expert": True}:
            return EXPERT
        if isinstance(self.agent, Agent):
            raise RefusedError(422, "invalid", 'an arm is a text, a whole number or {"expert": true}')
        name = given.get("name")
        if not (0 < len(name) <= limits.NAME if isinstance(name, str) else type(name) is int and abs(name) <= 2**53):
            said = f"a candidate has a name, a text of at most {limits.NAME} characters or a whole number up to 2**53"
            raise RefusedError(422, "invalid", said)
        try:
            return Candidate(**given)
        except TypeError as error:
            raise RefusedError(422, "invalid", f"a candidate has name, features, and perhaps bounds: {error}") from None

    def known_arm(self, given: Any) -> Arm:
        """One of the agent's arms, from JSON."""
        arm: Arm = self.arm(given)
        if arm not in self.agent.arms:
            raise UnknownArmError(unknown("arm", arm, self.agent.arms))
        return arm

    def propose(self, context: int | None, eligible: list[Any] | None) -> Decision:
        """What is to be done in a case."""
        forced, offered, share = self._ask(context, eligible)
        agent: Any = self.agent
        where = self._where(context)
        if forced is not None:
            return Decision(context, forced, 1.0, "forced")
        if share < 1.0 and uniform(stream(agent.seed, 0, "share"), self.position)[0] >= share:
            expert = agent.probabilities(*where, eligible=offered).item(agent.arms.index(EXPERT))
            return Decision(context, EXPERT, 1.0 - share + share * expert, "share")
        decision = agent.propose(*where, eligible=offered)
        rest = 1.0 - share if decision.arm is EXPERT else 0.0
        return Decision(context, decision.arm, rest + share * decision.probability, decision.reason)

    def holds(self, event: Event, now: float, context: int | None, eligible: list[Any] | None) -> bool:
        """Whether a unit keeps what was decided for it, in a case that it is in now."""
        forced, offered, _ = self._ask(context, eligible)
        said, agent = event.said, self.agent
        arm = _name(self.arm(said.arm))
        if self.hold is not None and now >= event.time + self.hold:
            return False
        if forced is not None or said.reason == "forced":
            return bool(arm == forced)
        out = agent.forbidden(*self._where(context)) if isinstance(agent, Agent) else ()
        return arm not in (*agent.retired, *out) and (offered is None or arm in map(_name, offered))

    def chances(self, context: int | None, eligible: list[Any] | None) -> list[tuple[Any, float]]:
        """The probability with which `propose` returns each arm."""
        forced, offered, share = self._ask(context, eligible)
        agent: Any = self.agent
        where = self._where(context)
        if forced is not None:
            return [(forced, 1.0)]
        arms = agent.arms
        if offered is not None and any(isinstance(arm, Candidate) for arm in offered):
            arms = [arm for arm in dict.fromkeys(offered) if arm not in agent.retired]
        found = agent.probabilities(*where, eligible=offered).tolist()
        return [(EXPERT, 1.0 - share), *((arm, share * chance) for arm, chance in zip(arms, found, strict=True))]

    def _ask(self, context: int | None, eligible: list[Any] | None) -> tuple[Arm | None, list[Any] | None, float]:
        """The arm that is forced, the arms on offer, and the share of such cases that the agent decides."""
        offered = None if eligible is None else [self.arm(one) for one in eligible]
        forced = self.forced.get(context, self.forced.get(None))
        if forced is not None and offered is not None and forced not in offered:
            said = f"option {forced!r} is forced here and not eligible: make it eligible, or free the agent"
            raise RefusedError(409, "forced", said)
        there = self.share < 1.0 and EXPERT not in self.agent.retired and (offered is None or EXPERT in offered)
        return forced, offered, self.share if there else 1.0

    def apply(self, event: Event, body: Body | None = None) -> None:
        """Change as this event says. If that raises an error, nothing has changed."""
        said: Any = event.said if body is None else body
        outcomes = getattr(said, "outcomes", None) or {}
        if outcomes and not isinstance(self.agent, Agent):
            raise ValueError("an agent for arms with features has no guardrails: leave out the outcomes")
        agent: Any = self.agent if outcomes else None
        for name, value in outcomes.items():  # before anything changes
            agent.share_of_outcome(name, value)
        _APPLY[type(said)](self, said)
        for name, value in outcomes.items():
            arm = EXPERT if isinstance(said, Observed) else self.arm(said.arm)
            agent.report(name, value, arm, *self._where(said.context))
        if isinstance(said, Created | Changed):
            self.version = event.position
        self.position = event.position

    def _create(self, body: Created) -> None:
        self._take(read_agent(body.agent))

    def _take(self, agent: Agent | LinearAgent) -> None:
        self.agent = agent
        self._has_contexts = isinstance(agent, Agent) and bool(agent.contexts)

    def _enter(self, body: Entered) -> None:
        """Add a context: it knows nothing, and where there are experts it leaves everything to them."""
        agent, name = self.agent, str(body.context)
        assert isinstance(agent, Agent)
        if self._nothing is None or self._nothing.arms != agent.arms:
            known = agent.knowledge(agent.contexts[0]).bounds
            self._nothing = MeanBounds.vacuous(agent.arms, low=known.low, high=known.high)
        agent.know({name: self._nothing})
        if EXPERT in agent.arms:
            agent.forbid([arm for arm in agent.arms if arm is not EXPERT], name)

    def _decide(self, body: Decided) -> None:
        if body.reason != "forced":
            self.agent.play(self.arm(body.arm), *self._where(body.context))
        self.reasons[body.reason] += 1

    def _reward(self, body: Rewarded) -> None:
        agent, arm, where = self.agent, self.arm(body.arm), self._where(body.context)
        if body.reward is None:
            if not body.forced:
                agent.cancel(arm, *where)
        elif arm is EXPERT:
            assert isinstance(agent, Agent)
            agent.observe(body.chosen, body.reward, *where, pulled=not body.forced)
        else:
            agent.update(arm, body.reward, *where, pulled=not body.forced)

    def _observe(self, body: Observed) -> None:
        if not isinstance(self.agent, Agent):
            raise ValueError("an agent for arms with features has no experts to observe")
        self.agent.observe(body.arm, body.reward, *self._where(body.context), pulled=False)

    def _change(self, body: Changed) -> None:
        """Set what was changed, on a copy, so that all of it is set or nothing."""
        scopes = dict(sorted(body.set.items(), key=lambda item: _ORDER.index(scope_of(item[0])[0])))
        policy = {"policy": scopes.pop("policy")} if "policy" in scopes else {}
        try:  # the old knowledge need not fit the new policy, nor the old policy the new knowledge
            after = self._after(policy | scopes)
        except ValueError:
            if not policy or not scopes:
                raise
            after = self._after(scopes | policy)
        self.agent, self.share, self.hold, self.forced = after.agent, after.share, after.hold, after.forced

    def _after(self, scopes: Mapping[str, Any]) -> State:
        after = copy.copy(self)
        after.agent, after.forced = copy.deepcopy(self.agent), dict(self.forced)
        for scope, value in scopes.items():
            after._assign(*scope_of(scope), value)
        return after

    def _assign(self, what: str, number: int | None, value: Any) -> None:
        agent = self.agent
        if what == "share":
            if EXPERT not in agent.arms:
                raise ValueError("this agent cannot ask experts, so it makes all decisions: there is no expert arm")
            self.share = value
        elif what == "hold":
            self.hold = value
        elif what == "forced":
            if value is None:
                self.forced.pop(number, None)
            else:
                self.forced[number] = self.known_arm(value)
        elif what == "retired":
            retired = [self.known_arm(one) for one in value]
            for arm in agent.arms:
                (agent.retire if arm in retired else agent.restore)(arm)
        elif not isinstance(agent, Agent):
            raise ValueError(f"{what}: an agent for arms with features cannot change it; make a new agent")
        elif what == "policy":
            agent.follow(Policy.from_dict(value))
        elif what in ("floor", "pool"):
            agent.follow(agent.policy, **{what: value})
        elif what == "tree":
            agent.tree = value and Tree.from_dict(value)
        elif what == "add":
            agent.add(Knowledge.from_dict(value))
        elif what == "known":
            where = self._where(number)
            known = _filled(Knowledge.from_dict(value), agent.knowledge(*where))
            agent.know(known if number is None else {str(number): known})
        else:
            agent.forbid([self.arm(one) for one in value], *self._where(number))

    def setting(self, scope: str) -> Any:
        """What a change would replace, as JSON."""
        what, number = scope_of(scope)
        agent = self.agent
        if what in ("share", "hold"):
            return getattr(self, what)
        if what == "forced":
            return None if number not in self.forced else plain_arms([self.forced[number]])[0]
        if what == "retired":
            return plain_arms(agent.retired)
        if what == "policy":
            return agent.policy.to_dict()
        if what == "floor":
            return agent.floor
        if not isinstance(agent, Agent):
            return None
        if what == "pool":
            return agent.pool
        if what == "tree":
            return agent.tree and agent.tree.to_dict()
        if what == "known":
            return agent.knowledge(*self._where(number)).to_dict()
        return plain_arms(agent.forbidden(*self._where(number)))

    def _erase(self, body: Erased) -> None:
        name = self.names.pop(body.context, None)
        if name is not None and self.ids.get(name) == body.context:  # the name may be that of a new context by now
            del self.ids[name]

    def _where(self, number: int | None) -> tuple[Any, ...]:
        """The arguments that say where, for the agent's methods."""
        if not isinstance(self.agent, Agent):
            return ()
        return (None,) if number is None else (str(number),)

    def to_dict(self) -> dict[str, Any]:
        """Everything but names, in values that JSON can hold."""
        forced = [[number, plain_arms([arm])[0]] for number, arm in self.forced.items()]
        own: dict[str, Any] = {"share": self.share, "version": self.version, "reasons": dict(self.reasons)}
        own |= {} if self.hold is None else {"hold": self.hold}
        return {"agent": self.agent.to_dict(), "forced": forced, **own}

    @classmethod
    def from_dict(cls, name: str, position: int, data: Mapping[str, Any]) -> Self:
        """Make the state that `to_dict` described."""
        self = cls(name)
        self._take(read_agent(data["agent"]))
        self.share, self.version, self.position = data["share"], data["version"], position
        self.hold = data.get("hold")
        self.reasons.update(data["reasons"])
        self.forced = {number: self.arm(arm) for number, arm in data["forced"]}
        return self

    def agent_by_name(self) -> Agent | LinearAgent:
        """A copy of the agent that calls contexts by their names; an erased one is called by its number."""
        data = self.agent.to_dict()
        if self.contextual:
            names = {number: self.names.get(int(number), f"erased {number}") for number in data["contexts"]}
            data = renamed(data, names)
        return read_agent(data)


_APPLY: dict[type[Body], Any] = {
    Created: State._create,
    Decided: State._decide,
    Rewarded: State._reward,
    Observed: State._observe,
    Changed: State._change,
    Entered: State._enter,
    Erased: State._erase,
}
_ORDER = ("add", "retired", "pool", "tree", "floor", "share", "hold", "known", "forbidden", "forced", "policy")


def scope_of(text: str) -> tuple[str, int | None]:
    """What a change sets, and the number of the context.

    Examples
    --------
    >>> scope_of("known:17"), scope_of("policy")
    (('known', 17), ('policy', None))
    """
    what, _, number = text.partition(":")
    return what, int(number) if number else None


def as_context(given: Any) -> Context:
    """The name of a context from JSON."""
    return tuple(given) if isinstance(given, list) else given


def parts_of(context: Context) -> int:
    """How many parts the name of a context has."""
    return 1 if isinstance(context, str) else len(context)


def read_agent(data: Mapping[str, Any]) -> Agent | LinearAgent:
    """The agent that was saved, of either kind."""
    return LinearAgent.from_dict(data) if "linear_agent" in data else Agent.from_dict(data)


def renamed(data: Mapping[str, Any], names: Mapping[Any, Context]) -> dict[str, Any]:
    """A saved agent whose contexts have other names, in the levels of its guardrails, too."""

    def other(saved: Any) -> Any:
        if as_context(saved) not in names:
            raise ValueError(f"a guardrail has a level for {saved!r}: there is no such context")
        name = names[as_context(saved)]
        return list(name) if isinstance(name, tuple) else name

    outcomes = {**data.get("outcomes", {})}
    for place, rail in enumerate(rails := [*outcomes.get("guardrails", ())]):
        if isinstance(rail["level"], list):
            rails[place] = {**rail, "level": [[other(name), level] for name, level in rail["level"]]}
    more = {"outcomes": {**outcomes, "guardrails": rails}} if rails else {}
    return {**data, "contexts": [other(name) for name in data["contexts"]], **more}


def read_known(data: Mapping[str, Any], before: Knowledge | None = None) -> Knowledge:
    """Saved `Knowledge`, or saved `MeanBounds` in the place of those that were known before."""
    if "bounds" in data:
        return Knowledge.from_dict(data)
    bounds = MeanBounds.from_dict(data)
    if before is None:
        return Knowledge(bounds)
    return Knowledge(bounds, prior=before.prior, trust=before.trust, assumption=before.assumption)


def _filled(known: Knowledge, before: Knowledge) -> Knowledge:
    """The same knowledge, and of arms that it lacks what was known before."""
    rest = [k for k, arm in enumerate(before.bounds.arms) if arm not in known.bounds.arms]
    if not rest:
        return known
    columns = [_columns(known), _columns(before)[:, rest]]
    lower, upper, low, high, trust, mean, strength = np.hstack(columns)
    arms = [*known.bounds.arms, *(before.bounds.arms[k] for k in rest)]
    prior = known.prior if known.prior is None or known.prior.is_learned else Prior(mean, strength)
    bounds = MeanBounds(lower, upper, arms=arms, low=low, high=high)
    return Knowledge(bounds, prior=prior, trust=trust, assumption=known.assumption)


def _columns(known: Knowledge) -> Floats:
    """Knowledge as a table with a column for each arm; a strength of 2 in the middle of the range is no prior."""
    bounds, prior = known.bounds, None if known.prior is None or known.prior.is_learned else known.prior
    mean, strength = (0.5 * (bounds.low + bounds.high), 2.0) if prior is None else (prior.mean, prior.strength)
    rows = (bounds.lower, bounds.upper, bounds.low, bounds.high, known.trust, mean, strength)
    return np.array([np.broadcast_to(row, len(bounds)) for row in rows])


def _name(arm: Any) -> Any:
    """An arm, or the name of a candidate, whose features may differ from case to case."""
    return arm.name if isinstance(arm, Candidate) else arm


def plain(arms: Iterable[Any]) -> list[Any]:
    """Arms in values that JSON can hold, candidates too."""
    return [asdict(arm) if isinstance(arm, Candidate) else plain_arms([arm])[0] for arm in arms]
