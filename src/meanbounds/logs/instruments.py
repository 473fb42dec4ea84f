"""Bounds by an instrument: a column that partly decided by chance which option was chosen.

An instrument Z meets the same kinds of cases with each of its values, and changes the reward only through the option.
A log then tells for each value z the probabilities p(k, y | z) of option k with reward y. They come from one law of the
kinds of cases v, which say what reward each option would bring, and from choices that depend on v and z (Balke and
Pearl, 1997): numbers ``r(z, k, v) >= 0`` with

- ``sum over k of r(z, k, v)`` the probability of v, the same for all z,
- ``sum over v with reward y of option k of r(z, k, v) = p(k, y | z)``,

and the bounds on the mean of k are the least and the greatest probability that v gives k the reward 1: a linear program
with Z K 2^K variables. Graded rewards count as a coin that shows 1 with the reward's probability, which keeps all of
the above. Choices for all values together, K^Z of them, would allow the same means, since they may be independent given
v. In a finite log each p(k, y | z) lies between two limits, and where rewards are missing also the sum over y.

If the program is too large, the bounds are Manski's intersection: the greatest p(k, 1 | z) and one minus the greatest
p(k, 0 | z) over z. They cross if Pearl's inequality fails; the program also finds what other inequalities find.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, lru_cache
from math import log
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, sparse

from meanbounds.bounds import Arm, BoundsError
from meanbounds.logs.claims import EXACT, Cells
from meanbounds.logs.confidence import lower_limit, upper_limit
from meanbounds.logs.counts import Context, Counts
from meanbounds.logs.experts import where
from meanbounds.support.checks import as_floats
from meanbounds.support.types import Floats

__all__ = ["Instrumented", "instrument_bounds"]

_SLACK = 1e-9  # of a probability: rounding errors contradict nothing
_PRECISE = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def instrument_bounds(shares: ArrayLike, means: ArrayLike) -> tuple[Floats, Floats]:
    """Bound the mean of each option from an infinite log with an instrument, whatever else its choices depended on.

    Parameters
    ----------
    shares
        How often each option was chosen with each value of the instrument (values, options); rows sum to 1.
    means
        The mean reward where it was, between 0 and 1; ignored where the share is 0.

    Raises
    ------
    BoundsError
        If the log contradicts the instrument.

    Examples
    --------
    >>> from meanbounds.logs.instruments import instrument_bounds
    >>> lower, upper = instrument_bounds([[0.8, 0.2], [0.3, 0.7]], [[0.6, 0.9], [0.5, 0.8]])
    >>> lower.round(2), upper.round(2)
    (array([0.48, 0.56]), array([0.68, 0.86]))
    """
    chosen = as_floats("shares", shares, error=BoundsError)
    if chosen.ndim != 2 or np.any(chosen < 0.0) or np.any(np.abs(chosen.sum(axis=1) - 1.0) > 1e-6):
        raise BoundsError("shares must be numbers of at least 0, values x options, that sum to 1 for each value")
    values, arms = chosen.shape
    chosen = chosen / chosen.sum(axis=1, keepdims=True)
    total = chosen * np.where(chosen > 0.0, np.broadcast_to(np.asarray(means, dtype=float), chosen.shape), 0.0)
    if not np.all((total >= 0.0) & (total <= chosen)):
        raise BoundsError("means must be rewards between 0 and 1, values x options")
    names = tuple(map(str, range(values)))
    cells = Cells(chosen, total, total)
    found = Instrumented("the instrument", names, (None,), tuple(range(arms)), cells, strict=True).limits(EXACT)
    return found[0, 0], found[1, 0]


@dataclass(frozen=True, eq=False)
class Instrumented:
    """A log by the values of an instrument; rows of `cells` are the contexts of the first value, then of the second."""

    column: str
    values: tuple[str, ...]
    contexts: tuple[Context, ...]
    arms: tuple[Arm, ...]
    cells: Cells
    simple: bool = False  # whether bounds are Manski's intersection
    strict: bool = False  # whether contradictions of an infinite log are errors too

    @classmethod
    def of(cls, counts: Counts, apart: float) -> Instrumented:
        """The log in units of its range."""
        own = counts.instrument
        assert own is not None
        count, total, squares, without = own.sums.reshape(4, -1, len(counts.arms))
        rows = tuple(map(str, range(len(count))))
        unit = Counts(rows, counts.arms, count, total, squares, counts.low, counts.high).unit
        cells = Cells(count, *unit, missing=without if without.any() else None, apart=apart)
        return cls(own.column, own.values, counts.contexts, counts.arms, cells, own.simple)

    def limits(self, nats: float) -> Floats:
        """Both bounds on each mean, an array 2 x contexts x arms; `nats` as for `meanbounds.logs.claims.claimed`."""
        size, arms = len(self.values), len(self.arms)
        low, high, cost = self.cells.sides(nats + log(size) * (nats > EXACT))
        totals = self.cells.missing is not None
        parts = (2 + totals) * arms
        level = nats + cost + log(2.0 * size * parts / arms) if nats > EXACT else EXACT
        n = low.rows.sum(axis=1, keepdims=True)
        pairs = [(low, high), (high.mirrored(), low.mirrored())]
        pairs += [(replace(low, total=low.rows, squares=low.rows),) * 2] * totals
        least, most = (
            np.concatenate([limit(n, pair[side].total, pair[side].squares, level) for pair in pairs], axis=1)
            for side, limit in enumerate((lower_limit, upper_limit))
        )
        least, most = least.reshape(size, -1, parts), most.reshape(size, -1, parts)
        seen = (n > 0.0).reshape(size, -1)
        found = np.empty((2, len(self.contexts), arms))
        for place in range(len(self.contexts)):
            some = np.flatnonzero(seen[:, place])
            found[:, place] = [[0.0], [1.0]]
            if some.size:
                found[:, place] = self._of(place, some.tolist(), least[some, place], most[some, place], nats)
        return found

    def _of(self, place: int, values: list[int], least: Floats, most: Floats, nats: float) -> Floats:
        """The bounds of one context."""
        arms = len(self.arms)
        manski = np.array([least[:, :arms].max(axis=0), 1.0 - least[:, arms : 2 * arms].max(axis=0)])
        strict = nats > EXACT or self.strict
        for k in np.flatnonzero(manski[0] > manski[1] + _SLACK)[: 1 if strict else 0].tolist():
            terms = [(1.0, int(least[:, k].argmax()), k), (1.0, int(least[:, arms + k].argmax()), arms + k)]
            self._refuse(place, values, terms, least, most, 1.0)
        if self.simple:
            return manski
        found = _solved(least.tobytes(), most.tobytes(), len(values), arms)
        if strict and found[1][0] > _SLACK:
            weights = np.array(found[1][1:]).reshape(2, *least.shape)
            limit = float((weights[0] * least - weights[1] * most).sum() - found[1][0])
            scale = weights.max()
            signed = (weights[0] - weights[1]) / scale
            terms = [(float(signed[z, c]), z, c) for z, c in np.argwhere(np.abs(signed) > 1e-6).tolist()]
            self._refuse(place, values, terms, least, most, limit / scale)
        return found[0]

    def _refuse(self, place: int, values: list[int], terms: Any, least: Floats, most: Floats, limit: float) -> None:
        """An error that names the inequality that fails."""
        said, total = [], 0.0
        for weight, z, cell in terms:
            what = (" and reward 1", " and reward 0", "")[cell // len(self.arms)]
            sign, side, number = ("plus", "least", least[z, cell]) if weight > 0.0 else ("minus", "most", most[z, cell])
            total += weight * number
            times = "" if abs(abs(weight) - 1.0) < 1e-6 else f" {abs(weight):.4g} times"
            arm, value = self.arms[cell % len(self.arms)], self.values[values[z]]
            said.append(f"{sign}{times} the share of {arm!r}{what} where it is {value!r} (at {side} {number:.4g})")
        arms = dict.fromkeys(repr(self.arms[cell % len(self.arms)]) for _, _, cell in terms)
        raise BoundsError(
            f"{where(self.contexts[place])}, arm {' and '.join(arms)}: the log contradicts the instrument "
            f"{self.column!r}: {' '.join(said).removeprefix('plus ')} is at least {total:.4g}, and would be at most "
            f"{round(limit, 9) + 0.0:.4g} if {self.column!r} were independent of what is hidden and changed the reward "
            f"only through the arm (0 and 1 are the ends of the range; rewards between count in part). Read the log "
            f"without instrument=, or name the columns that {self.column!r} depends on in context= too"
        )


@cache
def _program(values: int, arms: int, parts: int) -> tuple[Any, Any, Floats]:
    """What the variables r(z, k, v) add up to: the parts of each value, what is the same for all values, and means."""
    reward = (np.arange(2**arms) >> np.arange(arms)[:, None]) & 1
    z, k, v = (part.ravel() for part in np.indices((values, arms, 2**arms)))
    column, ones = np.arange(z.size), np.ones(z.size)
    own = reward[k, v]
    cells = sparse.csr_matrix((ones, (z * parts + np.where(own, k, arms + k), column)), shape=(values * parts, z.size))
    if parts > 2 * arms:
        cells = cells + sparse.csr_matrix((ones, (z * parts + 2 * arms + k, column)), shape=cells.shape)
    kinds = sparse.csr_matrix((ones, (z * 2**arms + v, column)), shape=(values * 2**arms, z.size))
    first = kinds[: 2**arms]
    same: list[Any] = [kinds[place * 2**arms : (place + 1) * 2**arms] - first for place in range(1, values)]
    same.append(sparse.csr_matrix((z == 0)[None].astype(float)))
    return cells, sparse.vstack(same).tocsr(), np.where(z == 0, reward[:, v], 0).astype(float)


@lru_cache(maxsize=10_000)
def _solved(least: bytes, most: bytes, values: int, arms: int) -> tuple[Floats, list[float]]:
    """Both bounds, 2 x arms, and by how much the limits have to move for there to be a solution, with its prices."""
    ends = np.frombuffer(least).reshape(values, -1), np.frombuffer(most).reshape(values, -1)
    cells, same, goals = _program(values, arms, ends[0].shape[1])
    limits = np.concatenate([-ends[0].ravel(), ends[1].ravel()])
    inside, whole = sparse.vstack([-cells, cells]), np.append(np.zeros(same.shape[0] - 1), 1.0)
    slack = [0.0]
    found = _least(np.concatenate([goals, -goals]), inside, limits, same, whole)
    if found is None:
        more: Any = np.concatenate([-np.ones(limits.size), np.zeros(whole.size)])[:, None]
        wider = sparse.hstack([sparse.vstack([inside, same]), more]).tocsr()
        goal = np.append(np.zeros(cells.shape[1]), 1.0)
        one = _solve(goal, wider[: limits.size], limits, wider[limits.size :], whole)
        slack = [float(one.fun), *(-one.ineqlin.marginals).tolist()]
        found = _least(np.concatenate([goals, -goals]), inside, limits + slack[0] + 1e-9, same, whole)
        assert found is not None
    return found.reshape(2, arms) * [[1.0], [-1.0]], slack


def _least(goals: Floats, inside: Any, limits: Floats, same: Any, whole: Floats) -> Floats | None:
    """The least value of each goal, in one program; None if nothing is inside the limits."""
    copies = len(goals)
    one, other = (sparse.block_diag([part] * copies, format="csc") for part in (inside, same))
    found = _solve(goals.ravel(), one, np.tile(limits, copies), other, np.tile(whole, copies))
    return None if found.status == 2 else np.asarray((goals * found.x.reshape(goals.shape)).sum(axis=1))


def _solve(goal: Floats, inside: Any, limits: Floats, same: Any, whole: Floats) -> Any:
    run: Any = optimize.linprog
    found = run(goal, inside, limits, same, whole, method="highs", options=_PRECISE)
    if found.status not in (0, 2):
        raise RuntimeError(f"the linear program of an instrument was not solved: {found.message}")
    return found
