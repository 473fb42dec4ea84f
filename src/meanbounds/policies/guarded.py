"""A guard around any policy: never further below the experts than was promised."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import log

import numpy as np
from scipy.special import betaln, xlogy

from meanbounds.bounds import EXPERT
from meanbounds.divergence import kl_upper
from meanbounds.evidence.processes import against
from meanbounds.knowledge import Knowledge
from meanbounds.known import Known, Seen
from meanbounds.policies.base import DEFAULT, Cache, Exploration, Policy, choose
from meanbounds.policies.promise import Promise
from meanbounds.support.checks import shown, within
from meanbounds.support.streams import Draws
from meanbounds.support.types import Booleans, Floats, Integers

__all__ = ["Guarded"]

_OF_OPTIONS = 0.75  # of the error: the share of the limit on what options earned; the rest is for the experts' value


@dataclass(frozen=True, repr=False)
class Guarded(Policy):
    """Play what a policy wants while a promise to the experts cannot break by it, and ask the experts otherwise.

    `EXPERT` is one of the arms. Let n count the plays of the other arms, the options, t all decisions, both with this
    one, and let B(t) be what the promise allows to lose. The policy's choice k is played if

        ``C + l_k >= n v - B(t)``

    where v is an upper limit on the experts' value, l_k the lower bound of k, and C a lower limit on the sum of the
    means of the options played before. With probability `confidence` all limits hold at all times at once; then the sum
    of the means of all decisions never falls below that of the experts by more than B(t), whatever the policy does.

    Parameters
    ----------
    policy
        What to guard. It sees the experts as an arm, with their bounds, and stops wanting options that are worse.
    promise
        What may be lost.
    confidence
        The probability that the promise is kept, given that the bounds hold: the lower bounds of options and the upper
        bound of `EXPERT` are taken as they are, except those with a trust below 1, which are not used.
    ask
        The share of the decisions in which the experts are asked at random, all along. Above 0, their value is
        estimated from what they earn when they are asked, at the same time as the options, and not from the bound: a
        log that is no longer true cannot break the promise.

    Notes
    -----
    Conservative bandits (Wu, Shariff, Lattimore and Szepesvari, 2016), with one limit on the sum in place of one for
    each option. Whatever depends on the past chooses the options, the mean of their rewards has an e-process
    (`meanbounds.evidence.log_e`): by Jensen's inequality the average mean takes the place of a common one. C is the
    larger of the sum of lower bounds and of the smallest sum that the e-process does not refute. A reward that has not
    come counts as the lowest one: which rewards are late may depend on them. The value of the experts is limited by
    their bound and by a mixture over Beta(1/2, 1/2), which holds at all times too. v only enters in the plays of
    options: for an ask, it stands on both sides.

    Examples
    --------
    Nobody has tried the options yet, so the guard asks the experts, and allows one play for about 1 / 0.05 questions:

    >>> import meanbounds as mb
    >>> known = mb.MeanBounds([0.0, 0.0, 0.6], [1.0, 1.0, 0.6], arms=["new", "old", mb.EXPERT])
    >>> guarded = mb.policies.Guarded(mb.OptimisticGittins(), mb.Promise(margin=0.05))
    >>> agent = mb.Agent(guarded, known, seed=7)
    >>> agent.pull()
    EXPERT
    >>> agent.observe("old", 1.0)  # what the experts chose, and how it went
    >>> [agent.pull() for _ in range(12)].count(mb.EXPERT)
    11
    """

    policy: Policy
    promise: Promise
    confidence: float = 0.95
    ask: float = 0.0
    f: Exploration = field(default=DEFAULT, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.policy, Policy) or isinstance(self.policy, Guarded):
            raise TypeError(f"guard a policy such as mb.OptimisticGittins(); got {shown(self.policy)}")
        if not isinstance(self.promise, Promise):
            raise TypeError(f"promise must be an object such as mb.Promise(margin=0.01); got {shown(self.promise)}")
        for name, value, most in (("confidence", self.confidence, 1.0), ("ask", self.ask, 1.0)):
            least = within(value, 0.0, most)
            if isinstance(value, bool) or least is None or least == 1.0 or (name == "confidence" and not least):
                raise ValueError(f"{name} must be a probability below 1, such as 0.95 or 0.05; got {shown(value)}")
        if self.f != DEFAULT:
            raise ValueError("give f to the policy that is guarded; the guard itself does not explore")
        super().__post_init__()
        for name in ("takes_prior", "counts_pending"):
            object.__setattr__(self, name, getattr(self.policy, name))

    def log_f(self, t: Floats) -> Floats:
        """That of the policy."""
        return self.policy.log_f(t)

    def check_known(self, knowledge: Knowledge) -> None:
        """Refuse knowledge without the experts, and what the policy refuses."""
        if EXPERT not in knowledge.bounds.arms or len(knowledge.bounds) < 2:
            raise ValueError(
                "a promise to the experts needs them among the arms, with bounds on what they earn: "
                'mb.MeanBounds([0.0, 0.6], [1.0, 0.7], arms=["new", mb.EXPERT])'
            )
        self.policy.check_known(knowledge)

    def scores(self, known: Known, seen: Seen, t: Floats, draws: Draws, cache: Cache | None = None) -> Floats:
        """0 for the arm that is played, and minus infinity for all others."""
        expert = self._expert(known)
        wanted = choose(self.policy, known, seen, t, draws, cache)
        plays = wanted != expert
        if plays.any():
            plays &= self.allows(known, seen, wanted)
        if self.ask:
            plays &= draws.coin() >= self.ask
        self._check_expert(known, plays)
        return np.where(np.arange(seen.plays.shape[1]) == np.where(plays, wanted, expert)[:, None], 0.0, -np.inf)

    def probabilities(self, known: Known, seen: Seen, t: Floats, cache: Cache | None = None) -> Floats:
        """Those of the policy, with the experts in the place of what is not allowed."""
        expert = self._expert(known)
        found = self.policy.checked_probabilities(known, seen, t, cache) * (1.0 - self.ask)
        allowed = np.zeros(found.shape, dtype=bool)
        for k in np.flatnonzero(found.any(axis=0)).tolist():
            allowed[:, k] = k != expert and self.allows(known, seen, np.full(len(found), k))
        found = np.where(allowed, found, 0.0)
        found[:, expert] = 1.0 - found.sum(axis=1)
        self._check_expert(known, found[:, expert] < 1e-12)
        return found

    def allows(self, known: Known, seen: Seen, arms: Integers) -> Booleans:
        """Whether the promise allows to play these options now, one in each row."""
        expert, sure, seen = self._expert(known), known.without_doubted, seen.actual
        options = np.arange(seen.plays.shape[1]) != expert
        pending = np.zeros(seen.plays.shape) if seen.pending is None else seen.pending
        pulls = seen.plays + pending
        plays, late = pulls[:, options].sum(axis=1), pending[:, options].sum(axis=1)
        low, high = known.low[:, options].min(axis=1), known.high[:, options].max(axis=1)
        value = self._value(sure, seen, expert)
        row = np.arange(len(plays))
        lower = np.broadcast_to(sure.lower, pulls.shape)
        need = (plays + 1.0) * (value - low) - (lower[row, arms] - low)
        budget = np.min(self.promise.budgets(value, pulls.sum(axis=1) + 1.0, low, high), axis=0)
        need = need - budget  # what the options played before must have earned, from the bottom of the range
        certain = (pulls * (lower - low[:, None]))[:, options].sum(axis=1)
        earned = (seen.plays * (known.low - low[:, None]) + known.width * seen.total)[:, options].sum(axis=1)
        found: Booleans = need <= certain
        wins, size = earned / (high - low), plays - late
        bound = need / np.maximum(plays, 1.0) / (high - low)
        open_ = ~found & (bound > 0.0) & (wins > bound * plays)
        if open_.any():
            e = against(*(part[open_] for part in (wins, size - wins, bound, 1.0 - bound)), None, late[open_])
            found[open_] = e >= -log(_OF_OPTIONS * (1.0 - self.confidence))
        return found

    def _value(self, sure: Known, seen: Seen, expert: int) -> Floats:
        """An upper limit on the experts' value in each row."""
        plays, wins = seen.plays[:, expert], seen.total[:, expert]
        low, width, bound = (np.broadcast_to(own[:, expert], plays.shape) for own in (sure.low, sure.width, sure.upper))
        lacks = np.maximum(plays - wins, 0.0)
        mean = np.minimum(1.0, wins / np.maximum(plays, 1.0))
        mixture = betaln(wins + 0.5, lacks + 0.5) - betaln(0.5, 0.5)
        level = xlogy(wins, mean) + xlogy(lacks, 1.0 - mean) - mixture
        level -= log((1.0 - _OF_OPTIONS) * (1.0 - self.confidence))
        seen_value = low + width * np.where(plays > 0.0, kl_upper(mean, level / np.maximum(plays, 1.0)), 1.0)
        return seen_value if self.ask else np.minimum(bound, seen_value)

    @staticmethod
    def _expert(known: Known) -> int:
        if known.expert is None:
            raise ValueError("a promise to the experts needs mb.EXPERT among the arms")
        return known.expert

    @staticmethod
    def _check_expert(known: Known, plays: Booleans) -> None:
        """Refuse to ask experts who are not eligible."""
        if known.eligible is not None and not (plays | known.eligible[:, known.expert]).all():
            raise ValueError("the promise allows no option now, and the experts are not eligible: make them eligible")
