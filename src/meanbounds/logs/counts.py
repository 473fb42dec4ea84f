"""A log in a few numbers for each context and arm: rows, sum and sum of squares of the rewards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from math import inf
from typing import Any, Self

import numpy as np

from meanbounds.agents.tree import Tree
from meanbounds.bounds import EXPERT, Arm
from meanbounds.logs.errors import LogError
from meanbounds.support.checks import (
    as_float,
    as_floats,
    as_list,
    as_mapping,
    as_whole,
    fits_range,
    is_whole,
    shown,
    unknown,
)
from meanbounds.support.entries import Entries
from meanbounds.support.saving import Saved
from meanbounds.support.types import Floats, Integers

__all__ = ["Context", "Counts", "Instrument", "check_apart", "check_columns", "check_least", "check_range", "plain"]

Context = str | tuple[str, ...] | None
"""The name of a context: a text, one for each of several columns, or None where a log has no context column."""

_SUMS = ("count", "total", "squares", "weighted", "missing")
_WEIGHTED = 5  # sums of w, wY, w^2, w^2 Y, w^2 Y^2
_LARGEST = 20_000  # variables of a linear program
_ROUNDING = 1e-9  # of sums, as a share of what they can be at most


@dataclass(frozen=True, eq=False)
class Instrument:
    """The sums of a log for each value of a column that partly decided by chance which arm was chosen.

    `sums` is an array 4 x values x contexts x arms: rows with a reward, the sums of their rewards and of the squares,
    and rows without a reward.
    """

    column: str
    values: tuple[str, ...]
    sums: Floats

    @classmethod
    def of(cls, given: Any, shape: tuple[int, int]) -> Instrument:
        """Check an instrument, or one that was saved."""
        parts = as_mapping("instrument", given if isinstance(given, Mapping) else vars(given), error=LogError)
        values = _distinct("values of the instrument", parts["values"])
        return cls(str(parts["column"]), values, _array("sums", parts["sums"], (4, len(values), *shape)))

    def plus(self, other: Instrument) -> Instrument:
        """The sums of both, over the same contexts and arms."""
        values = tuple(dict.fromkeys((*self.values, *other.values)))
        sums = np.zeros((4, len(values), *self.sums.shape[2:]))
        for one in (self, other):
            sums[:, [values.index(value) for value in one.values]] += one.sums
        return Instrument(self.column, values, sums)

    @property
    def simple(self) -> bool:
        """Whether values and arms are too many for a linear program: bounds are Manski's intersection then."""
        arms = int(self.sums.shape[3])
        return len(self.values) * arms * 2**arms > _LARGEST


@dataclass(frozen=True, eq=False, repr=False)
class Counts(Saved):
    """Number of rows, sum and sum of squares of the rewards for each context and arm of a log.

    `meanbounds.logs.read` makes them from a log; `meanbounds.logs.bounds` turns them into bounds.

    Parameters
    ----------
    contexts, arms
        Names, in the order of the arrays. A context of several columns is a tuple of texts; a log that was read without
        a context column has the one context None. Arms that were never chosen have 0 rows.
    count, total, squares
        Arrays, contexts x arms: rows, sum of the rewards and sum of their squares, in the units of the rewards.
    low, high
        The range of the rewards.
    columns, arm, reward
        The columns that were counted: those of the context, the arm's and the reward's.
    dropped
        How many rows were left out, for each kind of bad row.
    weighted, least
        With w = 1/propensity and Y = (reward - low) / (high - low), the sums of w, wY, w^2, w^2 Y and w^2 Y^2, an array
        5 x contexts x arms, and the least propensity that is possible; None if there are none.
    missing, apart
        Array, contexts x arms: rows without a reward, which `count` leaves out; None if they are not counted. And how
        far their mean reward can be from that of the others with the same context and arm, in reward units; inf,
        whatever they were, if `missing` is given alone.
    instrument, tree
        The sums by what partly decided by chance, an `Instrument`, and the tree whose contexts these are, in its order;
        None if there is no such column, and if contexts are names in columns.

    Examples
    --------
    >>> import meanbounds as mb
    >>> count, total = [[2, 1], [0, 3]], [[2, 0], [0, 1]]
    >>> counts = mb.logs.Counts(["young", "old"], ["tPA", "watch"], count, total, total)
    >>> counts
    Counts(6 rows, 2 contexts, 2 arms, rewards in [0, 1])
    >>> counts.means.round(2)
    array([[1.  , 0.  ],
           [ nan, 0.33]])
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
    columns: tuple[str, ...] = ()
    arm: str = "arm"
    reward: str = "reward"
    dropped: Mapping[str, int] = field(default_factory=dict)
    weighted: Floats | None = None
    least: float | None = None
    missing: Floats | None = None
    apart: float | None = None
    instrument: Instrument | None = None
    tree: Tree | None = None

    def __post_init__(self) -> None:
        low, high = check_range(self.low, self.high)
        contexts, arms = _context_names(self.contexts), _arm_names(self.arms)
        shape = len(contexts), len(arms)
        parts: dict[str, Any] = {"contexts": contexts, "arms": arms, "low": low, "high": high}
        parts |= {name: _array(name, getattr(self, name), shape) for name in _SUMS[:3]}
        parts["columns"] = tuple(as_list("columns", self.columns))
        parts["dropped"] = {str(kind): as_whole(f"dropped: {kind}", n, least=0) for kind, n in self.dropped.items()}
        if self.weighted is not None:
            parts["weighted"] = _array("weighted", self.weighted, (_WEIGHTED, *shape))
        if self.least is not None:
            parts["least"] = check_least(self.least)
        if self.missing is not None:
            parts["missing"] = _array("missing", self.missing, shape)
            parts["apart"] = check_apart(inf if self.apart is None else self.apart)
        if self.instrument is not None:
            parts["instrument"] = Instrument.of(self.instrument, shape)
        if self.tree is not None:
            parts["tree"] = tree = self.tree if isinstance(self.tree, Tree) else Tree.from_dict(self.tree)
            if (tree.contexts, tree.columns) != (contexts, parts["columns"]):
                raise LogError("the contexts and columns of counts with a tree must be those of the tree, in its order")
        for name, part in parts.items():
            object.__setattr__(self, name, part)
        self._check_sums()

    def _check_sums(self) -> None:
        rows, slack = self.count, _ROUNDING * (self.count + 1.0) * max(abs(self.low), abs(self.high))
        if not np.all((rows >= 0.0) & (rows == np.floor(rows)) & (rows <= 2.0**53)):
            raise LogError("count must hold whole numbers of rows, none negative")
        if not np.all((self.total >= self.low * rows - slack) & (self.total <= self.high * rows + slack)):
            raise LogError(f"total must be sums of rewards in the range [{self.low:g}, {self.high:g}]")
        most = max(abs(self.low), abs(self.high))
        if not np.all((self.squares >= 0.0) & (self.squares <= rows * most**2 + slack * most)):
            raise LogError(f"squares must be sums of squares of rewards in the range [{self.low:g}, {self.high:g}]")
        if self.weighted is not None and not np.all(self.weighted >= 0.0):
            raise LogError("weighted must hold no negative numbers")
        if self.missing is None:
            if self.apart is not None:
                raise LogError("apart is about rows without a reward: give how many there are as missing")
        elif self.weighted is not None or not np.all((self.missing >= 0.0) & (self.missing == np.floor(self.missing))):
            raise LogError("missing must hold whole numbers of rows, none negative, and no log with propensities")
        if self.instrument is not None:
            own, missing = self.instrument.sums[[0, 3]], np.zeros_like(rows) if self.missing is None else self.missing
            if not np.all(own >= 0.0) or np.any(own.sum(axis=1) > [rows, missing]):
                raise LogError("instrument: its values must have no more rows than the log")

    @property
    def rows(self) -> int:
        """Number of rows that were counted; dropped ones are left out."""
        return int(self.count.sum())

    @property
    def means(self) -> Floats:
        """Mean reward of each context and arm (contexts, arms); nan where there are no rows."""
        return _divided(self.total, self.count)

    @property
    def shares(self) -> Floats:
        """How often each arm was chosen in each context, as a share of the rows there (contexts, arms)."""
        return _divided(self.chosen, self.chosen.sum(axis=1, keepdims=True))

    @property
    def value(self) -> Floats:
        """What those who wrote the log earned on average in each context, whatever the arm.

        Rows without a reward count as the mean of their context and arm, or the middle of the range if that has none.
        """
        if self.missing is None:
            return _divided(self.total.sum(axis=1), self.count.sum(axis=1))
        means = _divided(self.total, self.count, otherwise=0.5 * (self.low + self.high))
        return _divided((self.chosen * means).sum(axis=1), self.chosen.sum(axis=1))

    @property
    def chosen(self) -> Floats:
        """Rows of each context and arm, with a reward or without (contexts, arms)."""
        return self.count if self.missing is None else self.count + self.missing

    def missing_in_words(self) -> str:
        """How many rows have no reward and what is assumed of them, as a sentence; empty if none is counted."""
        without, rows = (float(part.sum()) for part in (self.chosen - self.count, self.chosen))
        if not without:
            return ""
        assert self.apart is not None
        said = f"with each option their mean is within {self.apart:.6g} of that of the others"
        if self.apart >= self.high - self.low:
            said = "nothing is assumed of what they were"
        elif self.apart == 0.0:
            said = "they are missing at random among cases of a context with the same option"
        return f"{without:,.0f} of {rows:,.0f} rows ({without / rows:.1%}) have no reward: {said}.".replace(".0%", "%")

    @cached_property
    def unit(self) -> tuple[Floats, Floats]:
        """The sums and the sums of squares of (reward - low) / (high - low).

        Squares are rounded up: far from 0, where rounding hides how much rewards vary, they come near to the most that
        the sums allow.
        """
        width, most = self.high - self.low, max(abs(self.low), abs(self.high))
        total = np.clip((self.total - self.low * self.count) / width, 0.0, self.count)
        squares = (self.squares - self.low * (2.0 * self.total - self.low * self.count)) / width**2
        if self.low != 0.0:
            squares = squares + 8.0 * np.finfo(np.float64).eps * (most / width) ** 2 * self.count
        least = _divided(total**2, self.count, otherwise=0.0)
        return total, np.clip(squares, np.minimum(least, total), total)

    def position(self, context: Context) -> int:
        """Place of a context in `contexts`; an unknown one is an error that lists the known ones."""
        try:
            return self._positions[context]
        except (KeyError, TypeError):  # unknown, or nothing that can be a name
            raise LookupError(unknown("context", context, self.contexts)) from None

    @cached_property
    def _positions(self) -> dict[Context, int]:
        return {name: place for place, name in enumerate(self.contexts)}

    def over(self, contexts: Sequence[Context], arms: Sequence[Arm]) -> Self:
        """The counts of these contexts and arms, in this order; there are no rows of those that the log lacks."""
        rows, columns = (_shared(*names) for names in ((self.contexts, contexts), (self.arms, arms)))

        def wide(sums: Floats) -> Floats:
            found = np.zeros((*sums.shape[:-2], len(contexts), len(arms)))
            found[..., rows[1][:, None], columns[1]] = sums[..., rows[0][:, None], columns[0]]
            return found

        found: dict[str, Any] = {name: wide(own) for name in _SUMS if (own := getattr(self, name)) is not None}
        found |= {"contexts": tuple(contexts), "arms": tuple(arms)}
        chance = self.instrument and replace(self.instrument, sums=wide(self.instrument.sums))
        tree = self.tree if tuple(contexts) == self.contexts else None
        return replace(self, instrument=chance, tree=tree, **found)

    def select(self, contexts: Sequence[Context]) -> Self:
        """The counts of some contexts, in this order, without the tree; dropped rows belong to none of them."""
        names = [self.contexts[self.position(context)] for context in as_list("contexts", contexts)]
        return replace(self.over(names, self.arms), dropped={}, tree=None)

    def __add__(self, other: Counts) -> Counts:
        """Add the counts of two logs with the same columns and range; contexts and arms are those of either."""
        if not isinstance(other, Counts):
            return NotImplemented
        for name in ("columns", "arm", "reward", "low", "high", "least", "apart", "instrument", "tree"):
            mine, its = (getattr(part, name) for part in (self, other))
            if name == "instrument":
                mine, its = (part and part.column for part in (mine, its))
            if mine != its:
                raise LogError(f"cannot add counts that differ in {name}: {mine!r} and {its!r}")
        if (self.weighted is None) != (other.weighted is None):
            raise LogError("cannot add counts with propensities and counts without")
        one: Counts = self
        two: Counts = other
        if any(isinstance(arm, str) for arm in (*self.arms, *other.arms)):
            one, two = (replace(part, arms=tuple(map(str, part.arms))) for part in (self, other))
        contexts, arms = [*dict.fromkeys((*one.contexts, *two.contexts))], [*dict.fromkeys((*one.arms, *two.arms))]
        one, two = one.over(contexts, arms), two.over(contexts, arms)
        sums = {name: own + getattr(two, name) for name in _SUMS if (own := getattr(one, name)) is not None}
        kinds = {**self.dropped, **other.dropped}
        dropped = {kind: self.dropped.get(kind, 0) + other.dropped.get(kind, 0) for kind in kinds}
        chance = one.instrument and two.instrument and one.instrument.plus(two.instrument)
        return replace(one, dropped=dropped, instrument=chance, **sums)

    def __repr__(self) -> str:
        def number(size: int, word: str) -> str:
            return f"{size:,} {word}" + "s" * (size != 1)

        parts = [number(self.rows, "row"), number(len(self.contexts), "context"), number(len(self.arms), "arm")]
        parts.append(f"rewards in [{self.low:g}, {self.high:g}]")
        parts += ["propensities"] * (self.weighted is not None)
        if self.missing is not None:
            parts.append(f"{number(int(self.missing.sum()), 'row')} without a reward")
        if self.instrument is not None:
            parts.append(f"instrument {self.instrument.column!r}")
        parts += [f"{self.tree!r}"] * (self.tree is not None)
        parts += [f"{sum(self.dropped.values()):,} dropped"] * bool(self.dropped)
        return f"Counts({', '.join(parts)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Counts) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.contexts, self.arms, self.count.tobytes()))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_dict, (self.to_dict(),)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists that JSON can hold; `from_dict` is the inverse."""
        data = {part.name: plain(getattr(self, part.name)) for part in fields(self)}
        return data | {"apart": None if self.apart == inf else self.apart}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Make the counts that `to_dict` described."""
        names = [part.name for part in fields(cls)]
        saved = Entries("Counts", data, names[:5], names[5:])
        try:
            return cls(**data)
        except (TypeError, ValueError, AttributeError) as error:
            raise saved.wrong(str(error)) from None


def plain(value: Any) -> Any:
    """A value as JSON can hold it: arrays and tuples as lists, NaN as None, the experts as a mapping."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Instrument):
        return plain(vars(value))
    if isinstance(value, Tree):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return {"expert": True} if value is EXPERT else None if value != value else value


def check_columns(names: Sequence[Any], last: str) -> None:
    """Refuse names of columns that are not different texts; `last` is what the last of them holds."""
    if not all(isinstance(name, str) and name and names.count(name) == 1 for name in names):
        raise LogError(f"context, arm, reward and {last} must be different columns, each once; got {shown(names)}")


def check_range(low: Any, high: Any) -> tuple[float, float]:
    """Read the ends of the range of rewards."""
    least, most = as_float("low", low, error=LogError), as_float("high", high, error=LogError)
    if not fits_range(np.array(least), np.array(most)):
        raise LogError(f"low must be less than high, and both finite; got low={shown(low)}, high={shown(high)}")
    return least, most


def check_least(least: Any) -> float:
    """Read the least propensity that is possible."""
    value = as_float("least", least, error=LogError)
    if not 0.0 < value <= 1.0:
        raise LogError(f"least, the least propensity that is possible, must be above 0 and at most 1; got {value:g}")
    return value


def check_apart(apart: Any) -> float:
    """Read how far the mean reward of rows without one can be from that of the others."""
    value = as_float("missing", apart, error=LogError)
    if not value >= 0.0 or isinstance(apart, bool):
        raise LogError(
            "missing is how far the mean reward of rows without a reward can be from that of those with one, in reward "
            f"units: 0 if they are missing at random, inf if they may be anything; got {shown(apart)}"
        )
    return value


def _array(name: str, value: Any, shape: tuple[int, ...]) -> Floats:
    """A read-only copy with this shape."""
    array = np.array(as_floats(name, value, error=LogError), dtype=np.float64)
    if array.shape != shape:
        raise LogError(f"{name} has the shape {array.shape}; the contexts and arms need {shape}")
    if not np.isfinite(array).all():
        raise LogError(f"{name} must hold finite numbers")
    array.flags.writeable = False
    return array


def _context_names(names: Any) -> tuple[Context, ...]:
    contexts = _distinct("contexts", names)
    kinds = {len(name) if isinstance(name, tuple) else type(name) for name in contexts}
    texts = all(isinstance(part, str) for name in contexts for part in (name if isinstance(name, tuple) else [name]))
    if contexts != (None,) and not (texts and len(kinds) == 1):
        raise LogError(f"contexts must be texts, or tuples of as many texts each, or [None]; got {shown(contexts)}")
    return contexts


def _arm_names(names: Any) -> tuple[Arm, ...]:
    arms = tuple(int(name) if is_whole(name) else name for name in _distinct("arms", names))
    if any(type(name) not in (str, int) for name in arms):
        raise LogError(f"arms must be texts or whole numbers; got {shown(arms)}")
    return arms


def _distinct(what: str, names: Any) -> tuple[Any, ...]:
    try:
        listed = tuple(tuple(name) if isinstance(name, list) else name for name in as_list(what, names))
        distinct = len(set(listed)) == len(listed)
    except TypeError:  # not a list, or what cannot be a name
        raise LogError(f"{what} must be a list of names; got {shown(names)}") from None
    if not (listed and distinct):
        raise LogError(f"{what} must be at least one name, and each only once; got {shown(names)}")
    return listed


def _divided(above: Floats, below: Floats, otherwise: float = np.nan) -> Floats:
    above, below = np.broadcast_arrays(above, below)
    return np.divide(above, below, out=np.full(above.shape, otherwise), where=below > 0.0)


def _shared(own: Sequence[Any], wanted: Sequence[Any]) -> tuple[Integers, Integers]:
    """The places of the names that both lists have, in the one and in the other."""
    places = {name: place for place, name in enumerate(own)}
    found = [(places[name], place) for place, name in enumerate(wanted) if name in places]
    both = np.array(found, dtype=np.int64).reshape(-1, 2).T
    return both[0], both[1]
