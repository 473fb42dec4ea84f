"""The service over HTTP: which address takes what, who may ask, and what is answered."""

from __future__ import annotations

import asyncio
import functools
import inspect
import re
import secrets
import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from meanbounds.agents import ContextualAgent
from meanbounds.agents.contexts import Context
from meanbounds.service import commands as do
from meanbounds.service import ofrep, schema
from meanbounds.service.book import Book
from meanbounds.service.errors import RefusalError
from meanbounds.service.events import ContextName, context_of, name_of
from meanbounds.service.looking import history_view
from meanbounds.service.metrics import Metrics
from meanbounds.service.page import page_routes
from meanbounds.service.saying import say
from meanbounds.service.served import Served, rehearse
from meanbounds.service.store import StoreError, Token, open_store
from meanbounds.service.tokens import Guard
from meanbounds.service.writer import Writer

__all__ = ["HEADERS", "OPERATIONS", "Call", "Endpoint", "Headers", "Operation", "Service"]

Headers = list[tuple[bytes, bytes]]
"""Headers of HTTP; the names of those of a request are in lower case."""

HEADERS: Headers = [
    (b"content-type", b"application/json"),
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
]
"""The headers of every answer of an `Endpoint`."""

_ENCODER = msgspec.json.Encoder()
_RETRY = (b"retry-after", b"1")
_LOOPBACK = {"localhost", "127.0.0.1", "[::1]"}
_REFRESH = 1.0  # seconds between two looks at the tokens
_FREQUENT = re.compile(r"/v1/(?:rewards|agents/([A-Za-z0-9_.-]+)/decisions)")


class ErrorAnswer(msgspec.Struct):
    """The answer to a request that is refused."""

    error: schema.ErrorOut


@dataclass(slots=True)
class Call:
    """A request that was read and admitted."""

    writer: Writer
    token: Token
    path: dict[str, str]
    query: bytes
    body: Any
    idempotency_key: str | None

    @property
    def key(self) -> str:
        """The agent that the request is about, if the token is for it."""
        return self.permit(self.path["key"])

    def permit(self, key: str) -> str:
        """Refuse an agent that the token is not for."""
        if self.token.agents is not None and key not in self.token.agents:
            raise RefusalError(403, "forbidden", f"this token is not for agent {key!r}")
        return key

    async def run(self, command: do.Command) -> Any:
        """Carry out a command; a refusal is raised."""
        (answer,) = await self.writer.put(command)
        if isinstance(answer, RefusalError):
            raise answer
        return answer

    async def run_all(self, several: Sequence[do.Command]) -> schema.Batch:
        """Carry out commands as a batch; what was refused has an error in its place."""
        answers = await self.writer.put(*several)
        for answer in answers:
            if isinstance(answer, RefusalError) and answer.status >= 500:
                raise answer
        return schema.Batch([_error(one) if isinstance(one, RefusalError) else one for one in answers])

    def asked(self, name: str) -> str | None:
        """A parameter of the query."""
        return QueryParams(self.query).get(name)


Handler = Callable[[Call], do.Command] | Callable[[Call], Awaitable[Any]]
"""What to do for a request: a function that makes the one command that answers it, or a coroutine function."""

Refuse = Callable[[RefusalError, Mapping[str, str]], tuple[int, msgspec.Struct]]


def _refusal(error: RefusalError, _path: Mapping[str, str]) -> tuple[int, msgspec.Struct]:
    """How a refusal is answered."""
    return error.status, _error(error)


@dataclass(frozen=True)
class Operation:
    """One thing that can be asked over HTTP; the router and the OpenAPI document are made from these."""

    method: str
    path: str
    scope: str | None
    summary: str
    handle: Handler
    gives: type[msgspec.Struct]
    takes: type[msgspec.Struct] | None = None
    query: tuple[tuple[str, str], ...] = ()
    refuse: Refuse = _refusal
    refuses: type[msgspec.Struct] = ErrorAnswer

    @property
    def name(self) -> str:
        """Method and path, which names the operation in metrics and logs."""
        return f"{self.method} {self.path}"


def _id(call: Call, given: str | None, name: str) -> str:
    """The id of a request, from its body or its header."""
    if given is not None and call.idempotency_key is not None and given != call.idempotency_key:
        raise RefusalError(422, "invalid", f"{name} and Idempotency-Key differ: give one of them")
    return _own_id(given if given is not None else call.idempotency_key, name)


def _own_id(given: str | None, name: str) -> str:
    """The id of a request, or of one in a batch, for which the header cannot stand."""
    if given is None:
        raise RefusalError(422, "invalid", f"give {name}, an id of your own, so that a repeated request counts once")
    return given


def _decide(call: Call) -> do.Decide:
    asked: schema.DecisionIn = call.body
    return do.Decide(call.key, _id(call, asked.request_id, "request_id"), asked)


async def _decide_batch(call: Call) -> schema.Batch:
    asked: schema.DecisionBatchIn = call.body
    key, ids = call.key, [_own_id(one.request_id, "request_id") for one in asked.decisions]
    return await call.run_all([do.Decide(key, own, one) for own, one in zip(ids, asked.decisions, strict=True)])


def _look_at_decision(call: Call) -> do.LookAtDecision:
    return do.LookAtDecision(call.path["decision_id"], call.token.agents)


def _reward(call: Call) -> do.Reward:
    asked: schema.RewardIn = call.body
    return do.Reward(asked.decision_id, call.token.agents, asked.reward, asked.arm)


async def _reward_batch(call: Call) -> schema.Batch:
    asked: schema.RewardBatchIn = call.body
    agents = call.token.agents
    return await call.run_all([do.Reward(one.decision_id, agents, one.reward, one.arm) for one in asked.rewards])


def _censor(call: Call) -> do.Censor:
    return do.Censor(call.path["decision_id"], call.token.agents)


def _observe(call: Call) -> do.Observe:
    asked: schema.ObservationIn = call.body
    return do.Observe(call.key, _id(call, asked.observation_id, "observation_id"), asked)


async def _observe_batch(call: Call) -> schema.Batch:
    asked: schema.ObservationBatchIn = call.body
    key, ids = call.key, [_own_id(one.observation_id, "observation_id") for one in asked.observations]
    pairs = zip(ids, asked.observations, strict=True)
    return await call.run_all([do.Observe(key, own, one) for own, one in pairs])


def _agents(call: Call) -> do.Look:
    def look(book: Book, _: str) -> schema.AgentsView:
        allowed = call.token.agents
        return schema.AgentsView([do.agent_view(book, key) for key in book.agents if allowed is None or key in allowed])

    return do.Look("", look)


def _agent(call: Call) -> do.Look:
    return do.Look(call.key, do.agent_view)


async def _contexts(call: Call) -> schema.ContextsView:
    start, limit = _whole(call, "start", 0, 2**53), _whole(call, "limit", 100, 1_000)
    wanted = (call.asked("search") or "").casefold()

    def look(book: Book, key: str) -> tuple[list[Context], int]:
        agent = book.served(key).agent
        if not isinstance(agent, ContextualAgent):
            return [], 0
        return list(agent if wanted else islice(agent, start, start + limit)), len(agent)

    def search() -> list[Context]:
        found = (context for context in contexts if wanted in str(context).casefold())
        return list(islice(found, start, start + limit))

    contexts, total = await call.run(do.Look(call.key, look))
    if wanted:  # a million names take a second, in which others are answered
        contexts = await call.writer.beside(search)
    return schema.ContextsView([name_of(one) for one in contexts], total)


def _whole(call: Call, name: str, default: int, most: int) -> int:
    text = call.asked(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 17 and int(text) <= most):
        raise RefusalError(422, "invalid", f"{name} must be a whole number from 0 to {most}; got {text[:50]!r}")
    return int(text)


def _context_in_path(served: Served, text: str) -> Context:
    """The context that a path names: its text, or JSON for one that is a number or a tuple."""
    agent = served.agent
    if not isinstance(agent, ContextualAgent):
        raise RefusalError(404, "unknown_context", "this agent has no contexts")
    if text in agent:
        return text
    with suppress(msgspec.DecodeError, TypeError, ValueError, RecursionError):
        context = context_of(msgspec.json.decode(text))
        if context is not None and context in agent:
            return context
    raise RefusalError(404, "unknown_context", f"there is no context {text[:100]!r}")


def _context(call: Call) -> do.Look:
    def look(book: Book, key: str) -> schema.ContextView:
        served = book.served(key)
        context = _context_in_path(served, call.path["context"])
        return msgspec.convert(served.view(context), schema.ContextView)

    return do.Look(call.key, look)


def _view(call: Call) -> do.Look:
    def look(book: Book, key: str) -> schema.ContextView:
        served = book.served(key)
        if served.has_contexts:
            raise RefusalError(404, "unknown_context", "this agent decides by context: add /contexts/ and its name")
        return msgspec.convert(served.view(None), schema.ContextView)

    return do.Look(call.key, look)


async def _erase(call: Call) -> schema.ErasedOut:
    found: Context = await call.run(
        do.Look(call.key, lambda book, key: _context_in_path(book.served(key), call.path["context"]))
    )
    command, address = do.Erase(call.key, found), call.writer.book.store.shared_address
    if address is not None:
        with suppress(StoreError):  # if the store cannot be used, the command says so
            await call.writer.beside(functools.partial(_look_for, command, address))
    answer: schema.ErasedOut = await call.run(command)
    await call.writer.erase_traces()
    return answer


def _look_for(command: do.Erase, address: str) -> None:
    """Let a command look for what it erases, on a connection of its own."""
    with closing(open_store(address, create=False)) as store:
        command.look(store)


def _force(call: Call) -> do.Force:
    asked: schema.ForceIn = call.body
    return do.Force(call.key, asked.arm, asked.context)


async def _free(call: Call) -> schema.AgentView:
    text = call.asked("context")

    def look(book: Book, key: str) -> Any:
        forced = book.served(key).forced
        if text is None or text in forced:
            return text
        with suppress(msgspec.DecodeError):
            return msgspec.json.decode(text, type=ContextName)
        return text

    context = await call.run(do.Look(call.key, look))
    answer: schema.AgentView = await call.run(do.Force(call.key, None, context))
    return answer


async def _change(call: Call) -> schema.VersionOut:
    sample = await call.run(do.Look(call.key, lambda book, key: do.sample_after(book.served(key), call.body)))
    with suppress(LookupError, TypeError, ValueError, ArithmeticError, RecursionError):  # the change itself says it
        await asyncio.to_thread(rehearse, sample)  # kernels of a new policy are compiled before it serves
    answer: schema.VersionOut = await call.run(do.Change(call.key, call.body, call.idempotency_key))
    return answer


def _roll_back(call: Call) -> do.RollBack:
    asked: schema.RollbackIn = call.body
    return do.RollBack(call.key, asked.version, call.idempotency_key)


def _configure(call: Call) -> do.Configure:
    return do.Configure(call.key, call.body)


def _history(call: Call) -> do.Look:
    text = call.asked("context")

    def look(book: Book, key: str) -> schema.HistoryView:
        served = book.served(key)
        context = None if text is None else _context_in_path(served, text)
        return history_view(served, context, [alarm for agent, alarm in book.alarms if agent == key][-20:])

    return do.Look(call.key, look)


async def _evaluate(call: Call) -> ofrep.Evaluation:
    asked = ofrep.asked_of(call.body)
    if asked.request_id is None and call.idempotency_key is None:
        asked.request_id = ofrep.new_id()
    asked.request_id = _id(call, asked.request_id, "request_id")
    decided: schema.DecisionOut = await call.run(do.Decide(call.key, asked.request_id, asked))
    return ofrep.as_evaluation(call.key, decided)


async def _evaluate_all(_call: Call) -> ofrep.Evaluation:
    raise ofrep.refuse_bulk()


def _failure(error: RefusalError, path: Mapping[str, str]) -> tuple[int, msgspec.Struct]:
    return ofrep.as_failure(error, path.get("key"))


_AGENT = "/v1/agents/{key}"
_OFREP = "/ofrep/v1/evaluate/flags"
OPERATIONS: tuple[Operation, ...] = (
    Operation(
        *("POST", f"{_AGENT}/decisions", "decide", "Decide", _decide, schema.DecisionOut, schema.DecisionIn),
    ),
    Operation("POST", "/v1/rewards", "reward", "Report a reward", _reward, schema.RewardOut, schema.RewardIn),
    Operation(
        "POST",
        f"{_AGENT}/decisions/batch",
        "decide",
        "Decide several times",
        _decide_batch,
        schema.Batch,
        schema.DecisionBatchIn,
    ),
    Operation(
        "POST", "/v1/rewards/batch", "reward", "Report rewards", _reward_batch, schema.Batch, schema.RewardBatchIn
    ),
    Operation(
        "GET",
        "/v1/decisions/{decision_id}",
        None,
        "What has become of a decision",
        _look_at_decision,
        schema.DecisionView,
    ),
    Operation(
        "POST",
        "/v1/decisions/{decision_id}/censor",
        "reward",
        "Give up: the reward will never come",
        _censor,
        schema.RewardOut,
    ),
    Operation(
        "POST",
        f"{_AGENT}/observations",
        "observe",
        "Report what an expert did",
        _observe,
        schema.ObservationOut,
        schema.ObservationIn,
    ),
    Operation(
        "POST",
        f"{_AGENT}/observations/batch",
        "observe",
        "Report what experts did",
        _observe_batch,
        schema.Batch,
        schema.ObservationBatchIn,
    ),
    Operation("GET", "/v1/agents", None, "All agents", _agents, schema.AgentsView),
    Operation("GET", _AGENT, None, "An agent and its settings", _agent, schema.AgentView),
    Operation("GET", f"{_AGENT}/arms", None, "The arms of an agent without contexts", _view, schema.ContextView),
    Operation(
        "GET",
        f"{_AGENT}/contexts",
        None,
        "The contexts of an agent",
        _contexts,
        schema.ContextsView,
        query=(
            ("start", "how many to pass over"),
            ("limit", "how many to give, at most 1000"),
            ("search", "text in the name"),
        ),
    ),
    Operation("GET", f"{_AGENT}/contexts/{{context}}", None, "The arms in a context", _context, schema.ContextView),
    Operation("DELETE", f"{_AGENT}/contexts/{{context}}", "admin", "Erase a context", _erase, schema.ErasedOut),
    Operation(
        "PUT", f"{_AGENT}/forced", "admin", "Force an arm: emergency stop", _force, schema.AgentView, schema.ForceIn
    ),
    Operation(
        "DELETE",
        f"{_AGENT}/forced",
        "admin",
        "Let the agent decide again",
        _free,
        schema.AgentView,
        query=(("context", "the context; all by default"),),
    ),
    Operation(
        "POST",
        f"{_AGENT}/changes",
        "admin",
        "Change bounds, arms or policy",
        _change,
        schema.VersionOut,
        schema.ChangeIn,
    ),
    Operation(
        "POST",
        f"{_AGENT}/rollback",
        "admin",
        "Back to an earlier version",
        _roll_back,
        schema.VersionOut,
        schema.RollbackIn,
    ),
    Operation(
        "PATCH",
        f"{_AGENT}/settings",
        "admin",
        "Share of the traffic, wait, default reward",
        _configure,
        schema.AgentView,
        schema.SettingsIn,
    ),
    Operation(
        "GET",
        f"{_AGENT}/history",
        None,
        "What has come of decisions so far",
        _history,
        schema.HistoryView,
        query=(("context", "the context; all by default"),),
    ),
    Operation(
        "POST",
        f"{_OFREP}/{{key}}",
        "decide",
        "Decide, for OpenFeature",
        _evaluate,
        ofrep.Evaluation,
        ofrep.EvaluationIn,
        refuse=_failure,
        refuses=ofrep.EvaluationFailure,
    ),
    Operation(
        "POST",
        _OFREP,
        "decide",
        "Refused: all flags at once",
        _evaluate_all,
        ofrep.Evaluation,
        ofrep.EvaluationIn,
        refuse=_failure,
        refuses=ofrep.EvaluationFailure,
    ),
)
"""All that can be asked, the most frequent first."""


class Service:
    """The ASGI application of a service.

    Parameters
    ----------
    book
        The state of the agents.
    rate
        How many requests a second each token may send; any number by default.
    snapshots
        Whether to save snapshots.
    log_requests
        Whether to write a line about each request, as JSON, to standard error.

    Examples
    --------
    >>> from meanbounds.service import Service, open_store
    >>> from meanbounds.service.server import prepare
    >>> service = Service(prepare(open_store("sqlite::memory:")))
    >>> service.app.url_path_for("POST /v1/rewards")
    '/v1/rewards'
    """

    def __init__(
        self, book: Book, *, rate: float | None = None, snapshots: bool = True, log_requests: bool = False
    ) -> None:
        self.book, self.guard, self.metrics = book, Guard(rate), Metrics()
        self.log_requests = log_requests
        self._snapshots = snapshots
        self.writer: Writer | None = None
        self.document: bytes = b""
        endpoints = [Endpoint(self, one) for one in OPERATIONS]
        self._decide, self._reward = endpoints[:2]
        routes = [
            Route(
                one.path.replace("{context}", "{context:path}"),
                endpoint,
                methods=[one.method],
                name=one.name,
            )
            for one, endpoint in zip(OPERATIONS, endpoints, strict=True)
        ]
        routes += [
            Route("/health", self._health, methods=["GET"]),
            Route("/ready", self._ready, methods=["GET"]),
            Route("/openapi.json", self._openapi, methods=["GET"]),
            Route("/metrics", self._metrics, methods=["GET"]),
            *page_routes(),
        ]
        self.app = Starlette(
            routes=routes,
            lifespan=self._lifespan,
            exception_handlers={HTTPException: _refused, 404: _refused, 405: _refused},
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; the two most frequent ones without the router, which takes longer than the answer."""
        found = None
        if scope["type"] == "http" and scope["method"] == "POST" and not scope["root_path"]:
            found = self.frequent(scope["path"])
        if found is None:
            await self.app(scope, receive, send)
        else:
            endpoint, scope["path_params"] = found
            await endpoint(scope, receive, send)

    def frequent(self, path: str) -> tuple[Endpoint, dict[str, str]] | None:
        """What answers a POST to the address of single decisions or rewards, and the parts of the address."""
        match = _FREQUENT.fullmatch(path)
        if match is None:
            return None
        key = match[1]
        return (self._reward, {}) if key is None else (self._decide, {"key": key})

    @asynccontextmanager
    async def _lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        writer = self.writer = Writer(self.book, snapshots=self._snapshots)
        tasks = [asyncio.create_task(writer.run()), asyncio.create_task(self._keep_tokens(writer))]
        try:
            await self._take_tokens(writer)
            yield
        finally:
            tasks[1].cancel()
            await writer.close()
            await tasks[0]
            writer.stop()

    async def _keep_tokens(self, writer: Writer) -> None:
        while True:
            await asyncio.sleep(_REFRESH)
            with suppress(RefusalError):
                await self._take_tokens(writer)

    async def _take_tokens(self, writer: Writer) -> None:
        (tokens,) = await writer.put(do.Look("", lambda book, _: book.store.tokens()))
        if not isinstance(tokens, RefusalError):  # a store that is away: the tokens stay as they are
            self.guard.know(tokens)

    async def _health(self, _request: Request) -> Response:
        return Response(b'{"status":"ok"}', media_type="application/json")

    async def _ready(self, _request: Request) -> Response:
        problem = "starting" if self.writer is None else self.writer.problem
        if problem is not None:
            return _response(RefusalError(503, "store", problem))
        return Response(b'{"status":"ready"}', media_type="application/json")

    def admit(self, authorization: str | None, host: str | None, scope: str | None) -> Token:
        """The token of a request that may do this."""
        if self.guard.is_open and _host(host) not in _LOOPBACK:  # a page elsewhere may send its readers here
            raise RefusalError(
                403, "forbidden", "without tokens only this machine is served, as localhost or 127.0.0.1"
            )
        return self.guard.admit(authorization, scope)

    async def _metrics(self, request: Request) -> Response:
        try:
            self.admit(request.headers.get("authorization"), request.headers.get("host"), None)
            if self.writer is None:
                raise RefusalError(503, "starting", "the service is starting; try again soon")
            writer = self.writer
            (text,) = await writer.put(do.Look("", lambda _book, _key: self.metrics.text(writer)))
            if isinstance(text, RefusalError):  # the store is away: what was counted here can still be told
                text = self.metrics.text(writer)
        except RefusalError as error:
            return _response(error)
        return Response(text, media_type="text/plain; version=0.0.4")

    async def _openapi(self, _request: Request) -> Response:
        from meanbounds.service.openapi import document

        if not self.document:
            self.document = msgspec.json.encode(document())
        return Response(self.document, media_type="application/json")


class Endpoint:
    """One operation: whom it admits, what was asked, and what is answered, whichever way a request comes.

    `__call__` is the way of ASGI. `meanbounds.service.direct` is a shorter one for operations that are one command.

    Parameters
    ----------
    service
        The service that answers.
    operation
        What can be asked.
    """

    def __init__(self, service: Service, operation: Operation) -> None:
        self._service, self._operation, self._name = service, operation, operation.name
        self._is_command = not inspect.iscoroutinefunction(operation.handle)
        self._decoder = None if operation.takes is None else msgspec.json.Decoder(operation.takes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request that comes by ASGI."""
        began, head, path = time.perf_counter(), scope["headers"], scope["path_params"]
        try:
            call = self.admit(head, path, scope["query_string"])
            made = self.read(call, b"" if self._decoder is None else await _body(receive))
            found = (await call.writer.put(made))[0] if self._is_command else await made
        except Exception as error:  # it is not kept, since it has this frame: that would be a cycle
            status, headers, content = self.answer(error, began, head, path)
        else:
            status, headers, content = self.answer(found, began, head, path)
        headers = [*HEADERS, *headers, (b"content-length", b"%d" % len(content))]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": content})

    def admit(self, head: Headers, path: dict[str, str], query: bytes) -> Call:
        """The request without its body, if it may be made.

        Parameters
        ----------
        head
            The headers of the request.
        path, query
            The parts of its address.
        """
        writer = self._service.writer
        if writer is None:
            raise RefusalError(503, "starting", "the service is starting; try again soon")
        authorization = key = host = kind = None
        length = 0
        for name, value in head:
            if name == b"authorization":
                authorization = value.decode("latin-1")
            elif name == b"x-api-key" and authorization is None:  # how OpenFeature may send a token
                authorization = f"Bearer {value.decode('latin-1')}"
            elif name == b"idempotency-key":
                key = value.decode("latin-1")
            elif name == b"host":
                host = value.decode("latin-1")
            elif name == b"content-type":
                kind = value
            elif name == b"content-length":
                length = int(value)
        token = self._service.admit(authorization, host, self._operation.scope)
        if self._decoder is not None:
            if kind is None or not kind.startswith(b"application/json"):
                raise RefusalError(415, "not_json", "send JSON, with Content-Type: application/json")
            _check_size(length)
        return Call(writer, token, path, query, None, key)

    def read(self, call: Call, text: bytes | bytearray) -> Any:
        """What a request asks for, from its body: a command, or what gives the answer when it is awaited."""
        if self._decoder is not None:
            try:
                call.body = self._decoder.decode(text)
            except msgspec.ValidationError as error:
                raise RefusalError(422, "invalid", str(error)) from None
            except (msgspec.DecodeError, RecursionError, ValueError) as error:
                raise RefusalError(400, "not_json", f"the body is not JSON: {error}") from None
        key = call.idempotency_key
        if key is not None and not (1 <= len(key) <= 200 and key.isprintable()):
            raise RefusalError(422, "invalid", "Idempotency-Key must have 1 to 200 printable characters")
        return self._operation.handle(call)

    def answer(
        self, found: Any, began: float, head: Headers, path: Mapping[str, str]
    ) -> tuple[int, Sequence[tuple[bytes, bytes]], bytes]:
        """Status, headers beside `HEADERS`, and content of the answer to a request, which is counted and logged.

        Parameters
        ----------
        found
            What came of the request, or the exception that it ended with.
        began
            When the request came, by `time.perf_counter`.
        head, path
            Its headers and the parts of its address.
        """
        service, headers = self._service, list[tuple[bytes, bytes]]()
        try:
            status, content = self._encoded(found, path)
        except Exception as error:  # an answer that is no JSON
            status, content = self._encoded(error, path)
        if status == 429:
            headers.append(_RETRY)
        seconds = time.perf_counter() - began
        service.metrics.answered(self._name, status, seconds)
        if service.log_requests:
            headers.append((b"x-request-id", self._log(head, path, status, seconds).encode()))
        return status, headers, content

    def _encoded(self, found: Any, path: Mapping[str, str]) -> tuple[int, bytes]:
        """Status and content of what came of a request."""
        if not isinstance(found, Exception):
            return 200, _ENCODER.encode(found)
        refusal = found if isinstance(found, RefusalError) else _unforeseen(found, self._name)
        status, body = self._operation.refuse(refusal, path)
        return status, _ENCODER.encode(body)

    def _log(self, head: Headers, path: Mapping[str, str], status: int, seconds: float) -> str:
        """Say that a request was answered; the id is that of the caller, or a new one."""
        given = next((value.decode("latin-1") for name, value in head if name == b"x-request-id"), "")
        own = given if _is_id(given) else secrets.token_hex(8)
        about = {"agent": path["key"]} if "key" in path else {}
        milliseconds = round(1_000.0 * seconds, 3)
        say("request", id=own, operation=self._name, status=status, milliseconds=milliseconds, **about)
        return own


def _unforeseen(error: Exception, operation: str) -> RefusalError:
    """What is answered where something went wrong here; only the log says what."""
    say("error", operation=operation, traceback="".join(traceback.format_exception(error)))
    return RefusalError(500, "internal", "something went wrong here; the log of the service says what")


def _check_size(size: int) -> None:
    """Refuse a body that is too long."""
    if size > schema.MOST_BYTES:
        raise RefusalError(413, "too_large", f"a request has at most {schema.MOST_BYTES} bytes; send smaller batches")


async def _body(receive: Receive) -> bytes:
    """The body of a request, unless it is too long."""
    parts, size = list[bytes](), 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise RefusalError(400, "disconnected", "the request was not sent whole")
        part: bytes = message.get("body", b"")
        parts.append(part)
        size += len(part)
        _check_size(size)
        if not message.get("more_body"):
            return parts[0] if len(parts) == 1 else b"".join(parts)


def _is_id(text: str) -> bool:
    """Whether a text can stand in a log and in a header."""
    return 0 < len(text) <= 100 and text.isascii() and text.isprintable()


@functools.lru_cache(256)
def _host(header: str | None) -> str:
    """The host of a header, without its port."""
    text = (header or "").lower()
    return text.rpartition(":")[0] if ":" in text.rpartition("]")[2] else text


def _error(error: RefusalError) -> ErrorAnswer:
    return ErrorAnswer(schema.ErrorOut(error.code, error.message))


def _response(error: RefusalError) -> Response:
    return Response(_ENCODER.encode(_error(error)), status_code=error.status, media_type="application/json")


async def _refused(_request: Request, error: Exception) -> Response:
    """Addresses and methods that there are not."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    said = {
        404: "there is nothing at this address; /openapi.json says what there is",
        405: "this method is not served here",
    }
    return _response(RefusalError(status, "not_found" if status == 404 else "refused", said.get(status, "refused")))
