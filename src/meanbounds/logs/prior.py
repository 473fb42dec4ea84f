"""What a log makes likely: a prior for each context, from the counts and what is judged of the experts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from meanbounds.bounds import Arm
from meanbounds.divergence import kl
from meanbounds.knowledge import Prior
from meanbounds.logs.assumed import WEAKEST, Assumed
from meanbounds.logs.counts import Context, Counts
from meanbounds.logs.experts import Experts
from meanbounds.support.checks import as_float
from meanbounds.support.types import Floats

__all__ = ["prior"]

_RIGHT = Experts(errors=0.0)
_INSIDE = 1e-9  # of the range: a prior's mean is at least this far from its ends
_LEAST = 1.0 + 1e-9  # of a Beta parameter: its law has one peak, and rounding does not take that away
_TINY = np.finfo(np.float64).tiny


def prior(
    counts: Counts,
    experts: Experts = _RIGHT,
    *,
    strongest: float = 8.0,
    wait: float = 10.0,
    correlation: float = 0.5,
    confidence: float = 0.95,
    shift: float = 0.0,
    arms: Iterable[Arm] | None = None,
) -> dict[Context, Prior]:
    """Turn a log into a prior for each context: what each mean is likely to be, not what it must be.

    Bounds from a log are only as good as what they assume, and nothing corrects them. A prior rests on the same
    judgement, and rewards correct it. Give it to `meanbounds.Knowledge`, with bounds that hold for any expert.

    Parameters
    ----------
    counts
        The counts of a log, from `meanbounds.logs.read`.
    experts
        What you judge of the experts. By default they always chose the best option, by whatever gap.
    strongest
        The largest strength of a prior, in plays. A wrong prior costs a wait that grows exponentially with it.
    wait
        Thompson sampling waits at most about this many rounds before it first tries an option that is as good as the
        best one was where the experts chose it. This limits the strength where rewards are near the top of the range.
    correlation
        How much alike an option's means are in the cases that got different options: from 0, not at all, to 1, all the
        same, which gives the weakest prior.
    confidence, shift, arms
        As for `meanbounds.logs.bounds`. The mean of the prior is inside the bounds for any expert at this confidence.

    Raises
    ------
    BoundsError
        If the log contradicts what is judged; the message says what it allows. An instrument may contradict it.

    Notes
    -----
    An infinite log under this assumption would leave an interval for each mean, and every value in it is taken as
    equally likely. With p_j the shares and r the correlation, its variance is ``width**2 / 12`` times ``r + (1 - r) sum
    over j != k of p_j**2 / (1 - p_k)**2``. The log's chance adds the variance of a mean of so many rows. Both Beta
    parameters are at least 1. Near an end of the range this weakens the prior or, where the bounds for any expert leave
    no room for that, makes it stronger than `strongest`.

    Examples
    --------
    >>> import meanbounds as mb
    >>> counts = mb.logs.Counts([None], ["tPA", "watch"], [[7500, 2500]], [[6750, 1500]], [[6750, 1500]])
    >>> found = mb.logs.prior(counts)[None]
    >>> [round(mean, 2) for mean in found.mean]  # halfway from 0.67 to 0.82, and from 0.15 to 0.82
    [0.75, 0.49]
    >>> [round(strength, 1) for strength in found.strength]
    [8.0, 4.3]
    """
    limits = {"strongest": strongest, "wait": wait, "correlation": correlation}
    most, longest, alike = (as_float(name, given) for name, given in limits.items())
    if not most >= 2.0:
        raise ValueError(f"strongest is a number of plays, at least 2, which a uniform prior has; got {strongest!r}")
    if not longest > 1.0:
        raise ValueError(f"wait is a number of rounds above 1, such as 10; got {wait!r}")
    if not 0.0 <= alike <= 1.0:
        raise ValueError(f"correlation is between 0 and 1; got {correlation!r}")
    assumed = Assumed.of(counts, experts, confidence=confidence, shift=shift, arms=arms)
    replace(assumed, by_chance=None).refuse_contradictions()
    mean, strength = _laws(assumed, most, longest, alike)
    means = counts.low + (counts.high - counts.low) * mean
    return {context: Prior(*own) for context, *own in zip(counts.contexts, means, strength, strict=True)}


def _laws(assumed: Assumed, strongest: float, wait: float, correlation: float) -> tuple[Floats, Floats]:
    """Mean and strength of each Beta law, contexts x arms, in units of the range."""
    cells, rows = assumed.cells, _rows(assumed)
    lower, upper = assumed.exact_limits
    everyone = cells.chosen.sum(axis=1, keepdims=True)
    nothing = np.repeat(np.array(WEAKEST)[:, None], len(everyone), axis=1)
    nothing[5] = assumed.table[5]
    least, most = assumed.at(np.arange(len(everyone)), nothing).limits  # for any expert: no mean is outside
    inside = np.minimum(least, 1.0 - _INSIDE), np.maximum(most, _INSIDE)
    mean = np.clip((rows * 0.5 * (lower + upper) + 1.0) / (rows + 2.0), *inside)
    share = cells.chosen / np.maximum(everyone, 1.0)
    others = np.maximum(1.0 - share, 1e-9)
    together = np.clip(((share**2).sum(axis=1, keepdims=True) - share**2) / others**2, 0.0, 1.0)
    variance = (correlation + (1.0 - correlation) * together) * (upper - lower) ** 2 / 12.0
    variance += mean * (1.0 - mean) / (rows + 3.0)
    best = ((cells.total + 1.0) / (cells.rows + 2.0)).max(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        patience = np.log(wait) / kl(mean, np.maximum(mean, best))
        strength = np.minimum(mean * (1.0 - mean) / np.maximum(variance, _TINY) - 1.0, patience)
    strength = np.clip(strength, 2.0, min(strongest, 1e9))
    above, below = np.maximum(mean * strength, _LEAST), np.maximum((1.0 - mean) * strength, _LEAST)
    mean = np.clip(above / (above + below), *inside)
    return mean, np.maximum(above + below, _LEAST / np.minimum(mean, 1.0 - mean))


def _rows(assumed: Assumed) -> Floats:
    """How many rows the middle of each interval is a mean of: the context's, or the arm's own if only these count."""
    cells = assumed.cells
    if cells.weighted is not None:  # rows that weigh differently count as fewer
        ones, squares = cells.weighted[0], cells.weighted[2]
        return np.where(squares > 0.0, ones**2 / np.where(squares > 0.0, squares, 1.0), 0.0)
    own = cells.rows
    return np.where(assumed.table[4][:, None] > 0.0, own, own.sum(axis=1, keepdims=True))
