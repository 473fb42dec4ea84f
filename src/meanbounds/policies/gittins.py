"""The optimistic Gittins index, with bounds on the means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from meanbounds.kernels.arms import textbook
from meanbounds.knowledge import Knowledge
from meanbounds.policies.base import Policy
from meanbounds.policies.direct import as_moments
from meanbounds.policies.exploration import Exploration
from meanbounds.policies.informed import FORMER_PRIOR
from meanbounds.policies.plan import Plan, make_plan
from meanbounds.support.types import Floats

__all__ = ["OptimisticGittins"]


@dataclass(frozen=True)
class OptimisticGittins(Policy):
    """Play the arm with the largest optimistic Gittins index (Gutin and Farias, 2016), with bounds on the means.

    The index looks one step ahead. Suppose that you could play an arm once more, would then be told its mean, and could
    from then on choose between the arm and a sure reward v. The index is the v at which you would as soon take v right
    away, if the game is expected to last about f(t) more rounds:

        ``f(t) * E[max(mean - v, 0)] = v - E[mean]``

    The mean has the posterior of `ThompsonSampling`: a Beta distribution, truncated to the arm's bounds. So the index
    lies between the posterior mean and the upper bound, and an arm with much left to learn has a larger one. Of arms
    with the same index, the one with the largest posterior mean is played.

    Parameters
    ----------
    f
        How many more rounds to reckon with in round t, see `Policy`; ``"t"`` by default, as published.
    moments
        With 2, rewards are not rounded to 0 or 1 at random, and the less they vary, the less is explored; see
        `ThompsonSampling`.

    Notes
    -----
    docs/gittins.md derives the index and what is known of its regret with bounds.

    Examples
    --------
    >>> import meanbounds as mb
    >>> agent = mb.Agent(mb.OptimisticGittins(), mb.MeanBounds([0.5, 0.2], [0.6, 0.85]), seed=1)
    >>> agent.indices().round(4)  # the expected means are 0.55 and 0.525, but there is more to learn of arm 1
    array([0.5586, 0.5808])
    >>> agent.pull()
    1
    """

    kernel: ClassVar[int] = textbook.GITTINS
    takes_prior: ClassVar[bool] = True
    takes_mixture: ClassVar[bool] = True
    removed: ClassVar[Mapping[str, tuple[object, str]]] = {"prior": ((1.0, 1.0), FORMER_PRIOR)}
    theorem: ClassVar[str] = "Gutin and Farias 2016, with bounds"

    f: Exploration = "t"
    moments: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "moments", as_moments(self.moments))

    def prepare(self, known: Knowledge) -> Plan:
        """Keep the arms that can be best, with both of their bounds."""
        bounds = known.bounds
        return make_plan(bounds, bounds.possible, cap=bounds.upper, lower=bounds.lower)

    @property
    def parameters(self) -> Floats:
        """The two parameters of a uniform prior, and the number of moments."""
        return np.array([1.0, 1.0, self.moments], dtype=np.float64)
