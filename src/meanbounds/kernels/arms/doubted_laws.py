"""Posteriors of means whose bounds may be wrong: a mixture of the law within the bounds and of the one without.

The prior is p times the prior within the bounds plus 1 - p times the whole prior. By Bayes' rule the posterior is a
mixture of the same kind, in which the odds that the bounds hold are

    p / (1 - p) * P(whole posterior within the bounds) / P(whole prior within the bounds).

No arm has to be left out here: where the bounds of arm k and those of an arm with a larger lower bound hold, a draw of
arm k cannot be the largest anyhow. So arms are independent, and the largest of independent draws is played.
"""

from __future__ import annotations

from math import exp, expm1, lgamma, log, log1p

import numpy as np

from meanbounds.kernels.arms.gittins import (
    LAW_SIZE,
    PRECISION,
    expectation,
    guess_of_part,
    index_of_law,
    law_under_hat,
    mixed_index,
)
from meanbounds.kernels.arms.ids import best_mix
from meanbounds.kernels.arms.laws import LAW_ROWS, Laws, fill_law, laws_of
from meanbounds.kernels.arms.mixtures import mixed_best, mixed_values, widen_point
from meanbounds.kernels.arms.quantile import law_of, log_mass
from meanbounds.kernels.arms.tables import Plan, State, plan_of, state_of
from meanbounds.kernels.arms.thompson import (
    HAT_SHAPE,
    draw_and_lack,
    in_raw_units,
    nearest_to_top,
    posterior_hat,
    shared_floor,
    some_weak,
)
from meanbounds.kernels.arms.weak import is_weak, log_weak_mass
from meanbounds.kernels.arms.weak_chances import PART_SIZE, put_part, weak_best, weak_values
from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.random.stream import child, uniform
from meanbounds.support.types import Floats

__all__ = [
    "both_plans",
    "choose_doubted_draws",
    "doubted_gittins",
    "doubted_ids_chances",
    "doubted_thompson_chances",
    "fill_mixture",
    "fill_parts",
    "index_of_mixture",
    "log_bayes_factor",
    "log_mass_between",
    "prior_in",
    "trust_under_hat",
    "unit_bounds",
]

_PLAN = 7  # rows of a plan without a log
_ROUNDING = 1e-13  # part of all plays below which a sum of rewards less its prior may be a rounding error: none


@compiled
def log_mass_between(a: float, b: float, lower: float, upper: float) -> float:
    """Log of the probability of Beta(a, b) between bounds that differ."""
    if is_weak(a, b):
        return log_weak_mass(a, b, lower, upper)
    return log_mass(law_of(a, b, lower, upper))


@compiled
def log_bayes_factor(a: float, b: float, prior: tuple[float, float], lower: float, upper: float) -> float:
    """Log of P(Beta(a, b) within the bounds) / P(prior within the bounds); of densities if the bounds are one value."""
    return _log_factor(a, b, prior, (lower, upper), (lower, upper))


@compiled
def _log_factor(
    a: float, b: float, prior: tuple[float, float], bounds: tuple[float, float], before: tuple[float, float]
) -> float:
    """`log_bayes_factor` with bounds in other units than those of the prior, `before`, unless that is flat."""
    lower, upper = bounds
    if lower < upper:
        flat = prior[0] == 1.0 and prior[1] == 1.0
        start = log(upper - lower) if flat else log_mass_between(prior[0], prior[1], before[0], before[1])
        return log_mass_between(a, b, lower, upper) - start
    ones, zeros, rounding = a - prior[0], b - prior[1], _ROUNDING * (a + b)
    value = lgamma(prior[0]) + lgamma(prior[1]) - lgamma(prior[0] + prior[1])
    value -= lgamma(a) + lgamma(b) - lgamma(a + b)
    if ones > rounding:
        value += ones * log(lower) if lower > 0.0 else -np.inf
    if zeros > rounding:
        value += zeros * log1p(-lower) if lower < 1.0 else -np.inf
    return value


@compiled
def prior_in(told: Floats, parameters: Floats, k: int) -> tuple[float, float]:
    """The parameters of an arm's prior: those of all arms, or the last rows of a plan that has a prior."""
    if parameters[0] > 0.0:
        return parameters[0], parameters[1]
    return told[-2, k], told[-1, k]


@compiled
def unit_bounds(told: Floats, k: int) -> tuple[float, float]:
    """An arm's bounds in units of its range."""
    plan = plan_of(told)
    lower = max(0.0, (plan.lower[k] - plan.low[k]) / plan.span[k])
    return lower, max(lower, min(1.0, (plan.cap[k] - plan.low[k]) / plan.span[k]))


@compiled
def trust_under_hat(
    hat: Floats, prior: tuple[float, float], bounds: tuple[float, float], plays: float, log_n: float
) -> float:
    """How probable it is, after these plays, that the bounds of a hat of `posterior_hat` hold.

    ``bounds`` are those that the prior is about: with two moments a hat has them in other units.
    """
    if log_n == np.inf:
        return 1.0
    log_odds = log(expm1(log_n)) if log_n < 700.0 else log_n
    if plays > 0.0:
        a, b = hat[3, 3] + 1.0, hat[3, 4] + 1.0
        log_odds += _log_factor(a, b, prior, (hat[3, 0], min(1.0, hat[3, 1])), bounds)
    return 1.0 / (1.0 + exp(-log_odds)) if log_odds > -700.0 else 0.0


@compiled
def _ends(plan: Plan, k: int) -> tuple[tuple[float, float, float], tuple[float, float]]:
    """What `in_raw_units` needs of an arm."""
    return (plan.low[k], plan.span[k], plan.high[k]), (plan.lower[k], plan.cap[k])


@compiled
def choose_doubted_draws(
    told: Floats, bare: Floats, log_n: Floats, parameters: Floats, state_table: Floats, number: int, key: np.uint64
) -> int:
    """Place of the arm with the largest draw: from the law within the bounds or from the whole one, by their odds."""
    bounded, whole, state = plan_of(told), plan_of(bare), state_of(state_table)
    hat, scores, stream = np.empty(HAT_SHAPE), np.empty(log_n.size), child(key, number)
    lacks = np.empty(log_n.size)
    shared = shared_floor(whole, parameters, state)
    for k in range(scores.size):
        arm = int(whole.arm[k])
        own, ends = child(stream, arm), _ends(bounded, k)
        floor = posterior_hat(hat, bounded, parameters, state, k, shared)
        prior, unit = prior_in(told, parameters, k), unit_bounds(told, k)
        if uniform(own, 0) >= trust_under_hat(hat, prior, unit, state.plays[arm], log_n[k]):
            floor, ends = posterior_hat(hat, whole, parameters, state, k, shared), _ends(whole, k)
        x, lack = draw_and_lack(hat, child(own, 1))
        scores[k], lacks[k] = in_raw_units(x, floor, ends[0], ends[1]), log(whole.span[k] * floor[1]) + lack
    return nearest_to_top(whole, scores, lacks, key, number)


@compiled
def fill_mixture(
    told: Floats,
    bare: Floats,
    log_n: Floats,
    parameters: Floats,
    state_table: Floats,
    k: int,
    shared: float,
    laws: Floats,
    weights: Floats,
) -> tuple[float, float]:
    """Fill the laws of an arm's mean within its bounds and without them, and their weights; return the floor.

    The floor is that of `posterior_hat`. Where the first weight is 1, both laws are the first.
    """
    bounded, whole, state = plan_of(told), plan_of(bare), state_of(state_table)
    hat = np.empty(HAT_SHAPE)
    floor = posterior_hat(hat, bounded, parameters, state, k, shared)
    law_under_hat(laws[0], hat)
    prior, unit = prior_in(told, parameters, k), unit_bounds(told, k)
    weight = trust_under_hat(hat, prior, unit, state.plays[int(whole.arm[k])], log_n[k])
    if weight < 1.0:
        posterior_hat(hat, whole, parameters, state, k, shared)
        law_under_hat(laws[1], hat)
    else:
        laws[1] = laws[0]
    weights[0], weights[1] = weight, 1.0 - weight
    return floor


@compiled
def index_of_mixture(
    told: Floats, bare: Floats, k: int, laws: Floats, weights: Floats, floor: tuple[float, float], f: float
) -> tuple[float, float]:
    """The optimistic Gittins index of what `fill_mixture` has filled in, and its expectation, in raw units."""
    if weights[0] < 1.0:
        index, mean = mixed_index(laws, weights, guess_of_part(laws[1], weights[1], f), f, PRECISION)
        ends = _ends(plan_of(bare), k)
    else:
        index, mean = index_of_law(laws[0], f, PRECISION), expectation(laws[0])
        ends = _ends(plan_of(told), k)
    return in_raw_units(index, floor, ends[0], ends[1]), in_raw_units(mean, floor, ends[0], ends[1])


@compiled
def doubted_gittins(
    told: Floats,
    bare: Floats,
    log_n: Floats,
    parameters: Floats,
    state_table: Floats,
    log_f: float,
    scores: Floats,
    means: Floats,
) -> None:
    """Write the optimistic Gittins index of each arm's mixture, and its expectation, in raw units."""
    laws, weights, f = np.empty((2, LAW_SIZE)), np.empty(2), exp(log_f)
    shared = shared_floor(plan_of(bare), parameters, state_of(state_table))
    for k in range(scores.size):
        floor = fill_mixture(told, bare, log_n, parameters, state_table, k, shared, laws, weights)
        scores[k], means[k] = index_of_mixture(told, bare, k, laws, weights, floor, f)


@compiled
def both_plans(told: Floats, bare: Floats) -> Floats:
    """A plan of the parts of all mixtures: first without bounds, then within them."""
    size = told.shape[1]
    both = np.empty((_PLAN, 2 * size))
    for row in range(_PLAN):
        for k in range(size):
            both[row, k], both[row, size + k] = bare[row, k], told[row, k]
    for k in range(size):
        widen_point(both, size + k)
    return both


@compiled
def fill_parts(
    told: Floats,
    both: Floats,
    log_n: float,
    parameters: Floats,
    state: State,
    k: int,
    shared: float,
    laws: Laws,
    weights: Floats,
) -> None:
    """Write the laws of an arm without bounds and within them, and the weight of each; `both` is from `both_plans`."""
    size, bounded, parts, hat = told.shape[1], plan_of(told), plan_of(both), np.empty(HAT_SHAPE)
    posterior_hat(hat, bounded, parameters, state, k, shared)
    prior, unit = prior_in(told, parameters, k), unit_bounds(told, k)
    weight = trust_under_hat(hat, prior, unit, state.plays[int(bounded.arm[k])], log_n)
    weights[k], weights[size + k] = 1.0 - weight, weight
    fill_law(parts, parameters, state, k, shared, laws)
    fill_law(parts, parameters, state, size + k, shared, laws)


@compiled
def _weak_mixtures(told: Floats, bare: Floats, log_n: Floats, parameters: Floats, state: State) -> Floats:
    """Both parts of each arm's mixture, where some have a parameter below 1."""
    size, hat = log_n.size, np.empty(HAT_SHAPE)
    bounded, whole, parts = plan_of(told), plan_of(bare), np.empty((2 * log_n.size, PART_SIZE))
    shared = shared_floor(whole, parameters, state)
    for k in range(size):
        ends = whole.low[k], whole.span[k], whole.high[k]
        floor = posterior_hat(hat, bounded, parameters, state, k, shared)
        prior, unit = prior_in(told, parameters, k), unit_bounds(told, k)
        weight = trust_under_hat(hat, prior, unit, state.plays[int(whole.arm[k])], log_n[k])
        put_part(parts[k], k, weight, hat, floor, ends)
        floor = posterior_hat(hat, whole, parameters, state, k, shared)
        put_part(parts[size + k], k, 1.0 - weight, hat, floor, ends)
    return parts


@compiled
def _laws_in_doubt(
    told: Floats, bare: Floats, log_n: Floats, parameters: Floats, state_table: Floats
) -> tuple[Laws, Floats]:
    """Both laws of each arm, and their weights."""
    size, state, both = log_n.size, state_of(state_table), both_plans(told, bare)
    laws, weights = laws_of(np.zeros((LAW_ROWS, 2 * size))), np.empty(2 * size)
    shared = shared_floor(plan_of(bare), parameters, state)
    for k in range(size):
        fill_parts(told, both, log_n[k], parameters, state, k, shared, laws, weights)
    return laws, weights


@compiled
def doubted_thompson_chances(
    told: Floats, bare: Floats, log_n: Floats, parameters: Floats, state_table: Floats, out: Floats
) -> float:
    """Write each arm's chance of being played by `choose_doubted_draws`; return the estimated error."""
    if parameters[0] == 0.0 and some_weak(plan_of(bare), parameters, state_of(state_table)):
        return weak_best(_weak_mixtures(told, bare, log_n, parameters, state_of(state_table)), out)
    laws, weights = _laws_in_doubt(told, bare, log_n, parameters, state_table)
    return mixed_best(laws, weights, out)


@compiled
def doubted_ids_chances(
    told: Floats, bare: Floats, log_n: Floats, parameters: Floats, state_table: Floats, out: Floats
) -> None:
    """Write each arm's probability in the mix of information-directed sampling, under the mixtures."""
    best, short, learnt = np.empty(log_n.size), np.empty(log_n.size), np.empty(log_n.size)
    if parameters[0] == 0.0 and some_weak(plan_of(bare), parameters, state_of(state_table)):
        weak_values(_weak_mixtures(told, bare, log_n, parameters, state_of(state_table)), short, learnt)
    else:
        laws, weights = _laws_in_doubt(told, bare, log_n, parameters, state_table)
        mixed_values(laws, weights, best, short, learnt)
    best_mix(short, learnt, parameters[3], out)
