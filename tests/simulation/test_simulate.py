"""Simulations: pairing, prefixes, delays, objects that are not policies, blocks that resume, messages."""

import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.simulation.test_environments import Wrong

import meanbounds as mb
from meanbounds.simulation import Bernoulli, Changing, Delay, Uniform

MEANS = [0.9, 0.8, 0.5]
BOUNDS = mb.MeanBounds([0.8, 0.1, 0.1], [0.95, 0.95, 0.7], arms=["a", "b", "c"])
ENVIRONMENT = Bernoulli(MEANS)


@dataclass
class First:
    """Pulls one arm for ever, and remembers what came."""

    arm: str | int = "a"

    def __post_init__(self) -> None:
        self.rewards: list[float] = []

    def pull(self) -> str | int:
        return self.arm

    def update(self, arm: str | int, reward: float) -> None:
        assert arm == self.arm
        self.rewards.append(reward)


def test_the_first_runs_of_a_longer_simulation_are_the_runs_of_a_shorter_one() -> None:
    long = mb.simulate(
        [mb.GLUE(), mb.UCB()], ENVIRONMENT, BOUNDS, horizon=300, runs=300, seed=3, checkpoints=[100, 300]
    )
    short = mb.simulate(mb.GLUE(), ENVIRONMENT, BOUNDS, horizon=100, runs=20, seed=3, checkpoints=[100])
    np.testing.assert_array_equal(long.curves["GLUE"][:20, 0], short.curves["GLUE"][:, 0])


def test_the_nth_pull_of_an_arm_gives_the_same_reward_under_every_policy() -> None:
    kept: dict[str, list[First]] = {"a": [], "b": []}

    def make(arm: str) -> object:
        def player(seed: int) -> First:
            assert seed >= 11
            kept[arm].append(First(arm))
            return kept[arm][-1]

        return player

    uniform = Uniform(MEANS)
    mb.simulate({"a": make("a"), "b": make("b")}, uniform, BOUNDS, horizon=50, runs=2, seed=11)
    mb.simulate({"a": make("a")}, uniform, BOUNDS, horizon=20, runs=2, seed=11)
    assert kept["a"][0].rewards[:20] == kept["a"][2].rewards
    assert kept["a"][0].rewards != kept["a"][1].rewards  # another run
    assert 0.8 <= min(kept["a"][0].rewards) <= max(kept["a"][0].rewards) <= 1.0
    assert len(set(kept["b"][0].rewards)) == 50


def test_an_object_is_copied_for_each_run() -> None:
    player = First()
    regret = mb.simulate({"first": player}, ENVIRONMENT, BOUNDS, horizon=10, runs=3, seed=1)
    assert player.rewards == []
    np.testing.assert_array_equal(regret.plays["first"], [[10, 0, 0]] * 3)
    np.testing.assert_array_equal(regret.final["first"], 0.0)


@pytest.mark.parametrize("pending", ["ignore", "count"])
def test_late_rewards_come_in_time(pending: Any) -> None:
    def final(delay: Any) -> Any:
        late = mb.simulate(mb.UCB(), ENVIRONMENT, BOUNDS, horizon=400, runs=50, seed=2, delay=delay, pending=pending)
        return late.final["UCB"]

    for same in (0, Delay(0)):
        np.testing.assert_array_equal(final(None), final(same))
    assert final(None).mean() < final(100).mean() < final(400).mean()
    assert abs(final(400).mean() - 400 * (0.1 + 0.4) / 3) < 10.0  # nothing is ever learnt: every arm a third


def test_lost_rewards_never_come() -> None:
    lost = mb.simulate(mb.UCB(), ENVIRONMENT, horizon=200, runs=20, seed=2, delay=Delay(0, lost=1.0), pending="ignore")
    assert (lost.plays["UCB"] > 30).all()  # all arms tie for ever


def test_regret_is_against_the_best_arm_of_the_moment() -> None:
    world = Changing([(1, Bernoulli([0.9, 0.1])), (51, Bernoulli([0.1, 0.9]))])
    players = {"first": First("a"), "second": First("b")}
    bounds = mb.MeanBounds.vacuous(["a", "b"])
    regret = mb.simulate(players, world, bounds, horizon=100, runs=2, seed=1, checkpoints=[50, 100])
    np.testing.assert_allclose(regret.curves["first"], [[0.0, 40.0]] * 2)
    np.testing.assert_allclose(regret.curves["second"], [[40.0, 40.0]] * 2)
    batch = mb.simulate(mb.UCB(), world, bounds, horizon=100, runs=2, seed=1, checkpoints=[50, 100])
    assert (batch.curves["UCB"][:, 1] > batch.curves["UCB"][:, 0]).all()


def test_a_late_reward_is_of_the_round_in_which_its_arm_was_pulled() -> None:
    world = Changing([(1, Bernoulli([1.0])), (4, Bernoulli([0.0]))])
    players: list[First] = []

    def make(_: int) -> First:
        players.append(First(0))
        return players[-1]

    bounds = mb.MeanBounds.vacuous(1)
    mb.simulate({"first": make}, world, bounds, horizon=8, runs=1, seed=1, delay=2)
    assert players[0].rewards == [1.0, 1.0, 1.0, 0.0, 0.0]


def test_considered_counts_the_arms_with_a_score() -> None:
    pruning = mb.MeanBounds([0.8, 0.1, 0.1], [0.95, 0.95, 0.7])
    regret = mb.simulate([mb.UCB(), mb.GLUE()], ENVIRONMENT, pruning, horizon=20, runs=2, seed=1, considered=True)
    np.testing.assert_array_equal(regret.measures["considered"]["UCB"], 3.0)
    np.testing.assert_array_equal(regret.measures["considered"]["GLUE"], 2.0)


def test_a_simulation_goes_on_where_it_was_interrupted(tmp_path: Path) -> None:
    arguments: dict[str, Any] = {"horizon": 5, "runs": 300, "seed": 4, "resume": tmp_path}
    first = mb.simulate([mb.UCB(), mb.GLUE()], ENVIRONMENT, BOUNDS, **arguments)
    kept = sorted(tmp_path.glob("block-*.npz"))
    assert len(kept) == 4  # two blocks of runs for each policy
    kept[0].unlink()
    before = {path: path.stat().st_mtime_ns for path in kept[1:]}
    again = mb.simulate([mb.UCB(), mb.GLUE()], ENVIRONMENT, BOUNDS, **arguments)
    assert kept[0].exists()
    assert before == {path: path.stat().st_mtime_ns for path in kept[1:]}
    for label in first.labels:
        np.testing.assert_array_equal(first.curves[label], again.curves[label])


def test_blocks_are_found_again_by_another_process(tmp_path: Path) -> None:
    code = (
        "import sys, meanbounds as mb\n"
        "mb.simulate(mb.UCB(), mb.Bernoulli([0.9, 0.8]), horizon=20, runs=5, seed=4, resume=sys.argv[1])"
    )
    for _ in range(2):
        subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
        assert len(list(tmp_path.glob("block-*.npz"))) == 1


@contextmanager
def dask_cluster() -> Iterator[None]:
    distributed = pytest.importorskip("distributed")
    own = {"processes": False, "protocol": "tcp", "host": "127.0.0.1", "dashboard_address": None}
    with warnings.catch_warnings(), distributed.LocalCluster(n_workers=1, threads_per_worker=2, **own) as cluster:
        warnings.simplefilter("ignore")
        with distributed.Client(cluster):
            yield


@pytest.mark.parametrize(("backend", "around"), [("threading", nullcontext), ("dask", dask_cluster)])
def test_a_backend_changes_nothing(backend: str, around: Any) -> None:
    given: dict[str, Any] = {"horizon": 50, "runs": 300, "seed": 4}
    here = mb.simulate(mb.GLUE(), ENVIRONMENT, BOUNDS, **given)
    with around():
        there = mb.simulate(mb.GLUE(), ENVIRONMENT, BOUNDS, **given, backend=backend, workers=2)
    np.testing.assert_array_equal(here.curves["GLUE"], there.curves["GLUE"])


def test_means_outside_their_bounds_are_said() -> None:
    wrong = mb.MeanBounds([0.1, 0.1, 0.1], [0.5, 0.95, 0.7])
    with pytest.warns(UserWarning, match=r"arm 0: its mean 0\.9 is outside its bounds \[0\.1, 0\.5\]; no policy"):
        mb.simulate(mb.UCB(), ENVIRONMENT, wrong, horizon=2, runs=1, seed=1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("glue", ENVIRONMENT), r"got 'glue'; did you mean mb\.GLUE\(\)\?"),
        ((mb.GLUE, ENVIRONMENT), r"did you mean mb\.GLUE\(\)"),
        (([mb.GLUE], ENVIRONMENT), r"did you mean mb\.GLUE\(\)"),
        (([], ENVIRONMENT), "at least one policy"),
        (({"x": First}, ENVIRONMENT, BOUNDS), "first: pull|x: pull"),
        (({"x": lambda _: None}, ENVIRONMENT, BOUNDS), r"x: the function must return an object with pull\(\)"),
        ((3, ENVIRONMENT), r"cannot play: give a policy such as mb\.GLUE\(\), an object with pull"),
        ((First(), ENVIRONMENT), "needs a label"),
        (({1: mb.GLUE()}, ENVIRONMENT), "label of a policy must be a text"),
        (([mb.GLUE(), mb.GLUE()], ENVIRONMENT), "several policies are called 'GLUE'"),
        ((mb.GLUE(), [0.9, 0.8]), r"environment must be an object such as mb\.Bernoulli"),
        ((mb.GLUE(), Bernoulli), r"did you mean mb\.Bernoulli\(\.\.\.\)"),
        ((mb.UCB(), Wrong([0.5, 0.5])), r"Wrong\.reward returned 1"),
        ((mb.GLUE(), ENVIRONMENT, mb.MeanBounds([0.1], [0.9])), "the environment has 3 arms, the bounds have 1"),
        ((mb.GLUE(), ENVIRONMENT, mb.Knowledge(BOUNDS, prior=mb.Prior(0.5, 4))), "GLUE makes no use of a prior"),
    ],
)
def test_what_cannot_be_played_is_refused_with_a_way_forward(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        mb.simulate(*arguments, horizon=5, runs=1, seed=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"horizon": 1e4}, "horizon must be a whole number from 1 to 1,000,000,000; got 10000.0: write 10_000"),
        ({"runs": 0}, "runs must be a whole number from 1 to 1,000,000,000; got 0"),
        ({"checkpoints": [3, 2]}, "increase"),
        ({"checkpoints": [3]}, "the last checkpoint must be the horizon, 5"),
        ({"pending": "wait"}, 'pending must be "ignore" or "count"'),
        ({"seed": -1}, "seed must be a whole number"),
        ({"delay": -1}, "delay"),
        ({"compiled": "no"}, "compiled must be True or False; got 'no'"),
        ({"considered": "no"}, "considered must be True or False; got 'no'"),
        ({"workers": 0}, "workers must be a whole number, at least 1; got 0"),
    ],
)
def test_options_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        mb.simulate(mb.GLUE(), ENVIRONMENT, BOUNDS, **{"horizon": 5, "runs": 1, "seed": 1, **options})


def test_an_unknown_arm_is_named() -> None:
    with pytest.raises(ValueError, match=r"first: pull\(\) returned 'z'; the arms are \['a', 'b', 'c'\]"):
        mb.simulate({"first": First("z")}, ENVIRONMENT, BOUNDS, horizon=5, runs=1, seed=1)
