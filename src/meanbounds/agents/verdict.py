"""Are we done? Which option is best, how sure that is, and what going on can still be worth."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from meanbounds.bounds import EXPERT
from meanbounds.known import Known, Seen
from meanbounds.policies.thompson import largest
from meanbounds.posterior import posterior
from meanbounds.support.types import Booleans

__all__ = ["Verdict", "judged"]


class Verdict(NamedTuple):
    """What an agent would play if it had to stop learning now.

    Attributes
    ----------
    arm
        The arm with the largest expected mean of those on offer; `EXPERT` where that is to leave it to the experts.
    probability
        The probability that no other has a larger mean.
    worth
        How much more, for each decision and in reward units, somebody could expect who knew all means: going on with
        trying options is worth at most this.

    Examples
    --------
    >>> import meanbounds as mb
    >>> agent = mb.Agent(mb.OptimisticGittins(), mb.MeanBounds.vacuous(["A", "B"]), seed=7)
    >>> for arm, reward in [("A", 1.0), ("A", 1.0), ("A", 0.0), ("B", 0.0)] * 3:
    ...     agent.update(arm, reward, pulled=False)
    >>> print(agent.verdict())
    'A' is best with probability 0.97; going on is worth at most 0.0037 a decision
    >>> agent.verdict().done()
    True
    """

    arm: Any
    probability: float
    worth: float

    def done(self, probability: float = 0.95, worth: float = 0.005) -> bool:
        """Whether the arm is best with this probability, or going on is worth at most so much a decision."""
        return self.probability >= probability or self.worth <= worth

    def __str__(self) -> str:
        arm = "asking the experts" if self.arm is EXPERT else repr(self.arm)
        sure = f"{arm} is best with probability {self.probability:.2g}"
        return f"{sure}; going on is worth at most {self.worth:.2g} a decision"


def judged(known: Known, seen: Seen, arms: tuple[Any, ...], moments: int) -> Verdict:
    """The verdict on one row of statistics."""
    believed = posterior(known, seen, moments)
    offered: Booleans = np.broadcast_to(known.possible, seen.plays.shape)[0]
    places, mean = np.flatnonzero(offered), believed.mean[0]
    best = int(places[mean[places].argmax()])
    if len(places) == 1:
        return Verdict(arms[best], 1.0, 0.0)
    chances, most = largest(believed, places)
    return Verdict(arms[best], float(chances[places == best][0]), max(0.0, most - float(mean[best])))
