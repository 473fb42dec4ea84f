"""What equal cases say: choices that differ, rewards that differ, and choices that agree too often.

Cases are equal if all that the expert could see is: the same record shown twice, a second opinion, the same full
description. docs/refuted.md derives each test.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import exp, inf, log

import numpy as np
from numpy.typing import NDArray

from meanbounds.bounds import Arm
from meanbounds.logs.allowed import in_context
from meanbounds.logs.assumptions import Assumption, MarginalSensitivity, World
from meanbounds.logs.cells import Cells
from meanbounds.logs.confidence import Samples, lower_limit, upper_limit
from meanbounds.logs.refuting.budgets import Budget
from meanbounds.logs.refuting.strike import Strike, members_of, number
from meanbounds.logs.refuting.tails import Groups, chance_of
from meanbounds.support.optional import optional
from meanbounds.support.types import Floats

__all__ = ["EqualCases"]


@dataclass(frozen=True, eq=False)
class EqualCases:
    """Choices and rewards of groups of equal cases: groups x arms, and the place of the context of each group.

    Examples
    --------
    Twenty cases that were decided twice; in six of them the choices differ:

    >>> import numpy as np
    >>> import meanbounds as mb
    >>> from meanbounds.logs.assumptions import World
    >>> from meanbounds.logs.cells import Cells
    >>> from meanbounds.logs.refuting.equal_cases import EqualCases
    >>> rows = np.array([[1.0, 1.0]] * 6 + [[2.0, 0.0]] * 14)
    >>> cells = Cells.without_values(rows, 0.5 * rows, 0.25 * rows)
    >>> cases = EqualCases(World(("all",), 0.0, 1.0), ("a", "b"), cells, np.zeros(20, dtype=np.intp))
    >>> for strike in cases.choices(mb.logs.ErringExpert(0.02, gap_low=0.1), goal=3.0):
    ...     print(strike.reason)
    choices in 20 groups of equal cases differ: at least 6 of 40 were not the best one, too many for a share of 0.02
    """

    world: World
    arms: tuple[Arm, ...]
    cells: Cells
    into: NDArray[np.intp]
    independent_rows: bool = False

    @cached_property
    def size(self) -> Floats:
        """Rows of each group."""
        found: Floats = self.cells.rows.sum(axis=1)
        return found

    @cached_property
    def wrong(self) -> Floats:
        """Choices in each group that differ from its most frequent one: as many are wrong, at least."""
        found: Floats = self.size - self.cells.rows.max(axis=1)
        return found

    @cached_property
    def members(self) -> list[NDArray[np.intp]]:
        """The groups of each context."""
        return members_of(self.into, len(self.world.contexts))

    def choices(self, part: Assumption, goal: float) -> Iterator[Strike]:
        """Contexts, and all of them together, with more differing choices than an assumption allows.

        Half of the probability of a false alarm is for all contexts together.
        """
        budget, contexts = Budget.of(part, self.world), len(self.world.contexts)
        if budget is None or not budget.gap_low.any():
            return
        everywhere = np.arange(self.into.size)
        share = np.where(budget.gap_low > 0.0, budget.errors, 1.0)
        price = goal + log(2.0)
        several = contexts > 1
        if several and self._too_many(everywhere, share[self.into], price):

            def holds_everywhere(other: Assumption) -> bool:
                own = _wrong_share(other, self.world)
                return not self._too_many(everywhere, own[self.into], price)

            yield Strike(None, self._said(everywhere, share), holds_everywhere)
        price = goal + (log(2.0 * contexts) if several else 0.0)
        for place in np.unique(self.into[self.wrong > 0.0]).tolist():
            here = self.members[place]
            if not self._too_many(here, np.full(here.size, share[place]), price):
                continue

            def holds(other: Assumption, here: NDArray[np.intp] = here, price: float = price) -> bool:
                own = _wrong_share(other, World(("here",), self.world.low, self.world.high))
                return not self._too_many(here, np.full(here.size, own[0]), price)

            yield Strike(place, self._said(here, share[place : place + 1]), holds)

    def _too_many(self, here: NDArray[np.intp], share: Floats, price: float) -> bool:
        size = self.size[here]
        ceiling = size - np.ceil(size / len(self.arms))
        groups, wrong = Groups.of(size, ceiling, share), float(self.wrong[here].sum())
        return chance_of(wrong, groups, whole=True, by_rows=self.independent_rows) <= exp(-price)

    def _said(self, here: NDArray[np.intp], share: Floats) -> str:
        groups = here[self.size[here] > 1.0]
        allowed = f"{share.max():.3g}" if share.min() == share.max() else f"{share.min():.3g} to {share.max():.3g}"
        end = "and none may be" if not share.any() else f"too many for a share of {allowed}"
        return (
            f"choices in {number(groups.size)} groups of equal cases differ: at least "
            f"{number(float(self.wrong[groups].sum()))} of {number(float(self.size[groups].sum()))} were not the best "
            f"one, {end}"
        )

    def rewards(self, part: Assumption, goal: float) -> Iterator[Strike]:
        """Contexts in which one arm earned more than another in equal cases, beyond the loss that is allowed."""
        budget, arms, contexts = Budget.of(part, self.world), len(self.arms), len(self.world.contexts)
        if budget is None or arms < 2:
            return
        price = goal + log(2.0 * contexts * arms * (arms - 1))
        gained, better, worse = self._gained(price)
        for place in np.flatnonzero(gained > 0.0).tolist():
            here = self.members[place]
            gain = float(gained[place])

            def holds(other: Assumption, here: NDArray[np.intp] = here, gain: float = gain) -> bool:
                own = Budget.of(other, World(("here",), self.world.low, self.world.high))
                if own is None:
                    return True
                high = max(float(own.gap_high[0]), 1e-12)
                size = self.size[here]
                groups = Groups.of(size, np.where(size > 1.0, size, 0.0), np.full(size.size, own.loss[0] / high))
                return chance_of(gain / high, groups, whole=False, by_rows=self.independent_rows) > exp(-price)

            if holds(in_context(part, place, self.world.contexts)):
                continue
            lost = gain / float(self.size[here].sum()) * (self.world.high - self.world.low)
            reason = (
                f"in equal cases {self.arms[better[place]]!r} earned more than {self.arms[worse[place]]!r}: choosing "
                f"the latter lost at least {lost:.4g} per row of the context"
            )
            yield Strike(place, reason, holds)

    def _gained(self, price: float) -> tuple[Floats, NDArray[np.intp], NDArray[np.intp]]:
        """The most that the better arm of a pair is sure to have gained in each context, and which arms these are."""
        rows, contexts = self.cells.rows, len(self.world.contexts)
        mean = self.cells.total / np.maximum(rows, 1.0)
        best = np.full(contexts, -inf)
        better, worse = np.zeros(contexts, dtype=np.intp), np.zeros(contexts, dtype=np.intp)
        for a in range(len(self.arms)):
            for b in range(a):
                pairs = np.minimum(rows[:, a], rows[:, b])
                spread = pairs**2 * (1.0 / np.maximum(rows[:, a], 1.0) + 1.0 / np.maximum(rows[:, b], 1.0))
                ahead = np.bincount(self.into, pairs * (mean[:, a] - mean[:, b]), contexts)
                width = np.sqrt(0.5 * price * np.bincount(self.into, spread, contexts))
                for gain, one, two in ((ahead - width, a, b), (-ahead - width, b, a)):
                    more = gain > best
                    best[more], better[more], worse[more] = gain[more], one, two
        return best, better, worse

    def agreement(self, part: Assumption, goal: float) -> Iterator[Strike]:
        """Contexts in which equal cases get the same arm more often than bounded odds allow."""
        if not isinstance(part, MarginalSensitivity):
            return
        contexts, arms = len(self.world.contexts), len(self.arms)
        odds = self.world.numbers("odds", part.odds)
        price = goal + log(3.0 * contexts * arms)
        for place in np.unique(self.into[self.size > 1.0]).tolist():
            here = self.members[place]
            for k in range(arms):
                agree = _Agreement(self.cells.rows[here], k, price)
                if agree.refutes(float(odds[place])):
                    reason = (
                        f"equal cases get {self.arms[k]!r} twice, or not at all, more often than odds of "
                        f"{odds[place]:.4g} allow: what was hidden decides more than that"
                    )
                    yield Strike(place, reason, agree.holds)
                    break


def _wrong_share(part: Assumption, world: World) -> Floats:
    """The share of choices that may differ from the one best arm; all of them if others can be as good."""
    own = Budget.of(part, world)
    if own is None:
        return np.ones(len(world.contexts))
    return np.where(own.gap_low > 0.0, own.errors, 1.0)


def _share_limits(rows: Floats, k: int, price: float) -> tuple[float, float]:
    """Limits on an arm's share that hold whether rows are drawn one by one or case by case."""
    with optional("logs", "tests of an assumption"):
        from scipy.special import betaincinv

    size, own, fail = float(rows.sum()), float(rows[:, k].sum()), exp(-price)
    low = float(betaincinv(own, size - own + 1.0, fail)) if own else 0.0
    high = 1.0 if own == size else float(betaincinv(own + 1.0, size - own, 1.0 - fail))
    several = rows.sum(axis=1) > 0.0
    part = rows[several, k] / rows[several].sum(axis=1)
    cases = Samples(float(part.size), float(part.sum()), float(part @ part))
    least, most = lower_limit(cases, price, "kl"), upper_limit(cases, price, "kl")
    return min(low, float(least[0])), max(high, float(most[0]))


class _Agreement:
    """How often equal cases get an arm twice, against what bounded odds allow; see docs/refuted.md."""

    def __init__(self, rows: Floats, k: int, price: float) -> None:
        self.price, self.share = price, _share_limits(rows, k, price)
        size = rows.sum(axis=1)
        several = size > 1.0
        own, size = rows[several, k], size[several]
        self.one, self.two = own / size, own * (own - 1.0) / (size * (size - 1.0))

    def refutes(self, odds: float) -> bool:
        """Whether pairs agree more often than chances between the limits that these odds set."""
        least, most = self.share
        a = least / (least + odds * (1.0 - least)) if least else 0.0
        b = odds * most / (odds * most + 1.0 - most) if most else 0.0
        value = self.two - (a + b) * self.one + a * b
        bottom, top = a * b - 0.5 * (a + b), max(a * b, (1.0 - a) * (1.0 - b))
        if not top - bottom > 1e-12:
            return False
        unit = (value - bottom) / (top - bottom)
        sample = Samples(float(unit.size), float(unit.sum()), float(unit @ unit))
        return float(lower_limit(sample, self.price, "kl")[0]) > -bottom / (top - bottom) + 1e-12

    def holds(self, other: Assumption) -> bool:
        """Whether another assumption of this kind would pass."""
        return not (
            isinstance(other, MarginalSensitivity) and isinstance(other.odds, float) and self.refutes(other.odds)
        )
