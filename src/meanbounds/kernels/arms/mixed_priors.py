"""Posteriors of means whose prior is a mixture of Beta laws, whether their bounds are certain or not.

With weights w_i and laws Beta(a_i, b_i), after S successes and F failures the posterior within the bounds is a mixture
of the laws Beta(a_i + S, b_i + F), each cut to the bounds, with weights in proportion to

    w_i * B(a_i + S, b_i + F) / B(a_i, b_i) * P(Beta(a_i + S, b_i + F) within the bounds).

Bounds that hold with probability p only are as in `meanbounds.kernels.arms.doubted_laws`: p times the prior within the
bounds plus 1 - p times the whole prior. That is a mixture of twice as many parts, those within the bounds first. Where
the bounds are certain the others have the weight 0.

A plan has three rows for each component after its own rows: all log weights, all a_i, all b_i. Its last rows are those
of `meanbounds.kernels.arms.logged`: the plays that the prior is worth where only plays can be counted, in settling.
"""

from __future__ import annotations

from math import exp, expm1, log

import numpy as np

from meanbounds.kernels.arms.divergence import kl_between
from meanbounds.kernels.arms.doubted_laws import log_mass_between, unit_bounds
from meanbounds.kernels.arms.gittins import (
    LAW_SIZE,
    PRECISION,
    chances_by_mean,
    guess_of_part,
    largest_by_mean,
    law_under_hat,
    mixed_index,
)
from meanbounds.kernels.arms.ids import best_mix, draw_from
from meanbounds.kernels.arms.laws import LAW_ROWS, Laws, fill_law, laws_of
from meanbounds.kernels.arms.logged import LOG_ROWS
from meanbounds.kernels.arms.mixtures import NEVER, mixed_best, mixed_values, widen_point
from meanbounds.kernels.arms.quantile import log_peak
from meanbounds.kernels.arms.tables import Plan, State, plan_of, state_of
from meanbounds.kernels.arms.thompson import HAT_SHAPE, draw_and_lack, in_raw_units, nearest_to_top, posterior_hat
from meanbounds.kernels.arms.weak import is_weak
from meanbounds.kernels.arms.weak_chances import PART_SIZE, put_part, weak_best, weak_values
from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.random.stream import child, uniform
from meanbounds.support.types import Floats

__all__ = [
    "certain",
    "choose_mixed_draws",
    "choose_mixed_gittins",
    "choose_mixed_ids",
    "fill_weights",
    "log_evidence",
    "mixed_gittins",
    "mixed_gittins_chances",
    "mixed_ids_chances",
    "mixed_thompson_chances",
]

_PLAN = len(Plan._fields)
_NEGLIGIBLE = 1e-30  # weight of a part that no f(t) makes count in an index
_WHOLE = (0.0, 1.0)  # floor and room of `posterior_hat` with one moment


@compiled
def certain(size: int) -> Floats:
    """Log N of arms whose bounds are certain."""
    return np.full(size, np.inf)


@compiled
def _components(table: Floats) -> int:
    """How many components each arm's prior has."""
    return int(table.shape[0] - _PLAN - LOG_ROWS) // 3


@compiled
def _law(table: Floats, k: int, i: int) -> tuple[float, float, float]:
    """Log weight and parameters of a component of an arm's prior."""
    count = _components(table)
    return table[_PLAN + i, k], table[_PLAN + count + i, k], table[_PLAN + 2 * count + i, k]


@compiled
def log_evidence(a: float, b: float, ones: float, zeros: float) -> float:
    """Log of the likelihood that Beta(a, b) gives to what was seen, over the likelihood of the mean that was seen.

    With s = a + b, m = a / s, n and q plays and their mean, p the mean of both together, B(a + S, b + F) / B(a, b) is
    the likelihood of q times ``exp(-s kl(m, p) - n kl(q, p))`` times the ratio of the densities in log(x / (1 - x)) of
    the prior at m and of the posterior at p. So no large numbers are subtracted from each other.
    """
    plays, strength = ones + zeros, a + b
    if not plays > 0.0:
        return 0.0
    whole = strength + plays
    pooled, lack = (a + ones) / whole, (b + zeros) / whole
    value = log_peak(a, b) - log_peak(a + ones, b + zeros)
    value -= strength * kl_between(a / strength, b / strength, pooled, lack)
    return value - plays * kl_between(ones / plays, zeros / plays, pooled, lack)


@compiled
def _log_sum(values: Floats) -> float:
    """Log of the sum of the exponentials."""
    top = values.max()
    if top == -np.inf:
        return -np.inf
    total = 0.0
    for i in range(values.size):
        total += exp(values[i] - top)
    return float(top + log(total))


@compiled
def _log_within(table: Floats, k: int, seen: tuple[float, float], bounds: tuple[float, float], out: Floats) -> None:
    """Write log weight, evidence and probability of the bounds together, for each component after what was seen."""
    whole = bounds[0] <= 0.0 and bounds[1] >= 1.0
    for i in range(out.size):
        weight, a, b = _law(table, k, i)
        out[i] = weight
        if weight > -np.inf:
            out[i] += log_evidence(a, b, seen[0], seen[1])
            if not whole:
                out[i] += log_mass_between(a + seen[0], b + seen[1], bounds[0], bounds[1])


@compiled
def fill_weights(told: Floats, log_n: float, state: State, k: int, out: Floats) -> None:
    """Write the probability of each part of an arm's posterior: those within the bounds, then those without.

    Where the bounds leave one value, the first part is that value and the others within the bounds have the weight 0.
    """
    count, arm, bounds = out.size // 2, int(told[0, k]), unit_bounds(told, k)
    ones = state.ones[arm]
    seen = ones, state.plays[arm] - ones
    out[:] = -np.inf
    if log_n > 0.0:
        trusted = log(-expm1(-log_n)) if log_n < np.inf else 0.0
        if bounds[0] < bounds[1]:
            _log_within(told, k, seen, bounds, out[:count])
            if log_n < np.inf:
                before = np.empty(count)
                _log_within(told, k, (0.0, 0.0), bounds, before)
                trusted -= _log_sum(before)
            out[:count] += trusted
        else:
            plays = seen[0] + seen[1]
            out[0] = trusted
            if plays > 0.0 and log_n < np.inf:
                out[0] -= plays * kl_between(seen[0] / plays, seen[1] / plays, bounds[0], 1.0 - bounds[0])
    if log_n < np.inf:
        _log_within(told, k, seen, (0.0, 1.0), out[count:])
        out[count:] -= log_n
    whole = _log_sum(out)
    for n in range(out.size):
        out[n] = exp(out[n] - whole)


@compiled
def _put_prior(table: Floats, k: int, part: int, out: Floats) -> None:
    """Write the parameters of `posterior_hat` for one part."""
    _, out[0], out[1] = _law(table, k, part % _components(table))
    out[2] = 1.0


@compiled
def _ends(plan: Plan, k: int) -> tuple[tuple[float, float, float], tuple[float, float]]:
    """What `in_raw_units` needs of an arm."""
    return (plan.low[k], plan.span[k], plan.high[k]), (plan.lower[k], plan.cap[k])


@compiled
def _part_drawn(weights: Floats, place: float) -> int:
    """The part in which a place between 0 and 1 lies."""
    last = 0
    for n in range(weights.size):
        if weights[n] > 0.0:
            last = n
            place -= weights[n]
            if place < 0.0:
                break
    return last


@compiled
def choose_mixed_draws(
    told: Floats, bare: Floats, log_n: Floats, state_table: Floats, number: int, key: np.uint64
) -> int:
    """Place of the arm with the largest draw: a part of its posterior by their weights, then a mean of that part."""
    plans, state = (plan_of(told), plan_of(bare)), state_of(state_table)
    count = _components(told)
    hat, prior, weights = np.empty(HAT_SHAPE), np.empty(3), np.empty(2 * count)
    scores, lacks, stream = np.empty(log_n.size), np.empty(log_n.size), child(key, number)
    for k in range(scores.size):
        own = child(stream, int(told[0, k]))
        fill_weights(told, log_n[k], state, k, weights)
        part = _part_drawn(weights, uniform(own, 0))
        plan = plans[0] if part < count else plans[1]
        _put_prior(told, k, part, prior)
        posterior_hat(hat, plan, prior, state, k, -np.inf)
        x, lack = draw_and_lack(hat, child(own, 1))
        ends, bounds = _ends(plan, k)
        scores[k], lacks[k] = in_raw_units(x, _WHOLE, ends, bounds), log(plan.span[k]) + lack
    return nearest_to_top(plans[1], scores, lacks, key, number)


@compiled
def mixed_gittins(
    told: Floats, bare: Floats, log_n: Floats, state_table: Floats, log_f: float, scores: Floats, means: Floats
) -> None:
    """Write the optimistic Gittins index of each arm's mixture, and its expectation, in raw units."""
    plans, state, f = (plan_of(told), plan_of(bare)), state_of(state_table), exp(log_f)
    count = _components(told)
    hat, prior, weights = np.empty(HAT_SHAPE), np.empty(3), np.empty(2 * count)
    laws, shares = np.empty((2 * count, LAW_SIZE)), np.empty(2 * count)
    for k in range(scores.size):
        fill_weights(told, log_n[k], state, k, weights)
        size, guess = 0, -np.inf
        for part in range(2 * count):
            if weights[part] > _NEGLIGIBLE:
                _put_prior(told, k, part, prior)
                posterior_hat(hat, plans[0] if part < count else plans[1], prior, state, k, -np.inf)
                law_under_hat(laws[size], hat)
                shares[size] = weights[part]
                guess = max(guess, guess_of_part(laws[size], shares[size], f))
                size += 1
        index, mean = mixed_index(laws[:size], shares[:size], guess, f, PRECISION)
        ends, bounds = _ends(plans[0] if log_n[k] == np.inf else plans[1], k)
        scores[k], means[k] = in_raw_units(index, _WHOLE, ends, bounds), in_raw_units(mean, _WHOLE, ends, bounds)


@compiled
def choose_mixed_gittins(table: Floats, state_table: Floats, log_f: float, number: int, key: np.uint64) -> int:
    """Play the arm with the largest index, where bounds are certain; see `largest_by_mean` for ties."""
    scores, means = np.empty(table.shape[1]), np.empty(table.shape[1])
    mixed_gittins(table, table, certain(scores.size), state_table, log_f, scores, means)
    return largest_by_mean(scores, means, key, number)


@compiled
def mixed_gittins_chances(table: Floats, state_table: Floats, log_f: float, out: Floats) -> None:
    """Write each candidate's chance of being picked by `choose_mixed_gittins`."""
    scores, means = np.empty(out.size), np.empty(out.size)
    mixed_gittins(table, table, certain(out.size), state_table, log_f, scores, means)
    chances_by_mean(scores, means, out)


@compiled
def _fill_all_weights(told: Floats, log_n: Floats, state: State, out: Floats) -> bool:
    """Write the weight of each part of each arm, a row for each part; whether some part that counts is weak."""
    size, count = log_n.size, _components(told)
    own, weak = np.empty(2 * count), False
    for k in range(size):
        fill_weights(told, log_n[k], state, k, own)
        arm = int(told[0, k])
        for part in range(2 * count):
            out[part * size + k] = own[part]
            if own[part] > NEVER:
                _, a, b = _law(told, k, part % count)
                weak = weak or is_weak(a + state.ones[arm], b + state.plays[arm] - state.ones[arm])
    return weak


@compiled
def _mixed_laws(told: Floats, bare: Floats, weights: Floats, state: State) -> Laws:
    """The law of each part that counts; those of a row have the same component."""
    size, prior, half = told.shape[1], np.empty(3), weights.size // 2
    laws, table = laws_of(np.zeros((LAW_ROWS, weights.size))), np.empty((_PLAN, weights.size))
    for place in range(weights.size):
        k = place % size
        for row in range(_PLAN):
            table[row, place] = told[row, k] if place < half else bare[row, k]
        widen_point(table, place)
        if weights[place] > NEVER:
            _put_prior(told, k, place // size, prior)
            fill_law(plan_of(table), prior, state, place, -np.inf, laws)
    return laws


@compiled
def _weak_parts(told: Floats, bare: Floats, weights: Floats, state: State) -> Floats:
    """The parts that count, where some have a parameter below 1."""
    size, hat, prior, half, count = told.shape[1], np.empty(HAT_SHAPE), np.empty(3), weights.size // 2, 0
    plans, parts = (plan_of(told), plan_of(bare)), np.empty((weights.size, PART_SIZE))
    for place in range(weights.size):
        if weights[place] > NEVER:
            k, plan = place % size, plans[0] if place < half else plans[1]
            _put_prior(told, k, place // size, prior)
            posterior_hat(hat, plan, prior, state, k, -np.inf)
            put_part(parts[count], k, weights[place], hat, _WHOLE, (plan.low[k], plan.span[k], plan.high[k]))
            count += 1
    return parts[:count]


@compiled
def mixed_thompson_chances(told: Floats, bare: Floats, log_n: Floats, state_table: Floats, out: Floats) -> float:
    """Write each arm's chance of being played by `choose_mixed_draws`; return the estimated error."""
    state, weights = state_of(state_table), np.empty(2 * _components(told) * log_n.size)
    if _fill_all_weights(told, log_n, state, weights):
        return weak_best(_weak_parts(told, bare, weights, state), out)
    return mixed_best(_mixed_laws(told, bare, weights, state), weights, out)


@compiled
def mixed_ids_chances(
    told: Floats, bare: Floats, log_n: Floats, parameters: Floats, state_table: Floats, out: Floats
) -> None:
    """Write each arm's probability in the mix of information-directed sampling."""
    state, weights = state_of(state_table), np.empty(2 * _components(told) * log_n.size)
    best, short, learnt = np.empty(out.size), np.empty(out.size), np.empty(out.size)
    if _fill_all_weights(told, log_n, state, weights):
        weak_values(_weak_parts(told, bare, weights, state), short, learnt)
    else:
        mixed_values(_mixed_laws(told, bare, weights, state), weights, best, short, learnt)
    best_mix(short, learnt, parameters[3], out)


@compiled
def choose_mixed_ids(table: Floats, parameters: Floats, state_table: Floats, number: int, key: np.uint64) -> int:
    """Play an arm of the mix, where bounds are certain."""
    chances = np.empty(table.shape[1])
    mixed_ids_chances(table, table, certain(chances.size), parameters, state_table, chances)
    return draw_from(chances, key, number)
