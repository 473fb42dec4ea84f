"""What a service can be asked to do. Each command looks up what it needs, and then runs at its place in the log."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import msgspec

from meanbounds.agents import ContextualAgent, agent_from_dict
from meanbounds.agents.contexts import Context
from meanbounds.service import events as kinds
from meanbounds.service import schema
from meanbounds.service.book import Book, Decision, change, packed, unpacked
from meanbounds.service.errors import RefusalError
from meanbounds.service.events import Event, Settings, context_of, decode, encode, name_of
from meanbounds.service.served import Served
from meanbounds.service.store import Store
from meanbounds.support import clock

__all__ = [
    "Censor",
    "Change",
    "Command",
    "Configure",
    "Create",
    "Decide",
    "Erase",
    "Force",
    "Look",
    "LookAtDecision",
    "Observe",
    "Reward",
    "RollBack",
    "Sweep",
    "agent_view",
    "sample_after",
]

_SWEPT_AT_ONCE = 500


class Command(ABC):
    """Base of commands."""

    alone = False  # whether the command reads the log itself, and so needs a group of its own

    def name(self) -> tuple[str, int, str] | None:
        """Agent, kind and name of an event that has to be looked up before the command runs."""
        return None

    def about(self, _store: Store) -> int | None:
        """The position of a decision that has to be looked up before the command runs."""
        return None

    @abstractmethod
    def run(self, book: Book) -> Any:
        """Do it, and return the answer; a refusal leaves everything as it was."""


@dataclass(slots=True)
class Decide(Command):
    """A decision of an agent."""

    agent: str
    request_id: str
    asked: schema.DecisionIn

    def name(self) -> tuple[str, int, str]:
        """An earlier decision with this id."""
        return self.agent, kinds.DECIDED, self.request_id

    def run(self, book: Book) -> schema.DecisionOut:
        """Decide, or answer as before."""
        served, asked = book.served(self.agent), self.asked
        digest = book.digest(asked.context, asked.eligible, asked.candidates)
        earlier = book.named(self.agent, kinds.DECIDED, self.request_id)
        if earlier is not None:
            said: kinds.Decided = decode(earlier)
            if said.digest != digest:
                raise RefusalError(
                    409,
                    "conflict",
                    f"request_id {self.request_id!r} was used for another request; give each request an id of its own",
                )
            return _answer(book, earlier.position, said)
        candidates = None if asked.candidates is None else [msgspec.to_builtins(one) for one in asked.candidates]
        context = context_of(asked.context)
        try:
            with clock.at(book.now):
                choice = served.decide(book.next, context, asked.eligible, candidates)
        except LookupError as error:
            raise RefusalError(422, "unknown", str(error)) from None
        said = kinds.Decided(
            digest,
            choice.reason,
            served.version,
            book.worker,
            served.settings.share,
            choice.arm,
            choice.probability,
            asked.context,
            asked.eligible,
            candidates,
            choice.chosen,
        )
        book.append(kinds.DECIDED, self.agent, said, name=self.request_id, done=True)
        return _answer(book, book.position, said)


def _answer(book: Book, position: int, said: kinds.Decided) -> schema.DecisionOut:
    number = book.store.decision_id(position, said.worker)
    return schema.DecisionOut(number, said.arm, said.probability, said.version, said.reason)


@dataclass(slots=True)
class _AboutDecision(Command):
    """Base of commands about a decision."""

    decision_id: str
    allowed: frozenset[str] | None  # the agents that the caller may speak of; None: all
    position: int | None = field(default=None, init=False)

    def about(self, store: Store) -> int | None:
        """The decision, and what has become of it."""
        self.position = store.position_of(self.decision_id)
        return self.position

    def find(self, book: Book) -> Decision:
        """The decision; the answer does not say whether there is one that the caller may not speak of."""
        decision = None if self.position is None else book.decision(self.position)
        if (
            decision is None
            or not book.store.is_id(self.decision_id, decision.position, decision.said.worker)
            or (self.allowed is not None and decision.agent not in self.allowed)
        ):
            raise RefusalError(404, "unknown_decision", "there is no decision with this id, as far as you may know")
        return decision


@dataclass(slots=True)
class Reward(_AboutDecision):
    """The reward of a decision."""

    reward: float
    arm: Any = None

    def run(self, book: Book) -> schema.RewardOut:
        """Count the reward, once."""
        decision = self.find(book)
        if decision.state == "rewarded":
            before: kinds.Rewarded = decision.outcome
            if before.reward != self.reward or (
                self.arm is not None and self.arm not in (before.arm, decision.said.arm)
            ):
                raise RefusalError(
                    409,
                    "conflict",
                    f"this decision has had the reward {before.reward!r}; a reward counts once and stays",
                )
            return schema.RewardOut(self.decision_id, "rewarded", True, before.told)
        if decision.state == "censored":
            raise RefusalError(409, "conflict", "this decision was censored: its reward does not count any more")
        told = self._tell(book, decision)
        said = kinds.Rewarded(self.reward, self.arm if decision.said.arm is None else None, told)
        book.append(kinds.REWARDED, decision.agent, said, subject=decision.position, done=True)
        return schema.RewardOut(self.decision_id, "rewarded", False, told)

    def _tell(self, book: Book, decision: Decision) -> bool:
        """Tell the agent, unless the expert decided, or the agent has the arm no more."""
        served = book.served(decision.agent)
        if decision.said.arm is None:
            if self.arm is None:
                raise RefusalError(422, "invalid", "the expert decided this: give arm, what the expert did")
            served.check_reward(self.arm, self.reward)
            return False
        if self.arm is not None and self.arm != decision.said.arm:
            raise RefusalError(422, "invalid", f"the arm of this decision is {decision.said.arm!r}: leave arm out")
        try:
            book.tell(decision, self.reward)
        except LookupError:
            return False
        return True


@dataclass(slots=True)
class Censor(_AboutDecision):
    """A decision whose reward will never come."""

    def run(self, book: Book) -> schema.RewardOut:
        """Stop waiting for the reward."""
        decision = self.find(book)
        if decision.state == "censored":
            return schema.RewardOut(self.decision_id, "censored", True, False)
        if decision.state != "pending":
            raise RefusalError(
                409, "conflict", f"this decision is {decision.state}; only a pending one can be censored"
            )
        book.append(kinds.CENSORED, decision.agent, kinds.Censored(), subject=decision.position)
        return schema.RewardOut(self.decision_id, "censored", False, False)


@dataclass(slots=True)
class LookAtDecision(_AboutDecision):
    """What has become of a decision."""

    def run(self, book: Book) -> schema.DecisionView:
        """Look."""
        decision = self.find(book)
        said, reward = decision.said, None
        if decision.state in ("rewarded", "expired"):
            reward = decision.outcome.reward
        return schema.DecisionView(
            self.decision_id,
            decision.agent,
            decision.state,
            said.arm if said.arm is not None else getattr(decision.outcome, "arm", None),
            said.probability,
            said.version,
            said.reason,
            said.context,
            reward,
            decision.time,
        )


@dataclass(slots=True)
class Observe(Command):
    """What an expert did."""

    agent: str
    observation_id: str
    asked: schema.ObservationIn

    def name(self) -> tuple[str, int, str]:
        """An earlier observation with this id."""
        return self.agent, kinds.OBSERVED, self.observation_id

    def run(self, book: Book) -> schema.ObservationOut:
        """Record it, once."""
        served, asked = book.served(self.agent), self.asked
        digest = book.digest(asked.context, asked.arm, asked.reward)
        earlier = book.named(self.agent, kinds.OBSERVED, self.observation_id)
        if earlier is not None:
            if decode(earlier).digest != digest:
                raise RefusalError(
                    409,
                    "conflict",
                    f"observation_id {self.observation_id!r} was used for another observation; give each its own",
                )
            return schema.ObservationOut(self.observation_id, True)
        served.check(context_of(asked.context), None)
        served.check_reward(asked.arm, asked.reward)
        said = kinds.Observed(digest, asked.arm, asked.reward, asked.context)
        book.append(kinds.OBSERVED, self.agent, said, name=self.observation_id)
        return schema.ObservationOut(self.observation_id, False)


@dataclass(slots=True)
class Create(Command):
    """An agent that comes into the store, unless it is there already."""

    agent: str
    saved: Mapping[str, Any]
    settings: Settings
    digest: str
    alone = True

    def run(self, book: Book) -> bool:
        """Make it; False if it was there."""
        if self.agent in book.agents:
            return False
        said = kinds.Created(dict(self.saved), self.settings, self.digest)
        made = Served.created(said)
        _check_settings(made, self.settings)
        book.agents[self.agent] = made
        book.append(kinds.CREATED, self.agent, said, done=True)
        book.keep_version(self.agent)
        return True


@dataclass(slots=True)
class Change(Command):
    """Other bounds, arms or another policy."""

    agent: str
    asked: schema.ChangeIn
    alone = True

    def run(self, book: Book) -> schema.VersionOut:
        """Make a new version."""
        served = book.served(self.agent)
        given: dict[str, Any] = msgspec.to_builtins(self.asked)
        what = given.keys() - {"context"}
        if len(what) != 1:
            raise RefusalError(422, "invalid", "give exactly one of bounds, add, retire, restore, policy, floor, agent")
        if isinstance(given.get("add"), dict) and served.has_contexts and given["add"].keys() & {"features", "offset"}:
            raise RefusalError(422, "invalid", "this agent does not learn from features: leave features and offset out")
        if "agent" in given and ("contexts" in given["agent"]) != served.has_contexts:
            raise RefusalError(422, "invalid", "an agent with contexts takes the place of one with contexts only")
        trial = Served(agent_from_dict(served.agent.to_dict()), served.settings)
        change(trial, given)
        _check_settings(trial, served.settings)
        book.append(kinds.CHANGED, self.agent, kinds.Changed(served.version + 1, given))
        book.keep_version(self.agent)
        return schema.VersionOut(self.agent, served.version)


def sample_after(served: Served, asked: schema.ChangeIn) -> dict[str, Any] | None:
    """An agent as small as can be that decides as the served one will after a change of policy; else None."""
    if asked.agent is not None:
        return Served(agent_from_dict(asked.agent), served.settings).sample()
    saved = served.sample() if asked.policy is not None else None
    return None if saved is None else {**saved, "policy": asked.policy}


@dataclass(slots=True)
class RollBack(Command):
    """Back to an earlier version, with the rewards that have come since."""

    agent: str
    version: int
    alone = True

    def run(self, book: Book) -> schema.VersionOut:
        """Make a new version of the old one."""
        served = book.served(self.agent)
        kept = book.store.version(self.agent, self.version)
        if kept is None:
            known = ", ".join(str(version) for version, _ in book.store.versions(self.agent))
            raise RefusalError(404, "unknown_version", f"there is no version {self.version}; the versions are {known}")
        position, body = kept
        again = Book(book.store)
        again.agents[self.agent] = Served.from_saved(unpacked(body), context_of)
        again.catch_up(self.agent, position)
        given = {
            "agent": again.agents[self.agent].agent.to_dict(),
            "rolled_back_to": self.version,
            "keeps_pending": True,
        }
        book.append(kinds.CHANGED, self.agent, kinds.Changed(served.version + 1, given))
        book.keep_version(self.agent)
        return schema.VersionOut(self.agent, served.version)


@dataclass(slots=True)
class Configure(Command):
    """Other settings: the share of the traffic, how long to wait, the default reward."""

    agent: str
    asked: schema.SettingsIn

    def run(self, book: Book) -> schema.AgentView:
        """Use them from now on."""
        served, asked = book.served(self.agent), self.asked
        given = {
            name: value for name in asked.__struct_fields__ if (value := getattr(asked, name)) is not msgspec.UNSET
        }
        settings = msgspec.structs.replace(served.settings, **given)
        _check_settings(served, settings)
        if settings != served.settings:
            book.append(kinds.CONFIGURED, self.agent, kinds.Configured(settings))
        return agent_view(book, self.agent)


def _check_settings(served: Served, settings: Settings) -> None:
    """Refuse a default reward that some arm cannot have."""
    if settings.default_reward is None:
        return
    if settings.wait is None:
        raise RefusalError(
            422, "invalid", "a default reward is for decisions that expire: give wait, in seconds, as well"
        )
    served.check_default(settings.default_reward)


@dataclass(slots=True)
class Force(Command):
    """An arm that is forced in a context or in all, or set free again."""

    agent: str
    arm: Any
    context: kinds.ContextName

    def run(self, book: Book) -> schema.AgentView:
        """Force it from the next decision on."""
        served, context = book.served(self.agent), context_of(self.context)
        if context is not None and not served.has_contexts:
            raise RefusalError(422, "invalid", "this agent has no contexts: leave context out")
        if self.arm is not None:
            served.check_arm(context, self.arm)
        if self.arm is not None or context in served.forced:
            book.append(kinds.FORCED, self.agent, kinds.Forced(self.arm, self.context))
        return agent_view(book, self.agent)


@dataclass(slots=True)
class Erase(Command):
    """A context whose name disappears; its statistics stay, under a name that says nothing."""

    agent: str
    context: Context
    alone = True

    def run(self, book: Book) -> schema.ErasedOut:
        """Replace the name in the log, in snapshots and in versions; the state is then read anew."""
        served = book.served(self.agent)
        if not isinstance(served.agent, ContextualAgent) or self.context not in served.agent:
            raise RefusalError(404, "unknown_context", "there is no such context")
        new = f"erased-{secrets.token_hex(8)}"
        store, old = book.store, name_of(self.context)
        store.rewrite([found for event in store.read() if (found := self._without(event, old, new)) is not None])
        for version, position in store.versions(self.agent):
            kept = store.version(self.agent, version)
            assert kept is not None
            store.keep_version(self.agent, version, position, packed(_renamed(unpacked(kept[1]), old, new)))
        snapshot = store.snapshot()
        if snapshot is not None:
            state = unpacked(snapshot[1])
            if self.agent in state:
                state[self.agent] = _renamed(state[self.agent], old, new)
            store.keep_snapshot(snapshot[0], packed(state))  # instead of all others, also one that is being made
        store.count_erasure()
        book.append(kinds.ERASED, self.agent, kinds.Erased(new))
        book.stale = True
        return schema.ErasedOut(self.agent, new)

    def _without(self, event: Event, old: Any, new: str) -> tuple[int, str | None, bytes] | None:
        """An event without the old name; None if it does not have it."""
        if event.agent != self.agent:
            return None
        said = decode(event)
        if event.kind in (kinds.DECIDED, kinds.OBSERVED):
            if said.context != old:
                return None
            said.context, said.digest = new, ""
            return event.position, None, encode(said)
        if event.kind == kinds.FORCED and said.context == old:
            said.context = new
        elif event.kind == kinds.CREATED:
            said.agent, said.digest = _in_agent(said.agent, old, new), said.digest
        elif event.kind == kinds.CHANGED:
            if said.change.get("context") == old:
                said.change["context"] = new
            if "agent" in said.change:
                said.change["agent"] = _in_agent(said.change["agent"], old, new)
        else:
            return None
        return event.position, event.name, encode(said)


def _renamed(state: dict[str, Any], old: Any, new: str) -> dict[str, Any]:
    """The state of a served agent with another name of a context."""
    forced = [[new if context == old else context, arm] for context, arm in state["forced"]]
    history = {
        part: [[new if context == old else context, own] for context, own in rows]
        for part, rows in state["history"].items()
    }
    return {**state, "agent": _in_agent(state["agent"], old, new), "forced": forced, "history": history}


def _in_agent(saved: dict[str, Any], old: Any, new: str) -> dict[str, Any]:
    if "contexts" not in saved:
        return saved
    return {**saved, "contexts": [new if context == old else context for context in saved["contexts"]]}


@dataclass(slots=True)
class Look(Command):
    """A question about agents, which changes nothing."""

    agent: str
    question: Callable[[Book, str], Any]

    def run(self, book: Book) -> Any:
        """Answer it."""
        return self.question(book, self.agent)


def agent_view(book: Book, key: str) -> schema.AgentView:
    """An agent and its settings."""
    served = book.served(key)
    agent, settings = served.agent, served.settings
    return schema.AgentView(
        key,
        served.version,
        [version for version, _ in book.store.versions(key)] or [1],
        agent.policy.to_dict(),
        len(agent) if isinstance(agent, ContextualAgent) else None,
        settings.share,
        settings.wait,
        settings.default_reward,
        [[name_of(context), arm] for context, arm in served.forced.items()],
        agent.assumptions(),
        book.position,
    )


@dataclass(slots=True)
class Sweep(Command):
    """Decisions whose reward has not come in time expire."""

    alone = True

    def run(self, book: Book) -> bool:
        """Let the next ones expire; True if there may be more."""
        more = False
        for key, served in book.agents.items():
            wait, default = served.settings.wait, served.settings.default_reward
            if wait is None:
                continue
            found = book.store.decisions(key, served.swept, _SWEPT_AT_ONCE)
            for position, time, done in found:
                if time + wait > book.now:
                    break
                if not done:
                    self._expire(book, key, position, default)
                served.swept = position
            else:
                more = more or len(found) == _SWEPT_AT_ONCE
        return more

    def _expire(self, book: Book, key: str, position: int, default: float | None) -> None:
        decision = book.recall(position)
        served, arm, said = book.agents[key], decision.arm, kinds.Expired()
        if default is not None and arm is not None and decision.said.version >= served.base:
            with suppress(LookupError):  # an arm that a rolled back version does not have
                said = served.default(context_of(decision.said.context), arm, default)
        book.append(kinds.EXPIRED, key, said, subject=position)
