"""SoftImpute against a dense twin, its stationarity conditions, and matrices whose truth is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from meanbounds.worlds.movielens import made_up_ratings
from meanbounds.worlds.softimpute import Completion, choose_penalty, soft_impute
from tests.children import run_interpreted

Floats = NDArray[np.float64]


def dense_twin(x: Floats, seen: NDArray[np.bool_], penalty: float, rank: int, steps: int = 20_000) -> Floats:
    """The definition, with a full SVD in each step, from 0 until nothing moves."""
    z: Floats = np.zeros_like(x)
    for _ in range(steps):
        u, s, v = np.linalg.svd(np.where(seen, x, z), full_matrices=False)
        kept = np.maximum(s - penalty, 0.0) * (np.arange(s.size) < rank)
        after: Floats = (u * kept) @ v
        if np.linalg.norm(after - z) <= 1e-11 * float(np.linalg.norm(z)):
            break
        z = after
    return after


def planted(
    seed: int, shape: tuple[int, int], rank: int, noise: float, share: float
) -> tuple[Floats, NDArray[np.bool_], Floats]:
    """A matrix of low rank with entries of variance 1, which entries are seen, and what is seen."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(shape[0], rank)) @ rng.normal(size=(rank, shape[1])) / np.sqrt(rank)
    return truth, rng.random(shape) < share, truth + rng.normal(0.0, noise, shape)


@st.composite
def partial_matrices(draw: st.DrawFn) -> tuple[Floats, NDArray[np.bool_], float]:
    shape = draw(st.tuples(st.integers(2, 14), st.integers(2, 14)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    x = rng.normal(size=(shape[0], 2)) @ rng.normal(size=(2, shape[1])) + rng.normal(0.0, 0.3, shape)
    seen = rng.random(shape) < draw(st.sampled_from([0.3, 0.6, 1.0]))
    seen[rng.integers(shape[0]), rng.integers(shape[1])] = True
    top = np.linalg.norm(np.where(seen, x, 0.0), 2)
    return x, seen, float(top * draw(st.sampled_from([0.05, 0.2, 0.6, 1.1])))


@settings(max_examples=40)
@given(partial_matrices())
def test_stationarity(case: tuple[Floats, NDArray[np.bool_], float]) -> None:
    """R = P(X - Z) is nearly penalty times a subgradient at Z: R V = penalty U, R' U = penalty V, no more elsewhere.

    The step gives Z+ with M - Z+ such a subgradient, M = P(X - Z) + Z, so R+ differs from it by P(Z - Z+) and Z - Z+:
    by twice the residual at most.
    """
    x, seen, penalty = case
    rows, columns = np.nonzero(seen)
    found = soft_impute(
        rows,
        columns,
        x[seen],
        (x.shape[0], x.shape[1]),
        penalty=penalty,
        rank=20,
        centre=False,
        tolerance=1e-7,
        max_iter=300,
    )
    rest = np.where(seen, x - found.dense(), 0.0)
    near = 2.0 * found.residual * np.linalg.norm(found.singular_values) + 1e-9 * penalty
    assert found.residual <= 1e-4
    assert np.linalg.norm(rest, 2) <= penalty + near
    assert np.linalg.norm(rest @ found.right - penalty * found.left) <= near
    assert np.linalg.norm(rest.T @ found.left - penalty * found.right) <= near
    assert -1e-9 <= found.gap <= 1e-2


@pytest.mark.parametrize(("seed", "rank"), [(0, 20), (1, 20), (2, 2), (3, 3)])
def test_equals_the_dense_twin(seed: int, rank: int) -> None:
    """Also where the rank binds: both then come from the same side."""
    _, seen, x = planted(seed, (30, 22), 3, 0.3, 0.6)
    rows, columns = np.nonzero(seen)
    found = soft_impute(
        rows, columns, x[seen], (30, 22), penalty=1.5, rank=rank, centre=False, tolerance=1e-9, max_iter=2000
    )
    twin = dense_twin(x, seen, 1.5, rank)
    assert found.rank_binds == (rank < 4)
    np.testing.assert_allclose(found.dense(), twin, atol=1e-6)


def test_the_certificate_is_never_below_the_truth() -> None:
    """At the answer 55 singular values of what is left are nearly equal, and the largest is easily taken too low."""
    few = made_up_ratings(0, 1500, 900)
    found = soft_impute(
        few.user, few.movie, few.rewards, few.shape, penalty=3.0, rank=60, damping=np.inf, tolerance=1e-6
    )
    assert found.converged
    assert not found.rank_binds
    assert 0.0 <= found.gap <= 1e-5


def test_effects_are_those_of_a_ridge_regression() -> None:
    _, seen, x = planted(5, (12, 9), 2, 0.2, 0.5)
    rows, columns = np.nonzero(seen)
    found = soft_impute(rows, columns, x[seen], (12, 9), penalty=100.0, damping=2.0)
    design = np.hstack([np.eye(12)[rows], np.eye(9)[columns]])
    effects = np.linalg.solve(design.T @ design + 2.0 * np.eye(21), design.T @ (x[seen] - x[seen].mean()))
    assert found.singular_values.size == 0
    np.testing.assert_allclose(np.r_[found.row_effects, found.column_effects], effects, atol=1e-8)
    assert found.predict(3, 4) == pytest.approx(x[seen].mean() + effects[3] + effects[16])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("rank", [1, 3, 5])
def test_recovers_a_planted_matrix_to_its_noise(seed: int, rank: int) -> None:
    """With 0.1 of noise the unseen entries are known to less than 0.1, and the error held out is the noise's."""
    truth, seen, x = planted(seed, (200, 150), rank, 0.1, 0.5)
    rows, columns = np.nonzero(seen)
    found = choose_penalty(rows, columns, x[seen], (200, 150), ranks=[10], centre=False)
    assert np.sqrt(np.mean((found.dense() - truth)[~seen] ** 2)) < 0.1
    assert 0.09 < min(trial.error for trial in found.tried) < 0.135
    assert found.converged
    assert found.singular_values.size >= rank


def test_the_choice_is_the_best_that_was_tried() -> None:
    _, seen, x = planted(1, (60, 50), 2, 0.5, 0.6)
    rows, columns = np.nonzero(seen)
    found = choose_penalty(rows, columns, x[seen], (60, 50), penalties=[1.0, 8.0, 3.0, 40.0], ranks=[2, 6], seed=4)
    again = choose_penalty(rows, columns, x[seen], (60, 50), penalties=[1.0, 8.0, 3.0, 40.0], ranks=[2, 6], seed=4)
    best = min(found.tried, key=lambda trial: trial.error)
    assert (found.penalty, found.rank) == (best.penalty, best.rank)
    assert found.tried == again.tried
    assert {trial.rank for trial in found.tried} == {2, 6}
    assert [trial.penalty for trial in found.tried if trial.rank == 2][:2] == [40.0, 8.0]


def test_penalties_above_everything_do_not_end_the_path() -> None:
    _, seen, x = planted(1, (60, 50), 2, 0.2, 0.6)
    rows, columns = np.nonzero(seen)
    found = choose_penalty(rows, columns, x[seen], (60, 50), penalties=[1e6, 1e5, 1e4, 1e3, 2.0], ranks=[6], patience=1)
    assert found.penalty == 2.0
    assert [trial.directions for trial in found.tried[:4]] == [0, 0, 0, 0]


def test_a_start_nearby_saves_steps_and_ends_in_the_same_place() -> None:
    _, seen, x = planted(2, (60, 50), 3, 0.3, 0.4)
    rows, columns = np.nonzero(seen)
    near = soft_impute(rows, columns, x[seen], (60, 50), penalty=2.1, centre=False)
    cold = soft_impute(rows, columns, x[seen], (60, 50), penalty=2.0, centre=False)
    warm = soft_impute(rows, columns, x[seen], (60, 50), penalty=2.0, centre=False, start=near)
    assert warm.iterations < cold.iterations
    np.testing.assert_allclose(warm.dense(), cold.dense(), atol=5e-3)


def test_a_start_that_knows_nothing_of_new_directions() -> None:
    """A start of 30 directions, all in the first of two blocks; what is new is in the second."""
    rng = np.random.default_rng(1)
    first = 3.0 * rng.normal(size=(60, 60))
    second = 5.0 * rng.normal(size=(60, 4)) @ rng.normal(size=(4, 60))
    i, j = np.nonzero(np.ones((60, 60)))
    places = (np.r_[i, i + 60], np.r_[j, j + 60])
    sizes = np.linalg.svd(first, compute_uv=False)
    old = np.r_[first.ravel(), np.zeros(3600)]
    start = soft_impute(*places, old, (120, 120), penalty=float(sizes[30]), rank=100, centre=False)
    assert start.singular_values.size >= 20
    found = soft_impute(
        *places,
        np.r_[first.ravel(), second.ravel()],
        (120, 120),
        penalty=float(sizes[22]),
        rank=100,
        centre=False,
        start=start,
    )
    assert found.converged
    assert found.gap < 1e-3
    assert found.singular_values[3] > 200.0


def test_saves_and_loads(tmp_path: Path) -> None:
    _, seen, x = planted(3, (20, 15), 2, 0.3, 0.6)
    rows, columns = np.nonzero(seen)
    found = choose_penalty(rows, columns, x[seen], (20, 15), penalties=[2.0, 1.0], ranks=[4])
    found.save(tmp_path / "found.npz")
    again = Completion.load(tmp_path / "found.npz")
    np.testing.assert_array_equal(again.dense(), found.dense())
    assert (again.tried, again.residual, again.converged) == (found.tried, found.residual, found.converged)
    np.testing.assert_allclose(found.dense([3, 7], [1, 2]), found.predict([[3], [7]], [[1, 2]]))
    whole = (tmp_path / "found.npz").read_bytes()
    for bad in (b"not a file of arrays", b"", whole[:-50], whole[:300] + b"x" * 10 + whole[310:]):
        (tmp_path / "bad.npz").write_bytes(bad)
        with pytest.raises(ValueError, match=r"bad\.npz is not a saved completion .* complete again"):
            Completion.load(tmp_path / "bad.npz")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rows": [0, 0]}, "must be lists of one length"),
        ({"rows": [0, 0, 3]}, "rows must be whole numbers from 0 to 2; got 0 to 3"),
        ({"columns": [1, 1, 1], "rows": [0, 2, 0]}, "row 0, column 1 is given more than once"),
        ({"values": [0.5, np.nan, 1.0]}, "value 1 is not finite"),
        ({"penalty": 0.0}, "penalty must be a positive number"),
        ({"rank": 0}, "rank must be at least 1"),
        ({"tolerance": 0.0}, "tolerance and max_iter must be positive"),
        ({"shape": (3,)}, "shape must be two positive numbers"),
    ],
)
def test_mistakes_are_named(changes: dict[str, Any], message: str) -> None:
    given_: dict[str, Any] = {
        "rows": [0, 1, 2],
        "columns": [0, 1, 1],
        "values": [0.1, 0.2, 0.3],
        "shape": (3, 2),
        "penalty": 0.1,
    }
    with pytest.raises(ValueError, match=message):
        soft_impute(**{**given_, **changes})


def test_uncompiled_kernels_give_the_same() -> None:
    assert "passed" in run_interpreted(__file__, "-k", "dense_twin or ridge")
