"""Tails of all candidates' posteriors at a hundred levels or so, each brought up to date when someone looks at it.

A tail is kept with the parameters it was computed for and follows them by recurrence, one division for each reward:
the tail of Beta(a, b) above x grows by ``power / a`` with one more success and shrinks by ``power / b`` with one more
failure, where ``power = x^a (1 - x)^b / B(a, b)`` (DLMF 8.17.20, 8.17.21).

Levels lie evenly between the largest lower bound and the largest cap: no candidate below can draw most. They are the
same for all candidates in raw units.
"""

from __future__ import annotations

from math import exp, log

import numpy as np

from meanbounds.kernels.arms.inversion import CLOSE, may_exceed, posterior_of
from meanbounds.kernels.arms.quantile import law_of, log_power, near_quantile, tail, whole_tail
from meanbounds.kernels.arms.tables import Plan, State
from meanbounds.kernels.compiling import compiled
from meanbounds.support.types import Floats

__all__ = [
    "ABOVE",
    "AT_LOWER",
    "LAW_SIZE",
    "LIFE",
    "LOWER",
    "LOWER_POWER",
    "SCALE",
    "START",
    "TAIL_SIZE",
    "UPPER",
    "UPPER_POWER",
    "WIDTH",
    "A",
    "B",
    "chance_above",
    "copied",
    "draw_between",
    "exceeds",
    "fill_law",
    "forget",
    "levels_for",
    "near_draw",
    "next_tail",
    "relevel",
    "renew_law",
    "scale_between",
    "write_back",
]

A, B, LOWER, UPPER, AT_LOWER, LOWER_POWER, ABOVE, UPPER_POWER, SCALE, START, WIDTH = range(11)
LAW_SIZE = 11
# A law is a row for each candidate: parameters and bounds; tail and power at the lower bound; the same at the upper
# bound; 1 over the mass between the bounds (0 where that is too small to divide by, so that tails are computed anew
# each time); the lowest level, and from the lowest to the highest, all in units of the candidate's range.

_TAIL, _POWER, _AT_A, _AT_B, _BORN = range(5)
TAIL_SIZE = 5
# A tail is a row for each candidate and level: the tail, without bounds; the power (if negative: up to which sum of
# parameters it is negligible); the parameters that these are for; and the sum of parameters for which it was last
# computed anew.

_MOST_TAILS = 60_000
_FEWEST_LEVELS, _MOST_LEVELS = 48, 128
_LEAST_MASS = 1e-3  # between the bounds: errors of tails grow by 1 over it
_STEPS = 100.0  # recurrences that are as quick as a new computation
_FEW_STEPS = 8.0  # recurrences that are as quick as bounds
LIFE = 4000.0  # recurrences after which rounding errors are got rid of
_RARE = 0.01  # probability of a round without any candidate above the floor
_NEGLIGIBLE = 1e-43
_LOG_NEGLIGIBLE = -60.0  # a tail that changes by less than its exponential stays what it is


@compiled
def levels_for(size: int, share: float) -> int:
    """How many levels there are for so many candidates, so that tails fit into the cache.

    `share`: from the lowest to the highest level, in units of the range.
    """
    wanted = max(_FEWEST_LEVELS, int(_MOST_LEVELS * share))
    return max(16, min(_MOST_LEVELS, wanted, _MOST_TAILS // size))


@compiled
def new_tail(a: float, b: float, x: float) -> tuple[float, float]:
    """Tail and power. Where the power is negligible, it is for so many rewards, whatever they are.

    A success multiplies the power by ``x n / a``, with n the sum of the parameters; for n more rewards n may double.
    """
    n, power = a + b, log_power(a, b, x)
    if power < 1.5 * _LOG_NEGLIGIBLE:
        fastest = log(2.0 * max(x * n / a, (1.0 - x) * n / b))
        return 1.0 if x < a / n else 0.0, -(n + min(n, (_LOG_NEGLIGIBLE - power) / fastest))
    return whole_tail(a, b, x), exp(power)


@compiled
def next_tail(value: float, power: float, a: float, b: float, x: float, won: bool) -> tuple[float, float]:
    """Tail and power after one more success or failure; a and b are the parameters before it."""
    if power < _NEGLIGIBLE:
        if a + b + 1.0 < -power:
            return value, power
        return new_tail(a + 1.0, b, x) if won else new_tail(a, b + 1.0, x)
    count, share = (a, x) if won else (b, 1.0 - x)  # chosen without a branch, which nobody could predict
    change = power / count
    return value + (change if won else -change), change * share * (a + b)


@compiled
def _follow(tails: Floats, k: int, j: int, a: float, b: float, x: float) -> None:
    """Bring a tail up to the parameters a and b."""
    old_a, old_b, power = tails[k, j, _AT_A], tails[k, j, _AT_B], tails[k, j, _POWER]
    steps = (a - old_a) + (b - old_b)
    tails[k, j, _AT_A], tails[k, j, _AT_B] = a, b
    if old_a > 0.0 and power < 0.0 and a + b < -power:
        return
    if not old_a > 0.0 or power < _NEGLIGIBLE or steps > _STEPS or a + b - tails[k, j, _BORN] > LIFE:
        tails[k, j, _TAIL], tails[k, j, _POWER] = new_tail(a, b, x)
        tails[k, j, _BORN] = a + b
        return
    value = tails[k, j, _TAIL]
    for _ in range(int(a - old_a + 0.5)):
        value, power = next_tail(value, power, old_a, old_b, x, True)
        old_a += 1.0
    for _ in range(int(b - old_b + 0.5)):
        value, power = next_tail(value, power, old_a, old_b, x, False)
        old_b += 1.0
    tails[k, j, _TAIL], tails[k, j, _POWER] = value, power


@compiled
def _rough_tail(tails: Floats, laws: Floats, k: int, j: int, x: float) -> float:
    """The tail between bounds that hold hardly any of the whole law."""
    a, b = laws[k, A], laws[k, B]
    if tails[k, j, _AT_A] != a or tails[k, j, _AT_B] != b:
        tails[k, j, _TAIL], _ = tail(law_of(a, b, laws[k, LOWER], laws[k, UPPER]), x)
        tails[k, j, _AT_A], tails[k, j, _AT_B] = a, b
    return float(tails[k, j, _TAIL])


@compiled
def chance_above(tails: Floats, laws: Floats, k: int, j: int, share: float) -> float:
    """The chance that a candidate's draw exceeds a level; 2 if it surely does, -1 if it surely does not.

    `share`: the level's number as a share of the highest.
    """
    x, chance = laws[k, START] + laws[k, WIDTH] * share, -1.0
    if x <= laws[k, LOWER]:
        chance = 2.0 if share < 1.0 else -1.0
    elif x < laws[k, UPPER] and share < 1.0:
        a, b = laws[k, A], laws[k, B]
        if laws[k, SCALE] == 0.0:
            chance = _rough_tail(tails, laws, k, j, x)
        else:
            if tails[k, j, _AT_A] != a or tails[k, j, _AT_B] != b:
                _follow(tails, k, j, a, b, x)
            chance = (tails[k, j, _TAIL] - laws[k, ABOVE]) * laws[k, SCALE]
    return chance  # the only way out: with several, references to the tables would be counted in each call


@compiled
def exceeds(tails: Floats, laws: Floats, k: int, j: int, share: float, number: float) -> int:
    """Whether the draw that is exceeded with this probability is above a level: 1 or 0, or -1 if that is too close.

    A tail that would have to follow many rewards is bounded instead, if that is enough.
    """
    a, b, lower, upper = laws[k, A], laws[k, B], laws[k, LOWER], laws[k, UPPER]
    x = laws[k, START] + laws[k, WIDTH] * share
    if lower < x < upper and not (a - tails[k, j, _AT_A]) + (b - tails[k, j, _AT_B]) <= _FEW_STEPS:
        if 1.0 - number > may_exceed(b, a, 1.0 - upper, 1.0 - lower, 1.0 - x) + CLOSE:
            return 1
        if number > may_exceed(a, b, lower, upper, x) + CLOSE:
            return 0
    excess = chance_above(tails, laws, k, j, share) - number
    return -1 if abs(excess) <= CLOSE else int(excess > 0.0)


@compiled
def near_draw(laws: Floats, k: int, number: float) -> float:
    """About where a draw is; 0 is the lowest level and 1 the highest."""
    number = laws[k, ABOVE] + number / laws[k, SCALE] if laws[k, SCALE] > 0.0 else number
    x = near_quantile(laws[k, A], laws[k, B], min(1.0, number))
    return float((min(laws[k, UPPER], max(laws[k, LOWER], x)) - laws[k, START]) / laws[k, WIDTH])


@compiled
def scale_between(above_lower: float, above_upper: float) -> float:
    """1 over the mass between the bounds, from the tails at both; 0 if it is too small."""
    mass = above_lower - above_upper
    return 1.0 / mass if mass > _LEAST_MASS else 0.0


@compiled
def forget(tails: Floats, k: int) -> None:
    """Let a candidate's tails be computed anew when someone looks at them."""
    for j in range(tails.shape[1]):
        tails[k, j, _AT_A] = -1.0


@compiled
def fill_law(
    tails: Floats, laws: Floats, plan: Plan, parameters: Floats, state: State, k: int, ends: tuple[float, float]
) -> None:
    """Start a candidate's law; `ends` are the lowest and the highest level in raw units."""
    a, b, lower, upper = posterior_of(plan, parameters, state, k)
    laws[k, A], laws[k, B], laws[k, LOWER], laws[k, UPPER] = a, b, lower, upper
    laws[k, START], laws[k, WIDTH] = (ends[0] - plan.low[k]) / plan.span[k], (ends[1] - ends[0]) / plan.span[k]
    laws[k, AT_LOWER], laws[k, LOWER_POWER], laws[k, ABOVE], laws[k, UPPER_POWER] = 1.0, -np.inf, 0.0, -np.inf
    laws[k, SCALE] = 0.0
    forget(tails, k)
    renew_law(tails, laws, k)


@compiled
def renew_law(tails: Floats, laws: Floats, k: int) -> None:
    """Compute the tails at the bounds anew."""
    a, b, lower, upper = laws[k, A], laws[k, B], laws[k, LOWER], laws[k, UPPER]
    if lower > 0.0:
        laws[k, AT_LOWER], laws[k, LOWER_POWER] = new_tail(a, b, lower) if lower < 1.0 else (0.0, -np.inf)
    if upper < 1.0:
        laws[k, ABOVE], laws[k, UPPER_POWER] = new_tail(a, b, upper) if upper > 0.0 else (1.0, -np.inf)
    before, scale = laws[k, SCALE], scale_between(laws[k, AT_LOWER], laws[k, ABOVE])
    laws[k, SCALE] = scale
    if (before > 0.0) != (scale > 0.0):
        forget(tails, k)


@compiled
def copied(tails: Floats, laws: Floats, k: int, j: int, share: float) -> tuple[float, float]:
    """Tail and power at a level that was just looked at; a power of minus infinity stands for a tail that stays."""
    x = laws[k, START] + laws[k, WIDTH] * share
    if laws[k, SCALE] > 0.0 and laws[k, LOWER] < x < laws[k, UPPER]:
        return tails[k, j, _TAIL], tails[k, j, _POWER]
    return 0.0, -np.inf


@compiled
def write_back(tails: Floats, laws: Floats, k: int, j: int, value: float, power: float) -> None:
    """Write a tail that has followed the law; one that has done so for long is computed anew at the next look."""
    a, b = laws[k, A], laws[k, B]
    tails[k, j, _TAIL], tails[k, j, _POWER] = value, power
    tails[k, j, _AT_A], tails[k, j, _AT_B] = a if a + b - tails[k, j, _BORN] <= LIFE else -1.0, b


@compiled
def _merit(tails: Floats, laws: Floats, j: int, share: float) -> tuple[float, float]:
    """Minus about how many ns a round takes with a floor, and the probability that no candidate exceeds it."""
    none, odds, expected = 1.0, 0.0, 0.0
    for k in range(laws.shape[0]):
        chance = min(1.0, max(0.0, chance_above(tails, laws, k, j, share)))
        rest = max(1.0 - chance, 1e-300)
        none *= rest
        odds += chance / rest
        expected += chance
    one = none * odds
    several, compared = 1.0 - none - one, expected - one
    return -(none * (150.0 + 3.0 * laws.shape[0]) + 20.0 * several + 55.0 * compared), none


@compiled
def relevel(tails: Floats, laws: Floats, floor: int) -> tuple[int, int]:
    """A better floor near this one, and a second one for rounds in which no candidate exceeds the first.

    The second is -1 where such rounds are rare.
    """
    levels = tails.shape[1] - 1
    unit = 1.0 / levels
    here, none = _merit(tails, laws, floor, floor * unit)
    for step in (-1, 1):
        while 0 < floor + step < levels:
            there, rare = _merit(tails, laws, floor + step, (floor + step) * unit)
            if not there > here:
                break
            floor, here, none = floor + step, there, rare
    second, step = floor, 1
    while second > 0 and none > _RARE:
        second, step = max(0, second - step), 2 * step
        _, none = _merit(tails, laws, second, second * unit)
    return floor, second if second < floor else -1


@compiled
def _between(
    ends: tuple[float, float], tails: tuple[float, float], densities: tuple[float, float], mode: float, number: float
) -> tuple[float, float]:
    """Between which values a tail takes a number, from both ends of a gap; a density of 0 stands for an unknown one.

    Beside the mode the tail is convex or concave; its log is concave everywhere.
    """
    (x, y), (p, q), (f, g) = ends, tails, densities
    if x < mode < y:
        if not (q > CLOSE and f > 0.0 and g > 0.0):
            return x, y
        first, last = log(p / number), log(number / q)
        return x + first / (first + last) * (y - x), min(x + first * p / f, y - last * q / g)
    chord = x + (p - number) / (p - q) * (y - x)
    left, right = (p - number) / f if f > 0.0 else -1.0, (number - q) / g if g > 0.0 else -1.0
    if mode <= x:
        low = max(x + left if left > 0.0 else x, y - right if right > 0.0 else x)
        return max(x, low), min(y, chord)
    high = min(x + left if left > 0.0 else y, y - right if right > 0.0 else y)
    return max(x, chord), min(y, high)


@compiled
def draw_between(tails: Floats, laws: Floats, k: int, j: int, number: float) -> tuple[float, float]:
    """Bounds on a draw that is above level j - 1 and not above level j; 0 is the lowest level and 1 the highest."""
    unit = 1.0 / (tails.shape[1] - 1)
    start, width, lower, upper = laws[k, START], laws[k, WIDTH], laws[k, LOWER], laws[k, UPPER]
    above, scale, a, b = laws[k, ABOVE], laws[k, SCALE], laws[k, A], laws[k, B]
    x, y = start + width * ((j - 1) * unit), start + width * (j * unit)
    if scale == 0.0:
        return (j - 1) * unit, j * unit
    p, q, f, g = 1.0, 0.0, 0.0, 0.0
    if x <= lower:
        x = lower
    else:
        p, f = (tails[k, j - 1, _TAIL] - above) * scale, max(0.0, tails[k, j - 1, _POWER]) * scale / (x * (1.0 - x))
    if y >= upper or j * unit >= 1.0:
        y = upper
    else:
        q, g = (tails[k, j, _TAIL] - above) * scale, max(0.0, tails[k, j, _POWER]) * scale / (y * (1.0 - y))
    mode = (a - 1.0) / (a + b - 2.0) if a + b > 2.0 else x
    low, high = _between((x, y), (p, q), (f, g), mode, number)
    return (low - start) / width, (high - start) / width
