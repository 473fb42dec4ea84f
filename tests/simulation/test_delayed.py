"""Late and lost rewards: the simulator, the agent and a twin in plain Python decide alike."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Literal

import numba
import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from scipy import stats

import meanbounds as mb
from meanbounds.kernels.arms import delayed
from meanbounds.kernels.arms.tables import State
from meanbounds.kernels.random.rewards import draw
from meanbounds.kernels.random.stream import child, delay_key, reward_key
from meanbounds.simulation import Blocks, Delay
from meanbounds.simulation.tasks import _DelayedTask, task_for
from tests import naive_delayed, strategies
from tests.children import run_interpreted
from tests.naive import TWINS, rounds_of

INTERPRETED = bool(numba.config.DISABLE_JIT)
EXAMPLES, ROUNDS = (4, 40) if INTERPRETED else (30, 120)
ENVIRONMENT = mb.Bernoulli([0.9, 0.8, 0.5])
BOUNDS = mb.MeanBounds([0.8, 0.1, 0.1], [0.95, 0.95, 0.7])
POLICIES = {str(policy): policy for policy in TWINS}
PENDING: tuple[Literal["ignore", "count"], ...] = ("ignore", "count")
BY_NAME = pytest.mark.parametrize("policy", TWINS, ids=repr)

DELAYS = st.builds(Delay, st.integers(0, 40), st.just("fixed"), lost=st.sampled_from([0.0, 0.1, 0.5, 1.0])) | st.builds(
    Delay, st.floats(0.0, 40.0), st.just("geometric"), lost=st.sampled_from([0.0, 0.1, 0.5])
)


def run(**options: Any) -> mb.Regret:
    arguments = {"horizon": 300, "runs": 6, "seed": 7, "checkpoints": 20} | options
    return mb.simulate(POLICIES, ENVIRONMENT, BOUNDS, **arguments)


def assert_same(one: mb.Regret, other: mb.Regret) -> None:
    for label in POLICIES:
        np.testing.assert_array_equal(one.curves[label], other.curves[label])
        np.testing.assert_array_equal(one.plays[label], other.plays[label])


def pulls_by_round(
    policy: mb.Policy, case: strategies.Case, delay: Delay, pending: Literal["ignore", "count"]
) -> list[int]:
    """The arm of each round of run 0, read off the regret: the gaps are made powers of 2^8, so no two sums agree."""
    task = task_for(
        policy,
        case.environment,
        case.bounds,
        case.seed,
        np.arange(1, case.horizon + 1),
        delay=delay,
        counts_pending=pending == "count",
    )
    assert isinstance(task, _DelayedTask)
    steps = task._replace(gaps=np.array([256.0**k for k in range(len(case.bounds))])).play(0, 1).curves[0]
    return [round(math.log2(step) / 8.0) for step in np.diff(steps, prepend=0.0)]


@pytest.mark.no_cover  # it repeats what other tests do once
@BY_NAME
@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(case=strategies.cases(most_arms=5, horizon=ROUNDS), delay=DELAYS, pending=st.sampled_from(PENDING))
def test_plays_as_its_twin(
    policy: mb.Policy, case: strategies.Case, delay: Delay, pending: Literal["ignore", "count"]
) -> None:
    case = case._replace(horizon=rounds_of(policy, case.horizon))
    # Equal values give indices that are equal except for the rounding of supposed rewards, which then decides.
    assume(pending == "ignore" or not isinstance(case.environment, mb.Table))
    expected = naive_delayed.play(
        policy, case.environment, case.bounds, case.horizon, case.seed, delay, pending == "count"
    )
    assert pulls_by_round(policy, case, delay, pending)[: len(expected)] == expected


@pytest.mark.parametrize("pending", PENDING)
@pytest.mark.parametrize(
    "delay", [Delay(17), Delay(0, lost=0.3), Delay(9.5, "geometric"), Delay(30, "geometric", lost=0.2)], ids=repr
)
@BY_NAME
def test_an_agent_that_is_told_late_decides_alike(
    policy: mb.Policy, delay: Delay, pending: Literal["ignore", "count"]
) -> None:
    """The agent is told each reward in the round in which it is due, those of one round in the order of their pulls."""
    bounds = mb.MeanBounds([0.3, 0.2, 0.1], [0.8, 0.9, 0.9])
    case = strategies.Case(mb.Beta([0.7, 0.6, 0.3]), bounds, rounds_of(policy, 150), 5)
    law = case.environment.rewards(case.bounds.low, case.bounds.high)
    streams, lateness = (np.uint64(f(np.uint64(case.seed), 0)) for f in (reward_key, delay_key))
    delays = delay.delays(case.horizon)
    agent = mb.Agent(policy, case.bounds, seed=case.seed)
    due: dict[int, list[tuple[int, float]]] = {}
    arms: list[int] = []
    for t in range(1, case.horizon + 1):
        for arm, reward in due.pop(t, []):
            agent.update(arm, reward)
        arm = int(agent.pull(pending=pending))
        late = delayed.draw_delay(delays, lateness, t - 1)
        if late != delayed.LOST:
            reward = draw(law, arm, np.uint64(child(streams, arm)), arms.count(arm))
            due.setdefault(t + 1 + late, []).append((arm, reward))
        arms.append(arm)
    assert pulls_by_round(policy, case, delay, pending) == arms


def test_a_delay_of_nothing_changes_nothing() -> None:
    """The fast kernels play without a delay, the textbook with a delay of 0; nothing is then pending."""
    fast = run()
    for pending in PENDING:
        assert_same(fast, run(pending=pending))
        for delay in (0, Delay(0), Delay(0.0, "geometric")):
            assert_same(fast, run(delay=delay, pending=pending))
    assert "delay" not in fast.settings
    assert "pending" not in fast.settings


def test_settings_say_what_was_late() -> None:
    settings = run(delay=Delay(5, "geometric", lost=0.1), pending="count").settings
    assert settings["delay"] == {"mean": 5.0, "law": "geometric", "lost": 0.1}
    assert settings["pending"] == "count"
    assert run(delay=np.int64(5)).settings["delay"] == {"mean": 5.0, "law": "fixed", "lost": 0.0}


@pytest.mark.parametrize("pending", PENDING)
@pytest.mark.parametrize("delay", [Delay(40), Delay(20, "geometric", lost=0.4)], ids=repr)
def test_the_same_for_any_threads_blocks_and_windows(
    delay: Delay, pending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run(delay=delay, pending=pending)
    assert_same(whole, run(delay=delay, pending=pending, workers=1, block=1))
    monkeypatch.setattr("meanbounds.simulation.tasks.WINDOW", 16)
    assert_same(whole, run(delay=delay, pending=pending, checkpoints=20))


def test_interrupted_simulations_are_told_apart(tmp_path: Path) -> None:
    """Blocks that were finished with one delay are not taken for those of another."""
    with Blocks(tmp_path) as blocks:
        for options in ({}, {"delay": 5}, {"delay": 6}, {"delay": 6, "pending": "count"}):
            assert_same(run(**options), run(**options, resume=blocks))


def test_the_regret_is_that_of_pulls() -> None:
    """All pulls count, also those whose reward never comes: 300 in each run, and no reward is ever seen."""
    regret = run(delay=Delay(0, lost=1.0))
    for label in regret.labels:
        assert regret.plays[label].sum(axis=1).tolist() == [300] * 6
        np.testing.assert_allclose(regret.final[label], regret.plays[label] @ ENVIRONMENT.gaps)
        assert np.all(np.diff(regret.curves[label], axis=1) >= 0)


def test_no_reward_can_be_used_before_it_is_due() -> None:
    """Late by the horizon or more is as good as lost; one round less, and the last decision differs."""
    lost = run(delay=Delay(0, lost=1.0), pending="count")
    assert_same(lost, run(delay=299, pending="count"))
    assert_same(lost, run(delay=10**15, pending="count"))
    few = [run(delay=delay, horizon=3, runs=400, checkpoints=3).plays["GLUE"] for delay in (1, 2)]
    assert not np.array_equal(few[0], few[1])


def test_as_if_answered() -> None:
    """Arm 0: 2 rewards, 1.0 and 0.5, 3 pulls out, of which 2 count: 4 plays, 1.5 + 2 * 0.75 in total.

    Arm 1: no reward, 2 out, middle 0.4. Arm 2 has nothing out and stays as it is; the fifth row, the kernel's memory,
    is not by arm. The last rows are sums of 1 - reward and of its square.
    """
    state = np.array([[2.0, 0, 4], [1.5, 0, 1], [1.25, 0, 1], [1, 0, 1], [7, 8, 9], [0.5, 0, 3], [0.25, 0, 3]])
    assert len(state) == len(State._fields)
    out = np.empty_like(state)
    delayed.as_if_answered(state, np.array([3.0, 2, 0]), np.array([0.5, 0.4, 0.5]), out)
    sums = [[4.0, 2, 4], [3.0, 0.8, 1], [2.5, 0.8, 1], [2.0, 0.8, 1], [7, 8, 9]]
    expected = np.array([*sums, [1.0, 1.2, 3], [0.5, 1.2, 3]])
    np.testing.assert_allclose(out, expected, rtol=1e-15)
    assert state[0].tolist() == [2.0, 0.0, 4.0]


def test_middle_of_bounds_in_units_of_the_range() -> None:
    lower, upper, low, high = (np.array([value]) for value in (2.0, 4.0, 1.0, 5.0))
    assert delayed.middle_of(lower, upper, low, high).tolist() == [0.5]


def drawn(delay: Delay, size: int = 4000) -> list[int]:
    key = np.uint64(delay_key(np.uint64(11), 0))
    return [delayed.draw_delay(delay.delays(10**6), key, number) for number in range(size)]


def test_delays_have_the_law_they_say() -> None:
    """A fixed seed; with delays of this law each test would fail for one seed in 10^6."""
    assert set(drawn(Delay(3))) == {3}
    late = np.array(drawn(Delay(4.0, "geometric")))
    counts = np.bincount(np.minimum(late, 20), minlength=21)
    expected = [*(0.2 * 0.8**k for k in range(20)), 0.8**20]
    assert stats.chisquare(counts, late.size * np.array(expected)).pvalue > 1e-6
    lost = np.array(drawn(Delay(4.0, "geometric", lost=0.25)))
    assert stats.binomtest(int(np.sum(lost == delayed.LOST)), lost.size, 0.25).pvalue > 1e-6
    kept = lost != delayed.LOST
    np.testing.assert_array_equal(lost[kept], late[kept])  # losing some leaves the others as late as they were


def test_no_geometric_delay_is_longer_than_the_ring() -> None:
    """The longest one is that of the smallest random number, 2^-53."""
    for mean in (1e-9, 0.3, 1.0, 250.0, 1e15):
        delays = Delay(mean, "geometric").delays(10**6)
        smallest = math.floor(math.log(2.0**-53) / delays.log_late)
        assert delays.longest == min(smallest, 10**6)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"delay": -1}, "delay must be a whole number of rounds, at least 0"),
        ({"delay": 2.5}, "delay must be a whole number"),
        ({"delay": True}, "delay must be a whole number"),
        ({"delay": "5"}, "delay must be a whole number"),
        ({"pending": "maybe"}, 'pending must be "ignore" or "count"'),
    ],
)
def test_wrong_settings_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        run(**options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mean": -1}, "at least 0; got -1"),
        ({"mean": math.nan}, "at least 0; got nan"),
        ({"mean": math.inf, "law": "geometric"}, "at least 0; got inf"),
        ({"mean": "5"}, "at least 0; got '5'"),
        ({"mean": 2.5}, "a fixed delay must be a whole number of rounds; got 2.5"),
        ({"mean": 2, "law": "normal"}, 'law must be "fixed" or "geometric"'),
        ({"mean": 2, "lost": 1.5}, "lost must be a share of the rewards, from 0 to 1; got 1.5"),
        ({"mean": 2, "lost": math.nan}, "lost must be a share"),
    ],
)
def test_impossible_delays_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Delay(**options)


def test_linear_policies_are_refused() -> None:
    environment = mb.Linear([[1.0, 0.0], [0.0, 1.0]], [0.5, 0.2], low=0.0, high=1.0)
    with pytest.raises(TypeError, match="cannot be simulated with a delay"):
        mb.simulate(mb.OFUL(), environment, horizon=10, runs=1, delay=1)


@pytest.mark.skipif(INTERPRETED, reason="this is the interpreted run that the test starts")
@pytest.mark.slow
def test_interpreted() -> None:
    """The same, with the kernels left as Python."""
    run_interpreted(__file__, "-k", "its_twin or as_if_answered or have_the_law")
