"""Which weaker assumption a log would allow: each number moved, all else as it is, until nothing speaks against it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import isinf

from meanbounds.bounds import BoundsError
from meanbounds.logs.assumptions import Assumption, Believed, by_context
from meanbounds.logs.names import Context

__all__ = ["IN_REWARD_UNITS", "in_context", "joined", "nearest_allowed"]

_HALVINGS = 18
IN_REWARD_UNITS = ("gap_low", "gap_high", "loss")
"""Numbers of assumptions that are in reward units."""


def in_context(assumption: Assumption, place: int, contexts: Sequence[Context]) -> Assumption:
    """The assumption with the numbers of the context at this place.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.logs.allowed import in_context
    >>> in_context(mb.logs.OptimalExpert(gap_low=[0.1, 0.2]), 1, ["old", "young"])
    OptimalExpert(0.2)
    """
    parts = []
    for part in assumption.parts:
        given = {name: getattr(part, name) for name in part.weaker}
        own = {name: by_context(name, value, contexts)[place] for name, value in given.items() if value is not None}
        parts.append(replace(part, **own))
    return joined(parts)


def nearest_allowed(assumption: Assumption, span: float, holds: Callable[[Assumption], bool]) -> list[str]:
    """For each number of an assumption the nearest weaker value that the log does not contradict, in words.

    Parameters
    ----------
    assumption
        One that does not hold; numbers that differ by context are left as they are.
    span
        The width of the range of rewards.
    holds
        Whether the log allows an assumption of this kind.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.logs.allowed import nearest_allowed
    >>> nearest_allowed(mb.logs.ErringExpert(0.02), 1.0, lambda other: other.errors >= 0.05)
    ['errors of at least 0.05']
    """
    found = []
    for place, part in enumerate(assumption.parts):
        for name, nothing in part.weaker.items():
            start = getattr(part, name)
            if not isinstance(start, float):
                continue
            width = span if name in IN_REWARD_UNITS else 1.0
            end = 1e6 if isinf(nothing) else nothing * width

            def right_at(value: float, place: int = place, name: str = name) -> bool:
                parts = list(assumption.parts)
                parts[place] = replace(parts[place], **{name: value})
                try:
                    return holds(joined(parts))
                except BoundsError:  # such as gap_low above gap_high
                    return False

            if start == end or not right_at(end):
                continue
            wrong, right = start, end
            for _ in range(_HALVINGS):
                middle = 0.5 * (wrong + right)
                wrong, right = (wrong, middle) if right_at(middle) else (middle, right)
            word = "at most" if right < start else "at least"
            found.append(f"{name} of {word} {right:.4g}")
    return found


def joined(parts: Sequence[Assumption]) -> Assumption:
    """One assumption from its parts.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.logs.allowed import joined
    >>> joined([mb.logs.AnyExpert(), mb.logs.ErringExpert(0.1)])
    AnyExpert() & ErringExpert(0.1)
    """
    return parts[0] if len(parts) == 1 else Believed(tuple(parts))
