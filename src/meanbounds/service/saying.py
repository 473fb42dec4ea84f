"""What a service says on its standard error: one JSON object a line, with its time."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from typing import Any

__all__ = ["say"]


def say(kind: str, **more: Any) -> None:
    """Write a line: what kind of thing happened, and what there is to know. Tokens and bodies have no place here.

    Parameters
    ----------
    kind
        ``"request"``, ``"alarm"``, ``"warning"``, ``"store"`` or ``"error"``.
    more
        What else the line says.

    Examples
    --------
    >>> import contextlib, io, json
    >>> from meanbounds.service.saying import say
    >>> with contextlib.redirect_stderr(io.StringIO()) as said:
    ...     say("store", message="the disk is full")
    >>> json.loads(said.getvalue())["message"]
    'the disk is full'
    """
    line = json.dumps({"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "kind": kind, **more})
    print(line, file=sys.stderr, flush=True)
