"""What people see of the agents in a store is what the agents themselves say."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import meanbounds as mb
from meanbounds.evidence import ContradictionWarning
from meanbounds.service.commands import Change, Erase, Observe, Order
from meanbounds.service.store import Store
from meanbounds.service.views import agent_view, context_view, contexts_view, event_view

NAMES: list[Any] = ["tPA", "<script>", mb.EXPERT]
KNOWN = mb.MeanBounds([0.5, 0.0, 0.6], [1.0, 0.4, 0.7], arms=NAMES)
CONTEXTS: list[Any] = ["north", ("old", "south"), "شمال"]


def an_agent(contexts: list[Any]) -> mb.Agent:
    guarded = mb.policies.Guarded(mb.OptimisticGittins(), mb.Promise(margin=0.1))
    return mb.Agent(guarded, dict.fromkeys(contexts, KNOWN), seed=3)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.create(tmp_path / "clinic.db", "clinic", an_agent(CONTEXTS)) as store:
        yield store


def visits(store: Store, count: int) -> None:
    rng, clinic = np.random.default_rng(1), store["clinic"]
    for number in range(count):
        asked = clinic.decide(str(number), "north").arm is mb.EXPERT
        clinic.reward(str(number), float(rng.random() < (0.65 if asked else 0.9)), "tPA" if asked else None)


def test_numbers_are_those_of_the_agent(store: Store) -> None:
    visits(store, 40)
    store["clinic"].change(share=0.75)
    agent = store["clinic"].agent
    assert isinstance(agent, mb.Agent)
    with store.reading() as states:
        whole, here = agent_view(states["clinic"]), context_view(states["clinic"], states["clinic"].ids["north"])
    assert (whole.contexts, whole.share, whole.alarms, here.context) == (3, 0.75, [], "north")
    assert whole.does.startswith("decides under a guard: on average at most 0.1 below the experts; experts make 25.0%")
    for k, (rewards, mean, lower, upper) in enumerate(here.earned):
        assert rewards == agent.plays("north")[k]
        assert mean == (pytest.approx(agent.means("north")[k]) if rewards else None)
        assert lower <= (mean or 0.5) <= upper
    assert whole.experts == here.earned[2]
    assert whole.earned[0] == here.earned[0][0] > 0
    np.testing.assert_allclose(here.probabilities, 0.75 * agent.probabilities("north") + [0.0, 0.0, 0.25])
    assert here.bounds == KNOWN.to_dict()
    assert here.budget == agent.budget("north")
    assert here.chosen == [here.earned[2][0], 0, 0]
    assert [bool(why) for why in here.out] == [False, True, False]  # its bounds exclude the second
    assert b"NaN" not in msgspec.json.encode([whole, here])


def test_alarms_say_where(store: Store) -> None:
    orders = [Order("clinic", Observe(str(number), "tPA", 0.0, ["old", "south"])) for number in range(40)]
    with pytest.warns(ContradictionWarning):
        store.run(orders)
    with store.reading() as states:
        state = states["clinic"]
        alarms, here = agent_view(state).alarms, context_view(state, state.ids["old", "south"])
    assert [where for where, _ in alarms] == [("old", "south")]
    assert "('old', 'south'), the experts do worse than the log says" in alarms[0][1]
    assert here.changed == "worse"


def test_an_agent_for_arms_with_features(store: Store) -> None:
    bounds = mb.MeanBounds([0.3, 0.2], [0.8, 0.7], arms=["a", "b"])
    store.add("films", mb.LinearAgent(mb.ROFUL(), bounds, [[1.0, 0.0], [0.0, 1.0]], seed=7))
    store["films"].change(force="b")
    with store.reading() as states:
        films, here = agent_view(states["films"]), context_view(states["films"], None)
    assert (films.contexts, films.experts, films.does, films.forced) == (None, None, "plays only b", [(None, "b")])
    assert (here.bounds["arms"], here.budget, here.changed) == (["a", "b"], None, None)


def test_events_have_the_names_of_contexts_until_they_are_erased(store: Store) -> None:
    visits(store, 1)
    store.ask("clinic", Change(forbid=["<script>"], context="شمال"), by="Ada")
    store.ask("clinic", Change(force="tPA"), by="Ada")
    events = list(store.database.events())
    with store.reading() as states:
        state = states["clinic"]
        force, forbid, create = (event_view(events[k], state) for k in (-1, -2, 0))
        assert [(force.said, force.context), forbid.by] == [([("forced", None, None, "tPA")], None), "Ada"]
        assert forbid.said == [("forbidden", "شمال", [], ["<script>"])]
        assert (create.kind, create.said) == ("create", None)  # an agent is large
        assert agent_view(state).does == "plays only tPA"
        decision, reward = event_view(events[-4], state), event_view(events[-3], state)
        assert (decision.context, decision.said.arm, reward.said.reward) == ("north", {"expert": True}, 1.0)
        assert contexts_view(state, "SOUTH", 0, 9) == (1, [("old", "south")])
        assert contexts_view(state, "", 1, 1) == (3, [("old", "south")])
    store.ask("clinic", Erase("شمال"))
    with store.reading() as states:
        assert event_view(events[-2], states["clinic"]).said[0][1] is None
        assert contexts_view(states["clinic"], "شمال", 0, 9) == (0, [])


def test_views_of_ten_thousand_contexts_are_quick(tmp_path: Path) -> None:
    with Store.create(tmp_path / "large.db", "large", an_agent([f"c{k}" for k in range(10_000)])) as store:
        state, seconds = store.writer.states["large"], []
        for _ in range(5):
            began = time.perf_counter()
            agent_view(state), context_view(state, state.ids["c77"]), contexts_view(state, "9", 0, 50)
            seconds.append(time.perf_counter() - began)
    assert min(seconds) < 0.1
