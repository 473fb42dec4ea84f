"""An agent with a tree in a store: raw columns find the context, and go no further."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import meanbounds as mb
from meanbounds.agents.tree import Split, Tree
from meanbounds.service import limits
from meanbounds.service.access import SCOPES, make_token
from meanbounds.service.database import connect
from meanbounds.service.refusals import RefusedError
from meanbounds.service.store import Store
from meanbounds.service.verify import verify
from tests.service.asking import Asker, running

CLINICS = Split("clinic", left=("north",), right=("east", "west"))
TREE = Tree((Split("age", 75.0, missing="right"), CLINICS, None, None, None))
YOUNG, OTHERS, OLD, _, ELSEWHERE = TREE.contexts
KNOWN = mb.MeanBounds([0.1, 0.2, 0.3], [0.9, 0.8, 0.9], arms=["a", "b", mb.EXPERT])
PATIENT = {"age": 62.125, "clinic": "north", "name": "Xaver Ypsilon"}
URL = "/v1/agents/clinic"


GUARDED = mb.policies.Guarded(mb.ThompsonSampling(), mb.Promise(margin=0.2), pooled=True)


def pooled(tree: Tree, policy: mb.policies.Policy | None = None) -> mb.Agent:
    return mb.Agent(policy or mb.OptimisticGittins(), dict.fromkeys(tree.contexts, KNOWN), seed=7, pool=True, tree=tree)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.create(tmp_path / "clinic.db", "clinic", pooled(TREE)) as made:
        made.add("plain", mb.Agent(mb.GLUE(), {"north": KNOWN}, seed=7))
        yield made


@pytest.fixture
def ask(store: Store) -> Iterator[Asker]:
    token = make_token(store.database, SCOPES)
    with running(store, log=False) as asker:
        asker.token = token
        yield asker


def test_columns_of_one_leaf_are_one_context(store: Store, capfd: pytest.CaptureFixture[str]) -> None:
    """A repeated request is known by its leaf, whatever else the columns say, and none of them is written down."""
    clinic = store["clinic"]
    first = clinic.decide("1", PATIENT)
    assert clinic.decide("1", {"age": np.int64(20), "clinic": "north"}).repeated
    assert clinic.decide("1", YOUNG).arm == first.arm
    with pytest.raises(RefusedError, match="another context"):
        clinic.decide("1", {**PATIENT, "age": float("nan")})
    clinic.reward("1", 0.5, None if first.arm is not mb.EXPERT else "a")
    clinic.observe("2", "b", 1.0, {**PATIENT, "clinic": "Ward Zulu 9"})
    clinic.observe("2", "b", 1.0, {**PATIENT, "clinic": "Ward Zulu 8"})
    assert (clinic.agent.tree, clinic.agent.contexts) == (TREE, TREE.contexts)
    assert clinic.agent.plays(YOUNG).sum() == 1
    assert clinic.agent.observed(ELSEWHERE)[0].tolist() == [0, 1, 0]
    assert clinic.agent.probabilities(PATIENT).tolist() == clinic.agent.probabilities(YOUNG).tolist()
    store.close()
    whole = b"".join(path.read_bytes() for path in Path(store.database.address).parent.glob("clinic.db*"))
    for word in ("Xaver", "Ypsilon", "62.125", "Zulu"):
        assert word.encode() not in whole
        assert word not in "".join(capfd.readouterr())


@pytest.mark.parametrize(
    ("columns", "status", "said"),
    [
        ({"age": 60}, 422, "the tree asks about 'clinic': give None (null in JSON) where it is not known"),
        ({"age": "sixty", "clinic": "north"}, 422, "age must be "),
        ({"age": [60], "clinic": "north"}, 422, "age must be "),
        ({"age": {"years": 60}, "clinic": "north"}, 422, "age must be "),
        ({"age": 60, "clinic": ["north"]}, 422, "clinic must be a text"),
        ({"age": 60, "clinic": {"north": 1}}, 422, "clinic must be a text"),
        ({"age": 10**400, "clinic": "north"}, 422, "age must be "),
        ({"age": "9" * 200_000, "clinic": "north"}, 422, "age must be "),
        ({"age": "1e999", "clinic": "north"}, 422, "age"),
        ({**PATIENT, "x" * (limits.PART + 1): 1}, 422, f"length <= {limits.PART}"),
        ({str(k): k for k in range(10_000)}, 422, f"length <= {limits.COLUMNS}"),
        ({**PATIENT, "age": float("nan")}, 400, "cannot be read"),
        ({**PATIENT, "age": float("-inf")}, 400, "cannot be read"),
    ],
)
def test_wrong_columns_are_refused(ask: Asker, columns: Any, status: int, said: str) -> None:
    for path in (f"{URL}/decisions", f"{URL}/leaf"):
        answer = ask("POST", path, {"context": columns} | ({"id": "1"} if "dec" in path else {}))
        assert answer.status == status
        assert said in answer.json["error"]["message"]
        assert len(answer.text) < 700
    assert ask("GET", URL).json["reasons"] == {}


def test_over_http(ask: Asker) -> None:
    view = ask("GET", URL).json
    assert (view["columns"], view["contexts"]) == (["age", "clinic"], 5)
    assert ask("GET", "/v1/agents/plain").json["columns"] is None
    assert ask("POST", f"{URL}/leaf", {"context": PATIENT}).json == {"context": YOUNG}
    assert ask("POST", f"{URL}/leaf", {"context": {"age": "80,5", "clinic": None}}).json == {"context": OLD}
    assert ask("POST", f"{URL}/decisions", {"id": "1", "context": PATIENT}).status == 200
    assert ask("GET", f"{URL}/decisions/1").json[0]["context"] == YOUNG
    batch = [{"id": "2", "context": {"age": 1, "clinic": name}} for name in ("north", "west", "nowhere", 7)]
    assert [one.get("id") for one in ask("POST", f"{URL}/decisions", batch).json] == ["2", None, None, None]
    for body, said in (
        ({"id": "3", "context": PATIENT}, "plain has no tree to take columns: give the name of a context"),
        ({"id": "3"}, "plain decides by context: say which"),
    ):
        assert said in ask("POST", "/v1/agents/plain/decisions", body).json["error"]["message"]
    gone = ask("POST", f"{URL}/erase", {"context": YOUNG})
    assert (gone.status, gone.json["error"]["code"]) == (409, "conflict")
    types = ask("GET", "/openapi.json").json["components"]["schemas"]
    columns = [one for one in types["Decide"]["properties"]["context"]["anyOf"] if one["type"] == "object"]
    assert [one["maxProperties"] for one in columns] == [limits.COLUMNS]


def test_openfeature_attributes_are_columns(ask: Asker) -> None:
    flag = "/ofrep/v1/evaluate/flags/clinic"
    some: list[dict[str, Any]] = [PATIENT, {"context": YOUNG}, {"context": PATIENT, "age": 99}]
    for number, given in enumerate(some):
        attributes = {**given, "targetingKey": "u", "request_id": str(number), "more": {"deep": [1]}}
        assert ask("POST", flag, {"context": attributes}).status == 200
        assert ask("GET", f"{URL}/decisions/{number}").json[0]["context"] == YOUNG
    wrong: list[dict[str, Any]] = [{"age": 60}, {"age": {"years": 60}, "clinic": "north"}]
    for attributes in wrong:
        answer = ask("POST", flag, {"context": attributes})
        assert (answer.status, answer.json["errorCode"]) == (400, "INVALID_CONTEXT")
    assert ask("POST", "/ofrep/v1/evaluate/flags/plain", {"context": {"age": 60, "context": "north"}}).status == 200


def test_another_tree_and_back(store: Store) -> None:
    """The tree is a setting like others; what was seen in old leaves stays there."""
    clinic, rng = store["clinic"], np.random.default_rng(1)

    def visits(prefix: str, count: int) -> None:
        for k in range(count):
            made = clinic.decide(f"{prefix}{k}", {"age": rng.integers(50, 90), "clinic": rng.choice(["north", "x"])})
            clinic.reward(f"{prefix}{k}", float(rng.random() < 0.6), "b" if made.arm is mb.EXPERT else None)

    visits("before", 40)
    seen, before = clinic.agent.plays(YOUNG), clinic.change(floor=0.01)
    other = Tree((Split("age", 80.0), None, None))
    changed = clinic.change(agent=mb.Agent(mb.UCB(), dict.fromkeys(other.contexts, KNOWN), seed=3, tree=other))
    assert (clinic.agent.tree, clinic.agent.pool, str(clinic.agent.policy)) == (other, False, str(mb.UCB()))
    assert clinic.agent.plays(YOUNG).tolist() == seen.tolist()
    assert set(TREE.contexts) < set(clinic.agent.contexts)
    visits("between", 20)
    assert clinic.agent.plays("age < 80").sum() > 0
    with store.reading() as states:
        assert states["clinic"].version == changed
    clinic.rollback(before)
    assert (clinic.agent.tree, clinic.agent.pool, clinic.agent.floor) == (TREE, True, 0.01)
    visits("after", 40)
    with Store(store.database.address) as again:  # from the events
        assert again["clinic"].agent.to_dict() == clinic.agent.to_dict()
        assert again["clinic"].agent.plays().sum() == 100


@pytest.mark.parametrize("policy", [mb.OptimisticGittins(), GUARDED])
def test_a_pooled_agent_is_the_same_after_every_start(policy: Any, store: Store, tmp_path: Path) -> None:
    """Fits are made again alike, and the probability of every decision is found again."""
    rng = np.random.default_rng(2)
    store["clinic"].change(agent=pooled(TREE, policy))
    for k in range(150):
        context: Any = {"age": rng.integers(50, 90), "clinic": rng.choice(["north", "east", "new"])}
        made = store["clinic"].decide(str(k), context)
        store["clinic"].reward(str(k), float(rng.random() < 0.7), "b" if made.arm is mb.EXPERT else None)
        if k == 90:
            store.writer.save()
    state = json.dumps(store["clinic"].agent.to_dict())
    with Store(store.database.address) as again:
        assert json.dumps(again["clinic"].agent.to_dict()) == state
    store.close()
    with closing(connect(tmp_path / "clinic.db")) as database:
        assert verify(database) == []
