"""Experiments that simulate, in tiny sizes: files are written, exact claims get their verdicts, helpers are right."""

import csv
import math
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from paper.output import HOLDS, Claim
from tests.paper.reporting import Report, check_files, made

import meanbounds as mb
from paper import compute, never_worse, output, panels, roful, verdicts

TINY = {
    panels: panels.Sizes(300, 12),
    roful: roful.Sizes(1, 2, 40),
    compute: compute.Sizes(200, 2_000, 1, 20, 10),
    never_worse: never_worse.Sizes(10, 20, 300, 2_000, 1),
}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return made(tmp_path_factory.mktemp("reproduce"), TINY)


def test_files_and_report(report: Report) -> None:
    check_files(report)


def verdict_of(found: list[Claim], text: str) -> str:
    (verdict,) = [claim.verdict for claim in found if text in claim.text]
    return verdict


def test_exact_claims(report: Report) -> None:
    _, found = report
    for text in ("only clip", "below 1/2, ImprovedUCB and GLUE coincide", "Every arm is explored", "Arm 3", "Arm 2"):
        assert verdict_of(found["panels"], text) == HOLDS, text
    assert verdict_of(found["panels"], "below the bound") != "does not hold"
    assert verdict_of(found["roful"], "matches OFUL exactly") == "holds after correction"
    assert verdict_of(found["roful"], "below the bound") == HOLDS
    assert [claim.verdict for claim in found["never_worse"]] == [HOLDS] * 2 + ["does not hold"] * 3


def test_reference_indices() -> None:
    for mean in (0.0, 0.3, 0.95, 1.0):
        for budget in (1e-4, 0.02, 1.0):
            expected = mb.theory.bernoulli_kl_upper(mean, budget)
            assert compute.newton(mean, budget, 0.25) == pytest.approx(expected, abs=1e-8)
            assert compute.bisection(mean, budget, 0.25) == pytest.approx(expected, abs=2e-6)


def test_our_arm_has_the_largest_index_that_a_general_solver_finds() -> None:
    times, short = compute.with_features(10, compute.Sizes(linear=60, step=20))
    assert short < 1e-6
    assert times[compute.KEPT] <= times[compute.EVERY]


def test_paired_test() -> None:
    rng = np.random.default_rng(1)
    first = rng.random(40)
    clear, same = verdicts.Pairs.of(first, first + 0.1), verdicts.Pairs.of(first, first)
    assert (clear.shows, verdicts.Pairs.of(first + 0.1, first).shows, same.shows) == (True, False, False)
    assert [clear.chance, same.chance] == pytest.approx([0.5**40, 1.0])
    assert str(same).endswith("less in 0 of 40 pairs, equal in 40")
    exact = sum(math.comb(500, k) * 1e-3**k * 0.999 ** (500 - k) for k in range(3, 501))
    assert verdicts.by_chance(3, 500) == pytest.approx(exact)


def test_bound_that_regret_exceeds_is_noticed() -> None:
    regret = mb.simulate(mb.GLUE(), mb.Bernoulli([0.9, 0.1]), horizon=100, runs=5, seed=1, checkpoints=2)
    worse = mb.Regret(regret.checkpoints, {"GLUE": 1e4 + regret.curves["GLUE"]}, regret.plays, regret.settings)
    assert verdicts.below_bounds("here", "so", [regret]).verdict != "does not hold"
    found = verdicts.below_bounds("here", "so", [regret, worse])
    assert found.verdict == "does not hold"
    assert "above it: 1 curves" in found.measured


EXPECTED = {
    "factor": ["holds", "holds", "holds after correction"],
    "table1": ["holds"] * 5,
}


@pytest.mark.parametrize("name", EXPECTED)
def test_figures_and_tables_that_need_no_simulation(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [name, "--out", str(tmp_path / "new"), "--quick"])
    output.command("", import_module(f"paper.{name}").main)
    said = [line for line in capsys.readouterr().out.splitlines() if not line.startswith(" ")]
    assert [line.split(":")[0] for line in said[:-1]] == EXPECTED[name]
    with (tmp_path / "new" / f"{name}.csv").open(encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) >= 199
    assert (tmp_path / "new" / f"{name}.png").stat().st_size > 10_000
