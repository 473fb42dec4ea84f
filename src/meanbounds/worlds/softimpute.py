"""Complete a matrix from some of its entries by SoftImpute; the whole matrix is never formed."""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanbounds.kernels.solvers.sparse import entries
from meanbounds.support.optional import optional
from meanbounds.support.progress import Progress
from meanbounds.support.seeding import Seed, as_seed
from meanbounds.support.types import Floats
from meanbounds.support.writing import write_atomically

with optional("worlds", "completions of a matrix"):
    from scipy import sparse
    from scipy.sparse.linalg import cg, svds

__all__ = ["Completion", "Trial", "choose_penalty", "soft_impute"]

Places = NDArray[np.int32]
_FORMAT = 1
_ARRAYS = ("left", "singular_values", "right", "row_effects", "column_effects")
_OVERSAMPLING = 10  # directions kept beside those above the penalty, so that new ones are seen coming
_KRYLOV = 60  # directions in which the largest singular value is sought
_START = 20  # directions that a start is widened by, or that a path begins with


class Trial(NamedTuple):
    """One penalty and rank that `choose_penalty` tried.

    Attributes
    ----------
    penalty, rank
        The pair that was tried.
    error
        Root mean squared error on the entries held out.
    directions
        Rank of the completion: the number of singular values above 0.
    residual, iterations
        How far the last step moved the matrix, as a share of its norm, and the number of steps.
    """

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
        The low-rank part: rows x directions, directions, columns x directions.
    mean, row_effects, column_effects
        The numbers that were subtracted before completing; all 0 without centring.
    penalty, rank
        The penalty and the largest rank that were asked for.
    residual
        How far the last step moved the matrix, as a share of its norm.
    gap
        Certificate: the objective is at most this share above its minimum (relative duality gap). Where `rank` binds
        the problem is not convex, and the gap is to the problem without that limit. Infinite if not computed.
    iterations, converged
        Steps taken, and whether the residual came down to the tolerance.
    tried
        The trials of `choose_penalty`; empty for `soft_impute`.

    Examples
    --------
    >>> from meanbounds.worlds.softimpute import soft_impute
    >>> found = soft_impute([0, 0, 1], [0, 1, 0], [1.0, 2.0, 2.0], (2, 2), penalty=0.1, centre=False)
    >>> found.dense().round(1)  # the last entry was not seen
    array([[1. , 1.9],
           [1.9, 1. ]])
    >>> found.converged, found.rank_binds
    (True, False)
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
        """Numbers of rows and columns."""
        return len(self.left), len(self.right)

    @property
    def rank_binds(self) -> bool:
        """Whether the limit on the rank was reached, so that a larger `rank` might give another completion."""
        return self.singular_values.size >= self.rank

    def predict(self, rows: ArrayLike, columns: ArrayLike) -> Floats:
        """Return the entries at these places: ``predict([3, 7], [0, 0])`` is column 0 of rows 3 and 7.

        Examples
        --------
        >>> from meanbounds.worlds.softimpute import soft_impute
        >>> found = soft_impute([0, 0, 1], [0, 1, 0], [1.0, 2.0, 2.0], (2, 2), penalty=0.1, centre=False)
        >>> found.predict([0, 1], [1, 1]).round(1)
        array([1.9, 1. ])
        """
        i, j = np.broadcast_arrays(np.asarray(rows), np.asarray(columns))
        found: Floats = self.mean + self.row_effects[i] + self.column_effects[j]
        found += np.einsum("...t,t,...t->...", self.left[i], self.singular_values, self.right[j], optimize=True)
        return found

    def dense(self, rows: slice | ArrayLike = slice(None), columns: slice | ArrayLike = slice(None)) -> Floats:
        """Return these rows and columns as a dense matrix; all of them by default.

        Examples
        --------
        >>> from meanbounds.worlds.softimpute import soft_impute
        >>> found = soft_impute([0, 0, 1], [0, 1, 0], [1.0, 2.0, 2.0], (2, 2), penalty=0.1, centre=False)
        >>> found.dense(rows=[1]).round(1)
        array([[1.9, 1. ]])
        """
        chosen = rows if isinstance(rows, slice) else np.asarray(rows)
        across = columns if isinstance(columns, slice) else np.asarray(columns)
        whole: Floats = (self.left[chosen] * self.singular_values) @ self.right[across].T
        whole += self.mean + self.row_effects[chosen, None] + self.column_effects[across]
        return whole

    def save(self, path: str | Path) -> None:
        """Write an .npz file that `load` reads; an interrupted write leaves no partial file.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from meanbounds.worlds.softimpute import Completion, soft_impute
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "completion.npz"
        >>> soft_impute([0, 0, 1], [0, 1, 0], [1.0, 2.0, 2.0], (2, 2), penalty=0.1).save(path)
        >>> Completion.load(path).penalty
        0.1
        """
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        rest = {name: value for name, value in asdict(self).items() if name not in _ARRAYS}
        arrays["settings"] = np.array(json.dumps({"format": _FORMAT, **rest}))

        def write(partial: Path) -> None:
            with partial.open("wb") as file:  # an open file: numpy would add .npz to other names
                np.savez(file, **arrays)

        write_atomically(Path(path), write)

    @classmethod
    def load(cls, path: str | Path) -> Completion:
        """Read a file that `save` wrote; see there for an example."""
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


def soft_impute(
    rows: ArrayLike,
    columns: ArrayLike,
    values: ArrayLike,
    shape: tuple[int, int],
    *,
    penalty: float,
    rank: int = 100,
    centre: bool = True,
    damping: float = 5.0,
    tolerance: float = 1e-4,
    max_iter: int = 500,
    start: Completion | None = None,
    progress: bool | None = None,
) -> Completion:
    """Complete a matrix by one of low rank that is close to the known entries.

    Minimises 1/2 sum over known entries (X - Z)^2 + penalty x (sum of the singular values of Z) over matrices Z of at
    most `rank`. A step of SoftImpute puts the known entries into Z and lowers all singular values by the penalty, but
    not below 0. It is a proximal gradient step, so it is accelerated (Nesterov's momentum, dropped whenever the
    objective rises). A sparse matrix plus one of low rank is decomposed by subspace iteration that starts from the
    directions of the step before.

    Parameters
    ----------
    rows, columns, values
        Places of the known entries, each once, and their values.
    shape
        Numbers of rows and columns.
    penalty
        How much each singular value is lowered.
    rank
        Largest rank allowed. Where it binds (`Completion.rank_binds`) the problem is not convex and the answer is a
        stationary point.
    centre
        Whether to subtract first the mean m of all entries and damped effects b of rows and c of columns, those that
        minimise ``sum (X - m - b_i - c_j)^2 + damping (|b|^2 + |c|^2)``. Without it unknown entries are drawn to 0.
    damping
        As if each row and column had so many more entries that show no effect; ``numpy.inf`` subtracts the mean alone.
    tolerance
        Stop when a step changes the matrix by at most this share of its norm.
    max_iter
        Stop after this many steps in any case; `converged` is then False.
    start
        A completion to start from: that of a neighbouring penalty saves most steps.
    progress
        Whether to show progress; None shows it on a terminal.

    References
    ----------
    Mazumder, Hastie and Tibshirani (2010), Spectral regularization algorithms for learning large incomplete matrices.

    Examples
    --------
    >>> import numpy as np
    >>> from meanbounds.worlds.softimpute import soft_impute
    >>> rows, columns = np.nonzero(~np.eye(6, dtype=bool))  # all but the diagonal of a multiplication table
    >>> table = (rows + 1) * (columns + 1)
    >>> found = soft_impute(rows, columns, table, (6, 6), penalty=0.01, rank=1, centre=False)
    >>> found.singular_values.size, found.predict([2, 5], [2, 5]).round(1)
    (1, array([ 9., 36.]))
    """
    _check_settings([penalty], [rank], tolerance, max_iter)
    if start is not None and start.shape != tuple(shape):
        raise ValueError(f"start completes a matrix of shape {start.shape}, not {tuple(shape)}")
    problem = _Problem.of(rows, columns, values, shape, damping if centre else None)
    with Progress(0, "completing", progress) as bar:
        state = problem.solve(penalty, rank, _started(start, shape), tolerance, max_iter, bar)
    return problem.completion(penalty, rank, state, tolerance)


def choose_penalty(
    rows: ArrayLike,
    columns: ArrayLike,
    values: ArrayLike,
    shape: tuple[int, int],
    *,
    penalties: Sequence[float] | None = None,
    ranks: Sequence[int] = (100,),
    held_out: float = 0.1,
    centre: bool = True,
    damping: float = 5.0,
    tolerance: float = 1e-4,
    trial_tolerance: float = 1e-3,
    max_iter: int = 500,
    trial_max_iter: int = 30,
    patience: int = 2,
    low: float = -np.inf,
    high: float = np.inf,
    seed: Seed = 0,
    progress: bool | None = None,
) -> Completion:
    """Complete a matrix with the penalty and the rank that best predict entries held out for testing.

    For each rank, penalties are tried from the largest down, each starting from the answer of the one before, until
    the error has risen `patience` times in a row. The best pair then completes the matrix from all entries.

    Parameters
    ----------
    rows, columns, values, shape, centre, damping, tolerance, max_iter, progress
        As for `soft_impute`.
    penalties
        Penalties to try; by default the largest singular value of the known entries, 0.8 of it, and so on.
    ranks
        Ranks to try.
    held_out
        Share of the entries that is held out.
    trial_tolerance, trial_max_iter
        Tolerance and largest number of steps of each trial: enough to rank penalties that are not close together.
    patience
        How many rises of the error in a row end the path of a rank.
    low, high
        Predictions are clipped to this range before they are compared.
    seed
        Decides which entries are held out.

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
    _check_settings([1.0] if penalties is None else penalties, ranks, tolerance, max_iter)
    if not 0.0 < held_out < 1.0:
        raise ValueError(f"held_out must be a share between 0 and 1; got {held_out}")
    damped = damping if centre else None
    whole = _Problem.of(rows, columns, values, shape, damped)
    i, j, x = whole.rows, whole.seen.indices, whole.seen.data
    aside = np.random.default_rng(as_seed(seed)).random(x.size) < held_out
    if not 0 < aside.sum() < x.size:
        raise ValueError(f"{int(aside.sum())} of {x.size} entries were held out: choose another held_out or seed")
    kept = _Problem.of(i[~aside], j[~aside], x[~aside], shape, damped)
    path = kept.spectral_norm(kept.rest) * 0.8 ** np.arange(30) if penalties is None else -np.sort(-np.array(penalties))
    tried: list[Trial] = []
    with Progress(len(path) * len(ranks), "choosing the penalty", progress) as bar:
        for rank in ranks:
            state, worse, best = _started(None, shape), 0, np.inf
            for penalty in path.tolist():
                state = kept.solve(penalty, rank, state, trial_tolerance, trial_max_iter)
                guess = Completion(*state[:3], *kept.effects, penalty, rank, np.inf, np.inf, 0, False)
                miss = np.clip(guess.predict(i[aside], j[aside]), low, high) - x[aside]
                error = float(np.sqrt(np.mean(miss**2)))
                tried.append(Trial(penalty, int(rank), error, state.sizes.size, state.residual, state.iterations))
                bar.advance()
                # While the penalty is above all singular values nothing changes: that is no rise.
                worse, best = (0, error) if error < best else (worse + (error > best), best)
                if worse >= patience:
                    break
    chosen = min(tried, key=lambda trial: trial.error)
    with Progress(0, "completing", progress) as bar:
        # A path of its own: a start far from the answer would need more steps than the way along the path.
        state = _started(None, shape)
        for penalty in path[path > chosen.penalty].tolist():
            state = whole.solve(penalty, chosen.rank, state, 1e-2, 5, bar)
        state = whole.solve(chosen.penalty, chosen.rank, state, tolerance, max_iter, bar)
    return replace(whole.completion(chosen.penalty, chosen.rank, state, tolerance), tried=tuple(tried))


class _State(NamedTuple):
    """An iterate left diag(sizes) right', the directions in which the next one is sought, and how it was reached."""

    left: Floats
    sizes: Floats
    right: Floats
    basis: Floats
    residual: float = np.inf
    iterations: int = 0

    @property
    def scaled(self) -> Floats:
        return self.left * self.sizes


@dataclass(frozen=True, eq=False)
class _Problem:
    """The entries seen as scipy's compressed rows, the row of each, and what is `rest` of them beside the effects.

    Rows are shared out among the cores: scipy's products and the kernel release the interpreter lock.
    """

    seen: sparse.csr_array
    rows: Places
    rest: Floats
    effects: tuple[float, Floats, Floats]

    @classmethod
    def of(
        cls, rows: ArrayLike, columns: ArrayLike, values: ArrayLike, shape: tuple[int, int], damping: float | None
    ) -> _Problem:
        i, j, x = _checked(rows, columns, values, shape)
        times = sparse.csr_array((np.ones(x.size), (i, j)), shape=shape).tocoo()
        if times.nnz < x.size:
            row, column = (places[np.argmax(times.data)] for places in times.coords)
            raise ValueError(f"row {row}, column {column} is given more than once; merge such entries first")
        seen = sparse.csr_array((x, (i, j)), shape=shape)
        mean, of_rows, of_columns = effects = _effects(seen, times.tocsr(), damping)
        rest = seen.data - (mean + of_rows[times.row] + of_columns[seen.indices])
        return cls(seen, times.row, rest, effects)

    def _shared_out(self, work: Callable[[int, int], Any]) -> list[Any]:
        """Run `work` on blocks of rows with equally many entries, one block for each core, and return the results."""
        workers = 1 if self.rest.size < 20_000 else min(8, os.cpu_count() or 1)
        cuts = np.searchsorted(self.seen.indptr, np.linspace(0, self.rest.size, workers + 1))
        cuts[0], cuts[-1] = 0, self.seen.shape[0]
        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(work, cuts[:-1].tolist(), cuts[1:].tolist()))

    def _block(self, values: Floats, first: int, last: int) -> sparse.csr_array:
        start = self.seen.indptr[first : last + 1]
        own, shape = slice(start[0], start[-1]), (last - first, self.seen.shape[1])
        return sparse.csr_array((values[own], self.seen.indices[own], start - start[0]), shape)

    def times(self, values: Floats, dense: Floats) -> Floats:
        """The sparse matrix of these values, times a dense one."""
        return np.vstack(self._shared_out(lambda first, last: self._block(values, first, last) @ dense))

    def transposed_times(self, values: Floats, dense: Floats) -> Floats:
        """The transpose of the sparse matrix of these values, times a dense one."""
        first, *others = self._shared_out(lambda a, b: self._block(values, a, b).T @ dense[a:b])
        total: Floats = sum(others, start=first)
        return total

    def entries(self, state: _State) -> Floats:
        """The iterate at the places seen: the one product that scipy does not have."""
        found, left, right = np.empty(self.rest.size), state.scaled, np.ascontiguousarray(state.right)
        places = self.seen.indptr, self.seen.indices
        self._shared_out(lambda first, last: entries(*places, left, right, first, last, found))
        return found

    def spectral_norm(self, values: Floats) -> float:
        """Largest singular value of the sparse matrix of these values, or up to a millionth more."""
        matrix = self._block(values, 0, self.seen.shape[0])
        wide = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
        if not values.any():
            return 0.0
        if wide.shape[0] <= _KRYLOV:
            return float(np.sqrt(np.linalg.norm((wide @ wide.T).toarray(), 2)))
        # At the answer many singular values equal the penalty: to tell them apart would take for ever.
        start, near = np.random.default_rng(1).normal(size=wide.shape[0]), 1e-3
        found = svds(wide, k=1, v0=start, ncv=_KRYLOV, tol=near, return_singular_vectors=False)
        return float(found[0]) * (1.0 + near**2)

    def step(
        self, rest: Floats, left: Floats, right: Floats, basis: Floats, penalty: float, rank: int, passes: int
    ) -> _State:
        """Lower the singular values of a sparse matrix (`rest`) plus left right', starting from these directions."""
        widest = min(rank + _OVERSAMPLING, *self.seen.shape)
        while True:
            block = basis[:, :widest]
            for _ in range(passes):
                ortho = _orthonormal(self.times(rest, block) + left @ (right.T @ block))[0]
                block = self.transposed_times(rest, ortho) + right @ (left.T @ ortho)
            outer, inner = _orthonormal(block)
            a, values, b = np.linalg.svd(inner)
            many = int(np.sum(values > penalty))
            directions = outer @ a
            if many + min(_OVERSAMPLING, *self.seen.shape) // 2 <= values.size or values.size >= widest:
                break
            basis = _wider(directions, min(widest, 2 * values.size))  # too few directions: double them and look again
        many = min(many, rank)
        return _State(ortho @ b.T[:, :many], values[:many] - penalty, directions[:, :many], directions)

    def solve(
        self, penalty: float, rank: int, state: _State, tolerance: float, max_iter: int, bar: Progress | None = None
    ) -> _State:
        """Accelerated steps with restarts. A plain step with a better decomposition decides whether it is done."""
        x, basis = self.rest, _wider(state.basis, min(max(_START, state.basis.shape[1]), *self.seen.shape))
        now = before = _State(state.left[:, :rank], state.sizes[:rank], state.right[:, :rank], basis)
        z = z_before = self.entries(now)
        objective, momentum, next_check, pause, residual = np.inf, 1.0, 0, 0, np.inf
        for iteration in range(1, max_iter + 1):
            following = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
            plain = iteration in (max_iter, next_check)
            beta = 0.0 if plain else (momentum - 1.0) / following
            y, left, right = z + beta * (z - z_before), now.scaled, now.right
            if beta:
                left, right = np.hstack([(1.0 + beta) * left, -beta * before.scaled]), np.hstack([right, before.right])
            found = self.step(x - y, left, right, now.basis, penalty, rank, 3 if plain else 1)
            z_found, size = self.entries(found), float(np.linalg.norm(found.sizes))
            if plain:
                residual = _distance(found, now) / size if size else float(now.sizes.any())
                pause = iteration + max(5, iteration // 10)
            elif np.linalg.norm(z_found - y) <= tolerance * max(size, 1e-300) and iteration >= pause:
                next_check = iteration + 1  # little happens at the entries seen: look at the whole
            now, before, z, z_before = found, now, z_found, z
            value = float(0.5 * np.sum((x - z) ** 2) + penalty * now.sizes.sum())
            momentum = 1.0 if value > objective else float(following)
            objective = value
            if bar is not None:
                bar.advance()
            if plain and residual <= tolerance:
                break
        return now._replace(residual=residual, iterations=iteration)

    def gap(self, state: _State, penalty: float) -> float:
        """Relative gap to the dual, max <W, X> - |W|^2 / 2 over W at the places seen of spectral norm <= penalty."""
        x, rest = self.rest, self.rest - self.entries(state)
        primal = float(0.5 * rest @ rest + penalty * state.sizes.sum())
        norm = self.spectral_norm(rest)
        feasible = rest * min(1.0, penalty / norm) if norm else rest
        dual = float(feasible @ x - 0.5 * feasible @ feasible)
        return (primal - dual) / primal if primal else 0.0

    def completion(self, penalty: float, rank: int, state: _State, tolerance: float) -> Completion:
        gap, converged = self.gap(state, penalty), bool(state.residual <= tolerance)
        parts = (*state[:3], *self.effects, float(penalty), int(rank))
        return Completion(*parts, state.residual, gap, state.iterations, converged)


def _check_settings(penalties: Sequence[float], ranks: Sequence[int], tolerance: float, max_iter: int) -> None:
    if not (len(penalties) and all(0.0 < penalty < np.inf for penalty in penalties)):
        raise ValueError(f"penalty must be a positive number, at least one; got {penalties}")
    if not (len(ranks) and all(rank >= 1 for rank in ranks)):
        raise ValueError(f"rank must be at least 1, and one at least; got {ranks}")
    if not tolerance > 0.0 or max_iter < 1:
        raise ValueError(f"tolerance and max_iter must be positive; got tolerance={tolerance}, max_iter={max_iter}")


def _checked(
    rows: ArrayLike, columns: ArrayLike, values: ArrayLike, shape: tuple[int, int]
) -> tuple[Places, Places, Floats]:
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
    return i.astype(np.int32), j.astype(np.int32), x


def _effects(seen: sparse.csr_array, ones: sparse.csr_array, damping: float | None) -> tuple[float, Floats, Floats]:
    """Mean and damped effects of rows and columns, by conjugate gradients; all 0 without damping."""
    n, m = seen.shape
    if damping is not None and not damping > 0.0:
        raise ValueError(f"damping must be positive: rows without entries have no effect of their own; got {damping}")
    mean = 0.0 if damping is None else float(seen.data.mean())
    if damping is None or np.isinf(damping):
        return mean, np.zeros(n), np.zeros(m)
    sizes = np.concatenate([ones.sum(axis=1), ones.sum(axis=0)])
    sums = np.concatenate([seen.sum(axis=1), seen.sum(axis=0)]) - mean * sizes
    sizes += damping
    normal = sparse.block_array([[None, ones], [ones.T, None]], format="csr") + sparse.diags_array(sizes)
    effects, _ = cg(normal, sums, rtol=1e-10, M=sparse.diags_array(1.0 / sizes))
    return mean, effects[:n], effects[n:]


def _started(start: Completion | None, shape: tuple[int, int]) -> _State:
    if start is None:
        return _State(np.zeros((shape[0], 0)), np.zeros(0), np.zeros((shape[1], 0)), np.zeros((shape[1], 0)))
    wide = min(start.right.shape[1] + _START, *shape)  # the start may know nothing of other directions
    return _State(start.left, start.singular_values, start.right, _wider(start.right, wide))


def _wider(basis: Floats, width: int) -> Floats:
    """More directions: random ones, the same in every run."""
    extra = width - basis.shape[1]
    if extra <= 0:
        return basis
    return np.hstack([basis, np.random.default_rng(width).normal(size=(len(basis), extra)) / np.sqrt(len(basis))])


def _orthonormal(tall: Floats) -> tuple[Floats, Floats]:
    """Q and R of a tall matrix, by Cholesky factors of its Gram matrix, twice: a few large products.

    Householder's way has many small steps in which the threads of the linear algebra library wait for each other: on a
    busy machine it takes ten to a hundred times longer. It is used where columns are nearly dependent.
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


def _distance(one: _State, other: _State) -> float:
    """Frobenius norm of the difference, to full precision: by factors of factors, not by squares."""
    shared = one.left.T @ other.left  # other.left = one.left shared + what sticks out
    sticks = other.left - one.left @ shared
    across = other.right * other.sizes
    inside = one.right * one.sizes - across @ shared.T
    outside = across @ _orthonormal(sticks)[1].T if sticks.size else np.zeros(1)
    return float(np.hypot(np.linalg.norm(inside), np.linalg.norm(outside)))
