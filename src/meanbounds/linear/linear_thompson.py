"""Posterior sampling for arms with features: several short chains side by side walk through what the bounds allow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import log_ndtr, ndtri_exp

from meanbounds.linear.arms import LinearArms
from meanbounds.linear.feasible import Extent, FeasibleSet
from meanbounds.linear.oful import Allowed, LinearPolicy, LinearState, Offer
from meanbounds.linear.roful import allowed_by
from meanbounds.support.checks import as_flag, as_whole
from meanbounds.support.streams import Draws
from meanbounds.support.types import Floats

__all__ = ["LinearThompson"]

_MOST = 10_000  # chains
_BEFORE = 20  # sweeps before the first round of a chain, which starts at the centre
_FLAT = 1e-7  # of the norm: a set that is no wider than this in a direction is flat there
_LEAST = 5  # axes, if there are as many: along half of them a chain moves in a round
_GOLDEN = 0.6180339887498949  # multiples of it, less whole numbers, fill the unit interval evenly
_OLD = 1.1  # directions are renewed when there are this many times as many rewards
_TINY = 1e-30  # of the norm: how near to a wall a point may count as


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


class Axes(NamedTuple):
    """Directions in which chains move one after the other: a row for each run."""

    directions: Floats  # (rows, d, r): unit vectors in the columns
    slopes: Floats  # (r, m, rows, 1): how each wall comes nearer along each direction
    products: Floats  # (r, r, rows): of directions with each other


def _axes(room: Room, precision: Floats) -> Axes:
    """Conjugate directions of the posterior, in a set that is not too narrow in any of them.

    Where no wall is near, one step along each makes a draw that is independent of the last. They depend on the number
    of rewards and on what these were, not on where the chains are; so old ones do as well.
    """
    root = np.linalg.cholesky(room.basis.T @ precision @ room.basis + np.diag(room.tight))
    directions = room.basis @ np.swapaxes(np.linalg.inv(root), 1, 2)
    directions /= np.sqrt(np.square(directions).sum(axis=1, keepdims=True))
    slopes = np.ascontiguousarray((room.walls @ directions).transpose(2, 1, 0))[:, :, :, None]
    return Axes(directions, slopes, (np.swapaxes(directions, 1, 2) @ directions).transpose(1, 2, 0))


def _truncated(ends: Floats, u: Floats) -> Floats:
    """Standard normal numbers between two ends, and their expectations: shape (2, ...), as the ends."""
    sign = np.copysign(1.0, -ends[0] - ends[1])  # so that most of the mass is near the upper end, below 0
    ends = np.minimum(ends, -ends[::-1])
    below, mass = log_ndtr(ends)
    share, half = np.expm1(below - mass), 0.5 * ends * ends
    found = np.empty(ends.shape)
    found[0] = ndtri_exp(mass + np.log1p(u * share))
    with np.errstate(divide="ignore", invalid="ignore"):
        found[1] = np.exp(-half[1] - mass) * np.expm1(half[1] - half[0]) / (-2.5066282746310002 * share)
    found *= sign
    return found


def _sweep(
    room: Room, norm_high: float, axes: Axes, precision: Floats, moment: Floats, points: Floats, u: Floats, first: int
) -> tuple[Floats, Floats]:
    """Move every chain along some axes, one after the other: the new points, and the expected parameter of each row.

    Given its line, the next point is drawn from the posterior on that line: a Gibbs step, which leaves the posterior as
    it is. Each step also knows the mean on its line. Averaged over the chains, it estimates the expected coordinate
    without bias and varies far less than the points do (Rao and Blackwell).

    Shapes: precision (rows, d, d), moment (rows, d), points (d, rows, chains), and the uniform numbers u (axes to move
    along, rows, chains); `first` is the first of these axes.
    """
    (d, rows, chains), r = points.shape, len(axes.products)
    turned, by_row = np.swapaxes(axes.directions, 1, 2), points.transpose(1, 0, 2)
    bends = (turned @ precision @ axes.directions).transpose(1, 2, 0)
    # Of each axis: the slope of the log density at the point, and the product of the point with the direction.
    both = np.array([turned @ (moment[:, :, None] - precision @ by_row), turned @ by_row])
    linear = np.ascontiguousarray(both.transpose(0, 2, 1, 3)).reshape(2 * r, rows, chains)
    change = np.concatenate([-bends, axes.products])[:, :, :, None]
    slack = (room.heights[:, None] - room.walls @ points.reshape(d, -1)).reshape(-1, rows, chains)
    inside = norm_high**2 - np.square(points).sum(axis=0)
    moved, means = np.zeros((2, r, rows, chains))
    near, far, sides = _TINY * norm_high, _TINY / norm_high, np.array([-1.0, 1.0])[:, None, None]
    for number, numbers in enumerate(u, first):
        j = number % r
        pull, along, bend = linear[j], linear[r + j], bends[j, j][:, None]
        ends = sides * np.sqrt(along * along + np.maximum(inside, 0.0)) - along
        if len(slack):
            ratio = axes.slopes[j] / np.maximum(slack, near, out=slack)
            np.maximum(ends[0], 1.0 / np.minimum(ratio.min(axis=0), -far), out=ends[0])
            np.minimum(ends[1], 1.0 / np.maximum(ratio.max(axis=0), far), out=ends[1])
        peak, scale = pull / bend, np.sqrt(bend)
        found = _truncated((ends - peak) * scale, numbers)
        found /= scale
        found += peak
        step, means[j] = np.fmin(np.fmax(found, ends[0], out=found), ends[1], out=found)
        moved[j] += step
        inside -= step * (2.0 * along + step)
        slack -= axes.slopes[j] * step
        linear += change[:, j] * step
    expected = points.mean(axis=2).T + (axes.directions @ means.mean(axis=2).T[:, :, None])[:, :, 0]
    return points + (axes.directions @ moved.transpose(1, 0, 2)).transpose(1, 0, 2), expected


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

    def ridge(self, worst: float) -> float:
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
        shares: Floats = kept.astype(np.float64)
        rows: Any = np.flatnonzero(kept.sum(axis=1) > 1)
        rows = slice(None) if len(rows) == len(kept) else rows
        points, expected = self._walk(state, offer.allowed, rows, draws)
        kept, arms = kept[rows][:, :, None], arms[rows]
        features, offset = state.features[arms], state.offset[arms][:, :, None]
        lower, upper = offer.allowed.lower[arms][:, :, None], offer.allowed.upper[arms][:, :, None]
        means = np.clip(offset + features @ points.transpose(1, 0, 2), lower, upper)
        if self.optimistic:
            means = np.maximum(means, np.clip(offset + features @ expected[:, :, None], lower, upper))
        means = np.where(kept, means, -np.inf)
        best = means >= means.max(axis=1, keepdims=True) - state.tie
        shares[rows] = (best / best.sum(axis=1, keepdims=True)).mean(axis=2)
        return shares

    def _walk(self, state: LinearState, allowed: Allowed, rows: Any, draws: Draws) -> tuple[Floats, Floats]:
        """Let the chains of some rows take a sweep; chains that are new take more."""
        room, memory = allowed.memory["room"], allowed.memory
        count, r = len(state.moment), room.basis.shape[1]
        if "axes" not in memory or state.updates > _OLD * memory["age"]:
            memory["axes"], memory["age"] = _axes(room, state.precision), state.updates
        chains, some = self.draws, max(min(r, _LEAST), -(-r // 2))
        axes, points, own = memory["axes"], memory.get("points"), (room, self.norm_high)
        u = draws.table((some + (_BEFORE * r if points is None else 0)) * chains).reshape(count, -1, chains)
        u = u.transpose(1, 0, 2)
        if points is None:
            points = np.tile(room.centre[:, None, None], (1, count, chains))
            points, _ = _sweep(*own, axes, state.precision, state.moment, points, u[some:], 0)
        memory["points"] = points = points.copy()
        part = Axes(axes.directions[rows], axes.slopes[:, :, rows], axes.products[:, :, rows])
        first = int(int(np.max(draws.number)) * _GOLDEN % 1.0 * r)
        moved, expected = _sweep(
            *own, part, state.precision[rows], state.moment[rows], points[:, rows], u[:some, rows], first
        )
        points[:, rows] = moved
        return moved, expected
