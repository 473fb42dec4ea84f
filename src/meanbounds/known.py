"""What policies compute with: what is known of the arms and what was seen of them, as arrays.

Rows are runs of a simulation or contexts of an agent, columns are arms. One row of knowledge serves any number of rows
of statistics: it broadcasts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from typing import Any

import numpy as np

from meanbounds.bounds import EXPERT
from meanbounds.knowledge import Knowledge
from meanbounds.subgaussian import proxy_between
from meanbounds.support.types import Booleans, Floats, Integers

__all__ = ["APART", "Known", "Seen", "once"]

APART = 2e-9  # bounds that are closer are moved apart, in units of the range, where a posterior needs room


@dataclass(frozen=True, eq=False)
class Known:
    """What is known of the arms, in arrays of shape (rows, arms), and which of them are eligible.

    Attributes
    ----------
    lower, upper
        Bounds on the mean of each arm, in reward units.
    low, high
        The range of each arm's rewards.
    log_n
        ``-log(1 - trust)``: infinite for bounds that are certain; None if all are.
    prior
        Both Beta parameters of each arm's prior, in units of its range; None for the uniform prior.
    eligible
        Which arms may be played; None for all. Pruning, `best_lower` and whatever follows are taken over these.
    expert
        The position of `EXPERT`; None where the experts cannot be asked.
    places
        The number of each row among contexts that share a budget; None if rows have nothing to do with each other, or
        if what experts earned before says nothing of now.
    learned
        Which arms have a prior that is learned, see `Prior.learned`; None for none. That in `prior` is then uniform.
    """

    lower: Floats
    upper: Floats
    low: Floats
    high: Floats
    log_n: Floats | None = None
    prior: tuple[Floats, Floats] | None = None
    eligible: Booleans | None = None
    expert: int | None = None
    learned: Booleans | None = None
    places: Integers | None = None

    @classmethod
    def of(cls, knowledge: Sequence[Knowledge]) -> Known:
        """One row for each item; bounds with a trust of 0 are left out."""
        bounds = [item.bounds for item in knowledge]
        lower, upper, low, high = (
            np.stack([getattr(own, name) for own in bounds]) for name in ("lower", "upper", "low", "high")
        )
        trust = np.stack([np.broadcast_to(item.trust, len(item.bounds)) for item in knowledge])
        prior, learned = None, np.array([[item.prior is not None and item.prior.is_learned] for item in knowledge])
        if any(item.prior is not None for item in knowledge) and not learned.all():
            ones = np.ones((2, lower.shape[1]))
            pairs = [ones if item.prior is None else item.prior.parameters(item.bounds) for item in knowledge]
            prior = np.stack([pair[0] for pair in pairs]), np.stack([pair[1] for pair in pairs])
        arms = bounds[0].arms
        expert = arms.index(EXPERT) if EXPERT in arms else None
        return cls.trusted(trust, lower, upper, low, high, prior, expert, learned)

    @classmethod
    def trusted(
        cls,
        trust: Floats,
        lower: Floats,
        upper: Floats,
        low: Floats,
        high: Floats,
        prior: tuple[Floats, Floats] | None = None,
        expert: int | None = None,
        learned: Booleans | None = None,
    ) -> Known:
        """The same from arrays, which nobody checks; bounds with a trust of 0 are left out.

        Whether a prior is learned is given for each row; what experts earn when asked is not learned.
        """
        if learned is not None:
            learned = learned & (np.arange(lower.shape[1]) != expert) if learned.any() else None
        if (trust == 1.0).all():
            return cls(lower, upper, low, high, None, prior, None, expert, learned)
        lower, upper = np.where(trust == 0.0, low, lower), np.where(trust == 0.0, high, upper)
        vacuous = (lower == low) & (upper == high)  # and so certain
        with np.errstate(divide="ignore"):
            log_n = -np.log1p(-np.where(vacuous, 1.0, trust))
        return cls(lower, upper, low, high, None if np.isinf(log_n).all() else log_n, prior, None, expert, learned)

    @property
    def is_certain(self) -> bool:
        """Whether all bounds are fully trusted."""
        return self.log_n is None

    @cached_property
    def width(self) -> Floats:
        """The width of each arm's range."""
        return self.high - self.low

    @cached_property
    def scale(self) -> float:
        """The size of the numbers that rewards are, for tolerances."""
        return float(max(np.abs(self.low).max(), np.abs(self.high).max()))

    @cached_property
    def worst_proxy(self) -> Floats:
        """Each arm's variance proxy from its range alone: ``(high - low)**2 / 4`` (Hoeffding's lemma)."""
        return self.width**2 / 4.0

    @cached_property
    def best_lower(self) -> Floats:
        """The largest lower bound of the eligible arms, l_max in the paper: shape (rows, 1)."""
        lower = self.lower if self.eligible is None else np.where(self.eligible, self.lower, -np.inf)
        return lower.max(axis=1, keepdims=True)

    @cached_property
    def possible(self) -> Booleans:
        """The eligible arms that may be better than all others, or that attain `best_lower`."""
        possible = (self.upper > self.best_lower) | (self.lower == self.best_lower)
        return possible if self.eligible is None else possible & self.eligible

    @cached_property
    def proxy(self) -> Floats:
        """Each arm's variance proxy given its bounds (Corollary 3.1 of the paper)."""
        return proxy_between(self.lower, self.upper, self.low, self.high)

    def bounds_in(self, low: Floats, width: Floats) -> tuple[Floats, Floats]:
        """The bounds in units in which 0 is `low` and 1 is ``low + width``, moved apart where they are equal."""
        upper = np.minimum(1.0, np.maximum(APART, (self.upper - low) / width))
        return np.minimum(upper - APART, np.maximum(0.0, (self.lower - low) / width)), upper

    @cached_property
    def unit_bounds(self) -> tuple[Floats, Floats]:
        """The same in units of each arm's range."""
        return self.bounds_in(self.low, self.width)

    @cached_property
    def shares_law(self) -> Booleans:
        """Which arms have a prior that is learned, and no bounds that say more than that."""
        wide = (self.lower <= self.low) | (self.upper - self.lower >= 0.5 * self.width)
        return wide if self.learned is None else wide & self.learned

    @cached_property
    def without_doubted(self) -> Known:
        """The same without the bounds that may be wrong."""
        if self.log_n is None:
            return self
        certain = np.isinf(self.log_n)
        lower, upper = np.where(certain, self.lower, self.low), np.where(certain, self.upper, self.high)
        return replace(self, lower=lower, upper=upper, log_n=None)

    @cached_property
    def vacuous(self) -> Known:
        """The same as if nothing were known but the ranges."""
        return replace(self, lower=self.low, upper=self.high, log_n=None)

    def among(self, eligible: Booleans | None) -> Known:
        """The same with only these arms eligible."""
        return replace(self, eligible=eligible)

    def row(self, row: int) -> Known:
        """One row, as arrays of shape (1, arms)."""
        part = slice(row, row + 1)
        prior = None if self.prior is None else (self.prior[0][part], self.prior[1][part])
        log_n = None if self.log_n is None else self.log_n[part]
        if log_n is not None and np.isinf(log_n).all():
            log_n = None
        learned = None if self.learned is None or not self.learned[part].any() else self.learned[part]
        ends = self.lower[part], self.upper[part], self.low[part], self.high[part]
        return Known(*ends, log_n, prior, None, self.expert, learned)


class Seen:
    """What was seen of the arms: statistics in arrays of shape (rows, arms), rewards in units of each arm's range.

    Attributes
    ----------
    plays
        How many rewards came.
    total, squares
        The sum of the rewards, and of their squares.
    ones
        The rewards rounded at random to 0 or 1, summed: what a Beta posterior counts (Agrawal and Goyal, 2012).
    pending
        How many pulls wait for their reward; None if none do.
    aside
        Of an agent that may ask experts, shape (rows, 3, arms): pulls that were given up, rewards that answered no pull
        of the agent, and the sum of these; None for none.
    others
        For a budget that contexts share: the sums of `Guarded.account` over the other contexts; else None.

    Examples
    --------
    >>> import meanbounds as mb
    >>> seen = Seen.empty(rows=1, arms=2)
    >>> seen.add(np.array([0]), np.array([1]), np.array([0.75]), np.array([0.2]))
    >>> known = Known.of([mb.Knowledge(mb.MeanBounds.vacuous(2, high=10.0))])
    >>> with np.errstate(invalid="ignore"):  # of an arm that was never played
    ...     seen.mean(known)
    array([[nan, 7.5]])
    """

    __slots__ = ("_actual", "_told", "aside", "ones", "others", "pending", "plays", "squares", "total")

    def __init__(
        self,
        plays: Floats,
        total: Floats,
        squares: Floats,
        ones: Floats,
        pending: Floats | None = None,
        aside: Floats | None = None,
    ) -> None:
        self.plays, self.total, self.squares, self.ones, self.pending = plays, total, squares, ones, pending
        self.aside = aside
        self.others: Floats | None = None
        self._actual: Seen | None = None
        self._told: Seen | None = None

    @classmethod
    def empty(cls, rows: int, arms: int) -> Seen:
        """Statistics of arms that were never played."""
        return cls(*np.zeros((4, rows, arms)))

    def add(self, rows: Integers, arms: Integers, rewards: Floats, roundings: Floats) -> None:
        """Add one reward to each of these rows; a row may come once only.

        Parameters
        ----------
        rows, arms
            Where the rewards belong.
        rewards
            In units of the arm's range.
        roundings
            Uniform random numbers, which round the rewards to 0 or 1.
        """
        place = rows * self.plays.shape[1] + arms
        self.plays.reshape(-1)[place] += 1.0
        self.total.reshape(-1)[place] += rewards
        self.squares.reshape(-1)[place] += rewards * rewards
        self.ones.reshape(-1)[place] += roundings < rewards

    def row(self, row: int) -> Seen:
        """One row, as views of shape (1, arms)."""
        part = slice(row, row + 1)
        pending = None if self.pending is None else self.pending[part]
        return Seen(self.plays[part], self.total[part], self.squares[part], self.ones[part], pending)

    def mean(self, known: Known) -> Floats:
        """The mean reward of each arm in reward units; NaN for an arm that was never played."""
        return known.low + known.width * (self.total / self.plays)

    def clipped_mean(self, known: Known) -> Floats:
        """The mean reward moved into the arm's bounds; the lower bound of an arm that was never played."""
        return np.fmin(known.upper, np.fmax(known.lower, self.mean(known)))

    def with_pending(self, known: Known) -> Seen:
        """The statistics as they would be if pending pulls had returned the arm's mean so far.

        An arm without rewards gets the middle of its bounds. Of an arm with rewards at most as many pulls count as
        rewards have come: else a few bad rewards and many lost ones would make it look surely bad.
        """
        if self.pending is None:
            return self
        played, pending = self.plays > 0.0, self.pending
        more = np.where(played, np.minimum(pending, self.plays), pending)
        plays = np.where(played, self.plays, 1.0)
        middle = (0.5 * (known.lower + known.upper) - known.low) / known.width
        total, squares, ones = (
            np.where(played, own + more * (own / plays), more * middle) for own in (self.total, self.squares, self.ones)
        )
        found = Seen(self.plays + more, total, squares, ones, pending)
        found._actual, found._told, found.others = self.actual, self, self.others
        return found

    @property
    def actual(self) -> Seen:
        """All that was seen, without what `with_pending` supposes, and with what a policy is not shown."""
        return self._actual or self

    @property
    def told(self) -> Seen:
        """The statistics without what `with_pending` supposes."""
        return self._told or self


def once(compute: Callable[[Any, Known], Any]) -> Callable[[Any, Known], Any]:
    """Decorate a method of a policy that depends on what is known alone: its value is kept beside the knowledge."""

    @wraps(compute)
    def kept(policy: Any, known: Known) -> Any:
        values = known.__dict__.setdefault("_values", {})
        key = (compute, policy)
        if key not in values:
            values[key] = compute(policy, known)
        return values[key]

    return kept
