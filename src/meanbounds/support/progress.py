"""One line on a terminal for work that takes longer than two seconds; silent where nobody watches."""

from __future__ import annotations

import sys
import time

__all__ = ["Progress"]

_PATIENCE = 2.0  # seconds before the first word
_STEP = 0.5  # seconds between two


class Progress:
    """How much of so many units of work is done, written to standard error if `wanted`, or if that is a terminal."""

    def __init__(self, total: float, title: str, wanted: bool | None) -> None:
        stream = sys.stderr
        self._wanted = stream is not None and (stream.isatty() if wanted is None else wanted)
        self._total, self._title, self._done = total, title, 0.0
        self._start = time.monotonic()
        self._next = self._start + _PATIENCE
        self._length = 0

    def advance(self, units: float, what: str = "") -> None:
        """Count more units as done; `what` is being worked on."""
        self._done += units
        now = time.monotonic()
        if self._wanted and now >= self._next:
            share = self._done / self._total
            left = f", {(now - self._start) * (1.0 / share - 1.0):,.0f} s left" if share > 0.0 else ""
            self.say(f"{self._title} {share:4.0%}{left}{f' ({what})' if what else ''}")
            self._next = now + _STEP

    def say(self, text: str) -> None:
        """Replace the line by this text, at once."""
        if self._wanted:
            sys.stderr.write("\r" + text.ljust(self._length))
            sys.stderr.flush()
            self._length = len(text)

    def close(self) -> None:
        """Wipe the line."""
        if self._length:
            sys.stderr.write("\r" + " " * self._length + "\r")
            sys.stderr.flush()
