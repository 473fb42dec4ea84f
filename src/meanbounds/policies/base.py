"""The base of the policies for arms without features: data that turns bounds into a plan for a kernel."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from meanbounds.bounds import MeanBounds
from meanbounds.kernels.arms import textbook
from meanbounds.knowledge import Knowledge
from meanbounds.policies.described import Described
from meanbounds.policies.doubted import doubted_plan
from meanbounds.policies.exploration import DEFAULT, Exploration, log_f
from meanbounds.policies.informed import check_prior, prior_code, with_prior, without_prior
from meanbounds.policies.plan import Plan
from meanbounds.support.types import Floats

__all__ = ["Policy"]


@dataclass(frozen=True)
class Policy(Described):
    """Base of the policies for arms without features; `LinearPolicy` is the base for arms with features.

    A policy is a frozen dataclass with a kernel (the compiled loop that plays it) and a method `prepare` that fills in
    the plan; see "Add a policy" in CONTRIBUTING. The same policy object serves an `Agent` and `simulate`.

    Parameters
    ----------
    f
        How fast exploration grows with the round t: a name from `meanbounds.policies.EXPLORATION`, or a function from
        an array of rounds to an array of values, each at least 1 and never falling.

    Examples
    --------
    >>> import meanbounds as mb
    >>> mb.GLUE(), mb.GLUE(f="t")
    (GLUE(), GLUE(f='t'))
    >>> mb.GLUE().plan(mb.MeanBounds([0.9, 0.1, 0.2], [1.0, 1.0, 0.8])).arms  # the third cannot be best
    array([0, 1])

    A policy of your own: UCB that prunes, but does not clip.

    >>> class PrunedUCB(mb.Policy):
    ...     def prepare(self, known: mb.Knowledge) -> mb.Plan:
    ...         bounds = known.bounds
    ...         return mb.make_plan(bounds, bounds.possible, proxy=bounds.worst_variance_proxy)
    >>> mb.Agent(PrunedUCB(), mb.MeanBounds([0.7, 0.1], [0.9, 0.5]), seed=7).pull()
    0
    """

    kernel: ClassVar[int] = textbook.GAUSSIAN
    theorem: ClassVar[str] = ""
    takes_prior: ClassVar[bool] = False
    takes_mixture: ClassVar[bool] = False  # of priors
    counts_pending: ClassVar[bool] = False  # True where that never made it worse, as docs/pending.md measures

    f: Exploration = DEFAULT

    def __post_init__(self) -> None:
        self.log_f(1, 2)

    def plan(self, known: MeanBounds | Knowledge) -> Plan:
        """Decide, before the first round, which arms may be played and which numbers the kernel uses for each.

        Parameters
        ----------
        known
            The bounds on the arms on offer, as `MeanBounds` or `Knowledge`. If some are not fully trusted, the plan
            is made of two: with the bounds, and without those that may be wrong. A prior is refused unless the policy
            can use one.

        Examples
        --------
        >>> import meanbounds as mb
        >>> plan = mb.GLUE().plan(mb.MeanBounds([0.6, 0.1, 0.2], [0.9, 0.5, 0.8]))
        >>> plan.arms, plan.cap  # arm 1 cannot be best; indices are at most 0.9 and 0.8
        (array([0, 2]), array([0.9, 0.8]))
        """
        known = Knowledge.of(known)
        if known.prior is None:
            return self.prepare(known) if known.is_certain else doubted_plan(self.prepare, known)
        check_prior(self, known)
        plan = self._informed(known) if known.is_certain else doubted_plan(self._informed, known)
        return replace(plan, prior_code=prior_code(known))

    def _informed(self, known: Knowledge) -> Plan:
        """The plan with rows for the prior."""
        return with_prior(self.prepare(known), known)

    def code(self, plan: Plan) -> int:
        """The code by which kernels play this plan: that of the policy's kernel, marked for a prior and for doubt.

        Examples
        --------
        >>> import meanbounds as mb
        >>> bounds = mb.MeanBounds([0.6, 0.1], [0.9, 0.5])
        >>> plans = [mb.GLUE().plan(mb.Knowledge(bounds, trust=trust)) for trust in (1.0, 0.99)]
        >>> [mb.GLUE().code(plan) for plan in plans]
        [0, 64]
        """
        code = self.kernel + plan.prior_code
        return code + textbook.DOUBTED if plan.is_doubted else code

    @abstractmethod
    def prepare(self, known: Knowledge) -> Plan:
        """Fill in the plan. Each policy defines this method, usually with `meanbounds.make_plan`."""

    @property
    def parameters(self) -> Floats:
        """Numbers that the kernel needs beyond the plan, such as how many moments count; none by default."""
        return np.zeros(0)

    def parameters_for(self, known: MeanBounds | Knowledge) -> Floats:
        """The same for this knowledge: the prior of posteriors is uniform, unless the knowledge has one.

        Parameters
        ----------
        known
            The bounds on the arms, as `MeanBounds` or `Knowledge`.

        Examples
        --------
        >>> import meanbounds as mb
        >>> bounds = mb.MeanBounds([0.6, 0.1], [0.9, 0.5])
        >>> mb.IDS().parameters_for(bounds)
        array([1. , 1. , 1. , 1.5])
        >>> mb.IDS().parameters_for(mb.Knowledge(bounds, prior=mb.Prior(0.6, 10)))  # the plan has the prior
        array([0. , 0. , 1. , 1.5])
        """
        draws = self.kernel in (textbook.THOMPSON, textbook.GITTINS, textbook.IDS)
        informed = Knowledge.of(known).prior is not None
        return without_prior(self.parameters) if draws and informed else self.parameters

    @property
    def has_index(self) -> bool:
        """Whether the policy plays the arm with the largest index, so that `Agent.indices` can show it.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.GLUE().has_index, mb.ThompsonSampling().has_index
        (True, False)
        """
        return self.kernel in (textbook.GAUSSIAN, textbook.KL, textbook.BOOST, textbook.GITTINS)

    def log_f(self, first: int, last: int) -> Floats:
        """Log f(t) for the rounds t = first, ..., last.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.GLUE().log_f(1, 3).round(3)  # f(t) = 1 + t log(t)^2
        array([0.   , 0.673, 1.531])
        """
        return log_f(self.f, first, last)
