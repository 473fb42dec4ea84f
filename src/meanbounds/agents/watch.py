"""The watch that an agent keeps over its bounds: rows below its statistics that each update looks at."""

from __future__ import annotations

from typing import Any

import numpy as np

from meanbounds.bounds import MeanBounds
from meanbounds.evidence.contradictions import Contradiction, describe, level_of, weigh
from meanbounds.evidence.processes import check_error
from meanbounds.support.entries import Entries
from meanbounds.support.types import Floats, Integers

__all__ = ["carried", "found", "read_seen", "told_seen", "watched"]


def watched(table: Floats, bounds: MeanBounds, seen: Floats, error: float) -> Floats:
    """The statistics with the rows of the watch below them; see `meanbounds.kernels.arms.watch`.

    Parameters
    ----------
    table
        The statistics of an agent, a column for each arm.
    bounds
        The bounds in use.
    seen
        After how many updates each lower and each upper bound was seen to be contradicted; 0 if it was not.
    error
        The probability of a false alarm.

    Examples
    --------
    >>> import meanbounds as mb
    >>> watched(np.zeros((7, 1)), mb.MeanBounds([0.2], [0.75]), np.zeros((2, 1)), 0.01)[7:10, 0]
    array([0.8       , 0.75      , 5.29831737])
    """
    span = bounds.high - bounds.low
    lower, upper = (bounds.high - bounds.lower) / span, (bounds.upper - bounds.low) / span
    return np.vstack([table, lower, upper, np.full(len(bounds), level_of(bounds, error)), seen])


def carried(before: MeanBounds, after: MeanBounds, seen: Floats) -> Floats:
    """What was seen of bounds that stay; what was seen of others is dropped. New arms come last.

    Examples
    --------
    >>> import meanbounds as mb
    >>> before, after = mb.MeanBounds([0.2], [0.75]), mb.MeanBounds([0.2, 0.1], [0.8, 0.9])
    >>> carried(before, after, np.array([[5.0], [9.0]]))
    array([[5., 0.],
           [0., 0.]])
    """
    kept, old = np.zeros((2, len(after))), len(before)
    for row, (was, now) in enumerate(((before.lower, after.lower), (before.upper, after.upper))):
        kept[row, :old] = np.where(was == now[:old], seen[row], 0.0)
    return kept


def found(
    bounds: MeanBounds,
    sums: tuple[Floats, Floats],
    rewards: tuple[Integers, Floats],
    pending: Integers,
    seen: Floats,
    errors: tuple[float, float],
) -> list[Contradiction]:
    """The contradicted bounds of an agent.

    Parameters
    ----------
    bounds
        The bounds in use.
    sums
        For each arm the sum of rewards, and of what each lacks to the highest, in units of the range.
    rewards
        For each arm the number of rewards, and their mean in reward units.
    pending
        For each arm, how many rewards are still to come.
    seen
        As for `watched`.
    errors
        The probability of a false alarm that was asked for, and that of the watch. What the watch has seen counts if
        it was at least as strict.

    Examples
    --------
    >>> import meanbounds as mb
    >>> sums, rewards = (np.array([80.0]), np.array([20.0])), (np.array([100]), np.array([0.8]))
    >>> one = found(mb.MeanBounds([0.0], [0.5]), sums, rewards, np.array([0]), np.array([[0.0], [41.0]]), (0.01, 0.01))
    >>> one[0].side, one[0].updates
    ('upper', 41)
    """
    error, watch = check_error(errors[0]), errors[1]
    level, (plays, means) = level_of(bounds, error), rewards
    values = weigh(bounds, *sums, pending.astype(np.float64))
    which = np.array(values) >= level
    if error >= watch:
        which |= seen > 0.0
    return describe(bounds, plays, means, values, which, seen)


def told_seen(seen: Floats) -> dict[str, Any]:
    """What was seen, as an entry of a saved agent; nothing if nothing was seen.

    Examples
    --------
    >>> told_seen(np.array([[0.0], [41.0]])), told_seen(np.zeros((2, 1)))
    ({'contradicted': [[0], [41]]}, {})
    """
    return {"contradicted": seen.astype(np.int64).tolist()} if seen.any() else {}


def read_seen(saved: Entries, arms: int, updates: int) -> Floats:
    """Check what a saved agent has seen; agents of older versions have seen nothing."""
    if "contradicted" not in saved:
        return np.zeros((2, arms))
    seen = saved.numbers("contradicted", (2, arms))
    if not ((seen >= 0.0) & (seen <= updates) & (seen == np.floor(seen))).all():
        raise saved.fail(f"contradicted must hold whole numbers from 0 to the {updates} updates; got {seen.tolist()}")
    return seen
