"""An agent as a service has it: the agent itself, its version, its settings, and arms that are forced."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from meanbounds.agents import Agent, Candidate, ContextualAgent, agent_from_dict
from meanbounds.agents.arms import ArmsLearner
from meanbounds.agents.contexts import Context
from meanbounds.agents.contextual import peek, rename, row_of
from meanbounds.agents.features import FeaturesLearner
from meanbounds.agents.learner import check_reward
from meanbounds.bounds import Arm
from meanbounds.kernels.arms.tables import State
from meanbounds.kernels.random.stream import child, rounding_key, uniform
from meanbounds.policies import LinearPolicy
from meanbounds.service.errors import RefusalError
from meanbounds.service.events import Created, Expired, Reason, Settings, name_of
from meanbounds.service.history import History
from meanbounds.service.standing import arm_views

__all__ = ["Choice", "Served", "exchange", "rehearse"]

AnyAgent = Agent | ContextualAgent
_HANDED = 7  # the stream of the draws that hand a request to the agent or to the expert


class Choice(NamedTuple):
    """What was decided: an arm with its probability, or to ask the expert."""

    reason: Reason
    arm: Arm | None = None
    probability: float | None = None
    chosen: int | None = None  # which of the candidates


class Served:
    """An agent that is served.

    Parameters
    ----------
    agent
        The agent; from then on only this object may use it.
    settings
        How it is served.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.service.events import Settings
    >>> from meanbounds.service.served import Served
    >>> served = Served(mb.Agent(mb.GLUE(), mb.MeanBounds([0.2, 0.1], [0.9, 0.5], arms=["a", "b"]), seed=7), Settings())
    >>> served.decide(1, None, None, None)
    Choice(reason='policy', arm='a', probability=1.0, chosen=None)
    """

    def __init__(self, agent: AnyAgent, settings: Settings) -> None:
        self.settings = settings
        self.use(agent)
        self.version = self.base = 1  # the base is the version from which on pending pulls are those of this agent
        self.forced: dict[Context, Arm] = {}  # None is for all contexts
        self.swept = 0  # decisions up to this position have expired, or something else has become of them
        self.digest = ""  # of the file that it came from
        self.history = History()

    @classmethod
    def created(cls, said: Created) -> Served:
        """The agent that came into the store with this event."""
        served = cls(agent_from_dict(said.agent), said.settings)
        served.digest = said.digest
        return served

    def use(self, agent: AnyAgent) -> None:
        """Serve this agent from now on."""
        self.agent = agent
        one = agent if isinstance(agent, Agent) else peek(agent, next(iter(agent))) if len(agent) else None
        ends = (
            () if one is None else zip(one.bounds.arms, one.bounds.low.tolist(), one.bounds.high.tolist(), strict=True)
        )
        self._ranges = {arm: (low, high) for arm, low, high in ends}  # of rewards that no agent is told

    def sample(self) -> dict[str, Any] | None:
        """The agent, or that of one context, as it would be saved; None if there is none yet."""
        agent = self.agent
        if isinstance(agent, Agent):
            return agent.to_dict()
        return peek(agent, next(iter(agent))).to_dict() if len(agent) else None

    @property
    def has_contexts(self) -> bool:
        """Whether there is an agent for each context."""
        return isinstance(self.agent, ContextualAgent)

    @property
    def has_features(self) -> bool:
        """Whether the agent learns from features, and therefore takes candidates."""
        return isinstance(self.agent.policy, LinearPolicy)

    def check(self, context: Context, candidates: Sequence[Mapping[str, Any]] | None) -> None:
        """Refuse a context or candidates where there can be none."""
        if self.has_contexts and context is None:
            raise RefusalError(422, "invalid", "this agent decides by context: give context")
        if not self.has_contexts and context is not None:
            raise RefusalError(422, "invalid", "this agent has no contexts: leave context out")
        if candidates is not None and not self.has_features:
            raise RefusalError(422, "invalid", f"{self.agent.policy} takes no candidates: leave them out")

    def decide(
        self,
        position: int,
        context: Context,
        eligible: Sequence[Arm] | None,
        candidates: Sequence[Mapping[str, Any]] | None,
    ) -> Choice:
        """Choose an arm, or ask the expert; the agent then waits for the reward.

        Parameters
        ----------
        position
            The place of the decision in the log, which is the number of the draw between agent and expert.
        context, eligible, candidates
            What is to be decided.
        """
        self.check(context, candidates)
        new = self.candidates(candidates)
        forced = self.forced.get(context, self.forced.get(None))
        if forced is not None:
            if (eligible is not None or candidates is not None) and forced not in (eligible or ()):
                raise RefusalError(409, "forced", f"arm {forced!r} is forced, and it is not among the arms on offer")
            self.pull(context, [forced])
            return Choice("forced", forced, 1.0)
        if not self.is_handed(position):
            return Choice("expert")
        offer: Any = None if eligible is None and candidates is None else [*(eligible or ()), *new]
        agent = self.agent
        if isinstance(agent, ContextualAgent):
            arm, probability = agent.decide(context, offer)
            return Choice("policy", arm, probability)
        one, probability = agent.decide(offer)
        if isinstance(one, Candidate):
            assert one.name is not None
            return Choice("policy", one.name, probability, new.index(one))
        return Choice("policy", one, probability)

    def is_handed(self, position: int) -> bool:
        """Whether the decision at this position is the agent's, and not the expert's."""
        share = self.settings.share
        if share >= 1.0:
            return True
        if share <= 0.0:
            return False
        stream = np.uint64(child(np.uint64(child(np.uint64(self.agent.seed), 0)), _HANDED))
        return bool(uniform(stream, position) < share)

    def pull(self, context: Context, offer: Any) -> Any:
        """Pull without the probability, as a replay does."""
        return self.agent.pull(context, offer) if isinstance(self.agent, ContextualAgent) else self.agent.pull(offer)

    def candidates(self, given: Sequence[Mapping[str, Any]] | None) -> list[Candidate]:
        """The candidates of a request; each needs a name of its own."""
        if given is None:
            return []
        made = [Candidate(**data) for data in given]
        names = [candidate.name for candidate in made]
        if None in names or len(set(names)) < len(names) or self._ranges.keys() & set(names):
            raise RefusalError(
                422, "invalid", "each candidate needs a name that no other candidate and no arm of the agent has"
            )
        return made

    def update(self, context: Context, arm: Arm | Candidate, reward: float, *, history: bool = False) -> None:
        """Tell the agent a reward."""
        if isinstance(self.agent, ContextualAgent):
            assert not isinstance(arm, Candidate)
            self.agent.update(context, arm, reward, history=history)
        else:
            self.agent.update(arm, reward, history=history)

    def cancel(self, context: Context, arm: Arm | Candidate) -> None:
        """Give up a pending pull."""
        if isinstance(self.agent, ContextualAgent):
            assert not isinstance(arm, Candidate)
            self.agent.cancel(context, arm)
        else:
            self.agent.cancel(arm)

    def updates(self, context: Context) -> int:
        """How many rewards the agent of a context has had."""
        if isinstance(self.agent, ContextualAgent):
            return int(self.agent.plays(context).sum())
        return int(self.agent.plays.sum())

    def inside(self, context: Context) -> Agent:
        """The agent that decides in this context, until the next call."""
        return peek(self.agent, context) if isinstance(self.agent, ContextualAgent) else self.agent

    def default(self, context: Context, arm: Arm | Candidate, reward: float) -> Expired:
        """What the agent is to be told of a decision that expires: nothing of a candidate that cannot have it."""
        learner = self.inside(context).inside
        if not isinstance(arm, Candidate):
            learner.bounds.position(arm)  # says that there is no such arm
        if isinstance(learner, FeaturesLearner):
            if isinstance(arm, Candidate) and not arm.low <= reward <= arm.high:
                return Expired()
            return Expired(reward, weight=learner.weight(arm, reward))
        return Expired(reward, self.updates(context))

    def exchange(self, context: Context, arm: Arm | Candidate, default: Expired, new: float) -> None:
        """Let the agent have had another reward than the default it was told; see `exchange`."""
        learner = self.inside(context).inside
        assert default.reward is not None
        if isinstance(learner, FeaturesLearner):
            learner.exchange(arm, default.reward, new, default.weight)
            return
        assert isinstance(learner, ArmsLearner)
        assert not isinstance(arm, Candidate)
        exchange(learner, arm, default.reward, new, default.number)

    def check_reward(self, arm: Arm, reward: float) -> None:
        """Refuse a reward outside of the range of its arm, if the agent has this arm."""
        if arm in self._ranges:
            check_reward(arm, reward, *self._ranges[arm])

    def check_default(self, reward: float) -> None:
        """Refuse a default reward outside of the range of any arm."""
        for arm, (low, high) in self._ranges.items():
            check_reward(arm, reward, low, high)

    def check_arm(self, context: Context, arm: Arm) -> None:
        """Refuse an arm that is not on offer, in a context or anywhere."""
        one = None if self.has_contexts and context is None else self.inside(context)
        if one is not None:
            one.bounds.position(arm)
        if arm not in (self._ranges if one is None else one.bounds.arms):
            raise RefusalError(422, "unknown", f"there is no arm {arm!r}; the arms are {list(self._ranges)[:10]}")
        if one is not None and arm in one.retired:
            raise RefusalError(409, "retired", f"arm {arm!r} is retired; restore it first")

    def force(self, context: Context, arm: Arm | None) -> None:
        """Force an arm in a context or, for None, in all; or set it free."""
        if arm is None:
            self.forced.pop(context, None)
        else:
            self.forced[context] = arm

    def context_at(self, row: int) -> Context | None:
        """The context in a row of the agent; None if it has no such row."""
        agent = self.agent
        if not isinstance(agent, ContextualAgent):
            return None
        return next((context for context in agent if row_of(agent, context) == row), None)

    def rename(self, context: Context, new: Context) -> Context:
        """Let a context have another name; nothing else changes. Returns the old one as the agent spells it."""
        assert isinstance(self.agent, ContextualAgent)
        old = self.context_at(row_of(self.agent, context))  # 1 and 1.0 are the same context
        rename(self.agent, context, new)
        self.forced = {new if own == context else own: arm for own, arm in self.forced.items()}
        self.history.rename(context, new)
        return context if old is None else old

    def view(self, context: Context) -> dict[str, Any]:
        """All that is known in a context, arm by arm."""
        one = self.inside(context)
        return {
            "context": name_of(context),
            "arms": arm_views(one),
            "forced": self.forced.get(context, self.forced.get(None)),
            "version": self.version,
            "assumptions": one.assumptions(),
        }

    @property
    def range(self) -> tuple[float, float]:
        """The lowest and the highest reward that any arm can have."""
        ends = self._ranges.values()
        return min((low for low, _ in ends), default=0.0), max((high for _, high in ends), default=1.0)

    def saved(self) -> dict[str, Any]:
        """The whole state, in values that JSON can hold."""
        return {
            "agent": self.agent.to_dict(),
            "share": self.settings.share,
            "wait": self.settings.wait,
            "default_reward": self.settings.default_reward,
            "version": self.version,
            "base": self.base,
            "forced": [[name_of(context), arm] for context, arm in self.forced.items()],
            "swept": self.swept,
            "digest": self.digest,
            "history": self.history.saved(),
        }

    @classmethod
    def from_saved(cls, data: Mapping[str, Any], as_context: Callable[[Any], Context]) -> Served:
        """The agent that `saved` described."""
        settings = Settings(data["share"], data["wait"], data["default_reward"])
        served = cls(agent_from_dict(data["agent"]), settings)
        served.version, served.base, served.swept = data["version"], data["base"], data["swept"]
        served.forced = {as_context(context): arm for context, arm in data["forced"]}
        served.digest = data["digest"]
        served.history = History.from_saved(data["history"], as_context)
        return served

    def fingerprint(self) -> str:
        """A hash of the whole state: two states with the same one are the same to the last bit."""
        return hashlib.sha256(json.dumps(self.saved(), sort_keys=True).encode()).hexdigest()


def rehearse(saved: Mapping[str, Any] | None) -> None:
    """Let a saved agent decide and learn once, and forget it: kernels that it needs are compiled then.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.service.served import rehearse
    >>> rehearse(mb.Agent(mb.GLUE(), mb.MeanBounds([0.2, 0.1], [0.9, 0.5]), seed=7).to_dict())
    """
    if saved is None:
        return
    copy = Agent.from_dict(saved)
    if len(copy.retired) < len(copy.bounds):
        copy.decide()
        arm = copy.pull()  # as a replay does
        copy.update(arm, float(copy.bounds.low[copy.bounds.position(arm)]))
        arm_views(copy)


def exchange(learner: ArmsLearner, arm: Arm, old: float, new: float, number: int) -> None:
    """Let a learner have had another reward than the one it was told.

    The sums lose the old reward and gain the new one; whatever was decided in between stays decided. Alarms that the
    old reward raised stay.

    Parameters
    ----------
    learner
        The learner of the arm.
    arm
        The arm.
    old, new
        The reward that it was told, and the one that takes its place.
    number
        How many rewards the learner had before the old one: with this the reward was rounded to 0 or 1.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.service.served import exchange
    >>> agent = mb.Agent(mb.GLUE(), mb.MeanBounds([0.2], [0.9], arms=["a"]), seed=7)
    >>> agent.update("a", 0.0)
    >>> exchange(agent.inside, "a", 0.0, 1.0, 0)
    >>> agent.means
    array([1.])
    """
    now, ledger = learner.standing, learner.ledger
    k, groups = learner.bounds.position(arm), np.array(now.groups)
    low, high = now.low[k], now.high[k]
    check_reward(arm, new, low, high)
    if ledger is not None:
        ledger.enter(now.watched, groups, leaves=True)
    state, u = State(*learner.table), float(uniform(np.uint64(rounding_key(np.uint64(learner.seed), 0)), number))
    plays = float(state.plays[k])
    for sums, squares, before, after in (
        (state.total, state.squares, (old - low) / (high - low), (new - low) / (high - low)),
        (state.shortfall, state.shortfall_squares, (high - old) / (high - low), (high - new) / (high - low)),
    ):
        sums[k] = min(max(sums[k] - before + after, 0.0), plays)
        squares[k] = min(max(squares[k] - before * before + after * after, 0.0), sums[k])
        if sums is state.total:
            state.ones[k] = min(max(state.ones[k] + float(u < after) - float(u < before), 0.0), plays)
    if ledger is not None:
        ledger.enter(now.watched, groups)
