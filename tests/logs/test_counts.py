"""Counts: checked when they are made, saved, added and selected without loss."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from meanbounds.logs import Counts, LogError
from meanbounds.logs.counts import Context

RANDOM = np.random.default_rng(3)


def counts_of(contexts: tuple[Context, ...], arms: tuple[str | int, ...], *, weighted: bool = False) -> Counts:
    """Counts of random rewards 1, 2, ..., 5."""
    shape = len(contexts), len(arms)
    count = RANDOM.integers(0, 9, shape).astype(float)
    total, squares = np.zeros(shape), np.zeros(shape)
    for place, rows in np.ndenumerate(count):
        rewards = RANDOM.integers(1, 6, int(rows))
        total[place], squares[place] = rewards.sum(), (rewards**2).sum()
    sums = RANDOM.random((5, *shape)) if weighted else None
    columns = () if contexts == (None,) else ("z",) if isinstance(contexts[0], str) else ("z", "y")
    least = 0.25 if weighted else None
    return Counts(
        contexts, arms, count, total, squares, 1.0, 5.0, columns, dropped={"missing arm": 2}, weighted=sums, least=least
    )


@pytest.mark.parametrize("contexts", [(None,), ("a", "b"), (("a", "1"), ("a", "2"), ("b", "1"))])
@pytest.mark.parametrize("weighted", [False, True])
def test_counts_survive_files_and_pickles(contexts: tuple[Context, ...], weighted: bool, tmp_path: Path) -> None:
    counts = counts_of(contexts, ("x", "y"), weighted=weighted)
    counts.save(tmp_path / "counts.json")
    for copy in (Counts.load(tmp_path / "counts.json"), pickle.loads(pickle.dumps(counts))):
        assert copy == counts
        assert hash(copy) == hash(counts)
        assert copy.contexts == contexts
    assert counts != counts_of(contexts, ("x", "y"), weighted=weighted)


@pytest.mark.parametrize("weighted", [False, True])
def test_sums_of_counts_have_the_rows_of_both(weighted: bool) -> None:
    one, two = counts_of(("a", "b"), (0, 1), weighted=weighted), counts_of(("b", "c"), ("1", "x"), weighted=weighted)
    both = one + two
    assert both.contexts == ("a", "b", "c")
    assert both.arms == ("0", "1", "x")
    assert both.rows == one.rows + two.rows
    assert both.dropped == {"missing arm": 4}
    assert both.count[1].tolist() == [one.count[1, 0], one.count[1, 1] + two.count[0, 0], two.count[0, 1]]
    if one.weighted is not None and two.weighted is not None and both.weighted is not None:
        np.testing.assert_array_equal(both.weighted[:, 1, 1], one.weighted[:, 1, 1] + two.weighted[:, 0, 0])
    only = both.select(["c", "a"])
    assert only.contexts == ("c", "a")
    assert only.total.tolist() == both.total[[2, 0]].tolist()
    with pytest.raises(LookupError, match="unknown context 'A', did you mean 'a'"):
        both.select(["A"])


def test_means_shares_and_values() -> None:
    counts = Counts(
        ("a", "b"), ("x", "y"), np.array([[1, 3], [0, 0]]), np.array([[1, 0.5], [0, 0]]), np.ones((2, 2)) * 0
    )
    np.testing.assert_array_equal(counts.means, [[1.0, 0.5 / 3.0], [np.nan, np.nan]])
    np.testing.assert_array_equal(counts.shares, [[0.25, 0.75], [np.nan, np.nan]])
    np.testing.assert_array_equal(counts.value, [0.375, np.nan])
    with pytest.raises(ValueError, match="read-only"):
        counts.count[0, 0] = 5.0


@pytest.mark.parametrize("low", [0.0, 1.0, -30.0, 1e3, 1e7, 1e9, -1e12])
def test_units_never_hide_variance(low: float) -> None:
    """Far from 0 sums of squares lose digits: what comes out must not be below the truth."""
    rewards = RANDOM.random(1000)
    own = low + rewards
    count, total, squares = (np.array([[value]]) for value in (1000.0, own.sum(), (own**2).sum()))
    total, squares = Counts((None,), ("x",), count, total, squares, low, low + 1.0).unit
    u = own - low
    tolerance = 1e-12 * abs(low) * 1000 + 1e-9
    assert abs(total[0, 0] - u.sum()) <= tolerance
    assert (u**2).sum() - tolerance <= squares[0, 0] <= total[0, 0]
    if abs(low) <= 1e3:
        assert squares[0, 0] == pytest.approx((u**2).sum(), rel=1e-5)


GOOD: dict[str, Any] = {"contexts": ["a"], "arms": ["x"], "count": [[2]], "total": [[1]], "squares": [[1]]}
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"contexts": []}, "contexts must be at least one name"),
    ({"contexts": "a"}, "contexts must be a list"),
    ({"contexts": [1]}, "contexts must be texts"),
    ({"contexts": ["a", "a"]}, "each only once"),
    ({"contexts": [("a",), ("a", "b")], "count": [[1], [1]]}, "tuples of as many texts each"),
    ({"arms": [True]}, "arms must be texts or whole numbers"),
    ({"count": [[1, 2]]}, r"count has the shape \(1, 2\)"),
    ({"count": [[1.5]]}, "whole numbers of rows"),
    ({"total": [[3]]}, r"rewards in the range \[0, 1\]"),
    ({"total": [[np.nan]]}, "total must hold finite numbers"),
    ({"squares": [[5]]}, "squares of rewards"),
    ({"low": 1.0}, "low must be less than high"),
    ({"least": 0.0}, "least propensity"),
    ({"weighted": [[[1]]]}, "weighted has the shape"),
    ({"dropped": {"missing arm": -1}}, "dropped: missing arm must be a whole number"),
]


@pytest.mark.parametrize(("change", "message"), REFUSED)
def test_what_cannot_be_counts_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Counts(**{**GOOD, **change})
    with pytest.raises(ValueError, match=f"the saved Counts cannot be read: .*{message}"):
        Counts.from_dict({**GOOD, **change})


def test_counts_of_different_logs_are_not_added() -> None:
    with pytest.raises(LogError, match=r"differ in high: 1\.0 and 2\.0"):
        Counts(**GOOD) + Counts(**GOOD, high=2.0)
    with pytest.raises(LogError, match=r"differ in columns: \('z',\) and \('y',\)"):
        Counts(**GOOD, columns=("z",)) + Counts(**GOOD, columns=("y",))
    with pytest.raises(LogError, match="with propensities and counts without"):
        Counts(**GOOD, weighted=np.ones((5, 1, 1))) + Counts(**GOOD)
    with pytest.raises(ValueError, match="it lacks arms; it should not have arm_names"):
        Counts.from_dict({**{name: GOOD[name] for name in GOOD if name != "arms"}, "arm_names": []})
