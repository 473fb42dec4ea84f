"""What each candidate's mean is distributed as: a Beta law truncated to the bounds, in raw units.

Densities are relative to their peak, which is found in closed form, so bounds far in the tail of a posterior cost no
precision. Thompson's chances and information-directed sampling integrate over these laws.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meanbounds.kernels.arms.divergence import excess
from meanbounds.kernels.arms.tables import Plan, State
from meanbounds.kernels.arms.thompson import HAT_SHAPE, in_raw_units, posterior_hat, shared_floor
from meanbounds.kernels.compiling import compiled
from meanbounds.support.types import Floats

__all__ = ["LAW_ROWS", "Laws", "fill_law", "fill_laws", "largest_point", "laws_of", "log_density", "log_density_of"]

LAW_ROWS = 12
_DEPTH = 36.0  # a density has ended where it is exp(-36) of its peak
_NARROWEST = 1e-290  # width of a density below which it is a point: dividing by it might overflow


class Laws(NamedTuple):
    """What each candidate's draw is distributed as, in raw units; one entry per candidate."""

    start: Floats  # the draw lies between these; a point where they are equal
    stop: Floats
    mode: Floats
    left: Floats  # outside of these the density is negligible
    right: Floats
    core: Floats  # width of where the density exceeds 1/e of its peak
    rise: Floats  # exponents: the density is (x - bottom)^rise (top - x)^fall
    fall: Floats
    below: Floats  # mode - bottom
    above: Floats  # top - mode
    mass: Floats  # integral of the density, whose peak is 1
    done: Floats  # the same up to the left end of the panel at hand


@compiled
def laws_of(rows: Floats) -> Laws:
    """Name the rows of a table of laws."""
    return Laws(
        rows[0], rows[1], rows[2], rows[3], rows[4], rows[5], rows[6], rows[7], rows[8], rows[9], rows[10], rows[11]
    )


@compiled
def log_density(laws: Laws, k: int, step: float) -> float:
    """Log of the density at ``mode + step``, relative to its peak."""
    inside = laws.start[k] < laws.mode[k] < laws.stop[k]
    return log_density_of(laws.rise[k], laws.fall[k], laws.below[k], laws.above[k], inside, step)


@compiled
def log_density_of(rise: float, fall: float, below: float, above: float, inside: bool, step: float) -> float:
    """The same from the numbers of one law; `inside` says that its mode is between the bounds.

    The terms that are linear in the step are taken together: at a mode between the bounds they cancel, and each alone
    would lose digits.
    """
    value = 0.0
    slope = 0.0
    if rise > 0.0:
        ratio = step / below
        if ratio <= -1.0:
            return -np.inf
        value -= rise * excess(ratio, 1.0 + ratio)
        slope += rise / below
    if fall > 0.0:
        ratio = -step / above
        if ratio <= -1.0:
            return -np.inf
        value -= fall * excess(ratio, 1.0 + ratio)
        slope -= fall / above
    if inside:
        return value
    return value + slope * step


@compiled
def _reach(laws: Laws, k: int, end: float, depth: float) -> float:
    """Where between mode and `end` the log density has fallen by `depth`, or up to a tenth further; `end` if nowhere.

    The density falls all the way from its mode, so halving finds it.
    """
    far = end - laws.mode[k]
    if log_density(laws, k, far) >= -depth:
        return end
    near = 0.0
    while abs(far - near) > 0.1 * abs(far):
        middle = 0.5 * (near + far)
        if log_density(laws, k, middle) >= -depth:
            near = middle
        else:
            far = middle
    return float(laws.mode[k] + far)


@compiled
def fill_law(plan: Plan, parameters: Floats, state: State, k: int, shared: float, laws: Laws) -> None:
    """Write the law of one candidate; `shared` is that of `shared_floor`."""
    hat = np.empty(HAT_SHAPE)
    floor = posterior_hat(hat, plan, parameters, state, k, shared)
    width = plan.span[k] * floor[1]
    ends, bounds = (plan.low[k], plan.span[k], plan.high[k]), (plan.lower[k], plan.cap[k])
    mode, rise, fall = hat[3, 2], hat[3, 3], hat[3, 4]
    laws.start[k] = in_raw_units(hat[3, 0], floor, ends, bounds)
    laws.stop[k] = in_raw_units(hat[3, 1], floor, ends, bounds)
    laws.mode[k] = min(laws.stop[k], max(laws.start[k], in_raw_units(mode, floor, ends, bounds)))
    laws.rise[k], laws.fall[k] = rise, fall
    laws.below[k], laws.above[k] = width * mode, width * (1.0 - mode)
    if laws.start[k] < laws.mode[k] < laws.stop[k]:
        laws.below[k], laws.above[k] = width * rise / (rise + fall), width * fall / (rise + fall)
    # Where floats are coarse beside the range, rounding must not put an end of the interval where the density is 0.
    laws.below[k] = max(laws.below[k], laws.mode[k] - laws.start[k])
    laws.above[k] = max(laws.above[k], laws.stop[k] - laws.mode[k])
    if laws.start[k] < laws.stop[k]:
        laws.left[k] = _reach(laws, k, laws.start[k], _DEPTH)
        laws.right[k] = _reach(laws, k, laws.stop[k], _DEPTH)
        laws.core[k] = _reach(laws, k, laws.stop[k], 1.0) - _reach(laws, k, laws.start[k], 1.0)
        if not laws.core[k] > 0.0:  # a peak too narrow for floats, which draws are rounded to
            laws.start[k] = laws.stop[k] = laws.mode[k]
        elif laws.core[k] < _NARROWEST:
            laws.start[k] = laws.stop[k] = laws.start[k] + 0.5 * (laws.stop[k] - laws.start[k])


@compiled
def fill_laws(plan: Plan, parameters: Floats, state: State, laws: Laws) -> None:
    """Write the law of each candidate."""
    shared = shared_floor(plan, parameters, state)
    for k in range(plan.arm.size):
        fill_law(plan, parameters, state, k, shared, laws)


@compiled
def largest_point(laws: Laws) -> tuple[float, int]:
    """The largest value of a candidate that has only one, and how many candidates have that value."""
    point, ties = -np.inf, 0
    for k in range(laws.start.size):
        if laws.start[k] >= laws.stop[k] and laws.start[k] >= point:
            ties = ties + 1 if laws.start[k] == point else 1
            point = laws.start[k]
    return point, ties
