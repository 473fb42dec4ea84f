"""The learner for arms without features."""

from __future__ import annotations

import warnings
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from math import inf
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.agents.candidate import Candidate
from meanbounds.agents.learner import (
    Learner,
    NoIndexError,
    Pending,
    Standing,
    check_reward,
    read_counts,
)
from meanbounds.agents.together import Ledger
from meanbounds.agents.watch import carried, found, read_seen, told_seen, watched
from meanbounds.bounds import Arm, MeanBounds
from meanbounds.evidence.contradictions import WATCHED_ERROR, ContradictionWarning
from meanbounds.kernels.arms import agent as kernel
from meanbounds.kernels.arms import deciding, textbook, together
from meanbounds.kernels.arms.delayed import middle_of
from meanbounds.kernels.arms.tables import ADDED, State, complete
from meanbounds.kernels.arms.watch import SEEN
from meanbounds.kernels.tally import PENDING, UPDATES, new_tally
from meanbounds.knowledge import Knowledge
from meanbounds.policies import Plan, Policy
from meanbounds.policies.exploration import TABULATED, log_f_table
from meanbounds.policies.informed import prior_code
from meanbounds.support import clock
from meanbounds.support.checks import as_flag, as_float, as_list
from meanbounds.support.entries import Entries
from meanbounds.support.signals import signals_wait
from meanbounds.support.types import Floats, Integers

__all__ = ["ArmsLearner", "ArmsStanding", "check_statistics", "means_of"]

_REMEMBERED = 1024  # sets of eligible arms whose plan is cached


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmsStanding(Standing):
    """Where a learner for arms without features stands."""

    watched: Floats  # the statistics of the rewards so far, a column for each arm, and the watch over the bounds
    table: Floats  # the statistics alone, in the same memory
    arms: tuple[Arm, ...]
    low: list[float]
    high: list[float]
    place: dict[Arm | Candidate, int]
    settings: Floats  # see meanbounds.kernels.arms.agent
    parameters: Floats  # of the policy, with this knowledge
    pulls: tuple[kernel.Pull, kernel.Pull]  # for bounds that are certain, and for others
    decide: deciding.Decide | None  # for bounds that are certain, if there is a faster way than chances and a pull
    middle: Floats  # of each arm's bounds
    plan: Plan | None  # for all arms on offer; None if all are retired
    plans: dict[tuple[int, ...], Plan]  # for some of them
    still: Knowledge  # what is still known, of all that was known at first
    ages: bool  # whether that changes with rounds or with time
    fresh_for: float  # after so many updates that changes; infinite if it does not
    ends: datetime | None  # when the bounds expire, if on a date
    is_past: bool  # whether that is past
    log_n: Floats  # of each arm's own trust, as it is still
    groups: list[int]  # of each arm in the ledger of the assumption; empty if there is none


class ArmsLearner(Learner):
    """The state of an agent whose policy looks at each arm by itself; `meanbounds.Agent` is the public face.

    Parameters
    ----------
    policy
        How to decide.
    known
        The bounds on the arms.
    seed
        Whole number from which all random numbers follow.
    floor
        The smallest probability with which each arm that can be best is pulled.
    table
        Statistics of the rewards so far, a column for each arm; none by default.
    tally
        The pulls and updates so far, see `meanbounds.kernels.tally`; none by default.
    retired
        The positions of the arms that are retired.
    seen
        After how many updates each lower and each upper bound was seen to be contradicted; 0 if it was not.
    error, where
        The probability with which the learner ever warns although all bounds hold, and the first words of a warning.

    Examples
    --------
    >>> import meanbounds as mb
    >>> learner = ArmsLearner(mb.GLUE(), Knowledge(mb.MeanBounds([0.2, 0.3], [0.9, 0.8])), seed=7)
    >>> learner.update(learner.pull(None, None), 1.0, history=False)
    >>> learner.plays
    array([1, 0])
    """

    def __init__(
        self,
        policy: Policy,
        known: Knowledge,
        seed: int,
        floor: float = 0.0,
        *,
        table: Floats | None = None,
        tally: Integers | None = None,
        retired: frozenset[int] = frozenset(),
        seen: Floats | None = None,
        error: float = WATCHED_ERROR,
        where: str = "",
    ) -> None:
        super().__init__(policy, seed, floor)
        self._error, self._where = error, where
        self._announced = set[tuple[Arm, str, float]]()  # contradicted bounds that a warning has named
        self._policy = policy
        self._log_f = log_f_table(policy.f, 0)
        arms = len(known.bounds)
        table = np.zeros((len(State._fields), arms)) if table is None else table
        tally = new_tally(seed, np.zeros(arms, dtype=np.int64)) if tally is None else tally
        seen = np.zeros((2, arms)) if seen is None else seen
        self._ledger: Ledger | None = None
        self._place = 0.0
        self._now = self._stand(known, retired, table, tally, seen)
        if known.assumption is not None and not (known.is_certain and known.half_life is None):
            self.join(Ledger(known.assumption), 0.0)

    def _stand(
        self, known: Knowledge, retired: frozenset[int], table: Floats, tally: Integers, seen: Floats
    ) -> ArmsStanding:
        """The standing with this knowledge and these rewards; changes nothing."""
        bounds, plans, updates = known.bounds, dict[tuple[int, ...], Plan](), int(tally[UPDATES])
        ends = known.expires if isinstance(known.expires, datetime) else None
        when, changes = None if ends is None else clock.now(), known.changes
        still, passed = known.after(updates, when), bisect_right(changes, updates)
        whole = watched(table, bounds, seen, self._error)
        middle = middle_of(bounds.lower, bounds.upper, bounds.low, bounds.high)
        parameters = self._policy.parameters_for(known)
        code = self._policy.kernel + prior_code(known)
        offered = tuple(k for k in range(len(bounds)) if k not in retired)
        return ArmsStanding(
            known=known,
            retired=retired,
            tally=tally,
            watched=whole,
            table=whole[: len(State._fields)],
            arms=bounds.arms,
            low=bounds.low.tolist(),
            high=bounds.high.tolist(),
            place={arm: k for k, arm in enumerate(bounds.arms)},
            settings=kernel.settings_of(self.floor, parameters, middle),
            parameters=parameters,
            pulls=(kernel.pull_for(code), kernel.pull_for(code + textbook.DOUBTED)),
            decide=None if self.floor else deciding.decide_for(code),
            middle=middle,
            plan=self._plan_for(still, plans, offered) if offered else None,
            plans=plans,
            still=still,
            ages=known.ages,
            fresh_for=changes[passed] if passed < len(changes) else inf,
            ends=ends,
            is_past=ends is not None and when is not None and when >= ends,
            log_n=still.log_n,
            groups=[] if self._ledger is None else self._ledger.groups(known).tolist(),
        )

    def _plan_for(self, known: Knowledge, plans: dict[tuple[int, ...], Plan], positions: tuple[int, ...]) -> Plan:
        """The plan for these arms; pruning, l_max and factors are computed from them alone."""
        plan = plans.get(positions)
        if plan is None:
            whole = len(positions) == len(known.bounds)  # most often, and a subset would be the same
            plan = self._policy.plan(known if whole else known.subset(positions))
            if not whole or plan.is_doubted:  # a doubted plan is written to
                plan = plan.placed(positions)
            if len(plans) >= _REMEMBERED:
                plans.clear()
            plans[positions] = plan
        return plan

    def _offer(self, eligible: Any) -> Plan:
        """The plan for the arms on offer."""
        now = self._now
        if now.tally[UPDATES] >= now.fresh_for or (now.ends is not None and (clock.now() >= now.ends) != now.is_past):
            now = self._now = self._stand(now.known, now.retired, now.table, now.tally, self.seen)
        plan = now.plan if eligible is None else self._plan_for(now.still, now.plans, self._positions(eligible))
        if plan is None:
            raise ValueError("no arm is left on offer: all are retired; add or restore one")
        if self._ledger is not None:
            self._weigh(plan, self._ledger)
        return plan

    def _weigh(self, plan: Plan, ledger: Ledger) -> None:
        """Let the evidence against the assumption count in a plan, before it is used."""
        if plan.is_doubted:
            together.weigh(plan.table, self._now.log_n, ledger.table[0, -1], self._place)

    def adopt(self, known: Knowledge, retired: frozenset[int]) -> None:
        """Use this knowledge, and drop the plans made from the old."""
        now, seen = self._now, carried(self.bounds, known.bounds, self.seen)
        self._change(self._stand(known, retired, now.table, now.tally, seen))

    def _change(self, standing: ArmsStanding) -> None:
        """Stand elsewhere; what rewards say against the assumption depends on the bounds."""
        ledger = self._ledger
        if ledger is None:
            self._now = standing
            return
        with signals_wait():
            ledger.enter(self._now.watched, np.array(self._now.groups), leaves=True)
            ledger.enter(standing.watched, np.array(standing.groups))
            self._now = standing

    @property
    def ledger(self) -> Ledger | None:
        """The evidence against the assumption that the bounds rest on; None if each arm's bounds stand alone."""
        return self._ledger

    def join(self, ledger: Ledger, place: float) -> None:
        """Share this ledger with other agents from now on; `place` is that of `meanbounds.agents.together.place_of`."""
        groups = ledger.groups(self.known)
        with signals_wait():
            self._ledger, self._place = ledger, place
            ledger.enter(self._now.watched, groups)
            self._now = replace(self._now, groups=groups.tolist())

    def leave(self) -> None:
        """Take back what the rewards of this agent say against the assumption, for an agent that is forgotten."""
        ledger = self._ledger
        if ledger is not None:
            with signals_wait():
                ledger.enter(self._now.watched, np.array(self._now.groups), leaves=True)
                self._ledger = None

    @property
    def error(self) -> float:
        """With which probability it raises a false alarm."""
        return self._error

    def watch(self, error: float, where: str | None = None) -> None:
        """Warn of bounds with this probability of a false alarm from now on; with these first words, if they change."""
        self._error, self._where = error, self._where if where is None else where
        whole = watched(self._now.table, self.bounds, self.seen, error)
        self._now = replace(self._now, watched=whole, table=whole[: len(State._fields)])

    @property
    def standing(self) -> ArmsStanding:
        """Where the learner stands."""
        return self._now

    def stand_at(self, standing: ArmsStanding) -> None:
        """Go back to where the learner stood, after changes of its bounds, arms or retired arms."""
        self._now = standing

    @property
    def table(self) -> Floats:
        """Statistics of the rewards so far: a row for each field of `State`, a column for each arm."""
        return self._now.table

    @property
    def policy(self) -> Policy:
        """The policy, which decides."""
        return self._policy

    @property
    def plays(self) -> Integers:
        """How many rewards each arm has had."""
        return State(*self._now.table).plays.astype(np.int64)

    @property
    def means(self) -> Floats:
        """The mean reward of each arm so far; NaN for an arm without rewards."""
        return means_of(State(*self._now.table), self.bounds)

    @property
    def sums(self) -> tuple[Floats, Floats]:
        """For each arm the sum of rewards, and of what each lacks to the highest, in units of the range."""
        state = State(*self._now.table)
        return state.total, state.shortfall

    @property
    def seen(self) -> Floats:
        """After how many updates each lower and each upper bound was seen to be contradicted; 0 if it was not."""
        return self._now.watched[SEEN:].copy()

    def decide(self, eligible: list[Any] | None, pending: Pending | None) -> tuple[Any, float]:
        """Choose an arm as `pull` does; the second entry is the probability that it had."""
        plan = self._offer_quickly(eligible)
        now = self._now
        decide = now.decide
        if decide is None or plan.is_doubted:
            if now.ends is None:
                return super().decide(eligible, pending)
            with clock.at(clock.now().timestamp()):  # one moment for the chances and for the pull
                return super().decide(eligible, pending)
        counts = self._counts_by_default if pending is None else self._counts(pending)
        own, chance = (now.parameters, now.middle, plan.table, now.table, now.tally), np.empty(1)
        k = decide(*own, self._log_f, counts, chance)
        while k < 0:
            self._log_f_at(-k)
            k = decide(*own, self._log_f, counts, chance)
        return now.arms[k], chance.item()

    def _offer_quickly(self, eligible: Any) -> Plan:
        """The same as `_offer`, at once where all arms are on offer and their plan stays."""
        now = self._now
        plan = now.plan
        if eligible is not None or plan is None or self._ledger is not None or now.ages:
            return self._offer(eligible)
        return plan

    def pull(self, eligible: Any, pending: Pending | None) -> Any:
        """Choose an arm."""
        plan = self._offer_quickly(eligible)
        now = self._now
        counts = self._counts_by_default if pending is None else self._counts(pending)
        if self.floor:
            self._share(len(plan))
        pull = now.pulls[plan.is_doubted]
        k = pull(now.settings, plan.table, now.table, now.tally, self._log_f, counts)
        while k < 0:
            self._log_f_at(-k)
            k = pull(now.settings, plan.table, now.table, now.tally, self._log_f, counts)
        return now.arms[k]

    def probabilities(self, eligible: Any, pending: Pending | None) -> Floats:
        """The chance that the next pull takes each arm."""
        plan, now = self._offer(eligible), self._now
        table, t = now.table, self.updates + 1
        if self._counts(pending) and self.unanswered:
            table, t = kernel.supposed(now.table, now.tally, now.middle), t + self.unanswered
        own = np.empty(len(plan))
        textbook.chances(self._policy.code(plan), plan.table, now.parameters, table, self._log_f_at(t), own)
        chances = np.zeros(len(self.bounds))
        chances[plan.arms] = own
        return self._with_floor(chances, plan.arms)

    def update(self, arm: Arm | Candidate, reward: float, history: bool) -> None:
        """Take in a reward."""
        now = self._now
        try:
            k = now.place[arm]
        except (KeyError, TypeError):
            if isinstance(arm, Candidate):
                raise TypeError(f"{self._policy} does not learn from features: it has no candidates") from None
            k = self.bounds.position(arm)  # says which arms there are
        low, high = now.low[k], now.high[k]
        value = reward if type(reward) is float and low <= reward <= high else check_reward(arm, reward, low, high)
        past = history if type(history) is bool else as_flag("history", history)
        span = high - low
        if self._ledger is not None:
            self._update_together(self._ledger, k, (value - low) / span, (high - value) / span, past)
            return
        news = kernel.update(now.watched, now.tally, k, (value - low) / span, (high - value) / span, past)
        if news:
            self._announce(k, (value - low) / span, (high - value) / span, past, news)
            now = self._now  # whoever handles warnings may have changed the bounds
            kernel.update_with_news(now.watched, now.tally, k, (value - low) / span, (high - value) / span, past, news)

    def _update_together(self, ledger: Ledger, k: int, reward: float, shortfall: float, past: bool) -> None:
        """Take in a reward that also speaks for or against the assumption."""
        refuted = ledger.news()  # by earlier rewards: this one is not yet taken in if the warning is made an error
        if refuted is not None:
            warnings.warn(refuted, stacklevel=4)  # whoever calls `Agent.update`
        now = self._now
        told = k, reward, shortfall, past
        news = together.update(now.watched, now.tally, ledger.table, now.groups[k], *told)
        if news:
            self._announce(*told, news)
            now = self._now
            together.update_with_news(now.watched, now.tally, ledger.table, now.groups[k], *told, news)

    def _announce(self, k: int, reward: float, shortfall: float, history: bool, news: int) -> None:
        """Warn of bounds that a reward contradicts, each once, before anything is changed."""
        now, own = self._now, self.bounds.subset([k])
        whole, tally = now.watched[:, [k]], now.tally[[*range(PENDING), PENDING + k]]
        kernel.update_with_news(whole, tally, 0, reward, shortfall, history, news)
        state, errors = State(*whole[: len(State._fields)]), (self._error, self._error)
        rewards = state.plays.astype(np.int64), means_of(state, own)
        for one in found(own, (state.total, state.shortfall), rewards, tally[PENDING:], whole[SEEN:], errors):
            if (one.arm, one.side, one.bound) not in self._announced and one.updates == self.updates + 1:
                self._announced.add((one.arm, one.side, one.bound))
                own_words = ContradictionWarning(self._with_assumption(one), self._where)
                warnings.warn(own_words, stacklevel=4 if self._ledger is None else 5)  # whoever calls `Agent.update`

    def cancel(self, arm: Any) -> None:
        """Give up one pending pull of an arm."""
        if isinstance(arm, Candidate):
            raise TypeError(f"{self._policy} does not learn from features: it has no pending pull of a candidate")
        super().cancel(arm)

    def indices(self) -> Floats:
        """The index of each arm; minus infinity for arms that are pruned or retired."""
        if not self._policy.has_index:
            raise NoIndexError(
                f"{type(self._policy).__name__} has no index: it does not rank arms by a number of their own"
            )
        if self._now.plan is not None:
            self._offer(None)
        now, indices = self._now, np.full(len(self.bounds), -np.inf)
        if now.plan is not None:
            out = np.empty(len(now.plan))
            log_f = self._log_f_at(self.updates + 1)
            code = self._policy.code(now.plan)
            textbook.indices(code, now.plan.table, now.parameters, now.table, log_f, out)
            indices[now.plan.arms] = out
        return indices

    def extend(self, known: Knowledge, features: ArrayLike | None, offset: float) -> None:
        """Adopt knowledge that has one more arm, the last one."""
        if features is not None or as_float("offset", offset):
            raise TypeError(f"{self._policy} does not learn from features; leave them out")
        now = self._now
        table, tally = np.hstack([now.table, np.zeros((len(now.table), 1))]), np.append(now.tally, 0)
        self._change(self._stand(known, now.retired, table, tally, carried(self.bounds, known.bounds, self.seen)))

    def told(self) -> dict[str, Any]:
        """The statistics of the rewards so far, in values that JSON can hold."""
        rows = {name: row.tolist() for name, row in zip(State._fields, self._now.table, strict=True)}
        told = rows | told_seen(self.seen)
        if self._ledger is not None and self._place == 0.0:  # no context: these have a ledger in common
            told["evidence"] = self._ledger.told()
        return told

    @classmethod
    def from_parts(cls, parts: Mapping[str, Any]) -> Self:
        """Make the learner that `parts` described; everything is checked."""
        saved, known = Entries(parts, "agent"), parts["knowledge"]
        counts = read_counts(saved, known.bounds)
        old = not any(name in saved for name in ADDED)
        rows = [name for name in State._fields if not (old and name in ADDED)]
        table = complete(np.array([saved.numbers(name, (len(known.bounds),)) for name in rows]))
        check_statistics(saved, table, counts.updates)
        tally = new_tally(counts.seed, counts.pending, counts.pulls, counts.updates)
        seen = read_seen(saved, len(known.bounds), counts.updates)
        numbers = counts.seed, counts.floor
        learner = cls(parts["policy"], known, *numbers, table=table, tally=tally, retired=counts.retired, seen=seen)
        if learner.ledger is not None and "evidence" in saved:
            learner.ledger.recall(saved["evidence"])
        return learner

    def _positions(self, eligible: Iterable[Arm]) -> tuple[int, ...]:
        positions = {self.bounds.position(arm) for arm in as_list("eligible", eligible)}
        if not positions:
            raise ValueError("eligible is empty: there is no arm to choose from")
        self._check_offered(positions)
        return tuple(sorted(positions))

    def _log_f_at(self, t: int) -> float:
        """Log f(t); the table that has it is kept."""
        place = 1 + t - int(self._log_f[0])
        if not 1 <= place <= TABULATED:
            number, place = t // TABULATED, 1 + t % TABULATED
            self._log_f = log_f_table(self._policy.f, number)
        return float(self._log_f[place])


def means_of(state: State, bounds: MeanBounds) -> Floats:
    """The mean reward of each arm in reward units, measured from the nearer end of its range; NaN without rewards."""
    nearer = np.minimum(state.total, state.shortfall)
    share = np.divide(nearer, state.plays, out=np.full(state.plays.shape, np.nan), where=state.plays > 0)
    inwards = (bounds.high - bounds.low) * share
    means: Floats = np.where(state.total <= state.shortfall, bounds.low + inwards, bounds.high - inwards)
    return means


def check_statistics(saved: Entries, table: Floats, updates: int) -> None:
    """Refuse saved statistics that no rewards in the unit interval can have."""
    state, slack = State(*table), 1e-9 + 1e-15 * updates  # of sums of rounded numbers
    right = (state.plays == np.floor(state.plays)) & (state.ones == np.floor(state.ones))
    right &= (state.ones >= 0.0) & (state.ones <= state.plays) & (state.memory >= 0.0)
    for sums, squares in ((state.total, state.squares), (state.shortfall, state.shortfall_squares)):
        right &= (squares >= 0.0) & (squares <= sums * (1.0 + slack)) & (sums <= state.plays * (1.0 + slack))
    right &= np.abs(state.total + state.shortfall - state.plays) <= slack * state.plays
    for k in np.flatnonzero(~right).tolist():
        raise saved.fail(
            f"no rewards give the statistics {dict(zip(State._fields, table[:, k].tolist(), strict=True))}"
        )
    if state.plays.sum() != updates:
        raise saved.fail(f"the arms have {state.plays.sum():g} rewards, but there were {updates} updates")
