"""The contract over HTTP: what is asked, what is answered, who may, and what is refused."""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

import meanbounds as mb
from meanbounds.service import make_token, open_store, verify
from meanbounds.service.book import Book
from meanbounds.service.openapi import document
from meanbounds.service.server import open_socket
from meanbounds.service.tokens import Guard
from tests.service.made import BOUNDS, a_book, contextual, linear, running, state, until

DECISIONS = "/v1/agents/demo/decisions"


def ask(client: httpx.Client, name: str, context: Any = "c0", **more: Any) -> Any:
    answer = client.post(DECISIONS, json={"request_id": name, "context": context, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_decide_and_reward_from_end_to_end() -> None:
    book = a_book(contextual(mb.ThompsonSampling()))
    with running(book) as client:
        first = ask(client, "1")
        assert first.keys() == {"decision_id", "arm", "probability", "agent_version", "reason"}
        assert ask(client, "1") == first
        assert client.post(DECISIONS, json={"request_id": "1", "context": "c1"}).status_code == 409
        by_header = client.post(DECISIONS, json={"context": "c0"}, headers={"Idempotency-Key": "2"}).json()
        assert ask(client, "2") == by_header
        told = client.post("/v1/rewards", json={"decision_id": first["decision_id"], "reward": 1})
        assert told.json() == {
            "decision_id": first["decision_id"],
            "state": "rewarded",
            "repeated": False,
            "told": True,
        }
        seen = client.get(f"/v1/decisions/{first['decision_id']}").json()
        assert (seen["state"], seen["reward"], seen["context"]) == ("rewarded", 1.0, "c0")
        gone = client.post(f"/v1/decisions/{by_header['decision_id']}/censor")
        assert gone.json()["state"] == "censored"
        view = client.get("/v1/agents/demo/contexts/c0").json()
        assert sum(arm["plays"] for arm in view["arms"]) == 1
        assert view["arms"][0].keys() >= {"lower", "upper", "plays", "mean", "index", "contradictions"}
        assert view["arms"][0]["index"] is None  # Thompson sampling has none
        listed = client.get("/v1/agents/demo/contexts", params={"search": "C2", "limit": "5"}).json()
        assert listed == {"contexts": ["c2"], "total": 3}
        assert client.get("/health").status_code == client.get("/ready").status_code == 200
        assert client.get("/openapi.json").json() == json.loads(json.dumps(document()))


def test_batches_answer_one_by_one() -> None:
    with running(a_book()) as client:
        asked = [{"request_id": "1", "context": "c0"}, {"request_id": "2"}, {"request_id": "1", "context": "c0"}]
        results = client.post(f"{DECISIONS}/batch", json={"decisions": asked}).json()["results"]
        assert results[0] == results[2]
        assert results[1]["error"]["code"] == "invalid"
        own = results[0]["decision_id"]
        rewards = [{"decision_id": own, "reward": 1.0}, {"decision_id": own, "reward": 0.0}]
        first, second = client.post("/v1/rewards/batch", json={"rewards": rewards}).json()["results"]
        assert first["state"] == "rewarded"
        assert second["error"]["code"] == "conflict"
        seen = [{"observation_id": str(k), "context": "c0", "arm": "a", "reward": 0.5} for k in range(3)]
        many = client.post("/v1/agents/demo/observations/batch", json={"observations": seen}).json()["results"]
        assert [one["repeated"] for one in many] == [False] * 3
        one = client.post("/v1/agents/demo/observations", json=seen[0]).json()
        assert one == {"observation_id": "0", "repeated": True}
        named = {"Idempotency-Key": "all of them"}  # stands for one request, so not for those of a batch
        several = client.post(f"{DECISIONS}/batch", json={"decisions": [{"context": "c0"}] * 2}, headers=named)
        assert several.status_code == 422
        assert client.post(f"{DECISIONS}/batch", json={"decisions": asked}, headers=named).json()["results"] == results
        too_many = {"decisions": asked * 400}
        assert client.post(f"{DECISIONS}/batch", json=too_many).status_code == 422


def test_agents_are_changed_without_a_restart() -> None:
    book = a_book()
    with running(book) as client:
        agent = "/v1/agents/demo"
        assert client.put(f"{agent}/forced", json={"arm": "c"}).json()["forced"] == [[None, "c"]]
        assert ask(client, "1")["reason"] == "forced"
        assert client.delete(f"{agent}/forced").json()["forced"] == []
        client.put(f"{agent}/forced", json={"arm": "b", "context": "c1"})
        assert client.delete(f"{agent}/forced", params={"context": "c1"}).json()["forced"] == []
        assert client.post(f"{agent}/changes", json={"retire": "a"}).json() == {"agent": "demo", "version": 2}
        assert ask(client, "2")["agent_version"] == 2
        assert client.post(f"{agent}/rollback", json={"version": 1}).json()["version"] == 3
        assert client.get(agent).json()["versions"] == [1, 2, 3]
        settings = client.patch(f"{agent}/settings", json={"share": 0.0}).json()
        assert settings["share"] == 0.0
        assert ask(client, "3") | {"decision_id": ""} == {
            "decision_id": "",
            "arm": None,
            "probability": None,
            "agent_version": 3,
            "reason": "expert",
        }
        erased = client.delete(f"{agent}/contexts/c0").json()["context"]
        assert client.get(f"{agent}/contexts/{erased}").status_code == 200
        assert client.get(f"{agent}/contexts/c0").status_code == 404
        assert client.get("/v1/agents").json()["agents"][0]["contexts"] == 3


def test_decisions_expire_by_themselves() -> None:
    book = a_book(wait=0.2, default_reward=0.0)
    with running(book) as client:
        own = ask(client, "1")["decision_id"]
        until(lambda: client.get(f"/v1/decisions/{own}").json()["state"] == "expired")
        told = client.post("/v1/rewards", json={"decision_id": own, "reward": 1.0}).json()
        assert (told["state"], told["repeated"]) == ("rewarded", False)
        view = client.get("/v1/agents/demo/contexts/c0").json()
        assert [arm["mean"] for arm in view["arms"] if arm["plays"]] == [1.0]


def test_more_decisions_expire_than_one_look_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The service looks every second; with one look at a time, these would take forty."""
    monkeypatch.setattr("meanbounds.service.commands._SWEPT_AT_ONCE", 5)
    asked = [{"request_id": str(number), "context": "c0"} for number in range(200)]
    with running(a_book(wait=0.01)) as client:
        last = client.post(f"{DECISIONS}/batch", json={"decisions": asked}).json()["results"][-1]["decision_id"]
        until(lambda: client.get(f"/v1/decisions/{last}").json()["state"] == "expired")


def test_contexts_that_are_no_plain_text() -> None:
    names: list[Any] = ["a/b c", 7, ["old", 3], "7 "]
    with running(a_book()) as client:
        for number, name in enumerate(names):
            ask(client, str(number), name)
            text = name if isinstance(name, str) else json.dumps(name)
            path = httpx.URL("/").copy_with(raw_path=b"/").path + f"v1/agents/demo/contexts/{_quoted(text)}"
            assert client.get(path).json()["context"] == name


def _quoted(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode())


def test_candidates_over_http() -> None:
    with running(a_book(linear())) as client:
        new = [{"features": [0.9, 0.4], "name": "<script>alert(1)</script>"}]
        answer = ask(client, "1", None, eligible=["c"], candidates=new)
        assert answer["arm"] in ("c", new[0]["name"])
        page = client.get("/v1/agents/demo/arms")
        assert page.headers["content-type"] == "application/json"
        assert page.headers["x-content-type-options"] == "nosniff"


REFUSED: list[tuple[str, str, Any, int]] = [
    ("POST", DECISIONS, b"{", 400),
    ("POST", DECISIONS, b"\xff\xfe", 400),
    ("POST", DECISIONS, b'{"request_id": "x", "context": ' + b"[" * 100_000, 400),
    ("POST", DECISIONS, b'{"request_id": "x", "context": ' + b"[" * 50 + b"]" * 50 + b"}", 422),
    ("POST", DECISIONS, {"request_id": "x"}, 422),
    ("POST", DECISIONS, {"context": "c0"}, 422),
    ("POST", DECISIONS, {"request_id": "x", "context": "c0", "extra": 1}, 422),
    ("POST", DECISIONS, {"request_id": "", "context": "c0"}, 422),
    ("POST", DECISIONS, {"request_id": "a\u0000b", "context": "c0"}, 422),
    ("POST", DECISIONS, {"request_id": "x" * 201, "context": "c0"}, 422),
    ("POST", DECISIONS, {"request_id": 7, "context": "c0"}, 422),
    ("POST", DECISIONS, {"request_id": "x", "context": True}, 422),
    ("POST", DECISIONS, {"request_id": "x", "context": {"a": 1}}, 422),
    ("POST", DECISIONS, {"request_id": "x", "context": "c0", "eligible": []}, 422),
    ("POST", DECISIONS, {"request_id": "x", "context": "c0", "eligible": ["zzz"]}, 422),
    ("POST", "/v1/agents/nobody/decisions", {"request_id": "x", "context": "c0"}, 404),
    ("POST", "/v1/rewards", {"decision_id": "2-aa", "reward": 1}, 404),
    ("POST", "/v1/rewards", {"decision_id": "2-aa", "reward": "1"}, 422),
    ("POST", "/v1/rewards", b'{"decision_id": "2-aa", "reward": NaN}', 400),
    ("POST", "/v1/rewards", b'{"decision_id": "2-aa", "reward": 1e999}', 422),
    ("POST", "/v1/agents/demo/rollback", {"version": 0}, 422),
    ("POST", "/v1/agents/demo/changes", {}, 422),
    ("POST", "/v1/agents/demo/changes", {"policy": {"policy": "__import__"}}, 422),
    ("PATCH", "/v1/agents/demo/settings", {"share": 2}, 422),
    ("PATCH", "/v1/agents/demo/settings", {"wait": 0}, 422),
    ("PUT", "/v1/agents/demo/forced", {"arm": "zzz"}, 422),
    ("GET", "/v1/agents/demo/contexts/zzz", None, 404),
    ("GET", "/v1/agents/demo/contexts?limit=-1", None, 422),
    ("GET", "/v1/agents/demo/arms", None, 404),
    ("GET", "/v1/decisions/zzz", None, 404),
    ("DELETE", "/v1/agents/demo/contexts/zzz", None, 404),
    ("GET", "/v1/agents/demo/../../etc/passwd", None, 404),
    ("GET", "/nothing", None, 404),
    ("PUT", "/v1/rewards", None, 405),
]


def test_what_cannot_be_is_refused_and_changes_nothing() -> None:
    book = a_book()
    before = state(book), book.position
    with running(book) as client:
        for method, path, body, status in REFUSED:
            content = body if isinstance(body, bytes | None) else json.dumps(body).encode()
            answer = client.request(method, path, content=content, headers={"Content-Type": "application/json"})
            assert answer.status_code == status, (method, path, body, answer.text)
            said = answer.json()["error"]
            assert said["message"]
            assert "Traceback" not in answer.text
        long = client.post(DECISIONS, content=b" " * 1_000_001, headers={"Content-Type": "application/json"})
        assert long.status_code == 413
        parts = (b" " * 100_000 for _ in range(11))
        assert client.post(DECISIONS, content=parts, headers={"Content-Type": "application/json"}).status_code == 413
        assert client.post(DECISIONS, content=b"{}").status_code == 415
        assert client.get("/v1/agents", headers={"Host": "evil.example"}).status_code == 403
        both = client.post(DECISIONS, json={"request_id": "a", "context": "c0"}, headers={"Idempotency-Key": "b"})
        assert both.status_code == 422
    assert (state(book), book.position) == before


def test_a_head_that_does_not_end_is_refused_before_all_of_it_is_kept() -> None:
    with running(a_book()) as client, socket.create_connection(("127.0.0.1", client.base_url.port or 80)) as own:
        own.settimeout(20.0)
        own.sendall(b"POST /v1/rewards HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 65_536)
        own.sendall(b"a" * 1_000)
        assert own.recv(100).startswith(b"HTTP/1.1 400")


def test_tokens_allow_what_they_say() -> None:
    book = a_book()
    decide, rewarding, admin, other = (
        make_token(book.store, [scope], agents=agents)
        for scope, agents in (("decide", None), ("reward", None), ("admin", None), ("reward", ["other"]))
    )
    with running(book) as client:

        def status(method: str, path: str, token: str | None, body: Any = None) -> int:
            headers = {} if token is None else {b"Authorization": f"Bearer {token}".encode()}
            return client.request(method, path, json=body, headers=headers).status_code

        asked = {"request_id": "1", "context": "c0"}
        assert status("POST", DECISIONS, None, asked) == 401
        assert status("POST", DECISIONS, "mb_x_y", asked) == 401
        assert status("POST", DECISIONS, decide[:-1], asked) == 401
        assert status("POST", DECISIONS, decide + "é", asked) == 401
        assert status("POST", DECISIONS, rewarding, asked) == 403
        answer = client.post(DECISIONS, json=asked, headers={"Authorization": f"Bearer {decide}"}).json()
        own = {"decision_id": answer["decision_id"], "reward": 1.0}
        assert status("POST", "/v1/rewards", decide, own) == 403
        assert status("POST", "/v1/rewards", other, own) == 404
        assert status("GET", f"/v1/decisions/{own['decision_id']}", other) == 404
        assert status("GET", "/v1/agents/demo", other) == 403
        assert status("POST", "/v1/rewards", rewarding, own) == 200
        assert status("PUT", "/v1/agents/demo/forced", rewarding, {"arm": "a"}) == 403
        assert status("PUT", "/v1/agents/demo/forced", admin, {"arm": "a"}) == 200
        assert status("GET", "/health", None) == 200
        kept = book.store.tokens()
        assert all(secret.split("_", 2)[2].encode() not in token.hash for secret in (decide, admin) for token in kept)
        for token in kept:
            book.store.revoke_token(token.id)
        until(lambda: status("PUT", "/v1/agents/demo/forced", admin, {"arm": "a"}) == 401)
    assert book.agents["demo"].inside("c0").plays.sum() == 1


def test_tokens_expire_and_scopes_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store("sqlite::memory:")
    with pytest.raises(ValueError, match="scopes are some of"):
        make_token(store, ["everything"])
    token, guard = make_token(store, ["decide"], days=1.0), Guard()
    guard.know(store.tokens())
    assert guard.admit(f"Bearer {token}", "decide").scopes == {"decide"}
    monkeypatch.setattr("meanbounds.service.tokens.time.time", lambda: 4e9)
    with pytest.raises(Exception, match="send a valid token"):
        guard.admit(f"Bearer {token}", "decide")


def test_each_token_has_its_own_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("meanbounds.service.tokens.time.monotonic", lambda: now[0])
    store, guard = open_store("sqlite::memory:"), Guard(rate=2.0)
    first, second = (f"Bearer {make_token(store, ['decide'])}" for _ in range(2))
    guard.know(store.tokens())
    for _ in range(12):
        guard.admit(first, "decide")
    with pytest.raises(Exception, match="more than 2 requests a second"):
        guard.admit(first, "decide")
    guard.admit(second, "decide")
    now[0] += 0.5
    guard.admit(first, "decide")


def test_others_are_not_served_without_tokens() -> None:
    store = open_store("sqlite::memory:")
    with pytest.raises(ValueError, match="the store has no tokens"):
        open_socket("0.0.0.0", 0, store)
    with pytest.raises(ValueError, match="the store has no tokens"):
        open_socket("::", 0, store)
    open_socket("127.0.0.1", 0, store).close()


def test_many_at_once_are_grouped_and_counted_once(tmp_path: Path) -> None:
    book = a_book(contextual(contexts=5), open_store(f"sqlite:{tmp_path / 'state.db'}"))
    with running(book) as client:
        url = str(client.base_url)
        answers: list[Any] = []

        def work(number: int) -> None:
            with httpx.Client(base_url=url, timeout=30.0) as own:
                for k in range(10):
                    made = ask(own, f"{number % 4}-{k}", f"c{k % 5}")  # two threads send each request
                    own.post("/v1/rewards", json={"decision_id": made["decision_id"], "reward": 1.0})
                    answers.append(made["decision_id"])

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60.0)
        assert len(answers) == 80
        assert len(set(answers)) == 40
        views = [client.get(f"/v1/agents/demo/contexts/c{k}").json() for k in range(5)]
        assert sum(arm["plays"] for view in views for arm in view["arms"]) == 40
        assert sum(arm["pending"] for view in views for arm in view["arms"]) == 0
    store = open_store(f"sqlite:{tmp_path / 'state.db'}")
    assert verify(store).holds
    again = Book(store)
    again.reload()
    assert again.position == 81
    store.close()


def test_an_agent_without_contexts() -> None:
    with running(a_book(mb.Agent(mb.GLUE(), BOUNDS, seed=7))) as client:
        assert ask(client, "1", None)["arm"] == "a"
        assert client.post(DECISIONS, json={"request_id": "2", "context": "c0"}).status_code == 422
        assert client.get("/v1/agents/demo/arms").json()["arms"][0]["pending"] == 1
        assert client.get("/v1/agents/demo/contexts").json() == {"contexts": [], "total": 0}
