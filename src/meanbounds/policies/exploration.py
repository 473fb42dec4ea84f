"""How fast exploration grows: the function f of the indices, through log f(t)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["DEFAULT", "EXPLORATION", "Exploration", "log_f"]

Rate = Callable[[NDArray[np.float64]], NDArray[np.float64]]
Exploration = str | Rate

DEFAULT = "1 + t log(t)^2"
EXPLORATION: dict[str, Rate] = {
    DEFAULT: lambda t: 1.0 + t * np.log(t) ** 2,
    "t": lambda t: t,
    "t log(t)^3": lambda t: np.maximum(1.0, t * np.log(t) ** 3),
}
"""The named choices: the paper's, OSSB's, and the one KL-UCB was published with."""


def log_f(f: Exploration, first: int, last: int) -> NDArray[np.float64]:
    """Log f(t) for the rounds t = first, ..., last.

    Examples
    --------
    >>> log_f("t", 1, 3).round(3)
    array([0.   , 0.693, 1.099])
    """
    t = np.arange(first, last + 1, dtype=np.float64)
    values = np.broadcast_to(np.asarray(_function(f)(t), dtype=np.float64), t.shape)
    wrong = np.flatnonzero(~((values >= 1.0) & (np.diff(values, prepend=1.0) >= 0.0) & np.isfinite(values)))
    if wrong.size:
        where = int(wrong[0])
        raise ValueError(
            f"f must be at least 1, finite and never fall; f({first + where}) = {values[where]}"
            + (f" after f({first + where - 1}) = {values[where - 1]}" if where else "")
        )
    return np.log(values)


def _function(f: Exploration) -> Rate:
    if callable(f):
        return f
    if f not in EXPLORATION:
        raise ValueError(f"unknown f {f!r}; give a function of the round or one of {', '.join(map(repr, EXPLORATION))}")
    return EXPLORATION[f]
