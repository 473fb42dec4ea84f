"""A progress bar for whatever takes longer than two seconds; silent where nobody watches."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TextIO

__all__ = ["Progress"]


class Progress:
    """Bar on standard error, shown from the third second on and only on a terminal.

    Parameters
    ----------
    total
        How many units there are to do; 0 if nobody knows, then the time so far is shown.
    title
        What is being done.
    show
        True or False to force it; None to look whether the stream is a terminal.
    stream
        Where to write; standard error by default.
    """

    def __init__(
        self,
        total: int,
        title: str,
        show: bool | None = None,
        stream: TextIO | None = None,
        patience: float = 2.0,
    ) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._show = self._stream.isatty() if show is None else show
        self._total, self._title, self._patience = total, title, patience
        self._done, self._width = 0, 0
        self._start = self._last = time.monotonic()

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()

    def advance(self, units: int = 1) -> None:
        """Say that more is done."""
        self._done += units
        now = time.monotonic()
        if not self._show or now - self._start < self._patience or now - self._last < 0.1:
            return
        self._last = now
        text = self._text(now - self._start)
        self._stream.write("\r" + text.ljust(self._width))
        self._stream.flush()
        self._width = len(text)

    def _text(self, seconds: float) -> str:
        if not self._total or not self._done:
            return f"{self._title}, {seconds:.0f} s"
        share = self._done / self._total
        filled = int(24 * share)
        left = seconds * (1.0 / share - 1.0)
        return f"{self._title} [{'#' * filled}{'.' * (24 - filled)}] {share:4.0%}, {left:.0f} s left"
