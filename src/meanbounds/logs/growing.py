"""Grow a tree on rows in memory: by what the experts chose and what it brought, best split first."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import chdtri, xlogy

from meanbounds.agents.tree import Side, Split, Tree
from meanbounds.support.types import Booleans, Floats, Integers

__all__ = ["grow"]

_BINS = 32  # of a numeric column, with about as many rows in each
_FEW = 100  # different numbers up to which each has its own bin


def grow(
    columns: Mapping[str, Floats | Sequence[str | None]],
    arms: Integers,
    rewards: Floats,
    *,
    leaves: int = 32,
    rows_per_leaf: int = 30,
    p: float = 0.05,
) -> Tree:
    """Grow a tree that tells apart where experts chose differently, or earned differently with the same choice.

    A leaf with n rows, of which n[k] chose option k and earned s[k], has the deviance 2 sum over k of s log(s / n) +
    (n[k] - s) log((n[k] - s) / n). The split that raises their sum most comes first, as long as it raises it by more
    than chance would in a share `p` of nodes without any differences.

    Parameters
    ----------
    columns
        Numbers, with nan where they are missing; or a list of texts, with None where they are missing.
    arms, rewards
        What each row chose, as whole numbers from 0, and its reward from 0 to 1.
    leaves, rows_per_leaf, p
        As for `meanbounds.logs.partition`.

    Examples
    --------
    >>> import numpy as np
    >>> age, arms = np.arange(600.0) % 60 + 40, np.arange(600) // 60 % 2
    >>> grow({"age": age}, arms, np.where((age >= 75) == (arms == 1), 1.0, 0.0)).contexts
    ('age < 75', 'age >= 75', 'unknown: age')
    """
    rewards = np.round(rewards * 2.0**30) / 2.0**30  # sums are exact, and do not depend on the order of the rows
    features = [_Feature.of(name, values) for name, values in columns.items()]
    found: list[tuple[float, int, Split, Booleans]] = []
    rows: dict[int, Integers] = {}
    nodes: list[Split | int] = [0]  # in reading order; leaves by their numbers

    def add(node: int, own: Integers) -> None:
        rows[node] = own
        if best := _best(features, own, arms[own], rewards[own], rows_per_leaf, p):
            if best[1].below is not None:
                near = [feature.near(best[1].below, own) for feature in features if feature.name == best[1].column]
                finer = _best(near, np.arange(len(own)), arms[own], rewards[own], rows_per_leaf, 1.0)
                best = best[0], *(finer or best)[1:]
            heapq.heappush(found, (-best[0], node, *best[1:]))

    add(0, np.arange(len(arms)))
    while found and len(rows) < leaves:
        _, node, split, left = heapq.heappop(found)
        own, place, first = rows.pop(node), nodes.index(node), len(nodes)
        nodes[place : place + 1] = [split, first, first + 1]
        add(first, own[left])
        add(first + 1, own[~left])
    return Tree(tuple(node if isinstance(node, Split) else None for node in nodes))


@dataclass(frozen=True, eq=False)
class _Feature:
    """A column in few values: the bin or category of each row, and one more for missing ones."""

    name: str
    values: list[Any]  # the thresholds between bins, or the categories
    size: int
    codes: Integers
    numbers: Floats | None = None

    @property
    def numeric(self) -> bool:
        return self.size > len(self.values)

    @classmethod
    def of(cls, name: str, values: Floats | Sequence[str | None]) -> _Feature:
        if isinstance(values, np.ndarray):
            return cls.binned(name, values, _cuts(values))
        names = sorted({text for text in values if text is not None})
        place: dict[str | None, int] = {text: k for k, text in enumerate(names)} | {None: len(names)}
        return cls(name, names, len(names), np.fromiter(map(place.__getitem__, values), np.int64, len(values)))

    @classmethod
    def binned(cls, name: str, values: Floats, cuts: list[float]) -> _Feature:
        """A column of numbers with these thresholds between bins."""
        codes = np.where(np.isnan(values), len(cuts) + 1, np.searchsorted(np.array(cuts), values, side="right"))
        return cls(name, cuts, len(cuts) + 1, codes, values)

    def near(self, cut: float, own: Integers) -> _Feature:
        """The column in some rows, with finer bins on both sides of a threshold."""
        assert self.numbers is not None
        values, ends = self.numbers[own], [-np.inf, *self.values, np.inf]
        low, high = (ends[ends.index(cut) + step] for step in (-1, 1))
        return self.binned(self.name, values, sorted({cut, *_cuts(values[(values >= low) & (values < high)])}))

    def sums(self, own: Integers, arms: Integers, rewards: Floats, number: int) -> Floats:
        """What is in each value: the sum of rewards of each option, and then of what they fell short of 1."""
        cells = self.codes[own] * number + arms
        total = (self.size + 1) * number
        count = np.bincount(cells, minlength=total).reshape(-1, number)
        earned = np.bincount(cells, rewards, total).reshape(-1, number)
        return np.concatenate([earned, np.maximum(count - earned, 0.0)], axis=1)

    def lefts(self, sums: Floats) -> tuple[Booleans, Integers]:
        """The values that go left in each split that is possible, and how many of its ends chance could choose."""
        seen = np.flatnonzero(sums.sum(axis=1))
        if self.numeric:
            left = np.tri(self.size - 1, self.size + 1, dtype=np.bool_)
            if self.size in seen:
                alone = np.arange(self.size + 1) == self.size
                # Of splits that part the rows alike, the first counts: whether the number is missing is the plainest.
                left = np.concatenate([alone[None], left, left | alone])
            return left, np.zeros(len(left), dtype=np.int64)
        alone = np.eye(self.size + 1, dtype=np.bool_)
        left, free = alone[seen if len(seen) > 2 else seen[:1]], 0
        if len(seen) > 3:  # the ends of an order by mean reward are as far apart as chance makes any two sets of values
            means = sums[seen, : sums.shape[1] // 2].sum(axis=1) / sums[seen].sum(axis=1)
            ordered = alone[seen[np.argsort(means, kind="stable")]]
            left, free = np.concatenate([left, np.cumsum(ordered, axis=0, dtype=np.bool_)[:-1]]), len(seen) - 2
        return left, np.where(np.arange(len(left)) < len(seen), 0, free)

    def split(self, left: Booleans, seen: Booleans) -> Split:
        """The question that sends these values left; missing values have a side if there were any."""
        missing: Side | None = None if not seen[-1] else "left" if left[-1] else "right"
        if self.numeric:
            return Split(self.name, self.values[int(left[:-1].sum()) - 1] if left[0] else None, missing=missing)
        first, second = (
            tuple(name for name, there in zip(self.values, side, strict=False) if there)
            for side in (left & seen, ~left & seen)
        )
        return Split(self.name, None, first, second, missing)


def _best(
    features: Sequence[_Feature], own: Integers, arms: Integers, rewards: Floats, least: int, p: float
) -> tuple[float, Split, Booleans] | None:
    """The best split of these rows, with by how much it is better than chance, and whether each row goes left."""
    used, arms = np.unique(arms, return_inverse=True)
    tables = [feature.sums(own, arms, rewards, len(used)) for feature in features]
    options: list[tuple[int, Booleans, Integers, Floats]] = []
    for place, (feature, table) in enumerate(zip(features, tables, strict=True)):
        left, free = feature.lefts(table)
        sums = left @ table
        size = sums.sum(axis=1)
        fits = (size > least - 0.5) & (len(own) - size > least - 0.5)
        options.append((place, left[fits], free[fits], sums[fits]))
    number = sum(len(left) for _, left, _, _ in options)
    best: tuple[float, int, Booleans] | None = None
    for place, left, free, sums in options:
        if len(left):
            whole = tables[place].sum(axis=0)
            gains = _deviance(sums) + _deviance(np.maximum(whole - sums, 0.0)) - _deviance(whole)
            gains -= chdtri(np.count_nonzero(whole) - 1 + free, min(1.0, p / number))
            k = int(gains.argmax())
            if gains[k] > (best[0] if best else 0.0):
                best = float(gains[k]), place, left[k]
    if best is None:
        return None
    gain, place, left = best
    return gain, features[place].split(left, tables[place].sum(axis=1) > 0.0), left[features[place].codes[own]]


def _deviance(sums: Floats) -> Floats:
    """The deviance of cells (..., cells) from a certain choice with a certain reward, with a minus sign."""
    deviance: Floats = 2.0 * (xlogy(sums, sums).sum(axis=-1) - xlogy(total := sums.sum(axis=-1), total))
    return deviance


def _cuts(values: Floats) -> list[float]:
    """Thresholds near the quantiles of numbers that have few digits, or between all of them if they are few."""
    ordered = np.sort(values[np.isfinite(values)])
    distinct = np.unique(ordered)
    ends = distinct[:-1], distinct[1:]
    if len(distinct) > _FEW:
        places, some = np.arange(1, _BINS) * len(ordered) // _BINS, len(ordered) // (2 * _BINS) - 1
        below = distinct[np.maximum(np.searchsorted(distinct, ordered[places]) - 1, 0)]
        ends = np.minimum(ordered[places - some], below), ordered[places + some]
    return sorted({_short(low, high) for low, high in zip(*map(np.ndarray.tolist, ends), strict=True) if low < high})


def _short(low: float, high: float) -> float:
    """The number with the fewest digits that is above one and at most the other."""
    for digits in range(1, 18):
        for middle in ((low + high) / 2.0, high):
            if low < (found := float(f"{middle:.{digits}g}")) <= high:
                return found
    return high
