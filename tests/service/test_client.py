"""A client repeats what was not answered, and everything counts once."""

import socket
import time
from collections.abc import Iterator

import numpy as np
import pytest

import meanbounds as mb
from meanbounds.agents.tree import Split, Tree
from meanbounds.service.access import make_token
from meanbounds.service.client import Client, ServiceError
from tests.service.test_serving import served

FLAKY = """
import socket, sys
import meanbounds as mb
from meanbounds.service import serving
from meanbounds.service.app import make_app

app, requests = make_app(mb.Store(sys.argv[1])), 0

async def flaky(scope, receive, send):
    global requests
    requests += scope["type"] == "http"
    async def swallow(message):
        await send({**message, "status": 502, "headers": []} if "status" in message else {**message, "body": b"bad"})
    if scope.get("path") in ("/408", "/429"):
        start = {"type": "http.response.start", "status": int(scope["path"][1:])}
        await send({**start, "headers": [(b"retry-after", b"1")]})
        await send({"type": "http.response.body", "body": b'{"error": {"code": "slowly", "message": "later"}}'})
    else:
        await app(scope, receive, send if scope["type"] != "http" or requests % 3 == 0 else swallow)

with socket.create_server(("127.0.0.1", 0)) as listening:
    serving.run(flaky, listening, f"http://127.0.0.1:{listening.getsockname()[1]} ")
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[mb.Store]:
    bounds = mb.MeanBounds([0.1, 0.2, 0.3], [0.9, 0.8, 0.5], arms=["a", "b", mb.EXPERT])
    agent = mb.Agent(mb.UCB(), {"north": bounds, ("south", "old"): bounds}, seed=1)
    with mb.Store.create(tmp_path_factory.mktemp("client") / "clinic.db", "clinic", agent) as store:
        linear = mb.LinearAgent(mb.OFUL(), mb.MeanBounds([0.0], [1.0], arms=["a"]), [[1.0, 0.0]], seed=1)
        store.add("linear", linear)
        tree = Tree((Split("age", 75.0, missing="right"), None, None))
        store.add("tree", mb.Agent(mb.UCB(), dict.fromkeys(tree.contexts, bounds), seed=1, tree=tree))
        yield store


@pytest.fixture(scope="module")
def token(store: mb.Store) -> str:
    return make_token(store.database, ["decide", "reward", "observe", "admin"])


@pytest.fixture(scope="module")
def client(store: mb.Store, token: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A client of a service that carries out each request, and loses two of three answers."""
    with served(FLAKY, store.database.address, errors=tmp_path_factory.mktemp("log") / "log") as (_, port, _):
        client = Client(f"http://127.0.0.1:{port}", agent="clinic", token=token)
        yield client
        client.__exit__()


def test_what_was_not_answered_is_sent_again_and_counts_once(client: Client, store: mb.Store) -> None:
    before = store["clinic"].agent.plays().sum()
    first, second = client.decide("north", eligible=["a"]), client.decide(("south", "old"))
    assert (first.arm, first.repeated) == ("a", True)
    assert client.reward(first.id, 1.0).repeated
    assert client.cancel(second.id).repeated
    assert store["clinic"].agent.plays().sum() == before + 1
    client.observe("b", 0.5, "north")
    versions = [client.call("POST", "/v1/agents/clinic/changes", {"floor": 0.01})["version"] for _ in range(2)]
    assert versions[1] == versions[0] + 1
    with store.reading() as states:
        assert states["clinic"].version == versions[1]


def test_units_and_outcomes_are_sent(client: Client) -> None:
    first, again = (client.decide("north", ["a"], unit="user-17") for _ in range(2))
    assert (first.id, first.arm, first.repeated) == (again.id, "a", True)
    with pytest.raises(ServiceError, match="unknown guardrail 'pain'"):
        client.reward(first.id, 1.0, outcomes={"pain": 0.0})
    with pytest.raises(ServiceError, match="unknown guardrail 'pain'"):
        client.observe("a", 1.0, "north", outcomes={"pain": 0.0})
    assert client.reward(first.id, 1.0).repeated


def test_arms_come_back_as_they_are_in_python(client: Client, token: str) -> None:
    asked = client.decide("north", eligible=[mb.EXPERT])
    assert asked.arm is mb.EXPERT
    client.reward(asked.id, 1.0, arm="b")
    with Client(client.url, "linear", token) as other:
        new = mb.Candidate("new", (0.9, 0.4))
        assert other.decide(eligible=[new]).arm == new


def test_a_refusal_is_not_repeated(client: Client) -> None:
    answer = client.decide("north", id="x")
    client.reward("x", 0.0, arm="a" if answer.arm is mb.EXPERT else None)
    with pytest.raises(ServiceError, match="cannot be changed") as caught:
        client.reward("x", 1.0, arm="a" if answer.arm is mb.EXPERT else None)
    assert (caught.value.status, caught.value.code) == (409, "conflict")
    with pytest.raises(ValueError, match="which agent"):
        Client(client.url).decide()


@pytest.mark.parametrize(("status", "patience", "least", "most"), [(429, 0.5, 0.0, 0.5), (408, 1.9, 1.0, 1.9)])
def test_a_client_waits_as_it_is_told_to(
    client: Client, status: int, patience: float, least: float, most: float
) -> None:
    before = time.monotonic()
    with Client(client.url, patience=patience) as other, pytest.raises(ServiceError, match="later") as caught:
        other.call("GET", f"/{status}")
    assert (caught.value.status, caught.value.code) == (status, "slowly")
    assert least <= time.monotonic() - before <= most


def test_a_client_says_that_nobody_answers() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        with Client(url, "clinic", patience=0.1) as other, pytest.raises(ServiceError, match="answer") as caught:
            other.decide()
        assert (caught.value.status, caught.value.code) == (0, "unreachable")


def test_columns_of_a_row_of_numpy_are_sent(client: Client, token: str, store: mb.Store) -> None:
    with Client(client.url, agent="tree", token=token) as own:
        for age, leaf in ((np.int64(60), "age < 75"), (np.float32(80.0), "age >= 75 (or missing)"), (np.nan, None)):
            given = {"age": age, "clinic": np.str_("north"), "weight": float("nan")}
            own.reward(own.decide(given).id, None)
            own.observe("a", 1.0, given, id=f"seen {age}")
            assert store["tree"].agent.observed(leaf or "age >= 75 (or missing)")[0].sum() == 1 + (leaf is None)
