"""A log and what is assumed of it, as arrays: bounds in units of the range, contradictions, and what is allowed."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, cached_property, partial
from math import ceil, floor, inf, log, log10
from typing import Any

import numpy as np

from meanbounds.bounds import Arm, BoundsError, MeanBounds
from meanbounds.logs.claims import EXACT, GAP_LOW, Cells, claimed, nearest
from meanbounds.logs.confidence import as_nats
from meanbounds.logs.counts import Context, Counts
from meanbounds.logs.errors import LogWarning
from meanbounds.logs.experts import Experts, where
from meanbounds.logs.instruments import Instrumented
from meanbounds.support.checks import as_float, as_list, shown
from meanbounds.support.types import Booleans, Floats, Integers

__all__ = ["FIELDS", "WEAKEST", "Assumed", "cells_of", "check_confidence", "check_counts", "check_shift"]

FIELDS = ("errors", "loss", "gap_low", "gap_high", "odds", "shift")
"""The rows of the table of `Assumed`; odds are there as one over odds."""

WEAKEST = (1.0, 1.0, 0.0, 1.0, 0.0, 1.0)
"""The numbers of the table that assume nothing."""

_SLACK = 1e-9  # of the range: rounding errors contradict nothing


@dataclass(frozen=True, eq=False)
class Assumed:
    """A log and what is assumed of it, as arrays; rows of `table` are the fields of `Experts`, and shift.

    `nats` are those of one arm in one context, so some contexts alone keep the joint confidence of all.
    """

    contexts: tuple[Context, ...]
    arms: tuple[Arm, ...]
    low: float
    high: float
    cells: Cells
    table: Floats
    nats: float
    confidence: float
    by_chance: Callable[[float], Floats] | None = None  # from nats to both bounds by an instrument, 2 x contexts x arms

    @classmethod
    def of(
        cls, counts: Counts, experts: Experts, *, confidence: float, shift: float, arms: Iterable[Arm] | None
    ) -> Assumed:
        """Check what a user gave, and bring it to units of the range."""
        check_counts(counts)
        if not isinstance(experts, Experts):
            raise TypeError(f"experts must be an object such as Experts(errors=0.05); got {shown(experts)}")
        level, moved = check_confidence(confidence), check_shift(shift)
        if counts.weighted is not None and counts.least is None:
            warnings.warn(
                "the log has propensities, but bounds do not use them: read it with least=, the least propensity that "
                "is possible",
                LogWarning,
                stacklevel=4,
            )
        counts = counts if arms is None else _listed(counts, arms)
        names, cells = counts.arms, cells_of(counts)
        numbers = experts.numbers(counts.contexts, counts.high - counts.low)
        table = np.vstack([numbers, np.full(len(counts.contexts), moved)])
        nats = log(len(counts.contexts) * len(names)) + as_nats(1.0 - level)
        by_chance = None
        if counts.instrument is not None:  # has half of the error
            nats += log(2.0)
            by_chance = cache(Instrumented.of(counts, cells.apart).limits)
            by_chance(nats)  # refuses a log that contradicts it
        return cls(counts.contexts, names, counts.low, counts.high, cells, table, nats, level, by_chance)

    def at(self, places: Integers, table: Floats | None = None) -> Assumed:
        """Some contexts, each perhaps several times, perhaps under other assumptions."""
        names = tuple(self.contexts[place] for place in places.tolist())
        own = self.table[:, places] if table is None else table
        by_chance = self.by_chance and partial(_some, self.by_chance, places)
        ends = self.low, self.high, self.cells.at(places), own, self.nats, self.confidence, by_chance
        return Assumed(names, self.arms, *ends)

    @cached_property
    def _found(self) -> tuple[Floats, Floats, Integers]:
        return self._claimed(self.nats)

    def _claimed(self, nats: float) -> tuple[Floats, Floats, Integers]:
        lower, upper, refuted = claimed(self.cells, self.table[:5], nats)
        if self.by_chance is not None:
            least, most = self.by_chance(nats)
            lower, upper = np.maximum(lower, least), np.minimum(upper, most)
        return lower, upper, refuted

    @cached_property
    def limits(self) -> tuple[Floats, Floats]:
        """Both bounds, contexts x arms, in units of the range; the middle where they cross by rounding."""
        return self._limits(*self._found[:2])

    @cached_property
    def exact_limits(self) -> tuple[Floats, Floats]:
        """The bounds if the log were infinite; the middle where they cross, or what an instrument says if that does."""
        lower, upper, _ = self._claimed(EXACT)
        if self.by_chance is not None:
            least, most = self.by_chance(EXACT)
            crossed = lower > upper + _SLACK
            lower, upper = np.where(crossed, least, lower), np.where(crossed, most, upper)
        return self._limits(lower, upper)

    def _limits(self, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
        lower, upper = (np.clip(side, 0.0, 1.0) for side in (lower, upper))
        crossed = lower > upper
        middle = 0.5 * (lower + upper)
        lower, upper = (np.where(crossed, middle, side) for side in (lower, upper))
        shift, empty = self.table[5][:, None], ~self.cells.rows.any(axis=1, keepdims=True)
        return np.where(empty, 0.0, np.maximum(lower - shift, 0.0)), np.where(
            empty, 1.0, np.minimum(upper + shift, 1.0)
        )

    @property
    def wrong(self) -> Booleans:
        """Where the log contradicts what is assumed, contexts x arms."""
        lower, upper, refuted = self._found
        crossed = (lower > upper + _SLACK) | (upper < -_SLACK) | (lower > 1.0 + _SLACK)
        return (refuted > 0) | (crossed & self.cells.rows.any(axis=1, keepdims=True))

    @property
    def impossible(self) -> Booleans:
        """In which contexts the log contradicts what is assumed."""
        return np.asarray(self.wrong.any(axis=1))

    def refuse_contradictions(self) -> None:
        """Raise an error that names the first contradiction, and for each field what the log allows."""
        for place, arm in np.argwhere(self.wrong):
            lower, upper, refuted = (part[place, arm] for part in self._found)
            width = self.high - self.low
            if refuted == GAP_LOW:
                reason = (
                    f"where it was chosen, its mean reward is less than gap_low={self.table[2, place] * width:g} above "
                    f"{self.low:g}, the end of the range, so no option fits below it"
                )
            elif refuted:
                reason = "one over its propensity should average 1 over all rows, and does not"
            else:
                reason = (
                    f"its mean would be at least {self.low + width * lower:.4g} and at most "
                    f"{self.low + width * upper:.4g}"
                )
            allowed = self.at(np.array([place])).allowed()
            ways = f". The log allows {', or '.join(allowed)}, all else as it is" if allowed else ""
            raise BoundsError(
                f"{where(self.contexts[place])}, arm {self.arms[arm]!r}: the log contradicts what is assumed: "
                f"{reason}{ways}"
            )

    def allowed(self) -> list[str]:
        """For each field of this one context the nearest weaker value that the log allows, in words."""
        every = np.arange(5)
        start, end = self.table[:5, 0], np.array(WEAKEST[:5])

        def holds(values: Floats) -> Booleans:
            return ~self.moved(np.zeros(5, dtype=np.int64), every, values).impossible

        possible = (start != end) & holds(end)
        found = nearest(holds, start, end)
        words = []
        for field in np.flatnonzero(possible).tolist():
            word = "at most" if FIELDS[field] == "gap_low" else "at least"
            number = _rounded(self.in_units(field, found[field]), up=word == "at least")
            words.append(f"{FIELDS[field]} of {word} {number:.4g}")
        return words

    def moved(self, places: Integers, fields: Integers, values: Floats) -> Assumed:
        """Some contexts, each with one field at another value."""
        table = self.table[:, places]
        table[fields, np.arange(places.size)] = values
        return self.at(places, table)

    def in_units(self, field: int, number: float) -> float:
        """A number of the table as the user gives it."""
        if field == 4:
            return float(1.0 / number) if number > 0.0 else float("inf")
        return float(number * (self.high - self.low)) if field in (1, 2, 3) else float(number)


def _some(by_chance: Callable[[float], Floats], places: Integers, nats: float) -> Floats:
    return by_chance(nats)[:, places]


def cells_of(counts: Counts) -> Cells:
    """The cells of a log, in units of its range."""
    least = 1.0 if counts.least is None else counts.least
    weighted = None if counts.least is None else counts.weighted
    apart = min((counts.apart or 0.0) / (counts.high - counts.low), 1.0)
    return Cells(counts.count, *counts.unit, weighted, least, counts.missing, apart)


def check_counts(given: Any) -> None:
    """Refuse what are not the counts of a log."""
    if not isinstance(given, Counts):
        raise TypeError(f"counts must be those of a log, from meanbounds.logs.read; got {shown(given)}")


def check_confidence(given: Any) -> float:
    """Read the probability with which bounds hold."""
    level = as_float("confidence", given)
    if not 0.0 < level < 1.0:
        raise ValueError(f"confidence is a probability between 0 and 1, such as 0.95; got {shown(given)}")
    return level


def check_shift(given: Any) -> float:
    """Read how far hidden cases may have changed."""
    moved = as_float("shift", given)
    if not 0.0 <= moved <= 1.0:
        raise ValueError(f"shift is a total variation distance, from 0 to 1; got {moved:g}")
    return moved


def _rounded(number: float, *, up: bool) -> float:
    """Four digits, on the side that is allowed."""
    if not 0.0 < number < inf:
        return number
    unit = 10.0 ** (floor(log10(number)) - 3)
    return (ceil if up else floor)(number / unit) * unit


def _listed(counts: Counts, arms: Iterable[Arm]) -> Counts:
    """The counts of the arms that a user lists, in that order."""
    names = MeanBounds.vacuous(as_list("arms", arms)).arms
    for k, arm in enumerate(counts.arms):
        if arm not in names and counts.chosen[:, k].any():
            raise BoundsError(f"arm {arm!r} has rows in the log, and is not among arms={shown(list(names))}")
    return counts.over(counts.contexts, names)
