"""The service over HTTP: what is answered, who may ask, and what is refused."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

import meanbounds as mb
from meanbounds.service import limits
from meanbounds.service.access import SCOPES, make_token
from meanbounds.service.refusals import StoreError, Trouble
from meanbounds.service.routes import OPERATIONS
from meanbounds.service.store import Store
from tests.service.asking import Asker, running

BOUNDS = mb.MeanBounds([0.2, 0.3], [0.9, 0.8], arms=["a", "b"])
EXPERTS = mb.MeanBounds([0.0, 0.0], [1.0, 1.0], arms=["a", mb.EXPERT])
DECISIONS, REWARDS, FLAG = "/v1/agents/clinic/decisions", "/v1/agents/clinic/rewards", "/ofrep/v1/evaluate/flags/clinic"
JSON = (("host", "localhost"), ("content-type", "application/json"))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    clinic = mb.Agent(mb.GLUE(), {"north": BOUNDS, "south": BOUNDS, ("an", "area"): BOUNDS}, seed=7)
    with Store.create(tmp_path / "vault.db", "clinic", clinic) as made:
        made.add("ward9", mb.Agent(mb.ThompsonSampling(), EXPERTS, seed=7))
        yield made


@pytest.fixture
def token(store: Store) -> str:
    return make_token(store.database, SCOPES, name="ward")


@pytest.fixture
def ask(store: Store, token: str) -> Iterator[Asker]:
    """A service with a token that may do everything."""
    with running(store, log=False) as asker:
        asker.token = token
        yield asker


def test_from_a_decision_to_a_rollback(ask: Asker) -> None:
    first = ask("POST", DECISIONS, {"id": "1", "context": "north"})
    assert first.status == 200
    expected = {"id": "1", "arm": "a", "probability": 1.0, "reason": "policy", "version": 1}
    assert first.json == {**expected, "repeated": False}
    assert ask("POST", DECISIONS, {"id": "1", "context": "north"}).json == first.json | {"repeated": True}
    assert ask("POST", DECISIONS, {"id": "1", "context": "south"}).status == 409
    assert ask("POST", REWARDS, {"id": "1", "reward": 1}).json == {"id": "1", "repeated": False}
    events = ask("GET", f"{DECISIONS}/1").json
    assert [event["kind"] for event in events] == ["decision", "reward"]
    assert events[0]["context"] == "north"
    version = ask("POST", "/v1/agents/clinic/changes", {"force": "b", "context": "south"}).json["version"]
    assert ask("POST", DECISIONS, {"id": "2", "context": "south"}).json["reason"] == "forced"
    changes = ask("GET", "/v1/agents/clinic/changes").json
    assert [(change["version"], change["by"]) for change in changes][:1] == [(version, "ward")]
    assert ask("GET", f"/v1/agents/clinic/changes?before={version}&limit=5").json == changes[1:]
    assert ask("POST", "/v1/agents/clinic/rollback", {"to": 1}).status == 200
    assert ask("POST", DECISIONS, {"id": "3", "context": ["new", "ward"]}).json["reason"] == "policy"
    assert ask("GET", "/v1/agents/clinic/contexts?search=W&limit=1").json == [1, [["new", "ward"]]]
    assert ask("GET", '/v1/agents/clinic/context?name=["new","ward"]').json["context"] == ["new", "ward"]
    assert ask("POST", "/v1/agents/clinic/erase", {"context": ["new", "ward"]}).status == 200
    assert ask("GET", '/v1/agents/clinic/context?name=["new","ward"]').status == 404
    assert ask("GET", "/v1/agents/ward9/context").json["context"] is None
    assert [agent["agent"] for agent in ask("GET", "/v1/agents").json] == ["clinic", "ward9"]


def test_a_batch_has_refusals_in_their_places(ask: Asker) -> None:
    asked = [{"id": "1", "context": "north"}, {"id": "2"}, {"id": "1", "context": "north"}]
    answer = ask("POST", DECISIONS, asked)
    assert answer.status == 200
    assert [one.get("repeated", one.get("error", {}).get("code")) for one in answer.json] == [False, "invalid", True]
    many = [{"id": str(number), "context": "north"} for number in range(limits.BATCH + 1)]
    assert ask("POST", DECISIONS, many).status == 422
    assert len(ask("POST", DECISIONS, many[:-1]).json) == limits.BATCH
    assert ask("POST", DECISIONS, []).json == []


def test_what_is_not_ones_own_looks_as_what_is_not_there(store: Store, token: str) -> None:
    """`test_hostile` asks all operations without a token, with one for something else, and where none can be read."""
    other = make_token(store.database, SCOPES, agents=["other"])
    with running(store, log=False) as ask:
        assert ask("GET", "/v1/agents", token=None).headers["www-authenticate"] == "Bearer"
        assert ask("GET", "/v1/agents", token=f"{token}x").status == 401
        for one in OPERATIONS:
            if "{agent}" in one.path:
                path = one.path.replace("{id:path}", "1")
                there, absent = (ask(one.method, path.replace("{agent}", k), {}, other) for k in ("clinic", "nobody"))
                assert (there.status, there.text.replace("clinic", "nobody")) == (403, absent.text), one


def _fail(*_: Any) -> Any:
    raise StoreError("full", "no room for north in /tmp/vault.db")


REFUSED: list[tuple[Any, int]] = [
    (b"{", 400),
    (b"\xff", 400),
    (b'{"id": "x", "context": ' + b"[" * 100_000, 422),
    (b'{"id": "\\ud800", "context": "north"}', 400),
    (b"", 400),
    ({"context": "north"}, 422),
    ({"id": "", "context": "north"}, 422),
    ({"id": "x" * (limits.ID + 1), "context": "north"}, 422),
    ({"id": 7, "context": "north"}, 422),
    ({"id": "x", "context": {"a": 1}}, 422),
    ({"id": "x", "context": "x" * (limits.PART + 1)}, 422),
    ({"id": "x", "context": ["x"] * (limits.PARTS + 1)}, 422),
    ({"id": "x", "context": "north", "eligible": []}, 422),
    ({"id": "x", "context": "north", "eligible": ["zzz"]}, 422),
    ({"id": "x", "context": "north", "more": 1}, 422),
    ([[]], 422),
]


def test_malformed_requests_change_nothing(ask: Asker, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    before = store.database.last()
    monkeypatch.setattr(store, "reading", _fail)  # nor is an agent looked for that cannot be
    for name in ("a/b", "a%2Fb", "a%00b", "%F0%9F%A9%BA", "x" * 201, "", "a b"):
        assert ask("GET", f"/v1/agents/{name}/changes").status == 404, name
    monkeypatch.undo()
    for body, status in REFUSED:
        sent: dict[str, Any] = {"parts": [body]} if isinstance(body, bytes) else {"body": body}
        answer = ask("POST", DECISIONS, **sent)
        assert answer.status == status, (body, answer.text)
        assert answer.json["error"]["message"]
    for kind in ("text/plain", "application/jsonx", "application/x-www-form-urlencoded", ""):
        assert ask("POST", DECISIONS, {}, headers=[("content-type", kind)]).status == 415
    for query in ("limit=-1", "limit=1.5", "limit=1001", f"start={10**30}", "limit=x"):
        assert ask("GET", f"/v1/agents/clinic/contexts?{query}").status == 422, query
    assert ask("GET", "/v1/agents/clinic/context?name=%5B%5B").status == 404
    assert store.database.last() == before
    for kind in ("Application/JSON", "application/json; charset=utf-8", "application/json ;x=y"):
        assert ask("POST", DECISIONS, {"id": "x", "context": "north"}, headers=[("content-type", kind)]).status == 200


def test_bodies_are_short_and_whole(ask: Asker) -> None:
    half, rest = b'{"id":"x",...', b'"context":"north"}'
    assert ask("POST", DECISIONS, parts=[half, rest]).status == 200
    assert ask("POST", DECISIONS, parts=[half, b"gone"]).status == 400
    long = ask("POST", DECISIONS, parts=[b" " * 100_000 + b"..."] * 3)
    assert (long.status, long.headers["connection"]) == (413, "close")


def test_unknown_addresses_and_methods(ask: Asker) -> None:
    for method, path, status in (("GET", "/v2", 404), ("GET", "/v1/agents/", 404), ("PUT", "/v1/agents", 405)):
        answer = ask(method, path)
        assert (answer.status, answer.json["error"]["code"]) == (status, "unknown")
        assert answer.headers["x-content-type-options"] == "nosniff"
    head, whole = ask("HEAD", "/health"), ask("GET", "/health")
    assert (head.text, head.headers) == ("", whole.headers)
    twice = [*JSON, ("authorization", f"Bearer {ask.token}")]
    assert ask("POST", DECISIONS, {}, headers=twice).status == 401


@pytest.mark.parametrize("kind", ["busy", "full", "gone", "damaged", "failed"])
def test_a_store_that_fails_is_a_503_without_its_path(
    kind: Trouble, ask: Asker, store: Store, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: Any) -> Any:
        raise StoreError(kind, "/tmp/vault.db has north in it")

    monkeypatch.setattr(store, "run", fail)
    monkeypatch.setattr(store, "reading", fail)
    asked = {"id": "1", "context": "north"}
    for answer in (ask("POST", DECISIONS, asked), ask("POST", DECISIONS, [asked]), ask("GET", "/v1/agents")):
        assert (answer.status, answer.headers["retry-after"], answer.json["error"]["code"]) == (503, "1", kind)
        assert "vault" not in answer.text
    assert (ask("GET", "/health").status, ask("GET", "/ready").json["error"]["message"]) == (200, kind)
    names = dict[str, Any]()
    monkeypatch.setattr(store, "run", lambda orders: names[orders[0].command.context])
    monkeypatch.setattr(store, "reading", lambda: names["vault"])
    for answer in (ask("POST", DECISIONS, asked), ask("GET", "/v1/agents")):
        assert (answer.status, answer.json["error"]["code"]) == (500, "internal")
    said = capfd.readouterr().err
    assert "KeyError" in said
    assert "test_http.py" in said
    assert not any(name in said for name in ("vault.db", "vault'\\n", "north"))


def test_commands_that_wait_are_written_together(ask: Asker, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes, go_on, run = list[int](), threading.Event(), store.run

    def slow(orders: Any) -> Any:
        sizes.append(len(orders))
        assert go_on.wait(20)
        return run(orders)

    monkeypatch.setattr(store, "run", slow)
    monkeypatch.setattr(limits, "WAITING", 1_100)
    first = ask.later("POST", DECISIONS, {"id": "first", "context": "north"})
    while not sizes:
        pass
    batches = [[{"id": f"{part} {k}", "context": "north"} for k in range(500)] for part in range(2)]
    waiting = [ask.later("POST", DECISIONS, batch) for batch in batches]
    assert ask("GET", "/health").status == 200
    refused = ask("POST", DECISIONS, [*batches[0][:200]])
    assert (refused.status, refused.json["error"]["code"]) == (503, "waiting")
    go_on.set()
    assert first.result(20).status == 200
    assert [len(one.result(20).json) for one in waiting] == [500, 500]
    assert (sizes[0], max(sizes)) == (1, limits.GROUP)


def test_answers_and_new_contexts_are_limited(ask: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ANSWER", 300)
    answer = ask("GET", "/v1/agents")
    assert (answer.status, "ask for less" in answer.text) == (422, True)
    for number in range(limits.NEW_CONTEXTS // limits.BATCH):
        new = [{"id": f"{number} {k}", "context": f"{number} {k}"} for k in range(limits.BATCH)]
        ask("POST", DECISIONS, new)
    assert ask("POST", DECISIONS, {"id": "x", "context": "one more"}).status == 429
    assert ask("POST", DECISIONS, {"id": "x", "context": "north"}).status == 200


def test_views_show_what_the_token_may_see(store: Store) -> None:
    token, reader = make_token(store.database, SCOPES, agents=["clinic"]), make_token(store.database, ["read"])
    with running(store, log=False) as ask:
        ask("POST", DECISIONS, [{"id": "1", "context": "north"}, {"id": "2", "context": "south"}], token)
        ask("POST", REWARDS, {"id": "1", "reward": 1}, token)
        assert [agent["agent"] for agent in ask("GET", "/v1/agents", token=token).json] == ["clinic"]
        found = ask("GET", "/metrics", token=token)
        samples = {one.name: one for family in text_string_to_metric_families(found.text) for one in family.samples}
        assert {one.labels.get("agent") for one in samples.values()} == {"clinic"}
        values = [
            samples[f"meanbounds_{name}"].value
            for name in ("decisions_total", "rewards_total", "pending", "contexts", "alarms")
        ]
        assert values == [2.0, 1.0, 1.0, 3.0, 0.0]
        everything = ask("GET", "/metrics", token=reader).text
        assert 'meanbounds_requests_total{operation="GET /metrics",status="200"} 1.0' in everything
        assert 'meanbounds_rewards_total{agent="ward9"} 0.0' in everything


def test_lines_have_no_names(store: Store, token: str, capfd: pytest.CaptureFixture[str]) -> None:
    with running(store) as ask:
        ask("POST", DECISIONS, {"id": "visit 4711", "context": "new ward"}, token)
        ask("POST", f"/v1/agents/{token}/decisions", {"id": "visit 4711"}, token)
        ask("GET", f"{DECISIONS}/visit 4711", None, token)
        ask("GET", "/v1/agents/clinic/context?name=north", None, token)
        ask("GET", f"/{token}")
    said = capfd.readouterr().err
    lines = [json.loads(line) for line in said.splitlines()]
    assert [line["status"] for line in lines] == [200, 404, 200, 200, 404]
    assert lines[0].keys() == {"time", "event", "operation", "status", "milliseconds", "agent"}
    assert [line.get("agent") for line in lines] == ["clinic", None, "clinic", "clinic", None]
    assert not any(name in said for name in ("4711", "new ward", "north", "mb_", "vault"))


def test_flags(ask: Asker) -> None:
    asked = {"context": {"targetingKey": "x", "context": "north", "request_id": "1", "age": 7}}
    found = ask("POST", FLAG, asked)
    assert [found.json[name] for name in ("key", "value", "variant", "reason")] == ["clinic", "a", "a", "SPLIT"]
    assert ask("POST", FLAG, asked).json == found.json
    del asked["context"]["request_id"], asked["context"]["targetingKey"]
    assert ask("POST", FLAG, asked).json["metadata"]["id"] != ask("POST", FLAG, asked).json["metadata"]["id"]
    ask("POST", "/v1/agents/ward9/changes", {"force": {"expert": True}})
    expert = ask("POST", FLAG.replace("clinic", "ward9"), {}).json
    assert ("value" in expert, expert["variant"], expert["reason"]) == (False, "expert", "DEFAULT")
    for path, body, status, code in (
        (FLAG, {"context": {"context": {}}}, 400, "INVALID_CONTEXT"),
        (FLAG, {}, 400, "INVALID_CONTEXT"),
        (FLAG, [], 400, "INVALID_CONTEXT"),
        (FLAG.replace("clinic", "nobody"), asked, 404, "FLAG_NOT_FOUND"),
        (FLAG.removesuffix("/clinic"), asked, 400, "GENERAL"),
    ):
        answer = ask("POST", path, body)
        assert (answer.status, answer.json["errorCode"]) == (status, code), answer.text


def test_the_document_has_every_operation_and_limit(ask: Asker) -> None:
    answer = ask("GET", "/openapi.json")
    paths, schemas = answer.json["paths"], answer.json["components"]["schemas"]
    assert {(path, method.upper()) for path, own in paths.items() for method in own} == {
        (operation.path.replace(":path", ""), operation.method) for operation in OPERATIONS
    }
    assert schemas["Decide"]["properties"]["id"]["maxLength"] == limits.ID
    assert f'"maxItems": {limits.BATCH}' in json.dumps(paths[DECISIONS.replace("clinic", "{agent}")]["post"])
    for reference in {part.partition('"')[0] for part in answer.text.split('"#/components/schemas/')[1:]}:
        assert reference in schemas
