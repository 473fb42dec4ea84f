"""Bounds and logs that are wrong on purpose, to see what a policy loses when it is told something false."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.bounds import MeanBounds, check_bounds
from meanbounds.policies import LoggedArms
from meanbounds.support.checks import as_float, as_floats, check_choice, shown
from meanbounds.support.seeding import Seed, as_seed
from meanbounds.support.types import Floats

__all__ = ["BOUNDS_KINDS", "LOG_KINDS", "corrupt", "corrupt_log"]

BOUNDS_KINDS = ("cap-too-low", "best-pruned", "bad-favoured", "shifted", "narrowed")
"""The ways in which `corrupt` makes bounds wrong."""

LOG_KINDS = ("expert-errs", "best-understated")
"""The ways in which `corrupt_log` makes a log wrong."""


def corrupt(bounds: MeanBounds, means: ArrayLike, kind: str, by: float, *, seed: Seed = None) -> MeanBounds:
    """Make bounds wrong on purpose, in one of several ways.

    Parameters
    ----------
    bounds
        Bounds on the arms' means.
    means
        The true mean of each arm; the best arm is the one with the largest, the first of several.
    kind
        ``"cap-too-low"``: the upper bound of the best arm is its mean less `by`.
        ``"best-pruned"``: the upper bound of the best arm is the largest other lower bound less `by`, so that policies
        that prune never play it.
        ``"bad-favoured"``: the lower bound of the worst arm is the best mean plus `by`.
        ``"shifted"``: the bounds of each arm are moved up or down together, by a random amount of at most `by`.
        ``"narrowed"``: each interval loses the share `by` of its width, a random part of it at either end.
        Where the other bound of the arm would be on the wrong side, it moves to the same value.
    by
        How wrong they are, in the units of the reward; for ``"narrowed"`` a share from 0 to 1.
    seed
        For the last two kinds: whole number, numpy Generator or None for a fresh one.

    Raises
    ------
    ValueError
        If the reward range leaves no room to be wrong by as much; the message names the arm and the limit.

    Examples
    --------
    >>> import meanbounds as mb
    >>> bounds, means = mb.MeanBounds([0.5, 0.2], [1.0, 0.7]), [0.9, 0.6]
    >>> mb.simulation.corrupt(bounds, means, "cap-too-low", 0.1)
    MeanBounds([0.5, 0.2], [0.8, 0.7])
    >>> mb.simulation.corrupt(bounds, means, "best-pruned", 0.1)
    MeanBounds([0.1, 0.2], [0.1, 0.7])
    >>> mb.simulation.corrupt(bounds, means, "bad-favoured", 0.3)
    Traceback (most recent call last):
    ValueError: bad-favoured: by=0.3 puts the bound of arm 1 at 1.2, outside its range [0, 1]; take by at most 0.1
    """
    check_bounds(bounds)
    check_choice("kind", kind, BOUNDS_KINDS)
    true, size = _true_means(means, len(bounds)), _size(by)
    lower, upper = bounds.lower.copy(), bounds.upper.copy()
    best, worst = int(np.argmax(true)), int(np.argmin(true))
    if kind == "cap-too-low":
        upper[best] = _placed(bounds, best, kind, float(true[best]), -size)
        lower[best] = min(lower[best], upper[best])
    elif kind == "best-pruned":
        if len(bounds) == 1:
            raise ValueError("best-pruned needs another arm, whose lower bound prunes the best one; there is only one")
        upper[best] = _placed(bounds, best, kind, float(np.delete(lower, best).max()), -size)
        lower[best] = min(lower[best], upper[best])
    elif kind == "bad-favoured":
        lower[worst] = _placed(bounds, worst, kind, float(true[best]), size)
        upper[worst] = max(upper[worst], lower[worst])
    elif kind == "shifted":
        step = np.random.default_rng(as_seed(seed)).uniform(-size, size, len(bounds))
        lower, upper = (np.clip(end + step, bounds.low, bounds.high) for end in (lower, upper))
    else:
        if size > 1.0:
            raise ValueError(f"narrowed: by is the share of the width that is lost, at most 1; got {shown(by)}")
        lost = size * (upper - lower)
        below = lost * np.random.default_rng(as_seed(seed)).random(len(bounds))
        lower = np.minimum(lower + below, upper)
        upper = np.maximum(upper - (lost - below), lower)
    return MeanBounds(lower, upper, arms=bounds.arms, low=bounds.low, high=bounds.high)


def corrupt_log(
    log: LoggedArms, means: ArrayLike, bounds: MeanBounds, kind: str, by: float, *, seed: Seed = None
) -> LoggedArms:
    """Make a log by arm wrong on purpose, in one of several ways.

    Parameters
    ----------
    log
        Counts and totals of the logged rewards.
    means
        The true mean of each arm of `bounds`.
    bounds
        The arms and their reward ranges.
    kind
        ``"expert-errs"``: in a random share `by` of the logged cases the expert plays an arm drawn uniformly, whose
        reward is one of the ends of its range, with the arm's true mean.
        ``"best-understated"``: the logged rewards of the best arm are lower by `by` on average.
    by
        The share from 0 to 1, or the size in the units of the reward.
    seed
        For ``"expert-errs"``: whole number, numpy Generator or None for a fresh one.

    Examples
    --------
    >>> import meanbounds as mb
    >>> log, bounds = mb.LoggedArms([80, 20], [72.0, 10.0]), mb.MeanBounds.vacuous(2)
    >>> mb.simulation.corrupt_log(log, [0.9, 0.6], bounds, "best-understated", 0.5)
    LoggedArms(counts=(80, 20), totals=(32.0, 10.0), arms=(0, 1))
    >>> sum(mb.simulation.corrupt_log(log, [0.9, 0.6], bounds, "expert-errs", 0.5, seed=7).counts)
    100
    """
    check_bounds(bounds)
    check_choice("kind", kind, LOG_KINDS)
    true, size = _true_means(means, len(bounds)), _size(by)
    if not isinstance(log, LoggedArms):
        raise TypeError(f"log must be a mb.LoggedArms([20, 5], [16.0, 1.0]); got {shown(log)}")
    count, total, _ = log.rows(bounds)
    span = bounds.high - bounds.low
    if kind == "best-understated":
        best = int(np.argmax(true))
        arm, room = bounds.arms[best], float(span[best] * total[best] / max(count[best], 1.0))
        if size > room:
            raise ValueError(
                f"best-understated: the logged mean of arm {arm!r} can fall by {room:.4g} at most; got by={shown(by)}"
            )
        total[best] -= size / span[best] * count[best]
    else:
        if size > 1.0:
            raise ValueError(f"expert-errs: by is the share of cases that are errors, at most 1; got {shown(by)}")
        rng = np.random.default_rng(as_seed(seed))
        wrong = rng.binomial(count.astype(np.int64), size)
        total -= np.divide(wrong * total, count, out=np.zeros(len(bounds)), where=count > 0)
        played = rng.multinomial(wrong.sum(), np.full(len(bounds), 1.0 / len(bounds)))
        total += rng.binomial(played, np.clip((true - bounds.low) / span, 0.0, 1.0))
        count += played - wrong
    totals = count * bounds.low + span * total
    return LoggedArms(tuple(count.astype(np.int64).tolist()), tuple(totals.tolist()), bounds.arms)


def _true_means(means: ArrayLike, size: int) -> Floats:
    """One finite number for each arm."""
    true = as_floats("means", means)
    if true.shape != (size,) or not np.isfinite(true).all():
        raise ValueError(f"means must be one finite number for each of {size} arms; got {shown(means)}")
    return true


def _size(by: object) -> float:
    """How wrong something is to be: a number above 0."""
    size = as_float("by", by)
    if not 0.0 < size < np.inf:
        raise ValueError(f"by says how wrong to be, a number above 0; got {shown(by)}")
    return size


def _placed(bounds: MeanBounds, k: int, kind: str, start: float, step: float) -> float:
    """A bound of arm k that is moved from where it starts; it has to stay in the arm's range."""
    low, high = float(bounds.low[k]), float(bounds.high[k])
    value = start + step
    if not low <= value <= high:
        room = max(0.0, start - low if step < 0.0 else high - start)
        raise ValueError(
            f"{kind}: by={abs(step):g} puts the bound of arm {bounds.arms[k]!r} at {value:g}, outside its range "
            f"[{low:g}, {high:g}]; take by at most {room:.4g}"
        )
    return value
