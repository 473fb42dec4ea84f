"""What can be asked of a store. The same types are the bodies of requests over HTTP, and their answers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

import msgspec
from msgspec import UNSET, Meta, UnsetType

from meanbounds.agents import Agent
from meanbounds.bounds import MeanBounds
from meanbounds.service import limits
from meanbounds.service.events import Changed, Created, Decided, Erased, Observed, Rewarded, digest
from meanbounds.service.refusals import RefusedError
from meanbounds.service.state import Context, State, as_context, plain, read_agent, read_known, renamed
from meanbounds.support.checks import unknown

if TYPE_CHECKING:
    from meanbounds.service.writer import Group

__all__ = [
    "Answer",
    "Change",
    "Columns",
    "Command",
    "Create",
    "Decide",
    "DecideAnswer",
    "DoneAnswer",
    "Erase",
    "Find",
    "FoundAnswer",
    "Observe",
    "Order",
    "Reward",
    "Rollback",
    "VersionAnswer",
]

Id = Annotated[str, Meta(min_length=1, max_length=limits.ID, description="An id of your own, such as a UUID.")]
Unit = Annotated[str, Meta(min_length=1, max_length=limits.NAME, description="A person or device; it is not kept.")]
Part = Annotated[str, Meta(max_length=limits.PART)]
ContextName = Part | Annotated[list[Part], Meta(min_length=1, max_length=limits.PARTS)]
ArmName = Annotated[str, Meta(min_length=1, max_length=limits.NAME)] | Annotated[int, Meta(ge=-(2**53), le=2**53)]
AnyArm = (
    ArmName | Annotated[dict[str, Any], Meta(description='{"expert": true}, or a candidate with name and features.')]
)
Number = Annotated[float, Meta(ge=-1e300, le=1e300)]
Outcomes = Annotated[dict[Annotated[str, Meta(max_length=limits.NAME)], Number], Meta(max_length=limits.OUTCOMES)]
Share = Annotated[float, Meta(ge=0.0, le=1.0)]
Columns = Annotated[
    dict[Part, Any],
    Meta(
        max_length=limits.COLUMNS,
        description="Raw columns, if the agent has a tree: texts, numbers or null.",
    ),
]


class Command(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Base of all commands: `run` checks, adds events to the group, and answers.

    Or it raises, and adds nothing but a context that it names for the first time.
    """

    keyed: ClassVar[str] = ""  # what the id is that of, if there is one, by which a repeated command is known

    @abstractmethod
    def run(self, state: State, group: Group, key: str | None) -> Answer:
        """Carry out the command; the key stands for its id."""


class Answer(msgspec.Struct, frozen=True):
    """Base of all answers."""


class _OfUnit(Command, frozen=True, kw_only=True):
    unit: Unit | None = None


class _Case(_OfUnit, frozen=True):
    """Base of what is about a decision, which is named by its id or is the latest one of a unit."""

    id: Id = ""

    keyed = "decision"

    def __post_init__(self) -> None:
        if (not self.id) == (self.unit is None):
            raise ValueError("give either an id of the decision, or a unit")


class Decide(_Case, frozen=True):
    """Ask for a decision. The same id gets the same answer.

    So does the same unit, until the agent's `hold` is over or the option may not be played any more.
    """

    context: ContextName | Columns | None = None
    eligible: Annotated[list[AnyArm], Meta(min_length=1, max_length=limits.OPTIONS)] | None = None

    def run(self, state: State, group: Group, key: str | None) -> DecideAnswer:
        """Decide, or answer as before."""
        context, own, place = state.context(self.context), self.id, 0
        if self.unit is not None:
            place, own, key = group.of_unit(state.name, self.unit)
        earlier = group.found(key)
        if earlier is not None and self.unit is not None:
            number = group.number(state, context)
            if not state.holds(earlier, group.time, number, self.eligible):
                earlier, (place, own, key) = None, group.of_unit(state.name, self.unit, later=1)
        if earlier is not None:
            body: Decided = earlier.said
            same = body.context == (None if context is None else state.ids.get(context, -1))
            if self.unit is None and (not same or body.eligible != self.eligible):
                said = "this id has had a decision in another context, or with other options: give each case its own id"
                raise RefusedError(409, "conflict", said)
        else:
            number = group.number(state, context)
            proposal = state.propose(number, self.eligible)
            arm = plain([proposal.arm])[0]
            body = Decided(arm, proposal.probability, proposal.reason, state.version, number, self.eligible)
            group.append(state, body, key)
            if self.unit is not None:
                group.units[state.name, self.unit] = place
        return DecideAnswer(own, body.arm, body.probability, body.reason, body.version, earlier is not None)


class DecideAnswer(Answer, frozen=True):
    """A decision: the arm, or `{"expert": true}`, and why. That of a unit has an id, too."""

    id: str
    arm: Any
    probability: float
    reason: str
    version: int
    repeated: bool = False


class Reward(_Case, frozen=True, kw_only=True):
    """The reward of a decision; null if it will never come. Where experts were asked, `arm` is what they chose.

    `outcomes` are those that have guardrails.
    """

    reward: Number | None
    arm: ArmName | None = None
    outcomes: Outcomes | None = None

    def run(self, state: State, group: Group, key: str | None) -> DoneAnswer:
        """Learn from the reward, unless it has come before."""
        own = self.id
        if self.unit is not None:
            _, own, key = group.of_unit(state.name, self.unit)
        decision = group.found(key)
        if decision is None:
            said = f"no decision has this {'unit' if self.unit else 'id'}: ask for the decision first"
            raise RefusedError(404, "unknown_decision", said)
        decided: Decided = decision.said
        asked = decided.arm == {"expert": True}
        if asked and self.arm is None and self.reward is not None:
            raise RefusedError(422, "invalid", "the experts were asked: say as arm which option they chose")
        if not asked and self.arm is not None and self.arm != decided.arm:
            said = f"the decision was {decided.arm!r}, not {self.arm!r}: a case that went another way teaches nothing "
            raise RefusedError(409, "conflict", said + "about it, so report that no reward will come (null)")
        earlier = group.reward_of(decision)
        if earlier is not None:
            body: Rewarded = earlier.said
            other = body.reward is not None and ((asked and body.chosen != self.arm) or body.outcomes != self.outcomes)
            if body.reward != self.reward or other:
                had = "was given up" if body.reward is None else f"has had the reward {body.reward:g}"
                raise RefusedError(409, "conflict", f"this decision {had}; a reward and its outcomes cannot be changed")
            return DoneAnswer(own, True)
        if self.reward is None and self.outcomes:
            raise RefusedError(422, "invalid", "outcomes come with a reward: a case that was given up teaches nothing")
        chosen = self.arm if asked and self.reward is not None else None
        told = Rewarded(decided.arm, self.reward, decided.context, chosen, decided.reason == "forced", self.outcomes)
        group.append(state, told, about=decision.position)
        return DoneAnswer(own)


class DoneAnswer(Answer, frozen=True):
    """A reward or an observation that counts."""

    id: str
    repeated: bool = False


class Observe(Command, frozen=True):
    """What experts chose in a case for which no decision was asked, and how it went."""

    id: Id
    arm: ArmName
    reward: Number
    context: ContextName | Columns | None = None
    outcomes: Outcomes | None = None

    keyed = "observation"

    def run(self, state: State, group: Group, key: str | None) -> DoneAnswer:
        """Learn from the observation, unless it has come before."""
        earlier = group.found(key)
        context = state.context(self.context)
        if earlier is not None:
            body: Observed = earlier.said
            number = None if context is None else state.ids.get(context, -1)
            if (body.arm, body.reward, body.context, body.outcomes) != (self.arm, self.reward, number, self.outcomes):
                raise RefusedError(409, "conflict", "this id has had another observation: give each case its own id")
            return DoneAnswer(self.id, True)
        group.append(state, Observed(self.arm, self.reward, group.number(state, context), self.outcomes), key)
        return DoneAnswer(self.id)


class Find(Command, frozen=True):
    """Ask in which context a case is; nothing is decided, and nothing kept."""

    context: Columns

    def run(self, state: State, group: Group, key: str | None) -> FoundAnswer:
        """Find the leaf."""
        return FoundAnswer(state.context(self.context))


class FoundAnswer(Answer, frozen=True):
    """The name of a context."""

    context: Context | None


class _Change(Command, frozen=True):
    """Base of what changes an agent's settings."""

    id: Id | None = None

    keyed = "change"

    @abstractmethod
    def changed(self, state: State, group: Group) -> tuple[dict[str, Any], dict[str, Any]]:
        """What to set, and what is there now."""

    def run(self, state: State, group: Group, key: str | None) -> VersionAnswer:
        """Change the agent, unless this was done before."""
        asked = "" if key is None else digest(type(self).__name__, self)
        earlier = group.found(key)
        if earlier is not None:
            if earlier.said.asked != asked:
                raise RefusedError(409, "conflict", "this id was given to another change: give each its own id")
            return VersionAnswer(earlier.position)
        sets, was = self.changed(state, group)
        if not sets:
            return VersionAnswer(state.version)
        body = Changed(sets, was, group.by, getattr(self, "to", None), asked)
        return VersionAnswer(group.append(state, body, key).position)


class Change(_Change, frozen=True, kw_only=True):
    """Change one thing about an agent: give one of these, and `context` where it is about one.

    `policy` and `floor`: how it decides. `bounds`: saved MeanBounds or Knowledge of one context. `share`: the share of
    the decisions that the agent makes; experts are asked in the others. `hold`: for how many seconds a unit keeps what
    was decided for it; null for ever, which is how an agent begins. `force`: an arm to play, whatever the agent
    thinks, in one context or in all; `free` ends that. `forbid`: the arms that must not be played in a context, in
    place of those forbidden before. `retire`, `restore`: an arm, everywhere. `add`: saved MeanBounds of new arms.
    `agent`: a saved agent, such as one from a newer log, whose policy, tree and knowledge replace those of this one.
    """

    context: ContextName | None = None
    policy: dict[str, Any] | UnsetType = UNSET
    floor: Share | UnsetType = UNSET
    bounds: dict[str, Any] | UnsetType = UNSET
    share: Share | UnsetType = UNSET
    hold: Annotated[float, Meta(ge=0.0, le=1e10)] | UnsetType | None = UNSET
    force: AnyArm | UnsetType = UNSET
    free: Literal[True] | UnsetType = UNSET
    forbid: list[AnyArm] | UnsetType = UNSET
    retire: AnyArm | UnsetType = UNSET
    restore: AnyArm | UnsetType = UNSET
    add: dict[str, Any] | UnsetType = UNSET
    agent: dict[str, Any] | UnsetType = UNSET

    def changed(self, state: State, group: Group) -> tuple[dict[str, Any], dict[str, Any]]:
        """What to set, and what is there now."""
        given = {name: getattr(self, name) for name in _CHANGES if getattr(self, name) is not UNSET}
        if len(given) != 1:
            said = f"change one thing at a time, one of {', '.join(_CHANGES)}; got {', '.join(given) or 'none'}"
            raise RefusedError(422, "invalid", said)
        ((what, value),) = given.items()
        context = as_context(self.context)
        if context is not None and what not in ("bounds", "force", "free", "forbid"):
            raise RefusedError(422, "invalid", f"{what} is about all contexts: leave out the context")
        number = None
        if context is not None or (state.contextual and what in ("bounds", "forbid")):
            if context is not None and state.contextual and context not in state.ids:
                raise RefusedError(404, "unknown_context", unknown("context", context, list(state.ids)[:10_000]))
            number = group.number(state, context)
        sets = self._sets(state, group, what, value, number)
        was = {scope: state.setting(scope) for scope in sets if scope != "add"}
        if "add" in sets:
            was["retired"] = [*state.setting("retired"), *sets["add"]["bounds"]["arms"]]
        return sets, was

    @staticmethod
    def _sets(state: State, group: Group, what: str, value: Any, number: int | None) -> dict[str, Any]:
        """The settings that a change replaces."""
        here = "" if number is None else str(number)
        retired = state.setting("retired")
        if what in ("policy", "floor", "share", "hold"):
            return {what: value}
        if what in ("force", "free"):
            return {f"forced:{here}": value if what == "force" else None}
        if what == "forbid":
            return {f"forbidden:{here}": plain(state.known_arm(arm) for arm in value)}
        if what in ("retire", "restore"):
            own = plain([state.known_arm(value)])
            return {"retired": [arm for arm in retired if arm not in own] + own * (what == "retire")}
        agent = state.agent
        if not isinstance(agent, Agent):
            raise RefusedError(422, "invalid", f"{what}: an agent for arms with features cannot change it")
        if what == "bounds":
            known = read_known(value, agent.knowledge(None if number is None else str(number)))
            return {f"known:{here}": known.to_dict()}
        if what == "add":
            known = read_known(value)
            _check_names(known.bounds.arms)
            return {"add": known.to_dict()}
        return _replaced(state, group, agent, value)


class _Names(msgspec.Struct):
    arms: Annotated[list[AnyArm], Meta(max_length=limits.OPTIONS)]
    contexts: list[ContextName]


def _check_names(arms: Iterable[Any], contexts: Iterable[Any] = ()) -> None:
    """Refuse names that are too long, and too many of them."""
    try:
        msgspec.convert({"arms": plain(arms), "contexts": list(contexts)}, _Names)
    except msgspec.ValidationError as error:
        raise RefusedError(422, "invalid", f"names of arms and contexts: {error}") from None


def _replaced(state: State, group: Group, agent: Agent, saved: dict[str, Any]) -> dict[str, Any]:
    """All settings that another agent brings: its policy, its knowledge, and what it forbids."""
    other = read_agent(saved)
    _check_names(other.arms, getattr(other, "contexts", ()))
    if not isinstance(other, Agent) or bool(other.contexts) != state.contextual:
        how = "by context" if state.contextual else "without contexts"
        raise RefusedError(422, "invalid", f"{state.name} decides {how}: give an agent that does so, too")
    if other.drift not in (None, agent.drift) or other.guardrails not in ((), agent.guardrails):
        raise RefusedError(422, "invalid", "drift and guardrails stay as the agent began: give an agent without them")
    sets: dict[str, Any] = {"policy": other.policy.to_dict(), "floor": other.floor}
    for what, value in {"pool": other.pool, "tree": other.tree and other.tree.to_dict()}.items():
        sets |= {what: value} if value != state.setting(what) else {}
    first = other.knowledge(other.contexts[0] if other.contexts else None).bounds
    new = [arm for arm in other.arms if arm not in agent.arms]
    if new:
        places = [other.arms.index(arm) for arm in new]
        more = MeanBounds.vacuous(new, low=first.low[places], high=first.high[places])
        sets["add"] = {"bounds": more.to_dict()}
    for context in other.contexts or (None,):
        number = group.number(state, context)
        here = "" if number is None else str(number)
        sets[f"known:{here}"] = other.knowledge(context).to_dict()
        sets[f"forbidden:{here}"] = plain(other.forbidden(context))
    return sets


class Rollback(_Change, frozen=True, kw_only=True):
    """Go back to an earlier version of everything that changes set; what was seen stays."""

    to: Annotated[int, Meta(ge=1, le=2**53)]

    def changed(self, state: State, group: Group) -> tuple[dict[str, Any], dict[str, Any]]:
        """What to set again, since changes after that version have replaced it, and what is there now."""
        sets, added = dict[str, Any](), list[Any]()
        for event in group.changes(state, self.to):
            if event.position == self.to:
                continue
            change: Changed = event.said
            sets = change.was | sets
            added += change.set["add"]["bounds"]["arms"] if "add" in change.set else []
        if "retired" in sets:  # what a guardrail has stopped stays so
            added += plain(stop.arm for stop in state.stops)
            sets["retired"] += [arm for arm in added if arm not in sets["retired"]]
        return sets, {scope: state.setting(scope) for scope in sets}


class Erase(Command, frozen=True):
    """Erase the name of a context, for example because a person asks for it; its statistics stay without a name."""

    context: ContextName

    def run(self, state: State, group: Group, key: str | None) -> VersionAnswer:
        """Erase the name, and forget it."""
        context = as_context(self.context)
        if context not in state.ids:
            raise RefusedError(404, "unknown_context", "there is no context with this name")
        if state.tree is not None and context in state.tree.contexts:
            raise RefusedError(409, "conflict", "this is a leaf of the agent's tree: first replace the agent")
        group.append(state, Erased(state.ids[context], group.by))
        return VersionAnswer(state.version)


class VersionAnswer(Answer, frozen=True):
    """The version of an agent after a change: the position of that change."""

    version: int


class Create(Command, frozen=True):
    """A new agent, as `Agent.to_dict` saves it."""

    agent: dict[str, Any]

    def run(self, state: State, group: Group, key: str | None) -> VersionAnswer:
        """Add the agent, with numbers for names of contexts."""
        saved = read_agent(self.agent)
        _check_names(saved.arms, getattr(saved, "contexts", ()))
        data = saved.to_dict()
        if isinstance(saved, Agent) and saved.contexts:
            numbers = group.numbers(state, saved.contexts)
            data = renamed(data, dict(zip(saved.contexts, map(str, numbers), strict=True)))
        return VersionAnswer(group.append(state, Created(data, group.by)).position)


_CHANGES = (
    "policy",
    "floor",
    "bounds",
    "share",
    "hold",
    "force",
    "free",
    "forbid",
    "retire",
    "restore",
    "add",
    "agent",
)


class Order(NamedTuple):
    """A command, the name of the agent it is for, and who gives it: the name of a token, or nothing."""

    agent: str
    command: Command
    by: str = ""
