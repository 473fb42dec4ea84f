"""The learner for arms with features."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.agents.candidate import Candidate
from meanbounds.agents.learner import Learner, Pending, check_has, check_reward
from meanbounds.bounds import Arm, BoundsError, MeanBounds
from meanbounds.kernels import linear as kernel
from meanbounds.kernels.linear import Design, Pool, Rule
from meanbounds.knowledge import Knowledge
from meanbounds.linear import LinearArms
from meanbounds.policies import LinearPolicy
from meanbounds.policies.oful import LinearPlan
from meanbounds.subgaussian import variance_proxy_from_bounds
from meanbounds.support.types import Floats, Integers

__all__ = ["FeaturesLearner"]

_REMEMBERED = 1024  # candidates whose bounds are cached
_LEARNED = ("lower", "upper", "proxy")  # columns of the pool that a policy may narrow as it goes
_SAVED = (*Design._fields, *_LEARNED, "plays", "total", "waiting")


class _Offer(NamedTuple):
    """The arms on offer in a round, as the kernel takes them."""

    arms: list[Arm | Candidate]  # in the order given
    places: list[int]  # of the known arms, which come first in the pool
    new: list[Candidate]
    pool: Pool
    order: Integers  # places in the pool
    room: Floats  # for the estimates and widths of the pool's arms


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
        super().__init__(policy, known, seed, floor)
        self._policy = policy
        self._arms = LinearArms(features, self.bounds, offset=offset)
        self._design = kernel.new_design(self._arms.dimension, float(policy.regularisation))
        self._image = np.empty(self._arms.dimension)
        self._seen_plays = np.zeros(len(self.bounds))
        self._seen_total = np.zeros(len(self.bounds))
        self._waiting: Counter[Candidate] = Counter()
        self._warned = False
        self._adopt(policy.plan(self._arms))

    def _adopt(self, plan: LinearPlan) -> None:
        self._plan = plan
        self._pool, self._rule = self._plan.pool, self._plan.rule
        self._room = np.empty((2, len(self.bounds)))
        self._known_bounds: dict[tuple[Any, ...], tuple[float, float]] = {}
        self._offer_all()

    def _offer_all(self) -> None:
        self._all = np.array([k for k in range(len(self.bounds)) if k not in self.retired], dtype=np.int64)

    def take(self, known: Knowledge) -> None:
        """Adopt this knowledge, and plan anew only if it changed: retired arms still inform the estimate."""
        if known is not self.known:
            arms = LinearArms(self._arms.features, known.bounds, offset=self._arms.offset)
            self._adopt(self._policy.plan(arms))
            self._arms, self.known, self.bounds = arms, known, known.bounds
        self._offer_all()

    @property
    def policy(self) -> LinearPolicy:
        """The policy, which decides."""
        return self._policy

    @property
    def plays(self) -> Integers:
        """How many rewards each arm has had, in the order of ``bounds.arms``; candidates are not counted."""
        plays: Integers = self._seen_plays.astype(np.int64)
        return plays

    @property
    def means(self) -> Floats:
        """The mean reward of each arm so far; NaN for an arm without rewards."""
        plays = self._seen_plays
        means: Floats = np.divide(self._seen_total, plays, out=np.full(plays.shape, np.nan), where=plays > 0)
        return means

    @property
    def estimate(self) -> Floats:
        """The parameter as estimated from the rewards so far."""
        return self._design.estimate.copy()

    @property
    def tight_bounds(self) -> MeanBounds:
        """The bounds in use: tightened, and narrowed by the rewards if the policy does that."""
        bounds = self.bounds
        return MeanBounds(self._pool.lower, self._pool.upper, arms=bounds.arms, low=bounds.low, high=bounds.high)

    def _offered(self, eligible: Any) -> _Offer:
        """The arms on offer, known ones first."""
        offered: list[Arm | Candidate]
        offered = [self.bounds.arms[k] for k in self._all] if eligible is None else _distinct(eligible)
        if not offered:
            raise ValueError(
                "no arm is left on offer: all are retired; add or restore one"
                if eligible is None
                else "eligible is empty: there is no arm to choose from"
            )
        new = [arm for arm in offered if isinstance(arm, Candidate)]
        places = [self.bounds.position(arm) for arm in offered if not isinstance(arm, Candidate)]
        self._check_offered(places)
        if not new:
            return _Offer(offered, places, new, self._pool, np.array(places, dtype=np.int64), self._room)
        room = np.empty((2, len(offered)))
        return _Offer(offered, places, new, self._pool_with(places, new), np.arange(len(offered)), room)

    def pull(self, eligible: Any, pending: Pending | None) -> Any:
        """Choose an arm."""
        offer, counted = self._offered(eligible), self._counts(pending)
        k = self._decide(offer, counted)
        if offer.new:
            for name in () if counted else _LEARNED:
                getattr(self._pool, name)[offer.places] = getattr(offer.pool, name)[: len(offer.places)]
            if k >= len(offer.places):
                chosen = offer.new[k - len(offer.places)]
                self._waiting[chosen] += 1
                self.unanswered += 1
                return chosen
            k = offer.places[k]
        self.pending[k] += 1
        self.unanswered += 1
        return self.bounds.arms[k]

    def _decide(self, offer: _Offer, counted: bool) -> int:
        """Choose a position in the offer's pool; with `counted`, pending pulls count and no bounds are learned."""
        pool, rule, design = self._supposed(offer.pool, counted)
        kept = kernel.possible(pool, rule, design, offer.order) if self.floor else offer.order
        k = self._floored(kept) if self.floor else None
        if k is None:
            number, known, room = self.pulls, self._plan.known, offer.room
            k, _, _ = kernel.decide(pool, rule, known, design, offer.order, room[0], room[1], False, number, self._key)
        self.pulls += 1
        if self._design.numbers[kernel.CONTRADICTIONS] and not self._warned:
            self._warned = True
            warnings.warn(
                "bounds and data contradict each other: no parameter satisfies the bounds and lies in the confidence "
                "set. Such rounds are decided without the bounds that are contradicted; check the bounds, norm_high "
                "and the range of the rewards",
                stacklevel=4,  # whoever calls `Agent.pull`
            )
        return int(k)

    def _supposed(self, pool: Pool, counted: bool) -> tuple[Pool, Rule, Design]:
        """The inputs of a decision; with `counted`, copies in which every pending pull has been answered."""
        if not counted:
            return pool, self._rule, self._design
        rule = self._rule._replace(online=False, index_kind=min(self._rule.index_kind, kernel.CLIP))
        return kernel.own_bounds(pool), rule, self._as_if_answered()

    def probabilities(self, eligible: Any, pending: Pending | None) -> Floats:
        """The chance that the next pull takes each arm."""
        offer = self._offered(eligible)
        pool, rule, design = self._supposed(offer.pool, self._counts(pending))
        own = kernel.chances(pool, rule, self._plan.known, design, offer.order)
        if self.floor:
            kept = kernel.possible(pool, rule, design, offer.order)
            own = self._with_floor(own, np.flatnonzero(np.isin(offer.order, kept)))
        if offer.new:  # in the order given, not known arms first
            by_arm = dict(zip([*(self.bounds.arms[k] for k in offer.places), *offer.new], own.tolist(), strict=True))
            return np.array([by_arm[arm] for arm in offer.arms])
        chances = np.zeros(len(self.bounds))
        chances[offer.places] = own
        return chances

    def update(self, arm: Arm | Candidate, reward: float, history: bool) -> None:
        """Take in a reward."""
        if isinstance(arm, Candidate):
            value = check_reward(arm.name, reward, arm.low, arm.high)
            x, offset, proxy = self._features(arm), arm.offset, self._proxy(arm, late=True)
            if self._waiting[arm] and not history:
                self._waiting[arm] -= 1
                self.unanswered -= 1
            self._waiting += Counter()  # drops those that no longer wait
        else:
            k = self.bounds.position(arm)
            value = check_reward(arm, reward, float(self._pool.low[k]), float(self._pool.high[k]))
            x, offset, proxy = self._pool.features[k], float(self._pool.offset[k]), float(self._pool.proxy[k])
            self._seen_plays[k] += 1.0
            self._seen_total[k] += value
            if self.pending[k] and not history:
                self.pending[k] -= 1
                self.unanswered -= 1
        kernel.observe(self._design, self._rule, x, value - offset, proxy, self._image)
        self.updates += 1

    def cancel(self, arm: Any) -> None:
        """Give up one pending pull of this arm."""
        if not isinstance(arm, Candidate):
            super().cancel(arm)
        elif self._waiting[arm]:
            self._waiting[arm] -= 1
            self.unanswered -= 1
        else:
            raise ValueError(f"candidate {arm.name!r} has no pending pull to cancel")

    def indices(self) -> Floats:
        """The index of each arm; minus infinity for arms that are pruned or retired."""
        out = np.full(len(self.bounds), -np.inf)
        if self._all.size:
            out[self._all] = kernel.indices(self._pool, self._rule, self._plan.known, self._design, self._all)
        return out

    def extend(self, known: Knowledge, features: ArrayLike | None, offset: float) -> None:
        """Adopt knowledge that has one more arm, the last one."""
        bounds = known.bounds
        if features is None:
            raise TypeError(f"arm {bounds.arms[-1]!r}: {self._policy} learns from features: give features=")
        rows = np.vstack([self._arms.features, self._features(Candidate(features))])
        arms = LinearArms(rows, bounds, offset=np.append(self._arms.offset, offset))
        plan = self._policy.plan(arms)  # raises if the new bounds contradict the others, before anything is changed
        for k, (lower, upper) in enumerate(zip(self._pool.lower, self._pool.upper, strict=True)):
            kernel.narrow(plan.pool, k, lower, upper)  # keeps the bounds learned on the other arms
        self._arms, self.known, self.bounds = arms, known, bounds
        self._seen_plays, self._seen_total = (np.append(row, 0.0) for row in (self._seen_plays, self._seen_total))
        self.pending.append(0)
        self._adopt(plan)

    def _features(self, candidate: Candidate) -> Floats:
        x = np.array(candidate.features)
        if x.size != self._arms.dimension:
            raise ValueError(
                f"candidate {candidate.name!r} has {x.size} features; this agent's arms have {self._arms.dimension}"
            )
        self._policy.check_scale(float(np.linalg.norm(x)))
        return x

    def _bounds_of(self, candidate: Candidate) -> tuple[float, float]:
        """The bounds on a candidate's mean: its own, combined with those that follow from the other arms' bounds."""
        if not self._rule.prune:  # the policy ignores the bounds
            return candidate.low, candidate.high
        lower = candidate.low if candidate.lower is None else candidate.lower
        upper = candidate.high if candidate.upper is None else candidate.upper
        if self._plan.feasible is None:
            return lower, upper
        key = (candidate.features, candidate.offset)
        if key not in self._known_bounds:
            if len(self._known_bounds) >= _REMEMBERED:
                self._known_bounds.clear()
            self._known_bounds[key] = self._plan.feasible.bound(self._features(candidate), candidate.offset)
        least, most = self._known_bounds[key]
        slack = 1e-9 * (abs(least) + abs(most) + candidate.high - candidate.low)
        if max(lower, least) > min(upper, most) + slack:
            raise BoundsError(
                f"candidate {candidate.name!r}: its mean is in [{lower}, {upper}], but the bounds of the other arms "
                f"put it in [{least:.6g}, {most:.6g}]; at least one of these does not hold, or norm_high is too small"
            )
        lower, upper = max(lower, least), min(upper, most)
        return min(lower, upper), max(lower, upper)

    def _proxy(self, candidate: Candidate, late: bool = False) -> float:
        """Variance proxy of a candidate; with `late`, that of its range if its bounds now contradict the others."""
        try:
            lower, upper = self._bounds_of(candidate)
        except BoundsError:
            if not late:
                raise
            lower, upper = candidate.low, candidate.high
        proxy = variance_proxy_from_bounds(lower, upper, low=candidate.low, high=candidate.high)
        if self._rule.noise == kernel.POOL_MAX and not late and proxy > self._rule.proxy * (1.0 + 1e-12):
            raise ValueError(
                f"candidate {candidate.name!r} has variance proxy {proxy:.4g}, more than any arm that was known in "
                f'advance ({self._rule.proxy:.4g}); noise="pool-max" needs all arms in advance: use another noise'
            )
        return proxy

    def _pool_with(self, places: list[int], new: list[Candidate]) -> Pool:
        """The arms on offer only, known ones first."""
        bounds = np.array([self._bounds_of(arm) for arm in new])
        rows = np.array([self._features(arm) for arm in new])
        ranges = np.array([(arm.offset, arm.low, arm.high) for arm in new])
        proxies = np.array([self._proxy(arm) for arm in new])
        columns = (rows, np.linalg.norm(rows, axis=1), *ranges.T, *bounds.T, proxies, np.full(rows.shape, np.nan))
        return Pool(*(np.concatenate([old[places], column]) for old, column in zip(self._pool, columns, strict=True)))

    def _as_if_answered(self) -> Design:
        """Widths as if every pending pull had been answered; estimate and radius come from the rewards so far."""
        design = Design(*(part.copy() for part in self._design))
        waiting = [(self._pool.features[k], self._pool.proxy[k], n) for k, n in enumerate(self.pending) if n]
        waiting += [(self._features(arm), self._proxy(arm, late=True), n) for arm, n in self._waiting.items()]
        for x, proxy, times in waiting:
            for _ in range(times):
                kernel.observe(design, self._rule, x, float(x @ design.estimate), float(proxy), self._image)
        return design._replace(estimate=self._design.estimate.copy(), numbers=self._design.numbers.copy())

    def told(self) -> dict[str, Any]:
        """The rewards so far, as the kernel keeps them, in values that JSON can hold."""
        learned = {name: getattr(self._pool, name).tolist() for name in _LEARNED}
        return {
            "features": self._arms.features.tolist(),
            "offset": self._arms.offset.tolist(),
            **{name: part.tolist() for name, part in zip(Design._fields, self._design, strict=True)},
            **learned,
            "plays": self._seen_plays.tolist(),
            "total": self._seen_total.tolist(),
            "waiting": [{**arm.to_dict(), "times": times} for arm, times in self._waiting.items() if times],
        }

    @classmethod
    def from_parts(cls, parts: Mapping[str, Any]) -> Self:
        """Make the learner that `parts` described."""
        check_has(parts, ("features", "offset", *_SAVED))
        made = (parts[name] for name in ("policy", "knowledge", "seed", "floor", "features", "offset"))
        learner = cls(*made)
        learner._recall(parts)
        own = {**learner._design._asdict(), **{name: getattr(learner._pool, name) for name in _LEARNED}}
        own |= {"plays": learner._seen_plays, "total": learner._seen_total}
        for name in _SAVED[:-1]:
            stored = np.array(parts[name], dtype=np.float64)
            if stored.shape != own[name].shape:
                raise ValueError(f"the saved agent's {name} has shape {stored.shape}; expected {own[name].shape}")
            own[name][...] = stored
        for entry in parts["waiting"]:
            times = int(entry["times"])
            learner._waiting[Candidate(**{key: value for key, value in entry.items() if key != "times"})] = times
        learner.unanswered += learner._waiting.total()
        learner._offer_all()
        return learner


def _distinct(eligible: Iterable[Arm | Candidate]) -> list[Arm | Candidate]:
    """The arms on offer, each once, in the order given."""
    if isinstance(eligible, str | Candidate):
        raise TypeError(f"eligible is a list of what is on offer; got {eligible!r} alone")
    offered = list(eligible)
    for arm in offered:
        if isinstance(arm, list | tuple | np.ndarray):
            raise TypeError(
                f"{arm!r} is no arm's name; features of a new arm go into mb.Candidate(features, low=, high=)"
            )
    return list(dict.fromkeys(offered))
