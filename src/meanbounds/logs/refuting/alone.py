"""What rewards alone say: where an arm is the best one by a gap, its mean is at least that gap."""

from __future__ import annotations

from collections.abc import Iterator
from math import log

import numpy as np

from meanbounds.logs.assumptions import Assumption, World
from meanbounds.logs.cells import Cells
from meanbounds.logs.confidence import Samples, lower_limit
from meanbounds.logs.refuting.budgets import Budget
from meanbounds.logs.refuting.strike import Strike
from meanbounds.support.types import Booleans, Floats

__all__ = ["low_rewards"]


def low_rewards(part: Assumption, world: World, cells: Cells, goal: float, method: str) -> Iterator[Strike]:
    """Contexts in which rewards are too low for ``gap_low``, for one arm or for all of them together.

    Parameters
    ----------
    part, world, cells
        One assumption, and the log in units of the range.
    goal
        Minus the logarithm of the probability of a false alarm, in all contexts together.
    method
        How limits on means are computed.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.logs.assumptions import World
    >>> from meanbounds.logs.cells import Cells
    >>> from meanbounds.logs.refuting.alone import low_rewards
    >>> counts = mb.logs.Counts(["all"], ["a", "b"], count=[[900, 100]], total=[[90, 10]], squares=[[90, 10]])
    >>> for strike in low_rewards(mb.logs.OptimalExpert(0.3), World(("all",), 0, 1), Cells.of(counts), 3.0, "kl"):
    ...     print(strike.reason)
    the rewards are too low for gap_low: the arm played would be at least 0.3 above the bottom of the range
    """
    budget = Budget.of(part, world)
    arms = cells.rows.shape[1]
    if budget is None or arms < 2 or not budget.gap_low.any():
        return
    price = goal + log(len(world.contexts) * (arms + 1))
    for place in np.flatnonzero(_refuted(budget, cells, price, method)).tolist():
        one, here = World(world.contexts[place : place + 1], world.low, world.high), cells.at(slice(place, place + 1))

        def holds(other: Assumption, one: World = one, here: Cells = here) -> bool:
            own = Budget.of(other, one)
            return own is None or not _refuted(own, here, price, method)[0]

        gap = budget.gap_low[place] * (world.high - world.low)
        reason = (
            f"the rewards are too low for gap_low: the arm played would be at least {gap:.4g} above the bottom of the "
            f"range"
        )
        if budget.errors[place]:
            reason += f", in all but {budget.errors[place]:.3g} of the cases"
        yield Strike(place, reason, holds)


def _refuted(budget: Budget, cells: Cells, price: float, method: str) -> Booleans:
    """Whether the mean of (gap_low - Y) 1{A in S} is above what errors can add, for S an arm or all arms."""
    gap = budget.gap_low[:, None]
    turned = cells.mirrored()  # 1 - Y where the arm is in S, else 1 - gap_low
    inside = [np.concatenate([part, part.sum(axis=1, keepdims=True)], axis=1) for part in _sums(turned)]
    rows = np.maximum(cells.rows.sum(axis=1, keepdims=True), 1.0)
    rest = cells.rows.sum(axis=1, keepdims=True) - inside[0]
    total = inside[1] + rest * (1.0 - gap)
    squares = inside[2] + rest * (1.0 - gap) ** 2
    seen = cells.rows.any(axis=1)
    least = lower_limit(Samples(np.broadcast_to(rows, total.shape), total, squares), price, method)
    refuted = least - (1.0 - gap) > (budget.gap_low * budget.errors)[:, None] + 1e-9
    found: Booleans = refuted.any(axis=1) & seen & (budget.gap_low > 0.0)
    return found


def _sums(cells: Cells) -> tuple[Floats, Floats, Floats]:
    return cells.rows, cells.total, cells.squares
