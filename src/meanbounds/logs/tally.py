"""A log while it is being counted: cells of context and arm, and from them `Counts`."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Literal

import numpy as np

from meanbounds.logs.counts import Counts
from meanbounds.logs.errors import LogError
from meanbounds.logs.histogram import MOST_VALUES, Histogram, bin_edges, binned
from meanbounds.logs.names import EVERYTHING, in_order, natural_order
from meanbounds.logs.query import SPACES

__all__ = ["Cell", "Layout", "Tally", "plain_name"]


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

    @property
    def wanted(self) -> tuple[str, ...]:
        """All columns: those of the context, the arm's and the reward's."""
        return (*self.context, self.arm, self.reward)

    def named(self, keys: Sequence[tuple[Any, ...]]) -> tuple[list[tuple[Any, Any]], list[Any], list[Any]]:
        """Return the context and arm of each key, then all contexts and all arms in order.

        Examples
        --------
        >>> from meanbounds.logs.tally import Layout
        >>> keys = [("10", "watch"), ("9", "tPA")]
        >>> Layout(("age",), "drug", "outcome", 0.0, 1.0, untyped=True).named(keys)
        ([(10, 'watch'), (9, 'tPA')], [9, 10], ['tPA', 'watch'])
        """
        layout = self
        if self.untyped:
            keys, layout = self._typed(keys)
        found = [(_context(key[:-1]), key[-1]) for key in keys]
        contexts, arms = layout.contexts, layout.arms
        orders = self._orders(keys)
        seen = {name for name, _ in found}
        if contexts is None and orders.keys() & set(self.context):
            contexts = sorted(seen, key=lambda name: self._place(name, orders))
        if arms is None:
            arms = orders.get(self.arm)
        return found, in_order("context", seen, contexts), in_order("arm", (arm for _, arm in found), arms)

    def _orders(self, keys: Sequence[tuple[Any, ...]]) -> dict[str, Sequence[Any]]:
        """Columns with an order of their own, if it has all of their names."""
        columns = zip((*self.context, self.arm), zip(*keys, strict=True), strict=True)
        return {name: self.categories[name] for name, own in columns if set(own) <= set(self.categories.get(name, ()))}

    def _place(self, name: Any, orders: Mapping[str, Sequence[Any]]) -> tuple[Any, ...]:
        """Key that sorts contexts column by column: by the order of its categories, or naturally."""
        parts = name if isinstance(name, tuple) else (name,)
        return tuple(
            orders[column].index(part) if column in orders else natural_order(part)
            for column, part in zip(self.context, parts, strict=True)
        )

    def _typed(self, keys: Sequence[tuple[Any, ...]]) -> tuple[list[tuple[Any, ...]], Layout]:
        """Keys and listed names with each column as integers if all of it is, else as text."""
        listed = [name if isinstance(name, tuple | list) else (name,) for name in self.contexts or ()]
        if any(len(parts) != max(len(self.context), 1) for parts in listed):
            raise LogError(f"each of contexts= needs one value for each of {list(self.context)}; got {self.contexts!r}")
        more = [[parts[i] for parts in listed] for i in range(len(self.context))] + [list(self.arms or ())]
        columns = [
            _integers([*own, *map(str, names)]) for own, names in zip(zip(*keys, strict=True), more, strict=True)
        ]
        typed = list(zip(*(column[: len(keys)] for column in columns), strict=True))
        *new_contexts, new_arms = (column[len(keys) :] for column in columns)
        contexts, arms = self.contexts, self.arms
        if contexts is not None and new_contexts:
            contexts = [_context(parts) for parts in zip(*new_contexts, strict=True)]
        return typed, replace(self, contexts=contexts, arms=None if arms is None else new_arms)


@dataclass
class Cell:
    """One context and arm while it is being counted."""

    rows: int = 0
    total: list[float] = field(default_factory=list)
    squares: list[float] = field(default_factory=list)
    values: dict[float, int] = field(default_factory=lambda: defaultdict(int))


@dataclass
class Tally:
    """The whole log while it is being counted.

    `values` says how rewards are counted in each cell: not at all, each value by itself, or by bin.

    Examples
    --------
    >>> from meanbounds.logs.tally import Layout, Tally
    >>> tally = Tally("single")
    >>> cell = tally.add(("tPA",), rows=3, good=3)
    >>> cell.values.update({0.0: 1, 1.0: 2})
    >>> tally.sum_values()
    >>> tally.counts(Layout((), "drug", "outcome", 0.0, 1.0))
    Counts(3 rows, 1 context, 1 arm, rewards in [0.0, 1.0], 2 values)
    """

    values: Literal["none", "single", "bins"]
    rows: int = 0
    bad: int = 0
    kinds: dict[str, int] = field(default_factory=dict)
    cells: dict[tuple[Any, ...], Cell] = field(default_factory=lambda: defaultdict(Cell))
    _found: dict[tuple[Any, ...], Cell] = field(default_factory=dict)  # by the key as the engine wrote it

    def add(self, key: tuple[Any, ...], rows: int, good: int) -> Cell | None:
        """Count rows of one context and arm, and return their cell; None if none of the rows is good.

        Examples
        --------
        >>> from meanbounds.logs.tally import Tally
        >>> tally = Tally("none")
        >>> tally.add(("old", None), rows=3, good=3) is None  # the arm is missing
        True
        >>> tally.rows, tally.bad
        (3, 3)
        """
        self.rows += rows
        cell = self._found.get(key)
        if cell is None and good:
            names = tuple(map(plain_name, key))
            if None not in names:
                cell = self._found[key] = self.cells[names]
        if cell is None or not good:
            self.bad += rows
            return None
        self.bad += rows - good
        cell.rows += good
        return cell

    def sum_values(self) -> None:
        """Compute the sums of each cell from how often each value occurs; `counts` adds them up without rounding."""
        for cell in self.cells.values():
            cell.total = [value * rows for value, rows in cell.values.items()]
            cell.squares = [value * value * rows for value, rows in cell.values.items()]

    def counts(self, layout: Layout) -> Counts:
        """Return the counts, with contexts and arms in the order of the layout."""
        found, contexts, arms = layout.named(list(self.cells))
        rows, columns = ({name: place for place, name in enumerate(names)} for names in (contexts, arms))
        places = [(rows[name], columns[arm]) for name, arm in found]
        sums = {name: np.zeros((len(contexts), len(arms))) for name in ("count", "total", "squares")}
        for place, cell in zip(places, self.cells.values(), strict=True):
            sums["count"][place] = cell.rows
            sums["total"][place] = math.fsum(cell.total)
            sums["squares"][place] = math.fsum(cell.squares)
        return Counts(
            contexts,
            arms,
            **sums,
            low=layout.low,
            high=layout.high,
            dropped=self.kinds,
            histogram=self._histogram(places, sums["count"].shape, layout),
            context_names=layout.context,
            arm_name=layout.arm,
            reward_name=layout.reward,
            arms_listed=layout.arms is not None,
        )

    def _histogram(self, places: Sequence[tuple[int, int]], shape: tuple[int, ...], layout: Layout) -> Histogram | None:
        if self.values == "none":
            return None
        low, high = layout.low, layout.high
        single = sorted({value for cell in self.cells.values() for value in cell.values})
        exact = self.values == "single" and len(single) <= MOST_VALUES
        edges = (np.array(single), np.array(single)) if exact else bin_edges(low, high)
        count = np.zeros((*shape, len(edges[0])))
        position = {value: number for number, value in enumerate(single)}
        for place, cell in zip(places, self.cells.values(), strict=True):
            if exact:
                for value, rows in cell.values.items():
                    count[place][position[value]] = rows
            else:
                values = np.array(list(cell.values))
                bins = values.astype(np.intp) if self.values == "bins" else binned(values, low, high)
                np.add.at(count[place], bins, list(cell.values.values()))
        return Histogram(edges[0], edges[1], count)


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


def _context(parts: tuple[Any, ...]) -> Any:
    return parts if len(parts) > 1 else parts[0] if parts else EVERYTHING


def _integers(names: Iterable[Any]) -> tuple[Any, ...]:
    """Text that is integers throughout, as Python writes them, becomes integers."""
    texts = tuple(names)
    try:
        numbers = tuple(map(int, texts))
    except ValueError:
        return texts
    return numbers if tuple(map(str, numbers)) == tuple(map(str, texts)) else texts
