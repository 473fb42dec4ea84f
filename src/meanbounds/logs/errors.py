"""Errors and warnings about a log: a message for people, and its parts for programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
        One row of each kind, as a mapping from column to value. Empty where rows were dropped.
    seen
        Smallest and largest finite reward in the log; None if it has none.
    low, high
        The range that rewards were expected in.

    Examples
    --------
    >>> import meanbounds as mb
    >>> bad = mb.logs.BadRows(200, {"reward above range": 150}, {}, seen=(1.0, 5.0), low=0.0, high=1.0)
    >>> bad.number, bad.share, bad.outside_range
    (150, 0.75, True)
    """

    rows: int
    kinds: Mapping[str, int]
    examples: Mapping[str, Mapping[str, Any]]
    seen: tuple[float, float] | None
    low: float
    high: float

    @property
    def number(self) -> int:
        """Number of bad rows of all kinds together.

        Examples
        --------
        >>> import meanbounds as mb
        >>> kinds = {"missing arm": 3, "reward above range": 12}
        >>> mb.logs.BadRows(200, kinds, {}, seen=(0.0, 5.0), low=0.0, high=1.0).number
        15
        """
        return sum(self.kinds.values())

    @property
    def share(self) -> float:
        """Bad rows as a share of all rows: 0.05 is one row in twenty.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.logs.BadRows(200, {"missing arm": 10}, {}, seen=None, low=0.0, high=1.0).share
        0.05
        """
        return self.number / self.rows

    @property
    def outside_range(self) -> bool:
        """Whether some reward is a number outside the range, so that the range itself may be wrong.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.logs.BadRows(200, {"missing arm": 10}, {}, seen=None, low=0.0, high=1.0).outside_range
        False
        >>> mb.logs.BadRows(200, {"reward above range": 10}, {}, seen=(0.0, 5.0), low=0.0, high=1.0).outside_range
        True
        """
        return any(kind.endswith("range") for kind in self.kinds)

    @property
    def advice(self) -> str:
        """The range that was seen and the range to give instead, as a sentence; empty if no reward is outside.

        Examples
        --------
        >>> import meanbounds as mb
        >>> bad = mb.logs.BadRows(200, {"reward above range": 150}, {}, seen=(1.0, 5.0), low=0.0, high=1.0)
        >>> print(bad.advice)  # doctest: +NORMALIZE_WHITESPACE
        The rewards of this log go from 1 to 5, and the range is 0 to 1. If 1 to 5 is their scale, give low=1, high=5;
        where less is better, as with costs, count their negatives: write -5 for 5, and give low=-5, high=-1.
        """
        if not self.outside_range or self.seen is None:
            return ""
        least, most = self.seen
        low, high = f"{least:.12g}", f"{most:.12g}"
        found = (
            f"The rewards of this log go from {low} to {high}, and the range is {self.low:.12g} to {self.high:.12g}."
        )
        if least == most:
            return f"{found} Give the smallest and the largest reward that are possible."
        return (
            f"{found} If {low} to {high} is their scale, give low={low}, high={high}; where less is better, as with "
            f"costs, count their negatives: write {-most:.12g} for {high}, and give low={-most:.12g}, "
            f"high={-least:.12g}."
        )


class LogError(ValueError):
    """A log that cannot be counted as it is; the message says what is wrong, where, and what to do.

    Attributes
    ----------
    kind
        ``"bad rows"`` where rows cannot be counted, ``"empty"`` where a log has no row that can, ``"missing column"``
        where it has no column of a given name, else ``""``.
    bad
        The rows that cannot be counted, as a `BadRows`, for these two kinds where there are such rows; else None.

    Examples
    --------
    >>> import meanbounds as mb
    >>> import pandas as pd
    >>> stars = pd.DataFrame({"movie": ["a", "b"], "stars": [1, 5]})
    >>> try:
    ...     mb.logs.read(stars, arm="movie", reward="stars")
    ... except mb.logs.LogError as error:
    ...     print(error.kind, error.seen)
    bad rows (1.0, 5.0)
    """

    kind: str
    bad: BadRows | None

    def __init__(self, message: str, *, kind: str = "", bad: BadRows | None = None) -> None:
        super().__init__(message)
        self.kind, self.bad = kind, bad

    @property
    def seen(self) -> tuple[float, float] | None:
        """Smallest and largest finite reward in the log; None unless the error is about bad rows.

        Examples
        --------
        Use it to read the log again with the range that the rewards have:

        >>> import meanbounds as mb
        >>> import pandas as pd
        >>> stars = pd.DataFrame({"movie": ["a", "b"], "stars": [1, 5]})
        >>> try:
        ...     mb.logs.read(stars, arm="movie", reward="stars")
        ... except mb.logs.LogError as error:
        ...     low, high = error.seen
        >>> mb.logs.read(stars, arm="movie", reward="stars", low=low, high=high)
        Counts(2 rows, 1 context, 2 arms, rewards in [1.0, 5.0], 2 values)
        """
        return None if self.bad is None else self.bad.seen


class LogWarning(UserWarning):
    """Warning that more than 5% of a log's rows were dropped.

    Attributes
    ----------
    bad
        How many rows of which kind were dropped, as a `BadRows`.

    Examples
    --------
    >>> import warnings
    >>> import meanbounds as mb
    >>> import pandas as pd
    >>> stars = pd.DataFrame({"movie": ["a", "b"], "stars": [1, 5]})
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     counts = mb.logs.read(stars, arm="movie", reward="stars", on_bad="drop")
    >>> print(str(caught[0].message).split(" The ")[0])
    1 of 2 rows (50%) were dropped: reward above range, 1 row.
    >>> caught[0].message.bad.kinds
    {'reward above range': 1}
    """

    bad: BadRows | None

    def __init__(self, message: str, *, bad: BadRows | None = None) -> None:
        super().__init__(message)
        self.bad = bad
