"""The OpenAPI document of a service, made from its operations."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from meanbounds.service.app import OPERATIONS, Operation
from meanbounds.support.version import __version__

__all__ = ["document"]

_REFUSALS = {
    "400": "The body is not JSON.",
    "401": "There is no valid token.",
    "403": "The token does not allow this.",
    "404": "There is no such thing.",
    "405": "This method is not served here.",
    "409": "The request contradicts an earlier one.",
    "413": "The body is too long.",
    "415": "The body is not declared as JSON.",
    "422": "Something in the request cannot be.",
    "429": "Too many requests.",
    "503": "The store cannot be used now; send the same request again.",
}


def document() -> dict[str, Any]:
    """The OpenAPI document.

    Examples
    --------
    >>> from meanbounds.service.openapi import document
    >>> document()["paths"]["/v1/rewards"]["post"]["summary"]
    'Report a reward'
    """
    types = {kind for one in OPERATIONS for kind in (one.takes, one.gives, one.refuses) if kind is not None}
    ordered = sorted(types, key=lambda kind: kind.__name__)
    schemas, components = msgspec.json.schema_components(ordered, ref_template="#/components/schemas/{name}")
    by_type = dict(zip(ordered, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for one in OPERATIONS:
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(one, by_type)
    return {
        "openapi": "3.1.0",
        "info": {"title": "meanbounds", "version": __version__, "description": "Decisions by agents with mean bounds."},
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{"token": []}, {}],
    }


def _operation(one: Operation, by_type: dict[Any, Any]) -> dict[str, Any]:
    names = re.findall(r"\{(\w+)\}", one.path)
    text = {"type": "string", "minLength": 1}
    parameters = [{"name": name, "in": "path", "required": True, "schema": text} for name in names]
    parameters += [
        {"name": name, "in": "query", "required": False, "description": about, "schema": {"type": "string"}}
        for name, about in one.query
    ]
    refusal = {"application/json": {"schema": by_type[one.refuses]}}
    answers: dict[str, Any] = {"200": {"description": "Done.", "content": _json(by_type[one.gives])}}
    answers |= {code: {"description": about, "content": refusal} for code, about in _REFUSALS.items()}
    made: dict[str, Any] = {"summary": one.summary, "responses": answers}
    if one.scope is not None:
        made["description"] = f"Needs the scope {one.scope}."
    if parameters:
        made["parameters"] = parameters
    if one.takes is not None:
        made["requestBody"] = {"required": True, "content": _json(by_type[one.takes])}
    return made


def _json(schema: Any) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
