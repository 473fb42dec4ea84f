"""The state of a service, which follows from the log: every event is applied in order, and nothing else changes it.

A decision is computed where its event stands in the log, so it has seen exactly the events before it. Its random
numbers follow from the seed of the agent, the context, and how many decisions the context has had. So the same log
gives the same state, to the last bit, in every process that reads it.
"""

from __future__ import annotations

import time
import warnings
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Literal

import msgspec

from meanbounds.agents import Candidate, ContextualAgent, agent_from_dict
from meanbounds.agents.contexts import Context
from meanbounds.agents.contextual import warned_of
from meanbounds.bounds import Arm, MeanBounds
from meanbounds.kernels.tally import PULLS
from meanbounds.policies import Policy
from meanbounds.service import events as kinds
from meanbounds.service.erasing import part_of, undisturbed, without
from meanbounds.service.errors import RefusalError
from meanbounds.service.events import Event, context_of, decode, encode, name_of
from meanbounds.service.history import By
from meanbounds.service.packing import names_in, pack, pack_all, unpack_all
from meanbounds.service.served import Served
from meanbounds.service.store import Found, Store, StoreError, Wanted
from meanbounds.support import clock

__all__ = ["REMEMBERED", "Book", "Decision", "change", "saved_state"]

REMEMBERED = 50_000  # decisions and names that need not be looked up
_MANY = 20_000  # contexts from which on a snapshot takes so long that none is made at the end

_ENCODER = msgspec.json.Encoder()

State = Literal["pending", "rewarded", "expired", "censored"]
"""What has become of a decision."""


class Decision(msgspec.Struct):
    """A decision, and what has become of it."""

    position: int
    time: float
    agent: str
    request: str | None
    said: kinds.Decided
    state: State = "pending"
    outcome: Any = None  # what the event says that made it so
    default: kinds.Expired | None = None  # if it expired, also before it was rewarded

    @property
    def arm(self) -> Arm | Candidate | None:
        """The arm as the agent knows it; None if it was the expert's."""
        said = self.said
        return said.arm if said.chosen is None or said.candidates is None else Candidate(**said.candidates[said.chosen])


class Book:
    """The state of all agents of a store, at a position of its log.

    Parameters
    ----------
    store
        The store.
    worker
        The number of this process among those that serve from the store; 0 for one that only reads.

    Examples
    --------
    >>> from meanbounds.service import open_store
    >>> from meanbounds.service.book import Book
    >>> book = Book(open_store("sqlite::memory:"))
    >>> book.reload()
    >>> book.position, list(book.agents)
    (0, [])
    """

    def __init__(self, store: Store, worker: int = 0) -> None:
        self.store, self.worker = store, worker
        self.stale = True  # the state is not to be used before it is read from the store
        self.alarms: list[tuple[str, str]] = []  # agents and what they warned of, newest last
        self.warned = 0  # how often they did
        self._erasures = -1  # how many contexts had been erased when the state was read
        self.differences = 0  # decisions that a replay takes otherwise: of another version, or another processor
        self._begin()

    def _begin(self) -> None:
        self.agents: dict[str, Served] = {}
        self.position = 0
        self._saved_at = 0  # position of the newest snapshot
        self._names: OrderedDict[tuple[str, int, str], Event] = OrderedDict()
        # Changes hold whole agents: they are looked up for the group that asks, and not kept.
        self._changes: dict[tuple[str, int, str], Event] = {}
        self._decisions: OrderedDict[int, Decision] = OrderedDict()
        self._new: list[Event] = []
        self._versions: list[tuple[str, int, int, bytes]] = []
        self._now = 0.0

    # From the store

    def reload(self) -> None:
        """Read the state from the store: the newest snapshot, and the events after it."""
        erasures, _ = undisturbed(self.store, self._read_all)
        if erasures != self._erasures:  # they may have the name of a context that another process erased
            self.alarms, self._erasures = [], erasures
        self.stale = False

    def _read_all(self) -> None:
        self._begin()
        snapshot = self.store.snapshot()
        if snapshot is not None:
            self.position, body = snapshot
            self._saved_at = self.position
            states = unpack_all(body, self.store.names)
            self.agents = {key: Served.from_saved(data, context_of) for key, data in states.items()}
        with _unheard():
            for event in self.store.read(self.position, self.store.last()):  # others may write faster than this reads
                self.apply(event)
                if not event.position % REMEMBERED:
                    self.trim()

    def wanted(self, commands: Sequence[Any]) -> Wanted:
        """What has to be looked up before these commands are carried out."""
        names = {name for command in commands if (name := command.name()) is not None}
        decisions = {place for command in commands if (place := command.about(self.store)) is not None}
        # One by one: the difference of a set and all keys would look at every key.
        return Wanted(
            {name for name in names if name not in self._names},
            {place for place in decisions if place not in self._decisions},
        )

    def is_renamed(self, news: Sequence[Event]) -> bool:
        """Whether another process erased a context of which this state does not tell which one it was.

        The log has the new name from its start, so the context has to be renamed here before the news are applied. An
        erased context is known by its row, unless the agent has become another one meanwhile.
        """
        return any(
            self._at_row(event) is None or any(_replaces(other, event) for other in news)
            for event in news
            if event.kind == kinds.ERASED
        )

    def _at_row(self, event: Event) -> Context | None:
        """The context that an event erased, under the name that it has here; None if it is not known."""
        served = self.agents.get(event.agent)
        row = decode(event).row
        return None if served is None or row is None else served.context_at(row)

    def learn(self, news: Sequence[Event], found: Found) -> None:
        """Apply what other processes wrote, and remember what was looked up."""
        if news:
            for event in news:
                if event.kind == kinds.ERASED:
                    self.rename(event.agent, self._at_row(event), decode(event).context)
            with _unheard():
                for event in news:
                    self.apply(event)
        self._changes.clear()
        for event in found.named:
            self._remember(event)
        # A decision comes before what became of it. An id from before a backup was restored may lead to something else.
        for event in sorted(found.decisions):
            if event.kind == kinds.DECIDED:
                self._decisions[event.position] = self._read(event)
            elif event.subject is not None and event.subject in self._decisions:
                _become(self._decisions[event.subject], event.kind, decode(event))

    def rename(self, agent: str, context: Context, new: str) -> None:
        """Let a context have another name, as if the log had had it from its start; requests in it lose their ids."""
        words = warned_of(self.agents[agent].rename(context, new))
        old, part = name_of(context), part_of(context)
        for key, event in list(self._names.items()):
            row = without(event, context, new) if event.agent == agent and part in event.body else None
            if row is not None and row[1] is None:
                del self._names[key]
            elif row is not None:
                self._names[key] = event._replace(body=row[2])
        for decision in self._decisions.values():
            said = decision.said
            if decision.agent == agent and said.context == old:
                decision.request, said.context, said.digest = None, new, ""
        self.alarms = [(own, text) for own, text in self.alarms if own != agent or words not in text]

    def _remember(self, event: Event) -> None:
        assert event.name is not None
        own = self._changes if event.kind == kinds.CHANGED else self._names
        own[event.agent, event.kind, event.name] = event

    def trim(self) -> None:
        """Forget the oldest of what need not be remembered; between groups only."""
        while len(self._names) > REMEMBERED:
            self._names.popitem(last=False)
        while len(self._decisions) > REMEMBERED:
            self._decisions.popitem(last=False)

    def _read(self, event: Event) -> Decision:
        return Decision(event.position, event.time, event.agent, event.name, decode(event))

    # Questions

    def served(self, key: str) -> Served:
        """An agent by its key."""
        try:
            return self.agents[key]
        except KeyError:
            known = ", ".join(map(repr, list(self.agents)[:10])) or "none"
            raise RefusalError(404, "unknown_agent", f"there is no agent {key!r}; the agents are {known}") from None

    def named(self, agent: str, kind: int, name: str) -> Event | None:
        """The event to which a caller gave this name; `wanted` has looked it up."""
        own = self._changes if kind == kinds.CHANGED else self._names
        return own.get((agent, kind, name))

    def decision(self, position: int) -> Decision | None:
        """The decision at a position; `wanted` has looked it up."""
        return self._decisions.get(position)

    def digest(self, *parts: Any) -> str:
        """A code for what was asked, which says nothing to whoever does not have the store's secret."""
        return self.store.hashed(_ENCODER.encode(parts), 16)

    # Writing

    def start_group(self) -> None:
        """A group begins: its events have this time."""
        self._new, self._versions, self._now = [], [], time.time()

    @property
    def now(self) -> float:
        """The time of the group."""
        return self._now

    @property
    def newest_agent(self) -> str:
        """The agent that the newest event of the group is about; of none if there is no event yet."""
        return self._new[-1].agent if self._new else ""

    @property
    def next(self) -> int:
        """The position that the next event will have."""
        return self.position + 1

    def append(
        self,
        kind: int,
        agent: str,
        said: Any,
        *,
        name: str | None = None,
        subject: int | None = None,
        done: bool = False,
    ) -> Event:
        """Add an event to the group and apply it, unless whoever calls has `done` that."""
        try:
            event = Event(self.next, self._now, kind, agent, name, subject, encode(said))
        except (TypeError, ValueError, ArithmeticError) as error:  # the state may have changed: this is no refusal
            raise RuntimeError(f"an event cannot be written: {error}") from error
        if done:
            self._note(event, said)
        else:
            self.apply(event, said)
        self._new.append(event)
        return event

    def keep_version(self, agent: str) -> None:
        """Keep the state in which a version begins, to roll back to."""
        served = self.agents[agent]
        state = served.saved()
        body = pack(state, self.store.number(agent, names_in(state)))
        self._versions.append((agent, served.version, self.position, body))

    def write(self) -> bool:
        """Write the group to the store; False if there is nothing to write."""
        if not self._new:
            return False
        self.store.write(self._new)
        for version in self._versions:
            self.store.keep_version(*version)
        return True

    @property
    def unsaved(self) -> int:
        """How many events came after the newest snapshot that this process knows of."""
        return self.position - self._saved_at

    @property
    def is_large(self) -> bool:
        """Whether a snapshot takes seconds."""
        return sum(len(one.agent) for one in self.agents.values() if isinstance(one.agent, ContextualAgent)) >= _MANY

    def note_snapshot(self) -> None:
        """Look for the newest snapshot, which another process may have made."""
        newest = self.store.newest()
        self._saved_at = max(self._saved_at, 0 if newest is None else newest[0])

    def save_snapshot(self) -> None:
        """Save the state in the store, so that a start need not read the whole log."""
        if self.position > self._saved_at and not self.stale:
            with self.store.group(self.position) as news:
                if not news:
                    states = saved_state(self)
                    numbers = {key: self.store.number(key, names_in(state)) for key, state in states.items()}
                    self.store.keep_snapshot(self.position, pack_all(states, numbers))
                    self._saved_at = self.position

    # Events

    def apply(self, event: Event, said: Any = None) -> None:
        """Let the state become what it is after an event."""
        if event.position != self.next:
            raise StoreError(
                f"the log lacks events: after position {self.position} comes {event.position}; restore a backup"
            )
        said = decode(event) if said is None else said
        self._do(event, said)
        self._note(event, said)

    def _do(self, event: Event, said: Any) -> None:
        """Do what an event says, at its time: bounds may expire on a date."""
        with clock.at(event.time):
            getattr(self, _APPLY[event.kind])(event, said)

    def _note(self, event: Event, said: Any) -> None:
        """Keep in mind an event that was applied, and let the history have it: who decided, and what came of it."""
        position, time, kind, agent, name, subject, _ = event
        self.position = position
        if name is not None and kind != kinds.CHANGED:
            self._remember(event)
        history = self.agents[agent].history
        if kind == kinds.DECIDED:
            if said.arm is not None:
                history.decided(time, context_of(said.context), said.arm)
            self._decisions[position] = Decision(position, time, agent, name, said)
            return
        if kind == kinds.OBSERVED:
            history.rewarded(time, context_of(said.context), said.arm, said.reward, "expert")
        elif kind == kinds.REWARDED:
            decided = self._found(event).said
            arm = said.arm if decided.arm is None else decided.arm
            history.rewarded(time, context_of(decided.context), arm, said.reward, _BY[decided.reason])
        decision = None if subject is None else self._decisions.get(subject)
        if decision is not None:
            _become(decision, kind, said)

    def _found(self, event: Event) -> Decision:
        """The decision that an event is about."""
        assert event.subject is not None
        return self.recall(event.subject, event.position)

    def recall(self, position: int, before: int = 2**62) -> Decision:
        """The decision at a position, from the store if need be, with what became of it before another position."""
        decision = self._decisions.get(position)
        if decision is None:
            for event in self.store.read(position - 1, position):
                decision = self._decisions[position] = self._read(event)
            if decision is None:
                raise StoreError(f"the log lacks position {position}, which a later one is about; restore a backup")
            for event in self.store.outcomes(position):
                if event.position < before:
                    _become(decision, event.kind, decode(event))
        return decision

    def catch_up(self, agent: str, after: int) -> None:
        """Apply what happened to an agent after a position, but for changes of the agent itself."""
        with _unheard():
            for event in self.store.read(after):
                if event.agent == agent and event.kind in (kinds.DECIDED, *_STATES):
                    said = decode(event)
                    with suppress(LookupError, ValueError):  # arms that this version does not have
                        self._do(event, said)
                    self._note(event, said)

    def _decided(self, event: Event, said: kinds.Decided) -> None:
        """Pull again as the decision did; the log says which arm it was."""
        if said.arm is None:
            return
        served, context = self.agents[event.agent], context_of(said.context)
        if said.reason == "forced":
            served.pull(context, [said.arm])
            return
        offer = None
        if said.eligible is not None or said.candidates is not None:
            offer = [*(said.eligible or ()), *self._new_arms(said)]
        self._correct(served, said, served.pull(context, offer))

    def _new_arms(self, said: kinds.Decided) -> list[Candidate]:
        return [] if said.candidates is None else [Candidate(**data) for data in said.candidates]

    def _correct(self, served: Served, said: kinds.Decided, pulled: Any) -> None:
        """Let the agent wait for the arm that the log has, where a computation took another one."""
        context = context_of(said.context)
        arm = said.arm if said.chosen is None else self._new_arms(said)[said.chosen]
        if pulled != arm:
            self.differences += 1
            if pulled is not None:
                served.cancel(context, pulled)
            if arm is not None:
                served.pull(context, [arm])
            if pulled is not None and arm is not None:
                served.inside(context).inside.standing.tally[PULLS] -= 1  # it was one decision

    def _rewarded(self, event: Event, said: kinds.Rewarded) -> None:
        if said.told:
            decision = self._found(event)
            self.tell(decision, said.reward)

    def tell(self, decision: Decision, reward: float) -> None:
        """Tell an agent the reward of a decision: in place of a default one, or as one more."""
        served, context = self.agents[decision.agent], context_of(decision.said.context)
        arm, default = decision.arm, decision.default
        assert arm is not None
        if decision.said.version < served.base:  # its pull is not among those that this agent waits for
            served.update(context, arm, reward, history=True)
        elif default is None:
            served.update(context, arm, reward)
        elif default.reward is None:
            served.update(context, arm, reward, history=True)
        else:
            served.exchange(context, arm, default, reward)

    def _expired(self, event: Event, said: kinds.Expired) -> None:
        decision = self._found(event)
        served, context, arm = self.agents[event.agent], context_of(decision.said.context), decision.arm
        served.swept = max(served.swept, decision.position)
        if arm is None or decision.said.version < served.base:
            return
        if said.reward is None:
            self._give_up(served, context, arm)
        else:
            served.update(context, arm, said.reward)

    def _censored(self, event: Event, _said: kinds.Censored) -> None:
        decision = self._found(event)
        served, arm = self.agents[event.agent], decision.arm
        if arm is not None and decision.state == "pending" and decision.said.version >= served.base:
            self._give_up(served, context_of(decision.said.context), arm)

    def _give_up(self, served: Served, context: Context, arm: Arm | Candidate) -> None:
        """Stop waiting for a reward, unless the agent has gone back to a version without the arm."""
        with suppress(LookupError, ValueError):
            served.cancel(context, arm)

    def _observed(self, event: Event, said: kinds.Observed) -> None:
        """Agents are not told: the choices of an expert who saw more mislead."""

    def _created(self, event: Event, said: kinds.Created) -> None:
        self.agents[event.agent] = Served.created(said)

    def _changed(self, event: Event, said: kinds.Changed) -> None:
        served = self.agents[event.agent]
        change(served, said.change)
        served.version = said.version
        if "agent" in said.change and not said.change.get("keeps_pending"):
            served.base = said.version

    def _configured(self, event: Event, said: kinds.Configured) -> None:
        self.agents[event.agent].settings = said.settings

    def _forced(self, event: Event, said: kinds.Forced) -> None:
        self.agents[event.agent].force(context_of(said.context), said.arm)

    def _erased(self, event: Event, said: kinds.Erased) -> None:
        """The log has the new name from its start, and `learn` has seen to it that this state has it too."""


_APPLY = {
    kinds.DECIDED: "_decided",
    kinds.REWARDED: "_rewarded",
    kinds.EXPIRED: "_expired",
    kinds.CENSORED: "_censored",
    kinds.OBSERVED: "_observed",
    kinds.CREATED: "_created",
    kinds.CHANGED: "_changed",
    kinds.CONFIGURED: "_configured",
    kinds.FORCED: "_forced",
    kinds.ERASED: "_erased",
}
_BY: dict[kinds.Reason, By] = {"policy": "agent", "expert": "expert", "forced": "nobody"}
_STATES: dict[int, State] = {kinds.REWARDED: "rewarded", kinds.EXPIRED: "expired", kinds.CENSORED: "censored"}


@contextmanager
def _unheard() -> Iterator[None]:
    """Repeat events without the warnings that were heard when they happened."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _replaces(event: Event, other: Event) -> bool:
    """Whether an event brought a new agent in place of the one that another event is about."""
    if event.agent != other.agent or event.kind not in (kinds.CREATED, kinds.CHANGED):
        return False
    return event.kind == kinds.CREATED or "agent" in decode(event).change


def _become(decision: Decision, kind: int, said: Any) -> None:
    """A reward has come, or the decision expired or was censored."""
    if kind == kinds.EXPIRED:
        decision.default = said
    if kind == kinds.EXPIRED and decision.state != "pending":
        return  # what was looked up late: a reward has taken the place of the default
    decision.state, decision.outcome = _STATES[kind], said


def change(served: Served, given: Mapping[str, Any]) -> None:
    """Change bounds, arms or policy of an agent; one that is refused leaves it as it was.

    Parameters
    ----------
    served
        The agent.
    given
        One of: ``bounds`` (with ``context``, or for all), ``add``, ``retire``, ``restore``, ``policy``, ``floor``,
        ``agent``.
    """
    agent: Any = served.agent
    where = {"context": context_of(given["context"])} if given.get("context") is not None else {}
    if where and not served.has_contexts:
        raise ValueError("this agent has no contexts: leave context out")
    if "bounds" in given:
        agent.replace_bounds(MeanBounds.from_dict(given["bounds"]), **where)
    elif "add" in given:
        own = dict(given["add"])
        agent.add(own.pop("arm"), **own, **where)
    elif "retire" in given:
        agent.retire(given["retire"], **where)
    elif "restore" in given:
        agent.restore(given["restore"], **where)
    elif "agent" in given:
        agent = agent_from_dict(given["agent"])
    else:
        agent = agent_from_dict(_with(agent.to_dict(), given))
    served.use(agent)


def _with(saved: dict[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """A saved agent with another policy or floor, also in the contexts that are saved as agents."""
    own = {name: given[name] for name in ("policy", "floor") if name in given}
    if "policy" in own:
        own["policy"] = Policy.from_saved(own["policy"]).to_dict()
    agents = {row: {**one, **own} for row, one in saved.get("agents", {}).items()} if "contexts" in saved else None
    return {**saved, **own, **({} if agents is None else {"agents": agents})}


def saved_state(book: Book) -> dict[str, Any]:
    """All that a book knows, to compare it with another."""
    return {key: served.saved() for key, served in book.agents.items()}
