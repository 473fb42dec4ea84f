"""Sensitivity over the numbers of any assumption: rows, tipping points, the picture and the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

import meanbounds as mb
from meanbounds.cli import main
from meanbounds.logs import AnyExpert, Assumption, ErringExpert, KnownPropensity, MarginalSensitivity
from meanbounds.logs import NearlyOptimalExpert as Nearly

LAB = mb.HiddenContexts([[[0.9, 0.4, 0.1], [0.3, 0.8, 0.2]], [[0.8, 0.5, 0.1], [0.7, 0.2, 0.3]]], [[0.4, 0.1]] * 2)
CASES: list[tuple[Assumption, dict[str, Any]]] = [
    (ErringExpert(0.0, gap_low=0.3), {"errors": [0.0, 0.02, 0.1]}),
    (Nearly(0.01), {"loss": [0.01, 0.1], "gap_low": [0.0, 0.2]}),
    (MarginalSensitivity(1.2), {"odds": [1.2, 1.0, 3.0]}),
    (ErringExpert(0.05) & MarginalSensitivity(2.0) & AnyExpert(gap_high=0.7), {"gap_high": [0.7, 0.9]}),
]


@pytest.mark.parametrize(("assumption", "values"), CASES)
def test_rows_are_the_bounds_of_each_assumption(assumption: Assumption, values: dict[str, Any]) -> None:
    counts = LAB.sample(5_000, seed=1)
    found = mb.logs.sensitivity(counts, assumption, values=values)
    assert len(found.rows) == 2 * int(np.prod([len(grid) for grid in values.values()]))
    names = {name for part in assumption.parts for name in part.weaker}
    assert names <= set(found.base)
    for row in found.rows:
        parts = [mb.logs.assumption_from_dict({**part.to_dict(), **_own(part, row)}) for part in assumption.parts]
        joined = parts[0]
        for part in parts[1:]:
            joined &= part
        own = mb.logs.bounds(counts, joined)[row["context"]]
        assert row["can_be_best"] == own.pruned().arms
        assert row["width"] == pytest.approx(float(np.mean(own.upper - own.lower)))


def _own(part: Assumption, row: Any) -> dict[str, float]:
    return {name: row[name] for name in part.weaker}


@pytest.mark.parametrize("assumption", [assumption for assumption, _ in CASES])
def test_beyond_a_tipping_point_others_can_be_best(assumption: Assumption) -> None:
    counts = LAB.counts()
    found = mb.logs.sensitivity(counts, assumption, infinite=True)
    seen = 0
    for base in found.rows:
        for point in found.changes(base["context"]):
            if point.assumption in ("shift", "confidence"):
                continue
            step = 1e-4 if point.direction == "above" else -1e-4
            values = {point.assumption: [point.value - step, point.value + step]}
            tried = mb.logs.sensitivity(counts, assumption, values=values, infinite=True).rows
            before, after = (row for row in tried if row["context"] == base["context"])
            assert before["can_be_best"] == base["can_be_best"] or before["impossible"]
            if after["impossible"]:
                continue
            assert set(after["can_be_best"]) - set(base["can_be_best"]) == set(point.enter)
            assert set(base["can_be_best"]) - set(after["can_be_best"]) == set(point.leave)
            seen += 1
    assert seen


def test_numbers_by_context_and_propensities() -> None:
    counts = LAB.counts()
    found = mb.logs.sensitivity(counts, ErringExpert([0.0, 0.3], gap_low=0.3), infinite=True)
    assert [row["errors"] for row in found.rows] == [0.0, 0.3]
    with pytest.raises(ValueError, match="errors differs by context"):
        found.plot()
    found.plot(context="z0")
    plt.close("all")
    rng = np.random.default_rng(1)
    log = pd.DataFrame({"arm": rng.integers(0, 2, 500), "chance": 0.5, "reward": rng.integers(0, 2, 500)})
    seen = mb.logs.read(log, context="chance", arm="arm", reward="reward")
    assumed = KnownPropensity("chance", 0.5) & ErringExpert(0.1)
    found = mb.logs.sensitivity(seen, assumed, values={"errors": [0.1, 0.2]})
    assert {row["context"] for row in found.rows} == {"all"}


def test_what_cannot_be_tried() -> None:
    text: Any = "erring"
    with pytest.raises(ValueError, match="'odds' has values to try, but is no number of ErringExpert"):
        mb.logs.sensitivity(LAB.counts(), ErringExpert(0.1), values={"odds": [1.0]}, infinite=True)
    with pytest.raises(ValueError, match="give gaps to try as values="):
        mb.logs.sensitivity(LAB.counts(), ErringExpert(0.1), gap_low=0.1, infinite=True)
    with pytest.raises(TypeError, match="assumption must be an object"):
        mb.logs.sensitivity(LAB.counts(), text, infinite=True)


def test_the_picture_is_about_what_has_several_values() -> None:
    found = mb.logs.sensitivity(
        LAB.counts(),
        ErringExpert(0.0, gap_low=0.3),
        values={"errors": [0.0, 0.1], "gap_low": [0.3, 0.0]},
        infinite=True,
    )
    ax = found.plot(context="z0")
    assert (ax.get_xlabel().split(":")[0], ax.get_ylabel().split(":")[0]) == ("gap_low", "errors")
    assert len(ax.texts) == 4
    one = mb.logs.sensitivity(LAB.counts(), MarginalSensitivity(1.0), values={"odds": [1.0, 2.0, 4.0]}, infinite=True)
    ax = one.plot("width")
    assert [text.get_text() for text in ax.texts] == sorted(text.get_text() for text in ax.texts)
    assert ax.get_xlabel().startswith("odds")
    plt.close("all")


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log.parquet"
    LAB.write_log(log, 3_000, seed=2)
    command = ["sensitivity", str(log), "--context", "context", "--arm", "arm", "--reward", "reward"]
    command += ["--assume", "erring=0.02,gap-low=0.3"]
    picture, table = tmp_path / "errors.png", tmp_path / "grid.csv"
    tried = ["--try", "errors", "0.02", "0.1", "--try", "gap-low", "0.3", "0"]
    assert main([*command, *tried, "--plot", str(picture), "-o", str(table)]) == 0
    assert "errors 0.02, --gap-low 0.3" in capsys.readouterr().out
    assert picture.stat().st_size > 1000
    assert len(pd.read_csv(table)) == 2 * 2 * 2
    for wrong, words in (
        (["--try", "odds", "2"], "'odds' has values to try"),
        (["--try", "errors", "many"], "--try errors needs numbers"),
        (["--try", "errors"], "each assumption needs at least one value"),
        (["--gap-low", "0.1"], "go into --assume"),
    ):
        assert main([*command, *wrong]) == 2
        assert words in capsys.readouterr().err
    assert main([*command[:-2], "--try", "errors", "0.1"]) == 2
    assert "--try needs --assume" in capsys.readouterr().err
