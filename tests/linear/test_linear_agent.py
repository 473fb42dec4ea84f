"""LinearAgent: decisions, candidates, evidence, saving."""

import json
import pickle
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import meanbounds as mb
from meanbounds.linear import LinearPolicy

FEATURES = [[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]]
BOUNDS = mb.MeanBounds([0.3, 0.2, 0.1], [0.8, 0.7, 0.9], arms=["a", "b", "c"])
POLICIES = [mb.OFUL(), mb.ROFUL(), mb.ROFUL(index="clip"), mb.LinearThompson(draws=4)]


def agent(policy: Any = None, known: Any = BOUNDS, features: Any = FEATURES, **given: Any) -> Any:
    return mb.LinearAgent(policy or mb.ROFUL(), known, features, seed=7, **given)


def play(one: Any, rounds: int, eligible: Any = None, seed: int = 3) -> list[Any]:
    """Decide and reward; the decisions."""
    rng, made = np.random.default_rng(seed), []
    for _ in range(rounds):
        made.append(one.decide(eligible))
        one.update(made[-1].arm, float(rng.random() < 0.5))
    return made


def feed(one: Any, arm: str, rewards: list[float]) -> None:
    for reward in rewards:
        one.update(arm, reward, pulled=False)


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_an_agent_decides_as_the_first_run_of_a_simulation(policy: LinearPolicy) -> None:
    environment = mb.simulation.Linear(FEATURES, [0.6, 0.5], low=0.0, high=1.0)
    players = {"policy": policy, "agent": lambda seed: mb.LinearAgent(policy, BOUNDS, FEATURES, seed=seed)}
    regret = mb.simulate(players, environment, BOUNDS, horizon=80, runs=1, seed=7, checkpoints=80)
    np.testing.assert_array_equal(regret.curves["policy"], regret.curves["agent"])


@pytest.mark.parametrize("policy", POLICIES, ids=str)
@pytest.mark.parametrize("trust", [1.0, 0.9])
def test_a_saved_agent_continues_identically(policy: LinearPolicy, trust: float, tmp_path: Any) -> None:
    one, new = agent(policy, mb.Knowledge(BOUNDS, trust=trust), floor=0.1), mb.Candidate("new", [0.5, 0.5], 0.1)
    play(one, 30, ["a", "b", new])
    one.pull([new])
    one.retire("b")
    one.save(tmp_path / "agent.json")
    again, copy = mb.LinearAgent.load(tmp_path / "agent.json"), pickle.loads(pickle.dumps(one))
    assert (
        play(one, 40, ["a", "b", "c", new])
        == play(again, 40, ["a", "b", "c", new])
        == play(copy, 40, ["a", "b", "c", new])
    )
    np.testing.assert_array_equal(one.estimate, again.estimate)
    assert one.to_dict() == again.to_dict()


def test_what_cannot_be_a_saved_agent_is_refused() -> None:
    one = agent(mb.LinearThompson(draws=4))
    play(one, 20)
    data = json.loads(json.dumps(one.to_dict()))
    changes: list[tuple[dict[str, Any], str]] = [
        ({"precision": [[-1.0, 0.0], [0.0, 9.0]]}, "precision is not what the policy begins with"),
        ({"precision": [[9.0, 1.0], [0.0, 9.0]]}, "precision is not"),
        ({"moment": [0.0]}, "moment has shape"),
        ({"points": [[[[9.0] * 4]] * 2]}, "a point does not satisfy the bounds"),
        ({"seen": [[1.0] * 3] * 2}, "seen has shape"),
        ({"pending": [-1, 0, 0]}, "pending must hold whole numbers"),
        ({"decisions": 1.5}, "decisions must be a whole number"),
        ({"policy": {"policy": "GLUE"}}, "a saved GLUE has|unknown policy"),
        ({"floor": 2.0}, "floor must be a probability"),
        ({"more": 1}, "it should not have more"),
        ({"linear_agent": 2}, "its format is 2, not 1"),
        ({"candidates": [[{"name": "x"}, 1]]}, "cannot be read"),
        ({"candidates": [[{"name": "x", "features": [1.0, 0.0]}, -3]]}, "candidates must be a whole number"),
        ({"seen": [[-1.0] * 3, [0.0] * 3, [0.0] * 3]}, "seen: no rewards in their ranges"),
        ({"seen": [[1.0] * 3, [2.0] * 3, [0.5] * 3]}, "seen: no rewards in their ranges"),
        ({"contradicted": [[0, 7, "upper", 0.5, 3]]}, "contradicted must list row, arm, side, bound"),
        ({"contradicted": [3]}, "contradicted must list row, arm, side, bound"),
        ({"warned": [3]}, "warned must hold texts"),
        ({"policy": {"policy": ["OFUL"]}}, "unknown policy"),
    ]
    for change, said in changes:
        with pytest.raises(ValueError, match=said):
            mb.LinearAgent.from_dict({**data, **change})


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_probabilities_are_those_of_the_next_pull(policy: LinearPolicy) -> None:
    one, new = agent(policy, floor=0.05), mb.Candidate("new", [0.8, 0.6])
    for t in range(60):
        chances = one.probabilities()
        np.testing.assert_array_equal(chances, one.probabilities())
        decision = one.decide()
        assert decision.probability == pytest.approx(chances[BOUNDS.position(decision.arm)])
        one.update(decision.arm, float(t % 2))
        mixed = one.probabilities([new, "c", "a"])
        assert mixed.shape == (3,)
        assert mixed.sum() == pytest.approx(1.0)
        assert one.pull([new, "c", "a"]) in (new, "c", "a")
    assert (one.pending() <= 60).all()


def test_a_floor_is_kept() -> None:
    known = mb.MeanBounds([0.6, 0.0, 0.0, 0.0], [0.9, 1.0, 1.0, 0.5])
    one = mb.LinearAgent(mb.ROFUL(index="clip"), known, np.eye(4) * 0.9, seed=1, floor=0.1, offset=0.1)
    chances = one.probabilities()
    assert (chances[:3] >= 0.1 - 1e-12).all()
    assert chances[3] == 0.0
    drawn = [one.decide() for _ in range(2_000)]
    floored = sum(decision.reason == "floor" for decision in drawn)
    assert 470 < floored < 740  # 600 expected; outside with probability 1e-11
    with pytest.raises(ValueError, match=r"floor=0.5 is too large: with this many arms it can be at most 0.3333"):
        mb.LinearAgent(mb.LinearThompson(), known, np.eye(4) * 0.9, offset=0.1, floor=0.5).pull()


def test_candidates() -> None:
    one = agent(mb.ROFUL())
    good, bad = mb.Candidate("good", [0.9, 0.4], 0.75, 0.95), mb.Candidate("bad", [0.1, 0.1])
    # The bounds of a and b put the mean of `bad` below 0.15, so it is excluded.
    assert one.pull([bad, good]) == good
    np.testing.assert_allclose(one.probabilities([bad, "a", good]), [0.0, 0.0, 1.0])
    indices = one.indices([bad, "c", good])
    assert indices[0] == -np.inf
    assert 0.75 <= indices[2] <= 0.95
    before = one.estimate
    one.update(good, 1.0)
    assert (one.estimate > before).all()
    assert (one.updates(), one.plays().sum()) == (1, 0)
    one.pull([good])
    one.cancel(good)
    with pytest.raises(ValueError, match=r"no pull of arm Candidate.* waits for a reward"):
        one.cancel(good)
    with pytest.raises(
        mb.BoundsError, match=r"arm 'odd': its mean is said to be in \[0.95, 1\], but the bounds of other"
    ):
        one.pull([mb.Candidate("odd", [0.1, 0.0], lower=0.95)])
    with pytest.raises(ValueError, match="candidate 'long' has 3 features; give 2"):
        one.pull([mb.Candidate("long", [0.1, 0.0, 1.0])])
    with pytest.raises(mb.BoundsError, match=r"arm 'x': lower=0.9 is above upper=0.1"):
        mb.Candidate("x", [1.0, 0.0], lower=0.9, upper=0.1)


def test_arms_come_and_go() -> None:
    one = agent(mb.OFUL())
    one.update("a", 1.0, pulled=False)
    one.retire("c")
    assert (one.retired, one.pull(["c", "b"])) == (("c",), "b")
    one.add(mb.MeanBounds([0.0], [1.0], arms=["d"]), [[3.0, 3.0]], offset=0.2)
    assert (one.arms, one.pull(), one.plays().tolist()) == (("a", "b", "c", "d"), "d", [1, 0, 0, 0])
    np.testing.assert_allclose(one.estimate, [0.5, 0.0])
    one.restore("c")
    assert one.retired == ()
    one.cancel("d")
    assert one.pending().tolist() == [0, 1, 0, 0]
    for arm in "abcd":
        one.retire(arm)
    with pytest.raises(ValueError, match="all are retired"):
        one.pull()


def test_rewards_that_contradict_bounds_are_reported_once() -> None:
    """The bounds of a and b leave at most 0.46 for c; it pays 1 in four of five rounds."""
    known, said = mb.MeanBounds([0.0, 0.0, 0.0], [0.1, 0.5, 1.0], arms=["a", "b", "c"]), []
    one = agent(mb.LinearThompson(), known)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        feed(one, "c", [1.0, 1.0, 0.0, 1.0, 1.0] * 40)
        said = [warning.message for warning in caught]
    assert len(said) == 1
    (found,) = one.contradictions()
    assert (found.arm, found.side, found.follows_from) == ("c", "upper", ("a", "b"))
    assert found.bound == pytest.approx(0.46)
    assert str(found).startswith(
        "with all other rewards, arm 'c': 200 rewards with mean 0.8 contradict its upper bound"
    )
    assert len(one.contradictions(error=1e-6)) == 1
    assert one.contradictions(error=1e-290) == []
    with pytest.raises(mb.evidence.ContradictionWarning, match=r"arm 'a': .* its upper bound 0\.1"):
        feed(one, "a", [1.0] * 12)  # warnings are errors here, and leave the agent as it was
    assert 2 < one.plays()[0] < 12


def test_threads_share_an_agent() -> None:
    one = agent(mb.ROFUL(index="clip"))
    threads = [threading.Thread(target=play, args=(one, 100)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (one.updates(), one.plays().sum(), one.pending().sum()) == (400, 400, 0)


def test_messages() -> None:
    one = agent()
    refused: list[tuple[Callable[[], object], type[Exception], str]] = [
        (lambda: one.pull(["A"]), LookupError, "unknown arm 'A', did you mean 'a'"),
        (lambda: one.pull([]), ValueError, "eligible is empty"),
        (lambda: one.pull("ab"), TypeError, "eligible must be a list"),
        (lambda: one.update("a", 2.0), mb.bounds.RewardError, r"arm 'a': the reward 2.0 is not a number in its range"),
        (lambda: one.cancel("a"), ValueError, "no pull of arm 'a' waits for a reward"),
        (lambda: agent(mb.LinearThompson()).indices(), TypeError, "LinearThompson decides by draws, not by an index"),
        (lambda: agent("ROFUL"), TypeError, r"did you mean mb.ROFUL\(\)\?"),
        (lambda: agent(mb.ROFUL), TypeError, r"did you mean mb.ROFUL\(\)\?"),
        (lambda: one.contradictions(error=0.0), ValueError, "error must be a probability above 0 and below 1"),
        (lambda: agent(floor=True), ValueError, "floor must be a probability"),
        (lambda: agent(features=[[1.0]] * 2), ValueError, "features must have a row of numbers for each of 3 arms"),
    ]
    for call, error, text in refused:
        with pytest.raises(error, match=text):
            call()
    with pytest.warns(UserWarning, match="arm 'a' got a reward, but no pull of it is waiting for one"):
        one.update("a", 1.0)
    one.update("a", 1.0)  # said once
    assert repr(one) == "LinearAgent(ROFUL(), 3 arms, 2 updates)"
    np.testing.assert_allclose(one.means(), [1.0, np.nan, np.nan])
    assert one.tight_bounds.contains([0.6, 0.5, 0.76]).all()


@pytest.mark.parametrize("seed", range(8))
def test_agents_of_any_features_are_read_back(seed: int) -> None:
    rng = np.random.default_rng(seed)
    features, high = rng.normal(size=(6, 4)), float(rng.choice([1.0, 3.0]))
    bounds = mb.MeanBounds.vacuous(6, low=-high, high=high)
    agent = mb.LinearAgent((mb.OFUL(norm_high=3.0), mb.ROFUL(norm_high=3.0))[seed % 2], bounds, features, seed=1)
    for _ in range(12):
        agent.update(agent.pull(), float(rng.uniform(-high, high)))
    again = mb.LinearAgent.from_dict(json.loads(json.dumps(agent.to_dict())))
    assert [again.pull() for _ in range(5)] == [agent.pull() for _ in range(5)]
