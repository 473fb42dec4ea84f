from __future__ import annotations

import copy
import importlib
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import meanbounds as mb
from meanbounds import kernels
from meanbounds.kernels.arms.block import Block
from meanbounds.kernels.arms.tables import State
from meanbounds.kernels.random.rewards import draw
from meanbounds.kernels.random.stream import child, reward_key

module = importlib.import_module("meanbounds.simulation.run")  # mb.simulate is the function
ENVIRONMENT = mb.Bernoulli([0.9, 0.8, 0.5])
BOUNDS = mb.MeanBounds([0.8, 0.1, 0.1], [0.95, 0.95, 0.7])
POLICIES = {
    "UCB": mb.UCB(),
    "GLUE": mb.GLUE(),
    "TS": mb.ThompsonSampling(),
    "BIMED": mb.BIMED(),
    "OSSB": mb.OSSB(),
    "Gittins": mb.OptimisticGittins(),
}


def run(**options: Any) -> mb.Regret:
    arguments = {"horizon": 500, "runs": 30, "seed": 7, "checkpoints": 20} | options
    return mb.simulate(POLICIES, ENVIRONMENT, BOUNDS, **arguments)


def assert_same(one: mb.Regret, other: mb.Regret) -> None:
    for label in POLICIES:
        np.testing.assert_array_equal(one.curves[label], other.curves[label])
        np.testing.assert_array_equal(one.plays[label], other.plays[label])


@pytest.mark.parametrize(
    "options",
    [
        {"workers": 1},
        {"workers": 3},
        {"block": 1},
        {"block": 7},
        {"block": 100},
        {"backend": "threading"},
    ],
)
def test_the_same_for_any_threads_blocks_and_backends(options: dict[str, Any]) -> None:
    assert_same(run(), run(**options))


@pytest.mark.slow
def test_the_same_in_other_processes() -> None:
    assert_same(run(), run(backend="loky", workers=2))


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_the_same_on_a_dask_cluster() -> None:
    """A real cluster: a scheduler and two worker processes, on the loopback address alone."""
    distributed: Any = importlib.import_module("dask.distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert all(address.startswith("tcp://127.0.0.1:") for address in client.scheduler_info()["workers"])
        assert_same(run(), run(backend="dask"))


def test_measures_are_in_the_order_of_the_policies_whichever_is_done_first(monkeypatch: pytest.MonkeyPatch) -> None:
    world = mb.Linear([[1.0, 0.0], [0.6, 0.8]], theta=[0.5, 0.5])
    known, finished = mb.MeanBounds([0.3, 0.5], [0.6, 0.8]), module._finished
    monkeypatch.setattr(module, "_finished", lambda *given: reversed(list(finished(*given))))
    regret = mb.simulate({"b": mb.OFUL(), "a": mb.ROFUL()}, world, known, horizon=20, runs=2, seed=7)
    assert regret.measures
    for part in regret.measures.values():
        assert tuple(part) == regret.labels == ("b", "a")


def test_windows_of_rounds_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run()
    monkeypatch.setattr("meanbounds.simulation.stages.WINDOW", 64)
    assert_same(whole, run())


def test_rewards_are_paired() -> None:
    """Policies that decide alike see the same rewards; more runs leave the first ones as they were.

    With vacuous bounds B-UCB, ImprovedUCB and GLUE are one policy: equal curves mean equal rewards in every round.
    """
    alike = [mb.BUCB(), mb.ImprovedUCB(), mb.GLUE()]
    same = mb.simulate(alike, ENVIRONMENT, horizon=500, runs=30, seed=7, checkpoints=20)
    for label in ("ImprovedUCB", "GLUE"):
        np.testing.assert_array_equal(same.curves[label], same.curves["BUCB"])
    alone = mb.simulate({"GLUE": mb.GLUE()}, ENVIRONMENT, BOUNDS, horizon=500, runs=30, seed=7, checkpoints=20)
    np.testing.assert_array_equal(alone.curves["GLUE"], run().curves["GLUE"])
    more = run(runs=40)
    for label, curve in run().curves.items():
        np.testing.assert_array_equal(curve, more.curves[label][:30])
    assert not np.array_equal(run().curves["UCB"], run(seed=8).curves["UCB"])


@pytest.mark.parametrize("policy", POLICIES.values(), ids=str)
def test_the_nth_reward_of_an_arm_is_the_same_under_every_policy(policy: mb.Policy) -> None:
    """The sum of an arm's rewards is that of the first numbers in its stream, as many as it was played."""
    seed, low, high = np.uint64(7), np.zeros(3), np.ones(3)
    law = mb.Uniform([0.6, 0.5, 0.4]).rewards(low, high)
    states = np.zeros((4, len(State._fields), 3))
    block = Block(states, law, seed, 0, policy.log_f(1, 200), 1, np.array([200]), np.zeros(3), np.zeros((4, 1)))
    kernels.play(policy.kernel, policy.plan(mb.MeanBounds.vacuous(3)).table, policy.parameters, block)
    for run_number, state in enumerate(states):
        stream = np.uint64(reward_key(seed, run_number))
        for arm, plays in enumerate(state[0].astype(int).tolist()):
            own = np.uint64(child(stream, arm))
            assert state[1, arm] == sum(draw(law, arm, own, n) for n in range(plays))
    assert states[:, 0].sum() == 4 * 200


def test_curves_and_plays_fit_together() -> None:
    regret = run()
    for label in regret.labels:
        assert regret.curves[label].shape == (30, 20)
        assert regret.plays[label].sum(axis=1).tolist() == [500] * 30
        np.testing.assert_allclose(regret.final[label], regret.plays[label] @ ENVIRONMENT.gaps)
        assert np.all(np.diff(regret.curves[label], axis=1) >= 0)


def test_checkpoints() -> None:
    assert run(checkpoints=3, horizon=10).rounds.tolist() == [4, 7, 10]
    assert run(checkpoints=200, horizon=5).rounds.tolist() == [1, 2, 3, 4, 5]
    assert run(checkpoints=[1, 50, 500]).rounds.tolist() == [1, 50, 500]
    fine, coarse = run(checkpoints=500), run(checkpoints=[100, 500])
    np.testing.assert_array_equal(fine.curves["UCB"][:, [99, 499]], coarse.curves["UCB"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"horizon": 0}, "horizon must be a whole number, at least 1; got 0"),
        ({"runs": 2.5}, "runs"),
        ({"block": 0}, "block"),
        ({"checkpoints": 0}, "at least 1"),
        ({"checkpoints": [5, 4, 500]}, "increasing"),
        ({"checkpoints": [5, 400]}, "the last one the horizon 500"),
        ({"seed": "x"}, "seed"),
    ],
)
def test_wrong_settings_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        run(**options)


def test_policies_environment_and_bounds_have_to_fit() -> None:
    with pytest.raises(ValueError, match="3 arms, the bounds have 2"):
        mb.simulate(mb.UCB(), ENVIRONMENT, mb.MeanBounds.vacuous(2))
    with pytest.raises(ValueError, match=r"arm 0: rewards in \[0.0, 2.0\]"):
        mb.simulate(mb.UCB(), mb.Bernoulli([1.0], high=2.0), mb.MeanBounds.vacuous(1))
    with pytest.raises(ValueError, match="given twice"):
        mb.simulate([mb.UCB(), mb.UCB()], ENVIRONMENT)
    anything: Any = {"x": "UCB"}
    with pytest.raises(TypeError, match="is not a policy"):
        mb.simulate(anything, ENVIRONMENT)
    with pytest.raises(ValueError, match="at least one policy"):
        mb.simulate([], ENVIRONMENT)
    with pytest.warns(UserWarning, match=r"arm 1: its mean 0.8 is outside its bounds \[0.1, 0.3\]"):
        mb.simulate(mb.UCB(), mb.Bernoulli([0.9, 0.8]), mb.MeanBounds([0.1, 0.1], [0.95, 0.3]), horizon=10, runs=1)


def test_an_interrupted_simulation_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first attempt dies after a few blocks; the second plays only the rest, and the result is the same."""
    play = module._play
    played: list[Any] = []

    def dies(block: Any) -> Any:
        if len(played) == 4:
            raise KeyboardInterrupt
        played.append(block)
        return play(block)

    monkeypatch.setattr(module, "_play", dies)
    with pytest.raises(KeyboardInterrupt):
        run(resume=tmp_path, workers=1)
    kept = len(list(tmp_path.glob("*.npz")))
    assert 1 <= kept <= 4
    count: list[Any] = []

    def counts(block: Any) -> Any:
        count.append(block)
        return play(block)

    monkeypatch.setattr(module, "_play", counts)
    again = run(resume=tmp_path, workers=1)
    monkeypatch.undo()
    assert len(count) + kept == len(POLICIES) * 4
    assert_same(run(), again)
    assert_same(run(seed=9), run(seed=9, resume=tmp_path))  # another study in the same folder is not mixed up with it


def test_resume_needs_policies_with_a_name(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="function as f"):
        mb.simulate({"mine": mb.UCB(f=lambda t: t)}, ENVIRONMENT, resume=tmp_path)


def test_save_and_load(tmp_path: Path) -> None:
    regret = run()
    regret.save(tmp_path / "regret.parquet")
    again = mb.Regret.load(tmp_path / "regret.parquet")
    assert_same(regret, again)
    assert again.settings == regret.settings
    assert again.seed == 7
    assert again.rounds.tolist() == regret.rounds.tolist()
    assert again.settings["versions"]["meanbounds"] == mb.__version__
    copies = [mb.Regret.from_dict(json.loads(json.dumps(regret.to_dict()))), copy.deepcopy(regret)]
    for copied in (*copies, pickle.loads(pickle.dumps(regret))):
        assert_same(regret, copied)
        assert copied.settings == regret.settings
    with pytest.raises(ValueError, match="format 9 cannot be read"):
        mb.Regret.from_dict({"format": 9})
    other = tmp_path / "other.parquet"
    regret.to_frame().to_parquet(other)
    with pytest.raises(ValueError, match=r"not written by Regret\.save"):
        mb.Regret.load(other)


def test_statistics() -> None:
    """Four runs with final regret 0, 2, 4, 6: mean 3, deviation sqrt(20/3), half-width 1.96 * 2.58 / 2."""
    curves = {"p": np.array([[0.0], [2.0], [4.0], [6.0]])}
    settings = {"environment": {"means": [1.0, 0.0]}, "seed": 1}
    regret = mb.Regret(np.array([10]), curves, {"p": np.array([[10, 0], [8, 2], [6, 4], [4, 6]])}, settings)
    assert regret.mean("p").tolist() == [3.0]
    assert regret.deviation("p") == pytest.approx([np.sqrt(20 / 3)])
    assert regret.quantiles("p", [0.5]).tolist() == [[3.0]]
    lower, upper = regret.band("p")
    assert (upper - lower)[0] == pytest.approx(2 * 1.959964 * np.sqrt(20 / 3) / 2)
    assert "70.0%" in regret.summary()
    single = mb.Regret(np.array([10]), {"p": np.array([[1.0]])}, {"p": np.array([[9, 1]])}, settings)
    assert np.isnan(single.deviation("p")).all()
    assert " - " in single.summary()


def test_frame() -> None:
    frame = run(checkpoints=5).to_frame()
    assert list(frame.columns) == ["policy", "run", "round", "regret"]
    assert len(frame) == len(POLICIES) * 30 * 5
    row = frame[(frame["policy"] == "GLUE") & (frame["run"] == 3) & (frame["round"] == 500)]
    assert row["regret"].tolist() == [run(checkpoints=5).final["GLUE"][3]]


@pytest.mark.parametrize("band", ["confidence", "deviation", "quantiles", None])
def test_plots_draw_a_line_and_a_name_per_policy(band: str | None) -> None:
    ax = run().plot(band=band, log=band is None)
    assert len(ax.lines) == len(POLICIES)
    assert {text.get_text() for text in ax.texts} == set(POLICIES)
    heights = sorted(text.get_position()[1] for text in ax.texts)
    assert min(np.diff(heights)) > 0.03  # names do not overlap
    with pytest.raises(ValueError, match="band must be one of"):
        run().plot(band="sigma")
