"""What the service writes to standard error: a JSON object a line, never with a name of a context, an id or a token."""

from __future__ import annotations

import sys
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import msgspec

__all__ = ["say"]


def say(event: str, **fields: Any) -> None:
    """Write a line: what happened, when, and what else there is to know."""
    line = msgspec.json.encode({"time": datetime.now(UTC), "event": event, **fields})
    with suppress(OSError, ValueError):  # nobody reads
        sys.stderr.write(line.decode() + "\n")  # at once: several threads write
        sys.stderr.flush()
