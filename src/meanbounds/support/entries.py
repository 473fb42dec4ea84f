"""One way to read saved state: every entry is checked before anything is made of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import numpy as np

from meanbounds.support.checks import as_floats, as_whole, shown
from meanbounds.support.types import Floats, Integers

__all__ = ["Entries"]

_Checked = TypeVar("_Checked")


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
            raise ValueError(f"a saved {what} is a mapping such as to_dict() returns; got {shown(data)}")
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
            raise self.fail(f"{name} must be a mapping; got {shown(value)}")
        return value

    def sequence(self, name: str) -> list[Any]:
        """An entry that is a list."""
        value = self[name]
        if not isinstance(value, list | tuple):
            raise self.fail(f"{name} must be a list; got {shown(value)}")
        return list(value)

    def whole(self, name: str, *, low: int = 0, high: int = 2**53) -> int:
        """A whole number between `low` and `high`."""
        return self._read(as_whole, name, least=low, most=high)

    def numbers(self, name: str, shape: tuple[int, ...]) -> Floats:
        """An array of finite numbers of this shape."""
        array = self._read(as_floats, name)
        if array.shape != shape and (array.size or math.prod(shape)):
            raise self.fail(f"{name} has shape {array.shape}; expected {shape}")
        if not np.isfinite(array).all():
            raise self.fail(f"{name} must hold finite numbers; got {shown(self[name])}")
        return array.reshape(shape)

    def wholes(self, name: str, size: int, *, high: int = 2**53) -> Integers:
        """An array of this many whole numbers from 0 to `high`."""
        values = self.numbers(name, (size,))
        if not ((values >= 0.0) & (values <= high) & (values == np.floor(values))).all():
            raise self.fail(f"{name} must hold whole numbers from 0 to {high}; got {shown(self[name])}")
        return values.astype(np.int64)

    def _read(self, check: Callable[..., _Checked], name: str, **limits: Any) -> _Checked:
        value = self[name]
        try:
            return check(name, value, **limits)
        except ValueError as error:
            raise self.fail(str(error)) from None
