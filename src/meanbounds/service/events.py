"""What a store keeps: events, each chained to the one before by its hash."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any, NamedTuple

import msgspec

__all__ = [
    "KINDS",
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
    """What an event says, beside where and when; a context is given by its number, an arm as in JSON."""


class Created(Body, frozen=True):
    """A new agent, as `Agent.to_dict` saves it, with numbers for names of contexts."""

    agent: dict[str, Any]
    by: str = ""


class Decided(Body, frozen=True):
    """A decision; `version` is the position of the last change before it."""

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

    arm: Any
    reward: float | None
    context: int | None = None
    chosen: Any = None
    forced: bool = False


class Observed(Body, frozen=True):
    """What experts chose in a case that no decision was asked for, and how it went."""

    arm: Any
    reward: float
    context: int | None = None


class Changed(Body, frozen=True):
    """Settings that were replaced, by name, and what they were; `to` if this went back to an earlier version."""

    set: dict[str, Any]
    was: dict[str, Any]
    by: str = ""
    to: int | None = None


class Entered(Body, frozen=True):
    """A new context, about whose arms nothing is known; the table of contexts has its name."""

    context: int


class Erased(Body, frozen=True):
    """The name of a context was erased."""

    context: int
    by: str = ""


KINDS: dict[str, type[Body]] = {  # the names by which events are stored
    "create": Created,
    "decision": Decided,
    "reward": Rewarded,
    "observation": Observed,
    "change": Changed,
    "context": Entered,
    "erase": Erased,
}


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


_DECODERS = {kind: msgspec.json.Decoder(body) for kind, body in KINDS.items()}
_NAMES = {body: kind for kind, body in KINDS.items()}
_ENCODER = msgspec.json.Encoder()


def written(body: Body) -> tuple[str, str]:
    """The kind of an event with this body, and the body as JSON text."""
    return _NAMES[type(body)], _ENCODER.encode(body).decode()


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
