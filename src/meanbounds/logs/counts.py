"""A log in a few numbers for each context and arm: rows, sum and sum of squares of the rewards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.bounds import Arm
from meanbounds.logs.errors import LogError
from meanbounds.logs.histogram import Histogram, read_only
from meanbounds.logs.names import EVERYTHING, Context, arm_names, context_names, in_order
from meanbounds.support.checks import (
    LARGEST,
    SMALLEST_WIDTH,
    as_flag,
    as_float,
    as_floats,
    as_list,
    as_mapping,
    as_whole,
    fits_range,
    shown,
)
from meanbounds.support.optional import optional
from meanbounds.support.saving import Saved
from meanbounds.support.types import Booleans, Floats

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ArmSums", "Counts", "check_range"]

_FORMAT = 2  # 1 had the histogram's arrays side by side with the others
_SUMS = ("count", "total", "squares")
_MOST_ROWS = 2.0**53  # beyond, floats do not count one by one

_Checked = TypeVar("_Checked")


@dataclass(frozen=True, eq=False)
class ArmSums:
    """A log of one context: for each arm the rows, the sum of the rewards, and the sum of their squares.

    Parameters
    ----------
    count
        Rows of each arm.
    total
        Sum of each arm's rewards, in reward units.
    squares
        Sum of the squares of each arm's rewards; None if it is not known.

    Examples
    --------
    Two arms with 1,000 and 10 rows; rewards are 0 and 1, so that squares are the rewards themselves:

    >>> import meanbounds as mb
    >>> mb.logs.ArmSums(count=[1000, 10], total=[500.0, 4.0], squares=[500.0, 4.0]).count
    array([1000.,   10.])
    """

    count: Floats
    total: Floats
    squares: Floats | None = None

    def __init__(self, count: ArrayLike, total: ArrayLike, squares: ArrayLike | None = None) -> None:
        object.__setattr__(self, "count", as_floats("count", count, error=LogError))
        object.__setattr__(self, "total", as_floats("total", total, error=LogError))
        object.__setattr__(self, "squares", None if squares is None else as_floats("squares", squares, error=LogError))


@dataclass(frozen=True, eq=False, repr=False)
class Counts(Saved):
    """Number of rows, sum and sum of squares of the rewards for each context and arm of a log.

    `meanbounds.logs.read` makes them from a log; `meanbounds.logs.bounds` turns them into bounds.

    Parameters
    ----------
    contexts, arms
        Names, in the order of the arrays. A context made of several columns is a tuple; a log without context columns
        has the one context ``"all"``. Arms that were never played have 0 rows.
    count, total, squares
        Arrays, contexts x arms: rows, sum of the rewards and sum of their squares, in reward units.
    low, high
        The range of the rewards.
    dropped
        For each kind of bad row how many were left out.
    histogram
        How often each reward occurs, contexts x arms x values; None if it was not counted.
    context_names, arm_name, reward_name
        The columns that these counts were read from.
    arms_listed
        Whether the user listed the arms, rather than the log: then none can be missing.
    weight_name
        The column that said how many rows each row stands for; None if each stands for itself.
    whole_weights
        Whether all weights were whole numbers. If not, sums of weights are no numbers of rows, and there are no
        confidence limits.

    Examples
    --------
    >>> import meanbounds as mb
    >>> count, total = [[2, 1], [0, 3]], [[2, 0], [0, 1]]
    >>> counts = mb.logs.Counts(["young", "old"], ["tPA", "watch"], count=count, total=total, squares=total)
    >>> counts
    Counts(6 rows, 2 contexts, 2 arms, rewards in [0.0, 1.0])
    >>> int(counts.count[counts.position("old")].sum())
    3
    >>> (counts + counts).rows
    12

    They are kept in a JSON file; files of version 0.1 can be read too:

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "counts.json"
    >>> counts.save(path)
    >>> mb.logs.Counts.load(path) == counts
    True
    """

    contexts: tuple[Context, ...]
    arms: tuple[Arm, ...]
    count: Floats
    total: Floats
    squares: Floats
    low: float = 0.0
    high: float = 1.0
    dropped: Mapping[str, int] = field(default_factory=dict)
    histogram: Histogram | None = None
    context_names: tuple[str, ...] = ()
    arm_name: str = "arm"
    reward_name: str = "reward"
    arms_listed: bool = False
    weight_name: str | None = None
    whole_weights: bool = True

    def __init__(
        self,
        contexts: Sequence[Context],
        arms: Sequence[Arm],
        *,
        count: ArrayLike,
        total: ArrayLike,
        squares: ArrayLike,
        low: float = 0.0,
        high: float = 1.0,
        dropped: Mapping[str, int] | None = None,
        histogram: Histogram | None = None,
        context_names: Sequence[str] = (),
        arm_name: str = "arm",
        reward_name: str = "reward",
        arms_listed: bool = False,
        weight_name: str | None = None,
        whole_weights: bool = True,
    ) -> None:
        least, most = check_range(low, high)
        parts = {
            **_named_arrays(contexts, arms, {"count": count, "total": total, "squares": squares}),
            "low": least,
            "high": most,
            **_checked_columns(context_names, arm_name, reward_name, weight_name),
            "dropped": _checked_dropped(dropped),
            "histogram": histogram,
            "arms_listed": _refused_as_log(as_flag, "arms_listed", arms_listed),
            "whole_weights": _refused_as_log(as_flag, "whole_weights", whole_weights),
        }
        for name, part in parts.items():
            object.__setattr__(self, name, part)
        _check_sums(self)
        _check_histogram(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, part in state.items():
            object.__setattr__(self, name, read_only(name, part) if name in _SUMS else part)

    @property
    def rows(self) -> int:
        """Number of rows that were counted; dropped ones are left out.

        Examples
        --------
        >>> import meanbounds as mb
        >>> part = {"count": [[2]], "total": [[1]], "squares": [[1]], "dropped": {"missing arm": 3}}
        >>> mb.logs.Counts(["all"], ["a"], **part).rows
        2
        """
        return round(float(self.count.sum()))

    @property
    def exact(self) -> bool:
        """Whether the histogram holds single values rather than bins; False without a histogram.

        Examples
        --------
        >>> import meanbounds as mb
        >>> sums = {"count": [[2]], "total": [[1]], "squares": [[1]]}
        >>> mb.logs.Counts(["all"], ["a"], **sums).exact
        False
        >>> values = mb.logs.Histogram([0, 1], [0, 1], count=[[[1, 1]]])
        >>> mb.logs.Counts(["all"], ["a"], **sums, histogram=values).exact
        True
        """
        return self.histogram is not None and self.histogram.exact

    def position(self, context: Context) -> int:
        """Place of a context in `contexts`; an unknown one is an error that lists the known ones.

        Examples
        --------
        >>> import meanbounds as mb
        >>> rows = [[2], [1]]
        >>> mb.logs.Counts(["young", "old"], ["a"], count=rows, total=rows, squares=rows).position("old")
        1
        """
        try:
            return self._positions[context]
        except (KeyError, TypeError):  # unknown, or nothing that can be a name
            known = ", ".join(map(repr, self.contexts[:10])) + (", ..." if len(self.contexts) > 10 else "")
            raise LookupError(f"unknown context {shown(context)}; the contexts are {known}") from None

    @cached_property
    def _positions(self) -> dict[Context, int]:
        return {name: place for place, name in enumerate(self.contexts)}

    def sums(self, context: Context = EVERYTHING, arms: Sequence[Arm] | None = None) -> ArmSums:
        """Rows, sum and sum of squares of each arm in one context, in the order of `arms`; zeros for arms without rows.

        Examples
        --------
        >>> import meanbounds as mb
        >>> counts = mb.logs.Counts(["all"], ["a", "b"], count=[[2, 1]], total=[[2, 0]], squares=[[2, 0]])
        >>> counts.sums(arms=["b", "c"]).count
        array([1., 0.])
        """
        c, names = self.position(context), self.arms if arms is None else arm_names(arms)
        here = {arm: k for k, arm in enumerate(self.arms)}
        columns = (getattr(self, name)[c] for name in _SUMS)
        return ArmSums(*(np.array([column[here[arm]] if arm in here else 0.0 for arm in names]) for column in columns))

    def with_arms(self, arms: Sequence[Arm]) -> Counts:
        """The same counts with these arms in this order; those that the log never played have 0 rows.

        Examples
        --------
        >>> import meanbounds as mb
        >>> counts = mb.logs.Counts(["all"], ["high", "low"], count=[[2, 1]], total=[[2, 0]], squares=[[2, 0]])
        >>> counts.with_arms(["low", "medium", "high"]).count
        array([[1., 0., 2.]])
        """
        order = in_order("arm", self.arms, arms)
        return self._spread(self.contexts, order, arms_listed=True)

    def _spread(self, contexts: Sequence[Context], arms: Sequence[Arm], *, arms_listed: bool) -> Counts:
        """The same counts among more contexts and arms, which have no rows."""
        rows, columns = ({name: place for place, name in enumerate(names)} for names in (contexts, arms))
        places = np.ix_([rows[name] for name in self.contexts], [columns[name] for name in self.arms])

        def spread(array: Floats) -> Floats:
            wide = np.zeros((len(contexts), len(arms), *array.shape[2:]))
            wide[places] = array
            return wide

        own = self.histogram
        histogram = None if own is None else Histogram(own.values_low, own.values_high, spread(own.count))
        sums: dict[str, Any] = {name: spread(getattr(self, name)) for name in _SUMS}
        return Counts(contexts, arms, **sums, **self._columns(), histogram=histogram, arms_listed=arms_listed)

    def _columns(self) -> dict[str, Any]:
        """The parts that stay the same when rows are added or spread."""
        names = ("low", "high", "dropped", "context_names", "arm_name", "reward_name", "weight_name", "whole_weights")
        return {name: getattr(self, name) for name in names}

    def __repr__(self) -> str:
        def number(size: int, word: str) -> str:
            return f"{size:,} {word}" + "s" * (size != 1)

        parts = [number(self.rows, "row"), number(len(self.contexts), "context"), number(len(self.arms), "arm")]
        parts.append(f"rewards in [{self.low}, {self.high}]")
        if self.histogram is not None:
            parts.append(number(len(self.histogram), "value" if self.exact else "bin"))
        if self.dropped:
            parts.append(f"{sum(self.dropped.values()):,} dropped")
        return f"Counts({', '.join(parts)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Counts) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.contexts, self.arms, *self.count.ravel().tolist(), *self.total.ravel().tolist()))

    def __add__(self, other: Counts) -> Counts:
        """Add the counts of two logs with the same columns and range; contexts and arms are those of either.

        The histogram is kept if both have one, in bins if either has bins or there are too many values for both.

        Examples
        --------
        >>> import meanbounds as mb
        >>> monday = mb.logs.Counts(["all"], ["a"], count=[[2]], total=[[1]], squares=[[1]])
        >>> tuesday = mb.logs.Counts(["all"], ["b"], count=[[5]], total=[[3]], squares=[[3]])
        >>> (monday + tuesday).to_frame()[["arm", "count", "total"]].to_numpy().tolist()
        [['a', 2.0, 1.0], ['b', 5.0, 3.0]]
        """
        if not isinstance(other, Counts):
            return NotImplemented
        for name in ("context_names", "arm_name", "reward_name", "low", "high"):
            mine, its = getattr(self, name), getattr(other, name)
            if mine != its:
                raise LogError(f"cannot add counts whose {name.replace('_', ' ')} differ: {mine!r} and {its!r}")
        contexts = _together("context", self.contexts, other.contexts)
        arms = _together("arm", self.arms, other.arms)
        kinds = sorted({*self.dropped, *other.dropped})
        dropped = {kind: self.dropped.get(kind, 0) + other.dropped.get(kind, 0) for kind in kinds}
        listed = self.arms_listed and other.arms_listed
        weights = {
            "weight_name": self.weight_name or other.weight_name,
            "whole_weights": self.whole_weights and other.whole_weights,
        }
        one, two = (part._spread(contexts, arms, arms_listed=listed) for part in (self, other))
        return Counts(
            contexts,
            arms,
            **{name: getattr(one, name) + getattr(two, name) for name in _SUMS},
            **{**self._columns(), **weights, "dropped": dropped},
            histogram=_added(one, two),
            arms_listed=listed,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, safe for JSON; `from_dict` is the inverse.

        Examples
        --------
        >>> import meanbounds as mb
        >>> counts = mb.logs.Counts(["all"], ["a"], count=[[2]], total=[[1]], squares=[[1]])
        >>> mb.logs.Counts.from_dict(counts.to_dict()) == counts
        True
        """
        columns = self._columns()
        if self.weight_name is None and self.whole_weights:  # files that earlier versions can read
            del columns["weight_name"], columns["whole_weights"]
        return {
            "format": _FORMAT,
            **columns,
            "context_names": list(self.context_names),
            "contexts": [list(c) if isinstance(c, tuple) else c for c in self.contexts],
            "arms": list(self.arms),
            "arms_listed": self.arms_listed,
            "dropped": dict(self.dropped),
            **{name: getattr(self, name).tolist() for name in _SUMS},
            "histogram": None if self.histogram is None else self.histogram.to_dict(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Build counts from the output of `to_dict`, of this version or of 0.1.

        Examples
        --------
        >>> import meanbounds as mb
        >>> old = {"contexts": ["all"], "arms": ["a"], "count": [[2]], "total": [[1]], "squares": [[1]]}
        >>> mb.logs.Counts.from_dict(old).rows
        2
        """
        given = dict(as_mapping("saved counts", data, error=LogError))
        form = given.pop("format", _FORMAT)
        if not (isinstance(form, int | float) and form in (1, _FORMAT)):
            raise LogError(f"counts of format {shown(form)}; this version reads formats 1 and {_FORMAT}")
        if form == 1:
            edges = {name: given.pop(name, None) for name in ("values_low", "values_high")}
            if given.get("histogram") is not None:
                given["histogram"] = {**edges, "count": given["histogram"]}
        missing = [name for name in ("contexts", "arms", *_SUMS) if name not in given]
        texts = [name if isinstance(name, str) else shown(name) for name in given]
        unknown = [name for name in texts if name not in cls.__dataclass_fields__]
        if missing or unknown:
            said = [f"missing {', '.join(missing)}"] * bool(missing) + [f"unknown {', '.join(unknown)}"] * bool(unknown)
            raise LogError(f"these are not counts: {'; '.join(said)}")
        if given.get("histogram") is not None:
            given["histogram"] = _saved_histogram(given["histogram"])
        return cls(**given)

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas data frame, one row per context and arm: its columns, count, total, squares and mean reward.

        Examples
        --------
        >>> import meanbounds as mb
        >>> counts = mb.logs.Counts(["all"], ["a", "b"], count=[[2, 0]], total=[[1, 0]], squares=[[1, 0]])
        >>> counts.to_frame()["mean"].tolist()  # of an arm that was never played: not a number
        [0.5, nan]
        """
        with optional("frames", "data frames"):
            import pandas as pd

        names = self.context_names or ("context",)
        index = [(c if isinstance(c, tuple) else (c,), arm) for c in self.contexts for arm in self.arms]
        columns: dict[str, Any] = {name: [c[i] for c, _ in index] for i, name in enumerate(names)}
        columns[self.arm_name] = [arm for _, arm in index]
        for name in _SUMS:
            columns[name] = getattr(self, name).ravel()
        with np.errstate(invalid="ignore", divide="ignore"):
            columns["mean"] = (self.total / self.count).ravel()
        return pd.DataFrame(columns)


def check_range(low: float, high: float) -> tuple[float, float]:
    """Check the range of the rewards and return it as two floats.

    Examples
    --------
    >>> from meanbounds.logs.counts import check_range
    >>> check_range(1, 5)
    (1.0, 5.0)
    >>> check_range(5, 1)
    Traceback (most recent call last):
    meanbounds.logs.errors.LogError: the reward range [5, 1] must be finite, with low below high; where less ...
    """
    try:
        ends = as_float("low", low), as_float("high", high)
    except ValueError:
        raise LogError(f"low and high must be numbers; got {shown(low)} and {shown(high)}") from None
    if not fits_range(*map(np.array, ends)):
        narrow = f", at least {SMALLEST_WIDTH:g} apart, and between {-LARGEST:g} and {LARGEST:g}"
        raise LogError(
            f"the reward range [{low}, {high}] must be finite, with low below high"
            + (narrow if -np.inf < ends[0] < ends[1] < np.inf else "")
            + (_turned(*ends) if -np.inf < ends[1] < ends[0] < np.inf else "")
        )
    return ends


def _turned(low: float, high: float) -> str:
    """What to do instead of a range from the worst to the best where less is better."""
    return f"; where less is better, negate the rewards: low={-low:.12g}, high={0.0 - high:.12g}"


def _refused_as_log(check: Callable[[str, Any], _Checked], name: str, value: Any) -> _Checked:
    """The checked value; what is refused is an error of the log."""
    try:
        return check(name, value)
    except (TypeError, ValueError) as error:
        raise LogError(str(error)) from None


def _checked_columns(context_names: Any, arm_name: Any, reward_name: Any, weight_name: Any) -> dict[str, Any]:
    """The names of columns: texts, or numbers where a table numbers its columns."""
    contexts = tuple(_refused_as_log(as_list, "context_names", context_names))
    single = {"arm_name": arm_name, "reward_name": reward_name}
    if weight_name is not None:
        single["weight_name"] = weight_name
    for what, name in (*(("context_names", name) for name in contexts), *single.items()):
        if isinstance(name, bool) or not isinstance(name, str | int):
            raise LogError(f"{what}: the name of a column must be text; got {shown(name)}")
    return {"context_names": contexts, "weight_name": None, **single}


def _checked_dropped(dropped: Any) -> dict[str, int]:
    """How many rows of each kind were left out."""
    if dropped is None:
        return {}
    given = as_mapping("dropped", dropped, error=LogError)

    def rows(name: str, value: Any) -> int:
        return as_whole(name, value, least=0)

    return {str(kind): _refused_as_log(rows, f"dropped {kind}", number) for kind, number in given.items()}


def _saved_histogram(data: Any) -> Histogram:
    given = as_mapping("the saved histogram", data, error=LogError)
    if set(given) != set(Histogram.__dataclass_fields__):
        names = ", ".join(Histogram.__dataclass_fields__)
        raise LogError(f"a saved histogram has the entries {names}; got {shown(list(given))}")
    return Histogram(**given)


def _named_arrays(contexts: Sequence[Any], arms: Sequence[Any], sums: Mapping[str, ArrayLike]) -> dict[str, Any]:
    names, columns = context_names(contexts), arm_names(arms)
    arrays = {name: read_only(name, values) for name, values in sums.items()}
    shape = (len(names), len(columns))
    for name, array in arrays.items():
        if array.shape != shape:
            raise LogError(f"{name} must have the shape {shape}; it has {array.shape}")
    return {"contexts": names, "arms": columns, **arrays}


def _check_sums(counts: Counts) -> None:
    """Refuse sums that no rewards in the range can have."""
    low, high = counts.low, counts.high
    size = max(abs(low), abs(high))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # sums of any size are refused below
        slack = 1e-9 * size * np.maximum(counts.count, 1.0)
        least = counts.total**2 / np.maximum(counts.count, 1e-300)
        most = (low + high) * counts.total - low * high * counts.count
        wrong = _impossible(counts, slack, least, most)
    for mask, what in wrong:
        for z, k in np.argwhere(mask)[:1]:
            numbers = ", ".join(f"{name}={getattr(counts, name)[z, k]}" for name in _SUMS)
            raise LogError(f"context {counts.contexts[z]!r}, arm {counts.arms[k]!r} has {what}: {numbers}")


def _impossible(counts: Counts, slack: Floats, least: Floats, most: Floats) -> tuple[tuple[Booleans, str], ...]:
    """Where sums are impossible, and why."""
    low, high, size = counts.low, counts.high, max(abs(counts.low), abs(counts.high))
    return (
        (counts.count < 0.0, "a negative number of rows"),
        (counts.count > _MOST_ROWS, "more rows than can be counted"),
        (
            (counts.total < low * counts.count - slack) | (counts.total > high * counts.count + slack),
            f"a total that rewards in [{low}, {high}] cannot have",
        ),
        (
            (counts.squares < least - slack * size) | (counts.squares > most + slack * size),
            f"a sum of squares that rewards in [{low}, {high}] with this total cannot have",
        ),
    )


def _check_histogram(counts: Counts) -> None:
    own = counts.histogram
    if own is None:
        return
    if not isinstance(own, Histogram):
        raise LogError(f"histogram must be a logs.Histogram, or None; got {shown(own)}")
    shape = (*counts.count.shape, len(own))
    if own.count.shape != shape:
        raise LogError(f"the histogram's count must have the shape {shape}; it has {own.count.shape}")
    if any(a > b for a, b in pairwise(own.values_low.tolist())):
        raise LogError("the histogram's values_low must be in increasing order")
    if not np.allclose(own.count.sum(axis=2), counts.count, rtol=1e-12, atol=1e-12):
        raise LogError("the histogram must add up to count in each context and arm")


def _added(one: Counts, two: Counts) -> Histogram | None:
    """The histogram of both, if both have one and there are values or bins that fit both."""
    if one.histogram is None or two.histogram is None:
        return None
    edges = one.histogram.common_edges(two.histogram, one.low, one.high)
    if edges is None:
        return None
    first, second = (part.moved_to(edges, one.low, one.high) for part in (one.histogram, two.histogram))
    return Histogram(*edges, first.count + second.count)


def _together(what: str, one: Sequence[Any], other: Sequence[Any]) -> list[Any]:
    """The names of both logs: in the order of one that has all of them, else in natural order."""
    whole = next((names for names in (one, other) if set(names) == {*one, *other}), None)
    names = in_order(what, {*one, *other}, whole)
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
