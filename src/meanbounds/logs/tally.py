"""A log while it is being counted: groups of rows that an engine counted, in columns, and from them `Counts`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from math import inf
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from meanbounds.logs.counts import Counts
from meanbounds.logs.errors import LogError
from meanbounds.logs.histogram import MOST_VALUES, Histogram, bin_edges, binned
from meanbounds.logs.names import EVERYTHING, in_order, natural_ranks
from meanbounds.logs.query import SPACES
from meanbounds.support.types import Floats

__all__ = ["Codes", "Groups", "Layout", "Order", "Tally", "count_up", "plain_name", "whole_numbers"]

Places = NDArray[np.intp]


@dataclass(frozen=True)
class Layout:
    """Which columns a log has, and in which order its contexts and arms go into the counts.

    `categories` are the values, in order, of columns that are ordered categoricals of pandas; `untyped` says that all
    fields are text, as in CSV.

    Examples
    --------
    >>> from meanbounds.logs.tally import Layout
    >>> Layout(("age",), "drug", "outcome", 0.0, 1.0).wanted
    ('age', 'drug', 'outcome')
    """

    context: tuple[str, ...]
    arm: str
    reward: str
    low: float
    high: float
    contexts: Sequence[Any] | None = None
    arms: Sequence[Any] | None = None
    categories: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    untyped: bool = False
    weight: str | None = None
    whole_weights: bool = True
    time: str | None = None

    @property
    def wanted(self) -> tuple[str, ...]:
        """All columns, each once: those of the context, the arm's and the reward's, then of weights and times."""
        more = (name for name in (self.weight, self.time) if name is not None)
        return tuple(dict.fromkeys((*self.context, self.arm, self.reward, *more)))

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns that hold numbers: of rewards, and of weights."""
        return (self.reward,) if self.weight is None else (self.reward, self.weight)

    def arranged(self, names: Sequence[Sequence[Any]], combined: Sequence[Places]) -> tuple[Order, Order]:
        """Put contexts and arms in order.

        `names` are the different names of each column, the arm's last. Each context is a combination of the names of
        its columns: `combined` has their places in `names`, one array for each column of the context.

        Examples
        --------
        >>> import numpy as np
        >>> from meanbounds.logs.tally import Layout
        >>> layout = Layout(("age",), "drug", "outcome", 0.0, 1.0, untyped=True)
        >>> contexts, arms = layout.arranged([["10", "9"], ["watch", "tPA"]], [np.array([0, 1])])
        >>> contexts.names, contexts.places, arms.names
        ([9, 10], array([1, 0]), ['tPA', 'watch'])
        """
        layout = self
        if self.untyped:
            names, layout = self._typed(names)
        return layout._contexts(names[:-1], combined), layout._arms(names[-1])

    def _contexts(self, names: Sequence[Sequence[Any]], combined: Sequence[Places]) -> Order:
        parts = [_taken(own, places) for own, places in zip(names, combined, strict=True)]
        found = [EVERYTHING] if not parts else parts[0] if len(parts) == 1 else list(zip(*parts, strict=True))
        if self.contexts is not None or not parts:
            return Order.listed("context", found, self.contexts)
        ranks = [self._ranks(name, own) for name, own in zip(self.context, names, strict=True)]
        order = np.lexsort([own[places] for own, places in zip(ranks, combined, strict=True)][::-1])
        return Order.by(found, order)

    def _arms(self, names: Sequence[Any]) -> Order:
        own = self.categories.get(self.arm, ())
        listed = own if self.arms is None and own and set(names) <= set(own) else self.arms
        return Order.listed("arm", list(names), listed)

    def _ranks(self, column: str, names: Sequence[Any]) -> Places:
        """The places of names in the order of the column's own categories, if it has all of them, or in natural one."""
        own = {name: place for place, name in enumerate(self.categories.get(column, ()))}
        if own and own.keys() >= set(names):
            return np.array([own[name] for name in names], dtype=np.intp)
        return natural_ranks(names)

    def _typed(self, names: Sequence[Sequence[Any]]) -> tuple[list[list[Any]], Layout]:
        """Found and listed names with each column as integers if all of it is, else as text."""
        listed = [name if isinstance(name, tuple | list) else (name,) for name in self.contexts or ()]
        if any(len(parts) != max(len(self.context), 1) for parts in listed):
            raise LogError(f"each of contexts= needs one value for each of {list(self.context)}; got {self.contexts!r}")
        more = [[parts[i] for parts in listed] for i in range(len(self.context))] + [list(self.arms or ())]
        columns = [whole_numbers([*own, *map(str, extra)]) for own, extra in zip(names, more, strict=True)]
        typed = [list(column[: len(own)]) for column, own in zip(columns, names, strict=True)]
        *new_contexts, new_arms = (column[len(own) :] for column, own in zip(columns, names, strict=True))
        contexts, arms = self.contexts, self.arms
        if contexts is not None and new_contexts:
            contexts = [parts if len(parts) > 1 else parts[0] for parts in zip(*new_contexts, strict=True)]
        return typed, replace(self, contexts=contexts, arms=None if arms is None else new_arms)


@dataclass(frozen=True)
class Order:
    """Names in order, and at which place of it each of the names that were found is."""

    names: list[Any]
    places: Places

    @classmethod
    def by(cls, found: Sequence[Any], order: Places) -> Order:
        """The found names, sorted by somebody else."""
        places = np.empty(len(found), dtype=np.intp)
        places[order] = np.arange(len(found))
        return cls(_taken(found, order), places)

    @classmethod
    def listed(cls, what: str, found: Sequence[Any], listed: Sequence[Any] | None) -> Order:
        """The found names in the order of a list, which may have more of them, or in natural order."""
        names = in_order(what, found, listed)
        where = {name: place for place, name in enumerate(names)}
        return cls(names, np.array([where[name] for name in found], dtype=np.intp))


class Codes(dict[Any, int]):
    """Numbers the different names of a column: maps what the engine wrote to a number, -1 where a name is missing."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str | int] = []
        self._converted: dict[str | int, int] = {}

    def __missing__(self, written: Any) -> int:
        name = plain_name(written)
        if name is None:
            code = -1
        elif name is written:
            code = len(self.names)
        else:  # others may become the same name
            code = self._converted.setdefault(name, len(self.names))
        if code == len(self.names) and name is not None:
            self.names.append(name)
        self[written] = code
        return code

    def of(self, column: Sequence[Any]) -> Places:
        """The number of each entry of a column."""
        return np.fromiter(map(self.__getitem__, column), dtype=np.intp, count=len(column))


@dataclass(frozen=True, eq=False)
class Groups:
    """Some groups of rows that have the same context, arm and perhaps reward, as the engine counted them.

    Attributes
    ----------
    keys
        The names of each group, column by column, the arm's last.
    rows, good
        Rows of each group, and how many of them can be counted.
    count
        How many rows those that can be counted stand for: they themselves, or the sum of their weights.
    total, squares
        Arrays that add up to the sums of rewards and of their squares.
    value
        The reward of each group, or its bin; None if rewards are not counted by value.
    """

    keys: Sequence[Sequence[Any]]
    rows: Floats
    good: Floats
    count: Floats
    total: Sequence[Floats]
    squares: Sequence[Floats]
    value: Floats | None = None

    @classmethod
    def of_values(cls, keys: Sequence[Sequence[Any]], rows: Floats, count: Floats, value: Floats) -> Groups:
        """Groups by reward, which is NaN where the rows cannot be counted."""
        good, clean = np.isfinite(value), np.nan_to_num(value) + 0.0  # minus zero is zero
        sums = clean * count, clean * clean * count
        return cls(keys, rows, np.where(good, rows, 0.0), count, [sums[0]], [sums[1]], clean)


@dataclass(frozen=True, eq=False)
class _Kept:
    """What is kept of some groups: the numbers of their names, and their sums."""

    keys: list[NDArray[np.int32]]
    count: Floats
    total: list[Floats]
    squares: list[Floats]
    value: Floats | None


@dataclass
class Tally:
    """The whole log while it is being counted: groups of rows, column by column.

    `values` says how rewards are counted in each cell: not at all, each value by itself, or by bin.

    Examples
    --------
    >>> import numpy as np
    >>> from meanbounds.logs.tally import Groups, Layout, Tally
    >>> tally = Tally("single", columns=1)
    >>> rows = np.array([1.0, 2.0])
    >>> tally.add(Groups.of_values([["tPA", "tPA"]], rows, rows, value=np.array([0.0, 1.0])))
    >>> tally.counts(Layout((), "drug", "outcome", 0.0, 1.0))
    Counts(3 rows, 1 context, 1 arm, rewards in [0.0, 1.0], 2 values)
    """

    values: Literal["none", "single", "bins"]
    columns: int
    rows: int = 0
    bad: int = 0
    kinds: dict[str, int] = field(default_factory=dict)
    _codes: list[Codes] = field(init=False)
    _kept: list[_Kept] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._codes = [Codes() for _ in range(self.columns)]

    def add(self, groups: Groups) -> None:
        """Count some groups of rows; those with a missing name, or without a good row, are bad.

        Examples
        --------
        >>> import numpy as np
        >>> from meanbounds.logs.tally import Groups, Tally
        >>> tally, three = Tally("none", columns=2), np.array([3.0])
        >>> tally.add(Groups([["old"], [None]], three, three, three, [three], [three]))  # the arm is missing
        >>> tally.rows, tally.bad, tally.empty
        (3, 3, True)
        """
        keys = [codes.of(column) for codes, column in zip(self._codes, groups.keys, strict=True)]
        good = np.where(np.all([own >= 0 for own in keys], axis=0), groups.good, 0.0)
        rows = round(float(groups.rows.sum()))
        self.rows += rows
        self.bad += rows - round(float(good.sum()))
        kept = (good > 0.0) & (groups.count > 0.0)
        self._kept.append(
            _Kept(
                [own[kept].astype(np.int32) for own in keys],
                groups.count[kept],
                [part[kept] for part in groups.total],
                [part[kept] for part in groups.squares],
                None if groups.value is None else groups.value[kept],
            )
        )

    @property
    def empty(self) -> bool:
        """Whether there is no row that can be counted."""
        return not any(own.count.size for own in self._kept)

    def counts(self, layout: Layout, most: float = inf) -> Counts:
        """Return the counts in the order of the layout; without a histogram of more than `most` numbers."""
        *context, arm = (self._joined("keys", place) for place in range(self.columns))
        contexts, combined = _combinations(context, arm.size)
        used, arm = _in_use(arm)
        names = [codes.names for codes in self._codes]
        rows, columns = layout.arranged([*names[:-1], _taken(names[-1], used)], combined)
        shape = (len(rows.names), len(columns.names))
        cells = rows.places[contexts] * shape[1] + columns.places[arm]
        count = self._all([own.count for own in self._kept])
        sums = {"count": count_up(cells, [count], shape)}
        for name in ("total", "squares"):
            parts = len(getattr(self._kept[0], name))
            sums[name] = count_up(cells, [self._joined(name, part) for part in range(parts)], shape)
        return Counts(
            rows.names,
            columns.names,
            **sums,
            low=layout.low,
            high=layout.high,
            dropped=self.kinds,
            histogram=self._histogram(cells, count, shape, layout, most),
            context_names=layout.context,
            arm_name=layout.arm,
            reward_name=layout.reward,
            arms_listed=layout.arms is not None,
            weight_name=layout.weight,
            whole_weights=layout.whole_weights,
        )

    def _joined(self, name: str, place: int) -> Any:
        """One of the columns of all groups."""
        return self._all([getattr(own, name)[place] for own in self._kept])

    @staticmethod
    def _all(parts: Sequence[Any]) -> Any:
        return np.concatenate(parts)

    def _histogram(
        self, cells: Places, count: Floats, shape: tuple[int, int], layout: Layout, most: float
    ) -> Histogram | None:
        if self.values == "none":
            return None
        values = self._all([own.value for own in self._kept])
        low, high = layout.low, layout.high
        single = np.unique(values)
        if self.values == "single" and len(single) <= MOST_VALUES:
            edges, places = (single, single), np.searchsorted(single, values)
        else:
            edges = bin_edges(low, high)
            places = values.astype(np.intp) if self.values == "bins" else binned(values, low, high)
        whole = (*shape, len(edges[0]))
        if np.prod(whole, dtype=np.float64) > most:
            return None
        counted = np.bincount(cells * whole[2] + places, weights=count, minlength=int(np.prod(whole)))
        return Histogram(edges[0], edges[1], counted.reshape(whole))


def count_up(places: Places, parts: Sequence[Floats], shape: tuple[int, int]) -> Floats:
    """Add up the parts of each place without loss of digits: rounding errors are added up beside the sums.

    Examples
    --------
    >>> import numpy as np
    >>> from meanbounds.logs.tally import count_up
    >>> count_up(np.array([1, 0, 1, 1]), [np.array([1e17, 2.0, 3.0, -1e17])], (1, 2))
    array([[2., 3.]])
    """
    total, lost = np.zeros(shape[0] * shape[1]), np.zeros(shape[0] * shape[1])
    for chosen in _turns(places):
        at = places[chosen]
        for part in parts:
            before, more = total[at], part[chosen]
            after = before + more
            of_more = after - before
            total[at] = after
            lost[at] += (before - (after - of_more)) + (more - of_more)
    return (total + lost).reshape(shape)


def _turns(places: Places) -> list[Places]:
    """The positions of an array in turns, so that no place occurs twice in a turn."""
    order = np.argsort(places, kind="stable")
    own = places[order]
    starts = np.flatnonzero(np.append(True, own[1:] != own[:-1]))
    turn = np.arange(own.size) - np.repeat(starts, np.diff(np.append(starts, own.size)))
    by_turn = order[np.argsort(turn, kind="stable")]
    return np.split(by_turn, np.cumsum(np.bincount(turn))[:-1])


def _in_use(codes: Places) -> tuple[Places, Places]:
    """The numbers that occur, in order, and the place of each entry among them."""
    used = np.bincount(codes) > 0
    return np.flatnonzero(used), (np.cumsum(used) - 1)[codes]


def _combinations(columns: Sequence[Places], size: int) -> tuple[Places, list[Places]]:
    """The different combinations of some columns: the number of each entry's, and the columns of all of them."""
    if not columns:
        return np.zeros(size, dtype=np.intp), []
    if len(columns) == 1:
        used, found = _in_use(columns[0])
        return found, [used]
    found, first = np.zeros(size, dtype=np.int64), np.zeros(0, dtype=np.intp)
    for column in columns:  # one by one, so that the product of all sizes need not fit
        _, first, found = np.unique(found * (int(column.max()) + 1) + column, return_index=True, return_inverse=True)
    return found, [column[first].astype(np.intp) for column in columns]


def _taken(names: Sequence[Any], places: Places) -> list[Any]:
    """The names at some places."""
    return list(map(names.__getitem__, places.tolist()))


def plain_name(value: Any) -> str | int | None:
    """Return a name as text or an integer; None if it is missing: NULL, NaN, or nothing but spaces.

    Examples
    --------
    >>> from meanbounds.logs.tally import plain_name
    >>> [plain_name(value) for value in ("tPA", "  ", 3.0, 2.5, float("nan"), True)]
    ['tPA', None, 3, '2.5', None, 'true']
    """
    if isinstance(value, str):
        return value if value.strip(SPACES) else None
    if value is None or value != value:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return value
    if isinstance(value, float | Decimal):
        if math.isfinite(value) and value == int(value):
            return int(value)
        return repr(value) if isinstance(value, float) else f"{value.normalize():f}"
    return str(value)


def whole_numbers(names: Iterable[Any]) -> tuple[Any, ...]:
    """Text that is integers throughout, as Python writes them, becomes integers."""
    texts = tuple(names)
    try:
        numbers = tuple(map(int, texts))
    except ValueError:
        return texts
    return numbers if tuple(map(str, numbers)) == tuple(map(str, texts)) else texts
