"""Drift: false alarms at their level, changes that are found, and what is forgotten then."""

import json
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import meanbounds as mb
from meanbounds.evidence import Drift
from meanbounds.evidence.drift import Memory, doubted
from meanbounds.known import Known, Seen
from meanbounds.posterior import posterior


def restarts(means: np.ndarray, runs: int, seed: int, drift: Drift) -> Memory:
    """One arm with this mean in each round, in many runs."""
    rng, rows = np.random.default_rng(seed), np.arange(runs)
    memory = Memory(drift, runs, 1)
    for mean in means:
        memory.add(rows, np.zeros(runs, dtype=np.int64), 1.0 * (rng.random(runs) < mean), np.full(runs, 0.5))
    return memory


@pytest.mark.parametrize("mean", [0.5, 0.03])
def test_false_alarms_keep_to_their_level(mean: float) -> None:
    memory = restarts(np.full(3_000, mean), runs=300, seed=1, drift=Drift(alarm=0.1))
    assert (memory.restarts > 0).sum() <= binom.isf(1e-6, 300, 0.1)
    tight = restarts(np.full(300, mean), runs=300, seed=1, drift=Drift(alarm=0.5))
    assert (tight.restarts > 0).sum() <= binom.isf(1e-6, 300, 0.5)


def test_a_change_is_found_and_what_came_before_is_forgotten() -> None:
    means = np.repeat([0.6, 0.4], [1_000, 1_000])
    memory = restarts(means, runs=200, seed=2, drift=Drift(cap=None))
    found = memory.restarts == 1
    assert found.mean() > 0.95
    kept = memory.seen.plays[found, 0]
    assert np.median(np.abs(kept - 1_000.0)) < 60
    assert abs(memory.seen.total[found, 0].sum() / kept.sum() - 0.4) < 0.02
    assert (memory.age[found] == kept).all()


def test_graded_rewards_raise_no_false_alarm() -> None:
    rng, rows, arms = np.random.default_rng(3), np.arange(200), np.zeros(200, dtype=np.int64)
    memory = Memory(Drift(alarm=0.2), 200, 1)
    for _ in range(1_000):
        memory.add(rows, arms, rng.beta(2.0, 3.0, 200), rng.random(200))
    assert (memory.restarts > 0).sum() <= binom.isf(1e-6, 200, 0.2)


def test_a_restart_concerns_one_row_and_all_of_its_arms() -> None:
    memory, both = Memory(Drift(cap=None), 2, 2), np.arange(2)
    for _ in range(50):
        memory.add(both, np.ones(2, dtype=np.int64), np.zeros(2), np.full(2, 0.5))
    for reward in [1.0] * 60 + [0.0] * 30:
        memory.add(both, np.zeros(2, dtype=np.int64), np.array([reward, 1.0]), np.full(2, 0.5))
    assert memory.restarts.tolist() == [1, 0]
    assert memory.seen.plays[0, 1] == 0
    assert memory.seen.plays[0, 0] < 35
    assert memory.seen.plays[1].tolist() == [90, 50]


def test_cap_and_half_life_limit_what_counts() -> None:
    capped = restarts(np.full(500, 0.5), runs=3, seed=4, drift=Drift(cap=100))
    assert capped.seen.plays.ravel().tolist() == [100.0] * 3
    halved = restarts(np.full(500, 0.5), runs=3, seed=4, drift=Drift(cap=None, half_life=50))
    np.testing.assert_allclose(halved.seen.plays, (1 - 0.5**10) / (1 - 0.5 ** (1 / 50)))


def test_bounds_and_priors_are_doubted_after_a_restart_but_not_those_of_experts() -> None:
    bounds = mb.MeanBounds([0.2, 0.0, 0.5], [0.4, 1.0, 0.6], arms=["a", "b", mb.EXPERT])
    known = Known.of([mb.Knowledge(bounds, prior=mb.Prior(0.3, 10.0))])
    found = doubted(known, np.array([False, True]))
    assert found.log_n is not None
    assert found.prior is not None
    np.testing.assert_allclose(found.log_n, [[np.inf] * 3, [np.log(2), np.inf, np.inf]])
    np.testing.assert_allclose(found.prior[0][:, :2], [[3, 3], [1, 1]])
    assert found.prior[0][1, 2] == 1


def test_simulations_follow_a_drop_and_lose_little_where_nothing_moves() -> None:
    still = mb.Bernoulli([0.8, 0.5, 0.4])
    drop = mb.simulation.Changing([(1, still), (1_001, mb.Bernoulli([0.1, 0.5, 0.4]))])
    given: dict[str, Any] = {"horizon": 2_000, "runs": 16, "seed": 5}
    regret = {
        (name, drift is not None): mb.simulate(mb.OptimisticGittins(), world, **given, drift=drift).final[
            "OptimisticGittins"
        ]
        for name, world in (("still", still), ("drop", drop))
        for drift in (None, Drift())
    }
    assert regret["drop", True].mean() < 0.2 * regret["drop", False].mean()
    assert regret["still", True].mean() < 1.1 * regret["still", False].mean() + 1.0


def play(agent: mb.Agent, means: list[float], rounds: int, rng: np.random.Generator, context: str) -> list[Any]:
    arms: list[Any] = []
    for _ in range(rounds):
        arms.append(agent.pull(context))
        agent.update(arms[-1], float(rng.random() < means[arms[-1]]), context)
    return arms


def test_an_agent_forgets_in_one_context_and_is_saved_with_its_memory() -> None:
    bounds = mb.MeanBounds([0.3, 0.2, 0.1], [0.9, 0.8, 0.7])
    played = []
    for saved in (False, True):
        rng = np.random.default_rng(6)
        agent = mb.Agent(mb.OptimisticGittins(), {"north": bounds, "south": bounds}, seed=7, drift=Drift())
        arms = []
        for means, context in (([0.8, 0.5, 0.4], "north"), ([0.8, 0.5, 0.4], "south"), ([0.05, 0.5, 0.4], "north")):
            arms += play(agent, means, 300, rng, context)
            if saved:
                agent = mb.Agent.from_dict(json.loads(json.dumps(agent.to_dict())))
        played.append(arms)
        assert (agent.restarts("north"), agent.restarts("south"), agent.restarts()) == (1, 0, 1)
        assert agent.plays("north").sum() == 600  # what it has seen stays
    assert played[0] == played[1]
    assert 0 not in played[0][-20:]
    agent.add(mb.MeanBounds([0.9], [1.0], arms=["new"]))
    assert agent.pull("north") == "new"
    agent.update("new", 1.0, "north")
    agent.forget_context("north")
    assert agent.restarts() == 0


def test_a_damaged_memory_is_refused() -> None:
    agent = mb.Agent(mb.UCB(), mb.MeanBounds.vacuous(2), seed=7, drift=Drift())
    play(agent, [0.5, 0.5], 30, np.random.default_rng(0), None)  # type: ignore[arg-type]
    damages: list[dict[str, Any]] = [
        {"plays": [-1, 2]},
        {"total": [99, 99]},
        {"marks": []},
        {"age": -1},
        {"since": [[1, 2, 1, 1]] * 2},
    ]
    for damage in damages:
        data = agent.to_dict()
        data["remembered"]["0"] |= damage
        with pytest.raises(ValueError, match="the saved Memory cannot be read"):
            mb.Agent.from_dict(data)


def test_pooling_and_promises_by_what_experts_earn_do_not_go_with_drift() -> None:
    bounds = mb.MeanBounds([0.0, 0.5], [0.9, 1.0], arms=["a", mb.EXPERT])
    with pytest.raises(ValueError, match="leave out pool or drift"):
        mb.Agent(mb.OptimisticGittins(), {"x": bounds}, pool=True, drift=Drift())
    promise = mb.Promise(margin=0.05)
    with pytest.raises(ValueError, match="pooled=True"):
        mb.Agent(mb.policies.Guarded(mb.OptimisticGittins(), promise), bounds, drift=Drift())
    guarded = mb.policies.Guarded(mb.UCB(), promise)
    with pytest.raises(ValueError, match="pooled=True"):
        mb.simulate(guarded, mb.Bernoulli([0.5, 0.5]), bounds, horizon=5, runs=1, drift=Drift())
    agent = mb.Agent(mb.policies.Guarded(mb.UCB(), promise, pooled=True), {"x": bounds}, seed=1, drift=Drift())
    for _ in range(100):  # a promise goes by all rewards, also by those that the policy forgot
        arm = agent.pull("x")
        agent.observe("a", 1.0, "x") if arm is mb.EXPERT else agent.update(arm, 0.0, "x")
    assert agent.budget("x")[1] <= agent.budget("x")[0]


def test_nonsense_is_refused() -> None:
    for wrong in ({"alarm": 0.0}, {"alarm": True}, {"cap": 5}, {"half_life": float("nan")}):
        with pytest.raises(ValueError, match="must be"):
            Drift(**wrong)
    with pytest.raises(TypeError, match="drift must be"):
        mb.simulate(mb.UCB(), mb.Bernoulli([0.5]), horizon=5, runs=1, drift=100)  # type: ignore[arg-type]


def test_a_law_of_all_arms_is_learned_from_what_is_remembered() -> None:
    known = Known.of([mb.Knowledge(mb.MeanBounds.vacuous(3), prior=mb.Prior.learned())])
    memory, rng = Memory(Drift(cap=10), 1, 3), np.random.default_rng(4)
    actual = Seen.empty(1, 3)
    for play in range(300):
        row, arm, reward = np.array([0]), np.array([play % 3]), np.array([float(rng.random() < 0.05)])
        memory.add(row, arm, reward, np.array([0.5]))
        actual.add(row, arm, reward, np.array([0.5]))
    found = [posterior(known, seen).mean for seen in (memory.beside(actual), memory.seen, actual)]
    np.testing.assert_array_equal(found[0], found[1])
    assert found[2].mean() < found[1].mean()


def test_lower_bounds_pay_for_nothing_elsewhere_once_means_have_moved() -> None:
    """Of two contexts that share a budget, one has had a bad option that was thought to be good."""
    bounds = mb.MeanBounds([0.6, 0.0], [0.9, 0.6], arms=["new", mb.EXPERT])
    guard = mb.policies.Guarded(mb.GLUE(), mb.Promise(margin=0.01), pooled=True)
    one = mb.Agent(guard, {"moved": bounds, "other": bounds}, seed=1, drift=Drift())
    for play in range(400):
        one.play("new", "moved")
        one.update("new", float(play < 300 and play % 10 < 7), "moved")
    assert one.restarts("moved") == 1
    allowed, lost = one.budget("other")
    assert lost > allowed
    assert one.decide("other").reason == "guard"
