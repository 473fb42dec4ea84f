"""The OpenAPI document of the service, from the table of operations and the types in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from meanbounds.support.version import __version__

if TYPE_CHECKING:
    from meanbounds.service.routes import Operation

__all__ = ["document"]


@cache
def document(operations: Sequence[Operation], refusal: type[msgspec.Struct]) -> dict[str, Any]:
    """The document; `refusal` is the type of all refusals."""
    types = [kind for one in operations for kind in (one.gives, one.takes)] + [refusal]
    found, components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    paths, schemas = dict[str, dict[str, Any]](), [{"application/json": {"schema": schema}} for schema in found]
    for one, gives, takes in zip(operations, schemas[:-1:2], schemas[1::2], strict=True):
        parameters: list[dict[str, Any]] = [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
            for name in re.findall(r"{(\w+)", one.path)
        ]
        answers = {"200": ("The answer.", gives), "default": ("Why it is refused.", schemas[-1])}
        own = {
            "summary": one.about,
            "parameters": parameters,
            "responses": {code: {"description": about, "content": body} for code, (about, body) in answers.items()},
            "security": [{"token": []}, {}] if one.scope else [{}],
        }
        if one.method == "POST":
            own["requestBody"] = {"required": True, "content": takes}
        else:
            parameters += [
                {"name": field.name, "in": "query", "schema": msgspec.json.schema(field.type)}
                for field in msgspec.structs.fields(one.takes)
            ]
        paths.setdefault(one.path.replace(":path", ""), {})[one.method.lower()] = own
    tokens = {"token": {"type": "http", "scheme": "bearer"}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "meanbounds", "version": __version__},
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": tokens},
    }
