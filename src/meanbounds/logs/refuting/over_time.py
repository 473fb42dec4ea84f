"""What time says: rows that are drawn from one law have the same shares and the same means before and after any day."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanbounds.bounds import Arm
from meanbounds.divergence import bernoulli_kl
from meanbounds.logs.assumptions import World
from meanbounds.logs.cells import Cells
from meanbounds.logs.merging import add_up
from meanbounds.logs.names import natural_order
from meanbounds.logs.refuting.strike import Strike
from meanbounds.support.optional import optional
from meanbounds.support.types import Floats

__all__ = ["OverTime"]

_MOST_SPLITS = 15  # each is paid for; more would find little that these do not


@dataclass(frozen=True, eq=False)
class OverTime:
    """A log by time: the cells of each context and moment, and the context and the moment of each.

    Examples
    --------
    >>> import numpy as np
    >>> from meanbounds.logs.assumptions import World
    >>> from meanbounds.logs.cells import Cells
    >>> from meanbounds.logs.refuting.over_time import OverTime
    >>> rows = np.array([[60.0, 40.0], [20.0, 80.0]])
    >>> cells = Cells.without_values(rows, 0.5 * rows, 0.5 * rows)
    >>> log = OverTime(World(("all",), 0, 1), ("a", "b"), cells, np.zeros(2, dtype=np.intp), ["2023", "2024"])
    >>> for strike in log.choices(goal=3.0):
    ...     print(strike.reason)
    'a' was chosen in 60% of the rows before '2024' and in 20% from then on
    """

    world: World
    arms: tuple[Arm, ...]
    cells: Cells
    into: NDArray[np.intp]
    moments: Sequence[Any]

    @cached_property
    def order(self) -> list[Any]:
        """All moments, the first one first."""
        return sorted(set(self.moments), key=natural_order)

    @cached_property
    def splits(self) -> list[Any]:
        """Moments at which the log is cut in two: at most 15, with about as many rows between each two.

        They depend on how many rows there are at each moment, and on nothing else.
        """
        place = {moment: at for at, moment in enumerate(self.order)}
        rows = np.bincount([place[moment] for moment in self.moments], self.cells.rows.sum(axis=1), len(self.order))
        before = np.cumsum(rows)[:-1] / rows.sum()
        if before.size <= _MOST_SPLITS:
            return self.order[1:]
        wanted = np.arange(1, _MOST_SPLITS + 1) / (_MOST_SPLITS + 1)
        return [self.order[at + 1] for at in sorted({int(np.argmin(np.abs(before - share))) for share in wanted})]

    def _sums(self, split: Any) -> tuple[Cells, Cells]:
        """The cells of each context before a moment, and from then on."""
        first = np.array([natural_order(moment) < natural_order(split) for moment in self.moments])[:, None]

        def side(part: Floats, early: bool) -> Floats:
            return add_up(np.where(first == early, part, 0.0), self.into)

        own = (self.cells.rows, self.cells.total, self.cells.squares)
        before, after = (Cells.without_values(*(side(part, early) for part in own)) for early in (True, False))
        return before, after

    def choices(self, goal: float) -> Iterator[Strike]:
        """For each context the arm and the moment where its share changes most clearly, if it does."""
        arms = 1 if len(self.arms) == 2 else len(self.arms)
        price = goal + log(max(len(self.splits), 1) * len(self.world.contexts) * arms)
        clearest = _Clearest(len(self.world.contexts), price)
        for split in self.splits:
            one, two = self._sums(split)
            sizes = [np.broadcast_to(part.rows.sum(axis=1, keepdims=True), part.rows.shape) for part in (one, two)]
            nats = _two_sided(one.rows, sizes[0], two.rows, sizes[1])[:, :arms]
            shares = [part.rows / np.maximum(size, 1.0) for part, size in zip((one, two), sizes, strict=True)]
            clearest.look(nats, shares[0], shares[1], split)
        for place, arm, before, after, split in clearest.found():
            reason = (
                f"{self.arms[arm]!r} was chosen in {before:.3g}% of the rows before {split!r} and in {after:.3g}% from "
                f"then on"
            )
            yield Strike(place, reason)

    def rewards(self, goal: float) -> Iterator[Strike]:
        """For each context the arm and the moment where its mean reward changes most clearly, if it does."""
        price = goal + log(max(len(self.splits), 1) * self.cells.rows.shape[1] * len(self.world.contexts))
        clearest = _Clearest(len(self.world.contexts), price)
        span = self.world.high - self.world.low
        for split in self.splits:
            one, two = self._sums(split)
            means = [part.total / np.maximum(part.rows, 1.0) for part in (one, two)]
            clearest.look(_moved(one, two), means[0], means[1], split)
        for place, arm, before, after, split in clearest.found():
            least, most = (self.world.low + span * 0.01 * mean for mean in (before, after))
            reason = (
                f"the mean reward of {self.arms[arm]!r} was {least:.4g} before {split!r} and {most:.4g} from then on"
            )
            yield Strike(place, reason)


class _Clearest:
    """In each context the clearest change so far."""

    def __init__(self, contexts: int, price: float) -> None:
        self.nats, self.price = np.full(contexts, price), price
        self.what: dict[int, tuple[int, float, float, Any]] = {}

    def look(self, nats: Floats, before: Floats, after: Floats, split: Any) -> None:
        arm = np.argmax(nats, axis=1)
        best = nats[np.arange(arm.size), arm]
        for place in np.flatnonzero(best >= self.nats).tolist():
            k = int(arm[place])
            self.nats[place] = best[place]
            self.what[place] = k, 100.0 * float(before[place, k]), 100.0 * float(after[place, k]), split

    def found(self) -> Iterator[tuple[int, int, float, float, Any]]:
        for place in sorted(self.what):
            yield place, *self.what[place]


def _two_sided(hits: Floats, size: Floats, more_hits: Floats, more_size: Floats) -> Floats:
    """Fisher's exact test: minus the logarithm of twice the smaller tail, given all margins."""
    with optional("logs", "tests of an assumption"):
        from scipy.stats import hypergeom

    everything, chosen = size + more_size, hits + more_hits
    law = hypergeom(everything, chosen, size)
    least = 2.0 * np.minimum(law.cdf(hits), law.sf(hits - 1.0))
    with np.errstate(divide="ignore"):
        found: Floats = np.where((size > 0.0) & (more_size > 0.0), -np.log(np.minimum(least, 1.0)), 0.0)
    return found


def _moved(one: Cells, two: Cells) -> Floats:
    """How clearly the mean reward of each arm differs, given the rewards of both sides together, in nats.

    If nothing changed, the rewards of one side are a sample of all of them, drawn without replacement. For rewards of 0
    and 1 its law is known. In general Hoeffding's (1963) and Bernstein's bounds hold for such a sample, with the mean
    and the variance of all rewards, which are known; the smaller side is looked at.
    """
    rows, total, squares = one.rows + two.rows, one.total + two.total, one.squares + two.squares
    seen = (one.rows > 0.0) & (two.rows > 0.0)
    size = np.where(seen, np.minimum(one.rows, two.rows), 1.0)
    side = np.where(one.rows <= two.rows, one.total, two.total) / size
    mean = np.where(seen, total / np.maximum(rows, 1.0), 0.5)
    side, mean = np.clip(np.where(seen, side, 0.5), 0.0, 1.0), np.clip(mean, 0.0, 1.0)
    off = np.abs(side - mean)
    spread = np.maximum(squares / np.maximum(rows, 1.0) - mean**2, 0.0) + 1e-12
    nats = np.maximum(size * np.asarray(bernoulli_kl(side, mean)), size * off**2 / (2.0 * spread + 2.0 / 3.0 * off))
    nats = np.where(seen, np.maximum(nats - log(2.0), 0.0), 0.0)
    whole = seen & (np.abs(total - squares) <= 1e-9 * rows) & (np.abs(total - np.round(total)) <= 1e-6)
    if whole.any():
        first, second = (np.round(part.total[whole]) for part in (one, two))
        nats[whole] = _two_sided(first, one.rows[whole], second, two.rows[whole])
    found: Floats = nats
    return found
