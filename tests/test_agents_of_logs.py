"""The measurement of agents that start from logs: worlds, experts, ratios and the page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks import agents_of_logs as measured

import meanbounds as mb


@pytest.mark.parametrize("effect", measured.EFFECTS.values(), ids=str)
def test_types_matter_as_much_as_said(effect: float) -> None:
    world = measured.World.drawn(effect, 4, 1)
    spread = np.ptp(world.means, axis=0)
    assert np.all(spread <= effect)
    assert (spread.max() > 0.5 * effect) == (effect > 0.0)
    assert world.weights.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("name", [*measured.EXPERTS, *measured.OTHERS])
def test_experts(name: str) -> None:
    every = {**measured.EXPERTS, **measured.OTHERS}
    world, rng = measured.World.drawn(1.0, 1, 1), np.random.default_rng(1)
    chances = every[name](world.means, world.weights, rng)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    right = chances[np.arange(measured.TYPES), world.means.argmax(axis=1)]
    least = {"perfect": 1.0, "errs 5%": 0.95, "errs 20%": 0.8, "favourite is the worst arm": 0.4}.get(name, 0.0)
    assert np.all(right >= least - 1e-12)
    counts = world.log(every[name], 0)
    assert counts.rows == measured.ROWS


def test_half_informed_experts_are_optimal_for_what_they_see() -> None:
    """So the bounds of `OptimalExpert()` hold for them."""
    for number in range(20):
        world = measured.World.drawn(1.0, number, 2)
        found = mb.logs.bounds(world.log(measured.partial, 0), confidence=0.999)["all"]
        assert found.contains(world.truth).all()


def test_ratios_of_worlds_in_which_nothing_can_be_lost() -> None:
    np.testing.assert_allclose(measured.ratios(np.array([3.0, 4.0]), np.array([0.0, 8.0])), [3.0, 0.5])


def test_central_intervals() -> None:
    prior = mb.Prior([0.5, 0.5], [2.0, 2.0])  # uniform
    assert measured.inside(prior, np.array([0.3, 0.2]), 0.5).tolist() == [1.0, 0.0]


def test_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured, "ROUNDS", 50)
    page, kept = tmp_path / "page.md", tmp_path / "kept"
    kept.mkdir()
    for _ in range(2):  # the second time from what was kept
        measured.main(["a", "d", "--worlds", "2", "--runs", "1", "--kept", str(kept), "-o", str(page)])
    text = page.read_text()
    assert text.count("| much, perfect |") == 2
    assert text.count("not at all, wrong idea of each cell (0.15)") >= 2
    assert "OptimisticGittins(f='t + 1000')" in " ".join(text.split())
    assert len(list(kept.iterdir())) == 2
    capsys.readouterr()
