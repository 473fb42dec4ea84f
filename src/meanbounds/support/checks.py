"""Read the numbers that a caller gave; refuse everything else with a message that shows it."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from meanbounds.support.types import Booleans, Floats, Integers

__all__ = [
    "LARGEST",
    "SMALLEST_WIDTH",
    "as_flag",
    "as_float",
    "as_floats",
    "as_list",
    "as_mapping",
    "as_positions",
    "as_whole",
    "broadcast_floats",
    "check_choice",
    "fits_range",
    "is_masked",
    "is_whole",
    "shown",
    "unknown",
    "whole_hint",
    "within",
]

LARGEST = 1e150
"""Ends of a reward range are smaller than this in size, so that squares of rewards stay finite."""

SMALLEST_WIDTH = 1e-150
"""A reward range is at least this wide, so that the square of its width is not rounded to 0."""

_LONGEST = 200  # characters of a value in a message
_PLAIN = frozenset((float, int, bool, str))  # types whose values are never masked


def as_floats(name: str, value: Any, *, error: type[ValueError] = ValueError) -> Floats:
    """Read numbers of any type as an array of floats, of whatever shape they have.

    Text, dates, complex numbers, missing values such as ``pandas.NA`` or a masked entry, and whole numbers beyond
    1.8e308 are refused. NaN and infinity are floats, and are returned.

    Examples
    --------
    >>> as_floats("lower", [1, 0.5])
    array([1. , 0.5])
    >>> as_floats("lower", ["a", 0.5])
    Traceback (most recent call last):
    ValueError: lower must be numbers; got ['a', 0.5]
    >>> as_floats("lower", np.ma.array([0.1, 0.2], mask=[False, True]))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: lower must be numbers, and some are masked, which means missing; got masked_array(...
    """
    if type(value) is np.ndarray and value.dtype == np.float64:
        return value
    if type(value) is float:
        return np.array(value)
    masked = ""
    try:
        if is_masked(value):
            masked = ", and some are masked, which means missing"
            raise ValueError
        array = np.asarray(value)
        if array.dtype == np.float64:
            return array
        if array.dtype.kind in "biuf":
            with np.errstate(over="ignore"):  # a longer float may be infinite as a float of 64 bits
                return array.astype(np.float64)
        if array.dtype.kind == "O":
            return np.array([_float(part) for part in array.flat], dtype=np.float64).reshape(array.shape)
    except (TypeError, ValueError, OverflowError, RuntimeError):  # RuntimeError: nested deeper than numpy can go
        pass
    raise error(f"{name} must be numbers{masked}; got {shown(value)}")


def is_masked(value: Any) -> bool:
    """Whether an entry is masked; numpy would read the value behind the mask, or NaN."""
    if isinstance(value, np.ma.MaskedArray):
        return bool(np.ma.is_masked(value))
    if type(value) not in (list, tuple) or _PLAIN.issuperset(map(type, value)):
        return False
    return any(is_masked(part) for part in value)


def _float(part: Any) -> float:
    """One entry of an array of Python objects, such as a Decimal, a Fraction or a large whole number."""
    if isinstance(part, np.generic) and not isinstance(part, np.integer | np.floating | np.bool_):
        raise TypeError
    if not (hasattr(part, "__float__") or hasattr(part, "__index__")):
        raise TypeError
    return float(part)


def as_float(name: str, value: Any, *, error: type[ValueError] = ValueError) -> float:
    """Read one number as a float; see `as_floats` for what is refused."""
    if type(value) is float:
        return value
    array = as_floats(name, value, error=error)
    if array.ndim:
        raise error(f"{name} must be one number; got {shown(value)}")
    return float(array)


def within(value: object, low: float, high: float) -> float | None:
    """The value as a float, if it is a number between these; None otherwise.

    Examples
    --------
    >>> within(1, 0.0, 1.0), within("1", 0.0, 1.0), within(1.5, 0.0, 1.0)
    (1.0, None, None)
    """
    try:
        number = as_float("value", value)
    except ValueError:
        return None
    return number if low <= number <= high else None


def as_whole(name: str, value: Any, *, least: int = 1, most: int = 2**63 - 1) -> int:
    """Read a whole number, an int or an integer of numpy, as an int that does not overflow."""
    if not (is_whole(value) and least <= int(value) <= most):
        limit = f", at least {least}" if most == 2**63 - 1 else f" from {least:,} to {most:,}"
        raise ValueError(f"{name} must be a whole number{limit}; got {shown(value)}{whole_hint(value)}")
    return int(value)


def whole_hint(value: object) -> str:
    """How to write a float that is a whole number, such as 1e4; nothing for other values."""
    return f": write {int(value):_}" if isinstance(value, float) and value.is_integer() else ""


def is_whole(value: object) -> bool:
    """Whether this is an int or an integer of numpy; True, False and spans of time are not."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool | np.timedelta64)


def as_positions(value: Any, size: int) -> Integers:
    """Read positions of some of `size` arms, or a mask over them, as positions."""
    try:
        given = np.asarray(None if is_masked(value) else value)
        if given.ndim == 1 and not given.size:
            return np.zeros(0, dtype=np.int64)
        if given.ndim == 1 and (
            given.dtype == np.bool_ or (given.dtype.kind in "iu" and np.all(given < size))  # unsigned ones would wrap
        ):
            chosen: Integers = np.arange(size)[given]
            return chosen
    except (ValueError, IndexError):  # rows of different lengths, or a place where there is no arm
        pass
    raise ValueError(f"positions must be places of {size} arms, or a mask over them; got {shown(value)}")


def as_mapping(what: str, data: Any, *, error: type[ValueError] = ValueError) -> Mapping[Any, Any]:
    """Check that saved data is a mapping from names to values, as a JSON object is."""
    if not isinstance(data, Mapping):
        raise error(f"{what} must be a mapping from names to values; got {shown(data)}")
    return data


def as_list(name: str, value: Any) -> list[Any]:
    """Read any iterable but a text as a list."""
    scalar = isinstance(value, str | bytes | bytearray | np.generic) or (
        isinstance(value, np.ndarray) and not value.ndim
    )
    if scalar or not isinstance(value, Iterable):
        raise TypeError(f"{name} must be a list; got {shown(value)}")
    return list(value)


def as_flag(name: str, value: Any) -> bool:
    """Read True or False; anything else is refused."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False; got {shown(value)}")
    return bool(value)


def check_choice(name: str, value: Any, choices: Collection[str]) -> None:
    """Refuse a value that is not one of these texts."""
    if not (isinstance(value, str) and value in choices):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {shown(value)}")


def broadcast_floats(**values: Any) -> tuple[Floats, ...]:
    """Read several arguments as arrays of floats of one common shape; do not write to them."""
    arrays = [as_floats(name, value) for name, value in values.items()]
    shape = arrays[0].shape
    if all(array.shape == shape for array in arrays):
        return tuple(arrays)
    try:
        return tuple(np.broadcast_arrays(*arrays))
    except ValueError:
        shapes = ", ".join(str(array.shape) for array in arrays)
        raise ValueError(f"{', '.join(values)} must have shapes that fit together; got {shapes}") from None


def fits_range(low: Floats, high: Floats) -> Booleans:
    """Whether each reward range can be computed with: finite, not too large, and not too narrow."""
    # Not high - low: that may overflow. Where adding the least width rounds to low, high > low is wide enough.
    fits: Booleans = (low > -LARGEST) & (high < LARGEST) & (low < high) & (low + SMALLEST_WIDTH <= high)
    return fits


def shown(value: object) -> str:
    """The value as a message shows it: its ``repr``, cut where it is long."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a whole number of more than 4,300 digits, or lists that are too deep
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def unknown(what: str, name: object, names: Sequence[object]) -> str:
    """The message about a name that does not exist: the closest one, and the names that do exist.

    Examples
    --------
    >>> unknown("arm", "tpa", ["tPA", "watch"])
    "unknown arm 'tpa', did you mean 'tPA'? The arms are 'tPA', 'watch'"
    """
    lowered = {str(known).lower(): known for known in reversed(names)}
    close = difflib.get_close_matches(str(name).lower(), lowered, n=1)
    listed = ", ".join(map(repr, names[:15])) + (", ..." if len(names) > 15 else "")
    hint = f", did you mean {lowered[close[0]]!r}? The" if close else "; the"
    several = f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"
    return f"unknown {what} {shown(name)}{hint} {several} are {listed}"
