"""A whole matrix from some of its entries: SoftImpute, without ever forming the whole matrix."""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanbounds.kernels.solvers import sparse
from meanbounds.support.progress import Progress
from meanbounds.support.seeding import Seed, as_seed
from meanbounds.support.types import Floats
from meanbounds.support.writing import write_atomically

__all__ = ["Completion", "Trial", "choose_penalty", "soft_impute"]

Places = NDArray[np.int64]
_FORMAT = 1
_OVERSAMPLING = 10  # directions kept beside those that are above the penalty, so that new ones are seen coming
_STEPS = 60  # of the Krylov space in which the largest singular value is sought


class Trial(NamedTuple):
    """One penalty and rank that were tried: the root mean squared error on the entries held out, and how it ended."""

    penalty: float
    rank: int
    error: float
    directions: int
    residual: float
    iterations: int


@dataclass(frozen=True, eq=False)
class Completion:
    """A completed matrix: mean + row effects + column effects + left diag(singular_values) right'.

    Attributes
    ----------
    left, singular_values, right
        The part of low rank: rows x directions, directions, columns x directions.
    mean, row_effects, column_effects
        What was taken off before; all 0 without centring.
    penalty, rank
        What the completion was asked for.
    residual
        How far the last step of SoftImpute moved the matrix, as a share of its norm. What is left, P(X - Z), is then
        within twice that distance of penalty times a subgradient of the sum of singular values.
    gap
        How far the objective is from its least value, at most, as a share of it: the gap to a feasible point of the
        dual problem. Where `rank` binds the problem is not convex, and the gap is to the problem without that limit.
    iterations
        Steps that were done.
    converged
        Whether the residual came down to the tolerance.
    tried
        What `choose_penalty` tried.
    """

    left: Floats = field(repr=False)
    singular_values: Floats = field(repr=False)
    right: Floats = field(repr=False)
    mean: float
    row_effects: Floats = field(repr=False)
    column_effects: Floats = field(repr=False)
    penalty: float
    rank: int
    residual: float
    gap: float
    iterations: int
    converged: bool
    tried: tuple[Trial, ...] = ()

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.left), len(self.right)

    @property
    def rank_binds(self) -> bool:
        """Whether more directions than `rank` might have been used."""
        return self.singular_values.size >= self.rank

    def predict(self, rows: ArrayLike, columns: ArrayLike) -> Floats:
        """The entries at these places."""
        i, j = np.broadcast_arrays(np.asarray(rows), np.asarray(columns))
        found: Floats = self.mean + self.row_effects[i] + self.column_effects[j]
        found += np.einsum("...t,t,...t->...", self.left[i], self.singular_values, self.right[j], optimize=True)
        return found

    def dense(self, rows: slice | ArrayLike = slice(None), columns: slice | ArrayLike = slice(None)) -> Floats:
        """These rows and columns as a dense matrix; all of them by default."""
        chosen = rows if isinstance(rows, slice) else np.asarray(rows)
        across = columns if isinstance(columns, slice) else np.asarray(columns)
        effects = self.mean + self.row_effects[chosen, None] + self.column_effects[across]
        whole: Floats = (self.left[chosen] * self.singular_values) @ self.right[across].T
        whole += effects
        return whole

    def save(self, path: str | Path) -> None:
        """Keep it as an .npz file, whole or not at all."""
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        rest = {name: value for name, value in asdict(self).items() if name not in _ARRAYS}
        arrays["settings"] = np.array(json.dumps({"format": _FORMAT, **rest}))

        def write(partial: Path) -> None:
            with partial.open("wb") as file:  # under its own name: numpy adds .npz to other names
                np.savez(file, **arrays)

        write_atomically(Path(path), write)

    @classmethod
    def load(cls, path: str | Path) -> Completion:
        """Read what `save` wrote."""
        try:
            with Path(path).open("rb") as opened, np.load(opened, allow_pickle=False) as file:
                arrays = {name: file[name] for name in _ARRAYS}
                rest = json.loads(str(file["settings"]))
        except FileNotFoundError:
            raise
        except (KeyError, ValueError, OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            raise ValueError(f"{path} is not a saved completion ({error}); delete it and complete again") from error
        if rest.pop("format") != _FORMAT:
            raise ValueError(f"{path} was saved by another version of meanbounds; delete it and complete again")
        rest["tried"] = tuple(Trial(*trial) for trial in rest["tried"])
        return cls(**arrays, **rest)


_ARRAYS = ("left", "singular_values", "right", "row_effects", "column_effects")


def soft_impute(
    rows: ArrayLike,
    columns: ArrayLike,
    values: ArrayLike,
    shape: tuple[int, int],
    penalty: float,
    rank: int = 100,
    *,
    centre: bool = True,
    damping: float = 5.0,
    tolerance: float = 1e-4,
    most: int = 500,
    start: Completion | None = None,
    show: bool | None = None,
) -> Completion:
    """Complete a matrix: few directions, and close to what was seen.

    Minimises 1/2 sum over entries seen (X - Z)^2 + penalty x (sum of the singular values of Z) over matrices Z of at
    most `rank`. The step is SoftImpute's, Z <- S(P(X) + P'(Z)): what was seen is put in place, and all singular values
    are lowered by the penalty, but not below 0. That is a proximal gradient step of length 1, so it is accelerated
    (Nesterov's momentum, dropped whenever the objective rises). What is decomposed is a sparse matrix plus one of low
    rank, by subspace iteration from the directions of the step before; nothing of the size of the whole is formed.

    Parameters
    ----------
    rows, columns, values
        Where entries were seen, each place once, and what was seen there.
    shape
        Rows and columns of the matrix.
    penalty
        In units of singular values.
    rank
        The most directions. Where it binds (see `Completion.rank_binds`) the answer is a stationary point of the
        problem with that rank, which is not convex.
    centre
        Whether to complete what is left when the mean of all entries and damped effects of rows and columns are taken
        off: b and c that minimise sum (X - mean - b_i - c_j)^2 + damping (|b|^2 + |c|^2). Without it, what is not known
        is drawn towards 0; with it, towards the effects.
    damping
        As above: as if each row and column had so many more entries that show no effect. With ``numpy.inf`` the mean
        alone is taken off.
    tolerance
        Stop when a step changes the matrix by at most this share of its norm.
    most
        Stop after so many steps in any case; `converged` then is False.
    start
        A completion to start from, of a matrix of the same shape: that of a neighbouring penalty saves most steps.
    show
        Whether to show progress; None to look whether there is a terminal.

    References
    ----------
    Mazumder, Hastie and Tibshirani (2010), Spectral regularization algorithms for learning large incomplete matrices.

    Examples
    --------
    >>> import numpy as np
    >>> from meanbounds.worlds.softimpute import soft_impute
    >>> rows, columns = np.nonzero(~np.eye(6, dtype=bool))  # all but the diagonal of a multiplication table
    >>> table = (rows + 1) * (columns + 1)
    >>> found = soft_impute(rows, columns, table, (6, 6), 0.01, rank=1, centre=False)
    >>> found.singular_values.size, found.predict([2, 5], [2, 5]).round(1)
    (1, array([ 9., 36.]))
    """
    seen, x = _observed(rows, columns, values, shape)
    if not (np.isfinite(penalty) and penalty > 0.0):
        raise ValueError(f"penalty must be a positive number; got {penalty}")
    _check_rank(rank)
    if not tolerance > 0.0 or most < 1:
        raise ValueError(f"tolerance and most must be positive; got tolerance={tolerance}, most={most}")
    if start is not None and start.shape != tuple(shape):
        raise ValueError(f"start completes a matrix of shape {start.shape}, not {tuple(shape)}")
    effects = _effects(seen, x, damping) if centre else _no_effects(shape)
    with Progress(0, "completing", show) as bar:
        solved = _solve(seen, x - _at(seen, effects), penalty, rank, _started(start, shape), tolerance, most, bar)
    return _completion(seen, x, effects, penalty, rank, solved, tolerance)


def choose_penalty(
    rows: ArrayLike,
    columns: ArrayLike,
    values: ArrayLike,
    shape: tuple[int, int],
    penalties: Sequence[float] | None = None,
    ranks: Sequence[int] = (100,),
    *,
    held_out: float = 0.1,
    centre: bool = True,
    damping: float = 5.0,
    tolerance: float = 1e-4,
    trial_tolerance: float = 1e-3,
    most: int = 500,
    trial_most: int = 30,
    patience: int = 2,
    low: float = -np.inf,
    high: float = np.inf,
    seed: Seed = 0,
    show: bool | None = None,
) -> Completion:
    """Complete a matrix with the penalty and the rank that predict entries best which were held out.

    For each rank, penalties are tried from the largest down, each from the answer of the one before, until the error
    has risen `patience` times in a row. The best pair is then used on all entries. `Completion.tried` tells all.

    Parameters
    ----------
    rows, columns, values, shape, centre, damping, tolerance, most, show
        As for `soft_impute`.
    penalties
        What to try; by default the largest singular value of what was seen, and 0.8 of it, and so on.
    ranks
        What to try; each has a path of its own.
    held_out
        Share of the entries that is held out.
    trial_tolerance, trial_most
        Tolerance, and most steps, of each trial: enough to tell penalties apart that are not close to each other; the
        error of the completion itself is a little lower, mostly without centring.
    patience
        See above.
    low, high
        Predictions are clipped to this range before they are compared.
    seed
        Which entries are held out.

    Examples
    --------
    >>> import numpy as np
    >>> from meanbounds.worlds.softimpute import choose_penalty
    >>> rng = np.random.default_rng(1)
    >>> truth = np.outer(rng.normal(size=80), rng.normal(size=60))
    >>> rows, columns = np.nonzero(rng.random(truth.shape) < 0.5)
    >>> noisy = truth[rows, columns] + rng.normal(0.0, 0.1, rows.size)
    >>> found = choose_penalty(rows, columns, noisy, truth.shape, ranks=[5], centre=False)
    >>> bool(np.sqrt(np.mean((found.dense() - truth) ** 2)) < 0.1)
    True
    """
    seen, x = _observed(rows, columns, values, shape)
    if not 0.0 < held_out < 1.0:
        raise ValueError(f"held_out must be a share between 0 and 1; got {held_out}")
    for rank in ranks:
        _check_rank(rank)
    if not ranks or (penalties is not None and not (len(penalties) and all(0.0 < p < np.inf for p in penalties))):
        raise ValueError(f"penalties and ranks must be positive, at least one of each; got {penalties} and {ranks}")
    aside = np.random.default_rng(as_seed(seed)).random(x.size) < held_out
    if not 0 < aside.sum() < x.size:
        raise ValueError(f"{int(aside.sum())} of {x.size} entries were held out: choose another held_out or seed")
    i, j = seen.rows[~aside], seen.columns[~aside]
    kept, y = _observed(i, j, x[~aside], shape)
    effects = _effects(kept, y, damping) if centre else _no_effects(shape)
    rest = y - _at(kept, effects)
    if penalties is None:
        path = _spectral_norm(kept, rest) * 0.8 ** np.arange(30)
    else:
        path = np.sort(np.asarray(penalties, dtype=np.float64))[::-1]
    tried: list[Trial] = []
    with Progress(len(path) * len(ranks), "choosing the penalty", show) as bar:
        for rank in ranks:
            state, worse, best = _started(None, shape), 0, np.inf
            for penalty in path:
                solved = _solve(kept, rest, float(penalty), rank, state, trial_tolerance, trial_most, None)
                state = solved.state
                there = _completion(kept, y, effects, float(penalty), rank, solved, trial_tolerance, certify=False)
                guess = np.clip(there.predict(seen.rows[aside], seen.columns[aside]), low, high)
                error = float(np.sqrt(np.mean((guess - x[aside]) ** 2)))
                size = state.singular_values.size
                tried.append(Trial(float(penalty), int(rank), error, size, solved.residual, solved.iterations))
                bar.advance()
                # While the penalty is above all singular values nothing changes: that is no rise.
                worse, best = (0, error) if error < best else (worse + (error > best), best)
                if worse >= patience:
                    break
    chosen = min(tried, key=lambda trial: trial.error)
    effects = _effects(seen, x, damping) if centre else _no_effects(shape)
    with Progress(0, "completing", show) as bar:
        # A path of its own: a start far from the answer would need more steps than the way along the path.
        state, rest = _started(None, shape), x - _at(seen, effects)
        for penalty in path[path > chosen.penalty]:
            state = _solve(seen, rest, float(penalty), chosen.rank, state, 1e-2, 5, bar).state
        solved = _solve(seen, rest, chosen.penalty, chosen.rank, state, tolerance, most, bar)
    return _completion(seen, x, effects, chosen.penalty, chosen.rank, solved, tolerance, tried=tuple(tried))


class _Observed(NamedTuple):
    """Where entries were seen: sorted by row, then by column, and how to sort them by column."""

    shape: tuple[int, int]
    rows: Places
    columns: Places
    row_start: Places
    column_order: Places
    column_start: Places
    rows_by_column: Places


class _Effects(NamedTuple):
    mean: float
    rows: Floats
    columns: Floats


class _State(NamedTuple):
    """An iterate, and the directions in which the next one is sought: more than it has itself."""

    left: Floats
    singular_values: Floats
    right: Floats
    basis: Floats


class _Solved(NamedTuple):
    state: _State
    residual: float
    iterations: int


def _check_rank(rank: int) -> None:
    if not rank >= 1:
        raise ValueError(f"rank must be at least 1; got {rank}")


def _observed(
    rows: ArrayLike, columns: ArrayLike, values: ArrayLike, shape: tuple[int, int]
) -> tuple[_Observed, Floats]:
    i, j, x = np.asarray(rows), np.asarray(columns), np.asarray(values, dtype=np.float64)
    if not (i.ndim == 1 and i.shape == j.shape == x.shape and i.size):
        raise ValueError(
            "rows, columns and values must be lists of one length, not empty; got shapes "
            f"{i.shape}, {j.shape} and {x.shape}"
        )
    if len(shape) != 2 or min(shape) < 1:
        raise ValueError(f"shape must be two positive numbers; got {shape}")
    for name, places, size in (("rows", i, shape[0]), ("columns", j, shape[1])):
        if not np.issubdtype(places.dtype, np.integer) or places.min() < 0 or places.max() >= size:
            raise ValueError(f"{name} must be whole numbers from 0 to {size - 1}; got {places.min()} to {places.max()}")
    if not np.all(np.isfinite(x)):
        raise ValueError(f"value {int(np.argmin(np.isfinite(x)))} is not finite; leave out what was not seen")
    key = i.astype(np.int64) * shape[1] + j
    order = np.argsort(key, kind="stable")
    twice = np.flatnonzero(np.diff(key[order]) == 0)
    if twice.size:
        place = order[twice[0]]
        raise ValueError(f"row {i[place]}, column {j[place]} is given more than once; merge such entries first")
    i, j = i[order].astype(np.int64), j[order].astype(np.int64)
    across = np.argsort(j, kind="stable")
    by_row, by_column = np.searchsorted(i, np.arange(shape[0] + 1)), np.searchsorted(j[across], np.arange(shape[1] + 1))
    return _Observed((int(shape[0]), int(shape[1])), i, j, by_row, across, by_column, i[across]), x[order]


def _in_blocks(start: Places, work: Callable[[int, int], None]) -> None:
    """Do rows in as many blocks as there are cores, equal in entries. Rows are independent: the result is the same."""
    workers = min(8, os.cpu_count() or 1)
    if start[-1] < 20_000 or workers == 1:
        work(0, start.size - 1)
        return
    ends = np.searchsorted(start, np.linspace(0, start[-1], workers + 1))
    ends[0], ends[-1] = 0, start.size - 1
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(work, ends[:-1].tolist(), ends[1:].tolist()))


def _entries(seen: _Observed, left: Floats, right: Floats) -> Floats:
    found = np.empty(seen.rows.size)
    a, b = np.ascontiguousarray(left), np.ascontiguousarray(right)
    _in_blocks(
        seen.row_start,
        lambda first, last: sparse.entries(seen.row_start, seen.columns, a, b, first, last, found),
    )
    return found


def _product(seen: _Observed, values: Floats, dense: Floats) -> Floats:
    """The sparse matrix of these values, times a dense one."""
    return _times(seen.row_start, seen.columns, values, dense)


def _turned_product(seen: _Observed, values: Floats, dense: Floats) -> Floats:
    """The transpose of the sparse matrix of these values, times a dense one."""
    return _times(seen.column_start, seen.rows_by_column, values[seen.column_order], dense)


def _times(start: Places, places: Places, values: Floats, dense: Floats) -> Floats:
    """A sparse matrix, stored one row after the other, times a dense one."""
    found, d = np.empty((start.size - 1, dense.shape[1])), np.ascontiguousarray(dense)
    _in_blocks(start, lambda first, last: sparse.product(start, places, values, d, first, last, found))
    return found


def _no_effects(shape: tuple[int, int]) -> _Effects:
    return _Effects(0.0, np.zeros(shape[0]), np.zeros(shape[1]))


def _effects(seen: _Observed, x: Floats, damping: float) -> _Effects:
    """Damped effects: those of rows are eliminated, those of columns found by conjugate gradients."""
    if not damping > 0.0:
        raise ValueError(f"damping must be positive: rows without entries have no effect of their own; got {damping}")
    mean, ones = float(x.mean()), np.ones(x.size)
    if np.isinf(damping):
        return _no_effects(seen.shape)._replace(mean=mean)
    of_rows, of_columns = np.diff(seen.row_start) + damping, np.diff(seen.column_start) + damping
    sums: Floats = np.bincount(seen.rows, x - mean, minlength=of_rows.size).astype(np.float64)

    def over_rows(effects: Floats) -> Floats:
        return _turned_product(seen, ones, (effects / of_rows)[:, None])[:, 0]

    def over_columns(effects: Floats) -> Floats:
        return _product(seen, ones, effects[:, None])[:, 0]

    columns = np.zeros(of_columns.size)
    rest = np.bincount(seen.columns, x - mean, minlength=of_columns.size) - over_rows(sums)
    scaled = rest / of_columns
    way, size = scaled, float(rest @ scaled)
    enough = 1e-18 * size
    while size > enough:
        image = of_columns * way - over_rows(over_columns(way))
        stride = size / float(way @ image)
        columns = columns + stride * way
        rest = rest - stride * image
        scaled = rest / of_columns
        before, size = size, float(rest @ scaled)
        way = scaled + (size / before) * way
    return _Effects(mean, (sums - over_columns(columns)) / of_rows, columns)


def _at(seen: _Observed, effects: _Effects) -> Floats:
    total: Floats = effects.mean + effects.rows[seen.rows] + effects.columns[seen.columns]
    return total


def _started(start: Completion | None, shape: tuple[int, int]) -> _State:
    if start is None:
        return _State(np.zeros((shape[0], 0)), np.zeros(0), np.zeros((shape[1], 0)), np.zeros((shape[1], 0)))
    wide = min(start.right.shape[1] + max(20, _OVERSAMPLING), *shape)  # the start may know nothing of other directions
    return _State(start.left, start.singular_values, start.right, _wider(start.right, wide))


def _step(
    seen: _Observed,
    rest: Floats,
    parts: Sequence[tuple[float, _State]],
    basis: Floats,
    penalty: float,
    rank: int,
    passes: int,
) -> _State:
    """Lower the singular values of a sparse matrix (`rest`) plus weighted states, starting from these directions."""
    n, m = seen.shape
    most = min(rank + _OVERSAMPLING, n, m)
    while True:
        block = basis[:, :most]
        for _ in range(passes):
            image = _product(seen, rest, block)
            for weight, state in parts:
                image += (state.left * (weight * state.singular_values)) @ (state.right.T @ block)
            ortho = _orthonormal(image)[0]
            block = _turned_product(seen, rest, ortho)
            for weight, state in parts:
                block += (state.right * (weight * state.singular_values)) @ (state.left.T @ ortho)
        outer, inner = _orthonormal(block)
        a, values, b = np.linalg.svd(inner)
        many = int(np.sum(values > penalty))
        if many + min(_OVERSAMPLING, n, m) // 2 <= values.size or values.size >= most:
            break
        basis = _wider(outer @ a, min(most, 2 * values.size))  # too few directions: double them and look again
    many = min(many, rank)
    right = outer @ a
    return _State(ortho @ b.T[:, :many], values[:many] - penalty, right[:, :many], right)


def _orthonormal(tall: Floats) -> tuple[Floats, Floats]:
    """Q and R of a tall matrix, by Cholesky factors of its Gram matrix, twice: a few large products.

    Householder's way has many small steps, in which threads of the linear algebra library wait for each other: on a
    busy machine that takes a hundred times longer. It is used where columns are nearly dependent.
    """
    q, r = tall, np.eye(tall.shape[1])
    for _ in range(2):
        try:
            factor = np.linalg.cholesky(q.T @ q)
        except np.linalg.LinAlgError:
            factor = np.zeros((1, 1))
        sizes = np.diag(factor)
        if sizes.min() <= 1e-5 * sizes.max():
            plain: tuple[Floats, Floats] = np.linalg.qr(tall)
            return plain
        q, r = q @ np.linalg.inv(factor).T, factor.T @ r
    return q, r


def _wider(basis: Floats, width: int) -> Floats:
    """More directions: random ones, the same in every run."""
    extra = width - basis.shape[1]
    if extra <= 0:
        return basis
    return np.hstack([basis, np.random.default_rng(width).normal(size=(len(basis), extra)) / np.sqrt(len(basis))])


def _distance(one: _State, other: _State) -> float:
    """Frobenius norm of the difference, to full precision: by factors of factors, not by squares."""
    shared = one.left.T @ other.left  # other.left = one.left shared + what sticks out
    sticks = other.left - one.left @ shared
    inside = one.right * one.singular_values - (other.right * other.singular_values) @ shared.T
    outside = (other.right * other.singular_values) @ _orthonormal(sticks)[1].T if sticks.size else np.zeros(1)
    return float(np.hypot(np.linalg.norm(inside), np.linalg.norm(outside)))


def _solve(
    seen: _Observed,
    x: Floats,
    penalty: float,
    rank: int,
    state: _State,
    tolerance: float,
    most: int,
    bar: Progress | None,
) -> _Solved:
    """Accelerated proximal gradient with restarts. Whether it is done is asked of a plain step with a better SVD."""
    basis = _wider(state.basis, min(max(20, state.basis.shape[1]), *seen.shape))
    now = before = _cut(state, rank)
    z = z_before = _entries(seen, now.left * now.singular_values, now.right)
    objective, momentum, next_check, pause, residual = np.inf, 1.0, 0, 0, np.inf
    for iteration in range(1, most + 1):
        following = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        beta = (momentum - 1.0) / following
        plain = iteration in (most, next_check)
        if plain:
            beta = 0.0
        y = z + beta * (z - z_before)
        parts = [(1.0 + beta, now), (-beta, before)] if beta else [(1.0, now)]
        found = _step(seen, x - y, parts, basis, penalty, rank, 3 if plain else 1)
        z_found = _entries(seen, found.left * found.singular_values, found.right)
        size = float(np.linalg.norm(found.singular_values))
        if plain:
            residual = _distance(found, now) / size if size else float(np.linalg.norm(now.singular_values) > 0.0)
            pause = iteration + max(5, iteration // 10)
        elif np.linalg.norm(z_found - y) <= tolerance * max(size, 1e-300) and iteration >= pause:
            next_check = iteration + 1  # little happens at the entries seen: look at the whole
        now, before, z, z_before, basis = found, now, z_found, z, found.basis
        value = float(0.5 * np.sum((x - z) ** 2) + penalty * now.singular_values.sum())
        momentum = 1.0 if value > objective else float(following)
        objective = value
        if bar is not None:
            bar.advance()
        if plain and residual <= tolerance:
            break
    return _Solved(now, residual, iteration)


def _cut(state: _State, rank: int) -> _State:
    return _State(state.left[:, :rank], state.singular_values[:rank], state.right[:, :rank], state.basis)


def _spectral_norm(seen: _Observed, values: Floats) -> float:
    """Largest singular value of a sparse matrix, by Lanczos with full orthogonalisation."""
    steps = min(_STEPS, seen.shape[1])
    start = np.random.default_rng(1).normal(size=(seen.shape[1], 1))
    space = np.zeros((seen.shape[1], steps))
    images = np.zeros((seen.shape[0], steps))
    for t in range(steps):
        start -= space[:, :t] @ (space[:, :t].T @ start)
        start -= space[:, :t] @ (space[:, :t].T @ start)
        length = np.linalg.norm(start)
        if length <= 1e-12:
            break
        space[:, t] = start[:, 0] / length
        images[:, t] = _product(seen, values, space[:, t : t + 1])[:, 0]
        start = _turned_product(seen, values, images[:, t : t + 1])
        start /= max(float(np.linalg.norm(start)), 1e-300)
    return float(np.linalg.norm(images, 2))


def _completion(
    seen: _Observed,
    x: Floats,
    effects: _Effects,
    penalty: float,
    rank: int,
    solved: _Solved,
    tolerance: float,
    certify: bool = True,
    tried: tuple[Trial, ...] = (),
) -> Completion:
    state = solved.state
    return Completion(
        state.left,
        state.singular_values,
        state.right,
        effects.mean,
        effects.rows,
        effects.columns,
        float(penalty),
        int(rank),
        solved.residual,
        _gap(seen, x - _at(seen, effects), state, penalty) if certify else np.inf,
        solved.iterations,
        bool(solved.residual <= tolerance),
        tried,
    )


def _gap(seen: _Observed, x: Floats, state: _State, penalty: float) -> float:
    """Relative gap to the dual, max <W, X> - |W|^2 / 2: W at the entries seen, of spectral norm at most the penalty."""
    rest = x - _entries(seen, state.left * state.singular_values, state.right)
    primal = float(0.5 * rest @ rest + penalty * state.singular_values.sum())
    norm = _spectral_norm(seen, rest)
    feasible = rest * min(1.0, penalty / norm) if norm else rest
    dual = float(feasible @ x - 0.5 * feasible @ feasible)
    return (primal - dual) / primal if primal else 0.0
