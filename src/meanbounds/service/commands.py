"""What can be asked of a store. The same types are the bodies of requests over HTTP, and their answers."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import UNSET, Meta, UnsetType

from meanbounds.service import limits

__all__ = [
    "Answer",
    "Change",
    "Command",
    "Create",
    "Decide",
    "DecideAnswer",
    "Erase",
    "Observe",
    "ObserveAnswer",
    "Order",
    "Reward",
    "RewardAnswer",
    "Rollback",
    "VersionAnswer",
]

Id = Annotated[str, Meta(min_length=1, max_length=limits.ID, description="An id of your own, such as a UUID.")]
Part = Annotated[str, Meta(max_length=limits.NAME)]
ContextName = Part | Annotated[list[Part], Meta(min_length=1, max_length=limits.PARTS)]
ArmName = Annotated[str, Meta(min_length=1, max_length=limits.NAME)] | Annotated[int, Meta(ge=-(2**53), le=2**53)]
AnyArm = (
    ArmName | Annotated[dict[str, Any], Meta(description='{"expert": true}, or a candidate with name and features.')]
)
Number = Annotated[float, Meta(ge=-1e300, le=1e300)]
Share = Annotated[float, Meta(ge=0.0, le=1.0)]


class Command(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Base of all commands."""


class Answer(msgspec.Struct, frozen=True):
    """Base of all answers."""


class Decide(Command, frozen=True):
    """Ask for a decision. The same id gets the same answer."""

    id: Id
    context: ContextName | None = None
    eligible: Annotated[list[AnyArm], Meta(min_length=1, max_length=limits.OPTIONS)] | None = None


class DecideAnswer(Answer, frozen=True):
    """A decision: the arm, or `{"expert": true}`, and why."""

    id: str
    arm: Any
    probability: float
    reason: str
    version: int
    repeated: bool = False


class Reward(Command, frozen=True):
    """The reward of a decision; null if it will never come. Where experts were asked, `arm` is what they chose."""

    id: Id
    reward: Number | None
    arm: ArmName | None = None


class RewardAnswer(Answer, frozen=True):
    """A reward that counts."""

    id: str
    repeated: bool = False


class Observe(Command, frozen=True):
    """What experts chose in a case for which no decision was asked, and how it went."""

    id: Id
    arm: ArmName
    reward: Number
    context: ContextName | None = None


class ObserveAnswer(Answer, frozen=True):
    """An observation that counts."""

    id: str
    repeated: bool = False


class Change(Command, frozen=True):
    """Change one thing about an agent: give one of these, and `context` where it is about one.

    `policy` and `floor`: how it decides. `bounds`: saved MeanBounds or Knowledge of one context. `share`: the share of
    the decisions that the agent makes; experts are asked in the others. `force`: an arm to play, whatever the agent
    thinks, in one context or in all; `free` ends that. `forbid`: the arms that must not be played in a context, in
    place of those forbidden before. `retire`, `restore`: an arm, everywhere. `add`: saved MeanBounds of new arms.
    `agent`: a saved agent, such as one from a newer log, whose policy and knowledge replace those of this one.
    """

    id: Id | None = None
    context: ContextName | None = None
    policy: dict[str, Any] | UnsetType = UNSET
    floor: Share | UnsetType = UNSET
    bounds: dict[str, Any] | UnsetType = UNSET
    share: Share | UnsetType = UNSET
    force: AnyArm | UnsetType = UNSET
    free: bool | UnsetType = UNSET
    forbid: list[AnyArm] | UnsetType = UNSET
    retire: AnyArm | UnsetType = UNSET
    restore: AnyArm | UnsetType = UNSET
    add: dict[str, Any] | UnsetType = UNSET
    agent: dict[str, Any] | UnsetType = UNSET


class Rollback(Command, frozen=True):
    """Go back to an earlier version of everything that changes set; what was seen stays."""

    to: Annotated[int, Meta(ge=1, le=2**53)]
    id: Id | None = None


class Erase(Command, frozen=True):
    """Erase the name of a context, for example because a person asks for it; its statistics stay without a name."""

    context: ContextName


class VersionAnswer(Answer, frozen=True):
    """The version of an agent after a change: the position of that change."""

    version: int


class Create(Command, frozen=True):
    """A new agent, as `Agent.to_dict` saves it."""

    agent: dict[str, Any]


class Order(NamedTuple):
    """A command, the name of the agent it is for, and who gives it: the name of a token, or nothing."""

    agent: str
    command: Command
    by: str = ""
