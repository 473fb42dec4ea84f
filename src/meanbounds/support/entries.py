"""One way to read saved state: every entry is checked before anything is made of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from meanbounds.support.checks import as_floats, as_mapping, as_whole, shown
from meanbounds.support.types import Floats, Integers

__all__ = ["Entries"]


class Entries:
    """The entries of a saved object, of which some are optional: each method returns one, or says what is wrong.

    Examples
    --------
    >>> saved = Entries("Agent", {"seed": 3, "total": [0.5, float("nan")]}, ["seed", "total"])
    >>> saved.whole("seed")
    3
    >>> saved.numbers("total", (2,))
    Traceback (most recent call last):
    ValueError: the saved Agent cannot be read: total must hold finite numbers; got [0.5, nan]
    >>> Entries("Agent", {"sede": 3}, ["seed"])
    Traceback (most recent call last):
    ValueError: the saved Agent cannot be read: it lacks seed; it should not have sede
    """

    def __init__(self, what: str, data: Any, names: Iterable[str], optional: Iterable[str] = ()) -> None:
        self._what = what
        self._data: Mapping[Any, Any] = as_mapping(f"a saved {what}", data)
        missing = [name for name in names if name not in self._data]
        foreign = [shown(name).strip("'") for name in self._data if name not in {*names, *optional}]
        if missing or foreign:
            lacks = [f"it lacks {', '.join(missing)}"] * bool(missing)
            raise self.wrong("; ".join([*lacks, *[f"it should not have {', '.join(foreign)}"] * bool(foreign)]))

    def wrong(self, why: str) -> ValueError:
        """The error for an entry that cannot be right."""
        return ValueError(f"the saved {self._what} cannot be read: {why}")

    def __contains__(self, name: str) -> bool:
        return name in self._data

    def __getitem__(self, name: str) -> Any:
        return self._data[name]

    def list(self, name: str) -> list[Any]:
        """An entry that is a list."""
        value = self[name]
        if not isinstance(value, list | tuple):
            raise self.wrong(f"{name} must be a list; got {shown(value)}")
        return [*value]

    def whole(self, name: str, *, most: int = 2**53) -> int:
        """A whole number from 0 to `most`."""
        try:
            return as_whole(name, self[name], least=0, most=most)
        except ValueError as error:
            raise self.wrong(str(error)) from None

    def numbers(self, name: str, shape: tuple[int, ...]) -> Floats:
        """An array of finite numbers of this shape."""
        values = self.list(name)
        try:
            array = as_floats(name, values)
        except ValueError as error:
            raise self.wrong(str(error)) from None
        if array.shape != shape and (array.size or math.prod(shape)):
            raise self.wrong(f"{name} has shape {array.shape}; expected {shape}")
        if not np.isfinite(array).all():
            raise self.wrong(f"{name} must hold finite numbers; got {shown(self[name])}")
        return array.reshape(shape)

    def wholes(self, name: str, shape: tuple[int, ...], *, most: int = 2**53) -> Integers:
        """An array of whole numbers from 0 to `most`."""
        array = self.numbers(name, shape)
        if not ((array >= 0.0) & (array <= most) & (array == np.floor(array))).all():
            raise self.wrong(f"{name} must hold whole numbers from 0 to {most}; got {shown(self[name])}")
        return array.astype(np.int64)
