"""Slow, readable twins of every policy with bounds that may be wrong: the definitions of docs/trust.md, round by round.

They share nothing with the kernels but what the twins in `tests.naive` do.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import lru_cache, partial

import numpy as np

import meanbounds as mb
from meanbounds.kernels.arms.thompson import truncated_beta
from meanbounds.kernels.random.stream import uniform
from tests import naive
from tests.naive import INFINITY, UNDECIDED, Posterior, Round

Trust = tuple[float, ...]
Index = Callable[[Round, int], float]

NODES, WEIGHTS = (np.array(part) for part in np.polynomial.legendre.leggauss(24))
PLACES = 1 + 2 * np.arange(16)[:, None] + NODES  # of 16 panels, from the start, in halves of a panel


def ranges_for(r: Round, some: list[bool]) -> Round:
    """The same round with the bounds of some arms replaced by the range of their rewards."""
    return r._replace(bounds=_bounds_for(r.bounds, tuple(some)))


@lru_cache(maxsize=100)  # the same in every round
def _bounds_for(b: mb.MeanBounds, some: tuple[bool, ...]) -> mb.MeanBounds:
    lower, upper = np.where(some, b.low, b.lower), np.where(some, b.high, b.upper)
    return mb.MeanBounds(lower, upper, arms=b.arms, low=b.low, high=b.high)


class Doubt:
    """A round with the bounds and without them, and what each arm's bounds cost to leave: log N."""

    def __init__(self, r: Round, trust: Trust) -> None:
        self.told = ranges_for(r, [p == 0 for p in trust])
        self.bare = ranges_for(r, [p < 1 for p in trust])
        self.arms = self.bare.possible
        self.kept = [k for k in self.told.possible if k in self.arms]
        self.log_n = {k: INFINITY if trust[k] == 1 else -math.log1p(-trust[k]) for k in self.arms}
        self.trust = trust

    def lower(self, k: int) -> float:
        return float(self.told.bounds.lower[k])

    def cap(self, k: int) -> float:
        return self.told.cap[k] if k in self.kept else float(self.told.bounds.upper[k])

    def evidence(self, k: int) -> float:
        r = self.told
        if not r.plays[k]:
            return 0.0
        mean = r.mean(k)
        bound = min(self.cap(k), max(self.lower(k), mean))
        if bound == mean:
            return 0.0
        share, lack = r.total[k] / r.plays[k], r.lack[k] / r.plays[k]
        return r.plays[k] * naive.kl_between(share, lack, r.unit(k, bound), r.unit_lack(k, bound))

    def contradicted(self, k: int) -> bool:
        evidence, most = self.evidence(k), self.log_n[k]
        if abs(evidence - most) < 1e-9 * (1 + most) and most < INFINITY:
            self.told.memory[UNDECIDED] = 1.0
        return most < INFINITY and evidence >= most

    def estimate(self, k: int) -> float:
        r = self.told
        return r.mean(k) if r.plays[k] and self.contradicted(k) else r.clipped(k, self.lower(k), self.cap(k))

    def fine(self, k: int) -> float:
        return max(0.0, self.log_n[k] - self.evidence(k)) if self.log_n[k] < INFINITY else INFINITY

    def reaches(self, k: int, goal: float) -> bool:
        return self.cap(k) >= goal if k in self.kept else self.cap(k) > goal

    def settled(self, moments: int) -> int | None:
        caps = {}
        least = min(self.log_n.values())
        for k in self.arms:
            caps[k] = self.cap(k) if k in self.kept else -INFINITY
            for level, most in ((self.log_n[k], INFINITY), (least, self.cap(k))):
                if self.bare.log_f > level:
                    lowered = self.bare._replace(log_f=self.bare.log_f - level)
                    index = naive._divergence(lowered, k, self.bare.cap[k], naive.kl_upper)
                    caps[k] = max(caps[k], min(most, index))
        means = {k: self.estimate(k) for k in self.arms}
        nearest(self.told, list(caps.values()))
        return naive.settled_among(self.bare, moments, caps, means)


def nearest(r: Round, values: list[float]) -> None:
    """Give up where two values differ by rounding errors alone."""
    found = sorted(value for value in values if math.isfinite(value))
    if any(0 < b - a < 1e-11 * (1 + abs(b)) for a, b in itertools.pairwise(found)):
        r.memory[UNDECIDED] = 1.0


def nearest_costs(r: Round, costs: dict[int, float]) -> None:
    """The same for arms: equal costs of arms that saw different things are equal by luck, and rounded elsewhere."""
    nearest(r, list(costs.values()))
    for one, other in itertools.combinations(costs, 2):
        alike = all(column[one] == column[other] for column in (r.plays, r.total, r.bounds.lower, r.cap))
        if costs[one] == costs[other] and math.isfinite(costs[one]) and not alike:
            r.memory[UNDECIDED] = 1.0


def plain_unless_doubted(r: Round, trust: Trust, plain: Callable[[Round], int], doubted: Callable[[Doubt], int]) -> int:
    """Where the policy sees the same with the bounds and without, there is nothing to doubt."""
    d = Doubt(r, trust)
    if not any(0 < p < 1 for p in trust):
        return plain(d.told)
    one, other = d.told, d.bare
    same = one.possible == other.possible and all(
        one.bounds.lower[k] == other.bounds.lower[k] and one.cap[k] == other.cap[k] for k in one.possible
    )
    return plain(d.told) if same else doubted(d)


def by_index(d: Doubt, index: Index) -> int:
    scores, means = {}, {}
    least = min(d.log_n.values())
    for k in d.arms:
        scores[k], means[k] = -INFINITY, -INFINITY
        if k in d.kept:
            scores[k], means[k] = index(d.told, k), d.told.clipped(k, d.lower(k), d.cap(k))
        for level, most in ((d.log_n[k], INFINITY), (least, d.cap(k))):
            if d.bare.log_f > level:
                freed = min(most, index(d.bare._replace(log_f=d.bare.log_f - level), k))
                if freed > scores[k]:
                    scores[k] = freed
                    means[k] = d.bare.clipped(k, float(d.bare.bounds.lower[k]), d.bare.cap[k])
    nearest(d.told, list(scores.values()))
    best = max(scores.values())
    return d.told.largest({k: means[k] for k in d.arms if scores[k] == best})


def bimed(d: Doubt, moments: int = 1, settle: bool = True) -> int:
    first = d.settled(moments) if settle else None
    if first is not None:
        return first
    r, leader, costs = d.told, max(d.estimate(k) for k in d.arms), {}
    for k in d.arms:
        fine = 0.0 if d.reaches(k, leader) else d.fine(k)
        if not r.plays[k]:
            costs[k] = fine if fine > 0 else -INFINITY
        else:
            costs[k] = r.plays[k] * naive.distance(r, k, leader, moments) + math.log(r.plays[k]) + fine
    nearest_costs(r, costs)
    return r.largest({k: -cost for k, cost in costs.items()})


def ossb(d: Doubt, epsilon: float = 0.01, gamma: float = 0.01) -> int:
    r, means = d.told, {k: d.estimate(k) for k in d.arms}
    best = max(means.values())
    open_to, needs, lacking = list(d.kept), {}, False
    for k in d.arms:
        level = r.log_f if d.reaches(k, best) else r.log_f - d.fine(k)
        if level > 0 and k not in open_to:
            open_to.append(k)
        if not (level > 0 or (k in d.kept and d.reaches(k, best))) or means[k] >= best:
            continue
        distance = naive.kl_between(
            r.unit(k, means[k]), r.unit_lack(k, means[k]), r.unit(k, best), r.unit_lack(k, best)
        )
        needs[k] = 1 / distance if distance > 0 else 0.0
        lacking |= r.plays[k] < needs[k] * (1 + gamma) * level
    nearest(r, list(means.values()))
    if not lacking:
        return r.largest(means)
    r.memory["exploring"] = r.memory.get("exploring", 0) + 1
    if min(r.plays[k] for k in open_to) <= epsilon * r.memory["exploring"]:
        return r.largest({k: -float(r.plays[k]) for k in open_to})
    return r.largest({k: -r.plays[k] / need for k, need in needs.items() if need > 0})


def mints(d: Doubt) -> int:
    """Bounds that are contradicted are dropped; any other arm may leave its own for its fine."""
    dropped = ranges_for(d.told, [k in d.arms and d.fine(k) == 0 for k in range(len(d.told.bounds))])
    values = {k: value for k, value in naive.fallen_likelihoods(dropped).items() if k in d.arms}
    for k in d.arms:
        if 0 < d.fine(k) < INFINITY:
            freed = naive.fallen_likelihoods(ranges_for(dropped, [j == k for j in range(len(d.told.bounds))]))
            if k in freed:
                values[k] = max(values.get(k, -INFINITY), freed[k] - d.fine(k))
    return naive.drawn_by_likelihood(d.told, values)


def integral(law: Posterior, start: float, stop: float, of: Callable[[np.ndarray], np.ndarray] | None = None) -> float:
    """Of the Beta density times a function, by 16 panels."""
    half = (stop - start) / 32
    x = start + half * PLACES
    log_density = np.zeros_like(x)
    with np.errstate(divide="ignore"):
        if law.a > 1:
            log_density += (law.a - 1) * np.log(x)
        if law.b > 1:
            log_density += (law.b - 1) * np.log1p(-x)
    scale = math.lgamma(law.a + law.b) - math.lgamma(law.a) - math.lgamma(law.b)
    values = np.exp(log_density + scale) * (1.0 if of is None else of(x))
    return float((values * WEIGHTS).sum() * half)


def believed(d: Doubt, k: int, law: Posterior, prior: tuple[float, float]) -> float:
    """The probability that an arm's bounds hold, by Bayes' rule."""
    p = d.trust[k]
    if p == 1:
        return 1.0
    lower, upper, chance = law.lower, min(1.0, law.upper), 1.0
    if d.told.plays[k]:
        start = Posterior(*prior, lower, upper, law.x, law.room)
        if lower < upper:
            chance = integral(law, lower, upper) / integral(start, lower, upper)
        else:  # a point: the likelihood of what was seen over its average
            none = 1e-13 * (law.a + law.b)  # less is what rounding left of nothing
            ones, zeros = (0.0 if seen <= none else seen for seen in (law.a - prior[0], law.b - prior[1]))
            average = math.lgamma(law.a) + math.lgamma(law.b) - math.lgamma(law.a + law.b)
            average -= math.lgamma(prior[0]) + math.lgamma(prior[1]) - math.lgamma(sum(prior))
            chance = math.exp(-average) * lower**ones * (1 - lower) ** zeros
    return p * chance / (p * chance + 1 - p)


def laws_of(d: Doubt, k: int, moments: int, prior: tuple[float, float]) -> tuple[Posterior, Posterior]:
    shared = naive.shared_floor(d.bare)
    return naive.posterior(d.told, k, moments, prior, shared), naive.posterior(d.bare, k, moments, prior, shared)


def thompson(d: Doubt, moments: int = 1, settle: bool = True) -> int:
    first = d.settled(moments) if settle else None
    if first is not None:
        return first
    draws = {}
    for k in d.arms:
        own = naive.child(naive.child(d.told.key, d.told.number), k)
        laws = laws_of(d, k, moments, (1.0, 1.0))
        weight, place = believed(d, k, laws[0], (1.0, 1.0)), float(uniform(own, 0))
        if abs(weight - place) < 1e-7:
            d.told.memory[UNDECIDED] = 1.0
        r, law = (d.told, laws[0]) if place < weight else (d.bare, laws[1])
        draws[k] = law.mean(r, k, truncated_beta(law.a, law.b, law.lower, law.upper, naive.child(own, 1)))
    return d.told.largest(draws)


def gittins(d: Doubt, moments: int = 1, prior: tuple[float, float] = (1.0, 1.0)) -> int:
    indices, means, f = {}, {}, math.exp(d.told.log_f)
    for k in d.arms:
        laws = laws_of(d, k, moments, prior)
        weight = believed(d, k, laws[0], prior)
        mean, gains = 0.0, []
        for law, share in zip(laws, (weight, 1 - weight), strict=True):
            lower, upper = law.lower, min(1.0, law.upper)
            if lower < upper:
                mass = integral(law, lower, upper)
                mean += share * integral(law, lower, upper, lambda x: x) / mass if share > 0 else 0.0
                gains.append(partial(_gain, law, lower, upper, share / mass if share > 0 else 0.0))
            else:
                mean += share * lower
                gains.append(partial(_gain_of_point, lower, share))
        below, above = mean, 1.0
        for _ in range(60):
            v = 0.5 * (below + above)
            below, above = (v, above) if f * sum(gain(v) for gain in gains) > v - mean else (below, v)
        indices[k], means[k] = (laws[1].mean(d.bare, k, value) for value in (below, mean))
    best = max(indices.values())
    near = [k for k, index in indices.items() if index >= best - 1e-6 * (1 + abs(best))]
    if len(near) > 1:
        d.told.memory[UNDECIDED] = 1.0
    return near[0]


def _gain(law: Posterior, lower: float, upper: float, share: float, v: float) -> float:
    start = max(v, lower)
    return share * integral(law, start, upper, lambda x: x - v) if start < upper else 0.0


def _gain_of_point(point: float, share: float, v: float) -> float:
    return share * max(0.0, point - v)


def _gaussian(proxy: Callable[[Round, int], float], r: Round, k: int) -> float:
    return naive._gaussian(r, k, r.cap[k], proxy(r, k))


def _kl(upper: Callable[[float, float], float], r: Round, k: int) -> float:
    return naive._divergence(r, k, r.cap[k], upper)


INDICES: dict[mb.Policy, Index] = {
    mb.BUCB(): partial(_gaussian, lambda r, k: r.span(k) ** 2 / 4),
    mb.ImprovedUCB(): partial(_gaussian, lambda r, k: naive._proxy(r, k, float(r.bounds.lower[k]))),
    mb.GLUE(): partial(_gaussian, lambda r, k: naive._proxy(r, k, max(r.best_lower, float(r.bounds.lower[k])))),
    mb.BKLUCB(): partial(_kl, naive.kl_upper),
    mb.UCBoost(): partial(_kl, naive.boost_upper),
}
OTHERS: dict[mb.Policy, Callable[[Doubt], int]] = {
    mb.BIMED(): bimed,
    mb.BIMED(moments=2): partial(bimed, moments=2),
    mb.BIMED(settle=False): partial(bimed, settle=False),
    mb.OSSB(): ossb,
    mb.MINTS(): mints,
    mb.ThompsonSampling(): thompson,
    mb.ThompsonSampling(moments=2): partial(thompson, moments=2),
    mb.ThompsonSampling(settle=False): partial(thompson, settle=False),
    mb.OptimisticGittins(): gittins,
}
DOUBTING = [*INDICES, *OTHERS]


def twin_for(policy: mb.Policy, trust: Trust) -> Callable[[Round], int]:
    """The twin of a policy whose bounds are trusted so far, arm by arm."""
    doubted = partial(by_index, index=INDICES[policy]) if policy in INDICES else OTHERS[policy]
    return partial(plain_unless_doubted, trust=trust, plain=naive.TWINS[policy], doubted=doubted)
