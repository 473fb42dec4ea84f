"""The learner for arms with features."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.agents.candidate import Candidate
from meanbounds.agents.learner import (
    Counts,
    Learner,
    NoIndexError,
    Pending,
    Standing,
    check_reward,
    read_counts,
)
from meanbounds.agents.linear_watch import LinearWatch, contradicted, new_watch, read_watch, told_watch, watch_of
from meanbounds.agents.watch import read_seen
from meanbounds.bounds import Arm, BoundsError, MeanBounds
from meanbounds.evidence.contradictions import Contradiction, ContradictionWarning
from meanbounds.evidence.processes import unit_sums
from meanbounds.kernels import linear as kernel
from meanbounds.kernels.linear import Design, Pool, Rule
from meanbounds.kernels.linear import watch as watching
from meanbounds.kernels.linear.design import weight_of
from meanbounds.kernels.tally import PENDING, POLICY_KEY, count_cancel, count_pull, new_tally
from meanbounds.knowledge import Knowledge
from meanbounds.linear import LinearArms
from meanbounds.policies import LinearPolicy
from meanbounds.policies.believed import Believed, believe, root_of
from meanbounds.policies.oful import LinearPlan
from meanbounds.support.checks import as_flag, as_float, as_list, shown
from meanbounds.support.entries import Entries
from meanbounds.support.signals import signals_wait
from meanbounds.support.types import Floats, Integers

__all__ = ["FeaturesLearner", "FeaturesStanding"]

_REMEMBERED = 1024  # candidates whose bounds are cached
_LEARNED = ("lower", "upper", "proxy")  # columns of the pool that a policy may narrow as it goes
_OUTSIDE = 1e-6  # of the norm: how far a saved point may be outside its limits
_AGREES = 1e-3  # of the size of a saved matrix or vector: how far it may be from the same computed anew
_REGRESSION = ("precision", "inverse", "moment", "estimate", "numbers", "root")  # parts of the design as saved


class _Offer(NamedTuple):
    """The arms on offer in a round, as the kernel takes them."""

    arms: list[Arm | Candidate]  # in the order given
    places: list[int]  # of the known arms, which come first in the pool
    new: list[Candidate]
    pool: Pool
    order: Integers  # places in the pool


class View(NamedTuple):
    """How arms are seen: with the bounds, or without those that may be wrong."""

    plan: LinearPlan
    design: Design
    everything: _Offer  # all arms that are not retired
    known_bounds: dict[tuple[Any, ...], tuple[float, float]]  # of candidates
    trusts: bool  # whether what a candidate's own bounds say is believed


@dataclass(frozen=True, slots=True, kw_only=True)
class FeaturesStanding(Standing):
    """Where a learner for arms with features stands."""

    arms: LinearArms
    view: View
    bare: View | None  # without the bounds that may be wrong; None if all are certain
    log_n: float  # the logarithm of N = 1 / (1 - trust)
    results: Floats  # 2 x arms: how many rewards each arm has had, and their sum
    watch: LinearWatch
    waiting: dict[Candidate, int]  # candidates that were pulled, and their places among the pending pulls

    @property
    def plan(self) -> LinearPlan:
        """The plan with the bounds."""
        return self.view.plan

    @property
    def design(self) -> Design:
        """The regression that weighs rewards by what the bounds say of their noise."""
        return self.view.design

    @property
    def everything(self) -> _Offer:
        """All arms that are not retired."""
        return self.view.everything


class FeaturesLearner(Learner):
    """The state of an agent whose policy learns from features; `meanbounds.Agent` is the public face.

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
    features, offset
        A row for each arm, and the known part of each arm's mean.

    Examples
    --------
    >>> import meanbounds as mb
    >>> known = Knowledge(mb.MeanBounds.vacuous(2))
    >>> learner = FeaturesLearner(mb.OFUL(), known, 7, 0.0, [[1.0, 0.0], [0.0, 1.0]], 0.0)
    >>> learner.update(0, 1.0, history=False)
    >>> learner.pull(None, None)
    1
    """

    def __init__(
        self,
        policy: LinearPolicy,
        known: Knowledge,
        seed: int,
        floor: float,
        features: ArrayLike,
        offset: ArrayLike,
    ) -> None:
        super().__init__(policy, seed, floor)
        self._policy = policy
        self._warned = False
        self._announced = set[tuple[Arm, str, float]]()  # contradicted bounds that a warning has named
        arms = LinearArms(features, known.bounds, offset=offset)
        made, count = believe(policy, arms, known), len(known.bounds)
        self._now = FeaturesStanding(
            known=known,
            retired=frozenset(),
            tally=new_tally(seed, np.zeros(count, dtype=np.int64)),
            arms=arms,
            **_views(made, known, frozenset(), None, None),
            results=np.zeros((2, count)),
            watch=new_watch(known.bounds, made.plan, self._error),
            waiting={},
        )

    def adopt(self, known: Knowledge, retired: frozenset[int]) -> None:
        """Use this knowledge, and plan anew only if it changed: retired arms still inform the estimate."""
        now = self._now
        if known is now.known:
            bare = None if now.bare is None else _offering(now.bare, retired, known.bounds)
            self._now = replace(now, retired=retired, view=_offering(now.view, retired, known.bounds), bare=bare)
            return
        arms = LinearArms(now.arms.features, known.bounds, offset=now.arms.offset)
        made = believe(self._policy, arms, known)
        self._now = replace(
            now,
            known=known,
            retired=retired,
            arms=arms,
            **_views(made, known, retired, now.view.design, None if now.bare is None else now.bare.design),
            watch=watch_of(now.watch, now.known.bounds, known.bounds, made.plan, self._error),
        )

    @property
    def standing(self) -> FeaturesStanding:
        """Where the learner stands."""
        return self._now

    @property
    def policy(self) -> LinearPolicy:
        """The policy, which decides."""
        return self._policy

    @property
    def plays(self) -> Integers:
        """How many rewards each arm has had, in the order of ``bounds.arms``; candidates are not counted."""
        plays: Integers = self._now.results[0].astype(np.int64)
        return plays

    @property
    def means(self) -> Floats:
        """The mean reward of each arm so far; NaN for an arm without rewards."""
        plays, total = self._now.results
        means: Floats = np.divide(total, plays, out=np.full(plays.shape, np.nan), where=plays > 0)
        return means

    @property
    def sums(self) -> tuple[Floats, Floats]:
        """For each arm the sum of rewards, and of what each lacks to the highest, in units of the range."""
        (plays, total), low, high = self._now.results, self.bounds.low, self.bounds.high
        return unit_sums(plays, np.clip(total, plays * low, plays * high), low, high)

    @property
    def seen(self) -> Floats:
        """After how many updates each lower and each upper bound was seen to be contradicted; 0 if it was not.

        By the rewards of its own arm; what all rewards together contradict is apart from it.
        """
        return self._now.watch[0][watching.SEEN : watching.SEEN + 2].copy()

    @property
    def log_e(self) -> float:
        """Logarithm of the e-process of all rewards against all bounds together; see docs/linear.md."""
        return float(self._now.watch[1][watching.LOG_E])

    @property
    def doubt(self) -> float:
        """The probability with which the next pull does without the bounds that may be wrong."""
        now = self._now
        return 0.0 if now.bare is None else float(kernel.share_of(now.log_n, self.log_e))

    def contradictions(self, error: float) -> list[Contradiction]:
        """The bounds that the rewards so far contradict."""
        return self._found(self._now, error)

    def _found(self, now: FeaturesStanding, error: float) -> list[Contradiction]:
        """The bounds that are contradicted where the learner stands, or would stand."""
        bounds = now.known.bounds
        pending = now.tally[PENDING : PENDING + len(bounds)]
        found = contradicted(bounds, now.plan, now.results, pending, now.watch, (error, self._error))
        return [self._with_assumption(one) for one in found]

    @property
    def estimate(self) -> Floats:
        """The parameter as estimated from the rewards so far."""
        return self._now.design.estimate.copy()

    @property
    def tight_bounds(self) -> MeanBounds:
        """The bounds in use: tightened, and narrowed by the rewards if the policy does that."""
        bounds, pool = self.bounds, self._now.plan.pool
        return MeanBounds(pool.lower, pool.upper, arms=bounds.arms, low=bounds.low, high=bounds.high)

    def _offered(self, eligible: Any, view: View) -> _Offer:
        """The arms on offer, known ones first."""
        offered = view.everything.arms if eligible is None else _distinct(eligible)
        if not offered:
            raise ValueError(
                "no arm is left on offer: all are retired; add or restore one"
                if eligible is None
                else "eligible is empty: there is no arm to choose from"
            )
        if eligible is None:
            return view.everything
        new = [arm for arm in offered if isinstance(arm, Candidate)]
        places = [self.bounds.position(arm) for arm in offered if not isinstance(arm, Candidate)]
        self._check_offered(places)
        if not new:
            return _Offer(offered, places, new, view.plan.pool, np.array(places, dtype=np.int64))
        return _Offer(offered, places, new, self._pool_with(places, new, view), np.arange(len(offered)))

    def pull(self, eligible: Any, pending: Pending | None) -> Any:
        """Choose an arm."""
        now = self._now
        view = now.view
        if now.bare is not None:
            eligible = None if eligible is None else _distinct(eligible)
            if kernel.doubts(now.log_n, self.log_e, self.pulls, np.uint64(now.tally[POLICY_KEY].view(np.uint64))):
                view = now.bare
        offer, counted = self._offered(eligible, view), self._counts(pending) and self.unanswered > 0
        slots = [*offer.places, *self._slots(offer.new)] if offer.new else None
        now = self._now  # after the slots, which may have made room
        pool, rule, design = self._supposed(offer.pool, counted, view)
        k = -1
        if self.floor:
            kept = self._possible(offer, eligible, (pool, rule, design))
            drawn = kernel.floored(now.tally, self._share(kept.size), kept.size)
            if drawn >= 0:
                k = int(kept[drawn])
                count_pull(now.tally, k if slots is None else slots[k])
        while k < 0:
            warned, known = self._warned, view.plan.known
            if slots is None:
                k = kernel.pull(pool, rule, known, design, offer.order, now.tally, warned)
            else:
                own = kernel.with_own_bounds(view.plan.pool) if counted else view.plan.pool
                places, learned = np.array(slots), (own.lower, own.upper, own.proxy)
                k = kernel.pull_new(pool, rule, known, design, places, now.tally, warned, *learned)
            if k < 0:
                self._warn()
        if slots is None:
            return self.bounds.arms[k]
        return self.bounds.arms[slots[k]] if k < len(offer.places) else offer.new[k - len(offer.places)]

    def _possible(self, offer: _Offer, eligible: Any, inputs: tuple[Pool, Rule, Design]) -> Integers:
        """The places in the offer's pool of the arms that can be best, whichever bounds are wrong."""
        bare = self._now.bare
        if bare is None:
            return kernel.possible(*inputs, offer.order)
        wide = self._offered(eligible, bare)
        return kernel.possible(wide.pool, bare.plan.rule, bare.design, wide.order)

    @property
    def _samples(self) -> bool:
        """Whether the policy draws points, rather than rank arms by an index."""
        return self._now.plan.rule.index_kind == kernel.SAMPLE

    def _warn(self) -> None:
        """Say once that bounds and data contradict each other, before anything is changed."""
        self._warned = True
        warnings.warn(
            "bounds and data contradict each other: no parameter satisfies the bounds and lies in the confidence "
            "set. Such rounds are decided without the bounds that are contradicted; check the bounds, norm_high "
            "and the range of the rewards",
            stacklevel=4,  # whoever calls `Agent.pull`
        )

    def _supposed(self, pool: Pool, counted: bool, view: View) -> tuple[Pool, Rule, Design]:
        """The inputs of a decision; with `counted`, copies in which every pending pull has been answered."""
        rule = view.plan.rule
        if not counted:
            return pool, rule, view.design
        kind = kernel.CLIP if rule.index_kind == kernel.EXACT else rule.index_kind
        return kernel.with_own_bounds(pool), rule._replace(online=False, index_kind=kind), self._as_if_answered(view)

    def _slots(self, candidates: list[Candidate]) -> list[int]:
        """The places of candidates among the pending pulls; new places are made, in which no pull is pending yet."""
        now = self._now
        fresh = [arm for arm in candidates if arm not in now.waiting]
        if len(self.bounds) + len(now.waiting) + len(fresh) > now.tally.size - PENDING:
            now = self._now = self._with_room(len(fresh))
        for arm in fresh:
            now.waiting[arm] = len(self.bounds) + len(now.waiting)
        return [now.waiting[arm] for arm in candidates]

    def _with_room(self, more: int) -> FeaturesStanding:
        """The same standing with room for more candidates; those that no longer wait lose their places."""
        now, arms = self._now, len(self.bounds)
        pending = self._waiting()
        waiting = {arm: arms + place for place, arm in enumerate(pending)}
        tally = np.zeros(PENDING + arms + max(16, 2 * (len(pending) + more)), dtype=np.int64)
        tally[: PENDING + arms] = now.tally[: PENDING + arms]
        tally[PENDING + arms : PENDING + arms + len(pending)] = list(pending.values())
        return replace(now, tally=tally, waiting=waiting)

    def _waiting(self) -> dict[Candidate, int]:
        """The pending pulls of each candidate that has some."""
        now = self._now
        pending = {arm: int(now.tally[PENDING + place]) for arm, place in now.waiting.items()}
        return {arm: times for arm, times in pending.items() if times}

    def probabilities(self, eligible: Any, pending: Pending | None) -> Floats:
        """The chance that the next pull takes each arm."""
        now, doubt = self._now, self.doubt
        eligible = None if eligible is None else _distinct(eligible)
        offer, counted = self._offered(eligible, now.view), self._counts(pending) and self.unanswered > 0
        own = self._chances(offer, counted, now.view)
        if now.bare is not None:
            own = (1.0 - doubt) * own + doubt * self._chances(self._offered(eligible, now.bare), counted, now.bare)
        if self.floor:
            kept = self._possible(offer, eligible, self._supposed(offer.pool, counted, now.view))
            own = self._with_floor(own, np.flatnonzero(np.isin(offer.order, kept)))
        if offer.new:  # in the order given, not known arms first
            by_arm = dict(zip([*(self.bounds.arms[k] for k in offer.places), *offer.new], own.tolist(), strict=True))
            return np.array([by_arm[arm] for arm in offer.arms])
        chances = np.zeros(len(self.bounds))
        chances[offer.places] = own
        return chances

    def _chances(self, offer: _Offer, counted: bool, view: View) -> Floats:
        """The chance of each arm on offer, known ones first, if the arms are seen like this."""
        number, key = self.pulls, np.uint64(self._now.tally[POLICY_KEY].view(np.uint64))
        pool, rule, design = self._supposed(offer.pool, counted, view)
        return kernel.chances(pool, rule, view.plan.known, design, offer.order, number, key)

    def update(self, arm: Arm | Candidate, reward: float, history: bool) -> None:
        """Take in a reward."""
        past = history if type(history) is bool else as_flag("history", history)
        k, value = self._checked(arm, reward)
        if self._take(self._now, arm, k, value, past, warned=False):
            self._announce(arm, k, value, past)
            self._take(self._now, arm, k, value, past, warned=True)  # whoever handles warnings may have changed bounds

    def _checked(self, arm: Arm | Candidate, reward: float) -> tuple[int, float]:
        """The place of an arm, -1 for a candidate, and its reward, once both are checked."""
        if isinstance(arm, Candidate):
            self._features(arm)
            return -1, check_reward(arm.name, reward, arm.low, arm.high)
        k, pool = self.bounds.position(arm), self._now.view.plan.pool
        return k, check_reward(arm, reward, float(pool.low[k]), float(pool.high[k]))

    def _regressor(self, arm: Arm | Candidate, k: int, view: View) -> tuple[Floats, float, float]:
        """Features, offset and variance proxy of an arm, if the arms are seen like this."""
        if isinstance(arm, Candidate):
            return self._features(arm), arm.offset, self._proxy(arm, view, late=True)
        pool = view.plan.pool
        return pool.features[k], float(pool.offset[k]), float(pool.proxy[k])

    def weight(self, arm: Arm | Candidate, reward: float) -> float:
        """How much this reward of an arm would count in the estimate now."""
        view = self._now.view
        return self._weight(arm, self._checked(arm, reward)[0], view)

    def _weight(self, arm: Arm | Candidate, k: int, view: View) -> float:
        *_, proxy = self._regressor(arm, k, view)
        return float(weight_of(view.plan.rule, proxy))

    def exchange(self, arm: Arm | Candidate, old: float, new: float, weight: float) -> None:
        """Have had another reward than the one that was told, which counted with this weight.

        The estimate becomes that of the new reward. What was decided in between stays, and bounds that were learned,
        and bets against the bounds.
        """
        k, value = self._checked(arm, new)
        now, change = self._now, value - old
        with signals_wait():
            if k >= 0:
                now.results[1, k] += change
            self._exchange(now.view, arm, k, change, weight)
            if now.bare is not None:
                self._exchange(now.bare, arm, k, change, self._weight(arm, k, now.bare))

    def _exchange(self, view: View, arm: Arm | Candidate, k: int, change: float, weight: float) -> None:
        """Let a regression have had a reward that was larger by a change."""
        x, *_ = self._regressor(arm, k, view)
        design, d = view.design, x.size
        if k >= 0:
            design.seen[1, k] += weight * change
        else:  # R'z is the sum of weight x (reward - offset) x features
            design.root[:, d] += np.linalg.solve(design.root[:, :d].T, weight * change * x)
        kernel.refresh(design, view.plan.rule.regularisation)

    def _take(
        self, now: FeaturesStanding, arm: Arm | Candidate, k: int, value: float, past: bool, *, warned: bool
    ) -> int:
        """Take in a reward, unless it makes bounds contradicted that nobody was warned of: then the result is not 0."""
        view, bare = now.view, now.bare
        slot = now.waiting.get(arm, -1) if isinstance(arm, Candidate) else k
        x, offset, proxy = self._regressor(arm, k, view)
        design, rule, watch, tally, results = view.design, view.plan.rule, now.watch, now.tally, now.results
        if bare is None:
            return watching.update(design, rule, k, x, value, offset, proxy, results, *watch, tally, slot, past, warned)
        *_, wide = self._regressor(arm, k, bare)
        return watching.update_doubted(
            design,
            rule,
            bare.design,
            bare.plan.rule,
            k,
            x,
            value,
            offset,
            proxy,
            wide,
            results,
            *watch,
            tally,
            slot,
            past,
            warned,
        )

    def _announce(self, arm: Arm | Candidate, k: int, value: float, past: bool) -> None:
        """Warn of bounds that a reward contradicts, each once, before anything is changed."""
        after = _copied(self._now)
        self._take(after, arm, k, value, past, warned=True)
        for one in self._found(after, self._error):
            if (one.arm, one.side, one.bound) not in self._announced and one.updates == self.updates + 1:
                self._announced.add((one.arm, one.side, one.bound))
                warnings.warn(ContradictionWarning(one), stacklevel=4)  # whoever calls `Agent.update`

    def cancel(self, arm: Any) -> None:
        """Give up one pending pull of this arm."""
        if not isinstance(arm, Candidate):
            super().cancel(arm)
        elif not count_cancel(self._now.tally, self._now.waiting.get(arm, -1)):
            raise ValueError(f"candidate {arm.name!r} has no pending pull to cancel")

    def indices(self) -> Floats:
        """The index of each arm; minus infinity for arms that are pruned or retired."""
        now, out = self._now, np.full(len(self.bounds), -np.inf)
        view = now.view if now.bare is None or self.doubt < 0.5 else now.bare
        if self._samples:
            raise NoIndexError(f"{self._policy} has no index: it plays the arm that is best at a point drawn at random")
        offered, plan = view.everything.order, view.plan
        if offered.size:
            out[offered] = kernel.indices(plan.pool, plan.rule, plan.known, view.design, offered)
        return out

    def extend(self, known: Knowledge, features: ArrayLike | None, offset: float) -> None:
        """Adopt knowledge that has one more arm, the last one."""
        bounds, now = known.bounds, self._now
        if features is None:
            raise TypeError(f"arm {bounds.arms[-1]!r}: {self._policy} learns from features: give features=")
        rows = np.vstack([now.arms.features, self._features(Candidate(features))])
        arms = LinearArms(rows, bounds, offset=np.append(now.arms.offset, as_float("offset", offset)))
        made, count = believe(self._policy, arms, known), len(self.bounds)
        olds = now.view, now.bare
        for plan, old in zip((made.plan, made.bare), olds, strict=True):
            if plan is not None and old is not None and not self._samples:  # which learns no bounds
                for k, (lower, upper) in enumerate(zip(old.plan.pool.lower, old.plan.pool.upper, strict=True)):
                    kernel.narrow(plan.pool, k, lower, upper)  # keeps the bounds learned on the other arms
        designs = [
            None if old is None else old.design._replace(features=rows, seen=_with_column(old.design.seen))
            for old in olds
        ]
        self._now = replace(
            now,
            known=known,
            tally=np.insert(now.tally, PENDING + count, 0),
            arms=arms,
            **_views(made, known, now.retired, *designs),
            results=_with_column(now.results),
            watch=watch_of(now.watch, self.bounds, bounds, made.plan, self._error),
            waiting={arm: place + 1 for arm, place in now.waiting.items()},
        )

    def _features(self, candidate: Candidate) -> Floats:
        x = np.array(candidate.features)
        if x.size != self._now.arms.dimension:
            raise ValueError(
                f"candidate {candidate.name!r} has {x.size} features; this agent's arms have {self._now.arms.dimension}"
            )
        self._policy.check_scale(math.hypot(*x))
        return x

    def _bounds_of(self, candidate: Candidate, view: View | None = None) -> tuple[float, float]:
        """The bounds on a candidate's mean: its own, combined with those that follow from the other arms' bounds."""
        view = self._now.view if view is None else view
        if not view.plan.rule.prune:  # the policy ignores the bounds
            return candidate.low, candidate.high
        lower = candidate.low if candidate.lower is None or not view.trusts else candidate.lower
        upper = candidate.high if candidate.upper is None or not view.trusts else candidate.upper
        if view.plan.feasible is None:
            return lower, upper
        key = (candidate.features, candidate.offset)
        if key not in view.known_bounds:
            if len(view.known_bounds) >= _REMEMBERED:
                view.known_bounds.clear()
            view.known_bounds[key] = view.plan.feasible.bound(self._features(candidate), candidate.offset)
        least, most = view.known_bounds[key]
        slack = 1e-9 * (abs(least) + abs(most) + candidate.high - candidate.low)
        if max(lower, least) > min(upper, most) + slack:
            raise BoundsError(
                f"candidate {candidate.name!r}: its mean is in [{lower}, {upper}], but the bounds of the other arms "
                f"put it in [{least:.6g}, {most:.6g}]; at least one of these does not hold, or norm_high is too small"
            )
        lower, upper = max(lower, least), min(upper, most)
        return min(lower, upper), max(lower, upper)

    def _proxy(self, candidate: Candidate, view: View | None = None, late: bool = False) -> float:
        """Variance proxy of a candidate; with `late`, that of its range if its bounds now contradict the others."""
        view = self._now.view if view is None else view
        try:
            lower, upper = self._bounds_of(candidate, view)
        except BoundsError:
            if not late:
                raise
            lower, upper = candidate.low, candidate.high
        proxy = float(self._policy.noise_of(lower, upper, candidate.low, candidate.high)[0])
        rule = view.plan.rule
        if rule.noise == kernel.POOL_MAX and not late and proxy > rule.proxy * (1.0 + 1e-12):
            raise ValueError(
                f"candidate {candidate.name!r} has variance proxy {proxy:.4g}, more than any arm that was known in "
                f'advance ({rule.proxy:.4g}); noise="pool-max" needs all arms in advance: use another noise'
            )
        return proxy

    def _pool_with(self, places: list[int], new: list[Candidate], view: View) -> Pool:
        """The arms on offer only, known ones first."""
        for arm in new if not view.trusts else ():
            self._bounds_of(arm, self._now.view)  # refuses it whichever way the arms are seen in this round
        bounds = np.array([self._bounds_of(arm, view) for arm in new])
        rows = np.array([self._features(arm) for arm in new])
        ranges = np.array([(arm.offset, arm.low, arm.high) for arm in new])
        proxies = np.array([self._proxy(arm, view) for arm in new])
        pool = view.plan.pool
        unknown = (np.full((len(new), old.shape[1]), np.nan) for old in (pool.peaks, pool.proofs))
        columns = (rows, np.linalg.norm(rows, axis=1), *ranges.T, *bounds.T, proxies, *unknown)
        return Pool(*(np.concatenate([old[places], column]) for old, column in zip(pool, columns, strict=True)))

    def _as_if_answered(self, view: View) -> Design:
        """Widths as if every pending pull had been answered; estimate and radius come from the rewards so far."""
        pool, old = view.plan.pool, view.design
        design = old._replace(precision=old.precision.copy(), inverse=old.inverse.copy(), numbers=old.numbers.copy())
        waiting = [(pool.features[k], pool.proxy[k], n) for k, n in enumerate(self.pending.tolist()) if n]
        waiting += [(self._features(arm), self._proxy(arm, view, late=True), n) for arm, n in self._waiting().items()]
        for x, proxy, times in waiting:
            kernel.suppose(design, view.plan.rule, x, times, float(proxy), np.empty(x.size))
        return design._replace(moment=design.precision @ design.estimate)

    def told(self) -> dict[str, Any]:
        """The rewards so far, as the kernel keeps them, in values that JSON can hold."""
        now = self._now
        plays, total = now.results.tolist()
        return {
            "features": now.arms.features.tolist(),
            "offset": now.arms.offset.tolist(),
            **told_view(now.view),
            **({} if now.bare is None else {"bare": told_view(now.bare)}),
            "plays": plays,
            "total": total,
            **told_watch(now.watch),
            "waiting": [{**arm.to_dict(), "times": times} for arm, times in self._waiting().items()],
        }

    @classmethod
    def from_parts(cls, parts: Mapping[str, Any]) -> Self:
        """Make the learner that `parts` described; everything is checked."""
        saved, known, policy = Entries(parts, "agent"), parts["knowledge"], parts["policy"]
        counts, arms = read_counts(saved, known.bounds), len(known.bounds)
        d = len(saved.sequence("moment"))
        features, offset = saved.numbers("features", (arms, d)), saved.numbers("offset", (arms,))
        learner = cls(policy, known, counts.seed, counts.floor, features, offset)
        now, updates = learner._now, counts.updates
        view = read_view(saved, now.view, updates)
        bare = None if now.bare is None else read_view(Entries(saved["bare"], "agent"), now.bare, updates)
        waiting = read_waiting(saved, counts)
        tally = new_tally(counts.seed, np.array([*counts.pending, *waiting.values()]), counts.pulls, counts.updates)
        learner._now = replace(
            now,
            retired=counts.retired,
            tally=tally,
            view=_offering(view, counts.retired, known.bounds),
            bare=None if bare is None else _offering(bare, counts.retired, known.bounds),
            results=read_results(saved, known.bounds, updates),
            watch=read_watch(saved, parts, now.watch, read_seen(saved, arms, updates), updates),
            waiting={arm: arms + place for place, arm in enumerate(waiting)},
        )
        return learner


def told_view(view: View) -> dict[str, Any]:
    """The regression and the bounds learned, in values that JSON can hold."""
    weights, given = view.design.seen.tolist()
    samples = view.plan.rule.index_kind == kernel.SAMPLE
    return {
        **{name: getattr(view.design, name).tolist() for name in _REGRESSION},
        **({"point": view.design.point.tolist()} if samples else {}),
        **{name: getattr(view.plan.pool, name).tolist() for name in _LEARNED},
        "weights": weights,
        "given": given,
    }


def read_view(saved: Entries, fresh: View, updates: int) -> View:
    """Check what `told_view` told; the plan is that of a fresh learner."""
    pool, design = fresh.plan.pool, read_design(saved, fresh.plan, updates)
    for name in _LEARNED:
        getattr(pool, name)[:] = read_learned(saved, pool, name)
    if (pool.lower > pool.upper).any():
        raise saved.fail("a lower bound is above the upper bound of the same arm")
    return fresh._replace(design=design)


def _views(
    made: Believed, known: Knowledge, retired: frozenset[int], design: Design | None, wide: Design | None
) -> dict[str, Any]:
    """Both ways to see the arms, as entries of a standing; without a regression they start from the prior."""
    views = [
        None if plan is None else _view(plan, known, retired, old, trusts)
        for plan, old, trusts in ((made.plan, design, True), (made.bare, wide, False))
    ]
    return {"view": views[0], "bare": views[1], "log_n": made.log_n}


def _view(plan: LinearPlan, known: Knowledge, retired: frozenset[int], old: Design | None, trusts: bool) -> View:
    """One way to see the arms; a chain starts anew at the centre of what is known."""
    design = _fresh_design(plan, known) if old is None else old._replace(point=plan.known.centre.copy())
    return View(plan, design, _everything(known.bounds, plan.pool, retired), {}, trusts)


def _offering(view: View, retired: frozenset[int], bounds: MeanBounds) -> View:
    """The same with other arms retired."""
    return view._replace(everything=_everything(bounds, view.plan.pool, retired))


def _copied(now: FeaturesStanding) -> FeaturesStanding:
    """The same standing, in which a reward can be taken in without a trace."""
    view, bare = (
        None if one is None else one._replace(design=Design(*(part.copy() for part in one.design)))
        for one in (now.view, now.bare)
    )
    watch, joint = now.watch
    return replace(
        now,
        view=now.view if view is None else view,
        bare=bare,
        results=now.results.copy(),
        watch=(watch.copy(), joint.copy()),
        tally=now.tally.copy(),
    )


def read_design(saved: Entries, plan: LinearPlan, updates: int) -> Design:
    """Check the regression of a saved learner: its parts must agree with each other."""
    rule, (arms, d) = plan.rule, plan.pool.features.shape
    shapes = {"precision": (d, d), "inverse": (d, d), "moment": (d,), "estimate": (d,), "numbers": (4,)}
    made = {name: saved.numbers(name, shape) for name, shape in shapes.items()}
    if "root" in saved:
        root, seen = (
            saved.numbers("root", (d, d + 1)),
            np.array([saved.numbers(n, (arms,)) for n in ("weights", "given")]),
        )
    else:  # before version 0.3, which has all in the matrix and the moment
        root, seen = _root_of(saved, made["precision"], made["moment"], rule.regularisation), np.zeros((2, arms))
    square = root[:, :d]
    if np.tril(square, -1).any() or not (np.diag(square) > 0.0).all() or (seen[0] < 0.0).any():
        raise saved.fail("root must be a triangle with a positive diagonal, and weights must not be negative")
    design = Design(**made, features=plan.pool.features, seen=seen, root=root, point=read_point(saved, plan))
    numbers = design.numbers
    if numbers[kernel.UPDATES] != updates or (numbers < 0.0).any():
        raise saved.fail(f"numbers {numbers.tolist()} do not agree with {updates} updates")
    fresh = Design(*(part.copy() for part in design))
    kernel.refresh(fresh, rule.regularisation)
    for name in ("precision", "inverse", "moment", "estimate", "numbers"):
        own, right = getattr(design, name), getattr(fresh, name)
        if not np.abs(own - right).max() <= _AGREES * (1.0 + np.abs(right).max()):
            raise saved.fail(f"{name} does not agree with the rewards that root, weights and given add up")
    return design


def read_point(saved: Entries, plan: LinearPlan) -> Floats:
    """Check where the chain of a sampling policy is: it must satisfy all that is known of the parameter."""
    known = plan.known
    if plan.rule.index_kind != kernel.SAMPLE:
        return known.centre.copy()
    point = saved.numbers("point", known.centre.shape)
    values = point @ known.rows
    if not (
        (np.abs(point) <= 2.0).all()  # else the norm may overflow
        and np.linalg.norm(point) <= 1.0 + _OUTSIDE
        and (values >= known.lower - _OUTSIDE).all()
        and (values <= known.upper + _OUTSIDE).all()
    ):
        raise saved.fail(f"point {point.tolist()} does not satisfy the bounds of the arms")
    return point


def _fresh_design(plan: LinearPlan, known: Knowledge) -> Design:
    """The regression before the first reward; a chain starts at the centre of what is known."""
    design = kernel.fresh_design(plan.pool.features, plan.rule.regularisation)
    if known.prior is not None:
        design = design._replace(root=root_of(plan, known))
        kernel.refresh(design, plan.rule.regularisation)
    return design._replace(point=plan.known.centre.copy())


def _root_of(saved: Entries, precision: Floats, moment: Floats, regularisation: float) -> Floats:
    """R and z with R'R = V, R'z = moment; V is at least regularisation x I but for its rounding errors."""
    if not np.allclose(precision, precision.T):
        raise saved.fail("precision must be symmetric")
    values, vectors = np.linalg.eigh(precision)
    values = np.maximum(values, regularisation)
    triangle: Floats = np.linalg.qr(np.sqrt(values)[:, None] * vectors.T).R
    triangle *= np.where(np.diag(triangle) < 0.0, -1.0, 1.0)[:, None]
    return np.column_stack([np.triu(triangle), np.linalg.solve(triangle.T, moment)])


def read_learned(saved: Entries, pool: Pool, name: str) -> Floats:
    """Check bounds or variance proxies that were narrowed by rewards: no wider than without rewards."""
    values, own = saved.numbers(name, pool.lower.shape), getattr(pool, name)
    slack = 1e-6 * (pool.high - pool.low)
    least = np.zeros_like(own) if name == "proxy" else pool.lower - slack
    most = (pool.high - pool.low) ** 2 / 4.0 * (1.0 + 1e-9) if name == "proxy" else pool.upper + slack
    if not ((values >= least) & (values <= most)).all():
        raise saved.fail(f"{name} is wider than the bounds of the arms allow: {values.tolist()}")
    return values


def read_results(saved: Entries, bounds: MeanBounds, updates: int) -> Floats:
    """Check how many rewards each arm has had, and their sum."""
    arms = len(bounds)
    plays, total = saved.wholes("plays", arms).astype(np.float64), saved.numbers("total", (arms,))
    slack = 1e-9 * plays * (np.abs(bounds.low) + np.abs(bounds.high))
    if not ((plays * bounds.low - slack <= total) & (total <= plays * bounds.high + slack)).all():
        raise saved.fail(f"no rewards in the ranges of the arms add up to total {total.tolist()}")
    if plays.sum() > updates:
        raise saved.fail(f"the arms have {plays.sum():g} rewards, but there were {updates} updates")
    return np.array([plays, total])


def read_waiting(saved: Entries, counts: Counts) -> dict[Candidate, int]:
    """Check the pending pulls of candidates."""
    waiting = dict[Candidate, int]()
    for entry in saved.sequence("waiting"):
        given = Entries(entry, "candidate")
        names = set(entry) - {"times"}
        if names != set(Candidate.__dataclass_fields__):
            raise saved.fail(
                f"a candidate has {', '.join(Candidate.__dataclass_fields__)}; got {sorted(map(str, names))}"
            )
        waiting[Candidate(**{name: entry[name] for name in names})] = given.whole("times", low=1)
    if counts.pending.sum() + sum(waiting.values()) > counts.pulls:
        raise saved.fail(f"more pulls are pending than the {counts.pulls} that there were")
    return waiting


def _everything(bounds: MeanBounds, pool: Pool, retired: frozenset[int]) -> _Offer:
    """The offer of all arms that are not retired."""
    places = [k for k in range(len(bounds)) if k not in retired]
    return _Offer([bounds.arms[k] for k in places], places, [], pool, np.array(places, dtype=np.int64))


def _with_column(table: Floats) -> Floats:
    """The table with one more column, of zeros."""
    return np.hstack([table, np.zeros((len(table), 1))])


def _distinct(eligible: Iterable[Arm | Candidate]) -> list[Arm | Candidate]:
    """The arms on offer, each once, in the order given."""
    offered = as_list("eligible", eligible)
    for arm in offered:
        if not isinstance(arm, str | int | np.integer | Candidate):
            raise TypeError(
                f"{shown(arm)} is no arm's name; features of a new arm go into mb.Candidate(features, low=, high=)"
            )
    return list(dict.fromkeys(offered))
