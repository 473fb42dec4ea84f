"""The agent: pull an arm, tell it the reward, repeat; in one context or in many."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np

from meanbounds.agents.contexts import (
    ASSUMPTION,
    CHOSEN,
    CHOSEN_SQUARES,
    CHOSEN_TOTAL,
    LOST,
    ONES,
    PENDING,
    PLAYS,
    PULLS,
    TOTAL,
    Context,
    Contexts,
    read_knowledge,
)
from meanbounds.agents.guardrails import Guardrail, GuardrailWarning, Outcomes, Stop
from meanbounds.agents.pooling import pooled
from meanbounds.agents.tree import Tree
from meanbounds.agents.verdict import Verdict, judged
from meanbounds.bounds import EXPERT, Arm, BoundsError, MeanBounds, share_of_range
from meanbounds.evidence import Contradiction, ContradictionWarning, Watch, confidence_sequence
from meanbounds.evidence.contradictions import read_found
from meanbounds.evidence.drift import Drift, Memory, doubted
from meanbounds.knowledge import Knowledge
from meanbounds.known import Known, Seen
from meanbounds.policies import Guarded
from meanbounds.policies.base import Cache, Described, NoDraws, Policy, check_no_name, choose
from meanbounds.policies.guarded import check_moving
from meanbounds.support.checks import as_flag, as_list, as_mapping, check_choice, shown
from meanbounds.support.decisions import BaseAgent, Decision, Excluded, ExpertsSeen
from meanbounds.support.entries import Entries
from meanbounds.support.streams import Draws, Seed, stream, uniform
from meanbounds.support.types import Booleans, Floats, Integers, Keys

__all__ = ["Agent", "Pending", "Where"]

Where = Context | Mapping[str, Any]
"""A context, or the columns of a case for an agent with a tree."""

Pending = Literal["ignore", "count"]
"""How a decision treats earlier pulls whose rewards have not come yet."""

_FORMAT = 1
_AWAKE = 1024  # contexts that are kept ready for use
_OFFERS = 64  # sets of eligible arms that are kept ready in each
_BLOCK = 64  # random numbers that are computed at a time
_CANCELLED = np.array([-float(n == PENDING) + float(n == LOST) for n in range(CHOSEN_SQUARES + 1)])  # one pull
_STRONGEST = 1e12  # Beta parameter
_SILENT = 10_000  # pulls without a reward in between, after which an agent warns


class Agent(BaseAgent):
    """Chooses an arm with `pull` and learns from its reward with `update`, in one context or in many.

    Parameters
    ----------
    policy
        How to decide, such as `GLUE`, or a policy of your own.
    known
        What is known of the arms: `MeanBounds`, `Knowledge`, or a mapping from contexts to these. A context is a text
        or a tuple of texts, and has statistics of its own; all have the same arms and ranges of rewards. An agent that
        was made from a mapping, even of one context, wants to be told the context in every call.
    seed
        Whole number, numpy Generator or None. An agent without contexts decides as run 0 of `simulate` with this seed.
    floor
        The least probability of each eligible arm that its bounds do not exclude, such as 0.01. With probability floor
        times the number of these arms, one of them is drawn instead of asking the policy. This costs reward, and makes
        it possible to estimate later what another policy would have earned.
    pool
        Whether each context learns from the rewards of the others, too: they give it a prior, which takes the place of
        its own (`agents/pooling.py` has the model) and is renewed with every 10% more rewards. It pays where contexts
        are many and each has few cases, and needs a policy that takes a prior.
    tree
        The `Tree` whose leaves the contexts are, such as ``meanbounds.logs.partition(...).tree``. Then a mapping from
        columns to values may stand for a context: ``agent.pull({"age": 81, "severity": "high"})``.
    drift
        How to treat means that move, see `meanbounds.evidence.Drift`; by default the agent expects none. What it has
        seen stays, and is what a promise goes by; the policy is shown what it remembers. A promise needs
        ``Guarded(..., pooled=True)`` then: it goes by the log's bounds on what the experts earn, which have to hold at
        all times, see ``shift=`` in `meanbounds.logs.agent`.
    guardrails
        Outcomes beside the reward that no option may make worse, see `Guardrail`; `report` tells the agent of them.

    Notes
    -----
    What the agent knows and what it has seen are separate: `know` replaces knowledge and leaves all statistics alone.
    Methods that describe statistics are about all contexts together, unless a context is given.

    Threads may share an agent: calls take effect one after the other. An error or an interrupt (Ctrl-C) leaves the
    agent as it was before the call or, at the very end of one, as it is after it.

    Examples
    --------
    >>> import meanbounds as mb
    >>> bounds = mb.MeanBounds([0.7, 0.2, 0.4], [0.95, 0.9, 0.6], arms=["tPA", "medical", "watch"])
    >>> agent = mb.Agent(mb.GLUE(), bounds, seed=7)
    >>> agent.pull()
    'tPA'
    >>> agent.update("tPA", 1.0)
    >>> agent.plays()
    array([1, 0, 0])

    With contexts:

    >>> agent = mb.Agent(mb.GLUE(), {"north": bounds, "south": mb.MeanBounds.vacuous(bounds.arms)}, seed=7)
    >>> agent.pull("north")
    'tPA'
    >>> agent.update("tPA", 1.0, "north")
    >>> agent.plays("south")
    array([0, 0, 0])
    """

    _fresh: ClassVar[dict[str, Any]] = {**BaseAgent._fresh, "_awake": dict, "_moved": set, "_shared": type(None)}

    def __init__(
        self,
        policy: Policy,
        known: MeanBounds | Knowledge | Mapping[Any, MeanBounds | Knowledge],
        *,
        seed: Seed = None,
        floor: float = 0.0,
        pool: bool = False,
        tree: Tree | None = None,
        drift: Drift | None = None,
        guardrails: Iterable[Guardrail] = (),
    ) -> None:
        if isinstance(policy, MeanBounds | Knowledge):
            raise TypeError(f"the policy comes first: mb.Agent(policy, bounds); got {shown(policy)} in its place")
        given = read_knowledge(known)
        contexts = Contexts.empty(next(iter(given.values())).bounds)
        self._start(policy, contexts, Watch(len(given)), seed, floor, pool, tree, drift)
        self._outcomes = Outcomes(as_list("guardrails", guardrails))
        lacks = [] if tree is None else [name for name in tree.contexts if name not in given]
        if lacks:
            raise ValueError(f"the tree has the context {lacks[0]!r}, of which nothing is known: name it in `known`")
        for rail in self._outcomes.guardrails.values():
            bare = [name for name in given if isinstance(rail.level, Mapping) and name not in rail.level]
            if bare == [None]:
                raise ValueError(f"the guardrail on {rail.outcome!r}: level is a number for an agent without contexts")
            if bare:
                raise ValueError(
                    f"the guardrail on {rail.outcome!r} has no level for the context {bare[0]!r}: give one"
                )
        for own in given.values():
            self.policy.check_known(own)
        contexts.know(given)

    def _start(
        self,
        policy: Policy,
        contexts: Contexts,
        watch: Watch,
        seed: Seed,
        floor: float,
        pool: bool,
        tree: Tree | None,
        drift: Drift | None,
    ) -> None:
        check_no_name(policy, Policy)
        linear = isinstance(policy, Described) and not isinstance(policy, Policy)
        example = "such as mb.GLUE()" + ", or use mb.LinearAgent for arms with features" * linear
        self._begin(policy, isinstance(policy, Policy), example, seed, floor)
        if as_flag("pool", pool) and not policy.takes_prior:
            raise ValueError(
                f"pool=True gives each context a prior, and {policy} makes no use of one: leave it out, or take a "
                f"policy that does, such as mb.OptimisticGittins()"
            )
        if not (tree is None or isinstance(tree, Tree)):
            raise TypeError(f"tree must be one that mb.logs.partition has grown; got {shown(tree)}")
        if not (drift is None or isinstance(drift, Drift)):
            raise TypeError(f"drift must be an object such as mb.evidence.Drift(), or None; got {shown(drift)}")
        if drift is not None and pool:
            raise ValueError("pool=True is for means that stay: leave out pool or drift")
        if drift is not None:
            check_moving(policy)
        self.pool, self.tree, self.drift = bool(pool), tree, drift
        self._outcomes = Outcomes([])
        self._memories = dict[int, Memory]()  # what policies are shown of contexts where means may move
        self._prior: Floats | None = None  # of contexts that are pooled; None until a context is used
        self._left, self._version = 0, 0  # rewards until it is renewed, and the version of what was known
        self._contexts, self._watch, self._silent = contexts, watch, 0  # silent: pulls since the last reward
        self._awake: dict[Any, _Awake] = {}
        self._shared: Floats | None = None  # of a budget that contexts share: the account of each, and which have moved
        self._moved = set[int]()

    def pull(
        self, context: Where | None = None, eligible: Iterable[Arm] | None = None, *, pending: Pending | None = None
    ) -> Arm:
        """Choose an arm.

        Parameters
        ----------
        context
            Where; required if the agent has contexts.
        eligible
            The arms that may be chosen now; all by default. Those that are retired or forbidden are left out. Only the
            bounds of the rest count: an arm that is not eligible excludes no other. For a promise to experts it may
            depend on the context and on the past, and on nothing else of the case.
        pending
            Whether pulls without a reward ``"count"`` as if each had returned the arm's mean so far; ``"ignore"`` waits
            for the rewards. By default they count for the policies that this never made worse, such as `GLUE`.
        """
        with self._lock:
            own = self._find(context)
            k, _ = self._choose(own, *self._ask(own, eligible, pending))
            self._count(own, k)
            return self._contexts.arms[k]

    def decide(
        self, context: Where | None = None, eligible: Iterable[Arm] | None = None, *, pending: Pending | None = None
    ) -> Decision:
        """Choose an arm as `pull` does, and return it with its probability and the reason; see `Decision`."""
        with self._lock:
            decision = self.propose(context, eligible, pending=pending)
            self._count(self._find(context), self._contexts.position[decision.arm])
            return decision

    def propose(
        self, context: Where | None = None, eligible: Iterable[Arm] | None = None, *, pending: Pending | None = None
    ) -> Decision:
        """What `decide` would return; the agent stays as it is until `play` says that the arm was played."""
        with self._lock:
            own = self._find(context)
            asked = self._ask(own, eligible, pending)
            arms = asked[0].eligible
            if arms is not None and np.count_nonzero(arms) == 1 and self._contexts.arms[int(arms.argmax())] is EXPERT:
                reason = self._why(own, self._contexts.expert, "only option")
                return Decision(own.context, EXPERT, 1.0, reason)
            known, seen, t, cache = asked
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                arms, chances = self.policy.decided(known, seen, t, Draws(own.draws, own.pulls), cache)
            k, reason = self._drawn(own, int(arms[0]), known, seen)
            probability = (self._with_floor(chances[0], known, seen) if self.floor else chances).item(k)
            return Decision(own.context, self._contexts.arms[k], probability, self._why(own, k, reason, *asked))

    def play(self, arm: Arm, context: Where | None = None) -> None:
        """Count a pull of this arm, which `propose` chose, or a coin that knows nothing of the case."""
        with self._lock:
            self._count(self._find(context), self._contexts.place(arm))

    def probabilities(
        self, context: Where | None = None, eligible: Iterable[Arm] | None = None, *, pending: Pending | None = None
    ) -> Floats:
        """The probability with which the next `pull` takes each arm; the agent stays as it is."""
        with self._lock:
            return self._chances(*self._ask(self._find(context), eligible, pending))

    def indices(
        self, context: Where | None = None, eligible: Iterable[Arm] | None = None, *, pending: Pending | None = None
    ) -> Floats:
        """The index of each arm: `pull` takes the largest. Minus infinity for an arm that it would not take."""
        with self._lock, np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            known, seen, t, cache = self._ask(self._find(context), eligible, pending)
            draws = NoDraws(f"{self.policy} decides by draws, not by an index; see probabilities()")
            found = self.policy.scores(known, seen, t, draws, cache)
            scores = (found[0] if isinstance(found, tuple) else found)[0]
            return scores.copy() if known.eligible is None else np.where(known.eligible[0], scores, -np.inf)

    def update(self, arm: Arm, reward: float, context: Where | None = None, *, pulled: bool = True) -> None:
        """Tell the agent a reward. Rewards may come late and in any order.

        Warns once of each bound that the rewards contradict, see `contradictions`, and of each assumption that they
        refute.

        Parameters
        ----------
        arm, reward
            The arm that was played, and its reward: a number in the arm's range.
        context
            Where; required if the agent has contexts.
        pulled
            False for a reward of an arm that this agent did not choose: its pulls wait for their own. Give it only
            rewards of arms that were chosen at random; the choices of an expert who saw more than was recorded mislead.
        """
        with self._lock:
            own, contexts = self._find(context), self._contexts
            k = contexts.position[arm] if type(arm) is str and arm in contexts.position else contexts.place(arm)
            self._learn(own, k, share_of_range(arm, reward, *contexts.ends[k]), pulled)

    def observe(self, arm: Arm, reward: float, context: Where | None = None, *, pulled: bool = True) -> None:
        """Tell what the experts chose after `pull` returned `EXPERT`, and how it went.

        The reward counts for the experts, never for the arm: they choose an arm where it does well. `observed` has what
        they chose.

        Parameters
        ----------
        arm, reward
            The arm that the experts chose, and its reward: a number in the arm's range. What it costs to ask them is
            taken off here.
        context
            Where; required if the agent has contexts.
        pulled
            False if the agent had not sent this case to the experts. Give it only cases like those that it sends.
        """
        with self._lock:
            own, contexts = self._find(context), self._contexts
            expert, k = contexts.expert, contexts.place(arm)
            if k == expert:
                raise ValueError("observe() takes the arm that the experts chose, not EXPERT")
            x = share_of_range(arm, reward, *contexts.ends[k])
            low, high = contexts.ends[expert]
            worth = min(high, max(low, float(reward) + high - float(np.delete(contexts.high, expert).max())))
            self._learn(own, expert, (worth - low) / (high - low), pulled, (k, x))

    def _learn(self, own: _Awake, k: int, x: float, pulled: bool, chosen: tuple[int, float] | None = None) -> None:
        """Take a reward of an arm, in units of its range, and what the experts chose if it was theirs."""
        contexts = self._contexts
        arm, one = contexts.arms[k], x
        if 0.0 < x < 1.0:
            one = float(own.rounding() < x)
        plays, total, squares, _, pending, *_ = own.seen[:, k].tolist()
        answered = 0.0
        if pulled is True or as_flag("pulled", pulled):
            if pending:
                answered = 1.0
            else:
                self._warn_unasked(arm, level=5)
        foreign = 1.0 - answered
        change = np.array((1.0, x, x * x, one, -answered, 0.0, 0.0, foreign, foreign * x, 0.0, 0.0, 0.0))
        column = own.seen[:, k]
        sums = plays + 1.0, total + x, squares + x * x
        found = self._watch.look(own.known, own.row, k, *sums, pending - answered)
        if found is not None:
            warnings.warn(ContradictionWarning(found.named(arm, own.context)), stacklevel=3)
        ledgers = self._told(own, k, change) if own.assumption else contexts.ledgers
        if chosen is not None:
            place, share = chosen
            table = np.zeros(own.seen.shape)
            table[:, k], table[CHOSEN:, place] = change, (1.0, share, share * share)
            change, column = table, own.seen
        memory = own.memory
        if memory is not None:
            memory = memory.after(k, x, one)
            reminded = own.reminded(memory, contexts)
        self._moved.add(own.row)
        column += change
        own.t += 1.0
        own.updates += 1
        own.waiting -= answered
        contexts.ledgers, self._silent = ledgers, 0
        if memory is not None:
            self._memories[own.row] = memory
            own.memory, own.statistics, own.known, own.offers, own.t = memory, *reminded
        if self._left:
            self._left -= 1
            if not self._left:
                self._prior, self._awake = None, {}

    def cancel(self, arm: Arm, context: Where | None = None) -> None:
        """Give up one pull of this arm that waits for a reward, which will never come.

        To a promise it remains a decision, of an option with the lowest reward or of experts with the highest.
        """
        with self._lock:
            own, k = self._find(context), self._contexts.place(arm)
            if not own.seen[PENDING, k]:
                raise ValueError(f"no pull of arm {arm!r} waits for a reward")
            self._moved.add(own.row)
            column = own.seen[:, k]
            column += _CANCELLED
            own.waiting, self._silent = own.waiting - 1.0, 0

    def report(self, outcome: str, value: float, arm: Arm, context: Where | None = None) -> None:
        """Tell the agent an outcome that has a guardrail, in a case that got this arm, or `EXPERT`; see `Guardrail`.

        Report it for every case, also where nothing happened. Warns if the arm breaks the guardrail, and retires it.
        """
        with self._lock:
            own, k = self._find(context), self._contexts.place(arm)
            stop = self._outcomes.add(outcome, value, own.row, k, self._contexts)
            if stop is not None and not self._contexts.retired[k]:
                self._retire(arm, True)
                warnings.warn(GuardrailWarning(stop), stacklevel=2)

    def share_of_outcome(self, outcome: str, value: float) -> float:
        """An outcome in units of its range; refused as `report` would refuse it."""
        return self._outcomes.share(outcome, value)

    @property
    def guardrails(self) -> tuple[Guardrail, ...]:
        """The guardrails that it was made with."""
        return tuple(self._outcomes.guardrails.values())

    def stops(self) -> list[Stop]:
        """The arms that guardrails have stopped, and why; those that were restored since are left out."""
        return [*self._outcomes.stops]

    def know(self, known: MeanBounds | Knowledge | Mapping[Any, MeanBounds | Knowledge]) -> None:
        """Replace what is known, from now on; everything that was seen stays.

        A mapping may name some of the contexts, and new ones, which are added. The arms are the same, in any order.

        Examples
        --------
        >>> import meanbounds as mb
        >>> agent = mb.Agent(mb.GLUE(), {"north": mb.MeanBounds([0.2, 0.3], [0.9, 0.8])}, seed=7)
        >>> agent.know({"north": mb.MeanBounds([0.85, 0.3], [0.9, 0.8]), "south": mb.MeanBounds.vacuous(2)})
        >>> agent.indices("north"), agent.contexts
        (array([ 0.9, -inf]), ('north', 'south'))
        """
        given = read_knowledge(known)
        with self._lock:
            if (None in given) != (None in self._contexts.rows):
                form = "a mapping from contexts to" if None in given else "no mapping but"
                raise TypeError(f"this agent was made differently: give {form} mb.MeanBounds or mb.Knowledge")
            for own in given.values():
                self.policy.check_known(own)
            contexts = self._contexts
            every = self.pool or contexts.size + len(given) > len(contexts.known)
            for name in [*self._awake] if every else given:
                self._awake.pop(name, None)  # all, where the arrays behind them are about to grow
            self._shared = None
            contexts.know(given)

    def follow(self, policy: Policy, *, floor: float | None = None, pool: bool | None = None) -> None:
        """Decide by another policy, floor or pooling from now on; what is known and was seen stays."""
        with self._lock:
            other = type(self).__new__(type(self))
            floor, pool = self.floor if floor is None else floor, self.pool if pool is None else pool
            other._start(policy, self._contexts, self._watch, self.seed, floor, pool, self.tree, self.drift)
            for row in self._contexts.rows.values():
                policy.check_known(self._contexts.knowledge(row))
            self._awake.clear()
            self._shared = None
            self.policy, self.floor, self.pool, self._prior, self._left = policy, other.floor, other.pool, None, 0

    def add(self, known: MeanBounds | Knowledge) -> None:
        """Offer more arms, everywhere: these bounds name them. Give a context other bounds on them with `know`."""
        given = Knowledge.of(known)
        with self._lock:
            for arm in given.bounds.arms:
                if arm in self._contexts.position:
                    raise BoundsError(f"there is an arm {arm!r} already; give the new one another name")
            contexts = self._contexts.with_arms(given)
            for row in list(contexts.rows.values())[:1]:
                self.policy.check_known(contexts.knowledge(row))
            self._awake.clear()
            self._shared = None
            self._memories = {row: memory.widened(len(contexts.arms)) for row, memory in self._memories.items()}
            self._contexts = contexts

    def _retire(self, arm: Arm, retired: bool) -> None:
        with self._lock:
            k = self._contexts.place(arm)
            self._awake.clear()
            self._shared = None
            if self._contexts.retired[k] and not retired:  # a guardrail starts anew
                self._outcomes.restart(k, arm)
            self._contexts.retired[k] = retired

    def forbid(self, arms: Iterable[Arm], context: Where | None = None) -> None:
        """Forbid these arms in a context, and allow the others: ``agent.forbid([], context)`` allows all."""
        with self._lock:
            contexts = self._contexts
            name, mask = self._name(context), contexts.mask(as_list("arms", arms))
            self._awake.pop(name, None)
            contexts.forbidden[contexts.rows[name]] = mask

    def forget_context(self, context: Where) -> None:
        """Erase a context with all that is known and was seen of it, for example when a person asks for it.

        What it lost against the experts is erased, too: a promise does not cover contexts that were forgotten. Forget
        none because of how it went: what is said of the others would be biased.
        """
        with self._lock:
            own = self._find(context)
            if own.context is None:
                raise ValueError("this agent has no contexts")
            self._awake.clear()
            self._shared = None
            self._watch.forget(own.row)
            self._memories.pop(own.row, None)
            self._outcomes.forget(own.row)
            self._contexts.forget(own.context)

    @property
    def arms(self) -> tuple[Arm, ...]:
        """The names of the arms, retired ones included."""
        return self._contexts.arms

    @property
    def contexts(self) -> tuple[Context, ...]:
        """The names of the contexts, new ones last; empty if the agent was made without."""
        return tuple(name for name in self._contexts.rows if name is not None)

    @property
    def retired(self) -> tuple[Arm, ...]:
        """The arms that are retired."""
        return self._contexts.names(self._contexts.retired)

    def observed(self, context: Where | None = None) -> Floats:
        """What the experts chose when they were asked: how often each arm, the sum of its rewards and of their squares.

        Three rows, in reward units. `meanbounds.logs.with_observed` adds them to the counts of a log.
        """
        count, total, squares = (self._sum(field, context) for field in (CHOSEN, CHOSEN_TOTAL, CHOSEN_SQUARES))
        low, width = self._contexts.low, self._contexts.high - self._contexts.low
        return np.array(
            [count, low * count + width * total, low**2 * count + width * (2 * low * total + width * squares)]
        )

    def experts(self, context: Where | None = None, error: float = 0.05) -> ExpertsSeen:
        """What the experts earned when they were asked, beside what was known of it before; see `ExpertsSeen`.

        Its limits fail with probability at most `error` at all times together. An agent warns by itself if what the
        experts earn contradicts the bounds on it.
        """
        with self._lock:
            own, k = self._find(context), self._contexts.expert
            plays, total, squares = own.seen[:ONES, k]
            low, high = self._contexts.ends[k]
            ends = confidence_sequence(plays, total, squares=squares, error=error)
            lower, upper = (low + (high - low) * float(end) for end in ends)
            mean = low + (high - low) * total / plays if plays else math.nan
            return ExpertsSeen(
                int(plays), float(mean), lower, upper, (own.known.lower.item(k), own.known.upper.item(k))
            )

    def budget(self, context: Where | None = None) -> tuple[float, float]:
        """What its promise allows to lose in all decisions so far, and the most that they can have lost.

        In reward units; the second number is below zero where options have earned more than the experts would have.
        """
        with self._lock:
            if not isinstance(self.policy, Guarded):
                raise ValueError("this agent promises nothing: its policy is not Guarded")
            contexts, row = self._contexts, self._find(context).row
            part = slice(contexts.size) if self.policy.pooled else slice(row, row + 1)
            return self.policy.spent(self._given(part), contexts.statistics(contexts.seen[part]))

    def forbidden(self, context: Where | None = None) -> tuple[Arm, ...]:
        """The arms that are forbidden in a context."""
        with self._lock:
            contexts = self._contexts
            return contexts.names(contexts.forbidden[contexts.rows[self._name(context)]])

    def knowledge(self, context: Where | None = None) -> Knowledge:
        """What is known of the arms in a context."""
        with self._lock:
            return self._contexts.knowledge(self._find(context).row)

    def plays(self, context: Where | None = None) -> Integers:
        """How many rewards each arm has had."""
        return self._sum(PLAYS, context).astype(np.int64)

    def pulls(self, context: Where | None = None) -> Integers:
        """How often each arm was pulled."""
        return self._sum(PULLS, context).astype(np.int64)

    def pending(self, context: Where | None = None) -> Integers:
        """How many pulls of each arm wait for a reward."""
        return self._sum(PENDING, context).astype(np.int64)

    def updates(self, context: Where | None = None) -> int:
        """How many rewards have come."""
        return int(self._sum(PLAYS, context).sum())

    def means(self, context: Where | None = None) -> Floats:
        """The mean reward of each arm; NaN for an arm without rewards."""
        with self._lock, np.errstate(invalid="ignore"):
            share = self._sum(TOTAL, context) / self._sum(PLAYS, context)
            return self._contexts.low + (self._contexts.high - self._contexts.low) * share

    def _sum(self, field: int, context: Where | None) -> Floats:
        """One field of what was seen."""
        with self._lock:
            if context is None:
                return self._contexts.seen[:, field].sum(axis=0)
            return self._find(context).seen[field].copy()

    def excluded(self, context: Where | None = None) -> list[Excluded]:
        """The arms that bounds which are certain exclude.

        Policies that use bounds never try these, so no reward will ever tell that a bound behind it is wrong. A trust
        below 1 makes them try such an arm now and then.
        """
        with self._lock:
            own = None if context is None else self._find(context)
            some = self._contexts.rows if own is None else {own.context: own.row}
            names, rows = list(some), list(some.values())
            known, offered = self._contexts.given(self._contexts.known[rows]), self._contexts.offered(rows)
            known = known.among(offered).without_doubted
            best, found = np.where(offered, known.lower, -np.inf).argmax(axis=1), []
            for place, k in np.argwhere(offered & ~known.possible).tolist():
                better = int(best[place])
                lower, upper = known.lower.item(place, better), known.upper.item(place, k)
                found.append(Excluded(names[place], self.arms[k], upper, self.arms[better], lower))
            return found

    def verdict(self, context: Where | None = None) -> Verdict:
        """Which arm is best as far as the agent knows, how sure that is, and what going on can be worth."""
        with self._lock, np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            known, seen, *_ = self._ask(self._find(context), None, "ignore")
            policy = self.policy.base if isinstance(self.policy, Guarded) else self.policy
            return judged(known, seen, self._contexts.arms, getattr(policy, "moments", 1))

    def restarts(self, context: Where | None = None) -> int:
        """How often the agent has forgotten rewards because means had moved; see `meanbounds.evidence.Drift`."""
        with self._lock:
            some = self._memories.values() if context is None else [self._find(context).memory]
            return int(sum(memory.restarts[0] for memory in some if memory is not None))

    def contradictions(self, error: float | None = None) -> list[Contradiction]:
        """The bounds that the rewards contradict, in all contexts, and those of which `update` has warned.

        If all bounds hold, one is ever named with probability at most `error`, by default that of the warnings, 0.01.
        """
        with self._lock:
            contexts, names = self._contexts, {row: name for name, row in self._contexts.rows.items()}
            part = slice(contexts.size)
            known, seen = contexts.given(contexts.known[part]), contexts.statistics(contexts.seen[part])
            found = self._watch.contradictions(known, seen, contexts.seen[part, PENDING], error)
            return [one.named(self.arms[one.arm], names[one.context]) for one in found]

    def to_dict(self) -> dict[str, Any]:
        """The whole state, in values that JSON can hold; the agent that `from_dict` makes of it decides the same."""
        with self._lock:
            own = {"policy": self.policy.to_dict(), "seed": self.seed, "floor": self.floor}
            watch = {"watched": self._watch.rows, "contradicted": self._watch.to_list()}
            if self.tree is not None:
                own["tree"] = self.tree.to_dict()
            if self.pool:
                rows, prior = list(self._contexts.rows.values()), self._pooled()
                own |= {"pool": True, "pooled": prior[:, rows].tolist(), "rewards_left": self._left}
            if self.drift is not None:
                remembered = {str(row): memory.to_dict() for row, memory in self._memories.items()}
                own |= {"drift": self.drift.to_dict(), "remembered": remembered}
            if self._outcomes.guardrails:
                own["outcomes"] = self._outcomes.to_dict()
            return {"agent": _FORMAT, **own, **watch, **self._contexts.to_dict()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Make the agent that `to_dict` described; everything is checked."""
        data = dict(as_mapping("a saved Agent", data))
        if "linear_agent" in data:
            raise ValueError("this is a saved LinearAgent: use mb.LinearAgent.load")
        if data.get("agent") != _FORMAT:
            what = f"'agent' is {shown(data['agent'])}" if "agent" in data else "it lacks the key 'agent'"
            raise ValueError(f"this is not an Agent saved in format {_FORMAT}: {what}; got {shown(list(data)[:10])}")
        names = ("agent", "policy", "seed", "floor", "watched", "contradicted")
        tree, pool, more = data.pop("tree", None), data.pop("pool", False), ("pooled", "rewards_left")
        drift, remembered, outcomes = (data.pop(name, None) for name in ("drift", "remembered", "outcomes"))
        saved = Entries("Agent", {name: data.pop(name) for name in (*names, *more) if name in data}, names, more)
        contexts, agent = Contexts.from_dict("Agent", data), cls.__new__(cls)
        found = read_found(saved, contexts.rows.values(), len(contexts.arms))
        watch = Watch(max(1, saved.whole("watched")), found=found)
        try:
            policy, seed = Policy.from_dict(saved["policy"]), saved.whole("seed", most=2**63 - 1)
            tree = None if tree is None else Tree.from_dict(tree)
            drift = None if drift is None else Drift.from_dict(drift)
            agent._start(policy, contexts, watch, seed, saved["floor"], pool, tree, drift)
            rows = {str(row): row for row in contexts.rows.values()}
            for row, own in as_mapping("remembered", remembered or {}).items():
                if drift is None or row not in rows:
                    raise saved.wrong("remembered is by row, and belongs to drift")
                agent._memories[rows[row]] = Memory.from_dict(drift, len(contexts.arms), own)
            if outcomes is not None:
                agent._outcomes = Outcomes.from_dict(outcomes, contexts)
            if agent.pool and "pooled" in saved:
                agent._read_pooled(saved)
        except (TypeError, RecursionError) as error:
            raise saved.wrong(str(error)) from None
        return agent

    def _read_pooled(self, saved: Entries) -> None:
        contexts = self._contexts
        prior = saved.numbers("pooled", (2, len(contexts.rows), len(contexts.arms)))
        if not ((prior >= 1.0) & (prior <= _STRONGEST)).all():
            raise saved.wrong(f"pooled must hold Beta parameters from 1 to {_STRONGEST:g}")
        self._prior, self._left = np.ones((2, contexts.size, len(contexts.arms))), saved.whole("rewards_left")
        if not self._left:
            raise saved.wrong("rewards_left is how many rewards come before the next fit: at least 1")
        self._prior[:, list(contexts.rows.values())] = prior

    def __repr__(self) -> str:
        count = len(self._contexts.rows)
        where = "" if None in self._contexts.rows else f"{count} context{'s' * (count != 1)}, "
        return f"Agent({self.policy!r}, {where}{len(self.arms)} arms, {self.updates()} updates)"

    def _find(self, context: Where | None) -> _Awake:
        """A context, ready for use."""
        try:
            return self._awake[context]
        except (KeyError, TypeError):  # no name yet, or columns
            pass
        name = self._name(context)
        own = self._awake.get(name)
        if own is None:
            if len(self._awake) >= _AWAKE:
                del self._awake[next(iter(self._awake))]
            memory = None
            if self.drift is not None:
                memory = self._memories.get(self._contexts.rows[name]) or Memory(self.drift, 1, len(self.arms))
            own = _Awake(name, self._contexts, self.seed, self._pooled() if self.pool else None, memory)
            self._awake[name] = own
        return own

    def _name(self, context: Any) -> Context | None:
        """The name of a context, or of the leaf of the tree to which these columns belong."""
        if isinstance(context, Mapping):
            if self.tree is None:
                raise TypeError(
                    f"this agent was made without a tree, so columns say no context; got {shown(context)}. Give the "
                    f"name of the context, or make the agent from a log with mb.logs.partition"
                )
            context = self.tree.leaf(context)
        return self._contexts.name(context)

    def _pooled(self) -> Floats:
        """Both Beta parameters of each context's prior, learned from all others: as of the last time it was due.

        It is due after so many rewards, and when what is known changes. Between that and now nothing has changed, since
        whatever changes something asks for it first.
        """
        contexts = self._contexts
        if self._prior is None or self._version != contexts.version:
            part = slice(contexts.size)
            seen = contexts.statistics(contexts.seen[part])
            moments = getattr(getattr(self.policy, "base", self.policy), "moments", 1)
            found = np.array(pooled(contexts.given(contexts.known[part]), seen, moments))
            left = 1 + max(int(seen.plays.sum()), contexts.size) // 10
            self._prior, self._left, self._version = found, left, contexts.version
        return self._prior

    def _ask(
        self, own: _Awake, eligible: Iterable[Arm] | None, pending: Pending | None
    ) -> tuple[Known, Seen, Floats, Cache]:
        """What to ask the policy with."""
        key = None if eligible is None else tuple(eligible if type(eligible) is list else as_list("eligible", eligible))
        try:
            known = own.offers[key]
        except (KeyError, TypeError):
            known = self._offer(own, key)
        if own.assumption:
            known = self._contexts.ledgers[own.assumption - 1].doubted(known, own.row)
        if isinstance(self.policy, Guarded) and self.policy.pooled:
            own.statistics.others = self._others(own)
        if own.asked is not known:  # what a policy keeps is about what it was asked last
            own.asked, own.cache = known, {}
        counts = self.policy.counts_pending
        if pending is not None:
            check_choice("pending", pending, ("ignore", "count"))
            counts = pending == "count"
        if counts and own.waiting:
            shown = known if self.policy.uses_bounds else known.vacuous
            return known, own.statistics.with_pending(shown), own.t + own.waiting, own.cache
        return known, own.statistics, own.t, own.cache

    def _others(self, own: _Awake) -> Floats:
        """The sums over all other contexts that a budget depends on which they share."""
        contexts, guard = self._contexts, self.policy
        if self._shared is None:
            part = slice(contexts.size)
            self._shared = guard.account(self._given(part), contexts.statistics(contexts.seen[part]))
            self._moved.clear()
        for row in self._moved:
            one = slice(row, row + 1)
            self._shared[:, one] = guard.account(self._given(one), contexts.statistics(contexts.seen[one]))
        self._moved.clear()
        return self._shared.sum(axis=1) - self._shared[:, own.row]

    def _given(self, part: slice) -> Known:
        """What is known in these rows, for a promise about all contexts."""
        known, rows = self._contexts.given(self._contexts.known[part]), range(part.start or 0, part.stop)
        if self.drift is None:
            return replace(known, places=np.array(rows))
        return doubted(known, np.array([row in self._memories and self._memories[row].restarts[0] > 0 for row in rows]))

    def _offer(self, own: _Awake, eligible: tuple[Arm, ...] | None) -> Known:
        """What is known with these arms on offer."""
        if eligible == ():
            raise ValueError("eligible is empty: there is no arm to choose from")
        mask = self._contexts.offered(own.row)
        if eligible is not None:
            mask &= self._contexts.mask(eligible)
        if not mask.any():
            where = "" if own.context is None else f" in context {own.context!r}"
            raise ValueError(
                f"no eligible arm is left{where}: all are retired or forbidden; see restore() and forbid()"
            )
        if len(own.offers) >= _OFFERS:
            own.offers.clear()
        offer = own.offers[eligible] = own.known if mask.all() else own.known.among(mask[None])
        return offer

    def _choose(self, own: _Awake, known: Known, seen: Seen, t: Floats, cache: Cache) -> tuple[int, str]:
        """The position of an arm, and why it was chosen."""
        k = int(choose(self.policy, known, seen, t, Draws(own.draws, own.pulls), cache)[0])
        return self._drawn(own, k, known, seen)

    def _drawn(self, own: _Awake, k: int, known: Known, seen: Seen) -> tuple[int, str]:
        """The arm that the policy chose, or the one that the floor draws, and why."""
        if self.floor:
            arms = np.flatnonzero(self._floored(known, seen))
            place = int(uniform(own.floor, own.pulls)[0] / self.floor)
            if place < arms.size:
                return int(arms[place]), "floor"
        alone = len(self._contexts.arms) == 1 if known.eligible is None else np.count_nonzero(known.eligible) == 1
        return k, "only option" if alone else "policy"

    def _why(self, own: _Awake, k: int, reason: str, *asked: Any) -> str:
        """The reason for a decision, of asking the experts too."""
        if EXPERT not in self._contexts.position or k != self._contexts.expert or reason == "floor":
            return reason
        if reason == "only option":
            return "support" if np.count_nonzero(self._contexts.offered(own.row)) == 1 else reason
        if not isinstance(self.policy, Guarded):
            return "better"
        known, seen, t, cache = asked
        return self.policy.why(known, seen, t, Draws(own.draws, own.pulls), cache)

    def _chances(self, known: Known, seen: Seen, t: Floats, cache: Cache) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            chances: Floats = self.policy.checked_probabilities(known, seen, t, cache)[0]
        return self._with_floor(chances, known, seen) if self.floor else chances

    def _with_floor(self, chances: Floats, known: Known, seen: Seen) -> Floats:
        arms = self._floored(known, seen)
        return chances * (1.0 - self.floor * np.count_nonzero(arms)) + self.floor * arms

    def _floored(self, known: Known, seen: Seen) -> Booleans:
        return self._spread(self.policy.playable(known, seen)[0])

    def _count(self, own: _Awake, k: int) -> None:
        """Count a pull."""
        if self._silent == _SILENT:
            self._warn(
                "silent",
                f"{_SILENT:,} pulls and not one reward since: call update(arm, reward) after each pull, or the agent "
                f"cannot learn",
                level=4,
            )
        self._moved.add(own.row)
        both = own.seen[PENDING:LOST, k]
        both += 1.0
        own.pulls, own.waiting, self._silent = own.pulls + 1, own.waiting + 1.0, self._silent + 1

    def _told(self, own: _Awake, k: int, change: Floats) -> list[Any]:
        """The ledgers after a reward; warns of an assumption that it refutes."""
        seen = own.seen.copy()
        seen[:, k] += change
        contexts = self._contexts
        ledgers = contexts.moved([own.row], contexts.ledgers, contexts.known[[own.row]], seen[None])
        news = ledgers[own.assumption - 1].news()
        if news is not None:
            self._warn(news.assumption, news, level=5)
        return ledgers


class _Awake:
    """A context that is in use: its statistics as views, and what follows from them and from what is known."""

    def __init__(
        self, context: Context | None, contexts: Contexts, seed: int, prior: Floats | None, memory: Memory | None
    ) -> None:
        self.context, self.row = context, contexts.rows[context]
        fields, self.seen = contexts.known[self.row : self.row + 1], contexts.seen[self.row]
        self.statistics = contexts.statistics(contexts.seen[self.row : self.row + 1])
        self.updates, self.pulls = int(self.seen[PLAYS].sum()), int(self.seen[PULLS].sum())
        self.waiting = float(self.seen[PENDING].sum())
        self.t = np.array([self.updates + 1.0])
        self.known = contexts.given(fields.copy())
        if memory is None:
            self.known = replace(self.known, places=np.array([self.row]))
        if prior is not None:
            a, b = prior[:, self.row : self.row + 1]
            self.known = replace(self.known, prior=(a, b), learned=None)
        self.assumption = 0 if self.known.log_n is None else int(fields[0, ASSUMPTION, 0])
        self.offers: dict[tuple[Arm, ...] | None, Known] = {}  # by eligible arms, None for all
        self.memory = memory
        if memory is not None:
            self.statistics, self.known, self.offers, self.t = self.reminded(memory, contexts)
        self.asked, self.cache = self.known, Cache()
        self._seed, self.draws = seed, stream(seed, self.row, "policy")
        self._roundings: tuple[int, list[float]] = 0, []

    def reminded(self, memory: Memory, contexts: Contexts) -> tuple[Seen, Known, dict[Any, Known], Floats]:
        """What policies are shown with this memory: statistics, what is known, offers and the round."""
        known, offers, row = self.known, self.offers, slice(self.row, self.row + 1)
        before = 0.0 if self.memory is None or self.memory is memory else self.memory.restarts[0]
        if memory.restarts[0] != before:
            known, offers = doubted(contexts.given(contexts.known[row].copy()), np.array([True])), {}
        return memory.beside(contexts.statistics(contexts.seen[row])), known, offers, memory.age + 1.0

    def rounding(self) -> float:
        """The random number that rounds the next reward to 0 or 1; they are computed in blocks."""
        first, block = self._roundings
        if not first <= self.updates < first + len(block):
            first, numbers = self.updates, self.updates + np.arange(_BLOCK)
            block = uniform(stream(self._seed, self.row, "rounding"), numbers).tolist()
            self._roundings = first, block
        return block[self.updates - first]

    @cached_property
    def floor(self) -> Keys:
        """Random numbers that draw arms because of the floor."""
        return stream(self._seed, self.row, "floor")
