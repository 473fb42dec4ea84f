"""The expert lost little, on average, against someone who knows everything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from meanbounds.logs.assumptions.base import Assumption, PerContext, World, amount
from meanbounds.logs.assumptions.claims import Check, Claims, Raised, any_expert
from meanbounds.logs.assumptions.optimal import gap_words

__all__ = ["NearlyOptimalExpert"]

_ANY = 0.2  # it counts for an arm that was played in nearly all rows


@dataclass(frozen=True, repr=False)
class NearlyOptimalExpert(Assumption):
    """Assume that the expert's choices were worth nearly as much, on average, as the best ones.

    Many small misjudgements and a few large ones are alike here; what counts is their sum.

    Parameters
    ----------
    loss
        In each context, the mean reward would rise by at most this much, in reward units, if someone who knows
        everything chose instead. With stars, 0.1 is a tenth of a star.
    gap_low
        The best arm is better than the second best by at least this much, in reward units, in every hidden type of
        case. 0 assumes nothing.
    gap_high
        No arm is worse than the best one by more than this, in reward units, in any hidden type of case. None assumes
        nothing.

    Notes
    -----
    Upper bound, in units of the range, with p_k the share of arm k and mu_k its contribution to the mean reward mu: the
    least of ``mu_k + 1 - p_k``, ``mu + loss`` and ``mu + 2 loss - gap_low (1 - p_k)``.

    Examples
    --------
    >>> import meanbounds as mb
    >>> mb.logs.expert_bounds([0.75, 0.25], [0.6, 0.2], mb.logs.NearlyOptimalExpert(0.02)).upper.round(3)
    array([0.82, 0.82])
    >>> mb.logs.expert_bounds([0.75, 0.25], [0.6, 0.2], mb.logs.NearlyOptimalExpert(0.02, gap_low=0.2)).upper.round(3)
    array([0.79, 0.69])
    """

    loss: PerContext
    gap_low: PerContext = 0.0
    gap_high: PerContext | None = None

    kind: ClassVar[str] = "nearly-optimal-expert"
    weaker: ClassVar[dict[str, float]] = {"loss": 1.0, "gap_low": 0.0, "gap_high": 1.0}

    def __post_init__(self) -> None:
        self._read_numbers()

    def claims(self, world: World) -> Claims:
        """What is claimed of each context, as numbers; see `meanbounds.logs.assumptions.claims`."""
        low, high = world.gaps(self.gap_low, self.gap_high)
        span = world.high - world.low
        meaning = "the most that better choices could add to the mean, from 0 to the width of the range"
        loss = world.between("loss", self.loss, 0.0, span * (1.0 + world.slack), meaning) / span
        nothing = np.zeros(low.size)
        each = 1.0 - _ANY if not low.any() else 0.5 * (1.0 - _ANY)
        found = [Raised((0.0,), (each,), nothing, loss, nothing)]
        if low.any():
            found.append(Raised((0.0,), (each,), low, 2.0 * loss, nothing))
        return Claims(high, (*found, any_expert(low.size, _ANY)), checks=(Check(low, loss),))

    def in_words(self) -> str:
        """The assumption as a sentence that someone who knows the field can judge."""
        said = f"better choices than the expert's would add at most {amount(self.loss)} to the mean of each context"
        gaps = gap_words(self.gap_low, self.gap_high)
        return said + ("; the best arm is" + gaps[1:] if gaps else "")
