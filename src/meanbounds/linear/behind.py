"""Which arms' bounds are behind a bound that follows from all of them together."""

from __future__ import annotations

import numpy as np

from meanbounds.bounds import Arm
from meanbounds.kernels.solvers.cone import maximise_each
from meanbounds.linear.feasible import FeasibleSet

__all__ = ["arms_behind"]

_CLOSE = 1e-6  # of the norm: how near to its limit a row counts as one that holds the mean back


def arms_behind(feasible: FeasibleSet | None, arm: int, *, upper: bool) -> tuple[Arm, ...]:
    """The arms whose bounds keep the mean of this one from being larger, or smaller; none if its own bound does.

    Parameters
    ----------
    feasible
        The parameters that satisfy all bounds; None where nothing was concluded from them.
    arm
        The place of the arm.
    upper
        Whether the upper bound is meant.

    Examples
    --------
    >>> import meanbounds as mb
    >>> bounds = mb.MeanBounds([0.6, 0.0], [0.9, 1.0], arms=["a", "b"])
    >>> feasible = mb.FeasibleSet(mb.LinearArms([[1.0, 0.0], [0.0, 1.0]], bounds), norm_high=1.0)
    >>> arms_behind(feasible, 1, upper=True), arms_behind(feasible, 0, upper=True)  # 0.6^2 + 0.8^2 = 1
    (('a',), ())
    """
    if feasible is None or not feasible.arms.features[arm].any():
        return ()
    known, own = feasible.known, feasible.arms
    x = (own.features[arm] / own.length[arm])[None, :]
    point = maximise_each(np.ascontiguousarray(x if upper else -x), known)[2][0]
    values = known.rows @ point
    tied = (np.abs(values - known.upper) < _CLOSE) | (np.abs(values - known.lower) < _CLOSE)
    places = [int(row) for row in feasible.rows[tied] if row < len(own.bounds)]
    return () if arm in places else tuple(own.bounds.arms[k] for k in places)
