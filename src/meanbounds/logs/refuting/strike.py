"""What a test found, before it is put into words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from meanbounds.logs.assumptions import Assumption

__all__ = ["Holds", "Strike", "members_of", "number"]

Holds = Callable[[Assumption], bool]
"""Whether the test would let another assumption pass, with the numbers of one context."""


@dataclass(frozen=True)
class Strike:
    """One assumption that a test refutes: in which context (None: in all together), why, and what would pass."""

    place: int | None
    reason: str
    holds: Holds | None = None


def members_of(into: NDArray[np.intp], places: int) -> list[NDArray[np.intp]]:
    """Which entries go to each place.

    Examples
    --------
    >>> import numpy as np
    >>> from meanbounds.logs.refuting.strike import members_of
    >>> members_of(np.array([1, 0, 1]), 2)
    [array([1]), array([0, 2])]
    """
    order = np.argsort(into, kind="stable")
    return np.split(order, np.searchsorted(into[order], np.arange(1, places)))


def number(value: float) -> str:
    """A count as people write it.

    Examples
    --------
    >>> from meanbounds.logs.refuting.strike import number
    >>> number(12345.0)
    '12,345'
    """
    return f"{value:,.0f}"
