"""From counts and an assumption to bounds in units of the range, or to the contradiction between the two."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from meanbounds.bounds import Arm, BoundsError, MeanBounds, all_checked_before
from meanbounds.logs.allowed import in_context, nearest_allowed
from meanbounds.logs.assumptions import AnyExpert, Assumption, KnownPropensity, World
from meanbounds.logs.assumptions.claims import Claims, Weighted
from meanbounds.logs.cells import Cells
from meanbounds.logs.confidence import Samples, lower_limit, nats
from meanbounds.logs.counts import Counts
from meanbounds.logs.finite import finite_bounds, finite_checks
from meanbounds.logs.infinite import infinite_bounds, infinite_checks
from meanbounds.logs.names import Context
from meanbounds.logs.shares import Shares
from meanbounds.logs.weights import Weights, without_propensities
from meanbounds.support.types import Floats

__all__ = ["Contradiction", "Judged", "Log"]

_FOR_SHARES = 0.05  # of the failure probability, where shares of contexts are estimated


@dataclass(frozen=True, eq=False)
class Log:
    """What was counted, in units of the range, and how much confidence its bounds have to have.

    `sharing` is the number of contexts that share the failure probability: all of the log, if this is a part of it.
    """

    world: World
    arms: tuple[Arm, ...]
    cells: Cells
    weights: Weights | None
    confidence: float | None
    method: str
    shift: float
    sharing: int
    unnamed: bool = False

    @classmethod
    def of(cls, counts: Counts, assumption: Assumption, confidence: float | None, method: str, shift: float) -> Log:
        """Scale the counts, and take what the assumption needs: the histogram, propensities."""
        alone = [part.claims(World((), counts.low, counts.high)) for part in assumption.parts if not part.weaker]
        weighted = tuple(one for part in alone for one in part.weighted)
        counts, weights = _propensities(counts, weighted, confidence, method)
        if confidence is not None and method == "betting" and any(one.adaptive for one in weighted):
            _check_bets(assumption)
        share, confidence = _context_shares(counts, assumption, confidence)
        world = World(counts.contexts, counts.low, counts.high, share)
        claims = assumption.claims(world)
        several = any(len(part.floors) > 1 for part in claims.raised)
        cells = Cells.of(counts, histogram=method == "betting" or several or bool(claims.tilted))
        log = cls(world, counts.arms, cells, weights, confidence, method, shift, len(counts.contexts))
        log.check_counts(counts)
        return log

    def check_counts(self, counts: Counts) -> None:
        """Refuse counts that a confidence cannot be had for."""
        if self.confidence is None:
            return
        if not counts.whole_weights:
            raise BoundsError(
                f"the weights of column {counts.weight_name!r} are not whole numbers: they do not say how many rows "
                f"were seen, which confidence limits need. Give infinite=True to treat weighted shares and means as "
                f"exact. If each weight is one over the probability of the choice, read the log with a column of these "
                f"probabilities instead, and assume KnownPropensity"
            )
        for place in np.flatnonzero((self.cells.rows != np.floor(self.cells.rows)).any(axis=1)):
            raise BoundsError(
                f"{self.world.name(place)}: its counts are shares, not whole numbers, as those of an infinite log are; "
                f"give infinite=True to treat them as exact"
            )
        if self.method == "betting" and counts.histogram is None:
            raise ValueError(
                'method="betting" needs how many rewards there are of each value: read the log with histogram=True'
            )

    def at(self, place: int) -> Log:
        """One context; its bounds still hold together with those of all others."""
        one = slice(place, place + 1)
        share = None if self.world.share is None else self.world.share[one]
        world = replace(self.world, contexts=self.world.contexts[one], share=share)
        weights = None if self.weights is None else self.weights.at(one)
        return replace(self, world=world, cells=self.cells.at(one), weights=weights)

    def name(self, place: int | np.intp) -> str:
        """How a message names a context."""
        return "the log" if self.unnamed else self.world.name(place)


def _context_shares(
    counts: Counts, assumption: Assumption, confidence: float | None
) -> tuple[Floats | None, float | None]:
    """How much of the log each context is, at least, if that is needed, and the confidence that is left for the rest.

    The limits of all contexts hold at once but for a twentieth of the failure probability.
    """
    if not assumption.needs_shares:
        return None, confidence
    rows = counts.count.sum(axis=1)
    everything = float(rows.sum())
    if confidence is None or not everything:
        return rows / max(everything, 1.0), confidence
    failure = 1.0 - confidence
    goal = nats(_FOR_SHARES * failure / len(rows))
    return lower_limit(Samples(everything, rows, rows), goal, "kl"), 1.0 - (1.0 - _FOR_SHARES) * failure


def _check_bets(assumption: Assumption) -> None:
    """Refuse bets where a log of an agent is also taken for one of experts.

    What holds of each row, given those before it, can be bet on; a share of errors or a loss is an average over rows.
    """
    others = [part for part in assumption.parts if not isinstance(part, KnownPropensity | AnyExpert)]
    if others:
        raise BoundsError(
            f'method="betting" does not hold for a log of an agent that learned (adaptive=True) under {others[0]!r}; '
            'give method="kl" or "hoeffding", or bound the rows of agent and experts apart, and join the bounds with &'
        )


def _propensities(
    counts: Counts, claims: tuple[Weighted, ...], confidence: float | None, method: str
) -> tuple[Counts, Weights | None]:
    """Counts of the contexts that are left without the column of propensities, and the sums that they weight."""
    if not claims:
        return counts, None
    columns = {claim.column for claim in claims}
    if len(columns) > 1 or not columns <= set(counts.context_names):
        known = ", ".join(map(repr, counts.context_names)) or "none"
        raise BoundsError(
            f"propensities need one column that the log was read with among those of context=; got "
            f"{', '.join(map(repr, sorted(columns)))}, and the columns of the context are {known}"
        )
    if confidence is not None and method == "bernstein" and any(claim.adaptive for claim in claims):
        raise BoundsError(
            'method="bernstein" is for independent rows, and an agent that learned (adaptive=True) wrote others; '
            'give method="betting", "kl" or "hoeffding"'
        )
    return without_propensities(counts, claims, bets=confidence is not None and method == "betting")


@dataclass(frozen=True)
class Contradiction:
    """Why a log cannot have come about as was assumed: where, which arm, and the reason."""

    place: int
    arm: int
    reason: str


@dataclass(frozen=True, eq=False)
class Judged:
    """A log under an assumption.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.logs.assumptions import OptimalExpert
    >>> from meanbounds.logs.judged import Judged, Log
    >>> counts = mb.HiddenContexts([[[0.9, 0.4], [0.3, 0.6]]], [[0.5, 0.5]]).counts()
    >>> assumed = OptimalExpert(gap_low=0.3)
    >>> log = Log.of(counts, assumed, None, "bernstein", 0.0)
    >>> Judged(log, assumed).bounds()["z0"].upper.round(3)
    array([0.6, 0.6])
    """

    log: Log
    assumption: Assumption

    @cached_property
    def claims(self) -> Claims:
        """What is claimed of each context."""
        return self.assumption.claims(self.log.world)

    @cached_property
    def checks(self) -> list[Any]:
        """The checks of what is assumed; a gap of 0, or one arm alone, needs none."""
        several = len(self.log.arms) > 1
        return [check for check in self.claims.checks if several and np.any(check.gap > 0.0)]

    @cached_property
    def shares(self) -> Shares | None:
        """How the failure probability is shared; None for an infinite log."""
        log = self.log
        if log.confidence is None:
            return None
        checks = len(self.checks) + len(self.claims.weighted)
        return Shares.of(log.confidence, contexts=log.sharing, arms=len(log.arms), checks=checks)

    @cached_property
    def limits(self) -> tuple[Floats, Floats]:
        """Lower and upper bounds, contexts x arms, in units of the range; a context without rows has none."""
        log, shares = self.log, self.shares
        if shares is None:
            lower, upper = infinite_bounds(log.cells, log.weights, self.claims)
        else:
            lower, upper = finite_bounds(log.cells, log.weights, self.claims, shares, log.method)
        lower, upper = lower - log.shift, upper + log.shift
        empty = ~log.cells.rows.any(axis=1)
        lower[empty], upper[empty] = 0.0, 1.0
        return lower, upper

    def contradiction(self) -> Contradiction | None:
        """The first contradiction between log and assumption; None if there is none."""
        return min(self._all, key=lambda one: one.place, default=None)

    def contradictions(self) -> list[Contradiction]:
        """The first contradiction of each context that has one."""
        found: dict[int, Contradiction] = {}
        for one in self._all:
            found.setdefault(one.place, one)
        return [found[place] for place in sorted(found)]

    @cached_property
    def _all(self) -> list[Contradiction]:
        return [*self._refuted(), *self._crossed()]

    def _refuted(self) -> list[Contradiction]:
        found, slack, log = [], self.log.world.slack, self.log
        for check in self.checks:
            if self.shares is None:
                value = infinite_checks(log.cells, check.gap)
            else:
                value = finite_checks(log.cells, check.gap, self.shares, log.method)
            wrong = np.argwhere(value + check.slack[:, None] < -slack)
            for place, arm in wrong.tolist():
                gap = check.gap[place] * (log.world.high - log.world.low)
                found.append(Contradiction(place, arm, _GAP_LOW.format(gap=gap)))
        for claim in self.claims.weighted:
            if self.shares is not None and log.weights is not None:
                wrong = np.argwhere(log.weights.refuted(claim, self.shares.check, log.method))
                found += [
                    Contradiction(place, arm, _WEIGHTS.format(column=claim.column)) for place, arm in wrong.tolist()
                ]
        return found

    def _crossed(self) -> list[Contradiction]:
        (lower, upper), slack, world, found = self.limits, self.log.world.slack, self.log.world, []
        for place, arm in np.argwhere((upper < -slack) | (lower > 1.0 + slack) | (lower > upper + slack)).tolist():
            least, most = (world.low + (world.high - world.low) * side[place, arm] for side in (lower, upper))
            reason = _BELOW.format(most=most) if upper[place, arm] < -slack else _CROSS.format(least=least, most=most)
            found.append(Contradiction(place, arm, reason))
        return found

    def bounds(self) -> dict[Context, MeanBounds]:
        """The bounds of each context in reward units; refuses a log that contradicts the assumption."""
        wrong = self.contradiction()
        if wrong is not None:
            raise BoundsError(self._message(wrong))
        low, high = self.log.world.low, self.log.world.high
        lower, upper = self.limits
        upper = np.clip(upper, 0.0, 1.0)
        lower = np.minimum(np.clip(lower, 0.0, 1.0), upper)
        lower, upper = (np.clip(low + (high - low) * side, low, high) for side in (lower, upper))
        position = {arm: k for k, arm in enumerate(self.log.arms)}
        ends = np.full(len(position), low), np.full(len(position), high)
        return dict(zip(self.log.world.contexts, all_checked_before(position, lower, upper, *ends), strict=True))

    def _message(self, wrong: Contradiction) -> str:
        log = self.log
        own = log.at(wrong.place)

        def holds(other: Assumption) -> bool:
            return Judged(own, other).contradiction() is None

        here = in_context(self.assumption, wrong.place, log.world.contexts)
        allowed = nearest_allowed(here, log.world.high - log.world.low, holds)
        ways = f". The log allows {' or '.join(allowed)}, all else as it is" if allowed else ""
        return (
            f"{log.name(wrong.place)}, arm {log.arms[wrong.arm]!r}: {wrong.reason}: {self.assumption.in_words()}{ways}"
        )


_GAP_LOW = (
    "gap_low={gap:g} is more than the log allows: where the arm was played it was better than others by that much, but "
    "its mean is less than that above the bottom of the range. Assumed"
)
_WEIGHTS = (
    "one over column {column!r} should average 1 over all rows, counting 0 where another arm was played, and does not. "
    "Assumed"
)
_BELOW = "the log contradicts what is assumed, which puts the mean at most {most:.6g}, below the range of the rewards"
_CROSS = (
    "the log contradicts what is assumed: the bounds cross, since the mean would be at least {least:.6g} and at most "
    "{most:.6g}"
)
