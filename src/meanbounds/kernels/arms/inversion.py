"""Thompson sampling by inversion: one random number u says that a draw is exceeded with probability 1 - u.

So a draw lies above a level exactly if the posterior's tail there is more than 1 - u, and who draws most is mostly
known without any draw: bounds on tails are enough.
"""

from __future__ import annotations

from math import expm1, log

import numpy as np

from meanbounds.kernels.arms.quantile import law_of, near_quantile, quantile, tail
from meanbounds.kernels.arms.tables import Plan, State, argmax
from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.random.stream import child, uniform
from meanbounds.support.types import Floats

__all__ = ["CLOSE", "choose_inverted", "draw_of", "inverts", "may_exceed", "number_of", "posterior_of", "write_draws"]

CLOSE = 1e-9
"""Chances that differ by less are compared by inverting both laws; the errors of tails are a tenth of it and less."""

_NARROW = 1e-9  # width of bounds, in units of the range, below which draws may be equal
_STRONG = 1e6  # sum of a prior's parameters above which tails would lose digits: draws are by rejection


@compiled
def inverts(parameters: Floats) -> bool:
    """Whether draws are by inversion, rather than by rejection: see `ThompsonSampling`.

    With two moments the posterior's parameters change by other numbers than 1, so that little would be saved.
    """
    return bool(
        parameters.size > 4
        and parameters[4] == 1.0
        and parameters[2] == 1.0
        and parameters[0] + parameters[1] <= _STRONG
    )


@compiled
def posterior_of(plan: Plan, parameters: Floats, state: State, k: int) -> tuple[float, float, float, float]:
    """Parameters and bounds of a candidate's posterior, in units of its range."""
    arm = int(plan.arm[k])
    ones = state.ones[arm]
    lower = max(0.0, (plan.lower[k] - plan.low[k]) / plan.span[k])
    upper = min(1.0, (plan.cap[k] - plan.low[k]) / plan.span[k])
    return parameters[0] + ones, parameters[1] + (state.plays[arm] - ones), lower, max(lower, upper)


@compiled
def number_of(stream: np.uint64, arm: int) -> float:
    """With which probability this arm's draw in the round of this stream is exceeded; more than 0."""
    return 1.0 - uniform(stream, arm)


@compiled
def may_exceed(a: float, b: float, lower: float, upper: float, x: float) -> float:
    """At least the probability that Beta(a, b) between bounds exceeds x; cheap, and close enough far out.

    The log density is concave. So above x it lies below its tangent there, and between some r and x above its chord.
    """
    if x >= upper:
        return 0.0
    rise, fall = a - 1.0, b - 1.0
    if x <= lower or x <= 0.0:
        return 1.0
    slope = fall / (1.0 - x) - rise / x
    r = max(lower, min(x, a / (a + b)))
    if slope <= 0.0 or r >= x or r <= 0.0:
        return 1.0
    drop = fall * log((1.0 - r) / (1.0 - x)) + rise * log(r / x)
    return min(1.0, drop / ((x - r) * slope * expm1(min(drop, 700.0)))) if drop > 0.0 else 1.0


@compiled
def draw_of(
    a: float, b: float, bounds: tuple[float, float], raw: tuple[float, float, float, float], number: float
) -> float:
    """The draw that is exceeded with this probability, in raw units; `raw`: low, span, lower bound and cap."""
    low, span, lower, cap = raw
    return min(cap, max(lower, low + span * quantile(law_of(a, b, bounds[0], bounds[1]), number)))


@compiled
def write_draws(
    plan: Plan, parameters: Floats, state: State, stream: np.uint64, first: int, every: bool, scores: Floats
) -> None:
    """Write the draws of candidates that may have the largest; minus infinity for those that surely have not.

    That of `first` is made first. Where not every candidate counts, those with scores of minus infinity stay out.
    """
    best = -np.inf
    for n in range(scores.size):
        k = first if n == 0 else (0 if n == first else n)
        if not every and scores[k] == -np.inf:
            continue
        a, b, lower, upper = posterior_of(plan, parameters, state, k)
        low, span, number = plan.low[k], plan.span[k], number_of(stream, int(plan.arm[k]))
        if best > -np.inf and upper - lower > _NARROW:
            x = (best - low) / span
            scores[k] = -np.inf
            if number > may_exceed(a, b, lower, upper, x) + CLOSE:
                continue
            if lower < x < upper and number > tail(law_of(a, b, lower, upper), x)[0] + CLOSE:
                continue
        scores[k] = draw_of(a, b, (lower, upper), (low, span, plan.lower[k], plan.cap[k]), number)
        best = max(best, scores[k])


@compiled
def _likely(plan: Plan, parameters: Floats, state: State, stream: np.uint64) -> tuple[int, float]:
    """Who probably draws most, and a mean that is probably between this draw and the next."""
    place, first, second = 0, -np.inf, -np.inf
    for k in range(plan.arm.size):
        a, b, lower, upper = posterior_of(plan, parameters, state, k)
        x = near_quantile(a, b, number_of(stream, int(plan.arm[k])))
        near = plan.low[k] + plan.span[k] * min(upper, max(lower, x))
        if near > first:
            place, first, second = k, near, first
        elif near > second:
            second = near
    return place, 0.5 * (first + second)


@compiled
def _surely_most(plan: Plan, parameters: Floats, state: State, stream: np.uint64, place: int, level: float) -> bool:
    """Whether bounds on tails say that this candidate's draw is above a level, and that no other is."""
    for k in range(plan.arm.size):
        a, b, lower, upper = posterior_of(plan, parameters, state, k)
        x, number = (level - plan.low[k]) / plan.span[k], number_of(stream, int(plan.arm[k]))
        if k == place:
            apart = upper - lower > _NARROW and abs(x - lower) > _NARROW
            if not (apart and 1.0 - number > may_exceed(b, a, 1.0 - upper, 1.0 - lower, 1.0 - x) + CLOSE):
                return False
        elif not number > may_exceed(a, b, lower, upper, x) + CLOSE:
            return False
    return True


@compiled
def choose_inverted(plan: Plan, parameters: Floats, state: State, number: int, key: np.uint64) -> int:
    """`choose_thompson` with draws by inversion, of which only those are made that are needed."""
    stream = child(key, number)
    place, level = _likely(plan, parameters, state, stream)
    if _surely_most(plan, parameters, state, stream, place, level):
        return place
    scores = np.empty(plan.arm.size)
    write_draws(plan, parameters, state, stream, place, True, scores)
    return argmax(scores, key, number)
