"""The optimistic Gittins index (Gutin and Farias, 2016) of a Beta posterior that is truncated to an arm's bounds.

Suppose that an arm may be played once more, then its mean is revealed, and from then on whoever plays may take either
the arm or a sure v in each round. The index is the v at which that is worth as much as v from the start, if the game
goes on after each round with probability g: ``v = (1 - g) E[mean] + g E[max(mean, v)]``. With g = 1 - 1 / (f(t) + 1)

    f(t) E[(mean - v)+] = v - E[mean].

The left side falls in v and the right side rises, so there is one solution, between E[mean] and the cap, and it grows
with f(t). It also grows with every 1 and falls with every 0 among the rewards, since the posteriors have monotone
likelihood ratios. `kernels/fast/gittins.py` rests on this.

Integrals are taken in y = log(x / (1 - x)), where the posterior is ``exp(a y) / (1 + exp(y))^(a + b) dy``: log-concave,
with its peak at x = a / (a + b) and smooth at both ends whatever a and b are. From the peak, or from v beyond it,
Gauss-Legendre panels go outwards to the bound or to where nothing is left. All terms are positive and relative to the
density where they start, so no tail costs precision.
"""

from __future__ import annotations

from math import exp, expm1, log, log1p, sqrt

import numpy as np
from numpy.polynomial import legendre

from meanbounds.kernels.arms.divergence import excess
from meanbounds.kernels.arms.tables import Plan, State
from meanbounds.kernels.arms.thompson import HAT_SHAPE, in_raw_units, posterior_hat, shared_floor
from meanbounds.kernels.arms.weak import beyond, is_weak
from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.random.stream import uniform
from meanbounds.support.types import Floats

__all__ = [
    "LAW_SIZE",
    "PRECISION",
    "chances_by_mean",
    "choose_gittins",
    "expectation",
    "fill_law",
    "gittins_chances",
    "gittins_scores",
    "guess_of_part",
    "height_of_law",
    "index_of_law",
    "largest_by_mean",
    "law_under_hat",
    "mass_of_law",
    "mixed_index",
    "mixed_tail",
    "optimistic_index",
    "tail_of_law",
]

_SIZE = 20  # nodes on a panel
_DEPTH = 32.0  # what is left of a posterior where its density has fallen by exp(-32) is neglected
_WIDEST = 4.0  # width of a panel in y; the posterior has poles at a distance of pi from real y
_BELOW_ONE = 1.0 - 2.0**-53  # a peak has to be below 1
_MOST_STEPS = 80  # of Newton's method, of which it takes about five; each could at worst be a halving

PRECISION = 1e-8  # of an index, see `index_of_law`

_NODES = 0.5 * (1.0 + legendre.leggauss(_SIZE)[0])
_WEIGHTS = 0.5 * legendre.leggauss(_SIZE)[1]

LAW_SIZE = 10
# The law of one mean: a, b, lower, upper, centre (the peak of the density in y, between the bounds), mass, mean, and
# from the centre up: mass, first moment of the distance. Masses are relative to the density in y at the centre.
# The last entry is 1 less the upper bound.
_A, _B, _LOWER, _UPPER, _CENTRE, _MASS, _MEAN, _ABOVE, _MOMENT, _LACK = range(LAW_SIZE)


@compiled
def _reach(a: float, b: float, x: float, lack: float) -> float:
    """How far above x in y the density has fallen by exp(-_DEPTH), or a little further.

    The log of the density is concave and falls from x on, so Newton's method never stops short of the place.
    """
    size = a + b
    slope, bend = min(0.0, a * lack - b * x), size * x * lack
    step = 2.0 * _DEPTH / (sqrt(slope * slope + 2.0 * bend * _DEPTH) - slope)
    for _ in range(2):
        grown = expm1(step)
        ratio = 1.0 + x * grown
        fallen = a * step - size * log1p(x * grown) + _DEPTH
        step -= fallen / (a - size * x * (1.0 + grown) / ratio)
    return step


@compiled
def _beyond(a: float, b: float, x: float, lack: float, gap: float, end_lack: float) -> tuple[float, float]:
    """Integrals from x to x + gap of the density and of the density times the distance from x.

    The density is that of Beta(a, b), relative to the one in y at x, which has to be at or beyond its peak; ``lack`` is
    1 - x and ``end_lack`` is 1 - x - gap.
    """
    if not gap > 0.0:
        return 0.0, 0.0
    if is_weak(a, b):
        return beyond(a, b, x, lack, log1p(gap / (x * end_lack)) if end_lack > 0.0 else np.inf)
    width = _reach(a, b, x, lack)
    if end_lack > 0.0:
        width = min(width, log1p(gap / (x * end_lack)))
    panels = int(width / _WIDEST) + 1
    panel = width / panels
    mass, moment = 0.0, 0.0
    for p in range(panels):
        for i in range(_SIZE):
            step = panel * (p + _NODES[i])
            grown = expm1(step)
            inner = x * grown
            density = _WEIGHTS[i] * exp(a * step - (a + b) * log1p(inner))
            mass += density
            moment += density * (grown / (1.0 + inner))
    return panel * mass, panel * (x * lack * moment)


@compiled
def fill_law(law: Floats, a: float, b: float, lower: float, upper: float) -> None:
    """Fill in the law of a mean: Beta(a, b), between two bounds; a point where these are equal."""
    law[_A], law[_B], law[_LOWER], law[_UPPER], law[_LACK] = a, b, lower, max(lower, upper), 1.0 - upper
    if not lower < upper:
        law[_CENTRE] = law[_MEAN] = lower
        law[_MASS] = law[_ABOVE] = law[_MOMENT] = 0.0
        return
    centre = min(upper, max(lower, min(_BELOW_ONE, a / (a + b))))
    lack = 1.0 - centre
    above, above_moment = _beyond(a, b, centre, lack, upper - centre, 1.0 - upper)
    below, below_moment = _beyond(b, a, lack, centre, centre - lower, lower)
    mass = above + below
    mean = centre + (above_moment - below_moment) / mass
    law[_CENTRE], law[_MASS], law[_MEAN] = centre, mass, min(upper, max(lower, mean))
    law[_ABOVE], law[_MOMENT] = above, above_moment


@compiled
def mass_of_law(law: Floats) -> float:
    """The mass between the bounds, relative to the density in y at the centre; 0 where the mean is known."""
    return float(law[_MASS])


@compiled
def height_of_law(law: Floats, x: float) -> float:
    """The density in y at x, ``x^a (1 - x)^b``, relative to that at the centre."""
    if not 0.0 < x < 1.0:
        return 0.0
    a, b, centre = law[_A], law[_B], law[_CENTRE]
    lack, step = 1.0 - centre, x - centre
    fallen = -a * excess(step / centre, x / centre) - b * excess(-step / lack, (1.0 - x) / lack)
    if centre <= law[_LOWER] or centre >= law[_UPPER]:  # elsewhere the slope at the centre is 0
        fallen += (a / centre - b / lack) * step
    return exp(fallen)


@compiled
def tail_of_law(law: Floats, v: float) -> tuple[float, float]:
    """P(mean > v) and E[(mean - v)+] for v between the bounds."""
    a, b, centre, mass = law[_A], law[_B], law[_CENTRE], law[_MASS]
    step = v - centre
    if step < 0.0:
        below, moment = _beyond(b, a, 1.0 - centre, centre, -step, v)
        return (law[_ABOVE] + below) / mass, (law[_MOMENT] - step * law[_ABOVE] - step * below - moment) / mass
    lack = 1.0 - v
    if not lack > 0.0:
        return 0.0, 0.0
    fallen = -a * excess(step / centre, 1.0 + step / centre)
    fallen -= b * excess(-step / (1.0 - centre), 1.0 - step / (1.0 - centre))
    if centre <= law[_LOWER]:  # elsewhere the slope at the centre is 0
        fallen += (a / centre - b / (1.0 - centre)) * step
    chance, moment = _beyond(a, b, v, lack, law[_UPPER] - v, law[_LACK])
    share = exp(fallen) / mass
    return share * chance, share * moment


@compiled
def _first_guess(law: Floats, f: float) -> float:
    """The index if the mean were normal, to within a tenth of its spread, and at most that of a uniform one."""
    mean = law[_MEAN]
    depth = sqrt(min(25.0, log1p(f)))
    z = -0.295 + depth * (0.357 + depth * (0.341 - depth * 0.0315))
    step, room = z * sqrt(mean * (1.0 - mean) / (law[_A] + law[_B] + 1.0)), law[_UPPER] - mean
    bent = room * step / (room**3 + step**3) ** (1.0 / 3.0)
    return float(mean + min(bent, room - 2.0 * room / (1.0 + sqrt(1.0 + f))))


@compiled
def index_of_law(law: Floats, f: float, precision: float) -> float:
    """The v with ``f E[(mean - v)+] = v - E[mean]``.

    Newton's method on the difference of the logarithms of both sides, kept between a v that is too small and one that
    is too large. Where its step leaves them, the step is that for the difference itself, which is convex and falls.
    The last step is at most `precision` of the distance to the mean, and the error that is left about its square.
    """
    mean, upper = law[_MEAN], law[_UPPER]
    if not mean < upper:
        return float(mean)
    below, above = mean, upper
    v = _first_guess(law, f)
    for _ in range(_MOST_STEPS):
        if not below < v < above:
            break
        chance, gain = tail_of_law(law, v)
        lead = v - mean
        surplus = f * gain - lead
        if surplus > 0.0:
            below = v
        else:
            above = v
        following = straight = v + surplus / (f * chance + 1.0)
        if gain > 0.0:
            following = v + log(f * gain / lead) / (chance / gain + 1.0 / lead)
        if abs(following - v) <= max(precision * lead, 1e-15 * v):
            return float(min(upper, max(mean, following)))
        if not below < following < above:
            following = straight
        if not below < following < above:
            following = 0.5 * (below + above)
        v = following
    return float(min(upper, max(mean, v)))


@compiled
def mixed_tail(laws: Floats, weights: Floats, v: float) -> tuple[float, float]:
    """P(mean > v) and E[(mean - v)+] of a mean that has each law with the probability that is its weight."""
    chance, gain = 0.0, 0.0
    for n in range(weights.size):
        own, share = laws[n], weights[n]
        if v <= own[_LOWER]:
            chance, gain = chance + share, gain + share * (own[_MEAN] - v)
        elif v < own[_UPPER]:
            found = tail_of_law(own, v)
            chance, gain = chance + share * found[0], gain + share * found[1]
    return chance, gain


@compiled
def guess_of_part(law: Floats, weight: float, f: float) -> float:
    """About what the index of a mixture would be if this part alone could be above the mean."""
    return _first_guess(law, f * weight) if law[_MEAN] < law[_UPPER] else float(law[_MEAN])


@compiled
def mixed_index(laws: Floats, weights: Floats, guess: float, f: float, precision: float) -> tuple[float, float]:
    """Index and expectation of a mean that has each law with the probability that is its weight.

    Newton's method as in `index_of_law`, with halving wherever it leaves the interval in which the index lies.
    """
    mean, above = 0.0, laws[0, _UPPER]
    for n in range(weights.size):
        mean += weights[n] * laws[n, _MEAN]
        above = max(above, laws[n, _UPPER])
    below = mean
    if not below < above:
        return float(mean), float(mean)
    v = guess if below < guess < above else 0.5 * (below + above)
    for _ in range(_MOST_STEPS):
        chance, gain = mixed_tail(laws, weights, v)
        lead = v - mean
        surplus = f * gain - lead
        if surplus > 0.0:
            below = v
        else:
            above = v
        following = v + surplus / (f * chance + 1.0)
        if gain > 0.0 and lead > 0.0:
            following = v + log(f * gain / lead) / (chance / gain + 1.0 / lead)
        if abs(following - v) <= max(precision * lead, 1e-15 * v):
            v = following
            break
        v = following if below < following < above else 0.5 * (below + above)
        if not below < v < above:
            break
    return float(min(above, max(below, v))), float(mean)


@compiled
def optimistic_index(a: float, b: float, lower: float, upper: float, f: float) -> tuple[float, float]:
    """Index and expectation of a mean with the law Beta(a, b) between two bounds, in [0, 1]."""
    law = np.empty(LAW_SIZE)
    fill_law(law, a, b, lower, upper)
    return index_of_law(law, f, PRECISION), law[_MEAN]


@compiled
def law_under_hat(law: Floats, hat: Floats) -> None:
    """Fill in the law of which `posterior_hat` has made a hat."""
    fill_law(law, hat[3, 3] + 1.0, hat[3, 4] + 1.0, hat[3, 0], hat[3, 1])


@compiled
def expectation(law: Floats) -> float:
    """The mean's expectation."""
    return float(law[_MEAN])


@compiled
def gittins_scores(plan: Plan, parameters: Floats, state: State, log_f: float, scores: Floats, means: Floats) -> None:
    """Write each candidate's index and the expectation of its mean, in raw units.

    `parameters`: the two of the Beta prior, and how many moments of the rewards are taken into account; see
    `posterior_hat`.
    """
    hat, law, f = np.empty(HAT_SHAPE), np.empty(LAW_SIZE), exp(log_f)
    shared = shared_floor(plan, parameters, state)
    for k in range(plan.arm.size):
        floor = posterior_hat(hat, plan, parameters, state, k, shared)
        law_under_hat(law, hat)
        index, mean = index_of_law(law, f, PRECISION), law[_MEAN]
        ends, bounds = (plan.low[k], plan.span[k], plan.high[k]), (plan.lower[k], plan.cap[k])
        scores[k] = in_raw_units(index, floor, ends, bounds)
        means[k] = in_raw_units(mean, floor, ends, bounds)


@compiled
def largest_by_mean(scores: Floats, means: Floats, key: np.uint64, number: int) -> int:
    """Place of the largest score; among equal ones the largest mean decides, then chance."""
    best = 0
    for k in range(1, scores.size):
        if scores[k] > scores[best] or (scores[k] == scores[best] and means[k] > means[best]):
            best = k
    ties = 0
    for k in range(best, scores.size):
        ties += scores[k] == scores[best] and means[k] == means[best]
    skip = int(uniform(key, number) * ties) if ties > 1 else 0
    for k in range(best, scores.size):
        if scores[k] == scores[best] and means[k] == means[best]:
            if skip == 0:
                return k
            skip -= 1
    return best


@compiled
def chances_by_mean(scores: Floats, means: Floats, out: Floats) -> None:
    """Write the chance of each place to be that of `largest_by_mean`: those that tie share it equally."""
    best, ties = largest_by_mean(scores, means, np.uint64(0), 0), 0
    for k in range(out.size):
        ties += scores[k] == scores[best] and means[k] == means[best]
    for k in range(out.size):
        out[k] = 1.0 / ties if scores[k] == scores[best] and means[k] == means[best] else 0.0


@compiled
def choose_gittins(plan: Plan, parameters: Floats, state: State, log_f: float, number: int, key: np.uint64) -> int:
    """Play the arm with the largest index; see `largest_by_mean` for ties."""
    scores, means = np.empty(plan.arm.size), np.empty(plan.arm.size)
    gittins_scores(plan, parameters, state, log_f, scores, means)
    return largest_by_mean(scores, means, key, number)


@compiled
def gittins_chances(plan: Plan, parameters: Floats, state: State, log_f: float, out: Floats) -> None:
    """Write each candidate's chance of being picked by `choose_gittins`."""
    scores, means = np.empty(plan.arm.size), np.empty(plan.arm.size)
    gittins_scores(plan, parameters, state, log_f, scores, means)
    chances_by_mean(scores, means, out)
