"""How fast exploration grows: the function f(t) in the indices of the policies, used through log f(t)."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from meanbounds.support.checks import as_floats, as_whole, shown

__all__ = ["DEFAULT", "EXPLORATION", "TABULATED", "Exploration", "log_f", "log_f_table"]

TABULATED = 4096
"""Rounds in a table of `log_f_table`."""

Rate = Callable[[NDArray[np.float64]], NDArray[np.float64]]
Exploration = str | Rate

DEFAULT = "1 + t log(t)^2"
EXPLORATION: dict[str, Rate] = {
    DEFAULT: lambda t: 1.0 + t * np.log(t) ** 2,
    "t": lambda t: t,
    "t + 1000": lambda t: t + 1000.0,
    "t log(t)^3": lambda t: np.maximum(1.0, t * np.log(t) ** 3),
}
"""The named choices of f(t): the paper's, KL-UCB's, one that explores more in the first rounds, and OSSB's."""


def log_f(f: Exploration, first: int, last: int) -> NDArray[np.float64]:
    """Log f(t) for the rounds t = first, ..., last.

    Parameters
    ----------
    f
        A name in `EXPLORATION`, or a function from an array of rounds to values that are at least 1 and never fall.
    first, last
        The first and last round, counted from 1.

    Examples
    --------
    >>> log_f("t", 1, 3).round(3)
    array([0.   , 0.693, 1.099])
    >>> log_f(lambda t: 1.0 / t, 1, 2)
    Traceback (most recent call last):
    ValueError: f must be at least 1, finite and never fall; f(2) = 0.5 after f(1) = 1.0
    """
    first, last = as_whole("first", first), as_whole("last", last, least=0)
    t = np.arange(first, last + 1, dtype=np.float64)
    given = as_floats("f(t)", _function(f)(t))
    if given.shape not in ((), t.shape):
        raise ValueError(f"f must return one number for each of {t.size} rounds; got an array of shape {given.shape}")
    values = np.broadcast_to(given, t.shape)
    wrong = np.flatnonzero(~((values >= 1.0) & (np.diff(values, prepend=1.0) >= 0.0) & np.isfinite(values)))
    if wrong.size:
        where = int(wrong[0])
        raise ValueError(
            f"f must be at least 1, finite and never fall; f({first + where}) = {values[where]}"
            + (f" after f({first + where - 1}) = {values[where - 1]}" if where else "")
        )
    return np.log(values)


def log_f_table(f: Exploration, number: int) -> NDArray[np.float64]:
    """The round number * TABULATED, then log f(t) for `TABULATED` rounds from there; agents share the tables.

    An agent decides one round at a time, so it looks up log f(t) here rather than computing it anew. Do not write to
    the array: others read it as well.

    Parameters
    ----------
    f
        As for `log_f`.
    number
        Which table: 0 has rounds 0 to 4095 (round 0 is not used), 1 has rounds 4096 to 8191.

    Examples
    --------
    >>> log_f_table("t", 0)[2:5].round(3)
    array([0.   , 0.693, 1.099])
    >>> float(log_f_table("t", 1)[0])
    4096.0
    """
    return _shared_table(f, number) if isinstance(f, Hashable) else _table(f, number)


def _table(f: Exploration, number: int) -> NDArray[np.float64]:
    first = number * TABULATED
    values = log_f(f, max(first, 1), first + TABULATED - 1)
    return np.concatenate([[first, 0.0] if number == 0 else [first], values])


_shared_table = lru_cache(maxsize=64)(_table)


def _function(f: Exploration) -> Rate:
    if callable(f) and not isinstance(f, type):  # a class can be called, but is no function of the round
        return f
    if not (isinstance(f, str) and f in EXPLORATION):
        raise ValueError(
            f"unknown f {shown(f)}; give a function of the round or one of {', '.join(map(repr, EXPLORATION))}"
        )
    return EXPLORATION[f]
