"""Errors and warnings about a log: a message for people, and its parts for programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["BadRows", "LogError", "LogWarning"]


@dataclass(frozen=True)
class BadRows:
    """The rows of a log that cannot be counted.

    Attributes
    ----------
    rows
        How many rows the log has, good and bad.
    kinds
        How many rows there are of each bad kind, such as ``{"reward above range": 12}``.
    examples
        One row of each kind, as a mapping from column to text.
    seen
        The smallest and the largest reward in the log, in the range or not; None if no reward is a number.
    low, high
        The range that rewards were expected in.
    """

    rows: int
    kinds: Mapping[str, int]
    examples: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    seen: tuple[float, float] | None = None
    low: float = 0.0
    high: float = 1.0

    @property
    def number(self) -> int:
        """Number of bad rows of all kinds together."""
        return sum(self.kinds.values())

    @property
    def share(self) -> float:
        """Bad rows as a share of all rows."""
        return self.number / self.rows

    @property
    def range_advice(self) -> str:
        """The rewards that were seen and the range to give instead, as a sentence; empty if none is outside.

        Examples
        --------
        >>> from meanbounds.logs import BadRows
        >>> BadRows(10, {"reward below range": 9}, seen=(-30.0, 0.0)).range_advice
        'The rewards go from -30 to 0, and the range is 0 to 1. If -30 to 0 is their scale, give low=-30, high=0.'
        >>> BadRows(10, {"reward above range": 9}, seen=(0.0, 30.0)).range_advice[-104:]
        'If they are costs, of which less is better, write their negatives (-30 for 30) and give low=-30, high=0.'
        """
        if self.seen is None or not any(kind.endswith("range") for kind in self.kinds):
            return ""
        low, high = (f"{end + 0.0:.12g}" for end in self.seen)
        found = f"The rewards go from {low} to {high}, and the range is {self.low:.12g} to {self.high:.12g}."
        if low == high:
            return f"{found} Give the smallest and the largest reward that are possible, as low= and high=."
        said = f"{found} If {low} to {high} is their scale, give low={low}, high={high}."
        if self.seen[1] > 5.0 and self.seen[0] >= 0.0:
            low, high = (f"{0.0 - end:.12g}" for end in reversed(self.seen))
            said += (
                f" If they are costs, of which less is better, write their negatives ({low} for {self.seen[1]:.12g}) "
                f"and give low={low}, high={high}."
            )
        return said


class LogError(ValueError):
    """A log that cannot be counted as it is; the message says what is wrong, where, and what to do.

    Attributes
    ----------
    bad
        The rows that cannot be counted, as a `BadRows`, if the error is about such rows; else None.

    Examples
    --------
    Read a log again with the range that its rewards have:

    >>> import meanbounds as mb
    >>> import pandas as pd
    >>> stars = pd.DataFrame({"movie": ["a", "b"], "stars": [1, 4]})
    >>> try:
    ...     counts = mb.logs.read(stars, arm="movie", reward="stars")
    ... except mb.logs.LogError as error:
    ...     low, high = error.bad.seen
    >>> mb.logs.read(stars, arm="movie", reward="stars", low=low, high=high)
    Counts(2 rows, 1 context, 2 arms, rewards in [1, 4])
    """

    def __init__(self, message: str, *, bad: BadRows | None = None) -> None:
        super().__init__(message)
        self.bad = bad


class LogWarning(UserWarning):
    """Something about a log that you may not have meant, such as a context for every row.

    `bad` holds the rows that were dropped, as a `BadRows`, if the warning is about such rows; else it is None.
    """

    def __init__(self, message: str, *, bad: BadRows | None = None) -> None:
        super().__init__(message)
        self.bad = bad
