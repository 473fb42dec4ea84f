"""Bounds from a finite log, one arm and one variable after the other: the slow twin of `meanbounds.logs.finite`."""

from __future__ import annotations

from math import log

import numpy as np

from meanbounds.logs.assumptions.claims import Claims
from meanbounds.logs.cells import Cells
from meanbounds.logs.confidence import Samples, lower_limit, upper_limit
from meanbounds.logs.histogram import Histogram
from meanbounds.logs.shares import Shares, set_nats
from meanbounds.support.types import Floats
from tests.logs.naive_sets import promising_sets

__all__ = ["naive_bet", "naive_bounds", "naive_check"]

THRESHOLDS = {0.0: 0.3, 0.25: 0.4 / 3, 0.5: 0.4 / 3, 0.75: 0.4 / 3, 1.0: 0.3}


class Rows:
    """Values that a variable takes, each between two edges, in so many rows; or its sums alone."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.width = low, high - low
        self.rows = self.total = self.squares = 0.0
        self.values: list[tuple[float, float, float]] = []

    def sums(self, rows: float, total: float, squares: float, *, slope: float = 1.0, by: float = 0.0) -> None:
        """Rows of a reward Y with these sums, in which the variable is slope Y + by."""
        self.rows += rows
        self.total += slope * total + by * rows
        self.squares += slope**2 * squares + 2.0 * slope * by * total + by**2 * rows

    def edges(self, low: float, high: float, rows: float) -> None:
        self.values.append((low, high, rows))

    def samples(self) -> Samples:
        unit = (self.total - self.low * self.rows) / self.width
        squares = (self.squares - 2.0 * self.low * self.total + self.low**2 * self.rows) / self.width**2
        if not self.values:
            return Samples(self.rows, unit, squares)
        low, high, count = (np.array(part) for part in zip(*self.values, strict=True))
        low, high = (np.clip((end - self.low) / self.width, 0.0, 1.0) for end in (low, high))
        return Samples(self.rows, unit, squares, Histogram(low, high, count[None]))

    def upper(self, goal: float, method: str) -> float:
        return self.low + self.width * _upper_limit(self.samples(), goal, method)

    def lower(self, goal: float, method: str) -> float:
        return self.low + self.width * (1.0 - _upper_limit(self.samples().mirrored(), goal, method))


def _upper_limit(samples: Samples, goal: float, method: str) -> float:
    own = samples.histogram
    if method != "betting" or own is None:
        return float(upper_limit(samples, goal, method)[0])
    return naive_bet(own.values_high, own.count[0], float(samples.rows), goal)


def naive_bet(values: Floats, counts: Floats, rows: float, goal: float) -> float:
    """The betting limit by halving: one minus the largest mean of one minus the variable that is ruled out."""
    if rows < 1.0:
        return 1.0
    turned, counts = 1.0 - values[counts > 0.0], counts[counts > 0.0]
    places = np.arange(24)
    stakes = np.sqrt(2.0 * goal / rows * 4.0 * 2.0**places)
    below, above = 0.0, float(counts @ turned) / rows  # nothing above the sample's mean is ruled out
    for _ in range(60):
        middle = 0.5 * (below + above)
        bets = np.minimum(stakes, 0.9 / middle) if middle > 0.0 else stakes
        gains = np.log1p(bets[:, None] * (turned - middle)) @ counts - np.log((places + 1.0) * (places + 2.0))
        top = float(gains.max())
        if middle > 0.0 and top + float(np.log(np.sum(np.exp(gains - top)))) >= goal:
            below = middle
        else:
            above = middle
    return 1.0 - below


def naive_bounds(cells: Cells, claims: Claims, shares: Shares, method: str) -> tuple[Floats, Floats]:
    """Both limits of every arm of the first context."""
    arms = cells.rows.shape[1]
    lower = [_lower(cells, k, claims, shares, method) for k in range(arms)]
    upper = [_upper(cells, k, claims, shares, method) for k in range(arms)]
    for k in range(arms):
        for one in claims.tilted:
            own = (float(one.odds[0]), one.weight, shares, method)
            upper[k] = min(upper[k], _tilted(cells, k, *own))
            lower[k] = max(lower[k], 1.0 - _tilted(cells.mirrored(), k, *own))
    return np.array(lower), np.array(upper)


def naive_check(cells: Cells, gap: float, shares: Shares, method: str) -> Floats:
    """The limits on the mean of (Y - gap) 1{A = k}."""
    found = []
    for k in range(cells.rows.shape[1]):
        rows = Rows(-gap, 1.0)
        rows.sums(*_sums(cells, [k]), by=-gap)
        rest = float(cells.rows[0].sum() - cells.rows[0, k])
        rows.sums(rest, 0.0, 0.0)
        if method == "betting":
            for v, count in enumerate(cells.counted[0, k]):
                rows.edges(cells.values_low[v] - gap, cells.values_high[v] - gap, count)
            rows.edges(0.0, 0.0, rest)
        found.append(rows.upper(shares.check, method))
    return np.array(found)


def _sums(cells: Cells, arms: list[int]) -> tuple[float, float, float]:
    rows, total, squares = (float(part[0, arms].sum()) for part in (cells.rows, cells.total, cells.squares))
    return rows, total, squares


def _upper(cells: Cells, k: int, claims: Claims, shares: Shares, method: str) -> float:
    others = [j for j in range(cells.rows.shape[1]) if j != k]
    spent: dict[tuple[float, float, float], float] = {}
    for one in claims.raised:
        for floor, weight in zip(one.floors, one.weights, strict=True):
            minus, errors = float(one.minus[0]), float(one.errors[0])
            key = (floor, minus, float(one.plus[0]) + errors * (1.0 + minus - floor))
            spent[key] = spent.get(key, 0.0) + weight
    found = []
    for (floor, minus, plus), weight in spent.items():
        rows = Rows(min(0.0, floor - minus), 1.0)
        rows.sums(*_sums(cells, [k]))
        counted = cells.counted[0, others].sum(axis=0)
        if 0.0 < floor < 1.0 and counted.size:
            for value, count in zip(cells.values_high, counted, strict=True):
                raised = max(value, floor) - minus
                rows.sums(count, raised * count, raised**2 * count)
        else:
            rows.sums(*_sums(cells, others), slope=1.0 - floor, by=floor - minus)
        if method == "betting":
            for v, value in enumerate(cells.values_high):
                rows.edges(value, value, cells.counted[0, k, v])
                rows.edges(max(value, floor) - minus, max(value, floor) - minus, counted[v])
        found.append(rows.upper(shares.part(weight), method) + plus)
    return min(found)


def _lower(cells: Cells, k: int, claims: Claims, shares: Shares, method: str) -> float:
    arms, gap = cells.rows.shape[1], float(claims.gap_high[0])
    price = shares.part(claims.sets) + set_nats(arms - 1)
    if gap >= 1.0 or arms == 1:
        return _of_set(cells, k, [], 0.0, shares.part(claims.sets), method)
    args = (cells.rows[0], cells.total[0], cells.squares[0], np.array([k]), gap, price, method)
    sets, _ = promising_sets(*args)
    best = _of_set(cells, k, [], 0.0, price[0], method)
    for chosen in sets[0]:
        others = np.flatnonzero(chosen).tolist()
        best = max(best, _of_set(cells, k, others, gap, price[len(others)], method))
    return best


def _of_set(cells: Cells, k: int, chosen: list[int], gap: float, goal: float, method: str) -> float:
    rows, own = Rows(-gap, 1.0), cells.counted[0]
    rows.sums(*_sums(cells, [k]))
    rows.sums(*_sums(cells, chosen), by=-gap)
    rest = float(cells.rows[0].sum()) - rows.rows
    rows.sums(rest, 0.0, 0.0)
    if method == "betting":
        for v, value in enumerate(cells.values_low):
            rows.edges(value, value, own[k, v])
            rows.edges(value - gap, value - gap, own[chosen, v].sum())
        rows.edges(0.0, 0.0, rest)
    return rows.lower(goal, method)


def _tilted(cells: Cells, k: int, odds: float, weight: float, shares: Shares, method: str) -> float:
    n, own = float(cells.rows[0].sum()), float(cells.rows[0, k])
    if own < 1.0:
        return 1.0
    goal = shares.part(0.1 * weight) - log(2.0)
    share = float(lower_limit(Samples(n, own, own), goal, "kl")[0])
    found = []
    for q, part in THRESHOLDS.items():

        def variable(y: float, q: float = q) -> float:
            return share * y + (1.0 - share) * (q + odds * max(y - q, 0.0) - max(q - y, 0.0) / odds)

        rows = Rows(variable(0.0), variable(1.0))
        if cells.values_high.size:
            for y, count in zip(cells.values_high, cells.counted[0, k], strict=True):
                rows.sums(count, variable(y) * count, variable(y) ** 2 * count)
                if method == "betting":
                    rows.edges(variable(y), variable(y), count)
        else:
            rows.sums(*_sums(cells, [k]), slope=variable(1.0) - variable(0.0), by=variable(0.0))
        found.append(rows.upper(shares.part(0.9 * weight * part), method))
    return min(1.0, *found)
