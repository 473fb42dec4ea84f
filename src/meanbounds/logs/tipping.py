"""At which value of each assumption another option could be best."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from meanbounds.bounds import Arm
from meanbounds.logs.assumed import FIELDS, WEAKEST, Assumed
from meanbounds.logs.claims import nearest
from meanbounds.logs.counts import Context, Counts
from meanbounds.logs.experts import Experts
from meanbounds.support.checks import as_list
from meanbounds.support.types import Booleans, Floats, Integers

__all__ = ["Tip", "tipping"]

_ANY = Experts()
_NEARLY = 1e-9  # how far from assuming nothing a field stays that is given


@dataclass(frozen=True)
class Tip:
    """A value of one assumption at which other options can be best than under what is assumed, all else as it is.

    Attributes
    ----------
    context
        The context.
    field
        The field of `Experts` that moves, or ``"shift"``.
    value
        The nearest value at which the options that can be best are others; in the units of the field.
    weaker
        Whether this value assumes less. Beyond it, away from what is assumed, the options stay others.
    enter, leave
        Options that can be best at this value and not under what is assumed; options that no longer can.

    Examples
    --------
    >>> import meanbounds as mb
    >>> print(mb.logs.Tip("old", "errors", 0.1234, weaker=True, enter=("heparin",), leave=()))
    errors 0.123 or more: 'heparin' can be best too
    """

    context: Context
    field: str
    value: float
    weaker: bool
    enter: tuple[Arm, ...]
    leave: tuple[Arm, ...]

    def __str__(self) -> str:
        above = self.weaker != (self.field == "gap_low")
        ends = ((self.enter, "can be best too"), (self.leave, "can no longer be best"))
        said = [f"{' and '.join(map(repr, arms))} {what}" for arms, what in ends if arms]
        return f"{self.field} {self.value:.3g} or {'more' if above else 'less'}: {', '.join(said)}"


def tipping(
    counts: Counts,
    experts: Experts = _ANY,
    *,
    confidence: float = 0.95,
    shift: float = 0.0,
    arms: Iterable[Arm] | None = None,
    contexts: Sequence[Context] | None = None,
) -> dict[Context, tuple[Tip, ...]]:
    """Find, for each context and each assumption, the value at which another option could be best.

    From what is assumed, one field at a time moves to weaker values, and to stronger ones as far as the log allows.

    Parameters
    ----------
    counts, experts, confidence, shift, arms
        As for `meanbounds.logs.bounds`. `shift` moves like a field of `experts`.
    contexts
        Look at these contexts alone; the confidence is still that of all contexts at once. All by default.

    Returns
    -------
    A tuple of `Tip` for each context, first those of weaker assumptions; empty if no value of any field changes which
    options can be best.

    Raises
    ------
    BoundsError
        If the log contradicts what is assumed.

    Examples
    --------
    >>> import meanbounds as mb
    >>> count, total = [[8000, 1000, 1000]], [[7200, 500, 300]]
    >>> counts = mb.logs.Counts([None], ["tPA", "heparin", "watch"], count, total, total)
    >>> for tip in mb.logs.tipping(counts, mb.logs.Experts(errors=0.05, gap_low=0.3))[None]:
    ...     print(tip)
    errors 0.122 or more: 'heparin' can be best too
    gap_low 0.189 or less: 'heparin' can be best too
    shift 0.0471 or more: 'heparin' can be best too
    """
    assumed = Assumed.of(counts, experts, confidence=confidence, shift=shift, arms=arms)
    chosen = assumed.contexts if contexts is None else as_list("contexts", contexts)
    assumed = assumed.at(np.array([counts.position(context) for context in chosen], dtype=np.int64))
    assumed.refuse_contradictions()
    size = len(assumed.contexts)
    fields, places = np.repeat(np.arange(6), size), np.tile(np.arange(size), 6)
    base = _Moves(assumed, fields, places)
    strongest = np.stack([np.zeros(size), np.zeros(size), assumed.table[3], assumed.table[2], *np.ones((1, size))])
    start, weakest = assumed.table[fields, places], np.array(WEAKEST)[fields]
    nearly = np.abs(weakest - _NEARLY)  # a field that assumes nothing leaves its share of the error to the others
    ends = {
        True: np.where((start == weakest) | (fields == 5), weakest, nearly),
        False: np.vstack([strongest, np.zeros((1, size))]).ravel(),
    }
    found: dict[Context, list[Tip]] = {context: [] for context in assumed.contexts}
    for weaker, end in ends.items():
        for tip in base.tips(weaker, end):
            found[tip.context].append(tip)
    return {context: tuple(tips) for context, tips in found.items()}


@dataclass(frozen=True, eq=False)
class _Moves:
    """Every pair of a field and a context: what that field can move to, all pairs at once."""

    assumed: Assumed
    fields: Integers
    places: Integers

    def tips(self, weaker: bool, end: Floats) -> list[Tip]:
        """The tip of each pair on the way to this end, where there is one."""
        table = self.assumed.table
        start = table[self.fields, self.places]
        before = self._at(start).possible
        moves = np.flatnonzero(start != end)
        if not moves.size:
            return []
        own = _Moves(self.assumed, self.fields[moves], self.places[moves])
        start, end, before = start[moves], end[moves], before[moves]
        impossible = own._at(end).wrong
        if impossible.any():
            some = _Moves(self.assumed, own.fields[impossible], own.places[impossible])
            end[impossible] = nearest(lambda v: ~some._at(v).wrong, end[impossible], start[impossible])
        changed = (own._at(end).possible != before).any(axis=1)
        own = _Moves(self.assumed, own.fields[changed], own.places[changed])
        start, end, before = start[changed], end[changed], before[changed]
        if not changed.any():
            return []
        value = nearest(lambda v: (own._at(v).possible != before).any(axis=1), start, end)
        return [
            own._tip(*parts, weaker)
            for parts in zip(range(len(value)), value, before, own._at(value).possible, strict=True)
        ]

    def _at(self, values: Floats) -> _Decision:
        table = self.assumed.table[:, self.places].copy()
        table[self.fields, np.arange(self.places.size)] = values
        return _Decision.of(self.assumed.at(self.places, table))

    def _tip(self, place: int, value: float, before: Booleans, after: Booleans, weaker: bool) -> Tip:
        arms, field = self.assumed.arms, int(self.fields[place])
        enter, leave = (tuple(arms[k] for k in np.flatnonzero(side)) for side in (after & ~before, before & ~after))
        context = self.assumed.contexts[self.places[place]]
        return Tip(context, FIELDS[field], self.assumed.in_units(field, value), weaker, enter, leave)


@dataclass(frozen=True)
class _Decision:
    """Which arms can be best, contexts x arms, and in which contexts the log contradicts what is assumed."""

    possible: Booleans
    wrong: Booleans

    @classmethod
    def of(cls, assumed: Assumed) -> _Decision:
        lower, upper = assumed.limits
        best = lower.max(axis=1, keepdims=True)
        return cls((upper > best) | (lower == best), assumed.impossible)
