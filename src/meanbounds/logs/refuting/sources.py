"""What several sources say of the same means: people who decided like cases, and a part that was drawn by lot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanbounds.logs.allowed import joined
from meanbounds.logs.assumptions import Assumption, World, by_context
from meanbounds.logs.cells import Cells
from meanbounds.logs.confidence import Samples, lower_limit, upper_limit
from meanbounds.logs.judged import Judged, Log
from meanbounds.logs.names import Context
from meanbounds.logs.refuting.budgets import Budget
from meanbounds.logs.refuting.strike import Strike, members_of
from meanbounds.support.types import Floats

__all__ = ["Deciders", "Sources", "lot_limits"]


@dataclass(frozen=True, eq=False)
class Deciders:
    """A log by who decided: for each pair of context and decider its cells, and which context and who it was.

    Examples
    --------
    Two doctors with like cases, of whom one does much better:

    >>> import numpy as np
    >>> import meanbounds as mb
    >>> from meanbounds.logs.cells import Cells
    >>> from meanbounds.logs.assumptions import World
    >>> from meanbounds.logs.refuting.sources import Deciders
    >>> rows, total = np.full((2, 2), 1000.0), np.array([[700.0, 700.0], [500.0, 500.0]])
    >>> cells = Cells.without_values(rows, total, total)
    >>> both = Deciders(World(("all",), 0, 1), cells, np.zeros(2, dtype=np.intp), ["Ada", "Bo"])
    >>> for strike in both.means(mb.logs.OptimalExpert(), goal=3.0, method="kl"):
    ...     print(strike.reason)
    with like cases 'Ada' earned at least 0.6691 on average and 'Bo' at most 0.5331
    """

    world: World
    cells: Cells
    into: NDArray[np.intp]
    names: Sequence[Any]

    def means(self, part: Assumption, goal: float, method: str) -> Iterator[Strike]:
        """Contexts in which somebody earned less than others by more than the loss that is allowed."""
        budget = Budget.of(part, self.world)
        if budget is None:
            return
        whole = Cells.without_values(*(side.sum(axis=1) for side in _sums(self.cells)))
        sample = Samples(np.maximum(whole.rows, 1.0), whole.total, whole.squares)
        price = goal + log(2.0 * self.into.size)
        seen = whole.rows > 0.0
        least = np.where(seen, lower_limit(sample, price, method), 0.0)
        most = np.where(seen, upper_limit(sample, price, method), 1.0)
        span = self.world.high - self.world.low
        for place, here in enumerate(members_of(self.into, len(self.world.contexts))):
            best, worst = here[np.argmax(least[here])], here[np.argmin(most[here])]
            gap = float(least[best] - most[worst])
            if gap <= budget.loss[place] + 1e-9:
                continue

            def holds(other: Assumption, gap: float = gap) -> bool:
                own = Budget.of(other, World(("here",), self.world.low, self.world.high))
                return own is None or gap <= float(own.loss[0]) + 1e-9

            ends = (self.world.low + span * float(end) for end in (least[best], most[worst]))
            reason = "with like cases {0!r} earned at least {2:.4g} on average and {1!r} at most {3:.4g}"
            yield Strike(place, reason.format(self.names[best], self.names[worst], *ends), holds)


@dataclass(frozen=True, eq=False)
class Sources:
    """Bounds on the same means from several sources: the rows of each decider, a part of the log that was drawn by lot.

    Attributes
    ----------
    log
        The log, with a context for each pair of context and decider.
    contexts
        The contexts themselves.
    into, names
        Of each pair the place of its context, and the name of the decider; no names if all rows are one source.
    lot
        Limits on each mean, contexts x arms in units of the range, from the randomised part; None if there is none.
    """

    log: Log
    contexts: Sequence[Context]
    into: NDArray[np.intp]
    names: Sequence[Any] = ()
    lot: tuple[Floats, Floats] | None = None

    def crossing(self, assumption: Assumption) -> Iterator[Strike]:
        """Contexts in which the bounds of an arm do not meet."""
        world = self.log.world
        least, most, whose = self.ends(assumption)
        for place in np.flatnonzero((least > most + world.slack).any(axis=1)).tolist():
            arm, here = int(np.argmax(least[place] - most[place])), self.at(place)

            def holds(other: Assumption, here: Sources = here) -> bool:
                lower, upper, _ = here.ends(other)
                return bool(np.all(lower <= upper + world.slack))

            ends = (world.low + (world.high - world.low) * float(side[place, arm]) for side in (least, most))
            who = (self._name(int(row)) for row in whose[:, place, arm])
            reason = "by {2} the mean of {4!r} is at least {0:.4g}, and by {3} at most {1:.4g}"
            yield Strike(place, reason.format(*ends, *who, self.log.arms[arm]), holds)

    def ends(self, assumption: Assumption) -> tuple[Floats, Floats, NDArray[np.intp]]:
        """The largest lower and the least upper bound of each context and arm, and whose they are."""
        lower, upper = self._judged(assumption).limits
        shape = len(self.contexts), len(self.log.arms)
        whose = np.full((2, *shape), -1, dtype=np.intp)
        least, most = np.full(shape, -inf), np.full(shape, inf)
        if self.lot is not None:
            least, most = self.lot[0].copy(), self.lot[1].copy()
        for row, place in enumerate(self.into.tolist()):
            more, less = lower[row] > least[place], upper[row] < most[place]
            least[place, more], whose[0, place, more] = lower[row, more], row
            most[place, less], whose[1, place, less] = upper[row, less], row
        return least, most, whose

    def at(self, place: int) -> Sources:
        """The sources of one context; their bounds still hold together with those of all others."""
        rows, log_of = np.flatnonzero(self.into == place), self.log
        weights = log_of.weights
        few = replace(
            log_of,
            world=replace(log_of.world, contexts=tuple(log_of.world.contexts[row] for row in rows)),
            cells=log_of.cells.at(rows),
            weights=None if weights is None else weights.sums_at(rows),
        )
        lot = None if self.lot is None else (self.lot[0][[place]], self.lot[1][[place]])
        names = [self.names[row] for row in rows.tolist()] if self.names else ()
        return Sources(few, (self.contexts[place],), np.zeros(rows.size, dtype=np.intp), names, lot)

    def _judged(self, assumption: Assumption) -> Judged:
        """The log under an assumption that has one number for each context."""
        parts = []
        for part in assumption.parts:
            given = {name: getattr(part, name) for name in part.weaker if getattr(part, name) is not None}
            own = {n: np.array(by_context(n, value, self.contexts))[self.into].tolist() for n, value in given.items()}
            parts.append(replace(part, **own))
        return Judged(self.log, joined(parts))

    def _name(self, row: int) -> str:
        if row < 0:
            return "the randomised part"
        return f"the rows of {self.names[row]!r}" if self.names else "the log"


def lot_limits(cells: Cells, goal: float, method: str) -> tuple[Floats, Floats]:
    """Limits on the mean of each arm from rows in which arms were drawn by lot; none for arms that were never drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from meanbounds.logs.cells import Cells
    >>> from meanbounds.logs.refuting.sources import lot_limits
    >>> half = Cells.without_values(np.array([[100.0, 0.0]]), np.array([[50.0, 0.0]]), np.array([[50.0, 0.0]]))
    >>> lower, upper = lot_limits(half, 3.0, "kl")
    >>> lower.round(2), upper.round(2)
    (array([[0.36, 0.  ]]), array([[0.64, 1.  ]]))
    """
    seen = cells.rows > 0.0
    sample = Samples(np.maximum(cells.rows, 1.0), cells.total, cells.squares)
    price = goal + log(2.0 * cells.rows.size)
    lower, upper = lower_limit(sample, price, method), upper_limit(sample, price, method)
    return np.where(seen, lower, 0.0), np.where(seen, upper, 1.0)


def _sums(cells: Cells) -> tuple[Floats, Floats, Floats]:
    return cells.rows, cells.total, cells.squares
