"""The evidence against an assumption, which all agents whose bounds rest on it share."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from meanbounds.bounds import Arm
from meanbounds.evidence.contradictions import WATCHED_ERROR, AssumptionWarning
from meanbounds.kernels.arms import together as kernel
from meanbounds.knowledge import Knowledge
from meanbounds.support.entries import Entries
from meanbounds.support.types import Floats, Integers

__all__ = ["Ledger", "place_of"]

_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


class Ledger:
    """What the rewards of all agents say against one assumption; see `meanbounds.kernels.arms.together`.

    Parameters
    ----------
    name
        The name of the assumption.

    Examples
    --------
    >>> ledger = Ledger("the expert is optimal")
    >>> ledger.log_e
    0.0
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.table = kernel.new_ledger(0)
        self._places: dict[Arm, int] = {}  # a row for each arm, the same in all contexts
        self._announced = False

    @property
    def log_e(self) -> float:
        """The logarithm of the e-process against the assumption."""
        return float(self.table[0, -1])

    def news(self) -> AssumptionWarning | None:
        """A warning that the assumption is refuted, at the first call after that has happened; None at all others.

        Examples
        --------
        >>> Ledger("the expert is optimal").news() is None
        True
        """
        if self._announced or not self._is_refuted():
            return None
        self._announced = True
        return AssumptionWarning(self.name, self.log_e)

    def _is_refuted(self) -> bool:
        return self.log_e >= -math.log(WATCHED_ERROR)

    def groups(self, known: Knowledge) -> Integers:
        """The group of each arm of an agent; there is none for arms whose bounds are certain or say nothing.

        Examples
        --------
        >>> import meanbounds as mb
        >>> known = mb.Knowledge(mb.MeanBounds([0.1, 0.2], [0.3, 0.4]), trust=[1.0, 0.9], assumption="a")
        >>> Ledger("a").groups(known)
        array([-1,  0])
        """
        found = np.full(len(known.bounds), kernel.NO_GROUP)
        for k in np.flatnonzero(known.doubted).tolist():
            found[k] = self._places.setdefault(known.bounds.arms[k], len(self._places))
        if len(self._places) >= len(self.table):
            grown = kernel.new_ledger(len(self._places))
            grown[: len(self.table)] = self.table
            kernel.close(grown)
            self.table = grown
        return found

    def enter(self, watched: Floats, groups: Integers, *, leaves: bool = False) -> None:
        """Add what the rewards of an agent say, or take it back."""
        if np.any(groups != kernel.NO_GROUP):
            kernel.enter(self.table, watched, groups, leaves)

    def copy(self) -> Ledger:
        """The same ledger, to go back to."""
        own = Ledger(self.name)
        own.take(self)
        return own

    def take(self, other: Ledger) -> None:
        """Become as another ledger is."""
        self.table, self._places, self._announced = other.table.copy(), dict(other._places), other._announced

    def told(self) -> dict[str, Any]:
        """The arms and the sums, in values that JSON can hold."""
        return {"arms": list(self._places), "sums": self.table[:, : kernel.SHARES.size].tolist()}

    def recall(self, told: Any) -> None:
        """Take the sums that `told` returned: they differ by rounding from those that the rewards give now."""
        saved, shares = Entries(told, f"evidence against assumption {self.name!r}"), kernel.SHARES.size
        if saved.sequence("arms") != list(self._places):
            raise saved.fail(f"its arms are {saved['arms']}, but the agents have {list(self._places)}")
        sums = saved.numbers("sums", (len(self.table), shares))
        if not np.allclose(sums, self.table[:, :shares], rtol=1e-6, atol=1e-6):
            raise saved.fail("its sums are not those of the rewards")
        self.table[:, :shares] = sums
        kernel.close(self.table)
        self._announced = self._is_refuted()  # whoever saved it has been told


def place_of(row: int) -> float:
    """Where a context stands among the others, from 0 to 1: those near 1 are the first to play without the bounds.

    Places of contexts that follow each other are spread evenly.

    Examples
    --------
    >>> [round(place_of(row), 3) for row in range(4)]
    [0.618, 0.236, 0.854, 0.472]
    """
    return (row + 1) * _GOLDEN % 1.0
