"""A progress bar for work that takes longer than two seconds; silent where nobody watches."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

from meanbounds.support.checks import as_flag

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

__all__ = ["Progress"]


class Progress:
    """Progress bar on standard error.

    On a terminal the bar is drawn by `rich` and disappears when the work is done. Where there is no terminal, a bar
    that was asked for with ``progress=True`` becomes one line of plain text at the end.

    Parameters
    ----------
    total
        How many units of work there are; 0 if that is unknown, then the elapsed time is shown instead of a bar.
    title
        The name of the work, such as "simulating".
    progress
        True shows it, False does not, None shows it if the stream is a terminal.
    stream
        Where to write; standard error by default.
    patience
        Seconds to wait before anything is shown, so that short work shows no bar.

    Examples
    --------
    >>> import sys
    >>> from meanbounds.support.progress import Progress
    >>> with Progress(20, "working", True) as bar:  # shows nothing: it takes less than two seconds
    ...     for _ in range(20):
    ...         bar.advance()
    >>> with Progress(0, "working", True, stream=sys.stdout, patience=0.0) as bar:
    ...     bar.advance()  # doctest: +ELLIPSIS
    working 0:...
    """

    def __init__(
        self,
        total: int,
        title: str,
        progress: bool | None = None,
        *,
        stream: TextIO | None = None,
        patience: float = 2.0,
    ) -> None:
        self._stream = sys.stderr if stream is None else stream
        closed = self._stream is None or self._stream.closed  # None where a process starts without standard error
        asked = None if progress is None else as_flag("progress", progress)
        self._wanted = not closed and (self._stream.isatty() if asked is None else asked)
        self._total, self._title = total, title
        self._done = 0
        self._first = time.monotonic() + patience
        self._start = time.monotonic()
        self._bar: Bar | None = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, units: int = 1) -> None:
        """Count more units as done, and show the bar if it is time.

        Parameters
        ----------
        units
            How many more units of work are done.

        Examples
        --------
        >>> from meanbounds.support.progress import Progress
        >>> with Progress(1_000, "reading", False) as bar:
        ...     bar.advance(250)
        """
        self._done += units
        if self._bar is None and self._wanted and time.monotonic() >= self._first:
            self._bar = self._shown()
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=self._done)

    def _shown(self) -> Bar:
        """Start the bar, with the time that has already passed."""
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            ProgressColumn,
            TaskProgressColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )
        from rich.progress import Progress as Bar

        columns: list[ProgressColumn] = [TextColumn("{task.description}", markup=False)]
        if self._total:
            columns += [BarColumn(), TaskProgressColumn(), TimeRemainingColumn(), TextColumn("left")]
        else:
            columns.append(TimeElapsedColumn())
        console = Console(file=self._stream)
        # The bar must not redirect standard output: the program's own prints stay on their stream.
        bar = Bar(
            *columns, console=console, transient=console.is_terminal, redirect_stdout=False, redirect_stderr=False
        )
        task = bar.add_task(self._title, total=self._total or None)
        bar.tasks[task].start_time = bar.get_time() - (time.monotonic() - self._start)
        bar.start()
        return bar
