"""What earlier rounds proved about exact indices, so that few cone programs are solved again.

The bounds stay while the confidence set changes. So a solution is worth keeping in two ways. Its multipliers give a
slope a and a level s with ``x . parameter <= s + a . parameter`` for every parameter that satisfies the bounds: with
the confidence set of today, the right side is at most s plus the index of OFUL for features a, and the index of the arm
is not larger. The maximiser satisfies the bounds; moved towards a point inside the confidence set of today until it is
in there too, it shows what the index is at least. Choices do not depend on either: they only say what need not be
solved.

All is in units in which features have length 1 and the parameter a norm of at most 1.
"""

from __future__ import annotations

from math import inf, sqrt

import numpy as np

from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.linear.design import Design, spread
from meanbounds.kernels.linear.pool import Pool
from meanbounds.kernels.solvers.cone import Known, Maximum
from meanbounds.support.types import Floats

__all__ = ["at_least", "at_most", "remember", "satisfies"]

_SOLVED = 1e-7  # gap of a solution that is worth keeping
_LONGER = 1e-10  # how far outside a limit a point may be: as far as the cone solver relaxes it


@compiled
def satisfies(known: Known, point: Floats, slack: float) -> bool:
    """Whether a parameter satisfies all limits but the ellipsoid."""
    square = 0.0
    for i in range(point.size):
        square += point[i] * point[i]
    if square > 1.0 + slack:
        return False
    for k in range(known.rows.shape[0]):
        value = 0.0
        for i in range(point.size):
            value += known.rows[k, i] * point[i]
        if value > known.upper[k] + slack or value < known.lower[k] - slack:
            return False
    return True


@compiled
def remember(pool: Pool, design: Design, known: Known, norm_high: float, arm: int, found: Maximum) -> None:
    """Keep what a solution proves, and move the design's point on the line to the maximiser, closest to the estimate.

    Distances are those of the confidence set. A point that does not satisfy the bounds is left for the maximiser.
    """
    if not found.gap < _SOLVED:
        return
    d, proof, inner = design.point.size, pool.proofs[arm], design.point
    proof[0] = found.level
    for i in range(d):
        proof[1 + i], proof[1 + d + i] = found.slope[i], found.point[i]
    along, square = 0.0, 0.0
    for i in range(d):
        part = 0.0
        for j in range(d):
            part += design.precision[i, j] * (found.point[j] - inner[j])
        square += part * (found.point[i] - inner[i])
        along += part * (design.estimate[i] / norm_high - inner[i])
    share = min(max(along / square, 0.0), 1.0) if square > 0.0 else 0.0
    share = share if satisfies(known, inner, _LONGER) else 1.0
    for i in range(d):
        inner[i] += share * (found.point[i] - inner[i])


@compiled
def at_most(pool: Pool, design: Design, norm_high: float, reach: float, arm: int, image: Floats) -> float:
    """What an earlier solution proves that the index of an arm is at most; infinite if there is none."""
    proof, d = pool.proofs[arm], image.size
    if not proof[0] < inf:
        return inf
    slope, value = proof[1 : 1 + d], norm_high * proof[0]
    value += reach * sqrt(spread(design, slope, image))
    for i in range(d):
        value += slope[i] * design.estimate[i]
    return float(pool.offset[arm] + pool.length[arm] * value)


@compiled
def at_least(pool: Pool, design: Design, known: Known, norm_high: float, reach: float, arm: int) -> float:
    """What a point of an earlier solution shows that the index of an arm is at least; minus infinity if nothing.

    The point is checked against all that is known.
    """
    proof, inner, d = pool.proofs[arm], design.point, design.point.size
    if not proof[0] < inf:
        return -inf
    old = proof[1 + d :]
    inside, across, square = 0.0, 0.0, 0.0
    for i in range(d):
        first, second = 0.0, 0.0
        for j in range(d):
            first += design.precision[i, j] * (inner[j] - design.estimate[j] / norm_high)
            second += design.precision[i, j] * (old[j] - inner[j])
        inside += first * (inner[i] - design.estimate[i] / norm_high)
        across += second * (inner[i] - design.estimate[i] / norm_high)
        square += second * (old[i] - inner[i])
    room = (reach / norm_high) ** 2 - inside
    if not room > 0.0:
        return -inf
    share = 1.0
    if square + 2.0 * across > room:
        share = (sqrt(across * across + square * room) - across) / square
    point, value = np.empty(d), 0.0
    for i in range(d):
        point[i] = inner[i] + share * (old[i] - inner[i])
        value += pool.features[arm, i] * point[i]
    return float(pool.offset[arm] + norm_high * value) if satisfies(known, point, _LONGER) else -inf
