"""Slow, readable twins of the policies with a mixture of priors, for bounds that are certain and that are not."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import meanbounds as mb
from meanbounds.kernels.arms.thompson import truncated_beta
from meanbounds.kernels.random.stream import uniform
from tests import naive, naive_doubt, naive_prior
from tests.naive import UNDECIDED, Posterior, Round
from tests.naive_doubt import Doubt, Trust, integral


class Part(NamedTuple):
    """One of the laws that an arm's mean may have, the probability of it, and the round whose bounds it has."""

    weight: float
    law: Posterior
    seen: Round


def log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def parts_of(d: Doubt, k: int, prior: mb.PriorMixture) -> list[Part]:
    """By Bayes' rule: what each law makes of the rewards, within the bounds and without."""
    size = len(prior.components)
    shares = prior.weights[k] if isinstance(prior.weights[0], tuple) else prior.weights
    assert isinstance(shares, tuple)
    rows = [component.rows(d.told.bounds)[1:, k].tolist() for component in prior.components]
    within = [naive.posterior(d.told, k, 1, (a, b), -math.inf) for a, b in rows]
    whole = [naive.posterior(d.bare, k, 1, (a, b), -math.inf) for a, b in rows]
    ones, zeros = float(d.told.ones[k]), float(d.told.plays[k] - d.told.ones[k])
    likely = [
        share * math.exp(log_beta(a + ones, b + zeros) - log_beta(a, b))
        for share, (a, b) in zip(shares, rows, strict=True)
    ]
    lower, upper, trust = within[0].lower, min(1.0, within[0].upper), d.trust[k]
    parts, before = [Part((1.0 - trust) * likely[i], whole[i], d.bare) for i in range(size)], 0.0
    if lower < upper:
        before = sum(
            share * integral(Posterior(a, b, lower, upper, 0.0, 1.0), lower, upper)
            for share, (a, b) in zip(shares, rows, strict=True)
        )
        inside = [trust * likely[i] * integral(within[i], lower, upper) for i in range(size)]
        scale = before if before > 0.0 else math.inf  # too little for floats: undecided below
        parts = [Part(inside[i] / scale, within[i], d.told) for i in range(size)] + parts
    else:
        parts = [Part(trust * lower**ones * (1.0 - lower) ** zeros if trust < 1 else 1.0, within[0], d.told), *parts]
    total = sum(part.weight for part in parts)
    if not total > 0.0 or (lower < upper and not before > 1e-290):
        d.told.memory[UNDECIDED] = 1.0
        return [part._replace(weight=1.0 / len(parts)) for part in parts]
    return [part._replace(weight=part.weight / total) for part in parts]


def thompson(d: Doubt, prior: mb.PriorMixture) -> int:
    draws = {}
    for k in d.arms:
        own, below = naive.child(naive.child(d.told.key, d.told.number), k), 0.0
        place, chosen = float(uniform(own, 0)), None
        for part in parts_of(d, k, prior):
            below += part.weight
            if abs(below - place) < 1e-7:
                d.told.memory[UNDECIDED] = 1.0
            if chosen is None and place < below:
                chosen = part
        assert chosen is not None
        law = chosen.law
        x = truncated_beta(law.a, law.b, law.lower, law.upper, naive.child(own, 1))
        draws[k] = law.mean(chosen.seen, k, x)
    return d.told.largest(draws)


def gittins(d: Doubt, prior: mb.PriorMixture) -> int:
    indices, f = {}, math.exp(d.told.log_f)
    for k in d.arms:
        mean, gains, parts = 0.0, [], [part for part in parts_of(d, k, prior) if part.weight > 0.0]
        for weight, law, _ in parts:
            lower, upper = law.lower, min(1.0, law.upper)
            mass = integral(law, lower, upper) if lower < upper else 0.0
            if not lower < upper:
                mean += weight * lower
                gains.append(partial(naive_doubt._gain_of_point, lower, weight))
            elif mass > 0.0:
                mean += weight * integral(law, lower, upper, lambda x: x) / mass
                gains.append(partial(naive_doubt._gain, law, lower, upper, weight / mass))
            else:
                d.told.memory[UNDECIDED] = 1.0
        below, above = mean, 1.0
        for _ in range(60):
            v = 0.5 * (below + above)
            below, above = (v, above) if f * sum(gain(v) for gain in gains) > v - mean else (below, v)
        indices[k] = parts[-1].law.mean(parts[-1].seen, k, below)
    best = max(indices.values())
    near = [k for k, index in indices.items() if index >= best - 1e-6 * (1 + abs(best))]
    if len(near) > 1:
        d.told.memory[UNDECIDED] = 1.0
    return near[0]


TWINS: dict[mb.Policy, Callable[[Doubt, mb.PriorMixture], int]] = {
    mb.ThompsonSampling(): thompson,
    mb.ThompsonSampling(settle=False): thompson,
    mb.OptimisticGittins(): gittins,
}


def twin_for(policy: mb.Policy, known: mb.Knowledge) -> Callable[[Round], int]:
    """The twin of a policy with this mixture as its prior; settling counts it as plays of the same mean and spread."""
    prior, trust = known.prior, tuple(known.trusts.tolist())
    assert isinstance(prior, mb.PriorMixture)
    rows = prior.rows(known.bounds).tolist()

    def settled(r: Round, trust: Trust, doubted: bool) -> int | None:
        if not (isinstance(policy, mb.ThompsonSampling) and policy.settle):
            return None
        counted = naive_prior.informed(r, rows)
        return Doubt(counted, trust).settled(1) if doubted else naive.settled(counted, 1)

    def decide(r: Round) -> int:
        def plain(told: Round) -> int:
            first = settled(told, (1.0,) * len(trust), False)
            return TWINS[policy](Doubt(told, (1.0,) * len(trust)), prior) if first is None else first

        def doubted(d: Doubt) -> int:
            first = settled(r, trust, True)
            return TWINS[policy](d, prior) if first is None else first

        return naive_doubt.plain_unless_doubted(r, trust, plain, doubted)

    return decide
