"""What requests and answers hold. Unknown fields are refused, and so are values of another type."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from meanbounds.bounds import Arm
from meanbounds.service.events import ContextName, Reason

__all__ = [
    "MOST_BYTES",
    "MOST_HEAD_BYTES",
    "MOST_IN_BATCH",
    "AddArm",
    "AgentView",
    "AgentsView",
    "Arm",
    "ArmView",
    "Batch",
    "CandidateIn",
    "ChangeIn",
    "ContextView",
    "ContextsView",
    "DecisionBatchIn",
    "DecisionIn",
    "DecisionOut",
    "DecisionView",
    "ErasedOut",
    "ErrorOut",
    "ForceIn",
    "HistoryView",
    "MarkView",
    "ObservationBatchIn",
    "ObservationIn",
    "ObservationOut",
    "RewardBatchIn",
    "RewardIn",
    "RewardOut",
    "RollbackIn",
    "SettingsIn",
    "ValueView",
    "VersionOut",
]

MOST_BYTES = 1_000_000  # of the body of a request
MOST_HEAD_BYTES = 65_536  # of its first line and its headers
MOST_IN_BATCH = 1_000

Id = Annotated[
    str,
    Meta(
        min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$", description="An id of your own, such as a UUID."
    ),
]
Name = Annotated[str, Meta(max_length=1_000)]
Number = Annotated[float, Meta(ge=-1e300, le=1e300)]
Share = Annotated[float, Meta(ge=0.0, le=1.0)]
ArmName = Annotated[str, Meta(max_length=1_000)] | Annotated[int, Meta(ge=-(2**53), le=2**53)]


class _In(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Base of requests."""


class CandidateIn(_In):
    """An arm that the agent has not seen before; for agents with features."""

    features: Annotated[list[Number], Meta(min_length=1, max_length=10_000)]
    name: ArmName
    lower: Number | None = None
    upper: Number | None = None
    low: Number = 0.0
    high: Number = 1.0
    offset: Number = 0.0


class DecisionIn(_In):
    """Ask for a decision."""

    request_id: Id | None = None
    context: ContextName = None
    eligible: Annotated[list[ArmName], Meta(min_length=1, max_length=10_000)] | None = None
    candidates: Annotated[list[CandidateIn], Meta(min_length=1, max_length=1_000)] | None = None


class DecisionOut(msgspec.Struct):
    """A decision. Where `reason` is "expert", there is no arm: ask the expert."""

    decision_id: str
    arm: Arm | None
    probability: float | None
    agent_version: int
    reason: Reason


class DecisionBatchIn(_In):
    """Several decisions at once, made in this order."""

    decisions: Annotated[list[DecisionIn], Meta(min_length=1, max_length=MOST_IN_BATCH)]


class RewardIn(_In):
    """The reward of a decision; `arm` is needed where the expert decided."""

    decision_id: Annotated[str, Meta(max_length=100)]
    reward: Number
    arm: ArmName | None = None


class RewardOut(msgspec.Struct):
    """A reward that counts. `repeated` says that it had come before, `told` that the agent learned from it."""

    decision_id: str
    state: Literal["rewarded", "censored"]
    repeated: bool
    told: bool


class RewardBatchIn(_In):
    """Several rewards at once."""

    rewards: Annotated[list[RewardIn], Meta(min_length=1, max_length=MOST_IN_BATCH)]


class ObservationIn(_In):
    """What an expert did, and what came of it."""

    arm: ArmName
    reward: Number
    observation_id: Id | None = None
    context: ContextName = None


class ObservationOut(msgspec.Struct):
    """An observation that was recorded."""

    observation_id: str
    repeated: bool


class ObservationBatchIn(_In):
    """Several observations at once."""

    observations: Annotated[list[ObservationIn], Meta(min_length=1, max_length=MOST_IN_BATCH)]


class ErrorOut(msgspec.Struct):
    """What was wrong, where, and what to do."""

    code: str
    message: str


class Batch(msgspec.Struct):
    """The answers to a batch, in its order; one that was refused has an error."""

    results: list[Any]


class DecisionView(msgspec.Struct):
    """A decision, and what has become of it."""

    decision_id: str
    agent: str
    state: Literal["pending", "rewarded", "expired", "censored"]
    arm: Arm | None
    probability: float | None
    agent_version: int
    reason: str
    context: ContextName
    reward: float | None
    time: float


class ForceIn(_In):
    """Force an arm, in one context or in all: an emergency stop."""

    arm: ArmName
    context: ContextName = None


class AddArm(_In):
    """One more arm."""

    arm: ArmName
    lower: Number | None = None
    upper: Number | None = None
    low: Number = 0.0
    high: Number = 1.0
    features: Annotated[list[Number], Meta(min_length=1, max_length=10_000)] | None = None
    offset: Number | None = None


class ChangeIn(_In):
    """Another version of an agent: give exactly one of bounds, add, retire, restore, policy, floor, agent."""

    bounds: dict[str, Any] | None = None
    add: AddArm | None = None
    retire: ArmName | None = None
    restore: ArmName | None = None
    policy: dict[str, Any] | None = None
    floor: Share | None = None
    agent: dict[str, Any] | None = None
    context: ContextName = None


class RollbackIn(_In):
    """The version to go back to; rewards that came since then stay."""

    version: Annotated[int, Meta(ge=1, le=2**53)]


class SettingsIn(_In):
    """How an agent is served; what is left out stays."""

    share: Share | msgspec.UnsetType = msgspec.UNSET
    wait: Annotated[float, Meta(gt=0.0, le=1000000000.0)] | msgspec.UnsetType | None = msgspec.UNSET
    default_reward: Number | msgspec.UnsetType | None = msgspec.UNSET


class VersionOut(msgspec.Struct):
    """The version of an agent after a change."""

    agent: str
    version: int


class AgentView(msgspec.Struct):
    """An agent and its settings."""

    agent: str
    version: int
    versions: list[int]
    policy: dict[str, Any]
    contexts: int | None
    share: float
    wait: float | None
    default_reward: float | None
    forced: list[list[Any]]
    assumptions: dict[str, float]
    position: int


class AgentsView(msgspec.Struct):
    """The agents that are served."""

    agents: list[AgentView]


class ContextsView(msgspec.Struct):
    """Some of the contexts of an agent."""

    contexts: list[ContextName]
    total: int


class ArmView(msgspec.Struct):
    """An arm in a context."""

    arm: Arm
    lower: float
    upper: float
    low: float
    high: float
    plays: int
    pending: int
    mean: float | None
    mean_lower: float
    mean_upper: float
    index: float | None
    probability: float
    trust: float
    can_be_best: bool
    why_not: str | None
    retired: bool
    contradicted: list[Literal["lower", "upper"]]
    contradictions: list[str]


class ContextView(msgspec.Struct):
    """All that is known in a context."""

    context: ContextName
    arms: list[ArmView]
    forced: Arm | None
    version: int
    assumptions: dict[str, float]


class ValueView(msgspec.Struct):
    """The mean reward so far, with limits on the mean value of what was decided."""

    rewards: int
    mean: float | None
    lower: float
    upper: float


class MarkView(msgspec.Struct):
    """How things stood at a time: decisions for each arm, trust in its bounds, and what agent and experts had got."""

    time: float
    plays: list[int]
    trust: list[float] | None
    agent: ValueView
    expert: ValueView


class HistoryView(msgspec.Struct):
    """What has come of decisions so far. Marks are missing for contexts without recent events."""

    context: ContextName
    agent: ValueView
    expert: ValueView
    low: float
    high: float
    arms: list[Arm]
    marks: list[MarkView]
    alarms: list[str]


class ErasedOut(msgspec.Struct):
    """A context that was erased: its statistics are kept under another name."""

    agent: str
    context: str
