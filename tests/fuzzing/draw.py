"""Random choices from a seed, and the hostile values among them."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
import pandas as pd

__all__ = ["Call", "Draw", "HostileError", "spoil"]

T = TypeVar("T")


class HostileError(Exception):
    """Raised by the special methods of hostile objects; a call may pass it on, but must leave its object unchanged."""


class _Raises:
    """An object whose special methods raise."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class RaisingFloat(_Raises):
    def __float__(self) -> float:
        raise HostileError


class RaisingEq(_Raises):
    def __eq__(self, other: object) -> bool:
        raise HostileError

    def __hash__(self) -> int:
        return 1


class RaisingHash(_Raises):
    def __hash__(self) -> int:
        raise HostileError


class RaisingLen(_Raises):
    def __len__(self) -> int:
        raise HostileError

    def __getitem__(self, place: int) -> float:
        return [0.5, 0.6][place]


class RaisingIter(_Raises):
    def __iter__(self) -> Any:
        raise HostileError


class RaisingArray(_Raises):
    def __array__(self, *_: Any, **__: Any) -> Any:
        raise HostileError


class RaisingBool(_Raises):
    def __bool__(self) -> bool:
        raise HostileError


def _nested(depth: int) -> list[Any]:
    inner: list[Any] = [0.5]
    for _ in range(depth):
        inner = [inner]
    return inner


NUMBERS: tuple[Callable[[], Any], ...] = (
    *(lambda v=v: v for v in (0, -1, 1, 2, 3, 2**63, 2**64, -(2**63), 10**400, -(10**400), True, False)),
    *(lambda v=v: v for v in (0.0, -0.0, 0.5, 1.0, 1.5, -1.0, float("nan"), float("inf"), float("-inf"))),
    *(lambda v=v: v for v in (1e308, -1e308, 1.7e308, 1e200, 1e-200, 5e-324, 1e-160, 1e16, 1.0 + 2**-52)),
    *(
        lambda kind=kind: kind(1)
        for kind in (
            *(np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64),
            *(np.float16, np.float32, np.float64, np.longdouble, np.bool_),
        )
    ),
    lambda: np.int8(127),
    lambda: np.int8(-128),
    lambda: np.uint64(2**64 - 1),
    lambda: np.float32("nan"),
    lambda: np.longdouble("1e400"),
    lambda: Decimal("0.5"),
    lambda: Decimal("NaN"),
    lambda: Decimal("sNaN"),
    lambda: Decimal("1e400"),
    lambda: Fraction(1, 2),
    lambda: Fraction(10**400, 3),
    lambda: np.array(0.5),
    lambda: np.array(7),
)

OTHERS: tuple[Callable[[], Any], ...] = (
    lambda: None,
    lambda: Ellipsis,
    lambda: NotImplemented,
    lambda: "",
    lambda: "0.5",
    lambda: "a",
    lambda: "nan",
    lambda: "\x00\u202e\ud800",
    lambda: b"",
    lambda: b"0.5",
    lambda: bytearray(b"a"),
    lambda: 0.5j,
    lambda: np.complex128(0.5),
    lambda: np.ma.masked,
    lambda: pd.NA,
    lambda: pd.NaT,
    lambda: datetime.date(2020, 1, 2),
    lambda: datetime.datetime(2020, 1, 2, tzinfo=datetime.UTC),
    lambda: datetime.timedelta(1),
    lambda: np.datetime64("2020-01-01"),
    lambda: np.timedelta64(1, "D"),
    lambda: pd.Timestamp("2020-01-01"),
    lambda: object,
    object,
    lambda: len,
    lambda: slice(None),
    lambda: range(3),
    RaisingFloat,
    RaisingEq,
    RaisingHash,
    RaisingLen,
    RaisingIter,
    RaisingArray,
    RaisingBool,
)

COLLECTIONS: tuple[Callable[[], Any], ...] = (
    list,
    tuple,
    dict,
    set,
    lambda: [None],
    lambda: [[]],
    lambda: [0.5, "a"],
    lambda: ["0.5", "0.6"],
    lambda: [b"0.5"],
    lambda: [[0.1, 0.2], [0.3]],
    lambda: _nested(70),
    lambda: {"a": 0.5},
    lambda: {0: 0.5, 1: None},
    lambda: {0.5},
    lambda: (x for x in (0.1, 0.2)),
    lambda: iter([0.5, 0.5]),
    lambda: [10**400],
    lambda: [0.5, pd.NA],
    lambda: [0.5, np.ma.masked],
    lambda: [0.5, float("nan")],
    lambda: [RaisingFloat()],
    lambda: [RaisingEq(), RaisingHash()],
    lambda: [Decimal("0.5"), Fraction(1, 3)],
    lambda: [0.5j, 0.5],
    lambda: np.array([], dtype=np.float64),
    lambda: np.zeros((2, 0)),
    lambda: np.zeros((2, 2, 2)),
    lambda: np.array([0.5, np.nan]),
    lambda: np.array([1, 0], dtype=np.int8),
    lambda: np.array([True, False]),
    lambda: np.array([0.5, 0.5j]),
    lambda: np.array(["a", "b"]),
    lambda: np.array([None, 0.5], dtype=object),
    lambda: np.array(["2020-01-01"], dtype="datetime64[D]"),
    lambda: np.ma.array([0.5, 0.6], mask=[True, False]),
    lambda: np.ma.array([0.5, 0.6]),
    lambda: pd.Series([0.5, None], dtype="Float64"),
    lambda: pd.Series(["a", "b"]),
    lambda: pd.DataFrame({"lower": [0.1], "upper": [0.5]}),
    lambda: np.rec.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]),
)


class Draw:
    """Random choices that all follow from one seed."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)

    def chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def integer(self, least: int, most: int) -> int:
        return self._random.randint(least, most)

    def share(self) -> float:
        """A number in [0, 1], often at an end, in the middle, or coarse, so that ties occur."""
        kind = self._random.random()
        if kind < 0.3:
            return self.pick((0.0, 1.0, 0.5, 0.25, 0.75, 0.9))
        return round(self._random.random(), 2) if kind < 0.6 else self._random.random()

    def pick(self, several: Sequence[T]) -> T:
        return several[self._random.randrange(len(several))]

    def some(self, several: Sequence[T], least: int = 0) -> list[T]:
        return self._random.sample(list(several), self.integer(min(least, len(several)), len(several)))

    def hostile(self) -> Any:
        return self.pick(self.pick((NUMBERS, NUMBERS, OTHERS, COLLECTIONS)))()

    def hostile_number(self) -> Any:
        return self.pick(NUMBERS)()

    def hostile_size(self) -> Any:
        """A hostile value that is no large whole number: such a size is honest work that would never end."""
        value = self.hostile()
        large = isinstance(value, int | np.integer) and value > 100
        return "many" if large else value


@dataclass
class Call:
    """One call of the public interface: a function, its arguments, and what may be said of its result."""

    name: str
    function: Callable[..., Any]
    args: list[Any] = field(default_factory=list)
    kwargs: dict[str, Any] = field(default_factory=dict)
    sizes: frozenset[str | int] = frozenset()  # arguments that say how much work to do: never a large hostile number
    nan: bool = False  # whether NaN is a lawful result
    check: Callable[[Any], str | None] | None = None

    def __call__(self) -> Any:
        return self.function(*self.args, **self.kwargs)

    def __str__(self) -> str:
        arguments = [_shown(a) for a in self.args] + [f"{name}={_shown(a)}" for name, a in self.kwargs.items()]
        return f"{self.name}({', '.join(arguments)})"


def _shown(value: Any) -> str:
    try:
        text = repr(value).replace("\n", " ")
    except (ValueError, RecursionError):  # whole numbers of more than 4,300 digits, lists that are too deep
        text = f"<{type(value).__name__}>"
    text = text.encode("ascii", "backslashreplace").decode()
    return text if len(text) < 300 else f"{text[:300]}..."


def spoil(draw: Draw, call: Call) -> Call:
    """Replace some of the arguments by hostile ones; about half of the calls stay as they are."""
    while (call.args or call.kwargs) and draw.chance(0.4):
        place = draw.integer(0, len(call.args) + len(call.kwargs) - 1)
        if place < len(call.args):
            call.args[place] = _spoiled(draw, call.args[place], place in call.sizes)
        else:
            name = list(call.kwargs)[place - len(call.args)]
            call.kwargs[name] = _spoiled(draw, call.kwargs[name], name in call.sizes)
    return call


def _spoiled(draw: Draw, value: Any, size: bool) -> Any:
    if size:
        return draw.hostile_size()
    if isinstance(value, list) and value and draw.chance(0.6):
        return _spoiled_list(draw, value)
    if isinstance(value, dict) and value and draw.chance(0.6):
        return _spoiled_dict(draw, value)
    if isinstance(value, int | float) and not isinstance(value, bool) and draw.chance(0.5):
        return _dressed(draw, value)
    return draw.hostile()


def _dressed(draw: Draw, value: float) -> Any:
    """The same number as another type."""
    kinds: tuple[Callable[[Any], Any], ...] = (
        *(np.float64, np.float32, np.float16, np.longdouble, np.array, Decimal, Fraction, int, str, complex),
        *(np.int8, np.uint8, np.int64, np.uint64, bool),
    )
    try:
        return draw.pick(kinds)(value)
    except (OverflowError, ValueError):
        return value


def _spoiled_list(draw: Draw, value: list[Any]) -> Any:
    kind, place = draw.integer(0, 9), draw.integer(0, len(value) - 1)
    changed = list(value)
    if kind == 0:
        return changed[:place]
    if kind == 1:
        return [*changed, changed[place]]
    if kind == 2:
        return [changed]
    if kind == 3:
        return tuple(changed)
    if kind == 4:
        return (part for part in changed)
    if kind == 5 and all(isinstance(part, float) for part in changed):
        return np.ma.array(changed, mask=[k == place for k in range(len(changed))])
    if kind == 6 and all(isinstance(part, float) for part in changed):
        return np.array(changed, dtype=draw.pick((np.float16, np.float32, np.longdouble, np.object_, np.str_)))
    changed[place] = _spoiled(draw, changed[place], size=False)
    return changed


def _spoiled_dict(draw: Draw, value: dict[Any, Any]) -> Any:
    name = draw.pick(list(value))
    changed = dict(value)
    kind = draw.integer(0, 3)
    if kind == 0:
        del changed[name]
    elif kind == 1:
        try:
            changed[draw.hostile()] = value[name]
        except (HostileError, TypeError):  # a value that cannot be a key
            return [*value]
    else:
        changed[name] = _spoiled(draw, value[name], size=False)
    return changed
