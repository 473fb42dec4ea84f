"""R-OFUL's exact index: the largest mean of an arm over all parameters that bounds and confidence set both allow."""

from __future__ import annotations

from typing import NamedTuple

from meanbounds.linear.feasible import Extent, FeasibleSet
from meanbounds.support.types import Booleans, Floats

__all__ = ["TOLERANCE", "Ellipsoids", "Proofs", "indices"]

TOLERANCE = 1e-8
"""How far an index may be above the true maximum, relative to ``norm_high * length + |offset|``; never below it.

Indices closer than that are equal: break such ties by estimates.
"""


class Ellipsoids(NamedTuple):
    """The confidence set of each row: all parameters with ``||parameter - centre||_precision <= radius``."""

    centre: Floats  # (rows, d)
    precision: Floats  # (rows, d, d): V
    inverse: Floats  # (rows, d, d): its inverse; rounding errors of rank-one updates do no harm
    radius: Floats  # (rows,)


class Proofs:
    """What earlier rounds proved about indices; keep one for as long as rows and feasible set stay the same.

    It saves most programs, and changes no decision.
    """

    def __init__(self, rows: int, arms: int, dimension: int) -> None:
        raise NotImplementedError


def indices(
    feasible: FeasibleSet,
    arms: Extent,
    ellipsoids: Ellipsoids,
    clip: Floats,
    wanted: Booleans,
    *,
    proofs: Proofs | None = None,
    every: bool = False,
) -> tuple[Floats, Booleans]:
    """The exact index of each arm that can have the largest one.

    Parameters
    ----------
    feasible
        The parameters that the bounds allow.
    arms
        The arms: ``feasible.own``, or ``feasible.extent(features, offset)`` for others.
    ellipsoids
        The confidence set of each row.
    clip
        The clip index of each arm, shape (rows, arms): OFUL's index, at most the upper bound on the mean. The exact
        index is never above it.
    wanted
        The arms that can be played, shape (rows, arms).
    proofs
        What earlier rounds proved about the same rows and arms; it is updated.
    every
        Whether each wanted arm's index must be exact. By default only the largest are (an arm that is seen to be the
        only largest keeps a number above all others), and other arms have a number that is smaller.

    Returns
    -------
    index
        Shape (rows, arms); minus infinity for arms that are not wanted.
    empty
        Shape (rows,): rows where no parameter is in both sets, which is proved: bounds and data contradict each other.
        Their `index` is the clip index. Emptiness is noticed only where a program was needed.
    """
    raise NotImplementedError
