"""What a log says, in a few numbers for each context and arm."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from meanbounds.bounds import Arm
from meanbounds.support.types import Floats

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["EVERYTHING", "MOST_VALUES", "Context", "Counts", "LogError", "bin_edges", "sort_key"]

Context = str | int | tuple[str | int, ...]
"""The name of a context: one value, or a tuple of them where several columns make a context."""


EVERYTHING = "all"
"""The one context of a log that is read without context columns."""

MOST_VALUES = 256
"""Up to this many different rewards are counted one by one; beyond, in as many equal bins."""

_FORMAT = 1
_SLACK = 2.0**-48  # relative; more than the rounding of a reward's bin, far less than a bin


class LogError(ValueError):
    """A log that cannot be counted as it is; the message says what is wrong, where, and what to do."""


@dataclass(frozen=True, eq=False, repr=False)
class Counts:
    """Number of rows, sum and sum of squares of the rewards for each context and arm of a log.

    Parameters
    ----------
    contexts, arms
        Names, in the order of the arrays. A context made of several columns is a tuple; a log without context columns
        has the one context ``"all"``.
    count, total, squares
        Arrays, contexts x arms: rows, sum of the rewards and sum of their squares, in reward units.
    low, high
        The range of the rewards.
    dropped
        For each kind of bad row how many were left out.
    values_low, values_high
        The different rewards that occur, twice the same array; or the two edges of each bin.
    histogram
        Array, contexts x arms x values: how often each of them occurs; None if it was not counted.
    context_names, arm_name, reward_name
        The columns that these counts were read from.

    Examples
    --------
    >>> import meanbounds as mb
    >>> count, total = [[2, 1], [0, 3]], [[2, 0], [0, 1]]
    >>> counts = mb.logs.Counts(["young", "old"], ["tPA", "watch"], count, total, squares=total)
    >>> counts
    Counts(6 rows, 2 contexts, 2 arms, rewards in [0.0, 1.0])
    >>> int(counts.count[counts.position("old")].sum())
    3
    >>> (counts + counts).rows
    12
    """

    contexts: tuple[Context, ...]
    arms: tuple[Arm, ...]
    count: Floats
    total: Floats
    squares: Floats
    low: float = 0.0
    high: float = 1.0
    dropped: Mapping[str, int] = field(default_factory=dict)
    values_low: Floats | None = None
    values_high: Floats | None = None
    histogram: Floats | None = None
    context_names: tuple[str, ...] = ()
    arm_name: str = "arm"
    reward_name: str = "reward"

    def __init__(
        self,
        contexts: Sequence[Context],
        arms: Sequence[Arm],
        count: Any,
        total: Any,
        squares: Any,
        low: float = 0.0,
        high: float = 1.0,
        dropped: Mapping[str, int] | None = None,
        values_low: Any = None,
        values_high: Any = None,
        histogram: Any = None,
        context_names: Sequence[str] = (),
        arm_name: str = "arm",
        reward_name: str = "reward",
    ) -> None:
        names = tuple(tuple(_plain(x) for x in c) if isinstance(c, tuple | list) else _plain(c) for c in contexts)
        columns = tuple(_plain(arm) for arm in arms)
        shape = (len(names), len(columns))
        low, high = check_range(low, high)
        _check_names("context", names)
        _check_names("arm", columns)
        parts = {
            "contexts": names,
            "arms": columns,
            "count": _array("count", count, shape),
            "total": _array("total", total, shape),
            "squares": _array("squares", squares, shape),
            "low": low,
            "high": high,
            "dropped": {str(kind): int(number) for kind, number in (dropped or {}).items()},
            "values_low": None,
            "values_high": None,
            "histogram": None,
            "context_names": tuple(context_names),
            "arm_name": arm_name,
            "reward_name": reward_name,
        }
        if histogram is not None:
            if values_low is None or values_high is None:
                raise LogError("a histogram needs values_low and values_high: the values, or the edges of its bins")
            size = np.size(values_low)
            parts["values_low"] = _array("values_low", values_low, (size,))
            parts["values_high"] = _array("values_high", values_high, (size,))
            parts["histogram"] = _array("histogram", histogram, (*shape, size))
        for name, part in parts.items():
            object.__setattr__(self, name, part)
        self._check()

    def _check(self) -> None:
        size = max(abs(self.low), abs(self.high))
        slack = 1e-9 * size * np.maximum(self.count, 1.0)
        least = self.total**2 / np.maximum(self.count, 1e-300)
        most = (self.low + self.high) * self.total - self.low * self.high * self.count
        wrong = (
            (self.count < 0.0, "a negative number of rows"),
            (
                (self.total < self.low * self.count - slack) | (self.total > self.high * self.count + slack),
                f"a total that rewards in [{self.low}, {self.high}] cannot have",
            ),
            (
                (self.squares < least - slack * size) | (self.squares > most + slack * size),
                f"a sum of squares that rewards in [{self.low}, {self.high}] with this total cannot have",
            ),
        )
        for mask, what in wrong:
            for z, k in np.argwhere(mask)[:1]:
                numbers = ", ".join(f"{name}={getattr(self, name)[z, k]}" for name in ("count", "total", "squares"))
                raise LogError(f"context {self.contexts[z]!r}, arm {self.arms[k]!r} has {what}: {numbers}")
        if self.histogram is not None and not np.allclose(
            self.histogram.sum(axis=2), self.count, rtol=1e-12, atol=1e-12
        ):
            raise LogError("the histogram must add up to count in each context and arm")

    @property
    def rows(self) -> int:
        """Number of rows that were counted, those dropped not among them."""
        return round(float(self.count.sum()))

    @property
    def exact(self) -> bool:
        """Whether the histogram holds single values rather than bins; False without a histogram."""
        if self.values_low is None or self.values_high is None:
            return False
        return np.array_equal(self.values_low, self.values_high)

    def position(self, context: Context) -> int:
        """Place of a context in `contexts`; an unknown one is an error that lists the known ones."""
        try:
            return self.contexts.index(context)
        except ValueError:
            known = ", ".join(map(repr, self.contexts[:10])) + (", ..." if len(self.contexts) > 10 else "")
            raise LookupError(f"unknown context {context!r}; the contexts are {known}") from None

    def sums(self, context: Context = EVERYTHING, arms: Sequence[Arm] | None = None) -> tuple[Floats, Floats, Floats]:
        """Rows, sum and sum of squares of each arm in one context, in the order of `arms`; zeros for arms without rows.

        Examples
        --------
        >>> import meanbounds as mb
        >>> counts = mb.logs.Counts(["all"], ["a", "b"], [[2, 1]], [[2, 0]], [[2, 0]])
        >>> counts.sums(arms=["b", "c"])
        (array([1., 0.]), array([0., 0.]), array([0., 0.]))
        """
        c, names = self.position(context), self.arms if arms is None else tuple(arms)
        here = {arm: k for k, arm in enumerate(self.arms)}
        columns = (self.count[c], self.total[c], self.squares[c])
        first, second, third = (
            np.array([column[here[arm]] if arm in here else 0.0 for arm in names]) for column in columns
        )
        return first, second, third

    def __repr__(self) -> str:
        def number(size: int, word: str) -> str:
            return f"{size:,} {word}" + "s" * (size != 1)

        parts = [number(self.rows, "row"), number(len(self.contexts), "context"), number(len(self.arms), "arm")]
        parts.append(f"rewards in [{self.low}, {self.high}]")
        if self.values_low is not None:
            parts.append(f"{number(len(self.values_low), 'value' if self.exact else 'bin')}")
        if self.dropped:
            parts.append(f"{sum(self.dropped.values()):,} dropped")
        return f"Counts({', '.join(parts)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Counts) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.contexts, self.arms, *self.count.ravel().tolist(), *self.total.ravel().tolist()))

    def __add__(self, other: Counts) -> Counts:
        """The counts of two logs together: same columns, same range; contexts and arms of either.

        The histogram is kept if both have one, in bins if either has bins or there are too many values for both.
        """
        if not isinstance(other, Counts):
            return NotImplemented
        for name in ("context_names", "arm_name", "reward_name", "low", "high"):
            mine, its = getattr(self, name), getattr(other, name)
            if mine != its:
                raise LogError(f"cannot add counts whose {name.replace('_', ' ')} differ: {mine!r} and {its!r}")
        contexts = _together("context", self.contexts, other.contexts)
        arms = _together("arm", self.arms, other.arms)
        shape = (len(contexts), len(arms))
        sums = {name: np.zeros(shape) for name in ("count", "total", "squares")}
        kinds = sorted({*self.dropped, *other.dropped})
        edges = _common_values(self, other)
        histogram = None if edges is None else np.zeros((*shape, len(edges[0])))
        for part in (self, other):
            place = np.ix_([contexts.index(c) for c in part.contexts], [arms.index(a) for a in part.arms])
            for name, array in sums.items():
                array[place] += getattr(part, name)
            if histogram is not None and edges is not None:
                histogram[place] += _moved(part, edges)
        return Counts(
            contexts,
            arms,
            **sums,
            low=self.low,
            high=self.high,
            dropped={kind: self.dropped.get(kind, 0) + other.dropped.get(kind, 0) for kind in kinds},
            values_low=edges and edges[0],
            values_high=edges and edges[1],
            histogram=histogram,
            context_names=self.context_names,
            arm_name=self.arm_name,
            reward_name=self.reward_name,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, safe for JSON."""
        arrays = ("count", "total", "squares", "values_low", "values_high", "histogram")
        return {
            "format": _FORMAT,
            "context_names": list(self.context_names),
            "arm_name": self.arm_name,
            "reward_name": self.reward_name,
            "contexts": [list(c) if isinstance(c, tuple) else c for c in self.contexts],
            "arms": list(self.arms),
            "low": self.low,
            "high": self.high,
            "dropped": dict(self.dropped),
            **{name: None if getattr(self, name) is None else getattr(self, name).tolist() for name in arrays},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Counts:
        """The inverse of `to_dict`."""
        given = dict(data)
        if given.pop("format", _FORMAT) != _FORMAT:
            raise LogError(f"counts of format {data['format']!r}; this version reads format {_FORMAT}")
        needed = ("contexts", "arms", "count", "total", "squares")
        missing = [name for name in needed if name not in given]
        unknown = [str(name) for name in given if name not in cls.__dataclass_fields__]
        if missing or unknown:
            said = [f"missing {', '.join(missing)}"] * bool(missing) + [f"unknown {', '.join(unknown)}"] * bool(unknown)
            raise LogError(f"these are not counts: {'; '.join(said)}")
        return cls(**given)

    def save(self, path: str | Path) -> None:
        """Write JSON to a file."""
        Path(path).write_text(json.dumps(self.to_dict()) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Counts:
        """Read what `save` wrote."""
        return cls.from_dict(json.loads(Path(path).read_text(encoding="utf-8")))

    def to_frame(self) -> pd.DataFrame:
        """A pandas data frame, one row per context and arm: the context's columns, arm, count, total, squares, mean."""
        import pandas as pd

        names = self.context_names or ("context",)
        index = [(c if isinstance(c, tuple) else (c,), arm) for c in self.contexts for arm in self.arms]
        columns: dict[str, Any] = {name: [c[i] for c, _ in index] for i, name in enumerate(names)}
        columns[self.arm_name] = [arm for _, arm in index]
        for name in ("count", "total", "squares"):
            columns[name] = getattr(self, name).ravel()
        with np.errstate(invalid="ignore", divide="ignore"):
            columns["mean"] = (self.total / self.count).ravel()
        return pd.DataFrame(columns)


def check_range(low: float, high: float) -> tuple[float, float]:
    """The range of the rewards, if it can be one."""
    try:
        ends = float(low), float(high)
    except (TypeError, ValueError):
        raise LogError(f"low and high must be numbers; got {low!r} and {high!r}") from None
    if not (ends[0] < ends[1] and max(map(abs, ends)) < 1e150):  # beyond, the sum of squares overflows
        raise LogError(f"the reward range [{low}, {high}] must be finite, with low below high")
    return ends


def sort_key(name: Context) -> tuple[Any, ...]:
    """Numbers before text, then by value; contexts of several columns column by column."""
    parts = name if isinstance(name, tuple) else (name,)
    return tuple((isinstance(part, str), part) for part in parts)


def bin_edges(low: float, high: float) -> tuple[Floats, Floats]:
    """Lower and upper edges of equal bins, which overlap by a few roundings so that no reward is outside its own."""
    edges = np.linspace(low, high, MOST_VALUES + 1)
    slack = _SLACK * max(abs(low), abs(high))
    return np.maximum(edges[:-1] - slack, low), np.minimum(edges[1:] + slack, high)


def binned(values: Floats, low: float, high: float) -> NDArray[np.intp]:
    """Which of the equal bins each value is in."""
    return np.clip(np.floor((values - low) * (MOST_VALUES / (high - low))), 0, MOST_VALUES - 1).astype(np.intp)


def _common_values(one: Counts, other: Counts) -> tuple[Floats, Floats] | None:
    if one.values_low is None or other.values_low is None:
        return None
    values = np.union1d(one.values_low, other.values_low)
    if one.exact and other.exact and len(values) <= MOST_VALUES:
        return values, values
    edges = bin_edges(one.low, one.high)
    bins = [part.values_low for part in (one, other) if not part.exact]
    return edges if all(np.array_equal(low, edges[0]) for low in bins if low is not None) else None


def _moved(part: Counts, edges: tuple[Floats, Floats]) -> Floats:
    """A histogram on other values: more of them, or bins."""
    if part.histogram is None or part.values_low is None:
        raise LogError("there is no histogram to move")
    exact = np.array_equal(*edges)
    if part.exact and not exact:
        places = binned(part.values_low, part.low, part.high)
    else:
        places = np.searchsorted(edges[0], part.values_low)
    moved = np.zeros((*part.count.shape, len(edges[0])))
    for place, counted in zip(places.tolist(), np.moveaxis(part.histogram, 2, 0), strict=True):
        moved[:, :, place] += counted
    return moved


def _together(what: str, one: Sequence[Any], other: Sequence[Any]) -> list[Any]:
    names = sorted({*one, *other}, key=sort_key)
    texts: dict[str, Any] = {}
    for name in names:
        text = str(tuple(map(str, name)) if isinstance(name, tuple) else name)
        if text in texts:
            raise LogError(
                f"{what} {text} is a number in one log and text in the other; read both logs in one call, "
                "with a folder or a glob, or give both the same type"
            )
        texts[text] = name
    return names


def _plain(name: Any) -> Any:
    return name.item() if isinstance(name, np.generic) else name


def _check_names(what: str, names: Sequence[Any]) -> None:
    if not names:
        raise LogError(f"counts need at least one {what}")
    for name in names:
        parts = name if isinstance(name, tuple) and what == "context" else (name,)
        if any(isinstance(part, bool) or not isinstance(part, str | int) for part in parts):
            raise LogError(f"names of {what}s must be text or integers; got {name!r}")
    seen: set[Hashable] = set()
    for name in names:
        if name in seen:
            raise LogError(f"{what} {name!r} is named twice")
        seen.add(name)


def _array(name: str, values: Any, shape: tuple[int, ...]) -> Floats:
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise LogError(f"{name} must be an array of numbers; got {values!r}") from error
    if array.shape != shape:
        raise LogError(f"{name} must have the shape {shape}; it has {array.shape}")
    if not np.all(np.isfinite(array)):
        raise LogError(f"{name} holds a number that is not finite")
    if name == "values_low" and any(a > b for a, b in pairwise(array.tolist())):
        raise LogError("values_low must be in increasing order")
    array.flags.writeable = False
    return array
