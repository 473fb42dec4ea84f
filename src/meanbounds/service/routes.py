"""What can be asked over HTTP: one table, from which the application and its OpenAPI document are made."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec

from meanbounds.service import commands as do
from meanbounds.service import limits, ofrep, views
from meanbounds.service.access import Who
from meanbounds.service.refusals import RefusedError
from meanbounds.service.state import Context, State, as_context
from meanbounds.support.version import __version__

if TYPE_CHECKING:
    from meanbounds.service.app import Service

__all__ = ["OPERATIONS", "Call", "Operation", "Refusal", "as_json"]


class Refusal(msgspec.Struct, frozen=True):
    """The answer to a request that is refused: a `code` for programs, and a `message`."""

    error: dict[str, str]


_Whole, _Limit = Annotated[int, msgspec.Meta(ge=0, le=2**53)], Annotated[int, msgspec.Meta(ge=0, le=1_000)]
_Few = Annotated[int, msgspec.Meta(ge=0, le=100)]  # changes may be long
_NOTHING = msgspec.defstruct("Nothing", [])
_PAGE = msgspec.defstruct("Page", [("search", str, ""), ("start", _Whole, 0), ("limit", _Limit, 100)])
_BEFORE = msgspec.defstruct("Before", [("before", _Whole, 2**53), ("limit", _Few, 50)])
_NAMED = msgspec.defstruct("Named", [("name", str | None, None)])


class Call(NamedTuple):
    """A request for a view."""

    service: Service
    who: Who
    path: dict[str, str]
    query: Any


def as_json(found: Any, _agent: str | None = None) -> tuple[int, Any]:
    """The status and the body of an answer; in a batch, refusals stand in the place of answers."""
    if isinstance(found, RefusedError):
        return found.status, Refusal({"code": found.code, "message": str(found)})
    return 200, [as_json(one)[1] for one in found] if isinstance(found, list) else found


class Operation(NamedTuple):
    """What can be asked.

    `takes` is the type of the body of a POST, whose commands are carried out, and of the query of a GET, for a view.
    Where a token needs a `scope`, a view gets the state of the agent in the path, or all states that the token may see.
    What a view gives as bytes is of the type `media`.
    """

    method: str
    path: str
    scope: str | None
    about: str
    gives: Any
    takes: Any = _NOTHING
    view: Callable[[Call, Any], Any] = lambda call, states: None
    order: Callable[[Any], do.Command] = lambda body: body
    shape: Callable[[Any, str | None], tuple[int, Any]] = as_json
    media: bytes = b"application/json"


def _contexts(call: Call, state: State) -> tuple[int, list[Context]]:
    return views.contexts_view(state, *msgspec.structs.astuple(call.query))


def _context(call: Call, state: State) -> views.ContextView:
    name = call.query.name
    if name is not None and name not in state.ids:
        with suppress(msgspec.DecodeError):
            name = as_context(msgspec.json.decode(name, type=list[str]))
    if name not in (state.ids if state.contextual else (None,)):
        raise RefusedError(404, "unknown_context", "there is no such context: say which as name=")
    return views.context_view(state, state.ids.get(name))


def _changes(call: Call, state: State) -> list[views.EventView]:
    found = call.service.store.database.changes(state.name, 0, call.query.before, call.query.limit)
    return [views.event_view(event, state) for event in found]


def _decision(call: Call, state: State) -> list[views.EventView]:
    store = call.service.store
    found = store.database.find([store.writer.key("decision", state.name, call.path["id"])])
    if not found:
        raise RefusedError(404, "unknown_decision", "no decision has this id")
    return [views.event_view(event, state) for event in [*found, *store.database.find([found[0].position], "about")]]


def _agents(_: Call, states: dict[str, State]) -> list[views.AgentView]:
    return [views.agent_view(states[name]) for name in sorted(states)]


def _metrics(call: Call, states: dict[str, State]) -> bytes:
    return call.service.metrics.text(states.values(), everything=call.who.agents is None)


def _ready(call: Call, _: None) -> dict[str, str]:
    if call.service.problem:
        raise RefusedError(503, call.service.problem, call.service.problem)
    return {"status": "ready"}


def _file(name: str, media: bytes) -> Operation:
    """A part of the page."""
    file, path = files("meanbounds.service").joinpath("page", name), "/" if name == "page.html" else f"/{name}"
    return Operation("GET", path, None, "The page", str, view=lambda *_: file.read_bytes(), media=media)


def _many(kind: Any) -> Any:
    """One of these, or a batch of them."""
    return kind | Annotated[list[kind], msgspec.Meta(max_length=limits.BATCH)]


@cache
def _document() -> dict[str, Any]:
    """The OpenAPI document of all operations, from the types in the table."""
    types = [kind for one in OPERATIONS for kind in (one.gives, one.takes)] + [Refusal]
    found, components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    paths, schemas = dict[str, dict[str, Any]](), [{"application/json": {"schema": schema}} for schema in found]
    for one, gives, takes in zip(OPERATIONS, schemas[:-1:2], schemas[1::2], strict=True):
        asked = [(name, "path", str) for name in re.findall(r"{(\w+)", one.path)]
        if one.method == "GET":
            asked += [(field.name, "query", field.type) for field in msgspec.structs.fields(one.takes)]
        own = {
            "summary": one.about,
            "parameters": [
                {"name": name, "in": place, "required": place == "path", "schema": msgspec.json.schema(kind)}
                for name, place, kind in asked
            ],
            "responses": {
                "200": {"description": "The answer.", "content": gives},
                "default": {"description": "Why it is refused.", "content": schemas[-1]},
            },
            "security": [{"token": []}, {}] if one.scope else [{}],
        }
        if one.method == "POST":
            own["requestBody"] = {"required": True, "content": takes}
        paths.setdefault(one.path.replace(":path", ""), {})[one.method.lower()] = own
    tokens = {"token": {"type": "http", "scheme": "bearer"}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "meanbounds", "version": __version__},
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": tokens},
    }


_ONE, _FLAGS, _ANY, _EVENTS = "/v1/agents/{agent}", "/ofrep/v1/evaluate/flags", dict[str, Any], list[views.EventView]
_PLAIN = b"text/plain; version=0.0.4; charset=utf-8"
_FLAG = _ANY(gives=_ANY, takes=ofrep.Asked, shape=ofrep.as_flag)
OPERATIONS: tuple[Operation, ...] = (  # the most frequent first
    Operation("POST", f"{_ONE}/decisions", "decide", "Decide", _many(do.DecideAnswer), _many(do.Decide)),
    Operation("POST", f"{_ONE}/rewards", "reward", "Report rewards", _many(do.DoneAnswer), _many(do.Reward)),
    Operation("POST", f"{_ONE}/observations", "observe", "Observe", _many(do.DoneAnswer), _many(do.Observe)),
    Operation("POST", f"{_ONE}/changes", "admin", "Change an agent", do.VersionAnswer, do.Change),
    Operation("POST", f"{_ONE}/rollback", "admin", "Go back to a version", do.VersionAnswer, do.Rollback),
    Operation("POST", f"{_ONE}/erase", "admin", "Erase the name of a context", do.VersionAnswer, do.Erase),
    Operation("POST", f"{_ONE}/leaf", "read", "The context of raw columns", do.FoundAnswer, do.Find),
    Operation("GET", "/v1/agents", "read", "All agents", list[views.AgentView], view=_agents),
    Operation("GET", _ONE, "read", "An agent", views.AgentView, view=lambda _, state: views.agent_view(state)),
    Operation("GET", f"{_ONE}/contexts", "read", "Names of contexts", tuple[int, list[Context]], _PAGE, _contexts),
    Operation("GET", f"{_ONE}/context", "read", "A context", views.ContextView, _NAMED, _context),
    Operation("GET", f"{_ONE}/changes", "read", "What was changed", _EVENTS, _BEFORE, _changes),
    Operation("GET", f"{_ONE}/decisions/{{id:path}}", "read", "A decision", _EVENTS, view=_decision),
    Operation("POST", f"{_FLAGS}/{{agent}}", "decide", "Decide, for OpenFeature", order=ofrep.as_order, **_FLAG),
    Operation("POST", _FLAGS, "decide", "Refused: all flags at once", order=ofrep.refuse_all, **_FLAG),
    Operation("GET", "/metrics", "read", "Counts and times, for Prometheus", str, view=_metrics, media=_PLAIN),
    Operation("GET", "/health", None, "Whether it runs", _ANY, view=lambda *_: {"status": "ok"}),
    Operation("GET", "/ready", None, "Whether it can answer", _ANY, view=_ready),
    Operation("GET", "/openapi.json", None, "This document", _ANY, view=lambda *_: _document()),
    _file("page.html", b"text/html; charset=utf-8"),
    _file("page.js", b"text/javascript; charset=utf-8"),
    _file("page.css", b"text/css; charset=utf-8"),
)
