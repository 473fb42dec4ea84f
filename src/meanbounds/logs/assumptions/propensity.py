"""The log says how likely each choice was."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from meanbounds.bounds import BoundsError
from meanbounds.logs.assumptions.base import Assumption, World
from meanbounds.logs.assumptions.claims import Claims, Weighted, any_expert
from meanbounds.support.checks import as_flag, as_float, shown

__all__ = ["KnownPropensity"]

_ANY = 0.1


@dataclass(frozen=True, repr=False)
class KnownPropensity(Assumption):
    """Assume that a column of the log says with which probability the arm in each row was chosen.

    For logs of another agent, of an A/B test, or of the randomised part of a trial. Read the log with this column among
    those of ``context``; the bounds are for the contexts of the other columns.

    Parameters
    ----------
    column
        The column with the probability of the arm that was played, given all that the choice depended on.
    least
        The smallest probability that any arm has in any row, known from how choices were made. A log with a smaller
        one is refused. The larger, the narrower are the bounds.
    adaptive
        Whether probabilities depend on earlier rewards, as those of an agent that learns do. Then the rows are not
        independent: use ``method="betting"``, ``"kl"`` or ``"hoeffding"``, which hold all the same.

    Notes
    -----
    The mean of arm k is that of ``Y 1{A = k} / propensity``, and of ``c + (Y - c) 1{A = k} / propensity`` for any c;
    a finite log takes the best of c = 0, 1/2 and 1. ``method="betting"`` uses the probability of each row rather than
    `least` alone, so its bounds are much narrower where an arm was mostly more likely than that. For an agent that
    learns, the wealth of the gambler is a martingale. That the agent's users came as they are, whatever it did before,
    is assumed: the number of rows of a context must not depend on its rewards.

    Examples
    --------
    >>> import pandas as pd
    >>> import meanbounds as mb
    >>> log = pd.DataFrame({"arm": ["a", "b", "a", "b"], "chance": [0.5, 0.5, 0.8, 0.2], "reward": [1, 0, 0, 1]})
    >>> counts = mb.logs.read(log, context="chance", arm="arm", reward="reward")
    >>> found = mb.logs.bounds(counts, mb.logs.KnownPropensity("chance", least=0.2), arms=["a", "b"])
    >>> list(found)
    ['all']
    """

    column: str
    least: float
    adaptive: bool = False

    kind: ClassVar[str] = "known-propensity"
    weaker: ClassVar[dict[str, float]] = {}

    def __post_init__(self) -> None:
        if not (isinstance(self.column, str) and self.column):
            raise BoundsError(f"column must be the name of the log's column of propensities; got {shown(self.column)}")
        least = as_float("least", self.least)
        if not 0.0 < least <= 1.0:
            raise BoundsError(f"least is the smallest probability of any arm, above 0 and at most 1; got {least:g}")
        object.__setattr__(self, "least", least)
        object.__setattr__(self, "adaptive", as_flag("adaptive", self.adaptive))

    def claims(self, world: World) -> Claims:
        """What is claimed of each context, as numbers; see `meanbounds.logs.assumptions.claims`."""
        contexts = len(world.contexts)
        weighted = Weighted(self.column, self.least, self.adaptive, 1.0 - _ANY)
        return Claims(np.ones(contexts), (any_expert(contexts, _ANY),), _ANY, weighted=(weighted,))

    def in_words(self) -> str:
        """The assumption as a sentence that someone who knows the field can judge."""
        return f"column {self.column!r} says how likely each choice was, and no arm was less likely than {self.least:g}"
