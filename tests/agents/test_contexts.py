"""An agent with contexts: they are apart, come and go, and share evidence against what their bounds rest on."""

import copy
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import meanbounds as mb
from meanbounds.agents import agent as module
from meanbounds.agents.contexts import Contexts
from meanbounds.known import Known

ARMS = ["a", "b", "c"]
KNOWN: dict[Any, Any] = {
    "north": mb.MeanBounds([0.2, 0.3, 0.1], [0.9, 0.8, 0.7], arms=ARMS),
    ("south", "young"): mb.MeanBounds([0.1, 0.3, 0.6], [0.2, 0.9, 0.8], arms=ARMS),
    ("south", "old"): mb.Knowledge(mb.MeanBounds([0.2, 0.0, 0.5], [0.9, 0.4, 0.8], arms=ARMS), trust=0.9),
}


def play(one: mb.Agent, rounds: int, seed: int = 1, means: Any = (0.5, 0.6, 0.4)) -> list[Any]:
    rng, seen = np.random.default_rng(seed), []
    for _ in range(rounds):
        context = one.contexts[int(rng.integers(len(one.contexts)))]
        arm = one.pull(context)
        one.update(arm, float(rng.random() < means[one.arms.index(arm)]), context)
        seen.append((context, arm))
    return seen


def test_contexts_are_apart() -> None:
    """What is known, seen, forbidden and drawn in one is nothing to another."""
    one, other = (mb.Agent(mb.UCB(), KNOWN, seed=3) for _ in range(2))
    alone = {context: [one.pull(context) for _ in range(20)] for context in KNOWN}
    assert len(set(map(tuple, alone.values()))) == 3  # each has random numbers of its own
    other.know({"west": KNOWN["north"]})
    other.forbid(["a"], "west")
    together = [(context, other.pull(context)) for _ in range(20) for context in other.contexts]
    for context in KNOWN:
        assert [arm for own, arm in together if own == context] == alone[context]
    assert {arm for own, arm in together if own == "west"} == {"b", "c"}
    play(one, 100)
    assert one.updates() == sum(one.updates(context) for context in KNOWN) == 100
    np.testing.assert_array_equal(one.plays(), sum(one.plays(context) for context in KNOWN))
    total = sum(np.nan_to_num(one.means(context)) * one.plays(context) for context in KNOWN)
    np.testing.assert_allclose(one.means(), total / one.plays())


def test_contexts_come_and_go(tmp_path: Path) -> None:
    one = mb.Agent(mb.GLUE(), KNOWN, seed=3)
    play(one, 50)
    one.retire("c")
    one.forbid(["b"], ("south", "old"))
    kept = {context: one.plays(context).tolist() for context in KNOWN if context != "north"}
    one.forget_context("north")
    one.know({("east",): KNOWN["north"], ("south", "old"): mb.MeanBounds.vacuous(ARMS)})
    assert one.contexts == (("south", "young"), ("south", "old"), ("east",))
    assert {context: one.plays(context).tolist() for context in kept} == kept
    assert one.plays(("east",)).sum() == 0
    assert (one.pull(("south", "old")), one.forbidden(("south", "old"))) == ("a", ("b",))
    assert "north" not in json.dumps(one.to_dict())
    one.save(tmp_path / "agent.json")
    again = mb.Agent.load(tmp_path / "agent.json")
    assert again.to_dict() == one.to_dict()
    assert again.contexts == one.contexts
    for _ in range(2):  # the new contexts get random numbers of their own in both
        for each in (one, again):
            each.know({"west": KNOWN["north"]})
        assert play(one, 60, seed=2) == play(again, 60, seed=2)


def test_rows_are_the_knowledge_that_was_given() -> None:
    """The arrays of many contexts are those that `Known.of` makes of each."""
    rng, given = np.random.default_rng(5), dict[Any, mb.Knowledge]()
    for number in range(20):
        lower, upper = np.sort(rng.uniform(-1.0, 3.0, (2, 4)), axis=0)
        bounds = mb.MeanBounds(lower, upper, low=-1.0, high=3.0)
        prior = mb.Prior(rng.uniform(0.0, 2.0, 4), rng.uniform(5.0, 9.0, 4)) if number % 3 else None
        trust = (1.0, rng.choice([0.0, 0.5, 1.0], 4), 0.9)[number % 3]
        given[str(number)] = mb.Knowledge(bounds, prior=prior, trust=trust)
    contexts = Contexts.empty(bounds)
    contexts.know(given)
    for row, own in enumerate(given.values()):
        assert contexts.knowledge(row).to_dict().get("trust") == own.to_dict().get("trust")
        found, expected = contexts.given(contexts.known[row : row + 1]), Known.of([own])
        assert (found.log_n is None, found.prior is None) == (expected.log_n is None, expected.prior is None)
        for name in ("lower", "upper", "low", "high", "log_n", "prior"):
            if getattr(expected, name) is not None:
                np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def test_which_contexts_are_ready_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    one = mb.Agent(mb.GLUE(), KNOWN, seed=3, floor=0.01)
    found = play(one, 60)
    monkeypatch.setattr(module, "_AWAKE", 1)
    monkeypatch.setattr(module, "_OFFERS", 1)
    assert play(mb.Agent(mb.GLUE(), KNOWN, seed=3, floor=0.01), 60) == found


def test_a_hundred_thousand_contexts() -> None:
    """Made, played, saved and loaded in seconds: a test on a busy machine allows a minute."""
    rng, started = np.random.default_rng(2), time.process_time()
    own = [mb.MeanBounds(*np.sort(rng.random((2, 5)), axis=0)) for _ in range(50)]
    names = [f"customer {number}" for number in range(100_000)]
    one = mb.Agent(mb.GLUE(), {name: own[number % 50] for number, name in enumerate(names)}, seed=3)
    for name in names[::100]:
        one.update(one.pull(name), 0.5, name)
    again = mb.Agent.from_dict(json.loads(json.dumps(one.to_dict())))
    assert again.updates() == 1000
    assert [again.pull(name) for name in names[::500]] == [one.pull(name) for name in names[::500]]
    assert len(one.excluded()) == sum(len(one.excluded(name)) for name in names[:50]) * 2000
    assert one.contradictions() == []
    with pytest.raises(LookupError, match="did you mean 'customer 1234'"):
        one.pull("customer 1234 ")
    assert time.process_time() - started < 60.0


def test_contradictions_name_the_context() -> None:
    one = mb.Agent(mb.GLUE(), KNOWN, seed=3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(60):
            one.update("a", 1.0, ("south", "young"), pulled=False)
    assert [str(each.message)[:27] for each in caught] == ["context ('south', 'young'),"]
    assert [each.context for each in one.contradictions()] == [("south", "young")]
    one.forget_context(("south", "young"))
    assert one.contradictions() == []


WRONG = mb.MeanBounds([0.5, 0.8, 0.3], [0.75, 0.95, 0.7], arms=ARMS)  # excludes the best arm, whose mean is 0.9
SHARED = mb.Knowledge(WRONG, trust=0.9, assumption="the expert is optimal")


@pytest.mark.filterwarnings("ignore::meanbounds.evidence.ContradictionWarning")
def test_evidence_against_an_assumption_counts_in_all_contexts_that_rest_on_it() -> None:
    known = {**dict.fromkeys("xyz", SHARED), "w": mb.Knowledge(WRONG, trust=0.9)}
    one, given_up = mb.Agent(mb.GLUE(), known, seed=5), mb.Agent(mb.GLUE(), mb.MeanBounds.vacuous(ARMS), seed=5)
    for arm in ("a", "b", "c", "b"):
        for context in "yzw":
            one.update(arm, 0.5, context, pulled=False)
        given_up.update(arm, 0.5, pulled=False)
    before = {context: one.indices(context).tolist() for context in known}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", mb.evidence.AssumptionWarning)
        for _ in range(60):
            one.update("a", 1.0, "x", pulled=False)
    told: list[Any] = [each for each in caught if each.category is mb.evidence.AssumptionWarning]
    assert [(each.message.assumption, each.filename) for each in told] == [("the expert is optimal", __file__)]
    assert one.indices("w").tolist() == before["w"]
    for context in ("y", "z"):
        np.testing.assert_allclose(one.indices(context), given_up.indices())
    one.know(dict.fromkeys("x", mb.MeanBounds.vacuous(ARMS)))  # what the rewards said was about the old bounds
    assert one.indices("y").tolist() == before["y"]
    one.know(dict.fromkeys("x", SHARED))
    np.testing.assert_allclose(one.indices("y"), given_up.indices())
    one.forget_context("x")
    np.testing.assert_allclose(one.indices("y"), before["y"])


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_evidence_against_an_assumption_is_saved_and_copied() -> None:
    one = mb.Agent(mb.GLUE(), dict.fromkeys("xyz", SHARED), seed=5)
    play(one, 60, means=(0.9, 0.8, 0.5))
    one.add(mb.MeanBounds([0.1], [0.2], arms=["d"]))
    others = [mb.Agent.from_dict(json.loads(json.dumps(one.to_dict()))), copy.deepcopy(one)]
    found = play(one, 60, seed=2, means=(0.9, 0.8, 0.5, 0.2))
    for other in others:
        assert play(other, 60, seed=2, means=(0.9, 0.8, 0.5, 0.2)) == found
        assert other.to_dict() == one.to_dict()
