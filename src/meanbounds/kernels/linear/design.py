"""Ridge regression, updated with every reward: the matrix, its inverse, the estimate and the confidence radius."""

from __future__ import annotations

from math import log, log1p, sqrt
from typing import NamedTuple

import numpy as np

from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.linear.pool import POOL_MAX, WEIGHTED, Rule
from meanbounds.kernels.solvers.cone import factorise, solve_factored
from meanbounds.support.types import Floats

__all__ = [
    "CONTRADICTIONS",
    "LEAP",
    "PROXY",
    "REFRESH",
    "SMALLEST_PROXY",
    "UPDATES",
    "Design",
    "Update",
    "invert",
    "new_design",
    "observe",
    "radius",
    "refresh",
    "spread",
]

LOG_DETERMINANT = 0  # places in Design.numbers
PROXY = 1
UPDATES = 2
CONTRADICTIONS = 3
_NUMBERS = 4
REFRESH = 1024  # updates of the inverse between two fresh ones
LEAP = 1e4  # an update that shrinks a width by more loses too many digits, and is followed by a fresh inverse
SMALLEST_PROXY = 1e-4  # of the largest: no reward weighs more than ten thousand times another


class Design(NamedTuple):
    """What was seen: V, V^-1, sum of weight x (reward - offset) x features, and V^-1 times that."""

    precision: Floats
    inverse: Floats
    moment: Floats
    estimate: Floats
    numbers: Floats  # log(det V / regularisation^d), largest proxy so far, updates, contradictions


class Update(NamedTuple):
    """How an observation changed the design.

    For any features y, ``y V^-1 y`` has changed by ``- factor (y . image)^2`` and ``y . estimate`` by
    ``shift (y . image)``, where the image is V^-1 x of the arm that was played; not so if all was computed anew.
    """

    weight: float
    factor: float
    shift: float
    refreshed: bool


@compiled
def new_design(dimension: int, regularisation: float) -> Design:
    """The regression before the first reward."""
    return Design(
        np.eye(dimension) * regularisation,
        np.eye(dimension) / regularisation,
        np.zeros(dimension),
        np.zeros(dimension),
        np.zeros(_NUMBERS),
    )


@compiled
def invert(matrix: Floats, moment: Floats, inverse: Floats, estimate: Floats) -> float:
    """The inverse of a matrix, which is used up, its product with the moment, and log of the determinant."""
    factorise(matrix)
    d, log_determinant = moment.size, 0.0
    column = np.empty(d)
    for j in range(d):
        log_determinant += 2.0 * log(float(matrix[j, j]))
        column[:] = 0.0
        column[j] = 1.0
        solve_factored(matrix, column)
        inverse[:, j] = column
    estimate[:] = moment
    solve_factored(matrix, estimate)
    return log_determinant


@compiled
def refresh(design: Design, regularisation: float) -> None:
    """Compute inverse, estimate and determinant from the matrix itself, without the rounding errors of updates."""
    log_determinant = invert(design.precision.copy(), design.moment, design.inverse, design.estimate)
    design.numbers[LOG_DETERMINANT] = max(0.0, log_determinant - design.moment.size * log(regularisation))


@compiled
def spread(design: Design, x: Floats, out: Floats) -> float:
    """V^-1 x, written to `out`, and x V^-1 x."""
    d = x.size
    out[:] = 0.0
    for i in range(d):
        for j in range(d):
            out[j] += x[i] * design.inverse[i, j]
    value = 0.0
    for i in range(d):
        value += x[i] * out[i]
    return max(value, 0.0)


@compiled
def observe(design: Design, rule: Rule, x: Floats, target: float, proxy: float, image: Floats) -> Update:
    """Add a reward, less the arm's offset, whose noise has this variance proxy; V^-1 x of before is left in `image`."""
    numbers, d = design.numbers, x.size
    weight = rule.proxy / max(proxy, SMALLEST_PROXY * rule.proxy) if rule.noise == WEIGHTED else 1.0
    width = spread(design, x, image)
    error = target
    for i in range(d):
        error -= x[i] * design.estimate[i]
    factor = weight / (1.0 + weight * width)
    shift = factor * error
    for i in range(d):
        design.estimate[i] += shift * image[i]
        design.moment[i] += weight * target * x[i]
        along, across = factor * image[i], weight * x[i]
        for j in range(d):
            design.inverse[i, j] -= along * image[j]
            design.precision[i, j] += across * x[j]
    numbers[LOG_DETERMINANT] += log1p(weight * width)
    numbers[UPDATES] += 1.0
    numbers[PROXY] = max(numbers[PROXY], proxy)
    anew = numbers[UPDATES] % REFRESH == 0.0 or weight * width > LEAP
    if anew:
        refresh(design, rule.regularisation)
    return Update(weight, factor, shift, anew)


@compiled
def radius(design: Design, rule: Rule) -> float:
    """Radius of the confidence set: the parameter is this close to the estimate with probability ``1 - failure``.

    Distances are in the norm of V.
    """
    numbers, d = design.numbers, design.moment.size
    proxy = rule.proxy if rule.noise == WEIGHTED else numbers[PROXY]
    if rule.noise == POOL_MAX:
        proxy = max(proxy, rule.proxy)
    growth = numbers[LOG_DETERMINANT]
    if rule.printed:
        growth = d * log1p(numbers[UPDATES] / (d * rule.regularisation))
    return sqrt(rule.regularisation) * rule.norm_high + sqrt(proxy * (growth - 2.0 * log(rule.failure)))
