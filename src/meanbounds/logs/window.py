"""A window of time: which rows of a log are counted, by a column of dates or numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime
from math import isfinite
from typing import Any

from meanbounds.logs.errors import LogError
from meanbounds.support.checks import shown

__all__ = ["Window", "read_window"]

_NUMBER = re.compile(r"[+-]?(\d+[.]?\d*|[.]\d+)([eE][+-]?\d+)?")


@dataclass(frozen=True)
class Window:
    """Rows whose time is at `since` or later, and before `until`; None leaves a side open.

    Both are numbers, or both are dates without a time zone. `zoned` says that the user gave a zone: then they are in
    UTC.
    """

    column: str
    since: float | datetime | None
    until: float | datetime | None
    zoned: bool = False

    @property
    def dated(self) -> bool:
        """Whether the ends are dates rather than numbers."""
        return isinstance(self.since if self.since is not None else self.until, datetime)


def read_window(time: Any, since: Any, until: Any) -> Window | None:
    """Read the window that a user asked for; None if there is none.

    Examples
    --------
    >>> from meanbounds.logs.window import read_window
    >>> read_window("day", "2024-01-01", None)
    Window(column='day', since=datetime.datetime(2024, 1, 1, 0, 0), until=None, zoned=False)
    >>> read_window("week", 3, 7.5)
    Window(column='week', since=3.0, until=7.5, zoned=False)
    >>> read_window("week", 7, 3)
    Traceback (most recent call last):
    meanbounds.logs.errors.LogError: since=7 is not before until=3; rows at since or later and before until are counted
    """
    if time is None and since is None and until is None:
        return None
    if time is None:
        raise LogError("since= and until= need time=, the column that says when each row was written")
    if since is None and until is None:
        raise LogError(f"time={shown(time)} needs since=, until= or both: which rows are to be counted?")
    ends = {name: _end(name, given) for name, given in (("since", since), ("until", until)) if given is not None}
    start, end = ends.get("since"), ends.get("until")
    if start is not None and end is not None:
        if isinstance(start, datetime) != isinstance(end, datetime) or _has_zone(start) != _has_zone(end):
            raise LogError(
                f"since= and until= must be two numbers, two dates without a time zone, or two with one; got "
                f"{shown(since)} and {shown(until)}"
            )
        if not start < end:  # type errors are ruled out above
            raise LogError(
                f"since={since} is not before until={until}; rows at since or later and before until are counted"
            )
    zoned = any(map(_has_zone, ends.values()))
    return Window(time, _in_utc(start), _in_utc(end), zoned)


def _end(name: str, given: Any) -> Any:
    """A float, or a datetime."""
    if hasattr(given, "to_pydatetime"):  # of pandas, and more precise than Python's
        given = given.to_pydatetime(warn=False)
    elif hasattr(given, "item"):  # a number or a time of numpy
        given = given.item()
    if isinstance(given, str) and _NUMBER.fullmatch(given.strip()):
        given = float(given)
    if isinstance(given, str):
        try:
            given = datetime.fromisoformat(given.strip())
        except ValueError:
            given = None
    if isinstance(given, date):
        return given if isinstance(given, datetime) else datetime(given.year, given.month, given.day)
    try:
        number = float(given)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if isinstance(given, bool) or not isfinite(number):
        raise LogError(f"{name} must be a number, or a date such as '2024-06-30' or '2024-06-30 12:00'")
    return number


def _has_zone(end: Any) -> bool:
    return isinstance(end, datetime) and end.tzinfo is not None


def _in_utc(end: Any) -> Any:
    return end.astimezone(UTC).replace(tzinfo=None) if _has_zone(end) else end
