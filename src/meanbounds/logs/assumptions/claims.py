"""What an assumption says of a log, as numbers: means of a few variables that bound the mean of each arm.

Rewards Y are in units of their range, A is the arm that was played, and everything is inside one context. Every
assumption comes down to variables of these kinds, so that one loop computes the bounds of all of them, and believing
two assumptions is to have the variables of both:

- `Raised`: the mean of arm k is at most that of ``Y 1{A = k} + (max(Y, floor) - minus) 1{A != k}``, plus
  ``plus + errors (1 + minus - floor)``, for each floor from 0 to 1. *Any expert*: floor 1 and nothing else. *Optimal*:
  floor 0 and minus ``gap_low``. *Erring*: on a share of at most ``errors`` of the rows another arm has a mean of at
  most 1, rather than Y - gap_low; by duality moving that mass to where it gains most adds, for any threshold
  ``q = 1 + gap_low - floor``, at most ``errors q + E[(1 - Y + gap_low - q)+ 1{A != k}]``. *Nearly optimal*: the best
  arm's mean is at most that of Y plus ``loss``; and where the expert was not right the loss is at least ``gap_low``, so
  that twice the loss pays for both: floor 0 with plus ``loss``, and floor 0 with minus ``gap_low`` and plus ``2 loss``.
- ``gap_high``: the mean of arm k is at least that of ``Y 1{A = k} + (Y - gap_high) 1{A in S}``, for each set S of other
  arms. This is a property of the world: it holds whoever wrote the log.
- `Tilted` (marginal sensitivity): what arm k would earn in the other rows is at most the mean of Y, given A = k, with
  weights between 1/L and L of mean 1; by duality at most the mean of ``q + L (Y - q)+ - (q - Y)+ / L`` for each
  threshold q.
- `Weighted` (known propensities e): the mean of arm k is that of ``Y 1{A = k} / e``.
- `Check`: the mean of ``(Y - gap_low) 1{A = k}`` is at least ``-slack``. It bounds nothing, but a log may refute it.

Of an infinite log each mean is known, and the best floor, set or threshold is taken. Of a finite log each mean has a
confidence limit. Floors and thresholds are a few that are fixed in advance, and each pays for itself with a part of the
failure probability: its weight. The weights of one side sum to 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from meanbounds.support.types import Floats

__all__ = ["Check", "Claims", "Raised", "Tilted", "Weighted", "any_expert", "together"]


@dataclass(frozen=True, eq=False)
class Raised:
    """Upper bounds by raised rewards; `minus`, `plus` and `errors` have one number for each context.

    `floors` are those that a finite log tries, and `weights` what each may spend of the upper side.
    """

    floors: tuple[float, ...]
    weights: tuple[float, ...]
    minus: Floats
    plus: Floats
    errors: Floats


@dataclass(frozen=True, eq=False)
class Tilted:
    """Both bounds by rewards with tilted weights: the factor L of each context, and the weight on either side."""

    odds: Floats
    weight: float


@dataclass(frozen=True)
class Weighted:
    """Both bounds by inverse propensities: their column, the least that they can be, and the weight on either side."""

    column: str
    least: float
    adaptive: bool
    weight: float


@dataclass(frozen=True, eq=False)
class Check:
    """A gap that the log may refute, and how far below 0 the mean of ``(Y - gap) 1{A = k}`` may be."""

    gap: Floats
    slack: Floats


@dataclass(frozen=True, eq=False)
class Claims:
    """All that is claimed of each context.

    Attributes
    ----------
    raised, tilted, weighted, checks
        See the head of this module.
    gap_high
        Of each context; the whole range, 1, where nothing is claimed.
    sets
        What the sets of other arms may spend of the lower side, all together.
    """

    gap_high: Floats
    raised: tuple[Raised, ...]
    sets: float = 1.0
    tilted: tuple[Tilted, ...] = ()
    weighted: tuple[Weighted, ...] = ()
    checks: tuple[Check, ...] = ()

    def at(self, place: int) -> Claims:
        """What is claimed of one context."""
        one = slice(place, place + 1)
        return replace(
            self,
            gap_high=self.gap_high[one],
            raised=tuple(
                replace(part, minus=part.minus[one], plus=part.plus[one], errors=part.errors[one])
                for part in self.raised
            ),
            tilted=tuple(replace(part, odds=part.odds[one]) for part in self.tilted),
            checks=tuple(Check(part.gap[one], part.slack[one]) for part in self.checks),
        )

    def less(self, share: float) -> Claims:
        """The same with this share of what each variable may spend.

        Examples
        --------
        >>> import numpy as np
        >>> from meanbounds.logs.assumptions.claims import Claims, any_expert
        >>> half = Claims(np.ones(1), (any_expert(1),)).less(0.5)
        >>> half.sets, half.raised[0].weights
        (0.5, (0.5,))
        """
        return replace(
            self,
            raised=tuple(replace(part, weights=tuple(share * w for w in part.weights)) for part in self.raised),
            sets=share * self.sets,
            tilted=tuple(replace(part, weight=share * part.weight) for part in self.tilted),
            weighted=tuple(replace(part, weight=share * part.weight) for part in self.weighted),
        )


def any_expert(contexts: int, weight: float = 1.0) -> Raised:
    """Whoever wrote the log, an arm's mean is at most 1 where others were played."""
    nothing = np.zeros(contexts)
    return Raised((1.0,), (weight,), nothing, nothing, nothing)


def together(parts: Sequence[Claims]) -> Claims:
    """All claims at once; each part may spend the same.

    Examples
    --------
    >>> import numpy as np
    >>> from meanbounds.logs.assumptions.claims import Claims, any_expert, together
    >>> nobody, careful = (Claims(np.array([gap]), (any_expert(1),)) for gap in (1.0, 0.4))
    >>> both = together([nobody, careful])
    >>> both.gap_high, both.sets
    (array([0.4]), 1.0)
    """
    shares = [part.less(1.0 / len(parts)) for part in parts]
    return Claims(
        np.min([part.gap_high for part in shares], axis=0),
        tuple(one for part in shares for one in part.raised),
        sum(part.sets for part in shares),
        tuple(one for part in shares for one in part.tilted),
        tuple(one for part in shares for one in part.weighted),
        tuple(one for part in shares for one in part.checks),
    )
