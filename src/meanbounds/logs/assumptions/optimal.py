"""The expert always played the best arm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from meanbounds.logs.assumptions.base import Assumption, PerContext, World, amount
from meanbounds.logs.assumptions.claims import Check, Claims, Raised, any_expert

__all__ = ["OptimalExpert", "gap_words"]

_ANY = 0.05  # what the bound that holds for any expert may spend; it is lower now and then in a short log


@dataclass(frozen=True, repr=False)
class OptimalExpert(Assumption):
    """Assume that the expert played the arm with the best mean in every single case.

    Parameters
    ----------
    gap_low
        The least gap between the best and the second-best arm, in reward units, over every hidden type of case that
        the expert could tell apart: with stars, 0.5 means half a star. In most real tables it is 0, the default, since
        two arms are about equally good for some type. One number, or one for each context (a mapping, or a sequence in
        the order of the contexts).
    gap_high
        The largest gap between the best and the worst arm, in reward units, over every hidden type. None is the width
        of the range, which assumes nothing. It says something of the arms, not of the expert. One number, or one for
        each context.

    Notes
    -----
    Theorem 7 of the paper, in any range. With p_k the share of arm k, mu_k its contribution to the mean reward mu: the
    mean is between ``mu_k + sum over j != k of max(mu_j - gap_high p_j, 0)`` and ``mu - gap_low (1 - p_k)``.

    Examples
    --------
    >>> import meanbounds as mb
    >>> found = mb.logs.expert_bounds([0.75, 0.25], [0.6, 0.2], mb.logs.OptimalExpert(gap_low=0.2, gap_high=0.4))
    >>> found.lower.round(3), found.upper.round(3)
    (array([0.7, 0.5]), array([0.75, 0.65]))
    """

    gap_low: PerContext = 0.0
    gap_high: PerContext | None = None

    kind: ClassVar[str] = "optimal-expert"
    weaker: ClassVar[dict[str, float]] = {"gap_low": 0.0, "gap_high": 1.0}

    def __post_init__(self) -> None:
        self._read_numbers()

    def claims(self, world: World) -> Claims:
        """What is claimed of each context, as numbers; see `meanbounds.logs.assumptions.claims`."""
        low, high = world.gaps(self.gap_low, self.gap_high)
        nothing = np.zeros(low.size)
        always_best = Raised((0.0,), (1.0 - _ANY,), low, nothing, nothing)
        return Claims(high, (always_best, any_expert(low.size, _ANY)), checks=(Check(low, nothing),))

    def in_words(self) -> str:
        """The assumption as a sentence that someone who knows the field can judge."""
        return "the expert always played the best arm" + gap_words(self.gap_low, self.gap_high)


def gap_words(gap_low: PerContext, gap_high: PerContext | None) -> str:
    """What the gaps add to a sentence about the expert.

    Examples
    --------
    >>> from meanbounds.logs.assumptions.optimal import gap_words
    >>> gap_words(0.1, None)
    ', better than the second best by at least 0.1'
    """
    said = ""
    if amount(gap_low) != "0":
        said += f", better than the second best by at least {amount(gap_low)}"
    if gap_high is not None:
        said += f", better than the worst by at most {amount(gap_high)}"
    return said
