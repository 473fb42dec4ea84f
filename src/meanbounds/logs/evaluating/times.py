"""Times of rows as numbers that can be sorted: seconds since 1970, or the numbers themselves."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from math import nan
from typing import Any

import numpy as np

from meanbounds.logs.evaluating.columns import Encoded
from meanbounds.support.types import Booleans, Floats

__all__ = ["as_times"]


def as_times(column: Sequence[Any] | Encoded) -> tuple[Floats, Booleans, Booleans]:
    """The times of a column as numbers, NaN where there is none; where one is missing, and where it cannot be read.

    A date without a time zone is taken as UTC.

    Examples
    --------
    >>> from meanbounds.logs.evaluating.times import as_times
    >>> as_times(["1970-01-02", "1970-01-01 00:00:30", "1970-01-01T01:00:00+01:00", "", "noon"])[0]
    array([8.64e+04, 3.00e+01, 0.00e+00,      nan,      nan])
    >>> as_times([3, 1.5])[0]
    array([3. , 1.5])
    """
    if isinstance(column, Encoded):
        time, missing, unreadable = as_times(column.values)
        return time[column.codes], missing[column.codes], unreadable[column.codes]
    if isinstance(column, np.ndarray) and column.dtype.kind == "M":
        since = (column - np.datetime64(0, "s")) / np.timedelta64(1, "s")
        seconds: Floats = since.astype(np.float64)
        return seconds, np.isnat(column), np.zeros(column.size, dtype=bool)
    if isinstance(column, np.ndarray) and column.dtype.kind in "fiu":
        number = column.astype(np.float64)
        return number, np.isnan(number), np.isinf(number)
    found: dict[Any, float | None] = {}
    values = np.empty(len(column))
    missing, unreadable = np.zeros(len(column), dtype=bool), np.zeros(len(column), dtype=bool)
    for place, given in enumerate(column):
        if given is None or given != given or given == "":
            values[place], missing[place] = nan, True
            continue
        seconds_of = found[given] if given in found else found.setdefault(given, _seconds(given))
        values[place] = nan if seconds_of is None else seconds_of
        unreadable[place] = seconds_of is None
    return values, missing, unreadable


def _seconds(given: Any) -> float | None:
    """Seconds since 1970 of a date, a number as it is; None for what is neither."""
    if hasattr(given, "to_pydatetime"):
        given = given.to_pydatetime(warn=False)
    if isinstance(given, np.generic):
        given = given.item()
    if isinstance(given, str):
        try:
            number = float(given)
        except ValueError:
            try:
                given = datetime.fromisoformat(given.strip())
            except ValueError:
                return None
        else:
            return number if np.isfinite(number) else None
    if isinstance(given, date):
        moment = given if isinstance(given, datetime) else datetime(given.year, given.month, given.day)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    if isinstance(given, int | float) and not isinstance(given, bool) and np.isfinite(given):
        return float(given)
    return None
