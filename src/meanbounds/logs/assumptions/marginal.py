"""What was hidden changed the odds of each choice by a bounded factor."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np

from meanbounds.logs.assumptions.base import Assumption, PerContext, World, amount
from meanbounds.logs.assumptions.claims import Claims, Tilted, any_expert

__all__ = ["MarginalSensitivity"]

_ANY = 0.1


@dataclass(frozen=True, repr=False)
class MarginalSensitivity(Assumption):
    """Assume that what was hidden changed the odds of each choice by at most a factor.

    The usual assumption of sensitivity analysis. It needs no expert who is good at anything, only one whose choices
    depended mostly on what was recorded.

    Parameters
    ----------
    odds
        Among cases that look alike in the log, the odds of playing an arm (chances for against chances against)
        differed from case to case by at most this factor either way from their average. 1: what was hidden had no
        influence; 2: a case could be twice as likely, in odds, to get an arm; infinity: `AnyExpert`.

    Notes
    -----
    With p_k the share of arm k: where another arm was played, its mean is at most the largest mean of its rewards with
    weights between 1 / odds and odds, of mean 1. For rewards of 0 and 1 with mean m that is
    ``min(odds m, 1 - (1 - m) / odds)``. The lower bound mirrors it. An arm that was never played has no bounds of this
    kind. Tan (2006); sharp by Dorn and Guo (2023).

    Examples
    --------
    >>> import meanbounds as mb
    >>> found = mb.logs.expert_bounds([0.75, 0.25], [0.6, 0.2], mb.logs.MarginalSensitivity(1.0))
    >>> found.lower.round(3), found.upper.round(3)  # the plain averages
    (array([0.8, 0.8]), array([0.8, 0.8]))
    >>> found = mb.logs.expert_bounds([0.75, 0.25], [0.6, 0.2], mb.logs.MarginalSensitivity(2.0))
    >>> found.lower.round(3), found.upper.round(3)
    (array([0.75, 0.65]), array([0.825, 0.875]))
    """

    odds: PerContext

    kind: ClassVar[str] = "marginal-sensitivity"
    weaker: ClassVar[dict[str, float]] = {"odds": inf}

    def __post_init__(self) -> None:
        self._read_numbers()

    def claims(self, world: World) -> Claims:
        """What is claimed of each context, as numbers; see `meanbounds.logs.assumptions.claims`."""
        meaning = "a factor of at least 1 by which hidden facts may change the odds of a choice, such as 1.5"
        odds = np.minimum(world.between("odds", self.odds, 1.0, inf, meaning), 1e12)
        contexts = len(world.contexts)
        return Claims(np.ones(contexts), (any_expert(contexts, _ANY),), _ANY, (Tilted(odds, 1.0 - _ANY),))

    def in_words(self) -> str:
        """The assumption as a sentence that someone who knows the field can judge."""
        return f"what was hidden changed the odds of each choice by a factor of at most {amount(self.odds)}"
