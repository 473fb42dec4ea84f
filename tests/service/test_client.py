"""Clients repeat what was not answered; the log comes out as a table, and commands read it."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uvicorn

import meanbounds as mb
from meanbounds.cli import main
from meanbounds.service import AsyncClient, Client, Service, ServiceError, export, log_table, open_store, verify
from meanbounds.service.book import Book
from meanbounds.service.server import open_socket, prepare, warm_up
from tests.servers import postgres_cluster
from tests.service.made import a_book, contextual, linear, running


def test_a_client_decides_and_rewards() -> None:
    with running(a_book()) as http, Client(str(http.base_url), agent="demo") as client:
        answer = client.decide("c0", eligible=["b", "c"], request_id="1")
        assert client.decide("c0", eligible=["b", "c"], request_id="1") == answer
        assert client.decide("c0")["decision_id"] != answer["decision_id"]
        assert client.reward(answer["decision_id"], 1.0)["told"]
        assert client.observe("c1", "a", 0.5)["repeated"] is False
        assert client.censor(client.decide(("old", 3))["decision_id"])["state"] == "censored"
        with pytest.raises(ServiceError, match="counts once") as caught:
            client.reward(answer["decision_id"], 0.0)
        assert (caught.value.status, caught.value.code) == (409, "conflict")
        assert client.call("GET", "/v1/agents")["agents"][0]["agent"] == "demo"
        client.agent = None
        with pytest.raises(ValueError, match="which agent"):
            client.decide("c0")


def test_an_async_client_does_the_same() -> None:
    async def ask(url: str) -> list[Any]:
        async with AsyncClient(url, agent="demo") as client:
            answers = await asyncio.gather(*(client.decide("c0", request_id=str(k % 3)) for k in range(9)))
            await asyncio.gather(*(client.reward(one["decision_id"], 1.0) for one in answers))
            await client.observe("c1", "a", 0.5)
            await client.censor((await client.decide("c2"))["decision_id"])
            with pytest.raises(ServiceError, match="no agent"):
                await client.decide("c0", agent="nobody")
            return answers

    with running(a_book()) as http:
        answers = asyncio.run(ask(str(http.base_url)))
        assert len({one["decision_id"] for one in answers}) == 3


def test_candidates_of_a_client() -> None:
    book = a_book(linear())
    warm_up(book)  # as `serve` does: a client waits for ten seconds
    with running(book) as http, Client(str(http.base_url), agent="demo") as client:
        new = mb.Candidate([0.9, 0.4], name="new")
        assert client.decide(candidates=[new])["arm"] == "new"


class Flaky:
    """An application that answers 503 or hangs up before it answers as the service does."""

    def __init__(self, service: Service, failures: int) -> None:
        self.service, self.failures = service, failures

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and self.failures:
            self.failures -= 1
            if self.failures % 2:
                await send({"type": "http.response.start", "status": 502, "headers": []})
                await send({"type": "http.response.body", "body": b"bad gateway"})
                return

            async def swallow(_message: Any) -> None:
                raise ConnectionResetError

            await self.service(scope, receive, swallow)  # it counts, and the answer is lost
            return
        await self.service(scope, receive, send)


@contextmanager
def flaky(book: Book, failures: int) -> Iterator[Client]:
    """A client of a service that fails so often before it answers."""
    listening = open_socket("127.0.0.1", 0, book.store)
    config = uvicorn.Config(Flaky(Service(book), failures), log_level="critical", access_log=False, lifespan="on")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        with Client(f"http://127.0.0.1:{listening.getsockname()[1]}", agent="demo") as client:
            yield client
    finally:
        server.should_exit = True
        thread.join(30.0)
        listening.close()


def test_what_was_not_answered_is_sent_again_and_counts_once() -> None:
    book = a_book()
    with flaky(book, 4) as client:
        answer = client.decide("c0", request_id="once")
        assert client.reward(answer["decision_id"], 1.0)["state"] == "rewarded"
    assert book.position == 3


@pytest.mark.parametrize(
    ("path", "body"), [("changes", {"retire": "a"}), ("changes", {"floor": 0.02}), ("rollback", {"version": 1})]
)
def test_a_change_whose_answer_was_lost_is_made_once(path: str, body: dict[str, Any]) -> None:
    """Else the answer to a slow request, which a client repeats, would depend on how busy the machine is."""
    book = a_book()
    with flaky(book, 4) as client:
        assert client.call("POST", f"/v1/agents/demo/{path}", body) == {"agent": "demo", "version": 2}
    assert book.position == 2


def test_a_client_gives_up_when_its_patience_is_over() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        with Client(f"http://127.0.0.1:{nobody.getsockname()[1]}", agent="demo", patience=0.1) as client:
            with pytest.raises(ServiceError, match="does not answer") as caught:
                client.decide("c0")
            assert caught.value.code == "unreachable"


@pytest.fixture
def observed(tmp_path: Path) -> str:
    """A store with what experts did, what an agent decided, and a control."""
    address = f"sqlite:{tmp_path / 'state.db'}"
    book = a_book(contextual(mb.ThompsonSampling(), contexts=2), open_store(address), share=0.5)
    rng = np.random.default_rng(1)
    with running(book) as http, Client(str(http.base_url), agent="demo") as client:
        seen = [
            {
                "observation_id": str(k),
                "context": f"c{k % 2}",
                "arm": "abc"[rng.integers(3)],
                "reward": float(k % 3 == 0),
            }
            for k in range(60)
        ]
        client.call("POST", "/v1/agents/demo/observations/batch", {"observations": seen})
        for k in range(40):
            answer = client.decide(f"c{k % 2}", request_id=str(k))
            if k % 4:
                client.reward(answer["decision_id"], float(k % 2), arm=None if answer["arm"] else "b")
    return address


def test_the_log_as_a_table(observed: str, tmp_path: Path) -> None:
    store = open_store(observed)
    table = log_table(store).to_pandas()
    assert len(table) == 100
    agents = table[(table.source == "decision") & (table.reason == "policy")]
    assert ((agents.probability > 0.0) & (agents.probability <= 1.0)).all()
    assert (agents.share == 0.5).all()
    assert set(table.state) == {"rewarded", "pending"}
    assert table[table.state == "pending"].reward.isna().all()
    assert export(store, tmp_path / "log.parquet", rows="experts") == len(log_table(store, rows="experts"))
    control = table[(table.source == "observation") | ((table.reason == "expert") & (table.state == "rewarded"))]
    counts = mb.logs.read(tmp_path / "log.parquet", context="context", arm="arm", reward="reward")
    assert counts.rows == len(control)
    assert log_table(store, agent="nobody").num_rows == 0
    assert verify(store).holds
    store.close()


def test_decisions_with_known_propensities_give_bounds(observed: str, tmp_path: Path) -> None:
    store = open_store(observed)
    export(store, tmp_path / "log.parquet", rows="decisions")
    store.close()
    frame = log_table(open_store(observed), rows="decisions").to_pandas().dropna(subset=["reward"])
    counts = mb.logs.read(frame, context=["context", "probability"], arm="arm", reward="reward")
    assert counts.rows == len(frame)


def test_commands_read_the_store(observed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    columns = ["--context", "context", "--arm", "arm", "--reward", "reward"]
    assert main(["bounds", observed, *columns]) == 0
    assert "c0" in capsys.readouterr().out
    assert main(["bounds", f"{observed}#demo", *columns]) == 0
    assert main(["start", observed, *columns, "-o", str(tmp_path / "agent.json")]) == 0
    assert main(["explain", observed, *columns, "-o", str(tmp_path / "page.html")]) == 0
    capsys.readouterr()
    assert main(["verify", "--store", observed]) == 0
    assert "to the last bit" in capsys.readouterr().out
    assert main(["export", "--store", observed, "-o", str(tmp_path / "log.parquet")]) == 0
    assert "100 rows" in capsys.readouterr().out
    assert main(["export", "--store", observed, "--backup", str(tmp_path / "copy.db")]) == 0
    assert main(["verify", "--store", f"sqlite:{tmp_path / 'copy.db'}"]) == 0
    assert main(["verify", "--store", "sqlite:/nowhere/at/all.db"]) == 2
    assert "there is no store" in capsys.readouterr().err
    assert main(["export", "--store", observed]) == 2


def test_tokens_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = f"sqlite:{tmp_path / 'state.db'}"
    assert main(["token", "--store", store, "--scope", "decide", "reward", "--name", "ward 3", "--days", "90"]) == 0
    token = capsys.readouterr().out.strip()
    assert token.startswith("mb_")
    assert main(["token", "--store", store, "--list"]) == 0
    listed = capsys.readouterr().out
    assert "ward 3" in listed
    assert token.split("_", 2)[2] not in listed
    assert main(["token", "--store", store, "--revoke", token.split("_")[1]]) == 0
    for wrong in (["--revoke", "zzz"], [], ["--scope", "all"], ["--scope", "decide", "--days", "0"]):
        assert main(["token", "--store", store, *wrong]) == 2
    assert b"mb_" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--host", "0.0.0.0"], "no tokens"),
        (["--share", "1.5"], "between 0 and 1"),
        (["--observe", "--share", "0.5"], "not both"),
        (["--wait", "0"], "more than 0"),
        (["--name", "x"], "one agent"),
        (["--store", "state.db"], "a store is sqlite:FILE"),
        (["--default-reward", "0"], "give wait"),
        (["missing.json"], "No such file"),
    ],
)
def test_serve_says_what_is_wrong(
    options: list[str], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["serve", *options]) == 2
    assert why in capsys.readouterr().err


def test_serve_serves_what_is_in_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("meanbounds.service.server.serve", lambda _service, listening: listening.close())
    assert main(["serve", "--port", "0"]) == 0
    assert "this is a demo" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())
    contextual().save("stroke.json")
    assert main(["serve", "stroke.json", "--port", "0"]) == 0
    assert "serving stroke at http://127.0.0.1:" in capsys.readouterr().out
    assert main(["serve", "stroke.json", "--port", "0", "--wait", "5"]) == 0
    assert "settings are those of the store" in capsys.readouterr().err
    contextual(contexts=4).save("stroke.json")
    assert main(["serve", "stroke.json", "--port", "0"]) == 0
    assert "another file" in capsys.readouterr().err
    assert main(["serve", "stroke.json", "--name", "b c", "--port", "0"]) == 2
    Path("text.json").write_text("no JSON")
    assert main(["serve", "text.json", "--port", "0"]) == 2


def test_two_services_on_one_postgresql() -> None:
    """Requests to either; the sums are those of a single service, and a decision is known to both."""
    with postgres_cluster() as cluster, cluster.running():
        address = cluster.url
        first = a_book(contextual(mb.ThompsonSampling()), open_store(address))
        second, alone = prepare(open_store(address)), a_book(contextual(mb.ThompsonSampling()))
        with running(first) as one, running(second) as two, running(alone) as three:
            clients = [Client(str(http.base_url), agent="demo") for http in (one, two, three)]
            for k in range(30):
                made = [
                    clients[k % 2].decide(f"c{k % 3}", request_id=str(k)),
                    clients[2].decide(f"c{k % 3}", request_id=str(k)),
                ]
                assert made[0]["arm"] == made[1]["arm"]
                assert made[0]["probability"] == made[1]["probability"]
                assert clients[(k + 1) % 2].decide(f"c{k % 3}", request_id=str(k)) == made[0]
                clients[(k // 2) % 2].reward(made[0]["decision_id"], float(k % 2))
                clients[2].reward(made[1]["decision_id"], float(k % 2))
            views = [client.call("GET", "/v1/agents/demo/contexts/c1")["arms"] for client in clients]
            assert views[0] == views[1] == views[2]
            erased = clients[0].call("DELETE", "/v1/agents/demo/contexts/c1")["context"]
            assert clients[1].call("GET", f"/v1/agents/demo/contexts/{erased}")["arms"] == views[0]
            for client in clients:
                client.close()
        store = open_store(address)
        assert verify(store).holds
        store.close()
