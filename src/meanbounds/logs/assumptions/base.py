"""What every assumption can do: be read for each context, joined with others, said in words, and saved."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np

from meanbounds.bounds import BoundsError
from meanbounds.logs.assumptions.claims import Claims, together
from meanbounds.logs.names import Context
from meanbounds.support.checks import as_float, as_floats, as_mapping, shown
from meanbounds.support.rounding import rounding
from meanbounds.support.types import Floats

__all__ = ["Assumption", "Believed", "PerContext", "World", "amount", "by_context"]

PerContext = float | Sequence[float] | Floats | Mapping[Context, float]
"""One number for all contexts, or one for each: a mapping, or a sequence in the order of the contexts."""


@dataclass(frozen=True)
class World:
    """The contexts and the range of rewards that an assumption is about.

    `share` says how much of the whole log each context is, at least; None where there is no log of several contexts.
    """

    contexts: tuple[Context, ...]
    low: float
    high: float
    share: Floats | None = None

    @property
    def slack(self) -> float:
        """How far a number may be off by rounding, in units of the range: far from 0, differences lose digits."""
        return float(rounding(self.low, self.high)) / (self.high - self.low)

    def numbers(self, name: str, given: PerContext) -> Floats:
        """Read one number for each context."""
        return np.array(by_context(name, given, self.contexts))

    def gaps(self, gap_low: PerContext, gap_high: PerContext | None) -> tuple[Floats, Floats]:
        """Both gaps of each context in units of the range, refusing what cannot be."""
        span = self.high - self.low
        low = self.numbers("gap_low", gap_low) / span
        high = np.ones(len(self.contexts)) if gap_high is None else self.numbers("gap_high", gap_high) / span
        wrong = ~((low >= 0.0) & (low <= high + self.slack) & (high <= 1.0 + self.slack))
        for place in np.flatnonzero(wrong):
            raise BoundsError(
                f"{self.name(place)}: gaps need 0 <= gap_low <= gap_high <= high - low; as shares of the range they "
                f"are {low[place]:g} and {high[place]:g}"
            )
        high = np.minimum(high, 1.0)
        return np.minimum(low, high), high

    def between(self, name: str, given: PerContext, least: float, most: float, meaning: str) -> Floats:
        """Read one number for each context that has to lie between two others."""
        values = self.numbers(name, given)
        for place in np.flatnonzero(~((values >= least) & (values <= most))):
            raise BoundsError(f"{self.name(place)}: {name} is {meaning}; got {values[place]:g}")
        return values

    def name(self, place: int | np.intp) -> str:
        """How a message names the context at this place."""
        return f"context {self.contexts[place]!r}"


@dataclass(frozen=True, repr=False)
class Assumption(ABC):
    """Base of what can be assumed of the people or programs that wrote a log.

    Join two that you believe with ``&``: the bounds then use both.

    Examples
    --------
    >>> import meanbounds as mb
    >>> both = mb.logs.ErringExpert(0.05) & mb.logs.AnyExpert(gap_high=0.5)
    >>> both
    ErringExpert(0.05) & AnyExpert(gap_high=0.5)
    >>> for part in both.parts:
    ...     print(part.in_words())
    the expert's choice was the best one in all but at most 5% of the cases of each context
    no choice is worse than the best one by more than 0.5, in any hidden type of case
    """

    kind: ClassVar[str]
    weaker: ClassVar[Mapping[str, float]]  # the value of each number at which it says nothing; gaps in ranges

    @property
    def needs_shares(self) -> bool:
        """Whether what it claims of a context depends on how much of the log the context is."""
        return any(part.needs_shares for part in self.parts if part is not self)

    @abstractmethod
    def claims(self, world: World) -> Claims:
        """What is claimed of each context, as numbers; refuses what cannot be."""

    @abstractmethod
    def in_words(self) -> str:
        """The assumption as a sentence that someone who knows the field can judge."""

    @property
    def parts(self) -> tuple[Assumption, ...]:
        """The assumptions that are joined; itself if there is one."""
        return (self,)

    def __and__(self, other: Assumption) -> Assumption:
        if not isinstance(other, Assumption):
            return NotImplemented
        return Believed((*self.parts, *other.parts))

    def __repr__(self) -> str:
        said = []
        for place, field in enumerate(fields(self)):
            value = getattr(self, field.name)
            if not _same(value, field.default):
                said.append(repr(value) if not place else f"{field.name}={value!r}")
        return f"{type(self).__name__}({', '.join(said)})"

    def to_dict(self) -> dict[str, Any]:
        """Numbers and texts that JSON can hold; `meanbounds.logs.assumption_from_dict` is the inverse.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.logs.OptimalExpert(gap_low=0.1).to_dict()
        {'kind': 'optimal-expert', 'gap_low': 0.1}
        """
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {"kind": self.kind, **{name: _plain(value) for name, value in values.items() if value is not None}}

    def listed(self, contexts: Sequence[Context]) -> Assumption:
        """The same with one number where all contexts have the same, else a list in the order of these contexts.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.logs.OptimalExpert(gap_low={"old": 0.1, "young": 0.2}).listed(["young", "old"])
        OptimalExpert((0.2, 0.1))
        """
        values = {}
        for name in self.weaker:
            if getattr(self, name) is not None:
                own = by_context(name, getattr(self, name), contexts)
                values[name] = own[0] if len(set(own)) == 1 else tuple(own)
        return replace(self, **values)

    def _read_numbers(self) -> None:
        """Replace what the user gave by floats of Python; called when the object is made."""
        for name in self.weaker:
            given = getattr(self, name)
            if given is not None:
                object.__setattr__(self, name, _numbers(name, given))


@dataclass(frozen=True, repr=False)
class Believed(Assumption):
    """Several assumptions that are believed together; ``a & b`` makes one."""

    joined: tuple[Assumption, ...]

    kind: ClassVar[str] = "all-of"
    weaker: ClassVar[Mapping[str, float]] = {}

    @property
    def parts(self) -> tuple[Assumption, ...]:
        """The assumptions that are joined."""
        return self.joined

    def claims(self, world: World) -> Claims:
        """What is claimed of each context, as numbers; see `meanbounds.logs.assumptions.claims`."""
        return together([part.claims(world) for part in self.joined])

    def in_words(self) -> str:
        """The assumption as a sentence that someone who knows the field can judge."""
        return "; and ".join(part.in_words() for part in self.joined)

    def __repr__(self) -> str:
        return " & ".join(map(repr, self.joined))

    def to_dict(self) -> dict[str, Any]:
        """Its parts, as each of them is saved."""
        return {"kind": self.kind, "parts": [part.to_dict() for part in self.joined]}

    def listed(self, contexts: Sequence[Context]) -> Assumption:
        """Each part with its numbers in the order of these contexts."""
        return Believed(tuple(part.listed(contexts) for part in self.joined))


def by_context(name: str, given: PerContext, contexts: Sequence[Context]) -> list[float]:
    """Read the number of each context: from one number, one for each in order, or a mapping.

    Examples
    --------
    >>> from meanbounds.logs.assumptions.base import by_context
    >>> by_context("gap_low", {"young": 0.1, "old": 0}, ["old", "young"])
    [0.0, 0.1]
    """
    if isinstance(given, Mapping):
        for context in contexts:
            if context not in given:
                raise BoundsError(f"context {context!r}: {name} has no entry for it")
        return [as_float(f"context {context!r}: {name}", given[context]) for context in contexts]
    values = as_floats(name, given)
    if not values.ndim:
        return [float(values)] * len(contexts)
    if values.shape != (len(contexts),):
        raise BoundsError(f"{name} has {values.size} numbers for {len(contexts)} contexts; give one, or one for each")
    return [float(part) for part in values]


def amount(given: PerContext, *, percent: bool = False) -> str:
    """A number in words; those of several contexts as their range.

    Examples
    --------
    >>> from meanbounds.logs.assumptions.base import amount
    >>> amount(0.05, percent=True), amount((0.1, 0.3))
    ('5%', '0.1 to 0.3')
    """
    values = list(given.values()) if isinstance(given, Mapping) else np.ravel(given).tolist()
    ends = sorted({min(values), max(values)}) if values else [0.0]
    shown_ends = [f"{100 * end:.12g}%" if percent else f"{end:.12g}" for end in ends]
    return " to ".join(shown_ends)


def _numbers(name: str, given: Any) -> Any:
    """Floats of Python: one, a tuple, or a dictionary by context."""
    if isinstance(given, Mapping):
        entries = as_mapping(name, given)
        return {context: as_float(f"context {context!r}: {name}", value) for context, value in entries.items()}
    values = as_floats(name, given)
    if values.ndim > 1:
        raise BoundsError(f"{name} must be one number, or one for each context; got {shown(given)}")
    return tuple(values.tolist()) if values.ndim else float(values)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): part for name, part in value.items()}
    return list(value) if isinstance(value, tuple) else value


def _same(value: Any, default: Any) -> bool:
    return type(value) is type(default) and bool(value == default)
