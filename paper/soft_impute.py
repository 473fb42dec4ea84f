"""SoftImpute: complete a matrix by one of low rank, from the entries that are known.

It minimises half the sum of squared errors at the known entries plus a penalty times the sum of the singular values. A
step puts the known entries into the current matrix and lowers all singular values by the penalty, but not below 0. That
is a proximal gradient step, so it is accelerated, and begins anew where the objective rises. The matrix of a step is
sparse plus low rank; its largest singular values come from a randomised subspace iteration that starts from the
directions of the step before. Mazumder, Hastie and Tibshirani (2010), Spectral regularization algorithms for learning
large incomplete matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from meanbounds.support.types import Floats

__all__ = ["Completion", "Trial", "choose_penalty", "soft_impute"]

_MORE = 10  # directions beside those above the penalty, so that new ones are seen coming
_FIRST = 20  # directions at the start
_BLOCK = 256  # rows of which the whole entries are formed at once
_SOLID = 1e-5  # columns more dependent than this are made orthogonal by Householder's method


class Trial(NamedTuple):
    """A penalty that was tried, and the root mean squared error at entries that were held out."""

    penalty: float
    error: float


@dataclass(frozen=True, eq=False)
class Completion:
    """The completed matrix: mean + left diag(sizes) right'.

    Attributes
    ----------
    left, sizes, right
        The part of low rank: rows x directions, singular values, columns x directions.
    mean
        What was subtracted before completing; 0 without centring.
    penalty, rank
        What was asked for. If there are as many directions as `rank` allows, it binds.
    residual, steps
        How far the last step moved the matrix, as a share of its norm, and how many steps there were.
    trials
        The penalties among which this one was chosen.
    """

    left: Floats
    sizes: Floats
    right: Floats
    mean: float
    penalty: float
    rank: int
    residual: float
    steps: int
    trials: tuple[Trial, ...] = ()

    @property
    def binds(self) -> bool:
        """Whether the limit on the rank was reached: a larger one might give another matrix."""
        return self.sizes.size >= self.rank

    def entries(self, rows: Any, columns: Any = slice(None)) -> Floats:
        """The block of these rows and columns."""
        return self.mean + (self.left[rows] * self.sizes) @ self.right[columns].T


def soft_impute(
    known: sparse.csr_array,
    penalty: float,
    *,
    rank: int = 100,
    centre: bool = False,
    tolerance: float = 1e-5,
    steps: int = 3_000,
    start: Completion | None = None,
) -> Completion:
    """Complete a matrix; entries that are not stored are not known.

    Parameters
    ----------
    known
        The known entries.
    penalty
        How much each singular value is lowered.
    rank
        The largest rank allowed.
    centre
        Whether the mean of the known entries is subtracted first; otherwise unknown entries are drawn towards 0.
    tolerance, steps
        Stop when a step moves the matrix by at most this share of its norm, and after so many steps at the latest.
    start
        A completion to start from, such as that of a larger penalty.
    """
    mean = float(known.data.mean()) if centre else 0.0
    x, shape = known.data - mean, known.shape
    rng = np.random.default_rng(0)
    now = start or Completion(
        np.zeros((shape[0], 0)), np.zeros(0), np.zeros((shape[1], 0)), mean, penalty, rank, 1.0, 0
    )
    now, before = replace(now, mean=0.0), replace(now, mean=0.0)
    basis = _wider(now.right, max(_FIRST, now.sizes.size + _MORE), rng)
    z = z_before = _at(known, now)
    momentum, objective, residual, step = 1.0, np.inf, np.inf, 0
    while residual > tolerance and step < steps:
        step += 1
        following = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        beta = (momentum - 1.0) / following
        left = np.hstack([(1.0 + beta) * now.left * now.sizes, -beta * before.left * before.sizes])
        low_rank = left, np.hstack([now.right, before.right])
        rest = sparse.csr_array((x - (z + beta * (z - z_before)), known.indices, known.indptr), shape)
        found, basis = _shrunk(rest, low_rank, basis, replace(now, penalty=penalty, rank=rank), rng)
        size = float(np.linalg.norm(found.sizes))
        residual = _distance(found, now) / size if size else float(now.sizes.any())
        now, before, z, z_before = found, now, _at(known, found), z
        value = float(0.5 * np.sum((x - z) ** 2) + penalty * now.sizes.sum())
        momentum = 1.0 if value > objective else float(following)
        objective = value
    return replace(now, mean=mean, residual=residual, steps=step)


def choose_penalty(
    known: sparse.csr_array,
    penalties: Sequence[float],
    *,
    rank: int = 100,
    centre: bool = False,
    tolerance: float = 1e-5,
    trial_steps: int = 30,
    seed: int = 0,
) -> Completion:
    """Complete a matrix with the penalty that best predicts a tenth of the entries, held out, or with the only one.

    Penalties are tried from the largest down, each from the completion of the one before, until the error has risen
    twice in a row. Predictions are clipped to the range of the known entries.
    """
    aside = np.random.default_rng(seed).random(known.nnz) < 0.1
    rows = np.repeat(np.arange(known.shape[0]), np.diff(known.indptr))
    some = sparse.csr_array((known.data[~aside], (rows[~aside], known.indices[~aside])), known.shape)
    others = sparse.csr_array((known.data[aside], (rows[aside], known.indices[aside])), known.shape)
    path, trials, rises, guess = sorted(penalties, reverse=True), list[Trial](), 0, None
    for penalty in path if len(path) > 1 else ():
        guess = soft_impute(some, penalty, rank=rank, centre=centre, tolerance=1e-3, steps=trial_steps, start=guess)
        predicted = np.clip(_at(others, guess), known.data.min(), known.data.max())
        trials.append(Trial(penalty, float(np.sqrt(np.mean((predicted - others.data) ** 2)))))
        rises = rises + 1 if len(trials) > 1 and trials[-1].error > trials[-2].error else 0
        if rises == 2:
            break
    best, found = min(trials, key=lambda trial: trial.error).penalty if trials else path[0], None
    for penalty in path[: path.index(best)]:  # a good start
        found = soft_impute(known, penalty, rank=rank, centre=centre, tolerance=1e-2, steps=5, start=found)
    found = soft_impute(known, best, rank=rank, centre=centre, tolerance=tolerance, start=found)
    return replace(found, trials=tuple(trials))


def _at(known: sparse.csr_array, matrix: Completion) -> Floats:
    """The entries of a completion at the places of the known ones, from blocks of whole rows."""
    found, ends = np.empty(known.nnz), known.indptr
    for first in range(0, known.shape[0], _BLOCK):
        last = min(first + _BLOCK, known.shape[0])
        rows = np.repeat(np.arange(last - first), np.diff(ends[first : last + 1]))
        own = slice(ends[first], ends[last])
        found[own] = matrix.entries(slice(first, last))[rows, known.indices[own]]
    return found


def _shrunk(
    rest: sparse.csr_array, low_rank: tuple[Floats, Floats], basis: Floats, like: Completion, rng: np.random.Generator
) -> tuple[Completion, Floats]:
    """Lower the singular values of rest + left right'; also the directions that were found, for the next step."""
    left, right = low_rank
    widest = min(like.rank + _MORE, *rest.shape)
    basis = basis[:, :widest]
    while True:
        ortho = _orthonormal(rest @ basis + left @ (right.T @ basis))[0]
        outer, inner = _orthonormal(rest.T @ ortho + right @ (left.T @ ortho))
        a, values, b = np.linalg.svd(inner)
        many, directions = int(np.sum(values > like.penalty)), outer @ a
        if many + _MORE // 2 <= values.size or values.size >= widest:
            break
        basis = _wider(directions, min(widest, 2 * values.size), rng)  # too few: double them and look again
    many = min(many, like.rank)
    part = {"left": ortho @ b.T[:, :many], "sizes": values[:many] - like.penalty, "right": directions[:, :many]}
    return replace(like, **part), directions


def _wider(basis: Floats, width: int, rng: np.random.Generator) -> Floats:
    """More directions, random ones."""
    extra = max(min(width, len(basis)) - basis.shape[1], 0)
    return np.hstack([basis, rng.normal(size=(len(basis), extra)) / np.sqrt(len(basis))])


def _orthonormal(tall: Floats) -> tuple[Floats, Floats]:
    """Q and R of a tall matrix, by Cholesky factors of its Gram matrix, twice: a few large products."""
    q, r = tall, np.eye(tall.shape[1])
    for _ in range(2):
        try:
            factor = np.linalg.cholesky(q.T @ q)
        except np.linalg.LinAlgError:
            return np.linalg.qr(tall)
        if np.diag(factor).min() <= _SOLID * np.diag(factor).max():
            return np.linalg.qr(tall)
        q, r = np.linalg.solve(factor, q.T).T, factor.T @ r
    return q, r


def _distance(one: Completion, other: Completion) -> float:
    """The Frobenius norm of the difference of two matrices of low rank; to about 1e-8 of their norms."""
    first, second = one.left * one.sizes, other.left * other.sizes
    across = np.sum((first.T @ second) * (one.right.T @ other.right))
    return float(np.sqrt(max(np.sum(one.sizes**2) + np.sum(other.sizes**2) - 2.0 * across, 0.0)))
