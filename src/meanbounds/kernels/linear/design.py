"""Ridge regression, updated with every reward: the matrix, its inverse, the estimate and the confidence radius."""

from __future__ import annotations

from math import log, log1p, sqrt
from typing import NamedTuple

import numpy as np

from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.linear.pool import POOL_MAX, WEIGHTED, Rule
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
    "fresh_design",
    "new_design",
    "new_root",
    "observe",
    "put",
    "radius",
    "refresh",
    "solve_root",
    "spread",
    "still_design",
    "suppose",
    "weight_of",
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
    """The rewards so far: V, V^-1, sum of weight x (reward - offset) x features, and V^-1 times that.

    All of these are brought up to date with every reward, so they collect rounding errors; where one arm weighs 10^10
    times as much as the regularisation, V alone cannot hold the rest. `seen` and `root` do not have this fault, and all
    is computed anew from them now and then, see `refresh`: `seen` adds up the rewards of each arm in the pool, and
    `root` holds what other arms (candidates) have shown, as a triangular R and a vector z with
    R'R = regularisation x I + sum of weight x features x features', R'z = sum of weight x (reward - offset) x features.
    """

    precision: Floats
    inverse: Floats
    moment: Floats
    estimate: Floats
    numbers: Floats  # log(det V / regularisation^d), largest proxy so far, updates, contradictions
    features: Floats  # of the pool's arms: arms x d
    seen: Floats  # 2 x arms: sums of the weights, and of weight x (reward - offset)
    root: Floats  # d x (d + 1): R, and z as its last column
    point: Floats  # where the chain of a sampling policy is, in units in which the parameter has norm at most 1


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
def new_root(dimension: int, regularisation: float) -> Floats:
    """The root of a regression before the first reward."""
    root = np.zeros((dimension, dimension + 1))
    for i in range(dimension):
        root[i, i] = sqrt(regularisation)
    return root


def fresh_design(features: Floats, regularisation: float) -> Design:
    """The regression before the first reward, for a pool of arms with these features; kernels call `new_design`."""
    arms, dimension = features.shape
    return Design(
        np.eye(dimension) * regularisation,
        np.eye(dimension) / regularisation,
        np.zeros(dimension),
        np.zeros(dimension),
        np.zeros(_NUMBERS),
        features,
        np.zeros((2, arms)),
        new_root(dimension, regularisation),
        np.zeros(dimension),
    )


new_design = compiled(fresh_design)


@compiled
def _fold(root: Floats, row: Floats) -> None:
    """Put a weighted observation, its features and then its target, into a root, by rotations; `row` is used up."""
    d = root.shape[0]
    for i in range(d):
        if row[i] == 0.0:
            continue
        old, new = root[i, i], row[i]
        size = max(abs(old), abs(new))
        size *= sqrt((old / size) ** 2 + (new / size) ** 2)
        cosine, sine = old / size, new / size
        root[i, i] = size
        for j in range(i + 1, d + 1):
            above = root[i, j]
            root[i, j] = cosine * above + sine * row[j]
            row[j] = cosine * row[j] - sine * above


@compiled
def put(root: Floats, x: Floats, weight: float, given: float, row: Floats) -> None:
    """Put observations of features x into a root: their weights, and weight x target, summed; `row` is room."""
    d, scale = x.size, sqrt(weight)
    for i in range(d):
        row[i] = scale * x[i]
    row[d] = given / scale
    _fold(root, row)


@compiled
def solve_root(
    root: Floats,
    features: Floats,
    mass: Floats,
    given: Floats,
    regularisation: float,
    precision: Floats,
    inverse: Floats,
    moment: Floats,
    estimate: Floats,
) -> float:
    """Fill in V, V^-1, the moment and the estimate; the result is log(det V / regularisation^d).

    `mass` and `given` are the weights of each arm's rewards and of weight x target, summed. The errors are those of
    solving with R, whose condition number is the square root of that of V = R'R.
    """
    arms, d = features.shape
    whole, row = root.copy(), np.empty(d + 1)
    for arm in range(arms):
        if mass[arm] > 0.0:
            put(whole, features[arm], mass[arm], given[arm], row)
    back = np.zeros((d, d))  # R^-1
    log_determinant = 0.0
    for j in range(d):
        log_determinant += 2.0 * log(float(whole[j, j])) - log(regularisation)
        back[j, j] = 1.0 / whole[j, j]
        for i in range(j - 1, -1, -1):
            value = 0.0
            for k in range(i + 1, j + 1):
                value -= whole[i, k] * back[k, j]
            back[i, j] = value / whole[i, i]
    for i in range(d):
        estimate[i], moment[i] = 0.0, 0.0
        for k in range(i, d):
            estimate[i] += back[i, k] * whole[k, d]
        for k in range(i + 1):
            moment[i] += whole[k, i] * whole[k, d]
        for j in range(i, d):
            square, inner = 0.0, 0.0
            for k in range(i + 1):
                square += whole[k, i] * whole[k, j]
            for k in range(j, d):
                inner += back[i, k] * back[j, k]
            precision[i, j], precision[j, i] = square, square
            inverse[i, j], inverse[j, i] = inner, inner
    return max(0.0, log_determinant)


@compiled
def refresh(design: Design, regularisation: float) -> None:
    """Compute all anew from the sums by arm and the root, without the rounding errors of updates."""
    design.numbers[LOG_DETERMINANT] = solve_root(
        design.root,
        design.features,
        design.seen[0],
        design.seen[1],
        regularisation,
        design.precision,
        design.inverse,
        design.moment,
        design.estimate,
    )


@compiled
def still_design(design: Design) -> Design:
    """The same design, in which counting contradictions and drawing points leave no trace."""
    return Design(
        design.precision,
        design.inverse,
        design.moment,
        design.estimate,
        design.numbers.copy(),
        design.features,
        design.seen,
        design.root,
        design.point.copy(),
    )


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
def weight_of(rule: Rule, proxy: float) -> float:
    """How much a reward counts whose noise has this variance proxy."""
    return rule.proxy / max(proxy, SMALLEST_PROXY * rule.proxy) if rule.noise == WEIGHTED else 1.0


@compiled
def observe(design: Design, rule: Rule, arm: int, x: Floats, target: float, proxy: float, image: Floats) -> Update:
    """Add a reward, less the arm's offset, whose noise has this variance proxy; V^-1 x of before is left in `image`.

    `arm` is the place of the arm in the pool, or -1 for one that is not in the pool.
    """
    numbers, d = design.numbers, x.size
    weight = weight_of(rule, proxy)
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
    if arm < 0:
        put(design.root, x, weight, weight * target, np.empty(d + 1))
    else:
        design.seen[0, arm] += weight
        design.seen[1, arm] += weight * target
    numbers[LOG_DETERMINANT] += log1p(weight * width)
    numbers[UPDATES] += 1.0
    numbers[PROXY] = max(numbers[PROXY], proxy)
    anew = numbers[UPDATES] % REFRESH == 0.0 or weight * width > LEAP
    if anew:
        refresh(design, rule.regularisation)
    return Update(weight, factor, shift, anew)


@compiled
def suppose(design: Design, rule: Rule, x: Floats, times: int, proxy: float, image: Floats) -> None:
    """Narrow the widths as if an arm had been seen this often; estimate and radius stay as they are."""
    weight = times * weight_of(rule, proxy)
    factor = weight / (1.0 + weight * spread(design, x, image))
    for i in range(x.size):
        for j in range(x.size):
            design.inverse[i, j] -= factor * image[i] * image[j]
            design.precision[i, j] += weight * x[i] * x[j]


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
