"""A store in one process: commands and what they answer, changes and going back, erasing, starting again."""

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import meanbounds as mb
from meanbounds.service import limits
from meanbounds.service.commands import Change, Decide, DecideAnswer, DoneAnswer, Order, Reward
from meanbounds.service.refusals import RefusedError
from meanbounds.service.store import StoredAgent
from meanbounds.service.verify import verify

NAMES = ("surgery", "drug", mb.EXPERT)


def clinic(promise: mb.Promise | None = None) -> mb.Agent:
    """An agent for two clinics that may ask the experts."""
    known = {
        "north": mb.MeanBounds([0.6, 0.1, 0.2], [0.9, 0.8, 0.4], arms=NAMES),
        ("south", "old"): mb.MeanBounds([0.0, 0.0, 0.6], [1.0, 1.0, 0.7], arms=NAMES),
    }
    policy: mb.policies.Policy = mb.UCB()
    return mb.Agent(policy if promise is None else mb.policies.Guarded(mb.GLUE(), promise), known, seed=7)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[mb.Store]:
    with mb.Store.create(tmp_path / "clinic.db", "clinic", clinic()) as store:
        yield store


@pytest.fixture
def agent(store: mb.Store) -> StoredAgent:
    return store["clinic"]


def reopened(tmp_path: Path) -> dict[str, Any]:
    """The agent as another process makes it from the events."""
    with mb.Store(tmp_path / "clinic.db") as other:
        return other["clinic"].agent.to_dict()


def refused(status: int, call: Any, match: str) -> None:
    with pytest.raises(RefusedError, match=match) as caught:
        call()
    assert caught.value.status == status


def test_every_refusal_says_why_and_changes_nothing(store: mb.Store, agent: StoredAgent) -> None:
    agent.decide("1", "north", ["surgery"])
    agent.decide("2", "north", [mb.EXPERT])
    agent.reward("1", 1.0)
    agent.decide("west", "west")
    before = agent.agent.to_dict()
    refused(409, lambda: agent.reward("1", 0.0), "has had the reward 1; a reward and its outcomes cannot be changed")
    refused(409, lambda: agent.cancel("1"), "has had the reward 1")
    refused(409, lambda: agent.reward("1", 1.0, "drug"), "the decision was 'surgery', not 'drug'")
    refused(404, lambda: agent.reward("3", 1.0), "no decision has this id")
    refused(422, lambda: agent.reward("2", 1.0), "say as arm which option they chose")
    refused(422, lambda: agent.reward("2", 7.0, "drug"), "the reward 7.0 is not a number in its range")
    refused(422, lambda: agent.reward("2", 1.0, "drag"), "unknown arm 'drag', did you mean 'drug'")
    refused(409, lambda: agent.decide("1", "north"), "with other options")
    refused(422, lambda: agent.decide("4"), "clinic decides by context: say which")
    refused(422, lambda: agent.decide("4", "north", ["knife"]), "unknown arm 'knife'")
    refused(422, lambda: agent.decide("4", "north", []), "length >= 1")
    refused(422, lambda: agent.decide("4", "west", ["drug"]), "no eligible arm is left in context 'west'")
    refused(422, lambda: agent.decide("", "north"), "length >= 1")
    refused(422, lambda: agent.decide("4", "x" * 1_001), "length <= 1000")
    refused(422, lambda: agent.decide("4", tuple("x" * 17)), "length <= 16")
    refused(422, lambda: agent.change(share=0.5, floor=0.1), "change one thing at a time")
    refused(422, lambda: agent.change(share=1.5), "<= 1.0")
    refused(422, lambda: agent.change(policy={"policy": "Nonsense"}), "Nonsense")
    agent.change(floor=0.0, id="c")
    agent.change(floor=0.0, id="c")
    refused(409, lambda: agent.change(share=0.5, id="c"), "this id was given to another change")
    refused(422, lambda: agent.change(free=False), "Invalid enum value False|expected|Expected")
    refused(422, lambda: agent.change(add=mb.MeanBounds([0.0], [1.0], arms=["x" * 201])), "length <= 200")
    refused(422, lambda: store.add("long", mb.Agent(mb.UCB(), {"x" * 1_001: clinic().knowledge("north")})), "<= 1000")
    refused(422, lambda: agent.change(retire="knife"), "unknown arm 'knife'")
    refused(422, lambda: agent.change(restore="knife"), "unknown arm 'knife'")
    refused(404, lambda: agent.rollback(2), "2 is no version of clinic")
    refused(404, lambda: agent.erase("east"), "no context with this name")
    refused(404, lambda: store.ask("other", Decide("1")), "there is no agent 'other'")
    refused(409, lambda: store.add("clinic", clinic()), "there is an agent 'clinic' already")
    with pytest.raises(ValueError, match="letters, digits"):
        store.add("a/b", clinic())
    assert agent.agent.to_dict() == before


def test_a_new_context_asks_the_experts_until_options_are_allowed(agent: StoredAgent) -> None:
    first = agent.decide("1", "west")
    assert (first.arm, first.probability, first.reason) == (mb.EXPERT, 1.0, "support")
    refused(404, lambda: agent.change(forbid=["drug"], context="wets"), "unknown context 'wets', did you mean 'west'")
    refused(422, lambda: agent.decide("3", ("south", "old", "third")), "contexts of clinic are like 'north'")
    agent.change(forbid=["drug"], context="west")
    assert agent.decide("2", "west", ["surgery", "drug"]).arm == "surgery"


def test_a_share_of_the_decisions_goes_to_the_experts(agent: StoredAgent) -> None:
    agent.change(share=0.3)
    answers = [agent.decide(str(n), "north") for n in range(300)]
    asked = [answer for answer in answers if answer.reason == "share"]
    assert 0.6 < len(asked) / 300 < 0.8  # 0.7 on average; false once in 10,000 seeds
    assert all(answer.arm is mb.EXPERT and answer.probability >= 0.7 for answer in asked)
    assert agent.agent.pulls("north")[2] >= len(asked)
    agent.change(share=0.0)  # observe only
    assert {agent.decide(f"o{n}", "north").reason for n in range(20)} == {"share"}
    assert agent.decide("no experts", "north", ["surgery"]).arm == "surgery"


def test_forced_decisions_teach_but_do_not_count_for_the_agent(agent: StoredAgent) -> None:
    agent.change(force="drug", context="north")
    answer = agent.decide("1", "north")
    assert (answer.arm, answer.probability, answer.reason) == ("drug", 1.0, "forced")
    agent.reward("1", 1.0)
    refused(409, lambda: agent.decide("2", "north", ["surgery"]), "'drug' is forced here and not eligible")
    assert (agent.agent.pulls("north")[1], agent.agent.plays("north")[1]) == (0, 1)
    assert agent.decide("3", ("south", "old")).reason != "forced"
    agent.change(force=mb.EXPERT)
    assert agent.decide("4", ("south", "old")).reason == "forced"
    assert agent.decide("5", "north").arm == "drug"
    agent.change(free=True, context="north")
    assert agent.decide("6", "north").arm is mb.EXPERT
    agent.change(free=True)
    assert agent.decide("7", "north").reason != "forced"


def test_going_back_sets_what_was_and_keeps_what_was_seen(store: mb.Store, agent: StoredAgent, tmp_path: Path) -> None:
    first = agent.agent
    north = mb.MeanBounds([0.7, 0.1, 0.2], [0.8, 0.8, 0.4], arms=NAMES)
    versions = [
        agent.change(bounds=north, context="north", by="ada"),
        agent.change(policy=mb.GLUE(), by="ada"),
        agent.change(floor=0.05),
        agent.change(retire="drug"),
        agent.change(add=mb.MeanBounds([0.0], [1.0], arms=["new"])),
        agent.change(forbid=["surgery"], context="north"),
        agent.change(share=0.9),
        agent.change(force="new"),
    ]
    agent.decide("1", "north")
    agent.reward("1", 1.0)
    assert agent.agent.arms == (*NAMES, "new")
    assert agent.agent.retired == ("drug",)
    state = store.writer.states["clinic"]
    middle = agent.rollback(versions[2])
    now = agent.agent
    assert (now.policy, now.floor, now.retired, now.forbidden("north")) == (mb.GLUE(), 0.05, ("new",), ())
    assert now.knowledge("north").bounds.lower.tolist()[:3] == [0.7, 0.1, 0.2]
    assert (state.share, state.forced, state.version) == (1.0, {}, middle)
    agent.rollback(versions[-1])
    assert (state.share, state.forced, agent.agent.retired) == (0.9, {None: "new"}, ("drug",))
    agent.rollback(1)
    now = agent.agent
    assert (now.policy, now.retired) == (first.policy, ("new",))
    assert now.knowledge("north").bounds.upper.tolist()[:3] == first.knowledge("north").bounds.upper.tolist()
    assert now.plays("north").tolist() == [0, 0, 0, 1]
    assert verify(store.database) == []
    assert reopened(tmp_path) == now.to_dict()


def test_an_agent_from_a_newer_log_replaces_policy_and_knowledge(agent: StoredAgent) -> None:
    agent.decide("1", "north", ["surgery"])
    agent.reward("1", 1.0)
    bounds = mb.MeanBounds([0.1, 0.2, 0.3, 0.4], [0.6, 0.7, 0.8, 0.9], arms=["drug", "surgery", mb.EXPERT, "new"])
    newer = mb.Agent(mb.ThompsonSampling(), {"north": bounds, "east": mb.Knowledge(bounds, prior=mb.Prior(0.5, 4))})
    newer.forbid(["new"], "east")
    version = agent.change(agent=newer)
    now = agent.agent
    assert now.contexts == ("north", ("south", "old"), "east")
    assert now.knowledge("north").bounds.lower.tolist() == [0.2, 0.1, 0.3, 0.4]
    assert now.knowledge("east").prior is not None
    assert now.forbidden("east") == ("new",)
    assert now.plays("north").tolist() == [1, 0, 0, 0]
    assert agent.rollback(1) > version
    assert agent.agent.policy == mb.UCB()
    alone = mb.Agent(mb.UCB(), mb.MeanBounds([0.0] * 3, [1.0] * 3, arms=NAMES))
    refused(422, lambda: agent.change(agent=alone), "clinic decides by context: give an agent that does so, too")


def test_a_fault_of_ours_fails_one_command_and_no_other(
    store: mb.Store, agent: StoredAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Change.run

    def broken(self: Change, *arguments: Any) -> Any:
        if self.share == 0.123:
            raise ZeroDivisionError
        return run(self, *arguments)

    monkeypatch.setattr(Change, "run", broken)
    orders = [Order("clinic", Decide("1", "north")), Order("clinic", Change(share=0.123)), Order("none", Decide("2"))]
    first, second, third = store.run([*orders, Order("clinic", Decide("3", "north"))])[:3]
    assert isinstance(first, DecideAnswer)
    assert isinstance(second, RefusedError)
    assert (second.status, str(second)) == (500, "something went wrong here; the log of the service says what")
    assert isinstance(third, RefusedError)
    assert third.status == 404
    assert agent.agent.pulls("north").sum() == 2
    assert verify(store.database) == []


def test_several_agents_share_a_store(store: mb.Store, tmp_path: Path) -> None:
    features = [[1.0, 0.0], [0.0, 1.0]]
    linear = mb.LinearAgent(mb.ROFUL(), mb.MeanBounds([0.1, 0.1], [0.6, 0.7], arms=["a", "b"]), features, seed=3)
    store.add("films", linear)
    store.add("plain", mb.Agent(mb.ThompsonSampling(), mb.MeanBounds([0.1, 0.1], [0.6, 0.7]), seed=3))
    film = mb.Candidate("new film", [0.6, 0.8], upper=0.9)
    films = store["films"]
    for n in range(12):
        answer = films.decide(f"v{n}", eligible=["a", film] if n % 2 else None)
        films.reward(f"v{n}", 0.5)
        store["plain"].decide(str(n))
        store["plain"].reward(str(n), n % 2)
    assert answer.arm in ("a", film)
    refused(422, lambda: films.change(policy=mb.UCB()), "an agent for arms with features cannot change it")
    refused(422, lambda: films.decide("x", eligible=[mb.Candidate("x" * 201, [0.6, 0.8])]), "at most 200 characters")
    refused(422, lambda: films.decide("x", "north"), "films has no contexts: leave the context out")
    refused(422, lambda: films.observe("x", "a", 1.0), "has no experts to observe")
    films.change(retire="b")
    assert films.decide("last").arm == "a"
    assert list(store) == ["clinic", "films", "plain"]
    assert verify(store.database) == []
    with mb.Store(tmp_path / "clinic.db") as other:
        now = other["films"].agent
        assert isinstance(now, mb.LinearAgent)
        assert now.estimate == pytest.approx(films.agent.estimate)


def test_agents_are_saved_whole_now_and_then(
    store: mb.Store, agent: StoredAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SNAPSHOT", 10)
    for n in range(25):
        agent.decide(str(n), "north")
    (row,) = store.database.states()
    assert row.position == 20
    assert json.loads(row.body)["agent"]["used"]
    assert verify(store.database) == []


def test_what_rewards_contradict_is_told_once_and_counts(agent: StoredAgent) -> None:
    agent.change(bounds=mb.MeanBounds([0.9, 0.0, 0.0], [1.0, 1.0, 1.0], arms=NAMES), context="north")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for n in range(20):
            agent.decide(str(n), "north", ["surgery"])
            agent.reward(str(n), 0.0)
    (warning,) = caught
    assert "contradict its lower bound 0.9" in str(warning.message)
    assert agent.agent.plays("north")[0] == 20


def test_a_guard_in_a_store_counts_what_experts_did(tmp_path: Path) -> None:
    with (
        mb.Store.create(tmp_path / "g.db", "clinic", clinic(mb.Promise(margin=0.05))) as store,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        agent, south = store["clinic"], ("south", "old")
        for n in range(30):
            answer = agent.decide(str(n), south)
            agent.reward(str(n), 1.0, "drug" if answer.arm is mb.EXPERT else None)
        agent.observe("seen", "drug", 1.0, south)
        refused(409, lambda: agent.observe("seen", "drug", 0.0, south), "another observation")
        agent.observe("seen", "drug", 1.0, south)
        asked = sum(event.said.reason == "guard" for event in store.database.events(kinds=["decision"]))
        assert 20 < asked < 30
        assert agent.agent.observed(south)[0].tolist() == [0, asked + 1, 0]
        assert store.ask("clinic", Reward("0", reward=1.0, arm="drug")) == DoneAnswer("0", repeated=True)
