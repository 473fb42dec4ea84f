"""An agent without contexts: what it decides, what it is told, what it has; and verdicts, against draws."""

import copy
import pickle
import threading
import warnings
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

import meanbounds as mb
from meanbounds.agents import Decision, Excluded
from meanbounds.known import Known, Seen
from meanbounds.posterior import posterior

BOUNDS = mb.MeanBounds([0.7, 0.2, 0.4], [0.95, 0.9, 0.6], arms=["tPA", "medical", "watch"])
VACUOUS = mb.MeanBounds.vacuous(3)


def agent(policy: mb.policies.Policy | None = None, known: Any = BOUNDS, **given: Any) -> mb.Agent:
    return mb.Agent(policy or mb.GLUE(), known, seed=7, **given)


def feed(one: mb.Agent, wins: dict[Any, tuple[int, int]]) -> None:
    """Tell of so many wins in so many rewards of each arm."""
    for arm, (good, number) in wins.items():
        for n in range(number):
            one.update(arm, float(n < good), pulled=False)


def test_only_eligible_arms_exclude_others() -> None:
    """ "watch" is excluded by the 0.7 of "tPA"; where "tPA" is not eligible, it is not."""
    one = agent()
    assert one.indices()[2] == -np.inf
    feed(one, {"medical": (40, 200)})
    assert one.pull(eligible=["watch", "medical"]) == "watch"
    assert one.pull(eligible=iter(["watch"])) == "watch"
    assert one.probabilities(eligible=np.array(["medical", "watch"])).tolist() == [0.0, 0.0, 1.0]


def test_what_waits_for_a_reward() -> None:
    one = agent()
    one.update("medical", 0.3, pulled=False)
    arm = one.pull()
    one.update(arm, 0.5, pulled=False)
    assert one.pending().tolist() == [1, 0, 0]
    one.update(arm, 1.0)
    assert one.pending().sum() == 0
    one.cancel(one.pull())
    assert one.pending().sum() == 0
    assert (one.pulls().tolist(), one.plays().tolist(), one.updates()) == ([2, 0, 0], [2, 1, 0], 3)
    assert one.means() == pytest.approx([0.75, 0.3, np.nan], nan_ok=True)


@pytest.mark.parametrize("policy", [mb.UCB(), mb.GLUE()], ids=repr)
def test_a_burst_of_pulls_spreads_only_if_those_that_wait_count(policy: mb.policies.Policy) -> None:
    bursts: dict[Any, list[Any]] = {}
    for pending in ("ignore", "count", None):
        one = agent(policy, VACUOUS)
        feed(one, {0: (12, 20), 1: (10, 20), 2: (8, 20)})
        bursts[pending] = [one.pull(pending=pending) for _ in range(60)]
        assert one.pending().sum() == 60
    assert set(bursts["ignore"]) == {0}
    assert len(set(bursts["count"])) > 1
    assert bursts[None] == bursts["count" if policy.counts_pending else "ignore"]


def test_other_knowledge_leaves_what_was_seen_alone() -> None:
    """The arms of the new knowledge are in another order, and so are its prior and its trust."""
    one = agent(mb.ThompsonSampling())
    feed(one, {"tPA": (3, 4)})
    before = one.to_dict()
    bounds = mb.MeanBounds([0.1, 0.8, 0.2], [0.2, 0.9, 0.6], arms=["watch", "tPA", "medical"])
    one.know(mb.Knowledge(bounds, trust=[0.9, 1.0, 0.5], prior=mb.Prior([0.3, 0.7, 0.4], [4.0, 8.0, 6.0])))
    after = one.to_dict()
    assert {name for name in after if after[name] != before.get(name)} == {
        *("lower", "upper", "trust", "prior_mean", "prior_strength")
    }
    ordered = mb.MeanBounds([0.8, 0.2, 0.1], [0.9, 0.6, 0.2], arms=BOUNDS.arms)
    known = mb.Knowledge(ordered, trust=[1.0, 0.5, 0.9], prior=mb.Prior([0.7, 0.4, 0.3], [8.0, 6.0, 4.0]))
    assert one.knowledge() == known
    one.know(BOUNDS)
    assert one.to_dict() == before


def test_arms_come_and_go() -> None:
    one = agent()
    feed(one, {"tPA": (0, 1)})
    one.add(mb.MeanBounds([0.97], [1.0], arms=["surgery"]))
    assert one.arms == ("tPA", "medical", "watch", "surgery")
    assert one.pull() == "surgery"
    one.retire("surgery")
    assert one.retired == ("surgery",)
    assert one.pull(eligible=["surgery", "medical"]) == "medical"
    one.update("surgery", 1.0)  # a late reward
    assert one.plays().tolist() == [1, 0, 0, 1]
    assert one.indices()[3] == -np.inf
    with pytest.raises(ValueError, match="no eligible arm is left: all are retired or forbidden"):
        one.pull(eligible=["surgery"])
    again = mb.Agent.from_dict(one.to_dict())
    again.restore("surgery")
    assert again.pull() == "surgery"
    again.forbid(["surgery", "tPA"])
    assert (again.pull(), again.forbidden()) == ("medical", ("tPA", "surgery"))
    again.forbid([])
    assert again.pull() == "surgery"


def test_a_new_arm_beside_a_prior_has_the_uniform_prior() -> None:
    one = agent(mb.ThompsonSampling(), mb.Knowledge(BOUNDS, prior=mb.Prior(0.5, 4.0)))
    one.add(mb.Knowledge(mb.MeanBounds([1.0], [4.0], arms=["new"], high=5.0), trust=0.9))
    assert one.knowledge().prior == mb.Prior([0.5, 0.5, 0.5, 2.5], [4.0, 4.0, 4.0, 2.0])
    assert one.knowledge().trust == (1.0, 1.0, 1.0, 0.9)
    assert mb.Agent.from_dict(one.to_dict()).to_dict() == one.to_dict()


def test_rewards_of_other_number_types() -> None:
    one = agent()
    rewards: list[Any] = [1, True, np.float32(0.5), np.array(0.25), Decimal("0.25"), Fraction(1, 2)]
    for reward in rewards:
        one.update("tPA", reward, pulled=False)
    assert one.means()[0] == pytest.approx(3.5 / 6)


@pytest.mark.parametrize(("policy", "delay"), [(mb.GLUE(), None), (mb.GLUE(), 5), (mb.UCB(), 5)])
def test_an_agent_plays_as_run_0_of_a_simulation(policy: mb.policies.Policy, delay: int | None) -> None:
    environment = mb.simulation.Uniform([0.8, 0.7, 0.5])
    players = {"policy": policy, "agent": lambda seed: mb.Agent(policy, BOUNDS, seed=seed)}
    regret = mb.simulate(players, environment, BOUNDS, horizon=500, runs=1, seed=4, delay=delay)
    assert regret.plays["agent"].tolist() == regret.plays["policy"].tolist()
    np.testing.assert_allclose(regret.curves["agent"], regret.curves["policy"], rtol=1e-9)


@pytest.mark.parametrize("policy", [mb.GLUE(), mb.OptimisticGittins()])
@pytest.mark.parametrize("delay", [None, 5])
def test_an_agent_forgets_as_run_0_of_a_simulation_does(policy: mb.policies.Policy, delay: int | None) -> None:
    stages = (1, mb.simulation.Uniform([0.8, 0.7, 0.5])), (251, mb.simulation.Uniform([0.1, 0.7, 0.5]))
    known, drift = mb.MeanBounds([0.0, 0.2, 0.1], [0.9, 0.9, 0.8]), mb.evidence.Drift(alarm=0.5, cap=100)
    given: dict[str, Any] = {"horizon": 500, "runs": 1, "seed": 4, "delay": delay}
    made: list[mb.Agent] = []

    def player(seed: int) -> mb.Agent:
        made.append(mb.Agent(policy, known, seed=seed, drift=drift))
        return made[-1]

    environment = mb.simulation.Changing(stages)
    alone = mb.simulate({"policy": policy}, environment, known, **given, drift=drift)
    beside = mb.simulate({"agent": player}, environment, known, **given)
    assert made[-1].restarts() > 0
    np.testing.assert_allclose(beside.curves["agent"], alone.curves["policy"], rtol=1e-9)


def test_decisions_say_how_probable_they_were_and_why() -> None:
    one, twin = agent(known=mb.MeanBounds([0.2, 0.2, 0.1], [0.9, 0.9, 0.3])), None
    assert one.probabilities().tolist() == [0.5, 0.5, 0.0]
    twin = copy.deepcopy(one)
    assert one.decide() == Decision(None, twin.pull(), 0.5, "policy")
    assert one.decide(eligible=[2]) == Decision(None, 2, 1.0, "only option")
    floored = agent(known=VACUOUS, floor=0.3)
    found = [floored.decide() for _ in range(200)]
    assert {each.reason for each in found} == {"policy", "floor"}


def test_every_arm_that_may_be_best_is_pulled_as_often_as_the_floor_says() -> None:
    """Of 20,000 pulls with floor 0.05, an exact binomial test for each arm (false failures: 3e-6 / 3)."""
    one = agent(known=mb.MeanBounds([0.6, 0.1, 0.1, 0.1], [0.9, 0.8, 0.7, 0.5]), floor=0.05)
    for _ in range(3000):
        one.update(0, 0.85, pulled=False)
    chances = one.probabilities()
    assert chances == pytest.approx([0.9, 0.05, 0.05, 0.0])
    pulled = np.zeros(4, dtype=int)
    for _ in range(20_000):
        arm: Any = one.pull()
        pulled[arm] += 1
        one.cancel(arm)
    assert pulled[3] == 0
    for k in range(3):
        assert stats.binomtest(int(pulled[k]), 20_000, chances[k]).pvalue > 1e-6
    again = mb.Agent.from_dict(one.to_dict())
    assert again.floor == 0.05
    assert [one.pull() for _ in range(50)] == [again.pull() for _ in range(50)]


def test_with_trust_below_1_the_floor_is_for_all_arms() -> None:
    known = mb.Knowledge(mb.MeanBounds([0.6, 0.1, 0.1], [0.9, 0.8, 0.5]), trust=0.9)
    assert agent(known=known, floor=0.1).probabilities() == pytest.approx([0.8, 0.1, 0.1])


def test_what_bounds_exclude() -> None:
    assert agent().excluded() == [Excluded(None, "watch", 0.6, "tPA", 0.7)]
    assert agent(known=mb.Knowledge(BOUNDS, trust=[0.9, 1.0, 1.0])).excluded() == []
    one = agent()
    one.retire("tPA")
    assert one.excluded() == []


def test_a_contradicted_bound_is_warned_of_once() -> None:
    one = agent(known=mb.MeanBounds([0.2, 0.3, 0.0], [0.5, 0.8, 0.9], arms=BOUNDS.arms))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        feed(one, {"tPA": (60, 60), "medical": (6, 10)})
        again = mb.Agent.from_dict(one.to_dict())
        feed(again, {"tPA": (10, 10)})
    assert len(caught) == 1
    message = caught[0].message
    assert isinstance(message, mb.evidence.ContradictionWarning)
    assert caught[0].filename == __file__
    (found,) = one.contradictions()
    assert (found.arm, found.side, found.bound, found.plays) == ("tPA", "upper", 0.5, 60)
    assert found.since == message.contradiction.plays < 20
    assert [each.arm for each in again.contradictions(1e-6)] == ["tPA"]
    again.know(mb.MeanBounds([0.2, 0.3, 0.0], [1.0, 0.8, 0.9], arms=BOUNDS.arms))
    assert again.contradictions() == []


def test_a_warning_that_is_an_error_leaves_the_agent_as_it_was() -> None:
    one = agent(known=mb.MeanBounds([0.0, 0.1], [0.0, 0.9]))
    before = one.plays().tolist()
    with pytest.raises(mb.evidence.ContradictionWarning):
        one.update(0, 0.5, pulled=False)
    assert one.plays().tolist() == before
    one.update(0, 0.5, pulled=False)
    assert one.plays().tolist() == [1, 0]


def test_rewards_that_are_missing_count_for_the_bound() -> None:
    """Only the good rewards came: with 20 pulls that wait, 20 rewards of 1 do not contradict a bound of 0.6."""
    one = agent(known=mb.MeanBounds([0.2], [0.6]))
    for _ in range(40):
        one.pull()
    for _ in range(20):
        one.update(0, 1.0)
    assert one.contradictions() == []


@pytest.mark.parametrize(
    "way", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))], ids=["deepcopy", "pickle"]
)
def test_a_copy_goes_on_alike_and_apart(way: Callable[[mb.Agent], mb.Agent]) -> None:
    one = agent(floor=0.05)
    rng = np.random.default_rng(1)
    for reward in rng.random(30).tolist():
        one.update(one.pull(), reward)
    one.pull()
    other = way(one)
    assert other.to_dict() == one.to_dict()
    for reward in rng.random(30).tolist():
        arm = one.pull()
        assert other.pull() == arm
        one.update(arm, reward)
        other.update(arm, reward)
    other.update("tPA", 0.5, pulled=False)
    assert other.updates() == one.updates() + 1


def test_threads_share_an_agent() -> None:
    one = agent(known=VACUOUS)

    def work() -> None:
        for _ in range(300):
            one.update(one.pull(), 0.5)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (one.updates(), one.pulls().sum(), one.pending().sum()) == (1200, 1200, 0)


@pytest.mark.parametrize("policy", [mb.UCB(), mb.KLUCB()], ids=str)
def test_policies_without_bounds_do_not_see_them_in_pending_pulls(policy: mb.policies.Policy) -> None:
    played = []
    for bounds in (mb.MeanBounds([0.1, 0, 0], [0.2, 1, 0.1]), mb.MeanBounds.vacuous(3)):
        one = mb.Agent(policy, bounds, seed=3)
        for arm, reward in ((0, 1.0), (0, 1.0), (0, 0.0), (1, 1.0), (1, 0.0), (1, 0.0)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                one.update(arm, reward, pulled=False)
        played.append([one.pull(pending="count") for _ in range(12)])
    assert played[0] == played[1]


def test_a_proposal_that_is_played_is_a_decision() -> None:
    bounds = mb.MeanBounds([0.2, 0.2, 0.1], [0.9, 0.9, 0.95], arms=["a", "b", "c"])
    one, other = (mb.Agent(mb.ThompsonSampling(), bounds, seed=3, floor=0.05) for _ in range(2))
    for reward in np.random.default_rng(1).random(40).round():
        before = one.to_dict()
        decision = one.propose()
        assert one.to_dict() == before
        one.play(decision.arm)
        assert other.decide() == decision
        for agent in (one, other):
            agent.update(decision.arm, reward)
    assert one.to_dict() == other.to_dict()


def test_another_policy_goes_on_from_what_was_seen() -> None:
    name: Any = "UCB"
    bounds = mb.MeanBounds([0.2, 0.2], [0.9, 0.9], arms=["a", "b"])
    agent, other = mb.Agent(mb.UCB(), bounds, seed=3), mb.Agent(mb.GLUE(), bounds, seed=3, floor=0.1)
    for own in (agent, other):
        for arm, reward in [("a", 1.0), ("b", 0.0), ("a", 1.0)]:
            own.update(arm, reward, pulled=False)
    agent.follow(mb.GLUE(), floor=0.1)
    assert agent.to_dict() == other.to_dict()
    assert agent.decide() == other.decide()
    with pytest.raises(ValueError, match="floor must be a probability"):
        agent.follow(mb.UCB(), floor=2.0)
    with pytest.raises(TypeError, match="not a name"):
        agent.follow(name)
    assert isinstance(agent.policy, mb.GLUE)


@pytest.mark.parametrize("seed", range(6))
def test_a_verdict_says_what_draws_from_the_posterior_say(seed: int) -> None:
    rng, arms = np.random.default_rng(seed), 2 + seed % 4
    lower = rng.uniform(0.0, 0.4, arms)
    bounds = mb.MeanBounds(lower, np.minimum(1.0, lower + rng.uniform(0.3, 0.9, arms)), low=-1.0, high=3.0)
    one = mb.Agent(mb.OptimisticGittins(), mb.Knowledge(bounds, trust=0.9 if seed % 2 else 1.0), seed=1)
    for _ in range(30):
        one.update(int(rng.integers(arms)), float(rng.choice([-1.0, 3.0])), pulled=False)
    found = one.verdict()
    sums = [one.plays() * 1.0, (one.means() + 1.0) / 4.0 * one.plays()]
    rows = [np.tile(np.nan_to_num(part), (100_000, 1)) for part in (sums[0], sums[1], sums[1], sums[1])]
    known = Known.of([one.knowledge()])
    drawn = posterior(known, Seen(*rows)).draw(rng.random((100_000, arms)))
    drawn = drawn[:, known.possible[0]]
    names = np.flatnonzero(known.possible[0])
    assert names[drawn.mean(axis=0).argmax()] == found.arm
    assert abs((names[drawn.argmax(axis=1)] == found.arm).mean() - found.probability) < 0.008
    assert abs(drawn.max(axis=1).mean() - drawn.mean(axis=0).max() - found.worth) < 0.01


def test_nothing_is_left_to_try_where_one_option_is_left() -> None:
    one = mb.Agent(mb.UCB(), mb.MeanBounds([0.8, 0.1], [0.9, 0.5], arms=["a", "b"]), seed=1)
    assert one.verdict() == ("a", 1.0, 0.0)
    assert one.verdict().done()


def test_experts_can_be_the_verdict() -> None:
    bounds = mb.MeanBounds([0.0, 0.8], [1.0, 0.9], arms=["new", mb.EXPERT])
    one = mb.Agent(mb.policies.Guarded(mb.OptimisticGittins(), mb.Promise(margin=0.1)), {"north": bounds}, seed=1)
    first = one.verdict("north")
    assert first.arm is mb.EXPERT
    assert not first.done()
    for _ in range(200):
        one.update("new", 0.0, "north", pulled=False)
    assert one.verdict("north").done()
