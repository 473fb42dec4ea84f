from __future__ import annotations

import copy
import inspect
import json
import pickle
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import meanbounds as mb

BOUNDS = mb.MeanBounds([0.7, 0.2, 0.4], [0.95, 0.9, 0.6], arms=["tPA", "medical", "watch"])
PRIOR = mb.Prior([0.8, 0.5, 0.5], [20.0, 2.0, 0.6])


def agent(policy: mb.Policy | None = None, bounds: mb.MeanBounds = BOUNDS) -> mb.Agent:
    return mb.Agent(policy or mb.GLUE(), bounds, seed=7)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda a: a.update("tPA", 1.5), mb.RewardError, r"'tPA'.*1.5.*\[0.0, 1.0\]"),
        (lambda a: a.update("tPA", float("nan")), mb.RewardError, "nan"),
        (lambda a: a.update("tPA", None), mb.RewardError, "None"),
        (lambda a: a.update("tPA", "1"), mb.RewardError, "'1'"),
        (lambda a: a.update("tPA", np.array([0.5, 0.5])), mb.RewardError, "array"),
        (
            lambda a: a.update("surgery", 1.0),
            mb.UnknownArmError,
            "'surgery'; the arms are 'tPA', 'medical', 'watch'",
        ),
        (lambda a: a.pull(eligible=[]), ValueError, "eligible is empty"),
        (lambda a: a.pull(eligible=["tPA", "surgery"]), mb.UnknownArmError, "'surgery'"),
        (lambda a: a.pull(pending="maybe"), ValueError, "'maybe'"),
        (lambda a: a.cancel("watch"), ValueError, "no pending pull"),
        (lambda a: a.restore("watch"), ValueError, "not retired"),
        (lambda a: a.add("tPA"), mb.BoundsError, "named twice"),
        (lambda a: a.add("new", lower=0.9, upper=0.1), mb.BoundsError, "'new'.*0.9.*0.1"),
        (lambda a: a.replace_bounds(mb.MeanBounds([0.1], [0.2])), mb.BoundsError, "other arms"),
        (
            lambda a: a.replace_bounds(mb.MeanBounds.vacuous(BOUNDS.arms, low=0, high=2)),
            mb.BoundsError,
            "reward range",
        ),
    ],
)
def test_errors_are_clear_and_change_nothing(call: object, error: type[Exception], words: str) -> None:
    assert callable(call)
    one = agent()
    one.update(one.pull(), 1.0)
    before = copy.deepcopy(one.to_dict())
    with pytest.raises(error, match=words):
        call(one)
    assert one.to_dict() == before


def test_index_after_t_updates_uses_f_of_t_plus_1() -> None:
    """After 40 updates of "tPA" with mean 1/2: 1/2 + sqrt(2 * c(0.7) * log f(41) / 40) = 0.71, below its cap."""
    one = agent(mb.GLUE(f="t"), mb.MeanBounds([0.7, 0.2], [1.0, 0.9], arms=["tPA", "medical"]))
    for n in range(40):
        one.update("tPA", float(n % 2))
    index = 0.5 + np.sqrt(2 * mb.variance_proxy(0.7) * np.log(41) / 40)
    assert one.indices() == pytest.approx([index, 0.9], rel=1e-14)
    assert index < 0.9


@pytest.mark.parametrize("policy", [mb.ThompsonSampling(), mb.BIMED(), mb.OSSB(), mb.IDS()], ids=repr)
def test_a_policy_without_an_index_says_so(policy: mb.Policy) -> None:
    with pytest.raises(mb.NoIndexError, match=type(policy).__name__):
        agent(policy).indices()


def test_only_offered_arms_count_for_pruning_and_factors() -> None:
    """ "watch" is pruned by the 0.7 of "tPA"; without "tPA" on offer it is not, and l_max is 0.4."""
    one = agent()
    assert one.indices()[2] == -np.inf
    assert {one.pull(eligible=["medical", "watch"]) for _ in range(3)} == {"medical"}
    for _ in range(200):
        one.update("medical", 0.2)
    assert one.pull(eligible=["watch", "medical"]) == "watch"
    assert one.pull(eligible=["watch"]) == "watch"


def test_history_counts_and_leaves_pending_alone() -> None:
    one = agent()
    one.update("medical", 0.3)
    arm = one.pull()
    one.update(arm, 0.5, history=True)
    assert one.pending.sum() == 1
    assert one.plays.sum() == 2
    one.update(arm, 1.0)
    assert one.pending.sum() == 0
    arm = one.pull()
    one.cancel(arm)
    assert one.pending.sum() == 0


def test_order_of_late_rewards_does_not_matter() -> None:
    one, other = agent(), agent()
    for each in (one, other):
        for _ in range(4):
            each.pull()
    told = [("tPA", 1.0), ("medical", 0.25), ("tPA", 0.0), ("medical", 0.5)]
    for arm, reward in told:
        one.update(arm, reward)
    for arm, reward in reversed(told):
        other.update(arm, reward)
    assert one.pull() == other.pull()
    assert one.means.tolist()[:2] == other.means.tolist()[:2]


@pytest.mark.parametrize("policy", [mb.GLUE(), mb.BKLUCB(), mb.BIMED(), mb.UCB()], ids=repr)
def test_a_burst_spreads_only_if_pending_pulls_count(policy: mb.Policy) -> None:
    stuck, spread = (agent(policy, mb.MeanBounds.vacuous(3)) for _ in range(2))
    for each in (stuck, spread):
        for arm, good in ((0, 12), (1, 10), (2, 8)):
            for n in range(20):
                each.update(arm, float(n < good))
    burst = [stuck.pull(pending="ignore") for _ in range(60)]
    counted = [spread.pull(pending="count") for _ in range(60)]
    if policy.has_index:
        assert set(burst) == {0}
    assert len(set(counted)) > 1
    assert spread.plays.tolist() == [20, 20, 20]
    assert spread.pending.sum() == 60


def test_unplayed_arms_spread_too() -> None:
    one = agent(mb.GLUE(), mb.MeanBounds([0.1, 0.1], [0.9, 0.8]))
    assert {one.pull(pending="count") for _ in range(200)} == {0, 1}


def test_new_bounds_from_now_on() -> None:
    one = agent()
    one.replace_bounds(mb.MeanBounds([0.1, 0.8, 0.1], [0.2, 0.9, 0.6], arms=["watch", "tPA", "medical"]))
    assert one.bounds.arms == BOUNDS.arms
    assert one.bounds.lower.tolist() == [0.8, 0.1, 0.1]
    assert [one.pull() for _ in range(3)] == ["tPA"] * 3


def test_arms_come_and_go() -> None:
    one = agent()
    one.update("tPA", 0.0)
    one.add("surgery", lower=0.97, upper=1.0)
    assert one.plays.tolist() == [1, 0, 0, 0]
    assert one.pull() == "surgery"
    one.retire("surgery")
    assert one.retired == ("surgery",)
    assert one.pull() != "surgery"
    one.update("surgery", 1.0)  # a late reward
    assert one.plays[3] == 1
    assert one.indices()[3] == -np.inf
    with pytest.raises(ValueError, match="'surgery' is retired"):
        one.pull(eligible=["surgery"])
    again = mb.Agent.from_dict(json.loads(json.dumps(one.to_dict())))
    assert again.retired == ("surgery",)
    again.restore("surgery")
    assert again.pull() == "surgery"
    for arm in one.bounds.arms:
        one.retire(arm)
    with pytest.raises(ValueError, match="no arm is left"):
        one.pull()


def test_other_ranges() -> None:
    one = mb.Agent(mb.GLUE(), mb.MeanBounds([1.5, 2.0], [4.5, 4.0], low=1.0, high=5.0), seed=1)
    for reward in (1.0, 5.0, 4.0):
        one.update(0, reward)
    assert one.means[0] == pytest.approx(10 / 3)
    with pytest.raises(mb.RewardError, match=r"0.5.*\[1.0, 5.0\]"):
        one.update(0, 0.5)


def test_seeds() -> None:
    assert agent().seed == 7
    one = mb.Agent(mb.UCB(), BOUNDS, seed=np.random.default_rng(3))
    other = mb.Agent(mb.UCB(), BOUNDS, seed=one.seed)
    assert [one.pull() for _ in range(20)] == [other.pull() for _ in range(20)]
    assert mb.Agent(mb.UCB(), BOUNDS).seed != mb.Agent(mb.UCB(), BOUNDS).seed
    with pytest.raises(ValueError, match="seed"):
        mb.Agent(mb.UCB(), BOUNDS, seed=-1)


def test_unreadable_saves_are_refused() -> None:
    saved = agent().to_dict()
    with pytest.raises(ValueError, match="format 99"):
        mb.Agent.from_dict({**saved, "format": 99})
    with pytest.raises(ValueError, match="lacks bounds"):
        mb.Agent.from_dict({"format": 1})
    with pytest.raises(ValueError, match=r"expected \(3,\)"):
        mb.Agent.from_dict({**saved, "pending": [0]})


def test_rewards_of_other_number_types() -> None:
    one = agent()
    rewards: list[Any] = [1, True, np.float32(0.5), np.array(0.25), Decimal("0.25"), Fraction(1, 2)]
    for reward in rewards:
        one.update("tPA", reward)
    assert one.means[0] == pytest.approx(3.5 / 6)


def test_wrong_types_say_what_is_needed() -> None:
    anything: Any = "GLUE"
    with pytest.raises(TypeError, match="a policy such as"):
        mb.Agent(anything, BOUNDS)
    with pytest.raises(TypeError, match="environment must be"):
        mb.simulate(mb.GLUE(), anything)


def test_long_life() -> None:
    """log f is tabulated in pieces; crossing one gives the same as starting there."""
    one = agent(mb.UCB(), mb.MeanBounds.vacuous(2))
    for _ in range(5000):
        one.update(0, 0.5)
    again = mb.Agent.from_dict(one.to_dict())
    assert one.indices().tolist() == again.indices().tolist()
    assert repr(one) == "Agent(UCB(), 2 arms, 5000 updates)"


FEATURES = [[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]]
KINDS: list[Callable[[], mb.Agent]] = [
    lambda: mb.Agent(mb.GLUE(), BOUNDS, seed=7),
    lambda: mb.Agent(mb.OSSB(), BOUNDS, seed=7, floor=0.05),
    lambda: mb.Agent(mb.ThompsonSampling(moments=2), BOUNDS, seed=7),
    lambda: mb.Agent(mb.OptimisticGittins(moments=2), mb.Knowledge(BOUNDS, prior=PRIOR), seed=7, floor=0.05),
    lambda: mb.Agent(mb.UCB(f=np.sqrt), BOUNDS, seed=7),
    lambda: mb.Agent(mb.ROFUL(), BOUNDS, seed=7, features=FEATURES),
]


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize(
    "way", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))], ids=["deepcopy", "pickle"]
)
def test_a_copy_goes_on_alike_and_apart(make: Callable[[], mb.Agent], way: Callable[[mb.Agent], mb.Agent]) -> None:
    one = make()
    rng = np.random.default_rng(1)
    for _ in range(30):
        one.update(one.pull(), float(rng.random()))
    one.pull()
    one.retire("watch")
    other = way(one)
    assert type(other) is mb.Agent
    pulled: list[list[Any]] = []
    for each in (one, other):
        rng = np.random.default_rng(2)
        pulled.append([])
        for _ in range(30):
            pulled[-1].append(each.pull())
            each.update(pulled[-1][-1], float(rng.random()))
    assert pulled[0] == pulled[1]
    other.update("tPA", 0.5)
    assert other.plays.sum() == one.plays.sum() + 1
    assert other.retired == one.retired == ("watch",)


def test_kept_in_a_file(tmp_path: Path) -> None:
    one = agent()
    one.update(one.pull(), 1.0)
    one.save(tmp_path / "agent.json")
    assert mb.Agent.load(tmp_path / "agent.json").to_dict() == one.to_dict()
    assert list(tmp_path.iterdir()) == [tmp_path / "agent.json"]
    (tmp_path / "agent.json").write_text("[1, 2]")
    with pytest.raises(ValueError, match="holds no saved Agent: expected a JSON object, got list"):
        mb.Agent.load(tmp_path / "agent.json")


def test_the_signature_is_the_real_one() -> None:
    parameters = inspect.signature(mb.Agent).parameters
    assert list(parameters) == ["policy", "bounds", "seed", "features", "offset", "floor"]
    assert [p.kind for p in parameters.values()][2:] == [inspect.Parameter.KEYWORD_ONLY] * 4


def test_knowledge_or_bounds_alone() -> None:
    """Wherever bounds are taken, knowledge is, and the other way round."""
    known = mb.Knowledge(BOUNDS)
    assert mb.Agent(mb.GLUE(), known, seed=7).to_dict() == agent().to_dict()
    assert mb.GLUE().plan(known).cap.tolist() == mb.GLUE().plan(BOUNDS).cap.tolist()
    environment = mb.Bernoulli([0.9, 0.5, 0.5])
    simulated = [mb.simulate(mb.GLUE(), environment, both, horizon=100, runs=2, seed=1) for both in (known, BOUNDS)]
    assert simulated[0].final["GLUE"].tolist() == simulated[1].final["GLUE"].tolist()
    assert mb.Knowledge.from_dict(json.loads(json.dumps(known.to_dict()))) == known
    wrong: Any = [0.1, 0.2]
    with pytest.raises(TypeError, match="needs MeanBounds"):
        mb.Knowledge(wrong)


def test_a_policy_called_like_a_built_in_one_is_refused() -> None:
    """It would be made in its place when a saved agent is loaded."""
    with pytest.raises(TypeError, match="GLUE is the name of a built-in policy"):
        type("GLUE", (mb.UCB,), {"__module__": "mine"})
    assert mb.Policy.from_dict({"policy": "GLUE"}) == mb.GLUE()


def test_pending_pulls_count_by_default_where_that_never_hurts() -> None:
    for policy, counts in ((mb.GLUE(), True), (mb.BIMED(), True), (mb.UCB(), False)):
        one, said, ignored = (agent(policy, mb.MeanBounds.vacuous(3)) for _ in range(3))
        for each in (one, said, ignored):
            for arm, good in ((0, 12), (1, 10), (2, 8)):
                for n in range(20):
                    each.update(arm, float(n < good))
        burst = [one.pull() for _ in range(60)]
        assert (burst == [said.pull(pending="count") for _ in range(60)]) == counts
        assert (burst == [ignored.pull(pending="ignore") for _ in range(60)]) == (not counts)


class TestFloor:
    def test_every_arm_that_can_be_best_is_pulled_so_often(self) -> None:
        """Of 20,000 pulls with floor 0.05, an exact binomial test for each arm (false failures: 2e-6)."""
        one = mb.Agent(mb.GLUE(), mb.MeanBounds([0.6, 0.1, 0.1, 0.1], [0.9, 0.8, 0.7, 0.5]), seed=1, floor=0.05)
        for _ in range(3000):
            one.update(0, 0.85)
        chances = one.probabilities()
        assert chances == pytest.approx([0.9, 0.05, 0.05, 0.0])
        pulled = np.zeros(4, dtype=int)
        for _ in range(20_000):
            arm = one.pull()
            pulled[arm] += 1
            one.cancel(arm)
        for k in range(3):
            assert stats.binomtest(int(pulled[k]), 20_000, chances[k]).pvalue > 1e-6
        assert pulled[3] == 0

    def test_a_floor_that_is_too_large_says_what_is_possible(self) -> None:
        one = mb.Agent(mb.GLUE(), mb.MeanBounds.vacuous(4), seed=1, floor=0.3)
        before = one.to_dict()
        with pytest.raises(ValueError, match=r"floor=0\.3 is too large: 4 arms can be best, .* at most 0\.25"):
            one.pull()
        assert one.to_dict() == before
        assert one.pull([0, 1]) in (0, 1)
        for wrong in (-0.1, 1.1, float("nan"), "a lot", True):
            anything: Any = wrong
            with pytest.raises(ValueError, match="floor must be a probability"):
                mb.Agent(mb.GLUE(), BOUNDS, floor=anything)

    def test_it_is_kept(self) -> None:
        one = mb.Agent(mb.GLUE(), mb.MeanBounds.vacuous(4), seed=1, floor=0.2)
        again = mb.Agent.from_dict(json.loads(json.dumps(one.to_dict())))
        assert again.floor == 0.2
        assert [one.pull() for _ in range(50)] == [again.pull() for _ in range(50)]
