"""What a test found, before it is put into words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from meanbounds.logs.assumptions import Assumption

__all__ = ["Holds", "Strike", "number"]

Holds = Callable[[Assumption], bool]
"""Whether the test would let another assumption pass, with the numbers of one context."""


@dataclass(frozen=True)
class Strike:
    """One assumption that a test refutes: in which context (None: in all together), why, and what would pass."""

    place: int | None
    reason: str
    holds: Holds | None = None


def number(value: float) -> str:
    """A count as people write it.

    Examples
    --------
    >>> from meanbounds.logs.refuting.strike import number
    >>> number(12345.0)
    '12,345'
    """
    return f"{value:,.0f}"
