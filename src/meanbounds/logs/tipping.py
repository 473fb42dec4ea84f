"""At which value of each assumption another option could be best."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from meanbounds.bounds import Arm
from meanbounds.logs.assumed import FIELDS, WEAKEST, Assumed
from meanbounds.logs.claims import nearest
from meanbounds.logs.counts import Context, Counts
from meanbounds.logs.experts import ANYONE, Experts
from meanbounds.logs.words import listed
from meanbounds.support.checks import as_list
from meanbounds.support.types import Booleans, Floats, Integers

__all__ = ["Tip", "tipping"]

_NEARLY = 1e-9  # how far from assuming nothing a field stays that is given


@dataclass(frozen=True)
class Tip:
    """A value of one assumption at which other options can be best than under what is assumed, all else as it is.

    Attributes
    ----------
    context, field
        The context, and the field of `Experts` that moves, or ``"shift"``.
    value, weaker
        The nearest value at which the options that can be best are others, in the units of the field, and whether it
        assumes less. Beyond it, away from what is assumed, the options stay others.
    enter, leave
        Options that can be best at this value and not under what is assumed; options that no longer can.
    """

    context: Context
    field: str
    value: float
    weaker: bool
    enter: tuple[Arm, ...]
    leave: tuple[Arm, ...]

    @property
    def side(self) -> str:
        """On which side of the value the options are others: ``"or more"`` or ``"or less"``."""
        return "or more" if self.weaker != (self.field == "gap_low") else "or less"

    @property
    def change(self) -> str:
        """Which options enter and leave, in words."""
        ends = ((self.enter, "can be best too"), (self.leave, "can no longer be best"))
        return ", and ".join(f"{listed(arms)} {what}" for arms, what in ends if arms)

    def __str__(self) -> str:
        return f"{self.field} {self.value:.3g} {self.side}: {self.change}"


def tipping(
    counts: Counts,
    experts: Experts = ANYONE,
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
        As for `meanbounds.logs.bounds`, with the same errors. `shift` moves like a field of `experts`.
    contexts
        Look at these contexts alone; the confidence is still that of all contexts at once. All by default.

    Returns
    -------
    A tuple of `Tip` for each context, first those of weaker assumptions; empty if no value of any field changes which
    options can be best.

    Examples
    --------
    >>> import meanbounds as mb
    >>> count, total = [[8000, 1000, 1000]], [[7200, 500, 300]]
    >>> counts = mb.logs.Counts([None], ["tPA", "heparin", "watch"], count, total, total)
    >>> for tip in mb.logs.tipping(counts, mb.logs.Experts(errors=0.05, gap_low=0.3))[None]:
    ...     print(tip)
    errors 0.122 or more: “heparin” can be best too
    gap_low 0.189 or less: “heparin” can be best too
    shift 0.0471 or more: “heparin” can be best too
    """
    assumed = Assumed.of(counts, experts, confidence=confidence, shift=shift, arms=arms)
    chosen = assumed.contexts if contexts is None else as_list("contexts", contexts)
    assumed = assumed.at(np.array([counts.position(context) for context in chosen], dtype=np.int64))
    assumed.refuse_contradictions()
    weakest = np.repeat(np.array(WEAKEST)[:, None], len(chosen), axis=1)
    nearly = np.abs(weakest - _NEARLY)  # a field that assumes nothing leaves its share of the error to the others
    nearly[5] = WEAKEST[5]
    strongest = np.zeros(weakest.shape)
    strongest[2], strongest[3], strongest[4] = assumed.table[3], assumed.table[2], 1.0
    tips = [
        *_tips(assumed, True, np.where(assumed.table == weakest, weakest, nearly)),
        *_tips(assumed, False, strongest),
    ]
    return {context: tuple(tip for tip in tips if tip.context == context) for context in assumed.contexts}


def _tips(assumed: Assumed, weaker: bool, ends: Floats) -> list[Tip]:
    """The tip of each pair of a field and a context on the way to its end, where there is one; all pairs at once."""
    fields, places = (part.ravel() for part in np.indices(ends.shape))
    start, end, before = assumed.table.ravel(), ends.ravel(), _possible(assumed)[places]

    def at(pairs: Integers, values: Floats) -> Assumed:
        return assumed.moved(places[pairs], fields[pairs], values)

    def differs(pairs: Integers, values: Floats) -> Booleans:
        return np.asarray((_possible(at(pairs, values)) != before[pairs]).any(axis=1))

    pairs = np.flatnonzero(start != end)
    wrong = pairs[at(pairs, end[pairs]).impossible]
    end[wrong] = nearest(lambda v: ~at(wrong, v).impossible, end[wrong], start[wrong])
    pairs = pairs[differs(pairs, end[pairs])]
    values = nearest(lambda v: differs(pairs, v), start[pairs], end[pairs])
    tips = []
    for pair, value, after in zip(pairs.tolist(), values.tolist(), _possible(at(pairs, values)), strict=True):
        changes = after & ~before[pair], before[pair] & ~after
        enter, leave = (tuple(assumed.arms[k] for k in np.flatnonzero(side)) for side in changes)
        field, context = int(fields[pair]), assumed.contexts[places[pair]]
        tips.append(Tip(context, FIELDS[field], assumed.in_units(field, value), weaker, enter, leave))
    return tips


def _possible(assumed: Assumed) -> Booleans:
    """Which arms can be best, contexts x arms."""
    lower, upper = assumed.limits
    best = lower.max(axis=1, keepdims=True)
    return np.asarray((upper > best) | (lower == best))
