"""Information-directed sampling: the mix of two arms with the lowest regret per information gained.

Write f_k and F_k for density and distribution function of the mean of arm k under its posterior, m_k for its
expectation, ``r_k(x) = m_k - E[mean_k given mean_k <= x]``, and ``h_a(x) = f_a(x) * product of F_j(x) over all j but
a``, the density of "a is best, and its mean is x". Then a is best with the probability ``P_a = integral of h_a``, and
``R_ka = P_a (m_k - E[mean_k given a is best])`` is the integral of ``h_a r_k`` for a other than k, and minus their sum
for a = k. Playing the arm with the largest m_k loses the sum over all other a of the integral of ``(x - m_k + r_k)
h_a``, another arm loses more by the difference of the expectations, and knowing which arm is best changes the
expectation of mean_k with the variance ``sum of R_ka^2 / P_a``.

All integrals share the nodes of Gauss-Legendre panels, which are kept until a posterior no longer fits them. So a
decision after one reward computes one arm's row in tables of f / F, F and r; the rest are sums over nodes.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from math import inf, log, sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.polynomial import legendre

from meanbounds.known import Known, Seen, once
from meanbounds.policies.base import Cache, Policy
from meanbounds.posterior import check_moments, posterior
from meanbounds.support.checks import as_float, shown
from meanbounds.support.types import Booleans, Floats, Integers

__all__ = ["IDS"]

_NODES = 12  # on a panel
_WIDEST = 1.1  # a panel, in units of the width over which a density exceeds 1/e of its peak
_KEPT = 1.25  # the same for panels that are kept
_DEPTH = 32.0  # a density has ended where it is exp(-32) of its peak
_INNER = 26.0  # panels are kept while they cover what is above exp(-26) of each peak
_SINGULAR = 6.0  # a smaller exponent that is not whole needs panels that shrink towards the end of the range
_SMALLEST = 1e-4  # down to this, in units of the same width
_POINT = 1e-9  # a mean that is known gets twice this width, in units of the widest range
_NEVER = 1e-15  # a part of a posterior with less weight is left out
_LEAST, _TINY = 1e-30, 1e-300  # distribution functions and gains, and arguments of logarithms, are at least this
_RARE = 1e-12  # an arm that is best with less than this probability is treated as if it had this one
_GRID = 20.0  # roots of Beta parameters that are learned are multiples of its inverse
_EQUAL = 1e-9  # arms whose losses and variances differ by less, relatively, share their probability


def _rule() -> tuple[Floats, Floats, Floats]:
    """Nodes and weights on [0, 1], and what integrates from 0 up to each node and, in the last column, up to 1."""
    nodes, weights = legendre.leggauss(_NODES)
    degrees, basis = np.arange(_NODES), legendre.legvander(nodes, _NODES)
    before = np.hstack([-np.ones((_NODES, 1)), basis[:, : _NODES - 1]])
    up_to = (basis[:, 1:] - before) / (2 * degrees + 1) @ ((degrees[:, None] + 0.5) * basis[:, :_NODES].T * weights)
    return (1.0 + nodes) / 2.0, weights / 2.0, np.vstack([up_to, weights]).T / 2.0


_PLACES, _WEIGHTS, _UP_TO = _rule()
_ROOTS = (np.arange(16)[:, None] + _PLACES) / 16.0
_TAIL, _TAIL_WEIGHTS = (_ROOTS**2).ravel(), (2.0 * _ROOTS * _WEIGHTS / 16.0).ravel()  # nodes are denser close to 0


class _Law:
    """A part of an arm's posterior: the density ``u**rise * (1 - u)**fall`` of u = (x - low) / width between bounds."""

    def __init__(self, weight: float, a: float, b: float, lower: float, upper: float, low: float, width: float) -> None:
        rise, fall = a - 1.0, b - 1.0
        if not width * (upper - lower) >= _POINT:
            rise, fall, lower, upper, low, width = 0.0, 0.0, 0.0, 1.0, low + width * lower - _POINT, 2.0 * _POINT
        self.weight, self.rise, self.fall, self.units = weight, rise, fall, (low, width)
        plays = rise + fall
        mode = rise / plays if plays > 0.0 else 0.5
        spot = min(max(mode, lower), upper)
        self.peak = (rise * log(spot) if rise > 0.0 else 0.0) + (fall * log(1.0 - spot) if fall > 0.0 else 0.0)
        ends = []  # the density is negligible beyond the first two; panels that are kept cover the next two
        for depth in (_DEPTH, _INNER, 1.0):
            ends += [max(lower, spot - _reach(depth, plays, mode - spot, spot))]
            ends += [min(upper, spot + _reach(depth, plays, spot - mode, 1.0 - spot))]
        self.jumps = [low + width * bound for bound in (lower, upper) if bound in ends[:2]]
        self.left, self.right, self.near, self.far, start, stop = [low + width * end for end in ends]
        bottom = low if rise < _SINGULAR and rise % 1.0 else -inf  # where the density is not smooth
        self.shape = stop - start, bottom, low + width if fall < _SINGULAR and fall % 1.0 else inf

    def density(self, logs: Floats) -> Floats:
        """The density relative to its peak, from log u and log(1 - u)."""
        height = self.rise * logs[0]
        height += self.fall * logs[1]
        height -= self.peak
        return np.exp(height, out=height)


def _reach(depth: float, plays: float, beyond: float, space: float) -> float:
    """How far from its peak, towards 0, a density has fallen by exp(-depth) at the latest.

    The peak is at `space`, and the mode without bounds lies on the other side of it. The log density is -plays
    kl(mode, u), where kl has the derivative (u - mode) / (u (1 - u)). By Jensen's inequality the integral of that is at
    least a quadratic in the distance divided by a linear function.
    """
    ratio = depth / max(plays, _TINY)
    bend = 2.0 / 3.0 * ratio * max(0.0, 2.0 * space - 1.0) - max(0.0, beyond)
    return bend + sqrt(bend * bend + 2.0 * ratio * space * (1.0 - space))


def _logs(x: Floats, low: float, width: float) -> Floats:
    u = (x - low) / width
    return np.log(np.maximum([u, 1.0 - u], _TINY))


def _limits(ends: Floats, core: Any, bottom: Any, top: Any) -> Floats:
    """How wide the panel between each two of these ends may be for a density."""
    room = 2.0 * np.minimum(ends[:-1] - bottom, top - ends[1:])
    return np.maximum(_SMALLEST * core, np.minimum(_WIDEST * core, room))


class _Row:
    """The integrals over the posteriors of one row of arms."""

    def __init__(self, size: int) -> None:
        self.laws: dict[int, list[_Law]] = {}
        self.means, self.near, self.start = np.zeros(size), np.full(size, -inf), inf  # no panels yet

    def update(self, arms: list[int], parts: list[list[list[float]]]) -> None:
        """Take over new posteriors of these arms: the numbers that `_Law` takes, for each part of each arm."""
        for k, own in zip(arms, parts, strict=True):
            self.laws[k] = [_Law(*part) for part in own if part[0] > _NEVER]
            self.near[k] = min([law.near for law in self.laws[k]])
        if self.near.max() < self.start or not all(self.fits(law) for k in arms for law in self.laws[k]):
            arms = self.place()
        for k in arms:
            self.fill(k)

    def fits(self, law: _Law) -> bool:
        """Whether the panels serve a law."""
        if law.far <= self.start:
            return True
        if law.far > self.ends[-1] or not self.edges.issuperset([end for end in law.jumps if end > self.start]):
            return False
        first, last = self.between(law.near, law.far)
        core, *singular = law.shape
        if singular == [-inf, inf]:
            return max(self.widths[first:last], default=0.0) <= _KEPT * core
        ends = np.array(self.ends[first : last + 1])
        return bool((ends[1:] - ends[:-1] <= _KEPT / _WIDEST * _limits(ends, *law.shape)).all())

    def between(self, left: float, right: float) -> tuple[int, int]:
        """The first panel that reaches beyond `left`, and the first one behind it that starts beyond `right`."""
        return max(0, bisect_right(self.ends, left) - 1), min(len(self.ends) - 1, bisect_left(self.ends, right))

    def place(self) -> list[int]:
        """Place panels where an arm can be best, and halve them until they suit all densities; return all arms."""
        self.start = max(min(law.left for law in own) for own in self.laws.values())
        live = [k for k, own in self.laws.items() if max(law.right for law in own) > self.start]
        laws = [law for k in live for law in self.laws[k] if law.right > self.start]
        jumps = (end for law in laws for end in law.jumps if end > self.start)
        self.edges = {self.start, max(law.right for law in laws), *jumps}
        left, right, *shape = np.array([(law.left, law.right, *law.shape) for law in laws]).T[:, :, None]
        ends = np.array(sorted(self.edges))
        while True:
            widths, here = np.diff(ends), (ends[:-1] < right) & (ends[1:] > left)
            wide = widths > np.where(here, _limits(ends, *shape), inf).min(axis=0)
            if not wide.any():
                break
            ends = np.sort(np.concatenate([ends, (ends[:-1] + 0.5 * widths)[wide]]))
        self.ends, self.widths, self.nodes = ends.tolist(), widths.tolist(), ends[:-1, None] + widths[:, None] * _PLACES
        self.scales = widths[:, None] * np.stack([np.ones_like(self.nodes), self.nodes])
        self.logs: dict[tuple[float, float], Floats] = {}
        self.live, self.pair, self.row = np.array(live), (0, 0), {k: n for n, k in enumerate(live)}
        self.rate, self.share, self.drop = np.zeros((3, len(live), self.nodes.size))
        return [*self.laws]

    def fill(self, k: int) -> None:
        """Compute an arm's expectation and its row of the tables."""
        table = np.zeros((3, *self.nodes.shape))  # weighted density; mass and first moment up to each node
        mean = 0.0
        for law in self.laws[k]:
            mass, moment = self.below(law) if law.left < self.start else (0.0, 0.0)
            first, last = self.between(law.left, law.right) if law.right > self.start else (0, 0)
            if first < last:
                if law.units not in self.logs:
                    self.logs[law.units] = _logs(self.nodes, *law.units)
                parts = self.scales[:, first:last] * law.density(self.logs[law.units][:, first:last])
                sums = (parts.reshape(-1, _NODES) @ _UP_TO).reshape(2, last - first, _NODES + 1)
                sums[:, 1:] += sums[:, :-1, _NODES:].cumsum(axis=1)
                sums[0] += mass
                sums[1] += moment
                mass, moment = sums[:, -1, _NODES].tolist()
                table[0, first:last] += (law.weight / mass * _WEIGHTS) * parts[0]
                table[1:, first:last] += (law.weight / mass) * sums[:, :, :_NODES]
            own = law.weight * (moment / mass)
            table[1, last:] += law.weight
            table[2, last:] += own
            mean += own
        self.means[k] = mean
        if k in self.row:
            n, (density, share, moments) = self.row[k], table.reshape(3, -1)
            share = np.maximum(share, _LEAST, out=self.share[n])
            np.divide(density, share, out=self.rate[n])
            np.subtract(mean, moments / share, out=self.drop[n])

    def below(self, law: _Law) -> tuple[float, float]:
        """Mass and first moment of a law below the panels."""
        span = min(law.right, self.start) - law.left
        nodes = law.left + span * _TAIL
        mass = span * _TAIL_WEIGHTS * law.density(_logs(nodes, *law.units))
        return float(mass.sum()), float(mass @ nodes)

    def mix(self, power: float) -> tuple[Integers, list[float]]:
        """The arms that can be best, and the probability of each in the best mix.

        By Jensen's inequality R_ka^2 / P_a is at most the integral of h_a r_k^2. So variances are replaced by upper
        limits, which need no pairs of arms, until the mix that is then best has arms whose variance is exact.
        """
        joint = self.rate * np.multiply.reduce(self.share, axis=0)
        best, others = np.add.reduce(joint, axis=1), np.add.reduce(joint, axis=0) - joint
        per, dropped = 1.0 / np.maximum(best, _RARE), others * self.drop
        moved = np.add.reduce(dropped, axis=1)
        gains = np.vecdot(dropped, self.drop) + moved * moved * per
        means = self.means[self.live]
        leader = int(means.argmax())
        least = others[leader] @ (self.nodes.ravel() - means[leader] + self.drop[leader]) / best.sum()
        losses = max(0.0, float(least)) + (means[leader] - means)
        both, equal = list(zip(losses.tolist(), gains.tolist(), strict=True)), dict[int, list[int]]()
        i, j, part = *self.pair, 1.0
        while todo := [k for k in {i, j} if k not in equal]:
            for k in todo:
                changes = np.vecdot(joint, self.drop[k])
                changes[k] = moved[k]
                (loss, gain), e = both[k], _EQUAL
                same = [n for n, (x, y) in enumerate(both) if abs(x - loss) <= e * loss and abs(y - gain) <= e * gain]
                gains[same] = changes * changes @ per
                equal |= dict.fromkeys([k, *same], same)
            i, j, part = _best_pair(losses, gains, power, i, j)
        self.pair = i, j
        chance = [0.0] * len(both)
        for k, own in (i, part), (j, 1.0 - part):
            for n in equal[k]:
                chance[n] += own / len(equal[k])
        return self.live, chance


def _coarse(pair: Floats) -> Floats:
    """Beta parameters that stay the same while those of a learned prior hardly change, so that tables can be kept.

    They are at least 1 with the same mean, and then moved by at most 5% of the standard deviation.
    """
    pair = pair * np.maximum(1.0, 1.0 / pair.min(axis=0))
    return np.maximum(1.0, (np.rint(_GRID * np.sqrt(pair)) / _GRID) ** 2)


def _best_pair(losses: Floats, gains: Floats, power: float, i: int, j: int) -> tuple[int, int, float]:
    """The mix of two arms with the least ``loss**power / gain``, searched from i and j on; the first one's probability.

    Loss and gain of a mix lie in the polygon of those of the arms, and its best point is on an edge. Mixes that are as
    good as one lie on a convex curve, so none is better if no arm lies above its tangent there. Otherwise the arm
    farthest above it makes a better mix with one of the two.
    """
    if not gains.any():  # nothing can be learned any more
        k = int(losses.argmin())
        return k, k, 1.0
    points = list(zip(losses.tolist(), gains.tolist(), strict=True))
    found = _best_mix(points, power, i, j)
    while True:
        ratio, i, j, part = found
        loss, gain = (part * x + (1.0 - part) * y for x, y in zip(points[i], points[j], strict=True))
        if loss == 0.0:
            return i, j, part
        top = int((gains - power * gain / loss * losses).argmax())
        found = min(_best_mix(points, power, top, other) for other in (i, j))
        if not found[0] < ratio:
            return i, j, part


def _best_mix(points: list[tuple[float, float]], power: float, i: int, j: int) -> tuple[float, int, int, float]:
    """The least ratio of a mix of two arms, the one with more gain, the other, and the first one's probability."""
    if points[i][1] < points[j][1]:
        i, j = j, i
    (loss, gain), (least, other) = points[i], points[j]
    part = 1.0
    if loss > least:
        part = (least / (loss - least) - power * other / (gain - other)) / (power - 1.0) if gain > other else 0.0
        part = min(1.0, max(0.0, part))
    loss, gain = part * loss + (1.0 - part) * least, part * gain + (1.0 - part) * other
    return loss**power / max(gain, _LEAST), i, j, part


@dataclass(frozen=True, repr=False)
class IDS(Policy):
    """Information-directed sampling (Russo and Van Roy, 2018), by variances, with bounds on the means.

    From the posteriors of the means (those of `ThompsonSampling`) follow the loss that is expected of playing an arm,
    and how much knowing the best arm would say about the arm's mean, as a variance. IDS plays one of two arms, with the
    probabilities for which ``loss**power / variance`` of the mix is least: an arm that loses more is played only as far
    as it teaches more.

    Parameters
    ----------
    f
        Not used.
    moments
        With 2, the second moment of the rewards counts as well: the less rewards vary, the less is explored.
    power
        How much loss weighs against information, above 1 and at most 10. Below the published 2, more is explored.

    Examples
    --------
    Arm 0 has a known mean, and only arm 1 can teach anything:

    >>> import meanbounds as mb
    >>> agent = mb.Agent(mb.IDS(power=2), mb.MeanBounds([0.6, 0.0], [0.6, 1.0]), seed=1)
    >>> agent.probabilities().round(4)
    array([0.2, 0.8])
    """

    source: ClassVar[str] = "Russo and Van Roy 2018, with bounds"
    takes_prior: ClassVar[bool] = True
    learns_prior: ClassVar[bool] = True
    counts_pending: ClassVar[bool] = True

    moments: int = 1
    power: float = 1.5

    def __post_init__(self) -> None:
        super().__post_init__()
        check_moments(self.moments)
        if not 1.0 < as_float("IDS: power", self.power) <= 10.0:
            raise ValueError(f"the power of IDS is a number above 1 and at most 10; got {shown(self.power)}")

    def probabilities(self, known: Known, seen: Seen, t: Floats, cache: Cache | None = None) -> Floats:
        """The probabilities of the best mix; the cache keeps each row's integrals."""
        found, (arms, low, width) = posterior(known, seen, self.moments), self.candidates(known)
        laws = np.empty((7, *found.parts.weight.shape))
        for n, own in enumerate((*found.parts, (found.low - low) / width, found.width / width)):
            laws[n] = own
        if known.learned is not None:
            np.copyto(laws[1:3], _coarse(laws[1:3]), where=known.learned)
        cache, (rows, size) = {} if cache is None else cache, laws.shape[2:]
        if not (cache.get("arms") is arms and cache["laws"].shape == laws.shape):
            cache |= {"arms": arms, "laws": np.full_like(laws, np.nan), "rows": [_Row(size) for _ in range(rows)]}
        changed = (laws != cache["laws"]).reshape(-1, rows, size).any(axis=0) & arms
        cache["laws"], chance = laws, np.zeros((rows, size))
        for row, tables in enumerate(cache["rows"]):
            if own := changed[row].nonzero()[0].tolist():
                tables.update(own, laws[:, :, row, own].T.tolist())
            live, part = tables.mix(self.power)
            chance[row, live] = part
        return chance

    @once
    def candidates(self, known: Known) -> tuple[Booleans, float, float]:
        """The arms that can be best, and the units of the integrals: where the ranges start, and how wide they are."""
        low = known.low.min()
        return known.without_doubted.possible, low, (known.high - low).max()
