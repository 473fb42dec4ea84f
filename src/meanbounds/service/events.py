"""What a store keeps: events, each chained to the one before by its hash."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any, ClassVar, NamedTuple

import msgspec

__all__ = [
    "START",
    "Body",
    "Changed",
    "Created",
    "Decided",
    "Entered",
    "Erased",
    "Event",
    "Observed",
    "Rewarded",
    "chained",
    "digest",
    "key_of",
    "row_sum",
    "written",
]

START = "0" * 40
"""The hash before the first event."""


class Body(msgspec.Struct, frozen=True, omit_defaults=True):
    """What an event of one kind says; a context is given by its number, an arm as in JSON."""

    kind: ClassVar[str]


class Created(Body, frozen=True):
    """A new agent, as `Agent.to_dict` saves it, with numbers for names of contexts."""

    kind = "create"
    agent: dict[str, Any]
    by: str = ""


class Decided(Body, frozen=True):
    """A decision; `version` is the position of the last change before it."""

    kind = "decision"
    arm: Any
    probability: float
    reason: str
    version: int
    context: int | None = None
    eligible: list[Any] | None = None


class Rewarded(Body, frozen=True):
    """The reward of a decision, or None if it will never come, with all that is needed to learn from it.

    `arm` is what was decided, `chosen` what the experts chose if they were asked.
    """

    kind = "reward"
    arm: Any
    reward: float | None
    context: int | None = None
    chosen: Any = None
    forced: bool = False
    outcomes: dict[str, float] | None = None


class Observed(Body, frozen=True):
    """What experts chose in a case that no decision was asked for, and how it went."""

    kind = "observation"
    arm: Any
    reward: float
    context: int | None = None
    outcomes: dict[str, float] | None = None


class Changed(Body, frozen=True):
    """Settings that were replaced, by name, and what they were; `to` if this went back to an earlier version.

    `asked` is a hash of the command, if it had an id: the same id for something else is a conflict.
    """

    kind = "change"
    set: dict[str, Any]
    was: dict[str, Any]
    by: str = ""
    to: int | None = None
    asked: str = ""


class Entered(Body, frozen=True):
    """A new context, about whose arms nothing is known; the table of contexts has its name."""

    kind = "context"
    context: int


class Erased(Body, frozen=True):
    """The name of a context was erased."""

    kind = "erase"
    context: int
    by: str = ""


class Event(NamedTuple):
    """One row of the table of events. `about` is the position of the decision that a reward answers."""

    position: int
    time: float
    kind: str
    agent: str
    key: str | None
    about: int | None
    body: str
    hash: str

    @property
    def said(self) -> Any:
        """The body, read."""
        return _DECODERS[self.kind].decode(self.body)


_DECODERS = {body.kind: msgspec.json.Decoder(body) for body in Body.__subclasses__()}
_ENCODER = msgspec.json.Encoder()


def written(body: Body) -> str:
    """The body of an event as JSON text."""
    return _ENCODER.encode(body).decode()


def digest(before: str, *said: Any) -> str:
    """The hash of an event: of the one before, and of everything that this one says."""
    return hashlib.blake2b(_ENCODER.encode((before, *said)), digest_size=20).hexdigest()


def chained(before: str, event: Event) -> bool:
    """Whether an event follows the one that has this hash."""
    return event.hash == digest(before, *event[:-1])


def key_of(secret: bytes, kind: str, agent: str, own: str) -> str:
    """What is stored in the place of a caller's id, so that a repeated request is known again.

    Examples
    --------
    >>> key_of(b"secret", "decision", "clinic", "visit 4711")
    '99810dc7d4cfa615ef3af916dfa8db81'
    """
    return hmac.digest(secret, _ENCODER.encode((kind, agent, own)), "sha256").hex()[:32]


def row_sum(row: tuple[Any, ...]) -> str:
    """A short hash that stands beside a row which is not in the chain, so that damage is noticed."""
    return hashlib.blake2b(_ENCODER.encode(row), digest_size=8).hexdigest()
