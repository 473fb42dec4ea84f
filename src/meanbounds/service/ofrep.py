"""The OpenFeature Remote Evaluation Protocol (OFREP 0.3): an agent is a flag, its arms are the variants.

Server-side OpenFeature SDKs ask for one flag at a time, which is one decision. Client-side SDKs ask for all flags at
once and keep the answers: that would be decisions that nobody asked for and whose rewards never come, so it is refused.
"""

from __future__ import annotations

import secrets
from typing import Any

import msgspec

from meanbounds.bounds import Arm
from meanbounds.service import schema
from meanbounds.service.errors import RefusalError

__all__ = [
    "Evaluation",
    "EvaluationFailure",
    "EvaluationIn",
    "as_evaluation",
    "as_failure",
    "asked_of",
    "new_id",
    "refuse_bulk",
]

_TAKEN = ("context", "eligible", "candidates", "request_id")
_CODES = {"not_json": "PARSE_ERROR", "unknown_agent": "FLAG_NOT_FOUND", "invalid": "INVALID_CONTEXT"}
_REASONS = {"policy": "SPLIT", "forced": "STATIC", "expert": "DEFAULT"}


class EvaluationIn(msgspec.Struct):
    """What an SDK sends: the evaluation context, of which `context`, `eligible`, `candidates`, `request_id` count."""

    context: dict[str, Any] = {}


class Evaluation(msgspec.Struct, omit_defaults=True):
    """A decision as an evaluated flag. Without a value the SDK uses the default of its caller."""

    key: str
    reason: str
    variant: str
    metadata: dict[str, str | float | int]
    value: Arm | msgspec.UnsetType = msgspec.UNSET


class EvaluationFailure(msgspec.Struct, omit_defaults=True, rename="camel"):
    """Why a flag was not evaluated."""

    error_code: str
    error_details: str
    key: str | None = None


def asked_of(given: EvaluationIn) -> schema.DecisionIn:
    """The decision that an evaluation asks for; attributes that mean nothing here are left out.

    Examples
    --------
    >>> from meanbounds.service.ofrep import EvaluationIn, asked_of
    >>> asked = asked_of(EvaluationIn({"targetingKey": "patient 7", "context": "under 60", "request_id": "visit 4711"}))
    >>> asked.context, asked.request_id
    ('under 60', 'visit 4711')
    """
    own = {name: given.context[name] for name in _TAKEN if given.context.get(name) is not None}
    try:
        asked = msgspec.convert(own, schema.DecisionIn)
    except msgspec.ValidationError as error:
        raise RefusalError(422, "invalid", f"the evaluation context: {error}") from None
    return asked


def new_id() -> str:
    """An id for an evaluation that has no `request_id` among its attributes: a decision of its own."""
    return f"ofrep-{secrets.token_hex(12)}"


def as_evaluation(key: str, decided: schema.DecisionOut) -> Evaluation:
    """A decision as a flag.

    Examples
    --------
    >>> from meanbounds.service.ofrep import as_evaluation
    >>> from meanbounds.service.schema import DecisionOut
    >>> as_evaluation("stroke", DecisionOut("2-9b93", "tPA", 0.5, 1, "policy")).variant
    'tPA'
    """
    metadata: dict[str, str | float | int] = {
        "decision_id": decided.decision_id,
        "agent_version": decided.agent_version,
        "reason": decided.reason,
    }
    if decided.probability is not None:
        metadata["probability"] = decided.probability
    if decided.arm is None:
        return Evaluation(key, _REASONS[decided.reason], "expert", metadata)
    return Evaluation(key, _REASONS[decided.reason], str(decided.arm), metadata, decided.arm)


def as_failure(error: RefusalError, key: str | None) -> tuple[int, EvaluationFailure]:
    """The status and the body with which OFREP says that a request was refused.

    Examples
    --------
    >>> from meanbounds.service.errors import RefusalError
    >>> from meanbounds.service.ofrep import as_failure
    >>> status, body = as_failure(RefusalError(422, "invalid", "this agent decides by context: give context"), "stroke")
    >>> status, body.error_code
    (400, 'INVALID_CONTEXT')
    """
    status = 400 if error.status in (409, 413, 415, 422) else error.status
    return status, EvaluationFailure(_CODES.get(error.code, "GENERAL"), error.message, key)


def refuse_bulk() -> RefusalError:
    """The refusal of an evaluation of all flags at once."""
    return RefusalError(
        400,
        "bulk",
        "flags are evaluated one at a time here: each evaluation is a decision whose reward is waited for, and all "
        "flags at once would be decisions that nobody asked for. Use a server-side SDK",
    )
