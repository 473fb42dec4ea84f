"""A guard around any policy: never further below the experts than was promised."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import reduce
from math import log, pi

import numpy as np
from scipy.special import betaln, xlogy

from meanbounds.bounds import EXPERT
from meanbounds.divergence import kl_upper
from meanbounds.evidence.processes import confidence_sequence, refuted
from meanbounds.knowledge import Knowledge
from meanbounds.known import Known, Seen, once
from meanbounds.policies.base import DEFAULT, Cache, Exploration, Policy, choose
from meanbounds.policies.promise import Promise
from meanbounds.support.checks import as_flag, shown, within
from meanbounds.support.streams import Draws
from meanbounds.support.types import Booleans, Floats, Integers

__all__ = ["Guarded", "check_moving"]

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
    base
        The policy to guard. It sees the experts as an arm, with their bounds, and stops wanting options that are worse.
    promise
        What may be lost.
    confidence
        The probability that the promise is kept, given that the bounds hold: the lower bounds of options and the upper
        bound of `EXPERT` are taken as they are, except those with a trust below 1, which are not used.
    ask
        The share of the decisions in which the experts are asked at random, all along. Above 0, their value is
        estimated from what they earn when they are asked, at the same time as the options, and not from the bound: a
        log that is no longer true cannot break the promise.
    pooled
        Whether the contexts of an agent share one budget: losses in one may then be paid for by gains in another. The
        upper bounds on the experts' values must hold in all contexts at once, and for `Promise`'s `at_least` the lower
        ones, too. Where means may move (`Agent`'s `drift`) they are taken as they are.

    Notes
    -----
    Conservative bandits (Wu, Shariff, Lattimore and Szepesvari, 2016), with one limit on the sum in place of one for
    each option. Whatever depends on the past chooses the options, the mean of their rewards has an e-process
    (`meanbounds.evidence.log_e`): by Jensen's inequality the average mean takes the place of a common one. C is the
    larger of the sum of lower bounds and of the smallest sum that the e-process does not refute. The value of the
    experts is limited by their bound and by a mixture over Beta(1/2, 1/2), which holds at all times too. v only enters
    in the plays of options: for an ask, it stands on both sides.

    Which rewards are late, or never come, may depend on what they are: one that has not come counts as the lowest for
    an option, and as the highest for the experts. Rewards that answer no pull of the agent do not count. What is
    `eligible` may depend on the recorded context and on the past, and on nothing else of the case: otherwise the cases
    that the experts get are not like the others.

    Examples
    --------
    Nobody has tried the options yet, so the guard asks the experts. At first 0.6 / 0.05 decisions pay for one play:

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

    base: Policy
    promise: Promise
    confidence: float = 0.95
    ask: float = 0.0
    pooled: bool = False
    f: Exploration = field(default=DEFAULT, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.base, Policy) or isinstance(self.base, Guarded):
            raise TypeError(f"guard a policy such as mb.OptimisticGittins(); got {shown(self.base)}")
        if not isinstance(self.promise, Promise):
            raise TypeError(f"promise must be an object such as mb.Promise(margin=0.01); got {shown(self.promise)}")
        for name, value, most in (("confidence", self.confidence, 1.0), ("ask", self.ask, 1.0)):
            least = within(value, 0.0, most)
            if isinstance(value, bool) or least is None or least == 1.0 or (name == "confidence" and not least):
                raise ValueError(f"{name} must be a probability below 1, such as 0.95 or 0.05; got {shown(value)}")
        if as_flag("pooled", self.pooled) and self.ask:
            raise ValueError(
                "pooled=True goes by the bounds on the experts' values, ask= by what they earn: choose one"
            )
        if self.f != DEFAULT:
            raise ValueError("give f to the policy that is guarded; the guard itself does not explore")
        for name in ("takes_prior", "learns_prior", "may_fall", "counts_pending"):
            object.__setattr__(self, name, getattr(self.base, name))
        super().__post_init__()

    def log_f(self, t: Floats) -> Floats:
        """That of the policy."""
        return self.base.log_f(t)

    def check_known(self, knowledge: Knowledge) -> None:
        """Refuse knowledge without the experts, and what the policy refuses."""
        if EXPERT not in knowledge.bounds.arms or len(knowledge.bounds) < 2:
            raise ValueError(
                "a promise to the experts needs them among the arms, with bounds on what they earn: "
                'mb.MeanBounds([0.0, 0.6], [1.0, 0.7], arms=["new", mb.EXPERT])'
            )
        self.base.check_known(knowledge)

    def scores(self, known: Known, seen: Seen, t: Floats, draws: Draws, cache: Cache | None = None) -> Floats:
        """0 for the arm that is played, and minus infinity for all others."""
        wanted = choose(self.base, known, seen, t, draws, _own(cache))
        allowed = wanted == self._expert(known)
        if not allowed.all():
            allowed = allowed | self.allows(known, seen, wanted, cache)
        played = self._played(known, wanted, allowed, draws)
        return np.where(np.arange(seen.plays.shape[1]) == played[:, None], 0.0, -np.inf)

    def probabilities(self, known: Known, seen: Seen, t: Floats, cache: Cache | None = None) -> Floats:
        """Those of the policy, with the experts in the place of what is not allowed."""
        found = self.base.checked_probabilities(known, seen, t, _own(cache))
        return self._shared(known, found, self._allowed(known, seen, np.flatnonzero(found.any(axis=0)), cache))

    def decided(
        self, known: Known, seen: Seen, t: Floats, draws: Draws, cache: Cache | None = None
    ) -> tuple[Integers, Floats]:
        """The arm that is played in each row, and the `probabilities`, with one look at what the policy wants."""
        wanted, found = self.base.decided(known, seen, t, draws, _own(cache))
        arms = np.union1d(wanted, np.flatnonzero(found.any(axis=0)))
        allowed = self._allowed(known, seen, arms, cache)
        one = allowed[np.arange(len(wanted)), wanted]
        if cache is not None:
            cache["asked"] = draws.number, wanted, one  # for `why`
        return self._played(known, wanted, one, draws), self._shared(known, found, allowed)

    def _played(self, known: Known, wanted: Integers, allowed: Booleans, draws: Draws) -> Integers:
        """The arms that are played: those that the policy wants, or the experts."""
        expert = self._expert(known)
        plays = allowed & (wanted != expert)
        if self.ask:
            plays = plays & (draws.coin() >= self.ask)
        self._check_expert(known, plays)
        return np.where(plays, wanted, expert)

    def _shared(self, known: Known, found: Floats, allowed: Booleans) -> Floats:
        """The probabilities of arms, from those with which the policy wants them."""
        found, expert = np.where(allowed, found * (1.0 - self.ask), 0.0), self._expert(known)
        found[:, expert] = 0.0
        found[:, expert] = np.maximum(0.0, 1.0 - found.sum(axis=1))
        self._check_expert(known, found[:, expert] < 1e-12)
        return found

    def playable(self, known: Known, seen: Seen) -> Booleans:
        """The experts, and the options that the promise allows now."""
        possible = np.broadcast_to(known.without_doubted.possible, seen.plays.shape).copy()
        possible[:, self._expert(known)] = True
        if known.eligible is not None:
            possible &= known.eligible
        return possible & self._allowed(known, seen, np.flatnonzero(possible.any(axis=0)))

    def _allowed(self, known: Known, seen: Seen, arms: Integers, cache: Cache | None = None) -> Booleans:
        """Which of these arms the promise allows now; the experts always."""
        allowed, expert = np.zeros(seen.plays.shape, dtype=bool), self._expert(known)
        options = [k for k in arms.tolist() if k != expert]
        account = self.account(known, seen, cache, more=1.0) if options else None
        for k in options:
            allowed[:, k] = self.allows(known, seen, np.full(len(allowed), k), cache, account)
        allowed[:, expert] = True
        return allowed

    @np.errstate(divide="ignore", invalid="ignore")
    def allows(
        self, known: Known, seen: Seen, arms: Integers, cache: Cache | None = None, account: Floats | None = None
    ) -> Booleans:
        """Whether the promise allows to play these options now, one in each row."""
        low, high, sure = self._limits(known)
        table = self.account(known, seen, cache, more=1.0) if account is None else account
        if seen.others is not None:
            table = table + seen.others.reshape(len(table), -1)
        wins, size, plays, certain, *needs = table
        if self.promise.total is not None:
            needs[-1] = needs[-1] - self.promise.total
        row = np.arange(len(arms)) if len(sure) > 1 else 0
        need = reduce(np.maximum, needs) - sure[row, arms]
        found: Booleans = need <= certain
        wins, bound = wins / (high - low), need / ((high - low) * np.maximum(plays, 1.0))
        open_ = ~found & (wins > bound * plays) & (bound > 0.0)
        if open_.any():
            own, lacks, limit, late = (part[open_] for part in (wins, size - wins, bound, plays - size))
            found[open_] = refuted(own, lacks, limit, late, -log(_OF_OPTIONS * (1.0 - self.confidence)))
        return found

    def account(self, known: Known, seen: Seen, cache: Cache | None = None, more: float = 0.0) -> Floats:
        """What the promise depends on in each row; sums over contexts say the same of a budget that they share.

        Rows of the result: what options have earned, from the bottom of the range; their rewards and their plays; what
        they are certain to have earned; and what each limit needs with so many `more` plays.
        """
        expert, seen = self._expert(known), seen.actual
        low, _, sure = self._limits(known)
        plays, total = seen.plays, seen.total
        late = np.zeros(plays.shape) if seen.pending is None else seen.pending
        if seen.aside is not None:  # pulls that were given up stay, and rewards of others do not count
            plays, total = plays - seen.aside[:, 1], total - seen.aside[:, 2]
            late = late + seen.aside[:, 0]
        pulls = plays + late
        rounds, own = pulls.sum(axis=1), plays.sum(axis=1) - plays[:, expert]
        played = rounds - pulls[:, expert]
        base, width = self._scales(known)
        bounds = known.without_doubted
        upper = self._value(bounds, seen.plays[:, expert], seen.total[:, expert], late[:, expert], expert, cache)
        lower = np.maximum(bounds.low, bounds.lower)[:, expert]
        ends = low, known.low[:, expert], known.high[:, expert]
        needs = self.promise.needs(played + more, rounds + more, upper, lower, *ends)
        earned = (base * plays + width * total).sum(axis=1)
        return np.array([earned, own, played, (pulls * sure).sum(axis=1), *needs])

    def spent(self, known: Known, seen: Seen) -> tuple[float, float]:
        """What the promise allows to lose in all decisions of these rows, and the most that they can have lost."""
        low, high, _ = (part[0] for part in self._limits(known))
        earned, size, plays, certain, *needs = self.account(known, seen).sum(axis=1)
        cost = replace(self, promise=Promise(total=1.0)).account(known, seen)[-1].sum()
        error = min(0.99, 2.0 * _OF_OPTIONS * (1.0 - self.confidence))
        wins = min(max(earned / (high - low), 0.0), size)
        mean = float(confidence_sequence(size, wins, missing=plays - size, error=error)[0])
        sure = max(certain, plays * (high - low) * mean)
        needs[-1] -= self.promise.total or 0.0
        return float(cost - max(needs)), float(cost - sure)

    def why(self, known: Known, seen: Seen, t: Floats, draws: Draws, cache: Cache | None = None) -> str:
        """Why one row asks the experts: ``"ask"`` at random, ``"guard"``, or ``"better"`` if the policy wants to."""
        asked = None if cache is None else cache.get("asked")
        if asked is not None and asked[0] == draws.number:
            _, wanted, allowed = asked
        else:
            wanted = choose(self.base, known, seen, t, draws, _own(cache))
            allowed = self.allows(known, seen, wanted, cache)
        if wanted[0] == self._expert(known):
            return "better"
        return "ask" if allowed[0] else "guard"

    @once
    def _options(self, known: Known) -> Floats:
        """1 for options, 0 for the experts."""
        return (np.arange(known.lower.shape[1]) != self._expert(known)).astype(np.float64)

    @once
    def _scales(self, known: Known) -> tuple[Floats, Floats]:
        """What a play of each option earns at least, above the bottom of the range, and the width of its range."""
        options, (low, _, _) = self._options(known), self._limits(known)
        return (known.low - low[:, None]) * options, known.width * options

    @once
    def _limits(self, known: Known) -> tuple[Floats, Floats, Floats]:
        """The range of the options' rewards, and by how much each mean is certain to exceed its low end."""
        options = self._options(known) > 0.0
        low, high = known.low[:, options].min(axis=1), known.high[:, options].max(axis=1)
        return low, high, np.where(options, known.without_doubted.lower - low[:, None], 0.0)

    def _value(
        self, sure: Known, plays: Floats, wins: Floats, late: Floats, expert: int, cache: Cache | None
    ) -> Floats:
        """An upper limit on the experts' value in each row; the cache holds the last one."""
        low, width, bound = sure.low[:, expert], sure.width[:, expert], sure.upper[:, expert]
        if self.pooled and sure.places is None:
            return np.broadcast_to(bound, len(plays))
        plays, wins = plays + late, wins + late  # an answer that has not come may be the best possible one
        before = None if cache is None else cache.get("value")
        if before is not None and (before[0] == plays).all() and (before[1] == wins).all():
            return before[2]
        some = np.maximum(plays, 1.0)
        mean, lacks = np.minimum(1.0, wins / some), np.maximum(plays - wins, 0.0)
        mixture = betaln(wins + 0.5, lacks + 0.5) - log(pi)
        level = xlogy(wins, mean) + xlogy(lacks, 1.0 - mean) - mixture
        level -= log((1.0 - _OF_OPTIONS) * (1.0 - self.confidence))
        if self.pooled and sure.places is not None:  # limits in all contexts at once, however many there will be
            level += np.log((sure.places + 1.0) * (sure.places + 2.0))
        share = (bound - low) / width
        # The divergence of the mean from the bound is at most their squared distance over the variance at the bound.
        if self.ask or (plays * (mean - share) ** 2 > level * share * (1.0 - share)).any():
            found = low + width * np.where(plays > 0.0, kl_upper(mean, level / some), 1.0)
            found = found if self.ask else np.minimum(bound, found)
        else:
            found = bound if len(bound) == len(plays) else np.broadcast_to(bound, plays.shape)
        if cache is not None:
            cache["value"] = plays, wins, found
        return found

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


def check_moving(policy: Policy) -> None:
    """Refuse a promise that goes by what experts earn when asked, for where means may move."""
    if isinstance(policy, Guarded) and not policy.pooled:
        raise ValueError(
            "with drift= a promise goes by the log's bounds on what the experts earn, not by what they earn when "
            "asked: give Guarded(..., pooled=True), and shift= to mb.logs.agent for how far they may move"
        )


def _own(cache: Cache | None) -> Cache | None:
    """The part of a cache that belongs to the policy that is guarded."""
    return None if cache is None else cache.setdefault("base", {})
