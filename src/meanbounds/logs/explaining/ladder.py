"""Assumptions from the weakest to the strongest, and what follows from each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from meanbounds.bounds import Arm, BoundsError, MeanBounds
from meanbounds.logs.allowed import in_context
from meanbounds.logs.assumptions import AnyExpert, Assumption, ErringExpert, NearlyOptimalExpert, OptimalExpert
from meanbounds.logs.explaining.basis import Basis
from meanbounds.logs.judged import Judged
from meanbounds.logs.names import Context
from meanbounds.logs.refuting import Refutations, refute
from meanbounds.support.types import Booleans, Floats

__all__ = ["Rung", "assumptions_of", "decisions", "in_order", "number_of", "rung"]

_ERRORS = 0.05
_GAP_LOW, _GAP_HIGH = 0.05, 0.5  # in units of the range


def number_of(assumption: Assumption, name: str) -> float | None:
    """The first number of this name among the parts of an assumption; None if none has it, or it differs by context.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.logs.explaining.ladder import number_of
    >>> number_of(mb.logs.AnyExpert() & mb.logs.ErringExpert(0.05), "errors")
    0.05
    """
    found = (getattr(part, name) for part in assumption.parts if name in part.weaker)
    return next((value for value in found if isinstance(value, float)), None)


def assumptions_of(judged: Assumption, span: float) -> tuple[Assumption, ...]:
    """The assumptions to compare, each of which implies the ones before it; then what is judged, if it is none of them.

    Numbers are those that are judged, where there are any. A share of errors e makes choices worse by at most e times
    the range on average, so that an `ErringExpert` comes after the `NearlyOptimalExpert` with that loss.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.logs.explaining.ladder import assumptions_of
    >>> for assumption in assumptions_of(mb.logs.ErringExpert(0.1), span=1.0):
    ...     print(assumption)
    AnyExpert()
    NearlyOptimalExpert(0.1)
    ErringExpert(0.1)
    OptimalExpert()
    OptimalExpert(0.05, gap_high=0.5)
    """
    errors, loss = number_of(judged, "errors"), number_of(judged, "loss")
    if errors is None:
        errors = _ERRORS if loss is None else loss / span
    low, high = number_of(judged, "gap_low") or 0.0, number_of(judged, "gap_high")
    gaps = (low, high) if low or high is not None else (_GAP_LOW * span, _GAP_HIGH * span)
    found: list[Assumption] = [
        AnyExpert(),
        NearlyOptimalExpert(min(errors * span, span) if loss is None else loss),
        ErringExpert(min(errors, 1.0)),
        OptimalExpert(),
        OptimalExpert(*gaps),
    ]
    return tuple(found if judged in found else [*found, judged])


@dataclass(frozen=True, eq=False)
class Rung:
    """What follows from one assumption.

    Attributes
    ----------
    assumption
        What is assumed of who wrote the log.
    contexts, arms
        Names, in the order of the arrays.
    lower, upper
        Bounds on each mean in reward units, contexts x arms.
    possible
        Which arms can be best, contexts x arms.
    contradicted
        In which contexts the log contradicts the assumption; their bounds mean nothing.
    refuted
        What the log's own tests refute; None where there are none for such a log.

    Examples
    --------
    >>> import meanbounds as mb
    >>> lab = mb.HiddenContexts([[[0.9, 0.4], [0.3, 0.6]]], [[0.75, 0.25]], arms=["tPA", "watch"])
    >>> first, *_ = mb.logs.explain(lab.sample(10_000, seed=7), worlds=8).rungs
    >>> first.assumption, first.bounds("z0").upper.round(2)
    (AnyExpert(), array([0.94, 0.91]))
    """

    assumption: Assumption
    contexts: tuple[Context, ...]
    arms: tuple[Arm, ...]
    lower: Floats
    upper: Floats
    possible: Booleans
    contradicted: Booleans
    refuted: Refutations | None
    judged: Judged

    def bounds(self, context: Context) -> MeanBounds:
        """The bounds of one context, as `meanbounds.logs.bounds` gives them; refused where the log contradicts them."""
        return self.judged_at(context).bounds()[context]

    def judged_at(self, context: Context) -> Judged:
        """One context under the assumption."""
        place = self.contexts.index(context)
        return Judged(self.judged.log.at(place), in_context(self.assumption, place, self.contexts))

    def best(self, context: Context) -> tuple[Arm, ...]:
        """The arms that can be best in a context; none where the log contradicts what is assumed."""
        place = self.contexts.index(context)
        if self.contradicted[place]:
            return ()
        return tuple(arm for arm, can in zip(self.arms, self.possible[place], strict=True) if can)

    def out(self, context: Context) -> tuple[Arm, ...]:
        """The arms that cannot be best in a context."""
        place = self.contexts.index(context)
        if self.contradicted[place]:
            return ()
        return tuple(arm for arm, can in zip(self.arms, self.possible[place], strict=True) if not can)

    def reason(self, context: Context) -> str:
        """Why the log contradicts the assumption in a context; empty if it does not."""
        try:
            self.bounds(context)
        except BoundsError as error:
            return str(error)
        return ""


def rung(basis: Basis, assumption: Assumption) -> Rung:
    """What follows from one assumption, in all contexts at once."""
    judged = basis.judged(assumption)
    lower, upper, possible, wrong = decisions(judged)
    return Rung(
        assumption, basis.contexts, basis.arms, lower, upper, possible, wrong, _refuted(basis, assumption), judged
    )


def decisions(judged: Judged) -> tuple[Floats, Floats, Booleans, Booleans]:
    """Bounds in reward units, which arms can be best, and which contexts contradict what is assumed.

    The same as `Judged.bounds` and `meanbounds.MeanBounds.possible` context by context, for thousands of them at once.
    """
    low, high = judged.log.world.low, judged.log.world.high
    lower, upper = judged.limits
    upper = np.clip(upper, 0.0, 1.0)
    lower = np.minimum(np.clip(lower, 0.0, 1.0), upper)
    lower, upper = (np.clip(low + (high - low) * side, low, high) for side in (lower, upper))
    largest = lower.max(axis=1, keepdims=True)
    wrong = np.zeros(len(lower), dtype=np.bool_)
    wrong[[one.place for one in judged.contradictions()]] = True
    return lower, upper, (upper > largest) | (lower == largest), wrong


def _refuted(basis: Basis, assumption: Assumption) -> Refutations | None:
    if basis.level is None or not basis.whole or not basis.counts.whole_weights or assumption.needs_shares:
        return None
    return refute(basis.counts, assumption, confidence=basis.level)


def in_order(arms: Sequence[Arm], kept: Sequence[Arm]) -> tuple[Arm, ...]:
    """Those arms that are kept, in the order of all arms."""
    inside = set(kept)
    return tuple(arm for arm in arms if arm in inside)
