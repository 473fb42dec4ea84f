"""Linear policies with an index in closed form: the same decisions as `meanbounds.kernels.linear.play`, faster.

How many times faster is measured by `make bench`: see "The fast loop of linear policies" in benchmarks/RESULTS.md. The
benchmark fails below 1.5 times, where this module would not be worth its length.

A run is one function on plain arrays: an array that is taken out of a tuple costs more than a pass over ten numbers.
The matrix itself is not kept, only how much each arm weighs in it; it is built when its inverse is computed anew.
"""

from __future__ import annotations

from math import log, log1p, sqrt

import numpy as np

from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.linear.design import LEAP, REFRESH, new_root, solve_root, weight_of
from meanbounds.kernels.linear.play import LinearBlock, true_means
from meanbounds.kernels.linear.pool import PLAIN, RUNNING_MAX, Pool, Rule
from meanbounds.kernels.linear.restrict import last_floor
from meanbounds.kernels.linear.settle import Now, settle
from meanbounds.kernels.random.rewards import UNIFORM, draw, draw_simple, law_of
from meanbounds.kernels.random.stream import child, offer_key, policy_key, reward_key, uniform
from meanbounds.support.types import Floats

__all__ = ["play_linear"]


@compiled
def _measure(features: Floats, inverse: Floats, estimate: Floats, arm: int, image: Floats) -> tuple[float, float]:
    """An arm's x . estimate and x V^-1 x; V^-1 x is left in `image`."""
    d = image.size
    image[:] = 0.0
    value, square = 0.0, 0.0
    for i in range(d):
        x = features[arm, i]
        value += x * estimate[i]
        for j in range(d):
            image[j] += x * inverse[i, j]
    for i in range(d):
        square += features[arm, i] * image[i]
    return value, max(square, 0.0)


@compiled
def _project(columns: Floats, image: Floats, out: Floats) -> None:
    """Product of every arm's features with `image`: arms are contiguous, and four rows are taken at once."""
    d, arms = columns.shape
    start = d % 4
    out[:] = 0.0
    for i in range(start):
        part = image[i]
        for arm in range(arms):
            out[arm] += part * columns[i, arm]
    for i in range(start, d, 4):
        first, second, third, fourth = image[i], image[i + 1], image[i + 2], image[i + 3]
        for arm in range(arms):
            out[arm] += (
                first * columns[i, arm]
                + second * columns[i + 1, arm]
                + (third * columns[i + 2, arm] + fourth * columns[i + 3, arm])
            )


@compiled
def play_linear(pool: Pool, rule: Rule, block: LinearBlock, keep_all: bool) -> None:
    """Play a block of runs of a rule with a plain or clipped index and fixed bounds."""
    features, length, offset = pool.features, pool.length, pool.offset
    low, high, lower, upper, proxies = pool.low, pool.high, pool.lower, pool.upper, pool.proxy
    rewards, kind, law, theta, table, stops = (
        block.rewards,
        block.rewards.kind,
        block.rewards.parameters,
        block.theta,
        block.offers,
        block.stops,
    )
    arms, d = features.shape
    columns, means = np.ascontiguousarray(features.T), true_means(pool, block.theta)
    mean, square, product = np.empty(arms), np.empty(arms), np.empty(arms)
    mass, given = np.empty(arms), np.empty(arms)  # of each arm: the weights of its rewards, and weight x target, summed
    inverse, estimate, moment, carried, image = (
        np.empty((d, d)),
        np.empty(d),
        np.empty(d),
        np.empty(d),
        np.empty(d),
    )
    regularisation, noise = rule.regularisation, rule.noise
    root, precision = new_root(d, regularisation), np.empty((d, d))
    bias, asked = sqrt(regularisation) * rule.norm_high, -2.0 * log(rule.failure)
    printed, settles, last = rule.printed, rule.settle, np.empty(arms)
    for arm in range(arms):
        last[arm] = last_floor(pool, rule, arm)
    caps = upper if rule.index_kind != PLAIN else np.full(arms, np.inf)
    drawn = block.drawn
    count = table.shape[1] if table.shape[0] else (drawn if drawn else arms)
    same_offer = drawn == 0 and table.shape[0] == 0
    offered, order, partner = np.arange(count), np.arange(arms), np.empty(count, np.int64)
    kept, scores = np.empty(count, np.int64), np.empty(count)
    for run in range(block.curves.shape[0]):
        plays = block.plays[run]
        streams = reward_key(block.seed, block.first_run + run)
        offers = offer_key(block.seed, block.first_run + run)
        key = policy_key(block.seed, block.first_run + run)
        mass[:] = 0.0
        given[:] = 0.0
        moment[:] = 0.0
        estimate[:] = 0.0
        inverse[:] = 0.0
        for i in range(d):
            inverse[i, i] = 1.0 / regularisation
            carried[i] = regularisation * theta[i]
        for arm in range(arms):
            mean[arm], square[arm] = 0.0, length[arm] ** 2 / regularisation
        log_determinant, top_proxy = 0.0, 0.0
        t, regret, kept_sum, best_sum, strain = 1, 0.0, 0, 0, 0.0
        floor, top, size = -np.inf, -np.inf, 0
        for c in range(stops.size):
            while t <= stops[c]:
                # What is on offer.
                if table.shape[0]:
                    row = (t - 1) % table.shape[0]
                    for k in range(count):
                        offered[k] = table[row, k]
                elif drawn:
                    draws = child(offers, t)
                    for k in range(count):
                        other = k + int(uniform(draws, k) * (arms - k))
                        partner[k] = other
                        order[k], order[other] = order[other], order[k]
                        offered[k] = order[k]
                    for k in range(count - 1, -1, -1):
                        other = partner[k]
                        order[k], order[other] = order[other], order[k]
                # What can be best: the same in every round if the offer is.
                if t == 1 or not same_offer:
                    floor, top, size = -np.inf, -np.inf, 0
                    for k in range(count):
                        floor = max(floor, lower[offered[k]])
                        top = max(top, means[offered[k]])
                    for k in range(count):
                        kept[size] = offered[k]
                        size += last[offered[k]] >= floor
                # The choice.
                growth = d * log1p((t - 1) / (d * regularisation)) if printed else log_determinant
                proxy = top_proxy if noise == RUNNING_MAX else rule.proxy
                reach = bias + sqrt(proxy * (growth + asked))
                chosen = kept[0]
                if size > 1:
                    if not keep_all:
                        for k in range(size):
                            arm = kept[k]
                            mean[arm], square[arm] = _measure(features, inverse, estimate, arm, image)
                    if size == arms and same_offer:  # then in the order of the arms
                        for k in range(arms):
                            scores[k] = offset[k] + mean[k] + reach * sqrt(max(square[k], 0.0))
                            scores[k] = min(scores[k], caps[k])
                    else:
                        for k in range(size):
                            arm = kept[k]
                            score = offset[arm] + mean[arm] + reach * sqrt(max(square[arm], 0.0))
                            scores[k] = min(score, caps[arm])
                    now = Now(reach, rule.norm_high, settles, t - 1, key)
                    place = settle(scores, size, kept, offset, mean, square, length, lower, upper, now)
                    chosen = kept[place]
                # What it shows.
                distance = 0.0
                for i in range(d):
                    distance += (estimate[i] - theta[i]) * (moment[i] - carried[i])
                strain = max(strain, sqrt(max(distance, 0.0)) / reach)
                regret += top - means[chosen]
                best_sum += means[chosen] == top
                kept_sum += size
                number = int(plays[chosen])
                if kind <= UNIFORM:
                    reward = draw_simple(law_of(kind, law, chosen), child(streams, chosen), number)
                else:
                    reward = draw(rewards, chosen, child(streams, chosen), number)
                plays[chosen] += 1.0
                target = low[chosen] + (high[chosen] - low[chosen]) * reward - offset[chosen]
                # What is learned.
                own = proxies[chosen]
                top_proxy = max(top_proxy, own)
                weight = weight_of(rule, own)
                value, width = _measure(features, inverse, estimate, chosen, image)
                factor = weight / (1.0 + weight * width)
                shift, push = factor * (target - value), weight * (means[chosen] - offset[chosen])
                mass[chosen] += weight
                given[chosen] += weight * target
                log_determinant += log1p(weight * width)
                for i in range(d):
                    x = features[chosen, i]
                    moment[i] += weight * target * x
                    carried[i] += push * x
                t += 1
                if (t - 1) % REFRESH == 0 or weight * width > LEAP:
                    log_determinant = solve_root(
                        root, features, mass, given, regularisation, precision, inverse, moment, estimate
                    )
                    if keep_all:
                        for arm in range(arms):
                            mean[arm], square[arm] = _measure(features, inverse, estimate, arm, image)
                    continue
                for i in range(d):
                    estimate[i] += shift * image[i]
                    along = factor * image[i]
                    for j in range(d):
                        inverse[i, j] -= along * image[j]
                if keep_all:
                    _project(columns, image, product)
                    for arm in range(arms):
                        mean[arm] += shift * product[arm]
                        square[arm] -= factor * product[arm] * product[arm]
            block.curves[run, c] = regret
            block.kept[run, c] = kept_sum
            block.best[run, c] = best_sum
            block.strain[run, c] = strain
            block.contradictions[run, c] = 0.0
