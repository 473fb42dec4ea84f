"""Nothing is assumed of who wrote the log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from meanbounds.logs.assumptions.base import Assumption, PerContext, World, amount
from meanbounds.logs.assumptions.claims import Claims, any_expert

__all__ = ["AnyExpert"]


@dataclass(frozen=True, repr=False)
class AnyExpert(Assumption):
    """Assume nothing of who wrote the log: an expert, a beginner, a rule, or chance.

    Where another arm was played, an arm may have been worth anything in the range. With `gap_high` the lower bounds are
    narrower: that is a judgement about the arms, not about the expert.

    Parameters
    ----------
    gap_high
        No arm is worse than the best one by more than this, in reward units, in any hidden type of case. None assumes
        nothing. One number, or one for each context.

    Notes
    -----
    With p_k the share of arm k and mu_k its contribution to the mean reward, in units of the range: the mean is between
    ``mu_k + sum over j != k of max(mu_j - gap_high p_j, 0)`` and ``mu_k + 1 - p_k``.

    Examples
    --------
    >>> import meanbounds as mb
    >>> found = mb.logs.expert_bounds([0.75, 0.25], [0.6, 0.2], mb.logs.AnyExpert())
    >>> found.lower.round(3), found.upper.round(3)
    (array([0.6, 0.2]), array([0.85, 0.95]))
    >>> mb.logs.expert_bounds([0.75, 0.25], [0.6, 0.2], mb.logs.AnyExpert(gap_high=0.4)).lower.round(3)
    array([0.7, 0.5])
    """

    gap_high: PerContext | None = None

    kind: ClassVar[str] = "any-expert"
    weaker: ClassVar[dict[str, float]] = {"gap_high": 1.0}

    def __post_init__(self) -> None:
        self._read_numbers()

    def __repr__(self) -> str:
        return "AnyExpert()" if self.gap_high is None else f"AnyExpert(gap_high={self.gap_high!r})"

    def claims(self, world: World) -> Claims:
        """What is claimed of each context, as numbers; see `meanbounds.logs.assumptions.claims`."""
        _, high = world.gaps(0.0, self.gap_high)
        return Claims(high, (any_expert(len(world.contexts)),))

    def in_words(self) -> str:
        """The assumption as a sentence that someone who knows the field can judge."""
        if self.gap_high is None:
            return "nothing of the expert"
        return f"no choice is worse than the best one by more than {amount(self.gap_high)}, in any hidden type of case"
