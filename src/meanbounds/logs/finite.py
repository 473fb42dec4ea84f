"""Bounds from a finite log: each mean that an assumption claims something of gets a confidence limit.

How likely each limit is to fail is settled in `meanbounds.logs.shares`. Contexts are worked on in parts, by as many
threads as there are cores.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from math import inf, log

import numpy as np

from meanbounds.kernels.logs.limits import METHOD_CODES
from meanbounds.kernels.logs.sweep import check_limits, lower_limits, odds_limits, upper_limits
from meanbounds.logs.assumptions.claims import Claims
from meanbounds.logs.cells import Cells
from meanbounds.logs.shares import Shares, set_nats
from meanbounds.logs.weights import Weights
from meanbounds.support.types import Floats

__all__ = ["finite_bounds", "finite_checks"]

_AT_ONCE = 2**15  # cells of context and arm in one part; the parts of a small log are one
_THRESHOLDS = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
_THRESHOLD_WEIGHTS = (0.3, 0.4 / 3, 0.4 / 3, 0.4 / 3, 0.3)
_SHARE = 0.1  # what the limit on an arm's share spends of a tilted bound, of both sides together


def finite_bounds(
    cells: Cells, weights: Weights | None, claims: Claims, shares: Shares, method: str
) -> tuple[Floats, Floats]:
    """Lower and upper limits on each arm's mean, contexts x arms, in units of the range.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.logs.assumptions import AnyExpert, World
    >>> from meanbounds.logs.cells import Cells
    >>> from meanbounds.logs.finite import finite_bounds
    >>> from meanbounds.logs.shares import Shares
    >>> lab = mb.HiddenContexts([[[0.9, 0.4], [0.3, 0.6]]], [[0.5, 0.5]])
    >>> claims, shares = AnyExpert().claims(World(("z0",), 0.0, 1.0)), Shares.of(0.96, contexts=1, arms=2, checks=0)
    >>> lower, upper = finite_bounds(Cells.of(lab.sample(10_000, seed=7)), None, claims, shares, "kl")
    >>> lower.round(2), upper.round(2)  # an infinite log gives 0.45 and 0.3, 0.95 and 0.8
    (array([[0.44, 0.29]]), array([[0.96, 0.81]]))
    """
    lower, upper = np.full(cells.rows.shape, -inf), np.full(cells.rows.shape, inf)
    raised = _Raised.of(claims, shares)
    code, arms = METHOD_CODES[method], cells.rows.shape[1]
    alone = shares.part(claims.sets)
    prices = alone + set_nats(arms - 1)

    def part(places: slice) -> None:
        own = cells.copied(places)
        sums = (own.rows, own.total, own.squares)
        minus, plus = raised.minus[places], raised.plus[places]
        columns = (raised.floors, minus, plus, raised.goals)
        upper_limits(*sums, own.values_high, own.counted, *columns, code, upper[places])
        gaps = claims.gap_high[places]
        lower_limits(*sums, own.values_low, own.counted, gaps, prices, alone, code, lower[places])
        turned = own.mirrored() if claims.tilted else own
        for one in claims.tilted:
            goals = np.array([shares.part(one.weight * (1.0 - _SHARE) * weight) for weight in _THRESHOLD_WEIGHTS])
            share_goal = shares.part(one.weight * _SHARE) - log(2.0)  # both sides use it: it spends on either
            for side, limits in ((own, upper[places]), (turned, lower[places])):
                bound = np.ones(limits.shape)
                seen = (side.rows, side.total, side.squares, side.values_high, side.counted)
                odds_limits(*seen, one.odds[places], _THRESHOLDS, share_goal, goals, code, bound)
                if side is own:
                    np.minimum(limits, bound, out=limits)
                else:
                    np.maximum(limits, 1.0 - bound, out=limits)

    _in_parts(part, *cells.rows.shape)
    for one in claims.weighted:
        if weights is not None:
            low, high = weights.limits(one, shares.part(one.weight), method)
            lower, upper = np.maximum(lower, low), np.minimum(upper, high)
    return lower, upper


def finite_checks(cells: Cells, gap: Floats, shares: Shares, method: str) -> Floats:
    """Upper limits on the mean of (Y - gap) 1{A = k} of each arm: one below its least value refutes the gap."""
    found = np.full(cells.rows.shape, inf)

    def part(places: slice) -> None:
        own, code = cells.copied(places), METHOD_CODES[method]
        sums = (own.rows, own.total, own.squares, own.values_high, own.counted)
        check_limits(*sums, gap[places], shares.check, code, found[places])

    _in_parts(part, *cells.rows.shape)
    return found


class _Raised:
    """The variables of all `Raised` claims side by side: floors, goals, and contexts x variables."""

    def __init__(self, floors: Floats, goals: Floats, minus: Floats, plus: Floats) -> None:
        self.floors, self.goals, self.minus, self.plus = floors, goals, minus, plus

    @classmethod
    def of(cls, claims: Claims, shares: Shares) -> _Raised:
        """Those that can differ from others: the same variable, claimed twice, spends both weights."""
        found: dict[tuple[float, bytes, bytes], tuple[float, float, Floats, Floats]] = {}
        for one in claims.raised:
            for floor, weight in zip(one.floors, one.weights, strict=True):
                plus = one.plus + one.errors * (1.0 + one.minus - floor)
                key = floor, one.minus.tobytes(), plus.tobytes()
                before = found[key][1] if key in found else 0.0
                found[key] = floor, before + weight, one.minus, plus
        floors, weights, minus, plus_of = zip(*found.values(), strict=True)
        goals = np.array([shares.part(weight) for weight in weights])
        return cls(np.array(floors), goals, np.stack(minus, axis=1).copy(), np.stack(plus_of, axis=1).copy())


def _in_parts(work: Callable[[slice], None], contexts: int, arms: int) -> None:
    """Do the work for some contexts at a time, in threads if there is enough of it."""
    size = max(1, _AT_ONCE // arms)
    parts = [slice(first, min(first + size, contexts)) for first in range(0, contexts, size)]
    work(parts[0])  # kernels are compiled here, at the first time
    if len(parts) == 1:
        return
    with ThreadPoolExecutor(max_workers=min(len(parts), os.cpu_count() or 1)) as pool:
        for done in [pool.submit(work, part) for part in parts[1:]]:
            done.result()
