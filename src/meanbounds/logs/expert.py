"""Bounds on every arm's mean from a log written by an expert who saw more than was recorded."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import log
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanbounds.bounds import Arm, BoundsError, MeanBounds
from meanbounds.logs.confidence import METHODS, Sample, lower_limit, upper_limit
from meanbounds.support.types import Floats

if TYPE_CHECKING:
    from meanbounds.logs.counts import Context, Counts

__all__ = ["ASSUMPTIONS", "bounds", "bounds_in", "expert_bounds"]


Gaps = float | Sequence[float] | Floats | Mapping["Context", float]
"""One gap for all contexts, or one for each."""

ASSUMPTIONS = ("optimal-expert", "any-expert")
_ALL_SUBSETS = 10  # arms up to which every set of other arms is in the family
_RARE = 5  # rows of an arm below which others like it may well be missing
_TRIED = 6  # sets of the family whose limit is computed, the most promising ones


def expert_bounds(
    share: ArrayLike,
    contribution: ArrayLike,
    gap_low: float,
    gap_high: float,
    low: float = 0.0,
    high: float = 1.0,
    *,
    arms: Iterable[Arm] | None = None,
    assumption: str = "optimal-expert",
) -> MeanBounds:
    r"""Bounds on each arm's mean in one context, from an infinite log of an expert who always played the best arm.

    With p_k the share of arm k and mu_k its contribution to the mean reward mu,

    .. math:: \mu_k + \sum_{j \ne k} \max(\mu_j - \overline\delta p_j, 0) \le E[Y_k] \le
              \mu - \underline\delta (1 - p_k).

    Parameters
    ----------
    share
        p_k: how often each arm was played. Sums to 1; arms that never were have 0.
    contribution
        mu_k: the mean of the reward times whether arm k was played, p_k times the mean reward when it was. Not the
        conditional mean.
    gap_low
        By how much the best arm is better than the second best, at least, for whatever the expert saw.
    gap_high
        By how much it is better than the worst, at most. Both in reward units.
    low, high
        Range of the rewards.
    arms
        Names; 0, 1, 2, ... by default.
    assumption
        ``"optimal-expert"``, as above; ``"any-expert"`` assumes nothing of the expert and takes no notice of the gaps.

    Notes
    -----
    Theorem 7 of the paper, in any range. Both sides are attained (Proposition 8).

    Examples
    --------
    >>> import meanbounds as mb
    >>> found = mb.logs.expert_bounds([0.75, 0.25], [0.6, 0.2], gap_low=0.2, gap_high=0.4)
    >>> found.lower.round(3), found.upper.round(3)
    (array([0.7, 0.5]), array([0.75, 0.65]))
    """
    shares, parts = (np.atleast_1d(np.asarray(values, dtype=np.float64)) for values in (share, contribution))
    if shares.ndim != 1 or shares.shape != parts.shape:
        raise BoundsError(f"share and contribution need one number for each arm; got {shares} and {parts}")
    if not (np.all(shares >= 0.0) and abs(shares.sum() - 1.0) < 1e-9):
        raise BoundsError(f"the shares of all arms sum to 1, and none is negative; got {shares.tolist()}")
    span = high - low
    if not (span > 0.0 and np.all((parts >= low * shares - 1e-12) & (parts <= high * shares + 1e-12))):
        raise BoundsError(
            f"each contribution is between low and high times its share: with low={low}, high={high}, "
            f"got {parts.tolist()} for shares {shares.tolist()}"
        )
    unit = (parts - low * shares) / span
    gaps = _check_gaps(gap_low / span, gap_high / span, assumption, "the log")
    known = tuple(range(shares.size)) if arms is None else tuple(arms)
    _check_gap_low(unit, gaps.low * shares, known, gap_low, "the log")
    lower, upper = _infinite(shares, unit, gaps, assumption)
    return _as_bounds(lower, upper, known, low, high, gap_low, gap_high, "the log")


def bounds(
    counts: Counts,
    gap_low: Gaps = 0.0,
    gap_high: Gaps | None = None,
    confidence: float | None = None,
    method: str = "bernstein",
    shift: float = 0.0,
    arms: Iterable[Arm] | None = None,
    *,
    assumption: str = "optimal-expert",
) -> dict[Context, MeanBounds]:
    """Bounds on each arm's mean in each context of a log.

    Parameters
    ----------
    counts
        What `meanbounds.logs.read` returned.
    gap_low, gap_high
        See `expert_bounds`: one number, or one for each context. ``gap_high`` is the width of the range by default,
        which assumes nothing.
    confidence
        Probability with which all bounds hold at once. None takes the log for infinite: shares and means are what they
        are in it.
    method
        How limits are computed, see `meanbounds.logs.confidence.upper_limit`.
    shift
        How far, in total variation, the hidden context's law may have moved since the log was written. If only the
        largest change s of a probability is known, with U hidden values, ``min(1, (U // 2) * s)`` will do.
    arms
        All arms, those that never appear in the log included; those of the log by default. The confidence is that of
        bounds on arms that were chosen before the log was looked at: give them where some may be missing from it.
    assumption
        ``"optimal-expert"`` or ``"any-expert"``, see `expert_bounds`.

    Notes
    -----
    Theorem 7 of the paper for an infinite log. For a finite one, which the paper leaves open: the upper bound is the
    mean of ``Y - gap_low 1{A != k}``, and for any set S of other arms the mean of
    ``Y 1{A = k} + (Y - gap_high) 1{A in S}`` is a lower bound; each gets a confidence limit. The set is the best one
    of a family that is fixed in advance (all sets up to ten arms; none, all, all but one or two beyond), and the
    failure probability is shared by contexts, arms, sides, and the sets of the family.

    Examples
    --------
    >>> import meanbounds as mb
    >>> lab = mb.HiddenContexts([[[0.9, 0.4], [0.3, 0.6]]], [[0.5, 0.5]])
    >>> counts = lab.sample(10_000, seed=7)
    >>> mb.logs.bounds(counts, 0.3, 0.5)["z0"].lower.round(3)  # as if the log were infinite
    array([0.504, 0.505])
    >>> mb.logs.bounds(counts, 0.3, 0.5, confidence=0.95)["z0"].lower.round(3)
    array([0.482, 0.489])
    """
    span = counts.high - counts.low
    high_gaps = span if gap_high is None else gap_high
    rare = [arm for arm, rows in zip(counts.arms, counts.count.sum(axis=0), strict=True) if 0.0 < rows < _RARE]
    whole = bool(np.all(counts.count == np.floor(counts.count)))
    if confidence is not None and arms is None and rare and whole:
        warnings.warn(
            f"arms with fewer than {_RARE} rows in the whole log ({', '.join(map(repr, rare[:5]))}): others may be "
            f"missing from it. The confidence is for arms that are fixed before the log is looked at: give arms=",
            stacklevel=2,
        )
    return {
        context: bounds_in(
            counts,
            context,
            _of_context(gap_low, context, counts.contexts, "gap_low"),
            _of_context(high_gaps, context, counts.contexts, "gap_high"),
            confidence,
            method,
            shift,
            arms,
            assumption,
        )
        for context in counts.contexts
    }


def bounds_in(
    counts: Counts,
    context: Context,
    gap_low: float,
    gap_high: float,
    confidence: float | None = None,
    method: str = "bernstein",
    shift: float = 0.0,
    arms: Iterable[Arm] | None = None,
    assumption: str = "optimal-expert",
) -> MeanBounds:
    """Bounds in one context, such that those of all contexts hold at once; see `bounds`."""
    names = counts.arms if arms is None else tuple(arms)
    missing = [arm for arm in counts.arms if arm not in names]
    if missing:
        raise BoundsError(f"the log has arms that arms= leaves out: {', '.join(map(repr, missing))}")
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(map(repr, METHODS))}; got {method!r}")
    if confidence is not None and not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must be a probability such as 0.95, or None; got {confidence!r}")
    if not 0.0 <= shift <= 1.0:
        raise ValueError(f"shift is a total variation distance between 0 and 1; got {shift!r}")
    span = counts.high - counts.low
    where = f"context {context!r}"
    gaps = _check_gaps(gap_low / span, gap_high / span, assumption, where)
    cells = _cells(counts, counts.position(context), [names.index(arm) for arm in counts.arms], len(names))
    rows = cells.rows.sum()
    if rows == 0.0:
        return MeanBounds.vacuous(names, low=counts.low, high=counts.high)
    if confidence is None:
        _check_gap_low(cells.total / rows, gaps.low * cells.rows / rows, names, gap_low, where)
        lower, upper = _infinite(cells.rows / rows, cells.total / rows, gaps, assumption)
    else:
        if np.any(cells.rows != np.floor(cells.rows)):
            raise BoundsError(
                f"{where}: its counts are shares, not whole numbers: an infinite log; use confidence=None"
            )
        failure = (1.0 - confidence) / (2.0 * len(counts.contexts) * len(names))
        if gaps.low > 0.0:
            most = [_most_above(cells, k, gaps.low, failure, method) for k in range(len(names))]
            _check_gap_low(np.array(most), np.zeros(len(names)), names, gap_low, where)
        lower, upper = _finite(cells, gaps, assumption, failure, method)
    lower, upper = lower - shift, upper + shift
    return _as_bounds(lower, upper, names, counts.low, counts.high, gap_low, gap_high, where)


@dataclass(frozen=True)
class _Gaps:
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class _Cells:
    """Rows, sums and sums of squares of each arm in one context, in units of the range, and perhaps a histogram."""

    rows: Floats
    total: Floats
    squares: Floats
    values_low: Floats | None
    values_high: Floats | None
    histogram: Floats | None  # arms x values


def _cells(counts: Counts, c: int, places: list[int], arms: int) -> _Cells:
    span = counts.high - counts.low
    rows, total, squares = np.zeros((3, arms))
    for place, count, sums, of_squares in zip(places, counts.count[c], counts.total[c], counts.squares[c], strict=True):
        unit = Sample.scaled(float(count), float(sums), float(of_squares), counts.low, counts.high)
        rows[place], total[place], squares[place] = unit.rows, unit.total, unit.squares
    if counts.histogram is None or counts.values_low is None or counts.values_high is None:
        return _Cells(rows, total, squares, None, None, None)
    histogram = np.zeros((arms, counts.histogram.shape[2]))
    histogram[places] = counts.histogram[c]
    low, high = ((values - counts.low) / span for values in (counts.values_low, counts.values_high))
    return _Cells(rows, total, squares, low, high, histogram)


def _of_context(gap: Gaps, context: Context, contexts: tuple[Context, ...], name: str) -> float:
    if isinstance(gap, Mapping):
        if context not in gap:
            raise BoundsError(f"context {context!r}: {name} has no entry for it")
        return float(gap[context])
    if isinstance(gap, int | float | np.number):
        return float(gap)
    if len(gap) != len(contexts):
        raise BoundsError(f"{name} has {len(gap)} numbers for {len(contexts)} contexts; give one, or one for each")
    return float(gap[contexts.index(context)])


def _check_gaps(low: float, high: float, assumption: str, where: str) -> _Gaps:
    if assumption not in ASSUMPTIONS:
        raise ValueError(f"assumption must be one of {', '.join(map(repr, ASSUMPTIONS))}; got {assumption!r}")
    if assumption == "any-expert":
        return _Gaps(0.0, 1.0)
    if not 0.0 <= low <= high + 1e-12 <= 1.0 + 2e-12:
        raise BoundsError(
            f"{where}: gaps need 0 <= gap_low <= gap_high <= high - low; as shares of the range they are {low:g} and "
            f"{high:g}"
        )
    return _Gaps(low, min(high, 1.0))


def _most_above(cells: _Cells, k: int, gap: float, failure: float, method: str) -> float:
    """Upper limit on the mean of (reward - gap) where arm k was played, 0 elsewhere: not negative, if the gap holds."""
    moved = np.arange(cells.rows.size) == k
    return -gap + (1.0 + gap) * upper_limit(_sample(cells, -1, moved, -gap, 0.0, -gap), failure, method)


def _check_gap_low(value: Floats, least: Floats, names: tuple[Arm, ...], gap_low: float, where: str) -> None:
    """An arm that was best by at least the gap has a mean of at least the gap above the bottom of the range."""
    if len(names) > 1:
        for k in np.flatnonzero(value < least - 1e-12):
            raise BoundsError(
                f"{where}, arm {names[k]!r}: gap_low={gap_low:g} is more than the log allows: where the arm was played "
                f"it was better than others by that much, but its mean is less than that above the bottom of the range"
            )


def _infinite(share: Floats, contribution: Floats, gaps: _Gaps, assumption: str) -> tuple[Floats, Floats]:
    """Both bounds in units of the range, as if the log went on for ever."""
    if assumption == "any-expert":
        return contribution.copy(), contribution + 1.0 - share
    gain = np.maximum(contribution - gaps.high * share, 0.0)
    return contribution + gain.sum() - gain, contribution.sum() - gaps.low * (1.0 - share)


def _finite(cells: _Cells, gaps: _Gaps, assumption: str, failure: float, method: str) -> tuple[Floats, Floats]:
    """Confidence limits on the means that the bounds are, in units of the range."""
    arms = cells.rows.size
    lower, upper = np.empty(arms), np.empty(arms)
    nobody = np.zeros(arms, dtype=np.bool_)
    for k in range(arms):
        if assumption == "any-expert":
            upper[k] = upper_limit(_sample(cells, k, nobody, 0.0, 1.0, 0.0), failure, method)
            lower[k] = lower_limit(_sample(cells, k, nobody, 0.0, 0.0, 0.0), failure, method)
            continue
        others = np.arange(arms) != k
        floor = -gaps.low
        upper[k] = floor + (1.0 - floor) * upper_limit(_sample(cells, k, others, floor, 0.0, floor), failure, method)
        lower[k] = _best_lower(cells, k, gaps.high, failure, method)
    return lower, upper


def _best_lower(cells: _Cells, k: int, gap: float, failure: float, method: str) -> float:
    """The best limit over the family of sets of other arms, each with its part of the failure probability.

    The limit of any set is valid, so only those are computed that look best by mean and spread. The empty set, which
    needs no gap, has half of the failure probability, and all of it where the gap is the whole range: others cannot
    help then.
    """
    others = np.flatnonzero(np.arange(cells.rows.size) != k)
    nobody = np.zeros(cells.rows.size, dtype=np.bool_)
    alone = gap >= 1.0 or not others.size
    best = lower_limit(_sample(cells, k, nobody, 0.0, 0.0, 0.0), failure if alone else failure / 2.0, method)
    if alone:
        return best
    family = _family(others.size)[1:]
    failure /= 2.0 * len(family)
    rows, total, squares = cells.rows[others], cells.total[others], cells.squares[others]
    count = cells.rows.sum()
    mean = (cells.total[k] + family @ (total - gap * rows)) / count
    square = (cells.squares[k] + family @ (squares - 2.0 * gap * total + gap * gap * rows)) / count
    look = mean - np.sqrt(2.0 * np.maximum(square - mean**2, 0.0) * -log(failure) / count)
    promising = np.union1d(np.argsort(look)[-_TRIED:], np.argmax(mean))
    floor = -gap
    for chosen in family[promising]:
        moved = np.zeros(cells.rows.size, dtype=np.bool_)
        moved[others[chosen]] = True
        limit = lower_limit(_sample(cells, k, moved, floor, 0.0, floor), failure, method)
        best = max(best, floor + (1.0 - floor) * limit)
    return best


@lru_cache(maxsize=64)
def _family(others: int) -> NDArray[np.bool_]:
    """Sets of other arms, fixed in advance, the empty one first: all if there are few arms, else all but one or two."""
    if others < _ALL_SUBSETS:
        every: NDArray[np.bool_] = (np.arange(2**others)[:, None] >> np.arange(others)) & 1 == 1
        return every
    sets = [np.zeros(others, dtype=np.bool_), np.ones(others, dtype=np.bool_)]
    for size in (1, 2):
        for left_out in combinations(range(others), size):
            some = np.ones(others, dtype=np.bool_)
            some[list(left_out)] = False
            sets.append(some)
    return np.array(sets)


def _sample(cells: _Cells, k: int, moved: NDArray[np.bool_], by: float, rest: float, floor: float) -> Sample:
    """Rows of: the reward of arm k, that of a moved arm plus `by`, `rest` for any other; from [floor, 1] to [0, 1]."""
    still = np.arange(cells.rows.size) == k
    idle = ~(still | moved)
    rows, n = float(cells.rows.sum()), float(cells.rows[moved].sum())
    left = float(cells.rows[idle].sum())
    kept = still | moved
    total = float(cells.total[kept].sum()) + by * n + rest * left
    squares = float(cells.squares[kept].sum()) + 2.0 * by * float(cells.total[moved].sum()) + by * by * n
    squares += rest * rest * left
    width = 1.0 - floor
    unit_total = (total - floor * rows) / width
    unit_squares = (squares - 2.0 * floor * total + floor * floor * rows) / width**2
    if cells.histogram is None or cells.values_low is None or cells.values_high is None:
        return Sample(rows, unit_total, unit_squares)
    low, high = (
        np.concatenate([(values - floor) / width, (values + by - floor) / width, [(rest - floor) / width]])
        for values in (cells.values_low, cells.values_high)
    )
    tallies = np.concatenate([cells.histogram[still].sum(axis=0), cells.histogram[moved].sum(axis=0), [left]])
    return Sample(rows, unit_total, unit_squares, np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0), tallies)


def _as_bounds(
    lower: Floats,
    upper: Floats,
    names: tuple[Arm, ...],
    low: float,
    high: float,
    gap_low: float,
    gap_high: float,
    where: str,
) -> MeanBounds:
    """From units of the range to reward units, refusing what cannot be."""
    for k in np.flatnonzero(upper < -1e-12):
        raise BoundsError(
            f"{where}, arm {names[k]!r}: gap_low={gap_low:g} is more than the log allows: it would put the mean at "
            f"most {low + (high - low) * upper[k]:.6g}, below the range of the rewards"
        )
    for k in np.flatnonzero(lower > upper + 1e-12):
        raise BoundsError(
            f"{where}, arm {names[k]!r}: the bounds cross: the mean would be at least "
            f"{low + (high - low) * lower[k]:.6g} and at most {low + (high - low) * upper[k]:.6g}. With "
            f"gap_low={gap_low:g} and gap_high={gap_high:g} no expert who always plays the best arm writes this log"
        )
    lower, upper = np.clip(lower, 0.0, 1.0), np.clip(upper, 0.0, 1.0)
    lower = np.minimum(lower, upper)
    lower, upper = (np.clip(low + (high - low) * side, low, high) for side in (lower, upper))
    return MeanBounds(lower, upper, arms=names, low=low, high=high)
