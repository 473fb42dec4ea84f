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
from meanbounds.logs.shares import set_nats
from meanbounds.support.types import Booleans, Floats

__all__ = ["low_rewards"]


def low_rewards(part: Assumption, world: World, cells: Cells, goal: float, method: str) -> Iterator[Strike]:
    """Contexts in which rewards are too low for ``gap_low``, for one arm or for several together.

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
    price = goal + log(2.0 * len(world.contexts))
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
    """Whether the mean of (gap_low - Y) 1{A in S} is above what errors can add.

    S is each arm and all of them, which share one half of the failure probability, and the arms with means below the
    gap: every set could be that one, so its price is that of a set of its size.
    """
    gap, arms = budget.gap_low[:, None], cells.rows.shape[1]
    turned = cells.mirrored()  # 1 - Y where the arm is in S, else 1 - gap_low
    low = cells.total < gap * cells.rows
    rows, total, squares = (_in_sets(part, low) for part in (turned.rows, turned.total, turned.squares))
    everything = cells.rows.sum(axis=1, keepdims=True)
    rest = everything - rows
    unit = Samples(
        np.broadcast_to(np.maximum(everything, 1.0), rows.shape),
        total + rest * (1.0 - gap),
        squares + rest * (1.0 - gap) ** 2,
    )
    goals = np.full(rows.shape, price + log(arms + 1))
    goals[:, -1] = price + set_nats(arms)[low.sum(axis=1)]
    least = lower_limit(unit, goals, method)
    refuted = least - (1.0 - gap) > (budget.gap_low * budget.errors)[:, None] + 1e-9
    found: Booleans = refuted.any(axis=1) & (everything[:, 0] > 0.0) & (budget.gap_low > 0.0)
    return found


def _in_sets(part: Floats, low: Booleans) -> Floats:
    """Sums over each arm, over all arms, and over those that are low."""
    return np.concatenate([part, part.sum(axis=1, keepdims=True), (part * low).sum(axis=1, keepdims=True)], axis=1)
