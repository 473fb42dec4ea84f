"""Bounds on each option's mean reward in each context of a log, at one joint confidence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import log
from typing import Any, Self

import numpy as np

from meanbounds.bounds import Arm, BoundsError, MeanBounds
from meanbounds.logs.assumed import Assumed, cells_of, check_confidence, check_shift
from meanbounds.logs.claims import Cells
from meanbounds.logs.confidence import as_nats, lower_limit, upper_limit
from meanbounds.logs.counts import Context, Counts, plain
from meanbounds.logs.experts import ANYONE, Experts, where
from meanbounds.logs.words import quantity
from meanbounds.support.entries import Entries
from meanbounds.support.saving import Saved
from meanbounds.support.types import Floats

__all__ = ["Bounds", "bounds", "value"]


class Bounds(dict[Context, MeanBounds], Saved):
    """The bounds of each context, by its name, and what they rest on; `meanbounds.logs.bounds` makes them.

    Attributes
    ----------
    experts, confidence, shift, rows
        What they were made with, and how many rows of the log were counted.
    value
        For each context a lower and an upper limit on the experts' mean reward, in reward units. They hold at once with
        the same confidence, apart from the bounds.

    Examples
    --------
    Two years of one clinic. If both bounds hold, so does what they have in common:

    >>> import meanbounds as mb
    >>> count = [[600, 400]]
    >>> first, second = (mb.logs.Counts([None], ["tPA", "watch"], count, [[s, 160]], [[s, 160]]) for s in (480, 510))
    >>> both = mb.logs.bounds(first) & mb.logs.bounds(second)
    >>> both
    Bounds(1 context, 2 arms, 2,000 rows, confidence 0.9: nothing is assumed of the experts)
    >>> both[None].lower.round(2)
    array([0.46, 0.13])
    """

    def __init__(
        self,
        bounds: Mapping[Context, MeanBounds],
        *,
        experts: Experts,
        confidence: float,
        shift: float = 0.0,
        rows: int = 0,
        value: Mapping[Context, tuple[float, float]] | None = None,
    ) -> None:
        super().__init__(bounds)
        self.experts, self.confidence, self.shift, self.rows = experts, confidence, shift, rows
        self.value: dict[Context, tuple[float, float]] = dict(value or {})

    def __repr__(self) -> str:
        arms = len(next(iter(self.values()))) if self else 0
        parts = map(quantity, (len(self), arms, self.rows), ("context", "arm", "row"))
        said = f"confidence {self.confidence:.6g}: {self.experts.in_words()}"
        return f"Bounds({', '.join(parts)}, {said})"

    def __and__(self, other: Bounds) -> Bounds:
        """What holds if both hold, such as the bounds of two periods; bounds that cross are a contradiction.

        A context of one of them alone keeps its bounds. The probabilities of failure add up.
        """
        if not isinstance(other, Bounds):
            return NotImplemented
        found, limits = {**self, **other}, {**self.value, **other.value}
        for context in self.keys() & other.keys():
            try:
                found[context] = self[context] & other[context]
            except BoundsError as error:
                raise BoundsError(
                    f"{where(context)}, {error}. Assumed: {(self.experts & other.experts).in_words()}"
                ) from None
        for context in self.value.keys() & other.value.keys():
            lows, highs = zip(self.value[context], other.value[context], strict=True)
            apart = max(lows) > min(highs)
            limits[context] = (min(lows), max(highs)) if apart else (max(lows), min(highs))
        return Bounds(
            found,
            experts=self.experts & other.experts,
            confidence=max(self.confidence + other.confidence - 1.0, 0.0),
            shift=max(self.shift, other.shift),
            rows=self.rows + other.rows,
            value=limits,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists that JSON can hold; `from_dict` is the inverse."""
        contexts = [
            {"context": context, "bounds": own.to_dict(), "value": self.value.get(context)}
            for context, own in self.items()
        ]
        said = {"confidence": self.confidence, "shift": self.shift, "rows": self.rows}
        return {"experts": self.experts.to_dict(), **said, "contexts": plain(contexts)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Make the bounds that `to_dict` described."""
        saved = Entries("Bounds", data, ("experts", "confidence", "shift", "rows", "contexts"))
        found, limits = {}, {}
        try:
            for own in saved.list("contexts"):
                context = tuple(own["context"]) if isinstance(own["context"], list) else own["context"]
                found[context] = MeanBounds.from_dict(own["bounds"])
                if own["value"] is not None:
                    low, high = own["value"]
                    limits[context] = (float(low), float(high))
            said = {name: data[name] for name in ("confidence", "shift", "rows")}
            return cls(found, experts=Experts.from_dict(data["experts"]), value=limits, **said)
        except (TypeError, ValueError, KeyError) as error:
            raise saved.wrong(str(error)) from None


def bounds(
    counts: Counts,
    experts: Experts = ANYONE,
    *,
    confidence: float = 0.95,
    shift: float = 0.0,
    arms: Iterable[Arm] | None = None,
) -> Bounds:
    """Bound the mean reward of each option in each context of a log, written by experts who saw more than it records.

    Plain averages of the log mislead: experts choose an option for the cases that it suits. The bounds hold all the
    same. They say what a mean would be if all cases of the context got the option.

    Parameters
    ----------
    counts
        The counts of a log, from `meanbounds.logs.read`.
    experts
        What you assume of the experts; by default nothing.
    confidence
        The probability with which all bounds of all contexts hold at once.
    shift
        How far the hidden cases of a context may have changed since the log was written: 0.1 means that at most 10% of
        them are others (total variation distance). Both sides move outwards by this share of the range. If you only
        know that the probability of each of U hidden kinds of case changed by at most s, give ``min(1, (U // 2) * s)``.
    arms
        All options, in the order you want, including those that nobody chose: they get bounds as well. By default those
        of the log. List them before you look at the log: picking them from it voids the confidence.

    Raises
    ------
    BoundsError
        If the log contradicts what is assumed. The message names the context, the arm, and what the log allows.

    Notes
    -----
    `meanbounds.logs.claims` has the mathematics; Theorem 7 of the paper is ``Experts(errors=0, gap_low=..., gap_high=
    ...)`` of an infinite log, `meanbounds.theory.log_bounds`. A log with propensities and `least` adds bounds that need
    no assumption on the experts; its rows must be independent, so the log of an agent that learned does not qualify. A
    log with an instrument adds such bounds too, `meanbounds.logs.instruments`, with half of the error. Where rewards
    are missing, bounds hold whatever they were within what `read` was told.

    Examples
    --------
    >>> import meanbounds as mb
    >>> count, total = [[6000, 4000]], [[4800, 2000]]
    >>> counts = mb.logs.Counts(["north"], ["tPA", "watch"], count, total, total)
    >>> found = mb.logs.bounds(counts, mb.logs.Experts(errors=0.05))
    >>> found["north"].lower.round(2), found["north"].upper.round(2)
    (array([0.46, 0.19]), array([0.74, 0.74]))
    >>> mb.logs.bounds(counts, mb.logs.Experts(errors=0.05, gap_low=0.7))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    meanbounds.bounds.BoundsError: context 'north', arm 'watch': the log contradicts what is assumed: where it was ...
    """
    assumed = Assumed.of(counts, experts, confidence=confidence, shift=shift, arms=arms)
    assumed.refuse_contradictions()
    low, high = counts.low, counts.high
    lower, upper = (low + (high - low) * side for side in assumed.limits)
    limits = (side.tolist() for side in value(counts, confidence=confidence, shift=shift))
    return Bounds(
        dict(zip(counts.contexts, _made(assumed.arms, lower, upper, low, high), strict=True)),
        experts=experts,
        confidence=assumed.confidence,
        shift=float(assumed.table[5, 0]),
        rows=counts.rows,
        value=dict(zip(counts.contexts, zip(*limits, strict=True), strict=True)),
    )


def value(counts: Counts, *, confidence: float = 0.95, joint: bool = True, shift: float = 0.0) -> tuple[Floats, Floats]:
    """Limit the experts' mean reward in each context: lower and upper limits, arrays (contexts,) in reward units.

    With `joint` all limits hold at once with this confidence, otherwise those of each context by themselves; both for a
    number of rows that was fixed in advance. A context without rows gets the ends of the range. Each limit moves
    outwards by `shift`, as in `bounds`.

    Examples
    --------
    >>> import meanbounds as mb
    >>> counts = mb.logs.Counts(["north"], ["tPA", "watch"], [[600, 400]], [[480, 200]], [[480, 200]])
    >>> lower, upper = mb.logs.value(counts, confidence=0.95)
    >>> lower.round(3), upper.round(3)
    (array([0.635]), array([0.723]))
    """
    nats = as_nats((1.0 - check_confidence(confidence)) / (2.0 * (len(counts.contexts) if joint else 1)))
    least, most, cost = cells_of(counts).sides(nats - log(2.0) + log(len(counts.arms)))
    low, width = counts.low, counts.high - counts.low

    def whole(cells: Cells) -> tuple[Floats, Floats, Floats, float]:
        return cells.rows.sum(axis=1), cells.total.sum(axis=1), cells.squares.sum(axis=1), nats + cost

    lower, upper = (low + width * side for side in (lower_limit(*whole(least)), upper_limit(*whole(most))))
    moved = check_shift(shift) * width
    return np.maximum(lower - moved, low), np.minimum(upper + moved, counts.high)


def _made(arms: tuple[Arm, ...], lower: Floats, upper: Floats, low: float, high: float) -> Sequence[MeanBounds]:
    """The bounds of each context. Checking each object anew takes most of the time of 100,000 contexts."""
    lower, upper = np.clip(lower, low, high), np.clip(upper, low, high)
    first = MeanBounds(lower[0], upper[0], arms=arms, low=low, high=high)
    lower.flags.writeable = upper.flags.writeable = False
    made = []
    for own_lower, own_upper in zip(lower, upper, strict=True):
        one = object.__new__(MeanBounds)
        one.__dict__.update(first.__dict__, lower=own_lower, upper=own_upper)
        made.append(one)
    return made
