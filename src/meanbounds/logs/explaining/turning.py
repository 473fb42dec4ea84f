"""At which value of each judgement the decision tips, and to which options."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from meanbounds.bounds import Arm, BoundsError
from meanbounds.logs.allowed import joined
from meanbounds.logs.assumptions import AnyExpert, Assumption, ErringExpert, NearlyOptimalExpert, OptimalExpert
from meanbounds.logs.explaining.basis import Basis
from meanbounds.logs.explaining.ladder import decisions, in_order, number_of
from meanbounds.logs.judged import Judged
from meanbounds.logs.names import Context
from meanbounds.logs.sensitivity import TippingPoint, ends_of, sensitivity
from meanbounds.support.types import Booleans, Floats

__all__ = ["Turn", "first_to_tip", "judgements_of", "turns_of"]

_STEPS = 12  # values of a judgement that are looked at in all contexts, to find those that tip first


@dataclass(frozen=True)
class Turn:
    """A tipping point with both decisions.

    Attributes
    ----------
    point
        The context, the number and the value at which the decision tips.
    assumption
        What is assumed before the number moves.
    start, end
        The number as it is assumed, and how far it can move at all in that direction.
    before, after
        The options that can be best on the near and on the far side of the value.

    Examples
    --------
    >>> import meanbounds as mb
    >>> lab = mb.HiddenContexts([[[0.9, 0.4, 0.1], [0.3, 0.8, 0.2]]], [[0.8, 0.2]], arms=["tPA", "heparin", "watch"])
    >>> judged = mb.logs.OptimalExpert(0.5, gap_high=0.8)
    >>> for turn in mb.logs.explain(lab.counts(), judged, infinite=True, worlds=8).turns:
    ...     print(turn.point, turn.before, turn.after)
    above errors 0.32: 'heparin' can be best too ('tPA',) ('tPA', 'heparin')
    above loss 0.12: 'heparin' can be best too ('tPA',) ('tPA', 'heparin')
    below gap_low 0.2: 'heparin' can be best too ('tPA',) ('tPA', 'heparin')
    above shift 0.12: 'heparin' can be best too ('tPA',) ('tPA', 'heparin')
    """

    point: TippingPoint
    assumption: Assumption
    start: float
    end: float
    before: tuple[Arm, ...]
    after: tuple[Arm, ...]

    @property
    def way(self) -> float:
        """How far the value is from what is assumed, as a share of how far it can move: 0 tips at once."""
        return abs(self.point.value - self.start) / abs(self.end - self.start)


def judgements_of(judged: Assumption, span: float) -> list[tuple[Assumption, tuple[str, ...]]]:
    """What to start from, and which numbers to move from there.

    Errors and losses are judgements about everyone who chose, so they are asked for also where none is assumed: from 0
    if the best option was chosen always, from everything if nothing is assumed.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.logs.explaining.turning import judgements_of
    >>> for start, numbers in judgements_of(mb.logs.OptimalExpert(0.1), span=1.0):
    ...     print(start, *numbers)
    ErringExpert(0.0, gap_low=0.1) errors
    NearlyOptimalExpert(0.0, gap_low=0.1) loss
    OptimalExpert(0.1) gap_low gap_high confidence shift
    """
    own = tuple(dict.fromkeys(name for part in judged.parts for name in part.weaker))
    found: list[tuple[Assumption, tuple[str, ...]]] = []
    if isinstance(judged, OptimalExpert):
        low, high = judged.gap_low, judged.gap_high
        found.append((ErringExpert(0.0, low, high), ("errors",)))
        found.append((NearlyOptimalExpert(0.0, low, high), ("loss",)))
    elif isinstance(judged, AnyExpert):
        high = judged.gap_high
        found.append((ErringExpert(1.0, gap_high=high), ("errors",)))
        found.append((NearlyOptimalExpert(span, gap_high=high), ("loss",)))
    return [*found, (judged, (*own, "confidence", "shift"))]


def turns_of(basis: Basis, contexts: Sequence[Context]) -> tuple[Turn, ...]:
    """Every tipping point of these contexts, judgement by judgement."""
    found = []
    for assumption, numbers in judgements_of(basis.assumption, basis.span):
        moved = [name for name in numbers if name != "confidence" or basis.level is not None]
        judged = sensitivity(
            basis.counts,
            assumption,
            **basis.size,
            shift=basis.shift,
            method=basis.method,
            contexts=contexts,
            numbers=moved,
        )
        rows = {row["context"]: row for row in judged.rows}
        for side, ends in zip((judged.tipping, judged.stronger), ends_of(assumption, basis.span), strict=True):
            for context in contexts:
                for name, point in side[context].items():
                    if point is not None:
                        start, before = float(rows[context][name]), rows[context]["can_be_best"]
                        kept = [arm for arm in before if arm not in point.leave]
                        after = in_order(basis.arms, [*kept, *point.enter])
                        found.append(Turn(point, assumption, start, ends[name], before, after))
    order = {context: place for place, context in enumerate(contexts)}
    names = [name for _, numbers in judgements_of(basis.assumption, basis.span) for name in numbers]
    return tuple(sorted(found, key=lambda turn: (names.index(turn.point.assumption), order[turn.point.context])))


def first_to_tip(basis: Basis) -> Floats:
    """How far judgements can move before the decision of each context tips, as a share of how far they can move at all.

    Each is moved in a few equal steps, so this is the end of the step in which it tips; infinite where none does.
    """
    first = np.full(len(basis.contexts), np.inf)
    for assumption, numbers in judgements_of(basis.assumption, basis.span):
        base = basis.judged(assumption)
        _, _, decided, wrong = decisions(base)
        for name in numbers:
            for ends in ends_of(assumption, basis.span):
                if name == "confidence" and basis.level is None:
                    continue
                for step, (possible, refused) in enumerate(_way(basis, base, name, ends[name]), start=1):
                    other = (possible != decided).any(axis=1) & ~refused & ~wrong
                    first[other] = np.minimum(first[other], step / _STEPS)
    return first


def _way(basis: Basis, base: Judged, name: str, end: float) -> Iterator[tuple[Booleans, Booleans]]:
    """Decisions and contradictions in all contexts, at each step of one number from where it is to its end."""
    start = {"shift": basis.shift, "confidence": basis.level}.get(name, number_of(base.assumption, name))
    if start is None:
        start = basis.span if name == "gap_high" else None
    if start is None or start == end:  # it differs by context, or is at its end
        return
    values = np.geomspace(start, end, _STEPS + 1) if name == "odds" else np.linspace(start, end, _STEPS + 1)
    for value in values[1:].tolist():
        try:
            _, _, possible, wrong = decisions(moved(base, name, value))
        except BoundsError:  # gaps that cannot be
            continue
        yield possible, wrong


def moved(base: Judged, name: str, value: float) -> Judged:
    """The same log with one number of what is assumed at another value."""
    if name == "shift":
        return Judged(replace(base.log, shift=value), base.assumption)
    if name == "confidence":
        return Judged(replace(base.log, confidence=value), base.assumption)
    parts = [replace(part, **{name: value}) if name in part.weaker else part for part in base.assumption.parts]
    return Judged(base.log, joined(parts))
