"""What the service writes to standard error: a JSON object a line, never with a name of a context, an id or a token."""

from __future__ import annotations

import logging
import sys
import traceback
import warnings
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

__all__ = ["line", "redirect", "say", "write"]


def line(event: str, **fields: Any) -> str:
    """A line: what happened, when, and what else there is to know."""
    return msgspec.json.encode({"time": datetime.now(UTC), "event": event, **fields}).decode() + "\n"


def write(lines: str) -> None:
    """Write lines, all at once: several threads do."""
    with suppress(OSError, ValueError):  # nobody reads
        sys.stderr.write(lines)
        sys.stderr.flush()


def say(event: str, **fields: Any) -> None:
    """Write a line now."""
    write(line(event, **fields))


class _Lines(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        kind, _, trace = record.exc_info or (None, None, None)
        name = "" if kind is None else kind.__name__
        say(str(record.msg).partition("\n")[0], type=name, traceback=traceback.format_tb(trace))


def redirect() -> None:
    """Write what else is logged, and warnings, as such lines; what an error or a warning says may have names."""
    logging.basicConfig(handlers=[_Lines()])
    warnings.showwarning = lambda _, kind, path, line, *more: say(
        "warning", type=kind.__name__, place=f"{Path(path).name}:{line}"
    )
