"""Units keep what was decided for them, exactly once; outcomes stop options; agents say whether they are done."""

import threading
import time
import warnings
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import meanbounds as mb
from meanbounds import cli
from meanbounds.service import commands as c
from meanbounds.service.database import connect
from meanbounds.service.export import export
from meanbounds.service.refusals import RefusedError
from meanbounds.service.verify import verify
from meanbounds.service.views import agent_view, context_view
from tests.service.asking import running

ARMS: list[Any] = ["a", "b", "c", mb.EXPERT]
KNOWN = mb.MeanBounds([0.1, 0.1, 0.1, 0.3], [0.9, 0.9, 0.9, 0.35], arms=ARMS)
SECRET = "Zoë Quist of Ward 4711"
DAY = 86_400.0


def an_agent(**more: Any) -> mb.Agent:
    return mb.Agent(mb.ThompsonSampling(), {"north": KNOWN, "south": KNOWN}, seed=7, **more)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "clinic.db"


@pytest.fixture
def ahead(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds by which the clock is ahead, of the machine too."""
    found, wall, steady = [0.0], time.time, time.clock_gettime
    monkeypatch.setattr(time, "time", lambda: wall() + found[0])
    monkeypatch.setattr(time, "clock_gettime", lambda which: steady(which) + found[0])
    return found


def decisions(store: mb.Store) -> int:
    return sum(1 for _ in store.database.events(kinds=["decision"]))


def test_a_unit_is_decided_for_once(path: Path) -> None:
    with mb.Store.create(path, "clinic", an_agent()) as store:
        clinic = store["clinic"]
        first = clinic.decide(unit=SECRET, context="north")
        assert not first.repeated
        clinic.reward(first.id, 1.0)
        for _ in range(3):
            again = clinic.decide(unit=SECRET, context="north")
            assert (again.id, again.arm, again.repeated) == (first.id, first.arm, True)
        assert clinic.decide(first.id, "north").repeated  # it has an id as others have
        assert store.ask("clinic", c.Reward(unit=SECRET, reward=1.0)) == c.DoneAnswer(first.id, repeated=True)
        assert (decisions(store), clinic.agent.plays().sum(), clinic.agent.pending().sum()) == (1, 1, 0)
        with pytest.raises(RefusedError, match=r"has had the reward 1"):
            store.ask("clinic", c.Reward(unit=SECRET, reward=0.0))
        with pytest.raises(RefusedError, match="no decision has this unit"):
            store.ask("clinic", c.Reward(unit="somebody", reward=1.0))
        both: list[dict[str, Any]] = [{"id": "1", "unit": "2"}, {}]
        for named in both:
            with pytest.raises(RefusedError, match="give either an id of the decision, or a unit"):
                clinic.decide(context="north", **named)
            with pytest.raises(ValueError, match="give either an id"):
                c.Reward(reward=1.0, **named)
        with pytest.raises(RefusedError, match="unit"):
            clinic.decide(unit="x" * 201, context="north")
        orders = [c.Order("clinic", c.Decide(unit=f"u{k % 3}", context="south")) for k in range(9)]
        orders += [c.Order("clinic", c.Reward(unit="u1", reward=None))]
        *made, done = store.run(orders)
        ids = [answer.id for answer in made if isinstance(answer, c.DecideAnswer)]
        assert ids[3:] == ids[:3] * 2
        assert done == c.DoneAnswer(ids[1])
        assert decisions(store) == 4
        assert export(store.database, "clinic", path.parent / "rows.csv") == 4
    whole = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert b"Quist" not in whole
    assert b"4711" not in whole
    with closing(connect(path)) as database:
        assert verify(database) == []


RELEASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {  # what is changed, and with what it is asked then
    "retired": ({"retire": "{arm}"}, {}),
    "forbidden here": ({"forbid": ["{arm}"], "context": "north"}, {}),
    "forced": ({"force": "{other}"}, {}),
    "not eligible": ({}, {"eligible": ["{other}"]}),
    "its time is over": ({"hold": DAY}, {}),
}


def filled(value: Any, **names: str) -> Any:
    if isinstance(value, dict):
        return {key: filled(own, **names) for key, own in value.items()}
    return (
        value.format(**names)
        if isinstance(value, str)
        else [own.format(**names) for own in value]
        if isinstance(value, list)
        else value
    )


@pytest.mark.parametrize("why", RELEASES)
def test_a_unit_is_let_go(path: Path, ahead: list[float], why: str) -> None:
    change, asked = RELEASES[why]
    with mb.Store.create(path, "clinic", an_agent()) as store:
        clinic = store["clinic"]
        first = clinic.decide(unit="u", context="north")
        names = {"arm": str(first.arm), "other": "b" if first.arm == "a" else "a"}
        before = clinic.change(**filled(change, **names)) if change else 0
        kept = (
            clinic.decide(unit="u", context="south", eligible=ARMS)
            if why in ("forbidden here", "not eligible")
            else first
        )
        assert kept.id == first.id  # it keeps its option where that is not so
        if why == "its time is over":
            ahead[0] = DAY - 60.0
            assert clinic.decide(unit="u", context="north").id == first.id
            ahead[0] = DAY + 1.0
        second = clinic.decide(unit="u", context="north", **filled(asked, **names))
        assert second.id != first.id
        assert not second.repeated
        assert second.arm != first.arm or why == "its time is over"
        for name, value in {"retire": {"restore": first.arm}, "force": {"free": True}}.items():
            if name in change:
                clinic.change(**value)
        third = clinic.decide(unit="u", context="south")
        assert (third.id == second.id) == (why != "forced")  # an option that was forced ends with that
        store.ask("clinic", c.Reward(unit="u", reward=None))
        clinic.reward(first.id, 1.0)  # a late one reaches the decision that it belongs to
        assert clinic.agent.pending().sum() == 0
        if before:
            clinic.rollback(1)
            with store.reading() as states:
                assert (states["clinic"].hold, states["clinic"].forced) == (None, {})
    with mb.Store(path) as store:
        assert store["clinic"].decide(unit="u", context="south").id == third.id
        assert verify(store.database) == []


def test_a_long_chain_is_found_quickly(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with mb.Store.create(path, "clinic", an_agent()) as store:
        clinic, looks, find = store["clinic"], list[int](), store.database.find
        clinic.change(hold=0.0)
        ids = [clinic.decide(unit="u", context="north").id for _ in range(100)]
        assert len(set(ids)) == decisions(store) == 100
        clinic.change(hold=None)

        def counted(values: Any, *column: Any) -> Any:
            looks.append(len(values))
            return find(values, *column)

        monkeypatch.setattr(store.database, "find", counted)
        assert clinic.decide(unit="u", context="north").id == ids[-1]
        assert len(looks) <= 16
        assert store.ask("clinic", c.Reward(unit="u", reward=None)) == c.DoneAnswer(ids[-1])


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
@pytest.mark.parametrize("hold", [None, 0.0])
def test_two_workers_ask_for_the_same_units(
    kind: str, hold: float | None, path: Path, request: pytest.FixtureRequest
) -> None:
    address = str(path) if kind == "sqlite" else request.getfixturevalue("postgres_database")
    answers, units = [list[Any](), list[Any]()], [f"u{k}" for k in range(30)]
    start = threading.Barrier(2)

    def work(number: int, store: mb.Store) -> None:
        rng = np.random.default_rng(1)
        start.wait()
        for unit in rng.permutation(units * 3).tolist():
            answers[number].append((unit, store["clinic"].decide(unit=unit, context="north")))

    with mb.Store.create(address, "clinic", an_agent()) as one, mb.Store(address) as other:
        one["clinic"].change(hold=hold)
        threads = [threading.Thread(target=work, args=given) for given in enumerate((one, other))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        both = [*answers[0], *answers[1]]
        assert len(both) == 180
        if hold is None:
            assert len({(unit, answer.id, answer.arm, answer.probability) for unit, answer in both}) == 30
            assert sum(not answer.repeated for _, answer in both) == decisions(one) == 30
        else:
            assert len({answer.id for _, answer in both}) == decisions(one) == 180
        assert verify(one.database) == []


def test_over_http(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rewards by unit, OpenFeature's targeting key, and no name in the log."""
    flag, here = "/ofrep/v1/evaluate/flags/clinic", "/v1/agents/clinic"
    with mb.Store.create(path, "clinic", an_agent()) as store:
        with store.database.writing():
            store.database.put("meta", ("access", "loopback"))
        with running(store) as ask:
            found = ask("POST", flag, {"context": {"targetingKey": SECRET, "context": "north"}}).json
            assert ask("POST", flag, {"context": {"targetingKey": SECRET, "context": "south"}}).json == found
            made = ask("POST", f"{here}/decisions", {"unit": SECRET, "context": "north"})
            assert made.json["id"] == found["metadata"]["id"]
            assert made.json["repeated"]
            for body in ({"unit": SECRET, "id": "1"}, {"unit": ""}, {"unit": SECRET * 10}, {"unit": 7}, {}):
                refused = ask("POST", f"{here}/decisions", {**body, "context": "north"})
                assert (refused.status, "Quist" in refused.text) == (422, False), body
            assert ask("POST", flag, {"context": {"targetingKey": ["x"], "context": "north"}}).status == 400
            assert ask("POST", f"{here}/rewards", {"unit": SECRET, "reward": 1}).json["id"] == made.json["id"]
            assert len(ask("GET", f"{here}/decisions/{made.json['id']}").json) == 2
            assert ask("POST", f"{here}/changes", {"hold": -1.0}).status == 422
            assert ask("POST", f"{here}/changes", {"hold": 3600}).status == 200
            assert ask("GET", here).json["hold"] == 3600.0
            assert ask("POST", f"{here}/changes", {"hold": None}).status == 200
            assert ask("GET", here).json["hold"] is None
        assert decisions(store) == 1
    assert "Quist" not in capsys.readouterr().err


LEVELS = {"north": 0.05, "south": 0.1}
RAIL = mb.Guardrail("bleeding", worse=0.02, level=LEVELS)


def harm(store: mb.Store, count: int, harmful: str = "a") -> None:
    """Cases in which one option harms one patient in two."""
    rng, clinic = np.random.default_rng(3), store["clinic"]
    for number in range(count):
        made = clinic.decide(f"{number}", ["north", "south"][number % 2])
        bleeds = float(rng.random() < (0.5 if made.arm == harmful else 0.02))
        chosen = "b" if made.arm is mb.EXPERT else None
        clinic.reward(made.id, 0.3 if chosen else 0.5, chosen, outcomes={"bleeding": bleeds})


@pytest.mark.filterwarnings("ignore::meanbounds.agents.guardrails.GuardrailWarning")
def test_an_outcome_stops_an_option(path: Path) -> None:
    with mb.Store.create(path, "clinic", an_agent(guardrails=[RAIL], floor=0.2)) as store:
        clinic = store["clinic"]
        before = clinic.change(retire="c")
        clinic.change(restore="c")
        waiting = clinic.decide("late", "north", ["a"])
        harm(store, 200)
        (stop,) = clinic.agent.stops()
        assert (stop.arm, clinic.agent.retired) == ("a", ("a",))
        clinic.reward(waiting.id, 0.0, outcomes={"bleeding": 1.0})  # what comes late still counts, and stops it once
        assert clinic.agent.stops() == [stop]
        assert clinic.agent.guardrails == (RAIL,)  # with the names of contexts
        with store.reading() as states:
            state = states["clinic"]
            whole, here = agent_view(state), context_view(state, state.ids["north"])
            saved = state.to_dict()
        assert whole.alarms[0] == (None, str(stop))
        assert here.out[0] == ["retired", stop.why]
        clinic.rollback(before)  # of settings, not of what was seen
        assert clinic.agent.retired == ("a", "c")
        decision = clinic.decide("odd", "north", ["b"])
        for outcomes, says in (
            ({"bleeding": 2.0}, "is a number from 0 to 1"),
            ({"bleeding": 0.0, "pain": 0.5}, "'pain'"),
        ):
            with pytest.raises(RefusedError, match=says):
                clinic.reward(decision.id, 1.0, outcomes=outcomes)
            with pytest.raises(RefusedError, match=says):
                clinic.observe("1", "b", 1.0, "north", outcomes=outcomes)
        with pytest.raises(RefusedError, match="outcomes come with a reward"):
            store.ask("clinic", c.Reward(decision.id, reward=None, outcomes={"bleeding": 0.0}))
        clinic.reward(decision.id, 1.0, outcomes={"bleeding": 0.0})
        with pytest.raises(RefusedError, match="a reward and its outcomes cannot be changed"):
            clinic.reward(decision.id, 1.0, outcomes={"bleeding": 1.0})
        clinic.observe("1", "b", 1.0, "north", outcomes={"bleeding": 1.0})
        clinic.change(restore="a")
        assert (clinic.agent.retired, clinic.agent.stops()) == (("c",), [])
        for other in (an_agent(guardrails=[mb.Guardrail("pain", worse=0.1)]), an_agent(drift=mb.evidence.Drift())):
            with pytest.raises(RefusedError, match="drift and guardrails stay as the agent began"):
                clinic.change(agent=other)
        clinic.change(agent=an_agent())
        assert clinic.agent.guardrails == (RAIL,)
        clinic.erase("south")
    assert saved["agent"]["outcomes"]["guardrails"][0]["level"] == [["1", 0.05], ["2", 0.1]]
    with closing(connect(path)) as database:
        assert verify(database) == []
    assert b'"south"' not in path.read_bytes()
    with mb.Store.create(path.parent / "other.db", "linear", linear()) as store:
        store["linear"].decide("1")
        with pytest.raises(RefusedError, match="no guardrails: leave out the outcomes"):
            store["linear"].reward("1", 1.0, outcomes={"bleeding": 0.0})
        with pytest.raises(RefusedError, match="there is no such context"):
            store.add(
                "x",
                an_agent(guardrails=[mb.Guardrail("pain", worse=0.1, level={"north": 0.1, "south": 0.1, "east": 0.1})]),
            )


def linear() -> mb.LinearAgent:
    known = mb.MeanBounds([0.1, 0.2], [0.9, 0.8], arms=["a", "b"])
    return mb.LinearAgent(mb.ROFUL(), known, [[0.5, 0.1], [0.1, 0.6]], seed=7)


@pytest.mark.filterwarnings("ignore")
def test_what_moves_is_replayed(path: Path) -> None:
    """Restarts and stops are the same in an agent outside, in another worker, and made again from the events."""
    given: dict[str, Any] = {"drift": mb.evidence.Drift(alarm=0.5), "guardrails": [RAIL]}
    own, rng = (
        mb.Agent(mb.OptimisticGittins(), {"north": KNOWN, "south": KNOWN}, seed=7, **given),
        np.random.default_rng(1),
    )
    with mb.Store.create(path, "clinic", own) as one:
        others = [one, mb.Store(path)]
        for number in range(240):
            clinic, where = others[number % 2]["clinic"], ["north", "south"][rng.integers(2)]
            arm = clinic.decide(str(number), where).arm
            assert arm == own.decide(where).arm
            reward, bleeds = float(rng.random() < (0.9 if (arm == "a") == (number < 120) else 0.1)), float(arm == "b")
            if arm is mb.EXPERT:
                own.observe("c", reward, where)
            else:
                own.update(arm, reward, where)
            own.report("bleeding", bleeds, arm, where)
            clinic.reward(str(number), reward, "c" if arm is mb.EXPERT else None, outcomes={"bleeding": bleeds})
            if number % 50 == 49:
                others[1].close()
                others[1] = mb.Store(path)
        assert own.restarts() > 0
        assert own.stops()
        for store in others:
            agent = store["clinic"].agent
            assert [agent.restarts(), agent.stops(), agent.retired] == [own.restarts(), own.stops(), own.retired]
            with store.reading() as states:
                views = [context_view(states["clinic"], number) for number in states["clinic"].names]
            assert [view.restarts for view in views] == [own.restarts(where) for where in ("north", "south")]
            for view, where in zip(views, ("north", "south"), strict=True):
                assert view.verdict == pytest.approx(own.verdict(where), abs=1e-12)
        others[1].close()
    with closing(connect(path)) as database:
        assert verify(database) == []


def test_done(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def done(*more: str) -> tuple[int, str]:
        code = cli.main(["done", str(path), *more])
        return code, capsys.readouterr().out

    known = mb.MeanBounds.vacuous(["a", "b"], high=10.0)
    with mb.Store.create(
        path, "clinic", mb.Agent(mb.OptimisticGittins(), {"north": known, ("x", "y"): known}, seed=7)
    ) as store:
        assert done()[0] == 1
        for where in ("north", ("x", "y")):
            for k in range(60):
                store["clinic"].reward(store["clinic"].decide(f"{where}{k}", where, ["ab"[k % 2]]).id, 10.0 * (k % 2))
        code, said = done("clinic")
        assert (code, said.count("done: 'b' is best with probability 1; going on is worth at most")) == (0, 2)
        store["clinic"].decide("new", "east")
        code, said = done()
        assert (code, said.splitlines()[-1]) == (1, "1 context of 3 not done")
        assert "east   not yet: " in said
        assert done("--probability", "0.1")[0] == 0
        assert done("--worth", "10", "--probability", "1")[0] == 0
        assert done("--probability", "2")[0] == 2
        store["clinic"].change(retire="a")
        store["clinic"].change(retire="b")
        assert "done: no option may be played" in done()[1]
        store.add("linear", linear())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert done("linear")[0] == 2


def test_a_prior_that_is_learned_may_be_replaced(path: Path) -> None:
    """Also where the arms are not all the same."""
    priors = {"learned": mb.Prior.learned(), "known": mb.Prior([0.3, 0.3], 5.0), "none": None}

    def an_agent(prior: str, *arms: str) -> mb.Agent:
        known = mb.Knowledge(mb.MeanBounds.vacuous(arms), prior=priors[prior])
        return mb.Agent(mb.OptimisticGittins(), {"north": known}, seed=1)

    with mb.Store(path, create=True) as store:
        for before in priors:
            for after in priors:
                name = f"{before}-{after}"
                store.add(name, an_agent(before, "a", "b"))
                store[name].change(agent=an_agent(after, "a", "c"))
                found = store[name].agent.knowledge("north").prior
                assert (found is not None, found is not None and found.is_learned) == (
                    after != "none",
                    after == "learned",
                )
                for number in range(10):
                    store[name].decide(str(number), "north")
                    store[name].reward(str(number), float(number % 2))
        assert verify(store.database) == []
