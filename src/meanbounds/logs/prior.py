"""What a log makes likely: a prior for each context, from the counts and what is judged of who wrote them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from meanbounds.bounds import Arm
from meanbounds.divergence import bernoulli_kl
from meanbounds.logs.assumptions import Assumption, OptimalExpert, check_assumption
from meanbounds.logs.confidence import DEFAULT_CONFIDENCE, check_confidence
from meanbounds.logs.counts import Counts
from meanbounds.logs.expert import judged_log, listed_arms
from meanbounds.logs.judged import Judged
from meanbounds.logs.names import Context
from meanbounds.prior import Prior
from meanbounds.support.checks import as_float
from meanbounds.support.types import Floats

__all__ = ["CORRELATION", "STRONGEST", "WAIT", "found_prior", "prior"]

CORRELATION = 0.5
STRONGEST = 8.0
WAIT = 10.0
_LEAST = 1.0 + 1e-9  # of a Beta parameter: the density has one peak, and rounding does not take that away
_NONE = 1e-9  # share of rows of other arms below which there are none
_ENDLESS = 1e15  # rows of an infinite log
_LARGEST = 1e9  # strength: more of it would be a bound


def prior(
    counts: Counts,
    assumption: Assumption | None = None,
    *,
    strongest: float = STRONGEST,
    wait: float = WAIT,
    correlation: float = CORRELATION,
    confidence: float = DEFAULT_CONFIDENCE,
    infinite: bool = False,
    method: str = "bernstein",
    shift: float = 0.0,
    arms: Iterable[Arm] | None = None,
) -> dict[Context, Prior]:
    """Turn a log into a prior for each context: what each arm's mean is likely to be, not what it must be.

    Bounds from a log are only as good as what they assume, and nothing corrects them. A prior rests on the same
    judgement, and rewards correct it. Give it to `meanbounds.Knowledge`, with bounds that hold for any expert;
    `meanbounds.logs.agent` does both.

    Parameters
    ----------
    counts
        The counts of a log, from `meanbounds.logs.read`.
    assumption
        What you judge of who wrote the log, as for `meanbounds.logs.bounds`. By default ``OptimalExpert()``: the arm
        that was played was the best one for its case, by whatever gap.
    strongest
        The largest strength of a prior, in plays. A wrong prior costs a wait that grows exponentially with it.
    wait
        How many rounds Thompson sampling would wait, at most, before it first tries an arm that is as good as the best
        arm was where the experts played it. This limits the strength where rewards are near the top of their range. It
        does not go below the uniform prior.
    correlation
        How much alike the means of an arm are in the cases in which different arms were played: 0 for not at all, 1
        for all the same, which gives the weakest prior.
    confidence, infinite, method, shift, arms
        As for `meanbounds.logs.bounds`. The confidence decides only whether the log contradicts the assumption.

    Returns
    -------
    dict
        A `meanbounds.Prior` for each context, with one mean and one strength for each arm.

    Raises
    ------
    BoundsError
        If the log contradicts the assumption; the message says what the log would allow.

    Notes
    -----
    Bounds from an infinite log leave an interval for each mean, and the prior takes each value in it as equally likely:
    the middle is its mean. docs/priors.md has the variance, and says how often true means lie in its central intervals.

    Examples
    --------
    >>> import meanbounds as mb
    >>> lab = mb.HiddenContexts([[[0.9, 0.4], [0.3, 0.6]]], [[0.75, 0.25]], arms=["tPA", "watch"])
    >>> found = mb.logs.prior(lab.sample(10_000, seed=7))["z0"]
    >>> [round(mean, 2) for mean in found.mean]  # the true means are 0.75 and 0.45
    [0.75, 0.49]
    >>> [round(strength, 1) for strength in found.strength]
    [8.0, 4.2]
    """
    limits = {"strongest": strongest, "wait": wait, "correlation": correlation}
    most, longest, alike = (as_float(name, value) for name, value in limits.items())
    _check(most, longest, alike)
    level = check_confidence(confidence, infinite)
    assumed = OptimalExpert() if assumption is None else check_assumption(assumption)
    judged = judged_log(listed_arms(counts, arms), assumed, level, method, shift)
    return found_prior(judged, most, longest, alike)


def _check(strongest: float, wait: float, correlation: float) -> None:
    if not strongest >= 2.0:
        raise ValueError(f"strongest is a number of plays, at least 2, which a uniform prior has; got {strongest!r}")
    if not wait > 1.0:
        raise ValueError(f"wait is a number of rounds above 1, such as 10; got {wait!r}")
    if not 0.0 <= correlation <= 1.0:
        raise ValueError(f"correlation is between 0 and 1; got {correlation!r}")


def found_prior(
    judged: Judged, strongest: float = STRONGEST, wait: float = WAIT, correlation: float = CORRELATION
) -> dict[Context, Prior]:
    """The prior of each context of a log under an assumption; refuses a log that contradicts it.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.logs.expert import judged_log
    >>> from meanbounds.logs.prior import found_prior
    >>> counts = mb.HiddenContexts([[[0.9, 0.4], [0.3, 0.6]]], [[0.5, 0.5]]).counts()
    >>> assumed = mb.logs.AnyExpert()
    >>> list(found_prior(judged_log(counts, assumed, None, "bernstein", 0.0)))
    ['z0']
    """
    judged.bounds()  # refuses what cannot be
    world = judged.log.world
    above, below = _parameters(judged, strongest, wait, correlation)
    strength = above + below
    mean = np.clip(world.low + (world.high - world.low) * (above / strength), world.low, world.high)
    return {context: Prior(*own) for context, *own in zip(world.contexts, mean, strength, strict=True)}


def _parameters(judged: Judged, strongest: float, wait: float, correlation: float) -> tuple[Floats, Floats]:
    """Both parameters of each Beta law, contexts x arms."""
    cells = judged.log.cells
    mean, variance = _moments(judged, correlation)
    strength = mean * (1.0 - mean) / variance - 1.0
    before = 1.0 if judged.log.confidence is not None else 0.0  # rows of either kind that few rows are pooled with
    seen = (cells.total + before) / np.maximum(cells.rows + 2.0 * before, np.finfo(np.float64).tiny)
    away = bernoulli_kl(mean, np.maximum(mean, seen.max(axis=1, keepdims=True)))
    with np.errstate(divide="ignore"):
        patience = np.log(wait) / away
    strength = np.clip(np.minimum(strength, patience), 2.0, min(strongest, _LARGEST))
    return np.maximum(mean * strength, _LEAST), np.maximum((1.0 - mean) * strength, _LEAST)


def _moments(judged: Judged, correlation: float) -> tuple[Floats, Floats]:
    """Mean and variance of each arm's mean, in units of the range.

    Both come from the uniform law between the bounds of an infinite log. What the log's own chance adds is the
    variance of a mean of so many rows, after a uniform prior.
    """
    log = judged.log
    lower, upper = (np.clip(side, 0.0, 1.0) for side in Judged(replace(log, confidence=None), judged.assumption).limits)
    rows = _rows(judged)
    mean = (rows * 0.5 * (lower + upper) + 1.0) / (rows + 2.0)
    share = log.cells.rows / np.maximum(log.cells.rows.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    others = np.maximum(1.0 - share, _NONE)
    together = ((share**2).sum(axis=1, keepdims=True) - share**2) / others**2  # 1 if one other arm has all rows
    part = correlation + (1.0 - correlation) * np.clip(together, 0.0, 1.0)
    return mean, part * (upper - lower) ** 2 / 12.0 + mean * (1.0 - mean) / (rows + 3.0)


def _rows(judged: Judged) -> Floats:
    """How many rows each arm's middle is a mean of: those of its context, or its own where only these count."""
    log, claims = judged.log, judged.claims
    if log.confidence is None:
        return np.full(log.cells.rows.shape, _ENDLESS)
    own = log.cells.rows
    if log.weights is not None:  # weights that differ count as fewer rows
        squares = log.weights.square_ones
        return np.where(squares > 0.0, log.weights.ones**2 / np.where(squares > 0.0, squares, 1.0), 0.0)
    return own if claims.tilted else np.broadcast_to(own.sum(axis=1, keepdims=True), own.shape)
