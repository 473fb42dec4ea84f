"""Information-directed sampling: the mix of two arms that loses least for what it teaches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from meanbounds.kernels.arms import textbook
from meanbounds.knowledge import Knowledge
from meanbounds.policies.base import Policy
from meanbounds.policies.direct import as_moments
from meanbounds.policies.informed import FORMER_PRIOR
from meanbounds.policies.plan import Plan, make_plan
from meanbounds.support.checks import as_float, shown

__all__ = ["IDS"]


@dataclass(frozen=True)
class IDS(Policy):
    """Information-directed sampling (Russo and Van Roy, 2018), by variances, with bounds on the means.

    Each arm's mean has the posterior of `ThompsonSampling`, truncated to the bounds. From these follow the loss that is
    expected of playing an arm, and how much knowing the best arm would say about the arm's mean, as a variance. IDS
    plays one of two arms, with the probabilities for which ``loss^power / variance`` of the mix is least: an arm that
    loses more is played only as far as it teaches more. docs/ids.md has the formulas.

    Parameters
    ----------
    f
        Not used.
    moments
        With 2, the second moment of the rewards counts as well, as in `ThompsonSampling`: the less rewards vary, the
        less is explored.
    power
        How much loss weighs against information, above 1 and at most 10. Published is 2; 1.5, the default, settles on
        a wrong arm less often. The lower, the more is explored: beside an arm that is known well, another is played in
        proportion to ``1 / (power - 1)``.

    Examples
    --------
    >>> import meanbounds as mb
    >>> agent = mb.Agent(mb.IDS(), mb.MeanBounds([0.9, 0.1], [1.0, 0.9]), seed=1)
    >>> agent.pull()  # arm 0 is best for sure
    0

    Arm 0 has a known mean, and only arm 1 can teach anything:

    >>> agent = mb.Agent(mb.IDS(power=2), mb.MeanBounds([0.6, 0.0], [0.6, 1.0]), seed=1)
    >>> agent.probabilities().round(4)
    array([0.2, 0.8])
    """

    kernel: ClassVar[int] = textbook.IDS
    takes_prior: ClassVar[bool] = True
    takes_mixture: ClassVar[bool] = True
    removed: ClassVar[Mapping[str, tuple[object, str]]] = {"prior": ((1.0, 1.0), FORMER_PRIOR)}
    counts_pending: ClassVar[bool] = True
    theorem: ClassVar[str] = "Russo and Van Roy 2018, with bounds"

    moments: int = 1
    power: float = 1.5

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "moments", as_moments(self.moments))
        power = as_float("IDS: power", self.power) if isinstance(self.power, int | float) else np.nan
        if not 1.0 < power <= 10.0:
            raise ValueError(f"the power of IDS is a number above 1 and at most 10; got {shown(self.power)}")
        object.__setattr__(self, "power", power)

    def prepare(self, known: Knowledge) -> Plan:
        """Keep the arms that can be best, with both of their bounds."""
        bounds = known.bounds
        return make_plan(bounds, bounds.possible, cap=bounds.upper, lower=bounds.lower)

    @property
    def parameters(self) -> NDArray[np.float64]:
        """The two parameters of a uniform prior, the number of moments, and the power."""
        return np.array([1.0, 1.0, self.moments, self.power], dtype=np.float64)
