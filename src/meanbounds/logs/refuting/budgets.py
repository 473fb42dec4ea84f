"""How much an assumption lets the expert get wrong, in each context: what the tests of choices and means need."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meanbounds.logs.assumptions import Assumption, ErringExpert, NearlyOptimalExpert, OptimalExpert, World
from meanbounds.support.types import Floats

__all__ = ["Budget"]


@dataclass(frozen=True, eq=False)
class Budget:
    """What an expert may get wrong in each context, on average; losses and gaps in units of the range.

    Attributes
    ----------
    errors
        The largest share of cases in which the choice was another than the one that is best by ``gap_low``.
    loss
        The most that the best choices would add to the mean.
    gap_low, gap_high
        Between best and second best at least, and between best and worst at most.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.logs.assumptions import World
    >>> from meanbounds.logs.refuting.budgets import Budget
    >>> own = Budget.of(mb.logs.NearlyOptimalExpert(0.02, gap_low=0.1), World(("all",), 0.0, 1.0))
    >>> own.errors, own.loss  # an error loses 0.1 or more
    (array([0.2]), array([0.02]))
    """

    errors: Floats
    loss: Floats
    gap_low: Floats
    gap_high: Floats

    @classmethod
    def of(cls, part: Assumption, world: World) -> Budget | None:
        """The budget of one assumption; None if it says nothing of how good the choices were."""
        part.claims(world)  # refuses numbers that cannot be
        if not isinstance(part, OptimalExpert | ErringExpert | NearlyOptimalExpert):
            return None
        low, high = world.gaps(part.gap_low, part.gap_high)
        if isinstance(part, NearlyOptimalExpert):
            loss = world.numbers("loss", part.loss) / (world.high - world.low)
            errors = np.divide(loss, low, out=np.ones(low.size), where=low > 0.0)
            return cls(np.minimum(errors, 1.0), loss, low, high)
        errors = world.numbers("errors", part.errors) if isinstance(part, ErringExpert) else np.zeros(low.size)
        return cls(errors, errors * high, low, high)
