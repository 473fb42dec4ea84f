"""Bounds from logs whose answer is known: they contain it, and plain averages do not."""

from math import inf
from pathlib import Path

import pytest
from benchmarks.observed import contexts, enough, lalonde, smoking

import meanbounds as mb
from benchmarks import observed


@pytest.mark.parametrize("tree", [False, True])
def test_the_experiment_agrees_with_bounds_that_assume_nothing_and_refutes_averages(tree: bool) -> None:
    data = lalonde()
    counts, shares = contexts(data, None, tree)
    assert round(data.answer[0]) == 1794
    assert sum(shares.values()) == pytest.approx(1.0)
    for experts in (mb.logs.Experts(), mb.logs.Experts(gap_high=data.apart)):
        low, high = data.effect(counts, experts, shares)
        assert low < data.answer[0] < high
    if not tree:
        average = counts.means[0, counts.arms.index("training")] - counts.means[0, counts.arms.index("none")]
        assert round(average) == -8498
        assert data.effect(counts, mb.logs.Experts(odds=1.0), shares)[1] < 0.0  # as if nothing had been hidden
        assert 1.0 < enough(data, counts, shares, 0.0) < enough(data, counts, shares, data.answer[0]) < 2.0


@pytest.mark.parametrize("tree", [False, True])
def test_missing_weights_leave_the_published_effect_in_the_bounds(tree: bool) -> None:
    data = smoking()
    for missing in data.missing:
        counts, shares = contexts(data, missing, tree)
        assert counts.missing is not None
        assert tree or counts.missing.sum() == 63
        low, high = data.effect(counts, mb.logs.Experts(odds=1.0), shares)
        assert low < data.answer[1] < data.answer[2] < high
    assert data.missing == (0.0, 5.0, inf)


def test_the_tables_are_written_into_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = "python -m benchmarks.observed --write docs/columns.md"
    page = tmp_path / "columns.md"
    page.write_text("".join(f"<!-- {name}: {made} -->\n<!-- end -->\n" for name in ("observed", "causalrl")))
    rows = [["a", "b"], ["---", "---"], ["1", "2"]]
    monkeypatch.setattr(observed, "table", lambda data: rows)
    observed.main([f"--write={page}"])
    assert "| 1 | 2 |" in page.read_text()
    assert "+1,053" in page.read_text()
