"""The OpenFeature Remote Evaluation Protocol (OFREP): an agent is a flag, and its arms are the values."""

from __future__ import annotations

import secrets
from typing import Any

import msgspec

from meanbounds.service.commands import Decide, DecideAnswer
from meanbounds.service.refusals import RefusedError

__all__ = ["Asked", "Evaluation", "Failure", "as_flag", "as_order", "refuse_all"]

_CODES = {"not_json": "PARSE_ERROR", "unknown_agent": "FLAG_NOT_FOUND", "invalid": "INVALID_CONTEXT"}
_FIXED = ("forced", "only option")


class Asked(msgspec.Struct, frozen=True):
    """What an SDK sends. Of its attributes `context`, `eligible` and `request_id` count; the others are left out."""

    context: dict[str, Any] = {}


class Evaluation(msgspec.Struct, frozen=True, omit_defaults=True):
    """A decision as a flag. Without a value, where the experts decide, an SDK takes the default of its caller."""

    key: str
    reason: str
    variant: str
    metadata: dict[str, Any]
    value: Any = msgspec.UNSET


class Failure(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """Why there is no decision."""

    error_code: str
    error_details: str
    key: str | None = None


def as_order(asked: Asked) -> Decide:
    """The decision that is asked for; without a `request_id` it has a random id.

    Examples
    --------
    >>> as_order(Asked({"targetingKey": "patient 7", "context": "north", "request_id": "visit 4711"}))
    Decide(id='visit 4711', context='north', eligible=None)
    """
    given: dict[str, Any] = {name: asked.context.get(name) for name in ("context", "eligible")}
    given["id"] = asked.context.get("request_id", f"ofrep-{secrets.token_hex(12)}")
    try:
        return msgspec.convert(given, Decide)
    except msgspec.ValidationError as error:
        raise RefusedError(422, "invalid", f"the evaluation context: {error}") from None


def refuse_all(_asked: Asked) -> Decide:
    """Refuse to evaluate all flags at once."""
    said = "ask for one flag at a time, with a server-side SDK: each evaluation is a decision that waits for its reward"
    raise RefusedError(400, "bulk", said)


def as_flag(found: DecideAnswer | RefusedError, agent: str | None) -> tuple[int, Evaluation | Failure]:
    """The status and the body with which OFREP answers."""
    if isinstance(found, RefusedError):
        status = 400 if found.status in (409, 413, 415, 422) else found.status
        return status, Failure(_CODES.get(found.code, "GENERAL"), str(found), agent)
    arm, metadata = found.arm, {name: getattr(found, name) for name in ("id", "probability", "reason", "version")}
    if arm == {"expert": True}:
        return 200, Evaluation(agent or "", "DEFAULT", "expert", metadata)
    name = str(arm["name"] if isinstance(arm, dict) else arm)
    return 200, Evaluation(agent or "", "STATIC" if found.reason in _FIXED else "SPLIT", name, metadata, arm)
