"""R-OFUL's exact index: the largest mean of an arm over all parameters that bounds and confidence set both allow.

Few cone programs are solved for it. An arm needs none if its clip index is below another arm's exact index; if the
parameter at which its upper bound is attained lies in the confidence set; if the parameter at which OFUL's index is
attained satisfies all bounds; or if what earlier rounds proved is enough.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meanbounds.linear.cone import EMPTY, maximise
from meanbounds.linear.feasible import Extent, FeasibleSet
from meanbounds.support.types import Booleans, Floats, Integers

__all__ = ["TOLERANCE", "Ellipsoids", "Proofs", "indices"]

TOLERANCE = 1e-8
"""How far an index may be above the true maximum, relative to ``norm_high * length + |offset|``; never below it.

Indices closer than that are equal: break such ties by estimates.
"""

_TOGETHER = 4  # arms of a row whose programs are solved together
_SOLVED = 1e-8  # gap of a solution that is worth keeping


class Ellipsoids(NamedTuple):
    """The confidence set of each row: all parameters with ``||parameter - centre||_precision <= radius``."""

    centre: Floats  # (rows, d)
    precision: Floats  # (rows, d, d): V
    inverse: Floats  # (rows, d, d): its inverse
    radius: Floats  # (rows,)


class Proofs:
    """What earlier rounds proved about indices; keep one for as long as rows, arms and feasible set stay the same.

    The feasible set stays while confidence sets change, so a solution is worth keeping in two ways. Its multipliers
    give a level s and a slope a with ``x . parameter <= s + a . parameter`` in the whole feasible set: the index of x
    is at most s plus OFUL's index for features a. And its maximiser lies in the feasible set: on the way from there to
    a point near the estimate one comes into the confidence set, which shows what the index is at least. This saves
    most programs, and changes no decision.

    Parameters
    ----------
    rows, arms, dimension
        How many there are of each.
    """

    def __init__(self, rows: int, arms: int, dimension: int) -> None:
        self.level = np.full((rows, arms), np.inf)
        self.slope, self.point = np.zeros((rows, arms, dimension)), np.zeros((rows, arms, dimension))
        self.inner = np.full((rows, dimension), np.nan)


def indices(
    feasible: FeasibleSet,
    arms: Extent,
    ellipsoids: Ellipsoids,
    clip: Floats,
    wanted: Booleans,
    *,
    proofs: Proofs | None = None,
    every: bool = False,
) -> tuple[Floats, Booleans]:
    """The exact index of each arm that can have the largest one.

    Parameters
    ----------
    feasible
        The parameters that the bounds allow.
    arms
        The arms: ``feasible.own``, or ``feasible.extent(features, offset)`` for others.
    ellipsoids
        The confidence set of each row.
    clip
        The clip index of each arm, shape (rows, arms): OFUL's index, at most the upper bound on the mean. The exact
        index is never above it.
    wanted
        The arms that can be played, shape (rows, arms).
    proofs
        What earlier rounds proved about the same rows and arms; it is updated.
    every
        Whether each wanted arm's index must be exact. By default only the largest are (an arm that is seen to be the
        only largest keeps a number above all others), and other arms have a number that is smaller.

    Returns
    -------
    index
        Shape (rows, arms); minus infinity for arms that are not wanted.
    empty
        Shape (rows,): rows where no parameter is in both sets, which is proved: bounds and data contradict each other.
        Their `index` is the clip index. Emptiness is noticed only where a program was needed.
    """
    index, empty, rows = np.where(wanted, clip, -np.inf), np.zeros(len(clip), dtype=np.bool_), np.arange(len(clip))
    reach = feasible.norm_high * _norm(arms.features)
    clear = TOLERANCE * (reach + np.abs(arms.offset))
    if not every:  # mostly one clip index is the largest, and exact
        top, near = index.argmax(axis=1), _near(index, clear)
        alone = (np.count_nonzero(near, axis=1) == 1) & _inside(ellipsoids, rows, arms.peaks[top])
        rows = np.flatnonzero(~(alone | (np.count_nonzero(wanted, axis=1) == 1)))
    if rows.size:
        some = Ellipsoids._make(array[rows] for array in ellipsoids)
        work = _Round(feasible, arms, some, index[rows], wanted[rows], reach, clear, proofs, rows)
        index[rows], empty[rows] = work.settle(every), work.empty
    return index, empty


class _Round:
    """The rows of a round in which something has to be found out."""

    def __init__(
        self,
        feasible: FeasibleSet,
        arms: Extent,
        ellipsoids: Ellipsoids,
        index: Floats,
        wanted: Booleans,
        reach: Floats,
        clear: Floats,
        proofs: Proofs | None,
        rows: Integers,
    ) -> None:
        self.feasible, self.arms, self.sets, self.proofs, self.rows = feasible, arms, ellipsoids, proofs, rows
        self.index, self.reach, self.clear = index, reach, clear
        self.units = arms.features * (feasible.norm_high / np.where(reach > 0.0, reach, 1.0))[:, None]
        self.exact = ~wanted | (reach == 0.0)
        self.empty = np.zeros(len(index), dtype=np.bool_)

    def settle(self, every: bool) -> Floats:
        """Lower indices until the largest are exact, or every one."""
        clip, tried, settled = self.index.copy(), self.exact.copy(), np.zeros((len(self.index), 1), dtype=np.bool_)
        uses_proofs = self.proofs is not None and not every
        looks = uses_proofs
        while True:
            open_ = ~(self.exact | settled | self.empty[:, None])
            if not every:
                open_ &= _near(self.index, self.clear)
            new = open_ & ~tried
            if new.any():
                tried |= new
                self.exact[new] = self._attained(*np.nonzero(new))
            elif not open_.any():
                return np.where(self.empty[:, None], clip, self.index)
            elif looks:
                self._use_proofs()
                looks = False
            else:
                rows = np.flatnonzero(open_.any(axis=1))
                shown = self._shown(rows) if uses_proofs else np.zeros(len(rows), dtype=np.bool_)
                settled[rows[shown]] = True
                if not shown.all():
                    self._solve(*self._chosen(rows[~shown], every))

    def _attained(self, rows: Integers, arms: Integers) -> Booleans:
        """Whether the clip index is exact: its parameter, by bounds or confidence set, satisfies the other as well."""
        features, sets, limits, norm_high = (
            self.arms.features[arms],
            self.sets,
            self.feasible.needed,
            self.feasible.norm_high,
        )
        along = np.einsum("pjk,pk->pj", sets.inverse[rows], features)
        width = np.sqrt(np.maximum(_dot(features, along), 1e-300))
        point = (sets.centre[rows] + (sets.radius[rows] / width)[:, None] * along) / norm_high
        fits = (_norm(point) <= 1.0) & (point @ limits.rows.T <= limits.ends).all(axis=1)
        return fits | _inside(sets, rows, self.arms.peaks[arms])

    def _use_proofs(self) -> None:
        """Lower indices to what earlier solutions prove that they are at most."""
        assert self.proofs is not None
        rows, arms = np.nonzero(~self.exact & (self.proofs.level[self.rows] < np.inf))
        level, slope = self.proofs.level[self.rows[rows], arms], self.proofs.slope[self.rows[rows], arms]
        square = np.einsum("pj,pjk,pk->p", slope, self.sets.inverse[rows], slope)
        most = _dot(slope, self.sets.centre[rows]) + self.sets.radius[rows] * np.sqrt(np.maximum(square, 0.0))
        most = self.arms.offset[arms] + self.reach[arms] * (level + most / self.feasible.norm_high) + self.clear[arms]
        self.index[rows, arms] = np.minimum(self.index[rows, arms], most)

    def _shown(self, rows: Integers) -> Booleans:
        """Whether points of earlier solutions show that the largest index of a row stays above all others."""
        assert self.proofs is not None
        here, top = self.rows[rows], self.index[rows].argmax(axis=1)
        found = self.proofs.level[here, top] < np.inf
        point = np.where(found[:, None], self.proofs.point[here, top], self.arms.peaks[top] / self.feasible.norm_high)
        inner = self.proofs.inner[here]
        start, along = inner - self.sets.centre[rows] / self.feasible.norm_high, point - inner
        image = np.einsum("pjk,pk->pj", self.sets.precision[rows], along)
        square, across = _dot(along, image), _dot(start, image)
        room = (self.sets.radius[rows] / self.feasible.norm_high) ** 2
        room = room - np.einsum("pj,pjk,pk->p", start, self.sets.precision[rows], start)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.minimum(1.0, (np.sqrt(across**2 + square * room) - across) / square)
        least = self.arms.offset[top] + self.reach[top] * _dot(self.units[top], inner + share[:, None] * along)
        others = self.index[rows] + self.clear
        others[np.arange(len(rows)), top] = -np.inf
        return (room > 0.0) & (least - self.clear[top] > others.max(axis=1))

    def _chosen(self, rows: Integers, every: bool) -> tuple[Integers, Integers]:
        """The arms to solve for in these rows: all, or the few with the largest indices that may be the largest."""
        open_ = ~self.exact[rows]
        if not every:
            index = np.where(open_, self.index[rows] + self.clear, -np.inf)
            best = np.where(open_, -np.inf, self.index[rows]).max(axis=1, keepdims=True)
            few = -np.partition(-index, min(_TOGETHER, index.shape[1]) - 1, axis=1)[:, :_TOGETHER].max(axis=1)
            open_ &= (index >= best) & (index >= few[:, None])
        places, arms = np.nonzero(open_)
        return rows[places], arms

    def _solve(self, rows: Integers, arms: Integers) -> None:
        """Find exact indices by cone programs, and keep what they prove."""
        norm_high, sets = self.feasible.norm_high, self.sets
        scale = (norm_high / sets.radius[rows]) ** 2
        centre = sets.centre[rows] / norm_high
        found = maximise(self.units[arms], self.feasible.needed, centre, sets.precision[rows] * scale[:, None, None])
        self.empty[rows[found.value < EMPTY]] = True
        exact = self.arms.offset[arms] + self.reach[arms] * np.minimum(found.value, 1.0)
        self.index[rows, arms] = np.minimum(self.index[rows, arms], exact)
        self.exact[rows, arms] = True
        if self.proofs is None:
            return
        kept = np.flatnonzero((found.gap < _SOLVED) & (found.value >= EMPTY))
        here, inner = self.rows[rows[kept]], self.proofs.inner
        self.proofs.level[here, arms[kept]] = found.level[kept]
        self.proofs.slope[here, arms[kept]], self.proofs.point[here, arms[kept]] = found.slope[kept], found.point[kept]
        first = np.unique(here, return_index=True)[1]  # one solution of each row: the inner point moves towards it
        here, kept = here[first], kept[first]
        start = np.where(np.isnan(inner[here]), found.point[kept], inner[here])
        along = found.point[kept] - start
        image = np.einsum("pjk,pk->pj", sets.precision[rows[kept]], along)
        share = _dot(image, centre[kept] - start) / np.maximum(_dot(image, along), 1e-300)
        inner[here] = start + np.clip(share, 0.0, 1.0)[:, None] * along


def _near(index: Floats, clear: Floats) -> Booleans:
    """The arms whose index is the largest of its row, or equal to it."""
    top = index.argmax(axis=1)
    near: Booleans = index + clear >= (index[np.arange(len(index)), top] - clear[top])[:, None]
    return near


def _inside(ellipsoids: Ellipsoids, rows: Integers, points: Floats) -> Booleans:
    """Whether parameters lie in the confidence sets of these rows."""
    away = points - ellipsoids.centre[rows]
    square = np.einsum("pj,pjk,pk->p", away, ellipsoids.precision[rows], away)
    inside: Booleans = square <= ellipsoids.radius[rows] ** 2
    return inside


def _dot(a: Floats, b: Floats) -> Floats:
    product: Floats = np.einsum("pk,pk->p", a, b)
    return product


def _norm(a: Floats) -> Floats:
    norm: Floats = np.sqrt(_dot(a, a))
    return norm
