"""The OpenFeature Remote Evaluation Protocol (OFREP): an agent is a flag, and its arms are the values."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

import msgspec

from meanbounds.service.commands import Decide, DecideAnswer
from meanbounds.service.refusals import RefusedError

if TYPE_CHECKING:
    from meanbounds.service.state import State
    from meanbounds.service.writer import Group

__all__ = ["Asked", "as_flag", "as_order", "refuse_all"]

_CODES = {"not_json": "PARSE_ERROR", "unknown_agent": "FLAG_NOT_FOUND", "invalid": "INVALID_CONTEXT"}


class Asked(msgspec.Struct, frozen=True):
    """What an SDK sends: `context`, `eligible`, `request_id` or else `targetingKey` count, and columns of a tree."""

    context: dict[str, Any] = {}


class _Flag(Decide, frozen=True):
    """A decision in the given context, or in that of the attributes."""

    attributes: dict[str, Any] = msgspec.field(default_factory=dict)

    def run(self, state: State, group: Group, key: str | None) -> DecideAnswer:
        """Decide."""
        if self.context is None and state.tree is not None:
            columns = {name: self.attributes[name] for name in state.tree.columns if name in self.attributes}
            return Decide(self.id, columns, self.eligible, unit=self.unit).run(state, group, key)
        return Decide.run(self, state, group, key)


def as_order(asked: Asked) -> Decide:
    """The decision that is asked for: that of its `request_id`, or of its `targetingKey` as a unit, or a new one."""
    given: dict[str, Any] = {name: asked.context.get(name) for name in ("context", "eligible")}
    if "request_id" not in asked.context and asked.context.get("targetingKey"):
        given["unit"] = asked.context["targetingKey"]
    else:
        given["id"] = asked.context.get("request_id", f"ofrep-{secrets.token_hex(12)}")
    try:
        return msgspec.convert(given | {"attributes": asked.context}, _Flag)
    except msgspec.ValidationError as error:
        raise RefusedError(422, "invalid", f"the evaluation context: {error}") from None


def refuse_all(_asked: Asked) -> Decide:
    """Refuse to evaluate all flags at once."""
    said = "ask for one flag at a time, with a server-side SDK: each evaluation is a decision that waits for its reward"
    raise RefusedError(400, "bulk", said)


def as_flag(found: DecideAnswer | RefusedError, agent: str | None) -> tuple[int, dict[str, Any]]:
    """The status and the body with which OFREP answers; without a value an SDK takes the default of its caller."""
    if isinstance(found, RefusedError):
        status = 400 if found.status in (409, 413, 415, 422) else found.status
        said = {"errorCode": _CODES.get(found.code, "GENERAL"), "errorDetails": str(found)}
        return status, said if agent is None else {"key": agent, **said}
    arm, metadata = found.arm, {name: getattr(found, name) for name in ("id", "probability", "reason", "version")}
    if arm == {"expert": True}:
        return 200, {"key": agent, "reason": "DEFAULT", "variant": "expert", "metadata": metadata}
    reason, name = ("STATIC" if found.reason == "forced" else "SPLIT"), arm["name"] if isinstance(arm, dict) else arm
    return 200, {"key": agent, "reason": reason, "variant": str(name), "value": arm, "metadata": metadata}
