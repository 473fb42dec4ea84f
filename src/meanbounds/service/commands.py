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
from meanbounds.agents.contextual import row_of
from meanbounds.service import events as kinds
from meanbounds.service import schema
from meanbounds.service.book import Book, Decision, change
from meanbounds.service.erasing import Search, search, spellings
from meanbounds.service.errors import RefusalError
from meanbounds.service.events import Settings, context_of, decode, name_of
from meanbounds.service.packing import text_of, unpack
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
class _NewVersion(Command):
    """Base of commands that make a new version of an agent; with an id it is made once."""

    agent: str
    asked: Any
    change_id: str | None = None
    alone = True

    def name(self) -> tuple[str, int, str] | None:
        """An earlier change with this id."""
        return None if self.change_id is None else (self.agent, kinds.CHANGED, self.change_id)

    def run(self, book: Book) -> schema.VersionOut:
        """Make a new version, or answer as before."""
        served = book.served(self.agent)
        digest = "" if self.change_id is None else book.digest(msgspec.to_builtins(self.asked))
        earlier = None if self.change_id is None else book.named(self.agent, kinds.CHANGED, self.change_id)
        if earlier is not None:
            before: kinds.Changed = decode(earlier)
            if before.digest != digest:
                known = "another change" if before.digest else "a change with a context that was erased since"
                raise RefusalError(
                    409,
                    "conflict",
                    f"Idempotency-Key {self.change_id!r} was used for {known}; give each change its own",
                )
            return schema.VersionOut(self.agent, before.version)
        said = kinds.Changed(served.version + 1, self.given(book, served), digest)
        book.append(kinds.CHANGED, self.agent, said, name=self.change_id)
        book.keep_version(self.agent)
        return schema.VersionOut(self.agent, served.version)

    @abstractmethod
    def given(self, book: Book, served: Served) -> dict[str, Any]:
        """What the event says of the change; one that cannot be made is refused."""


@dataclass(slots=True)
class Change(_NewVersion):
    """Other bounds, arms or another policy."""

    asked: schema.ChangeIn

    def given(self, _book: Book, served: Served) -> dict[str, Any]:
        """What was asked, if a copy of the agent takes it."""
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
        return given


def sample_after(served: Served, asked: schema.ChangeIn) -> dict[str, Any] | None:
    """An agent as small as can be that decides as the served one will after a change of policy; else None."""
    if asked.agent is not None:
        return Served(agent_from_dict(asked.agent), served.settings).sample()
    saved = served.sample() if asked.policy is not None else None
    return None if saved is None else {**saved, "policy": asked.policy}


@dataclass(slots=True)
class RollBack(_NewVersion):
    """Back to an earlier version, with the rewards that have come since."""

    asked: int  # the version

    def given(self, book: Book, _served: Served) -> dict[str, Any]:
        """The old version with what came since."""
        kept = book.store.version(self.agent, self.asked)
        if kept is None:
            known = ", ".join(str(version) for version, _ in book.store.versions(self.agent))
            raise RefusalError(404, "unknown_version", f"there is no version {self.asked}; the versions are {known}")
        position, body = kept
        again = Book(book.store)
        state = unpack(body, book.store.names(self.agent))
        again.agents[self.agent] = Served.from_saved(state, context_of)
        again.catch_up(self.agent, position)
        return {
            "agent": again.agents[self.agent].agent.to_dict(),
            "rolled_back_to": self.asked,
            "keeps_pending": True,
        }


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
    _new: str = field(default_factory=lambda: f"erased-{secrets.token_hex(8)}", init=False)
    _found: Search | None = field(default=None, init=False)
    alone = True

    def look(self, store: Store) -> None:
        """Look for the name, while others go on writing: what is left to do for `run` is what came since.

        Parameters
        ----------
        store
            The store, opened for this alone.
        """
        self._found = search(store, self.agent, self.context, self._new)

    def run(self, book: Book) -> schema.ErasedOut:
        """Replace the name in the log, in the table of names, and in memory."""
        served, store = book.served(self.agent), book.store
        if not isinstance(served.agent, ContextualAgent) or self.context not in served.agent:
            raise RefusalError(404, "unknown_context", "there is no such context")
        row = row_of(served.agent, self.context)
        store.rewrite(search(store, self.agent, self.context, self._new, self._found).rows)
        store.rename(self.agent, spellings(store, self.agent, self.context), text_of(self._new))
        store.count_erasure()
        book.rename(self.agent, self.context, self._new)
        book.append(kinds.ERASED, self.agent, kinds.Erased(self._new, row))
        return schema.ErasedOut(self.agent, self._new)


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
