"""What a service tells of itself: history, metrics, logs, and flags for OpenFeature."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import meanbounds as mb
from meanbounds.service import Client, make_token
from meanbounds.service.commands import Erase, Force
from meanbounds.service.history import LINES, MARKS, History, Line, Sums, value_limits
from meanbounds.service.server import warm_up
from meanbounds.service.standing import trusts, trusts_after
from tests.servers import find_module
from tests.service.made import BOUNDS, a_book, contextual, decide, one, play, reloaded, reward, running


def test_history_follows_from_the_log() -> None:
    book = a_book()
    play(book, 60)
    told = one(book, Force("demo", "b", None))
    assert told.forced
    decide(book, "forced")
    mine = book.agents["demo"].history
    assert mine.saved() == reloaded(book).agents["demo"].history.saved()
    again = History.from_saved(json.loads(json.dumps(mine.saved())), lambda name: name)
    assert again.saved() == mine.saved()
    assert mine.sums(None).agent == sum(mine.sums(f"c{k}").agent for k in range(5)) > 20
    assert mine.sums(None).expert == sum(mine.sums(f"c{k}").expert for k in range(5)) > 5
    line = mine.line("c1")
    assert line is not None
    assert sum(got[1] for got in line.arms.values()) == mine.sums("c1").agent


def test_forced_arms_count_for_nobody() -> None:
    book = a_book()
    one(book, Force("demo", "b", None))
    reward(book, decide(book, "1").decision_id, 1.0)
    history = book.agents["demo"].history
    assert history.sums("c0") == Sums()
    line = history.line("c0")
    assert line is not None
    assert line.arms == {"b": [1, 1, 1.0]}


def test_an_erased_context_is_gone_from_the_history() -> None:
    book = a_book()
    play(book, 20)
    book.save_snapshot()
    erased = one(book, Erase("demo", "c1"))
    again = reloaded(book).agents["demo"].history
    assert again.line("c1") is None
    assert again.line(erased.context) is not None
    assert '"c1"' not in json.dumps(again.saved())


def test_a_line_stays_short() -> None:
    line = Line()
    for number in range(10_000):
        line.note(float(number), "a", 0.0, None)
    line.count()
    assert MARKS / 2 <= len(line.marks) <= MARKS
    times = np.array([mark[0] for mark in line.marks])
    assert len(set(np.diff(times))) == 1  # evenly thinned
    assert all(mark[1]["a"][0] == mark[0] + 1 for mark in line.marks)


def test_only_the_newest_contexts_have_lines() -> None:
    history = History()
    for number in range(2 * LINES):
        history.decided(float(number), f"c{number}", "a")
    assert history.line("c0") is None
    assert history.line(f"c{2 * LINES - 1}") is not None
    assert history.line(None) is not None


@pytest.mark.slow
def test_value_limits_hold_while_means_drift() -> None:
    """400 runs of rewards whose means follow what came before: within limits at all times but for an error of 0.2."""
    rng, missed, rounds = np.random.default_rng(11), 0, 400
    for _ in range(400):
        total, values, bad = 0.0, 0.0, False
        for count in range(1, rounds + 1):
            mean = 0.9 if total > values else 0.1
            values += mean
            total += float(rng.random() < mean)
            lower, upper = value_limits(count, total, 0.0, 1.0, 0.2)
            bad = bad or not lower - 1e-12 <= values / count <= upper + 1e-12
        missed += bad
    assert missed <= 100  # 400 * 0.2 = 80 may miss on average; more than 100 has a probability of 0.6%


def test_trust_is_bayes_rule() -> None:
    known = mb.Knowledge(mb.MeanBounds([0.2, 0.3], [0.5, 0.9]), trust=[0.9, 1.0])
    agent = mb.Agent(mb.BKLUCB(), known, seed=7)
    for value in (1.0, 1.0, 0.0, 1.0, 1.0):
        agent.update(0, value)
    grid = (np.arange(200_000) + 0.5) / 200_000
    density = grid**4 * (1.0 - grid)
    inside = density[(grid > 0.2) & (grid < 0.5)].sum() / ((grid > 0.2) & (grid < 0.5)).sum()
    odds = 9.0 * inside / density.mean()
    assert trusts(agent) == pytest.approx([odds / (1.0 + odds), 1.0], rel=1e-6)
    assert trusts_after(agent, [0, 0], [0.0, 0.0]) == pytest.approx([0.9, 1.0])


def test_trust_of_an_assumption_is_shared() -> None:
    known = mb.Knowledge(mb.MeanBounds([0.7, 0.2], [0.9, 0.6]), trust=0.9, assumption="optimal expert")
    agent = mb.Agent(mb.GLUE(), known, seed=7)
    for _ in range(8):
        agent.update(1, 1.0)
    odds = 9.0 / np.exp(agent.assumptions()["optimal expert"])
    assert trusts(agent) == pytest.approx([odds / (1.0 + odds)] * 2)


def test_metrics_are_what_prometheus_reads() -> None:
    parser = find_module("prometheus_client.parser", "prometheus-client")
    book = a_book(mb.ContextualAgent(mb.GLUE(), {'quote " \\ \n': BOUNDS, "c0": BOUNDS}, seed=7))
    with running(book) as client:
        decided = client.post("/v1/agents/demo/decisions", json={"request_id": "1", "context": "c0"}).json()
        client.post("/v1/rewards", json={"decision_id": decided["decision_id"], "reward": 0.5})
        assert client.post("/v1/agents/demo/decisions", json={"request_id": "1", "context": "c9"}).status_code == 409
        answer = client.get("/metrics")
        assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
        found = {family.name: family for family in parser.text_string_to_metric_families(answer.text)}
    value = {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in found.values()
        for sample in family.samples
    }
    where = "POST /v1/agents/{key}/decisions"
    assert value["meanbounds_requests_total", ("operation", where), ("status", "200")] == 1.0
    assert value["meanbounds_requests_total", ("operation", where), ("status", "409")] == 1.0
    assert value["meanbounds_request_seconds_count", ("operation", where)] == 2.0
    assert value["meanbounds_decisions_total", ("agent", "demo"), ("arm", decided["arm"])] == 1.0
    assert value["meanbounds_rewards_total", ("agent", "demo"), ("by", "agent")] == 1.0
    assert value["meanbounds_reward_sum", ("agent", "demo"), ("by", "agent")] == 0.5
    assert value[("meanbounds_store_problem",)] == 0.0
    assert value[("meanbounds_log_position",)] == 3.0
    assert found["meanbounds_request_seconds"].type == "histogram"


def test_metrics_need_a_token_once_there_is_one() -> None:
    book = a_book()
    token = make_token(book.store, ["decide"])
    with running(book) as client:
        assert client.get("/metrics").status_code == 401
        assert client.get("/metrics", headers={"Authorization": f"Bearer {token}"}).status_code == 200
    with running(a_book()) as client:
        assert client.get("/metrics", headers={"Host": "elsewhere.example"}).status_code == 403


def test_each_request_is_a_line_with_an_id(capfd: pytest.CaptureFixture[str]) -> None:
    book = a_book()
    token = make_token(book.store, ["decide"])
    with running(book, log_requests=True) as client:
        headers = {"Authorization": f"Bearer {token}", "X-Request-ID": "visit-4711"}
        asked = {"request_id": "1", "context": "c0"}
        answer = client.post("/v1/agents/demo/decisions", json=asked, headers=headers)
        assert answer.headers["x-request-id"] == "visit-4711"
        odd = client.get("/v1/agents", headers={**headers, "X-Request-ID": "x" * 200})
        assert len(odd.headers["x-request-id"]) == 16
    text = capfd.readouterr().err
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    requests = [line for line in lines if line["kind"] == "request"]
    assert [line["status"] for line in requests] == [200, 200]
    assert requests[0].keys() == {"time", "kind", "id", "operation", "status", "milliseconds", "agent"}
    assert (requests[0]["id"], requests[0]["agent"]) == ("visit-4711", "demo")
    assert token not in text


def test_alarms_are_lines_too(capfd: pytest.CaptureFixture[str]) -> None:
    book = a_book(contextual(contexts=1))
    for number in range(40):
        decided = decide(book, str(number), eligible=["c"])
        reward(book, decided.decision_id, 1.0)
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    assert [line["kind"] for line in lines] == ["alarm"]
    assert "contradict its upper bound 0.7" in lines[0]["message"]
    assert lines[0]["agent"] == "demo"
    assert book.warned == 1
    assert [agent for agent, _ in book.alarms] == ["demo"]


def test_openfeature_gets_a_decision_and_its_reward_counts_once() -> None:
    find_module("openfeature.contrib.provider.ofrep", "openfeature-provider-ofrep")
    from openfeature import api
    from openfeature.contrib.provider.ofrep import OFREPProvider
    from openfeature.evaluation_context import EvaluationContext

    book = a_book(contextual(mb.ThompsonSampling()))
    warm_up(book)  # the SDK waits for five seconds
    token = make_token(book.store, ["decide", "reward"])
    held = {"Authorization": f"Bearer {token}"}
    with running(book) as client:
        api.set_provider_and_wait(OFREPProvider(str(client.base_url), headers_factory=lambda: held), "stroke")
        flags = api.get_client("stroke")
        where = EvaluationContext("patient 7", {"context": "c0", "age": 59})
        details = flags.get_string_details("demo", "none", where)
        assert details.error_code is None
        assert details.value == details.variant in ("a", "b", "c")
        assert details.reason == "SPLIT"
        assert 0.0 < float(details.flag_metadata["probability"]) <= 1.0
        told = {"decision_id": details.flag_metadata["decision_id"], "reward": 1}
        answers = [client.post("/v1/rewards", json=told, headers=held).json() for _ in range(2)]
        assert [answer["repeated"] for answer in answers] == [False, True]
        assert book.agents["demo"].history.sums("c0").agent == 1
        unknown = flags.get_string_details("nobody", "none", where)
        assert (unknown.value, unknown.error_code) == ("none", "FLAG_NOT_FOUND")
        lost = flags.get_string_details("demo", "none", EvaluationContext("patient 7"))
        assert (lost.value, lost.error_code) == ("none", "INVALID_CONTEXT")
        assert "decides by context" in str(lost.error_message)
        decided = {flags.get_string_details("demo", "", where).flag_metadata["decision_id"] for _ in range(3)}
        assert len(decided) == 3  # each evaluation is a decision
        again = EvaluationContext("patient 7", {"context": "c0", "request_id": "visit 4711"})
        same = {flags.get_string_details("demo", "", again).flag_metadata["decision_id"] for _ in range(3)}
        assert len(same) == 1
        api.shutdown()


def test_openfeature_uses_its_default_where_the_expert_decides() -> None:
    find_module("openfeature.contrib.provider.ofrep", "openfeature-provider-ofrep")
    from openfeature import api
    from openfeature.contrib.provider.ofrep import OFREPProvider

    book = a_book(mb.Agent(mb.GLUE(), mb.MeanBounds([0.2, 0.1], [0.9, 0.5], arms=["a", "b"]), seed=7), share=0.0)
    with running(book) as client:
        api.set_provider_and_wait(OFREPProvider(str(client.base_url)), "observed")
        details = api.get_client("observed").get_string_details("demo", "what the doctor says")
        assert (details.value, details.variant, details.reason) == ("what the doctor says", "expert", "DEFAULT")
        api.shutdown()


def test_flags_by_hand() -> None:
    book = a_book()
    with running(book) as client:
        flag = "/ofrep/v1/evaluate/flags/demo"
        context: dict[str, Any] = {"targetingKey": "x", "context": "c0"}
        found = client.post(flag, json={"context": context}).json()
        assert found.keys() == {"key", "reason", "variant", "metadata", "value"}
        assert client.post(flag, json={"context": context}).json()["metadata"] != found["metadata"]
        own = {"context": {**context, "request_id": "visit 1"}}
        first = client.post(flag, json=own).json()
        assert client.post(flag, json=own, headers={"Idempotency-Key": "visit 1"}).json() == first
        both = client.post(flag, json=own, headers={"Idempotency-Key": "visit 2"})
        assert (both.status_code, both.json()["errorCode"]) == (400, "INVALID_CONTEXT")
        with Client(str(client.base_url), agent="demo") as caller:
            assert caller.call("POST", flag, own) == first
        bulk = client.post("/ofrep/v1/evaluate/flags", json={"context": context})
        assert bulk.status_code == 400
        assert bulk.json()["errorCode"] == "GENERAL"
        assert "one at a time" in bulk.json()["errorDetails"]
        for body in ({"context": {**context, "eligible": "a"}}, {"context": {**context, "context": {"age": 59}}}):
            refused = client.post(flag, json=body)
            assert (refused.status_code, refused.json()["errorCode"]) == (400, "INVALID_CONTEXT")
        torn = client.post(flag, content=b"{", headers={"Content-Type": "application/json"})
        assert torn.json()["errorCode"] == "PARSE_ERROR"
        assert client.post(flag, json={}).status_code == 400  # agents with contexts need one
        client.put("/v1/agents/demo/forced", json={"arm": "b"})
        assert client.post(flag, json={"context": context}).json()["reason"] == "STATIC"


def test_a_token_may_come_as_an_api_key() -> None:
    book = a_book()
    token = make_token(book.store, ["decide"])
    with running(book, rate=0.001) as client:
        flag = "/ofrep/v1/evaluate/flags/demo"
        body = {"context": {"context": "c0"}}
        assert client.post(flag, json=body).status_code == 401
        assert client.post(flag, json=body, headers={"X-API-Key": token}).status_code == 200
        slower = client.post(flag, json=body, headers={"X-API-Key": token})
        assert slower.status_code == 429
        assert slower.headers["retry-after"] == "1"
