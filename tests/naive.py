"""Slow, readable twins of every policy: the definition, in plain Python, one round at a time.

Nothing here is shared with the kernels but the addresses of random numbers, and the draw from a truncated Beta law and
its optimistic Gittins index, which have tests of their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

import meanbounds as mb
from meanbounds.kernels.arms.gittins import optimistic_index
from meanbounds.kernels.arms.quantile import law_of, quantile
from meanbounds.kernels.arms.thompson import truncated_beta
from meanbounds.kernels.random import stream
from meanbounds.kernels.random.rewards import draw
from meanbounds.kernels.random.stream import policy_key, reward_key, rounding_key, uniform
from tests import naive_ids

INFINITY = math.inf


def child(key: np.uint64, number: int) -> np.uint64:
    return np.uint64(stream.child(key, number))  # machine code hands back a Python integer


class Seen(NamedTuple):
    """Statistics after some round; rewards in units of each arm's range."""

    plays: list[int]
    total: list[float]


def kl(p: float, q: float) -> float:
    return kl_between(p, 1 - p, q, 1 - q)


def kl_between(p: float, not_p: float, q: float, not_q: float) -> float:
    """With 1 - p and 1 - q given, which have more digits than p and q near 1."""
    d = q - p if p <= not_p else not_p - not_q
    if d == 0:
        return 0.0
    if (q <= 0 < p) or (not_q <= 0 < not_p):
        return INFINITY
    first = p * math.log(p / q) if p > 0 else 0.0
    second = -not_p * math.log1p(-d / not_p) if not_p > 0 else 0.0  # log1p: q may be far below a rounding of 1
    return max(0.0, first + second)


def kl_upper(p: float, budget: float) -> float:
    """Bisection until no float lies between."""
    if p >= 1:
        return 1.0
    below, above = p, 1.0
    while True:
        middle = 0.5 * (below + above)
        if middle in (below, above):
            return below if below <= 1 - 1e-12 else 1.0
        if kl(p, middle) <= budget:
            below = middle
        else:
            above = middle


def boost_upper(p: float, c: float) -> float:
    """UCBoost: bisection on the largest of four lower bounds of the divergence."""

    def distance(q: float) -> float:
        middle = (1 + p) / 2
        return max(
            2 * (p - q) ** 2 + 4 / 9 * (p - q) ** 4,
            (math.sqrt(p) - math.sqrt(q)) ** 2 + (math.sqrt(1 - p) - math.sqrt(1 - q)) ** 2,
            (p * math.log(p) if p > 0 else 0.0) + ((1 - p) * math.log((1 - p) / (1 - q)) if q < 1 else INFINITY),
            kl(p, middle) + (q - middle) / middle,
        )

    if p >= 1:
        return 1.0
    below, above = p, 1.0
    for _ in range(200):
        middle = 0.5 * (below + above)
        if middle in (below, above):
            break
        below, above = (middle, above) if distance(middle) <= c else (below, middle)
    return below if below <= 1 - 1e-12 else 1.0


class Round(NamedTuple):
    """What a twin may look at when it decides."""

    bounds: mb.MeanBounds
    offered: list[int]
    plays: list[int]
    total: list[float]
    squares: list[float]
    lack: list[float]  # 1 - reward, summed
    lack_squares: list[float]
    ones: list[float]
    log_f: float
    key: np.uint64
    number: int
    memory: dict[str, float]

    def span(self, k: int) -> float:
        return float(self.bounds.high[k] - self.bounds.low[k])

    def unit(self, k: int, value: float) -> float:
        return (value - float(self.bounds.low[k])) / self.span(k)

    def unit_lack(self, k: int, value: float) -> float:
        return (float(self.bounds.high[k]) - value) / self.span(k)

    def near_top(self, k: int) -> bool:
        return self.total[k] > self.lack[k]

    def mean(self, k: int) -> float:
        """From the nearer end of the range, where it has more digits."""
        if self.near_top(k):
            return float(self.bounds.high[k]) - self.span(k) * (self.lack[k] / self.plays[k])
        return float(self.bounds.low[k]) + self.span(k) * (self.total[k] / self.plays[k])

    @property
    def best_lower(self) -> float:
        return max(float(self.bounds.lower[k]) for k in self.offered)

    @property
    def possible(self) -> list[int]:
        """The arms that may be better than every other, and those that are surely as good as any that is left out."""
        return _possible(self.bounds, tuple(self.offered)).copy()

    def clipped(self, k: int, lower: float, cap: float) -> float:
        return min(cap, max(lower, self.mean(k))) if self.plays[k] else lower

    @property
    def cap(self) -> list[float]:
        """Upper bounds; each is raised to those that exceed it, or one another in a row, by rounding errors alone."""
        return _caps(self.bounds, tuple(self.offered))

    def leading(self, indices: dict[int, float], lower: ArrayLike, cap: ArrayLike) -> int:
        """The largest index; of equal ones the largest clipped mean."""
        best = max(indices.values())
        least, most = np.asarray(lower), np.asarray(cap)
        means = {k: self.clipped(k, float(least[k]), float(most[k])) for k in indices if indices[k] == best}
        return self.largest(means)

    def largest(self, scores: dict[int, float]) -> int:
        best = max(scores.values())
        ties = [k for k in sorted(scores) if scores[k] == best]
        return ties[0] if len(ties) == 1 else ties[int(uniform(self.key, self.number) * len(ties))]


@lru_cache(maxsize=100)  # the same in every round, and asked for arm by arm
def _possible(b: mb.MeanBounds, offered: tuple[int, ...]) -> list[int]:
    best = max(float(b.lower[k]) for k in offered)
    return [k for k in offered if b.upper[k] > best or b.lower[k] == best]


@lru_cache(maxsize=100)
def _caps(b: mb.MeanBounds, offered: tuple[int, ...]) -> list[float]:
    slack = 4096 * 2.0**-52 * max(abs(float(end)) for k in offered for end in (b.low[k], b.high[k]))
    caps = [float(u) for u in b.upper]
    for k in sorted(offered, key=lambda k: -caps[k]):
        caps[k] = max([caps[k]] + [caps[j] for j in offered if caps[k] < caps[j] <= caps[k] + slack])
    return caps


def _gaussian(r: Round, k: int, cap: float, proxy: float) -> float:
    return min(cap, r.mean(k) + math.sqrt(2 * proxy * r.log_f / r.plays[k])) if r.plays[k] else cap


def _divergence(r: Round, k: int, cap: float, upper: Callable[[float, float], float]) -> float:
    if not r.plays[k]:
        return cap
    low = float(r.bounds.low[k])
    p = 1 - r.lack[k] / r.plays[k] if r.near_top(k) else r.total[k] / r.plays[k]
    return min(cap, low + r.span(k) * upper(p, r.log_f / r.plays[k]))


def ucb(r: Round) -> int:
    return r.leading(
        {k: _gaussian(r, k, INFINITY, r.span(k) ** 2 / 4) for k in r.offered},
        r.bounds.low,
        np.full(len(r.bounds), INFINITY),
    )


def bucb(r: Round) -> int:
    return r.leading(
        {k: _gaussian(r, k, r.cap[k], r.span(k) ** 2 / 4) for k in r.possible},
        r.bounds.lower,
        r.cap,
    )


def _proxy(r: Round, k: int, lower: float) -> float:
    b = r.bounds
    return _proxy_between(lower, float(b.upper[k]), float(b.low[k]), float(b.high[k]))


@lru_cache(maxsize=1000)
def _proxy_between(lower: float, upper: float, low: float, high: float) -> float:
    return mb.variance_proxy_from_bounds(lower, upper, low=low, high=high)


def improved_ucb(r: Round) -> int:
    return r.leading(
        {k: _gaussian(r, k, r.cap[k], _proxy(r, k, float(r.bounds.lower[k]))) for k in r.possible},
        r.bounds.lower,
        r.cap,
    )


def glue(r: Round) -> int:
    best = r.best_lower
    return r.leading(
        {k: _gaussian(r, k, r.cap[k], _proxy(r, k, max(best, float(r.bounds.lower[k])))) for k in r.possible},
        r.bounds.lower,
        r.cap,
    )


def kl_ucb(r: Round) -> int:
    return r.leading(
        {k: _divergence(r, k, float(r.bounds.high[k]), kl_upper) for k in r.offered}, r.bounds.low, r.bounds.high
    )


def bkl_ucb(r: Round) -> int:
    return r.leading({k: _divergence(r, k, r.cap[k], kl_upper) for k in r.possible}, r.bounds.lower, r.cap)


def ucboost(r: Round) -> int:
    return r.leading(
        {k: _divergence(r, k, r.cap[k], boost_upper) for k in r.possible},
        r.bounds.lower,
        r.cap,
    )


def floor(r: Round, k: int) -> tuple[float, float]:
    """Lower atom x of the law on {x, 1} with the two moments seen, and 1 - x: sums of x y and y^2 over that of y."""
    if r.lack[k] <= 0:
        return 0.0, 1.0
    product = r.lack[k] - r.lack_squares[k] if r.near_top(k) else r.total[k] - r.squares[k]
    x = min(r.total[k] / r.plays[k], max(0.0, product / r.lack[k]))
    return x, min(1.0, max(r.lack[k] / r.plays[k], r.lack_squares[k] / r.lack[k]))


def weights(r: Round, k: int, x: float, room: float) -> tuple[float, float]:
    """Of both atoms, the upper one first."""
    lack = min(1.0, r.lack[k] / r.plays[k] / room)
    return (1 - lack if r.near_top(k) else max(0.0, (r.total[k] / r.plays[k] - x) / room)), lack


UNDECIDED = "undecided"
"""What a twin remembers if two costs are equal but for rounding, such as log 3 and the divergence of 0 from 2/3."""


def settled(r: Round, moments: int) -> int | None:
    """A leader that may be as good as the largest upper bound of the others, if there is one."""
    clipped = {k: r.clipped(k, float(r.bounds.lower[k]), r.cap[k]) for k in r.possible}
    return settled_among(r, moments, {k: r.cap[k] for k in r.possible}, clipped)


def settled_among(r: Round, moments: int, cap: dict[int, float], clipped: dict[int, float]) -> int | None:
    leaders = {}
    for k, mean in clipped.items():
        goal = max((cap[j] for j in cap if j != k), default=-INFINITY)
        allowed = r.log_f / (2 if cap[k] == goal else 4)
        leads = mean == max(clipped.values()) and cap[k] >= goal
        if leads and r.plays[k] * distance(r, k, goal, moments) <= allowed:
            leaders[k] = mean
    return r.largest(leaders) if leaders else None


def distance(r: Round, k: int, goal: float, moments: int) -> float:
    """Divergence of what was seen of an arm from a mean of at least `goal`."""
    if not r.plays[k]:
        return 0.0
    mean, lack = r.total[k] / r.plays[k], r.lack[k] / r.plays[k]
    unit, unit_lack = r.unit(k, goal), r.unit_lack(k, goal)
    if lack <= unit_lack if r.near_top(k) else mean >= unit:
        return 0.0
    x, room = floor(r, k) if moments == 2 else (0.0, 1.0)
    upper, lower = weights(r, k, x, room) if moments == 2 else (mean, lack)
    lifted = 1 - unit_lack / room if r.near_top(k) and moments == 2 else (unit - x) / room
    return kl_between(upper, lower, lifted, unit_lack / room)


def bimed(r: Round, moments: int = 1, settle: bool = True) -> int:
    first = settled(r, moments) if settle else None
    if first is not None:
        return first
    played = [k for k in r.possible if r.plays[k]]
    leader = max([r.best_lower, *(min(r.cap[k], r.mean(k)) for k in played)])
    costs = {}
    for k in r.possible:
        if r.cap[k] < leader:
            costs[k] = INFINITY
        elif not r.plays[k]:
            costs[k] = -INFINITY
        else:
            costs[k] = r.plays[k] * distance(r, k, leader, moments) + math.log(r.plays[k])
    least = min(costs.values())
    near = [k for k, cost in costs.items() if r.plays[k] and cost <= least + 1e-14 * (1 + abs(least))]
    if len({(r.plays[k], r.total[k], r.squares[k], r.span(k), float(r.bounds.low[k])) for k in near}) > 1:
        r.memory[UNDECIDED] = 1.0
    return r.largest({k: -cost for k, cost in costs.items()})


def ossb(r: Round, epsilon: float = 0.01, gamma: float = 0.01) -> int:
    b = r.bounds
    truncated = {
        k: min(r.cap[k], max(float(b.lower[k]), r.mean(k))) if r.plays[k] else float(b.lower[k]) for k in r.possible
    }
    best = max(truncated.values())
    needs = {}
    for k, mean in truncated.items():
        needs[k] = 0.0
        distance = kl_between(r.unit(k, mean), r.unit_lack(k, mean), r.unit(k, best), r.unit_lack(k, best))
        if mean < best <= r.cap[k] and distance > 0:
            needs[k] = 1 / distance
    if all(r.plays[k] >= needs[k] * (1 + gamma) * r.log_f for k in r.possible):
        return r.largest(truncated)
    r.memory["exploring"] = r.memory.get("exploring", 0) + 1
    least = min(r.plays[k] for k in r.possible)
    if least <= epsilon * r.memory["exploring"]:
        return r.largest({k: -float(r.plays[k]) for k in r.possible})
    return r.largest({k: -r.plays[k] / need for k, need in needs.items() if need > 0})


class Posterior(NamedTuple):
    """Beta(a, b) between two bounds is the law of (mean - x) / (1 - x); without room, the mean is the point x."""

    a: float
    b: float
    lower: float
    upper: float
    x: float
    room: float

    def mean(self, r: Round, k: int, value: float) -> float:
        """The mean that a value of the law stands for, in raw units and within the bounds."""
        bottom, top = float(r.bounds.low[k]), float(r.bounds.high[k])
        near_top = self.x > 0.5 or self.room == 0
        mean = (
            top - r.span(k) * (self.room * (1 - value))
            if near_top
            else bottom + r.span(k) * (self.x + self.room * value)
        )
        return min(r.cap[k], max(float(r.bounds.lower[k]), mean))


def shared_floor(r: Round) -> float:
    """The floor of arms whose rewards say none, in raw units."""
    return max((_offered(r, k) for k in r.possible if r.lack[k] > 0), default=-INFINITY)


def posterior(r: Round, k: int, moments: int, prior: tuple[float, float], shared: float) -> Posterior:
    x, room, ones, zeros = 0.0, 1.0, float(r.ones[k]), r.plays[k] - float(r.ones[k])
    if moments == 2 and r.lack[k] > 0:
        x, room = floor(r, k)
        ones, zeros = (r.plays[k] * weight for weight in weights(r, k, x, room))
    elif moments == 2 and prior == (1.0, 1.0):
        x, room = (min(1.0, max(0.0, share)) for share in (r.unit(k, shared), r.unit_lack(k, shared)))
        ones, zeros = float(r.plays[k]), 0.0
    if room == 0:
        return Posterior(1.0, 1.0, 1.0, 1.0, x, room)
    ends = [float(r.bounds.lower[k]), r.cap[k]]
    lower, upper = (1 - r.unit_lack(k, end) / room if x > 0.5 else (r.unit(k, end) - x) / room for end in ends)
    lower = max(0.0, lower)
    return Posterior(prior[0] + ones, prior[1] + zeros, lower, max(lower, upper), x, room)


def posteriors(r: Round, moments: int, prior: tuple[float, float] = (1.0, 1.0)) -> dict[int, Posterior]:
    shared = shared_floor(r)
    return {k: posterior(r, k, moments, prior, shared) for k in r.possible}


def thompson(r: Round, moments: int = 1, settle: bool = True, invert: bool = True) -> int:
    first = settled(r, moments) if settle else None
    if first is not None:
        return first
    stream_of_round = child(r.key, r.number)

    def drawn(k: int, law: Posterior) -> float:
        if invert and moments == 1:
            return quantile(law_of(law.a, law.b, law.lower, min(1.0, law.upper)), 1.0 - uniform(stream_of_round, k))
        return truncated_beta(law.a, law.b, law.lower, law.upper, child(stream_of_round, k))

    return r.largest({k: law.mean(r, k, drawn(k, law)) for k, law in posteriors(r, moments).items()})


def gittins(r: Round, moments: int = 1, prior: tuple[float, float] = (1.0, 1.0)) -> int:
    laws = posteriors(r, moments, prior)
    found = {k: optimistic_index(law.a, law.b, law.lower, law.upper, math.exp(r.log_f)) for k, law in laws.items()}
    indices, means = ({k: laws[k].mean(r, k, found[k][i]) for k in laws} for i in (0, 1))
    best = max(indices.values())
    near = [k for k, index in indices.items() if index >= best - 1e-12 * (1 + abs(best))]
    if len({(*laws[k], indices[k] == r.cap[k]) for k in near}) > 1:
        r.memory[UNDECIDED] = 1.0
    return r.largest({k: means[k] for k in indices if indices[k] == best})


def fallen_likelihoods(r: Round) -> dict[int, float]:
    """By how much the log likelihood is less than the largest one if an arm is best, for every arm.

    For every arm at once: halve the interval of levels until the best one is known, each other arm at most there.
    """
    arms = r.possible
    played = np.array([r.plays[k] for k in arms], dtype=float)
    wins, lacks = np.array([r.total[k] for k in arms]), np.array([r.lack[k] for k in arms])
    low, high, lower = (np.array(getattr(r.bounds, end))[arms] for end in ("low", "high", "lower"))
    span, upper = high - low, np.array(r.cap)[arms]
    means = np.array([r.mean(k) if r.plays[k] else -INFINITY for k in arms])
    clipped = np.clip(means, lower, upper)

    def log_likelihood(at: np.ndarray) -> np.ndarray:
        x, lack = (at - low) / span, (high - at) / span
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(wins > 0, wins * np.log(x), 0.0) + np.where(lacks > 0, lacks * np.log(lack), 0.0)

    def slope(at: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            x, lack = (at - low) / span, (high - at) / span
            rise: np.ndarray = (np.where(wins > 0, wins / x, 0.0) - np.where(lacks > 0, lacks / lack, 0.0)) / span
        return rise

    size = len(arms)
    own = np.eye(size, dtype=bool)
    below, above = np.full(size, float(lower.max())), upper.copy()
    for _ in range(100):
        middle = below + 0.5 * (above - below)
        rises = np.where(own | (clipped > middle[:, None]), slope(np.repeat(middle[:, None], size, axis=1)), 0.0)
        moves = (played > 0) | (clipped > middle[:, None]).any(axis=1)
        up = (rises.sum(axis=1) > 0) & moves
        below, above = np.where(up, middle, below), np.where(up, above, middle)
    values = []
    for k in range(size):
        ends = [below[k], above[k], *(c for c in (clipped[k], *clipped) if lower.max() <= c <= upper[k])]
        at = [np.where(own[k], end, np.minimum(clipped, end)) for end in ends]
        with np.errstate(invalid="ignore"):
            values.append(max(float((log_likelihood(means_) - log_likelihood(clipped)).sum()) for means_ in at))
    if not np.all(np.isfinite(values)) or np.any((clipped > 0.0) & (clipped < 1e-290)):
        r.memory[UNDECIDED] = 1.0  # the bounds exclude what was seen, or numbers have no digits left
    return dict(zip(arms, values, strict=True))


def mints(r: Round) -> int:
    return drawn_by_likelihood(r, fallen_likelihoods(r))


def drawn_by_likelihood(r: Round, values: dict[int, float]) -> int:
    """An arm drawn in proportion to its likelihood."""
    arms = sorted(values)
    if UNDECIDED in r.memory:
        return arms[0]
    weights = np.exp(np.array([values[k] for k in arms]) - max(values.values()))
    shares = np.cumsum(weights / weights.sum())
    place = uniform(r.key, r.number)
    if np.abs(shares[:-1] - place).min(initial=1.0) < 1e-9:
        r.memory[UNDECIDED] = 1.0
    return arms[min(int(np.sum(shares <= place)), len(arms) - 1)]


Log = dict[mb.bounds.Arm, tuple[int, float]]
"""By arm, how many rewards a log has and what they sum up to."""


def logged(r: Round, log: Log, k: int) -> tuple[int, float, float]:
    """Count, total and shortfall of an arm in the log, in units of its range."""
    count, total = log.get(r.bounds.arms[k], (0, 0.0))
    low, high = float(r.bounds.low[k]), float(r.bounds.high[k])
    return count, (total - count * low) / r.span(k), (count * high - total) / r.span(k)


def started(r: Round, log: Log) -> Round:
    """The same round if the logged rewards had been the agent's own, each of them at an end of its range."""
    counts, wins, lacks = zip(*(logged(r, log, k) for k in range(len(r.bounds))), strict=True)

    def grown(before: list[float], more: tuple[float, ...]) -> list[float]:
        return [a + b for a, b in zip(before, more, strict=True)]

    return r._replace(
        plays=[a + b for a, b in zip(r.plays, counts, strict=True)],
        total=grown(r.total, wins),
        squares=grown(r.squares, wins),
        ones=grown(r.ones, wins),
        lack=grown(r.lack, lacks),
        lack_squares=grown(r.lack_squares, lacks),
    )


def min_ucb(r: Round, log: Log | None = None, bias: dict[mb.bounds.Arm, float] | None = None) -> int:
    """Of two upper confidence bounds the lesser; without a given bias it is the farthest that the bounds allow."""
    both = started(r, log or {})
    scores = {}
    for k in r.offered:
        scores[k] = _gaussian(r, k, INFINITY, r.span(k) ** 2 / 4)
        count, total, _ = logged(r, log or {}, k)
        if count:
            mean = float(r.bounds.low[k]) + r.span(k) * (total / count)
            far = max(float(r.bounds.upper[k]) - mean, mean - float(r.bounds.lower[k]))
            far = far if bias is None else bias[r.bounds.arms[k]]
            share = count / both.plays[k]
            scores[k] = min(scores[k], _gaussian(both, k, INFINITY, r.span(k) ** 2 / 4) + far * share)
    best = max(scores.values())
    near = [k for k, score in scores.items() if best - 1e-13 <= score < INFINITY]
    if len({(r.plays[k], r.total[k], r.span(k), logged(r, log or {}, k)) for k in near}) > 1:
        r.memory[UNDECIDED] = 1.0
    return r.leading(scores, r.bounds.low, np.full(len(r.bounds), INFINITY))


def warm(r: Round, base: Callable[[Round], int] = ucb, log: Log | None = None) -> int:
    return base(started(r, log or {}))


def most_frequent(r: Round, log: Log | None = None) -> int:
    return r.largest({k: float(logged(r, log or {}, k)[0]) for k in r.offered})


def ids(r: Round, moments: int = 1) -> int:
    laws = []
    shared = max((_offered(r, k) for k in r.possible if r.lack[k] > 0), default=-INFINITY)
    for k in r.possible:
        bottom, top = float(r.bounds.low[k]), float(r.bounds.high[k])
        lower, upper = float(r.bounds.lower[k]), r.cap[k]
        ones, zeros = float(r.ones[k]), r.plays[k] - float(r.ones[k])
        if moments == 2 and r.lack[k] > 0:
            x, room = floor(r, k)
            ones, zeros = (r.plays[k] * weight for weight in weights(r, k, x, room))
            bottom = top - r.span(k) * room if x > 0.5 else bottom + r.span(k) * x
        elif moments == 2:
            bottom, ones, zeros = min(top, max(bottom, shared)), float(r.plays[k]), 0.0
        upper = max(lower, upper) if bottom < upper else min(upper, max(lower, bottom))
        laws.append(naive_ids.Law(ones, zeros, min(upper, max(lower, bottom)), upper, bottom, top))
    _, short, learnt = naive_ids.values(laws, 40, around=False)
    ends = np.cumsum(naive_ids.spread(naive_ids.mix(short, learnt, 1.5), short, learnt))
    place = float(uniform(r.key, r.number))
    if np.any(abs(ends[:-1] - place) < 1e-6):
        r.memory[UNDECIDED] = 1.0
    return r.possible[int(np.sum(ends[:-1] <= place))]


def _offered(r: Round, k: int) -> float:
    """The floor that an arm offers to those without one: ten times as far from the top as its own."""
    return min(r.cap[k], float(r.bounds.high[k]) - r.span(k) * (10 * floor(r, k)[1]))


TWINS: dict[mb.Policy, Callable[[Round], int]] = {
    mb.UCB(): ucb,
    mb.BUCB(): bucb,
    mb.ImprovedUCB(): improved_ucb,
    mb.GLUE(): glue,
    mb.KLUCB(): kl_ucb,
    mb.BKLUCB(): bkl_ucb,
    mb.UCBoost(): ucboost,
    mb.BIMED(): bimed,
    mb.OSSB(): ossb,
    mb.ThompsonSampling(): thompson,
    mb.BIMED(moments=2): partial(bimed, moments=2),
    mb.ThompsonSampling(moments=2): partial(thompson, moments=2),
    mb.OptimisticGittins(): gittins,
    mb.OptimisticGittins(moments=2): partial(gittins, moments=2),
    mb.MINTS(): mints,
    mb.MINUCB(): min_ucb,
    mb.WarmStart(): warm,
    mb.MostFrequentArm(): most_frequent,
    mb.IDS(): ids,
    mb.IDS(moments=2): partial(ids, moments=2),
    mb.BIMED(settle=False): partial(bimed, settle=False),
    mb.ThompsonSampling(settle=False): partial(thompson, settle=False),
    mb.ThompsonSampling(draws="rejection"): partial(thompson, invert=False),
    mb.ThompsonSampling(moments=2, settle=False): partial(thompson, moments=2, settle=False),
}


HEAVY = (mb.OptimisticGittins, mb.IDS, mb.MINTS)
"""Policies that solve or integrate in each round: a tenth of the rounds is enough to find a mistake."""


def rounds_of(policy: mb.Policy, rounds: int) -> int:
    return max(2, rounds // 10) if isinstance(policy, HEAVY) else rounds


def log_f(policy: mb.Policy, t: int) -> float:
    return math.log(t) if policy.f == "t" else math.log(1 + t * math.log(t) ** 2)


def play(
    policy: mb.Policy,
    environment: mb.Environment,
    bounds: mb.MeanBounds,
    horizon: int,
    seed: int,
    run: int = 0,
    twin: Callable[[Round], int] | None = None,
) -> list[Seen]:
    """Statistics after each round, up to the first one that rounding errors alone would decide."""
    decide = TWINS[policy] if twin is None else twin
    law = environment.rewards(bounds.low, bounds.high)
    streams, key, rounding = (np.uint64(f(np.uint64(seed), run)) for f in (reward_key, policy_key, rounding_key))
    arms = range(len(bounds))
    plays = [0 for _ in arms]
    total, squares, lack, lack_squares, ones = ([0.0 for _ in arms] for _ in range(5))
    memory: dict[str, float] = {}
    history = []
    for t in range(1, horizon + 1):
        sums = (total, squares, lack, lack_squares, ones)
        seen = Round(bounds, list(arms), plays, *sums, log_f(policy, t), key, t - 1, memory)
        arm = decide(seen)
        if UNDECIDED in memory:
            break
        reward = draw(law, arm, child(streams, arm), plays[arm])
        plays[arm] += 1
        total[arm] += reward
        squares[arm] += reward * reward
        lack[arm] += 1 - reward
        lack_squares[arm] += (1 - reward) * (1 - reward)
        ones[arm] += uniform(rounding, t - 1) < reward
        history.append(Seen(plays.copy(), total.copy()))
    return history
