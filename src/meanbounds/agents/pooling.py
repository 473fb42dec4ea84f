"""A prior for each context that is learned from all others, so that contexts with few rewards need not start anew.

In units of the range, the mean of option k in context l is modelled as

    ``theta[l, k] = g[k] + gamma P[l] + beta Q[l, k] + d[k] + e[l, k]``

where g is the average of the priors over contexts, P how much more the experts earn in the context than elsewhere, and
Q what the priors say of an option in the context beyond g and P. d[k] ~ N(0, V[k]) is how far the priors are off in all
contexts alike, with V their average variance, and e[l, k] ~ N(0, tau^2) is the context's own. gamma, beta and tau^2 are
averaged over a grid, with their likelihoods as weights; the rest is linear regression in closed form.
"""

from __future__ import annotations

import numpy as np

from meanbounds.known import Known, Seen
from meanbounds.support.types import Floats

__all__ = ["ROWS", "pooled"]

ROWS = 30.0
"""How many rows of a log the average over all contexts counts for, beside those of a context."""

_SLOPES = np.array([0.0, 0.5, 1.0])
_SPREADS = np.array([0.003, 0.01, 0.02, 0.04, 0.07, 0.1, 0.15, 0.2, 0.25])
_SHARP = 2.0  # the priors of a log say half of how options differ: they are cautious
_NOTHING = 1e-6  # strength beyond that of the uniform prior, below which a prior says nothing
_STRONGEST = 1e9


def pooled(known: Known, seen: Seen, moments: int = 1) -> tuple[Floats, Floats]:
    """Both Beta parameters of each arm's prior in each context, given the rewards of all other contexts.

    The rows of `known` and `seen` are contexts. Together with the context's own rewards the prior gives the posterior.
    The prior of `EXPERT` is moved towards the average over contexts, as if it had `ROWS` more rows. Beside a posterior
    of two `moments`, a prior is worth fewer rewards the less these vary.

    Examples
    --------
    Where option 1 does well in one of two contexts, it is expected to do well in the other:

    >>> import meanbounds as mb
    >>> known = Known.of([mb.Knowledge(mb.MeanBounds.vacuous(2))] * 2)
    >>> ones, zeros = np.array([[0.0, 0.0], [10.0, 90.0]]), np.array([[0.0, 0.0], [90.0, 10.0]])
    >>> a, b = pooled(known, Seen(ones + zeros, ones, ones, ones))
    >>> (a / (a + b)).round(2)
    array([[0.17, 0.83],
           [0.5 , 0.5 ]])
    """
    shape = seen.plays.shape
    a, b = known.prior if known.prior is not None else (np.ones(shape), np.ones(shape))
    a, b = (np.array(np.broadcast_to(own, shape)) for own in (a, b))
    if len(a) == 1:
        return a, b
    options = np.arange(shape[1]) != (-1 if known.expert is None else known.expert)
    centre, features, wide = _expected(a, b, known.expert, options)
    rewards = Seen(*(own[:, options] for own in (seen.plays, seen.total, seen.squares, seen.ones)))
    mean, variance, noise = _fitted(centre, features, wide, rewards)
    near = np.minimum(0.5 * np.sqrt(variance), 0.5)  # a normal law that is cut off at 0 has a mean above that
    mean = np.clip(mean, near, 1.0 - near)
    worth = mean * (1.0 - mean) / variance * (noise if moments == 2 else 1.0)
    strength = np.maximum(worth - 1.0, 1.0 / np.minimum(mean, 1.0 - mean))
    a[:, options], b[:, options] = np.maximum(1.0, mean * strength), np.maximum(1.0, (1.0 - mean) * strength)
    if known.expert is not None:
        own, other = a[:, known.expert], b[:, known.expert]
        rows = own + other - 2.0
        value = _average(own / (own + other), rows)
        more = np.where(own + other < _STRONGEST, ROWS, 0.0)
        a[:, known.expert], b[:, known.expert] = own + more * value, other + more * (1.0 - value)
    return a, b


def _expected(a: Floats, b: Floats, expert: int | None, options: Floats) -> tuple[Floats, Floats, Floats]:
    """What the priors say of the options: g (1 x options), P and Q (2 x contexts x options), and V (options)."""
    strength = (a + b)[:, options]
    mean, says = a[:, options] / strength, strength - 2.0
    level, known = np.zeros((len(a), 1)), (says > _NOTHING).astype(np.float64)
    if expert is not None:
        rows = (a + b)[:, [expert]] - 2.0
        value = a[:, [expert]] / (a + b)[:, [expert]]
        says, known = says * 0.0 + rows, known * (rows / (rows + ROWS))
        level = (value - _average(value, rows)) * rows / (rows + ROWS)
    centre = _average(mean, says)
    apart = mean - centre
    features = np.stack([level + 0.0 * mean, _SHARP * known * (apart - apart.mean(axis=1, keepdims=True))])
    return centre, features, _average(mean * (1.0 - mean) / (strength + 1.0), says)


def _average(values: Floats, weights: Floats) -> Floats:
    """The average over contexts; all count alike where none has a weight."""
    weights = np.maximum(weights, 0.0) + _NOTHING
    found: Floats = (weights * values).sum(axis=0) / weights.sum(axis=0)
    return found


def _fitted(centre: Floats, features: Floats, wide: Floats, seen: Seen) -> tuple[Floats, Floats, Floats]:
    """Mean and variance of each option in each context, given the rewards of all other contexts.

    And the variance of its rewards as a share of that of rewards of 0 and 1 with the same mean.
    """
    plays = seen.plays.sum(axis=0) + 2.0  # with one reward at each end of the range
    average = (seen.total.sum(axis=0) + 1.0) / plays
    noise = (seen.squares.sum(axis=0) + 1.0) / plays - average**2
    off = np.where(seen.plays > 0.0, seen.total / np.maximum(seen.plays, 1.0) - centre, 0.0)
    table = np.stack([off, *features])
    likely = np.zeros((len(_SPREADS), len(_SLOPES), len(_SLOPES)))
    gamma, beta = np.meshgrid(_SLOPES, _SLOPES, indexing="ij")
    slopes = np.stack([np.ones_like(gamma), -gamma, -beta])
    for place, spread in enumerate(_SPREADS):
        sure = _precision(seen, noise, spread**2)
        part = sure * table
        mass = sure.sum(axis=0)
        sums = np.einsum("ilk,igh->ghk", part, slopes)
        squares = np.einsum("ijk,igh,jgh->ghk", np.einsum("ilk,jlk->ijk", part, table), slopes, slopes)
        # A cell without rewards has the precision 0, and no part in the likelihood.
        height = np.log(np.where(sure > 0.0, sure, 1.0)).sum() - np.log1p(wide * mass).sum()
        likely[place] = 0.5 * (height - (squares - wide * sums**2 / (1.0 + wide * mass)).sum(axis=2))
    weight = np.exp(likely - likely.max())
    weight /= weight.sum()
    spread = float((weight.sum(axis=(1, 2)) * _SPREADS**2).sum())
    slope = np.array([(weight.sum(axis=0) * own).sum() for own in (gamma, beta)])
    expected = centre + np.tensordot(slope, features, axes=1)
    sure = _precision(seen, noise, spread)
    part = sure * (off + centre - expected)
    left = 1.0 / wide + (sure.sum(axis=0) - sure)  # the precision of d without the context's own rewards
    return expected + (part.sum(axis=0) - part) / left, spread + 1.0 / left, noise / (average - average**2)


def _precision(seen: Seen, noise: Floats, spread: float) -> Floats:
    """The precision of each mean reward as a measurement of the option in all contexts."""
    found: Floats = seen.plays / (noise + spread * seen.plays)
    return found
