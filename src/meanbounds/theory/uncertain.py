"""The price of bounds on the means that may be wrong."""

from __future__ import annotations

from typing import overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanbounds.support.checks import LARGEST, as_float, as_floats, broadcast_floats, shown
from meanbounds.theory.given import as_rounds

__all__ = ["uncertain_regret"]


@overload
def uncertain_regret(regret_bound: float, failure: ArrayLike, horizon: int, *, width: float = 1.0) -> float: ...
@overload
def uncertain_regret(
    regret_bound: ArrayLike, failure: ArrayLike, horizon: ArrayLike, *, width: float = 1.0
) -> float | NDArray[np.float64]: ...
def uncertain_regret(
    regret_bound: ArrayLike, failure: ArrayLike, horizon: int | ArrayLike, *, width: float = 1.0
) -> float | NDArray[np.float64]:
    r"""Bound the expected regret where the bounds on the means may be wrong, with a known probability.

    .. math:: \min\left(B + n W \min\left(1, \textstyle\sum_k p_k\right),\; n W\right)

    The bounds miss some mean with probability at most the sum of the :math:`p_k`, even if the misses depend on each
    other. If they do, regret is at most n W; otherwise the theorem's bound B holds.

    Parameters
    ----------
    regret_bound
        Bound B on the regret if the bounds on the means hold, such as `glue_regret`, in reward units.
    failure
        Probability that an arm's bounds miss its mean, one for each arm, or one number for all arms together.
    horizon
        Number of rounds n; an array if the regret bound is one.
    width
        The largest regret W that a round can have, in reward units: at most the width of the rewards' range if all
        arms have the same range.

    Notes
    -----
    Corollary 6.1. Differs from the paper: the printed extra regret, n times the sum of p_k, is for means within [0, 1];
    on [0, 10] it is up to ten times too small. The rewards must be independent of the data behind the bounds.

    The extra regret grows with n for fixed p_k. A policy that trusts the bounds less than fully needs no horizon: see
    `doubt_regret` and docs/trust.md.

    Examples
    --------
    >>> import meanbounds as mb
    >>> mb.theory.uncertain_regret(286.0, [1e-3, 1e-3], 10_000)
    306.0
    >>> mb.theory.uncertain_regret(286.0, [1e-3, 1e-3], 10_000, width=4.0)
    366.0
    """
    rounds = as_rounds(horizon)
    missed = as_floats("failure", failure)
    if not np.all((missed >= 0.0) & (missed <= 1.0)):
        raise ValueError(f"failure must be probabilities, one for each arm or one for all; got {shown(failure)}")
    largest = as_float("width", width)
    if not 0.0 <= largest < LARGEST:
        raise ValueError(f"width must be a finite number, at least 0: the largest regret of a round; got {width!r}")
    bound, whole = broadcast_floats(regret_bound=regret_bound, horizon=rounds * largest)
    if not np.all(bound >= 0.0):
        raise ValueError(f"regret_bound must not be negative; got {shown(regret_bound)}")
    total = np.minimum(bound + whole * min(1.0, float(missed.sum())), whole)
    return float(total) if total.ndim == 0 else total
