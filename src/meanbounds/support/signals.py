"""Signals that have to wait."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["signals_wait"]

_Handler = Callable[[int, FrameType | None], object]


@contextmanager
def signals_wait() -> Iterator[None]:
    """Let Ctrl-C and other signals wait until the end of a block of code that must not stop half way.

    Only signals with a handler in Python wait; their handlers run when the block ends. Python runs these in the main
    thread alone, so in other threads there is nothing to do.

    Examples
    --------
    >>> import os
    >>> steps = []
    >>> try:
    ...     with signals_wait():
    ...         os.kill(os.getpid(), signal.SIGINT)
    ...         steps.append("all of it")
    ... except KeyboardInterrupt:
    ...     steps.append("then the interrupt")
    >>> steps
    ['all of it', 'then the interrupt']
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers: dict[int, _Handler] = {}
    noted: list[int] = []
    try:
        for number in signal.valid_signals():
            handler = signal.getsignal(number)
            if callable(handler):
                handlers[number] = handler
                signal.signal(number, lambda which, _: noted.append(which))
        yield
    finally:
        for which, handler in sorted(handlers.items(), key=lambda entry: entry[0] == signal.SIGINT):
            signal.signal(which, handler)  # that of Ctrl-C last, so that no other is lost if one comes just now
        for which in noted:
            handlers[which](which, None)
