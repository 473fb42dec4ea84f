"""Posterior sampling for arms with features: several short chains side by side walk through what the bounds allow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import log_ndtr, ndtri_exp

from meanbounds.linear.arms import LinearArms
from meanbounds.linear.feasible import Extent, FeasibleSet
from meanbounds.linear.oful import Allowed, LinearPolicy, LinearState, Offer
from meanbounds.linear.roful import allowed_by
from meanbounds.support.checks import as_flag, as_whole
from meanbounds.support.streams import Draws
from meanbounds.support.types import Floats, Integers

__all__ = ["LinearThompson"]

_MOST = 10_000  # chains
_BEFORE = 20  # sweeps before the first round of a chain, which starts at the centre
_FLAT = 1e-7  # of the norm: a set that is no wider than this in a direction is flat there
_OLD = 1.1  # directions are renewed when there are this many times as many rewards
_TINY = 1e-300


class Room(NamedTuple):
    """The set that chains walk through: a polytope, cut with the ball of the norm."""

    centre: Floats  # (d,): a point inside
    basis: Floats  # (d, r): the directions in which the set is not flat
    tight: Floats  # (r,): one over the square of its spread in each of these
    walls: Floats  # (m, d): walls . parameter <= heights
    heights: Floats


def _room(feasible: FeasibleSet) -> Room:
    """The shape of a feasible set: where it ends in enough directions, and which limits are met there."""
    arms, flat = feasible.arms, _FLAT * feasible.norm_high
    axes, points = np.eye(arms.dimension), np.zeros((0, arms.dimension))
    for _ in range(arms.dimension + 1):
        more = feasible.extent(np.vstack([axes, -axes])).peaks
        before = np.ptp(points @ axes.T, axis=0) if len(points) else -flat
        points = np.vstack([points, more])
        if (np.ptp(points @ axes.T, axis=0) <= 2.0 * before + flat).all():
            break
        axes = np.linalg.svd(points - points.mean(axis=0))[2]
    centre = points.mean(axis=0)
    _, sizes, axes = np.linalg.svd((points - centre) / np.sqrt(len(points)))
    wide = np.ptp(points @ axes.T, axis=0) > flat
    basis = axes[wide].T
    walls = feasible.needed.rows
    met = np.abs(walls @ basis).max(axis=1, initial=0.0) > _FLAT
    heights = feasible.needed.ends[met] * feasible.norm_high
    return Room(centre, basis, np.maximum(sizes[wide[: len(sizes)]], flat) ** -2.0, walls[met], heights)


def _truncated(low: Floats, high: Floats, u: Floats) -> tuple[Floats, Floats]:
    """Standard normal numbers between two limits, one for each uniform number, and their expectations."""
    flip = low + high > 0.0  # so that most of the mass is near the upper end, below 0
    low, high = np.where(flip, -high, low), np.where(flip, -low, high)
    below, mass = log_ndtr(low), log_ndtr(high)
    share = -np.expm1(below - mass)
    drawn = ndtri_exp(mass + np.log1p(-u * share))
    mean = (
        np.exp(-0.5 * high * high - mass) * np.expm1(0.5 * (high - low) * (high + low)) / (2.5066282746310002 * share)
    )
    drawn, mean = (np.minimum(np.maximum(value, low), high) for value in (drawn, np.where(share > 0.0, mean, high)))
    return np.where(flip, -drawn, drawn), np.where(flip, -mean, mean)


def _sweep(
    room: Room, norm_high: float, state: LinearState, rows: Integers, axes: Floats, points: Floats, u: Floats
) -> tuple[Floats, Floats]:
    """Move every chain once along each axis: the new points, and the expected parameter of each row.

    Given its line, the next point is drawn from the posterior on that line: a Gibbs step, which leaves the posterior as
    it is. Each step also knows the mean on its line. Averaged over the chains, it estimates the expected coordinate
    without bias and varies far less than the points do (Rao and Blackwell).

    Parameters
    ----------
    room, norm_high
        What the parameter is limited to.
    state, rows
        The rewards so far, and the rows to move.
    axes
        Directions in the columns of a matrix for each row, shape (rows, d, r).
    points
        One for each row and chain, shape (d, rows, chains).
    u
        Uniform numbers, shape (r, rows, chains).
    """
    d, count, chains = points.shape
    precision, flat = state.precision[rows], points.reshape(d, -1)
    pull = state.moment[rows].T[:, :, None] - np.einsum("rij,jrn->irn", precision, points)
    turned = np.ascontiguousarray(axes.transpose(2, 1, 0))  # (r, d, rows)
    slopes = np.einsum("mi,jir->jmr", room.walls, turned)[:, :, :, None]
    bends = np.einsum("rij,rik,rkl->jlr", axes, precision, axes, optimize=True)[:, :, :, None]
    squares = np.einsum("rij,ril->jlr", axes, axes)[:, :, :, None]
    pull, along = (np.einsum("jir,irn->jrn", turned, part) for part in (pull, points))
    slack = np.maximum((room.heights[:, None] - room.walls @ flat).reshape(-1, count, chains), _TINY)
    inside = norm_high**2 - np.square(points).sum(axis=0)
    steps, means = np.empty(u.shape), np.empty(u.shape)
    for j in range(len(u)):
        ratio, bend, length = slopes[j] / slack, bends[j, j], squares[j, j]
        root = np.sqrt(np.square(along[j]) + length * np.maximum(inside, 0.0))
        low, high = -(root + along[j]) / length, (root - along[j]) / length
        if len(ratio):
            low = np.maximum(low, 1.0 / np.minimum(ratio.min(axis=0), -_TINY))
            high = np.minimum(high, 1.0 / np.maximum(ratio.max(axis=0), _TINY))
        low, high, peak, scale = np.minimum(low, 0.0), np.maximum(high, 0.0), pull[j] / bend, np.sqrt(bend)
        for place, value in zip(
            (steps, means), _truncated((low - peak) * scale, (high - peak) * scale, u[j]), strict=True
        ):
            place[j] = np.minimum(np.maximum(peak + value / scale, low), high)
        slack -= slopes[j] * steps[j]
        np.maximum(slack, _TINY, out=slack)
        pull -= bends[j] * steps[j]
        inside -= steps[j] * (2.0 * along[j] + length * steps[j])
        along += squares[j] * steps[j]
    expected = points.mean(axis=2).T + np.einsum("rij,jr->ri", axes, means.mean(axis=2))
    return points + np.einsum("jir,jrn->irn", turned, steps), expected


@dataclass(frozen=True, repr=False, kw_only=True)
class LinearThompson(LinearPolicy):
    """Thompson sampling for arms with features and bounds on their means.

    In each round it draws the parameter from its posterior, limited to all that is known of it, and plays the arm on
    offer that is best at that point, where an arm counts with its expected mean if that is larger. The posterior is a
    Gaussian in which each reward is weighted by the inverse of the largest variance that its arm's bounds allow. The
    limits are every arm's bounds and the norm.

    Parameters
    ----------
    norm_high, regularisation
        As for `LinearPolicy`. Before it is limited, the prior of the parameter has mean 0 and standard deviation
        ``norm_high / sqrt(regularisation)`` in each direction.
    draws
        How many points are drawn in a round, each by a Markov chain of its own that goes on from round to round. The
        choice is made at one of them; the probability of an arm is the share of points at which it is best.
    optimistic
        Whether an arm counts with its expected mean where that is larger than its mean at the point (optimistic
        Bayesian sampling: May, Korda, Lee and Leslie, 2012). This explores as much and errs less; False is plain
        Thompson sampling.

    Notes
    -----
    A `Prior` counts as rewards that came before the first round.

    Examples
    --------
    >>> import meanbounds as mb
    >>> bounds = mb.MeanBounds([0.6, 0.0, 0.0], [0.9, 1.0, 0.7], arms=["a", "b", "c"])
    >>> features = [[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]]
    >>> agent = mb.LinearAgent(mb.LinearThompson(), bounds, features, seed=1)
    >>> agent.update(agent.pull(), 1.0)
    >>> bool(abs(agent.probabilities().sum() - 1.0) < 1e-12)
    True
    """

    source: ClassVar[str] = "May et al. 2012, with bounds"
    takes_prior: ClassVar[bool] = True
    has_index: ClassVar[bool] = False

    draws: int = 16
    optimistic: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "draws", as_whole("draws", self.draws, most=_MOST))
        object.__setattr__(self, "optimistic", as_flag("optimistic", self.optimistic))

    def allow(self, arms: LinearArms) -> Allowed:
        """The tightened bounds, and the set that chains walk through."""
        allowed = allowed_by(arms, self.norm_high)
        assert allowed.feasible is not None
        allowed.memory["room"] = _room(allowed.feasible)
        return allowed

    def ridge(self, worst: float) -> float:  # noqa: ARG002
        """The precision of the prior in each direction."""
        return self.regularisation / self.norm_high**2

    def noise(self, extent: Extent, low: Floats, high: Floats) -> Floats:
        """The largest variance that each arm's rewards can have."""
        mean = np.clip(low + (high - low) / 2.0, extent.lower, extent.upper)
        return np.maximum((mean - low) * (high - mean), 0.0)

    def weigh(self, state: LinearState, offer: Offer, draws: Draws) -> Floats:
        """At what share of the points each arm is best."""
        shape = len(state.moment), offer.arms.shape[1]
        kept, arms = np.broadcast_to(offer.kept, shape), np.broadcast_to(offer.arms, shape)
        rows, shares = np.flatnonzero(kept.sum(axis=1) > 1), kept.astype(np.float64)
        points, expected = self._walk(state, offer.allowed, rows, draws)
        kept, arms = kept[rows, :, None], arms[rows]
        features, offset = state.features[arms], state.offset[arms][:, :, None]
        lower, upper = offer.allowed.lower[arms][:, :, None], offer.allowed.upper[arms][:, :, None]
        means = np.clip(offset + features @ points.transpose(1, 0, 2), lower, upper)
        if self.optimistic:
            means = np.maximum(means, np.clip(offset + features @ expected[:, :, None], lower, upper))
        means = np.where(kept, means, -np.inf)
        best = means >= means.max(axis=1, keepdims=True) - state.tie
        shares[rows] = (best / best.sum(axis=1, keepdims=True)).mean(axis=2)
        return shares

    def _walk(self, state: LinearState, allowed: Allowed, rows: Integers, draws: Draws) -> tuple[Floats, Floats]:
        """Let the chains of some rows take a sweep; chains that are new take more."""
        room, memory = allowed.memory["room"], allowed.memory
        count, r = len(state.moment), room.basis.shape[1]
        if "axes" not in memory or state.updates > _OLD * memory["age"]:
            root = np.linalg.cholesky(room.basis.T @ state.precision @ room.basis + np.diag(room.tight))
            memory["axes"], memory["age"] = room.basis @ np.swapaxes(np.linalg.inv(root), 1, 2), state.updates
        fresh = "points" not in memory
        u = draws.table(r * self.draws * (_BEFORE + 1 if fresh else 1)).reshape(count, -1, r, self.draws)
        u = u.transpose(1, 2, 0, 3)
        if fresh:
            memory["points"] = np.tile(room.centre[:, None, None], (1, count, self.draws))
            for k in range(_BEFORE):
                memory["points"], _ = _sweep(
                    room, self.norm_high, state, np.arange(count), memory["axes"], memory["points"], u[k + 1]
                )
        points, expected = _sweep(
            room, self.norm_high, state, rows, memory["axes"][rows], memory["points"][:, rows], u[0][:, rows]
        )
        memory["points"] = memory["points"].copy()
        memory["points"][:, rows] = points
        return points, expected
