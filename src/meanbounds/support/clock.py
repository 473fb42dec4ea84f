"""What time it is: that of the clock or, where what happened before is repeated, the time at which it happened."""

from __future__ import annotations

from contextvars import ContextVar, Token
from datetime import UTC, datetime

__all__ = ["at", "now"]

_REPEATED: ContextVar[float | None] = ContextVar("time that is repeated", default=None)


def now() -> datetime:
    """The time, in UTC; inside of `at`, the time given there.

    Examples
    --------
    >>> with at(0.0):
    ...     now().isoformat()
    '1970-01-01T00:00:00+00:00'
    """
    told = _REPEATED.get()
    return datetime.now(UTC) if told is None else datetime.fromtimestamp(told, UTC)


def at(seconds: float) -> _Moment:
    """Let `now` be this time, in seconds since 1970, for what is done inside, in this thread.

    Whoever writes down decisions and repeats them later decides inside of the time that is written down.

    Examples
    --------
    >>> with at(86_400.0):
    ...     now().day
    2
    """
    return _Moment(seconds)


class _Moment:
    """What `at` returns: a generator would take longer than some decisions."""

    __slots__ = ("_before", "_seconds")

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __enter__(self) -> None:
        self._before: Token[float | None] = _REPEATED.set(self._seconds)

    def __exit__(self, *_: object) -> None:
        _REPEATED.reset(self._before)
