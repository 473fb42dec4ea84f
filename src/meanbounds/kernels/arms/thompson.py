"""Thompson sampling from Beta posteriors truncated to each arm's bounds."""

from __future__ import annotations

from math import exp, expm1, log, log1p, sqrt

import numpy as np

from meanbounds.kernels.arms.inversion import choose_inverted, inverts, number_of
from meanbounds.kernels.arms.moments import floor_of, lifted_mean
from meanbounds.kernels.arms.quantile import law_of, quantile
from meanbounds.kernels.arms.tables import Plan, State, argmax, seen_of
from meanbounds.kernels.arms.weak import (
    CENTRE,
    LACK,
    LEAST_PARAMETER,
    WEAK_SIZE,
    centre_of,
    fill_weak,
    is_weak,
    log_lack,
    place_of,
    sample_weak,
    weak_hat,
    weak_quantile,
)
from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.random.stream import child, uniform
from meanbounds.support.types import Floats

__all__ = [
    "FARTHER",
    "HAT_SHAPE",
    "build_hat",
    "choose_thompson",
    "draw_and_lack",
    "in_raw_units",
    "nearest_to_top",
    "offered_floor",
    "peak_of",
    "posterior",
    "posterior_hat",
    "sample_hat",
    "shared_floor",
    "some_weak",
    "takes_shared_floor",
    "truncated_beta",
]

FARTHER = 10.0  # how much farther from the top than another arm's floor an arm may lie that has none of its own
HAT_SHAPE = (4, 6)
# A hat is three exponential pieces above the density. Rows 0 to 2, a piece each: mass, the end it falls away from, the
# direction it falls in, rate, exp(-rate * width) - 1 (or the width where the rate is 0), log height at that end.
# Row 3: lower end, upper end, mode, a - 1, b - 1, mass of all pieces.


@compiled
def _log_density(hat: Floats, x: float) -> float:
    """Log of the density at x relative to its peak on the interval."""
    mode, a, b = hat[3, 2], hat[3, 3], hat[3, 4]
    value = 0.0
    if a > 0.0:
        value += a * log1p((x - mode) / mode) if x > 0.0 else -np.inf
    if b > 0.0:
        value += b * log1p((mode - x) / (1.0 - mode)) if x < 1.0 else -np.inf
    return value


@compiled
def _slope(hat: Floats, x: float) -> float:
    a, b = hat[3, 3], hat[3, 4]
    return (a / x if a > 0.0 else 0.0) - (b / (1.0 - x) if b > 0.0 else 0.0)


@compiled
def _piece(hat: Floats, row: int, start: float, stop: float, touch: float, height: float, slope: float) -> None:
    """Exponential piece on [start, stop]: the tangent of the log density that touches it at `touch`."""
    width = max(stop - start, 0.0)
    rate = abs(slope)
    end = start if slope <= 0.0 else stop
    top = height + slope * (end - touch)
    flat = rate * width < 1e-12
    hat[row, 1] = end
    hat[row, 2] = 1.0 if slope <= 0.0 else -1.0
    hat[row, 3] = 0.0 if flat else rate
    hat[row, 4] = width if flat else expm1(-rate * width)
    hat[row, 5] = top
    hat[row, 0] = exp(top) * (width if flat else -hat[row, 4] / rate)


@compiled
def peak_of(a: float, b: float, lower: float, upper: float) -> tuple[float, float, float]:
    """Where Beta(a, b) peaks between the bounds, and the exponents of its density; a and b are at least 1."""
    a, b = a - 1.0, b - 1.0
    if a > 0.0 and b > 0.0 and not a / (a + b) < 1.0:
        b = 0.0  # the peak is nearer to 1 than floats are to each other: the density rises all the way
    return min(upper, max(lower, a / (a + b))) if a + b > 0.0 else lower, a, b


@compiled
def build_hat(hat: Floats, a: float, b: float, lower: float, upper: float) -> None:
    """Fill `hat` for Beta(a, b) on [lower, upper]; for a or b below 1 see `weak_hat`.

    The log density is concave, so its tangents lie above it. One touches at the mode (of the interval), two about where
    the density has fallen by a factor e; the least of the three is the hat, and at least half of its mass is accepted
    however far in the tail the interval lies.
    """
    if is_weak(a, b):
        weak_hat(hat, a, b, lower, upper)
        return
    mode, a, b = peak_of(a, b, lower, upper)
    hat[3, 0], hat[3, 1], hat[3, 2], hat[3, 3], hat[3, 4] = lower, upper, mode, a, b
    if not lower < upper:
        return
    # Where the mode is interior its slope is zero; compute it only at an end, where it is not.
    slope = _slope(hat, mode) if (mode in (lower, upper)) and a + b > 0.0 else 0.0
    if (mode == lower and slope > 0.0) or (mode == upper and slope < 0.0):
        slope = 0.0
    bend = (a / mode**2 if a > 0.0 else 0.0) + (b / (1.0 - mode) ** 2 if b > 0.0 else 0.0)
    reach = 2.0 / (abs(slope) + sqrt(slope**2 + 2.0 * bend)) if bend > 0.0 else 2.0
    left, right = max(lower, mode - reach), min(upper, mode + reach)
    first, second = lower, upper  # where the middle piece starts and stops
    left_height = left_slope = right_height = right_slope = 0.0
    if left < mode and left > 0.0:
        left_height, left_slope = _log_density(hat, left), _slope(hat, left)
        if left_slope > slope:
            first = (left_height - left_slope * left + slope * mode) / (slope - left_slope)
            first = min(mode, max(lower, first))
    if right > mode and right < 1.0:
        right_height, right_slope = _log_density(hat, right), _slope(hat, right)
        if right_slope < slope:
            second = (right_height - right_slope * right + slope * mode) / (slope - right_slope)
            second = max(mode, min(upper, second))
    _piece(hat, 0, lower, first, left, left_height, left_slope)
    _piece(hat, 1, first, second, mode, 0.0, slope)
    _piece(hat, 2, second, upper, right, right_height, right_slope)
    hat[3, 5] = hat[0, 0] + hat[1, 0] + hat[2, 0]


@compiled
def sample_hat(hat: Floats, key: np.uint64) -> float:
    """Draw from the density below a hat, by rejection: exact in every tail."""
    lower, upper = hat[3, 0], hat[3, 1]
    if not lower < upper:
        return float(lower)
    if hat[3, 3] < 0.0 or hat[3, 4] < 0.0:
        return weak_draw(hat, key)[0]
    for attempt in range(1000):
        place = uniform(key, 3 * attempt) * hat[3, 5]
        row = 0
        while row < 2 and place >= hat[row, 0]:
            place -= hat[row, 0]
            row += 1
        position = uniform(key, 3 * attempt + 1)
        rate = hat[row, 3]
        fall = -log1p(position * hat[row, 4]) if rate > 0.0 else 0.0
        distance = fall / rate if rate > 0.0 else position * hat[row, 4]
        x = min(upper, max(lower, hat[row, 1] + hat[row, 2] * distance))
        if log(1.0 - uniform(key, 3 * attempt + 2)) <= _log_density(hat, x) - (hat[row, 5] - fall):
            return float(x)
    return float(hat[3, 2])


@compiled
def truncated_beta(a: float, b: float, lower: float, upper: float, key: np.uint64) -> float:
    """One draw from Beta(a, b) conditioned on [lower, upper]."""
    hat = np.empty(HAT_SHAPE)
    build_hat(hat, a, b, lower, upper)
    return sample_hat(hat, key)


@compiled
def takes_shared_floor(parameters: Floats, state: State, arm: int) -> bool:
    """Whether nothing says how low an arm's rewards go: it was not played, or all of its rewards were the best ones.

    This is asked with two moments only, and without a prior, which would say it.
    """
    flat = parameters[0] == 1.0 and parameters[1] == 1.0
    return bool(parameters[2] == 2.0 and flat and not state.shortfall[arm] > 0.0)


@compiled
def shared_floor(plan: Plan, parameters: Floats, state: State) -> float:
    """The floor, in raw units, of candidates whose rewards do not say one; minus infinity if no other has one either.

    It is ten times as far from the top as the floor of another candidate, whichever gives most, and at most that
    candidate's cap. On a range that is much wider than the rewards a uniform draw would never win, and the arm would
    never be played; on an ordinary one this floor is below the range and changes nothing.
    """
    shared = -np.inf
    if parameters[2] == 2.0:
        for k in range(plan.arm.size):
            shared = max(shared, offered_floor(plan, state, k))
    return shared


@compiled
def offered_floor(plan: Plan, state: State, k: int) -> float:
    """What one candidate gives to `shared_floor`; minus infinity if its rewards do not say how low they go."""
    seen = seen_of(state, int(plan.arm[k]))
    if not seen[3] > 0.0:
        return -np.inf
    _, room = floor_of(seen)
    return float(min(plan.cap[k], plan.high[k] - plan.span[k] * (FARTHER * room)))


@compiled
def posterior_hat(
    hat: Floats, plan: Plan, parameters: Floats, state: State, k: int, shared: float
) -> tuple[float, float]:
    """Fill the hat of a candidate's `posterior`, and return the floor x and 1 - x."""
    floor, a, b, lower, upper = posterior(plan, parameters, state, k, shared)
    build_hat(hat, a, b, lower, upper)
    return floor


@compiled
def posterior(
    plan: Plan, parameters: Floats, state: State, k: int, shared: float
) -> tuple[tuple[float, float], float, float, float, float]:
    """A candidate's posterior, a law of (mean - x) / (1 - x): floor x and 1 - x, parameters a and b, and bounds.

    `parameters`: the two of the Beta prior, and how many moments of the rewards are taken into account. With one, x is
    0 and rewards were rounded to 0 or 1 at random. With two, they count as if they had been x and 1; an arm whose
    rewards do not say what x is takes the `shared` one, of `shared_floor`.
    """
    arm = int(plan.arm[k])
    low, span, high, lowest, cap = plan.low[k], plan.span[k], plan.high[k], plan.lower[k], plan.cap[k]
    plays, ones, floor, room = state.plays[arm], state.ones[arm], 0.0, 1.0
    zeros = plays - ones
    if parameters[2] == 2.0:
        if takes_shared_floor(parameters, state, arm):
            room = min(1.0, max(0.0, (high - shared) / span))
            floor = min(1.0, max(0.0, (shared - low) / span))
            ones, zeros = plays, 0.0
        elif plays > 0.0:
            seen = seen_of(state, arm)
            floor, room = floor_of(seen)
            share, lack = lifted_mean(seen, floor, room)
            ones, zeros = plays * share, plays * lack
    if not room > 0.0:  # no mean of this arm is above the shared floor
        return (floor, 0.0), 1.0, 1.0, 1.0, 1.0
    lower, upper = (lowest - low) / span, (cap - low) / span
    if floor > 0.5:
        lower, upper = 1.0 - (high - lowest) / span / room, 1.0 - (high - cap) / span / room
    else:
        lower, upper = (lower - floor) / room, (upper - floor) / room
    lower = max(0.0, lower)
    a, b = parameters[0] + ones, parameters[1] + zeros
    if parameters[0] == 0.0:  # a prior counts among the plays
        a, b = max(LEAST_PARAMETER, a), max(LEAST_PARAMETER, b)
    return (floor, room), a, b, lower, max(lower, upper)


@compiled
def in_raw_units(
    x: float, floor: tuple[float, float], ends: tuple[float, float, float], bounds: tuple[float, float]
) -> float:
    """The mean of which x is (mean - floor) / (1 - floor), clipped to the bounds; `floor` is both of `posterior_hat`.

    It stays within the bounds even where they exclude everything that was seen. ``ends`` are low, span and high of the
    arm. Numbers rather than a plan: handing over its arrays would cost a tenth of a round.
    """
    low, span, high = ends
    lower, cap = bounds
    value = high - span * (floor[1] * (1.0 - x)) if floor[0] > 0.5 else low + span * (floor[0] + floor[1] * x)
    return min(cap, max(lower, value))


@compiled
def some_weak(plan: Plan, parameters: Floats, state: State) -> bool:
    """Whether some candidate's posterior has a parameter below 1, see `meanbounds.kernels.arms.weak`."""
    hat = np.empty(HAT_SHAPE)
    for k in range(plan.arm.size):
        posterior_hat(hat, plan, parameters, state, k, -np.inf)
        if hat[3, 3] < 0.0 or hat[3, 4] < 0.0:
            return True
    return False


@compiled
def weak_draw(hat: Floats, key: np.uint64) -> tuple[float, float]:
    """Draw from a weak law that is no point: the value, and the log of what it lacks to 1."""
    centre, lack = centre_of(hat)
    step = sample_weak(hat, key)
    return place_of(centre, lack, step)[0], log_lack(centre, lack, step)


@compiled
def draw_and_lack(hat: Floats, key: np.uint64) -> tuple[float, float]:
    """Draw below a hat of either kind: the value, and of a weak law the log of what it lacks to 1; NaN of others."""
    if hat[3, 0] < hat[3, 1] and (hat[3, 3] < 0.0 or hat[3, 4] < 0.0):
        return weak_draw(hat, key)
    return sample_hat(hat, key), np.nan


@compiled
def weak_inverted(hat: Floats, number: float) -> tuple[float, float]:
    """`draw_and_lack` of the value that is exceeded with this probability."""
    if not hat[3, 0] < hat[3, 1]:
        return hat[3, 0], np.nan
    if hat[3, 3] < 0.0 or hat[3, 4] < 0.0:
        law = np.empty(WEAK_SIZE)
        fill_weak(law, hat[3, 3] + 1.0, hat[3, 4] + 1.0, hat[3, 0], hat[3, 1])
        step = weak_quantile(law, number)
        return place_of(law[CENTRE], law[LACK], step)[0], log_lack(law[CENTRE], law[LACK], step)
    return quantile(law_of(hat[3, 3] + 1.0, hat[3, 4] + 1.0, hat[3, 0], min(1.0, hat[3, 1])), number), np.nan


@compiled
def nearest_to_top(plan: Plan, scores: Floats, lacks: Floats, key: np.uint64, number: int) -> int:
    """Place of the largest score; of those that floats cannot tell apart the one that lacks least to the same top."""
    best = scores.max()
    for k in range(scores.size):
        for j in range(scores.size if scores[k] == best else 0):
            if scores[j] == best and plan.high[j] == plan.high[k] and lacks[j] < lacks[k]:
                scores[k] = -np.inf
                break
    return argmax(scores, key, number)


@compiled
def choose_weak(plan: Plan, parameters: Floats, state: State, number: int, key: np.uint64) -> int:
    """`choose_thompson` where some posterior has a parameter below 1."""
    hat, stream = np.empty(HAT_SHAPE), child(key, number)
    scores, lacks = np.empty(plan.arm.size), np.empty(plan.arm.size)
    shared = shared_floor(plan, parameters, state)
    for k in range(plan.arm.size):
        arm = int(plan.arm[k])
        floor = posterior_hat(hat, plan, parameters, state, k, shared)
        ends, bounds = (plan.low[k], plan.span[k], plan.high[k]), (plan.lower[k], plan.cap[k])
        if inverts(parameters):
            x, lack = weak_inverted(hat, number_of(stream, arm))
        else:
            x, lack = draw_and_lack(hat, child(stream, arm))
        scores[k], lacks[k] = in_raw_units(x, floor, ends, bounds), log(plan.span[k] * floor[1]) + lack
    return nearest_to_top(plan, scores, lacks, key, number)


@compiled
def choose_thompson(plan: Plan, parameters: Floats, state: State, number: int, key: np.uint64) -> int:
    """Play the arm whose draw from its posterior is largest."""
    if parameters[0] == 0.0 and some_weak(plan, parameters, state):
        return choose_weak(plan, parameters, state, number, key)
    if inverts(parameters):
        return choose_inverted(plan, parameters, state, number, key)
    hat = np.empty(HAT_SHAPE)
    scores = np.empty(plan.arm.size)
    stream = child(key, number)
    shared = shared_floor(plan, parameters, state)
    for k in range(plan.arm.size):
        floor = posterior_hat(hat, plan, parameters, state, k, shared)
        ends, bounds = (plan.low[k], plan.span[k], plan.high[k]), (plan.lower[k], plan.cap[k])
        scores[k] = in_raw_units(sample_hat(hat, child(stream, int(plan.arm[k]))), floor, ends, bounds)
    return argmax(scores, key, number)
