"""What a policy is: data that turns what is known of the arms into a plan for a kernel."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from meanbounds.bounds import MeanBounds
from meanbounds.kernels.arms import textbook
from meanbounds.knowledge import Knowledge
from meanbounds.policies.described import Described
from meanbounds.policies.exploration import DEFAULT, Exploration, log_f
from meanbounds.policies.plan import Plan
from meanbounds.support.types import Floats

__all__ = ["Policy"]


@dataclass(frozen=True)
class Policy(Described):
    """Base of the policies for arms that have nothing in common; `LinearPolicy` is that for arms with features.

    A policy is a frozen dataclass with a kernel and a `prepare`; see "Add a policy" in CONTRIBUTING.

    Parameters
    ----------
    f
        How fast exploration grows: a name from `meanbounds.policies.EXPLORATION`, or a function of an array of rounds
        that is at least 1 and never falls.

    Examples
    --------
    >>> import meanbounds as mb
    >>> mb.GLUE(), mb.GLUE(f="t")
    (GLUE(), GLUE(f='t'))
    >>> mb.GLUE().plan(mb.MeanBounds([0.9, 0.1, 0.2], [1.0, 1.0, 0.8])).arms  # the third cannot be best
    array([0, 1])
    """

    kernel: ClassVar[int] = textbook.GAUSSIAN
    theorem: ClassVar[str] = ""
    counts_pending: ClassVar[bool] = True  # by default, in pulls of an agent that waits for rewards

    f: Exploration = DEFAULT

    def __post_init__(self) -> None:
        self.log_f(1, 2)

    def plan(self, known: MeanBounds | Knowledge) -> Plan:
        """Decide, before the first round, which arms may be played and what the kernel needs to know of each.

        Parameters
        ----------
        known
            What is known of the arms on offer: bounds, or `Knowledge`.
        """
        return self.prepare(Knowledge.of(known))

    @abstractmethod
    def prepare(self, known: Knowledge) -> Plan:
        """Fill in the plan: this is what a new policy defines, as a rule by `meanbounds.make_plan`."""

    @property
    def parameters(self) -> Floats:
        """Numbers that the kernel needs beyond the plan."""
        return np.zeros(0)

    @property
    def has_index(self) -> bool:
        """Whether the policy plays the arm with the largest index."""
        return self.kernel in (textbook.GAUSSIAN, textbook.KL, textbook.BOOST)

    def log_f(self, first: int, last: int) -> Floats:
        """Log f(t) for the rounds t = first, ..., last."""
        return log_f(self.f, first, last)
