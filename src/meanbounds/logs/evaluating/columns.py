"""Columns of a log as numbers and as names: whatever a reader found, checked and converted quickly."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanbounds.logs.names import natural_order
from meanbounds.logs.tally import Codes, whole_numbers
from meanbounds.support.types import Booleans, Floats

__all__ = ["Encoded", "Places", "as_codes", "as_numbers", "from_arrow", "is_missing"]

Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Encoded:
    """A column as its different values, and the place of each row's value among them.

    Examples
    --------
    >>> import numpy as np
    >>> from meanbounds.logs.evaluating.columns import Encoded
    >>> column = Encoded(["a", None, "b"], np.array([0, 2, 2]))
    >>> len(column), column[2]
    (3, 'b')
    """

    values: list[Any]
    codes: Places

    def __len__(self) -> int:
        return int(self.codes.size)

    def __getitem__(self, place: int) -> Any:
        return self.values[self.codes[place]]


def from_arrow(column: Any) -> Any:
    """The values of an Arrow column: an array of numbers or times, or its different values and their places.

    Examples
    --------
    >>> import pyarrow
    >>> from meanbounds.logs.evaluating.columns import from_arrow
    >>> from_arrow(pyarrow.chunked_array([["a", "b"], ["b", None]])).values
    ['a', 'b', None]
    """
    kind = str(column.type)
    if kind in ("float", "double") or (kind.startswith(("int", "uint", "timestamp")) and not column.null_count):
        return column.to_numpy()
    if not kind.startswith("dictionary"):
        column = column.dictionary_encode()
    whole = column.unify_dictionaries().combine_chunks()
    chunks = [whole] if hasattr(whole, "dictionary") else whole.chunks
    if not chunks:
        return []
    values = [*chunks[0].dictionary.to_pylist(), None]
    codes = np.concatenate([np.asarray(chunk.indices.fill_null(len(values) - 1)) for chunk in chunks])
    return Encoded(values, codes.astype(np.int64))


def as_numbers(column: Sequence[Any] | Encoded) -> tuple[Floats, Booleans, Booleans]:
    """The numbers of a column, NaN where there is none; and where one is missing, and where it cannot be read.

    Examples
    --------
    >>> from meanbounds.logs.evaluating.columns import as_numbers
    >>> number, missing, unreadable = as_numbers(["0.5", None, "", "much", True])
    >>> number, missing.nonzero()[0], unreadable.nonzero()[0]
    (array([0.5, nan, nan, nan, 1. ]), array([1, 2]), array([3]))
    """
    if isinstance(column, Encoded):
        number, missing, unreadable = as_numbers(column.values)
        return number[column.codes], missing[column.codes], unreadable[column.codes]
    if isinstance(column, np.ndarray) and column.dtype.kind in "fiub":
        number = column.astype(np.float64)
        return number, np.isnan(number), np.isinf(number)
    masked = np.ma.masked
    values = [
        nan if value is None or value is masked or (isinstance(value, str) and not value) else value for value in column
    ]
    try:
        with np.errstate(over="ignore"):  # what is too large is infinite, and refused
            number = np.array(values, dtype=np.float64)
        missing = np.fromiter((value != value for value in values), dtype=bool, count=len(values))
    except (TypeError, ValueError, ArithmeticError):
        return _one_by_one(values)
    if number.ndim != 1:
        return _one_by_one(values)
    unreadable = ~(np.isfinite(number) | missing)
    return np.where(unreadable, nan, number), missing, unreadable


def _one_by_one(values: Iterable[Any]) -> tuple[Floats, Booleans, Booleans]:
    number, missing, unreadable = [], [], []
    for value in values:
        absent = is_missing(value)
        try:
            with np.errstate(over="ignore"):
                read_as = nan if absent else float(value)
        except (TypeError, ValueError, ArithmeticError):
            read_as = nan
        fine = bool(np.isfinite(read_as))
        number.append(read_as if fine else nan)
        missing.append(absent)
        unreadable.append(not fine and not absent)
    return np.array(number), np.array(missing, dtype=bool), np.array(unreadable, dtype=bool)


def is_missing(value: Any) -> bool:
    """Whether a value is none at all: None, NaN, pandas.NA, or nothing but spaces.

    Examples
    --------
    >>> from meanbounds.logs.evaluating.columns import is_missing
    >>> [is_missing(value) for value in (None, float("nan"), "  ", 0, [])]
    [True, True, True, False, False]
    """
    if value is None or (isinstance(value, str) and not value.strip()):
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # pandas.NA compares as NA, arrays by element
        return type(value).__name__ in ("NAType", "NaTType")
    except ArithmeticError:  # a signalling NaN
        return True


def as_codes(column: Sequence[Any] | Encoded, untyped: bool) -> tuple[tuple[Any, ...], Places]:
    """The different names of a column in natural order, and of each row the place of its name; -1 where it has none.

    Examples
    --------
    >>> from meanbounds.logs.evaluating.columns import as_codes
    >>> as_codes(["b 10", "b 2", None, "b 10"], untyped=False)
    (('b 2', 'b 10'), array([ 1,  0, -1,  1]))
    """
    if isinstance(column, Encoded):
        names, places = as_codes(column.values, untyped)
        return names, places[column.codes]
    codes = Codes()
    values = column.tolist() if isinstance(column, np.ndarray) else column
    try:
        found = codes.of(values)
    except (TypeError, ArithmeticError):  # lists, as JSON has them, pandas.NA, or a signalling NaN
        found = codes.of([_hashable(value) for value in values])
    names = whole_numbers(codes.names) if untyped else tuple(codes.names)
    order = sorted(range(len(names)), key=lambda place: natural_order(names[place]))
    ranks = np.full(len(names) + 1, -1, dtype=np.int64)
    ranks[order] = np.arange(len(names))
    return tuple(names[place] for place in order), ranks[found]


def _hashable(value: Any) -> Any:
    if is_missing(value):
        return None
    try:
        hash(value)
    except TypeError:
        return str(value)
    return value
