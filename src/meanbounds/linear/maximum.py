"""R-OFUL's exact index: the largest mean of an arm over all parameters that bounds and confidence set both allow.

Few cone programs are solved for it. An arm needs none if its clip index is below another arm's exact index; if the
parameter at which its upper bound is attained lies in the confidence set; if the parameter at which OFUL's index is
attained satisfies all bounds; or if what earlier rounds proved is enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from meanbounds.linear.cone import EMPTY, SOLVED, maximise
from meanbounds.linear.feasible import Extent, FeasibleSet
from meanbounds.support.types import Booleans, Floats, Integers

__all__ = ["TOLERANCE", "Ellipsoids", "Proofs", "indices"]

TOLERANCE = 1e-8
"""How far an index may be above the true maximum, relative to ``norm_high * length + |offset|``; never below it.

Indices closer than that are equal: break such ties by estimates. (Where rounding keeps a program from being solved, the
index may be larger.)
"""

_TOGETHER = 3  # arms of a row whose programs are solved together


class Ellipsoids(NamedTuple):
    """The confidence set of each row: all parameters with ``||parameter - centre||_precision <= radius``."""

    centre: Floats  # (rows, d)
    precision: Floats  # (rows, d, d)
    inverse: Floats  # (rows, d, d): of the precision
    radius: Floats  # (rows,)

    def squares(self, rows: Integers, points: Floats) -> Floats:
        """The square of ``||parameter - centre||_precision`` for parameters of these rows."""
        away = points - self.centre[rows]
        return _form(away, self.precision[rows], away)


class Proofs:
    """What earlier rounds proved about indices; keep one for as long as rows, arms and feasible set stay the same.

    The feasible set stays while confidence sets change, so a solution is worth keeping in two ways. Its multipliers
    give a level s and a slope a with ``x . parameter <= s + a . parameter`` in the whole feasible set: the index of x
    is at most s plus OFUL's index for features a. And its maximiser lies in the feasible set: on the way from there to
    a point near the estimate one comes into the confidence set, which shows what the index is at least. This saves
    most programs, and changes no decision.
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
    feasible, arms
        The parameters that the bounds allow, and the arms: ``feasible.own``, or ``feasible.extent(features, offset)``.
    ellipsoids
        The confidence set of each row.
    clip, wanted
        The clip index of each arm (OFUL's index, at most the upper bound on the mean: never below the exact index), and
        which arms can be played; shapes (rows, arms).
    proofs
        What earlier rounds proved about the same rows and arms; it is updated.
    every
        Whether each wanted arm's index must be exact. By default only the largest are, except that an arm that is seen
        to be the only largest keeps a number above all others; other arms have a number that is smaller.

    Returns
    -------
    index, empty
        The indices, minus infinity for arms that are not wanted, and the rows where no parameter is in both sets, which
        is proved: bounds and data contradict each other. Their `index` is the clip index. Emptiness is noticed only
        where a program was needed.
    """
    index, empty, rows = np.where(wanted, clip, -np.inf), np.zeros(len(clip), dtype=np.bool_), np.arange(len(clip))
    reach = feasible.norm_high * np.sqrt(np.vecdot(arms.features, arms.features))
    clear = TOLERANCE * (reach + np.abs(arms.offset))
    if not every:  # mostly one clip index is the largest, and exact
        alone = np.count_nonzero(_near(index, clear), axis=1) == 1
        alone &= ellipsoids.squares(rows, arms.peaks[index.argmax(axis=1)]) <= ellipsoids.radius**2
        rows = np.flatnonzero(~(alone | (np.count_nonzero(wanted, axis=1) == 1)))
    if rows.size:
        proofs = proofs or Proofs(len(clip), len(reach), arms.features.shape[1])
        sets = Ellipsoids._make(array[rows] for array in ellipsoids)
        work = _Round(feasible, arms, sets, proofs, rows, reach, clear, index[rows], ~wanted[rows] | (reach == 0.0))
        index[rows], empty[rows] = work.settle(every)
    return index, empty


@dataclass
class _Round:
    """The rows of a round in which something has to be found out."""

    feasible: FeasibleSet
    arms: Extent
    sets: Ellipsoids
    proofs: Proofs
    places: Integers  # of the rows in the proofs
    reach: Floats
    clear: Floats
    index: Floats
    exact: Booleans

    def settle(self, every: bool) -> tuple[Floats, Booleans]:
        """Lower indices until the largest are exact, or every one; also, which rows are empty."""
        clip, tried, looks = self.index.copy(), self.exact.copy(), not every
        self.empty, sure = np.zeros((2, len(clip)), dtype=np.bool_)
        while True:
            missing = ~self.exact & ~(self.empty | sure)[:, None]
            if not every:
                missing &= _near(self.index, self.clear)
            new = missing & ~tried
            if new.any():
                tried |= new
                self.exact[new] = self._attained(*np.nonzero(new))
            elif not missing.any():
                return np.where(self.empty[:, None], clip, self.index), self.empty
            elif looks:
                looks = False
                self._lower()
            else:
                rows = np.flatnonzero(missing.any(axis=1))
                if not every:
                    shown = self._shown(rows)
                    sure[rows[shown]] = True
                    rows = rows[~shown]
                if rows.size:
                    self._solve(rows, every)

    def _attained(self, rows: Integers, arms: Integers) -> Booleans:
        """Whether the clip index is exact: its parameter, by bounds or confidence set, satisfies the other as well."""
        features, sets, limits = self.arms.features[arms], self.sets, self.feasible.needed
        along = _times(sets.inverse[rows], features)
        share = sets.radius[rows] / np.sqrt(np.maximum(np.vecdot(features, along), 1e-300))
        point = (sets.centre[rows] + share[:, None] * along) / self.feasible.norm_high
        fits = (np.vecdot(point, point) <= 1.0) & (point @ limits.rows.T <= limits.ends).all(axis=1)
        attained: Booleans = fits | (sets.squares(rows, self.arms.peaks[arms]) <= sets.radius[rows] ** 2)
        return attained

    def _lower(self) -> None:
        """Lower indices to what earlier solutions prove that they are at most."""
        rows, arms = np.nonzero(~self.exact & (self.proofs.level[self.places] < np.inf))
        places, scale = self.places[rows], self.reach[arms] / self.feasible.norm_high
        slope = self.proofs.slope[places, arms]
        width = self.sets.radius[rows] * np.sqrt(_form(slope, self.sets.inverse[rows], slope))
        most = self.feasible.norm_high * self.proofs.level[places, arms] + width
        most = self.arms.offset[arms] + scale * (most + np.vecdot(slope, self.sets.centre[rows])) + self.clear[arms]
        self.index[rows, arms] = np.minimum(self.index[rows, arms], most)

    def _shown(self, rows: Integers) -> Booleans:
        """Whether points of earlier solutions show that the largest index of a row stays above all others."""
        places, top, norm_high = self.places[rows], self.index[rows].argmax(axis=1), self.feasible.norm_high
        solved = self.proofs.level[places, top] < np.inf
        inner, peaks = norm_high * self.proofs.inner[places], self.arms.peaks[top]
        start, precision = inner - self.sets.centre[rows], self.sets.precision[rows]
        along = np.where(solved[:, None], norm_high * self.proofs.point[places, top], peaks) - inner
        square, across = _form(along, precision, along), _form(start, precision, along)
        room = self.sets.radius[rows] ** 2 - _form(start, precision, start)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.fmin(1.0, (np.sqrt(across**2 + square * room) - across) / square)
        least = self.arms.offset[top] + np.vecdot(self.arms.features[top], inner + share[:, None] * along)
        others = self.index[rows] + self.clear
        others[np.arange(len(rows)), top] = -np.inf
        shown: Booleans = (room > 0.0) & (least - self.clear[top] > others.max(axis=1))
        return shown

    def _solve(self, rows: Integers, every: bool) -> None:
        """Solve for every arm of these rows, or the few that may well be largest, and keep what that proves."""
        chosen = ~self.exact[rows]
        if not every:
            index = np.where(chosen, self.index[rows] + self.clear, -np.inf)
            best = np.where(chosen, -np.inf, self.index[rows]).max(axis=1)
            chosen &= index >= np.maximum(best, np.sort(index, axis=1)[:, -_TOGETHER:][:, 0])[:, None]
        places, arms = np.nonzero(chosen)
        rows, norm_high, sets, proofs = rows[places], self.feasible.norm_high, self.sets, self.proofs
        centre, precision = sets.centre[rows] / norm_high, sets.precision[rows]
        scale = ((norm_high / sets.radius[rows]) ** 2)[:, None, None]
        targets = self.arms.features[arms] * (norm_high / self.reach[arms])[:, None]
        found = maximise(targets, self.feasible.needed, (centre, precision * scale, sets.inverse[rows] / scale))
        exact = self.arms.offset[arms] + self.reach[arms] * np.minimum(found.value, 1.0)
        self.index[rows, arms] = np.minimum(self.index[rows, arms], exact)
        self.exact[rows, arms] = True
        self.empty[rows[found.value < EMPTY]] = True
        kept = np.flatnonzero((found.gap < SOLVED) & (found.value >= EMPTY))
        places, arms = self.places[rows[kept]], arms[kept]
        proofs.level[places, arms], proofs.slope[places, arms] = found.level[kept], found.slope[kept]
        proofs.point[places, arms] = found.point[kept]
        first = np.unique(places, return_index=True)[1]  # the inner point moves towards one solution of each row
        places, kept = places[first], kept[first]
        start = np.where(np.isnan(proofs.inner[places]), found.point[kept], proofs.inner[places])
        along, precision = found.point[kept] - start, precision[kept]
        share = _form(along, precision, centre[kept] - start) / np.maximum(_form(along, precision, along), 1e-300)
        proofs.inner[places] = start + np.clip(share, 0.0, 1.0)[:, None] * along


def _near(index: Floats, clear: Floats) -> Booleans:
    """The arms whose index is the largest of its row, or equal to it."""
    top = index.argmax(axis=1)
    near: Booleans = index + clear >= (index[np.arange(len(index)), top] - clear[top])[:, None]
    return near


def _times(matrices: Floats, vectors: Floats) -> Floats:
    product: Floats = (matrices @ vectors[:, :, None])[:, :, 0]
    return product


def _form(left: Floats, matrices: Floats, right: Floats) -> Floats:
    form: Floats = np.vecdot(left, _times(matrices, right))
    return form
