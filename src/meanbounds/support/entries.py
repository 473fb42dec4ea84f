"""One way to read saved state: every entry is checked before anything is made of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from meanbounds.support.types import Floats, Integers

__all__ = ["Entries"]


class Entries:
    """The entries of a saved object; each method returns one of them, or says what is wrong with it.

    Parameters
    ----------
    data
        The saved object, as a mapping.
    what
        What it is, for messages: "agent", "regret", ...

    Examples
    --------
    >>> saved = Entries({"pulls": 3, "plays": [1.0, 2.0], "total": [0.5, float("nan")]}, "agent")
    >>> saved.whole("pulls"), saved.wholes("plays", 2)
    (3, array([1, 2]))
    >>> saved.numbers("total", (2,))
    Traceback (most recent call last):
    ValueError: the saved agent cannot be read: total must hold finite numbers; got [0.5, nan]
    """

    def __init__(self, data: Mapping[str, Any], what: str) -> None:
        self.what = what
        if not isinstance(data, Mapping):
            raise TypeError(f"a saved {what} is a mapping such as to_dict() returns; got {_short(data)}")
        self._data = data

    def fail(self, why: str) -> ValueError:
        """The error for an entry that cannot be right."""
        return ValueError(f"the saved {self.what} cannot be read: {why}")

    def need(self, names: Iterable[str]) -> None:
        """Refuse an object that lacks some of these entries."""
        missing = [name for name in names if name not in self._data]
        if missing:
            raise self.fail(f"it lacks {', '.join(missing)}")

    def __contains__(self, name: object) -> bool:
        return name in self._data

    def __getitem__(self, name: str) -> Any:
        self.need([name])
        return self._data[name]

    def mapping(self, name: str) -> Mapping[Any, Any]:
        """An entry that is a mapping."""
        value = self[name]
        if not isinstance(value, Mapping):
            raise self.fail(f"{name} must be a mapping; got {_short(value)}")
        return value

    def sequence(self, name: str) -> list[Any]:
        """An entry that is a list."""
        value = self[name]
        if not isinstance(value, list | tuple):
            raise self.fail(f"{name} must be a list; got {_short(value)}")
        return list(value)

    def whole(self, name: str, *, low: int = 0, high: int = 2**53) -> int:
        """A whole number between `low` and `high`."""
        value = self[name]
        number = _plain(value)
        if isinstance(number, bool) or not isinstance(number, int) or not low <= number <= high:
            raise self.fail(f"{name} must be a whole number from {low} to {high}; got {_short(value)}")
        return number

    def number(self, name: str, *, low: float = -math.inf, high: float = math.inf) -> float:
        """A finite number between `low` and `high`."""
        value = self[name]
        number = _plain(value)
        fits = isinstance(number, int | float) and not isinstance(number, bool) and low <= number <= high
        if not fits or not -1.7e308 < number < 1.7e308:
            raise self.fail(f"{name} must be a number from {low:g} to {high:g}; got {_short(value)}")
        return float(number)

    def numbers(self, name: str, shape: tuple[int, ...]) -> Floats:
        """An array of finite numbers of this shape."""
        value = self[name]
        try:
            array = np.array(value)
        except ValueError:  # ragged
            array = np.array(None)
        if array.dtype.kind not in "iuf" and array.size:
            raise self.fail(f"{name} must hold numbers; got {_short(value)}")
        if array.shape != shape and (array.size or math.prod(shape)):
            raise self.fail(f"{name} has shape {array.shape}; expected {shape}")
        floats = array.astype(np.float64).reshape(shape)
        if not np.isfinite(floats).all():
            raise self.fail(f"{name} must hold finite numbers; got {_short(value)}")
        return floats

    def wholes(self, name: str, size: int, *, high: int = 2**53) -> Integers:
        """An array of this many whole numbers from 0 to `high`."""
        values = self.numbers(name, (size,))
        if not ((values >= 0.0) & (values <= high) & (values == np.floor(values))).all():
            raise self.fail(f"{name} must hold whole numbers from 0 to {high}; got {_short(self[name])}")
        return values.astype(np.int64)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
