"""What can be assumed of the experts who wrote a log."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from math import inf
from typing import Any, Self

import numpy as np

from meanbounds.bounds import BoundsError
from meanbounds.logs.counts import Context, plain
from meanbounds.support.checks import as_float, as_mapping, shown, unknown
from meanbounds.support.saving import Saved
from meanbounds.support.types import Floats

__all__ = ["ANYONE", "ByContext", "Experts", "where"]

ByContext = float | Mapping[Context, float]
"""One number for all contexts, or one for each."""

_VACUOUS = {"errors": 1.0, "loss": inf, "gap_low": 0.0, "gap_high": inf, "odds": inf}
_MEANINGS = {  # the ends of each field, and what it is
    "errors": (0.0, 1.0, "a share of cases, from 0 to 1"),
    "loss": (0.0, inf, "an average loss in reward units, at least 0"),
    "gap_low": (0.0, sys.float_info.max, "a difference of mean rewards, finite and at least 0"),
    "gap_high": (0.0, inf, "a difference of mean rewards, at least 0"),
    "odds": (1.0, inf, "a factor of at least 1, such as 1.5"),
}


@dataclass(frozen=True)
class Experts(Saved):
    """What you assume of the experts who wrote a log, and of the options they chose from. By default nothing.

    The experts saw more of each case than the log records. Each field is one number, or a mapping from context to
    number. Those that you give are joined by "and": all of them have to be true in every context.

    Parameters
    ----------
    errors
        In at most this share of the cases another option would have been better than the one that was chosen. 0 is the
        expert of the paper, who always chooses the best option; 1 assumes nothing.
    loss
        Someone who knows everything would earn at most this much more on average, in reward units. Many small mistakes
        and a few large ones count alike.
    gap_low
        In every kind of case the best option is better than the second best by at least this much, in reward units. It
        helps only together with `errors` or `loss`. Two options are often equally good for some kind of case; then only
        0 is true.
    gap_high
        In no kind of case are two options further apart than this, in reward units. It says something of the options,
        not of the experts.
    odds
        What the log does not record changed the odds of choosing an option by at most this factor, either way from
        their average among cases that look alike: the marginal sensitivity model of Tan (2006). 1 means that the log
        records everything that choices depended on.

    Notes
    -----
    A *kind of case* is everything that the experts could tell apart. `gap_low` and `gap_high` are about the mean
    rewards of the options in each kind, not about their averages.

    Examples
    --------
    >>> import meanbounds as mb
    >>> careful = mb.logs.Experts(errors=0.05, gap_high=0.5)
    >>> for part in careful.in_words().split("; and "):
    ...     print(part)
    in at most 5% of the cases another option would have been better
    no two options differ by more than 0.5 in any kind of case
    >>> careful & mb.logs.Experts(errors={"north": 0.1, "south": 0.02})
    Experts(errors={'north': 0.05, 'south': 0.02}, gap_high=0.5)
    """

    errors: ByContext = 1.0
    loss: ByContext = inf
    gap_low: ByContext = 0.0
    gap_high: ByContext = inf
    odds: ByContext = inf

    def __post_init__(self) -> None:
        for field in fields(self):
            object.__setattr__(self, field.name, _read(field.name, getattr(self, field.name)))

    def __repr__(self) -> str:
        given = {name: value for name, value in vars(self).items() if value != _VACUOUS[name]}
        return f"Experts({', '.join(f'{name}={value!r}' for name, value in given.items())})"

    def __and__(self, other: Experts) -> Experts:
        """Both assumptions at once: the stronger value of each field."""
        if not isinstance(other, Experts):
            return NotImplemented
        return Experts(**{name: _stronger(name, value, getattr(other, name)) for name, value in vars(self).items()})

    def in_words(self) -> str:
        """The assumption as a sentence that someone who knows the field can judge."""
        said = []
        if self.errors == 0.0:
            said.append("the experts always chose the best option")
        elif self.errors != 1.0:
            said.append(f"in at most {_amount(self.errors, 100.0)}% of the cases another option would have been better")
        if self.loss != inf:
            said.append(f"better choices would have added at most {_amount(self.loss)} to the mean reward")
        if self.gap_low != 0.0:
            said.append(
                f"the best option is better than the second best by at least {_amount(self.gap_low)} in every kind "
                f"of case"
            )
        if self.gap_high != inf:
            said.append(f"no two options differ by more than {_amount(self.gap_high)} in any kind of case")
        if self.odds != inf:
            said.append(f"what was not recorded changed the odds of a choice by at most a factor {_amount(self.odds)}")
        return "; and ".join(said) or "nothing is assumed of the experts"

    def numbers(self, contexts: Sequence[Context], width: float) -> Floats:
        """The fields of these contexts as arrays, (5, contexts), in units of a range of this width.

        `loss` and `gap_high` are at most 1, which assumes nothing, and the last row holds one over `odds`.
        """
        table = np.array([_by_context(name, value, contexts) for name, value in vars(self).items()])
        table[1:4] /= width
        table[[1, 3]] = np.minimum(table[[1, 3]], 1.0)
        table[4] = 1.0 / table[4]
        for place in np.flatnonzero(table[2] > table[3] * (1.0 + 1e-9)).tolist():
            most = f"gap_high={table[3, place] * width:g}" if table[3, place] < 1.0 else f"the range, {width:g}"
            raise BoundsError(
                f"{where(contexts[place])}: gap_low={table[2, place] * width:g} is more than {most}: no two options "
                f"can be that far apart. Give a smaller gap_low"
            )
        table[2] = np.minimum(table[2], table[3])
        return table

    def to_dict(self) -> dict[str, Any]:
        """The fields that assume something, as JSON can hold them; `from_dict` is the inverse.

        A field by context is a list of pairs; None in it assumes nothing.
        """
        data: dict[str, Any] = {}
        for name, value in vars(self).items():
            if isinstance(value, Mapping):
                data[name] = [[plain(context), None if part == inf else part] for context, part in value.items()]
            elif value != _VACUOUS[name]:
                data[name] = value
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Make the assumption that `to_dict` described."""
        found: dict[str, Any] = {}
        for name, value in as_mapping("saved experts", data, error=BoundsError).items():
            if name not in _VACUOUS:
                raise BoundsError(unknown("field", name, list(_VACUOUS)))
            found[name] = value
            if isinstance(value, list):
                try:
                    pairs = [(tuple(c) if isinstance(c, list) else c, part) for c, part in value]
                    found[name] = {c: _VACUOUS[name] if part is None else part for c, part in pairs}
                except (TypeError, ValueError):
                    raise BoundsError(f"{name} must be a number or pairs of a context and a number") from None
        return cls(**found)


def where(context: Context) -> str:
    """How a message names a context."""
    return "the log" if context is None else f"context {context!r}"


def _read(name: str, given: Any) -> ByContext:
    """Floats of Python: one, or a dictionary by context."""
    if isinstance(given, Mapping):
        if not given:
            raise BoundsError(f"{name} has no contexts: give one number, or one for each context")
        return {context: _number(f"{where(context)}: {name}", name, part) for context, part in given.items()}
    return _number(name, name, given)


def _number(said: str, name: str, given: Any) -> float:
    low, high, meaning = _MEANINGS[name]
    try:
        value = as_float(said, given, error=BoundsError)
    except BoundsError:
        raise BoundsError(f"{said} must be {meaning}, or such numbers by context; got {shown(given)}") from None
    if isinstance(given, bool) or not low <= value <= high:
        raise BoundsError(f"{said} must be {meaning}; got {shown(given)}")
    return value


def _by_context(name: str, given: ByContext, contexts: Sequence[Context]) -> list[float]:
    if not isinstance(given, Mapping):
        return [given] * len(contexts)
    for context in contexts:
        if context not in given:
            raise BoundsError(f"{where(context)}: {name} has no number for it; {unknown('context', context, [*given])}")
    return [given[context] for context in contexts]


def _stronger(name: str, one: ByContext, two: ByContext) -> ByContext:
    stronger = max if name == "gap_low" else min
    if not isinstance(one, Mapping) and not isinstance(two, Mapping):
        return stronger(one, two)
    contexts = dict.fromkeys(context for given in (one, two) if isinstance(given, Mapping) for context in given)
    sides = ([own.get(c, _VACUOUS[name]) if isinstance(own, Mapping) else own for c in contexts] for own in (one, two))
    return dict(zip(contexts, map(stronger, *sides), strict=True))


def _amount(given: ByContext, times: float = 1.0) -> str:
    """A number in words; those of several contexts as their range."""
    values = list(given.values()) if isinstance(given, Mapping) else [given]
    ends = dict.fromkeys(f"{times * end:.6g}" for end in (min(values), max(values)))
    return " to ".join(ends)


ANYONE = Experts()
"""Nothing is assumed."""
