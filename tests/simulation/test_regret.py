"""The result of a simulation: statistics, one vocabulary, files, and messages that name what is wrong."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import meanbounds as mb
from meanbounds import Regret

RNG = np.random.default_rng(1)
CURVES = {label: RNG.gamma(shape, 1.0, (30, 3)).cumsum(axis=1) for label, shape in (("GLUE", 2), ("UCB(f='t')", 5))}
PLAYS = {label: np.tile([30, 10], (30, 1)) for label in CURVES}
SETTINGS: dict[str, Any] = {
    "policies": {label: {"policy": "one"} for label in CURVES},
    "environment": {"kind": "Bernoulli", "means": [0.9, 0.8]},
    "seed": 7,
}
REGRET = Regret([10, 20, 40], CURVES, PLAYS, SETTINGS, {"considered": {"GLUE": np.ones((30, 3))}})
SINGLE = Regret([1, 2], {"a": [[0.1, 0.2]]}, {"a": [[1, 1]]})


def test_statistics_are_those_of_scipy() -> None:
    for label, curve in CURVES.items():
        assert REGRET.final[label].tolist() == curve[:, -1].tolist()
        assert REGRET.mean[label] == pytest.approx(curve.mean(axis=0))
        assert REGRET.deviation[label] == pytest.approx(stats.tstd(curve, axis=0))
        expected = stats.t.interval(0.95, 29, curve.mean(axis=0), stats.sem(curve, axis=0))
        assert np.array(REGRET.interval[label]) == pytest.approx(np.array(expected))
        assert REGRET.quantiles([0.1, 0.9])[label] == pytest.approx(np.quantile(curve, [0.1, 0.9], axis=0))
    assert SINGLE.mean["a"].tolist() == [0.1, 0.2]
    assert np.isnan([*SINGLE.interval["a"], SINGLE.deviation["a"]]).all()  # one run has a mean and no interval


def test_differences_are_paired() -> None:
    noise = np.random.default_rng(2).normal(0.0, 50.0, (40, 1))
    one, other = 100.0 + noise + [0.0, 1.0], 99.0 + noise * 1.01 + [0.0, 0.5]
    regret = Regret([1, 2], {"a": one, "b": other}, {k: np.ones((40, 1)) for k in "ab"})
    found, expected = regret.difference("a", "b"), stats.ttest_rel(one, other).confidence_interval(0.95)
    assert found.mean == pytest.approx((one - other).mean(axis=0))
    assert found.lower == pytest.approx(expected.low)
    assert found.upper == pytest.approx(expected.high)
    lower, upper = regret.interval["a"]
    assert ((found.upper - found.lower) < 0.05 * (upper - lower)).all()


def test_unknown_labels_are_key_errors_that_help() -> None:
    message = r"^unknown label 'glue', did you mean 'GLUE'\? The labels are 'GLUE'"  # without a KeyError's quotes
    for name in ("curves", "plays", "final", "mean", "deviation", "interval"):
        with pytest.raises(KeyError, match=message):
            getattr(REGRET, name)["glue"]
    with pytest.raises(KeyError, match="unknown label 'ucb'"):
        REGRET.difference("GLUE", "ucb")
    with pytest.raises(KeyError, match="unknown label 'nobody'"):
        REGRET.select(["nobody"])


def test_select_orders_and_renames() -> None:
    assert REGRET.select(["UCB(f='t')", "GLUE"]).labels == ("UCB(f='t')", "GLUE")
    renamed = REGRET.select({"GLUE": "mine"})
    parts = (renamed.curves, renamed.plays, renamed.settings["policies"], renamed.measures["considered"])
    assert [list(part) for part in parts] == [["mine"]] * 4
    assert (renamed.curves["mine"] == CURVES["GLUE"]).all()


def test_results_side_by_side_are_those_of_one_simulation() -> None:
    bounds, environment, policies = (
        mb.MeanBounds([0.6, 0.1], [0.95, 0.85]),
        mb.Bernoulli([0.9, 0.8]),
        [mb.UCB(), mb.GLUE()],
    )
    together = mb.simulate(policies, environment, bounds, horizon=200, runs=10, seed=7)
    parts = [mb.simulate(policy, environment, bounds, horizon=200, runs=10, seed=7) for policy in policies]
    joined = parts[0].beside(parts[1])
    assert (joined.seed, joined.labels, list(joined.settings["policies"])) == (7, together.labels, ["UCB", "GLUE"])
    for label in together.labels:
        assert (joined.curves[label] == together.curves[label]).all()
        assert (joined.plays[label] == together.plays[label]).all()
    assert joined.difference("UCB", "GLUE").mean.tolist() == together.difference("UCB", "GLUE").mean.tolist()


def test_what_cannot_stand_side_by_side() -> None:
    mine = REGRET.select({"GLUE": "mine"})
    mine.settings["seed"] = 8
    with pytest.raises(ValueError, match="the runs of GLUE and mine are not paired"):
        REGRET.beside(mine).difference("GLUE", "mine")
    with pytest.raises(ValueError, match=r"two results have 'GLUE'; rename one: .select\(\{'GLUE': 'another"):
        REGRET.beside(REGRET)
    with pytest.raises(ValueError, match="other checkpoints"):
        REGRET.beside(SINGLE)
    mine.settings["environment"] = {}
    with pytest.raises(ValueError, match="of different environments"):
        REGRET.beside(mine)
    wrong: Any = 3
    with pytest.raises(TypeError, match=r"give results of mb\.simulate; got 3"):
        REGRET.beside(wrong)


def test_the_summary_can_be_read() -> None:
    lines, own = REGRET.summary().splitlines(), CURVES["GLUE"][:, -1]
    assert lines[0].split() == ["label", "mean", "+-", "(95%)", "median", "95th", "pct.", "best", "arm", "played"]
    assert lines[2].split()[:3] == ["GLUE", f"{own.mean():.1f}", f"{2.045 * stats.sem(own):.1f}"]  # the best one first
    assert lines[2].endswith("75.0%")
    assert len({len(line) for line in lines}) == 1
    for change in ("stages", "offered"):  # where "best arm" means nothing
        settings = {"environment": {**SETTINGS["environment"], change: 3}}
        assert "best arm played" not in Regret([10, 20, 40], CURVES, PLAYS, settings).summary()
    assert SINGLE.summary().split()[-4:] == ["0.2", "-", "0.2", "0.2"]


def test_saving_and_loading_changes_nothing(tmp_path: Path) -> None:
    REGRET.save(tmp_path / "regret.npz")
    again = Regret.load(tmp_path / "regret.npz")
    assert again.settings == SETTINGS
    assert again.checkpoints.tolist() == [10, 20, 40]
    for part, saved in ((again.curves, CURVES), (again.plays, PLAYS), (again.measures["considered"], {"GLUE": 1.0})):
        assert list(part) == list(saved)
        assert all((part[label] == saved[label]).all() for label in part)
    assert again.plays["GLUE"].dtype == np.int64


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "regret.npz"
    REGRET.save(path)
    whole = path.read_bytes()
    flipped = [whole[:k] + bytes([whole[k] ^ 0xFF]) + whole[k + 1 :] for k in range(0, len(whole), 19)]
    refused = 0
    for content in (b"", b"not a file", whole[:-40], *flipped):
        path.write_bytes(content)
        try:
            again = Regret.load(path)
        except ValueError as error:
            refused += "regret.npz holds no saved Regret, or is damaged" in str(error)
        else:  # a byte that says nothing, such as a time
            assert (again.summary(), again.settings) == (REGRET.summary(), SETTINGS)
    assert refused > 0.6 * len(flipped)
    with pytest.raises(FileNotFoundError):
        Regret.load(tmp_path / "none.npz")


REFUSED: dict[str, Callable[[], object]] = {
    r"ascending order, from 1 on; got \[0, 1\]": lambda: Regret([0, 1], {"a": [[0, 0]]}, {"a": [[1]]}),
    r"curves are labelled \[\], and plays \[\]": lambda: Regret([1], {}, {}),
    r"curves\['a'\] must have the shape \(runs, check": lambda: Regret([1], {"a": [[0, 0]]}, {"a": [[1]]}),
    r"levels must be a list of probabilities.*got \[0.5, 1.2\]": lambda: REGRET.quantiles([0.5, 1.2]),
    "give at least one label": lambda: REGRET.select([]),
    "there is no single seed": lambda: SINGLE.seed,
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_cannot_be_is_refused(message: str) -> None:
    with pytest.raises(ValueError, match=message):
        REFUSED[message]()
