"""What every part of the page is made from: an explanation, and how its log is put into words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from meanbounds.logs.explaining.basis import Basis
from meanbounds.logs.explaining.costs import Costs
from meanbounds.logs.explaining.ladder import Rung
from meanbounds.logs.explaining.turning import Turn
from meanbounds.logs.explaining.words import Words, name_of, safe
from meanbounds.logs.names import Context
from meanbounds.support.types import Floats

__all__ = ["MOST_LISTED", "SENTENCE", "View", "quantity"]

MOST_LISTED = 60
"""Options of a context in a table."""

SENTENCE = 5_000
"""Characters of a sentence; names are shortened before."""


@dataclass(frozen=True, eq=False)
class View:
    """The numbers of an explanation, as `meanbounds.logs.Explanation` has them."""

    basis: Basis
    rungs: tuple[Rung, ...]
    own: Rung
    shown: tuple[Context, ...]
    turns: tuple[Turn, ...]
    first: Floats | None
    costs: tuple[Costs, ...]
    sentences: tuple[str, ...]
    seed: int

    @cached_property
    def words(self) -> Words:
        """How options and rewards are written."""
        return Words.of(self.basis.arms, self.basis.span)

    @cached_property
    def places(self) -> dict[Context, int]:
        """The place of each context in the arrays."""
        return {context: place for place, context in enumerate(self.basis.contexts)}

    @property
    def several(self) -> bool:
        """Whether there are several contexts."""
        return len(self.basis.contexts) > 1

    def name(self, context: Context) -> str:
        """A context as HTML."""
        return safe(name_of(context))


def quantity(number: int, word: str) -> str:
    """A number with its noun, in the plural if needed.

    Examples
    --------
    >>> from meanbounds.logs.explaining.parts.view import quantity
    >>> quantity(1, "row"), quantity(2_000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{number:,} {word}" + "s" * (number != 1)
