"""A slow, readable twin of information-directed sampling: integrals on a fine fixed grid, pair by pair.

Nothing is shared with the kernels but numpy's Gauss-Legendre nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre

from meanbounds.support.types import Floats

NODES, WEIGHTS = legendre.leggauss(16)
DEGREES = np.arange(16)
BASIS = legendre.legvander(NODES, 16)
INTEGRALS = (BASIS[:, 1:] - np.hstack([-np.ones((16, 1)), BASIS[:, :15]])) / (2 * DEGREES + 1)
UP_TO = INTEGRALS @ ((DEGREES[:, None] + 0.5) * BASIS[:, :16].T * WEIGHTS)


class Law(NamedTuple):
    """Density (x - bottom)^rise (top - x)^fall between the bounds; a point where these are equal."""

    rise: float
    fall: float
    lower: float
    upper: float
    bottom: float = 0.0
    top: float = 1.0

    @property
    def is_point(self) -> bool:
        return not self.lower < self.upper


class Values(NamedTuple):
    """Chance of being best, expected shortfall, and variance of the mean's expectation given which arm is best."""

    best: Floats
    short: Floats
    learnt: Floats


def grid(laws: Sequence[Law], pieces: int, around: bool) -> Floats:
    """Ends of panels: all bounds, equal pieces between the outer ones, and steps around each peak."""
    low, high = min(law.lower for law in laws), max(law.upper for law in laws)
    ends = {*np.linspace(low, high, pieces + 1).tolist(), *(end for law in laws for end in (law.lower, law.upper))}
    for law in laws:
        if law.is_point or not around:
            continue
        span, count = law.top - law.bottom, law.rise + law.fall
        mode = law.bottom + span * (law.rise / count if count else 0.0)
        mode = min(law.upper, max(law.lower, mode))
        spread = span * np.sqrt((law.rise + 1) * (law.fall + 1) / (count + 2) ** 2 / (count + 3))
        steep = abs(law.rise / max(mode - law.bottom, 1e-9) - law.fall / max(law.top - mode, 1e-9))
        for scale in (spread, min(spread, 1 / max(steep, 1e-9))):
            ends |= {x for x in (mode + scale * np.arange(-45, 45.5, 0.5)).tolist() if law.lower < x < law.upper}
        ends |= {law.lower + (law.upper - law.lower) * 0.5**n for n in range(1, 25)}
        ends |= {law.upper - (law.upper - law.lower) * 0.5**n for n in range(1, 25)}
    return np.array(sorted(ends))


def values(laws: Sequence[Law], pieces: int = 100, around: bool = True) -> Values:
    """As defined, in long doubles: E[mean_k given a best] averages E[mean_k given that it is at most x]."""
    size, long = len(laws), np.longdouble
    ends = grid(laws, pieces, around)
    half = 0.5 * np.diff(ends)[:, None].astype(long)
    x = ends[:-1, None] + half * (1 + NODES)
    weight = half * WEIGHTS
    density, share, moment, mean = [], [], [], []
    for law in laws:
        if law.is_point:
            passed = (x > law.lower).astype(long)
            density.append(0 * x)
            share.append(passed)
            moment.append(passed * long(law.lower))
            mean.append(long(law.lower))
            continue
        inside = ((ends[:-1] >= law.lower) & (ends[1:] <= law.upper))[:, None]
        with np.errstate(all="ignore"):
            logs = [law.rise * np.log(x - law.bottom) if law.rise else 0 * x]
            logs += [law.fall * np.log(law.top - x) if law.fall else 0 * x]
            height = np.where(inside, logs[0] + logs[1], -np.inf)
        f = np.exp(height - height.max())
        f /= (f * weight).sum()
        density.append(f)
        for values_of, out in ((f, share), (f * x, moment)):
            panels = (values_of * weight).sum(axis=1)
            out.append((np.cumsum(panels) - panels)[:, None] + half * (values_of @ UP_TO.T.astype(long)))
        mean.append((f * x * weight).sum())
    point = max((law.lower for law in laws if law.is_point), default=-np.inf)
    ties = [k for k, law in enumerate(laws) if law.is_point and law.lower == point]
    best, both = np.zeros(size, long), np.zeros((size, size), long)  # both[k, a]: E[mean_k; a is best]
    with np.errstate(all="ignore"):  # the mean of each arm, given that it is at most x
        limited = np.array([np.where(s > 0, m / s, 0) for s, m in zip(share, moment, strict=True)])
    at, limited_at = np.ones(size, long), np.array(mean)
    for k, law in enumerate(laws):
        if not law.is_point and ties:
            here = density[k] * weight * (x < point)
            at[k] = here.sum()
            limited_at[k] = (here * x).sum() / at[k] if at[k] > 0 else 0
    for a in range(size):
        others = [j for j in range(size) if j != a]
        product = density[a] * weight * (x > point) * np.prod([share[j] for j in others], axis=0)
        known = long(a in ties) / max(1, len(ties)) * np.prod(at[others])
        best[a] = product.sum() + known
        both[:, a] = (limited * product).sum(axis=(1, 2)) + limited_at * known
        both[a, a] = (product * x).sum() + known * limited_at[a]
    short = [sum(both[a, a] - both[k, a] for a in range(size)) for k in range(size)]
    learnt = [
        sum((both[k, a] - best[a] * mean[k]) ** 2 / best[a] for a in range(size) if best[a] > 1e-12)
        for k in range(size)
    ]
    short = [0.0 if loss < 1e-16 * (ends[-1] - ends[0]) else loss for loss in short]
    return Values(*(np.array(part, dtype=np.float64) for part in (best, short, learnt)))


def mix(short: Floats, learnt: Floats, power: float = 2.0) -> dict[int, float]:
    """Probabilities of the best mix: every pair of arms, its probability where the derivative is 0."""
    options: list[tuple[float, dict[int, float]]] = []
    for k in range(len(short)):
        if short[k] <= 0:
            return {k: 1.0}
        if learnt[k] > 0:
            options.append((short[k] ** power / learnt[k], {k: 1.0}))
    for i in range(len(short)):
        for j in range(len(short)):
            if short[i] > short[j] and learnt[i] > learnt[j]:
                gap, more = short[i] - short[j], learnt[i] - learnt[j]
                q = (short[j] / gap - power * learnt[j] / more) / (power - 1)
                if 0 < q < 1:
                    ratio = (q * short[i] + (1 - q) * short[j]) ** power / (q * learnt[i] + (1 - q) * learnt[j])
                    options.append((ratio, {i: q, j: 1 - q}))
    if not options:
        return {int(np.argmin(short)): 1.0}
    return min(options, key=lambda option: option[0])[1]


def spread(chances: dict[int, float], short: Floats, learnt: Floats) -> Floats:
    """Arms that are equal, but for rounding, share."""
    out = np.zeros(len(short))
    for arm, chance in chances.items():
        equal = [
            k
            for k in range(len(short))
            if np.isclose(short[k], short[arm], rtol=1e-8, atol=0)
            and np.isclose(learnt[k], learnt[arm], rtol=1e-8, atol=0)
        ]
        out[equal] += chance / len(equal)
    return out
