"""What one would do without bounds: take the arm that looks best, take the usual one, or keep the experts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meanbounds.bounds import Arm, MeanBounds
from meanbounds.logs.confidence import (
    DEFAULT_CONFIDENCE,
    METHODS,
    Samples,
    check_confidence,
    lower_limit,
    nats,
    upper_limit,
)
from meanbounds.logs.counts import Counts
from meanbounds.logs.expert import listed_arms
from meanbounds.logs.names import Context
from meanbounds.support.checks import check_choice
from meanbounds.support.types import Floats

__all__ = ["Baseline", "baselines"]


@dataclass(frozen=True)
class Baseline:
    """What a log says at its face value, in one context.

    Attributes
    ----------
    naive_best, naive_mean
        The arm whose rows have the largest average, and that average. It tells how the arm did where the experts chose
        it, and not how it would do for everybody.
    most_frequent, share
        The arm that the experts chose most often, and its share of the rows.
    expert, expert_lower, expert_upper
        The average reward of the experts' own choices, with confidence limits. It is what they got with all they saw.
    rows
        How many rows the context has.

    Examples
    --------
    >>> import meanbounds as mb
    >>> count, total = [[900, 100]], [[540, 90]]
    >>> counts = mb.logs.Counts(["all"], ["tPA", "watch"], count=count, total=total, squares=total)
    >>> own = mb.logs.baselines(counts)["all"]
    >>> own.naive_best, own.most_frequent, own.expert
    ('watch', 'tPA', 0.63)
    """

    naive_best: Arm
    naive_mean: float
    most_frequent: Arm
    share: float
    expert: float
    expert_lower: float
    expert_upper: float
    rows: float

    def verdict(self, bounds: MeanBounds) -> str:
        """Say whether the best single arm, for all cases of the context, does better or worse than the experts did.

        They saw more than an agent sees, so it may do worse: then the experts, with all they see, are worth keeping.

        Parameters
        ----------
        bounds
            Bounds on the means of the arms in this context.

        Returns
        -------
        ``"better than the experts"``, ``"worse than the experts"``, or ``"open"``.

        Examples
        --------
        >>> import meanbounds as mb
        >>> total = [[900, 0]]
        >>> counts = mb.logs.Counts(["all"], ["tPA", "watch"], count=[[1000, 0]], total=total, squares=total)
        >>> mb.logs.baselines(counts)["all"].verdict(mb.MeanBounds([0.2, 0.3], [0.7, 0.8]))
        'worse than the experts'
        """
        if float(bounds.upper.max()) < self.expert_lower:
            return "worse than the experts"
        if float(bounds.lower.max()) > self.expert_upper:
            return "better than the experts"
        return "open"


def baselines(
    counts: Counts, *, confidence: float = DEFAULT_CONFIDENCE, infinite: bool = False, method: str = "bernstein"
) -> dict[Context, Baseline]:
    """What a log says at its face value, for each of its contexts: to compare with, not to act on.

    Parameters
    ----------
    counts
        The counts of a log, from `meanbounds.logs.read`. Contexts without rows are left out.
    confidence, infinite, method
        As for `meanbounds.logs.bounds`: the limits on what the experts got hold in all contexts at once with this
        probability. Where a log has weights that are not whole numbers, the limits are the ends of the range.

    Examples
    --------
    >>> import meanbounds as mb
    >>> counts = mb.HiddenContexts.random(visible=2, seed=1).sample(20_000, seed=2)
    >>> for context, own in mb.logs.baselines(counts).items():
    ...     print(context, own.naive_best, own.most_frequent, round(own.expert, 2))
    z0 2 2 0.8
    z1 3 3 0.81
    """
    counts, level = listed_arms(counts, None), check_confidence(confidence, infinite)
    check_choice("method", method, METHODS)
    some = np.flatnonzero(counts.count.sum(axis=1) > 0.0)
    rows, total, squares = (part[some] for part in (counts.count, counts.total, counts.squares))
    lower, upper = _limits(counts, rows.sum(axis=1), total.sum(axis=1), squares.sum(axis=1), level, method)
    means = np.divide(total, rows, out=np.full(rows.shape, -np.inf), where=rows > 0.0)
    best, usual = means.argmax(axis=1), rows.argmax(axis=1)
    expert = total.sum(axis=1) / rows.sum(axis=1)
    return {
        counts.contexts[z]: Baseline(
            naive_best=counts.arms[best[i]],
            naive_mean=float(means[i, best[i]]),
            most_frequent=counts.arms[usual[i]],
            share=float(rows[i, usual[i]] / rows[i].sum()),
            expert=float(expert[i]),
            expert_lower=float(lower[i]),
            expert_upper=float(upper[i]),
            rows=float(rows[i].sum()),
        )
        for i, z in enumerate(some.tolist())
    }


def _limits(
    counts: Counts, rows: Floats, total: Floats, squares: Floats, level: float | None, method: str
) -> tuple[Floats, Floats]:
    """Limits on the mean of all rows of each context: none fails, with the probability that the level allows."""
    if level is None:
        return total / rows, total / rows
    if not counts.whole_weights:
        return np.full(len(rows), counts.low), np.full(len(rows), counts.high)
    samples = Samples.scaled(rows, total, squares, low=counts.low, high=counts.high)
    strictness, span = nats((1.0 - level) / (2.0 * max(len(rows), 1))), counts.high - counts.low
    usual = "bernstein" if method == "betting" else method  # bets need the rewards one by one
    lower, upper = (limit(samples, strictness, usual) for limit in (lower_limit, upper_limit))
    return counts.low + span * lower, counts.low + span * upper
