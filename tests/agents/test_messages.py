"""What a beginner does wrong, and what the message says."""

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import meanbounds as mb
from meanbounds.bounds import RewardError, UnknownArmError

UNTYPED: Any = mb  # calls that a type checker would refuse
BOUNDS = mb.MeanBounds([0.2, 0.3, 0.1], [0.9, 0.8, 0.7], arms=["a", "b", "c"])
PRIOR = mb.Knowledge(BOUNDS, prior=mb.Prior(0.5, 4))
FEWER, STARS = mb.MeanBounds.vacuous(["a", "b"]), mb.MeanBounds.vacuous(["a", "b", "c"], high=5.0)


def one() -> Any:
    return mb.Agent(mb.GLUE(), BOUNDS, seed=7)


def many() -> Any:
    return mb.Agent(mb.GLUE(), {"north": BOUNDS, ("south", "young"): BOUNDS}, seed=7)


WRONG: list[tuple[Callable[[], object], type[Exception], str]] = [
    (lambda: UNTYPED.Agent("GLUE", BOUNDS), TypeError, "got 'GLUE'; did you mean mb.GLUE()?"),
    (lambda: UNTYPED.Agent(mb.GLUE, BOUNDS), TypeError, "did you mean mb.GLUE()?"),
    (lambda: UNTYPED.Agent("thompson", BOUNDS), TypeError, "got 'thompson'; did you mean mb.ThompsonSampling()?"),
    (lambda: UNTYPED.LinearAgent("thompson", BOUNDS, [[1.0]] * 3), TypeError, "did you mean mb.LinearThompson()?"),
    (lambda: UNTYPED.Agent(BOUNDS, mb.GLUE()), TypeError, "the policy comes first: mb.Agent(policy, bounds); got Mean"),
    (lambda: UNTYPED.Agent(mb.GLUE(), mb.GLUE()), TypeError, "give mb.MeanBounds, mb.Knowledge, or a mapping"),
    (lambda: mb.Agent.from_dict({}), ValueError, "it lacks the key 'agent'"),
    (lambda: mb.LinearAgent.from_dict(one().to_dict()), ValueError, "this is a saved Agent: use mb.Agent.load"),
    (lambda: mb.Agent.from_dict({"linear_agent": 1}), ValueError, "a saved LinearAgent: use mb.LinearAgent.load"),
    (lambda: UNTYPED.Agent(mb.GLUE(), [[0.2, 0.9]]), TypeError, "mapping from contexts to these; got [[0.2, 0.9]]"),
    (lambda: UNTYPED.Agent(mb.GLUE(), {"north": [0.2]}), TypeError, "context 'north': give mb.MeanBounds"),
    (lambda: UNTYPED.Agent(mb.GLUE(), {3: BOUNDS}), TypeError, "got 3, so write '3'"),
    (lambda: UNTYPED.Agent(mb.GLUE(), {np.nan: BOUNDS}), TypeError, 'a text such as "north" or a tuple of texts; got'),
    (lambda: UNTYPED.Agent(mb.GLUE(), BOUNDS, seed=1e4), ValueError, "got 10000.0: write 10_000"),
    (lambda: mb.Agent(mb.GLUE(), BOUNDS, floor=5), ValueError, "floor must be a probability such as 0.01"),
    (lambda: mb.Agent(mb.GLUE(), BOUNDS, floor=0.5).pull(), ValueError, "with this many arms it can be at most 0.3333"),
    (lambda: mb.Agent(mb.GLUE(), PRIOR), ValueError, "GLUE makes no use of a prior: leave it out"),
    (
        lambda: mb.Agent(mb.GLUE(), {"x": BOUNDS, "y": FEWER}),
        mb.BoundsError,
        "context 'y': the arms differ: only the first bounds have",
    ),
    (
        lambda: mb.Agent(mb.GLUE(), {"x": BOUNDS, "y": FEWER}),
        mb.BoundsError,
        "All contexts of an agent have the same a",
    ),
    (lambda: mb.Agent(mb.GLUE(), {"x": BOUNDS, "y": STARS}), mb.BoundsError, "'y': arm 'a': the reward ranges differ"),
    (lambda: one().pull("north"), TypeError, "made without contexts; got the context 'north'"),
    (lambda: one().pull(["a", "b"]), TypeError, "did you mean eligible=['a', 'b']?"),
    (lambda: one().pull(eligible="a"), TypeError, "eligible must be a list; got 'a'"),
    (lambda: one().pull(eligible=[]), ValueError, "eligible is empty"),
    (lambda: one().pull(eligible=["A"]), UnknownArmError, "unknown arm 'A', did you mean 'a'?"),
    (lambda: one().pull(pending="later"), ValueError, "pending must be one of 'ignore', 'count'; got 'later'"),
    (lambda: one().update("A", 1.0), UnknownArmError, "unknown arm 'A', did you mean 'a'? The arms are"),
    (lambda: one().update(1.0, "a"), UnknownArmError, "unknown arm 1.0; the arms are 'a', 'b', 'c'"),
    (lambda: one().update("a", 5), RewardError, "arm 'a': the reward 5 is not a number in its range [0.0, 1.0]"),
    (lambda: one().update("a", "1"), RewardError, "the reward '1' is not a number"),
    (lambda: one().update("a", 1.0, pulled=0), TypeError, "pulled must be True or False; got 0"),
    (lambda: one().cancel("a"), ValueError, "no pull of arm 'a' waits for a reward"),
    (lambda: one().know({"north": BOUNDS}), TypeError, "give no mapping but mb.MeanBounds or mb.Knowledge"),
    (lambda: one().add(mb.MeanBounds([0.1], [0.2], arms=["a"])), mb.BoundsError, "there is an arm 'a' already"),
    (lambda: one().forbid("a"), TypeError, "arms must be a list; got 'a'"),
    (lambda: many().pull(), TypeError, "this agent has contexts, so say which, as in pull('north') or update(arm, re"),
    (lambda: mb.Agent(mb.GLUE(), {"x": BOUNDS}).pull(), TypeError, "so say which, as in pull('x')"),
    (
        lambda: mb.Agent(mb.ThompsonSampling(), BOUNDS).indices(),
        TypeError,
        "decides by draws, not by an index; see pro",
    ),
    (lambda: many().pull("North"), LookupError, "unknown context 'North', did you mean 'north'?"),
    (lambda: many().pull(["south", "young"]), TypeError, "or a tuple of texts; got ['south', 'young']"),
    (lambda: many().know(BOUNDS), TypeError, "give a mapping from contexts to mb.MeanBounds or mb.Knowledge"),
]


@pytest.mark.parametrize(("call", "error", "words"), WRONG, ids=[words[:40] for *_, words in WRONG])
def test_the_message_says_what_to_do(call: Callable[[], object], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=re.escape(words)):
        call()


def test_errors_change_nothing() -> None:
    for agent, where in ((one(), None), (many(), "north")):
        agent.update(agent.pull(where), 0.5, where)
        agent.pull(where)
        before = agent.to_dict()
        wrong: list[tuple[Callable[..., object], tuple[Any, ...]]] = [
            (agent.update, ("a", 2.0, where)),
            (agent.pull, (where, ["a", "x"])),
            (agent.add, (mb.MeanBounds([0.1, 0.2], [0.2, 0.3], arms=["new", "b"]),)),
            (agent.know, ({"north": BOUNDS, "west": FEWER},)),
            (agent.forbid, (["b", "x"], where)),
            (agent.retire, ("x",)),
        ]
        for call, given in wrong:
            with pytest.raises((ValueError, LookupError, TypeError)):
                call(*given)
            assert agent.to_dict() == before


def test_forgotten_updates_are_noticed_once() -> None:
    agent = one()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(20_001):
            agent.pull()
    assert [str(each.message)[:39] for each in caught] == ["10,000 pulls and not one reward since: "]
    assert caught[0].filename == __file__


def test_a_reward_that_nobody_waits_for_is_noticed_once() -> None:
    agent = one()
    agent.update("b", 1.0, pulled=False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            agent.update("a", 1.0)
    assert [str(each.message) for each in caught] == [
        "arm 'a' got a reward, but no pull of it is waiting for one; if the agent did not choose this arm itself, say "
        "so with pulled=False"
    ]
    assert caught[0].filename == __file__
    assert agent.plays().tolist() == [3, 1, 0]
