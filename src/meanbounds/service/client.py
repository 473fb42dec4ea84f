"""Ask a service from Python: a request is sent again, with the same id, until it is answered."""

from __future__ import annotations

import asyncio
import random
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self
from urllib.parse import quote

import httpx

from meanbounds.agents.candidate import Candidate
from meanbounds.agents.contexts import Context, as_lists
from meanbounds.bounds import Arm

__all__ = ["AsyncClient", "Client", "ServiceError"]

_IDS = {"request_id", "observation_id"}
_TOO_MANY = 429
_FAILED = 500  # and above: something is wrong there, and not with the request, which counts once however often it comes


class ServiceError(Exception):
    """Raised for a request that the service refused.

    Attributes
    ----------
    status
        The status of HTTP; 0 if the service could not be reached.
    code
        One word for programs, such as ``"conflict"``.

    Examples
    --------
    >>> from meanbounds.service import ServiceError
    >>> ServiceError(409, "conflict", "this decision has had the reward 1.0").code
    'conflict'
    """

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


class _Calls:
    """What both clients send, and how they read the answer."""

    def __init__(self, agent: str | None, token: str | None, patience: float) -> None:
        self.agent, self.patience = agent, patience
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}

    def _path(self, agent: str | None) -> str:
        key = agent if agent is not None else self.agent
        if key is None:
            raise ValueError("which agent? Give agent= to the client or to the call")
        return f"/v1/agents/{quote(key, safe='')}"

    def _decide(
        self,
        context: Context,
        eligible: Sequence[Arm] | None,
        candidates: Sequence[Candidate] | None,
        request_id: str | None,
        agent: str | None,
    ) -> tuple[str, str, dict[str, Any]]:
        body = {"request_id": request_id or str(uuid.uuid4()), "context": as_lists(context)}
        if eligible is not None:
            body["eligible"] = list(eligible)
        if candidates is not None:
            body["candidates"] = [one.to_dict() for one in candidates]
        return "POST", f"{self._path(agent)}/decisions", body

    def _observe(
        self, context: Context, arm: Arm, reward: float, observation_id: str | None, agent: str | None
    ) -> tuple[str, str, dict[str, Any]]:
        own = observation_id or str(uuid.uuid4())
        body = {"observation_id": own, "context": as_lists(context), "arm": arm, "reward": reward}
        return "POST", f"{self._path(agent)}/observations", body

    def _id(self, method: str, body: Any) -> dict[str, str]:
        """An id for a request that has none in its body, the same for each attempt, so that a change is made once."""
        parts = [body, body.get("context")] if isinstance(body, Mapping) else []  # an evaluation has it in its context
        has_own = any(isinstance(part, Mapping) and not _IDS.isdisjoint(part) for part in parts)
        return {} if method != "POST" or has_own else {"Idempotency-Key": str(uuid.uuid4())}

    def _pauses(self) -> Iterator[float]:
        """How long to wait before each further attempt, until the patience is over."""
        end, pause = time.monotonic() + self.patience, 0.05
        while time.monotonic() < end:
            yield pause * (0.5 + random.random())
            pause = min(2.0 * pause, 2.0)

    def _read(self, answer: httpx.Response) -> Any:
        try:
            said = answer.json()
        except ValueError:
            said = None
        if answer.status_code == 200 and said is not None:
            return said
        error = said.get("error") if isinstance(said, Mapping) else None
        if not isinstance(error, Mapping):
            raise ServiceError(answer.status_code, "unreadable", f"{answer.url} is no service of meanbounds")
        raise ServiceError(answer.status_code, str(error.get("code")), str(error.get("message")))


class Client(_Calls):
    """A client of a service.

    Parameters
    ----------
    url
        Where the service is, such as ``http://127.0.0.1:8000``.
    agent
        The agent that is meant where a call names none.
    token
        The token, if the service asks for one.
    patience
        For how many seconds to repeat a request that is not answered. It keeps its id, so it counts once.

    Examples
    --------
    >>> from meanbounds.service import Client
    >>> with Client("http://127.0.0.1:9", agent="demo", patience=0.0) as client:
    ...     client.decide("under 60")
    Traceback (most recent call last):
    meanbounds.service.client.ServiceError: http://127.0.0.1:9 does not answer: [Errno 111] Connection refused
    """

    def __init__(self, url: str, *, agent: str | None = None, token: str | None = None, patience: float = 30.0) -> None:
        super().__init__(agent, token, patience)
        self.url = url
        self._http = httpx.Client(base_url=url, headers=self._headers, timeout=10.0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request, again and again if need be, and return the answer; for what has no method of its own."""
        pauses, headers = self._pauses(), self._id(method, body)
        while True:
            try:
                return self._read(self._http.request(method, path, json=body, headers=headers))
            except httpx.TransportError as error:
                failed = ServiceError(0, "unreachable", f"{self.url} does not answer: {error}")
            except ServiceError as error:
                if error.status != _TOO_MANY and error.status < _FAILED:
                    raise
                failed = error
            pause = next(pauses, None)
            if pause is None:
                raise failed from None
            time.sleep(pause)

    def decide(
        self,
        context: Context = None,
        *,
        eligible: Sequence[Arm] | None = None,
        candidates: Sequence[Candidate] | None = None,
        request_id: str | None = None,
        agent: str | None = None,
    ) -> dict[str, Any]:
        """Ask for a decision: its decision_id, arm, probability, agent_version and reason.

        Parameters
        ----------
        context
            The context; None for an agent without contexts.
        eligible, candidates
            The arms on offer, and new ones; all arms by default.
        request_id
            An id of your own; a new one by default.
        agent
            The agent, if it is not that of the client.
        """
        answer: dict[str, Any] = self.call(*self._decide(context, eligible, candidates, request_id, agent))
        return answer

    def reward(self, decision_id: str, reward: float, *, arm: Arm | None = None) -> dict[str, Any]:
        """Report the reward of a decision; `arm` is what the expert did, if the expert decided."""
        body = {"decision_id": decision_id, "reward": reward} | ({} if arm is None else {"arm": arm})
        answer: dict[str, Any] = self.call("POST", "/v1/rewards", body)
        return answer

    def censor(self, decision_id: str) -> dict[str, Any]:
        """Say that the reward of a decision will never come."""
        answer: dict[str, Any] = self.call("POST", f"/v1/decisions/{quote(decision_id, safe='')}/censor")
        return answer

    def observe(
        self,
        context: Context,
        arm: Arm,
        reward: float,
        *,
        observation_id: str | None = None,
        agent: str | None = None,
    ) -> dict[str, Any]:
        """Report what an expert did, and what came of it."""
        answer: dict[str, Any] = self.call(*self._observe(context, arm, reward, observation_id, agent))
        return answer


class AsyncClient(_Calls):
    """A client for programs with asyncio; its methods are those of `Client`, to be awaited.

    Parameters
    ----------
    url, agent, token, patience
        As for `Client`.

    Examples
    --------
    >>> import asyncio
    >>> from meanbounds.service import AsyncClient
    >>> async def ask():
    ...     async with AsyncClient("http://127.0.0.1:9", agent="demo", patience=0.0) as client:
    ...         return await client.decide("under 60")
    >>> asyncio.run(ask())
    Traceback (most recent call last):
    meanbounds.service.client.ServiceError: http://127.0.0.1:9 does not answer: All connection attempts failed
    """

    def __init__(self, url: str, *, agent: str | None = None, token: str | None = None, patience: float = 30.0) -> None:
        super().__init__(agent, token, patience)
        self.url = url
        self._http = httpx.AsyncClient(base_url=url, headers=self._headers, timeout=10.0)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection."""
        await self._http.aclose()

    async def call(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request, again and again if need be, and return the answer; for what has no method of its own."""
        pauses, headers = self._pauses(), self._id(method, body)
        while True:
            try:
                return self._read(await self._http.request(method, path, json=body, headers=headers))
            except httpx.TransportError as error:
                failed = ServiceError(0, "unreachable", f"{self.url} does not answer: {error}")
            except ServiceError as error:
                if error.status != _TOO_MANY and error.status < _FAILED:
                    raise
                failed = error
            pause = next(pauses, None)
            if pause is None:
                raise failed from None
            await asyncio.sleep(pause)

    async def decide(
        self,
        context: Context = None,
        *,
        eligible: Sequence[Arm] | None = None,
        candidates: Sequence[Candidate] | None = None,
        request_id: str | None = None,
        agent: str | None = None,
    ) -> dict[str, Any]:
        """Ask for a decision; see `Client.decide`."""
        answer: dict[str, Any] = await self.call(*self._decide(context, eligible, candidates, request_id, agent))
        return answer

    async def reward(self, decision_id: str, reward: float, *, arm: Arm | None = None) -> dict[str, Any]:
        """Report the reward of a decision; see `Client.reward`."""
        body = {"decision_id": decision_id, "reward": reward} | ({} if arm is None else {"arm": arm})
        answer: dict[str, Any] = await self.call("POST", "/v1/rewards", body)
        return answer

    async def censor(self, decision_id: str) -> dict[str, Any]:
        """Say that the reward of a decision will never come."""
        answer: dict[str, Any] = await self.call("POST", f"/v1/decisions/{quote(decision_id, safe='')}/censor")
        return answer

    async def observe(
        self,
        context: Context,
        arm: Arm,
        reward: float,
        *,
        observation_id: str | None = None,
        agent: str | None = None,
    ) -> dict[str, Any]:
        """Report what an expert did; see `Client.observe`."""
        answer: dict[str, Any] = await self.call(*self._observe(context, arm, reward, observation_id, agent))
        return answer
