"""Counts with fewer columns: contexts that differ only in a column that is left out become one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanbounds.logs.counts import Counts
from meanbounds.logs.histogram import Histogram
from meanbounds.logs.names import EVERYTHING, Context
from meanbounds.support.types import Floats

__all__ = ["add_up", "column_of", "without_column"]


def without_column(counts: Counts, column: str) -> tuple[Counts, NDArray[np.intp]]:
    """The counts without this column of their contexts, and where each of the old contexts went.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.logs.merging import without_column
    >>> sums = {"count": [[4], [2]], "total": [[2], [1]], "squares": [[2], [1]]}
    >>> counts = mb.logs.Counts([("old", 1), ("old", 2)], ["a"], **sums, context_names=["age", "week"])
    >>> found, places = without_column(counts, "week")
    >>> found.contexts, found.count, places
    (('old',), array([[6.]]), array([0, 0]))
    """
    at = counts.context_names.index(column)
    keys = [context if isinstance(context, tuple) else (context,) for context in counts.contexts]
    rest = [_shorter((*key[:at], *key[at + 1 :])) for key in keys]
    contexts = tuple(dict.fromkeys(rest))
    where = {context: place for place, context in enumerate(contexts)}
    into = np.array([where[context] for context in rest])
    own = counts.histogram
    found = Counts(
        contexts,
        counts.arms,
        count=add_up(counts.count, into),
        total=add_up(counts.total, into),
        squares=add_up(counts.squares, into),
        low=counts.low,
        high=counts.high,
        dropped=counts.dropped,
        histogram=None if own is None else Histogram(own.values_low, own.values_high, add_up(own.count, into)),
        context_names=tuple(name for name in counts.context_names if name != column),
        arm_name=counts.arm_name,
        reward_name=counts.reward_name,
        arms_listed=counts.arms_listed,
        weight_name=counts.weight_name,
        whole_weights=counts.whole_weights,
    )
    return found, into


def column_of(counts: Counts, column: str) -> list[Any]:
    """What each context has in this column.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.logs.merging import column_of
    >>> one = [[1], [1]]
    >>> counts = mb.logs.Counts(["0.5", "0.25"], ["a"], count=one, total=one, squares=one, context_names=["chance"])
    >>> column_of(counts, "chance")
    ['0.5', '0.25']
    """
    at = counts.context_names.index(column)
    return [context[at] if isinstance(context, tuple) else context for context in counts.contexts]


def add_up(array: Floats, into: NDArray[np.intp]) -> Floats:
    """Add the rows of an array that go to the same place.

    Examples
    --------
    >>> import numpy as np
    >>> from meanbounds.logs.merging import add_up
    >>> add_up(np.array([[1.0], [2.0], [4.0]]), np.array([1, 0, 1]))
    array([[2.],
           [5.]])
    """
    found = np.zeros((int(into.max()) + 1, *array.shape[1:]))
    np.add.at(found, into, array)
    return found


def _shorter(parts: tuple[Any, ...]) -> Context:
    found: Context = parts if len(parts) > 1 else parts[0] if parts else EVERYTHING
    return found
