"""The expert played the best arm in all but a few cases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from meanbounds.bounds import BoundsError
from meanbounds.logs.assumptions.base import Assumption, PerContext, World, amount
from meanbounds.logs.assumptions.claims import Check, Claims, Raised, any_expert
from meanbounds.logs.assumptions.optimal import gap_words
from meanbounds.support.checks import as_flag, shown

__all__ = ["ErringExpert"]

_FLOORS = (0.0, 0.25, 0.5, 0.75, 1.0)
_WEIGHTS = (0.3, 0.1, 0.1, 0.1, 0.2)
_ANY = 0.2  # it counts for an arm that was played in nearly all rows


@dataclass(frozen=True, repr=False)
class ErringExpert(Assumption):
    """Assume that the expert played the best arm in all but a few cases, however bad the choice was in these.

    Parameters
    ----------
    errors
        In each context the expert missed the best arm in at most this share of the cases: 0.05 is one case in twenty.
        With `overall`, in the whole log.
    gap_low
        Where the expert was right, the arm played was better than the second best by at least this much, in reward
        units. 0 assumes nothing.
    gap_high
        No arm is worse than the best one by more than this, in reward units, in any hidden type of case. None assumes
        nothing. It is about the arms and needs no correction for errors.
    overall
        Whether `errors` is the share of wrong choices in the whole log, over all contexts. All of them may be in one
        context, so its own share is at most ``errors`` over the context's share of the log, and small contexts say
        little. For a finite log the context's share is a lower confidence limit, which has a twentieth of the failure
        probability.

    Notes
    -----
    Upper bound, in units of the range: that of `OptimalExpert`, plus the most that errors can add. They add most where
    another arm was played with the lowest rewards: each such row counts 1 instead of its reward less ``gap_low``. This
    needs the histogram of the rewards unless they are 0 and 1; without it the worst case is assumed.

    Examples
    --------
    >>> import meanbounds as mb
    >>> found = mb.logs.expert_bounds([0.75, 0.25], [0.6, 0.2], mb.logs.ErringExpert(0.02, gap_low=0.2))
    >>> found.upper.round(3)  # with no errors 0.75 and 0.65; each error adds 1.2
    array([0.774, 0.674])
    >>> count = [[600, 200], [100, 100]]
    >>> counts = mb.logs.Counts(["many", "few"], ["a", "b"], count=count, total=count, squares=count)
    >>> found = mb.logs.bounds(counts, mb.logs.ErringExpert(0.02, gap_low=0.1, overall=True), infinite=True)
    >>> found["many"].upper.round(3), found["few"].upper.round(3)  # at most 2.5% and 10% of the cases were wrong
    (array([0.978, 0.928]), array([0.96, 0.96]))
    """

    errors: PerContext
    gap_low: PerContext = 0.0
    gap_high: PerContext | None = None
    overall: bool = False

    kind: ClassVar[str] = "erring-expert"
    weaker: ClassVar[dict[str, float]] = {"errors": 1.0, "gap_low": 0.0, "gap_high": 1.0}

    def __post_init__(self) -> None:
        self._read_numbers()
        object.__setattr__(self, "overall", as_flag("overall", self.overall))
        if self.overall and not isinstance(self.errors, float):
            raise BoundsError(f"with overall=True errors is one number, for the whole log; got {shown(self.errors)}")

    @property
    def needs_shares(self) -> bool:
        """Whether what it claims of a context depends on how much of the log the context is."""
        return self.overall

    def to_dict(self) -> dict[str, Any]:
        """Numbers and texts that JSON can hold; without `overall`, they are those of earlier versions."""
        found = super().to_dict()
        if not self.overall:
            del found["overall"]
        return found

    def claims(self, world: World) -> Claims:
        """What is claimed of each context, as numbers; see `meanbounds.logs.assumptions.claims`."""
        low, high = world.gaps(self.gap_low, self.gap_high)
        meaning = "the largest share of cases in which the expert was wrong, from 0 to 1"
        errors = world.between("errors", self.errors, 0.0, 1.0, meaning)
        if self.overall and world.share is not None:
            errors = np.where(errors < world.share, errors / np.maximum(world.share, 1e-300), 1.0)
        elif self.overall and len(world.contexts) > 1:
            raise BoundsError("overall=True needs the rows of each context; give counts to logs.bounds")
        nearly = Raised(_FLOORS, _WEIGHTS, low, np.zeros(low.size), errors)
        return Claims(high, (nearly, any_expert(low.size, _ANY)), checks=(Check(low, low * errors),))

    def in_words(self) -> str:
        """The assumption as a sentence that someone who knows the field can judge."""
        share = amount(self.errors, percent=True)
        where = "the whole log" if self.overall else "each context"
        said = f"the expert's choice was the best one in all but at most {share} of the cases of {where}"
        return said + gap_words(self.gap_low, self.gap_high)
