"""One agent for each context, such as each group of patients or each kind of customer."""

from __future__ import annotations

import copy
import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from itertools import islice
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.agents.agent import Agent
from meanbounds.agents.arms import ArmsLearner
from meanbounds.agents.columns import Columns, check_columns
from meanbounds.agents.contexts import Context, as_lists, as_tuples, check_context
from meanbounds.agents.learner import Pending, check_floor
from meanbounds.agents.together import Ledger, place_of
from meanbounds.bounds import Arm, BoundsError, MeanBounds, UnknownArmError
from meanbounds.evidence.contradictions import WATCHED_ERROR, Contradiction
from meanbounds.evidence.processes import check_error
from meanbounds.knowledge import Knowledge
from meanbounds.policies import Policy
from meanbounds.support.checks import as_floats, as_list, check_choice, shown
from meanbounds.support.entries import Entries
from meanbounds.support.saving import Saved
from meanbounds.support.seeding import Seed, as_seed
from meanbounds.support.types import Floats, Integers

__all__ = ["Context", "ContextualAgent", "peek", "rename", "row_of", "warned_of"]

_FORMAT = 2
_MOST = 10**8  # rows of a saved agent: more would not fit in memory
_SAVED = ("policy", "seed", "floor", "unknown", "arms", "low", "high", "contexts", "rows", "lower", "upper", "told")
_AWAKE = 4096  # contexts held as agents at a time; the others are stored in columns
_SEARCHED = 10_000  # contexts among which a name like the one asked for is looked for


class ContextualAgent(Saved):
    """One agent for each context, each with its own bounds.

    Parameters
    ----------
    policy
        How all of them decide.
    bounds
        For each context, the bounds on the arms' means: a mapping such as `meanbounds.logs.bounds` returns. A context
        is named by a string, a number, or a tuple of these.
    seed
        Whole number, numpy Generator or None.
    unknown
        How to treat a context that has no bounds. ``"error"`` refuses it, and names the nearest one that is
        known; ``"vacuous"`` lets it start from bounds that say nothing, with a warning.
    floor
        The smallest probability with which each arm that can be best is pulled; see `meanbounds.Agent`.

    Notes
    -----
    Contexts are stored in columns, a few hundred bytes each, and become agents when they are used. A million contexts
    with five arms fit in 1 GB; `from_columns` builds them without an object for each. Contexts with other arms, or
    with bounds that may be wrong or expire, are agents from the start, some kilobytes each.

    Contexts whose `Knowledge` names the same assumption share the evidence against it, see docs/trust.md.

    Threads may share it: one lock guards all contexts and their agents. An error or an interrupt leaves it as it was
    before the call or as it is after it.

    Examples
    --------
    >>> import meanbounds as mb
    >>> bounds = {"young": mb.MeanBounds([0.7, 0.2], [0.9, 0.6]), "old": mb.MeanBounds([0.1, 0.2], [0.5, 0.6])}
    >>> agent = mb.ContextualAgent(mb.GLUE(), bounds, seed=7)
    >>> agent.pull("young")
    0
    >>> agent.update("young", 0, 1.0)
    >>> agent["young"].plays
    array([1, 0])
    """

    def __init__(
        self,
        policy: Policy,
        bounds: Mapping[Context, MeanBounds | Knowledge],
        *,
        seed: Seed = None,
        unknown: Literal["error", "vacuous"] = "error",
        floor: float = 0.0,
    ) -> None:
        if not isinstance(bounds, Mapping) or not bounds:
            raise TypeError(f"bounds must be a mapping from contexts to MeanBounds, not empty; got {bounds!r}")
        known = [Knowledge.of(own) for own in bounds.values()]
        like = known[0].bounds
        columns = Columns(like, *np.broadcast_to([[like.lower], [like.upper]], (2, len(known), len(like))).copy())
        self._begin(policy, columns, [check_context(context) for context in bounds], seed, unknown, floor)
        if len(self._rows) < len(known):
            raise ValueError("two contexts have the same name once numpy numbers are made plain ones")
        for row, (context, own) in enumerate(zip(self._rows, known, strict=True)):
            if columns.takes(own):
                columns.put(row, own)
            else:
                self._kept[context] = self._agent_on(own, row, context)
        self._check_policy()

    def _check_policy(self) -> None:
        """Refuse a policy that cannot use priors where contexts have them."""
        informed = self._columns.first_prior()
        if informed is not None:
            self._policy.plan(self._columns.knowledge(informed))

    @classmethod
    def from_columns(
        cls,
        policy: Policy,
        contexts: Iterable[Context],
        *,
        lower: ArrayLike,
        upper: ArrayLike,
        low: ArrayLike = 0.0,
        high: ArrayLike = 1.0,
        arms: Iterable[Arm] | None = None,
        seed: Seed = None,
        unknown: Literal["error", "vacuous"] = "error",
        floor: float = 0.0,
    ) -> Self:
        """Make the agent of very many contexts that all have the same arms.

        Parameters
        ----------
        policy, seed, unknown, floor
            As for `ContextualAgent`.
        contexts
            The name of each context.
        lower, upper
            Bounds on the means, in reward units: a row for each context, a column for each arm.
        low, high
            The range of the rewards, one number for all arms or one for each.
        arms
            The names of the arms; 0, 1, 2, ... by default.

        Examples
        --------
        >>> import meanbounds as mb
        >>> agent = mb.ContextualAgent.from_columns(
        ...     mb.GLUE(), ["young", "old"], lower=[[0.7, 0.2], [0.1, 0.2]], upper=[[0.9, 0.6], [0.5, 0.6]], seed=7
        ... )
        >>> agent.pull("young")
        0
        """
        below, above = (np.array(as_floats(name, side)) for name, side in (("lower", lower), ("upper", upper)))
        names = [check_context(context) for context in as_list("contexts", contexts)]
        if below.ndim != 2 or below.shape != above.shape or len(below) != len(names):
            raise BoundsError(
                f"lower and upper need a row for each of {len(names)} contexts and a column for each arm; got shapes "
                f"{below.shape} and {above.shape}"
            )
        like = MeanBounds.vacuous(range(below.shape[1]) if arms is None else arms, low=low, high=high)
        if len(like) != below.shape[1]:
            raise BoundsError(f"{len(like)} arms for {below.shape[1]} columns of bounds")
        check_columns(like, below, above)
        agent = cls.__new__(cls)
        agent._begin(policy, Columns(like, below, above), names, seed, unknown, floor)
        if len(agent._rows) < len(names):
            twice = next(name for k, name in enumerate(names) if agent._rows[name] != k)
            raise ValueError(f"context {twice!r} is named twice")
        return agent

    def _begin(
        self, policy: Policy, columns: Columns, contexts: Sequence[Context], seed: Seed, unknown: str, floor: float
    ) -> None:
        if not isinstance(policy, Policy):
            raise TypeError(f"contexts need a policy on arms, such as mb.GLUE(); got {policy!r}")
        check_choice("unknown", unknown, ("error", "vacuous"))
        policy.plan(MeanBounds.vacuous(columns.arms, low=columns.low, high=columns.high))  # or it does not fit the arms
        self._policy, self._seed, self._unknown, self._floor = policy, as_seed(seed), unknown, check_floor(floor)
        self._lock = threading.RLock()  # its agents share it
        self._columns = columns
        self._withdrawn: set[Arm] = set()  # retired in all contexts, those that are still to come included
        self._rows: dict[Context, int] = {context: row for row, context in enumerate(contexts)}
        self._ledgers: dict[str, Ledger] = {}  # of each assumption
        self._awake: dict[Context, Agent] = {}
        self._kept: dict[Context, Agent] = {}  # always awake: the caller has the agent, or it has other arms or doubts

    @property
    def policy(self) -> Policy:
        """The policy, by which all contexts decide."""
        return self._policy

    @property
    def seed(self) -> int:
        """The number from which all random numbers follow, also if None was given."""
        return self._seed

    @property
    def contexts(self) -> tuple[Context, ...]:
        """The names of the contexts, new ones last."""
        return tuple(self._rows)

    @property
    def arms(self) -> tuple[Arm, ...]:
        """The names of all arms; those that only some contexts have come last.

        Examples
        --------
        >>> import meanbounds as mb
        >>> bounds = {"young": mb.MeanBounds.vacuous(["a", "b"]), "old": mb.MeanBounds.vacuous(["a", "c"])}
        >>> mb.ContextualAgent(mb.GLUE(), bounds, seed=7).arms
        ('a', 'b', 'c')
        """
        names = dict.fromkeys(self._columns.arms)
        for agent in self._kept.values():
            names.update(dict.fromkeys(agent.bounds.arms))
        return tuple(names)

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, context: Context) -> bool:
        return check_context(context) in self._rows

    def __iter__(self) -> Iterator[Context]:
        return iter(self._rows)

    def __getitem__(self, context: Context) -> Agent:
        """The agent of a context. It stays in memory from then on, so that your changes to it are not lost.

        Examples
        --------
        >>> import meanbounds as mb
        >>> agent = mb.ContextualAgent(mb.GLUE(), {"young": mb.MeanBounds([0.7, 0.2], [0.9, 0.8])}, seed=7)
        >>> agent["young"]
        Agent(GLUE(), 2 arms, 0 updates)
        """
        key = check_context(context)
        with self._lock:
            self._find(key)
            return self._hold(key)

    def _agent_on(self, bounds: MeanBounds | Knowledge, row: int, key: Context) -> Agent:
        """A new agent with this knowledge and the seed of this row."""
        known, watch = Knowledge.of(bounds), self._watch_of(key)
        learner = ArmsLearner(self._policy, known, self._seed_of(row), self._floor, error=watch[0], where=watch[1])
        self._share(learner, row)
        return Agent.around(learner, self._lock)

    def _share(self, learner: ArmsLearner, row: int) -> None:
        """Let a learner whose bounds rest on an assumption share the evidence with the other contexts."""
        own = learner.ledger
        if own is not None:
            learner.join(self._ledgers.setdefault(own.name, Ledger(own.name)), place_of(row))

    def _watch_of(self, key: Context) -> tuple[float, str]:
        """The share of a context in the probability of a false alarm, and the first words of its warnings."""
        return self._error, warned_of(key)

    @property
    def _error(self) -> float:
        """The share of each context in the probability of a false alarm."""
        return WATCHED_ERROR / max(1, len(self._rows))

    def _up_to_date(self, agent: Agent) -> Agent:
        """An agent that is awake, with its share as if it had just been woken: who sleeps when must not show."""
        learner, error = _learner_of(agent), self._error
        if learner.error != error:
            learner.watch(error)
        return agent

    def _hold(self, key: Context) -> Agent:
        """Keep an agent that is awake so for good."""
        if key not in self._kept:
            self._kept[key] = self._awake[key]
            del self._awake[key]
        return self._kept[key]

    def _find(self, key: Context) -> Agent:
        """The agent of a known context."""
        agent = self._awake.get(key) or self._kept.get(key)
        if agent is not None:
            return self._up_to_date(agent)
        if key not in self._rows:
            raise LookupError(self._not_known(key))
        row = self._rows[key]
        error, where = self._watch_of(key)
        seed = self._seed_of(row)
        learner = self._columns.wake(row, self._policy, self._floor, seed, error=error, where=where)
        agent = Agent.around(learner, self._lock)
        self._watch(key, agent)
        return agent

    def _watch(self, key: Context, agent: Agent) -> None:
        """Keep an agent awake until others need its place."""
        if len(self._awake) >= _AWAKE:
            self._rest(next(iter(self._awake)))
        self._awake[key] = agent

    def _agent(self, context: Context) -> Agent:
        """The agent of a context; a new context is added by `_keep` only after its agent was used without an error."""
        try:
            agent = self._awake.get(context) or self._kept.get(context)
        except TypeError:  # unhashable, so not a name: refused below
            agent = None
        if agent is None:
            key = check_context(context)
            if key in self._rows or self._unknown == "error":
                return self._find(key)
            like = MeanBounds.vacuous(self._columns.arms, low=self._columns.low, high=self._columns.high)
            agent = self._agent_on(like, self._next_row(), key)
            for arm in self._withdrawn:
                agent.retire(arm)
            return agent
        return self._up_to_date(agent)

    def _keep(self, context: Context, agent: Agent, start: str = "bounds that say nothing") -> None:
        """Remember the context of this agent if it is new."""
        if agent is self._awake.get(context) or agent is self._kept.get(context):
            return
        key = check_context(context)
        # First, so that a warning which is turned into an error leaves no trace.
        warnings.warn(f"context {key!r} is new: it starts from {start}", stacklevel=3)
        row = self._next_row()
        self._columns.reserve(row)
        self._columns.rest(row, _learner_of(agent))
        self._rows[key] = row  # from here on the context is known, and its row has all of it
        self._columns.size = row + 1
        self._watch(key, agent)

    def _next_row(self) -> int:
        """The row of the next new context: rows of contexts that were forgotten are not used again."""
        last = self._rows[next(reversed(self._rows))] if self._rows else -1
        return max(self._columns.size, last + 1)

    def _rest(self, key: Context) -> None:
        """Write an agent back to its row."""
        self._columns.rest(self._rows[key], _learner_of(self._awake[key]))
        del self._awake[key]

    def _rest_all(self) -> None:
        for key in list(self._awake):
            self._rest(key)

    def _seed_of(self, row: int) -> int:
        """The seed of a context; the random numbers of different contexts are independent."""
        return as_seed(np.random.default_rng([self._seed, row]))

    def _not_known(self, key: Context) -> str:
        few = len(self._rows) <= _SEARCHED  # among a million this would take a second
        texts = {str(name): name for name in self._rows} if few else {}
        folded = {text.casefold(): name for text, name in texts.items()}
        near = texts.get(str(key), folded.get(str(key).casefold()))
        if near is None:
            near = next((texts[text] for text in get_close_matches(str(key), texts, n=1)), None)
        some = ", ".join(map(repr, islice(self._rows, 10))) + (", ..." if len(self._rows) > 10 else "")
        guess = "" if near is None else f"; did you mean {near!r}?"
        return (
            f"context {key!r} has no bounds{guess} The contexts are {some}. To let new contexts start from bounds that "
            f'say nothing, give unknown="vacuous"'
        ).replace("bounds The", "bounds. The")

    def pull(self, context: Context, eligible: Iterable[Arm] | None = None, *, pending: Pending | None = None) -> Arm:
        """Choose an arm in this context; see `meanbounds.Agent.pull`.

        Parameters
        ----------
        context
            The name of the context.
        eligible, pending
            As for `meanbounds.Agent.pull`.

        Examples
        --------
        >>> import meanbounds as mb
        >>> bounds = {"young": mb.MeanBounds([0.7, 0.2], [0.9, 0.6]), "old": mb.MeanBounds([0.1, 0.2], [0.5, 0.6])}
        >>> agent = mb.ContextualAgent(mb.GLUE(), bounds, seed=7)
        >>> agent.pull("young"), agent.pull("old")
        (0, 1)
        >>> agent.pull("yung")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        LookupError: context 'yung' has no bounds; did you mean 'young'? The contexts are 'young', 'old'...
        """
        lock = self._lock
        try:  # as "with lock", in half the time
            lock.acquire()
            agent = self._agent(context)
            arm: Arm = agent.inside.pull(eligible, pending)
            self._keep(context, agent)
            return arm
        finally:
            try:
                lock.release()
            except RuntimeError:  # interrupted while it waited for the lock: there is nothing to release
                del lock

    def decide(
        self, context: Context, eligible: Iterable[Arm] | None = None, *, pending: Pending | None = None
    ) -> tuple[Arm, float]:
        """Choose an arm in this context as `pull` does, and return it with the probability that it had.

        Parameters
        ----------
        context, eligible, pending
            As for `pull`.

        Examples
        --------
        >>> import meanbounds as mb
        >>> agent = mb.ContextualAgent(mb.GLUE(), {"young": mb.MeanBounds([0.2, 0.2], [0.9, 0.9])}, seed=7)
        >>> agent.decide("young")
        (1, 0.5)
        """
        offered = None if eligible is None else as_list("eligible", eligible)
        with self._lock:
            agent = self._agent(context)
            decided: tuple[Arm, float] = agent.inside.decide(offered, pending)
            self._keep(context, agent)
            return decided

    def update(self, context: Context, arm: Arm, reward: float, *, history: bool = False) -> None:
        """Tell the agent of this context a reward; see `meanbounds.Agent.update`.

        Parameters
        ----------
        context
            The name of the context.
        arm, reward, history
            As for `meanbounds.Agent.update`.

        Examples
        --------
        >>> import meanbounds as mb
        >>> agent = mb.ContextualAgent(mb.GLUE(), {"young": mb.MeanBounds([0.7, 0.2], [0.9, 0.8])}, seed=7)
        >>> agent.update("young", 1, 0.5)
        >>> agent["young"].means
        array([nan, 0.5])
        """
        lock = self._lock
        try:  # as "with lock", in half the time
            lock.acquire()
            agent = self._agent(context)
            agent.inside.update(arm, reward, history)
            self._keep(context, agent)
        finally:
            try:
                lock.release()
            except RuntimeError:  # interrupted while it waited for the lock: there is nothing to release
                del lock

    def probabilities(
        self, context: Context, eligible: Iterable[Arm] | None = None, *, pending: Pending | None = None
    ) -> Floats:
        """The probability that the next pull in this context takes each arm; see `meanbounds.Agent.probabilities`.

        Examples
        --------
        >>> import meanbounds as mb
        >>> agent = mb.ContextualAgent(mb.GLUE(), {"young": mb.MeanBounds([0.2, 0.2], [0.9, 0.9])}, seed=7)
        >>> agent.probabilities("young")
        array([0.5, 0.5])
        """
        with self._lock:
            return self._agent(context).probabilities(eligible, pending=pending)

    def indices(self, context: Context) -> Floats:
        """The index of each arm in this context; see `meanbounds.Agent.indices`.

        Examples
        --------
        >>> import meanbounds as mb
        >>> agent = mb.ContextualAgent(mb.GLUE(), {"young": mb.MeanBounds([0.7, 0.2], [0.9, 0.8])}, seed=7)
        >>> agent.indices("young")
        array([0.9, 0.8])
        """
        with self._lock:
            return self._agent(context).indices()

    def contradictions(self, error: float = WATCHED_ERROR) -> dict[Context, list[Contradiction]]:
        """The bounds that the rewards contradict, by context; see `meanbounds.Agent.contradictions`.

        Contexts without contradictions are left out. Each context has an equal share of `error`: divided by the number
        of contexts. Warnings name the context.

        Parameters
        ----------
        error
            The probability with which any bound of any context is ever named although all hold.

        Examples
        --------
        >>> import warnings
        >>> import meanbounds as mb
        >>> bounds = {"young": mb.MeanBounds([0.7, 0.2], [0.9, 0.6]), "old": mb.MeanBounds([0.1, 0.2], [0.5, 0.6])}
        >>> agent = mb.ContextualAgent(mb.GLUE(), bounds, seed=7)
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore", mb.evidence.ContradictionWarning)
        ...     for _ in range(20):
        ...         agent.update("old", 0, 1.0)
        >>> for context, found in agent.contradictions().items():
        ...     print(context, *found)
        old arm 0: 20 rewards with mean 1 contradict its upper bound 0.5 (e-value 5.5e+04)
        """
        with self._lock:
            self._rest_all()
            number = max(1, len(self._rows))
            errors = check_error(error) / number, WATCHED_ERROR / number
            found = dict[Context, list[Contradiction]]()
            for key, row in self._rows.items():
                agent = self._kept.get(key)
                if agent is not None:
                    found[key] = agent.contradictions(errors[0])
                elif self._columns.updates[row]:
                    found[key] = self._columns.contradictions(row, errors)
            return {key: own for key, own in found.items() if own}

    def assumptions(self) -> dict[str, float]:
        """How strongly the rewards of all contexts speak against each assumption: logarithms of e-processes.

        While an assumption holds, its e-process ever reaches 1 / error with probability at most `error`, however often
        you look. `meanbounds.Knowledge` names the assumption; see docs/trust.md.

        Examples
        --------
        >>> import meanbounds as mb
        >>> bounds = {age: mb.MeanBounds([0.7, 0.2], [0.9, 0.6]) for age in ("young", "old")}
        >>> known = {age: mb.Knowledge(own, trust=0.9, assumption="optimal expert") for age, own in bounds.items()}
        >>> agent = mb.ContextualAgent(mb.GLUE(), known, seed=7)
        >>> agent.assumptions()
        {'optimal expert': 0.0}
        >>> for _ in range(8):
        ...     agent.update("young", 1, 1.0)
        ...     agent.update("old", 1, 1.0)
        >>> round(agent.assumptions()["optimal expert"], 2)
        1.43
        """
        with self._lock:
            return {name: ledger.log_e for name, ledger in self._ledgers.items()}

    def plays(self, context: Context | None = None) -> Integers:
        """How many rewards each arm has had, in one context or, by default, in all of them together.

        Examples
        --------
        >>> import meanbounds as mb
        >>> bounds = {"young": mb.MeanBounds([0.7, 0.2], [0.9, 0.6]), "old": mb.MeanBounds([0.1, 0.2], [0.5, 0.6])}
        >>> agent = mb.ContextualAgent(mb.GLUE(), bounds, seed=7)
        >>> agent.update("young", 0, 1.0)
        >>> agent.update("old", 1, 0.0)
        >>> agent.plays(), agent.plays("old")
        (array([1, 1]), array([0, 1]))
        """
        with self._lock:
            if context is not None:
                return self._agent(context).plays
            self._rest_all()
            return self._summed(self._columns.plays, [agent.plays for agent in self._kept.values()])

    def pending(self, context: Context | None = None) -> Integers:
        """How many pulls of each arm wait for their reward, in one context or, by default, in all together.

        Examples
        --------
        >>> import meanbounds as mb
        >>> bounds = {"young": mb.MeanBounds([0.7, 0.2], [0.9, 0.6]), "old": mb.MeanBounds([0.1, 0.2], [0.5, 0.6])}
        >>> agent = mb.ContextualAgent(mb.GLUE(), bounds, seed=7)
        >>> _ = agent.pull("young"), agent.pull("old")
        >>> agent.pending(), agent.pending("old")
        (array([1, 1]), array([0, 1]))
        """
        with self._lock:
            if context is not None:
                return self._agent(context).pending
            self._rest_all()
            return self._summed(self._columns.pending, [agent.pending for agent in self._kept.values()])

    def _summed(self, column: Integers, kept: Sequence[Integers]) -> Integers:
        """The sum over contexts, by arm; the rows of contexts that are kept awake are stale, so their agents count."""
        place = {arm: k for k, arm in enumerate(self.arms)}
        total = np.zeros(len(place), dtype=np.int64)
        total[: column.shape[1]] = column.sum(axis=0) - column[[self._rows[key] for key in self._kept]].sum(axis=0)
        for agent, own in zip(self._kept.values(), kept, strict=True):
            total[[place[arm] for arm in agent.bounds.arms]] += own
        return total

    def cancel(self, context: Context, arm: Arm) -> None:
        """Give up one pending pull of this arm in this context: its reward will never come.

        Examples
        --------
        >>> import meanbounds as mb
        >>> agent = mb.ContextualAgent(mb.GLUE(), {"young": mb.MeanBounds([0.7, 0.2], [0.9, 0.6])}, seed=7)
        >>> agent.cancel("young", agent.pull("young"))
        >>> agent.pending()
        array([0, 0])
        """
        with self._lock:
            self._agent(context).cancel(arm)

    def add(
        self,
        arm: Arm,
        *,
        lower: float | None = None,
        upper: float | None = None,
        low: float = 0.0,
        high: float = 1.0,
        context: Context | None = None,
    ) -> None:
        """Offer one more arm, in one context or, by default, in all; see `meanbounds.Agent.add`.

        Parameters
        ----------
        arm, lower, upper, low, high
            As for `meanbounds.Agent.add`.
        context
            The context that gets the arm; all by default.

        Examples
        --------
        >>> import meanbounds as mb
        >>> agent = mb.ContextualAgent(mb.GLUE(), {"young": mb.MeanBounds([0.2], [0.5], arms=["old drug"])}, seed=7)
        >>> agent.add("new drug", upper=0.9)
        >>> agent.pull("young")
        'new drug'
        """
        with self._lock:
            if context is None:
                self._add_everywhere(arm, {"lower": lower, "upper": upper, "low": low, "high": high})
                return
            agent = self._agent(context)
            known = agent.knowledge.with_arm(arm, lower, upper, low, high)  # refused here if at all
            key, size = check_context(context), self._columns.size
            new = key not in self._rows
            try:
                self._keep(context, agent)
                self._hold(key).inside.extend(known, None, 0.0)
            except BaseException:
                if new:
                    self._drop(key)
                    self._columns.size = size
                raise

    def _add_everywhere(self, arm: Arm, ends: dict[str, float | None]) -> None:
        whole = {name: ends["low" if name == "lower" else "high"] for name, end in ends.items() if end is None}
        own = MeanBounds.from_dict({"arms": [arm], **{name: [end] for name, end in (ends | whole).items()}})
        having = [key for key, agent in self._kept.items() if arm in agent.bounds.arms]
        if self._columns.place(arm) is not None or having:
            where = f" in context {having[0]!r}" if having else ""
            raise BoundsError(f"there is an arm {arm!r} already{where}; give the new one another name")
        with self._all_or_nothing():
            for agent in self._kept.values():
                low, high, lower, upper = (float(side[0]) for side in (own.low, own.high, own.lower, own.upper))
                agent.add(arm, lower=lower, upper=upper, low=low, high=high)
            self._columns = self._columns.extended(own)

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Undo changes of many contexts if one of them is refused or interrupted."""
        self._rest_all()
        kept = [(_learner_of(agent), _learner_of(agent).standing) for agent in self._kept.values()]
        rows, columns, withdrawn = dict(self._rows), self._columns.with_own_bounds(), set(self._withdrawn)
        ledgers = [(ledger, ledger.copy()) for ledger in self._ledgers.values()]
        try:
            yield
        except BaseException:
            self._awake.clear()
            for ledger, before in ledgers:
                ledger.take(before)
            for learner, standing in kept:
                learner.stand_at(standing)
            self._rows, self._columns, self._withdrawn = rows, columns, withdrawn
            raise

    def retire(self, arm: Arm, *, context: Context | None = None) -> None:
        """Stop offering an arm, in one context or, by default, in all that have it; see `meanbounds.Agent.retire`.

        Examples
        --------
        >>> import meanbounds as mb
        >>> bounds = {"young": mb.MeanBounds([0.7, 0.2], [0.9, 0.8]), "old": mb.MeanBounds([0.4, 0.2], [0.8, 0.6])}
        >>> agent = mb.ContextualAgent(mb.GLUE(), bounds, seed=7)
        >>> agent.retire(0, context="old")
        >>> agent.pull("young"), agent.pull("old")
        (0, 1)
        """
        with self._lock:
            if context is not None:
                agent = self._agent(context)
                agent.retire(arm)
                self._keep(context, agent)
                return
            having, place = self._having(arm), self._columns.place(arm)
            with self._all_or_nothing():
                for agent in having:
                    agent.retire(arm)
                if place is not None:
                    self._columns.retired[list(self._rows.values()), place] = True
                    self._withdrawn.add(self._columns.arms[place])

    def restore(self, arm: Arm, *, context: Context | None = None) -> None:
        """Offer a retired arm again, in one context or, by default, wherever it is retired.

        Examples
        --------
        >>> import meanbounds as mb
        >>> agent = mb.ContextualAgent(mb.GLUE(), {"young": mb.MeanBounds([0.7, 0.2], [0.9, 0.8])}, seed=7)
        >>> agent.retire(0)
        >>> agent.restore(0)
        >>> agent.pull("young")
        0
        """
        with self._lock:
            if context is not None:
                agent = self._agent(context)
                agent.restore(arm)
                self._keep(context, agent)
                return
            self._rest_all()
            retired = [agent for agent in self._having(arm) if arm in agent.retired]
            place = self._columns.place(arm)
            in_columns = place is not None and self._columns.retired[:, place].any()
            if not (retired or in_columns or arm in self._withdrawn):
                raise ValueError(f"arm {arm!r} is not retired in any context")
            with self._all_or_nothing():
                for agent in retired:
                    agent.restore(arm)
                if place is not None:
                    self._columns.retired[:, place] = False
                self._withdrawn.discard(arm)

    def _having(self, arm: Arm) -> list[Agent]:
        """The agents that are kept awake and have this arm; an error if no context has it."""
        named = isinstance(arm, str | int | np.integer)
        having = [agent for agent in self._kept.values() if named and arm in agent.bounds.arms]
        if not (having or (named and self._columns.place(arm) is not None)):
            known = ", ".join(map(repr, self.arms[:10]))
            raise UnknownArmError(f"unknown arm {shown(arm)} in every context; the arms are {known}")
        return having

    def replace_bounds(
        self, bounds: MeanBounds | Mapping[Context, MeanBounds], *, context: Context | None = None
    ) -> None:
        """Use other bounds from now on: in one context, in each context of a mapping, or the same in all.

        Parameters
        ----------
        bounds
            Bounds on the same arms, with the same reward ranges; or a mapping from contexts to such bounds. If one of
            them is refused, none is changed.
        context
            The context that gets these bounds; all by default.

        Examples
        --------
        >>> import meanbounds as mb
        >>> agent = mb.ContextualAgent(mb.GLUE(), {"young": mb.MeanBounds([0.2, 0.1], [0.5, 0.9])}, seed=7)
        >>> agent.replace_bounds({"young": mb.MeanBounds([0.2, 0.1], [0.5, 0.15])})
        >>> agent.pull("young")
        0
        """
        if isinstance(bounds, Mapping) and context is not None:
            raise TypeError("give a mapping from contexts to bounds, or one context and its bounds; not both")
        with self._lock:
            if isinstance(bounds, Mapping):
                given = {check_context(key): own for key, own in bounds.items()}
            else:
                given = dict.fromkeys(self._rows if context is None else [check_context(context)], bounds)
            if len(given) == 1:
                self._replace(*next(iter(given.items())))
                return
            with self._all_or_nothing():
                for key, own in given.items():
                    self._replace(key, own)

    def _replace(self, key: Context, bounds: MeanBounds) -> None:
        agent = self._agent(key)
        agent.replace_bounds(bounds)
        self._keep(key, agent, "the bounds given")

    def forget(self, context: Context) -> None:
        """Delete a context with its bounds and rewards, for example when a person asks to be forgotten.

        Examples
        --------
        >>> import meanbounds as mb
        >>> agent = mb.ContextualAgent(mb.GLUE(), {"a": mb.MeanBounds([0.2], [0.5]), "b": mb.MeanBounds([0.1], [0.5])})
        >>> agent.forget("a")
        >>> agent.contexts
        ('b',)
        """
        key = check_context(context)
        with self._lock:
            if key not in self._rows:
                raise LookupError(self._not_known(key))
            try:
                self._drop(key)
            except BaseException:  # interrupted half way: a context that is half forgotten must not come back
                self._drop(key)
                raise

    def _drop(self, key: Context) -> None:
        """Erase all that is kept of a context, from its row to its name."""
        self._columns.size = self._next_row()
        if key in self._rows:
            self._columns.clear(self._rows[key])
        if key in self._kept:
            _learner_of(self._kept[key]).leave()
        self._awake.pop(key, None)
        self._kept.pop(key, None)
        self._rows.pop(key, None)

    def to_dict(self) -> dict[str, Any]:
        """The whole state, in values that JSON can hold; `from_dict` continues the same trajectories.

        Examples
        --------
        >>> import meanbounds as mb
        >>> agent = mb.ContextualAgent(mb.GLUE(), {"young": mb.MeanBounds([0.7, 0.2], [0.9, 0.8])}, seed=7)
        >>> state = agent.to_dict()
        >>> state["contexts"], state["lower"], state["seed"]
        (['young'], [[0.7, 0.2]], 7)
        """
        with self._lock:
            return self._saved()

    def _saved(self) -> dict[str, Any]:
        self._rest_all()
        columns, own = self._columns, {}
        for key, agent in self._kept.items():
            if columns.takes(agent.knowledge):
                columns.rest(self._rows[key], _learner_of(agent))
            else:
                own[self._rows[key]] = agent.to_dict()
        rows = list(self._rows.values())
        told = columns.told_all([row for row in rows if row not in own] if own else rows)
        return {
            "format": _FORMAT,
            "policy": self._policy.to_dict(),
            "seed": self._seed,
            "floor": self._floor,
            "unknown": self._unknown,
            "arms": list(columns.arms),
            "low": columns.low.tolist(),
            "high": columns.high.tolist(),
            "contexts": [as_lists(context) for context in self._rows],
            "rows": rows,
            "next_row": self._next_row(),
            "lower": columns.lower[rows].tolist(),
            "upper": columns.upper[rows].tolist(),
            **columns.told_priors(rows),
            "told": {str(row): entry for row, entry in told.items()},
            "agents": {str(row): saved for row, saved in own.items()},
            "withdrawn": [arm for arm in columns.arms if arm in self._withdrawn],
            **({"assumptions": {name: own.told() for name, own in self._ledgers.items()}} if self._ledgers else {}),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Make the agent that `to_dict` described, of this version or of 0.1; it continues the same trajectories.

        Examples
        --------
        >>> import meanbounds as mb
        >>> agent = mb.ContextualAgent(mb.GLUE(), {"young": mb.MeanBounds([0.2, 0.2], [0.9, 0.9])}, seed=7)
        >>> mb.ContextualAgent.from_dict(agent.to_dict()).pull("young") == agent.pull("young")
        True
        """
        saved = Entries(data, "contextual agent")
        if data.get("format") == 1 and data.get("agents"):
            return cls._from_version_0_1(saved)
        if data.get("format") != _FORMAT:
            raise ValueError(f"this is no contextual agent in format 1 or {_FORMAT}: it has {sorted(map(str, data))}")
        saved.need(_SAVED)
        contexts = [check_context(as_tuples(context)) for context in saved.sequence("contexts")]
        size, rows = saved.whole("next_row", high=_MOST), saved.wholes("rows", len(contexts)).tolist()
        if len(set(contexts)) < len(contexts) or rows != sorted(set(rows)) or (rows and rows[-1] >= size):
            raise saved.fail("contexts must differ, and rows must rise and be below next_row")
        like = MeanBounds.vacuous(saved.sequence("arms"), low=saved.sequence("low"), high=saved.sequence("high"))
        lower, upper = np.zeros((size, len(like))), np.zeros((size, len(like)))
        for column, name in ((lower, "lower"), (upper, "upper")):
            column[rows] = saved.numbers(name, (len(rows), len(like)))
        check_columns(like, lower[rows], upper[rows])
        policy = Policy.from_saved(saved.mapping("policy"))
        agent = cls.__new__(cls)
        agent._begin(policy, Columns(like, lower, upper), [], saved["seed"], saved["unknown"], saved["floor"])
        agent._rows = dict(zip(contexts, rows, strict=True))
        if "priors" in saved:
            agent._columns.recall_priors(rows, saved)
            agent._check_policy()
        agent._withdrawn = {like.arms[like.position(arm)] for arm in saved.sequence("withdrawn")}
        names = {str(row): context for context, row in agent._rows.items()}
        for name in ("told", "agents"):
            for row in saved.mapping(name).keys() - names.keys():
                raise saved.fail(f"{name} has an entry for row {row!r}, which no context has")
        for row, told in saved.mapping("told").items():
            agent._columns.recall(int(row), told)
        for row, own in saved.mapping("agents").items():
            agent._kept[names[row]] = agent._adopted(Agent.from_dict(own), names[row])
        agent._recall(saved)
        return agent

    def _recall(self, saved: Entries) -> None:
        """Take over the evidence against assumptions as it was saved."""
        told = saved.mapping("assumptions") if "assumptions" in saved else {}
        for name in told.keys() ^ self._ledgers.keys() if told else ():
            raise saved.fail(f"assumption {name!r} is in the evidence or in the knowledge of contexts, but not in both")
        for name, own in told.items():
            self._ledgers[name].recall(own)

    @classmethod
    def _from_version_0_1(cls, saved: Entries) -> Self:
        entries = saved.sequence("agents")
        if not all(isinstance(entry, list | tuple) and len(entry) == 2 for entry in entries):
            raise saved.fail("agents must be a list of pairs, each of a context and its agent")
        agents = {check_context(as_tuples(context)): Agent.from_dict(own) for context, own in entries}
        bounds = {context: agent.knowledge for context, agent in agents.items()}
        whole = cls(Policy.from_saved(saved.mapping("policy")), bounds, seed=saved["seed"], unknown="vacuous")
        for context, agent in agents.items():
            if context in whole._kept:
                whole._kept[context] = whole._adopted(agent, context)
            else:
                whole._awake[context] = whole._adopted(agent, context)
                whole._columns.seed[whole._rows[context]] = agent.seed
        return whole

    def _adopted(self, agent: Agent, key: Context) -> Agent:
        """The same agent under the lock of all, as that of a context."""
        learner = _learner_of(agent)
        learner.watch(*self._watch_of(key))
        self._share(learner, self._rows[key])
        return Agent.around(learner, self._lock)

    def __reduce__(self) -> tuple[Any, ...]:
        with self._lock:
            self._rest_all()
            kept = {context: _learner_of(agent) for context, agent in self._kept.items()}
            state = {name: value for name, value in self.__dict__.items() if name not in ("_lock", "_awake", "_kept")}
            return _made, (type(self), copy.deepcopy(state), copy.deepcopy(kept))

    def __repr__(self) -> str:
        return f"ContextualAgent({self._policy!r}, {len(self._rows)} contexts)"


def _made(kind: type[ContextualAgent], state: dict[str, Any], kept: dict[Context, ArmsLearner]) -> ContextualAgent:
    """The agent of which `ContextualAgent.__reduce__` took the state."""
    agent = kind.__new__(kind)
    lock = threading.RLock()
    agent.__dict__.update(state)
    agent._lock, agent._awake = lock, {}
    before, agent._ledgers = agent._ledgers, {}
    agent._kept = {context: agent._adopted(Agent.around(learner), context) for context, learner in kept.items()}
    for name, ledger in agent._ledgers.items():
        ledger.take(before[name])  # rewards added up in the same order, to the last digit
    return agent


def peek(agent: ContextualAgent, context: Context) -> Agent:
    """The agent of a context, to be looked at now: others may need its place in memory with the next call.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.agents.contextual import peek
    >>> peek(mb.ContextualAgent(mb.GLUE(), {"young": mb.MeanBounds([0.7, 0.2], [0.9, 0.8])}, seed=7), "young").plays
    array([0, 0])
    """
    with agent._lock:
        return agent._find(check_context(context))


def warned_of(context: Context) -> str:
    """The first words of warnings about a context.

    Examples
    --------
    >>> from meanbounds.agents.contextual import warned_of
    >>> warned_of("young")
    "context 'young', "
    """
    return f"context {shown(context)}, "


def row_of(agent: ContextualAgent, context: Context) -> int:
    """The row of a context, which it keeps under every name, and which no other context will have.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.agents.contextual import row_of
    >>> row_of(mb.ContextualAgent(mb.GLUE(), {"young": mb.MeanBounds([0.7, 0.2], [0.9, 0.8])}, seed=7), "young")
    0
    """
    return agent._rows[context]


def rename(agent: ContextualAgent, context: Context, new: Context) -> None:
    """Give a context another name, at its place among the others; its random numbers do not depend on the name.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.agents.contextual import rename
    >>> agent = mb.ContextualAgent(mb.GLUE(), {"young": mb.MeanBounds([0.7, 0.2], [0.9, 0.8])}, seed=7)
    >>> rename(agent, "young", "under 60")
    >>> agent.contexts
    ('under 60',)
    """
    old, key = check_context(context), check_context(new)
    with agent._lock:
        if old not in agent._rows:
            raise LookupError(agent._not_known(old))
        if key in agent._rows and key != old:
            raise ValueError(f"there is a context {shown(key)} already; give a name that no other context has")
        if old in agent._awake:
            agent._rest(old)
        rows = {key if own == old else own: row for own, row in agent._rows.items()}
        kept = {key if own == old else own: one for own, one in agent._kept.items()}
        agent._rows, agent._kept = rows, kept
        if key in kept:
            _learner_of(kept[key]).watch(*agent._watch_of(key))


def _learner_of(agent: Agent) -> ArmsLearner:
    """The learner of a context's agent."""
    if not isinstance(agent.inside, ArmsLearner):
        raise TypeError(f"contexts need a policy on arms, such as mb.GLUE(); got {agent.policy!r}")
    return agent.inside
