"""Every limit of a store and of the service; the code, the OpenAPI document and the tests take them from here."""

from __future__ import annotations

__all__ = [
    "ANSWER",
    "BATCH",
    "BODY",
    "COLUMNS",
    "CONNECTIONS",
    "CONTEXTS",
    "GROUP",
    "HEAD",
    "ID",
    "JUMP",
    "NAME",
    "NEW_CONTEXTS",
    "OPTIONS",
    "OUTCOMES",
    "PART",
    "PARTS",
    "SECONDS",
    "SNAPSHOT",
    "WAITING",
]

ID = 200  # characters of the id that a caller gives a decision or an observation
NAME = 200  # characters of the name of an agent, option or unit
PART = 1_000  # of each part of a context's name, and of a raw column's name
PARTS = 16  # parts of a context's name
COLUMNS = 500  # raw columns of a case, for an agent with a tree
OPTIONS = 1_000  # options that one decision may be offered
OUTCOMES = 100  # of a case
CONTEXTS = 100_000  # of an agent
NEW_CONTEXTS = 1_000  # an hour, for each token; those of the log are not new
BATCH = 500  # commands in a request
BODY = 256_000  # bytes of a request's body
HEAD = 16_000  # bytes of its first line and headers
SECONDS = 10.0  # for sending either
ANSWER = 1_000_000  # bytes
CONNECTIONS = 512
WAITING = 5_000  # commands that wait to be written
GROUP = 512  # commands that are written together
SNAPSHOT = 100_000  # events, after which agents are saved whole, so that starting stays fast
JUMP = 3_600.0  # seconds by which the clock may run ahead before nothing more is written
