"""Contexts: each decides as an agent of its own would, wherever it rests."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import meanbounds as mb
from meanbounds.agents import contextual
from meanbounds.agents.contextual import rename, row_of
from meanbounds.evidence import ContradictionWarning
from tests.children import run_python

BOUNDS = {
    "young": mb.MeanBounds([0.7, 0.2, 0.1], [0.9, 0.95, 0.6], arms=["a", "b", "c"]),
    "old": mb.MeanBounds([0.1, 0.2, 0.0], [0.5, 0.6, 0.9], arms=["a", "b", "c"]),
    3: mb.MeanBounds([0.0, 0.0, 0.0], [1.0, 1.0, 1.0], arms=["a", "b", "c"]),
}
ODD = mb.MeanBounds([0.1, 1.0], [0.5, 3.0], arms=["a", "z"], high=[1.0, 4.0])


def agent(policy: mb.Policy | None = None, **more: Any) -> mb.ContextualAgent:
    return mb.ContextualAgent(policy or mb.GLUE(), BOUNDS, seed=1, **more)


def play(one: mb.ContextualAgent, rounds: int, seed: int) -> list[Any]:
    """Random contexts and rewards; some rewards never come."""
    rng, seen = np.random.default_rng(seed), []
    for _ in range(rounds):
        context = one.contexts[rng.integers(len(one))]
        seen.append(one.pull(context))
        if rng.random() < 0.8:
            one.update(context, seen[-1], float(rng.random()))
    return seen


@pytest.fixture
def tired(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only one context is awake at a time."""
    monkeypatch.setattr(contextual, "_AWAKE", 1)


@pytest.mark.parametrize("policy", [mb.GLUE(), mb.ThompsonSampling(), mb.OSSB(), mb.IDS()], ids=repr)
def test_resting_changes_nothing(policy: mb.Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    awake = agent(policy)
    expected = play(awake, 200, 2)
    monkeypatch.setattr(contextual, "_AWAKE", 1)
    tired = agent(policy)
    assert play(tired, 200, 2) == expected
    assert tired.to_dict() == awake.to_dict()


def test_each_context_decides_as_an_agent_of_its_own() -> None:
    one = agent(mb.ThompsonSampling())
    alone = mb.Agent(mb.ThompsonSampling(), BOUNDS["old"], seed=one["old"].seed)
    for reward in np.random.default_rng(3).random(50).tolist():
        arm = one.pull("old")
        assert arm == alone.pull()
        one.update("old", arm, reward)
        alone.update(arm, reward)
    assert one["old"].to_dict() == alone.to_dict()


@pytest.mark.usefixtures("tired")
@pytest.mark.parametrize("way", ["json", "deepcopy", "pickle", "file"])
def test_kept_and_copied(way: str, tmp_path: Path) -> None:
    one = mb.ContextualAgent(mb.ThompsonSampling(), {**BOUNDS, "odd": ODD}, seed=1, floor=0.01)
    play(one, 100, 4)
    one.retire("b", context="young")
    _ = one["young"]  # in somebody's hands
    one.forget("old")
    if way == "json":
        other = mb.ContextualAgent.from_dict(json.loads(json.dumps(one.to_dict())))
    elif way == "file":
        one.save(tmp_path / "agent.json")
        other = mb.ContextualAgent.load(tmp_path / "agent.json")
    else:
        other = copy.deepcopy(one) if way == "deepcopy" else pickle.loads(pickle.dumps(one))
    assert other.contexts == ("young", 3, "odd")
    assert other.to_dict() == one.to_dict()
    assert play(other, 100, 5) == play(one, 100, 5)


class TestUnknownContexts:
    @pytest.mark.parametrize(
        ("context", "words"),
        [
            ("Young", r"context 'Young' has no bounds; did you mean 'young'\?"),
            ("3", r"context '3' has no bounds; did you mean 3\?"),
            ("yuong", r"did you mean 'young'\?"),
            ("middle-aged", r"no bounds\. The contexts are 'young', 'old', 3\. .*unknown=\"vacuous\""),
        ],
    )
    def test_refused_by_default(self, context: Any, words: str) -> None:
        one = agent()
        before = one.to_dict()
        for call in (lambda: one.pull(context), lambda: one.update(context, "a", 1.0), lambda: one[context]):
            with pytest.raises(LookupError, match=words):
                call()
        assert one.to_dict() == before

    @pytest.mark.parametrize("unknown", ["error", "vacuous"])
    @pytest.mark.parametrize("context", [float("nan"), np.nan, None, ("a", float("nan")), b"old", [1, 2], {1}])
    def test_what_cannot_be_a_context(self, context: Any, unknown: Any) -> None:
        one = agent(unknown=unknown)
        with pytest.raises(TypeError, match="a context is a text, a number or a tuple of these"):
            one.pull(context)
        assert len(one) == 3

    @pytest.mark.usefixtures("tired")
    def test_vacuous_where_asked_for(self) -> None:
        one = agent(unknown="vacuous")
        with pytest.warns(UserWarning, match="context 'new' is new"):
            one.update("new", "b", 0.5)
        assert one["new"].bounds.upper.tolist() == [1.0, 1.0, 1.0]
        assert one.contexts == ("young", "old", 3, "new")
        with pytest.raises(mb.UnknownArmError):
            one.update("newer", "d", 0.5)
        assert "newer" not in one
        for number in range(40):
            with pytest.warns(UserWarning, match="is new"):
                one.pull(f"n{number}")
        assert one.plays("new").tolist() == [0, 1, 0]
        again = mb.ContextualAgent.from_dict(json.loads(json.dumps(one.to_dict())))
        with pytest.warns(UserWarning, match="is new"):
            again.pull("last")


class TestForOneOrForAll:
    """Contexts that are awake, at rest, in somebody's hands, and with arms of their own."""

    @pytest.fixture
    def one(self, tired: None) -> mb.ContextualAgent:
        del tired
        one = mb.ContextualAgent(mb.GLUE(), {**BOUNDS, "odd": ODD}, seed=1)
        play(one, 40, 6)
        _ = one["young"]
        return one

    def test_counts(self, one: mb.ContextualAgent) -> None:
        assert one.arms == ("a", "b", "c", "z")
        for what in ("plays", "pending"):
            total: dict[Any, int] = dict.fromkeys(one.arms, 0)
            for context in one.contexts:
                own = getattr(copy.deepcopy(one)[context], what)
                for arm, count in zip(copy.deepcopy(one)[context].bounds.arms, own.tolist(), strict=True):
                    total[arm] += count
            assert getattr(one, what)().tolist() == list(total.values())
            assert getattr(one, what)("old").tolist() == getattr(one["old"], what).tolist()
        assert one.plays().sum() + one.pending().sum() == 40

    def test_cancel(self, one: mb.ContextualAgent) -> None:
        waiting = one.pending().sum()
        one.cancel("old", one.pull("old"))
        assert one.pending().sum() == waiting

    def test_add(self, one: mb.ContextualAgent) -> None:
        one.add("new", lower=0.96, upper=0.99)
        assert {one.pull(context) for context in ("young", "old")} == {"new"}
        assert one.arms == ("a", "b", "c", "new", "z")
        before = one.to_dict()
        with pytest.raises(mb.BoundsError, match="there is an arm 'z' already in context 'odd'"):
            one.add("z")
        with pytest.raises(mb.BoundsError, match=r"lower=0\.9 is above upper=0\.1"):
            one.add("other", lower=0.9, upper=0.1)
        assert one.to_dict() == before
        one.add("only", lower=0.995, context="old")
        assert one.pull("old") == "only"
        assert one.pull("young") == "new"
        again = mb.ContextualAgent.from_dict(json.loads(json.dumps(one.to_dict())))
        assert play(again, 50, 7) == play(one, 50, 7)

    def test_retire_and_restore(self, one: mb.ContextualAgent) -> None:
        one.retire("a")
        assert all("a" not in play(one, 60, 8) for _ in range(3))
        assert one["odd"].retired == one["old"].retired == ("a",)
        one.restore("a", context="old")
        assert len(one["old"].retired) == 0
        one.restore("a")
        assert {one[context].retired for context in one.contexts} == {()}
        with pytest.raises(ValueError, match="'a' is not retired in any context"):
            one.restore("a")
        with pytest.raises(mb.UnknownArmError, match="unknown arm 'q' in every context; the arms are 'a', 'b', 'c'"):
            one.retire("q")

    def test_new_bounds(self, one: mb.ContextualAgent) -> None:
        sure = mb.MeanBounds([0.1, 0.1, 0.95], [0.2, 0.2, 0.97], arms=["a", "b", "c"])
        one.replace_bounds(sure, context="old")
        assert one.pull("old") == "c"
        one.replace_bounds({"young": sure, 3: sure})
        assert {one.pull(context) for context in ("young", "old", 3)} == {"c"}
        before = one.to_dict()
        with pytest.raises(mb.BoundsError, match="other arms"):
            one.replace_bounds({"young": BOUNDS["young"], "odd": sure})
        assert one.to_dict() == before

    def test_forget(self, one: mb.ContextualAgent) -> None:
        for context in ("young", 3, "odd"):
            one.forget(context)
        assert one.contexts == ("old",)
        saved = json.dumps(one.to_dict())
        assert "young" not in saved
        assert "odd" not in saved
        with pytest.raises(LookupError, match="'young' has no bounds"):
            one.forget("young")
        one.pull("old")


def test_columns_are_what_a_mapping_is() -> None:
    lower, upper = (np.array([getattr(own, side) for own in BOUNDS.values()]) for side in ("lower", "upper"))
    one = mb.ContextualAgent.from_columns(mb.GLUE(), list(BOUNDS), lower=lower, upper=upper, arms=list("abc"), seed=1)
    assert one.to_dict() == agent().to_dict()
    for wrong, words in (
        ({"lower": lower[:2]}, r"a row for each of 3 contexts .* got shapes \(2, 3\) and \(3, 3\)"),
        ({"lower": upper + 0.01}, "context number 0, arm 'a': needs low <= lower <= upper <= high; got lower=0.91"),
        ({"lower": np.full((3, 3), np.nan)}, "lower=nan"),
        ({"arms": ["a", "b"]}, "2 arms for 3 columns"),
        ({"contexts": ["x", "y", "x"]}, "context 'x' is named twice"),
    ):
        columns: dict[str, Any] = {
            "contexts": list(BOUNDS),
            "lower": lower,
            "upper": upper,
            "arms": list("abc"),
            **wrong,
        }
        with pytest.raises(ValueError, match=words):
            mb.ContextualAgent.from_columns(mb.GLUE(), **columns)


@pytest.mark.slow
def test_a_million_contexts_in_a_gigabyte() -> None:
    """In a child of its own, whose peak is read off at the end; used contexts take no more than unused ones."""
    said = run_python(
        """
        import re, numpy as np, meanbounds as mb
        rng = np.random.default_rng(1)
        bounds = np.sort(rng.random((2, 1_000_000, 5)), axis=0)
        agent = mb.ContextualAgent.from_columns(
            mb.GLUE(), (f"person {k}" for k in range(1_000_000)), lower=bounds[0], upper=bounds[1], seed=1
        )
        for k in range(0, 1_000_000, 50):
            agent.update(f"person {k}", agent.pull(f"person {k}"), 0.5)
        print(agent.plays().sum())
        print(int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 2**20)
        """
    )
    plays, peak = said.split()
    assert int(plays) == 20_000
    assert float(peak) < 1.0


@pytest.mark.filterwarnings("ignore:context .* is new")
def test_changes_in_a_new_context_are_kept() -> None:
    one = agent(unknown="vacuous")
    one.retire("a", context="first")
    one.add("d", lower=0.9, context="second")
    one.replace_bounds({"third": BOUNDS["young"]})
    one.replace_bounds(BOUNDS["old"], context="fourth")
    assert one["first"].retired == ("a",)
    assert one["second"].bounds.arms == ("a", "b", "c", "d")
    assert (one["third"].bounds, one["fourth"].bounds) == (BOUNDS["young"], BOUNDS["old"])


@pytest.mark.parametrize("saved", [False, True])
def test_an_arm_retired_in_all_contexts_is_not_offered_in_new_ones(saved: bool) -> None:
    one = agent(unknown="vacuous")
    one.retire("a")
    one = mb.ContextualAgent.from_dict(json.loads(json.dumps(one.to_dict()))) if saved else one
    with pytest.warns(UserWarning, match="is new"):
        one.pull("new")
    assert list(one["new"].retired) == ["a"]
    one.restore("a")
    with pytest.warns(UserWarning, match="is new"):
        one.pull("newer")
    assert (one["newer"].retired, one["new"].retired) == ((), ())


@pytest.mark.parametrize(
    "refused",
    [
        lambda one: one.update("old", "a", 5.0),
        lambda one: one.update("old", "unheard of", 0.5),
        lambda one: one.pull("old", []),
        lambda one: one.cancel("old", "a"),
        lambda one: one.retire("unheard of", context="old"),
        lambda one: one.restore("a", context="old"),
        lambda one: one.add("a", context="old"),
        lambda one: one.replace_bounds({"old": BOUNDS["young"], 3: ODD}),
    ],
)
def test_refused_calls_leave_no_trace(refused: Any) -> None:
    one = agent()
    before = json.dumps(one.to_dict())
    with pytest.raises((ValueError, LookupError)):
        refused(one)
    assert json.dumps(one.to_dict()) == before


def test_looking_leaves_no_trace() -> None:
    one = agent()
    before = json.dumps(one.to_dict())
    one.probabilities("old"), one.indices("young"), one.plays(), one[3]
    assert json.dumps(one.to_dict()) == before


@pytest.mark.filterwarnings("error")
def test_a_warning_that_is_an_error_leaves_no_trace() -> None:
    one = agent(unknown="vacuous")
    with pytest.raises(UserWarning, match="is new"):
        one.pull("new")
    assert one.contexts == tuple(BOUNDS)


@pytest.mark.usefixtures("tired")
def test_new_contexts_come_to_rest_as_well() -> None:
    one = agent(unknown="vacuous")
    for number in range(10, 30):
        with pytest.warns(UserWarning, match="is new"):
            one.update(number, "a", 0.5)
    assert len(one._awake) == 1
    assert one.plays().tolist() == [20, 0, 0]


def test_a_numpy_name_of_an_added_arm_is_saved_as_a_plain_one() -> None:
    one = agent()
    name: Any = np.int64(5)
    one.add(name)
    assert mb.ContextualAgent.from_dict(json.loads(json.dumps(one.to_dict()))).arms == ("a", "b", "c", 5)


@pytest.mark.parametrize("floor", [2.0, -0.1, "half"])
def test_a_floor_that_is_no_probability_is_refused_at_once(floor: Any) -> None:
    with pytest.raises(ValueError, match="floor must be a probability"):
        agent(floor=floor)


def test_a_policy_that_does_not_fit_the_arms_is_refused_at_once() -> None:
    """Contexts sleep until they are used: a log with other names was found out only when one woke."""
    policy, bounds = mb.WarmStart(log=mb.LoggedArms([3, 4], [1.0, 2.0])), mb.MeanBounds.vacuous(["a", "b"])
    with pytest.raises(ValueError, match="give the log the same names"):
        mb.ContextualAgent(policy, {"young": bounds}, seed=1)
    saved = mb.ContextualAgent(mb.UCB(), {"young": bounds}, seed=1).to_dict()
    with pytest.raises(ValueError, match="give the log the same names"):
        mb.ContextualAgent.from_dict({**saved, "policy": policy.to_dict()})


@pytest.mark.parametrize("held", [False, True])
def test_a_context_with_another_name_goes_on_as_it_would_have(held: bool) -> None:
    bounds = {name: mb.MeanBounds([0.2, 0.1], [0.9, 0.8]) for name in ("young", "old", 3)}
    agents = [mb.ContextualAgent(mb.ThompsonSampling(), bounds, seed=7) for _ in range(2)]
    for one in agents:
        for _ in range(5):
            one.update("old", one.pull("old"), 1.0)
        if held:
            assert one["old"].plays.sum() == 5
    rename(agents[0], "old", "over 60")
    assert agents[0].contexts == ("young", "over 60", 3)
    assert row_of(agents[0], "over 60") == row_of(agents[1], "old")
    assert [agents[0].pull("over 60") for _ in range(20)] == [agents[1].pull("old") for _ in range(20)]
    saved = [one.to_dict() for one in agents]
    assert saved[0] == {**saved[1], "contexts": ["young", "over 60", 3]}
    with pytest.raises(LookupError, match="old"):
        rename(agents[0], "old", "new")
    with pytest.raises(ValueError, match="there is a context 3 already"):
        rename(agents[0], "young", 3)
    with pytest.warns(ContradictionWarning, match="context 'over 60', "):
        _insist(agents[0], "over 60")


def _insist(one: mb.ContextualAgent, context: str) -> None:
    """Give an arm so many good rewards that its upper bound cannot hold."""
    for _ in range(2_000):
        one.update(context, 1, 1.0)
