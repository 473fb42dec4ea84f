"""What each candidate's mean is distributed as: a Beta law truncated to the bounds, in raw units.

Densities are relative to their peak, which is found in closed form, so bounds far in the tail of a posterior cost no
precision. Thompson's chances and information-directed sampling integrate over these laws.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from meanbounds.kernels.arms.divergence import excess
from meanbounds.kernels.arms.tables import Plan, State
from meanbounds.kernels.arms.thompson import in_raw_units, peak_of, posterior, shared_floor
from meanbounds.kernels.compiling import compiled
from meanbounds.support.types import Floats

__all__ = [
    "LAW_ROWS",
    "Laws",
    "Shape",
    "fill_law",
    "fill_laws",
    "largest_point",
    "laws_of",
    "log_density",
    "log_density_of",
    "shape_of",
]

LAW_ROWS = 12
_DEPTH = 36.0  # a density has ended where it is exp(-36) of its peak
_SAFE = 1e-9  # more than rounding moves the ends of tangents and chords
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


class Shape(NamedTuple):
    """The numbers of one law that its density is made of, as in `Laws`."""

    rise: float
    fall: float
    below: float
    above: float
    inside: bool  # whether the mode is between the bounds


@compiled
def laws_of(rows: Floats) -> Laws:
    """Name the rows of a table of laws."""
    return Laws(
        rows[0], rows[1], rows[2], rows[3], rows[4], rows[5], rows[6], rows[7], rows[8], rows[9], rows[10], rows[11]
    )


@compiled
def log_density(laws: Laws, k: int, step: float) -> float:
    """Log of the density at ``mode + step``, relative to its peak."""
    return log_density_of(shape_of(laws, k), step)


@compiled
def shape_of(laws: Laws, k: int) -> Shape:
    """What the density of one law is made of: handing over all laws costs more than a logarithm."""
    inside = laws.start[k] < laws.mode[k] < laws.stop[k]
    return Shape(laws.rise[k], laws.fall[k], laws.below[k], laws.above[k], inside)


@compiled
def log_density_of(shape: Shape, step: float) -> float:
    """The same for one law.

    The terms that are linear in the step are taken together: at a mode between the bounds they cancel, and each alone
    would lose digits.
    """
    rise, fall, below, above, inside = shape
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
def _slope_of(shape: Shape, step: float) -> float:
    """Derivative of the log density at ``mode + step``, in or at the bounds."""
    slope = 0.0
    if shape.rise > 0.0:
        slope += shape.rise / (shape.below + step)
    if shape.fall > 0.0:
        slope -= shape.fall / (shape.above - step)
    return slope


@compiled
def _first_guess(shape: Shape, depth: float) -> float:
    """How far from the mode a parabola falls by `depth` that has the log density's bend there, and slope at a bound."""
    bend = slope = 0.0
    if shape.rise > 0.0:
        bend += shape.rise / shape.below**2
        slope += shape.rise / shape.below
    if shape.fall > 0.0:
        bend += shape.fall / shape.above**2
        slope -= shape.fall / shape.above
    slope = 0.0 if shape.inside else abs(slope)
    falls = slope + sqrt(slope * slope + 2.0 * depth * bend)
    return 2.0 * depth / falls if falls > 0.0 else np.inf  # a flat density falls nowhere


@compiled
def _reach(shape: Shape, mode: float, end: float, depth: float) -> float:
    """Where between mode and `end` the log density has fallen by `depth`, or up to a tenth further; `end` if nowhere.

    The density falls all the way from its mode, so halving finds it. What is known to lie on one side of that place is
    not computed: the log density is concave, so the place lies on this side of where a tangent has fallen by `depth`,
    and beyond where a chord has.
    """
    sign, whole = (1.0 if end > mode else -1.0), abs(end - mode)
    inner, outer = 0.0, np.inf  # distances between which the place is
    above, below = (0.0, 0.0), (np.inf, -np.inf)  # distances on both sides of it, and the log density there
    guess = _first_guess(shape, depth)
    near, far, middle = 0.0, whole, whole
    while True:
        while inner < middle < outer:
            at = guess if inner < guess < min(outer, whole) else middle
            value, slope = log_density_of(shape, sign * at), abs(_slope_of(shape, sign * at))
            if value >= -depth:
                inner, above = at, (at, value)
            else:
                outer, below = at, (at, value)
            if value > -np.inf and slope > 0.0:
                outer = min(outer, (at + (value + depth) / slope) * (1.0 + _SAFE))
            if below[1] > -np.inf:
                chord = above[0] + (below[0] - above[0]) * ((above[1] + depth) / (above[1] - below[1]))
                inner = max(inner, chord * (1.0 - _SAFE))
        if middle > inner:
            far = middle
        elif middle == whole:
            return end
        else:
            near = middle
        middle = 0.5 * (near + far)
        if far - near <= 0.1 * far or not near < middle < far:  # the least floats have nothing between them
            return end if far == whole else mode + sign * far  # there, where panels have to end: not a float beside it


@compiled
def fill_law(plan: Plan, parameters: Floats, state: State, k: int, shared: float, laws: Laws) -> None:
    """Write the law of one candidate; `shared` is that of `shared_floor`."""
    ends, bounds = (plan.low[k], plan.span[k], plan.high[k]), (plan.lower[k], plan.cap[k])
    floor, a, b, lower, upper = posterior(plan, parameters, state, k, shared)
    spots, shape, core = _law(floor, (a, b), (lower, upper), ends, bounds)
    laws.start[k], laws.stop[k], laws.mode[k], laws.left[k], laws.right[k] = spots
    laws.rise[k], laws.fall[k], laws.below[k], laws.above[k] = shape.rise, shape.fall, shape.below, shape.above
    laws.core[k] = core


@compiled
def _law(
    floor: tuple[float, float],
    parameters: tuple[float, float],
    unit: tuple[float, float],
    ends: tuple[float, float, float],
    bounds: tuple[float, float],
) -> tuple[tuple[float, float, float, float, float], Shape, float]:
    """Start, stop, mode, left and right end of a law, its shape and its core.

    `unit` are the bounds of its posterior, `ends` and `bounds` those of `in_raw_units`.
    """
    mode, rise, fall = peak_of(parameters[0], parameters[1], unit[0], unit[1])
    width = ends[1] * floor[1]
    start, stop = in_raw_units(unit[0], floor, ends, bounds), in_raw_units(unit[1], floor, ends, bounds)
    peak = min(stop, max(start, in_raw_units(mode, floor, ends, bounds)))
    below, above, inside = width * mode, width * (1.0 - mode), start < peak < stop
    if inside:
        below, above = width * rise / (rise + fall), width * fall / (rise + fall)
    # Where floats are coarse beside the range, rounding must not put an end of the interval where the density is 0.
    shape = Shape(rise, fall, max(below, peak - start), max(above, stop - peak), inside)
    left, right, core = start, stop, 0.0
    if start < stop:
        left, right = _reach(shape, peak, start, _DEPTH), _reach(shape, peak, stop, _DEPTH)
        core = _reach(shape, peak, stop, 1.0) - _reach(shape, peak, start, 1.0)
        if not core > 0.0:  # a peak too narrow for floats, which draws are rounded to
            start = stop = peak
        elif core < _NARROWEST:
            start = stop = start + 0.5 * (stop - start)
    return (start, stop, peak, left, right), shape, core


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
