"""The state follows from the log, to the last bit; a reward counts once; a refusal changes nothing."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import meanbounds as mb
from meanbounds.agents.arms import ArmsLearner
from meanbounds.agents.features import FeaturesLearner
from meanbounds.service import StoreError, open_store, verify
from meanbounds.service.book import Book
from meanbounds.service.commands import (
    Censor,
    Change,
    Configure,
    Create,
    Decide,
    Erase,
    Force,
    LookAtDecision,
    Observe,
    Reward,
    RollBack,
    Sweep,
)
from meanbounds.service.errors import RefusalError
from meanbounds.service.events import DECIDED, EXPIRED, Decided, Event, Settings, decode, encode
from meanbounds.service.schema import AddArm, CandidateIn, ChangeIn, DecisionIn, ObservationIn, SettingsIn
from meanbounds.service.served import exchange
from meanbounds.service.writer import carry_out
from tests.service.made import (
    BOUNDS,
    a_book,
    agents,
    contextual,
    decide,
    linear,
    one,
    play,
    reloaded,
    reward,
    state,
)

POLICIES = [mb.GLUE(), mb.OptimisticGittins(), mb.ThompsonSampling(), mb.OSSB(), mb.IDS()]


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_a_replay_gives_the_same_state_with_and_without_a_snapshot(policy: mb.Policy) -> None:
    book = a_book(contextual(policy, floor=0.05))
    play(book, 30)
    assert state(reloaded(book)) == state(book)
    book.save_snapshot()
    play(book, 10, seed=2, first=100)
    again = reloaded(book)
    assert state(again) == state(book)
    assert again.differences == 0
    verdict = verify(book.store)
    assert verdict.holds, verdict.differences
    assert verdict.events["decided"] > 60


@pytest.mark.parametrize("ages", [{"expires": "2027-01-31"}, {"half_life": 3, "trust": 0.9}], ids=str)
def test_bounds_that_age_do_so_at_the_time_of_the_event(ages: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Repeated, a decision is as old as it was: whether a date is past is asked of the log, not of the clock."""
    day = datetime(2027, 1, 31, tzinfo=UTC).timestamp()
    now = [day - 1.0]
    monkeypatch.setattr("meanbounds.service.book.time.time", lambda: now[0])
    agent = mb.Agent(mb.ThompsonSampling(), mb.Knowledge(BOUNDS, **ages), seed=4)
    book = a_book(agent)
    for number, late in enumerate([-1.0] * 10 + [0.0] * 10 + [-0.5] * 3):  # the clock of another process may lag
        now[0] = day + late
        answer = decide(book, str(number), None)
        reward(book, answer.decision_id, float(number % 2))
        if number == 12:
            book.save_snapshot()
    chances = [decode(event).probability for event in book.store.read() if event.kind == DECIDED]
    if "expires" in ages:
        alone = [mb.Agent(mb.ThompsonSampling(), own, seed=4) for own in (BOUNDS, mb.Knowledge(BOUNDS, trust=0.0))]
        assert chances[0] == alone[0].decide()[1]
    assert reloaded(book).differences == 0
    verdict = verify(book.store)
    assert verdict.holds, verdict.differences


def test_a_service_decides_as_the_library_does() -> None:
    """The same agent, told the same in the same order, outside of a service."""
    book, alone = a_book(contextual(mb.ThompsonSampling())), contextual(mb.ThompsonSampling())
    for number in range(40):
        context = f"c{number % 3}"
        answer = decide(book, str(number), context)
        arm, probability = alone.decide(context)
        assert (answer.arm, answer.probability) == (arm, probability)
        if number % 4:
            reward(book, answer.decision_id, number % 2)
            alone.update(context, arm, float(number % 2))
    assert book.agents["demo"].agent.to_dict() == alone.to_dict()


def test_the_same_request_gives_the_same_answer_and_another_one_is_a_conflict() -> None:
    book = a_book()
    first = decide(book, "r")
    before = state(book), book.position
    assert decide(book, "r") == first
    with pytest.raises(RefusalError, match="used for another request") as caught:
        decide(book, "r", "c1")
    assert caught.value.status == 409
    assert (state(book), book.position) == before
    both = carry_out(
        book, Decide("demo", "new", DecisionIn(context="c0")), Decide("demo", "new", DecisionIn(context="c0"))
    )
    assert both[0] == both[1]
    assert book.position == before[1] + 1


def test_a_reward_counts_once() -> None:
    book = a_book()
    answer = decide(book, "r")
    assert reward(book, answer.decision_id, 1.0).repeated is False
    before = state(book)
    assert reward(book, answer.decision_id, 1.0).repeated is True
    with pytest.raises(RefusalError, match="counts once"):
        reward(book, answer.decision_id, 0.0)
    with pytest.raises(RefusalError, match="only a pending one"):
        one(book, Censor(answer.decision_id, None))
    assert state(book) == before
    assert book.agents["demo"].inside("c0").plays.sum() == 1


@pytest.mark.parametrize("wrong", ["", "2", "2-", "2-00", "zz-1", "-1-x", "2-é", "0x2-1", " 2-1"])
def test_ids_that_were_not_given_out_are_refused(wrong: str) -> None:
    book = a_book()
    decide(book, "r")
    with pytest.raises(RefusalError, match="no decision with this id"):
        reward(book, wrong, 1.0)


def test_an_id_of_another_store_or_another_agent_is_refused() -> None:
    book, other = a_book(), a_book()
    own = decide(book, "r").decision_id
    decide(other, "r")
    with pytest.raises(RefusalError, match="no decision with this id"):
        reward(other, own, 1.0)
    (answer,) = carry_out(book, Reward(own, frozenset({"somebody"}), 1.0))
    assert answer.status == 404


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan")])
def test_a_reward_out_of_range_changes_nothing(value: float) -> None:
    book = a_book()
    answer = decide(book, "r")
    before = state(book), book.position
    with pytest.raises(RefusalError, match="not a number in its range"):
        reward(book, answer.decision_id, value)
    assert (state(book), book.position) == before


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        (DecisionIn(), 422),
        (DecisionIn(context="c0", eligible=["a", "nothing"]), 422),
        (DecisionIn(context=[None]), 422),
        (DecisionIn(context="c0", candidates=[CandidateIn([1.0], "x")]), 422),
    ],
)
def test_refused_decisions_change_nothing(asked: DecisionIn, status: int) -> None:
    book = a_book()
    before = state(book), book.position
    (answer,) = carry_out(book, Decide("demo", "r", asked))
    assert isinstance(answer, RefusalError)
    assert answer.status == status
    assert (state(book), book.position) == before


def test_unknown_contexts_follow_the_agent() -> None:
    book = a_book()
    assert decide(book, "r", ["new", 3]).arm in ("a", "b", "c")
    agent = book.agents["demo"].agent
    assert isinstance(agent, mb.ContextualAgent)
    assert ("new", 3) in agent
    strict = a_book(mb.ContextualAgent(mb.GLUE(), {"c0": BOUNDS}, seed=7))
    with pytest.raises(RefusalError, match="did you mean 'c0'"):
        decide(strict, "r", "c00")
    assert state(reloaded(book)) == state(book)


def test_expired_without_a_default_then_rewarded(monkeypatch: pytest.MonkeyPatch) -> None:
    book = a_book(wait=10.0)
    now = [1000.0]
    monkeypatch.setattr("meanbounds.service.book.time.time", lambda: now[0])
    first, second = decide(book, "1"), decide(book, "2")
    now[0] += 5.0
    assert one(book, Sweep()) is False
    assert one(book, LookAtDecision(first.decision_id, None)).state == "pending"
    reward(book, second.decision_id, 1.0)
    now[0] += 6.0
    one(book, Sweep())
    assert one(book, LookAtDecision(first.decision_id, None)).state == "expired"
    inside = book.agents["demo"].inside("c0")
    assert (inside.pending.sum(), inside.plays.sum()) == (0, 1)
    assert reward(book, first.decision_id, 0.5).repeated is False
    assert (inside.pending.sum(), inside.plays.sum()) == (0, 2)
    assert state(reloaded(book)) == state(book)
    assert verify(book.store).holds


def test_a_real_reward_takes_the_place_of_the_default_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the exchange, the sums are those of an agent that was told the real reward at once."""
    agent = contextual(mb.ThompsonSampling())
    book, twin = a_book(agent, wait=1.0, default_reward=0.0), contextual(mb.ThompsonSampling())
    now = [1000.0]
    monkeypatch.setattr("meanbounds.service.book.time.time", lambda: now[0])
    decisions = [decide(book, str(k)) for k in range(6)]
    now[0] += 2.0
    one(book, Sweep())
    for k, answer in enumerate(decisions):
        twin.update("c0", answer.arm, 0.25 * (k % 5), history=True)
        assert reward(book, answer.decision_id, 0.25 * (k % 5)).repeated is False
        assert reward(book, answer.decision_id, 0.25 * (k % 5)).repeated is True
    learner, other = book.agents["demo"].inside("c0").inside, twin["c0"].inside
    assert isinstance(learner, ArmsLearner)
    assert isinstance(other, ArmsLearner)
    assert learner.table.tolist() == other.table.tolist()
    assert state(reloaded(book)) == state(book)
    with pytest.raises(RefusalError, match="counts once"):
        reward(book, decisions[0].decision_id, 1.0)


def test_an_exchange_moves_the_evidence_against_an_assumption() -> None:
    def agent() -> mb.Agent:
        return mb.Agent(mb.GLUE(), mb.Knowledge(BOUNDS, trust=0.9, assumption="experts are right"), seed=7)

    first, second = agent(), agent()
    for k in range(20):
        first.update("a", 0.0)
        second.update("a", 1.0 if k == 3 else 0.0)
    assert isinstance(first.inside, ArmsLearner)
    exchange(first.inside, "a", 0.0, 1.0, 3)
    assert first.plays.tolist() == second.plays.tolist()
    assert first.means.tolist()[0] == second.means.tolist()[0]
    assert first.assumptions()["experts are right"] == pytest.approx(
        second.assumptions()["experts are right"], abs=1e-9
    )


def test_censored_decisions_wait_no_more() -> None:
    book = a_book()
    answer = decide(book, "r")
    assert one(book, Censor(answer.decision_id, None)).state == "censored"
    assert one(book, Censor(answer.decision_id, None)).repeated is True
    assert book.agents["demo"].inside("c0").pending.sum() == 0
    with pytest.raises(RefusalError, match="was censored"):
        reward(book, answer.decision_id, 1.0)
    assert state(reloaded(book)) == state(book)


def test_candidates_are_decided_and_rewarded() -> None:
    book = a_book(linear())
    new = [CandidateIn([0.9, 0.4], "new"), CandidateIn([0.1, 0.2], 7)]
    for number in range(12):
        answer = decide(book, str(number), None, eligible=["b"], candidates=new)
        reward(book, answer.decision_id, 1.0 if answer.arm == "new" else 0.0)
    assert answer.arm == "new"
    assert state(reloaded(book)) == state(book)
    assert verify(book.store).holds
    with pytest.raises(RefusalError, match="name that no other"):
        decide(book, "x", None, candidates=[CandidateIn([0.9, 0.4], "a")])


@pytest.mark.parametrize("trust", [1.0, 0.9])
def test_default_rewards_of_an_agent_with_features(trust: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the exchange, the estimate is that of an agent that was told the real rewards at once."""
    book, twin, now = a_book(linear(trust), wait=1.0, default_reward=0.25), linear(trust), [1000.0]
    monkeypatch.setattr("meanbounds.service.book.time.time", lambda: now[0])
    new = [CandidateIn([0.9, 0.4], "new"), CandidateIn([0.8, 0.5], "low", low=0.5, high=1.0)]
    given: list[dict[str, Any]] = [{}, {"candidates": new}, {"eligible": ["b"]}, {"candidates": new[1:]}] * 3
    decisions = [decide(book, str(number), None, **asked) for number, asked in enumerate(given)]
    now[0] += 2.0
    one(book, Sweep())
    told = [decode(event).reward for event in book.store.read() if event.kind == EXPIRED]
    assert [value is None for value in told] == [answer.arm == "low" for answer in decisions]  # 0.25 is not its range
    assert None in told
    for number, answer in enumerate(decisions):
        value = 0.5 + 0.25 * (number % 3)
        named = [one for one in new if one.name == answer.arm]
        arm = mb.Candidate(**msgspec.to_builtins(named[0])) if named else answer.arm
        twin.update(arm, value, history=True)
        assert reward(book, answer.decision_id, value).repeated is False
        assert reward(book, answer.decision_id, value).repeated is True
    learner, other = book.agents["demo"].inside(None), twin
    assert {answer.arm for answer in decisions} >= {"b", "low"}
    assert learner.plays.tolist() == other.plays.tolist()
    np.testing.assert_allclose(learner.means, other.means, rtol=1e-12)
    np.testing.assert_allclose(learner.estimate, other.estimate, rtol=1e-9)
    for mine, its in zip(_bare_estimates(learner), _bare_estimates(other), strict=True):
        np.testing.assert_allclose(mine, its, rtol=1e-9)
    assert len(_bare_estimates(learner)) == (trust < 1.0)
    assert learner.pending.sum() == 0
    assert state(reloaded(book)) == state(book)
    assert verify(book.store).holds


def _bare_estimates(agent: mb.Agent) -> list[Any]:
    """What an agent estimates without bounds that may be wrong, if it doubts."""
    learner = agent.inside
    assert isinstance(learner, FeaturesLearner)
    bare = learner.standing.bare
    return [] if bare is None else [bare.design.estimate]


def test_decisions_of_an_arm_that_a_rollback_took_away_expire(monkeypatch: pytest.MonkeyPatch) -> None:
    book, now = a_book(), [1000.0]
    monkeypatch.setattr("meanbounds.service.book.time.time", lambda: now[0])
    one(book, Change("demo", ChangeIn(add=AddArm("new", lower=0.9, upper=1.0))))
    first, second = (decide(book, name, eligible=["new"]) for name in ("1", "2"))
    one(book, RollBack("demo", 1))
    assert one(book, Censor(first.decision_id, None)).state == "censored"
    one(book, Configure("demo", SettingsIn(wait=1.0, default_reward=0.5)))
    now[0] += 2.0
    one(book, Sweep())
    assert one(book, LookAtDecision(second.decision_id, None)).state == "expired"
    assert state(reloaded(book)) == state(book)
    assert verify(book.store).holds


def test_an_arm_is_forced_at_once_and_set_free() -> None:
    book = a_book()
    one(book, Force("demo", "c", None))
    one(book, Force("demo", "b", "c1"))
    answers = [decide(book, f"{k}", f"c{k}") for k in range(3)]
    assert [(answer.arm, answer.probability, answer.reason) for answer in answers] == [
        ("c", 1.0, "forced"),
        ("b", 1.0, "forced"),
        ("c", 1.0, "forced"),
    ]
    with pytest.raises(RefusalError, match="is forced, and it is not among"):
        decide(book, "x", "c0", eligible=["a"])
    reward(book, answers[0].decision_id, 1.0)
    one(book, Force("demo", None, None))
    assert decide(book, "later", "c0").reason == "policy"
    assert decide(book, "later 1", "c1").reason == "forced"
    for arm, context, why in (("nothing", None, "no arm"), ("nothing", "c0", "unknown arm"), ("a", "c99", "no bounds")):
        with pytest.raises(RefusalError, match=why):
            one(book, Force("demo", arm, context))
    assert state(reloaded(book)) == state(book)
    assert verify(book.store).holds


def test_a_share_of_the_traffic_is_the_agents() -> None:
    book = a_book(share=0.3)
    answers = [decide(book, str(k)) for k in range(400)]
    handed = sum(answer.arm is not None for answer in answers)
    assert 80 <= handed <= 160  # binomial (400, 0.3): outside with probability 1e-5, and the seed is fixed
    expert = next(answer for answer in answers if answer.arm is None)
    assert (expert.reason, expert.probability) == ("expert", None)
    with pytest.raises(RefusalError, match="give arm"):
        reward(book, expert.decision_id, 1.0)
    before, got = agents(book), book.agents["demo"].history.sums("c0").expert
    assert reward(book, expert.decision_id, 1.0, "b").told is False
    assert agents(book) == before
    assert book.agents["demo"].history.sums("c0").expert == got + 1
    assert reward(book, expert.decision_id, 1.0, "b").repeated is True
    with pytest.raises(RefusalError, match="counts once"):
        reward(book, expert.decision_id, 1.0, "c")
    assert verify(book.store).holds


def test_observations_are_recorded_once_and_agents_are_not_told() -> None:
    book = a_book(share=0.0)
    before = agents(book)
    seen = ObservationIn("b", 1.0, context="c1")
    assert one(book, Observe("demo", "o", seen)).repeated is False
    assert one(book, Observe("demo", "o", seen)).repeated is True
    with pytest.raises(RefusalError, match="another observation"):
        one(book, Observe("demo", "o", ObservationIn("c", 1.0, context="c1")))
    with pytest.raises(RefusalError, match="not a number in its range"):
        one(book, Observe("demo", "p", ObservationIn("b", 1.5, context="c1")))
    assert agents(book) == before
    assert book.agents["demo"].history.sums("c1").expert == 1
    assert book.position == 2


CHANGES = [
    ChangeIn(bounds=mb.MeanBounds([0.1, 0.1, 0.1], [0.5, 0.5, 0.9], arms=["a", "b", "c"]).to_dict()),
    ChangeIn(bounds=mb.MeanBounds([0.1, 0.1, 0.1], [0.5, 0.5, 0.9], arms=["a", "b", "c"]).to_dict(), context="c1"),
    ChangeIn(add=AddArm("new", upper=0.95)),
    ChangeIn(add=AddArm("new", upper=0.95), context="c1"),
    ChangeIn(retire="a"),
    ChangeIn(policy=mb.BIMED().to_dict()),
    ChangeIn(floor=0.1),
    ChangeIn(agent=contextual(mb.ThompsonSampling()).to_dict()),
]


@pytest.mark.parametrize("asked", CHANGES, ids=[str(k) for k in range(len(CHANGES))])
def test_changes_make_versions_and_can_be_rolled_back(asked: ChangeIn) -> None:
    book = a_book()
    play(book, 10)
    waiting = decide(book, "before the change")
    assert one(book, Change("demo", asked)).version == 2
    play(book, 10, seed=3, first=50)
    reward(book, waiting.decision_id, 1.0)
    changed = book.agents["demo"].agent
    assert isinstance(changed, mb.ContextualAgent)
    before = changed.plays()
    assert one(book, RollBack("demo", 1)).version == 3
    again = book.agents["demo"].agent
    assert isinstance(again, mb.ContextualAgent)
    assert again.policy == mb.GLUE()
    assert again["c1"].bounds.arms == ("a", "b", "c")
    if asked.agent is None:
        assert again.plays().sum() == before[:3].sum()
    assert (again.pending() >= 0).all()
    play(book, 5, seed=4, first=90)
    assert state(reloaded(book)) == state(book)
    verdict = verify(book.store)
    assert verdict.holds, verdict.differences
    with pytest.raises(RefusalError, match="the versions are 1, 2, 3"):
        one(book, RollBack("demo", 9))


def test_a_change_with_an_id_is_made_once() -> None:
    book = a_book()
    first = one(book, Change("demo", ChangeIn(retire="a"), "mine"))
    second = one(book, Change("demo", ChangeIn(retire="b"), "another"))
    assert (first.version, second.version) == (2, 3)
    for again in (book, reloaded(book)):
        assert one(again, Change("demo", ChangeIn(retire="a"), "mine")) == first
        for other in (Change("demo", ChangeIn(retire="c"), "mine"), RollBack("demo", 1, "mine")):
            with pytest.raises(RefusalError, match="give each change its own") as caught:
                one(again, other)
            assert caught.value.status == 409
    assert one(book, RollBack("demo", 1, "back")) == one(book, RollBack("demo", 1, "back"))
    assert one(book, RollBack("demo", 1)).version == 5
    assert verify(book.store).holds


@pytest.mark.parametrize(
    "asked",
    [
        ChangeIn(),
        ChangeIn(retire="a", restore="b"),
        ChangeIn(retire="nothing"),
        ChangeIn(bounds={"lower": [1.0]}),
        ChangeIn(policy={"policy": "os.system"}),
        ChangeIn(agent={"format": 2}),
        ChangeIn(agent=linear().to_dict()),
        ChangeIn(add=AddArm("x", features=[1.0])),
    ],
)
def test_refused_changes_change_nothing(asked: ChangeIn) -> None:
    book = a_book()
    before = state(book), book.position
    with pytest.raises(RefusalError):
        one(book, Change("demo", asked))
    assert (state(book), book.position) == before


def test_rewards_for_arms_that_are_gone_are_recorded() -> None:
    book = a_book()
    answer = decide(book, "r")
    other = mb.ContextualAgent(mb.GLUE(), {"c0": mb.MeanBounds([0.1, 0.2], [0.5, 0.6], arms=["x", "y"])}, seed=7)
    one(book, Change("demo", ChangeIn(agent=other.to_dict())))
    assert reward(book, answer.decision_id, 1.0).told is False
    assert state(reloaded(book)) == state(book)


@pytest.mark.parametrize("snapshot", [False, True])
def test_an_erased_context_leaves_no_name_and_keeps_its_statistics(snapshot: bool, tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    secret = "Jane Doe, born 1950-01-01"
    book = a_book(store=open_store(f"sqlite:{path}"))
    answer = decide(book, f"request of {secret}", secret)
    one(book, Observe("demo", f"seen {secret}", ObservationIn("b", 0.5, context=secret)))
    one(book, Force("demo", "b", secret))
    one(book, Change("demo", ChangeIn(agent=book.agents["demo"].agent.to_dict())))
    if snapshot:
        book.save_snapshot()
    reward(book, answer.decision_id, 1.0)
    plays = book.agents["demo"].inside(secret).plays.tolist()
    erased = one(book, Erase("demo", secret))
    assert not book.stale
    one(book, Decide("demo", "next", DecisionIn(context=erased.context)))
    assert book.agents["demo"].inside(erased.context).plays.tolist() == plays
    assert secret not in json.dumps(state(book))
    verdict = verify(book.store)
    assert verdict.holds, verdict.differences
    assert one(book, LookAtDecision(answer.decision_id, None)).context == erased.context
    book.store.erase_traces()
    book.store.close()
    for file in tmp_path.iterdir():
        assert b"Jane Doe" not in file.read_bytes(), file
    with pytest.raises(RefusalError, match="no such context"):
        one(a_book(), Erase("demo", secret))


def test_a_log_that_was_tampered_with_does_not_verify() -> None:
    book = a_book(contextual(mb.ThompsonSampling()))
    play(book, 10)
    event = next(event for event in book.store.read() if event.kind == DECIDED)
    said: Decided = decode(event)
    said.arm = "a" if said.arm != "a" else "b"
    book.store.rewrite([(event.position, event.name, encode(said))])
    verdict = verify(book.store)
    assert not verdict.holds
    assert f"position {event.position}" in verdict.differences[0]
    again = reloaded(book)  # the log counts: a service goes on from what it says
    assert again.differences >= 1
    pulls = [[own.agents["demo"].inside(f"c{k}").inside.pulls for k in range(3)] for own in (book, again)]
    assert pulls[0] == pulls[1]


def test_a_log_with_a_gap_is_refused() -> None:
    book = a_book()
    with book.store.group():
        book.store.write([Event(book.position + 2, 0.0, DECIDED, "demo", None, None, b"{}")])
    with pytest.raises(StoreError, match="lacks events"):
        reloaded(book)


def test_default_rewards_are_checked() -> None:
    book = Book(open_store("sqlite::memory:"))
    saved = contextual().to_dict()
    for settings, why in ((Settings(default_reward=0.0), "give wait"), (Settings(1.0, 5.0, 3.0), "range")):
        (answer,) = carry_out(book, Create("demo", saved, settings, ""))
        assert isinstance(answer, RefusalError)
        assert why in answer.message
    assert book.position == 0


def test_warnings_of_agents_are_kept() -> None:
    book = a_book(mb.Agent(mb.GLUE(), mb.MeanBounds([0.1, 0.1], [0.3, 0.2], arms=["a", "b"]), seed=7))
    for number in range(40):
        reward(book, decide(book, str(number), None).decision_id, 1.0)
    assert any("contradict" in alarm for _, alarm in book.alarms)
    heard = list(book.alarms), book.warned
    one(book, RollBack("demo", 1))  # repeats all rewards
    assert (book.alarms, book.warned) == heard


def test_warnings_of_what_another_process_wrote_are_its_own(tmp_path: Path) -> None:
    """Here a warning is an error: it must not keep a process from applying what the other one wrote."""
    address = f"sqlite:{tmp_path / 'state.db'}"
    book = a_book(
        mb.Agent(mb.GLUE(), mb.MeanBounds([0.1, 0.1], [0.3, 0.2], arms=["a", "b"]), seed=7), open_store(address)
    )
    other = Book(open_store(address))
    decide(other, "first", None)
    for number in range(40):
        reward(book, decide(book, str(number), None).decision_id, 1.0)
    assert book.alarms
    decide(other, "last", None)
    assert other.position == book.position + 1
    assert not other.alarms
    for store in (book.store, other.store):
        store.close()


def test_random_numbers_do_not_depend_on_the_process() -> None:
    """Two books on one store, turn by turn, as two workers: the same sums as one alone, and no number drawn twice."""
    store = open_store("sqlite::memory:")
    first = a_book(contextual(mb.ThompsonSampling()), store)
    second, alone = Book(store, 2), a_book(contextual(mb.ThompsonSampling()))
    rng = np.random.default_rng(1)
    arms: list[Any] = []
    for number in range(60):
        book = (first, second)[int(rng.integers(2))]
        answer, other = decide(book, str(number)), decide(alone, str(number))
        assert answer.arm == other.arm
        arms.append(answer.arm)
        if number % 3:
            reward((first, second)[int(rng.integers(2))], answer.decision_id, number % 2)
            reward(alone, other.decision_id, number % 2)
    assert len(set(arms)) > 1
    decide(second, "last")
    decide(alone, "last")
    decide(first, "last")
    assert state(first)["demo"]["agent"] == state(second)["demo"]["agent"] == state(alone)["demo"]["agent"]
    assert verify(store).holds
