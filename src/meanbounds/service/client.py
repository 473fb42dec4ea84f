"""Ask a service from Python: a request is sent again, with the same id, until it is answered."""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Iterable, Mapping
from typing import Any, Self
from urllib.parse import quote

import httpx
import msgspec

from meanbounds.bounds import EXPERT, Arm
from meanbounds.linear import Candidate
from meanbounds.service.commands import DecideAnswer, DoneAnswer
from meanbounds.service.state import Outcomes, Where, plain

__all__ = ["Client", "ServiceError"]

_TAKE_IDS = ("decisions", "observations", "changes", "rollback")
_AGAIN = (0, 408, 429, *range(500, 600))  # nothing is wrong with the request


class ServiceError(Exception):
    """A request that was refused: the status of HTTP (0 if nobody answered), a word for programs, and what is wrong."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


class Client:
    """A client of a service, which threads may share.

    Parameters
    ----------
    url, agent
        Where the service is, such as ``"http://127.0.0.1:8000"``, and which of its agents decides.
    token
        The token, if the service asks for one.
    patience
        For how many seconds to repeat a request that is not answered. It keeps its id, so it counts once.

    Examples
    --------
    >>> from meanbounds.service.client import Client
    >>> with Client("http://127.0.0.1:9", agent="clinic", patience=0.0) as client:
    ...     client.decide("north")
    Traceback (most recent call last):
    meanbounds.service.client.ServiceError: http://127.0.0.1:9 does not answer: [Errno 111] Connection refused
    """

    def __init__(self, url: str, agent: str | None = None, token: str | None = None, patience: float = 30.0) -> None:
        self.url, self.agent, self.patience = url, agent, patience
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._http = httpx.Client(base_url=url, headers=headers, timeout=10.0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def decide(
        self,
        context: Where = None,
        eligible: Iterable[Any] | None = None,
        id: str | None = None,
        unit: str | None = None,
    ) -> DecideAnswer:
        """Ask for a decision; without an id or a unit, it gets a new id. `EXPERT` as its arm means: ask the experts.

        A unit, such as ``"user-17"``, gets the same answer until its time is over. An agent with a tree takes raw
        columns as context, such as ``{"age": 81, "severity": "high"}``.
        """
        offered = None if eligible is None else plain(eligible)
        named = {name: own for name, own in {"id": id, "unit": unit}.items() if own is not None}
        found = self._ask("decisions", DecideAnswer, **named, context=_sent(context), eligible=offered)
        if isinstance(found.arm, dict):
            arm = EXPERT if "expert" in found.arm else Candidate(**found.arm)
            return msgspec.structs.replace(found, arm=arm)
        return found

    def reward(self, id: str, reward: float | None, arm: Arm | None = None, outcomes: Outcomes = None) -> DoneAnswer:
        """Report the reward of a decision; `arm` is what the experts chose, if they were asked.

        `outcomes` are those that have guardrails, such as ``{"bleeding": 0.0}``.
        """
        return self._ask("rewards", DoneAnswer, id=id, reward=reward, arm=arm, outcomes=outcomes)

    def cancel(self, id: str) -> DoneAnswer:
        """Say that the reward of a decision will never come."""
        return self.reward(id, None)

    def observe(
        self, arm: Arm, reward: float, context: Where = None, id: str | None = None, outcomes: Outcomes = None
    ) -> DoneAnswer:
        """Report what experts chose in a case for which no decision was asked, and how it went."""
        given = {"arm": arm, "reward": reward, "context": _sent(context), "outcomes": outcomes}
        return self._ask("observations", DoneAnswer, id=id, **given)

    def _ask(self, operation: str, kind: Any, **body: Any) -> Any:
        if self.agent is None:
            raise ValueError('which agent? Name it: Client(url, agent="clinic")')
        return msgspec.convert(self.call("POST", f"/v1/agents/{quote(self.agent, safe='')}/{operation}", body), kind)

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request, again and again if need be, and return the answer; for what has no method of its own."""
        if path.endswith(_TAKE_IDS) and isinstance(body, dict) and body.get("id") is None and "unit" not in body:
            body = {**body, "id": str(uuid.uuid4())}
        end, pause = time.monotonic() + self.patience, 0.05
        while True:
            wait, pause = pause * (0.5 + random.random()), min(2.0 * pause, 2.0)  # seconds
            try:
                answer = self._http.request(method, path, json=body)
                said = answer.json()
                if answer.is_success:
                    return said
                failed = ServiceError(answer.status_code, said["error"]["code"], said["error"]["message"])
                wait += int(answer.headers.get("Retry-After", 0))
            except httpx.TransportError as error:
                failed = ServiceError(0, "unreachable", f"{self.url} does not answer: {error}")
            except (ValueError, TypeError, LookupError):
                failed = ServiceError(answer.status_code, "unreadable", f"{answer.url} is no service of meanbounds")
            if failed.status not in _AGAIN or time.monotonic() + wait > end:
                raise failed
            time.sleep(wait)


def _sent(context: Where) -> Any:
    """A context, or raw columns with scalars of numpy as those of Python, and null for NaN."""
    if not isinstance(context, Mapping):
        return context
    values = {name: value.item() if hasattr(value, "item") else value for name, value in context.items()}
    return {name: None if value != value else value for name, value in values.items()}
