"""What the log of a service holds: an event for each decision, reward, observation and change, in one order.

The log is the truth. Everything else that a service knows follows from it: see `meanbounds.service.book`.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import msgspec

from meanbounds.agents.contexts import Context, as_lists, as_tuples, check_context
from meanbounds.bounds import Arm

__all__ = [
    "BODIES",
    "CENSORED",
    "CHANGED",
    "CONFIGURED",
    "CREATED",
    "DECIDED",
    "ERASED",
    "EXPIRED",
    "FORCED",
    "NAMES",
    "OBSERVED",
    "REWARDED",
    "Censored",
    "Changed",
    "Configured",
    "ContextName",
    "Created",
    "Decided",
    "Erased",
    "Event",
    "Expired",
    "Forced",
    "Observed",
    "Reason",
    "Rewarded",
    "Settings",
    "context_of",
    "decode",
    "encode",
    "name_of",
]

DECIDED, REWARDED, EXPIRED, CENSORED, OBSERVED = 1, 2, 3, 4, 5
CREATED, CHANGED, CONFIGURED, FORCED, ERASED = 6, 7, 8, 9, 10

ContextName = str | int | float | list[Any] | None
"""A context as JSON has it: tuples are lists, and None is for an agent without contexts."""

Reason = Literal["policy", "forced", "expert"]
"""Why a decision has its arm: the policy chose it, it is forced, or it is left to the expert."""


class Event(NamedTuple):
    """One entry of the log."""

    position: int
    time: float  # seconds since 1970
    kind: int
    agent: str
    name: str | None  # the caller's id: no two events of an agent and kind share one
    subject: int | None  # the position of the decision that this is about: no two events of a kind share one
    body: bytes


class Body(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """Base of what events say."""


class Decided(Body):
    """An arm was chosen, or the expert was asked, in which case `arm` is None."""

    digest: str  # of what was asked
    reason: Reason
    version: int  # of the agent
    worker: int
    share: float  # of the traffic that the agent decided at that time
    arm: Arm | None = None
    probability: float | None = None
    context: ContextName = None
    eligible: list[Arm] | None = None
    candidates: list[dict[str, Any]] | None = None
    chosen: int | None = None  # which of the candidates


class Rewarded(Body):
    """The reward of a decision."""

    reward: float
    arm: Arm | None = None  # what the expert did, for a decision that was the expert's
    told: bool = True  # whether the agent was told: not of experts' arms, nor of arms that it no longer has


class Expired(Body):
    """The reward of a decision did not come in time."""

    reward: float | None = None  # what the agent was told instead
    number: int = 0  # how many rewards the agent of the context had before
    weight: float = 1.0  # how much it counted, for an agent with features


class Censored(Body):
    """The caller says that the reward of a decision will never come."""


class Observed(Body):
    """What an expert did, and what came of it. Agents are not told."""

    digest: str
    arm: Arm
    reward: float
    context: ContextName = None


class Settings(Body):
    """How an agent is served."""

    share: float = 1.0  # of the requests that the agent decides; the others are answered "ask the expert"
    wait: float | None = None  # seconds until a decision without a reward expires
    default_reward: float | None = None  # what the agent is told of a decision that expires


class Created(Body):
    """An agent came into the store: what it was saved as, and how it is served."""

    agent: dict[str, Any]
    settings: Settings
    digest: str  # of the file that it came from


class Changed(Body):
    """Bounds, arms or policy were changed; this made a new version of the agent."""

    version: int
    change: dict[str, Any]
    digest: str = ""  # of what was asked, if it has an id


class Configured(Body):
    """Settings were changed."""

    settings: Settings


class Forced(Body):
    """An arm was forced, in one context or in all (None); or set free again (no arm)."""

    arm: Arm | None = None
    context: ContextName = None


class Erased(Body):
    """A context was erased: its name is replaced by another one in all of the log."""

    context: str  # the new name
    row: int | None = None  # of the agent, which other processes know under the old name


BODIES: dict[int, type[Body]] = {
    DECIDED: Decided,
    REWARDED: Rewarded,
    EXPIRED: Expired,
    CENSORED: Censored,
    OBSERVED: Observed,
    CREATED: Created,
    CHANGED: Changed,
    CONFIGURED: Configured,
    FORCED: Forced,
    ERASED: Erased,
}
NAMES = {kind: body.__name__.lower() for kind, body in BODIES.items()}
"""What each kind of event is called, in messages and exports."""

_DECODERS = {kind: msgspec.json.Decoder(body) for kind, body in BODIES.items()}
_ENCODER = msgspec.json.Encoder()


def encode(body: Body) -> bytes:
    """The body of an event as the log stores it; floats keep every digit.

    Examples
    --------
    >>> from meanbounds.service.events import Rewarded, encode
    >>> encode(Rewarded(reward=0.1))
    b'{"reward":0.1}'
    """
    return _ENCODER.encode(body)


def decode(event: Event) -> Any:
    """What an event says.

    Examples
    --------
    >>> from meanbounds.service.events import REWARDED, Event, decode
    >>> decode(Event(3, 0.0, REWARDED, "demo", None, 2, b'{"reward":0.1}')).reward
    0.1
    """
    return _DECODERS[event.kind].decode(event.body)


def context_of(name: ContextName) -> Context:
    """The context that a name in JSON stands for; None stays None.

    Examples
    --------
    >>> from meanbounds.service.events import context_of
    >>> context_of(["old", 3])
    ('old', 3)
    """
    return None if name is None else name if type(name) is str else check_context(as_tuples(name))


def name_of(context: Context) -> ContextName:
    """The name in JSON of a context.

    Examples
    --------
    >>> from meanbounds.service.events import name_of
    >>> name_of(("old", 3))
    ['old', 3]
    """
    name: ContextName = as_lists(context)
    return name
