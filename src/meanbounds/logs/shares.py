"""How the probability that some bound fails is shared by all confidence limits: the one place that hands out shares.

With C contexts of K arms and confidence c, each arm of each context has the share ``a = (1 - c) / (C K)``, and spends
it on

1. checks of what is assumed, if there are any: ``a / 50``. They can refuse a log although the assumption holds, which
   is a failure like any other. Their share is small because a larger one would hardly refuse more;
2. its upper limits: half of the rest, times the weight of each; see `meanbounds.logs.assumptions.claims`;
3. its lower limits: the other half, in the same way. The weight of the sets S of other arms is shared by all sets, by a
   prior over sets.

Weights and prior depend on the assumption and on the number of arms alone, never on the log, so the best of all these
limits may be taken: by the union bound they hold at once, whichever is looked at. A limit with weight w costs
``log(1 / w)`` nats.

A share is given in nats, as minus its natural logarithm, since those of sets can be too small for a float.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import inf, lgamma, log

import numpy as np

from meanbounds.support.types import Floats

__all__ = ["Shares", "set_nats"]

_CHECK = 0.02  # of an arm's share goes to checks of what is assumed
_ALL_ALIKE = 10  # other arms below which every non-empty set has the same prior
_EMPTY, _ALL, _ALL_BUT_ONE, _ALL_BUT_TWO = 0.4, 0.05, 0.05, 0.4  # priors of these sets where there are more arms
_EACH_END = 0.05  # prior of the sets that take few arms, and of those that leave out a few more than two


@dataclass(frozen=True)
class Shares:
    """The shares of one arm's limits in one context, in nats.

    Attributes
    ----------
    check
        Of each check; infinite if there is none.
    side
        Of all upper limits together, and of all lower ones.

    Examples
    --------
    >>> from math import exp
    >>> from meanbounds.logs.shares import Shares
    >>> shares = Shares.of(0.95, contexts=1, arms=2, checks=1)
    >>> round(2 * (exp(-shares.check) + 2 * exp(-shares.side)), 12)  # of both arms
    0.05
    >>> round(exp(-shares.part(0.5)) / exp(-shares.side), 12)
    0.5
    """

    check: float
    side: float

    @classmethod
    def of(cls, confidence: float, *, contexts: int, arms: int, checks: int) -> Shares:
        """Share the failure probability of all bounds; the number of checks must not depend on the log."""
        own = log(contexts * arms) - log(1.0 - confidence)
        side = own + log(2.0) - (log(1.0 - _CHECK) if checks else 0.0)
        return cls(own - log(_CHECK / checks) if checks else inf, side)

    def part(self, weight: float) -> float:
        """The share of one limit that has this weight on its side."""
        return self.side - log(weight) if weight > 0.0 else inf


@lru_cache(maxsize=64)
def set_nats(others: int) -> Floats:
    """Minus the logarithm of the prior of each set of s other arms, for s from 0 to all of them.

    With fewer than ten other arms the empty set has one half, and all other sets have the same prior. With more, sets
    of the same size have the same prior, and these sizes together have: none 0.4, all 0.05, all but one 0.05, all but
    two 0.4, all but r + 2, and also r alone, ``0.05 / (r (r + 1))`` for r = 1, 2, 3, ... They sum to less than 1.

    Examples
    --------
    >>> import numpy as np
    >>> from meanbounds.logs.shares import set_nats
    >>> np.exp(-set_nats(2)).round(4)  # the empty set, each of the two sets of one arm, the set of both
    array([0.5   , 0.1667, 0.1667])
    """
    if not others:
        return np.zeros(1)
    if others < _ALL_ALIKE:
        alike = np.full(others + 1, log(2.0) + log(2.0**others - 1.0))
        alike[0] = log(2.0)
        return alike
    size = np.arange(others + 1)
    prior = np.zeros(others + 1)
    prior[[0, others, others - 1, others - 2]] = _EMPTY, _ALL, _ALL_BUT_ONE, _ALL_BUT_TWO
    few = size[1 : others - 2]
    prior[1 : others - 2] = _EACH_END * (1.0 / (few * (few + 1.0)) + 1.0 / ((others - 2 - few) * (others - 1.0 - few)))
    ways = np.array([lgamma(others + 1) - lgamma(s + 1) - lgamma(others - s + 1) for s in size.tolist()])
    found: Floats = ways - np.log(prior)
    return found
